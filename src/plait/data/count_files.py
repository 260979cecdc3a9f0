"""Files of document-term counts: UCI bag of words, LDA-C and Matrix Market."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import short_repr
from plait.data import limits
from plait.data.encoding import MAX_TOKENS
from plait.data.files import FilePath, error_at, read_lines
from plait.errors import Argument, Part

_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf)", re.IGNORECASE)
# A longer number is a mistake, and would not fit into the arrays.
_WHOLE = re.compile(r"[0-9]{1,9}")
_PAIR = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


def read_uci(
    path: FilePath, encoding: str, n_words: int | None = None, max_unpacked: int | None = None
) -> Any:
    """Return the sparse counts of a UCI docword file.

    The first three lines hold the numbers of documents, words and entries.  Each further line holds a
    document, a word (both numbered from 1) and a count.  `n_words` is the size of the vocabulary if it is
    known otherwise.
    """
    lines, n_bytes = read_lines(path, encoding, max_unpacked)
    sizes = []
    for n, what in enumerate(("documents", "words", "entries"), 1):
        text = lines[n - 1].strip() if n <= len(lines) else ""
        if not _WHOLE.fullmatch(text):
            raise error_at(
                path, n, f"the number of {what} should be here, not {short_repr(text)}: correct the header"
            )
        sizes.append(int(text))
    _check_sizes(path, (1, 2), sizes, n_words, n_bytes)
    return _read_entries(path, lines, 3, sizes, n_bytes, max_unpacked)


def read_mtx(
    path: FilePath, encoding: str, n_words: int | None = None, max_unpacked: int | None = None
) -> Any:
    """Return the sparse counts of a Matrix Market coordinate file, one row per document.

    `n_words` is the size of the vocabulary if it is known otherwise.
    """
    lines, n_bytes = read_lines(path, encoding, max_unpacked)
    banner = lines[0].lower().split()
    wanted = ["%%matrixmarket", "matrix", "coordinate"]
    if banner[:3] != wanted or banner[3:] not in (["integer", "general"], ["real", "general"]):
        raise error_at(
            path,
            1,
            f"the header is {short_repr(lines[0])}: write '%%MatrixMarket matrix coordinate integer general'",
        )
    for n, line in enumerate(lines[1:], 2):
        if line.strip() and not line.startswith("%"):
            sizes = line.split()
            if len(sizes) != 3 or not all(map(_WHOLE.fullmatch, sizes)):
                raise error_at(
                    path, n, f"the sizes should be here, not {short_repr(line)}: write 'rows columns entries'"
                )
            numbers = [int(size) for size in sizes]
            _check_sizes(path, (n, n), numbers, n_words, n_bytes)
            return _read_entries(path, lines, n, numbers, n_bytes, max_unpacked)
    raise error_at(path, len(lines), "the file ends before the sizes: write 'rows columns entries'")


def read_ldac(
    path: FilePath, encoding: str, n_words: int | None = None, max_unpacked: int | None = None
) -> Any:
    """Return the sparse counts of an LDA-C file.

    Each line is a document: the number of pairs, then pairs `word:count` with words numbered from 0.
    Without `n_words`, the largest word in the file is the last of the vocabulary.
    """
    lines, n_bytes = read_lines(path, encoding, max_unpacked)
    most = limits.WORDS.most(n_bytes)
    columns = array("q")
    counts = array("q")
    starts = array("q", [0])
    for n, line in enumerate(lines, 1):
        size, *pairs = line.split() or [""]
        if not _WHOLE.fullmatch(size):
            raise error_at(
                path, n, f"the number of pairs is {short_repr(size)}: write '0' for an empty document"
            )
        if int(size) != len(pairs):
            raise error_at(path, n, f"the line says {size} pairs but has {len(pairs)}: correct the number")
        for pair in pairs:
            match = _PAIR.fullmatch(pair)
            if match is None:
                raise error_at(
                    path, n, f"{short_repr(pair)} is not word:count with whole numbers from 0 up: correct it"
                )
            columns.append(int(match[1]))
            counts.append(int(match[2]))
            if n_words is not None and columns[-1] >= n_words:
                raise error_at(
                    path, n, f"word {match[1]} is not in the vocabulary of {n_words}: pass the right one"
                )
            if n_words is None and columns[-1] >= most:
                claim = f"word {match[1]} claims a vocabulary of {columns[-1] + 1}"
                raise limits.over_limit(path, n, claim, most, n_bytes, "correct the word")
        starts.append(len(columns))
    width = max(columns, default=-1) + 1 if n_words is None else n_words
    rows = np.repeat(np.arange(len(lines)), np.diff(starts))
    return _sparse(path, np.array(counts), rows, columns, (len(lines), width), n_bytes, max_unpacked)


def sibling_vocabulary(path: FilePath) -> Path | None:
    """Return the file vocab.NAME.txt next to docword.NAME.txt, if there is one."""
    name = re.fullmatch(r"docword\.(.+?)(?:\.txt)?(?:\.gz)?", Path(path).name)
    if name is None:
        return None
    candidates = [Path(path).with_name(f"vocab.{name[1]}.txt{end}") for end in ("", ".gz")]
    return next((candidate for candidate in candidates if os.path.exists(candidate)), None)


def _check_sizes(
    path: FilePath, lines: tuple[int, int], sizes: Sequence[int], n_words: int | None, n_bytes: int
) -> None:
    """Refuse a header, on these lines, that claims more documents or words than are allowed."""
    allowed = (limits.DOCUMENTS.most(n_bytes), max(limits.WORDS.most(n_bytes), n_words or 0))
    for what, line, size, most in zip(("documents", "words"), lines, sizes, allowed, strict=False):
        if size > most:
            claim = f"the header claims {size} {what}"
            raise limits.over_limit(path, line, claim, most, n_bytes, "correct the header")


def _read_entries(
    path: FilePath,
    lines: Sequence[str],
    start: int,
    sizes: Sequence[int],
    n_bytes: int,
    max_unpacked: int | None,
) -> Any:
    """Return the counts in the lines `row column count` (from 1) after line `start`, as a sparse matrix."""
    n_documents, n_words, n_entries = sizes
    numbers = [
        n
        for n, line in enumerate(lines[start:], start + 1)
        if line and not line.isspace() and not line.startswith("%")
    ]
    if len(numbers) > n_entries:
        raise error_at(
            path, numbers[n_entries], f"there are more entries than the {n_entries} of the header: correct it"
        )
    try:
        table = (
            np.loadtxt([lines[n - 1] for n in numbers], ndmin=2, comments=None)
            if numbers
            else np.empty((0, 3))
        )
    except ValueError:
        table = np.empty((0, 0))
    if table.shape[1] != 3:
        n = next((n for n in numbers if not _is_entry(lines[n - 1])), numbers[0])
        raise error_at(
            path, n, f"{short_repr(lines[n - 1])} is not 'document word count': write three numbers"
        )
    for what, values, most in (("document", table[:, 0], n_documents), ("word", table[:, 1], n_words)):
        bad = np.flatnonzero(~((values >= 1) & (values <= most) & (values == np.floor(values))))
        if bad.size:
            raise error_at(
                path,
                numbers[bad[0]],
                f"{what} {values[bad[0]]:g} is not a number from 1 to {most}: correct it",
            )
    counts = table[:, 2]
    bad = np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts)) & np.isfinite(counts)))
    if bad.size:
        raise error_at(
            path, numbers[bad[0]], f"the count is {counts[bad[0]]:g}: write a whole number from 0 up"
        )
    if len(numbers) < n_entries:
        raise error_at(
            path,
            len(lines),
            f"the file ends after {len(numbers)} of the {n_entries} entries of its header: it is truncated,"
            " copy or download it again",
        )
    rows, columns = table[:, 0] - 1, table[:, 1] - 1
    return _sparse(path, counts, rows, columns, (n_documents, n_words), n_bytes, max_unpacked)


def _is_entry(line: str) -> bool:
    parts = line.split()
    return len(parts) == 3 and all(map(_NUMBER.fullmatch, parts))


def _sparse(
    path: FilePath,
    counts: npt.NDArray[Any],
    rows: Any,
    columns: Any,
    shape: tuple[int, int],
    n_bytes: int,
    max_unpacked: int | None,
) -> Any:
    from scipy.sparse import coo_matrix

    _check_tokens(path, float(counts.sum(dtype=np.float64)), n_bytes, max_unpacked)
    places = (np.asarray(rows, np.int64), np.asarray(columns, np.int64))
    return coo_matrix((counts, places), shape=shape)


def _check_tokens(path: FilePath, total: float, n_bytes: int, max_unpacked: int | None) -> None:
    """Refuse counts that add up to more tokens than the size of the file and `max_unpacked` allow."""
    most = max(limits.TOKENS.most(n_bytes), (max_unpacked or 0) // limits.BYTES_PER_TOKEN)
    if total > most:
        claim = f"the counts add up to {total:.15g} tokens"
        remedy: list[Part] = ["correct the counts"]
        if total <= MAX_TOKENS:  # otherwise no corpus can hold them
            least = limits.BYTES_PER_TOKEN * int(total)
            remedy += [
                ", or pass ",
                Argument("max_unpacked"),
                f" of at least {least}, or use Corpus.from_matrix in Python",
            ]
        raise limits.over_limit(path, None, claim, most, n_bytes, *remedy)
