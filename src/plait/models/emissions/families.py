"""The families of distributions that columns of numbers can have, by name."""

from __future__ import annotations

from typing import Any, Final

from plait.models.emissions.angles import VonMisesEmissions
from plait.models.emissions.bernoulli import BernoulliEmissions
from plait.models.emissions.categorical import CategoricalEmissions
from plait.models.emissions.gaussian import GaussianEmissions
from plait.models.emissions.negative_binomial import NegativeBinomialEmissions
from plait.models.emissions.poisson import PoissonEmissions
from plait.models.emissions.positive import ExponentialEmissions, GammaEmissions, LogNormalEmissions

FAMILIES: Final[dict[str, type[Any]]] = {
    emissions.kind: emissions
    for emissions in (
        BernoulliEmissions,
        CategoricalEmissions,
        ExponentialEmissions,
        GammaEmissions,
        GaussianEmissions,
        LogNormalEmissions,
        NegativeBinomialEmissions,
        PoissonEmissions,
        VonMisesEmissions,
    )
}
"""Emissions by the names of their families, which are their kinds in files."""
