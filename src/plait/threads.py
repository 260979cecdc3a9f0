"""Threads that share the work of a sweep, one range of the data at a time.

The ranges depend on the data alone, never on the number of threads, and results are collected in the order of
the ranges. So sums over ranges have the same bits on any number of threads.

Public methods take `n_jobs` and pass it to `use_threads`; `Threads` itself is an implementation detail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import DTypeLike, NDArray

from plait.checks import short_repr
from plait.errors import Argument, PlaitError

T = TypeVar("T")
Range = tuple[int, int]

MAX_RANGES = 64  # enough for 64 threads; more ranges would only cost more calls
_LARGE_RANGE = (
    2**20
)  # of data so large that ranges have more work than this, more than 64 processes may work on it


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`: None and -1 mean all cores, -2 all but one, and so on."""
    available = joblib.cpu_count()  # respects CPU affinity and the limits of containers
    if n_jobs is None:
        return available
    if not isinstance(n_jobs, (int, np.integer)) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise PlaitError(
            Argument("n_jobs"), f" must be a number of threads, or -1 for all cores, got {short_repr(n_jobs)}"
        )
    return int(n_jobs) if n_jobs > 0 else max(1, available + 1 + int(n_jobs))


class Threads:
    """A pool of threads for one run, the calling thread included; used in a `with` block.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads; None or -1 for all cores.
    """

    def __init__(self, n_jobs: int | None = 1) -> None:
        self.n = count_threads(n_jobs)
        self._buffers: dict[str, NDArray[Any]] = {}
        self._pool = ThreadPoolExecutor(self.n - 1, "plait") if self.n > 1 else None

    def map(self, function: Callable[[int, int], T], ranges: Sequence[Range]) -> list[T]:
        """Call `function(first, last)` for every range; return the results in the order of the ranges."""
        if self._pool is None or len(ranges) <= 1:
            return [function(first, last) for first, last in ranges]
        results: dict[int, T] = {}
        left = deque(enumerate(ranges))
        lock = Lock()

        def take() -> tuple[int, Range] | None:
            with lock:
                return left.popleft() if left else None

        def work() -> None:
            try:
                while taken := take():
                    place, (first, last) = taken
                    results[place] = function(first, last)
            except BaseException:
                with lock:
                    left.clear()  # after an error or Ctrl-C, threads only finish their current range
                raise

        # The calling thread works too: it starts at once, and the others join as they wake up.
        helpers = [self._pool.submit(work) for _ in range(min(self.n, len(ranges)) - 1)]
        try:
            work()
        finally:
            started = [helper for helper in helpers if not helper.cancel()]
            wait(started)  # also after an error, so that no thread is still working when `map` returns
        for helper in started:
            helper.result()
        return [results[place] for place in range(len(ranges))]

    def buffer(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of any content that is kept for the next call with the same name, shape and dtype.

        A large array that is allocated in every sweep costs as much as filling it, because the system hands
        out fresh memory page by page.
        """
        kept = self._buffers.get(name)
        if kept is None or kept.shape != shape or kept.dtype != dtype:
            kept = self._buffers[name] = np.empty(shape, dtype)
        return kept

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()


@contextmanager
def use_threads(n_jobs: int | Threads | None) -> Iterator[Threads]:
    """Yield a pool of `n_jobs` threads for a `with` block; an existing pool is passed through.

    Internal code that calls many public methods passes its pool as `n_jobs`, so that all of them share it.
    """
    if isinstance(n_jobs, Threads):
        yield n_jobs
    else:
        with Threads(n_jobs) as threads:
            yield threads


def even_ranges(n: int, n_ranges: int) -> list[Range]:
    """Cut 0..n into at most `n_ranges` ranges of nearly equal length; see `weighted_ranges`."""
    return weighted_ranges(np.arange(n + 1, dtype=np.int64), n_ranges)


def weighted_ranges(offsets: NDArray[np.int64], n_ranges: int) -> list[Range]:
    """Cut units into at most `n_ranges` ranges of nearly equal work; `offsets` are cumulative sums of it.

    There are at most 64 ranges, or more if each has a million tokens, sites or whatever the work is.
    """
    most = max(MAX_RANGES, int(offsets[-1] - offsets[0]) // _LARGE_RANGE)
    n_ranges = max(1, min(n_ranges, most))
    targets = np.linspace(offsets[0], offsets[-1], n_ranges + 1)
    bounds = np.searchsorted(offsets, targets)
    bounds[0], bounds[-1] = 0, offsets.size - 1
    return [(int(a), int(b)) for a, b in pairwise(bounds) if a < b]
