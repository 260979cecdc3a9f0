"""The hard sequence, and what is run on it: what `hmm` and `ablation` have in common."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.data.synthetic import hard_hmm
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalEmissions, CategoricalParameters
from plait.models.hmm import HmmModel
from plait.models.model import Paths
from plait.threads import Threads

Floats = NDArray[np.float64]

SAMPLERS: Final = {
    "C1": ("collapsed", 1),
    "C5": ("collapsed", 5),
    "PC1": ("single-site", 1),
    "PC5": ("single-site", 5),
    "B1": ("blocked", 1),
    "B5": ("blocked", 5),
}
"""Method and number of paths of each sampler; the blocked ones are plait's own."""

EM: Final = "BW"

SECONDS_A_SITE: Final = {
    "C1": 45e-9,
    "C5": 5 * 45e-9,
    "PC1": 14e-9,
    "PC5": 5 * 9e-9,
    "B1": 35e-9,
    "B5": 5 * 12e-9,
    EM: 35e-9,
}
"""Of a sweep, all paths together, or of an iteration of EM."""

SECONDS_A_MEASUREMENT: Final = 25e-9  # a site

_ONE_THREAD = Threads(1)


@dataclass(frozen=True, eq=False)
class HardData:
    """The sequence and what there is to measure with.

    Attributes
    ----------
    truth : HmmParameters
        The parameters it was drawn from.
    states : ndarray, (1, N)
        The states it was drawn with, as a path.
    blocked, single_site : HmmModel
        The model, whose Algorithm 1 draws whole paths or site by site.
    log_likelihood : float
        log P(w | phi) of the true phi.
    independent : float
        What a model of independent symbols has above that: a chain that says nothing.
    """

    truth: HmmParameters
    states: Paths
    blocked: HmmModel
    single_site: HmmModel
    log_likelihood: float
    independent: float

    def above_truth(self, parameters: HmmParameters) -> float:
        """Return log P(w | phi) minus that of the truth."""
        return self.blocked.log_likelihood(parameters, _ONE_THREAD) - self.log_likelihood

    @property
    def emissions(self) -> Floats:
        """The true emissions, (2, W)."""
        return emissions_of(self.truth)


@functools.lru_cache(maxsize=4)
def hard_data(n_sites: int, switch: float) -> HardData:
    """Return `plait.datasets.hard_hmm` of a length and a probability to change state, with its models."""
    data = hard_hmm(n=n_sites, switch=switch)
    emissions = CategoricalEmissions(data.sequences, len(data.start), n_symbols=data.emissions.shape[1])
    model = HmmModel(emissions)
    truth = HmmParameters(data.start, data.transitions, CategoricalParameters(data.emissions))
    log_likelihood = model.log_likelihood(truth, _ONE_THREAD)
    counts = np.bincount(data.sequences.values)
    counts = counts[counts > 0]
    independent = float(counts @ np.log(counts / n_sites)) - log_likelihood
    return HardData(
        truth, data.states[None], model, replace(model, blocked=False), log_likelihood, independent
    )


def estimate(model: HmmModel, paths: Paths) -> HmmParameters:
    """Return the mean of phi given all paths."""
    return model.mean_parameters(model.count(paths, _ONE_THREAD), _ONE_THREAD)


def emissions_of(parameters: HmmParameters) -> Floats:
    """Return the emissions, (S, W)."""
    probabilities: Floats = parameters.emissions.probabilities
    return probabilities


def matched(found: Floats, truth: Floats) -> NDArray[np.intp]:
    """Return the order of two states in which their emissions are nearest to the true ones."""
    orders = np.array([0, 1]), np.array([1, 0])
    return min(orders, key=lambda order: float(np.abs(found[order] - truth).sum()))


def emission_distance(found: Floats, truth: Floats) -> float:
    """Return the mean over two states of the L1 distance of emissions, from 0 to 2; states are matched."""
    return float(np.abs(found[matched(found, truth)] - truth).sum(axis=1).mean())
