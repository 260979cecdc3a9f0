"""Hidden Markov models, the second model of the paper.

start             ~ Dir(start_prior)               beta' in the paper
transitions_a     ~ Dir(transition_prior_a)        beta_a
p_i               ~ start at the first site of a sequence, else transitions_{p_i-1}
w_i               ~ the emissions of state p_i     e_s; see `plait.models.emissions`

phi is all of these. Algorithm 1 comes in two forms, selected by `blocked`: the paper's, site by site, or by
whole paths, for which one filter over the data serves all m paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_parts, stored_shapes
from plait.checks import check_flag, check_integer, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import chains as kernels
from plait.models.chain import Chain, HmmCounts, HmmParameters
from plait.models.emissions import CategoricalEmissions, emissions_from_arrays
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, changes_paths, unchecked
from plait.models.priors import DirichletRows
from plait.rng import INITIAL
from plait.scratch import scratch
from plait.storage import arrays_below
from plait.threads import Threads


@dataclass(frozen=True, eq=False)
class HmmModel(Chain):
    """A hidden Markov model of sequences: a chain, and the priors of its parameters.

    Parameters
    ----------
    emissions : CategoricalEmissions, GaussianEmissions or PoissonEmissions
        The data w, the number of states S, and the priors of the emissions.
    start_prior : float or array (S,), default: 1
        Prior of the first state. A zero forbids a state at the start.
    transition_prior : float or array (S, S), default: 1
        Prior of the transitions. A zero forbids a transition, as in left-right and banded models.
    fixed_start : array (S,), optional
        Fixed probabilities of the first state, NaN for free ones.
    fixed_transitions : array (S, S), optional
        Fixed transition probabilities, NaN for free ones.
    blocked : bool
        Whether Algorithm 1 draws whole paths instead of site by site as in the paper.
    initial : HmmParameters, optional
        Parameters to draw the initial paths from; random by default, see `first_parameters`.
    """

    kind: ClassVar[str] = "hmm"
    site_name: ClassVar[str] = "observation"

    start_prior: ArrayLike = 1.0
    transition_prior: ArrayLike = 1.0
    fixed_start: ArrayLike | None = None
    fixed_transitions: ArrayLike | None = None
    blocked: bool = True
    initial: HmmParameters | None = None
    _start: DirichletRows = field(init=False, repr=False)
    _transitions: DirichletRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(getattr(self.emissions, "sequences", None), Sequences):
            raise PlaitError(
                Argument("emissions"),
                f" must have sequences of data, got {short_repr(self.emissions)}",
            )
        n_states = check_integer("n_states", self.emissions.n_states, least=1, most=MAX_STATES)
        object.__setattr__(self, "blocked", check_flag("blocked", self.blocked))
        to = {"S": n_states}
        start = DirichletRows(
            "the start probabilities",
            {"1": 1} | to,
            self.start_prior,
            self.fixed_start,
            prior_name="start_prior",
            fixed_name="fixed_start",
        )
        transitions = DirichletRows(
            "the transition probabilities",
            {"S before": n_states} | to,
            self.transition_prior,
            self.fixed_transitions,
            prior_name="transition_prior",
            fixed_name="fixed_transitions",
        )
        object.__setattr__(self, "_start", start)
        object.__setattr__(self, "_transitions", transitions)
        if self.initial is not None:
            self.check_parameters(self.initial)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and kernels are compiled for read-only ones.
        return type(self).from_arrays, self.to_arrays()

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states, so that their numbering is arbitrary."""
        transitions = self._transitions
        return (
            self.emissions.is_exchangeable
            and self._start.is_exchangeable
            and bool(transitions.free.all())
            and _treats_states_alike(transitions.prior)
        )

    @property
    def has_default_prior(self) -> bool:
        """Whether all priors weigh what the defaults do, which are safeguards and no knowledge."""
        rows = self._start, self._transitions
        return self.emissions.has_default_prior and all(row.is_default for row in rows)

    def canonical_order(self, parameters: HmmParameters) -> NDArray[np.intp]:
        """Return the states in canonical order, so that two fits can be compared.

        They are sorted in increasing order of the mean symbol, or of the mean of the first feature that
        separates them (whose means are at least 0.1 standard deviations of the data apart). If priors, zeros
        or fixed probabilities distinguish the states already, their order stays.
        """
        if not self.is_exchangeable:
            return np.arange(self.n_states)
        return self.emissions.order(parameters.emissions)

    def check_parameters(self, parameters: HmmParameters) -> None:
        """Raise an error for a wrong shape, invalid distributions, or nonzeros that are forbidden."""
        self._check_form(parameters)
        self._start.check(parameters.start[None])
        self._transitions.check(parameters.transitions)
        self.emissions.check_parameters(parameters.emissions)

    def check_counts(self, counts: HmmCounts, *, changed: bool = False) -> None:
        """Raise an error if counts do not have the form that kernels take; see `plait.arrays.check_parts`."""
        n = self.n_states
        forms = {"starts": ((n,), np.float64), "pairs": ((n, n), np.float64)}
        check_parts("counts", counts, HmmCounts, forms, changed=changed)
        self.emissions.check_statistics(counts.emissions, changed=changed)

    # ---------------------------------------------------------------------------------------------
    # Algorithms 1 and 2
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the initial paths, given `initial` or random parameters.

        Uniformly random paths would start the run midway between all solutions, where the likelihood is flat.
        """
        paths = np.zeros((n_paths, self.n_sites), np.uint16)
        key = Key(seed, INITIAL)
        first = self.first_parameters(key) if self.initial is None else self.initial
        self.resample_blocked(paths, first, key, threads)
        return paths

    def first_parameters(self, key: Key) -> HmmParameters:
        """Draw initial parameters: probabilities from Dir(1), regardless of their prior.

        Only transitions from a state to itself are drawn larger, mostly above 1/2, because a chain without
        memory could not separate its states.
        """
        staying = 1.0 + 2.0 * self.n_states * np.eye(self.n_states)
        return HmmParameters(
            self._start.scatter(1.0, key, 0)[0],
            self._transitions.scatter(staying, key, 1),
            self.emissions.first_parameters(key, 1 + self.n_states),
        )

    def draw_parameters(self, counts: HmmCounts, key: Key, threads: Threads) -> HmmParameters:
        """Draw phi given all paths: line 4 of Algorithm 1."""
        self.check_counts(counts)
        return HmmParameters(
            self._start.draw(counts.starts[None], key, 0)[0],
            self._transitions.draw(counts.pairs, key, 1),
            self.emissions.draw(counts.emissions, key, 1 + self.n_states),
        )

    def mean_parameters(self, counts: HmmCounts, threads: Threads) -> HmmParameters:
        """Return the mean of phi given all paths."""
        self.check_counts(counts)
        return HmmParameters(
            self._start.mean(counts.starts[None])[0],
            self._transitions.mean(counts.pairs),
            self.emissions.mean(counts.emissions),
        )

    def mode_parameters(self, counts: HmmCounts) -> HmmParameters:
        """Return the most probable phi given the counts: the M step of EM."""
        self.check_counts(counts)
        return HmmParameters(
            self._start.mode(counts.starts[None])[0],
            self._transitions.mode(counts.pairs),
            self.emissions.mode(counts.emissions),
        )

    @changes_paths
    def resample(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw all paths given phi: lines 5 to 9 of Algorithm 1, whole paths or site by site."""
        draw = self.resample_blocked if self.blocked else self.resample_sites
        unchecked(draw)(paths, parameters, key, threads)

    @changes_paths
    def resample_collapsed(self, paths: Paths, counts: HmmCounts, key: Key) -> None:
        """Draw every state given all others, with phi integrated out: Algorithm 2."""
        self.check_collapsed()
        self.check_counts(counts, changed=True)
        dirichlet = self.emissions.dirichlet  # type: ignore[attr-defined]  # categorical: checked above
        n_paths, n_states = len(paths), self.n_states
        priors = kernels.CollapsedPriors(
            self._start.prior[0],
            self._transitions.prior,
            np.ascontiguousarray(dirichlet.prior.T),
            self._transitions.prior.sum(axis=1),
            dirichlet.prior.sum(axis=1),
        )
        streams = scratch((n_paths, 2), np.uint64)
        tables = kernels.CollapsedCounts(counts.starts, counts.pairs, counts.emissions)
        work = self.sequences.offsets, self.emissions.rows, tables, priors, paths
        if n_states == 2:
            kernels.resample_collapsed_two(*work, streams, key)
        else:
            rows = scratch((4 + 2 * n_states, n_states))
            buffers = kernels.DrawScratch(streams, scratch(n_paths, np.int64), rows)
            kernels.resample_collapsed(self._size, *work, buffers, key)

    def check_collapsed(self) -> None:
        """Raise an error if the collapsed sampler does not support the model."""
        if not isinstance(self.emissions, CategoricalEmissions):
            raise NotSupported(
                f"the collapsed sampler supports categorical emissions only, not {self.emissions.kind} ones:"
                " choose blocked or single-site"
            )
        if any(rows.has_fixed for rows in (self._start, self._transitions, self.emissions.dirichlet)):
            raise NotSupported(
                "the collapsed sampler does not support probabilities fixed to other values than 0: choose"
                " blocked or single-site"
            )

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, HmmParameters]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi."""
        n = self.n_states
        with Threads(1) as threads:
            nothing = self.count(np.empty((0, self.n_sites), np.uint16), threads)
            phi = self.draw_parameters(nothing, Key(int(rng.integers(2**62)), INITIAL), threads)
        path = np.empty(self.n_sites, np.uint16)
        starts = set(self.sequences.offsets[:-1].tolist())
        for i in range(self.n_sites):
            probabilities = phi.start if i in starts else phi.transitions[path[i - 1]]
            path[i] = rng.choice(n, p=probabilities / probabilities.sum())
        emissions = self.emissions.redrawn(phi.emissions, path, rng)
        return replace(self, emissions=emissions, initial=None), path, phi

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data, the priors and the initial parameters as arrays and a header."""
        arrays, header = self.emissions.to_arrays()
        arrays = {f"emissions.{name}": array for name, array in arrays.items()}
        arrays |= self._start.to_arrays("start") | self._transitions.to_arrays("transitions")
        if self.initial is not None:
            arrays |= {f"initial.{name}": array for name, array in self.initial.to_arrays().items()}
        return arrays, {
            "emissions": {"kind": self.emissions.kind, **header},
            "blocked": self.blocked,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        emissions = emissions_from_arrays(arrays, header)
        initial = arrays_below("initial.", arrays)
        starts, moves = (1, emissions.n_states), (emissions.n_states,) * 2
        priors: Any = stored_shapes(
            arrays,
            {
                "start.prior": starts,
                "transitions.prior": moves,
                "start.fixed": starts,
                "transitions.fixed": moves,
            },
        )
        return cls(
            emissions,
            priors["start.prior"],
            priors["transitions.prior"],
            priors["start.fixed"],
            priors["transitions.fixed"],
            blocked=header["blocked"],
            initial=_parameters_from_arrays(emissions, initial) if initial else None,
        )

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> HmmParameters:
        """Rebuild parameters from the output of `HmmParameters.to_arrays`, and check them."""
        parameters = _parameters_from_arrays(self.emissions, arrays)
        self.check_parameters(parameters)
        return parameters


def _parameters_from_arrays(emissions: Any, arrays: Mapping[str, NDArray[Any]]) -> HmmParameters:
    own = emissions.parameters_from_arrays(arrays_below("emissions.", arrays))
    n = emissions.n_states
    return HmmParameters(emissions=own, **stored_shapes(arrays, {"start": (n,), "transitions": (n, n)}))


def _treats_states_alike(prior: Floats) -> bool:
    """Return whether a prior of transitions has one value for staying in a state and one for leaving it."""
    leaving = prior[~np.eye(len(prior), dtype=bool)]
    return bool(np.ptp(np.diag(prior)) == 0) and (not leaving.size or bool(np.ptp(leaving) == 0))
