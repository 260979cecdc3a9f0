"""Kernels of mixtures: every site is drawn for itself, given the weights of its states.

`weights` (n, S) are the shares of the states times the densities of the observations, relative to the largest
of a site; row 0 is the site `first`. They are made in logarithms by `relate_logs`, then by NumPy's `exp`,
which takes several numbers at a time.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.rng import open_stream, uniform_of

_LEAST = -700.0  # processors take long for what is so near to 0


@kernel
def relate_logs(logs, shares, tops):
    """Turn log-densities (n, S) into the logarithms of weights relative to the largest of each site.

    `shares` (S,) are the logarithms of the shares; `tops` (n,) is set to the largest of each site. Weights
    below exp(-700) become 0, and so do all of a site where the largest is.
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
def choose(weights, total, u):
    """Return a state drawn with these weights, whose sum is `total`; never one without weight."""
    x = u * total
    chosen = 0
    for s in range(weights.size - 1):
        x -= weights[s]
        if x < 0.0:
            break
        chosen += 1
    while chosen > 0 and weights[chosen] == 0.0:  # rounding left something of x
        chosen -= 1
    while weights[chosen] == 0.0 and chosen < weights.size - 1:
        chosen += 1
    return chosen


@kernel
def resample_sites(first, last, weights, paths, streams, seed, sweep):
    """Lines 5 to 9 of Algorithm 1: draw every p^j_i from P(p_i | w_i, phi).

    The weights of a site serve all paths. The range has the streams of the unit `first`. Returns the first
    site that no state explains, or -1.
    """
    for j in range(paths.shape[0]):
        open_stream(streams[j], seed, sweep, j, first)
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
    """Add how often each state occurs in all paths to `counts` (S,)."""
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
def to_posteriors(weights, totals):
    """Turn weights into P(p_i = s | w_i, phi); set `totals` (n,) to what they were divided by.

    Where no state explains an observation, that is 0 and its posteriors are NaN.
    """
    for i in range(weights.shape[0]):
        total = 0.0
        for s in range(weights.shape[1]):
            total += weights[i, s]
        totals[i] = total
        for s in range(weights.shape[1]):
            weights[i, s] /= total
