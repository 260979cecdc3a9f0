"""The base class of emissions of numbers."""

from __future__ import annotations

import copy
import math
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
from plait.models.model import MAX_STATES, Key, Paths, changes_paths, checks_paths
from plait.rng import PARAMETERS, new_stream, open_stream, uniform
from plait.scratch import scratch

_NO_ROWS: NDArray[np.int32] = frozen_copy(np.empty(0, np.int32))
_OBSERVATIONS = 20_000  # enough to choose initial parameters from
_SEPARATED = 0.1  # standard deviations between the means of states that a feature separates


class NumberEmissions(Generic[Parameters]):
    """Base class of emissions of numbers, which have a row of log-densities for each site."""

    exact_counts: ClassVar[bool]
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
        seen = sequences.values[~np.isnan(sequences.values[:, 0])]
        n_features = sequences.n_features
        with np.errstate(over="ignore", invalid="ignore"):
            mean = seen.mean(axis=0) if len(seen) else np.zeros(n_features)
            variance = seen.var(axis=0) if len(seen) else np.ones(n_features)
        if not np.isfinite(variance).all():
            raise PlaitError(
                f"the numbers of feature {place_of(~np.isfinite(variance))[1][0]} are too large to square:"
                " divide them by a constant"
            )
        self._scale = np.sqrt(np.where(variance > 0, variance, 1.0))
        return mean, variance

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

    def _fill(self, parameters: Parameters, first: int, last: int, logs: Floats) -> None:
        raise NotImplementedError

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone; priors and centres stay those of all sites."""
        own = copy.copy(self)
        own.sequences = self.sequences.part(first, last)
        return own

    def weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        check_range_of_sites(first, last, self.n_sites)
        logs = np.empty((last - first, self.n_states))
        self._fill(parameters, first, last, logs)
        return logs

    def log_weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        return self.weights(parameters, first, last)

    def _scattered_observations(self, key: Key, unit: int) -> tuple[Floats, Floats]:
        """Draw an observation for each state, (S, D), far from the others: greedy k-means++.

        The first is drawn uniformly. For each of the others, a few candidates are drawn in proportion to the
        squared distance from those before, and the one that leaves the smallest sum of squared distances is
        kept. They are sorted by the mean position in their sequence of the observations nearest to them, so
        that left-right chains start well. Also return the mean squared difference between an observation and
        the nearest of them, (D,).
        """
        places = np.flatnonzero(~np.isnan(self.sequences.values[:, 0]))
        if not len(places):
            return np.zeros((self.n_states, self.sequences.n_features)), self._scale**2
        places = places[:: 1 + len(places) // _OBSERVATIONS]
        seen = self.sequences.values[places]
        stream = new_stream()
        open_stream(stream, *key, PARAMETERS, unit)

        def draw(steps: Floats) -> tuple[Floats, Floats]:
            """Draw an observation, given cumulative sums of weights; return it and all distances from it."""
            k = np.searchsorted(steps, uniform(stream) * steps[-1], side="right")
            drawn = seen[min(int(k), len(seen) - 1)]
            return drawn, (((seen - drawn) / self._scale) ** 2).sum(axis=1)

        first, distance = draw(np.arange(1.0, len(seen) + 1))
        chosen = [first]
        nearest = np.zeros(len(seen), np.intp)
        for s in range(1, self.n_states):
            steps = np.cumsum(distance)
            tries = (draw(steps) for _ in range(2 + int(math.log(self.n_states))))
            best, apart = min(tries, key=lambda drawn: float(np.minimum(drawn[1], distance).sum()))
            chosen.append(best)
            nearest[apart < distance] = s
            distance = np.minimum(apart, distance)
        centres = np.array(chosen)
        spread = ((seen - centres[nearest]) ** 2).mean(axis=0)
        return centres[np.argsort(self._mean_places(places, nearest), kind="stable")], spread

    def _mean_places(self, places: NDArray[np.intp], states: NDArray[np.intp]) -> Floats:
        """Return the mean position in its sequence, from 0 to 1, of an observation of each state, (S,)."""
        offsets, lengths = self.sequences.offsets, self.sequences.lengths
        k = np.searchsorted(offsets, places, side="right") - 1
        sums = np.bincount(states, (places - offsets[k]) / lengths[k], self.n_states)
        return sums / np.maximum(np.bincount(states, minlength=self.n_states), 1)

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the sums over the observations in each state; see `plait.kernels.emissions`."""
        check_range_of_sites(first, last, self.n_sites)
        sums = scratch((self.n_states, self._n_sums))
        kernels.sum_values(first, last, self.sequences.values, self._centre, paths, sums)
        return sums

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected sums over the observations in each state."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        sums = scratch((self.n_states, self._n_sums))
        kernels.add_values(first, last, self.sequences.values, self._centre, posteriors, sums)
        return sums

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, (self.n_states, self._n_sums), changed)

    @changes_paths
    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Draw every state of a mixture given all others; see `plait.kernels.collapsed_mixtures`."""
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
        """Return emissions with the same priors and other data."""
        arrays, header = self.to_arrays()  # type: ignore[attr-defined]
        arrays["sequences.values"] = values
        return type(self).from_arrays(arrays, header)  # type: ignore[attr-defined]

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has."""
        return statistics[:, 0]

    def _order(self, means: Floats) -> NDArray[np.intp]:
        """Return the states by the first feature that separates them, the smallest mean first."""
        distance = np.ptp(means, axis=0) / self._scale
        separated = distance >= _SEPARATED
        feature = separated.argmax() if separated.any() else distance.argmax()
        return np.argsort(means[:, feature], kind="stable")
