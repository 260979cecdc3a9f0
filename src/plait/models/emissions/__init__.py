"""Emissions: the observations that each state makes, their laws and the priors of these."""

from __future__ import annotations

from typing import Any

from plait.models.emissions.bernoulli import BernoulliEmissions, BernoulliLaw
from plait.models.emissions.categorical import CategoricalEmissions, CategoricalLaw
from plait.models.emissions.contract import Emissions, SequenceEmissions
from plait.models.emissions.gaussian import COVARIANCES, GaussianEmissions, NormalLaw
from plait.models.emissions.multinomial import MultinomialEmissions
from plait.models.emissions.poisson import PoissonEmissions, PoissonLaw

__all__ = [
    "COVARIANCES",
    "KINDS",
    "BernoulliEmissions",
    "BernoulliLaw",
    "CategoricalEmissions",
    "CategoricalLaw",
    "Emissions",
    "GaussianEmissions",
    "MultinomialEmissions",
    "NormalLaw",
    "PoissonEmissions",
    "PoissonLaw",
    "SequenceEmissions",
]

KINDS: dict[str, type[Any]] = {
    own.kind: own
    for own in (
        BernoulliEmissions,
        CategoricalEmissions,
        GaussianEmissions,
        MultinomialEmissions,
        PoissonEmissions,
    )
}
"""The kinds of emissions by their names in files."""
