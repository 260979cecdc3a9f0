"""Emissions of angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import ArrayLike

from plait.arrays import Floats
from plait.data.sequences import Sequences
from plait.kernels import parameters as draws
from plait.models.emissions.columns import ColumnParameters, LinearColumnEmissions, check_values
from plait.models.model import Key, Paths
from plait.models.priors import check_range
from plait.models.scalar_posteriors import LogDensity, ScalarPosteriors, modes

_LOG_TWO_PI = float(np.log(2 * np.pi))
_MOST: Final = 2 * np.pi + 1e-6  # a full turn, for angles counted from 0 or from -pi
_FIRST = 2.0  # initial concentration


@dataclass(frozen=True, eq=False)
class VonMisesParameters(ColumnParameters):
    """Mean directions and concentrations of independent von Mises distributions.

    Attributes
    ----------
    directions : ndarray, (S, D)
        Mean direction of each column in each state, in radians from -pi to pi.
    concentrations : ndarray, (S, D)
        kappa: 0 is uniform; for large ones, the variance is about 1 / kappa.
    """

    positive: ClassVar[tuple[str, ...]] = ("concentrations",)

    directions: Floats
    concentrations: Floats

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        return rng.vonmises(self.directions[states], self.concentrations[states])

    def over(self, sequences: Sequences) -> VonMisesEmissions:
        """Return emissions of other data that take these parameters."""
        return VonMisesEmissions(sequences, len(self.directions))


class VonMisesEmissions(LinearColumnEmissions[VonMisesParameters]):
    """Angles: each column is von Mises, the normal distribution of the circle.

    The mean direction is uniform, the concentration Gamma(concentration_prior, concentration_weight).

    Parameters
    ----------
    sequences : Sequences
        Angles in radians, from -2 pi to 2 pi.
    n_states : int
        Number of states S.
    concentration_prior, concentration_weight : float or array (S, D), default: 1 and 0.01
        Shape and rate of the gamma prior of the concentrations.
    """

    kind: ClassVar[str] = "vonmises"
    parameters = VonMisesParameters
    prior_names = ("concentration_prior", "concentration_weight")

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        concentration_prior: ArrayLike = 1.0,
        concentration_weight: ArrayLike = 0.01,
    ) -> None:
        self._take(sequences, n_states)
        check_values(
            sequences,
            np.abs(sequences.values) > _MOST,
            "angles must be in radians, from -2 pi to 2 pi (numpy.radians converts degrees)",
        )
        self._set_priors(concentration_prior, concentration_weight)
        for name in self.prior_names:
            check_range(name, self._priors[name])
        angles = sequences.values
        self._set_functions(np.zeros_like(angles), np.cos(angles), np.sin(angles))

    def _coefficients(self, parameters: VonMisesParameters) -> tuple[Floats, ...]:
        kappa = parameters.concentrations
        along, across = np.cos(parameters.directions), np.sin(parameters.directions)
        return -log_bessel(kappa) - kappa - _LOG_TWO_PI, kappa * along, kappa * across

    def _means(self, parameters: VonMisesParameters) -> Floats:
        return parameters.directions

    def coordinates(self) -> Floats:
        """Return the points of the angles on unit circles, (N, 2 D)."""
        return np.hstack([np.cos(self.sequences.values), np.sin(self.sequences.values)])

    def parameters_near(self, centres: Floats, spread: Floats) -> VonMisesParameters:
        """Return initial parameters: directions at these centres."""
        return VonMisesParameters(_wrapped(centres), np.full(centres.shape, _FIRST))

    def _posterior(self, statistics: Floats, *, collapsed: bool) -> tuple[Floats, Floats, LogDensity]:
        """Return the resultant's direction and length, and the log-density of log kappa.

        The mean direction is integrated out (`collapsed`), or the most probable one put in its place.
        """
        n, along, across = (part.ravel() for part in self._sums(statistics))
        length = np.minimum(np.hypot(along, across), n)
        a, b = (self._priors[name].ravel()[:, None] for name in self.prior_names)

        def log_density(t: Floats) -> Floats:
            kappa = np.exp(t)
            density: Floats = a * t - b * kappa + kappa * (length - n)[:, None]
            density -= n[:, None] * log_bessel(kappa)
            return density + log_bessel(kappa * length[:, None]) if collapsed else density

        return np.arctan2(across, along), length, log_density

    def draw(self, statistics: Floats, key: Key, unit: int) -> VonMisesParameters:
        """Draw the concentrations, with the directions integrated out, and then the directions."""
        direction, length, log_density = self._posterior(statistics, collapsed=True)
        kappa = ScalarPosteriors(log_density, length.size).draw(key, unit)
        turns = np.empty(length.size)
        draws.fill_von_mises(unit + 1, kappa * length, turns, key)
        return self._shaped(_wrapped(direction + turns), kappa)

    def mean(self, statistics: Floats) -> VonMisesParameters:
        """Return the posterior's mean directions, and the posterior means of the concentrations."""
        direction, length, log_density = self._posterior(statistics, collapsed=True)
        return self._shaped(direction, ScalarPosteriors(log_density, length.size).mean())

    def mode(self, statistics: Floats) -> VonMisesParameters:
        """Return the most probable directions and logarithms of the concentrations."""
        direction, length, log_density = self._posterior(statistics, collapsed=False)
        return self._shaped(direction, modes(log_density, length.size))

    def _shaped(self, directions: Floats, concentrations: Floats) -> VonMisesParameters:
        shape = self._shape_of_states
        return VonMisesParameters(directions.reshape(shape), concentrations.reshape(shape))


def log_bessel(x: Floats) -> Floats:
    """Return log I_0(x) - x, which does not overflow."""
    logs: Floats = np.log(scipy.special.i0e(x))
    return logs


def _wrapped(angles: Floats) -> Floats:
    """Return angles between -pi and pi."""
    return np.angle(np.exp(1j * angles))
