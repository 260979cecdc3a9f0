"""Estimators of mixtures with scikit-learn's interface: what they learn, answer and refuse."""

from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn import mixture as theirs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from plait.em import maximise
from plait.errors import PlaitError, PlaitWarning
from plait.estimators.base_mixture import METHODS
from plait.estimators.mixture import BernoulliMixture, GaussianMixture, MultinomialMixture, PoissonMixture
from plait.fitting import plan
from plait.models.emissions import COVARIANCES
from plait.models.mixture import MixtureModel
from plait.run import load
from plait.sampler import Interrupted, start_run
from plait.threads import Threads

NAN = np.nan
FAST = {"max_iter": 30, "n_paths": 3, "random_state": 0, "n_jobs": 1}

WEIGHTS = np.array([0.5, 0.3, 0.2])
MEANS = np.array([[-6.0, 0.0], [0.0, 5.0], [6.0, -2.0]])
RATES = np.array([[1.0, 20.0], [12.0, 5.0], [40.0, 1.0]])
BITS = np.array([[0.9] * 4 + [0.1] * 4, [0.1] * 4 + [0.9] * 4, [0.1, 0.9] * 4])
WORDS = np.array([[0.7, 0.1, 0.1, 0.05, 0.05], [0.05, 0.05, 0.1, 0.7, 0.1], [0.1, 0.4, 0.4, 0.05, 0.05]])
FULL = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.8, -0.2], [-0.2, 1.2]], [[1.5, 0.5], [0.5, 0.7]]])
COVARIANCE = {
    "spherical": np.array([1.0, 0.5, 1.5]),
    "diag": np.array([[1.0, 0.5], [0.8, 1.2], [1.5, 0.7]]),
    "full": FULL,
    "tied": FULL[0],
}
CLASSES = {"poisson": PoissonMixture, "bernoulli": BernoulliMixture, "multinomial": MultinomialMixture}

KINDS = (*CLASSES, *COVARIANCES)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
EVERY_COVARIANCE = pytest.mark.parametrize("covariance", COVARIANCES)
EVERY_CLASS = pytest.mark.parametrize("kind", [*CLASSES, "full"])
CAN = [(k, m) for k in KINDS for m in METHODS if (k, m) != ("tied", "collapsed")]


def estimator(kind, n_components=3, **options):
    options = FAST | options
    if kind in CLASSES:
        return CLASSES[kind](n_components, **options)
    return GaussianMixture(n_components, **{"covariance_type": kind} | options)


def draw(kind, n, seed=1):
    """Draw observations by NumPy alone; return them and their components."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=WEIGHTS)
    if kind == "poisson":
        return rng.poisson(RATES[y]), y
    if kind == "bernoulli":
        return (rng.random((n, 8)) < BITS[y]).astype(int), y
    if kind == "multinomial":
        return rng.multinomial(rng.integers(15, 25, n), WORDS[y]), y
    return np.array([rng.multivariate_normal(MEANS[k], as_matrix(kind, k)) for k in y]), y


def as_matrix(kind, k):
    given = COVARIANCE[kind] if kind == "tied" else COVARIANCE[kind][k]
    return given if np.ndim(given) == 2 else given * np.eye(2)


def law_names(mine):
    return {
        GaussianMixture: ["means_", "covariances_"],
        PoissonMixture: ["rates_"],
        BernoulliMixture: ["probabilities_"],
        MultinomialMixture: ["probabilities_"],
    }[type(mine)]


def parameters(mine):
    return {name: getattr(mine, name) for name in ["weights_", *law_names(mine)]}


def same_fit(a, b):
    for name, value in parameters(a).items():
        assert np.array_equal(value, getattr(b, name)), name
    assert np.array_equal(a.paths_, b.paths_)
    assert (a.lower_bound_, a.lower_bounds_) == (b.lower_bound_, b.lower_bounds_)


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


@pytest.fixture(scope="module")
def data():
    """Return 300 observations of every kind."""
    return {kind: draw(kind, 300)[0] for kind in KINDS}


def silently(call, *arguments):
    """Call a function without warnings that EM has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return call(*arguments)


class TestAgainstScikitLearn:
    def begun(self, covariance):
        """Return initial parameters for both, not too near the solution."""
        covariances = COVARIANCE[covariance] * 3.0
        is_matrix = covariance in ("full", "tied")
        return {
            "n_components": 3,
            "covariance_type": covariance,
            "weights_init": [0.2, 0.3, 0.5],
            "means_init": MEANS * 0.2 + 0.1,
            "precisions_init": np.linalg.inv(covariances) if is_matrix else 1 / covariances,
        }

    @EVERY_COVARIANCE
    @pytest.mark.parametrize("reg_covar", [1e-6, 0.3])
    @pytest.mark.parametrize("n_iter", [1, 7])
    def test_em_makes_the_iterations_of_scikit_learn(self, covariance, reg_covar, n_iter, data):
        """From the same initial parameters, to the last digits."""
        X = data[covariance] + 50.0
        how = self.begun(covariance) | {"reg_covar": reg_covar, "max_iter": n_iter, "tol": 0.0}
        how["means_init"] = how["means_init"] + 50.0
        mine = silently(GaussianMixture(**how, method="em").fit, X)
        other = silently(theirs.GaussianMixture(**how).fit, X)
        assert mine.n_iter_ == other.n_iter_ == n_iter
        for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
            np.testing.assert_allclose(getattr(mine, name), getattr(other, name), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-8)
        np.testing.assert_array_equal(mine.predict(X), other.predict(X))
        np.testing.assert_allclose(mine.score_samples(X), other.score_samples(X), rtol=1e-8)
        assert mine.lower_bounds_[-1] == pytest.approx(other.lower_bound_, rel=1e-10)
        for call in ("score", "aic", "bic"):
            assert getattr(mine, call)(X) == pytest.approx(getattr(other, call)(X), rel=1e-10)

    @EVERY_COVARIANCE
    def test_em_ends_where_scikit_learn_s_ends(self, covariance, data):
        X, how = data[covariance], self.begun(covariance)
        mine = GaussianMixture(**how, method="em").fit(X)
        other = theirs.GaussianMixture(**how).fit(X)
        assert mine.converged_
        assert other.converged_
        assert mine.n_iter_ == other.n_iter_ == len(mine.lower_bounds_)
        np.testing.assert_allclose(mine.means_, other.means_, rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(mine.fit_predict(X), other.fit_predict(X))

    def test_arguments_have_the_names_and_defaults_of_scikit_learn(self):
        mine = inspect.signature(GaussianMixture).parameters
        for name, parameter in inspect.signature(theirs.GaussianMixture).parameters.items():
            if name not in ("init_params", "verbose_interval"):
                assert mine[name].default == parameter.default, name
        for name in inspect.signature(theirs.BayesianGaussianMixture).parameters:
            if name.endswith("_prior"):
                assert mine[name].default is None, name

    @EVERY_COVARIANCE
    def test_attributes_have_the_shapes_of_scikit_learn_s(self, covariance, data):
        mine = estimator(covariance).fit(data[covariance])
        other = theirs.GaussianMixture(3, covariance_type=covariance).fit(data[covariance])
        for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
            assert getattr(mine, name).shape == getattr(other, name).shape, name
        assert mine._n_parameters() == other._n_parameters()
        for k in range(3):
            matrix = mine.covariances_ if covariance == "tied" else mine.covariances_[k]
            inverse = mine.precisions_ if covariance == "tied" else mine.precisions_[k]
            product = matrix @ inverse if np.ndim(matrix) == 2 else matrix * inverse
            np.testing.assert_allclose(product, np.eye(2) if np.ndim(matrix) == 2 else 1.0, atol=1e-9)

    def test_a_prior_makes_em_climb_the_posterior(self, data):
        """The means are then between those of the prior, 0, and of the data."""
        X, how = data["full"], self.begun("full")
        free = GaussianMixture(**how, method="em").fit(X)
        prior = GaussianMixture(**how, method="em", mean_prior=0.0, mean_precision_prior=30.0).fit(X)
        n = free.weights_[:, None] * len(X)
        expected = free.means_ * n / (n + 30)
        far = np.abs(MEANS) > 1
        np.testing.assert_allclose(prior.means_[far], expected[far], rtol=0.1)
        assert prior.lower_bound_ < free.lower_bound_


class TestRecovery:
    @pytest.mark.parametrize(("kind", "method"), CAN)
    def test_a_known_mixture_is_found(self, kind, method):
        """2000 observations of components far apart: at least 400 each.

        Standard errors are at most 0.025 for a probability, 0.06 for a mean, 0.1 for a variance and 0.3 for
        a rate; limits are four of them.
        """
        X, y = draw(kind, 2000, seed=3)
        mine = estimator(kind, method=method, max_iter=100, n_init=3).fit(X)
        np.testing.assert_allclose(mine.weights_, WEIGHTS, atol=4 * 0.011)
        if kind == "poisson":
            np.testing.assert_allclose(mine.rates_, RATES, atol=1.2)
        elif kind == "bernoulli":
            np.testing.assert_allclose(mine.probabilities_, BITS, atol=0.1)
        elif kind == "multinomial":
            np.testing.assert_allclose(mine.probabilities_, WORDS, atol=0.1)
            np.testing.assert_allclose(mine.probabilities_.sum(axis=1), 1, atol=1e-12)
        else:
            np.testing.assert_allclose(mine.means_, MEANS, atol=0.24)
            np.testing.assert_allclose(mine.covariances_, COVARIANCE[kind], atol=0.4)
        assert np.mean(mine.predict(X) == y) > 0.9
        assert mine.lower_bound_ == pytest.approx(mine.score(X), rel=1e-12)
        assert mine.n_features_in_ == X.shape[1]
        assert mine.converged_
        if method == "em":
            assert mine.run_.paths.shape == (0, 2000)
            assert mine.run_.finished
            assert mine.paths_ is None
            assert len(mine.trace_) == 0
            assert mine.n_iter_ == len(mine.lower_bounds_)
            with fails("EM has no paths"):
                _ = mine.agreement_
        else:
            assert mine.run_.sweep == 100
            assert mine.n_iter_ == 100 + len(mine.lower_bounds_)
            assert mine.trace_.log_joint.shape == (10, 3)
            assert (mine.paths_.shape, mine.paths_.dtype) == ((3, 2000), np.uint16)
            assert np.mean(mine.paths_ == y) > 0.85  # a draw need not be the best component
            assert mine.agreement_.shape == (2000,)
            assert 1 / 3 <= mine.agreement_.min() <= mine.agreement_.max() == 1

    @EVERY_KIND
    def test_the_polish_ends_at_a_local_maximum(self, kind, data):
        X = data[kind]
        raw = estimator(kind, polish=False).fit(X)
        polished = estimator(kind).fit(X)
        assert np.array_equal(raw.run_.paths, polished.run_.paths)
        assert raw.lower_bounds_ == []
        assert not raw.converged_
        assert polished.lower_bound_ > raw.lower_bound_ - 1e-3
        # One more iteration of EM, with the same priors, changes nothing.
        top = estimator(kind, max_iter=1000, tol=1e-12).fit(X)
        model = MixtureModel(top._make_emissions(top._checked(X, reset=False)))
        again = maximise(model, top._parameters(), 1, lambda log_likelihood: False, Threads(1))
        assert model.log_likelihood(again, 1) / len(X) == pytest.approx(top.lower_bound_, abs=1e-6)

    def test_the_best_of_several_restarts_is_kept(self):
        X = draw("full", 200)[0]
        bounds = [
            silently(estimator("full", 6, method="em", max_iter=5, random_state=i).fit, X).lower_bound_
            for i in range(3)
        ]
        assert np.ptp(bounds) > 0
        worst = int(np.argmin(bounds))  # the first restart starts there, and others do better
        many = silently(estimator("full", 6, method="em", max_iter=5, n_init=8, random_state=worst).fit, X)
        assert many.lower_bound_ > bounds[worst]
        assert many.lower_bound_ == pytest.approx(many.score(X), rel=1e-12)


class TestSample:
    @EVERY_KIND
    def test_draws_have_the_distribution_of_the_mixture(self, kind):
        """Means over 20 000 draws; 5 standard errors."""
        mine = estimator(kind, max_iter=5)
        silently(mine.fit, draw(kind, 60)[0])
        laws = {
            "poisson": {"rates_": RATES},
            "bernoulli": {"probabilities_": BITS},
            "multinomial": {"probabilities_": WORDS},
        }.get(kind, {"means_": MEANS, "covariances_": COVARIANCE.get(kind)})
        for name, value in {"weights_": WEIGHTS, **laws}.items():
            setattr(mine, name, value)
        X, y = mine.sample(20_000)
        assert (X.shape, y.shape) == ((20_000, mine.n_features_in_), (20_000,))
        assert X.dtype == (np.int64 if kind in CLASSES else np.float64)
        shares = np.bincount(y) / len(y)
        assert np.all(np.abs(shares - WEIGHTS) < 5 * np.sqrt(WEIGHTS * (1 - WEIGHTS) / len(y)))
        for k in range(3):
            here = X[y == k]
            error = 5 / np.sqrt(len(here))
            if kind == "poisson":
                assert np.all(np.abs(here.mean(axis=0) - RATES[k]) < error * np.sqrt(RATES[k]))
            elif kind == "bernoulli":
                assert set(np.unique(here)) == {0, 1}
                assert np.all(np.abs(here.mean(axis=0) - BITS[k]) < error * 0.5)
            elif kind == "multinomial":
                shares = here.sum(axis=0) / here.sum()
                assert np.all(np.abs(shares - WORDS[k]) < 5 * np.sqrt(0.25 / here.sum()))
            else:
                matrix = as_matrix(kind, k)
                assert np.all(np.abs(here.mean(axis=0) - MEANS[k]) < error * np.sqrt(np.diag(matrix)))
                np.testing.assert_allclose(np.cov(here.T), matrix, atol=error * np.sqrt(2) * matrix.max())
        assert np.array_equal(mine.sample(4)[0], mine.sample(4)[0])
        assert mine.sample()[0].shape == (1, mine.n_features_in_)
        for wrong in (0, -1, 1.5, "a"):
            with fails(f"n_samples must be a whole number of at least 1, got {wrong!r}"):
                mine.sample(wrong)

    def test_documents_are_as_long_as_those_fitted(self):
        X = draw("multinomial", 80)[0]
        mine = estimator("multinomial").fit(X)
        assert np.array_equal(mine.lengths_, X.sum(axis=1))
        drawn, _ = mine.sample(300)
        assert set(drawn.sum(axis=1)) <= set(mine.lengths_)
        assert len(set(drawn.sum(axis=1))) > 3
        assert set(mine.sample(20, length=7)[0].sum(axis=1)) == {7}
        assert mine.sample(2, length=0)[0].sum() == 0
        with fails("length must be a whole number of at least 0, got -1"):
            mine.sample(2, length=-1)


class TestOrder:
    @EVERY_CLASS
    @pytest.mark.parametrize("method", METHODS)
    def test_the_largest_weight_comes_first(self, kind, method, data):
        for seed in range(3):
            mine = estimator(kind, method=method, random_state=seed).fit(data[kind])
            assert np.all(np.diff(mine.weights_) <= 0)
            if method != "em":  # paths are renumbered with the parameters
                assert np.mean(mine.paths_ == mine.predict(data[kind])) > 0.8

    def test_initial_parameters_and_priors_number_the_components(self, data):
        X = data["full"]
        for means in (MEANS, MEANS[::-1]):
            for method in METHODS:
                mine = estimator("full", method=method, means_init=means).fit(X)
                np.testing.assert_allclose(mine.means_, means, atol=0.5)
                assert np.mean(mine.paths_ == mine.predict(X)) > 0.8 if method != "em" else True
        mine = estimator("full", mean_prior=MEANS[::-1], mean_precision_prior=1e4).fit(X)
        np.testing.assert_allclose(mine.means_, MEANS[::-1], atol=0.5)
        weights = [0.2, 0.3, 0.5]
        mine = estimator("full", method="em", weights_init=weights, means_init=MEANS[[2, 1, 0]]).fit(X)
        assert np.all(np.diff(mine.weights_) > 0)

    def test_every_kind_takes_initial_parameters(self, data):
        for kind, name, law in (
            ("poisson", "rates_init", RATES[::-1]),
            ("bernoulli", "probabilities_init", BITS[::-1]),
            ("multinomial", "probabilities_init", WORDS[::-1]),
        ):
            mine = estimator(kind, method="em", **{name: law}).fit(data[kind])
            limit = 2.5 if kind == "poisson" else 0.25
            np.testing.assert_allclose(getattr(mine, name.replace("init", "")), law, atol=limit)

    @EVERY_COVARIANCE
    def test_initial_precisions_are_used(self, covariance, data):
        """In one iteration of EM, narrow initial components keep their means."""
        X = data[covariance]
        shape = COVARIANCE[covariance].shape
        for precision in (1.0, 100.0):
            given = np.broadcast_to(np.eye(2) if shape[-2:] == (2, 2) else 1.0, shape) * precision
            mine = silently(
                estimator(covariance, method="em", means_init=MEANS, precisions_init=given, max_iter=1).fit, X
            )
            matrix = np.eye(2) / precision
            logs = np.array([stats.multivariate_normal.logpdf(X, mean, matrix) for mean in MEANS])
            start = np.log(np.exp(logs - logs.max(axis=0)).mean(axis=0)) + logs.max(axis=0)
            assert mine.lower_bounds_[0] == pytest.approx(start.mean(), rel=1e-8)


class TestReproducible:
    @EVERY_KIND
    def test_the_same_seed_gives_the_same_bits(self, kind, data):
        for method in METHODS:
            if (kind, method) == ("tied", "collapsed"):
                continue
            X = data[kind]
            one = estimator(kind, method=method).fit(X)
            same_fit(one, estimator(kind, method=method, n_jobs=2).fit(X))
            if method != "em":  # five components: three would be found from any seed
                a, b = (estimator(kind, 5, method=method, random_state=r).fit(X) for r in (0, 7))
                assert not np.array_equal(a.paths_, b.paths_)

    def test_a_random_state_is_advanced_by_a_fit(self, data):
        X = data["diag"]
        state = np.random.RandomState(4)
        fits = [estimator("diag", 5, random_state=r).fit(X) for r in (state, state, np.random.RandomState(4))]
        same_fit(fits[0], fits[2])
        assert not np.array_equal(fits[0].paths_, fits[1].paths_)

    @EVERY_CLASS
    def test_an_estimator_can_be_cloned_and_pickled(self, kind, data):
        X = data[kind]
        mine = estimator(kind).fit(X)
        again = pickle.loads(pickle.dumps(mine))
        same_fit(mine, again)
        assert np.array_equal(mine.predict_proba(X), again.predict_proba(X))
        same_fit(mine, clone(mine).fit(X))
        same_fit(mine, mine.fit(X))

    def test_the_run_can_be_saved(self, data, tmp_path):
        mine = estimator("multinomial").fit(data["multinomial"])
        mine.run_.save(tmp_path / "run.plait")
        assert np.array_equal(load(tmp_path / "run.plait").paths, mine.run_.paths)


class TestWarmStart:
    def test_em_continues_from_the_last_fit(self, data):
        """Two times five iterations are ten."""
        X = data["diag"]
        whole = silently(estimator("diag", 5, method="em", max_iter=10, tol=0.0).fit, X)
        parts = estimator("diag", 5, method="em", max_iter=5, tol=0.0, warm_start=True)
        silently(parts.fit, X)
        before = parts.lower_bound_
        silently(parts.fit, X)
        assert parts.lower_bound_ > before
        order = np.argsort(-parts.weights_)  # which a warm start leaves as it was
        for name, value in parameters(whole).items():
            np.testing.assert_allclose(getattr(parts, name)[order], value, rtol=1e-9, atol=1e-12)

    def test_a_sampler_starts_from_the_last_parameters(self, data):
        X = data["full"]
        mine = estimator("full", warm_start=True, n_init=3).fit(X)
        first = mine.means_
        silently(mine.set_params(max_iter=1, random_state=9).fit, X)
        assert mine.run_.sweep == 1
        np.testing.assert_allclose(mine.means_, first, atol=0.1)
        assert np.array_equal(mine.run_.model.initial.emissions.means, first)

    def test_other_data_or_components_are_refused(self, data):
        mine = estimator("full", warm_start=True).fit(data["full"])
        with fails(
            r"warm_start resumes the last fit, but the shares must have shape \(2,\), got \(3,\); set"
        ):
            mine.set_params(n_components=2).fit(data["full"])
        mine.set_params(n_components=3)
        with fails(r"warm_start resumes the last fit, but means must have shape \(3, 4\), got \(3, 2\)"):
            mine.fit(np.random.default_rng(0).normal(size=(20, 4)))


class TestData:
    def test_sparse_counts_give_the_same_fit(self):
        X, _ = draw("multinomial", 150)
        dense = estimator("multinomial").fit(X)
        for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.csr_array):
            other = estimator("multinomial").fit(kind(X))
            same_fit(dense, other)
            for call in ("predict", "predict_proba", "score_samples", "score", "bic", "aic"):
                assert np.array_equal(getattr(dense, call)(X), getattr(other, call)(kind(X)))
            assert np.array_equal(other.fit_predict(kind(X)), dense.predict(X))
        for kind in ("full", "poisson", "bernoulli"):
            with pytest.raises(TypeError, match=r"[Ss]parse"):
                estimator(kind).fit(sparse.csr_array(draw(kind, 30)[0]))

    def test_names_of_features_are_kept(self, data):
        frame = pd.DataFrame(data["full"], columns=["a", "b"])
        mine = estimator("full").fit(frame)
        assert mine.feature_names_in_.tolist() == ["a", "b"]
        same_fit(mine, estimator("full").fit(data["full"]))
        with pytest.raises(ValueError, match="feature names"):
            mine.predict(frame.rename(columns={"a": "c"}))

    def test_a_threshold_turns_numbers_into_bits(self, data):
        X = data["bernoulli"]
        numbers = np.where(X == 1, 0.7, -0.2) + np.random.default_rng(0).uniform(-0.1, 0.1, X.shape)
        mine = estimator("bernoulli", binarize=0.3).fit(numbers)
        same_fit(mine, estimator("bernoulli").fit(X))
        assert np.array_equal(mine.predict(numbers), estimator("bernoulli").fit(X).predict(X))
        same_fit(mine, estimator("bernoulli").fit(X.astype(bool)))

    def test_every_type_of_number_is_accepted(self, data):
        X = data["poisson"]
        one = estimator("poisson").fit(X)
        for other in (X.astype(np.float32), X.astype(np.uint8), X.tolist(), np.asfortranarray(X)):
            same_fit(one, estimator("poisson").fit(other))
        before = X.copy()
        assert np.array_equal(X, before)
        assert X.flags.writeable

    def test_it_works_in_pipelines_and_grid_searches(self, data):
        pipeline = make_pipeline(StandardScaler(), estimator("diag"))
        assert np.isfinite(pipeline.fit(data["diag"]).score(data["diag"]))
        search = GridSearchCV(estimator("diag"), {"n_components": [1, 3]}, cv=2).fit(data["diag"])
        assert search.best_params_ == {"n_components": 3}

    @EVERY_KIND
    def test_criteria_count_the_free_parameters(self, kind, data):
        X = data[kind]
        mine = estimator(kind).fit(X)
        n = {
            "poisson": 2 + 6,
            "bernoulli": 2 + 24,
            "multinomial": 2 + 12,
            "spherical": 2 + 6 + 3,
            "diag": 2 + 6 + 6,
            "full": 2 + 6 + 9,
            "tied": 2 + 6 + 3,
        }[kind]
        total = mine.score(X) * len(X)
        assert mine.aic(X) == pytest.approx(-2 * total + 2 * n, rel=1e-12)
        assert mine.bic(X) == pytest.approx(-2 * total + n * np.log(len(X)), rel=1e-12)

    def test_more_components_cost_more_than_they_gain(self):
        X, _ = draw("full", 600)
        criteria = [estimator("full", k, n_init=3, max_iter=60).fit(X).bic(X) for k in (1, 2, 3, 4)]
        assert int(np.argmin(criteria)) == 2


class TestBadInput:
    """Bad input is refused in one line, or gives a finite result."""

    @EVERY_CLASS
    def test_data_that_scikit_learn_refuses_are_refused(self, kind):
        X = draw(kind, 20)[0].astype(float)
        mine = estimator(kind)
        holed = X.copy()
        holed[3, 1] = NAN
        for wrong, message in (
            (np.empty((0, 2)), "0 sample"),
            (np.empty((4, 0)), "0 feature"),
            (X[:, 0], "1D array|1-dimensional|2D array"),
            (holed, "NaN"),
            (np.where(np.isnan(holed), np.inf, X), "infinity"),
            ([["a", "b"]] * 5, "convert|str"),
        ):
            with pytest.raises(ValueError, match=message):
                mine.fit(wrong)
        mine.fit(X)
        for call in (mine.predict, mine.predict_proba, mine.score_samples, mine.score, mine.bic, mine.aic):
            with pytest.raises(ValueError, match="features"):
                call(np.hstack([X, X]))
            with pytest.raises(ValueError, match="NaN"):
                call(holed)

    @pytest.mark.parametrize("kind", ["poisson", "multinomial"])
    def test_numbers_that_are_not_counts_are_refused(self, kind):
        X = draw(kind, 20)[0].astype(float)
        mine = estimator(kind).fit(X)
        for wrong, message in (
            (-2.0, "Negative values in data: X holds -2, but counts are whole numbers from 0 up"),
            (
                1.5,
                "counts must be whole numbers of at least 0, got 1.5 .* 1 of (observation|document) 3",
            ),
        ):
            bad = X.copy()
            bad[3, 1] = wrong
            for call in (mine.fit, mine.predict, mine.score):
                with fails(message):
                    call(bad)

    def test_numbers_that_are_not_bits_are_refused(self):
        X = draw("bernoulli", 20)[0].astype(float)
        for wrong in (2.0, -1.0, 0.5):
            bad = X.copy()
            bad[3, 1] = wrong
            with fails(f"binary features must be 0 or 1, got {wrong:g} in feature 1 of observation 3"):
                estimator("bernoulli").fit(bad)

    @EVERY_CLASS
    def test_impossible_settings_are_refused(self, kind):
        X = draw(kind, 20)[0]
        for change, message in (
            ({"n_components": 0}, "n_components must be a whole number from 1 to 65535, got 0"),
            ({"n_components": 2.5}, "n_components must be a whole number from 1 to 65535, got 2.5"),
            ({"n_components": 21}, "n_samples = 20, fewer than n_components = 21: give more observations"),
            ({"n_paths": 0}, "n_paths must be a whole number of at least 1, got 0"),
            ({"n_paths": "a"}, "n_paths must be a whole number of at least 1, got 'a'"),
            ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
            ({"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
            ({"tol": -1.0}, "tol must be a number of at least 0, got -1.0"),
            ({"tol": NAN}, "tol must be a number of at least 0, got nan"),
            ({"tol": "a"}, "tol must be a number of at least 0, got 'a'"),
            ({"method": "vb"}, "method must be one of 'partially-collapsed', 'collapsed', 'em', got 'vb'"),
            ({"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores, got 0"),
            ({"weights_init": [1.0, 0.0]}, r"weights_init must have shape \(3,\), got \(2,\)"),
            ({"weights_init": [0.5, 0.5, 0.5]}, "weights_init must sum to 1, got 1.5"),
            ({"weights_init": [1.5, -0.5, 0]}, r"weights_init\[1\] must be from 0 to 1, got -0.5"),
            (
                {"weight_concentration_prior": -1.0},
                r"weight_concentration_prior\[0\]\[0\] must be .*, got -1",
            ),
            (
                {"weight_concentration_prior": [1, 1]},
                r"weight_concentration_prior must be .* shape \(1, S\) = \(1, 3\), got .* shape \(2,\)",
            ),
        ):
            with fails(message):
                estimator(kind, **change).fit(X)
            assert not hasattr(estimator(kind), "weights_")

    @pytest.mark.parametrize(
        ("kind", "change", "message"),
        [
            (
                "full",
                {"covariance_type": "ball"},
                "covariance_type must be one of 'spherical', 'diag', 'full', 'tied', got 'ball'",
            ),
            ("full", {"reg_covar": -1}, "reg_covar must be a number of at least 0, got -1"),
            (
                "full",
                {"means_init": np.ones((2, 2))},
                r"means_init must have shape \(3, 2\), got \(2, 2\)",
            ),
            ("full", {"means_init": MEANS * NAN}, r"means_init\[0\]\[0\] must be finite, got nan"),
            ("full", {"means_init": "a"}, "means_init must be a number or an array of numbers, got 'a'"),
            (
                "full",
                {"precisions_init": np.ones((3, 2))},
                r"precisions_init must have shape \(3, 2, 2\), got \(3, 2\)",
            ),
            (
                "full",
                {"precisions_init": -FULL},
                r"precisions_init\[0\] must be positive definite, got a matrix with the eigenvalue -1.14",
            ),
            (
                "diag",
                {"precisions_init": -COVARIANCE["diag"]},
                r"precisions_init\[0\]\[0\] must be a finite number greater than 0, got -1",
            ),
            (
                "full",
                {"mean_prior": [1, 2, 3]},
                r"mean_prior must be .* shape \(S, D\) = \(3, 2\), got .* shape \(3,\)",
            ),
            ("full", {"mean_prior": NAN}, r"mean_prior\[0\]\[0\] must be finite, got nan"),
            (
                "full",
                {"covariance_prior": -1.0},
                r"covariance_prior\[0\] must be positive definite, got a matrix with the eigenvalue -1",
            ),
            (
                "full",
                {"degrees_of_freedom_prior": -1.0},
                r"degrees_of_freedom_prior\[0\] must be 0 or a number from 1e-10 to .*, got -1",
            ),
            (
                "tied",
                {"method": "collapsed"},
                "the collapsed sampler does not support tied covariances or fixed parameters",
            ),
            ("poisson", {"rates_init": RATES[:2]}, r"rates_init must have shape \(3, 2\), got \(2, 2\)"),
            (
                "poisson",
                {"rates_init": -RATES},
                r"rates_init\[0\]\[0\] must be at least 0, got -1",
            ),
            (
                "poisson",
                {"rate_prior": 0.0},
                r"rate_prior\[0\]\[0\] must be a number from 1e-10 to .*, got 0",
            ),
            (
                "bernoulli",
                {"probabilities_init": BITS * 2},
                r"probabilities_init\[0\]\[0\] must be from 0 to 1, got 1.8",
            ),
            (
                "bernoulli",
                {"probabilities_init": BITS[0]},
                r"probabilities_init must have shape \(3, 8\), got \(8,\)",
            ),
            ("bernoulli", {"binarize": "a"}, "binarize must be a finite number, got 'a'"),
            (
                "bernoulli",
                {"ones_prior": 0.0},
                r"ones_prior\[0\]\[0\] must be a number from 1e-10 to .*, got 0",
            ),
            (
                "multinomial",
                {"probabilities_init": WORDS * 2},
                "row 0 of probabilities_init must sum to 1, got 2",
            ),
            (
                "multinomial",
                {"probabilities_init": WORDS[0]},
                r"probabilities_init must have shape \(3, 5\), got \(5,\)",
            ),
            ("multinomial", {"probability_prior": -1.0}, r"probability_prior\[0\]\[0\] must be .*, got -1"),
        ],
    )
    def test_impossible_settings_of_each_kind_are_refused(self, kind, change, message, data):
        with fails(message):
            estimator(kind, **change).fit(data[kind])

    @EVERY_CLASS
    def test_an_estimator_that_is_not_fitted_says_so(self, kind):
        mine, X = estimator(kind), draw(kind, 20)[0]
        for call in (mine.predict, mine.predict_proba, mine.score, mine.score_samples, mine.aic, mine.bic):
            with pytest.raises(NotFittedError):
                call(X)
        with pytest.raises(NotFittedError):
            mine.sample()
        for name in ("agreement_", "trace_"):
            with pytest.raises(NotFittedError):
                getattr(mine, name)

    @pytest.mark.parametrize(("kind", "method"), CAN)
    @pytest.mark.filterwarnings("ignore::plait.errors.PlaitWarning")
    def test_equal_observations_give_finite_parameters(self, kind, method):
        """They make one component, or several that are alike."""
        X = np.tile(draw(kind, 1)[0], (30, 1))
        mine = silently(estimator(kind, method=method).fit, X)
        for value in parameters(mine).values():
            assert np.isfinite(value).all()
        assert np.isfinite(mine.score(X))
        assert mine.weights_.sum() == pytest.approx(1)
        assert np.ptp(mine.predict(X)) == 0
        assert np.isfinite(mine.predict_proba(X)).all()

    @pytest.mark.parametrize(("kind", "method"), [(k, m) for k, m in CAN if k in COVARIANCES])
    @pytest.mark.filterwarnings("ignore::plait.errors.PlaitWarning")
    def test_features_that_depend_on_each_other_give_finite_parameters(self, kind, method, data):
        """Two equal features, and one that does not vary: reg_covar and priors keep covariances regular."""
        X = data[kind][:, [0, 0, 1]]
        X[:, 2] = 7.0
        mine = silently(estimator(kind, method=method).fit, X)
        for value in parameters(mine).values():
            assert np.isfinite(value).all()
        assert np.isfinite(mine.score(X))
        assert np.isfinite(mine.precisions_).all()

    def test_constant_features_need_regularisation(self, data):
        X = data["diag"].copy()
        X[:, 1] = 7.0
        with fails("feature 1 is the same in all observations and reg_covar is 0: raise reg_covar"):
            estimator("diag", reg_covar=0).fit(X)

    def test_a_singular_covariance_is_explained(self, data):
        X = data["full"][:, [0, 0]] * 1e5
        with fails("a covariance has become singular: increase reg_covar, drop features that depend on each"):
            estimator("full", method="em", reg_covar=0.0).fit(X)

    @pytest.mark.parametrize("method", METHODS)
    def test_a_prior_that_is_too_weak_is_explained(self, method, data):
        X = data["full"][:, [0, 0, 1]]
        with fails("a covariance is singular: .*larger prior, .*features"):
            silently(estimator("full", method=method, covariance_prior=1e-300).fit, X)

    def test_predictions_of_one_observation_need_no_variance(self, data):
        X = data["diag"]
        mine = estimator("diag", reg_covar=0.0).fit(X)
        one = mine.score_samples(X[:1])
        np.testing.assert_allclose(one, mine.score_samples(X)[:1], rtol=1e-12)

    @pytest.mark.parametrize(("kind", "method"), [(k, m) for k, m in CAN if k in COVARIANCES])
    def test_shift_and_scale_of_the_data_do_not_matter(self, kind, method, data):
        """The components are those of the same data with mean 0 and scale 1."""
        X = data[kind]
        near = estimator(kind, method=method, reg_covar=0.0).fit(X).predict(X)
        for shift, scale in ((1e6, 1.0), (0.0, 1e-5), (0.0, 1e5)):
            far = estimator(kind, method=method, reg_covar=0.0).fit(shift + X * scale)
            assert np.mean(far.predict(shift + X * scale) == near) > 0.99

    def test_numbers_that_are_too_large_are_refused(self):
        X = np.random.default_rng(0).normal(size=(300, 2))
        with fails("the numbers of feature 0 are too large to square: divide them by a constant"):
            GaussianMixture(2).fit(X * 1e200)
        for method in METHODS:  # the squares are finite, but their sum is not
            with fails("the numbers of feature 0 are too large to square: divide them by a constant"):
                silently(GaussianMixture(2, method=method, random_state=0).fit, X * 1e153)

    @EVERY_CLASS
    def test_as_many_components_as_observations_give_finite_parameters(self, kind):
        """Whether each observation has a component of its own or some components have none."""
        X = draw(kind, 6)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlaitWarning)
            for method in METHODS:
                mine = silently(estimator(kind, 6, method=method).fit, X)
                for value in parameters(mine).values():
                    assert np.isfinite(value).all()
                assert np.isfinite(mine.score(X))

    def test_a_single_observation_can_be_fitted(self):
        mine = GaussianMixture(random_state=0).fit([[1.0, 2.0]])
        np.testing.assert_allclose(mine.means_, [[1.0, 2.0]])
        assert np.isfinite(mine.covariances_).all()

    @pytest.mark.parametrize("method", METHODS)
    def test_a_warning_names_components_without_observations(self, method):
        """One component starts far from all data, and its prior does not pull it closer."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 1))
        mine = GaussianMixture(
            2,
            covariance_type="diag",
            means_init=[[0.0], [1e4]],
            precisions_init=[[1.0], [1.0]],
            weight_concentration_prior=[1.0, 1e-10],
            method=method,
            max_iter=3,
            random_state=0,
        )
        with pytest.warns(PlaitWarning, match="component 1 has no observation: its parameters are those of"):
            silently(mine.fit, X)
        assert np.isfinite(mine.means_).all()
        assert np.isfinite(mine.covariances_).all()
        assert mine.weights_[1] < 0.01
        with pytest.warns(PlaitWarning, match="component 1 has no observation"):
            silently(mine.set_params(polish=False).fit, X)

    def test_a_warning_says_that_em_did_not_converge(self, data):
        with pytest.warns(ConvergenceWarning, match="EM did not converge in max_iter = 2 iterations: raise"):
            mine = estimator("full", method="em", max_iter=2, tol=0.0).fit(data["full"])
        assert not mine.converged_

    @pytest.mark.parametrize("kind", ["bernoulli", "multinomial"])
    def test_unseen_values_have_a_positive_probability(self, kind):
        """Except with a prior of 1 and EM, which then maximises the likelihood alone."""
        X = np.repeat(np.eye(4, dtype=int)[:3], 20, axis=0)
        new = np.array([[1, 1, 1, 1]])
        for method in METHODS:
            mine = estimator(kind, method=method).fit(X)
            assert np.isfinite(mine.score(new))
            assert np.all(mine.probabilities_ > 0)
        prior = {"bernoulli": "ones_prior", "multinomial": "probability_prior"}[kind]
        alone = estimator(kind, method="em", n_init=5, **{prior: 1.0}).fit(X)
        assert np.isneginf(alone.score(new))
        with fails("observation 0 has probability 0 in every state: remove zeros from the parameters"):
            alone.predict(new)

    def test_verbose_shows_progress(self, data, capsys):
        estimator("diag", verbose=1).fit(data["diag"])
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "30" in shown.err
        estimator("diag", method="em", verbose=1).fit(data["diag"])
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) > 1
        assert lines[0].split()[0] == "1"
        estimator("diag").fit(data["diag"])
        assert capsys.readouterr().err == ""


def _exemptions(mine):
    if not isinstance(mine, MultinomialMixture):
        return {}
    why = "takes whatever has predict_proba for a classifier with four classes"
    return {"check_estimator_sparse_array": why, "check_estimator_sparse_matrix": why}


# The checks pass real numbers, or whole ones where an estimator asks for them; a threshold makes them bits.
@pytest.mark.filterwarnings("ignore::plait.errors.PlaitWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        make(method=method, max_iter=20, **options)
        for make, options in (
            (GaussianMixture, {}),
            (PoissonMixture, {}),
            (BernoulliMixture, {"binarize": 0.0}),
            (MultinomialMixture, {}),
        )
        for method in (METHODS if make is GaussianMixture else METHODS[:1])
    ],
    expected_failed_checks=_exemptions,
)
def test_estimator_obeys_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_init", [1, 3])
def test_an_interrupted_fit_keeps_the_best_so_far(n_init, data, monkeypatch):
    def stopped(model, settings, *, callback, **how):
        run = start_run(model, settings, callback=lambda progress: progress.state.sweep == 4, **how)
        raise Interrupted(run)

    monkeypatch.setattr(plan, "start_run", stopped)
    mine = estimator("full", n_init=n_init)
    with pytest.raises(Interrupted):
        mine.fit(data["full"])
    assert mine.run_.sweep == 4
    assert np.isfinite(mine.score(data["full"]))
