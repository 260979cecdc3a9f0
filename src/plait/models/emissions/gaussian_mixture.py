"""Emissions of real numbers that are a mixture of normal distributions in each state.

Each observation belongs to one of the K components of its state. Given these labels, weights, means and
covariances are conjugate. So Algorithm 1 is extended by the labels z^j of each path,

    P(phi)  prod_j P(p^j, w | phi) P(z^j | p^j, w, phi),

whose factors after P(phi) are the densities of labelled data. A sweep draws labels given the states of each
path and phi of the sweep before, then phi given all paths and labels, then paths given phi with the labels
summed out: exact for any m, as in `plait.models.emissions.completion`. EM takes the expectations of the
labels.
"""

from __future__ import annotations

import functools
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
    check_numbers,
    check_range_of_sites,
    frozen_copy,
    rows_of,
    stored,
    stored_shapes,
    with_row,
)
from plait.checks import check_choice, check_integer
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import emissions as kernels
from plait.kernels.labels import draw_labels
from plait.models.emissions.columns import same_arrays
from plait.models.emissions.contract import (
    check_form_of_posteriors,
    check_form_of_statistics,
    sequences_from_arrays,
    sequences_to_arrays,
)
from plait.models.emissions.covariances import check_covariances
from plait.models.emissions.gaussian import COVARIANCES, GaussianEmissions, NormalParameters
from plait.models.emissions.starts import far_apart, mean_positions
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, changes_paths, checks_paths
from plait.models.priors import DirichletRows
from plait.scratch import scratch

_NO_ROWS: NDArray[np.int32] = frozen_copy(np.empty(0, np.int32))
_PRIORS = (
    "mean_prior",
    "mean_weight",
    "covariance_prior",
    "covariance_weight",
    "fixed_means",
    "fixed_covariances",
)


@dataclass(frozen=True, eq=False)
class GaussianMixtureParameters:
    """Weights, means and covariances of the components of each state.

    Attributes
    ----------
    weights : ndarray, (S, K)
        Probabilities of the components; rows sum to 1.
    means : ndarray, (S, K, D)
        Means.
    covariances : ndarray
        Covariances: (S, K) if spherical, (S, K, D) if diagonal, (S, K, D, D) if full, and (S, D, D) if tied:
        all components of a state have the same.
    covariance : str
        Form of the covariances.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    covariance: str

    def permuted(self, order: NDArray[np.intp]) -> GaussianMixtureParameters:
        """Return the parameters with the states in another order."""
        return GaussianMixtureParameters(
            self.weights[order], self.means[order], self.covariances[order], self.covariance
        )

    def with_state(
        self, state: int, other: GaussianMixtureParameters, theirs: int
    ) -> GaussianMixtureParameters:
        """Return the parameters with those of one state replaced by those of a state of others."""
        found = other.to_arrays()
        return GaussianMixtureParameters(
            **{name: with_row(array, state, found[name][theirs]) for name, array in self.to_arrays().items()},
            covariance=self.covariance,
        )

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {"weights": self.weights, "means": self.means, "covariances": self.covariances}

    @property
    def components(self) -> NormalParameters:
        """All components as normal distributions, (S K, ...)."""
        n_states, n_components, n_features = self.means.shape
        covariance = "full" if self.covariance == "tied" else self.covariance
        covariances = self.covariances
        if self.covariance == "tied":
            covariances = np.repeat(covariances, n_components, axis=0)
        else:
            covariances = covariances.reshape(n_states * n_components, *covariances.shape[2:])
        return NormalParameters(self.means.reshape(-1, n_features), covariances, covariance)

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        n_components = self.weights.shape[1]
        steps = np.cumsum(self.weights, axis=1)[states]
        labels = (steps < rng.random(len(states))[:, None] * steps[:, -1:]).sum(axis=1)
        return self.components.sample(np.asarray(states, np.intp) * n_components + labels, rng)

    def over(self, sequences: Sequences) -> GaussianMixtureEmissions:
        """Return emissions of other data that take these parameters."""
        n_states, n_components = self.weights.shape
        return GaussianMixtureEmissions(
            sequences,
            n_states,
            n_components,
            covariance=self.covariance,
            mean_prior=0.0,
            covariance_prior=1.0,
        )


class GaussianMixtureEmissions:
    """Real numbers: w_i is N(mean_sk, covariance_sk) with probability weight_sk, for K components k.

    The priors are those of `GaussianEmissions`, and weight_s ~ Dir(weight_prior_s).

    Parameters
    ----------
    sequences : Sequences
        Numbers.
    n_states, n_components : int
        Number of states S, and of components K in each.
    covariance : {"diag", "spherical", "full", "tied"}
        Form of the covariance of each component; "tied" is one full covariance for all those of a state.
    weight_prior : float or array (S, K), default: 1
        Parameters of the Dirichlet priors of the weights.
    fixed_weights : array (S, K), optional
        Fixed weights, NaN for free ones.
    mean_prior, mean_weight, covariance_prior, covariance_weight, floor, fixed_means, fixed_covariances
        As in `GaussianEmissions`, with a row for each state and component, (S, K, ...); the covariances as in
        `GaussianMixtureParameters`.
    """

    kind: ClassVar[str] = "gaussian-mixture"
    logs: ClassVar[bool] = True
    completes: ClassVar[bool] = True
    rows = _NO_ROWS

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        n_components: int,
        *,
        covariance: str = "diag",
        weight_prior: ArrayLike = 1.0,
        fixed_weights: ArrayLike | None = None,
        floor: float = 1e-3,
        **priors: ArrayLike | None,
    ) -> None:
        check_choice("covariance", covariance, COVARIANCES)
        self.n_states = check_integer("n_states", n_states, least=1, limit=MAX_STATES)
        self.n_components = check_integer("n_components", n_components, least=1, limit=MAX_STATES)
        n_all = check_integer(
            "n_states times n_components", self.n_states * self.n_components, least=1, most=MAX_STATES
        )
        sequences.refuse_partly_missing("mixtures of normal distributions")
        self.sequences = sequences
        self.covariance = covariance
        self.floor = floor
        axes = {"S": self.n_states, "K": self.n_components}
        self.weights_of = DirichletRows(
            "the weights",
            axes,
            weight_prior,
            fixed_weights,
            prior_name="weight_prior",
            fixed_name="fixed_weights",
        )
        given = {name: self._in_form(name, value) for name, value in priors.items() if value is not None}
        # Components with covariances of their own are drawn together, those with one for a state state by
        # state.
        self._is_tied = covariance == "tied"
        self._size = self.n_components if self._is_tied else n_all
        self._groups = [
            GaussianEmissions(
                sequences,
                self._size,
                covariance=covariance,
                floor=floor,
                **{name: self._of_group(name, array, g) for name, array in given.items()},
            )
            for g in range(n_all // self._size)
        ]
        # For densities and sums, all components are states of their own.
        plain = "full" if self._is_tied else covariance
        self._all = GaussianEmissions(
            sequences, n_all, covariance=plain, mean_prior=0.0, covariance_prior=1.0
        )
        self._labels = self._first_labels()

    def _in_form(self, name: str, value: ArrayLike) -> Floats:
        """Return a prior, or fixed parameters, with a row for each state and component."""
        if name not in _PRIORS:
            raise TypeError(f"GaussianMixtureEmissions takes no {name}")
        array = check_numbers(name, value)
        if name == "covariance_prior" and self.covariance in ("full", "tied") and array.ndim < 2:
            array = array * np.eye(self.sequences.n_features)  # a number, or a diagonal
        try:
            return np.broadcast_to(array, self._forms[name])
        except ValueError:
            raise PlaitError(
                Argument(name),
                f" must be a number or an array of shape {self._forms[name]}, got shape {array.shape}",
            ) from None

    @property
    def _forms(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the priors and the fixed parameters."""
        n_states, n_components, n_features = self.n_states, self.n_components, self.sequences.n_features
        form = {
            "spherical": (n_states, n_components),
            "diag": (n_states, n_components, n_features),
            "full": (n_states, n_components, n_features, n_features),
            "tied": (n_states, n_features, n_features),
        }[self.covariance]
        means = n_states, n_components, n_features
        return {
            "mean_prior": means,
            "mean_weight": means[:2],
            "covariance_prior": form,
            "covariance_weight": means[:2],
            "fixed_means": means,
            "fixed_covariances": form,
        }

    def _of_group(self, name: str, array: Floats, g: int) -> Floats:
        if self._is_tied:
            return array[g]
        joined = 2 if array.ndim > 1 else 1
        return array.reshape(-1, *array.shape[joined:])

    def _first_labels(self) -> NDArray[np.uint16]:
        """Return a component for each observation, to count with before the first draw of labels.

        The data are cut along their most variable feature into pieces that take turns, so that a state has
        some of each.
        """
        values = self.sequences.values
        known = values[~np.isnan(values).any(axis=1)]
        feature = values[:, known.var(axis=0).argmax()] if len(known) else values[:, 0]
        seen = np.flatnonzero(~np.isnan(feature))
        labels = np.zeros(len(values), np.uint16)
        n_pieces = self.n_states * self.n_components
        ranks = np.argsort(np.argsort(feature[seen], kind="stable"), kind="stable")
        labels[seen] = ranks * n_pieces // max(len(seen), 1) % self.n_components
        return frozen_copy(labels)

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""
        return self.sequences.n_sites

    @functools.cached_property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""
        plain = type(self)(
            self.sequences, self.n_states, self.n_components, covariance=self.covariance, floor=self.floor
        )
        return self.weights_of.is_default and same_arrays(self._prior_arrays(), plain._prior_arrays())

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        weights = self.weights_of
        same = bool(weights.free.all()) and bool(np.all(weights.prior == weights.prior[0]))
        arrays = self._prior_arrays()
        for name, array in arrays.items():
            fixed = name.startswith("fixed")
            same = same and bool(np.isnan(array).all() if fixed else np.all(array == array[0]))
        return same

    def _logs(self, parameters: GaussianMixtureParameters, first: int, last: int) -> Floats:
        """Return log weight plus log-density of each site in each component, (n, S K)."""
        self._check_form(parameters)
        with np.errstate(divide="ignore"):
            return self._all.weights(parameters.components, first, last) + np.log(parameters.weights.ravel())

    def weights(self, parameters: GaussianMixtureParameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        check_range_of_sites(first, last, self.n_sites)
        logs = self._logs(parameters, first, last).reshape(last - first, self.n_states, self.n_components)
        with np.errstate(under="ignore"):
            found: Floats = scipy.special.logsumexp(logs, axis=2)
        found[np.isnan(self.sequences.values[first:last, 0])] = 0.0
        return found

    def log_weights(self, parameters: GaussianMixtureParameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        return self.weights(parameters, first, last)

    def first_parameters(self, key: Key, unit: int) -> GaussianMixtureParameters:
        """Draw initial parameters: groups of observations around some that are far apart, cut into pieces."""
        n_features = self.sequences.n_features
        means = np.zeros((self.n_states, self.n_components, n_features))
        spreads = np.ones((self.n_states, n_features))
        points = self._all.coordinates()
        # In an order that does not depend on that of the sequences, and so the draws do not either
        places = np.lexsort(points.T)
        places = places[~np.isnan(points[places, 0])]
        if len(places):
            _, nearest = far_apart(points[places], self.n_states, key, unit)
            positions = mean_positions(self.sequences, places, nearest, self.n_states)
            for s, group in enumerate(np.argsort(positions, kind="stable")):
                own = self.sequences.values[places[nearest == group]]
                if len(own):
                    means[s], spreads[s] = self._cut(own)
        variances = np.maximum(spreads, 0.0) + self.floor
        if self.covariance == "spherical":
            variances = np.repeat(variances.mean(axis=1, keepdims=True), self.n_components, axis=1)
        elif self.covariance == "diag":
            variances = np.repeat(variances[:, None], self.n_components, axis=1)
        else:
            variances = variances[:, :, None] * np.eye(n_features)
            if self.covariance == "full":
                variances = np.repeat(variances[:, None], self.n_components, axis=1)
        return self._with_fixed(
            np.full((self.n_states, self.n_components), 1.0 / self.n_components), means, variances
        )

    def _cut(self, values: Floats) -> tuple[Floats, Floats]:
        """Cut a group of observations along its most variable feature into K pieces of the same size.

        Return their means, and the mean squared differences from these.
        """
        values = values[np.argsort(values[:, values.var(axis=0).argmax()], kind="stable")]
        pieces = np.arange(len(values)) * self.n_components // len(values)
        means = np.tile(values.mean(axis=0), (self.n_components, 1))
        for k in np.unique(pieces):
            means[k] = values[pieces == k].mean(axis=0)
        return means, ((values - means[pieces]) ** 2).mean(axis=0)

    def _with_fixed(self, weights: Floats, means: Floats, covariances: Floats) -> GaussianMixtureParameters:
        fixed = self._prior_arrays()
        known = self.weights_of.fixed
        if not np.isnan(known).all():
            weights = np.where(np.isnan(known), weights, known)
            weights = weights / weights.sum(axis=1, keepdims=True)
        return GaussianMixtureParameters(
            weights,
            np.where(np.isnan(fixed["fixed_means"]), means, fixed["fixed_means"]),
            np.where(np.isnan(fixed["fixed_covariances"]), covariances, fixed["fixed_covariances"]),
            self.covariance,
        )

    # ---------------------------------------------------------------------------------------------
    # Statistics: those of all components as states of their own, (S K, ...)
    # ---------------------------------------------------------------------------------------------

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the sums over the observations with their first labels."""
        check_range_of_sites(first, last, self.n_sites)
        return self._sum(first, last, self._labelled(first, last, paths))

    def _labelled(self, first: int, last: int, paths: Paths) -> NDArray[np.uint16]:
        states = paths[:, first:last].astype(np.int64) * self.n_components
        return (states + self._labels[first:last]).astype(np.uint16)

    def _sum(self, first: int, last: int, labels: NDArray[np.uint16]) -> Floats:
        found = scratch(self._shape_of_statistics)
        data = self.sequences.values[first:last], self._all.centre
        kernels.sum_values(0, last - first, *data, labels, found)
        return found

    def _add(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected sums, given those of the labels (n, S, K)."""
        found = scratch(self._shape_of_statistics)
        flat = np.ascontiguousarray(posteriors.reshape(last - first, -1))
        kernels.add_values(first, last, self.sequences.values, self._all.centre, flat, found)
        return found

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected sums over the observations with their first labels."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        return self._add(first, last, posteriors[:, :, None] * self._are_first(first, last))

    def _are_first(self, first: int, last: int) -> NDArray[np.bool_]:
        labels = self._labels[first:last, None] == np.arange(self.n_components)
        return labels[:, None, :]

    @checks_paths
    def count_completed(
        self, first: int, last: int, paths: Paths, parameters: GaussianMixtureParameters, key: Key
    ) -> Floats:
        """Draw labels for each path; return what their sums have in addition to those of the first labels."""
        check_range_of_sites(first, last, self.n_sites)
        labels = np.empty((len(paths), last - first), np.uint16)
        logs = self._logs(parameters, first, last)
        draw_labels(first, last, logs, self.n_components, paths, labels, key)
        return self._sum(first, last, labels) - self._sum(first, last, self._labelled(first, last, paths))

    def expect_completed(
        self, first: int, last: int, posteriors: Floats, parameters: GaussianMixtureParameters
    ) -> Floats:
        """Return what the expected sums have in addition to those of the first labels."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        logs = self._logs(parameters, first, last).reshape(last - first, self.n_states, self.n_components)
        with np.errstate(under="ignore"):
            labels = posteriors[:, :, None] * scipy.special.softmax(logs, axis=2)
        return self._add(first, last, labels) - self.expect(first, last, posteriors)

    @property
    def _shape_of_statistics(self) -> tuple[int, int]:
        n = self.sequences.n_features
        more = n**2 if self.covariance in ("full", "tied") else n
        return self.n_states * self.n_components, 1 + n + more

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, self._shape_of_statistics, changed)

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has."""
        return self._numbers(statistics).sum(axis=1)

    def _numbers(self, statistics: Floats) -> Floats:
        """Return how many observations each component has, (S, K)."""
        self.check_statistics(statistics)
        return np.maximum(statistics[:, 0].reshape(self.n_states, self.n_components), 0.0)

    def _joined(self, weights: Floats, parts: list[NormalParameters]) -> GaussianMixtureParameters:
        n = self.n_states, self.n_components
        means = np.concatenate([part.means for part in parts]).reshape(*n, -1)
        if self._is_tied:
            covariances = np.stack([part.covariances for part in parts])
        else:
            covariances = parts[0].covariances.reshape(*n, *parts[0].covariances.shape[1:])
        return GaussianMixtureParameters(weights, means, covariances, self.covariance)

    def _by_group(self, statistics: Floats) -> list[tuple[GaussianEmissions, Floats]]:
        pieces = statistics.reshape(len(self._groups), self._size, -1)
        return list(zip(self._groups, pieces, strict=True))

    def draw(self, statistics: Floats, key: Key, unit: int) -> GaussianMixtureParameters:
        """Draw the weights from Dirichlet distributions, the rest as `GaussianEmissions` does."""
        weights = self.weights_of.draw(self._numbers(statistics), key, unit)
        parts = [
            group.draw(own, key, unit + self.n_states + 4 * g)
            for g, (group, own) in enumerate(self._by_group(statistics))
        ]
        return self._joined(weights, parts)

    def mean(self, statistics: Floats) -> GaussianMixtureParameters:
        """Return the posterior means given the statistics."""
        weights = self.weights_of.mean(self._numbers(statistics))
        return self._joined(weights, [group.mean(own) for group, own in self._by_group(statistics)])

    def mode(self, statistics: Floats) -> GaussianMixtureParameters:
        """Return the most probable weights, means and inverse covariances given the statistics."""
        weights = self.weights_of.mode(self._numbers(statistics))
        return self._joined(weights, [group.mode(own) for group, own in self._by_group(statistics)])

    @changes_paths
    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Raise an error: there is no collapsed sampler."""
        raise NotSupported("the collapsed sampler does not support mixtures in states: choose another method")

    def redrawn(self, parameters: GaussianMixtureParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        arrays, header = self.to_arrays()
        drawn = parameters.sample(states, rng)
        arrays["sequences.values"] = np.where(np.isnan(self.sequences.values), np.nan, drawn)
        return type(self).from_arrays(arrays, header)

    def order(self, parameters: GaussianMixtureParameters) -> NDArray[np.intp]:
        """Return the states by the mean of the first feature that separates them."""
        means = (parameters.weights[:, :, None] * parameters.means).sum(axis=1)
        return self._all.order_of(means)

    def _check_form(self, parameters: GaussianMixtureParameters) -> None:
        check_choice("covariance", parameters.covariance, (self.covariance,))
        check_form(Argument("weights"), parameters.weights, (self.n_states, self.n_components))
        check_form(Argument("means"), parameters.means, self._forms["mean_prior"])
        check_form(Argument("covariances"), parameters.covariances, self._forms["covariance_prior"])

    def check_parameters(self, parameters: GaussianMixtureParameters) -> None:
        """Raise an error for a wrong shape, weights that are no distributions, or invalid covariances."""
        self._check_form(parameters)
        self.weights_of.check(parameters.weights)
        check_finite(Argument("means"), parameters.means)
        check_finite(Argument("covariances"), parameters.covariances)
        components = parameters.components
        check_covariances(Argument("covariances"), components.covariances, components.covariance)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> GaussianMixtureParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        shapes = {
            "weights": (self.n_states, self.n_components),
            "means": self._forms["mean_prior"],
            "covariances": self._forms["covariance_prior"],
        }
        return GaussianMixtureParameters(**stored_shapes(arrays, shapes), covariance=self.covariance)

    def _prior_arrays(self) -> Arrays:
        each = [group.to_arrays()[0] for group in self._groups]
        return {
            name: np.stack([arrays[name] for arrays in each]).reshape(self._forms[name]) for name in _PRIORS
        }

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        arrays |= self._prior_arrays() | self.weights_of.to_arrays("weights")
        return arrays, header | {"covariance": self.covariance, "floor": self.floor}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        weights = stored(arrays, "weights.prior")
        shape = rows_of(arrays, "weights.prior"), (weights.shape[1] if weights.ndim > 1 else 0)
        rows = stored_shapes(arrays, {"weights.prior": shape, "weights.fixed": shape})
        priors: dict[str, Any] = {name: stored(arrays, name) for name in _PRIORS}
        made = cls(
            sequences,
            *shape,
            covariance=header["covariance"],
            weight_prior=rows["weights.prior"],
            fixed_weights=rows["weights.fixed"],
            floor=header["floor"],
            **priors,
        )
        stored_shapes(arrays, made._forms)
        return made
