"""How many seconds a sweep takes each method of `quality.py`; see `turns.py`.

Ratios of times are turned into seconds by the time of plait's sweeps when they were fastest, because a
disturbance can only make them slower.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from methods import BLOCK, REPORT_EVERY
from turns import take_turns

N_TURNS = 40

UNDISTURBED = 0.1
"""Quantile of the times of blocks of sweeps that is taken for the time on an undisturbed machine."""


def measure(methods: Sequence[str], corpus: Path, n_topics: int) -> dict[str, float]:
    """Return the seconds per sweep of each method; the first of them must be plait."""
    command = [sys.executable, str(Path(__file__).with_name("methods.py"))]
    runners = take_turns(
        {method: [*command, method, str(corpus), str(n_topics)] for method in methods}, N_TURNS
    )
    means = {method: runner.seconds_per_unit() for method, runner in runners.items()}
    unknown = [method for method, mean in means.items() if math.isnan(mean)]
    if unknown:
        raise SystemExit(f"the speed of {', '.join(unknown)} is not known: too few sweeps, or none")
    sweeps, own = runners[methods[0]].late_reports()
    lag = min(BLOCK // REPORT_EVERY, len(sweeps) - 1)
    blocks = (own[lag:] - own[:-lag]) / (sweeps[lag:] - sweeps[:-lag])
    scale = float(np.quantile(blocks, UNDISTURBED)) / means[methods[0]]
    return {method: scale * mean for method, mean in means.items()}
