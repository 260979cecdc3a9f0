"""The collapsed sampler of LDA on a range of documents: the choice of its kernel, and its buffers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plait.kernels import collapsed_lda as kernels
from plait.kernels.documents import scratch_topic_list
from plait.kernels.lda import Documents, Priors, TopicCounts
from plait.models.model import Key, Paths
from plait.scratch import scratch

_MAX_DENSE = 64  # up to this many topics, weighing all of them for every token is faster than lists
_MAX_UNROLLED = 16  # up to this many, the dense kernel is faster if the compiler knows their number


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
    if n_topics > _MAX_DENSE:
        buffers = listed_buffers(frequencies, n_paths, n_topics)
        kernels.resample_collapsed(first, last, documents, paths, counts, priors, *buffers, key)
        return
    dense = kernels.DenseScratch(
        streams=scratch((n_paths, 2), np.uint64),
        totals=scratch(n_topics),
        inverse=scratch(n_topics),
        counts=scratch((n_paths, n_topics)),
        cumulative=scratch(n_topics),
    )
    size = (0,) * n_topics if n_topics <= _MAX_UNROLLED else ()
    kernels.resample_collapsed_dense(size, first, last, documents, paths, counts, priors, dense, key)


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
