"""Ranges of work, and the threads that process them."""

from __future__ import annotations

import threading
import time

import joblib
import numpy as np
import pytest

from plait.errors import PlaitError
from plait.threads import MAX_RANGES, Threads, count_threads, even_ranges, weighted_ranges


def covered(ranges):
    """Return the units in the order in which the ranges visit them."""
    return [unit for first, last in ranges for unit in range(first, last)]


class TestRanges:
    @pytest.mark.parametrize("n", [1, 2, 7, 64, 1000])
    @pytest.mark.parametrize("n_ranges", [-1, 0, 1, 2, 3, 7, 64, 1000])
    def test_even_ranges_cover_everything_once_and_are_balanced(self, n, n_ranges):
        ranges = even_ranges(n, n_ranges)
        assert covered(ranges) == list(range(n))
        assert len(ranges) == min(n, max(1, n_ranges), MAX_RANGES)
        lengths = [last - first for first, last in ranges]
        assert max(lengths) - min(lengths) <= 1

    @pytest.mark.parametrize("seed", range(20))
    def test_weighted_ranges_cover_everything_once_and_are_balanced(self, seed):
        rng = np.random.default_rng(seed)
        work = rng.integers(0, 50, rng.integers(1, 300)) * rng.integers(0, 2)  # half of them all empty
        work[rng.random(work.size) < 0.3] = 0
        n_ranges = int(rng.integers(1, 100))
        offsets = np.append(0, np.cumsum(work))
        ranges = weighted_ranges(offsets, n_ranges)
        assert covered(ranges) == list(range(work.size))
        assert len(ranges) <= min(n_ranges, MAX_RANGES)
        share = work.sum() / min(n_ranges, MAX_RANGES)
        for first, last in ranges:
            assert first < last
            assert work[first:last].sum() <= share + work.max()

    def test_a_unit_that_outweighs_all_others_is_covered_once(self):
        assert covered(weighted_ranges(np.array([0, 1, 1001, 1002, 1003]), 4)) == [0, 1, 2, 3]

    def test_no_units_make_no_ranges(self):
        assert even_ranges(0, 4) == []


class TestCountThreads:
    def test_none_and_minus_one_are_all_cores(self):
        assert count_threads(None) == count_threads(-1) == joblib.cpu_count()

    def test_negative_numbers_count_from_the_last_core(self, monkeypatch):
        monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
        assert [count_threads(n) for n in (None, -1, -2, -8, -9, -100)] == [8, 8, 7, 1, 1, 1]

    @pytest.mark.parametrize("n_jobs", [1, 3, np.int64(3)])
    def test_a_positive_number_is_taken_as_it_is(self, n_jobs):
        threads = count_threads(n_jobs)
        assert threads == n_jobs
        assert type(threads) is int

    @pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
    def test_other_values_are_rejected(self, n_jobs):
        message = f"^n_jobs must be a number of threads, or -1 for all cores, got {n_jobs!r}$"
        with pytest.raises(PlaitError, match=message):
            Threads(n_jobs)


class TestMap:
    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_results_are_in_the_order_of_the_ranges(self, n_jobs):
        ranges = even_ranges(100, 30)
        with Threads(n_jobs) as threads:
            assert threads.map(lambda first, last: (first, last), ranges) == ranges
            assert threads.map(lambda first, last: (first, last), []) == []

    def test_ranges_run_at_the_same_time(self):
        meeting = threading.Barrier(3)
        with Threads(3) as threads:
            arrivals = threads.map(lambda first, last: meeting.wait(timeout=10), even_ranges(3, 3))
        assert sorted(arrivals) == [0, 1, 2]

    def test_one_thread_is_the_calling_thread(self):
        with Threads(1) as threads:
            assert set(threads.map(lambda *_: threading.current_thread(), even_ranges(4, 4))) == {
                threading.current_thread()
            }

    def test_calling_thread_works_too(self):
        meeting = threading.Barrier(2)

        def meet(first, last):
            meeting.wait(timeout=10)
            return threading.current_thread()

        with Threads(2) as threads:
            assert threading.current_thread() in threads.map(meet, even_ranges(2, 2))

    @pytest.mark.parametrize("error", [ZeroDivisionError, IndexError, KeyboardInterrupt])
    def test_an_error_stops_all_threads(self, error):
        seen = []

        def fail(first, last):
            seen.append(first)
            raise error

        with Threads(3) as threads, pytest.raises(error):
            threads.map(fail, even_ranges(64, 64))
        assert len(seen) <= 3

    def test_no_thread_is_at_work_after_an_error(self):
        """Three threads are at work when the last range fails; all of them end before `map` does."""
        meeting, ended = threading.Barrier(3), []

        def work(first, last):
            meeting.wait(timeout=10)
            if first == 2:
                raise ZeroDivisionError
            time.sleep(0.2)
            ended.append(first)

        with Threads(3) as threads:
            with pytest.raises(ZeroDivisionError):
                threads.map(work, even_ranges(3, 3))
            assert sorted(ended) == [0, 1]

    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_an_error_in_a_worker_reaches_the_caller_and_the_pool_stays_usable(self, n_jobs):
        def fail(first, last):
            if first == 2:
                raise ZeroDivisionError("range 2")
            return first

        with Threads(n_jobs) as threads:
            with pytest.raises(ZeroDivisionError, match="range 2"):
                threads.map(fail, even_ranges(5, 5))
            assert threads.map(lambda first, last: first, even_ranges(3, 3)) == [0, 1, 2]

    def test_threads_end_with_the_block(self):
        before = threading.active_count()
        with Threads(4) as threads:
            threads.map(lambda first, last: first, even_ranges(8, 8))
            assert threading.active_count() > before
        assert threading.active_count() == before


def test_buffer_is_kept_until_its_form_changes():
    with Threads(1) as threads:
        first = threads.buffer("counts", (2, 3), np.int32)
        assert threads.buffer("counts", (2, 3), np.int32) is first
        assert threads.buffer("others", (2, 3), np.int32) is not first
        assert threads.buffer("counts", (3, 3), np.int32).shape == (3, 3)
        assert threads.buffer("counts", (3, 3), np.int64).dtype == np.int64
