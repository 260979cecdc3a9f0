"""plait: interdependent (multipath) Gibbs samplers for models with discrete latent variables.

m paths of latent variables share one set of parameters, so that good optima are found far more often than by
an ordinary Gibbs sampler. The names below are imported when first used, to keep `import plait` fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plait.errors import PlaitError, PlaitWarning
from plait.version import __version__

if TYPE_CHECKING:
    from plait import datasets as datasets
    from plait import evaluate as evaluate
    from plait import interop as interop
    from plait import plots as plots
    from plait import testing as testing
    from plait.data.corpus import Corpus as Corpus
    from plait.data.sequences import Sequences as Sequences
    from plait.data.text import TextRecipe as TextRecipe
    from plait.estimators.factorial import FactorialHMM as FactorialHMM
    from plait.estimators.gaussian_mixture import GaussianMixture as GaussianMixture
    from plait.estimators.hmm import CategoricalHMM as CategoricalHMM
    from plait.estimators.hmm import GaussianHMM as GaussianHMM
    from plait.estimators.hmm import PoissonHMM as PoissonHMM
    from plait.estimators.lda import LatentDirichletAllocation as LatentDirichletAllocation
    from plait.estimators.mixture import BernoulliMixture as BernoulliMixture
    from plait.estimators.mixture import MultinomialMixture as MultinomialMixture
    from plait.estimators.mixture import PoissonMixture as PoissonMixture
    from plait.estimators.potts import PottsSegmentation as PottsSegmentation
    from plait.fitting.stored import resume as resume
    from plait.models.chain import HmmParameters as HmmParameters
    from plait.models.emissions import BernoulliEmissions as BernoulliEmissions
    from plait.models.emissions import BernoulliParameters as BernoulliParameters
    from plait.models.emissions import CategoricalEmissions as CategoricalEmissions
    from plait.models.emissions import CategoricalParameters as CategoricalParameters
    from plait.models.emissions import GaussianEmissions as GaussianEmissions
    from plait.models.emissions import MultinomialEmissions as MultinomialEmissions
    from plait.models.emissions import NormalParameters as NormalParameters
    from plait.models.emissions import PoissonEmissions as PoissonEmissions
    from plait.models.emissions import PoissonParameters as PoissonParameters
    from plait.models.factorial import FactorialHmmModel as FactorialHmmModel
    from plait.models.factorial import FactorialParameters as FactorialParameters
    from plait.models.hmm import HmmModel as HmmModel
    from plait.models.lda import LdaModel as LdaModel
    from plait.models.lda import Topics as Topics
    from plait.models.mixture import MixtureModel as MixtureModel
    from plait.models.mixture import MixtureParameters as MixtureParameters
    from plait.models.path_model import PathModel as PathModel
    from plait.models.potts import PottsModel as PottsModel
    from plait.models.potts import PottsParameters as PottsParameters
    from plait.plans import Plan as Plan
    from plait.plans import Stage as Stage
    from plait.run import Run as Run
    from plait.run import load as load
    from plait.sampler import CheckpointError as CheckpointError
    from plait.sampler import Interrupted as Interrupted
    from plait.sampler import sample as sample

    LDA = LatentDirichletAllocation

_HOMES = {
    "BernoulliEmissions": "plait.models.emissions:BernoulliEmissions",
    "BernoulliMixture": "plait.estimators.mixture:BernoulliMixture",
    "BernoulliParameters": "plait.models.emissions:BernoulliParameters",
    "CategoricalEmissions": "plait.models.emissions:CategoricalEmissions",
    "CategoricalHMM": "plait.estimators.hmm:CategoricalHMM",
    "CategoricalParameters": "plait.models.emissions:CategoricalParameters",
    "CheckpointError": "plait.sampler:CheckpointError",
    "Corpus": "plait.data.corpus:Corpus",
    "FactorialHMM": "plait.estimators.factorial:FactorialHMM",
    "FactorialHmmModel": "plait.models.factorial:FactorialHmmModel",
    "FactorialParameters": "plait.models.factorial:FactorialParameters",
    "GaussianEmissions": "plait.models.emissions:GaussianEmissions",
    "GaussianHMM": "plait.estimators.hmm:GaussianHMM",
    "GaussianMixture": "plait.estimators.gaussian_mixture:GaussianMixture",
    "HmmModel": "plait.models.hmm:HmmModel",
    "HmmParameters": "plait.models.chain:HmmParameters",
    "Interrupted": "plait.sampler:Interrupted",
    "LDA": "plait.estimators.lda:LatentDirichletAllocation",
    "LatentDirichletAllocation": "plait.estimators.lda:LatentDirichletAllocation",
    "LdaModel": "plait.models.lda:LdaModel",
    "MixtureModel": "plait.models.mixture:MixtureModel",
    "MixtureParameters": "plait.models.mixture:MixtureParameters",
    "MultinomialEmissions": "plait.models.emissions:MultinomialEmissions",
    "MultinomialMixture": "plait.estimators.mixture:MultinomialMixture",
    "NormalParameters": "plait.models.emissions:NormalParameters",
    "PathModel": "plait.models.path_model:PathModel",
    "PoissonEmissions": "plait.models.emissions:PoissonEmissions",
    "PoissonHMM": "plait.estimators.hmm:PoissonHMM",
    "PoissonMixture": "plait.estimators.mixture:PoissonMixture",
    "PoissonParameters": "plait.models.emissions:PoissonParameters",
    "PottsModel": "plait.models.potts:PottsModel",
    "PottsParameters": "plait.models.potts:PottsParameters",
    "PottsSegmentation": "plait.estimators.potts:PottsSegmentation",
    "Plan": "plait.plans:Plan",
    "Run": "plait.run:Run",
    "Sequences": "plait.data.sequences:Sequences",
    "Stage": "plait.plans:Stage",
    "TextRecipe": "plait.data.text:TextRecipe",
    "Topics": "plait.models.lda:Topics",
    "datasets": "plait.datasets",
    "evaluate": "plait.evaluate",
    "interop": "plait.interop",
    "load": "plait.run:load",
    "plots": "plait.plots",
    "resume": "plait.fitting.stored:resume",
    "sample": "plait.sampler:sample",
    "testing": "plait.testing",
}

__all__ = [
    "LDA",
    "BernoulliEmissions",
    "BernoulliMixture",
    "BernoulliParameters",
    "CategoricalEmissions",
    "CategoricalHMM",
    "CategoricalParameters",
    "CheckpointError",
    "Corpus",
    "FactorialHMM",
    "FactorialHmmModel",
    "FactorialParameters",
    "GaussianEmissions",
    "GaussianHMM",
    "GaussianMixture",
    "HmmModel",
    "HmmParameters",
    "Interrupted",
    "LatentDirichletAllocation",
    "LdaModel",
    "MixtureModel",
    "MixtureParameters",
    "MultinomialEmissions",
    "MultinomialMixture",
    "NormalParameters",
    "PathModel",
    "PlaitError",
    "PlaitWarning",
    "Plan",
    "PoissonEmissions",
    "PoissonHMM",
    "PoissonMixture",
    "PoissonParameters",
    "PottsModel",
    "PottsParameters",
    "PottsSegmentation",
    "Run",
    "Sequences",
    "Stage",
    "TextRecipe",
    "Topics",
    "__version__",
    "datasets",
    "evaluate",
    "interop",
    "load",
    "plots",
    "resume",
    "sample",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plait' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = import_module(module)
    return getattr(value, attribute) if attribute else value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
