"""Emissions: the distribution of observations in each state, and the priors of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from plait.checks import check_choice
from plait.errors import deprecated_name
from plait.models.emissions.angles import VonMisesEmissions, VonMisesParameters
from plait.models.emissions.bernoulli import BernoulliEmissions, BernoulliParameters
from plait.models.emissions.categorical import CategoricalEmissions, CategoricalParameters
from plait.models.emissions.contract import (
    CompletingEmissions,
    DivisibleEmissions,
    Emissions,
    SequenceEmissions,
    check_divisible,
)
from plait.models.emissions.families import FAMILIES
from plait.models.emissions.gaussian import COVARIANCES, GaussianEmissions, NormalParameters
from plait.models.emissions.gaussian_mixture import GaussianMixtureEmissions, GaussianMixtureParameters
from plait.models.emissions.linear import (
    AutoregressiveEmissions,
    AutoregressiveParameters,
    RegressionEmissions,
    RegressionParameters,
)
from plait.models.emissions.mixed import MixedEmissions, MixedParameters, mixed_emissions
from plait.models.emissions.multinomial import (
    MultinomialEmissions,
    MultinomialParameters,
    MultinomialSequenceEmissions,
)
from plait.models.emissions.negative_binomial import NegativeBinomialEmissions, NegativeBinomialParameters
from plait.models.emissions.poisson import PoissonEmissions, PoissonParameters
from plait.models.emissions.positive import (
    ExponentialEmissions,
    ExponentialParameters,
    GammaEmissions,
    GammaParameters,
    LogNormalEmissions,
    LogNormalParameters,
)
from plait.models.emissions.student import StudentEmissions, StudentParameters
from plait.storage import arrays_below

__all__ = [
    "COVARIANCES",
    "FAMILIES",
    "KINDS",
    "AutoregressiveEmissions",
    "AutoregressiveParameters",
    "BernoulliEmissions",
    "BernoulliParameters",
    "CategoricalEmissions",
    "CategoricalParameters",
    "CompletingEmissions",
    "DivisibleEmissions",
    "Emissions",
    "ExponentialEmissions",
    "ExponentialParameters",
    "GammaEmissions",
    "GammaParameters",
    "GaussianEmissions",
    "GaussianMixtureEmissions",
    "GaussianMixtureParameters",
    "LogNormalEmissions",
    "LogNormalParameters",
    "MixedEmissions",
    "MixedParameters",
    "MultinomialEmissions",
    "MultinomialParameters",
    "MultinomialSequenceEmissions",
    "NegativeBinomialEmissions",
    "NegativeBinomialParameters",
    "NormalParameters",
    "PoissonEmissions",
    "PoissonParameters",
    "RegressionEmissions",
    "RegressionParameters",
    "SequenceEmissions",
    "StudentEmissions",
    "StudentParameters",
    "VonMisesEmissions",
    "VonMisesParameters",
    "check_divisible",
    "emissions_from_arrays",
    "mixed_emissions",
]

KINDS: dict[str, type[Any]] = FAMILIES | {
    GaussianMixtureEmissions.kind: GaussianMixtureEmissions,
    MixedEmissions.kind: MixedEmissions,
    MultinomialEmissions.kind: MultinomialEmissions,
    MultinomialSequenceEmissions.kind: MultinomialSequenceEmissions,
}
"""The kinds of emissions by their names in files."""


def emissions_from_arrays(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Any:
    """Rebuild the emissions of a model from the arrays and the header of its `to_arrays`."""
    own = header["emissions"]
    kind = check_choice("kind of the emissions", own["kind"], KINDS)
    return KINDS[kind].from_arrays(arrays_below("emissions.", arrays), own)


if not TYPE_CHECKING:  # otherwise the type checker would accept any attribute of this module

    def __getattr__(name: str) -> Any:
        renamed = {
            "BernoulliLaw": BernoulliParameters,
            "CategoricalLaw": CategoricalParameters,
            "NormalLaw": NormalParameters,
            "PoissonLaw": PoissonParameters,
        }
        return deprecated_name(__name__, renamed, name)
