"""Emissions of numbers whose mean is linear in something known: other columns, or the numbers before them.

y_i ~ N(b_s0 + b_s1 x_i1 + ... + b_sP x_iP, variance_s)

The statistics of a state are the number of observations and the sums of z and z z', for z = (x, y): linear,
so those of m paths add up. The posterior is normal-inverse-gamma. An observation that lacks y or any x is
left out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_finite, check_form, frozen_copy, rows_of, stored_shapes, with_row
from plait.checks import check_integer
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import emissions as kernels
from plait.kernels import parameters as draws
from plait.models.emissions.columns import check_positive, gamma_variates, same_arrays
from plait.models.emissions.contract import sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.covariances import check_near, explain_singular
from plait.models.emissions.numbers import NumberEmissions
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import check_range, spread

_PRIORS = ("coefficient_prior", "coefficient_weight", "variance_prior", "variance_weight")


@dataclass(frozen=True, eq=False)
class LinearParameters:
    """Coefficients and variances.

    Attributes
    ----------
    coefficients : ndarray, (S, P + 1)
        The intercept of each state, and the coefficients of x.
    variances : ndarray, (S,)
        Variance of y around its mean.
    """

    coefficients: Floats
    variances: Floats

    def permuted(self, order: NDArray[np.intp]) -> Self:
        """Return the parameters with the states in another order."""
        return type(self)(self.coefficients[order], self.variances[order])

    def with_state(self, state: int, other: Self, theirs: int) -> Self:
        """Return the parameters with those of one state replaced by those of a state of others."""
        return type(self)(
            with_row(self.coefficients, state, other.coefficients[theirs]),
            with_row(self.variances, state, other.variances[theirs]),
        )

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"coefficients": self.coefficients, "variances": self.variances}

    def drawn(self, design: Floats, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw y for each of the states, given x, (n,)."""
        own = self.coefficients[states]
        means = own[:, 0] + (own[:, 1:] * design).sum(axis=1)
        values: Floats = means + rng.standard_normal(len(states)) * np.sqrt(self.variances[states])
        return values


class RegressionParameters(LinearParameters):
    """Parameters of a regression on other columns."""

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Raise an error: the covariates have no distribution."""
        raise NotSupported("a regression cannot be sampled, because its covariates have no distribution")

    def over(self, sequences: Sequences) -> RegressionEmissions:
        """Return emissions of other data that take these parameters."""
        return RegressionEmissions(sequences, len(self.variances), variance_prior=1.0)


class AutoregressiveParameters(LinearParameters):
    """Parameters of a regression on the numbers before."""

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, one after another, (n, 1).

        Those before the first are 0.
        """
        order = self.coefficients.shape[1] - 1
        values = np.zeros(order + len(states))
        for i in range(len(states)):
            lags = values[i : i + order][::-1]
            values[order + i] = self.drawn(lags[None], states[i : i + 1], rng)[0]
        return values[order:, None]

    def over(self, sequences: Sequences) -> AutoregressiveEmissions:
        """Return emissions of other data that take these parameters."""
        n_states, n = self.coefficients.shape
        return AutoregressiveEmissions(sequences, n_states, order=n - 1, variance_prior=1.0)


class LinearEmissions(NumberEmissions[LinearParameters]):
    """Base class of emissions with a linear mean; subclasses say what y and x are."""

    parameters: ClassVar[type[LinearParameters]]

    def _set(self, y: Floats, x: Floats, centre: ArrayLike | None, *given: ArrayLike | None) -> None:
        """Keep y (N,), x (N, P), what is subtracted from (x, y), and the priors in the order of `_PRIORS`."""
        both = np.column_stack([x, y])
        both[np.isnan(both).any(axis=1)] = np.nan
        seen = both[~np.isnan(both[:, 0])]
        with np.errstate(over="ignore", invalid="ignore"):
            means = seen.mean(axis=0) if len(seen) else np.zeros(both.shape[1])
            variances = seen.var(axis=0) if len(seen) else np.ones(both.shape[1])
        if not np.isfinite(variances).all():
            raise PlaitError("the numbers are too large to square: divide them by a constant")
        variances = np.where(variances > 0, variances, 1.0)
        self._means = spread("centre", means if centre is None else centre, {"P + 1": both.shape[1]})
        check_finite(Argument("centre"), self._means)
        check_near("centre", self._means, means)
        self._data: Floats = frozen_copy(both - self._means)
        self._fitted = self._data[~np.isnan(self._data[:, 0])]
        self._centre = frozen_copy(np.zeros(len(means)))
        self._n_x = x.shape[1]
        self._n_sums = 1 + both.shape[1] + both.shape[1] ** 2
        defaults: list[ArrayLike] = [0.0, 0.01 * np.append(1.0, variances[:-1]), 0.01 * variances[-1], 3.0]
        shapes = {"S": self.n_states, "P + 1": self._n_x + 1}, {"S": self.n_states}
        self._priors = {
            name: frozen_copy(spread(name, default if value is None else value, shapes["variance" in name]))
            for name, value, default in zip(_PRIORS, given, defaults, strict=True)
        }
        check_finite(Argument("coefficient_prior"), self._priors["coefficient_prior"])
        check_positive("coefficient_weight", self._priors["coefficient_weight"])
        check_positive("variance_prior", self._priors["variance_prior"])
        check_range("variance_weight", self._priors["variance_weight"])

    @property
    def _values(self) -> Floats:
        """The rows (x, y) that sums run over."""
        return self._data

    @property
    def _is_observed(self) -> None:
        return None

    @functools.cached_property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""
        options = {"order": self.order_of_lags} if isinstance(self, AutoregressiveEmissions) else {}
        make: Any = type(self)
        return same_arrays(self._priors, make(self.sequences, self.n_states, **options)._priors)

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        return all(bool(np.all(prior == prior[0])) for prior in self._priors.values())

    def _shifted(self, coefficients: Floats, sign: float) -> Floats:
        """Return coefficients for numbers relative to the centre (sign 1), or those for numbers (-1)."""
        moved = coefficients.copy()
        moved[:, 0] += sign * (coefficients[:, 1:] @ self._means[:-1] - self._means[-1])
        return moved

    def _fill(self, parameters: LinearParameters, first: int, last: int, logs: Floats) -> None:
        self._check_form(parameters)
        own, data = self._shifted(parameters.coefficients, 1.0), self._data[first:last]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for s in range(self.n_states):
                rest = data[:, -1] - own[s, 0]
                for k in range(self._n_x):  # not a matrix product, whose bits depend on the number of rows
                    rest = rest - own[s, 1 + k] * data[:, k]
                variance = parameters.variances[s]
                logs[:, s] = -0.5 * (rest**2 / variance + np.log(2 * np.pi * variance))
        logs[np.isnan(data[:, 0])] = 0.0

    def _posterior(self, statistics: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return mean and precision of the coefficients, and scale and degrees of freedom of the variances.

        With X the rows (1, x), K0 the diagonal matrix of the prior weights and b0 the prior mean,

            K = K0 + X'X,  b = K^-1 (K0 b0 + X'y),
            scale = prior + y'y + b0' K0 b0 - b' K b,  degrees = weight + n,

        and the coefficients are N(b, variance K^-1), all relative to the centre.
        """
        self.check_statistics(statistics)
        n, size = statistics[:, 0], self._n_x + 1
        sums = statistics[:, 1 : 1 + size]
        lower = np.tril(statistics[:, 1 + size :].reshape(-1, size, size))
        products = lower + np.tril(lower, -1).transpose(0, 2, 1)
        crossed = np.empty((self.n_states, size, size))
        crossed[:, 0, 0] = n
        crossed[:, 0, 1:] = crossed[:, 1:, 0] = sums[:, :-1]
        crossed[:, 1:, 1:] = products[:, :-1, :-1]
        with_y = np.column_stack([sums[:, -1], products[:, :-1, -1]])
        before, weight = self._priors["coefficient_prior"], self._priors["coefficient_weight"]
        precision = crossed + weight[:, :, None] * np.eye(size)
        right = with_y + weight * before
        with explain_singular():
            mean: Floats = np.linalg.solve(precision, right[:, :, None])[:, :, 0]
        scatter: Floats = products[:, -1, -1] + (weight * before**2).sum(axis=1) - (mean * right).sum(axis=1)
        scale = self._priors["variance_prior"] + np.maximum(scatter, 0.0)
        return mean, precision, scale, self._priors["variance_weight"] + n

    def _made(self, coefficients: Floats, variances: Floats) -> LinearParameters:
        return self.parameters(self._shifted(coefficients, -1.0), variances)

    def draw(self, statistics: Floats, key: Key, unit: int) -> LinearParameters:
        """Draw the variances from inverse gamma distributions, then the coefficients given these."""
        mean, precision, scale, degrees = self._posterior(statistics)
        variances = scale / (2.0 * gamma_variates(degrees / 2.0, key, unit))
        normals = np.empty(mean.size)
        draws.fill_normals(unit + 1, normals, key)
        with explain_singular():
            roots = np.linalg.cholesky(precision)
        shift = np.linalg.solve(roots.transpose(0, 2, 1), normals.reshape(*mean.shape, 1))[:, :, 0]
        return self._made(mean + shift * np.sqrt(variances)[:, None], variances)

    def mean(self, statistics: Floats) -> LinearParameters:
        """Return the posterior means."""
        mean, _, scale, degrees = self._posterior(statistics)
        return self._made(mean, scale / np.where(degrees > 2, degrees - 2, degrees))

    def mode(self, statistics: Floats) -> LinearParameters:
        """Return the most probable coefficients and inverse variances."""
        mean, _, scale, degrees = self._posterior(statistics)
        return self._made(mean, scale / np.maximum(degrees + mean.shape[1] - 2.0, 1.0))

    def parameters_near(self, centres: Floats, spread: Floats) -> LinearParameters:
        """Return initial parameters: one regression for all, moved so that it meets each centre."""
        statistics = np.zeros((self.n_states, self._n_sums))
        if len(self._fitted):
            everything = np.zeros((1, self._n_sums))
            kernels.add_values(
                0, len(self._fitted), self._fitted, self._centre, np.ones((len(self._fitted), 1)), everything
            )
            statistics[:] = everything
        mean, _, scale, degrees = self._posterior(statistics)
        mean[:, 0] += self._rest_at(centres, mean)
        return self._made(mean, scale / degrees)

    def _rest_at(self, centres: Floats, coefficients: Floats) -> Floats:
        """Return y minus its mean at observations, one for each state."""
        raise NotImplementedError

    def order(self, parameters: LinearParameters) -> NDArray[np.intp]:
        """Return the states by their means at the mean of x."""
        return np.argsort(self._shifted(parameters.coefficients, 1.0)[:, 0], kind="stable")

    def _check_form(self, parameters: LinearParameters) -> None:
        check_form(Argument("coefficients"), parameters.coefficients, (self.n_states, self._n_x + 1))
        check_form(Argument("variances"), parameters.variances, (self.n_states,))

    def check_parameters(self, parameters: LinearParameters) -> None:
        """Raise an error for a wrong shape, or numbers that are not finite or not greater than 0."""
        self._check_form(parameters)
        check_finite(Argument("coefficients"), parameters.coefficients)
        check_positive("variances", parameters.variances)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> LinearParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        shapes = {"coefficients": (self.n_states, self._n_x + 1), "variances": (self.n_states,)}
        return self.parameters(**stored_shapes(arrays, shapes))

    def _collapsed(self) -> tuple[int, Floats]:
        raise NotSupported("the collapsed sampler does not support regressions: choose another sampler")

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        return arrays | self._priors | {"centre": self._means}, header

    @classmethod
    def _priors_of(cls, arrays: Mapping[str, NDArray[Any]], n_x: int) -> tuple[int, dict[str, Any]]:
        n_states = rows_of(arrays, "variance_prior")
        wide, one = (n_states, n_x + 1), (n_states,)
        shapes = {name: one if "variance" in name else wide for name in _PRIORS}
        return n_states, stored_shapes(arrays, shapes | {"centre": (n_x + 1,)})


class RegressionEmissions(LinearEmissions):
    """Numbers that are normal around a linear function of covariates, which differs between states.

    The coefficients b_s are N(coefficient_prior, variance_s / coefficient_weight), the variances inverse
    gamma with half of `variance_weight` and `variance_prior` as parameters.

    Parameters
    ----------
    sequences : Sequences
        Numbers: the first column is y, the others are the covariates x.
    n_states : int
        Number of states S.
    centre : array (P + 1,), default: means of the data
        What is subtracted from x and, last, y, where the prior speaks of coefficients.
    coefficient_prior, coefficient_weight : float or array (S, P + 1)
        Prior means, by default 0, and how much they weigh: by default 0.01, times the variance of x.
    variance_prior, variance_weight : float or array (S,), default: 0.01 of the variance of y, and 3
        Scale and degrees of freedom of the prior of the variances.
    """

    kind: ClassVar[str] = "regression"
    parameters = RegressionParameters

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        centre: ArrayLike | None = None,
        coefficient_prior: ArrayLike | None = None,
        coefficient_weight: ArrayLike | None = None,
        variance_prior: ArrayLike | None = None,
        variance_weight: ArrayLike | None = None,
    ) -> None:
        self._take(sequences, n_states)
        y, x = sequences.values[:, 0], sequences.values[:, 1:]
        self._set(y, x, centre, coefficient_prior, coefficient_weight, variance_prior, variance_weight)

    def _rest_at(self, centres: Floats, coefficients: Floats) -> Floats:
        apart = centres - np.append(self._means[-1], self._means[:-1])
        rest: Floats = apart[:, 0] - coefficients[:, 0] - (coefficients[:, 1:] * apart[:, 1:]).sum(axis=1)
        return rest / 2

    def redrawn(self, parameters: LinearParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same covariates and y drawn given the states."""
        x = self.sequences.values[:, 1:]
        return self._of(np.column_stack([parameters.drawn(x, states, rng), x]))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        n_states, priors = cls._priors_of(arrays, sequences.n_features - 1)
        return cls(sequences, n_states, **priors)


class AutoregressiveEmissions(LinearEmissions):
    """Numbers that are normal around a linear function of those before, which differs between states.

    The first `order` observations of a sequence are given, as are those after a gap. The priors are those of
    `RegressionEmissions`.

    Parameters
    ----------
    sequences : Sequences
        Numbers, in one column.
    n_states : int
        Number of states S.
    order : int, default: 1
        Number P of observations before that the mean depends on; the last comes first.
    centre, coefficient_prior, coefficient_weight, variance_prior, variance_weight
        As in `RegressionEmissions`.
    """

    kind: ClassVar[str] = "autoregressive"
    parameters = AutoregressiveParameters

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        order: int = 1,
        centre: ArrayLike | None = None,
        coefficient_prior: ArrayLike | None = None,
        coefficient_weight: ArrayLike | None = None,
        variance_prior: ArrayLike | None = None,
        variance_weight: ArrayLike | None = None,
    ) -> None:
        self._take(sequences, n_states)
        if sequences.n_features != 1:
            raise PlaitError(
                f"autoregressive emissions have one column, got {sequences.n_features}: give each its own"
            )
        self.order_of_lags = check_integer("order", order, least=1, most=1000)
        y = sequences.values[:, 0]
        lags = np.full((len(y), self.order_of_lags), np.nan)
        positions = np.arange(len(y)) - np.repeat(sequences.offsets[:-1], sequences.lengths)
        for k in range(min(self.order_of_lags, len(y) - 1)):
            lags[k + 1 :, k] = y[: -k - 1]
            lags[positions <= k, k] = np.nan
        self._set(y, lags, centre, coefficient_prior, coefficient_weight, variance_prior, variance_weight)

    def _rest_at(self, centres: Floats, coefficients: Floats) -> Floats:
        """Return half of what the centres differ from the mean of the data, less what the past explains."""
        share = np.clip(1.0 - coefficients[:, 1:].sum(axis=1), 0.1, 1.0)
        rest: Floats = (centres[:, 0] - self._means[-1]) * share / 2
        return rest

    def redrawn(self, parameters: LinearParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with all but the first numbers of sequences drawn given the states."""
        values, order = self.sequences.values[:, 0].copy(), self.order_of_lags
        for i in np.flatnonzero(~np.isnan(self._data[:, 0])):
            lags = values[i - order : i][::-1]
            values[i] = parameters.drawn(lags[None], states[i : i + 1], rng)[0]
        return self._of(values[:, None])

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = super().to_arrays()
        return arrays, header | {"order": self.order_of_lags}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        order = check_integer("order", header["order"], least=1, most=1000)
        n_states, priors = cls._priors_of(arrays, order)
        return cls(sequences_from_arrays(arrays, header), n_states, order=order, **priors)
