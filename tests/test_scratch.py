"""Scratch arrays share no cache line with other arrays."""

from __future__ import annotations

import numpy as np
import pytest

from plait.rng import new_stream
from plait.scratch import scratch, set_apart

LINE = 64


def lines(array):
    first = array.__array_interface__["data"][0]
    return set(range(first // LINE, (first + array.nbytes - 1) // LINE + 1))


@pytest.mark.parametrize("make", [lambda: scratch(2), lambda: set_apart(np.ones((1, 3))), new_stream])
def test_no_two_arrays_share_a_cache_line(make):
    arrays, others = zip(*((make(), np.ones(2)) for _ in range(200)), strict=True)
    seen: set[int] = set().union(*map(lines, others))
    for array in arrays:
        assert not lines(array) & seen
        seen |= lines(array)


def test_scratch_arrays_are_contiguous_writable_and_zero():
    for shape, dtype in ((5, np.uint64), ((2, 3), np.float64), ((0, 4), np.int32), ((3, 0), np.uint16)):
        array = scratch(shape, dtype)
        assert array.shape == np.empty(shape).shape
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable
        assert not array.any()
    original = np.arange(6, dtype=np.int32).reshape(2, 3)
    copy = set_apart(original)
    np.testing.assert_array_equal(copy, original)
    assert copy.dtype == original.dtype
    copy[0, 0] = 9
    assert original[0, 0] == 0
