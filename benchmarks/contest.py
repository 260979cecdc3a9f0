"""Contests of speed: packages do the same work and take turns (`turns.py`), one process and one thread each.

`topics.py`, `hmm.py` and `mixtures.py` say who takes part, and in what. A unit of work is a sweep or an
iteration; a contestant first makes some of them alone, to warm up. Times are those of whole units, divided by
the sites of all paths, so that they can be compared. A case, one data set and size, is measured as a whole,
because only times that were measured together can be compared; its records are appended to the output when it
is finished. Cases that are in the output already are skipped, so a contest can be stopped (Ctrl-C), resumed
and extended; delete the output to measure again.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.em import ExpectationModel, maximise
from plait.models.model import Model
from plait.models.sweeps import State, SweepSettings, sweeps
from plait.speed import processor
from plait.threads import Threads
from quality import read
from turns import TURN_SECONDS, report, take_turns

ENDLESS = 1_000_000
"""Number of units that a contestant is asked for; it is killed long before."""

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NPROC": "1",  # of JAX
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}

Arrays = Mapping[str, NDArray[Any]]
Record = dict[str, Any]


class Contestant(NamedTuple):
    """A way to do the work.

    Attributes
    ----------
    package : str
        The distribution that it needs.
    run : callable
        Takes the data, and makes and reports units until the process is killed.
    n_paths : int
        How many paths a unit of work covers.
    """

    package: str
    run: Callable[[Arrays], None]
    n_paths: int = 1

    @property
    def version(self) -> str | None:
        """Version of the package; None if it is not installed."""
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


@dataclass(frozen=True)
class Case:
    """Data and a size, such as the number of topics.

    Attributes
    ----------
    data, size : str
        Names of both; together they identify the case.
    load : callable
        Returns the arrays that contestants get, the number of sites, and the size of the data in words.
    without : tuple of str
        Contestants that cannot do this.
    """

    data: str
    size: str
    load: Callable[[], tuple[Arrays, int, str]]
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contest:
    """Contestants, and how long they warm up.

    Attributes
    ----------
    script : str
        The file that is run for each contestant.
    base : str
        The contestant that speeds are relative to.
    contestants : mapping
        The contestants by name, in the order in which they are shown.
    warm_up, warm_up_seconds
        Units that each first makes alone, but not for longer than some seconds.
    """

    script: str
    base: str
    contestants: Mapping[str, Contestant]
    warm_up: int
    warm_up_seconds: float

    @property
    def name(self) -> str:
        """Name of the contest."""
        return Path(self.script).stem


# -------------------------------------------------------------------------------------------------
# What plait does
# -------------------------------------------------------------------------------------------------


def sweep_on(model: Model[Any, Any], n_paths: int, *, collapsed: bool) -> None:
    """Make sweeps, and report them, until the process is killed."""
    threads, settings = Threads(1), SweepSettings(seed=0, collapsed=collapsed)
    first = State(0, model.initial_paths(n_paths, settings.seed, threads))
    for state in sweeps(model, first, ENDLESS, settings, threads):
        report(state.sweep)


def climb_on(model: ExpectationModel[Any], parameters: Any) -> None:
    """Make iterations of EM, and report them, until the process is killed."""
    iterations = count(1)

    def go_on(log_likelihood: float) -> bool:
        report(next(iterations))
        return False

    maximise(model, parameters, ENDLESS, go_on, Threads(1))


# -------------------------------------------------------------------------------------------------
# Measuring
# -------------------------------------------------------------------------------------------------


def parser_of(contest: Contest, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that all contests have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--contestants", nargs="+", default=list(contest.contestants))
    parser.add_argument("--turns", type=int, default=20, help=f"turns of {TURN_SECONDS} s for each")
    parser.add_argument("--output", type=Path, default=Path(f"results/{contest.name}.jsonl"))
    parser.add_argument("--how-long", action="store_true", help="only say what would be measured")
    parser.add_argument("--report", type=Path, help="print the tables of an output")
    parser.add_argument("--run", nargs=2, metavar=("CONTESTANT", "ARRAYS"), help=argparse.SUPPRESS)
    return parser


def run(contest: Contest, cases: Sequence[Case], options: argparse.Namespace) -> None:
    """Do what the options say: measure all cases, print tables, or be a contestant."""
    if options.run:
        name, path = options.run
        with np.load(path) as arrays:
            contest.contestants[name].run(dict(arrays))
        return
    if options.report:
        print(tables(contest, read(options.report)))
        return
    unknown = [name for name in options.contestants if name not in contest.contestants]
    if unknown:
        raise SystemExit(f"no contestant is called {unknown[0]!r}: choose among {list(contest.contestants)}")
    names = [name for name in options.contestants if contest.contestants[name].version is not None]
    missing = sorted({contest.contestants[name].package for name in options.contestants if name not in names})
    done = {(record["data"], record["size"]) for record in read(options.output)}
    left = [case for case in cases if (case.data, case.size) not in done]
    most = len(names) * (contest.warm_up_seconds + options.turns * TURN_SECONDS)
    plan = f"{len(left)} of {len(cases)} cases to measure, {len(names)} contestants"
    print(f"{contest.name}: {plan}, at most {describe_minutes(most * len(left))}", flush=True)
    if missing:
        print(f"  not installed, see --help: {', '.join(missing)}", flush=True)
    if options.how_long:
        return
    options.output.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    try:
        for number, case in enumerate(left, start=1):
            able = [name for name in names if name not in case.without]
            records = measure(contest, case, able, options.turns)
            with options.output.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in records)
            seconds = (time.monotonic() - start) / number * (len(left) - number)
            print(f"\n{tables(contest, records)}\n", flush=True)
            time_left = f", about {describe_minutes(seconds)} left" if number < len(left) else ""
            print(f"{number} of {len(left)} done{time_left}", flush=True)
    except KeyboardInterrupt:
        raise SystemExit(f"\nStopped. The same command resumes: {options.output} has what is done") from None


def measure(contest: Contest, case: Case, names: Sequence[str], n_turns: int) -> list[Record]:
    """Return a record of each contestant in a case."""
    arrays, n_sites, about = case.load()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        np.savez(path, **arrays)
        runners = take_turns(
            {name: [sys.executable, contest.script, "--run", name, str(path)] for name in names},
            n_turns,
            warm_up=contest.warm_up,
            warm_up_seconds=contest.warm_up_seconds,
            environment=ONE_THREAD,
        )
    records = []
    for name, runner in runners.items():
        seconds = runner.seconds_per_unit_in_parts()
        if np.isnan(seconds).any():
            print(f"{case.data}, {case.size}: {name} made too few units, and is left out", flush=True)
            continue
        contestant = contest.contestants[name]
        records.append(
            {
                "data": case.data,
                "size": case.size,
                "about": about,
                "contestant": name,
                "package": contestant.package,
                "version": contestant.version,
                "nanoseconds": (seconds / (n_sites * contestant.n_paths) * 1e9).round(3).tolist(),
                "megabytes": round(runner.megabytes, 1),
                "cpu": processor(),
            }
        )
    return records


def describe_minutes(seconds: float) -> str:
    """Return a duration in minutes or hours."""
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


# -------------------------------------------------------------------------------------------------
# Tables in Markdown: one for all sizes of the same data
# -------------------------------------------------------------------------------------------------

Cell = Callable[[Record, float], str]


def ratio(record: Record, base: float) -> str:
    """Return how many times as fast a contestant is as the base, whose nanoseconds are given."""
    value = base / float(np.median(record["nanoseconds"]))
    digits = 0 if value >= 10 else 1 if value >= 1 else 2
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def nanoseconds(record: Record, base: float) -> str:
    """Return the median of the times, and their range."""
    times = np.array(record["nanoseconds"])
    return f"{number(np.median(times))} ({number(times.min())}–{number(times.max())})"


def ratio_and_nanoseconds(record: Record, base: float) -> str:
    """Return the ratio, and the median of the times."""
    median = number(np.median(record["nanoseconds"]))
    return " ".join(filter(None, [ratio(record, base), f"({median})"]))


def megabytes(record: Record, base: float) -> str:
    """Return the peak memory."""
    return number(record["megabytes"])


def number(value: float) -> str:
    """Return a number with two digits or more."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def table(contest: Contest, records: Sequence[Record], cell: Cell) -> str:
    """Return a table of the records of the same data; of those of a contestant and size, the last counts."""
    sizes = sorted({record["size"] for record in records}, key=_numbers_in)
    present = {record["contestant"] for record in records}
    base = contest.base
    found = {(record["contestant"], record["size"]): record for record in records}
    medians = {
        size: float(np.median(found[base, size]["nanoseconds"])) if (base, size) in found else float("nan")
        for size in sizes
    }
    lines = [f"| | {' | '.join(sizes)} |", "|---|" + "---:|" * len(sizes)]
    for name in filter(present.__contains__, contest.contestants):
        cells = [cell(found[name, size], medians[size]) if (name, size) in found else "" for size in sizes]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _numbers_in(size: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", size)]


def by_data(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each data set."""
    names = dict.fromkeys(record["data"] for record in records)
    return {name: [record for record in records if record["data"] == name] for name in names}


def heading(name: str, records: Sequence[Record]) -> str:
    """Return the name of a data set, and its size if that is not the size of the case."""
    about = records[-1]["about"]
    return f"**{name}** ({about})" if about else f"**{name}**"


def tables(contest: Contest, records: Sequence[Record]) -> str:
    """Return the tables that are printed while a contest runs."""
    parts = []
    for name, group in by_data(records).items():
        for title, cell in (
            (f"times as fast as {contest.base}", ratio),
            ("nanoseconds", nanoseconds),
            ("peak MB", megabytes),
        ):
            parts.append(f"{heading(name, group)}: {title}\n\n{table(contest, group, cell)}")
    return "\n\n".join(parts)
