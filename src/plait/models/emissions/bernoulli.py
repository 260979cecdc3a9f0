"""Emissions of binary features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
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
from plait.errors import Argument, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.models.emissions.contract import part_of, sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.numbers import NumberEmissions
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import DirichletRows, check_range, spread

_FIRST = 0.05  # initial probabilities are at least this far from 0 and 1


@dataclass(frozen=True, eq=False)
class BernoulliParameters:
    """Probabilities of independent features.

    Attributes
    ----------
    probabilities : ndarray, (S, D)
        Probability that a feature is 1.
    """

    probabilities: Floats

    def permuted(self, order: NDArray[np.intp]) -> BernoulliParameters:
        """Return the parameters with the states in another order."""
        return BernoulliParameters(self.probabilities[order])

    def with_state(self, state: int, other: BernoulliParameters, theirs: int) -> BernoulliParameters:
        """Return the parameters with those of one state replaced by those of a state of others."""
        return BernoulliParameters(with_row(self.probabilities, state, other.probabilities[theirs]))

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"probabilities": self.probabilities}

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        drawn = rng.random((len(states), self.probabilities.shape[1])) < self.probabilities[states]
        return drawn.astype(np.float64)

    def over(self, sequences: Sequences) -> BernoulliEmissions:
        """Return emissions of other data that take these parameters."""
        return BernoulliEmissions(sequences, len(self.probabilities))


class BernoulliEmissions(NumberEmissions[BernoulliParameters]):
    """Binary features: P(1) depends on the state, and is Beta(prior, prior_of_zeros).

    Parameters
    ----------
    sequences : Sequences
        Numbers that are 0 or 1.
    n_states : int
        Number of states S.
    prior : float or array (S, D), default: 1
        First parameter of the beta priors, which is added to the number of ones.
    prior_of_zeros : float or array (S, D), default: the same as `prior`
        Second parameter of the beta priors, which is added to the number of zeros.
    """

    kind: ClassVar[str] = "bernoulli"
    exact_counts: ClassVar[bool] = True

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        prior: ArrayLike = 1.0,
        prior_of_zeros: ArrayLike | None = None,
    ) -> None:
        self._mean, _ = self._take(sequences, n_states)
        _check_bits(sequences)
        self._n_sums = 1 + sequences.n_features
        self._centre = frozen_copy(np.zeros(sequences.n_features))
        self._ones = spread("prior", prior, self._axes)
        zeros = prior if prior_of_zeros is None else prior_of_zeros
        self._zeros = spread("prior_of_zeros", zeros, self._axes)
        check_range("prior", self._ones)
        check_range("prior_of_zeros", self._zeros)
        axes = {"S D": self.n_states * sequences.n_features, "2": 2}
        both = np.stack([self._ones.ravel(), self._zeros.ravel()], axis=1)
        self._dirichlet = DirichletRows("the probabilities", axes, both)

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone."""
        return part_of(self, first, last)

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        return bool(np.all(self._ones == self._ones[0]) and np.all(self._zeros == self._zeros[0]))

    @property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""
        return self._dirichlet.is_default

    def _fill(self, parameters: BernoulliParameters, first: int, last: int, logs: Floats) -> None:
        check_form(Argument("probabilities"), parameters.probabilities, self._shape_of_states)
        with np.errstate(divide="ignore"):
            log_one, log_zero = np.log(parameters.probabilities), np.log1p(-parameters.probabilities)
        kernels.log_bernoulli(first, last, self.sequences.values, log_one, log_zero, logs)

    def parameters_near(self, centres: Floats, spread: Floats) -> BernoulliParameters:
        """Return initial parameters: halfway between the mean of the data and these centres."""
        return BernoulliParameters(np.clip((centres + self._mean) / 2, _FIRST, 1 - _FIRST))

    def _counts(self, statistics: Floats) -> Floats:
        """Return the numbers of ones and zeros, (S D, 2)."""
        self.check_statistics(statistics)
        ones = statistics[:, 1 : self._n_sums]
        return np.stack([ones.ravel(), (self._numbers(statistics) - ones).ravel()], axis=1)

    def _parameters(self, rows: Floats) -> BernoulliParameters:
        return BernoulliParameters(np.ascontiguousarray(rows[:, 0]).reshape(self._ones.shape))

    def draw(self, statistics: Floats, key: Key, unit: int) -> BernoulliParameters:
        """Draw the probabilities from Beta(prior + ones, prior_of_zeros + zeros)."""
        return self._parameters(self._dirichlet.draw(self._counts(statistics), key, unit))

    def mean(self, statistics: Floats) -> BernoulliParameters:
        """Return the means of these beta distributions."""
        return self._parameters(self._dirichlet.mean(self._counts(statistics)))

    def mode(self, statistics: Floats) -> BernoulliParameters:
        """Return the modes of these beta distributions."""
        return self._parameters(self._dirichlet.mode(self._counts(statistics)))

    def redrawn(self, parameters: BernoulliParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        return self._of(parameters.sample(states, rng))

    def _collapsed(self) -> tuple[int, Floats]:
        return collapsed_mixtures.BERNOULLI, np.hstack([self._ones, self._zeros])

    def order(self, parameters: BernoulliParameters) -> NDArray[np.intp]:
        """Return the states by the probability of the first feature that separates them."""
        return self.order_of(parameters.probabilities)

    def check_parameters(self, parameters: BernoulliParameters) -> None:
        """Raise an error for a wrong shape or values that are not probabilities."""
        check_finite(Argument("probabilities"), parameters.probabilities, self._shape_of_states)
        wrong = (parameters.probabilities < 0) | (parameters.probabilities > 1)
        if wrong.any():
            place, index = place_of(wrong)
            raise PlaitError(
                Argument("probabilities"),
                f"{place} must be from 0 to 1, got {parameters.probabilities[index]:g}",
            )

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> BernoulliParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        return BernoulliParameters(**stored_shapes(arrays, {"probabilities": self._shape_of_states}))

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        return arrays | {"prior": self._ones, "prior_of_zeros": self._zeros}, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        shape = (rows_of(arrays, "prior"), sequences.n_features)
        priors = stored_shapes(arrays, {"prior": shape, "prior_of_zeros": shape})
        return cls(sequences, shape[0], **priors)


def _check_bits(sequences: Sequences) -> None:
    values = sequences.values
    wrong = (values != 0) & (values != 1) & ~np.isnan(values)
    if wrong.any():
        _, (i, d) = place_of(wrong)
        raise PlaitError(
            f"binary features must be 0 or 1, got {values[i, d]:g} in feature {d} of observation {i}"
        )
