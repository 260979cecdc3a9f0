"""Compilation of kernels.

Threads come from `plait.threads`, not from Numba: kernels that only release the GIL run on any number of
threads, from any thread and after a fork, and compile in a fraction of the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent


def kernel(function: F) -> F:
    """Compile a function to machine code that is cached on disk and runs with the GIL released."""
    return _compile(function)


def summing_kernel(function: F) -> F:
    """Compile a function as `kernel` does, and allow the terms of its sums to be added in any order.

    That lets the compiler use vector instructions, whose width depends on the processor: the last bits of a
    sum may differ from one kind of processor to another.
    """
    return _compile(function, fastmath={"reassoc", "nsz"})


def _compile(function: F, **options: Any) -> F:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no writable folder for its cache
        return njit(**options)(function)
    # Numba discards cached code when the function's own file has changed, but not when a kernel that it calls
    # has changed in another file. So a digest of all kernels is added to the stamp of the file. If a future
    # Numba stores its stamp elsewhere, only its own check remains.
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None and hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, digest_of_kernels(_PACKAGE))
    return compiled


@cache
def digest_of_kernels(package: Path) -> str:
    """Return a digest of all files that hold functions which kernels call.

    Parameters
    ----------
    package : Path
        The folder of plait's sources.
    """
    digest = hashlib.sha256()
    for path in kernel_files(package):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel_files(package: Path) -> list[Path]:
    """Return the files that hold functions which kernels call, those of sub-packages included."""
    return [package / "jit.py", package / "rng.py", *sorted((package / "kernels").rglob("*.py"))]
