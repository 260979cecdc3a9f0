"""Read tables from Parquet files, with pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

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
from plait.data.tables import Table, check_header
from plait.libraries import library

_ROWS_AT_A_TIME: Final = 2**14
_WORDS: Final = ("Parquet file", "write it again")


def read_parquet(source: Source) -> ParquetTable:
    """Return the table in a Parquet file, whose columns are read when they are asked for.

    Parameters
    ----------
    source : Source
        The file; `max_unpacked` limits the characters of each column.
    """
    path = source.path
    with prefix_errors(path):
        pyarrow, parquet = library("pyarrow", "files"), library("pyarrow.parquet", "files")
    data = read_bytes(path, source.max_unpacked)
    limit = source.limit(len(data))
    with translate_others(path, *_WORDS):
        schema = parquet.read_schema(pyarrow.BufferReader(data))
        # Repeated texts stay one text in memory, however often a small file says that it is repeated.
        texts = [column.name for column in schema if _is_text(pyarrow, column.type)]
        file = parquet.ParquetFile(pyarrow.BufferReader(data), read_dictionary=texts)
        n_rows, most = file.metadata.num_rows, limits.CELLS.most(len(data))
        if not 0 <= n_rows <= most:
            claim = f"the header claims {n_rows} rows"
            raise limits.over_limit(path, None, claim, most, len(data), "split the table")
        header = [column.name for column in schema]
        check_header(path, header)
    return ParquetTable(path, header, range(1, n_rows + 1), len(data), file, limit)


@dataclass(frozen=True, eq=False)
class ParquetTable(Table):
    """A table in a Parquet file. Its `lines` are its rows, counted from 1."""

    file: Any
    limit: int

    def place(self, row: int) -> str:
        """Return where a row is, apart from the file."""
        return f"row {self.lines[row]}"

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        cells: list[str] = []
        n_characters = 0
        with translate_others(self.path, *_WORDS):
            for batch in self.file.iter_batches(_ROWS_AT_A_TIME, columns=[name], use_threads=False):
                own = _texts(batch.column(batch.schema.names.index(name)))
                n_characters += sum(map(len, own))
                if n_characters > self.limit:
                    raise over_unpacked(self.path, self.limit, is_packed=True)
                cells += own
            if len(cells) != len(self.lines):
                claim = f"there are {len(cells)} rows, but the header claims {len(self.lines)}"
                raise error_at(self.path, None, f"{claim}: write the file again")
        return cells


def _is_text(pyarrow: Any, kind: Any) -> bool:
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)


def _texts(values: Any) -> list[str]:
    """Return an array of Arrow as texts."""
    pyarrow = library("pyarrow", "files")
    if pyarrow.types.is_dictionary(values.type):
        known = _texts(values.dictionary)
        return ["" if index is None else known[index] for index in values.indices.to_pylist()]
    if pyarrow.types.is_timestamp(values.type):  # Python has no nanoseconds
        values = values.cast(pyarrow.timestamp("us", values.type.tz), safe=False)
    return list(map(cell_text, values.to_pylist()))
