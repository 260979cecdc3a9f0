"""Kernels on paths, for any model."""

from __future__ import annotations

from plait.jit import kernel


@kernel
def count_agreeing(paths, most):
    """Fill `most` (N,) with the number of paths that agree on the most common value of each site."""
    n_paths = paths.shape[0]
    for i in range(paths.shape[1]):
        largest = 0
        for j in range(n_paths):
            same = 0
            for k in range(n_paths):
                same += paths[k, i] == paths[j, i]
            largest = max(largest, same)
        most[i] = largest
