"""How many seconds a sweep takes each method of `quality.py`, on a machine whose speed varies.

The processes of all methods run in short turns: at any time, all but one are stopped. So whatever slows the
machine down slows all methods down alike, and the ratios of their times can be trusted when the times cannot.
What counts is the time that a method has run, in the second half of the turns: importing, compiling and the
first sweeps, which take longer, are left out.

The ratios are turned into seconds by the time of plait's sweeps when they were fastest, because a
disturbance can only make them slower.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from methods import BLOCK, REPORT_EVERY

Floats = NDArray[np.float64]

N_TURNS = 40
TURN_SECONDS = 0.5

UNDISTURBED = 0.1
"""Quantile of the times of blocks of sweeps that is taken for the time on an undisturbed machine."""


@dataclass
class Runner:
    """A process that runs a method, and what is known about its time.

    Attributes
    ----------
    process : Popen
        The process; it reports on its standard output.
    turns : list of (float, float)
        When it was running.
    reports : list of (int, float)
        How many sweeps it had made, and when.
    """

    process: subprocess.Popen[str]
    turns: list[tuple[float, float]] = field(default_factory=list)
    reports: list[tuple[int, float]] = field(default_factory=list)

    def read_reports(self) -> None:
        """Collect the reports until the process ends."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with suppress(ValueError):  # the last line may be cut off
                sweep, when = line.split()
                self.reports.append((int(sweep), float(when)))

    def take_turn(self) -> None:
        """Let the process run for a while."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        time.sleep(TURN_SECONDS)
        self.process.send_signal(signal.SIGSTOP)
        self.turns.append((start, time.monotonic()))

    def late_reports(self) -> tuple[Floats, Floats]:
        """Return, for each report in the second half of the turns, its sweeps and the time run until then."""
        if not self.reports:
            return np.empty(0), np.empty(0)
        sweeps, when = np.array(self.reports, np.float64).T
        starts, ends = np.array(self.turns).T
        late = when >= starts[len(starts) // 2]
        own = np.clip(when[late, None] - starts, 0, ends - starts).sum(axis=1)
        return sweeps[late], own


def measure(methods: Sequence[str], corpus: Path, n_topics: int) -> dict[str, float]:
    """Return the seconds per sweep of each method; the first of them must be plait."""
    command = [sys.executable, str(Path(__file__).with_name("methods.py"))]
    runners = {
        method: Runner(
            subprocess.Popen(
                [*command, method, str(corpus), str(n_topics)],
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        for method in methods
    }
    readers = [threading.Thread(target=runner.read_reports) for runner in runners.values()]
    try:
        for runner, reader in zip(runners.values(), readers, strict=True):
            runner.process.send_signal(signal.SIGSTOP)
            reader.start()
        for _ in range(N_TURNS):
            for runner in runners.values():
                runner.take_turn()
    finally:
        for runner in runners.values():
            runner.process.kill()
    for runner, reader in zip(runners.values(), readers, strict=True):
        runner.process.wait()
        reader.join()

    means = {}
    for method, runner in runners.items():
        sweeps, own = runner.late_reports()
        if len(sweeps) < 2:
            raise SystemExit(f"the speed of {method} is not known: it made too few sweeps, or none")
        means[method] = float((own[-1] - own[0]) / (sweeps[-1] - sweeps[0]))
    sweeps, own = runners[methods[0]].late_reports()
    lag = min(BLOCK // REPORT_EVERY, len(sweeps) - 1)
    blocks = (own[lag:] - own[:-lag]) / (sweeps[lag:] - sweeps[:-lag])
    scale = float(np.quantile(blocks, UNDISTURBED)) / means[methods[0]]
    return {method: scale * mean for method, mean in means.items()}
