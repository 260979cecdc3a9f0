"""The engine on several processes: this one drives, workers hold the data and the paths.

In each sweep the driver draws phi from the counts, the workers draw their paths given phi and count them, and
the counts are added. If workers are lost, the driver places the paths that it kept last, and repeats the
sweeps since then: their random streams depend on the number of the sweep alone, so the bits are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plait.checks import short_repr
from plait.engine.contract import Workers, WorkersLost
from plait.engine.orders import Count, LearningCounts, LogJoint, Sweep
from plait.errors import Argument, NotSupported, PlaitError
from plait.mapped import new_array
from plait.models.late import LateSums
from plait.models.model import Key, Paths
from plait.models.sweeps import State, SweepSettings, completes
from plait.plans import Stage
from plait.threads import Threads

T = TypeVar("T")

KEEP_SECONDS: Final = 30.0
"""Least time between two gatherings of paths to start again from."""

MOST_SHARE: Final = 0.05
"""Share of the time that they take at most."""

MOST_LOSSES: Final = 20
"""Losses of workers in one sweep, after which a run gives up."""


class _Kept(NamedTuple):
    """Paths to start again from, after a sweep, and the model then."""

    model: Any
    sweep: int
    paths: Paths


class _Made(NamedTuple):
    """A sweep that was made since paths were kept last."""

    model: Any
    seed: int
    n_paths: int


class Distributed:
    """An `Engine` on several processes.

    Parameters
    ----------
    workers : Workers
        The processes.
    model : DivisibleModel
        The model.
    paths : ndarray, (m, N)
        The paths; they are not changed.
    sweep : int
        The number of sweeps that they have been through.
    threads : Threads
        The threads of this process, which draw phi.
    paths_in : Path, optional
        A folder: gathered paths are kept in a file there.
    """

    def __init__(
        self,
        workers: Workers,
        model: Any,
        paths: Paths,
        sweep: int,
        threads: Threads,
        paths_in: Path | None = None,
    ) -> None:
        self._workers, self._threads, self._paths_in = workers, threads, paths_in
        self._kept = _Kept(model, sweep, paths)
        self._made: list[_Made] = []
        self._dtype, self._n_sites = paths.dtype, paths.shape[1]
        self._next_keep = time.perf_counter() + KEEP_SECONDS
        self.state = State(sweep, paths[:, :0])
        self._surely(lambda: None, is_placed=False)
        if not workers.can_be_lost:
            self._kept = _Kept(model, -1, paths[:, :0].copy())

    # ---------------------------------------------------------------------------------------------
    # What the sampling loop asks for
    # ---------------------------------------------------------------------------------------------

    def advance(self, model: Any, algorithm: SweepSettings, n_paths: int) -> None:
        """Make a sweep that ends with `n_paths` paths."""
        made = _Made(model, algorithm.seed, n_paths)
        self._surely(lambda: self._sweep(made))
        if not self._workers.can_be_lost:
            return
        self._made.append(made)
        if time.perf_counter() >= self._next_keep:
            self.paths()
            if self._workers.has_joined():
                self._surely(lambda: None, is_placed=False)

    def with_learnt_priors(self, model: Any) -> Any:
        """Return the model with priors learnt from the paths."""
        counts = self.state.counts
        order = LearningCounts(self.state.sweep, True, None, model.learning_bounds(counts))
        numbers = self._surely(lambda: self._workers.compute(order))
        return model.with_priors_learnt_from(numbers, counts, len(self.state.paths), self._threads)

    def with_late(self, late: LateSums, model: Any) -> LateSums:
        """Raise an error: no stage averages on a cluster, see `check_stages`."""
        raise NotSupported("sweeps are not averaged on a cluster")

    def log_joint(self, model: Any) -> NDArray[Any]:
        """Return log P(p^j, w | phi) for every path, given phi as last drawn."""
        parameters = self.state.parameters
        if parameters is None:
            parameters = model.mean_parameters(self.state.counts, self._threads)
        order = LogJoint(self.state.sweep, False, _priors_of(model), parameters)
        terms = self._surely(lambda: self._workers.compute(order))
        return np.asarray(np.sum(terms, axis=0))

    def paths(self) -> Paths:
        """Gather the paths; from then on, they are what lost workers start again from."""
        if self._kept.sweep == self.state.sweep:
            return self._kept.paths
        begun = time.perf_counter()
        paths = new_array((len(self.state.paths), self._n_sites), self._dtype, self._paths_in)
        self._surely(lambda: self._workers.gather(paths))
        if self._workers.can_be_lost:
            self._kept = _Kept(self._made[-1].model, self.state.sweep, paths)
            self._made.clear()
            now = time.perf_counter()
            self._next_keep = now + max(KEEP_SECONDS, (now - begun) / MOST_SHARE)
        return paths

    def drawn(self, model: Any) -> None:
        """Return None: models whose sweeps need phi of the one before are refused, see `check_stages`."""

    # ---------------------------------------------------------------------------------------------
    # Sweeps, and what happens when workers are lost
    # ---------------------------------------------------------------------------------------------

    def _sweep(self, made: _Made) -> None:
        """Make the next sweep."""
        model, (sweep, counts) = made.model, (self.state.sweep + 1, self.state.counts)
        self.state = replace(self.state, parameters=None)  # so that only one phi is in memory
        parameters = model.draw_parameters(counts, Key(made.seed, sweep), self._threads)
        order = Sweep(sweep, model.exact_counts, _priors_of(model), made.seed, made.n_paths, parameters)
        counts = model.sum_counts(self._workers.compute(order))
        self.state = State(sweep, np.empty((made.n_paths, 0), self._dtype), parameters, counts)

    def _start_again(self) -> None:
        """Place the paths that were kept, and repeat the sweeps since then."""
        model, sweep, paths = self._kept
        self._workers.place(model, paths, sweep)
        counts = model.sum_counts(self._workers.compute(Count(sweep, model.exact_counts, None)))
        # phi of this sweep is not drawn again, but may still be asked for.
        parameters = self.state.parameters if self.state.sweep == sweep else None
        self.state = State(sweep, paths[:, :0], parameters, counts)
        for made in self._made:
            self._sweep(made)

    def _surely(self, action: Callable[[], T], *, is_placed: bool = True) -> T:
        """Return the result of an action; when workers are lost, start again and repeat it."""
        for _ in range(MOST_LOSSES):
            try:
                if not is_placed:
                    self._start_again()
                return action()
            except WorkersLost as error:
                is_placed, why = False, short_repr(error.__cause__ or error)
        raise PlaitError(
            f"workers were lost {MOST_LOSSES} times in one sweep, the last time by {why}: look at their logs"
        )


def check_stages(model: Any, stages: Iterable[Stage]) -> None:
    """Raise an error if a model or its stages cannot be sampled on several processes."""
    if not hasattr(model, "check_divisible"):
        raise NotSupported(
            f"models of the kind {model.kind!r} cannot be sampled on a cluster: leave out ",
            Argument("cluster"),
        )
    for k, stage in enumerate(stages):
        model.check_divisible(stage.most_paths)
        if completes(model):
            raise NotSupported(
                f"models of the kind {model.kind!r} that draw more than their paths cannot be sampled on a"
                " cluster: leave out ",
                Argument("cluster"),
            )
        why = ""
        if stage.collapsed:
            why = "a collapsed sampler needs all counts after every token"
        elif stage.average:
            why = "an average needs all paths after every sweep"
        elif stage.learn_priors and not hasattr(model, "with_priors_learnt_from"):
            why = "the model learns its priors from all data at once"
        if why:
            raise NotSupported(
                f"stage {k + 1} of the plan ({stage.describe()}) cannot run on a cluster: {why}; give a"
                " number of paths instead, such as ",
                Argument("n_paths", 5),
            )


def _priors_of(model: Any) -> Any:
    return model.priors() if hasattr(model, "with_priors_of") else None
