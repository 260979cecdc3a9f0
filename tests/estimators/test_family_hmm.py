"""The estimator with a family for each column, and those of mixtures and of rows of counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hmmlearn import hmm as theirs
from sklearn.base import clone

import plait
from plait.errors import NotSupported, PlaitError
from plait.models.emissions import FAMILIES

FAST = {"n_iter": 10, "n_paths": 2, "random_state": 0, "n_jobs": 1, "method": "blocked"}
N = 200
STATES = np.repeat(np.random.default_rng(0).integers(0, 2, N // 10), 10)


def walk():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "place": ["x"] * N,
            "step": rng.gamma(4.0, np.array([1.0, 5.0])[STATES]),
            "angle": rng.vonmises(np.array([3.0, 0.0])[STATES], np.array([1.0, 4.0])[STATES]),
            "u": rng.normal(STATES),
            "v": rng.normal(STATES),
            "seen": rng.integers(0, 2, N),
        },
        index=pd.date_range("2024-01-01", periods=N, freq="h"),
    )


WALK = walk()
CHOICE = {
    "step": "gamma",
    "angle": ("vonmises", {"concentration_weight": 0.1}),
    ("u", "v"): ("gaussian", {"covariance": "full"}),
    "seen": "categorical",
}


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


@pytest.fixture(scope="module")
def fitted():
    return plait.HMM(2, CHOICE, **FAST).fit(WALK)


def test_each_column_has_its_family(fitted):
    assert list(fitted.emissions_) == list(CHOICE)
    assert set(fitted.emissions_["step"]) == {"means", "shapes"}
    assert fitted.emissions_["step"]["means"].shape == (2, 1)
    assert fitted.emissions_["u", "v"]["covariances"].shape == (2, 2, 2)
    assert (fitted.predict(WALK).to_numpy() == STATES).mean() > 0.97


def test_results_keep_the_index_of_a_frame(fitted):
    assert fitted.predict(WALK).index.equals(WALK.index)
    assert fitted.predict_proba(WALK).index.equals(WALK.index)
    assert fitted.run_.model.sequences.times[0].startswith("2024-01-01")


def test_columns_that_are_not_listed_are_not_used(fitted):
    shuffled = WALK[WALK.columns[::-1]].assign(place="y", more=1.0)
    assert fitted.score(shuffled) == fitted.score(WALK)


def test_arrays_have_numbers_for_names():
    X = WALK[["step", "angle"]].to_numpy()
    named = plait.HMM(2, {"step": "gamma", "angle": "vonmises"}, **FAST).fit(WALK)
    numbered = plait.HMM(2, {0: "gamma", 1: "vonmises"}, **FAST).fit(X)
    assert np.array_equal(named.emissions_["step"]["means"], numbered.emissions_[0]["means"])
    assert plait.HMM(2, {1: "gamma"}, **FAST).fit(X[:, ::-1]).n_features == 1


def test_the_log_likelihood_is_that_of_the_parts(fitted):
    """With all emissions certain of one state, the parts' log-densities add up."""
    parts = fitted.run_.model.emissions
    own = fitted.run_.parameters().emissions
    together = parts.weights(own, 0, N)
    apart = 0.0
    for part, parameters in zip(parts.parts, own.parts, strict=True):
        logs = part.log_weights(parameters, 0, N)
        apart = apart + (logs if part.logs else logs[part.rows])
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_a_saved_fit_scores_and_fits_as_before(fitted, tmp_path):
    fitted.save(tmp_path / "walk.plait")
    again = plait.HMM.from_run(tmp_path / "walk.plait")
    assert again.score(WALK) == fitted.score(WALK)
    assert list(again.emissions) == list(CHOICE)
    assert set(clone(again).emissions["step"][1]) == {
        "mean_prior",
        "mean_weight",
        "shape_prior",
        "shape_weight",
    }
    again.set_params(random_state=0).fit(WALK)
    np.testing.assert_array_equal(again.emissions_["step"]["means"], fitted.emissions_["step"]["means"])


def test_missing_numbers_leave_the_other_columns(fitted):
    gaps = WALK.copy()
    gaps.iloc[3, 1] = np.nan
    gaps.iloc[4, 3] = np.nan
    gaps.iloc[7, 1:] = np.nan
    with fails("NaN"):
        fitted.score(gaps)
    some = plait.HMM(2, CHOICE, missing=True, **FAST).fit(gaps)
    assert np.isfinite(some.score(gaps))
    assert (some.predict(gaps).to_numpy() == STATES).mean() > 0.9


def test_samples_have_the_columns_of_the_data(fitted):
    X, states = fitted.sample(300, random_state=0)
    assert X.shape == (300, 5)
    assert (X[:, 0] > 0).all()
    assert set(X[:, 4]) == {0.0, 1.0}
    assert (
        fitted.predict(pd.DataFrame(X, columns=["step", "angle", "u", "v", "seen"])) == states
    ).mean() > 0.9


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {"categorical"}))
def test_every_family_fits_all_columns(family):
    rng = np.random.default_rng(2)
    X = {
        "bernoulli": (rng.random(N) < 0.2 + 0.6 * STATES)[:, None] * 1.0,
        "vonmises": WALK[["angle"]].to_numpy(),
        "negative-binomial": rng.poisson(1 + 6 * STATES)[:, None],
        "poisson": rng.poisson(1 + 6 * STATES)[:, None],
        "regression": np.column_stack([2 * STATES * WALK["u"] + rng.normal(size=N), WALK["u"]]),
    }.get(family, WALK[["step"]].to_numpy())
    mine = plait.HMM(2, family, **FAST).fit(X)
    assert np.isfinite(mine.score(X))
    assert all(np.isfinite(array).all() for array in mine.emissions_.values())
    again = plait.HMM.from_run(mine.run_)
    assert again.score(X) == mine.score(X)
    if family == "regression":
        with pytest.raises(NotSupported, match="covariates have no distribution"):
            mine.sample(5)
    else:
        assert mine.sample(5, random_state=1)[0].shape == (5, X.shape[1])


def test_symbols_may_be_the_only_column():
    mine = plait.HMM(2, "categorical", **FAST).fit(WALK["seen"].to_numpy())
    assert mine.emissions_["probabilities"].shape == (2, 2)


BAD = {
    "gamma": ([[1.0], [0.0], [2.0]], "greater than 0, got 0 in feature 0 of observation 1"),
    "lognormal": ([[1.0], [-3.0]], "greater than 0, got -3"),
    "exponential": ([[1.0], [-3.0]], "at least 0, got -3"),
    "vonmises": ([[1.0], [270.0]], "radians.*got 270"),
    "negative-binomial": ([[1.0], [2.5]], "whole numbers.*got 2.5"),
    "bernoulli": ([[1.0], [2.0]], "0 or 1, got 2"),
    "autoregressive": ([[1.0, 2.0], [2.0, 3.0]], "one column, got 2"),
    "student": ([[1e200], [-1e200]], "too large to square"),
    "categorical": ([[0.5], [1.0]], "whole numbers"),
}


@pytest.mark.parametrize("family", BAD)
def test_numbers_that_a_family_does_not_have_are_refused(family):
    X, message = BAD[family]
    with fails(message):
        plait.HMM(2, family, **FAST).fit(np.array(X))


@pytest.mark.parametrize(
    "family",
    ["exponential", "gamma", "lognormal", "negative-binomial", "student", "vonmises", "autoregressive"],
)
@pytest.mark.parametrize("method", ["blocked", "em"])
@pytest.mark.filterwarnings("ignore::plait.PlaitWarning")  # about states without observations
def test_constant_data_give_finite_parameters(family, method):
    mine = plait.HMM(2, family, **(FAST | {"method": method})).fit(np.full((20, 1), 3.0))
    assert all(np.isfinite(array).all() for array in mine.emissions_.values())


@pytest.mark.parametrize(
    ("emissions", "message"),
    [
        ("normal", "must be one of"),
        ({"step": "normal"}, "must be one of"),
        ({}, "at least one column"),
        (3, "must be the name of a family"),
        ({"step": ("gamma", 1)}, "must be the name of a family"),
        ({"step": ("gamma", {"shapes": 1})}, "does not take these options"),
        ({"nowhere": "gamma"}, "no column 'nowhere' among 'place', 'step'"),
        ({"step": ("gamma", {"mean_weight": -1})}, "mean_weight.* must be"),
        ({("u", "v"): "categorical"}, "symbols are one column"),
        ({("step", "u"): "gamma"}, "greater than 0, got .* in column 'u'"),
    ],
)
def test_wrong_families_are_explained(emissions, message):
    with fails(message):
        plait.HMM(2, emissions, **FAST).fit(WALK)


def test_the_collapsed_sampler_is_refused():
    with fails("categorical emissions only, not mixed"):
        plait.HMM(2, CHOICE, **(FAST | {"method": "collapsed"})).fit(WALK)


# ---------------------------------------------------------------------------------------------------------
# hmmlearn's other classes
# ---------------------------------------------------------------------------------------------------------


def mixtures(library, covariance):
    rng = np.random.default_rng(4)
    mine = library.GMMHMM(2, 3, covariance_type=covariance)
    mine.startprob_, mine.transmat_ = np.array([0.4, 0.6]), np.array([[0.8, 0.2], [0.3, 0.7]])
    mine.weights_ = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    mine.means_ = rng.normal(size=(2, 3, 2))
    roots = rng.normal(size=(2, 3, 2, 2))
    full = roots @ roots.transpose(0, 1, 3, 2) + np.eye(2)
    mine.covars_ = {
        "spherical": full[..., 0, 0],
        "diag": np.einsum("skii->ski", full),
        "full": full,
        "tied": full[:, 0],
    }[covariance].copy()
    return mine


@pytest.mark.parametrize("covariance", ["spherical", "diag", "full", "tied"])
def test_mixtures_have_the_likelihood_of_hmmlearn(covariance):
    X = np.random.default_rng(5).normal(size=(60, 2)) * 2
    mine, other = mixtures(plait, covariance), mixtures(theirs, covariance)
    assert mine.score(X, [20, 40]) == pytest.approx(other.score(X, [20, 40]), rel=1e-10)
    np.testing.assert_allclose(mine.predict_proba(X), other.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("covariance", ["spherical", "diag", "full", "tied"])
def test_a_fit_of_mixtures_can_be_resumed_from_its_file(covariance, tmp_path):
    X, _ = mixtures(plait, covariance).sample(80, random_state=1)
    mine = plait.GMMHMM(2, 2, covariance_type=covariance, **FAST).fit(X)
    mine.save(tmp_path / "mixtures.plait")
    again = plait.GMMHMM.from_run(tmp_path / "mixtures.plait")
    assert again.score(X) == mine.score(X)
    whole = plait.sample(mine.run_.model, n_paths=2, n_sweeps=6, seed=3)
    half = plait.sample(mine.run_.model, n_paths=2, n_sweeps=4, seed=3)
    half.save(tmp_path / "half.plait")
    assert np.array_equal(plait.resume(tmp_path / "half.plait", n_sweeps=6).paths, whole.paths)


def test_means_and_weights_of_mixtures_can_be_kept():
    X, _ = mixtures(plait, "diag").sample(80, random_state=1)
    mine = plait.GMMHMM(2, 3, params="stc", init_params="stc", **FAST)
    given = mixtures(plait, "diag")
    mine.means_, mine.weights_ = given.means_.copy(), given.weights_.copy()
    mine.fit(X)
    np.testing.assert_array_equal(mine.means_, given.means_)
    np.testing.assert_allclose(mine.weights_, given.weights_)


def test_rows_of_counts_have_the_likelihood_of_hmmlearn():
    X = np.random.default_rng(6).multinomial(5, [0.2, 0.5, 0.3], 40)
    scores = []
    for library in (plait, theirs):
        mine = library.MultinomialHMM(2, n_trials=5)
        mine.startprob_, mine.transmat_ = np.array([0.4, 0.6]), np.array([[0.8, 0.2], [0.3, 0.7]])
        mine.emissionprob_ = np.array([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]])
        scores.append(mine.score(X))
    assert scores[0] == pytest.approx(scores[1], rel=1e-10)
    fitted = plait.MultinomialHMM(2, **FAST).fit(X)
    assert (fitted.n_trials == 5).all()
    assert plait.MultinomialHMM.from_run(fitted.run_).score(X) == fitted.score(X)
