"""Hidden Markov chains with known parameters: paths drawn given phi, likelihoods, posteriors, the best path.

p_i ~ start at the first site of a sequence, else transitions_{p_i-1}
w_i ~ the emissions of state p_i; see `plait.models.emissions`

`plait.models.hmm` adds the priors of phi.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.kernels import chains as kernels
from plait.models.emissions import SequenceEmissions
from plait.models.model import Key, Paths
from plait.models.priors import Floats
from plait.scratch import scratch, set_apart
from plait.threads import Range, Threads, even_ranges, use_threads, weighted_ranges

_SITES_A_RANGE = 8192  # below that, handing work to a thread costs more than it saves
_LONG = 65536  # a sequence of so many sites is filtered from both ends
_MOST_THRESHOLDS = 65536  # a table of more does not stay near the processor
_FORBIDDEN = 1e-200  # a smaller transition does not bring back a state that was lost to rounding


@dataclass(frozen=True)
class HmmCounts:
    """Sufficient statistics of all paths together; expected ones in EM.

    Attributes
    ----------
    starts : ndarray, (S,)
        How often a sequence starts in each state.
    pairs : ndarray, (S, S)
        How often state r follows state s.
    emissions : ndarray
        What the emissions count.
    """

    starts: Floats
    pairs: Floats
    emissions: Floats


@dataclass(frozen=True)
class HmmParameters:
    """The parameters phi.

    Attributes
    ----------
    start : ndarray, (S,)
        Law of the first state.
    transitions : ndarray, (S, S)
        Row a is the law of the state after a.
    emissions : CategoricalParameters, NormalParameters or PoissonParameters
        Laws of the observations in each state.
    """

    start: Floats
    transitions: Floats
    emissions: Any

    def permuted(self, order: NDArray[np.intp]) -> HmmParameters:
        """Return the parameters with the states in another order."""
        return HmmParameters(
            self.start[order], self.transitions[np.ix_(order, order)], self.emissions.permuted(order)
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the parameters by name."""
        emissions = {f"emissions.{name}": array for name, array in self.emissions.to_arrays().items()}
        return {"start": self.start, "transitions": self.transitions, **emissions}


class _Given(NamedTuple):
    """What kernels are given for a range of sequences: the range, the data, the weights, the chain."""

    first: int
    last: int
    offsets: NDArray[np.int64]
    base: int
    rows: NDArray[np.int32]
    weights: Floats
    logs: bool
    start: Floats
    transitions: Floats


@dataclass(frozen=True, eq=False)
class Chain:
    """A hidden Markov chain over sequences of observations; its parameters are given with every call.

    Parameters
    ----------
    emissions : CategoricalEmissions, GaussianEmissions or PoissonEmissions
        The data w, the number of states S, and how states make observations.
    """

    emissions: SequenceEmissions[Any]

    @property
    def sequences(self) -> Sequences:
        """The data w."""
        return self.emissions.sequences

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""
        return self.sequences.n_sites

    @property
    def n_states(self) -> int:
        """Number of states (S)."""
        return self.emissions.n_states

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        """Ranges of sequences of nearly equal work; a long sequence is a range of its own."""
        offsets = self.sequences.offsets
        n_ranges = int(offsets[-1]) // _SITES_A_RANGE
        long = np.flatnonzero(np.diff(offsets) >= _LONG)
        bounds = sorted({0, len(offsets) - 1, *long.tolist(), *(long + 1).tolist()})
        ranges = []
        for first, last in pairwise(bounds):
            share = n_ranges * int(offsets[last] - offsets[first]) // int(offsets[-1])
            ranges += [
                (first + a, first + b) for a, b in weighted_ranges(offsets[first : last + 1], max(1, share))
            ]
        return ranges

    @functools.cached_property
    def _site_ranges(self) -> list[Range]:
        return even_ranges(self.n_sites, self.n_sites // _SITES_A_RANGE)

    @functools.cached_property
    def _size(self) -> tuple[int, ...]:
        return kernels.size_of(self.n_states)

    # ---------------------------------------------------------------------------------------------
    # What kernels are given
    # ---------------------------------------------------------------------------------------------

    def _sites(self, first: int, last: int) -> Range:
        """Return the range of sites of a range of sequences."""
        return int(self.sequences.offsets[first]), int(self.sequences.offsets[last])

    def _given(self, parameters: HmmParameters, first: int, last: int, by_logs: bool) -> _Given:
        """Return what kernels are given for a range of sequences; all of it in logarithms if `by_logs`."""
        base, end = self._sites(first, last)
        weights = self.emissions.log_weights if by_logs else self.emissions.weights
        start, transitions = parameters.start, parameters.transitions
        if by_logs:
            with np.errstate(divide="ignore"):
                start, transitions = np.log(start), np.log(transitions)
        offsets, rows, logs = self.sequences.offsets, self.emissions.rows, self.emissions.logs
        made = weights(parameters.emissions, base, end)
        return _Given(first, last, offsets, base, rows, made, logs, start, transitions)

    def _room_for_messages(self, given: _Given, n_sites: int) -> Floats:
        """Return an array for the messages of so many sites: that of the weights, where it may be used up."""
        return given.weights if given.logs else np.empty((n_sites, self.n_states))

    def _longest(self, first: int, last: int) -> int:
        """Return the length of the longest of a range of sequences."""
        return int(self.sequences.lengths[first:last].max())

    def _shared_weights(self, parameters: HmmParameters, first: int, last: int, threads: Threads) -> Floats:
        """Return the weights of the sites first to last, made by all threads."""
        weights_of = functools.partial(self.emissions.weights, parameters.emissions)
        if not self.emissions.logs:
            return weights_of(first, last)
        ranges = even_ranges(last - first, (last - first) // _SITES_A_RANGE)
        return np.concatenate(threads.map(lambda a, b: weights_of(first + a, first + b), ranges))

    def _unexplained(self, k: int) -> PlaitError:
        names = self.sequences.names
        which = f"sequence {k}" if names is None else f"sequence {k} ({names[k]})"
        return PlaitError(
            f"no path of states can have made {which}: take out zeros from the start, transition or emission"
            " probabilities, or the sequence from the data"
        )

    # ---------------------------------------------------------------------------------------------
    # Paths drawn given phi
    # ---------------------------------------------------------------------------------------------

    def resample_blocked(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw whole paths: filter the data once, then draw every path against the filter's messages."""
        by_logs = _needs_logs(parameters)
        into = np.ascontiguousarray(parameters.transitions.T)

        def draw(first: int, last: int) -> int:
            given = self._given(parameters, first, last, by_logs)
            messages = self._room_for_messages(given, self._longest(first, last))
            streams, states, room = self._room_for_draws(len(paths))
            unexplained: int
            if by_logs:
                unexplained = kernels.resample_blocked_by_logs(*given, messages, paths, streams, room, *key)
            else:
                unexplained = kernels.resample_blocked(
                    self._size, *given, into, messages, paths, streams, states, room, *key
                )
            return unexplained

        short, long = self._ranges, []
        if not by_logs:
            is_long = [self._longest(*bounds) >= _LONG for bounds in self._ranges]
            short = [bounds for bounds, far in zip(self._ranges, is_long, strict=True) if not far]
            long = [bounds[0] for bounds, far in zip(self._ranges, is_long, strict=True) if far]
        unexplained = threads.map(draw, short)
        for k in long:
            if not self._resample_long(k, paths, parameters, into, key, threads):
                unexplained.append(draw(k, k + 1))
        for k in unexplained:
            if k >= 0:
                raise self._unexplained(k)

    def _resample_long(
        self, k: int, paths: Paths, parameters: HmmParameters, into: Floats, key: Key, threads: Threads
    ) -> bool:
        """Draw the paths of one long sequence, which is filtered from both ends at the same time.

        See `kernels.draw_paths`. Which sequences are long depends on the data alone, so the number of threads
        does not matter. Returns False, with nothing drawn, where the two ends do not meet.
        """
        first, last = self._sites(k, k + 1)
        meet = (first + last) // 2
        logs, n_states = self.emissions.logs, self.n_states
        start, transitions = parameters.start, parameters.transitions
        weights = self._shared_weights(parameters, first, last, threads)
        messages = weights if logs else np.empty((last - first, n_states))
        data = first, self.emissions.rows, weights, logs

        def filter_half(half: int, _: int) -> float:
            room = scratch((4, n_states))
            log_sum: float
            if half == 0:
                log_sum = kernels.filter_forward(
                    self._size, first, meet, *data, start, transitions, messages, True, room
                )
            else:
                log_sum = kernels.filter_backward(self._size, meet, last, *data, into, messages, room)
            return log_sum

        if min(threads.map(filter_half, [(0, 1), (1, 2)])) == -np.inf:
            return False
        # Two halves: as many groups of paths as half the threads. Paths of a group read messages together.
        groups = even_ranges(len(paths), (threads.n + 1) // 2)
        pieces = [(half, group) for group in groups for half in range(2)]

        def draw(piece: int, _: int) -> bool:
            half, (first_path, last_path) = pieces[piece]
            met: bool = kernels.draw_paths(
                self._size,
                first,
                meet,
                last,
                first,
                k,
                half == 0,
                transitions,
                into,
                messages,
                first_path,
                last_path,
                paths,
                *self._room_for_draws(len(paths)),
                *key,
            )
            return met

        return all(threads.map(draw, [(piece, piece + 1) for piece in range(len(pieces))]))

    def _room_for_draws(self, n_paths: int) -> tuple[NDArray[np.uint64], NDArray[np.int64], Floats]:
        return scratch((n_paths, 2), np.uint64), scratch(n_paths, np.int64), scratch((4, self.n_states))

    def resample_sites(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw site by site, as the paper has it, by a table of thresholds where that is small."""
        n_states, n_paths = self.n_states, len(paths)
        leaving = np.vstack([parameters.transitions, parameters.start])
        into = np.vstack([parameters.transitions.T, np.ones(n_states)])
        thresholds = self._thresholds(leaving, into, parameters, n_paths)

        def draw(first: int, last: int, weights: Floats, first_path: int, last_path: int) -> None:
            work = self._size, first, last, first_path, last_path, self.sequences.offsets
            streams = scratch((n_paths, 2), np.uint64)
            rows = self.emissions.rows
            if thresholds is not None:
                kernels.resample_by_thresholds(*work, rows, thresholds, paths, streams, *key)
                return
            base, _ = self._sites(first, last)
            room = scratch((2, n_states))
            data = base, rows, weights, self.emissions.logs
            kernels.resample_sites(*work, *data, leaving, into, paths, streams, room, *key)

        def draw_all(first: int, last: int) -> None:
            weights = self.emissions.weights(parameters.emissions, *self._sites(first, last))
            draw(first, last, weights, 0, n_paths)

        if len(self._ranges) >= threads.n:
            threads.map(draw_all, self._ranges)
            return
        for bounds in self._ranges:  # few sequences: the threads share the paths
            weights = self._shared_weights(parameters, *self._sites(*bounds), threads)
            threads.map(functools.partial(draw, *bounds, weights), even_ranges(n_paths, threads.n))

    def _thresholds(
        self, leaving: Floats, into: Floats, parameters: HmmParameters, n_paths: int
    ) -> Floats | None:
        """Return the table of `kernels.fill_thresholds`, or None where it would not pay."""
        if self.emissions.logs:
            return None
        table = self.emissions.weights(parameters.emissions, 0, 0)
        shape = (len(table), self.n_states + 1, self.n_states + 1, self.n_states)
        if math.prod(shape) > min(_MOST_THRESHOLDS, self.n_sites * n_paths):
            return None
        thresholds = np.empty(shape)
        kernels.fill_thresholds(leaving, into, table, thresholds)
        return thresholds

    # ---------------------------------------------------------------------------------------------
    # Counts, of paths or expected
    # ---------------------------------------------------------------------------------------------

    def count(self, paths: Paths, threads: Threads) -> HmmCounts:
        """Count starts, transitions and emissions over all paths."""
        n_states, offsets = self.n_states, self.sequences.offsets

        def count(first: int, last: int) -> HmmCounts:
            starts, pairs = scratch(n_states), scratch((n_states, n_states))
            k = int(np.searchsorted(offsets, first, side="right")) - 1
            kernels.count_pairs(first, last, k, offsets, paths, starts, pairs)
            return HmmCounts(starts, pairs, self.emissions.count(first, last, paths))

        return _added(threads.map(count, self._site_ranges))

    def expected_counts(self, parameters: HmmParameters, threads: Threads) -> tuple[HmmCounts, float]:
        """Return the counts that phi expects of a path, and log P(w | phi): the E step of EM."""

        def expect(first: int, last: int) -> tuple[HmmCounts, float]:
            starts, pairs, posteriors, likelihoods = self._smooth(first, last, parameters)
            emissions = self.emissions.expect(*self._sites(first, last), posteriors)
            return HmmCounts(starts, pairs, emissions), math.fsum(likelihoods)

        counts, likelihoods = zip(*threads.map(expect, self._ranges), strict=True)
        return _added(counts), math.fsum(likelihoods)

    # ---------------------------------------------------------------------------------------------
    # Likelihoods, posteriors and the best path
    # ---------------------------------------------------------------------------------------------

    def log_joint(self, paths: Paths, parameters: HmmParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path."""

        def add(first: int, last: int) -> Floats:
            sums = scratch(len(paths))
            kernels.log_joints_range(*self._given(parameters, first, last, True), paths, sums)
            return sums

        return np.sum(threads.map(add, self._ranges), axis=0)

    def log_likelihoods(self, parameters: HmmParameters, n_jobs: int | Threads | None = None) -> Floats:
        """Return log P(w | phi) of each sequence, (K,), by the forward recursion."""
        with use_threads(n_jobs) as threads:
            likelihoods = np.empty(self.sequences.n_sequences)
            by_logs = _needs_logs(parameters)

            def score(first: int, last: int) -> None:
                given = self._given(parameters, first, last, by_logs)
                room = scratch((4, self.n_states))
                if by_logs:
                    kernels.log_likelihoods_by_logs(*given, likelihoods[first:last], room)
                else:
                    kernels.log_likelihoods_range(self._size, *given, likelihoods[first:last], room)

            threads.map(score, self._ranges)
            return likelihoods

    def log_likelihood(self, parameters: HmmParameters, n_jobs: int | Threads | None = None) -> float:
        """Return log P(w | phi)."""
        with use_threads(n_jobs) as threads:
            return math.fsum(self.log_likelihoods(parameters, threads))

    def posteriors(
        self, parameters: HmmParameters, n_jobs: int | Threads | None = None
    ) -> tuple[Floats, Floats]:
        """Return P(p_i = s | w, phi), (N, S), and log P(w | phi) of each sequence, (K,)."""
        with use_threads(n_jobs) as threads:
            parts = threads.map(lambda first, last: self._smooth(first, last, parameters)[2:], self._ranges)
            posteriors, likelihoods = zip(*parts, strict=True)
            return np.concatenate(posteriors), np.concatenate(likelihoods)

    def _smooth(
        self, first: int, last: int, parameters: HmmParameters
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the expected starts and pairs, the posteriors and the log-likelihoods of some sequences."""
        by_logs, n_states = _needs_logs(parameters), self.n_states
        base, end = self._sites(first, last)
        given = self._given(parameters, first, last, by_logs)
        posteriors = self._room_for_messages(given, end - base)
        starts, pairs = scratch(n_states), scratch((n_states, n_states))
        likelihoods = np.empty(last - first)
        results = posteriors, starts, pairs, likelihoods, scratch((4, n_states))
        if by_logs:
            kernels.smooth_by_logs(*given, *results)
        else:
            into = np.ascontiguousarray(parameters.transitions.T)
            kernels.smooth_range(self._size, *given, into, *results)
        if not np.isfinite(likelihoods).all():
            raise self._unexplained(first + int(np.flatnonzero(~np.isfinite(likelihoods))[0]))
        return starts, pairs, posteriors, likelihoods

    def best_paths(
        self, parameters: HmmParameters, n_jobs: int | Threads | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the most probable states, (N,), and their log P(p, w | phi) for each sequence, (K,)."""
        with use_threads(n_jobs) as threads:
            best = np.empty(self.n_sites, np.int64)
            likelihoods = np.empty(self.sequences.n_sequences)

            def find(first: int, last: int) -> None:
                given = self._given(parameters, first, last, True)
                arrows = np.empty((self._longest(first, last), self.n_states), np.uint16)
                room = scratch((2, self.n_states))
                kernels.best_paths_range(self._size, *given, arrows, best, likelihoods[first:last], room)

            threads.map(find, self._ranges)
            return best, likelihoods


def _needs_logs(parameters: HmmParameters) -> bool:
    """Tell whether a state may fall too far behind for real numbers and yet win; see `kernels.chains`."""
    return bool(parameters.transitions.min() < _FORBIDDEN)


def _added(parts: Iterable[HmmCounts]) -> HmmCounts:
    each = zip(*((part.starts, part.pairs, part.emissions) for part in parts), strict=True)
    return HmmCounts(*(set_apart(np.sum(arrays, axis=0)) for arrays in each))
