"""Callbacks that collect sums over the late sweeps of a run."""

from __future__ import annotations

from collections.abc import Callable

from plait.models.model import Paths
from plait.sampler import Callback, Progress


def collect_after(sweep: int, add: Callable[[Paths], object]) -> Callback:
    """Return a callback that calls `add` with the paths of every sweep after the given one."""

    def collect(progress: Progress) -> None:
        if progress.state.sweep > sweep:
            add(progress.state.paths)

    return collect


def call_all(*callbacks: Callback | None) -> Callback:
    """Return a callback that calls all of the given ones; a true result of any ends the run."""
    given = [callback for callback in callbacks if callback is not None]

    def call(progress: Progress) -> bool:
        results = [callback(progress) for callback in given]
        return any(results)

    return call
