"""Emissions of positive numbers: exponential, gamma and log-normal, with independent columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import ArrayLike

from plait.arrays import Floats, check_finite
from plait.data.sequences import Sequences
from plait.errors import Argument
from plait.kernels import parameters as draws
from plait.models.emissions.columns import (
    ColumnParameters,
    LinearColumnEmissions,
    check_positive,
    check_values,
    gamma_variates,
)
from plait.models.emissions.covariances import check_near
from plait.models.model import Key, Paths
from plait.models.priors import check_range
from plait.models.scalar_posteriors import LogDensity, ScalarPosteriors, modes

_LOG_TWO_PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class ExponentialParameters(ColumnParameters):
    """Means of independent exponential distributions.

    Attributes
    ----------
    means : ndarray, (S, D)
        Mean of each column in each state.
    """

    positive: ClassVar[tuple[str, ...]] = ("means",)

    means: Floats

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        return rng.exponential(self.means[states])

    def over(self, sequences: Sequences) -> ExponentialEmissions:
        """Return emissions of other data that take these parameters."""
        return ExponentialEmissions(sequences, len(self.means), mean_prior=1.0)


class ExponentialEmissions(LinearColumnEmissions[ExponentialParameters]):
    """Numbers of at least 0: each column is exponential.

    The inverse of the mean is Gamma(mean_weight, mean_weight * mean_prior), with shape and rate.

    Parameters
    ----------
    sequences : Sequences
        Numbers of at least 0.
    n_states : int
        Number of states S.
    mean_prior : float or array (S, D), default: mean of the data
        Prior of the means.
    mean_weight : float or array (S, D), default: 1
        How many observations the prior is worth.
    """

    kind: ClassVar[str] = "exponential"
    parameters = ExponentialParameters
    prior_names = ("mean_prior", "mean_weight")

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        mean_prior: ArrayLike | None = None,
        mean_weight: ArrayLike = 1.0,
    ) -> None:
        mean, _ = self._take(sequences, n_states)
        check_values(sequences, sequences.values < 0, "exponential numbers must be at least 0")
        self._mean = np.where(mean > 0, mean, 1.0)
        self._set_priors(self._mean if mean_prior is None else mean_prior, mean_weight)
        check_positive("mean_prior", self._priors["mean_prior"])
        check_range("mean_weight", self._priors["mean_weight"])
        self._set_functions(np.zeros_like(sequences.values), sequences.values)

    def _coefficients(self, parameters: ExponentialParameters) -> tuple[Floats, ...]:
        return -np.log(parameters.means), -1.0 / parameters.means

    def _means(self, parameters: ExponentialParameters) -> Floats:
        return parameters.means

    def parameters_near(self, centres: Floats, spread: Floats) -> ExponentialParameters:
        """Return initial parameters: means halfway between the mean of the data and these centres."""
        return ExponentialParameters((centres + self._mean) / 2)

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats]:
        """Return shape and rate of the gamma posterior of 1 / mean, each (S, D)."""
        n, total = self._sums(statistics)
        weight = self._priors["mean_weight"]
        return weight + n, weight * self._priors["mean_prior"] + total

    def draw(self, statistics: Floats, key: Key, unit: int) -> ExponentialParameters:
        """Draw 1 / mean from its gamma posterior."""
        shapes, rates = self._posterior(statistics)
        return ExponentialParameters(rates / gamma_variates(shapes, key, unit))

    def mean(self, statistics: Floats) -> ExponentialParameters:
        """Return the means whose inverses are the means of their posteriors."""
        shapes, rates = self._posterior(statistics)
        return ExponentialParameters(rates / shapes)

    def mode(self, statistics: Floats) -> ExponentialParameters:
        """Return the most probable logarithms of the means; as means, these are those of `mean`."""
        return self.mean(statistics)


@dataclass(frozen=True, eq=False)
class GammaParameters(ColumnParameters):
    """Means and shapes of independent gamma distributions; the scale is mean / shape.

    Attributes
    ----------
    means, shapes : ndarray, (S, D)
        Mean and shape of each column in each state.
    """

    positive: ClassVar[tuple[str, ...]] = ("means", "shapes")

    means: Floats
    shapes: Floats

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        drawn = rng.gamma(self.shapes, size=(len(states), *self.shapes.shape))
        return drawn[np.arange(len(states)), states] * (self.means / self.shapes)[states]

    def over(self, sequences: Sequences) -> GammaEmissions:
        """Return emissions of other data that take these parameters."""
        return GammaEmissions(sequences, len(self.means), mean_prior=1.0)


class GammaEmissions(LinearColumnEmissions[GammaParameters]):
    """Positive numbers: each column is gamma.

    The shape k is Gamma(shape_prior, shape_weight); given k, the rate k / mean is
    Gamma(k * mean_weight, mean_weight * mean_prior), with shape and rate, as after `mean_weight` observations
    around `mean_prior`.

    Parameters
    ----------
    sequences : Sequences
        Positive numbers.
    n_states : int
        Number of states S.
    mean_prior : float or array (S, D), default: mean of the data
        Prior of the means.
    mean_weight : float or array (S, D), default: 0.01
        How many observations it is worth.
    shape_prior, shape_weight : float or array (S, D), default: 1 and 0.01
        Shape and rate of the gamma prior of the shapes.
    """

    kind: ClassVar[str] = "gamma"
    parameters = GammaParameters
    prior_names = ("mean_prior", "mean_weight", "shape_prior", "shape_weight")

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        mean_prior: ArrayLike | None = None,
        mean_weight: ArrayLike = 0.01,
        shape_prior: ArrayLike = 1.0,
        shape_weight: ArrayLike = 0.01,
    ) -> None:
        mean, variance = self._take(sequences, n_states)
        check_values(sequences, sequences.values <= 0, "gamma numbers must be greater than 0")
        self._mean = np.where(mean > 0, mean, 1.0)
        self._shape = np.clip(self._mean**2 / np.where(variance > 0, variance, np.inf), 1.0, 100.0)
        self._set_priors(
            self._mean if mean_prior is None else mean_prior, mean_weight, shape_prior, shape_weight
        )
        check_positive("mean_prior", self._priors["mean_prior"])
        for name in self.prior_names[1:]:
            check_range(name, self._priors[name])
        with np.errstate(invalid="ignore"):
            logs = np.log(sequences.values)
        self._set_functions(np.zeros_like(logs), sequences.values, logs)

    def _coefficients(self, parameters: GammaParameters) -> tuple[Floats, ...]:
        rates = parameters.shapes / parameters.means
        constant = parameters.shapes * np.log(rates) - scipy.special.gammaln(parameters.shapes)
        return constant, -rates, parameters.shapes - 1.0

    def _means(self, parameters: GammaParameters) -> Floats:
        return parameters.means

    def parameters_near(self, centres: Floats, spread: Floats) -> GammaParameters:
        """Return initial parameters: means halfway to these centres, and the shape of all data."""
        means = (centres + self._mean) / 2
        return GammaParameters(means, np.broadcast_to(self._shape, means.shape).copy())

    def _log_posteriors(self, statistics: Floats, *, collapsed: bool) -> tuple[Floats, Floats, LogDensity]:
        """Return shape / k and rate of the gamma posterior of the rate given the shape k, and that of log k.

        The log-density of log k is that with the rate integrated out (`collapsed`) or with the most probable
        rate in its place.
        """
        n, total, logs = (part.ravel() for part in self._sums(statistics))
        priors = {name: prior.ravel() for name, prior in self._priors.items()}
        weight, a, b = priors["mean_weight"], priors["shape_prior"], priors["shape_weight"]
        before, number = weight * priors["mean_prior"], weight + n
        rate = before + total

        def log_density(t: Floats) -> Floats:
            k = np.exp(t)
            c = (x[:, None] for x in (a, b, weight, before, number, rate, n, logs))
            a_, b_, weight_, before_, number_, rate_, n_, logs_ = c
            density: Floats = (
                a_ * t - b_ * k + k * weight_ * np.log(before_) - scipy.special.gammaln(k * weight_)
            )
            density += k * logs_ - n_ * scipy.special.gammaln(k)
            if collapsed:
                return density + scipy.special.gammaln(k * number_) - k * number_ * np.log(rate_)
            return density + k * number_ * (np.log(k * number_ / rate_) - 1.0)

        return number, rate, log_density

    def draw(self, statistics: Floats, key: Key, unit: int) -> GammaParameters:
        """Draw the shapes, with the rates integrated out, and then the rates."""
        number, rate, log_density = self._log_posteriors(statistics, collapsed=True)
        shapes = ScalarPosteriors(log_density, number.size).draw(key, unit)
        rates = gamma_variates(shapes * number, key, unit + 1) / rate
        return self._shaped(shapes / rates, shapes)

    def mean(self, statistics: Floats) -> GammaParameters:
        """Return the posterior means of the shapes and of the rates."""
        number, rate, log_density = self._log_posteriors(statistics, collapsed=True)
        return self._shaped(rate / number, ScalarPosteriors(log_density, number.size).mean())

    def mode(self, statistics: Floats) -> GammaParameters:
        """Return the most probable logarithms of shapes and rates."""
        number, rate, log_density = self._log_posteriors(statistics, collapsed=False)
        return self._shaped(rate / number, modes(log_density, number.size))

    def _shaped(self, means: Floats, shapes: Floats) -> GammaParameters:
        return GammaParameters(means.reshape(self._shape_of_states), shapes.reshape(self._shape_of_states))


@dataclass(frozen=True, eq=False)
class LogNormalParameters(ColumnParameters):
    """Means and variances of the logarithms of independent log-normal numbers.

    Attributes
    ----------
    log_means, log_variances : ndarray, (S, D)
        Mean and variance of the logarithm of each column in each state.
    """

    positive: ClassVar[tuple[str, ...]] = ("log_variances",)

    log_means: Floats
    log_variances: Floats

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        return rng.lognormal(self.log_means[states], np.sqrt(self.log_variances[states]))

    def over(self, sequences: Sequences) -> LogNormalEmissions:
        """Return emissions of other data that take these parameters."""
        return LogNormalEmissions(sequences, len(self.log_means), mean_prior=0.0, variance_prior=1.0)


class LogNormalEmissions(LinearColumnEmissions[LogNormalParameters]):
    """Positive numbers: the logarithm of each column is normal.

    The priors are those of `GaussianEmissions` with diagonal covariances, for the logarithms.

    Parameters
    ----------
    sequences : Sequences
        Positive numbers.
    n_states : int
        Number of states S.
    mean_prior, mean_weight : float or array (S, D), default: mean of the logarithms, and 0.01
        Prior mean of the means of the logarithms, and how many observations it is worth.
    variance_prior, variance_weight : float or array (S, D)
        Scale and degrees of freedom of the prior of the variances of the logarithms; by default 0.01 of the
        variance of all logarithms, plus 1e-5, and 3.
    """

    kind: ClassVar[str] = "lognormal"
    parameters = LogNormalParameters
    prior_names = ("mean_prior", "mean_weight", "variance_prior", "variance_weight")

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        mean_prior: ArrayLike | None = None,
        mean_weight: ArrayLike = 0.01,
        variance_prior: ArrayLike | None = None,
        variance_weight: ArrayLike = 3.0,
    ) -> None:
        self._take(sequences, n_states)
        check_values(sequences, sequences.values <= 0, "log-normal numbers must be greater than 0")
        with np.errstate(invalid="ignore"):
            logs = np.log(sequences.values)
        number = np.maximum((~np.isnan(logs)).sum(axis=0), 1)
        self._centre = np.nansum(logs, axis=0) / number
        variance = np.nansum((logs - self._centre) ** 2, axis=0) / number
        if variance_prior is None:
            variance_prior = 0.01 * (variance + 1e-3)
        self._set_priors(
            self._centre if mean_prior is None else mean_prior, mean_weight, variance_prior, variance_weight
        )
        check_finite(Argument("mean_prior"), self._priors["mean_prior"])
        check_near("mean_prior", self._priors["mean_prior"], self._centre)
        check_positive("variance_prior", self._priors["variance_prior"])
        for name in ("mean_weight", "variance_weight"):
            check_range(name, self._priors[name])
        self._scale = np.sqrt(np.where(variance > 0, variance, 1.0))  # of the logarithms, see `order`
        self._set_functions(-logs, logs - self._centre, (logs - self._centre) ** 2)

    def _coefficients(self, parameters: LogNormalParameters) -> tuple[Floats, ...]:
        mean, precision = parameters.log_means - self._centre, 1.0 / parameters.log_variances
        constant = -0.5 * (mean**2 * precision + np.log(parameters.log_variances) + _LOG_TWO_PI)
        return constant, mean * precision, -0.5 * precision

    def _means(self, parameters: LogNormalParameters) -> Floats:
        return parameters.log_means

    def coordinates(self) -> Floats:
        """Return the logarithms in units of their standard deviations, (N, D)."""
        logs: Floats = np.log(self.sequences.values) / self._scale
        return logs

    def parameters_near(self, centres: Floats, spread: Floats) -> LogNormalParameters:
        """Return initial parameters: means of logarithms at these centres, half their standard deviation."""
        means = np.log(np.where(centres > 0, centres, np.exp(self._centre)))
        return LogNormalParameters(means, np.broadcast_to(self._scale**2 / 4, means.shape).copy())

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return mean and weight of the means, and scale and degrees of freedom of the variances."""
        n, total, squares = self._sums(statistics)
        prior_mean = self._priors["mean_prior"] - self._centre
        prior_weight = self._priors["mean_weight"]
        weight = prior_weight + n
        mean = (prior_weight * prior_mean + total) / weight
        scatter = squares + prior_weight * prior_mean**2 - weight * mean**2
        scale = self._priors["variance_prior"] + np.maximum(scatter, 0.0)  # rounding may make it negative
        return self._centre + mean, weight, scale, self._priors["variance_weight"] + n

    def draw(self, statistics: Floats, key: Key, unit: int) -> LogNormalParameters:
        """Draw the variances from inverse gamma distributions, then the means given these."""
        mean, weight, scale, degrees = self._posterior(statistics)
        variances = scale / (2.0 * gamma_variates(degrees / 2.0, key, unit))
        shift = np.empty(mean.size)
        draws.fill_normals(unit + 1, shift, key)
        return LogNormalParameters(mean + shift.reshape(mean.shape) * np.sqrt(variances / weight), variances)

    def mean(self, statistics: Floats) -> LogNormalParameters:
        """Return the posterior means, as `GaussianEmissions.mean` does."""
        mean, _, scale, degrees = self._posterior(statistics)
        return LogNormalParameters(mean, scale / np.where(degrees > 2, degrees - 2, degrees))

    def mode(self, statistics: Floats) -> LogNormalParameters:
        """Return the most probable means and inverse variances."""
        mean, _, scale, degrees = self._posterior(statistics)
        return LogNormalParameters(mean, scale / np.maximum(degrees - 1.0, 1.0))
