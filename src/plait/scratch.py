"""Scratch buffers without false sharing.

NumPy may place small arrays of different threads next to each other. Two threads that write to arrays on the
same cache line slow each other down, to a third of their speed at worst, in some runs and not in others. The
arrays made here share no cache line with any other. (Arrays that a kernel allocates come from memory of its
own thread.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MARGIN = 128  # bytes: cache lines have 64, and processors often fetch two at once


def scratch(shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return an array of zeros that shares no cache line with another array."""
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    margin = _MARGIN // np.dtype(dtype).itemsize
    return np.zeros(size + 2 * margin, dtype)[margin : margin + size].reshape(shape)


def set_apart(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that shares no cache line with another array."""
    copy = scratch(array.shape, array.dtype)
    copy[...] = array
    return copy
