"""Topics phi in the layout of the sampler, `plait.kernels.lda.Topics`: how they are made and checked."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_form, place_of
from plait.checks import short_repr
from plait.errors import Argument, PlaitError
from plait.kernels import lda as kernels
from plait.kernels.lda import Topics
from plait.threads import Range, Threads, even_ranges, use_threads

CELLS_PER_RANGE: Final = 65536
"""With fewer cells of phi, a thread costs more than it saves."""

_ROUNDING = 1e-3  # how far the sum of a topic may be from 1: phi is single precision


def make_topics(
    topic_word: NDArray[np.float64], alpha: NDArray[np.float64], n_jobs: int | Threads | None = None
) -> Topics:
    """Return topics in the layout of the sampler.

    Parameters
    ----------
    topic_word : ndarray of float64, (T, W)
        The topics, which are finite; rows sum to 1.
    alpha : ndarray of float64, (T,)
        Prior of the topics in a document.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    n_topics, n_words = topic_word.shape
    phi = topic_word.T.astype(np.float32, order="C")
    ranges = even_ranges(n_words, n_words * n_topics // CELLS_PER_RANGE)
    with use_threads(n_jobs) as threads:
        return normalise_topics(phi, np.ones(n_topics), alpha, ranges, threads)


def normalise_topics(
    phi: NDArray[np.float32],
    scale: NDArray[np.float64],
    alpha: NDArray[np.float64],
    word_ranges: list[Range],
    threads: Threads,
) -> Topics:
    """Multiply phi (W, T) by `scale` (T,), and return it with its sums over topics."""
    topics = Topics(phi, np.empty((phi.shape[0], kernels.count_blocks(phi.shape[1]))))

    def normalise(first: int, last: int) -> None:
        kernels.normalise_topics(first, last, topics, scale, alpha)

    threads.map(normalise, word_ranges)
    return topics


def check_topics(topics: Any, n_words: int, n_topics: int | None = None, *, values: bool = False) -> None:
    """Raise an error unless topics have the layout that kernels take, for this many words and topics.

    With `values`, the numbers are checked, too.
    """
    if not isinstance(topics, Topics):
        raise PlaitError(
            Argument("topics"), f" must be Topics, such as Run.parameters returns, got {short_repr(topics)}"
        )
    phi, shared = topics
    if n_topics is None:
        n_topics = np.shape(phi)[-1] if np.ndim(phi) else 0
    check_form("phi of the topics", phi, (n_words, n_topics), np.float32)
    check_form("shared of the topics", shared, (n_words, kernels.count_blocks(n_topics)))
    if not phi.flags.c_contiguous or not shared.flags.c_contiguous:
        raise PlaitError(
            Argument("topics"), " must be arrays in C order: copy them with numpy.ascontiguousarray"
        )
    if values:
        for array in topics:
            if not (array.min() >= 0 and np.isfinite(array.max())):  # NaN fails both
                raise PlaitError(Argument("topics"), " must be finite numbers of at least 0")


def check_probabilities(name: Argument, phi: NDArray[np.float32]) -> None:
    """Raise an error unless the columns of phi (W, T) are distributions."""
    wrong = ~((phi >= 0) & (phi <= 1 + _ROUNDING))  # NaN is neither
    if wrong.any():
        _, (w, t) = place_of(wrong)
        raise PlaitError(
            name, f" must have probabilities from 0 to 1, got {phi[w, t]:g} for word {w} in topic {t}"
        )
    sums = phi.sum(axis=0, dtype=np.float64)
    for t in np.flatnonzero(np.abs(sums - 1) > _ROUNDING)[:1]:
        raise PlaitError(
            name, f" must have topics that sum to 1, got {sums[t]:.6g} for topic {t}: normalise them"
        )
