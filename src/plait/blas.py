"""Linear algebra on one BLAS thread."""

from __future__ import annotations

import functools
from contextlib import ContextDecorator
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class OneBlasThread(ContextDecorator):
    """Limits BLAS to one thread, in a `with` block or as a decorator.

    NumPy and SciPy each ship a BLAS with its own thread pool, and the two wait for each other: on busy cores
    that takes a hundred times as long as the work itself. Besides, the last bits of a result depend on the
    number of BLAS threads. The limit applies to the whole process: the first to enter sets it, the last to
    leave lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limit: Any = None

    @functools.cached_property
    def _pools(self) -> ThreadpoolController:
        return ThreadpoolController()  # inspects all loaded libraries, so it is made once

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limit = self._pools.limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.restore_original_limits()


one_blas_thread = OneBlasThread()
"""The limit that all of plait shares."""
