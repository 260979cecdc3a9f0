"""The draw of phi in LDA, by gamma variates: line 6 of Algorithm 3 of the paper.

phi_t ~ Dir(eta_t + C^TW_t) is a row of independent Gamma(eta_tw + C^TW_tw), divided by their sum. Nearly all
of the T W cells have no count, and a small eta. For these, the algorithm of Ahrens and Dieter (`small_gamma`
of `plait.rng`) nearly always takes the same way: with two uniform variates u and v,

    x = p^(1/eta),    p = u (1 + eta / e) at most 1,    accepted because v is at most 1 - x.

So this is computed for all cells of a word, in loops that the compiler turns into vector code. For that the
variates are a hash of the topic, not the output of a generator whose steps wait for each other, and each step
is a loop of its own, because one loop for all of them needs more registers than there are. The other cells,
about one in a hundred and those with counts, are drawn one by one afterwards.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import allocating_kernel, kernel, local_array
from plait.kernels.elementary import exp_of, log_of
from plait.rng import PARAMETERS, hash_position, large_gamma, open_stream, small_gamma, to_pair, uniform

TINY: Final = 2.0**-40
"""Gamma variates below this are taken as zero.

With shape 0.01, three out of four are. Next to a cell with a count, whose variate is about 1, that changes a
probability by less than rounding it to single precision does.
"""

_LOG_TINY = math.log(TINY)


class SmallShapes(NamedTuple):
    """What the usual way needs of eta: log x = log u / eta + log(1 + eta / e) / eta.

    Attributes
    ----------
    inverse : ndarray of float64, (R, T)
        1 / eta for the distinct rows of eta; 0 where eta is at least 1, for which there is another algorithm.
    shift : ndarray of float64, (R, T)
        log(1 + eta / e) / eta; infinite where eta is at least 1.
    """

    inverse: NDArray[np.float64]
    shift: NDArray[np.float64]


def small_shapes(eta: NDArray[np.float64]) -> SmallShapes:
    """Return the constants of the usual way for rows of eta (R, T)."""
    small = eta < 1.0
    inverse = np.where(small, 1.0 / eta, 0.0)
    return SmallShapes(inverse, np.where(small, np.log1p(eta / math.e) * inverse, np.inf))


class GammaScratch(NamedTuple):
    """Scratch of `draw_gammas` for one word.

    Attributes
    ----------
    bits : ndarray of uint64, (T,)
        Random bits of each topic.
    logs : ndarray of float64, (T,)
        Logarithms of x.
    unusual : ndarray of uint16, (T,)
        The topics that are drawn one by one.
    """

    bits: NDArray[np.uint64]
    logs: NDArray[np.float64]
    unusual: NDArray[np.uint16]


@kernel
def hash_topics(first, second, bits):
    """Fill `bits` (T,) with random bits."""
    for t in range(np.uint64(bits.size)):
        bits[t] = hash_position(first, second, t)


@kernel
def take_logs(bits, inverse, shift, logs):
    """Fill `logs` (T,) with log x of the usual way."""
    for t in range(np.uint64(logs.size)):
        logs[t] = log_of(to_pair(bits[t])[0]) * inverse[t] + shift[t]


@kernel
def draw_usual(bits, logs, counts, gammas):
    """Fill `gammas` (T,) with x, with 0 for a tiny x, or with -1 where another way must be taken."""
    for t in range(np.uint64(gammas.size)):
        x = exp_of(min(max(logs[t], _LOG_TINY), 0.0))
        is_empty = counts[t] == 0
        is_usual = is_empty & (logs[t] <= 0.0) & (to_pair(bits[t])[1] <= 1.0 - x)
        is_tiny = is_empty & (logs[t] < _LOG_TINY)
        gammas[t] = np.float32(0.0) if is_tiny else (np.float32(x) if is_usual else np.float32(-1.0))


@kernel
def draw_gammas(first, last, word_counts, priors, gammas, sums, scratch, key):
    """Line 6 of Algorithm 3, for the words `first` to `last`: phi_t(w) up to the sum over words.

    `word_counts` is C^TW (W, T), `gammas` (W, T) receives the variates, `sums` (T,) their sums over these
    words.
    """
    bits, logs, unusual = scratch
    inverse, shift = priors.small
    stream = local_array(2, np.uint64)
    sums[:] = 0.0
    n_topics = np.uint64(sums.size)
    for w in range(first, last):
        open_stream(stream, key.seed, key.sweep, PARAMETERS, w)
        row_of_eta = priors.eta_row[w]
        counts, eta, row = word_counts[w], priors.eta[row_of_eta], gammas[w]
        hash_topics(stream[0], stream[1], bits)
        take_logs(bits, inverse[row_of_eta], shift[row_of_eta], logs)
        draw_usual(bits, logs, counts, row)
        n_unusual = np.uint64(0)
        for t in range(n_topics):
            unusual[n_unusual] = t
            n_unusual += np.uint64(row[t] < 0.0)
        for k in range(n_unusual):
            topic = np.uint64(unusual[k])
            shape = counts[topic] + eta[topic]
            if shape < 1.0:
                u, v = to_pair(bits[topic])
                row[topic] = small_gamma(stream, shape, u, v)
            else:
                row[topic] = large_gamma(stream, shape)
        for t in range(n_topics):
            sums[t] += row[t]


@allocating_kernel
def draw_empty_topics(empty, priors, gammas, sums, key):
    """Line 6 of Algorithm 3 for the topics `empty`, which have no tokens and a small prior.

    All gamma variates of such a topic may underflow, though their ratios do not. So their logarithms are
    drawn, as Gamma(eta) = Gamma(1 + eta) U**(1 / eta), and taken relative to the largest. The arrays `gammas`
    (W, T) and `sums` (T,) are overwritten for these topics.
    """
    stream = local_array(2, np.uint64)
    n_words = priors.eta_row.size
    logs = np.empty(n_words)
    for t in empty:
        open_stream(stream, key.seed, key.sweep, PARAMETERS, n_words + t)
        largest = -np.inf
        for w in range(n_words):
            shape = priors.eta[priors.eta_row[w], t]
            logs[w] = np.log(large_gamma(stream, 1.0 + shape)) + np.log(uniform(stream)) / shape
            largest = max(largest, logs[w])
        sums[t] = 0.0
        for w in range(n_words):
            gammas[w, t] = np.exp(logs[w] - largest)
            sums[t] += gammas[w, t]
