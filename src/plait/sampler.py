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

from plait.checks import check_flag, check_integer, check_number
from plait.engine import (
    Distributed,
    Engine,
    InProcess,
    Workers,
    check_cluster,
    check_stages,
    on_first_process,
    use_workers,
)
from plait.errors import Argument, PlaitError
from plait.interrupts import interrupt_flag
from plait.mapped import check_folder, new_array
from plait.models.late import LateSums
from plait.models.model import FillingModel, Model, Paths, SearchingModel
from plait.models.sweeps import State, SweepSettings, log_joint, step
from plait.names import check_names
from plait.outputs import claimed, previous_name
from plait.plans import Plan, Settings, Stage, check_stages_for
from plait.run import FitState, Loaded, Optimum, Run
from plait.storage import is_model
from plait.threads import Threads
from plait.trace import Trace
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

LEARN_EVERY = 10
"""Stages that learn priors do so every so many sweeps, which takes less than 2 % of their time."""

SETTLED_RECORDS = 5
"""Records of the trace over which log-likelihoods are averaged to see whether they still improve."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run, passed to a callback after every sweep and every step of a search.

    Attributes
    ----------
    state : State
        The state after the sweep; during a search, sweep 0. Then, and on a cluster, its paths have the shape
        (m, 0).
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
    max_seconds : float, optional
        For a run that is given a time, that time; `n_sweeps` is then not known in advance.
    n_sites : int
        Number of sites of the model, for likelihoods per site; 0 where there are none.
    """

    state: State
    n_sweeps: int
    seconds: float
    trace: Trace
    stage: str = ""
    unit: str = "sweep"
    search: tuple[int, int] | None = None
    max_seconds: float | None = None
    n_sites: int = 0


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


def sample(
    model: Model[Any, Any],
    *,
    n_paths: int | Plan = 5,
    n_sweeps: int | None = None,
    seed: int = 0,
    collapsed: bool = False,
    thin: int = 10,
    max_seconds: float | None = None,
    tol: float | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    keep_previous: bool = False,
    overwrite: bool = False,
    names: Mapping[int, str] | None = None,
    paths_in: str | PathLike[str] | None = None,
    cluster: Any = None,
) -> Run:
    """Run a multipath Gibbs sampler.

    Parameters
    ----------
    model : Model
        The model to sample.
    n_paths : int or Plan
        Number of paths m; 1 is the ordinary Gibbs sampler. Or a plan: the stages of the run.
    n_sweeps : int, optional
        Number of sweeps over the data, 1000 by default; for a plan, its own number by default, else its
        stages are scaled to this number.
    seed : int
        Seed of the random streams. The same seed gives the same bits on any number of threads.
    collapsed : bool
        Algorithm 2 instead of Algorithm 1. It is sequential and does not use threads within a sweep. The
        stages of a plan name their samplers themselves.
    thin : int
        The trace is recorded every `thin` sweeps, and after the last.
    max_seconds : float, optional
        Time for the run. Each stage lasts for its share of it instead of a number of sweeps, and makes at
        least one sweep. `Run.settings.plan` then holds the numbers of sweeps that were made: a run with that
        plan has the same bits.
    tol : float, optional
        A stage that does not average ends early when the log-likelihood per site, averaged over a few
        records of the trace, gains less than this. By default no stage ends early.
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
    paths_in : path, optional
        A folder: the paths, 2 bytes per site and path, are kept there in a memory-mapped file instead of in
        memory, so that the system can write them to the disk. The file has no name, and is gone when nothing
        needs the paths any more, even if the process is killed. The bits are the same.
    cluster : str or distributed.Client, optional
        Where the sweeps are computed, if not by threads of this process: "local:N" for N processes on this
        machine, the address of a Dask scheduler or a client, or "mpi" under mpirun. The bits are the same,
        see docs/cluster.md. Stages must be partially collapsed and must not average, and `Progress.state` has
        no paths. Under mpirun, all processes call this function: the first drives, and all get the result.

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
    plan = _plan_of(n_paths, n_sweeps, collapsed)
    settings = Settings.of_plan(plan, seed, thin, max_seconds, tol)
    check_stages_for(model, settings.stages)
    folder = check_folder("paths_in", paths_in)
    checkpoints = Checkpoints(checkpoint, checkpoint_seconds, keep_previous=keep_previous)
    check_cluster(cluster)
    if cluster is not None:
        check_stages(model, settings.stages)  # before workers are started

    def drive() -> Run:
        with checkpoints.claimed(overwrite=overwrite), use_workers(cluster, n_jobs) as workers:
            return start_run(
                model,
                settings,
                n_jobs=n_jobs,
                callback=callback,
                checkpoints=checkpoints,
                names=names,
                paths_in=folder,
                workers=workers,
            )

    return on_first_process(cluster, drive)


def _plan_of(n_paths: int | Plan, n_sweeps: int | None, collapsed: bool) -> Plan:
    if isinstance(n_paths, Plan):
        if collapsed:
            raise PlaitError("the stages of a plan name their samplers: leave out ", Argument("collapsed"))
        return n_paths if n_sweeps is None else n_paths.lasting(n_sweeps)
    sweeps = check_integer("n_sweeps", 1000 if n_sweeps is None else n_sweeps, least=1)
    return Plan([Stage("collapsed" if collapsed else "partially-collapsed", n_paths, sweeps)])


def start_run(
    model: Model[Any, Any],
    settings: Settings,
    fit: FitState | None = None,
    *,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
    names: Mapping[int, str] | None = None,
    paths_in: Path | None = None,
    optimum: Optimum | None = None,
    workers: Workers | None = None,
) -> Run:
    """Start a run as `sample` does; `fit` is the state of the fit it belongs to, stored with the run.

    Paths are kept in files in the folder `paths_in`, if given. `optimum` is what a search for the start saw.
    `workers` compute the sweeps, if given.
    """
    if workers is not None:
        check_stages(model, settings.stages)
    names = check_names({} if names is None else names, model.n_states)  # before a search, which takes long
    with Threads(n_jobs) as threads:
        begun = time.perf_counter()
        paths = _first_paths(model, settings, threads, callback, paths_in)
        seconds = time.perf_counter() - begun
        trace = Trace.empty(settings.most_paths)
        run = Run(model, paths, 0, settings, trace, seconds, fit=fit, names=names, optimum=optimum)
        return _drive(run, _engine(run, paths, threads, paths_in, workers), callback, checkpoints)


def _first_paths(
    model: Model[Any, Any],
    settings: Settings,
    threads: Threads,
    callback: Callback | None,
    paths_in: Path | None,
) -> Paths:
    """Return the initial paths; a search for them is reported to the callback.

    Ctrl-C takes effect at once here: there is no run yet that could be resumed.
    """
    n_paths = settings.paths_after(0)
    if paths_in is not None and _fills(model):
        paths = new_array((n_paths, model.n_sites), np.uint16, paths_in)
        cast(FillingModel[Any, Any], model).fill_initial_paths(paths, settings.seed, threads)
        return paths
    drawn = _drawn_paths(model, n_paths, settings, threads, callback)
    if paths_in is None:
        return drawn
    paths = new_array(drawn.shape, drawn.dtype, paths_in)
    paths[...] = drawn
    return paths


def _fills(model: Model[Any, Any]) -> bool:
    """Return whether a model fills paths as it draws them: a subclass may replace only one of the methods."""
    for kind in type(model).__mro__:
        if "fill_initial_paths" in vars(kind):
            return True
        if "initial_paths" in vars(kind):
            return False
    return False


def _drawn_paths(
    model: Model[Any, Any], n_paths: int, settings: Settings, threads: Threads, callback: Callback | None
) -> Paths:
    if callback is None or not getattr(model, "searches", False):
        return model.initial_paths(n_paths, settings.seed, threads)
    started = time.perf_counter()
    nowhere, trace = State(0, np.empty((n_paths, 0), np.uint16)), Trace.empty(settings.most_paths)

    def report(done: int, total: int) -> None:
        seconds = time.perf_counter() - started
        callback(Progress(nowhere, settings.n_sweeps, seconds, trace, search=(done, total)))

    searching = cast(SearchingModel[Any, Any], model)
    return searching.initial_paths(n_paths, settings.seed, threads, report=report)


def resume_run(
    run: Run,
    paths: Paths,
    *,
    n_sweeps: int | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoints: Checkpoints | None = None,
    paths_in: Path | None = None,
    workers: Workers | None = None,
) -> Run:
    """Run the remaining sweeps, updating `paths` in place; see `plait.fitting.resume`.

    Paths of stages with another number of them are kept in files in the folder `paths_in`, if given;
    `workers` compute the sweeps, if given.
    """
    if n_sweeps is not None:
        total = check_integer("n_sweeps", n_sweeps, least=max(1, run.sweep))
        run = run.lasting(total)
    if workers is not None:
        check_stages(run.model, run.settings.stages_after(run.sweep))
    with Threads(n_jobs) as threads:
        return _drive(run, _engine(run, paths, threads, paths_in, workers), callback, checkpoints)


def _engine(
    run: Run, paths: Paths, threads: Threads, paths_in: Path | None, workers: Workers | None
) -> Engine:
    """Return the engine for the remaining sweeps of a run."""
    if workers is None:
        return InProcess(State(run.sweep, paths, parameters=run.drawn), threads, paths_in)
    return Distributed(workers, run.model, paths, run.sweep, threads, paths_in)


def _drive(run: Run, engine: Engine, callback: Callback | None, checkpoints: Checkpoints | None) -> Run:
    """Run the remaining sweeps."""
    course = _Course(run, engine)
    checkpoints = Checkpoints() if checkpoints is None else checkpoints
    with interrupt_flag() as interrupted:
        checkpoints.begin(course.result)
        while not course.finished:
            course.advance()
            stop = callback is not None and callback(course.progress())
            if interrupted.is_set() or stop:
                break
            checkpoints.write_if_due(course.result)
        if course.finished:
            course.record()  # unless it is recorded already; it is not if no sweeps were left
        checkpoints.write(course.result)
    if interrupted.is_set():
        raise Interrupted(course.result(), interrupted.number)
    return course.result()


class _Course:
    """A run in progress: all that a sweep changes.

    Parameters
    ----------
    run : Run
        The run as it starts or resumes.
    engine : Engine
        Computes the sweeps, and has the paths.
    """

    def __init__(self, run: Run, engine: Engine) -> None:
        self._run, self._engine = run, engine
        self._model: Any = run.model
        self._settings, self._trace, self._late, self._seconds = (
            run.settings,
            run.trace,
            run.late,
            run.seconds,
        )
        self._started = time.perf_counter() - run.seconds
        if self._late is None and any(stage.average for stage in self._settings.stages):
            self._late = LateSums.empty(self._model)

    @property
    def finished(self) -> bool:
        """Whether no sweep is left."""
        return self._sweep >= self._settings.n_sweeps

    @property
    def _sweep(self) -> int:
        return self._engine.state.sweep

    def advance(self) -> None:
        """Make one sweep, and what belongs to it: learning, averaging, recording, ending a stage."""
        k, within = self._settings.place_of(self._sweep + 1)
        stage = self._settings.stages[k]
        algorithm = SweepSettings(self._settings.seed, stage.collapsed, stage.partitioned)
        self._engine.advance(self._model, algorithm, stage.paths_in(within))
        if stage.learn_priors and within % LEARN_EVERY == 0:
            self._model = self._engine.with_learnt_priors(self._model)
        if self._late is not None and stage.average:
            self._late = self._engine.with_late(self._late, self._model)
        self._seconds = time.perf_counter() - self._started
        if self._settings.deadlines:
            self._follow_clock(k, within)
        if self._sweep % self._settings.thin == 0 or self.finished:
            self.record()
            if self._settings.tol is not None and not stage.average and self._has_settled(within):
                self._settings = self._settings.with_sweeps(k, within)

    def _follow_clock(self, k: int, within: int) -> None:
        """End stage k, which has made `within` sweeps, if its time is over; else let it make one more."""
        is_over = self._seconds >= self._settings.deadlines[k]
        if is_over or within == self._settings.stages[k].sweeps:
            self._settings = self._settings.with_sweeps(k, within if is_over else within + 1)

    def _has_settled(self, within: int) -> bool:
        """Return whether the likelihood has stopped improving in this stage, after `within` sweeps of it."""
        in_stage = self._trace.sweep > self._sweep - within
        log_joints = self._trace.mean_log_joint()[in_stage] / max(1, self._model.n_sites)
        if len(log_joints) < 2 * SETTLED_RECORDS:
            return False
        gain = (
            log_joints[-SETTLED_RECORDS:].mean() - log_joints[-2 * SETTLED_RECORDS : -SETTLED_RECORDS].mean()
        )
        return bool(gain < self._settings.tol)

    def record(self) -> None:
        """Add a record to the trace, unless the sweep has one already."""
        if len(self._trace) and self._trace.sweep[-1] == self._sweep:
            return
        self._trace = self._trace.appended(
            self._sweep,
            self._seconds,
            self._engine.log_joint(self._model),
            self._model.priors() if self._settings.learns_priors else None,
        )

    def progress(self) -> Progress:
        """Return the progress for callbacks."""
        settings, stage = self._settings, ""
        if len(settings.stages) > 1:
            k, _ = settings.place_of(self._sweep)
            stage = f"stage {k + 1} of {len(settings.stages)}"
        end = settings.deadlines[-1] if settings.deadlines else None
        return Progress(
            self._engine.state,
            settings.n_sweeps,
            self._seconds,
            self._trace,
            stage=stage,
            max_seconds=end,
            n_sites=self._model.n_sites,
        )

    def result(self) -> Run:
        """Return the run so far."""
        return replace(
            self._run,
            model=self._model,
            paths=self._engine.paths(),
            sweep=self._sweep,
            settings=self._settings,
            trace=self._trace,
            seconds=self._seconds,
            late=self._late,
            drawn=self._engine.drawn(self._model),
            version=__version__,
            estimate=None,  # EM starts from the paths after the last sweep
            em_history=(),
            converged=False,
        )


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
