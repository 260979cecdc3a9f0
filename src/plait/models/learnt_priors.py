"""Learnt Dirichlet priors of LDA: a value of alpha for each topic, and the scale of eta.

Given the paths, alpha maximises prod_j P(p^j | alpha), where theta is integrated out, and eta maximises
P(w | p^1, ..., p^m, eta), where phi is integrated out. Both are Dirichlet-multinomial likelihoods of counts;
`plait.kernels.learnt_priors` has the fixed point that climbs them. A sampler that learns in this way is a
stochastic EM: it draws the paths given the priors, then improves the priors given the paths (Wallach, Mimno
and McCallum, 2009).

Both have a weak hyperprior, Gamma(c + 1, c / a0) for each alpha_t and for eta, whose mode a0 is the value
that learning starts from. In the fixed point it adds c to the numerator and c / a0 to the denominator. On
large data it changes nothing that matters. On a handful of documents it keeps the priors near a0, and it
keeps the alpha_t of a topic without tokens above zero.

Learn with one path. With several, phi tends to the maximum-likelihood solution, documents then need fewer
topics, and alpha tends to zero.
"""

from __future__ import annotations

from typing import Any, Final, cast

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.data.corpus import Corpus
from plait.kernels import learnt_priors as kernels
from plait.kernels.documents import scratch_topic_list
from plait.kernels.learnt_priors import Exceeding
from plait.models.model import Paths
from plait.threads import Threads, even_ranges, weighted_ranges

ALPHA_WEIGHT: Final = 1.0
"""The weight c of the hyperprior of alpha_t: that many documents with one token of topic t."""

ETA_WEIGHT: Final = 10.0
"""The weight c of the hyperprior of eta: that many words with one token of a topic."""

ALPHA_RANGE: Final = (1e-6, 1e2)
"""Least and largest learnt alpha_t."""

ETA_RANGE: Final = (1e-6, 1e1)
"""Least and largest learnt eta."""

ITERATIONS: Final = 50
"""Most iterations of the fixed point. When priors are learnt again, it continues from where it ended."""

_CONVERGED = 1e-4  # relative change of every prior, far below what another sweep changes


def exceeding(n_counts: NDArray[np.int64]) -> Exceeding:
    """Return buffers for lists of counts of at most `n_counts` (T,), all zero."""
    starts = np.append(0, np.cumsum(n_counts))
    return Exceeding(np.zeros(int(starts[-1]), np.int64), starts)


def count_in_documents(
    corpus: Corpus, paths: Paths, bounds: NDArray[np.int64], threads: Threads
) -> NDArray[np.int64]:
    """Return for each topic how many documents and paths have f + 1 tokens of it, in lists one after another.

    `bounds` (T,) are the lengths of the lists: no document has more tokens of the topic. The numbers of parts
    of a corpus can be added.
    """
    starts = exceeding(bounds).starts

    def add(first: int, last: int) -> NDArray[np.int64]:
        numbers = np.zeros(int(starts[-1]), np.int64)
        present = scratch_topic_list(len(bounds))
        kernels.add_document_counts(first, last, corpus.offsets, paths, present, starts, numbers)
        return numbers

    # Sums of integers do not depend on the ranges, so there need be no more than one per thread.
    numbers: NDArray[np.int64] = np.sum(threads.map(add, weighted_ranges(corpus.offsets, threads.n)), axis=0)
    return numbers


def accumulated(numbers: NDArray[np.int64], bounds: NDArray[np.int64]) -> Exceeding:
    """Return how many documents and paths have more than f tokens, from `count_in_documents`."""
    of_topics = exceeding(bounds)
    of_topics.numbers[:] = numbers
    kernels.accumulate(of_topics)
    return of_topics


def count_in_cells(word_counts: NDArray[np.int32], most: int, threads: Threads) -> Exceeding:
    """Return how many cells of C^TW (W, T), none of which exceeds `most`, exceed f."""
    of_cells = exceeding(np.array([most]))

    def add(first: int, last: int) -> NDArray[np.int64]:
        numbers = np.zeros_like(of_cells.numbers)
        kernels.add_word_counts(first, last, word_counts, numbers)
        return numbers

    of_cells.numbers[:] = np.sum(threads.map(add, even_ranges(len(word_counts), threads.n)), axis=0)
    kernels.accumulate(of_cells)
    return of_cells


def learn_alpha(
    of_topics: Exceeding,
    lengths: NDArray[np.int64],
    n_paths: int,
    alpha: Floats,
    start: float,
    iterations: int = ITERATIONS,
) -> Floats:
    """Return the alpha (T,) that maximises the probability of the topics of all documents in all paths.

    Parameters
    ----------
    of_topics : Exceeding
        For each topic, how many documents and paths have more than f tokens of it.
    lengths : ndarray of int, (D,)
        Lengths of the documents.
    n_paths : int
        Number of paths m; each document counts in each.
    alpha : ndarray, (T,)
        Where the fixed point starts.
    start : float
        The mode a0 of the hyperprior.
    iterations : int
        Most iterations.
    """
    sizes, documents = np.unique(lengths, return_counts=True)
    sums, alpha = np.empty(len(alpha)), alpha.copy()  # not read-only, as later values are not
    for _ in range(iterations):
        kernels.sum_differences(of_topics, alpha, sums)
        total = alpha.sum()
        all_documents = n_paths * float(documents @ _digamma_difference(sizes, total))
        improved = (alpha * sums + ALPHA_WEIGHT) / (all_documents + ALPHA_WEIGHT / start)
        improved = np.clip(improved, *ALPHA_RANGE)
        converged = _is_close(improved, alpha)
        alpha = improved
        if converged:
            break
    return alpha


def learn_eta(
    of_cells: Exceeding,
    topic_counts: NDArray[np.int64],
    n_words: int,
    eta: float,
    start: float,
    iterations: int = ITERATIONS,
) -> float:
    """Return the scalar eta that maximises the probability of the words given their topics.

    Parameters
    ----------
    of_cells : Exceeding
        One list: how many cells of C^TW exceed f.
    topic_counts : ndarray of int, (T,)
        C^T, over all paths.
    n_words : int
        Number of words W.
    eta : float
        Where the fixed point starts.
    start : float
        The mode a0 of the hyperprior.
    iterations : int
        Most iterations.
    """
    sums = np.empty(1)
    for _ in range(iterations):
        kernels.sum_differences(of_cells, np.array([eta]), sums)
        total = n_words * eta
        all_topics = float(_digamma_difference(topic_counts, total).sum())
        improved = (eta * sums[0] + ETA_WEIGHT) / (n_words * all_topics + ETA_WEIGHT / start)
        improved = float(np.clip(improved, *ETA_RANGE))
        converged = _is_close(improved, eta)
        eta = improved
        if converged:
            break
    return eta


def learn_scale(counts: NDArray[np.int32], eta: Floats, iterations: int = ITERATIONS) -> float:
    """Return the factor s that maximises the probability of the words given their topics, for s eta_tw.

    Parameters
    ----------
    counts : ndarray of int, (W, T)
        C^TW, over all paths.
    eta : ndarray, (W, T)
        The prior before.
    iterations : int
        Most iterations.
    """
    topic_counts, sums = counts.sum(axis=0, dtype=np.int64), eta.sum(axis=0)
    cells = counts > 0
    seen, shape = counts[cells], eta[cells]
    least, most = ETA_RANGE[0] / eta.min(), ETA_RANGE[1] / eta.max()
    scale = 1.0
    for _ in range(iterations):
        prior, totals = scale * shape, scale * sums
        numerator = shape @ _digamma_difference(seen, prior)
        denominator = sums @ _digamma_difference(topic_counts, totals)
        improved = float(max(min(scale * numerator / denominator, most), least))
        converged = _is_close(improved, scale)
        scale = improved
        if converged:
            break
    return scale


def _digamma_difference(counts: NDArray[Any], prior: Floats | float) -> Floats:
    """Return psi(counts + prior) - psi(prior)."""
    return cast(Floats, scipy.special.digamma(counts + prior) - scipy.special.digamma(prior))


def _is_close(improved: Floats | float, before: Floats | float) -> bool:
    return bool(np.all(np.abs(improved - before) <= _CONVERGED * np.asarray(before)))
