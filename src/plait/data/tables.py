"""Read tables with a header from .csv files, or .tsv files with tabs."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from plait.checks import list_names, short_repr
from plait.data.files import FilePath, error_at, read_text
from plait.errors import Argument, Part, PlaitError

_LONGEST_CELL = 2**31 - 1


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
    lines : list of int
        The line on which each row starts, counted from 1; cells in quotes may span several lines.
    """

    path: FilePath
    header: list[str]
    cells: list[str]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        return self.cells[self.header.index(name) :: len(self.header)]

    def error(self, row: int, *parts: Part) -> PlaitError:
        """Return an error about a row."""
        return error_at(self.path, self.lines[row], *parts)


def read_table(
    path: FilePath,
    encoding: str = "utf-8",
    *,
    blank_line: Sequence[Part] | None = None,
    long_cells: bool = False,
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
    """
    text = read_text(path, encoding)
    is_tsv = Path(path).name.lower().removesuffix(".gz").endswith(".tsv")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if is_tsv else ",", strict=True)
    cells: list[str] = []
    lines: list[int] = []
    blank = 0
    start = 1  # the line on which the next row starts
    try:
        with _any_cell_length() if long_cells else nullcontext():
            header = next(reader, None)
            if not header:
                what = "starts with a blank line" if text.strip() else "is empty"
                raise PlaitError(f"{os.fspath(path)}: the file {what}: pass a table with a header")
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
    return Table(path, header, cells, lines)


def missing_column(
    path: FilePath, name: str, columns: Iterable[str], argument: str, *, line: int = 1, what: str = "column"
) -> PlaitError:
    """Return the error for a column that does not exist; `argument` is the argument that names it."""
    return error_at(
        path,
        line,
        f"there is no {what} {short_repr(name)} among {list_names(columns)}: pass ",
        Argument(argument),
        " with one",
    )


def _check_header(path: FilePath, header: Sequence[str]) -> None:
    for name in header:
        if header.count(name) > 1:
            raise error_at(path, 1, f"the header has the column {short_repr(name)} twice: rename one")


@contextmanager
def _any_cell_length() -> Iterator[None]:
    """Lift the limit on the length of a cell in this block; the limit is global to the csv module."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
