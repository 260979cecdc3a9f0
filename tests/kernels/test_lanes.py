"""Counts in lanes, with tables that are small enough for several of them and with larger ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from plait.kernels.chains import count_pairs
from plait.kernels.emissions import count_symbols
from plait.kernels.lanes import _MOST_CELLS, new_lanes

LENGTHS = (1, 7, 2, 40, 1, 1, 30)
STATES = (2, 3, 30, 40)


def test_both_kinds_of_tables_are_covered():
    assert {len(new_lanes(n * n)[0]) for n in STATES} == {1, 4}
    assert min(STATES) ** 2 <= _MOST_CELLS < max(STATES) ** 2


@pytest.mark.parametrize("n_states", STATES)
@pytest.mark.parametrize("n_paths", [1, 3])
def test_pairs_of_any_range_are_counted(n_states, n_paths):
    offsets = np.append(0, np.cumsum(LENGTHS))
    paths = np.random.default_rng(n_states).integers(0, n_states, (n_paths, offsets[-1])).astype(np.uint16)
    starts, pairs = np.zeros(n_states), np.zeros((n_states, n_states))
    for first, last in ((0, 5), (5, 8), (8, 9), (9, 60), (60, offsets[-1])):
        k = int(np.searchsorted(offsets, first, side="right")) - 1
        count_pairs(first, last, k, offsets, paths, starts, pairs)
    expected = np.zeros_like(pairs)
    for path in paths:
        for begin, end in pairwise(offsets):
            np.add.at(expected, (path[begin : end - 1], path[begin + 1 : end]), 1)
    np.testing.assert_array_equal(pairs, expected)
    np.testing.assert_array_equal(starts, np.bincount(paths[:, offsets[:-1]].ravel(), minlength=n_states))


@pytest.mark.parametrize("n_states", STATES)
def test_symbols_of_any_range_are_counted(n_states):
    rng = np.random.default_rng(n_states)
    rows = rng.integers(0, 30, 80).astype(np.int32)
    paths = rng.integers(0, n_states, (2, 80)).astype(np.uint16)
    counts = np.zeros((30, n_states))
    for first, last in ((0, 33), (33, 34), (34, 80)):
        count_symbols(first, last, rows, paths, counts)
    expected = np.zeros_like(counts)
    for path in paths:
        np.add.at(expected, (rows, path), 1)
    np.testing.assert_array_equal(counts, expected)
