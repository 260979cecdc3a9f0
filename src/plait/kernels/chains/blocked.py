"""The blocked sampler: filter the data once, then draw every path against the messages."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.chains.arguments import Messages, Span
from plait.kernels.chains.messages import advance, filter_forward
from plait.kernels.chains.states import draw_state, draw_states
from plait.rng import open_stream, uniform_of


@kernel
def draw_paths(size, span, path_range, backwards, chain, messages, paths, scratch, key):
    """Draw p^j from P(p^j | w, phi) for a range of paths, on one side of a meeting point.

    Before the site `meet` the messages are those of `filter_forward`, from there on those of
    `filter_backward`. The state at the site before `meet` is drawn first, from the product of both; then

        backwards:  p_i from P(p_i | w_first..w_i) A(p_i, p_i+1),   down to the first site
        else:       p_i from A(p_i-1, p_i) P(w_i..w_last | p_i),    up to the last site.

    The two sides share only the state at the meeting point, which both draw from the same random number, so
    two threads can draw them at the same time. If `meet` is `last`, there is one side only. Return False,
    with nothing drawn, if no state at the meeting point is possible for both sides.
    """
    first, meet, last, sequence = span
    first_path, last_path = path_range
    values, base = messages
    transitions, transposed = chain.transitions, chain.transposed
    streams, states, rows = scratch
    total = 0.0
    for s in range(transitions.shape[0]):
        rows[0, s] = 1.0
        rows[1, s] = 1.0
    if meet < last:
        advance(size, values, meet - base, transposed, rows, 1, rows, 0)
    for s in range(transitions.shape[0]):
        total += values[meet - 1 - base, s] * rows[0, s]
    if not total > 0.0:
        return False
    for j in range(first_path, last_path):
        open_stream(streams[j], key.seed, key.sweep, j, 2 * sequence)
        states[j] = draw_state(size, values, meet - 1 - base, rows, 0, uniform_of(streams, j))
    if backwards:
        for j in range(first_path, last_path):
            paths[j, meet - 1] = states[j]
        for i in range(meet - 2, first - 1, -1):
            _draw_site(size, values, i - base, transposed, states, streams, path_range, paths, i)
    else:
        for j in range(first_path, last_path):
            open_stream(streams[j], key.seed, key.sweep, j, 2 * sequence + 1)
        for i in range(meet, last):
            _draw_site(size, values, i - base, transitions, states, streams, path_range, paths, i)
    return True


@kernel
def _draw_site(size, left, row, right, states, streams, path_range, paths, i):
    """Draw site i of each path with the weights left(s) right(s), as `draw_states` does."""
    if len(size) == 0:
        draw_states(size, left, row, right, states, streams, path_range)
        for j in range(path_range[0], path_range[1]):
            paths[j, i] = states[j]
    else:  # one loop is faster if the number of states is known
        for j in range(path_range[0], path_range[1]):
            states[j] = draw_state(size, left, row, right, states[j], uniform_of(streams, j))
            paths[j, i] = states[j]


@kernel
def resample_blocked(first, last, size, offsets, chain, emissions, messages, paths, scratch, key):
    """Draw every path of the sequences first to last as a whole.

    `messages` is the array of the emission weights if these are `logs`, else it has a row for each site of
    the longest sequence. Return the first sequence that has probability 0, or -1.
    """
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        here = Messages(messages, emissions.base if emissions.logs else a)
        log_likelihood = filter_forward(a, b, size, chain, emissions, here, True, scratch.rows)
        if log_likelihood == -np.inf:
            return k
        span = Span(a, b, b, k)
        draw_paths(size, span, (0, paths.shape[0]), True, chain, here, paths, scratch, key)
    return -1
