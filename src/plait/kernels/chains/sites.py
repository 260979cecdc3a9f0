"""The single-site sampler: lines 5 to 9 of Algorithm 1, as in the paper.

Sites are visited in two colours: the first, third, fifth, ... of a sequence, and then the others. Given phi
and the sites of one colour, those of the other are independent, so their order does not matter. The paper
visits them from left to right; any fixed order leaves the same distribution unchanged.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.chains.states import draw_state, number_of_states
from plait.rng import open_stream, to_unit, turn, uniform_of

_COLOURS = 2
_ONE = np.uint64(1)
_UNSAFE = 1e-280  # a sum of weights below this has lost digits


@kernel
def fill_thresholds(neighbours, weights, thresholds):
    """Tabulate P(p_i <= s | p_i-1 = a, p_i+1 = c, w_i) as thresholds[w, a, c, s].

    `weights` (W + 1, S) is a table of symbols; a = S stands for a first site, c = S for a last one.
    """
    before, after = neighbours
    n_states = before.shape[1]
    for w in range(weights.shape[0]):
        for a in range(n_states + 1):
            for c in range(n_states + 1):
                x = 0.0
                for s in range(n_states):
                    x += before[a, s] * after[c, s] * weights[w, s]
                    thresholds[w, a, c, s] = x
                scale = 1.0 / x if x > 0.0 else 0.0
                for s in range(n_states):
                    # 2 from the last possible state on, so that rounding never leads to a forbidden one
                    ended = thresholds[w, a, c, s] == x
                    thresholds[w, a, c, s] = 2.0 if ended else thresholds[w, a, c, s] * scale


@kernel
def resample_by_thresholds(size, first, last, path_range, offsets, rows, thresholds, paths, streams, key):
    """Draw each site given its neighbours by the table of `fill_thresholds`, for a range of paths.

    Within a colour no draw depends on another, so the processor overlaps them. The stream is kept in two
    local variables: in memory, it would have to be read again after each write to the path.
    """
    n_states = number_of_states(size, thresholds.shape[3])
    none = np.uint64(n_states)
    for k in range(first, last):
        start, stop = np.uint64(offsets[k]), np.uint64(offsets[k + 1])
        for j in range(path_range[0], path_range[1]):
            path = paths[j]
            open_stream(streams[j], key.seed, key.sweep, j, k)
            x, y = streams[j, 0], streams[j, 1]
            for colour in range(_COLOURS):
                i = start + np.uint64(colour)
                while i < stop:
                    before = np.uint64(path[i - _ONE]) if i > start else none
                    after = np.uint64(path[i + _ONE]) if i + _ONE < stop else none
                    row = np.uint64(rows[i])
                    bits, x, y = turn(x, y)
                    u = to_unit(bits)
                    s = 0
                    for t in range(n_states - 1):
                        s += thresholds[row, before, after, np.uint64(t)] <= u
                    path[i] = s
                    i += np.uint64(_COLOURS)


@kernel
def resample_sites(size, first, last, path_range, offsets, neighbours, emissions, paths, scratch, key):
    """Draw each p^j_i from P(p_i | p_i-1, p_i+1, w_i, phi), site by site, for a range of paths.

    The weight of the state s is A(p_i-1, s) A(s, p_i+1) b_i(s); see `Neighbours` for both ends.
    """
    from_before, to_after = neighbours
    rows, weights, logs, base = emissions
    streams, _, likely = scratch
    n_states = number_of_states(size, from_before.shape[1])
    first_path, last_path = path_range
    for k in range(first, last):
        start, stop = offsets[k], offsets[k + 1]
        for j in range(first_path, last_path):
            open_stream(streams[j], key.seed, key.sweep, j, k)
        for colour in range(_COLOURS):
            for i in range(start + colour, stop, _COLOURS):
                if logs:
                    shift = -np.inf
                    for s in range(n_states):
                        shift = max(shift, weights[i - base, s])
                    for s in range(n_states):
                        likely[1, s] = np.exp(weights[i - base, s] - shift)
                else:
                    for s in range(n_states):
                        likely[1, s] = weights[rows[i], s]
                for j in range(first_path, last_path):
                    before = n_states if i == start else np.int64(paths[j, i - 1])
                    after = n_states if i + 1 == stop else np.int64(paths[j, i + 1])
                    total = 0.0
                    for s in range(n_states):
                        x = from_before[before, s] * likely[1, s]
                        likely[0, s] = x
                        total += x * to_after[after, s]
                    if total < _UNSAFE and logs:
                        _rescale(weights, i - base, neighbours, before, after, likely)
                        after = n_states  # a row of ones: the weights are complete
                    paths[j, i] = draw_state(size, likely, 0, to_after, after, uniform_of(streams, j))


@kernel
def _rescale(logs, row, neighbours, before, after, scratch):
    """Set row 0 of the scratch to the weights of `resample_sites`, divided by the largest of them."""
    n_states = neighbours.before.shape[1]
    shift = -np.inf
    for s in range(n_states):
        scratch[0, s] = np.log(neighbours.before[before, s]) + np.log(neighbours.after[after, s])
        scratch[0, s] += logs[row, s]
        shift = max(shift, scratch[0, s])
    for s in range(n_states):
        scratch[0, s] = np.exp(scratch[0, s] - shift)
