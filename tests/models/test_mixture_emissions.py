"""Bernoulli and multinomial emissions: posteriors against the formulas, weights, and refused input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.models.emissions import (
    COVARIANCES,
    KINDS,
    BernoulliEmissions,
    BernoulliParameters,
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    MultinomialEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.model import Key

NAN = np.nan
RNG = np.random.default_rng(0)
BITS = (RNG.random((12, 3)) < [0.2, 0.5, 0.9]).astype(float)
WORDS = RNG.poisson([0.3, 2.0, 0.0, 1.0], size=(12, 4)).astype(float)
WORDS[3] = 0
PATHS = RNG.integers(0, 3, size=(2, 12)).astype(np.uint16)
P = np.random.default_rng(1).dirichlet(np.ones(3), size=12)


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


def bits(values=BITS, n_states=3, **options):
    return BernoulliEmissions(Sequences.from_values(values, missing=True), n_states, **options)


def documents(counts=WORDS, n_states=3, **options):
    return MultinomialEmissions(counts, n_states, **options)


BOTH = pytest.mark.parametrize("make", [bits, documents])


class TestStatistics:
    @BOTH
    def test_counts_of_paths_are_those_of_posteriors(self, make):
        emissions = make()
        certain = np.eye(3)[PATHS]
        whole = emissions.count(0, 12, PATHS)
        expected = emissions.expect(0, 12, certain[0]) + emissions.expect(0, 12, certain[1])
        np.testing.assert_allclose(whole, expected, rtol=1e-12)
        np.testing.assert_allclose(emissions.count(0, 5, PATHS) + emissions.count(5, 12, PATHS), whole)

    def test_statistics_of_bits_are_weighted_sums(self):
        statistics = bits().expect(0, 12, P)
        np.testing.assert_allclose(statistics[:, 0], P.sum(axis=0))
        np.testing.assert_allclose(statistics[:, 1:], P.T @ BITS)
        assert bits().observations(statistics).tolist() == statistics[:, 0].tolist()

    def test_statistics_of_documents_are_weighted_sums(self):
        for counts in (WORDS, WORDS.astype(int), sparse.csr_matrix(WORDS), sparse.coo_array(WORDS)):
            emissions = documents(counts)
            statistics = emissions.expect(2, 12, P[2:])
            np.testing.assert_allclose(statistics.T, P[2:].T @ WORDS[2:], atol=1e-14)
            np.testing.assert_allclose(emissions.observations(statistics), P.T[:, 2:] @ WORDS[2:].sum(axis=1))

    def test_duplicates_are_summed_and_zeros_dropped_in_sparse_matrices(self):
        messy = sparse.coo_array(([1, 2, 0, 1], ([0, 0, 1, 1], [1, 1, 0, 2])), shape=(2, 3))
        emissions = documents(messy, 2)
        assert emissions.numbers.tolist() == [3, 1]
        assert emissions.words.tolist() == [1, 2]

    def test_missing_observations_do_not_count(self):
        values = BITS.copy()
        values[[0, 5]] = NAN
        emissions = bits(values)
        assert emissions.observations(emissions.count(0, 12, PATHS)).sum() == 20
        assert np.array_equal(
            emissions.weights(BernoulliParameters(np.full((3, 3), 0.2)), 0, 1), np.zeros((1, 3))
        )


class TestWeights:
    def test_weights_of_bits_are_the_log_probabilities_of_scipy(self):
        probabilities = np.array([[0.2, 0.7, 0.5], [0.9, 0.1, 0.4], [0.0, 1.0, 0.5]])
        logs = bits().weights(BernoulliParameters(probabilities), 3, 12)
        with np.errstate(divide="ignore"):
            expected = [stats.bernoulli.logpmf(BITS[3:], row).sum(axis=1) for row in probabilities]
        np.testing.assert_allclose(logs.T, expected, rtol=1e-12)

    def test_weights_of_documents_are_the_log_probabilities_of_scipy(self):
        probabilities = np.random.default_rng(2).dirichlet(np.ones(4), 3)
        probabilities[2] = [0.5, 0.5, 0.0, 0.0]
        emissions = documents()
        logs = emissions.weights(CategoricalParameters(probabilities), 1, 12)
        for s in range(3):
            expected = [stats.multinomial.logpmf(x, x.sum(), probabilities[s]) for x in WORDS[1:]]
            np.testing.assert_allclose(logs[:, s], expected, rtol=1e-10, atol=1e-12)
        assert np.array_equal(emissions.log_weights(CategoricalParameters(probabilities), 1, 12), logs)


class TestPosteriors:
    def test_mean_and_mode_of_bits_are_those_of_beta_distributions(self):
        emissions = bits(prior=2.5, prior_of_zeros=[1.5, 2, 3])
        statistics = emissions.expect(0, 12, P)
        ones, zeros = P.T @ BITS, P.T @ (1 - BITS)
        a, b = ones + 2.5, zeros + np.array([1.5, 2, 3])
        np.testing.assert_allclose(emissions.mean(statistics).probabilities, a / (a + b), rtol=1e-12)
        mode = (a - 1) / (a + b - 2)
        np.testing.assert_allclose(emissions.mode(statistics).probabilities, mode, rtol=1e-12)

    def test_mean_and_mode_of_documents_are_those_of_dirichlet_distributions(self):
        prior = np.random.default_rng(3).uniform(1, 3, (3, 4))
        emissions = documents(prior=prior)
        statistics = emissions.expect(0, 12, P)
        shapes = P.T @ WORDS + prior
        means = shapes / shapes.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(emissions.mean(statistics).probabilities, means, rtol=1e-12)
        modes = (shapes - 1) / (shapes - 1).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(emissions.mode(statistics).probabilities, modes, rtol=1e-12)

    def test_with_a_prior_of_one_the_mode_maximises_the_likelihood(self):
        probabilities = bits().mode(bits().expect(0, 12, P)).probabilities
        np.testing.assert_allclose(probabilities, P.T @ BITS / P.sum(axis=0)[:, None], rtol=1e-12)

    @BOTH
    def test_initial_parameters_are_valid_and_follow_the_seed(self, make):
        emissions = make()
        drawn = [emissions.first_parameters(Key(seed, 0), 1) for seed in range(60)]
        for parameters in drawn:
            emissions.check_parameters(parameters)
            assert np.isfinite(emissions.weights(parameters, 0, 12)).all()
        assert len({parameters.probabilities.tobytes() for parameters in drawn}) > 5
        again = emissions.first_parameters(Key(3, 0), 1)
        assert np.array_equal(again.probabilities, drawn[3].probabilities)

    def test_initial_parameters_of_missing_data_and_empty_documents_are_valid(self):
        emissions = bits(np.full((4, 3), NAN))
        emissions.check_parameters(emissions.first_parameters(Key(0, 0), 1))
        emissions = documents(np.zeros((3, 2)))
        emissions.check_parameters(emissions.first_parameters(Key(0, 0), 1))

    def test_forbidden_words_stay_forbidden(self):
        prior = np.ones((3, 4))
        prior[1, 1] = 0
        emissions = documents(prior=prior)
        statistics = emissions.count(0, 12, np.zeros((1, 12), np.uint16))
        for parameters in (
            emissions.first_parameters(Key(0, 0), 1),
            emissions.draw(statistics, Key(0, 1), 1),
            emissions.mean(statistics),
            emissions.mode(statistics),
        ):
            assert parameters.probabilities[1, 1] == 0
            np.testing.assert_allclose(parameters.probabilities.sum(axis=1), 1)
        assert not emissions.is_exchangeable

    @BOTH
    def test_states_without_observations_have_valid_parameters(self, make):
        emissions = make()
        nothing = emissions.count(0, 0, np.empty((0, 12), np.uint16))
        for parameters in (
            emissions.mean(nothing),
            emissions.mode(nothing),
            emissions.draw(nothing, Key(0, 1), 1),
        ):
            emissions.check_parameters(parameters)


class TestOrder:
    def test_states_of_bits_are_ordered_if_only_the_data_distinguish_them(self):
        assert bits().is_exchangeable
        assert bits(prior=[1, 2, 3]).is_exchangeable
        assert not bits(prior=[[1] * 3, [1] * 3, [2] * 3]).is_exchangeable
        assert not bits(prior_of_zeros=[[1] * 3, [1] * 3, [2] * 3]).is_exchangeable
        parameters = BernoulliParameters(np.array([[0.9, 0.1, 0.5], [0.2, 0.3, 0.5], [0.5, 0.2, 0.5]]))
        assert bits().order(parameters).tolist() == [1, 2, 0]
        assert parameters.permuted(np.array([1, 2, 0])).probabilities[:, 1].tolist() == [0.3, 0.2, 0.1]

    def test_states_of_documents_are_ordered_if_only_the_data_distinguish_them(self):
        assert documents().is_exchangeable
        assert documents(prior=[1, 2, 3, 4]).is_exchangeable
        assert not documents(prior=np.arange(1, 13).reshape(3, 4)).is_exchangeable
        parameters = CategoricalParameters(np.array([[0, 0, 0, 1.0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]]))
        assert documents().order(parameters).tolist() == [1, 2, 0]


class TestRedrawn:
    """Redrawn data have the moments of the parameters, within 5 standard errors."""

    STATES = np.repeat([0, 1, 2], 3000).astype(np.uint16)

    def check(self, values, means, deviations):
        for s in range(3):
            here = values[s == self.STATES]
            assert np.all(
                np.abs(here.mean(axis=0) - means[s]) < 5 * deviations[s] / np.sqrt(len(here)) + 1e-12
            )

    def test_bits_have_the_means_of_their_states(self):
        probabilities = np.array([[0.2, 0.7, 0.5], [0.9, 0.1, 0.4], [0.0, 1.0, 0.5]])
        emissions = bits(np.zeros((9000, 3)), prior=[1, 2, 3])
        again = emissions.redrawn(BernoulliParameters(probabilities), self.STATES, np.random.default_rng(0))
        assert np.array_equal(again._ones, emissions._ones)
        assert set(np.unique(again.sequences.values)) == {0, 1}
        self.check(again.sequences.values, probabilities, np.sqrt(probabilities * (1 - probabilities)))

    def test_documents_keep_their_lengths_and_have_the_means_of_their_states(self):
        probabilities = np.random.default_rng(2).dirichlet(np.ones(4), 3)
        lengths = np.tile([0, 1, 7], 3000)
        given = np.zeros((9000, 4))
        given[:, 2] = lengths
        emissions = documents(given, prior=[1, 2, 3, 4])
        again = emissions.redrawn(CategoricalParameters(probabilities), self.STATES, np.random.default_rng(0))
        parts = again.numbers, again.words, again.offsets
        values = sparse.csr_array(parts, shape=(9000, 4)).toarray()
        assert np.array_equal(values.sum(axis=1), lengths)
        assert np.array_equal(again.dirichlet.prior, emissions.dirichlet.prior)
        spread = np.sqrt(8 / 3 * probabilities * (1 - probabilities) + stats.tvar(lengths) * probabilities**2)
        self.check(values, 8 / 3 * probabilities, spread)

    def test_counts_have_the_means_of_their_states(self):
        rates = np.array([[1.0, 5.0], [4.0, 4.0], [0.0, 3.0]])
        emissions = PoissonEmissions(
            Sequences.from_values(np.zeros((9000, 2))), 3, prior=2.0, prior_weight=3.0
        )
        again = emissions.redrawn(PoissonParameters(rates), self.STATES, np.random.default_rng(0))
        self.check(again.sequences.values, rates, np.sqrt(rates))
        assert again.to_arrays()[0]["prior_weight"][0, 0] == 3.0  # not the default for the new data

    @pytest.mark.parametrize("covariance", COVARIANCES)
    def test_numbers_have_the_means_and_covariances_of_their_states(self, covariance):
        full = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.6], [0.6, 1.0]], [[1.0, -0.3], [-0.3, 2.0]]])
        diagonal = np.diagonal(full, axis1=1, axis2=2)
        given = {"full": full, "tied": full[0], "diag": diagonal, "spherical": diagonal[:, 0]}[covariance]
        means = np.array([[0.0, 1.0], [5.0, -2.0], [1.0, 1.0]])
        emissions = GaussianEmissions(
            Sequences.from_values(np.zeros((9000, 2))), 3, covariance=covariance, covariance_prior=2.0
        )
        again = emissions.redrawn(
            NormalParameters(means, given.copy(), covariance), self.STATES, np.random.default_rng(0)
        )
        values = again.sequences.values
        matrices = {
            "full": full,
            "tied": full[[0, 0, 0]],
            "diag": np.eye(2) * diagonal[:, None, :],
            "spherical": np.eye(2) * diagonal[:, :1, None],
        }[covariance]
        self.check(values, means, np.sqrt(np.diagonal(matrices, axis1=1, axis2=2)))
        for s in range(3):
            found = np.cov(values[s == self.STATES].T)
            np.testing.assert_allclose(found, matrices[s], atol=5 * 2.0 * np.sqrt(2 / 3000))

    def test_symbols_have_no_collapsed_mixture(self):
        emissions = CategoricalEmissions(Sequences.from_symbols([0, 1]), 2)
        with pytest.raises(NotSupported, match="no collapsed sampler for mixtures of single symbols"):
            emissions.resample_collapsed(None, None, None, None, Key(0, 1))


class TestErrors:
    @pytest.mark.parametrize("wrong", [2.0, -1.0, 0.5, np.inf])
    def test_values_other_than_0_and_1_are_refused(self, wrong):
        values = BITS.copy()
        values[4, 1] = wrong
        with fails("(must be 0 or 1, got .* in feature 1 of observation 4|4.*(infinite|is inf))"):
            bits(values)

    def test_invalid_priors_of_bits_are_refused(self):
        with fails(r"prior\[0\]\[0\] must be a number from 1e-10 to 1e\+10, got 0"):
            bits(prior=0.0)
        with fails(r"prior_of_zeros\[0\]\[0\] must be a number from 1e-10 to 1e\+10, got -1"):
            bits(prior_of_zeros=-1.0)
        with fails(r"prior must be a number or an array of shape .*, got an array of shape \(2,\)"):
            bits(prior=[1, 2])

    def test_invalid_parameters_of_bits_are_refused(self):
        with fails(r"probabilities must have shape \(3, 3\), got \(1, 3\)"):
            bits().check_parameters(BernoulliParameters(np.ones((1, 3))))
        with fails(r"probabilities\[0\]\[0\] must be from 0 to 1, got -1"):
            bits().check_parameters(BernoulliParameters(-np.ones((3, 3))))
        with fails("sequences must be numbers, got symbols: build them with Sequences.from_values"):
            BernoulliEmissions(Sequences.from_symbols([0]), 2)

    @pytest.mark.parametrize(
        ("counts", "message"),
        [
            ([[1, 2], [0, -1]], "counts must be whole numbers .*, got -1 for word 1 of document 1"),
            ([[1, 2], [0.5, 0]], "counts must be whole numbers .*, got 0.5 for word 0 of document 1"),
            ([[1, NAN], [0, 0]], "counts must be whole numbers .*, got nan for word 1 of document 0"),
            ([[np.inf, 0], [0, 0]], "counts must be whole numbers .*, got inf for word 0 of document 0"),
            (np.zeros((0, 3)), r"counts must have at least one document and one word, got shape \(0, 3\)"),
            (np.zeros((3, 0)), r"counts must have at least one document and one word, got shape \(3, 0\)"),
            ([1, 2, 3], r"counts must have at least one document and one word, got shape \(3,\)"),
            ("text", r"counts must be a matrix with documents as rows and words as columns \(.*\)"),
            ([["a", "b"]], r"counts must be a matrix with documents as rows and words as columns \(.*\)"),
        ],
    )
    def test_invalid_counts_of_words_are_refused(self, counts, message):
        with fails(message):
            documents(counts, 2)

    def test_invalid_parameters_of_documents_are_refused(self):
        with fails(r"the emissions must have shape \(3, 4\), got \(2, 4\)"):
            documents().check_parameters(CategoricalParameters(np.ones((2, 4)) / 4))
        with fails("row 0 of the emissions must sum to 1, got 2"):
            documents().check_parameters(CategoricalParameters(np.ones((3, 4)) / 2))
        with fails("n_states must be a whole number of at least 1, got 0"):
            documents(n_states=0)


@pytest.mark.parametrize(
    "emissions",
    [
        bits(prior=[1, 2, 3], prior_of_zeros=0.5),
        documents(prior=[1, 2, 3, 4]),
        documents(prior=[[1, 0, 2, 1]] * 3),
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
