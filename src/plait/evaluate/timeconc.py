"""Topics over time: their weights in each year, and how concentrated a topic is in few years.

The measures are those of the paper's section on the State of the Union addresses, and of its appendix on time
concentration:

    theta_d        shares of a document's tokens by topic
    theta_y        mean of theta_d over the documents of year y; theta_y(t) is the weight of topic t
    w_t            total weight of a topic, the sum over the years of theta_y(t)
    entropy        of theta_y: low where few topics dominate a year
    buckets        intervals of time that each hold the same share gamma of a topic's total weight: short
                   where the topic is concentrated

The time axis has every year from the first to the last. In a year without documents all topics have weight
zero and the entropy is undefined, but the year counts: the lengths of a topic's buckets always sum to the
number of years. Documents without tokens have no theta_d and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, frozen
from plait.checks import check_integer, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.models.model import MAX_STATES

_MOST_YEARS = 100_000  # a longer span is a mistake in a date
_SAME_SHARE = 1e-12  # shares of weight that differ by less are equal up to rounding


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
    """Return the weights of topics over the years; all documents of a year have equal weight.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    assignments : array of int, (N,)
        The topic of every token: one path of a run, such as `run.paths[0]`.
    n_topics : int
        Number of topics T.
    years : array of int, (D,), optional
        The year of each document; by default the year of its date.
    """
    topics, n_topics = _check_assignments(corpus, assignments, n_topics)
    documents = document_years(corpus) if years is None else _check_years(corpus, years)
    lengths = corpus.lengths
    if not lengths.any():
        raise PlaitError("no document has a word, so topics have no weight: pass documents with words")
    filled = documents[lengths > 0]
    first, last = int(filled.min()), int(filled.max())
    if last - first >= _MOST_YEARS:
        raise PlaitError(
            Argument("years"), f" must be less than {_MOST_YEARS} years apart, got {first} to {last}"
        )
    n_years = last - first + 1
    n_documents = np.bincount(filled - first, minlength=n_years)
    # A token adds 1 / length to its document's theta_d, which adds 1 / n_documents to its year's mean.
    row = np.where(lengths > 0, documents - first, 0)
    part = 1.0 / (np.maximum(lengths, 1) * np.maximum(n_documents[row], 1))
    weights: Floats = np.bincount(  # type: ignore[assignment]
        np.repeat(row, lengths) * n_topics + topics,
        weights=np.repeat(part, lengths),
        minlength=n_years * n_topics,
    ).reshape(n_years, n_topics)
    return YearlyTopics(np.arange(first, last + 1), n_documents, weights)


def document_years(corpus: Corpus) -> NDArray[np.int64]:
    """Return the year of each document, (D,), from its ISO date such as "1863" or "1863-11-19"."""
    if corpus.dates is None:
        raise PlaitError(
            "the corpus has no dates: build it with dates, or pass the year of each document as ",
            Argument("years"),
        )
    years = np.empty(corpus.n_documents, np.int64)
    for document, date in enumerate(corpus.dates):
        year = date.split("-", 1)[0]
        if not (year.isascii() and year.isdigit() and len(year) <= 6):
            raise PlaitError(
                f"the date of document {document} must start with the year, such as '1863' or '1863-11-19',"
                f" got {short_repr(date)}: correct it, or pass the year of each document as ",
                Argument("years"),
            )
        years[document] = int(year)
    return years


def entropy(weights: ArrayLike) -> Floats:
    """Return the entropy in nats of the normalised weights along the last axis; NaN if all are zero."""
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
        Share of the weight in an interval; 1 / gamma must be a whole number, the number of intervals n.

    Returns
    -------
    ndarray, (T, n + 1)
        Edges of the intervals, in years since the start of the first year: from 0 to Y. Rows of topics
        without weight are NaN.

    Notes
    -----
    Within a year the weight is spread evenly, so edges are interpolated linearly. If a gap without weight
    separates two intervals, the edge is in the middle of the gap, so reversing time mirrors the edges.
    """
    values = _check_weights(weights)
    if values.ndim != 2:
        raise PlaitError(
            Argument("weights"), f" must be an array of years by topics, (Y, T), got shape {values.shape}"
        )
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
    """Return the earliest points in time at which a topic reaches each of the shares of its weight."""
    after = np.searchsorted(reached, shares, side="left")
    rise = reached[after] - reached[after - 1]  # positive, since `after` is the first to reach the share
    points: Floats = (after - 1) + (shares - reached[after - 1]) / rise
    return points


def _check_assignments(
    corpus: Corpus, assignments: ArrayLike, n_topics: int
) -> tuple[NDArray[np.int64], int]:
    n_topics = check_integer("n_topics", n_topics, least=1, most=MAX_STATES)
    topics = np.asarray(assignments)
    if topics.shape != (corpus.n_tokens,) or topics.dtype.kind not in "ui":
        raise PlaitError(
            Argument("assignments"),
            f" must be one whole number for each of the {corpus.n_tokens} tokens, such as run.paths[0],"
            f" got {topics.dtype} of shape {topics.shape}",
        )
    outside = (topics < 0) | (topics >= n_topics)
    if outside.any():
        at = int(np.argmax(outside))
        raise PlaitError(
            Argument("assignments"),
            f"[{at}] must be from 0 to {n_topics - 1} with {n_topics} topics, got {topics[at]}",
        )
    return topics.astype(np.int64), n_topics


def _check_years(corpus: Corpus, years: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(years)
    if given.shape != (corpus.n_documents,) or given.dtype.kind not in "ui":
        raise PlaitError(
            Argument("years"),
            f" must be one whole number for each of the {corpus.n_documents} documents,"
            f" got {given.dtype} of shape {given.shape}",
        )
    return given.astype(np.int64)


def _check_weights(weights: ArrayLike) -> Floats:
    values = np.asarray(weights, np.float64)
    if not values.ndim or not values.size:
        raise PlaitError(
            Argument("weights"), f" must be an array that is not empty, got shape {values.shape}"
        )
    wrong = ~np.isfinite(values) | (values < 0)
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        index = ", ".join(map(str, at))
        raise PlaitError(Argument("weights"), f"[{index}] must be finite and at least 0, got {values[at]}")
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
            Argument("gamma"),
            f" must be 1 divided by a whole number of buckets, such as 0.05 for 20, got {short_repr(gamma)}",
        )
    return n_buckets
