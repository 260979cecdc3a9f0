"""Sequences of observations, for hidden Markov models."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.arrays import check_integer_array, check_offsets, frozen
from plait.checks import check_distinct_strings, check_strings, short_repr
from plait.data import encoding
from plait.errors import Argument, Part, PlaitError

MAX_SYMBOLS = 2**25
"""Largest number of symbols; more is a mistake in the data, and a table of them would exhaust memory."""

MISSING = -1
"""The value that marks a missing symbol; missing numbers are NaN, in some features or in all."""

_IF_MISSING: tuple[Part, ...] = ("pass ", Argument("missing", True), " if it is missing, or fill it in")

_SYMBOL_RANGE = f"symbols are whole numbers from 0 to {MAX_SYMBOLS - 1}, or -1 if missing"


@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """The observations of one or more sequences: symbols, or numbers.

    Create them with `from_symbols` or `from_values`, or with `plait.data.sequence_files.read_sequences`.
    The constructor checks that the parts are consistent, and the arrays are read-only.  If the given array
    already has the right type and layout, `values` is a view of it: writing to that array changes the
    sequences without a check.

    Parameters
    ----------
    values : array of int32, shape (N,), or of float64, shape (N, D)
        The observations, sequence after sequence.  Symbols are numbered from 0, and a missing observation is
        -1; numbers have D features, and missing ones are NaN: a missing observation is a row of NaN.
    offsets : array of int64, shape (K + 1,)
        Sequence k is `values[offsets[k]:offsets[k + 1]]`; none is empty.
    names : tuple of str, length K, or None
        Names of the sequences.
    labels : tuple of str or None
        Names of the symbols 0, 1, ...; some need not occur.
    columns : tuple of str, length D, or None
        Names of the features of numbers.
    times : tuple of str, length N, or None
        When each observation was made, as text. Nothing is computed from it: it comes back with the states.
    """

    values: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    times: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("values", _checked_values(_real_array("values", self.values)))
        put("offsets", check_offsets(self.offsets, self.n_sites, "observations"))
        if self.names is not None:
            put("names", check_strings("names", self.names, n=self.n_sequences, of="sequences"))
        _refuse(self.offsets[1:] == self.offsets[:-1], self._why_empty)
        if self.labels is not None:
            put("labels", check_distinct_strings("labels", self.labels))
            self._check_labels()
        if self.columns is not None:
            put("columns", check_distinct_strings("columns", self.columns))
            if self.is_symbols:
                raise PlaitError(
                    Argument("columns"),
                    f" must be left out, as symbols have no features, got {short_repr(self.columns)}",
                )
            check_strings("columns", self.columns, n=self.n_features, of="features")
        if self.times is not None:
            put("times", check_strings("times", self.times, n=self.n_sites, of="observations"))

    def _why_empty(self, k: int) -> tuple[Part, ...]:
        name = "" if self.names is None else f" ({short_repr(self.names[k])})"
        return (f"sequence {k}{name} has no observations: leave it out",)

    def _check_labels(self) -> None:
        assert self.labels is not None
        if not self.is_symbols:
            raise PlaitError(
                Argument("labels"),
                f" must be left out, as only symbols have labels, got {short_repr(self.labels)}",
            )
        largest = int(self.values.max())
        if largest >= len(self.labels):
            raise PlaitError(
                Argument("labels"),
                f" must have one entry for each symbol from 0 to {largest}, got {len(self.labels)}"
                f" (observation {int(np.argmax(self.values))} is {largest})",
            )

    def __repr__(self) -> str:
        kind = f"{self.n_symbols} symbols" if self.is_symbols else f"{self.n_features} features"
        return f"Sequences({self.n_sequences} sequences, {self.n_sites} observations, {kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle does not keep arrays read-only: call the constructor again.
        return Sequences, (self.values, self.offsets, self.names, self.labels, self.columns, self.times)

    @property
    def n_sites(self) -> int:
        """Number of observations, N, missing ones included."""
        return int(self.values.shape[0])

    @property
    def n_sequences(self) -> int:
        """Number of sequences, K."""
        return int(self.offsets.size) - 1

    @property
    def n_features(self) -> int:
        """Number of features of an observation, D; 1 for symbols."""
        return 1 if self.is_symbols else int(self.values.shape[1])

    @property
    def is_symbols(self) -> bool:
        """Whether the observations are symbols, not numbers."""
        return self.values.ndim == 1

    @property
    def n_symbols(self) -> int:
        """Number of symbols: the number of labels or, without labels, the largest symbol plus 1."""
        if not self.is_symbols:
            raise PlaitError(f"these are numbers of {self.n_features} features, not symbols: use n_features")
        return int(self.values.max()) + 1 if self.labels is None else len(self.labels)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of observations of each sequence."""
        return np.diff(self.offsets)

    def part(self, first: int, last: int) -> Sequences:
        """Return the observations `first` to `last` in their sequences, which may be cut; without names."""
        offsets = np.clip(self.offsets, first, last) - first
        return Sequences(self.values[first:last], np.unique(offsets))

    @property
    def n_missing(self) -> int:
        """Number of missing observations: those of which nothing is known."""
        if self.is_symbols:
            return int(np.count_nonzero(self.values == MISSING))
        return int(np.isnan(self.values).all(axis=1).sum())

    @property
    def has_missing(self) -> bool:
        """Whether anything is missing."""
        return bool(self.n_missing or self.partly_missing.any())

    @functools.cached_property
    def partly_missing(self) -> npt.NDArray[np.bool_]:
        """Which observations of numbers lack some of their features, but not all, (N,)."""
        if self.is_symbols or self.n_features == 1:
            return np.zeros(self.n_sites, np.bool_)
        absent = np.isnan(self.values)
        return absent.any(axis=1) & ~absent.all(axis=1)

    def refuse_partly_missing(self, who: str) -> None:
        """Raise an error about the first observation that is missing in part; `who` cannot take it."""
        _refuse(
            self.partly_missing,
            lambda i: (
                f"observation {i} is partly missing (feature {np.isnan(self.values[i]).argmax()} is NaN),"
                f" which {who} cannot take: fill it in, or make all its features NaN",
            ),
        )

    @classmethod
    def from_symbols(
        cls,
        symbols: npt.ArrayLike,
        lengths: npt.ArrayLike | None = None,
        *,
        missing: bool = False,
        names: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
        times: Iterable[str] | None = None,
    ) -> Sequences:
        """Return sequences of symbols.

        Parameters
        ----------
        symbols : array of whole numbers, shape (N,) or (N, 1)
            The symbols, numbered from 0, sequence after sequence; floats must be whole numbers.
        lengths : array of int or None
            Number of observations of each sequence; None for a single sequence.
        missing : bool
            Whether -1 and NaN mark missing observations; if not, they are errors.
        names, labels, times
            As in `Sequences`. The times of a series or frame of pandas are its index, unless it just counts.
        """
        times = _index_of(symbols) if times is None else times
        given = _real_array("symbols", symbols)
        if given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        if given.ndim != 1:
            raise PlaitError(
                Argument("symbols"),
                f" must have one symbol per observation, shape (N,) or (N, 1), got shape {given.shape}",
            )
        if given.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused below
                given = given.astype(np.float64, copy=False)  # half precision does not reach MAX_SYMBOLS
            absent = np.isnan(given)
            if not missing:
                _refuse(absent, lambda i: (f"observation {i} is NaN: ", *_IF_MISSING))
            given = np.where(absent, MISSING, given)
            fractional = given != np.floor(given)
            _refuse(fractional, lambda i: (f"observation {i} is {given[i]}: {_SYMBOL_RANGE}",))
        _check_symbols(given)
        if not missing:
            _refuse(given == MISSING, lambda i: (f"observation {i} is -1: ", *_IF_MISSING))
        symbols = given.astype(np.int32, copy=False)
        return _build(symbols, _offsets_of(lengths, given.size), names, labels, None, times)

    @classmethod
    def from_values(
        cls,
        values: npt.ArrayLike,
        lengths: npt.ArrayLike | None = None,
        *,
        missing: bool = False,
        names: Iterable[str] | None = None,
        columns: Iterable[str] | None = None,
        times: Iterable[str] | None = None,
    ) -> Sequences:
        """Return sequences of numbers.

        Parameters
        ----------
        values : array of numbers, shape (N,) or (N, D)
            The observations, sequence after sequence.
        lengths : array of int or None
            Number of observations of each sequence; None for a single sequence.
        missing : bool
            Whether NaN marks what is missing, in a row or a whole row; if not, it is an error.
        names, columns, times
            As in `Sequences`. The times of a series or frame of pandas are its index, unless it just counts.
        """
        times = _index_of(values) if times is None else times
        given = _real_array("values", values)
        given = given[:, None] if given.ndim == 1 else given
        if not missing:
            absent = np.isnan(given)
            if absent.any():
                at = np.unravel_index(int(np.argmax(absent)), given.shape)
                feature = f" in feature {at[1]}" if given.shape[1] > 1 else ""
                raise PlaitError(f"observation {at[0]} is NaN{feature}: ", *_IF_MISSING)
        return _build(given, _offsets_of(lengths, len(given)), names, None, columns, times)

    def equals(self, other: Sequences) -> bool:
        """Return whether both have the same observations, offsets and labels."""
        return (
            self.is_symbols == other.is_symbols
            and self.labels == other.labels
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.values, other.values, equal_nan=not self.is_symbols)
        )

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Return the sequences as named arrays and a small JSON-compatible header; see `from_arrays`."""
        arrays: dict[str, npt.NDArray[Any]] = {"values": self.values, "offsets": self.offsets}
        texts = {key: getattr(self, key) for key in _TEXTS}
        arrays |= {_TEXTS[key]: encoding.pack(value) for key, value in texts.items() if value is not None}
        return arrays, {"kind": _kind(self.values)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> Sequences:
        """Return the sequences that `to_arrays` wrote, without running code that the arrays could contain."""
        for key in ("values", "offsets"):
            if not isinstance(arrays.get(key), np.ndarray):
                raise PlaitError(f"the stored sequences have no array {key!r}: {_DAMAGED}")
        kind = header.get("kind") if isinstance(header, Mapping) else None
        if not isinstance(kind, str) or kind not in _DTYPES:
            raise PlaitError(
                f"the header of the stored sequences has the kind {short_repr(kind)}: {_DAMAGED}"
            )
        values = arrays["values"]
        if _kind(values) != kind or values.dtype != _DTYPES[kind]:
            raise PlaitError(
                f"the stored {kind} have shape {values.shape} and dtype {values.dtype}: {_DAMAGED}"
            )
        texts: dict[str, Any] = {}
        for key, name in _TEXTS.items():
            if name in arrays:
                texts[key] = encoding.unpack(name, arrays[name], damaged=_DAMAGED)
        return cls(values, arrays["offsets"], **texts)


_DTYPES: dict[str, type[np.generic]] = {"symbols": np.int32, "numbers": np.float64}

_TEXTS = {"names": "names", "labels": "labels", "columns": "features", "times": "times"}
"""Fields that hold strings, and the names of their arrays in a file."""

_DAMAGED = "the file is damaged or holds no sequences"


def _kind(values: npt.NDArray[Any]) -> str:
    return {1: "symbols", 2: "numbers"}.get(values.ndim, "neither")


def _index_of(data: Any) -> tuple[str, ...] | None:
    """Return the index of a series or frame of pandas as text, or None for other data and for mere counts."""
    index = getattr(data, "index", None)
    if not hasattr(data, "iloc") or type(index).__name__ == "RangeIndex":
        return None
    return tuple(index.astype(str))  # type: ignore[union-attr]


def _build(values: npt.NDArray[Any], offsets: npt.NDArray[np.int64], *texts: Any) -> Sequences:
    # The offsets have no other owner: once read-only, they need not be copied.
    return Sequences(values, frozen(offsets), *texts)


def _refuse(wrong: npt.NDArray[np.bool_], message: Callable[[int], tuple[Part, ...]]) -> None:
    """Raise an error about the first entry that is wrong, if there is one; `message` returns its parts."""
    if wrong.any():
        raise PlaitError(*message(int(np.argmax(wrong))))


def _real_array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return an argument as an array of real numbers or booleans, without a copy if it is one already."""
    if isinstance(values, np.ma.MaskedArray):
        raise PlaitError(
            Argument(name),
            " must not be a masked array: call filled(numpy.nan), and pass ",
            Argument("missing", True),
        )
    try:
        given = np.asarray(values)
    except ValueError:
        raise PlaitError(
            Argument(name),
            " must not have entries of different lengths: put the sequences one after another, and pass ",
            Argument("lengths"),
        ) from None
    if given.ndim == 0:
        raise PlaitError(
            Argument(name), f" must be an array with a row for each observation, got {short_repr(values)}"
        )
    if given.dtype.kind in "biuf":
        return given
    if given.dtype.kind in "OUS":
        # NumPy converts all entries to strings if one is a string: find that one in the argument.
        entries = np.asarray(values, dtype=object)
        for place in np.ndindex(entries.shape):
            if not isinstance(entries[place], Real):
                remedy = "number them from 0 up, as numpy.unique does" if name == "symbols" else "convert it"
                raise PlaitError(
                    f"observation {place[0]} is {short_repr(entries[place])}, not a number: {remedy}"
                )
    raise PlaitError(Argument(name), f" must be an array of real numbers, got dtype {given.dtype}")


def _checked_values(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the observations with the type and layout that kernels need, read-only; a view if possible."""
    if given.ndim not in (1, 2):
        raise PlaitError(
            Argument("values"),
            f" must be symbols of shape (N,) or numbers of shape (N, D), got {given.ndim} dimensions",
        )
    if not len(given):
        raise PlaitError("there are no observations: pass at least one")
    if given.ndim == 1:
        if given.dtype.kind == "f":
            raise PlaitError(
                Argument("values"),
                " must be symbols of an integer dtype or numbers of shape (N, D), got one dimension and"
                f" dtype {given.dtype}: use from_symbols or from_values",
            )
        _check_symbols(given)
    elif not given.shape[1]:
        raise PlaitError(Argument("values"), f" must have at least one feature, got shape {given.shape}")
    # A number that overflows becomes infinite, and is refused below.
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.require(given, _DTYPES[_kind(given)], ["C", "A"])
    if values.ndim == 2:
        _check_numbers(values)
    return frozen(values.view())  # freeze a view: the array may belong to the user and must stay writeable


def _check_symbols(symbols: npt.NDArray[Any]) -> None:
    if symbols.size and (symbols.min() < MISSING or symbols.max() >= MAX_SYMBOLS):
        _refuse(
            (symbols < MISSING) | (symbols >= MAX_SYMBOLS),
            lambda i: (f"observation {i} is {symbols[i]}: {_SYMBOL_RANGE}",),
        )


def _check_numbers(values: npt.NDArray[np.float64]) -> None:
    finite = np.isfinite(values)
    if finite.all():
        return
    rows = np.flatnonzero(~finite.all(axis=1))
    infinite = np.isinf(values[rows])
    if infinite.any():
        at, feature = (int(i) for i in np.argwhere(infinite)[0])
        raise PlaitError(
            f"observation {rows[at]} is {values[rows[at], feature]} in feature {feature}: pass finite numbers"
        )


def _offsets_of(lengths: npt.ArrayLike | None, n_sites: int) -> npt.NDArray[np.int64]:
    """Return the offsets of sequences of the given lengths, which must add up to all observations."""
    if lengths is None:
        return np.array([0, n_sites], np.int64)
    given = check_integer_array("lengths", lengths, np.int64)
    _refuse(
        given < 1,
        lambda k: (
            Argument("lengths"),
            f"[{k}] must be at least 1, got {given[k]}: leave empty sequences out",
        ),
    )
    total = sum(given.tolist())  # in Python, because a NumPy sum could overflow and match by accident
    if total != n_sites:
        raise PlaitError(
            Argument("lengths"), f" must add up to {n_sites}, the number of observations, got {total}"
        )
    return encoding.offsets_of(given)
