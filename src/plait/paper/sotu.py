"""State of the Union: how concentrated topics are in time, the paper's experiment on real texts.

The paper compares two fits with the same priors: LDA, by the collapsed sampler (m = 1), and mpLDA, by the
multipath collapsed sampler (m = 5). Neither sees the years. The measures are those of
`plait.evaluate.timeconc`, applied to the assignments of the first path.

A job fits both models with the same seed, because each topic of one is compared with the nearest topic of
the other. As a control, it also measures both with the years shuffled among the documents: differences that
remain are not related to time.
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
from plait.paper.internals import estimate_topics
from plait.paper.results import Row
from plait.paper.sotu_figures import figures_of
from plait.paper.sotu_findings import PAPER_TOPICS, claims_of, differences_of, tables_of
from plait.paper.sotu_rows import EXAMPLE_STEM, GAMMA, Floats
from plait.paper.work import Job, JobContext
from plait.run import Run
from plait.sampler import Progress

N_WORDS: Final = 9
"""Number of words listed for a topic, as in the paper."""

_TOKENS_PER_YEAR = 3400
_WORDS_PER_BLOCK = 512  # the block of all topics stays in the cache
_SECONDS_PER_TOKEN = {"collapsed": (15e-8, 12e-8), "partially collapsed": (13e-8, 7e-8)}
"""Expected time per token of a sweep: a fixed part, and a part for every path."""


@dataclass(frozen=True)
class SotuExperiment:
    """Time concentration of topics, with one path and with several.

    Attributes
    ----------
    runs : sequence of (str, int)
        Samplers, "collapsed" or "partially collapsed", and the number of seeds of each. The claims are about
        the first.
    n_sweeps, n_topics, n_paths : int
        Number of sweeps, of topics T, and of paths m of mpLDA.
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
        """Return one job per sampler and seed, which fits LDA and mpLDA."""
        import_sotu()  # fail early if the addresses are not installed
        return [_job(self, sampler, seed) for sampler, n_seeds in self.runs for seed in range(n_seeds)]

    def report(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the paper's figures and check its claims."""
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
        f" LDA has m = 1, mpLDA m = {experiment.n_paths}. Runs: {samplers}. Claims are about the"
        f" {experiment.runs[0][0]} sampler; numbers are means over the seeds, with their range in brackets."
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
            if EXAMPLE_STEM not in corpus.vocabulary:
                raise PlaitError(
                    f"the addresses since {first_year} lack the stem {EXAMPLE_STEM} of the example topic:"
                    " start in an earlier year"
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
    per_sweep, per_path = _SECONDS_PER_TOKEN[sampler]
    n_tokens = _TOKENS_PER_YEAR * (2014 - experiment.first_year)
    costs = {"lda": per_sweep + per_path, "multipath": per_sweep + per_path * n_paths}
    cost = n_tokens * n_sweeps * sum(costs.values())

    def work(context: JobContext) -> Mapping[str, Any]:
        corpus = _corpus(experiment.first_year)
        model = LdaModel(corpus, n_topics, alpha=experiment.alpha, eta=0.01)

        def measure(progress: Progress) -> float:
            return float(np.nanmean(yearly_topics(corpus, progress.state.paths[0], n_topics).entropies))

        fitted, course = {}, {}
        for name, m in (("lda", 1), ("multipath", n_paths)):
            fitted[name], measured = context.sample(
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
    """Measure two runs of a model on a corpus with years, and compare their topics.

    Parameters
    ----------
    model : LdaModel
        The model, on a corpus with years.
    lda, multipath : Run
        Runs with one path and with several; their first paths are measured.
    seed : int
        Seed of the permutation that shuffles the years.

    Returns
    -------
    dict
        For each model, with the prefix "lda_" or "multipath_":

        - `entropies` of the years, None in years without documents; `mean_entropy`
        - `lengths` of the buckets, topic by topic, and `weights` of these topics; `median_length`
        - `topic`, the weights of the example topic, its `words`, and its `spread` in years
        - `shuffled_entropy` (mean) and `shuffled_lengths`, with the years shuffled
        - `agreement`, the mean share of paths that give a token its most common topic, and `unanimous`, the
          share of tokens on which all paths agree
        - `fit`, log P(w, p | phi) of the first path per token

        For the pair:

        - `distance`, the total variation distance of the example topics
        - `concentrated` and `concentrated_back`, the shares of LDA's topics whose nearest topic of mpLDA is
          spread over fewer years, and of mpLDA's topics whose nearest topic of LDA is spread over more
        - `timed` and `timed_back`, the same for the spread relative to that with shuffled years
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
        control = yearly_topics(corpus, run.paths[0], n_topics, years=shuffled)
        topics[name] = estimate_topics(model, run.paths)
        weights[name] = own.weights
        spread[name] = spread_in_years(own.weights)
        relative[name] = spread[name] / spread_in_years(control.weights)
        filled = own.totals > 0
        result["years"] = [int(own.years[0]), int(own.years[-1])]
        result[f"{name}_entropies"] = [None if np.isnan(x) else round(x, 5) for x in own.entropies.tolist()]
        result[f"{name}_lengths"] = _rounded(bucket_lengths(own.weights[:, filled], GAMMA).ravel(), 2)
        result[f"{name}_weights"] = _rounded(own.totals[filled], 5)
        result[f"{name}_shuffled_entropy"] = float(np.nanmean(control.entropies))
        result[f"{name}_shuffled_lengths"] = _rounded(
            bucket_lengths(control.weights[:, filled], GAMMA).ravel(), 2
        )
        agreement = token_agreement(run.paths)
        result[f"{name}_agreement"] = float(agreement.mean())
        result[f"{name}_unanimous"] = float((agreement == 1.0).mean())
        result[f"{name}_mean_entropy"] = float(np.nanmean(own.entropies))
        result[f"{name}_median_length"] = float(np.median(result[f"{name}_lengths"]))
        result[f"{name}_fit"] = float(run.trace.log_joint[-1, 0]) / corpus.n_tokens
    distances = variations(topics["lda"], topics["multipath"])
    example = {"lda": int(topics["lda"][:, corpus.vocabulary.index(EXAMPLE_STEM)].argmax())}
    example["multipath"] = int(distances[example["lda"]].argmin())
    for name, topic in example.items():
        best = np.argsort(-topics[name][topic], kind="stable")[:N_WORDS]
        result[f"{name}_words"] = [corpus.vocabulary[w] for w in best]
        result[f"{name}_topic"] = _rounded(weights[name][:, topic], 7)
        result[f"{name}_spread"] = float(spread[name][topic])
    result["distance"] = float(distances[example["lda"], example["multipath"]])
    forth, back = distances.argmin(axis=1), distances.argmin(axis=0)
    for key, years_of in (("concentrated", spread), ("timed", relative)):
        result[key] = float((years_of["multipath"][forth] < years_of["lda"]).mean())
        result[f"{key}_back"] = float((years_of["multipath"] < years_of["lda"][back]).mean())
    return result


def variations(first: Floats, second: Floats) -> Floats:
    """Return the total variation distances (T, U) of all pairs of topics of two sets, (T, W) and (U, W)."""
    sums = np.zeros((len(first), len(second)))
    for start in range(0, first.shape[1], _WORDS_PER_BLOCK):
        words = slice(start, start + _WORDS_PER_BLOCK)
        ours, theirs = (np.ascontiguousarray(topics[:, words], np.float32) for topics in (first, second))
        buffer = np.empty_like(theirs)
        for topic, own in enumerate(ours):
            np.subtract(theirs, own, out=buffer)
            np.abs(buffer, out=buffer)
            sums[topic] += buffer.sum(axis=1)
    return sums / 2.0


def spread_in_years(weights: Floats) -> Floats:
    """Return the spread of each topic in years, (T,), given its weights over the years, (Y, T).

    It is exp(entropy) of the weights: k for a topic with the same weight in each of k years, and NaN for a
    topic without weight.
    """
    return np.exp(entropy(weights.T))


def _rounded(values: Floats, digits: int) -> list[float]:
    rounded: list[float] = np.round(values, digits).tolist()
    return rounded
