"""FactorialHMM: what it learns, predicts and refuses; tests/exact/ shows that it samples exactly."""

from __future__ import annotations

import os
import re
import signal
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from plait.data.sequences import Sequences
from plait.errors import PlaitError, PlaitWarning
from plait.estimators import factorial as module
from plait.estimators.factorial import FactorialHMM
from plait.models.factorial import FactorialHmmModel, FactorialParameters, simulate
from plait.sampler import Interrupted, sample
from plait.threads import Threads

NAN = np.nan
SETTINGS = {"n_paths": 3, "n_iter": 30, "search": 2, "random_state": 0, "n_jobs": 1}


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


# Three chains of two states, in canonical order: they contribute less and less, and feature 0 rises.
MEANS = np.array(
    [
        [[-2.0, 1.0, 0.0, -1.0], [2.0, -1.0, 0.0, 1.0]],
        [[-1.0, -1.0, 1.5, 0.0], [1.0, 1.0, -1.5, 0.0]],
        [[-0.7, 0.5, 0.5, 0.7], [0.7, -0.5, -0.5, -0.7]],
    ]
)
INTERCEPT = np.array([5.0, -3.0, 0.0, 10.0])
MOVES = np.array([[0.95, 0.05], [0.08, 0.92]])
PHI = FactorialParameters(
    np.full((3, 2), 0.5), np.tile(MOVES, (3, 1, 1)), MEANS + INTERCEPT / 3, np.full(4, 0.3**2)
)


def draw(lengths, seed):
    offsets = np.append(0, np.cumsum(lengths))
    states, values = simulate(PHI, offsets, np.random.default_rng(seed))
    return values, states


def known(n_paths):
    """Return an estimator whose parameters are set to the true ones, and that is not fitted."""
    model = FactorialHMM(3, 2, n_paths=n_paths, n_jobs=1)
    model.startprob_, model.transmat_ = PHI.start, PHI.transitions
    model.means_, model.intercept_, model.covars_ = MEANS, INTERCEPT, PHI.covariance
    return model


@pytest.fixture(scope="module")
def fitted():
    X, states = draw([300, 100], 0)
    return FactorialHMM(3, 2, **SETTINGS).fit(X, [300, 100]), X, states


class TestFit:
    def test_it_finds_the_chains_in_canonical_order(self, fitted):
        model, _, states = fitted
        assert model.states_.shape == (400, 3)
        assert np.mean(model.states_ == states) > 0.98
        # States are nearly certain, so errors are those of regression: noise over the root of the numbers.
        error = 5 * 0.3 / np.sqrt(100)
        apart = model.means_[:, 1] - model.means_[:, 0]
        assert np.abs(apart - (MEANS[:, 1] - MEANS[:, 0])).max() < error
        assert np.abs(np.sqrt(model.covars_) - 0.3).max() < 0.1
        assert np.abs(model.transmat_ - MOVES).max() < 5 * np.sqrt(0.08 * 0.92 / 100)

    def test_the_intercept_holds_the_averages(self, fitted):
        model, X, _ = fitted
        np.testing.assert_allclose(model.intercept_, X.mean(axis=0), atol=1e-3)
        paths = model.paths_
        contributions = np.stack([model.means_[k][paths[:, :, k]] for k in range(3)])
        np.testing.assert_allclose(contributions.mean(axis=(1, 2)), 0, atol=1e-10)

    def test_attributes_have_their_shapes(self, fitted):
        model, _, _ = fitted
        assert model.startprob_.shape == (3, 2)
        assert model.transmat_.shape == (3, 2, 2)
        assert model.means_.shape == (3, 2, 4)
        assert model.covars_.shape == (4,)
        assert model.paths_.shape == (3, 400, 3)
        assert model.paths_.dtype == np.uint16
        assert model.agreement_.shape == (400, 3)
        majority = (model.paths_.mean(axis=0) > 0.5).astype(int)
        np.testing.assert_allclose(model.agreement_, np.mean(model.paths_ == majority, axis=0))
        assert model.trace_.sweep.tolist() == [10, 20, 30]
        assert model.log_joint_ == model.trace_.log_joint[-1].mean()
        assert model.n_features_in_ == 4
        assert model.run_.settings.seed == model.seed_

    def test_attributes_explain_the_data_as_well_as_the_run(self, fitted):
        """The run numbers chains and states as they were drawn, the attributes canonically."""
        model, _, _ = fitted
        run = model.run_
        own = run.model
        with Threads(1) as threads:
            mean = own.mean_parameters(own.count(run.paths, threads), threads)
            exact = own.log_joint(run.paths, mean, threads)
            canonical = FactorialHmmModel(own.sequences, 3, 2)
            paths = np.ascontiguousarray(model.paths_.transpose(0, 2, 1).reshape(3, -1))
            again = canonical.log_joint(paths, model._parameters(), threads)
        np.testing.assert_allclose(again, exact, rtol=1e-10)

    def test_same_bits_for_any_number_of_threads(self, fitted):
        X, _ = draw([60, 40], 1)
        fits = [FactorialHMM(3, 2, **(SETTINGS | {"n_jobs": n})).fit(X, [60, 40]) for n in (1, 2, 3)]
        for other in fits[1:]:
            assert np.array_equal(fits[0].paths_, other.paths_)
            assert np.array_equal(fits[0].means_, other.means_)
            assert np.array_equal(fits[0].predict(X), other.predict(X))

    def test_two_fits_number_chains_and_states_alike(self, fitted):
        model, X, _ = fitted
        other = FactorialHMM(3, 2, **(SETTINGS | {"random_state": 7})).fit(X, [300, 100])
        assert not np.array_equal(model.run_.paths, other.run_.paths)
        assert np.mean(model.states_ == other.states_) > 0.98
        assert np.abs(model.means_ - other.means_).max() < 0.1

    @pytest.mark.filterwarnings(
        "ignore:.*no observation:plait.errors.PlaitWarning"
    )  # of fits that are cut short
    def test_the_best_of_several_restarts_is_kept(self):
        """Fits from random starts differ; the one with the highest log-likelihood of its states is kept."""
        X, _ = draw([80], 2)
        settings = SETTINGS | {"search": 0, "n_iter": 4, "n_paths": 1}
        several = FactorialHMM(3, 2, n_init=5, **settings).fit(X)
        random = np.random.RandomState(0)
        each = [FactorialHMM(3, 2, **(settings | {"random_state": random})).fit(X) for _ in range(5)]
        logs = [one.log_joint_ for one in each]
        assert np.ptp(logs) > 1
        assert several.log_joint_ == max(logs)
        assert np.array_equal(several.means_, each[int(np.argmax(logs))].means_)

    def test_a_full_covariance_is_recovered(self, fitted):
        _, X, states = fitted
        model = FactorialHMM(3, 2, covariance_type="full", **SETTINGS).fit(X, [300, 100])
        assert model.covars_.shape == (4, 4)
        assert np.mean(model.states_ == states) > 0.98
        assert np.isfinite(model.score(X, [300, 100]))

    def test_missing_observations_are_filled_in_from_their_neighbours(self, fitted):
        """Where nothing was observed, the states follow from those before and after."""
        _, X, states = fitted
        X = X.copy()
        gaps = np.arange(5, 400, 10)
        X[gaps] = NAN
        with fails("observation 5 is NaN in feature 0: pass missing=True"):
            FactorialHMM(3, 2, **SETTINGS).fit(X)
        model = FactorialHMM(3, 2, missing=True, **SETTINGS).fit(X, [300, 100])
        right = model.states_ == states
        assert np.mean(np.delete(right, gaps, axis=0)) > 0.98
        assert np.mean(right[gaps]) > 0.85
        assert np.mean(model.predict(X, [300, 100]) == model.states_) > 0.97

    def test_sequences_and_an_array_with_lengths_give_the_same_fit(self, fitted):
        model, X, _ = fitted
        other = FactorialHMM(3, 2, **SETTINGS).fit(Sequences.from_values(X, [300, 100]))
        assert np.array_equal(model.paths_, other.paths_)

    @pytest.mark.filterwarnings(
        "ignore:.*no observation:plait.errors.PlaitWarning"
    )  # that such priors leave without observations
    def test_every_prior_reaches_the_model(self):
        """Each prior, when strong, shows in what is learnt."""
        X, _ = draw([40], 3)
        start = np.array([[1e6, 1.0]] * 3)
        model = FactorialHMM(3, 2, startprob_prior=start, **SETTINGS).fit(X)
        assert (model.startprob_[:, 0] > 0.99).all()
        model = FactorialHMM(3, 2, transmat_prior=1e6, **SETTINGS).fit(X)
        assert np.abs(model.transmat_ - 0.5).max() < 1e-3
        model = FactorialHMM(3, 2, stay_prior=1e6, **SETTINGS).fit(X)
        assert (model.transmat_[:, [0, 1], [0, 1]] > 0.99).all()
        model = FactorialHMM(3, 2, covars_prior=1e5, covars_weight=1e3, **SETTINGS).fit(X)
        assert np.abs(model.covars_ / 100 - 1).max() < 0.25
        model = FactorialHMM(3, 2, means_prior=7.0, means_weight=1e8, **SETTINGS).fit(X)
        assert np.abs(model.means_).max() < 1e-3
        assert np.abs(model.intercept_ - 21).max() < 1e-2

    @pytest.mark.parametrize(
        ("n_components", "message"),
        [
            (1, None),
            (
                2,
                r"1 state has no observation \(state [01] of chain 0\): its mean is that of the prior; try"
                " fewer chains or states",
            ),
            (
                3,
                r"2 states have no observation \(state . of chain 0, state . of chain 0\): their means are"
                " those of the prior; try fewer chains or states",
            ),
            (
                9,
                r"8 states have no observation \((state . of chain 0, ){3}\.\.\.\): their means are those of"
                " the prior; try fewer chains or states",
            ),
        ],
    )
    def test_one_warning_names_all_states_without_observations(self, n_components, message):
        """It points at the line that calls fit."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            FactorialHMM(1, n_components, **(SETTINGS | {"n_paths": 1, "n_iter": 2})).fit([[1.0, 2.0]])
        found = [warning for warning in caught if warning.category is PlaitWarning]
        assert len(found) == (message is not None)
        for warning in found:
            assert re.fullmatch(message, str(warning.message))
            assert warning.filename == __file__

    @pytest.mark.parametrize("search", [0, 1])
    def test_verbose_shows_the_search_and_the_sweeps(self, search, capsys):
        X, _ = draw([20], 4)
        FactorialHMM(1, 2, verbose=True, **(SETTINGS | {"n_iter": 3, "search": search})).fit(X)
        lines = capsys.readouterr().err.splitlines()
        assert (lines[0] == "Searching for a starting point") == (search > 0)
        assert "sweep 3 of 3" in lines[-1]

    def test_nothing_is_shown_by_default(self, capsys):
        X, _ = draw([20], 4)
        FactorialHMM(1, 2, **(SETTINGS | {"n_iter": 3})).fit(X)
        assert capsys.readouterr().err == ""


def stop_at(monkeypatch, *, fit, sweep):
    """Let Ctrl-C be pressed in a sweep of one of the fits, counted from 1."""
    begun = []

    @contextmanager
    def show_progress(shown, site_name):
        begun.append(site_name)

        def show(progress):
            if (len(begun), progress.state.sweep) == (fit, sweep):
                os.kill(os.getpid(), signal.SIGINT)

        yield show

    monkeypatch.setattr(module, "show_progress", show_progress)


class TestInterrupt:
    """Ctrl-C ends the fit, and what there is can be used."""

    @pytest.fixture(autouse=True)
    def heed_interrupts(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize("sweep", [2, 15, 25, 30])
    def test_an_interrupted_fit_can_be_used(self, sweep, monkeypatch, fitted):
        """Stopped before the first record, before the late sweeps, among them, and at the very end."""
        _, X, states = fitted
        stop_at(monkeypatch, fit=1, sweep=sweep)
        model = FactorialHMM(3, 2, **SETTINGS)
        with pytest.raises(Interrupted, match=f"interrupted after sweep {sweep} of 30") as caught:
            model.fit(X, [300, 100])
        assert model.run_ is caught.value.run
        assert model.run_.sweep == sweep
        assert model.n_features_in_ == 4
        assert np.mean(model.states_ == states) > 0.95
        assert np.mean(model.predict(X, [300, 100]) == states) > 0.95
        whole = sample(
            model.run_.model, n_paths=3, n_sweeps=sweep, seed=model.seed_, n_jobs=1, thin=min(sweep, 10)
        )
        assert np.array_equal(model.run_.paths, whole.paths)
        if sweep in (2, 15, 30):  # a record of the last sweep, which is all there is of the late ones
            assert model.log_joint_ == whole.trace.log_joint[-1].mean()

    @pytest.mark.filterwarnings(
        "ignore:.*no observation:plait.errors.PlaitWarning"
    )  # of fits that are cut short
    @pytest.mark.parametrize("fit", [2, 3])
    def test_the_best_fit_so_far_is_kept(self, fit, monkeypatch):
        X, _ = draw([80], 2)
        settings = SETTINGS | {"search": 0, "n_iter": 4, "n_paths": 1}
        random = np.random.RandomState(0)
        logs, seeds = [], []
        for number in range(1, fit + 1):
            n_iter = 2 if number == fit else 4
            one = FactorialHMM(3, 2, **(settings | {"random_state": random, "n_iter": n_iter})).fit(X)
            logs.append(one.log_joint_)
            seeds.append(one.seed_)
        stop_at(monkeypatch, fit=fit, sweep=2)
        model = FactorialHMM(3, 2, n_init=5, **settings)
        with pytest.raises(Interrupted):
            model.fit(X)
        assert model.log_joint_ == max(logs)
        assert model.seed_ == seeds[int(np.argmax(logs))]

    @pytest.mark.parametrize("n_done", [0, 1])
    def test_an_interrupted_search_keeps_the_fits_before_it(self, n_done, monkeypatch, fitted):
        """The fit being searched for has no run yet."""
        _, X, states = fitted
        found = []

        def initial_paths(self, *options, report):
            if len(found) == n_done:
                raise KeyboardInterrupt
            found.append(own(self, *options, report=report))
            return found[-1]

        own = FactorialHmmModel.initial_paths
        monkeypatch.setattr(FactorialHmmModel, "initial_paths", initial_paths)
        model = FactorialHMM(3, 2, n_init=3, **SETTINGS)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, [300, 100])
        assert hasattr(model, "means_") == (n_done > 0)
        if n_done:
            assert np.mean(model.states_ == states) > 0.98


class TestUse:
    def test_states_of_new_data_are_predicted(self, fitted):
        model, _, _ = fitted
        X, states = draw([150, 50], 9)
        found = model.predict(X, [150, 50])
        assert found.shape == (200, 3)
        assert np.mean(found == states) > 0.97
        assert np.array_equal(found, model.predict(X, [150, 50]))

    def test_the_fit_scores_higher_than_the_truth_but_not_by_much(self, fitted):
        model, X, _ = fitted
        exact = model.score(X, [300, 100])
        with Threads(1) as threads:
            own = FactorialHmmModel(Sequences.from_values(X, [300, 100]), 3, 2)
            assert exact == pytest.approx(own.log_likelihood(model._parameters(), threads), rel=1e-12)
            truth = own.log_likelihood(PHI, threads)
        # 3 (1 + 2 + 2 * 4) + 4 parameters less what the data do not see: the fit is above the truth by about
        # half a nat for each, and not by much more.
        assert -10 < exact - truth < 40

    @pytest.mark.filterwarnings(
        "ignore:.*no observation:plait.errors.PlaitWarning"
    )  # of fits that are cut short
    def test_a_score_over_too_many_states_is_refused(self):
        X = np.random.default_rng(0).normal(size=(30, 2))
        model = FactorialHMM(13, 2, **(SETTINGS | {"search": 0, "n_iter": 2})).fit(X)
        with fails(r"13 chains of 2 states have 2\^13 joint states, more than 4096"):
            model.score(X)

    def test_draws_have_the_distribution_of_the_model(self, fitted):
        model, _, _ = fitted
        X, states = model.sample(4000, random_state=1)
        assert X.shape == (4000, 4)
        assert states.shape == (4000, 3)
        again, _ = model.sample(4000, random_state=1)
        assert np.array_equal(X, again)
        noise = X - model.intercept_ - sum(model.means_[k][states[:, k]] for k in range(3))
        z = (noise**2).mean(axis=0) / model.covars_ - 1
        assert np.abs(z).max() < 5 * np.sqrt(2 / 4000)
        for k in range(3):
            for s in range(2):
                after = states[1:, k][states[:-1, k] == s]
                p = model.transmat_[k, s, 1]
                assert abs(after.mean() - p) < 5 * np.sqrt(p * (1 - p) / len(after))

    def test_set_parameters_are_used(self, fitted):
        """Known parameters can be set instead of learnt."""
        _, X, states = fitted
        model = FactorialHMM(3, 2, **SETTINGS).fit(X[:20])
        model.startprob_, model.transmat_ = PHI.start, PHI.transitions
        model.means_, model.intercept_, model.covars_ = MEANS, INTERCEPT, PHI.covariance
        assert np.mean(model.predict(X, [300, 100]) == states) > 0.98

    def test_an_estimator_with_set_parameters_predicts_without_a_fit(self, fitted):
        _, X, states = fitted
        model = known(3)
        assert np.mean(model.predict(X, [300, 100]) == states) > 0.98
        vague = known(1)
        vague.covars_ = np.full(4, 100.0)  # the states, then, depend on the random numbers
        found = vague.predict(X)
        for vague.seed_ in (0, 1):
            assert np.array_equal(found, vague.predict(X)) == (vague.seed_ == 0)
        with Threads(1) as threads:
            own = FactorialHmmModel(Sequences.from_values(X, [300, 100]), 3, 2)
            exact = own.log_likelihood(PHI, threads)
        assert model.score(X, [300, 100]) == pytest.approx(exact)
        assert model.sample(5)[0].shape == (5, 4)
        with pytest.raises(NotFittedError):
            _ = model.trace_
        with pytest.raises(NotFittedError):
            _ = model.agreement_

    @pytest.mark.parametrize("use", ["predict", "score", "sample"])
    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("startprob_", np.ones((3, 2)), "row 0 of the start probabilities must sum to 1, got 2"),
            (
                "startprob_",
                np.ones((2, 2)) / 2,
                r"the start probabilities must have shape \(3, 2\), got \(2, 2\)",
            ),
            ("transmat_", np.ones((3, 2, 2)), "row 0 of the transition probabilities must sum to 1, got 2"),
            ("transmat_", np.eye(2), r"transition probabilities must have shape \(3, 2, 2\), got \(2, 2\)"),
            ("transmat_", None, "transmat_ must be a number or an array of numbers, got None"),
            ("means_", MEANS[0], r"means_ must have shape \(K, S, D\), got \(2, 4\)"),
            ("means_", np.empty((3, 2, 0)), r"means_ must have shape \(K, S, D\), got \(3, 2, 0\)"),
            ("means_", "a", "means_ must be a number or an array of numbers, got 'a'"),
            ("means_", NAN * MEANS, r"the array of means\[0\]\[0\]\[0\] must be finite, got nan"),
            (
                "intercept_",
                np.ones(3),
                r"intercept_ must be .* shape \(D\) = \(4,\), got .* shape \(3,\)",
            ),
            ("covars_", np.eye(4), r"the covariance must have shape \(4,\), got \(4, 4\)"),
            ("covars_", [1, 1, -1, 1], r"the covariance\[2\] must be a finite number greater than 0, got -1"),
        ],
    )
    def test_set_parameters_are_checked(self, name, value, message, use, fitted):
        model = known(3)
        setattr(model, name, value)
        with fails(message):
            getattr(model, use)(*([] if use == "sample" else [fitted[1]]))

    def test_parameters_that_are_not_set_are_named(self):
        model = known(3)
        del model.intercept_
        with pytest.raises(NotFittedError):
            model.sample()

    @pytest.mark.parametrize("n_paths", [0, "a"])
    def test_predict_checks_the_number_of_paths(self, n_paths, fitted):
        with fails(f"n_paths must be a whole number of at least 1, got {n_paths!r}"):
            known(n_paths).predict(fitted[1])


class TestChecks:
    def test_parameters_are_kept_as_given(self):
        model = FactorialHMM(4, 3, stay_prior=2.0, covars_weight=7.0)
        assert clone(model).get_params() == model.get_params()
        assert model.get_params()["n_chains"] == 4

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_chains": 0}, "n_chains must be a whole number of at least 1, got 0"),
            ({"n_components": "2"}, "n_components must be a whole number of at least 1, got '2'"),
            ({"n_paths": 0}, "n_paths must be a whole number of at least 1, got 0"),
            ({"n_iter": 0}, "n_iter must be a whole number of at least 1, got 0"),
            ({"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
            ({"search": -1}, "search must be a whole number of at least 0, got -1"),
            ({"covariance_type": "tied"}, "covariance_type must be one of 'diag', 'full', got 'tied'"),
            ({"stay_prior": -1}, "stay_prior must be 0 or a number from 1e-10 to .*, got -1"),
            ({"covars_prior": 0}, r"covars_prior\[0\] must be a finite number greater than 0, got 0"),
            (
                {"transmat_prior": -1.0},
                r"transmat_prior\[0\]\[0\]\[0\] must be 0 or a number from 1e-10 to .*, got -1",
            ),
        ],
    )
    def test_impossible_settings_are_refused(self, options, message):
        with fails(message):
            FactorialHMM(**(SETTINGS | options)).fit(np.zeros((4, 1)))

    def test_impossible_data_are_refused(self, fitted):
        model, X, _ = fitted
        with fails("lengths must add up to 400, the number of observations, got 7"):
            FactorialHMM(3, 2, **SETTINGS).fit(X, [3, 4])
        with fails(r"lengths must be None for Sequences, which have lengths, got \[400\]"):
            model.predict(Sequences.from_values(X), [400])
        with fails("the observations have 2 features, but the model has 4: give data of the same form"):
            model.predict(X[:, :2])
        with fails("the data must be numbers, got symbols"):
            FactorialHMM(3, 2, **SETTINGS).fit(Sequences.from_symbols([0, 1, 1]))

    @pytest.mark.parametrize("method", ["predict", "score"])
    def test_an_estimator_that_is_not_fitted_says_so(self, method):
        with pytest.raises(NotFittedError):
            getattr(FactorialHMM(), method)(np.zeros((3, 1)))
        with pytest.raises(NotFittedError):
            FactorialHMM().sample()

    def test_a_sample_has_at_least_one_observation(self, fitted):
        with fails("n_samples must be a whole number of at least 1, got 0"):
            fitted[0].sample(0)
