"""Processes that try inputs, and are replaced when an input kills them or takes too long.

Workers are forked from a process that has imported everything and tried every seed, so a new one costs
milliseconds. Before each try a worker writes the number of the input to shared memory; inputs follow from the
seed and their number, so the one that killed a worker is known.

An input takes too long by the processor time that it uses: on a busy machine, the time on the clock says more
about the other processes. A process that waits for something that never happens uses none, so the time on the
clock has a limit, too, several times as large.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import signal
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

from inputs import Input
from judging import PACKAGE, Outcome, judge, short_file
from target import Target

THOROUGH_EVERY = 4
"""One of so many inputs is tried thoroughly, if it is accepted."""

PATIENCE = 4.0
"""Seconds on the clock that an input may take, for each second of processor time that it may use."""

_FORK = multiprocessing.get_context("fork")
_INDEX, _BEGUN, _USED, _ACCEPTED, _REFUSED = range(5)
_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')


@dataclass(frozen=True)
class Numbered:
    """A job: the inputs of a target from number `start` to `stop`."""

    target: str
    seed: int
    start: int
    stop: int

    def input(self, targets: Mapping[str, Target], i: int) -> Input:
        """Return an input."""
        return targets[self.target].generate(Random(f"{self.seed}/{self.target}/{i}"))


@dataclass(frozen=True)
class Listed:
    """A job: given inputs, tried thoroughly; every outcome is reported."""

    inputs: tuple[Input, ...]
    start: int = 0

    @property
    def stop(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    def input(self, targets: Mapping[str, Target], i: int) -> Input:
        """Return an input."""
        return self.inputs[i]


Job = Numbered | Listed


@dataclass
class Report:
    """What workers report about a job, or several.

    Attributes
    ----------
    accepted, refused : int
        Number of inputs that were.
    outcomes : list of (int, Input, Outcome)
        Findings, with the number of the input; for a `Listed` job, all outcomes.
    """

    accepted: int = 0
    refused: int = 0
    outcomes: list[tuple[int, Input, Outcome]] = field(default_factory=list)


class Worker:
    """A process that tries inputs, one job at a time.

    Parameters
    ----------
    targets : mapping of str to Target
        The targets, by name.
    folder : path
        A folder for its files.
    limit : float
        Seconds of processor time that an input may take.
    """

    def __init__(self, targets: Mapping[str, Target], folder: Path, limit: float) -> None:
        self._targets, self._folder, self._limit = targets, folder, limit
        self._slot: Any = _FORK.RawArray("q", 5)
        self._log = folder / "crash.log"
        self._job: Job | None = None
        self._report = Report()
        self._start()

    def _start(self) -> None:
        self.connection, other = _FORK.Pipe()
        self._process = _FORK.Process(
            target=_work, args=(other, self._slot, self._targets, self._folder, self._log), daemon=True
        )
        self._process.start()
        other.close()

    @property
    def busy(self) -> bool:
        """Whether the worker has a job."""
        return self._job is not None

    def give(self, job: Job) -> None:
        """Give the worker a job."""
        self._job, self._report = job, Report()
        self._send(job)

    def _send(self, job: Job) -> None:
        self._slot[:] = [job.start, 0, 0, 0, 0]
        self.connection.send(job)

    def collect(self) -> Report | None:
        """Take what the worker has reported; return the report when the job is done, else None."""
        try:
            while self.connection.poll():
                if (message := self.connection.recv()) is None:
                    return self._finish()
                self._report.outcomes.append(message)
        except (EOFError, ConnectionResetError):
            self._process.join()
            return self._replace(_death(self._process.exitcode or 0, self._log))
        return self._replace(self._stop()) if self._takes_too_long() else None

    def _takes_too_long(self) -> bool:
        begun, used = self._slot[_BEGUN], self._slot[_USED]
        if not begun:
            return False
        waited = (time.monotonic_ns() - begun) / 1e9
        if waited <= self._limit:
            return False
        return (
            waited > PATIENCE * self._limit or _processor_time(self._process.pid) - used / 1e9 > self._limit
        )

    def _stop(self) -> Outcome:
        """End the process, which hangs; return where."""
        self.kill(signal.SIGABRT)  # faulthandler writes the stack
        self._process.join(1.0)
        self.kill(signal.SIGKILL)
        self._process.join()
        return Outcome("hang", f"over {self._limit:g} s", _place_in(self._log))

    def _replace(self, outcome: Outcome) -> Report | None:
        """Start another process for the rest of the job; the current input has the given outcome."""
        assert self._job is not None
        i = int(self._slot[_INDEX])
        self._report.outcomes.append((i, self._job.input(self._targets, i), outcome))
        self._add_counts()
        self.connection.close()
        self._start()
        self._job = replace(self._job, start=i + 1)
        self._send(self._job)
        return None

    def _finish(self) -> Report:
        self._add_counts()
        self._job = None
        return self._report

    def _add_counts(self) -> None:
        self._report.accepted += int(self._slot[_ACCEPTED])
        self._report.refused += int(self._slot[_REFUSED])

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the process a signal, if it is alive."""
        with suppress(ProcessLookupError):
            if self._process.is_alive() and self._process.pid:
                os.kill(self._process.pid, number)

    def do(self, job: Job, *, renew: bool = False) -> Report:
        """Do a job and return the report; if asked, in a new process, with untouched memory."""
        if renew:
            self.kill()
            self._process.join()
            self.connection.close()
            self._start()
        self.give(job)
        while (report := self.collect()) is None:
            wait([self.connection], 0.1)
        return report


def try_seeds(targets: Mapping[str, Target], folder: Path) -> list[str]:
    """Try every seed in this process, which also loads what workers need; return complaints."""
    warnings.simplefilter("always")
    wrong = []
    for target in targets.values():
        for input in target.seeds:
            outcome = judge(target, input, folder, thorough=True, limited=False)
            if outcome.kind != "accepted":
                wrong.append(f"{target.name}, {input.seed}: {' '.join(outcome.cause)} {outcome.detail}")
    return wrong


def _work(connection: Connection, slot: Any, targets: Mapping[str, Target], folder: Path, log: Path) -> None:
    """Do jobs until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(log, "wb") as file, suppress(EOFError):
        os.dup2(file.fileno(), 2)  # what faulthandler and the allocator of C say about a crash
        faulthandler.enable()
        while True:
            job: Job = connection.recv()
            for i in range(job.start, job.stop):
                slot[_INDEX], slot[_BEGUN], slot[_USED] = i, time.monotonic_ns(), time.process_time_ns()
                input = job.input(targets, i)
                thorough = isinstance(job, Listed) or i % THOROUGH_EVERY == 0
                outcome = judge(targets[input.target], input, folder, thorough=thorough)
                if outcome.kind == "accepted":
                    slot[_ACCEPTED] += 1
                elif outcome.kind == "refused":
                    slot[_REFUSED] += 1
                if outcome.is_finding or isinstance(job, Listed):
                    connection.send((i, input, outcome))
            slot[_BEGUN] = 0
            connection.send(None)


def _processor_time(pid: int | None) -> float:
    """Return the seconds of processor time that a process has used; 0 if it has ended."""
    try:
        # The name of the program, in parentheses, may hold anything; times follow, in user and system mode.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _death(status: int, log: Path) -> Outcome:
    """Return the outcome of an input that killed its process."""
    what = signal.Signals(-status).name if status < 0 else f"exit with status {status}"
    said = " in ".join(f"{short_file(file)}:{line} {name}" for file, line, name in _frames(log)[:4])
    return Outcome("crash", what, _place_in(log), said or log.read_text(errors="replace")[-300:])


def _frames(log: Path) -> list[tuple[str, str, str]]:
    """Return file, line and function of the stack that faulthandler wrote, innermost first."""
    return _FRAME.findall(log.read_text(errors="replace"))


def _place_in(log: Path) -> str:
    """Return the innermost line of plait's code in what faulthandler wrote."""
    frames = _frames(log)
    own = [frame for frame in frames if frame[0].startswith(PACKAGE)] or frames
    return f"{short_file(own[0][0])}:{own[0][1]} {own[0][2]}" if own else ""
