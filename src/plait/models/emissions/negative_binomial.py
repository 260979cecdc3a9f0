"""Emissions of counts that vary more than Poisson counts do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_range_of_sites, frozen_copy
from plait.data.sequences import Sequences
from plait.kernels import emissions as kernels
from plait.models.emissions.columns import ColumnEmissions, ColumnParameters, gamma_variates
from plait.models.emissions.contract import check_form_of_posteriors, check_form_of_statistics, part_of
from plait.models.emissions.poisson import check_counts
from plait.models.model import Key, Paths, checks_paths
from plait.models.priors import check_range
from plait.models.scalar_posteriors import LogDensity, ScalarPosteriors, modes
from plait.scratch import scratch


@dataclass(frozen=True, eq=False)
class NegativeBinomialParameters(ColumnParameters):
    """Means and sizes of independent negative binomial distributions.

    Attributes
    ----------
    means : ndarray, (S, D)
        Mean of each column in each state.
    sizes : ndarray, (S, D)
        r: the variance is mean + mean^2 / r.
    """

    positive: ClassVar[tuple[str, ...]] = ("means", "sizes")

    means: Floats
    sizes: Floats

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        rates = rng.gamma(self.sizes[states]) * (self.means / self.sizes)[states]
        return rng.poisson(rates).astype(np.float64)

    def over(self, sequences: Sequences) -> NegativeBinomialEmissions:
        """Return emissions of other data that take these parameters."""
        return NegativeBinomialEmissions(sequences, len(self.means))


class NegativeBinomialEmissions(ColumnEmissions[NegativeBinomialParameters]):
    """Counts: each column is negative binomial with a size r and a probability q = r / (r + mean).

    log P(x | s) = log Gamma(x + r) - log Gamma(r) - log x! + r log q + x log(1 - q)

    q is Beta(prior, prior_of_counts), r is Gamma(size_prior, size_weight). The posterior of r depends on how
    often each number occurs, so the statistics are a table of these: exact for every r, and without latent
    variables.

    Parameters
    ----------
    sequences : Sequences
        Nonnegative whole numbers.
    n_states : int
        Number of states S.
    prior, prior_of_counts : float or array (S, D), default: 1
        Parameters of the beta prior of q.
    size_prior, size_weight : float or array (S, D), default: 1 and 0.01
        Shape and rate of the gamma prior of r.
    """

    kind: ClassVar[str] = "negative-binomial"
    exact_counts: ClassVar[bool] = True
    parameters = NegativeBinomialParameters
    prior_names = ("prior", "prior_of_counts", "size_prior", "size_weight")

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        prior: ArrayLike = 1.0,
        prior_of_counts: ArrayLike = 1.0,
        size_prior: ArrayLike = 1.0,
        size_weight: ArrayLike = 0.01,
    ) -> None:
        mean, variance = self._take(sequences, n_states)
        check_counts(sequences)
        self._mean = np.maximum(mean, 1e-3)
        self._size = np.clip(self._mean**2 / np.maximum(variance - self._mean, 1e-3), 0.1, 100.0)
        self._set_priors(prior, prior_of_counts, size_prior, size_weight)
        for name in self.prior_names:
            check_range(name, self._priors[name])
        missing = np.isnan(sequences.values)
        self._is_missing = frozen_copy(missing.all(axis=1).astype(np.int32))
        # The numbers in each column, and which of them each observation is: the one after the last if missing
        self._levels: list[Floats] = []
        self._rows: list[NDArray[np.int32]] = []
        for column in sequences.values.T:
            numbers, rows = np.unique(
                column, return_inverse=True
            )  # what is missing comes last, as one number
            self._levels.append(frozen_copy(numbers[~np.isnan(numbers)]))
            self._rows.append(frozen_copy(rows.astype(np.int32)))

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone."""
        own = part_of(self, first, last, "_is_missing")
        own._rows = [rows[first:last] for rows in self._rows]
        return own

    def _means(self, parameters: NegativeBinomialParameters) -> Floats:
        return parameters.means

    def parameters_near(self, centres: Floats, spread: Floats) -> NegativeBinomialParameters:
        """Return initial parameters: means halfway to these centres, and the size of all data."""
        means = (centres + self._mean) / 2
        return NegativeBinomialParameters(means, np.broadcast_to(self._size, means.shape).copy())

    def _fill(self, parameters: NegativeBinomialParameters, first: int, last: int, logs: Floats) -> None:
        self._check_form(parameters)
        logs[:] = 0.0
        for d, (numbers, rows) in enumerate(zip(self._levels, self._rows, strict=True)):
            means, sizes = parameters.means[:, d], parameters.sizes[:, d]
            x = numbers[:, None]
            with np.errstate(divide="ignore", invalid="ignore"):
                table = (
                    scipy.special.gammaln(x + sizes)
                    - scipy.special.gammaln(sizes)
                    - scipy.special.gammaln(x + 1.0)
                )
                table -= scipy.special.xlog1py(sizes, means / sizes) + scipy.special.xlog1py(x, sizes / means)
            logs += np.vstack([table, np.zeros(self.n_states)])[rows[first:last]]

    # ---------------------------------------------------------------------------------------------
    # Statistics: how many observations each state has, and how often each number of each column occurs
    # ---------------------------------------------------------------------------------------------

    @property
    def _shape_of_statistics(self) -> tuple[int, int]:
        return 1 + sum(map(len, self._levels)), self.n_states

    def _tables(self, fill: Callable[[NDArray[np.int32], Floats], object]) -> Floats:
        """Return the statistics; `fill` adds to a table (R + 1, S), whose last row is left out."""
        lengths = [1, *map(len, self._levels)]
        parts = [scratch((length + 1, self.n_states)) for length in lengths]
        for rows, part in zip([self._is_missing, *self._rows], parts, strict=True):
            fill(rows, part)
        return np.concatenate([part[:-1] for part in parts])

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return how often each number occurs in each state."""
        check_range_of_sites(first, last, self.n_sites)
        return self._tables(lambda rows, part: kernels.count_symbols(first, last, rows, paths, part))

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected number of times that each number occurs in each state."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        return self._tables(lambda rows, part: kernels.add_symbols(first, last, rows, posteriors, part))

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, self._shape_of_statistics, changed)

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has."""
        return statistics[0]

    def _posterior(self, statistics: Floats, *, collapsed: bool) -> tuple[Floats, Floats, LogDensity]:
        """Return the numbers and the sums of the counts, and the log-density of log r.

        q is integrated out (`collapsed`), or the most probable one put in its place.
        """
        self.check_statistics(statistics)
        ends = np.cumsum([1, *map(len, self._levels)])
        tables = [statistics[a:b] for a, b in itertools.pairwise(ends)]
        n = np.stack([table.sum(axis=0) for table in tables], axis=1).ravel()
        both = list(zip(tables, self._levels, strict=True))
        total = np.stack([numbers @ table for table, numbers in both], axis=1).ravel()
        a, b, c, e = (self._priors[name].ravel()[:, None] for name in self.prior_names)
        n_, total_ = n[:, None], total[:, None]

        def log_density(t: Floats) -> Floats:
            r = np.exp(t)
            density: Floats = c * t - e * r
            of_columns = density.reshape(*self._shape_of_states, -1)
            sizes = r.reshape(of_columns.shape)
            for d, (table, numbers) in enumerate(both):
                for s in range(self.n_states):
                    present = np.flatnonzero(table[:, s] > 0)
                    rising = scipy.special.gammaln(numbers[present, None] + sizes[s, d])
                    rising -= scipy.special.gammaln(sizes[s, d])
                    of_columns[s, d] += table[present, s] @ rising
            if collapsed:
                return density + scipy.special.betaln(a + n_ * r, b + total_)
            first, second = a + n_ * r, b + total_
            return (
                density
                - scipy.special.xlog1py(first, second / first)
                - scipy.special.xlog1py(second, first / second)
            )

        return n, total, log_density

    def draw(self, statistics: Floats, key: Key, unit: int) -> NegativeBinomialParameters:
        """Draw the sizes, with q integrated out, and then q as a ratio of gamma variates."""
        n, total, log_density = self._posterior(statistics, collapsed=True)
        sizes = ScalarPosteriors(log_density, n.size).draw(key, unit)
        successes = gamma_variates(self._priors["prior"].ravel() + n * sizes, key, unit + 1)
        others = gamma_variates(self._priors["prior_of_counts"].ravel() + total, key, unit + 2)
        return self._shaped(sizes * np.maximum(others / successes, 1e-300), sizes)

    def _given_sizes(self, n: Floats, total: Floats, sizes: Floats) -> NegativeBinomialParameters:
        """Return parameters with these sizes and the posterior means of q given these."""
        a, b = self._priors["prior"].ravel(), self._priors["prior_of_counts"].ravel()
        return self._shaped(sizes * (b + total) / (a + n * sizes), sizes)

    def mean(self, statistics: Floats) -> NegativeBinomialParameters:
        """Return the posterior means of the sizes, and of q given these."""
        n, total, log_density = self._posterior(statistics, collapsed=True)
        return self._given_sizes(n, total, ScalarPosteriors(log_density, n.size).mean())

    def mode(self, statistics: Floats) -> NegativeBinomialParameters:
        """Return the most probable log r and logit q."""
        n, total, log_density = self._posterior(statistics, collapsed=False)
        return self._given_sizes(n, total, modes(log_density, n.size))

    def _shaped(self, means: Floats, sizes: Floats) -> NegativeBinomialParameters:
        shape = self._shape_of_states
        return NegativeBinomialParameters(means.reshape(shape), sizes.reshape(shape))
