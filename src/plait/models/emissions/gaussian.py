"""Emissions of real numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import (
    Floats,
    check_finite,
    check_form,
    check_numbers,
    frozen_copy,
    place_of,
    rows_of,
    stored_shapes,
    with_row,
)
from plait.checks import check_choice, check_number, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.kernels import parameters as draws
from plait.kernels.completions import Normals
from plait.models.emissions.completion import Completion
from plait.models.emissions.contract import (
    check_form_of_posteriors,
    part_of,
    sequences_from_arrays,
    sequences_to_arrays,
)
from plait.models.emissions.covariances import (
    check_covariances,
    check_near,
    check_scale,
    draw_inverse_wishart_root,
    explain_singular,
    solved,
)
from plait.models.emissions.numbers import NumberEmissions
from plait.models.model import Arrays, Header, Key, Paths, checks_paths
from plait.models.priors import check_range, spread

COVARIANCES = ("spherical", "diag", "full", "tied")

_MEAN_WEIGHT = 0.01  # of the default prior
_MORE_DEGREES = 3.0  # of the default prior, than the fewest
_FEWEST_DEGREES = 0.1  # with fewer, the variance of a state without observations may overflow


@dataclass(frozen=True, eq=False)
class NormalParameters:
    """Means and covariances.

    Attributes
    ----------
    means : ndarray, (S, D)
        Means.
    covariances : ndarray
        Covariances: (S,) if spherical, (S, D) if diagonal, (S, D, D) if full, (D, D) if tied.
    covariance : str
        Form of the covariances.
    """

    means: Floats
    covariances: Floats
    covariance: str

    def permuted(self, order: NDArray[np.intp]) -> NormalParameters:
        """Return the parameters with the states in another order."""
        covariances = self.covariances if self.covariance == "tied" else self.covariances[order]
        return NormalParameters(self.means[order], covariances, self.covariance)

    def with_state(self, state: int, other: NormalParameters, theirs: int) -> NormalParameters:
        """Return the parameters with those of one state replaced by those of a state of others."""
        means, covariances = with_row(self.means, state, other.means[theirs]), self.covariances
        if self.covariance != "tied":
            covariances = with_row(covariances, state, other.covariances[theirs])
        return NormalParameters(means, covariances, self.covariance)

    @functools.cached_property
    def whitening(self) -> tuple[Floats, Floats]:
        """The matrices that whiten observations, and the log-density at the means.

        See `plait.kernels.emissions.log_normal`.
        """
        n_states, n_features = self.means.shape
        if self.covariance in ("spherical", "diag"):
            variances = self.covariances.reshape(n_states, -1)
            whitening = np.broadcast_to(1.0 / np.sqrt(variances), self.means.shape)[:, None, :]
            log_scale = np.log(whitening[:, 0]).sum(axis=1)
        else:
            factors = np.linalg.cholesky(self.covariances.reshape(-1, n_features, n_features))
            unit = np.eye(n_features)
            inverses = np.stack([solved(factor, unit) for factor in factors])
            whitening = np.broadcast_to(inverses, (n_states, n_features, n_features))
            log_scale = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
        return np.ascontiguousarray(whitening), log_scale - 0.5 * n_features * np.log(2 * np.pi)

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"means": self.means, "covariances": self.covariances}

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        n_states, n_features = self.means.shape
        shift = rng.standard_normal((len(states), n_features))
        if self.covariance in ("full", "tied"):
            factors = np.linalg.cholesky(self.covariances.reshape(-1, n_features, n_features))
            factors = np.broadcast_to(factors, (n_states, n_features, n_features))
            shift = np.einsum("nij,nj->ni", factors[states], shift)
        else:
            shift *= np.sqrt(self.covariances.reshape(n_states, -1))[states]
        return self.means[states] + shift

    def over(self, sequences: Sequences) -> GaussianEmissions:
        """Return emissions of other data that take these parameters."""
        return GaussianEmissions(
            sequences, len(self.means), covariance=self.covariance, mean_prior=0.0, covariance_prior=1.0
        )


class GaussianEmissions(NumberEmissions[NormalParameters]):
    """Real numbers: w_i ~ N(mean_s, covariance_s).

    The priors are conjugate: given the covariance, mean_s ~ N(mean_prior, covariance / mean_weight). The
    covariance is inverse Wishart with `covariance_weight` degrees of freedom and scale `covariance_prior`;
    if it is a number (spherical) or a diagonal, each entry is inverse gamma with half of both as parameters.
    Observations may be missing in part; with matrices, `plait.models.emissions.completion` says how.
    The prior must be proper: a mean weight below 1e-6 is raised to 1e-6, and degrees of freedom are raised to
    at least 0.1, for a matrix to at least D.

    Parameters
    ----------
    sequences : Sequences
        Numbers.
    n_states : int
        Number of states S.
    covariance : {"diag", "spherical", "full", "tied"}
        Form of the covariance of each state; "tied" is one full covariance for all.
    mean_prior : float or array (S, D), default: mean of the data
        Prior mean of the means.
    mean_weight : float or array (S,), default: 0.01
        How many observations the prior mean is worth.
    covariance_prior : float or array, default: 0.01 of the variance of the data, plus 0.01 of `floor`
        Scale of the prior of the covariance, in the form of the covariance; a number stands for a diagonal.
    covariance_weight : float or array (S,), default: 3, for a matrix D + 2
        Degrees of freedom of the prior of the covariance.
    floor : float
        Added to the variance of the data, which may be zero.
    fixed_means : array (S, D), optional
        Fixed means; NaN in all features for states with a free mean.
    fixed_covariances : array in the form of the covariances, optional
        Fixed covariances; all NaN for states with a free covariance.
    """

    kind: ClassVar[str] = "gaussian"
    exact_counts: ClassVar[bool] = False

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        covariance: str = "diag",
        mean_prior: ArrayLike | None = None,
        mean_weight: ArrayLike | None = None,
        covariance_prior: ArrayLike | None = None,
        covariance_weight: ArrayLike | None = None,
        floor: float = 1e-3,
        fixed_means: ArrayLike | None = None,
        fixed_covariances: ArrayLike | None = None,
    ) -> None:
        check_choice("covariance", covariance, COVARIANCES)
        mean, variance = self._take(sequences, n_states)
        n_features = sequences.n_features
        states = {"S": self.n_states}
        self.covariance = covariance
        self._is_matrix = covariance in ("full", "tied")
        self._n_sums = 1 + n_features + (n_features**2 if self._is_matrix else n_features)
        self._centre = frozen_copy(mean)
        self._floor = check_number("floor", floor)

        self._mean_prior = spread("mean_prior", mean if mean_prior is None else mean_prior, self._axes)
        check_finite(Argument("mean_prior"), self._mean_prior)
        check_near("mean_prior", self._mean_prior, mean)
        weight = spread("mean_weight", _MEAN_WEIGHT if mean_weight is None else mean_weight, states)
        check_range("mean_weight", weight, zeros=True)
        self._mean_weight = np.maximum(weight, 1e-6)

        least = n_features - 1.0 if self._is_matrix else 0.0
        degrees = (least + _MORE_DEGREES) if covariance_weight is None else covariance_weight
        self._weight = spread("covariance_weight", degrees, states)
        check_range("covariance_weight", self._weight, zeros=True)
        self._weight = np.maximum(self._weight, least + (1.0 if self._is_matrix else _FEWEST_DEGREES))
        if covariance == "tied" and np.ptp(self._weight):
            raise PlaitError(
                Argument("covariance_weight"),
                f" must be one number for a tied covariance, got {short_repr(self._weight.tolist())}",
            )
        default_scale = 0.01 * (variance + floor)
        if covariance == "spherical":
            default_scale = default_scale.mean()
        scale = default_scale if covariance_prior is None else covariance_prior
        self._prior = self._in_form("covariance_prior", scale)
        check_scale("covariance_prior", self._prior, covariance)
        self.has_default_prior = bool(
            np.all(self._mean_prior == mean)
            and np.all(self._mean_weight == _MEAN_WEIGHT)
            and np.array_equal(self._prior, self._in_form("covariance_prior", default_scale))
            and np.all(self._weight == least + _MORE_DEGREES)
        )

        nothing = np.full(self._form, np.nan)
        self._fixed_means = spread("fixed_means", np.nan if fixed_means is None else fixed_means, self._axes)
        self._fixed = (
            nothing if fixed_covariances is None else self._in_form("fixed_covariances", fixed_covariances)
        )
        self._mean_is_fixed = _all_or_none("fixed_means", self._fixed_means)
        self._is_fixed = _all_or_none("fixed_covariances", self._fixed.reshape(self._n_covariances, -1))
        check_covariances(Argument("fixed_covariances"), self._fixed, covariance, where=self._is_fixed)
        fixed_means = np.where(self._mean_is_fixed[:, None], self._fixed_means, mean)
        check_finite(Argument("fixed_means"), fixed_means)
        check_near("fixed_means", fixed_means, mean)

    @property
    def _n_covariances(self) -> int:
        """Number of covariances."""
        return 1 if self.covariance == "tied" else self.n_states

    @property
    def _form(self) -> tuple[int, ...]:
        """Shape of the covariances."""
        return _form_of(self.covariance, *self._shape_of_states)

    def _in_form(self, name: str, value: ArrayLike) -> Floats:
        array = check_numbers(name, value)
        if self._is_matrix and array.ndim < 2:  # a number, or a diagonal
            array = np.diag(np.broadcast_to(array, self.sequences.n_features))
        try:
            return np.broadcast_to(array, self._form)
        except ValueError:
            raise PlaitError(
                Argument(name),
                f" must be a number or an array of shape {self._form}, as the covariance is"
                f" {self.covariance}, got an array of shape {array.shape}",
            ) from None

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone."""
        return part_of(self, first, last)

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        priors = [self._mean_prior, self._mean_weight] + (
            [] if self.covariance == "tied" else [self._prior, self._weight]
        )
        same = all(np.all(prior == prior[0]) for prior in priors)
        return same and not self._mean_is_fixed.any() and not self._is_fixed.any()

    def _fill(self, parameters: NormalParameters, first: int, last: int, logs: Floats) -> None:
        self._check_form(parameters)
        with explain_singular():
            whitening, constants = parameters.whitening
        kernels.log_normal(first, last, self._values, parameters.means, whitening, constants, logs)
        if self.completes:
            self._completion.set_logs(first, last, self._normals(parameters), logs)

    @property
    def completes(self) -> bool:
        """Whether what observations lack must be drawn, because their features depend on each other."""
        return self._is_matrix and self._has_partly_missing

    @functools.cached_property
    def _completion(self) -> Completion:
        return Completion(self.sequences, self._centre)

    @property
    def _values(self) -> Floats:
        return self._completion.whole if self.completes else self.sequences.values

    def _normals(self, parameters: NormalParameters) -> Normals:
        n_features = self.sequences.n_features
        form = self.n_states, n_features, n_features
        return Normals(
            np.ascontiguousarray(parameters.means),
            np.ascontiguousarray(np.broadcast_to(parameters.covariances, form)),
        )

    @checks_paths
    def count_completed(
        self, first: int, last: int, paths: Paths, parameters: NormalParameters, key: Key
    ) -> Floats:
        """Draw what observations lack, for each path; return the statistics of those that lack something."""
        self._check_form(parameters)
        return self._completion.drawn(first, last, paths, self._normals(parameters), key)

    def expect_completed(
        self, first: int, last: int, posteriors: Floats, parameters: NormalParameters
    ) -> Floats:
        """Return the expected statistics of the observations that lack something."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        self._check_form(parameters)
        return self._completion.expected(first, last, posteriors, self._normals(parameters))

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the posterior's means and weights of the means, scales and degrees of the covariances.

        With n observations in a state (or values of a feature, if the covariance is no matrix), sums sx and
        sxx, prior mean m0 and weight k0,

            weight k = k0 + n,  mean m = (k0 m0 + sx) / k,
            scale = prior + sxx + k0 m0 m0' - k m m',  degrees = weight + n.

        For a mean fixed to f, the scale is prior + sxx - f sx' - sx f' + n f f'. All sums are relative to
        `_centre`.
        """
        self.check_statistics(statistics)
        n_features = self.sequences.n_features
        n = self._numbers(statistics)
        sums = statistics[:, 1 : 1 + n_features]
        prior_mean = self._mean_prior - self._centre
        fixed_mean = np.where(self._mean_is_fixed[:, None], self._fixed_means - self._centre, 0.0)
        weight = self._mean_weight[:, None] + n
        mean = (self._mean_weight[:, None] * prior_mean + sums) / weight

        if self._is_matrix:

            def product(x: Floats, y: Floats) -> Floats:
                return x[:, :, None] * y[:, None, :]

            lower = statistics[:, 1 + n_features :].reshape(-1, n_features, n_features)
            squares = np.tril(lower) + np.tril(lower, -1).transpose(0, 2, 1)
        else:

            def product(x: Floats, y: Floats) -> Floats:
                return x * y

            squares = statistics[:, 1 + n_features : self._n_sums]

        def each(x: NDArray[Any]) -> NDArray[Any]:
            """Return what is (S,), (S, 1) or (S, D) in a form that goes with the squares."""
            return x.reshape(self.n_states, -1, *[1] * (squares.ndim - 2))

        free = squares + each(self._mean_weight) * product(prior_mean, prior_mean)
        free -= each(weight) * product(mean, mean)
        known = squares - product(fixed_mean, sums) - product(sums, fixed_mean)
        known += each(n) * product(fixed_mean, fixed_mean)
        scatter = np.where(each(self._mean_is_fixed), known, free)
        degrees = self._weight[:, None] + n
        if self.covariance == "spherical":
            scatter = scatter.sum(axis=1)
            degrees = self._weight + (n.sum(axis=1) if n.shape[1] > 1 else n_features * n[:, 0])
        elif self.covariance == "tied":
            scatter, degrees = scatter.sum(axis=0), self._weight + n.sum()
        elif self.covariance == "full":
            degrees = degrees[:, 0]
        if not self._is_matrix:
            scatter = np.maximum(scatter, 0.0)  # rounding may make it negative
        return self._centre + mean, weight, self._prior + scatter, degrees

    def parameters_near(self, centres: Floats, spread: Floats) -> NormalParameters:
        """Return initial parameters: means at these centres, and variances around them."""
        variances = spread + self._floor
        if self.covariance == "spherical":
            variances = variances.mean()
        return self._parameters(centres, self._in_form("covariances", variances))

    def draw(self, statistics: Floats, key: Key, unit: int) -> NormalParameters:
        """Draw covariances from inverse Wishart (or inverse gamma) distributions, then means given these."""
        mean, weight, scale, degrees = self._posterior(statistics)
        n_states, n_features = mean.shape
        shift = np.empty((n_states, n_features))
        draws.fill_normals(unit, shift.reshape(-1), key)
        if self._is_matrix:
            covariances = np.empty((self._n_covariances, n_features, n_features))
            for k in range(self._n_covariances):
                own = scale.reshape(covariances.shape)[k]
                root = draw_inverse_wishart_root(own, degrees[k], key, unit + 1 + 2 * k)
                covariances[k] = root @ root.T
            covariances = covariances.reshape(self._form)
        else:
            shapes = np.broadcast_to(degrees / 2, scale.shape)
            gammas = np.empty(scale.size)
            draws.fill_gammas(unit + 1, shapes.ravel(), gammas, key)
            covariances = scale / (2 * gammas.reshape(scale.shape))
        covariances = self.with_fixed_covariances(covariances)
        if self._is_matrix:
            with explain_singular():
                factors = np.linalg.cholesky(covariances.reshape(-1, n_features, n_features))
            shift = (np.broadcast_to(factors, (n_states, n_features, n_features)) @ shift[:, :, None])[
                :, :, 0
            ]
        else:
            shift *= np.sqrt(covariances.reshape(n_states, -1))
        return self._parameters(mean + shift / np.sqrt(weight), covariances)

    def mean(self, statistics: Floats) -> NormalParameters:
        """Return the posterior means of means and covariances.

        The mean of an inverse Wishart distribution is scale / (degrees - D - 1), that of an inverse gamma
        distribution, in the same terms, scale / (degrees - 2). If it does not exist, because the degrees are
        too few, it is replaced by scale / degrees.
        """
        mean, _, scale, degrees = self._posterior(statistics)
        less = degrees - (self.sequences.n_features + 1.0 if self._is_matrix else 2.0)
        return self._parameters(mean, self._divided(scale, np.where(less > 0, less, degrees)))

    def mode(self, statistics: Floats) -> NormalParameters:
        """Return the most probable means and inverse covariances."""
        mean, _, scale, degrees = self._posterior(statistics)
        n_features = self.sequences.n_features
        one = np.where(self._mean_is_fixed, 0.0, 1.0)  # the prior of a free mean counts as one observation
        if self.covariance == "spherical":
            divisor = degrees - 2.0 + one * n_features
        elif self.covariance == "diag":
            divisor = degrees - 2.0 + one[:, None]
        elif self.covariance == "full":
            divisor = degrees - n_features - 1.0 + one
        else:
            divisor = degrees - n_features - 1.0 + one.sum()
        return self._parameters(mean, self._divided(scale, np.maximum(divisor, 1.0)))

    def _divided(self, scale: Floats, divisor: Floats) -> Floats:
        if self.covariance == "tied":
            return scale / divisor[0]
        if self.covariance == "full":
            return scale / divisor[:, None, None]
        return scale / divisor

    def with_fixed_means(self, means: Floats) -> Floats:
        """Return the means (S, D) with the fixed ones put in."""
        return np.where(self._mean_is_fixed[:, None], self._fixed_means, means)

    def with_fixed_covariances(self, covariances: Floats) -> Floats:
        """Return the covariances with the fixed ones put in."""
        return np.where(np.isnan(self._fixed), covariances, self._fixed)

    def _parameters(self, means: Floats, covariances: Floats) -> NormalParameters:
        return NormalParameters(
            self.with_fixed_means(means), self.with_fixed_covariances(covariances), self.covariance
        )

    def redrawn(self, parameters: NormalParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        return self._of(parameters.sample(states, rng))

    def _collapsed(self) -> tuple[int, Floats]:
        if self.covariance == "tied" or self._mean_is_fixed.any() or self._is_fixed.any():
            raise NotSupported(
                "the collapsed sampler does not support tied covariances or fixed parameters: choose the"
                " partially collapsed one"
            )
        kinds = {
            "diag": collapsed_mixtures.DIAGONAL,
            "spherical": collapsed_mixtures.SPHERICAL,
            "full": collapsed_mixtures.FULL,
        }
        scale = self._prior.reshape(self.n_states, -1)
        parts = self._mean_weight[:, None], self._weight[:, None], self._mean_prior - self._centre, scale
        return kinds[self.covariance], np.hstack(parts)

    def order(self, parameters: NormalParameters) -> NDArray[np.intp]:
        """Return the states by the mean of the first feature that separates them."""
        return self.order_of(parameters.means)

    def check_parameters(self, parameters: NormalParameters) -> None:
        """Raise an error for a wrong shape or covariances that are not positive definite."""
        self._check_form(parameters)
        check_finite(Argument("means"), parameters.means)
        check_finite(Argument("covariances"), parameters.covariances)
        check_covariances(Argument("covariances"), parameters.covariances, self.covariance)

    def _check_form(self, parameters: NormalParameters) -> None:
        check_choice("covariance", parameters.covariance, (self.covariance,))
        check_form(Argument("means"), parameters.means, self._shape_of_states)
        check_form(Argument("covariances"), parameters.covariances, self._form)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> NormalParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        return NormalParameters(
            **stored_shapes(arrays, {"means": self._shape_of_states, "covariances": self._form}),
            covariance=self.covariance,
        )

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        priors = {
            "mean_prior": self._mean_prior,
            "mean_weight": self._mean_weight,
            "covariance_prior": self._prior,
            "covariance_weight": self._weight,
            "fixed_means": self._fixed_means,
            "fixed_covariances": self._fixed,
        }
        return arrays | priors, header | {"covariance": self.covariance, "floor": self._floor}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        covariance = check_choice("covariance", header["covariance"], COVARIANCES)
        n_states, n_features = rows_of(arrays, "mean_prior"), sequences.n_features
        form = _form_of(covariance, n_states, n_features)
        priors: dict[str, Any] = stored_shapes(
            arrays,
            {
                "mean_prior": (n_states, n_features),
                "mean_weight": (n_states,),
                "covariance_prior": form,
                "covariance_weight": (n_states,),
                "fixed_means": (n_states, n_features),
                "fixed_covariances": form,
            },
        )
        return cls(sequences, n_states, covariance=covariance, floor=header["floor"], **priors)


def _form_of(covariance: str, n_states: int, n_features: int) -> tuple[int, ...]:
    """Return the shape of covariances."""
    return {
        "spherical": (n_states,),
        "diag": (n_states, n_features),
        "full": (n_states, n_features, n_features),
        "tied": (n_features, n_features),
    }[covariance]


def _all_or_none(name: str, array: Floats) -> NDArray[np.bool_]:
    """Return which rows are fixed; a row must be fixed as a whole or not at all."""
    missing = np.isnan(array).sum(axis=1)
    partly = (missing > 0) & (missing < array.shape[1])
    if partly.any():
        raise PlaitError(
            Argument(name),
            f" must be all numbers or all NaN for each state, got both for state {place_of(partly)[1][0]}",
        )
    return missing == 0
