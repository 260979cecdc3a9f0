"""The contract between a model, such as a mixture or a hidden Markov model, and its emissions.

Each kind of emissions holds the data and the priors, and provides

    weights           the probability of the observations in every state, in a form that
                      `plait.kernels.chains` takes
    count, expect     the sufficient statistics, of paths or of posteriors, over a range of sites
    draw, mean, mode  the posterior of the parameters given the statistics: a draw for the samplers, its mean
                      as a point estimate, its mode for EM

Statistics are one array of floats, so that those of several ranges can be added. Every method checks the form
of the arrays that it is given. `count` and `resample_collapsed` also read all paths to check them; models,
which have done so before, call `unchecked(emissions.count)`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, check_changeable, check_form, check_range_of_sites
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported
from plait.models.model import Arrays, Header, Key, Paths
from plait.storage import arrays_below

Parameters = TypeVar("Parameters")
InSequences = TypeVar("InSequences", bound="_InSequences")


class Emissions(Protocol[Parameters]):
    """The methods of emissions that models use.

    `Parameters` is the class of their parameters, such as `NormalParameters`.
    """

    kind: ClassVar[str]
    logs: ClassVar[bool]
    """Whether `weights` are logarithms, one row per site, or probabilities, one row per symbol."""

    n_states: int
    rows: NDArray[np.int32]
    """The row of `weights` of each site; empty if each site has its own."""

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""

    @property
    def completes(self) -> bool:
        """Whether what observations lack must be drawn, or expected, too: see `CompletingEmissions`."""

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""

    @property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""

    def weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the weights of the sites first to last."""

    def log_weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the weights in logarithms, regardless of `logs`."""

    def first_parameters(self, key: Key, unit: int) -> Parameters:
        """Draw initial parameters, from streams of the units from `unit` on."""

    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the statistics of the sites first to last, of all paths together."""

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected statistics; row 0 of the posteriors (n, S) is the site `first`."""

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has, (S,)."""

    def draw(self, statistics: Floats, key: Key, unit: int) -> Parameters:
        """Draw parameters given the statistics, from streams of the units from `unit` on."""

    def mean(self, statistics: Floats) -> Parameters:
        """Return the posterior mean of the parameters given the statistics."""

    def mode(self, statistics: Floats) -> Parameters:
        """Return the most probable parameters given the statistics."""

    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Draw every state of a mixture given all others, and update paths and counts in place."""

    def redrawn(self, parameters: Parameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""

    def order(self, parameters: Parameters) -> NDArray[np.intp]:
        """Return the states in canonical order."""

    def check_parameters(self, parameters: Parameters) -> None:
        """Raise an error for invalid parameters, or a wrong number of states or features."""

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Parameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""


class SequenceEmissions(Emissions[Parameters], Protocol):
    """Emissions whose observations come in sequences."""

    sequences: Sequences


class _InSequences(Protocol):
    sequences: Sequences


class DivisibleEmissions(SequenceEmissions[Parameters], Protocol):
    """Emissions that can be cut into those of consecutive ranges of sites; see `plait.engine`."""

    exact_counts: ClassVar[bool]
    """Whether the statistics of paths are whole numbers, which can be added in any order."""

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone; priors and centres stay those of all sites."""


class CompletingEmissions(SequenceEmissions[Parameters], Protocol):
    """Emissions with features that depend on each other, of observations that are missing in part.

    `count` and `expect` leave these observations out; the methods here return what is to be added.
    See `plait.models.emissions.completion`.
    """

    def count_completed(
        self, first: int, last: int, paths: Paths, parameters: Parameters, key: Key
    ) -> Floats:
        """Draw what the observations lack, for each path; return their statistics."""

    def expect_completed(self, first: int, last: int, posteriors: Floats, parameters: Parameters) -> Floats:
        """Return the expected statistics of these observations."""


def check_divisible(emissions: Any) -> None:
    """Raise an error unless emissions can be cut and draw nothing besides the states."""
    what = f"{emissions.kind} emissions"
    if emissions.completes and hasattr(emissions, "part"):
        what += " that draw what observations lack"
    elif hasattr(emissions, "part"):
        return
    raise NotSupported(f"{what} cannot be sampled on a cluster: leave out ", Argument("cluster"))


def part_of(emissions: InSequences, first: int, last: int, *arrays: str) -> InSequences:
    """Return emissions of the sites first to last alone, which differ in their data only.

    `arrays` are the attributes, besides the sequences, that have a row for each site.
    """
    own = copy.copy(emissions)
    for name in list(vars(own)):
        if isinstance(getattr(type(own), name, None), functools.cached_property):  # it may describe all data
            del vars(own)[name]
    own.sequences = emissions.sequences.part(first, last)
    for name in arrays:
        setattr(own, name, getattr(emissions, name)[first:last])
    return own


def check_form_of_statistics(statistics: Any, shape: tuple[int, int], changed: bool) -> None:
    """Raise an error unless statistics have this shape and, if a kernel changes them, are not read-only."""
    check_form(Argument("statistics"), statistics, shape)
    if changed:
        check_changeable(Argument("statistics"), statistics)


def check_form_of_posteriors(posteriors: Any, first: int, last: int, n_sites: int, n_states: int) -> None:
    """Raise an error unless posteriors have a row for each of the sites first to last."""
    check_range_of_sites(first, last, n_sites)
    check_form(Argument("posteriors"), posteriors, (last - first, n_states))


def check_form_of_states(states: Any, share_prior: Any, n_states: int) -> None:
    """Raise an error unless the counts of states, which a kernel changes, and their prior are (S,)."""
    check_form(Argument("states"), states, (n_states,))
    check_changeable(Argument("states"), states)
    check_form(Argument("share_prior"), share_prior, (n_states,))


def sequences_to_arrays(sequences: Sequences) -> tuple[Arrays, Header]:
    """Return the sequences as arrays and a header: the data part of `to_arrays`."""
    arrays, header = sequences.to_arrays()
    return {f"sequences.{name}": array for name, array in arrays.items()}, {"sequences": header}


def sequences_from_arrays(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Sequences:
    """Rebuild the sequences from the output of `to_arrays`."""
    return Sequences.from_arrays(arrays_below("sequences.", arrays), header["sequences"])
