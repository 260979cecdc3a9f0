"""The single-site sampler for two states: eight sites at once against its definition, site by site."""

from __future__ import annotations

import numpy as np
import pytest

from plait.kernels.chains import fill_thresholds, limits_of, resample_two
from plait.kernels.chains.arguments import Neighbours
from plait.rng import Key, hash_position, new_stream, open_stream, to_unit

OFFSETS = np.cumsum([0, 1, 2, 17, 18, 19, 600, 1537, 512, 1024])


def problem(dtype=np.uint16):
    rng = np.random.default_rng(0)
    before, after = rng.dirichlet([1.0, 1.0], 3), rng.random((3, 2))
    weights = rng.random((5, 2))
    weights[2, 0] = weights[3, 1] = 0.0
    thresholds = np.empty((5, 3, 3, 2))
    fill_thresholds(Neighbours(before, after), weights, thresholds)
    rows = rng.integers(0, 5, OFFSETS[-1]).astype(np.int32)
    return rows, thresholds, rng.integers(0, 2, (3, OFFSETS[-1])).astype(dtype)


def plain(rows, thresholds, paths, key):
    """Draw the first colour of each sequence and then the second, as the docstring of `sites` says."""
    stream = new_stream()
    for k in range(len(OFFSETS) - 1):
        start, stop = OFFSETS[k], OFFSETS[k + 1]
        for j, path in enumerate(paths):
            open_stream(stream, *key, j, k)
            for i in [*range(start, stop, 2), *range(start + 1, stop, 2)]:
                before = path[i - 1] if i > start else 2
                after = path[i + 1] if i + 1 < stop else 2
                u = to_unit(np.uint64(hash_position(stream[0], stream[1], np.uint64(i - start))))
                path[i] = thresholds[rows[i], before, after, 0] <= u


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_paths_are_those_of_drawing_site_by_site(dtype):
    rows, thresholds, paths = problem(dtype)
    expected = paths.copy()
    streams = np.zeros((3, 2), np.uint64)
    for sweep in range(3):
        key = Key(7, sweep)
        resample_two(0, len(OFFSETS) - 1, (0, 3), OFFSETS, rows, limits_of(thresholds), paths, streams, key)
        plain(rows, thresholds, expected, key)
        np.testing.assert_array_equal(paths, expected)
    assert not paths[:, rows == 3].any(), "a state of probability 0 was drawn"
    assert paths[:, rows == 2].all(), "a state of probability 0 was drawn"


def test_ranges_of_sequences_and_paths_draw_what_all_together_draw():
    rows, thresholds, paths = problem()
    limits, streams, key = limits_of(thresholds), np.zeros((3, 2), np.uint64), Key(7, 1)
    parts = paths.copy()
    resample_two(0, len(OFFSETS) - 1, (0, 3), OFFSETS, rows, limits, paths, streams, key)
    for bounds in ((0, 4), (4, 6), (6, len(OFFSETS) - 1)):
        for group in ((0, 1), (1, 3)):
            resample_two(*bounds, group, OFFSETS, rows, limits, parts, streams, key)
    np.testing.assert_array_equal(parts, paths)


def test_limits_keep_certain_and_impossible_states():
    thresholds = np.array([2.0, 0.0, 0.5]).reshape(1, 1, 3, 1)
    np.testing.assert_array_equal(limits_of(thresholds).ravel(), np.array([2**63, 0, 2**62], np.uint64))
