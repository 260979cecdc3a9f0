"""The hard sequence and the samplers that run on it: shared by `hmm` and `ablation`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.datasets import hard_hmm
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalEmissions, CategoricalParameters
from plait.models.hmm import HmmModel
from plait.models.model import Paths
from plait.paper.internals import log_likelihood

Floats = NDArray[np.float64]

SAMPLERS: Final = {
    "C1": ("collapsed", 1),
    "C5": ("collapsed", 5),
    "PC1": ("single-site", 1),
    "PC5": ("single-site", 5),
    "B1": ("blocked", 1),
    "B5": ("blocked", 5),
}
"""Method and number of paths of each sampler. The paper does not have the blocked ones."""

EM: Final = "BW"

SECONDS_PER_SITE: Final = {
    "C1": 45e-9,
    "C5": 5 * 45e-9,
    "PC1": 14e-9,
    "PC5": 5 * 9e-9,
    "B1": 35e-9,
    "B5": 5 * 12e-9,
    EM: 35e-9,
}
"""Expected time of a sweep, all paths together, or of an iteration of EM."""

SECONDS_PER_MEASUREMENT: Final = 25e-9
"""Expected time of one measurement of the likelihood, per site."""


@dataclass(frozen=True, eq=False)
class HardData:
    """The sequence, its true parameters, and the models of it.

    Attributes
    ----------
    truth : HmmParameters
        The parameters from which it was drawn.
    states : ndarray, (1, N)
        The true states, as a path.
    blocked, single_site : HmmModel
        The model, whose Algorithm 1 draws whole paths or one site at a time.
    log_likelihood : float
        log P(w | phi) of the true phi.
    independent : float
        Log-likelihood of a model of independent symbols, which learns nothing about the chain, minus that of
        the truth.
    """

    truth: HmmParameters
    states: Paths
    blocked: HmmModel
    single_site: HmmModel
    log_likelihood: float
    independent: float

    def above_truth(self, parameters: HmmParameters) -> float:
        """Return log P(w | phi) minus that of the truth."""
        return log_likelihood(self.blocked, parameters) - self.log_likelihood

    @property
    def emissions(self) -> Floats:
        """The true emissions, (2, W)."""
        return emissions_of(self.truth)


@functools.lru_cache(maxsize=4)
def hard_data(n_sites: int, switch: float) -> HardData:
    """Return `plait.datasets.hard_hmm` with a given length and switching probability, and its models."""
    data = hard_hmm(n=n_sites, switch=switch)
    emissions = CategoricalEmissions(data.sequences, len(data.start), n_symbols=data.emissions.shape[1])
    model = HmmModel(emissions)
    truth = HmmParameters(data.start, data.transitions, CategoricalParameters(data.emissions))
    of_truth = log_likelihood(model, truth)
    counts = np.bincount(data.sequences.values)
    counts = counts[counts > 0]
    return HardData(
        truth=truth,
        states=data.states[None],
        blocked=model,
        single_site=replace(model, blocked=False),
        log_likelihood=of_truth,
        independent=float(counts @ np.log(counts / n_sites)) - of_truth,
    )


def emissions_of(parameters: HmmParameters) -> Floats:
    """Return the emissions, (S, W)."""
    probabilities: Floats = parameters.emissions.probabilities
    return probabilities


def matched(found: Floats, truth: Floats) -> NDArray[np.intp]:
    """Return the order of two states in which their emissions are nearest to the true ones."""
    orders = np.array([0, 1]), np.array([1, 0])
    return min(orders, key=lambda order: float(np.abs(found[order] - truth).sum()))


def emission_distance(found: Floats, truth: Floats) -> float:
    """Match the states, and return the mean over both of the L1 distance of their emissions, 0 to 2."""
    return float(np.abs(found[matched(found, truth)] - truth).sum(axis=1).mean())
