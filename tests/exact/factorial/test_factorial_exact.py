"""Factorial hidden Markov models sample the distribution they describe.

All paths of tiny data are enumerated, and plait is compared with sums over them: the likelihood, the
distribution of the paths after one sweep given phi and after several, and Geweke's joint test of whole
sweeps. The distribution of phi given the paths is compared with textbook regression, computed by least
squares and quadrature here and by Cholesky factors in plait.

All chains of such tiny models would form one block; `together` makes blocks smaller.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp
from support import LEAST_P, SCALES, THREADS, assert_all_fit, assert_small, chi_square

from plait.data.sequences import Sequences
from plait.models.emissions import GaussianEmissions, NormalParameters
from plait.models.factorial import FactorialCounts, FactorialHmmModel, FactorialParameters, blocks
from plait.models.factorial.parameters import PARAMETERS
from plait.models.hmm import HmmModel, HmmParameters
from plait.models.model import Key
from plait.testing import check_model

Floats = NDArray[np.float64]
NAN = np.nan


def array(*rows: Any) -> Floats:
    return np.array(rows, dtype=float)


# ---------------------------------------------------------------------------------------------------------
# Problems
# ---------------------------------------------------------------------------------------------------------

POINTS = array([0.4, -0.3], [NAN, NAN], [1.9, 0.8], [-0.7, 1.1], [0.6, 0.2])


@dataclass(frozen=True)
class Problem:
    """A factorial model in plain NumPy."""

    n_chains: int
    n_states: int
    lengths: tuple[int, ...]
    n_features: int
    covariance: str
    together: int
    forbidden: bool = False

    @property
    def values(self) -> Floats:
        return POINTS[: sum(self.lengths), : self.n_features]

    @property
    def model(self) -> FactorialHmmModel:
        sequences = Sequences.from_values(self.values, self.lengths, missing=True)
        prior = np.linspace(0.6, 1.9, self.n_chains * self.n_states**2)
        prior = prior.reshape(self.n_chains, self.n_states, self.n_states)
        if self.forbidden:
            prior[0, 1, 0] = 0.0
        scale = array([1.3, 0.4], [0.4, 0.9])[: self.n_features, : self.n_features]
        return FactorialHmmModel(
            sequences,
            self.n_chains,
            self.n_states,
            covariance=self.covariance,
            start_prior=np.linspace(1.4, 0.7, self.n_chains * self.n_states).reshape(self.n_chains, -1),
            transition_prior=prior,
            mean_prior=np.linspace(-0.6, 0.9, self.n_chains * self.n_states * self.n_features).reshape(
                self.n_chains, self.n_states, self.n_features
            ),
            mean_weight=np.linspace(0.5, 1.2, self.n_chains * self.n_states).reshape(self.n_chains, -1),
            covariance_prior=scale if self.covariance == "full" else np.diag(scale),
            covariance_weight=4.7,
            search=0,
        )

    def phi(self, seed: int) -> FactorialParameters:
        """Parameters far from even, with means that overlap."""
        rng = np.random.default_rng(seed)
        shape = self.n_chains, self.n_states
        moves = rng.dirichlet(np.full(self.n_states, 0.8), shape)
        if self.forbidden:
            moves[0, 1, 0] = 0.0
            moves /= moves.sum(axis=2, keepdims=True)
        root = rng.normal(size=(self.n_features, self.n_features)) + 1.5 * np.eye(self.n_features)
        noise = 0.4 * root @ root.T
        return FactorialParameters(
            rng.dirichlet(np.ones(self.n_states), self.n_chains),
            moves,
            rng.normal(size=(*shape, self.n_features)),
            noise if self.covariance == "full" else np.diag(noise).copy(),
        )

    def paths_of(self, q: int) -> NDArray[np.int64]:
        """Return every joint path of all chains in sequence q, (S^(K n), K, n)."""
        n = self.lengths[q]
        every = itertools.product(range(self.n_states), repeat=self.n_chains * n)
        return np.array(list(every)).reshape(-1, self.n_chains, n)

    def log_joints(self, phi: FactorialParameters, q: int) -> Floats:
        """Return log P(p, w | phi) of every path of sequence q, term by term."""
        first = sum(self.lengths[:q])
        values = self.values[first : first + self.lengths[q]]
        noise = phi.covariance if self.covariance == "full" else np.diag(phi.covariance)
        logs = []
        with np.errstate(divide="ignore"):
            for path in self.paths_of(q):
                x = 0.0
                for k, states in enumerate(path):
                    x += np.log(phi.start[k, states[0]])
                    for a, s in itertools.pairwise(states):
                        x += np.log(phi.transitions[k, a, s])
                for t, value in enumerate(values):
                    mean = sum(phi.means[k, path[k, t]] for k in range(self.n_chains))
                    if not np.isnan(value).any():
                        x += stats.multivariate_normal.logpdf(value, mean, noise)
                logs.append(x)
        return np.array(logs)

    def posterior(self, phi: FactorialParameters, q: int) -> Floats:
        """Return P(p | w, phi) of every path of sequence q."""
        logs = self.log_joints(phi, q)
        return np.exp(logs - logsumexp(logs))

    def all_paths(self) -> NDArray[np.uint16]:
        """Return every path in plait's layout, (n, K T), the first sequence changing slowest."""
        every = itertools.product(*(self.paths_of(q) for q in range(len(self.lengths))))
        return np.array([np.concatenate(parts, axis=1).reshape(-1) for parts in every], np.uint16)

    def index(self, paths: NDArray[Any]) -> NDArray[np.int64]:
        """Return the positions of the paths (n, K T) in `all_paths`."""
        states = paths.reshape(len(paths), self.n_chains, -1).astype(np.int64)
        index, first = np.zeros(len(paths), np.int64), 0
        for length in self.lengths:
            own = states[:, :, first : first + length].reshape(len(paths), -1)
            index = index * self.n_states ** own.shape[1] + own @ (
                self.n_states ** np.arange(own.shape[1])[::-1]
            )
            first += length
        return index

    def sweep(self, phi: FactorialParameters, q: int) -> Floats:
        """Return the probability of every path of sequence q after one sweep, given the path before it.

        Blocks of chains are drawn one after the other, given the rest; all orders are equally likely.
        """
        paths, exact = self.paths_of(q), self.posterior(phi, q)
        n_blocks = -(-self.n_chains // self.n_in_a_block)
        size = -(-self.n_chains // n_blocks)
        total = np.zeros((len(exact), len(exact)))
        orders = list(itertools.permutations(range(self.n_chains)))
        for order in orders:
            step = np.eye(len(exact))
            for begin in range(0, self.n_chains, size):
                rest = np.delete(paths, order[begin : begin + size], axis=1).reshape(len(paths), -1)
                same = (rest[:, None] == rest[None]).all(axis=2) * exact
                sums = same.sum(axis=1, keepdims=True)  # zero for impossible paths, which are never reached
                step = step @ (same / np.where(sums > 0, sums, 1.0))
            total += step / len(orders)
        return total

    @property
    def n_in_a_block(self) -> int:
        return max(
            b for b in range(1, self.n_chains + 1) if self.n_states**b <= max(self.together, self.n_states)
        )


def product_of(distributions: list[Floats]) -> Floats:
    """Return the joint distribution of independent variables."""
    product = np.ones(1)
    for own in distributions:
        product = np.outer(product, own).ravel()
    return product


CHAIN_BY_CHAIN = Problem(2, 2, (3, 1), 1, "diag", together=1)
IN_PAIRS = Problem(3, 2, (1, 2), 2, "full", together=4)
PROBLEMS = {
    "chain-by-chain": CHAIN_BY_CHAIN,
    "three-states": Problem(2, 3, (2,), 2, "diag", together=1),
    "in-pairs": IN_PAIRS,
    "all-together": Problem(2, 2, (1, 3), 2, "full", together=64),
    "one-chain": Problem(1, 3, (3, 1), 2, "full", together=64),
    "many-states": Problem(2, 5, (1, 1), 1, "diag", together=1),
    "forbidden": Problem(2, 2, (3, 1), 2, "diag", together=1, forbidden=True),
    "forbidden-together": Problem(2, 2, (3, 1), 2, "full", together=64, forbidden=True),
}
EVERY_PROBLEM = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


@pytest.fixture(autouse=True)
def _smaller_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    given = getattr(request.node, "callspec", None)
    problem = given.params.get("problem") if given else None
    if isinstance(problem, Problem):
        monkeypatch.setattr(blocks, "_MOST_TOGETHER", problem.together)


# ---------------------------------------------------------------------------------------------------------
# Given phi
# ---------------------------------------------------------------------------------------------------------


@EVERY_PROBLEM
def test_log_joint_of_every_path_is_exact(problem: Problem) -> None:
    model = problem.model
    for seed in range(3):
        phi = problem.phi(seed)
        parts = [problem.log_joints(phi, q) for q in range(len(problem.lengths))]
        exact = np.array([sum(each) for each in itertools.product(*parts)])
        np.testing.assert_allclose(
            model.log_joint(problem.all_paths(), phi, THREADS), exact, rtol=1e-10, atol=1e-10
        )


@pytest.mark.parametrize("by_logs", [False, True])
@EVERY_PROBLEM
def test_likelihood_is_the_sum_over_all_paths(
    problem: Problem, by_logs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by_logs:
        monkeypatch.setattr(blocks, "_FORBIDDEN", 2.0)
    for seed in range(3):
        phi = problem.phi(seed)
        exact = [logsumexp(problem.log_joints(phi, q)) for q in range(len(problem.lengths))]
        np.testing.assert_allclose(problem.model.log_likelihoods(phi, THREADS), exact, rtol=1e-10, atol=1e-10)


def swept(
    problem: Problem, phi: FactorialParameters, before: NDArray[np.uint16], n_sweeps: int, n: int, seed: int
) -> NDArray[np.uint16]:
    """Return n copies of the paths (m, N) after some sweeps with different random numbers, (n, m, N)."""
    model = problem.model
    after = np.repeat(before[None], n, axis=0)
    for i, paths in enumerate(after):
        for sweep in range(n_sweeps):
            model.resample(paths, phi, Key(seed, 1 + i * n_sweeps + sweep), THREADS)
    return after


@pytest.mark.parametrize("scale", SCALES)
@EVERY_PROBLEM
def test_one_sweep_draws_from_the_conditionals(problem: Problem, scale: int) -> None:
    """One sweep from a fixed path has the distribution that follows from its conditionals."""
    results = []
    for seed in range(2):
        phi = problem.phi(10 + seed)
        sweeps = [problem.sweep(phi, q) for q in range(len(problem.lengths))]
        possible = np.flatnonzero(
            product_of([problem.posterior(phi, q) for q in range(len(problem.lengths))]) > 1e-9
        )
        start = np.random.default_rng(seed).choice(possible)
        where = np.unravel_index(start, [len(step) for step in sweeps])
        exact = product_of([step[own] for step, own in zip(sweeps, where, strict=True)])
        before = problem.all_paths()[start][None]
        after = swept(problem, phi, before, 1, 1000 * scale, seed)
        results.append(chi_square(np.bincount(problem.index(after[:, 0]), minlength=len(exact)), exact))
    assert_all_fit(results)


@pytest.mark.parametrize("problem", [CHAIN_BY_CHAIN, IN_PAIRS], ids=["chain-by-chain", "in-pairs"])
def test_sweeps_converge_to_the_posterior_of_the_paths(problem: Problem) -> None:
    """Several sweeps forget the path they started from; two paths at a time are independent."""
    phi, n_sweeps = problem.phi(20), 12
    phi = replace(phi, covariance=4 * phi.covariance)  # with less noise, chains would hold each other
    exacts = []
    for q in range(len(problem.lengths)):
        exact = problem.posterior(phi, q)
        forgetting = np.linalg.matrix_power(problem.sweep(phi, q), n_sweeps)
        assert np.abs(forgetting - exact).sum(axis=1).max() < 0.01  # so that the start does not show
        exacts.append(exact)
    exact = product_of(exacts)
    before = np.zeros((2, problem.model.n_sites), np.uint16)
    after = swept(problem, phi, before, n_sweeps, 1500, 3)
    index = [problem.index(after[:, j]) for j in range(2)]
    results = [chi_square(np.bincount(own, minlength=len(exact)), exact) for own in index]
    pairs = np.bincount(index[0] * len(exact) + index[1], minlength=len(exact) ** 2)
    assert_all_fit([*results, chi_square(pairs, product_of([exact, exact]))])


def test_sequences_paths_and_sweeps_share_no_random_numbers() -> None:
    """Alike in all else, they agree by chance only."""
    n = 400
    model = FactorialHmmModel(Sequences.from_values(np.zeros((3 * n, 1)), [3] * n), 2, 2, search=0)
    phi = FactorialParameters(np.full((2, 2), 0.5), np.full((2, 2, 2), 0.5), np.zeros((2, 2, 1)), np.ones(1))
    paths = np.zeros((2, model.n_sites), np.uint16)
    drawn = []
    for sweep in (1, 2):
        model.resample(paths, phi, Key(0, sweep), THREADS)
        drawn += [path.reshape(2, n, 3) for path in paths.copy()]
    coins = np.concatenate([path.transpose(1, 0, 2).reshape(n, -1) for path in drawn], axis=1)  # (n, 24)
    correlations = np.corrcoef(coins.T) * np.sqrt(n)
    assert_small(correlations[np.triu_indices(len(correlations), 1)])
    following = np.corrcoef(coins[:-1].T, coins[1:].T)[:24, 24:] * np.sqrt(n - 1)
    assert_small(following)


def test_kernels_in_logarithms_draw_the_same_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given the same random numbers, kernels in logarithms and in plain numbers draw the same."""
    for together in (1, 4, 64):
        monkeypatch.setattr(blocks, "_MOST_TOGETHER", together)
        rng = np.random.default_rng(together)
        values = rng.normal(size=(60, 2))
        values[7] = NAN
        model = FactorialHmmModel(Sequences.from_values(values, [1, 40, 19], missing=True), 3, 2, search=0)
        paths = model.initial_paths(2, 0, THREADS)
        phi = model.draw_parameters(model.count(paths, THREADS), Key(1, 1), THREADS)
        other = paths.copy()
        model.resample(paths, phi, Key(1, 1), THREADS)
        with monkeypatch.context() as patch:
            patch.setattr(blocks, "_FORBIDDEN", 2.0)
            model.resample(other, phi, Key(1, 1), THREADS)
        assert np.array_equal(paths, other)


@pytest.mark.parametrize("together", [1, 64])
def test_a_state_that_is_far_behind_can_still_win(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """State 1 is absorbing. It explains the first observation 800 nats better, the others 10 000 worse."""
    monkeypatch.setattr(blocks, "_MOST_TOGETHER", together)
    values = array([1.0], [-4.0], [-4.0])
    model = FactorialHmmModel(
        Sequences.from_values(values), 2, 2, transition_prior=[[[1, 1], [0, 1]], [[1, 1], [1, 1]]], search=0
    )
    phi = FactorialParameters(
        np.full((2, 2), 0.5),
        array([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]),
        array([[0.0], [1.0]], [[0.0], [0.001]]),
        np.array([1 / 1600]),
    )
    paths = np.ones((4, model.n_sites), np.uint16)
    model.resample(paths, phi, Key(0, 1), THREADS)
    assert not paths[:, :3].any()


@pytest.mark.parametrize("by_logs", [False, True])
def test_an_impossible_state_does_not_matter_however_well_it_fits(
    by_logs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state that fits best, by 5000 nats, is forbidden; the other two are equally likely."""
    if by_logs:
        monkeypatch.setattr(blocks, "_FORBIDDEN", 2.0)
    model = FactorialHmmModel(Sequences.from_values([[10.0]]), 1, 3, start_prior=[[1, 1, 0]], search=0)
    phi = FactorialParameters(
        array([0.5, 0.5, 0.0]), np.full((1, 3, 3), 1 / 3), array([[0.0], [0.0], [10.0]]), np.array([0.01])
    )
    paths = np.zeros((400, 1), np.uint16)
    model.resample(paths, phi, Key(0, 1), THREADS)
    assert set(paths.ravel()) == {0, 1}
    assert_small((paths.mean() - 0.5) * 2 * np.sqrt(400))
    assert model.log_likelihood(phi, THREADS) == pytest.approx(stats.norm.logpdf(10, 0, 0.1))


def test_extreme_outliers_get_the_nearest_states() -> None:
    """However unlikely an observation, states are drawn in proportion to its density."""
    values = array([1e6], [-1e6], [0.2])
    model = FactorialHmmModel(Sequences.from_values(values), 2, 2, search=0)
    phi = FactorialParameters(
        np.full((2, 2), 0.5), np.full((2, 2, 2), 0.5), array([[0.0], [1.0]], [[0.0], [3.0]]), np.array([1e-2])
    )
    paths = np.zeros((50, model.n_sites), np.uint16)
    model.resample(paths, phi, Key(0, 1), THREADS)
    assert (paths.reshape(50, 2, 3)[:, :, :2] == [[1, 0], [1, 0]]).all()
    assert np.isfinite(model.log_likelihood(phi, THREADS))


# ---------------------------------------------------------------------------------------------------------
# phi given the paths
# ---------------------------------------------------------------------------------------------------------


def regression(problem: Problem, paths: NDArray[Any]) -> tuple[Floats, Floats, Floats, float]:
    """Return M, A^-1, R and the degrees of freedom by least squares.

    The prior of the means acts as further observations: sqrt(weight) times the prior mean.
    """
    model, d = problem.model, problem.n_features
    values = problem.values
    seen = ~np.isnan(values[:, 0])
    n_rows = model.n_chains * model.n_states
    design, targets = [], []
    for path in paths.reshape(len(paths), model.n_chains, -1):
        for t in np.flatnonzero(seen):
            row = np.zeros(n_rows)
            row[[k * model.n_states + path[k, t] for k in range(model.n_chains)]] = 1.0
            design.append(row)
            targets.append(values[t])
    n = len(design)
    roots = np.sqrt(model.mean_weight).ravel()
    design += list(np.diag(roots))
    targets += list(roots[:, None] * np.reshape(model.mean_prior, (n_rows, d)))
    z, x = np.array(design), np.array(targets)
    best = np.linalg.lstsq(z, x, rcond=None)[0]
    scatter = (x - z @ best).T @ (x - z @ best)
    prior = np.array(model.covariance_prior)
    scale = prior + (scatter if problem.covariance == "full" else np.diag(scatter))
    return best, np.linalg.inv(z.T @ z), scale, 4.7 + n


def some_paths(problem: Problem, n_paths: int) -> NDArray[np.uint16]:
    every = problem.all_paths()
    if problem.forbidden:
        every = every[np.isfinite(problem.model.log_joint(every, problem.phi(0), THREADS))]
    return every[np.random.default_rng(5).choice(len(every), n_paths)]


PARAMETER_PROBLEMS = {
    "one-feature": CHAIN_BY_CHAIN,
    "diag": Problem(2, 3, (2, 2), 2, "diag", together=64),
    "full": IN_PAIRS,
    "forbidden": PROBLEMS["forbidden"],
}
EVERY_PARAMETER_PROBLEM = pytest.mark.parametrize(
    "problem", PARAMETER_PROBLEMS.values(), ids=PARAMETER_PROBLEMS
)


@pytest.mark.parametrize("n_paths", [1, 3])
@EVERY_PARAMETER_PROBLEM
def test_counts_are_those_of_a_plain_loop(problem: Problem, n_paths: int) -> None:
    model, paths = problem.model, some_paths(problem, n_paths)
    counts = model.count(paths, THREADS)
    starts, pairs = np.zeros_like(counts.starts), np.zeros_like(counts.pairs)
    firsts = np.append(0, np.cumsum(problem.lengths))[:-1]
    for path in paths.reshape(n_paths, model.n_chains, -1):
        for k, states in enumerate(path):
            for t, s in enumerate(states):
                if t in firsts:
                    starts[k, s] += 1
                else:
                    pairs[k, states[t - 1], s] += 1
    assert np.array_equal(counts.starts, starts)
    assert np.array_equal(counts.pairs, pairs)
    assert counts.observations == n_paths * (~np.isnan(problem.values[:, 0])).sum()
    assert np.array_equal(counts.together, counts.together.transpose(2, 3, 0, 1))
    assert counts.together.sum() == counts.observations * model.n_chains**2


@pytest.mark.parametrize("n_paths", [1, 3])
@EVERY_PARAMETER_PROBLEM
def test_mean_parameters_are_those_of_least_squares(problem: Problem, n_paths: int) -> None:
    model, paths = problem.model, some_paths(problem, n_paths)
    counts = model.count(paths, THREADS)
    mean = model.mean_parameters(counts, THREADS)
    best, _, scale, degrees = regression(problem, paths)
    np.testing.assert_allclose(mean.means.reshape(best.shape), best, rtol=1e-9)
    less = problem.n_features + 1 if problem.covariance == "full" else 2
    np.testing.assert_allclose(mean.covariance, scale / (degrees - less), rtol=1e-9)
    for rows, own, prior in (
        (mean.start, counts.starts, model.start_prior),
        (mean.transitions, counts.pairs, model.transition_prior),
    ):
        total = own + prior
        np.testing.assert_allclose(rows, total / total.sum(axis=-1, keepdims=True), rtol=1e-12)


def drawn_parameters(
    model: FactorialHmmModel, counts: FactorialCounts, n: int
) -> tuple[Floats, Floats, Floats, Floats]:
    every = [model.draw_parameters(counts, Key(8, sweep), THREADS) for sweep in range(1, n + 1)]
    return tuple(np.array([getattr(one, name) for one in every]) for name in PARAMETERS)  # type: ignore[return-value]


@pytest.mark.parametrize("scale", SCALES)
@EVERY_PARAMETER_PROBLEM
def test_parameters_have_their_exact_marginals(problem: Problem, scale: int) -> None:
    """Kolmogorov-Smirnov tests of variances, of means and combinations of them, and of probabilities.

    For any vectors a and b, a'B b has Student's t distribution: with a full covariance b'C b is inverse
    gamma, with f + n - D + 1 degrees of freedom and the scale b'R b.
    """
    model, paths = problem.model, some_paths(problem, 2)
    counts = model.count(paths, THREADS)
    start, transitions, means, covariances = drawn_parameters(model, counts, 1500 * scale)
    best, inverse, spread, degrees = regression(problem, paths)
    d, full = problem.n_features, problem.covariance == "full"
    freedom = degrees - d + 1 if full else degrees
    rng = np.random.default_rng(9)
    p = []
    units = [*np.eye(d), *(rng.normal(size=(2, d)) if full else [])]
    for b in units:
        # With a diagonal covariance, single features only: a mixture b has another distribution there.
        c, r = (
            (np.einsum("i,nij,j->n", b, covariances, b), b @ spread @ b)
            if full
            else (covariances @ b, spread @ b)
        )
        p.append(stats.kstest(c, stats.invgamma(freedom / 2, scale=r / 2).cdf).pvalue)
        for a in [*np.eye(len(best)), *rng.normal(size=(4, len(best)))]:
            combined = means.reshape(len(means), *best.shape) @ b @ a
            exact = stats.t(freedom, a @ best @ b, np.sqrt(a @ inverse @ a * r / freedom))
            p.append(stats.kstest(combined, exact.cdf).pvalue)
    if full:
        # |R| / |C| is a product of chi-square variates with f + n, f + n - 1, ... degrees of freedom.
        ratios = np.linalg.det(spread) / np.linalg.det(covariances)
        product = np.prod([rng.chisquare(degrees - i, 100_000) for i in range(d)], axis=0)
        p.append(stats.ks_2samp(ratios, product).pvalue)
    else:
        assert_small(np.corrcoef(np.log(covariances.T)).ravel()[1:-1] * np.sqrt(len(means)) if d > 1 else 0)
    for rows, own, prior in (
        (start, counts.starts, model.start_prior),
        (transitions, counts.pairs, model.transition_prior),
    ):
        shapes = own + prior
        rest = shapes.sum(axis=-1, keepdims=True) - shapes
        for index in np.ndindex(shapes.shape):
            if np.asarray(prior)[index] == 0:
                assert not rows[(slice(None), *index)].any()
            elif rest[index] > 0:
                exact = stats.beta(shapes[index], rest[index])
                p.append(stats.kstest(rows[(slice(None), *index)], exact.cdf).pvalue)
    assert min(p) > LEAST_P / len(p), f"smallest of {len(p)} p-values: {min(p):.2g}"


@pytest.mark.parametrize("problem", [PARAMETER_PROBLEMS["diag"], IN_PAIRS], ids=["diag", "full"])
def test_parameters_share_no_random_numbers(problem: Problem) -> None:
    """Rows of probabilities, variances, and means in units of these are independent of each other."""
    model, paths = problem.model, some_paths(problem, 2)
    start, transitions, means, covariances = drawn_parameters(model, model.count(paths, THREADS), 2000)
    n = len(means)
    variances = np.einsum("ndd->nd", covariances) if problem.covariance == "full" else covariances
    best = regression(problem, paths)[0].reshape(means.shape[1:])
    scaled = ((means - best) / np.sqrt(variances)[:, None, None]).reshape(n, -1)
    # One number per row of each part, since those of one row depend on each other; one row of the means.
    columns = [
        start[:, :, 0],
        transitions[:, :, :, 0].reshape(n, -1),
        np.log(variances[:, :1]),
        scaled[:, :1],
    ]
    every = np.hstack(columns)
    for values in (every, np.abs(every - every.mean(axis=0))):
        correlations = np.corrcoef(values.T) * np.sqrt(n)
        assert_small(correlations[np.triu_indices(len(correlations), 1)])


def test_mean_and_variance_agree_with_quadrature() -> None:
    """One chain of one state and one feature: moments of mean and variance given the data, as integrals."""
    values, prior, weight, scale, degrees = np.array([0.3, 1.1, -0.4]), 0.8, 0.7, 1.9, 5.5
    model = FactorialHmmModel(
        Sequences.from_values(values),
        1,
        1,
        mean_prior=prior,
        mean_weight=weight,
        covariance_prior=scale,
        covariance_weight=degrees,
        search=0,
    )
    n_paths = 2
    data = np.tile(values, n_paths)

    mean, log_variance = np.meshgrid(np.linspace(-6, 6, 1201), np.linspace(-5, 6, 1101), indexing="ij")
    variance = np.exp(log_variance)
    density = variance * stats.norm.pdf(data[:, None, None], mean, np.sqrt(variance)).prod(axis=0)
    density *= stats.norm.pdf(mean, prior, np.sqrt(variance / weight))
    density *= stats.invgamma.pdf(variance, degrees / 2, scale=scale / 2)

    def expected(function: Floats) -> float:
        return float((function * density).sum() / density.sum())

    counts = model.count(np.zeros((n_paths, 3), np.uint16), THREADS)
    point = model.mean_parameters(counts, THREADS)
    assert point.means[0, 0, 0] == pytest.approx(expected(mean), rel=1e-6)
    assert point.covariance[0] == pytest.approx(expected(variance), rel=1e-6)
    _, _, means, covariances = drawn_parameters(model, counts, 4000)
    for drawn, exact in (
        (means[:, 0, 0, 0] ** 2, expected(mean**2)),
        (np.sqrt(covariances[:, 0]), expected(np.sqrt(variance))),
        (means[:, 0, 0, 0] ** 2 / covariances[:, 0], expected(mean**2 / variance)),
    ):
        assert_small((drawn.mean() - exact) / (drawn.std() / np.sqrt(len(drawn))))


# ---------------------------------------------------------------------------------------------------------
# Whole sweeps
# ---------------------------------------------------------------------------------------------------------

WHOLE = {
    "chain-by-chain": Problem(2, 2, (2, 1), 1, "diag", together=1),
    "full": Problem(2, 2, (1, 2), 2, "full", together=64),
}


def informed(problem: Problem) -> FactorialHmmModel:
    """Return the model with priors so strong that data simulated from them do not differ much."""
    given = problem.model
    scale = np.asarray(given.covariance_prior) * 8
    return replace(
        given, mean_weight=8 * np.asarray(given.mean_weight), covariance_prior=scale, covariance_weight=25.0
    )


@pytest.mark.parametrize("scale", [pytest.param(scale, marks=pytest.mark.slow) for scale in (1, 10)])
@pytest.mark.parametrize("problem", WHOLE.values(), ids=WHOLE)
def test_whole_sweeps_leave_the_joint_distribution_invariant(problem: Problem, scale: int) -> None:
    done = check_model(informed(problem), n_paths=(1, 2, 3), n_draws=125 * scale, seed=1)
    assert not [line for line in done if "not checked" in line]
    assert len([line for line in done if line.startswith("joint distribution")]) == 3


# ---------------------------------------------------------------------------------------------------------
# One chain is a hidden Markov model
# ---------------------------------------------------------------------------------------------------------


def test_one_chain_is_a_hidden_markov_model() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(30, 2))
    values[4] = NAN
    sequences = Sequences.from_values(values, [12, 1, 17], missing=True)
    means, weights = rng.normal(size=(3, 2)), np.array([0.5, 0.5, 1.5])
    start, moves = rng.uniform(0.5, 2, 3), rng.uniform(0.5, 2, (3, 3))
    scale, degrees = array([1.3, 0.4], [0.4, 0.9]), 4.5
    model = FactorialHmmModel(
        sequences,
        1,
        3,
        covariance="full",
        start_prior=start[None],
        transition_prior=moves[None],
        mean_prior=means[None],
        mean_weight=weights[None],
        covariance_prior=scale,
        covariance_weight=degrees,
        search=0,
    )
    emissions = GaussianEmissions(
        sequences,
        3,
        covariance="tied",
        mean_prior=means,
        mean_weight=weights,
        covariance_prior=scale,
        covariance_weight=degrees,
    )
    hmm = HmmModel(emissions, start, moves)
    paths = rng.integers(3, size=(4, 30)).astype(np.uint16)
    own = model.mean_parameters(model.count(paths, THREADS), THREADS)
    other = hmm.mean_parameters(hmm.count(paths, THREADS), THREADS)
    np.testing.assert_allclose(own.start[0], other.start)
    np.testing.assert_allclose(own.transitions[0], other.transitions)
    np.testing.assert_allclose(own.means[0], other.emissions.means)
    np.testing.assert_allclose(own.covariance, other.emissions.covariances)
    for seed in range(3):
        phi = model.draw_parameters(model.count(paths, THREADS), Key(seed, 1), THREADS)
        normal = NormalParameters(phi.means[0], phi.covariance, "tied")
        same = HmmParameters(phi.start[0], phi.transitions[0], normal)
        np.testing.assert_allclose(
            model.log_joint(paths, phi, THREADS), hmm.log_joint(paths, same, THREADS), rtol=1e-12
        )
        np.testing.assert_allclose(
            model.log_likelihoods(phi, THREADS), hmm.log_likelihoods(same, THREADS), rtol=1e-12
        )
