"""Kernels that score held-out documents: random orders of their tokens, and the left-to-right estimate.

The likelihood of a document, P(w_1 ... w_n | phi, alpha), is a sum over all its topics z_1 ... z_n. Taken
from left to right it is a product of predictions, which R particles estimate. A particle is one value of the
topics z_<i of the tokens so far:

    for i = 1, ..., n:
        for every particle:
            redraw the topics z_<i, one token after another, each given the others and w_<i       (move)
            g = sum_t phi_t(w_i) (C_t + alpha_t) / (i - 1 + sum_t alpha_t), C counts the topics z_<i
        multiply the estimate by the mean of g over the particles
        replace the particles by copies of themselves, about R g / sum g of each                  (survive)
        for every particle:
            draw z_i with weights phi_t(w_i) (C_t + alpha_t)

Without 'survive' this is the left-to-right algorithm of Wallach et al. (2009), whose product of averages is
biased: its particles are weighted equally although they predicted the tokens so far unequally well. With it,
this is a particle filter with moves that leave P(z_<i | w_<i) as it is, so the mean of the estimate over
seeds is the likelihood itself, for any number of particles. With one particle both are the same sequential
sampler.

To redraw all earlier tokens for every token takes time in proportion to the square of the length. So a move
redraws at most `MOST_MOVES` of them, a stretch that starts at a random token; that leaves P(z_<i | w_<i) as
it is, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, local_array
from plait.kernels.documents import TopicList, add_topic, clear_topics, drop_topic, scratch_topic_list, search
from plait.kernels.lda import pick_shared
from plait.rng import SURVIVORS, Stream, integer, open_stream, uniform, uniform_of
from plait.scratch import scratch

MOST_MOVES = 100
"""The number of earlier tokens whose topics are redrawn for each token, at most."""


class Particles(NamedTuple):
    """R particles of one document, reused for every document.

    Attributes
    ----------
    streams : ndarray of uint64, (R, 2)
        Random streams.
    paths : ndarray of uint16, (R, L)
        Topics of the tokens so far; L is the length of the longest document.
    present : TopicList
        The topics of each particle, (R, T).
    sizes : ndarray of uint64, (R,)
        Number of topics in each list.
    weights : ndarray of float64, (R,)
        g, how well each particle predicts the next token.
    copies : ndarray of int64, (R,)
        How many copies of each particle survive.
    cumulative : ndarray of float64, (T,)
        Cumulative weights of the topics of one token.
    """

    streams: Stream
    paths: NDArray[np.uint16]
    present: TopicList
    sizes: NDArray[np.uint64]
    weights: NDArray[np.float64]
    copies: NDArray[np.int64]
    cumulative: NDArray[np.float64]


def scratch_particles(n_particles: int, n_topics: int, longest: int) -> Particles:
    """Return buffers for the particles of documents with up to `longest` tokens."""
    return Particles(
        streams=scratch((n_particles, 2), np.uint64),
        paths=scratch((n_particles, longest), np.uint16),
        present=scratch_topic_list(n_particles, n_topics),
        sizes=scratch(n_particles, np.uint64),
        weights=scratch(n_particles),
        copies=scratch(n_particles, np.int64),
        cumulative=scratch(n_topics),
    )


@kernel
def shuffle_documents(first, last, documents, shuffled, key):
    """Fill `shuffled` (N,) with the words of the documents `first` to `last`, each in random order."""
    words, offsets, units = documents
    stream = local_array(2, np.uint64)
    for d in range(first, last):
        open_stream(stream, key.seed, key.sweep, 0, units[d])
        start = offsets[d]
        for i in range(start, offsets[d + 1]):  # Fisher and Yates: token i swaps places with one before it
            j = start + integer(stream, i - start + 1)
            shuffled[i] = shuffled[j]
            shuffled[j] = words[i]


@kernel
def left_to_right(first, last, documents, topics, alpha, particles, scores, key):
    """Fill `scores` (D,) with estimates of log P(w_d | phi, alpha) for the documents `first` to `last`."""
    words, offsets, units = documents
    phi, shared = topics
    streams, paths, present, sizes, weights, _, cumulative = particles
    listed, counts, place = present
    n_particles = weights.size
    last_block = shared.shape[1] - 1
    alpha_sum = alpha.sum()
    survivors = local_array(2, np.uint64)
    for d in range(first, last):
        open_stream(survivors, key.seed, SURVIVORS, 0, units[d])
        for r in range(n_particles):
            open_stream(streams[r], key.seed, key.sweep, r, units[d])
            sizes[r] = 0
        start = offsets[d]
        score = 0.0
        for i in range(offsets[d + 1] - start):
            w = words[start + i]
            total = 0.0
            for r in range(n_particles):
                _move(r, i, start, words, topics, alpha, particles)
                own = _weigh(phi[w], listed[r], counts[r], sizes[r], cumulative)
                weights[r] = (own + shared[w, last_block]) / (i + alpha_sum)
                total += weights[r]
            score += np.log(total / n_particles)
            if total == 0.0:  # no topic has the word: the likelihood is 0
                break
            if n_particles > 1:
                _survive(i, total, uniform(survivors), particles)
            for r in range(n_particles):
                u = uniform_of(streams, r)
                topic = _draw(u, w, topics, alpha, listed[r], counts[r], sizes[r], cumulative)
                paths[r, i] = topic
                sizes[r] = add_topic(topic, listed[r], counts[r], place[r], sizes[r])
        scores[d] = score
        for r in range(n_particles):
            clear_topics(listed[r], place[r], sizes[r])


@kernel
def _weigh(row, listed, counts, n, cumulative):
    """Return sum_t phi_t(w) C_t over the n topics that are listed; fill `cumulative` with its terms."""
    total = 0.0
    for k in range(n):
        total += np.float64(row[listed[k]]) * counts[k]
        cumulative[k] = total
    return total


@kernel
def _draw(u, w, topics, alpha, listed, counts, n, cumulative):
    """Return a topic for word w, drawn with weights phi_t(w) (C_t + alpha_t); `u` is a uniform variate."""
    phi, shared = topics
    total = _weigh(phi[w], listed, counts, n, cumulative)
    x = u * (total + shared[w, shared.shape[1] - 1])
    if x < total:
        return listed[search(cumulative, n, x)]
    return np.uint16(pick_shared(x - total, phi[w], alpha, shared[w]))


@kernel
def _move(r, n, start, words, topics, alpha, particles):
    """Redraw the topics of the first n tokens in particle r, or of a stretch of them."""
    if n == 0:
        return
    streams, paths, present, sizes, _, _, cumulative = particles
    path = paths[r]
    listed, counts, place = present.topics[r], present.counts[r], present.place[r]
    n_listed = sizes[r]
    i = np.int64(uniform_of(streams, r) * n) if n > MOST_MOVES else np.int64(0)
    for _ in range(min(n, MOST_MOVES)):
        old = path[i]
        place_of_old = place[old]
        counts[place_of_old] -= 1.0
        new = _draw(
            uniform_of(streams, r), words[start + i], topics, alpha, listed, counts, n_listed, cumulative
        )
        path[i] = new
        n_listed = add_topic(new, listed, counts, place, n_listed)
        if counts[place_of_old] == 0.0:
            n_listed = drop_topic(old, listed, counts, place, n_listed)
        i += 1
        if i == n:
            i = np.int64(0)
    sizes[r] = n_listed


@kernel
def _survive(n, total, u, particles):
    """Replace particles of n tokens by copies of those with large weights: systematic resampling.

    Particle r gets R g_r / sum g copies on average over u, a uniform variate: the number of marks u, u + 1,
    ... in an interval of that length. Particles with a copy stay where they are; others become copies.
    """
    weights, copies, paths = particles.weights, particles.copies, particles.paths
    n_particles = weights.size
    marks = 0
    upto = 0.0
    for r in range(n_particles):
        upto += weights[r]
        below = min(n_particles, max(marks, np.int64(np.ceil(upto / total * n_particles - u))))
        if r == n_particles - 1:
            below = n_particles  # whatever rounding says
        copies[r] = below - marks
        marks = below
    source = 0
    for r in range(n_particles):
        if copies[r] == 0:
            while source < n_particles - 1 and copies[source] <= 1:
                source += 1
            copies[source] -= 1
            for i in range(n):
                paths[r, i] = paths[source, i]
            _copy_topics(source, r, particles)


@kernel
def _copy_topics(source, target, particles):
    listed, counts, place = particles.present
    clear_topics(listed[target], place[target], particles.sizes[target])
    n = particles.sizes[source]
    particles.sizes[target] = n
    for k in range(n):
        topic = listed[source, k]
        listed[target, k] = topic
        counts[target, k] = counts[source, k]
        place[target, topic] = np.uint32(k)
