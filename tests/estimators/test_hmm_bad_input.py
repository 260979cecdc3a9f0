"""Estimators of hidden Markov models refuse bad input in one line that says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hmm_cases import (
    COVARS,
    EVERY_CLASS,
    LENGTHS,
    MEANS,
    RATES,
    draw_data,
    estimator,
    fails,
    known,
)

from plait.data.sequences import Sequences
from plait.threads import Threads


@pytest.fixture(scope="module")
def data():
    """Return 300 observations in four sequences for every kind."""
    return draw_data()


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
def test_impossible_data_are_refused(kind, X, lengths, message):
    for call in (known(kind).score, known(kind).decode, known(kind).fit):
        with fails(message):
            call(X, lengths)


def test_sequences_of_another_kind_are_refused(data):
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
def test_impossible_settings_are_refused(kind, options, message, data):
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
def test_impossible_settings_of_emissions_are_refused(kind, options, message, data):
    with fails(message):
        estimator(kind, **options).fit(data.get(kind, data["diag"]))


def test_the_collapsed_sampler_refuses_fixed_parameters(data):
    for options in ({"startprob_fixed": [0.2, np.nan, np.nan]}, {"params": "te"}):
        with fails("collapsed.*fixed"):
            estimator("categorical", method="collapsed", **options).fit(data["categorical"])


@pytest.mark.parametrize("kind", ["diag", "poisson"])
def test_collapsed_numbers_are_refused_before_any_work(kind, data, monkeypatch):
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
def test_impossible_parameters_are_refused(kind, name, value, message, method, data):
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
def test_impossible_covariances_are_refused(covariance, value, message):
    mine = known(covariance)
    with fails(message):
        mine.covars_ = value
    assert np.array_equal(mine._covars_, COVARS[covariance])


def test_a_sequence_of_probability_zero_is_refused():
    """Its log-likelihood is minus infinity; it has no posterior and cannot be fitted."""
    mine = known("categorical", method="em")
    mine.emissionprob_ = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    x = [0, 1, 3, 0]
    assert mine.score(x) == -np.inf
    for call in (mine.score_samples, mine.predict_proba, mine.fit):
        with fails("sequence 1 ?.* zeros"):
            call(x, [2, 2])


def test_numbers_too_large_to_square_are_refused():
    with fails("feature 1 .*too large"):
        estimator("diag", 2).fit([[1, 1e200], [2, -1e200], [0, 0]])
