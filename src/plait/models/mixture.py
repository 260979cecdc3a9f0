"""Mixtures: every observation has a state, its class, independent of all others.

shares   ~ Dir(share_prior)               how common each state is
p_i      ~ shares
w_i      ~ the emissions of state p_i     see `plait.models.emissions`

phi are the shares and the parameters of the emissions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_form, check_parts, stored_shapes
from plait.checks import check_integer
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import mixtures as kernels
from plait.models.emissions import (
    DivisibleEmissions,
    Emissions,
    NormalParameters,
    check_divisible,
    emissions_from_arrays,
)
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, changes_paths, checks_paths, unchecked
from plait.models.priors import DirichletRows
from plait.models.shares import Share
from plait.rng import INITIAL
from plait.scratch import scratch, set_apart
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges, use_threads

_SITES_PER_RANGE = 4096  # with fewer, a thread costs more than it saves
_MANY = 2.0**40  # so many paths that no prior matters; a power of two adds no rounding
_SINGULAR = 1e-12  # a smaller share of variance not explained by other features is rounding error


@dataclass(frozen=True)
class MixtureCounts:
    """Sufficient statistics of all paths together; expected ones in EM.

    Attributes
    ----------
    states : ndarray, (S,)
        Number of observations in each state.
    emissions : ndarray
        Sufficient statistics of the emissions.
    """

    states: Floats
    emissions: Floats


@dataclass(frozen=True)
class MixtureParameters:
    """The parameters phi.

    Attributes
    ----------
    shares : ndarray, (S,)
        Probability of each state.
    emissions : object
        Parameters of the emissions of each state, such as `NormalParameters`.
    """

    shares: Floats
    emissions: Any

    def permuted(self, order: NDArray[np.intp]) -> MixtureParameters:
        """Return the parameters with the states in another order."""
        return MixtureParameters(self.shares[order], self.emissions.permuted(order))

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        emissions = {f"emissions.{name}": array for name, array in self.emissions.to_arrays().items()}
        return {"shares": self.shares, **emissions}


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """A mixture, with fixed priors.

    Parameters
    ----------
    emissions : GaussianEmissions, PoissonEmissions, BernoulliEmissions or MultinomialEmissions
        The data w, the number of states S, and the priors of the emissions.
    share_prior : float or array (S,), default: 1
        Prior of the shares of the states.
    initial : MixtureParameters, optional
        Parameters to draw the first paths from; random by default.
    """

    kind: ClassVar[str] = "mixture"
    site_name: ClassVar[str] = "observation"
    emissions: Emissions[Any]
    share_prior: ArrayLike = 1.0
    initial: MixtureParameters | None = None
    _shares: DirichletRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_states = check_integer("n_states", self.emissions.n_states, least=1, most=MAX_STATES)
        if not self.emissions.logs:
            raise PlaitError(
                Argument("emissions"),
                f" must not be {self.emissions.kind}: a mixture of single symbols is not identifiable;"
                " use multinomial or Bernoulli emissions",
            )
        if self.emissions.completes:
            raise NotSupported(
                "a mixture does not support observations that are partly missing with full or tied"
                " covariances: choose diagonal or spherical ones, or fill them in"
            )
        axes = {"1": 1, "S": n_states}
        shares = DirichletRows("the shares", axes, self.share_prior, prior_name="share_prior")
        object.__setattr__(self, "_shares", shares)
        if self.initial is not None:
            self.check_parameters(self.initial)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and kernels are compiled for read-only ones.
        return type(self).from_arrays, self.to_arrays()

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""
        return self.emissions.n_sites

    @property
    def n_states(self) -> int:
        """Number of states (S)."""
        return self.emissions.n_states

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        return even_ranges(self.n_sites, self.n_sites // _SITES_PER_RANGE)

    @functools.cached_property
    def _first_site(self) -> int:
        """Number of the first site among those of all data: 0, except in a share."""
        return 0

    @property
    def is_exchangeable(self) -> bool:
        """Whether the priors treat all states alike, so that their numbers are arbitrary."""
        return self.emissions.is_exchangeable and self._shares.is_exchangeable

    def canonical_order(self, parameters: MixtureParameters) -> NDArray[np.intp]:
        """Return the states in canonical order, so that two fits can be compared: the most common first.

        Where priors or fixed parameters distinguish the states, their order stays.
        """
        if not self.is_exchangeable:
            return np.arange(self.n_states)
        return np.argsort(-parameters.shares, kind="stable")

    def check_parameters(self, parameters: MixtureParameters) -> None:
        """Raise an error if parameters have the wrong shape or are not distributions."""
        check_form("the shares", parameters.shares, (self.n_states,))
        self._shares.check(parameters.shares[None])
        self.emissions.check_parameters(parameters.emissions)

    def check_counts(self, counts: MixtureCounts, *, changed: bool = False) -> None:
        """Raise an error if counts do not have the form that kernels take; see `plait.arrays.check_parts`."""
        forms = {"states": ((self.n_states,), np.float64)}
        check_parts("counts", counts, MixtureCounts, forms, changed=changed)
        self.emissions.check_statistics(counts.emissions, changed=changed)

    # ---------------------------------------------------------------------------------------------
    # Algorithms 1 and 2
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the first paths given `initial` or random parameters."""
        paths = np.zeros((n_paths, self.n_sites), np.uint16)
        key = Key(seed, INITIAL)
        first = self.first_parameters(key) if self.initial is None else self.initial
        self.resample(paths, first, key, threads)
        return paths

    def first_parameters(self, key: Key) -> MixtureParameters:
        """Draw initial parameters: equal shares, and initial parameters of the emissions."""
        possible = self._shares.possible[0]
        return MixtureParameters(possible / possible.sum(), self.emissions.first_parameters(key, 1))

    @checks_paths
    def count(self, paths: Paths, threads: Threads) -> MixtureCounts:
        """Count states and emissions over all paths."""
        return self.sum_counts(unchecked(self.count_parts)(paths, threads))

    @checks_paths
    def count_parts(self, paths: Paths, threads: Threads) -> list[MixtureCounts]:
        """Return the counts of each range of sites."""
        count_emissions = unchecked(self.emissions.count)

        def count(first: int, last: int) -> MixtureCounts:
            states = scratch(self.n_states)
            kernels.count_states(first, last, paths, states)
            return MixtureCounts(states, count_emissions(first, last, paths))

        return threads.map(count, self._ranges)

    def sum_counts(self, parts: list[MixtureCounts]) -> MixtureCounts:
        """Return the sum of counts."""
        each = zip(*((part.states, part.emissions) for part in parts), strict=True)
        return MixtureCounts(*(set_apart(np.sum(arrays, axis=0)) for arrays in each))

    # ---------------------------------------------------------------------------------------------
    # Shares of the observations
    # ---------------------------------------------------------------------------------------------

    def check_divisible(self, n_paths: int) -> None:
        """Raise an error if the emissions cannot be cut."""
        check_divisible(self.emissions)

    @property
    def _divisible(self) -> DivisibleEmissions[Any]:
        return cast(DivisibleEmissions[Any], self.emissions)

    @property
    def exact_counts(self) -> bool:
        """Whether counts are whole numbers throughout, which can be added in any order."""
        return self._divisible.exact_counts

    def site_ranges(self) -> list[Range]:
        """Return the ranges of sites at which the data may be cut."""
        return self._ranges

    def share(self, first: int, last: int) -> Share:
        """Return the mixture of the sites of the ranges `first` to `last`."""
        ranges = self._ranges[first:last]
        base, end = ranges[0][0], ranges[-1][1]
        own = {
            "emissions": self._divisible.part(base, end),
            "_ranges": [(a - base, b - base) for a, b in ranges],
            "_first_site": base,
            "initial": None,
        }
        return Share.of(self, own)

    # ---------------------------------------------------------------------------------------------
    # Draws given the counts, and given phi
    # ---------------------------------------------------------------------------------------------

    def draw_parameters(self, counts: MixtureCounts, key: Key, threads: Threads) -> MixtureParameters:
        """Draw phi given all paths: line 4 of Algorithm 1."""
        self.check_counts(counts)
        shares = self._shares.draw(counts.states[None], key, 0)[0]
        return MixtureParameters(shares, self.emissions.draw(counts.emissions, key, 1))

    def mean_parameters(self, counts: MixtureCounts, threads: Threads) -> MixtureParameters:
        """Return the mean of phi given all paths."""
        self.check_counts(counts)
        return MixtureParameters(
            self._shares.mean(counts.states[None])[0], self.emissions.mean(counts.emissions)
        )

    def mode_parameters(self, counts: MixtureCounts) -> MixtureParameters:
        """Return the most probable phi given the counts: the M step of EM."""
        self.check_counts(counts)
        return MixtureParameters(
            self._shares.mode(counts.states[None])[0], self.emissions.mode(counts.emissions)
        )

    @changes_paths
    def resample(self, paths: Paths, parameters: MixtureParameters, key: Key, threads: Threads) -> None:
        """Draw all paths given phi: lines 5 to 9 of Algorithm 1."""

        def draw(first: int, last: int) -> int:
            weights, _ = self._weights(parameters, first, last)
            streams = scratch((len(paths), 2), np.uint64)
            unit = self._first_site + first
            impossible: int = kernels.resample_sites(first, last, unit, weights, paths, streams, key)
            return impossible

        for i in threads.map(draw, self._ranges):
            if i >= 0:
                raise _impossible(self._first_site + i)

    @changes_paths
    def resample_collapsed(self, paths: Paths, counts: MixtureCounts, key: Key) -> None:
        """Draw every state given all others, phi integrated out: Algorithm 2.

        With all counts taken without the site, the weight of state s is

            (n_s + prior_s)  P(w_i | the other observations of state s, in all paths).
        """
        self.check_counts(counts, changed=True)
        draw = unchecked(self.emissions.resample_collapsed)
        draw(paths, counts.states, self._shares.prior[0], counts.emissions, key)
        # Sums drift by rounding as observations leave and enter. A resumed run counts from scratch,
        # so an uninterrupted one must do the same to reach the same bits.
        with Threads(1) as threads:
            counts.emissions[:] = unchecked(self.count)(paths, threads).emissions

    @checks_paths
    def log_joint(self, paths: Paths, parameters: MixtureParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path."""
        return np.sum(unchecked(self.log_joint_parts)(paths, parameters, threads), axis=0)

    @checks_paths
    def log_joint_parts(self, paths: Paths, parameters: MixtureParameters, threads: Threads) -> list[Floats]:
        """Return the terms of `log_joint`, one for each range of sites."""
        shares = self._log_shares(parameters)

        def add(first: int, last: int) -> Floats:
            logs = self.emissions.log_weights(parameters.emissions, first, last)
            sums = scratch(len(paths))
            kernels.log_joints(first, last, logs, shares, paths, sums)
            return sums

        return threads.map(add, self._ranges)

    # ---------------------------------------------------------------------------------------------
    # Likelihoods and posteriors
    # ---------------------------------------------------------------------------------------------

    def log_likelihoods(self, parameters: MixtureParameters, n_jobs: int | Threads | None = None) -> Floats:
        """Return log P(w_i | phi) of each observation, (N,).

        Parameters
        ----------
        parameters : MixtureParameters
            The parameters phi.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """

        def compute(first: int, last: int) -> Floats:
            return self._posteriors(parameters, first, last)[1]

        with use_threads(n_jobs) as threads:
            return np.concatenate(threads.map(compute, self._ranges))

    def log_likelihood(self, parameters: MixtureParameters, n_jobs: int | Threads | None = None) -> float:
        """Return log P(w | phi).

        Parameters
        ----------
        parameters : MixtureParameters
            The parameters phi.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """
        return float(self.log_likelihoods(parameters, n_jobs).sum())

    def posteriors(
        self, parameters: MixtureParameters, n_jobs: int | Threads | None = None
    ) -> tuple[Floats, Floats]:
        """Return P(p_i = s | w_i, phi), (N, S), and log P(w_i | phi), (N,).

        Parameters
        ----------
        parameters : MixtureParameters
            The parameters phi.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """

        def compute(first: int, last: int) -> tuple[Floats, Floats]:
            return self._posteriors(parameters, first, last)

        with use_threads(n_jobs) as threads:
            parts = zip(*threads.map(compute, self._ranges), strict=True)
        posteriors, likelihoods = (np.concatenate(part) for part in parts)
        if not np.isfinite(likelihoods).all():
            raise _impossible(int(np.argmax(~np.isfinite(likelihoods))))
        return posteriors, likelihoods

    def expected_counts(self, parameters: MixtureParameters, threads: Threads) -> tuple[MixtureCounts, float]:
        """Return the expected counts of a path given phi, and log P(w | phi): the E step of EM."""

        def expect(first: int, last: int) -> tuple[MixtureCounts, float]:
            posteriors, likelihoods = self._posteriors(parameters, first, last)
            if not np.isfinite(likelihoods).all():
                raise _impossible(first + int(np.argmax(~np.isfinite(likelihoods))))
            emissions = self.emissions.expect(first, last, posteriors)
            return MixtureCounts(posteriors.sum(axis=0), emissions), float(likelihoods.sum())

        counts, sums = zip(*threads.map(expect, self._ranges), strict=True)
        return self.sum_counts(list(counts)), math.fsum(sums)

    def _log_shares(self, parameters: MixtureParameters) -> Floats:
        check_form("the shares", parameters.shares, (self.n_states,))
        return _logs(parameters.shares)

    def _weights(self, parameters: MixtureParameters, first: int, last: int) -> tuple[Floats, Floats]:
        """Return the weights of the states at the sites first to last, and log of the largest of each site.

        Weights are shares times densities, divided by the largest of the site.
        """
        weights = self.emissions.log_weights(parameters.emissions, first, last)
        tops = np.empty(last - first)
        kernels.subtract_largest(weights, self._log_shares(parameters), tops)
        np.exp(weights, out=weights)
        return weights, tops

    def _posteriors(self, parameters: MixtureParameters, first: int, last: int) -> tuple[Floats, Floats]:
        """Return P(p_i = s | w_i, phi), (n, S), and log P(w_i | phi), (n,), of the sites first to last."""
        weights, tops = self._weights(parameters, first, last)
        totals = np.empty(last - first)
        kernels.normalise(weights, totals)
        return weights, tops + _logs(totals)

    # ---------------------------------------------------------------------------------------------
    # Simulation and files
    # ---------------------------------------------------------------------------------------------

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, MixtureParameters]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi."""
        with Threads(1) as threads:
            nothing = self.count(np.empty((0, self.n_sites), np.uint16), threads)
            phi = self.draw_parameters(nothing, Key(int(rng.integers(2**62)), INITIAL), threads)
        path = rng.choice(self.n_states, size=self.n_sites, p=phi.shares / phi.shares.sum()).astype(np.uint16)
        emissions = self.emissions.redrawn(phi.emissions, path, rng)
        return type(self)(emissions, self.share_prior), path, phi

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data, the priors and the initial parameters as arrays and a header."""
        arrays, header = self.emissions.to_arrays()
        arrays = {f"emissions.{name}": array for name, array in arrays.items()}
        arrays["share_prior"] = self._shares.prior[0]
        if self.initial is not None:
            arrays |= {f"initial.{name}": array for name, array in self.initial.to_arrays().items()}
        return arrays, {"emissions": {"kind": self.emissions.kind, **header}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        emissions = emissions_from_arrays(arrays, header)
        initial = arrays_below("initial.", arrays)
        return cls(
            emissions,
            stored_shapes(arrays, {"share_prior": (emissions.n_states,)})["share_prior"],
            _parameters_from_arrays(emissions, initial) if initial else None,
        )

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> MixtureParameters:
        """Rebuild parameters from the output of `MixtureParameters.to_arrays`, and check them."""
        parameters = _parameters_from_arrays(self.emissions, arrays)
        self.check_parameters(parameters)
        return parameters


@dataclass(frozen=True)
class LikelihoodOnly:
    """A mixture for maximum-likelihood EM: it maximises P(w | phi), regardless of its priors.

    The M step multiplies the counts by a huge number of paths m, because the mode of P(phi) P(w | phi)^m
    tends to that of the likelihood. The priors only keep the parameters of a state without observations
    finite.

    Parameters
    ----------
    model : MixtureModel
        The model to fit.
    widening : float
        Added to the variances of normal emissions in each M step, as scikit-learn's `reg_covar`.
    """

    model: MixtureModel
    widening: float = 0.0

    def expected_counts(self, parameters: MixtureParameters, threads: Threads) -> tuple[MixtureCounts, float]:
        """Return the expected counts of a path given phi, and log P(w | phi): the E step of EM."""
        return self.model.expected_counts(parameters, threads)

    def mode_parameters(self, counts: MixtureCounts) -> MixtureParameters:
        """Return the maximum-likelihood phi given the expected counts: the M step of EM."""
        self.model.check_counts(counts)
        many = MixtureCounts(_MANY * counts.states, _MANY * counts.emissions)
        parameters = self.model.mode_parameters(many)
        own = parameters.emissions
        if isinstance(own, NormalParameters):
            is_matrix = own.covariance in ("full", "tied")
            unit = np.eye(own.means.shape[1]) if is_matrix else 1.0
            own = replace(own, covariances=own.covariances + self.widening * unit)
            if is_matrix:
                _check_regular(own.covariances)
        return replace(parameters, emissions=own)


def _check_regular(covariances: Floats) -> None:
    """Raise an error if a feature is a linear combination of others: without a prior, that can happen."""
    variances = np.diagonal(covariances, axis1=-2, axis2=-1)
    try:
        roots = np.diagonal(np.linalg.cholesky(covariances), axis1=-2, axis2=-1)
    except np.linalg.LinAlgError:
        roots = np.zeros_like(variances)
    if np.any(roots**2 <= _SINGULAR * variances):
        raise PlaitError(
            "a covariance has become singular: increase ",
            Argument("reg_covar"),
            ", drop features that depend on each other, or use fewer components",
        )


def _parameters_from_arrays(emissions: Any, arrays: Mapping[str, NDArray[Any]]) -> MixtureParameters:
    own = emissions.parameters_from_arrays(arrays_below("emissions.", arrays))
    return MixtureParameters(emissions=own, **stored_shapes(arrays, {"shares": (emissions.n_states,)}))


def _logs(numbers: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(numbers)


def _impossible(i: int) -> PlaitError:
    return PlaitError(
        f"observation {i} has probability 0 in every state: remove zeros from the parameters, or the"
        " observation from the data"
    )
