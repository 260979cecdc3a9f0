"""The states of sequences, given the parameters of a hidden Markov model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.inference import states
from plait.inference.states import chain_of, decode
from plait.models.emissions import (
    BernoulliEmissions,
    CategoricalEmissions,
    GaussianEmissions,
    PoissonEmissions,
)
from plait.models.hmm import HmmModel
from plait.threads import Threads

LENGTHS = [7, 1, 12, 30, 5]


def symbols(names=None):
    rng = np.random.default_rng(0)
    return Sequences.from_symbols(rng.integers(0, 3, sum(LENGTHS)), LENGTHS, names=names)


def numbers():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(sum(LENGTHS), 2)) + 9 * rng.integers(0, 2, (sum(LENGTHS), 1))
    values[10] = np.nan
    return Sequences.from_values(values, LENGTHS, missing=True)


def counts():
    return Sequences.from_values(np.random.default_rng(0).poisson(3, (sum(LENGTHS), 1)), LENGTHS)


def bits():
    return Sequences.from_values((counts().values > 2).astype(float), LENGTHS)


def fit(emissions):
    return plait.sample(HmmModel(emissions), n_paths=2, n_sweeps=5, n_jobs=1)


def all_parts(parameters, sequences, **options):
    return list(decode(parameters, sequences, n_jobs=1, **options))


@pytest.mark.parametrize(
    "emissions",
    [
        CategoricalEmissions(symbols(), 3),
        GaussianEmissions(numbers(), 3),
        PoissonEmissions(counts(), 3),
        BernoulliEmissions(bits(), 3),
    ],
    ids=lambda e: e.kind,
)
@pytest.mark.parametrize("limit", [1, 13, 10**6])
def test_the_size_of_the_pieces_makes_no_difference(emissions, limit, monkeypatch):
    run = fit(emissions)
    data, parameters = emissions.sequences, run.parameters(1)
    best, joint = run.model.best_paths(parameters, 1)
    posteriors, likelihoods = run.model.posteriors(parameters, 1)
    monkeypatch.setattr(states, "_SITES_PER_PIECE", (limit, limit))
    parts = all_parts(parameters, data, probabilities=True)
    assert [part.first for part in parts] == [0, *np.cumsum([p.sequences.n_sequences for p in parts])][:-1]
    assert sum(p.sequences.n_sequences for p in parts) == len(LENGTHS)
    assert max(p.sequences.n_sites for p in parts) <= max(limit, *LENGTHS)
    np.testing.assert_array_equal(np.concatenate([p.states for p in parts]), best)
    np.testing.assert_allclose(np.concatenate([p.scores for p in parts]), joint)
    np.testing.assert_allclose(np.concatenate([p.probabilities for p in parts]), posteriors)
    np.testing.assert_allclose(np.concatenate([p.log_likelihoods for p in parts]), likelihoods)
    parts = all_parts(parameters, data, algorithm="map")
    np.testing.assert_array_equal(np.concatenate([p.states for p in parts]), posteriors.argmax(axis=1))
    sums = np.add.reduceat(posteriors.max(axis=1), data.offsets[:-1])
    np.testing.assert_allclose(np.concatenate([p.scores for p in parts]), sums)


def test_likelihoods_are_those_of_the_sequences():
    run = fit(CategoricalEmissions(symbols(), 2))
    parameters = run.parameters(1)
    (part,) = all_parts(parameters, run.model.sequences, likelihoods=True)
    np.testing.assert_array_equal(part.log_likelihoods, run.model.log_likelihoods(parameters, 1))
    assert part.probabilities is None


def test_what_is_not_asked_for_is_not_computed():
    run = fit(CategoricalEmissions(symbols(), 2))
    (part,) = all_parts(run.parameters(1), run.model.sequences)
    assert part.probabilities is None
    assert part.log_likelihoods is None


def test_names_stay_with_their_sequences(monkeypatch):
    names = tuple("abcde")
    run = fit(CategoricalEmissions(symbols(names=names), 2))
    monkeypatch.setattr(states, "_SITES_PER_PIECE", (1, 1))
    parts = all_parts(run.parameters(1), run.model.sequences)
    assert tuple(itertools.chain(*(part.sequences.names for part in parts))) == names


def test_the_best_path_is_the_best_of_all():
    parameters = fit(CategoricalEmissions(symbols(), 2)).parameters(1)
    data = Sequences.from_symbols([0, 2, 2, 1])
    (part,) = all_parts(parameters, data, likelihoods=True)

    def joint(path):
        p = parameters.start[path[0]] * np.prod(
            [parameters.transitions[a, b] for a, b in itertools.pairwise(path)]
        )
        return p * np.prod(parameters.emissions.probabilities[list(path), data.values])

    paths = list(itertools.product(range(2), repeat=4))
    assert tuple(part.states) == max(paths, key=joint)
    assert part.scores[0] == pytest.approx(np.log(max(map(joint, paths))))
    assert part.log_likelihoods[0] == pytest.approx(np.log(sum(map(joint, paths))))


@pytest.mark.parametrize("algorithm", ["viterbi", "map"])
@pytest.mark.parametrize("limit", [1, 100])
def test_a_sequence_without_a_possible_path_is_named(algorithm, limit, monkeypatch):
    fixed = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    data = Sequences.from_symbols([0, 1, 0, 1], [2, 2])
    run = fit(CategoricalEmissions(data, 2, n_symbols=3, fixed=fixed))
    monkeypatch.setattr(states, "_SITES_PER_PIECE", (limit, limit))
    for names, which in ((["good", "bad"], r"sequence 1 \(bad\)"), (None, "sequence 1 has probability 0")):
        new = Sequences.from_symbols([0, 1, 0, 2], [2, 2], names=names)
        with pytest.raises(PlaitError, match=which):
            all_parts(run.parameters(1), new, algorithm=algorithm)


def test_an_unknown_algorithm_is_refused():
    run = fit(CategoricalEmissions(symbols(), 2))
    with pytest.raises(PlaitError, match=r"algorithm must be one of 'viterbi', 'map', got 'best'") as caught:
        all_parts(run.parameters(1), run.model.sequences, algorithm="best")
    assert caught.value.argument == "algorithm"


def test_the_states_have_the_numbers_of_the_parameters():
    run = fit(GaussianEmissions(numbers(), 2))
    parameters = run.parameters(1)
    (mine,) = all_parts(parameters, run.model.sequences)
    (swapped,) = all_parts(parameters.permuted(np.array([1, 0])), run.model.sequences)
    np.testing.assert_array_equal(swapped.states, 1 - mine.states)


@pytest.mark.parametrize("value", [0.0, 1e12])
@pytest.mark.parametrize(
    "emissions", [GaussianEmissions(numbers(), 2), PoissonEmissions(counts(), 2)], ids=lambda e: e.kind
)
def test_one_extreme_observation_can_be_decoded(emissions, value):
    # Priors made from one observation would be of no use; with the parameters given, none are needed.
    n_features = emissions.sequences.n_features
    new = Sequences.from_values(np.full((1, n_features), value))
    (part,) = all_parts(fit(emissions).parameters(1), new, probabilities=True)
    assert part.probabilities.sum() == pytest.approx(1)


class TestChainOf:
    @pytest.mark.parametrize("covariance", ["spherical", "diag", "full", "tied"])
    def test_a_chain_over_the_fitted_data_is_the_model(self, covariance):
        run = fit(GaussianEmissions(numbers(), 2, covariance=covariance))
        parameters = run.parameters(1)
        chain = chain_of(parameters, run.model.sequences)
        with Threads(1) as threads:
            assert chain.log_likelihood(parameters, threads) == run.model.log_likelihood(parameters, threads)

    def test_unseen_symbols_of_the_parameters_are_allowed(self):
        run = fit(CategoricalEmissions(symbols(), 2, n_symbols=5))
        assert chain_of(run.parameters(1), Sequences.from_symbols([4, 4])).n_states == 2

    def test_symbols_beyond_those_of_the_parameters_are_refused(self):
        run = fit(CategoricalEmissions(symbols(), 2))
        with pytest.raises(PlaitError, match="symbols must be from 0 to 2, got 3 at observation 1"):
            chain_of(run.parameters(1), Sequences.from_symbols([0, 3]))

    def test_data_with_other_features_are_refused(self):
        run = fit(GaussianEmissions(numbers(), 2))
        with pytest.raises(PlaitError, match="shape"):
            chain_of(run.parameters(1), Sequences.from_values([[1.0], [2.0]]))

    def test_counts_must_be_whole_numbers(self):
        run = fit(PoissonEmissions(counts(), 2))
        with pytest.raises(PlaitError, match=r"1\.5"):
            chain_of(run.parameters(1), Sequences.from_values([[1.0], [1.5]]))
