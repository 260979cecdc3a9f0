"""Read tables from workbooks of Excel, with openpyxl."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from array import array
from collections.abc import Iterator
from typing import Any, Final

from plait.checks import list_names, short_repr
from plait.data import limits
from plait.data.cells import cell_text
from plait.data.files import (
    Source,
    error_at,
    over_unpacked,
    prefix_errors,
    read_bytes,
    translate_others,
)
from plait.data.tables import CellTable, check_header
from plait.errors import Argument
from plait.libraries import library

_MOST_ROWS: Final = 2**20  # of a sheet in Excel; a file can claim any number
_REMEDY: Final = "open it in a spreadsheet program, and save it again"
_OLD_FORMAT: Final = b"\xd0\xcf\x11\xe0"
_CONTROL = re.compile(r"_x00([01][0-9A-Fa-f])_")  # how Excel writes control characters


def read_workbook(source: Source, sheet: str | None = None) -> CellTable:
    """Return the table in a sheet of an .xlsx file: its first row with cells is the header.

    Columns without a name and blank rows are skipped. Dates become text in ISO format, and whole numbers have
    no decimal point; of formulas, the values that Excel stored are taken.

    Parameters
    ----------
    source : Source
        The file; `max_unpacked` limits the size of its parts together, and the characters in the cells.
    sheet : str or None
        Name of the sheet; None takes the only one that has cells.
    """
    with prefix_errors(source.path):
        library("defusedxml", "files")  # openpyxl uses it if it is there, against entities that expand
        openpyxl = library("openpyxl", "files")
    data = read_bytes(source.path, source.max_unpacked)
    limit = source.limit(len(data))
    if data.startswith(_OLD_FORMAT):
        remedy = "save it as .xlsx, without a password"
        raise error_at(source.path, None, f"this is an .xls or encrypted workbook: {remedy}")
    with translate_others(source.path, "workbook", _REMEDY), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about formatting that openpyxl does not know
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            n_bytes = sum(part.file_size for part in archive.infolist())
        if n_bytes > limit:
            raise over_unpacked(source.path, limit, is_packed=True)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        return _read_sheet(source, _choose(source, book.worksheets, sheet), n_bytes, limit)


def _choose(source: Source, sheets: list[Any], name: str | None) -> Any:
    names = [sheet.title for sheet in sheets]
    if name is not None:
        if name not in names:
            raise error_at(
                source.path,
                None,
                f"there is no sheet {short_repr(name)} among {list_names(names)}: pass ",
                Argument("sheet"),
                " with one",
            )
        return sheets[names.index(name)]
    filled = [sheet for sheet in sheets if next(_rows(source, sheet), None) is not None]
    if len(filled) > 1:
        raise error_at(
            source.path,
            None,
            f"there are the sheets {list_names(sheet.title for sheet in filled)}: pass ",
            Argument("sheet"),
            " with one",
        )
    if not filled:
        raise error_at(source.path, None, "the workbook is empty: pass a table with a header")
    return filled[0]


def _rows(source: Source, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each row that is not blank."""
    sheet.reset_dimensions()  # what a file claims may be wrong, or far too large
    for n, row in enumerate(sheet.iter_rows(values_only=True), 1):
        if n > _MOST_ROWS:
            raise error_at(source.path, n, f"a sheet has at most {_MOST_ROWS} rows: split the table")
        if any(value is not None for value in row):
            cells = [_without_escapes(cell_text(value)) for value in row]
            if any(map(str.strip, cells)):
                yield n, cells


def _without_escapes(text: str) -> str:
    return _CONTROL.sub(lambda match: "\n" if match[1].upper() in ("0A", "0D") else " ", text)


def _read_sheet(source: Source, sheet: Any, n_bytes: int, limit: int) -> CellTable:
    rows = _rows(source, sheet)
    first, names = next(rows, (1, []))
    columns = [j for j, name in enumerate(names) if name.strip()]
    header = [names[j].strip() for j in columns]
    if not header:
        what = f"the sheet {short_repr(sheet.title)} is empty"
        raise error_at(source.path, None, f"{what}: pass a table with a header")
    check_header(source.path, header, first)
    most = limits.CELLS.most(n_bytes)
    cells: list[str] = []
    lines = array("q")
    n_characters = 0
    for n, row in rows:
        if len(cells) + len(header) > most:
            claim = f"{len(lines) + 1} rows of {len(header)} columns"
            raise limits.over_limit(source.path, n, claim, most, n_bytes, "leave out empty columns")
        own = [row[j] if j < len(row) else "" for j in columns]
        # A sheet can point to one long text from many cells.
        n_characters += sum(map(len, own))
        if n_characters > limit:
            raise over_unpacked(source.path, limit, is_packed=True)
        cells += own
        lines.append(n)
    return CellTable(source.path, header, lines, n_bytes, cells)
