"""Kill workers of a cluster at random while a run goes on, and compare its bits with an undisturbed one.

    python tests/soak/cluster.py --seconds 3600

Runs follow one another on a cluster of local workers. At random moments a worker is killed; Dask starts
another one. Each run must end with the bits of the same run in one process, and the memory of the driver,
which is printed with that of the workers, must not grow.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil

import plait
from plait.engine import dask_workers, distributed

WARM_UP = 3
"""Runs before memory is compared with that of later ones."""

GROWTH_MB = 50.0
"""Growth of memory that is accepted, of a process with compiled kernels and Dask's own records."""


@dataclass
class Tally:
    """What happened."""

    runs: int = 0
    kills: int = 0
    failures: list[str] = field(default_factory=list)
    driver_mb: list[float] = field(default_factory=list)
    worker_mb: list[float] = field(default_factory=list)

    def grew(self) -> bool:
        """Return whether the memory of the driver grew after the first runs."""
        later = self.driver_mb[WARM_UP:]
        return len(later) > 1 and float(np.median(later[-3:])) - later[0] > GROWTH_MB


def model() -> plait.LdaModel:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 500, 200_000).astype(np.int32)
    return plait.LdaModel(plait.Corpus(words, np.arange(0, 200_001, 50), [f"w{w}" for w in range(500)]), 20)


def memory_mb(process: psutil.Process) -> float:
    return process.memory_info().rss / 1e6


def pids_of(client: Any) -> list[int]:
    """Return the processes of the workers, by the names that their nannies know."""
    return [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]


def soak(seconds: float, seed: int, n_workers: int = 2, n_sweeps: int = 150) -> Tally:
    """Kill workers for some time; return what happened."""
    own, choose, tally = model(), random.Random(seed), Tally()
    distributed.KEEP_SECONDS = 1.0
    stop = threading.Event()
    workers = dask_workers.connect(f"local:{n_workers}")
    client = workers._client

    def kill() -> None:
        while not stop.wait(choose.expovariate(1 / 4.0)):
            pids = pids_of(client)
            if len(client.nthreads()) == n_workers:  # on a slow machine, none would ever be there long
                try:
                    os.kill(choose.choice(pids), signal.SIGKILL)
                    tally.kills += 1
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            options: dict[str, Any] = {"n_paths": 2, "n_sweeps": n_sweeps, "seed": tally.runs}
            disturbed = plait.sample(own, cluster=workers, **options)
            alone = plait.sample(own, **options)
            if not np.array_equal(disturbed.paths, alone.paths):
                tally.failures.append(f"run {tally.runs}: other paths")
            if not np.array_equal(disturbed.trace.log_joint, alone.trace.log_joint):
                tally.failures.append(f"run {tally.runs}: other log-likelihoods")
            tally.runs += 1
            tally.driver_mb.append(memory_mb(psutil.Process()))
            alive = [psutil.Process(pid) for pid in pids_of(client) if psutil.pid_exists(pid)]
            tally.worker_mb.append(max((memory_mb(process) for process in alive), default=0.0))
            print(
                f"{tally.runs} runs, {tally.kills} workers killed; driver {tally.driver_mb[-1]:.0f} MB,"
                f" largest worker {tally.worker_mb[-1]:.0f} MB",
                flush=True,
            )
    finally:
        stop.set()
        killer.join()
        workers.close()
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    own = parser.parse_args()
    tally = soak(own.seconds, own.seed, own.workers)
    for failure in tally.failures:
        print(failure)
    if tally.grew():
        print(f"the memory of the driver grew: {[round(mb) for mb in tally.driver_mb]} MB")
    sys.exit(bool(tally.failures or tally.grew()))


if __name__ == "__main__":
    main()
