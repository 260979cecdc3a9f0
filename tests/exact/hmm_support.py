"""Shared parts of the exactness tests of hidden Markov models. For tests of fit see `support.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hmm_oracle import Counts, Hmm, Normals, Phi, Rows, Symbols, as_matrix, joint_distribution
from oracle import Floats
from scipy import stats
from support import THREADS, settings
from threadpoolctl import threadpool_limits

from plait.data.sequences import Sequences
from plait.models import chain as module
from plait.models.chain import HmmParameters
from plait.models.emissions import (
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.hmm import HmmModel
from plait.sampler import State, step

# On a busy machine OpenBLAS takes milliseconds to split a 2 x 2 matrix between threads.
threadpool_limits(1, user_api="blas")

# ---------------------------------------------------------------------------------------------------------
# Samplers
# ---------------------------------------------------------------------------------------------------------

BLOCKED, BOTH_ENDS, SITES, TABLE, COLLAPSED = "blocked", "both ends", "sites", "table", "collapsed"
"""Whole paths; the same with filters from both ends; single sites without and with a table of thresholds."""

FOR_SYMBOLS = [BLOCKED, BOTH_ENDS, SITES, TABLE, COLLAPSED]
FOR_NUMBERS = [BLOCKED, BOTH_ENDS, SITES]


def choose(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make plait use a sampler that it would use only for other sizes. Call it before building the model."""
    if sampler == BOTH_ENDS:
        monkeypatch.setattr(module, "_LONG", 2)
    if sampler == TABLE:  # whatever its size
        monkeypatch.setattr(module, "math", SimpleNamespace(prod=lambda _: 0, fsum=math.fsum))
    if sampler == SITES:
        monkeypatch.setattr(module, "_MOST_THRESHOLDS", 0)


# ---------------------------------------------------------------------------------------------------------
# plait's models of the oracle's
# ---------------------------------------------------------------------------------------------------------


def plait_emissions(emissions: Symbols | Normals | Counts, lengths: Any) -> Any:
    if isinstance(emissions, Symbols):
        sequences = Sequences.from_symbols(emissions.values, lengths, missing=True)
        prior = emissions.rows.prior
        return CategoricalEmissions(
            sequences, len(prior), prior=prior, n_symbols=prior.shape[1], fixed=emissions.rows.fixed
        )
    sequences = Sequences.from_values(emissions.values, lengths, missing=True)
    if isinstance(emissions, Counts):
        return PoissonEmissions(
            sequences,
            len(emissions.shape),
            prior=emissions.shape,
            prior_weight=emissions.weight,
            fixed=emissions.fixed,
        )
    return GaussianEmissions(
        sequences,
        len(emissions.mean_prior),
        covariance=emissions.covariance,
        mean_prior=emissions.mean_prior,
        mean_weight=emissions.mean_weight,
        covariance_prior=emissions.scale,
        covariance_weight=emissions.degrees,
        fixed_means=emissions.fixed_means,
        fixed_covariances=emissions.fixed_covariances,
    )


def plait_model(hmm: Hmm, sampler: str = BLOCKED) -> HmmModel:
    return HmmModel(
        plait_emissions(hmm.emissions, hmm.lengths),
        hmm.start.prior[0],
        hmm.transitions.prior,
        hmm.start.fixed,
        hmm.transitions.fixed,
        blocked=sampler in (BLOCKED, BOTH_ENDS),
    )


def plait_parameters(hmm: Hmm, phi: Phi) -> HmmParameters:
    if isinstance(hmm.emissions, Symbols):
        emissions: Any = CategoricalParameters(phi.emissions)
    elif isinstance(hmm.emissions, Counts):
        emissions = PoissonParameters(phi.emissions)
    else:
        emissions = NormalParameters(*phi.emissions, hmm.emissions.covariance)
    return HmmParameters(phi.start, phi.transitions, emissions)


def oracle_phi(parameters: HmmParameters) -> Phi:
    own = parameters.emissions
    if isinstance(own, CategoricalParameters):
        return Phi(parameters.start, parameters.transitions, own.probabilities)
    if isinstance(own, PoissonParameters):
        return Phi(parameters.start, parameters.transitions, own.rates)
    return Phi(parameters.start, parameters.transitions, (own.means, own.covariances))


def sweeps_from_exact(hmm: Hmm, n_paths: int, sampler: str, n: int, seed: int) -> Iterator[State]:
    """Yield n independent states: each drawn from the exact distribution, then moved by one sweep."""
    model = plait_model(hmm, sampler)
    states, probabilities, _ = joint_distribution(hmm, n_paths)
    rng = np.random.default_rng(seed)
    chosen = states[rng.choice(len(probabilities), size=n, p=probabilities)]
    how = settings(n_paths, sampler == COLLAPSED, seed)
    for k in range(n):
        yield step(model, State(k, chosen[k]), how, THREADS)


def chain(hmm: Hmm, n_paths: int, sampler: str, n: int, seed: int, burn: int = 100) -> Iterator[State]:
    """Yield n states of one run of plait. The next state overwrites their arrays."""
    model, how = plait_model(hmm, sampler), settings(n_paths, sampler == COLLAPSED, seed)
    state = State(0, model.initial_paths(n_paths, seed, THREADS))
    for k in range(burn + n):
        state = step(model, state, how, THREADS)
        if k >= burn:
            yield state


# ---------------------------------------------------------------------------------------------------------
# Tiny problems
# ---------------------------------------------------------------------------------------------------------
# All priors differ, so that an index or a constant taken from the wrong place shows. The first or last
# sequence has one site, which is its first and its last. -1 and NaN are missing observations.


def array(*rows: Any) -> Floats:
    return np.array(rows, dtype=float)


NAN = np.nan
START = Rows(array([0.7, 1.6]))
MOVES = Rows(array([1.5, 0.4], [0.8, 2.1]))

SYMBOLS = Hmm(
    [1, 4], START, MOVES, Symbols(np.array([2, 0, 1, -1, 0]), Rows(array([0.9, 0.5, 0.6], [0.3, 1.5, 0.7])))
)
THREE_STATES = Hmm(
    [3, 1],
    Rows(array([0.5, 1.2, 0.8])),
    Rows(array([0.6, 0.9, 1.7], [0.4, 1.3, 0.5], [1.1, 0.3, 0.7])),
    Symbols(np.array([1, 0, 0, 1]), Rows(array([0.6, 1.1], [1.4, 0.5], [0.8, 0.7]))),
)
LEFT_RIGHT = Hmm(
    [1, 3],
    Rows(array([1.2, 0.4, 0])),
    Rows(array([0.8, 0.6, 0], [0, 1.1, 0.7], [0, 0, 1.0])),
    Symbols(np.array([0, 0, 1, 1]), Rows(array([0.9, 0.5], [0.4, 1.2], [0, 0.7]))),
)
FIXED = Hmm(
    [3, 1],
    Rows(array([0.5, 0.3, 0.8]), array([NAN, 0.25, NAN])),
    Rows(
        array([0.6, 0.9, 1.7], [0.4, 1.3, 0.5], [1.1, 0.3, 0.0]),
        array([NAN, 0.5, NAN], [0.1, 0.3, 0.6], [NAN, NAN, NAN]),
    ),
    Symbols(
        np.array([1, 0, 2, 1]),
        Rows(
            array([0.6, 1.1, 0.4], [1.4, 0.5, 0.9], [1, 1, 1]),
            array([0.2, NAN, NAN], [NAN] * 3, [0.1, 0.6, 0.3]),
        ),
    ),
)

POINTS = array([0.3, -0.4], [-0.9, 0.2], [1.4, 1.1], [0.2, 0.9])
MEANS = array([-0.3, 0.4], [0.8, 0.1])
WEIGHTS = np.array([0.7, 1.9])
PSI = {
    "spherical": np.array([1.3, 2.2]),
    "diag": array([1.3, 0.8], [2.2, 1.5]),
    "full": array([[1.3, 0.4], [0.4, 0.8]], [[2.2, -0.6], [-0.6, 1.5]]),
    "tied": array([1.3, 0.4], [0.4, 0.9]),
}
KNOWN = {  # fixed covariances of the second state, or of both if tied
    "spherical": np.array([NAN, 0.9]),
    "diag": array([NAN, NAN], [0.9, 0.6]),
    "full": array([[NAN, NAN], [NAN, NAN]], [[0.9, 0.3], [0.3, 0.6]]),
    "tied": array([0.9, 0.3], [0.3, 0.6]),
}


def normals(covariance: str, n_features: int, **more: Any) -> Hmm:
    d = slice(n_features)
    place = {"spherical": (), "diag": (d,), "full": (d, d), "tied": (d,)}[covariance]
    degrees = np.array([3.4, 3.4 if covariance == "tied" else 4.3])
    emissions = Normals(
        POINTS[:, d], covariance, MEANS[:, d], WEIGHTS, PSI[covariance][(slice(None), *place)], degrees
    )
    if covariance == "tied":
        emissions = replace(emissions, scale=PSI["tied"][d, d])
    return Hmm([1, 3], START, MOVES, replace(emissions, **more))


def with_missing(hmm: Hmm, i: int, **more: Any) -> Hmm:
    """The same with a missing observation, and other changes to the emissions."""
    values = hmm.emissions.values.copy()
    values[i] = NAN
    return replace(hmm, emissions=replace(hmm.emissions, values=values, **more))


FIXED_MEAN = array([NAN, NAN], [0.6, 0.2])  # of the second state; its covariance is free unless tied
FIXED_FIRST = array([-0.5, 0.3], [NAN, NAN])

RATES = Hmm(
    [1, 3],
    START,
    MOVES,
    Counts(
        array([3, 0], [1, 2], [0, 4], [5, 1]), array([1.4, 0.8], [2.5, 1.7]), array([0.6, 0.5], [0.9, 1.1])
    ),
)


def one_feature(hmm: Hmm) -> Hmm:
    e = hmm.emissions
    return replace(hmm, emissions=Counts(e.values[:, :1], e.shape[:, :1], e.weight[:, :1]))


def case(name: str, hmm: Hmm, n_paths: int) -> Any:
    return pytest.param(hmm, n_paths, id=f"{name}-m{n_paths}")


SYMBOL_CASES = [
    case("two", SYMBOLS, 1),
    case("two", SYMBOLS, 2),
    case("two", SYMBOLS, 3),
    case("three", THREE_STATES, 1),
    case("three", THREE_STATES, 2),
    case("leftright", LEFT_RIGHT, 1),
    case("leftright", LEFT_RIGHT, 2),
    case("fixed", FIXED, 1),
    case("fixed", FIXED, 2),
]

FORMS = ("spherical", "diag", "full", "tied")

NUMBER_CASES = [
    case("poisson1", one_feature(RATES), 3),
    case("poisson2", RATES, 2),
    case("poisson-fixed", with_missing(RATES, 2, fixed=array([NAN, 0.7], [2.0, NAN])), 1),
]
for _form in FORMS:
    NUMBER_CASES += [
        case(f"{_form}1", normals(_form, 1), 3),
        case(f"{_form}2", normals(_form, 2), 2),
        case(f"{_form}2-fixed-mean", with_missing(normals(_form, 2), 2, fixed_means=FIXED_MEAN), 2),
        # fixed: the first mean and the second covariance; with the case above, three of four combinations
        case(
            f"{_form}2-fixed",
            with_missing(normals(_form, 2), 1, fixed_means=FIXED_FIRST, fixed_covariances=KNOWN[_form]),
            1,
        ),
    ]

ALL_CASES = [
    pytest.param(*c.values, sampler, id=f"{c.id}-{sampler.replace(' ', '-')}")
    for cases, samplers in ((SYMBOL_CASES, FOR_SYMBOLS), (NUMBER_CASES, FOR_NUMBERS))
    for c in cases
    for sampler in samplers
    if not (sampler == COLLAPSED and c.id.startswith("fixed"))  # which it refuses
]
"""Problem, number of paths, sampler."""


# ---------------------------------------------------------------------------------------------------------
# Parameters of any kind
# ---------------------------------------------------------------------------------------------------------


def some_phi(hmm: Hmm, seed: int) -> Phi:
    """Draw phi from its prior, by NumPy."""
    rng = np.random.default_rng(seed)
    e = hmm.emissions
    if isinstance(e, Symbols):
        emissions: Any = e.rows.draw(1, rng)[0]
    elif isinstance(e, Counts):
        emissions = np.where(np.isnan(e.known), rng.gamma(e.shape) / e.weight, e.known)
    else:
        emissions = draw_normal_parameters(e, rng)
    return Phi(hmm.start.draw(1, rng)[0, 0], hmm.transitions.draw(1, rng)[0], emissions)


def draw_normal_parameters(e: Normals, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw means and covariances from their priors, by the definitions."""
    n_states, n_features = e.mean_prior.shape
    covariances = np.array(e.scale)
    if e.covariance in ("spherical", "diag"):
        degrees = e.degrees.reshape(-1, *[1] * (e.scale.ndim - 1))
        covariances = e.scale / rng.chisquare(np.broadcast_to(degrees, e.scale.shape))
    else:
        flat = covariances.reshape(-1, n_features, n_features)
        for k in range(len(flat)):
            flat[k] = np.reshape(stats.invwishart.rvs(e.degrees[k], flat[k], random_state=rng), flat[k].shape)
    if e.fixed_covariances is not None:
        covariances = np.where(np.isnan(e.fixed_covariances), covariances, e.fixed_covariances)
    means = np.empty((n_states, n_features))
    for s in range(n_states):
        own = as_matrix(e.covariance, covariances, s, n_features)
        means[s] = rng.multivariate_normal(e.mean_prior[s], own / e.mean_weight[s])
        if e.mean_is_fixed(s):
            means[s] = e.fixed_means[s]
    return means, covariances
