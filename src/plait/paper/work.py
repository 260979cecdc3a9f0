"""Many sampling runs, in parallel, that can be killed at any moment and gone on with.

A job is one run, or a few, and what is computed from them. Whatever a job returns is written to a file at
once; runs keep checkpoints. So the same command, given again, does only what is not done yet.
"""

from __future__ import annotations

import csv
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plait.errors import PlaitError
from plait.models.model import Model
from plait.progress import show_share
from plait.run import Run
from plait.sampler import Progress, resume, sample
from plait.storage import replacing
from plait.threads import count_threads

Row = dict[str, Any]
"""The settings of a job and what came out of it, by name; numbers, texts, and lists of these."""

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
        """The settings as a text."""
        return json.dumps(self.settings, sort_keys=True)


class Bench:
    """What a job works with: a sampler that keeps checkpoints, tells how far it is, and can be stopped."""

    def __init__(self, job: Job, folder: Path, stop: threading.Event) -> None:
        self._folder, self._stop = folder, stop
        self._name = f"{job.experiment}-{hashlib.sha256(job.key.encode()).hexdigest()[:20]}"
        self._files: list[Path] = []
        self._done = 0.0
        self.share = 0.0  # of the job's work that is done

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
        checkpoint = self._folder / f"{self._name}-{len(self._files)}.plait"
        notes = checkpoint.with_suffix(".json")
        self._files += [checkpoint, notes]
        measured: dict[int, float] = {}
        if notes.exists():
            measured = {int(sweep): value for sweep, value in json.loads(notes.read_text()).items()}

        def follow(progress: Progress) -> bool:
            sweep = progress.state.sweep
            if measure is not None and (sweep % every == 0 or sweep == n_sweeps):
                measured[sweep] = measure(progress)
                with replacing(notes) as temporary:
                    temporary.write_text(json.dumps(measured))
            self.share = self._done + share * sweep / n_sweeps
            return self._stop.is_set()

        if checkpoint.exists():
            own = type(model)  # which need not be one that plait ships
            run = resume(checkpoint, n_sweeps=n_sweeps, n_jobs=1, callback=follow, model_class=own)
        else:
            run = sample(
                model, n_sweeps=n_sweeps, n_jobs=1, callback=follow, checkpoint=checkpoint, **settings
            )
        if run.sweep < n_sweeps:
            raise Stopped
        self._done += share
        return run, measured

    def advance(self, share: float) -> None:
        """Tell that a further share of the job is done, and stop here if that is wanted."""
        self._done += share
        self.share = self._done
        if self._stop.is_set():
            raise Stopped

    def clear(self) -> None:
        """Remove the checkpoints, whose job is done."""
        for path in self._files:
            path.unlink(missing_ok=True)


def run_jobs(jobs: Sequence[Job], folder: Path, *, n_jobs: int | None = None, quiet: bool = False) -> None:
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

    Raises
    ------
    Stopped
        On Ctrl-C.
    """
    work = folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    done = {experiment: _finished(folder, experiment) for experiment in {job.experiment for job in jobs}}
    left = [job for job in jobs if job.key not in done[job.experiment]]
    total = sum(job.cost for job in jobs)
    finished = total - sum(job.cost for job in left)
    stop = threading.Event()
    benches: dict[Future[None], tuple[Job, Bench]] = {}
    with (
        ThreadPoolExecutor(count_threads(n_jobs)) as pool,
        show_share("experiments", finished / max(total, 1e-9), not quiet) as show,
    ):
        for job in left:
            bench = Bench(job, work, stop)
            benches[pool.submit(_do, job, bench, folder, stop)] = job, bench
        waiting = set(benches)
        try:
            while waiting:
                ended, waiting = wait(waiting, _PATIENCE, FIRST_COMPLETED)
                for future in ended:
                    future.result()
                running = sum(job.cost * bench.share for job, bench in benches.values())
                show((finished + running) / max(total, 1e-9))
        except BaseException as error:
            stop.set()
            for future in waiting:
                future.cancel()
            if isinstance(error, KeyboardInterrupt):
                raise Stopped from None
            raise


def _do(job: Job, bench: Bench, folder: Path, stop: threading.Event) -> None:
    if stop.is_set():
        raise Stopped
    begun = time.thread_time()  # of this core: how busy the others are does not matter
    result = dict(job.work(bench))
    seconds = time.thread_time() - begun
    line = json.dumps({"settings": dict(job.settings), "result": result, "seconds": seconds})
    with _WRITING, _results_file(folder, job.experiment).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    bench.share = 1.0
    bench.clear()


_WRITING = threading.Lock()


def _results_file(folder: Path, experiment: str) -> Path:
    return folder / "work" / f"{experiment}.jsonl"


def _finished(folder: Path, experiment: str) -> dict[str, Row]:
    """Return what is done of an experiment, by the key of the job; drop a line that a kill cut short."""
    path = _results_file(folder, experiment)
    rows: dict[str, Row] = {}
    if not path.exists():
        return rows
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        with replacing(path) as temporary:
            temporary.write_text(whole, encoding="utf-8")
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            entry = json.loads(line)
            key = json.dumps(entry["settings"], sort_keys=True)
            rows[key] = {**entry["settings"], **entry["result"], "seconds": entry["seconds"]}
        except (ValueError, KeyError, TypeError):
            raise PlaitError(f"{path}:{number}: not a result; take the line out, or the file") from None
    return rows


def collect(jobs: Iterable[Job], folder: Path) -> list[Row]:
    """Return the rows of those jobs that are done, in the order of the jobs."""
    jobs = list(jobs)
    done = {experiment: _finished(folder, experiment) for experiment in {job.experiment for job in jobs}}
    return [done[job.experiment][job.key] for job in jobs if job.key in done[job.experiment]]


def write_rows(rows: Sequence[Row], folder: Path, name: str) -> None:
    """Write rows as JSON and, but for the lists in them, as CSV."""
    with replacing(folder / f"{name}.json") as temporary:
        lines = ",\n".join(json.dumps(row) for row in rows)
        temporary.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    columns = [
        column for column in columns if not any(isinstance(row.get(column), (list, dict)) for row in rows)
    ]
    with replacing(folder / f"{name}.csv") as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
