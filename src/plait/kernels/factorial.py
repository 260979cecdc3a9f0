"""Kernels of factorial hidden Markov models: K chains whose contributions to the observations add up.

The data are sequences: sequence q holds the times offsets[q] to offsets[q + 1], T in all. A path holds the
chains one after another, (K T,): site k T + t is the state of chain k at time t. Each chain has S states.

Each state of each chain contributes an effect to the mean of an observation. Let r_t be the residual that is
left of the observation at time t when the effects of all chains but a few are subtracted, and u the sum of
the effects of those few. Then

    log P(x_t | all states) = r_t C^-1 u - (1/2) u C^-1 u + terms that do not depend on u,

where C is the covariance of the noise. So C is needed only through the effects multiplied by C^-1, and their
products with the effects.

Paths are drawn in blocks of a few chains, which have `n` joint states. The number of a joint state has the
states of its chains as digits in base S; the first chain of the block is the lowest digit. Messages are
propagated along one chain after the other: for B chains that costs B S^(B + 1) instead of S^(2 B).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, summing_kernel
from plait.kernels.chains.states import number_of_states
from plait.kernels.choice import choose
from plait.rng import integer, open_stream, uniform_of

Floats = NDArray[np.float64]

_SMALL = 1e-30  # messages whose sum falls below this are rescaled, long before they lose digits


class Data(NamedTuple):
    """The observations."""

    offsets: NDArray[np.int64]
    """Where sequences start, and T."""

    values: Floats
    """(T, D); NaN in all features where an observation is missing."""

    centre: Floats
    """(D,): the mean of the data; effects are relative to it."""


class Chains(NamedTuple):
    """The distributions of the chains."""

    size: tuple[int, ...]
    """See `plait.kernels.chains.size_of`: tells the compiler the number of states if it is small."""

    start: Floats
    """(K, S): probabilities of the first states."""

    transitions: Floats
    """(K, S, S): transition probabilities."""

    by_logs: bool
    """Whether `start` and `transitions` are logarithms, and messages are computed in logarithms."""


class Effects(NamedTuple):
    """Contributions of the states to the observations, and their products with the inverse covariance."""

    means: Floats
    """(K, S, D): contributions to the mean, relative to the centre of the data."""

    duals: Floats
    """(K, S, D): C^-1 times `means`."""

    products: Floats
    """(K, S, K, S): `means` times `duals`."""


class Noise(NamedTuple):
    """The density of the noise."""

    whitening: Floats
    """(D, D), lower triangular, or (1, D), a diagonal: turns noise into standard normal variates."""

    constant: float
    """The log-density of no noise."""


class Tables(NamedTuple):
    """Counts of all paths."""

    starts: Floats
    """(K, S): first states."""

    pairs: Floats
    """(K, S, S): transitions."""

    together: Floats
    """(K, S, K, S): observations where two chains are in two states; the second is not after the first."""

    sums: Floats
    """(K, S, D): sums of the observations minus the centre."""


class Scratch(NamedTuple):
    """Scratch buffers, for sequences of at most L times and blocks of at most n joint states."""

    residuals: Floats
    """(L, D): residuals of the observations after the effects of the chains outside the block."""

    messages: Floats
    """(L, n), or (2, n) if messages are not kept."""

    squares: Floats
    """(n,): (1/2) u C^-1 u of every joint state."""

    buffer: Floats
    """(2, n): messages before a transition, and log-densities."""

    order: NDArray[np.int64]
    """(K,): the order in which chains are drawn."""

    streams: NDArray[np.uint64]
    """(m, 2): a random stream for each path."""


# ---------------------------------------------------------------------------------------------------------
# Residuals
# ---------------------------------------------------------------------------------------------------------


@summing_kernel
def _inner(residuals, row, duals, k, s):
    """Return the inner product of a residual and the dual of state s of chain k."""
    total = 0.0
    for d in range(residuals.shape[1]):
        total += residuals[row, d] * duals[k, s, d]
    return total


@kernel
def _add_effect(residuals, row, means, k, s, sign):
    """Add sign times the effect of state s of chain k to a residual."""
    for d in range(residuals.shape[1]):
        residuals[row, d] += sign * means[k, s, d]


@kernel
def _subtract_all(first, last, values, centre, means, path, residuals):
    """Set the residuals of the times first to last: the observations minus the effects of all chains."""
    n_times = values.shape[0]
    for t in range(first, last):
        for d in range(residuals.shape[1]):
            residuals[t - first, d] = values[t, d] - centre[d]
        for k in range(means.shape[0]):
            _add_effect(residuals, t - first, means, k, path[k * n_times + t], -1.0)


# ---------------------------------------------------------------------------------------------------------
# Messages of a block of chains
# ---------------------------------------------------------------------------------------------------------


@kernel
def _fill_squares(size, block, products, squares):
    """Set `squares` (n,) to (1/2) u C^-1 u of every joint state of the block; return n."""
    n_states = number_of_states(size, products.shape[1])
    n = 1
    squares[0] = 0.0
    for b in range(block.size):
        k = block[b]
        for s in range(n_states - 1, -1, -1):  # state 0 last: it overwrites the input of the others
            for state in range(n):
                x = squares[state] + 0.5 * products[k, s, k, s]
                rest = state
                for other in range(b):
                    x += products[block[other], rest % n_states, k, s]
                    rest //= n_states
                squares[s * n + state] = x
        n *= n_states
    return n


@kernel
def _start_message(size, block, start, by_logs, messages, row):
    """Set the message in a row to the distribution of the first joint state of the block."""
    n_states = number_of_states(size, start.shape[1])
    n = 1
    messages[row, 0] = 0.0 if by_logs else 1.0
    for b in range(block.size):
        for s in range(n_states - 1, -1, -1):
            x = start[block[b], s]
            for state in range(n):
                before = messages[row, state]
                messages[row, s * n + state] = before + x if by_logs else before * x
        n *= n_states


@kernel
def _propagate(size, block, n, transitions, messages, row, buffer):
    """Propagate the message in a row to the next time: sum over the joint states before the transition."""
    n_states = number_of_states(size, transitions.shape[1])
    stride = 1
    for b in range(block.size):
        k = block[b]
        for high in range(0, n, stride * n_states):
            for low in range(high, high + stride):
                for s in range(n_states):
                    buffer[0, s] = messages[row, low + s * stride]
                for r in range(n_states):
                    total = 0.0
                    for s in range(n_states):
                        total += buffer[0, s] * transitions[k, s, r]
                    messages[row, low + r * stride] = total
        stride *= n_states


@kernel
def _propagate_logs(block, n, transitions, messages, row, buffer):
    """Propagate a message as `_propagate` does, in logarithms."""
    n_states = transitions.shape[1]
    stride = 1
    for b in range(block.size):
        k = block[b]
        for high in range(0, n, stride * n_states):
            for low in range(high, high + stride):
                for s in range(n_states):
                    buffer[0, s] = messages[row, low + s * stride]
                for r in range(n_states):
                    top = -np.inf
                    for s in range(n_states):
                        top = max(top, buffer[0, s] + transitions[k, s, r])
                    total = 0.0
                    if top > -np.inf:
                        for s in range(n_states):
                            total += np.exp(buffer[0, s] + transitions[k, s, r] - top)
                    messages[row, low + r * stride] = top + np.log(total) if total > 0.0 else -np.inf
        stride *= n_states


@kernel
def _fill_log_densities(size, block, n, residuals, here, duals, squares, buffer):
    """Set row 1 of the buffer to r C^-1 u - (1/2) u C^-1 u of every joint state of the block."""
    n_states = number_of_states(size, duals.shape[1])
    stride = 1
    buffer[1, 0] = 0.0
    for b in range(block.size):
        for s in range(n_states - 1, -1, -1):
            x = _inner(residuals, here, duals, block[b], s)
            for state in range(stride):
                buffer[1, s * stride + state] = buffer[1, state] + x
        stride *= n_states
    for state in range(n):
        buffer[1, state] -= squares[state]


@kernel
def _absorb(n, by_logs, messages, row, buffer):
    """Multiply the message in a row by the densities in row 1 of the buffer; return the log of its scale.

    The densities are divided by the largest among the states that can be reached, so that the message neither
    vanishes nor overflows, however unlikely an observation is.
    """
    top = -np.inf
    zero = -np.inf if by_logs else 0.0
    for state in range(n):
        if messages[row, state] > zero:
            top = max(top, buffer[1, state])
    if top == -np.inf:
        return top
    for state in range(n):
        if by_logs:
            messages[row, state] += buffer[1, state] - top
        elif messages[row, state] > 0.0:
            messages[row, state] *= np.exp(buffer[1, state] - top)
    return top


@kernel
def _rescale(n, by_logs, messages, row):
    """Divide a message by its sum if that is small (in logarithms, by its maximum); return the log scale."""
    if by_logs:
        top = -np.inf
        for state in range(n):
            top = max(top, messages[row, state])
        if top > -np.inf:
            for state in range(n):
                messages[row, state] -= top
        return top
    total = 0.0
    for state in range(n):
        total += messages[row, state]
    if total >= _SMALL:
        return 0.0
    if not total > 0.0:
        return -np.inf
    for state in range(n):
        messages[row, state] /= total
    return np.log(total)


@kernel
def _filter(first, last, block, n, data, chains, duals, scratch, keep):
    """Set the messages of the times first to last to P(p_t, w_first..w_t) of the block, up to a factor.

    The residuals are those of the chains outside the block. Returns the logarithm of the sum of the last
    message, without (1/2) r_t C^-1 r_t and the constant of each observation; -inf if it is zero. Unless
    `keep` is set, the messages alternate between two rows.
    """
    size, start, transitions, by_logs = chains
    residuals, messages, squares, buffer, _, _ = scratch
    values = data.values
    log_scale = 0.0
    row = 0
    for t in range(first, last):
        row = t - first if keep else (t - first) & 1
        if t == first:
            _start_message(size, block, start, by_logs, messages, row)
        else:
            before = row - 1 if keep else 1 - row
            for state in range(n):
                messages[row, state] = messages[before, state]
            if by_logs:
                _propagate_logs(block, n, transitions, messages, row, buffer)
            else:
                _propagate(size, block, n, transitions, messages, row, buffer)
        if values[t, 0] == values[t, 0]:
            _fill_log_densities(size, block, n, residuals, t - first, duals, squares, buffer)
            log_scale += _absorb(n, by_logs, messages, row, buffer)
        log_scale += _rescale(n, by_logs, messages, row)
        if not log_scale > -np.inf:
            return -np.inf
    total = 0.0
    for state in range(n):
        total += np.exp(messages[row, state]) if by_logs else messages[row, state]
    return log_scale + np.log(total)


@kernel
def _draw_backwards(first, last, block, n, chains, j, paths, n_times, scratch):
    """Draw the states of the block from the last time to the first, given the messages of `_filter`.

    The weight of a state is its message times the probability of the transition to the next state, which was
    drawn before it.
    """
    size, transitions, by_logs = chains.size, chains.transitions, chains.by_logs
    messages, streams = scratch.messages, scratch.streams
    n_states = number_of_states(size, transitions.shape[1])
    for t in range(last - 1, first - 1, -1):
        row = t - first
        stride = 1
        for b in range(block.size if t + 1 < last else 0):
            k = block[b]
            after = paths[j, k * n_times + t + 1]
            for high in range(0, n, stride * n_states):
                for s in range(n_states):
                    x = transitions[k, s, after]
                    for state in range(high + s * stride, high + (s + 1) * stride):
                        if by_logs:
                            messages[row, state] += x
                        else:
                            messages[row, state] *= x
            stride *= n_states
        if by_logs:
            _rescale(n, True, messages, row)
            for state in range(n):
                messages[row, state] = np.exp(messages[row, state])
        weights = messages[row, :n]
        total = 0.0
        for state in range(n):
            total += weights[state]
        chosen = choose(weights, total, uniform_of(streams, j))
        for b in range(block.size):
            paths[j, block[b] * n_times + t] = chosen % n_states
            chosen //= n_states


# ---------------------------------------------------------------------------------------------------------
# Paths given phi
# ---------------------------------------------------------------------------------------------------------


@kernel
def _shuffle(order, stream):
    """Set `order` to a random permutation of the chains."""
    for k in range(order.size):
        other = integer(stream, k + 1)
        order[k] = order[other]
        order[other] = k


@kernel
def resample_blocks(first, last, j, n_together, data, chains, effects, paths, scratch, key):
    """Draw path j of the sequences first to last, one block of chains after the other.

    For each sequence the chains are permuted at random and cut into blocks of `n_together`. A block is drawn
    as a whole from P(its chains | all other chains, w, phi): it is a hidden Markov model of the residuals
    that the other chains leave. Every such draw leaves P(p | w, phi) invariant, in any order that does not
    depend on the path: a fixed one, or a random one as here.

    Returns the first sequence that has probability 0 given the other chains, or -1.
    """
    offsets, values, centre = data
    means, duals, products = effects
    residuals, _, squares, _, permuted, streams = scratch
    n_chains = means.shape[0]
    n_times = values.shape[0]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        open_stream(streams[j], key.seed, key.sweep, j, q)
        _shuffle(permuted, streams[j])
        _subtract_all(a, b, values, centre, means, paths[j], residuals)
        for begin in range(0, n_chains, n_together):
            block = permuted[begin : min(n_chains, begin + n_together)]
            for k in block:
                for t in range(a, b):
                    _add_effect(residuals, t - a, means, k, paths[j, k * n_times + t], 1.0)
            n = _fill_squares(chains.size, block, products, squares)
            log_sum = _filter(a, b, block, n, data, chains, duals, scratch, True)
            if log_sum == -np.inf:
                return q
            _draw_backwards(a, b, block, n, chains, j, paths, n_times, scratch)
            for k in block:
                for t in range(a, b):
                    _add_effect(residuals, t - a, means, k, paths[j, k * n_times + t], -1.0)
    return -1


# ---------------------------------------------------------------------------------------------------------
# Counts and likelihoods
# ---------------------------------------------------------------------------------------------------------


@kernel
def count_range(first, last, q, data, paths, tables):
    """Add the counts of all paths at the times first to last; `q` is the sequence of the time `first`."""
    offsets, values, centre = data
    starts, pairs, together, sums = tables
    n_times = values.shape[0]
    begin = offsets[q]
    for t in range(first, last):
        while t >= offsets[q + 1]:
            q += 1
            begin = offsets[q]
        seen = values[t, 0] == values[t, 0]
        for j in range(paths.shape[0]):
            for k in range(starts.shape[0]):
                s = paths[j, k * n_times + t]
                if t == begin:
                    starts[k, s] += 1.0
                else:
                    pairs[k, paths[j, k * n_times + t - 1], s] += 1.0
                if seen:
                    for other in range(k + 1):
                        together[k, s, other, paths[j, other * n_times + t]] += 1.0
                    for d in range(values.shape[1]):
                        sums[k, s, d] += values[t, d] - centre[d]


@kernel
def mirror(table):
    """Copy the lower triangle of a square table to the upper one."""
    for i in range(table.shape[0]):
        for k in range(i):
            table[k, i] = table[i, k]


@kernel
def _log_density(residuals, row, whitening, constant):
    """Return the log-density of a residual as noise; see `Noise`."""
    square = 0.0
    for d in range(residuals.shape[1]):
        z = 0.0
        if whitening.shape[0] == 1:
            z = whitening[0, d] * residuals[row, d]
        else:
            for e in range(d + 1):
                z += whitening[d, e] * residuals[row, e]
        square += z * z
    return constant - 0.5 * square


@kernel
def log_joints(first, last, data, chains, effects, noise, paths, residual, sums):
    """Add log P(p^j, w | phi) of the sequences first to last to `sums` (m,).

    The chains must be given in logarithms. `residual` (1, D) is a scratch buffer.
    """
    offsets, values, centre = data
    means, (whitening, constant) = effects.means, noise
    start, transitions = chains.start, chains.transitions
    n_times = values.shape[0]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        for j in range(paths.shape[0]):
            x = 0.0
            for k in range(start.shape[0]):
                x += start[k, paths[j, k * n_times + a]]
                for t in range(a + 1, b):
                    x += transitions[k, paths[j, k * n_times + t - 1], paths[j, k * n_times + t]]
            for t in range(a, b):
                if values[t, 0] == values[t, 0]:
                    _subtract_all(t, t + 1, values, centre, means, paths[j], residual)
                    x += _log_density(residual, 0, whitening, constant)
            sums[j] += x


@kernel
def log_likelihoods(first, last, data, chains, effects, noise, likelihoods, scratch):
    """Set `likelihoods` to log P(w | phi) of the sequences first to last: all chains are one block."""
    offsets, values, centre = data
    whitening, constant = noise
    order, residuals = scratch.order, scratch.residuals
    for k in range(order.size):
        order[k] = k
    n = _fill_squares(chains.size, order, effects.products, scratch.squares)
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        x = 0.0
        for t in range(a, b):
            if values[t, 0] == values[t, 0]:
                for d in range(values.shape[1]):
                    residuals[t - a, d] = values[t, d] - centre[d]
                x += _log_density(residuals, t - a, whitening, constant)
        likelihoods[q - first] = x + _filter(a, b, order, n, data, chains, effects.duals, scratch, False)


@kernel
def add_states(paths, counts):
    """Add one to `counts` (N, S) for the state of every site in every path."""
    for j in range(paths.shape[0]):
        for i in range(paths.shape[1]):
            counts[i, paths[j, i]] += 1
