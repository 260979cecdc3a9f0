"""Memory that one thread writes to all the time.

NumPy lays small arrays side by side, whichever threads asked for them. Two threads that each write to their
own array then fight for the cache line that both lie on, and each may run at a third of its speed; which runs
are hit is left to chance. The arrays made here share no line with any other. (Those that a kernel makes for
itself come from memory of its own thread.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MARGIN = 128  # bytes: processors fetch lines of 64 bytes, often in pairs


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
