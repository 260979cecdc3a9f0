"""What a cluster costs: overhead of two local workers, and the cost model of a sweep behind docs/scaling.md.

    python benchmarks/cluster.py overhead     Dask and MPI against threads; State of the Union, T = 500, m = 5
    python benchmarks/cluster.py parts        where the time of a sweep goes, with 1, 2 and 4 local workers
    python benchmarks/cluster.py network      the same with one worker behind a network of limited bandwidth

All take turns, so that a machine whose speed varies is equally slow for all; medians and their ratios are
printed. `network` needs the rights to make network namespaces (root), and the commands ip and tc.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import plait
from plait.engine import use_workers
from plait.engine.dask_workers import DaskWorkers
from plait.engine.distributed import Distributed
from plait.engine.local import InProcess
from plait.models.sweeps import State, SweepSettings
from plait.threads import Threads

SCHEDULER_HOST, WORKER_HOST = "10.77.0.1", "10.77.0.2"


def sotu(n_topics: int) -> plait.LdaModel:
    return plait.LdaModel(plait.datasets.sotu(), n_topics, 10 / n_topics, 0.01)


def timed_sweeps(engine: Any, model: Any, n: int) -> list[float]:
    """Return the seconds of each of some sweeps."""
    seconds = []
    for _ in range(n):
        began = time.perf_counter()
        engine.advance(model, SweepSettings(0), len(engine.state.paths))
        seconds.append(time.perf_counter() - began)
    return seconds


def overhead(n_topics: int, n_paths: int, turns: int, sweeps: int) -> None:
    """Print how long a sweep takes with two threads and with two local workers, as ratios."""
    model = sotu(n_topics)
    print(f"State of the Union, {model.n_sites} tokens, T = {n_topics}, m = {n_paths}; seconds per sweep")
    seconds: dict[str, list[float]] = {"threads": [], "dask": [], "mpi": []}
    with ExitStack() as stack:
        threads = stack.enter_context(Threads(2))
        paths = model.initial_paths(n_paths, 0, threads)
        workers = stack.enter_context(use_workers("local:2", 2))
        engines = {
            "threads": InProcess(State(0, paths.copy()), threads),
            "dask": Distributed(workers, model, paths, 0, threads),
        }
        mpi = stack.enter_context(mpi_sweeps(n_topics, n_paths, sweeps))
        for turn in range(turns):
            for name, engine in engines.items():
                own = timed_sweeps(engine, model, sweeps)
                seconds[name] += own if turn else []  # the first turn compiles, and fills caches
            own = mpi()
            seconds["mpi"] += own if turn else []
    base = statistics.median(seconds["threads"])
    for name, own in seconds.items():
        median = statistics.median(own)
        print(f"{name:8} {median:.3f}  {median / base:.2f} times the two-thread run  (of {len(own)} sweeps)")


@contextmanager
def mpi_sweeps(n_topics: int, n_paths: int, sweeps: int) -> Iterator[Callable[[], list[float]]]:
    """Yield a function that makes sweeps under mpirun, and returns their seconds."""
    mpirun = str(Path(sys.executable).with_name("mpirun"))
    words = [mpirun, "-n", "2", sys.executable, __file__, "mpi", "--topics", str(n_topics)]
    words += ["--paths", str(n_paths), "--sweeps", str(sweeps)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()  # it is ready

    def sweep() -> list[float]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        return [float(word) for word in process.stdout.readline().split()]

    try:
        yield sweep
    finally:
        process.stdin.close()
        process.wait()


def mpi(n_topics: int, n_paths: int, sweeps: int) -> None:
    """Make sweeps whenever a line comes in, and print their seconds: one of the processes of `mpi_sweeps`."""
    from plait.engine import mpi_workers

    if not mpi_workers.is_first_process():
        mpi_workers.serve()
        return
    model = sotu(n_topics)
    with Threads(None) as threads, use_workers("mpi") as workers:
        paths = model.initial_paths(n_paths, 0, threads)
        engine = Distributed(workers, model, paths, 0, threads)
        print("ready", flush=True)
        for _ in sys.stdin:
            print(*timed_sweeps(engine, model, sweeps), flush=True)


class Timed(DaskWorkers):
    """Workers of Dask that note how long orders take."""

    seconds: list[float]

    def compute(self, order: Any) -> Any:
        """Return the answers."""
        began = time.perf_counter()
        answer = super().compute(order)
        self.seconds.append(time.perf_counter() - began)
        return answer


def parts(connect: Callable[[], Any], label: str, n_topics: int, n_paths: int, sweeps: int) -> None:
    """Print where the time of a sweep goes: drawing phi here, and all that workers take part in."""
    model = sotu(n_topics)
    with Threads(None) as threads:
        workers = connect()
        try:
            workers.seconds = []
            engine = Distributed(workers, model, model.initial_paths(n_paths, 0, threads), 0, threads)
            timed_sweeps(engine, model, 2)
            workers.seconds.clear()
            whole = timed_sweeps(engine, model, sweeps)
            answered = statistics.median(workers.seconds)
            mb = model.corpus.n_words * (8 * n_topics + n_topics // 2) / 1e6
            print(
                f"{label:28} T = {n_topics:5}  m = {n_paths}  sweep {statistics.median(whole):.3f} s,"
                f" of which workers {answered:.3f} s; {mb:.0f} MB to and from each worker",
                flush=True,
            )
        finally:
            workers.close()


def local(n: int) -> Any:
    from plait.engine import dask_workers

    workers = dask_workers.connect(f"local:{n}", n)
    workers.__class__ = Timed
    return workers


def run(*words: str) -> None:
    subprocess.run(words, check=True)


@contextmanager
def network(megabits: int) -> Iterator[str]:
    """Start a scheduler here and a worker in a network namespace; yield the scheduler's address."""
    space = f"plait{os.getpid()}"
    run("ip", "netns", "add", space)
    try:
        run("ip", "link", "add", "plait0", "type", "veth", "peer", "name", "plait1", "netns", space)
        run("ip", "addr", "add", f"{SCHEDULER_HOST}/24", "dev", "plait0")
        run("ip", "link", "set", "plait0", "up")
        inside = ("ip", "netns", "exec", space)
        run(*inside, "ip", "addr", "add", f"{WORKER_HOST}/24", "dev", "plait1")
        run(*inside, "ip", "link", "set", "plait1", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        shaping = (
            "tbf",
            "rate",
            f"{megabits}mbit",
            "burst",
            f"{max(64, megabits // 4)}kb",
            "latency",
            "200ms",
        )
        run("tc", "qdisc", "add", "dev", "plait0", "root", *shaping)
        run(*inside, "tc", "qdisc", "add", "dev", "plait1", "root", *shaping)
        dask = [sys.executable, "-m", "dask"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        address = f"tcp://{SCHEDULER_HOST}:8786"
        options = ["--host", SCHEDULER_HOST, "--port", "8786", "--no-dashboard"]
        scheduler = subprocess.Popen([*dask, "scheduler", *options], **quiet)
        options = ["--host", WORKER_HOST, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        worker = subprocess.Popen([*inside, *dask, "worker", address, *options], **quiet)
        try:
            yield address
        finally:
            worker.terminate()
            scheduler.terminate()
            worker.wait()
            scheduler.wait()
    finally:
        run("ip", "netns", "del", space)


def reached(address: str) -> Any:
    from plait.engine import dask_workers

    dask_workers.passed = lambda value, least_bytes=0: value  # the namespace hides the network alone
    workers = dask_workers.connect(address)
    workers.__class__ = Timed
    return workers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["overhead", "parts", "network", "mpi"])
    parser.add_argument("--topics", type=int, default=500)
    parser.add_argument("--paths", type=int, default=5)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--sweeps", type=int, default=5)
    own = parser.parse_args()
    np.seterr(all="raise", under="ignore")
    if own.what == "overhead":
        overhead(own.topics, own.paths, own.turns, own.sweeps)
    elif own.what == "mpi":
        mpi(own.topics, own.paths, own.sweeps)
    elif own.what == "parts":
        for n in (1, 2, 4):
            parts(lambda n=n: local(n), f"{n} local workers", own.topics, own.paths, own.sweeps)
    else:
        for megabits in (10_000, 1000, 200):
            with network(megabits) as address:
                label = f"{megabits} Mbit/s"
                parts(lambda address=address: reached(address), label, own.topics, own.paths, own.sweeps)


if __name__ == "__main__":
    main()
