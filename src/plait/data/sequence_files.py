"""Read sequences of observations from files."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.arrays import check_integer_array
from plait.checks import check_choice, check_distinct_strings, list_names, short_repr
from plait.data.files import FilePath, error_at, prefix_errors, read_text, translate_os_errors
from plait.data.sequences import MAX_SYMBOLS, MISSING, Sequences
from plait.data.tables import Table, missing_column, read_table
from plait.errors import Argument, Part, PlaitError

KINDS = ("symbols", "numbers")

MISSING_CELLS = frozenset(("", "NA", "NaN", "nan"))
"""Cells of a table that mark a missing observation."""

_GAP: tuple[Part, ...] = ("missing: fill it in, or pass ", Argument("missing", True))

_BLANK_LINE: tuple[Part, ...] = (
    "remove it, or fill in its cells; ",
    Argument("id_column"),
    ", not a blank line, separates sequences",
)

_ENDINGS = ".csv, .tsv, .csv.gz, .tsv.gz or .npy"

# Many programs write whole numbers with a decimal point if the column has gaps.
_WHOLE = re.compile(r"[0-9]+(\.0*)?")


def read_sequences(
    path: FilePath,
    *,
    kind: str,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    missing: bool = False,
    lengths: FilePath | None = None,
    labels: Sequence[str] | None = None,
    encoding: str = "utf-8",
) -> Sequences:
    """Read sequences from a table (.csv, or .tsv with tabs; also .gz) or from an array (.npy).

    Parameters
    ----------
    path : path
        A table has a header and one row per observation.  A blank line is an empty cell if there is one
        column; if there are more, blank lines may only come last.  They do not separate sequences.  An array
        has shape (N,) or (N, D).
    kind : {"symbols", "numbers"}
        What the observations are.  Symbols come from a single column.  If all its cells are non-negative
        whole numbers, these are the symbols.  Otherwise each distinct text is a symbol: they are numbered in
        sorted order, and `Sequences.labels` holds the texts.
    id_column : str or None
        Column of a table with the id of the sequence that a row belongs to; the rows of a sequence must be
        contiguous.  None takes all rows as one sequence.
    columns : sequence of str or None
        Columns of a table with the observations; None takes all but `id_column`.
    missing : bool
        Whether observations may be missing: cells of a table that are empty, NA or NaN, and -1 (symbols) or
        NaN in an array.
    lengths : path or None
        For an array, a file with the length of each sequence: a .npy array, or text with one whole number
        per line.  None takes all observations as one sequence.
    labels : sequence of str or None
        Texts of the symbols 0, 1, ..., such as those of a fitted model; cells of a table are looked up here.
    encoding : str
        Encoding of the text.

    Returns
    -------
    Sequences
    """
    check_choice("kind", kind, KINDS)
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(Argument("path"), f" must be the path of a file, got {short_repr(path)}")
    if labels is not None:
        labels = check_distinct_strings("labels", labels)
        if kind == "numbers":
            raise PlaitError(
                Argument("labels"),
                f" must be left out, as only symbols have labels, got {short_repr(labels)}",
            )
    name = os.fspath(path)
    if _ending(path) == ".npy":
        for option, value in (("id_column", id_column), ("columns", columns)):
            if value is not None:
                raise PlaitError(
                    f"{name}: ",
                    Argument(option),
                    f" must be left out, as an array has no named columns, got {short_repr(value)}; to"
                    " separate sequences, pass ",
                    Argument("lengths"),
                )
        return _read_npy(path, kind, missing, lengths, labels, encoding)
    if lengths is not None:
        raise PlaitError(
            f"{name}: ",
            Argument("lengths"),
            " must be left out, as a table separates sequences by ",
            Argument("id_column"),
            f", got {short_repr(lengths)}",
        )
    table = read_table(path, encoding, blank_line=_BLANK_LINE)
    if not table.cells:
        raise PlaitError(f"{name}: there are no observations: pass a table with rows")
    wanted = _chosen(table, kind, id_column, columns)
    names, parts = (None, None) if id_column is None else _runs(table, id_column)
    if kind == "numbers":
        values = np.stack([_numbers(table, column) for column in wanted], axis=1)
        _check_gaps(table, values, wanted, missing)
        return Sequences.from_values(values, parts, missing=missing, names=names, columns=wanted)
    symbols, labels = _symbols(table, wanted[0], missing, labels)
    return Sequences.from_symbols(symbols, parts, missing=missing, names=names, labels=labels)


def _ending(path: FilePath) -> str:
    """Return the file name extension without .gz, which determines the format."""
    name = os.fspath(path)
    if os.path.isdir(path):
        raise PlaitError(f"{name}: this is a folder, not a file: pass a {_ENDINGS} file")
    packed = Path(path).name.lower()
    ending = Path(packed.removesuffix(".gz")).suffix
    if ending in (".csv", ".tsv") or (ending == ".npy" and not packed.endswith(".gz")):
        return ending
    what = "the format cannot be inferred from the name" if os.path.exists(path) else "there is no such file"
    raise PlaitError(f"{name}: {what}: pass a file whose name ends in {_ENDINGS}")


def _chosen(table: Table, kind: str, id_column: str | None, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns that hold the observations."""
    if columns is None:
        wanted = tuple(name for name in table.header if name != id_column)
    else:
        wanted = check_distinct_strings("columns", columns)
    for option, names in (("id_column", () if id_column is None else (id_column,)), ("columns", wanted)):
        for name in names:
            if name not in table.header:
                raise missing_column(table.path, name, table.header, option)
    if id_column in wanted:
        raise PlaitError(
            Argument("columns"),
            " must not have the ",
            Argument("id_column"),
            f", got {short_repr(id_column)}",
        )
    if not wanted:
        raise error_at(
            table.path,
            1,
            f"there is no column of observations among {list_names(table.header)}: pass ",
            Argument("columns"),
            " with one",
        )
    if kind == "symbols" and len(wanted) > 1:
        raise error_at(
            table.path,
            1,
            f"symbols must be in a single column, but there are {list_names(wanted)}: pass ",
            Argument("columns"),
            " with one, and ",
            Argument("id_column"),
            " if there is one",
        )
    return wanted


def _runs(table: Table, id_column: str) -> tuple[list[str], list[int]]:
    """Return the ids of the sequences, and their lengths."""
    names: list[str] = []
    lengths: list[int] = []
    first: dict[str, int] = {}
    row = 0
    for name, run in groupby(table.column(id_column)):
        if not name.strip():
            raise table.error(row, f"the column {id_column!r} is empty: give each row the id of its sequence")
        if name in first:
            raise table.error(
                row,
                f"the sequence {short_repr(name)}, which starts on line {table.lines[first[name]]}, continues"
                " after another one: sort the rows so that those of a sequence are contiguous",
            )
        first[name] = row
        names.append(name)
        lengths.append(sum(1 for _ in run))
        row += lengths[-1]
    return names, lengths


def _numbers(table: Table, column: str) -> npt.NDArray[np.float64]:
    """Return a column of numbers, missing ones as NaN."""
    cells = table.column(column)
    # Python reads 2_020 as a number; in a table it is a mistake.
    if "_" not in "".join(cells):
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass  # some cell is missing or wrong: check them one by one
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        text = cell.strip()
        try:
            values[row] = np.nan if text in MISSING_CELLS else float(text.replace("_", "?"))
        except ValueError:
            raise table.error(
                row,
                f"the column {column!r} is {short_repr(cell)}, not a number: correct it, or pass other ",
                Argument("columns"),
            ) from None
    return values


def _check_gaps(table: Table, values: npt.NDArray[np.float64], columns: Sequence[str], missing: bool) -> None:
    """Refuse infinite numbers, partly missing rows, and missing rows unless `missing` allows them."""
    if np.isfinite(values).all():
        return
    absent = np.isnan(values)
    wrong = ~np.isfinite(values) & ~absent
    partly = absent & ~absent.all(axis=1, keepdims=True)
    reasons: tuple[tuple[npt.NDArray[np.bool_], tuple[Part, ...]], ...] = (
        (wrong, ("not a finite number: correct it",)),
        (absent & (not missing), _GAP),
        (partly, ("missing, but others of its row are not: fill it in, or leave all of them empty",)),
    )
    for cells, reason in reasons:
        if cells.any():
            row, j = divmod(int(np.argmax(cells)), len(columns))
            cell = short_repr(table.column(columns[j])[row])
            raise table.error(row, f"the column {columns[j]!r} is {cell}, which is ", *reason)


def _symbols(
    table: Table, column: str, missing: bool, labels: Sequence[str] | None
) -> tuple[npt.NDArray[np.int64], Sequence[str] | None]:
    """Return a column of symbols, missing ones as -1, and their labels."""
    cells = [cell.strip() for cell in table.column(column)]
    texts = set(cells)
    gaps = texts & MISSING_CELLS
    if gaps and not missing:
        row = next(row for row, cell in enumerate(cells) if cell in gaps)
        raise table.error(row, f"the column {column!r} is {short_repr(cells[row])}, which is ", *_GAP)
    texts -= gaps
    index: dict[str, int]
    if labels is None and all(map(_WHOLE.fullmatch, texts)):
        # Through float, because Python refuses to convert thousands of digits to an int.
        index = {text: int(min(float(text), MAX_SYMBOLS)) for text in texts}
        reason = f"but symbols go from 0 to {MAX_SYMBOLS - 1}: number them from 0 up"
        unknown = {text for text, symbol in index.items() if symbol >= MAX_SYMBOLS}
    else:
        labels = sorted(texts) if labels is None else labels
        index = {text: symbol for symbol, text in enumerate(labels)}
        reason = f"which is not among the {len(labels)} labels: correct it, or add a label"
        unknown = texts - index.keys()
    if unknown:
        row = next(row for row, cell in enumerate(cells) if cell in unknown)
        raise table.error(row, f"the column {column!r} is {short_repr(cells[row])}, {reason}")
    index |= dict.fromkeys(gaps, MISSING)
    return np.fromiter(map(index.__getitem__, cells), np.int64, len(cells)), labels


def _read_npy(
    path: FilePath,
    kind: str,
    missing: bool,
    lengths: FilePath | None,
    labels: Sequence[str] | None,
    encoding: str,
) -> Sequences:
    array = _load(path)
    parts = None if lengths is None else _read_lengths(lengths, encoding)
    with prefix_errors(path):
        if kind == "numbers":
            return Sequences.from_values(array, parts, missing=missing)
        return Sequences.from_symbols(array, parts, missing=missing, labels=labels)


def _load(path: FilePath) -> npt.NDArray[Any]:
    """Return the array of a .npy file, without running code that it could contain."""
    with translate_os_errors(path), open(path, "rb") as file:
        try:
            return np.lib.format.read_array(file, allow_pickle=False)
        except OSError:
            raise
        except Exception as error:  # NumPy raises nearly anything on damaged bytes
            reason = " ".join(str(error).split())
            raise PlaitError(
                f"{os.fspath(path)}: it is not an array of numbers, or is cut short or damaged ({reason}):"
                " write numbers with numpy.save"
            ) from None


def _read_lengths(path: FilePath, encoding: str) -> npt.NDArray[Any]:
    """Return the lengths of sequences from a .npy file, or from text with one length per line."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(
            Argument("lengths"),
            f" must be the path of a file with one whole number per line, got {short_repr(path)}",
        )
    if os.path.isdir(path):
        raise PlaitError(f"{os.fspath(path)}: this is a folder, not a file: pass a file of lengths")
    if Path(path).suffix.lower() == ".npy":
        array = _load(path)
        with prefix_errors(path):
            return check_integer_array("lengths", array, np.int64)
    lines = read_text(path, encoding).splitlines()
    if not lines:
        raise PlaitError(f"{os.fspath(path)}: the file is empty: pass one with a length on each line")
    for n, line in enumerate(lines, 1):
        # A number with more digits is not a length, and may not fit into an int64.
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", line):
            raise error_at(
                path, n, f"the line is {short_repr(line)}: lengths are whole numbers, one per line"
            )
    return np.array([int(line) for line in lines], np.int64)
