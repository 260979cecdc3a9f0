"""The agreement of paths."""

from __future__ import annotations

import numpy as np
import pytest

from plait.evaluate.agreement import token_agreement


def test_agreement_is_the_share_of_the_most_common_value():
    paths = np.array([[0, 1, 2, 7], [0, 1, 0, 7], [0, 2, 1, 7], [0, 2, 4, 1]], np.uint16)
    assert token_agreement(paths).tolist() == [1.0, 0.5, 0.25, 0.75]


@pytest.mark.parametrize("n_paths", [1, 2, 3, 8])
def test_agreement_equals_a_plain_count(n_paths):
    paths = np.random.default_rng(n_paths).integers(0, 5, (n_paths, 200)).astype(np.uint16)
    paths[:, 0] = 65535
    share = token_agreement(paths)
    assert share.shape == (200,)
    assert share.tolist() == [np.unique(column, return_counts=True)[1].max() / n_paths for column in paths.T]
    assert share[0] == 1.0
    assert share.min() >= 1 / n_paths
