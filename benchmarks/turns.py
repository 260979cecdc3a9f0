"""Processes that take turns, so that whatever slows a shared machine down slows all of them down alike.

At any time, all but one of the processes are stopped. Each reports on its standard output, in lines of two
numbers: how many units of work (sweeps, iterations) it has done, and when (`time.monotonic`). What counts is
the time that a process itself has run, in the second half of the turns: importing, compiling and the first
units, which often take longer, are left out. Ratios of these times can be trusted when the times cannot.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TURN_SECONDS = 0.5


def peak_megabytes(process: int | str = "self") -> float:
    """Return the largest memory that a process has used so far; an OSError where the system does not say."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def report(units: int) -> None:
    """Print how many units of work this process has done, and when."""
    print(units, time.monotonic(), flush=True)


@dataclass
class Runner:
    """A process, and what is known about its time.

    Attributes
    ----------
    process : Popen
        The process.
    megabytes : float
        The largest memory that it has used, known at the end; NaN where the system does not say.
    turns : list of (float, float)
        When it was running.
    reports : list of (int, float)
        How many units it had done, and when.
    """

    process: subprocess.Popen[str]
    megabytes: float = float("nan")
    turns: list[tuple[float, float]] = field(default_factory=list)
    reports: list[tuple[int, float]] = field(default_factory=list)

    def read_reports(self) -> None:
        """Collect the reports until the process ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # the last line may be cut off
                units, when = line.split()
                self.reports.append((int(units), float(when)))

    def warm_up(self, units: int, seconds: float) -> None:
        """Let the process run until it has reported so many units, but not for longer than some seconds."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        while (
            time.monotonic() < start + seconds
            and (not self.reports or self.reports[-1][0] < units)
            and self.process.poll() is None
        ):
            time.sleep(0.05)
        self.process.send_signal(signal.SIGSTOP)
        self.turns.append((start, time.monotonic()))

    def take_turn(self) -> None:
        """Let the process run for a while."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(TURN_SECONDS)
        self.process.send_signal(signal.SIGSTOP)
        self.turns.append((start, time.monotonic()))

    def late_reports(self, share: float = 0.5) -> tuple[Floats, Floats]:
        """Return, for each report in the last share of the turns, its units and the time run until then."""
        if not self.reports:
            return np.empty(0), np.empty(0)
        units, when = np.array(self.reports, np.float64).T
        starts, ends = np.array(self.turns).T
        late = when >= starts[int((1 - share) * len(starts))]
        own = np.clip(when[late, None] - starts, 0, ends - starts).sum(axis=1)
        return units[late], own

    def seconds_per_unit(self) -> float:
        """Return the mean over the second half of the turns; NaN if there are too few reports."""
        units, own = self.late_reports()
        return float((own[-1] - own[0]) / (units[-1] - units[0])) if len(units) > 1 else float("nan")

    def seconds_per_unit_in_parts(self, n_parts: int = 5) -> Floats:
        """Return means over parts of the second half of the turns; NaN if there are too few reports."""
        units, own = self.late_reports()
        if len(units) <= n_parts:  # a slow one: all that there is, the time when it ran alone included
            units, own = self.late_reports(share=1.0)
            n_parts = min(n_parts, len(units) - 1)
        if n_parts < 1:
            return np.full(1, np.nan)
        ends = np.linspace(0, len(units) - 1, n_parts + 1).round().astype(int)
        return np.diff(own[ends]) / np.diff(units[ends])

    def read_megabytes(self) -> None:
        """Note the largest memory that the process has used, unless it has ended."""
        with suppress(OSError, StopIteration):
            self.megabytes = peak_megabytes(self.process.pid)


def take_turns(
    commands: Mapping[str, Sequence[str]],
    n_turns: int,
    *,
    warm_up: int = 0,
    warm_up_seconds: float = 0.0,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Runner]:
    """Start a process for each command, let them take turns, and kill them.

    Before the turns, each process runs alone until it has done `warm_up` units, but not for longer than
    `warm_up_seconds`. `environment` is added to that of this process.
    """
    variables = {**os.environ, **(environment or {})}
    runners: dict[str, Runner] = {}
    readers: list[threading.Thread] = []
    try:
        for name, command in commands.items():
            process = subprocess.Popen(
                [*command], stdout=subprocess.PIPE, text=True, start_new_session=True, env=variables
            )
            runners[name] = Runner(process)
            process.send_signal(signal.SIGSTOP)
            readers.append(threading.Thread(target=runners[name].read_reports))
            readers[-1].start()
        if warm_up:
            for runner in runners.values():
                runner.warm_up(warm_up, warm_up_seconds)
        for _ in range(n_turns):
            for runner in runners.values():
                runner.take_turn()
        for runner in runners.values():
            runner.read_megabytes()
    finally:
        for runner in runners.values():
            runner.process.kill()
    for runner, reader in zip(runners.values(), readers, strict=True):
        runner.process.wait()
        reader.join()
    return runners
