"""Tables in files: CSV, one by one or in a folder, and workbooks of Excel.

Text from outside is escaped, so that no cell acts as a formula, see `plait.display.table_cell`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from plait.checks import cut
from plait.display import table_cell
from plait.errors import PlaitError
from plait.interop.tables import Column
from plait.libraries import library
from plait.outputs import cannot_write, replacing

MOST_ROWS: Final = 2**20
"""Rows of a sheet of Excel, its header included."""

_MOST_COLUMNS: Final = 2**14
_LONGEST_CELL: Final = 2**15 - 1


def write_tables(tables: Mapping[str, Sequence[Column]], path: str | os.PathLike[str]) -> list[Path]:
    """Write tables to a workbook, if the name ends in .xlsx, else as CSV files to a folder.

    Parameters
    ----------
    tables : mapping of str to sequence of Column
        The tables by name: the names of sheets or files.
    path : path
        The workbook, which needs openpyxl, or the folder, which is made if it does not exist.

    Returns
    -------
    list of Path
        The files that were written, atomically each.
    """
    path = Path(path)
    if path.suffix.lower() == ".xlsx":
        _write_workbook(tables, path)
        return [path]
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error
    files = []
    for name, table in tables.items():
        files.append(path / f"{name}.csv")
        write_csv(table, files[-1])
    return files


def write_csv(table: Sequence[Column], path: Path) -> None:
    """Write a table to a CSV file."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([table_cell(column.header) for column in table])
        for row in zip(*(column.values for column in table), strict=True):
            writer.writerow([_cell(value, stream) for value in row])


def _write_workbook(tables: Mapping[str, Sequence[Column]], path: Path) -> None:
    openpyxl = library("openpyxl", "files")
    rows = {
        name: list(zip(*(column.values for column in table), strict=True)) for name, table in tables.items()
    }
    for name, table in tables.items():
        for n, most, what in (
            (len(rows[name]), MOST_ROWS - 1, "rows"),
            (len(table), _MOST_COLUMNS, "columns"),
        ):
            if n > most:
                raise PlaitError(
                    f"the table {name!r} has {n} {what}, and a sheet of Excel takes {most}: choose a folder"
                    " instead of a workbook"
                )
    book = openpyxl.Workbook(write_only=True)
    for name, table in tables.items():
        sheet = book.create_sheet(name)
        sheet.append([_workbook_cell(column.header) for column in table])
        for row in rows[name]:
            sheet.append([_workbook_cell(value) for value in row])
    with replacing(path) as temporary, open(temporary, "wb") as stream:
        book.save(stream)


def _cell(value: Any, stream: TextIO) -> Any:
    if isinstance(value, str):
        return table_cell(value, stream)
    return round(float(value), 6) if isinstance(value, float) else value


def _workbook_cell(value: Any) -> Any:
    if isinstance(value, str):
        return cut(table_cell(value), _LONGEST_CELL)
    if isinstance(value, float):
        # Excel has no sign for what is no number.
        return round(float(value), 6) if abs(value) < float("inf") else None
    return value
