"""What the sampling loop asks of an engine, and an engine on several processes of its workers."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from plait.engine.orders import Order
from plait.models.late import LateSums
from plait.models.model import DivisibleModel, Paths
from plait.models.sweeps import State, SweepSettings


class Engine(Protocol):
    """Computes the sweeps of a run. It has the paths: all that needs them goes through it."""

    @property
    def state(self) -> State:
        """The state after the last sweep; on several processes, its paths have the shape (m, 0)."""

    def advance(self, model: Any, algorithm: SweepSettings, n_paths: int) -> None:
        """Make a sweep that ends with `n_paths` paths."""

    def with_learnt_priors(self, model: Any) -> Any:
        """Return the model with priors learnt from the paths."""

    def with_late(self, late: LateSums, model: Any) -> LateSums:
        """Return sums over late sweeps with the last sweep added."""

    def log_joint(self, model: Any) -> NDArray[Any]:
        """Return log P(p^j, w | phi) for every path, given phi as last drawn."""

    def paths(self) -> Paths:
        """Return the paths (m, N)."""

    def drawn(self, model: Any) -> Any:
        """Return phi as last drawn if the next sweep of the model needs it, else None."""


class Workers(Protocol):
    """Processes that hold shares of the data and of the paths: place them, sweep, gather paths."""

    can_be_lost: bool
    """Whether the run goes on when a worker dies: then the engine keeps paths to start again from."""

    def place(self, model: DivisibleModel[Any, Any], paths: Paths, sweep: int) -> None:
        """Give each worker its share of the data and of the paths after a sweep."""

    def compute(self, order: Order) -> Any:
        """Let all workers carry out an order, and return their answers in one; see `plait.engine.orders`."""

    def gather(self, paths: Paths) -> None:
        """Fill `paths` (m, N) with those of all workers."""

    def has_joined(self) -> bool:
        """Return whether there are workers that have no share yet."""

    def close(self) -> None:
        """Let go of the workers; those that were started for the run end."""


class WorkersLost(Exception):
    """Workers are gone, or have lost their shares."""
