"""EM never decreases its objective, with priors or without, and stops when asked to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from plait.data.sequences import Sequences
from plait.em import maximise
from plait.models.emissions import COVARIANCES, CategoricalEmissions, GaussianEmissions, PoissonEmissions
from plait.models.hmm import HmmModel
from plait.models.model import Key
from plait.threads import Threads

RNG = np.random.default_rng(0)
STATES = (np.arange(120) // 7) % 3
LENGTHS = [50, 1, 69]
SYMBOLS = Sequences.from_symbols((STATES + RNG.integers(0, 2, 120)) % 4, LENGTHS)
VALUES = Sequences.from_values(RNG.normal(size=(120, 2)) + 2.0 * STATES[:, None] * [1, -1], LENGTHS)
COUNTS = Sequences.from_values(RNG.poisson(1 + 4 * STATES[:, None] * [1, 0.5] + 1), LENGTHS)
ROUNDING = 1e-9  # of a sum of some hundred terms of order 1 to 100


def climb(model, n_iter=40, seed=0):
    """Return the parameters before every iteration, and their log-likelihoods."""
    history, likelihoods = [], []
    parameters = model.first_parameters(Key(seed, 1))
    with Threads(1) as threads:
        for _ in range(n_iter):
            history.append(parameters)
            parameters = maximise(model, parameters, 1, lambda x: likelihoods.append(x) or False, threads)
        for given, likelihood in zip(history, likelihoods, strict=True):
            assert model.log_likelihood(given, threads) == pytest.approx(likelihood, rel=1e-11)
    return history, np.array(likelihoods)


def assert_never_falls(values):
    falls = -np.diff(values)
    assert np.all(falls <= ROUNDING * np.abs(values).max()), falls.max()
    assert values[-1] > values[0] + 1  # it has climbed


def log_dirichlet(alpha, rows):
    return np.sum(special.xlogy(np.asarray(alpha) - 1, rows))


class TestFlatPriors:
    """The mode maximises the likelihood, which therefore cannot fall."""

    @pytest.mark.parametrize("seed", range(3))
    def test_likelihood_of_symbols_never_falls(self, seed):
        assert_never_falls(climb(HmmModel(CategoricalEmissions(SYMBOLS, 3)), seed=seed)[1])

    def test_likelihood_of_counts_never_falls(self):
        # A shape of 1e-10 and a rate of 1e-10 are flat in the logarithm of the rate, whose mode this is.
        emissions = PoissonEmissions(COUNTS, 3, prior=1e-10, prior_weight=1e-10)
        assert_never_falls(climb(HmmModel(emissions))[1])

    @pytest.mark.parametrize("covariance", COVARIANCES)
    def test_likelihood_of_numbers_never_falls(self, covariance):
        # These degrees of freedom make the divisor of the mode the number of observations.
        degrees = {"spherical": 1e-6, "diag": 1.0, "full": 2.0, "tied": 2.0}[covariance]
        emissions = GaussianEmissions(
            VALUES,
            3,
            covariance=covariance,
            mean_weight=0.0,
            covariance_prior=1e-9,
            covariance_weight=degrees,
        )
        values = climb(HmmModel(emissions))[1]
        if covariance == "tied":  # three means count as three observations: nearly flat
            assert values[-1] > values[0]
            return
        # The least weight of the means is 1e-6, which changes the likelihood by about as much.
        assert np.all(np.diff(values) > -1e-4)
        assert values[-1] > values[0] + 1


class TestPriors:
    """The likelihood times the prior cannot fall; the prior is computed from its definition."""

    def test_posterior_of_symbols_never_falls(self):
        start, transitions = [2.0, 1.5, 1.0], np.ones((3, 3)) + 4 * np.eye(3)
        prior = np.tile([1.0, 2.0, 3.0, 4.0], (3, 1))
        model = HmmModel(CategoricalEmissions(SYMBOLS, 3, prior=prior), start, transitions)
        history, likelihoods = climb(model)
        log_priors = [
            log_dirichlet(start, p.start)
            + log_dirichlet(transitions, p.transitions)
            + log_dirichlet(prior, p.emissions.probabilities)
            for p in history
        ]
        assert_never_falls(likelihoods[1:] + log_priors[1:])

    def test_posterior_of_counts_never_falls(self):
        """The density of the logarithm of a gamma variate is rate^shape exp(-weight rate)."""
        shape, weight = 30.0, 8.0
        model = HmmModel(PoissonEmissions(COUNTS, 3, prior=shape, prior_weight=weight), 1.0, 1.0)
        history, likelihoods = climb(model)
        log_priors = [np.sum(shape * np.log(p.emissions.rates) - weight * p.emissions.rates) for p in history]
        assert_never_falls(likelihoods + log_priors)

    @pytest.mark.parametrize("covariance", COVARIANCES)
    def test_posterior_of_numbers_never_falls(self, covariance):
        """The mode is that of the inverse covariance Q, whose prior is

        |Q|^((degrees - D - 1) / 2) exp(-tr(scale Q) / 2) times N(mean; m0, (k0 Q)^-1) for each mean. Single
        variances are the same with D = 1, and the exponent of the gamma density is degrees / 2 - 1.
        """
        m0, k0, scale, degrees = np.array([0.5, -1.0]), 3.0, 2.0, 9.0
        emissions = GaussianEmissions(
            VALUES,
            3,
            covariance=covariance,
            mean_prior=m0,
            mean_weight=k0,
            covariance_prior=scale,
            covariance_weight=degrees,
        )
        history, likelihoods = climb(HmmModel(emissions))

        def log_prior(normal):
            total = 0.0
            shift = normal.means - m0
            if covariance in ("full", "tied"):
                matrices = np.broadcast_to(normal.covariances, (3, 2, 2))
                for matrix in matrices[:1] if covariance == "tied" else matrices:
                    log_det = -np.linalg.slogdet(matrix)[1]
                    total += (degrees - 3) / 2 * log_det - scale * np.trace(np.linalg.inv(matrix)) / 2
                for matrix, d in zip(matrices, shift, strict=True):
                    total += -np.linalg.slogdet(matrix)[1] / 2 - k0 * d @ np.linalg.solve(matrix, d) / 2
                return total
            precisions = 1 / normal.covariances
            total += np.sum((degrees / 2 - 1) * np.log(precisions) - scale * precisions / 2)
            each = np.broadcast_to(precisions.reshape(3, -1), (3, 2))
            return total + np.sum(0.5 * np.log(each) - k0 * each * shift**2 / 2)

        assert_never_falls(likelihoods + [log_prior(p.emissions) for p in history])


class TestStopping:
    def test_em_makes_the_given_number_of_iterations(self):
        model = HmmModel(CategoricalEmissions(SYMBOLS, 3))
        parameters = model.first_parameters(Key(0, 1))
        reports = []
        with Threads(1) as threads:
            assert maximise(model, parameters, 0, reports.append, threads) is parameters
            maximise(model, parameters, 5, reports.append, threads)
        assert len(reports) == 5

    def test_a_true_report_stops_em_after_its_iteration(self):
        model = HmmModel(CategoricalEmissions(SYMBOLS, 3))
        parameters = model.first_parameters(Key(0, 1))
        reports = []

        def stop(value):
            reports.append(value)
            return len(reports) == 3

        with Threads(1) as threads:
            stopped = maximise(model, parameters, 50, stop, threads)
            three = maximise(model, parameters, 3, lambda _: False, threads)
        assert len(reports) == 3
        assert np.array_equal(stopped.transitions, three.transitions)
        assert np.array_equal(stopped.emissions.probabilities, three.emissions.probabilities)

    def test_em_works_with_any_model(self):
        """The loop knows nothing of hidden Markov models: here it takes a square root by Heron's method."""

        class Heron:
            def expected_counts(self, x, threads):
                return (x, 2.0 / x), -abs(x * x - 2)

            def mode_parameters(self, counts):
                return sum(counts) / 2

        found = maximise(Heron(), 1.0, 10, lambda gap: gap > -1e-12, None)
        assert found == pytest.approx(2**0.5, rel=1e-12)
