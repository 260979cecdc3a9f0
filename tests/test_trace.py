"""The records of a run."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest

from plait.trace import Trace


def grown(n: int) -> list[Trace]:
    """Return the traces with 0 to n records."""
    traces = [Trace.empty(2)]
    for k in range(n):
        traces.append(
            traces[-1].appended(k, 0.5 * k, np.array([-k, k], float), {"alpha": np.full(3, float(k))})
        )
    return traces


def test_records_are_kept_in_order():
    trace = grown(100)[-1]
    np.testing.assert_array_equal(trace.sweep, np.arange(100))
    np.testing.assert_array_equal(trace.seconds, 0.5 * np.arange(100))
    np.testing.assert_array_equal(trace.log_joint, np.stack([-np.arange(100), np.arange(100)], axis=1))
    np.testing.assert_array_equal(trace.priors["alpha"], np.repeat(np.arange(100.0)[:, None], 3, axis=1))


def test_earlier_traces_do_not_change():
    for k, trace in enumerate(grown(40)):
        assert len(trace) == k
        np.testing.assert_array_equal(trace.sweep, np.arange(k))


def test_a_record_is_seldom_a_reason_to_copy():
    traces = grown(1000)
    copies = sum(not np.shares_memory(one.log_joint, other.log_joint) for one, other in pairwise(traces[1:]))
    assert copies < 10


def test_two_traces_may_go_on_from_one():
    start = grown(20)[-1]
    one, other = (start.appended(20, 1.0, np.full(2, value), {"alpha": np.zeros(3)}) for value in (1.0, 2.0))
    again = one.appended(21, 1.0, np.full(2, 3.0), {"alpha": np.zeros(3)})
    np.testing.assert_array_equal(one.log_joint[-1], [1.0, 1.0])
    np.testing.assert_array_equal(other.log_joint[-1], [2.0, 2.0])
    np.testing.assert_array_equal(again.log_joint[-2:], [[1.0, 1.0], [3.0, 3.0]])


def test_where_there_are_fewer_paths_the_rest_is_nan():
    trace = Trace.empty(3).appended(1, 0.0, np.zeros(1))
    np.testing.assert_array_equal(trace.log_joint, [[0.0, np.nan, np.nan]])


def test_records_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        grown(2)[-1].sweep[0] = 7


def test_a_pickled_trace_can_go_on():
    trace = pickle.loads(pickle.dumps(grown(5)[-1]))
    assert len(trace.appended(5, 0.0, np.zeros(2), {"alpha": np.zeros(3)})) == 6
