"""Files of arrays and a header: safe to load, written atomically, and verified by checksums.

A file is a safetensors container: arrays, and a header in JSON. Loading one never runs code. Checksums of the
arrays and of the header detect damaged files. They do not detect forged ones: whoever builds something from
the arrays checks them first.

Neither writing nor reading takes memory beyond the arrays themselves. Files are read here and not by the
safetensors library, which can neither fill an array that there is already nor map one.
"""

from __future__ import annotations

import json
import math
import os
import stat
import zlib
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.checks import cut, short_repr
from plait.errors import PlaitError
from plait.mapped import new_array
from plait.outputs import has_previous, replacing
from plait.version import __version__

FORMAT: Final = 2
"""Version of the file format; raised when older versions of plait cannot read new files."""


DTYPES: Final = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "C64": "<c8",
}
"""The types of arrays that NumPy has, by their names in safetensors files."""

MALFORMED: Final = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError),
)
"""Errors of reading a file that plait did not write, and of building something from it."""

_CHUNK: Final = 2**24  # bytes that are read at a time


class Contents(NamedTuple):
    """What a file holds, for messages."""

    noun: str
    maker: str
    """What writes such files."""
    remedy: str
    """What to do if one is damaged."""


MODEL: Final = Contents("model", "`plait fit`", "fit the model again")
CORPUS: Final = Contents("corpus", "`Corpus.save`", "save the corpus again")


class DamagedFile(PlaitError):
    """A file is not what plait wrote: cut short, changed, or of another kind."""


def write_file(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
    *,
    keep_previous: bool = False,
) -> None:
    """Write arrays and a header; if that fails, an existing file stays as it was.

    Parameters
    ----------
    path : Path
        The file.
    arrays : mapping of str to ndarray
        The arrays by name.
    header : mapping
        What can be written as JSON.
    keep_previous : bool
        Whether the file that is replaced stays, under the name that `plait.outputs.previous_name` returns.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    tensors = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    checksums = {name: zlib.crc32(array.data) for name, array in tensors.items()}
    full = {"format": FORMAT, "version": __version__, **header, "checksums": checksums}
    full["checksum"] = header_checksum(full)
    with replacing(path, keep_previous=keep_previous) as temporary:
        try:
            save_file(tensors, temporary, {"plait": json.dumps(full)})
        except SafetensorError as error:
            raise OSError(str(error)) from error


def read_file(
    path: Path,
    contents: Contents = MODEL,
    *,
    folders: Mapping[str, Path | None] | None = None,
    mapped: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the header and the arrays of a file that `write_file` wrote.

    The arrays are what was written, unless somebody forged the checksums: check them before use. No others
    share their memory, and they are writeable unless they are mapped.

    Parameters
    ----------
    path : Path
        The file.
    contents : Contents
        What it should hold.
    folders : mapping of str to Path, optional
        By the names of arrays, folders in which they are kept in files, see `plait.mapped`; by default, and
        for None, they are in memory.
    mapped : collection of str
        The names of arrays that are mapped read-only instead of read. If another program changes or shortens
        the file afterwards, they change, or using them crashes Python.
    """
    check_readable(path, contents)
    places = {} if folders is None else folders
    try:
        with open(path, "rb") as file:
            text, index = _read_index(file)
            header = _check_header(text, path, contents)
            arrays, checksums = {}, {}
            for name, place in index.items():
                if place.dtype is None:
                    raise DamagedFile(
                        f"{path} is damaged: {cut(name, 200)} has the type {place.type_name};"
                        f" {contents.remedy}"
                    )
                if name in mapped and place.size:
                    array = np.asarray(np.memmap(file, place.dtype, "r", place.start, place.shape))
                    checksums[name] = _checksum(_chunks_of(array))
                else:
                    array = new_array(place.shape, place.dtype, places.get(name))
                    checksums[name] = _checksum(_filled(array, file, place))
                arrays[name] = array
    except PlaitError:
        raise
    except MALFORMED as error:
        raise DamagedFile(
            f"{path} is not a plait {contents.noun}, or is cut short or damaged ({cut(str(error), 200)}):"
            f" give a file that {contents.maker} wrote"
        ) from error
    for name in header["checksums"].keys() | arrays.keys():
        if name not in arrays or checksums[name] != header["checksums"].get(name):
            raise DamagedFile(
                f"{path} is damaged: {cut(name, 200)} is not what was written; {contents.remedy}"
            )
    return header, arrays


def is_model(path: Path) -> bool:
    """Return whether a file looks like one that `write_file` wrote; its contents are not checked."""
    try:
        check_readable(path)
        with open(path, "rb") as file:
            return _read_index(file)[0] is not None
    except MALFORMED:
        return False


def check_readable(path: Path, contents: Contents = MODEL) -> None:
    """Raise an error unless there is a regular file that can be read; opening a pipe could wait for ever.

    A file whose previous checkpoint was kept counts, too: see `plait.run.load_with_paths`.
    """
    if has_previous(path) and not os.path.lexists(path):
        return
    cannot = f"cannot read the {contents.noun} {path}"
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb"):
                return
        reason = "it is a folder" if path.is_dir() else "it is not a regular file"
    except FileNotFoundError as error:
        raise PlaitError(f"{cannot}: {error.strerror}; {contents.maker} makes one") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
    raise PlaitError(f"{cannot}: {reason}; give a file that {contents.maker} wrote")


def arrays_below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with `prefix`, keyed by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def header_checksum(header: Mapping[str, Any]) -> int:
    """Return the checksum of a header, without its entry for the checksum."""
    rest = {name: value for name, value in header.items() if name != "checksum"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


def _check_header(text: object, path: Path, contents: Contents) -> dict[str, Any]:
    if not isinstance(text, str):
        raise DamagedFile(f"{path} is not a plait {contents.noun}: give a file that {contents.maker} wrote")
    damaged = DamagedFile(
        f"{path} is damaged: its header (format, checksums) is not what was written; {contents.remedy}"
    )
    try:
        header = json.loads(text)
        checksum = header_checksum(header) if isinstance(header, dict) else None
    except (ValueError, RecursionError):
        raise damaged from None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise damaged
    if header["format"] > FORMAT:
        raise PlaitError(
            f"{path} was written by plait {cut(str(header.get('version')), 60)} in format"
            f" {short_repr(header['format'])}; this plait {__version__} reads up to format {FORMAT}: update"
            " plait"
        )
    if header.get("checksum") != checksum or not isinstance(header.get("checksums"), dict):
        raise damaged
    return header


# -----------------------------------------------------------------------------------------------------
# The safetensors format: the length of an index in 8 bytes, the index in JSON, the bytes of the arrays
# -----------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where an array is in a file."""

    start: int
    size: int
    shape: tuple[int, ...]
    type_name: str

    @property
    def dtype(self) -> str | None:
        """The array's dtype, None if NumPy has no such type."""
        return DTYPES.get(self.type_name)


def _read_index(file: BinaryIO) -> tuple[object, dict[str, _Place]]:
    """Return what plait wrote about a file, if anything, and the places of its arrays.

    An error of some kind is raised unless the arrays fill the rest of the file, without gaps or overlaps.
    """
    n_bytes = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    start = 8 + length
    if start > n_bytes:
        raise ValueError("its index is longer than the file")
    index = json.loads(file.read(length))
    text = index.pop("__metadata__", {}).get("plait")
    places = {name: _place_of(entry, start) for name, entry in index.items()}
    bounds = [(start, start), *sorted((p.start, p.start + p.size) for p in places.values()), (n_bytes, 0)]
    if any(end != following for (_, end), (following, _) in pairwise(bounds)):
        raise ValueError("its arrays do not fill the file")
    return text, places


def _place_of(entry: Mapping[str, Any], start: int) -> _Place:
    type_name, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if any(type(n) is not int or n < 0 for n in (*shape, first, last)) or not isinstance(type_name, str):
        raise ValueError("its index is not one of arrays")
    place = _Place(start + first, last - first, tuple(shape), type_name)
    if place.dtype is not None and place.size != math.prod(shape) * np.dtype(place.dtype).itemsize:
        raise ValueError("an array has another size than its shape")
    return place


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _chunks_of(array: NDArray[Any]) -> Iterator[memoryview]:
    """Yield the bytes of an array, some at a time."""
    whole = _bytes_of(array)
    yield from (whole[at : at + _CHUNK] for at in range(0, len(whole), _CHUNK))


def _filled(array: NDArray[Any], file: BinaryIO, place: _Place) -> Iterator[memoryview]:
    """Fill an array from a file, and yield its bytes, some at a time, once they are there."""
    file.seek(place.start)
    for chunk in _chunks_of(array):
        if file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
            raise ValueError("it was cut short while it was read")
        yield chunk


def _checksum(chunks: Iterator[memoryview]) -> int:
    checksum = 0
    for chunk in chunks:
        checksum = zlib.crc32(chunk, checksum)
    return checksum
