"""Hidden Markov models: the other model of the paper.

start             ~ Dir(start_prior)               beta' in the paper
transitions_a     ~ Dir(transition_prior_a)        beta_a
p_i               ~ start at the first site of a sequence, else transitions_{p_i-1}
w_i               ~ the emissions of state p_i     e_s; see `plait.models.emissions`

phi is all of these. Algorithm 1 comes in two forms, which `blocked` chooses: the paper's, site by site, or
whole paths, for which one filter over the data serves all m paths.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.checks import check_integer
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.kernels import chains as kernels
from plait.models.emissions import KINDS, CategoricalEmissions, Emissions
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import DirichletRows, Floats
from plait.rng import INITIAL
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges, weighted_ranges

MAX_STATES = 65535
"""A state is stored in two bytes."""

_SITES_A_RANGE = 8192  # below that, handing work to a thread costs more than it saves
_LONG = 65536  # a sequence of so many sites is filtered from both ends
_MOST_THRESHOLDS = 65536  # a table of more does not stay near the processor


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
    emissions : CategoricalLaw, NormalLaw or PoissonLaw
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


@dataclass(frozen=True, eq=False)
class HmmModel:
    """A hidden Markov model of sequences, with fixed priors.

    Parameters
    ----------
    emissions : CategoricalEmissions, GaussianEmissions or PoissonEmissions
        The data w, the number of states S, and the priors of the emissions.
    start_prior : float or array (S,), default: 1
        Prior of the first state. A zero forbids a state at the start.
    transition_prior : float or array (S, S), default: 1
        Prior of the transitions. A zero forbids a transition: left-right and banded models keep their zeros.
    fixed_start : array (S,), optional
        Probabilities of the first state that are known, NaN where they are not.
    fixed_transitions : array (S, S), optional
        Transition probabilities that are known, NaN where they are not.
    blocked : bool
        Whether Algorithm 1 draws whole paths, or site by site as in the paper.
    initial : HmmParameters, optional
        Parameters to draw the first paths from; by default these are random, see `first_parameters`.
    """

    kind: ClassVar[str] = "hmm"
    site_name: ClassVar[str] = "observation"

    emissions: Emissions[Any]
    start_prior: ArrayLike = 1.0
    transition_prior: ArrayLike = 1.0
    fixed_start: ArrayLike | None = None
    fixed_transitions: ArrayLike | None = None
    blocked: bool = True
    initial: HmmParameters | None = None
    _start: DirichletRows = field(init=False, repr=False)
    _transitions: DirichletRows = field(init=False, repr=False)
    _size: tuple[int, ...] = field(init=False, repr=False)
    _ranges: list[Range] = field(init=False, repr=False)
    _site_ranges: list[Range] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_states = check_integer("the number of states", self.emissions.n_states, least=1, most=MAX_STATES)
        sequences = self.emissions.sequences
        to = {"S": n_states}
        start = "the start probabilities", {"1": 1} | to, self.start_prior, self.fixed_start
        moves = "the transition probabilities", {"S before": n_states} | to
        derived = {
            "_start": DirichletRows(*start),
            "_transitions": DirichletRows(*moves, self.transition_prior, self.fixed_transitions),
            "_size": kernels.size_of(n_states),
            "_ranges": _cut(sequences.offsets),
            "_site_ranges": even_ranges(sequences.n_sites, sequences.n_sites // _SITES_A_RANGE),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        if self.initial is not None:
            self.check_parameters(self.initial)

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles leave out that arrays are read-only, and kernels are compiled for read-only ones.
        return type(self).from_arrays, self.to_arrays()

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
    def is_exchangeable(self) -> bool:
        """Whether nothing tells one state from another but the data: then their numbers mean nothing."""
        transitions = self._transitions
        return (
            self.emissions.is_exchangeable
            and self._start.is_exchangeable
            and bool(transitions.free.all())
            and _is_the_same_for_all_states(transitions.prior)
        )

    def canonical_order(self, parameters: HmmParameters) -> NDArray[np.intp]:
        """Return the states in canonical order, so that two fits can be compared.

        They go by the mean symbol, or by the mean of the first feature that tells them apart (whose means are
        at least 0.1 standard deviations of the data apart), the smallest first. Where priors, zeros or fixed
        probabilities tell the states apart already, their order stays.
        """
        if not self.is_exchangeable:
            return np.arange(self.n_states)
        return self.emissions.order(parameters.emissions)

    def check_parameters(self, parameters: HmmParameters) -> None:
        """Refuse parameters of the wrong shape, that are no distributions, or that do what is forbidden."""
        for rows, given in (
            (self._start, parameters.start[None]),
            (self._transitions, parameters.transitions),
        ):
            rows.check(given)
        self.emissions.check_law(parameters.emissions)

    # ---------------------------------------------------------------------------------------------
    # Algorithms 1 and 2
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the first paths, given `initial` or parameters drawn at random.

        Paths drawn without any parameters would begin between all solutions, where the likelihood is flat.
        """
        paths = np.empty((n_paths, self.n_sites), np.uint16)
        key = Key(seed, INITIAL)
        first = self.first_parameters(key) if self.initial is None else self.initial
        self._resample_blocked(paths, first, key, threads)
        return paths

    def first_parameters(self, key: Key) -> HmmParameters:
        """Draw parameters to begin with: probabilities from Dir(1), whatever their prior.

        Only transitions from a state to itself are drawn larger, mostly above 1/2: a chain without memory
        could not tell its states apart.
        """
        staying = 1.0 + 2.0 * self.n_states * np.eye(self.n_states)
        return HmmParameters(
            self._start.scatter(1.0, key, 0)[0],
            self._transitions.scatter(staying, key, 1),
            self.emissions.first_law(key, 1 + self.n_states),
        )

    def count(self, paths: Paths, threads: Threads) -> HmmCounts:
        """Count starts, transitions and emissions over all paths."""
        offsets = self.sequences.offsets

        def count(first: int, last: int) -> HmmCounts:
            counts = self._no_counts(self.emissions.count(first, last, paths))
            k = int(np.searchsorted(offsets, first, side="right")) - 1
            kernels.count_pairs(first, last, k, offsets, paths, counts.starts, counts.pairs)
            return counts

        return _added(threads.map(count, self._site_ranges))

    def _no_counts(self, emissions: Floats) -> HmmCounts:
        return HmmCounts(np.zeros(self.n_states), np.zeros((self.n_states, self.n_states)), emissions)

    def draw_parameters(self, counts: HmmCounts, key: Key, threads: Threads) -> HmmParameters:
        """Draw phi given all paths: line 4 of Algorithm 1."""
        return HmmParameters(
            self._start.draw(counts.starts[None], key, 0)[0],
            self._transitions.draw(counts.pairs, key, 1),
            self.emissions.draw(counts.emissions, key, 1 + self.n_states),
        )

    def mean_parameters(self, counts: HmmCounts, threads: Threads) -> HmmParameters:
        """Return the mean of phi given all paths."""
        return HmmParameters(
            self._start.mean(counts.starts[None])[0],
            self._transitions.mean(counts.pairs),
            self.emissions.mean(counts.emissions),
        )

    def mode_parameters(self, counts: HmmCounts) -> HmmParameters:
        """Return the most probable phi given the counts: the M step of EM."""
        return HmmParameters(
            self._start.mode(counts.starts[None])[0],
            self._transitions.mode(counts.pairs),
            self.emissions.mode(counts.emissions),
        )

    def resample(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw all paths given phi: lines 5 to 9 of Algorithm 1, whole paths or site by site."""
        if self.blocked:
            self._resample_blocked(paths, parameters, key, threads)
        else:
            self._resample_sites(paths, parameters, key, threads)

    def resample_collapsed(self, paths: Paths, counts: HmmCounts, key: Key) -> None:
        """Draw every state given all others, phi integrated out: Algorithm 2."""
        self.check_collapsed()
        emissions, n_states = self.emissions, self.n_states
        laws = emissions.laws  # type: ignore[attr-defined]  # categorical, as was checked
        kernels.resample_collapsed(
            self._size,
            self.sequences.offsets,
            emissions.rows,
            paths,
            counts.starts,
            counts.pairs,
            counts.emissions,
            self._start.prior[0],
            self._transitions.prior,
            np.ascontiguousarray(laws.prior.T),
            laws.prior.sum(axis=1),
            np.empty((len(paths), 2), np.uint64),
            np.empty((4 + 2 * n_states, n_states)),
            *key,
        )

    def check_collapsed(self) -> None:
        """Refuse what the collapsed sampler cannot do."""
        if not isinstance(self.emissions, CategoricalEmissions):
            raise PlaitError(
                f"the collapsed sampler is for categorical emissions, not for {self.emissions.kind} ones:"
                " choose blocked or single-site"
            )
        if any(rows.has_fixed for rows in (self._start, self._transitions, self.emissions.laws)):
            raise PlaitError(
                "the collapsed sampler integrates all probabilities out and cannot keep some fixed, other"
                " than to zero: choose blocked or single-site"
            )

    def log_joint(self, paths: Paths, parameters: HmmParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path."""
        start, transitions = _logs_of(parameters)

        def add(first: int, last: int) -> Floats:
            base, end = self._sites(first, last)
            weights = self.emissions.log_weights(parameters.emissions, base, end)
            sums = np.zeros(len(paths))
            kernels.log_joints_range(
                first, last, *self._data(base), weights, self.emissions.logs, start, transitions, paths, sums
            )
            return sums

        return np.sum(threads.map(add, self._ranges), axis=0)

    # ---------------------------------------------------------------------------------------------
    # The samplers of Algorithm 1
    # ---------------------------------------------------------------------------------------------

    def _resample_blocked(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw whole paths: filter the data once, then draw every path against the filter's messages."""
        weights_of = self._weights_of(parameters)
        n_states, n_paths = self.n_states, len(paths)
        logs = self.emissions.logs
        into = np.ascontiguousarray(parameters.transitions.T)

        def draw_by_logs(first: int, last: int) -> int:
            base, end = self._sites(first, last)
            weights = weights_of(base, end)
            streams, _, room = _room_for_draws(n_paths, n_states)
            logs_of = _logs_of(parameters)
            unexplained: int = kernels.resample_blocked_by_logs(
                first,
                last,
                self.sequences.offsets,
                base,
                weights,
                *logs_of,
                weights,
                paths,
                streams,
                room,
                *key,
            )
            return unexplained

        def draw(first: int, last: int) -> int:
            base, end = self._sites(first, last)
            weights = weights_of(base, end)
            longest = int(self.sequences.lengths[first:last].max())
            impossible: int = kernels.resample_blocked(
                self._size,
                first,
                last,
                *self._data(base),
                weights,
                logs,
                parameters.start,
                parameters.transitions,
                into,
                weights if logs else np.empty((longest, n_states)),
                paths,
                *_room_for_draws(n_paths, n_states),
                *key,
            )
            return impossible

        short, long = _sorted_by_length(self._ranges, self.sequences.offsets)
        if self._needs_logs(parameters):
            draw, short, long = draw_by_logs, self._ranges, long[:0]
        impossible = threads.map(draw, short)
        for k in long:
            if not self._resample_long(k, paths, parameters, into, key, threads):
                impossible.append(draw(k, k + 1))
        for k in impossible:
            if k >= 0:
                raise self._unexplained(k)

    def _resample_long(
        self,
        k: int,
        paths: Paths,
        parameters: HmmParameters,
        into: Floats,
        key: Key,
        threads: Threads,
    ) -> bool:
        """Draw the paths of one long sequence, which is filtered from both ends at the same time.

        See `kernels.draw_paths`. Which sequences are long depends on the data alone, so the number of threads
        does not matter. Returns False, with nothing drawn, where the two ends do not meet.
        """
        first, last = self._sites(k, k + 1)
        meet = (first + last) // 2
        logs, rows, n_states = self.emissions.logs, self.emissions.rows, self.n_states
        start, transitions = parameters.start, parameters.transitions
        weights = self._shared_weights(parameters, first, last, threads)
        messages = weights if logs else np.empty((last - first, n_states))

        def filter_half(half: int, _: int) -> float:
            room = np.empty((4, n_states))
            log_sum: float
            if half == 0:
                log_sum = kernels.filter_forward(
                    self._size,
                    first,
                    meet,
                    first,
                    rows,
                    weights,
                    logs,
                    start,
                    transitions,
                    messages,
                    True,
                    room,
                )
            else:
                log_sum = kernels.filter_backward(
                    self._size, meet, last, first, rows, weights, logs, into, messages, room
                )
            return log_sum

        if min(threads.map(filter_half, [(0, 1), (1, 2)])) == -np.inf:
            return False
        # Two halves make twice as many pieces of work as there are groups of paths.
        pieces = [(half, group) for group in even_ranges(len(paths), threads.n) for half in range(2)]

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
                *_room_for_draws(len(paths), n_states),
                *key,
            )
            return met

        return all(threads.map(draw, [(piece, piece + 1) for piece in range(len(pieces))]))

    def _resample_sites(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw site by site, as the paper has it, by a table of thresholds where that is small."""
        n_states, n_paths = self.n_states, len(paths)
        leaving = np.vstack([parameters.transitions, parameters.start])
        into = np.vstack([parameters.transitions.T, np.ones(n_states)])
        weights_of = self._weights_of(parameters)
        thresholds = self._thresholds(leaving, into, weights_of, n_paths)

        def draw(first: int, last: int, weights: Floats, group: Range) -> None:
            base, _ = self._sites(first, last)
            offsets, _, rows = self._data(base)
            streams = np.empty((n_paths, 2), np.uint64)
            if thresholds is not None:
                kernels.resample_by_thresholds(
                    self._size, first, last, *group, offsets, rows, thresholds, paths, streams, *key
                )
                return
            kernels.resample_sites(
                self._size,
                first,
                last,
                *group,
                offsets,
                base,
                rows,
                weights,
                self.emissions.logs,
                leaving,
                into,
                paths,
                streams,
                np.empty((2, n_states)),
                *key,
            )

        if len(self._ranges) >= threads.n:
            threads.map(
                lambda first, last: draw(first, last, weights_of(*self._sites(first, last)), (0, n_paths)),
                self._ranges,
            )
            return
        for first, last in self._ranges:  # few sequences: the threads share the paths
            weights = self._shared_weights(parameters, *self._sites(first, last), threads)
            groups = even_ranges(n_paths, threads.n)
            threads.map(functools.partial(_with_group, draw, first, last, weights), groups)

    def _thresholds(
        self, leaving: Floats, into: Floats, weights_of: WeightsOf, n_paths: int
    ) -> Floats | None:
        """Return the table of `kernels.fill_thresholds`, or None where it would not pay."""
        if self.emissions.logs:
            return None
        table = weights_of(0, 0)
        shape = (len(table), self.n_states + 1, self.n_states + 1, self.n_states)
        if math.prod(shape) > min(_MOST_THRESHOLDS, self.n_sites * n_paths):
            return None
        thresholds = np.empty(shape)
        kernels.fill_thresholds(leaving, into, table, thresholds)
        return thresholds

    # ---------------------------------------------------------------------------------------------
    # Likelihoods, posteriors and the best path
    # ---------------------------------------------------------------------------------------------

    def log_likelihoods(self, parameters: HmmParameters, threads: Threads) -> Floats:
        """Return log P(w | phi) of each sequence, (K,), by the forward recursion."""
        likelihoods = np.empty(self.sequences.n_sequences)

        needs_logs = self._needs_logs(parameters)

        def score(first: int, last: int) -> None:
            base, end = self._sites(first, last)
            if needs_logs:
                kernels.log_likelihoods_by_logs(
                    first,
                    last,
                    self.sequences.offsets,
                    base,
                    self.emissions.weights(parameters.emissions, base, end),
                    *_logs_of(parameters),
                    likelihoods,
                    np.empty((2, self.n_states)),
                )
                return
            kernels.log_likelihoods_range(
                self._size,
                first,
                last,
                *self._data(base),
                self.emissions.weights(parameters.emissions, base, end),
                self.emissions.logs,
                parameters.start,
                parameters.transitions,
                likelihoods,
                np.empty((4, self.n_states)),
            )

        threads.map(score, self._ranges)
        return likelihoods

    def log_likelihood(self, parameters: HmmParameters, threads: Threads) -> float:
        """Return log P(w | phi)."""
        return math.fsum(self.log_likelihoods(parameters, threads))

    def expected_counts(self, parameters: HmmParameters, threads: Threads) -> tuple[HmmCounts, float]:
        """Return the counts that phi expects of a path, and log P(w | phi): the E step of EM."""

        def expect(first: int, last: int) -> tuple[HmmCounts, float]:
            base, end = self._sites(first, last)
            starts, pairs, posteriors, likelihoods = self._smooth(first, last, parameters)
            emissions = self.emissions.expect(base, end, posteriors)
            return HmmCounts(starts, pairs, emissions), math.fsum(likelihoods)

        counts, likelihoods = zip(*threads.map(expect, self._ranges), strict=True)
        return _added(list(counts)), math.fsum(likelihoods)

    def posteriors(self, parameters: HmmParameters, threads: Threads) -> tuple[Floats, Floats]:
        """Return P(p_i = s | w, phi), (N, S), and log P(w | phi) of each sequence, (K,)."""
        parts = threads.map(lambda first, last: self._smooth(first, last, parameters)[2:], self._ranges)
        posteriors, likelihoods = zip(*parts, strict=True)
        return np.concatenate(posteriors), np.concatenate(likelihoods)

    def _smooth(
        self, first: int, last: int, parameters: HmmParameters
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the expected starts and pairs, the posteriors and the log-likelihoods of some sequences."""
        base, end = self._sites(first, last)
        logs = self.emissions.logs
        weights = self.emissions.weights(parameters.emissions, base, end)
        posteriors = weights if logs else np.empty((end - base, self.n_states))
        starts, pairs = np.zeros(self.n_states), np.zeros((self.n_states, self.n_states))
        likelihoods = np.empty(self.sequences.n_sequences)
        room = np.empty((4, self.n_states))
        if self._needs_logs(parameters):
            offsets, logs_of = self.sequences.offsets, _logs_of(parameters)
            kernels.smooth_by_logs(
                first, last, offsets, base, weights, *logs_of, posteriors, starts, pairs, likelihoods, room
            )
        else:
            kernels.smooth_range(
                self._size,
                first,
                last,
                *self._data(base),
                weights,
                logs,
                parameters.start,
                parameters.transitions,
                np.ascontiguousarray(parameters.transitions.T),
                posteriors,
                starts,
                pairs,
                likelihoods,
                room,
            )
            pairs *= parameters.transitions
        likelihoods = likelihoods[first:last]
        if not np.isfinite(likelihoods).all():
            raise self._unexplained(first + int(np.flatnonzero(~np.isfinite(likelihoods))[0]))
        return starts, pairs, posteriors, likelihoods

    def best_paths(self, parameters: HmmParameters, threads: Threads) -> tuple[NDArray[np.int64], Floats]:
        """Return the most probable states, (N,), and their log P(p, w | phi) for each sequence, (K,)."""
        best = np.empty(self.n_sites, np.int64)
        likelihoods = np.empty(self.sequences.n_sequences)
        start, transitions = _logs_of(parameters)

        def find(first: int, last: int) -> None:
            base, end = self._sites(first, last)
            longest = int(self.sequences.lengths[first:last].max())
            kernels.best_paths_range(
                self._size,
                first,
                last,
                *self._data(base),
                self.emissions.log_weights(parameters.emissions, base, end),
                self.emissions.logs,
                start,
                transitions,
                np.empty((longest, self.n_states), np.uint16),
                best,
                likelihoods,
                np.empty((2, self.n_states)),
            )

        threads.map(find, self._ranges)
        return best, likelihoods

    # ---------------------------------------------------------------------------------------------
    # Pieces
    # ---------------------------------------------------------------------------------------------

    def _sites(self, first: int, last: int) -> Range:
        """Return the range of sites of a range of sequences."""
        return int(self.sequences.offsets[first]), int(self.sequences.offsets[last])

    def _data(self, base: int) -> tuple[NDArray[np.int64], int, NDArray[np.int32]]:
        """Return what kernels want to know of the data."""
        return self.sequences.offsets, base, self.emissions.rows

    def _weights_of(self, parameters: HmmParameters) -> WeightsOf:
        return functools.partial(self.emissions.weights, parameters.emissions)

    def _needs_logs(self, parameters: HmmParameters) -> bool:
        """Tell whether a state may fall too far behind for real numbers and yet win; see `kernels.chains`."""
        return self.emissions.logs and not parameters.transitions.all()

    def _shared_weights(self, parameters: HmmParameters, first: int, last: int, threads: Threads) -> Floats:
        """Return the weights of many sites, made by all threads."""
        weights_of = self._weights_of(parameters)
        if not self.emissions.logs:
            return weights_of(first, last)
        ranges = [
            (first + a, first + b) for a, b in even_ranges(last - first, (last - first) // _SITES_A_RANGE)
        ]
        return np.concatenate(threads.map(weights_of, ranges))

    def _unexplained(self, k: int) -> PlaitError:
        names = self.sequences.names
        which = f"sequence {k}" if names is None else f"sequence {k} ({names[k]})"
        return PlaitError(
            f"no path of states can have made {which}: take out zeros from the start, transition or emission"
            " probabilities, or the sequence from the data"
        )

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data, the priors and the initial parameters as arrays and a header."""
        arrays, header = self.emissions.to_arrays()
        arrays = {f"emissions.{name}": array for name, array in arrays.items()}
        arrays |= self._start.to_arrays("start") | self._transitions.to_arrays("transitions")
        if self.initial is not None:
            arrays |= {"initial.start": self.initial.start, "initial.transitions": self.initial.transitions}
            law = self.initial.emissions.to_arrays()
            arrays |= {f"initial.emissions.{name}": array for name, array in law.items()}
        return arrays, {
            "emissions": {"kind": self.emissions.kind, **header},
            "blocked": self.blocked,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Make the model again from what `to_arrays` returned."""
        emissions: Any = KINDS[header["emissions"]["kind"]].from_arrays(
            arrays_below("emissions.", arrays), header["emissions"]
        )
        initial = None
        if "initial.start" in arrays:
            law = emissions.law(**arrays_below("initial.emissions.", arrays))
            initial = HmmParameters(arrays["initial.start"], arrays["initial.transitions"], law)
        return cls(
            emissions,
            arrays["start.prior"],
            arrays["transitions.prior"],
            arrays["start.fixed"],
            arrays["transitions.fixed"],
            blocked=header["blocked"],
            initial=initial,
        )


WeightsOf = Callable[[int, int], Floats]
"""The weights of the sites first to last, as `Emissions.weights`."""


def _with_group(
    draw: Callable[[int, int, Floats, Range], None], first: int, last: int, weights: Floats, *group: int
) -> None:
    draw(first, last, weights, (group[0], group[1]))


def _cut(offsets: NDArray[np.int64]) -> list[Range]:
    """Cut sequences into ranges of nearly equal work; a long one is a range of its own."""
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


def _sorted_by_length(ranges: list[Range], offsets: NDArray[np.int64]) -> tuple[list[Range], list[int]]:
    """Return the ranges of short sequences, and the long sequences."""
    is_long = [last - first == 1 and offsets[last] - offsets[first] >= _LONG for first, last in ranges]
    short = [bounds for bounds, long in zip(ranges, is_long, strict=True) if not long]
    return short, [bounds[0] for bounds, long in zip(ranges, is_long, strict=True) if long]


def _added(parts: list[HmmCounts]) -> HmmCounts:
    names = ("starts", "pairs", "emissions")
    return HmmCounts(*(np.sum([getattr(part, name) for part in parts], axis=0) for name in names))


def _logs_of(parameters: HmmParameters) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        return np.log(parameters.start), np.log(parameters.transitions)


def _room_for_draws(n_paths: int, n_states: int) -> tuple[NDArray[np.uint64], NDArray[np.int64], Floats]:
    return np.empty((n_paths, 2), np.uint64), np.empty(n_paths, np.int64), np.empty((4, n_states))


def _is_the_same_for_all_states(prior: Floats) -> bool:
    """Tell whether a prior of transitions has one value for staying and one for leaving."""
    leaving = prior[~np.eye(len(prior), dtype=bool)]
    return bool(np.ptp(np.diag(prior)) == 0) and (not leaving.size or bool(np.ptp(leaving) == 0))
