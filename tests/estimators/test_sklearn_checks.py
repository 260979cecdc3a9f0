"""scikit-learn's own checks of what an estimator must do."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import plait

ESTIMATORS = [
    plait.LatentDirichletAllocation(max_iter=20),
    plait.LatentDirichletAllocation(max_iter=20, method="collapsed"),
]


# The checks fit empty documents and single components, which plait remarks on.
@pytest.mark.filterwarnings("ignore::plait.PlaitWarning")
@parametrize_with_checks(ESTIMATORS)
def test_estimator_obeys_scikit_learn(estimator, check):
    check(estimator)
