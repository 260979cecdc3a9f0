"""Kernels that draw parameters: Dirichlet rows, and normal and gamma numbers to make others from."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.rng import PARAMETERS, gamma, log_gamma, normal, open_stream


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
        numbers[k] = gamma(stream, shapes[k])
