"""Bags of words as gensim has them: for each document a list of pairs, the id of a word and its count."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import check_integer, check_strings, short_repr
from plait.data.encoding import MAX_TOKENS, MAX_WORDS, offsets_of
from plait.errors import Argument, PlaitError

Bags = list[list[tuple[int, int]]]


def read_bags(
    bags: Iterable[Iterable[tuple[int, int]]], dictionary: Mapping[int, str] | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], tuple[str, ...]]:
    """Return the word ids and offsets of bags of words, and their vocabulary; see `Corpus.from_gensim`."""
    ids, counts, offsets = _pairs(bags)
    if dictionary is None:
        vocabulary = tuple(map(str, range(int(ids.max(initial=-1)) + 1)))
        positions = np.arange(len(vocabulary), dtype=np.int32)
    else:
        vocabulary, positions = _vocabulary(dictionary)
        unknown = (ids >= len(positions)) | (positions[np.minimum(ids, len(positions) - 1)] < 0)
        if unknown.any():
            at = int(np.argmax(unknown))
            document = int(np.searchsorted(offsets, at, side="right")) - 1
            raise PlaitError(
                Argument("bags"),
                f"[{document}] has the word {ids[at]}, which is not in ",
                Argument("dictionary"),
                ": pass the dictionary that made the bags",
            )
    words = np.repeat(positions[ids], counts)
    tokens = np.concatenate(([0], np.cumsum(counts)))
    return words, tokens[offsets], vocabulary


def write_bags(matrix: Any) -> Bags:
    """Return the rows of a sparse matrix of counts as bags of words."""
    columns, counts, starts = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    return [
        list(zip(columns[first:last], counts[first:last], strict=True)) for first, last in pairwise(starts)
    ]


def _pairs(
    bags: Iterable[Iterable[tuple[int, int]]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the ids and counts of all pairs, and where the pairs of each document start."""
    ids, counts, lengths, total = array("q"), array("q"), array("q"), 0
    if isinstance(bags, (str, bytes)) or not isinstance(bags, Iterable):
        raise PlaitError(
            Argument("bags"), f" must be a list of lists of pairs (id, count), got {short_repr(bags)}"
        )
    for d, bag in enumerate(bags):
        before = len(ids)
        if isinstance(bag, (str, bytes)) or not isinstance(bag, Iterable):
            raise PlaitError(
                Argument("bags"), f"[{d}] must be a list of pairs (id, count), got {short_repr(bag)}"
            )
        for pair in bag:
            word, count = _pair(d, pair)
            total += count
            if total > MAX_TOKENS:
                raise PlaitError(
                    Argument("bags"),
                    f"[{d}] has more tokens than the {MAX_TOKENS} that are possible: check it",
                )
            ids.append(word)
            counts.append(count)
        lengths.append(len(ids) - before)
    return np.array(ids, np.int64), np.array(counts, np.int64), offsets_of(lengths)


def _pair(d: int, pair: Any) -> tuple[int, int]:
    """Return the id and the count of a pair of document `d`; a count may be a float, such as 2.0."""
    try:
        if not isinstance(pair, (str, bytes)):
            word, count = pair
            whole = int(count)
            if whole == count >= 0:
                return check_integer("bags", word, least=0, most=MAX_WORDS - 1), whole
    except (TypeError, ValueError, OverflowError):
        pass
    raise PlaitError(
        Argument("bags"),
        f"[{d}] must have pairs of an id from 0 to {MAX_WORDS - 1} and a whole count, got {short_repr(pair)}:"
        " pass bags of words as Dictionary.doc2bow makes them",
    )


def _vocabulary(dictionary: Any) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Return the words of a dictionary, and the position among them of each id; -1 where there is none."""
    if not isinstance(dictionary, Mapping):
        raise PlaitError(
            Argument("dictionary"),
            f" must be a Dictionary of gensim or a mapping from ids to words, got {short_repr(dictionary)}",
        )
    words = {}
    for key in dictionary.keys():  # noqa: SIM118 - iterating over a Dictionary of gensim needs this
        try:
            words[check_integer("dictionary", key, least=0, most=MAX_WORDS - 1)] = dictionary[key]
        except PlaitError:
            raise PlaitError(
                Argument("dictionary"),
                f" must have ids from 0 to {MAX_WORDS - 1} as keys, got {short_repr(key)}: pass the"
                " Dictionary itself, not its token2id",
            ) from None
    order = sorted(words)
    positions = np.full(order[-1] + 1 if order else 1, -1, np.int32)
    positions[order] = np.arange(len(order))
    return check_strings("dictionary", (words[key] for key in order)), positions
