"""Many sampling runs, in parallel, that can be killed at any moment and gone on with.

A job is one run, or a few, and what is computed from them. Whatever a job returns is written to a file at
once; runs keep checkpoints. So the same command, given again, does only what is not done yet.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait.errors import PlaitError
from plait.fitting.stored import resume
from plait.models.model import Model
from plait.paper.results import Row, add_result, key_of, mend, read_results
from plait.progress import show_share
from plait.run import Run, load
from plait.sampler import Progress, sample
from plait.storage import cannot_write, check_place
from plait.threads import count_threads

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PATIENCE = 0.2  # seconds from one look at the running jobs to the next


class Stopped(KeyboardInterrupt):
    """Ctrl-C: the running jobs were stopped after their sweeps. What is done is kept."""


@dataclass(frozen=True)
class Job:
    """A piece of work.

    Attributes
    ----------
    experiment : str
        What it belongs to; the name of the file of results.
    settings : mapping
        What determines the result, by name: numbers and texts. Two jobs differ in their settings.
    cost : float
        Expected seconds, on one core.
    work : callable
        Given a `Bench`, does the work and returns the result by name: numbers, texts, lists of these.
    """

    experiment: str
    settings: Mapping[str, Any]
    cost: float
    work: Callable[[Bench], Mapping[str, Any]]

    @property
    def key(self) -> str:
        """What tells it from all other jobs."""
        return key_of(self.settings)

    @property
    def file_name(self) -> str:
        """What the names of the job's files begin with."""
        return f"{self.experiment}-{hashlib.sha256(self.key.encode()).hexdigest()[:20]}"


class Bench:
    """What a job works with: a sampler that keeps checkpoints, tells how far it is, and can be stopped.

    Beside the checkpoints are notes: what was measured along the runs, and the time that they took.

    Attributes
    ----------
    share : float
        How much of the job is done.
    inherited : float
        How much of it was done before.
    """

    def __init__(self, job: Job, folder: Path, stop: threading.Event) -> None:
        self._folder, self._name, self._stop = folder, job.file_name, stop
        self._notes = folder / f"{self._name}.json"
        self._runs: list[dict[int, float]] = []  # what was measured, of each
        self._kept: list[dict[int, float]] = []  # the same before
        self._seconds = 0.0  # before
        self._begun = time.thread_time()
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
        """Count the time of the calling thread, from now on."""
        self._begun = time.thread_time()

    @property
    def seconds(self) -> float:
        """Time of this core, earlier attempts included; how busy the others are does not matter."""
        return self._seconds + time.thread_time() - self._begun

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
        """Run a sampler on one thread, or go on with a run that was stopped.

        Parameters
        ----------
        model : Model
            What to sample.
        n_sweeps : int
            Number of sweeps.
        share : float
            The share of the whole job that this run is.
        measure : callable, optional
            Called after every `every` sweeps, and after the last.
        every : int
            Sweeps from one measurement to the next.
        settings
            As for `plait.sample`.

        Returns
        -------
        run : Run
        measured : dict
            What `measure` returned, by the number of the sweep.
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

        begun = load(checkpoint, type(model)) if checkpoint.exists() else None
        due = range(every, begun.sweep + 1, every) if begun is not None and measure is not None else ()
        if begun is not None and measured.keys() >= set(due):
            run = resume(begun, n_sweeps=n_sweeps, n_jobs=1, callback=follow, checkpoint=checkpoint)
        else:
            measured.clear()  # and begin anew where notes were lost
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
        if first_sweep is None:  # it was at its end already
            self.inherited += share
        self._done += share
        self.share = self._done
        return run, measured

    def _keep_notes(self) -> None:
        # Not brought to the disk each time, which takes longer than many sweeps: where a power failure has
        # cut notes short, or lost the last of them, that is recognised, and the run is done anew.
        runs = [*self._runs, *self._kept[len(self._runs) :]]  # and those that are still to be gone on with
        text = json.dumps({"seconds": self.seconds, "runs": runs})
        temporary = self._notes.with_suffix(".new")
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self._notes)
        except OSError as error:
            raise cannot_write(self._notes, error) from error

    def advance(self, share: float) -> None:
        """Tell that a further share of the job is done, and stop here if that is wanted."""
        self._done += share
        self.share = self._done
        if self._stop.is_set():
            self._keep_notes()
            raise Stopped

    def clear(self) -> None:
        """Remove checkpoints and notes of a job that is done."""
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
    """Do all jobs that are not done yet, several at a time.

    Parameters
    ----------
    jobs : sequence of Job
        What to do, the first ones first.
    folder : Path
        Where results and checkpoints are kept.
    n_jobs : int, optional
        How many jobs at a time; as many as there are cores by default.
    quiet : bool
        Whether to show no progress.
    when_done : callable, optional
        Called with the name of an experiment when the last of its jobs is done. What it raises is raised
        when all jobs are done.

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
        raise PlaitError(f"cannot make {work}: {error.strerror}. Choose another place") from None
    check_place(work / "lock")
    failures: list[Exception] = []

    def tell(experiment: str) -> None:
        try:
            when_done(experiment)
        except Exception as error:  # not worth the hours of the other experiments
            failures.append(error)

    stop = threading.Event()
    total = max(sum(job.cost for job in jobs), 1e-9)
    benches: dict[Future[None], tuple[Job, Bench]] = {}
    with (
        _only_process(work),
        ThreadPoolExecutor(n_threads) as pool,
        show_share("experiments", not quiet) as show,
    ):
        finished = {}
        for experiment in {job.experiment for job in jobs}:
            mend(_results_file(folder, experiment))
            finished[experiment] = read_results(_results_file(folder, experiment))
        before = 0.0
        waiting: set[Future[None]] = set()
        to_do = Counter(job.experiment for job in jobs)
        try:
            for job in jobs:
                bench = Bench(job, work, stop)
                if job.key in finished[job.experiment]:
                    before += job.cost
                    to_do[job.experiment] -= 1
                    bench.clear()  # what a kill right after the result has left
                else:
                    benches[pool.submit(_do, job, bench, folder, stop)] = job, bench
            for experiment in [name for name, n in to_do.items() if n == 0]:
                tell(experiment)
            waiting = set(benches)
            while waiting:
                ended, waiting = wait(waiting, _PATIENCE, FIRST_COMPLETED)
                for future in ended:
                    future.result()
                    experiment = benches[future][0].experiment
                    to_do[experiment] -= 1
                    if to_do[experiment] == 0:
                        tell(experiment)
                done = before + sum(job.cost * bench.share for job, bench in benches.values())
                inherited = before + sum(job.cost * bench.inherited for job, bench in benches.values())
                show(done / total, inherited / total)
        except BaseException as error:
            stop.set()
            for future in benches:
                future.cancel()
            if isinstance(error, KeyboardInterrupt):
                raise Stopped from None
            raise
    if failures:
        raise failures[0]


@contextmanager
def _only_process(work: Path) -> Iterator[None]:
    """Keep other processes out of a folder of results, where the system can do that."""
    if fcntl is None:
        yield
        return
    with (work / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlaitError(
                f"another process works in {work.parent}: wait until it is done, or choose another folder"
            ) from None
        except OSError:  # not every file system has locks
            pass
        yield


def _do(job: Job, bench: Bench, folder: Path, stop: threading.Event) -> None:
    if stop.is_set():
        raise Stopped
    bench.start_clock()
    result = job.work(bench)
    add_result(_results_file(folder, job.experiment), job.settings, result, bench.seconds)
    bench.share = 1.0
    bench.clear()


def _results_file(folder: Path, experiment: str) -> Path:
    return folder / "work" / f"{experiment}.jsonl"


def collect(jobs: Iterable[Job], folder: Path) -> list[Row]:
    """Return the rows of those jobs that are done, in the order of the jobs."""
    jobs = list(jobs)
    done = {name: read_results(_results_file(folder, name)) for name in {job.experiment for job in jobs}}
    return [done[job.experiment][job.key] for job in jobs if job.key in done[job.experiment]]
