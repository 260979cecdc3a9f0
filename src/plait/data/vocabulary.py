"""The vocabulary of a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

from plait.checks import check_distinct_strings


class Vocabulary(tuple[str, ...]):
    """The words of a corpus, a tuple of distinct strings; a word's position is its id.

    They are checked once: a vocabulary made from another one is the same object. So documents in the
    vocabulary of a fitted model cost no time that grows with that vocabulary.
    """

    _warned_of: set[str] | None = None

    def __new__(cls, words: Iterable[str]) -> Self:
        """Return the words, checked unless they are a vocabulary already."""
        if type(words) is cls:
            return words
        return super().__new__(cls, check_distinct_strings("vocabulary", words))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)

    def warning_once(self) -> Self:
        """Return a copy for many documents, of which the same is warned about once."""
        copy = tuple.__new__(type(self), self)
        copy._warned_of = set()
        return copy

    def is_news(self, what: str) -> bool:
        """Return whether `what` is to be warned about; in a copy that `warning_once` made, that is once."""
        if self._warned_of is None:
            return True
        is_news = what not in self._warned_of
        self._warned_of.add(what)
        return is_news

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word."""
        return {word: w for w, word in enumerate(self)}
