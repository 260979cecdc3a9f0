"""Factorial hidden Markov models: chains side by side, whose contributions to the observations add up.

start_k           ~ Dir(start_prior_k)               for each of the chains k
transitions_k,a   ~ Dir(transition_prior_k,a)
covariance        ~ inverse Wishart(covariance_prior, covariance_weight); where diagonal, inverse gamma
mean_k,s          ~ N(mean_prior_k,s, covariance / mean_weight_k,s)
p_k,t             ~ start_k at the first time of a sequence, else transitions_k,a with a = p_k,t-1
x_t               ~ N(sum_k mean_k,p_k,t, covariance)

phi is start, transitions, means and covariance. K chains of S states have S^K states together, far too many
to list; but given phi and the other chains, a few chains are a small hidden Markov model of what the others
leave of the observations.

What one chain adds to all its means, and another takes from all of its, the data do not see. The prior of the
means does: it holds them near to each other.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from contextlib import ContextDecorator
from dataclasses import KW_ONLY, dataclass, field, replace
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from plait.checks import check_integer, frozen_copy, short_repr
from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.kernels import factorial as kernels
from plait.kernels import parameters as draws
from plait.kernels.chains import size_of
from plait.models.emissions.contract import sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.gaussian import (
    NormalParameters,
    check_covariances,
    draw_inverse_wishart_root,
    solved,
)
from plait.models.emissions.numbers import check_shape
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths
from plait.models.priors import (
    DirichletRows,
    Floats,
    check_numbers,
    check_range,
    cumulative_steps,
    place_of,
    spread,
)
from plait.rng import INITIAL, PARAMETERS, generator
from plait.scratch import scratch
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges, weighted_ranges

COVARIANCES = ("diag", "full")

MAX_JOINT_STATES = 4096
"""With more states together, chains have no likelihood that could be computed exactly."""

MAX_PAIRS = 2**26
"""With more pairs of states, (K S)^2, the tables of these would exhaust memory: each has 8 bytes a pair."""

_MOST_TOGETHER = 64  # chains are drawn together while they have no more states than that
_SITES_A_RANGE = 8192  # below that, handing work to a thread costs more than it saves
_MOST_CELLS = 2**23  # of all tables that are counted in side by side
_FARTHEST = 1e145  # from the mean of the data; squares of numbers beyond, with their weights, overflow
_FORBIDDEN = 1e-200  # a smaller transition does not bring back a state that was lost to rounding
_WEIGHT = 0.01  # of a mean's prior
_LEAST_WEIGHT = 1e-6  # of a mean's prior, which must be proper
_LOST = 1e-14  # relative to the counts that it is added to, a smaller weight is lost in rounding
_FEWEST_DEGREES = 0.1  # beyond what an inverse Wishart law needs
_TOLD_APART = 0.1  # standard deviations of the data between states, for a feature to put them in order

_TRIES = 4  # beginnings of a chain, of which the best is kept
_SWEEPS_A_TRY = 60
_SWEEPS_TO_SETTLE = 5
_SHARE_SOUGHT_ANEW = 1 / 3
_MOST_FEATURES = 128  # with more, a full covariance would take most of the time of the search
_SEARCH = 2**61  # the number of a sweep from which on they belong to the search for a beginning
_STEP = 2**20  # sweeps that a step of the search may number
_SWEEPS_TO_COOL = 30
_HOTTEST = 50.0  # by how much the covariance is multiplied at first


@dataclass(frozen=True)
class FactorialCounts:
    """Sufficient statistics of all paths together.

    Z has a row for each observation of each path, and in it a one for the state of each chain; X are the
    observations, minus their mean.

    Attributes
    ----------
    starts : ndarray, (K, S)
        How often a sequence starts in each state.
    pairs : ndarray, (K, S, S)
        How often state r follows state s.
    together : ndarray, (K, S, K, S)
        Z'Z: how often there is an observation where two chains are in two states.
    sums : ndarray, (K, S, D)
        Z'X.
    squares : ndarray, (D, D) or (D,)
        X'X, or its diagonal.
    observations : ndarray, ()
        Number of rows.
    """

    starts: Floats
    pairs: Floats
    together: Floats
    sums: Floats
    squares: Floats
    observations: Floats


@dataclass(frozen=True)
class FactorialParameters:
    """The parameters phi.

    Attributes
    ----------
    start : ndarray, (K, S)
        Law of the first state of each chain.
    transitions : ndarray, (K, S, S)
        Row [k, a] is the law of the state of chain k after a.
    means : ndarray, (K, S, D)
        What each state of each chain contributes to the mean of an observation.
    covariance : ndarray, (D,) or (D, D)
        Variances of the noise, or its covariance.
    """

    start: Floats
    transitions: Floats
    means: Floats
    covariance: Floats

    def permuted(self, chains: NDArray[np.intp], states: NDArray[np.intp]) -> FactorialParameters:
        """Return the parameters with chains in another order (K,), and then the states of each, (K, S)."""
        k = np.arange(len(chains))[:, None]
        return FactorialParameters(
            self.start[chains][k, states],
            self.transitions[chains][k[:, :, None], states[:, :, None], states[:, None, :]],
            self.means[chains][k, states],
            self.covariance,
        )

    def centred(self, shares: Floats) -> tuple[Floats, FactorialParameters]:
        """Move the mean of each chain, its states having these shares (K, S), into one intercept (D,)."""
        own = np.einsum("ks,ksd->kd", shares, self.means)
        return own.sum(axis=0), replace(self, means=self.means - own[:, None])


class _OneBlasThread(ContextDecorator):
    """Holds BLAS to one thread, in a `with` block or as a decorator.

    NumPy and SciPy have a BLAS each, with threads of its own that wait for each other: on busy cores that
    takes a hundred times as long as the work itself. And the last bits depend on the number of threads. The
    limit is the whole process's: who comes first sets it, and who leaves last lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._limit: Any = None

    @functools.cached_property
    def _pools(self) -> ThreadpoolController:
        return ThreadpoolController()  # which looks through all libraries: once is enough

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limit = self._pools.limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limit.restore_original_limits()


_one_blas_thread = _OneBlasThread()


class _Law(NamedTuple):
    """phi as kernels want it; see `plait.kernels.factorial`."""

    parts: Floats
    duals: Floats
    products: Floats
    whitening: Floats
    constant: float


@dataclass(frozen=True, eq=False)
class FactorialHmmModel:
    """A factorial hidden Markov model of sequences, with fixed priors.

    Parameters
    ----------
    sequences : Sequences
        The data w: numbers. A missing observation says nothing of the states; the chains go on.
    n_chains : int
        Number of chains K.
    n_states : int
        Number of states S of each chain; K S is at most 8192, for there are tables of (K S)^2 numbers, about
        five at a time.
    covariance : {"diag", "full"}
        Form of the covariance of the noise.
    start_prior : float or array (K, S), default: 1
        Prior of the first states. A zero forbids a state at the start.
    transition_prior : float or array (K, S, S), default: 1
        Prior of the transitions. A zero forbids a transition.
    staying : float, default: 0
        Added to the prior of the transition of a state to itself: how many transitions that is worth.
    mean_prior : float or array (K, S, D), default: mean of the data, divided by K
        Prior mean of the means.
    mean_weight : float or array (K, S), default: 0.01
        How many observations that is worth; below 1e-6 it is taken as 1e-6.
    covariance_prior : float or array, default: 0.01 of the variance of the data
        Scale of the prior of the covariance, (D,) or (D, D); a number is the diagonal.
    covariance_weight : float, default: 3, for a matrix D + 2
        Degrees of freedom of that prior; of a matrix at least D.
    search : int, default: 6
        How hard to look for a beginning: number of rounds in which chains are sought; see `initial_paths`. 0
        begins with chains that are drawn at random.
    initial : FactorialParameters, optional
        Parameters to draw the first paths from, instead of a search. The model keeps a copy of them.
    """

    kind: ClassVar[str] = "factorial-hmm"
    site_name: ClassVar[str] = "state"

    sequences: Sequences
    n_chains: int
    n_states: int
    _: KW_ONLY
    covariance: str = "diag"
    start_prior: ArrayLike = 1.0
    transition_prior: ArrayLike = 1.0
    staying: float = 0.0
    mean_prior: ArrayLike | None = None
    mean_weight: ArrayLike = _WEIGHT
    covariance_prior: ArrayLike | None = None
    covariance_weight: float | None = None
    search: int = 6
    initial: FactorialParameters | None = None
    _start: DirichletRows = field(init=False, repr=False)
    _transitions: DirichletRows = field(init=False, repr=False)
    _mean_prior: Floats = field(init=False, repr=False)
    _mean_weight: Floats = field(init=False, repr=False)
    _scale: Floats = field(init=False, repr=False)
    _degrees: float = field(init=False, repr=False)
    _centre: Floats = field(init=False, repr=False)
    _variance: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("n_chains", check_integer("n_chains", self.n_chains, least=1))
        put("n_states", check_integer("n_states", self.n_states, least=1, most=MAX_STATES))
        self._check_size()
        put("search", check_integer("search", self.search, least=0))
        if self.covariance not in COVARIANCES:
            raise PlaitError(
                f"the covariance is {short_repr(self.covariance)}: choose one of {', '.join(COVARIANCES)}"
            )
        mean, variance = _moments(self.sequences)
        put("_centre", frozen_copy(mean))
        put("_variance", frozen_copy(np.where(variance > 0, variance, 1.0)))
        self._put_priors_of_chains(put)
        self._put_priors_of_means(put)
        self._put_priors_of_covariance(put)
        if self.initial is not None:
            put("initial", _frozen_parameters(self.initial))
            self.check_parameters(self.initial)

    def _check_size(self) -> None:
        n = self.n_chains * self.n_states
        if n**2 > MAX_PAIRS:
            raise PlaitError(
                f"{self.n_chains} chains of {self.n_states} states have {n} states in all, more than"
                f" {math.isqrt(MAX_PAIRS)}, and tables of all pairs of them would exhaust memory: take fewer"
                " chains or states"
            )

    def _put_priors_of_chains(self, put: Any) -> None:
        chains, to = {"K": self.n_chains}, {"S": self.n_states}
        start = "the start probabilities", chains | to, self.start_prior
        put("_start", DirichletRows(*start, prior_name="start_prior"))
        name = "the prior of the transition probabilities"
        prior = spread(name, self.transition_prior, chains | {"S before": self.n_states} | to)
        check_range(name, prior, zeros=True)
        staying = check_numbers("the prior of staying", self.staying)
        if staying.ndim:
            raise PlaitError(f"the prior of staying is {short_repr(self.staying)}: give one number")
        check_range("the prior of staying", staying, zeros=True)
        rows = (prior + staying * np.eye(self.n_states)).reshape(-1, self.n_states)
        axes = {"K S": len(rows)} | to
        put("_transitions", DirichletRows("the transition probabilities", axes, rows))

    def _put_priors_of_means(self, put: Any) -> None:
        axes = {"K": self.n_chains, "S": self.n_states}
        name = "the prior of the means"
        given = self._centre / self.n_chains if self.mean_prior is None else self.mean_prior
        prior = spread(name, given, axes | {"D": self.sequences.n_features})
        near = np.abs(prior - self._centre / self.n_chains) <= _FARTHEST
        if not near.all():
            place, index = place_of(~near)
            raise PlaitError(
                f"{name}{place} is {prior[index]:g}: give a finite number, at most {_FARTHEST:g} from the"
                " mean of the data"
            )
        weight = spread("the weight of the means' prior", self.mean_weight, axes)
        check_range("the weight of the means' prior", weight, zeros=True)
        put("_mean_prior", frozen_copy(prior))
        put("_mean_weight", frozen_copy(np.maximum(weight, _LEAST_WEIGHT)))

    def _put_priors_of_covariance(self, put: Any) -> None:
        n_features, name = self.sequences.n_features, "the prior of the covariance"
        least = n_features - 1.0 if self._is_matrix else 0.0
        given = 0.01 * self._variance if self.covariance_prior is None else self.covariance_prior
        scale = check_numbers(name, given)
        if self._is_matrix and scale.ndim < 2 and scale.size in (1, n_features):  # a number, or a diagonal
            scale = np.diag(np.broadcast_to(scale, n_features))
        if scale.ndim == 0:
            scale = np.full(n_features, float(scale))
        if scale.shape != self._form:
            raise PlaitError(
                f"{name} has shape {scale.shape}: for a covariance that is {self.covariance} give a number,"
                f" or an array of shape {self._form}"
            )
        check_covariances(name, scale, self._form_of_law)
        weight_name = "the weight of the covariance's prior"
        weight = check_numbers(
            weight_name, least + 3.0 if self.covariance_weight is None else self.covariance_weight
        )
        if weight.ndim:
            raise PlaitError(f"{weight_name} is {short_repr(self.covariance_weight)}: give one number")
        check_range(weight_name, weight, zeros=True)
        put("_scale", frozen_copy(scale))
        put("_degrees", max(float(weight), least + (1.0 if self._is_matrix else _FEWEST_DEGREES)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles leave out that arrays are read-only, and kernels are compiled for read-only ones.
        return type(self).from_arrays, self.to_arrays()

    @property
    def n_times(self) -> int:
        """Number of observations (T)."""
        return self.sequences.n_sites

    @property
    def n_sites(self) -> int:
        """Number of latent variables (N = K T): site k T + t is the state of chain k at time t."""
        return self.n_chains * self.n_times

    @property
    def _is_matrix(self) -> bool:
        return self.covariance == "full"

    @property
    def _form(self) -> tuple[int, ...]:
        """Shape of the covariance."""
        return (self.sequences.n_features,) * (2 if self._is_matrix else 1)

    @property
    def _form_of_law(self) -> str:
        """What a law of one state calls this covariance: of (D, D), or of (D,)."""
        return "tied" if self._is_matrix else "diag"

    @property
    def _shape(self) -> tuple[int, int, int]:
        return self.n_chains, self.n_states, self.sequences.n_features

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        """Ranges of sequences of nearly equal work."""
        return weighted_ranges(self.sequences.offsets, self.n_sites // _SITES_A_RANGE)

    @functools.cached_property
    def _time_ranges(self) -> list[Range]:
        """Ranges of times, each with tables of its own to count in; see `count`."""
        n = self.n_chains * self.n_states
        n_ranges = _MOST_CELLS // (n * (n + self.sequences.n_features))
        return even_ranges(self.n_times, min(n_ranges, self.n_sites // _SITES_A_RANGE))

    @functools.cached_property
    @_one_blas_thread
    def _squares(self) -> Floats:
        """X'X, or its diagonal, of the observations minus their mean."""
        seen = self.sequences.values[~np.isnan(self.sequences.values[:, 0])] - self._centre
        return seen.T @ seen if self._is_matrix else (seen**2).sum(axis=0)

    @property
    def _chains_are_alike(self) -> bool:
        """Whether the priors of start and transitions tell no chain or state from another."""
        n_chains, n_states, _ = self._shape
        moves = self._transitions.prior.reshape(n_chains, n_states, n_states)
        unlike = ~np.eye(n_states, dtype=bool)
        alike = (self._start.prior, np.diagonal(moves, axis1=1, axis2=2), moves[:, unlike])
        return bool(self._start.free.all() and self._transitions.free.all()) and all(
            not array.size or bool(np.ptp(array) == 0) for array in alike
        )

    @property
    def _prior_means_are_alike(self) -> bool:
        return bool(np.all(self._mean_prior == self._mean_prior[0, 0]))

    @property
    def is_exchangeable(self) -> bool:
        """Whether nothing tells one chain or state from another but the data: their numbers mean nothing."""
        return self._chains_are_alike and self._prior_means_are_alike and bool(np.ptp(self._mean_weight) == 0)

    def canonical_order(
        self, parameters: FactorialParameters, shares: Floats
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return chains (K,) and the states of each (K, S) in canonical order, so that fits can be compared.

        Chains go by how much they contribute, the most first: the variance of their means, the states having
        the `shares` (K, S), each feature in units of the variance of the data. The states of a chain go by
        the mean of the first feature that tells them apart (whose means are at least 0.1 standard deviations
        of the data apart), the smallest first. Where priors tell chains or states apart, all stay in order.
        """
        n_chains, n_states, _ = self._shape
        if not self.is_exchangeable:
            return np.arange(n_chains), np.tile(np.arange(n_states), (n_chains, 1))
        means = parameters.centred(shares)[1].means / np.sqrt(self._variance)
        chains = np.argsort(-np.einsum("ks,ksd->k", shares, means**2), kind="stable")
        states = np.empty((n_chains, n_states), np.intp)
        for k, own in enumerate(means[chains]):
            distance = np.ptp(own, axis=0)
            told = distance >= _TOLD_APART
            feature = told.argmax() if told.any() else distance.argmax()
            states[k] = np.argsort(own[:, feature], kind="stable")
        return chains, states

    def shares(self, counts: FactorialCounts) -> Floats:
        """Return the share of the observations that each state of each chain has, (K, S)."""
        n = self.n_chains * self.n_states
        own = np.diagonal(counts.together.reshape(n, n)).reshape(self.n_chains, -1)
        return own / max(float(counts.observations), 1.0)

    def check_parameters(self, parameters: FactorialParameters) -> None:
        """Refuse parameters of the wrong shape, that are no distributions, or that do what is forbidden."""
        n_chains, n_states, _ = self._shape
        name, shape = "the transition probabilities", (n_chains, n_states, n_states)
        if parameters.transitions.shape != shape:
            raise PlaitError(
                f"{name} have shape {parameters.transitions.shape}: give an array of shape {shape}"
            )
        self._start.check(parameters.start)
        self._transitions.check(parameters.transitions.reshape(-1, n_states))
        check_shape("the array of means", parameters.means, self._shape)
        check_shape("the covariance", parameters.covariance, self._form)
        check_covariances("the covariance", parameters.covariance, self._form_of_law)

    # ---------------------------------------------------------------------------------------------
    # Algorithm 1
    # ---------------------------------------------------------------------------------------------

    def count(self, paths: Paths, threads: Threads) -> FactorialCounts:
        """Count starts, transitions and states that occur together, and add up observations.

        Each range of times has tables of its own to count in. There are as many as have 2^23 cells in all,
        but at least one.
        """
        n_chains, n_states, n_features = self._shape
        offsets = self.sequences.offsets

        def count(first: int, last: int) -> tuple[Floats, ...]:
            found = (
                scratch((n_chains, n_states)),
                scratch((n_chains, n_states, n_states)),
                scratch((n_chains, n_states, n_chains, n_states)),
                scratch((n_chains, n_states, n_features)),
            )
            q = int(np.searchsorted(offsets, first, side="right")) - 1
            kernels.count_range(first, last, q, offsets, self.sequences.values, self._centre, paths, *found)
            return found

        found, *others = threads.map(count, self._time_ranges)
        for other in others:
            for total, part in zip(found, other, strict=True):
                total += part
        starts, pairs, together, sums = found
        kernels.mirror(together.reshape(n_chains * n_states, -1))
        n_seen = self.n_times - self.sequences.n_missing
        squares, observations = len(paths) * self._squares, np.array(float(len(paths) * n_seen))
        return FactorialCounts(starts, pairs, together, sums, squares, observations)

    def _posterior(self, counts: FactorialCounts) -> tuple[Floats, Floats, Floats, float]:
        """Return L, L^-1 (V B0 + Z'X), R and the degrees of freedom; see `draw_parameters`.

        Observations and prior means are relative to `_centre`, of which every chain has its share.
        """
        n_features = self.sequences.n_features
        weight = self._mean_weight.reshape(-1, 1)
        prior = (self._mean_prior - self._centre / self.n_chains).reshape(-1, n_features)
        precision = counts.together.reshape(len(weight), -1).copy()
        lost = weight.min() < _LOST * precision.max()
        precision.flat[:: len(weight) + 1] += weight[:, 0]
        try:
            factor: Floats = np.linalg.cholesky(precision).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            lost = True
        if lost:
            # What one chain adds and another takes away is held by the prior alone.
            raise PlaitError(
                f"the weight of the means' prior, {weight.min():g}, is lost among {counts.observations:g}"
                " observations: make it larger"
            )
        half = solved(factor, counts.sums.reshape(-1, n_features) + weight * prior)
        if self._is_matrix:
            scatter = counts.squares + prior.T @ (weight * prior) - half.T @ half
        else:
            scatter = counts.squares + (weight * prior**2).sum(axis=0) - (half**2).sum(axis=0)
            scatter = np.maximum(scatter, 0.0)  # rounding
        return factor, half, self._scale + scatter, self._degrees + float(counts.observations)

    @_one_blas_thread
    def draw_parameters(self, counts: FactorialCounts, key: Key, threads: Threads) -> FactorialParameters:
        """Draw phi given all paths: line 4 of Algorithm 1.

        The start and transition probabilities are Dirichlet, with the counts added to their priors. Given the
        paths of all chains, the observations X (n, D) are a regression X = Z B + noise, where Z (n, K S) has
        a row for each observation of each path, with a one for the state of each chain, and B (K S, D) holds
        the means. With B0 their prior means, V the diagonal of their weights, C the covariance, and R0 and f
        its prior scale and degrees of freedom,

            P(B, C | X, Z) ~ |C|^-(n + K S + f + D + 1)/2 exp(-(1/2) tr C^-1 [(X - Z B)'(X - Z B)
                             + (B - B0)' V (B - B0) + R0]).

        To complete the square in B, let A = V + Z'Z = L L' and M = A^-1 (V B0 + Z'X); what is in brackets is
        (B - M)' A (B - M) + R with

            R = R0 + X'X + B0' V B0 - M' A M,      M' A M = H'H,  H = L^-1 (V B0 + Z'X).

        So C is inverse Wishart with scale R and f + n degrees of freedom, and given C = F F'

            B = M + L'^-1 N F' = L'^-1 (H + N F'),      N (K S, D) standard normal.

        A diagonal C makes the features independent: each has the same A, and its variance is inverse gamma
        with the shape (f + n) / 2 and the scale R_dd / 2.
        """
        n_chains, n_states, n_features = self._shape
        start = self._start.draw(counts.starts, key, 0)
        transitions = self._transitions.draw(counts.pairs.reshape(-1, n_states), key, n_chains)
        unit = n_chains + n_chains * n_states
        factor, half, scale, degrees = self._posterior(counts)
        normals = np.empty((n_chains * n_states, n_features))
        draws.fill_normals(unit, normals.reshape(-1), key)
        if self._is_matrix:
            root = draw_inverse_wishart_root(scale, degrees, key, unit + 1)
            covariance, noise = root @ root.T, normals @ root.T
        else:
            gammas = np.empty(n_features)
            draws.fill_gammas(unit + 1, np.full(n_features, degrees / 2), gammas, key)
            covariance = scale / (2 * gammas)
            noise = normals * np.sqrt(covariance)
        return self._parameters(start, transitions, factor, half + noise, covariance)

    @_one_blas_thread
    def mean_parameters(self, counts: FactorialCounts, threads: Threads) -> FactorialParameters:
        """Return the mean of phi given all paths.

        The mean of an inverse Wishart law is scale / (degrees - D - 1), and of the inverse gamma law, in the
        same terms, scale / (degrees - 2). With so few degrees that there is none, it is scale / degrees.
        """
        factor, half, scale, degrees = self._posterior(counts)
        less = degrees - (self.sequences.n_features + 1.0 if self._is_matrix else 2.0)
        start = self._start.mean(counts.starts)
        transitions = self._transitions.mean(counts.pairs.reshape(-1, self.n_states))
        return self._parameters(start, transitions, factor, half, scale / (less if less > 0 else degrees))

    def _parameters(
        self, start: Floats, transitions: Floats, factor: Floats, half: Floats, covariance: Floats
    ) -> FactorialParameters:
        """Return the parameters with the means L'^-1 `half`."""
        n_chains, n_states, _ = self._shape
        means = np.ascontiguousarray(solved(factor, half, transposed=True)).reshape(self._shape)
        return FactorialParameters(
            start,
            transitions.reshape(n_chains, n_states, n_states),
            means + self._centre / n_chains,
            covariance,
        )

    @_one_blas_thread
    def _law(self, parameters: FactorialParameters) -> _Law:
        n_chains, n_states, n_features = self._shape
        law = NormalParameters(np.zeros((1, n_features)), parameters.covariance, self._form_of_law)
        try:
            whitening, constants = law.whitening
        except np.linalg.LinAlgError:
            raise PlaitError(
                "the covariance is singular: give it a larger prior, or leave out features that depend on"
                " each other"
            ) from None
        # Kernels are compiled for arrays that are laid out and can be written to like these.
        parts = np.subtract(parameters.means, self._centre / n_chains, order="C")
        own = np.array(whitening[0])
        # C^-1 is W'W: squares of whitened parts cannot be negative.
        white = (parts @ own.T if self._is_matrix else parts * own).reshape(-1, n_features)
        duals = white @ own if self._is_matrix else white * own
        products = (white @ white.T).reshape(n_chains, n_states, n_chains, n_states)
        return _Law(parts, duals.reshape(self._shape), products, own, float(constants[0]))

    def _chains(self, parameters: FactorialParameters, n_together: int) -> tuple[Floats, Floats, bool]:
        """Return start and transitions, in logarithms where states might be lost to rounding, and whether.

        A state that is far behind all others vanishes from a message. Mostly it gets more from their
        transitions than it had; but where these are forbidden, it may yet win.
        """
        if parameters.transitions.min() ** n_together >= _FORBIDDEN:
            # `initial` is read-only, and kernels would be compiled anew for that.
            start, transitions = (
                np.require(array, requirements=["C", "W"])
                for array in (parameters.start, parameters.transitions)
            )
            return start, transitions, False
        return *_logs(parameters), True

    @property
    def _n_together(self) -> int:
        """How many chains are drawn together.

        As many as have at most 64 states, then spread evenly over that number of blocks.
        """
        most = 1
        while most < self.n_chains and self.n_states ** (most + 1) <= _MOST_TOGETHER:
            most += 1
        n_blocks = -(-self.n_chains // most)
        return -(-self.n_chains // n_blocks)

    def resample(self, paths: Paths, parameters: FactorialParameters, key: Key, threads: Threads) -> None:
        """Draw all paths given phi, a few chains at a time: lines 5 to 9 of Algorithm 1.

        See `plait.kernels.factorial.resample_blocks`. Given phi the paths are independent, and so are the
        sequences: each has a stream of its own.

        Each thread needs n + D numbers of 8 bytes for every time of its longest sequence, n being the number
        of states of the chains that are drawn together: 64 at most, or S where that is more.
        """
        n_chains, n_states, n_features = self._shape
        n_together = self._n_together
        n_joint = n_states**n_together
        law, sequences = self._law(parameters), self.sequences
        start, transitions, by_logs = self._chains(parameters, n_together)
        pieces = [(bounds, j) for bounds in self._ranges for j in range(len(paths))]

        def draw(piece: int, _: int) -> int:
            (first, last), j = pieces[piece]
            longest = int(sequences.lengths[first:last].max())
            unexplained: int = kernels.resample_blocks(
                size_of(n_states),
                first,
                last,
                j,
                n_together,
                sequences.offsets,
                sequences.values,
                self._centre,
                law.parts,
                law.duals,
                law.products,
                start,
                transitions,
                by_logs,
                paths,
                scratch((longest, n_features)),
                scratch((longest, n_joint)),
                scratch(n_joint),
                scratch(n_chains, np.int64),
                scratch((len(paths), 2), np.uint64),
                scratch((2, n_joint)),
                *key,
            )
            return unexplained

        for q in threads.map(draw, [(piece, piece + 1) for piece in range(len(pieces))]):
            if q >= 0:
                raise self._unexplained(q)

    def _unexplained(self, q: int) -> PlaitError:
        names = self.sequences.names
        which = f"sequence {q}" if names is None else f"sequence {q} ({names[q]})"
        return PlaitError(
            f"no path of states can have made {which}: take out zeros from the start or transition"
            " probabilities, or enlarge the covariance"
        )

    def resample_collapsed(self, paths: Paths, counts: FactorialCounts, key: Key) -> None:
        """Raise an error: there is no collapsed sampler."""
        raise NotSupported(
            "factorial hidden Markov models have no collapsed sampler: choose the partially collapsed one"
        )

    def log_joint(self, paths: Paths, parameters: FactorialParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path."""
        law, sequences = self._law(parameters), self.sequences
        start, transitions = _logs(parameters)

        def add(first: int, last: int) -> Floats:
            sums = scratch(len(paths))
            kernels.log_joints(
                first,
                last,
                sequences.offsets,
                sequences.values,
                self._centre,
                law.parts,
                law.whitening,
                law.constant,
                start,
                transitions,
                paths,
                scratch((1, sequences.n_features)),
                sums,
            )
            return sums

        return np.sum(threads.map(add, self._ranges), axis=0)

    def log_likelihoods(self, parameters: FactorialParameters, threads: Threads) -> Floats:
        """Return log P(w | phi) of each sequence, by the forward recursion over all states together.

        Raises an error where there are more than `MAX_JOINT_STATES` of these.
        """
        n_chains, n_states, n_features = self._shape
        if n_chains * math.log(n_states) > math.log(MAX_JOINT_STATES) + 1e-9:
            raise PlaitError(
                f"{n_chains} chains of {n_states} states have {n_states}^{n_chains} states together, more"
                f" than {MAX_JOINT_STATES}: their likelihood is out of reach, compare log_joint of the paths"
            )
        n_joint = n_states**n_chains
        law, sequences = self._law(parameters), self.sequences
        chains = self._chains(parameters, n_chains)
        likelihoods = np.empty(sequences.n_sequences)

        def score(first: int, last: int) -> None:
            longest = int(sequences.lengths[first:last].max())
            kernels.log_likelihoods(
                size_of(n_states),
                first,
                last,
                sequences.offsets,
                sequences.values,
                self._centre,
                law.whitening,
                law.constant,
                law.duals,
                law.products,
                *chains,
                likelihoods[first:last],
                scratch((longest, n_features)),
                scratch((2, n_joint)),
                scratch(n_joint),
                scratch(n_chains, np.int64),
                scratch((2, n_joint)),
            )

        threads.map(score, self._ranges)
        return likelihoods

    def log_likelihood(self, parameters: FactorialParameters, threads: Threads) -> float:
        """Return log P(w | phi); see `log_likelihoods`."""
        return math.fsum(self.log_likelihoods(parameters, threads))

    # ---------------------------------------------------------------------------------------------
    # Where to begin
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Return the first paths: found by a search, drawn given `initial`, or at random.

        From a random beginning the sampler soon holds chains that mix up several true ones, and keeps them.
        So chains are sought one by one. What the chains before it leave of the data is a hidden Markov model
        of one chain, whose noise is all that the chains yet to come contribute, and therefore has a full
        covariance. Of several runs from random paths the most probable is taken: it is most often a pure
        chain. Then all chains so far make a few sweeps. In each further round a third of the chains, drawn at
        random, is sought anew, and the better solution is kept. The search does not know prior means; where
        these alone tell chains and states apart, it ends by giving them the numbers for which the means are
        nearest to their priors.

        All paths begin at the solution that was found; the first sweep draws them apart.
        """
        if self.initial is not None:
            return self.paths_given(self.initial, n_paths, seed, threads)
        if self.search == 0:
            return self._random_paths(n_paths, Key(seed, INITIAL), threads)
        return np.repeat(self._sought(seed, threads), n_paths, axis=0)

    def paths_given(
        self, parameters: FactorialParameters, n_paths: int, seed: int, threads: Threads
    ) -> Paths:
        """Draw paths given phi alone: sweeps with more noise than there is, and ever less of it.

        Chains that are right together and wrong one by one find each other while the noise is large.
        """
        paths = np.empty((n_paths, self.n_sites), np.uint16)
        self._draw_without_data(paths, parameters, Key(seed, INITIAL), threads)
        for sweep in range(1, _SWEEPS_TO_COOL + 1):
            noise = parameters.covariance * _HOTTEST ** (1 - sweep / _SWEEPS_TO_COOL)
            warm = replace(parameters, covariance=noise)
            self.resample(paths, warm, Key(seed, _SEARCH + sweep), threads)
        return paths

    def _draw_without_data(
        self, paths: Paths, parameters: FactorialParameters, key: Key, threads: Threads
    ) -> None:
        """Draw the chains from their laws alone: states that all contribute the same are seen in no data."""
        paths[:] = 0
        same = np.broadcast_to(self._centre / self.n_chains, self._shape)
        self.resample(paths, replace(parameters, means=same), key, threads)

    def _random_paths(self, n_paths: int, key: Key, threads: Threads) -> Paths:
        """Draw chains at random that mostly stay in their states: without memory they would say less."""
        n_chains, n_states, _ = self._shape
        staying = np.tile(1.0 + 2.0 * n_states * np.eye(n_states), (n_chains, 1))
        start = self._start.scatter(1.0, key, 0)
        transitions = self._transitions.scatter(staying, key, n_chains)
        paths = np.empty((n_paths, self.n_sites), np.uint16)
        wide = np.diag(self._variance) if self._is_matrix else self._variance
        shape = (n_chains, n_states, n_states)
        law = FactorialParameters(start, transitions.reshape(shape), np.zeros(self._shape), wide)
        self._draw_without_data(paths, law, key, threads)
        return paths

    def _of_chains(self, chains: list[int], values: Floats | None = None) -> FactorialHmmModel:
        """Return a model of some of the chains, of these data or others, for the search."""
        n_states, n_features = self.n_states, self.sequences.n_features
        sequences = self.sequences if values is None else Sequences(values, self.sequences.offsets)
        moves = self._transitions.prior.reshape(self.n_chains, n_states, n_states)
        weight = self._mean_weight[chains]
        if not self._prior_means_are_alike:  # these models do not know them, so they must not weigh much
            weight = np.minimum(weight, _WEIGHT)
        return FactorialHmmModel(
            sequences,
            len(chains),
            n_states,
            covariance="full" if n_features <= _MOST_FEATURES else self.covariance,
            start_prior=self._start.prior[chains],
            transition_prior=moves[chains],
            mean_weight=weight,
            search=0,
        )

    @_one_blas_thread
    def _sought(self, seed: int, threads: Threads) -> Paths:
        """Return a path (1, N) to begin with; see `initial_paths`."""
        random = generator(seed, INITIAL, PARAMETERS, 0)
        best, best_log_joint = np.empty((self.n_chains, 0), np.uint16), -np.inf
        n_sought = math.ceil(self.n_chains * _SHARE_SOUGHT_ANEW)
        for number in range(self.search):
            sought = random.permutation(self.n_chains)[: n_sought if number else self.n_chains].tolist()
            kept = [k for k in range(self.n_chains) if k not in sought]
            step = number * (self.n_chains + 1)
            path, log_joint = self._grown(best[kept].reshape(1, -1), kept, sought, seed, step, threads)
            if log_joint > best_log_joint:
                best = np.empty((self.n_chains, self.n_times), np.uint16)
                best[kept + sought] = path.reshape(self.n_chains, -1)
                best_log_joint = log_joint
        return self._numbered_by_prior(best.reshape(1, -1), threads)

    def _numbered_by_prior(self, path: Paths, threads: Threads) -> Paths:
        """Return a path (1, N) with chains and states numbered so that means are nearest to their priors.

        Of the means only how the states of a chain differ counts: what all of them share could as well be
        another chain's. Distances have the weights of the priors.
        """
        if self.is_exchangeable or not self._chains_are_alike:
            return path
        from scipy.optimize import linear_sum_assignment  # takes long to import

        n_chains, n_states, _ = self._shape
        model = self._of_chains(list(range(n_chains)))
        mean = model.mean_parameters(model.count(path, threads), threads)

        def differences(means: Floats) -> Floats:
            own = (means - means.mean(axis=1, keepdims=True)) / np.sqrt(self._variance)
            return np.clip(own, -1e100, 1e100).reshape(n_chains * n_states, -1)  # lest squares overflow

        found, wanted = differences(mean.means), differences(self._mean_prior)
        distances = (found**2).sum(axis=1)[:, None] + (wanted**2).sum(axis=1) - 2 * found @ wanted.T
        distances *= self._mean_weight.reshape(-1)
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

    def _grown(
        self, path: Paths, kept: list[int], sought: list[int], seed: int, step: int, threads: Threads
    ) -> tuple[Paths, float]:
        """Add the chains sought to a path of those kept; return it, and its log P(p, w | mean of phi)."""
        log_joint = -np.inf
        left = self.sequences.values
        for number in range(len(sought) + 1):
            chains = kept + sought[:number]
            begin = _SEARCH + (step + number) * _STEP
            if number:
                own = self._of_chains(chains[-1:], left)
                path = np.hstack([path, own._best_of_tries(seed, begin, threads)])
            if chains:
                model = self._of_chains(chains)
                path, mean, log_joint = model._settled(path, _SWEEPS_TO_SETTLE, seed, begin, threads)
                left = self.sequences.values.copy()
                for means, states in zip(mean.means, path.reshape(len(chains), -1), strict=True):
                    left -= means[states]
        return path, log_joint

    def _best_of_tries(self, seed: int, begin: int, threads: Threads) -> Paths:
        """Return the most probable of several paths (1, N), each found by a short run of one path."""

        def attempt(number: int, _: int) -> tuple[Paths, float]:
            first = begin + (1 + number) * (_SWEEPS_A_TRY + 1)
            with Threads(1) as alone:
                path = self._random_paths(1, Key(seed, first), alone)
                path, _mean, log_joint = self._settled(path, _SWEEPS_A_TRY, seed, first + 1, alone)
            return path, log_joint

        tries = threads.map(attempt, [(number, number + 1) for number in range(_TRIES)])
        return max(tries, key=lambda found: found[1])[0]

    def _settled(
        self, paths: Paths, n_sweeps: int, seed: int, begin: int, threads: Threads
    ) -> tuple[Paths, FactorialParameters, float]:
        """Return the paths after some sweeps, the mean of phi, and log P(p, w | that) of the first path."""
        for sweep in range(begin, begin + n_sweeps):
            key = Key(seed, sweep)
            parameters = self.draw_parameters(self.count(paths, threads), key, threads)
            self.resample(paths, parameters, key, threads)
        mean = self.mean_parameters(self.count(paths, threads), threads)
        return paths, mean, float(self.log_joint(paths[:1], mean, threads)[0])

    # ---------------------------------------------------------------------------------------------
    # States, simulation and files
    # ---------------------------------------------------------------------------------------------

    def states_given(
        self, parameters: FactorialParameters, n_paths: int, n_sweeps: int, seed: int, threads: Threads
    ) -> NDArray[np.int64]:
        """Return the most frequent state of each chain at each time, (T, K), over sweeps given phi."""
        counts = np.zeros((self.n_sites, self.n_states), np.uint32)
        paths = self.paths_given(parameters, n_paths, seed, threads)
        for sweep in range(1, n_sweeps + 1):
            self.resample(paths, parameters, Key(seed, sweep), threads)
            kernels.add_states(paths, counts)
        return self.most_frequent(counts)

    def add_states(self, paths: Paths, counts: NDArray[np.uint32]) -> None:
        """Add one to `counts` (N, S) for the state of every site in every path."""
        kernels.add_states(paths, counts)

    def most_frequent(self, counts: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the states (T, K) that `add_states` met most often; of equally frequent ones the first."""
        return np.ascontiguousarray(counts.argmax(axis=1).reshape(self.n_chains, -1).T)

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, FactorialParameters]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi."""
        n_chains, n_states, _ = self._shape
        nothing = FactorialCounts(
            np.zeros((n_chains, n_states)),
            np.zeros((n_chains, n_states, n_states)),
            np.zeros((n_chains, n_states, n_chains, n_states)),
            np.zeros(self._shape),
            np.zeros(self._form),
            np.array(0.0),
        )
        with Threads(1) as threads:
            phi = self.draw_parameters(nothing, Key(int(rng.integers(2**62)), INITIAL), threads)
        states, values = simulate(phi, self.sequences.offsets, rng)
        arrays, header = self.to_arrays()
        missing = np.isnan(self.sequences.values[:, 0])
        arrays["sequences.values"] = np.where(missing[:, None], np.nan, values)
        path = np.ascontiguousarray(states.T.reshape(-1), np.uint16)
        return type(self).from_arrays(arrays, header), path, phi

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data, the priors and the initial parameters as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        arrays |= {
            "start_prior": self._start.prior,
            "transition_prior": self._transitions.prior.reshape(self.n_chains, self.n_states, -1),
            "mean_prior": self._mean_prior,
            "mean_weight": self._mean_weight,
            "covariance_prior": self._scale,
        }
        if self.initial is not None:
            arrays |= {f"initial.{name}": getattr(self.initial, name) for name in _PARAMETERS}
        return arrays, header | {
            "n_chains": self.n_chains,
            "n_states": self.n_states,
            "covariance": self.covariance,
            "covariance_weight": self._degrees,
            "search": self.search,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Make the model again from what `to_arrays` returned."""
        priors: Any = {
            name: arrays[name]
            for name in ("start_prior", "transition_prior", "mean_prior", "mean_weight", "covariance_prior")
        }
        initial = arrays_below("initial.", arrays)
        return cls(
            sequences_from_arrays(arrays, header),
            header["n_chains"],
            header["n_states"],
            covariance=header["covariance"],
            covariance_weight=header["covariance_weight"],
            search=header["search"],
            initial=FactorialParameters(**initial) if initial else None,
            **priors,
        )


_PARAMETERS = ("start", "transitions", "means", "covariance")


@_one_blas_thread
def simulate(
    parameters: FactorialParameters, offsets: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Draw states (T, K) and observations (T, D) of sequences from phi."""
    n_chains, _, n_features = parameters.means.shape
    n_times = int(offsets[-1])
    start, transitions = (cumulative_steps(rows) for rows in (parameters.start, parameters.transitions))
    states = np.empty((n_times, n_chains), np.int64)
    every = np.arange(n_chains)
    uniforms = rng.random((n_times, n_chains, 1))
    firsts = set(offsets[:-1].tolist())
    for t in range(n_times):
        steps = start if t in firsts else transitions[every, states[t - 1]]
        states[t] = (steps <= uniforms[t]).sum(axis=1)
    noise = rng.standard_normal((n_times, n_features))
    covariance = parameters.covariance
    if covariance.ndim == 2:
        noise = noise @ np.linalg.cholesky(covariance).T
    else:
        noise *= np.sqrt(covariance)
    return states, parameters.means[every, states].sum(axis=1) + noise


def _moments(sequences: Sequences) -> tuple[Floats, Floats]:
    """Return mean and variance of each feature."""
    if not isinstance(sequences, Sequences):
        raise PlaitError(f"the data are {short_repr(sequences)}: make them with Sequences.from_values")
    if sequences.is_symbols:
        raise PlaitError(
            f"the data are symbols, {sequences}: factorial hidden Markov models are for numbers, which"
            " Sequences.from_values takes"
        )
    seen = sequences.values[~np.isnan(sequences.values[:, 0])]
    if not len(seen):
        return np.zeros(sequences.n_features), np.ones(sequences.n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = seen.mean(axis=0)
        near = np.abs(seen - mean).max(axis=0) <= _FARTHEST
    if not near.all():
        raise PlaitError(
            f"the numbers of feature {place_of(~near)[1][0]} are too large to square: divide them by a"
            " constant"
        )
    return mean, seen.var(axis=0)


def _frozen_parameters(parameters: object) -> FactorialParameters:
    """Return a copy of parameters, of read-only arrays of floats."""
    if not isinstance(parameters, FactorialParameters):
        raise PlaitError(f"initial is {short_repr(parameters)}: give FactorialParameters")
    arrays = {
        name: check_numbers(f"{name} of the initial parameters", getattr(parameters, name))
        for name in _PARAMETERS
    }
    return FactorialParameters(**{name: frozen_copy(array) for name, array in arrays.items()})


def _logs(parameters: FactorialParameters) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore"):
        return np.log(parameters.start), np.log(parameters.transitions)
