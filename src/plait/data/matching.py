"""Read data for a fitted model, with the symbols or features of the data it was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plait.checks import short_repr
from plait.data.files import FilePath, check_path, error_at
from plait.data.sequence_files import read_sequences
from plait.data.sequences import Sequences
from plait.errors import Argument


def read_matching_sequences(
    path: FilePath,
    known: Sequences,
    n_symbols: int | None = None,
    *,
    id_column: str | None = None,
    time_column: str | None = None,
    columns: Sequence[str] | None = None,
    missing: bool = False,
    lengths: FilePath | None = None,
    encoding: str = "utf-8",
    max_unpacked: int | None = None,
    delimiter: str | None = None,
) -> Sequences:
    """Read sequences with the same symbols or features as known ones.

    Parameters
    ----------
    path, id_column, time_column, missing, lengths, encoding, max_unpacked, delimiter
        As for `read_sequences`.
    known : Sequences
        The data that a model was fitted to.
    n_symbols : int, optional
        Number of symbols that the model knows, if the data are symbols; by default those of `known`.
    columns : sequence of str or None
        As for `read_sequences`; None takes those of `known`, if they have names.
    """
    check_path(path)
    is_table = Path(path).suffix.lower() != ".npy"
    allowed = (n_symbols or known.n_symbols) if known.is_symbols else 0
    if columns is None and is_table:
        columns = known.columns
    sequences = read_sequences(
        path,
        kind="symbols" if known.is_symbols else "numbers",
        id_column=id_column,
        time_column=time_column,
        columns=columns,
        missing=missing,
        lengths=lengths,
        labels=known.labels if is_table else None,
        n_symbols=allowed or None,
        encoding=encoding,
        max_unpacked=max_unpacked,
        delimiter=delimiter,
    )
    if known.is_symbols:
        _check_symbols(sequences, allowed, known.labels, path, is_table)
    elif sequences.n_features != known.n_features:
        n = known.n_features
        start = f"there are {sequences.n_features} features, but the model was fitted to {n}: pass "
        if is_table:
            raise error_at(path, None, start, Argument("columns"), f" with {n} of them")
        raise error_at(path, None, start, f"an array of shape (N, {n})")
    return sequences


def _check_symbols(
    sequences: Sequences, n_symbols: int, labels: tuple[str, ...] | None, path: FilePath, is_table: bool
) -> None:
    if labels is None and sequences.labels is not None:
        raise error_at(
            path,
            None,
            f"the symbols are texts, such as {short_repr(sequences.labels[0])}, but the model was"
            f" fitted to whole numbers from 0 to {n_symbols - 1}: number them as in the data of the model",
        )
    wrong = sequences.values >= n_symbols
    if wrong.any():
        i = int(np.argmax(wrong))
        says = (
            f"is the symbol {sequences.values[i]}, but the model was fitted to the symbols 0 to"
            f" {n_symbols - 1}: correct it, or fit a model to data with this symbol"
        )
        if is_table:  # one observation per line, below the header
            raise error_at(path, i + 2, f"the observation {says}")
        raise error_at(path, None, f"observation {i} {says}")
