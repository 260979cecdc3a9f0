"""The course of a run: its log-likelihood along the sweeps, with its stages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.run import Run


@dataclass(frozen=True)
class StageSpan:
    """The sweeps of a stage.

    Attributes
    ----------
    first, last : int
        Its first sweep, counted from 1, and its last, as far as the run has got.
    sampler : str
        Its sampler.
    paths : (int, int)
        Number of paths in its first and in its last sweep.
    averages : bool
        Whether its sweeps are averaged.
    description : str
        The stage in words.
    """

    first: int
    last: int
    sampler: str
    paths: tuple[int, int]
    averages: bool
    description: str

    @property
    def label(self) -> str:
        """Its number of paths, as "m = 4" or "m = 1 to 8"."""
        low, high = self.paths
        return f"m = {low}" if low == high else f"m = {low} to {high}"


@dataclass(frozen=True, eq=False)
class Course:
    """The course of a run.

    Attributes
    ----------
    sweeps : ndarray of int64, (R,)
        The sweeps that were recorded.
    paths : ndarray, (R, m)
        log P(p^j, w | phi) of each path; NaN where there were fewer paths.
    mean : ndarray, (R,)
        Its mean over the paths of each record.
    stages : tuple of StageSpan
        The stages that the run has reached.
    em : ndarray, (I,)
        log P(w | phi) before each iteration of EM.
    priors : dict of ndarray, (R, ...)
        The priors that were learnt, by name.
    """

    sweeps: NDArray[np.int64]
    paths: Floats
    mean: Floats
    stages: tuple[StageSpan, ...]
    em: Floats
    priors: dict[str, Floats]


def em_totals(run: Run) -> Floats:
    """Return log P(w | phi) before each iteration of EM, (I,).

    EM of mixtures records its mean over the observations, as scikit-learn's does.
    """
    history = np.array(run.em_history, np.float64)
    return history * run.model.n_sites if run.model.kind == "mixture" else history


def course(run: Run) -> Course:
    """Return the course of a run of any model, or of the best restart of a fit.

    Parameters
    ----------
    run : Run
        The run.
    """
    run = run.best
    spans, done = [], 0
    for stage in run.settings.stages:
        last = min(done + stage.sweeps, run.sweep)
        if last > done:
            spans.append(
                StageSpan(
                    first=done + 1,
                    last=last,
                    sampler=stage.sampler,
                    paths=(stage.paths_in(1), stage.paths_in(stage.sweeps)),
                    averages=stage.average,
                    description=stage.describe(),
                )
            )
        done += stage.sweeps
    trace = run.trace
    return Course(
        trace.sweep,
        trace.log_joint,
        trace.mean_log_joint(),
        tuple(spans),
        em_totals(run),
        dict(trace.priors),
    )
