"""Split clean text into words: by patterns, by the word breaks of ICU, or by a function of the user's."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from plait.checks import short_repr
from plait.data.cleaning import run_of, whole_patterns
from plait.data.languages import UNSPACED, describe
from plait.errors import Argument, PlaitError

Split = Callable[[str], list[str]]

TOKENIZERS = ("auto", "words", "icu")
"""The tokenisers that have names."""


@dataclass(frozen=True)
class MissingTokenizer:
    """Stands for a function of the user's in a recipe that comes from a file, which holds only its name."""

    name: str

    def __call__(self, text: str) -> list[str]:
        """Raise an error that says what to do."""
        raise PlaitError(
            f"the words were found by the function {short_repr(self.name)}, which a file cannot hold: give it"
            " again in Python, dataclasses.replace(corpus.recipe, tokenizer=...)"
        )


def name_of(tokenizer: Callable[[str], Any]) -> str:
    """Return the name by which a recipe is stored that has this function."""
    if isinstance(tokenizer, MissingTokenizer):
        return tokenizer.name
    name = getattr(tokenizer, "__qualname__", type(tokenizer).__qualname__)
    module = getattr(tokenizer, "__module__", None)
    return f"{module}.{name}" if module else str(name)


def by_words(choices: Mapping[str, str]) -> Split:
    """Return the function that splits text into runs of letters, and what is kept whole."""
    numbers = choices["numbers"] != "drop"
    marks = [
        mark
        for kind, own in (("urls", "/."), ("emails", "@"), ("mentions", "@＠"), ("hashtags", "#＃"))
        if choices[kind] == "keep"
        for mark in own
    ]

    def split(text: str) -> list[str]:
        if numbers:
            return pattern().findall(text)
        for mark in marks:  # a generator in any() would take longer than all of its checks
            if mark in text:
                return pattern().findall(text)
        # In regular expressions the underscore is a word character; here it separates words.
        if "_" in text:
            text = text.replace("_", " ")
        return (_ASCII_WORD if text.isascii() else _unicode_word()).findall(text)

    @functools.cache
    def pattern() -> re.Pattern[str]:
        run = run_of(r"[^\W_]")
        return re.compile("|".join([*whole_patterns(choices), rf"{run}(?:'{run})*+"]), re.IGNORECASE)

    return split


def by_pattern(pattern: str) -> Split:
    """Return the function that finds the matches of a regular expression, or its only group."""
    return re.compile(pattern).findall


def check_pattern(pattern: object) -> None:
    """Refuse what is no regular expression with at most one group."""
    problem = None
    if not isinstance(pattern, str) or not pattern:
        problem = "it must be text"
    else:
        try:
            n_groups = re.compile(pattern).groups
        except (re.error, RecursionError, OverflowError) as error:
            problem = str(error)
        else:
            if n_groups > 1:
                problem = (
                    f"it has {n_groups} groups, and at most one may tell what the word is: write (?:...)"
                )
    if problem is not None:
        raise PlaitError(
            Argument("token_pattern"),
            f" must be a regular expression such as '[a-z]+', got {short_repr(pattern)}: {problem}",
        )


def by_icu(language: str | None) -> Split:
    """Return the function that splits text at the word breaks of ICU."""
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        what = "" if language is None else f" for {describe(language)}"
        raise PlaitError(
            Argument("tokenizer", "icu"), f'{what} needs icu4py: pip install "plait[icu]"'
        ) from None
    locale = language or "en"

    def split(text: str) -> list[str]:
        return [part for part in WordBreaker(text, locale) if any(map(str.isalnum, part))]

    return split


def by_function(function: Callable[[str], Iterable[str]]) -> Split:
    """Return a function that calls one of the user's, and checks what it returns."""

    def split(text: str) -> list[str]:
        words = function(text)
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise PlaitError(
                Argument("tokenizer"), f" must return a list of words for each text, got {short_repr(words)}"
            )
        found = list(words)
        for word in found:
            if not isinstance(word, str):
                raise PlaitError(
                    Argument("tokenizer"), f" must return words as strings, got {short_repr(word)}"
                )
        return [" ".join(word.split()) for word in found]

    return split


def choose(
    tokenizer: str | Callable[[str], Iterable[str]],
    token_pattern: str | None,
    language: str | None,
    choices: Mapping[str, str],
) -> Split:
    """Return the function that splits clean text into words, by the settings of a recipe."""
    if not isinstance(tokenizer, str):
        return by_function(tokenizer)
    if token_pattern is not None:
        return by_pattern(token_pattern)
    if tokenizer == "icu":
        return by_icu(language)
    if tokenizer == "auto" and language in UNSPACED:
        try:
            return by_icu(language)
        except PlaitError:
            raise PlaitError(
                f"{describe(str(language))} is written without spaces between words, and finding words needs"
                ' icu4py: pip install "plait[icu]", or choose ',
                Argument("tokenizer"),
                " yourself: 'words' if spaces separate the words of these texts",
            ) from None
    return by_words(choices)


# Finds the words that `_unicode_word` finds in ASCII text, in half the time.
# The repetitions are possessive (++): nothing could match after giving characters back, and the memory to try
# that would be a hundred times the text.
_ASCII_WORD = re.compile(r"\w++(?:'\w++)*+", re.ASCII)


@functools.cache
def _unicode_word() -> re.Pattern[str]:
    run = run_of(r"\w")
    return re.compile(rf"{run}(?:'{run})*+")
