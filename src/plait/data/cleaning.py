"""Clean text before it is split into words: normal form, markup, addresses, mentions and hashtags."""

from __future__ import annotations

import functools
import html
import re
import sys
import unicodedata
from collections.abc import Callable, Mapping
from html.entities import html5

CHOICES: dict[str, tuple[str, ...]] = {
    "urls": ("drop", "keep", "split"),
    "emails": ("drop", "keep", "split"),
    "mentions": ("drop", "keep", "split"),
    "hashtags": ("keep", "drop", "split"),
    "markup": ("drop", "keep"),
    "numbers": ("drop", "keep", "replace"),
}
"""What may be done with parts of text that are no words; the first is the default.

"keep" makes a word of the whole; "split" takes its letters for ordinary words.
"""

UNTOUCHED = {
    "urls": "split",
    "emails": "split",
    "mentions": "split",
    "hashtags": "split",
    "markup": "keep",
    "numbers": "drop",
}
"""Text is taken as it stands: these are the choices of recipes that were stored before there were any."""

NUMBER = "<number>"
"""The word that stands for all numbers if they are replaced."""

# No repetition below can be tried in two ways: they are possessive, or what follows cannot be part of them.
# And no alternative starts within what it failed on before, so all take linear time on any text.
_URL_CHARACTERS = r"[^\s<>\"“”„«»…\u2e80-\ufaff\uff00-\uffef\u0e00-\u0e7f]"
_URL = rf"""(?x:
    (?<![a-z0-9])(?:
        (?:https?|ftp)://{_URL_CHARACTERS}*+
      | www\.{_URL_CHARACTERS}*+
      | ht{{1,2}}p?s?:?/?/?(?=…|\.\.\.)          # cut off, at the end of a tweet
      | https?:?/?/?(?=\s*+$)
      | (?<![@.\w-])(?:[a-z0-9-]++\.)++(?:
            [a-z]{{2,12}}/{_URL_CHARACTERS}*+
          | (?:com|org|net|gov|edu)(?![\w-])
        )
    ))"""
_EMAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)++"
_MENTION = r"(?<![\w/.])[@＠]\w++(?:@[\w.-]++)?+"
_PATTERNS = {"urls": _URL, "emails": _EMAIL, "mentions": _MENTION}
_RETWEET = re.compile(r"\b(?:RT|MT)\b|\b(?:via|cc|by|h/t)(?=:?\s*+@\w)")

_TAGS = """
    a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body br
    button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl
    dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr
    html i iframe img input ins kbd label legend li link main map mark menu meta meter nav noframes noscript
    object ol optgroup option output p param picture pre progress q ref rp rt ruby s samp script section
    select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot
    th thead time title tr track tt u ul var video wbr
"""
_TAG = re.compile(rf"</?+(?:{'|'.join(_TAGS.split())})(?:\s[^<>]*+|/)?+>|<[!?][^<>]*+>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BLOCKS = (("<!--", "-->"), ("<script", "</script"), ("<style", "</style"))

# More marks, or symbols, in a row than stream-safe text has (Unicode, annex 15), of which 30 are kept.
_LONG_RUN = re.compile(r"([^\x00-\x7f\w\s]{30})[^\x00-\x7f\w\s]+")

# Accents of Latin and Greek letters, and the dots of ё. In Cyrillic, й is a letter of its own, and in other
# scripts marks are vowels.
_ACCENTS = re.compile("(?<=[A-Za-zı\u0370-\u03ff])[\u0300-\u036f]++|(?<=[еЕ])\u0308")
_UNDECOMPOSED = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d",
     "Ð": "D", "ł": "l", "Ł": "L", "ħ": "h", "þ": "th", "Þ": "Th", "ı": "i"}
)  # fmt: skip


def normal(text: str, *, lowercase: bool) -> str:
    """Return the text in Unicode normal form C, with plain apostrophes, and in lower case if asked for."""
    if not text.isascii():
        text = _LONG_RUN.sub(r"\1", text)  # Python takes quadratic time to sort the marks on one letter
    if lowercase:
        text = text.lower().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", text).replace("\u2019", "'").replace("\u00ad", "")


def fold_accents(word: str) -> str:
    """Return the word without the accents of its letters: é becomes e, ß becomes ss."""
    if word.isascii():
        return word
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_UNDECOMPOSED)
    return unicodedata.normalize("NFC", plain)


def cleaner(choices: Mapping[str, str], *, lowercase: bool) -> Callable[[str], str]:
    """Return a function that normalises a text and replaces by blanks what is to be dropped.

    Parameters
    ----------
    choices : mapping of str to str
        One of its `CHOICES` for each kind.
    lowercase : bool
        Whether to convert to lower case.
    """
    if (
        all(choices[kind] != "drop" for kind in (*_PATTERNS, "hashtags", "markup"))
        and choices["mentions"] == "split"
    ):
        return lambda text: normal(text, lowercase=lowercase)
    markup = choices["markup"] == "drop"
    retweets = choices["mentions"] != "split"
    hashtags = choices["hashtags"] == "drop"
    urls, emails, mentions = (choices[kind] == "drop" for kind in _PATTERNS)

    def clean(text: str) -> str:
        if markup and ("&" in text or "<" in text):
            text = _without_markup(text)
        at = "@" in text or "＠" in text
        if retweets and (at or "RT" in text):
            text = _RETWEET.sub(" ", text)
        text = normal(text, lowercase=lowercase)
        if urls and _may_have_url(text):
            text = _dropped("urls").sub(" ", text)
        if at:
            if emails:
                text = _dropped("emails").sub(" ", text)
            if mentions:
                text = _dropped("mentions").sub(" ", text)
        if hashtags and ("#" in text or "＃" in text):
            text = _hashtag().sub(" ", text)
        return text

    return clean


def whole_patterns(choices: Mapping[str, str]) -> list[str]:
    """Return the patterns of what is kept whole."""
    kept = [pattern for kind, pattern in _PATTERNS.items() if choices[kind] == "keep"]
    if choices["hashtags"] == "keep":
        kept.append(_hashtag().pattern)
    if choices["numbers"] != "drop":
        kept.append(r"(?<!\w)[0-9]++(?:[.,:][0-9]++)*+(?![^\W_])")
    return kept


def run_of(letter: str) -> str:
    """Return the pattern of a run of letters, given that of one.

    Python's word characters lack the combining marks and the joiners, without which words of many scripts
    would be split, so these come from the Unicode tables.
    """
    return rf"{letter}++(?:[{_marks()}\u200c\u200d]{letter}*+)*+"


@functools.cache
def _marks() -> str:
    characters = map(chr, range(sys.maxunicode + 1))
    return "".join(character for character in characters if unicodedata.category(character)[0] == "M")


@functools.cache
def _dropped(kind: str) -> re.Pattern[str]:
    # That of addresses takes 30 ms to compile, and most texts have none.
    return re.compile(_PATTERNS[kind], re.IGNORECASE if kind == "urls" else re.NOFLAG)


@functools.cache
def _hashtag() -> re.Pattern[str]:
    return re.compile(r"(?<![\w/&])[#＃]" + run_of(r"\w"))


def _may_have_url(text: str) -> bool:
    return (
        "/" in text
        or "www." in text
        or "htt" in text
        or ".com" in text
        or ".org" in text
        or ".net" in text
        or ".gov" in text
        or ".edu" in text
    )


def _character(entity: re.Match[str]) -> str:
    name = entity[0][1:]
    return html.unescape(entity[0]) if name[0] == "#" else html5.get(name, entity[0])


def _without_markup(text: str) -> str:
    for _ in range(2):  # &amp;amp; was escaped twice
        if "&" in text:
            text = _ENTITY.sub(_character, text)
    if "<" in text:
        for start, end in _BLOCKS:
            text = _without_blocks(text, start, end)
        text = _TAG.sub(" ", text)
    return text


def _without_blocks(text: str, start: str, end: str) -> str:
    """Remove what stands between two marks; regular expressions would look for them in quadratic time."""
    lower = text.lower()
    if start not in lower or len(lower) != len(text):  # lower case of a few letters is longer
        return text
    parts = []
    begin = 0
    while (opening := lower.find(start, begin)) >= 0 and (closing := lower.find(end, opening)) >= 0:
        parts += [text[begin:opening], " "]
        begin = closing + len(end)
    return "".join([*parts, text[begin:]])
