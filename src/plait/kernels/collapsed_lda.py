"""Kernels of the collapsed sampler of LDA: Algorithm 4 of the paper, with phi integrated out.

`plait.kernels.lda` states the algorithm. `resample_collapsed_dense` follows it directly, for few topics.
`resample_collapsed_vectors` does so with vector instructions. `resample_collapsed` is for very many topics:
it keeps lists of the topics of each document and of each word.

All work on a range of documents. A sweep over all of them in one range is exact. In a partitioned sweep
(after AD-LDA: Newman, Asuncion, Smyth and Welling, 2009), several ranges are sampled side by side. Each has a
copy of the counts, and sees only its own changes; `repeat_changes` then adds those of the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, summing_kernel
from plait.kernels.documents import TopicList, add_topic, clear_topics, drop_topic, list_topics, search
from plait.kernels.prefetching import prefetch_row
from plait.kernels.vectors import draw_topic, weigh_topics
from plait.rng import open_stream, uniform, uniform_of

_AHEAD = np.uint64(2)  # tokens between the request for a word's counts and their use
_STRETCH = 64  # topics that are added up at once: shorter sums do not gain from vector instructions


class Scales(NamedTuple):
    """Reciprocals of the denominators of the collapsed sampler, kept up to date with C^T.

    Attributes
    ----------
    inverse : ndarray of float64, (T,)
        1 / (C^T_t + sum_w eta_tw).
    scaled_alpha : ndarray of float64, (T,)
        alpha_t / (C^T_t + sum_w eta_tw).
    """

    inverse: NDArray[np.float64]
    scaled_alpha: NDArray[np.float64]


class WordLists(NamedTuple):
    """For every word, the topics with C^TW_tw > 0, in no particular order.

    Attributes
    ----------
    starts : ndarray of int64, (W + 1,)
        Where the list of a word starts in `listed`; the space for it ends where the next one starts.
    listed : ndarray of uint16
        All lists, one after another. That of a word has space for min(T, m times its frequency) topics.
        Counts that are not those of the paths could fill more, which is left out.
    sizes : ndarray of uint64, (W,)
        The length of each list.
    """

    starts: NDArray[np.int64]
    listed: NDArray[np.uint16]
    sizes: NDArray[np.uint64]


class CollapsedScratch(NamedTuple):
    """Scratch of `resample_collapsed` for one document.

    Attributes
    ----------
    streams : ndarray of uint64, (m, 2)
        The random stream of each path.
    present : TopicList, arrays (m, T)
        The topics present in each path.
    sizes : ndarray of uint64, (m,)
        Number of these topics.
    cumulative : ndarray of float64, (T,)
        Cumulative sums of the weights of one token.
    """

    streams: NDArray[np.uint64]
    present: TopicList
    sizes: NDArray[np.uint64]
    cumulative: NDArray[np.float64]


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


@summing_kernel
def sum_prior(first, last, eta, scale):
    """Return the sum over the topics `first` to `last` of eta_tw scale_t, for one word."""
    total = 0.0
    for t in range(first, last):
        total += eta[t] * scale[t]
    return total


@kernel
def pick_prior(x, eta, scale):
    """Return the topic at x in the cumulative sums of eta_tw scale_t, for one word.

    The stretch of topics that x falls into is found first, with vectorised sums.
    """
    first = 0
    while first + _STRETCH < scale.size:
        part = sum_prior(first, first + _STRETCH, eta, scale)
        if x < part:
            break
        x -= part
        first += _STRETCH
    last = min(first + _STRETCH, scale.size)
    for t in range(first, last):
        x -= eta[t] * scale[t]
        if x < 0.0:
            return t
    return last - 1


@kernel
def list_topics_of_words(word_counts, lists):
    """Fill `lists`, a `WordLists`, from C^TW (W, T).

    Most counts are zero, so a stretch of them is skipped when it adds up to nothing.
    """
    n_words, n_topics = word_counts.shape
    for w in range(n_words):
        counts = word_counts[w]
        n, end = lists.starts[w], lists.starts[w + 1]
        for first in range(0, n_topics, _STRETCH):
            last = min(first + _STRETCH, n_topics)
            if counts[first:last].sum() > 0:
                for t in range(first, last):
                    if counts[t] > 0 and n < end:
                        lists.listed[n] = t
                        n += 1
        lists.sizes[w] = n - lists.starts[w]


@summing_kernel
def sum_counts(listed, n, word_counts, scale):
    """Return the sum over the n topics of a word of C^TW_tw scale_t."""
    total = 0.0
    for k in range(n):
        t = listed[k]
        total += word_counts[t] * scale[t]
    return total


@kernel
def pick_count(x, listed, n, word_counts, scale):
    """Return the topic at x in the cumulative sums of C^TW_tw scale_t over the n topics of a word."""
    for k in range(n):
        t = listed[k]
        x -= word_counts[t] * scale[t]
        if x < 0.0:
            return t
    return listed[max(n, np.uint64(1)) - np.uint64(1)]


@kernel
def remove_topic(topic, listed, n):
    """Remove a topic from a list of n; return the new length of the list."""
    for k in range(n):
        if listed[k] == topic:
            listed[k] = listed[n - np.uint64(1)]
            return n - np.uint64(1)
    return n


@kernel
def change_count(t, change, word_counts, topic_counts, eta, priors, scales):
    """Add `change` to C^TW_tw and C^T_t, for one word with the counts `word_counts` and the prior `eta` (T,).

    Return the changes of the sums over all topics of alpha_t C^TW_tw / (C^T_t + sum_w eta_tw), and
    of alpha_t eta_tw / (C^T_t + sum_w eta_tw).
    """
    inverse, scaled_alpha = scales
    scale, counted = scaled_alpha[t], word_counts[t] * scaled_alpha[t]
    word_counts[t] += change
    topic_counts[t] += change
    inverse[t] = 1.0 / (topic_counts[t] + priors.eta_sums[t])
    scaled_alpha[t] = priors.alpha[t] * inverse[t]
    return word_counts[t] * scaled_alpha[t] - counted, eta[t] * (scaled_alpha[t] - scale)


@kernel
def resample_collapsed(first, last, documents, paths, counts, priors, scales, lists, scratch, key):
    """Lines 5 to 18 of Algorithm 4, with W eta where the paper prints T eta: the documents `first` to `last`.

    P(p^j_i = t | all other assignments, w) is proportional to f_t (C^DT_jdt + alpha_t) with
    f_t = (C^TW_tw + eta_tw) / (C^T_t + sum_w eta_tw), where C^TW and C^T are counted over all paths and the
    token itself is taken out. `counts` must match `paths` on entry, and are kept up to date. With other
    counts the draws are wrong, but every index stays within its array.

    The part with alpha_t is split once more, by f_t: a sum over the topics of the word, which are listed, and
    one with eta_tw over all topics. The former is computed once per token and the latter once per document
    (and where the row of eta changes); from one path or token to the next only the terms of the topics that
    lose or gain a token are updated.

    `scales`, `lists` and `scratch` may hold anything on entry, except for `lists.starts` and empty lists of
    topics in `scratch.present`.
    """
    words, offsets, units = documents
    inverse, scaled_alpha = scales
    streams, (topics, tokens, place), sizes, cumulative = scratch
    n_paths = paths.shape[0]
    n_topics = priors.alpha.size
    for t in range(n_topics):
        inverse[t] = 1.0 / (counts.topics[t] + priors.eta_sums[t])
        scaled_alpha[t] = priors.alpha[t] * inverse[t]
    list_topics_of_words(counts.words, lists)
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(n_paths):
            open_stream(streams[j], key.seed, key.sweep, j, units[d])
            sizes[j] = list_topics(paths[j], start, stop, topics[j], tokens[j], place[j])
        row = -1
        by_prior = 0.0
        for i in range(start, stop):
            w = np.uint32(words[i])
            word = counts.words[w]
            eta = priors.eta[priors.eta_row[w]]
            if priors.eta_row[w] != row:
                row = priors.eta_row[w]
                by_prior = sum_prior(0, n_topics, eta, scaled_alpha)
            own = lists.listed[lists.starts[w] : lists.starts[w + 1]]
            n_own = lists.sizes[w]
            by_count = sum_counts(own, n_own, word, scaled_alpha)
            for j in range(n_paths):
                n = sizes[j]
                present = topics[j]
                n_tokens = tokens[j]
                old = paths[j, i]
                more = change_count(old, -1, word, counts.topics, eta, priors, scales)
                by_count += more[0]
                by_prior += more[1]
                place_of_old = place[j, old]
                n_tokens[place_of_old] -= 1.0
                total = 0.0
                for k in range(n):
                    t = present[k]
                    total += (word[t] + eta[t]) * inverse[t] * n_tokens[k]
                    cumulative[k] = total
                x = uniform(streams[j]) * (total + by_count + by_prior)
                if x < total:
                    k = search(cumulative, n, x)
                    n_tokens[k] += 1.0
                    new = present[k]
                else:
                    x -= total
                    if x < by_count:
                        new = np.uint16(pick_count(x, own, n_own, word, scaled_alpha))
                    else:
                        new = np.uint16(pick_prior(x - by_count, eta, scaled_alpha))
                    n = add_topic(new, present, n_tokens, place[j], n)
                paths[j, i] = new
                if n_tokens[place_of_old] == 0.0:
                    n = drop_topic(old, present, n_tokens, place[j], n)
                sizes[j] = n
                if new != old:  # only after the draw: most tokens return to the topic that they left
                    if word[old] == 0:
                        n_own = remove_topic(old, own, n_own)
                    if word[new] == 0 and n_own < np.uint64(own.size):
                        own[n_own] = new
                        n_own += np.uint64(1)
                more = change_count(new, 1, word, counts.topics, eta, priors, scales)
                by_count += more[0]
                by_prior += more[1]
            lists.sizes[w] = n_own
        for j in range(n_paths):
            clear_topics(topics[j], place[j], sizes[j])


@kernel
def resample_collapsed_dense(size, first, last, documents, paths, counts, priors, scratch, key):
    """Sample as `resample_collapsed` does, but weigh all topics for every token: faster for few topics.

    `size` is a tuple of T entries, so that the compiler knows T, or empty.
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
    """Sample as `resample_collapsed` does, but weigh all topics for every token with vector instructions.

    Weights are in single precision, as phi is in Algorithm 3.
    """
    words, offsets, units = documents
    streams, eta, inverse, tokens, shares, cumulative, sums = scratch
    n_paths, n_topics = paths.shape[0], priors.alpha.size
    eta[:] = np.float32(0.0)
    inverse[:] = np.float32(0.0)
    tokens[:] = 0.0
    shares[:] = np.float32(0.0)
    for t in range(n_topics):
        inverse[t] = 1.0 / (counts.topics[t] + priors.eta_sums[t])
        for j in range(n_paths):
            shares[j, t] = priors.alpha[t]
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
            for i in range(start, stop):
                topic = np.uint64(paths[j, i])
                tokens[j, topic] = 0.0
                shares[j, topic] = priors.alpha[topic]


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
