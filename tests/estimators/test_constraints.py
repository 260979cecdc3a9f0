"""Declared constraints: every estimator refuses wrong settings before it looks at the data."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.errors import PlaitError
from plait.estimators.base import RunEstimator, choice, number, optional, whole

ESTIMATORS = [
    plait.LDA,
    plait.CategoricalHMM,
    plait.GaussianHMM,
    plait.PoissonHMM,
    plait.GaussianMixture,
    plait.PoissonMixture,
    plait.BernoulliMixture,
    plait.MultinomialMixture,
    plait.PottsSegmentation,
    plait.FactorialHMM,
]
CONSTRAINED = [(make, name) for make in ESTIMATORS for name in make._constraints]
NAMES_OF_COLUMNS = {"text", "id", "date"}
EVERY_ESTIMATOR = pytest.mark.parametrize("make", ESTIMATORS, ids=lambda make: make.__name__)


@pytest.mark.parametrize(
    ("make", "name"), CONSTRAINED, ids=[f"{make.__name__} {name}" for make, name in CONSTRAINED]
)
@pytest.mark.parametrize("value", ["nonsense", np.nan, [1, 2]], ids=["text", "NaN", "list"])
def test_a_wrong_value_is_refused_by_the_argument_s_name(make, name, value):
    if name in NAMES_OF_COLUMNS and isinstance(value, str):
        return
    if name == "checkpoint" and isinstance(value, str):
        value = b"a path in bytes"  # any text is a path
    with pytest.raises(PlaitError, match=rf"\A{name} must be [^\n]*, got [^\n]*\Z") as caught:
        make(**{name: value}).fit(None)
    assert caught.value.argument == name


@EVERY_ESTIMATOR
def test_constraints_are_about_arguments_of_the_constructor(make):
    assert issubclass(make, RunEstimator)
    assert set(make._constraints) <= set(make().get_params())


@EVERY_ESTIMATOR
def test_defaults_satisfy_the_constraints(make):
    make()._check_settings()


@EVERY_ESTIMATOR
def test_settings_are_checked_by_fit_and_not_before(make):
    estimator = make(n_paths=0)
    assert estimator.get_params()["n_paths"] == 0
    estimator.set_params(n_paths=1)._check_settings()


@EVERY_ESTIMATOR
@pytest.mark.parametrize("value", [0, -1, 2.0, True, None])
def test_the_number_of_paths_is_a_whole_number_of_at_least_one(make, value):
    with pytest.raises(PlaitError, match=f"n_paths must be a whole number of at least 1, got {value}"):
        make(n_paths=value).fit(None)


@pytest.mark.parametrize("make", ESTIMATORS[1:4], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["params", "init_params"])
def test_letters_of_parameters_are_checked(make, name):
    with pytest.raises(
        PlaitError, match=f"{name} must be a string of the letters s, t, .*, got 'xyz'"
    ) as caught:
        make(**{name: "xyz"}).fit(None)
    assert caught.value.argument == name


def test_the_burn_in_leaves_a_sweep():
    with pytest.raises(PlaitError) as caught:
        plait.PottsSegmentation(n_iter=5, n_burn=5).fit(None)
    assert caught.value.argument == "n_burn"


NUMBERS = np.arange(12.0).reshape(6, 2)
PRIORS = [
    (plait.LDA, ["doc_topic_prior", "topic_word_prior"]),
    (plait.CategoricalHMM, ["startprob_prior", "transmat_prior", "emissionprob_prior"]),
    (plait.GaussianHMM, ["means_prior", "means_weight", "covars_prior", "covars_weight", "means_fixed"]),
    (plait.PoissonHMM, ["lambdas_prior", "lambdas_weight", "lambdas_fixed", "startprob_fixed"]),
    (plait.GaussianMixture, ["weight_concentration_prior", "mean_prior", "mean_precision_prior"]),
    (plait.GaussianMixture, ["covariance_prior", "degrees_of_freedom_prior", "means_init", "weights_init"]),
    (plait.PoissonMixture, ["rate_prior", "rate_weight_prior", "rates_init"]),
    (plait.BernoulliMixture, ["ones_prior", "zeros_prior", "probabilities_init"]),
    (plait.MultinomialMixture, ["probability_prior", "probabilities_init"]),
    (
        plait.FactorialHMM,
        ["startprob_prior", "transmat_prior", "means_prior", "means_weight", "covars_prior"],
    ),
    (plait.FactorialHMM, ["covars_weight", "stay_prior"]),
    (plait.PottsSegmentation, ["coupling", "neighbours"]),
]
PRIORS = [(make, name) for make, names in PRIORS for name in names]


@pytest.mark.parametrize(("make", "name"), PRIORS, ids=[f"{make.__name__} {name}" for make, name in PRIORS])
def test_what_the_model_refuses_has_the_name_that_the_estimator_gives_it(make, name):
    X = np.array([0, 1, 2, 1, 0, 1]) if make is plait.CategoricalHMM else NUMBERS
    X = (X > 5).astype(int) if make is plait.BernoulliMixture else X
    with pytest.raises(PlaitError, match=rf"\A[^\n]*\b{name}\b[^\n]*\Z") as caught:
        make(n_components=2, **{name: "nonsense"}).fit(X)
    assert caught.value.argument == name


class TestConstraints:
    @pytest.mark.parametrize(
        ("constraint", "allowed", "refused"),
        [
            (whole(1), [1, 10**9, np.int8(3)], [0, 1.0, "1", None]),
            (whole(0, 2), [0, 2], [-1, 3]),
            (number(), [0, 0.5, np.float32(1)], [-1e-9, np.inf, "0", None]),
            (number(None), [-5, 0.0], [np.nan, None]),
            (choice("a", "b"), ["a", "b"], ["c", 1, None]),
            (optional(number(None)), [None, -1.0], ["a"]),
        ],
        ids=["whole", "range", "number", "any number", "choice", "optional"],
    )
    def test_a_constraint_allows_these_values_and_refuses_those(self, constraint, allowed, refused):
        for value in allowed:
            constraint("x", value)
        for value in refused:
            with pytest.raises(PlaitError) as caught:
                constraint("x", value)
            assert caught.value.argument == "x"
