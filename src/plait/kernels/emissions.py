"""Kernels of emissions: log-densities of observations, and sums over the observations of each state.

Observations are symbols, `rows` (N,), or numbers, `values` (N, D). A missing observation is the last row of a
table of symbols, or NaN in all features. It adds nothing to sums and has log-density 0 in every state. One
that is NaN in some features adds the others, and its log-density is theirs, where features are independent;
`plait.kernels.completions` is for those that are not.

Sums run over the sites first to last. An observation counts once for each of the paths (m, N) that is in the
state, or with the weight `posteriors` (n, S), whose row 0 is the site `first`. Sums for numbers are one array
with a row per state: the number of observations, then the sums of x, then those of x x' (D x D) or of x^2 (D)
if the array has columns for them. x is the observation minus `centre`, which avoids cancellation.
Observations are read in blocks, with a row for each feature.
"""

from __future__ import annotations

import math

import numpy as np

from plait.jit import allocating_kernel, kernel, summing_kernel
from plait.kernels.lanes import add_lanes, new_lanes

_BLOCK = 128  # observations per block, so that loops over a block are vectorised
_LOG_TWO_PI = math.log(2.0 * math.pi)
_STATES_PER_PATH = 4  # with more states, most states are absent from a block, and a plain loop is faster


@allocating_kernel
def count_symbols(first, last, rows, paths, counts):
    """Add the symbols in each state of all paths to `counts` (W + 1, S)."""
    if counts.shape[1] == 2 and counts.shape[0] * (paths.shape[0] + 1) <= last - first:
        _count_symbols_of_two(first, last, rows, paths, counts)
        return
    n_states = np.uint64(counts.shape[1])
    lanes, mask = new_lanes(counts.size)
    for j in range(paths.shape[0]):
        path = paths[j]
        for i in range(np.uint64(first), np.uint64(last)):
            lanes[i & mask, np.uint64(rows[i]) * n_states + np.uint64(path[i])] += 1
    add_lanes(lanes, counts)


@allocating_kernel
def _count_symbols_of_two(first, last, rows, paths, counts):
    """Add the symbols in each of two states, from how often t of the m paths are in state 1 at a symbol.

    The table of these numbers has (W + 1) (m + 1) cells: that pays if there are more sites.
    """
    n_paths = paths.shape[0]
    width = np.uint64(n_paths + 1)
    lanes, mask = new_lanes(counts.shape[0] * (n_paths + 1))
    times = np.empty(_BLOCK, np.uint32)
    for start in range(np.uint64(first), np.uint64(last), np.uint64(_BLOCK)):
        n = min(np.uint64(_BLOCK), np.uint64(last) - start)
        times[:] = 0
        for j in range(n_paths):
            for b in range(n):
                times[b] = np.uint32(times[b] + np.uint32(paths[j, start + b]))
        for b in range(n):
            lanes[b & mask, np.uint64(rows[start + b]) * width + np.uint64(times[b])] += 1
    for lane in range(lanes.shape[0]):
        for w in range(counts.shape[0]):
            for t in range(n_paths + 1):
                seen = lanes[lane, w * (n_paths + 1) + t]
                counts[w, 0] += (n_paths - t) * seen
                counts[w, 1] += t * seen


@kernel
def add_symbols(first, last, rows, posteriors, counts):
    """Add the expected symbols in each state to `counts` (W + 1, S)."""
    for i in range(np.uint64(last - first)):
        w = np.uint64(rows[np.uint64(first) + i])
        for s in range(np.uint64(counts.shape[1])):
            counts[w, s] += posteriors[i, s]


@kernel
def _is_seen(values, i):
    """Return whether anything is known of an observation."""
    seen = False
    for d in range(values.shape[1]):
        seen |= values[i, d] == values[i, d]
    return seen


@kernel
def add_observation(weight, values, i, centre, state, sums):
    """Add one observation to the sums of one state."""
    n_features = values.shape[1]
    n_sums = sums.shape[1]
    sums[state, 0] += weight
    for d in range(n_features):
        if values[i, d] == values[i, d]:
            sums[state, 1 + d] += weight * (values[i, d] - centre[d])
    if n_sums == 1 + 2 * n_features:
        for d in range(n_features):
            if values[i, d] == values[i, d]:
                x = values[i, d] - centre[d]
                sums[state, 1 + n_features + d] += weight * x * x
    elif n_sums > 1 + n_features:
        for d in range(n_features):
            x = weight * (values[i, d] - centre[d])
            for e in range(d + 1):
                sums[state, 1 + n_features + d * n_features + e] += x * (values[i, e] - centre[e])


@kernel
def _take_block(start, n, values, centre, block, seen):
    """Set `block` (D, n) to the observations minus `centre`, 0 if missing, and `seen` to 1 unless all are."""
    for b in range(n):
        seen[b] = 0.0
    for d in range(values.shape[1]):
        for b in range(n):
            x = values[start + b, d]
            block[d, b] = x - centre[d] if x == x else 0.0
            seen[b] = 1.0 if x == x else seen[b]


@summing_kernel
def _inner(n, x, y):
    """Return the inner product of the first n entries."""
    total = 0.0
    for b in range(n):
        total += x[b] * y[b]
    return total


@kernel
def _add_block(n, weights, block, seen, products, sums):
    """Add the observations of a block, with these weights, to the sums of one state (n_sums,).

    `products` (n,) is scratch.
    """
    n_features = block.shape[0]
    n_sums = sums.shape[0]
    number = _inner(n, weights, seen)
    if number == 0.0:
        return
    sums[0] += number
    for d in range(n_features):
        sums[1 + d] += _inner(n, weights, block[d])
        if n_sums > 1 + n_features:
            for b in range(n):
                products[b] = weights[b] * block[d, b]
            if n_sums == 1 + 2 * n_features:
                sums[1 + n_features + d] += _inner(n, products, block[d])
            else:
                for e in range(d + 1):
                    sums[1 + n_features + d * n_features + e] += _inner(n, products, block[e])


@kernel
def _count_paths(start, n, state, paths, times, weights):
    """Set the weight of each site of a block to the number of paths that are in the state there."""
    for b in range(n):
        times[b] = 0
    for j in range(paths.shape[0]):
        for b in range(n):
            times[b] += np.uint32(paths[j, start + b] == state)
    for b in range(n):
        weights[b] = times[b]


@allocating_kernel
def sum_values(first, last, values, centre, paths, sums):
    """Add the sums over the observations in each state of all paths; of x x' only the lower triangle."""
    if sums.shape[0] > _STATES_PER_PATH * paths.shape[0]:
        for i in range(first, last):
            if _is_seen(values, i):
                for j in range(paths.shape[0]):
                    add_observation(1.0, values, i, centre, paths[j, i], sums)
        return
    block, seen = np.empty((values.shape[1], _BLOCK)), np.empty(_BLOCK)
    times, weights, products = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        n = min(_BLOCK, last - start)
        _take_block(start, n, values, centre, block, seen)
        for s in range(sums.shape[0]):
            _count_paths(start, n, s, paths, times, weights)
            _add_block(n, weights, block, seen, products, sums[s])


@allocating_kernel
def add_values(first, last, values, centre, posteriors, sums):
    """Add the expected sums over the observations in each state; of x x' only the lower triangle."""
    block, seen = np.empty((values.shape[1], _BLOCK)), np.empty(_BLOCK)
    weights, products = np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        n = min(_BLOCK, last - start)
        _take_block(start, n, values, centre, block, seen)
        for s in range(sums.shape[0]):
            for b in range(n):
                weights[b] = posteriors[start - first + b, s]
            _add_block(n, weights, block, seen, products, sums[s])


@allocating_kernel
def log_normal(first, last, values, means, whitening, constants, logs):
    """Set `logs` (n, S) to log N(x_i; mean, covariance), for diagonal or full covariances.

    `whitening` turns x - mean into standard normal variates: (S, D, D), a lower triangular matrix per state,
    or (S, 1, D), the diagonals of diagonal matrices. `constants` (S,) is the log-density at the mean. What is
    missing in part gets its density only if the covariances are diagonal.
    """
    n_features = values.shape[1]
    diagonal = whitening.shape[1] == 1
    block, apart = np.empty((n_features, _BLOCK)), np.empty((n_features, _BLOCK))
    whitened, squares, seen = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(first, last, _BLOCK):
        n = min(_BLOCK, last - start)
        seen[:n] = 0.0
        for d in range(n_features):
            for b in range(n):
                x = values[start + b, d]
                block[d, b] = x
                seen[b] = 1.0 if x == x else seen[b]
        for s in range(means.shape[0]):
            squares[:n] = 0.0
            for d in range(n_features):
                mean = means[s, d]
                if diagonal:
                    scale = whitening[s, 0, d]
                    unseen = 2.0 * np.log(scale) - _LOG_TWO_PI  # takes its part of the constant away
                    for b in range(n):
                        z = scale * (block[d, b] - mean)
                        squares[b] += z * z if z == z else unseen
                else:
                    for b in range(n):
                        apart[d, b] = block[d, b] - mean
                        whitened[b] = 0.0
                    for e in range(d + 1):
                        scale = whitening[s, d, e]
                        for b in range(n):
                            whitened[b] += scale * apart[e, b]
                    for b in range(n):
                        squares[b] += whitened[b] * whitened[b]
            for b in range(n):
                logs[start - first + b, s] = constants[s] - 0.5 * squares[b] if seen[b] > 0.0 else 0.0


@kernel
def log_poisson(first, last, values, constants, rates, log_rates, logs):
    """Set `logs` (n, S) to log P(x_i) under independent Poisson distributions with the rates (S, D).

    `constants` (N,) is the sum over observed features of log x!.
    """
    for i in range(first, last):
        for s in range(rates.shape[0]):
            x = -constants[i]
            for d in range(values.shape[1]):
                if values[i, d] == values[i, d]:
                    x -= rates[s, d]
                if values[i, d] > 0.0:
                    x += values[i, d] * log_rates[s, d]
            logs[i - first, s] = x


@kernel
def log_bernoulli(first, last, values, log_one, log_zero, logs):
    """Set `logs` (n, S) to log P(x_i) of binary features, given log P(1) and log P(0), each (S, D)."""
    for i in range(first, last):
        for s in range(log_one.shape[0]):
            x = 0.0
            for d in range(values.shape[1]):
                if values[i, d] == values[i, d]:
                    x += log_one[s, d] if values[i, d] > 0.5 else log_zero[s, d]
            logs[i - first, s] = x


# ---------------------------------------------------------------------------------------------------------
# Documents: document i contains words[offsets[i]:offsets[i + 1]], each `numbers` times
# ---------------------------------------------------------------------------------------------------------


@kernel
def log_multinomial(first, last, offsets, words, numbers, constants, log_probabilities, logs):
    """Set `logs` (n, S) to the log-probability of the documents, given that of the words, (W, S).

    `constants` (N,) is the logarithm of the multinomial coefficient.
    """
    for i in range(first, last):
        for s in range(log_probabilities.shape[1]):
            logs[i - first, s] = constants[i]
        for k in range(offsets[i], offsets[i + 1]):
            for s in range(log_probabilities.shape[1]):
                logs[i - first, s] += numbers[k] * log_probabilities[words[k], s]


@kernel
def count_documents(first, last, offsets, words, numbers, paths, counts):
    """Add the words in each state of all paths to `counts` (W, S)."""
    for i in range(first, last):
        for k in range(offsets[i], offsets[i + 1]):
            for j in range(paths.shape[0]):
                counts[words[k], paths[j, i]] += numbers[k]


@kernel
def add_documents(first, last, offsets, words, numbers, posteriors, counts):
    """Add the expected words in each state to `counts` (W, S)."""
    for i in range(first, last):
        for k in range(offsets[i], offsets[i + 1]):
            for s in range(counts.shape[1]):
                counts[words[k], s] += numbers[k] * posteriors[i - first, s]
