"""Kernels of mixtures: given the weights of its states, every site is drawn independently.

`weights` (n, S) are the shares of the states times the densities of the observations, relative to the largest
of each site; row 0 is the site `first`. `subtract_largest` prepares them in logarithms; NumPy's vectorised
`exp` does the rest.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.choice import choose
from plait.rng import open_stream, uniform_of

_LEAST = -700.0  # the exponentials of smaller numbers are subnormal, which processors handle slowly


@kernel
def subtract_largest(logs, shares, tops):
    """Turn log-densities (n, S) into the logarithms of weights relative to the largest of each site.

    `shares` (S,) are the logarithms of the shares; `tops` (n,) is set to the largest of each site. Weights
    below exp(-700) become 0, and so do all weights of a site whose largest is 0.
    """
    for i in range(logs.shape[0]):
        top = -np.inf
        for s in range(shares.size):
            logs[i, s] += shares[s]
            top = max(top, logs[i, s])
        tops[i] = top
        for s in range(shares.size):
            x = logs[i, s] - top
            logs[i, s] = x if x > _LEAST else -np.inf


@kernel
def resample_sites(first, last, unit, weights, paths, streams, key):
    """Lines 5 to 9 of Algorithm 1: draw every p^j_i from P(p_i | w_i, phi).

    The weights of a site serve all paths. The range uses the streams of `unit`, its first site among those of
    all data. Returns the first site that has probability 0 in every state, or -1.
    """
    for j in range(paths.shape[0]):
        open_stream(streams[j], key.seed, key.sweep, j, unit)
    for i in range(first, last):
        own = weights[i - first]
        total = 0.0
        for s in range(own.size):
            total += own[s]
        if not total > 0.0:
            return i
        for j in range(paths.shape[0]):
            paths[j, i] = choose(own, total, uniform_of(streams, j))
    return -1


@kernel
def count_states(first, last, paths, counts):
    """Add the number of times each state occurs in all paths to `counts` (S,)."""
    for j in range(paths.shape[0]):
        for i in range(first, last):
            counts[paths[j, i]] += 1.0


@kernel
def log_joints(first, last, logs, shares, paths, sums):
    """Add log P(p^j, w | phi) over the sites first to last to `sums` (m,)."""
    for j in range(paths.shape[0]):
        x = 0.0
        for i in range(first, last):
            s = paths[j, i]
            x += shares[s] + logs[i - first, s]
        sums[j] += x


@kernel
def normalise(weights, totals):
    """Turn weights into P(p_i = s | w_i, phi), and set `totals` (n,) to their sums.

    Where every state has weight 0, the total is 0 and the posteriors are NaN.
    """
    for i in range(weights.shape[0]):
        total = 0.0
        for s in range(weights.shape[1]):
            total += weights[i, s]
        totals[i] = total
        for s in range(weights.shape[1]):
            weights[i, s] /= total
