"""Summaries of states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.evaluate.states import hmm_model, summarise_states
from plait.models.emissions import (
    BernoulliEmissions,
    CategoricalEmissions,
    GaussianEmissions,
    PoissonEmissions,
)
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.threads import Threads

LENGTHS = [7, 1, 12, 30, 5]


def symbols(labels=None):
    rng = np.random.default_rng(0)
    return Sequences.from_symbols(rng.integers(0, 3, sum(LENGTHS)), LENGTHS, labels=labels)


def numbers(columns=None):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(sum(LENGTHS), 2)) + 9 * rng.integers(0, 2, (sum(LENGTHS), 1))
    values[10] = np.nan
    return Sequences.from_values(values, LENGTHS, missing=True, columns=columns)


def counts():
    values = np.random.default_rng(0).poisson(3, (sum(LENGTHS), 1))
    return Sequences.from_values(values, LENGTHS)


def fit(emissions, **options):
    return plait.sample(HmmModel(emissions, **options), n_paths=2, n_sweeps=5, n_jobs=1)


def parameters_in_order(run):
    """Return the parameters of a run with the states in canonical order, and that order."""
    parameters = run.parameters(1)
    order = run.model.canonical_order(parameters)
    return parameters.permuted(order), order


def test_only_hidden_markov_models_have_states(small_bands):
    run = plait.sample(LdaModel(small_bands.corpus, 3), n_paths=1, n_sweeps=1, n_jobs=1)
    with pytest.raises(PlaitError, match=r"'lda'.*hidden Markov models"):
        hmm_model(run)
    with pytest.raises(PlaitError, match=r"'lda'.*hidden Markov models"):
        summarise_states(run)


class TestSummaries:
    @pytest.mark.parametrize("own", [0, 1])
    def test_a_name_belongs_to_the_state_of_the_paths_however_states_are_numbered(self, own):
        run = fit(GaussianEmissions(numbers(), 2)).named({own: "high tide"})
        _, order = parameters_in_order(run)
        shown = {summary.state: summary.name for summary in summarise_states(run)}
        assert shown == {
            int(np.flatnonzero(order == own)[0]): "high tide",
            int(np.flatnonzero(order != own)[0]): None,
        }

    def test_binary_features_have_probabilities(self):
        bits = Sequences.from_values((numbers().values > 4).astype(float), LENGTHS, columns=["x", "y"])
        run = fit(BernoulliEmissions(bits, 2))
        parameters, _ = parameters_in_order(run)
        for s, summary in enumerate(summarise_states(run, n_jobs=1)):
            assert summary.emissions["features"] == ("x", "y")
            assert summary.emissions["probabilities"] == tuple(parameters.emissions.probabilities[s])

    def test_symbols_are_listed_by_their_probability(self):
        run = fit(CategoricalEmissions(symbols(labels=["sun", "rain", "fog"]), 2))
        parameters, _ = parameters_in_order(run)
        summaries = summarise_states(run, 2)
        assert [s.state for s in summaries] == [0, 1]
        for s in summaries:
            order = np.argsort(-parameters.emissions.probabilities[s.state])[:2]
            assert s.emissions["symbols"] == tuple(("sun", "rain", "fog")[w] for w in order)
            assert s.emissions["probabilities"] == pytest.approx(
                parameters.emissions.probabilities[s.state, order]
            )
            assert s.start == parameters.start[s.state]
            assert s.stay == parameters.transitions[s.state, s.state]
            assert s.transitions == pytest.approx(parameters.transitions[s.state])

    def test_symbols_without_labels_go_by_their_numbers(self):
        run = fit(CategoricalEmissions(symbols(), 2, n_symbols=4))
        assert set(summarise_states(run)[0].emissions["symbols"]) == {"0", "1", "2", "3"}

    def test_states_are_in_canonical_order(self):
        run = fit(GaussianEmissions(numbers(), 3))
        first = [s.emissions["means"][0] for s in summarise_states(run)]
        assert first == sorted(first)

    def test_states_that_the_priors_number_keep_their_numbers(self):
        moves = np.eye(3) + np.eye(3, k=1)
        run = fit(CategoricalEmissions(symbols(), 3), start_prior=[1, 0, 0], transition_prior=moves)
        summaries = summarise_states(run)
        assert [s.start for s in summaries] == [1, 0, 0]
        assert np.all(np.array([s.transitions for s in summaries])[moves == 0] == 0)

    def test_shares_follow_the_canonical_order(self):
        run = fit(GaussianEmissions(numbers(), 2))
        _, order = parameters_in_order(run)
        summaries = summarise_states(run)
        shares = np.bincount(run.paths.ravel(), minlength=2) / run.paths.size
        assert [s.share for s in summaries] == pytest.approx(shares[order])
        seen = run.paths[:, ~np.isnan(run.model.sequences.values[:, 0])]
        assert [s.n_observations for s in summaries] == np.bincount(seen.ravel(), minlength=2)[order].tolist()

    @pytest.mark.parametrize("covariance", ["spherical", "diag", "full", "tied"])
    def test_numbers_are_described_by_mean_and_standard_deviation(self, covariance):
        run = fit(GaussianEmissions(numbers(columns=["x", "y"]), 2, covariance=covariance))
        normal = parameters_in_order(run)[0].emissions
        full = {
            "spherical": lambda s: normal.covariances[s] * np.eye(2),
            "diag": lambda s: np.diag(normal.covariances[s]),
            "full": lambda s: normal.covariances[s],
            "tied": lambda s: normal.covariances,
        }[covariance]
        for s in summarise_states(run):
            assert s.emissions["features"] == ("x", "y")
            assert s.emissions["means"] == pytest.approx(normal.means[s.state])
            assert s.emissions["standard_deviations"] == pytest.approx(np.sqrt(np.diag(full(s.state))))

    def test_counts_are_described_by_their_rates(self):
        run = fit(PoissonEmissions(counts(), 2))
        rates = parameters_in_order(run)[0].emissions.rates
        for s in summarise_states(run):
            assert s.emissions == {"features": ("0",), "rates": tuple(rates[s.state])}

    def test_a_run_without_sweeps_can_be_summarised(self):
        run = fit(CategoricalEmissions(symbols(), 2))
        summaries = summarise_states(replace(run, sweep=0))
        assert sum(s.share for s in summaries) == pytest.approx(1)

    def test_the_estimate_of_em_is_what_is_summarised(self):
        run = fit(PoissonEmissions(counts(), 2))
        estimate = run.parameters(1)
        estimate = replace(estimate, emissions=type(estimate.emissions)(np.array([[7.0], [2.0]])))
        summaries = summarise_states(replace(run, estimate=estimate))
        assert [s.emissions["rates"] for s in summaries] == [(2.0,), (7.0,)]
        shares = np.bincount(run.paths.ravel(), minlength=2) / run.paths.size
        assert [s.share for s in summaries] == pytest.approx(shares[::-1])

    def test_without_paths_the_shares_are_expected_ones(self):
        model = HmmModel(GaussianEmissions(numbers(), 2))
        run = fit(model.emissions)
        estimate = run.parameters(1)
        settings = replace(run.settings, n_paths=0, stages=())
        em_alone = replace(run, paths=run.paths[:0], settings=settings, estimate=estimate)
        summaries = summarise_states(em_alone)
        expected, _ = model.expected_counts(estimate, Threads(1))
        visits = (expected.starts + expected.pairs.sum(axis=0))[model.canonical_order(estimate)]
        assert [s.share for s in summaries] == pytest.approx(visits / sum(LENGTHS))
        assert sum(s.n_observations for s in summaries) == sum(LENGTHS) - 1  # one is missing
