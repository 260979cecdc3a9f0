"""Kernels of hidden Potts fields: labels on a grid, where neighbours like to agree.

The grid has the shape (planes, rows, columns); a picture is one plane. Sites are numbered in C order, so that
a line, a row of one plane, is a run of sites. The neighbours of a site are those that share a side with it
(4, in a volume 6) or, where the grid is `full`, all that touch it, corners included (8, in a volume 26).

Given phi and the other labels, the label of site i is s with a probability in proportion to

    b_i(s) exp(coupling k_s),    k_s = the number of neighbours that have the label s.

Sites of one colour are no neighbours, so they can be drawn at the same time. Sides make a checkerboard of two
colours; where corners count, a colour is the parity of each of the coordinates.

`weights` holds b_i(s), each row divided by its largest entry: one row a site or, where `rows` is not empty,
one row a symbol and `rows` (N,) the symbol of each site. `table[k]` is exp(coupling (k - K)), K being the
most neighbours that a site of the grid can have. Kernels work on the sites first to last, which may begin and
end within a line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.jit import kernel
from plait.rng import open_stream, uniform_of

FEW_LABELS = 8
"""Up to so many labels, the neighbours of a site are counted in the bytes of one number."""

MOST_LINES = 8
"""The most lines that can lie beside a line."""

MOST_NEIGHBOURS = 26
"""The most neighbours that a site can have."""

_BYTE = np.uint64(255)


def bytes_for(n_labels: int) -> type[np.unsignedinteger[Any]]:
    """Return the kind of number that has a byte for each of few labels; the smaller, the more at a time."""
    return np.uint32 if n_labels <= 4 else np.uint64


# ---------------------------------------------------------------------------------------------------------
# The grid
# ---------------------------------------------------------------------------------------------------------


@kernel
def _lines_beside(shape, full, line, starts):
    """Set `starts` to the first sites of the lines beside a line; return how many there are."""
    n_planes, n_rows, n_columns = shape
    plane, row = line // n_rows, line % n_rows
    n = 0
    for z in range(max(plane - 1, 0), min(plane + 2, n_planes)):
        for y in range(max(row - 1, 0), min(row + 2, n_rows)):
            away = (z != plane) + (y != row)
            if away == 1 or (full and away == 2):
                starts[n] = (z * n_rows + y) * n_columns
                n += 1
    return n


@kernel
def _parity_of(shape, full, line, colour):
    """Return the parity of the columns that have the colour in a line, or -1 if none has."""
    plane, row = line // shape[1], line % shape[1]
    if not full:
        return (plane + row + colour) & 1
    if (colour >> 1) & 1 != row & 1 or (colour >> 2) & 1 != plane & 1:
        return -1
    return colour & 1


# ---------------------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------------------


@kernel
def subtract_largest(logs):
    """Subtract the largest entry from each row of log b (n, S).

    Returns the first row that no label explains, or -1; such rows stay as they are.
    """
    unexplained = -1
    for i in range(logs.shape[0]):
        top = -np.inf
        for s in range(logs.shape[1]):
            top = max(top, logs[i, s])
        if top == -np.inf:
            unexplained = i if unexplained < 0 else unexplained
            continue
        for s in range(logs.shape[1]):
            logs[i, s] -= top
    return unexplained


# ---------------------------------------------------------------------------------------------------------
# Few labels: neighbours are counted in the bytes of a number, byte s for label s
# ---------------------------------------------------------------------------------------------------------
# What follows works on whole arrays, cut out of larger ones: then the processor does several sites at a time.


@kernel
def _add_labels(labels, sums):
    """Add one in the byte of its label to each of the sums."""
    one = sums.dtype.type(1)
    eight = sums.dtype.type(8)
    for k in range(sums.size):
        sums[k] += one << (sums.dtype.type(labels[k]) * eight)


@kernel
def _join_sides(beside, own, around):
    """Count the neighbours of each site from its line and the lines beside it, which begin a site earlier."""
    for k in range(around.size):
        around[k] = beside[k + 1] + own[k] + own[k + 2]


@kernel
def _join_all(beside, own, around):
    """Do `_join_sides` for neighbours of which corners count."""
    for k in range(around.size):
        around[k] = beside[k] + beside[k + 1] + beside[k + 2] + own[k] + own[k + 2]


@kernel
def _count_around(shape, full, start, a, b, starts, n_lines, path, sums, around):
    """Set `around` to the counts of the neighbours' labels, for the columns a to b of the line at `start`.

    That includes sites of other colours than the one that is drawn. These alone have neighbours which another
    thread may be drawing, and nobody looks at their counts. `sums` (2, n + 2) is scratch.
    """
    left, right = max(a - 1, 0), min(b + 1, shape[2])
    beside = sums[0, : b - a + 2]
    own = sums[1, : b - a + 2]
    beside[:] = 0
    own[:] = 0
    inside = slice(left - a + 1, right - a + 1)
    _add_labels(path[start + left : start + right], own[inside])
    for n in range(n_lines):
        _add_labels(path[starts[n] + left : starts[n] + right], beside[inside])
    if full:
        _join_all(beside, own, around[: b - a])
    else:
        _join_sides(beside, own, around[: b - a])


@kernel
def _draw_label(size, weights, row, table, around, u):
    """Return a label drawn with the weights b(s) exp(coupling k_s).

    `size` is a tuple of S entries, of whatever value: the compiler knows its length, and unrolls the loops.
    """
    total = 0.0
    for s in range(len(size)):
        total += weights[row, s] * table[(around >> np.uint64(8 * s)) & _BYTE]
    # As u is at most 1 - 2^-53, x is below the total, however it is rounded: so the label chosen has weight.
    x = u * total
    chosen = 0
    total = 0.0
    for s in range(len(size) - 1):
        total += weights[row, s] * table[(around >> np.uint64(8 * s)) & _BYTE]
        chosen += total <= x
    return chosen


@kernel
def resample_few(
    size,
    first,
    last,
    shape,
    full,
    colour,
    unit,
    rows,
    weights,
    table,
    first_path,
    last_path,
    paths,
    streams,
    sums,
    around,
    seed,
    sweep,
):
    """Lines 5 to 9 of Algorithm 1 for the sites of one colour, and the paths first_path to last_path.

    `streams` (n, 2), `sums` (2, L + 2) and `around` (n, L), the last two of `bytes_for`, are scratch, for n
    paths and L columns.
    """
    n_columns = shape[2]
    starts = np.empty(MOST_LINES, np.int64)
    for j in range(first_path, last_path):
        open_stream(streams[j - first_path], seed, sweep, j, unit)
    for line in range(first // n_columns, (last - 1) // n_columns + 1):
        parity = _parity_of(shape, full, line, colour)
        if parity < 0:
            continue
        start = line * n_columns
        a, b = max(first - start, 0), min(last - start, n_columns)
        n_lines = _lines_beside(shape, full, line, starts)
        for j in range(first_path, last_path):
            _count_around(shape, full, start, a, b, starts, n_lines, paths[j], sums, around[j - first_path])
        for c in range(a + ((a + parity) & 1), b, 2):
            i = start + c
            row = np.int64(rows[i]) if rows.size else i
            for k in range(last_path - first_path):
                counts = np.uint64(around[k, c - a])
                u = uniform_of(streams, k)
                paths[first_path + k, i] = _draw_label(size, weights, row, table, counts, u)


# ---------------------------------------------------------------------------------------------------------
# Many labels: most of them have no neighbour of a site
# ---------------------------------------------------------------------------------------------------------


@kernel
def _list_neighbours(full, start, column, n_columns, starts, n_lines, path, near):
    """Set `near` to the labels of the neighbours of a site; return how many there are."""
    n = 0
    is_first, is_last = column == 0, column == n_columns - 1
    if not is_first:
        near[n] = path[start + column - 1]
        n += 1
    if not is_last:
        near[n] = path[start + column + 1]
        n += 1
    for k in range(n_lines):
        i = starts[k] + column
        near[n] = path[i]
        n += 1
        if full and not is_first:
            near[n] = path[i - 1]
            n += 1
        if full and not is_last:
            near[n] = path[i + 1]
            n += 1
    return n


@kernel
def _find(steps, x):
    """Return the first label whose step is above x, or the last that has weight."""
    low, high = 0, steps.size
    while low < high:
        middle = (low + high) // 2
        if steps[middle] > x:
            high = middle
        else:
            low = middle + 1
    if low == steps.size:  # rounding made x the last step
        low -= 1
        while low > 0 and steps[low] == steps[low - 1]:
            low -= 1
    return low


@kernel
def _draw_of_many(weights, row, steps, table, near, n_near, gains, tally, u):
    """Return a label drawn with the weights b(s) exp(coupling k_s), in a time that hardly depends on S.

    The weight of a label is b(s) times table[0], and for each of its neighbours in turn what that one adds:
    b(s) (table[k + 1] - table[k]). So the neighbours are tried first, then all labels by the running sums of
    b, `steps`. `gains` is scratch; `tally` (S,) is zero on entry and on return.
    """
    gain = 0.0
    for n in range(n_near):
        s = near[n]
        k = tally[s]
        gains[n] = weights[row, s] * (table[k + 1] - table[k])
        gain += gains[n]
        tally[s] = k + 1
    for n in range(n_near):
        tally[near[n]] = 0
    x = u * (gain + steps[-1] * table[0])
    for n in range(n_near):
        if x < gains[n]:
            return near[n]
        x -= gains[n]
    return np.int64(_find(steps, x / table[0]))


@kernel
def resample_many(
    first,
    last,
    shape,
    full,
    colour,
    unit,
    rows,
    weights,
    table,
    first_path,
    last_path,
    paths,
    streams,
    steps,
    tally,
    seed,
    sweep,
):
    """Do `resample_few` for any number of labels.

    `streams` (n, 2), `steps` (S,) and `tally` (S,) are scratch; `tally`, of whole numbers, must be zero.
    """
    n_columns = shape[2]
    starts = np.empty(MOST_LINES, np.int64)
    near = np.empty(MOST_NEIGHBOURS, np.int64)
    gains = np.empty(MOST_NEIGHBOURS)
    for j in range(first_path, last_path):
        open_stream(streams[j - first_path], seed, sweep, j, unit)
    for line in range(first // n_columns, (last - 1) // n_columns + 1):
        parity = _parity_of(shape, full, line, colour)
        if parity < 0:
            continue
        start = line * n_columns
        a, b = max(first - start, 0), min(last - start, n_columns)
        n_lines = _lines_beside(shape, full, line, starts)
        for c in range(a + ((a + parity) & 1), b, 2):
            i = start + c
            row = np.int64(rows[i]) if rows.size else i
            total = 0.0
            for s in range(steps.size):
                total += weights[row, s]
                steps[s] = total
            for j in range(first_path, last_path):
                n_near = _list_neighbours(full, start, c, n_columns, starts, n_lines, paths[j], near)
                u = uniform_of(streams, j - first_path)
                paths[j, i] = _draw_of_many(weights, row, steps, table, near, n_near, gains, tally, u)


# ---------------------------------------------------------------------------------------------------------
# Likelihoods and frequencies
# ---------------------------------------------------------------------------------------------------------


@kernel
def _count_equal(labels, others):
    """Return how many of the labels are equal to the others."""
    n = 0
    for k in range(labels.size):
        n += labels[k] == others[k]
    return n


@kernel
def count_agreeing(first, last, shape, full, paths, pairs):
    """Add the pairs of neighbours that agree, the first of which is in the range, to `pairs` (m,)."""
    n_columns = shape[2]
    starts = np.empty(MOST_LINES, np.int64)
    for line in range(first // n_columns, (last - 1) // n_columns + 1):
        start = line * n_columns
        a, b = max(first - start, 0), min(last - start, n_columns)
        before_last = min(b, n_columns - 1)  # of which a column is to the right
        after_first = max(a, 1)
        n_lines = _lines_beside(shape, full, line, starts)
        for j in range(paths.shape[0]):
            path = paths[j]
            own = path[start : start + n_columns]
            n = 0
            if a < before_last:
                n += _count_equal(own[a:before_last], own[a + 1 : before_last + 1])
            for k in range(n_lines):
                if starts[k] < start:  # whose pairs were counted there
                    continue
                other = path[starts[k] : starts[k] + n_columns]
                n += _count_equal(own[a:b], other[a:b])
                if full and a < before_last:
                    n += _count_equal(own[a:before_last], other[a + 1 : before_last + 1])
                if full and after_first < b:
                    n += _count_equal(own[after_first:b], other[after_first - 1 : b - 1])
            pairs[j] += n


@kernel
def add_log_weights(first, last, rows, logs, paths, sums):
    """Add the sum of log b over the sites first to last to `sums` (m,).

    Row 0 of `logs` is the site `first`, unless `rows` tells the row of each site.
    """
    for j in range(paths.shape[0]):
        x = 0.0
        for i in range(first, last):
            row = np.int64(rows[i]) if rows.size else i - first
            x += logs[row, paths[j, i]]
        sums[j] += x


@kernel
def count_labels(first, last, paths, totals):
    """Add how often each site has each label in all paths to `totals` (N, S)."""
    for j in range(paths.shape[0]):
        for i in range(first, last):
            totals[i, paths[j, i]] += 1
