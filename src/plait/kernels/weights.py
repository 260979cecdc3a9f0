"""Kernel that draws the weights of observations with t distributions, and adds up what they multiply."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel, local_array
from plait.rng import COMPLETIONS, log_gamma, open_stream


@kernel
def add_weighted(first, last, values, own, paths, sums, key):
    """Draw a weight u for each path and column of each observation; add n, u, u x, u x^2 and log u - u.

    `own` (3, S, D) holds locations, squared scales and degrees of freedom. `sums` (S, 1 + 5 D) starts with
    the number of observations. The stream of an observation serves all paths, one after another.
    """
    stream = local_array(2, np.uint64)
    n_features = values.shape[1]
    for i in range(first, last):
        open_stream(stream, key.seed, key.sweep, COMPLETIONS, i)
        for j in range(paths.shape[0]):
            s = paths[j, i]
            seen = False
            for d in range(n_features):
                x = values[i, d]
                if x != x:
                    continue
                seen = True
                nu = own[2, s, d]
                z = x - own[0, s, d]
                rate = (nu + z * z / own[1, s, d]) / 2.0
                log_u = log_gamma(stream, (nu + 1.0) / 2.0) - np.log(rate)
                u = np.exp(log_u)
                k = 1 + 5 * d
                sums[s, k] += 1.0
                sums[s, k + 1] += u
                sums[s, k + 2] += u * x
                sums[s, k + 3] += u * x * x
                sums[s, k + 4] += log_u - u
            if seen:
                sums[s, 0] += 1.0
