"""Filtering, smoothing and the blocked sampler in logarithms, for chains with forbidden transitions.

A state that is some 640 nats behind the others underflows in a message. Usually nothing is lost: transitions
from the other states give it more weight than it had. But if these are forbidden, it may still be the right
state, once the others turn out to be impossible. The kernels here lose nothing: they take all of phi in
logarithms, including the emission weights of both forms.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.chains.arguments import Messages
from plait.kernels.chains.messages import add_compensated
from plait.kernels.chains.states import draw_state
from plait.rng import open_stream, uniform_of


@kernel
def _log_arriving(messages, row, transitions, s):
    """Return log sum_r exp(message(r) + transitions(r, s))."""
    top = -np.inf
    for r in range(transitions.shape[0]):
        top = max(top, messages[row, r] + transitions[r, s])
    if top == -np.inf:
        return top
    total = 0.0
    for r in range(transitions.shape[0]):
        x = messages[row, r] + transitions[r, s]
        if x > -np.inf:
            total += np.exp(x - top)
    return top + np.log(total)


@kernel
def _filter_logs(first, last, chain, emissions, messages, keep, scratch):
    """Set the messages to log P(p_i, w_first..w_i), shifted so that the largest is 0.

    Return log P(w_first..w_last). Without `keep`, the messages (1, S) are only scratch.
    """
    rows, weights, logs, base = emissions
    values, here = messages
    start, transitions, _ = chain
    n_states = start.size
    log_scale = 0.0
    lost = 0.0
    to = 0
    for i in range(first, last):
        before = i - 1 - here if keep else 0
        to = i - here if keep else 0
        row = i - base if logs else np.int64(rows[i])
        top = -np.inf
        for s in range(n_states):
            arriving = start[s] if i == first else _log_arriving(values, before, transitions, s)
            scratch[0, s] = arriving + weights[row, s]
            top = max(top, scratch[0, s])
        if not top > -np.inf:
            return -np.inf
        log_scale, lost = add_compensated(log_scale, lost, top)
        for s in range(n_states):
            values[to, s] = scratch[0, s] - top
    total = 0.0
    for s in range(n_states):
        total += np.exp(values[to, s])
    return log_scale + (np.log(total) - lost)


@kernel
def log_likelihoods_by_logs(first, last, offsets, chain, emissions, likelihoods, scratch):
    """Compute the same as `log_likelihoods_range`, in logarithms."""
    messages = Messages(scratch[1:2], 0)
    for k in range(first, last):
        likelihoods[k - first] = _filter_logs(
            offsets[k], offsets[k + 1], chain, emissions, messages, False, scratch
        )


@kernel
def smooth_by_logs(first, last, offsets, chain, emissions, messages, expected, scratch):
    """Compute the same as `smooth_range`, in logarithms."""
    starts, pairs, likelihoods = expected
    values, base = messages
    transitions = chain.transitions
    n_states = starts.size
    for k in range(first, last):
        a, b = offsets[k] - base, offsets[k + 1] - base
        likelihoods[k - first] = _filter_logs(
            offsets[k], offsets[k + 1], chain, emissions, messages, True, scratch
        )
        if likelihoods[k - first] == -np.inf:
            values[a:b] = np.nan
            continue
        total = 0.0
        for s in range(n_states):
            values[b - 1, s] = np.exp(values[b - 1, s])
            total += values[b - 1, s]
        for s in range(n_states):
            values[b - 1, s] /= total
        for i in range(b - 2, a - 1, -1):
            for r in range(n_states):
                scratch[1, r] = np.log(values[i + 1, r]) - _log_arriving(values, i, transitions, r)
            total = 0.0
            for s in range(n_states):
                scratch[0, s] = 0.0
                for r in range(n_states):
                    if values[i + 1, r] > 0.0:
                        x = np.exp(values[i, s] + transitions[s, r] + scratch[1, r])
                        pairs[s, r] += x
                        scratch[0, s] += x
                total += scratch[0, s]
            for s in range(n_states):
                values[i, s] = scratch[0, s] / total
        for s in range(n_states):
            starts[s] += values[a, s]


@kernel
def resample_blocked_by_logs(first, last, offsets, chain, emissions, messages, paths, scratch, key):
    """Sample as `resample_blocked` does, in logarithms."""
    streams, _, rows = scratch
    transitions = chain.transitions
    n_states = chain.start.size
    for s in range(n_states):
        rows[1, s] = 1.0
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        here = emissions.base if emissions.logs else a
        total = _filter_logs(a, b, chain, emissions, Messages(messages, here), True, rows)
        if total == -np.inf:
            return k
        for j in range(paths.shape[0]):
            open_stream(streams[j], key.seed, key.sweep, j, 2 * k)
            for i in range(b - 1, a - 1, -1):
                top = -np.inf
                for s in range(n_states):
                    x = messages[i - here, s]
                    if i + 1 < b:
                        x += transitions[s, paths[j, i + 1]]
                    rows[0, s] = x
                    top = max(top, x)
                for s in range(n_states):
                    rows[0, s] = np.exp(rows[0, s] - top)
                paths[j, i] = draw_state((), rows, 0, rows, 1, uniform_of(streams, j))
    return -1
