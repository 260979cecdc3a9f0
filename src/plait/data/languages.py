"""Languages: their codes and names, stop words, stemmers, and how their words are told apart."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any, NamedTuple

from plait.checks import short_repr
from plait.errors import Argument, PlaitError


class Language(NamedTuple):
    """A language.

    Attributes
    ----------
    code : str
        Its ISO 639-1 code.
    name : str
        Its English name, such as "German".
    stemmer : str or None
        The name of its Snowball stemmer.
    has_list : bool
        Whether plait has a list of its stop words.
    """

    code: str
    name: str
    stemmer: str | None
    has_list: bool


_STEMMED = """
    ar Arabic, hy Armenian, eu Basque, ca Catalan, cs Czech, da Danish, nl Dutch, en English, eo Esperanto,
    et Estonian, fi Finnish, fr French, de German, el Greek, hi Hindi, hu Hungarian, id Indonesian, ga Irish,
    it Italian, lt Lithuanian, ne Nepali, no Norwegian, fa Persian, pl Polish, pt Portuguese, ro Romanian,
    ru Russian, sr Serbian, st Sesotho, es Spanish, sv Swedish, ta Tamil, tr Turkish, yi Yiddish
"""
_LISTED = """
    af Afrikaans, bg Bulgarian, zh Chinese, hr Croatian, gl Galician, he Hebrew, is Icelandic, ja Japanese,
    lv Latvian, sk Slovak, sl Slovenian, th Thai, uk Ukrainian
"""
_OTHERS = "my Burmese, km Khmer, ko Korean, lo Lao, vi Vietnamese"


def _entries(table: str) -> list[list[str]]:
    return [entry.split() for entry in table.split(",")]


LANGUAGES: dict[str, Language] = {
    **{code: Language(code, name, name.lower(), True) for code, name in _entries(_STEMMED)},
    **{code: Language(code, name, None, True) for code, name in _entries(_LISTED)},
    **{code: Language(code, name, None, False) for code, name in _entries(_OTHERS)},
}
"""All languages by their codes."""

_CODES = {language.name.lower(): code for code, language in LANGUAGES.items()} | {
    **{code: code for code in LANGUAGES},
    "nb": "no",
    "nn": "no",
    "bokmål": "no",
    "nynorsk": "no",
    "iw": "he",
    "in": "id",
    "farsi": "fa",
}

UNSPACED = frozenset({"zh", "ja", "th", "lo", "km", "my"})
"""Languages that are written without spaces between words."""

_ELIDED = {
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": "l d m t s v c un dell all nell sull dall coll quell quest bell sant nessun ciascun alcun",
    "ca": "l d m t s n",
    "ga": "d b m",
}


def find_language(value: object) -> str | None:
    """Return the code of a language, given its code or its English name, or None if it is unknown."""
    return _CODES.get(value.strip().lower()) if isinstance(value, str) else None


def check_language(argument: str, value: object, *others: str) -> str:
    """Return the code of a language, given its code or its English name in any case.

    Parameters
    ----------
    argument : str
        Name of the argument, for messages.
    value : object
        What was given for it.
    *others : str
        What else the argument may be, for messages.
    """
    code = find_language(value)
    if code is None:
        what = ", ".join((*others, "a language such as 'de' or 'german'"))
        raise PlaitError(
            Argument(argument),
            f" must be {what} (one of {', '.join(sorted(LANGUAGES))}), got {short_repr(value)}",
        )
    return code


def describe(code: str) -> str:
    """Return the name of a language with its code: German (de)."""
    return f"{LANGUAGES[code].name} ({code})"


ENGLISH = "english"
"""The name of the list of English stop words that never changes, a part of the list of the language."""


@functools.cache
def stop_list(name: str) -> tuple[str, ...]:
    """Return the stop words of a language, given its code, or the list `ENGLISH`.

    They are in lower case and Unicode normal form C, with the plain apostrophe.
    """
    if name != ENGLISH and not LANGUAGES[name].has_list:
        return ()
    file = resources.files("plait.data").joinpath("stop_words", f"{name}.txt")
    return tuple(file.read_text(encoding="utf-8").split())


@functools.cache
def elisions(code: str | None) -> re.Pattern[str] | None:
    """Return the pattern of elided articles and pronouns before a word, such as the l' of l'état."""
    if code not in _ELIDED:
        return None
    return re.compile(rf"(?:(?:{'|'.join(_ELIDED[code].split())})')++(?=\w)", re.IGNORECASE)


def check_stemmer(name: object) -> None:
    """Refuse a stemmer that does not exist; without PyStemmer, any name passes.

    A stored corpus can be opened without the stemmer; `stemmer` checks for it when it is needed.
    """
    try:
        import Stemmer
    except ImportError:
        return
    known = Stemmer.algorithms()
    if not isinstance(name, str) or name not in known:
        raise PlaitError(
            Argument("stem"),
            f" must be True, for the language of the texts, or one of {len(known)} languages, such as"
            f" 'german' or 'es' (Stemmer.algorithms() lists all), got {short_repr(name)}",
        )


def stemmer(name: str) -> Any:
    """Return the Snowball stemmer of this name."""
    try:
        import Stemmer
    except ImportError:
        raise PlaitError(Argument("stem", name), ' needs PyStemmer: pip install "plait[text]"') from None
    return Stemmer.Stemmer(name)
