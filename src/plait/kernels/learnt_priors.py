"""Kernels that learn Dirichlet priors from counts, by Minka's fixed point on histograms of the counts.

Counts n_d ~ DirichletMultinomial(alpha), for d = 1..D, have the likelihood

    prod_d  Gamma(A) / Gamma(A + n_d)  prod_t  Gamma(alpha_t + n_dt) / Gamma(alpha_t),      A = sum_t alpha_t.

Minka (2000) maximises it by repeating

    alpha_t <- alpha_t  sum_d [psi(n_dt + alpha_t) - psi(alpha_t)]  /  sum_d [psi(n_d + A) - psi(A)].

Since psi(n + a) - psi(a) = sum_{f=0}^{n-1} 1 / (f + a), each sum over d needs only the number of d with
n_dt > f, for every f (Wallach, 2008). These numbers are collected once; an iteration does not depend on D.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.kernels.documents import clear_topics, list_topics


class Exceeding(NamedTuple):
    """For several lists of counts, how many counts exceed f, for f = 0, 1, 2, ...

    Attributes
    ----------
    numbers : ndarray of int64
        `numbers[starts[t] + f]` is how many counts of list t exceed f; all lists one after another.
    starts : ndarray of int64, (T + 1,)
        Where each list starts.
    """

    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]


@kernel
def add_document_counts(first, last, offsets, paths, present, starts, numbers):
    """Count, for each topic t, how often C^DT_jdt is f + 1: add to `numbers[starts[t] + f]`.

    For the documents `first` to `last` and all paths j. `present`, a `TopicList`, is scratch.
    """
    topics, counts, place = present
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(paths.shape[0]):
            n = list_topics(paths[j], start, stop, topics, counts, place)
            for k in range(n):
                t = topics[k]
                at = starts[t] + np.int64(counts[k]) - 1
                if at < starts[t + 1]:  # always, unless the lists were made for other paths
                    numbers[at] += 1
            clear_topics(topics, place, n)


@kernel
def add_word_counts(first, last, word_counts, numbers):
    """Count how often a cell of C^TW is f + 1, for the words `first` to `last`: add to `numbers[f]`."""
    for w in range(first, last):
        for t in range(word_counts.shape[1]):
            if 0 < word_counts[w, t] <= numbers.size:  # no larger, unless they are counts of other paths
                numbers[word_counts[w, t] - 1] += 1


@kernel
def accumulate(exceeding):
    """Turn numbers of counts that equal f + 1 into numbers of counts that exceed f."""
    numbers, starts = exceeding
    for t in range(starts.size - 1):
        total = 0
        for at in range(starts[t + 1] - 1, starts[t] - 1, -1):
            total += numbers[at]
            numbers[at] = total


@kernel
def sum_differences(exceeding, priors, sums):
    """Fill `sums` (T,) with sum_d [psi(n_dt + a_t) - psi(a_t)], for the counts n and the priors a (T,)."""
    numbers, starts = exceeding
    for t in range(starts.size - 1):
        total = 0.0
        for at in range(starts[t], starts[t + 1]):
            if numbers[at] == 0:  # no larger count either
                break
            total += numbers[at] / (at - starts[t] + priors[t])
        sums[t] = total
