"""The collapsed sampler of LDA: the choice of its kernel, its buffers, and partitioned sweeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.kernels import collapsed_lda as kernels
from plait.kernels.documents import scratch_topic_list
from plait.kernels.lda import Documents, Priors, TopicCounts
from plait.kernels.vectors import LANES, padded
from plait.models.model import Key, Paths
from plait.scratch import scratch, set_apart
from plait.threads import Range, Threads, weighted_ranges

KERNELS: Final = ("dense", "vectors", "listed")
"""The kernels: two weigh all topics for every token, one keeps lists of those that a document or word has."""

_MAX_DENSE = 24  # topics up to which vector instructions do not pay
_MAX_UNROLLED = 16  # topics up to which the dense kernel is faster if the compiler knows their number
_MAX_VECTORS = 800  # topics up to which lists do not pay

# Tokens from which on a sweep has so many partitions. Each one repeats the changes of all others, which costs
# about a tenth of drawing them, so few are best.
_PARTITIONS = {150_000: 2, 2_000_000: 4, 8_000_000: 8, 32_000_000: 16}
_MAX_COPIES = 2**30  # bytes of their tables of counts, together
_ROUNDS = 8  # of a sweep; with one, topics of real text were noticeably less coherent


def kernel_for(n_topics: int) -> str:
    """Return the kernel that is fastest for a number of topics."""
    if n_topics <= _MAX_DENSE:
        return "dense"
    return "vectors" if n_topics <= _MAX_VECTORS else "listed"


def rounds_of(offsets: NDArray[np.int64], n_words: int, n_topics: int) -> list[list[Range]]:
    """Return the rounds of a partitioned sweep: ranges of documents that are sampled side by side."""
    most = 1 + _MAX_COPIES // (4 * n_words * n_topics)
    n_partitions = max(
        (n for least, n in _PARTITIONS.items() if least <= offsets[-1] and n <= most), default=1
    )
    # The kernel with lists makes them anew for every range.
    n_rounds = 1 if n_partitions == 1 or kernel_for(n_topics) == "listed" else _ROUNDS
    ranges = weighted_ranges(offsets, n_rounds * n_partitions)
    return [ranges[k : k + n_partitions] for k in range(0, len(ranges), n_partitions)]


def resample_rounds(
    rounds: list[list[Range]],
    documents: Documents,
    paths: Paths,
    counts: TopicCounts,
    resample: Callable[[int, int, TopicCounts], None],
    threads: Threads,
) -> None:
    """Draw the topics of all documents in a partitioned sweep, and keep `counts` up to date.

    The ranges of a round are sampled side by side, each with a table of counts of its own, by `resample`,
    which takes the range and the table. After the round, every table is changed as the other ranges have
    changed theirs, so that all of them are equal again.
    """
    n_tables = max(len(ranges) for ranges in rounds)
    copies = threads.buffer("partitions", (n_tables - 1, *counts.words.shape), np.int32)
    tables = [counts, *(TopicCounts(words, set_apart(counts.topics)) for words in copies)]

    def copy(k: int, _: int) -> None:
        tables[k].words[...] = counts.words

    threads.map(copy, [(k, k + 1) for k in range(1, n_tables)])
    for ranges in rounds:
        _resample_round(ranges, documents, paths, tables, resample, threads)


def _resample_round(
    ranges: list[Range],
    documents: Documents,
    paths: Paths,
    tables: list[TopicCounts],
    resample: Callable[[int, int, TopicCounts], None],
    threads: Threads,
) -> None:
    tokens = [(int(documents.offsets[first]), int(documents.offsets[last])) for first, last in ranges]
    before = [paths[:, start:stop].copy() for start, stop in tokens]

    def draw(k: int, _: int) -> None:
        resample(*ranges[k], tables[k])

    def repeat_others(k: int, _: int) -> None:
        for other, (start, stop) in enumerate(tokens):
            if other != k:
                kernels.repeat_changes(start, stop, documents.words, before[other], paths, tables[k])

    threads.map(draw, [(k, k + 1) for k in range(len(ranges))])
    threads.map(repeat_others, [(k, k + 1) for k in range(len(tables))])


def resample_range(
    first: int,
    last: int,
    documents: Documents,
    frequencies: NDArray[np.int64],
    paths: Paths,
    counts: TopicCounts,
    priors: Priors,
    key: Key,
) -> None:
    """Draw the topics of the documents `first` to `last` given all others, and keep `counts` up to date.

    `frequencies` (W,) says how often each word occurs in the corpus.
    """
    n_paths, n_topics = len(paths), len(priors.alpha)
    kernel = kernel_for(n_topics)
    if kernel == "listed":
        buffers = listed_buffers(frequencies, n_paths, n_topics)
        kernels.resample_collapsed(first, last, documents, paths, counts, priors, *buffers, key)
    elif kernel == "vectors":
        vectors = vector_buffers(n_paths, n_topics)
        kernels.resample_collapsed_vectors(first, last, documents, paths, counts, priors, vectors, key)
    else:
        topics = (0,) * n_topics if n_topics <= _MAX_UNROLLED else ()
        dense = dense_buffers(n_paths, n_topics)
        kernels.resample_collapsed_dense(topics, first, last, documents, paths, counts, priors, dense, key)


def dense_buffers(n_paths: int, n_topics: int) -> kernels.DenseScratch:
    """Return the buffers of the dense kernel."""
    return kernels.DenseScratch(
        streams=scratch((n_paths, 2), np.uint64),
        totals=scratch(n_topics),
        inverse=scratch(n_topics),
        counts=scratch((n_paths, n_topics)),
        cumulative=scratch(n_topics),
    )


def vector_buffers(n_paths: int, n_topics: int) -> kernels.VectorScratch:
    """Return the buffers of the kernel with vector instructions."""
    size = padded(n_topics)
    return kernels.VectorScratch(
        streams=scratch((n_paths, 2), np.uint64),
        eta=scratch(size, np.float32),
        inverse=scratch(size, np.float32),
        tokens=scratch((n_paths, n_topics)),
        shares=scratch((n_paths, size), np.float32),
        cumulative=scratch(size, np.float32),
        sums=scratch(LANES, np.float32),
    )


def listed_buffers(
    frequencies: NDArray[np.int64], n_paths: int, n_topics: int
) -> tuple[kernels.Scales, kernels.WordLists, kernels.CollapsedScratch]:
    """Return the buffers of kernels that keep lists of the topics of each word."""
    starts = np.append(0, np.cumsum(np.minimum(frequencies * n_paths, n_topics)))
    return (
        kernels.Scales(inverse=scratch(n_topics), scaled_alpha=scratch(n_topics)),
        kernels.WordLists(
            starts=starts,
            listed=scratch(int(starts[-1]), np.uint16),
            sizes=scratch(len(frequencies), np.uint64),
        ),
        kernels.CollapsedScratch(
            streams=scratch((n_paths, 2), np.uint64),
            present=scratch_topic_list(n_paths, n_topics),
            sizes=scratch(n_paths, np.uint64),
            cumulative=scratch(n_topics),
        ),
    )
