"""Progress: sweeps done, time left, and the likelihood.

On a terminal, it is a line that changes. Elsewhere a line is added every few seconds: to the logger "plait",
level INFO, if the program has set up logging, else to standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO, cast

from plait.display import is_listened_to, tell, visible
from plait.sampler import Callback, Progress

PLAIN_SECONDS = 10.0
"""Seconds between two lines of output to a log file, where no line can be redrawn."""

SEARCHING = "Searching for a starting point"
"""Shown while a model searches; see `plait.sampler.Progress`."""

COMPILING = "Compiling for this machine, once"
"""Shown on a terminal while a kernel is compiled, instead of loaded from Numba's cache."""

PATIENCE_SECONDS = 1.5
"""Seconds before the progress of work that is usually quick is shown."""


@contextmanager
def show_progress(shown: bool = True, site_name: str = "token") -> Iterator[Callback | None]:
    """Yield a callback for `plait.sample` that shows progress, or None if nobody is to see it.

    Parameters
    ----------
    shown : bool
        Whether to show it on a terminal, or on standard error if there is none. The logger is told in any
        case.
    site_name : str
        Name of a site, for the likelihood per site: `Model.site_name`.
    """
    if shown and _is_terminal():
        with _live_progress(site_name) as callback:
            yield callback
    elif shown or is_listened_to():
        yield _PlainProgress(site_name, shown)
    else:
        yield None


@contextmanager
def show_count(total: int, what: str, shown: bool = True) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of items done, which is shown if the work takes long.

    Parameters
    ----------
    total : int
        Number of items.
    what : str
        Text after the count, such as "sequences decoded".
    shown : bool
        Whether to show anything.
    """
    if shown and _is_terminal():
        with _live_count(total, what) as count:
            yield count
    else:
        yield _PlainCount(total, what, shown)


def _is_terminal() -> bool:
    """Tell whether standard error is a terminal; it is None if it was closed before Python started."""
    return sys.stderr is not None and sys.stderr.isatty()


JOINT_OF: Final = {
    "token": ("words", "topics"),
    "observation": ("observations", "states"),
    "pixel": ("pixels", "labels"),
}
"""What the records of a trace are the joint log-likelihood of, by the name of a site."""


def joint_of(site_name: str) -> tuple[str, str]:
    """Return what the records of a trace are the joint log-likelihood of; see `Trace.log_joint`."""
    return JOINT_OF.get(site_name, ("data", "paths"))


def describe_likelihood(progress: Progress, site_name: str) -> str:
    """Return the mean log joint likelihood per site, or nothing before the first record."""
    if not len(progress.trace):
        return ""
    log_joint = progress.trace.mean_log_joint()[-1] / max(1, progress.n_sites)
    return f"log P({', '.join(joint_of(site_name))}) {log_joint:.4f} per {site_name}"


def describe_seconds(seconds: float) -> str:
    """Return a duration in readable form: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def describe_position(progress: Progress) -> str:
    """Return how far a run is: "sweep 20 of 100", or "sweep 20" if it has a time instead of a number."""
    done = f"{progress.unit} {progress.state.sweep}"
    return done if progress.max_seconds is not None else f"{done} of {progress.n_sweeps}"


class _TimeLeft:
    """Estimates the time left, from the sweeps or search steps of this process."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._searching = False

    def __call__(self, progress: Progress) -> float | None:
        if progress.max_seconds is not None and progress.search is None:
            return max(0.0, progress.max_seconds - progress.seconds)
        done, total = progress.search or (progress.state.sweep, progress.n_sweeps)
        searching = progress.search is not None
        # The first sweep compiles or loads the kernels, so it says nothing about the others.
        if self._first is None or searching != self._searching or done <= self._first[0]:
            self._first, self._searching = (done, progress.seconds), searching
            return None
        return (progress.seconds - self._first[1]) / (done - self._first[0]) * (total - done)


class _PlainProgress:
    """Adds a line every few seconds, and one at the end."""

    def __init__(self, site_name: str, shown: bool) -> None:
        self._site_name, self._shown = site_name, shown
        self._time_left = _TimeLeft()
        self._next = time.monotonic() + PLAIN_SECONDS

    def __call__(self, progress: Progress) -> None:
        left = self._time_left(progress)
        if progress.search is not None and left is None:  # the first step of a search
            tell(SEARCHING, shown=self._shown)
            return
        is_last = (
            progress.search is None
            and progress.state.sweep == progress.n_sweeps
            and (progress.max_seconds is None or progress.seconds >= progress.max_seconds)
        )
        if time.monotonic() < self._next and not is_last:
            return
        self._next = time.monotonic() + PLAIN_SECONDS
        if progress.search is None:
            parts = [progress.stage, describe_position(progress)]
        else:
            done, total = progress.search
            parts = [progress.stage, f"{SEARCHING}: {done / total:.0%}"]
        if left is not None:
            parts.append(f"{describe_seconds(left)} left")
        parts.append(describe_likelihood(progress, self._site_name))
        tell(", ".join(part for part in parts if part), shown=self._shown)


class _Forgiving:
    """A stream that loses what cannot be written: a run does not end because its terminal is gone."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _bar(*columns: Any) -> Any:
    """Return a live progress bar on standard error."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    return Bar(*columns, console=Console(file=cast(TextIO, _Forgiving(sys.stderr))))


@contextmanager
def _live_progress(site_name: str) -> Iterator[Callback]:
    from rich.progress import BarColumn, TextColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[likelihood]}", markup=False),
    )
    time_left = _TimeLeft()
    with _bar(*columns) as bar:
        task = bar.add_task("", total=1, left="", likelihood="", visible=False)

        def update(progress: Progress) -> None:
            left = time_left(progress)
            done: float
            total: float
            done, total = progress.search or (progress.state.sweep, progress.n_sweeps)
            what = describe_position(progress) if progress.search is None else SEARCHING
            if progress.search is None and progress.max_seconds is not None:
                done, total = progress.seconds, max(progress.max_seconds, progress.seconds)
            bar.update(
                task,
                visible=True,
                description=visible(f"{progress.stage}, {what}" if progress.stage else what, sys.stderr),
                total=total,
                completed=done,
                left="" if left is None else f"{describe_seconds(left)} left",
                likelihood=visible(describe_likelihood(progress, site_name), sys.stderr),
            )

        # Until the next sweep, the bar only says that something happens.
        with _on_compilation(
            lambda: bar.update(task, visible=True, description=COMPILING, total=None, left="")
        ):
            yield update


@contextmanager
def _on_compilation(action: Callable[[], object]) -> Iterator[None]:
    """Call `action` whenever a kernel is compiled within the block, and not loaded from Numba's cache."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, started: event.Event) -> None:
            action()

        def on_end(self, ended: event.Event) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


class _PlainCount:
    """Adds a line every few seconds, and none if the work is quick."""

    def __init__(self, total: int, what: str, shown: bool) -> None:
        self._total, self._what, self._shown = total, what, shown
        self._next = time.monotonic() + PLAIN_SECONDS

    def __call__(self, done: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_SECONDS
            tell(f"{done} of {self._total} {self._what}", shown=self._shown)


@contextmanager
def _live_count(total: int, what: str) -> Iterator[Callable[[int], object]]:
    from rich.progress import BarColumn, TextColumn

    columns = (TextColumn("{task.completed:.0f} of {task.total:.0f} {task.description}"), BarColumn())
    patient_until = time.monotonic() + PATIENCE_SECONDS
    with _bar(*columns) as bar:
        task = bar.add_task(what, total=total, visible=False)

        def update(done: int) -> None:
            bar.update(task, completed=done, visible=time.monotonic() >= patient_until)

        yield update


@contextmanager
def show_share(what: str, shown: bool = True) -> Iterator[Callable[[float, float], object]]:
    """Yield a function to call with the share of the work that is done, from 0 to 1; shows the time left.

    The second argument of that function is the share that an earlier process did, which took no time now.

    Parameters
    ----------
    what : str
        Name of the work, such as "experiments".
    shown : bool
        Whether to show anything.
    """
    begun = time.monotonic()

    def describe(share: float, before: float) -> str:
        if share <= before:
            return ""
        seconds = (time.monotonic() - begun) * (1 - share) / (share - before)
        return f"{describe_seconds(seconds)} left"

    if shown and _is_terminal():
        from rich.progress import BarColumn, TextColumn

        words = "{task.description}", "{task.fields[left]}"
        columns = (TextColumn(words[0]), BarColumn(bar_width=30), TextColumn(words[1]))
        with _bar(*columns) as bar:
            task = bar.add_task(what, total=1.0, left="")
            yield lambda share, before: bar.update(task, completed=share, left=describe(share, before))
    else:
        next_line = begun + PLAIN_SECONDS

        def line(share: float, before: float) -> None:
            nonlocal next_line
            if time.monotonic() >= next_line:
                next_line = time.monotonic() + PLAIN_SECONDS
                parts = [f"{what} {share:.1%} done", describe(share, before)]
                tell(", ".join(filter(None, parts)), shown=shown)

        yield line
