"""Read sequences of observations from files."""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plait.arrays import check_integer_array
from plait.checks import check_choice, check_distinct_strings, check_integer, cut, short_repr
from plait.data import limits
from plait.data.files import (
    FilePath,
    Source,
    check_path,
    error_at,
    error_empty,
    prefix_errors,
    read_bytes,
    read_text,
    translate_errors,
)
from plait.data.sequences import MAX_SYMBOLS, MISSING, Sequences
from plait.data.tables import Table, list_columns, missing_column, read_table
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

# Version 3 is for names of fields, which arrays of numbers do not have.
_NPY_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LARGEST_NPY_HEADER = 2**13

# Many programs write whole numbers with a decimal point if the column has gaps.
_WHOLE = re.compile(r"[0-9]+(\.0*)?")


def read_sequences(
    path: FilePath,
    *,
    kind: str,
    id_column: str | None = None,
    time_column: str | None = None,
    columns: Sequence[str] | None = None,
    missing: bool = False,
    lengths: FilePath | None = None,
    labels: Sequence[str] | None = None,
    n_symbols: int | None = None,
    encoding: str = "utf-8",
    max_unpacked: int | None = None,
    delimiter: str | None = None,
) -> Sequences:
    """Read sequences from a table (.csv or .tsv; also .gz) or from an array (.npy).

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
    time_column : str or None
        Column of a table that says when an observation was made. It is kept as text.
    columns : sequence of str or None
        Columns of a table with the observations; None takes all but `id_column` and `time_column`.
    missing : bool
        Whether observations may be missing: cells of a table that are empty, NA or NaN, and -1 (symbols) or
        NaN in an array.
    lengths : path or None
        For an array, a file with the length of each sequence: a .npy array, or text with one whole number
        per line.  None takes all observations as one sequence.
    labels : sequence of str or None
        Texts of the symbols 0, 1, ..., such as those of a fitted model; cells of a table are looked up here.
    n_symbols : int or None
        Number of symbols without labels, if it is known to be large.  By default their number may be at most
        65,536 plus the size of the file in bytes; a larger symbol is likely a mistake.  It must be None for
        numbers.
    encoding : str
        Encoding of the text.
    max_unpacked : int or None
        Maximum number of bytes that a file may have after decompression.  None allows 16 times the size on
        disk, or 16 MB if that is more, and 1 GB from a pipe.
    delimiter : str or None
        What separates the cells of a table: a character, or "comma", "semicolon", "tab" or "pipe". None finds
        it out.

    Returns
    -------
    Sequences
    """
    check_choice("kind", kind, KINDS)
    check_path(path)
    if n_symbols is not None:
        n_symbols = check_integer("n_symbols", n_symbols, least=1, most=MAX_SYMBOLS)
        if kind == "numbers":
            raise PlaitError(
                Argument("n_symbols"), f" must be left out, as numbers are not symbols, got {n_symbols}"
            )
    if labels is not None:
        labels = check_distinct_strings("labels", labels)
        if kind == "numbers":
            raise PlaitError(
                Argument("labels"),
                f" must be left out, as only symbols have labels, got {short_repr(labels)}",
            )
    source = Source(path, encoding, max_unpacked)
    with translate_errors(path):
        if _ending(path) == ".npy":
            named = {"id_column": id_column, "time_column": time_column, "columns": columns}
            for option, value in named.items():
                if value is not None:
                    raise error_at(
                        path,
                        None,
                        Argument(option),
                        f" must be left out, as an array has no named columns, got {short_repr(value)}; to"
                        " separate sequences, pass ",
                        Argument("lengths"),
                    )
            return _read_npy(source, kind, missing, lengths, labels, n_symbols or 0)
        if lengths is not None:
            raise error_at(
                path,
                None,
                Argument("lengths"),
                " must be left out, as a table separates sequences by ",
                Argument("id_column"),
                f", got {short_repr(lengths)}",
            )
        table = read_table(
            path, encoding, blank_line=_BLANK_LINE, max_unpacked=max_unpacked, delimiter=delimiter
        )
        if not table.cells:
            raise error_at(path, None, "there are no observations: pass a table with rows")
        wanted = _chosen(table, kind, {"id_column": id_column, "time_column": time_column}, columns)
        times = None if time_column is None else tuple(table.column(time_column))
        names, parts = (None, None) if id_column is None else _runs(table, id_column)
        if kind == "numbers":
            values = _numbers(table, wanted)
            _check_gaps(table, values, wanted, missing)
            return Sequences.from_values(
                values, parts, missing=missing, names=names, columns=wanted, times=times
            )
        symbols, labels = _symbols(table, wanted[0], missing, labels, n_symbols or 0)
        return Sequences.from_symbols(
            symbols, parts, missing=missing, names=names, labels=labels, times=times
        )


def _ending(path: FilePath) -> str:
    """Return the file name extension without .gz, which determines the format."""
    if os.path.isdir(path):
        raise error_at(path, None, f"this is a folder, not a file: pass a {_ENDINGS} file")
    packed = Path(path).name.lower()
    ending = Path(packed.removesuffix(".gz")).suffix
    if ending in (".csv", ".tsv") or (ending == ".npy" and not packed.endswith(".gz")):
        return ending
    os.stat(path)
    raise error_at(
        path, None, f"the format cannot be inferred from the name: pass a file whose name ends in {_ENDINGS}"
    )


def _chosen(
    table: Table, kind: str, roles: dict[str, str | None], columns: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the columns that hold the observations, given those with other roles by their arguments."""
    taken = {option: name for option, name in roles.items() if name is not None}
    if columns is None:
        wanted = tuple(name for name in table.header if name not in taken.values())
    else:
        wanted = check_distinct_strings("columns", columns)
    for option, name in [*taken.items(), *(("columns", name) for name in wanted)]:
        if name not in table.positions:
            raise missing_column(table.path, name, table.header, option)
    for option, name in taken.items():
        if name in wanted:
            raise PlaitError(
                Argument("columns"), " must not have the ", Argument(option), f", got {short_repr(name)}"
            )
    if not wanted:
        raise error_at(
            table.path,
            1,
            f"there is no column of observations among {list_columns(table.header)}: pass ",
            Argument("columns"),
            " with one",
        )
    if kind == "symbols" and len(wanted) > 1:
        raise error_at(
            table.path,
            1,
            f"symbols must be in a single column, but there are {list_columns(wanted)}: pass ",
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
            raise table.error(
                row, f"the column {short_repr(id_column)} is empty: give each row the id of its sequence"
            )
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


def _numbers(table: Table, columns: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return columns of numbers, missing ones as NaN."""
    values = np.empty((len(table.lines), len(columns)))
    for j, column in enumerate(columns):
        values[:, j] = _column_of_numbers(table, column)
    return values


def _column_of_numbers(table: Table, column: str) -> list[float]:
    cells = table.column(column)
    # Python reads 2_020 as a number; in a table it is a mistake.
    if not any("_" in cell for cell in cells):
        try:
            return list(map(float, cells))
        except ValueError:
            pass  # some cell is missing or wrong: check them one by one
    values = []
    for row, cell in enumerate(cells):
        text = cell.strip()
        try:
            values.append(math.nan if text in MISSING_CELLS else float(text.replace("_", "?")))
        except ValueError:
            raise table.error(
                row,
                f"the column {short_repr(column)} is {short_repr(cell)}, not a number: correct it, or pass"
                " other ",
                Argument("columns"),
            ) from None
    return values


def _check_gaps(table: Table, values: npt.NDArray[np.float64], columns: Sequence[str], missing: bool) -> None:
    """Refuse infinite numbers, and missing ones unless `missing` allows them."""
    if np.isfinite(values).all():
        return
    absent = np.isnan(values)
    wrong = ~np.isfinite(values) & ~absent
    reasons: tuple[tuple[npt.NDArray[np.bool_], tuple[Part, ...]], ...] = (
        (wrong, ("not a finite number: correct it",)),
        (absent & (not missing), _GAP),
    )
    for cells, reason in reasons:
        if cells.any():
            row, j = divmod(int(np.argmax(cells)), len(columns))
            cell = short_repr(table.column(columns[j])[row])
            raise table.error(row, f"the column {short_repr(columns[j])} is {cell}, which is ", *reason)


def _symbols(
    table: Table, column: str, missing: bool, labels: Sequence[str] | None, n_symbols: int
) -> tuple[npt.NDArray[np.int64], Sequence[str] | None]:
    """Return a column of symbols, missing ones as -1, and their labels.

    Without labels, there may be `n_symbols`, or as many as the size of the file allows if that is more.
    """
    cells = [cell.strip() for cell in table.column(column)]
    texts = set(cells)
    gaps = texts & MISSING_CELLS
    if gaps and not missing:
        row = next(row for row, cell in enumerate(cells) if cell in gaps)
        raise table.error(
            row, f"the column {short_repr(column)} is {short_repr(cells[row])}, which is ", *_GAP
        )
    texts -= gaps
    index: dict[str, int]
    if labels is None and all(map(_WHOLE.fullmatch, texts)):
        # Through float, because Python refuses to convert thousands of digits to an int.
        index = {text: int(min(float(text), MAX_SYMBOLS)) for text in texts}
        most = min(max(limits.SYMBOLS.most(table.n_bytes), n_symbols), MAX_SYMBOLS)
        reason = f"but symbols go {_symbol_range(most, table.n_bytes)}"
        unknown = {text for text, symbol in index.items() if symbol >= most}
    else:
        labels = sorted(texts) if labels is None else labels
        index = {text: symbol for symbol, text in enumerate(labels)}
        reason = f"which is not among the {len(labels)} labels: correct it, or add a label"
        unknown = texts - index.keys()
    if unknown:
        row = next(row for row, cell in enumerate(cells) if cell in unknown)
        raise table.error(row, f"the column {short_repr(column)} is {short_repr(cells[row])}, {reason}")
    index |= dict.fromkeys(gaps, MISSING)
    return np.fromiter(map(index.__getitem__, cells), np.int64, len(cells)), labels


def _symbol_range(most: int, n_bytes: int) -> str:
    end = "" if most >= MAX_SYMBOLS else ", or in Python pass a larger n_symbols"
    return f"from 0 to {most - 1} in a file of {n_bytes} bytes: number them from 0 up{end}"


def _read_npy(
    source: Source,
    kind: str,
    missing: bool,
    lengths: FilePath | None,
    labels: Sequence[str] | None,
    n_symbols: int,
) -> Sequences:
    array, n_bytes = _load(source)
    parts = None if lengths is None else _read_lengths(source._replace(path=lengths))
    with prefix_errors(source.path):
        if kind == "numbers":
            return Sequences.from_values(array, parts, missing=missing)
        most = MAX_SYMBOLS if labels is not None else max(limits.SYMBOLS.most(n_bytes), n_symbols)
        if array.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused later
                array = array.astype(np.float64, copy=False)  # half precision does not reach these limits
        wrong = (array >= most) & (array < MAX_SYMBOLS)
        if wrong.any():
            raise PlaitError(
                f"the symbol {array[wrong][0]:.0f} is in the array, but symbols go"
                f" {_symbol_range(most, n_bytes)}"
            )
        return Sequences.from_symbols(array, parts, missing=missing, labels=labels)


def _load(source: Source) -> tuple[npt.NDArray[Any], int]:
    """Return the array of a .npy file, and the size of the file; no code that it could contain is run."""
    data = read_bytes(source.path, source.max_unpacked)
    file = io.BytesIO(data[:_LARGEST_NPY_HEADER])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how the header is written
            version = np.lib.format.read_magic(file)
            if version not in _NPY_HEADERS:
                raise ValueError(f"version {version} of the format")
            shape, fortran_order, dtype = _NPY_HEADERS[version](file)
    except Exception as error:  # NumPy raises nearly anything on damaged bytes
        raise _not_an_array(source.path, " ".join(str(error).split())) from None
    if dtype.kind not in "biuf":
        raise _not_an_array(source.path, f"its dtype is {short_repr(str(dtype))}")
    there = len(data) - file.tell()
    try:
        if math.prod(shape) * dtype.itemsize != there:  # NumPy would take -1 for any length
            raise ValueError
        array = np.frombuffer(data, dtype, offset=file.tell())
        return array.reshape(shape, order="F" if fortran_order else "C"), len(data)
    except (ValueError, OverflowError):  # also for shapes that NumPy cannot have
        claim = f"its header claims shape {short_repr(shape)} of {dtype}, and {there} bytes follow"
        raise _not_an_array(source.path, claim) from None


def _not_an_array(path: FilePath, reason: str) -> PlaitError:
    return error_at(
        path,
        None,
        f"it is not an array of numbers, or is cut short or damaged ({cut(reason, 200)}): write numbers with"
        " numpy.save",
    )


def _read_lengths(source: Source) -> npt.NDArray[Any]:
    """Return the lengths of sequences from a .npy file, or from text with one length per line."""
    path = source.path
    check_path(path, argument="lengths", what="a file with one whole number per line")
    if os.path.isdir(path):
        raise error_at(path, None, "this is a folder, not a file: pass a file of lengths")
    if Path(path).suffix.lower() == ".npy":
        array, _ = _load(source)
        with prefix_errors(path):
            return check_integer_array("lengths", array, np.int64)
    lines = read_text(*source).splitlines()
    if not lines:
        raise error_empty(path, "pass one with a length on each line")
    for n, line in enumerate(lines, 1):
        # A number with more digits is not a length, and may not fit into an int64.
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", line):
            raise error_at(
                path, n, f"the line is {short_repr(line)}: lengths are whole numbers, one per line"
            )
    return np.array([int(line.strip()) for line in lines], np.int64)  # int() knows fewer blanks than strip()
