"""phi given the paths, and its mean, are those of the textbook, for every kind of emissions.

The posterior is conjugate, and follows from `times` (S, N), how many paths are in state s at site i.
Distributions of single parameters are compared with SciPy's by the Kolmogorov-Smirnov test, joint ones by
z-scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hmm_oracle import (
    Counts,
    Hmm,
    Normals,
    Rows,
    as_matrix,
    log_weight,
    pair_counts,
    site_counts,
    start_counts,
)
from hmm_support import FORMS, NUMBER_CASES, SYMBOL_CASES, THREE_STATES, normals, plait_model
from oracle import Floats
from scipy import stats
from scipy.special import digamma
from support import LEAST_P, SCALES, THREADS, assert_small

from plait.kernels import parameters
from plait.models.chain import HmmCounts
from plait.models.model import Key


def some_paths(hmm: Hmm, n_paths: int) -> np.ndarray:
    """Increasing paths, which are possible in all cases, with observations in at least two states."""
    paths = np.zeros((n_paths, hmm.n_sites), np.uint16)
    for j in range(n_paths):
        for k, (first, length) in enumerate(zip(hmm.firsts, hmm.lengths, strict=True)):
            steps = (np.arange(length) + j) // 3
            paths[j, first : first + length] = np.minimum((j + k) % 2 + steps, hmm.n_states - 1)
    assert np.isfinite(log_weight(hmm, paths[None])).all()
    return paths


def fits(values: Floats, distribution: Any, what: str) -> None:
    p = stats.kstest(values, distribution.cdf).pvalue
    assert p > LEAST_P, f"{what}: p = {p:.2g}"


def mean_is(values: Floats, exact: Floats) -> None:
    """z-scores of means over independent draws, (n, ...)."""
    error = values.std(axis=0) / np.sqrt(len(values))
    still = error < 1e-12
    np.testing.assert_allclose(
        values.mean(axis=0)[still], np.broadcast_to(exact, still.shape)[still], atol=1e-9
    )
    assert_small(((values.mean(axis=0) - exact) / np.where(still, 1, error))[~still])


def check_rows(rows: Rows, counts: Floats, draws: Floats, what: str) -> None:
    """Draws (n, R, L) of Dirichlet rows with fixed cells."""
    np.testing.assert_allclose(draws.sum(axis=2), 1, atol=1e-12)
    known, free = rows.known, rows.free
    np.testing.assert_array_equal(draws[:, ~free], np.broadcast_to(known[~free], (len(draws), (~free).sum())))
    for r in range(len(known)):
        shapes = (rows.prior + counts)[r, free[r]]
        shares = draws[:, r, free[r]] / rows.mass[r]
        if len(shapes) == 1:
            np.testing.assert_allclose(shares, 1, atol=1e-12)
        if len(shapes) < 2:
            continue
        for k, a in enumerate(shapes):
            fits(shares[:, k], stats.beta(a, shapes.sum() - a), f"{what}, row {r}, {k}")
        mean = shapes / shapes.sum()
        centred = shares - mean
        covariance = (np.diag(mean) - np.outer(mean, mean)) / (shapes.sum() + 1)
        mean_is(centred[:, :, None] * centred[:, None, :], covariance)
    # rows are independent
    flat = [draws[:, r, free[r]][:, 0] for r in range(len(known)) if free[r].sum() > 1]
    if len(flat) > 1:
        assert_small((np.corrcoef(flat) - np.eye(len(flat))) * np.sqrt(len(draws)))


def check_normals(e: Normals, times: np.ndarray, means: Floats, covariances: Floats) -> None:
    n_draws, n_states, d = means.shape
    parts = [e.of_state(s, times) for s in range(n_states)]
    standardised = []
    for s in range(n_states):
        n, q, _ = parts[s]
        own = np.array([as_matrix(e.covariance, c, s, d) for c in covariances])
        if e.fixed(s) is not None:
            exact = as_matrix(e.covariance, e.fixed_covariances, s, d)
            np.testing.assert_array_equal(own, np.broadcast_to(exact, own.shape))
        elif e.covariance in ("full", "tied"):
            if e.covariance == "tied":
                n, q = sum(part[0] for part in parts), sum(part[1] for part in parts)
            scale, degrees = (e.scale if e.covariance == "tied" else e.scale[s]) + q, e.degrees[s] + n
            check_inverse_wishart(own, scale, degrees)
        elif e.covariance == "diag":
            for k in range(d):
                distribution = stats.invgamma((e.degrees[s] + n) / 2, scale=(e.scale[s, k] + q[k, k]) / 2)
                fits(own[:, k, k], distribution, f"variance {s}, {k}")
            if d == 2:
                assert_small(np.corrcoef(np.log(own[:, 0, 0]), np.log(own[:, 1, 1]))[0, 1] * np.sqrt(n_draws))
        else:
            distribution = stats.invgamma((e.degrees[s] + n * d) / 2, scale=(e.scale[s] + np.trace(q)) / 2)
            fits(own[:, 0, 0], distribution, f"variance {s}")
        if e.mean_is_fixed(s):
            np.testing.assert_array_equal(means[:, s], np.broadcast_to(e.fixed_means[s], (n_draws, d)))
            continue
        seen = ~np.isnan(e.values[:, 0])
        n = times[s, seen].sum()
        weight = e.mean_weight[s] + n
        centre = (e.mean_weight[s] * e.mean_prior[s] + times[s, seen] @ e.values[seen]) / weight
        factors = np.linalg.cholesky(own)
        white = np.linalg.solve(factors, (means[:, s] - centre)[:, :, None])[:, :, 0] * np.sqrt(weight)
        for k in range(d):
            fits(white[:, k], stats.norm, f"mean {s}, {k}")
        standardised += [*white.T, np.log(np.linalg.det(own))] if e.fixed(s) is None else [*white.T]
    # Given the covariances, standardised means are independent of one another and of the covariances. So are
    # the covariances of two states, except a tied one, which occurs twice.
    if standardised:
        correlations = np.atleast_2d(np.corrcoef(standardised))
        assert_small(correlations[np.abs(correlations) < 0.999] * np.sqrt(n_draws))


def check_inverse_wishart(draws: Floats, scale: Floats, degrees: float) -> None:
    d = len(scale)
    np.testing.assert_allclose(draws, draws.transpose(0, 2, 1), rtol=1e-9)
    precision, inverse = np.linalg.inv(scale), np.linalg.inv(draws)
    for k in range(d):
        distribution = stats.invgamma((degrees - d + 1) / 2, scale=scale[k, k] / 2)
        fits(draws[:, k, k], distribution, f"covariance {k}, {k}")
    for direction in (np.eye(d)[0], np.eye(d)[-1], np.linspace(1, -0.5, d)):
        squares = np.einsum("i,nij,j->n", direction, inverse, direction)
        fits(squares / (direction @ precision @ direction), stats.chi2(degrees), "inverse covariance")
    mean_is(inverse, degrees * precision)
    centred = inverse - degrees * precision
    diagonal = np.diag(precision)
    mean_is(centred**2, degrees * (precision**2 + np.outer(diagonal, diagonal)))
    determinant = sum(_mean_log_chi2(degrees - k) for k in range(d))
    logs = np.linalg.slogdet(scale)[1] - np.linalg.slogdet(draws)[1]
    mean_is(logs, determinant)


def _mean_log_chi2(degrees: float) -> float:
    return float(digamma(degrees / 2) + np.log(2))


CASES = [*SYMBOL_CASES, *NUMBER_CASES]


def counted(hmm: Hmm, n_paths: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Paths (m, N), and what the oracle counts in them."""
    paths = some_paths(hmm, n_paths)
    return (
        paths,
        start_counts(hmm, paths[None]),
        pair_counts(hmm, paths[None])[0],
        site_counts(hmm, paths[None])[0],
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("hmm", "n_paths"), CASES)
def test_phi_given_the_paths_has_the_exact_distribution(hmm: Hmm, n_paths: int, scale: int) -> None:
    model = plait_model(hmm)
    paths, starts, pairs, times = counted(hmm, n_paths)
    counts = model.count(paths, THREADS)
    np.testing.assert_array_equal(counts.starts, starts[0])
    np.testing.assert_array_equal(counts.pairs, pairs)
    draws = [model.draw_parameters(counts, Key(62, k), THREADS) for k in range(1_000 * scale)]
    start, moves = np.array([d.start for d in draws]), np.array([d.transitions for d in draws])
    check_rows(hmm.start, starts, start[:, None], "start")
    check_rows(hmm.transitions, pairs, moves, "transitions")
    e = hmm.emissions
    emissions = [d.emissions for d in draws]
    others: list[Floats] = []  # one entry of each part of phi; the parts are independent
    if isinstance(e, Normals):
        means = np.array([own.means for own in emissions])
        check_normals(e, times, means, np.array([own.covariances for own in emissions]))
        others += [means[:, 0, 0], means[:, 1, 0]]
    elif isinstance(e, Counts):
        rates = np.array([own.rates for own in emissions])
        n, sums = e.sums(times)
        for s, k in np.ndindex(e.shape.shape):
            if not np.isnan(e.known[s, k]):
                np.testing.assert_array_equal(rates[:, s, k], e.known[s, k])
                continue
            distribution = stats.gamma(e.shape[s, k] + sums[s, k], scale=1 / (e.weight[s, k] + n[s]))
            fits(rates[:, s, k], distribution, f"rate {s}, {k}")
            others.append(rates[:, s, k])
    else:
        symbols = np.array([own.probabilities for own in emissions])
        check_rows(e.rows, e.counts(times), symbols, "emissions")
        others += [symbols[:, 0, 1], symbols[:, 1, 0]]
    parts = np.array([start[:, 0], moves[:, 0, 0], moves[:, 1, 1], *others])
    correlations = np.corrcoef(parts[parts.std(axis=1) > 1e-12])
    if not isinstance(e, Normals) or e.covariance != "tied":
        assert_small((correlations - np.eye(len(correlations))) * np.sqrt(len(draws)))


@pytest.mark.parametrize(("hmm", "n_paths"), CASES)
def test_the_mean_of_phi_given_the_paths_is_exact(hmm: Hmm, n_paths: int) -> None:
    model = plait_model(hmm)
    paths, starts, pairs, times = counted(hmm, n_paths)
    phi = model.mean_parameters(model.count(paths, THREADS), THREADS)
    np.testing.assert_allclose(phi.start, hmm.start.mean(starts)[0], rtol=1e-12)
    np.testing.assert_allclose(phi.transitions, hmm.transitions.mean(pairs), rtol=1e-12)
    e, own = hmm.emissions, phi.emissions
    if isinstance(e, Counts):
        n, sums = e.sums(times)
        exact = np.where(np.isnan(e.known), (e.shape + sums) / (e.weight + n[:, None]), e.known)
        np.testing.assert_allclose(own.rates, exact, rtol=1e-12)
    elif isinstance(e, Normals):
        means, covariances = normal_means(e, times)
        np.testing.assert_allclose(own.means, means, rtol=1e-12)
        np.testing.assert_allclose(own.covariances, covariances, rtol=1e-11)
    else:
        np.testing.assert_allclose(own.probabilities, e.rows.mean(e.counts(times)), rtol=1e-12)


def normal_means(e: Normals, times: np.ndarray) -> tuple[Floats, Floats]:
    """The means given the paths; of covariances scale / (degrees - D - 1)."""
    n_states, d = e.mean_prior.shape
    seen = ~np.isnan(e.values[:, 0])
    means, covariances = np.empty((n_states, d)), np.array(e.scale)
    parts = [e.of_state(s, times) for s in range(n_states)]
    for s, (n, q, _) in enumerate(parts):
        sums = times[s, seen] @ e.values[seen]
        means[s] = (e.mean_weight[s] * e.mean_prior[s] + sums) / (e.mean_weight[s] + n)
        if e.mean_is_fixed(s):
            means[s] = e.fixed_means[s]
        if e.covariance == "spherical":
            covariances[s] = (e.scale[s] + np.trace(q)) / (e.degrees[s] + n * d - 2)
        elif e.covariance == "diag":
            covariances[s] = (e.scale[s] + np.diag(q)) / (e.degrees[s] + n - 2)
        elif e.covariance == "full":
            covariances[s] = (e.scale[s] + q) / (e.degrees[s] + n - d - 1)
    if e.covariance == "tied":
        n, q = sum(part[0] for part in parts), sum(part[1] for part in parts)
        covariances = (e.scale + q) / (e.degrees[0] + n - d - 1)
    if e.fixed_covariances is not None:
        covariances = np.where(np.isnan(e.fixed_covariances), covariances, e.fixed_covariances)
    return means, covariances


@pytest.mark.parametrize(("hmm", "n_paths"), CASES)
def test_no_two_parts_of_phi_share_a_stream(hmm: Hmm, n_paths: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters made from the same random numbers need not be correlated, so compare the streams."""
    units: list[int] = []
    rows, normals_, gammas = parameters.draw_rows, parameters.fill_normals, parameters.fill_gammas

    def draw_rows(shapes: Any, free: Any, fixed: Any, mass: Any, unit: int, out: Any, key: Key) -> None:
        units.extend(unit + r for r in range(len(out)))
        rows(shapes, free, fixed, mass, unit, out, key)

    def fill_normals(unit: int, variates: Any, key: Key) -> None:
        units.append(unit)
        normals_(unit, variates, key)

    def fill_gammas(unit: int, shapes: Any, variates: Any, key: Key) -> None:
        units.append(unit)
        gammas(unit, shapes, variates, key)

    for spy in (draw_rows, fill_normals, fill_gammas):
        monkeypatch.setattr(parameters, spy.__name__, spy)
    model = plait_model(hmm)
    model.draw_parameters(model.count(some_paths(hmm, n_paths), THREADS), Key(66, 1), THREADS)
    assert len(units) > 1 + hmm.n_states
    assert len(set(units)) == len(units)


@pytest.mark.parametrize("form", FORMS)
def test_data_far_from_zero_keep_their_digits(form: str) -> None:
    """Sums of squares around zero would lose all digits."""
    near = normals(form, 2)
    e = near.emissions
    far = Hmm(
        near.lengths,
        near.start,
        near.transitions,
        Normals(e.values + 1e8, form, e.mean_prior + 1e8, e.mean_weight, e.scale, e.degrees),
    )
    paths = some_paths(near, 2)
    means = []
    for hmm in (near, far):
        model = plait_model(hmm)
        means.append(model.mean_parameters(model.count(paths, THREADS), THREADS).emissions)
    np.testing.assert_allclose(means[1].means - 1e8, means[0].means, atol=1e-6)
    np.testing.assert_allclose(means[1].covariances, means[0].covariances, rtol=1e-6)


def test_covariances_without_observations_have_their_prior_distribution() -> None:
    """With three features, the Bartlett decomposition has three rows."""
    rng = np.random.default_rng(63)
    root = rng.normal(size=(3, 3))
    e = Normals(
        rng.normal(size=(2, 3)),
        "full",
        np.zeros((2, 3)),
        np.ones(2),
        np.array([root @ root.T + np.eye(3)] * 2),
        np.array([5.5, 4.2]),
    )
    model = plait_model(Hmm([2], Rows(np.ones((1, 2))), Rows(np.ones((2, 2))), e))
    counts = model.count(np.zeros((0, 2), np.uint16), THREADS)
    assert isinstance(counts, HmmCounts)
    draws = [model.draw_parameters(counts, Key(64, k), THREADS).emissions for k in range(4_000)]
    for s in range(2):
        check_inverse_wishart(np.array([own.covariances[s] for own in draws]), e.scale[s], e.degrees[s])


@pytest.mark.parametrize("prior", [0.01, 1e-3])
def test_rows_with_tiny_priors_have_the_exact_moments(prior: float) -> None:
    """A row is nearly all in one cell, each as often as its share of the prior, and never NaN."""
    rows = Rows(np.tile(prior * np.array([1.0, 2.0, 1.0]), (3, 1)))
    model = plait_model(Hmm(THREE_STATES.lengths, THREE_STATES.start, rows, THREE_STATES.emissions))
    counts = model.count(np.zeros((0, 4), np.uint16), THREADS)
    draws = np.array([model.draw_parameters(counts, Key(65, k), THREADS).transitions for k in range(2_000)])
    assert np.isfinite(draws).all()
    np.testing.assert_allclose(draws.sum(axis=2), 1, atol=1e-9)
    mean = np.array([0.25, 0.5, 0.25])
    mean_is(draws, np.tile(mean, (3, 1)))
    mean_is(draws**2, np.tile(mean * (mean * 4 * prior + 1) / (4 * prior + 1), (3, 1)))
