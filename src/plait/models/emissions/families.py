"""The families of distributions that columns of numbers can have, by name."""

from __future__ import annotations

from typing import Any, Final

from plait.models.emissions.angles import VonMisesEmissions
from plait.models.emissions.bernoulli import BernoulliEmissions
from plait.models.emissions.categorical import CategoricalEmissions
from plait.models.emissions.gaussian import GaussianEmissions
from plait.models.emissions.linear import AutoregressiveEmissions, RegressionEmissions
from plait.models.emissions.negative_binomial import NegativeBinomialEmissions
from plait.models.emissions.poisson import PoissonEmissions
from plait.models.emissions.positive import ExponentialEmissions, GammaEmissions, LogNormalEmissions
from plait.models.emissions.student import StudentEmissions

FAMILIES: Final[dict[str, type[Any]]] = {
    emissions.kind: emissions
    for emissions in (
        AutoregressiveEmissions,
        BernoulliEmissions,
        CategoricalEmissions,
        ExponentialEmissions,
        GammaEmissions,
        GaussianEmissions,
        LogNormalEmissions,
        NegativeBinomialEmissions,
        PoissonEmissions,
        RegressionEmissions,
        StudentEmissions,
        VonMisesEmissions,
    )
}
"""Emissions by the names of their families, which are their kinds in files."""
