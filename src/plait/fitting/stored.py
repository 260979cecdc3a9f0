"""Fits with restarts and EM that are stored in a file and resumed from it.

The file holds the current run and, with it, the seeds of all restarts, the scores of those that are finished
and the best of them. So a fit that was interrupted, or even killed, ends with the bits of one that was not.
After sampling, EM is quick and not stored halfway: it is repeated from the paths. EM alone is stored with
its iterations so far.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from plait.checks import check_integer, check_number
from plait.em import ExpectationModel
from plait.engine import Workers, check_cluster, check_stages, on_first_process, use_workers
from plait.errors import Argument, NotSupported, PlaitError
from plait.fitting.monitor import ConvergenceMonitor
from plait.fitting.plan import (
    Fit,
    Plan,
    Start,
    draw_seed,
    finish,
    random_start,
    run_without_paths,
    searched_start,
)
from plait.interrupts import signal_number
from plait.mapped import check_folder, new_array
from plait.models.model import Model, Paths
from plait.models.sweeps import State
from plait.outputs import previous_name
from plait.run import FitState, Run, load_with_paths
from plait.sampler import (
    CHECKPOINT_SECONDS,
    Callback,
    Checkpoints,
    Interrupted,
    Progress,
    resume_run,
    start_run,
)
from plait.storage import check_readable, is_model
from plait.threads import Threads
from plait.trace import Trace

MAX_RANDOM_STATE = 2**32 - 1
"""NumPy's RandomState, which scikit-learn's estimators draw seeds from, takes no larger seed."""


def draw_seeds(random: np.random.RandomState, n_init: int, plan: Plan) -> tuple[tuple[int, int], ...]:
    """Return the seeds of the initial parameters and of the run, for each restart."""
    return tuple((draw_seed(random), draw_seed(random) if plan.n_paths else 0) for _ in range(n_init))


def fit_and_store(
    model: Model[Any, Any],
    plan: Plan,
    path: str | PathLike[str],
    *,
    seed: int,
    n_init: int = 1,
    tol: float = 1e-2,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    keep_previous: bool = False,
    cluster: Any = None,
) -> Run:
    """Fit a model with random restarts in a file, from which `resume` continues after an interruption.

    Parameters
    ----------
    model : Model
        A model with initial parameters and a likelihood, such as `HmmModel`.
    plan : Plan
        The steps of the fit from each start.
    path : path
        The file, replaced if it exists.
    seed : int
        Determines the seeds of all restarts, as `random_state` does in the estimators.
    n_init : int
        Number of random restarts; the fit with the highest likelihood is kept.
    tol : float
        EM stops when an iteration raises the log-likelihood by less than this.
    n_jobs, callback, checkpoint_seconds, keep_previous, cluster
        As for `plait.sample`. EM that follows the sampler runs in this process.

    Returns
    -------
    Run
        The best run, as stored in the file.

    Raises
    ------
    Interrupted
        On Ctrl-C. The file holds what is needed to resume.
    """
    check_integer("seed", seed, least=0, most=MAX_RANDOM_STATE)
    check_integer("n_init", n_init, least=1)
    check_number("tol", tol)
    seeds = draw_seeds(np.random.RandomState(seed), n_init, plan)
    state = FitState(seeds, plan.em_iterations, tol, seed)
    checkpoints = Checkpoints(path, checkpoint_seconds, keep_previous=keep_previous)
    check_cluster(cluster)
    if cluster is not None and not plan.n_paths:
        raise NotSupported("EM alone does not run on a cluster: leave out ", Argument("cluster"))
    if cluster is not None:
        check_stages(model, plan.settings(seed).stages)  # before a search, which takes long

    def drive() -> Run:
        with checkpoints.claimed(overwrite=True), use_workers(cluster, n_jobs) as workers:
            return StoredFit(model, plan, checkpoints, n_jobs, callback, workers=workers).complete(state)

    return on_first_process(cluster, drive)


def resume(
    run: Run | str | PathLike[str],
    *,
    n_sweeps: int | None = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    keep_previous: bool | None = None,
    paths_in: str | PathLike[str] | None = None,
    model_class: type[Model[Any, Any]] | None = None,
    cluster: Any = None,
) -> Run:
    """Resume a run; it ends with exactly the bits of a run that was never interrupted.

    A run of a fit that is stored in a file, as `plait fit hmm` makes it, is resumed to the end of that fit:
    EM and the restarts that are left. A run of an estimator is resumed without EM.

    Parameters
    ----------
    run : Run or path
        An unfinished run, or a finished one together with a larger `n_sweeps`; or the file of one, which is
        then also the checkpoint.
    n_sweeps : int, optional
        Total number of sweeps; by default the number the run was started with.
    n_jobs, callback, checkpoint, checkpoint_seconds
        As for `plait.sample`.
    keep_previous : bool, optional
        As for `plait.sample`; by default, if there is a previous checkpoint already.
    paths_in : path, optional
        As for `plait.sample`. Give the run as a file, so that its paths are not read into memory first.
    model_class : type, optional
        Class of the model in the file, for one that plait does not ship.
    cluster : str or distributed.Client, optional
        As for `plait.sample`, whether the run was started on a cluster, on another one or on none.
    """
    folder = check_folder("paths_in", paths_in)
    if not isinstance(run, Run):
        check_readable(Path(run))  # before its place is claimed, for the better message
        checkpoint = run if checkpoint is None else checkpoint
    if keep_previous is None:
        keep_previous = checkpoint is not None and is_model(previous_name(Path(checkpoint)))
    checkpoints = Checkpoints(checkpoint, checkpoint_seconds, keep_previous=keep_previous)
    check_cluster(cluster)

    def drive() -> Run:
        # The place is claimed before the run is read: nobody else writes it.
        with checkpoints.claimed(overwrite=True), use_workers(cluster, n_jobs) as workers:
            if isinstance(run, Run):
                paths = new_array(run.paths.shape, run.paths.dtype, folder)
                paths[...] = run.paths
                return _resume(run, paths, checkpoints, n_sweeps, n_jobs, callback, folder, workers)
            loaded = load_with_paths(run, model_class, folder)
            if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(run):
                checkpoints.resume(loaded)
            return _resume(loaded.run, loaded.paths, checkpoints, n_sweeps, n_jobs, callback, folder, workers)

    return on_first_process(cluster, drive)


def check_resumable(run: Run) -> None:
    """Raise an error if a run cannot be resumed, finished or not."""
    if run.fit is None and not run.settings.n_paths:
        raise PlaitError("the run was fitted by EM alone and has no paths to resume: fit the model again")
    if not hasattr(run.model, "resample"):
        raise PlaitError(
            "the model is for inference and lacks its data: resume the run that it was exported from"
        )


def _resume(
    run: Run,
    paths: Paths,
    checkpoints: Checkpoints,
    n_sweeps: int | None,
    n_jobs: int | None,
    callback: Callback | None,
    paths_in: Path | None,
    workers: Workers | None,
) -> Run:
    check_resumable(run)
    if run.fit is None:
        return resume_run(
            run,
            paths,
            n_sweeps=n_sweeps,
            n_jobs=n_jobs,
            callback=callback,
            checkpoints=checkpoints,
            paths_in=paths_in,
            workers=workers,
        )
    run, state = _lengthened(run, run.fit, n_sweeps)
    settings = run.settings
    plan = Plan(settings.n_paths, settings.n_sweeps, settings.collapsed, state.em_iterations, search_of(run))
    if state.finished:
        return run
    if state.own:
        raise PlaitError(
            "the run is the checkpoint of an estimator: call its fit again, with the same settings and data"
        )
    stored = StoredFit(run.model, plan, checkpoints, n_jobs, callback, workers=workers)
    return stored.resumed(run, state, paths)


def search_of(run: Run) -> int:
    """Return `Plan.search` of the fit that a run is stored by."""
    return 0 if run.optimum is None else run.optimum.n_iter


def _lengthened(run: Run, state: FitState, n_sweeps: int | None) -> tuple[Run, FitState]:
    """Return the run and the state of its fit with the total number of sweeps set to `n_sweeps`."""
    if n_sweeps is None:
        return run, state
    if not state.finished and len(state.seeds) > 1:
        raise PlaitError(
            f"restart {state.restart + 1} of {len(state.seeds)} is not finished: resume without ",
            Argument("n_sweeps"),
            " first, then make the best run longer",
        )
    n_sweeps = check_integer("n_sweeps", n_sweeps, least=max(1, run.sweep))
    if state.em_iterations == run.settings.n_sweeps:  # the bound on iterations grows with the sweeps
        state = replace(state, em_iterations=n_sweeps)
    run = run.lasting(n_sweeps)
    if state.finished:  # from here on the best run is the only one
        state = replace(state, seeds=(state.seeds[state.best_restart],), scores=())
    return run, state


@dataclass(frozen=True)
class Ways:
    """How the restarts of a stored fit start and end; by default as those of the command do.

    Attributes
    ----------
    start : callable
        Returns the start of a restart, given the model, the seed of the initial parameters and that of the
        run.
    monitor : callable, optional
        Returns the monitor of a restart.
    climb : ExpectationModel, optional
        The objective of EM alone, if not the model itself.
    own : bool
        Whether these are not the default ways, so that only their owner, an estimator, can resume the fit.
    numbered : bool
        Whether the user numbered the states; see `Run.numbered`.
    """

    start: Callable[[Any, int, int], Start] = random_start
    monitor: Callable[[], Any] | None = None
    climb: ExpectationModel[Any] | None = None
    own: bool = False
    numbered: bool = False


class StoredFit:
    """A fit that is stored in a file, or in memory if the checkpoints have no path."""

    def __init__(
        self,
        model: Any,
        plan: Plan,
        checkpoints: Checkpoints,
        n_jobs: int | None,
        callback: Callback | None,
        ways: Ways = Ways(),  # noqa: B008 - it cannot be changed
        workers: Workers | None = None,
    ) -> None:
        self._model, self._plan, self._checkpoints = model, plan, checkpoints
        self._n_jobs, self._callback, self._ways, self._workers = n_jobs, callback, ways, workers

    def resumed(self, run: Run, state: FitState, paths: Paths) -> Run:
        """Run the rest of a fit from its file, which holds the current run."""
        if state.best is not None:  # the file holds one model, with the initial parameters of the current one
            best = self.start(state, state.best_restart).model
            state = replace(state, best=replace(state.best, model=best))
        return self.complete(state, run, paths)

    def complete(self, state: FitState, current: Run | None = None, paths: Paths | None = None) -> Run:
        """Run the remaining restarts, the first of them from `current` if given; return the best run."""
        with Threads(self._n_jobs) as threads:
            while not state.finished:
                fit = self._restart(state, current, paths, threads)
                if fit.interrupted is not None:
                    raise fit.interrupted
                best = fit.run if state.best is None or fit.score > max(state.scores) else state.best
                state = replace(state, scores=(*state.scores, fit.score), best=replace(best, fit=None))
                current = paths = None
        assert state.best is not None
        numbered = state.best.numbered or self._ways.numbered
        best = replace(state.best, fit=replace(state, best=None), numbered=numbered)
        self._checkpoints.write(lambda: best)
        return best

    def start(self, state: FitState, restart: int) -> Start:
        """Return the start of a restart."""
        seeds, plan, callback = state.seeds[restart], self._plan, self._with_stage(state)
        if not plan.search:
            return self._ways.start(self._model, *seeds)
        started, trace = time.perf_counter(), Trace.empty(plan.n_paths)
        nowhere = State(0, np.empty((plan.n_paths, 0), np.uint16))

        def report(done: int, total: int) -> None:
            if callback is not None:
                seconds = time.perf_counter() - started
                callback(Progress(nowhere, plan.n_sweeps, seconds, trace, search=(done, total)))

        with Threads(self._n_jobs) as threads:
            return searched_start(self._model, *seeds, plan, state.tol, threads, report)

    def _restart(self, state: FitState, current: Run | None, paths: Paths | None, threads: Threads) -> Fit:
        """Run one restart, or the rest of it."""
        plan, monitor = self._plan, ConvergenceMonitor(state.tol, state.em_iterations, verbose=False)
        if self._ways.monitor is not None:
            monitor = self._ways.monitor()
        callback = self._with_stage(state)
        if not plan.n_paths:
            return self._em_alone(state, current, monitor, callback, threads)
        options: dict[str, Any] = {
            "n_jobs": self._n_jobs,
            "callback": callback,
            "checkpoints": self._checkpoints,
            "workers": self._workers,
        }
        if current is None or paths is None:
            start = self.start(state, state.restart)
            run = start_run(start.model, plan.settings(start.seed), state, optimum=start.optimum, **options)
        else:
            run = resume_run(replace(current, fit=state), paths, **options)
        fit = finish(run, plan, monitor, threads, callback=callback)
        if fit.interrupted is not None:  # the file holds the paths, from which EM is repeated
            return replace(fit, interrupted=Interrupted(run, signal_number(fit.interrupted)))
        return fit

    def _em_alone(
        self,
        state: FitState,
        current: Run | None,
        monitor: ConvergenceMonitor,
        callback: Callback | None,
        threads: Threads,
    ) -> Fit:
        """Make one restart of EM alone, or the rest of it, with checkpoints."""
        if current is None:
            start = self.start(state, state.restart)
            run = run_without_paths(start, self._plan)
        else:
            run = current
        run, checkpoints = replace(run, fit=state), self._checkpoints
        checkpoints.begin(lambda: run)
        if state.scores:  # the best so far must not be lost
            checkpoints.write(lambda: run)
        fit = finish(
            run,
            self._plan,
            monitor,
            threads,
            climb=self._ways.climb,
            callback=callback,
            keep=lambda so_far: checkpoints.write_if_due(lambda: so_far),
        )
        if fit.interrupted is not None:
            checkpoints.write(lambda: fit.run)
        return fit

    def _with_stage(self, state: FitState) -> Callback | None:
        """Return the callback, with the restart as the stage of its progress."""
        callback, n = self._callback, len(state.seeds)
        if callback is None or n == 1:
            return callback
        stage = f"restart {state.restart + 1} of {n}"
        return lambda progress: callback(_at_stage(progress, stage))


def _at_stage(progress: Progress, stage: str) -> Progress:
    return replace(progress, stage=stage)
