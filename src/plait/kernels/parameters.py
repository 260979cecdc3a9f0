"""Kernels that draw parameters: Dirichlet rows, and normal and gamma variates to build others from."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel, local_array
from plait.rng import PARAMETERS, gamma, log_gamma, normal, open_stream


@kernel
def draw_rows(shapes, free, fixed, mass, unit, rows, key):
    """Draw each row (R, L): Dir(shapes) times `mass` (R,) on its free cells, `fixed` on the others.

    Row r is drawn from the stream of the unit `unit + r`.
    """
    stream = local_array(2, np.uint64)
    for r in range(rows.shape[0]):
        open_stream(stream, key.seed, key.sweep, PARAMETERS, unit + r)
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
def fill_normals(unit, variates, key):
    """Fill a flat array with standard normal variates from the stream of a unit of the parameters."""
    stream = local_array(2, np.uint64)
    open_stream(stream, key.seed, key.sweep, PARAMETERS, unit)
    for k in range(variates.size):
        variates[k] = normal(stream)


@kernel
def fill_gammas(unit, shapes, variates, key):
    """Fill a flat array with gamma variates of these shapes from the stream of a unit of the parameters."""
    stream = local_array(2, np.uint64)
    open_stream(stream, key.seed, key.sweep, PARAMETERS, unit)
    for k in range(variates.size):
        variates[k] = gamma(stream, shapes[k])
