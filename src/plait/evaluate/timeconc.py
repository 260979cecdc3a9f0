"""How topics are spread over time: their weights year by year, and how few years hold most of a topic.

The measures are those of the paper's section on the State of the Union addresses, and of its appendix on time
concentration:

    theta_d        shares of a document's tokens by topic
    theta_y        mean of theta_d over the documents of year y; theta_y(t) is the weight of topic t
    w_t            total weight of a topic, the sum over the years of theta_y(t)
    entropy        of theta_y: low where few topics make up a year
    buckets        intervals of time that hold the same share gamma of a topic's total weight each: short
                   ones where the topic is concentrated

Time runs over every year from the first to the last. A year without documents has weight zero for every
topic and no entropy, but it counts on the axis: the buckets of any topic are as long together as there are
years. Documents without tokens have no theta_d and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.checks import check_integer, frozen, short_repr
from plait.data.corpus import Corpus
from plait.errors import PlaitError

Floats = NDArray[np.float64]

_MOST_YEARS = 100_000  # more are a mistake in a date
_SAME_SHARE = 1e-12  # shares of weight that differ by less are the same: sums are not exact


@dataclass(frozen=True, eq=False)
class YearlyTopics:
    """The weights of topics over the years.

    Attributes
    ----------
    years : ndarray of int64, (Y,)
        Every year from the first to the last.
    n_documents : ndarray of int64, (Y,)
        Number of documents of each year that have tokens.
    weights : ndarray, (Y, T)
        theta_y(t): rows sum to 1, or to 0 in years without documents.
    """

    years: NDArray[np.int64]
    n_documents: NDArray[np.int64]
    weights: Floats

    def __post_init__(self) -> None:
        for name in ("years", "n_documents", "weights"):
            object.__setattr__(self, name, frozen(getattr(self, name).view()))

    @property
    def totals(self) -> Floats:
        """The total weight w_t of each topic, (T,); they sum to the number of years with documents."""
        totals: Floats = self.weights.sum(axis=0)
        return totals

    @property
    def entropies(self) -> Floats:
        """The entropy of each year's topics in nats, (Y,); NaN in years without documents."""
        return np.where(self.n_documents > 0, entropy(self.weights), np.nan)


def document_topics(corpus: Corpus, assignments: ArrayLike, n_topics: int) -> Floats:
    """Return the shares of each document's tokens by topic, theta_d, (D, T).

    Parameters
    ----------
    corpus : Corpus
        The documents.
    assignments : array of int, (N,)
        The topic of every token: one path of a run, such as `run.paths[0]`.
    n_topics : int
        Number of topics T.

    Returns
    -------
    ndarray, (D, T)
        Rows sum to 1; those of documents without tokens are zero. No prior is added.
    """
    topics, n_topics = _check_assignments(corpus, assignments, n_topics)
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    cells = np.bincount(document * n_topics + topics, minlength=corpus.n_documents * n_topics)
    shares: Floats = cells.reshape(-1, n_topics) / np.maximum(corpus.lengths, 1)[:, None]
    return shares


def yearly_topics(
    corpus: Corpus, assignments: ArrayLike, n_topics: int, *, years: ArrayLike | None = None
) -> YearlyTopics:
    """Return the weights of topics over the years: every document of a year counts the same.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    assignments : array of int, (N,)
        The topic of every token: one path of a run, such as `run.paths[0]`.
    n_topics : int
        Number of topics T.
    years : array of int, (D,), optional
        The year of each document; what its date begins with by default.
    """
    topics, n_topics = _check_assignments(corpus, assignments, n_topics)
    documents = document_years(corpus) if years is None else _check_years(corpus, years)
    lengths = corpus.lengths
    if not lengths.any():
        raise PlaitError("none of the documents has a word: topics have no weight; give documents with words")
    filled = documents[lengths > 0]
    first, last = int(filled.min()), int(filled.max())
    if last - first >= _MOST_YEARS:
        raise PlaitError(
            f"the years run from {first} to {last}: give years that are at most {_MOST_YEARS} years apart"
        )
    n_years = last - first + 1
    n_documents = np.bincount(filled - first, minlength=n_years)
    # A token of a document is a part of its theta_d, and theta_d a part of its year's mean.
    row = np.where(lengths > 0, documents - first, 0)
    part = 1.0 / (np.maximum(lengths, 1) * np.maximum(n_documents[row], 1))
    weights: Floats = np.bincount(  # type: ignore[assignment]
        np.repeat(row, lengths) * n_topics + topics,
        weights=np.repeat(part, lengths),
        minlength=n_years * n_topics,
    ).reshape(n_years, n_topics)
    return YearlyTopics(np.arange(first, last + 1), n_documents, weights)


def document_years(corpus: Corpus) -> NDArray[np.int64]:
    """Return the year of each document, (D,): what its ISO date, "1863" or "1863-11-19", begins with."""
    if corpus.dates is None:
        raise PlaitError("the corpus has no dates: make it with dates, or pass the year of each document")
    years = np.empty(corpus.n_documents, np.int64)
    for document, date in enumerate(corpus.dates):
        year = date.split("-", 1)[0]
        if not (year.isascii() and year.isdigit() and len(year) <= 6):
            raise PlaitError(
                f"the date of document {document} is {short_repr(date)}: dates begin with the year, such as"
                ' "1863" or "1863-11-19"; correct it, or pass the year of each document'
            )
        years[document] = int(year)
    return years


def entropy(weights: ArrayLike) -> Floats:
    """Return the entropy in nats of weights along the last axis, scaled to sum to 1; NaN if all are zero."""
    values = _check_weights(weights)
    totals = values.sum(axis=-1, keepdims=True)
    shares = np.divide(values, totals, out=np.zeros_like(values), where=totals > 0)
    terms = shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    entropies: Floats = np.where(totals[..., 0] > 0, np.abs(terms.sum(axis=-1)), np.nan)
    return entropies


def quantile_edges(weights: ArrayLike, gamma: float) -> Floats:
    """Cut the time axis into intervals, each with a share gamma of a topic's total weight.

    Parameters
    ----------
    weights : array, (Y, T)
        Weights of topics over the years, such as `YearlyTopics.weights`.
    gamma : float
        Share of the weight in an interval; 1 / gamma is a whole number of intervals, n.

    Returns
    -------
    ndarray, (T, n + 1)
        Where the intervals begin and end, in years from the beginning of the first year: from 0 to Y. Rows
        of topics without weight are NaN.

    Notes
    -----
    Within a year weight is spread evenly, so edges are interpolated linearly. Where there is no weight for a
    while just between two intervals, the edge is in the middle of it: time may as well run backwards.
    """
    values = _check_weights(weights)
    if values.ndim != 2:
        raise PlaitError(f"weights have the shape {values.shape}: pass an array of years by topics, (Y, T)")
    n_buckets = _check_gamma(gamma)
    n_years, n_topics = values.shape
    inner = np.arange(1, n_buckets) / n_buckets
    edges = np.full((n_topics, n_buckets + 1), np.nan)
    for topic in np.flatnonzero(values.sum(axis=0) > 0):
        reached = np.append(0.0, np.cumsum(values[:, topic]))
        reached /= reached[-1]
        before = _first_reached(reached, inner - _SAME_SHARE)
        after = n_years - _first_reached(1.0 - reached[::-1], 1.0 - inner - _SAME_SHARE)
        edges[topic, 0], edges[topic, -1] = 0.0, n_years
        edges[topic, 1:-1] = (before + after) / 2.0
    return edges


def bucket_lengths(weights: ArrayLike, gamma: float) -> Floats:
    """Return the lengths in years of a topic's gamma-quantile buckets, (T, 1 / gamma); see `quantile_edges`.

    The lengths of a topic sum to the number of years; those of a topic without weight are NaN.
    """
    return np.diff(quantile_edges(weights, gamma), axis=1)


def _first_reached(reached: Floats, shares: Floats) -> Floats:
    """Return the earliest points in time at which a topic has some shares of its weight."""
    after = np.searchsorted(reached, shares, side="left")
    rise = reached[after] - reached[after - 1]  # positive: it is the first year that reaches the share
    points: Floats = (after - 1) + (shares - reached[after - 1]) / rise
    return points


def _check_assignments(
    corpus: Corpus, assignments: ArrayLike, n_topics: int
) -> tuple[NDArray[np.int64], int]:
    n_topics = check_integer("n_topics", n_topics, least=1)
    topics = np.asarray(assignments)
    if topics.shape != (corpus.n_tokens,) or topics.dtype.kind not in "ui":
        raise PlaitError(
            f"assignments are {topics.dtype} of the shape {topics.shape}: pass whole numbers, one for each of"
            f" the {corpus.n_tokens} tokens, such as run.paths[0]"
        )
    outside = (topics < 0) | (topics >= n_topics)
    if outside.any():
        at = int(np.argmax(outside))
        raise PlaitError(
            f"assignments[{at}] is {topics[at]}, but with {n_topics} topics they go from 0 to {n_topics - 1}"
        )
    return topics.astype(np.int64), n_topics


def _check_years(corpus: Corpus, years: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(years)
    if given.shape != (corpus.n_documents,) or given.dtype.kind not in "ui":
        raise PlaitError(
            f"years are {given.dtype} of the shape {given.shape}: pass whole numbers, one for each of the"
            f" {corpus.n_documents} documents"
        )
    return given.astype(np.int64)


def _check_weights(weights: ArrayLike) -> Floats:
    values = np.asarray(weights, np.float64)
    if not values.ndim or not values.size:
        raise PlaitError(f"weights have the shape {values.shape}: pass an array that is not empty")
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise PlaitError(f"the weight at {at} is {values[at]}: weights are finite and at least 0; correct it")
    return values


def _check_gamma(gamma: float) -> int:
    """Return the number of buckets."""
    try:
        share = float(gamma)
    except (TypeError, ValueError):
        share = np.nan
    n_buckets = round(1.0 / share) if 1e-6 <= share <= 1.0 else 0
    if n_buckets < 1 or abs(n_buckets * share - 1.0) > 1e-9:
        raise PlaitError(
            f"gamma is {short_repr(gamma)}: pass 1 divided by a whole number of buckets, such as 0.05 for 20"
        )
    return n_buckets
