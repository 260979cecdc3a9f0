"""The topics present in one document of one path: a short list that grows and shrinks with the sampler.

A document of n tokens holds at most min(n, T) topics, usually a handful, so its row of C^DT is kept as a
list. Three arrays, made once by the caller with `room_for_topics` and reused for every document:

    topics   (T,) uint16    the topics present, in no particular order
    counts   (T,) float64   C^DT_jdt of each (whole numbers; stored as what they are multiplied with)
    place    (T,) uint32    where a topic stands in the list, ABSENT if it does not

    place     -  1  -  0  -      T = 5, the document holds topic 3 twice and topic 1 once
    topics    3  1
    counts    2  1               n = 2

Indices are unsigned: Numba then needs no code for negative ones, which the inner loops would feel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.scratch import scratch

ABSENT = np.uint32(0xFFFFFFFF)


def room_for_topics(*shape: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Empty arrays `topics`, `counts` and `place` of the given shape, its last axis as long as T."""
    place = scratch(shape, np.uint32)
    place[...] = ABSENT
    return scratch(shape, np.uint16), scratch(shape), place


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
    """Strike `topic`, which has no token left, from the list; return the new length of the list."""
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
    """List the topics of the tokens `start` to `stop`; return their number."""
    n = np.uint64(0)
    for i in range(start, stop):
        n = add_topic(path[i], topics, counts, place, n)
    return n


@kernel
def clear_topics(topics, place, n):
    """Forget the document, so that the arrays serve the next one."""
    for k in range(n):
        place[topics[k]] = ABSENT


@kernel
def search(cumulative, n, x):
    """Return how many of the first n cumulative sums are at most x, n - 1 at the most.

    Counting all of them beats leaving early: there is no branch to mispredict, and no way past the end.
    """
    k = np.uint64(0)
    for i in range(n):
        k += np.uint64(cumulative[i] <= x)
    return min(k, n - np.uint64(1))
