"""Tables with a header: what all readers of them return, and the reader of .csv and .tsv files."""

from __future__ import annotations

import csv
import re
import threading
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

from plait.checks import short_repr
from plait.data.delimiters import check_delimiter, find_delimiter, name_of_delimiter
from plait.data.files import FilePath, error_at, error_empty, read_contents
from plait.errors import Argument, Part, PlaitError

LONGEST_CELL: Final = 2**26
"""Characters of a cell that may be long, which is more than any book has."""

_NAMES_SHOWN = 10

# As `str.splitlines`, but only line feeds and carriage returns end a line.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


@dataclass(frozen=True, eq=False)
class Table:
    """A table, whatever it comes from; each reader has a subclass that returns the cells of a column.

    Attributes
    ----------
    path : path
        The file, for messages.
    header : list of str
        Names of the columns, all different.
    lines : sequence of int
        The line on which each row starts, counted from 1; cells in quotes may span several lines.
    n_bytes : int
        Size of the file in bytes, after decompression.
    """

    path: FilePath
    header: list[str]
    lines: Sequence[int]
    n_bytes: int

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each column."""
        return {name: j for j, name in enumerate(self.header)}

    def column(self, name: str) -> Sequence[str]:
        """Return the cells of a column."""
        raise NotImplementedError

    def place(self, row: int) -> str:
        """Return where a row is, apart from the file."""
        return f"line {self.lines[row]}"

    def error(self, row: int | None, *parts: Part) -> PlaitError:
        """Return an error about a row, or about the whole table."""
        return error_at(self.path, None if row is None else self.lines[row], *parts)

    def missing_column(self, name: str, argument: str) -> PlaitError:
        """Return the error for a column that does not exist; `argument` is the argument that names it."""
        return missing_column(self.path, name, self.header, argument)


@dataclass(frozen=True, eq=False)
class CellTable(Table):
    """A table whose cells are in memory, row after row; a list per row would take several times as much."""

    cells: list[str]

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        return self.cells[self.positions[name] :: len(self.header)]


@dataclass(frozen=True, eq=False)
class ColumnTable(Table):
    """A table that is in memory column by column."""

    columns: Mapping[str, Sequence[str]]

    def column(self, name: str) -> Sequence[str]:
        """Return the cells of a column."""
        return self.columns[name]


def read_table(
    path: FilePath,
    encoding: str = "utf-8",
    *,
    blank_line: Sequence[Part] | None = None,
    long_cells: bool = False,
    max_unpacked: int | None = None,
    delimiter: str | None = None,
) -> CellTable:
    """Read a table from a .csv or .tsv file.

    Parameters
    ----------
    path : path
        The file.
    encoding : str
        Encoding of the text.
    blank_line : sequence of str or Argument, optional
        None skips blank lines. If given, a blank line is an empty cell in a table of one column; in a wider
        table blank lines may only come last, and this text tells the user what to do about others.
    long_cells : bool
        Whether cells may be longer than the csv module allows by default, as whole books are.
    max_unpacked : int or None
        As for `plait.data.files.read_bytes`.
    delimiter : str or None
        What separates the cells: a character, or its name in `plait.data.delimiters.DELIMITERS`. None is a
        tab if the name of the file ends in .tsv or .tsv.gz; otherwise it is found out from the first rows.
    """
    delimiter = check_delimiter(delimiter)
    text, n_bytes = read_contents(path, encoding, max_unpacked)

    def lines_of_text() -> Iterator[str]:
        # Not io.StringIO, which copies the text, with four bytes per character.
        return (match[0] for match in _LINE.finditer(text))

    if delimiter is None:
        is_tsv = Path(path).name.lower().removesuffix(".gz").endswith(".tsv")
        delimiter = "\t" if is_tsv else find_delimiter(lines_of_text)
    reader = csv.reader(lines_of_text(), delimiter=delimiter, strict=True)
    cells: list[str] = []
    lines = array("q")
    blank = 0
    start = 1  # the line on which the next row starts
    try:
        with LONG_CELLS if long_cells else nullcontext():
            header = next(reader, None)
            if not header:
                remedy = "pass a table with a header"
                if text.strip():
                    raise error_at(path, None, f"the file starts with a blank line: {remedy}")
                raise error_empty(path, remedy)
            check_header(path, header)
            start = reader.line_num + 1
            for row in reader:
                line, start = start, reader.line_num + 1
                if not row and (blank_line is None or len(header) > 1):
                    blank = blank or line
                    continue
                if blank and blank_line is not None:
                    raise error_at(path, blank, "the line is blank: ", *blank_line)
                if row and len(row) != len(header):
                    raise error_at(
                        path,
                        line,
                        f"the row has {len(row)} cells for {len(header)} columns, separated by"
                        f" {name_of_delimiter(delimiter)}: quote or add cells, or pass ",
                        Argument("delimiter"),
                    )
                cells += row or [""]
                lines.append(line)
    except csv.Error as error:
        raise error_at(path, start, f"the row cannot be read ({error}): check its quotes") from None
    return CellTable(path, header, lines, n_bytes, cells)


def missing_column(
    path: FilePath, name: str, columns: Collection[str], argument: str, *, line: int = 1, what: str = "column"
) -> PlaitError:
    """Return the error for a column that does not exist; `argument` is the argument that names it."""
    return error_at(
        path,
        line,
        f"there is no {what} {short_repr(name)} among {list_columns(columns)}: pass ",
        Argument(argument),
        " with one",
    )


def list_columns(names: Collection[str]) -> str:
    """Return the names of columns for a message: the first few, as a file may have very many."""
    shown = ", ".join(map(short_repr, islice(names, _NAMES_SHOWN))) or "none"
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN} more"


def check_header(path: FilePath, header: Sequence[str], line: int = 1) -> None:
    """Raise an error if two columns have one name."""
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise error_at(path, line, f"the header has the column {short_repr(name)} twice: rename one")
        seen.add(name)


class _LongCells:
    """Blocks that raise the limit on the length of a cell, which is global to the csv module.

    Threads can be in such blocks at the same time: the first one raises the limit, and the last one restores
    it. The lock is not held in between, because a process that is forked then could never take it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_blocks = 0
        self._usual = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._n_blocks == 0:
                self._usual = csv.field_size_limit(LONGEST_CELL)
            self._n_blocks += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_blocks -= 1
            if self._n_blocks == 0:
                csv.field_size_limit(self._usual)


LONG_CELLS = _LongCells()
