"""How to fit a model from one start: sample, then climb to the local maximum by EM."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from plait.em import ExpectationModel, maximise
from plait.fitting.monitor import ConvergenceMonitor
from plait.fitting.search import find_optimum
from plait.interrupts import interrupt_flag
from plait.models.model import Key, Report
from plait.models.sweeps import State
from plait.plans import Settings
from plait.rng import INITIAL
from plait.run import Optimum, Run
from plait.sampler import Callback, Interrupted, Progress, start_run
from plait.threads import Threads
from plait.trace import Trace

_SWEEPS = 10
"""Sweeps that follow a search: they draw the paths, and rarely leave the optimum that it found."""


@dataclass(frozen=True)
class Plan:
    """The steps of a fit from one start.

    Attributes
    ----------
    n_paths : int
        Number of paths m; 0 for EM alone.
    n_sweeps : int
        Number of sweeps of the sampler.
    collapsed : bool
        Algorithm 2 (True) or Algorithm 1 (False).
    em_iterations : int
        Maximum number of iterations of EM, after the sweeps or alone; 0 for none.
    search : int
        Maximum number of iterations of EM of each climb of a search for the start (`plait.fitting.search`); 0
        for no search. The start that it finds is the result if nothing better is sampled.
    """

    n_paths: int
    n_sweeps: int
    collapsed: bool = False
    em_iterations: int = 0
    search: int = 0

    @classmethod
    def of_method(cls, method: str, *, n_paths: int, n_iter: int, polish: bool) -> Plan:
        """Return the plan of a method by name: "search", a sampler, "collapsed" or not, or "em" for EM alone.

        `n_iter` is the number of sweeps, after a search at most a few, and the maximum number of iterations
        of EM.
        """
        if method == "em":
            return cls(0, 0, em_iterations=n_iter)
        em_iterations = n_iter if polish else 0
        if method == "search":
            return cls(n_paths, min(n_iter, _SWEEPS), False, em_iterations, search=n_iter)
        return cls(n_paths, n_iter, method == "collapsed", em_iterations)

    def settings(self, seed: int) -> Settings:
        """Return the settings of a run."""
        n_sweeps = self.n_sweeps if self.n_paths else max(1, self.em_iterations)
        return Settings(self.n_paths, n_sweeps, seed, self.collapsed, thin=10)


class Start(NamedTuple):
    """Where a fit starts."""

    model: Any
    """The model, with the initial parameters where it takes any."""

    seed: int
    """Seed of the run."""

    parameters: Any = None
    """Initial parameters, from which EM alone starts."""

    optimum: Optimum | None = None
    """What a search for them saw."""


@dataclass(frozen=True)
class Fit:
    """A fit from one start.

    Attributes
    ----------
    run : Run
        The run; its `estimate` is the result of EM, if EM followed. After EM alone it has no paths.
    score : float
        The best fit has the highest score: log P(w | phi), or another measure for models without it.
    sampled : tuple of float
        Likelihoods that the monitor recorded along the sweeps.
    late : object
        Sums over the late sweeps, if they were collected.
    interrupted : KeyboardInterrupt or None
        Ctrl-C, for the caller to raise once it has stored the result so far.
    """

    run: Run
    score: float
    sampled: tuple[float, ...] = ()
    late: Any = None
    interrupted: KeyboardInterrupt | None = None

    @property
    def history(self) -> tuple[float, ...]:
        """What the monitor recorded: along the sweeps, then in each iteration of EM."""
        return self.sampled + self.run.em_history

    @property
    def n_iter(self) -> int:
        """Number of sweeps and iterations of EM."""
        sweeps = self.run.sweep if self.run.settings.n_paths else 0
        return sweeps + len(self.run.em_history)


def random_start(model: Any, seed_of_parameters: int, seed_of_run: int) -> Start:
    """Return a start with random parameters, from which the initial paths are drawn."""
    first = model.first_parameters(Key(seed_of_parameters, INITIAL))
    return start_at(model, first, seed_of_run)


def searched_start(
    model: Any,
    seed_of_parameters: int,
    seed_of_run: int,
    plan: Plan,
    tol: float,
    threads: Threads,
    report: Report | None = None,
) -> Start:
    """Return the start that a search finds, which replaces one with random parameters."""
    parameters, optimum = find_optimum(
        model, seed_of_parameters, threads, n_iter=plan.search, tol=tol, report=report
    )
    return Start(replace(model, initial=parameters), seed_of_run, parameters, optimum)


def start_at(model: Any, parameters: Any, seed_of_run: int) -> Start:
    """Return a start with given parameters."""
    return Start(replace(model, initial=parameters), seed_of_run, parameters)


def draw_seed(random: np.random.RandomState) -> int:
    """Draw the seed of a run."""
    return int(random.randint(2**31 - 1))


def fit_once(
    start: Start,
    plan: Plan,
    monitor: ConvergenceMonitor,
    threads: Threads,
    *,
    climb: ExpectationModel[Any] | None = None,
    callback: Callback | None = None,
    n_jobs: int | None = None,
) -> Fit:
    """Fit from one start.

    Parameters
    ----------
    start : Start
        The starting point.
    plan : Plan
        The steps of the fit.
    monitor : ConvergenceMonitor
        Records the likelihoods and says when EM has converged. A callback may use it along the sweeps.
    threads : Threads
        Threads that share the work.
    climb : ExpectationModel, optional
        The objective of EM alone, if not the model itself.
    callback, n_jobs
        As for `plait.sample`.

    Returns
    -------
    Fit
        Returned after Ctrl-C too, with `interrupted` set.
    """
    monitor._reset()
    if not plan.n_paths:
        return finish(run_without_paths(start, plan), plan, monitor, threads, climb=climb)
    interrupted = None
    try:
        settings = plan.settings(start.seed)
        run = start_run(start.model, settings, n_jobs=n_jobs, callback=callback, optimum=start.optimum)
    except Interrupted as error:
        run, interrupted = error.run, error
    return finish(run, plan, monitor, threads, interrupted=interrupted)


def run_without_paths(start: Start, plan: Plan) -> Run:
    """Return the run of EM alone, before its first iteration."""
    paths = np.empty((0, start.model.n_sites), np.uint16)
    return Run(start.model, paths, 0, plan.settings(start.seed), Trace.empty(0), estimate=start.parameters)


def finish(
    run: Run,
    plan: Plan,
    monitor: ConvergenceMonitor,
    threads: Threads,
    *,
    climb: ExpectationModel[Any] | None = None,
    callback: Callback | None = None,
    keep: Callable[[Run], object] | None = None,
    interrupted: KeyboardInterrupt | None = None,
) -> Fit:
    """Improve the parameters of a run by EM, if that is planned, and score them.

    EM alone continues from the iterations that the run has made, with the same bits as without a pause.

    Parameters
    ----------
    run, plan, monitor, threads, climb, callback
        As for `fit_once`. The callback is called after each iteration of EM.
    keep : callable, optional
        Called after each iteration of EM with the run as it is by then.
    interrupted : KeyboardInterrupt, optional
        Ctrl-C that ended the sweeps: there is no EM then.
    """
    sampled = tuple(monitor.history)
    with interrupt_flag("iteration of EM") as flag:
        if plan.em_iterations and interrupted is None:
            run = _maximise(run, plan, monitor, threads, climb or run.model, callback, keep, flag)
        if plan.n_paths and interrupted is None:
            run = _with_best_estimate(run, threads)
        model: Any = run.model
        score = float(model.log_likelihood(run.parameters(threads), threads))
    if flag.is_set():
        interrupted = Interrupted(run, flag.number)
    return Fit(run, score, sampled, interrupted=interrupted)


def _with_best_estimate(run: Run, threads: Threads) -> Run:
    """Return the run with the parameters of the highest likelihood among those that compete with its own.

    They are those that a search started from, and those that were sampled, unless the user gave priors. EM
    maximises P(phi) P(w | phi), and a sampler with m paths draws from P(phi) P(w | phi)^m, in which the prior
    counts less: so EM can end lower, where the observations of a state are few or equal. That is right for a
    prior that the user means, not for one that is a safeguard.
    """
    model: Any = run.model
    candidates = [run.parameters(threads)]
    if run.estimate is not None and _has_default_prior(model):
        candidates.append(replace(run, estimate=None).parameters(threads))
    if run.optimum is not None:
        candidates.append(model.initial)
    best = max(candidates, key=lambda parameters: model.log_likelihood(parameters, threads))
    return run if best is candidates[0] else replace(run, estimate=best)


def _has_default_prior(model: Any) -> bool:
    return bool(getattr(model, "has_default_prior", False))


def _maximise(
    run: Run,
    plan: Plan,
    monitor: ConvergenceMonitor,
    threads: Threads,
    climb: Any,
    callback: Callback | None,
    keep: Callable[[Run], object] | None,
    flag: threading.Event,
) -> Run:
    """Return the run after EM, or after Ctrl-C the iterations of EM made so far."""
    began = time.perf_counter() - run.seconds
    parameters = run.parameters(threads)
    monitor.warns = not (plan.n_paths and _has_default_prior(run.model))
    monitor._reset()  # hmmlearn's name: users may pass one of its monitors
    if run.em_history and not plan.n_paths:
        monitor.history.extend(run.em_history)
        monitor.iter = len(run.em_history)
        if monitor.converged:
            return run

    def result() -> Run:
        history = tuple(monitor.history)
        return replace(
            run,
            estimate=parameters,
            em_history=history,
            converged=bool(monitor.converged),
            seconds=time.perf_counter() - began,
            sweep=run.sweep if plan.n_paths else len(history),
        )

    def remember(improved: Any) -> None:
        nonlocal parameters
        parameters = improved

    def report(log_likelihood: float) -> bool:
        monitor.report(log_likelihood)
        if callback is not None:
            state = State(monitor.iter, run.paths, parameters=parameters)
            seconds = time.perf_counter() - began
            callback(Progress(state, plan.em_iterations, seconds, Trace.empty(0), unit="EM iteration"))
        if keep is not None:
            keep(result())
        return bool(monitor.converged) or flag.is_set()

    left = plan.em_iterations - monitor.iter
    maximise(climb, parameters, left, report, threads, remember)
    return result()


def record_likelihoods(
    model: Any, monitor: ConvergenceMonitor, every: int, n_sweeps: int, threads: Threads
) -> Callback:
    """Return a callback that records log P(w | phi) every few sweeps."""

    def record(progress: Any) -> None:
        state = progress.state
        if state.sweep and (state.sweep % every == 0 or state.sweep == n_sweeps):
            parameters = state.parameters or model.mean_parameters(state.counts, threads)
            log_likelihood = model.log_likelihood(parameters, threads)
            if hasattr(monitor, "follow"):
                monitor.follow(state.sweep, log_likelihood)
            else:  # one of hmmlearn's
                monitor.iter = state.sweep
                monitor.history.append(log_likelihood)

    return record
