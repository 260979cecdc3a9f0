"""Hidden Markov chains with given parameters: draws of paths, likelihoods, posteriors and the best path.

p_i ~ start at the first site of a sequence, else transitions_{p_i-1}
w_i ~ the emissions of state p_i; see `plait.models.emissions`

`plait.models.hmm` adds the priors of phi.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, check_form
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.kernels import chains as kernels
from plait.models.chain_parameters import HmmCounts, HmmParameters
from plait.models.emissions import (
    CompletingEmissions,
    DivisibleEmissions,
    SequenceEmissions,
    check_divisible,
)
from plait.models.model import Key, Paths, changes_paths, checks_paths, unchecked
from plait.models.shares import Share
from plait.scratch import scratch, set_apart
from plait.threads import Range, Threads, even_ranges, use_threads, weighted_ranges

__all__ = ["Chain", "HmmCounts", "HmmParameters"]

# With less work in a range, a thread costs more than it saves.
_SITES_PER_RANGE = 8192
_WORK_PER_RANGE = 2**17  # in products of a state before and a state after
_LONG = 65536  # sequences of at least this many sites are filtered from both ends
_MOST_THRESHOLDS = 65536  # a larger table does not stay in the processor's cache
_COMPLETIONS = 20  # iterations by which missing features and the mean of the parameters settle
_FORBIDDEN = 1e-200  # a state lost to underflow is not recovered by a transition less probable than this


@dataclass(frozen=True, eq=False)
class Chain:
    """A hidden Markov chain over sequences of observations; every method takes its parameters.

    Parameters
    ----------
    emissions : CategoricalEmissions, GaussianEmissions or PoissonEmissions
        The data w, the number of states S, and the distribution of observations in each state.
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

    @property
    def completes(self) -> bool:
        """Whether a sweep draws what observations lack; see `plait.models.emissions.completion`."""
        return self.emissions.completes

    @functools.cached_property
    def _offsets(self) -> NDArray[np.int64]:
        """Where each sequence starts, and the number of sites, (K + 1,).

        In a share, sequences keep their numbers, from which random streams are opened; those before it are
        empty.
        """
        return self.sequences.offsets

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        """Ranges of sequences of nearly equal work; each long sequence is a range of its own."""
        offsets = self._offsets
        n_ranges = int(offsets[-1]) // max(_SITES_PER_RANGE, _WORK_PER_RANGE // self.n_states**2)
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
    def _counted_ranges(self) -> list[Range]:
        """Ranges of sites to be counted: those of `_ranges`, and parts of sequences that are a range."""
        ranges = []
        for first, last in self._ranges:
            base, end = self._sites(first, last)
            n_parts = (end - base) // _SITES_PER_RANGE if last == first + 1 else 1
            ranges += [(base + a, base + b) for a, b in even_ranges(end - base, n_parts)]
        return ranges

    @functools.cached_property
    def _size(self) -> tuple[int, ...]:
        return kernels.size_of(self.n_states)

    # ---------------------------------------------------------------------------------------------
    # Arguments of kernels
    # ---------------------------------------------------------------------------------------------

    def _sites(self, first: int, last: int) -> Range:
        """Return the range of sites of a range of sequences."""
        return int(self._offsets[first]), int(self._offsets[last])

    def _weights(
        self, parameters: HmmParameters, first: int, last: int, by_logs: bool
    ) -> kernels.EmissionWeights:
        """Return the emission weights of a range of sequences, always in logarithms if `by_logs`."""
        base, end = self._sites(first, last)
        weights_of = self.emissions.log_weights if by_logs else self.emissions.weights
        weights = np.ascontiguousarray(weights_of(parameters.emissions, base, end))
        return kernels.EmissionWeights(self.emissions.rows, weights, self.emissions.logs, base)

    def _shared_weights(
        self, parameters: HmmParameters, first: int, last: int, threads: Threads
    ) -> kernels.EmissionWeights:
        """Return the emission weights of a range of sequences, computed by all threads."""
        base, end = self._sites(first, last)
        weights_of = functools.partial(self.emissions.weights, parameters.emissions)
        if self.emissions.logs:
            ranges = even_ranges(end - base, (end - base) // _SITES_PER_RANGE)
            weights = np.concatenate(threads.map(lambda a, b: weights_of(base + a, base + b), ranges))
        else:
            weights = np.ascontiguousarray(weights_of(base, end))
        return kernels.EmissionWeights(self.emissions.rows, weights, self.emissions.logs, base)

    def _check_form(self, parameters: HmmParameters) -> None:
        """Raise an error if the start or transition probabilities do not have the form that kernels take."""
        check_form("the start probabilities", parameters.start, (self.n_states,))
        shape = self.n_states, self.n_states
        check_form("the transition probabilities", parameters.transitions, shape)

    def _needs_logs(self, parameters: HmmParameters) -> bool:
        """Return whether messages need logarithms, to lose no state; see `plait.kernels.chains.logs`."""
        self._check_form(parameters)
        return bool(parameters.transitions.min() < _FORBIDDEN)

    def _probabilities(self, parameters: HmmParameters, by_logs: bool) -> kernels.ChainProbabilities:
        """Return the start and transition probabilities for kernels, in logarithms if `by_logs`."""
        self._check_form(parameters)
        start, transitions = parameters.start, parameters.transitions
        if by_logs:
            with np.errstate(divide="ignore"):
                start, transitions = np.log(start), np.log(transitions)
        return kernels.ChainProbabilities(
            start, np.ascontiguousarray(transitions), np.ascontiguousarray(transitions.T)
        )

    def _message_buffer(self, emissions: kernels.EmissionWeights, n_sites: int) -> Floats:
        """Return an array for the messages of `n_sites` sites: the weights, if these have a row per site."""
        return emissions.weights if emissions.logs else np.empty((n_sites, self.n_states))

    def _row_scratch(self) -> Floats:
        return scratch((4, self.n_states))

    def _draw_scratch(self, n_paths: int) -> kernels.DrawScratch:
        return kernels.DrawScratch(
            scratch((n_paths, 2), np.uint64), scratch(n_paths, np.int64), self._row_scratch()
        )

    def _longest(self, first: int, last: int) -> int:
        """Return the length of the longest of a range of sequences."""
        return int(np.diff(self._offsets[first : last + 1]).max())

    def _impossible(self, k: int) -> PlaitError:
        names = self.sequences.names
        which = f"sequence {k}" if names is None else f"sequence {k} ({names[k]})"
        return PlaitError(
            f"{which} has probability 0 under every state path: remove zeros from the start, transition or"
            " emission probabilities, or remove the sequence from the data"
        )

    # ---------------------------------------------------------------------------------------------
    # Draws of paths given phi
    # ---------------------------------------------------------------------------------------------

    @changes_paths
    def resample_blocked(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw whole paths: filter the data once, then draw every path against the messages."""
        by_logs = self._needs_logs(parameters)
        chain = self._probabilities(parameters, by_logs)

        def draw(first: int, last: int) -> int:
            emissions = self._weights(parameters, first, last, by_logs)
            messages = self._message_buffer(emissions, self._longest(first, last))
            data = self._offsets, chain, emissions, messages, paths, self._draw_scratch(len(paths))
            impossible: int
            if by_logs:
                impossible = kernels.resample_blocked_by_logs(first, last, *data, key)
            else:
                impossible = kernels.resample_blocked(first, last, self._size, *data, key)
            return impossible

        short, long = self._ranges, []
        if not by_logs:
            is_long = [self._longest(*bounds) >= _LONG for bounds in self._ranges]
            short = [bounds for bounds, far in zip(self._ranges, is_long, strict=True) if not far]
            long = [bounds[0] for bounds, far in zip(self._ranges, is_long, strict=True) if far]
        impossible = threads.map(draw, short)
        for k in long:
            if not self._resample_long(k, paths, parameters, chain, key, threads):
                impossible.append(draw(k, k + 1))
        for k in impossible:
            if k >= 0:
                raise self._impossible(k)

    def _resample_long(
        self,
        k: int,
        paths: Paths,
        parameters: HmmParameters,
        chain: kernels.ChainProbabilities,
        key: Key,
        threads: Threads,
    ) -> bool:
        """Draw the paths of one long sequence, which is filtered from both ends at the same time.

        See `kernels.draw_paths`. Which sequences are long depends on the data alone, so the number of threads
        does not matter. Return False, with nothing drawn, if the two ends do not meet.
        """
        first, last = self._sites(k, k + 1)
        span = kernels.Span(first, (first + last) // 2, last, k)
        emissions = self._shared_weights(parameters, k, k + 1, threads)
        buffer = emissions.weights
        if not emissions.logs:
            buffer = threads.buffer("messages", (last - first, self.n_states), np.float64)
        messages = kernels.Messages(buffer, first)

        def filter_half(half: int, _: int) -> float:
            data = self._size, chain, emissions, messages
            log_sum: float
            if half == 0:
                log_sum = kernels.filter_forward(first, span.meet, *data, True, self._row_scratch())
            else:
                log_sum = kernels.filter_backward(span.meet, last, *data, self._row_scratch())
            return log_sum

        if min(threads.map(filter_half, [(0, 1), (1, 2)])) == -np.inf:
            return False
        # Each group of paths has two halves, so there are half as many groups as threads.
        groups = even_ranges(len(paths), (threads.n + 1) // 2)
        pieces = [(half, group) for group in groups for half in range(2)]

        def draw(piece: int, _: int) -> bool:
            half, group = pieces[piece]
            buffers = self._draw_scratch(len(paths))
            met: bool = kernels.draw_paths(
                self._size, span, group, half == 0, chain, messages, paths, buffers, key
            )
            return met

        return all(threads.map(draw, [(piece, piece + 1) for piece in range(len(pieces))]))

    @changes_paths
    def resample_sites(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw site by site, as in the paper, from a table of thresholds if that is small."""
        self._check_form(parameters)
        n_paths, offsets = len(paths), self._offsets
        neighbours = kernels.Neighbours(
            np.ascontiguousarray(np.vstack([parameters.transitions, parameters.start])),
            np.ascontiguousarray(np.vstack([parameters.transitions.T, np.ones(self.n_states)])),
        )
        thresholds = self._thresholds(neighbours, parameters, n_paths)
        limits = None if thresholds is None or self.n_states != 2 else kernels.limits_of(thresholds)

        def draw(
            first: int, last: int, emissions: kernels.EmissionWeights, first_path: int, last_path: int
        ) -> None:
            work = first, last, (first_path, last_path), offsets
            buffers = self._draw_scratch(n_paths)
            streams = buffers.streams
            if limits is not None:
                kernels.resample_two(*work, emissions.rows, limits, paths, streams, key)
            elif thresholds is not None:
                table = emissions.rows, thresholds
                kernels.resample_by_thresholds(self._size, *work, *table, paths, streams, key)
            else:
                kernels.resample_sites(self._size, *work, neighbours, emissions, paths, buffers, key)

        def draw_all(first: int, last: int) -> None:
            draw(first, last, self._weights(parameters, first, last, False), 0, n_paths)

        if len(self._ranges) >= threads.n:
            threads.map(draw_all, self._ranges)
            return
        for bounds in self._ranges:  # few sequences: the threads share the paths
            emissions = self._shared_weights(parameters, *bounds, threads)
            threads.map(functools.partial(draw, *bounds, emissions), even_ranges(n_paths, threads.n))

    def _thresholds(
        self, neighbours: kernels.Neighbours, parameters: HmmParameters, n_paths: int
    ) -> Floats | None:
        """Return the table of `kernels.fill_thresholds`, or None if it would cost more than it saves."""
        if self.emissions.logs:
            return None
        table = self.emissions.weights(parameters.emissions, 0, 0)
        shape = (len(table), self.n_states + 1, self.n_states + 1, self.n_states)
        if math.prod(shape) > min(_MOST_THRESHOLDS, self.n_sites * n_paths):
            return None
        thresholds = np.empty(shape)
        kernels.fill_thresholds(neighbours, table, thresholds)
        return thresholds

    # ---------------------------------------------------------------------------------------------
    # Counts, of paths or expected
    # ---------------------------------------------------------------------------------------------

    @checks_paths
    def count(self, paths: Paths, threads: Threads) -> HmmCounts:
        """Count starts, transitions and emissions over all paths.

        If features depend on each other, what observations lack of them is expected given the mean of the
        parameters, which is found by iteration.
        """
        counts = self.sum_counts(unchecked(self.count_parts)(paths, threads))
        if not self.completes:
            return counts
        completed = counts
        for _ in range(_COMPLETIONS):
            given = self.emissions.mean(completed.emissions)
            expect = functools.partial(self._expect_completed, paths, given)
            completed = self._added(counts, threads, expect)
        return completed

    @checks_paths
    def complete(
        self, paths: Paths, parameters: HmmParameters | None, key: Key, threads: Threads
    ) -> HmmCounts:
        """Count like `count`, with what observations lack drawn given the parameters, for each path.

        Parameters that are not known, before the first sweep, are replaced by their mean.
        """
        if parameters is None:
            given = self.emissions.mean(unchecked(self.count)(paths, threads).emissions)
        else:
            given = parameters.emissions
        draw = unchecked(self._completing.count_completed)
        counts = self.sum_counts(unchecked(self.count_parts)(paths, threads))
        return self._added(counts, threads, lambda first, last: draw(first, last, paths, given, key))

    @property
    def _completing(self) -> CompletingEmissions[Any]:
        return cast(CompletingEmissions[Any], self.emissions)

    def _expect_completed(self, paths: Paths, given: Any, first: int, last: int) -> Floats:
        """Return the expected statistics of the observations that lack something, for all paths together."""
        times = np.zeros((last - first, self.n_states))
        for path in paths[:, first:last]:
            times[np.arange(last - first), path] += 1.0
        return self._completing.expect_completed(first, last, times, given)

    def _added(self, counts: HmmCounts, threads: Threads, more: Callable[[int, int], Floats]) -> HmmCounts:
        """Return the counts with more statistics of the emissions, which are computed by ranges of sites."""
        parts = threads.map(more, self._counted_ranges)
        return replace(counts, emissions=set_apart(counts.emissions + np.sum(parts, axis=0)))

    @checks_paths
    def count_parts(self, paths: Paths, threads: Threads) -> list[HmmCounts]:
        """Return the counts of each range of sites, without what observations lack."""
        n_states, offsets = self.n_states, self._offsets
        count_emissions = unchecked(self.emissions.count)

        def count(first: int, last: int) -> HmmCounts:
            starts, pairs = scratch(n_states), scratch((n_states, n_states))
            k = int(np.searchsorted(offsets, first, side="right")) - 1
            kernels.count_pairs(first, last, k, offsets, paths, starts, pairs)
            return HmmCounts(starts, pairs, count_emissions(first, last, paths))

        return threads.map(count, self._counted_ranges)

    def sum_counts(self, parts: Iterable[HmmCounts]) -> HmmCounts:
        """Return the sum of counts."""
        each = zip(*((part.starts, part.pairs, part.emissions) for part in parts), strict=True)
        return HmmCounts(*(set_apart(np.sum(arrays, axis=0)) for arrays in each))

    def expected_counts(self, parameters: HmmParameters, threads: Threads) -> tuple[HmmCounts, float]:
        """Return the expected counts of a path given w and phi, and log P(w | phi): the E step of EM."""

        def expect(first: int, last: int) -> tuple[HmmCounts, float]:
            posteriors, expected = self._smooth(first, last, parameters)
            sites = self._sites(first, last)
            emissions = self.emissions.expect(*sites, posteriors)
            if self.completes:
                emissions += self._completing.expect_completed(*sites, posteriors, parameters.emissions)
            return HmmCounts(expected.starts, expected.pairs, emissions), math.fsum(expected.likelihoods)

        counts, likelihoods = zip(*threads.map(expect, self._ranges), strict=True)
        return self.sum_counts(counts), math.fsum(likelihoods)

    # ---------------------------------------------------------------------------------------------
    # Likelihoods, posteriors and the best path
    # ---------------------------------------------------------------------------------------------

    @checks_paths
    def log_joint(self, paths: Paths, parameters: HmmParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path."""
        return np.sum(unchecked(self.log_joint_parts)(paths, parameters, threads), axis=0)

    @checks_paths
    def log_joint_parts(self, paths: Paths, parameters: HmmParameters, threads: Threads) -> list[Floats]:
        """Return the terms of `log_joint`, one for each range of sequences."""
        chain = self._probabilities(parameters, by_logs=True)

        def add(first: int, last: int) -> Floats:
            sums = scratch(len(paths))
            emissions = self._weights(parameters, first, last, True)
            kernels.log_joints_range(first, last, self._offsets, chain, emissions, paths, sums)
            return sums

        return threads.map(add, self._ranges)

    # ---------------------------------------------------------------------------------------------
    # Shares of the sequences
    # ---------------------------------------------------------------------------------------------

    def check_divisible(self, n_paths: int) -> None:
        """Raise an error if the emissions cannot be cut; chains can, between their sequences."""
        check_divisible(self.emissions)

    @property
    def _divisible(self) -> DivisibleEmissions[Any]:
        return cast(DivisibleEmissions[Any], self.emissions)

    @property
    def exact_counts(self) -> bool:
        """Whether counts are whole numbers throughout, which can be added in any order."""
        return self._divisible.exact_counts

    def site_ranges(self) -> list[Range]:
        """Return the ranges of sites at which the data may be cut: ranges of sequences."""
        return [self._sites(*bounds) for bounds in self._ranges]

    def share(self, first: int, last: int) -> Share:
        """Return the chain of the sequences of the ranges `first` to `last`."""
        ranges = self._ranges[first:last]
        begin, end = ranges[0][0], ranges[-1][1]
        base, stop = self._sites(begin, end)
        offsets = np.maximum(self._offsets[: end + 1] - base, 0)
        emissions = self._divisible.part(base, stop)
        changes = {"emissions": emissions, "_offsets": offsets, "_ranges": ranges, "initial": None}
        return Share.of(self, changes)

    def log_likelihoods(self, parameters: HmmParameters, n_jobs: int | Threads | None = None) -> Floats:
        """Return the log-likelihood of each sequence, by the forward recursion.

        Parameters
        ----------
        parameters : HmmParameters
            The parameters phi.
        n_jobs : int, optional
            Number of threads; all cores by default.

        Returns
        -------
        ndarray, (K,)
            log P(w | phi) of each sequence; -inf for a sequence of probability 0.
        """
        likelihoods = np.empty(self.sequences.n_sequences)
        by_logs = self._needs_logs(parameters)
        chain = self._probabilities(parameters, by_logs)

        def score(first: int, last: int) -> None:
            emissions = self._weights(parameters, first, last, by_logs)
            data = self._offsets, chain, emissions, likelihoods[first:last], self._row_scratch()
            if by_logs:
                kernels.log_likelihoods_by_logs(first, last, *data)
            else:
                kernels.log_likelihoods_range(first, last, self._size, *data)

        with use_threads(n_jobs) as threads:
            threads.map(score, self._ranges)
        return likelihoods

    def log_likelihood(self, parameters: HmmParameters, n_jobs: int | Threads | None = None) -> float:
        """Return the log-likelihood of all sequences together.

        Parameters
        ----------
        parameters : HmmParameters
            The parameters phi.
        n_jobs : int, optional
            Number of threads; all cores by default.

        Returns
        -------
        float
            log P(w | phi).
        """
        return math.fsum(self.log_likelihoods(parameters, n_jobs))

    def posteriors(
        self, parameters: HmmParameters, n_jobs: int | Threads | None = None
    ) -> tuple[Floats, Floats]:
        """Return the posterior probabilities of the states.

        Parameters
        ----------
        parameters : HmmParameters
            The parameters phi.
        n_jobs : int, optional
            Number of threads; all cores by default.

        Returns
        -------
        posteriors : ndarray, (N, S)
            P(p_i = s | w, phi).
        log_likelihoods : ndarray, (K,)
            log P(w | phi) of each sequence.
        """
        with use_threads(n_jobs) as threads:
            parts = threads.map(lambda first, last: self._smooth(first, last, parameters), self._ranges)
        return (
            np.concatenate([posteriors for posteriors, _ in parts]),
            np.concatenate([expected.likelihoods for _, expected in parts]),
        )

    def _smooth(
        self, first: int, last: int, parameters: HmmParameters
    ) -> tuple[Floats, kernels.ExpectedCounts]:
        """Return the posteriors of a range of sequences, and their expected counts and log-likelihoods."""
        by_logs, n_states = self._needs_logs(parameters), self.n_states
        base, end = self._sites(first, last)
        emissions = self._weights(parameters, first, last, by_logs)
        messages = kernels.Messages(self._message_buffer(emissions, end - base), base)
        expected = kernels.ExpectedCounts(
            scratch(n_states), scratch((n_states, n_states)), np.empty(last - first)
        )
        chain = self._probabilities(parameters, by_logs)
        data = self._offsets, chain, emissions, messages, expected, self._row_scratch()
        if by_logs:
            kernels.smooth_by_logs(first, last, *data)
        else:
            kernels.smooth_range(first, last, self._size, *data)
        impossible = ~np.isfinite(expected.likelihoods)
        if impossible.any():
            raise self._impossible(first + int(np.argmax(impossible)))
        return messages.values, expected

    def best_paths(
        self, parameters: HmmParameters, n_jobs: int | Threads | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Return the most probable path of each sequence, by the Viterbi algorithm.

        Parameters
        ----------
        parameters : HmmParameters
            The parameters phi.
        n_jobs : int, optional
            Number of threads; all cores by default.

        Returns
        -------
        states : ndarray of int64, (N,)
            The paths, one sequence after another.
        log_joints : ndarray, (K,)
            Their log P(p, w | phi) for each sequence.
        """
        best = np.empty(self.n_sites, np.int64)
        log_joints = np.empty(self.sequences.n_sequences)
        chain = self._probabilities(parameters, by_logs=True)

        def find(first: int, last: int) -> None:
            emissions = self._weights(parameters, first, last, True)
            arrows = np.empty((self._longest(first, last), self.n_states), np.uint16)
            data = self._offsets, chain, emissions, arrows, best, log_joints[first:last]
            kernels.best_paths_range(first, last, self._size, *data, self._row_scratch())

        with use_threads(n_jobs) as threads:
            threads.map(find, self._ranges)
        return best, log_joints
