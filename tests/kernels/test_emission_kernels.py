"""Sums and densities over several blocks of observations, against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from plait.kernels import emissions as kernels

N, D, FIRST = 2 * kernels._BLOCK + 57, 3, 11
LAST = N - 9


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(N, D)) + np.linspace(0, 5, N)[:, None]  # blocks differ
    values[[0, 30, kernels._BLOCK + 3, N - 12]] = np.nan
    return values, values[1:].mean(axis=0, where=~np.isnan(values[1:]))


def expected_sums(values, centre, weights, form):
    """Return sums with weights (n, S) over the rows from FIRST to LAST that are not missing."""
    there = ~np.isnan(values[FIRST:LAST, 0])
    x, w = values[FIRST:LAST][there] - centre, weights[there]
    parts = [w.sum(axis=0)[:, None], w.T @ x]
    if form == "squares":
        parts.append(w.T @ x**2)
    if form == "products":
        products = np.einsum("ns,nd,ne->sde", w, x, x)
        parts.append(np.tril(products).reshape(w.shape[1], -1))  # only the lower triangle of x x'
    return np.hstack(parts)


def empty_sums(n_states, form):
    return np.zeros((n_states, 1 + D + {"means": 0, "squares": D, "products": D * D}[form]))


@pytest.mark.parametrize("form", ["means", "squares", "products"])
@pytest.mark.parametrize("n_states", [1, 3, 40])  # 40 states and 2 paths: one observation at a time
def test_sums_over_paths_are_those_of_numpy(n_states, form, data):
    values, centre = data
    paths = np.random.default_rng(1).integers(0, n_states, (2, N)).astype(np.uint16)
    sums = empty_sums(n_states, form)
    kernels.sum_values(FIRST, LAST, values, centre, paths, sums)
    times = (paths[:, FIRST:LAST, None] == np.arange(n_states)).sum(axis=0).astype(float)
    np.testing.assert_allclose(sums, expected_sums(values, centre, times, form), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("form", ["means", "squares", "products"])
def test_expected_sums_are_those_of_numpy(form, data):
    values, centre = data
    posteriors = np.random.default_rng(2).dirichlet(np.ones(3), LAST - FIRST)
    sums = empty_sums(3, form)
    kernels.add_values(FIRST, LAST, values, centre, posteriors, sums)
    np.testing.assert_allclose(sums, expected_sums(values, centre, posteriors, form), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("diagonal", [True, False])
def test_log_densities_are_those_of_scipy(diagonal, data):
    values, _ = data
    rng = np.random.default_rng(3)
    means, covariances = rng.normal(size=(2, D)), []
    whitening = np.zeros((2, 1, D) if diagonal else (2, D, D))
    for s in range(2):
        root = np.tril(rng.normal(size=(D, D))) + 2 * np.eye(D)
        covariance = np.diag(np.diag(root) ** 2) if diagonal else root @ root.T
        inverse = np.linalg.inv(np.linalg.cholesky(covariance))
        whitening[s] = np.diag(inverse) if diagonal else inverse
        covariances.append(covariance)
    normals = [stats.multivariate_normal(*pair) for pair in zip(means, covariances, strict=True)]
    constants = np.array([normal.logpdf(normal.mean) for normal in normals])
    logs = np.empty((LAST - FIRST, 2))
    kernels.log_normal(FIRST, LAST, values, means, whitening, constants, logs)
    own = values[FIRST:LAST]
    exact = np.array([normal.logpdf(np.nan_to_num(own)) for normal in normals]).T
    exact[np.isnan(own[:, 0])] = 0
    np.testing.assert_allclose(logs, exact, rtol=1e-11, atol=1e-9)
