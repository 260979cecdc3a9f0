"""Sums over the late sweeps of a run, from which averages are computed.

The sweeps are summed in two parts, earlier and later ones, so that a model can tell whether its states kept
their identity: a state that is one thing in the earlier part and another in the later one must not be
averaged. Whenever the later part has as many sweeps as the earlier one, it is added to it and starts again.
So the parts depend on the number of sweeps so far, not on how many are to come, and all sums are of whole
numbers: a run that is interrupted ends with the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from plait.arrays import check_form, stored
from plait.checks import check_integer
from plait.errors import Argument, PlaitError
from plait.models.model import Arrays, Header, Paths
from plait.threads import Threads

Sums = Mapping[str, NDArray[Any]]

PARTS = ("earlier", "later")


class AveragingModel(Protocol):
    """The methods of a model whose sweeps can be averaged."""

    def late_forms(self) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
        """Return the shape and dtype of each array of sums, by name."""

    def add_late(self, paths: Paths, counts: Any, sums: Sums, threads: Threads) -> None:
        """Add a sweep to the sums."""

    def late_parameters(self, late: LateSums, threads: Threads) -> Any:
        """Return the average of phi."""


@dataclass(frozen=True, eq=False)
class LateSums:
    """Sums over late sweeps, in two parts.

    Attributes
    ----------
    sums : dict of Sums
        For each of the parts "earlier" and "later", the sums by name. They grow in place.
    n_paths : dict of int
        For each part, the number of paths that were added: the number of sweeps times m.
    """

    sums: Mapping[str, Sums]
    n_paths: Mapping[str, int]

    @classmethod
    def empty(cls, model: Any) -> LateSums:
        """Return sums of no sweeps."""
        return cls(
            {part: {name: np.zeros(*form) for name, form in _forms(model).items()} for part in PARTS},
            dict.fromkeys(PARTS, 0),
        )

    @property
    def n(self) -> int:
        """Number of paths that were added, in both parts."""
        return sum(self.n_paths.values())

    def total(self, name: str) -> NDArray[Any]:
        """Return the sum of both parts."""
        total: NDArray[Any] = self.sums["earlier"][name] + self.sums["later"][name]
        return total

    def added(self, model: AveragingModel, paths: Paths, counts: Any, threads: Threads) -> LateSums:
        """Return the sums with one more sweep; the arrays are changed in place."""
        earlier, later = (self.n_paths[part] for part in PARTS)
        if later >= max(1, earlier):
            for name, array in self.sums["later"].items():
                self.sums["earlier"][name][...] += array
                array[...] = 0
            earlier, later = earlier + later, 0
        model.add_late(paths, counts, self.sums["later"], threads)
        return LateSums(self.sums, {"earlier": earlier, "later": later + len(paths)})

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the sums as arrays and a header."""
        arrays = {f"{part}.{name}": array for part in PARTS for name, array in self.sums[part].items()}
        return arrays, dict(self.n_paths)

    @classmethod
    def from_arrays(
        cls, model: Any, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
    ) -> LateSums:
        """Rebuild the sums from the output of `to_arrays`."""
        sums: dict[str, dict[str, NDArray[Any]]] = {part: {} for part in PARTS}
        for part in PARTS:
            for name, (shape, dtype) in _forms(model).items():
                array = stored(arrays, f"{part}.{name}", dtype)
                check_form(Argument(name), array, shape, dtype)
                if array.size and array.min() < 0:
                    raise PlaitError(f"its sums over late sweeps have negative numbers in {name}")
                sums[part][name] = np.require(array, requirements="W")
        return cls(sums, {part: check_integer(part, header[part], least=0, limit=2**53) for part in PARTS})


def _forms(model: Any) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
    if not hasattr(model, "late_forms"):
        raise PlaitError(
            f"models of the kind {model.kind!r} cannot average sweeps: use a plan without averages"
        )
    forms: dict[str, tuple[tuple[int, ...], DTypeLike]] = model.late_forms()
    return forms
