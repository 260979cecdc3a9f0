"""Checks of priors, and distributions with Dirichlet priors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.checks import frozen_copy, short_repr
from plait.errors import PlaitError
from plait.kernels import parameters as kernels
from plait.models.model import Key

Floats = NDArray[np.float64]

PRIORS: Final = (1e-10, 1e10)
"""What a prior may be: beyond, the terms that it is added to would be lost in rounding."""

_ROUNDING = 1e-8  # by how much a sum of probabilities that someone gave may miss 1


def check_numbers(name: str, value: ArrayLike) -> Floats:
    """Return numbers as a float array."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise PlaitError(f"{name} is {short_repr(value)}: give a number, or an array of numbers") from None


def place_of(wrong: NDArray[np.bool_]) -> tuple[str, tuple[int, ...]]:
    """Return the first wrong place of an array, as one would write it ("[2][0]") and as an index."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return "".join(f"[{i}]" for i in index), index


def check_prior(name: str, value: ArrayLike, axes: dict[str, int]) -> Floats:
    """Return a prior as a float array: a scalar, or one value for each combination of the axes."""
    array = check_numbers(name, value)
    shape = tuple(axes.values())
    if array.ndim and array.shape != shape:
        raise PlaitError(
            f"{name} has shape {array.shape}: give a number, or an array of shape"
            f" ({', '.join(axes)}) = {shape}"
        )
    check_range(name, array)
    return array


def check_range(name: str, array: Floats, *, zeros: bool = False) -> None:
    """Refuse numbers that a prior cannot have; `zeros` are allowed where they mean something."""
    valid = (array >= PRIORS[0]) & (array <= PRIORS[1]) | (zeros & (array == 0))
    if not valid.all():
        place, index = place_of(~valid)
        raise PlaitError(
            f"{name}{place} is {array[index]:g}: it must be a number greater than 0, from {PRIORS[0]:g} to"
            f" {PRIORS[1]:g}"
        )


def spread(name: str, value: ArrayLike, axes: dict[str, int]) -> Floats:
    """Return numbers as an array with these axes; those that are missing, from the left, are all alike."""
    array = check_numbers(name, value)
    shape = tuple(axes.values())
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise PlaitError(
            f"{name} has shape {array.shape}: give a number, or an array of shape"
            f" ({', '.join(axes)}) = {shape}"
        ) from None


class DirichletRows:
    """Distributions, one a row, with Dirichlet priors; single cells may be fixed.

    Row r is Dir(prior_r) on its free cells, times the probability that its fixed cells leave. A fixed zero,
    or a prior of zero, is a value that never occurs.

    Parameters
    ----------
    name : str
        What the distributions are called in messages.
    axes : dict
        Names and lengths of the rows and the cells of a row.
    prior : float or array
        Parameters of the Dirichlet laws, for all cells or one by one.
    fixed : array (R, L), optional
        Probabilities that are known; NaN where they are not.
    """

    def __init__(
        self, name: str, axes: dict[str, int], prior: ArrayLike, fixed: ArrayLike | None = None
    ) -> None:
        given = spread(f"the prior of {name}", prior, axes)
        check_range(f"the prior of {name}", given, zeros=True)
        fixed_name = f"the fixed {name.removeprefix('the ')}"
        known = np.full(given.shape, np.nan) if fixed is None else spread(fixed_name, fixed, axes)
        _check_probabilities(fixed_name, known)
        known = np.where(np.isnan(known) & (given == 0), 0.0, known)
        free = np.isnan(known)
        mass = 1.0 - np.where(free, 0.0, known).sum(axis=1)
        for r in np.flatnonzero(np.where(free.any(axis=1), mass <= 0, np.abs(mass) > _ROUNDING)):
            if free[r].any():
                raise PlaitError(
                    f"row {r} of {name} has fixed probabilities that sum to {1 - mass[r]:.6g} and leave"
                    " nothing for the others: lower them, or fix the others to 0"
                )
            raise PlaitError(
                f"row {r} of {name} has only fixed probabilities (a prior of 0 fixes one to 0), and they sum"
                f" to {1 - mass[r]:.6g}: make them sum to 1, or leave one free"
            )
        self.name = name
        self.prior: Floats = frozen_copy(np.where(free, given, 0.0))
        self.fixed: Floats = frozen_copy(known)
        self.free: NDArray[np.bool_] = frozen_copy(free)
        self._mass: Floats = frozen_copy(np.where(free.any(axis=1), mass, 0.0))

    @property
    def has_fixed(self) -> bool:
        """Whether any probability is fixed, other than to zero."""
        return bool(np.any(self.fixed > 0))

    @property
    def is_exchangeable(self) -> bool:
        """Whether nothing tells one row or cell from another."""
        return bool(self.free.all()) and bool(np.ptp(self.prior) == 0)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which cells can be other than zero, (R, L)."""
        return self.free | (self.fixed > 0)

    def check(self, rows: Floats) -> None:
        """Refuse rows that are no distributions, of another shape, or not zero where they must be."""
        if rows.shape != self.prior.shape:
            raise PlaitError(
                f"{self.name} have shape {rows.shape}: give an array of shape {self.prior.shape}"
            )
        wrong = ~((rows >= 0) & (rows <= 1 + _ROUNDING)) | (rows > 0) & ~self.possible
        if wrong.any():
            place, index = place_of(wrong)
            remedy = "give a probability from 0 to 1" if self.possible[index] else "the prior makes it 0"
            raise PlaitError(f"{self.name}{place} is {rows[index]:g}: {remedy}")
        sums = rows.sum(axis=1)
        for r in np.flatnonzero(np.abs(sums - 1) > 1e-5):
            raise PlaitError(f"row {r} of {self.name} sums to {sums[r]:.6g}: it must sum to 1")

    def draw(self, counts: Floats, key: Key, unit: int) -> Floats:
        """Draw every row given the counts (R, L); row r has the stream of the unit `unit + r`."""
        rows = np.empty(self.prior.shape)
        kernels.draw_rows(self.prior + counts, self.free, self.fixed, self._mass, unit, rows, key)
        return rows

    def scatter(self, shapes: ArrayLike, key: Key, unit: int) -> Floats:
        """Draw rows to begin with: Dir(shapes) on the free cells, whatever the prior."""
        rows = np.empty(self.prior.shape)
        wanted = np.array(np.broadcast_to(shapes, rows.shape), np.float64)
        kernels.draw_rows(wanted, self.free, self.fixed, self._mass, unit, rows, key)
        return rows

    def mean(self, counts: Floats) -> Floats:
        """Return the mean of the rows given the counts (R, L)."""
        return self._filled(self.prior + counts)

    def mode(self, counts: Floats) -> Floats:
        """Return the mode of the rows given the counts (R, L); a row without counts or prior has the mean."""
        weights = np.where(self.free, np.maximum(self.prior + counts - 1.0, 0.0), 0.0)
        empty = weights.sum(axis=1) <= 0
        weights[empty] = self.prior[empty]
        return self._filled(weights)

    def _filled(self, weights: Floats) -> Floats:
        weights = np.where(self.free, weights, 0.0)
        sums = weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        return np.where(self.free, shares * self._mass[:, None], self.fixed)

    def to_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return prior and fixed cells, to make the rows again."""
        return {f"{name}.prior": self.prior, f"{name}.fixed": self.fixed}


def _check_probabilities(name: str, array: Floats) -> None:
    wrong = (array < 0) | (array > 1 + _ROUNDING)
    if wrong.any():
        place, index = place_of(wrong)
        raise PlaitError(
            f"{name}{place} is {array[index]:g}: give a probability from 0 to 1, or NaN where it is free"
        )


def check_distributions(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return an attribute as an array, unless it does not hold distributions, one a row, of that shape."""
    array = np.ascontiguousarray(check_numbers(name, value))
    if array.shape != shape:
        raise PlaitError(f"{name} has shape {np.shape(value)}: give an array of shape {shape}")
    if not np.all(array >= 0):
        place, index = place_of(~(array >= 0))
        raise PlaitError(f"{name}{place} is {array[index]:g}: give a probability from 0 to 1")
    sums = np.atleast_1d(array.sum(axis=-1))
    wrong = np.flatnonzero(~np.isclose(sums, 1))
    if len(wrong):
        row = f"row {wrong[0]} of {name}" if len(shape) > 1 else name
        raise PlaitError(f"{row} sums to {sums[wrong[0]]:.6g}: give probabilities that sum to 1")
    return array


def cumulative_steps(distributions: Floats) -> Floats:
    """Return cumulative sums along the last axis, for `np.searchsorted` of a uniform number.

    From the last possible value on they are 2, so that rounding can never lead beyond it.
    """
    sums = np.cumsum(distributions, axis=-1)
    return np.where(sums >= sums[..., -1:], 2.0, sums)
