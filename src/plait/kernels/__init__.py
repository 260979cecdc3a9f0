"""Kernels: free functions on flat arrays, compiled by Numba, readable beside the paper's pseudo-code."""
