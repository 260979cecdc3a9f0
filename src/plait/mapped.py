"""Arrays in files that have no name: memory that the system can write to the disk when it is short of it."""

from __future__ import annotations

import math
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from plait.checks import short_repr
from plait.errors import Argument, PlaitError
from plait.outputs import cannot_write

_ZEROS = memoryview(bytes(2**20))


def check_folder(name: str, folder: str | PathLike[str] | None) -> Path | None:
    """Return the path of a folder that exists, or None for None; `name` is the name of the argument."""
    if folder is None:
        return None
    try:
        path = Path(folder)
        if path.is_dir():
            return path
    except (TypeError, ValueError):  # ValueError: a NUL in the name
        pass
    raise PlaitError(Argument(name), f" must be a folder that exists, got {short_repr(folder)}: make it")


def new_array(shape: tuple[int, ...], dtype: DTypeLike, folder: Path | None = None) -> NDArray[Any]:
    """Return a writeable array of any content, in memory or in a file.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype
        Its dtype.
    folder : Path, optional
        The folder of the file, which has no name and takes no space once the array is gone; by default the
        array is in memory.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if folder is None or not n_bytes:
        return np.empty(shape, dtype)
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            # Not truncate: using a map of a file with holes would crash Python when the disk is full.
            left = n_bytes
            while left:
                left -= file.write(_ZEROS[:left]) or 0
            return np.asarray(np.memmap(file, dtype, "r+", shape=shape))
    except OSError as error:
        raise cannot_write(folder, error) from error
