"""Starting points without a search: chains drawn at random, and chains drawn given phi."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from plait.models.factorial.parameters import FactorialParameters
from plait.models.model import Key, Paths
from plait.models.sweeps import State, SweepSettings, sweeps
from plait.rng import INITIAL, SEARCH
from plait.threads import Threads

if TYPE_CHECKING:
    from plait.models.factorial.model import FactorialHmmModel

_SWEEPS_TO_COOL = 30
_HOTTEST = 50.0  # factor of the covariance in the first of them


def random_paths(model: FactorialHmmModel, n_paths: int, key: Key, threads: Threads) -> Paths:
    """Draw random chains that tend to stay in their states: chains without memory are poorer starts."""
    n_chains, n_states, n_features = model.shape
    staying = np.tile(1.0 + 2.0 * n_states * np.eye(n_states), (n_chains, 1))
    start = model.priors.start.scatter(1.0, key, 0)
    transitions = model.priors.transitions.scatter(staying, key, n_chains)
    variance = model.moments.variance
    parameters = FactorialParameters(
        start,
        transitions.reshape(n_chains, n_states, n_states),
        np.zeros((n_chains, n_states, n_features)),
        np.diag(variance) if model.priors.is_matrix else variance,
    )
    paths = np.empty((n_paths, model.n_sites), np.uint16)
    _draw_without_data(model, paths, parameters, key, threads)
    return paths


def annealed_paths(
    model: FactorialHmmModel, parameters: FactorialParameters, n_paths: int, seed: int, threads: Threads
) -> Paths:
    """Draw paths given phi by annealing: the noise starts larger than that of phi and falls in each sweep.

    While the noise is large, chains can change that fit the data together but would be wrong one by one.
    """
    paths = np.empty((n_paths, model.n_sites), np.uint16)
    _draw_without_data(model, paths, parameters, Key(seed, INITIAL), threads)

    def heated(sweep: int) -> FactorialParameters:
        factor = _HOTTEST ** (1 - (sweep - SEARCH) / _SWEEPS_TO_COOL)
        return replace(parameters, covariance=parameters.covariance * factor)

    start, algorithm = State(SEARCH, paths), SweepSettings(seed)
    for _ in sweeps(model, start, _SWEEPS_TO_COOL, algorithm, threads, heated):
        pass
    return paths


def _draw_without_data(
    model: FactorialHmmModel, paths: Paths, parameters: FactorialParameters, key: Key, threads: Threads
) -> None:
    """Draw the chains without the data: with equal means, the observations favour no state."""
    paths[:] = 0
    same = np.broadcast_to(model.moments.mean / model.n_chains, model.shape)
    model.resample(paths, replace(parameters, means=same), key, threads)
