"""How kernels are compiled.

Threads come from `plait.threads`, not from Numba: kernels that merely release Python's global lock run on any
number of threads, from any thread and after a fork, and compile in a fraction of the time.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
"""Compile a function to machine code that is kept on disk and runs without Python's global lock."""

summing_kernel = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nsz"})
"""Like `kernel`, for a function that is one long sum: its terms may be added in any order.

That lets the processor add several at a time, and changes the last bit of the sum at most.
"""
