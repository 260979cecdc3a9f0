"""How kernels are compiled.

Threads come from `plait.threads`, not from Numba: kernels that merely release Python's global lock run on any
number of threads, from any thread and after a fork, and compile in a fraction of the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function to machine code that is kept on disk and runs without Python's global lock."""
    return _compile(function)


def summing_kernel(function: F) -> F:
    """Compile like `kernel` a function that is one long sum, whose terms may be added in any order.

    That lets the processor add several at a time, as many as it is built for; the last bits of the sum may
    differ from one kind of processor to another.
    """
    return _compile(function, fastmath={"reassoc", "nsz"})


def _compile(function: F, **options: Any) -> F:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # there is no place to keep machine code that could be written to
        return njit(**options)(function)
    # Numba compiles anew what it kept on disk when the function's own file has changed, but not when a kernel
    # that it calls has. So the stamp of the file is joined by one of all kernels; where a future Numba keeps
    # its stamp elsewhere, only the former is left.
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None and hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, _digest_of_kernels())
    return compiled


@cache
def _digest_of_kernels() -> str:
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in [here / "jit.py", here / "rng.py", *sorted(here.glob("kernels/**/*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()
