"""Read the documents of a file one after another, without holding the file in memory."""

from __future__ import annotations

import csv
import gzip
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from plait.checks import check_choice
from plait.data.files import (
    FilePath,
    check_encoding,
    check_path,
    error_at,
    error_empty,
    over_unpacked,
    prefix_errors,
    translate_errors,
    unpacked_limit,
)
from plait.data.json_lines import parse_object
from plait.data.tables import LONG_CELLS, missing_column
from plait.errors import Argument, PlaitError
from plait.libraries import library

FORMATS = {
    ".txt": "lines",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
"""The formats that can be read in this way, by the ends of names."""


class Row(NamedTuple):
    """A document; the name and the date are None if the file has none."""

    text: str
    name: str | None
    date: str | None


class Stream(NamedTuple):
    """A file of documents that can be read any number of times; the fields are the arguments of `read`."""

    path: FilePath
    format: str | None = None
    text_column: str | None = None
    id_column: str | None = None
    date_column: str | None = None
    encoding: str = "utf-8"
    max_unpacked: int | None = None

    def rows(self) -> Iterator[Row]:
        """Yield all documents."""
        readers: dict[str, Callable[[Stream], Iterator[Row]]] = {
            "lines": _lines,
            "csv": _csv,
            "jsonl": _jsonl,
            "parquet": _parquet,
        }
        with translate_errors(self.path):
            yield from readers[self.checked_format()](self)

    def checked_format(self) -> str:
        """Return the format, of the name if none is given."""
        check_path(self.path)
        check_encoding(self.encoding)
        if self.format is not None:
            return check_choice("format", self.format, dict.fromkeys(FORMATS.values()))
        name = Path(self.path).name.lower().removesuffix(".gz")
        if Path(name).suffix not in FORMATS:
            names = ", ".join(FORMATS)
            raise error_at(
                self.path,
                None,
                f"only files whose names end in {names} can be encoded: convert it, or pass ",
                Argument("format"),
            )
        return FORMATS[Path(name).suffix]

    def columns(self, known: list[str], line: int | None) -> tuple[str, str | None, str | None]:
        """Return the names of the columns with text, name and date, which are among those `known`."""
        text = "text" if self.text_column is None else self.text_column
        given = {"text_column": text, "id_column": self.id_column, "date_column": self.date_column}
        for argument, name in given.items():
            if name is not None and name not in known:
                raise missing_column(self.path, name, known, argument, line=line or 1)
        name = self.id_column or ("id" if "id" in known else None)
        date = self.date_column or ("date" if "date" in known else None)
        return text, name, date


class _Limited(io.RawIOBase):
    """The bytes of a packed file, up to a limit."""

    def __init__(self, source: gzip.GzipFile, path: FilePath, limit: int) -> None:
        self._source, self._path, self._left, self._limit = source, path, limit, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise over_unpacked(self._path, self._limit, is_packed=True)
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _opened(stream: Stream, newline: str | None) -> Iterator[TextIO]:
    """Open a file as text; it must be a regular one, since it is read twice."""
    path = stream.path
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise error_at(path, None, f"this is {what}: pass a file")
    with open(path, "rb") as file:
        source: io.RawIOBase | io.BufferedReader = file
        if os.fsdecode(path).lower().endswith(".gz"):
            limit = unpacked_limit(status.st_size) if stream.max_unpacked is None else stream.max_unpacked
            source = _Limited(gzip.GzipFile(fileobj=file), path, limit)
        buffered = io.BufferedReader(source, 2**20)
        with io.TextIOWrapper(buffered, stream.encoding, newline=newline) as text:
            try:
                yield text
            except UnicodeDecodeError as error:
                raise error_at(
                    path,
                    None,
                    f"byte {error.object[error.start]:#04x} is not {stream.encoding}: convert the file, or"
                    " pass its encoding, such as ",
                    Argument("encoding", "latin-1"),
                ) from None


def _checked_lines(stream: Stream, newline: str | None) -> Iterator[str]:
    """Yield the lines of a file with their endings, without a byte order mark."""
    with _opened(stream, newline) as text:
        n = 0
        for n, line in enumerate(text, 1):
            if "\0" in line:
                raise error_at(stream.path, n, "there is a NUL character, which text does not have")
            yield line.removeprefix("\ufeff") if n == 1 else line
        if not n:
            raise error_empty(stream.path, "pass one with documents")


def _lines(stream: Stream) -> Iterator[Row]:
    for line in _checked_lines(stream, None):
        yield Row(line.removesuffix("\n"), None, None)


def _jsonl(stream: Stream) -> Iterator[Row]:
    text_key = "text" if stream.text_column is None else stream.text_column
    name_key, date_key = stream.id_column or "id", stream.date_column or "date"
    for n, line in enumerate(_checked_lines(stream, None), 1):
        if not line.strip():
            continue
        try:
            record = parse_object(line, text_key)
        except (PlaitError, RecursionError) as error:
            what = error if isinstance(error, PlaitError) else "the JSON is nested too deeply"
            raise error_at(stream.path, n, what) from None
        if text_key not in record:
            raise missing_column(stream.path, text_key, record, "text_column", line=n, what="key")
        yield Row(record[text_key], record.get(name_key), record.get(date_key))


def _csv(stream: Stream) -> Iterator[Row]:
    is_tsv = Path(stream.path).name.lower().removesuffix(".gz").endswith(".tsv")
    reader = csv.reader(_checked_lines(stream, ""), delimiter="\t" if is_tsv else ",", strict=True)
    try:
        with LONG_CELLS:
            header = next(reader)
            places = [None if name is None else header.index(name) for name in stream.columns(header, 1)]
            for row in reader:
                if len(row) == len(header):
                    text, name, date = (None if k is None else row[k] for k in places)
                    yield Row(text or "", name, date)
                elif row:
                    raise error_at(
                        stream.path,
                        reader.line_num,
                        f"the row has {len(row)} cells for {len(header)} columns: quote or add cells",
                    )
    except csv.Error as error:
        raise error_at(
            stream.path, reader.line_num, f"the row cannot be read ({error}): check its quotes"
        ) from None


def _parquet(stream: Stream) -> Iterator[Row]:
    with prefix_errors(stream.path):
        pyarrow, parquet = library("pyarrow", "files"), library("pyarrow.parquet", "files")
    try:
        file = parquet.ParquetFile(stream.path)
        names = stream.columns(file.schema_arrow.names, None)
        wanted = [name for name in names if name is not None]
        for batch in file.iter_batches(batch_size=10_000, columns=list(dict.fromkeys(wanted))):
            columns = [None if name is None else batch.column(name).to_pylist() for name in names]
            for k in range(batch.num_rows):
                cells = [None if own is None or own[k] is None else str(own[k]) for own in columns]
                yield Row(cells[0] or "", cells[1], cells[2])
    except pyarrow.ArrowException as error:
        raise error_at(stream.path, None, f"it is not a Parquet file ({error}): check it") from None
