"""The priors of a factorial hidden Markov model, checked and in full shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from plait.arrays import Floats, check_numbers, frozen_copy, place_of
from plait.checks import short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.models.emissions.covariances import FARTHEST, check_near, check_scale
from plait.models.priors import DirichletRows, check_range, spread

COVARIANCES = ("diag", "full")
"""The forms of the covariance of the noise."""

WEAK = 0.01
"""Default weight of the prior of the means, in observations."""

_LEAST_WEIGHT = 1e-6  # of the prior of a mean, which must be proper
_LEAST_DEGREES = 0.1  # above the smallest number for which the prior of a variance is proper


class Moments(NamedTuple):
    """Mean and variance of the observations."""

    mean: Floats
    """(D,)"""

    variance: Floats
    """(D,); 1 for a constant feature."""


def moments_of(sequences: Sequences) -> Moments:
    """Return mean and variance of each feature; raise an error unless the data are numbers."""
    if not isinstance(sequences, Sequences):
        raise PlaitError(
            f"the data must be Sequences of numbers, got {short_repr(sequences)}: use Sequences.from_values"
        )
    if sequences.is_symbols:
        raise PlaitError(f"the data must be numbers, got symbols, {sequences}: use Sequences.from_values")
    sequences.refuse_partly_missing("a factorial HMM")
    seen = sequences.values[~np.isnan(sequences.values[:, 0])]
    if not len(seen):
        return Moments(
            frozen_copy(np.zeros(sequences.n_features)), frozen_copy(np.ones(sequences.n_features))
        )
    with np.errstate(over="ignore", invalid="ignore"):
        mean = seen.mean(axis=0)
        near = np.abs(seen - mean).max(axis=0) <= FARTHEST
    if not near.all():
        raise PlaitError(
            f"the values of feature {place_of(~near)[1][0]} are too large to square: divide them by a"
            " constant"
        )
    variance = seen.var(axis=0)
    return Moments(frozen_copy(mean), frozen_copy(np.where(variance > 0, variance, 1.0)))


@dataclass(frozen=True)
class FactorialPriors:
    """The priors of all parameters.

    Attributes
    ----------
    start : DirichletRows, (K, S)
        Priors of the first states.
    transitions : DirichletRows, (K S, S)
        Priors of the transitions.
    means : ndarray, (K, S, D)
        Prior means of the means.
    mean_weights : ndarray, (K, S)
        Their weights in observations.
    scale : ndarray, (D,) or (D, D)
        Scale of the prior of the covariance.
    degrees : float
        Its degrees of freedom.
    """

    start: DirichletRows
    transitions: DirichletRows
    means: Floats
    mean_weights: Floats
    scale: Floats
    degrees: float

    @classmethod
    def checked(
        cls,
        n_chains: int,
        n_states: int,
        moments: Moments,
        *,
        covariance: str,
        start_prior: ArrayLike,
        transition_prior: ArrayLike,
        staying: float,
        mean_prior: ArrayLike | None,
        mean_weight: ArrayLike,
        covariance_prior: ArrayLike | None,
        covariance_weight: float | None,
    ) -> FactorialPriors:
        """Return the priors of a model with these arguments; raise an error if one is wrong."""
        axes = {"K": n_chains, "S": n_states}
        start = DirichletRows("the start probabilities", axes, start_prior, prior_name="start_prior")
        transitions = _transitions(n_chains, n_states, transition_prior, staying)
        means, weights = _means(n_chains, n_states, moments.mean, mean_prior, mean_weight)
        scale, degrees = _covariance(covariance, moments.variance, covariance_prior, covariance_weight)
        return cls(start, transitions, means, weights, scale, degrees)

    @property
    def is_matrix(self) -> bool:
        """Whether the covariance is a matrix, not a diagonal."""
        return self.scale.ndim == 2

    @property
    def chains_are_alike(self) -> bool:
        """Whether the priors of start and transitions treat all chains and states alike."""
        n_chains, n_states = self.start.prior.shape
        moves = self.transitions.prior.reshape(n_chains, n_states, n_states)
        other = ~np.eye(n_states, dtype=bool)
        alike = (self.start.prior, np.diagonal(moves, axis1=1, axis2=2), moves[:, other])
        return bool(self.start.free.all() and self.transitions.free.all()) and all(
            not array.size or bool(np.ptp(array) == 0) for array in alike
        )

    @property
    def means_are_alike(self) -> bool:
        """Whether the prior means of all chains and states are the same."""
        return bool(np.all(self.means == self.means[0, 0]))

    @property
    def is_exchangeable(self) -> bool:
        """Whether the priors treat all chains and states alike, so that their numbers are arbitrary."""
        return self.chains_are_alike and self.means_are_alike and bool(np.ptp(self.mean_weights) == 0)


def _transitions(n_chains: int, n_states: int, prior: ArrayLike, staying: float) -> DirichletRows:
    """Return the priors of the transitions, (K S, S); `staying` is added to the diagonals."""
    name = "transition_prior"
    moves = spread(name, prior, {"K": n_chains, "S before": n_states, "S": n_states})
    check_range(name, moves, zeros=True)
    stays = check_numbers("staying", staying)
    if stays.ndim:
        raise PlaitError(Argument("staying"), f" must be one number, got {short_repr(staying)}")
    check_range("staying", stays, zeros=True)
    rows = (moves + stays * np.eye(n_states)).reshape(-1, n_states)
    return DirichletRows("the transition probabilities", {"K S": len(rows), "S": n_states}, rows)


def _means(
    n_chains: int, n_states: int, centre: Floats, prior: ArrayLike | None, weight: ArrayLike
) -> tuple[Floats, Floats]:
    """Return prior means (K, S, D) and their weights (K, S)."""
    axes = {"K": n_chains, "S": n_states}
    name = "mean_prior"
    means = spread(name, centre / n_chains if prior is None else prior, axes | {"D": len(centre)})
    check_near(name, means, centre / n_chains)
    weights = spread("mean_weight", weight, axes)
    check_range("mean_weight", weights, zeros=True)
    return frozen_copy(means), frozen_copy(np.maximum(weights, _LEAST_WEIGHT))


def _covariance(
    covariance: str, variance: Floats, prior: ArrayLike | None, weight: float | None
) -> tuple[Floats, float]:
    """Return scale and degrees of freedom of the prior of a covariance of this form."""
    is_matrix, n_features = covariance == "full", len(variance)
    name = "covariance_prior"
    scale = check_numbers(name, 0.01 * variance if prior is None else prior)
    if is_matrix and scale.ndim < 2 and scale.size in (1, n_features):  # a number, or a diagonal
        scale = np.diag(np.broadcast_to(scale, n_features))
    if scale.ndim == 0:
        scale = np.full(n_features, float(scale))
    shape = (n_features,) * (2 if is_matrix else 1)
    if scale.shape != shape:
        raise PlaitError(
            Argument(name),
            f" must be a number or, for a {covariance} covariance, an array of shape {shape}, got shape"
            f" {scale.shape}",
        )
    check_scale(name, scale, covariance_form(scale))
    name, least = "covariance_weight", n_features - 1.0 if is_matrix else 0.0
    degrees = check_numbers(name, least + 3.0 if weight is None else weight)
    if degrees.ndim:
        raise PlaitError(Argument(name), f" must be one number, got {short_repr(weight)}")
    check_range(name, degrees, zeros=True)
    return frozen_copy(scale), max(float(degrees), least + (1.0 if is_matrix else _LEAST_DEGREES))


def covariance_form(covariance: Floats) -> str:
    """Return the name of the form of a covariance (D, D) or (D,) in `GaussianEmissions`."""
    return "tied" if covariance.ndim == 2 else "diag"
