"""Mixtures: both samplers, EM and likelihoods against enumeration, for every kind of emissions.

As in `hmm_oracle.py`, phi integrates out of P(phi) prod_j P(p^j, w | phi) in closed form. With n_s the number
of times that state s occurs in all m paths, the shares contribute the factor

    B(prior + n) / B(prior),

and the emissions their marginal likelihood, which depends only on how often each observation is in each
state. Those of normal and Poisson emissions are in `hmm_oracle.py`; here are

    Bernoulli      prod_{s,d}  B(a + ones, b + zeros) / B(a, b)
    multinomial    prod_s  B(prior_s + counts_s) / B(prior_s)  times the multinomial coefficients.

The sum over all S^(N m) states of tiny data can be enumerated. The oracle uses nothing of `src`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hmm_oracle import Counts, Normals, as_matrix, sweep_distribution
from hmm_support import NAN, POINTS, PSI, array, draw_normal_parameters, plait_emissions
from numpy.typing import NDArray
from oracle import Floats, all_states, log_beta, state_index
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp
from support import (
    SAMPLERS,
    SCALES,
    THREADS,
    assert_all_fit,
    assert_fits,
    assert_small,
    batch_z,
    chi_square,
    settings,
)

from plait.data.sequences import Sequences
from plait.errors import NotSupported
from plait.kernels import collapsed_mixtures, parameters
from plait.kernels.choice import choose
from plait.models.emissions import (
    BernoulliEmissions,
    BernoulliParameters,
    CategoricalParameters,
    MultinomialEmissions,
    NormalParameters,
    PoissonParameters,
)
from plait.models.mixture import MixtureCounts, MixtureModel, MixtureParameters
from plait.models.model import Key
from plait.rng import open_stream, uniform
from plait.sampler import State, step
from plait.testing import check_model

Ints = NDArray[np.integer]


# ---------------------------------------------------------------------------------------------------------
# The oracle
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bits:
    """Features that are 0 or 1, rows of NaN where missing; their probabilities are Beta(ones, zeros)."""

    values: Floats
    ones: Floats  # (S, D)
    zeros: Floats

    def log_marginal(self, times: Ints) -> float:
        seen = ~np.isnan(self.values[:, 0])
        yes = times[:, seen] @ self.values[seen]
        no = times[:, seen] @ (1 - self.values[seen])
        return float((betaln(self.ones + yes, self.zeros + no) - betaln(self.ones, self.zeros)).sum())

    def log_densities(self, given: Floats) -> Floats:
        result = np.zeros((len(self.values), len(given)))
        for i, x in enumerate(self.values):
            if not np.isnan(x[0]):
                result[i] = stats.bernoulli.logpmf(x, given).sum(axis=1)
        return result

    def predictive(self, s: int, others: Floats, x: Floats) -> float:
        """Return the textbook's P(x | the other observations of a state)."""
        a, b = self.ones[s] + others.sum(axis=0), self.zeros[s] + (1 - others).sum(axis=0)
        return float(np.prod(np.where(x == 1, a / (a + b), b / (a + b))))


@dataclass(frozen=True, eq=False)
class Documents:
    """Counts of words, (N, W); the distributions of the words are Dir(prior), (S, W)."""

    values: Floats
    prior: Floats

    def log_marginal(self, times: Ints) -> float:
        counts = times @ self.values
        coefficients = gammaln(self.values.sum(axis=1) + 1) - gammaln(self.values + 1).sum(axis=1)
        each = log_beta(self.prior + counts) - log_beta(self.prior)
        return float(each.sum() + (times @ coefficients).sum())

    def log_densities(self, given: Floats) -> Floats:
        lengths = self.values.sum(axis=1)
        return np.array(
            [
                [stats.multinomial.logpmf(x, n, row) for row in given]
                for x, n in zip(self.values, lengths, strict=True)
            ]
        )

    def predictive(self, s: int, others: Floats, x: Floats) -> float:
        prior = self.prior[s] + others.sum(axis=0)
        return float(np.exp(stats.dirichlet_multinomial.logpmf(x.astype(int), prior, int(x.sum()))))


@dataclass(frozen=True, eq=False)
class Mixture:
    """The prior of the shares (S,), and emissions with the data."""

    prior: Floats
    emissions: Any

    @property
    def n_states(self) -> int:
        return len(self.prior)

    @property
    def n_sites(self) -> int:
        return len(self.emissions.values)


def state_counts(mixture: Mixture, states: Ints) -> NDArray[np.int64]:
    """Return how often each state occurs in all paths, (n, S), for states (n, m, N)."""
    return np.stack([(states == s).sum(axis=(1, 2)) for s in range(mixture.n_states)], axis=1)


def log_weight(mixture: Mixture, states: Ints) -> Floats:
    """Return the log of the integral of P(phi) prod_j P(p^j, w | phi) over phi, for states (n, m, N)."""
    total = log_beta(mixture.prior + state_counts(mixture, states)) - log_beta(mixture.prior)
    times = np.stack([(states == s).sum(axis=1) for s in range(mixture.n_states)], axis=1)
    distinct, which = np.unique(times.reshape(len(states), -1), axis=0, return_inverse=True)
    parts = [mixture.emissions.log_marginal(row.reshape(mixture.n_states, -1)) for row in distinct]
    return total + np.array(parts)[which.reshape(-1)]


@cache
def joint_distribution(mixture: Mixture, n_paths: int) -> tuple[NDArray[np.uint16], Floats, Floats]:
    """Return all states (n, m, N), their probabilities (n,) and the logarithms of their weights."""
    states = all_states(mixture.n_states, n_paths, mixture.n_sites)
    logs = log_weight(mixture, states)
    return states, np.exp(logs - logsumexp(logs)), logs


def functions(mixture: Mixture, n_paths: int) -> Floats:
    """Return functions of all states (n, K) that are sensitive to small changes of many states at once."""
    states, joint, logs = joint_distribution(mixture, n_paths)
    counts = state_counts(mixture, states)
    first = (states[:, 0] == 0).astype(float)
    agree = states[:, 0] == states[:, -1]
    pairs = states[:, :, :1] == states[:, :, 1:]
    parts = [counts, counts**2, (states == 0).sum(axis=1), first, first[:, :1] * first[:, 1:]]
    parts += [agree, agree.sum(axis=1, keepdims=True) ** 2, pairs.sum(axis=1), logs[:, None]]
    table = np.concatenate([np.asarray(part, float) for part in parts], axis=1)
    spread = np.sqrt(joint @ (table - joint @ table) ** 2)
    return table[:, spread > 0.05 * np.ptp(table, axis=0) + 1e-6]  # others hardly ever vary


# ---------------------------------------------------------------------------------------------------------
# Tiny problems, and plait's models of them
# ---------------------------------------------------------------------------------------------------------
# All priors differ, so that using an index or a constant in the wrong place shows.

SHARES = np.array([0.7, 1.6])
MISSING = array([0.3, -0.4], [-0.9, 0.2], [NAN, NAN], [1.4, 1.1])


def normals(covariance: str, values: Floats = POINTS, strength: float = 1.0) -> Mixture:
    degrees = np.array([3.4, 3.4 if covariance == "tied" else 4.3]) * strength
    means, weights = array([-0.3, 0.4], [0.8, 0.1]), np.array([0.7, 1.9]) * strength
    return Mixture(
        SHARES * strength, Normals(values, covariance, means, weights, PSI[covariance] * strength, degrees)
    )


RATES = Counts(
    array([3, 0], [1, 2], [0, 4], [5, 1]), array([1.4, 0.8], [2.5, 1.7]), array([0.6, 0.5], [0.9, 1.1])
)
BITS = Bits(
    array([1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 0]),
    array([1.4, 0.8, 0.3], [0.5, 1.7, 0.9]),
    array([0.6, 0.5, 1.2], [0.9, 1.1, 2.1]),
)
DOCUMENTS = Documents(
    array([2, 0, 1, 0], [0, 1, 3, 0], [0, 0, 0, 0], [1, 1, 0, 2]),
    array([0.6, 1.1, 0.4, 0.9], [1.4, 0.5, 0.9, 0.3]),
)

PROBLEMS = {
    "spherical": normals("spherical"),
    "diag": normals("diag"),
    "full": normals("full"),
    "tied": normals("tied"),
    "poisson": Mixture(SHARES, RATES),
    "bernoulli": Mixture(SHARES, BITS),
    "multinomial": Mixture(SHARES, DOCUMENTS),
}
MORE = {
    "spherical, missing": normals("spherical", MISSING),
    "diag, missing": normals("diag", MISSING),
    "full, missing": normals("full", MISSING),
    "poisson, missing": Mixture(SHARES, replace(RATES, values=array([3, 0], [NAN, NAN], [0, 4]))),
    "bernoulli, missing": Mixture(SHARES, replace(BITS, values=array([1, 0, 1], [NAN] * 3, [1, 1, 1]))),
    "three full": Mixture(
        np.array([0.7, 1.6, 0.4]),
        Normals(
            POINTS[:3] * 2,
            "full",
            array([-0.3, 0.4], [0.8, 0.1], [0.2, 0.9]),
            np.array([0.7, 1.9, 1.2]),
            np.array([*PSI["full"], [[0.9, 0.1], [0.1, 1.7]]]),
            np.array([3.4, 4.3, 5.1]),
        ),
    ),
    "three documents": Mixture(
        np.array([0.7, 1.6, 0.4]),
        Documents(
            DOCUMENTS.values[:3], array([0.6, 1.1, 0.4, 0.9], [1.4, 0.5, 0.9, 0.3], [0.8, 0.7, 0.2, 2.0])
        ),
    ),
}
EVERY = PROBLEMS | MORE
EVERY_PROBLEM = pytest.mark.parametrize("name", EVERY)
COLLAPSIBLE = [name for name in EVERY if name != "tied"]
RUNS = [
    pytest.param(name, m, collapsed, id=f"{name}-m{m}-{'collapsed' if collapsed else 'partial'}")
    for name in EVERY
    for m in ((1, 2, 3) if name in PROBLEMS else (2,))
    for collapsed in ((False, True) if name in COLLAPSIBLE else (False,))
]
"""Problem, number of paths, whether the sampler is the collapsed one."""


def plait_model(mixture: Mixture) -> MixtureModel:
    e = mixture.emissions
    if isinstance(e, Bits):
        sequences = Sequences.from_values(e.values, missing=True)
        emissions: Any = BernoulliEmissions(sequences, mixture.n_states, prior=e.ones, prior_of_zeros=e.zeros)
    elif isinstance(e, Documents):
        emissions = MultinomialEmissions(e.values, mixture.n_states, prior=e.prior)
    else:
        emissions = plait_emissions(e, None)
    return MixtureModel(emissions, mixture.prior)


def plait_emission_parameters(mixture: Mixture, given: Any) -> Any:
    e = mixture.emissions
    if isinstance(e, Bits):
        return BernoulliParameters(given)
    if isinstance(e, Documents):
        return CategoricalParameters(given)
    return PoissonParameters(given) if isinstance(e, Counts) else NormalParameters(*given, e.covariance)


def some_phi(mixture: Mixture, seed: int) -> tuple[Floats, Any]:
    """Draw shares and the parameters of the emissions, as `log_densities` takes them, from their prior."""
    rng = np.random.default_rng(seed)
    e = mixture.emissions
    if isinstance(e, Bits):
        given: Any = rng.beta(e.ones, e.zeros)
    elif isinstance(e, Documents):
        given = np.array([rng.dirichlet(row) for row in e.prior])
    elif isinstance(e, Counts):
        given = rng.gamma(e.shape) / e.weight
    else:
        given = draw_normal_parameters(e, rng)
    return rng.dirichlet(mixture.prior), given


def plait_phi(mixture: Mixture, phi: tuple[Floats, Any]) -> MixtureParameters:
    return MixtureParameters(phi[0], plait_emission_parameters(mixture, phi[1]))


def log_terms(mixture: Mixture, phi: tuple[Floats, Any]) -> Floats:
    """Return log P(p_i = s, w_i | phi), (N, S)."""
    return np.log(phi[0]) + mixture.emissions.log_densities(phi[1])


# ---------------------------------------------------------------------------------------------------------
# The oracle itself
# ---------------------------------------------------------------------------------------------------------


def test_marginals_of_bits_sum_to_one() -> None:
    times = np.array([[1, 0], [1, 2]])  # three paths over two sites, which share the data
    path = np.array([[0, 1]])
    ordinary = np.stack([(path == s).sum(axis=0) for s in range(2)])
    total = shared = 0.0
    for values in itertools.product([0.0, 1.0], repeat=6):
        e = replace(BITS, values=np.reshape(values, (2, 3)))
        total += np.exp(e.log_marginal(ordinary))
        shared += np.exp(e.log_marginal(times))
    assert total == pytest.approx(1, rel=1e-12)
    assert shared < 1


def test_marginals_of_documents_sum_to_one() -> None:
    lengths, total = [2, 3], 0.0
    documents = [
        [np.array(x) for x in itertools.product(range(n + 1), repeat=4) if sum(x) == n] for n in lengths
    ]
    for pair in itertools.product(*documents):
        e = replace(DOCUMENTS, values=np.array(pair, float))
        total += np.exp(e.log_marginal(np.array([[1, 1], [0, 0]])))
    assert total == pytest.approx(1, rel=1e-12)


def test_paths_of_missing_data_follow_an_urn() -> None:
    """Only the shares matter: each site is drawn in proportion to prior and count so far."""
    mixture = Mixture(SHARES, replace(BITS, values=np.full((3, 3), NAN)))
    states, joint, _ = joint_distribution(mixture, 2)
    for k in (5, 17, 40):
        sites = states[k].ravel()
        chance = 1.0
        for n, s in enumerate(sites):
            chance *= (SHARES[s] + np.sum(sites[:n] == s)) / (SHARES.sum() + n)
        assert joint[k] == pytest.approx(chance, rel=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Given phi
# ---------------------------------------------------------------------------------------------------------


@EVERY_PROBLEM
def test_likelihoods_posteriors_and_joints_are_exact(name: str) -> None:
    mixture = EVERY[name]
    model = plait_model(mixture)
    rng = np.random.default_rng(1)
    for seed in range(5):
        phi = some_phi(mixture, seed)
        terms, parameters_ = log_terms(mixture, phi), plait_phi(mixture, phi)
        model.check_parameters(parameters_)
        exact = logsumexp(terms, axis=1)
        np.testing.assert_allclose(model.log_likelihoods(parameters_, THREADS), exact, rtol=1e-10, atol=1e-12)
        assert model.log_likelihood(parameters_, THREADS) == pytest.approx(exact.sum(), rel=1e-10)
        posteriors, likelihoods = model.posteriors(parameters_, THREADS)
        np.testing.assert_allclose(posteriors, np.exp(terms - exact[:, None]), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(likelihoods, exact, rtol=1e-10, atol=1e-12)
        paths = rng.integers(0, mixture.n_states, (3, mixture.n_sites)).astype(np.uint16)
        joints = [terms[np.arange(mixture.n_sites), path].sum() for path in paths]
        np.testing.assert_allclose(model.log_joint(paths, parameters_, THREADS), joints, rtol=1e-10)


@pytest.mark.parametrize("scale", SCALES)
@EVERY_PROBLEM
def test_a_sweep_given_phi_draws_from_the_posteriors(name: str, scale: int) -> None:
    """Two paths are drawn independently from the product of the posteriors of the sites."""
    mixture = EVERY[name]
    model = plait_model(mixture)
    results = []
    for seed in range(2):
        phi = some_phi(mixture, seed)
        terms = log_terms(mixture, phi)
        one = np.ones(1)
        for row in np.exp(terms - logsumexp(terms, axis=1)[:, None]):
            one = np.outer(one, row).ravel()
        after = np.zeros((1_000 * scale, 2, mixture.n_sites), np.uint16)
        for k, paths in enumerate(after):
            model.resample(paths, plait_phi(mixture, phi), Key(seed, k + 1), THREADS)
        joint = np.outer(one, one).ravel()
        results.append(
            chi_square(np.bincount(state_index(after, mixture.n_states), minlength=len(joint)), joint)
        )
    assert_all_fit(results)


def test_states_are_chosen_in_proportion_to_their_weights() -> None:
    """Never a state of weight 0, not even where rounding leaves a rest."""
    rng = np.random.default_rng(2)
    weights = np.array([0.0, 0.3, 0.0, 0.5, 0.2, 0.0])
    grid = (np.arange(1000) + 0.5) / 1000
    chosen = np.array([choose(weights, weights.sum(), u) for u in grid])
    np.testing.assert_allclose(np.bincount(chosen, minlength=6) / 1000, weights, atol=1e-12)
    left = 0
    for _ in range(300):
        weights = np.append(rng.random(7) * (rng.random(7) < 0.7), [0.1, 0.0, 0.0])
        total = float(np.add.accumulate(weights)[-1])
        for u in (2.0**-53, 1 - 2.0**-53):  # the smallest and the largest variate
            left += np.subtract.reduce(np.append(u * total, weights)) >= 0
            assert weights[choose(weights, total, u)] > 0
    assert left > 10


def test_a_path_does_not_depend_on_the_number_of_paths() -> None:
    """Given phi and the key, each path has its own stream."""
    model = plait_model(PROBLEMS["diag"])
    phi = plait_phi(PROBLEMS["diag"], some_phi(PROBLEMS["diag"], 0))
    drawn = [np.zeros((m, model.n_sites), np.uint16) for m in (1, 2, 6)]
    for sweep in range(1, 20):
        for paths in drawn:
            model.resample(paths, phi, Key(1, sweep), THREADS)
        assert np.array_equal(drawn[0], drawn[2][:1])
        assert np.array_equal(drawn[1], drawn[2][:2])


def test_ranges_paths_and_sweeps_share_no_random_numbers() -> None:
    """With even odds, no two rows of choices agree more often than by chance."""
    n = 3 * 4096
    model = MixtureModel(BernoulliEmissions(Sequences.from_values(np.ones((n, 1))), 2))
    assert len(model._ranges) == 3
    paths = np.zeros((2, n), np.uint16)
    even = MixtureParameters(np.full(2, 0.5), BernoulliParameters(np.full((2, 1), 0.5)))
    rows = []
    for sweep in (1, 2):
        model.resample(paths, even, Key(0, sweep), THREADS)
        rows.append(paths.reshape(6, 4096).copy())
    rows = np.concatenate(rows).astype(float)
    for a, b in itertools.combinations(rows, 2):
        assert abs(np.mean(a == b) - 0.5) < 4.5 * 0.5 / np.sqrt(4096)


# ---------------------------------------------------------------------------------------------------------
# phi given the paths
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bernoulli", "bernoulli, missing", "multinomial"])
def test_draws_of_phi_have_exact_moments(name: str) -> None:
    """Means and mean squares of beta and Dirichlet variates; the other distributions are tested for HMMs."""
    mixture = EVERY[name]
    e, model = mixture.emissions, plait_model(mixture)
    paths = np.random.default_rng(3).integers(0, 2, (2, mixture.n_sites)).astype(np.uint16)
    times = np.stack([(paths == s).sum(axis=0) for s in range(2)])
    counts = model.count(paths, THREADS)
    draws = [model.draw_parameters(counts, Key(4, k), THREADS) for k in range(3_000)]
    shapes = [mixture.prior + times.sum(axis=1)]
    if isinstance(e, Documents):
        shapes += list(e.prior + times @ e.values)
        rows = [np.array([[d.shares, *d.emissions.probabilities][r] for d in draws]) for r in range(3)]
    else:
        seen = ~np.isnan(e.values[:, 0])
        yes, no = (times[:, seen] @ x[seen] for x in (e.values, 1 - e.values))
        p = np.array([d.emissions.probabilities for d in draws])
        rows = [np.array([d.shares for d in draws])]
        for s, d in np.ndindex(e.ones.shape):
            shapes.append(np.array([e.ones[s, d] + yes[s, d], e.zeros[s, d] + no[s, d]]))
            rows.append(np.stack([p[:, s, d], 1 - p[:, s, d]], axis=1))
    for shape, drawn in zip(shapes, rows, strict=True):
        mean = shape / shape.sum()
        square = mean * (shape + 1) / (shape.sum() + 1)
        for order, exact in ((1, mean), (2, square)):
            x = drawn**order
            assert_small((x.mean(axis=0) - exact) / (x.std(axis=0) / np.sqrt(len(x))))
    found = model.mean_parameters(counts, THREADS)
    np.testing.assert_allclose(found.shares, shapes[0] / shapes[0].sum(), rtol=1e-12)
    means = np.array([shape[0] / shape.sum() for shape in shapes[1:]])
    np.testing.assert_allclose(
        found.emissions.probabilities.ravel() if isinstance(e, Bits) else found.emissions.probabilities[:, 0],
        means,
        rtol=1e-12,
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_two_parts_of_phi_share_a_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    units: list[int] = []
    rows, normals_, gammas = parameters.draw_rows, parameters.fill_normals, parameters.fill_gammas

    def draw_rows(shapes: Any, free: Any, fixed: Any, mass: Any, unit: int, out: Any, key: Key) -> None:
        units.extend(unit + r for r in range(len(out)))
        rows(shapes, free, fixed, mass, unit, out, key)

    def fill_normals(unit: int, variates: Any, key: Key) -> None:
        units.append(unit)
        normals_(unit, variates, key)

    def fill_gammas(unit: int, shapes: Any, variates: Any, key: Key) -> None:
        units.append(unit)
        gammas(unit, shapes, variates, key)

    for spy in (draw_rows, fill_normals, fill_gammas):
        monkeypatch.setattr(parameters, spy.__name__, spy)
    model = plait_model(PROBLEMS[name])
    model.draw_parameters(model.count(model.initial_paths(2, 5, THREADS), THREADS), Key(66, 1), THREADS)
    assert len(units) > 1
    assert len(set(units)) == len(units)


# ---------------------------------------------------------------------------------------------------------
# The collapsed sampler, one site at a time
# ---------------------------------------------------------------------------------------------------------


class Choices:
    """Replaces the choice of a state: records the probabilities of the states, and follows a plan.

    The kernels then run interpreted; compiled, they are tested by their draws below.
    """

    def __init__(self, plan: Ints, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plan = iter(plan.T.ravel().tolist())  # at each site one path after another
        self.probabilities: list[Floats] = []
        self.numbers: list[float] = []
        for name in ("resample_numbers", "resample_documents"):
            function = getattr(collapsed_mixtures, name)
            monkeypatch.setattr(collapsed_mixtures, name, getattr(function, "py_func", function))
        monkeypatch.setattr(collapsed_mixtures, "choose", self)

    def __call__(self, weights: Floats, total: float, u: float) -> int:
        self.numbers.append(u)
        assert total == pytest.approx(weights.sum(), rel=1e-12)
        self.probabilities.append(weights / total)
        return next(self.plan)


@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize("name", COLLAPSIBLE)
def test_collapsed_conditionals_are_ratios_of_the_joint(
    name: str, n_paths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixture = EVERY[name]
    model = plait_model(mixture)
    rng = np.random.default_rng(n_paths)
    shape = (n_paths, mixture.n_sites)
    before, after = (rng.integers(0, mixture.n_states, shape).astype(np.uint16) for _ in range(2))
    choices = Choices(after, monkeypatch)
    now, paths = before.copy(), before.copy()
    counts = model.count(paths, THREADS)
    model.resample_collapsed(paths, counts, Key(9, 1))
    assert np.array_equal(paths, after)
    fresh = model.count(after, THREADS)
    np.testing.assert_allclose(counts.states, fresh.states, rtol=1e-12)
    np.testing.assert_allclose(counts.emissions, fresh.emissions, rtol=1e-9, atol=1e-12)
    streams = np.zeros((n_paths, 2), np.uint64)
    for j in range(n_paths):
        open_stream(streams[j], 9, 1, j, 0)
    assert choices.numbers == [uniform(streams[j]) for _ in range(mixture.n_sites) for j in range(n_paths)]
    found = iter(choices.probabilities)
    for i in range(mixture.n_sites):
        for j in range(n_paths):
            options = np.repeat(now[None], mixture.n_states, axis=0)
            options[:, j, i] = np.arange(mixture.n_states)
            logs = log_weight(mixture, options)
            np.testing.assert_allclose(next(found), np.exp(logs - logsumexp(logs)), rtol=1e-9)
            now[j, i] = after[j, i]
    assert next(found, None) is None


def textbook_predictive(e: Any, s: int, others: Floats, x: Floats) -> float:
    """Return P(x | the other observations of a state) by the textbook formulas, with SciPy's densities."""
    if isinstance(e, (Bits, Documents)):
        return e.predictive(s, others, x)
    n = len(others)
    if isinstance(e, Counts):
        a, b = e.shape[s] + others.sum(axis=0), e.weight[s] + n
        return float(stats.nbinom.pmf(x, a, b / (b + 1)).prod())
    k = e.mean_weight[s] + n
    mean = (e.mean_weight[s] * e.mean_prior[s] + others.sum(axis=0)) / k
    apart = others - others.mean(axis=0) if n else others
    off = (others.mean(axis=0) if n else mean) - e.mean_prior[s]
    scatter = apart.T @ apart + e.mean_weight[s] * n / k * np.outer(off, off)
    d = len(x)
    if e.covariance == "full":
        freedom = e.degrees[s] + n - d + 1
        spread = (e.scale[s] + scatter) * (k + 1) / (k * freedom)
        return float(stats.multivariate_t.pdf(x, mean, spread, freedom))
    if e.covariance == "spherical":
        freedom = e.degrees[s] + n * d
        spread = (e.scale[s] + np.trace(scatter)) * (k + 1) / (k * freedom) * np.eye(d)
        return float(stats.multivariate_t.pdf(x, mean, spread, freedom))
    freedom = e.degrees[s] + n
    spread = np.sqrt((e.scale[s] + np.diag(scatter)) * (k + 1) / (k * freedom))
    return float(stats.t.pdf(x, freedom, mean, spread).prod())


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "tied"])
def test_one_path_is_the_textbook_collapsed_sampler(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """(n_s + prior_s) times the predictive density, counts and observations without the site."""
    mixture = PROBLEMS[name]
    e, model = mixture.emissions, plait_model(mixture)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        now, after = (rng.integers(0, 2, (1, mixture.n_sites)).astype(np.uint16) for _ in range(2))
        with monkeypatch.context() as patch:
            choices = Choices(after, patch)
            model.resample_collapsed(now.copy(), model.count(now, THREADS), Key(seed, 1))
        for i, found in enumerate(choices.probabilities):
            other = np.arange(mixture.n_sites) != i
            weights = np.empty(2)
            for s in range(2):
                mine = other & (now[0] == s)
                weights[s] = (mine.sum() + mixture.prior[s]) * textbook_predictive(
                    e, s, e.values[mine], e.values[i]
                )
            np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-9)
            now[0, i] = after[0, i]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", COLLAPSIBLE)
def test_a_collapsed_sweep_draws_from_the_conditionals(name: str, scale: int) -> None:
    """The compiled kernels: sweeps with different keys from the same states."""
    mixture, n_paths = EVERY[name], 2
    model = plait_model(mixture)
    states, joint, logs = joint_distribution(mixture, n_paths)
    results = []
    for before in states[np.random.default_rng(51).choice(len(joint), size=2, p=joint)]:
        counts = model.count(before, THREADS)
        after = np.repeat(before[None], 1_000 * scale, axis=0)
        for k, paths in enumerate(after):
            fresh = MixtureCounts(counts.states.copy(), counts.emissions.copy())
            model.resample_collapsed(paths, fresh, Key(len(results), k))
        observed = np.bincount(state_index(after, mixture.n_states), minlength=len(joint))
        results.append(chi_square(observed, sweep_distribution(logs, before, mixture.n_states)))
    assert_all_fit(results)


def test_tied_covariances_have_no_collapsed_sampler() -> None:
    model = plait_model(PROBLEMS["tied"])
    paths = model.initial_paths(1, 0, THREADS)
    with pytest.raises(NotSupported, match="choose the partially collapsed one"):
        model.resample_collapsed(paths, model.count(paths, THREADS), Key(0, 1))


# ---------------------------------------------------------------------------------------------------------
# Whole samplers
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("name", "n_paths", "collapsed"), RUNS)
def test_one_sweep_leaves_the_joint_distribution_invariant(
    name: str, n_paths: int, collapsed: bool, scale: int
) -> None:
    mixture = EVERY[name]
    model, (states, joint, _) = plait_model(mixture), joint_distribution(mixture, n_paths)
    n = 500 * scale
    paths = states[np.random.default_rng(101).choice(len(joint), size=n, p=joint)]
    how = settings(n_paths, collapsed, 102)
    for k in range(n):
        step(model, State(k, paths[k]), how, THREADS)
    indices = state_index(paths, mixture.n_states)
    assert_fits(np.bincount(indices, minlength=len(joint)), joint)
    table = functions(mixture, n_paths)
    exact = joint @ table
    error = np.sqrt(joint @ (table - exact) ** 2 / n)
    assert_small((table[indices].mean(axis=0) - exact) / error)


# Priors strong enough for chains to forget their past within 20 sweeps; batches have 60.
LONG = {
    "diag": normals("diag", strength=4.0),
    "tied": normals("tied", strength=4.0),
    "bernoulli": Mixture(4 * SHARES, replace(BITS, ones=3 * BITS.ones, zeros=3 * BITS.zeros)),
    "multinomial": Mixture(4 * SHARES, replace(DOCUMENTS, prior=4 * DOCUMENTS.prior)),
}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", SAMPLERS)
@pytest.mark.parametrize("name", LONG)
def test_a_long_run_has_the_exact_means(name: str, collapsed: bool, scale: int) -> None:
    """From plait's own initial paths."""
    if name == "tied" and collapsed:
        name = "diag"
    mixture, n_paths, n = LONG[name], 2, 3_000 * scale
    model, how = plait_model(mixture), settings(n_paths, collapsed, 202)
    state = State(0, model.initial_paths(n_paths, 202, THREADS))
    visited = np.empty((n, n_paths, mixture.n_sites), np.uint16)
    for k in range(-50, n):
        state = step(model, state, how, THREADS)
        visited[max(k, 0)] = state.paths
    _, joint, _ = joint_distribution(mixture, n_paths)
    table = functions(mixture, n_paths)
    assert_small(batch_z(table[state_index(visited, mixture.n_states)], joint @ table))


@pytest.mark.parametrize("n_paths", [1, 3])
def test_phi_follows_the_power_of_the_likelihood(n_paths: int) -> None:
    """P(phi) P(w | phi)^m for three parameters, by quadrature, against draws of phi along a run."""
    ones, zeros = array([2.4], [3.5]), array([3.1], [2.2])
    mixture = Mixture(np.array([2.7, 3.6]), Bits(array([1], [0], [1], [1]), ones, zeros))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    x, weights = (nodes + 1) / 2, weights / 2
    share, a, b = np.meshgrid(x, x, x, indexing="ij")
    density = weights[:, None, None] * weights[:, None] * weights
    density = density * stats.beta.pdf(share, *mixture.prior)
    density *= stats.beta.pdf(a, 2.4, 3.1) * stats.beta.pdf(b, 3.5, 2.2)
    mean = share * a + (1 - share) * b
    density *= (mean**3 * (1 - mean)) ** n_paths
    density /= density.sum()
    exact = np.array([(density * f).sum() for f in (share, a, b, share**2, a**2, b**2, a * b, share * a)])
    model, how = plait_model(mixture), settings(n_paths, False, 7)
    state = State(0, model.initial_paths(n_paths, 7, THREADS))
    rows = []
    for _ in range(4_000):
        state = step(model, state, how, THREADS)
        u, (p, q) = state.parameters.shares[0], state.parameters.emissions.probabilities[:, 0]
        rows.append([u, p, q, u * u, p * p, q * q, p * q, u * p])
    assert_small(batch_z(np.array(rows), exact))


def informative(name: str) -> MixtureModel:
    """Return a model of three sites with priors so strong that simulated data serve to test every m."""
    shares, e = np.array([2.0, 3.0]), PROBLEMS[name].emissions
    e = replace(e, values=e.values[:3])
    if isinstance(e, Bits):
        e = Bits(e.values[:, :2], array([1.4, 2.8], [2.5, 0.7]), array([2.6, 0.5], [1.9, 1.1]))
    elif isinstance(e, Documents):
        e = replace(e, prior=2 * e.prior + 0.3)
    elif isinstance(e, Counts):
        e = Counts(e.values, array([7.4, 5.8], [8.5, 6.7]), array([3.6, 3.5], [2.9, 3.1]))
    else:
        degrees = np.array([40.0, 40.0 if name == "tied" else 46.0])
        e = replace(e, degrees=degrees, scale=30 * e.scale, mean_weight=np.array([6.3, 8.1]))
    return plait_model(Mixture(shares, e))


@pytest.mark.parametrize(
    ("name", "n_draws"),
    [(name, 150) for name in ("poisson", "multinomial")]
    + [pytest.param(name, 2_000, marks=pytest.mark.slow) for name in PROBLEMS],
)
def test_whole_sweeps_leave_the_joint_distribution_invariant(name: str, n_draws: int) -> None:
    """Geweke's test: data, paths and phi are simulated, for m = 1, 2, 3."""
    done = check_model(informative(name), n_paths=(1, 2, 3), n_draws=n_draws, seed=3)
    lines = [line for line in done if line.startswith("joint distribution")]
    assert len(lines) == (3 if name == "tied" else 6)
    assert not [line for line in done if "not checked" in line]


# ---------------------------------------------------------------------------------------------------------
# EM
# ---------------------------------------------------------------------------------------------------------


def log_prior(mixture: Mixture, phi: MixtureParameters) -> float:
    """Return log P(phi) in the coordinates of plait's modes: inverse covariances, and logarithms of rates."""
    e, given = mixture.emissions, phi.emissions
    total = stats.dirichlet.logpdf(phi.shares, mixture.prior)
    if isinstance(e, Bits):
        return float(total + stats.beta.logpdf(given.probabilities, e.ones, e.zeros).sum())
    if isinstance(e, Documents):
        rows = zip(given.probabilities, e.prior, strict=True)
        return float(total + sum(stats.dirichlet.logpdf(row, own) for row, own in rows))
    if isinstance(e, Counts):
        each = stats.gamma.logpdf(given.rates, e.shape, scale=1 / e.weight) + np.log(given.rates)
        return float(total + each.sum())
    n_states, n_features = given.means.shape
    for s in range(n_states):
        own = as_matrix(e.covariance, given.covariances, s, n_features)
        total += stats.multivariate_normal.logpdf(given.means[s], e.mean_prior[s], own / e.mean_weight[s])
        if e.covariance == "full":
            inverse = np.linalg.inv(own)
            total += stats.wishart.logpdf(inverse, e.degrees[s], np.linalg.inv(e.scale[s]))
        elif e.covariance != "tied":
            inverse = 1 / given.covariances[s]
            total += stats.gamma.logpdf(inverse, e.degrees[s] / 2, scale=2 / e.scale[s]).sum()
    if e.covariance == "tied":
        inverse = np.linalg.inv(given.covariances)
        total += stats.wishart.logpdf(inverse, e.degrees[0], np.linalg.inv(e.scale))
    return float(total)


def shaken(phi: MixtureParameters, rng: np.random.Generator, by: float) -> MixtureParameters:
    """Return slightly different parameters."""

    def rows(p: Floats) -> Floats:
        p = p * np.exp(by * rng.normal(size=p.shape))
        return p / p.sum(axis=-1, keepdims=True)

    given = phi.emissions
    if isinstance(given, BernoulliParameters):
        both = rows(np.stack([given.probabilities, 1 - given.probabilities], axis=-1))
        given = BernoulliParameters(both[..., 0])
    elif isinstance(given, CategoricalParameters):
        given = CategoricalParameters(rows(given.probabilities))
    elif isinstance(given, PoissonParameters):
        given = PoissonParameters(given.rates * np.exp(by * rng.normal(size=given.rates.shape)))
    else:
        covariances = given.covariances
        if given.covariance in ("full", "tied"):
            turn = np.eye(2) + by * rng.normal(size=covariances.shape)
            covariances = turn @ covariances @ np.swapaxes(turn, -1, -2)
        else:
            covariances = covariances * np.exp(by * rng.normal(size=covariances.shape))
        given = NormalParameters(
            given.means + by * rng.normal(size=given.means.shape), covariances, given.covariance
        )
    return MixtureParameters(rows(phi.shares), given)


def arrays_of(given: Any) -> Any:
    """Return parameters as `log_densities` of the emissions takes them."""
    parts = tuple(given.to_arrays().values())
    return parts if isinstance(given, NormalParameters) else parts[0]


def smooth(name: str) -> Mixture:
    """Return a mixture whose priors of probabilities are above 1, so that modes are in the interior."""
    mixture = EVERY[name]
    e = mixture.emissions
    if isinstance(e, Bits):
        e = replace(e, ones=e.ones + 1, zeros=e.zeros + 1)
    elif isinstance(e, Documents):
        e = replace(e, prior=e.prior + 1)
    return Mixture(mixture.prior + 1, e)


@EVERY_PROBLEM
def test_em_increases_the_posterior_up_to_a_local_maximum(name: str) -> None:
    mixture = smooth(name)
    model = plait_model(mixture)
    rng = np.random.default_rng(6)

    def height(phi: MixtureParameters) -> float:
        terms = log_terms(mixture, (phi.shares, arrays_of(phi.emissions)))
        return log_prior(mixture, phi) + float(logsumexp(terms, axis=1).sum())

    for seed in range(3):
        phi = plait_phi(mixture, some_phi(mixture, seed))
        heights = [height(phi)]
        for _ in range(300):
            phi = model.mode_parameters(model.expected_counts(phi, THREADS)[0])
            if len(heights) < 40:
                heights.append(height(phi))
        assert np.diff(heights).min() > -1e-10
        assert heights[-1] > heights[0]
        top = height(phi)
        for by in (0.1, 1e-2, 1e-3):
            assert all(height(shaken(phi, rng, by)) < top + 1e-9 for _ in range(10))


@EVERY_PROBLEM
def test_expected_counts_are_averages_over_the_posterior(name: str) -> None:
    mixture = EVERY[name]
    model = plait_model(mixture)
    phi = some_phi(mixture, 8)
    terms = log_terms(mixture, phi)
    posteriors = np.exp(terms - logsumexp(terms, axis=1)[:, None])
    counts, log_likelihood = model.expected_counts(plait_phi(mixture, phi), THREADS)
    assert log_likelihood == pytest.approx(logsumexp(terms, axis=1).sum(), rel=1e-10)
    np.testing.assert_allclose(counts.states, posteriors.sum(axis=0), rtol=1e-9)
    by_path = np.zeros_like(counts.emissions)
    for path in all_states(mixture.n_states, 1, mixture.n_sites)[:, 0]:
        chance = posteriors[np.arange(mixture.n_sites), path].prod()
        by_path += chance * model.count(path[None], THREADS).emissions
    np.testing.assert_allclose(counts.emissions, by_path, rtol=1e-9, atol=1e-12)
