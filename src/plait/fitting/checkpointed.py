"""Fits of estimators with a checkpoint: called again, they continue from its file and end with the same bits.

The file must hold the same fit: the same model and data, and the same settings. If the seed was not given, it
is that of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from plait.errors import Argument, PlaitError
from plait.fitting.plan import Plan
from plait.fitting.stored import StoredFit, Ways, draw_seeds, search_of
from plait.models.model import Model
from plait.plans import Plan as SamplingPlan
from plait.plans import Settings, Stage
from plait.run import FitState, Run, load_with_paths
from plait.sampler import Callback, Checkpoints, resume_run, start_run

FilePath = str | PathLike[str]


def sample_or_resume(
    model: Model[Any, Any],
    plan: SamplingPlan,
    path: FilePath,
    *,
    seed: int,
    is_seed_given: bool,
    same_model: Callable[[Any], bool],
    max_seconds: float | None = None,
    tol: float | None = None,
    thin: int = 10,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint_seconds: float,
    names: Mapping[int, str] | None = None,
) -> Run:
    """Sample a model as `plait.sample` does, or continue in the file that an earlier call wrote.

    Parameters
    ----------
    model, plan, seed, max_seconds, tol, thin, n_jobs, callback, checkpoint_seconds, names
        As for `plait.sample`.
    path : path
        The checkpoint.
    is_seed_given : bool
        Whether the seed must be that of the file.
    same_model : callable
        Tells whether a model from the file has the same data and settings.
    """
    settings = Settings.of_plan(plan, seed, thin, max_seconds, tol)
    path = Path(path)
    checkpoints = Checkpoints(path, checkpoint_seconds)
    with checkpoints.claimed(overwrite=True):
        if not path.exists():
            return start_run(
                model, settings, n_jobs=n_jobs, callback=callback, checkpoints=checkpoints, names=names
            )
        loaded = load_with_paths(path)
        run = loaded.run
        if type(run.model) is not type(model) or not same_model(run.model):
            raise _other_fit(path, "another model, or other data")
        own = settings if is_seed_given else replace(settings, seed=run.settings.seed)
        if run.fit is not None or _comparable(run.settings) != _comparable(own):
            raise _other_fit(path, "a fit with other settings")
        checkpoints.resume(loaded)
        return resume_run(run, loaded.paths, n_jobs=n_jobs, callback=callback, checkpoints=checkpoints)


def fit_or_resume(
    model: Any,
    plan: Plan,
    path: FilePath,
    *,
    seed: int,
    is_seed_given: bool,
    n_init: int,
    tol: float,
    ways: Ways,
    n_jobs: int | None = None,
    callback: Callback | None = None,
    checkpoint_seconds: float,
) -> Run:
    """Fit a model as `plait.fitting.stored.fit_and_store` does, or continue in the file of an earlier call.

    Parameters
    ----------
    model, plan, n_init, tol, n_jobs, callback, checkpoint_seconds
        As for `fit_and_store`.
    path : path
        The checkpoint.
    seed, is_seed_given
        As for `sample_or_resume`.
    ways : Ways
        How a restart starts and ends.
    """
    path = Path(path)
    checkpoints = Checkpoints(path, checkpoint_seconds)
    fit = StoredFit(model, plan, checkpoints, n_jobs, callback, ways)
    with checkpoints.claimed(overwrite=True):
        if not path.exists():
            seeds = draw_seeds(np.random.RandomState(seed), n_init, plan)
            return fit.complete(FitState(seeds, plan.em_iterations, tol, seed, own=ways.own))
        loaded = load_with_paths(path)
        run, state = loaded.run, loaded.run.fit
        stored_model: Any = run.model
        if type(stored_model) is not type(model):
            raise _other_fit(path, "another model, or other data")
        if state is None:
            raise _other_fit(path, "a fit with other settings")
        stored = (run.settings, len(state.seeds), state.em_iterations, state.tol, state.own, search_of(run))
        own_settings = plan.settings(run.settings.seed)
        wanted = (own_settings, n_init, plan.em_iterations, tol, ways.own, plan.search)
        if stored != wanted or (is_seed_given and state.seed != seed):
            raise _other_fit(path, "a fit with other settings")
        if plan.search:  # what it found follows from the data, the settings and the seed
            stored_model, same = replace(stored_model, initial=None), replace(model, initial=None)
        else:
            restart = state.best_restart if state.finished else state.restart
            same = ways.start(model, *state.seeds[restart]).model
        if not _same_arrays(stored_model, same):
            raise _other_fit(path, "another model, or other data")
        if state.finished:
            return run
        checkpoints.resume(loaded)
        return fit.resumed(run, state, loaded.paths)


def _comparable(settings: Settings) -> Any:
    """Return the settings, without the numbers of sweeps if these depend on the clock or on `tol`."""
    if not settings.deadlines and settings.tol is None:
        return settings
    stages: list[Stage] = [replace(stage, sweeps=1) for stage in settings.stages]
    return stages, settings.seed, settings.thin, settings.deadlines, settings.tol


def _same_arrays(mine: Any, other: Any) -> bool:
    """Return whether two models have the same data, priors and initial parameters."""
    (arrays, header), (others, other_header) = mine.to_arrays(), other.to_arrays()
    return (
        header == other_header
        and arrays.keys() == others.keys()
        and all(
            np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f")
            for name, array in arrays.items()
        )
    )


def _other_fit(path: Path, what: str) -> PlaitError:
    return PlaitError(
        Argument("checkpoint"),
        f" {path} holds {what}: a fit resumes with the settings and data it was started with; choose another"
        " file, or remove this one",
    )
