"""The model of factorial hidden Markov models; the package's docstring defines it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_changeable, check_finite, check_form, check_parts, stored_shapes
from plait.blas import one_blas_thread
from plait.checks import check_choice, check_integer, check_number
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import factorial as kernels
from plait.models.emissions.contract import sequences_from_arrays, sequences_to_arrays
from plait.models.emissions.covariances import check_covariances
from plait.models.factorial import blocks, regression, starts
from plait.models.factorial.parameters import (
    FactorialCounts,
    FactorialParameters,
    frozen_parameters,
    simulate,
)
from plait.models.factorial.priors import (
    COVARIANCES,
    WEAK,
    FactorialPriors,
    Moments,
    covariance_form,
    moments_of,
)
from plait.models.factorial.search import find_path
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, Report, changes_paths, checks_paths
from plait.models.sweeps import State, SweepSettings, sweeps
from plait.rng import INITIAL
from plait.scratch import scratch
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges, use_threads, weighted_ranges

MAX_JOINT_STATES = 4096
"""Maximum number of joint states for which the likelihood is computed."""

MAX_PAIRS = 2**26
"""Maximum number of pairs of states, (K S)^2: several tables have 8 bytes for each."""

MAX_ROUNDS = 10_000
"""Maximum number of rounds of the search, whose random streams have a limited range of keys."""

_SITES_PER_RANGE = 8192  # with fewer, a thread costs more than it saves
_MOST_CELLS = 2**23  # of all tables that ranges count in
_DISTINCT = 0.1  # standard deviations of the data between states, for a feature to order them


@dataclass(frozen=True, eq=False)
class FactorialHmmModel:
    """A factorial hidden Markov model of sequences, with fixed priors.

    Parameters
    ----------
    sequences : Sequences
        The data w: numbers. A missing observation carries no information about the states.
    n_chains : int
        Number of chains K.
    n_states : int
        Number of states S of each chain. K S is at most 8192, because about five tables of (K S)^2 numbers
        are in memory at a time.
    covariance : {"diag", "full"}
        Form of the covariance of the noise.
    start_prior : float or array (K, S), default: 1
        Prior of the first states. A zero forbids a state at the start.
    transition_prior : float or array (K, S, S), default: 1
        Prior of the transitions. A zero forbids a transition.
    staying : float, default: 0
        Added to the prior of transitions from a state to itself; a weight in transitions.
    mean_prior : float or array (K, S, D), default: mean of the data, divided by K
        Prior mean of the means.
    mean_weight : float or array (K, S), default: 0.01
        Weight of that prior, in observations; at least 1e-6.
    covariance_prior : float or array, default: 0.01 of the variance of the data
        Scale of the prior of the covariance, (D,) or (D, D); a number is the diagonal.
    covariance_weight : float, default: 3, for a matrix D + 2
        Degrees of freedom of that prior; at least D for a matrix.
    search : int, default: 6
        Number of rounds of the search for a starting point; see `plait.models.factorial.search`. 0 starts
        from random chains.
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
    mean_weight: ArrayLike = WEAK
    covariance_prior: ArrayLike | None = None
    covariance_weight: float | None = None
    search: int = 6
    initial: FactorialParameters | None = None
    moments: Moments = field(init=False, repr=False)
    priors: FactorialPriors = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("n_chains", check_integer("n_chains", self.n_chains, least=1))
        put("n_states", check_integer("n_states", self.n_states, least=1, most=MAX_STATES))
        self._check_size()
        put("search", check_integer("search", self.search, least=0, limit=MAX_ROUNDS))
        check_choice("covariance", self.covariance, COVARIANCES)
        put("moments", moments_of(self.sequences))
        priors = FactorialPriors.checked(
            self.n_chains,
            self.n_states,
            self.moments,
            covariance=self.covariance,
            start_prior=self.start_prior,
            transition_prior=self.transition_prior,
            staying=self.staying,
            mean_prior=self.mean_prior,
            mean_weight=self.mean_weight,
            covariance_prior=self.covariance_prior,
            covariance_weight=self.covariance_weight,
        )
        put("priors", priors)
        if self.initial is not None:
            put("initial", frozen_parameters(self.initial))
            self.check_parameters(self.initial)

    def _check_size(self) -> None:
        n = self.n_chains * self.n_states
        if n**2 > MAX_PAIRS:
            raise PlaitError(
                f"{self.n_chains} chains of {self.n_states} states have {n} states in all, more than"
                f" {math.isqrt(MAX_PAIRS)}, and tables of all pairs of states would exhaust memory: use fewer"
                " chains or states"
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and kernels are compiled for read-only ones.
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
    def shape(self) -> tuple[int, int, int]:
        """Numbers of chains, states and features (K, S, D)."""
        return self.n_chains, self.n_states, self.sequences.n_features

    @property
    def searches(self) -> bool:
        """Whether `initial_paths` searches for a starting point, and takes a `report`."""
        return self.initial is None and self.search > 0

    @property
    def is_exchangeable(self) -> bool:
        """Whether the priors treat all chains and states alike, so that their numbers are arbitrary."""
        return self.priors.is_exchangeable

    @functools.cached_property
    def _data(self) -> kernels.Data:
        return kernels.Data(self.sequences.offsets, self.sequences.values, self.moments.mean)

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        """Ranges of sequences of nearly equal work."""
        return weighted_ranges(self.sequences.offsets, self.n_sites // _SITES_PER_RANGE)

    @functools.cached_property
    def _time_ranges(self) -> list[Range]:
        """Ranges of times, each with its own tables to count in; see `count`."""
        n = self.n_chains * self.n_states
        n_ranges = _MOST_CELLS // (n * (n + self.sequences.n_features))
        return even_ranges(self.n_times, min(n_ranges, self.n_sites // _SITES_PER_RANGE))

    @functools.cached_property
    @one_blas_thread
    def _squares(self) -> Floats:
        """X'X, or its diagonal, of the observations minus their mean."""
        seen = self.sequences.values[~np.isnan(self.sequences.values[:, 0])] - self.moments.mean
        return seen.T @ seen if self.priors.is_matrix else (seen**2).sum(axis=0)

    def canonical_order(
        self, parameters: FactorialParameters, shares: Floats
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return chains (K,) and the states of each (K, S) in canonical order, so that fits can be compared.

        Chains are ordered by their contribution, the largest first: the variance of their means, where states
        have the `shares` (K, S) and each feature is in units of the variance of the data. The states of a
        chain are ordered by the mean of the first feature that distinguishes them (whose means differ by at
        least 0.1 standard deviations of the data), the smallest first. Where priors distinguish chains or
        states, all keep their order.
        """
        n_chains, n_states, _ = self.shape
        if not self.is_exchangeable:
            return np.arange(n_chains), np.tile(np.arange(n_states), (n_chains, 1))
        means = parameters.centred(shares)[1].means / np.sqrt(self.moments.variance)
        chains = np.argsort(-np.einsum("ks,ksd->k", shares, means**2), kind="stable")
        states = np.empty((n_chains, n_states), np.intp)
        for k, own in enumerate(means[chains]):
            distance = np.ptp(own, axis=0)
            distinct = distance >= _DISTINCT
            feature = distinct.argmax() if distinct.any() else distance.argmax()
            states[k] = np.argsort(own[:, feature], kind="stable")
        return chains, states

    def shares(self, counts: FactorialCounts) -> Floats:
        """Return the share of the observations in each state of each chain, (K, S)."""
        self.check_counts(counts)
        return counts.shares

    def check_parameters(self, parameters: FactorialParameters) -> None:
        """Raise an error if parameters have the wrong shape, or contradict the priors."""
        self._check_form(parameters)
        self.priors.start.check(parameters.start)
        self.priors.transitions.check(parameters.transitions.reshape(-1, self.n_states))
        check_finite("the array of means", parameters.means)
        check_finite("the covariance", parameters.covariance)
        check_covariances("the covariance", parameters.covariance, covariance_form(self.priors.scale))

    def _check_form(self, parameters: FactorialParameters) -> None:
        """Raise an error if parameters do not have the form that kernels take."""
        shapes = _shapes_of_parameters(*self.shape, self.covariance)
        for name, text in _NAMES.items():
            check_form(text, getattr(parameters, name), shapes[name])

    def check_counts(self, counts: FactorialCounts) -> None:
        """Raise an error if counts do not have the form that `count` returns."""
        n_chains, n_states, n_features = self.shape
        shapes: dict[str, tuple[int, ...]] = {
            "starts": (n_chains, n_states),
            "pairs": (n_chains, n_states, n_states),
            "together": (n_chains, n_states, n_chains, n_states),
            "sums": (n_chains, n_states, n_features),
            "squares": self.priors.scale.shape,
        }
        forms = {name: (shape, np.float64) for name, shape in shapes.items()}
        check_parts("counts", counts, FactorialCounts, forms)

    # ---------------------------------------------------------------------------------------------
    # Algorithm 1
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads, report: Report | None = None) -> Paths:
        """Return the first paths: found by a search, drawn given `initial`, or at random.

        After a search, all paths start at the solution that it found; the first sweep separates them.
        """
        if self.initial is not None:
            return self.paths_given(self.initial, n_paths, seed, threads)
        if self.search == 0:
            return starts.random_paths(self, n_paths, Key(seed, INITIAL), threads)
        return np.repeat(find_path(self, seed, threads, report), n_paths, axis=0)

    @checks_paths
    def count(self, paths: Paths, threads: Threads) -> FactorialCounts:
        """Count starts, transitions and pairs of simultaneous states, and sum up observations.

        Each range of times has its own tables to count in. There are as many ranges as tables of 2^23 cells
        in all allow, but at least one.
        """
        n_chains, n_states, n_features = self.shape

        def count(first: int, last: int) -> kernels.Tables:
            tables = kernels.Tables(
                starts=scratch((n_chains, n_states)),
                pairs=scratch((n_chains, n_states, n_states)),
                together=scratch((n_chains, n_states, n_chains, n_states)),
                sums=scratch((n_chains, n_states, n_features)),
            )
            q = int(np.searchsorted(self.sequences.offsets, first, side="right")) - 1
            kernels.count_range(first, last, q, self._data, paths, tables)
            return tables

        found, *others = threads.map(count, self._time_ranges)
        for other in others:
            for total, part in zip(found, other, strict=True):
                total += part
        kernels.mirror(found.together.reshape(n_chains * n_states, -1))
        n_seen = self.n_times - self.sequences.n_missing
        squares, observations = len(paths) * self._squares, np.array(float(len(paths) * n_seen))
        return FactorialCounts(*found, squares, observations)

    @one_blas_thread
    def draw_parameters(self, counts: FactorialCounts, key: Key, threads: Threads) -> FactorialParameters:
        """Draw phi given all paths: line 4 of Algorithm 1.

        Start and transition probabilities are Dirichlet, with the counts added to their priors. Means and
        covariance are those of a regression; see `plait.models.factorial.regression`.
        """
        self.check_counts(counts)
        n_chains, n_states, _ = self.shape
        start = self.priors.start.draw(counts.starts, key, 0)
        transitions = self.priors.transitions.draw(counts.pairs.reshape(-1, n_states), key, n_chains)
        posterior = regression.posterior_of(counts, self.priors, self.moments.mean)
        means, covariance = regression.draw(posterior, key, n_chains + n_chains * n_states)
        return self._parameters(start, transitions, means, covariance)

    @one_blas_thread
    def mean_parameters(self, counts: FactorialCounts, threads: Threads) -> FactorialParameters:
        """Return the mean of phi given all paths."""
        self.check_counts(counts)
        start = self.priors.start.mean(counts.starts)
        transitions = self.priors.transitions.mean(counts.pairs.reshape(-1, self.n_states))
        means, covariance = regression.mean(regression.posterior_of(counts, self.priors, self.moments.mean))
        return self._parameters(start, transitions, means, covariance)

    def _parameters(
        self, start: Floats, transitions: Floats, means: Floats, covariance: Floats
    ) -> FactorialParameters:
        """Return the parameters with their axes; `means` are relative to the centre of the data."""
        n_chains, n_states, _ = self.shape
        return FactorialParameters(
            start,
            transitions.reshape(n_chains, n_states, n_states),
            np.ascontiguousarray(means).reshape(self.shape) + self.moments.mean / n_chains,
            covariance,
        )

    @changes_paths
    def resample(self, paths: Paths, parameters: FactorialParameters, key: Key, threads: Threads) -> None:
        """Draw all paths given phi, a few chains at a time: lines 5 to 9 of Algorithm 1."""
        self._check_form(parameters)
        q = blocks.resample(self._data, self._ranges, paths, parameters, key, threads)
        if q >= 0:
            names = self.sequences.names
            which = f"sequence {q}" if names is None else f"sequence {q} ({names[q]})"
            raise PlaitError(
                f"{which} has probability 0 under every state path: remove zeros from the start or transition"
                " probabilities, or enlarge the covariance"
            )

    def resample_collapsed(self, paths: Paths, counts: FactorialCounts, key: Key) -> None:
        """Raise an error: there is no collapsed sampler."""
        raise NotSupported(
            "factorial hidden Markov models have no collapsed sampler: use the partially collapsed one"
        )

    @checks_paths
    def log_joint(self, paths: Paths, parameters: FactorialParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path."""
        self._check_form(parameters)
        return blocks.log_joint(self._data, self._ranges, paths, parameters, threads)

    # ---------------------------------------------------------------------------------------------
    # Likelihoods and states given phi
    # ---------------------------------------------------------------------------------------------

    def log_likelihoods(self, parameters: FactorialParameters, n_jobs: int | Threads | None = None) -> Floats:
        """Return log P(w | phi) of each sequence, by the forward recursion over all joint states.

        Raises an error if there are more than `MAX_JOINT_STATES` of these.

        Parameters
        ----------
        parameters : FactorialParameters
            The parameters phi.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """
        n_chains, n_states, _ = self.shape
        if n_chains * math.log(n_states) > math.log(MAX_JOINT_STATES) + 1e-9:
            raise PlaitError(
                f"{n_chains} chains of {n_states} states have {n_states}^{n_chains} joint states, more than"
                f" {MAX_JOINT_STATES}, so their likelihood cannot be computed: compare log_joint of the paths"
            )
        self._check_form(parameters)
        with use_threads(n_jobs) as threads:
            return blocks.log_likelihoods(self._data, self._ranges, parameters, threads)

    def log_likelihood(self, parameters: FactorialParameters, n_jobs: int | Threads | None = None) -> float:
        """Return log P(w | phi); see `log_likelihoods`.

        Parameters
        ----------
        parameters : FactorialParameters
            The parameters phi.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """
        return math.fsum(self.log_likelihoods(parameters, n_jobs))

    def paths_given(
        self,
        parameters: FactorialParameters,
        n_paths: int,
        seed: int,
        n_jobs: int | Threads | None = None,
    ) -> Paths:
        """Draw paths (m, N) given phi, in sweeps with decreasing noise.

        Parameters
        ----------
        parameters : FactorialParameters
            The parameters phi.
        n_paths : int
            Number of paths.
        seed : int
            Seed of the random streams.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """
        check_integer("n_paths", n_paths, least=1)
        with use_threads(n_jobs) as threads:
            return starts.annealed_paths(self, parameters, n_paths, seed, threads)

    def states_given(
        self,
        parameters: FactorialParameters,
        n_paths: int,
        n_sweeps: int,
        seed: int,
        n_jobs: int | Threads | None = None,
    ) -> NDArray[np.int64]:
        """Return the most frequent state of each chain at each time, (T, K), over sweeps given phi.

        Parameters
        ----------
        parameters : FactorialParameters
            The parameters phi.
        n_paths : int
            Number of paths.
        n_sweeps : int
            Number of sweeps in which states are counted, after those that find a starting point.
        seed : int
            Seed of the random streams.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """
        counts = np.zeros((self.n_sites, self.n_states), np.uint32)
        with use_threads(n_jobs) as threads:
            start = State(0, self.paths_given(parameters, n_paths, seed, threads))
            algorithm = SweepSettings(seed)
            for state in sweeps(self, start, n_sweeps, algorithm, threads, lambda sweep: parameters):
                self.add_states(state.paths, counts)
        return self.most_frequent(counts)

    @checks_paths
    def add_states(self, paths: Paths, counts: NDArray[np.uint32]) -> None:
        """Add one to `counts` (N, S) for the state of every site in every path."""
        check_form(Argument("counts"), counts, (self.n_sites, self.n_states), np.uint32)
        check_changeable(Argument("counts"), counts)
        kernels.add_states(paths, counts)

    def most_frequent(self, counts: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return the states (T, K) that `add_states` counted most often; of equal counts, the first."""
        return np.ascontiguousarray(counts.argmax(axis=1).reshape(self.n_chains, -1).T)

    # ---------------------------------------------------------------------------------------------
    # Simulation and files
    # ---------------------------------------------------------------------------------------------

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, FactorialParameters]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi."""
        with Threads(1) as threads:
            nothing = self.count(np.empty((0, self.n_sites), np.uint16), threads)
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
            "start_prior": self.priors.start.prior,
            "transition_prior": self.priors.transitions.prior.reshape(self.n_chains, self.n_states, -1),
            "mean_prior": self.priors.means,
            "mean_weight": self.priors.mean_weights,
            "covariance_prior": self.priors.scale,
        }
        if self.initial is not None:
            arrays |= {f"initial.{name}": array for name, array in self.initial.to_arrays().items()}
        return arrays, header | {
            "n_chains": self.n_chains,
            "n_states": self.n_states,
            "covariance": self.covariance,
            "covariance_weight": self.priors.degrees,
            "search": self.search,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        n_chains = check_integer("n_chains", header["n_chains"], least=1, most=math.isqrt(MAX_PAIRS))
        n_states = check_integer("n_states", header["n_states"], least=1, most=math.isqrt(MAX_PAIRS))
        covariance = check_choice("covariance", header["covariance"], COVARIANCES)
        shapes = _shapes_of_parameters(n_chains, n_states, sequences.n_features, covariance)
        given: Any = stored_shapes(
            arrays,
            {
                "start_prior": shapes["start"],
                "transition_prior": shapes["transitions"],
                "mean_prior": shapes["means"],
                "mean_weight": shapes["start"],
                "covariance_prior": shapes["covariance"],
            },
        )
        initial = arrays_below("initial.", arrays)
        return cls(
            sequences,
            n_chains,
            n_states,
            covariance=covariance,
            covariance_weight=check_number("covariance_weight", header["covariance_weight"]),
            search=header["search"],
            initial=FactorialParameters(**stored_shapes(initial, shapes)) if initial else None,
            **given,
        )


_NAMES = {
    "start": "the start probabilities",
    "transitions": "the transition probabilities",
    "means": "the array of means",
    "covariance": "the covariance",
}
"""The names of the parameters in messages."""


def _shapes_of_parameters(
    n_chains: int, n_states: int, n_features: int, covariance: str
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters by name; their priors have the same ones."""
    return {
        "start": (n_chains, n_states),
        "transitions": (n_chains, n_states, n_states),
        "means": (n_chains, n_states, n_features),
        "covariance": (n_features,) * (2 if covariance == "full" else 1),
    }
