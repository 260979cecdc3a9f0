"""Conversion of scikit-learn's `random_state` to the seeds of runs."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from plait.checks import check_integer
from plait.fitting.plan import draw_seed
from plait.plans import MAX_SEED


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """Return the seed of a fit that makes one run: an int is the seed itself."""
    if isinstance(random_state, (int, np.integer)):
        return check_integer("random_state", random_state, least=0, most=MAX_SEED)
    return draw_seed(check_random_state(random_state))
