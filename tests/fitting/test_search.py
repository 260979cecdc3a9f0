"""The search for the optimum: what it finds, its bits, and fits that are interrupted after it."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from plait.data.sequences import Sequences
from plait.fitting import search
from plait.fitting.plan import Plan
from plait.fitting.search import find_optimum
from plait.fitting.stored import fit_and_store, resume
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalParameters, NormalParameters, PoissonEmissions
from plait.models.hmm import HmmModel
from plait.run import load
from plait.sampler import Interrupted
from plait.threads import Threads

PLAN = Plan.of_method("search", n_paths=2, n_iter=30, polish=True)


@pytest.fixture(autouse=True)
def few_starts(monkeypatch):
    monkeypatch.setattr(search, "_STARTS", (4, 16))


def poisson_model(n=80):
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.array([1.0, 4.0, 12.0])[(np.arange(n) // 5) % 3])
    return HmmModel(PoissonEmissions(Sequences.from_values(counts[:, None], [30, n - 30]), 3))


MODEL = poisson_model()


def found(n_threads=1, **options):
    with Threads(n_threads) as threads:
        return find_optimum(MODEL, 7, threads, n_iter=50, tol=0.01, **options)


def test_the_likelihoods_are_those_of_the_climbs_and_the_best_is_returned():
    parameters, optimum = found()
    assert optimum.n_starts == 16
    assert list(optimum.finished) == sorted(optimum.finished, reverse=True)
    assert MODEL.log_likelihood(parameters, 1) == pytest.approx(optimum.finished[0], abs=0.01)
    assert 1 <= optimum.n_reached <= len(optimum.finished)


def test_bits_do_not_depend_on_threads():
    (one, seen_by_one), (two, seen_by_two) = found(1), found(2)
    assert seen_by_one == seen_by_two
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(array, two.to_arrays()[name])


def test_progress_counts_up_to_its_total():
    calls = []
    found(report=lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, total in calls} == {len(calls)}


def test_states_that_are_told_apart_are_not_moved():
    forbidden = HmmModel(MODEL.emissions, transition_prior=np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1]]))
    with Threads(1) as threads:
        parameters, _ = find_optimum(forbidden, 7, threads, n_iter=50, tol=0.01)
    assert parameters.transitions[0, 2] == 0
    forbidden.check_parameters(parameters)


@pytest.mark.parametrize("covariance", ["diag", "full", "tied"])
def test_a_moved_state_has_the_emissions_of_the_other_and_is_reached_from_all(covariance):
    form = {"diag": (2, 3), "full": (2, 3, 3), "tied": (3, 3)}[covariance]
    moves = np.array([[0.9, 0.1], [0.4, 0.6]])
    one, other = (
        HmmParameters(np.array([1.0, 0.0]), moves, NormalParameters(means, np.full(form, scale), covariance))
        for means, scale in ((np.zeros((2, 3)), 1.0), (np.arange(6.0).reshape(2, 3), 2.0))
    )
    moved = one.with_state(1, other, 0)
    np.testing.assert_array_equal(moved.emissions.means, [[0, 0, 0], [0, 1, 2]])
    expected = np.full(form, 1.0)
    if covariance != "tied":
        expected[1] = 2.0
    np.testing.assert_array_equal(moved.emissions.covariances, expected)
    np.testing.assert_allclose(moved.transitions.sum(axis=1), 1)
    assert (moved.transitions[:, 1] >= 0.5).all()
    assert moved.start.tolist() == [0.5, 0.5]
    assert one.transitions is not moved.transitions
    np.testing.assert_array_equal(one.transitions, [[0.9, 0.1], [0.4, 0.6]])


def test_a_moved_state_of_symbols_has_their_probabilities():
    one, other = CategoricalParameters(np.eye(2)), CategoricalParameters(np.full((2, 2), 0.5))
    assert one.with_state(0, other, 1).probabilities.tolist() == [[0.5, 0.5], [0, 1]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a stored fit that nothing interrupted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_STARTS", (4, 16))
        path = tmp_path_factory.mktemp("whole") / "m.plait"
        return fit_and_store(MODEL, PLAN, path, seed=5, n_init=2, n_jobs=1)


class TestStored:
    def test_the_file_knows_what_the_search_saw(self, whole, tmp_path):
        whole.save(tmp_path / "m.plait")
        again = load(tmp_path / "m.plait")
        assert again.optimum == whole.optimum
        assert again.optimum.n_starts == 16
        assert again.optimum.n_iter == 30

    def test_the_result_is_no_worse_than_what_the_search_found(self, whole):
        score = whole.model.log_likelihood(whole.parameters(1), 1)
        assert score >= whole.model.log_likelihood(whole.model.initial, 1)
        assert score == max(whole.fit.scores)

    @pytest.mark.parametrize("restart", [0, 1])
    def test_a_resumed_fit_has_the_bits_of_an_uninterrupted_one(self, restart, whole, tmp_path):
        path = tmp_path / "m.plait"

        def stop(progress):
            here = progress.stage == f"restart {restart + 1} of 2" and progress.search is None
            if here and (progress.unit, progress.state.sweep) == ("sweep", 4):
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Interrupted):
            fit_and_store(MODEL, PLAN, path, seed=5, n_init=2, n_jobs=1, callback=stop)
        resumed = resume(path, n_jobs=2)
        np.testing.assert_array_equal(resumed.paths, whole.paths)
        assert (resumed.fit.scores, resumed.optimum) == (whole.fit.scores, whole.optimum)
        for mine, other in ((resumed.estimate, whole.estimate), (resumed.model.initial, whole.model.initial)):
            for name, array in mine.to_arrays().items():
                np.testing.assert_array_equal(array, other.to_arrays()[name])
