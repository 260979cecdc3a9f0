"""Kernels of mixtures: every site is drawn for itself, given the weights of its states.

`logs` (n, S) is log b_i(s), the log-density of the observation at site i in state s, its row 0 being the site
`first`; `shares` (S,) are the logarithms of the shares of the states.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.rng import open_stream, uniform_of


@kernel
def _weigh(logs, row, shares, weights):
    """Set `weights` to share(s) b(s), scaled by the largest; return their sum and the log of the scale."""
    top = -np.inf
    for s in range(shares.size):
        weights[s] = shares[s] + logs[row, s]
        top = max(top, weights[s])
    total = 0.0
    if top == -np.inf:
        return total, top
    for s in range(shares.size):
        weights[s] = np.exp(weights[s] - top)
        total += weights[s]
    return total, top


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
def resample_sites(first, last, logs, shares, paths, streams, weights, seed, sweep):
    """Lines 5 to 9 of Algorithm 1: draw every p^j_i from P(p_i | w_i, phi).

    The weights of a site are made once and serve all paths. The range has the streams of the unit `first`.
    Returns the first site that no state explains, or -1.
    """
    for j in range(paths.shape[0]):
        open_stream(streams[j], seed, sweep, j, first)
    for i in range(first, last):
        total, _ = _weigh(logs, i - first, shares, weights)
        if not total > 0.0:
            return i
        for j in range(paths.shape[0]):
            paths[j, i] = choose(weights, total, uniform_of(streams, j))
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
def to_posteriors(logs, shares, likelihoods):
    """Turn `logs` into P(p_i = s | w_i, phi), and set `likelihoods` (n,) to log P(w_i | phi).

    Where no state explains an observation, its log-likelihood is -inf and its posteriors are NaN.
    """
    for i in range(logs.shape[0]):
        total, top = _weigh(logs, i, shares, logs[i])
        likelihoods[i] = top + np.log(total) if total > 0.0 else -np.inf
        for s in range(shares.size):
            logs[i, s] = logs[i, s] / total if total > 0.0 else np.nan
