"""Kernels of the initialisations of LDA: line 2 of Algorithms 3 and 4, where it is not a uniform draw.

A progressive initialisation is one collapsed pass from empty counts, document after document:

    for every document d, in a random order, token i of d and path j:
        for every topic t:
            r_t = (C^TW_tw + eta_tw) / (C^T_t + sum_v eta_tv) (C^DT_jdt + alpha_t)
        p^j_i ~ r / sum_t r_t
        count the token in C^TW, C^T and C^DT

`recover_shares` is a step of the spectral initialisation, see `plait.models.anchors`.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.collapsed_lda import change_share, change_total, clear_shares, start_vectors
from plait.kernels.vectors import draw_topic, weigh_topics
from plait.rng import open_stream, uniform


@kernel
def draw_progressive_paths(order, documents, paths, counts, priors, scratch, key):
    """Draw all paths token by token, each given those drawn before; `order` (D,) is that of the documents.

    `paths` are overwritten. `counts` are zero on entry and match `paths` on return. Topics are weighed as in
    `resample_collapsed_vectors`, and the scratch is the same.
    """
    words, offsets, units = documents
    streams, eta, inverse, tokens, shares, cumulative, sums = scratch
    n_paths, n_topics = paths.shape[0], priors.alpha.size
    start_vectors(n_paths, counts, priors, scratch)
    row = -1
    for d in order:
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(n_paths):
            open_stream(streams[j], key.seed, key.sweep, j, units[d])
        for i in range(start, stop):
            w = np.uint32(words[i])
            word = counts.words[w]
            if priors.eta_row[w] != row:
                row = priors.eta_row[w]
                for t in range(n_topics):
                    eta[t] = priors.eta[row, t]
            for j in range(n_paths):
                weigh_topics(word, eta, inverse, shares[j], cumulative)
                u = uniform(streams[j])
                new = draw_topic(u, n_topics, np.uint64(0), np.float32(0.0), cumulative, sums)
                paths[j, i] = new
                word[new] += 1
                change_total(new, 1, counts.topics, priors.eta_sums, inverse)
                change_share(new, 1.0, tokens[j], shares[j], priors.alpha)
        for j in range(n_paths):
            clear_shares(paths[j], start, stop, tokens[j], shares[j], priors.alpha)


@kernel
def recover_shares(first, last, gram, products, shares, slopes, tolerance, most_steps):
    """For the words `first` to `last`, find the mixture of anchors that is closest to each word.

    The shares c_w (K,), which are at least 0 and sum to 1, minimise c G c - 2 c b_w: with G_kl = x_k . x_l
    (`gram`) and b_wk = x_w . x_k (`products`), that is |x_w - sum_k c_k x_k|^2 up to a constant.

    A step moves share from one anchor to another along the edge of the simplex with the steepest descent, as
    far as the minimum on it (pairwise Frank-Wolfe). It takes K operations, and the result has few nonzeros.
    `slopes` (K,) is scratch: half the gradient.
    """
    n_anchors = gram.shape[0]
    for w in range(first, last):
        share = shares[w]
        best = 0
        for k in range(n_anchors):
            share[k] = 0.0
            if gram[k, k] - 2.0 * products[w, k] < gram[best, best] - 2.0 * products[w, best]:
                best = k
        share[best] = 1.0
        for k in range(n_anchors):
            slopes[k] = gram[best, k] - products[w, k]
        for _ in range(most_steps):
            gains = 0
            loses = -1
            for k in range(n_anchors):
                if slopes[k] < slopes[gains]:
                    gains = k
                if share[k] > 0.0 and (loses < 0 or slopes[k] > slopes[loses]):
                    loses = k
            gap = slopes[loses] - slopes[gains]
            if not gap > tolerance:
                break
            step = share[loses]
            curvature = gram[gains, gains] + gram[loses, loses] - 2.0 * gram[gains, loses]
            if gap < step * curvature:
                step = gap / curvature
                share[loses] -= step
            else:
                share[loses] = 0.0
            share[gains] += step
            for k in range(n_anchors):
                slopes[k] += step * (gram[gains, k] - gram[loses, k])
