"""Convergence monitors for EM, as in hmmlearn and scikit-learn."""

from __future__ import annotations

import logging
import sys
from collections import deque

_log = logging.getLogger("plait")

_ROUNDING = 1e-8  # relative decrease of a likelihood that rounding can cause


class ConvergenceMonitor:
    """Records the likelihood of the data along a fit, and says when EM has converged.

    To stop EM by your own rule, set an estimator's `monitor_` to an instance of a subclass that overrides
    `converged`.

    Parameters
    ----------
    tol : float
        EM has converged when an iteration raises the log-likelihood by less than this.
    n_iter : int
        Maximum number of iterations of EM.
    verbose : bool
        Whether to print each likelihood on standard error.

    Attributes
    ----------
    history : deque of float
        log P(w | phi): of every iteration of EM, and every few sweeps of a sampler.
    iter : int
        Number of iterations, or of sweeps, made.
    """

    warns = True
    """Whether a fall of the likelihood is worth a warning: not if the parameters before it are kept."""

    _template = "{iter:>10d} {log_prob:>16.8f} {delta:>+16.8f}"

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:
        self.tol = tol
        self.n_iter = n_iter
        self.verbose = verbose
        self.history: deque[float] = deque()
        self.iter = 0

    def __repr__(self) -> str:
        values = dict(vars(self), history=list(self.history))
        inner = "".join(f"    {name}={value},\n" for name, value in sorted(values.items()))
        return f"{type(self).__name__}(\n{inner})"

    def _reset(self) -> None:
        """Forget everything."""
        self.iter = 0
        self.history.clear()

    def follow(self, sweep: int, log_prob: float) -> None:
        """Record the likelihood after a sweep of a sampler, which may fall as well as rise."""
        self.iter = sweep
        self._record(log_prob)

    def report(self, log_prob: float) -> None:
        """Record the likelihood of an iteration of EM, which should not fall."""
        self.iter += 1
        fall = self.history[-1] - log_prob if self.history else 0.0
        self._record(log_prob)
        if self.warns and fall > max(
            self.tol, _ROUNDING * max(1.0, abs(log_prob))
        ):  # a smaller fall means convergence
            _log.warning(
                "EM lowered the log-likelihood by %g, to %g: it raises that plus the log-prior, which"
                " outweighs the data where the observations of a state are few or equal",
                fall,
                log_prob,
            )

    def _record(self, log_prob: float) -> None:
        if self.verbose:
            delta = log_prob - self.history[-1] if self.history else float("nan")
            print(self._template.format(iter=self.iter, log_prob=log_prob, delta=delta), file=sys.stderr)
        self.history.append(log_prob)

    @property
    def converged(self) -> bool:
        """Whether all iterations were made, or the last gained less than `tol`."""
        gained_little = len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
        return self.iter == self.n_iter or gained_little


class MeanMonitor(ConvergenceMonitor):
    """A monitor as in scikit-learn's mixtures, of the mean log-likelihood of an observation.

    Parameters
    ----------
    tol : float
        EM has converged when an iteration changes the mean log-likelihood by less than this.
    n_iter : int
        Maximum number of iterations of EM.
    verbose : bool
        Whether to print each likelihood on standard error.
    n_sites : int
        Number of observations.
    """

    def __init__(self, tol: float, n_iter: int, verbose: bool, n_sites: int) -> None:
        super().__init__(tol, n_iter, verbose)
        self.n_sites = n_sites

    def report(self, log_prob: float) -> None:
        """Record the likelihood of an iteration of EM; a prior may lower it."""
        self.follow(self.iter + 1, log_prob / self.n_sites)

    @property
    def converged(self) -> bool:
        """Whether the last iteration changed the mean by less than `tol`."""
        return len(self.history) > 1 and abs(self.history[-1] - self.history[-2]) < self.tol
