"""Posteriors of single positive parameters that have no named distribution, such as the shape of a gamma.

Each is known by its log-density, up to a constant, as a function of t = log x. All methods work on K
posteriors at once. Draws must depend on the statistics and the key alone, because nothing but paths is
carried from sweep to sweep: a slice sampler, which moves from an earlier value, would not do. So they are
independent exact draws, by rejection from a piecewise linear density on a grid that covers all but a share of
about exp(-45).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from plait.arrays import Floats
from plait.kernels import parameters as kernels
from plait.models.model import Key

LogDensity = Callable[[Floats], Floats]
"""Takes t (K, G) and returns log-densities with respect to t, of the same shape."""

LEAST, MOST = 1e-8, 1e8
"""Limits of the parameters: the posteriors are restricted to values between these."""

_DROP = 45.0  # values whose log-density is this far below the largest are left out
_POINTS: Final = 257
_POINTS_OF_SEARCH: Final = 65
_ROUNDS: Final = 16  # a search narrows each range by up to 32 per round, and stops when it no longer does
_MARGIN = 1.1  # by how much the piecewise linear density, with 20 points in its narrowest part, is raised
_ATTEMPTS: Final = 24  # each fails with a probability of about 0.09


class ScalarPosteriors:
    """K distributions of positive numbers x.

    Parameters
    ----------
    log_density : callable
        The log-densities of t = log x. They are smooth, with one local maximum each.
    n : int
        Number of distributions K.
    """

    def __init__(self, log_density: LogDensity, n: int) -> None:
        self._log_density = log_density
        low, high = _support(log_density, n)
        self._points, self._logs = _evaluated(log_density, low, high, _POINTS)
        self._top = self._logs.max(axis=1, keepdims=True)
        self._densities = np.exp(self._logs - self._top)

    def mean(self) -> Floats:
        """Return the mean of x, (K,): a trapezoidal sum, which converges fast for smooth densities."""
        weights = self._densities.copy()
        weights[:, [0, -1]] /= 2
        means: Floats = (weights * np.exp(self._points)).sum(axis=1) / weights.sum(axis=1)
        return means

    def draw(self, key: Key, unit: int) -> Floats:
        """Draw x, (K,), from the stream of a unit of the parameters."""
        n, cells = len(self._points), np.arange(len(self._points))
        uniforms = np.empty((_ATTEMPTS, 3, n))
        kernels.fill_uniforms(unit, uniforms.reshape(-1), key)
        steps = np.cumsum(self._densities[:, 1:] + self._densities[:, :-1], axis=1)
        width = self._points[:, 1] - self._points[:, 0]
        drawn, pending = np.empty(n), np.ones(n, np.bool_)
        for choice, place, height in uniforms:
            k = np.minimum((steps <= (choice * steps[:, -1])[:, None]).sum(axis=1), _POINTS - 2)
            left, right = self._densities[cells, k], self._densities[cells, k + 1]
            # The share x of the cell with left x + (right - left) x^2 / 2 = place (left + right) / 2
            root = np.sqrt(left**2 + place * (right**2 - left**2))
            share = np.minimum(place * (left + right) / np.maximum(left + root, 1e-300), 1.0)
            t = self._points[cells, k] + share * width
            hat = _MARGIN * (left + share * (right - left))
            accepted = np.log(height * hat) <= self._log_density(t[:, None])[:, 0] - self._top[:, 0]
            drawn = np.where(pending, t, drawn)
            pending &= ~accepted
            if not pending.any():
                break
        values: Floats = np.exp(drawn)
        return values


def modes(log_density: LogDensity, n: int) -> Floats:
    """Return the x, (K,), whose t = log x has the largest log-density; see `ScalarPosteriors`."""
    low, high = _ends(n)
    rows = np.arange(n)
    for _ in range(_ROUNDS):
        points, logs = _evaluated(log_density, low, high, _POINTS_OF_SEARCH)
        best = logs.argmax(axis=1)
        low = points[rows, np.maximum(best - 1, 0)]
        high = points[rows, np.minimum(best + 1, _POINTS_OF_SEARCH - 1)]
        if (high - low).max() < 1e-9:
            break
    found: Floats = np.exp((low + high) / 2)
    return found


def _ends(n: int) -> tuple[Floats, Floats]:
    return np.full(n, np.log(LEAST)), np.full(n, np.log(MOST))


def _evaluated(log_density: LogDensity, low: Floats, high: Floats, n_points: int) -> tuple[Floats, Floats]:
    points = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, n_points)
    return points, log_density(points)


def _support(log_density: LogDensity, n: int) -> tuple[Floats, Floats]:
    """Return the range of t in which the log-density is less than `_DROP` below the largest."""
    low, high = _ends(n)
    rows = np.arange(n)
    for _ in range(_ROUNDS):
        points, logs = _evaluated(log_density, low, high, _POINTS_OF_SEARCH)
        inside = logs > logs.max(axis=1, keepdims=True) - _DROP
        first = np.maximum(inside.argmax(axis=1) - 1, 0)
        last = np.minimum(_POINTS_OF_SEARCH - inside[:, ::-1].argmax(axis=1), _POINTS_OF_SEARCH - 1)
        before = high - low
        low, high = points[rows, first], points[rows, last]
        if (high - low > 0.8 * before).all():
            break
    return low, high
