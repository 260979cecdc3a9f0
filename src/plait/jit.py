"""Compilation of kernels.

Threads come from `plait.threads`, not from Numba: kernels that only release the GIL run on any number of
threads, from any thread and after a fork, and compile in a fraction of the time.

Kernels do not count references to arrays. Numba would do so whenever a loop takes a row out of a table, with
two atomic additions that nothing can overtake: a tenth to a fifth of the time of a sweep. Without a count,
nothing can be freed, so a kernel must not allocate, and Numba refuses to compile one that does. It gets its
buffers as arguments, or small ones from `local_array`.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils, event
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_interpreted: bool = config.DISABLE_JIT  # type: ignore[attr-defined]


class _Notice(event.Listener):
    """Logs, once, that kernels are compiled and not loaded from the cache."""

    def on_start(self, started: event.Event) -> None:
        if started.data["dispatcher"].py_func.__module__.startswith("plait."):
            _log_compilation()

    def on_end(self, ended: event.Event) -> None:
        pass


@cache
def _log_compilation() -> None:
    logging.getLogger("plait").info("compiling kernels for this machine; later processes load them")


event.register("numba:compile", _Notice())


def kernel(function: F) -> F:
    """Compile a function to machine code that is cached on disk and runs with the GIL released."""
    return _compile(function, _nrt=False)


def allocating_kernel(function: F) -> F:
    """Compile a function as `kernel` does, but count references, so that it may allocate.

    For buffers whose size only the kernel knows. It must not return them to a function that is compiled by
    `kernel`, which would never free them.
    """
    return _compile(function)


def summing_kernel(function: F) -> F:
    """Compile a function as `kernel` does, and allow the terms of its sums to be added in any order.

    That lets the compiler use vector instructions, whose width depends on the processor: the last bits of a
    sum may differ from one kind of processor to another.
    """
    return _compile(function, fastmath={"reassoc", "nsz"}, _nrt=False)


def _compile(function: F, **options: Any) -> F:
    if _interpreted:
        return function
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        compiled: Any = njit(cache=True, **options)(function)
    except RuntimeError:  # Numba found no writable folder for its cache
        compiled = njit(**options)(function)
    # Kernels that call this one get its code from a twin that has no entry from Python, which is half of the
    # compilation of a short function, and no file in the cache: theirs contains its code.
    twin: Any = njit(**options | {"no_cpython_wrapper": True})(function)
    compiled.get_call_template, compiled.get_overload = twin.get_call_template, twin.get_overload
    # Numba discards cached code when the function's own file has changed, but not when a kernel that it calls
    # has changed in another file. So a digest of all kernels is added to the stamp of the file. If a future
    # Numba stores its stamp elsewhere, only its own check remains.
    index = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if index is not None and hasattr(index, "_source_stamp"):
        index._source_stamp = (index._source_stamp, digest_of_kernels(_PACKAGE))
    return cast(F, compiled)


def _interpreted_local_array(size: int, dtype: type[np.generic]) -> NDArray[Any]:
    return np.zeros(size, dtype)


@intrinsic(prefer_literal=True)
def _compiled_local_array(_: Any, size: Any, dtype: Any) -> Any:
    if not isinstance(size, types.IntegerLiteral):
        raise TypingError("the size of a local array must be a constant")
    n = size.literal_value
    array_type = types.Array(dtype.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.get_data_type(array_type.dtype)
        item = context.get_abi_sizeof(kind)
        data = cgutils.alloca_once(builder, kind, size=n)
        cgutils.memset(builder, data, ir.IntType(64)(n * item), 0)
        array = context.make_array(array_type)(context, builder)
        context.populate_array(
            array,
            data=data,
            shape=cgutils.pack_array(builder, [context.get_constant(types.intp, n)]),
            strides=cgutils.pack_array(builder, [context.get_constant(types.intp, item)]),
            itemsize=context.get_constant(types.intp, item),
            meminfo=None,
        )
        return array._getvalue()

    return array_type(size, dtype), generate


# Numba does not let an overload return an array without a count of references.
local_array: Any = _interpreted_local_array if _interpreted else _compiled_local_array
"""`local_array(size, dtype)` is an array of zeros on the stack, which costs no allocation.

`size` is a constant, and small. The array lives until the kernel returns, so it must not be returned.
"""


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
