"""Kernels that draw distributions from their Dirichlet laws."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.rng import PARAMETERS, large_gamma, normal, open_stream, uniform


@kernel
def log_gamma(stream, shape):
    """Return the logarithm of a gamma number of unit scale: finite for any shape > 0.

    A number of shape a < 1 is one of shape a + 1 times u^(1/a), which soon is too small for a real number.
    """
    if shape < 1.0:
        return np.log(large_gamma(stream, shape + 1.0)) + np.log(uniform(stream)) / shape
    return np.log(large_gamma(stream, shape))


@kernel
def draw_rows(shapes, free, fixed, mass, unit, rows, seed, sweep):
    """Draw each of the rows (R, L) from Dir(shapes) on its free cells, which share `mass` (R,).

    The other cells are as `fixed`. Row r has the stream of the unit `unit + r`.
    """
    stream = np.zeros(2, dtype=np.uint64)
    for r in range(rows.shape[0]):
        open_stream(stream, seed, sweep, PARAMETERS, unit + r)
        top = -np.inf
        for k in range(rows.shape[1]):
            rows[r, k] = fixed[r, k]
            if free[r, k]:
                rows[r, k] = log_gamma(stream, shapes[r, k])
                top = max(top, rows[r, k])
        total = 0.0
        for k in range(rows.shape[1]):
            if free[r, k]:
                rows[r, k] = np.exp(rows[r, k] - top)
                total += rows[r, k]
        for k in range(rows.shape[1]):
            if free[r, k]:
                rows[r, k] *= mass[r] / total


@kernel
def fill_normals(seed, sweep, unit, numbers):
    """Fill a flat array with standard normal numbers, from the stream of a unit of the parameters."""
    stream = np.zeros(2, dtype=np.uint64)
    open_stream(stream, seed, sweep, PARAMETERS, unit)
    for k in range(numbers.size):
        numbers[k] = normal(stream)


@kernel
def fill_gammas(seed, sweep, unit, shapes, numbers):
    """Fill a flat array with gamma numbers of these shapes, from the stream of a unit of the parameters."""
    stream = np.zeros(2, dtype=np.uint64)
    open_stream(stream, seed, sweep, PARAMETERS, unit)
    for k in range(numbers.size):
        numbers[k] = np.exp(log_gamma(stream, shapes[k]))
