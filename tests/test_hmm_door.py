"""`from plait import hmm` stands in for `from hmmlearn import hmm`."""

from __future__ import annotations

import hmmlearn.hmm
import pytest

import plait
from plait import hmm


@pytest.mark.parametrize("name", hmm.__all__)
def test_the_module_has_hmmlearn_s_names_for_plait_s_estimators(name):
    assert getattr(hmm, name) is getattr(plait, name)
    assert hasattr(hmmlearn.hmm, name)


def test_the_module_is_an_attribute_of_the_package():
    assert plait.hmm is hmm
