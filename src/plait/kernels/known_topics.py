"""Kernels that infer the topics of new documents, given phi.

A document is sampled to the end before the next one, while its words and its rows of phi are in the cache.
Each of its m paths is a chain that starts from uniform topics. Two samplers draw from P(p_d | w_d, phi):

- `resample_documents` of Algorithm 3, with theta integrated out: a token costs the topics that the document
  has.
- In long documents, which have nearly all topics, theta is drawn as well. Given theta, tokens do not depend
  on each other, and all tokens of a word have the same weights:

      theta ~ Dir(alpha + C^DT_d)
      p_i   ~ phi_t(w_i) theta_t            for every token i

  So the weights of a word are summed once, and a token costs a search among these sums. It takes about twice
  as many sweeps to converge. Therefore a long document has one path, which makes the sweeps of all m. That
  comes closer to the posterior than m short ones: sampling error is not what limits the estimate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, local_array
from plait.kernels.documents import TopicList, scratch_topic_list, search
from plait.kernels.lda import (
    BLOCK,
    Documents,
    count_blocks,
    count_documents,
    draw_initial_paths,
    pick_shared,
    resample_documents,
)
from plait.rng import INITIAL, PARAMETERS, Key, gamma, integer, open_stream, uniform
from plait.scratch import scratch

_ONE_PATH = np.int64(0)


class Chains(NamedTuple):
    """The chains that are sampled for each document.

    Attributes
    ----------
    seed : int
        Seed of the random streams.
    n_sweeps : int
        Sweeps of each path.
    burn_in : int
        The first sweeps, whose counts are not added up.
    longest : int
        Documents with more tokens are sampled as long ones.
    """

    seed: int
    n_sweeps: int
    burn_in: int
    longest: int


class Buffers(NamedTuple):
    """Scratch of `infer_documents`, for one thread.

    Attributes
    ----------
    paths : ndarray of uint16, (m, n)
        Paths of one document that is not long.
    offsets : ndarray of int64, (2,)
        Where it starts and ends in these.
    present : TopicList
        The topics present in it.
    theta, counts, cumulative : ndarray of float64, (T,)
        Of a long document: theta up to a factor, C^DT, and cumulative sums of a word's weights in each block.
    ends : ndarray of float64, (B,)
        Cumulative sums of these weights at the ends of the blocks.
    """

    paths: NDArray[np.uint16]
    offsets: NDArray[np.int64]
    present: TopicList
    theta: NDArray[np.float64]
    counts: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    ends: NDArray[np.float64]


def scratch_buffers(n_paths: int, n_tokens: int, n_topics: int) -> Buffers:
    """Return buffers for documents of at most `n_tokens`, and long ones."""
    return Buffers(
        paths=scratch((n_paths, n_tokens), np.uint16),
        offsets=scratch(2, np.int64),
        present=scratch_topic_list(n_topics),
        theta=scratch(n_topics),
        counts=scratch(n_topics),
        cumulative=scratch(n_topics),
        ends=scratch(count_blocks(n_topics)),
    )


@kernel
def infer_documents(first, last, documents, topics, alpha, buffers, totals, chains):
    """Add C^DT of all late sweeps and paths to `totals` (D, T), for the documents `first` to `last`.

    The words of a document are sorted. Its random streams are keyed by its unit alone.
    """
    words, offsets, units = documents
    for d in range(first, last):
        own = words[offsets[d] : offsets[d + 1]]
        if own.size > chains.longest:
            infer_long_document(own, units[d], topics, alpha, buffers, totals[d], chains)
            continue
        buffers.offsets[1] = own.size
        one = Documents(own, buffers.offsets, units[d : d + 1])
        key = Key(chains.seed, INITIAL)
        draw_initial_paths(0, 1, one, alpha.size, buffers.paths, key)
        for sweep in range(1, chains.n_sweeps + 1):
            key = Key(chains.seed, sweep)
            resample_documents(
                0, 1, one, buffers.paths, topics, alpha, buffers.present, buffers.cumulative, key
            )
            if sweep > chains.burn_in:
                count_documents(0, 1, buffers.offsets, buffers.paths, totals[d : d + 1])


@kernel
def infer_long_document(words, unit, topics, alpha, buffers, totals, chains):
    """Add C^DT of the late sweeps of a long document with sorted words (n,) to `totals` (T,).

    One path makes the sweeps of all m.
    """
    n_paths = buffers.paths.shape[0]
    counts, theta = buffers.counts, buffers.theta
    n_topics = np.uint64(alpha.size)
    stream = local_array(2, np.uint64)
    open_stream(stream, chains.seed, INITIAL, _ONE_PATH, unit)
    counts[:] = 0.0
    for _ in range(words.size):
        counts[integer(stream, alpha.size)] += 1.0
    for sweep in range(1, n_paths * chains.n_sweeps + 1):
        open_stream(stream, chains.seed, sweep, PARAMETERS, unit)
        for t in range(n_topics):
            theta[t] = gamma(stream, alpha[t] + counts[t])
        counts[:] = 0.0
        open_stream(stream, chains.seed, sweep, _ONE_PATH, unit)
        start = 0
        while start < words.size:
            stop = start + 1
            while stop < words.size and words[stop] == words[start]:
                stop += 1
            draw_tokens(stop - start, words[start], topics, alpha, buffers, stream)
            start = stop
        if sweep > n_paths * chains.burn_in:
            for t in range(n_topics):
                totals[t] += counts[t]


@kernel
def draw_tokens(n, word, topics, alpha, buffers, stream):
    """Draw the topics of n tokens of a word given theta, and count them."""
    row, theta, counts = topics.phi[word], buffers.theta, buffers.counts
    cumulative, ends = buffers.cumulative, buffers.ends
    n_topics, block = np.uint64(row.size), np.uint64(BLOCK)
    total = 0.0
    for b in range(np.uint64(ends.size)):
        part = 0.0  # so that no block waits for the one before
        for t in range(b * block, min((b + np.uint64(1)) * block, n_topics)):
            part += np.float64(row[t]) * theta[t]
            cumulative[t] = part
        total += part
        ends[b] = total
    shared = topics.shared[word]
    for _ in range(n):
        u = uniform(stream)
        if total == 0.0:  # theta of all topics with the word is too small for a float
            counts[pick_shared(u * shared[shared.size - 1], row, alpha, shared)] += 1.0
            continue
        x = u * total
        b = search(ends, np.uint64(ends.size), x)
        start = b * block
        rest = x - ends[b - np.uint64(1)] if b > 0 else x
        t = start + search(cumulative[start:], min(block, n_topics - start), rest)
        while row[t] * theta[t] == 0.0 and t > 0:  # rounding may put x beyond the last sum
            t -= np.uint64(1)
        counts[t] += 1.0
