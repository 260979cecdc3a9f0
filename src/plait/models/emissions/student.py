"""Emissions of real numbers with outliers: Student's t distribution.

A t variate is normal with the variance divided by a weight u ~ Gamma(nu / 2, nu / 2). Given the weights,
location and variance are conjugate. So Algorithm 1 is extended by the weights u^j of each path, as in
`plait.models.emissions.completion`: a sweep draws them given the states and phi of the sweep before, u ~
Gamma((nu + 1) / 2, (nu + z^2) / 2) with z = (x - location) / scale, then phi given all paths and weights,
then paths given phi with the weights integrated out. EM takes the expectations of u and log u.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import ArrayLike

from plait.arrays import Floats, check_finite, check_range_of_sites, frozen_copy
from plait.data.sequences import Sequences
from plait.errors import Argument
from plait.kernels import parameters as draws
from plait.kernels.weights import add_weighted
from plait.models.emissions.columns import ColumnEmissions, ColumnParameters, check_positive, gamma_variates
from plait.models.emissions.contract import check_form_of_posteriors, check_form_of_statistics
from plait.models.emissions.covariances import check_near
from plait.models.model import Key, Paths, checks_paths
from plait.models.priors import check_range
from plait.models.scalar_posteriors import LogDensity, ScalarPosteriors, modes
from plait.scratch import scratch

_N_SUMS = 5  # n, u, u x, u x^2, log u - u


@dataclass(frozen=True, eq=False)
class StudentParameters(ColumnParameters):
    """Locations, squared scales and degrees of freedom of independent t distributions.

    Attributes
    ----------
    locations : ndarray, (S, D)
        Centre of each column in each state: its mean, if there is one.
    squared_scales : ndarray, (S, D)
        Its squared scale, which is its variance for many degrees of freedom.
    degrees : ndarray, (S, D)
        nu, its degrees of freedom: the fewer, the more outliers.
    """

    positive: ClassVar[tuple[str, ...]] = ("squared_scales", "degrees")

    locations: Floats
    squared_scales: Floats
    degrees: Floats

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        return self.locations[states] + np.sqrt(self.squared_scales[states]) * rng.standard_t(
            self.degrees[states]
        )

    def over(self, sequences: Sequences) -> StudentEmissions:
        """Return emissions of other data that take these parameters."""
        return StudentEmissions(sequences, len(self.locations), mean_prior=0.0, variance_prior=1.0)


class StudentEmissions(ColumnEmissions[StudentParameters]):
    """Real numbers: each column has a t distribution.

    The priors of locations and squared scales are those of means and variances in `GaussianEmissions` with
    diagonal covariances; the degrees of freedom are Gamma(degrees_prior, degrees_weight).

    Parameters
    ----------
    sequences : Sequences
        Numbers.
    n_states : int
        Number of states S.
    mean_prior, mean_weight : float or array (S, D), default: mean of the data, and 0.01
        Prior mean of the locations, and how many observations it is worth.
    variance_prior, variance_weight : float or array (S, D), default: 0.01 of the variance of the data, and 3
        Scale and degrees of freedom of the prior of the squared scales.
    degrees_prior, degrees_weight : float or array (S, D), default: 2 and 0.1
        Shape and rate of the gamma prior of nu.
    """

    kind: ClassVar[str] = "student"
    parameters = StudentParameters
    prior_names = (
        "mean_prior",
        "mean_weight",
        "variance_prior",
        "variance_weight",
        "degrees_prior",
        "degrees_weight",
    )

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        mean_prior: ArrayLike | None = None,
        mean_weight: ArrayLike = 0.01,
        variance_prior: ArrayLike | None = None,
        variance_weight: ArrayLike = 3.0,
        degrees_prior: ArrayLike = 2.0,
        degrees_weight: ArrayLike = 0.1,
    ) -> None:
        mean, variance = self._take(sequences, n_states)
        self._centre = frozen_copy(mean)
        self._apart = frozen_copy(sequences.values - mean)
        if variance_prior is None:
            variance_prior = 0.01 * np.where(variance > 0, variance, 1.0)
        mean_prior = mean if mean_prior is None else mean_prior
        self._set_priors(
            mean_prior, mean_weight, variance_prior, variance_weight, degrees_prior, degrees_weight
        )
        check_finite(Argument("mean_prior"), self._priors["mean_prior"])
        check_near("mean_prior", self._priors["mean_prior"], mean)
        check_positive("variance_prior", self._priors["variance_prior"])
        for name in ("mean_weight", "variance_weight", "degrees_prior", "degrees_weight"):
            check_range(name, self._priors[name])

    @property
    def completes(self) -> bool:
        """Whether weights are drawn, or expected, besides the paths."""
        return True

    def _means(self, parameters: StudentParameters) -> Floats:
        return parameters.locations

    def parameters_near(self, centres: Floats, spread: Floats) -> StudentParameters:
        """Return initial parameters: locations at these centres, and squared scales around them."""
        scales = np.broadcast_to(np.where(spread > 0, spread, self._scale**2), centres.shape).copy()
        return StudentParameters(centres, scales, np.full(centres.shape, 10.0))

    def _fill(self, parameters: StudentParameters, first: int, last: int, logs: Floats) -> None:
        self._check_form(parameters)
        logs[:] = 0.0
        for s in range(self.n_states):
            nu, squared = parameters.degrees[s], parameters.squared_scales[s]
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                constant = scipy.special.gammaln((nu + 1) / 2) - scipy.special.gammaln(nu / 2)
                constant = constant - 0.5 * np.log(np.pi * nu * squared)
                apart = self.sequences.values[first:last] - parameters.locations[s]
                each = constant - (nu + 1) / 2 * np.log1p(apart**2 / (nu * squared))
            logs[:, s] = np.where(np.isnan(apart), 0.0, each).sum(axis=1)

    # ---------------------------------------------------------------------------------------------
    # Statistics: the number of observations, and for each column n and the sums with weights
    # ---------------------------------------------------------------------------------------------

    def _empty(self) -> Floats:
        return scratch((self.n_states, 1 + _N_SUMS * self.sequences.n_features))

    def _added(self, first: int, last: int, states: Floats, parameters: StudentParameters | None) -> Floats:
        """Return the expected sums given states (n, S); without parameters, all weights are 1."""
        found = self._empty()
        seen = ~np.isnan(self._apart[first:last])
        found[:, 0] = seen.any(axis=1).astype(np.float64) @ states
        for d in range(self.sequences.n_features):
            x = np.where(seen[:, d], self._apart[first:last, d], 0.0)[:, None]
            times = states * seen[:, d, None]
            if parameters is None:
                u, log_u = np.ones_like(times), np.zeros_like(times)
            else:
                nu, squared = parameters.degrees[:, d], parameters.squared_scales[:, d]
                z = (x - (parameters.locations[:, d] - self._centre[d])) ** 2 / squared
                u = (nu + 1) / (nu + z)
                log_u = scipy.special.digamma((nu + 1) / 2) - np.log((nu + z) / 2)
            parts = (1.0, u, u * x, u * x * x, log_u - u)
            for k, part in enumerate(parts):
                found[:, 1 + _N_SUMS * d + k] = (times * part).sum(axis=0)
        return found

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the sums over the observations in each state, with all weights 1."""
        check_range_of_sites(first, last, self.n_sites)
        times = np.zeros((last - first, self.n_states))
        for path in paths[:, first:last]:
            times[np.arange(last - first), path] += 1.0
        return self._added(first, last, times, None)

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected sums, with all weights 1."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        return self._added(first, last, posteriors, None)

    @checks_paths
    def count_completed(
        self, first: int, last: int, paths: Paths, parameters: StudentParameters, key: Key
    ) -> Floats:
        """Draw weights for each path; return what their sums have in addition to those of weights of 1."""
        check_range_of_sites(first, last, self.n_sites)
        self._check_form(parameters)
        found = self._empty()
        locations = parameters.locations - self._centre
        own = np.stack([locations, parameters.squared_scales, parameters.degrees])
        add_weighted(first, last, self._apart, own, paths, found, key)
        return found - self.count(first, last, paths)

    def expect_completed(
        self, first: int, last: int, posteriors: Floats, parameters: StudentParameters
    ) -> Floats:
        """Return what the expected sums have in addition to those of weights of 1."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        return self._added(first, last, posteriors, parameters) - self.expect(first, last, posteriors)

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, self._empty().shape, changed)

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats, Floats, Floats, LogDensity]:
        """Return mean, weight, scale and degrees, as for normal numbers, and the log-density of log nu.

        Given the weights, nu is independent of the others: its likelihood is that of n gamma variates.
        """
        self.check_statistics(statistics)
        parts = statistics[:, 1:].reshape(*self._shape_of_states, _N_SUMS)
        n, u, ux, uxx, logs = (np.ascontiguousarray(parts[:, :, k]) for k in range(_N_SUMS))
        prior = self._priors
        before, weight = prior["mean_prior"] - self._centre, prior["mean_weight"] + u
        mean = (prior["mean_weight"] * before + ux) / weight
        scatter = uxx + prior["mean_weight"] * before**2 - weight * mean**2
        scale = prior["variance_prior"] + np.maximum(scatter, 0.0)
        flat = (prior["degrees_prior"], prior["degrees_weight"], n, logs)
        a, b, n_, logs_ = (part.ravel()[:, None] for part in flat)

        def log_density(t: Floats) -> Floats:
            half = np.exp(t) / 2
            density: Floats = a * t - 2 * b * half + half * logs_
            return density + n_ * (half * np.log(half) - scipy.special.gammaln(half))

        return self._centre + mean, weight, scale, prior["variance_weight"] + n, log_density

    def draw(self, statistics: Floats, key: Key, unit: int) -> StudentParameters:
        """Draw squared scales, locations given these, and degrees of freedom."""
        mean, weight, scale, degrees, log_density = self._posterior(statistics)
        squared = scale / (2.0 * gamma_variates(degrees / 2.0, key, unit))
        shift = np.empty(mean.size)
        draws.fill_normals(unit + 1, shift, key)
        nu = ScalarPosteriors(log_density, mean.size).draw(key, unit + 2).reshape(mean.shape)
        return StudentParameters(mean + shift.reshape(mean.shape) * np.sqrt(squared / weight), squared, nu)

    def mean(self, statistics: Floats) -> StudentParameters:
        """Return the posterior means given the statistics."""
        mean, _, scale, degrees, log_density = self._posterior(statistics)
        nu = ScalarPosteriors(log_density, mean.size).mean().reshape(mean.shape)
        return StudentParameters(mean, scale / np.where(degrees > 2, degrees - 2, degrees), nu)

    def mode(self, statistics: Floats) -> StudentParameters:
        """Return the most probable locations, inverse squared scales and log nu."""
        mean, _, scale, degrees, log_density = self._posterior(statistics)
        nu = modes(log_density, mean.size).reshape(mean.shape)
        return StudentParameters(mean, scale / np.maximum(degrees - 1.0, 1.0), nu)
