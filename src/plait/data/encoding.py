"""How documents become arrays, and lists of strings bytes: the working parts of `Corpus`."""

from __future__ import annotations

import json
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import short_repr
from plait.errors import PlaitError, PlaitWarning

MAX_TOKENS = 2**31 - 1
"""The most tokens that counts may add up to; more is a mistake in the counts, not a corpus."""

MAX_WORDS = 2**25
"""The most columns that counts may have; more is a mistake, and naming them all would exhaust memory."""


def token_lists(documents: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return the words of each document as a list, checked to be strings."""
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise PlaitError(f"documents is {short_repr(documents)}: pass a list of lists of words")
    return [_token_list(d, document) for d, document in enumerate(documents)]


def _token_list(d: int, document: Iterable[str]) -> list[str]:
    if isinstance(document, str) or not isinstance(document, Iterable):
        raise PlaitError(
            f"document {d} is {short_repr(document)}, not a list of words: split it, or use Corpus.from_texts"
        )
    tokens = list(document)
    for token in tokens:
        if not isinstance(token, str):
            raise PlaitError(
                f"document {d} has the word {short_repr(token)}, not a string: convert it with str()"
            )
    return tokens


def encode(
    lists: Iterable[Sequence[str]], vocabulary: Sequence[str]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], Counter[str]]:
    """Return the word ids of all documents, the documents' offsets, and the words not in the vocabulary."""
    index = {word: w for w, word in enumerate(vocabulary)}
    ids = array("i")
    lengths = []
    unknown: Counter[str] = Counter()
    for tokens in lists:
        before = len(ids)
        ids.extend([index[token] for token in tokens if token in index])
        lengths.append(len(ids) - before)
        if lengths[-1] < len(tokens):
            unknown.update(token for token in tokens if token not in index)
    return np.array(ids, np.int32), offsets_of(lengths), unknown


def report_unknown(unknown: Counter[str], n_known: int, n_words: int) -> None:
    """Warn of tokens that were dropped as not in the vocabulary."""
    if not unknown:
        return
    examples = ", ".join(short_repr(word) for word, _ in unknown.most_common(3))
    remedy = "" if n_known else ": use the vocabulary and recipe made for this text"
    warnings.warn(
        f"{unknown.total()} of {unknown.total() + n_known} tokens were dropped: they are missing from the"
        f" vocabulary of {n_words} words (such as {examples}){remedy}",
        PlaitWarning,
        stacklevel=3,
    )


def offsets_of(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each document begins, and the last one ends, given their lengths."""
    lengths = np.asarray(lengths, np.int64)
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def expand_counts(X: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], int]:
    """Return the word ids and offsets of the documents in a document-term matrix, and its width.

    Parameters
    ----------
    X : array or scipy sparse matrix, shape (D, W)
        Counts; left as it is.
    """
    sparse = hasattr(X, "tocsr")
    if not sparse:
        try:
            X = np.asarray(X)
        except ValueError:
            raise PlaitError(
                "the rows of the matrix have different lengths: pass one count for each word"
            ) from None
    if X.ndim != 2:
        raise PlaitError(f"the matrix has {X.ndim} dimensions: pass counts of shape (documents, words)")
    if X.shape[1] > MAX_WORDS:
        raise PlaitError(
            f"the matrix has {X.shape[1]} columns: at most {MAX_WORDS} are possible, check the ids"
        )
    if X.dtype.kind not in "biuf":
        raise PlaitError(f"the matrix has dtype {X.dtype}: pass counts as numbers")
    if sparse:
        csr = X.tocsr()
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        rows = np.repeat(np.arange(X.shape[0]), np.diff(csr.indptr))
        columns, counts = csr.indices, csr.data
    else:
        rows, columns = np.nonzero(X)
        counts = X[rows, columns]
    # The comparison is false for NaN too; infinity is its own floor.
    bad = np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts)) & np.isfinite(counts)))
    if bad.size:
        i = bad[0]
        # scikit-learn's checks of estimators look for these very words.
        negative = "Negative values in data: " if counts[i] < 0 else ""
        value = "NaN" if np.isnan(counts[i]) else counts[i]
        raise PlaitError(
            f"{negative}the count in row {rows[i]}, column {columns[i]} is {value}:"
            " pass whole numbers from 0 up"
        )
    total = float(counts.sum(dtype=np.float64))
    if total > MAX_TOKENS:
        raise PlaitError(
            f"the counts add up to {total:.0f} tokens: at most {MAX_TOKENS} are possible, check them"
        )
    counts = counts.astype(np.int64)
    words = np.repeat(columns.astype(np.int32), counts)
    lengths = np.bincount(rows, weights=counts, minlength=X.shape[0]).astype(np.int64)
    return words, offsets_of(lengths), int(X.shape[1])


def pack(value: Any) -> npt.NDArray[np.uint8]:
    """Return strings in lists or mappings as an array of JSON bytes."""
    return np.frombuffer(json.dumps(value).encode("ascii"), np.uint8)


def unpack(name: str, stored: npt.NDArray[Any]) -> Any:
    """Return what `pack` packed; `name` is what messages call it."""
    damaged = f"the stored array {name!r} is not text in JSON: the file is damaged or not a corpus"
    if not isinstance(stored, np.ndarray) or stored.dtype != np.uint8:
        raise PlaitError(damaged)
    try:
        value = json.loads(stored.tobytes())
    except (ValueError, RecursionError):
        raise PlaitError(damaged) from None
    if not isinstance(value, Mapping if name == "columns" else list):
        raise PlaitError(damaged)
    return value
