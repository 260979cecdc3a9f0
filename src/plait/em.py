"""Expectation maximisation: the most probable parameters near given ones.

For hidden Markov models this is the Baum-Welch algorithm. It climbs to a local maximum of P(phi) P(w | phi)
and stays there. After a sampler, it finds the local maximum around which the sampler moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from plait.threads import Threads

Parameters = TypeVar("Parameters")


class ExpectationModel(Protocol[Parameters]):
    """The methods of a model that EM uses."""

    def expected_counts(self, parameters: Parameters, threads: Threads) -> tuple[Any, float]:
        """Return the expected statistics of a path given w and phi, and log P(w | phi): the E step."""

    def mode_parameters(self, counts: Any) -> Parameters:
        """Return the most probable phi given sufficient statistics: the M step."""


def maximise(
    model: ExpectationModel[Parameters],
    parameters: Parameters,
    n_iter: int,
    report: Callable[[float], bool],
    threads: Threads,
    keep: Callable[[Parameters], object] | None = None,
) -> Parameters:
    """Return parameters improved by EM.

    Parameters
    ----------
    model : ExpectationModel
        The model to fit.
    parameters : object
        Initial parameters.
    n_iter : int
        Maximum number of iterations.
    report : callable
        Called in every iteration with log P(w | phi) of the parameters before that iteration; if it returns
        True, EM stops after that iteration.
    threads : Threads
        Threads that share the E step.
    keep : callable, optional
        Called in every iteration with the improved parameters, before `report`.

    Returns
    -------
    object
        The parameters after the last iteration.
    """
    for _ in range(n_iter):
        counts, log_likelihood = model.expected_counts(parameters, threads)
        parameters = model.mode_parameters(counts)
        if keep is not None:
            keep(parameters)
        if report(log_likelihood):
            break
    return parameters
