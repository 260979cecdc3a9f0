"""The search for a starting point: chains are found one by one.

From a random start, the sampler soon settles on chains that mix several true ones, and stays there. So chains
are added one at a time. The residuals that the chains so far leave are a hidden Markov model of one chain,
whose noise is everything that the remaining chains contribute, and therefore has a full covariance. Of
several short runs from random paths the most probable is kept: it is most often a pure chain. Then all chains
so far make a few sweeps together. In each further round a random third of the chains is dropped and searched
for again, and the better solution is kept.

The search ignores prior means. Where these alone distinguish chains and states, it ends by numbering them so
that the means are closest to their priors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, get_ident
from typing import TYPE_CHECKING

import numpy as np

from plait.arrays import Floats
from plait.blas import one_blas_thread
from plait.data.sequences import Sequences
from plait.models.factorial.parameters import FactorialParameters
from plait.models.factorial.priors import WEAK
from plait.models.factorial.starts import random_paths
from plait.models.model import Key, Paths, Report
from plait.models.sweeps import State, SweepSettings, sweeps
from plait.rng import INITIAL, PARAMETERS, SEARCH, SEARCH_STEP, generator
from plait.threads import Threads

if TYPE_CHECKING:
    from plait.models.factorial.model import FactorialHmmModel

_ATTEMPTS = 4  # runs from random paths; the most probable one is kept
_SWEEPS_PER_ATTEMPT = 60
_SWEEPS_TO_SETTLE = 5
_SHARE_REPLACED = 1 / 3
_MOST_FEATURES = 128  # with more, a full covariance would take most of the time of the search


@one_blas_thread
def find_path(model: FactorialHmmModel, seed: int, threads: Threads, report: Report | None = None) -> Paths:
    """Return a path (1, N) to start from; call `report` after each step, in the calling thread only."""
    n_chains = model.n_chains
    random = generator(seed, INITIAL, PARAMETERS, 0)
    best, best_log_joint = np.empty((n_chains, 0), np.uint16), -np.inf
    steps = _Steps(_n_steps(n_chains, model.search), report)
    for number in range(model.search):
        added = random.permutation(n_chains)[: _n_added(n_chains, number)].tolist()
        kept = [k for k in range(n_chains) if k not in added]
        first = SEARCH + number * (n_chains + 1) * SEARCH_STEP
        path, log_joint = _grow(model, best[kept].reshape(1, -1), kept, added, seed, first, threads, steps)
        if log_joint > best_log_joint:
            best = np.empty((n_chains, model.n_times), np.uint16)
            best[kept + added] = path.reshape(n_chains, -1)
            best_log_joint = log_joint
    return number_by_priors(model, best.reshape(1, -1), threads)


def _n_added(n_chains: int, number: int) -> int:
    """Return the number of chains that a round searches for: all in the first."""
    return math.ceil(n_chains * _SHARE_REPLACED) if number else n_chains


def _n_steps(n_chains: int, n_rounds: int) -> int:
    """Return the number of steps of a search; a step is one sweep of one chain."""
    total = 0
    for number in range(n_rounds):
        n_added = _n_added(n_chains, number)
        total += n_added * _ATTEMPTS * _SWEEPS_PER_ATTEMPT
        total += _SWEEPS_TO_SETTLE * sum(range(n_chains - n_added, n_chains + 1))
    return total


class _Steps:
    """Counts the steps of a search, reports them, and stops all attempts when one fails.

    Attempts run in several threads. All of them count, but only the thread that runs the search reports, so
    that a callback is called neither from two threads at once nor from an unexpected thread.
    """

    def __init__(self, total: int, report: Report | None) -> None:
        self._total, self._report = total, report
        self._done, self._lock = 0, Lock()
        self._caller, self._stopped = get_ident(), Event()

    def add(self, n: int) -> bool:
        """Count n steps; return whether to continue."""
        with self._lock:
            self._done += n
            done = self._done
        if self._report is not None and get_ident() == self._caller:
            self._report(done, self._total)
        return not self._stopped.is_set()

    @contextmanager
    def stop_all_on_error(self) -> Iterator[None]:
        """Let an error, or Ctrl-C, in this block end all attempts after the sweep they are in."""
        try:
            yield
        except BaseException:
            self._stopped.set()
            raise


def _grow(
    model: FactorialHmmModel,
    path: Paths,
    kept: list[int],
    added: list[int],
    seed: int,
    first: int,
    threads: Threads,
    steps: _Steps,
) -> tuple[Paths, float]:
    """Add chains to a path of the kept ones; return it with log P(p, w | mean of phi).

    Each chain uses `SEARCH_STEP` sweep numbers, from `first` on.
    """
    log_joint = -np.inf
    residuals = model.sequences.values
    for number in range(len(added) + 1):
        chains = kept + added[:number]
        begin = first + number * SEARCH_STEP
        if number:
            own = sub_model(model, chains[-1:], residuals)
            path = np.hstack([path, _best_of_attempts(own, seed, begin, threads, steps)])
        if chains:
            part = sub_model(model, chains)
            settled = _settle(part, path, _SWEEPS_TO_SETTLE, seed, begin - 1, threads, steps)
            assert settled is not None  # only attempts that run in parallel are stopped
            mean, log_joint = settled
            residuals = model.sequences.values.copy()
            for means, states in zip(mean.means, path.reshape(len(chains), -1), strict=True):
                residuals -= means[states]
    return path, log_joint


def sub_model(model: FactorialHmmModel, chains: list[int], values: Floats | None = None) -> FactorialHmmModel:
    """Return a model of some of the chains, of these data or of others."""
    n_states, n_features = model.n_states, model.sequences.n_features
    sequences = model.sequences if values is None else Sequences(values, model.sequences.offsets)
    priors = model.priors
    moves = priors.transitions.prior.reshape(model.n_chains, n_states, n_states)
    weight = priors.mean_weights[chains]
    if not priors.means_are_alike:  # the search ignores prior means, so they must not weigh much
        weight = np.minimum(weight, WEAK)
    return type(model)(
        sequences,
        len(chains),
        n_states,
        covariance="full" if n_features <= _MOST_FEATURES else model.covariance,
        start_prior=priors.start.prior[chains],
        transition_prior=moves[chains],
        mean_weight=weight,
        search=0,
    )


def _best_of_attempts(
    model: FactorialHmmModel, seed: int, begin: int, threads: Threads, steps: _Steps
) -> Paths:
    """Return the most probable of several paths (1, N), each found by a short run of one path."""

    def attempt(number: int, _: int) -> tuple[Paths, float] | None:
        first = begin + (1 + number) * (_SWEEPS_PER_ATTEMPT + 1)
        with steps.stop_all_on_error(), Threads(1) as alone:
            path = random_paths(model, 1, Key(seed, first), alone)
            settled = _settle(model, path, _SWEEPS_PER_ATTEMPT, seed, first, alone, steps)
        return None if settled is None else (path, settled[1])

    # Ctrl-C reaches the calling thread within an attempt of its own, or while it waits for the others.
    with steps.stop_all_on_error():
        attempts = threads.map(attempt, [(number, number + 1) for number in range(_ATTEMPTS)])
    return max((found for found in attempts if found is not None), key=lambda found: found[1])[0]


def _settle(
    model: FactorialHmmModel,
    path: Paths,
    n_sweeps: int,
    seed: int,
    before: int,
    threads: Threads,
    steps: _Steps,
) -> tuple[FactorialParameters, float] | None:
    """Run sweeps from number `before` + 1 on, in place; return the mean of phi and its log P(p, w | phi).

    Returns None if the sweeps were stopped.
    """
    algorithm = SweepSettings(seed)
    for _ in sweeps(model, State(before, path), n_sweeps, algorithm, threads):
        if not steps.add(model.n_chains):
            return None
    mean = model.mean_parameters(model.count(path, threads), threads)
    return mean, float(model.log_joint(path, mean, threads)[0])


def number_by_priors(model: FactorialHmmModel, path: Paths, threads: Threads) -> Paths:
    """Return a path (1, N) with chains and states numbered so that means are closest to their priors.

    Only differences between the means of a chain count: a constant that all of them share could as well
    belong to another chain. Distances have the weights of the priors.
    """
    if model.is_exchangeable or not model.priors.chains_are_alike:
        return path
    from scipy.optimize import linear_sum_assignment  # slow to import

    n_chains, n_states, _ = model.shape
    whole = sub_model(model, list(range(n_chains)))
    mean = whole.mean_parameters(whole.count(path, threads), threads)

    def differences(means: Floats) -> Floats:
        own = (means - means.mean(axis=1, keepdims=True)) / np.sqrt(model.moments.variance)
        return np.clip(own, -1e100, 1e100).reshape(n_chains * n_states, -1)  # so that squares are finite

    found, wanted = differences(mean.means), differences(model.priors.means)
    distances = (found**2).sum(axis=1)[:, None] + (wanted**2).sum(axis=1) - 2 * found @ wanted.T
    distances *= model.priors.mean_weights.reshape(-1)
    distances = distances.reshape(n_chains, n_states, n_chains, n_states)
    states = np.empty((n_chains, n_chains, n_states), np.uint16)
    costs = np.empty((n_chains, n_chains))
    for a, b in itertools.product(range(n_chains), repeat=2):
        matched = linear_sum_assignment(distances[a, :, b])
        states[a, b] = matched[1]
        costs[a, b] = distances[a, :, b][matched].sum()
    chains = path.reshape(n_chains, -1)
    numbered = np.empty_like(chains)
    for a, b in zip(*linear_sum_assignment(costs), strict=True):
        numbered[b] = states[a, b][chains[a]]
    return numbered.reshape(1, -1)
