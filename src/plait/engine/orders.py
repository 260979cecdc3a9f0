"""What workers are asked to do with their shares, and how their answers become one.

An answer is either whole numbers in arrays, which are added in any order (`exact`), or a list with an entry
for each range of the data, and these lists are joined in the order of the data. So the answers of any number
of workers are the same in the end.

An order says after which sweep it is to be carried out. So a worker that gets an order twice does not sweep
twice, and one whose share was lost, or is older, does not answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_changeable, check_paths
from plait.errors import Argument
from plait.models.model import Key, Paths, unchecked
from plait.models.path_model import leaves
from plait.models.shares import Share
from plait.models.sweeps import with_number
from plait.threads import Threads

Priors = Mapping[str, NDArray[Any]]


class ShareLost(Exception):
    """A worker does not have its share, or not at the sweep that the order is for."""


class Held:
    """A worker's share: the model of some of the data, and its paths.

    Parameters
    ----------
    share : Share
        The share of the model.
    paths : ndarray, (m, n)
        Its paths, which orders change in place.
    sweep : int
        The number of sweeps that they have been through.
    threads : Threads
        The threads of the worker.
    paths_in : Path, optional
        A folder: paths are kept in files there when their number changes.
    """

    def __init__(
        self, share: Share, paths: Paths, sweep: int, threads: Threads, paths_in: Path | None = None
    ) -> None:
        self.model, self.sweep, self.threads, self.paths_in = share.model(), sweep, threads, paths_in
        check_changeable(Argument("paths"), paths)
        self.paths = check_paths(paths, self.model.n_sites, self.model.n_states)

    def carry_out(self, order: Order) -> Any:
        """Return the answer to an order."""
        if self.sweep not in (order.sweep, order.sweep - isinstance(order, Sweep)):
            raise ShareLost
        if order.priors is not None:
            self.model = self.model.with_priors_of(order.priors)
        return order.carry_out(self)


@dataclass(frozen=True)
class Order:
    """Something to be computed for every share.

    Attributes
    ----------
    sweep : int
        The number of sweeps that have been made when it is answered.
    exact : bool
        Whether the answer is made of whole numbers, which are added.
    priors : mapping of str to ndarray, optional
        The priors of a model that learns them.
    """

    sweep: int
    exact: bool
    priors: Priors | None

    def carry_out(self, held: Held) -> Any:
        """Return the answer for a share."""
        raise NotImplementedError


@dataclass(frozen=True)
class Sweep(Order):
    """Draw all paths given phi, and count: lines 5 to 9 of Algorithm 1."""

    seed: int
    n_paths: int
    parameters: Any

    def carry_out(self, held: Held) -> list[Any]:
        """Return the counts; the sweep is not made again if it has been made."""
        if held.sweep < self.sweep:
            if len(held.paths) != self.n_paths:
                held.paths = with_number(held.paths, self.n_paths, held.paths_in)
            key = Key(self.seed, self.sweep)
            unchecked(held.model.resample)(held.paths, self.parameters, key, held.threads)
            held.sweep = self.sweep
        return counts_of(held)


@dataclass(frozen=True)
class Count(Order):
    """Count the paths as they are."""

    def carry_out(self, held: Held) -> list[Any]:
        """Return the counts."""
        return counts_of(held)


@dataclass(frozen=True)
class LogJoint(Order):
    """Compute log P(p^j, w | phi) for every path."""

    parameters: Any

    def carry_out(self, held: Held) -> list[NDArray[np.float64]]:
        """Return the terms of every range of the data."""
        terms: list[NDArray[np.float64]] = unchecked(held.model.log_joint_parts)(
            held.paths, self.parameters, held.threads
        )
        return terms


@dataclass(frozen=True)
class LearningCounts(Order):
    """Count what priors are learnt from."""

    bounds: NDArray[np.int64]

    def carry_out(self, held: Held) -> NDArray[np.int64]:
        """Return the whole numbers."""
        numbers: NDArray[np.int64] = unchecked(held.model.learning_counts)(
            held.paths, self.bounds, held.threads
        )
        return numbers


def counts_of(held: Held) -> list[Any]:
    """Return the counts of a share, one for each range of the data or, if they are exact, one in all."""
    parts: list[Any] = unchecked(held.model.count_parts)(held.paths, held.threads)
    return [held.model.sum_counts(parts)] if held.model.exact_counts else parts


def arrays_in(answer: Any) -> list[NDArray[Any]]:
    """Return the arrays of an exact answer."""
    return [array for _, array in leaves(answer)]


def joined(answers: Sequence[Any], exact: bool) -> Any:
    """Return the answers of consecutive shares as one; the first of exact ones is changed."""
    total, *others = answers
    if not exact:
        return [part for answer in answers for part in answer]
    for other in others:
        for mine, more in zip(arrays_in(total), arrays_in(other), strict=True):
            np.add(mine, more, out=mine)
    return total
