"""Runs of Algorithms 1 and 2 of the paper, with a trace, checkpoints and Ctrl-C.

The algorithms themselves, one sweep at a time, are in `plait.models.sweeps`. Both sample phi from
P(phi) P(w | phi)^m. Nothing here depends on the model: any `plait.models.model.Model` can be run.

A run is determined by the model, the seed, the number of paths and the algorithm. What happened before a
sweep matters only through the paths, so a run resumes from its saved paths as if it had never stopped.
"""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_paths
from plait.checks import check_flag, check_integer, check_number
from plait.errors import PlaitError
from plait.interrupts import interrupt_flag
from plait.models.model import Model, Paths, SearchingModel, unchecked
from plait.models.sweeps import State, step, sweeps
from plait.names import check_names
from plait.outputs import claimed, previous_name
from plait.run import FitState, Loaded, Run, Settings, Trace
from plait.storage import is_model
from plait.threads import Threads
from plait.version import __version__

__all__ = [
    "CHECKPOINT_SECONDS",
    "Callback",
    "CheckpointError",
    "Checkpoints",
    "Interrupted",
    "Progress",
    "State",
    "log_joint",
    "resume_run",
    "sample",
    "start_run",
    "step",
]

CHECKPOINT_SECONDS = 30.0


@dataclass(frozen=True)
class Progress:
    """Progress of a run, passed to a callback after every sweep and every step of a search.

    Attributes
    ----------
    state : State
        The state after the sweep; during a search, sweep 0 with paths of shape (m, 0).
    n_sweeps : int
        Total number of sweeps of the run.
    seconds : float
        Time the run has taken, including the time before it was resumed.
    trace : Trace
        The records so far.
    stage : str
        The part of the fit that the sweeps belong to, such as "restart 2 of 5"; empty if there is only one.
    unit : str
        The unit that is counted: "sweep", or "EM iteration".
    search : tuple of int, optional
        During a search for a starting point, the number of steps done and the total; otherwise None.
    """

    state: State
    n_sweeps: int
    seconds: float
    trace: Trace
    stage: str = ""
    unit: str = "sweep"
    search: tuple[int, int] | None = None


Callback = Callable[[Progress], object]


class CheckpointError(PlaitError):
    """A checkpoint could not be written. The run was stopped; `run` holds the result so far."""

    def __init__(self, message: str | PlaitError, run: Run) -> None:
        super().__init__(message)
        self.run = run


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. The sweep was finished; `run` holds the result so far and can be resumed.

    Attributes
    ----------
    run : Run
        The run.
    number : int
        The number of the signal: SIGINT or, in a block of `plait.interrupts.handled_terminations`, another.
    """

    def __init__(self, run: Run, number: int = signal.SIGINT) -> None:
        super().__init__(f"interrupted after {run.position}")
        self.run = run
        self.number = number


def log_joint(model: Model[Any, Any], state: State, threads: Threads) -> NDArray[np.float64]:
    """Return log P(p^j, w | phi) for every path: phi as last drawn, or its mean where none was drawn."""
    check_paths(state.paths, model.n_sites, model.n_states)
    parameters = state.parameters
    if parameters is None:
        counts = unchecked(model.count)(state.paths, threads) if state.counts is None else state.counts
        parameters = model.mean_parameters(counts, threads)
    return unchecked(model.log_joint)(state.paths, parameters, threads)


def sample(
    model: Model[Any, Any],
    *,
    n_paths: int = 5,
    n_sweeps: int = 1000,
    seed: int = 0,
    collapsed: bool = False,
    thin: int = 10,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    keep_previous: bool = False,
    overwrite: bool = False,
    names: Mapping[int, str] | None = None,
) -> Run:
    """Run a multipath Gibbs sampler.

    Parameters
    ----------
    model : Model
        The model to sample.
    n_paths : int
        Number of paths m; 1 is the ordinary Gibbs sampler.
    n_sweeps : int
        Number of sweeps over the data.
    seed : int
        Seed of the random streams. The same seed gives the same bits on any number of threads.
    collapsed : bool
        Algorithm 2 instead of Algorithm 1. It is sequential and does not use threads within a sweep.
    thin : int
        The trace is recorded every `thin` sweeps, and after the last.
    n_jobs : int, optional
        Number of threads; all cores by default.
    callback : callable, optional
        Called with a `Progress` after every sweep; a true result ends the run there. If the model searches
        for a starting point first, it is also called after each step of the search, with `Progress.search`
        set; its result is then ignored.
    checkpoint : path, optional
        File to which the run is saved, every `checkpoint_seconds` and at the end. It is replaced atomically,
        so it is complete at any moment; `plait.resume` resumes it.
    checkpoint_seconds : float
        Time between two checkpoints, longer if writing one takes long; 0 writes one after every sweep.
    keep_previous : bool
        Whether the checkpoint before the newest is kept, too, with ".previous" added to its name. If the
        newest is damaged, `plait.load` and `plait.resume` take that one. It doubles the space on disk.
    overwrite : bool
        Whether the checkpoint may replace a file that exists.
    names : mapping of int to str, optional
        Names of topics or states by number, such as those of seeded topics; see `Run.named`.

    Returns
    -------
    Run

    Raises
    ------
    Interrupted
        On Ctrl-C, after the sweep is finished and the checkpoint written.
    CheckpointError
        If the checkpoint cannot be written; the previous one is unchanged.
    """
    check_integer("n_paths", n_paths, least=1)
    settings = Settings(n_paths=n_paths, n_sweeps=n_sweeps, seed=seed, collapsed=collapsed, thin=thin)
    checkpoints = Checkpoints(checkpoint, checkpoint_seconds, keep_previous=keep_previous)
    with checkpoints.claimed(overwrite=overwrite):
        return start_run(
            model, settings, n_jobs=n_jobs, callback=callback, checkpoints=checkpoints, names=names
        )


def start_run(
    model: Model[Any, Any],
    settings: Settings,
    fit: FitState | None = None,
    *,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
    names: Mapping[int, str] | None = None,
) -> Run:
    """Start a run as `sample` does; `fit` is the state of the fit it belongs to, stored with the run."""
    names = check_names({} if names is None else names, model.n_states)  # before a search, which takes long
    with Threads(n_jobs) as threads:
        begun = time.perf_counter()
        paths = _first_paths(model, settings, threads, callback)
        seconds = time.perf_counter() - begun
        run = Run(model, paths, 0, settings, Trace.empty(settings.n_paths), seconds, fit=fit, names=names)
        return _drive(run, paths, threads, callback, checkpoints)


def _first_paths(
    model: Model[Any, Any], settings: Settings, threads: Threads, callback: Callback | None
) -> Paths:
    """Return the initial paths; a search for them is reported to the callback.

    Ctrl-C takes effect at once here: there is no run yet that could be resumed.
    """
    if callback is None or not getattr(model, "searches", False):
        return model.initial_paths(settings.n_paths, settings.seed, threads)
    started = time.perf_counter()
    nowhere, trace = State(0, np.empty((settings.n_paths, 0), np.uint16)), Trace.empty(settings.n_paths)

    def report(done: int, total: int) -> None:
        seconds = time.perf_counter() - started
        callback(Progress(nowhere, settings.n_sweeps, seconds, trace, search=(done, total)))

    searching = cast(SearchingModel[Any, Any], model)
    return searching.initial_paths(settings.n_paths, settings.seed, threads, report=report)


def resume_run(
    run: Run,
    paths: Paths,
    *,
    n_sweeps: int | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
) -> Run:
    """Run the remaining sweeps, updating `paths` in place; see `plait.fitting.resume`."""
    total = run.settings.n_sweeps if n_sweeps is None else n_sweeps
    total = check_integer("n_sweeps", total, least=max(1, run.sweep))
    run = replace(run, settings=replace(run.settings, n_sweeps=total))
    with Threads(n_jobs) as threads:
        return _drive(run, paths, threads, callback, checkpoints)


def _drive(
    run: Run,
    paths: Paths,
    threads: Threads,
    callback: Callback | None,
    checkpoints: Checkpoints | None,
) -> Run:
    """Run the remaining sweeps, updating `paths` in place."""
    model, settings, trace, seconds = run.model, run.settings, run.trace, run.seconds
    state = State(run.sweep, paths)
    started = time.perf_counter() - seconds
    checkpoints = Checkpoints() if checkpoints is None else checkpoints

    def result() -> Run:
        return replace(
            run,
            paths=state.paths,
            sweep=state.sweep,
            trace=trace,
            seconds=seconds,
            version=__version__,
            estimate=None,  # EM starts from the paths after the last sweep
            em_history=(),
            converged=False,
        )

    with interrupt_flag() as interrupted:
        checkpoints.begin(result)
        to_come = sweeps(model, state, settings.n_sweeps - state.sweep, settings, threads)
        for state in to_come:
            seconds = time.perf_counter() - started
            if state.sweep % settings.thin == 0 or state.sweep == settings.n_sweeps:
                trace = trace.appended(state.sweep, seconds, log_joint(model, state, threads))
            stop = callback is not None and callback(Progress(state, settings.n_sweeps, seconds, trace))
            if interrupted.is_set() or stop:
                break
            checkpoints.write_if_due(result)
        recorded = len(trace) > 0 and trace.sweep[-1] == state.sweep
        if state.sweep == settings.n_sweeps and not recorded:  # resumed with no sweeps left
            trace = trace.appended(state.sweep, seconds, log_joint(model, state, threads))
        checkpoints.write(result)
    if interrupted.is_set():
        raise Interrupted(result(), interrupted.number)
    return result()


class Checkpoints:
    """Writes checkpoints of a run at intervals; without a path, none.

    Parameters
    ----------
    path : path, optional
        The file.
    seconds : float
        Time between two checkpoints; see `sample`.
    keep_previous : bool
        Whether the checkpoint before the newest is kept, too.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        seconds: float = CHECKPOINT_SECONDS,
        *,
        keep_previous: bool = False,
    ) -> None:
        self._path = None if path is None else Path(path)
        self._seconds = math.inf if seconds == math.inf else check_number("checkpoint_seconds", seconds)
        self._next = time.perf_counter() + self._seconds
        self._keep_previous = check_flag("keep_previous", keep_previous)
        # Until the first checkpoint is written, the files there may be those of another run.
        self._is_new_run = True
        self._is_kept = False

    def resume(self, loaded: Loaded) -> None:
        """Continue the file of a run: it is the previous checkpoint of the next one, unless it is damaged."""
        self._is_new_run, self._is_kept = False, not loaded.is_previous

    @contextmanager
    def claimed(self, *, overwrite: bool) -> Iterator[None]:
        """Claim the place of the checkpoints while the block runs; see `plait.outputs.claimed`."""
        if self._path is None:
            yield
            return
        previous = previous_name(self._path)
        if self._keep_previous and os.path.lexists(previous) and not is_model(previous):
            raise PlaitError(f"cannot write {previous}: it exists, and is not a checkpoint; move it away")
        with claimed(self._path, overwrite=overwrite, resumable=True):
            yield

    def begin(self, result: Callable[[], Run]) -> None:
        """Write the first checkpoint, if there is no file yet.

        An existing file stays until the first checkpoint that is due replaces it.
        """
        self._next = time.perf_counter() + self._seconds
        if self._path is not None and not self._path.exists():
            self.write(result)

    def write_if_due(self, result: Callable[[], Run]) -> None:
        """Write a checkpoint if the last one is old enough."""
        if time.perf_counter() >= self._next:
            self.write(result)

    def write(self, result: Callable[[], Run]) -> None:
        """Write a checkpoint."""
        if self._path is None:
            return
        run = result()
        begun = time.perf_counter()
        if self._is_new_run and is_model(previous_name(self._path)):
            previous_name(self._path).unlink(missing_ok=True)
        try:
            run.save(self._path, keep_previous=self._keep_previous and self._is_kept)
        except PlaitError as error:
            raise CheckpointError(error, run) from error
        self._is_new_run, self._is_kept = False, True
        now = time.perf_counter()
        # Writing takes at most a twentieth of the time, unless a checkpoint is wanted after every sweep.
        self._next = now + (max(self._seconds, 20 * (now - begun)) if self._seconds else 0.0)
