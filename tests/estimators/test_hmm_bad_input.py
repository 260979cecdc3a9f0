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
        (
            "categorical",
            [0, 4],
            None,
            "symbols must be from 0 to 3, got 4 at observation 1: .*increase (n_features|n_symbols)",
        ),
        ("categorical", [0, -2], None, "observation 1 is -2: symbols are whole numbers from 0"),
        ("categorical", [0.5], None, "observation 0 is 0.5: symbols are whole numbers"),
        (
            "categorical",
            [[0, 1]],
            None,
            r"symbols must have one symbol per observation, shape \(N,\) or \(N, 1\), got shape \(1, 2\)",
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
        (
            "poisson",
            [[1, -2]],
            None,
            "counts must be whole numbers of at least 0, got -2 in feature 1 of observation 0",
        ),
        (
            "poisson",
            [[1, 2.5]],
            None,
            "counts must be whole numbers of at least 0, got 2.5 in feature 1 of observation 0",
        ),
        ("poisson", [[1, np.inf]], None, "observation 0 is inf in feature 1: pass finite numbers"),
        ("diag", [[1, np.inf]], None, "observation 0 is inf in feature 1: pass finite numbers"),
        ("diag", [[1, np.nan]], None, "observation 0 is NaN in feature 1: pass missing=True"),
        ("diag", [[1, 2, 3]], None, "the observations have 3 features, but the model has 2: give data"),
        ("poisson", [[1]], None, "the observations have 1 features, but the model has 2: give data"),
        (
            "diag",
            np.zeros((2, 2, 2)),
            None,
            r"values must be symbols of shape \(N,\) or numbers of shape \(N, D\), got 3 dimensions",
        ),
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
    with fails(r"lengths must be None for Sequences, which have lengths, got \[150, 1, 49, 100\]"):
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
        (
            {"method": "vb"},
            "method must be one of 'search', 'blocked', 'single-site', 'collapsed', 'em', got 'vb'",
        ),
        ({"algorithm": "x"}, "algorithm must be one of 'viterbi', 'map', got 'x'"),
        ({"implementation": "x"}, "implementation must be one of 'log', 'scaling', got 'x'"),
        ({"params": "sx"}, "params must be a string of the letters s, t, .*, got 'sx'"),
        ({"init_params": None}, "init_params must be a string of the letters s, t, .*, got None"),
        (
            {"startprob_prior": -1},
            r"startprob_prior\[0\]\[0\] must be 0 or a number from 1e-10 to .*, got -1",
        ),
        (
            {"startprob_prior": [1, 2]},
            r"startprob_prior must be .* shape \(S\) = \(3,\), got .* shape \(2,\)",
        ),
        ({"startprob_prior": [0, 0, 0]}, "row 0 of startprob_prior must not be all zeros"),
        (
            {"transmat_prior": np.ones((2, 2))},
            r"transmat_prior must be .* shape \(S before, S\) = \(3, 3\), got .* shape \(2, 2\)",
        ),
        ({"transmat_prior": "a"}, "transmat_prior must be a number or an array of numbers, got 'a'"),
        (
            {"transmat_prior": np.nan},
            r"transmat_prior\[0\]\[0\] must be 0 or a number from 1e-10 to .*, got nan",
        ),
        (
            {"startprob_fixed": [0.5, 0.5, 0.5]},
            r"row 0 of startprob_fixed must sum to 1 or leave a probability free, got 1.5",
        ),
        (
            {"startprob_fixed": [1, np.nan, 0]},
            "row 0 of startprob_fixed must sum to less than 1, got 1",
        ),
        (
            {"startprob_fixed": [2, np.nan, 0]},
            r"startprob_fixed\[0\]\[0\] must be from 0 to 1, or NaN if it is free, got 2",
        ),
        (
            {"transmat_fixed": np.ones((3, 2))},
            r"transmat_fixed must be .* shape \(S before, S\) = \(3, 3\), got .* shape \(3, 2\)",
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
            "symbols must be from 0 to 2, got 3 at observation 10",
        ),
        ("categorical", {"n_features": 0}, "n_features must be a whole number of at least 1, got 0"),
        (
            "categorical",
            {"emissionprob_prior": np.ones((3, 2))},
            r"emissionprob_prior must be .* shape \(S, W\) = \(3, 4\), got .* shape \(3, 2\)",
        ),
        (
            "categorical",
            {"emissionprob_fixed": np.ones((3, 2))},
            r"emissionprob_fixed must be .* shape \(S, W\) = \(3, 4\), got .* shape \(3, 2\)",
        ),
        (
            "poisson",
            {"method": "collapsed"},
            "the collapsed sampler supports categorical emissions only, not poisson ones: choose blocked",
        ),
        (
            "poisson",
            {"lambdas_prior": 0},
            r"lambdas_prior\[0\]\[0\] must be a number from 1e-10 to .*, got 0",
        ),
        (
            "poisson",
            {"lambdas_prior": np.ones(3)},
            r"lambdas_prior must be .* shape \(S, D\) = \(3, 2\), got .* shape \(3,\)",
        ),
        (
            "poisson",
            {"lambdas_weight": -1},
            r"lambdas_weight\[0\]\[0\] must be a number from 1e-10 to .*, got -1",
        ),
        (
            "poisson",
            {"lambdas_fixed": -np.ones((3, 2))},
            r"lambdas_fixed\[0\]\[0\] must be a finite number of at least 0, got -1",
        ),
        (
            "diag",
            {"method": "collapsed"},
            "the collapsed sampler supports categorical emissions only, not gaussian ones: choose blocked",
        ),
        ("x", {}, "covariance_type must be one of 'spherical', 'diag', 'full', 'tied', got 'x'"),
        ("diag", {"min_covar": -1}, "min_covar must be a number of at least 0, got -1"),
        ("diag", {"min_covar": None}, "min_covar must be a number of at least 0, got None"),
        (
            "diag",
            {"means_prior": [1, 2, 3]},
            r"means_prior must be .* shape \(S, D\) = \(3, 2\), got .* shape \(3,\)",
        ),
        ("diag", {"means_prior": np.nan}, r"means_prior\[0\]\[0\] must be finite, got nan"),
        ("diag", {"means_weight": -1}, r"means_weight\[0\] must be 0 or a number from 1e-10 to .*, got -1"),
        (
            "diag",
            {"covars_prior": 0},
            r"covars_prior\[0\]\[0\] must be a finite number greater than 0, got 0",
        ),
        (
            "spherical",
            {"covars_prior": [1, 1, -1]},
            r"covars_prior\[2\] must be a finite number greater than 0, got -1",
        ),
        (
            "diag",
            {"covars_prior": np.ones((2, 2))},
            r"covars_prior must be .* shape \(3, 2\), as the covariance is diag, got .* shape \(2, 2\)",
        ),
        (
            "full",
            {"covars_prior": np.ones((2, 2))},
            r"covars_prior\[0\] must be positive definite, got a matrix with the eigenvalue 0",
        ),
        (
            "tied",
            {"covars_prior": np.ones((2, 2))},
            "covars_prior must be positive definite, got a matrix with the eigenvalue 0",
        ),
        (
            "full",
            {"covars_prior": [[1, 2], [3, 4]]},
            r"covars_prior\[0\] must be a symmetric matrix, got \[\[1.0, 2.0\], \[3.0, 4.0\]\]",
        ),
        (
            "full",
            {"covars_prior": np.nan},
            r"covars_prior\[0\] must be a symmetric matrix, got \[\[nan, 0.0\], \[0.0, nan\]\]",
        ),
        (
            "diag",
            {"covars_weight": -1},
            r"covars_weight\[0\] must be 0 or a number from 1e-10 to .*, got -1",
        ),
        (
            "tied",
            {"covars_weight": [3, 4, 5]},
            r"covars_weight must be one number for a tied covariance, got \[3.0, 4.0, 5.0\]",
        ),
        (
            "diag",
            {"means_fixed": [[1, np.nan]] * 3},
            "means_fixed must be all numbers or all NaN for each state, got both for state 0",
        ),
        (
            "diag",
            {"means_fixed": [[1, np.inf]] * 3},
            r"means_fixed\[0\]\[1\] must be finite, got inf",
        ),
        (
            "diag",
            {"covars_fixed": [[1, -1]] * 3},
            r"covars_fixed\[0\]\[1\] must be a finite number greater than 0, got -1",
        ),
        (
            "full",
            {"covars_fixed": np.zeros((3, 2, 2))},
            r"covars_fixed\[0\] must be positive definite, got a matrix with the eigenvalue 0",
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
    with fails("the collapsed sampler supports categorical emissions only"):
        estimator(kind, method="collapsed").fit(data[kind])


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        ("categorical", "startprob_", [0.5, 0.5], r"startprob_ must have shape \(3,\), got \(2,\)"),
        ("categorical", "startprob_", [0.5, 0.5, 0.5], "startprob_ must sum to 1, got 1.5"),
        ("categorical", "startprob_", [1.5, -0.5, 0], r"startprob_\[1\] must be from 0 to 1, got -0.5"),
        ("categorical", "startprob_", "abc", "startprob_ must be a number or an array of numbers, got 'abc'"),
        ("diag", "transmat_", np.ones((2, 2)), r"transmat_ must have shape \(3, 3\), got \(2, 2\)"),
        ("diag", "transmat_", np.ones((3, 3)), "row 0 of transmat_ must sum to 1, got 3"),
        ("diag", "transmat_", np.full((3, 3), np.nan), r"transmat_\[0\]\[0\] must be from 0 to 1, got nan"),
        (
            "categorical",
            "emissionprob_",
            np.ones((2, 4)) / 4,
            r"emissionprob_ must have shape \(3, 4\), got \(2, 4\)",
        ),
        ("categorical", "emissionprob_", np.ones((3, 4)), "row 0 of emissionprob_ must sum to 1, got 4"),
        ("poisson", "lambdas_", -RATES, r"lambdas_\[0\]\[0\] must be at least 0, got -1"),
        (
            "poisson",
            "lambdas_",
            RATES[:2],
            r"lambdas_ must have shape \(3, D\), got \(2, 2\)",
        ),
        ("poisson", "lambdas_", RATES * np.nan, r"lambdas_\[0\]\[0\] must be finite, got nan"),
        ("diag", "means_", MEANS - np.inf, r"means_\[0\]\[0\] must be finite, got -inf"),
        ("diag", "means_", MEANS[:2], r"means_ must have shape \(3, D\), got \(2, 2\)"),
        (
            "diag",
            "_covars_",
            -COVARS["diag"],
            r"covars_\[0\]\[0\] must be a finite number greater than 0, got -1",
        ),
        (
            "diag",
            "covars_",
            np.ones((3, 3)),
            r"covars_ has shape \(3, 3\): with .* for S = 3 states and D = 2 features",
        ),
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
        ("spherical", -np.ones(3), r"covars_\[0\] must be a finite number greater than 0, got -1"),
        (
            "diag",
            np.ones(3),
            r"covars_ has shape \(3,\): with covariance_type='diag' give an array of shape \(S, D\)",
        ),
        ("diag", np.zeros((3, 2)), r"covars_\[0\]\[0\] must be a finite number greater than 0, got 0"),
        ("diag", "abc", "covars_ must be a number or an array of numbers, got 'abc'"),
        (
            "diag",
            [[1], [1, 2], [3]],
            r"covars_ must be a number or an array of numbers, got \[\[1\], \[1, 2\], \[3\]\]",
        ),
        (
            "full",
            np.ones((3, 2)),
            r"covars_ has shape \(3, 2\): with covariance_type='full' give an array of shape \(S, D, D\)",
        ),
        ("full", np.ones((3, 2, 1)), r"shape \(3, 2, 1\): with"),
        (
            "full",
            np.ones((3, 2, 2)),
            r"covars_\[0\] must be positive definite, got a matrix with the eigenvalue 0",
        ),
        (
            "tied",
            np.ones((2, 1)),
            r"covars_ has shape \(2, 1\): with covariance_type='tied' give an array of shape \(D, D\)",
        ),
        ("tied", 1.0, r"shape \(\): with"),
        ("tied", [[1, 2], [3, 4]], r"covars_ must be a symmetric matrix, got \[\[1.0, 2.0\], \[3.0, 4.0\]\]"),
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
        with fails("sequence 1 has probability 0 under every state path: remove zeros"):
            call(x, [2, 2])


def test_numbers_too_large_to_square_are_refused():
    with fails("the numbers of feature 1 are too large to square: divide them by a constant"):
        estimator("diag", 2).fit([[1, 1e200], [2, -1e200], [0, 0]])
