"""Observations that are missing in part: likelihoods, EM, and the distribution that is sampled.

The references marginalise by hand: a row has the density of its observed entries, from SciPy, and paths are
enumerated or filtered in NumPy. Nothing of plait computes them.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracle import Floats
from scipy import stats
from support import THREADS, assert_small, batch_z, settings

import plait
from plait.data.sequences import Sequences
from plait.models.chain import HmmParameters
from plait.models.emissions import (
    BernoulliEmissions,
    BernoulliParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.hmm import HmmModel
from plait.models.model import Key
from plait.sampler import State, sample, step

NAN = np.nan
LENGTHS = [3, 2]
VALUES = np.array([[0.4, 1.1], [-0.7, NAN], [NAN, 0.3], [NAN, NAN], [1.6, NAN]])
COUNTS = np.array([[2, 0], [1, NAN], [NAN, 3], [NAN, NAN], [0, NAN]])
BITS = np.array([[1, 0], [1, NAN], [NAN, 0], [NAN, NAN], [0, NAN]])
NORMAL = ("spherical", "diag", "full", "tied")
KINDS = (*NORMAL, "poisson", "bernoulli")

START, MOVES = np.array([1.5, 2.5]), np.array([[3.0, 1.5], [1.2, 2.8]])
MEAN_PRIOR, MEAN_WEIGHT = np.array([[-0.5, 0.6], [0.8, -0.3]]), np.array([1.5, 2.5])
DEGREES = np.array([9.0, 9.0])
SCALE = np.array([[7.0, 2.5], [2.5, 5.0]])
SHAPES, RATES = np.array([[4.0, 3.0], [2.5, 5.0]]), np.array([[3.0, 2.0], [2.2, 2.6]])


def scale_of(kind: str) -> Any:
    return {
        "spherical": np.array([6.0, 8.0]),
        "diag": np.array([[7.0, 5.0], [6.0, 9.0]]),
        "full": np.array([SCALE, 1.5 * SCALE]),
        "tied": SCALE,
    }[kind]


def model_of(kind: str, lengths: Any = LENGTHS, **changes: Any) -> HmmModel:
    """Return the model under test."""
    data = changes.pop("values", {"poisson": COUNTS, "bernoulli": BITS}.get(kind, VALUES))
    sequences = Sequences.from_values(data, lengths, missing=True)
    emissions: Any
    if kind == "poisson":
        emissions = PoissonEmissions(sequences, 2, prior=SHAPES, prior_weight=RATES)
    elif kind == "bernoulli":
        emissions = BernoulliEmissions(sequences, 2, prior=SHAPES, prior_of_zeros=RATES)
    else:
        emissions = GaussianEmissions(
            sequences,
            2,
            covariance=kind,
            mean_prior=MEAN_PRIOR,
            mean_weight=MEAN_WEIGHT,
            covariance_prior=scale_of(kind),
            covariance_weight=DEGREES,
        )
    return HmmModel(emissions, START, MOVES, **changes)


def matrices(kind: str, covariances: Floats) -> Floats:
    """Return covariances of any form as matrices, (..., S, 2, 2)."""
    if kind == "spherical":
        return covariances[..., None, None] * np.eye(2)
    if kind == "diag":
        return covariances[..., None] * np.eye(2)
    return np.stack([covariances] * 2, axis=-3) if kind == "tied" else covariances


def densities(kind: str, own: Any, data: Floats) -> Floats:
    """Return the density of the observed entries of each row in each state, (draws, N, S).

    `own` are rates, probabilities, or means and covariances as matrices, each of many draws.
    """
    first = own[0] if kind in NORMAL else own
    tables = np.ones((len(first), len(data), 2))
    for i, row in enumerate(data):
        seen = ~np.isnan(row)
        if kind == "poisson":
            tables[:, i] = stats.poisson.pmf(row[seen], own[:, :, seen]).prod(axis=-1)
        elif kind == "bernoulli":
            tables[:, i] = stats.bernoulli.pmf(row[seen], own[:, :, seen]).prod(axis=-1)
        elif seen.any():
            apart = row[seen] - own[0][:, :, seen]
            among = own[1][:, :, seen][..., seen]
            squares = np.einsum("ksa,ksab,ksb->ks", apart, np.linalg.inv(among), apart)
            tables[:, i] = np.exp(-squares / 2) / np.sqrt(np.linalg.det(2 * np.pi * among))
    return tables


def likelihoods(start: Floats, moves: Floats, tables: Floats) -> Floats:
    """Return P(w | phi) of each draw, the sum over all paths of both sequences."""
    total = np.ones(len(tables))
    for at in (range(3), range(3, 5)):
        of_sequence = np.zeros(len(tables))
        for path in itertools.product(range(2), repeat=len(at)):
            p = start[:, path[0]] * tables[:, at[0], path[0]]
            for i, (before, after) in zip(at[1:], itertools.pairwise(path), strict=True):
                p = p * moves[:, before, after] * tables[:, i, after]
            of_sequence += p
        total *= of_sequence
    return total


def prior_draws(kind: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, Any]:
    """Draw phi from its prior: the start, the transitions, and what the emissions have."""
    start = rng.dirichlet(START, n)
    moves = np.stack([rng.dirichlet(row, n) for row in MOVES], axis=1)
    if kind == "poisson":
        return start, moves, rng.gamma(SHAPES, 1 / RATES, (n, 2, 2))
    if kind == "bernoulli":
        return start, moves, rng.beta(SHAPES, RATES, (n, 2, 2))
    scale = scale_of(kind)
    if kind == "full":
        each = [stats.invwishart.rvs(DEGREES[s], scale[s], size=n, random_state=rng) for s in range(2)]
        covariances = np.stack(each, axis=1)
    elif kind == "tied":
        covariances = stats.invwishart.rvs(DEGREES[0], scale, size=n, random_state=rng)
    else:
        covariances = scale / 2 / rng.gamma(DEGREES[0] / 2, size=(n, *scale.shape))
    own = matrices(kind, covariances)
    shifts = np.einsum("ksab,ksb->ksa", np.linalg.cholesky(own), rng.normal(size=(n, 2, 2)))
    return start, moves, (MEAN_PRIOR + shifts / np.sqrt(MEAN_WEIGHT)[:, None], own)


def functions(kind: str, start: Floats, moves: Floats, own: Any) -> Floats:
    """Return bounded or light-tailed functions of phi, (draws, K)."""
    parts = [start[:, 0], moves[:, 0, 0], moves[:, 1, 0], moves[:, 0, 0] * moves[:, 1, 0]]
    if kind in NORMAL:
        means, covariances = own
        variances = np.einsum("ksaa->ksa", covariances)
        ratios = covariances[:, :, 0, 1] / np.sqrt(variances.prod(axis=-1))
        parts += [*np.tanh(means).reshape(-1, 4).T, *np.log(variances).reshape(-1, 4).T]
        parts += [np.tanh(means[:, 0, 0] * means[:, 1, 1])]
        if kind in ("full", "tied"):
            parts += [*ratios.T, ratios[:, 0] * np.tanh(means[:, 0, 0])]
    else:
        parts += [*np.tanh(own).reshape(-1, 4).T, np.tanh(own[:, 0, 0] * own[:, 1, 1])]
    return np.stack(parts, axis=1)


def arrays_of(kind: str, parameters: list[HmmParameters]) -> tuple[Floats, Floats, Any]:
    start = np.array([phi.start for phi in parameters])
    moves = np.array([phi.transitions for phi in parameters])
    own = [phi.emissions for phi in parameters]
    if kind == "poisson":
        return start, moves, np.array([phi.rates for phi in own])
    if kind == "bernoulli":
        return start, moves, np.array([phi.probabilities for phi in own])
    covariances = matrices(kind, np.array([phi.covariances for phi in own]))
    return start, moves, (np.array([phi.means for phi in own]), covariances)


def some_parameters(kind: str) -> HmmParameters:
    covariances = {
        "spherical": np.array([0.8, 1.7]),
        "diag": np.array([[0.8, 1.7], [0.5, 1.1]]),
        "full": np.array([[[0.8, 0.5], [0.5, 1.7]], [[1.4, -0.6], [-0.6, 0.9]]]),
        "tied": np.array([[0.8, 0.5], [0.5, 1.7]]),
    }
    emissions: Any
    if kind == "poisson":
        emissions = PoissonParameters(np.array([[0.5, 2.0], [1.7, 0.9]]))
    elif kind == "bernoulli":
        emissions = BernoulliParameters(np.array([[0.5, 0.2], [0.7, 0.9]]))
    else:
        emissions = NormalParameters(np.array([[-0.2, 0.5], [1.1, -0.4]]), covariances[kind], kind)
    return HmmParameters(np.array([0.4, 0.6]), np.array([[0.7, 0.3], [0.2, 0.8]]), emissions)


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_of_a_row_is_that_of_its_observed_entries(kind: str) -> None:
    model, phi = model_of(kind), some_parameters(kind)
    start, moves, own = arrays_of(kind, [phi])
    data = model.sequences.values
    expected = likelihoods(start, moves, densities(kind, own, data))[0]
    assert model.log_likelihood(phi, 1) == pytest.approx(np.log(expected), rel=1e-12)


QUICK = ("diag", "full", "poisson")  # the others share their code


@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in KINDS]
)
def test_parameters_are_drawn_from_the_prior_times_the_power_of_the_likelihood(
    kind: str, n_paths: int
) -> None:
    rng = np.random.default_rng(11)
    start, moves, own = prior_draws(kind, 40_000, rng)
    model = model_of(kind)
    weights = likelihoods(start, moves, densities(kind, own, model.sequences.values)) ** n_paths
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 1_000  # effective number of draws
    known = functions(kind, start, moves, own)
    mean = weights @ known
    error = np.sqrt(weights**2 @ (known - mean) ** 2)

    how = settings(n_paths, False, 5)
    state = State(0, model.initial_paths(n_paths, 5, THREADS))
    drawn = []
    for k in range(2_100):
        state = step(model, state, how, THREADS)
        if k >= 100:
            drawn.append(state.parameters)
    values = functions(kind, *arrays_of(kind, drawn))
    z = batch_z(values, mean, n_batches=25)
    own_error = np.abs((values.mean(axis=0) - mean) / z)
    assert_small(z * own_error / np.hypot(own_error, error))


def completed_by_hand(
    means: Floats, covariances: Floats, data: Floats, posteriors: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the expected numbers, sums of x and sums of x x' in each state, with conditional moments."""
    numbers, sums, squares = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2, 2))
    for row, posterior in zip(data, posteriors, strict=True):
        o = ~np.isnan(row)
        if not o.any():
            continue
        for s in range(2):
            x, spread, covariance = row.copy(), np.zeros((2, 2)), covariances[s]
            if not o.all():
                gain = covariance[np.ix_(~o, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
                x[~o] = means[s, ~o] + gain @ (row[o] - means[s, o])
                rest = covariance[np.ix_(~o, ~o)] - gain @ covariance[np.ix_(o, ~o)]
                spread[np.ix_(~o, ~o)] = rest
            numbers[s] += posterior[s]
            sums[s] += posterior[s] * x
            squares[s] += posterior[s] * (np.outer(x, x) + spread)
    return numbers, sums, squares


def log_prior(kind: str, phi: HmmParameters) -> float:
    """Return the log-density of phi, with precisions in the place of covariances, as the mode has it."""
    own = matrices(kind, phi.emissions.covariances)
    total = stats.dirichlet.logpdf(phi.start, START)
    total += sum(
        stats.dirichlet.logpdf(row, prior) for row, prior in zip(phi.transitions, MOVES, strict=True)
    )
    for s in range(2):
        total += stats.multivariate_normal.logpdf(
            phi.emissions.means[s], MEAN_PRIOR[s], own[s] / MEAN_WEIGHT[s]
        )
        if kind == "full" or s == 0:
            scale = scale_of(kind)[s] if kind == "full" else scale_of(kind)
            total += stats.wishart.logpdf(np.linalg.inv(own[s]), DEGREES[s], np.linalg.inv(scale))
    return float(total)


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_em_takes_the_conditional_moments_of_what_is_missing_and_never_lowers_the_posterior(
    kind: str,
) -> None:
    model, phi = model_of(kind), some_parameters(kind)
    data = model.sequences.values
    last = -np.inf
    for _ in range(6):
        posteriors, _ = model.posteriors(phi, 1)
        covariances = matrices(kind, phi.emissions.covariances)
        numbers, sums, squares = completed_by_hand(phi.emissions.means, covariances, data, posteriors)
        counts, log_likelihood = model.expected_counts(phi, THREADS)
        posterior = log_likelihood + log_prior(kind, phi)
        assert posterior > last
        last = posterior
        phi = model.mode_parameters(counts)

        weight = (MEAN_WEIGHT + numbers)[:, None]
        means = (MEAN_WEIGHT[:, None] * MEAN_PRIOR + sums) / weight
        np.testing.assert_allclose(phi.emissions.means, means, rtol=1e-10)

        def outer(x: Floats) -> Floats:
            return x[:, :, None] * x[:, None, :]

        scatter = squares + MEAN_WEIGHT[:, None, None] * outer(MEAN_PRIOR) - weight[..., None] * outer(means)
        if kind == "full":
            modes = (scale_of(kind) + scatter) / (DEGREES + numbers - 2)[:, None, None]
        else:
            modes = (scale_of(kind) + scatter.sum(axis=0)) / (DEGREES[0] + numbers.sum() - 1)
        np.testing.assert_allclose(phi.emissions.covariances, modes, rtol=1e-9)


def test_the_mean_given_paths_is_a_fixed_point_of_expected_completions() -> None:
    model = model_of("full")
    paths = np.array([[0, 1, 1, 0, 0], [1, 1, 0, 0, 1]], np.uint16)
    means = model.mean_parameters(model.count(paths, THREADS), THREADS).emissions
    times = np.stack([(paths == s).sum(axis=0) for s in range(2)], axis=1)
    numbers, sums, _ = completed_by_hand(means.means, means.covariances, model.sequences.values, times)
    expected = (MEAN_WEIGHT[:, None] * MEAN_PRIOR + sums) / (MEAN_WEIGHT + numbers)[:, None]
    np.testing.assert_allclose(means.means, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(kind: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 2))
    values[rng.random(values.shape) < 0.3] = NAN
    model = model_of(kind, [40, 20], values=values)
    whole = sample(model, n_paths=2, n_sweeps=8, seed=4, n_jobs=1)
    file = tmp_path / "run.plait"
    half = sample(model, n_paths=2, n_sweeps=5, seed=4, n_jobs=1)
    half.save(file)
    resumed = plait.resume(file, n_sweeps=8, n_jobs=2)
    np.testing.assert_array_equal(resumed.paths, whole.paths)
    np.testing.assert_array_equal(resumed.drawn.emissions.covariances, whole.drawn.emissions.covariances)
    forgetful = plait.resume(replace(half, drawn=None), n_sweeps=8)
    assert (forgetful.drawn.emissions.means != whole.drawn.emissions.means).any()  # it could have failed


def test_draws_of_what_is_missing_do_not_depend_on_ranges() -> None:
    model = model_of("full")
    paths, phi = np.array([[0, 1, 1, 0, 1]], np.uint16), some_parameters("full").emissions
    emissions: Any = model.emissions
    whole = emissions.count_completed(0, 5, paths, phi, Key(1, 2))
    parts = [emissions.count_completed(a, b, paths, phi, Key(1, 2)) for a, b in ((0, 2), (2, 4), (4, 5))]
    np.testing.assert_allclose(np.sum(parts, axis=0), whole, rtol=1e-12)
