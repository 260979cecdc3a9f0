"""Counts of top words, and of pairs of them, in documents or in windows that slide over the tokens.

Only the top words of topics are looked at, and only pairs of words of one topic are counted. A word is
*present* in the windows from the one that its token enters to the one before that in which it leaves:

    tokens      a x b a y ...      windows of 3 tokens:  axb, xba, bay, ...
    a           present in windows 0, 1 and 2: as the window moves to 1, one token leaves, but another enters

So nothing is done per window. When a word leaves, the windows in which it was present are added to its count,
and for each other word of its topics that is present now, the windows that they shared are added to the
pair's. A document is a window as long as itself. All counts are integers, so sums over ranges of documents
are the same in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.scratch import scratch

ABSENT = -1


class TopWords(NamedTuple):
    """The top words of T topics, n each, K of them distinct.

    Attributes
    ----------
    number : ndarray of int32, (W,)
        Number of each word of the corpus among the K, or `ABSENT`.
    of_topic : ndarray of int32, (T, n)
        Numbers of the top words of each topic; `ABSENT` if the corpus does not know the word.
    starts : ndarray of int64, (K + 1,)
        The places of word k are those from `starts[k]` to `starts[k + 1]`.
    topics, ranks : ndarray of int64, (T n,)
        The topic of each place, and the rank in it.
    """

    number: NDArray[np.int32]
    of_topic: NDArray[np.int32]
    starts: NDArray[np.int64]
    topics: NDArray[np.int64]
    ranks: NDArray[np.int64]


class Counts(NamedTuple):
    """Numbers of windows, added up over documents.

    Attributes
    ----------
    words : ndarray of int64, (K,)
        Windows with a word.
    pairs : ndarray of int64, (T, n, n)
        Windows with both words of a pair, above the diagonal.
    """

    words: NDArray[np.int64]
    pairs: NDArray[np.int64]


class Presence(NamedTuple):
    """The words that are present in the current window.

    Attributes
    ----------
    since : ndarray of int64, (K,)
        First of the windows in a row with the word, or `ABSENT`.
    copies : ndarray of int64, (K,)
        Number of tokens of the word in the window.
    ranks : ndarray of int64, (T, n)
        Ranks of the words of each topic that are present, in no particular order.
    sizes : ndarray of int64, (T,)
        How many these are.
    places : ndarray of int64, (T, n)
        Position of each rank in `ranks`.
    """

    since: NDArray[np.int64]
    copies: NDArray[np.int64]
    ranks: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]


def zero_counts(top: TopWords) -> Counts:
    """Return counts of zero."""
    n_topics, n = top.of_topic.shape
    return Counts(scratch(top.starts.size - 1, np.int64), scratch((n_topics, n, n), np.int64))


def no_presence(top: TopWords) -> Presence:
    """Return buffers in which no word is present."""
    shape = top.of_topic.shape
    since = scratch(top.starts.size - 1, np.int64)
    since[:] = ABSENT
    return Presence(
        since=since,
        copies=scratch(since.size, np.int64),
        ranks=scratch(shape, np.int64),
        sizes=scratch(shape[0], np.int64),
        places=scratch(shape, np.int64),
    )


@kernel
def count_windows(first, last, words, offsets, size, forgetful, top, presence, counts):
    """Count the windows of `size` tokens in the documents `first` to `last`; a shorter one is one window.

    A word is present until its last token has left the window. If `forgetful`, as in gensim, it is taken to
    be absent as soon as one of its tokens has left, until the next one enters.
    """
    number = top.number
    for d in range(first, last):
        start, stop = offsets[d], offsets[d + 1]
        filled = min(start + size, stop)
        for i in range(start, filled):
            if number[words[i]] >= 0:
                _enter(number[words[i]], 0, top, presence)
        window = 0
        for i in range(filled, stop):
            window += 1
            if number[words[i - size]] >= 0:
                _leave(number[words[i - size]], window, forgetful, top, presence, counts)
            if number[words[i]] >= 0:
                _enter(number[words[i]], window, top, presence)
        for i in range(max(start, stop - size), stop):
            if number[words[i]] >= 0:
                _leave(number[words[i]], window + 1, forgetful, top, presence, counts)


@kernel
def _enter(k, window, top, presence):
    """Note that a token of word k has entered the window."""
    since, copies, ranks, sizes, places = presence
    copies[k] += 1
    if since[k] >= 0:
        return
    since[k] = window
    for place in range(top.starts[k], top.starts[k + 1]):
        t, rank = top.topics[place], top.ranks[place]
        ranks[t, sizes[t]] = rank
        places[t, rank] = sizes[t]
        sizes[t] += 1


@kernel
def _leave(k, window, forgetful, top, presence, counts):
    """Note that a token of word k has left; if the word is gone, count its windows, those before `window`."""
    since, copies, ranks, sizes, places = presence
    copies[k] -= 1
    if since[k] < 0 or (copies[k] > 0 and not forgetful):
        return
    counts.words[k] += window - since[k]
    for place in range(top.starts[k], top.starts[k + 1]):
        t, rank = top.topics[place], top.ranks[place]
        sizes[t] -= 1
        moved = ranks[t, sizes[t]]  # the last one takes its position
        ranks[t, places[t, rank]] = moved
        places[t, moved] = places[t, rank]
        for position in range(sizes[t]):
            other = ranks[t, position]
            shared = window - max(since[k], since[top.of_topic[t, other]])
            counts.pairs[t, min(rank, other), max(rank, other)] += shared
    since[k] = ABSENT
