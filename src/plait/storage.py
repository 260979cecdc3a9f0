"""Files of arrays and a header: safe to load, written atomically, and verified by checksums.

A file is a safetensors container: arrays, and a header in JSON. Loading one never runs code. Checksums of the
arrays and of the header detect damaged files. They do not detect forged ones: whoever builds something from
the arrays checks them first.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.checks import cut, short_repr
from plait.errors import PlaitError
from plait.outputs import has_previous, replacing
from plait.version import __version__

FORMAT: Final = 2
"""Version of the file format; raised when older versions of plait cannot read new files."""


DTYPES: Final = frozenset(
    ("BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "F32", "F64", "C64")
)
"""The types of arrays that NumPy has, by their names in safetensors files."""


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


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the header and the arrays of a file that `write_file` wrote.

    The arrays are what was written, unless somebody forged the checksums: check them before use.
    """
    from safetensors import SafetensorError, safe_open

    check_readable(path)
    try:
        # Reading, not mapping: if another program cuts the file short meanwhile, a map would crash Python.
        with safe_open(path, framework="numpy", backend="pread") as file:
            header = _check_header((file.metadata() or {}).get("plait"), path)
            tensors = {}
            for name in file.keys():  # noqa: SIM118
                dtype = file.get_slice(name).get_dtype()
                if dtype not in DTYPES:
                    raise DamagedFile(
                        f"{path} is damaged: {cut(name, 200)} has the type {dtype}; fit the model again"
                    )
                tensors[name] = file.get_tensor(name)
    except PlaitError:
        raise
    except (SafetensorError, OSError, ValueError) as error:  # ValueError: a shape that NumPy refuses
        raise DamagedFile(
            f"{path} is not a plait model, or is cut short or damaged ({cut(str(error), 200)}):"
            " give a file that `plait fit` wrote"
        ) from error
    for name in header["checksums"].keys() | tensors.keys():
        stored = header["checksums"].get(name)
        if name not in tensors or zlib.crc32(tensors[name].data) != stored:
            raise DamagedFile(
                f"{path} is damaged: {cut(name, 200)} is not what was written; fit the model again"
            )
    return header, tensors


def is_model(path: Path) -> bool:
    """Return whether a file looks like one that `write_file` wrote; its contents are not checked."""
    from safetensors import SafetensorError, safe_open

    try:
        check_readable(path)
        with safe_open(path, framework="numpy", backend="pread") as file:
            return "plait" in (file.metadata() or {})
    except (PlaitError, SafetensorError, OSError):
        return False


def check_readable(path: Path) -> None:
    """Raise an error unless there is a regular file that can be read; opening a pipe could wait for ever.

    A file whose previous checkpoint was kept counts, too: see `plait.run.load_with_paths`.
    """
    if has_previous(path) and not os.path.lexists(path):
        return
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb"):
                return
        reason = "it is a folder" if path.is_dir() else "it is not a regular file"
    except FileNotFoundError as error:
        raise PlaitError(f"cannot read the model {path}: {error.strerror}; `plait fit` makes one") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
    raise PlaitError(f"cannot read the model {path}: {reason}; give a file that `plait fit` wrote")


def arrays_below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with `prefix`, keyed by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def header_checksum(header: Mapping[str, Any]) -> int:
    """Return the checksum of a header, without its entry for the checksum."""
    rest = {name: value for name, value in header.items() if name != "checksum"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


def _check_header(text: str | None, path: Path) -> dict[str, Any]:
    if text is None:
        raise DamagedFile(f"{path} is not a plait model: give a file that `plait fit` wrote")
    damaged = DamagedFile(
        f"{path} is damaged: its header (format, checksums) is not what was written; fit the model again"
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
