"""Sequences of observations, for hidden Markov models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import frozen, short_repr
from plait.data import checks, encoding
from plait.errors import PlaitError

MAX_SYMBOLS = 2**25
"""The most symbols there may be; more is a mistake in the data, and a table of them would exhaust memory."""

MISSING = -1
"""What stands for a missing observation among symbols; among numbers it is NaN in all features."""

_IF_MISSING = "pass missing=True if it is missing, or fill it in"

_SYMBOL_RANGE = f"symbols are whole numbers from 0 to {MAX_SYMBOLS - 1}, or -1 if missing"


@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """The observations of one or more sequences: symbols, or numbers.

    Make one with `from_symbols` or `from_values`, or with `plait.data.sequence_files.read_sequences`.  What
    the constructor accepts is consistent.  The arrays are read-only; `values` is a view of the array that was
    given wherever that is laid out as wanted, so whoever writes to that array afterwards changes the
    sequences, unchecked.

    Parameters
    ----------
    values : array of int32, shape (N,), or of float64, shape (N, D)
        The observations, sequence after sequence.  Symbols are counted from 0, and a missing observation is
        -1; numbers have D features, and a missing observation is a row of NaN.
    offsets : array of int64, shape (K + 1,)
        Sequence k is `values[offsets[k]:offsets[k + 1]]`; none is empty.
    names : tuple of str, length K, or None
        What the sequences are called.
    labels : tuple of str or None
        What the symbols are called; there may be more than occur.
    columns : tuple of str, length D, or None
        What the features of numbers are called.
    """

    values: npt.NDArray[Any]
    offsets: npt.NDArray[np.int64]
    names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("values", _checked_values(_real_array("values", self.values)))
        put("offsets", checks.frozen_integers("offsets", self.offsets, np.int64))
        self._check_offsets()
        if self.names is not None:
            put("names", checks.strings("names", self.names, self.n_sequences, "sequences"))
        _refuse(self.offsets[1:] == self.offsets[:-1], self._why_empty)
        if self.labels is not None:
            put("labels", checks.distinct_strings("labels", self.labels))
            self._check_labels()
        if self.columns is not None:
            put("columns", checks.distinct_strings("columns", self.columns))
            if self.is_symbols:
                raise PlaitError(
                    f"columns is {short_repr(self.columns)}, but symbols have none: leave it out"
                )
            checks.strings("columns", self.columns, self.n_features, "features")

    def _check_offsets(self) -> None:
        offsets, n = self.offsets, self.n_sites
        # Comparisons, for differences of wild numbers overflow.
        if offsets.size < 2 or offsets[0] != 0 or offsets[-1] != n or np.any(offsets[1:] < offsets[:-1]):
            ends = f"run from {offsets[0]} to {offsets[-1]}" if offsets.size else "are empty"
            raise PlaitError(
                f"offsets {ends} over {n} observations: "
                "they must rise from 0 to the number of observations without falling"
            )

    def _why_empty(self, k: int) -> str:
        name = "" if self.names is None else f" ({short_repr(self.names[k])})"
        return f"sequence {k}{name} has no observations: leave it out"

    def _check_labels(self) -> None:
        assert self.labels is not None
        if not self.is_symbols:
            raise PlaitError(
                f"labels is {short_repr(self.labels)}, but only symbols have labels: leave it out"
            )
        largest = int(self.values.max())
        if largest >= len(self.labels):
            at = int(np.argmax(self.values))
            raise PlaitError(
                f"observation {at} is symbol {largest}, but there are {len(self.labels)} labels: "
                "pass one for each symbol from 0 up"
            )

    def __repr__(self) -> str:
        kind = f"{self.n_symbols} symbols" if self.is_symbols else f"{self.n_features} features"
        return f"Sequences({self.n_sequences} sequences, {self.n_sites} observations, {kind})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles leave out that arrays are read-only, so build anew.
        return Sequences, (self.values, self.offsets, self.names, self.labels, self.columns)

    @property
    def n_sites(self) -> int:
        """The number of observations, N, missing ones included."""
        return int(self.values.shape[0])

    @property
    def n_sequences(self) -> int:
        """The number of sequences, K."""
        return int(self.offsets.size) - 1

    @property
    def n_features(self) -> int:
        """The number of numbers in an observation, D; 1 for symbols."""
        return 1 if self.is_symbols else int(self.values.shape[1])

    @property
    def is_symbols(self) -> bool:
        """Whether the observations are symbols, not numbers."""
        return self.values.ndim == 1

    @property
    def n_symbols(self) -> int:
        """The number of symbols: of the labels if there are any, else up to the largest that occurs."""
        if not self.is_symbols:
            raise PlaitError(f"these are numbers of {self.n_features} features, not symbols: use n_features")
        return int(self.values.max()) + 1 if self.labels is None else len(self.labels)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of observations of each sequence."""
        return np.diff(self.offsets)

    @property
    def n_missing(self) -> int:
        """The number of missing observations."""
        # A row is NaN in all features or in none, so the first tells.
        missing = self.values == MISSING if self.is_symbols else np.isnan(self.values[:, 0])
        return int(np.count_nonzero(missing))

    @classmethod
    def from_symbols(
        cls,
        symbols: npt.ArrayLike,
        lengths: npt.ArrayLike | None = None,
        *,
        missing: bool = False,
        names: Iterable[str] | None = None,
        labels: Iterable[str] | None = None,
    ) -> Sequences:
        """Make sequences of symbols.

        Parameters
        ----------
        symbols : array of whole numbers, shape (N,) or (N, 1)
            The symbols, counted from 0, sequence after sequence.  Whole numbers stored as floats will do.
        lengths : array of int or None
            The number of observations of each sequence; None for a single sequence.
        missing : bool
            Whether -1 and NaN are taken as missing observations; if not, they are errors.
        names, labels
            As in `Sequences`.
        """
        given = _real_array("symbols", symbols)
        if given.ndim == 2 and given.shape[1] == 1:
            given = given[:, 0]
        if given.ndim != 1:
            raise PlaitError(
                f"symbols has shape {given.shape}: pass one symbol for each observation, shape (N,) or (N, 1)"
            )
        if given.dtype.kind == "f":
            absent = np.isnan(given)
            if not missing:
                _refuse(absent, lambda i: f"observation {i} is NaN: {_IF_MISSING}")
            given = np.where(absent, MISSING, given)
            fractional = given != np.floor(given)
            _refuse(fractional, lambda i: f"observation {i} is {given[i]}: {_SYMBOL_RANGE}")
        _check_symbols(given)
        if not missing:
            _refuse(given == MISSING, lambda i: f"observation {i} is -1: {_IF_MISSING}")
        return _build(given.astype(np.int32, copy=False), _offsets_of(lengths, given.size), names, labels)

    @classmethod
    def from_values(
        cls,
        values: npt.ArrayLike,
        lengths: npt.ArrayLike | None = None,
        *,
        missing: bool = False,
        names: Iterable[str] | None = None,
        columns: Iterable[str] | None = None,
    ) -> Sequences:
        """Make sequences of numbers.

        Parameters
        ----------
        values : array of numbers, shape (N,) or (N, D)
            The observations, sequence after sequence.
        lengths : array of int or None
            The number of observations of each sequence; None for a single sequence.
        missing : bool
            Whether a row of NaN is taken as a missing observation; if not, it is an error.
        names, columns
            As in `Sequences`.
        """
        given = _real_array("values", values)
        given = given[:, None] if given.ndim == 1 else given
        if not missing:
            absent = np.isnan(given)
            if absent.any():
                at = np.unravel_index(int(np.argmax(absent)), given.shape)
                feature = f" in feature {at[1]}" if given.shape[1] > 1 else ""
                raise PlaitError(f"observation {at[0]} is NaN{feature}: {_IF_MISSING}")
        return _build(given, _offsets_of(lengths, len(given)), names, None, columns)

    def equals(self, other: Sequences) -> bool:
        """Tell whether both have the same observations, offsets and labels."""
        return (
            self.is_symbols == other.is_symbols
            and self.labels == other.labels
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.values, other.values, equal_nan=not self.is_symbols)
        )

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Return the sequences as named arrays and a small header that JSON can hold; see `from_arrays`."""
        arrays: dict[str, npt.NDArray[Any]] = {"values": self.values, "offsets": self.offsets}
        texts = {key: getattr(self, key) for key in _TEXTS}
        arrays |= {_TEXTS[key]: encoding.pack(value) for key, value in texts.items() if value is not None}
        return arrays, {"kind": _kind(self.values)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> Sequences:
        """Return the sequences that `to_arrays` wrote; loading runs no code that the arrays could bring."""
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
                texts[key] = _unpacked(name, arrays[name])
        return cls(values, arrays["offsets"], **texts)


_DTYPES: dict[str, type[np.generic]] = {"symbols": np.int32, "numbers": np.float64}

_TEXTS = {"names": "names", "labels": "labels", "columns": "features"}
"""The fields that hold strings, and the arrays that hold them in a file."""

_DAMAGED = "the file is damaged or holds no sequences"


def _kind(values: npt.NDArray[Any]) -> str:
    return {1: "symbols", 2: "numbers"}.get(values.ndim, "neither")


def _unpacked(name: str, stored: npt.NDArray[Any]) -> Any:
    try:
        return encoding.unpack(name, stored)
    except PlaitError:
        # The message of `unpack` is about a corpus.
        raise PlaitError(f"the stored array {name!r} is not a list in JSON: {_DAMAGED}") from None


def _build(values: npt.NDArray[Any], offsets: npt.NDArray[np.int64], *texts: Any) -> Sequences:
    # The offsets are our own: frozen here, they are taken over without a copy.
    return Sequences(values, frozen(offsets), *texts)


def _refuse(wrong: npt.NDArray[np.bool_], message: Callable[[int], str]) -> None:
    """Raise the message for the first observation that is wrong, if there is one."""
    if wrong.any():
        raise PlaitError(message(int(np.argmax(wrong))))


def _real_array(what: str, values: Any) -> npt.NDArray[Any]:
    """Return what the user gave as an array of real numbers or truth values, without a copy if it is one."""
    if isinstance(values, np.ma.MaskedArray):
        raise PlaitError(f"{what} is a masked array: call filled(numpy.nan), and pass missing=True")
    try:
        given = np.asarray(values)
    except ValueError:
        raise PlaitError(
            f"{what} has entries of different lengths: put the sequences one after another, and pass lengths"
        ) from None
    if given.ndim == 0:
        raise PlaitError(f"{what} is {short_repr(values)}: pass an array with a row for each observation")
    if given.dtype.kind in "biuf":
        return given
    if given.dtype.kind in "OUS":
        # NumPy makes strings of all entries if one is a string; look for that one in what was given.
        entries = np.asarray(values, dtype=object)
        for place in np.ndindex(entries.shape):
            if not isinstance(entries[place], Real):
                remedy = "number them from 0 up, as numpy.unique does" if what == "symbols" else "convert it"
                raise PlaitError(
                    f"observation {place[0]} is {short_repr(entries[place])}, not a number: {remedy}"
                )
    raise PlaitError(f"{what} has dtype {given.dtype}: pass an array of real numbers")


def _checked_values(given: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the observations as kernels want them, read-only; a view of what was given if that will do."""
    if given.ndim not in (1, 2):
        raise PlaitError(
            f"values has {given.ndim} dimensions: pass symbols of shape (N,) or numbers of shape (N, D)"
        )
    if not len(given):
        raise PlaitError("there are no observations: pass at least one")
    if given.ndim == 1:
        if given.dtype.kind == "f":
            raise PlaitError(
                f"values has one dimension and dtype {given.dtype}: symbols are whole numbers, "
                "and numbers have shape (N, D); use from_symbols or from_values"
            )
        _check_symbols(given)
    elif not given.shape[1]:
        raise PlaitError(f"values has shape {given.shape}: pass at least one feature")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as that
        values = np.require(given, _DTYPES[_kind(given)], ["C", "A"])
    if values.ndim == 2:
        _check_numbers(values)
    return frozen(values.view())  # a view, for the array may be the user's, to whom it must stay writeable


def _check_symbols(symbols: npt.NDArray[Any]) -> None:
    if symbols.size and (symbols.min() < MISSING or symbols.max() >= MAX_SYMBOLS):
        _refuse(
            (symbols < MISSING) | (symbols >= MAX_SYMBOLS),
            lambda i: f"observation {i} is {symbols[i]}: {_SYMBOL_RANGE}",
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
    absent = np.isnan(values[rows])
    partly = ~absent.all(axis=1)
    if partly.any():
        at = int(np.argmax(partly))
        raise PlaitError(
            f"observation {rows[at]} is missing in part (feature {np.argmax(absent[at])} is NaN): "
            "fill it in, or make all its features NaN"
        )


def _offsets_of(lengths: npt.ArrayLike | None, n_sites: int) -> npt.NDArray[np.int64]:
    """Return the offsets of sequences of the given lengths, which must make up all observations."""
    if lengths is None:
        return np.array([0, n_sites], np.int64)
    try:
        given = checks.frozen_integers("lengths", lengths, np.int64)
    except PlaitError:
        raise
    except ValueError:
        raise PlaitError(
            f"lengths is {short_repr(lengths)}: pass one whole number for each sequence"
        ) from None
    _refuse(
        given < 1,
        lambda k: f"length {k} is {given[k]}: a sequence has at least one observation; leave empty ones out",
    )
    # Python's sum, for NumPy's could overflow into the right number.
    total = sum(given.tolist())
    if total != n_sites:
        raise PlaitError(f"the lengths add up to {total}, but there are {n_sites} observations: check them")
    return encoding.offsets_of(given)
