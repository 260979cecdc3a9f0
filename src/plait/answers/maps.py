"""A map of the topics: topics with similar words are near each other.

The distance of two topics is the Hellinger distance H of their distributions of words (see `similar_topics`):

    H^2 = 1 - sum_w sqrt(phi_1w phi_2w) = |sqrt(phi_1) - sqrt(phi_2)|^2 / 2

It is an ordinary distance between the points sqrt(phi_t), so its classical scaling (principal coordinates)
is the principal components of these points: no eigenvalue is negative, and what two dimensions leave out is
known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, frozen
from plait.blas import one_blas_thread
from plait.inference.fitted import fitted_topics
from plait.run import Run
from plait.threads import Threads

_SAME = 1e-9  # less variance than this is rounding: the topics are equal


@dataclass(frozen=True, eq=False)
class TopicMap:
    """Where topics are on a map.

    Attributes
    ----------
    places : ndarray, (T, 2)
        Coordinates of each topic. Their squared distances are at most the squared Hellinger distances.
    shares : ndarray, (T,)
        The share of the tokens that each topic has.
    explained : float
        The share of the topics' variance that the two dimensions show.
    """

    places: Floats
    shares: Floats
    explained: float

    def __post_init__(self) -> None:
        frozen(self.places)
        frozen(self.shares)


def topic_map(run: Run, *, n_jobs: int | Threads | None = None) -> TopicMap:
    """Return a map of the topics of a run of LDA.

    Parameters
    ----------
    run : Run
        A run of LDA.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    topics = fitted_topics(run, n_jobs)
    products = _affinities(topics.topic_word, topics.topic_word) / 2
    centred = products - products.mean(axis=0) - products.mean(axis=1, keepdims=True) + products.mean()
    places = principal_axes(centred)
    whole = float(np.trace(centred))
    explained = min(1.0, float((places**2).sum()) / whole) if whole > _SAME else 1.0
    return TopicMap(places, topics.shares, explained)


def topic_similarities(run: Run, *, n_jobs: int | Threads | None = None) -> Floats:
    """Return the similarity of every two topics, (T, T): 1 - H; see `similar_topics`.

    Parameters
    ----------
    run : Run
        A run of LDA.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    topics = fitted_topics(run, n_jobs).topic_word
    similarities = hellinger_similarities(topics, topics)
    np.fill_diagonal(similarities, 1.0)
    return similarities


def hellinger_similarities(first: Floats, second: Floats) -> Floats:
    """Return 1 - H of every row of the first, (T, W), and every row of the second, (U, W)."""
    return similarities_of(_affinities(first, second))


def similarities_of(affinities: Floats) -> Floats:
    """Return 1 - H of pairs of distributions, given their affinities sum_w sqrt(p_w q_w)."""
    # Rounding can make the affinity of equal distributions exceed 1.
    similarities: Floats = 1.0 - np.sqrt(1.0 - np.minimum(affinities, 1.0))
    return similarities


@one_blas_thread  # the last bits would depend on the number of threads
def principal_axes(products: NDArray[np.float64], n: int = 2) -> Floats:
    """Return points, (T, n), whose inner products are nearest to the given ones, (T, T).

    Axes are in the order of their variance. The sign of each is chosen so that its largest coordinate is
    positive; otherwise it would depend on the library of linear algebra.
    """
    values, vectors = np.linalg.eigh(products)
    found = np.zeros((len(products), n))
    largest = np.sqrt(np.maximum(values[: -n - 1 : -1], 0)) * vectors[:, : -n - 1 : -1]
    found[:, : largest.shape[1]] = largest
    signs = np.where(found[np.abs(found).argmax(axis=0), np.arange(n)] < 0, -1.0, 1.0)
    return found * signs


@one_blas_thread
def _affinities(first: Floats, second: Floats) -> Floats:
    affinities: Floats = np.sqrt(first) @ np.sqrt(second).T
    return affinities
