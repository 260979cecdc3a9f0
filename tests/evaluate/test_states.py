"""Summaries of states, and the states of data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.evaluate import states
from plait.evaluate.states import decode, hmm_model, hmm_solution, read_new_data, summarise_states
from plait.models.emissions import CategoricalEmissions, GaussianEmissions, PoissonEmissions
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.threads import Threads

LENGTHS = [7, 1, 12, 30, 5]


def symbols(seed=0, labels=None, names=None):
    rng = np.random.default_rng(seed)
    return Sequences.from_symbols(rng.integers(0, 3, sum(LENGTHS)), LENGTHS, labels=labels, names=names)


def numbers(seed=0, n_features=2, columns=None):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(sum(LENGTHS), n_features)) + 9 * rng.integers(0, 2, (sum(LENGTHS), 1))
    values[10] = np.nan
    return Sequences.from_values(values, LENGTHS, missing=True, columns=columns)


def counts(seed=0):
    values = np.random.default_rng(seed).poisson(3, (sum(LENGTHS), 1))
    return Sequences.from_values(values, LENGTHS)


def fit(emissions, **options):
    return plait.sample(HmmModel(emissions, **options), n_paths=2, n_sweeps=5, n_jobs=1)


@pytest.fixture
def threads():
    with Threads(1) as threads:
        yield threads


class TestSolution:
    def test_states_are_in_canonical_order(self, threads):
        run = fit(GaussianEmissions(numbers(), 3))
        parameters = hmm_solution(run, threads)
        assert np.all(run.model.canonical_order(parameters) == np.arange(3))
        assert np.all(np.diff(parameters.emissions.means[:, 0]) > 0)
        mean = run.model.mean_parameters(run.model.count(run.paths, threads), threads)
        assert run.model.log_likelihood(parameters, threads) == pytest.approx(
            run.model.log_likelihood(mean, threads)
        )

    def test_states_that_the_priors_tell_apart_stay(self, threads):
        moves = np.eye(3) + np.eye(3, k=1)
        run = fit(CategoricalEmissions(symbols(), 3), start_prior=[1, 0, 0], transition_prior=moves)
        parameters = hmm_solution(run, threads)
        assert parameters.start.tolist() == [1, 0, 0]
        assert np.all(parameters.transitions[moves == 0] == 0)

    def test_another_model(self, small_bands):
        run = plait.sample(LdaModel(small_bands.corpus, 3), n_paths=1, n_sweeps=1, n_jobs=1)
        with pytest.raises(PlaitError, match=r"'lda'.*hidden Markov models"):
            hmm_model(run)


class TestSummaries:
    def test_symbols(self, threads):
        run = fit(CategoricalEmissions(symbols(labels=["sun", "rain", "fog"]), 2))
        parameters = hmm_solution(run, threads)
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

    def test_symbols_without_labels(self):
        run = fit(CategoricalEmissions(symbols(), 2, n_symbols=4))
        assert set(summarise_states(run)[0].emissions["symbols"]) == {"0", "1", "2", "3"}

    def test_shares_follow_the_canonical_order(self, threads):
        run = fit(GaussianEmissions(numbers(), 2))
        mean = run.model.mean_parameters(run.model.count(run.paths, threads), threads)
        order = run.model.canonical_order(mean)
        summaries = summarise_states(run)
        shares = np.bincount(run.paths.ravel(), minlength=2) / run.paths.size
        assert [s.share for s in summaries] == pytest.approx(shares[order])
        seen = run.paths[:, ~np.isnan(run.model.sequences.values[:, 0])]
        assert [s.n_observations for s in summaries] == np.bincount(seen.ravel(), minlength=2)[order].tolist()

    @pytest.mark.parametrize("covariance", ["spherical", "diag", "full", "tied"])
    def test_numbers(self, covariance, threads):
        run = fit(GaussianEmissions(numbers(columns=["x", "y"]), 2, covariance=covariance))
        law = hmm_solution(run, threads).emissions
        full = {
            "spherical": lambda s: law.covariances[s] * np.eye(2),
            "diag": lambda s: np.diag(law.covariances[s]),
            "full": lambda s: law.covariances[s],
            "tied": lambda s: law.covariances,
        }[covariance]
        for s in summarise_states(run):
            assert s.emissions["features"] == ("x", "y")
            assert s.emissions["means"] == pytest.approx(law.means[s.state])
            assert s.emissions["standard_deviations"] == pytest.approx(np.sqrt(np.diag(full(s.state))))

    def test_counts(self, threads):
        run = fit(PoissonEmissions(counts(), 2))
        rates = hmm_solution(run, threads).emissions.rates
        for s in summarise_states(run):
            assert s.emissions == {"features": ("0",), "rates": tuple(rates[s.state])}


def all_parts(run, data, threads, **options):
    return list(decode(run.model, hmm_solution(run, threads), data, threads, **options))


class TestDecode:
    @pytest.mark.parametrize(
        "emissions",
        [CategoricalEmissions(symbols(), 3), GaussianEmissions(numbers(), 3), PoissonEmissions(counts(), 3)],
        ids=lambda e: e.kind,
    )
    @pytest.mark.parametrize("limit", [1, 13, 10**6])
    def test_pieces_make_no_difference(self, emissions, limit, threads, monkeypatch):
        run = fit(emissions)
        data, parameters = emissions.sequences, hmm_solution(run, threads)
        best, _ = run.model.best_paths(parameters, threads)
        posteriors, likelihoods = run.model.posteriors(parameters, threads)
        monkeypatch.setattr(states, "_SITES_A_PIECE", (limit, limit))
        parts = all_parts(run, data, threads, probabilities=True)
        assert [part.first for part in parts] == [0, *np.cumsum([p.sequences.n_sequences for p in parts])][
            :-1
        ]
        assert sum(p.sequences.n_sequences for p in parts) == len(LENGTHS)
        assert max(p.sequences.n_sites for p in parts) <= max(limit, *LENGTHS)
        np.testing.assert_array_equal(np.concatenate([p.states for p in parts]), best)
        np.testing.assert_allclose(np.concatenate([p.probabilities for p in parts]), posteriors)
        np.testing.assert_allclose(np.concatenate([p.log_likelihoods for p in parts]), likelihoods)
        parts = all_parts(run, data, threads, algorithm="map")
        np.testing.assert_array_equal(np.concatenate([p.states for p in parts]), posteriors.argmax(axis=1))
        assert all(p.probabilities is None for p in parts)

    def test_names_stay_with_their_sequences(self, threads, monkeypatch):
        names = tuple("abcde")
        run = fit(CategoricalEmissions(symbols(names=names), 2))
        monkeypatch.setattr(states, "_SITES_A_PIECE", (1, 1))
        parts = all_parts(run, run.model.sequences, threads)
        assert tuple(itertools.chain(*(part.sequences.names for part in parts))) == names

    def test_the_best_path_of_all(self, threads):
        run = fit(CategoricalEmissions(symbols(), 2))
        parameters = hmm_solution(run, threads)
        data = Sequences.from_symbols([0, 2, 2, 1])
        (part,) = decode(run.model, parameters, data, threads)

        def joint(path):
            p = parameters.start[path[0]] * np.prod(
                [parameters.transitions[a, b] for a, b in itertools.pairwise(path)]
            )
            return p * np.prod(parameters.emissions.probabilities[list(path), data.values])

        paths = list(itertools.product(range(2), repeat=4))
        assert tuple(part.states) == max(paths, key=joint)
        assert part.log_likelihoods[0] == pytest.approx(np.log(sum(map(joint, paths))))

    def test_what_cannot_be_is_named(self, threads, monkeypatch):
        fixed = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
        data = Sequences.from_symbols([0, 1, 0, 1], [2, 2])
        run = fit(CategoricalEmissions(data, 2, n_symbols=3, fixed=fixed))
        new = Sequences.from_symbols([0, 1, 0, 2], [2, 2], names=["good", "bad"])
        monkeypatch.setattr(states, "_SITES_A_PIECE", (1, 1))
        with pytest.raises(PlaitError, match=r"sequence 1 \(bad\)"):
            all_parts(run, new, threads, algorithm="map")

    def test_unknown_algorithm(self, threads):
        run = fit(CategoricalEmissions(symbols(), 2))
        with pytest.raises(PlaitError, match=r"algorithm is 'best'.*'viterbi', 'map'"):
            all_parts(run, run.model.sequences, threads, algorithm="best")


class TestNewData:
    def read(self, tmp_path, emissions, text, name="new.csv", **options):
        (tmp_path / name).write_text(text)
        return read_new_data(HmmModel(emissions), tmp_path / name, **options)

    def test_labels_are_looked_up(self, tmp_path):
        emissions = CategoricalEmissions(symbols(labels=["sun", "rain", "fog"]), 2)
        assert self.read(tmp_path, emissions, "w\nfog\nsun\n").values.tolist() == [2, 0]
        with pytest.raises(PlaitError, match=r"new\.csv:3: .*'snow'"):
            self.read(tmp_path, emissions, "w\nfog\nsnow\n")

    def test_whole_numbers_stay(self, tmp_path):
        emissions = CategoricalEmissions(symbols(), 2)
        new = self.read(tmp_path, emissions, "w\n2.0\n\n1\n", missing=True)
        assert new.values.tolist() == [2, -1, 1]
        with pytest.raises(PlaitError, match=r"new\.csv:3: .*symbol 3, .*0 to 2"):
            self.read(tmp_path, emissions, "w\n2\n3\n")
        with pytest.raises(PlaitError, match=r"texts, such as 'a', .*0 to 2"):
            self.read(tmp_path, emissions, "w\na\nb\n")

    def test_array_of_symbols(self, tmp_path):
        np.save(tmp_path / "new.npy", [0, 2, 3])
        for labels in (None, ["a", "b", "c"]):
            model = HmmModel(CategoricalEmissions(symbols(labels=labels), 2))
            with pytest.raises(PlaitError, match=r"new\.npy: observation 2 is the symbol 3, .*0 to 2"):
                read_new_data(model, tmp_path / "new.npy")

    def test_columns_are_those_of_the_model(self, tmp_path):
        emissions = GaussianEmissions(numbers(columns=["x", "y"]), 2)
        assert self.read(tmp_path, emissions, "y,z,x\n1,2,3\n").values.tolist() == [[3, 1]]
        assert self.read(tmp_path, emissions, "a,b\n1,2\n", columns=["b", "a"]).values.tolist() == [[2, 1]]
        with pytest.raises(PlaitError, match="no column 'x'"):
            self.read(tmp_path, emissions, "a,b\n1,2\n")

    def test_number_of_features(self, tmp_path):
        emissions = GaussianEmissions(numbers(), 2)
        with pytest.raises(PlaitError, match=r"3 features, but .* to 2: pass columns with 2 of them"):
            self.read(tmp_path, emissions, "a,b,c\n1,2,3\n")
        np.save(tmp_path / "new.npy", [1.0, 2.0])
        with pytest.raises(PlaitError, match=r"1 features, but .* to 2: pass an array of shape \(N, 2\)"):
            read_new_data(HmmModel(emissions), tmp_path / "new.npy")

    def test_counts_are_whole(self, tmp_path):
        emissions = PoissonEmissions(counts(), 2)
        with pytest.raises(PlaitError, match=r"new\.csv: observation 1 is 1\.5"):
            self.read(tmp_path, emissions, "n\n1\n1.5\n")

    @pytest.mark.parametrize("value", ["0", "1e12"])
    def test_few_and_extreme_observations(self, tmp_path, threads, value):
        """The priors that are made from the data are of no use for one observation, and not needed."""
        for emissions in (GaussianEmissions(numbers(n_features=1), 2), PoissonEmissions(counts(), 2)):
            new = self.read(tmp_path, emissions, f"n\n{value}\n")
            (part,) = all_parts(fit(emissions), new, threads, probabilities=True)
            assert part.probabilities.sum() == pytest.approx(1)


def test_a_run_without_sweeps_can_be_summarised():
    run = fit(CategoricalEmissions(symbols(), 2))
    summaries = summarise_states(replace(run, sweep=0))
    assert sum(s.share for s in summaries) == pytest.approx(1)
