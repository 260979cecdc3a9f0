"""Checks of what users hand over, shared by the modules of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import frozen, short_repr
from plait.errors import PlaitError


def strings(
    what: str, values: Iterable[str], length: int | None = None, of: str = "documents"
) -> tuple[str, ...]:
    """Return the values as a tuple of plain strings, `length` of them if that is given.

    Parameters
    ----------
    what : str
        The name of the values in messages.
    values : iterable of str
        What the user gave.
    length : int or None
        How many there must be.
    of : str
        What there is one value for, in messages.
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise PlaitError(f"{what} is {short_repr(values)}: pass a sequence of strings")
    result = tuple(values)
    for i, value in enumerate(result):
        if not isinstance(value, str):
            raise PlaitError(f"{what}[{i}] is {short_repr(value)}, not a string: convert it with str()")
    if length is not None and len(result) != length:
        raise PlaitError(f"{what} has {len(result)} entries for {length} {of}: pass one for each")
    return tuple(map(str, result))


def distinct_strings(what: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return the values as `strings` does, refusing one that occurs twice."""
    result = strings(what, values)
    first: dict[str, int] = {}
    for i, value in enumerate(result):
        if first.setdefault(value, i) != i:
            raise PlaitError(
                f"{what}[{i}] is {short_repr(value)} again, after {what}[{first[value]}]: remove one"
            )
    return result


def string_columns(columns: Mapping[str, Iterable[str]] | None, length: int) -> dict[str, tuple[str, ...]]:
    """Return per-document columns as tuples of strings of the given length."""
    if columns is not None and not isinstance(columns, Mapping):
        raise PlaitError(
            f"columns is {short_repr(columns)}: pass a mapping from names to sequences of strings"
        )
    names = strings("column names", columns or {})
    return {name: strings(f"column {name!r}", (columns or {})[name], length) for name in names}


def frozen_integers(what: str, values: npt.ArrayLike, dtype: type[np.signedinteger[Any]]) -> npt.NDArray[Any]:
    """Return one-dimensional whole numbers as a contiguous read-only array of the given dtype.

    An array that is already as wanted and read-only is returned as it is; a writeable one is copied, for
    its owner may go on writing to it.
    """
    given = np.asarray(values)
    if given.ndim != 1:
        raise PlaitError(f"{what} has {given.ndim} dimensions: pass a one-dimensional array")
    if given.size and given.dtype.kind not in "iu":
        raise PlaitError(f"{what} has dtype {given.dtype}: pass an array of whole numbers")
    limits = np.iinfo(dtype)
    if given.size and (int(given.max()) > limits.max or int(given.min()) < limits.min):
        raise PlaitError(
            f"{what} holds numbers from {given.min()} to {given.max()}, too large for {limits.dtype}"
        )
    result = np.ascontiguousarray(given, dtype=dtype)
    fresh = isinstance(values, (list, tuple))
    if result.flags.writeable and not fresh and np.may_share_memory(result, given):
        result = result.copy()
    return frozen(result)
