"""The data of a report on two models: what both found, and what only one of them did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.answers import match_topics
from plait.arrays import Floats
from plait.errors import PlaitError
from plait.evaluate.states import hmm_model, state_names
from plait.evaluate.timeconc import bucket_lengths, entropy
from plait.fitting.restarts import state_order
from plait.inference.fitted import fitted_topics, lda_model
from plait.inference.states import decode
from plait.report.certainty import certainty_of_tokens
from plait.report.common import about
from plait.report.emissions import parameters_of
from plait.report.packing import Payload, rounded, small_integers
from plait.report.page import Page
from plait.report.states import WORDS
from plait.report.topics import GAMMA, mean_yearly_topics, words
from plait.run import Run
from plait.threads import Threads, use_threads

_SHORTER: Final = 0.5  # share of a topic's buckets, the shortest, whose mean length is shown


def comparison_pages(
    run: Run, other: Run, *, title: str, titles: tuple[str, str], path: Path, n_jobs: int | None = None
) -> Iterator[Page]:
    """Yield the page of a report on two topic models, or on two hidden Markov models.

    Parameters
    ----------
    run, other : Run
        The two runs.
    title : str
        Title of the report.
    titles : (str, str)
        What the models are called.
    path : Path
        The file of the page.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Yields
    ------
    Page
        Its block "main" has "kind" "comparison", "of" "topics" or "states", and "title"; "models", two
        dicts, each with "title", "about" (see `plait.report.common`) and the parts of `_topics` or `_states`;
        "pairs" of what was matched, the most similar first: "first", "second" and "similarities" (P,);
        "only", the numbers that are left over, two lists; and "nearest", for each of them "number" and
        "similarity" of what is most similar in the other model.
    """
    kinds = run.model.kind, other.model.kind
    if kinds not in (("lda", "lda"), ("hmm", "hmm")):
        raise PlaitError(
            f"models of the kinds {kinds[0]!r} and {kinds[1]!r} cannot be compared: pass two topic models or"
            " two hidden Markov models"
        )
    compare = _compared_topics if kinds[0] == "lda" else _compared_states
    with use_threads(n_jobs) as threads:
        own, theirs, rest = compare(run.best, other.best, threads)
    models = [
        {"title": name, "about": about(each), **parts}
        for name, each, parts in zip(titles, (run, other), (own, theirs), strict=True)
    ]
    yield Page(path, {"main": {"kind": "comparison", "title": title, "models": models, **rest}})


def _matched(similarities: Floats, first: NDArray[Any], second: NDArray[Any]) -> dict[str, Any]:
    """Return "pairs", "only" and "nearest", given similarities (S, R) and the pairs."""
    only = [
        np.setdiff1d(np.arange(n), matched)
        for n, matched in zip(similarities.shape, (first, second), strict=True)
    ]
    nearest = []
    for own, rows in zip(only, (similarities, similarities.T), strict=True):
        best = rows[own].argmax(axis=1) if own.size else np.empty(0, np.intp)
        nearest.append({"number": small_integers(best), "similarity": rounded(rows[own, best])})
    return {
        "pairs": {
            "first": small_integers(first),
            "second": small_integers(second),
            "similarities": rounded(similarities[first, second]),
        },
        "only": [small_integers(own) for own in only],
        "nearest": nearest,
    }


# -----------------------------------------------------------------------------------------------------
# Topics
# -----------------------------------------------------------------------------------------------------


def _compared_topics(first: Run, second: Run, threads: Threads) -> tuple[Payload, Payload, Payload]:
    matched = match_topics(first, second, n_jobs=threads)
    # Paths can be compared with paths, but one path always agrees with itself.
    of_one_path = 1 in (len(first.paths), len(second.paths))
    ours, theirs = (set(lda_model(run).corpus.vocabulary) for run in (first, second))
    rest = {
        "of": "topics",
        **_matched(matched.similarities, matched.first, matched.second),
        "vocabularies": [len(ours), len(theirs)],
        "shared_words": len(ours & theirs),
        "certainty_of": "assignments" if of_one_path else "paths",
        "gamma": GAMMA,
    }
    return _topics(first, of_one_path, threads), _topics(second, of_one_path, threads), rest


def _topics(run: Run, of_one_path: bool, threads: Threads) -> Payload:
    """Return what is compared of topics.

    Returns
    -------
    Payload
        "names", "shares" and "certainty" (T,), "mean_certainty" of all tokens; "words", see
        `plait.report.topics.words`; "years": None, or "first", "entropies" (Y,), "spread" (T,), the
        exponential of the entropy of a topic's weights over the years, "lengths" of all buckets, sorted, and
        "shortest" (T,), the mean of the shorter half of a topic's.
    """
    model = lda_model(run)
    fitted = fitted_topics(run, threads)
    certainty = certainty_of_tokens(run, fitted.topic_word, of_one_path=of_one_path)
    return {
        "names": [run.names.get(t) for t in range(model.n_topics)],
        "shares": rounded(fitted.shares),
        "certainty": rounded(certainty.of_topics(model.n_topics)),
        "mean_certainty": float(certainty.values.mean()),
        "words": words(model.corpus, fitted.topic_word, fitted.shares),
        "years": _years(run),
    }


def _years(run: Run) -> Payload | None:
    yearly = mean_yearly_topics(run)
    if yearly is None:
        return None
    lengths = np.sort(bucket_lengths(yearly.weights, GAMMA), axis=1)
    n = max(1, round(_SHORTER * lengths.shape[1]))
    known = np.sort(lengths[np.isfinite(lengths)])
    return {
        "first": int(yearly.years[0]),
        "entropies": rounded(yearly.entropies),
        "spread": rounded(np.exp(entropy(yearly.weights.T))),
        "shortest": rounded(lengths[:, :n].mean(axis=1)),
        "lengths": rounded(known[np.linspace(0, len(known) - 1, min(len(known), 400)).astype(np.intp)]),
    }


# -----------------------------------------------------------------------------------------------------
# States
# -----------------------------------------------------------------------------------------------------


def _compared_states(first: Run, second: Run, threads: Threads) -> tuple[Payload, Payload, Payload]:
    """Match states by the observations of the first run that both give them: Viterbi's states of both."""
    from scipy.optimize import linear_sum_assignment  # takes long to import

    data, other = hmm_model(first).sequences, hmm_model(second).sequences
    if data.is_symbols != other.is_symbols or data.n_features != other.n_features:
        raise PlaitError(
            f"one model has {_described(data)}, the other {_described(other)}: compare models of the same"
            " kind of observations"
        )
    if data.labels is not None and other.labels is not None and data.labels != other.labels:
        raise PlaitError("the symbols of the two models have different labels: fit both to the same symbols")
    found, likelihoods = [], []
    for run in (first, second):
        parameters = run.parameters(threads)
        parameters = parameters.permuted(state_order(run, parameters))
        parts = list(decode(parameters, data, likelihoods=True, n_jobs=threads))
        found.append(np.concatenate([part.states for part in parts]))
        own = [part.log_likelihoods for part in parts if part.log_likelihoods is not None]
        likelihoods.append(float(np.concatenate(own).sum()))
    n, m = int(first.model.n_states), int(second.model.n_states)
    counts = np.bincount(found[0] * m + found[1], minlength=n * m).reshape(n, m).astype(np.float64)
    ours, theirs = linear_sum_assignment(counts, maximize=True)
    either = counts.sum(axis=1, keepdims=True) + counts.sum(axis=0) - counts
    similarities = np.divide(counts, either, out=np.zeros_like(counts), where=either > 0)
    order = np.argsort(-similarities[ours, theirs], kind="stable")
    is_same = data.values.shape == other.values.shape and bool(
        np.array_equal(data.values, other.values, equal_nan=not data.is_symbols)
    )
    rest = {
        "of": "states",
        "words": WORDS._asdict(),
        **_matched(similarities, ours[order], theirs[order]),
        "confusion": rounded(counts / counts.sum()),
        "agreement": float(counts[ours, theirs].sum() / counts.sum()),
        "same_data": is_same,
        "log_likelihoods": [value / data.n_sites for value in likelihoods],
    }
    both = [_states(run, states, threads) for run, states in zip((first, second), found, strict=True)]
    return both[0], both[1], rest


def _described(sequences: Any) -> str:
    return "symbols" if sequences.is_symbols else f"{sequences.n_features} features"


def _states(run: Run, states: NDArray[np.int64], threads: Threads) -> Payload:
    """Return what is compared of states.

    Returns
    -------
    Payload
        "names", "shares" (S,) in the observations of the first run, "stay" (S,), "transitions" (S, S),
        and the parameters of its emissions; see `plait.report.emissions.parameters_of`.
    """
    model = hmm_model(run)
    parameters = run.parameters(threads)
    order = state_order(run, parameters)
    parameters, names = parameters.permuted(order), state_names(run, order)
    return {
        "names": [names.get(s) for s in range(model.n_states)],
        "shares": rounded(np.bincount(states, minlength=model.n_states) / max(1, states.size)),
        "stay": rounded(np.diagonal(parameters.transitions)),
        "transitions": np.ascontiguousarray(parameters.transitions, np.float32),
        **parameters_of(model.emissions, parameters.emissions),
    }
