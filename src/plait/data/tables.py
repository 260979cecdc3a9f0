"""Read tables with a header from .csv files, or .tsv files with tabs."""

from __future__ import annotations

import csv
import re
import threading
from array import array
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

from plait.checks import short_repr
from plait.data.files import FilePath, error_at, error_empty, read_contents
from plait.errors import Argument, Part, PlaitError

LONGEST_CELL: Final = 2**26
"""Characters of a cell that may be long, which is more than any book has."""

_NAMES_SHOWN = 10

# As `str.splitlines`, but only line feeds and carriage returns end a line.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a table.

    Attributes
    ----------
    path : path
        The file, for messages.
    header : list of str
        Names of the columns, all different.
    cells : list of str
        The cells, row after row. One list per row would take several times the memory.
    lines : array of int
        The line on which each row starts, counted from 1; cells in quotes may span several lines.
    n_bytes : int
        Size of the file in bytes, after decompression.
    """

    path: FilePath
    header: list[str]
    cells: list[str]
    lines: array[int]
    n_bytes: int

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each column."""
        return {name: j for j, name in enumerate(self.header)}

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        return self.cells[self.positions[name] :: len(self.header)]

    def error(self, row: int, *parts: Part) -> PlaitError:
        """Return an error about a row."""
        return error_at(self.path, self.lines[row], *parts)


def read_table(
    path: FilePath,
    encoding: str = "utf-8",
    *,
    blank_line: Sequence[Part] | None = None,
    long_cells: bool = False,
    max_unpacked: int | None = None,
) -> Table:
    """Read a table, whose cells are separated by tabs if its name ends in .tsv or .tsv.gz, else by commas.

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
    """
    text, n_bytes = read_contents(path, encoding, max_unpacked)
    is_tsv = Path(path).name.lower().removesuffix(".gz").endswith(".tsv")
    # Not io.StringIO, which copies the text, with four bytes per character.
    rows = (match[0] for match in _LINE.finditer(text))
    reader = csv.reader(rows, delimiter="\t" if is_tsv else ",", strict=True)
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
            _check_header(path, header)
            start = reader.line_num + 1
            for row in reader:
                line, start = start, reader.line_num + 1
                if not row and (blank_line is None or len(header) > 1):
                    blank = blank or line
                    continue
                if blank and blank_line is not None:
                    raise error_at(path, blank, "the line is blank: ", *blank_line)
                if row and len(row) != len(header):
                    message = f"the row has {len(row)} cells for {len(header)} columns: quote or add cells"
                    raise error_at(path, line, message)
                cells += row or [""]
                lines.append(line)
    except csv.Error as error:
        raise error_at(path, start, f"the row cannot be read ({error}): check its quotes") from None
    return Table(path, header, cells, lines, n_bytes)


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


def _check_header(path: FilePath, header: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise error_at(path, 1, f"the header has the column {short_repr(name)} twice: rename one")
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
