"""Kernels of LDA: Algorithms 3 and 4 of the paper, exact, for documents that hold few topics.

Every kernel works on a range of documents (or words) so that threads can share the work, and leaves the same
bits whatever the ranges are. `words` (N,) and `offsets` (D + 1,) are the corpus, `units` (D,) names the
random stream of each document, and `paths` is (m, N). Tables that both a word and a topic index are
word-major, (W, T): a token needs one row. The priors come as

    alpha     (T,)    of the topics in a document
    eta       (R, T)  of the words in a topic: the distinct rows only. One row serves all words for a scalar
                      eta; seed words add a row each
    eta_row   (W,)    which row of eta belongs to a word

Both samplers split the weight of topic t for a token of word w in document d,

    r_t = f_t (C^DT_jdt + alpha_t) = f_t C^DT_jdt  +  f_t alpha_t,

where f_t is phi_t(w), or its mean given all other tokens. The first part is a sum over the few topics in the
document. The second depends on the word alone, is small, and its total is shared by all m paths: it is looked
into only when the draw falls there. The split changes the order of summation and nothing else.
"""

from __future__ import annotations

import math

import numpy as np

from plait.jit import kernel, summing_kernel
from plait.kernels.documents import add_topic, clear_topics, drop_topic, list_topics, search
from plait.rng import (
    INITIAL,
    PARAMETERS,
    integer,
    large_gamma,
    mix,
    open_stream,
    small_gamma,
    uniform,
    uniform_of,
)

BLOCK = 16
"""Topics in a block of the table of `alpha_t phi_t(w)`: its cumulative sums are stored a block at a time."""

_FEW = 64  # so many sums are compared one by one sooner than they are halved
_STRETCH = 64  # so many terms are worth adding up several at once


def count_blocks(n_topics: int) -> int:
    """Return the number of blocks B that hold T topics."""
    return -(-n_topics // BLOCK)


@kernel
def draw_initial_paths(first, last, offsets, units, paths, n_topics, seed):
    """Line 2 of Algorithms 3 and 4: every p^j_i uniform on the topics."""
    stream = np.zeros(2, dtype=np.uint64)
    for d in range(first, last):
        for j in range(paths.shape[0]):
            open_stream(stream, seed, INITIAL, j, units[d])
            for i in range(offsets[d], offsets[d + 1]):
                paths[j, i] = integer(stream, n_topics)


@kernel
def count_frequencies(words, frequencies):
    """Add how often each word occurs to `frequencies` (W,)."""
    for i in range(words.size):
        frequencies[words[i]] += 1


@kernel
def count_words(first, last, words, paths, counts):
    """Add C^TW of all paths together to `counts` (W, T), for the words `first` to `last`."""
    for i in range(words.size):
        w = words[i]
        if first <= w < last:
            for j in range(paths.shape[0]):
                counts[w, paths[j, i]] += 1


@kernel
def draw_gammas(first, last, counts, eta, eta_row, tiny, gammas, sums, kept, uniforms, seed, sweep):
    """Line 6 of Algorithm 3, for the words `first` to `last`: phi_t(w) up to the sum over words.

    phi_t ~ Dir(eta + C^TW_t) is a row of independent Gamma(eta + C^TW_tw) divided by their sum. `sums` (T,)
    receives the sum over these words. Most cells have no count and a small eta; with `tiny` (R, T), the
    `rng.tiny_share` of eta, most of these cost one uniform number each. Those that do not are listed first
    and drawn then: the list is made without a branch. `kept` and `uniforms` are scratch, (T,) each.
    """
    stream = np.zeros(2, dtype=np.uint64)
    sums[:] = 0.0
    for w in range(first, last):
        open_stream(stream, seed, sweep, PARAMETERS, w)
        row = eta_row[w]
        n_kept = 0
        for t in range(sums.size):
            u = uniform(stream)
            kept[n_kept] = t
            uniforms[n_kept] = u
            n_kept += (u >= tiny[row, t]) | (counts[w, t] > 0)
            gammas[w, t] = 0.0
        for k in range(n_kept):
            t = kept[k]
            shape = counts[w, t] + eta[row, t]
            g = small_gamma(stream, shape, uniforms[k]) if shape < 1.0 else large_gamma(stream, shape)
            gammas[w, t] = g
            sums[t] += g


@kernel
def draw_empty_topic(t, eta, eta_row, gammas, seed, sweep):
    """Line 6 of Algorithm 3 for a topic without tokens and with a small prior; return the sum over words.

    All its gamma numbers may be below any number a computer holds, though their ratios are not. So their
    logarithms are drawn, as Gamma(eta) = Gamma(1 + eta) U**(1 / eta), and taken relative to the largest.
    """
    stream = np.zeros(2, dtype=np.uint64)
    n_words = eta_row.size
    logs = np.empty(n_words)
    open_stream(stream, seed, sweep, PARAMETERS, n_words + t)
    for w in range(n_words):
        shape = eta[eta_row[w], t]
        logs[w] = np.log(large_gamma(stream, 1.0 + shape)) + np.log(uniform(stream)) / shape
    largest = logs.max()
    total = 0.0
    for w in range(n_words):
        gammas[w, t] = np.exp(logs[w] - largest)
        total += gammas[w, t]
    return total


@kernel
def normalise_topics(first, last, phi, scale, alpha, shared):
    """Multiply phi_t(w) by `scale` (T,) and tabulate the part of the weights that all documents share.

    `shared` (W, B) receives, a block of topics at a time, the cumulative sums of alpha_t phi_t(w).
    """
    for w in range(first, last):
        total = 0.0
        for b in range(shared.shape[1]):
            for t in range(b * BLOCK, min((b + 1) * BLOCK, phi.shape[1])):
                phi[w, t] *= scale[t]
                total += alpha[t] * phi[w, t]
            shared[w, b] = total


@kernel
def pick_shared(x, phi, alpha, shared):
    """Return the topic at x in the cumulative sums of alpha_t phi_t(w), for one word."""
    first = np.uint64(0)
    n = np.uint64(shared.size)
    while n > _FEW:
        half = n // np.uint64(2)
        if shared[first + half - np.uint64(1)] > x:
            n = half
        else:
            first += half
            n -= half
    block = first + search(shared[first:], n, x)
    total = shared[block - np.uint64(1)] if block > 0 else 0.0
    start = block * np.uint64(BLOCK)
    stop = min(start + np.uint64(BLOCK), np.uint64(phi.size))
    topic = start
    for t in range(start, stop):
        total += alpha[t] * np.float64(phi[t])
        topic += np.uint64(total <= x)
    topic = min(topic, stop - np.uint64(1))
    while phi[topic] == 0.0 and topic > 0:  # where rounding put x beyond the last sum
        topic -= np.uint64(1)
    return topic


@kernel
def resample_documents(
    first,
    last,
    words,
    offsets,
    units,
    paths,
    phi,
    alpha,
    shared,
    topics,
    counts,
    place,
    cumulative,
    seed,
    sweep,
):
    """Lines 8 to 21 of Algorithm 3: draw p^j_i for the documents `first` to `last`, all paths.

    P(p^j_i = t | p^j_-i, w, phi) is proportional to phi_t(w_i) (C^DT_jdt + alpha_t), the token itself not
    counted. The paths of a document follow one another, so that its rows of phi stay in the cache for all.
    `topics` to `cumulative` are scratch, (T,) each.
    """
    stream = np.zeros(2, dtype=np.uint64)
    last_block = shared.shape[1] - 1
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(paths.shape[0]):
            path = paths[j]
            open_stream(stream, seed, sweep, j, units[d])
            n = list_topics(path, start, stop, topics, counts, place)
            for i in range(start, stop):
                w = np.uint32(words[i])
                old = path[i]
                place_of_old = place[old]
                counts[place_of_old] -= 1.0
                row = phi[w]
                total = 0.0
                for k in range(n):
                    total += np.float64(row[topics[k]]) * counts[k]
                    cumulative[k] = total
                x = uniform(stream) * (total + shared[w, last_block])
                if x < total:
                    k = search(cumulative, n, x)
                    counts[k] += 1.0
                    path[i] = topics[k]
                else:
                    path[i] = pick_shared(x - total, row, alpha, shared[w])
                    n = add_topic(path[i], topics, counts, place, n)
                if counts[place_of_old] == 0.0:
                    n = drop_topic(old, topics, counts, place, n)
            clear_topics(topics, place, n)


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

    A stretch of topics at a time: its sum is made several terms at once, the running sum only where x falls.
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
def list_topics_of_words(word_counts, starts, listed, sizes):
    """List the topics of every word, those with C^TW_tw > 0: `sizes[w]` of them from `starts[w]` on.

    Most counts are zero, so a stretch of them is passed over when it adds up to nothing.
    """
    n_words, n_topics = word_counts.shape
    for w in range(n_words):
        counts = word_counts[w]
        n = starts[w]
        for first in range(0, n_topics, _STRETCH):
            last = min(first + _STRETCH, n_topics)
            if counts[first:last].sum() > 0:
                for t in range(first, last):
                    if counts[t] > 0:
                        listed[n] = t
                        n += 1
        sizes[w] = n - starts[w]


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
    return listed[n - np.uint64(1)]


@kernel
def strike(topic, listed, n):
    """Strike a topic from a list of n; return the new length of the list."""
    for k in range(n):
        if listed[k] == topic:
            listed[k] = listed[n - np.uint64(1)]
            return n - np.uint64(1)
    return n


@kernel
def change_count(t, change, word_counts, topic_counts, alpha, eta, eta_sums, inverse, scaled_alpha):
    """Add `change` to C^TW_tw and C^T_t, for one word.

    Return what that adds to the sums over all topics of alpha_t C^TW_tw / (C^T_t + sum_w eta_tw), and of
    alpha_t eta_tw / (C^T_t + sum_w eta_tw).
    """
    scale, counted = scaled_alpha[t], word_counts[t] * scaled_alpha[t]
    word_counts[t] += change
    topic_counts[t] += change
    inverse[t] = 1.0 / (topic_counts[t] + eta_sums[t])
    scaled_alpha[t] = alpha[t] * inverse[t]
    return word_counts[t] * scaled_alpha[t] - counted, eta[t] * (scaled_alpha[t] - scale)


@kernel
def resample_collapsed(
    words,
    offsets,
    units,
    paths,
    word_counts,
    topic_counts,
    alpha,
    eta,
    eta_row,
    eta_sums,
    inverse,
    scaled_alpha,
    starts,
    listed,
    n_listed,
    streams,
    sizes,
    topics,
    counts,
    place,
    cumulative,
    seed,
    sweep,
):
    """Lines 5 to 18 of Algorithm 4, with W eta where the paper prints T eta: one sweep over all tokens.

    P(p^j_i = t | all other assignments, w) is proportional to f_t (C^DT_jdt + alpha_t) with
    f_t = (C^TW_tw + eta_tw) / (C^T_t + sum_w eta_tw), where C^TW and C^T are counted over all paths and the
    token itself is taken out. `word_counts` (W, T) and `topic_counts` (T,) are kept up to date throughout.

    The part with alpha_t is split once more, by f_t: a sum over the topics of the word, which are listed, and
    one with eta_tw over all topics. The former is made once a token and the latter once a document (and where
    another row of eta comes up); from one path or token to the next only the topics left and entered change,
    and their terms are exchanged.

    `starts` (W,) tells where a word's list begins in `listed`, which has room for min(T, m times the word's
    frequency) topics. Scratch: `inverse` (T,), 1 / (C^T_t + sum_w eta_tw); `scaled_alpha` (T,), alpha_t times
    that; `listed`; `n_listed` (W,); `cumulative` (T,); and `streams` to `place`, one row a path.
    """
    n_paths = paths.shape[0]
    for t in range(alpha.size):
        inverse[t] = 1.0 / (topic_counts[t] + eta_sums[t])
        scaled_alpha[t] = alpha[t] * inverse[t]
    list_topics_of_words(word_counts, starts, listed, n_listed)
    for d in range(offsets.size - 1):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(n_paths):
            open_stream(streams[j], seed, sweep, j, units[d])
            sizes[j] = list_topics(paths[j], start, stop, topics[j], counts[j], place[j])
        row = -1
        by_prior = 0.0
        for i in range(start, stop):
            w = np.uint32(words[i])
            word = word_counts[w]
            prior = eta[eta_row[w]]
            if eta_row[w] != row:
                row = eta_row[w]
                by_prior = sum_prior(0, alpha.size, prior, scaled_alpha)
            own = listed[starts[w] :]
            n_own = n_listed[w]
            by_count = sum_counts(own, n_own, word, scaled_alpha)
            for j in range(n_paths):
                old = paths[j, i]
                more = change_count(
                    old, -1, word, topic_counts, alpha, prior, eta_sums, inverse, scaled_alpha
                )
                by_count += more[0]
                by_prior += more[1]
                n = sizes[j]
                present = topics[j]
                number = counts[j]
                place_of_old = place[j, old]
                number[place_of_old] -= 1.0
                total = 0.0
                for k in range(n):
                    t = present[k]
                    total += (word[t] + prior[t]) * inverse[t] * number[k]
                    cumulative[k] = total
                x = uniform(streams[j]) * (total + by_count + by_prior)
                if x < total:
                    k = search(cumulative, n, x)
                    number[k] += 1.0
                    new = present[k]
                else:
                    x -= total
                    if x < by_count:
                        new = np.uint16(pick_count(x, own, n_own, word, scaled_alpha))
                    else:
                        new = np.uint16(pick_prior(x - by_count, prior, scaled_alpha))
                    n = add_topic(new, present, number, place[j], n)
                paths[j, i] = new
                if number[place_of_old] == 0.0:
                    n = drop_topic(old, present, number, place[j], n)
                sizes[j] = n
                if new != old:  # only now: most tokens return to the topic that they have left
                    if word[old] == 0:
                        n_own = strike(old, own, n_own)
                    if word[new] == 0:
                        own[n_own] = new
                        n_own += np.uint64(1)
                more = change_count(new, 1, word, topic_counts, alpha, prior, eta_sums, inverse, scaled_alpha)
                by_count += more[0]
                by_prior += more[1]
            n_listed[w] = n_own
        for j in range(n_paths):
            clear_topics(topics[j], place[j], sizes[j])


@kernel
def resample_collapsed_dense(
    size,
    words,
    offsets,
    units,
    paths,
    word_counts,
    topic_counts,
    alpha,
    eta,
    eta_row,
    eta_sums,
    totals,
    inverse,
    streams,
    counts,
    cumulative,
    seed,
    sweep,
):
    """Do `resample_collapsed` for few topics: all of them are weighed for every token.

    `size` is a tuple of T entries, whose number the compiler knows, or empty. Scratch: `totals` (T,),
    C^T_t + sum_w eta_tw; `inverse` (T,), 1 / that; `cumulative` (T,), `streams` (m, 2) and `counts` (m, T),
    the rows of C^DT of one document.
    """
    n_topics = len(size) if len(size) > 0 else alpha.size
    for t in range(n_topics):
        totals[t] = topic_counts[t] + eta_sums[t]
        inverse[t] = 1.0 / totals[t]
    for d in range(offsets.size - 1):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(paths.shape[0]):
            open_stream(streams[j], seed, sweep, j, units[d])
            counts[j] = 0.0
            for i in range(start, stop):
                counts[j, np.uint64(paths[j, i])] += 1.0
        for i in range(start, stop):
            w = np.uint32(words[i])
            word = word_counts[w]
            prior = eta[eta_row[w]]
            for j in range(paths.shape[0]):
                number = counts[j]
                old = np.uint64(paths[j, i])
                word[old] -= 1
                totals[old] -= 1.0
                inverse[old] = 1.0 / totals[old]
                number[old] -= 1.0
                u = uniform_of(streams, j)  # drawn first: nothing is written between the two loops
                total = 0.0
                for t in range(np.uint64(n_topics)):
                    total += (word[t] + prior[t]) * (number[t] + alpha[t]) * inverse[t]  # known last
                    cumulative[t] = total
                x = u * total
                new = np.uint64(0)
                for t in range(np.uint64(n_topics - 1)):
                    new += np.uint64(cumulative[t] <= x)
                paths[j, i] = new
                word[new] += 1
                totals[new] += 1.0
                inverse[new] = 1.0 / totals[new]
                number[new] += 1.0
    for t in range(n_topics):
        topic_counts[t] = np.int64(round(totals[t] - eta_sums[t]))


@kernel
def log_joint_documents(first, last, words, offsets, paths, phi, alpha, sums, topics, counts, place):
    """Add log P(p^j, w | phi) of the documents `first` to `last` to `sums` (m,), theta integrated out.

    For one document: sum_i log phi_{p_i}(w_i) + log Gamma(A) - log Gamma(A + n)
    + sum_t log Gamma(alpha_t + C^DT_jdt) - log Gamma(alpha_t), with A = sum_t alpha_t and n its length.
    """
    alpha_sum = alpha.sum()
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        constant = math.lgamma(alpha_sum) - math.lgamma(alpha_sum + np.float64(stop - start))
        for j in range(paths.shape[0]):
            path = paths[j]
            n = list_topics(path, start, stop, topics, counts, place)
            total = constant
            for k in range(n):
                t = topics[k]
                total += math.lgamma(alpha[t] + counts[k]) - math.lgamma(alpha[t])
            product = 1.0
            for i in range(start, stop):
                product *= np.float64(phi[words[i], path[i]])
                if product < 1e-200:  # one logarithm for many factors, taken before they underflow
                    total += math.log(product)
                    product = 1.0
            sums[j] += total + math.log(product)
            clear_topics(topics, place, n)


@kernel
def add_prior(first, last, counts, eta, eta_row, phi):
    """Fill `phi` with C^TW_tw + eta_tw for the words `first` to `last`: its mean, not yet normalised."""
    for w in range(first, last):
        prior = eta[eta_row[w]]
        for t in range(prior.size):
            phi[w, t] = counts[w, t] + prior[t]


@kernel
def count_documents(first, last, offsets, paths, doc_topic):
    """Add C^DT of all paths together to `doc_topic`, whose first row is document `first`."""
    for d in range(first, last):
        for j in range(paths.shape[0]):
            for i in range(offsets[d], offsets[d + 1]):
                doc_topic[d - first, paths[j, i]] += 1.0


@kernel
def name_documents(words, offsets, units):
    """Fill `units` (D,) with a name for each document that depends on its words alone, in their order."""
    for d in range(units.size):
        name = np.uint64(0)
        for i in range(offsets[d], offsets[d + 1]):
            name = mix(name + np.uint64(words[i]) + np.uint64(1))
        units[d] = np.int64(name >> np.uint64(1))


@summing_kernel
def dot(a, b):
    """Return the sum of a_t b_t."""
    total = 0.0
    for t in range(a.size):
        total += a[t] * b[t]
    return total


@kernel
def score_documents(first, last, words, offsets, theta, phi, scores):
    """Fill `scores` (D,) with sum_i log sum_t theta_dt phi_t(w_i) for the documents `first` to `last`."""
    for d in range(first, last):
        total = 0.0
        for i in range(offsets[d], offsets[d + 1]):
            total += math.log(dot(theta[d], phi[words[i]]))
        scores[d] = total
