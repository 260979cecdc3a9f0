"""Phrases: words that stand next to each other far more often than by chance."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

GAP = ""
"""Stands in lists of words where a word was dropped: no phrase reaches over it."""

THRESHOLD = 0.5
"""The normalised pointwise mutual information that makes a phrase, unless another is given."""

_PASSES = 3
_MOST_WORDS = 5
"""A pass joins two words or phrases; no phrase is longer than this."""

_CHUNK = 2**22
_MOST_PAIRS = 2**24
"""How many pairs are counted at a time, and how many different ones are kept: the most frequent."""

Joins = Mapping[str, Sequence[Sequence[str]]]


def joins(phrases: Iterable[str]) -> dict[str, list[list[str]]]:
    """Return the words of each phrase by the first of them, the longest phrases first; see `spans`."""
    found: dict[str, list[list[str]]] = {}
    for phrase in phrases:
        words = phrase.split(" ")
        found.setdefault(words[0], []).append(words)
    for same in found.values():
        same.sort(key=lambda words: (-len(words), words))
    return found


def spans(words: list[str], starts: Joins) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a document, from left to right the longest phrases joined, and where each is.

    Parameters
    ----------
    words : list of str
        The words, and gaps where words were dropped; gaps are yielded as well.
    starts : mapping
        What `joins` returned.
    """
    i = 0
    while i < len(words):
        word, end = words[i], i + 1
        for phrase in starts.get(word, ()):
            if words[i : i + len(phrase)] == phrase:
                word, end = " ".join(phrase), i + len(phrase)
                break
        yield word, i, end
        i = end


def find_phrases(documents: Sequence[list[str]], threshold: float, min_count: int) -> tuple[str, ...]:
    """Return the phrases in documents, in alphabetical order.

    Parameters
    ----------
    documents : sequence of list of str
        The words of each document, and gaps where words were dropped.
    threshold : float
        Least normalised pointwise mutual information of two neighbours, ln(p(ab) / p(a)p(b)) / -ln p(ab):
        0 is chance, 1 means that they never stand apart.
    min_count : int
        Least number of times that the phrase occurs.

    Notes
    -----
    A pass over the documents counts pairs of neighbours; two more passes do the same with the phrases joined
    that were found before. Phrases that always are within longer ones are left out. Time is linear in the
    number of words, and memory is bounded: of more than 2^24 different pairs, the rarest are forgotten.
    """
    phrases: set[str] = set()
    for _ in range(_PASSES):
        starts = joins(phrases)
        joined = ([word for word, _, _ in spans(words, starts)] for words in documents)
        new = _pairs(joined if phrases else documents, threshold, min_count) - phrases
        if not new:
            break
        phrases |= new
    starts = joins(phrases)
    used = {word for words in documents for word, start, end in spans(words, starts) if end - start > 1}
    return tuple(sorted(used))


def _pairs(documents: Iterable[list[str]], threshold: float, min_count: int) -> set[str]:
    """Return the pairs of neighbours that are phrases, joined."""
    index: dict[str, int] = {}
    ids = array("i")
    for words in documents:
        ids.extend([-1 if word == GAP else index.setdefault(word, len(index)) for word in words])
        ids.append(-1)
    if not index:
        return set()
    tokens = np.frombuffer(ids, np.int32)
    counts = np.bincount(tokens[tokens >= 0], minlength=len(index))
    n = float(counts.sum())
    codes, together = _count_pairs(tokens, counts >= min_count)
    often = together >= min_count
    left, right = np.divmod(codes[often], len(index))
    ab = together[often]
    logs = np.log(n) - np.log(ab)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = (np.log(n) + np.log(ab) - np.log(counts[left]) - np.log(counts[right])) / logs
    scores[logs <= 0] = 1.0
    # Rounded, so that the last bit of a logarithm decides nothing.
    chosen = np.flatnonzero(np.round(scores, 9) >= threshold)
    known = list(index)
    found = (f"{known[left[i]]} {known[right[i]]}" for i in chosen)
    return {phrase for phrase in found if phrase.count(" ") < _MOST_WORDS}


def _count_pairs(
    tokens: npt.NDArray[np.int32], usual: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the codes of all pairs of usual neighbours, left * W + right, and how often each occurs."""
    codes = np.empty(0, np.int64)
    counts = np.empty(0, np.int64)
    for start in range(0, tokens.size - 1, _CHUNK):
        part = tokens[start : start + _CHUNK + 1].astype(np.int64)
        left, right = part[:-1], part[1:]
        wanted = (left >= 0) & (right >= 0)
        wanted[wanted] = usual[left[wanted]] & usual[right[wanted]]
        new, n_new = np.unique(left[wanted] * usual.size + right[wanted], return_counts=True)
        codes, place = np.unique(np.concatenate((codes, new)), return_inverse=True)
        totals = np.zeros(codes.size, np.int64)
        np.add.at(totals, place, np.concatenate((counts, n_new)))
        counts = totals
        if codes.size > _MOST_PAIRS:
            kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_PAIRS])
            codes, counts = codes[kept], counts[kept]
    return codes, counts
