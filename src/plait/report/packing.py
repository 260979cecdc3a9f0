"""Data in a page: values of JSON and arrays, packed into text that a browser unpacks without a library.

A block is base64 of gzip of

    length of the JSON (4 bytes, little-endian) | JSON | arrays, each at a multiple of 8 bytes

The JSON is {"value": ..., "arrays": [[dtype, shape, start], ...]}; in the value, {"$array": k} stands for
array k. Each start counts from the first array. `report-web/src/blocks.js` reads it.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats

Payload = Mapping[str, Any]
"""Values of JSON and NumPy arrays, in dicts and lists. Text from users is never a key."""

_DTYPES: Final = {"uint8", "uint16", "uint32", "int32", "float32"}
_ARRAY: Final = "$array"
_ALIGNMENT: Final = 8
_LOW_BITS: Final = np.uint32(
    0x7FF
)  # of a single-precision number; without them, 12 bits of precision are left


def pack(payload: Payload) -> str:
    """Return a payload as text of the characters A-Z, a-z, 0-9, +, / and =.

    Numbers that are not finite become null in JSON; in arrays they stay. The same payload gives the same
    text.
    """
    arrays: list[NDArray[Any]] = []
    value = _with_references(payload, arrays)
    places, start = [], 0
    for array in arrays:
        places.append([array.dtype.name, list(array.shape), start])
        start += _padded(array.nbytes)
    head = json.dumps(
        {"value": value, "arrays": places}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode("utf-8", "replace")
    parts = [len(head).to_bytes(4, "little"), head, bytes(_padded(4 + len(head)) - 4 - len(head))]
    for array in arrays:
        # Browsers read arrays in the order of bytes of their machine, which is little-endian everywhere.
        parts += [
            array.astype(array.dtype.newbyteorder("<")).tobytes(),
            bytes(_padded(array.nbytes) - array.nbytes),
        ]
    return base64.b64encode(gzip.compress(b"".join(parts), 6, mtime=0)).decode("ascii")


def unpack(text: str) -> Any:
    """Return the payload that `pack` was given, with lists for tuples."""
    data = gzip.decompress(base64.b64decode(text))
    n = int.from_bytes(data[:4], "little")
    head = json.loads(data[4 : 4 + n])
    first = _padded(4 + n)
    arrays = []
    for name, shape, start in head["arrays"]:
        dtype = np.dtype(name).newbyteorder("<")
        found = np.frombuffer(data, dtype, math.prod(shape), first + start)
        arrays.append(found.astype(name).reshape(shape))
    return _with_arrays(head["value"], arrays)


def small_integers(values: ArrayLike) -> NDArray[Any]:
    """Return whole numbers, none of them negative, in the smallest type that holds them."""
    array = np.asarray(values)
    most = int(array.max()) if array.size else 0
    return array.astype(np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32)


def rounded(values: ArrayLike) -> NDArray[np.float32]:
    """Return numbers in single precision with about three and a half digits, which compress well."""
    array = np.ascontiguousarray(values, np.float32)
    bits = array.view(np.uint32)
    is_finite = np.isfinite(array)
    half = (_LOW_BITS + np.uint32(1)) >> np.uint32(1)
    return np.where(is_finite, ((bits + half) & ~_LOW_BITS).view(np.float32), array)


def sixteenths(shares: ArrayLike) -> NDArray[np.uint8]:
    """Return shares, from 0 to 1, as whole numbers from 0 to 15: as finely as shades can be told apart."""
    values: Floats = np.asarray(shares, np.float64)
    return np.rint(15 * np.clip(values, 0, 1)).astype(np.uint8)


def _padded(n: int) -> int:
    return -(-n // _ALIGNMENT) * _ALIGNMENT


def _with_references(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.name not in _DTYPES:
            raise TypeError(f"a page cannot hold an array of {value.dtype}: convert it to one of {_DTYPES}")
        arrays.append(np.ascontiguousarray(value))
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, Mapping):
        if _ARRAY in value:
            raise TypeError(f"{_ARRAY} cannot be a key: pass text as a value")
        return {str(key): _with_references(own, arrays) for key, own in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_references(own, arrays) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _with_arrays(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        return {key: _with_arrays(own, arrays) for key, own in value.items()}
    if isinstance(value, list):
        return [_with_arrays(own, arrays) for own in value]
    return value
