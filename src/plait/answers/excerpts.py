"""Excerpts of documents: the passage with most words of a topic, and where these words are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from plait.answers.places import Place, WordPlaces, split_phrase
from plait.data.corpus import Corpus
from plait.data.text import TextRecipe

WIDTH = 200
"""Characters of an excerpt, about two lines of a terminal."""

_SPACE = re.compile(r"\s+")


class Excerpt(NamedTuple):
    """A passage of a document.

    Attributes
    ----------
    text : str
        The passage, with each run of white space as one space.
    marks : tuple of (int, int)
        Where words of the topic start and end in it.
    is_text : bool
        Whether it is text as it was; otherwise texts were not kept, and it is words as the model has them.
    """

    text: str
    marks: tuple[tuple[int, int], ...]
    is_text: bool


def excerpt(corpus: Corpus, document: int, words: Collection[str], width: int = WIDTH) -> Excerpt:
    """Return the passage of a document with most of the given words, of about `width` characters.

    Parameters
    ----------
    corpus : Corpus
        The documents. Without texts, the passage is one of the words that are left of the document.
    document : int
        Number of the document.
    words : collection of str
        Words of the vocabulary.
    width : int
        Characters of the passage; whole words are kept.
    """
    if corpus.texts is not None:
        text = corpus.texts[document]
        marks = list(_marks(text, words, corpus.recipe))
    else:
        text, marks = _joined(corpus, document, words)
    return _passage(text, marks, width, is_text=corpus.texts is not None)


def _joined(corpus: Corpus, document: int, words: Collection[str]) -> tuple[str, list[Place]]:
    """Return the words of a document as one text, and the places of the given ones."""
    shown = dict(zip(corpus.vocabulary, corpus.shown_words, strict=True))
    marks, parts, at = [], [], 0
    for word in corpus.tokens(document):
        if word in words:
            marks.append(Place(at, at + len(shown[word])))
        parts.append(shown[word])
        at += len(shown[word]) + 1
    return " ".join(parts), marks


def _marks(text: str, words: Collection[str], recipe: TextRecipe | None) -> Iterator[Place]:
    """Return the places in a text that the recipe makes the given words of; of phrases, of their parts."""
    wanted = set(words) | {part for word in words for part in split_phrase(word)}
    return (place for word, place in WordPlaces(recipe).words(text) if word in wanted)


def _passage(text: str, marks: Sequence[Place], width: int, *, is_text: bool) -> Excerpt:
    start, end = _densest(marks, width)
    # What is left of the width is context, on both sides if the text goes that far.
    spare = max(0, width - (end - start)) // 2
    first = max(0, min(start - spare, len(text) - width))
    last = min(len(text), max(end + spare, first + width))
    first, last = _at_words(text, first, start, last, end)
    prefix = "... " if text[:first].strip() else ""
    shown, places, at = prefix, [], first
    for mark in marks:
        if first <= mark.start and mark.end <= last:
            shown += _SPACE.sub(" ", text[at : mark.start])
            places.append((len(shown), len(shown) + mark.end - mark.start))
            shown += text[mark.start : mark.end]
            at = mark.end
    shown += _SPACE.sub(" ", text[at:last])
    suffix = " ..." if text[last:].strip() else ""
    gone = 0 if prefix else len(shown) - len(shown.lstrip())
    places = [(start - gone, end - gone) for start, end in places]
    return Excerpt(shown[gone:].rstrip() + suffix, tuple(places), is_text)


def _densest(marks: Sequence[Place], width: int) -> tuple[int, int]:
    """Return the first stretch of at most `width` characters with most marks, as small as possible."""
    best, most, last = (0, 0), 0, 0
    for first in range(len(marks)):
        last = max(last, first)
        while last + 1 < len(marks) and marks[last + 1].end - marks[first].start <= width:
            last += 1
        if last + 1 - first > most:
            best, most = (marks[first].start, marks[last].end), last + 1 - first
    return best


def _at_words(text: str, first: int, start: int, last: int, end: int) -> tuple[int, int]:
    """Return the ends of a passage moved inwards to white space, but not past the stretch in its middle."""
    if first and not text[first - 1].isspace():
        space = _SPACE.search(text, first, start)
        first = first if space is None else space.end()
    if last < len(text) and not text[last].isspace():
        spaces = [space.start() for space in _SPACE.finditer(text, end, last)]
        last = spaces[-1] if spaces else last
    return first, last
