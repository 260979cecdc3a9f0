"""Where words are in the texts that they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.data.corpus import Corpus
from plait.data.text import DEFAULT_RECIPE, TextRecipe

_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")
_JOINTS = re.compile(r"[\s_]+")  # between the words of a phrase
_LOOK_AHEAD: Final = 60  # words of a text that may come before a token without being tokens


class Place(NamedTuple):
    """A stretch of a text, in characters."""

    start: int
    end: int


class WordPlaces:
    """Finds words in texts; what the recipe makes of a word is kept for the next text.

    The recipe processes every word by itself, so it does not see phrases, nor what it would drop from a whole
    text, such as addresses.

    Parameters
    ----------
    recipe : TextRecipe
        How the texts became words.
    """

    def __init__(self, recipe: TextRecipe | None) -> None:
        self._recipe = recipe or DEFAULT_RECIPE
        self._tokens: dict[str, list[str]] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Process the words of many texts together, which is faster than one text after another."""
        new = sorted({word for text in texts for word in _WORD.findall(text)}.difference(self._tokens))
        if new:
            self._tokens.update(zip(new, self._recipe.token_lists(new), strict=True))

    def words(self, text: str) -> Iterator[tuple[str, Place]]:
        """Yield what the recipe makes of the words of a text, and where each is."""
        self.learn([text])
        for match in _WORD.finditer(text):
            own = self._tokens[match[0]]
            if len(own) == 1:
                yield own[0], Place(*match.span())
            elif len(own) > 1:  # text without spaces, which the recipe has split
                yield from _within(match[0].lower(), match.start(), own)

    def tokens(self, corpus: Corpus, document: int) -> list[Place | None]:
        """Return the place of each token of a document in its text; None if it is not found."""
        assert corpus.texts is not None
        words = list(self.words(corpus.texts[document]))
        found: list[Place | None] = []
        at = 0
        for token in corpus.tokens(document):
            parts = split_phrase(token)
            k = _next(words, at, token, parts)
            if k is None:
                found.append(None)
                continue
            last = k if words[k][0] == token else min(k + len(parts), len(words)) - 1
            found.append(Place(words[k][1].start, words[last][1].end))
            at = last + 1
        return found


def split_phrase(token: str) -> list[str]:
    """Return the words of a phrase; of another token, itself."""
    return _JOINTS.split(token)


def _next(words: list[tuple[str, Place]], at: int, token: str, parts: list[str]) -> int | None:
    """Return the number of the next word that is a token, or that starts the phrase that it is."""
    for k in range(at, min(at + _LOOK_AHEAD, len(words))):
        if words[k][0] == token or (len(parts) > 1 and words[k][0] == parts[0]):
            return k
    return None


def _within(word: str, start: int, tokens: list[str]) -> Iterator[tuple[str, Place]]:
    at = 0
    for token in tokens:
        place = word.find(token, at)
        if place >= 0:
            at = place + len(token)
            yield token, Place(start + place, start + at)


def in_utf16(text: str, places: Iterable[Place | None]) -> NDArray[np.uint32]:
    """Return starts and lengths (n, 2) in the units of JavaScript, in which an emoji counts twice.

    A token without a place has the length 0.
    """
    units: list[int] | None = None
    if not text.isascii() and max(text) > "\uffff":
        units = [0, *accumulate(2 if character > "\uffff" else 1 for character in text)]
    rows = []
    for place in places:
        start, end = (0, 0) if place is None else place
        rows.append((start, end - start) if units is None else (units[start], units[end] - units[start]))
    return np.array(rows, np.uint32).reshape(-1, 2)
