"""Forge model files: edits of the header and of the arrays, with checksums that fit.

A model file is a safetensors container:

    8 bytes     length of the JSON that follows, little endian
    JSON        {"__metadata__": {"plait": HEADER}, NAME: {"dtype": "F64", "shape": [2, 3],
                "data_offsets": [0, 48]}, ...}
    the arrays, one after another

`split` and `join` read and write it without the safetensors package, which would refuse to write most of what
is of interest here. `apply` makes edits in a form that JSON can hold.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from inputs import Edit

from plait.storage import header_checksum

SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8, "C64": 8,
}  # fmt: skip
"""Bytes per number, by the name that safetensors gives its type."""

MOST_BYTES = 2**16
"""Arrays are not made larger than this; a larger shape is a claim that the data do not support."""

_FLOATS = {"F16": "<e", "F32": "<f", "F64": "<d"}
_DEEP = "@deep@"


class Tensor(NamedTuple):
    """An array as a file holds it."""

    dtype: str
    shape: list[Any]
    data: bytes


@dataclass
class Parts:
    """A model file in parts.

    Attributes
    ----------
    header : dict
        plait's header; its checksums are made to fit when the parts are joined.
    tensors : dict of str to Tensor
        The arrays.
    claims : dict
        Entries of the container's JSON that replace those that fit the arrays, by name and field.
    checksums : object
        Replaces plait's own checksums of the arrays, unless it is None.
    depth : int
        How many lists deep the value is that stands for `_DEEP` in the header.
    """

    header: dict[str, Any]
    tensors: dict[str, Tensor]
    claims: dict[tuple[str, str], Any] = field(default_factory=dict)
    checksums: Any = None
    depth: int = 0


def split(data: bytes) -> Parts:
    """Return the parts of a valid model file."""
    (size,) = struct.unpack("<Q", data[:8])
    entries = json.loads(data[8 : 8 + size])
    header = json.loads(entries.pop("__metadata__")["plait"])
    tensors = {}
    for name, entry in entries.items():
        first, last = entry["data_offsets"]
        tensors[name] = Tensor(entry["dtype"], entry["shape"], data[8 + size + first : 8 + size + last])
    return Parts(header, tensors)


def join(parts: Parts) -> bytes:
    """Return the file of the parts, with checksums that fit."""
    header = parts.header
    checksums = {name: zlib.crc32(tensor.data) for name, tensor in parts.tensors.items()}
    header["checksums"] = checksums if parts.checksums is None else parts.checksums
    text = _header_text(header, parts.depth)
    entries: dict[str, Any] = {"__metadata__": {"plait": text}}
    position = 0
    for name, tensor in parts.tensors.items():
        end = position + len(tensor.data)
        entries[name] = {"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": [position, end]}
        position = end
    for (name, key), value in parts.claims.items():
        entries.setdefault(name, {})[key] = value
    packed = json.dumps(entries).encode()
    packed += b" " * (-len(packed) % 8)
    return (
        struct.pack("<Q", len(packed)) + packed + b"".join(tensor.data for tensor in parts.tensors.values())
    )


def _header_text(header: dict[str, Any], depth: int) -> str:
    if not depth:
        header["checksum"] = header_checksum(header)
        return json.dumps(header)
    # Python refuses to write lists this deep: write a placeholder, then put the brackets in its place.
    rest = {name: value for name, value in header.items() if name != "checksum"}
    deep = "[" * depth + "]" * depth
    text = json.dumps(rest, sort_keys=True).replace(f'"{_DEEP}"', deep)
    return f'{text[:-1]}, "checksum": {zlib.crc32(text.encode())}}}'


def apply(parts: Parts, edits: Iterable[Edit]) -> Parts:
    """Make the edits; one that does not apply, since an earlier one removed its array, is left out."""
    for name, *arguments in edits:
        EDITS[name](parts, *arguments)
    return parts


# -----------------------------------------------------------------------------------------------------
# Edits
# -----------------------------------------------------------------------------------------------------


def _holder(parts: Parts, keys: list[Any]) -> Any:
    """Return the part of the header that can hold an entry with the given keys, or None."""
    place: Any = parts.header
    try:
        for key in keys[:-1]:
            place = place[key]
        if isinstance(place, list):
            place[keys[-1]]
    except (LookupError, TypeError):
        return None
    return place if isinstance(place, dict | list) else None


def set_entry(parts: Parts, keys: list[Any], value: Any) -> None:
    """Set an entry of the header."""
    if (holder := _holder(parts, keys)) is not None:
        key = (
            str(keys[-1]) if isinstance(holder, dict) else keys[-1]
        )  # an earlier edit may have put a dict there
        holder[key] = deepcopy(value)  # a later edit may change it


def delete_entry(parts: Parts, keys: list[Any]) -> None:
    """Delete an entry of the header."""
    holder = _holder(parts, keys)
    if isinstance(holder, list) or (holder and keys[-1] in holder):
        del holder[keys[-1]]


def deepen_entry(parts: Parts, keys: list[Any], depth: int) -> None:
    """Replace an entry of the header by lists within lists."""
    set_entry(parts, keys, _DEEP)
    parts.depth = depth


def drop(parts: Parts, name: str) -> None:
    """Remove an array."""
    parts.tensors.pop(name, None)


def rename(parts: Parts, name: str, new: str) -> None:
    """Rename an array."""
    if name in parts.tensors:
        parts.tensors[new] = parts.tensors.pop(name)


def copy(parts: Parts, name: str, new: str) -> None:
    """Copy an array to a new name, or over another one."""
    if name in parts.tensors:
        parts.tensors[new] = parts.tensors[name]


def cast(parts: Parts, name: str, dtype: str) -> None:
    """Convert an array to another type, keeping its values where they fit."""
    if (tensor := parts.tensors.get(name)) is not None:
        data = b"".join(to_bytes(value, dtype) for value in numbers(tensor))
        parts.tensors[name] = Tensor(dtype, tensor.shape, data)


def view(parts: Parts, name: str, dtype: str) -> None:
    """Take the bytes of an array as numbers of another type, in one row."""
    if (tensor := parts.tensors.get(name)) is not None:
        n = len(tensor.data) // SIZES[dtype]
        parts.tensors[name] = Tensor(dtype, [n], tensor.data[: n * SIZES[dtype]])


def reshape(parts: Parts, name: str, shape: list[int]) -> None:
    """Give an array another shape; its numbers are cut off or repeated, unless they would be too many."""
    if (tensor := parts.tensors.get(name)) is None:
        return
    size = math.prod(shape) * SIZES[tensor.dtype]
    data = tensor.data
    if 0 <= size <= MOST_BYTES:
        data = ((data or b"\0") * (size // max(1, len(data)) + 1))[:size]
    parts.tensors[name] = Tensor(tensor.dtype, shape, data)


def put(parts: Parts, name: str, place: int, value: float) -> None:
    """Set one number of an array, or all of them if the place is -1."""
    if (tensor := parts.tensors.get(name)) is None:
        return
    item = to_bytes(value, tensor.dtype)
    n = len(tensor.data) // len(item)
    if place < 0:
        parts.tensors[name] = tensor._replace(data=item * n)
    elif n:
        at = place % n * len(item)
        parts.tensors[name] = tensor._replace(data=tensor.data[:at] + item + tensor.data[at + len(item) :])


def text(parts: Parts, name: str, contents: str) -> None:
    """Replace an array by bytes of text, as lists of strings are stored."""
    data = contents.encode("utf-8", "surrogatepass")
    parts.tensors[name] = Tensor("U8", [len(data)], data)


def claim(parts: Parts, name: str, key: str, value: Any) -> None:
    """Let the container's JSON claim something else about an array than what is true."""
    parts.claims[name, key] = value


def set_checksums(parts: Parts, value: Any) -> None:
    """Replace the checksums of the arrays, but not that of the header."""
    parts.checksums = value


EDITS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        *(set_entry, delete_entry, deepen_entry, set_checksums, claim),
        *(drop, rename, copy, cast, view, reshape, put, text),
    )
}


def numbers(tensor: Tensor) -> list[float]:
    """Return the numbers in an array; those of types that Python lacks are read as whole numbers."""
    size = SIZES[tensor.dtype]
    items = [tensor.data[i : i + size] for i in range(0, len(tensor.data), size)]
    if tensor.dtype in _FLOATS:
        return [struct.unpack(_FLOATS[tensor.dtype], item)[0] for item in items]
    return [int.from_bytes(item, "little", signed=tensor.dtype.startswith("I")) for item in items]


def to_bytes(value: float, dtype: str) -> bytes:
    """Return a number as an array of some type holds it; whole numbers wrap."""
    size = SIZES[dtype]
    if dtype in _FLOATS:
        try:
            return struct.pack(_FLOATS[dtype], float(value))
        except OverflowError:
            return struct.pack(_FLOATS[dtype], math.copysign(math.inf, value))
    whole = int(value) if math.isfinite(value) else 2 ** (8 * size - 1)
    return (whole & (2 ** (8 * size) - 1)).to_bytes(size, "little")


# -----------------------------------------------------------------------------------------------------
# Random edits
# -----------------------------------------------------------------------------------------------------

VALUES: list[Any] = [
    0, 1, -1, 2, 3, 4, 5, 127, 128, 255, 256, 300, 32767, 65535, 65536, 2**25, 2**31 - 1, 2**31, 2**32,
    10**9, 2**53, 2**61, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.5, 1.5, 1e-300, 1e300, 5e-324,
    math.inf, -math.inf, math.nan,
]  # fmt: skip
"""Numbers at which checks and arithmetic go wrong."""

OTHERS: list[Any] = [
    None, True, False, "", "x", "0", "\n", "\x1b[31m", "\ud800", "a" * 3000, [], [0], [[0]], {}, {"x": 1},
    "hmm", "lda", "mixture", "categorical", "gaussian", "poisson", "full", "tied", "symbols", "numbers",
    10**4000,
]  # fmt: skip
"""Entries of a header that are not numbers where numbers are wanted, or the other way round."""

TEXTS = [
    "", "[]", "{}", "null", "1", '["a"]', '["a","a","b","c"]', '["a","b",1]', "[" * 3000,
    '["a\\n","b","c"]', '["\\u001b[31m","b","c"]', '{"x":["1","2","3"]}', '{"x":["1"]}', '{"x":1}', "\ud800",
    '["\\ud800","b","c"]', '["a","b","c","d"]', "[NaN]", "9" * 5000,
]  # fmt: skip
"""Contents of the arrays that hold strings."""


def random_edits(rng: Random, parts: Parts) -> list[Edit]:
    """Return one to three random edits of a file; the parts are not changed."""
    return [_random_edit(rng, parts) for _ in range(rng.choice((1, 1, 1, 2, 3)))]


def _random_edit(rng: Random, parts: Parts) -> Edit:
    kind = rng.random()
    if kind < 0.3:
        return random_header_edit(rng, parts.header)
    name = rng.choice(list(parts.tensors))
    tensor = parts.tensors[name]
    if kind < 0.35:
        other = rng.choice([*parts.tensors, "x", "model.x", "estimate.x", "best.paths"])
        return rng.choice((["drop", name], ["rename", name, other], ["copy", name, other]))
    if kind < 0.40:
        return _random_claim(rng, name, tensor)
    if kind < 0.50:
        return [rng.choice(("cast", "view")), name, rng.choice(list(SIZES))]
    if kind < 0.65:
        return ["reshape", name, random_shape(rng, tensor.shape)]
    if tensor.dtype == "U8" and rng.random() < 0.7:
        return ["text", name, rng.choice(TEXTS)]
    place = -1 if rng.random() < 0.2 else rng.randrange(max(1, len(tensor.data)))
    return ["put", name, place, rng.choice(VALUES)]


def random_header_edit(rng: Random, header: dict[str, Any]) -> Edit:
    keys = rng.choice(_places(header, []))
    kind = rng.random()
    if kind < 0.1:
        return ["delete_entry", keys]
    if kind < 0.13:
        return ["deepen_entry", keys, rng.choice((2, 100, 900, 5000, 100_000))]
    if kind < 0.16:
        return ["set_entry", [*keys[:-1], rng.choice(("x", "", "checksum"))], rng.choice(VALUES)]
    if kind < 0.18:
        return ["set_checksums", rng.choice([*OTHERS, 0])]
    return ["set_entry", keys, rng.choice(VALUES if rng.random() < 0.6 else OTHERS)]


def _random_claim(rng: Random, name: str, tensor: Tensor) -> Edit:
    kind = rng.random()
    if kind < 0.3:
        return ["claim", name, "dtype", rng.choice([*SIZES, "X", 1, None])]
    if kind < 0.6:
        return ["claim", name, "shape", random_shape(rng, tensor.shape)]
    if kind < 0.9:
        return ["claim", name, "data_offsets", [rng.choice(VALUES[:30]), rng.choice(VALUES[:30])]]
    return ["claim", "__metadata__", rng.choice(("plait", "format", "x")), rng.choice(OTHERS)]


def random_shape(rng: Random, shape: list[int]) -> list[int]:
    """Return a shape that is wrong, mostly in a small way."""
    new = list(shape)
    kind = rng.randrange(8)
    if kind == 0:
        return []
    if kind == 1:
        return [*new, 1]
    if kind == 2:
        return [1, *new]
    if kind == 3:
        return new[::-1]
    if kind == 4:
        return [math.prod(new)]
    if kind == 5:
        return rng.choice(([0], [0, 10**9], [10**9, 0], [2**31, 2**31, 0], [2**62, 0], [0] * 40))
    if new:
        at = rng.randrange(len(new))
        new[at] = rng.choice((0, 1, new[at] + 1, max(0, new[at] - 1), 2 * new[at], 2**31, 2**61))
    return new


def _places(value: Any, keys: list[Any]) -> list[list[Any]]:
    """Return the keys of every entry in a header, at all depths, except its checksums."""
    entries: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    else:
        return []
    places = []
    for key, entry in entries:
        if key not in ("checksum", "checksums"):
            places += [[*keys, key], *_places(entry, [*keys, key])]
    return places
