"""Emissions of mixtures: Bernoulli and multinomial laws against the formulas, and what they refuse."""

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
        sure = np.eye(3)[PATHS]
        whole = emissions.count(0, 12, PATHS)
        expected = emissions.expect(0, 12, sure[0]) + emissions.expect(0, 12, sure[1])
        np.testing.assert_allclose(whole, expected, rtol=1e-12)
        np.testing.assert_allclose(emissions.count(0, 5, PATHS) + emissions.count(5, 12, PATHS), whole)

    def test_bits(self):
        statistics = bits().expect(0, 12, P)
        np.testing.assert_allclose(statistics[:, 0], P.sum(axis=0))
        np.testing.assert_allclose(statistics[:, 1:], P.T @ BITS)
        assert bits().observations(statistics).tolist() == statistics[:, 0].tolist()

    def test_documents(self):
        for counts in (WORDS, WORDS.astype(int), sparse.csr_matrix(WORDS), sparse.coo_array(WORDS)):
            emissions = documents(counts)
            statistics = emissions.expect(2, 12, P[2:])
            np.testing.assert_allclose(statistics.T, P[2:].T @ WORDS[2:], atol=1e-14)
            np.testing.assert_allclose(emissions.observations(statistics), P.T[:, 2:] @ WORDS[2:].sum(axis=1))

    def test_duplicates_and_zeros_of_sparse_matrices(self):
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
    def test_bits(self):
        law = np.array([[0.2, 0.7, 0.5], [0.9, 0.1, 0.4], [0.0, 1.0, 0.5]])
        logs = bits().weights(BernoulliParameters(law), 3, 12)
        with np.errstate(divide="ignore"):
            expected = [stats.bernoulli.logpmf(BITS[3:], row).sum(axis=1) for row in law]
        np.testing.assert_allclose(logs.T, expected, rtol=1e-12)

    def test_documents(self):
        law = np.random.default_rng(2).dirichlet(np.ones(4), 3)
        law[2] = [0.5, 0.5, 0.0, 0.0]
        emissions = documents()
        logs = emissions.weights(CategoricalParameters(law), 1, 12)
        for s in range(3):
            expected = [stats.multinomial.logpmf(x, x.sum(), law[s]) for x in WORDS[1:]]
            np.testing.assert_allclose(logs[:, s], expected, rtol=1e-10, atol=1e-12)
        assert np.array_equal(emissions.log_weights(CategoricalParameters(law), 1, 12), logs)


class TestLaws:
    def test_bits(self):
        emissions = bits(prior=2.5, prior_of_zeros=[1.5, 2, 3])
        statistics = emissions.expect(0, 12, P)
        ones, zeros = P.T @ BITS, P.T @ (1 - BITS)
        a, b = ones + 2.5, zeros + np.array([1.5, 2, 3])
        np.testing.assert_allclose(emissions.mean(statistics).probabilities, a / (a + b), rtol=1e-12)
        mode = (a - 1) / (a + b - 2)
        np.testing.assert_allclose(emissions.mode(statistics).probabilities, mode, rtol=1e-12)

    def test_documents(self):
        prior = np.random.default_rng(3).uniform(1, 3, (3, 4))
        emissions = documents(prior=prior)
        statistics = emissions.expect(0, 12, P)
        shapes = P.T @ WORDS + prior
        means = shapes / shapes.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(emissions.mean(statistics).probabilities, means, rtol=1e-12)
        modes = (shapes - 1) / (shapes - 1).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(emissions.mode(statistics).probabilities, modes, rtol=1e-12)

    def test_a_prior_of_one_makes_the_mode_that_of_the_likelihood(self):
        law = bits().mode(bits().expect(0, 12, P)).probabilities
        np.testing.assert_allclose(law, P.T @ BITS / P.sum(axis=0)[:, None], rtol=1e-12)

    @BOTH
    def test_beginnings(self, make):
        emissions = make()
        laws = [emissions.first_parameters(Key(seed, 0), 1) for seed in range(60)]
        for law in laws:
            emissions.check_parameters(law)
            assert np.isfinite(emissions.weights(law, 0, 12)).all()
        assert len({law.probabilities.tobytes() for law in laws}) > 5
        again = emissions.first_parameters(Key(3, 0), 1)
        assert np.array_equal(again.probabilities, laws[3].probabilities)

    def test_beginnings_of_missing_data_and_of_empty_documents(self):
        emissions = bits(np.full((4, 3), NAN))
        emissions.check_parameters(emissions.first_parameters(Key(0, 0), 1))
        emissions = documents(np.zeros((3, 2)))
        emissions.check_parameters(emissions.first_parameters(Key(0, 0), 1))

    def test_forbidden_words_stay_forbidden(self):
        prior = np.ones((3, 4))
        prior[1, 1] = 0
        emissions = documents(prior=prior)
        statistics = emissions.count(0, 12, np.zeros((1, 12), np.uint16))
        for law in (
            emissions.first_parameters(Key(0, 0), 1),
            emissions.draw(statistics, Key(0, 1), 1),
            emissions.mean(statistics),
            emissions.mode(statistics),
        ):
            assert law.probabilities[1, 1] == 0
            np.testing.assert_allclose(law.probabilities.sum(axis=1), 1)
        assert not emissions.is_exchangeable

    @BOTH
    def test_states_without_observations_are_finite(self, make):
        emissions = make()
        nothing = emissions.count(0, 0, np.empty((1, 0), np.uint16))
        for law in (emissions.mean(nothing), emissions.mode(nothing), emissions.draw(nothing, Key(0, 1), 1)):
            emissions.check_parameters(law)


class TestOrder:
    def test_bits(self):
        assert bits().is_exchangeable
        assert bits(prior=[1, 2, 3]).is_exchangeable
        assert not bits(prior=[[1] * 3, [1] * 3, [2] * 3]).is_exchangeable
        assert not bits(prior_of_zeros=[[1] * 3, [1] * 3, [2] * 3]).is_exchangeable
        law = BernoulliParameters(np.array([[0.9, 0.1, 0.5], [0.2, 0.3, 0.5], [0.5, 0.2, 0.5]]))
        assert bits().order(law).tolist() == [1, 2, 0]
        assert law.permuted(np.array([1, 2, 0])).probabilities[:, 1].tolist() == [0.3, 0.2, 0.1]

    def test_documents(self):
        assert documents().is_exchangeable
        assert documents(prior=[1, 2, 3, 4]).is_exchangeable
        assert not documents(prior=np.arange(1, 13).reshape(3, 4)).is_exchangeable
        law = CategoricalParameters(np.array([[0, 0, 0, 1.0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]]))
        assert documents().order(law).tolist() == [1, 2, 0]


class TestRedrawn:
    """Means over many draws; 5 standard errors."""

    STATES = np.repeat([0, 1, 2], 3000).astype(np.uint16)

    def check(self, values, means, deviations):
        for s in range(3):
            here = values[s == self.STATES]
            assert np.all(
                np.abs(here.mean(axis=0) - means[s]) < 5 * deviations[s] / np.sqrt(len(here)) + 1e-12
            )

    def test_bits(self):
        law = np.array([[0.2, 0.7, 0.5], [0.9, 0.1, 0.4], [0.0, 1.0, 0.5]])
        emissions = bits(np.zeros((9000, 3)), prior=[1, 2, 3])
        again = emissions.redrawn(BernoulliParameters(law), self.STATES, np.random.default_rng(0))
        assert np.array_equal(again._ones, emissions._ones)
        assert set(np.unique(again.sequences.values)) == {0, 1}
        self.check(again.sequences.values, law, np.sqrt(law * (1 - law)))

    def test_documents(self):
        law = np.random.default_rng(2).dirichlet(np.ones(4), 3)
        lengths = np.tile([0, 1, 7], 3000)
        given = np.zeros((9000, 4))
        given[:, 2] = lengths
        emissions = documents(given, prior=[1, 2, 3, 4])
        again = emissions.redrawn(CategoricalParameters(law), self.STATES, np.random.default_rng(0))
        parts = again.numbers, again.words, again.offsets
        values = sparse.csr_array(parts, shape=(9000, 4)).toarray()
        assert np.array_equal(values.sum(axis=1), lengths)
        assert np.array_equal(again.dirichlet.prior, emissions.dirichlet.prior)
        spread = np.sqrt(8 / 3 * law * (1 - law) + stats.tvar(lengths) * law**2)
        self.check(values, 8 / 3 * law, spread)

    def test_counts(self):
        rates = np.array([[1.0, 5.0], [4.0, 4.0], [0.0, 3.0]])
        emissions = PoissonEmissions(
            Sequences.from_values(np.zeros((9000, 2))), 3, prior=2.0, prior_weight=3.0
        )
        again = emissions.redrawn(PoissonParameters(rates), self.STATES, np.random.default_rng(0))
        self.check(again.sequences.values, rates, np.sqrt(rates))
        assert again.to_arrays()[0]["prior_weight"][0, 0] == 3.0  # and not what the new data would suggest

    @pytest.mark.parametrize("covariance", COVARIANCES)
    def test_numbers(self, covariance):
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
    def test_bits(self, wrong):
        values = BITS.copy()
        values[4, 1] = wrong
        with fails("4.*(is.*in feature 1: Bernoulli emissions are 0 or 1|infinite|is inf)"):
            bits(values)

    def test_priors_of_bits(self):
        with fails(r"the prior of the probabilities\[0\]\[0\] is 0: it must be a number greater than 0"):
            bits(prior=0.0)
        with fails(r"the prior of zeros\[0\]\[0\] is -1: it must be a number greater than 0"):
            bits(prior_of_zeros=-1.0)
        with fails(r"the prior of the probabilities has shape \(2,\): give a number, or an array of shape"):
            bits(prior=[1, 2])

    def test_laws_of_bits(self):
        with fails(r"the array of probabilities has shape \(1, 3\): give an array of shape \(3, 3\)"):
            bits().check_parameters(BernoulliParameters(np.ones((1, 3))))
        with fails(r"the array of probabilities\[0\]\[0\] is -1: give numbers from 0 to 1"):
            bits().check_parameters(BernoulliParameters(-np.ones((3, 3))))
        with fails("these emissions need numbers: make the data with Sequences.from_values"):
            BernoulliEmissions(Sequences.from_symbols([0]), 2)

    @pytest.mark.parametrize(
        ("counts", "message"),
        [
            ([[1, 2], [0, -1]], "word 1 occurs -1 times in document 1: counts are whole numbers"),
            ([[1, 2], [0.5, 0]], "word 0 occurs 0.5 times in document 1: counts are whole numbers"),
            ([[1, NAN], [0, 0]], "word 1 occurs nan times in document 0: counts are whole numbers"),
            ([[np.inf, 0], [0, 0]], "word 0 occurs inf times in document 0: counts are whole numbers"),
            (np.zeros((0, 3)), r"the counts have shape \(0, 3\): give at least one document and one word"),
            (np.zeros((3, 0)), r"the counts have shape \(3, 0\): give at least one document and one word"),
            ([1, 2, 3], r"the counts have shape \(3,\): give at least one document and one word"),
            ("text", "the counts are not a matrix .*: give documents as rows and words as columns"),
            ([["a", "b"]], "the counts are not a matrix .*: give documents as rows and words as columns"),
        ],
    )
    def test_documents(self, counts, message):
        with fails(message):
            documents(counts, 2)

    def test_laws_of_documents(self):
        with fails(r"the emissions have shape \(2, 4\): give an array of shape \(3, 4\)"):
            documents().check_parameters(CategoricalParameters(np.ones((2, 4)) / 4))
        with fails("row 0 of the emissions sums to 2: it must sum to 1"):
            documents().check_parameters(CategoricalParameters(np.ones((3, 4)) / 2))
        with fails("the number of states is 0: pass a whole number of at least 1"):
            documents(n_states=0)


@pytest.mark.parametrize(
    "emissions",
    [
        bits(prior=[1, 2, 3], prior_of_zeros=0.5),
        documents(prior=[1, 2, 3, 4]),
        documents(prior=[[1, 0, 2, 1]] * 3),
    ],
)
def test_round_trip(emissions):
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
        assert np.array_equal(getattr(emissions.parameters_from_arrays(**drawn.to_arrays()), name), array)
