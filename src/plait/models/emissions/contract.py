"""The contract between a model, such as a mixture or a hidden Markov model, and its emissions.

Each kind of emissions holds the data and the priors, and knows

    weights           the probability of the observations in every state, in the form that
                      `plait.kernels.chains` wants
    count, expect     the sufficient statistics, of paths or of posteriors, over a range of sites
    draw, mean, mode  the law of the parameters given the statistics: a draw for the samplers, its mean as a
                      point estimate, its mode for EM

Statistics are one array of real numbers, so that those of ranges can be added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from plait.data.sequences import Sequences
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.priors import Floats
from plait.storage import arrays_below

Parameters = TypeVar("Parameters")


class Emissions(Protocol[Parameters]):
    """What a model needs to know of its emissions.

    `Parameters` are the parameters: the laws of the observations in each state.
    """

    kind: ClassVar[str]
    logs: ClassVar[bool]
    """Whether `weights` are logarithms, one row a site, or probabilities, one row a symbol."""

    n_states: int
    rows: NDArray[np.int32]
    """The row of `weights` of each site; empty where each has its own."""

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""

    @property
    def is_exchangeable(self) -> bool:
        """Whether nothing tells one state from another but the data."""

    def weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the weights of the sites first to last."""

    def log_weights(self, parameters: Parameters, first: int, last: int) -> Floats:
        """Return the same in logarithms, whatever `logs` says."""

    def first_parameters(self, key: Key, unit: int) -> Parameters:
        """Draw a law to begin with, from streams of the units from `unit` on."""

    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the statistics of the sites first to last, of all paths together."""

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return their expectation; row 0 of the posteriors (n, S) is the site `first`."""

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has, (S,)."""

    def draw(self, statistics: Floats, key: Key, unit: int) -> Parameters:
        """Draw the laws given the statistics, from streams of the units from `unit` on."""

    def mean(self, statistics: Floats) -> Parameters:
        """Return the mean of the laws given the statistics."""

    def mode(self, statistics: Floats) -> Parameters:
        """Return the most probable laws given the statistics."""

    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Draw every state of a mixture given all others, in place, and keep its counts up."""

    def redrawn(self, parameters: Parameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return the same emissions of data drawn from a parameters, given the state of each site."""

    def order(self, parameters: Parameters) -> NDArray[np.intp]:
        """Return the states in canonical order."""

    def check_parameters(self, parameters: Parameters) -> None:
        """Refuse laws of another number of states or features."""

    def parameters_from_arrays(self, **arrays: Floats) -> Parameters:
        """Make a law from its arrays, by name."""

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Make them again from what `to_arrays` returned."""


class SequenceEmissions(Emissions[Parameters], Protocol):
    """Emissions whose observations come in sequences."""

    sequences: Sequences


def sequences_to_arrays(sequences: Sequences) -> tuple[Arrays, Header]:
    """Return the data as a part of what `to_arrays` returns."""
    arrays, header = sequences.to_arrays()
    return {f"sequences.{name}": array for name, array in arrays.items()}, {"sequences": header}


def sequences_from_arrays(arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Sequences:
    """Make the data again from what `to_arrays` returned."""
    return Sequences.from_arrays(arrays_below("sequences.", arrays), header["sequences"])
