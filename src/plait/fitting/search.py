"""Find the optimum of a model from many short starts.

    many random starts      a few iterations of EM each
    the best of them        some more; and again
    the very best           tries without one of its states: it is replaced by one of a new random start
    the last ones           to convergence

Most starts show after a few iterations that they lead nowhere, so this costs little more than a few full
climbs. The usual way to be stuck is to have two states where one would do, and one where two are needed;
moving a state mends that, which no number of EM iterations does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from plait.em import maximise
from plait.models.model import Key, Report
from plait.rng import INITIAL
from plait.run import Optimum
from plait.threads import Threads

ROUNDS: Final = ((5, 3), (12, 6), (30, 16))
"""Iterations of EM of each round, and the part of all starts that is left after it: a third, ..."""

_STARTS: Final = (4, 48)  # fewest and most
_SITES: Final = 300_000  # of all starts together: few starts for long data, whose climbs are long and smooth
_MOVES_PER_STATE: Final = 4  # with the most starts
_OF_MOVE: Final = (6, 30)  # iterations of EM to see where a move leads; and more if it may lead up
_FAR: Final = 20.0  # nats below the best: a move that is farther off after a few iterations is given up
_GAIN: Final = 0.1  # nats that a move must gain: less may be the same optimum, climbed a little further
_TOL: Final = 1e-3


@dataclass(frozen=True)
class Climb:
    """A climb by EM so far.

    Attributes
    ----------
    parameters : object
        phi.
    score : float
        log P(w | phi) before the last iteration.
    is_done : bool
        Whether it has converged.
    """

    parameters: Any
    score: float = -np.inf
    is_done: bool = False


def number_of_starts(n_sites: int) -> int:
    """Return the number of starts for so many observations."""
    return int(np.clip(_SITES // max(1, n_sites), *_STARTS))


def find_optimum(
    model: Any, seed: int, threads: Threads, *, n_iter: int, tol: float, report: Report | None = None
) -> tuple[Any, Optimum]:
    """Return the best parameters found, and what the search saw.

    Parameters
    ----------
    model : ExpectationModel
        The model, with random initial parameters (`first_parameters`).
    seed : int
        Determines all starts.
    threads : Threads
        Threads that share each E step. The bits do not depend on their number.
    n_iter : int
        Maximum number of iterations of each climb to convergence.
    tol : float
        A climb has converged when an iteration gains less than this; the last ones go on to 0.001.
    report : callable, optional
        Called with the number of climbs made and their total.
    """
    random = np.random.RandomState(seed)
    n_starts = number_of_starts(model.n_sites)
    left = [n_starts, *(max(1, n_starts // part) for _, part in ROUNDS)]
    n_moves = 0
    if model.is_exchangeable and model.n_states > 1:
        n_moves = _MOVES_PER_STATE * model.n_states * n_starts // _STARTS[1]
    total, done = sum(left) + n_moves, 0

    def climb(start: Climb, iterations: int, until: float = tol, *, counts: bool = True) -> Climb:
        nonlocal done
        made = _climb(model, start, iterations, until, threads)
        done += counts
        if report is not None and counts:
            report(done, total)
        return made

    climbs = [Climb(first) for first in _random_parameters(model, n_starts, random)]
    for (iterations, _), n_left in zip(ROUNDS, left[1:], strict=True):
        climbs = sorted((climb(start, iterations) for start in climbs), key=lambda made: -made.score)[:n_left]
    for moved in range(n_moves):
        best, (fresh,) = climbs[0], _random_parameters(model, 1, random)
        theirs = int(random.randint(model.n_states))
        start = Climb(best.parameters.with_state(moved % model.n_states, fresh, theirs))
        tried = climb(start, _OF_MOVE[0])
        if tried.score > best.score - _FAR:
            tried = climb(tried, _OF_MOVE[1], counts=False)
        if tried.score > best.score + _GAIN:
            climbs[0] = tried
    last = [climb(replace(start, is_done=False), n_iter, min(tol, _TOL)) for start in climbs]
    best = max(last, key=lambda made: made.score)
    finished = sorted((made.score for made in last), reverse=True)
    return best.parameters, Optimum(n_starts, tuple(finished), n_iter)


def _random_parameters(model: Any, n: int, random: np.random.RandomState) -> Iterator[Any]:
    for _ in range(n):
        yield model.first_parameters(Key(int(random.randint(2**31 - 1)), INITIAL))


def _climb(model: Any, start: Climb, iterations: int, tol: float, threads: Threads) -> Climb:
    """Make some iterations of EM more, unless it has converged."""
    if start.is_done:
        return start
    score, is_done = -np.inf, False

    def judge(log_likelihood: float) -> bool:
        nonlocal score, is_done
        is_done = log_likelihood - score < tol
        score = log_likelihood
        return is_done

    parameters = maximise(model, start.parameters, iterations, judge, threads)
    return Climb(parameters, score, is_done)
