"""Likelihoods, posteriors, expected counts and the best path: against enumeration, and against hmmlearn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hmm_oracle import (
    Hmm,
    Normals,
    Phi,
    Rows,
    Symbols,
    all_paths,
    as_matrix,
    log_joints,
    pair_counts,
    path_distribution,
    site_counts,
)
from hmm_support import (
    LEFT_RIGHT,
    NUMBER_CASES,
    SYMBOL_CASES,
    THREE_STATES,
    array,
    plait_model,
    plait_parameters,
    some_phi,
)
from hmmlearn import hmm as hmmlearn
from scipy.special import logsumexp
from support import THREADS
from test_hmm_conditionals import many_states

from plait.data.sequences import Sequences
from plait.errors import PlaitError
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
from plait.models.model import Key
from plait.threads import Threads

PROBLEMS = [
    *{
        id(case.values[0]): pytest.param(case.values[0], id=case.id) for case in SYMBOL_CASES + NUMBER_CASES
    }.values(),
    pytest.param(many_states(4), id="four"),
    pytest.param(many_states(9), id="nine"),
]


def by_sequence(hmm: Hmm) -> list[tuple[Hmm, slice]]:
    """Each sequence as a problem of its own."""
    parts = []
    for first, length in zip(hmm.firsts, hmm.lengths, strict=True):
        here = slice(first, first + length)
        emissions = replace(hmm.emissions, values=hmm.emissions.values[here])
        parts.append((replace(hmm, lengths=[length], emissions=emissions), here))
    return parts


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("hmm", PROBLEMS)
def test_likelihoods_posteriors_and_best_paths_match_enumeration(hmm: Hmm, seed: int) -> None:
    phi = some_phi(hmm, seed)
    model, parameters = plait_model(hmm), plait_parameters(hmm, phi)
    likelihoods = model.log_likelihoods(parameters, THREADS)
    posteriors, again = model.posteriors(parameters, THREADS)
    counts, total = model.expected_counts(parameters, THREADS)
    best, best_logs = model.best_paths(parameters, THREADS)

    starts, pairs = np.zeros(hmm.n_states), np.zeros((hmm.n_states, hmm.n_states))
    expected = np.zeros((hmm.n_states, hmm.n_sites))
    for k, (part, here) in enumerate(by_sequence(hmm)):
        paths = all_paths(part)
        logs, probabilities = log_joints(part, phi, paths), path_distribution(part, phi)
        np.testing.assert_allclose(likelihoods[k], logsumexp(logs), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(again[k], logsumexp(logs), rtol=1e-12, atol=1e-13)
        sites = site_counts(part, paths[:, None])
        expected[:, here] = np.tensordot(probabilities, sites, 1)
        starts += expected[:, here.start]
        pairs += np.tensordot(probabilities, pair_counts(part, paths[:, None]), 1)
        np.testing.assert_array_equal(best[here], paths[np.argmax(logs)])
        np.testing.assert_allclose(best_logs[k], logs.max(), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(posteriors, expected.T, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(counts.starts, starts, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(counts.pairs, pairs, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(total, likelihoods.sum(), rtol=1e-13)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), likelihoods.sum(), rtol=1e-13)

    # Expected emissions are linear in the posteriors: add up those of unit vectors at each site.
    unit = np.zeros(counts.emissions.shape)
    for s in range(hmm.n_states):
        path = np.full((1, hmm.n_sites), s, np.uint16)
        for i in range(hmm.n_sites):
            unit += expected[s, i] * model.emissions.count(i, i + 1, path)
    np.testing.assert_allclose(counts.emissions, unit, rtol=1e-10, atol=1e-12)
    if isinstance(hmm.emissions, Symbols):
        np.testing.assert_allclose(
            counts.emissions[:-1].T, hmm.emissions.counts(expected), rtol=1e-11, atol=1e-14
        )


@pytest.mark.parametrize("hmm", PROBLEMS)
def test_log_joint_is_the_definition(hmm: Hmm) -> None:
    phi = some_phi(hmm, 4)
    paths = all_paths(hmm)
    chosen = paths[np.random.default_rng(5).choice(len(paths), size=5)]
    exact = log_joints(hmm, phi, chosen)
    np.testing.assert_allclose(
        plait_model(hmm).log_joint(chosen, plait_parameters(hmm, phi), THREADS), exact, rtol=1e-12, atol=1e-13
    )


# ---------------------------------------------------------------------------------------------------------
# hmmlearn
# ---------------------------------------------------------------------------------------------------------

LENGTHS = [1, 60, 2, 137]
KINDS = ["categorical", "poisson", "spherical", "diag", "full", "tied"]


def peers(kind: str, n_states: int, seed: int = 7) -> tuple[Any, HmmModel, HmmParameters, np.ndarray]:
    """The same random model of hmmlearn and of plait, and data."""
    rng = np.random.default_rng([seed, n_states])
    start, moves = rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states)
    n, d = sum(LENGTHS), 3
    if kind == "categorical":
        data = rng.integers(5, size=(n, 1))
        data[:5, 0] = range(5)
        table = rng.dirichlet(np.ones(5), n_states)
        theirs = hmmlearn.CategoricalHMM(
            n_states, startprob_prior=1.3, transmat_prior=1.2, emissionprob_prior=1.7
        )
        theirs.n_features, theirs.emissionprob_ = 5, table
        emissions: Any = CategoricalEmissions(Sequences.from_symbols(data, LENGTHS), n_states, prior=1.7)
        own: Any = CategoricalParameters(table)
    elif kind == "poisson":
        data = rng.poisson(3, size=(n, d))
        rates = rng.gamma(3, size=(n_states, d))
        theirs = hmmlearn.PoissonHMM(
            n_states, startprob_prior=1.3, transmat_prior=1.2, lambdas_prior=1e-9, lambdas_weight=1e-9
        )
        theirs.n_features, theirs.lambdas_ = d, rates
        sequences = Sequences.from_values(data.astype(float), LENGTHS)
        emissions, own = (
            PoissonEmissions(sequences, n_states, prior=1e-9, prior_weight=1e-9),
            PoissonParameters(rates),
        )
    else:
        data = rng.normal(size=(n, d)) * [1, 2, 3]
        means = rng.normal(size=(n_states, d))
        roots = rng.normal(size=(n_states, d, d))
        full = roots @ roots.transpose(0, 2, 1) + np.eye(d)
        covariances = {
            "spherical": full[:, 0, 0],
            "diag": np.diagonal(full, axis1=1, axis2=2).copy(),
            "full": full,
            "tied": full[0],
        }[kind]
        theirs = hmmlearn.GaussianHMM(
            n_states,
            kind,
            startprob_prior=1.3,
            transmat_prior=1.2,
            means_prior=0.2,
            means_weight=0.5,
            covars_prior=np.eye(d) * 0.7 if kind in ("full", "tied") else 0.7,
            covars_weight=20.0,
        )
        theirs.n_features, theirs.means_ = d, means
        theirs.covars_ = covariances
        # For tied covariances, hmmlearn does not count the priors of the means as observations.
        weight = 20.0 if kind != "tied" else 21.0 - n_states
        emissions = GaussianEmissions(
            Sequences.from_values(data, LENGTHS),
            n_states,
            covariance=kind,
            mean_prior=0.2,
            mean_weight=0.5,
            covariance_prior=0.7,
            covariance_weight=weight,
        )
        own = NormalParameters(means, covariances, kind)
    theirs.startprob_, theirs.transmat_ = start, moves
    theirs.init_params, theirs.n_iter = "", 1
    model = HmmModel(emissions, 1.3, 1.2)
    return theirs, model, HmmParameters(start, moves, own), data


@pytest.mark.parametrize("n_states", [2, 3, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_posteriors_and_best_paths_match_hmmlearn(kind: str, n_states: int) -> None:
    theirs, model, parameters, data = peers(kind, n_states)
    score, posteriors = theirs.score_samples(data, LENGTHS)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), score, rtol=1e-10)
    np.testing.assert_allclose(model.posteriors(parameters, THREADS)[0], posteriors, atol=1e-8)
    best_score, best = theirs.decode(data, LENGTHS)
    ours, logs = model.best_paths(parameters, THREADS)
    np.testing.assert_allclose(logs.sum(), best_score, rtol=1e-10)
    if kind == "categorical":  # ties between paths are broken by rounding
        best_score = model.log_joint(np.array([ours, best], np.uint16), parameters, THREADS)
        np.testing.assert_allclose(best_score[0], best_score[1], rtol=1e-12)
    else:
        np.testing.assert_array_equal(ours, best)


@pytest.mark.parametrize("n_states", [2, 3, 8])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "spherical"])
def test_an_iteration_of_em_matches_hmmlearn(kind: str, n_states: int) -> None:
    """Spherical covariances are left out: hmmlearn averages those of the features, each with its prior.

    It also weights the prior of Poisson rates against the observations of all states, so that prior is tiny.
    """
    theirs, model, parameters, data = peers(kind, n_states)
    theirs.fit(data, LENGTHS)
    counts, _ = model.expected_counts(parameters, THREADS)
    after = model.mode_parameters(counts)
    np.testing.assert_allclose(after.start, theirs.startprob_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(after.transitions, theirs.transmat_, rtol=1e-8, atol=1e-10)
    own = after.emissions
    if kind == "categorical":
        np.testing.assert_allclose(own.probabilities, theirs.emissionprob_, rtol=1e-8, atol=1e-10)
    elif kind == "poisson":
        np.testing.assert_allclose(own.rates, theirs.lambdas_, rtol=1e-8)
    else:
        np.testing.assert_allclose(own.means, theirs.means_, rtol=1e-8, atol=1e-10)
        covariances = theirs._covars_ if kind in ("diag", "tied") else theirs.covars_
        np.testing.assert_allclose(own.covariances, covariances, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("fix", [False, True])
@pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
def test_the_objective_of_em_falls_in_all_directions_from_the_mode(kind: str, fix: bool) -> None:
    """The objective is log P(phi) + E log P(p, w | phi), as a function of means and inverse covariances."""
    _, model, parameters, data = peers(kind, 2)
    if fix:
        known = np.array([[np.nan] * 3, [0.1, 0.2, 0.3]])
        emissions = GaussianEmissions(
            model.sequences,
            2,
            covariance=kind,
            mean_prior=0.2,
            mean_weight=0.5,
            covariance_prior=0.7,
            covariance_weight=20.0,
            fixed_means=known,
        )
        model = HmmModel(emissions, 1.3, 1.2)
    posteriors, _ = model.posteriors(parameters, THREADS)
    counts, _ = model.expected_counts(parameters, THREADS)
    mode = model.mode_parameters(counts).emissions
    weight = 20.0 if kind != "tied" or fix else 19.0

    def objective(means: np.ndarray, precisions: np.ndarray) -> float:
        """Precisions in the form of the covariances."""
        total = 0.0
        for s in range(2):
            own = as_matrix(kind, precisions, s, 3)
            log_det = np.linalg.slogdet(own)[1]
            x = data - means[s]
            total += posteriors[:, s] @ (0.5 * log_det - 0.5 * np.einsum("ni,ij,nj->n", x, own, x))
            if not (fix and s == 1):
                y = means[s] - 0.2
                total += 0.5 * log_det - 0.25 * y @ own @ y  # the weight is 1/2
            if kind == "tied" and s == 1:
                continue
            if kind in ("full", "tied"):  # Wishart
                total += (weight - 3 - 1) / 2 * log_det - 0.5 * 0.7 * np.trace(own)
            else:
                each = np.atleast_1d(precisions[s])
                total += np.sum((weight / 2 - 1) * np.log(each) - 0.5 * 0.7 * each)
        return total

    def inverted(covariances: np.ndarray) -> np.ndarray:
        return np.linalg.inv(covariances) if kind in ("full", "tied") else 1 / covariances

    precisions = inverted(mode.covariances)
    top = objective(mode.means, precisions)
    rng = np.random.default_rng(8)
    for _ in range(40):
        step = rng.normal(size=mode.means.shape) * 1e-3
        if fix:
            step[1] = 0
        turn = rng.normal(size=precisions.shape) * 1e-3 * np.abs(precisions).max()
        if kind in ("full", "tied"):
            turn = (turn + np.swapaxes(turn, -1, -2)) / 2
        for sign in (1, -1):
            assert objective(mode.means + sign * step, precisions + sign * turn) < top


# ---------------------------------------------------------------------------------------------------------
# Stability
# ---------------------------------------------------------------------------------------------------------


def block_likelihood(start: np.ndarray, moves: np.ndarray, densities: np.ndarray, size: int = 512) -> float:
    """log P(w): products of matrices over blocks, in extended precision, scaled at every step."""
    n, n_states = densities.shape
    densities = densities.astype(np.longdouble)
    n_blocks = (n - 1) // size
    steps = densities[1 : 1 + n_blocks * size].reshape(n_blocks, size, n_states)
    products = np.broadcast_to(np.eye(n_states, dtype=np.longdouble), (n_blocks, n_states, n_states)).copy()
    scales = np.zeros(n_blocks, np.longdouble)
    for t in range(size):
        products = np.einsum("bij,jk->bik", products, moves.astype(np.longdouble)) * steps[:, t, None, :]
        top = products.max(axis=(1, 2))
        products /= top[:, None, None]
        scales += np.log(top)
    message = start * densities[0]
    total = scales.sum()
    for block in products:
        message = message @ block
        total += np.log(message.sum())
        message = message / message.sum()
    for row in densities[1 + n_blocks * size :]:
        message = (message @ moves) * row
        total += np.log(message.sum())
        message = message / message.sum()
    return float(total)


@pytest.mark.parametrize("n", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["categorical", "poisson"])
def test_likelihood_of_a_long_chain_keeps_its_digits(kind: str, n: int) -> None:
    rng = np.random.default_rng(9)
    start, moves = np.array([0.3, 0.7]), array([0.99, 0.01], [0.02, 0.98])
    if kind == "categorical":
        data = rng.integers(3, size=n)
        table = array([0.7, 0.2, 0.1], [1e-3, 0.3, 0.699])
        model = HmmModel(CategoricalEmissions(Sequences.from_symbols(data), 2))
        own: Any = CategoricalParameters(table)
        densities = table[:, data].T
    else:
        data = rng.poisson(2, size=n)
        rates = array([1.0], [4.0])
        model = HmmModel(PoissonEmissions(Sequences.from_values(data.astype(float)), 2))
        own = PoissonParameters(rates)
        table = np.exp(
            -rates + np.arange(40) * np.log(rates) - np.cumsum(np.log(np.maximum(np.arange(40), 1)))
        )
        densities = table[:, data].T
    rounding = n * np.finfo(float).eps  # of a sum of n numbers
    exact = block_likelihood(start, moves, densities)
    parameters = HmmParameters(start, moves, own)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), exact, rtol=rounding)
    if n == 1_000_000:
        posteriors, likelihoods = model.posteriors(parameters, THREADS)
        np.testing.assert_allclose(likelihoods.sum(), exact, rtol=rounding)
        np.testing.assert_allclose(posteriors.sum(axis=1), 1, rtol=1e-12)


def test_with_equal_rows_of_transitions_the_likelihood_is_a_product() -> None:
    """Sites are then independent."""
    rng = np.random.default_rng(10)
    start = rng.dirichlet(np.ones(5))
    data = rng.normal(size=(300_000, 2)) * 30
    means, variances = rng.normal(size=(5, 2)), rng.uniform(0.5, 2, (5, 2))
    model = HmmModel(GaussianEmissions(Sequences.from_values(data), 5))
    parameters = HmmParameters(start, np.tile(start, (5, 1)), NormalParameters(means, variances, "diag"))
    logs = -0.5 * (np.log(2 * np.pi * variances) + (data[:, None] - means) ** 2 / variances).sum(axis=2)
    each = logsumexp(logs + np.log(start), axis=1)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), each.sum(), rtol=1e-12)
    posteriors = np.exp(logs + np.log(start) - each[:, None])
    np.testing.assert_allclose(model.posteriors(parameters, THREADS)[0], posteriors, atol=1e-9)


def log_forward(hmm: Hmm, phi: Phi) -> float:
    """The forward recursion of one sequence in logarithms, which neither overflow nor vanish."""
    with np.errstate(divide="ignore"):
        start, moves = np.log(phi.start), np.log(phi.transitions)
    densities = hmm.emissions.log_densities(phi.emissions)
    message = start + densities[0]
    for row in densities[1:]:
        with np.errstate(invalid="ignore"):
            message = logsumexp(message[:, None] + moves, axis=0) + row
    return float(logsumexp(message))


def outlier(x: float) -> tuple[Hmm, Phi]:
    """A left-right model, in which an outlier may leave only one possible state."""
    values = np.array([0.1, -0.3, x, 0.2, 9.7, 10.4, -x, 10.1])[:, None]
    e = Normals(values, "diag", np.zeros((3, 1)), np.ones(3), np.ones((3, 1)), np.full(3, 3.0))
    hmm = Hmm([8], Rows(array([1.0, 0, 0])), Rows(array([1.0, 1, 0], [0, 1, 1], [0, 0, 1])), e)
    normal = (array([0.0], [5.0], [10.0]), array([1.0], [4.0], [0.5]))
    return hmm, Phi(np.array([1.0, 0, 0]), array([0.9, 0.1, 0], [0, 0.8, 0.2], [0, 0, 1]), normal)


def unreachable(x: float) -> tuple[Hmm, Phi]:
    """The same with a first observation that fits only the last state, where no sequence can start."""
    hmm, phi = outlier(x)
    values = np.array([x, -0.3, 0.1, 5.2, x, x + 0.4, x - 0.5, x])[:, None]
    normal = (array([0.0], [5.0], [x]), array([1.0], [4.0], [0.5]))
    return replace(hmm, emissions=replace(hmm.emissions, values=values)), replace(phi, emissions=normal)


@pytest.mark.parametrize("blocked", [True, False])
@pytest.mark.parametrize("problem", [outlier, unreachable])
@pytest.mark.parametrize("x", [20.0, 1e4, 1e8])
def test_outliers_are_handled_with_forbidden_transitions(
    x: float, problem: Callable[[float], tuple[Hmm, Phi]], blocked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    hmm, phi = problem(x)
    for long in (65536, 2):
        monkeypatch.setattr("plait.models.chain._LONG", long)
        model = replace(plait_model(hmm), blocked=blocked)
        parameters = plait_parameters(hmm, phi)
        exact = log_forward(hmm, phi)
        np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), exact, rtol=1e-10)
        posteriors, _ = model.posteriors(parameters, THREADS)
        assert np.isfinite(posteriors).all()
        np.testing.assert_allclose(posteriors.sum(axis=1), 1)
        counts, _ = model.expected_counts(parameters, THREADS)
        assert np.isfinite(counts.pairs).all()
        paths = np.array([[0, 0, 0, 1, 1, 2, 2, 2]] * 3, np.uint16)
        for k in range(20):
            model.resample(paths, parameters, Key(1, k), THREADS)
            steps = np.diff(paths.astype(int), axis=1)
            assert np.all((steps >= 0) & (steps <= 1) & (paths[:, :1] == 0))
            assert np.isfinite(model.log_joint(paths, parameters, THREADS)).all()


def test_an_outlier_stays_in_the_only_state_that_explains_the_rest() -> None:
    """The second state fits only the outlier and cannot be left, so the outlier is in the first."""
    e = Normals(
        array([0], [50], [0], [0]), "diag", np.zeros((2, 1)), np.ones(2), np.ones((2, 1)), np.full(2, 3.0)
    )
    hmm = Hmm([4], Rows(array([1.0, 0])), Rows(array([1.0, 1], [0, 1])), e)
    phi = Phi(np.array([1.0, 0]), array([0.9, 0.1], [0, 1]), (array([0.0], [50.0]), np.ones((2, 1))))
    model, parameters = plait_model(hmm), plait_parameters(hmm, phi)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), log_forward(hmm, phi), rtol=1e-12)
    np.testing.assert_allclose(model.posteriors(parameters, THREADS)[0], [[1, 0]] * 4, atol=1e-12)
    paths = np.zeros((2, 4), np.uint16)
    model.resample(paths, parameters, Key(1, 1), THREADS)
    assert not paths.any()


@pytest.mark.parametrize("back", [0.0, 1e-320, 1e-250])
def test_a_state_far_behind_wins_if_only_it_explains_the_rest(back: float) -> None:
    """The second state, which is hardly ever left, leads by 1800 nats until later symbols exclude it."""
    data = np.repeat([1, 0], [400, 600])
    moves = array([0.9, 0.1], [back, 1 - back])
    hmm = Hmm([1000], Rows(array([1.0, 0])), Rows(np.ones((2, 2))), Symbols(data, Rows(np.ones((2, 2)))))
    phi = Phi(np.array([1.0, 0]), moves, array([0.99, 0.01], [0.01, 0.99]))
    model, parameters = plait_model(hmm), plait_parameters(hmm, phi)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), log_forward(hmm, phi), rtol=1e-12)
    theirs = hmmlearn.CategoricalHMM(2, implementation="log")
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = phi.start, phi.transitions, phi.emissions
    expected = theirs.predict_proba(data[:, None])
    np.testing.assert_allclose(model.posteriors(parameters, THREADS)[0], expected, atol=1e-9)
    counts, _ = model.expected_counts(parameters, THREADS)
    np.testing.assert_allclose(counts.emissions[:2].sum(axis=0), expected.sum(axis=0), rtol=1e-9)
    paths = np.zeros((20, 1000), np.uint16)
    model.resample(paths, parameters, Key(1, 1), THREADS)
    sure = expected.max(axis=1) > 1 - 1e-9
    assert sure.sum() > 900
    assert np.all(paths[:, sure] == expected.argmax(axis=1)[sure])


@pytest.mark.parametrize("tiny", [1e-50, 1e-200, 1e-300])
def test_tiny_probabilities_do_not_underflow(tiny: float) -> None:
    """All symbols are nearly impossible, at every site."""
    data = np.tile([0, 1], 40)
    phi = Phi(
        np.array([0.5, 0.5]), array([0.5, 0.5], [0.25, 0.75]), array([tiny, tiny, 1], [tiny, 3 * tiny, 1])
    )
    hmm = Hmm([80], Rows(np.ones((1, 2))), Rows(np.ones((2, 2))), Symbols(data, Rows(np.ones((2, 3)))))
    model, parameters = plait_model(hmm), plait_parameters(hmm, phi)
    exact = log_forward(hmm, phi)
    np.testing.assert_allclose(model.log_likelihood(parameters, THREADS), exact, rtol=1e-12)
    scaled = replace(phi, emissions=array([0.1, 0.1, 0.8], [0.1, 0.3, 0.6]))
    posteriors, _ = model.posteriors(parameters, THREADS)
    same, _ = model.posteriors(plait_parameters(hmm, scaled), THREADS)
    np.testing.assert_allclose(posteriors, same, rtol=1e-9)


@pytest.mark.parametrize("moves", [[[0.9, 0.1], [0.2, 0.8]], [[1, 0], [0, 1]]], ids=["plain", "logs"])
def test_long_sums_keep_their_digits(moves: list[list[float]]) -> None:
    """If the states do not differ, the likelihood is a sum over sites; naive summation would lose 3e-13."""
    data = np.random.default_rng(0).poisson(3.7, (200_000, 1)).astype(float)
    rates = PoissonParameters(np.full((2, 1), 3.7))
    emissions = PoissonEmissions(Sequences.from_values(data), 2)
    exact = math.fsum(emissions.log_weights(rates, 0, len(data))[:, 0])
    parameters = HmmParameters(np.array([0.5, 0.5]), np.array(moves, float), rates)
    np.testing.assert_allclose(HmmModel(emissions).log_likelihood(parameters, THREADS), exact, rtol=2e-15)


def test_an_impossible_sequence_is_refused() -> None:
    hmm = replace(THREE_STATES, emissions=replace(THREE_STATES.emissions, values=np.array([1, 0, 0, 1])))
    phi = Phi(np.array([1.0, 0, 0]), np.eye(3), array([1.0, 0], [0.5, 0.5], [0.5, 0.5]))
    model, parameters = plait_model(hmm), plait_parameters(hmm, phi)
    assert model.log_likelihoods(parameters, THREADS)[0] == -np.inf
    assert model.best_paths(parameters, THREADS)[1][0] == -np.inf
    with pytest.raises(PlaitError, match="sequence 0 has probability 0 under every state path"):
        model.posteriors(parameters, THREADS)
    with pytest.raises(PlaitError, match="sequence 0 has probability 0 under every state path"):
        model.resample(np.zeros((2, 4), np.uint16), parameters, Key(1, 1), THREADS)


def test_likelihoods_do_not_depend_on_threads_or_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    lengths = rng.integers(1, 40, 60)
    data = rng.integers(4, size=lengths.sum())
    phi = HmmParameters(
        np.array([0.2, 0.3, 0.5]),
        rng.dirichlet(np.ones(3), 3),
        CategoricalParameters(rng.dirichlet(np.ones(4), 3)),
    )
    emissions = CategoricalEmissions(Sequences.from_symbols(data, lengths), 3)
    whole = HmmModel(emissions)
    assert len(whole._ranges) == 1
    monkeypatch.setattr("plait.models.chain._SITES_PER_RANGE", 50)
    monkeypatch.setattr("plait.models.chain._WORK_PER_RANGE", 1)
    cut = HmmModel(emissions)
    assert len(cut._ranges) > 5
    results = []
    for model, n_jobs in ((whole, 1), (cut, 1), (cut, 2), (cut, 3)):
        with Threads(n_jobs) as threads:
            counts, total = model.expected_counts(phi, threads)
            best, logs = model.best_paths(phi, threads)
            results.append(
                [
                    model.log_likelihoods(phi, threads),
                    *model.posteriors(phi, threads),
                    best,
                    logs,
                    counts.starts,
                    counts.pairs,
                    counts.emissions,
                    total,
                ]
            )
    for one, other in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for one, other in pairwise(results[1:]):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_em_keeps_the_zeros_of_a_left_right_model() -> None:
    phi = some_phi(LEFT_RIGHT, 12)
    model, parameters = plait_model(LEFT_RIGHT), plait_parameters(LEFT_RIGHT, phi)
    counts, _ = model.expected_counts(parameters, THREADS)
    after = model.mode_parameters(counts)
    for values, rows in ((counts.pairs, LEFT_RIGHT.transitions), (after.transitions, LEFT_RIGHT.transitions)):
        assert not values[rows.prior == 0].any()
    assert after.start[2] == 0
