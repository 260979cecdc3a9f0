"""The corpus: documents as arrays of word ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import frozen, short_repr
from plait.data import checks, encoding
from plait.data.text import DEFAULT_RECIPE, TextRecipe
from plait.errors import PlaitError


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents, each a sequence of words of a vocabulary.

    Make one with `from_texts`, `from_tokens`, `from_matrix` or `read`.  What the constructor accepts is
    consistent, and stays so: the arrays are read-only.  Empty documents are kept.

    Parameters
    ----------
    words : array of int32, shape (N,)
        The word id of every token, document after document.
    offsets : array of int64, shape (D + 1,)
        Document d is `words[offsets[d]:offsets[d + 1]]`.
    vocabulary : tuple of str, length W
        The words; their positions are their ids.
    names, dates : tuple of str, length D, or None
        What the documents are called, and their dates as ISO text ("1863" or "1863-11-19").
    columns : mapping of str to tuple of str
        Whatever else is known of each document.
    recipe : TextRecipe or None
        How the words were made from text, so that new text can be treated alike.
    """

    words: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: tuple[str, ...]
    names: tuple[str, ...] | None = None
    dates: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recipe: TextRecipe | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("words", checks.frozen_integers("words", self.words, np.int32))
        put("offsets", checks.frozen_integers("offsets", self.offsets, np.int64))
        put("vocabulary", checks.distinct_strings("vocabulary", self.vocabulary))
        if self.offsets.size < 2:
            raise PlaitError("the corpus has no documents: pass at least one")
        if self.offsets[0] != 0 or self.offsets[-1] != self.words.size or np.any(np.diff(self.offsets) < 0):
            raise PlaitError(
                f"offsets run from {self.offsets[0]} to {self.offsets[-1]} over {self.words.size} tokens: "
                "they must rise from 0 to the number of tokens without falling"
            )
        outside = (self.words < 0) | (self.words >= self.n_words)
        if outside.any():
            at = int(np.argmax(outside))
            raise PlaitError(
                f"words[{at}] is {self.words[at]} in a vocabulary of {self.n_words} words: "
                f"ids go from 0 to {self.n_words - 1}"
            )
        for name in ("names", "dates"):
            if getattr(self, name) is not None:
                put(name, checks.strings(name, getattr(self, name), self.n_documents))
        put("columns", MappingProxyType(checks.string_columns(self.columns, self.n_documents)))
        if self.recipe is not None and not isinstance(self.recipe, TextRecipe):
            raise PlaitError(f"recipe is {short_repr(self.recipe)}: pass a TextRecipe or None")

    def __repr__(self) -> str:
        return f"Corpus({self.n_documents} documents, {self.n_tokens} tokens, {self.n_words} words)"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles leave out that arrays are read-only and cannot hold a mapping proxy, so build anew.
        texts = (self.vocabulary, self.names, self.dates, dict(self.columns))
        return Corpus, (self.words, self.offsets, *texts, self.recipe)

    @property
    def n_tokens(self) -> int:
        """The number of tokens, N."""
        return int(self.words.size)

    @property
    def n_documents(self) -> int:
        """The number of documents, D, empty ones included."""
        return int(self.offsets.size) - 1

    @property
    def n_words(self) -> int:
        """The number of words in the vocabulary, W."""
        return len(self.vocabulary)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of tokens of each document."""
        return np.diff(self.offsets)

    @property
    def n_empty(self) -> int:
        """The number of documents without tokens."""
        return int(np.count_nonzero(self.lengths == 0))

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        vocabulary: Iterable[str] | None = None,
        names: Iterable[str] | None = None,
        dates: Iterable[str] | None = None,
        columns: Mapping[str, Iterable[str]] | None = None,
        recipe: TextRecipe | None = None,
    ) -> Corpus:
        """Make a corpus of documents that are already split into words.

        Parameters
        ----------
        documents : iterable of iterable of str
            The words of each document.
        vocabulary : iterable of str or None
            The vocabulary to use; words outside it are dropped, with a warning that counts them.  None
            takes all words, in alphabetical order.
        names, dates, columns, recipe
            As in `Corpus`.
        """
        lists = encoding.token_lists(documents)
        if vocabulary is None:
            known = tuple(sorted(set().union(*lists)))
        else:
            known = checks.distinct_strings("vocabulary", vocabulary)
        words, offsets, unknown = encoding.encode(lists, known)
        encoding.report_unknown(unknown, words.size, len(known))
        return _build(words, offsets, known, names, dates, columns, recipe)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        *,
        recipe: TextRecipe = DEFAULT_RECIPE,
        vocabulary: Iterable[str] | None = None,
        names: Iterable[str] | None = None,
        dates: Iterable[str] | None = None,
        columns: Mapping[str, Iterable[str]] | None = None,
    ) -> Corpus:
        """Make a corpus of raw texts.

        Parameters
        ----------
        texts : iterable of str
            The documents.  If the recipe splits paragraphs, each paragraph becomes a document that takes
            over the date and columns of its text, and its name with " #1", " #2", ... added.
        recipe : TextRecipe
            How text becomes words.
        vocabulary : iterable of str or None
            The vocabulary to use, for text that a fitted model should read: words outside it are dropped,
            with a warning that counts them, and the recipe's filters by counts do not apply.  None lets
            the recipe choose it.
        names, dates, columns
            As in `Corpus`, one entry for each text.
        """
        if not isinstance(recipe, TextRecipe):
            raise PlaitError(f"recipe is {short_repr(recipe)}: pass a TextRecipe")
        texts = checks.strings("texts", texts)
        parts = [recipe.paragraphs(text) for text in texts]
        origin = [d for d, own in enumerate(parts) for _ in own]
        documents = [part for own in parts for part in own]
        if names is not None:
            names = checks.strings("names", names, len(texts), "texts")
            if recipe.split_paragraphs:
                names = [f"{names[d]} #{k}" for d, own in enumerate(parts) for k in range(1, len(own) + 1)]
        if dates is not None:
            dates = _picked(checks.strings("dates", dates, len(texts), "texts"), origin)
        columns = {
            name: _picked(values, origin)
            for name, values in checks.string_columns(columns, len(texts)).items()
        }
        lists = list(recipe.token_lists(documents))
        if vocabulary is None:
            known = recipe.select_vocabulary(lists)
            if texts and not known:
                raise PlaitError(recipe.why_empty(documents, lists))
        else:
            known = checks.distinct_strings("vocabulary", vocabulary)
        words, offsets, unknown = encoding.encode(lists, known)
        if vocabulary is not None:
            encoding.report_unknown(unknown, words.size, len(known))
        return _build(words, offsets, known, names, dates, columns, recipe)

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        *,
        vocabulary: Iterable[str] | None = None,
        names: Iterable[str] | None = None,
        dates: Iterable[str] | None = None,
        columns: Mapping[str, Iterable[str]] | None = None,
        recipe: TextRecipe | None = None,
    ) -> Corpus:
        """Make a corpus of document-term counts.

        Parameters
        ----------
        X : array or scipy sparse matrix, shape (D, W)
            How often each word occurs in each document.  The tokens of a document come out in the order of
            their word ids.
        vocabulary : iterable of str or None
            The words of the columns; None calls them "0", "1", ...
        names, dates, columns, recipe
            As in `Corpus`.
        """
        words, offsets, n_words = encoding.expand_counts(X)
        known = map(str, range(n_words)) if vocabulary is None else vocabulary
        known = checks.strings("vocabulary", known, n_words, "columns of the matrix")
        return _build(words, offsets, known, names, dates, columns, recipe)

    @classmethod
    def read(cls, path: str | PathLike[str], **options: Any) -> Corpus:
        """Read a corpus from a file or folder; see `plait.data.readers.read` for formats and options."""
        from plait.data.readers import read

        return read(path, **options)

    def to_matrix(self) -> Any:
        """Return the counts as a scipy `csr_matrix` of int64, shape (D, W)."""
        from scipy.sparse import csr_matrix

        ones = np.ones(self.n_tokens, np.int64)
        shape = (self.n_documents, self.n_words)
        matrix = csr_matrix((ones, self.words, self.offsets), shape=shape, copy=True)
        matrix.sum_duplicates()
        return matrix

    def tokens(self, d: int) -> list[str]:
        """Return the words of document `d`."""
        if not 0 <= d < self.n_documents:
            raise PlaitError(f"document {d} does not exist: they go from 0 to {self.n_documents - 1}")
        return [self.vocabulary[w] for w in self.words[self.offsets[d] : self.offsets[d + 1]]]

    def select(self, documents: npt.ArrayLike) -> Corpus:
        """Return the corpus of some of the documents, with the same vocabulary.

        Parameters
        ----------
        documents : array of int or bool
            The documents to take, in this order, or a mask with one entry for each document.
        """
        index = np.asarray(documents)
        if index.dtype == np.bool_:
            if index.shape != (self.n_documents,):
                raise PlaitError(
                    f"the mask has shape {index.shape} for {self.n_documents} documents: pass one entry each"
                )
            index = np.flatnonzero(index)
        index = checks.frozen_integers("documents", index, np.int64)
        outside = index[(index < 0) | (index >= self.n_documents)]
        if outside.size:
            raise PlaitError(
                f"document {outside[0]} does not exist: they go from 0 to {self.n_documents - 1}"
            )
        lengths = self.lengths[index]
        offsets = encoding.offsets_of(lengths)
        positions = np.repeat(self.offsets[index] - offsets[:-1], lengths) + np.arange(offsets[-1])

        return _build(
            self.words[positions],
            offsets,
            self.vocabulary,
            None if self.names is None else _picked(self.names, index),
            None if self.dates is None else _picked(self.dates, index),
            {name: _picked(values, index) for name, values in self.columns.items()},
            self.recipe,
        )

    def reindexed(self, vocabulary: Iterable[str]) -> Corpus:
        """Return the same documents in another vocabulary.

        Words outside it are dropped, with a warning that counts them.
        """
        known = checks.distinct_strings("vocabulary", vocabulary)
        index = {word: w for w, word in enumerate(known)}
        new_ids = np.array([index.get(word, -1) for word in self.vocabulary], np.int32)
        words = new_ids[self.words]
        kept = words >= 0
        lost = np.bincount(self.words[~kept], minlength=self.n_words)
        unknown = Counter({self.vocabulary[w]: int(lost[w]) for w in np.flatnonzero(lost)})
        encoding.report_unknown(unknown, int(np.count_nonzero(kept)), len(known))
        offsets = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        return _build(words[kept], offsets, known, self.names, self.dates, self.columns, self.recipe)

    def equals(self, other: Corpus) -> bool:
        """Tell whether both have the same documents: words, offsets and vocabulary."""
        return (
            self.vocabulary == other.vocabulary
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.words, other.words)
        )

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Return the corpus as named arrays and a small header that JSON can hold; see `from_arrays`."""
        arrays: dict[str, npt.NDArray[Any]] = {"words": self.words, "offsets": self.offsets}
        texts = {"vocabulary": self.vocabulary, "names": self.names, "dates": self.dates}
        arrays |= {key: encoding.pack(value) for key, value in texts.items() if value is not None}
        arrays["columns"] = encoding.pack(dict(self.columns))
        return arrays, {"recipe": None if self.recipe is None else self.recipe.to_dict()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> Corpus:
        """Return the corpus that `to_arrays` wrote; loading runs no code that the arrays could bring."""
        for key in ("words", "offsets", "vocabulary", "columns"):
            if key not in arrays:
                raise PlaitError(f"the stored corpus has no array {key!r}: it is damaged or not a corpus")
        texts = {
            key: encoding.unpack(key, arrays[key])
            for key in ("vocabulary", "names", "dates", "columns")
            if key in arrays
        }
        if not isinstance(header, Mapping) or "recipe" not in header:
            raise PlaitError("the header of the stored corpus has no recipe: it is damaged or not a corpus")
        recipe = None if header["recipe"] is None else TextRecipe.from_dict(header["recipe"])
        return cls(arrays["words"], arrays["offsets"], **texts, recipe=recipe)


def _picked(values: Sequence[str], documents: Iterable[int]) -> tuple[str, ...]:
    return tuple(values[d] for d in documents)


def _build(
    words: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], vocabulary: tuple[str, ...], *rest: Any
) -> Corpus:
    # The arrays are our own: frozen here, they are taken over without a copy.
    return Corpus(frozen(words), frozen(offsets), vocabulary, *rest)
