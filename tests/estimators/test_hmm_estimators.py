"""Estimators of hidden Markov models with hmmlearn's interface: what they learn and answer."""

from __future__ import annotations

import pickle
import signal
import warnings

import hmmlearn.base
import numpy as np
import pandas
import pytest
from hmm_cases import (
    CAN,
    COVARS,
    EVERY_CLASS,
    EVERY_COVARIANCE,
    EVERY_KIND,
    EVERY_METHOD,
    FULL,
    LENGTHS,
    MEANS,
    RATES,
    START,
    SYMBOLS,
    TRANSITIONS,
    N,
    draw_data,
    emission_attributes,
    estimator,
    fails,
    known,
    parameters,
    same_fit,
)
from hmmlearn import hmm as theirs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitWarning
from plait.estimators.base_hmm import METHODS
from plait.estimators.monitor import ConvergenceMonitor
from plait.fitting import plan, search
from plait.sampler import Interrupted, start_run


@pytest.fixture(scope="module")
def data():
    """Return 300 observations in four sequences for every kind."""
    return draw_data()


@pytest.fixture(scope="module")
def long_data():
    """Return 3000 observations, enough to recover the parameters."""
    return draw_data(3000, seed=2)


class TestAgainstHmmlearn:
    """The same parameters and data must give the same answers; both sum in double precision."""

    @EVERY_KIND
    @pytest.mark.parametrize("lengths", [None, LENGTHS])
    def test_likelihoods_posteriors_and_paths_are_those_of_hmmlearn(self, kind, lengths, data):
        X, mine, other = data[kind], known(kind), known(kind, theirs)
        assert mine.score(X, lengths) == pytest.approx(other.score(X, lengths), rel=1e-10)
        log_likelihood, posteriors = mine.score_samples(X, lengths)
        assert log_likelihood == pytest.approx(other.score(X, lengths), rel=1e-10)
        np.testing.assert_allclose(posteriors, other.score_samples(X, lengths)[1], rtol=0, atol=1e-8)
        np.testing.assert_allclose(mine.predict_proba(X, lengths), posteriors, rtol=0, atol=0)
        for algorithm in ("viterbi", "map"):
            log_prob, states = mine.decode(X, lengths, algorithm)
            expected, their_states = other.decode(X, lengths, algorithm=algorithm)
            assert log_prob == pytest.approx(expected, rel=1e-8)
            assert np.array_equal(states, their_states)
            chosen = known(kind, algorithm=algorithm)
            assert np.array_equal(chosen.predict(X, lengths), states)
            assert np.array_equal(chosen.decode(X, lengths)[1], states)

    @EVERY_KIND
    def test_criteria_and_stationary_distribution_are_those_of_hmmlearn(self, kind, data):
        X, mine, other = data[kind], known(kind), known(kind, theirs)
        other.n_features = X.shape[1] if kind != "categorical" else 4
        assert mine.aic(X, LENGTHS) == pytest.approx(other.aic(X, LENGTHS), rel=1e-10)
        assert mine.bic(X, LENGTHS) == pytest.approx(other.bic(X, LENGTHS), rel=1e-10)
        shares = mine.get_stationary_distribution()
        np.testing.assert_allclose(shares, other.get_stationary_distribution(), rtol=0, atol=1e-8)
        np.testing.assert_allclose(shares @ TRANSITIONS, shares, rtol=0, atol=1e-12)

    @EVERY_KIND
    def test_attributes_have_the_names_and_shapes_of_hmmlearn_s(self, kind, data):
        X = data[kind]
        mine = estimator(kind).fit(X, LENGTHS)
        other = estimator(kind, library=theirs, n_iter=2, random_state=0).fit(X, LENGTHS)
        for name in ("startprob_", "transmat_", *mine._emission_parameters.values()):
            if kind == "spherical" and name == "covars_":
                continue  # after a fit, hmmlearn's has twice as many states
            assert getattr(mine, name).shape == getattr(other, name).shape, name
        assert mine.n_features == other.n_features
        assert (mine.monitor_.tol, mine.monitor_.verbose) == (other.monitor_.tol, other.monitor_.verbose)

    @EVERY_COVARIANCE
    def test_covars_are_returned_as_matrices(self, covariance):
        mine, other = known(covariance), known(covariance, theirs)
        other.n_features = 2
        np.testing.assert_array_equal(mine.covars_, other.covars_)
        del mine.covars_
        assert not hasattr(mine, "covars_")

    def test_em_climbs_like_hmmlearn_s(self, data):
        """With flat priors, which are the default of both; histories are of the same iterations."""
        X = data["categorical"]
        start = np.random.default_rng(0).dirichlet(np.ones(4), size=3)
        fits = []
        for library in (plait, theirs):
            options = {"method": "em"} if library is plait else {}
            h = known("categorical", library, n_iter=30, tol=1e-3, **options)
            h.emissionprob_ = start.copy()
            fits.append(h.fit(X, LENGTHS))
        mine, other = fits
        assert len(mine.monitor_.history) > 5
        np.testing.assert_allclose(mine.monitor_.history, other.monitor_.history, rtol=1e-6)
        assert (mine.monitor_.iter, mine.monitor_.converged) == (
            other.monitor_.iter,
            other.monitor_.converged,
        )
        for name, value in parameters(mine).items():
            np.testing.assert_allclose(value, getattr(other, name), atol=1e-6)


class TestSample:
    @EVERY_KIND
    def test_draws_have_the_distribution_of_the_model(self, kind):
        """Means over 20 000 draws; 5 standard errors, which correlated draws make three times as wide."""
        mine = known(kind)
        X, states = mine.sample(20_000, random_state=3)
        assert X.shape == (20_000, 1 if kind == "categorical" else 2)
        assert states.shape == (20_000,)
        shares = np.bincount(states, minlength=3) / len(states)
        error = 5 * 3 * np.sqrt(0.25 / len(states))
        np.testing.assert_allclose(shares, mine.get_stationary_distribution(), atol=error)
        for s in range(3):
            here = X[states == s]
            after = states[1:][states[:-1] == s]
            moves = np.bincount(after, minlength=3) / len(after)
            np.testing.assert_allclose(moves, TRANSITIONS[s], atol=5 * np.sqrt(0.25 / len(after)))
            if kind == "categorical":
                found = np.bincount(here[:, 0], minlength=4) / len(here)
                np.testing.assert_allclose(found, SYMBOLS[s], atol=5 * np.sqrt(0.25 / len(here)))
            elif kind == "poisson":
                assert X.dtype.kind == "i"
                error = 5 * np.sqrt(RATES[s] / len(here))
                assert np.all(np.abs(here.mean(axis=0) - RATES[s]) < error)
            else:
                covariance = mine.covars_[s]
                error = 5 * np.sqrt(np.diag(covariance) / len(here))
                assert np.all(np.abs(here.mean(axis=0) - MEANS[s]) < error)
                largest = np.diag(covariance).max()
                np.testing.assert_allclose(
                    np.cov(here.T), covariance, atol=5 * largest * np.sqrt(2 / len(here))
                )

    def test_the_first_state_can_be_given(self):
        mine = known("categorical")
        draws = [mine.sample(1, random_state=i)[1][0] for i in range(2000)]
        np.testing.assert_allclose(np.bincount(draws) / 2000, START, atol=5 * np.sqrt(0.25 / 2000))
        assert mine.sample(3, random_state=0, currstate=2)[1][0] == 2
        for wrong in (-1, 3, "a", 1.0):
            with fails(f"currstate must be a whole number from 0 to 2, got {wrong!r}"):
                mine.sample(3, currstate=wrong)
        with fails("n_samples must be a whole number of at least 1, got 0"):
            mine.sample(0)

    def test_what_is_impossible_is_never_drawn(self):
        """Not even where rounding makes the probabilities sum to less than 1."""
        mine = known("categorical")
        mine.transmat_ = np.array([[0.0, 1 - 1e-9, 0.0], [1 - 1e-9, 0.0, 0.0], [1.0, 0.0, 0.0]])
        mine.startprob_ = np.array([1 - 1e-9, 0.0, 0.0])

        class Last(np.random.RandomState):
            def random_sample(self, size=None):
                return np.full(size, 1 - 1e-12)

        _, states = mine.sample(6, random_state=Last(0))
        assert states.tolist() == [0, 1, 0, 1, 0, 1]

    def test_random_numbers_come_from_the_estimator_s_random_state(self):
        a, b = known("diag", random_state=5), known("diag", random_state=6)
        assert np.array_equal(a.sample(4)[0], a.sample(4, random_state=5)[0])
        assert not np.array_equal(a.sample(4)[0], b.sample(4)[0])


class TestRecovery:
    @pytest.mark.parametrize(("kind", "method"), CAN)
    def test_a_known_model_is_found(self, kind, method, long_data):
        """3000 observations of states far apart.

        About 900 observations per state make a standard error of at most 0.017 for a probability and 0.04
        for a mean, so 0.08 and 0.2 are at least four of them; rates have one of at most 0.2.
        """
        X = long_data[kind]
        # Not every random start is good; of four, at least one leads to the maximum.
        mine = estimator(kind, method=method, n_iter=100, n_init=4 if kind == "categorical" else 2)
        mine.fit(X)
        expected = known(kind, theirs)
        if kind == "categorical":
            np.testing.assert_allclose(mine.emissionprob_, SYMBOLS, atol=0.08)
        elif kind == "poisson":
            np.testing.assert_allclose(mine.lambdas_, RATES, atol=1.0)
        else:
            np.testing.assert_allclose(mine.means_, MEANS, atol=0.2)
            np.testing.assert_allclose(mine._covars_, COVARS[kind], atol=0.3)
        np.testing.assert_allclose(mine.transmat_, TRANSITIONS, atol=0.08)
        assert mine.log_likelihood_ == pytest.approx(mine.score(X), rel=1e-12)
        # At most 27 parameters are fitted, and each gains half a unit on average.
        assert -5 < mine.log_likelihood_ - expected.score(X) < 40
        if method == "em":
            assert mine.run_.paths.shape == (0, 3000)
            assert mine.run_.finished
            assert mine.paths_ is None
            assert len(mine.trace_) == 0
            with fails("EM has no paths"):
                _ = mine.agreement_
        else:
            assert mine.run_.sweep == (10 if method == "search" else 100)
            assert (mine.paths_.shape, mine.paths_.dtype) == ((3, 3000), np.uint16)
            assert np.mean(mine.paths_ == mine.predict(X)) > 0.7  # a draw need not be the best path
            assert mine.agreement_.shape == (3000,)
            assert 1 / 3 <= mine.agreement_.min() <= mine.agreement_.max() == 1

    @EVERY_CLASS
    def test_the_polish_ends_at_a_local_maximum(self, kind, data):
        """One more iteration of EM changes nothing, with a tolerance that stops at 1e-9."""
        X = data[kind]
        polished = estimator(kind, n_iter=20).fit(X, LENGTHS)
        mine = estimator(kind, n_iter=20, polish=False).fit(X, LENGTHS)
        assert len(mine.monitor_.history) == mine.monitor_.iter == 20
        assert mine.log_likelihood_ < polished.log_likelihood_
        assert np.array_equal(mine.paths_, polished.paths_)
        mine = estimator(kind, n_iter=1000, n_paths=1, tol=1e-10).fit(X, LENGTHS)
        mine.set_params(method="em", init_params="")
        top = parameters(mine)
        mine.set_params(n_iter=1).fit(X, LENGTHS)
        for name, value in parameters(mine).items():
            np.testing.assert_allclose(value, top[name], rtol=1e-4, atol=1e-5)

    def test_the_best_of_several_restarts_is_kept(self, data):
        X = data["categorical"]
        for method in ("em", "blocked"):
            single = estimator("categorical", 4, method=method, n_iter=5, random_state=3).fit(X)
            many = estimator("categorical", 4, method=method, n_iter=5, random_state=3, n_init=6).fit(X)
            assert many.log_likelihood_ > single.log_likelihood_
            assert many.log_likelihood_ == pytest.approx(many.score(X), rel=1e-12)
            # The last entry is of the parameters that the last iteration improved on.
            assert many.monitor_.history[-1] <= many.log_likelihood_ + 1e-6

    def test_the_history_holds_the_sweeps_and_then_em(self, data):
        mine = estimator("categorical", n_iter=40, tol=0.5).fit(data["categorical"])
        n_em = mine.monitor_.iter - 40
        assert n_em >= 1
        assert len(mine.monitor_.history) == 20 + n_em
        rises = np.diff(list(mine.monitor_.history)[20:])
        assert np.all(rises > -1e-9)
        assert mine.monitor_.converged


class TestOrder:
    @EVERY_KIND
    def test_two_fits_number_the_states_alike(self, kind, long_data):
        X = long_data[kind][:1000]
        n_init = 8 if kind == "categorical" else 2
        a, b = (
            estimator(kind, n_iter=60, tol=1e-6, n_init=n_init, random_state=s).fit(X, [10] * 100)
            for s in (1, 2)
        )
        for name, value in parameters(a).items():
            np.testing.assert_allclose(value, getattr(b, name), atol=0.02, rtol=0.02)
        assert np.mean(a.predict(X) == b.predict(X)) > 0.98
        if kind == "categorical":
            assert np.all(np.diff(a.emissionprob_ @ np.arange(4)) > 0)
        else:
            assert np.all(np.diff(getattr(a, emission_attributes(a)[0])[:, 0]) > 0)
        # The run keeps the numbers that were drawn; the paths have the new ones.
        for old, new in zip(a.run_.paths.ravel()[:50], a.paths_.ravel()[:50], strict=True):
            assert np.all(a.paths_[a.run_.paths == old] == new)

    def test_given_initial_parameters_number_the_states(self, data):
        order = [2, 0, 1]
        for kind in ("categorical", "diag", "poisson"):
            mine = known(kind, n_iter=10)
            for name in emission_attributes(mine):
                setattr(mine, name, getattr(mine, name)[order])
            mine.startprob_, mine.transmat_ = START[order], TRANSITIONS[np.ix_(order, order)]
            first = getattr(mine, emission_attributes(mine)[0]).copy()
            mine.fit(data[kind])
            found = getattr(mine, emission_attributes(mine)[0])
            assert np.argmax(found[:, 0]) == np.argmax(first[:, 0])
            assert np.argmin(found[:, 0]) == np.argmin(first[:, 0])

    def test_priors_that_differ_between_states_number_them(self, data):
        X = data["diag"]
        fixed = np.full((3, 2), np.nan)
        fixed[0] = MEANS[2]
        mine = estimator("diag", means_fixed=fixed).fit(X)
        assert np.array_equal(mine.means_[0], MEANS[2])
        assert np.all(mine.means_[1:, 0] < mine.means_[0, 0])
        prior = np.tile(MEANS[[2, 0, 1]], (1, 1))
        mine = estimator("diag", means_prior=prior, means_weight=5.0, n_iter=40, init_params="st")
        mine.means_, mine.covars_ = prior, COVARS["diag"]
        np.testing.assert_allclose(mine.fit(X).means_, prior, atol=1)

    def test_zeros_number_the_states(self):
        """A left-right chain of falling means: its order is the chain's."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 1)) + 10 * (2 - np.arange(300)[:, None] // 100)
        zeros = np.array([[0.9, 0.1, 0], [0, 0.9, 0.1], [0, 0, 1.0]])
        mine = estimator("diag", init_params="mc", n_iter=20)
        mine.startprob_, mine.transmat_ = np.array([1.0, 0, 0]), zeros
        mine.means_ = np.zeros((3, 1))
        mine.fit(X)
        np.testing.assert_allclose(mine.means_[:, 0], [20, 10, 0], atol=0.5)
        assert np.array_equal(mine.transmat_ == 0, zeros == 0)
        assert np.array_equal(mine.startprob_, [1, 0, 0])
        assert np.all(np.diff(mine.paths_.astype(int), axis=1) >= 0)


class TestSameBits:
    @pytest.mark.parametrize(("kind", "method"), [c for c in CAN if c[0] in ("categorical", "full")])
    def test_any_number_of_threads_gives_the_same_bits(self, kind, method, data):
        fits = [
            estimator(kind, method=method, n_jobs=n_jobs).fit(data[kind], LENGTHS) for n_jobs in (1, 2, None)
        ]
        same_fit(fits[0], fits[1])
        same_fit(fits[0], fits[2])
        other = estimator(kind, method=method, random_state=1).fit(data[kind], LENGTHS)
        assert other.monitor_.history != fits[0].monitor_.history

    def test_a_random_state_is_advanced_by_a_fit(self, data):
        X = data["categorical"]
        random = np.random.RandomState(0)
        a, b = (estimator("categorical", random_state=random).fit(X) for _ in range(2))
        assert not np.array_equal(a.transmat_, b.transmat_)
        same_fit(a, estimator("categorical", random_state=np.random.RandomState(0)).fit(X))
        same_fit(a, estimator("categorical", random_state=0).fit(X))

    @pytest.mark.parametrize("form", [list, Sequences.from_symbols, lambda X: X[:, 0], np.asfortranarray])
    def test_every_form_of_the_data_gives_the_same_bits(self, form, data):
        X = data["categorical"]
        same_fit(estimator("categorical").fit(X), estimator("categorical").fit(form(X)))
        mine = known("categorical")
        assert mine.score(form(X)) == mine.score(X)
        assert mine.bic(form(X)) == mine.bic(X)

    def test_every_form_of_the_parameters_gives_the_same_bits(self, data):
        """Lists, arrays in Fortran order and read-only arrays are all accepted."""
        a, b = known("full"), known("full")
        b.startprob_ = START.tolist()
        b.transmat_ = np.asfortranarray(TRANSITIONS)
        b.means_ = np.asfortranarray(MEANS)
        b.covars_ = FULL.transpose(0, 2, 1)
        b.means_.flags.writeable = False
        assert a.score(data["full"]) == b.score(data["full"])
        same_fit(a.fit(data["full"]), b.fit(data["full"]))

    def test_a_fit_does_not_change_the_data(self, data):
        for kind in ("categorical", "full"):
            X, before = data[kind].copy(), data[kind].copy()
            estimator(kind).fit(X).predict(X)
            X[0] = 1
            assert np.array_equal(X[1:], before[1:])


class TestParams:
    @pytest.mark.parametrize(("kind", "method"), [c for c in CAN if c[1] != "collapsed"])
    def test_parameters_without_a_letter_stay(self, kind, method, data):
        mine = known(kind, method=method)
        letters = {"s": "startprob_", "t": "transmat_"} | {
            letter: "_covars_" if name == "covars_" else name
            for letter, name in mine._emission_parameters.items()
        }
        for letter, name in letters.items():
            mine = known(kind, method=method, n_iter=3)
            mine.startprob_ = np.array([0.1, 0.2, 0.7])  # sums to less than 1 by a bit
            before = parameters(mine)
            mine.params = "".join(letters).replace(letter, "")
            mine.fit(data[kind], LENGTHS)
            after = parameters(mine)
            assert np.array_equal(before[name], after[name])
            for other in before.keys() - {name}:
                assert not np.array_equal(before[other], after[other]), (letter, other)

    def test_without_letters_nothing_is_learnt(self, data):
        mine = known("diag", params="")
        before = parameters(mine)
        mine.fit(data["diag"])
        for name, value in parameters(mine).items():
            assert np.array_equal(value, before[name])

    def test_init_params_says_which_parameters_are_initialised(self, data, caplog):
        """With n_iter=0 a fit only initialises."""
        X = data["diag"]
        mine = known("diag", n_iter=0)
        before = parameters(mine)
        mine.fit(X)
        for name, value in parameters(mine).items():
            assert np.array_equal(value, before[name])
        assert not caplog.records
        mine.set_params(init_params="m").fit(X)
        assert "means_ is set, but will be overwritten" in caplog.text
        after = parameters(mine)
        assert not np.array_equal(after["means_"], before["means_"])
        assert np.array_equal(after["_covars_"], before["_covars_"])
        assert np.array_equal(after["transmat_"], before["transmat_"])
        assert len(np.unique(after["means_"], axis=0)) == 3
        again = estimator("full", n_iter=0).fit(X)
        assert again._covars_.shape == (3, 2, 2)

    def test_covariances_alone_can_be_given(self, data):
        mine = estimator("diag", init_params="stm", params="stm")
        mine.covars_ = COVARS["diag"]
        mine.fit(data["diag"])
        assert np.array_equal(mine._covars_, COVARS["diag"])

    def test_attributes_that_are_not_set_are_initialised(self, data):
        mine = estimator("categorical", init_params="").fit(data["categorical"])
        assert mine.emissionprob_.shape == (3, 4)

    @pytest.mark.parametrize("method", ["blocked", "single-site", "em"])
    def test_fixed_parameters_stay(self, method, data):
        nan = np.nan
        start = np.array([0.25, nan, nan])
        transitions = np.array([[0.8, nan, nan], [nan, nan, nan], [0.1, 0.2, 0.7]])
        chain = {"startprob_fixed": start, "transmat_fixed": transitions, "method": method, "n_iter": 5}
        emissions = np.full((3, 4), nan)
        emissions[0] = SYMBOLS[0]
        emissions[1, 3] = 0.0
        rates = np.array([[nan, 20.0], [nan, nan], [40.0, 1.0]])
        means = np.array([MEANS[0], [nan, nan], [nan, nan]])
        for kind, fixed in (
            ("categorical", {"emissionprob": emissions}),
            ("poisson", {"lambdas": rates}),
            *(
                (c, {"means": means, "covars": np.array([*COVARS[c][:1], *COVARS[c][1:] * nan])})
                for c in ("spherical", "diag", "full")
            ),
            ("tied", {"covars": COVARS["tied"]}),
        ):
            mine = estimator(kind, **chain, **{f"{name}_fixed": value for name, value in fixed.items()})
            mine.fit(data[kind], LENGTHS)
            fixed = {"startprob_": start, "transmat_": transitions} | {
                "_covars_" if name == "covars" else f"{name}_": value for name, value in fixed.items()
            }
            for name, value in fixed.items():
                found, given = getattr(mine, name), ~np.isnan(value)
                assert np.array_equal(found[given], value[given]), (kind, name)
                assert np.isfinite(found).all()
            np.testing.assert_allclose(mine.transmat_.sum(axis=1), 1)

    @pytest.mark.filterwarnings("ignore::plait.PlaitWarning")
    @pytest.mark.parametrize("kind", ["spherical", "diag"])
    def test_improper_priors_leave_all_parameters_finite(self, kind, data):
        """States without observations once had infinite variances, and no path could explain the data."""
        for seed in range(5):
            mine = estimator(kind, 6, covars_weight=0, n_paths=1, random_state=seed).fit(data[kind][:30])
            assert np.isfinite(mine._covars_).all()

    def test_a_prior_of_zero_forbids_a_transition(self, data):
        prior = np.ones((3, 4))
        prior[0, 1:] = 0
        for method in METHODS:
            mine = estimator(
                "categorical", emissionprob_prior=prior, startprob_prior=[1, 0, 1], method=method
            )
            mine.fit(data["categorical"], LENGTHS)
            assert mine.emissionprob_[0].tolist() == [1, 0, 0, 0]
            assert mine.startprob_[1] == 0

    def test_a_strong_prior_outweighs_the_data(self, data):
        mine = estimator("poisson", lambdas_prior=7e6, lambdas_weight=1e6, transmat_prior=1e7).fit(
            data["poisson"]
        )
        np.testing.assert_allclose(mine.lambdas_, 7, rtol=1e-2)
        np.testing.assert_allclose(mine.transmat_, 1 / 3, rtol=1e-2)


class TestMissing:
    @pytest.mark.parametrize(("kind", "method"), CAN)
    def test_missing_observations_are_allowed(self, kind, method, data):
        X = data[kind].astype(float)
        X[::7] = np.nan
        with fails("observation 0 is NaN[^:]*: pass missing=True if it is missing, or fill it in"):
            estimator(kind, method=method).fit(X, LENGTHS)
        mine = estimator(kind, method=method, missing=True, n_iter=5).fit(X, LENGTHS)
        for value in parameters(mine).values():
            assert np.isfinite(value).all()
        assert mine.predict(X, LENGTHS).shape == (N,)
        # A missing observation says nothing, so its state follows from the chain alone.
        mine = known(kind, missing=True)
        np.testing.assert_allclose(mine.predict_proba(np.full((1, X.shape[1]), np.nan)), START[None])
        assert mine.score(np.full((5, X.shape[1]), np.nan)) == pytest.approx(0, abs=1e-12)

    def test_minus_one_is_a_missing_symbol(self, data):
        X = data["categorical"].copy()
        X[3] = -1
        with fails("observation 3 is -1: pass missing=True if it is missing, or fill it in"):
            estimator("categorical").fit(X)
        with fails("observation 3 is -1: pass missing=True"):
            known("categorical").score(X)
        gaps = np.where(X == -1, np.nan, X)
        same_fit(
            estimator("categorical", missing=True).fit(X), estimator("categorical", missing=True).fit(gaps)
        )

    @pytest.mark.parametrize("method", ["blocked", "em"])
    @EVERY_COVARIANCE
    def test_numbers_missing_in_part_cost_only_what_they_would_have_told(self, covariance, method):
        rng = np.random.default_rng(5)
        states = np.repeat(rng.integers(0, 2, 60), 10)
        X = rng.normal(np.array([[0.0, 0.0], [5.0, -4.0]])[states])
        holes = rng.random(X.shape) < 0.2
        fit = plait.GaussianHMM(2, covariance, n_iter=30, method=method, missing=True, random_state=0).fit(
            np.where(holes, np.nan, X)
        )
        np.testing.assert_allclose(fit.means_, [[0, 0], [5, -4]], atol=0.4)
        np.testing.assert_allclose(fit.covars_, [np.eye(2)] * 2, atol=0.4)
        assert (fit.predict(np.where(holes, np.nan, X)) == states).mean() > 0.95


class TestPandas:
    def test_states_of_a_frame_have_its_index(self):
        rng = np.random.default_rng(0)
        days = pandas.date_range("2020-01-01", periods=80)
        frame = pandas.DataFrame({"x": rng.normal(5 * (np.arange(80) // 8 % 2))}, index=days)
        fit = plait.GaussianHMM(2, n_iter=20, random_state=0).fit(frame)
        states = fit.predict(frame)
        assert states.name == "state"
        assert states.index.equals(days)
        np.testing.assert_array_equal(states, fit.predict(frame.to_numpy()))
        assert fit.decode(frame)[1].index.equals(days)
        assert fit.predict_proba(frame).index.equals(days)
        assert fit.run_.model.sequences.times[0] == "2020-01-01"

    def test_symbols_of_a_series_keep_its_index(self):
        symbols = pandas.Series([0, 1] * 20, index=[f"t{i}" for i in range(40)])
        fit = plait.CategoricalHMM(2, n_iter=5, random_state=0).fit(symbols)
        assert fit.predict(symbols).index[3] == "t3"


def tied_numbers():
    """Numbers of which a third are equal: a state that has these alone has the variance of its prior."""
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(0, 3, 80), 10)
    return np.where(states == 0, 0.0, rng.normal(np.array([0.0, 1.0, 4.0])[states]).round(1))[:, None]


class TestSearch:
    def test_a_search_says_how_many_of_its_best_starts_agree(self):
        rng = np.random.default_rng(1)
        states = np.repeat(rng.integers(0, 3, 40), 10)
        X = rng.normal(np.array([0.0, 4.0, 8.0])[states])[:, None]
        fit = plait.GaussianHMM(3, random_state=0).fit(X)
        assert fit.optimum_.n_starts == 48
        assert fit.optimum_.n_reached == len(fit.optimum_.finished) == 3
        assert fit.log_likelihood_ == pytest.approx(fit.optimum_.finished[0], abs=0.1)
        assert plait.GaussianHMM(3, method="em", random_state=0).fit(X).optimum_ is None
        assert "3 of the 3 best of 48 starts" in str(fit.optimum_)

    def test_a_search_escapes_where_a_single_climb_is_stuck(self):
        rng = np.random.default_rng(4)
        X = rng.normal(rng.normal(0, 2, (6, 2))[np.repeat(rng.integers(0, 6, 120), 3)], 0.7)
        climbs = [plait.GaussianHMM(6, method="em", random_state=k).fit(X).score(X) for k in range(6)]
        searched = [plait.GaussianHMM(6, random_state=k).fit(X).score(X) for k in range(2)]
        assert max(climbs) - min(climbs) > 10
        assert min(searched) > np.median(climbs) + 5
        assert max(searched) > max(climbs) - 1

    def test_initial_values_are_a_start_and_nothing_is_searched(self):
        X = np.random.default_rng(0).normal(size=(50, 1))
        fit = plait.GaussianHMM(2, init_params="stc", n_iter=5, random_state=0)
        fit.means_ = np.array([[1.0], [-1.0]])
        assert fit.fit(X).optimum_ is None

    def test_long_data_have_fewer_starts(self):
        assert search.number_of_starts(1_500) == 48
        assert search.number_of_starts(10**9) == 4

    @pytest.mark.parametrize("method", ["search", "blocked"])
    def test_em_after_sampling_never_ends_lower_where_no_prior_was_given(self, method, caplog):
        X = tied_numbers()
        options = {"random_state": 0, "n_iter": 50, "method": method}
        polished = plait.GaussianHMM(3, **options).fit(X)
        sampled = plait.GaussianHMM(3, **options, polish=False).fit(X)
        assert polished.score(X) >= sampled.score(X)
        assert "EM lowered" not in caplog.text

    def test_a_prior_that_was_given_is_not_outvoted(self, caplog):
        X = tied_numbers()
        options = {"random_state": 0, "n_iter": 50, "method": "blocked", "covars_prior": 0.5}
        polished = plait.GaussianHMM(3, **options).fit(X)
        sampled = plait.GaussianHMM(3, **options, polish=False).fit(X)
        assert polished.score(X) < sampled.score(X) - 10
        assert "EM lowered the log-likelihood by" in caplog.text
        assert "it raises that plus the log-prior, which outweighs the data" in caplog.text


@pytest.mark.filterwarnings("ignore::plait.PlaitWarning")
class TestDegenerate:
    @pytest.mark.parametrize("method", ["blocked", "single-site", "em"])
    @EVERY_COVARIANCE
    def test_few_or_equal_numbers_give_finite_parameters(self, covariance, method):
        x = np.random.default_rng(0).normal(size=(40, 1))
        for X in (
            np.ones((1, 2)),
            x[:2],
            np.ones((20, 2)),
            np.hstack([x, np.ones_like(x)]),
            np.hstack([x, 2 * x]),
            np.full((4, 2), np.nan),
            1e12 + 1e8 * np.hstack([x, x[::-1]]),
        ):
            mine = estimator(covariance, method=method, missing=True, n_iter=4).fit(X)
            for value in parameters(mine).values():
                assert np.isfinite(value).all()
            assert np.isfinite(mine.score(X))

    @EVERY_METHOD
    def test_few_or_equal_symbols_give_finite_parameters(self, method):
        for x in ([0], [1] * 10, [-1] * 4, [0, -1, 0], [3]):
            mine = estimator("categorical", method=method, missing=True).fit(x)
            for value in parameters(mine).values():
                assert np.isfinite(value).all()

    def test_few_or_equal_counts_give_finite_parameters(self):
        for X in ([[3]], np.zeros((10, 1)), [[10**6], [0], [3]] * 5, np.full((4, 1), np.nan)):
            mine = estimator("poisson", missing=True).fit(X)
            assert np.isfinite(mine.lambdas_).all()
            assert np.all(mine.lambdas_ > 0)

    @pytest.mark.parametrize(
        ("kind", "method"), [c for c in CAN if c[0] in ("categorical", "poisson", "diag")]
    )
    def test_sequences_of_length_one_say_nothing_of_transitions(self, kind, method, data):
        mine = estimator(kind, method=method).fit(data[kind][:60], [1] * 60)
        np.testing.assert_allclose(mine.transmat_, 1 / 3)

    @pytest.mark.parametrize(("kind", "method"), CAN)
    def test_a_single_state_can_be_fitted(self, kind, method, data):
        mine = estimator(kind, 1, method=method).fit(data[kind])
        assert mine.transmat_.tolist() == [[1]]
        assert mine.startprob_.tolist() == [1]
        assert not mine.predict(data[kind]).any()
        if kind not in ("categorical", "poisson"):
            np.testing.assert_allclose(mine.means_[0], data[kind].mean(axis=0), rtol=1e-3)


def test_a_warning_names_states_without_observations():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mine = estimator("categorical", 6, n_paths=1).fit([0, 1, 0])
    assert len(caught) >= 3
    empty = np.flatnonzero(np.bincount(mine.paths_.ravel(), minlength=6) == 0)
    for warning, state in zip(caught, empty, strict=True):
        assert warning.category is PlaitWarning
        assert f"state {state} has no observation" in str(warning.message)
        assert "fewer states" in str(warning.message)
        assert warning.filename == __file__


def test_a_state_with_nothing_but_missing_observations_gets_the_warning():
    mine = estimator("categorical", 2, missing=True, n_paths=1)
    mine.startprob_ = [0.5, 0.5]
    mine.transmat_ = [[0, 1], [1, 0]]
    mine.set_params(init_params="e", params="e")
    with pytest.warns(PlaitWarning, match="state [01] has no observation"):
        mine.fit([0, -1] * 3)


class TestMonitor:
    def test_a_user_s_monitor_can_stop_em(self, data):
        class Three(ConvergenceMonitor):
            @property
            def converged(self):
                return self.iter == 3

        for method, n_recorded in (("em", 3), ("blocked", 13)):
            mine = known("categorical", method=method, tol=0)
            monitor = mine.monitor_ = Three(mine.monitor_.tol, 10, False)
            mine.fit(data["categorical"])
            assert mine.monitor_ is monitor
            assert len(monitor.history) == monitor.iter == n_recorded
            mine.fit(data["categorical"])
            assert len(monitor.history) == n_recorded

    @pytest.mark.parametrize("method", ["em", "blocked"])
    def test_a_monitor_of_hmmlearn_can_be_used(self, method, data):
        mine = known("categorical", method=method)
        mine.monitor_ = hmmlearn.base.ConvergenceMonitor(5.0, 10, False)
        mine.fit(data["categorical"])
        assert mine.monitor_.converged
        assert len(mine.monitor_.history) == mine.monitor_.iter

    def test_the_default_monitor_follows_the_settings(self, data):
        mine = estimator("categorical", method="em", tol=1e9)
        mine.fit(data["categorical"])
        assert mine.monitor_.iter == 2
        mine.set_params(tol=-np.inf, n_iter=7).fit(data["categorical"])
        assert mine.monitor_.iter == 7
        assert mine.monitor_.tol == -np.inf

    def test_verbose_prints_on_standard_error(self, data, capsys):
        mine = estimator("categorical", method="em", verbose=True, n_iter=4, tol=-np.inf)
        mine.fit(data["categorical"])
        out, err = capsys.readouterr()
        assert out == ""
        lines = [line.split() for line in err.splitlines()]
        assert [int(line[0]) for line in lines] == [1, 2, 3, 4]
        np.testing.assert_allclose([float(line[1]) for line in lines], mine.monitor_.history, atol=1e-7)
        assert lines[0][2] == "+nan"
        estimator("categorical", verbose=True, n_iter=4).fit(data["categorical"])
        assert len(capsys.readouterr().err.splitlines()) >= 5
        estimator("categorical").fit(data["categorical"])
        assert capsys.readouterr() == ("", "")

    def test_falling_likelihoods_are_logged(self, caplog):
        monitor = ConvergenceMonitor(0.1, 10, False)
        for value in (-10.0, -9.0, -9.0 - 1e-12, -9.5):
            monitor.report(value)
        assert len(caplog.records) == 1
        assert "EM lowered the log-likelihood by 0.5, to -9.5" in caplog.text
        assert monitor.converged
        assert "history=[-10.0, -9.0" in repr(monitor)
        assert repr(monitor).startswith("ConvergenceMonitor(\n")

    def test_too_little_data_is_logged(self, caplog):
        estimator("categorical", 2).fit([0, 1, 2, 0, 1])
        assert "There are 7 parameters to fit and only 5 numbers" in caplog.text


class TestScikitLearn:
    @EVERY_KIND
    def test_an_estimator_can_be_cloned_pickled_and_printed(self, kind, data):
        X = data[kind]
        mine = estimator(kind, tol=0.5, missing=True).fit(X, LENGTHS)
        for copy in (pickle.loads(pickle.dumps(mine)), pickle.loads(pickle.dumps(mine, protocol=2))):
            same_fit(mine, copy)
            assert copy.score(X, LENGTHS) == mine.score(X, LENGTHS)
            same_fit(copy.fit(X, LENGTHS), mine)
        new = clone(mine)
        assert not hasattr(new, "startprob_")
        assert new.get_params().keys() == mine.get_params().keys()
        same_fit(new.fit(X, LENGTHS), mine)
        assert "tol=0.5" in repr(mine)

    @EVERY_CLASS
    def test_get_params_names_all_arguments(self, kind):
        mine = estimator(kind)
        assert mine.set_params(n_components=5, method="em").get_params()["n_components"] == 5
        assert mine.method == "em"
        with pytest.raises(ValueError, match="Invalid parameter"):
            mine.set_params(nonsense=1)

    def test_a_refit_may_have_another_number_of_features(self, data):
        for kind in ("diag", "poisson"):
            X = data[kind]
            mine = estimator(kind).fit(X).fit(X[:, :1])
            same_fit(mine, estimator(kind).fit(X[:, :1]))
            assert mine.n_features == 1
        X = data["categorical"]
        mine = estimator("categorical").fit(X % 2)
        assert mine.n_features == 2
        same_fit(mine.fit(X), estimator("categorical").fit(X))
        assert mine.n_features == 4

    def test_the_number_of_symbols_can_be_given(self, data):
        mine = estimator("categorical", n_features=6).fit(data["categorical"])
        assert mine.emissionprob_.shape == (3, 6)
        assert mine.score([5, 5, 5]) < -5
        with fails("symbols must be from 0 to 5, got 6 at observation 1: .*increase n_features"):
            mine.fit([0, 6])

    def test_an_estimator_that_is_not_fitted_says_so(self):
        for call in (
            lambda h: h.score([0]),
            lambda h: h.predict([0]),
            lambda h: h.sample(3),
            lambda h: h.aic([0]),
            lambda h: h.get_stationary_distribution(),
            lambda h: h.agreement_,
        ):
            with pytest.raises(NotFittedError):
                call(estimator("categorical"))
        mine = estimator("diag")
        mine.startprob_, mine.transmat_, mine.means_ = START, TRANSITIONS, MEANS
        with pytest.raises(NotFittedError, match="has no covars_: call fit, or set it along with startprob_"):
            mine.score(MEANS)


class TestRuns:
    @pytest.mark.parametrize(("kind", "method"), [c for c in CAN if c[1] != "em"])
    def test_a_run_can_be_saved_and_resumed(self, kind, method, data, tmp_path):
        X = data[kind]
        mine = estimator(kind, method=method, missing=True).fit(X, LENGTHS)
        mine.run_.save(tmp_path / "run.plait")
        loaded = plait.load(tmp_path / "run.plait")
        assert np.array_equal(loaded.paths, mine.run_.paths)
        assert loaded.model.sequences.equals(mine.run_.model.sequences)
        a, b = (plait.resume(run, n_sweeps=15, n_jobs=1) for run in (mine.run_, loaded))
        assert np.array_equal(a.paths, b.paths)
        assert np.array_equal(a.trace.log_joint, b.trace.log_joint)
        if method != "search":  # after a search, the number of sweeps does not depend on n_iter
            longer = estimator(kind, method=method, missing=True, n_iter=15).fit(X, LENGTHS)
            assert np.array_equal(longer.run_.paths, a.paths)

    @pytest.mark.parametrize("method", ["blocked", "em"])
    def test_ctrl_c_is_raised_and_the_handler_restored(self, method, data):
        class Impatient(ConvergenceMonitor):
            def _record(self, log_prob):
                super()._record(log_prob)
                if len(self.history) == 2:
                    signal.raise_signal(signal.SIGINT)

        before = signal.getsignal(signal.SIGINT)
        mine = estimator("categorical", method=method)
        mine.monitor_ = Impatient(0.0, 10, False)
        with pytest.raises(KeyboardInterrupt):
            mine.fit(data["categorical"])
        assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("n_init", [1, 3])
def test_an_interrupted_fit_keeps_the_best_so_far(n_init, data, monkeypatch):
    def stopped(model, settings, *, callback, **how):
        def stop(progress):
            callback(progress)
            return progress.state.sweep == 4

        raise Interrupted(start_run(model, settings, callback=stop, **how))

    monkeypatch.setattr(plan, "start_run", stopped)
    mine = estimator("full", n_init=n_init)
    with pytest.raises(Interrupted):
        mine.fit(data["full"], LENGTHS)
    assert mine.run_.sweep == 4
    assert mine.run_.estimate is None  # EM has not started
    assert np.isfinite(mine.score(data["full"], LENGTHS))
