"""How certain a latent variable is, given the parameters: how many paths agree on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.kernels.paths import count_agreeing


def token_agreement(paths: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each site, the share of paths that agree with the majority, (N,).

    Given phi the paths are independent, so this estimates the largest P(p_i = t | phi, w): the certainty of
    an assignment. For few paths it is on the high side, and never below 1 / m. It says nothing of the
    uncertainty of phi, nor of how another run would turn out.
    """
    share = np.empty(paths.shape[1])
    count_agreeing(paths, share)
    share /= len(paths)
    return share
