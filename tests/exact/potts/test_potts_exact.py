"""Hidden Potts fields against enumeration, on grids so small that all labelings can be listed.

The oracle uses nothing of `src`. Neighbours are found by comparing all pairs of coordinates. The distribution
after a sweep is computed by applying the conditional distribution of one site after another to a distribution
over all labelings.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln
from support import THREADS, assert_all_fit, assert_fits, assert_small, chi_square, settings

from plait.data.sequences import Sequences
from plait.kernels import potts as kernels
from plait.models import potts as module
from plait.models.emissions import (
    BernoulliEmissions,
    BernoulliParameters,
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.mixture import MixtureModel, MixtureParameters
from plait.models.model import Key
from plait.models.potts import PottsModel, PottsParameters
from plait.rng import generator
from plait.sampler import State, step
from plait.testing import check_model

Floats = NDArray[np.float64]
Shape = tuple[int, ...]

NAN = np.nan

# ---------------------------------------------------------------------------------------------------------
# The oracle
# ---------------------------------------------------------------------------------------------------------


def neighbouring(shape: Shape, neighbours: int) -> list[tuple[int, int]]:
    """Return all pairs of neighbours, the smaller number first."""
    sites = list(np.ndindex(*shape))
    found = []
    for (i, one), (k, other) in itertools.combinations(enumerate(sites), 2):
        away = np.abs(np.subtract(one, other))
        if away.max() == 1 and (neighbours in (8, 26) or away.sum() == 1):
            found.append((i, k))
    return found


def colour(site: Shape, neighbours: int) -> int:
    """Return the colour of a site; sites of colour 0 are drawn first."""
    if neighbours in (4, 6):
        return sum(site) % 2
    return int("".join(str(x % 2) for x in site), 2)


def labelings(n_states: int, n_sites: int) -> NDArray[np.uint16]:
    return np.array(list(itertools.product(range(n_states), repeat=n_sites)), np.uint16)


def agreeing(paths: NDArray[Any], shape: Shape, neighbours: int) -> NDArray[np.int64]:
    pairs = np.array(neighbouring(shape, neighbours)).reshape(-1, 2)
    return (paths[:, pairs[:, 0]] == paths[:, pairs[:, 1]]).sum(axis=1)


def log_joints(model: PottsModel, log_b: Floats) -> tuple[NDArray[np.uint16], Floats]:
    """Return all labelings, and log P(p, w | phi) up to a constant."""
    every = labelings(model.n_states, model.n_sites)
    sums = log_b[np.arange(model.n_sites), every].sum(axis=1)
    return every, model.coupling * agreeing(every, model.shape, model.neighbours) + sums


def normalised(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def draw_site(before: Floats, log_joint: Floats, i: int, n_states: int, n_sites: int) -> Floats:
    """Return the distribution of labelings after site i is drawn given the others."""
    axes = (n_states,) * n_sites
    joint = np.exp(log_joint - log_joint.max()).reshape(axes)
    given_others = joint / joint.sum(axis=i, keepdims=True)
    return (before.reshape(axes).sum(axis=i, keepdims=True) * given_others).ravel()


def after_a_sweep(model: PottsModel, log_b: Floats, start: NDArray[Any]) -> Floats:
    """Return the distribution of labelings after one sweep."""
    every, log_joint = log_joints(model, log_b)
    exact = (every == start).all(axis=1).astype(float)
    sites = list(np.ndindex(*model.shape))
    for i in sorted(range(model.n_sites), key=lambda i: colour(sites[i], model.neighbours)):
        exact = draw_site(exact, log_joint, i, model.n_states, model.n_sites)
    return exact


def histogram(paths: NDArray[Any], n_states: int) -> NDArray[np.int64]:
    """Return the number of times each labeling occurs, in the order of `labelings`."""
    index = np.zeros(len(paths), np.int64)
    for column in paths.T:
        index = index * n_states + column
    return np.bincount(index, minlength=n_states ** paths.shape[1])


# ---------------------------------------------------------------------------------------------------------
# Problems: all numbers differ, so that using one in the wrong place shows
# ---------------------------------------------------------------------------------------------------------

CASES = [
    pytest.param((2, 2), 4, 2, id="2x2-4-S2"),
    pytest.param((2, 2), 8, 3, id="2x2-8-S3"),
    pytest.param((2, 3), 4, 3, id="2x3-4-S3"),
    pytest.param((2, 3), 8, 2, id="2x3-8-S2"),
    pytest.param((3, 2), 8, 2, id="3x2-8-S2"),
    pytest.param((1, 4), 4, 3, id="1x4-4-S3"),
    pytest.param((4, 1), 8, 2, id="4x1-8-S2"),
    pytest.param((2, 2, 2), 6, 2, id="2x2x2-6-S2"),
    pytest.param((2, 2, 2), 26, 2, id="2x2x2-26-S2"),
    pytest.param((1, 2, 3), 26, 2, id="1x2x3-26-S2"),
    pytest.param((3, 1, 2), 6, 2, id="3x1x2-6-S2"),
]
"""Shape of the grid, neighbours, number of labels."""

COUPLING = {4: 0.6, 8: 0.35, 6: 0.45, 26: 0.2}


def some_symbols(
    shape: Shape, n_states: int, seed: int
) -> tuple[CategoricalEmissions, PottsParameters, Floats]:
    """Return emissions of symbols, one of them missing, phi, and log b (N, S)."""
    rng = np.random.default_rng(seed)
    symbols = rng.integers(0, 3, int(np.prod(shape)))
    symbols[-1] = -1
    probabilities = rng.dirichlet(np.ones(3), n_states)
    log_b = np.where(symbols[:, None] < 0, 0.0, np.log(probabilities[:, symbols].T))
    sequences = Sequences.from_symbols(symbols, missing=True)
    emissions = CategoricalEmissions(sequences, n_states, n_symbols=3)
    return emissions, PottsParameters(CategoricalParameters(probabilities)), log_b


def some_numbers(shape: Shape, n_states: int, seed: int) -> tuple[Any, PottsParameters, Floats]:
    """Return the same for numbers with two features."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(int(np.prod(shape)), 2))
    values[1] = NAN
    means, variances = rng.normal(size=(n_states, 2)), rng.uniform(0.4, 2.0, (n_states, 2))
    squares = (values[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
    log_b = np.where(np.isnan(values[:, :1]), 0.0, -0.5 * squares.sum(axis=2))
    emissions = GaussianEmissions(Sequences.from_values(values, missing=True), n_states)
    return emissions, PottsParameters(NormalParameters(means, variances, "diag")), log_b


KINDS = {"symbols": some_symbols, "numbers": some_numbers}


@pytest.fixture(params=["few", "many"])
def labels(request, monkeypatch):
    """Use both kernels that draw labels, whatever the number of labels."""
    if request.param == "many":
        monkeypatch.setattr(kernels, "FEW_LABELS", 0)
    return request.param


@pytest.fixture(params=["whole", "cut"])
def ranges(request, monkeypatch):
    """Use the grid as one range, and cut into ranges that start and end within lines."""
    if request.param == "cut":
        monkeypatch.setattr(module, "_SITES_PER_RANGE", 2)
    return request.param


# ---------------------------------------------------------------------------------------------------------
# Labels given phi
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "neighbours", "n_states"), CASES)
def test_one_sweep_draws_from_the_conditionals(shape, neighbours, n_states, kind, labels, ranges):
    emissions, phi, log_b = KINDS[kind](shape, n_states, seed=1)
    model = PottsModel(emissions, shape, COUPLING[neighbours], neighbours)
    assert (len(model._ranges) > 1) == (ranges == "cut")
    start = np.random.default_rng(2).integers(0, n_states, model.n_sites).astype(np.uint16)
    paths = np.tile(start, (20_000, 1))
    model.resample(paths, phi, Key(3, 1), THREADS)
    assert_fits(histogram(paths, n_states), after_a_sweep(model, log_b, start))


@pytest.mark.parametrize(
    ("shape", "neighbours", "n_states"),
    [((2, 3), 4, 3), ((2, 2), 8, 3), ((2, 2, 2), 6, 2), ((1, 2, 3), 26, 2)],
)
def test_many_sweeps_converge_to_the_posterior(shape, neighbours, n_states, labels):
    emissions, phi, log_b = some_numbers(shape, n_states, seed=4)
    model = PottsModel(emissions, shape, COUPLING[neighbours], neighbours)
    _, log_joint = log_joints(model, log_b)
    paths = model.initial_paths(10_000, 5, THREADS)
    for sweep in range(1, 21):
        model.resample(paths, phi, Key(5, sweep), THREADS)
    assert_fits(histogram(paths, n_states), normalised(log_joint))


PINNED = [
    pytest.param((5, 7), 4, 3, id="4-S3"),
    pytest.param((5, 7), 8, 3, id="8-S3"),
    pytest.param((4, 5, 6), 6, 4, id="6-S4"),
    pytest.param((4, 5, 6), 26, 4, id="26-S4"),
    pytest.param((4, 5, 6), 26, 8, id="26-S8"),
    pytest.param((4, 5, 6), 6, 11, id="6-S11"),
    pytest.param((5, 7), 8, 30, id="8-S30"),
]


@pytest.mark.parametrize(("shape", "neighbours", "n_states"), PINNED)
def test_single_sites_among_known_labels_have_exact_conditionals(shape, neighbours, n_states, ranges):
    """On larger grids, all labels are known except those of sites that are not neighbours of each other.

    Symbol s is possible with label s only, and the last symbol equally likely with all labels.
    """
    rng = np.random.default_rng(6)
    n_sites = int(np.prod(shape))
    pairs = neighbouring(shape, neighbours)
    beside = [set() for _ in range(n_sites)]
    for i, k in pairs:
        beside[i].add(k)
        beside[k].add(i)
    free: list[int] = []
    for i in rng.permutation(n_sites):
        if not beside[i] & set(free):
            free.append(int(i))
    symbols = rng.integers(0, n_states, n_sites)
    known = np.delete(np.arange(n_sites), free)
    symbols[free] = n_states
    probabilities = np.hstack([0.5 * np.eye(n_states), np.full((n_states, 1), 0.5)])
    emissions = CategoricalEmissions(Sequences.from_symbols(symbols), n_states, n_symbols=n_states + 1)
    model = PottsModel(emissions, shape, COUPLING[neighbours], neighbours)
    paths = np.where(symbols < n_states, symbols, 0)[None].repeat(4000, axis=0).astype(np.uint16)
    phi = PottsParameters(CategoricalParameters(probabilities))
    model.resample(paths, phi, Key(7, 1), THREADS)
    assert np.array_equal(paths[:, known], np.tile(symbols[known], (len(paths), 1)))
    results = []
    for i in free:
        same = np.bincount(symbols[list(beside[i])], minlength=n_states)
        exact = normalised(model.coupling * same)
        results.append(chi_square(np.bincount(paths[:, i], minlength=n_states), exact))
    assert_all_fit(results)


def test_sites_paths_and_sweeps_share_no_random_numbers(ranges, labels):
    """Without coupling, nothing is correlated."""
    shape = (4, 5)
    emissions = CategoricalEmissions(Sequences.from_symbols(np.zeros(20, int)), 2, n_symbols=1)
    model = PottsModel(emissions, shape, 0.0)
    phi = PottsParameters(CategoricalParameters(np.ones((2, 1))))
    rows = []
    for sweep in (1, 2):
        paths = np.zeros((20_000, 20), np.uint16)
        model.resample(paths, phi, Key(8, sweep), THREADS)
        rows.append(2.0 * paths - 1.0)
    every = np.hstack([rows[0], rows[1], np.roll(rows[0], 1, axis=0)])  # the last are those of other paths
    z = np.sqrt(len(every)) * (every.T @ every / len(every) - np.eye(60))
    assert_small(z)


@pytest.mark.parametrize("neighbours", [4, 8])
def test_without_coupling_the_field_is_a_mixture_of_equal_shares(neighbours, labels):
    emissions, phi, _ = some_numbers((4, 3), 3, seed=9)
    field = PottsModel(emissions, (4, 3), 0.0, neighbours)
    mixture = MixtureModel(emissions)
    equal = MixtureParameters(np.full(3, 1 / 3), phi.emissions)
    paths = field.initial_paths(10_000, 10, THREADS)
    assert np.allclose(
        field.log_joint(paths[:50], phi, THREADS),
        mixture.log_joint(paths[:50], equal, THREADS) + 12 * np.log(3),
    )
    posteriors, _ = mixture.posteriors(equal, THREADS)
    field.resample(paths, phi, Key(10, 1), THREADS)
    assert_all_fit(
        [
            chi_square(np.bincount(column, minlength=3), exact)
            for column, exact in zip(paths.T, posteriors, strict=True)
        ]
    )


def test_first_paths_are_drawn_from_the_emissions_alone(labels):
    emissions, _, _ = some_numbers((2, 3), 2, seed=11)
    model = PottsModel(emissions, (2, 3), 3.0)
    paths = model.initial_paths(20_000, 12, THREADS)
    first = MixtureParameters(np.full(2, 0.5), model.first_parameters(Key(12, 0)).emissions)
    posteriors, _ = MixtureModel(emissions).posteriors(first, THREADS)
    exact = posteriors[np.arange(6), labelings(2, 6)].prod(axis=1)
    assert_fits(histogram(paths, 2), exact)


# ---------------------------------------------------------------------------------------------------------
# Densities
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "neighbours", "n_states"), CASES)
def test_log_joint_of_every_labeling_is_exact(shape, neighbours, n_states, kind, ranges):
    emissions, phi, log_b = KINDS[kind](shape, n_states, seed=13)
    model = PottsModel(emissions, shape, COUPLING[neighbours], neighbours)
    every, exact = log_joints(model, log_b)
    assert np.allclose(model.log_joint(every, phi, THREADS), exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "neighbours"), [((9, 7), 4), ((7, 10), 8), ((4, 5, 6), 6), ((5, 3, 4), 26), ((1, 40), 8)]
)
def test_agreeing_pairs_are_counted_exactly(shape, neighbours, ranges):
    n_sites = int(np.prod(shape))
    emissions = CategoricalEmissions(Sequences.from_symbols(np.zeros(n_sites, int)), 3)
    model = PottsModel(emissions, shape, 1.0, neighbours)
    paths = np.random.default_rng(14).integers(0, 3, (6, n_sites)).astype(np.uint16)
    assert np.array_equal(model.count_agreeing(paths, THREADS), agreeing(paths, shape, neighbours))


@pytest.mark.parametrize("kind", ["poisson", "bernoulli"])
def test_sweeps_are_exact_for_other_emissions(kind):
    rng = np.random.default_rng(15)
    if kind == "poisson":
        values, rates = rng.poisson(2.0, (6, 1)).astype(float), np.array([[0.8], [3.1]])
        emissions, phi = PoissonEmissions(Sequences.from_values(values), 2), PoissonParameters(rates)
        log_b = values * np.log(rates.T) - rates.T  # without log w!, which is the same for all labels
    else:
        values, p = rng.integers(0, 2, (6, 2)).astype(float), np.array([[0.2, 0.6], [0.7, 0.3]])
        emissions, phi = BernoulliEmissions(Sequences.from_values(values), 2), BernoulliParameters(p)
        log_b = values @ np.log(p).T + (1 - values) @ np.log(1 - p).T
    model = PottsModel(emissions, (3, 2), 0.5)
    start = np.array([0, 1, 1, 0, 1, 0], np.uint16)
    paths = np.tile(start, (20_000, 1))
    model.resample(paths, PottsParameters(phi), Key(16, 1), THREADS)
    assert_fits(histogram(paths, 2), after_a_sweep(model, log_b, start))


# ---------------------------------------------------------------------------------------------------------
# Whole sweeps
# ---------------------------------------------------------------------------------------------------------


def for_check(kind: str, shape: Shape, n_states: int, neighbours: int) -> PottsModel:
    """Return a model with priors so strong that simulated data serve to test all numbers of paths."""
    n_sites = int(np.prod(shape))
    if kind == "symbols":
        prior = np.random.default_rng(17).uniform(3, 8, (n_states, 3))
        emissions: Any = CategoricalEmissions(
            Sequences.from_symbols(np.arange(n_sites) % 3), n_states, prior=prior, n_symbols=3
        )
    else:
        emissions = GaussianEmissions(
            Sequences.from_values(np.linspace(-1, 1, n_sites)),
            n_states,
            mean_prior=np.linspace(-0.5, 0.5, n_states)[:, None],
            mean_weight=4.0,
            covariance_prior=10.0,
            covariance_weight=10.0,
        )
    return PottsModel(emissions, shape, COUPLING[neighbours], neighbours)


SLOW = pytest.mark.slow
CHECKS = [
    pytest.param("symbols", (2, 2), 2, 8, 300, id="symbols-2x2-8"),
    pytest.param("numbers", (1, 3), 3, 4, 300, id="numbers-1x3-4"),
]
for _kind in KINDS:
    CHECKS += [
        pytest.param(_kind, (2, 3), 2, 4, 1000, marks=SLOW, id=f"{_kind}-2x3-4"),
        pytest.param(_kind, (2, 2), 3, 8, 1000, marks=SLOW, id=f"{_kind}-2x2-8-S3"),
        pytest.param(_kind, (2, 2, 2), 2, 6, 1000, marks=SLOW, id=f"{_kind}-2x2x2-6"),
        pytest.param(_kind, (2, 2, 2), 2, 26, 1000, marks=SLOW, id=f"{_kind}-2x2x2-26"),
    ]


@pytest.mark.parametrize(("kind", "shape", "n_states", "neighbours", "n_draws"), CHECKS)
def test_whole_sweeps_leave_the_joint_distribution_invariant(kind, shape, n_states, neighbours, n_draws):
    model = for_check(kind, shape, n_states, neighbours)
    done = check_model(model, n_paths=(1, 2, 3), n_draws=n_draws)
    assert sum(line.startswith("joint distribution") for line in done) == 3
    assert not [line for line in done if "not checked" in line]


@pytest.mark.parametrize("n_paths", [1, 2, 3])
def test_paths_have_their_joint_distribution_with_phi_integrated_out(n_paths):
    """Sweeps of Algorithm 1 leave the distribution of m paths, prod_s B(prior_s + counts_s) exp(coupling n).

    The Dirichlet distributions integrate out in closed form, so all S^(N m) states can be enumerated.
    """
    symbols, prior = np.array([0, 1, 1]), np.array([[1.3, 0.6], [0.5, 0.9]])
    emissions = CategoricalEmissions(Sequences.from_symbols(symbols), 2, prior=prior, n_symbols=2)
    model = PottsModel(emissions, (1, 3), 0.8)
    states = labelings(2, 3 * n_paths).reshape(-1, n_paths, 3)
    one_hot = np.eye(2)[symbols]
    logs = np.zeros(len(states))
    for s in range(2):
        counts = prior[s] + ((states == s).sum(axis=1) @ one_hot)
        logs += gammaln(counts).sum(axis=1) - gammaln(counts.sum(axis=1))
    for j in range(n_paths):
        logs += model.coupling * agreeing(states[:, j], (1, 3), 4)
    exact = normalised(logs)
    chosen = np.random.default_rng(18).choice(len(exact), 6000, p=exact)
    moved = []
    for k, state in enumerate(states[chosen]):
        moved.append(step(model, State(k, state.copy()), settings(n_paths, False, 19), THREADS).paths.ravel())
    assert_fits(histogram(np.array(moved), 2), exact)


def test_simulated_labels_follow_the_field():
    model = for_check("symbols", (2, 3), 2, 8)
    rng = generator(20, 0, 0, 0)
    paths = np.array([model.simulate(rng)[1] for _ in range(4000)])
    every = labelings(2, 6)
    assert_fits(histogram(paths, 2), normalised(model.coupling * agreeing(every, (2, 3), 8)))
