"""Estimators and data that the tests of HMM estimators share."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hmmlearn import hmm as theirs

import plait
from plait.errors import PlaitError
from plait.estimators.base_hmm import METHODS
from plait.models.emissions import COVARIANCES

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
    """Return an estimator of either library, not fitted."""
    if library is plait:
        options = FAST | options
    if kind in ("categorical", "poisson"):
        return getattr(library, f"{kind.capitalize()}HMM")(n_components, **options)
    return library.GaussianHMM(n_components, kind, **options)


def emission_parameters(kind):
    """Return the true parameters of the emissions, by attribute."""
    if kind == "categorical":
        return {"emissionprob_": SYMBOLS}
    if kind == "poisson":
        return {"lambdas_": RATES}
    return {"means_": MEANS, "covars_": COVARS[kind]}


def known(kind, library=plait, **options):
    """Return an estimator whose parameters are set to the true ones, from which a fit starts."""
    mine = estimator(kind, library=library, init_params="", **options)
    for name, value in ({"startprob_": START, "transmat_": TRANSITIONS} | emission_parameters(kind)).items():
        setattr(mine, name, value.copy())
    return mine


def parameters(mine):
    """Return all parameters by attribute; covariances in their own form."""
    names = ["startprob_", "transmat_", *emission_attributes(mine)]
    return {name: np.array(getattr(mine, name)) for name in names}


def emission_attributes(mine):
    return ["_covars_" if name == "covars_" else name for name in mine._emission_parameters.values()]


def same_fit(a, b):
    for name, value in parameters(a).items():
        assert np.array_equal(value, getattr(b, name)), name
    assert np.array_equal(a.paths_, b.paths_)
    assert a.log_likelihood_ == b.log_likelihood_
    assert list(a.monitor_.history) == list(b.monitor_.history)


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


@functools.cache
def draw_data(n=N, seed=1):
    """Return observations of every kind, drawn by hmmlearn."""
    return {kind: known(kind, theirs).sample(n, random_state=seed)[0] for kind in KINDS}
