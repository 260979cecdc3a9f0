"""The collapsed sampler of LDA: the choice of its kernel, its buffers, and partitioned sweeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.kernels import collapsed_lda as kernels
from plait.kernels.bounded_lda import BoundedScratch, Bounds, resample_collapsed_bounded, set_bounds
from plait.kernels.documents import scratch_topic_list
from plait.kernels.lda import Documents, Priors, TopicCounts
from plait.kernels.vectors import LANES, padded
from plait.models.model import Key, Paths
from plait.scratch import scratch, set_apart
from plait.threads import Range, Threads, even_ranges, weighted_ranges

KERNELS: Final = ("dense", "vectors", "bounded")
"""The kernels: two weigh all topics for every token, one only those of the document and, rarely, all."""

_MAX_DENSE = 24  # topics up to which vector instructions do not pay
_MAX_UNROLLED = 16  # topics up to which the dense kernel is faster if the compiler knows their number
_MAX_VECTORS = 300  # topics up to which bounds do not pay
_MAX_VECTORS_IN_ROUNDS = 800  # the same for partitions, where bounds would have to be made in every round

# Tokens from which on a sweep has so many partitions. Each one repeats the changes of all others, which costs
# about a tenth of drawing them, so few are best.
_PARTITIONS = {150_000: 2, 2_000_000: 4, 8_000_000: 8, 32_000_000: 16}
_MAX_COPIES = 2**30  # bytes of their tables of counts, together
_ROUNDS = 8  # of a sweep; with one, topics of real text were noticeably less coherent


def kernel_for(n_topics: int, *, in_rounds: bool = False) -> str:
    """Return the kernel that is fastest for a number of topics, in an exact or in a partitioned sweep."""
    if n_topics <= _MAX_DENSE:
        return "dense"
    return "vectors" if n_topics <= (_MAX_VECTORS_IN_ROUNDS if in_rounds else _MAX_VECTORS) else "bounded"


def rounds_of(offsets: NDArray[np.int64], n_words: int, n_topics: int) -> list[list[Range]]:
    """Return the rounds of a partitioned sweep: ranges of documents that are sampled side by side."""
    most = 1 + _MAX_COPIES // (4 * n_words * n_topics)
    n_partitions = max(
        (n for least, n in _PARTITIONS.items() if least <= offsets[-1] and n <= most), default=1
    )
    has_bounds = kernel_for(n_topics, in_rounds=True) == "bounded"
    n_rounds = 1 if n_partitions == 1 or has_bounds else _ROUNDS
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
    which takes the range and the table. Before the next round, every table is changed as the other ranges
    have changed theirs, so that all of them are equal again; a thread does so just before it samples, since
    every time that threads wait for each other costs about as much as drawing 3000 tokens.
    """
    n_tables = max(len(ranges) for ranges in rounds)
    copies = threads.buffer("partitions", (n_tables - 1, *counts.words.shape), np.int32)
    tables = [counts, *(TopicCounts(words, set_apart(counts.topics)) for words in copies)]
    previous = _Round([], documents)

    def copy(first: int, last: int) -> None:
        copies[:, first:last] = counts.words[first:last]

    def draw(k: int, _: int) -> None:
        previous.repeat_others(k, paths, tables[k])
        if k < len(ranges):
            following.keep(k, paths)
            resample(*ranges[k], tables[k])

    if n_tables > 1:
        threads.map(copy, even_ranges(len(counts.words), n_tables))
    for ranges in rounds:
        following = _Round(ranges, documents)
        threads.map(draw, [(k, k + 1) for k in range(n_tables)])
        previous = following
    previous.repeat_others(0, paths, counts)  # the other tables are not used again


class _Round:
    """The topics that the tokens of a round have before it, so that their changes can be repeated.

    Parameters
    ----------
    ranges : list of (int, int)
        The ranges of documents of the round, one for each table of counts.
    documents : Documents
        All documents.
    """

    def __init__(self, ranges: list[Range], documents: Documents) -> None:
        self._words = documents.words
        self._tokens = [
            (int(documents.offsets[first]), int(documents.offsets[last])) for first, last in ranges
        ]
        self._before: dict[int, Paths] = {}

    def keep(self, k: int, paths: Paths) -> None:
        """Keep the topics of range k, which are about to change."""
        start, stop = self._tokens[k]
        self._before[k] = paths[:, start:stop].copy()

    def repeat_others(self, k: int, paths: Paths, table: TopicCounts) -> None:
        """Change the table of range k as the other ranges have changed theirs."""
        for other, (start, stop) in enumerate(self._tokens):
            if other != k:
                kernels.repeat_changes(start, stop, self._words, self._before[other], paths, table)


def resample_range(
    first: int,
    last: int,
    documents: Documents,
    paths: Paths,
    counts: TopicCounts,
    priors: Priors,
    key: Key,
    *,
    in_rounds: bool,
) -> None:
    """Draw the topics of the documents `first` to `last` given all others, and keep `counts` up to date.

    `in_rounds` says whether they are a part of a partitioned sweep.
    """
    n_paths, n_topics = len(paths), len(priors.alpha)
    kernel = kernel_for(n_topics, in_rounds=in_rounds)
    if kernel == "bounded":
        bounds, buffers = bounded_buffers(n_paths, *counts.words.shape)
        set_bounds(counts, priors, bounds)
        resample_collapsed_bounded(first, last, documents, paths, counts, bounds, priors, buffers, key)
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


def bounded_buffers(n_paths: int, n_words: int, n_topics: int) -> tuple[Bounds, BoundedScratch]:
    """Return the bounds, to be set, and the buffers of the kernel that uses them."""
    size = padded(n_topics)
    bounds = Bounds(
        floors=scratch(n_topics),
        ratios=scratch(n_topics),
        inverse=scratch(size, np.float32),
        sums=scratch(n_words),
    )
    buffers = BoundedScratch(
        streams=scratch((n_paths, 2), np.uint64),
        present=scratch_topic_list(n_paths, n_topics),
        sizes=scratch(n_paths, np.uint64),
        inverse=scratch(n_topics),
        cumulative=scratch(n_topics),
        eta=scratch(size, np.float32),
        alpha=scratch(size, np.float32),
        bounds=scratch(size, np.float32),
        sums=scratch(LANES, np.float32),
    )
    return bounds, buffers
