"""Kernels: functions on arrays, compiled by Numba, to be read side by side with the paper's pseudo-code."""
