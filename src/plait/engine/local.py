"""The engine in this process: its threads share the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from plait.models.late import LateSums
from plait.models.model import Paths, unchecked
from plait.models.sweeps import State, SweepSettings, completes, count_once, log_joint, step, step_to
from plait.threads import Threads


class InProcess:
    """An `Engine` in this process; the sweeps change the paths in place.

    Parameters
    ----------
    state : State
        The paths, the number of sweeps that they have been through, and phi if it is known.
    threads : Threads
        The threads that share the work.
    paths_in : Path, optional
        A folder: stages with another number of paths keep them in a file there.
    """

    def __init__(self, state: State, threads: Threads, paths_in: Path | None = None) -> None:
        self.state, self._threads, self._paths_in = state, threads, paths_in

    def advance(self, model: Any, algorithm: SweepSettings, n_paths: int) -> None:
        """Make a sweep that ends with `n_paths` paths."""
        # Few models need phi of the sweep before: without this, it would stay in memory next to the new one.
        state = self.state = replace(self.state, parameters=self.drawn(model))
        if n_paths == len(state.paths):
            self.state = step(model, state, algorithm, self._threads)
        else:
            self.state = step_to(n_paths, model, state, algorithm.seed, self._threads, self._paths_in)

    def with_learnt_priors(self, model: Any) -> Any:
        """Return the model with priors learnt from the paths."""
        return unchecked(model.with_learnt_priors)(self.state.paths, self._count(model), self._threads)

    def with_late(self, late: LateSums, model: Any) -> LateSums:
        """Return sums over late sweeps with the last sweep added."""
        return late.added(model, self.state.paths, self._count(model), self._threads)

    def log_joint(self, model: Any) -> NDArray[Any]:
        """Return log P(p^j, w | phi) for every path, given phi as last drawn."""
        return log_joint(model, self.state, self._threads)

    def paths(self) -> Paths:
        """Return the paths, which further sweeps change."""
        return self.state.paths

    def drawn(self, model: Any) -> Any:
        """Return phi as last drawn if the next sweep of the model needs it, else None."""
        return self.state.parameters if completes(model) else None

    def _count(self, model: Any) -> Any:
        """Return the counts of the paths; the next sweep uses them, too."""
        self.state = replace(self.state, counts=count_once(model, self.state, self._threads))
        return self.state.counts
