"""Algorithms 1 and 2 of the paper, one sweep at a time: the only sampling loop in plait.

    Algorithm 1 (partially collapsed)            Algorithm 2 (collapsed)

    repeat                                       repeat
      draw phi from P(phi | p^1..p^m, w)           for every site i and path j:
      for every site i and path j:                   draw p^j_i from P(p^j_i | all other p, w)
        draw p^j_i from P(p^j_i | p^j_-i, w, phi)

`plait.sampler` runs this loop for the user, with a trace and checkpoints. A model that searches for its
starting point, or that predicts given phi, runs the same loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_changeable, check_paths
from plait.errors import Argument
from plait.mapped import new_array
from plait.models.model import CompletingModel, Key, Model, Paths, unchecked
from plait.threads import Threads


@dataclass(frozen=True)
class State:
    """The state of a sampler.

    Attributes
    ----------
    sweep : int
        Number of sweeps made.
    paths : ndarray, (m, N)
        The latent variables p^1..p^m. The next step works in the same array.
    parameters : object
        phi as drawn in the last sweep (Algorithm 1), None before the first sweep and in Algorithm 2.
    counts : object
        Sufficient statistics of `paths`, where they are known: always in Algorithm 2.
    """

    sweep: int
    paths: Paths
    parameters: Any = None
    counts: Any = None


class Algorithm(Protocol):
    """How a sweep is made; `SweepSettings` and `plait.run.Settings` say so."""

    @property
    def seed(self) -> int:
        """Seed of the random streams."""

    @property
    def collapsed(self) -> bool:
        """Algorithm 2 instead of Algorithm 1."""

    @property
    def partitioned(self) -> bool:
        """Whether Algorithm 2 works on several ranges of the data side by side, which is approximate."""


class SweepSettings(NamedTuple):
    """The settings of one sweep: a seed and an `Algorithm`, by default Algorithm 1."""

    seed: int
    collapsed: bool = False
    partitioned: bool = False


def step(
    model: Model[Any, Any],
    state: State,
    algorithm: Algorithm,
    threads: Threads,
    given: Callable[[int], Any] | None = None,
) -> State:
    """Make one sweep: state in, state out.

    Parameters
    ----------
    model : Model
        The model to sample.
    state : State
        The state before the sweep. Its paths are checked once, here: kernels use them as indices. Of its
        counts, the model checks the form alone: whether they are those of the paths is up to the caller.
    algorithm : Algorithm
        Seed and algorithm. A model without a partitioned sampler makes an exact sweep.
    threads : Threads
        The threads that share the work.
    given : callable, optional
        Returns phi for the number of a sweep, for Algorithm 1 with phi given instead of drawn.
    """
    check_paths(state.paths, model.n_sites, model.n_states)
    check_changeable(Argument("paths"), state.paths)
    key = Key(algorithm.seed, state.sweep + 1)
    if algorithm.collapsed:
        counts = count_once(model, state, threads)
        if algorithm.partitioned and hasattr(model, "resample_partitioned"):
            unchecked(model.resample_partitioned)(state.paths, counts, key, threads)
        else:
            unchecked(model.resample_collapsed)(state.paths, counts, key)
        return State(key.sweep, state.paths, counts=counts)
    if given is None:
        parameters = model.draw_parameters(_complete(model, state, key, threads), key, threads)
    else:
        parameters = given(key.sweep)
    unchecked(model.resample)(state.paths, parameters, key, threads)
    return State(key.sweep, state.paths, parameters=parameters)


def step_to(
    n_paths: int,
    model: Model[Any, Any],
    state: State,
    seed: int,
    threads: Threads,
    paths_in: Path | None = None,
) -> State:
    """Make one sweep of Algorithm 1 that ends with another number of paths.

    phi is drawn given all paths that there are. Then surplus paths, the last ones, are dropped; missing ones
    are copied from the others; and all are resampled given phi. So a new path starts from a draw given phi.
    The new state's paths are kept in a file in the folder `paths_in`, if given.
    """
    check_paths(state.paths, model.n_sites, model.n_states)
    key = Key(seed, state.sweep + 1)
    parameters = model.draw_parameters(_complete(model, state, key, threads), key, threads)
    copied = with_number(state.paths, n_paths, paths_in)
    return step(model, State(state.sweep, copied), SweepSettings(seed), threads, lambda sweep: parameters)


def with_number(paths: Paths, n_paths: int, paths_in: Path | None = None) -> Paths:
    """Return a copy with another number of paths: the last are dropped, missing ones copied from others."""
    copied = new_array((n_paths, paths.shape[1]), paths.dtype, paths_in)
    for j in range(n_paths):
        copied[j] = paths[j % len(paths)]
    return copied


def log_joint(model: Model[Any, Any], state: State, threads: Threads) -> NDArray[np.float64]:
    """Return log P(p^j, w | phi) for every path: phi as last drawn, or its mean where none was drawn."""
    check_paths(state.paths, model.n_sites, model.n_states)
    parameters = state.parameters
    if parameters is None:
        parameters = model.mean_parameters(count_once(model, state, threads), threads)
    return unchecked(model.log_joint)(state.paths, parameters, threads)


def completes(model: Model[Any, Any]) -> bool:
    """Return whether a model draws more than its paths in a sweep, given the phi of the sweep before."""
    return bool(getattr(model, "completes", False))


def _complete(model: Model[Any, Any], state: State, key: Key, threads: Threads) -> Any:
    """Return the statistics that phi is drawn from: the counts, or those of a model that completes them."""
    if completes(model):
        completing = cast(CompletingModel[Any, Any], model)
        return unchecked(completing.complete)(state.paths, state.parameters, key, threads)
    return count_once(model, state, threads)


def count_once(model: Model[Any, Any], state: State, threads: Threads) -> Any:
    """Return the sufficient statistics of the paths of a state, counted if they are not known yet."""
    return unchecked(model.count)(state.paths, threads) if state.counts is None else state.counts


def sweeps(
    model: Model[Any, Any],
    state: State,
    n_sweeps: int,
    algorithm: Algorithm,
    threads: Threads,
    given: Callable[[int], Any] | None = None,
) -> Iterator[State]:
    """Make a number of sweeps and yield the state after each; for the arguments see `step`."""
    for _ in range(n_sweeps):
        state = step(model, state, algorithm, threads, given)
        yield state
