"""Kernels of hidden Markov chains, for every kind of emissions.

The paper gives no pseudo-code for its samplers of HMMs. This is it, for each path p and each sequence
w_0 .. w_n-1, with start distribution pi, transition matrix A and b_i(s) = P(w_i | p_i = s):

Single-site (PC in the paper; lines 5 to 9 of Algorithm 1), given phi:

    for i = 0 .. n-1:
        draw p_i with the weights   A(p_i-1, s) A(s, p_i+1) b_i(s)

Collapsed (C in the paper; Algorithm 2), with N and E the counts of transitions and symbols of all paths:

    for i = 0 .. n-1, with a = p_i-1, c = p_i+1, w = w_i:
        take p_i out of the counts
        draw p_i with the weights
            (N_as + gamma) (N_sc + gamma) / (N_s + S gamma) (E_ws + eta) / (E_s + W eta)
        put p_i back into the counts

Blocked (forward filtering, backward sampling), given phi:

    alpha_0(s) = pi(s) b_0(s),   alpha_i(s) = b_i(s) sum_r alpha_i-1(r) A(r, s)     once for all paths
    draw p_n-1 with the weights   alpha_n-1(s)
    for i = n-2 .. 0:
        draw p_i with the weights   alpha_i(s) A(s, p_i+1)

At the first site pi(s) replaces A(p_i-1, s), at the last one A(s, p_i+1) is left out, and the collapsed
weights have corrections for a = s.

The fast versions, and the other kernels of chains:

    arguments.py   the named tuples that kernels take
    states.py      the number of states as a constant, and a draw of one state
    messages.py    filtering and smoothing: likelihoods, posteriors and expected counts
    blocked.py     the blocked sampler, also for both halves of a long sequence at once
    logs.py        filtering, smoothing and the blocked sampler in logarithms, for forbidden transitions
    sites.py       the single-site sampler
    two.py         the single-site sampler for two states
    collapsed.py   the collapsed sampler
    paths.py       counts and probabilities of given paths, and the best path (Viterbi)

They visit sites and paths in another order (see NOTATION.md), and scale messages that get small.
"""

from __future__ import annotations

from plait.kernels.chains.arguments import (
    ChainProbabilities,
    CollapsedCounts,
    CollapsedPriors,
    DrawScratch,
    EmissionWeights,
    ExpectedCounts,
    Messages,
    Neighbours,
    Span,
)
from plait.kernels.chains.blocked import draw_paths, resample_blocked
from plait.kernels.chains.collapsed import resample_collapsed, resample_collapsed_two
from plait.kernels.chains.logs import log_likelihoods_by_logs, resample_blocked_by_logs, smooth_by_logs
from plait.kernels.chains.messages import (
    filter_backward,
    filter_forward,
    log_likelihoods_range,
    smooth_range,
)
from plait.kernels.chains.paths import best_paths_range, count_pairs, log_joints_range
from plait.kernels.chains.sites import fill_thresholds, resample_by_thresholds, resample_sites
from plait.kernels.chains.states import FEW_STATES, size_of
from plait.kernels.chains.two import limits_of, resample_two

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
    "limits_of",
    "log_joints_range",
    "log_likelihoods_by_logs",
    "log_likelihoods_range",
    "resample_blocked",
    "resample_blocked_by_logs",
    "resample_by_thresholds",
    "resample_collapsed",
    "resample_collapsed_two",
    "resample_sites",
    "resample_two",
    "size_of",
    "smooth_by_logs",
    "smooth_range",
]
