"""From raw text to words: `TextRecipe`."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from plait.checks import check_integer, short_repr
from plait.data.checks import strings
from plait.data.stopwords import ENGLISH
from plait.errors import PlaitError


@dataclass(frozen=True)
class TextRecipe:
    """How text becomes words; the same recipe treats training text and new text alike.

    The steps, in order: split into words, lower-case, drop stop words and short words, stem (all by
    `tokens`, document by document), then choose the vocabulary by counts (`select_vocabulary`).

    Parameters
    ----------
    lowercase : bool
        Lower-case the text, by the rules of Unicode whatever the language.
    stop_words : "english", sequence of str or None
        Words to drop: the fixed list shipped with plait, a list of your own, or none.  They match whatever
        the case, before stemming.
    stem : str or None
        Snowball language to stem in, such as "english"; needs PyStemmer.
    min_count : int
        Drop words that occur fewer times than this in the corpus.
    min_df, max_df : int or float
        Drop words that occur in fewer, or in more, documents than this: an int is a number of documents, a
        float a share of them (so 1 is one document and 1.0 all of them).
    remove_top : int
        Drop this many of the most common words; of equally common ones the first in alphabetical order.
    split_paragraphs : bool
        Make each paragraph (separated by blank lines) a document of its own.
    min_length : int
        Drop words of fewer characters than this, counted before stemming.

    Notes
    -----
    A word is a run of letters of any script, their combining marks, and digits, with at least one letter:
    "17th" and "G7" are words, "1863" and "½" are not.  A hyphen separates words, so that "post-office" and
    "post office" agree.  An apostrophe between letters belongs to the word ("don't", "o'clock",
    "l'état"), but a final 's is dropped, be it a possessive or a shortened "is": "nation's" becomes
    "nation".  A word is a stop word if it is one with or without that 's, so "it's" and "let's" go, and so
    does "don't", which is on the list itself.  Text is brought to Unicode normal form C, the typographic
    apostrophe is taken as the plain one, soft hyphens vanish, and the dot that lower-casing leaves on the
    Turkish capital İ is removed.  Languages written without spaces come out as one word per run of letters:
    segment them beforehand and use `Corpus.from_tokens`.

    Each of the filters by counts (`min_count`, `min_df`, `max_df`, `remove_top`) looks at the counts before
    any of them acted, so they do not depend on their order: `remove_top=40` removes the 40 most common
    words of all, whatever else is removed.

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
                raise PlaitError(f"{name} is {short_repr(getattr(self, name))}: pass True or False")
        for name, least in (("min_count", 1), ("remove_top", 0), ("min_length", 1)):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), least=least))
        for name in ("min_df", "max_df"):
            object.__setattr__(self, name, _document_frequency(name, getattr(self, name)))
        if isinstance(self.stop_words, str):
            if self.stop_words != "english":
                raise PlaitError(
                    f"stop_words is {short_repr(self.stop_words)}: the only list shipped is 'english'; "
                    "pass your own as a sequence of words, or None"
                )
        elif self.stop_words is not None:
            object.__setattr__(self, "stop_words", strings("stop_words", self.stop_words))
        if self.stem is not None:
            _check_language(self.stem)

    def to_dict(self) -> dict[str, Any]:
        """Return the recipe as values that JSON can hold; `from_dict` reads them back."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.stop_words, tuple):
            values["stop_words"] = list(self.stop_words)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TextRecipe:
        """Return the recipe that `to_dict` wrote; what is missing takes its default."""
        if not isinstance(values, Mapping):
            raise PlaitError(f"recipe is {short_repr(values)}: pass a mapping of settings")
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise PlaitError(
                    f"recipe has no setting {short_repr(key)}: the settings are {', '.join(known)}"
                )
        return cls(**values)

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text, in order, before any filter by counts."""
        return next(self.token_lists([text]))

    def token_lists(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the `tokens` of each text; quicker than one call for each, as words are treated once."""
        stop = frozenset(_normal(word, lowercase=True) for word in self._stop_list())
        stemmer = None if self.stem is None else _stemmer(self.stem)
        forms: dict[str, str] = {}
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise PlaitError(f"document {i} is {short_repr(text)}, not a string: pass its text")
            words = _split(text, lowercase=self.lowercase)
            new = {word for word in words if word not in forms}
            if new:
                forms.update(self._forms(new, stop, stemmer))
            yield [form for word in words if (form := forms[word])]

    def paragraphs(self, text: str) -> list[str]:
        """Return the documents that one text makes: its paragraphs, or itself if they are not split."""
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

    def why_empty(self, texts: Iterable[str], token_lists: Iterable[Sequence[str]]) -> str:
        """Return the message for texts of which no word is left."""
        n_words = sum(len(_split(text, lowercase=self.lowercase)) for text in texts)
        if not n_words:
            return "the texts hold no words at all: check that they are the right ones"
        counts, removals = self._removals(token_lists)
        if not counts:
            return (
                f"no words are left: all {n_words} tokens are numbers, stop words (stop_words="
                f"{short_repr(self.stop_words)}) or shorter than min_length={self.min_length}; relax these"
            )
        removed = ", ".join(f"{name} {len(words)}" for name, words in removals.items() if words)
        return (
            f"no words are left: of {len(counts)} different words in {counts.total()} tokens, "
            f"the filters remove: {removed}; relax them"
        )

    def _stop_list(self) -> tuple[str, ...]:
        return ENGLISH if self.stop_words == "english" else tuple(self.stop_words or ())

    def _forms(self, words: Iterable[str], stop: frozenset[str], stemmer: Any) -> dict[str, str]:
        """Return what each word becomes; an empty string if it is dropped."""
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

    def _removals(self, token_lists: Iterable[Sequence[str]]) -> tuple[Counter[str], dict[str, set[str]]]:
        """Return how often each word occurs, and which words each filter by counts removes."""
        counts: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        n = 0
        for tokens in token_lists:
            n += 1
            counts.update(tokens)
            documents.update(set(tokens))

        def frequency(word: str, limit: int | float) -> int | float:
            # Divided rather than the limit multiplied, so that 3 of 30 documents are a share of exactly 0.1.
            return documents[word] / n if isinstance(limit, float) else documents[word]

        top = sorted(counts, key=lambda word: (-counts[word], word))[: self.remove_top]
        return counts, {
            f"min_count={self.min_count}": {word for word in counts if counts[word] < self.min_count},
            f"min_df={self.min_df}": {w for w in counts if frequency(w, self.min_df) < self.min_df},
            f"max_df={self.max_df}": {w for w in counts if frequency(w, self.max_df) > self.max_df},
            f"remove_top={self.remove_top}": set(top),
        }


def _document_frequency(name: str, value: object) -> int | float:
    if isinstance(value, float):
        if 0.0 <= value <= 1.0:
            return float(value)
        raise PlaitError(f"{name} is {value}: a share of documents is a float from 0.0 to 1.0")
    return check_integer(name, value, least=1)


def _check_language(language: object) -> None:
    try:
        import Stemmer
    except ImportError:
        # A corpus made elsewhere can still be opened; stemming itself will say what is missing.
        return
    languages = Stemmer.algorithms()
    if language not in languages:
        raise PlaitError(f"stem is {short_repr(language)}: the languages are {', '.join(languages)}")


def _stemmer(language: str) -> Any:
    try:
        import Stemmer
    except ImportError:
        raise PlaitError('stemming needs PyStemmer: pip install "plait[text]"') from None
    return Stemmer.Stemmer(language)


def _normal(text: str, *, lowercase: bool) -> str:
    if lowercase:
        text = text.lower().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", text).replace("\u2019", "'").replace("\u00ad", "")


def _split(text: str, *, lowercase: bool) -> list[str]:
    # The underscore is a word character to regular expressions, but not to readers.
    text = _normal(text, lowercase=lowercase).replace("_", " ")
    return (_ASCII_WORD if text.isascii() else _unicode_word()).findall(text)


# What `_unicode_word` finds in plain ASCII text, at half the time.
_ASCII_WORD = re.compile(r"\w+(?:'\w+)*", re.ASCII)


@functools.cache
def _unicode_word() -> re.Pattern[str]:
    """Return the pattern of a word.

    Python's word characters leave out the combining marks and the joiners, without which many scripts fall
    apart, so these are gathered from the Unicode tables.
    """
    characters = map(chr, range(sys.maxunicode + 1))
    marks = "".join(character for character in characters if unicodedata.category(character)[0] == "M")
    run = rf"\w+(?:[{marks}\u200c\u200d]\w*)*"
    return re.compile(rf"{run}(?:'{run})*")


DEFAULT_RECIPE = TextRecipe()
"""The recipe used where none is given."""
