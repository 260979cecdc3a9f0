"""phi follows P(phi) P(w | phi)^m under both samplers, for m = 1, 2, 3.

phi_t(w) alone follows a mixture of beta distributions (`oracle.PhiDistribution`). The partially collapsed
sampler draws phi in every sweep; for the collapsed one it is drawn from the counts after the sweep.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Floats, Lda, PhiDistribution
from scipy import stats
from support import (
    CASES,
    LDA_SAMPLERS,
    LEAST_P,
    SCALES,
    THREADS,
    assert_small,
    batch_z,
    chain,
    plait_model,
    sweeps_from_exact,
)

from plait.models.lda import LdaModel
from plait.models.model import Key
from plait.sampler import State


def phi_of(model: LdaModel, state: State, seed: int) -> Floats:
    parameters = state.parameters
    if parameters is None:
        parameters = model.draw_parameters(state.counts, Key(seed, state.sweep), THREADS)
    return parameters.phi.T.astype(float)


def assert_marginals_fit(phi: Floats, exact: PhiDistribution) -> None:
    _, n_topics, n_words = phi.shape
    for t in range(n_topics):
        for w in range(n_words):
            result = stats.kstest(phi[:, t, w], lambda x, t=t, w=w: exact.cdf(t, w, x))
            assert result.pvalue > LEAST_P, f"phi_{t}({w}): {result}"


def moments_of(phi: Floats, exact: PhiDistribution) -> tuple[Floats, Floats]:
    """Return phi and its square, and their exact means. With W = 2, one word is redundant."""
    return np.stack([phi, phi**2], axis=1), np.stack([exact.moment(1), exact.moment(2)])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
@pytest.mark.parametrize(("lda", "n_paths", "scalar"), CASES)
def test_phi_after_a_sweep_from_the_exact_distribution_follows_it(
    lda: Lda, n_paths: int, scalar: bool, collapsed: bool, scale: int
) -> None:
    model, exact = plait_model(lda, scalar=scalar), PhiDistribution.of(lda, n_paths)
    sweeps = sweeps_from_exact(lda, n_paths, collapsed, 2_500 * scale, seed=303, scalar=scalar)
    phi = np.array([phi_of(model, state, 303) for state in sweeps])
    np.testing.assert_allclose(phi.sum(axis=2), 1, atol=1e-6)
    assert_marginals_fit(phi, exact)
    values, moments = moments_of(phi, exact)
    assert_small((values.mean(axis=0) - moments) / (values.std(axis=0) / np.sqrt(len(values))))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
@pytest.mark.parametrize(("lda", "n_paths", "scalar"), CASES)
def test_phi_along_a_run_follows_the_exact_distribution(
    lda: Lda, n_paths: int, scalar: bool, collapsed: bool, scale: int
) -> None:
    thin = 4
    model, exact = plait_model(lda, scalar=scalar), PhiDistribution.of(lda, n_paths)
    run = chain(model, n_paths, collapsed, 1_250 * scale, thin=thin, seed=404)
    phi = np.array([phi_of(model, state, 404) for state in run])
    assert_small(batch_z(*moments_of(phi, exact)))
    assert_marginals_fit(phi[::6], exact)  # 24 sweeps apart: independent in practice


@pytest.mark.parametrize("counts", [0, 3])
def test_draws_given_counts_are_dirichlet(counts: int) -> None:
    """phi_t ~ Dir(eta_t + C^TW_t) at fixed counts, words seen and not seen, large and small priors."""
    eta = np.array([[0.3, 0.3, 0.3, 2.0], [0.3, 5.0, 0.3, 0.3], [0.3, 0.3, 0.3, 0.3]])
    lda = Lda([[0, 1, 1, 3]], np.ones(3), eta)
    model = plait_model(lda)
    paths = np.array([[0, 2, 2, 1]] * counts, np.uint16).reshape(counts, 4)
    total = model.count(paths, THREADS)
    shapes = eta.copy()
    shapes[[0, 2, 1], [0, 1, 3]] += np.array([1, 2, 1]) * counts
    phi = np.array([model.draw_parameters(total, Key(505, k), THREADS).phi.T for k in range(6_000)], float)
    assert_marginals_fit(phi[:, :, :2], PhiDistribution(np.ones(1), shapes[None]))
    values, exact = moments_of(phi, PhiDistribution(np.ones(1), shapes[None]))
    assert_small((values.mean(axis=0) - exact) / (values.std(axis=0) / np.sqrt(len(values))))
    # within a topic, words are correlated as in a Dirichlet; between topics they are independent
    flat = phi.reshape(len(phi), -1)
    sums = shapes.sum(axis=1)
    for t in range(3):
        mean = shapes[t] / sums[t]
        exact_covariance = (np.diag(mean) - np.outer(mean, mean)) / (sums[t] + 1)
        centred = phi[:, t] - mean
        products = centred[:, :, None] * centred[:, None, :]
        error = products.std(axis=0) / np.sqrt(len(phi))
        assert_small((products.mean(axis=0) - exact_covariance) / error)
    between = np.corrcoef(flat.T)
    for t in range(3):
        for u in range(t):
            assert_small(between[4 * t : 4 * t + 4, 4 * u : 4 * u + 4] * np.sqrt(len(phi)))


@pytest.mark.parametrize("eta", [0.01, 0.001])
def test_empty_topics_with_a_tiny_prior_are_dirichlet(eta: float) -> None:
    """Nearly all of each phi_t is then on one word, which is w with probability eta_tw / sum_v eta_tv."""
    lda = Lda([[0, 1, 2]], np.ones(50), np.full((50, 3), eta) * [1, 2, 1])
    model = plait_model(lda)
    counts = model.count(np.zeros((1, 3), np.uint16), THREADS)
    phi = np.array([model.draw_parameters(counts, Key(606, k), THREADS).phi.T for k in range(400)], float)
    empty = phi[:, 1:].reshape(-1, 3)
    assert np.isfinite(empty).all()
    np.testing.assert_allclose(empty.sum(axis=1), 1, atol=1e-5)
    mean = np.array([0.25, 0.5, 0.25])
    assert_small((empty.mean(axis=0) - mean) / (empty.std(axis=0) / np.sqrt(len(empty))))
    second = mean * (mean * 4 * eta + 1) / (4 * eta + 1)
    squares = empty**2
    assert_small((squares.mean(axis=0) - second) / (squares.std(axis=0) / np.sqrt(len(empty))))
