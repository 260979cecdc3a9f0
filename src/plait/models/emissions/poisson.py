"""Emissions of counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import ArrayLike, NDArray

from plait.arrays import (
    Floats,
    check_finite,
    check_form,
    frozen_copy,
    place_of,
    rows_of,
    stored_shapes,
    with_row,
)
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.kernels import parameters as draws
from plait.models.emissions.contract import part_of, sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.numbers import NumberEmissions
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import check_range, spread


@dataclass(frozen=True, eq=False)
class PoissonParameters:
    """Rates of independent Poisson distributions.

    Attributes
    ----------
    rates : ndarray, (S, D)
        Mean of each feature in each state.
    """

    rates: Floats

    def permuted(self, order: NDArray[np.intp]) -> PoissonParameters:
        """Return the parameters with the states in another order."""
        return PoissonParameters(self.rates[order])

    def with_state(self, state: int, other: PoissonParameters, theirs: int) -> PoissonParameters:
        """Return the parameters with those of one state replaced by those of a state of others."""
        return PoissonParameters(with_row(self.rates, state, other.rates[theirs]))

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"rates": self.rates}

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        return rng.poisson(self.rates[states]).astype(np.float64)

    def over(self, sequences: Sequences) -> PoissonEmissions:
        """Return emissions of other data that take these parameters."""
        return PoissonEmissions(sequences, len(self.rates), prior_weight=1.0)


class PoissonEmissions(NumberEmissions[PoissonParameters]):
    """Counts: each feature of w_i is Poisson with the rate of its state, which is Gamma(prior, prior_weight).

    Parameters
    ----------
    sequences : Sequences
        Nonnegative whole numbers.
    n_states : int
        Number of states S.
    prior : float or array (S, D), default: 1
        Shape of the gamma prior of the rates.
    prior_weight : float or array (S, D), default: `prior` divided by the mean of the data
        Rate of the gamma prior: how many observations the prior is worth.
    fixed : array (S, D), optional
        Fixed rates, NaN for free ones.
    """

    kind: ClassVar[str] = "poisson"
    exact_counts: ClassVar[bool] = False

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        prior: ArrayLike | None = None,
        prior_weight: ArrayLike | None = None,
        fixed: ArrayLike | None = None,
    ) -> None:
        mean, _ = self._take(sequences, n_states)
        self._mean = np.maximum(mean, 1e-3)
        check_counts(sequences)
        self._n_sums = 1 + sequences.n_features
        self._centre = frozen_copy(np.zeros(sequences.n_features))
        self._shape = spread("prior", 1.0 if prior is None else prior, self._axes)
        default_weight = self._shape / np.where(mean > 0, mean, 1.0)
        self._weight = spread(
            "prior_weight", default_weight if prior_weight is None else prior_weight, self._axes
        )
        check_range("prior", self._shape)
        check_range("prior_weight", self._weight)
        self.has_default_prior = bool(
            np.all(self._shape == 1.0) and np.array_equal(self._weight, default_weight)
        )
        self._fixed = spread("fixed", np.nan if fixed is None else fixed, self._axes)
        _check_rates("fixed", self._fixed)
        with np.errstate(invalid="ignore"):
            logs = scipy.special.gammaln(sequences.values + 1.0)
        self._constants = frozen_copy(np.where(np.isnan(sequences.values), 0.0, logs).sum(axis=1))

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone."""
        return part_of(self, first, last, "_constants")

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        same = np.all(self._shape == self._shape[0]) and np.all(self._weight == self._weight[0])
        return bool(same and np.isnan(self._fixed).all())

    def _fill(self, parameters: PoissonParameters, first: int, last: int, logs: Floats) -> None:
        check_form(Argument("rates"), parameters.rates, self._shape_of_states)
        with np.errstate(divide="ignore"):
            log_rates = np.log(parameters.rates)
        kernels.log_poisson(
            first, last, self.sequences.values, self._constants, parameters.rates, log_rates, logs
        )

    def parameters_near(self, centres: Floats, spread: Floats) -> PoissonParameters:
        """Return initial parameters: rates halfway between the mean of the data and these centres."""
        return PoissonParameters(self.with_fixed_rates((centres + self._mean) / 2))

    def draw(self, statistics: Floats, key: Key, unit: int) -> PoissonParameters:
        """Draw the rates from Gamma(shape + sum of counts, weight + observed values)."""
        self.check_statistics(statistics)
        shapes = self._shape + statistics[:, 1 : self._n_sums]
        gammas = np.empty(shapes.size)
        draws.fill_gammas(unit, shapes.ravel(), gammas, key)
        return self._parameters(gammas.reshape(shapes.shape), statistics)

    def mean(self, statistics: Floats) -> PoissonParameters:
        """Return the means of these gamma distributions."""
        self.check_statistics(statistics)
        return self._parameters(self._shape + statistics[:, 1 : self._n_sums], statistics)

    def mode(self, statistics: Floats) -> PoissonParameters:
        """Return the modes of the logarithms of the rates; as rates, these are the means."""
        return self.mean(statistics)

    def _parameters(self, gammas: Floats, statistics: Floats) -> PoissonParameters:
        return PoissonParameters(self.with_fixed_rates(gammas / (self._weight + self._numbers(statistics))))

    def with_fixed_rates(self, rates: Floats) -> Floats:
        """Return the rates (S, D) with the fixed ones put in."""
        return np.where(np.isnan(self._fixed), rates, self._fixed)

    def redrawn(self, parameters: PoissonParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        return self._of(parameters.sample(states, rng))

    def _collapsed(self) -> tuple[int, Floats]:
        if not np.isnan(self._fixed).all():
            raise NotSupported("the collapsed sampler does not support fixed rates")
        return collapsed_mixtures.POISSON, np.hstack([self._shape, self._weight])

    def order(self, parameters: PoissonParameters) -> NDArray[np.intp]:
        """Return the states by the rate of the first feature that separates them."""
        return self.order_of(parameters.rates)

    def check_parameters(self, parameters: PoissonParameters) -> None:
        """Raise an error for a wrong shape or negative rates."""
        check_finite(Argument("rates"), parameters.rates, self._shape_of_states)
        _check_rates("rates", parameters.rates)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> PoissonParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        return PoissonParameters(**stored_shapes(arrays, {"rates": self._shape_of_states}))

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        priors = {"prior": self._shape, "prior_weight": self._weight, "fixed": self._fixed}
        return arrays | priors, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        shape = (rows_of(arrays, "prior"), sequences.n_features)
        priors = stored_shapes(arrays, {"prior": shape, "prior_weight": shape, "fixed": shape})
        return cls(sequences, shape[0], **priors)


def check_counts(sequences: Sequences) -> None:
    """Raise an error about the first number that is not a count."""
    values = sequences.values
    wrong = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
    if wrong.any():
        _, (i, d) = place_of(wrong)
        raise PlaitError(
            f"counts must be whole numbers of at least 0, got {values[i, d]:g} in feature {d} of observation"
            f" {i}"
        )


def _check_rates(name: str, rates: Floats) -> None:
    wrong = (rates < 0) | np.isinf(rates)
    if wrong.any():
        place, index = place_of(wrong)
        raise PlaitError(
            Argument(name), f"{place} must be a finite number of at least 0, got {rates[index]:g}"
        )
