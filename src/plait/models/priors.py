"""Checks of priors, and distributions with Dirichlet priors.

Each check takes the name of the argument, for its error messages.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_form, check_numbers, frozen_copy, place_of
from plait.errors import Argument, PlaitError
from plait.kernels import parameters as kernels
from plait.models.model import Key

PRIORS: Final = (1e-10, 1e10)
"""Least and largest prior: beyond these, sums of priors and counts would lose one of the two to rounding."""

_ROUNDING = 1e-8  # how far a sum of given probabilities may be from 1


def check_prior(name: str, value: ArrayLike, axes: dict[str, int]) -> Floats:
    """Return a prior as a float array: a scalar, or one value for each combination of the axes."""
    array = check_numbers(name, value)
    shape = tuple(axes.values())
    if array.ndim and array.shape != shape:
        raise _wrong_shape(name, array, axes)
    check_range(name, array)
    return array


def _wrong_shape(name: str, array: Floats, axes: dict[str, int]) -> PlaitError:
    shape = f"({', '.join(axes)}) = {tuple(axes.values())}"
    return PlaitError(
        Argument(name), f" must be a number or an array of shape {shape}, got an array of shape {array.shape}"
    )


def check_range(name: str, array: Floats, *, zeros: bool = False) -> None:
    """Raise an error for numbers that are not valid priors; `zeros` allows 0."""
    valid = (array >= PRIORS[0]) & (array <= PRIORS[1]) | (zeros & (array == 0))
    if not valid.all():
        place, index = place_of(~valid)
        limits = f"{'0 or ' if zeros else ''}a number from {PRIORS[0]:g} to {PRIORS[1]:g}"
        raise PlaitError(Argument(name), f"{place} must be {limits}, got {array[index]:g}")


def spread(name: str, value: ArrayLike, axes: dict[str, int]) -> Floats:
    """Return numbers broadcast to an array with these axes."""
    array = check_numbers(name, value)
    shape = tuple(axes.values())
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise _wrong_shape(name, array, axes) from None


class DirichletRows:
    """Distributions, one per row, with Dirichlet priors; single cells may be fixed.

    Row r is Dir(prior_r) on its free cells, times the probability that its fixed cells leave. A value with a
    fixed probability of zero, or a prior of zero, never occurs.

    Parameters
    ----------
    name : str
        Name of the distributions in messages.
    axes : dict
        Names and lengths of the rows and the cells of a row.
    prior : float or array
        Parameters of the Dirichlet distributions: one for all cells, or one for each.
    fixed : array (R, L), optional
        Fixed probabilities; NaN in free cells.
    prior_name, fixed_name : str
        Names of the arguments `prior` and `fixed` in messages.
    """

    def __init__(
        self,
        name: str,
        axes: dict[str, int],
        prior: ArrayLike,
        fixed: ArrayLike | None = None,
        *,
        prior_name: str = "prior",
        fixed_name: str = "fixed",
    ) -> None:
        given = spread(prior_name, prior, axes)
        check_range(prior_name, given, zeros=True)
        known = np.full(given.shape, np.nan) if fixed is None else spread(fixed_name, fixed, axes)
        _check_probabilities(fixed_name, known)
        known = np.where(np.isnan(known) & (given == 0), 0.0, known)
        free = np.isnan(known)
        mass = 1.0 - np.where(free, 0.0, known).sum(axis=1)
        for r in np.flatnonzero(np.where(free.any(axis=1), mass <= 0, np.abs(mass) > _ROUNDING)):
            if free[r].any():
                raise PlaitError(
                    f"row {r} of ",
                    Argument(fixed_name),
                    f" must sum to less than 1, got {1 - mass[r]:.6g}, which leaves nothing for the free"
                    " probabilities: lower the fixed ones, or fix the others to 0",
                )
            if fixed is None:
                raise PlaitError(f"row {r} of ", Argument(prior_name), " must not be all zeros")
            raise PlaitError(
                f"row {r} of ",
                Argument(fixed_name),
                f" must sum to 1 or leave a probability free, got {1 - mass[r]:.6g} (a 0 in ",
                Argument(prior_name),
                " fixes a probability to 0)",
            )
        self.name = name
        self.prior: Floats = frozen_copy(np.where(free, given, 0.0))
        self.fixed: Floats = frozen_copy(known)
        self.free: NDArray[np.bool_] = frozen_copy(free)
        self._mass: Floats = frozen_copy(np.where(free.any(axis=1), mass, 0.0))

    @property
    def has_fixed(self) -> bool:
        """Whether any probability is fixed to a value other than zero."""
        return bool(np.any(self.fixed > 0))

    @property
    def is_exchangeable(self) -> bool:
        """Whether all rows and cells have the same prior, with nothing fixed."""
        return bool(self.free.all()) and bool(np.ptp(self.prior) == 0)

    @property
    def is_default(self) -> bool:
        """Whether the prior is 1 in all cells that it does not forbid."""
        return bool(np.isin(self.prior, [0.0, 1.0]).all())

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which cells can be nonzero, (R, L)."""
        return self.free | (self.fixed > 0)

    def check(self, rows: Floats) -> None:
        """Raise an error for a wrong shape, invalid distributions, or nonzeros that are forbidden."""
        check_form(self.name, rows, self.prior.shape)
        wrong = ~((rows >= 0) & (rows <= 1 + _ROUNDING)) | (rows > 0) & ~self.possible
        if wrong.any():
            place, index = place_of(wrong)
            limits = "from 0 to 1" if self.possible[index] else "0, as its prior is 0 or it is fixed to 0"
            raise PlaitError(f"{self.name}{place} must be {limits}, got {rows[index]:g}")
        sums = rows.sum(axis=1)
        for r in np.flatnonzero(np.abs(sums - 1) > 1e-5):
            raise PlaitError(f"row {r} of {self.name} must sum to 1, got {sums[r]:.6g}")

    def draw(self, counts: Floats, key: Key, unit: int) -> Floats:
        """Draw every row given the counts (R, L), row r from the stream of the unit `unit + r`."""
        rows = np.empty(self.prior.shape)
        kernels.draw_rows(self.prior + counts, self.free, self.fixed, self._mass, unit, rows, key)
        return rows

    def scatter(self, shapes: ArrayLike, key: Key, unit: int) -> Floats:
        """Draw initial rows: Dir(shapes) on the free cells, regardless of the prior."""
        rows = np.empty(self.prior.shape)
        wanted = np.array(np.broadcast_to(shapes, rows.shape), np.float64)
        kernels.draw_rows(wanted, self.free, self.fixed, self._mass, unit, rows, key)
        return rows

    def mean(self, counts: Floats) -> Floats:
        """Return the mean of the rows given the counts (R, L)."""
        return self._filled(self.prior + counts)

    def mode(self, counts: Floats) -> Floats:
        """Return the mode of the rows given the counts (R, L); the prior mean for a row without a mode."""
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
        """Return the prior and the fixed cells, from which the rows can be rebuilt."""
        return {f"{name}.prior": self.prior, f"{name}.fixed": self.fixed}


def _check_probabilities(name: str, array: Floats) -> None:
    wrong = (array < 0) | (array > 1 + _ROUNDING)
    if wrong.any():
        place, index = place_of(wrong)
        raise PlaitError(
            Argument(name), f"{place} must be from 0 to 1, or NaN if it is free, got {array[index]:g}"
        )


def cumulative_steps(distributions: Floats) -> Floats:
    """Return cumulative sums along the last axis, to look up uniform variates by `np.searchsorted`.

    They are 2 from the last possible value on, so that rounding never leads beyond it.
    """
    sums = np.cumsum(distributions, axis=-1)
    return np.where(sums >= sums[..., -1:], 2.0, sums)
