"""Kernels of hidden Potts fields: labels on a grid, where neighbours tend to agree.

The grid has the shape (planes, rows, columns); a picture is one plane. Sites are numbered in C order, so that
a line, one row of one plane, is a run of consecutive sites. The neighbours of a site are those that share a
side with it (4, in a volume 6) or, on a `full` grid, all that touch it, corners included (8, in a volume 26).

Given phi and the other labels, the label of site i is s with a probability proportional to

    b_i(s) exp(coupling k_s),    k_s = the number of neighbours with label s.

Sites of one colour are never neighbours, so they can be drawn at the same time. Where only sides count, the
colours form a checkerboard of two; where corners count, a colour is the parity of each coordinate.

Kernels work on the sites first to last, which may start and end within a line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, local_array
from plait.rng import open_stream, uniform_of

FEW_LABELS = 8
"""Maximum number of labels for which neighbours are counted in the bytes of one integer."""

MOST_LINES = 8
"""Maximum number of lines next to a line."""

MOST_NEIGHBOURS = 26
"""Maximum number of neighbours of a site."""


class Grid(NamedTuple):
    """The grid and its neighbourhood."""

    shape: tuple[int, int, int]
    """Planes, rows and columns."""

    full: bool
    """Whether sites that touch at a corner are neighbours."""


class Weights(NamedTuple):
    """The factors of the conditional distribution of a label."""

    size: tuple[int, ...]
    """A tuple of S entries, whose values do not matter, up to `FEW_LABELS`: the compiler knows its length and
    unrolls the loops over labels. Empty for more labels."""

    rows: NDArray[np.int32]
    """(N,): the row of `densities` of each site; empty if there is one row per site."""

    densities: NDArray[np.float32]
    """b(s), (R, S): one row per site or per symbol, divided by its largest entry."""

    table: NDArray[np.float64]
    """`table[k]` is exp(coupling (k - K)), where K is the largest number of neighbours on this grid."""


class FewScratch(NamedTuple):
    """Scratch buffers of `resample_few`, for n paths and L columns; integers have the type `bytes_for`."""

    streams: NDArray[np.uint64]
    """(n, 2): a random stream for each path."""

    sums: NDArray[Any]
    """(2, L + 2): labels of a line and of the lines beside it, counted in bytes."""

    around: NDArray[Any]
    """(n, L): labels of the neighbours of each site, counted in bytes."""


class ManyScratch(NamedTuple):
    """Scratch buffers of `resample_many`, for n paths."""

    streams: NDArray[np.uint64]
    """(n, 2): a random stream for each path."""

    steps: NDArray[np.float64]
    """(S,): running sums of b(s)."""

    tally: NDArray[np.int64]
    """(S,): neighbours with each label; zero on entry and on return."""


_BYTE = np.uint64(255)


def bytes_for(n_labels: int) -> type[np.unsignedinteger[Any]]:
    """Return an integer type with one byte for each label; narrower types vectorise better."""
    return np.uint32 if n_labels <= 4 else np.uint64


# ---------------------------------------------------------------------------------------------------------
# The grid
# ---------------------------------------------------------------------------------------------------------


@kernel
def _lines_beside(grid, line, starts):
    """Set `starts` to the first sites of the lines beside a line; return their number."""
    n_planes, n_rows, n_columns = grid.shape
    plane, row = line // n_rows, line % n_rows
    n = 0
    for z in range(max(plane - 1, 0), min(plane + 2, n_planes)):
        for y in range(max(row - 1, 0), min(row + 2, n_rows)):
            away = (z != plane) + (y != row)
            if away == 1 or (grid.full and away == 2):
                starts[n] = (z * n_rows + y) * n_columns
                n += 1
    return n


@kernel
def _parity_of(grid, line, colour):
    """Return the parity of the columns that have the colour in a line, or -1 if none has."""
    plane, row = line // grid.shape[1], line % grid.shape[1]
    if not grid.full:
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

    Returns the first row that is impossible with every label, or -1; such rows are left alone.
    """
    impossible = -1
    for i in range(logs.shape[0]):
        top = -np.inf
        for s in range(logs.shape[1]):
            top = max(top, logs[i, s])
        if top == -np.inf:
            impossible = i if impossible < 0 else impossible
            continue
        for s in range(logs.shape[1]):
            logs[i, s] -= top
    return impossible


# ---------------------------------------------------------------------------------------------------------
# Few labels: neighbours are counted in the bytes of an integer, byte s for label s
# ---------------------------------------------------------------------------------------------------------
# The loops below run over contiguous slices, so that the compiler can vectorise them.


@kernel
def _add_labels(labels, sums):
    """Add one to each of the sums, in the byte of its label."""
    one = sums.dtype.type(1)
    eight = sums.dtype.type(8)
    for k in range(sums.size):
        sums[k] += one << (sums.dtype.type(labels[k]) * eight)


@kernel
def _join_sides(beside, own, around):
    """Count the neighbours of each site from its line and the lines beside it, both one site wider."""
    for k in range(around.size):
        around[k] = beside[k + 1] + own[k] + own[k + 2]


@kernel
def _join_all(beside, own, around):
    """Count the neighbours of each site as `_join_sides` does, corners included."""
    for k in range(around.size):
        around[k] = beside[k] + beside[k + 1] + beside[k + 2] + own[k] + own[k + 2]


@kernel
def _count_around(grid, start, a, b, starts, n_lines, path, sums, around):
    """Set `around` to the counts of the neighbours' labels, for the columns a to b of the line at `start`.

    Sites of the other colours are counted too. Their neighbours may be changing in another thread, but their
    counts are never used.
    """
    left, right = max(a - 1, 0), min(b + 1, grid.shape[2])
    beside = sums[0, : b - a + 2]
    own = sums[1, : b - a + 2]
    beside[:] = 0
    own[:] = 0
    inside = slice(left - a + 1, right - a + 1)
    _add_labels(path[start + left : start + right], own[inside])
    for n in range(n_lines):
        _add_labels(path[starts[n] + left : starts[n] + right], beside[inside])
    if grid.full:
        _join_all(beside, own, around[: b - a])
    else:
        _join_sides(beside, own, around[: b - a])


@kernel
def _draw_label(size, weights, row, table, around, u):
    """Return a label drawn with the weights b(s) exp(coupling k_s); for `size` see `Weights`."""
    total = 0.0
    for s in range(len(size)):
        total += weights[row, s] * table[(around >> np.uint64(8 * s)) & _BYTE]
    # u is at most 1 - 2^-53, so x is below the total however it is rounded, and the label has weight.
    x = u * total
    chosen = 0
    total = 0.0
    for s in range(len(size) - 1):
        total += weights[row, s] * table[(around >> np.uint64(8 * s)) & _BYTE]
        chosen += total <= x
    return chosen


@kernel
def resample_few(first, last, colour, unit, grid, weights, paths, first_path, scratch, key):
    """Lines 5 to 9 of Algorithm 1 for the sites of one colour.

    `paths` (n, N) are consecutive paths, numbered from `first_path`. `unit` stands for the range and colour
    in the keys of the streams.
    """
    n_columns = grid.shape[2]
    size, rows, densities, table = weights
    streams, sums, around = scratch
    starts = local_array(MOST_LINES, np.int64)
    for j in range(paths.shape[0]):
        open_stream(streams[j], key.seed, key.sweep, first_path + j, unit)
    for line in range(first // n_columns, (last - 1) // n_columns + 1):
        parity = _parity_of(grid, line, colour)
        if parity < 0:
            continue
        start = line * n_columns
        a, b = max(first - start, 0), min(last - start, n_columns)
        n_lines = _lines_beside(grid, line, starts)
        for j in range(paths.shape[0]):
            _count_around(grid, start, a, b, starts, n_lines, paths[j], sums, around[j])
        for c in range(a + ((a + parity) & 1), b, 2):
            i = start + c
            row = np.int64(rows[i]) if rows.size else i
            for j in range(paths.shape[0]):
                counts = np.uint64(around[j, c - a])
                u = uniform_of(streams, j)
                paths[j, i] = _draw_label(size, densities, row, table, counts, u)


# ---------------------------------------------------------------------------------------------------------
# Many labels: most of them occur at no neighbour of a site
# ---------------------------------------------------------------------------------------------------------


@kernel
def _list_neighbours(grid, start, column, starts, n_lines, path, near):
    """Set `near` to the labels of the neighbours of a site; return their number."""
    n = 0
    is_first, is_last = column == 0, column == grid.shape[2] - 1
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
        if grid.full and not is_first:
            near[n] = path[i - 1]
            n += 1
        if grid.full and not is_last:
            near[n] = path[i + 1]
            n += 1
    return n


@kernel
def _find(steps, x):
    """Return the first label whose running sum exceeds x, or the last label of positive weight."""
    low, high = 0, steps.size
    while low < high:
        middle = (low + high) // 2
        if steps[middle] > x:
            high = middle
        else:
            low = middle + 1
    if low == steps.size:  # rounding made x equal to the last sum
        low -= 1
        while low > 0 and steps[low] == steps[low - 1]:
            low -= 1
    return low


@kernel
def _draw_of_many(weights, row, steps, table, near, n_near, gains, tally, u):
    """Return a label drawn with the weights b(s) exp(coupling k_s), in a time that hardly depends on S.

    The weight of a label is b(s) table[0], plus a gain b(s) (table[k + 1] - table[k]) for its k-th neighbour.
    So the gains of the neighbours are tried first, then all labels by bisection of `steps`, the running sums
    of b. `gains` is a scratch buffer; `tally` (S,) is zero on entry and on return.
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
def resample_many(first, last, colour, unit, grid, weights, paths, first_path, scratch, key):
    """Draw labels as `resample_few` does, for any number of labels."""
    n_columns = grid.shape[2]
    _, rows, densities, table = weights
    streams, steps, tally = scratch
    starts = local_array(MOST_LINES, np.int64)
    near = local_array(MOST_NEIGHBOURS, np.int64)
    gains = local_array(MOST_NEIGHBOURS, np.float64)
    for j in range(paths.shape[0]):
        open_stream(streams[j], key.seed, key.sweep, first_path + j, unit)
    for line in range(first // n_columns, (last - 1) // n_columns + 1):
        parity = _parity_of(grid, line, colour)
        if parity < 0:
            continue
        start = line * n_columns
        a, b = max(first - start, 0), min(last - start, n_columns)
        n_lines = _lines_beside(grid, line, starts)
        for c in range(a + ((a + parity) & 1), b, 2):
            i = start + c
            row = np.int64(rows[i]) if rows.size else i
            total = 0.0
            for s in range(steps.size):
                total += densities[row, s]
                steps[s] = total
            for j in range(paths.shape[0]):
                n_near = _list_neighbours(grid, start, c, starts, n_lines, paths[j], near)
                u = uniform_of(streams, j)
                paths[j, i] = _draw_of_many(densities, row, steps, table, near, n_near, gains, tally, u)


# ---------------------------------------------------------------------------------------------------------
# Likelihoods and frequencies
# ---------------------------------------------------------------------------------------------------------


@kernel
def _count_equal(labels, others):
    """Return the number of labels that are equal to the others."""
    n = 0
    for k in range(labels.size):
        n += labels[k] == others[k]
    return n


@kernel
def count_agreeing(first, last, grid, paths, pairs):
    """Add the pairs of neighbours that agree, and whose first site is in the range, to `pairs` (m,)."""
    n_columns = grid.shape[2]
    starts = local_array(MOST_LINES, np.int64)
    for line in range(first // n_columns, (last - 1) // n_columns + 1):
        start = line * n_columns
        a, b = max(first - start, 0), min(last - start, n_columns)
        before_last = min(b, n_columns - 1)  # columns up to this one have a neighbour to the right
        after_first = max(a, 1)
        n_lines = _lines_beside(grid, line, starts)
        for j in range(paths.shape[0]):
            path = paths[j]
            own = path[start : start + n_columns]
            n = 0
            if a < before_last:
                n += _count_equal(own[a:before_last], own[a + 1 : before_last + 1])
            for k in range(n_lines):
                if starts[k] < start:  # its pairs are counted with that line
                    continue
                other = path[starts[k] : starts[k] + n_columns]
                n += _count_equal(own[a:b], other[a:b])
                if grid.full and a < before_last:
                    n += _count_equal(own[a:before_last], other[a + 1 : before_last + 1])
                if grid.full and after_first < b:
                    n += _count_equal(own[after_first:b], other[after_first - 1 : b - 1])
            pairs[j] += n


@kernel
def add_log_weights(first, last, rows, logs, paths, sums):
    """Add the sum of log b over the sites first to last to `sums` (m,).

    Row 0 of `logs` is the site `first`, unless `rows` gives the row of each site.
    """
    for j in range(paths.shape[0]):
        x = 0.0
        for i in range(first, last):
            row = np.int64(rows[i]) if rows.size else i - first
            x += logs[row, paths[j, i]]
        sums[j] += x


@kernel
def count_labels(first, last, paths, totals):
    """Add the number of paths in which each site has each label to `totals` (N, S)."""
    for j in range(paths.shape[0]):
        for i in range(first, last):
            totals[i, paths[j, i]] += 1
