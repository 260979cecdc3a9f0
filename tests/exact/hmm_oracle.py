"""A textbook multipath hidden Markov model, written from the paper and independent of `src`.

As in `oracle.py`, the target is P(phi) prod_j P(p^j, w | phi), and its sum over all paths of tiny data is
enumerated. Here phi is start, transitions and emissions. Each has a conjugate prior, so that the integral
over phi for one m-tuple of paths is a product of marginal likelihoods. These depend only on which
observations are in which state, and how often: site i counts once for each path that is there. So everything
is in terms of `times` (S, N), how many of the m paths are in state s at site i.

Distributions (`Rows`): the free cells of a row are mass times Dir(prior), the others are fixed, so

    P(counts) = prod_fixed phi^n  mass^(sum of free n)  B(prior + n) / B(prior).                         (1)

Normal emissions: given the covariance C, and with the mean integrated out, the n observations of a state are
jointly normal around the prior mean m0. The features have covariance C, the observations R = 1 + 11' / k0
(or 1, around a fixed mean). With E the residuals, Q = E' R^-1 E, and C ~ inverse Wishart (nu, Psi)
this is a matrix t density,

    pi^(-nD/2) Gamma_D((nu+n)/2) / Gamma_D(nu/2) |Psi|^(nu/2) |Psi + Q|^(-(nu+n)/2) |R|^(-D/2).          (2)

A variance is the case D = 1. A spherical covariance has n D numbers with one variance, and the trace of Q
in place of Q. A tied covariance has the sums of Q and n over all states. `test_hmm_oracle.py` checks (2) by
quadrature and by the predictive distribution of one observation after another.

Poisson emissions with rates ~ Gamma(a, b): with n observations and x their sum,

    b^a / Gamma(a)  Gamma(a + x) / (b + n)^(a + x)  /  prod x_i!                                         (3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from oracle import Floats, all_states, log_beta, state_index
from scipy import stats
from scipy.special import gammaln, multigammaln, xlogy

Ints = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Rows:
    """Distributions, one per row: Dirichlet on the free cells, times what the fixed ones leave.

    `fixed` is NaN where a cell is free. A prior of zero is a fixed zero.
    """

    prior: Floats
    fixed: Floats | None = None

    @property
    def known(self) -> Floats:
        known = np.full(self.prior.shape, np.nan) if self.fixed is None else self.fixed
        return np.where(np.isnan(known) & (self.prior == 0), 0.0, known)

    @property
    def free(self) -> NDArray[np.bool_]:
        return np.isnan(self.known)

    @property
    def mass(self) -> Floats:
        return 1 - np.nansum(self.known, axis=1)

    def log_marginal(self, counts: Ints) -> Floats:
        """Logarithm of (1), for counts (..., R, L)."""
        total = np.zeros(counts.shape[:-2])
        for r, (prior, known, free) in enumerate(zip(self.prior, self.known, self.free, strict=True)):
            n = counts[..., r, :]
            total += xlogy(n[..., ~free], known[~free]).sum(axis=-1)
            if free.any():
                total += xlogy(n[..., free].sum(axis=-1), self.mass[r])
                total += log_beta(prior[free] + n[..., free]) - log_beta(prior[free])
        return total

    def mean(self, counts: Floats) -> Floats:
        """The mean given counts (R, L)."""
        shapes = np.where(self.free, self.prior + counts, 0)
        with np.errstate(invalid="ignore"):  # a row all of which is fixed
            shares = self.mass[:, None] * shapes / shapes.sum(axis=1, keepdims=True)
        return np.where(self.free, shares, self.known)

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw from the prior, (n, R, L)."""
        gammas = np.where(
            self.free, rng.standard_gamma(np.where(self.free, self.prior, 1), (n, *self.prior.shape)), 0
        )
        with np.errstate(invalid="ignore"):
            shares = self.mass[:, None] * gammas / gammas.sum(axis=2, keepdims=True)
        return np.where(self.free, shares, self.known)


# ---------------------------------------------------------------------------------------------------------
# Emissions
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Symbols:
    """Symbols, -1 where missing; their distributions are `rows` (S, W)."""

    values: Ints
    rows: Rows

    def counts(self, times: NDArray[Any]) -> NDArray[Any]:
        counts = np.zeros(self.rows.prior.shape, times.dtype)
        for i, w in enumerate(self.values):
            if w >= 0:
                counts[:, w] += times[:, i]
        return counts

    def log_marginal(self, times: Ints) -> float:
        return float(self.rows.log_marginal(self.counts(times)))

    def log_densities(self, table: Floats) -> Floats:
        """log P(w_i | p_i = s), (N, S), given e (S, W)."""
        with np.errstate(divide="ignore"):
            return np.array([np.log(table[:, w]) if w >= 0 else np.zeros(len(table)) for w in self.values])


@dataclass(frozen=True, eq=False)
class Normals:
    """Numbers (N, D), rows of NaN where missing, with normal-inverse-Wishart priors in one of four forms."""

    values: Floats
    covariance: str
    mean_prior: Floats  # (S, D)
    mean_weight: Floats  # (S,)
    scale: Floats  # (S,), (S, D), (S, D, D) or (D, D)
    degrees: Floats  # (S,); equal if tied
    fixed_means: Floats | None = None  # (S, D)
    fixed_covariances: Floats | None = None

    def of_state(self, s: int, times: Ints) -> tuple[int, Floats, float]:
        """n, Q and log |R| of a state."""
        seen = ~np.isnan(self.values[:, 0])
        x = np.repeat(self.values[seen], times[s, seen], axis=0)
        n = len(x)
        if self.mean_is_fixed(s):
            residuals = x - self.fixed_means[s]
            return n, residuals.T @ residuals, 0.0
        residuals = x - self.mean_prior[s]
        spread = np.eye(n) + 1 / self.mean_weight[s]
        return n, residuals.T @ np.linalg.solve(spread, residuals), float(np.linalg.slogdet(spread)[1])

    def mean_is_fixed(self, s: int) -> bool:
        return self.fixed_means is not None and not np.isnan(self.fixed_means[s, 0])

    def fixed(self, s: int) -> Floats | None:
        """The covariance of a state, if it is fixed, in its form."""
        if self.fixed_covariances is None:
            return None
        own = self.fixed_covariances if self.covariance == "tied" else self.fixed_covariances[s]
        return None if np.isnan(own).any() else own

    def log_marginal(self, times: Ints) -> float:
        """Logarithm of (2)."""
        n_states, n_features = self.mean_prior.shape
        parts = [self.of_state(s, times) for s in range(n_states)]
        if self.covariance == "tied":
            n, q, log_r = (sum(part[k] for part in parts) for k in range(3))
            return log_matrix_t(n, q, log_r, self.scale, self.degrees[0], self.fixed(0))
        total = 0.0
        for s, (n, q, log_r) in enumerate(parts):
            scale, degrees, fixed = self.scale[s], self.degrees[s], self.fixed(s)
            if self.covariance == "full":
                total += log_matrix_t(n, q, log_r, scale, degrees, fixed)
            elif self.covariance == "diag":
                for d in range(n_features):
                    own = None if fixed is None else fixed[d].reshape(1, 1)
                    total += log_matrix_t(
                        n, q[d : d + 1, d : d + 1], log_r, scale[d].reshape(1, 1), degrees, own
                    )
            else:
                own = None if fixed is None else np.reshape(fixed, (1, 1))
                trace = np.trace(q).reshape(1, 1)
                total += log_matrix_t(
                    n * n_features, trace, n_features * log_r, np.reshape(scale, (1, 1)), degrees, own
                )
        return float(total)

    def log_densities(self, parameters: tuple[Floats, Floats]) -> Floats:
        """log N(w_i; mean_s, covariance_s), (N, S), given means and covariances."""
        means, covariances = parameters
        result = np.zeros((len(self.values), len(means)))
        for s, mean in enumerate(means):
            own = as_matrix(self.covariance, covariances, s, len(mean))
            for i, x in enumerate(self.values):
                if not np.isnan(x[0]):
                    result[i, s] = stats.multivariate_normal.logpdf(x, mean, own)
        return result


def as_matrix(covariance: str, covariances: Floats, s: int, n_features: int) -> Floats:
    """The covariance of a state as a matrix (D, D), whatever its form."""
    if covariance == "tied":
        return covariances
    if covariance == "full":
        return covariances[s]
    return np.diag(np.broadcast_to(covariances[s], n_features))


def log_matrix_t(
    n: int, q: Floats, log_r: float, scale: Floats, degrees: float, fixed: Floats | None
) -> float:
    """Logarithm of (2), or of the normal density if the covariance is fixed."""
    d = len(q)
    if fixed is not None:
        square = np.trace(np.linalg.solve(fixed, q))
        return -0.5 * (n * d * np.log(2 * np.pi) + n * np.linalg.slogdet(fixed)[1] + d * log_r + square)
    total = multigammaln((degrees + n) / 2, d) - multigammaln(degrees / 2, d) - 0.5 * n * d * np.log(np.pi)
    total += 0.5 * (degrees * np.linalg.slogdet(scale)[1] - (degrees + n) * np.linalg.slogdet(scale + q)[1])
    return total - 0.5 * d * log_r


@dataclass(frozen=True, eq=False)
class Counts:
    """Whole numbers (N, D), rows of NaN where missing; the rates are Gamma(shape, weight), each (S, D)."""

    values: Floats
    shape: Floats
    weight: Floats
    fixed: Floats | None = None

    @property
    def known(self) -> Floats:
        return np.full(self.shape.shape, np.nan) if self.fixed is None else self.fixed

    def sums(self, times: NDArray[Any]) -> tuple[Floats, Floats]:
        """Number of observations (S,) and their sums (S, D)."""
        seen = ~np.isnan(self.values[:, 0])
        return times[:, seen].sum(axis=1), times[:, seen] @ self.values[seen]

    def log_marginal(self, times: Ints) -> float:
        """Logarithm of (3)."""
        n, x = self.sums(times)
        n = n[:, None]
        a, b = self.shape, self.weight
        free = a * np.log(b) - gammaln(a) + gammaln(a + x) - (a + x) * np.log(b + n)
        known = xlogy(x, self.known) - n * self.known
        seen = ~np.isnan(self.values[:, 0])
        factorials = times[:, seen] @ gammaln(self.values[seen] + 1)
        return float(np.where(np.isnan(self.known), free, known).sum() - factorials.sum())

    def log_densities(self, rates: Floats) -> Floats:
        result = np.zeros((len(self.values), len(rates)))
        for i, x in enumerate(self.values):
            if not np.isnan(x[0]):
                result[i] = stats.poisson.logpmf(x, rates).sum(axis=1)
        return result


# ---------------------------------------------------------------------------------------------------------
# The joint distribution of the paths, by enumeration
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Hmm:
    """Sequences one after another, and the priors of start (1, S), transitions (S, S) and emissions."""

    lengths: Sequence[int]
    start: Rows
    transitions: Rows
    emissions: Symbols | Normals | Counts

    @property
    def n_states(self) -> int:
        return len(self.transitions.prior)

    @property
    def n_sites(self) -> int:
        return sum(self.lengths)

    @property
    def firsts(self) -> list[int]:
        """The first site of each sequence."""
        return [0, *accumulate(self.lengths)][:-1]


@dataclass(frozen=True, eq=False)
class Phi:
    """Start (S,), transitions (S, S) and the argument of `log_densities` of the emissions."""

    start: Floats
    transitions: Floats
    emissions: Any


def start_counts(hmm: Hmm, states: Ints) -> NDArray[np.int64]:
    """How often sequences start in each state, over all paths, (n, S), for states (n, m, N)."""
    return np.stack([(states[:, :, hmm.firsts] == s).sum(axis=(1, 2)) for s in range(hmm.n_states)], axis=1)


def pair_counts(hmm: Hmm, states: Ints) -> NDArray[np.int64]:
    """How often state r follows state s, over all paths, (n, S, S)."""
    counts = np.zeros((len(states), hmm.n_states, hmm.n_states), np.int64)
    for i in range(hmm.n_sites):
        if i not in hmm.firsts:
            for s in range(hmm.n_states):
                for r in range(hmm.n_states):
                    counts[:, s, r] += ((states[:, :, i - 1] == s) & (states[:, :, i] == r)).sum(axis=1)
    return counts


def site_counts(hmm: Hmm, states: Ints) -> NDArray[np.int64]:
    """How many paths have state s at site i, (n, S, N)."""
    return np.stack([(states == s).sum(axis=1) for s in range(hmm.n_states)], axis=1)


def log_weight(hmm: Hmm, states: Ints) -> Floats:
    """log of the integral of P(phi) prod_j P(p^j, w | phi) over phi, for states (n, m, N)."""
    total = hmm.start.log_marginal(start_counts(hmm, states)[:, None])
    total = total + hmm.transitions.log_marginal(pair_counts(hmm, states))
    times = site_counts(hmm, states).reshape(len(states), -1)
    distinct, which = np.unique(times, axis=0, return_inverse=True)
    parts = [hmm.emissions.log_marginal(row.reshape(hmm.n_states, -1)) for row in distinct]
    return total + np.array(parts)[which.reshape(-1)]


@cache
def joint_distribution(hmm: Hmm, n_paths: int) -> tuple[NDArray[np.uint16], Floats, Floats]:
    """All states (n, m, N), their probabilities (n,) and logarithms of their weights."""
    states = all_states(hmm.n_states, n_paths, hmm.n_sites)
    logs = log_weight(hmm, states)
    weights = np.exp(logs - logs.max())
    return states, weights / weights.sum(), logs


# ---------------------------------------------------------------------------------------------------------
# Given phi
# ---------------------------------------------------------------------------------------------------------


def log_joints(hmm: Hmm, phi: Phi, paths: Ints) -> Floats:
    """log P(p, w | phi) for paths (n, N), by the definition."""
    with np.errstate(divide="ignore"):
        log_start, log_transitions = np.log(phi.start), np.log(phi.transitions)
    densities = hmm.emissions.log_densities(phi.emissions)
    total = np.zeros(len(paths))
    for i in range(hmm.n_sites):
        own = paths[:, i]
        total += log_start[own] if i in hmm.firsts else log_transitions[paths[:, i - 1], own]
        total += densities[i, own]
    return total


def all_paths(hmm: Hmm) -> NDArray[np.uint16]:
    return all_states(hmm.n_states, 1, hmm.n_sites)[:, 0]


def path_distribution(hmm: Hmm, phi: Phi) -> Floats:
    """P(p | w, phi) of all paths."""
    logs = log_joints(hmm, phi, all_paths(hmm))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


# ---------------------------------------------------------------------------------------------------------
# The distribution after one sweep
# ---------------------------------------------------------------------------------------------------------


def sites_by_colour(hmm: Hmm) -> list[int]:
    """The order in which the single-site sampler visits sites: every other one of each sequence first."""
    colours = [i % 2 for length in hmm.lengths for i in range(length)]
    return sorted(range(hmm.n_sites), key=colours.__getitem__)


def sweep_distribution(
    logs: Floats, before: Ints, n_states: int, order: Sequence[int] | None = None
) -> Floats:
    """P(after | before) of a Gibbs sweep over all latent variables, each given all others.

    `logs` are log-weights of all states (m, N), in the order of `all_states`. Sites are visited one by one,
    from the first to the last or in the given order, at each site the paths one by one. The result is the
    product of the conditionals that are drawn from, in which earlier variables are new and later ones still
    old.
    """
    n_paths, n_sites = before.shape
    after = all_states(n_states, n_paths, n_sites)
    now = np.broadcast_to(before, after.shape).astype(np.uint16)
    probability = np.ones(len(after))
    for i in range(n_sites) if order is None else order:
        for j in range(n_paths):
            options = np.repeat(now[None], n_states, axis=0)
            options[:, :, j, i] = np.arange(n_states)[:, None]
            weights = logs[[state_index(option, n_states) for option in options]]
            weights = np.exp(weights - weights.max(axis=0))
            probability *= weights[after[:, j, i], np.arange(len(after))] / weights.sum(axis=0)
            now[:, j, i] = after[:, j, i]
            # Impossible states may have no possible next state: continue from `before`, with probability 0.
            now[probability == 0] = before
    return probability
