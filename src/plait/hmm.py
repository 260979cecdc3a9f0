"""hmmlearn's module by its own name: replace `from hmmlearn import hmm` by `from plait import hmm`.

All of hmmlearn's classes but the variational ones are here: the estimators of `plait`.
"""

from plait.estimators.gmm_hmm import GMMHMM
from plait.estimators.hmm import CategoricalHMM, GaussianHMM, PoissonHMM
from plait.estimators.multinomial_hmm import MultinomialHMM

__all__ = ["GMMHMM", "CategoricalHMM", "GaussianHMM", "MultinomialHMM", "PoissonHMM"]
