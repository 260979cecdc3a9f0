"""Extract words from raw text: `TextRecipe`."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from plait.checks import check_integer, check_strings, list_names, short_repr
from plait.data.stopwords import ENGLISH
from plait.errors import Argument, Part, PlaitError

_MOST = 2**53  # no corpus has more words, and messages repeat the number
_SOME_LANGUAGES = ("english", "french", "german", "russian", "spanish", "turkish")  # for a message


@dataclass(frozen=True)
class TextRecipe:
    """How text becomes words; training text and new text are processed by the same recipe.

    The steps, in order: split into words, convert to lower case, drop stop words and short words, stem
    (`tokens` does these for one document), then choose the vocabulary by counts (`select_vocabulary`).

    Parameters
    ----------
    lowercase : bool
        Convert the text to lower case, by the rules of Unicode for any language.
    stop_words : "english", sequence of str or None
        Words to drop: the fixed list shipped with plait, a list of your own, or none.  They match in any
        case, before stemming.
    stem : str or None
        Language of the Snowball stemmer, such as "english"; needs PyStemmer.
    min_count : int
        Drop words that occur fewer times than this in the corpus.
    min_df, max_df : int or float
        Drop words that occur in fewer, or in more, documents than this: an int is a number of documents, a
        float a share of them (1 is one document, 1.0 is all of them).
    remove_top : int
        Drop this many of the most common words; ties are broken by alphabetical order.
    split_paragraphs : bool
        Make each paragraph a document; blank lines separate paragraphs.
    min_length : int
        Drop words of fewer characters than this, counted before stemming.

    Notes
    -----
    A word is a run of letters of any script, their combining marks, and digits, with at least one letter:
    "17th" and "G7" are words, "1863" and "½" are not.  A hyphen separates words, so that "post-office" and
    "post office" agree.  An apostrophe between letters belongs to the word ("don't", "o'clock",
    "l'état"), but a final 's is dropped, whether it is a possessive or short for "is": "nation's" becomes
    "nation".  A word is a stop word if it is on the list with or without that 's, so "it's" and "let's" are
    dropped, and so is "don't", which is on the list.  Text is converted to Unicode normal form C, the
    typographic apostrophe to the plain one, soft hyphens are removed, and so is the dot that lower case
    leaves on the Turkish capital İ.  In languages written without spaces, each run of letters is one word:
    segment such text first, and use `Corpus.from_tokens`.

    Each of the filters by counts (`min_count`, `min_df`, `max_df`, `remove_top`) uses the counts before any
    filtering, so their order does not matter: `remove_top=40` removes the 40 most common words of the
    unfiltered text.

    Examples
    --------
    >>> TextRecipe().tokens("The nation's harvests haven't failed in 1863.")
    ['nation', 'harvests', 'failed']
    """

    lowercase: bool = True
    stop_words: str | tuple[str, ...] | None = "english"
    stem: str | None = None
    min_count: int = 1
    min_df: int | float = 1
    max_df: int | float = 1.0
    remove_top: int = 0
    split_paragraphs: bool = False
    min_length: int = 1

    def __post_init__(self) -> None:
        for name in ("lowercase", "split_paragraphs"):
            if not isinstance(getattr(self, name), bool):
                raise PlaitError(
                    Argument(name), f" must be True or False, got {short_repr(getattr(self, name))}"
                )
        for name, least in (("min_count", 1), ("remove_top", 0), ("min_length", 1)):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), least=least, limit=_MOST))
        for name in ("min_df", "max_df"):
            object.__setattr__(self, name, _check_document_frequency(name, getattr(self, name)))
        if isinstance(self.stop_words, str):
            if self.stop_words != "english":
                raise PlaitError(
                    Argument("stop_words"),
                    f" must be 'english', a sequence of words or None, got {short_repr(self.stop_words)}",
                )
        elif self.stop_words is not None:
            object.__setattr__(self, "stop_words", check_strings("stop_words", self.stop_words))
        if self.stem is not None:
            _check_language(self.stem)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a JSON-compatible dict, which `from_dict` reads."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.stop_words, tuple):
            values["stop_words"] = list(self.stop_words)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TextRecipe:
        """Return the recipe that `to_dict` wrote; missing settings have their defaults."""
        if not isinstance(values, Mapping):
            raise PlaitError(Argument("recipe"), f" must be a mapping of settings, got {short_repr(values)}")
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise PlaitError(
                    Argument("recipe"), f" must have settings among {', '.join(known)}, got {short_repr(key)}"
                )
        return cls(**values)

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text, in order, before any filter by counts."""
        return next(self.token_lists([text]))

    def token_lists(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the `tokens` of each text; faster than calling `tokens`, as each word is processed once."""
        stop = frozenset(_normal(word, lowercase=True) for word in self._stop_list())
        stemmer = None if self.stem is None else _stemmer(self.stem)
        forms: dict[str, str] = {}
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise PlaitError(Argument("texts"), f"[{i}] must be a string, got {short_repr(text)}")
            if not text:  # a file may have millions of blank lines
                yield []
                continue
            words = _split(text, lowercase=self.lowercase)
            new = {word for word in words if word not in forms}
            if new:
                forms.update(self._forms(new, stop, stemmer))
            yield [form for word in words if (form := forms[word])]

    def paragraphs(self, text: str) -> list[str]:
        """Return the documents in a text: its paragraphs if the recipe splits them, else the text itself."""
        return re.split(r"\n\s*\n", text.strip()) if self.split_paragraphs else [text]

    def select_vocabulary(self, token_lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
        """Return the words that pass the filters by counts, in alphabetical order.

        Parameters
        ----------
        token_lists : iterable of sequence of str
            The `tokens` of every document.

        Returns
        -------
        tuple of str
            Empty if nothing passes.
        """
        counts, removals = self._removals(token_lists)
        return tuple(sorted(counts.keys() - set().union(*removals.values())))

    def why_empty(self, texts: Iterable[str], token_lists: Iterable[Sequence[str]]) -> PlaitError:
        """Return the error for texts without remaining words, which names the settings that removed them."""
        n_words = sum(len(_split(text, lowercase=self.lowercase)) for text in texts)
        if not n_words:
            return PlaitError("the texts have no words at all: check that they are the right ones")
        counts, removals = self._removals(token_lists)
        if counts:
            removed: list[Part] = []
            for argument, words in removals.items():
                if words:
                    removed += [", " if removed else "", argument, f" removes {len(words)}"]
            return PlaitError(
                f"no words are left of {len(counts)} different ones in {counts.total()} tokens: ",
                *removed,
                "; relax these settings",
            )
        reasons: list[Part] = []
        if self.stop_words is not None:
            value = self.stop_words if isinstance(self.stop_words, str) else None  # a list may be long
            reasons += [" or stop words (", Argument("stop_words", value), ")"]
        if self.min_length > 1:
            reasons += [" or shorter than ", Argument("min_length", self.min_length)]
        remedy = "; relax these settings" if reasons else ": a word has at least one letter"
        return PlaitError(f"no words are left: all {n_words} tokens are numbers", *reasons, remedy)

    def _stop_list(self) -> tuple[str, ...]:
        return ENGLISH if self.stop_words == "english" else tuple(self.stop_words or ())

    def _forms(self, words: Iterable[str], stop: frozenset[str], stemmer: Any) -> dict[str, str]:
        """Return the form of each word after stemming; an empty string if the word is dropped."""
        kept: dict[str, str] = {}
        forms = dict.fromkeys(words, "")
        for word in forms:
            bare = word[:-2] if word.endswith(("'s", "'S")) else word
            if (
                len(bare) >= self.min_length
                and any(map(str.isalpha, bare))
                and stop.isdisjoint((word.lower(), bare.lower()))
            ):
                kept[word] = bare
        stems = kept.values() if stemmer is None else stemmer.stemWords(list(kept.values()))
        forms.update(zip(kept, stems, strict=True))
        return forms

    def _removals(
        self, token_lists: Iterable[Sequence[str]]
    ) -> tuple[Counter[str], dict[Argument, set[str]]]:
        """Return the count of each word, and the words that each filter by counts removes."""
        counts: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        n = 0
        for tokens in token_lists:
            n += 1
            if tokens:
                counts.update(tokens)
                documents.update(set(tokens))

        def frequency(word: str, limit: int | float) -> int | float:
            # Dividing is exact where multiplying the limit is not: 3 of 30 documents are a share of 0.1.
            return documents[word] / n if isinstance(limit, float) else documents[word]

        top = sorted(counts, key=lambda word: (-counts[word], word))[: self.remove_top]
        return counts, {
            Argument("min_count", self.min_count): {word for word in counts if counts[word] < self.min_count},
            Argument("min_df", self.min_df): {w for w in counts if frequency(w, self.min_df) < self.min_df},
            Argument("max_df", self.max_df): {w for w in counts if frequency(w, self.max_df) > self.max_df},
            Argument("remove_top", self.remove_top): set(top),
        }


def _check_document_frequency(name: str, value: object) -> int | float:
    if isinstance(value, float):
        if 0.0 <= value <= 1.0:
            return float(value)
        raise PlaitError(
            Argument(name),
            f" must be a share of documents from 0.0 to 1.0, or a whole number of them, got {value}",
        )
    return check_integer(name, value, least=1, limit=_MOST)


def _check_language(language: object) -> None:
    try:
        import Stemmer
    except ImportError:
        # A stored corpus can be opened without the stemmer; `_stemmer` checks for it when it is needed.
        return
    known = Stemmer.algorithms()
    if not isinstance(language, str) or language not in known:
        raise PlaitError(
            Argument("stem"),
            f" must be one of {len(known)} languages, such as {list_names(_SOME_LANGUAGES)}"
            f" (Stemmer.algorithms() lists all), got {short_repr(language)}",
        )


def _stemmer(language: str) -> Any:
    try:
        import Stemmer
    except ImportError:
        raise PlaitError(Argument("stem", language), ' needs PyStemmer: pip install "plait[text]"') from None
    return Stemmer.Stemmer(language)


# More marks, or symbols, in a row than stream-safe text has (Unicode, annex 15), of which 30 are kept.
_LONG_RUN = re.compile(r"([^\x00-\x7f\w\s]{30})[^\x00-\x7f\w\s]+")


def _normal(text: str, *, lowercase: bool) -> str:
    if not text.isascii():
        text = _LONG_RUN.sub(r"\1", text)  # Python takes quadratic time to sort the marks on one letter
    if lowercase:
        text = text.lower().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", text).replace("\u2019", "'").replace("\u00ad", "")


def _split(text: str, *, lowercase: bool) -> list[str]:
    # In regular expressions the underscore is a word character; here it separates words.
    text = _normal(text, lowercase=lowercase).replace("_", " ")
    return (_ASCII_WORD if text.isascii() else _unicode_word()).findall(text)


# Finds the words that `_unicode_word` finds in ASCII text, in half the time.
# The repetitions are possessive (++): nothing could match after giving characters back, and the memory to try
# that would be a hundred times the text.
_ASCII_WORD = re.compile(r"\w++(?:'\w++)*+", re.ASCII)


@functools.cache
def _unicode_word() -> re.Pattern[str]:
    """Return the pattern of a word.

    Python's word characters lack the combining marks and the joiners, without which words of many scripts
    would be split, so these come from the Unicode tables.
    """
    characters = map(chr, range(sys.maxunicode + 1))
    marks = "".join(character for character in characters if unicodedata.category(character)[0] == "M")
    run = rf"\w++(?:[{marks}\u200c\u200d]\w*+)*+"
    return re.compile(rf"{run}(?:'{run})*+")


DEFAULT_RECIPE = TextRecipe()
"""The recipe that is used by default."""
