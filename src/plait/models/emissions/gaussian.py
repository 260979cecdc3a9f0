"""Emissions of real numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas

from plait.arrays import (
    Floats,
    check_finite,
    check_form,
    check_numbers,
    frozen_copy,
    place_of,
    rows_of,
    stored_shapes,
)
from plait.checks import check_choice, check_number, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, Part, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.kernels import parameters as draws
from plait.models.emissions.contract import sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.numbers import NumberEmissions
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import check_range, spread

COVARIANCES = ("spherical", "diag", "full", "tied")

FARTHEST = 1e145
"""Largest distance from the mean of the data: squares of larger ones, times their weights, overflow."""

LEAST_SCALE = 1e-305
"""Smallest scale of the prior of a variance: divided by 2^53 observations, smaller ones would vanish."""

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


class GaussianEmissions(NumberEmissions[NormalParameters]):
    """Real numbers: w_i ~ N(mean_s, covariance_s).

    The priors are conjugate: given the covariance, mean_s ~ N(mean_prior, covariance / mean_weight). The
    covariance is inverse Wishart with `covariance_weight` degrees of freedom and scale `covariance_prior`;
    if it is a number (spherical) or a diagonal, each entry is inverse gamma with half of both as parameters.
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
        weight = spread("mean_weight", 0.01 if mean_weight is None else mean_weight, states)
        check_range("mean_weight", weight, zeros=True)
        self._mean_weight = np.maximum(weight, 1e-6)

        least = n_features - 1.0 if self._is_matrix else 0.0
        degrees = (least + 3.0) if covariance_weight is None else covariance_weight
        self._weight = spread("covariance_weight", degrees, states)
        check_range("covariance_weight", self._weight, zeros=True)
        self._weight = np.maximum(self._weight, least + (1.0 if self._is_matrix else _FEWEST_DEGREES))
        if covariance == "tied" and np.ptp(self._weight):
            raise PlaitError(
                Argument("covariance_weight"),
                f" must be one number for a tied covariance, got {short_repr(self._weight.tolist())}",
            )
        if covariance_prior is None:
            covariance_prior = 0.01 * (variance + floor)
            if covariance == "spherical":
                covariance_prior = covariance_prior.mean()
        self._prior = self._in_form("covariance_prior", covariance_prior)
        check_scale("covariance_prior", self._prior, covariance)

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
        with _explain_singular():
            whitening, constants = parameters.whitening
        kernels.log_normal(first, last, self.sequences.values, parameters.means, whitening, constants, logs)

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the posterior's means and weights of the means, scales and degrees of the covariances.

        With n observations in a state, sums sx and sxx, prior mean m0 and weight k0,

            weight k = k0 + n,  mean m = (k0 m0 + sx) / k,
            scale = prior + sxx + k0 m0 m0' - k m m',  degrees = weight + n.

        For a mean fixed to f, the scale is prior + sxx - f sx' - sx f' + n f f'. All sums are relative to
        `_centre`.
        """
        self.check_statistics(statistics)
        n_features = self.sequences.n_features
        n = statistics[:, 0]
        sums = statistics[:, 1 : 1 + n_features]
        prior_mean = self._mean_prior - self._centre
        fixed_mean = np.where(self._mean_is_fixed[:, None], self._fixed_means - self._centre, 0.0)
        weight = self._mean_weight + n
        mean = (self._mean_weight[:, None] * prior_mean + sums) / weight[:, None]

        if self._is_matrix:

            def product(x: Floats, y: Floats) -> Floats:
                return x[:, :, None] * y[:, None, :]

            lower = statistics[:, 1 + n_features :].reshape(-1, n_features, n_features)
            squares = np.tril(lower) + np.tril(lower, -1).transpose(0, 2, 1)
        else:

            def product(x: Floats, y: Floats) -> Floats:
                return x * y

            squares = statistics[:, 1 + n_features :]

        def each(x: NDArray[Any]) -> NDArray[Any]:
            return x.reshape(-1, *[1] * (squares.ndim - 1))

        free = squares + each(self._mean_weight) * product(prior_mean, prior_mean)
        free -= each(weight) * product(mean, mean)
        known = squares - product(fixed_mean, sums) - product(sums, fixed_mean)
        known += each(n) * product(fixed_mean, fixed_mean)
        scatter = np.where(each(self._mean_is_fixed), known, free)
        if self.covariance == "spherical":
            scatter, n = scatter.sum(axis=1), n * n_features
        elif self.covariance == "tied":
            scatter, n = scatter.sum(axis=0), np.full(self.n_states, n.sum())
        if not self._is_matrix:
            scatter = np.maximum(scatter, 0.0)  # rounding may make it negative
        return self._centre + mean, weight, self._prior + scatter, self._weight + n

    def first_parameters(self, key: Key, unit: int) -> NormalParameters:
        """Draw initial parameters: means at observations that are far apart, and variances around them."""
        means, variances = self._scattered_observations(key, unit)
        variances = variances + self._floor
        if self.covariance == "spherical":
            variances = variances.mean()
        return self._parameters(means, self._in_form("covariances", variances))

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
            shapes = np.broadcast_to(degrees.reshape(-1, *[1] * (scale.ndim - 1)) / 2, scale.shape)
            gammas = np.empty(scale.size)
            draws.fill_gammas(unit + 1, shapes.ravel(), gammas, key)
            covariances = scale / (2 * gammas.reshape(scale.shape))
        covariances = self.with_fixed_covariances(covariances)
        if self._is_matrix:
            with _explain_singular():
                factors = np.linalg.cholesky(covariances.reshape(-1, n_features, n_features))
            shift = (np.broadcast_to(factors, (n_states, n_features, n_features)) @ shift[:, :, None])[
                :, :, 0
            ]
        else:
            shift *= np.sqrt(covariances.reshape(n_states, -1))
        return self._parameters(mean + shift / np.sqrt(weight)[:, None], covariances)

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
            divisor = degrees - 2.0 + one
        elif self.covariance == "full":
            divisor = degrees - n_features - 1.0 + one
        else:
            divisor = degrees - n_features - 1.0 + one.sum()
        return self._parameters(mean, self._divided(scale, np.maximum(divisor, 1.0)))

    def _divided(self, scale: Floats, divisor: Floats) -> Floats:
        if self.covariance == "tied":
            return scale / divisor[0]
        return scale / divisor.reshape(-1, *[1] * (scale.ndim - 1))

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
        n_features = parameters.means.shape[1]
        shift = rng.standard_normal((len(states), n_features))
        if self._is_matrix:
            factors = np.linalg.cholesky(parameters.covariances.reshape(-1, n_features, n_features))
            factors = np.broadcast_to(factors, (self.n_states, n_features, n_features))
            shift = np.einsum("nij,nj->ni", factors[states], shift)
        else:
            shift *= np.sqrt(parameters.covariances.reshape(self.n_states, -1))[states]
        return self._of(parameters.means[states] + shift)

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
        return self._order(parameters.means)

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


@contextmanager
def _explain_singular() -> Iterator[None]:
    """Turn a failed Cholesky factorisation into an error that says what to do."""
    try:
        yield
    except np.linalg.LinAlgError:
        raise PlaitError(
            "a covariance is singular: give the covariances a larger prior, or remove features that depend on"
            " each other linearly"
        ) from None


def check_near(name: str, means: Floats, centre: Floats) -> None:
    """Raise an error for means in priors that are so far from the mean of the data that squares overflow."""
    with np.errstate(over="ignore"):
        near = np.abs(means - centre) <= FARTHEST
    if not near.all():
        place, index = place_of(~near)
        raise PlaitError(
            Argument(name),
            f"{place} must be a finite number, at most {FARTHEST:g} from the mean of the data, got"
            f" {means[index]:g}",
        )


def draw_inverse_wishart_root(scale: Floats, degrees: float, key: Key, unit: int) -> Floats:
    """Draw M such that M M' is inverse Wishart, by the Bartlett decomposition of its inverse.

    With scale = L L', the inverse is Wishart with scale L^-T L^-1, that is L^-T B B' L^-1 with B lower
    triangular: the squares of the diagonal of B are chi-square with degrees, degrees - 1, ... degrees of
    freedom, its other entries are standard normal. So M = L B^-T. It uses the streams of `unit` and the next.
    """
    n = len(scale)
    with _explain_singular():
        factor = np.linalg.cholesky(scale)
    normals, gammas = np.empty(n * n), np.empty(n)
    draws.fill_normals(unit, normals, key)
    draws.fill_gammas(unit + 1, (degrees - np.arange(n)) / 2, gammas, key)
    bartlett = np.tril(normals.reshape(n, n), -1) + np.diag(np.sqrt(2 * gammas))
    return solved(bartlett, factor.T).T


def solved(lower: NDArray[Any], right: NDArray[Any], *, transposed: bool = False) -> Floats:
    """Return lower^-1 right, or lower'^-1 right, for a lower triangular matrix.

    `scipy.linalg.solve_triangular` calls a LAPACK routine that starts threads even for tiny matrices, and
    these wait for milliseconds when the cores are busy.
    """
    solution: Floats = blas.dtrsm(1.0, lower, right, lower=1, trans_a=int(transposed))
    return solution


def check_covariances(
    name: Part, array: Floats, covariance: str, where: NDArray[np.bool_] | None = None
) -> None:
    """Raise an error for covariances, of any form, that are not positive definite, among those in `where`.

    The name is as in `plait.arrays.check_form`.
    """
    if covariance in ("full", "tied"):
        for k, matrix in enumerate(array.reshape(-1, *array.shape[-2:])):
            if where is not None and not where[k]:
                continue
            place = "" if covariance == "tied" else f"[{k}]"
            if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
                raise PlaitError(
                    name, f"{place} must be a symmetric matrix, got {short_repr(matrix.tolist())}"
                )
            least = np.linalg.eigvalsh(matrix).min()
            if not least > 0:
                raise PlaitError(
                    name,
                    f"{place} must be positive definite, got a matrix with the eigenvalue {least:.3g}:"
                    " increase its diagonal",
                )
        return
    flat = array.reshape(len(array), -1)
    wrong = ~(flat > 0) | np.isinf(flat)
    if where is not None:
        wrong &= where[:, None]
    if wrong.any():
        place, index = place_of(wrong)
        if array.ndim == 1:
            place = f"[{index[0]}]"
        raise PlaitError(name, f"{place} must be a finite number greater than 0, got {flat[index]:g}")


def check_scale(name: str, scale: Floats, covariance: str) -> None:
    """Raise an error for a scale of the prior of covariances that is not positive definite, or too small."""
    check_covariances(Argument(name), scale, covariance)
    is_matrix = covariance in ("full", "tied")
    least = (np.diagonal(scale, axis1=-2, axis2=-1) if is_matrix else scale).min()
    if least < LEAST_SCALE:
        raise PlaitError(Argument(name), f" must have variances of at least {LEAST_SCALE:g}, got {least:g}")


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
