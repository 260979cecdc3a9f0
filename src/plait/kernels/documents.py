"""The topics present in one document of one path: a short list that the sampler keeps up to date.

A document of n tokens holds at most min(n, T) topics, usually a handful, so its row of C^DT is kept as a list
(`TopicList`) instead of a row of T counts. Topics 3, 1, 3 out of T = 5 make a list of length n = 2:

    topics    3  1               the topics present
    counts    2  1               how many tokens each has
    place     -  1  -  0  -      position of each of the T topics in the list

Indices are unsigned: Numba then emits no code for negative ones, which is noticeable in the inner loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.scratch import scratch

ABSENT = np.uint32(0xFFFFFFFF)
"""The place of a topic that is not in the list."""


class TopicList(NamedTuple):
    """Buffers for the topics of one document, reused for every document; the length n is kept separately.

    Attributes
    ----------
    topics : ndarray of uint16, (T,)
        The topics present, in no particular order.
    counts : ndarray of float64, (T,)
        C^DT_jdt of each: integers, in the type of the weights they are multiplied with.
    place : ndarray of uint32, (T,)
        Position of each topic in the list, or `ABSENT`.

    With one list per path, each array has a leading axis (m, T).
    """

    topics: NDArray[np.uint16]
    counts: NDArray[np.float64]
    place: NDArray[np.uint32]


def scratch_topic_list(*shape: int) -> TopicList:
    """Return an empty list of topics, or several; the last axis of `shape` is T."""
    place: NDArray[Any] = scratch(shape, np.uint32)
    place[...] = ABSENT
    return TopicList(scratch(shape, np.uint16), scratch(shape), place)


@kernel
def add_topic(topic, topics, counts, place, n):
    """Count one more token of `topic`; return the new length of the list."""
    k = place[topic]
    if k != ABSENT:
        counts[k] += 1.0
        return n
    place[topic] = np.uint32(n)
    topics[n] = topic
    counts[n] = 1.0
    return n + np.uint64(1)


@kernel
def drop_topic(topic, topics, counts, place, n):
    """Remove `topic`, which has no token left, from the list; return the new length of the list."""
    k = place[topic]
    n -= np.uint64(1)
    last = topics[n]
    topics[k] = last
    counts[k] = counts[n]
    place[last] = k
    place[topic] = ABSENT
    return n


@kernel
def list_topics(path, start, stop, topics, counts, place):
    """List the topics of the tokens `start` to `stop`; return the length of the list."""
    n = np.uint64(0)
    for i in range(start, stop):
        n = add_topic(path[i], topics, counts, place, n)
    return n


@kernel
def clear_topics(topics, place, n):
    """Empty the list, so that the buffers serve the next document."""
    for k in range(n):
        place[topics[k]] = ABSENT


@kernel
def search(cumulative, n, x):
    """Return how many of the first n cumulative sums are at most x, but no more than n - 1.

    Counting all of them beats an early exit: there is no branch to mispredict, and no way past the end.
    """
    k = np.uint64(0)
    for i in range(n):
        k += np.uint64(cumulative[i] <= x)
    return min(k, n - np.uint64(1))
