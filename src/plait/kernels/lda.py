"""Kernels of LDA: Algorithms 3 and 4 of the paper, exact, and fast for documents that hold few topics.

The algorithms as the paper has them, for m paths p^1, ..., p^m. C^TW_tw and C^T_t count tokens in all paths
together, C^DT_jdt in document d of path j; w is the word of token i.

Algorithm 3, partially collapsed: `draw_initial_paths`; then `resample_documents`, and `draw_gammas` in
`gammas.py`, per sweep.

    p^j_i ~ uniform on the topics, for every path j and token i
    repeat:
        for every topic t:
            phi_t ~ Dir(eta_t + C^TW_t)
        for every path j, document d and token i of d:
            take token i of path j out of C^DT
            for every topic t:
                r_t = phi_t(w) (C^DT_jdt + alpha_t)
            p^j_i ~ r / sum_t r_t
            put the token back with its new topic
        count C^TW again

Algorithm 4, collapsed: `draw_initial_paths`; then a kernel of `collapsed_lda.py` or of
`bounded_lda.py` per sweep.

    p^j_i ~ uniform on the topics, for every path j and token i
    repeat:
        for every path j, document d and token i of d:
            take token i of path j out of C^DT, C^TW and C^T
            for every topic t:
                r_t = (C^TW_tw + eta_tw) / (C^T_t + sum_v eta_tv) (C^DT_jdt + alpha_t)
            p^j_i ~ r / sum_t r_t
            put the token back with its new topic

The fast kernels do not weigh all topics for every token. They split the weight of topic t into

    r_t = f_t C^DT_jdt  +  f_t alpha_t,

where f_t is phi_t(w), or its mean given all other tokens. The first part is a sum over the few topics in the
document. The second depends on the word alone, is small, and its total is shared by all m paths: its
topics are examined only when the draw falls there. The split changes the order of summation and nothing
else. The order of the updates differs from the paper's: see NOTATION.md.

Kernels given `first` and `last` work on that range of documents (or words), so that threads can share the
work; the bits do not depend on the ranges. `paths` is (m, N) uint16 throughout. Tables indexed by
word and topic are word-major, (W, T), because a token needs one row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, local_array, summing_kernel
from plait.kernels.documents import add_topic, clear_topics, drop_topic, list_topics, search
from plait.kernels.gammas import SmallShapes
from plait.kernels.prefetching import prefetch_cell, prefetch_row
from plait.rng import integer, mix, open_stream, uniform

BLOCK = 16
"""Topics per block of `Topics.shared`, which stores cumulative sums at the ends of blocks only."""

_AHEAD = np.uint64(3)  # tokens between the request for a word's row of phi and its use
_COUNTED_AHEAD = np.uint64(16)  # tokens between the request for a count and its change
_SELECTED = 1024  # tokens that are looked through at a time for those of own words
_SHORT = 128  # topics up to which whole rows are requested, and no single cells
_FEW = 64  # up to this many sums, comparing all of them is faster than bisection


class Documents(NamedTuple):
    """The corpus, and the random streams of its documents.

    Attributes
    ----------
    words : ndarray of int32, (N,)
        w_i, the words of all documents in one row.
    offsets : ndarray of int64, (D + 1,)
        Document d is `words[offsets[d]:offsets[d + 1]]`.
    units : ndarray of int64, (D,)
        The `unit` in the key of each document's random streams, see `plait.rng`.
    """

    words: NDArray[np.int32]
    offsets: NDArray[np.int64]
    units: NDArray[np.int64]


class Priors(NamedTuple):
    """The Dirichlet priors. Only the R distinct rows of eta are stored.

    With a scalar eta, one row serves all words; each word with its own prior adds at most one.

    Attributes
    ----------
    alpha : ndarray of float64, (T,)
        Prior of the topics in a document.
    eta : ndarray of float64, (R, T)
        Prior of the words in a topic, the distinct rows.
    eta_row : ndarray of int32, (W,)
        Which row of eta belongs to a word.
    eta_sums : ndarray of float64, (T,)
        sum_w eta_tw.
    small : SmallShapes
        What the draw of phi needs of eta.
    """

    alpha: NDArray[np.float64]
    eta: NDArray[np.float64]
    eta_row: NDArray[np.int32]
    eta_sums: NDArray[np.float64]
    small: SmallShapes


class TopicCounts(NamedTuple):
    """Counts of the tokens of all paths together.

    Attributes
    ----------
    words : ndarray of int32, (W, T)
        C^TW, transposed.
    topics : ndarray of int64, (T,)
        C^T.
    """

    words: NDArray[np.int32]
    topics: NDArray[np.int64]


class Topics(NamedTuple):
    """The parameters phi, word-major as the sampler needs them; `topic_word` has one row per topic.

    Attributes
    ----------
    phi : ndarray of float32, (W, T)
        phi_t(w); columns sum to 1.
    shared : ndarray of float64, (W, B)
        Cumulative sums over topics of alpha_t phi_t(w), at the end of each of the B blocks of topics.
    """

    phi: NDArray[np.float32]
    shared: NDArray[np.float64]

    @property
    def topic_word(self) -> NDArray[np.float32]:
        """The same by topic and word, (T, W); rows sum to 1."""
        return self.phi.T


def count_blocks(n_topics: int) -> int:
    """Return the number of blocks B that hold T topics."""
    return -(-n_topics // BLOCK)


@kernel
def draw_initial_paths(first, last, documents, n_topics, paths, key):
    """Line 2 of Algorithms 3 and 4: every p^j_i uniform on the topics."""
    stream = local_array(2, np.uint64)
    for d in range(first, last):
        for j in range(paths.shape[0]):
            open_stream(stream, key.seed, key.sweep, j, documents.units[d])
            for i in range(documents.offsets[d], documents.offsets[d + 1]):
                paths[j, i] = integer(stream, n_topics)


@kernel
def count_frequencies(words, frequencies):
    """Add how often each word occurs to `frequencies` (W,)."""
    for i in range(words.size):
        frequencies[words[i]] += 1


@kernel
def count_words(first, last, words, paths, counts, totals):
    """Add C^TW of all paths together to `counts` (W, T), for the words `first` to `last`.

    Their sums over these words are added to `totals` (T,).
    """
    own = local_array(_SELECTED, np.uint64)
    is_large = counts.shape[1] > _SHORT
    least, extent, size = np.uint64(first), np.uint64(last - first), np.uint64(words.size)
    for start in range(np.uint64(0), size, np.uint64(_SELECTED)):
        # Own tokens are found first, without a branch on the word, which could not be predicted.
        n_own = np.uint64(0)
        for i in range(start, min(start + np.uint64(_SELECTED), size)):
            own[n_own] = i
            n_own += np.uint64(np.uint64(words[i]) - least < extent)
        for k in range(n_own):
            if is_large:
                coming = own[min(k + _COUNTED_AHEAD, n_own - np.uint64(1))]
                for j in range(np.uint64(paths.shape[0])):
                    prefetch_cell(counts, words[coming], paths[j, coming])
            i = own[k]
            w = np.uint64(words[i])
            for j in range(np.uint64(paths.shape[0])):
                t = np.uint64(paths[j, i])
                counts[w, t] += 1
                totals[t] += 1


@kernel
def normalise_topics(first, last, topics, scale, alpha):
    """Multiply phi_t(w) by `scale` (T,) and fill `topics.shared`, for the words `first` to `last`."""
    phi, shared = topics
    n_topics = np.uint64(phi.shape[1])
    for w in range(first, last):
        row, ends = phi[w], shared[w]
        for t in range(n_topics):
            row[t] *= scale[t]
        total = 0.0
        for b in range(np.uint64(ends.size)):
            start = b * np.uint64(BLOCK)
            part = 0.0  # so that no block waits for the one before
            for t in range(start, min(start + np.uint64(BLOCK), n_topics)):
                part += alpha[t] * row[t]
            total += part
            ends[b] = total


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
    while phi[topic] == 0.0 and topic > 0:  # rounding may put x beyond the last sum
        topic -= np.uint64(1)
    return topic


@kernel
def resample_documents(first, last, documents, paths, topics, alpha, present, cumulative, key):
    """Lines 8 to 21 of Algorithm 3: draw p^j_i for the documents `first` to `last`, all paths.

    P(p^j_i = t | p^j_-i, w, phi) is proportional to phi_t(w_i) (C^DT_jdt + alpha_t), the token itself not
    counted. All paths of a document are drawn before the next document, while its rows of phi are in the
    cache. `present`, a `TopicList`, and `cumulative` (T,) are scratch.
    """
    words, offsets, units = documents
    phi, shared = topics
    listed, counts, place = present
    stream = local_array(2, np.uint64)
    last_block = shared.shape[1] - 1
    has_short_rows = phi.shape[1] <= _SHORT
    final = np.uint64(offsets[last]) - np.uint64(1)
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(paths.shape[0]):
            path = paths[j]
            open_stream(stream, key.seed, key.sweep, j, units[d])
            n = list_topics(path, start, stop, listed, counts, place)
            for i in range(start, stop):
                coming = np.uint32(words[min(i + _AHEAD, final)])
                prefetch_row(shared, coming)
                if has_short_rows:
                    prefetch_row(phi, coming)
                else:
                    for k in range(n):
                        prefetch_cell(phi, coming, listed[k])
                w = np.uint32(words[i])
                old = path[i]
                place_of_old = place[old]
                counts[place_of_old] -= 1.0
                row = phi[w]
                total = 0.0
                for k in range(n):
                    total += np.float64(row[listed[k]]) * counts[k]
                    cumulative[k] = total
                x = uniform(stream) * (total + shared[w, last_block])
                if x < total:
                    k = search(cumulative, n, x)
                    counts[k] += 1.0
                    path[i] = listed[k]
                else:
                    path[i] = pick_shared(x - total, row, alpha, shared[w])
                    n = add_topic(path[i], listed, counts, place, n)
                if counts[place_of_old] == 0.0:
                    n = drop_topic(old, listed, counts, place, n)
            clear_topics(listed, place, n)


@kernel
def log_joint_documents(first, last, documents, paths, phi, alpha, present, sums):
    """Add log P(p^j, w | phi) of the documents `first` to `last` to `sums` (m,), theta integrated out.

    For one document: sum_i log phi_{p_i}(w_i) + log Gamma(A) - log Gamma(A + n)
    + sum_t log Gamma(alpha_t + C^DT_jdt) - log Gamma(alpha_t), with A = sum_t alpha_t and n its length.
    `present`, a `TopicList`, is scratch.
    """
    words, offsets, _ = documents
    topics, counts, place = present
    alpha_sum = 0.0
    for t in range(alpha.size):
        alpha_sum += alpha[t]
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        constant = math.lgamma(alpha_sum) - math.lgamma(alpha_sum + np.float64(stop - start))
        for j in range(paths.shape[0]):
            path = paths[j]
            n = list_topics(path, start, stop, topics, counts, place)
            total = constant
            for k in range(n):
                prior = alpha[topics[k]]
                total += math.lgamma(prior + counts[k]) - math.lgamma(prior)
            product = 1.0
            for i in range(start, stop):
                product *= np.float64(phi[words[i], path[i]])
                if product < 1e-200:  # one logarithm for many factors, taken before they underflow
                    total += math.log(product)
                    product = 1.0
            sums[j] += total + math.log(product)
            clear_topics(topics, place, n)


@kernel
def add_prior(first, last, word_counts, priors, phi):
    """Fill `phi` with C^TW_tw + eta_tw for the words `first` to `last`: its mean, not yet normalised."""
    for w in range(first, last):
        eta, counts, row = priors.eta[priors.eta_row[w]], word_counts[w], phi[w]
        for t in range(np.uint64(eta.size)):
            row[t] = counts[t] + eta[t]


@kernel
def count_documents(first, last, offsets, paths, doc_topic):
    """Add C^DT of all paths together to `doc_topic`, whose first row is document `first`."""
    for d in range(first, last):
        for j in range(paths.shape[0]):
            for i in range(offsets[d], offsets[d + 1]):
                doc_topic[d - first, paths[j, i]] += 1.0


@kernel
def hash_documents(words, offsets, units):
    """Fill `units` (D,) with a hash of the words of each document, which depends on their order."""
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
