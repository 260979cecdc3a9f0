"""Kernels of hidden Markov chains, for every kind of emissions.

The paper describes its samplers of HMMs in words; the plain algorithms are these. p is a path with states
p_0 .. p_n-1, w the observations, A the transition matrix, pi the start distribution and b_i(s) = P(w_i | s).

Single-site (the paper's PC; Algorithm 1, lines 5 to 9), and collapsed (the paper's C; Algorithm 2):

    for each sequence, each site i and each path p = p^1 .. p^m:
        a, c = p_i-1, p_i+1
        single-site:   weight(s) = A(a, s) A(s, c) b_i(s)           pi(s) for A(a, s) at the first site,
        collapsed:     weight(s) = the same, with counts + priors   1 for A(s, c) at the last one
                                   of all paths without p_i instead of phi
        draw p_i with these weights

Blocked (forward filtering, backward sampling), which draws whole paths given phi:

    alpha_0(s) = pi(s) b_0(s)
    for i = 1 .. n-1:                 alpha_i(s) = b_i(s) sum_r alpha_i-1(r) A(r, s)       once for all paths
    for each path:
        draw p_n-1 with the weights   alpha_n-1(s)
        for i = n-2 .. 0: draw p_i with the weights   alpha_i(s) A(s, p_i+1)

The fast versions, and what else a chain needs:

    arguments.py   the named tuples that kernels take, and how the number of states is made a constant
    messages.py    filtering and smoothing: likelihoods, posteriors and expected counts
    blocked.py     the blocked sampler, also for both halves of a long sequence at once
    logs.py        filtering, smoothing and the blocked sampler in logarithms, for forbidden transitions
    sites.py       the single-site sampler
    collapsed.py   the collapsed sampler
    paths.py       counts and probabilities of given paths, and the best path (Viterbi)

They differ from the plain algorithms in the order of the updates (see NOTATION.md), and in that messages are
scaled when they get small.
"""

from __future__ import annotations

from plait.kernels.chains.arguments import (
    FEW_STATES,
    ChainProbabilities,
    CollapsedCounts,
    CollapsedPriors,
    DrawScratch,
    EmissionWeights,
    ExpectedCounts,
    Messages,
    Neighbours,
    Span,
    size_of,
)
from plait.kernels.chains.blocked import draw_paths, resample_blocked
from plait.kernels.chains.collapsed import resample_collapsed
from plait.kernels.chains.logs import log_likelihoods_by_logs, resample_blocked_by_logs, smooth_by_logs
from plait.kernels.chains.messages import (
    filter_backward,
    filter_forward,
    log_likelihoods_range,
    smooth_range,
)
from plait.kernels.chains.paths import best_paths_range, count_pairs, log_joints_range
from plait.kernels.chains.sites import fill_thresholds, resample_by_thresholds, resample_sites

__all__ = [
    "FEW_STATES",
    "ChainProbabilities",
    "CollapsedCounts",
    "CollapsedPriors",
    "DrawScratch",
    "EmissionWeights",
    "ExpectedCounts",
    "Messages",
    "Neighbours",
    "Span",
    "best_paths_range",
    "count_pairs",
    "draw_paths",
    "fill_thresholds",
    "filter_backward",
    "filter_forward",
    "log_joints_range",
    "log_likelihoods_by_logs",
    "log_likelihoods_range",
    "resample_blocked",
    "resample_blocked_by_logs",
    "resample_by_thresholds",
    "resample_collapsed",
    "resample_sites",
    "size_of",
    "smooth_by_logs",
    "smooth_range",
]
