"""The corpus: documents as arrays of word ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.arrays import check_indices, check_integer_array, check_offsets, frozen
from plait.checks import (
    check_flag,
    check_length,
    check_strings,
    is_unicode,
    short_repr,
)
from plait.data import encoding, limits
from plait.data.bags import Bags, read_bags, write_bags
from plait.data.extraction import Extractor
from plait.data.text import DEFAULT_RECIPE, TextRecipe, check_recipe
from plait.data.texts import Texts
from plait.data.vocabulary import Vocabulary
from plait.errors import Argument, PlaitError
from plait.storage import CORPUS, MALFORMED, DamagedFile, arrays_below, read_file, write_file

_DAMAGED = "the file is damaged or holds no corpus"
_KIND = "corpus"
_LISTS = ("vocabulary", "names", "dates", "forms")  # of strings, each an array of JSON in a file
_TEXTS = "texts."


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents, each a sequence of words of a vocabulary.

    Create one with `from_texts`, `from_tokens`, `from_matrix`, `from_gensim` or `read`.  The constructor
    checks that the parts are consistent, and the arrays are read-only, so they stay consistent.  Empty
    documents are kept.

    Parameters
    ----------
    words : array of int32, shape (N,)
        The word id of every token, document after document. Copied, unless nobody can write to it; a file
        that is mapped read-only (`numpy.memmap` with mode "r") is not copied, see `load`.
    offsets : array of int64, shape (D + 1,)
        Document d is `words[offsets[d]:offsets[d + 1]]`.
    vocabulary : tuple of str, length W
        The words; a word's position is its id.
    names, dates : tuple of str, length D, or None
        Names of the documents, and their dates in ISO format ("1863" or "1863-11-19").
    columns : mapping of str to tuple of str
        Other metadata, one entry per document in each column.
    recipe : TextRecipe or None
        How the words were extracted from text, so that new text can be processed in the same way.
    forms : tuple of str, length W, or None
        How each word is shown, if not as itself: "welfare" for the stem "welfar". See `shown_words`.
    texts : sequence of str, length D, or None
        The raw text of each document; kept compressed, see `plait.data.texts.Texts`.
    reading : mapping of str to str
        Options of `read` about the columns and dates of the file, to read other files in the same way.
    """

    words: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: tuple[str, ...]
    names: tuple[str, ...] | None = None
    dates: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recipe: TextRecipe | None = None
    forms: tuple[str, ...] | None = None
    texts: Sequence[str] | None = None
    reading: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("vocabulary", Vocabulary(self.vocabulary))
        put("words", check_indices("words", self.words, self.n_words, "the size of the vocabulary"))
        if np.size(self.offsets) < 2:
            raise PlaitError("the corpus has no documents: pass at least one")
        put("offsets", check_offsets(self.offsets, self.words.size, "tokens"))
        for name in ("names", "dates"):
            if getattr(self, name) is not None:
                put(name, check_strings(name, getattr(self, name), n=self.n_documents))
        put("columns", MappingProxyType(_check_columns(self.columns, self.n_documents)))
        if self.recipe is not None and not isinstance(self.recipe, TextRecipe):
            raise PlaitError(
                Argument("recipe"), f" must be a TextRecipe or None, got {short_repr(self.recipe)}"
            )
        if self.forms is not None:
            put("forms", check_strings("forms", self.forms, n=self.n_words, of="words"))
        if self.texts is not None:
            if not isinstance(self.texts, Texts):
                put("texts", Texts.pack(self.texts))
            check_length("texts", self.texts, self.n_documents)
        put("reading", MappingProxyType(_check_reading(self.reading)))

    def __repr__(self) -> str:
        return f"Corpus({self.n_documents} documents, {self.n_tokens} tokens, {self.n_words} words)"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle does not keep arrays read-only, nor can it hold a mapping proxy: call the constructor again.
        known = (self.vocabulary, self.names, self.dates, dict(self.columns), self.recipe, self.forms)
        return Corpus, (self.words, self.offsets, *known, self.texts, dict(self.reading))

    @property
    def n_tokens(self) -> int:
        """Number of tokens, N."""
        return int(self.words.size)

    @property
    def n_documents(self) -> int:
        """Number of documents, D, empty ones included."""
        return int(self.offsets.size) - 1

    @property
    def n_words(self) -> int:
        """Number of words in the vocabulary, W."""
        return len(self.vocabulary)

    @property
    def shown_words(self) -> tuple[str, ...]:
        """How each word is shown: its form, if the corpus has forms, else the word itself."""
        return self.vocabulary if self.forms is None else self.forms

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of each document."""
        return np.diff(self.offsets)

    @property
    def n_empty(self) -> int:
        """Number of documents without tokens."""
        return int(np.count_nonzero(self.lengths == 0))

    @property
    def note_of_empty(self) -> str:
        """A note on the documents without tokens; empty if there are none."""
        if not self.n_empty:
            return ""
        return (
            f"{self.n_empty} of {self.n_documents} documents are empty: they are kept, and their topic"
            " distribution is the prior's"
        )

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
        """Return the corpus of documents that are already split into words.

        Parameters
        ----------
        documents : iterable of iterable of str
            The words of each document.
        vocabulary : iterable of str or None
            The vocabulary to use; words outside it are dropped, with a warning that counts them.  None
            uses all words, in alphabetical order.
        names, dates, columns, recipe
            As in `Corpus`.
        """
        lists = encoding.token_lists(documents)
        if vocabulary is None:
            vocabulary = sorted(set().union(*lists))
        known = Vocabulary(vocabulary)
        words, offsets, unknown = encoding.encode(lists, known)
        encoding.report_unknown(unknown, words.size, known)
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
        keep_texts: bool = False,
    ) -> Corpus:
        """Return the corpus of raw texts.

        Parameters
        ----------
        texts : iterable of str
            The documents.  If the recipe splits paragraphs, each paragraph becomes a document with the date
            and columns of its text, and with the name of its text followed by " #1", " #2", ...
        recipe : TextRecipe
            How text becomes words.  The corpus keeps it with the language and the phrases that were found.
        vocabulary : iterable of str or None
            The vocabulary to use, such as that of a fitted model: words outside it are dropped, with a
            warning that counts them, and the recipe's filters by counts do not apply.  None lets the recipe
            choose it.
        names, dates, columns
            As in `Corpus`, one entry for each text.
        keep_texts : bool
            Whether the corpus keeps the texts, from which excerpts can then be shown.
        """
        check_flag("keep_texts", keep_texts)
        check_recipe("recipe", recipe)
        texts = check_strings("texts", texts)
        columns = _check_columns(columns, len(texts))
        if names is not None:
            names = check_strings("names", names, n=len(texts), of="texts")
        if dates is not None:
            dates = check_strings("dates", dates, n=len(texts), of="texts")
        documents: Sequence[str] = texts
        if recipe.split_paragraphs:
            parts = [recipe.paragraphs(text) for text in texts]
            documents = [part for own in parts for part in own]
            origin = [d for d, own in enumerate(parts) for _ in own]
            if names is not None:
                _check_names(names, texts, [len(own) for own in parts])
                names = [f"{names[d]} #{k}" for d, own in enumerate(parts) for k in range(1, len(own) + 1)]
            dates = None if dates is None else _picked(dates, origin)
            columns = {name: _picked(values, origin) for name, values in columns.items()}
        recipe = recipe.resolved(documents)
        extractor = Extractor(recipe)
        lists = [tuple(tokens) for tokens in extractor.lists(documents)]  # all empty ones are one object
        if vocabulary is None:
            known = Vocabulary(recipe.select_vocabulary(lists))
            if texts and not known:
                raise recipe.why_empty(documents, lists)
        else:
            known = Vocabulary(vocabulary)
        words, offsets, unknown = encoding.encode(lists, known)
        if vocabulary is not None:
            encoding.report_unknown(unknown, words.size, known)
        surfaces = extractor.surfaces()
        forms = None if surfaces is None else [surfaces.get(word, word) for word in known]
        kept = documents if keep_texts else None
        return _build(words, offsets, known, names, dates, columns, recipe, forms, kept)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        text: str | None = None,
        id: str | None = None,
        date: str | None = None,
        columns: str | Sequence[str] | None = None,
        date_format: str | None = None,
        recipe: TextRecipe = DEFAULT_RECIPE,
        vocabulary: Iterable[str] | None = None,
        keep_texts: bool = False,
    ) -> Corpus:
        """Return the corpus of the texts in a column of a data frame.

        Parameters
        ----------
        frame : DataFrame of pandas or polars
            One row per document.
        text, id, date : str or None
            Columns with the text, the name and the date of each document.  The defaults are "text", which is
            required, and "id" and "date", which are optional.  Missing values are empty.  Dates are turned
            into ISO format ("2016-12-30"); those that cannot be read stay as they are, with a warning.
        columns : "all", sequence of str or None
            Other columns to keep in `columns`, as text: all of them, those that are named, or none.
        date_format : str or None
            How to read dates that are text, see `plait.data.readers.read`.
        recipe, vocabulary, keep_texts
            As in `from_texts`.
        """
        from plait.data.documents import Roles
        from plait.data.frames import FRAME_ARGUMENTS, read_frame

        documents = read_frame(frame, Roles(text, id, date, columns, date_format, FRAME_ARGUMENTS))
        return documents.to_corpus(recipe, vocabulary, keep_texts=keep_texts)

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
        """Return the corpus of a document-term matrix.

        Parameters
        ----------
        X : array or scipy sparse matrix, shape (D, W)
            How often each word occurs in each document.  The tokens of a document are sorted by word id.
        vocabulary : iterable of str or None
            The words of the columns; None names them "0", "1", ...
        names, dates, columns, recipe
            As in `Corpus`.
        """
        words, offsets, n_words = encoding.expand_counts(X)
        if not isinstance(vocabulary, Vocabulary):
            known = map(str, range(n_words)) if vocabulary is None else vocabulary
            vocabulary = check_strings("vocabulary", known)
        check_length("vocabulary", vocabulary, n_words, of="columns of the matrix")
        return _build(words, offsets, vocabulary, names, dates, columns, recipe)

    @classmethod
    def from_gensim(
        cls,
        bags: Iterable[Iterable[tuple[int, int]]],
        dictionary: Mapping[int, str] | None = None,
        *,
        names: Iterable[str] | None = None,
        dates: Iterable[str] | None = None,
        columns: Mapping[str, Iterable[str]] | None = None,
    ) -> Corpus:
        """Return the corpus of bags of words, as gensim's `Dictionary.doc2bow` makes them.

        Parameters
        ----------
        bags : iterable of iterable of (int, int)
            For each document, pairs of the id of a word and its count.
        dictionary : gensim.corpora.Dictionary or mapping of int to str, optional
            The words by their ids. Ids that it skips are closed up. None names words "0", "1", ...
        names, dates, columns
            As in `Corpus`.
        """
        words, offsets, vocabulary = read_bags(bags, dictionary)
        return _build(words, offsets, vocabulary, names, dates, columns)

    def to_gensim(self) -> tuple[Bags, dict[int, str]]:
        """Return bags of words, and the words by their ids: `corpus` and `id2word` of gensim's models."""
        return write_bags(self.to_matrix()), dict(enumerate(self.vocabulary))

    @classmethod
    def read(cls, path: str | PathLike[str], **options: Any) -> Corpus:
        """Read a corpus from a file or folder; see `plait.data.readers.read` for formats and options."""
        from plait.data.readers import read

        return read(path, **options)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the corpus to a file, which `load` reads; a file that exists is replaced atomically."""
        arrays, header = self.to_arrays()
        write_file(Path(path), arrays, {"kind": _KIND, "corpus": header})

    @classmethod
    def load(cls, path: str | PathLike[str], *, mapped: bool = False) -> Corpus:
        """Read a corpus from a file that `save` wrote.

        Parameters
        ----------
        path : path
            The file.
        mapped : bool
            Whether the words stay in the file, which is mapped read-only, instead of taking 4 bytes of memory
            per token. All of them are read when the corpus is loaded, to check them.

            plait never changes a file in place, so a mapped corpus may be saved over. But if another program
            changes the file or makes it shorter, Python crashes or the results are wrong.
        """
        path = Path(path)
        names = ("words",) if check_flag("mapped", mapped) else ()
        header, arrays = read_file(path, CORPUS, mapped=names)
        if header.get("kind") != _KIND:
            raise PlaitError(
                f"{path} holds a model, not a corpus: give a file that {CORPUS.maker} wrote, or take"
                " the corpus of the model, plait.load(path).model.corpus"
            )
        try:
            # These arrays have no other owner: once read-only, they need not be copied.
            return cls.from_arrays({name: frozen(array) for name, array in arrays.items()}, header["corpus"])
        except MALFORMED as error:
            what = str(error) if isinstance(error, PlaitError) else "it lacks a part"
            raise DamagedFile(f"{path} is damaged: {what}; {CORPUS.remedy}") from error

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
            raise PlaitError(Argument("d"), f" must be from 0 to {self.n_documents - 1}, got {d}")
        return [self.vocabulary[w] for w in self.words[self.offsets[d] : self.offsets[d + 1]]]

    def select(self, documents: npt.ArrayLike) -> Corpus:
        """Return a corpus of some of the documents, with the same vocabulary.

        Parameters
        ----------
        documents : array of int or bool
            Indices of the documents, in the order of the result, or a mask with one entry per document.
        """
        index = np.asarray(documents)
        if index.dtype == np.bool_:
            if index.shape != (self.n_documents,):
                raise PlaitError(
                    Argument("documents"),
                    f" must have one entry for each of the {self.n_documents} documents if it is a mask,"
                    f" got shape {index.shape}",
                )
            index = np.flatnonzero(index)
        index = check_integer_array("documents", index, np.int64)
        outside = index[(index < 0) | (index >= self.n_documents)]
        if outside.size:
            raise PlaitError(
                Argument("documents"), f" must be from 0 to {self.n_documents - 1}, got {outside[0]}"
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
            self.forms,
            self.texts.select(index) if isinstance(self.texts, Texts) else None,
            self.reading,
        )

    def reindexed(self, vocabulary: Iterable[str]) -> Corpus:
        """Return the same documents in another vocabulary.

        Words outside it are dropped, with a warning that counts them.
        """
        known = Vocabulary(vocabulary)
        new_ids = np.array([known.ids.get(word, -1) for word in self.vocabulary], np.int32)
        words = new_ids[self.words]
        kept = words >= 0
        lost = np.bincount(self.words[~kept], minlength=self.n_words)
        unknown = Counter({self.vocabulary[w]: int(lost[w]) for w in np.flatnonzero(lost)})
        encoding.report_unknown(unknown, int(np.count_nonzero(kept)), known)
        offsets = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        forms = None
        if self.forms is not None:
            own = dict(zip(self.vocabulary, self.forms, strict=True))
            forms = [own.get(word, word) for word in known]
        rest = (self.names, self.dates, self.columns, self.recipe, forms, self.texts, self.reading)
        return _build(words[kept], offsets, known, *rest)

    def equals(self, other: Corpus) -> bool:
        """Return whether both have the same words, offsets and vocabulary, whatever else they hold."""
        return (
            self.vocabulary == other.vocabulary
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.words, other.words)
        )

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Return the corpus as named arrays and a small JSON-compatible header; see `from_arrays`."""
        arrays: dict[str, npt.NDArray[Any]] = {"words": self.words, "offsets": self.offsets}
        lists = {key: getattr(self, key) for key in _LISTS}
        arrays |= {key: encoding.pack(value) for key, value in lists.items() if value is not None}
        arrays["columns"] = encoding.pack(dict(self.columns))
        if isinstance(self.texts, Texts):
            arrays |= {f"{_TEXTS}{name}": array for name, array in self.texts.to_arrays().items()}
        recipe = None if self.recipe is None else self.recipe.to_dict()
        return arrays, {"recipe": recipe, "reading": dict(self.reading)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> Corpus:
        """Return the corpus that `to_arrays` wrote, without running code that the arrays could contain."""
        for key in ("words", "offsets", "vocabulary", "columns"):
            if key not in arrays:
                raise PlaitError(f"the stored corpus has no array {key!r}: {_DAMAGED}")
        fields = {
            key: encoding.unpack(key, arrays[key], damaged=_DAMAGED, mapping=key == "columns")
            for key in (*_LISTS, "columns")
            if key in arrays
        }
        texts = arrays_below(_TEXTS, arrays)
        fields["texts"] = Texts.from_arrays(texts) if texts else None
        fields["reading"] = header.get("reading", {}) if isinstance(header, Mapping) else {}
        if not isinstance(header, Mapping) or "recipe" not in header:
            raise PlaitError(f"the header of the stored corpus has no recipe: {_DAMAGED}")
        recipe = None if header["recipe"] is None else TextRecipe.from_dict(header["recipe"])
        return cls(arrays["words"], arrays["offsets"], **fields, recipe=recipe)


def _check_columns(columns: Mapping[str, Iterable[str]] | None, n: int) -> dict[str, tuple[str, ...]]:
    """Return columns of metadata as tuples of `n` strings."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise PlaitError(
            Argument("columns"),
            f" must be a mapping from names to sequences of strings, got {short_repr(columns)}",
        )
    for name in columns:
        if not isinstance(name, str):
            raise PlaitError(Argument("columns"), f" must have strings as names, got {short_repr(name)}")
        if not is_unicode(name):
            raise PlaitError(
                Argument("columns"),
                " must have names without lone surrogates, which UTF-8 cannot hold,"
                f" got {short_repr(name)}: rename it",
            )
    return {
        str(name): check_strings("columns", values, n=n, key=f"[{str(name)!r}]")
        for name, values in columns.items()
    }


def _check_reading(reading: Mapping[str, str]) -> dict[str, str]:
    is_mapping = isinstance(reading, Mapping)
    if is_mapping and all(isinstance(text, str) for pair in reading.items() for text in pair):
        return dict(reading)
    raise PlaitError(
        Argument("reading"), f" must be a mapping from strings to strings, got {short_repr(reading)}"
    )


def _check_names(names: Sequence[str], texts: Sequence[str], n_paragraphs: Sequence[int]) -> None:
    """Refuse names that would take too much memory if every paragraph of a text had its name."""
    n_characters = sum(map(len, texts))
    total = sum(len(name) * n for name, n in zip(names, n_paragraphs, strict=True))
    most = limits.NAMES.most(n_characters)
    if total > most:
        raise PlaitError(
            f"the names of the paragraphs have {total} characters, their texts {n_characters}: at most {most}"
            " are allowed; shorten the names of the texts"
        )


def _picked(values: Sequence[str], documents: Iterable[int]) -> tuple[str, ...]:
    return tuple(values[d] for d in documents)


def _build(
    words: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], vocabulary: Iterable[str], *rest: Any
) -> Corpus:
    # These arrays have no other owner: once read-only, they need not be copied.
    return Corpus(frozen(words), frozen(offsets), Vocabulary(vocabulary), *rest)
