"""Emissions of symbols."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import (
    Floats,
    check_form,
    check_range_of_sites,
    frozen_copy,
    place_of,
    rows_of,
    stored_shapes,
    with_row,
)
from plait.checks import check_integer
from plait.data.sequences import MAX_SYMBOLS, Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import emissions as kernels
from plait.models.emissions.contract import (
    check_form_of_posteriors,
    check_form_of_statistics,
    part_of,
    sequences_from_arrays,
    sequences_to_arrays,
)
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, checks_paths
from plait.models.priors import DirichletRows
from plait.scratch import scratch

_MOST_POINTS = 100  # symbols that are points of their own when initial observations are chosen


@dataclass(frozen=True, eq=False)
class CategoricalParameters:
    """Distributions of symbols, e_s, in each state.

    Attributes
    ----------
    probabilities : ndarray, (S, W)
        e_s(w); rows sum to 1.
    """

    probabilities: Floats

    def permuted(self, order: NDArray[np.intp]) -> Self:
        """Return the parameters with the states in another order."""
        return type(self)(self.probabilities[order])

    @functools.cached_property
    def table(self) -> Floats:
        """e_s(w) with a row for each symbol and one for missing observations, (W + 1, S)."""
        return np.vstack([self.probabilities.T, np.ones(len(self.probabilities))])

    def with_state(self, state: int, other: Self, theirs: int) -> Self:
        """Return the parameters with those of one state replaced by those of a state of others."""
        return type(self)(with_row(self.probabilities, state, other.probabilities[theirs]))

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"probabilities": self.probabilities}

    def sample(self, states: Paths, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw a symbol for each of the states, (n,)."""
        steps = np.cumsum(self.probabilities, axis=1)[states]
        return (steps < rng.random(len(states))[:, None] * steps[:, -1:]).sum(axis=1).astype(np.int32)

    def over(self, sequences: Sequences) -> CategoricalEmissions:
        """Return emissions of other data that take these parameters."""
        n_states, n_symbols = self.probabilities.shape
        return CategoricalEmissions(sequences, n_states, n_symbols=n_symbols)


class CategoricalEmissions:
    """Symbols: w_i ~ e_s, with e_s ~ Dir(prior_s).

    Parameters
    ----------
    sequences : Sequences
        Symbols.
    n_states : int
        Number of states S.
    prior : float or array (S, W), default: 1
        Parameters of the Dirichlet priors; a zero forbids the symbol in that state.
    n_symbols : int, optional
        Number of symbols W; by default the largest symbol plus 1.
    fixed : array (S, W), optional
        Fixed probabilities, NaN for free ones.
    """

    kind: ClassVar[str] = "categorical"
    exact_counts: ClassVar[bool] = True
    logs: ClassVar[bool] = False

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        prior: ArrayLike = 1.0,
        n_symbols: int | None = None,
        fixed: ArrayLike | None = None,
    ) -> None:
        if not sequences.is_symbols:
            raise PlaitError(
                Argument("sequences"), " must be symbols, got numbers: build them with Sequences.from_symbols"
            )
        if n_symbols is None:
            n_symbols = max(1, sequences.n_symbols)
        n_symbols = check_integer("n_symbols", n_symbols, least=1, limit=MAX_SYMBOLS)
        wrong = sequences.values >= n_symbols
        if wrong.any():
            _, index = place_of(wrong)
            raise PlaitError(
                f"symbols must be from 0 to {n_symbols - 1}, got {sequences.values[index]} at observation"
                f" {index[0]}: correct the data, or increase ",
                Argument("n_symbols"),
            )
        self.sequences = sequences
        self.n_states = check_integer("n_states", n_states, least=1, limit=MAX_STATES)
        self.n_symbols = n_symbols
        self.dirichlet = DirichletRows("the emissions", {"S": self.n_states, "W": n_symbols}, prior, fixed)
        rows = np.where(sequences.values < 0, n_symbols, sequences.values)
        self.rows: NDArray[np.int32] = frozen_copy(rows.astype(np.int32, copy=False))

    @property
    def completes(self) -> bool:
        """Whether what observations lack must be drawn: no, they lack all or nothing."""
        return False

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""
        return self.sequences.n_sites

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        return bool(self.dirichlet.free.all() and np.all(self.dirichlet.prior == self.dirichlet.prior[0]))

    @property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""
        return self.dirichlet.is_default

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone."""
        return part_of(self, first, last, "rows")

    def weights(self, parameters: CategoricalParameters, first: int, last: int) -> Floats:
        """Return the table of e_s(w), which serves all sites, (W + 1, S)."""
        check_form(Argument("probabilities"), parameters.probabilities, self.dirichlet.prior.shape)
        return parameters.table

    def log_weights(self, parameters: CategoricalParameters, first: int, last: int) -> Floats:
        """Return the table of log e_s(w), (W + 1, S)."""
        with np.errstate(divide="ignore"):
            return np.log(self.weights(parameters, first, last))

    def first_parameters(self, key: Key, unit: int) -> CategoricalParameters:
        """Draw initial parameters: e_s ~ Dir(1)."""
        return CategoricalParameters(self.dirichlet.scatter(1.0, key, unit))

    def coordinates(self) -> Floats:
        """Return the symbols as points that are equally far apart, (N, W), or numbers if there are many."""
        symbols = self.sequences.values
        if self.n_symbols > _MOST_POINTS:
            return np.where(symbols < 0, np.nan, symbols / self.n_symbols)[:, None]
        points = np.sqrt(0.5) * (symbols[:, None] == np.arange(self.n_symbols))
        return np.where(symbols[:, None] < 0, np.nan, points)

    def parameters_near(self, centres: Floats, spread: Floats) -> CategoricalParameters:
        """Return initial parameters: halfway between all symbols and the one of each state, (S, 1)."""
        rows = np.tile(np.bincount(self.rows, minlength=self.n_symbols + 1)[:-1] + 1.0, (self.n_states, 1))
        rows /= rows.sum(axis=1, keepdims=True)
        known = np.flatnonzero(centres[:, 0] >= 0)
        rows[known, centres[known, 0].astype(np.intp)] += 1.0
        return CategoricalParameters(self.dirichlet.mean(rows * self.n_symbols))

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return how often each symbol occurs in each state, (W + 1, S); the last row counts missing ones."""
        check_range_of_sites(first, last, self.n_sites)
        counts = scratch((self.n_symbols + 1, self.n_states))
        kernels.count_symbols(first, last, self.rows, paths, counts)
        return counts

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected number of times each symbol occurs in each state, (W + 1, S)."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        counts = scratch((self.n_symbols + 1, self.n_states))
        kernels.add_symbols(first, last, self.rows, posteriors, counts)
        return counts

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, (self.n_symbols + 1, self.n_states), changed)

    def observations(self, statistics: Floats) -> Floats:
        """Return how many symbols each state has."""
        return statistics[:-1].sum(axis=0)

    def draw(self, statistics: Floats, key: Key, unit: int) -> CategoricalParameters:
        """Draw e_s ~ Dir(prior_s + counts_s)."""
        self.check_statistics(statistics)
        return CategoricalParameters(self.dirichlet.draw(statistics[:-1].T, key, unit))

    def mean(self, statistics: Floats) -> CategoricalParameters:
        """Return the mean of Dir(prior_s + counts_s)."""
        self.check_statistics(statistics)
        return CategoricalParameters(self.dirichlet.mean(statistics[:-1].T))

    def mode(self, statistics: Floats) -> CategoricalParameters:
        """Return the mode of Dir(prior_s + counts_s)."""
        self.check_statistics(statistics)
        return CategoricalParameters(self.dirichlet.mode(statistics[:-1].T))

    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Raise an error: a mixture of single symbols has the same distribution as one state."""
        raise NotSupported("there is no collapsed sampler for mixtures of single symbols")

    def redrawn(self, parameters: CategoricalParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        arrays, header = self.to_arrays()
        arrays["sequences.values"] = parameters.sample(states, rng)
        return type(self).from_arrays(arrays, header)

    def order(self, parameters: CategoricalParameters) -> NDArray[np.intp]:
        """Return the states by their mean symbol, the smallest first."""
        return np.argsort(parameters.probabilities @ np.arange(self.n_symbols), kind="stable")

    def check_parameters(self, parameters: CategoricalParameters) -> None:
        """Raise an error for rows that are not distributions, or a wrong number of states or symbols."""
        self.dirichlet.check(parameters.probabilities)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> CategoricalParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        return CategoricalParameters(**stored_shapes(arrays, {"probabilities": self.dirichlet.prior.shape}))

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        # The keys are "laws.prior" and "laws.fixed", as in files written by earlier versions.
        return arrays | self.dirichlet.to_arrays("laws"), header | {"n_symbols": self.n_symbols}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        n_symbols = check_integer("n_symbols", header["n_symbols"], least=1, limit=MAX_SYMBOLS)
        shape = (rows_of(arrays, "laws.prior"), n_symbols)
        priors = stored_shapes(arrays, {"laws.prior": shape, "laws.fixed": shape})
        prior, fixed = priors["laws.prior"], priors["laws.fixed"]
        return cls(sequences, shape[0], prior=prior, n_symbols=n_symbols, fixed=fixed)
