"""Ctrl-C and the signals that end a process: the work in hand is finished, and what was done is kept.

In Python only Ctrl-C is handled. The command also handles SIGTERM and SIGHUP, which batch systems, `kill`
and closing terminals send; a script that wants the same runs its work in a block of `handled_terminations`.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any, Final

from plait.display import tell

_TERMINATIONS: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

_ECHO_SECONDS: Final = 1.0
"""Within this time, a second SIGTERM or SIGHUP counts as the first: some senders send both."""


def signal_number(stopped: KeyboardInterrupt) -> int:
    """Return the number of the signal that an exception stands for: SIGINT unless it says another."""
    return int(getattr(stopped, "number", signal.SIGINT))


def exit_status(stopped: KeyboardInterrupt) -> int:
    """Return the exit status of a process that a signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + signal_number(stopped)


@contextmanager
def handled_terminations() -> Iterator[None]:
    """Let SIGTERM and SIGHUP in this block set the flag of `interrupt_flag`, unless they are ignored.

    Where nothing is in hand that could be finished, they end the process at once, as usual. Outside the main
    thread, where Python has no signal handlers, nothing changes.
    """
    with ExitStack() as restored:
        if threading.current_thread() is threading.main_thread():
            for number in _TERMINATIONS:
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, _terminate)
                    restored.callback(signal.signal, number, signal.SIG_DFL)
        yield


def _terminate(number: int, frame: FrameType | None) -> None:
    """End the process by the signal. An exception could come in the middle of compiled code, and crash it."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


class StopFlag(threading.Event):
    """Set by the first signal that asks the work to stop.

    Attributes
    ----------
    what : str
        The work that is finished first.
    whole : bool
        Whether all of it is finished, so that flags within this block are not set.
    number : int
        The number of that signal.
    """

    def __init__(self, what: str, whole: bool) -> None:
        super().__init__()
        self.what, self.whole = what, whole
        self.number: int = signal.SIGINT

    def stop(self, number: int) -> None:
        """Set the flag."""
        self.number = number
        self.set()


_open_flags: Final[list[StopFlag]] = []
"""The flags of the blocks that the main thread is in, the innermost last."""


@contextmanager
def interrupt_flag(what: str = "sweep", *, whole: bool = False) -> Iterator[StopFlag]:
    """Let the first Ctrl-C set a flag, so that `what` can be finished; a second one stops at once.

    The same holds for SIGTERM and SIGHUP in a block of `handled_terminations`. Signals that are ignored, or
    handled outside Python, do not set the flag, and outside the main thread none does.

    Blocks may be nested: a signal sets the flags of all of them, and a block that is entered after the signal
    has its flag set already. So a loop over long work is a block itself, and no signal is lost between two
    rounds of it. Within a block that is to be finished as a whole, flags of inner blocks are not set.
    """
    flag = StopFlag(what, whole)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or any(outer.whole for outer in _open_flags):
        yield flag
        return
    if _open_flags and _open_flags[-1].is_set():
        flag.stop(_open_flags[-1].number)
    _open_flags.append(flag)
    try:
        with ExitStack() if len(_open_flags) > 1 else _handled_signals():
            yield flag
    finally:
        _open_flags.remove(flag)


@contextmanager
def _handled_signals() -> Iterator[None]:
    """Let signals in this block set all open flags."""
    before: dict[int, Any] = {}
    first = 0.0
    is_command = any(signal.getsignal(number) is _terminate for number in _TERMINATIONS)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal first
        innermost = _open_flags[-1]
        if innermost.is_set():
            if number == signal.SIGINT or time.monotonic() > first + _ECHO_SECONDS:
                restore()
                signal.raise_signal(number)
            return
        first = time.monotonic()
        for flag in _open_flags:
            flag.stop(number)
        again = "Press Ctrl-C" if number == signal.SIGINT else "Send the signal"
        with suppress(ValueError, RuntimeError):  # the signal may have come while something was printed
            text = f"Finishing the {innermost.what}. {again} again to stop at once."
            tell("", text, shown=is_command or (sys.stderr is not None and sys.stderr.isatty()))

    if signal.getsignal(signal.SIGINT) not in (None, signal.SIG_IGN):
        before[signal.SIGINT] = signal.getsignal(signal.SIGINT)
    before |= {number: _terminate for number in _TERMINATIONS if signal.getsignal(number) is _terminate}
    for number in before:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        restore()
