"""Kernels of the collapsed sampler of LDA: Algorithm 4 of the paper, with phi integrated out.

`plait.kernels.lda` states the algorithm. `resample_collapsed_dense` follows it directly, for few topics.
`resample_collapsed_vectors` does so with vector instructions. `plait.kernels.bounded_lda` is for many topics.

All work on a range of documents. A sweep over all of them in one range is exact. In a partitioned sweep
(after AD-LDA: Newman, Asuncion, Smyth and Welling, 2009), several ranges are sampled side by side. Each has a
copy of the counts, and sees only its own changes; `repeat_changes` then adds those of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.kernels.prefetching import prefetch_row
from plait.kernels.vectors import draw_topic, weigh_topics
from plait.rng import open_stream, uniform, uniform_of

_AHEAD = np.uint64(2)  # tokens between the request for a word's counts and their use


class DenseScratch(NamedTuple):
    """Scratch of `resample_collapsed_dense`.

    Attributes
    ----------
    streams : ndarray of uint64, (m, 2)
        The random stream of each path.
    totals : ndarray of float64, (T,)
        C^T_t + sum_w eta_tw.
    inverse : ndarray of float64, (T,)
        1 / (C^T_t + sum_w eta_tw).
    counts : ndarray of float64, (m, T)
        C^DT of one document.
    cumulative : ndarray of float64, (T,)
        Cumulative sums of the weights of one token.
    """

    streams: NDArray[np.uint64]
    totals: NDArray[np.float64]
    inverse: NDArray[np.float64]
    counts: NDArray[np.float64]
    cumulative: NDArray[np.float64]


class VectorScratch(NamedTuple):
    """Scratch of `resample_collapsed_vectors`; V is T, rounded up to whole vectors.

    Attributes
    ----------
    streams : ndarray of uint64, (m, 2)
        The random stream of each path.
    eta : ndarray of float32, (V,)
        eta_tw of one word, and zero beyond T.
    inverse : ndarray of float32, (V,)
        1 / (C^T_t + sum_w eta_tw), and zero beyond T.
    tokens : ndarray of float64, (m, T)
        C^DT of one document.
    shares : ndarray of float32, (m, V)
        C^DT_jdt + alpha_t, and zero beyond T.
    cumulative : ndarray of float32, (V,)
        Sums of the weights of one token, see `plait.kernels.vectors`.
    sums : ndarray of float32, (LANES,)
        Scratch of `draw_topic`.
    """

    streams: NDArray[np.uint64]
    eta: NDArray[np.float32]
    inverse: NDArray[np.float32]
    tokens: NDArray[np.float64]
    shares: NDArray[np.float32]
    cumulative: NDArray[np.float32]
    sums: NDArray[np.float32]


@kernel
def resample_collapsed_dense(size, first, last, documents, paths, counts, priors, scratch, key):
    """Lines 5 to 18 of Algorithm 4, with W eta where the paper prints T eta: the documents `first` to `last`.

    P(p^j_i = t | all other assignments, w) is proportional to f_t (C^DT_jdt + alpha_t) with
    f_t = (C^TW_tw + eta_tw) / (C^T_t + sum_w eta_tw), where C^TW and C^T are counted over all paths and the
    token itself is taken out. `counts` must match `paths` on entry, and are kept up to date. With other
    counts the draws are wrong, but every index stays within its array.

    All topics are weighed for every token. `size` is a tuple of T entries, so that the compiler knows T, or
    empty.
    """
    words, offsets, units = documents
    streams, totals, inverse, rows, cumulative = scratch
    n_topics = len(size) if len(size) > 0 else priors.alpha.size
    for t in range(n_topics):
        totals[t] = counts.topics[t] + priors.eta_sums[t]
        inverse[t] = 1.0 / totals[t]
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(paths.shape[0]):
            open_stream(streams[j], key.seed, key.sweep, j, units[d])
            rows[j] = 0.0
            for i in range(start, stop):
                rows[j, np.uint64(paths[j, i])] += 1.0
        for i in range(start, stop):
            w = np.uint32(words[i])
            word = counts.words[w]
            eta = priors.eta[priors.eta_row[w]]
            for j in range(paths.shape[0]):
                row = rows[j]
                old = np.uint64(paths[j, i])
                word[old] -= 1
                totals[old] -= 1.0
                inverse[old] = 1.0 / totals[old]
                row[old] -= 1.0
                u = uniform_of(streams, j)  # here, because a write between the two loops would be slower
                total = 0.0
                for t in range(np.uint64(n_topics)):
                    # `inverse` comes last: the division above makes it the last factor to be ready
                    total += (word[t] + eta[t]) * (row[t] + priors.alpha[t]) * inverse[t]
                    cumulative[t] = total
                x = u * total
                new = np.uint64(0)
                for t in range(np.uint64(n_topics - 1)):
                    new += np.uint64(cumulative[t] <= x)
                paths[j, i] = new
                word[new] += 1
                totals[new] += 1.0
                inverse[new] = 1.0 / totals[new]
                row[new] += 1.0
    for t in range(n_topics):
        counts.topics[t] = np.int64(round(totals[t] - priors.eta_sums[t]))


@kernel
def resample_collapsed_vectors(first, last, documents, paths, counts, priors, scratch, key):
    """Sample as `resample_collapsed_dense` does, but with vector instructions.

    Weights are in single precision, as phi is in Algorithm 3.
    """
    words, offsets, units = documents
    streams, eta, inverse, tokens, shares, cumulative, sums = scratch
    n_paths, n_topics = paths.shape[0], priors.alpha.size
    start_vectors(n_paths, counts, priors, scratch)
    row = -1
    final = np.uint64(offsets[last]) - np.uint64(1)
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(n_paths):
            open_stream(streams[j], key.seed, key.sweep, j, units[d])
            for i in range(start, stop):
                change_share(np.uint64(paths[j, i]), 1.0, tokens[j], shares[j], priors.alpha)
        for i in range(start, stop):
            w = np.uint32(words[i])
            word = counts.words[w]
            prefetch_row(counts.words, np.uint32(words[min(i + _AHEAD, final)]))
            if priors.eta_row[w] != row:
                row = priors.eta_row[w]
                for t in range(n_topics):
                    eta[t] = priors.eta[row, t]
            for j in range(n_paths):
                old = np.uint64(paths[j, i])
                u = uniform(streams[j])
                # The token is not taken out before its topics are weighed: vectors could not be loaded until
                # that is stored. What it adds to the weight of its topic is subtracted from the sums.
                weigh_topics(word, eta, inverse, shares[j], cumulative)
                total = counts.topics[old] + priors.eta_sums[old]
                others = tokens[j, old] + priors.alpha[old]
                count = word[old] + np.float64(eta[old])
                excess = count / total * others - (count - 1.0) / (total - 1.0) * (others - 1.0)
                new = draw_topic(u, n_topics, old, np.float32(excess), cumulative, sums)
                if new != old:
                    paths[j, i] = new
                    word[old] -= 1
                    change_total(old, -1, counts.topics, priors.eta_sums, inverse)
                    change_share(old, -1.0, tokens[j], shares[j], priors.alpha)
                    word[new] += 1
                    change_total(new, 1, counts.topics, priors.eta_sums, inverse)
                    change_share(new, 1.0, tokens[j], shares[j], priors.alpha)
        for j in range(n_paths):
            clear_shares(paths[j], start, stop, tokens[j], shares[j], priors.alpha)


@kernel
def start_vectors(n_paths, counts, priors, scratch):
    """Set `scratch`, a `VectorScratch`, for a document without tokens."""
    scratch.eta[:] = np.float32(0.0)
    scratch.inverse[:] = np.float32(0.0)
    scratch.tokens[:] = 0.0
    scratch.shares[:] = np.float32(0.0)
    for t in range(priors.alpha.size):
        scratch.inverse[t] = 1.0 / (counts.topics[t] + priors.eta_sums[t])
        for j in range(n_paths):
            scratch.shares[j, t] = priors.alpha[t]


@kernel
def change_total(t, change, topic_counts, eta_sums, inverse):
    """Add `change` to C^T_t, and keep its reciprocal up to date."""
    topic_counts[t] += change
    inverse[t] = 1.0 / (topic_counts[t] + eta_sums[t])


@kernel
def change_share(t, change, tokens, shares, alpha):
    """Add `change` to C^DT_jdt, and keep C^DT_jdt + alpha_t up to date."""
    tokens[t] += change
    shares[t] = tokens[t] + alpha[t]


@kernel
def clear_shares(path, start, stop, tokens, shares, alpha):
    """Set C^DT to zero for the next document; the tokens `start` to `stop` are those of this one."""
    for i in range(start, stop):
        topic = np.uint64(path[i])
        tokens[topic] = 0.0
        shares[topic] = alpha[topic]


@kernel
def repeat_changes(first, last, words, before, paths, counts):
    """Change `counts` as the tokens `first` to `last` have changed their topics, in all paths.

    `before` (m, n) are the topics that these tokens had, from `first` on.
    """
    for i in range(np.uint64(last - first)):
        at = np.uint64(first) + i
        word = counts.words[np.uint32(words[at])]
        for j in range(paths.shape[0]):
            old = np.uint64(before[j, i])
            new = np.uint64(paths[j, at])
            if new != old:
                word[old] -= 1
                word[new] += 1
                counts.topics[old] -= 1
                counts.topics[new] += 1
