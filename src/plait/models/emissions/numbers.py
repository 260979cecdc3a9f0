"""The base class of emissions of numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, check_range_of_sites, frozen_copy, place_of
from plait.checks import check_integer
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.models.emissions.contract import (
    Parameters,
    check_form_of_posteriors,
    check_form_of_states,
    check_form_of_statistics,
)
from plait.models.emissions.starts import scattered
from plait.models.model import MAX_STATES, Key, Paths, changes_paths, checks_paths
from plait.scratch import scratch

_NO_ROWS: NDArray[np.int32] = frozen_copy(np.empty(0, np.int32))
_SEPARATED = 0.1  # standard deviations between the means of states that a feature separates


class NumberEmissions(Generic[Parameters]):
    """Base class of emissions of numbers, which have a row of log-densities for each site.

    Observations may be missing in part. Where the features of a state are independent, a missing number just
    drops out of the density and of the sums: statistics then end with the number of observed values of each
    feature, (S, D).
    """

    logs: ClassVar[bool] = True
    rows = _NO_ROWS
    sequences: Sequences
    n_states: int
    _centre: Floats
    _n_sums: int
    _scale: Floats

    def _take(self, sequences: Sequences, n_states: int) -> tuple[Floats, Floats]:
        """Check and keep the data; return the mean and the variance of each feature."""
        if sequences.is_symbols:
            raise PlaitError(
                Argument("sequences"), " must be numbers, got symbols: build them with Sequences.from_values"
            )
        self.sequences = sequences
        self.n_states = check_integer("n_states", n_states, least=1, limit=MAX_STATES)
        self._has_partly_missing = bool(sequences.partly_missing.any())
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = _moments(sequences)
        if not np.isfinite(variance).all():
            raise PlaitError(
                f"the numbers of feature {place_of(~np.isfinite(variance))[1][0]} are too large to square:"
                " divide them by a constant"
            )
        self._scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        return mean, variance

    @property
    def completes(self) -> bool:
        """Whether what observations lack must be drawn: not if features are independent."""
        return False

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""
        return self.sequences.n_sites

    @property
    def _axes(self) -> dict[str, int]:
        return {"S": self.n_states, "D": self.sequences.n_features}

    @property
    def _shape_of_states(self) -> tuple[int, int]:
        """Shape of an array with a row for each state and a column for each feature."""
        return self.n_states, self.sequences.n_features

    @functools.cached_property
    def _is_observed(self) -> Floats | None:
        """Which numbers are observed, as numbers (N, D), if statistics count them by feature; else None."""
        if not self._has_partly_missing or self.completes:
            return None
        return frozen_copy(np.where(np.isnan(self.sequences.values), 0.0, 1.0))

    def _numbers(self, statistics: Floats) -> Floats:
        """Return the number of observed values in each state, (S, D), or (S, 1) if features have the same."""
        return statistics[:, :1] if self._is_observed is None else statistics[:, self._n_sums :]

    def _fill(self, parameters: Parameters, first: int, last: int, logs: Floats) -> None:
        raise NotImplementedError

    def weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        check_range_of_sites(first, last, self.n_sites)
        logs = np.empty((last - first, self.n_states))
        self._fill(parameters, first, last, logs)
        return logs

    def log_weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        return self.weights(parameters, first, last)

    def first_parameters(self, key: Key, unit: int) -> Parameters:
        """Draw initial parameters, from observations that are far apart."""
        chosen = scattered(self.sequences, self.coordinates(), self.n_states, key, unit)
        if chosen is None:
            return self.parameters_near(np.zeros(self._shape_of_states), self._scale**2)
        return self.parameters_near(*chosen.centres_and_spread(self.sequences.values))

    def coordinates(self) -> Floats:
        """Return the observations in units in which their distances can be compared, (N, F)."""
        return self.sequences.values / self._scale

    def parameters_near(self, centres: Floats, spread: Floats) -> Parameters:
        """Return initial parameters.

        Parameters
        ----------
        centres : ndarray, (S, D)
            An observation for each state.
        spread : ndarray, (D,)
            Mean squared difference between an observation and the nearest of them.
        """
        raise NotImplementedError

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the sums over the observations in each state; see `plait.kernels.emissions`."""
        check_range_of_sites(first, last, self.n_sites)
        return self._summed(lambda *work: kernels.sum_values(first, last, *work), paths)

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected sums over the observations in each state."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        return self._summed(lambda *work: kernels.add_values(first, last, *work), posteriors)

    def _summed(self, add: Callable[..., object], states: Paths | Floats) -> Floats:
        """Return the sums that a kernel adds up over the states of a range: paths, or posteriors."""
        sums = scratch((self.n_states, self._n_sums))
        add(self._values, self._centre, states, sums)
        if self._is_observed is None:
            return sums
        n_features = self.sequences.n_features
        numbers = scratch((self.n_states, 1 + n_features))
        add(self._is_observed, frozen_copy(np.zeros(n_features)), states, numbers)
        return np.hstack([sums, numbers[:, 1:]])

    @property
    def _values(self) -> Floats:
        """The observations that sums run over."""
        return self.sequences.values

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        more = 0 if self._is_observed is None else self.sequences.n_features
        check_form_of_statistics(statistics, (self.n_states, self._n_sums + more), changed)

    @changes_paths
    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Draw every state of a mixture given all others; see `plait.kernels.collapsed_mixtures`."""
        self.sequences.refuse_partly_missing("the collapsed sampler")
        kind, prior = self._collapsed()
        check_form_of_states(states, share_prior, self.n_states)
        self.check_statistics(statistics, changed=True)
        n_features = self.sequences.n_features
        collapsed_mixtures.resample_numbers(
            kind,
            collapsed_mixtures.Observations(self.sequences.values, self._centre),
            paths,
            collapsed_mixtures.Counts(states, statistics),
            collapsed_mixtures.Priors(share_prior, prior),
            collapsed_mixtures.Scratch(
                streams=scratch((len(paths), 2), np.uint64),
                weights=scratch(self.n_states),
                cache=scratch((self.n_states, collapsed_mixtures.cache_size(kind, n_features))),
                buffer=scratch(n_features),
            ),
            key,
        )

    def _collapsed(self) -> tuple[int, Floats]:
        """Return the kind of emissions and their priors, (S, P), for the collapsed sampler."""
        raise NotImplementedError

    def _of(self, values: Floats) -> Self:
        """Return emissions with the same priors and other data, missing where these are."""
        arrays, header = self.to_arrays()  # type: ignore[attr-defined]
        arrays["sequences.values"] = np.where(np.isnan(self.sequences.values), np.nan, values)
        return type(self).from_arrays(arrays, header)  # type: ignore[attr-defined]

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has."""
        return statistics[:, 0]

    @property
    def centre(self) -> Floats:
        """What is subtracted from observations before they are summed, (D,)."""
        return self._centre

    def order_of(self, means: Floats) -> NDArray[np.intp]:
        """Return the states by the first feature that separates them, the smallest mean first."""
        with np.errstate(over="ignore"):  # infinitely far apart is apart, too
            distance = np.ptp(means, axis=0) / self._scale
        separated = distance >= _SEPARATED
        feature = separated.argmax() if separated.any() else distance.argmax()
        return np.argsort(means[:, feature], kind="stable")


def _moments(sequences: Sequences) -> tuple[Floats, Floats]:
    """Return the mean and the variance of the observed values of each feature; 0 and 1 if there are none."""
    values = sequences.values
    if not sequences.partly_missing.any():
        seen = values[~np.isnan(values[:, 0])]
        if len(seen):
            return seen.mean(axis=0), seen.var(axis=0)
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    observed = ~np.isnan(values)
    numbers = observed.sum(axis=0)
    mean = np.where(observed, values, 0.0).sum(axis=0) / np.maximum(numbers, 1)
    squares = (np.where(observed, values - mean, 0.0) ** 2).sum(axis=0)
    return mean, np.where(numbers > 0, squares / np.maximum(numbers, 1), 1.0)
