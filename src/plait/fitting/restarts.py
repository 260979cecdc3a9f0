"""The best of several fits, and the numbering of its states."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.fitting.plan import Fit, Plan, Start
from plait.models.model import Paths
from plait.run import Run
from plait.sampler import Callback, Interrupted, start_run


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
    """Return the start whose short run ends with the highest mean log P(p^j, w | phi).

    Ctrl-C raises `Interrupted` with the best run so far.
    """
    best: tuple[float, Start, Run] | None = None
    for start in starts:
        try:
            run = start_run(start.model, plan.settings(start.seed), n_jobs=n_jobs, callback=callback)
        except Interrupted as interrupted:
            raise (interrupted if best is None else Interrupted(best[2], interrupted.number)) from None
        log_joint = float(run.trace.mean_log_joint()[-1])
        if best is None or log_joint > best[0]:
            best = log_joint, start, run
    assert best is not None, "there are no starts to choose from"
    return best[1]


def state_order(run: Run, parameters: Any) -> NDArray[np.intp]:
    """Return the states of a run in canonical order, or as they are if the user numbered them."""
    model: Any = run.model
    order: NDArray[np.intp] = np.arange(model.n_states) if run.numbered else model.canonical_order(parameters)
    return order


def renumbered(paths: Paths, order: NDArray[np.intp]) -> NDArray[Any]:
    """Return the paths with renumbered states: state order[k] becomes k."""
    number = np.empty(len(order), np.uint16)
    number[order] = np.arange(len(order))
    return number[paths]
