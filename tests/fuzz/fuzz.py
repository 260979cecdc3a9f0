"""Fuzz plait: random inputs for every reader, and what plait does with each of them.

    python tests/fuzz/fuzz.py --inputs 1000000 --jobs 2
    python tests/fuzz/fuzz.py --target models --seconds 600 --kernels interpreted
    python tests/fuzz/fuzz.py --replay tests/fuzz/found

The inputs follow from the seed: a run with the same seed and the same targets tries the same inputs, on any
number of processes. Findings are made smaller and written to a folder, one JSON file per cause. To keep one
as a regression test, move its file to tests/fuzz/found, with a name that tells the cause.

    inputs      an input and its form in JSON
    seeds       small valid files
    mutations   of bytes
    forgery     edits of model files, with checksums that fit
    target      what a target is
    targets     what is fuzzed
    judging     judges one try
    workers     processes that try inputs, and are replaced when one kills them
    minimise    makes the input of a finding smaller
    atheris_engine   inputs guided by coverage, if that package is installed
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:  # modules that import plait are imported when the kernels are chosen
    from inputs import Input
    from judging import Outcome
    from target import Target
    from workers import Numbered, Report, Worker

    MakeTargets = Callable[[Path], dict[str, Target]]

BATCH = 200
"""Inputs in one job: few enough that a run ends in time, enough that jobs cost nothing."""

SECONDS_TO_MINIMISE = 5.0


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--inputs", type=int, help="number of inputs, over all targets; 20000 if --seconds is not given")
    add("--seconds", type=float, help="stop after this time")
    add("--seed", type=int, default=0, help="determines the inputs")
    add("--jobs", type=int, default=1, help="number of processes")
    add("--target", action="append", help="fuzz this target only; repeat the option for several")
    add("--kernels", choices=("compiled", "interpreted", "checked"), default="compiled", help="see below")
    add("--limit", type=float, default=10.0, help="seconds of processor time that one input may take")
    add("--engine", choices=("mutations", "atheris"), default="mutations", help="what makes the inputs")
    add("--findings", type=Path, help="folder for findings; by default a new one in the temporary folder")
    add("--replay", type=Path, metavar="FOLDER", help="try the inputs in a folder, print outcomes as JSON")
    parser.epilog = (
        "interpreted kernels check every index, and so do checked ones, which are compiled on first use;"
        " the engine atheris needs that package, and fuzzes one target in one process"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None, make_targets: MakeTargets | None = None) -> int:
    """Fuzz; return 1 if there are findings, else 0.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments of the command.
    make_targets : callable, optional
        Returns the targets by name, given a folder for files; all targets by default.
    """
    chosen = options(argv)
    # Numba cannot compile what atheris has instrumented.
    _prepare("interpreted" if chosen.engine == "atheris" else chosen.kernels)
    if chosen.engine == "atheris":
        import atheris_engine

        atheris_engine.instrument()
    from inputs import read_inputs
    from workers import Listed, Worker, try_seeds

    if make_targets is None:
        from targets import all_targets

        make_targets = all_targets

    with ExitStack() as stack:
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="plait-fuzz-", dir=memory)))
        targets = make_targets(folder)
        if chosen.target:
            unknown = set(chosen.target) - targets.keys()
            if unknown:
                print(f"no target {sorted(unknown)}: choose among {list(targets)}", file=sys.stderr)
                return 2
            targets = {name: targets[name] for name in chosen.target}
        if wrong := try_seeds(targets, folder):
            print("these seeds are not accepted:", *wrong, sep="\n", file=sys.stderr)
            return 2
        if chosen.engine == "atheris":
            return atheris_engine.fuzz(targets, folder, chosen)
        workers = []
        for i in range(1 if chosen.replay else chosen.jobs):
            workers.append(Worker(targets, _worker_folder(folder, i), chosen.limit))
            stack.callback(workers[-1].kill)
        if chosen.replay:
            given = read_inputs(chosen.replay)
            report = workers[0].do(Listed(tuple(given.values())))
            return _print_replay(list(given), report)
        run = Fuzzing(targets, workers, chosen)
        run.fuzz()
        run.print_table(sys.stdout)
        if run.found:
            default = Path(tempfile.gettempdir()) / f"plait-findings-{os.getpid()}"
            run.write_findings(chosen.findings or default)
        return 1 if run.found else 0


def _prepare(kernels: str) -> None:
    """Set the environment, before plait and NumPy are imported."""
    warnings.simplefilter("ignore")  # until the seeds are made
    one = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
    os.environ |= dict.fromkeys(one, "1")  # workers are forked, which ends all other threads
    if kernels == "interpreted":
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    elif kernels == "checked":
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "plait-checked-kernels")


def _worker_folder(folder: Path, i: int) -> Path:
    """Return a folder for a worker, with the files that targets wrote."""
    own = folder / f"worker-{i}"
    own.mkdir()
    for file in [file for file in folder.iterdir() if file.is_file()]:
        (own / file.name).write_bytes(file.read_bytes())
    return own


def _print_replay(names: Sequence[str], report: Report) -> int:
    """Print one line of JSON per input; return 1 if any is a finding."""
    for i, _, outcome in report.outcomes:
        form = {"name": names[i], "finding": outcome.is_finding, "outcome": _describe(outcome)}
        print(json.dumps(form | {"detail": outcome.detail}))
    return int(any(outcome.is_finding for _, _, outcome in report.outcomes))


def _describe(outcome: Outcome) -> str:
    return ", ".join(part for part in outcome.cause if part)


def _free_name(folder: Path, description: str) -> Path:
    """Return the path of a new file in a folder, named by a description without numbers of lines."""
    plain = re.sub(r"\.py:\d+", "", description.lower())
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:80]
    free = (stem if n == 1 else f"{stem}-{n}" for n in count(1))
    return next(path for name in free if not (path := folder / f"{name}.json").exists())


@dataclass
class Found:
    """A finding: the first input that has it, and how many have."""

    number: int
    input: Input
    outcome: Outcome
    count: int = 1


@dataclass
class Tally:
    """Numbers of the inputs of a target."""

    accepted: int = 0
    refused: int = 0
    findings: int = 0

    @property
    def inputs(self) -> int:
        """Number of inputs tried."""
        return self.accepted + self.refused + self.findings


@dataclass
class Fuzzing:
    """A run of the fuzzer.

    Attributes
    ----------
    targets : dict of str to Target
        What is fuzzed.
    workers : list of Worker
        Processes that try inputs.
    chosen : Namespace
        The options of the command.
    tallies : dict of str to Tally
        Numbers of inputs, by target.
    found : dict
        Findings, by target and cause.
    """

    targets: dict[str, Target]
    workers: list[Worker]
    chosen: argparse.Namespace
    tallies: dict[str, Tally] = field(default_factory=dict)
    found: dict[tuple[str, ...], Found] = field(default_factory=dict)

    def fuzz(self) -> None:
        """Try inputs until all are done or the time is over."""
        from multiprocessing.connection import wait

        self.tallies = {name: Tally() for name in self.targets}
        self.started = self.shown = time.monotonic()
        jobs = self._jobs()
        left = True
        doing: dict[int, str] = {}
        while left or doing:
            for worker in self.workers:
                if worker.busy and (report := worker.collect()) is not None:
                    self._take(doing.pop(id(worker)), report)
                if not worker.busy and left:
                    job = None if self._over() else next(jobs, None)
                    left = job is not None
                    if job is not None:
                        worker.give(job)
                        doing[id(worker)] = job.target
            wait([worker.connection for worker in self.workers if worker.busy], 0.2)
            self._show_progress()

    def _jobs(self) -> Iterator[Numbered]:
        """Yield jobs, so that all targets advance alike."""
        from workers import Numbered

        total = sum(target.weight for target in self.targets.values())
        n = self._n_inputs()
        last = {
            name: 2**62 if n is None else max(1, round(n * target.weight / total))
            for name, target in self.targets.items()
        }
        queue = [(0.0, name, 0) for name in self.targets]
        while queue:
            _, name, start = heapq.heappop(queue)
            stop = min(start + BATCH, last[name])
            yield Numbered(name, self.chosen.seed, start, stop)
            if stop < last[name]:
                heapq.heappush(queue, (stop / self.targets[name].weight, name, stop))

    def _n_inputs(self) -> int | None:
        if self.chosen.inputs is None and self.chosen.seconds is None:
            return 20_000
        return None if self.chosen.inputs is None else int(self.chosen.inputs)

    def _over(self) -> bool:
        limit = self.chosen.seconds
        return limit is not None and time.monotonic() - self.started > limit

    def _take(self, target: str, report: Report) -> None:
        tally = self.tallies[target]
        tally.accepted += report.accepted
        tally.refused += report.refused
        tally.findings += len(report.outcomes)
        for number, input, outcome in report.outcomes:
            known = self.found.setdefault((target, *outcome.cause), Found(number, input, outcome, 0))
            known.count += 1
            if number < known.number:  # the first, however many processes there are
                known.number, known.input, known.outcome = number, input, outcome

    def _show_progress(self) -> None:
        now = time.monotonic()
        if now - self.shown < (1.0 if sys.stderr.isatty() else 10.0):
            return
        self.shown = now
        done = sum(tally.inputs for tally in self.tallies.values())
        seconds = now - self.started
        n, limit = self._n_inputs(), self.chosen.seconds
        left = [limit - seconds] if limit is not None else []
        left += [seconds * (n / done - 1)] if n is not None and done else []
        rest = f", {max(0.0, min(left)):.0f} s left" if left else ""
        line = f"{done} inputs, {done / seconds:.0f} per second, {len(self.found)} findings{rest}"
        print(f"\r{line:<79}" if sys.stderr.isatty() else line, end="", file=sys.stderr)
        print("" if sys.stderr.isatty() else "\n", end="", file=sys.stderr, flush=True)

    def print_table(self, file: TextIO) -> None:
        """Print the numbers of inputs of all targets, and the findings."""
        seconds = time.monotonic() - self.started
        row = "{:<20} {:>10} {:>10} {:>10} {:>10} {:>8}".format
        print(row("target", "inputs", "accepted", "refused", "findings", "causes"), file=file)
        total = Tally()
        for name, tally in self.tallies.items():
            causes = sum(key[0] == name for key in self.found)
            print(row(name, tally.inputs, tally.accepted, tally.refused, tally.findings, causes), file=file)
            total.accepted += tally.accepted
            total.refused += tally.refused
            total.findings += tally.findings
        print(
            row("all", total.inputs, total.accepted, total.refused, total.findings, len(self.found)),
            file=file,
        )
        print(f"{total.inputs / seconds:.0f} inputs per second, {seconds:.0f} s", file=file)
        for (name, *_), found in sorted(self.found.items()):
            print(
                f"{name}: {_describe(found.outcome)} ({found.count} times): {found.outcome.detail!r}",
                file=file,
            )

    def write_findings(self, folder: Path) -> None:
        """Make findings smaller, and write each to a file of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        for (name, *_), found in sorted(self.found.items()):
            input = self._minimised(found)
            form = input.to_json() | {"finding": _describe(found.outcome), "detail": found.outcome.detail}
            text = json.dumps(form, indent=1) + "\n"
            _free_name(folder, f"{name} {_describe(found.outcome)}").write_text(text, encoding="utf-8")
        print(f"{len(self.found)} findings are in {folder}")

    def _minimised(self, found: Found) -> Input:
        """Return a small input with a finding."""
        from minimise import minimise

        if found.outcome.kind == "hang":  # each try would take as long as the limit
            return found.input
        if found.outcome.kind == "crash":
            # What one input breaks in memory may kill the process only later, at another input.
            crashes = (input for input in self._before(found) if self._crashes(input))
            culprit = next(crashes, None)
            return found.input if culprit is None else minimise(culprit, self._crashes, SECONDS_TO_MINIMISE)
        return minimise(found.input, partial(self._has, found.outcome), SECONDS_TO_MINIMISE)

    def _has(self, outcome: Outcome, input: Input) -> bool:
        from workers import Listed

        return self.workers[0].do(Listed((input,))).outcomes[0][2].cause == outcome.cause

    def _crashes(self, input: Input) -> bool:
        from workers import Listed

        return self.workers[0].do(Listed((input,)), renew=True).outcomes[0][2].kind == "crash"

    def _before(self, found: Found) -> Iterator[Input]:
        """Yield the input of a finding, then those that the same process may have tried before it."""
        from workers import Numbered

        target = found.input.target
        job = Numbered(target, self.chosen.seed, found.number // BATCH * BATCH, found.number + 1)
        for i in reversed(range(job.start, job.stop)):
            yield job.input(self.targets, i)


if __name__ == "__main__":
    sys.exit(main())
