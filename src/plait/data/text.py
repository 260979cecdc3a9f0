"""How text becomes words: `TextRecipe`."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from plait.checks import check_choice, check_integer, check_number, check_strings, short_repr
from plait.data.cleaning import CHOICES, UNTOUCHED
from plait.data.detection import Detected, detect
from plait.data.extraction import Extractor
from plait.data.languages import (
    ENGLISH,
    LANGUAGES,
    check_language,
    check_stemmer,
    describe,
    find_language,
    stop_list,
)
from plait.data.phrases import THRESHOLD, find_phrases
from plait.data.splitting import TOKENIZERS, MissingTokenizer, check_pattern, name_of
from plait.errors import Argument, Part, PlaitError, PlaitWarning

_MOST = 2**53  # no corpus has more words, and messages repeat the number

_OF_OLD = {**UNTOUCHED, "language": None, "stop_words": "english"}
"""What the settings of recipes were that were stored before there were languages."""


@dataclass(frozen=True)
class TextRecipe:
    """How text becomes words; training text and new text are processed by the same recipe.

    The steps, in order: clean the text and split it into words, convert to lower case, drop stop words and
    short words, stem, fold accents, join phrases (`tokens` does these for one document), then choose the
    vocabulary by counts (`select_vocabulary`).

    Parameters
    ----------
    lowercase : bool
        Convert the text to lower case, by the rules of Unicode for any language.
    stop_words : "auto", name of a language, sequence of str or None
        Words to drop: by default the list of the `language`, if there is one; the list of the language that
        is named, by its code or English name; a list of your own; or none.  "english" is a short list that
        never changes, "en" the whole list of English.  They match in any case, before stemming.
    stem : bool, str or None
        Reduce words to their stems: True by the Snowball stemmer of the `language`, a name such as "german"
        or "de" by that one; needs PyStemmer.
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
    language : "auto", str or None
        The language of the texts, such as "de" or "german".  By default it is found out from the texts, and
        the recipe that a corpus keeps holds what was found: None if it is not clear.  With None, `stop_words`
        "auto" drops no words.
    urls, emails, mentions, hashtags : "drop", "keep" or "split"
        What to do with web addresses, e-mail addresses, @mentions and #hashtags: drop them, keep each as one
        word ("#climate"), or split them into ordinary words.  Hashtags are kept by default, the others
        dropped.  Unless mentions are split, the marks of retweets, such as RT, are dropped too.
    markup : "drop" or "keep"
        HTML tags are dropped, and entities such as &amp; replaced by their characters, unless kept.
    numbers : "drop", "keep" or "replace"
        Drop numbers, keep them as words, or replace each by the word "<number>".
    fold_accents : bool
        Write letters of the Latin and Greek scripts without accents, after stemming.
    tokenizer : "auto", "words", "icu" or callable
        How text is split into words.  "words" are runs of letters, as described below.  "icu" are the word
        breaks of ICU (needs icu4py), which "auto" uses for Chinese, Japanese, Thai, Lao, Khmer and Burmese.
        A callable takes a text, from which addresses and so on are dropped already, in its own case, and
        returns its words.  A file keeps only the name of a callable, so new text needs it given again.
    token_pattern : str or None
        A regular expression whose matches are the words, instead of runs of letters; if it has a group, the
        group is the word.  It is tried at every place of every text: nested repetitions such as "(a+)+" may
        take forever.
    phrases : bool or float
        Join words into phrases such as "united states": True, or the least normalised pointwise mutual
        information, from 0 (as often as by chance) to 1 (never apart), that makes neighbours a phrase.  True
        is 0.5.  Phrases have at most five words, and do not reach over a stop word or a number.
    phrase_count : int
        Least number of times that a phrase occurs.
    found_phrases : sequence of str or None
        The phrases, if they are known.  By default they are found in the texts, and kept with the corpus.

    Notes
    -----
    A word is a run of letters of any script, their combining marks, and digits, with at least one letter:
    "17th" and "G7" are words, "1863" and "½" are not.  A hyphen separates words, so that "post-office" and
    "post office" agree.  An apostrophe between letters belongs to the word ("don't", "o'clock"), but a final
    's is dropped, whether it is a possessive or short for "is": "nation's" becomes "nation".  In French,
    Italian, Catalan and Irish, articles and pronouns before an apostrophe are dropped: "l'état" becomes
    "état".  A word is a stop word if it is on the list with or without these, so "it's" and "let's" are
    dropped, and so is "don't", which is on the list.  Text is converted to Unicode normal form C, the
    typographic apostrophe to the plain one, soft hyphens are removed, and so is the dot that lower case
    leaves on the Turkish capital İ.

    Each of the filters by counts (`min_count`, `min_df`, `max_df`, `remove_top`) uses the counts before any
    filtering, so their order does not matter: `remove_top=40` removes the 40 most common words of the
    unfiltered text.

    Examples
    --------
    >>> TextRecipe(language="en").tokens("The nation's harvests haven't failed in 1863: http://t.co/x")
    ['nation', 'harvests', 'failed']
    """

    lowercase: bool = True
    stop_words: str | tuple[str, ...] | None = "auto"
    stem: str | bool | None = None
    min_count: int = 1
    min_df: int | float = 1
    max_df: int | float = 1.0
    remove_top: int = 0
    split_paragraphs: bool = False
    min_length: int = 1
    language: str | None = "auto"
    urls: str = "drop"
    emails: str = "drop"
    mentions: str = "drop"
    hashtags: str = "keep"
    markup: str = "drop"
    numbers: str = "drop"
    fold_accents: bool = False
    tokenizer: str | Callable[[str], Iterable[str]] = "auto"
    token_pattern: str | None = None
    phrases: bool | float = False
    phrase_count: int = 10
    found_phrases: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        for name in ("lowercase", "split_paragraphs", "fold_accents"):
            if not isinstance(getattr(self, name), bool):
                raise PlaitError(
                    Argument(name), f" must be True or False, got {short_repr(getattr(self, name))}"
                )
        for name, least in (("min_count", 1), ("remove_top", 0), ("min_length", 1), ("phrase_count", 1)):
            put(name, check_integer(name, getattr(self, name), least=least, limit=_MOST))
        for name in ("min_df", "max_df"):
            put(name, _check_document_frequency(name, getattr(self, name)))
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if self.language is not None and self.language != "auto":
            put("language", check_language("language", self.language, "'auto'", "None"))
        put("stop_words", _check_stop_words(self.stop_words))
        put("stem", _check_stem(self.stem))
        if self.stem is True and self.language != "auto" and self.stemmer is None:
            raise PlaitError(
                Argument("stem", True),
                f" needs a language that has a stemmer, got language {self.language!r}: name it, or leave",
                " stemming out",
            )
        self._check_splitting()
        put("phrases", _check_phrases(self.phrases))
        if self.found_phrases is not None:
            put("found_phrases", check_strings("found_phrases", self.found_phrases))

    def _check_splitting(self) -> None:
        if not callable(self.tokenizer):
            check_choice("tokenizer", self.tokenizer, TOKENIZERS)
        if self.token_pattern is not None:
            check_pattern(self.token_pattern)
            if self.tokenizer not in ("auto", "words"):
                raise PlaitError(
                    "pass either ", Argument("tokenizer"), " or ", Argument("token_pattern"), ", not both"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a JSON-compatible dict, which `from_dict` reads."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in values.items():
            if isinstance(value, tuple):
                values[name] = list(value)
        if not isinstance(self.tokenizer, str):
            values["tokenizer"] = {"name": name_of(self.tokenizer)}
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TextRecipe:
        """Return the recipe that `to_dict` wrote.

        Missing settings have their defaults; without a language, those of the time before there was that
        setting: text is taken as it stands, and stop words are English.
        """
        if not isinstance(values, Mapping):
            raise PlaitError(Argument("recipe"), f" must be a mapping of settings, got {short_repr(values)}")
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise PlaitError(
                    Argument("recipe"), f" must have settings among {', '.join(known)}, got {short_repr(key)}"
                )
        settings = dict(values) if "language" in values else {**_OF_OLD, **values}
        if isinstance(settings.get("tokenizer"), Mapping):
            settings["tokenizer"] = MissingTokenizer(str(settings["tokenizer"].get("name")))
        return cls(**settings)

    @property
    def is_resolved(self) -> bool:
        """Whether no setting is left to be found out from the texts."""
        return self.language != "auto" and (self.phrases is False or self.found_phrases is not None)

    def resolved(self, texts: Iterable[str]) -> TextRecipe:
        """Return the recipe with the language and the phrases that the texts have, unless they are given."""
        if self.is_resolved:
            return self
        texts = _checked(texts)
        recipe = self
        if recipe.language == "auto":
            recipe = recipe._with_language(self.detect(texts))
        if recipe.phrases is not False and recipe.found_phrases is None:
            documents = list(Extractor(recipe).lists_with_gaps(texts))
            found = find_phrases(documents, float(recipe.phrases), recipe.phrase_count)
            recipe = replace(recipe, found_phrases=found)
        return recipe

    def _with_language(self, detected: Detected) -> TextRecipe:
        """Return the recipe for the language that was found; warn of steps that cannot be done in it."""
        found = None if detected.code is None else LANGUAGES[detected.code]
        no_stop_words = self.stop_words == "auto" and not (found and found.has_list)
        no_stems = self.stem is True and not (found and found.stemmer)
        settled = replace(self, language=detected.code, stem=None if no_stems else self.stem)
        if found is not None:
            why = f"plait knows too little of {describe(found.code)}"
        else:
            why = f"the language of the texts is not clear, {detected.reason}"
        # Without function words, the language is not clear, but there are hardly any stop words to remove.
        if no_stems or (no_stop_words and (found is not None or detected.is_ambiguous)):
            steps = ["no stop words are removed"] * no_stop_words + ["words are not stemmed"] * no_stems
            warnings.warn(
                f"{why}: {' and '.join(steps)}; choose the language or the stop words yourself",
                PlaitWarning,
                stacklevel=4,
            )
        return settled

    def detect(self, texts: Sequence[str]) -> Detected:
        """Return the language of the texts, or why it is not clear."""
        choices = {kind: getattr(self, kind) for kind in CHOICES}
        return detect(texts, Extractor(TextRecipe(language=None, tokenizer="words", **choices)).words)

    def stop_list(self) -> tuple[str, ...]:
        """Return the stop words; none if the language is not known."""
        if self.stop_words == "auto":
            return stop_list(self.language) if self.language in LANGUAGES else ()
        if self.stop_words == ENGLISH:
            return stop_list(ENGLISH)
        if isinstance(self.stop_words, str):
            return stop_list(check_language("stop_words", self.stop_words))
        return self.stop_words or ()

    @property
    def stemmer(self) -> str | None:
        """The name of the Snowball stemmer, or None for no stemming."""
        if self.stem is True:
            return LANGUAGES[self.language].stemmer if self.language in LANGUAGES else None
        return self.stem or None

    def tokens(self, text: str) -> list[str]:
        """Return the words of one text, in order, before any filter by counts."""
        return next(self.token_lists([text]))

    def token_lists(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the `tokens` of each text; faster than calling `tokens`, as each word is processed once.

        If the language or the phrases are to be found out, all texts are read before the first list.
        """
        if not self.is_resolved:
            texts = _checked(texts)
        yield from Extractor(self.resolved(texts)).lists(texts)

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
        extractor = Extractor(self.resolved(texts := list(texts)))
        n_words = sum(len(extractor.words(text)) for text in texts)
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
        if self.stop_list():
            value = self.stop_words if isinstance(self.stop_words, str) else None  # a list may be long
            if value == "auto":
                value = str(self.language)
            reasons += [" or stop words (", Argument("stop_words", value), ")"]
        if self.min_length > 1:
            reasons += [" or shorter than ", Argument("min_length", self.min_length)]
        remedy = "; relax these settings" if reasons else ": a word has at least one letter"
        return PlaitError(f"no words are left: all {n_words} tokens are numbers", *reasons, remedy)

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


def _check_stop_words(value: Any) -> str | tuple[str, ...] | None:
    if value is None or value == "auto":
        return None if value is None else "auto"
    if not isinstance(value, str):
        return check_strings("stop_words", value)
    code = check_language("stop_words", value, "'auto'", "None", "a sequence of words")
    if not LANGUAGES[code].has_list:
        raise PlaitError(
            Argument("stop_words", value), " has no list: pass a sequence of words, or None for no stop words"
        )
    return value


def _check_stem(value: object) -> str | bool | None:
    if value is None or isinstance(value, bool):
        return value or None
    code = find_language(value)
    if code is not None:
        name = LANGUAGES[code].stemmer
        if name is None:
            raise PlaitError(
                Argument("stem"), f" must be a language that has a stemmer, got {short_repr(value)}"
            )
        return name
    check_stemmer(value)
    return str(value)


def _check_phrases(value: object) -> bool | float:
    if isinstance(value, bool):
        return THRESHOLD if value else False
    number = check_number("phrases", value)
    if number > 1.0:
        raise PlaitError(Argument("phrases"), f" must be True, False or a number from 0 to 1, got {value}")
    return number


def _checked(texts: Iterable[str]) -> Sequence[str]:
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise PlaitError(Argument("texts"), f"[{i}] must be a string, got {short_repr(text)}")
    return texts


DEFAULT_RECIPE = TextRecipe()
"""The recipe that is used by default."""

AS_WRITTEN: dict[str, Any] = {**UNTOUCHED, "language": "en", "stop_words": "english"}
"""Settings for edited English text, without addresses and markup; they give the words of early releases."""


def check_recipe(name: str, value: object) -> TextRecipe:
    """Return `value` if it is a recipe, or raise an error that names it."""
    if isinstance(value, TextRecipe):
        return value
    raise PlaitError(Argument(name), f" must be a TextRecipe, got {short_repr(value)}")
