"""Emissions: the distribution of observations in each state, and the priors of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plait.errors import deprecated_name
from plait.models.emissions.bernoulli import BernoulliEmissions, BernoulliParameters
from plait.models.emissions.categorical import CategoricalEmissions, CategoricalParameters
from plait.models.emissions.contract import Emissions, SequenceEmissions
from plait.models.emissions.gaussian import COVARIANCES, GaussianEmissions, NormalParameters
from plait.models.emissions.multinomial import MultinomialEmissions
from plait.models.emissions.poisson import PoissonEmissions, PoissonParameters

__all__ = [
    "COVARIANCES",
    "KINDS",
    "BernoulliEmissions",
    "BernoulliParameters",
    "CategoricalEmissions",
    "CategoricalParameters",
    "Emissions",
    "GaussianEmissions",
    "MultinomialEmissions",
    "NormalParameters",
    "PoissonEmissions",
    "PoissonParameters",
    "SequenceEmissions",
]

KINDS: dict[str, type[Any]] = {
    emissions.kind: emissions
    for emissions in (
        BernoulliEmissions,
        CategoricalEmissions,
        GaussianEmissions,
        MultinomialEmissions,
        PoissonEmissions,
    )
}
"""The kinds of emissions by their names in files."""


if not TYPE_CHECKING:  # otherwise the type checker would accept any attribute of this module

    def __getattr__(name: str) -> Any:
        renamed = {
            "BernoulliLaw": BernoulliParameters,
            "CategoricalLaw": CategoricalParameters,
            "NormalLaw": NormalParameters,
            "PoissonLaw": PoissonParameters,
        }
        return deprecated_name(__name__, renamed, name)
