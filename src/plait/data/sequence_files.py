"""Reading sequences of observations from files."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.checks import short_repr
from plait.data import checks
from plait.data.files import FilePath, error_at, read_text
from plait.data.sequences import MAX_SYMBOLS, MISSING, Sequences
from plait.errors import PlaitError

KINDS = ("symbols", "numbers")

MISSING_CELLS = frozenset(("", "NA", "NaN", "nan"))
"""The cells of a table that stand for a missing observation."""

_GAP = "missing: fill it in, or pass missing=True"

_ENDINGS = ".csv, .tsv, .csv.gz, .tsv.gz or .npy"

# A column of whole numbers with gaps is written by many programs with a point.
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
        A table has a header and a row for each observation.  A row that is blank is an empty cell if there
        is one column, may only stand at the end if there are more, and does not separate sequences.  An array
        has shape (N,) or (N, D).
    kind : "symbols" or "numbers"
        What the observations are.  Symbols stand in a single column.  If all its cells are whole numbers
        from 0 up, these are the symbols.  If not, each text that occurs is a symbol; they are numbered in
        sorted order, and `Sequences.labels` says what they are.
    id_column : str or None
        The column of a table that tells which sequence a row belongs to; the rows of a sequence stand
        together.  None takes all rows as one sequence.
    columns : sequence of str or None
        The columns of a table to read; None takes all but `id_column`.
    missing : bool
        Whether observations may be missing: cells of a table that are empty, NA or NaN, and -1 (symbols) or
        NaN in an array.
    lengths : path or None
        For an array, a file with the length of each sequence: a .npy array, or text with one whole number a
        line.  None takes all as one sequence.
    labels : sequence of str or None
        What the symbols are called, such as in a fitted model: cells of a table are looked up here.
    encoding : str
        The encoding of text.

    Returns
    -------
    Sequences
    """
    if kind not in KINDS:
        raise PlaitError(f"kind is {short_repr(kind)}: pass {' or '.join(map(repr, KINDS))}")
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(f"path is {short_repr(path)}: pass the path of a file")
    if labels is not None:
        labels = checks.distinct_strings("labels", labels)
        if kind == "numbers":
            raise PlaitError(f"labels is {short_repr(labels)}, but only symbols have labels: leave it out")
    name = os.fspath(path)
    ending = _ending(path)
    if ending == ".npy":
        for option, value in (("id_column", id_column), ("columns", columns)):
            if value is not None:
                raise PlaitError(
                    f"{name}: {option} is {short_repr(value)}, but an array has no named columns: leave it out;"
                    " pass lengths to tell sequences apart"
                )
        return _read_npy(path, kind, missing, lengths, labels, encoding)
    if lengths is not None:
        raise PlaitError(
            f"{name}: lengths is {short_repr(lengths)}, but a table tells sequences apart by id_column: pass that"
        )
    table = _read_table(path, "\t" if ending == ".tsv" else ",", encoding)
    wanted = _chosen(table, kind, id_column, columns)
    names, parts = (None, None) if id_column is None else _runs(table, id_column)
    if kind == "numbers":
        values = np.stack([_numbers(table, column) for column in wanted], axis=1)
        _check_gaps(table, values, wanted, missing)
        return Sequences.from_values(values, parts, missing=missing, names=names, columns=wanted)
    symbols, labels = _symbols(table, wanted[0], missing, labels)
    return Sequences.from_symbols(symbols, parts, missing=missing, names=names, labels=labels)


def _ending(path: FilePath) -> str:
    name = os.fspath(path)
    if os.path.isdir(path):
        raise PlaitError(f"{name}: this is a folder, not a file: pass a {_ENDINGS} file")
    packed = Path(path).name.lower()
    ending = Path(packed.removesuffix(".gz")).suffix
    if ending in (".csv", ".tsv") or (ending == ".npy" and not packed.endswith(".gz")):
        return ending
    what = "the name does not tell the format" if os.path.exists(path) else "there is no such file"
    raise PlaitError(f"{name}: {what}: pass a file whose name ends in {_ENDINGS}")


@dataclass(frozen=True, eq=False)
class _Table:
    """The cells of a table.

    Parameters
    ----------
    path : path
        Where it was read, for messages.
    header : list of str
        The names of the columns.
    cells : list of str
        The cells, row after row: a list for each row would take several times the memory.
    ends : list of int
        The line on which the header and each row end; cells in quotes may go on over several.
    """

    path: FilePath
    header: list[str]
    cells: list[str]
    ends: list[int]

    def column(self, name: str) -> list[str]:
        return self.cells[self.header.index(name) :: len(self.header)]

    def error(self, row: int, message: str) -> PlaitError:
        return error_at(self.path, self.ends[row] + 1, message)


def _read_table(path: FilePath, delimiter: str, encoding: str) -> _Table:
    text = read_text(path, encoding)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    cells: list[str] = []
    ends = [0]
    blank = 0
    try:
        header = next(reader, None)
        if not header:
            what = "begins with a blank line" if text.strip() else "is empty"
            raise PlaitError(f"{os.fspath(path)}: the file {what}: pass a table with a header")
        for name in header:
            if header.count(name) > 1:
                raise error_at(path, 1, f"the header has the column {short_repr(name)} twice: rename one")
        width = len(header)
        ends[0] = reader.line_num
        for row in reader:
            if not row and width > 1:
                blank = blank or reader.line_num
                continue
            if blank:
                remedy = "remove it, or fill in its cells; id_column, not a blank line, tells sequences apart"
                raise error_at(path, blank, f"the line is blank: {remedy}")
            if row and len(row) != width:
                message = f"the row has {len(row)} cells for {width} columns: quote or add cells"
                raise error_at(path, ends[-1] + 1, message)
            cells += row or [""]
            ends.append(reader.line_num)
    except csv.Error as error:
        raise error_at(path, ends[-1] + 1, f"the row cannot be read ({error}): check its quotes") from None
    if not cells:
        raise PlaitError(f"{os.fspath(path)}: there are no observations: pass a table with rows")
    return _Table(path, header, cells, ends)


def _chosen(
    table: _Table, kind: str, id_column: str | None, columns: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the columns that hold the observations."""
    listed = ", ".join(map(repr, table.header))
    if columns is None:
        wanted = tuple(name for name in table.header if name != id_column)
    else:
        wanted = checks.distinct_strings("columns", columns)
    for option, names in (("id_column", () if id_column is None else (id_column,)), ("columns", wanted)):
        for name in names:
            if name not in table.header:
                message = f"there is no column {short_repr(name)} among {listed}: pass {option} with one"
                raise error_at(table.path, 1, message)
    if id_column in wanted:
        raise PlaitError(
            f"columns has {short_repr(id_column)}, which is the id_column: name it in one of them"
        )
    if not wanted:
        raise error_at(
            table.path, 1, f"there is no column of observations among {listed}: name one in columns"
        )
    if kind == "symbols" and len(wanted) > 1:
        among = ", ".join(map(repr, wanted))
        raise error_at(
            table.path,
            1,
            f"symbols stand in a single column, but there are {among}: pass columns with one, "
            "and id_column if there is one",
        )
    return wanted


def _runs(table: _Table, id_column: str) -> tuple[list[str], list[int]]:
    """Return the ids of the sequences, and their lengths."""
    names: list[str] = []
    lengths: list[int] = []
    first: dict[str, int] = {}
    row = 0
    for name, run in groupby(table.column(id_column)):
        if not name.strip():
            raise table.error(row, f"the column {id_column!r} is empty: give each row the id of its sequence")
        if name in first:
            line = table.ends[first[name]] + 1
            raise table.error(
                row,
                f"the sequence {short_repr(name)}, which begins on line {line}, comes back after another one: "
                f"sort the rows so that those of a sequence stand together",
            )
        first[name] = row
        names.append(name)
        lengths.append(sum(1 for _ in run))
        row += lengths[-1]
    return names, lengths


def _numbers(table: _Table, column: str) -> npt.NDArray[np.float64]:
    """Return a column of numbers, missing ones as NaN."""
    cells = table.column(column)
    # Python takes 2_020 for a number, which no table means.
    if "_" not in "".join(cells):
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass  # a cell is missing or wrong: look at each
    values = np.empty(len(cells))
    for row, cell in enumerate(cells):
        text = cell.strip()
        try:
            values[row] = np.nan if text in MISSING_CELLS else float(text.replace("_", "?"))
        except ValueError:
            message = f"the column {column!r} is {short_repr(cell)}, not a number: correct it, or name other columns"
            raise table.error(row, message) from None
    return values


def _check_gaps(
    table: _Table, values: npt.NDArray[np.float64], columns: Sequence[str], missing: bool
) -> None:
    """Refuse what is infinite, missing in part, or missing at all unless it may be."""
    if np.isfinite(values).all():
        return
    absent = np.isnan(values)
    wrong = ~np.isfinite(values) & ~absent
    partly = absent & ~absent.all(axis=1, keepdims=True)
    for cells, says in (
        (wrong, "not a finite number: correct it"),
        (absent & (not missing), _GAP),
        (partly, "missing, but others of its row are not: fill it in, or leave all of them empty"),
    ):
        if cells.any():
            row, j = divmod(int(np.argmax(cells)), len(columns))
            shown_cell = short_repr(table.column(columns[j])[row])
            raise table.error(row, f"the column {columns[j]!r} is {shown_cell}, which is {says}")


def _symbols(
    table: _Table, column: str, missing: bool, labels: Sequence[str] | None
) -> tuple[npt.NDArray[np.int64], Sequence[str] | None]:
    """Return a column of symbols, missing ones as -1, and what they are called."""
    cells = [cell.strip() for cell in table.column(column)]
    texts = set(cells)
    gaps = texts & MISSING_CELLS
    if gaps and not missing:
        row = next(row for row, cell in enumerate(cells) if cell in gaps)
        message = f"the column {column!r} is {short_repr(cells[row])}, which is {_GAP}"
        raise table.error(row, message)
    texts -= gaps
    index: dict[str, int]
    if labels is None and all(map(_WHOLE.fullmatch, texts)):
        # By way of floats, for Python refuses to make an int of thousands of digits.
        index = {text: int(min(float(text), MAX_SYMBOLS)) for text in texts}
        remedy = f"symbols go from 0 to {MAX_SYMBOLS - 1}: number them from 0 up"
        unknown = {text for text, symbol in index.items() if symbol >= MAX_SYMBOLS}
    else:
        labels = sorted(texts) if labels is None else labels
        index = {text: symbol for symbol, text in enumerate(labels)}
        remedy = f"not among the {len(labels)} labels: correct it, or add a label"
        unknown = texts - index.keys()
    if unknown:
        row = next(row for row, cell in enumerate(cells) if cell in unknown)
        raise table.error(row, f"the column {column!r} is {short_repr(cells[row])}, but {remedy}")
    index |= dict.fromkeys(gaps, MISSING)
    return np.fromiter(map(index.__getitem__, cells), np.int64, len(cells)), labels


@contextmanager
def _naming(path: FilePath) -> Iterator[None]:
    """Put the path in front of errors about contents."""
    try:
        yield
    except PlaitError as error:
        raise PlaitError(f"{os.fspath(path)}: {error}") from None


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
    with _naming(path):
        if kind == "numbers":
            return Sequences.from_values(array, parts, missing=missing)
        return Sequences.from_symbols(array, parts, missing=missing, labels=labels)


def _load(path: FilePath) -> npt.NDArray[Any]:
    """Return the array of a .npy file; nothing in it is run."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except FileNotFoundError:
        raise PlaitError(f"{name}: there is no such file: check the path") from None
    except OSError as error:
        raise PlaitError(
            f"{name}: it cannot be read ({error.strerror}): check the disk and the path"
        ) from None
    except Exception as error:  # damaged bytes make NumPy raise nearly anything
        reason = " ".join(str(error).split())
        raise PlaitError(
            f"{name}: it is not an array of numbers, or is cut short or damaged ({reason}):"
            " write numbers with numpy.save"
        ) from None


def _read_lengths(path: FilePath, encoding: str) -> npt.NDArray[Any]:
    """Return the lengths of sequences from a .npy file, or from text with one a line."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(
            f"lengths is {short_repr(path)}: pass the path of a file with one whole number a line"
        )
    if os.path.isdir(path):
        raise PlaitError(f"{os.fspath(path)}: this is a folder, not a file: pass a file of lengths")
    if Path(path).suffix.lower() == ".npy":
        array = _load(path)
        with _naming(path):
            return checks.frozen_integers("the array of lengths", array, np.int64)
    lines = read_text(path, encoding).splitlines()
    if not lines:
        raise PlaitError(f"{os.fspath(path)}: the file is empty: pass one with a length on each line")
    for n, line in enumerate(lines, 1):
        # More digits than this are no length, and might be too many for an int64.
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", line):
            raise error_at(path, n, f"the line is {short_repr(line)}: lengths are whole numbers, one a line")
    return np.array([int(line) for line in lines], np.int64)
