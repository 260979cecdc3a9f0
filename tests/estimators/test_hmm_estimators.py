"""hmmlearn's face of hidden Markov models: what goes in, what comes out, and that both are right."""

from __future__ import annotations

import itertools
import pickle
import signal
import warnings

import hmmlearn.base
import numpy as np
import pytest
from hmmlearn import hmm as theirs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitError, PlaitWarning
from plait.estimators.base_hmm import METHODS
from plait.estimators.monitor import ConvergenceMonitor
from plait.fitting import plan
from plait.models.emissions import COVARIANCES
from plait.sampler import Interrupted, start_run
from plait.threads import Threads

FAST = {"n_iter": 10, "n_paths": 3, "random_state": 0, "n_jobs": 1}
LENGTHS = [150, 1, 49, 100]
N = sum(LENGTHS)

START = np.array([0.2, 0.5, 0.3])
TRANSITIONS = np.array([[0.8, 0.1, 0.1], [0.05, 0.9, 0.05], [0.1, 0.2, 0.7]])
SYMBOLS = np.array([[0.85, 0.05, 0.05, 0.05], [0.05, 0.8, 0.1, 0.05], [0.02, 0.03, 0.15, 0.8]])
MEANS = np.array([[-6.0, 0.0], [0.0, 5.0], [6.0, -2.0]])
RATES = np.array([[1.0, 20.0], [12.0, 5.0], [40.0, 1.0]])
FULL = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.8, -0.2], [-0.2, 1.2]], [[1.5, 0.5], [0.5, 0.7]]])
COVARS = {
    "spherical": np.array([1.0, 0.5, 1.5]),
    "diag": np.array([[1.0, 0.5], [0.8, 1.2], [1.5, 0.7]]),
    "full": FULL,
    "tied": FULL[0],
}

KINDS = ("categorical", "poisson", *COVARIANCES)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
EVERY_COVARIANCE = pytest.mark.parametrize("covariance", COVARIANCES)
EVERY_METHOD = pytest.mark.parametrize("method", METHODS)
EVERY_CLASS = pytest.mark.parametrize("kind", ["categorical", "poisson", "diag"])
CAN = [(k, m) for k, m in itertools.product(KINDS, METHODS) if k == "categorical" or m != "collapsed"]


def estimator(kind, n_components=3, library=plait, **options):
    """An estimator of either library, not fitted."""
    if library is plait:
        options = FAST | options
    if kind in ("categorical", "poisson"):
        return getattr(library, f"{kind.capitalize()}HMM")(n_components, **options)
    return library.GaussianHMM(n_components, kind, **options)


def law(kind):
    """The parameters of the emissions by their names."""
    if kind == "categorical":
        return {"emissionprob_": SYMBOLS}
    if kind == "poisson":
        return {"lambdas_": RATES}
    return {"means_": MEANS, "covars_": COVARS[kind]}


def known(kind, library=plait, **options):
    """An estimator whose parameters are set, and will be begun with."""
    mine = estimator(kind, library=library, init_params="", **options)
    for name, value in ({"startprob_": START, "transmat_": TRANSITIONS} | law(kind)).items():
        setattr(mine, name, value.copy())
    return mine


def parameters(mine):
    """All parameters by their names; covariances as they are held."""
    names = ["startprob_", "transmat_", *law_names(mine)]
    return {name: np.array(getattr(mine, name)) for name in names}


def law_names(mine):
    return ["_covars_" if name == "covars_" else name for name in mine._emission_parameters.values()]


def same_fit(a, b):
    for name, value in parameters(a).items():
        assert np.array_equal(value, getattr(b, name)), name
    assert np.array_equal(a.paths_, b.paths_)
    assert a.log_likelihood_ == b.log_likelihood_
    assert list(a.monitor_.history) == list(b.monitor_.history)


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


@pytest.fixture(scope="module")
def data():
    """300 observations in four sequences for every kind, drawn by hmmlearn."""
    return {kind: known(kind, theirs).sample(N, random_state=1)[0] for kind in KINDS}


@pytest.fixture(scope="module")
def long_data():
    """3000 observations: enough to find the parameters again."""
    return {kind: known(kind, theirs).sample(3000, random_state=2)[0] for kind in KINDS}


class TestAgainstHmmlearn:
    """The same parameters and data must give the same answers; both sum in double precision."""

    @EVERY_KIND
    @pytest.mark.parametrize("lengths", [None, LENGTHS])
    def test_likelihoods_posteriors_and_paths(self, kind, lengths, data):
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
    def test_criteria_and_stationary_distribution(self, kind, data):
        X, mine, other = data[kind], known(kind), known(kind, theirs)
        other.n_features = X.shape[1] if kind != "categorical" else 4
        assert mine.aic(X, LENGTHS) == pytest.approx(other.aic(X, LENGTHS), rel=1e-10)
        assert mine.bic(X, LENGTHS) == pytest.approx(other.bic(X, LENGTHS), rel=1e-10)
        shares = mine.get_stationary_distribution()
        np.testing.assert_allclose(shares, other.get_stationary_distribution(), rtol=0, atol=1e-8)
        np.testing.assert_allclose(shares @ TRANSITIONS, shares, rtol=0, atol=1e-12)

    @EVERY_KIND
    def test_names_and_shapes_of_attributes(self, kind, data):
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
    def test_covars_are_given_back_as_matrices(self, covariance):
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
    def test_law(self, kind):
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

    def test_first_state(self):
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

    def test_random_state_of_the_estimator(self):
        a, b = known("diag", random_state=5), known("diag", random_state=6)
        assert np.array_equal(a.sample(4)[0], a.sample(4, random_state=5)[0])
        assert not np.array_equal(a.sample(4)[0], b.sample(4)[0])


class TestRecovery:
    @pytest.mark.parametrize(("kind", "method"), CAN)
    def test_a_known_model_is_found(self, kind, method, long_data):
        """3000 observations of states far apart.

        Some 900 observations a state make a standard error of at most 0.017 for a probability and 0.04 for a
        mean, so 0.08 and 0.2 are at least four of them; rates have one of at most 0.2.
        """
        X = long_data[kind]
        # Random beginnings are not all good: of four, one leads to the top.
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
            assert mine.run_.sweep == 100
            assert (mine.paths_.shape, mine.paths_.dtype) == ((3, 3000), np.uint16)
            assert np.mean(mine.paths_ == mine.predict(X)) > 0.7  # a draw need not be the best path
            assert mine.agreement_.shape == (3000,)
            assert 1 / 3 <= mine.agreement_.min() <= mine.agreement_.max() == 1

    @EVERY_CLASS
    def test_polish_ends_on_top(self, kind, data):
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

    def test_n_init_keeps_the_best(self, data):
        X = data["categorical"]
        for method in ("em", "blocked"):
            single = estimator("categorical", 4, method=method, n_iter=5, random_state=3).fit(X)
            many = estimator("categorical", 4, method=method, n_iter=5, random_state=3, n_init=6).fit(X)
            assert many.log_likelihood_ > single.log_likelihood_
            assert many.log_likelihood_ == pytest.approx(many.score(X), rel=1e-12)
            # The last entry is of the parameters that the last iteration improved on.
            assert many.monitor_.history[-1] <= many.log_likelihood_ + 1e-6

    def test_history_of_a_sampler_and_of_em_after_it(self, data):
        mine = estimator("categorical", n_iter=40, tol=0.5).fit(data["categorical"])
        n_em = mine.monitor_.iter - 40
        assert n_em >= 1
        assert len(mine.monitor_.history) == 20 + n_em
        rises = np.diff(list(mine.monitor_.history)[20:])
        assert np.all(rises > -1e-9)
        assert mine.monitor_.converged


class TestOrder:
    @EVERY_KIND
    def test_two_fits_agree(self, kind, long_data):
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
            assert np.all(np.diff(getattr(a, law_names(a)[0])[:, 0]) > 0)
        # The run keeps the numbers that were drawn; the paths have the new ones.
        for old, new in zip(a.run_.paths.ravel()[:50], a.paths_.ravel()[:50], strict=True):
            assert np.all(a.paths_[a.run_.paths == old] == new)

    def test_a_given_beginning_numbers_the_states(self, data):
        order = [2, 0, 1]
        for kind in ("categorical", "diag", "poisson"):
            mine = known(kind, n_iter=10)
            for name in law_names(mine):
                setattr(mine, name, getattr(mine, name)[order])
            mine.startprob_, mine.transmat_ = START[order], TRANSITIONS[np.ix_(order, order)]
            first = getattr(mine, law_names(mine)[0]).copy()
            mine.fit(data[kind])
            found = getattr(mine, law_names(mine)[0])
            assert np.argmax(found[:, 0]) == np.argmax(first[:, 0])
            assert np.argmin(found[:, 0]) == np.argmin(first[:, 0])

    def test_what_tells_states_apart_numbers_them(self, data):
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
    def test_on_any_number_of_threads(self, kind, method, data):
        fits = [
            estimator(kind, method=method, n_jobs=n_jobs).fit(data[kind], LENGTHS) for n_jobs in (1, 2, None)
        ]
        same_fit(fits[0], fits[1])
        same_fit(fits[0], fits[2])
        other = estimator(kind, method=method, random_state=1).fit(data[kind], LENGTHS)
        assert other.monitor_.history != fits[0].monitor_.history

    def test_a_random_state_goes_on(self, data):
        X = data["categorical"]
        random = np.random.RandomState(0)
        a, b = (estimator("categorical", random_state=random).fit(X) for _ in range(2))
        assert not np.array_equal(a.transmat_, b.transmat_)
        same_fit(a, estimator("categorical", random_state=np.random.RandomState(0)).fit(X))
        same_fit(a, estimator("categorical", random_state=0).fit(X))

    @pytest.mark.parametrize("form", [list, Sequences.from_symbols, lambda X: X[:, 0], np.asfortranarray])
    def test_forms_of_data(self, form, data):
        X = data["categorical"]
        same_fit(estimator("categorical").fit(X), estimator("categorical").fit(form(X)))
        mine = known("categorical")
        assert mine.score(form(X)) == mine.score(X)
        assert mine.bic(form(X)) == mine.bic(X)

    def test_forms_of_parameters(self, data):
        """Lists, other orders in memory and read-only arrays are as good as any."""
        a, b = known("full"), known("full")
        b.startprob_ = START.tolist()
        b.transmat_ = np.asfortranarray(TRANSITIONS)
        b.means_ = np.asfortranarray(MEANS)
        b.covars_ = FULL.transpose(0, 2, 1)
        b.means_.flags.writeable = False
        assert a.score(data["full"]) == b.score(data["full"])
        same_fit(a.fit(data["full"]), b.fit(data["full"]))

    def test_data_are_left_as_they_are(self, data):
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

    def test_no_letters(self, data):
        mine = known("diag", params="")
        before = parameters(mine)
        mine.fit(data["diag"])
        for name, value in parameters(mine).items():
            assert np.array_equal(value, before[name])

    def test_where_a_fit_begins(self, data, caplog):
        """n_iter = 0 shows it."""
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

    def test_attributes_that_are_not_set_are_chosen(self, data):
        mine = estimator("categorical", init_params="").fit(data["categorical"])
        assert mine.emissionprob_.shape == (3, 4)

    @pytest.mark.parametrize("method", ["blocked", "single-site", "em"])
    def test_what_is_fixed_stays(self, method, data):
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
    def test_improper_priors(self, kind, data):
        """States without observations once had infinite variances, and no path could explain the data."""
        for seed in range(5):
            mine = estimator(kind, 6, covars_weight=0, n_paths=1, random_state=seed).fit(data[kind][:30])
            assert np.isfinite(mine._covars_).all()

    def test_priors_of_zero_forbid(self, data):
        prior = np.ones((3, 4))
        prior[0, 1:] = 0
        for method in METHODS:
            mine = estimator(
                "categorical", emissionprob_prior=prior, startprob_prior=[1, 0, 1], method=method
            )
            mine.fit(data["categorical"], LENGTHS)
            assert mine.emissionprob_[0].tolist() == [1, 0, 0, 0]
            assert mine.startprob_[1] == 0

    def test_strong_priors_win(self, data):
        mine = estimator("poisson", lambdas_prior=7e6, lambdas_weight=1e6, transmat_prior=1e7).fit(
            data["poisson"]
        )
        np.testing.assert_allclose(mine.lambdas_, 7, rtol=1e-2)
        np.testing.assert_allclose(mine.transmat_, 1 / 3, rtol=1e-2)


class TestMissing:
    @pytest.mark.parametrize(("kind", "method"), CAN)
    def test_missing_observations(self, kind, method, data):
        X = data[kind].astype(float)
        X[::7] = np.nan
        with fails("observation 0 is NaN[^:]*: pass missing=True if it is missing, or fill it in"):
            estimator(kind, method=method).fit(X, LENGTHS)
        mine = estimator(kind, method=method, missing=True, n_iter=5).fit(X, LENGTHS)
        for value in parameters(mine).values():
            assert np.isfinite(value).all()
        assert mine.predict(X, LENGTHS).shape == (N,)
        # Whatever is missing says nothing: the state is that of the chain.
        mine = known(kind, missing=True)
        np.testing.assert_allclose(mine.predict_proba(np.full((1, X.shape[1]), np.nan)), START[None])
        assert mine.score(np.full((5, X.shape[1]), np.nan)) == pytest.approx(0, abs=1e-12)

    def test_minus_one_among_symbols(self, data):
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

    def test_missing_in_part(self):
        with fails(r"observation 1 is partly missing \(feature 0 is NaN\): fill it in, or make all"):
            estimator("diag", missing=True).fit([[1, 1], [np.nan, 2]])


@pytest.mark.filterwarnings("ignore::plait.PlaitWarning")
class TestDegenerate:
    @pytest.mark.parametrize("method", ["blocked", "single-site", "em"])
    @EVERY_COVARIANCE
    def test_numbers(self, covariance, method):
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
    def test_symbols(self, method):
        for x in ([0], [1] * 10, [-1] * 4, [0, -1, 0], [3]):
            mine = estimator("categorical", method=method, missing=True).fit(x)
            for value in parameters(mine).values():
                assert np.isfinite(value).all()

    def test_counts(self):
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
    def test_a_single_state(self, kind, method, data):
        mine = estimator(kind, 1, method=method).fit(data[kind])
        assert mine.transmat_.tolist() == [[1]]
        assert mine.startprob_.tolist() == [1]
        assert not mine.predict(data[kind]).any()
        if kind not in ("categorical", "poisson"):
            np.testing.assert_allclose(mine.means_[0], data[kind].mean(axis=0), rtol=1e-3)


def test_states_without_observations_are_remarked_on():
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


def test_a_state_of_missing_observations_alone_is_remarked_on():
    mine = estimator("categorical", 2, missing=True, n_paths=1)
    mine.startprob_ = [0.5, 0.5]
    mine.transmat_ = [[0, 1], [1, 0]]
    mine.set_params(init_params="e", params="e")
    with pytest.warns(PlaitWarning, match="state [01] has no observation"):
        mine.fit([0, -1] * 3)


class TestMonitor:
    def test_a_monitor_of_one_s_own(self, data):
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
    def test_hmmlearn_s_monitor(self, method, data):
        mine = known("categorical", method=method)
        mine.monitor_ = hmmlearn.base.ConvergenceMonitor(5.0, 10, False)
        mine.fit(data["categorical"])
        assert mine.monitor_.converged
        assert len(mine.monitor_.history) == mine.monitor_.iter

    def test_own_monitors_follow_the_settings(self, data):
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
    def test_clone_pickle_and_repr(self, kind, data):
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
    def test_parameters(self, kind):
        mine = estimator(kind)
        assert mine.set_params(n_components=5, method="em").get_params()["n_components"] == 5
        assert mine.method == "em"
        with pytest.raises(ValueError, match="Invalid parameter"):
            mine.set_params(nonsense=1)

    def test_refit_on_data_of_another_width(self, data):
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

    def test_a_given_number_of_symbols(self, data):
        mine = estimator("categorical", n_features=6).fit(data["categorical"])
        assert mine.emissionprob_.shape == (3, 6)
        assert mine.score([5, 5, 5]) < -5
        with fails("observation 1 is the symbol 6, but there are 6 symbols, 0 to 5: give a larger number"):
            mine.fit([0, 6])

    def test_before_a_fit(self):
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
        longer = estimator(kind, method=method, missing=True, n_iter=15).fit(X, LENGTHS)
        assert np.array_equal(longer.run_.paths, a.paths)

    @pytest.mark.parametrize("method", ["blocked", "em"])
    def test_ctrl_c_is_the_user_s(self, method, data):
        """It leaves the fit as a KeyboardInterrupt, and Python's handler is back."""

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


class TestBadInput:
    @pytest.mark.parametrize(
        ("kind", "X", "lengths", "message"),
        [
            ("categorical", [0, 4], None, "(?=.*observation 1).*0 to 3"),
            ("categorical", [0, -2], None, "observation 1 is -2: symbols are whole numbers from 0"),
            ("categorical", [0.5], None, "observation 0 is 0.5: symbols are whole numbers"),
            (
                "categorical",
                [[0, 1]],
                None,
                r"symbols must have one symbol per observation, .*, got shape \(1, 2\)",
            ),
            ("categorical", ["a"], None, "observation 0 is 'a', not a number"),
            ("categorical", [0, 1], [1, 2], "lengths must add up to 2, the number of observations, got 3"),
            ("categorical", [0, 1], [2, 0], r"lengths\[1\] must be at least 1, got 0"),
            (
                "categorical",
                [0, 1],
                [0.5, 1.5],
                "lengths must be an array of whole numbers, got dtype float64",
            ),
            ("poisson", [[1, -2]], None, "(?=.*observation 0).*-2 in feature 1"),
            ("poisson", [[1, 2.5]], None, "(?=.*observation 0).*2.5 in feature 1"),
            ("poisson", [[1, np.inf]], None, "observation 0 is inf in feature 1: pass finite numbers"),
            ("diag", [[1, np.inf]], None, "observation 0 is inf in feature 1: pass finite numbers"),
            ("diag", [[1, np.nan]], None, "observation 0 is NaN in feature 1: pass missing=True"),
            ("diag", [[1, 2, 3]], None, "the observations have 3 features, but the model has 2: give data"),
            ("poisson", [[1]], None, "the observations have 1 features, but the model has 2: give data"),
            ("diag", np.zeros((2, 2, 2)), None, "values must be .*, got 3 dimensions"),
            ("diag", np.zeros((0, 2)), None, "there are no observations: pass at least one"),
            ("diag", 3.0, None, "values must be an array with a row for each observation, got 3.0"),
            (
                "diag",
                [[1, 2], [3]],
                None,
                "values must not have entries of different lengths: put the sequences one",
            ),
        ],
    )
    def test_data(self, kind, X, lengths, message):
        for call in (known(kind).score, known(kind).decode, known(kind).fit):
            with fails(message):
                call(X, lengths)

    def test_sequences_of_another_kind(self, data):
        symbols = Sequences.from_symbols(data["categorical"], LENGTHS)
        numbers = Sequences.from_values(data["diag"], LENGTHS)
        for kind in ("diag", "poisson"):
            with fails("the data are symbols, .*: use CategoricalHMM, or Sequences.from_values"):
                estimator(kind).fit(symbols)
        with fails("the data are numbers, .*: use GaussianHMM or PoissonHMM, or Sequences.from_symbols"):
            estimator("categorical").fit(numbers)
        with fails("lengths must be None for Sequences, which have lengths, got .*150"):
            known("diag").score(numbers, LENGTHS)
        assert known("diag").score(numbers) == known("diag").score(data["diag"], LENGTHS)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_components": 0}, "n_components must be a whole number from 1 to 65535, got 0"),
            ({"n_components": 70000}, "n_components must be a whole number from 1 to 65535, got 70000"),
            ({"n_paths": 0}, "n_paths must be a whole number of at least 1, got 0"),
            ({"n_iter": -1}, "n_iter must be a whole number of at least 0, got -1"),
            ({"n_iter": 1.5}, "n_iter must be a whole number of at least 0, got 1.5"),
            ({"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
            ({"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores, got 0"),
            ({"tol": "x"}, "tol must be a number, got 'x'"),
            ({"tol": np.nan}, "tol must be a number, got nan"),
            ({"method": "vb"}, "method must be one of 'blocked', 'single-site', 'collapsed', 'em', got 'vb'"),
            ({"algorithm": "x"}, "algorithm must be one of 'viterbi', 'map', got 'x'"),
            ({"implementation": "x"}, "implementation must be one of 'log', 'scaling', got 'x'"),
            ({"params": "sx"}, "params must be a string of the letters s, t, .*, got 'sx'"),
            ({"init_params": None}, "init_params must be a string of the letters s, t, .*, got None"),
            ({"startprob_prior": -1}, r"(start probabilities|start_prior)\[0\]\[0\] .*-1"),
            ({"startprob_prior": [1, 2]}, r"startprob_prior .*shape .*\(2,\)"),
            ({"startprob_prior": [0, 0, 0]}, "row 0 of the start probabilities .*fixed .*0"),
            ({"transmat_prior": np.ones((2, 2))}, r"transmat_prior .*shape .*\(2, 2\)"),
            ({"transmat_prior": "a"}, "transmat_prior .*'a'"),
            ({"transmat_prior": np.nan}, r"(transition probabilities|transition_prior)\[0\]\[0\] .*nan"),
            ({"startprob_fixed": [0.5, 0.5, 0.5]}, "fixed .*1.5"),
            ({"startprob_fixed": [1, np.nan, 0]}, "start probabilities .*fixed|fixed_start"),
            ({"startprob_fixed": [2, np.nan, 0]}, r"(fixed start probabilities|fixed_start)\[0\]\[0\] .*2"),
            (
                {"transmat_fixed": np.ones((3, 2))},
                r"(fixed transition probabilities|fixed_transitions) .*shape .*\(3, 2\)",
            ),
        ],
    )
    @EVERY_CLASS
    def test_settings(self, kind, options, message, data):
        with fails(message):
            estimator(**({"kind": kind} | options)).fit(data[kind])

    @pytest.mark.parametrize(
        ("kind", "options", "message"),
        [
            (
                "categorical",
                {"n_features": 3},
                "0 to 2",
            ),
            ("categorical", {"n_features": 0}, "n_features must be a whole number of at least 1, got 0"),
            (
                "categorical",
                {"emissionprob_prior": np.ones((3, 2))},
                r"(prior of the emissions|prior) .*shape .*\(3, 2\)",
            ),
            ("categorical", {"emissionprob_fixed": np.ones((3, 2))}, r"fixed.* .*shape .*\(3, 2\)"),
            (
                "poisson",
                {"method": "collapsed"},
                "collapsed.*categorical .*poisson.*blocked",
            ),
            ("poisson", {"lambdas_prior": 0}, r"prior.*\[0\]\[0\] .*0"),
            ("poisson", {"lambdas_prior": np.ones(3)}, r"prior.* .*shape .*\(3,\)"),
            ("poisson", {"lambdas_weight": -1}, r"weight.*\[0\]\[0\] .*-1"),
            ("poisson", {"lambdas_fixed": -np.ones((3, 2))}, r"fixed.*\[0\]\[0\] .*-1"),
            ("diag", {"method": "collapsed"}, "collapsed.*categorical .*gaussian.*blocked"),
            ("x", {}, "covariance_type must be one of 'spherical', 'diag', 'full', 'tied', got 'x'"),
            ("diag", {"min_covar": -1}, "min_covar must be a number of at least 0, got -1"),
            ("diag", {"min_covar": None}, "min_covar must be a number of at least 0, got None"),
            ("diag", {"means_prior": [1, 2, 3]}, r"(prior of the means|mean_prior) .*shape .*\(3,\)"),
            ("diag", {"means_prior": np.nan}, r"(prior of the means|mean_prior)\[0\]\[0\] .*nan"),
            ("diag", {"means_weight": -1}, r"(weight of the means' prior|mean_weight)\[0\] .*-1"),
            ("diag", {"covars_prior": 0}, r"(prior of the covariances|covariance_prior)\[0\]\[0\] .*0"),
            (
                "spherical",
                {"covars_prior": [1, 1, -1]},
                r"(prior of the covariances|covariance_prior)\[2\] .*-1",
            ),
            (
                "diag",
                {"covars_prior": np.ones((2, 2))},
                r"covariance.*shape .*\((2, 2|3, 2)\).*\((2, 2|3, 2)\)",
            ),
            (
                "full",
                {"covars_prior": np.ones((2, 2))},
                r"(covariances|covariance_prior)\[0\] .*eigenvalue.* diagonal",
            ),
            (
                "tied",
                {"covars_prior": np.ones((2, 2))},
                "(covariances|covariance_prior) .*eigenvalue.* diagonal",
            ),
            ("full", {"covars_prior": [[1, 2], [3, 4]]}, r"(?=.*\[\[1.0, 2.0\], \[3.0, 4.0\]\]).*symmetric"),
            ("full", {"covars_prior": np.nan}, "symmetric matrix"),
            (
                "diag",
                {"covars_weight": -1},
                r"(weight of the covariances' prior|covariance_weight)\[0\] .*-1",
            ),
            (
                "tied",
                {"covars_weight": [3, 4, 5]},
                r"(?=.*\[3.0, 4.0, 5.0\]).*tied",
            ),
            ("diag", {"means_fixed": [[1, np.nan]] * 3}, "means.* state 0"),
            (
                "diag",
                {"means_fixed": [[1, np.inf]] * 3},
                r"(fixed means|fixed_means)\[0\]\[1\] .*inf",
            ),
            (
                "diag",
                {"covars_fixed": [[1, -1]] * 3},
                r"(fixed covariances|fixed_covariances)\[0\]\[1\] .*-1",
            ),
            (
                "full",
                {"covars_fixed": np.zeros((3, 2, 2))},
                r"(fixed covariances|fixed_covariances)\[0\] .*eigenvalue.* 0",
            ),
        ],
    )
    def test_settings_of_emissions(self, kind, options, message, data):
        with fails(message):
            estimator(kind, **options).fit(data.get(kind, data["diag"]))

    def test_the_collapsed_sampler_keeps_nothing_fixed(self, data):
        for options in ({"startprob_fixed": [0.2, np.nan, np.nan]}, {"params": "te"}):
            with fails("collapsed.*fixed"):
                estimator("categorical", method="collapsed", **options).fit(data["categorical"])

    @pytest.mark.parametrize("kind", ["diag", "poisson"])
    def test_collapsed_numbers_are_refused_before_any_work(self, kind, data, monkeypatch):
        monkeypatch.setattr(Threads, "__init__", None)
        with fails("collapsed.*categorical"):
            estimator(kind, method="collapsed").fit(data[kind])

    @pytest.mark.parametrize(
        ("kind", "name", "value", "message"),
        [
            ("categorical", "startprob_", [0.5, 0.5], r"startprob_ .*shape .*\(2,\)"),
            ("categorical", "startprob_", [0.5, 0.5, 0.5], "startprob_ .*1.5"),
            ("categorical", "startprob_", [1.5, -0.5, 0], r"startprob_\[1\] .*-0.5"),
            ("categorical", "startprob_", "abc", "startprob_ .*'abc'"),
            ("diag", "transmat_", np.ones((2, 2)), r"transmat_ .*shape .*\(2, 2\)"),
            ("diag", "transmat_", np.ones((3, 3)), "row 0 of transmat_ .*3"),
            ("diag", "transmat_", np.full((3, 3), np.nan), r"transmat_\[0\]\[0\] .*nan"),
            ("categorical", "emissionprob_", np.ones((2, 4)) / 4, r"emissionprob_ .*shape .*\(2, 4\)"),
            ("categorical", "emissionprob_", np.ones((3, 4)), "row 0 of emissionprob_ .*4"),
            ("poisson", "lambdas_", -RATES, r"lambdas_\[0\]\[0\] is -1: a rate is at least 0"),
            (
                "poisson",
                "lambdas_",
                RATES[:2],
                r"lambdas_ has shape \(2, 2\): give an array of shape \(3, D\)",
            ),
            ("poisson", "lambdas_", RATES * np.nan, r"lambdas_\[0\]\[0\] .*nan"),
            ("diag", "means_", MEANS - np.inf, r"means_\[0\]\[0\] .*-inf"),
            ("diag", "means_", MEANS[:2], r"means_ has shape \(2, 2\): give an array of shape \(3, D\)"),
            ("diag", "_covars_", -COVARS["diag"], r"covars_\[0\]\[0\] .*-1"),
            ("diag", "covars_", np.ones((3, 3)), r"covars_ has shape \(3, 3\): .* S = 3 states and D = 2 "),
        ],
    )
    @pytest.mark.parametrize("method", ["blocked", "em"])
    def test_parameters(self, kind, name, value, message, method, data):
        for call in ("score", "fit", "sample"):
            mine = known(kind, method=method)
            mine.n_features = None
            setattr(mine, name, value)
            with fails(message):
                getattr(mine, call)(*([] if call == "sample" else [data[kind]]))

    @pytest.mark.parametrize(
        ("covariance", "value", "message"),
        [
            (
                "spherical",
                1.0,
                r"shape \(\): with covariance_type='spherical' give an array of shape \(S,\),",
            ),
            ("spherical", [], r"shape \(0,\): with"),
            ("spherical", np.ones(2), r"shape \(2,\): with"),
            ("spherical", np.ones((3, 2)), r"shape \(3, 2\): with"),
            ("spherical", -np.ones(3), r"covars_\[0\] .*greater than 0"),
            ("diag", np.ones(3), r"shape \(3,\): with covariance_type='diag' .* \(S, D\), for S = 3 states"),
            ("diag", np.zeros((3, 2)), r"covars_\[0\]\[0\] .*greater than 0"),
            ("diag", "abc", "covars_ .*'abc'"),
            ("diag", [[1], [1, 2], [3]], r"covars_ .*\[\[1\], \[1, 2\], \[3\]\]"),
            ("full", np.ones((3, 2)), r"shape \(3, 2\): with covariance_type='full' .* \(S, D, D\)"),
            ("full", np.ones((3, 2, 1)), r"shape \(3, 2, 1\): with"),
            (
                "full",
                np.ones((3, 2, 2)),
                r"covars_\[0\] .*eigenvalue.* diagonal",
            ),
            ("tied", np.ones((2, 1)), r"shape \(2, 1\): with covariance_type='tied' .* \(D, D\)"),
            ("tied", 1.0, r"shape \(\): with"),
            ("tied", [[1, 2], [3, 4]], r"covars_ (?=.*\[\[1.0, 2.0\], \[3.0, 4.0\]\]).*symmetric matrix"),
        ],
    )
    def test_covars(self, covariance, value, message):
        mine = known(covariance)
        with fails(message):
            mine.covars_ = value
        assert np.array_equal(mine._covars_, COVARS[covariance])

    def test_impossible_sequences(self):
        """They have no likelihood, no posterior, and nothing to fit."""
        mine = known("categorical", method="em")
        mine.emissionprob_ = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
        x = [0, 1, 3, 0]
        assert mine.score(x) == -np.inf
        for call in (mine.score_samples, mine.predict_proba, mine.fit):
            with fails("sequence 1 ?.* zeros"):
                call(x, [2, 2])

    def test_numbers_that_cannot_be_squared(self):
        with fails("feature 1 .*too large"):
            estimator("diag", 2).fit([[1, 1e200], [2, -1e200], [0, 0]])


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
    assert mine.run_.estimate is None  # EM is not begun
    assert np.isfinite(mine.score(data["full"], LENGTHS))
