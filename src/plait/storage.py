"""Files of arrays and a header: safe to load, written atomically, and verified by checksums.

A file is a safetensors container: arrays, and a header in JSON. Loading one never runs code. Checksums of the
arrays and of the header detect damaged files.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.errors import Argument, PlaitError
from plait.version import __version__

FORMAT: Final = 2
"""Version of the file format; raised when older versions of plait cannot read new files."""


def write_file(path: Path, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Write arrays and a header; if that fails, an existing file stays as it was."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    tensors = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    checksums = {name: zlib.crc32(array.data) for name, array in tensors.items()}
    full = {"format": FORMAT, "version": __version__, **header, "checksums": checksums}
    full["checksum"] = header_checksum(full)
    with replacing(path) as temporary:
        try:
            save_file(tensors, temporary, {"plait": json.dumps(full)})
        except SafetensorError as error:
            raise OSError(str(error)) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the name of a temporary file, which is fsynced and replaces `path` when the block ends.

    The replacement is atomic. If anything fails, an existing file stays as it was.
    """
    if path.is_symlink():
        path = path.resolve()  # replace the file that the link points to, not the link
    check_place(path)
    temporary = temporary_name(path)
    try:
        temporary.touch()
        mode = path.stat().st_mode if path.exists() else temporary.stat().st_mode
        yield temporary
        os.chmod(temporary, mode)
        _fsync(temporary)
        os.replace(temporary, path)
    except OSError as error:
        kept = "; the file that was there is unchanged" if path.exists() else ""
        raise cannot_write(path, error, kept) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    with suppress(OSError):  # makes the renaming durable; not every file system can fsync a folder
        _fsync(path.parent)


def cannot_write(path: Path, error: OSError, note: str = "") -> PlaitError:
    """Return the error for a file that could not be written: why, and what to do."""
    remedy = "Choose another place" if isinstance(error, PermissionError) else "Free some space"
    return PlaitError(f"cannot write {path}: {error.strerror or error}{note}. {remedy}")


def check_output(path: Path, *, overwrite: bool, resumable: bool = False) -> None:
    """Raise an error if a file cannot be written there, or exists and may not be replaced.

    Call this before long work whose result goes to the file.
    """
    check_place(path)
    if path.exists() and not overwrite:
        resume = "resume it, " if resumable else ""
        raise PlaitError(
            f"{path} exists: {resume}replace it with ",
            Argument("overwrite", True),
            ", or choose another name",
        )


def check_place(path: Path) -> None:
    """Raise an error if a file cannot be written there; fail early, before the work is done."""
    if path.is_dir():
        raise PlaitError(f"cannot write {path}: it is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise PlaitError(
            f"cannot write {path}: there is no folder {path.parent}; make it, or choose another place"
        )
    try:
        temporary_name(path).touch()
        temporary_name(path).unlink()
    except OSError as error:
        raise PlaitError(f"cannot write {path}: {error.strerror}. Choose another place") from error


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the header and the arrays of a file that `write_file` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        remedy = "`plait fit` makes one" if missing else "give a file that `plait fit` wrote"
        raise PlaitError(f"cannot read the model {path}: {error.strerror}; {remedy}") from error
    try:
        with safe_open(path, framework="numpy") as file:
            header = _check_header((file.metadata() or {}).get("plait"), path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise PlaitError(
            f"{path} is not a plait model, or is cut short or damaged ({error}):"
            " give a file that `plait fit` wrote"
        ) from error
    for name in header["checksums"].keys() | tensors.keys():
        stored = header["checksums"].get(name)
        if name not in tensors or zlib.crc32(tensors[name].data) != stored:
            raise PlaitError(f"{path} is damaged: {name} is not what was written; fit the model again")
    return header, tensors


def arrays_below(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with `prefix`, keyed by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def temporary_name(path: Path) -> Path:
    """Return the temporary name of a file; always the same one, so that failed writes do not pile up."""
    return path.with_name(f".plait-{zlib.crc32(os.fsencode(path.name)):08x}.tmp")


def header_checksum(header: Mapping[str, Any]) -> int:
    """Return the checksum of a header, without its entry for the checksum."""
    rest = {name: value for name, value in header.items() if name != "checksum"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


def _check_header(text: str | None, path: Path) -> dict[str, Any]:
    if text is None:
        raise PlaitError(f"{path} is not a plait model: give a file that `plait fit` wrote")
    damaged = PlaitError(
        f"{path} is damaged: its header (format, checksums) is not what was written; fit the model again"
    )
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged from None
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise damaged
    if header["format"] > FORMAT:
        raise PlaitError(
            f"{path} was written by plait {header.get('version')} in format {header['format']}; this plait"
            f" {__version__} reads up to format {FORMAT}: update plait"
        )
    if header.get("checksum") != header_checksum(header) or not isinstance(header.get("checksums"), dict):
        raise damaged
    return header


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
