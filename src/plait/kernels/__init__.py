"""Kernels: functions on arrays, compiled by Numba, to be read alongside the paper's pseudo-code."""
