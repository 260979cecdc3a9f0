"""Corpora on disk, larger than memory: a folder of shards with a manifest.

`encode` reads a file twice, one document at a time. The first pass counts words and chooses the vocabulary,
the second writes the numbers of the words in shards of whole documents:

    DIR/manifest        the vocabulary, where each document starts, its name and date; the list of shards
    DIR/shard-00000     the words of the first documents, and so on

All are files of `plait.storage`, with checksums. The manifest is written last, and the folder gets its name
when it is complete.

An `EncodedCorpus` reads the words when somebody asks for them. On a cluster nobody does: each worker reads
the shards that have its documents.
"""

from __future__ import annotations

import os
import shutil
from array import array
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from plait.arrays import check_indices, check_offsets, frozen, stored
from plait.checks import short_repr
from plait.data import encoding
from plait.data.corpus import Corpus
from plait.data.extraction import Extractor
from plait.data.streams import Stream
from plait.data.text import TextRecipe
from plait.errors import Argument, PlaitError
from plait.mapped import new_array
from plait.outputs import cannot_write
from plait.storage import MALFORMED, Contents, DamagedFile, read_file, write_file

SHARD_TOKENS: Final = 2**24
"""A shard ends with the document that fills it: 64 MB."""

DETECTED: Final = 20_000
"""Number of documents, the first ones, from which the language is found out."""

MANIFEST: Final = "manifest"

ENCODED: Final = Contents("encoded corpus", "`plait encode`", "encode the documents again")


class EncodedCorpus(Corpus):
    """A corpus in a folder that `encode` wrote.

    Use `open`. Everything but the words is in memory; these are read, and kept, when they are asked for.
    """

    folder: Path
    checksum: int
    """The checksum of the manifest, by which a run knows its corpus."""
    frequencies: npt.NDArray[np.int64]
    _shards: list[str]
    _starts: npt.NDArray[np.int64]
    _words_in: Path | None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], words_in: Path | None = None) -> EncodedCorpus:
        """Return the corpus in a folder.

        Parameters
        ----------
        folder : path
            The folder.
        words_in : Path, optional
            A folder for a file without a name, in which the words are kept instead of in memory.
        """
        folder = Path(folder).absolute()
        header, arrays = read_file(folder / MANIFEST, ENCODED)
        try:
            if header["kind"] != "encoded":
                raise PlaitError("it is a file of another kind")
            offsets = stored(arrays, "offsets", np.int64)
            offsets = check_offsets(frozen(offsets), int(offsets[-1]), "tokens")
            starts = check_offsets(stored(arrays, "starts", np.int64), len(offsets) - 1, "documents")
            packed = {
                name: encoding.unpack(name, arrays[name], damaged=ENCODED.remedy)
                for name in ("vocabulary", "forms", "names", "dates")
                if name in arrays
            }
            # The checks of a corpus without words.
            bare = Corpus(np.zeros(0, np.int32), np.zeros(len(offsets), np.int64), **packed)
            recipe = TextRecipe.from_dict(header["recipe"])
            frequencies = stored(arrays, "frequencies", np.int64)
            if len(frequencies) != bare.n_words or frequencies.sum() != offsets[-1]:
                raise PlaitError("the frequencies of its words do not fit")
            if len(header["shards"]) != len(starts) - 1:
                raise PlaitError("its list of shards does not fit")
        except MALFORMED as error:
            what = str(error) if isinstance(error, PlaitError) else f"it lacks a part ({error})"
            raise DamagedFile(f"{folder} is damaged: {what}; {ENCODED.remedy}") from error
        corpus = object.__new__(cls)
        values = {name: value for name, value in vars(bare).items() if name != "words"}
        own = {"_shards": header["shards"], "_starts": starts, "_words_in": words_in}
        vars(corpus).update(
            values,
            offsets=offsets,
            recipe=recipe,
            folder=folder,
            checksum=header["checksum"],
            frequencies=frozen(frequencies),
            **own,
        )
        return corpus

    def __reduce__(self) -> tuple[Any, ...]:
        return EncodedCorpus.open, (self.folder, self._words_in)

    @property
    def n_tokens(self) -> int:
        """Number of tokens, N."""
        return int(self.offsets[-1])

    @cached_property
    def words(self) -> npt.NDArray[np.int32]:
        """The words of all documents, (N,)."""
        return self.words_of(0, self.n_documents)

    def words_of(self, first: int, last: int) -> npt.NDArray[np.int32]:
        """Return the words of the documents `first` to `last`, from the shards that have them."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        words = new_array((end - begin,), np.int32, self._words_in)
        for k, name in enumerate(self._shards):
            low, high = (int(self.offsets[self._starts[k + d]]) for d in range(2))
            a, b = max(low, begin), min(high, end)
            if a < b:
                shard = self._read_shard(name, high - low)
                words[a - begin : b - begin] = shard[a - low : b - low]
        return frozen(words)

    def _read_shard(self, name: str, n_tokens: int) -> npt.NDArray[np.int32]:
        header, arrays = read_file(self.folder / Path(name).name, ENCODED, mapped=("words",))
        words = check_indices(
            "words", stored(arrays, "words", np.int32), self.n_words, "the size of the vocabulary"
        )
        if header.get("kind") != "shard" or len(words) != n_tokens:
            raise DamagedFile(
                f"{self.folder / name} is damaged: it has {len(words)} words instead of {n_tokens};"
                f" {ENCODED.remedy}"
            )
        return words

    def to_arrays(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """Return where the corpus is, instead of the corpus."""
        return {}, {"folder": str(self.folder), "checksum": self.checksum}

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> EncodedCorpus:
        """Return the corpus that `to_arrays` of a run described, which must be where it was."""
        folder = header["folder"]
        if not isinstance(folder, str) or not is_encoded(folder):
            raise PlaitError(
                f"its corpus is not at {short_repr(folder)} any more: move the encoded corpus back there"
            )
        corpus = cls.open(folder)
        if corpus.checksum != header["checksum"]:
            raise PlaitError(f"the corpus at {short_repr(folder)} is not the one that it was fitted to")
        return corpus


def is_encoded(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder is one that `encode` wrote."""
    try:
        return os.path.isfile(Path(folder) / MANIFEST)
    except ValueError:  # a NUL in the name
        return False


def encode(
    stream: Stream,
    folder: str | os.PathLike[str],
    recipe: TextRecipe,
    *,
    overwrite: bool = False,
    shard_tokens: int = SHARD_TOKENS,
) -> EncodedCorpus:
    """Write the documents of a file to a folder, in two passes, and return them as a corpus.

    Parameters
    ----------
    stream : Stream
        The file.
    folder : path
        The folder, which appears when it is complete.
    recipe : TextRecipe
        How text becomes words. Phrases cannot be found in this way, and the language is found out from the
        first documents.
    overwrite : bool
        Whether an encoded corpus that exists is replaced.
    shard_tokens : int
        Number of tokens that fill a shard.
    """
    stream.checked_format()
    folder = Path(folder).absolute()
    if recipe.phrases is not False and recipe.found_phrases is None:
        raise PlaitError(Argument("phrases"), " need all documents in memory: leave it out")
    if folder.exists() and not (overwrite and is_encoded(folder)):
        remedy = "choose another name, or replace it with " if is_encoded(folder) else "choose another name"
        raise PlaitError(
            f"{folder} exists: {remedy}", *([Argument("overwrite")] if is_encoded(folder) else [])
        )
    partial = folder.with_name(f"{folder.name}.partial")
    recipe = recipe.resolved([row for row, _, _ in islice(_documents(stream, recipe), DETECTED)])
    texts = (text for text, _, _ in _documents(stream, recipe))
    vocabulary = recipe.select_vocabulary(Extractor(recipe).lists(texts))
    if not vocabulary:
        raise PlaitError(f"{os.fsdecode(stream.path)}: no words are left: relax the settings of the recipe")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        _write(stream, recipe, vocabulary, partial, shard_tokens)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return EncodedCorpus.open(folder)


def _documents(stream: Stream, recipe: TextRecipe) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the text, the name and the date of each document: of each paragraph if texts are split."""
    for text, name, date in stream.rows():
        if not recipe.split_paragraphs:
            yield text, name, date
            continue
        for k, part in enumerate(recipe.paragraphs(text), 1):
            yield part, None if name is None else f"{name} #{k}", date


def _write(
    stream: Stream, recipe: TextRecipe, vocabulary: tuple[str, ...], folder: Path, shard_tokens: int
) -> None:
    """Write the shards and the manifest: the second pass."""
    index = {word: w for w, word in enumerate(vocabulary)}
    frequencies = np.zeros(len(vocabulary), np.int64)
    lengths, starts, names, dates = array("q"), [0], list[str](), list[str]()
    shards: list[str] = []
    ids = array("i")
    extractor = Extractor(recipe)

    def close_shard() -> None:
        words = np.array(ids, np.int32)
        frequencies[:] += np.bincount(words, minlength=len(vocabulary))
        shards.append(f"shard-{len(shards):05d}")
        write_file(folder / shards[-1], {"words": words}, {"kind": "shard"})
        starts.append(len(lengths))
        del ids[:]

    def texts() -> Iterator[str]:
        for text, name, date in _documents(stream, recipe):
            if name is not None:
                names.append(name)
            if date is not None:
                dates.append(date)
            yield text

    for tokens in extractor.lists(texts()):
        before = len(ids)
        ids.extend([index[token] for token in tokens if token in index])
        lengths.append(len(ids) - before)
        if len(ids) >= shard_tokens:
            close_shard()
    if len(starts) == 1 or starts[-1] < len(lengths):
        close_shard()
    arrays: dict[str, npt.NDArray[Any]] = {
        "offsets": encoding.offsets_of(lengths),
        "starts": np.array(starts, np.int64),
        "frequencies": frequencies,
        "vocabulary": encoding.pack(vocabulary),
    }
    surfaces = extractor.surfaces()
    if surfaces is not None:
        arrays["forms"] = encoding.pack([surfaces.get(word, word) for word in vocabulary])
    for key, values in (("names", names), ("dates", dates)):
        if len(values) == len(lengths):
            arrays[key] = encoding.pack(values)
    header = {"kind": "encoded", "shards": shards, "recipe": recipe.to_dict()}
    write_file(folder / MANIFEST, arrays, header)
