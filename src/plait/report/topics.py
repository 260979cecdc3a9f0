"""The data of a report on a topic model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.answers import timeline
from plait.answers.periods import UNITS
from plait.answers.timelines import Timeline
from plait.arrays import Floats
from plait.checks import check_integer
from plait.data.corpus import Corpus
from plait.data.dates import parse_iso
from plait.errors import PlaitError
from plait.evaluate import HeldOut, coherence
from plait.evaluate.timeconc import YearlyTopics, quantile_edges, yearly_topics
from plait.inference.fitted import doc_topic, document_counts, fitted_topics, lda_model, note_of_changes
from plait.report.certainty import Certainty, certainty_of_tokens
from plait.report.common import about
from plait.report.documents import choose_documents, documents_block, parts_of
from plait.report.packing import Payload, rounded, small_integers
from plait.report.page import Page
from plait.run import Run

TOP: Final = 30
"""Words of a topic that the page can show, for every value of lambda."""

GAMMA: Final = 0.05
"""Share of a topic's weight in one of its buckets, as in the paper."""

_LAMBDAS: Final = np.linspace(0.0, 1.0, 21)
_TYPICAL: Final = 20
_SIMILAR: Final = 8
_MOST_PERIODS: Final = 240
_MOST_VALUES: Final = 60


def topics_pages(
    run: Run,
    *,
    title: str,
    path: Path,
    hidden: Sequence[int] = (),
    held_out: HeldOut | None = None,
    texts: bool = True,
    full: bool = False,
    n_jobs: int | None = None,
) -> Iterator[Page]:
    """Yield the pages of a report on a run of LDA: one or, with `full`, more with all of its documents.

    Parameters
    ----------
    run : Run
        A run of LDA.
    title : str
        Title of the report.
    path : Path
        The file of the first page; the others are next to it.
    hidden : sequence of int
        Topics that are hidden at first.
    held_out : HeldOut, optional
        The score on held-out documents, if it was computed.
    texts : bool
        Whether the texts of the documents are shown, if the corpus keeps them.
    full : bool
        Whether documents that the first page has no room for are written to other pages.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Yields
    ------
    Page
        Its blocks are "main", of which each part has its function in this module, and "documents": see
        `plait.report.documents.documents_block`.
    """
    run = run.best
    model = lda_model(run)
    hidden = [check_integer("hidden", topic, least=0, most=model.n_topics - 1) for topic in hidden]
    counts, theta = document_counts(run), doc_topic(run)
    typical = typical_documents(theta, model.corpus.lengths)
    fitted = fitted_topics(run, n_jobs)
    certainty = certainty_of_tokens(run, fitted.topic_word)
    main = {
        "kind": "lda",
        "title": title,
        "fingerprint": _fingerprint(run),
        "about": about(run),
        "notes": [note for note in (note_of_changes(run),) if note],
        "hidden": hidden,
        "topics": topics(run, fitted.topic_word, fitted.shares, certainty, n_jobs),
        "words": words(model.corpus, fitted.topic_word, fitted.shares),
        "typical": {
            "documents": small_integers(typical),
            "shares": rounded(np.take_along_axis(theta, typical.T, axis=0).T),
        },
        "time": time(run, counts),
        "columns": columns(run, counts),
        "held_out": None if held_out is None else _held_out(held_out),
    }
    first = choose_documents(model.corpus, np.unique(typical))
    ranges = parts_of(model.corpus) if full and len(first) < model.corpus.n_documents else []
    files = [path.with_name(f"{path.stem}-documents-{k}.html") for k in range(1, len(ranges) + 1)]
    parts = [
        {"file": file.name, "first": start, "last": end - 1}
        for file, (start, end) in zip(files, ranges, strict=True)
    ]
    chosen = [first, *(np.arange(*own) for own in ranges)]
    for file, own in zip([path, *files], chosen, strict=True):
        block = documents_block(run, theta, certainty, own, texts=texts)
        yield Page(file, {"main": main, "documents": {**block, "parts": parts or None}})


def topics(run: Run, phi: Floats, shares: Floats, certainty: Certainty, n_jobs: int | None = None) -> Payload:
    """Return the topics: their names, sizes and scores, their places on the map, and what is similar.

    Returns
    -------
    Payload
        "names": list of str or None; "shares", "certainty", "coherence" (T,); "certainty_of": what the
        certainty is, "paths" or "assignments"; "map" (T, 2), see `map_of_topics`; "similar" (T, k) and
        "similarities" (T, k), which are 1 - H, the Hellinger distance of two topics.
    """
    model = lda_model(run)
    affinities = _affinities(phi)
    similar = _others(np.argsort(-affinities, axis=1, kind="stable"))[:, :_SIMILAR]
    similarities = 1.0 - np.sqrt(1.0 - np.take_along_axis(affinities, similar, axis=1))
    scores = np.full(len(phi), np.nan)
    if phi.shape[1] >= 2:
        scores = coherence(run, model.corpus, top=min(10, phi.shape[1]), n_jobs=n_jobs).per_topic
    return {
        "names": [run.names.get(t) for t in range(model.n_topics)],
        "shares": rounded(shares),
        "certainty": rounded(certainty.of_topics(model.n_topics)),
        "certainty_of": certainty.kind,
        "n_paths": len(run.paths),
        "coherence": rounded(scores),
        "map": rounded(map_of_topics(affinities)),
        "similar": small_integers(similar),
        "similarities": rounded(similarities),
    }


def map_of_topics(affinities: Floats) -> Floats:
    """Return a map of the topics (T, 2): classical multidimensional scaling of their Hellinger distances.

    The first two principal coordinates of the matrix of squared distances, H^2 = 1 - affinity.
    """
    centred = affinities - affinities.mean(axis=0) - affinities.mean(axis=1, keepdims=True)
    centred += affinities.mean()
    values, vectors = np.linalg.eigh(centred)
    found = np.zeros((len(affinities), 2))
    largest = np.sqrt(np.maximum(values[:-3:-1], 0.0)) * vectors[:, :-3:-1]
    signs = np.where(largest.sum(axis=0) < 0, -1.0, 1.0)  # of a vector, the sign is arbitrary
    found[:, : largest.shape[1]] = largest * signs
    return found


def words(corpus: Corpus, phi: Floats, shares: Floats) -> Payload:
    """Return the words that some topic shows, and for each topic its own.

    The relevance of a word to a topic is lambda log phi_t(w) + (1 - lambda) log(phi_t(w) / p(w)), where p is
    the share of the word in the corpus (Sievert and Shirley, 2014). A topic has the words that are among its
    most relevant for some lambda between 0 and 1, in the order of phi. Words of which a topic is expected to
    have less than half a token are left out.

    Returns
    -------
    Payload
        "texts": list of str, the most frequent first; "stems": likewise as in the vocabulary, or None if they
        are the same; "counts": of tokens; "lengths" (T,): number of words of each topic; "words" and
        "probabilities", of all topics one after the other: numbers in "texts", and phi_t(w).
    """
    counts = np.bincount(corpus.words, minlength=corpus.n_words)
    own = [_relevant(phi[t], counts, max(1.0, shares[t] * corpus.n_tokens)) for t in range(len(phi))]
    used = np.unique(np.concatenate([*own, np.argsort(-counts, kind="stable")[:TOP]]))
    used = used[np.argsort(-counts[used], kind="stable")]
    number = np.zeros(corpus.n_words, np.int64)
    number[used] = np.arange(len(used))
    texts = [corpus.shown_words[w] for w in used]
    stems = [corpus.vocabulary[w] for w in used]
    return {
        "texts": texts,
        "stems": None if stems == texts else stems,
        "counts": small_integers(counts[used]),
        "n_tokens": corpus.n_tokens,
        "lengths": small_integers([len(one) for one in own]),
        "words": small_integers(np.concatenate([number[one] for one in own])),
        "probabilities": rounded(np.concatenate([phi[t, one] for t, one in enumerate(own)])),
    }


def typical_documents(theta: Floats, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most typical documents of each topic (T, k), in the order of `plait.answers.documents`."""
    filled = np.flatnonzero(lengths > 0)
    k = min(_TYPICAL, len(filled))
    found = np.empty((theta.shape[1], k), np.int64)
    for t in range(theta.shape[1]):
        shares = theta[filled, t]
        least = np.partition(shares, len(shares) - k)[len(shares) - k]
        best = np.flatnonzero(shares >= least)
        order = np.lexsort((-lengths[filled[best]], -shares[best]))
        found[t] = filled[best[order[:k]]]
    return found


def time(run: Run, counts: Floats) -> Payload | None:
    """Return topics over time, or None if documents have no dates that can be read.

    The unit is the shortest of which at least half of the periods have documents, if they are not too many.

    Returns
    -------
    Payload
        "by": the unit; "periods", "n_documents", "n_tokens", "shares" and "notes" as in
        `plait.answers.Timeline`; "years": None, or of `plait.evaluate.timeconc`, whose year is the mean of
        its documents: "first" year, "entropies" (Y,) and the "edges" (T, n + 1) of the buckets.
    """
    corpus = lda_model(run).corpus
    days = [parse_iso(text) for text in corpus.dates or ()]
    known = [day for day in days if day is not None]
    if not known:
        return None
    finest = max(day.precision for day in known)
    units = [name for name, unit in UNITS.items() if unit.precision <= finest]
    found = timeline(run, units[0], counts=counts)
    for unit in units[1:]:
        try:
            finer = timeline(run, unit, counts=counts)
        except PlaitError:  # too many periods
            break
        n = len(finer.periods)
        if n > _MOST_PERIODS or 2 * np.count_nonzero(finer.n_documents) < n:
            break
        found = finer
    return {**_timeline(found), "years": _years(run)}


def columns(run: Run, counts: Floats) -> Sequence[Payload]:
    """Return topics by the values of each column that has a few; of the others, the reason.

    Each is {"name", "notes", ...} with the fields of `time`, or with "reason" instead.
    """
    corpus = lda_model(run).corpus
    found: list[Payload] = []
    for name, values in corpus.columns.items():
        distinct = len({value for value in values if value})
        if not 2 <= distinct <= _MOST_VALUES:
            n = "no values" if not distinct else "a single value" if distinct == 1 else f"{distinct} values"
            found.append({"name": name, "reason": f"it has {n}; 2 to {_MOST_VALUES} can be compared"})
        elif name in UNITS and corpus.dates is not None:
            found.append({"name": name, "reason": "it has the name of a unit of time"})
        else:
            found.append({"name": name, **_timeline(timeline(run, name, counts=counts))})
    return found


def _timeline(found: Timeline) -> dict[str, Any]:
    return {
        "by": found.by,
        "periods": found.periods,
        "n_documents": small_integers(found.n_documents),
        "n_tokens": small_integers(found.n_tokens),
        "shares": rounded(found.shares),
        "notes": found.notes(),
    }


def mean_yearly_topics(run: Run) -> YearlyTopics | None:
    """Return the weights of topics over the years, the mean over the paths; None if years are too few."""
    corpus = lda_model(run).corpus
    days = [parse_iso(text) for text in corpus.dates or ()] or [None] * corpus.n_documents
    years = np.array([-1 if day is None else day.year for day in days])
    dated = (years >= 0) & (corpus.lengths > 0)
    if not dated.any() or np.ptp(years[dated]) < 2:
        return None
    tokens = np.repeat(dated, corpus.lengths)
    own = corpus.select(dated)
    try:
        of_paths = [
            yearly_topics(own, path[tokens], lda_model(run).n_topics, years=years[dated])
            for path in run.paths
        ]
    except PlaitError:  # the years are too far apart
        return None
    first = of_paths[0]
    return YearlyTopics(first.years, first.n_documents, np.mean([one.weights for one in of_paths], axis=0))


def _years(run: Run) -> Payload | None:
    """Return the paper's measures of time."""
    mean = mean_yearly_topics(run)
    if mean is None:
        return None
    return {
        "first": int(mean.years[0]),
        "gamma": GAMMA,
        "entropies": rounded(mean.entropies),
        "edges": rounded(quantile_edges(mean.weights, GAMMA)),
    }


def _fingerprint(run: Run) -> str:
    """Return what tells this fit from others: names that are given in the page are kept under it."""
    model = lda_model(run)
    digest = hashlib.sha256(json.dumps([model.corpus.n_tokens, model.corpus.vocabulary[:100]]).encode())
    digest.update(run.paths[:1, :100_000].tobytes())
    return digest.hexdigest()[:16]


def _held_out(score: HeldOut) -> Payload:
    return {
        "per_token": score.per_token,
        "perplexity": score.perplexity,
        "method": score.method,
    }


def _relevant(phi: Floats, counts: NDArray[np.int64], n_tokens: float) -> NDArray[np.int64]:
    """Return the words of a topic that are most relevant for some lambda, the most probable first."""
    candidates = np.flatnonzero((phi * n_tokens >= 0.5) & (counts > 0))
    if len(candidates) < TOP:
        candidates = np.argsort(-phi * (counts > 0), kind="stable")[:TOP]
    candidates = candidates[(counts[candidates] > 0) & (phi[candidates] > 0)]
    log_phi = np.log(phi[candidates])
    log_lift = log_phi - np.log(counts[candidates] / counts.sum())
    chosen = np.zeros(len(candidates), bool)
    n = min(TOP, len(candidates))
    for weight in _LAMBDAS:
        relevance = weight * log_phi + (1.0 - weight) * log_lift
        chosen[np.argpartition(-relevance, n - 1)[:n]] = True
    own = candidates[chosen]
    return own[np.argsort(-phi[own], kind="stable")]


def _affinities(phi: Floats) -> Floats:
    """Return sum_w sqrt(phi_s(w) phi_t(w)) for every two topics, (T, T)."""
    roots = np.sqrt(phi)
    found: Floats = np.minimum(roots @ roots.T, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def _others(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return, for each row of an order of all topics, the topics other than that of the row."""
    is_other = order != np.arange(len(order))[:, None]
    return order[is_other].reshape(len(order), len(order) - 1)
