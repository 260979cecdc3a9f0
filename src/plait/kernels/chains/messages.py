"""Filtering and smoothing: messages along a sequence, likelihoods, posteriors and expected counts.

With log-densities (`emissions.logs`), a row is scaled by its largest entry among the states that can be
reached: however unlikely an observation is, messages neither vanish nor overflow. `scratch` is (4, S).
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.chains.arguments import Messages
from plait.kernels.chains.states import number_of_states
from plait.kernels.matrices import multiply_row

_SMALL = 1e-30  # messages with a smaller sum are scaled, long before they lose digits
_RENEW_EVERY = 64  # sites after which rounding errors of posteriors are removed


@kernel
def advance(size, source, row, matrix, factors, factor, target, to):
    """Set target(r) = factor(r) sum_s source(s) matrix(s, r), each a row of an array; return their sum."""
    if len(size) == 0:
        return multiply_row(source, row, matrix, factors, factor, target, to)
    row, factor, to = np.uint64(row), np.uint64(factor), np.uint64(to)
    total = 0.0
    for r in range(np.uint64(len(size))):
        x = 0.0
        for s in range(np.uint64(len(size))):
            x += source[row, s] * matrix[s, r]
        x *= factors[factor, r]
        target[to, r] = x
        total += x
    return total


@kernel
def _absorb_logs(size, logs, row, arriving, messages, to):
    """Set row `to` of the messages to arriving(s) exp(logs(s) - shift); return their sum and the shift.

    Row 0 of `arriving` is the message from the sites before, without the emission of this one. The shift is
    the largest log-density of a state that can be reached. The messages may be the array `logs`.
    """
    n_states = number_of_states(size, messages.shape[1])
    shift = -np.inf
    for s in range(n_states):
        if arriving[0, s] > 0.0:
            shift = max(shift, logs[row, s])
    if shift == -np.inf:
        return 0.0, 0.0
    total = 0.0
    for s in range(n_states):
        x = 0.0
        if arriving[0, s] > 0.0:
            x = arriving[0, s] * np.exp(logs[row, s] - shift)
        messages[to, s] = x
        total += x
    return total, shift


@kernel
def add_compensated(total, lost, x):
    """Return total + x and the rounding error so far: Kahan summation keeps the digits of long sums."""
    y = x - lost
    after = total + y
    return after, (after - total) - y


@kernel
def _filter(first, last, size, start, matrix, emissions, messages, keep, scratch):
    """Pass messages from the site `first` towards `last`, which may lie before it.

    The message of the first site is start(s) b(s), that of others b(s) sum_r message_before(r) matrix(r, s).
    They are scaled when they get small. Return the logarithm of the sum over s at the last site, scales
    included, or -inf if the sum is zero. Without `keep`, the messages alternate between two rows.
    """
    rows, weights, logs, base = emissions
    values, here = messages
    n_states = number_of_states(size, start.size)
    step = 1 if last >= first else -1
    log_scale = 0.0
    lost = 0.0
    total = 0.0
    for s in range(n_states):
        scratch[0, s] = start[s]
        scratch[1, s] = 1.0
    for i in range(first, last, step):
        to = i - here if keep else (i - first) & 1
        before = to - step if keep else 1 - to
        if logs:
            if i != first:
                advance(size, values, before, matrix, scratch, 1, scratch, 0)
            total, shift = _absorb_logs(size, weights, i - base, scratch, values, to)
            log_scale, lost = add_compensated(log_scale, lost, shift)
        elif i != first:
            total = advance(size, values, before, matrix, weights, rows[i], values, to)
        else:
            for s in range(n_states):
                values[to, s] = start[s] * weights[rows[i], s]
                total += values[to, s]
        if not total >= _SMALL:
            if not total > 0.0:
                return -np.inf
            log_scale, lost = add_compensated(log_scale, lost, np.log(total))
            scale = 1.0 / total
            for s in range(n_states):
                values[to, s] *= scale
            total = 1.0
    return log_scale + (np.log(total) - lost)


@kernel
def filter_forward(first, last, size, chain, emissions, messages, keep, scratch):
    """Set the messages of the sites first to last to P(p_i, w_first..w_i), up to a factor.

    Return log P(w_first..w_last), which is -inf if the observations have probability 0; the messages are then
    invalid. Without `keep`, the messages (2, S) are only scratch.
    """
    return _filter(first, last, size, chain.start, chain.transitions, emissions, messages, keep, scratch)


@kernel
def filter_backward(first, last, size, chain, emissions, messages, scratch):
    """Set the messages of the sites first to last to P(w_i..w_last | p_i), up to a factor.

    Return -inf if the observations have probability 0.
    """
    ones = scratch[2]
    ones[:] = 1.0
    return _filter(last - 1, first - 1, size, ones, chain.transposed, emissions, messages, True, scratch)


@kernel
def _smooth(first, last, size, chain, messages, pairs, scratch):
    """Turn the messages of `filter_forward` into P(p_i | w), and add P(p_i, p_i+1 | w) to `pairs`.

    With alpha_i the messages and gamma_i the result,

        P(p_i = s, p_i+1 = r | w) = alpha_i(s) A(s, r) gamma_i+1(r) / sum_s' alpha_i(s') A(s', r),

    and the sum of this over r is gamma_i(s). The caller multiplies `pairs` (S, S) by A, a common factor.

    The next site waits only for `gamma`, a row of the scratch, which sums to 1 up to rounding errors. They
    are removed from the results, and now and then from the row, so that they do not accumulate.
    """
    values, base = messages
    transitions, transposed = chain.transitions, chain.transposed
    n_states = np.uint64(number_of_states(size, transitions.shape[0]))
    ratio, gamma = scratch[0], scratch[2]
    scratch[1] = 1.0
    total = 0.0
    for s in range(n_states):
        total += values[last - 1 - base, s]
    for s in range(n_states):
        gamma[s] = values[last - 1 - base, s] / total
        values[last - 1 - base, s] = gamma[s]
    for k in range(last - 2 - base, first - 1 - base, -1):
        i = np.uint64(k)
        advance(size, values, i, transitions, scratch, 1, scratch, 0)
        for r in range(n_states):
            inverse = 1.0 / ratio[r]
            ratio[r] = gamma[r] * inverse if gamma[r] > 0.0 else 0.0
        for s in range(n_states):
            x = values[i, s]
            for r in range(n_states):
                pairs[s, r] += x * ratio[r]
        scale = 1.0 / advance(size, scratch, 0, transposed, values, i, scratch, 2)
        for s in range(n_states):
            values[i, s] = gamma[s] * scale
        if (last - 1 - base - k) % _RENEW_EVERY == 0:
            for s in range(n_states):
                gamma[s] = values[i, s]


@kernel
def smooth_range(first, last, size, offsets, chain, emissions, messages, expected, scratch):
    """Compute posteriors and expected counts of the sequences first to last: the E step of Baum-Welch.

    `messages` has one row per site of these sequences, and holds P(p_i | w) on return: NaN for a sequence of
    probability 0, which adds nothing to the counts.
    """
    starts, pairs, likelihoods = expected
    values, base = messages
    n_states = starts.size
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        likelihoods[k - first] = filter_forward(a, b, size, chain, emissions, messages, True, scratch)
        if likelihoods[k - first] == -np.inf:
            values[a - base : b - base] = np.nan
            continue
        _smooth(a, b, size, chain, messages, pairs, scratch)
        for s in range(n_states):
            starts[s] += values[a - base, s]
    for s in range(n_states):
        for r in range(n_states):
            pairs[s, r] *= chain.transitions[s, r]


@kernel
def log_likelihoods_range(first, last, size, offsets, chain, emissions, likelihoods, scratch):
    """Set `likelihoods` (n,) to the log-likelihood of each of the sequences first to last."""
    messages = Messages(scratch[2:4], 0)
    for k in range(first, last):
        likelihoods[k - first] = filter_forward(
            offsets[k], offsets[k + 1], size, chain, emissions, messages, False, scratch
        )
