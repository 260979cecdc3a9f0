"""EM: the most probable parameters near given ones.

For hidden Markov models this is the algorithm of Baum and Welch. It climbs to the nearest maximum of
P(phi) P(w | phi) and stays there, which is why there are samplers; from a sampled solution it finds the exact
top of the hill that the sampler walks on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from plait.threads import Threads

Parameters = TypeVar("Parameters")


class ExpectationModel(Protocol[Parameters]):
    """What EM needs to know of a model."""

    def expected_counts(self, parameters: Parameters, threads: Threads) -> tuple[Any, float]:
        """Return the sufficient statistics that phi expects of a path, and log P(w | phi): the E step."""

    def mode_parameters(self, counts: Any) -> Parameters:
        """Return the most probable phi given the statistics: the M step."""


def maximise(
    model: ExpectationModel[Parameters],
    parameters: Parameters,
    n_iter: int,
    report: Callable[[float], bool],
    threads: Threads,
) -> Parameters:
    """Return parameters improved by EM.

    Parameters
    ----------
    model : ExpectationModel
        What to fit.
    parameters : object
        Where to begin.
    n_iter : int
        The most iterations to make.
    report : callable
        Called in every iteration with log P(w | phi) of the parameters that it improves on; a true result
        ends EM after that iteration.
    threads : Threads
        Who does the work.
    """
    for _ in range(n_iter):
        counts, log_likelihood = model.expected_counts(parameters, threads)
        parameters = model.mode_parameters(counts)
        if report(log_likelihood):
            break
    return parameters
