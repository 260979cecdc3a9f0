"""The oracle against quadrature, against sums, and its parts against one another.

With T = W = 2, phi is two numbers x_t = phi_t(0) with prior Beta(eta_t0, eta_t1), and P(w | phi)^m is a
polynomial of degree N m in each. Gauss-Jacobi quadrature with k nodes integrates x^(a-1) (1-x)^(b-1) times a
polynomial of degree 2k - 1 without error, so the integrals below are exact up to rounding. P(w | phi) itself
is integrated over theta in the same way, which uses nothing of the Dirichlet-multinomial algebra.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import (
    Floats,
    Lda,
    PhiDistribution,
    conditional_collapsed,
    conditional_given_phi,
    data_likelihood,
    joint_distribution,
    log_path_likelihood,
    log_weight,
    state_index,
)
from scipy.integrate import quad
from scipy.special import beta, roots_jacobi
from support import SCALAR_PRIORS, THREE_TOPICS, TWO_TOPICS

SQUARE = Lda([[0, 1, 0], [1]], np.array([0.7, 0.4]), np.array([[0.9, 0.5], [0.6, 1.5]]))


def beta_nodes(a: float, b: float, n: int = 20) -> tuple[Floats, Floats]:
    """Nodes and weights of the expectation under Beta(a, b)."""
    x, weights = roots_jacobi(n, b - 1, a - 1)
    return (x + 1) / 2, weights / weights.sum()


def likelihood_by_quadrature(lda: Lda, phi: Floats) -> float:
    """P(w | phi) = prod_d of the integral over theta_d of prod_i sum_t theta_dt phi_t(w_i), for T = 2."""
    theta, weights = beta_nodes(*lda.alpha)
    total = 1.0
    for document in lda.documents:
        mixed = [theta * phi[0, w] + (1 - theta) * phi[1, w] for w in document]
        total *= float(weights @ np.prod(mixed, axis=0)) if document else 1.0
    return total


def grid(lda: Lda) -> tuple[list[Floats], Floats]:
    """Values of phi and weights that integrate polynomials against P(phi), for T = W = 2."""
    (x, x_weights), (y, y_weights) = (beta_nodes(*row) for row in lda.eta)
    values = [np.array([[a, 1 - a], [b, 1 - b]]) for a in x for b in y]
    return values, np.outer(x_weights, y_weights).reshape(-1)


def test_data_likelihood_is_the_integral_over_theta() -> None:
    rng = np.random.default_rng(1)
    for lda in (SQUARE, TWO_TOPICS):
        for _ in range(5):
            phi = rng.dirichlet(np.ones(lda.n_words), size=2)
            assert data_likelihood(lda, phi) == pytest.approx(likelihood_by_quadrature(lda, phi), rel=1e-12)


@pytest.mark.parametrize("n_paths", [1, 2, 3])
def test_distribution_of_phi_is_prior_times_power_of_likelihood(n_paths: int) -> None:
    values, weights = grid(SQUARE)
    power = np.array([likelihood_by_quadrature(SQUARE, phi) for phi in values]) ** n_paths
    constant = weights @ power

    # the normalising constant C_fm is the sum of the weights (4)
    states, _ = joint_distribution(SQUARE, n_paths)
    assert np.exp(log_weight(SQUARE, states)).sum() == pytest.approx(constant, rel=1e-11)

    mixture = PhiDistribution.of(SQUARE, n_paths)
    for order in (1, 2):
        moments = np.tensordot(weights * power, np.array(values) ** order, axes=1) / constant
        np.testing.assert_allclose(mixture.moment(order), moments, rtol=1e-11)

    for phi in np.random.default_rng(n_paths).dirichlet(np.ones(2), size=(10, 2)):
        prior = np.prod(phi ** (SQUARE.eta - 1)) / np.prod([beta(*row) for row in SQUARE.eta])
        density = prior * likelihood_by_quadrature(SQUARE, phi) ** n_paths / constant
        assert mixture.density(phi) == pytest.approx(density, rel=1e-11)


@pytest.mark.parametrize("n_paths", [1, 2])
def test_cdf_is_the_integral_of_the_density(n_paths: int) -> None:
    # P(x_0 <= c): the inner integral over x_1 by Gauss-Jacobi, the outer one by adaptive quadrature
    a, b = SQUARE.eta[0]
    y, weights = beta_nodes(*SQUARE.eta[1])

    def marginal(x: float) -> float:
        phis = [np.array([[x, 1 - x], [v, 1 - v]]) for v in y]
        likelihood = np.array([likelihood_by_quadrature(SQUARE, phi) for phi in phis])
        return x ** (a - 1) * (1 - x) ** (b - 1) * float(weights @ likelihood**n_paths)

    below, above = (quad(marginal, *ends, epsrel=1e-6)[0] for ends in ((0.0, 0.3), (0.3, 1.0)))
    cdf = PhiDistribution.of(SQUARE, n_paths).cdf(0, 0, np.array([0.3]))[0]
    assert cdf == pytest.approx(below / (below + above), rel=1e-5)


@pytest.mark.parametrize("lda", [TWO_TOPICS, THREE_TOPICS, SCALAR_PRIORS])
def test_joint_distribution_of_one_path_follows_from_the_definition(lda: Lda) -> None:
    """P(p, w) is the expectation of P(p, w | phi) over the prior: here a mean over many draws of phi."""
    rng = np.random.default_rng(5)
    gammas = rng.standard_gamma(lda.eta, size=(200_000, *lda.eta.shape))
    phi = gammas / gammas.sum(axis=2, keepdims=True)
    states, distribution = joint_distribution(lda, 1)
    exact = np.exp(log_weight(lda, states))
    np.testing.assert_allclose(distribution, exact / exact.sum())
    flat = np.full(lda.eta.shape, 1.0)
    for path, p in zip(states[:, 0], exact, strict=True):
        # with all phi equal to 1, the path likelihood is P(p) alone
        values = np.prod(phi[:, path, lda.words], axis=1) * np.exp(log_path_likelihood(lda, path, flat))
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - p) < 4.5 * error


@pytest.mark.parametrize(("lda", "n_paths"), [(TWO_TOPICS, 1), (TWO_TOPICS, 2), (THREE_TOPICS, 2)])
def test_conditionals_are_those_of_the_joint_distribution(lda: Lda, n_paths: int) -> None:
    """Algorithm 4: from (4). Algorithm 3: from (2). At every token of every path, in some of the states."""
    states, distribution = joint_distribution(lda, n_paths)
    rng = np.random.default_rng(n_paths)
    phi = rng.dirichlet(np.ones(lda.n_words), size=lda.n_topics)
    for s in rng.choice(len(states), size=16, replace=False):
        for j in range(n_paths):
            for i in range(lda.n_tokens):
                neighbours = np.repeat(states[s][None], lda.n_topics, axis=0)
                neighbours[:, j, i] = np.arange(lda.n_topics)
                p = distribution[state_index(neighbours, lda.n_topics)]
                np.testing.assert_allclose(conditional_collapsed(lda, states[s], j, i), p / p.sum())
                q = np.exp([log_path_likelihood(lda, path, phi) for path in neighbours[:, j]])
                np.testing.assert_allclose(conditional_given_phi(lda, states[s, j], i, phi), q / q.sum())
