"""Agreement of paths: how certain each latent variable is, given the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_form_of_paths
from plait.errors import Argument, PlaitError
from plait.kernels.paths import count_agreeing


def token_agreement(paths: NDArray[Any]) -> NDArray[np.float64]:
    """Return the share of paths that have the most common value of each site, (N,).

    Given phi the paths are independent, so this estimates max_t P(p_i = t | phi, w), the certainty of an
    assignment. With few paths it is biased upwards; it is never below 1 / m. It does not measure the
    uncertainty of phi, nor the variation between runs.

    Parameters
    ----------
    paths : ndarray of uint16, (m, N)
        The paths, such as `run.paths`.
    """
    check_form_of_paths(paths)
    if not len(paths):
        raise PlaitError(Argument("paths"), " must have at least one path, such as run.paths, got none")
    share = np.empty(paths.shape[1])
    count_agreeing(paths, share)
    share /= len(paths)
    return share
