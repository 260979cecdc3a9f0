"""Progress on the terminal: how far a run is, how long it will take, how good it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from plait.sampler import Callback, Progress

PLAIN_SECONDS = 10.0
"""Seconds between two lines where there is no terminal to redraw, such as a log file."""


@contextmanager
def show_progress(shown: bool = True) -> Iterator[Callback | None]:
    """Give a callback for `plait.sample` that shows progress on standard error, or None if not `shown`."""
    if not shown:
        yield None
    elif sys.stderr.isatty():
        with _live_progress() as callback:
            yield callback
    else:
        yield _PlainProgress()


def describe_likelihood(progress: Progress) -> str:
    """Return the mean log joint likelihood a site, or nothing before the first record."""
    if not len(progress.trace):
        return ""
    log_joint = progress.trace.log_joint[-1].mean() / max(1, progress.state.paths.shape[1])
    return f"log-likelihood {log_joint:.4f} per token"


def describe_seconds(seconds: float) -> str:
    """Return a duration as people say it: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class _TimeLeft:
    """Estimate of the time left, from the sweeps made in this process."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def __call__(self, progress: Progress) -> float | None:
        now = (progress.state.sweep, progress.seconds)
        # The first sweep compiles or loads the kernels: it says nothing of the rest.
        if self._first is None or now[0] <= self._first[0]:
            self._first = now
            return None
        sweeps, seconds = now[0] - self._first[0], now[1] - self._first[1]
        return seconds / sweeps * (progress.n_sweeps - progress.state.sweep)


class _PlainProgress:
    """A line every few seconds."""

    def __init__(self) -> None:
        self._time_left = _TimeLeft()
        self._next = time.monotonic() + PLAIN_SECONDS

    def __call__(self, progress: Progress) -> None:
        left = self._time_left(progress)
        if time.monotonic() < self._next and progress.state.sweep < progress.n_sweeps:
            return
        self._next = time.monotonic() + PLAIN_SECONDS
        parts = [f"sweep {progress.state.sweep} of {progress.n_sweeps}"]
        if left is not None:
            parts.append(f"{describe_seconds(left)} left")
        parts.append(describe_likelihood(progress))
        print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)


@contextmanager
def _live_progress() -> Iterator[Callback]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("sweep {task.completed:.0f} of {task.total:.0f}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[likelihood]}"),
    )
    time_left = _TimeLeft()
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=1, left="", likelihood="", visible=False)

        def update(progress: Progress) -> None:
            left = time_left(progress)
            bar.update(
                task,
                visible=True,
                total=progress.n_sweeps,
                completed=progress.state.sweep,
                left="" if left is None else f"{describe_seconds(left)} left",
                likelihood=describe_likelihood(progress),
            )

        yield update
