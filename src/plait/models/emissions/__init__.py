"""Emissions of hidden Markov models: the observations of each state, their laws and the priors of these."""

from __future__ import annotations

from plait.models.emissions.categorical import CategoricalEmissions, CategoricalLaw
from plait.models.emissions.contract import Emissions
from plait.models.emissions.gaussian import COVARIANCES, GaussianEmissions, NormalLaw
from plait.models.emissions.poisson import PoissonEmissions, PoissonLaw

__all__ = [
    "COVARIANCES",
    "KINDS",
    "CategoricalEmissions",
    "CategoricalLaw",
    "Emissions",
    "GaussianEmissions",
    "NormalLaw",
    "PoissonEmissions",
    "PoissonLaw",
]

KINDS: dict[str, type[CategoricalEmissions] | type[GaussianEmissions] | type[PoissonEmissions]] = {
    "categorical": CategoricalEmissions,
    "gaussian": GaussianEmissions,
    "poisson": PoissonEmissions,
}
"""The kinds of emissions by their names in files."""
