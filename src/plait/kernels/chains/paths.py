"""Counts and probabilities of given paths, and the best path."""

from __future__ import annotations

import numpy as np

from plait.jit import allocating_kernel, kernel
from plait.kernels.chains.states import number_of_states
from plait.kernels.lanes import add_lanes, new_lanes

_BLOCK = np.uint64(32768)  # sites whose number a sum of 16 bits holds


@allocating_kernel
def count_pairs(first, last, k, offsets, paths, starts, pairs):
    """Add the starts and the transitions of all paths that end at the sites first to last.

    `k` is the sequence of the site `first`.
    """
    n_states = np.uint64(pairs.shape[0])
    lanes, mask = new_lanes(pairs.size)
    while first < last:
        while first >= offsets[k + 1]:
            k += 1
        is_start = first == offsets[k]
        stop = min(offsets[k + 1], last)
        for j in range(paths.shape[0]):
            path = paths[j]
            if is_start:
                starts[path[first]] += 1.0
            begin, end = np.uint64(first + is_start), np.uint64(stop)
            if n_states == 2:
                _count_pairs_of_two(begin, end, path, pairs)
                continue
            for i in range(begin, end):
                before, state = np.uint64(path[i - np.uint64(1)]), np.uint64(path[i])
                lanes[i & mask, before * n_states + state] += 1
        first = stop
    add_lanes(lanes, pairs)


@kernel
def _count_pairs_of_two(begin, end, path, pairs):
    """Add the transitions of a path with two states that end at the sites begin to end.

    All are found from two sums, which the compiler turns into vector instructions.
    """
    to_one = stays_in_one = np.int64(0)
    for block in range(begin, end, _BLOCK):
        ones = both = np.uint16(0)  # narrow types fill more lanes
        for i in range(block, min(block + _BLOCK, end)):
            state = np.uint16(path[i])
            ones = np.uint16(ones + state)
            both = np.uint16(both + (state & np.uint16(path[i - np.uint64(1)])))
        to_one += np.int64(ones)
        stays_in_one += np.int64(both)
    from_one = to_one
    if begin < end:
        from_one += np.int64(path[begin - np.uint64(1)]) - np.int64(path[end - np.uint64(1)])
    pairs[0, 0] += np.int64(end - begin) - from_one - to_one + stays_in_one
    pairs[0, 1] += to_one - stays_in_one
    pairs[1, 0] += from_one - stays_in_one
    pairs[1, 1] += stays_in_one


@kernel
def log_joints_range(first, last, offsets, chain, emissions, paths, sums):
    """Add log P(p^j, w | phi) of the sequences first to last to `sums` (m,); all of phi is in logarithms."""
    start, transitions, _ = chain
    rows, weights, logs, base = emissions
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        for j in range(paths.shape[0]):
            x = 0.0
            before = np.int64(0)
            for i in range(a, b):
                s = np.int64(paths[j, i])
                x += start[s] if i == a else transitions[before, s]
                x += weights[i - base, s] if logs else weights[rows[i], s]
                before = s
            sums[j] += x


@kernel
def best_paths_range(first, last, size, offsets, chain, emissions, arrows, best, likelihoods, scratch):
    """Find the most probable path of each of the sequences first to last (Viterbi); phi is in logarithms.

    `best` (N,) receives the states, `likelihoods` (n,) log P(p, w | phi). `arrows` (n, S) is scratch with a
    row for each site of the longest sequence. Of equally probable states the first is taken.
    """
    start, transitions, _ = chain
    rows, weights, logs, base = emissions
    n_states = number_of_states(size, start.size)
    score = scratch[0]
    after = scratch[1]
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        for i in range(a, b):
            row = weights[i - base] if logs else weights[rows[i]]
            for r in range(n_states):
                if i == a:
                    after[r] = start[r] + row[r]
                    continue
                top = -np.inf
                where = 0
                for s in range(n_states):
                    x = score[s] + transitions[s, r]
                    if x > top:
                        top = x
                        where = s
                arrows[i - a, r] = where
                after[r] = top + row[r]
            for r in range(n_states):
                score[r] = after[r]
        state = 0
        for r in range(n_states):
            if score[r] > score[state]:
                state = r
        likelihoods[k - first] = score[state]
        for i in range(b - 1, a - 1, -1):
            best[i] = state
            if i > a:
                state = int(arrows[i - a, state])
