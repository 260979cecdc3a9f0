"""A run, or the file of one, as a fitted estimator: `from_run` of every estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import plait
from plait.errors import PlaitError
from plait.evaluate.states import summarise_states
from plait.fitting.plan import Plan
from plait.fitting.stored import fit_and_store
from plait.models.emissions import PoissonEmissions
from plait.models.hmm import HmmModel
from plait.run import load

LENGTHS = [30, 50]
COMMON = {"random_state": 3, "n_jobs": 1, "n_paths": 2}


class Case(NamedTuple):
    estimator: Any
    X: Any
    attributes: tuple[str, ...]
    methods: tuple[str, ...]
    lengths: Any = None

    def arguments(self):
        return (self.X,) if self.lengths is None else (self.X, self.lengths)


def make_cases():
    rng = np.random.default_rng(0)
    state = (np.arange(80) // 8) % 2
    numbers = rng.normal(size=(80, 2)) + 4.0 * state[:, None]
    gaps = numbers.copy()
    gaps[7] = np.nan
    counts = rng.poisson(1.0 + 5.0 * state[:, None] + np.zeros((80, 2)))
    bits = (rng.random((80, 5)) < np.where(state, 0.8, 0.2)[:, None]).astype(int)
    symbols = np.where(rng.random(80) < 0.8, state, 2)
    words = rng.multinomial(12, [0.5, 0.3, 0.2], size=80)
    image = rng.normal(size=(7, 9)) + 3.0 * (np.arange(9) > 4)

    lda = (
        "components_",
        "topic_word_",
        "doc_topic_",
        "paths_",
        "agreement_",
        "n_iter_",
        "seed_",
        "n_features_in_",
    )
    chain = ("startprob_", "transmat_", "paths_", "log_likelihood_", "n_features")
    hmm_methods = ("score", "predict", "decode", "predict_proba", "aic", "bic")
    mixture = (
        "weights_",
        "paths_",
        "lower_bound_",
        "lower_bounds_",
        "converged_",
        "n_iter_",
        "n_features_in_",
    )
    mixture_methods = ("score", "predict", "predict_proba", "score_samples", "aic", "bic")
    factorial = (
        "startprob_",
        "transmat_",
        "means_",
        "intercept_",
        "covars_",
        "paths_",
        "seed_",
        "agreement_",
    )

    cases = {
        "lda": Case(
            plait.LDA(3, max_iter=8, doc_topic_prior=1.0, topic_word_prior=0.1, **COMMON),
            words,
            lda,
            ("transform", "score", "perplexity"),
        ),
        "lda collapsed": Case(
            plait.LDA(
                3,
                max_iter=8,
                method="collapsed",
                doc_topic_prior=[0.5, 1.0, 2.0],
                topic_word_prior=0.01,
                **COMMON,
            ),
            words,
            lda,
            ("transform", "score"),
        ),
        "factorial": Case(
            plait.FactorialHMM(2, 2, n_iter=8, search=0, **COMMON),
            numbers,
            factorial,
            ("predict", "score"),
            LENGTHS,
        ),
    }
    hmms = {
        "categorical": (
            plait.CategoricalHMM,
            symbols,
            ("emissionprob_",),
            ("blocked", "single-site", "collapsed", "em"),
        ),
        "gaussian": (plait.GaussianHMM, numbers, ("means_", "covars_"), ("blocked", "em")),
        "poisson": (plait.PoissonHMM, counts, ("lambdas_",), ("blocked", "em")),
    }
    for name, (make, X, own, methods) in hmms.items():
        for method in methods:
            estimator = make(2, n_iter=8, method=method, **COMMON)
            cases[f"{name} hmm {method}"] = Case(estimator, X, chain + own, hmm_methods, LENGTHS)
    for covariance in ("spherical", "full", "tied"):
        estimator = plait.GaussianHMM(2, covariance, n_iter=8, **COMMON)
        cases[f"{covariance} hmm"] = Case(
            estimator, numbers, (*chain, "means_", "covars_"), hmm_methods, LENGTHS
        )
    sampled = plait.PoissonHMM(2, n_iter=8, polish=False, **COMMON)
    cases["hmm without polish"] = Case(sampled, counts, (*chain, "lambdas_"), hmm_methods, LENGTHS)
    fixed = plait.GaussianHMM(
        2,
        n_iter=8,
        missing=True,
        startprob_fixed=[1.0, 0.0],
        means_fixed=[[0.0, 0.0], [np.nan] * 2],
        **COMMON,
    )
    cases["hmm with gaps and fixed"] = Case(fixed, gaps, (*chain, "means_", "covars_"), hmm_methods, LENGTHS)
    mixtures = {
        "gaussian": (plait.GaussianMixture, numbers, ("means_", "covariances_", "precisions_")),
        "poisson": (plait.PoissonMixture, counts, ("rates_",)),
        "bernoulli": (plait.BernoulliMixture, bits, ("probabilities_",)),
        "multinomial": (plait.MultinomialMixture, words, ("probabilities_", "lengths_")),
    }
    for name, (make, X, own) in mixtures.items():
        for method in ("partially-collapsed", "collapsed", "em"):
            estimator = make(2, max_iter=30, method=method, **COMMON)
            cases[f"{name} mixture {method}"] = Case(estimator, X, mixture + own, mixture_methods)
    for emissions, picture, own in (
        ("gaussian", image, ("means_", "covariances_")),
        ("categorical", (image > 1.5).astype(int), ("emissionprob_",)),
        ("poisson", np.round(np.exp(image / 3)).astype(int), ("rates_",)),
    ):
        estimator = plait.PottsSegmentation(2, emissions=emissions, n_iter=8, n_init=1, **COMMON)
        cases[f"potts {emissions}"] = Case(estimator, picture, ("paths_", "n_iter_", "seed_", *own), ())
    return cases


CASES = make_cases()
EVERY_CASE = pytest.mark.parametrize("name", CASES)
CLASSES = {
    "lda": plait.LDA,
    "categorical hmm blocked": plait.CategoricalHMM,
    "gaussian hmm blocked": plait.GaussianHMM,
    "poisson hmm blocked": plait.PoissonHMM,
    "gaussian mixture collapsed": plait.GaussianMixture,
    "poisson mixture collapsed": plait.PoissonMixture,
    "bernoulli mixture collapsed": plait.BernoulliMixture,
    "multinomial mixture collapsed": plait.MultinomialMixture,
    "potts gaussian": plait.PottsSegmentation,
    "factorial": plait.FactorialHMM,
}


@pytest.fixture(scope="module")
def fitted():
    """Return a function that fits a case, once."""
    fits = {}

    def fit(name):
        if name not in fits:
            case = CASES[name]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fits[name] = case.estimator.fit(*case.arguments())
        return fits[name]

    return fit


def assert_same_attributes(mine, other, names):
    for name in (*names, "trace_"):
        a, b = getattr(mine, name), getattr(other, name)
        if name == "trace_":
            a, b = a.log_joint, b.log_joint
        np.testing.assert_array_equal(a, b, err_msg=name)


@EVERY_CASE
@pytest.mark.parametrize("source", ["run", "file", "loaded"])
def test_attributes_are_those_of_the_fitted_estimator(name, source, fitted, tmp_path):
    case, original = CASES[name], fitted(name)
    run = original.run_
    if source != "run":
        run = tmp_path / "run.plait"
        original.run_.save(run)
        run = str(run) if source == "file" else load(run)
    again = type(original).from_run(run)
    assert type(again) is type(original)
    assert_same_attributes(again, original, case.attributes)


@EVERY_CASE
def test_methods_answer_as_those_of_the_fitted_estimator(name, fitted):
    case, original = CASES[name], fitted(name)
    again = type(original).from_run(original.run_)
    for method in case.methods:
        mine, other = (getattr(estimator, method)(*case.arguments()) for estimator in (again, original))
        if method == "decode":
            assert mine[0] == other[0]
            mine, other = mine[1], other[1]
        np.testing.assert_array_equal(mine, other, err_msg=method)


@EVERY_CASE
def test_a_refit_with_the_same_seed_is_the_same_fit(name, fitted, tmp_path):
    """So the settings that `from_run` finds are those of the fit."""
    case, original = CASES[name], fitted(name)
    original.run_.save(tmp_path / "x")
    again = type(original).from_run(tmp_path / "x")
    known = {"n_init": 1} if "n_init" in again.get_params() else {}
    if name == "gaussian mixture em":
        # The run does not tell that no prior was given, which lets EM climb the likelihood alone.
        known |= dict.fromkeys(original._priors)
    again.set_params(random_state=3, n_jobs=1, **known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        again.fit(*case.arguments())
    assert_same_attributes(again, original, case.attributes)


@EVERY_CASE
def test_settings_are_those_of_the_run(name, fitted):
    original = fitted(name)
    found = type(original).from_run(original.run_).get_params()
    given = original.get_params()
    told = {
        "n_components",
        "n_chains",
        "n_iter",
        "max_iter",
        "method",
        "polish",
        "covariance_type",
        "missing",
    }
    told |= {"emissions", "coupling", "search", "spatial_dims", "min_covar", "reg_covar", "stay_prior"}
    for setting in told & found.keys():
        if setting == "polish" and given.get("method") == "em":
            continue  # it does not matter there
        assert found[setting] == given[setting], setting
    if given.get("method") != "em":
        assert found["n_paths"] == 2


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("other", CLASSES)
def test_a_run_of_another_model_is_refused(name, other, fitted):
    if name == other:
        return
    run, wanted = fitted(name).run_, CLASSES[other]
    kind, other_kind = run.model.kind, fitted(other).run_.model.kind
    if kind != other_kind:
        message = f"the run holds a model of the kind '{kind}': .* takes runs of the kind '{other_kind}'"
    else:
        own, others = run.model.emissions.kind, fitted(other).run_.model.emissions.kind
        message = f"the run has {own} emissions: {wanted.__name__} takes runs with {others} ones"
    with pytest.raises(PlaitError, match=message):
        wanted.from_run(run)


@pytest.mark.parametrize("name", CLASSES)
def test_an_unfinished_run_can_be_used(name, fitted):
    original = fitted(name)
    stopped = plait.sample(
        original.run_.model, n_paths=2, n_sweeps=20, n_jobs=1, callback=lambda now: now.state.sweep == 3
    )
    assert not stopped.finished
    again = type(original).from_run(stopped)
    assert again.run_ is stopped
    assert again.run_.sweep == 3
    for method in CASES[name].methods[:2]:
        assert np.isfinite(np.asarray(getattr(again, method)(*CASES[name].arguments()))).all()


def test_a_file_that_is_no_run_is_refused(tmp_path):
    (tmp_path / "x").write_text("hello")
    with pytest.raises(PlaitError, match="is not a plait model"):
        plait.LDA.from_run(tmp_path / "x")


def test_states_of_the_last_sweep_stand_for_those_of_late_sweeps(fitted):
    """A run holds its last paths alone, so these are what labels and states are counted from."""
    potts = plait.PottsSegmentation.from_run(fitted("potts gaussian").run_)
    share = potts.paths_.mean(axis=0)
    np.testing.assert_allclose(potts.probabilities_[..., 1], share)
    np.testing.assert_array_equal(potts.labels_, potts.probabilities_.argmax(axis=-1))
    factorial = plait.FactorialHMM.from_run(fitted("factorial").run_)
    assert factorial.states_.shape == (80, 2)
    unanimous = np.ptp(factorial.paths_, axis=0) == 0
    np.testing.assert_array_equal(factorial.states_[unanimous], factorial.paths_[0][unanimous])


def test_states_are_in_canonical_order_whatever_their_numbers_in_the_run(fitted):
    original = fitted("poisson hmm blocked")
    run = original.run_
    swapped = replace(run, paths=1 - run.paths, estimate=run.estimate.permuted(np.array([1, 0])))
    again = plait.PoissonHMM.from_run(swapped)
    np.testing.assert_array_equal(again.lambdas_, original.lambdas_)
    np.testing.assert_array_equal(again.paths_, original.paths_)


def test_a_run_of_the_sampler_gives_the_mean_parameters():
    sequences = plait.Sequences.from_values(CASES["poisson hmm blocked"].X, LENGTHS)
    run = plait.sample(HmmModel(PoissonEmissions(sequences, 2)), n_paths=2, n_sweeps=5, n_jobs=1)
    hmm = plait.PoissonHMM.from_run(run)
    parameters = run.parameters(1)
    order = run.model.canonical_order(parameters)
    np.testing.assert_array_equal(hmm.lambdas_, parameters.emissions.rates[order])
    assert not hmm.get_params()["polish"]


def test_the_restarts_of_a_stored_fit_are_among_the_settings(tmp_path):
    sequences = plait.Sequences.from_values(CASES["poisson hmm blocked"].X, LENGTHS)
    model = HmmModel(PoissonEmissions(sequences, 2))
    run = fit_and_store(model, Plan(2, 5), tmp_path / "x", seed=0, n_init=4, n_jobs=1)
    assert plait.PoissonHMM.from_run(run).n_init == 4


def test_the_seed_and_tolerance_of_a_stored_fit_are_among_the_settings(tmp_path):
    sequences = plait.Sequences.from_values(CASES["poisson hmm blocked"].X, LENGTHS)
    plan = Plan(2, 5, em_iterations=5)
    model = HmmModel(PoissonEmissions(sequences, 2))
    fit_and_store(model, plan, tmp_path / "x", seed=7, tol=0.5, n_jobs=1)
    settings = plait.PoissonHMM.from_run(tmp_path / "x").get_params()
    assert (settings["random_state"], settings["tol"], settings["polish"]) == (7, 0.5, True)


def test_runs_of_potts_fields_with_other_emissions_are_refused():
    bits = plait.Sequences.from_values(np.array([0.0, 1, 1, 0]))
    for emissions in (plait.BernoulliEmissions(bits, 2), plait.MultinomialEmissions(np.eye(4), 2)):
        run = plait.sample(plait.PottsModel(emissions, (2, 2)), n_paths=1, n_sweeps=1, n_jobs=1)
        message = f"the run has {emissions.kind} emissions: PottsSegmentation takes runs with gaussian, categ"
        with pytest.raises(PlaitError, match=message):
            plait.PottsSegmentation.from_run(run)


def test_states_that_the_user_numbered_keep_their_numbers(tmp_path):
    hmm = plait.PoissonHMM(2, n_iter=8, init_params="st", **COMMON)
    hmm.lambdas_ = np.array([[6.0, 6.0], [1.0, 1.0]])  # not in canonical order
    hmm.fit(CASES["poisson hmm blocked"].X, LENGTHS)
    assert hmm.lambdas_[0, 0] > hmm.lambdas_[1, 0]
    hmm.run_.save(tmp_path / "x")
    again = plait.PoissonHMM.from_run(tmp_path / "x")
    np.testing.assert_array_equal(again.lambdas_, hmm.lambdas_)
    np.testing.assert_array_equal(again.paths_, hmm.paths_)
    assert summarise_states(load(tmp_path / "x"))[0].emissions["rates"] == tuple(hmm.lambdas_[0])
