"""The draw of phi in LDA, by gamma variates: line 6 of Algorithm 3 of the paper.

phi_t ~ Dir(eta_t + C^TW_t) is a row of independent Gamma(eta_tw + C^TW_tw), divided by their sum. Both
algorithms for them (in `plait.rng`) nearly always end with the first attempt, in one way:

- Shapes below 1, which are the cells without a count if eta is small: nearly all of the T W cells. With two
  uniform variates u and v (`small_gamma`),

      x = p^(1/eta),    p = u (1 + eta / e) at most 1,    accepted because v is at most 1 - x.

  That x is mostly tiny, too: with eta = 0.01, three of four are below `TINY`, which is known from u alone.
- Shapes a from 1 on. With a normal variate x and a uniform variate u (`large_gamma`),

      d v,    d = a - 1/3,    v = (1 + x / sqrt(9 d))^3,    accepted because u is below 1 - 0.0331 x^4.

So the cells of a word that are not tiny are listed, and the usual way is computed for all of a list, in loops
that the compiler turns into vector code; each step is a loop of its own, because one loop for all of them
needs more registers than there are. For that the uniform variates are hashes of the topic, not the output of
a generator whose steps wait for each other. The few other cells are then drawn one by one.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import allocating_kernel, kernel, local_array
from plait.kernels.elementary import cos_of_turns, exp_of, log_of
from plait.rng import (
    PARAMETERS,
    bits_of,
    hash_position,
    large_gamma,
    large_gamma_from,
    open_stream,
    small_gamma,
    to_pair,
    to_unit,
    uniform,
)
from plait.scratch import scratch

TINY: Final = 2.0**-40
"""Gamma variates below this are taken as zero.

Next to a cell with a count, whose variate is about 1, that changes a probability by less than rounding it to
single precision does.
"""

_LOG_TINY = math.log(TINY)
_SMALL, _LARGE = np.uint8(1), np.uint8(2)
_MARGIN = 1e-9  # of u, far above the error of `log_of`: whether x is tiny is decided by its logarithm


class SmallShapes(NamedTuple):
    """What the usual way needs of eta: log x = log u / eta + log(1 + eta / e) / eta.

    Attributes
    ----------
    inverse : ndarray of float64, (R, T)
        1 / eta for the distinct rows of eta; 0 where eta is at least 1, for which there is another algorithm.
    shift : ndarray of float64, (R, T)
        log(1 + eta / e) / eta; infinite where eta is at least 1.
    least : ndarray of uint64, (R, T)
        Random bits below these make a u whose x is tiny; 0 where eta is at least 1.
    """

    inverse: NDArray[np.float64]
    shift: NDArray[np.float64]
    least: NDArray[np.uint64]


def small_shapes(eta: NDArray[np.float64]) -> SmallShapes:
    """Return the constants of the usual way for rows of eta (R, T)."""
    small = eta < 1.0
    inverse = np.where(small, 1.0 / eta, 0.0)
    shift = np.where(small, np.log1p(eta / math.e) * inverse, np.inf)
    least = np.where(small, np.exp(_LOG_TINY * eta) / (1.0 + eta / math.e) - _MARGIN, 0.0)
    return SmallShapes(inverse, shift, bits_of(np.maximum(least, 0.0)))


class GammaScratch(NamedTuple):
    """Scratch of `draw_gammas` for one word.

    Attributes
    ----------
    bits : ndarray of uint64, (T,)
        Random bits of each topic.
    kinds : ndarray of uint8, (T,)
        1 for topics in the list `small`, at least 2 for those in `large`.
    small : ndarray of uint16, (T,)
        The topics with a shape below 1 whose x is not tiny.
    large : ndarray of uint16, (T,)
        The topics with a shape of at least 1.
    u, v, x : ndarray of float64, (T,)
        Variates of the topics in a list, or what they are computed from.
    shapes : ndarray of float64, (T,)
        The shapes of the topics in a list.
    variates : ndarray of float32, (T,)
        Gamma variates of the topics in a list.
    """

    bits: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    small: NDArray[np.uint16]
    large: NDArray[np.uint16]
    u: NDArray[np.float64]
    v: NDArray[np.float64]
    x: NDArray[np.float64]
    shapes: NDArray[np.float64]
    variates: NDArray[np.float32]


def scratch_gammas(n_topics: int) -> GammaScratch:
    """Return scratch for T topics."""
    return GammaScratch(
        bits=scratch(n_topics, np.uint64),
        kinds=scratch(n_topics, np.uint8),
        small=scratch(n_topics, np.uint16),
        large=scratch(n_topics, np.uint16),
        u=scratch(n_topics),
        v=scratch(n_topics),
        x=scratch(n_topics),
        shapes=scratch(n_topics),
        variates=scratch(n_topics, np.float32),
    )


@kernel
def hash_topics(first, second, bits):
    """Fill `bits` (T,) with random bits."""
    for t in range(np.uint64(bits.size)):
        bits[t] = hash_position(first, second, t)


@kernel
def list_topics_to_draw(counts, inverse, least, scratch):
    """List the topics with a shape below 1 that are not tiny, and all with a larger one; return how many.

    Topics are classified in a loop of their own, which becomes vector code; together with the lists, the
    compiler makes branches of it.
    """
    bits, kinds, small, large = scratch.bits, scratch.kinds, scratch.small, scratch.large
    for t in range(np.uint64(bits.size)):
        is_large = (counts[t] > 0) | (inverse[t] == 0.0)
        kinds[t] = np.uint8(is_large) * _LARGE | np.uint8(bits[t] >= least[t])
    n_small, n_large = np.uint64(0), np.uint64(0)
    for t in range(np.uint64(bits.size)):
        kind = kinds[t]
        small[n_small] = t
        n_small += np.uint64(kind == _SMALL)
        large[n_large] = t
        n_large += np.uint64(kind >= _LARGE)
    return n_small, n_large


@kernel
def take_logs(n, numbers, logs):
    """Fill `logs` with the logarithms of n numbers."""
    for k in range(n):
        logs[k] = log_of(numbers[k])


@kernel
def draw_usual_small(n, v, logs, variates):
    """Fill `variates` with n numbers x, with 0 for a tiny x, or with -1 where another way must be taken."""
    for k in range(n):
        x = exp_of(min(max(logs[k], _LOG_TINY), 0.0))
        is_usual = (logs[k] <= 0.0) & (v[k] <= 1.0 - x)
        is_tiny = logs[k] < _LOG_TINY
        variates[k] = np.float32(0.0) if is_tiny else (np.float32(x) if is_usual else np.float32(-1.0))


@kernel
def draw_small(n, row_of_eta, priors, scratch, stream, row, sums):
    """Draw the gamma variates of the n topics in `scratch.small`."""
    bits, _, listed, _, us, vs, logs, _, variates = scratch
    inverse, shift = priors.small.inverse[row_of_eta], priors.small.shift[row_of_eta]
    for k in range(n):
        us[k], vs[k] = to_pair(bits[np.uint64(listed[k])])
    take_logs(n, us, logs)
    for k in range(n):
        t = np.uint64(listed[k])
        logs[k] = logs[k] * inverse[t] + shift[t]
    draw_usual_small(n, vs, logs, variates)
    for k in range(n):
        t = np.uint64(listed[k])
        if variates[k] < 0.0:
            variates[k] = small_gamma(stream, priors.eta[row_of_eta, t], us[k], vs[k])
        row[t] = variates[k]
        sums[t] += variates[k]


@kernel
def draw_normals(n, logs, turns, normals):
    """Fill `normals` with n normal variates (Box and Muller), from uniform ones or their logarithms."""
    for k in range(n):
        normals[k] = np.sqrt(-2.0 * logs[k]) * cos_of_turns(turns[k])


@kernel
def draw_usual_large(n, shapes, normals, u, variates):
    """Fill `variates` with n numbers d v, or with -1 where they are not accepted at once."""
    for k in range(n):
        d = shapes[k] - 1.0 / 3.0
        x = normals[k]
        root = 1.0 + x / np.sqrt(9.0 * d)
        is_usual = (root > 0.0) & (u[k] < 1.0 - 0.0331 * (x * x) * (x * x))
        variates[k] = np.float32(d * root * root * root) if is_usual else np.float32(-1.0)


@kernel
def draw_large(n, counts, eta, scratch, stream, row, sums):
    """Draw the gamma variates of the n topics in `scratch.large`."""
    bits, _, _, listed, us, vs, xs, shapes, variates = scratch
    for k in range(n):
        t = np.uint64(listed[k])
        shapes[k] = counts[t] + eta[t]
        us[k] = to_unit(bits[t])
    take_logs(n, us, xs)
    for k in range(n):
        # The bits of these topics are used up: others follow those of all topics.
        us[k], vs[k] = to_pair(hash_position(stream[0], stream[1], np.uint64(bits.size + listed[k])))
    draw_normals(n, xs, us, xs)
    draw_usual_large(n, shapes, xs, vs, variates)
    for k in range(n):
        t = np.uint64(listed[k])
        if variates[k] < 0.0:
            variates[k] = large_gamma_from(stream, shapes[k], xs[k], vs[k])
        row[t] = variates[k]
        sums[t] += variates[k]


@kernel
def draw_gammas(first, last, word_counts, priors, gammas, sums, scratch, key):
    """Line 6 of Algorithm 3, for the words `first` to `last`: phi_t(w) up to the sum over words.

    `word_counts` is C^TW (W, T), `gammas` (W, T) receives the variates, `sums` (T,) their sums over these
    words.
    """
    stream = local_array(2, np.uint64)
    sums[:] = 0.0
    for w in range(first, last):
        open_stream(stream, key.seed, key.sweep, PARAMETERS, w)
        row_of_eta = priors.eta_row[w]
        counts, row = word_counts[w], gammas[w]
        inverse, least = priors.small.inverse[row_of_eta], priors.small.least[row_of_eta]
        hash_topics(stream[0], stream[1], scratch.bits)
        n_small, n_large = list_topics_to_draw(counts, inverse, least, scratch)
        row[:] = np.float32(0.0)
        draw_large(n_large, counts, priors.eta[row_of_eta], scratch, stream, row, sums)
        draw_small(n_small, row_of_eta, priors, scratch, stream, row, sums)


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
