"""Find out the language of texts from their function words and scripts."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from plait.data.languages import LANGUAGES, UNSPACED, describe, stop_list

_DOCUMENTS = 400
_CHARACTERS = 1000
"""How many documents are looked at, evenly spaced among all, and how much of each."""

_LEAST_SHARE = 0.05
"""Least score per word. In ordinary text it is 0.1 to 0.4; lists of names and tags have less."""

_LEAST_WORDS = 3
_LEAST_SCORE = 1.0
"""Least number of different function words, and sum of their scores: "war" alone is a German word, too."""

_MARGIN = 1.3
"""How many times the score of any other language the first must have."""

_LEAST_AGREEMENT = 0.6
"""Share of the documents whose own first language must be that of all of them together."""

_SCRIPTS = {
    "ja": re.compile("[\u3041-\u30ff]"),
    "zh": re.compile("[\u4e00-\u9fff\u3400-\u4dbf]"),
    "th": re.compile("[\u0e01-\u0e4e]"),
    "lo": re.compile("[\u0e81-\u0eff]"),
    "km": re.compile("[\u1780-\u17df]"),
    "my": re.compile("[\u1000-\u109f]"),
    "ko": re.compile("[\uac00-\ud7af]"),
}
"""Scripts that only one language uses, or almost; words of these need not be separated by spaces."""

_LEAST_IN_SCRIPT = 6  # characters


class Detected(NamedTuple):
    """What was found.

    Attributes
    ----------
    code : str or None
        The language, or None if it is not clear.
    reason : str
        Why it is not clear; empty if it is.
    is_ambiguous : bool
        Whether it is not clear because several languages are possible, not because none is.
    """

    code: str | None
    reason: str = ""
    is_ambiguous: bool = False


def detect(texts: Sequence[str], split: Callable[[str], list[str]]) -> Detected:
    """Return the language of most of the texts, if it is clear.

    Parameters
    ----------
    texts : sequence of str
        The documents, of which a few hundred are looked at, always the same ones.
    split : callable
        Returns the words of a text in lower case.

    Notes
    -----
    A word that is a function word of k languages scores 1/k for each of them. So words that are common but
    shared, such as "de" and "a", count little, and a few of a language's own words decide.
    """
    some = [text[:_CHARACTERS] for text in texts[:: max(1, len(texts) // _DOCUMENTS)] if text]
    if by_script := _by_script("".join(some)):
        return by_script
    scores: Counter[str] = Counter()
    firsts: Counter[str] = Counter()
    found: set[str] = set()
    weights = _weights()
    n_words = 0
    for text in some:
        words = split(text)
        n_words += len(words)
        own: Counter[str] = Counter()
        for word in words:
            if word in weights:
                found.add(word)
                own.update(weights[word])
        scores.update(own)
        if own:
            firsts[_ranked(own)[0]] += 1
    if not scores:
        return Detected(None, "they have no function words of the languages that plait knows")
    first, second = (*_ranked(scores), "")[:2]
    n_found = sum(first in weights[word] for word in found)
    if n_found < _LEAST_WORDS or scores[first] < max(_LEAST_SCORE, _LEAST_SHARE * n_words):
        return Detected(None, "they have few function words of the languages that plait knows")
    if firsts[first] < _LEAST_AGREEMENT * firsts.total():
        others = [code for code in _ranked(firsts) if code != first][:1]
        return Detected(
            None, f"some are {' and some '.join(describe(code) for code in (first, *others))}", True
        )
    if second and scores[first] < _MARGIN * scores[second]:
        return Detected(None, f"it could be {describe(first)} or {describe(second)}", True)
    return Detected(first)


def _by_script(text: str) -> Detected | None:
    if text.isascii():
        return None
    counts = {code: len(pattern.findall(text)) for code, pattern in _SCRIPTS.items()}
    if counts["ja"] * 20 > counts["zh"]:  # Japanese mixes the scripts
        counts["ja"] += counts.pop("zh")
    code = max(counts, key=lambda code: counts[code])
    n_letters = sum(map(str.isalpha, text))
    if counts[code] < _LEAST_IN_SCRIPT or 2 * counts[code] < n_letters:
        return None
    return Detected(code)


def _ranked(scores: Counter[str]) -> list[str]:
    return sorted(scores, key=lambda code: (-scores[code], code))


@functools.cache
def _weights() -> dict[str, dict[str, float]]:
    """Return what each function word scores for each language."""
    owners: dict[str, list[str]] = {}
    for code, language in LANGUAGES.items():
        if language.has_list and code not in UNSPACED:
            for word in stop_list(code):
                owners.setdefault(word, []).append(code)
    return {word: dict.fromkeys(codes, 1 / len(codes)) for word, codes in owners.items()}
