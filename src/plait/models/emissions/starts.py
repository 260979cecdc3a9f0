"""Observations to start from: one for each state, far from the others."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.data.sequences import Sequences
from plait.models.model import Key
from plait.rng import PARAMETERS, new_stream, open_stream, uniform

_OBSERVATIONS = 20_000  # enough to choose initial parameters from


class Scattered(NamedTuple):
    """Observations that are far apart, one for each state, and the nearest of them to each observation."""

    chosen: NDArray[np.intp]
    """The chosen ones among those that were looked at, (S,)."""

    places: NDArray[np.intp]
    """The observations that were looked at, by their places in the data, (n,)."""

    nearest: NDArray[np.intp]
    """For each of them, the state of the nearest chosen one, (n,)."""

    def centres_and_spread(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the values of the chosen observations, and mean squared differences from the nearest."""
        seen = _filled(values[self.places])
        centres = seen[self.chosen]
        return centres, ((seen - centres[self.nearest]) ** 2).mean(axis=0)


def scattered(
    sequences: Sequences, coordinates: Floats, n_states: int, key: Key, unit: int
) -> Scattered | None:
    """Draw an observation for each state with `far_apart`; return None if all are missing.

    They are sorted by the mean position in their sequence of the observations nearest to them, so that
    left-right chains start well.
    """
    places = np.flatnonzero(~np.isnan(coordinates).all(axis=1))
    if not len(places):
        return None
    places = places[:: 1 + len(places) // _OBSERVATIONS]
    chosen, nearest = far_apart(_filled(coordinates[places]), n_states, key, unit)
    order = np.argsort(mean_positions(sequences, places, nearest, n_states), kind="stable")
    return Scattered(chosen[order], places, np.argsort(order)[nearest])


def far_apart(
    points: Floats, n_states: int, key: Key, unit: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw a point for each state, far from the others: greedy k-means++.

    The first is drawn uniformly. For each of the others, a few candidates are drawn in proportion to the
    squared distance from those before, and the one that leaves the smallest sum of squared distances is kept.

    Returns
    -------
    chosen : ndarray, (S,)
        The chosen points.
    nearest : ndarray, (n,)
        For each point, which of them is nearest.
    """
    stream = new_stream()
    open_stream(stream, *key, PARAMETERS, unit)

    def draw(steps: Floats) -> tuple[int, Floats]:
        """Draw an observation, given cumulative sums of weights; return it and all distances from it."""
        k = min(int(np.searchsorted(steps, uniform(stream) * steps[-1], side="right")), len(points) - 1)
        return k, ((points - points[k]) ** 2).sum(axis=1)

    first, distance = draw(np.arange(1.0, len(points) + 1))
    chosen = [first]
    nearest = np.zeros(len(points), np.intp)
    for s in range(1, n_states):
        steps = np.cumsum(distance)
        tries = (draw(steps) for _ in range(2 + int(math.log(n_states))))
        best, apart = min(tries, key=lambda drawn: float(np.minimum(drawn[1], distance).sum()))
        chosen.append(best)
        nearest[apart < distance] = s
        distance = np.minimum(apart, distance)
    return np.array(chosen), nearest


def mean_positions(
    sequences: Sequences, places: NDArray[np.intp], states: NDArray[np.intp], n_states: int
) -> Floats:
    """Return the mean position in its sequence, from 0 to 1, of an observation of each state, (S,)."""
    k = np.searchsorted(sequences.offsets, places, side="right") - 1
    sums = np.bincount(states, (places - sequences.offsets[k]) / sequences.lengths[k], n_states)
    means: Floats = sums / np.maximum(np.bincount(states, minlength=n_states), 1)
    return means


def _filled(values: Floats) -> Floats:
    """Return the values with what is missing in a column replaced by the mean of the others."""
    missing = np.isnan(values)
    if not missing.any():
        return values
    means = np.where(missing, 0.0, values).sum(axis=0) / np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, means, values)
