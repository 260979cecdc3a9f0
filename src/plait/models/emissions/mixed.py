"""Emissions with a family of their own for each column, or for a few columns together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, check_form, check_integer_array, frozen_copy, stored
from plait.checks import check_choice, check_integer, list_names, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.models.emissions.categorical import CategoricalEmissions, CategoricalParameters
from plait.models.emissions.contract import SequenceEmissions
from plait.models.emissions.families import FAMILIES
from plait.models.emissions.starts import scattered
from plait.models.model import Arrays, Header, Key, Paths, changes_paths, checks_paths, unchecked
from plait.storage import arrays_below

_NO_ROWS: NDArray[np.int32] = frozen_copy(np.empty(0, np.int32))
_UNITS: Final = 2**40
"""Number of units of random streams that are reserved for each part."""

Columns = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MixedParameters:
    """Parameters of columns with families of their own.

    Attributes
    ----------
    columns : tuple of tuple of int
        The columns of each part.
    parts : tuple
        Their parameters, such as `GammaParameters`.
    """

    columns: tuple[Columns, ...]
    parts: tuple[Any, ...]

    def permuted(self, order: NDArray[np.intp]) -> MixedParameters:
        """Return the parameters with the states in another order."""
        return MixedParameters(self.columns, tuple(part.permuted(order) for part in self.parts))

    def with_state(self, state: int, other: MixedParameters, theirs: int) -> MixedParameters:
        """Return the parameters with those of one state replaced by those of a state of others."""
        both = zip(self.parts, other.parts, strict=True)
        return MixedParameters(
            self.columns, tuple(part.with_state(state, given, theirs) for part, given in both)
        )

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {
            f"{k}.{name}": array
            for k, part in enumerate(self.parts)
            for name, array in part.to_arrays().items()
        }

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        values = np.empty((len(states), sum(map(len, self.columns))))
        for columns, part in zip(self.columns, self.parts, strict=True):
            values[:, columns] = part.sample(states, rng).reshape(len(states), -1)
        return values

    def over(self, sequences: Sequences) -> MixedEmissions:
        """Return emissions of other data that take these parameters."""
        both = zip(self.columns, self.parts, strict=True)
        return MixedEmissions(
            (
                (columns, part.over(part_of(sequences, columns, isinstance(part, CategoricalParameters))))
                for columns, part in both
            ),
            sequences.columns,
        )


class MixedEmissions:
    """Columns that are independent given the state, with a family for each, or for a few together.

    Log-densities add up, and the statistics of the parts stand side by side.

    Parameters
    ----------
    parts : iterable of (columns, emissions)
        The columns of each part, and their emissions: any but multinomial ones. All columns from 0 on occur
        once, and all emissions have the same sequences and the same number of states. Symbols take one
        column.
    names : iterable of str, optional
        Names of all columns.
    """

    kind: ClassVar[str] = "mixed"
    logs: ClassVar[bool] = True
    rows = _NO_ROWS

    def __init__(
        self,
        parts: Iterable[tuple[Iterable[int], SequenceEmissions[Any]]],
        names: Iterable[str] | None = None,
    ) -> None:
        given = [(tuple(columns), emissions) for columns, emissions in parts]
        self.columns: tuple[Columns, ...] = tuple(columns for columns, _ in given)
        self.parts: tuple[SequenceEmissions[Any], ...] = tuple(emissions for _, emissions in given)
        _check_parts(self.columns, self.parts)
        self.n_states = self.parts[0].n_states
        self.sequences = _joined(self.columns, self.parts, names)
        no_posteriors = np.empty((0, self.n_states))
        self._shapes = [part.expect(0, 0, no_posteriors).shape for part in self.parts]
        self._ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self._shapes)])

    @property
    def n_sites(self) -> int:
        """Number of observations (N)."""
        return self.sequences.n_sites

    @property
    def completes(self) -> bool:
        """Whether a part draws what observations lack; see `CompletingEmissions`."""
        return any(part.completes for part in self.parts)

    @property
    def has_default_prior(self) -> bool:
        """Whether the priors of all parts are those that the data give if none are given."""
        return all(part.has_default_prior for part in self.parts)

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        return all(part.is_exchangeable for part in self.parts)

    def weights(self, parameters: MixedParameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        logs = np.zeros((last - first, self.n_states))
        for emissions, own in self._with(parameters):
            found = emissions.log_weights(own, first, last)
            logs += found if emissions.logs else found[emissions.rows[first:last]]
        return logs

    def log_weights(self, parameters: MixedParameters, first: int, last: int) -> Floats:
        """Return the log-density of each site in each state, (n, S)."""
        return self.weights(parameters, first, last)

    def _with(self, parameters: MixedParameters) -> list[tuple[SequenceEmissions[Any], Any]]:
        """Return each part with its parameters."""
        if not isinstance(parameters, MixedParameters) or parameters.columns != self.columns:
            raise PlaitError(
                Argument("parameters"),
                f" must be those of {len(self.parts)} parts, got {short_repr(parameters)}",
            )
        return list(zip(self.parts, parameters.parts, strict=True))

    def first_parameters(self, key: Key, unit: int) -> MixedParameters:
        """Draw initial parameters: all parts from the same observations, which are far apart."""
        values = self.sequences.values
        coordinates = np.hstack([part.coordinates() for part in self.parts])  # type: ignore[attr-defined]
        chosen = scattered(self.sequences, coordinates, self.n_states, key, unit)
        if chosen is None:
            centres, spread = np.zeros((self.n_states, values.shape[1])), np.ones(values.shape[1])
        else:
            centres, spread = chosen.centres_and_spread(values)
        return MixedParameters(
            self.columns,
            tuple(
                part.parameters_near(  # type: ignore[attr-defined]
                    np.ascontiguousarray(centres[:, columns]), spread[list(columns)]
                )
                for columns, part in zip(self.columns, self.parts, strict=True)
            ),
        )

    # ---------------------------------------------------------------------------------------------
    # Statistics: those of all parts, one after another, flat
    # ---------------------------------------------------------------------------------------------

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the statistics of all parts."""
        return np.concatenate([unchecked(part.count)(first, last, paths).ravel() for part in self.parts])

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected statistics of all parts."""
        return np.concatenate([part.expect(first, last, posteriors).ravel() for part in self.parts])

    @checks_paths
    def count_completed(
        self, first: int, last: int, paths: Paths, parameters: MixedParameters, key: Key
    ) -> Floats:
        """Draw what the observations lack, for each path; return their statistics."""
        return self._completed(
            lambda part, own: unchecked(part.count_completed)(first, last, paths, own, key), parameters
        )

    def expect_completed(
        self, first: int, last: int, posteriors: Floats, parameters: MixedParameters
    ) -> Floats:
        """Return the expected statistics of these observations."""
        return self._completed(
            lambda part, own: part.expect_completed(first, last, posteriors, own), parameters
        )

    def _completed(self, statistics: Callable[[Any, Any], Floats], parameters: MixedParameters) -> Floats:
        """Return the statistics of the parts that complete observations, and zeros for the others."""
        pieces = []
        for (part, own), shape in zip(self._with(parameters), self._shapes, strict=True):
            pieces.append(statistics(part, own).ravel() if part.completes else np.zeros(int(np.prod(shape))))
        return np.concatenate(pieces)

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns."""
        check_form(Argument("statistics"), statistics, (int(self._ends[-1]),))

    def _of_parts(self, statistics: Floats) -> list[tuple[SequenceEmissions[Any], Floats]]:
        """Return each part with its statistics."""
        self.check_statistics(statistics)
        pieces = np.split(statistics, self._ends[1:-1])
        each = zip(self.parts, pieces, self._shapes, strict=True)
        return [(part, np.ascontiguousarray(piece).reshape(shape)) for part, piece, shape in each]

    def observations(self, statistics: Floats) -> Floats:
        """Return how many observations each state has in the part where it has most."""
        each = [part.observations(own) for part, own in self._of_parts(statistics)]
        return np.max(each, axis=0)

    def _parameters(self, parts: Iterable[Any]) -> MixedParameters:
        return MixedParameters(self.columns, tuple(parts))

    def draw(self, statistics: Floats, key: Key, unit: int) -> MixedParameters:
        """Draw the parameters of all parts, each from streams of its own."""
        each = enumerate(self._of_parts(statistics))
        return self._parameters(part.draw(own, key, unit + k * _UNITS) for k, (part, own) in each)

    def mean(self, statistics: Floats) -> MixedParameters:
        """Return the posterior means of all parts."""
        return self._parameters(part.mean(own) for part, own in self._of_parts(statistics))

    def mode(self, statistics: Floats) -> MixedParameters:
        """Return the most probable parameters of all parts."""
        return self._parameters(part.mode(own) for part, own in self._of_parts(statistics))

    @changes_paths
    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Raise an error: there is no collapsed sampler."""
        raise NotSupported("the collapsed sampler does not support mixed emissions: choose another method")

    def redrawn(self, parameters: MixedParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        each = zip(self.columns, self._with(parameters), strict=True)
        parts = ((columns, part.redrawn(own, states, rng)) for columns, (part, own) in each)
        return type(self)(parts, self.sequences.columns)

    def order(self, parameters: MixedParameters) -> NDArray[np.intp]:
        """Return the states in the order of the first part."""
        emissions, own = self._with(parameters)[0]
        return emissions.order(own)

    def check_parameters(self, parameters: MixedParameters) -> None:
        """Raise an error for parameters of other parts, or invalid ones."""
        for emissions, own in self._with(parameters):
            emissions.check_parameters(own)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> MixedParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        return self._parameters(
            part.parameters_from_arrays(arrays_below(f"{k}.", arrays)) for k, part in enumerate(self.parts)
        )

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the parts as arrays and a header."""
        arrays: Arrays = {}
        headers = []
        for k, (columns, part) in enumerate(zip(self.columns, self.parts, strict=True)):
            own, header = part.to_arrays()
            arrays |= {f"{k}.{name}": array for name, array in own.items()}
            arrays[f"{k}.columns"] = np.array(columns, np.int64)
            headers.append({"kind": part.kind, **header})
        return arrays, {"parts": headers, "names": self.sequences.columns}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        headers = header["parts"]
        if not isinstance(headers, list) or not all(isinstance(own, Mapping) for own in headers):
            raise PlaitError(
                f"the parts of the emissions must be a list of headers, got {short_repr(headers)}"
            )
        parts = []
        for k, own in enumerate(headers):
            below = arrays_below(f"{k}.", arrays)
            family = FAMILIES[check_choice("kind of a part of the emissions", own["kind"], FAMILIES)]
            columns = check_integer_array("columns", stored(below, "columns", np.int64), np.int64)
            parts.append((columns.tolist(), family.from_arrays(below, own)))
        return cls(parts, header["names"])


def part_of(sequences: Sequences, columns: Columns, of_symbols: bool) -> Sequences:
    """Return sequences of some of the columns, as symbols if so wished."""
    values, names = sequences.values[:, list(columns)], sequences.names
    if not of_symbols:
        labels = None if sequences.columns is None else tuple(sequences.columns[d] for d in columns)
        return Sequences(
            np.ascontiguousarray(values), sequences.offsets, names, columns=labels, times=sequences.times
        )
    if len(columns) != 1:
        raise PlaitError(f"symbols are one column, got the columns {list(columns)}: give each its own family")
    return Sequences.from_symbols(values, sequences.lengths, missing=True, names=names, times=sequences.times)


def mixed_emissions(
    sequences: Sequences, n_states: int, families: Iterable[tuple[Iterable[int], str, Mapping[str, Any]]]
) -> MixedEmissions:
    """Return emissions of the columns of sequences of numbers.

    Parameters
    ----------
    sequences : Sequences
        Numbers; what is missing in some columns only is NaN there.
    n_states : int
        Number of states S.
    families : iterable of (columns, family, options)
        The columns of each part, the name of its family, see `FAMILIES`, and arguments of its constructor.
    """
    parts = []
    for given, family, options in families:
        columns = tuple(given)
        wrong = [d for d in columns if not 0 <= d < sequences.n_features]
        if wrong:
            raise PlaitError(f"columns must be from 0 to {sequences.n_features - 1}, got {wrong[0]}")
        make = FAMILIES[check_choice("family", family, FAMILIES)]
        try:
            own = make(part_of(sequences, columns, make is CategoricalEmissions), n_states, **options)
        except TypeError as error:  # an option that the family does not have
            raise PlaitError(f"the family {family!r} does not take these options: {error}") from None
        parts.append((columns, own))
    return MixedEmissions(parts, sequences.columns)


def _check_parts(columns: tuple[Columns, ...], parts: tuple[Any, ...]) -> None:
    """Raise an error unless parts are emissions of the same sequences that have all columns once."""
    if not parts:
        raise PlaitError(Argument("parts"), " must have at least one column, got none")
    for own, part in zip(columns, parts, strict=True):
        if type(part) not in FAMILIES.values():
            raise PlaitError(
                Argument("parts"), f" must be emissions of {list_names(FAMILIES)}, got {short_repr(part)}"
            )
        n_states = check_integer("n_states", part.n_states, least=1)
        if n_states != parts[0].n_states:
            raise PlaitError(
                Argument("parts"), f" must have one number of states, got {parts[0].n_states} and {n_states}"
            )
        if not np.array_equal(part.sequences.offsets, parts[0].sequences.offsets):
            raise PlaitError(Argument("parts"), " must have sequences of the same lengths, got others")
        if part.sequences.n_features != len(own):
            raise PlaitError(
                Argument("parts"),
                f" must have as many columns as their data, {part.sequences.n_features}, got {list(own)}",
            )
    every = sorted(d for own in columns for d in own)
    if every != list(range(len(every))):
        raise PlaitError(
            Argument("columns"), f" must be all numbers from 0 on, each in one part, got {short_repr(every)}"
        )


def _joined(columns: tuple[Columns, ...], parts: tuple[Any, ...], names: Iterable[str] | None) -> Sequences:
    """Return the data of all parts as sequences of numbers."""
    first = parts[0].sequences
    values = np.empty((first.n_sites, sum(map(len, columns))))
    for own, part in zip(columns, parts, strict=True):
        data = part.sequences.values
        if part.sequences.is_symbols:
            data = np.where(data < 0, np.nan, data)[:, None]
        values[:, own] = data
    labels = None if names is None else tuple(names)
    return Sequences(values, first.offsets, first.names, columns=labels, times=first.times)
