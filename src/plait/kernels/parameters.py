"""Kernels that draw parameters: Dirichlet rows, and variates to build others from."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel, local_array
from plait.rng import PARAMETERS, gamma, log_gamma, normal, open_stream, uniform

_LEAST_CAUCHY, _MOST_CAUCHY = 1e-6, 1e4  # beyond these, rounding would spoil the wrapped Cauchy variates
_MAX_ATTEMPTS = 10_000  # never reached by rejection; keeps a NaN from causing an infinite loop


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


@kernel
def fill_uniforms(unit, variates, key):
    """Fill a flat array with uniform variates from the stream of a unit of the parameters."""
    stream = local_array(2, np.uint64)
    open_stream(stream, key.seed, key.sweep, PARAMETERS, unit)
    for k in range(variates.size):
        variates[k] = uniform(stream)


@kernel
def von_mises(stream, concentration):
    """Return a von Mises variate around 0: from a wrapped Cauchy (Best and Fisher, 1979) or normal one."""
    if concentration < _LEAST_CAUCHY:
        return np.pi * (2.0 * uniform(stream) - 1.0)
    if concentration > _MOST_CAUCHY:
        # 2 sin(x / 2) is normal but for a factor (1 - sin^2(x / 2))^-1/2, here from 1 to (1 - most)^-1/2
        most = 36.0 / concentration
        for _ in range(_MAX_ATTEMPTS):
            half = 0.5 * normal(stream) / np.sqrt(concentration)
            if half * half < most and uniform(stream) ** 2 * (1.0 - half * half) < 1.0 - most:
                return 2.0 * np.arcsin(half)
        return np.nan
    root = 1.0 + np.sqrt(1.0 + 4.0 * concentration * concentration)
    rho = (root - np.sqrt(2.0 * root)) / (2.0 * concentration)
    r = (1.0 + rho * rho) / (2.0 * rho)
    for _ in range(_MAX_ATTEMPTS):
        z = np.cos(np.pi * uniform(stream))
        f = (1.0 + r * z) / (r + z)
        c = concentration * (r - f)
        u = uniform(stream)
        if c * (2.0 - c) > u or np.log(c / u) + 1.0 >= c:
            x = np.arccos(min(1.0, max(-1.0, f)))
            return x if uniform(stream) < 0.5 else -x
    return np.nan


@kernel
def fill_von_mises(unit, concentrations, variates, key):
    """Fill a flat array with von Mises variates around 0 from the stream of a unit of the parameters."""
    stream = local_array(2, np.uint64)
    open_stream(stream, key.seed, key.sweep, PARAMETERS, unit)
    for k in range(variates.size):
        variates[k] = von_mises(stream, concentrations[k])
