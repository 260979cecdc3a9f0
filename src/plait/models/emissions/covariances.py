"""Covariances of normal distributions: checks, and draws from inverse Wishart distributions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from plait.arrays import Floats, place_of
from plait.checks import short_repr
from plait.errors import Argument, Part, PlaitError
from plait.kernels import parameters as draws
from plait.models.model import Key

FARTHEST = 1e145
"""Largest distance from the mean of the data: squares of larger ones, times their weights, overflow."""

LEAST_SCALE = 1e-305
"""Smallest scale of the prior of a variance: divided by 2^53 observations, smaller ones would vanish."""


@contextmanager
def explain_singular() -> Iterator[None]:
    """Turn a failed Cholesky factorisation into an error that says what to do."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise PlaitError(
            "a covariance is singular: give the covariances a larger prior, or remove features that depend on"
            " each other linearly"
        ) from None


def check_near(name: str, means: Floats, centre: Floats) -> None:
    """Raise an error for means in priors that are so far from the mean of the data that squares overflow."""
    with np.errstate(over="ignore"):
        near = np.abs(means - centre) <= FARTHEST
    if not near.all():
        place, index = place_of(~near)
        raise PlaitError(
            Argument(name),
            f"{place} must be a finite number, at most {FARTHEST:g} from the mean of the data, got"
            f" {means[index]:g}",
        )


def draw_inverse_wishart_root(scale: Floats, degrees: float, key: Key, unit: int) -> Floats:
    """Draw M such that M M' is inverse Wishart, by the Bartlett decomposition of its inverse.

    With scale = L L', the inverse is Wishart with scale L^-T L^-1, that is L^-T B B' L^-1 with B lower
    triangular: the squares of the diagonal of B are chi-square with degrees, degrees - 1, ... degrees of
    freedom, its other entries are standard normal. So M = L B^-T. It uses the streams of `unit` and the next.
    """
    n = len(scale)
    with explain_singular():
        factor = np.linalg.cholesky(scale)
    normals, gammas = np.empty(n * n), np.empty(n)
    draws.fill_normals(unit, normals, key)
    draws.fill_gammas(unit + 1, (degrees - np.arange(n)) / 2, gammas, key)
    bartlett = np.tril(normals.reshape(n, n), -1) + np.diag(np.sqrt(2 * gammas))
    return solved(bartlett, factor.T).T


def solved(lower: NDArray[Any], right: NDArray[Any], *, transposed: bool = False) -> Floats:
    """Return lower^-1 right, or lower'^-1 right, for a lower triangular matrix.

    `scipy.linalg.solve_triangular` calls a LAPACK routine that starts threads even for tiny matrices, and
    these wait for milliseconds when the cores are busy.
    """
    solution: Floats = blas.dtrsm(1.0, lower, right, lower=1, trans_a=int(transposed))
    return solution


def check_covariances(
    name: Part, array: Floats, covariance: str, where: NDArray[np.bool_] | None = None
) -> None:
    """Raise an error for covariances, of any form, that are not positive definite, among those in `where`.

    The name is as in `plait.arrays.check_form`.
    """
    if covariance in ("full", "tied"):
        for k, matrix in enumerate(array.reshape(-1, *array.shape[-2:])):
            if where is not None and not where[k]:
                continue
            place = "" if covariance == "tied" else f"[{k}]"
            if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
                raise PlaitError(
                    name, f"{place} must be a symmetric matrix, got {short_repr(matrix.tolist())}"
                )
            least = np.linalg.eigvalsh(matrix).min()
            if not least > 0:
                raise PlaitError(
                    name,
                    f"{place} must be positive definite, got a matrix with the eigenvalue {least:.3g}:"
                    " increase its diagonal",
                )
        return
    flat = array.reshape(len(array), -1)
    wrong = ~(flat > 0) | np.isinf(flat)
    if where is not None:
        wrong &= where[:, None]
    if wrong.any():
        place, index = place_of(wrong)
        if array.ndim == 1:
            place = f"[{index[0]}]"
        raise PlaitError(name, f"{place} must be a finite number greater than 0, got {flat[index]:g}")


def check_scale(name: str, scale: Floats, covariance: str) -> None:
    """Raise an error for a scale of the prior of covariances that is not positive definite, or too small."""
    check_covariances(Argument(name), scale, covariance)
    is_matrix = covariance in ("full", "tied")
    least = (np.diagonal(scale, axis1=-2, axis2=-1) if is_matrix else scale).min()
    if least < LEAST_SCALE:
        raise PlaitError(Argument(name), f" must have variances of at least {LEAST_SCALE:g}, got {least:g}")
