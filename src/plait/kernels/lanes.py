"""Counting into lanes: several copies of a small table of counts, added up at the end.

If consecutive sites are counted in the same cell, each increment waits until the one before has been written.
With a lane for each of four consecutive sites, they overlap. Counts are whole numbers, so their order does
not matter. A large table has one lane: its cells are seldom the same, and copies would not stay in the cache.
"""

from __future__ import annotations

import numpy as np

from plait.jit import allocating_kernel, kernel

_LANES = 4  # a power of 2
_MOST_CELLS = 1024  # of a table with lanes


@allocating_kernel
def new_lanes(n_cells):
    """Return empty lanes (L, n_cells), and the mask that turns the number of a site into its lane."""
    n_lanes = _LANES if n_cells <= _MOST_CELLS else 1
    return np.zeros((n_lanes, n_cells), np.int64), np.uint64(n_lanes - 1)


@kernel
def add_lanes(lanes, counts):
    """Add all lanes to a table of as many cells, whose dtype may be that of floats."""
    n_columns = counts.shape[1]
    for lane in range(lanes.shape[0]):
        for row in range(counts.shape[0]):
            for column in range(n_columns):
                counts[row, column] += lanes[lane, row * n_columns + column]
