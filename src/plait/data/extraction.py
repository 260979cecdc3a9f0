"""Extract the words of texts by a recipe, and remember how their stems looked in the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from plait.checks import short_repr
from plait.data.cleaning import CHOICES, NUMBER, cleaner, fold_accents, normal
from plait.data.languages import elisions, stemmer
from plait.data.phrases import GAP, joins, spans
from plait.data.splitting import choose
from plait.errors import Argument, PlaitError

if TYPE_CHECKING:
    from plait.data.text import TextRecipe

_WHOLE = ("#", "＃", "@", "＠")
"""What words start with that are neither stop words nor stemmed; nor are addresses, with a slash or an @."""

_RECENT = 2**14
"""Words are counted when there are more than these: to start counting takes longer than a short text."""


class Extractor:
    """Finds the words of texts; each distinct word is processed once.

    Parameters
    ----------
    recipe : TextRecipe
        Settings, of which none is left to be found out.
    """

    def __init__(self, recipe: TextRecipe) -> None:
        choices = {kind: getattr(recipe, kind) for kind in CHOICES}
        self._recipe = recipe
        self._own_split = callable(recipe.tokenizer)
        self._clean = cleaner(choices, lowercase=recipe.lowercase and not self._own_split)
        self._split = choose(recipe.tokenizer, recipe.token_pattern, recipe.language, choices)
        self._stop = frozenset(self._stop_forms())
        self._stemmer: Any = None if recipe.stemmer is None else stemmer(recipe.stemmer)
        self._elisions = elisions(recipe.language)
        self._starts = {} if recipe.phrases is False else joins(recipe.found_phrases or ())
        self._forms: dict[str, str] = {}
        self._surfaces: dict[str, str] = {}
        self._changes = self._stemmer is not None or recipe.fold_accents
        self._counts: Counter[str] = Counter()
        self._recent: list[str] = []
        self._phrase_counts: Counter[tuple[str, str]] = Counter()

    def words(self, text: str) -> list[str]:
        """Return the words of a text, nothing dropped but what the text was cleaned of."""
        words = self._split(self._clean(text))
        if self._own_split and self._recipe.lowercase:
            return [normal(word, lowercase=True) for word in words]
        return words

    def lists(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each text after all steps, phrases joined."""
        for words in self._known_words(texts):
            if self._changes:
                self._recent += words
                if len(self._recent) > _RECENT:
                    self._count_recent()
            if self._starts:
                yield self._joined(words)
            else:
                yield [form for word in words if (form := self._forms[word])]

    def lists_with_gaps(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each text before phrases are joined, with gaps where words were dropped."""
        for words in self._known_words(texts):
            yield [self._forms[word] for word in words]

    def surfaces(self) -> dict[str, str] | None:
        """Return how each word of the lists so far looked most often in the text; None if none changed.

        Of equally frequent forms, it is the first in the alphabet.
        """
        if not self._changes:
            return None
        self._count_recent()
        found: dict[str, Counter[str]] = {}
        for word, count in self._counts.items():
            if form := self._forms[word]:
                found.setdefault(form, Counter())[self._surfaces[word]] += count
        for (phrase, surface), count in self._phrase_counts.items():
            found.setdefault(phrase, Counter())[surface] += count
        return {form: min(same, key=lambda s: (-same[s], s)) for form, same in found.items()}

    def _count_recent(self) -> None:
        self._counts.update(self._recent)
        self._recent.clear()

    def _known_words(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield the words of each text, of all of which the forms are known."""
        forms = self._forms
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise PlaitError(Argument("texts"), f"[{i}] must be a string, got {short_repr(text)}")
            if not text:  # a file may have millions of blank lines
                yield []
                continue
            words = self.words(text)
            if new := {word for word in words if word not in forms}:
                self._learn(new)
            yield words

    def _joined(self, words: list[str]) -> list[str]:
        forms = [self._forms[word] for word in words]
        found = []
        for word, start, end in spans(forms, self._starts):
            if word != GAP:
                found.append(word)
                if self._changes and end - start > 1:
                    surface = " ".join(self._surfaces[part] for part in words[start:end])
                    self._phrase_counts[word, surface] += 1
        return found

    def _learn(self, words: Iterable[str]) -> None:
        """Find the form of each new word after stemming; it is a gap if the word is dropped."""
        recipe = self._recipe
        whole: list[str] = []
        kept: dict[str, str] = {}
        for word in words:
            self._forms[word] = GAP
            if word.startswith(_WHOLE) or "/" in word or "@" in word:
                if len(word) >= recipe.min_length and any(map(str.isalpha, word)):
                    whole.append(word)
                continue
            bare = word[:-2] if word.endswith(("'s", "'S")) else word
            if self._elisions is not None:
                bare = self._elisions.sub("", bare, count=1)
            if len(bare) < recipe.min_length:
                continue
            if not any(map(str.isalpha, bare)):
                if recipe.numbers == "replace" and any(map(str.isnumeric, bare)):
                    self._forms[word] = self._surfaces[word] = NUMBER
                elif recipe.numbers == "keep" and any(map(str.isnumeric, bare)):
                    whole.append(word)
                continue
            if self._stop.isdisjoint((word.lower(), bare.lower())):
                kept[word] = bare
        stems = kept.values() if self._stemmer is None else self._stemmer.stemWords(list(kept.values()))
        if recipe.fold_accents:
            stems = map(fold_accents, stems)
        self._forms.update(zip(kept, stems, strict=True))
        self._forms.update(zip(whole, whole, strict=True))
        if self._changes:
            self._surfaces.update(kept)
            self._surfaces.update(zip(whole, whole, strict=True))

    def _stop_forms(self) -> Iterator[str]:
        for word in self._recipe.stop_list():
            yield normal(word, lowercase=True)
            if self._recipe.fold_accents:
                yield fold_accents(normal(word, lowercase=True))
