"""Emissions: posteriors of their parameters against the formulas, weights, and refused input."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.models.emissions import (
    COVARIANCES,
    KINDS,
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.factorial import FactorialHmmModel
from plait.models.mixture import MixtureModel
from plait.models.model import Key
from plait.sampler import sample

EVERY_COVARIANCE = pytest.mark.parametrize("covariance", COVARIANCES)
NAN = np.nan

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(12, 2)) * [1.0, 3.0] + [100.0, -5.0]
PATHS = RNG.integers(0, 3, size=(2, 12)).astype(np.uint16)
SYMBOLS = RNG.integers(0, 4, size=12)
COUNTS = RNG.poisson(4, size=(12, 2))
COVARIANCE = {
    "spherical": np.array([1.0, 2.0, 3.0]),
    "diag": np.array([[1.0, 2.0], [0.5, 1.0], [3.0, 1.0]]),
    "full": np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0, -0.3], [-0.3, 2.0]]]),
    "tied": np.array([[2.0, 0.5], [0.5, 1.0]]),
}
MEANS = np.array([[100.0, 0.0], [101.0, -5.0], [99.0, -9.0]])


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


def symbols(**options):
    return CategoricalEmissions(Sequences.from_symbols(SYMBOLS), 3, **options)


def numbers(covariance="diag", values=VALUES, n_states=3, **options):
    sequences = Sequences.from_values(values, missing=True)
    return GaussianEmissions(sequences, n_states, covariance=covariance, **options)


def counts(**options):
    return PoissonEmissions(Sequences.from_values(COUNTS), 3, **options)


def posteriors(n_states=3):
    return np.random.default_rng(1).dirichlet(np.ones(n_states), size=12)


class TestStatistics:
    @pytest.mark.parametrize("emissions", [symbols(), counts(), *map(numbers, COVARIANCES)])
    def test_counts_of_paths_are_those_of_posteriors(self, emissions):
        """A path is a posterior of zeros and ones. Ranges add up, rounding aside."""
        certain = np.eye(3)[PATHS]
        whole = emissions.count(0, 12, PATHS)
        expected = emissions.expect(0, 12, certain[0]) + emissions.expect(0, 12, certain[1])
        np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-10)
        np.testing.assert_allclose(
            emissions.count(0, 5, PATHS) + emissions.count(5, 12, PATHS), whole, rtol=1e-12, atol=1e-10
        )
        np.testing.assert_allclose(emissions.observations(whole), np.bincount(PATHS.ravel(), minlength=3))

    def test_missing_observations_do_not_count(self):
        values = VALUES.copy()
        values[[0, 5]] = NAN
        emissions = numbers(values=values)
        assert emissions.observations(emissions.count(0, 12, PATHS)).sum() == 20
        np.testing.assert_array_equal(
            emissions.weights(NormalParameters(MEANS, COVARIANCE["diag"], "diag"), 0, 1), np.zeros((1, 3))
        )
        gaps = CategoricalEmissions(Sequences.from_symbols([0, -1, 1], missing=True), 2)
        statistics = gaps.count(0, 3, np.zeros((1, 3), np.uint16))
        assert gaps.observations(statistics).tolist() == [2, 0]
        assert gaps.weights(CategoricalParameters(np.array([[0.2, 0.8], [1, 0]])), 0, 3)[2].tolist() == [1, 1]


class TestWeights:
    @EVERY_COVARIANCE
    def test_normal_weights_are_the_log_densities_of_scipy(self, covariance):
        parameters = NormalParameters(MEANS, COVARIANCE[covariance], covariance)
        logs = numbers(covariance).weights(parameters, 3, 9)
        for s in range(3):
            matrix = COVARIANCE[covariance] if covariance == "tied" else COVARIANCE[covariance][s]
            matrix = matrix * np.eye(2) if np.ndim(matrix) < 2 else matrix
            expected = stats.multivariate_normal(MEANS[s], matrix).logpdf(VALUES[3:9])
            np.testing.assert_allclose(logs[:, s], expected, rtol=1e-10)

    def test_poisson_weights_are_the_log_probabilities_of_scipy(self):
        rates = np.array([[1.0, 5.0], [4.0, 4.0], [0.0, 3.0]])
        logs = counts().weights(PoissonParameters(rates), 2, 12)
        for s in range(3):
            expected = stats.poisson(rates[s]).logpmf(COUNTS[2:]).sum(axis=1)
            np.testing.assert_allclose(logs[:, s], expected, rtol=1e-10)

    def test_categorical_weights_are_rows_of_the_table(self):
        parameters = CategoricalParameters(np.array([[0.5, 0.5, 0, 0], [0.1, 0.2, 0.3, 0.4], [0.25] * 4]))
        emissions = symbols()
        table = emissions.weights(parameters, 0, 12)
        np.testing.assert_array_equal(table[emissions.rows], parameters.probabilities.T[SYMBOLS])
        np.testing.assert_allclose(np.exp(emissions.log_weights(parameters, 0, 12)), table, rtol=1e-14)


def moments(covariance, prior):
    """Return the statistics of each state given `posteriors()`, computed directly."""
    p = posteriors()
    n = p.sum(axis=0)
    k0, m0 = prior["mean_weight"], np.broadcast_to(prior["mean_prior"], (3, 2))
    mean = (k0 * m0 + p.T @ VALUES) / (k0 + n)[:, None]
    scatter = np.stack(
        [
            (VALUES - mean[s]).T @ (p[:, s, None] * (VALUES - mean[s]))
            + k0 * np.outer(m0[s] - mean[s], m0[s] - mean[s])
            for s in range(3)
        ]
    )
    return n, mean, scatter


PRIOR = {"mean_prior": [99.0, -4.0], "mean_weight": 0.7, "covariance_prior": 0.4, "covariance_weight": 7.0}


class TestGaussian:
    @EVERY_COVARIANCE
    def test_mean_and_mode_are_those_of_the_formulas(self, covariance):
        """The formulas in the docstrings, with the scatter around the posterior mean."""
        emissions = numbers(covariance, **PRIOR)
        statistics = emissions.expect(0, 12, posteriors())
        n, mean, scatter = moments(covariance, PRIOR)
        nu, D = 7.0, 2
        diagonal = np.diagonal(scatter, axis1=1, axis2=2)
        scale, mean_divisor, mode_divisor = {
            "spherical": (0.4 + diagonal.sum(axis=1), nu + D * n - 2, nu + D * n - 2 + D),
            "diag": (0.4 + diagonal, (nu + n - 2)[:, None], (nu + n - 1)[:, None]),
            "full": (
                0.4 * np.eye(2) + scatter,
                (nu + n - D - 1)[:, None, None],
                (nu + n - D)[:, None, None],
            ),
            "tied": (0.4 * np.eye(2) + scatter.sum(axis=0), nu + 12 - D - 1, nu + 12 - D - 1 + 3),
        }[covariance]
        for found, divisor in (
            (emissions.mean(statistics), mean_divisor),
            (emissions.mode(statistics), mode_divisor),
        ):
            np.testing.assert_allclose(found.means, mean, rtol=1e-12)
            np.testing.assert_allclose(found.covariances, scale / divisor, rtol=1e-9)
            emissions.check_parameters(found)

    @EVERY_COVARIANCE
    def test_fixed_means_and_covariances_stay_fixed(self, covariance):
        means = np.array([[98.0, -5.0], [NAN, NAN], [NAN, NAN]])
        fixed = COVARIANCE[covariance].copy()
        if covariance != "tied":
            fixed[1:] = NAN
        emissions = numbers(covariance, fixed_means=means, fixed_covariances=fixed)
        statistics = emissions.count(0, 12, PATHS)
        for parameters in (
            emissions.mean(statistics),
            emissions.mode(statistics),
            emissions.draw(statistics, Key(0, 1), 4),
            emissions.first_parameters(Key(0, 1), 4),
        ):
            assert np.array_equal(parameters.means[0], means[0])
            given = ~np.isnan(fixed)
            assert np.array_equal(parameters.covariances[given], fixed[given])
            emissions.check_parameters(parameters)
        assert not emissions.is_exchangeable

    def test_the_scatter_is_taken_around_a_fixed_mean(self):
        means = np.array([[98.0, -5.0]])
        emissions = numbers(
            "full", n_states=1, fixed_means=means, covariance_prior=0.4, covariance_weight=7.0
        )
        parameters = emissions.mode(emissions.expect(0, 12, np.ones((12, 1))))
        scale = 0.4 * np.eye(2) + (VALUES - means).T @ (VALUES - means)
        np.testing.assert_allclose(parameters.covariances[0], scale / (7 + 12 - 3), rtol=1e-9)

    def test_improper_priors_are_made_proper(self):
        """A state without observations still has finite parameters, in every one of many draws."""
        for covariance in COVARIANCES:
            emissions = numbers(covariance, mean_weight=0.0, covariance_weight=0.0)
            nothing = emissions.expect(0, 12, np.zeros((12, 3)))
            drawn = [emissions.draw(nothing, Key(0, sweep), 0) for sweep in range(1, 500)]
            for parameters in (emissions.mean(nothing), emissions.mode(nothing), *drawn):
                assert np.isfinite(parameters.means).all()
                assert np.isfinite(parameters.covariances).all()

    def test_variances_of_data_far_from_zero_keep_their_digits(self):
        """A million times the standard deviation away, the variance is right to a part in 10^6."""
        values = VALUES * [1, 0] + [1e6, 0]
        emissions = numbers("diag", values, 1, covariance_prior=1e-9, covariance_weight=1.0, mean_weight=1e-6)
        parameters = emissions.mode(emissions.expect(0, 12, np.ones((12, 1))))
        np.testing.assert_allclose(parameters.covariances[0, 0], VALUES[:, 0].var(), rtol=1e-6)

    def test_states_are_ordered_if_only_the_data_distinguish_them(self):
        assert all(numbers(covariance).is_exchangeable for covariance in COVARIANCES)
        assert numbers("tied", covariance_prior=COVARIANCE["tied"]).is_exchangeable
        for different in (
            {"mean_prior": MEANS},
            {"mean_weight": [1, 1, 2]},
            {"covariance_weight": [3, 3, 4]},
            {"covariance_prior": COVARIANCE["diag"]},
        ):
            assert not numbers("diag", **different).is_exchangeable
        emissions = numbers("diag")
        assert emissions.order(NormalParameters(MEANS, COVARIANCE["diag"], "diag")).tolist() == [2, 0, 1]
        # 0.01 standard deviations in the first feature do not separate states.
        close = MEANS * [0, 1] + [[100.01, 0], [100, 0], [100.02, 0]]
        assert emissions.order(NormalParameters(close, COVARIANCE["diag"], "diag")).tolist() == [2, 1, 0]

    @EVERY_COVARIANCE
    def test_permuted_parameters_follow_the_order(self, covariance):
        parameters = NormalParameters(MEANS, COVARIANCE[covariance], covariance).permuted(np.array([2, 0, 1]))
        assert np.array_equal(parameters.means, MEANS[[2, 0, 1]])
        same = COVARIANCE[covariance] if covariance == "tied" else COVARIANCE[covariance][[2, 0, 1]]
        assert np.array_equal(parameters.covariances, same)

    @EVERY_COVARIANCE
    def test_draws_stay_positive_definite(self, covariance):
        emissions = numbers(covariance)
        statistics = emissions.count(0, 12, PATHS)
        for sweep in range(1, 200):
            emissions.check_parameters(emissions.draw(statistics, Key(3, sweep), 0))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            (
                NormalParameters(MEANS[:2], COVARIANCE["diag"], "diag"),
                r"means must have shape \(3, 2\), got \(2, 2\)",
            ),
            (
                NormalParameters(MEANS * NAN, COVARIANCE["diag"], "diag"),
                r"means\[0\]\[0\] must be finite, got nan",
            ),
            (
                NormalParameters(MEANS, COVARIANCE["full"], "diag"),
                r"covariances must have shape \(3, 2\), got \(3, 2, 2\)",
            ),
            (
                NormalParameters(MEANS, -COVARIANCE["diag"], "diag"),
                r"covariances\[0\]\[0\] must be a finite number greater than 0, got -1",
            ),
        ],
    )
    def test_invalid_parameters_are_refused(self, parameters, message):
        with fails(message):
            numbers("diag").check_parameters(parameters)

    def test_an_unknown_covariance_is_refused(self):
        with fails("covariance must be one of 'spherical', 'diag', 'full', 'tied', got 'ball'"):
            numbers("ball")


class TestPoisson:
    def test_mean_and_mode_are_those_of_the_gamma_posterior(self):
        emissions = counts(prior=2.0, prior_weight=0.5, fixed=[[NAN, 7.0], [NAN, NAN], [NAN, NAN]])
        p = posteriors()
        expected = (2.0 + p.T @ COUNTS) / (0.5 + p.sum(axis=0)[:, None])
        expected[0, 1] = 7.0
        for parameters in (
            emissions.mean(emissions.expect(0, 12, p)),
            emissions.mode(emissions.expect(0, 12, p)),
        ):
            np.testing.assert_allclose(parameters.rates, expected, rtol=1e-12)
            assert parameters.rates[0, 1] == 7.0

    def test_the_default_prior_has_the_mean_of_the_data(self):
        nothing = counts().mean(np.zeros((3, 3)))
        np.testing.assert_allclose(nothing.rates, np.tile(COUNTS.mean(axis=0), (3, 1)))

    def test_states_are_ordered_if_only_the_data_distinguish_them(self):
        assert counts().is_exchangeable
        assert counts(prior=[2, 3]).is_exchangeable
        assert not counts(prior=[[1, 1], [1, 1], [2, 1]]).is_exchangeable
        assert not counts(prior_weight=[[1, 1], [1, 1], [2, 1]]).is_exchangeable
        assert not counts(fixed=[[1, NAN], [NAN, NAN], [NAN, NAN]]).is_exchangeable
        parameters = PoissonParameters(np.array([[5.0, 1], [1, 2], [3, 3]]))
        assert counts().order(parameters).tolist() == [1, 2, 0]
        assert parameters.permuted(np.array([1, 2, 0])).rates[:, 1].tolist() == [2, 3, 1]

    def test_invalid_rates_and_counts_are_refused(self):
        with fails(r"rates must have shape \(3, 2\), got \(1, 2\)"):
            counts().check_parameters(PoissonParameters(np.ones((1, 2))))
        with fails(r"rates\[0\]\[0\] must be a finite number of at least 0, got -1"):
            counts().check_parameters(PoissonParameters(-np.ones((3, 2))))
        with fails("counts must be whole numbers of at least 0, got 0.5 in feature 0 of observation 0"):
            PoissonEmissions(Sequences.from_values([[0.5]]), 2)
        with fails("sequences must be numbers, got symbols: build them with Sequences.from_values"):
            PoissonEmissions(Sequences.from_symbols([0]), 2)


class TestCategorical:
    def test_mean_and_mode_are_those_of_the_dirichlet_posterior(self):
        emissions = symbols(prior=1.5)
        p = posteriors()
        table = p.T @ np.eye(4)[SYMBOLS]
        statistics = emissions.expect(0, 12, p)
        np.testing.assert_allclose(
            emissions.mean(statistics).probabilities,
            (table + 1.5) / (table + 1.5).sum(axis=1, keepdims=True),
            rtol=1e-12,
        )
        np.testing.assert_allclose(
            emissions.mode(statistics).probabilities,
            (table + 0.5) / (table + 0.5).sum(axis=1, keepdims=True),
            rtol=1e-12,
        )

    def test_states_are_ordered_if_only_the_data_distinguish_them(self):
        assert symbols().is_exchangeable
        assert symbols(prior=[1, 2, 3, 4]).is_exchangeable
        assert not symbols(prior=[[1] * 4, [1] * 4, [2] * 4]).is_exchangeable
        assert not symbols(fixed=[[NAN] * 4, [NAN] * 4, [0, NAN, NAN, NAN]]).is_exchangeable
        parameters = CategoricalParameters(np.array([[0, 0, 0, 1.0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]]))
        assert symbols().order(parameters).tolist() == [1, 2, 0]

    def test_invalid_symbols_are_refused(self):
        with fails("sequences must be symbols, got numbers: build them with Sequences.from_symbols"):
            CategoricalEmissions(Sequences.from_values([[1.0]]), 2)
        with fails(
            r"symbols must be from 0 to 2, got 3 at observation \d+: correct the data, or increase n_symbols"
        ):
            symbols(n_symbols=3)
        with fails("n_symbols must be a whole number of at least 1, got 0"):
            symbols(n_symbols=0)
        with fails("n_states must be a whole number of at least 1, got 0"):
            CategoricalEmissions(Sequences.from_symbols([0]), 0)
        with fails(r"the emissions must have shape \(3, 4\), got \(2, 4\)"):
            symbols().check_parameters(CategoricalParameters(np.ones((2, 4)) / 4))


@pytest.mark.parametrize(
    "emissions",
    [
        symbols(prior=[1, 2, 3, 4], fixed=[[NAN] * 4, [0, NAN, NAN, NAN], [0.25] * 4]),
        counts(prior=2.0, fixed=[[1, NAN]] * 3),
        *(numbers(covariance, **PRIOR) for covariance in COVARIANCES),
        numbers("diag", fixed_means=MEANS, fixed_covariances=COVARIANCE["diag"]),
    ],
)
def test_emissions_rebuilt_from_arrays_are_the_same(emissions):
    arrays, header = emissions.to_arrays()
    again = KINDS[emissions.kind].from_arrays(arrays, header)
    statistics = emissions.count(0, 12, PATHS)
    assert np.array_equal(again.count(0, 12, PATHS), statistics)
    for make in ("mean", "mode"):
        for name, array in getattr(emissions, make)(statistics).to_arrays().items():
            assert np.array_equal(getattr(again, make)(statistics).to_arrays()[name], array)
    drawn, other = (e.draw(statistics, Key(1, 2), 3) for e in (emissions, again))
    for name, array in drawn.to_arrays().items():
        assert np.array_equal(other.to_arrays()[name], array)
        assert np.array_equal(getattr(emissions.parameters_from_arrays(drawn.to_arrays()), name), array)


class TestPartlyMissing:
    VALUES: ClassVar[Any] = [[0.0, 1.0], [2.0, NAN], [1.0, 1.0]]

    def sequences(self):
        return Sequences.from_values(self.VALUES, missing=True)

    def test_statistics_count_the_observed_values_of_each_feature(self):
        emissions = PoissonEmissions(self.sequences(), 1)
        statistics = emissions.count(0, 3, np.zeros((1, 3), np.uint16))
        assert statistics.tolist() == [[3, 3, 2, 3, 2]]
        rates = emissions.mean(statistics).rates
        np.testing.assert_allclose(rates, [[(1 + 3) / (1 + 3), (1 + 2) / (1 + 2)]])

    @pytest.mark.parametrize("covariance", ["full", "tied"])
    def test_mixtures_and_factorial_chains_refuse_what_they_cannot_complete(self, covariance):
        with pytest.raises(NotSupported, match="partly missing with full or tied covariances: choose diag"):
            MixtureModel(GaussianEmissions(self.sequences(), 2, covariance=covariance))
        with pytest.raises(PlaitError, match="which a factorial HMM cannot take"):
            FactorialHmmModel(self.sequences(), 2, 2)

    def test_the_collapsed_sampler_of_mixtures_refuses_them(self):
        model = MixtureModel(PoissonEmissions(self.sequences(), 2))
        with pytest.raises(PlaitError, match="which the collapsed sampler cannot take"):
            sample(model, n_paths=1, n_sweeps=1, collapsed=True, n_jobs=1)
