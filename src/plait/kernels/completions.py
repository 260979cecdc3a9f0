"""Kernels for observations of which some features are missing, where a state has full covariances.

Sorted by which features are missing, the sites of one pattern share their factorisations. With the observed
features o first and the missing ones m last, let L L' be the covariance of a state, and

    z_o = L_oo^-1 (x_o - mean_o).

Then x_o has the log-density -z_o' z_o / 2 - log |L_oo| - n_o log(2 pi) / 2, and given x_o

    x_m ~ N(mean_m + L_mo z_o, L_mm L_mm').

So a draw of x_m is mean_m + L_mo z_o + L_mm z_m with standard normal z_m, and one factor serves for
densities, draws and expectations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.arrays import frozen_copy
from plait.jit import kernel, local_array
from plait.rng import COMPLETIONS, normal, open_stream

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class Patterns(NamedTuple):
    """The sites that are missing in part, by the pattern of what is missing."""

    sites: NDArray[np.int64]
    """The sites (P,), one pattern after another, in increasing order within a pattern."""

    starts: NDArray[np.int64]
    """Pattern r has the sites starts[r] to starts[r + 1]."""

    orders: NDArray[np.int64]
    """Row r holds the features (D,), those that pattern r observes first."""

    n_seen: NDArray[np.int64]
    """Number of observed features of each pattern."""


def patterns_of(values: NDArray[np.float64], sites: NDArray[np.intp]) -> Patterns:
    """Return the patterns of these sites of the observations (N, D)."""
    absent = np.isnan(values[sites])
    kinds, kind_of = np.unique(absent, axis=0, return_inverse=True)
    kind_of = kind_of.reshape(-1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(kind_of, minlength=len(kinds)))])
    return Patterns(
        frozen_copy(sites[np.argsort(kind_of, kind="stable")].astype(np.int64)),
        frozen_copy(starts.astype(np.int64)),
        frozen_copy(np.argsort(kinds, axis=1, kind="stable").astype(np.int64)),
        frozen_copy((~kinds).sum(axis=1).astype(np.int64)),
    )


class Normals(NamedTuple):
    """Normal distributions, one for each state."""

    means: NDArray[np.float64]
    """Means (S, D)."""

    covariances: NDArray[np.float64]
    """Covariances (S, D, D)."""


class Scratch(NamedTuple):
    """Buffers."""

    factors: NDArray[np.float64]
    """For the factors of all states, (S, D, D)."""

    z: NDArray[np.float64]
    """For what the factors multiply, (D,)."""

    x: NDArray[np.float64]
    """For a completed observation, (D,)."""


@kernel
def _first_at(sites, low, high, site):
    """Return the first of the places low to high of the sorted sites that is not before `site`."""
    while low < high:
        middle = (low + high) // 2
        if sites[middle] < site:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _places_of(r, patterns, first, last):
    """Return the first and the last place of the sites first to last of pattern r."""
    begin = _first_at(patterns.sites, patterns.starts[r], patterns.starts[r + 1], first)
    return begin, _first_at(patterns.sites, begin, patterns.starts[r + 1], last)


@kernel
def _factorise(normals, order, factors):
    """Set each of the factors to the Cholesky factor of a covariance, with the features in this order."""
    n_features = order.size
    for s in range(factors.shape[0]):
        for d in range(n_features):
            for e in range(d + 1):
                x = normals.covariances[s, order[d], order[e]]
                for f in range(e):
                    x -= factors[s, d, f] * factors[s, e, f]
                if d == e:
                    factors[s, d, d] = np.sqrt(max(x, 1e-300))
                else:
                    factors[s, d, e] = x / factors[s, e, e]


@kernel
def _whiten(i, s, values, means, order, n_seen, factors, z):
    """Set the first entries of z to those of the observed features: L_oo^-1 (x_o - mean_o)."""
    for d in range(n_seen):
        x = values[i, order[d]] - means[s, order[d]]
        for e in range(d):
            x -= factors[s, d, e] * z[e]
        z[d] = x / factors[s, d, d]


@kernel
def _add(weight, i, s, data, means, order, n_seen, scratch, sums):
    """Add observation i, completed by the last entries of z, to the sums of state s with this weight."""
    values, centre = data
    factors, z, x = scratch
    n_features = order.size
    for d in range(n_features):
        feature = order[d]
        if d < n_seen:
            x[feature] = values[i, feature] - centre[feature]
        else:
            x[feature] = means[s, feature] - centre[feature]
            for e in range(d + 1):
                x[feature] += factors[s, d, e] * z[e]
    sums[s, 0] += weight
    for d in range(n_features):
        sums[s, 1 + d] += weight * x[d]
        for e in range(d + 1):
            sums[s, 1 + n_features + d * n_features + e] += weight * x[d] * x[e]


@kernel
def log_partly(first, last, patterns, values, normals, scratch, logs):
    """Set `logs` (n, S), whose row 0 is the site `first`, to the log-density of what is observed."""
    factors, z, _ = scratch
    for r in range(patterns.n_seen.size):
        begin, end = _places_of(r, patterns, first, last)
        if begin == end:
            continue
        order, n_seen = patterns.orders[r], patterns.n_seen[r]
        _factorise(normals, order, factors)
        for s in range(factors.shape[0]):
            constant = -n_seen * _HALF_LOG_TWO_PI
            for d in range(n_seen):
                constant -= np.log(factors[s, d, d])
            for k in range(begin, end):
                i = patterns.sites[k]
                _whiten(i, s, values, normals.means, order, n_seen, factors, z)
                squares = 0.0
                for d in range(n_seen):
                    squares += z[d] * z[d]
                logs[i - first, s] = constant - 0.5 * squares


@kernel
def add_drawn(first, last, patterns, data, paths, normals, scratch, sums, key):
    """Draw what is missing, for each path, given its state, and add the completed observations to `sums`."""
    stream = local_array(2, np.uint64)
    factors, z, _ = scratch
    for r in range(patterns.n_seen.size):
        begin, end = _places_of(r, patterns, first, last)
        if begin == end:
            continue
        order, n_seen = patterns.orders[r], patterns.n_seen[r]
        _factorise(normals, order, factors)
        for k in range(begin, end):
            i = patterns.sites[k]
            open_stream(stream, key.seed, key.sweep, COMPLETIONS, i)
            for j in range(paths.shape[0]):
                s = np.int64(paths[j, i])
                _whiten(i, s, data[0], normals.means, order, n_seen, factors, z)
                for d in range(n_seen, order.size):
                    z[d] = normal(stream)
                _add(1.0, i, s, data, normals.means, order, n_seen, scratch, sums)


@kernel
def add_expected(first, last, patterns, data, posteriors, normals, scratch, sums):
    """Add the expectations of the completed observations, with the weights `posteriors` (n, S), to `sums`.

    That of x_m x_m' is the square of the mean plus the covariance L_mm L_mm'.
    """
    factors, z, _ = scratch
    for r in range(patterns.n_seen.size):
        begin, end = _places_of(r, patterns, first, last)
        if begin == end:
            continue
        order, n_seen = patterns.orders[r], patterns.n_seen[r]
        n_features = order.size
        _factorise(normals, order, factors)
        for d in range(n_seen, n_features):
            z[d] = 0.0
        for s in range(factors.shape[0]):
            total = 0.0
            for k in range(begin, end):
                i = patterns.sites[k]
                weight = posteriors[i - first, s]
                if weight > 0.0:
                    total += weight
                    _whiten(i, s, data[0], normals.means, order, n_seen, factors, z)
                    _add(weight, i, s, data, normals.means, order, n_seen, scratch, sums)
            for d in range(n_seen, n_features):
                for e in range(n_seen, d + 1):
                    covariance = 0.0
                    for f in range(n_seen, e + 1):
                        covariance += factors[s, d, f] * factors[s, e, f]
                    high, low = max(order[d], order[e]), min(order[d], order[e])
                    sums[s, 1 + n_features + high * n_features + low] += total * covariance
