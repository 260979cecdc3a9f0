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
    from plait import hmm as hmm
    from plait import interop as interop
    from plait import plots as plots
    from plait import testing as testing
    from plait.data.corpus import Corpus as Corpus
    from plait.data.sequences import Sequences as Sequences
    from plait.data.text import TextRecipe as TextRecipe
    from plait.estimators.factorial import FactorialHMM as FactorialHMM
    from plait.estimators.family_hmm import HMM as HMM
    from plait.estimators.gaussian_mixture import GaussianMixture as GaussianMixture
    from plait.estimators.gmm_hmm import GMMHMM as GMMHMM
    from plait.estimators.hmm import CategoricalHMM as CategoricalHMM
    from plait.estimators.hmm import GaussianHMM as GaussianHMM
    from plait.estimators.hmm import PoissonHMM as PoissonHMM
    from plait.estimators.lda import LatentDirichletAllocation as LatentDirichletAllocation
    from plait.estimators.mixture import BernoulliMixture as BernoulliMixture
    from plait.estimators.mixture import MultinomialMixture as MultinomialMixture
    from plait.estimators.mixture import PoissonMixture as PoissonMixture
    from plait.estimators.multinomial_hmm import MultinomialHMM as MultinomialHMM
    from plait.estimators.potts import PottsSegmentation as PottsSegmentation
    from plait.fitting.stored import resume as resume
    from plait.models.chain import HmmParameters as HmmParameters
    from plait.models.emissions import AutoregressiveEmissions as AutoregressiveEmissions
    from plait.models.emissions import AutoregressiveParameters as AutoregressiveParameters
    from plait.models.emissions import BernoulliEmissions as BernoulliEmissions
    from plait.models.emissions import BernoulliParameters as BernoulliParameters
    from plait.models.emissions import CategoricalEmissions as CategoricalEmissions
    from plait.models.emissions import CategoricalParameters as CategoricalParameters
    from plait.models.emissions import ExponentialEmissions as ExponentialEmissions
    from plait.models.emissions import ExponentialParameters as ExponentialParameters
    from plait.models.emissions import GammaEmissions as GammaEmissions
    from plait.models.emissions import GammaParameters as GammaParameters
    from plait.models.emissions import GaussianEmissions as GaussianEmissions
    from plait.models.emissions import GaussianMixtureEmissions as GaussianMixtureEmissions
    from plait.models.emissions import GaussianMixtureParameters as GaussianMixtureParameters
    from plait.models.emissions import LogNormalEmissions as LogNormalEmissions
    from plait.models.emissions import LogNormalParameters as LogNormalParameters
    from plait.models.emissions import MixedEmissions as MixedEmissions
    from plait.models.emissions import MixedParameters as MixedParameters
    from plait.models.emissions import MultinomialEmissions as MultinomialEmissions
    from plait.models.emissions import MultinomialSequenceEmissions as MultinomialSequenceEmissions
    from plait.models.emissions import NegativeBinomialEmissions as NegativeBinomialEmissions
    from plait.models.emissions import NegativeBinomialParameters as NegativeBinomialParameters
    from plait.models.emissions import NormalParameters as NormalParameters
    from plait.models.emissions import PoissonEmissions as PoissonEmissions
    from plait.models.emissions import PoissonParameters as PoissonParameters
    from plait.models.emissions import RegressionEmissions as RegressionEmissions
    from plait.models.emissions import RegressionParameters as RegressionParameters
    from plait.models.emissions import StudentEmissions as StudentEmissions
    from plait.models.emissions import StudentParameters as StudentParameters
    from plait.models.emissions import VonMisesEmissions as VonMisesEmissions
    from plait.models.emissions import VonMisesParameters as VonMisesParameters
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
    "AutoregressiveEmissions": "plait.models.emissions:AutoregressiveEmissions",
    "AutoregressiveParameters": "plait.models.emissions:AutoregressiveParameters",
    "BernoulliEmissions": "plait.models.emissions:BernoulliEmissions",
    "BernoulliMixture": "plait.estimators.mixture:BernoulliMixture",
    "BernoulliParameters": "plait.models.emissions:BernoulliParameters",
    "CategoricalEmissions": "plait.models.emissions:CategoricalEmissions",
    "CategoricalHMM": "plait.estimators.hmm:CategoricalHMM",
    "CategoricalParameters": "plait.models.emissions:CategoricalParameters",
    "CheckpointError": "plait.sampler:CheckpointError",
    "Corpus": "plait.data.corpus:Corpus",
    "ExponentialEmissions": "plait.models.emissions:ExponentialEmissions",
    "ExponentialParameters": "plait.models.emissions:ExponentialParameters",
    "FactorialHMM": "plait.estimators.factorial:FactorialHMM",
    "FactorialHmmModel": "plait.models.factorial:FactorialHmmModel",
    "FactorialParameters": "plait.models.factorial:FactorialParameters",
    "GMMHMM": "plait.estimators.gmm_hmm:GMMHMM",
    "GammaEmissions": "plait.models.emissions:GammaEmissions",
    "GammaParameters": "plait.models.emissions:GammaParameters",
    "GaussianEmissions": "plait.models.emissions:GaussianEmissions",
    "GaussianHMM": "plait.estimators.hmm:GaussianHMM",
    "GaussianMixture": "plait.estimators.gaussian_mixture:GaussianMixture",
    "GaussianMixtureEmissions": "plait.models.emissions:GaussianMixtureEmissions",
    "GaussianMixtureParameters": "plait.models.emissions:GaussianMixtureParameters",
    "HMM": "plait.estimators.family_hmm:HMM",
    "HmmModel": "plait.models.hmm:HmmModel",
    "HmmParameters": "plait.models.chain:HmmParameters",
    "Interrupted": "plait.sampler:Interrupted",
    "LDA": "plait.estimators.lda:LatentDirichletAllocation",
    "LatentDirichletAllocation": "plait.estimators.lda:LatentDirichletAllocation",
    "LdaModel": "plait.models.lda:LdaModel",
    "LogNormalEmissions": "plait.models.emissions:LogNormalEmissions",
    "LogNormalParameters": "plait.models.emissions:LogNormalParameters",
    "MixedEmissions": "plait.models.emissions:MixedEmissions",
    "MixedParameters": "plait.models.emissions:MixedParameters",
    "MixtureModel": "plait.models.mixture:MixtureModel",
    "MixtureParameters": "plait.models.mixture:MixtureParameters",
    "MultinomialEmissions": "plait.models.emissions:MultinomialEmissions",
    "MultinomialHMM": "plait.estimators.multinomial_hmm:MultinomialHMM",
    "MultinomialMixture": "plait.estimators.mixture:MultinomialMixture",
    "MultinomialSequenceEmissions": "plait.models.emissions:MultinomialSequenceEmissions",
    "NegativeBinomialEmissions": "plait.models.emissions:NegativeBinomialEmissions",
    "NegativeBinomialParameters": "plait.models.emissions:NegativeBinomialParameters",
    "NormalParameters": "plait.models.emissions:NormalParameters",
    "PathModel": "plait.models.path_model:PathModel",
    "Plan": "plait.plans:Plan",
    "PoissonEmissions": "plait.models.emissions:PoissonEmissions",
    "PoissonHMM": "plait.estimators.hmm:PoissonHMM",
    "PoissonMixture": "plait.estimators.mixture:PoissonMixture",
    "PoissonParameters": "plait.models.emissions:PoissonParameters",
    "PottsModel": "plait.models.potts:PottsModel",
    "PottsParameters": "plait.models.potts:PottsParameters",
    "PottsSegmentation": "plait.estimators.potts:PottsSegmentation",
    "RegressionEmissions": "plait.models.emissions:RegressionEmissions",
    "RegressionParameters": "plait.models.emissions:RegressionParameters",
    "Run": "plait.run:Run",
    "Sequences": "plait.data.sequences:Sequences",
    "Stage": "plait.plans:Stage",
    "StudentEmissions": "plait.models.emissions:StudentEmissions",
    "StudentParameters": "plait.models.emissions:StudentParameters",
    "TextRecipe": "plait.data.text:TextRecipe",
    "Topics": "plait.models.lda:Topics",
    "VonMisesEmissions": "plait.models.emissions:VonMisesEmissions",
    "VonMisesParameters": "plait.models.emissions:VonMisesParameters",
    "datasets": "plait.datasets",
    "evaluate": "plait.evaluate",
    "hmm": "plait.hmm",
    "interop": "plait.interop",
    "load": "plait.run:load",
    "plots": "plait.plots",
    "resume": "plait.fitting.stored:resume",
    "sample": "plait.sampler:sample",
    "testing": "plait.testing",
}

__all__ = [
    "GMMHMM",
    "HMM",
    "LDA",
    "AutoregressiveEmissions",
    "AutoregressiveParameters",
    "BernoulliEmissions",
    "BernoulliMixture",
    "BernoulliParameters",
    "CategoricalEmissions",
    "CategoricalHMM",
    "CategoricalParameters",
    "CheckpointError",
    "Corpus",
    "ExponentialEmissions",
    "ExponentialParameters",
    "FactorialHMM",
    "FactorialHmmModel",
    "FactorialParameters",
    "GammaEmissions",
    "GammaParameters",
    "GaussianEmissions",
    "GaussianHMM",
    "GaussianMixture",
    "GaussianMixtureEmissions",
    "GaussianMixtureParameters",
    "HmmModel",
    "HmmParameters",
    "Interrupted",
    "LatentDirichletAllocation",
    "LdaModel",
    "LogNormalEmissions",
    "LogNormalParameters",
    "MixedEmissions",
    "MixedParameters",
    "MixtureModel",
    "MixtureParameters",
    "MultinomialEmissions",
    "MultinomialHMM",
    "MultinomialMixture",
    "MultinomialSequenceEmissions",
    "NegativeBinomialEmissions",
    "NegativeBinomialParameters",
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
    "RegressionEmissions",
    "RegressionParameters",
    "Run",
    "Sequences",
    "Stage",
    "StudentEmissions",
    "StudentParameters",
    "TextRecipe",
    "Topics",
    "VonMisesEmissions",
    "VonMisesParameters",
    "__version__",
    "datasets",
    "evaluate",
    "hmm",
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
