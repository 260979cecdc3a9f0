"""The oracle itself: marginal likelihoods against quadrature and predictive distributions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hmm_oracle import Hmm, Normals, Rows, all_paths, joint_distribution, log_joints, log_weight
from hmm_support import FIXED, FORMS, KNOWN, LEFT_RIGHT, RATES, SYMBOLS, array, normals, some_phi
from scipy import integrate, stats

TIMES = np.array([[2, 0, 1, 0], [0, 3, 1, 1]])
ONE_STATE = np.array([[1, 2, 0, 1], [0, 0, 0, 0]])


def repeated(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    return np.repeat(values, times, axis=0)


@pytest.mark.parametrize("known_mean", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("form", FORMS)
def test_one_feature_matches_quadrature(form: str, known_mean: bool) -> None:
    """Integrate prior times likelihood over the mean and the variance, which are the same in all forms."""
    e = normals(form, 1).emissions
    if known_mean:
        e = replace(e, fixed_means=array([0.4], [np.nan]))
    x = repeated(e.values[:, 0], ONE_STATE[0])
    nu, psi = e.degrees[0], e.scale.ravel()[0]

    def given_variance(v: float) -> float:
        prior = stats.invgamma.pdf(v, nu / 2, scale=psi / 2)
        if known_mean:
            return prior * np.exp(stats.norm.logpdf(x, 0.4, np.sqrt(v)).sum())

        def integrand(mean: float) -> float:
            spread = np.sqrt(v / e.mean_weight[0])
            logs = (
                stats.norm.logpdf(mean, e.mean_prior[0, 0], spread)
                + stats.norm.logpdf(x, mean, np.sqrt(v)).sum()
            )
            return np.exp(logs)

        centre = (e.mean_weight[0] * e.mean_prior[0, 0] + x.sum()) / (e.mean_weight[0] + len(x))
        reach = 9 * np.sqrt(v / (e.mean_weight[0] + len(x)))
        return prior * integrate.quad(integrand, centre - reach, centre + reach, epsrel=1e-7)[0]

    exact, _ = integrate.quad(lambda t: given_variance(np.exp(t)) * np.exp(t), -6, 9, epsrel=1e-7)
    np.testing.assert_allclose(e.log_marginal(ONE_STATE), np.log(exact), rtol=1e-6)


def predictive_chain(e: Normals, s: int, times: np.ndarray) -> float:
    """log-density of the observations of a state, one after another, each multivariate t."""
    x = repeated(e.values, times[s])
    m, k, nu, psi = e.mean_prior[s], e.mean_weight[s], e.degrees[s], e.scale[s]
    total, d = 0.0, e.values.shape[1]
    for own in x:
        freedom = nu - d + 1
        total += stats.multivariate_t.logpdf(own, m, psi * (k + 1) / (k * freedom), freedom)
        psi = psi + k / (k + 1) * np.outer(own - m, own - m)
        m, k, nu = (k * m + own) / (k + 1), k + 1, nu + 1
    return total


def test_full_covariances_match_predictive_densities() -> None:
    e = normals("full", 2).emissions
    exact = sum(predictive_chain(e, s, TIMES) for s in range(2))
    np.testing.assert_allclose(e.log_marginal(TIMES), exact, rtol=1e-12)


def test_features_with_diagonal_covariances_are_independent() -> None:
    e = normals("diag", 2).emissions
    parts = [
        replace(
            e, values=e.values[:, d, None], mean_prior=e.mean_prior[:, d, None], scale=e.scale[:, d, None]
        )
        for d in range(2)
    ]
    np.testing.assert_allclose(e.log_marginal(TIMES), sum(part.log_marginal(TIMES) for part in parts))


@pytest.mark.parametrize("form", ["spherical", "tied"])
def test_shared_variances_match_quadrature(form: str) -> None:
    """One variance for two features, or for two states: integrate the normal density over it."""
    e = normals(form, 2 if form == "spherical" else 1).emissions
    nu, psi = e.degrees[0], e.scale.ravel()[0]
    times = ONE_STATE if form == "spherical" else TIMES

    def given_variance(v: float) -> float:
        logs = stats.invgamma.logpdf(v, nu / 2, scale=psi / 2)
        for s in range(2):
            x = repeated(e.values, times[s])
            if len(x):
                covariance = v * (np.eye(len(x)) + 1 / e.mean_weight[s])
                for d in range(x.shape[1]):
                    mean = np.full(len(x), e.mean_prior[s, d])
                    logs += stats.multivariate_normal.logpdf(x[:, d], mean, covariance)
        return np.exp(logs)

    exact, _ = integrate.quad(lambda t: given_variance(np.exp(t)) * np.exp(t), -6, 9, epsrel=1e-9)
    np.testing.assert_allclose(e.log_marginal(times), np.log(exact), rtol=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_a_fixed_covariance_is_the_limit_of_many_degrees(form: str) -> None:
    hmm = normals(form, 2)
    known = KNOWN[form].copy()
    place = ... if form == "tied" else 1
    scale = hmm.emissions.scale.copy()
    scale[place] = known[place] * 1e9
    degrees = np.array([1e9, 1e9]) if form == "tied" else np.array([hmm.emissions.degrees[0], 1e9])
    nearly = replace(hmm.emissions, scale=scale, degrees=degrees)
    exactly = replace(hmm.emissions, fixed_covariances=known)
    np.testing.assert_allclose(exactly.log_marginal(TIMES), nearly.log_marginal(TIMES), rtol=1e-5)


def test_rates_match_quadrature() -> None:
    e = RATES.emissions
    exact = 0.0
    for s in range(2):
        x = repeated(e.values, TIMES[s])
        for d in range(2):

            def density(rate: float, s: int = s, d: int = d, x: np.ndarray = x) -> float:
                prior = stats.gamma.pdf(rate, e.shape[s, d], scale=1 / e.weight[s, d])
                return prior * np.prod(stats.poisson.pmf(x[:, d], rate))

            exact += np.log(integrate.quad(density, 0, 60, epsrel=1e-10, limit=200)[0])
    np.testing.assert_allclose(e.log_marginal(TIMES), exact, rtol=1e-7)


@pytest.mark.parametrize("hmm", [SYMBOLS, FIXED, RATES, normals("full", 2)])
def test_weights_match_monte_carlo(hmm: Hmm) -> None:
    """The weight of a state is the mean of prod_j P(p^j, w | phi) over the prior of phi."""
    states, probabilities, logs = joint_distribution(hmm, 2)
    chosen = np.argsort(probabilities)[[-1, -5, len(probabilities) * 3 // 4]]
    chosen = chosen[probabilities[chosen] > 0]
    n = 1_000
    values = np.empty((n, len(chosen)))
    for k in range(n):
        phi = some_phi(hmm, k)
        each = log_joints(hmm, phi, states[chosen].reshape(-1, hmm.n_sites))
        values[k] = np.exp(each.reshape(len(chosen), -1).sum(axis=1))
    z = (values.mean(axis=0) - np.exp(logs[chosen])) / (values.std(axis=0) / np.sqrt(n))
    assert np.all(np.abs(z) < 4.5), z


def test_impossible_states_weigh_nothing() -> None:
    states, probabilities, _ = joint_distribution(LEFT_RIGHT, 1)
    paths = states[:, 0]
    backwards = (paths[:, 1] > paths[:, 2]) | (paths[:, 2] > paths[:, 3])
    assert not probabilities[backwards].any()
    assert not probabilities[(paths[:, 0] == 2) | (paths[:, 1] == 2)].any()
    assert len(all_paths(LEFT_RIGHT)) == 3**4
    assert np.isfinite(log_weight(LEFT_RIGHT, states[probabilities > 0])).all()


def test_rows_with_fixed_cells_match_the_formula() -> None:
    rows = Rows(array([1.0, 2.0, 3.0]), array([0.25, np.nan, np.nan]))
    counts = np.array([[2, 1, 0]])
    exact = 2 * np.log(0.25) + np.log(0.75 * 2 / 5)
    np.testing.assert_allclose(rows.log_marginal(counts), exact)
    np.testing.assert_allclose(rows.mean(counts), [[0.25, 0.75 * 3 / 6, 0.75 * 3 / 6]])
