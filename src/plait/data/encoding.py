"""Convert documents and counts to arrays, and lists of strings to bytes, for `Corpus` and `Sequences`."""

from __future__ import annotations

import json
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.arrays import check_sparse
from plait.checks import short_repr
from plait.data.vocabulary import Vocabulary
from plait.errors import Argument, PlaitError, PlaitWarning

MAX_TOKENS = 2**31 - 1
"""Largest sum of the counts of a corpus; more is a mistake in the counts."""

MAX_WORDS = 2**25
"""Largest number of columns of counts; more is a mistake, and naming them all would exhaust memory."""


def token_lists(documents: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return the words of each document as a list, checked to be strings."""
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise PlaitError(
            Argument("documents"), f" must be a list of lists of words, got {short_repr(documents)}"
        )
    return [_token_list(d, document) for d, document in enumerate(documents)]


def _token_list(d: int, document: Iterable[str]) -> list[str]:
    if isinstance(document, str) or not isinstance(document, Iterable):
        raise PlaitError(
            Argument("documents"),
            f"[{d}] must be a list of words, got {short_repr(document)}: split it, or use Corpus.from_texts",
        )
    tokens = list(document)
    for token in tokens:
        if not isinstance(token, str):
            raise PlaitError(
                Argument("documents"),
                f"[{d}] must have strings as words, got {short_repr(token)}: convert it with str()",
            )
    return tokens


def encode(
    lists: Iterable[Sequence[str]], vocabulary: Vocabulary
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], Counter[str]]:
    """Return the word ids of all documents, their offsets, and the counts of words not in the vocabulary."""
    index = vocabulary.ids
    ids = array("i")
    lengths = []
    unknown: Counter[str] = Counter()
    for tokens in lists:
        if not tokens:
            lengths.append(0)
            continue
        before = len(ids)
        ids.extend([index[token] for token in tokens if token in index])
        lengths.append(len(ids) - before)
        if lengths[-1] < len(tokens):
            unknown.update(token for token in tokens if token not in index)
    return np.array(ids, np.int32), offsets_of(lengths), unknown


def report_unknown(unknown: Counter[str], n_known: int, vocabulary: Vocabulary) -> None:
    """Warn about tokens that were dropped because they are not in the vocabulary."""
    if not unknown or not vocabulary.is_news("all" if not n_known else "some"):
        return
    examples = ", ".join(short_repr(word) for word, _ in unknown.most_common(3))
    remedy = "" if n_known else ": use the vocabulary and recipe made for this text"
    warnings.warn(
        f"{unknown.total()} of {unknown.total() + n_known} tokens were dropped: they are not in the"
        f" vocabulary of {len(vocabulary)} words (such as {examples}){remedy}",
        PlaitWarning,
        stacklevel=3,
    )


def offsets_of(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each document or sequence starts, and where the last one ends, given their lengths."""
    lengths = np.asarray(lengths, np.int64)
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def expand_counts(X: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], int]:
    """Return the word ids and offsets of the documents in a document-term matrix, and its width.

    Parameters
    ----------
    X : array or scipy sparse matrix, shape (D, W)
        Counts; not modified.
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
        check_sparse(X)
        csr = X.tocsr()
        check_sparse(csr)  # again, for a format that only its own library knows
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        rows = np.repeat(np.arange(X.shape[0]), np.diff(csr.indptr))
        columns, counts = csr.indices[: rows.size], csr.data[: rows.size]  # SciPy allows unused entries
    else:
        rows, columns = np.nonzero(X)
        counts = X[rows, columns]
    # NaN fails the comparisons; infinity equals its floor and needs a check of its own.
    bad = np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts)) & np.isfinite(counts)))
    if bad.size:
        i = bad[0]
        # scikit-learn's check_estimator looks for these words.
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


def unpack(name: str, stored: npt.NDArray[Any], *, damaged: str, mapping: bool = False) -> Any:
    """Return the list that `pack` packed, or the mapping.

    Parameters
    ----------
    name : str
        Name of the array in the file, for messages.
    stored : array of uint8
        What `pack` returned.
    damaged : str
        End of the error message if the array holds anything else.
    mapping : bool
        Whether a mapping was packed, not a list.
    """
    what = "mapping" if mapping else "list"
    error = PlaitError(f"the stored array {name!r} is not a {what} in JSON: {damaged}")
    if not isinstance(stored, np.ndarray) or stored.dtype != np.uint8:
        raise error
    try:
        value = json.loads(stored.tobytes())
    except (ValueError, RecursionError):
        raise error from None
    if not isinstance(value, Mapping if mapping else list):
        raise error
    return value
