"""Emissions of real numbers."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import blas

from plait.checks import frozen_copy, short_repr
from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.kernels import parameters as draws
from plait.models.emissions.contract import sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.numbers import NumberEmissions, check_shape
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import Floats, check_numbers, check_range, place_of, spread

COVARIANCES = ("spherical", "diag", "full", "tied")

_FEWEST_DEGREES = 0.1  # with fewer, the variance that is drawn for a state without observations is infinite


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
        Which of these.
    """

    means: Floats
    covariances: Floats
    covariance: str

    def permuted(self, order: NDArray[np.intp]) -> NormalParameters:
        """Return the law with its states in another order."""
        covariances = self.covariances if self.covariance == "tied" else self.covariances[order]
        return NormalParameters(self.means[order], covariances, self.covariance)

    @functools.cached_property
    def whitening(self) -> tuple[Floats, Floats]:
        """What turns observations into standard normal numbers, and the log-density at the means.

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
    where it is a number (spherical) or a diagonal, each entry is inverse gamma, of half these two. The prior
    must be proper: weights of means below 1e-6 are taken as 1e-6, and degrees of freedom below 0.1, for a
    matrix below D, as that.

    Parameters
    ----------
    sequences : Sequences
        Numbers.
    n_states : int
        Number of states S.
    covariance : {"diag", "spherical", "full", "tied"}
        Form of the covariance of each state; tied is one full covariance for all.
    mean_prior : float or array (S, D), default: mean of the data
        Prior mean of the means.
    mean_weight : float or array (S,), default: 0.01
        How many observations that is worth.
    covariance_prior : float or array, default: 0.01 of the variance of the data, plus 0.01 of `floor`
        Scale of the prior of the covariance, in the form of the covariance; a number is the diagonal.
    covariance_weight : float or array (S,), default: 3, for a matrix D + 2
        Degrees of freedom of the prior of the covariance.
    floor : float
        Added to the variance of the data, lest it be zero.
    fixed_means : array (S, D), optional
        Means that are known; NaN in all features for states whose mean is not.
    fixed_covariances : array in the form of the covariances, optional
        Covariances that are known; all NaN for states whose covariance is not.
    """

    kind: ClassVar[str] = "gaussian"

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
        if covariance not in COVARIANCES:
            raise PlaitError(
                f"the covariance is {short_repr(covariance)}: choose one of {', '.join(COVARIANCES)}"
            )
        mean, variance = self._take(sequences, n_states)
        n_features = sequences.n_features
        states = {"S": self.n_states}
        self.covariance = covariance
        self._is_matrix = covariance in ("full", "tied")
        self._n_sums = 1 + n_features + (n_features**2 if self._is_matrix else n_features)
        self._centre = frozen_copy(mean)
        self._floor = floor

        self._mean_prior = spread(
            "the prior of the means", mean if mean_prior is None else mean_prior, self._axes
        )
        if not np.isfinite(self._mean_prior).all():
            place, index = place_of(~np.isfinite(self._mean_prior))
            raise PlaitError(
                f"the prior of the means{place} is {self._mean_prior[index]:g}: give a finite number"
            )
        weight = spread(
            "the weight of the means' prior", 0.01 if mean_weight is None else mean_weight, states
        )
        check_range("the weight of the means' prior", weight, zeros=True)
        self._mean_weight = np.maximum(weight, 1e-6)

        least = n_features - 1.0 if self._is_matrix else 0.0
        degrees = (least + 3.0) if covariance_weight is None else covariance_weight
        self._weight = spread("the weight of the covariances' prior", degrees, states)
        check_range("the weight of the covariances' prior", self._weight, zeros=True)
        self._weight = np.maximum(self._weight, least + (1.0 if self._is_matrix else _FEWEST_DEGREES))
        if covariance == "tied" and np.ptp(self._weight):
            raise PlaitError(
                f"the weight of the covariances' prior is {short_repr(self._weight.tolist())}, but a tied"
                " covariance has one prior: give one number"
            )
        if covariance_prior is None:
            covariance_prior = 0.01 * (variance + floor)
            if covariance == "spherical":
                covariance_prior = covariance_prior.mean()
        self._prior = self._in_form("the prior of the covariances", covariance_prior)
        check_covariances("the prior of the covariances", self._prior, covariance)

        nothing = np.full(self._form, np.nan)
        self._fixed_means = spread(
            "the fixed means", np.nan if fixed_means is None else fixed_means, self._axes
        )
        self._fixed = (
            nothing
            if fixed_covariances is None
            else self._in_form("the fixed covariances", fixed_covariances)
        )
        self._mean_is_fixed = _all_or_none("the fixed means", self._fixed_means)
        self._is_fixed = _all_or_none("the fixed covariances", self._fixed.reshape(self._n_laws, -1))
        check_covariances("the array of fixed covariances", self._fixed, covariance, where=self._is_fixed)
        if np.isinf(self._fixed_means).any():
            place, index = place_of(np.isinf(self._fixed_means))
            raise PlaitError(
                f"the array of fixed means{place} is {self._fixed_means[index]:g}: give finite numbers"
            )

    @property
    def _n_laws(self) -> int:
        """How many covariances there are."""
        return 1 if self.covariance == "tied" else self.n_states

    @property
    def _form(self) -> tuple[int, ...]:
        """Shape of the covariances."""
        n_states, n_features = self._axes.values()
        return {
            "spherical": (n_states,),
            "diag": (n_states, n_features),
            "full": (n_states, n_features, n_features),
            "tied": (n_features, n_features),
        }[self.covariance]

    def _in_form(self, name: str, value: ArrayLike) -> Floats:
        array = check_numbers(name, value)
        if self._is_matrix and array.ndim < 2:  # a number, or a diagonal
            array = np.diag(np.broadcast_to(array, self.sequences.n_features))
        try:
            return np.broadcast_to(array, self._form)
        except ValueError:
            raise PlaitError(
                f"{name} has shape {array.shape}: for a covariance that is {self.covariance} give a number,"
                f" or an array of shape {self._form}"
            ) from None

    @property
    def is_exchangeable(self) -> bool:
        """Whether nothing tells one state from another but the data."""
        priors = [self._mean_prior, self._mean_weight] + (
            [] if self.covariance == "tied" else [self._prior, self._weight]
        )
        same = all(np.all(prior == prior[0]) for prior in priors)
        return same and not self._mean_is_fixed.any() and not self._is_fixed.any()

    def _fill(self, parameters: NormalParameters, first: int, last: int, logs: Floats) -> None:
        whitening, constants = parameters.whitening
        kernels.log_normal(first, last, self.sequences.values, parameters.means, whitening, constants, logs)

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return means and weights of the laws of the means, scales and degrees of those of the covariances.

        With n observations in a state, sums sx and sxx, prior mean m0 and weight k0,

            weight k = k0 + n,  mean m = (k0 m0 + sx) / k,
            scale = prior + sxx + k0 m0 m0' - k m m',  degrees = weight + n.

        A mean that is fixed to f makes the scale prior + sxx - f sx' - sx f' + n f f'. All are relative to
        `_centre`.
        """
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
            scatter = np.maximum(scatter, 0.0)  # rounding
        return self._centre + mean, weight, self._prior + scatter, self._weight + n

    def first_parameters(self, key: Key, unit: int) -> NormalParameters:
        """Draw a law to begin with: means at observations far apart, variances of what is around them."""
        means, variances = self._scattered_observations(key, unit)
        variances = variances + self._floor
        if self.covariance == "spherical":
            variances = variances.mean()
        return self._parameters(means, self._in_form("the variances to begin with", variances))

    def draw(self, statistics: Floats, key: Key, unit: int) -> NormalParameters:
        """Draw covariances from their inverse Wishart (or gamma) laws, then means given these."""
        mean, weight, scale, degrees = self._posterior(statistics)
        n_states, n_features = mean.shape
        shift = np.empty((n_states, n_features))
        draws.fill_normals(unit, shift.reshape(-1), key)
        if self._is_matrix:
            covariances = np.empty((self._n_laws, n_features, n_features))
            for k in range(self._n_laws):
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
            factors = np.linalg.cholesky(covariances.reshape(-1, n_features, n_features))
            shift = (np.broadcast_to(factors, (n_states, n_features, n_features)) @ shift[:, :, None])[
                :, :, 0
            ]
        else:
            shift *= np.sqrt(covariances.reshape(n_states, -1))
        return self._parameters(mean + shift / np.sqrt(weight)[:, None], covariances)

    def mean(self, statistics: Floats) -> NormalParameters:
        """Return the means of the laws of means and covariances.

        The mean of an inverse Wishart law is scale / (degrees - D - 1), and of the inverse gamma parameters, in the
        same terms, scale / (degrees - 2). With so few degrees that there is none, it is scale / degrees.
        """
        mean, _, scale, degrees = self._posterior(statistics)
        less = degrees - (self.sequences.n_features + 1.0 if self._is_matrix else 2.0)
        return self._parameters(mean, self._divided(scale, np.where(less > 0, less, degrees)))

    def mode(self, statistics: Floats) -> NormalParameters:
        """Return the most probable means and inverse covariances."""
        mean, _, scale, degrees = self._posterior(statistics)
        n_features = self.sequences.n_features
        one = np.where(self._mean_is_fixed, 0.0, 1.0)  # each mean's own law counts as one observation
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
        """Return the means (S, D) with the fixed ones as they must be."""
        return np.where(self._mean_is_fixed[:, None], self._fixed_means, means)

    def with_fixed_covariances(self, covariances: Floats) -> Floats:
        """Return the covariances with the fixed ones as they must be."""
        return np.where(np.isnan(self._fixed), covariances, self._fixed)

    def _parameters(self, means: Floats, covariances: Floats) -> NormalParameters:
        return NormalParameters(
            self.with_fixed_means(means), self.with_fixed_covariances(covariances), self.covariance
        )

    def redrawn(self, parameters: NormalParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return the same emissions of data drawn from a parameters, given the states."""
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
                "the collapsed sampler is for covariances of each state's own, with nothing fixed: choose the"
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
        """Return the states by the mean of the first feature that tells them apart."""
        return self._order(parameters.means)

    def check_parameters(self, parameters: NormalParameters) -> None:
        """Refuse means and covariances of another shape, and covariances that are none."""
        check_shape("the array of means", parameters.means, tuple(self._axes.values()))
        check_shape("the array of covariances", parameters.covariances, self._form)
        check_covariances("the array of covariances", parameters.covariances, self.covariance)

    def parameters_from_arrays(self, **arrays: Floats) -> NormalParameters:
        """Make a law from its arrays, by name."""
        return NormalParameters(**arrays, covariance=self.covariance)

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
        """Make them again from what `to_arrays` returned."""
        priors: dict[str, Any] = {
            name: array for name, array in arrays.items() if not name.startswith("sequences.")
        }
        sequences = sequences_from_arrays(arrays, header)
        return cls(
            sequences,
            len(priors["mean_prior"]),
            covariance=header["covariance"],
            floor=header["floor"],
            **priors,
        )


def draw_inverse_wishart_root(scale: Floats, degrees: float, key: Key, unit: int) -> Floats:
    """Draw M such that M M' has the inverse Wishart parameters, by Bartlett's decomposition of its inverse.

    The inverse is Wishart with the scale's inverse L^-T L^-1, that is L^-T B B' L^-1 with B lower triangular:
    the squares of its diagonal are chi-square with degrees, degrees - 1, ... degrees of freedom, the rest is
    standard normal. So M = L B^-T. The streams are those of `unit` and the next.
    """
    n = len(scale)
    try:
        factor = np.linalg.cholesky(scale)
    except np.linalg.LinAlgError:
        raise PlaitError(
            "a covariance is singular: give the covariances a larger prior, or leave out features that depend"
            " on each other"
        ) from None
    normals, gammas = np.empty(n * n), np.empty(n)
    draws.fill_normals(unit, normals, key)
    draws.fill_gammas(unit + 1, (degrees - np.arange(n)) / 2, gammas, key)
    bartlett = np.tril(normals.reshape(n, n), -1) + np.diag(np.sqrt(2 * gammas))
    return solved(bartlett, factor.T).T


def solved(lower: NDArray[Any], right: NDArray[Any], *, transposed: bool = False) -> Floats:
    """Return lower^-1 right, or lower'^-1 right, for a lower triangular matrix.

    Not by `scipy.linalg.solve_triangular`, whose LAPACK starts threads however small the matrix: where other
    work keeps the cores busy, these wait for milliseconds.
    """
    solution: Floats = blas.dtrsm(1.0, lower, right, lower=1, trans_a=int(transposed))
    return solution


def check_covariances(
    name: str, array: Floats, covariance: str, where: NDArray[np.bool_] | None = None
) -> None:
    """Refuse covariances, of one of the forms, that are not positive; only those `where` it is True."""
    if covariance in ("full", "tied"):
        for k, matrix in enumerate(array.reshape(-1, *array.shape[-2:])):
            if where is not None and not where[k]:
                continue
            place = name if covariance == "tied" else f"{name}[{k}]"
            if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
                raise PlaitError(
                    f"{place} is {short_repr(matrix.tolist())}: a covariance is a symmetric matrix"
                )
            least = np.linalg.eigvalsh(matrix).min()
            if not least > 0:
                raise PlaitError(
                    f"{place} has an eigenvalue of {least:.3g}, but a covariance is positive definite: add"
                    " something to its diagonal"
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
        raise PlaitError(f"{name}{place} is {flat[index]:g}: a variance is a number greater than 0")


def _all_or_none(name: str, array: Floats) -> NDArray[np.bool_]:
    """Return which rows are given; a row is given whole or not at all."""
    missing = np.isnan(array).sum(axis=1)
    partly = (missing > 0) & (missing < array.shape[1])
    if partly.any():
        raise PlaitError(
            f"{name} of state {place_of(partly)[1][0]} are given in part: give all, or make all NaN"
        )
    return missing == 0
