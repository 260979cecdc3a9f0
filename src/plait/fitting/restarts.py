"""The best of several fits, and the numbering of its states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.fitting.plan import Fit, Plan, Start
from plait.models.model import Paths
from plait.sampler import Callback, start_run


def best_of(fits: Iterable[Fit]) -> Fit:
    """Return the fit with the highest score, the first of equal ones; Ctrl-C stops at the best so far.

    Parameters
    ----------
    fits : iterable of Fit
        The fits, run one after another as the iterable yields them.

    Returns
    -------
    Fit
        The best so far, with `interrupted` set after Ctrl-C.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C before there is any fit.
    """
    best: Fit | None = None
    try:
        for fit in fits:
            if best is None or fit.score > best.score:
                best = fit
            if fit.interrupted is not None:
                return replace(best, interrupted=fit.interrupted)
    except KeyboardInterrupt as interrupted:
        if best is None:
            raise
        return replace(best, interrupted=interrupted)
    assert best is not None, "there are no fits to choose from"
    return best


def best_start(
    starts: Iterable[Start], plan: Plan, *, callback: Callback | None = None, n_jobs: int | None = None
) -> Start:
    """Return the start whose short run ends with the highest mean log P(p^j, w | phi)."""

    def log_joint(start: Start) -> float:
        run = start_run(start.model, plan.settings(start.seed), n_jobs=n_jobs, callback=callback)
        return float(run.trace.log_joint[-1].mean())

    return max(starts, key=log_joint)


def renumbered(paths: Paths, order: NDArray[np.intp]) -> NDArray[Any]:
    """Return the paths with renumbered states: state order[k] becomes k."""
    number = np.empty(len(order), np.uint16)
    number[order] = np.arange(len(order))
    return number[paths]
