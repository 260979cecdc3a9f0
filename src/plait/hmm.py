"""hmmlearn's module by its own name: replace `from hmmlearn import hmm` by `from plait import hmm`.

`hmm.CategoricalHMM`, `hmm.GaussianHMM` and `hmm.PoissonHMM` are the estimators of `plait`.
"""

from plait.estimators.hmm import CategoricalHMM, GaussianHMM, PoissonHMM

__all__ = ["CategoricalHMM", "GaussianHMM", "PoissonHMM"]
