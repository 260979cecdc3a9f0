"""Runs many samplers in parallel; they can be killed at any moment and resumed.

A job makes one run, or a few, and computes something from them. Its result is written to a file as soon as it
is done, and runs keep checkpoints. So repeating the command does only the remaining work.
"""

from __future__ import annotations

import hashlib
import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait.errors import PlaitError
from plait.fitting.stored import resume
from plait.interrupts import interrupt_flag, signal_number
from plait.models.model import Model
from plait.outputs import cannot_write, check_writable, exclusive
from plait.paper.results import Row, add_result, drop_truncated_line, key_of, read_results
from plait.progress import show_share
from plait.run import Run, load
from plait.sampler import Progress, sample
from plait.threads import count_threads

_WAIT = "wait until it is done, or choose another folder"
_POLL_SECONDS = 0.2  # interval at which the running jobs are polled


class Stopped(KeyboardInterrupt):
    """Ctrl-C: the running jobs stopped after their current sweeps. Finished work is kept.

    Attributes
    ----------
    number : int
        The number of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.number = number


@dataclass(frozen=True)
class Job:
    """A unit of work with one result.

    Attributes
    ----------
    experiment : str
        The experiment to which it belongs; also the name of the results file.
    settings : mapping
        Everything that determines the result, by name: numbers and strings. No two jobs have the same.
    cost : float
        Expected seconds on one core.
    work : callable
        Does the work, given a `JobContext`, and returns the result by name: numbers, strings, lists of these.
    """

    experiment: str
    settings: Mapping[str, Any]
    cost: float
    work: Callable[[JobContext], Mapping[str, Any]]

    @property
    def key(self) -> str:
        """The settings and plait's version as a string: the identity of the job."""
        return key_of(self.settings)

    @property
    def file_name(self) -> str:
        """Prefix of the names of the job's files."""
        return f"{self.experiment}-{hashlib.sha256(self.key.encode()).hexdigest()[:20]}"


class JobContext:
    """The environment of a job: a sampler that writes checkpoints, reports progress and can be stopped.

    Besides the checkpoints it keeps notes: the measurements along the runs, and the time the runs took.

    Attributes
    ----------
    share : float
        Share of the job that is done.
    inherited : float
        Share of the job that an earlier attempt did.
    """

    def __init__(self, job: Job, folder: Path, stop: threading.Event) -> None:
        self._folder, self._name, self._stop = folder, job.file_name, stop
        self._notes = folder / f"{self._name}.json"
        self._runs: list[dict[int, float]] = []  # the measurements of each run
        self._kept: list[dict[int, float]] = []  # those of an earlier attempt
        self._seconds = 0.0  # time of earlier attempts
        self._started = time.thread_time()
        self._done = 0.0
        self.share = self.inherited = 0.0
        try:
            notes = json.loads(self._notes.read_text(encoding="utf-8"))
            self._kept = [{int(sweep): value for sweep, value in run.items()} for run in notes["runs"]]
            self._seconds = float(notes["seconds"])
        except FileNotFoundError:
            pass
        except (ValueError, TypeError, KeyError, AttributeError):  # cut short by a power failure
            self.clear()

    def start_clock(self) -> None:
        """Start counting the time of the calling thread."""
        self._started = time.thread_time()

    @property
    def seconds(self) -> float:
        """Processor time of the job, earlier attempts included; it does not depend on other processes."""
        return self._seconds + time.thread_time() - self._started

    def sample(
        self,
        model: Model[Any, Any],
        *,
        n_sweeps: int,
        share: float = 1.0,
        measure: Callable[[Progress], float] | None = None,
        every: int = 1,
        **settings: Any,
    ) -> tuple[Run, dict[int, float]]:
        """Run a sampler on one thread, or resume a run that was stopped.

        Parameters
        ----------
        model : Model
            The model to sample.
        n_sweeps : int
            Number of sweeps.
        share : float
            Share of this run in the work of the job.
        measure : callable, optional
            Called every `every` sweeps and after the last.
        every : int
            Sweeps from one measurement to the next.
        settings
            Passed to `plait.sample`.

        Returns
        -------
        run : Run
        measured : dict
            The results of `measure`, by sweep.
        """
        number = len(self._runs)
        checkpoint = self._folder / f"{self._name}-{number}.plait"
        measured = dict(self._kept[number]) if number < len(self._kept) else {}
        self._runs.append(measured)
        first_sweep: int | None = None

        def follow(progress: Progress) -> bool:
            nonlocal first_sweep
            sweep = progress.state.sweep
            if first_sweep is None:
                first_sweep = sweep
                self.inherited += share * (sweep - 1) / n_sweeps
            if measure is not None and (sweep % every == 0 or sweep == n_sweeps):
                measured[sweep] = measure(progress)
                self._keep_notes()
            self.share = self._done + share * sweep / n_sweeps
            return self._stop.is_set()

        partial = load(checkpoint, type(model)) if checkpoint.exists() else None
        due = range(every, partial.sweep + 1, every) if partial is not None and measure is not None else ()
        if partial is not None and measured.keys() >= set(due):
            run = resume(partial, n_sweeps=n_sweeps, n_jobs=1, callback=follow, checkpoint=checkpoint)
        else:
            measured.clear()  # notes were lost, so the run starts again
            run = sample(
                model,
                n_sweeps=n_sweeps,
                n_jobs=1,
                callback=follow,
                checkpoint=checkpoint,
                overwrite=True,
                **settings,
            )
        self._keep_notes()
        if run.sweep < n_sweeps:
            raise Stopped
        if first_sweep is None:  # the run was finished already
            self.inherited += share
        self._done += share
        self.share = self._done
        return run, measured

    def _keep_notes(self) -> None:
        # Without fsync, which takes longer than many sweeps. If a power failure truncates the notes or loses
        # the last of them, that is detected, and the run starts again.
        runs = [*self._runs, *self._kept[len(self._runs) :]]  # including runs that are not resumed yet
        text = json.dumps({"seconds": self.seconds, "runs": runs})
        temporary = self._notes.with_suffix(".new")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self._notes)
        except OSError as error:
            raise cannot_write(self._notes, error) from error

    def advance(self, share: float) -> None:
        """Record that a further share of the job is done, and stop if asked to."""
        self._done += share
        self.share = self._done
        if self._stop.is_set():
            self._keep_notes()
            raise Stopped

    def clear(self) -> None:
        """Remove the checkpoints and notes of a finished job."""
        for path in self._folder.glob(f"{self._name}*"):
            path.unlink(missing_ok=True)


def run_jobs(
    jobs: Sequence[Job],
    folder: Path,
    *,
    n_jobs: int | None = None,
    quiet: bool = False,
    when_done: Callable[[str], object] = lambda experiment: None,
) -> None:
    """Run all unfinished jobs, several at a time.

    Parameters
    ----------
    jobs : sequence of Job
        The jobs, in the order in which they start.
    folder : Path
        Folder for results and checkpoints.
    n_jobs : int, optional
        Number of simultaneous jobs; all cores by default.
    quiet : bool
        Whether to hide progress.
    when_done : callable, optional
        Called with the name of an experiment when its last job is done. An exception in it is raised again
        after all jobs are done.

    Raises
    ------
    Stopped
        On Ctrl-C.
    """
    n_threads = count_threads(n_jobs)
    work = folder / "work"
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlaitError(f"cannot create {work}: {error.strerror}. Choose another place") from None
    check_writable(work / "lock")
    failures: list[Exception] = []

    def finish(experiment: str) -> None:
        try:
            when_done(experiment)
        except Exception as error:  # the other experiments may take hours and should not be lost
            failures.append(error)

    stop = threading.Event()
    total = max(sum(job.cost for job in jobs), 1e-9)
    running: dict[Future[None], tuple[Job, JobContext]] = {}
    with (
        interrupt_flag("sweeps") as interrupted,
        exclusive(work / "lock", f"another process is working in {folder}: {_WAIT}"),
        ThreadPoolExecutor(n_threads) as pool,
        show_share("experiments", not quiet) as show,
    ):
        finished = {}
        for experiment in {job.experiment for job in jobs}:
            drop_truncated_line(_results_file(folder, experiment))
            finished[experiment] = read_results(_results_file(folder, experiment))
        before = 0.0
        waiting: set[Future[None]] = set()
        to_do = Counter(job.experiment for job in jobs)
        try:
            for job in jobs:
                context = JobContext(job, work, stop)
                if job.key in finished[job.experiment]:
                    before += job.cost
                    to_do[job.experiment] -= 1
                    context.clear()  # files that remain after a kill right after the result was written
                else:
                    running[pool.submit(_do, job, context, folder, stop)] = job, context
            for experiment in [name for name, n in to_do.items() if n == 0]:
                finish(experiment)
            waiting = set(running)
            while waiting and not interrupted.is_set():
                ended, waiting = wait(waiting, _POLL_SECONDS, FIRST_COMPLETED)
                for future in ended:
                    future.result()
                    experiment = running[future][0].experiment
                    to_do[experiment] -= 1
                    if to_do[experiment] == 0:
                        finish(experiment)
                done = before + sum(job.cost * context.share for job, context in running.values())
                inherited = before + sum(job.cost * context.inherited for job, context in running.values())
                show(done / total, inherited / total)
            if interrupted.is_set():
                raise Stopped(interrupted.number)
        except BaseException as error:
            stop.set()
            for future in running:
                future.cancel()
            if isinstance(error, KeyboardInterrupt):
                raise Stopped(signal_number(error)) from None
            raise
    if failures:
        raise failures[0]


def _do(job: Job, context: JobContext, folder: Path, stop: threading.Event) -> None:
    if stop.is_set():
        raise Stopped
    context.start_clock()
    result = job.work(context)
    add_result(_results_file(folder, job.experiment), job.settings, result, context.seconds)
    context.share = 1.0
    context.clear()


def _results_file(folder: Path, experiment: str) -> Path:
    return folder / "work" / f"{experiment}.jsonl"


def collect(jobs: Iterable[Job], folder: Path) -> list[Row]:
    """Return the rows of the finished jobs, in the order of the jobs."""
    jobs = list(jobs)
    done = {name: read_results(_results_file(folder, name)) for name in {job.experiment for job in jobs}}
    return [done[job.experiment][job.key] for job in jobs if job.key in done[job.experiment]]
