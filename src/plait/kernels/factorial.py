"""Kernels of factorial hidden Markov models: K chains whose contributions to the observations add up.

The data are sequences: sequence q holds the times offsets[q] to offsets[q + 1], T in all; `values` (T, D) are
the observations, NaN in all features where they are missing. A path holds the chains one after another,
(K T,): the site k T + t is the state of chain k at time t. Each chain has S states.

`start` (K, S) and `transitions` (K, S, S) are the laws of the chains, in logarithms where `by_logs` says so,
and `parts` (K, S, D) what their states contribute to the observation minus `centre`. With r_t what is left of
the observation at time t when the parts of all chains but some are taken away, those few contribute the part
u, the sum of theirs, and

    log P(x_t | all states) = r_t C^-1 u - (1/2) u C^-1 u + what does not depend on u,

C being the covariance of the noise. So all that is needed of C is `duals` (K, S, D), C^-1 times the parts,
and `products` (K, S, K, S) of the parts with the duals.

Paths are drawn in blocks of a few chains, which have `n` states together. The number of such a state has the
states of its chains as digits, to the base S, those of the block's first chain last. Messages are passed on
along one chain after the other: for B chains that costs B S^(B + 1), and not S^(2 B).

`size` is that of `plait.kernels.chains`. `room` is scratch, (2, n) or more.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel, summing_kernel
from plait.rng import integer, open_stream, uniform_of

_SMALL = 1e-30  # messages whose sum is below that are scaled, long before they lose digits


@kernel
def _n_states(size, n_states):
    """Return the number of states of a chain, as a constant where there are few."""
    return len(size) if len(size) > 0 else n_states


# ---------------------------------------------------------------------------------------------------------
# What chains leave of the observations
# ---------------------------------------------------------------------------------------------------------


@summing_kernel
def _inner(left, row, duals, k, s):
    """Return the inner product of what is left of an observation and the dual of state s of chain k."""
    total = 0.0
    for d in range(left.shape[1]):
        total += left[row, d] * duals[k, s, d]
    return total


@kernel
def _add_part(left, row, parts, k, s, sign):
    """Add the part of state s of chain k to what is left of an observation, or take it away."""
    for d in range(left.shape[1]):
        left[row, d] += sign * parts[k, s, d]


@kernel
def _take_all(first, last, values, centre, parts, path, left):
    """Set the rows of `left` to what all chains together leave of the observations first to last."""
    n_times = values.shape[0]
    for t in range(first, last):
        for d in range(left.shape[1]):
            left[t - first, d] = values[t, d] - centre[d]
        for k in range(parts.shape[0]):
            _add_part(left, t - first, parts, k, path[k * n_times + t], -1.0)


# ---------------------------------------------------------------------------------------------------------
# Messages of a block of chains
# ---------------------------------------------------------------------------------------------------------


@kernel
def _fill_squares(size, block, products, squares):
    """Set `squares` (n,) to (1/2) u C^-1 u for every state of the block; return n."""
    n_states = _n_states(size, products.shape[1])
    n = 1
    squares[0] = 0.0
    for b in range(block.size):
        k = block[b]
        for s in range(n_states - 1, -1, -1):  # state 0 last, for the others are made from what it replaces
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
def _begin(size, block, start, by_logs, messages, row):
    """Set the message in a row to the law of the first state of the block."""
    n_states = _n_states(size, start.shape[1])
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
def _pass_on(size, block, n, transitions, messages, row, room):
    """Replace the message in a row by what it says of the next time: a sum over the states before."""
    n_states = _n_states(size, transitions.shape[1])
    stride = 1
    for b in range(block.size):
        k = block[b]
        for high in range(0, n, stride * n_states):
            for low in range(high, high + stride):
                for s in range(n_states):
                    room[0, s] = messages[row, low + s * stride]
                for r in range(n_states):
                    total = 0.0
                    for s in range(n_states):
                        total += room[0, s] * transitions[k, s, r]
                    messages[row, low + r * stride] = total
        stride *= n_states


@kernel
def _pass_on_logs(block, n, transitions, messages, row, room):
    """Do `_pass_on` in logarithms."""
    n_states = transitions.shape[1]
    stride = 1
    for b in range(block.size):
        k = block[b]
        for high in range(0, n, stride * n_states):
            for low in range(high, high + stride):
                for s in range(n_states):
                    room[0, s] = messages[row, low + s * stride]
                for r in range(n_states):
                    top = -np.inf
                    for s in range(n_states):
                        top = max(top, room[0, s] + transitions[k, s, r])
                    total = 0.0
                    if top > -np.inf:
                        for s in range(n_states):
                            total += np.exp(room[0, s] + transitions[k, s, r] - top)
                    messages[row, low + r * stride] = top + np.log(total) if total > 0.0 else -np.inf
        stride *= n_states


@kernel
def _weigh(size, block, n, left, here, duals, squares, room):
    """Set row 1 of the room to r C^-1 u - (1/2) u C^-1 u for every state of the block."""
    n_states = _n_states(size, duals.shape[1])
    stride = 1
    room[1, 0] = 0.0
    for b in range(block.size):
        for s in range(n_states - 1, -1, -1):
            x = _inner(left, here, duals, block[b], s)
            for state in range(stride):
                room[1, s * stride + state] = room[1, state] + x
        stride *= n_states
    for state in range(n):
        room[1, state] -= squares[state]


@kernel
def _absorb(n, by_logs, messages, row, room):
    """Multiply the message in a row by the exponentials of row 1 of the room; return the log of its scale.

    These are divided by the largest of them among the states that can be reached: however unlikely an
    observation is, the numbers neither vanish nor overflow.
    """
    top = -np.inf
    nowhere = -np.inf if by_logs else 0.0
    for state in range(n):
        if messages[row, state] > nowhere:
            top = max(top, room[1, state])
    if top == -np.inf:
        return top
    for state in range(n):
        if by_logs:
            messages[row, state] += room[1, state] - top
        elif messages[row, state] > 0.0:
            messages[row, state] *= np.exp(room[1, state] - top)
    return top


@kernel
def _rescale(n, by_logs, messages, row):
    """Scale the message in a row, where it got small, by its sum or its largest; return the log of that."""
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
def _filter(
    size,
    first,
    last,
    block,
    n,
    values,
    left,
    duals,
    squares,
    start,
    transitions,
    by_logs,
    messages,
    keep,
    room,
):
    """Set the messages of the times first to last to P(p_t, w_first..w_t) of the block, up to a factor.

    `left` is what the other chains leave of these observations. Returns the logarithm of the sum at the last
    time, with (1/2) r_t C^-1 r_t and the constant of each observation left out; -inf where it is zero.
    Without `keep` the messages take turns in two rows.
    """
    log_scale = 0.0
    row = 0
    for t in range(first, last):
        row = t - first if keep else (t - first) & 1
        if t == first:
            _begin(size, block, start, by_logs, messages, row)
        else:
            before = row - 1 if keep else 1 - row
            for state in range(n):
                messages[row, state] = messages[before, state]
            if by_logs:
                _pass_on_logs(block, n, transitions, messages, row, room)
            else:
                _pass_on(size, block, n, transitions, messages, row, room)
        if values[t, 0] == values[t, 0]:
            _weigh(size, block, n, left, t - first, duals, squares, room)
            log_scale += _absorb(n, by_logs, messages, row, room)
        log_scale += _rescale(n, by_logs, messages, row)
        if not log_scale > -np.inf:
            return -np.inf
    total = 0.0
    for state in range(n):
        total += np.exp(messages[row, state]) if by_logs else messages[row, state]
    return log_scale + np.log(total)


@kernel
def _draw_backwards(size, first, last, block, n, transitions, by_logs, messages, j, paths, n_times, streams):
    """Draw the states of the block, from the last time to the first, against the messages of `_filter`.

    The weight of a state is its message times the probability of the transition to the state drawn before.
    """
    n_states = _n_states(size, transitions.shape[1])
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
        chosen = _choose(messages, row, n, uniform_of(streams, j))
        for b in range(block.size):
            paths[j, block[b] * n_times + t] = chosen % n_states
            chosen //= n_states


@kernel
def _choose(weights, row, n, u):
    """Return a state drawn with the weights in a row; never one without weight."""
    total = 0.0
    for state in range(n):
        total += weights[row, state]
    x = u * total
    chosen = 0
    for state in range(n - 1):
        x -= weights[row, state]
        if x < 0.0:
            break
        chosen += 1
    while chosen > 0 and weights[row, chosen] == 0.0:  # rounding left something of x
        chosen -= 1
    while weights[row, chosen] == 0.0 and chosen < n - 1:
        chosen += 1
    return chosen


# ---------------------------------------------------------------------------------------------------------
# Paths drawn given phi
# ---------------------------------------------------------------------------------------------------------


@kernel
def _shuffle(order, stream):
    """Set `order` to the numbers from 0 up, in a random order."""
    for k in range(order.size):
        other = integer(stream, k + 1)
        order[k] = order[other]
        order[other] = k


@kernel
def resample_blocks(
    size,
    first,
    last,
    j,
    n_together,
    offsets,
    values,
    centre,
    parts,
    duals,
    products,
    start,
    transitions,
    by_logs,
    paths,
    left,
    messages,
    squares,
    order,
    streams,
    room,
    seed,
    sweep,
):
    """Draw path j of the sequences first to last, one block of chains after the other.

    The chains are put into a random order, anew for each sequence, and cut into blocks of `n_together`. A
    block is drawn as a whole from P(its chains | all other chains, w, phi): it is a hidden Markov model of
    what the others leave of the observations. Each such draw leaves P(p | w, phi) as it is, and so does any
    order of them that does not depend on the path: fixed, or random as here.

    `left` (n times, D) and `messages` (n times, n), for the longest sequence, `squares` (n,), `order` (K,)
    and `streams` (m, 2) are scratch. Returns the first sequence that no path explains, or -1.
    """
    n_chains = parts.shape[0]
    n_times = values.shape[0]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        open_stream(streams[j], seed, sweep, j, q)
        _shuffle(order, streams[j])
        _take_all(a, b, values, centre, parts, paths[j], left)
        for begin in range(0, n_chains, n_together):
            block = order[begin : min(n_chains, begin + n_together)]
            for k in block:
                for t in range(a, b):
                    _add_part(left, t - a, parts, k, paths[j, k * n_times + t], 1.0)
            n = _fill_squares(size, block, products, squares)
            log_sum = _filter(
                size,
                a,
                b,
                block,
                n,
                values,
                left,
                duals,
                squares,
                start,
                transitions,
                by_logs,
                messages,
                True,
                room,
            )
            if log_sum == -np.inf:
                return q
            _draw_backwards(size, a, b, block, n, transitions, by_logs, messages, j, paths, n_times, streams)
            for k in block:
                for t in range(a, b):
                    _add_part(left, t - a, parts, k, paths[j, k * n_times + t], -1.0)
    return -1


# ---------------------------------------------------------------------------------------------------------
# Counts and likelihoods
# ---------------------------------------------------------------------------------------------------------


@kernel
def count_range(first, last, q, offsets, values, centre, paths, starts, pairs, together, sums):
    """Add what all paths hold at the times first to last; `q` is the sequence of the time `first`.

    starts (K, S) and pairs (K, S, S) count first states and transitions. Where there is an observation,
    together (K, S, K, S) counts the states of two chains at the same time, the second chain not after the
    first, and sums (K, S, D) adds up the observations minus `centre` in each state.
    """
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
    """Set what is above the diagonal of a square table to what is below it."""
    for i in range(table.shape[0]):
        for k in range(i):
            table[k, i] = table[i, k]


@kernel
def _log_normal(left, row, whitening, constant):
    """Return the log-density of noise: `constant` is that of none, and `whitening` makes it standard normal.

    `whitening` is (D, D), a lower triangular matrix, or (1, D), the diagonal of a diagonal one.
    """
    square = 0.0
    for d in range(left.shape[1]):
        z = 0.0
        if whitening.shape[0] == 1:
            z = whitening[0, d] * left[row, d]
        else:
            for e in range(d + 1):
                z += whitening[d, e] * left[row, e]
        square += z * z
    return constant - 0.5 * square


@kernel
def log_joints(
    first, last, offsets, values, centre, parts, whitening, constant, start, transitions, paths, left, sums
):
    """Add log P(p^j, w | phi) of the sequences first to last to `sums` (m,).

    `start` and `transitions` are in logarithms; for `whitening` and `constant` see `_log_normal`. `left`
    (1, D) is scratch.
    """
    n_times = values.shape[0]
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        for j in range(paths.shape[0]):
            x = 0.0
            for k in range(parts.shape[0]):
                x += start[k, paths[j, k * n_times + a]]
                for t in range(a + 1, b):
                    x += transitions[k, paths[j, k * n_times + t - 1], paths[j, k * n_times + t]]
            for t in range(a, b):
                if values[t, 0] == values[t, 0]:
                    _take_all(t, t + 1, values, centre, parts, paths[j], left)
                    x += _log_normal(left, 0, whitening, constant)
            sums[j] += x


@kernel
def log_likelihoods(
    size,
    first,
    last,
    offsets,
    values,
    centre,
    whitening,
    constant,
    duals,
    products,
    start,
    transitions,
    by_logs,
    likelihoods,
    left,
    messages,
    squares,
    order,
    room,
):
    """Set `likelihoods` to log P(w | phi) of each of the sequences first to last: all chains are one block.

    `left` (n times, D), for the longest sequence, `messages` (2, S^K), `squares` (S^K,) and `order` (K,) are
    scratch.
    """
    for k in range(order.size):
        order[k] = k
    n = _fill_squares(size, order, products, squares)
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        x = 0.0
        for t in range(a, b):
            if values[t, 0] == values[t, 0]:
                for d in range(values.shape[1]):
                    left[t - a, d] = values[t, d] - centre[d]
                x += _log_normal(left, t - a, whitening, constant)
        likelihoods[q - first] = x + _filter(
            size,
            a,
            b,
            order,
            n,
            values,
            left,
            duals,
            squares,
            start,
            transitions,
            by_logs,
            messages,
            False,
            room,
        )


@kernel
def add_states(paths, counts):
    """Add one to `counts` (N, S) for the state of every site in every path."""
    for j in range(paths.shape[0]):
        for i in range(paths.shape[1]):
            counts[i, paths[j, i]] += 1
