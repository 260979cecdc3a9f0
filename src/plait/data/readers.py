"""Reading documents from files and folders."""

from __future__ import annotations

import csv
import io
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plait.checks import short_repr
from plait.data import count_files
from plait.data.corpus import Corpus
from plait.data.files import FilePath, error_at, read_lines, read_text, read_vocabulary
from plait.data.text import DEFAULT_RECIPE, TextRecipe
from plait.errors import PlaitError, PlaitWarning

TEXT_FORMATS = ("lines", "folder", "csv", "jsonl")
COUNT_FORMATS = ("uci", "ldac", "mtx")

_SUFFIXES = {
    ".txt": "lines",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".ldac": "ldac",
    ".lda-c": "ldac",
    ".dat": "ldac",
    ".mtx": "mtx",
}


@dataclass(frozen=True)
class Documents:
    """Raw texts with what is known of them.

    Parameters
    ----------
    texts : tuple of str
        One text for each document.
    names, dates : tuple of str or None
        What the documents are called, and their dates.
    columns : mapping of str to tuple of str
        Whatever else is known of each.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...] | None = None
    dates: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read(
    path: FilePath,
    *,
    format: str | None = None,
    recipe: TextRecipe = DEFAULT_RECIPE,
    vocabulary: FilePath | Sequence[str] | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    date_column: str | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """Read a corpus from a file or folder.

    Parameters
    ----------
    path : path
        A file, unpacked on the way if its name ends in .gz, or a folder.
    format : str or None
        One of the formats below; None goes by the name.

        ========  =======================================================  ==============================
        format    contents                                                 names
        ========  =======================================================  ==============================
        lines     one document a line, blank lines being empty documents   .txt
        folder    .txt and .txt.gz files, in subfolders too, in the order  a folder
                  of their paths, which become the documents' names
        csv       a table with a header                                    .csv; .tsv with tabs
        jsonl     one JSON object a line                                   .jsonl, .ndjson
        uci       UCI bag of words                                         docword.*
        ldac      LDA-C, words counted from 0                              .ldac, .lda-c, .dat
        mtx       Matrix Market coordinate, a row for each document        .mtx
        ========  =======================================================  ==============================
    recipe : TextRecipe
        How text becomes words.  Counts are taken as they are.
    vocabulary : path, sequence of str or None
        For text, the vocabulary to use: words outside it are dropped, with a warning.  For counts, a path
        names the words of the file's columns, one a line (uci finds vocab.NAME.txt next to
        docword.NAME.txt by itself); a sequence, such as the vocabulary of a fitted model, is the
        vocabulary to express the counts in, and names the columns if no file does.
    text_column, id_column, date_column : str or None
        Columns of a csv table, or keys of JSON objects, with the text, the name and the date of each
        document: "text", which must be there, and "id" and "date", which may, unless you say otherwise.
        The other columns are kept in `Corpus.columns`; a key that some objects lack is empty there.
    encoding : str
        The encoding of the text.

    Returns
    -------
    Corpus
    """
    format = _format(path, format)
    keys = (text_column, id_column, date_column)
    wanted: Sequence[str] | None
    if isinstance(vocabulary, (str, os.PathLike)):
        wanted, is_file = read_vocabulary(vocabulary, encoding), True
    else:
        wanted, is_file = vocabulary, False
    if format in TEXT_FORMATS:
        documents = _read_documents(path, format, keys, encoding)
        with _naming(path):
            return Corpus.from_texts(
                documents.texts,
                recipe=recipe,
                vocabulary=wanted,
                names=documents.names,
                dates=documents.dates,
                columns=documents.columns,
            )
    _refuse_keys(path, format, keys)
    if recipe != DEFAULT_RECIPE:
        message = f"{os.fspath(path)}: the recipe is for text and is not applied to counts"
        warnings.warn(message, PlaitWarning, stacklevel=2)
    sibling = count_files.sibling_vocabulary(path) if format == "uci" and not is_file else None
    columns = wanted if sibling is None else read_vocabulary(sibling, encoding)
    matrix = _read_matrix(path, format, encoding, columns)
    with _naming(path):
        corpus = Corpus.from_matrix(matrix, vocabulary=columns)
        return corpus if sibling is None or wanted is None else corpus.reindexed(wanted)


def read_texts(
    path: FilePath,
    *,
    format: str | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    date_column: str | None = None,
    encoding: str = "utf-8",
) -> Documents:
    """Read raw texts from a file or folder, without making words of them.

    Parameters
    ----------
    path, format, text_column, id_column, date_column, encoding
        As in `read`; the format must be one of texts, not of counts.

    Returns
    -------
    Documents
    """
    format = _format(path, format)
    if format in COUNT_FORMATS:
        raise PlaitError(f"{os.fspath(path)}: the format {format!r} holds counts, not text: use read")
    return _read_documents(path, format, (text_column, id_column, date_column), encoding)


Keys = tuple[str | None, str | None, str | None]


def _format(path: FilePath, format: str | None) -> str:
    """Return the format to read: the given one, or what the name suggests."""
    known = TEXT_FORMATS + COUNT_FORMATS
    if format is not None:
        if format not in known:
            raise PlaitError(f"format is {short_repr(format)}: the formats are {', '.join(known)}")
        return format
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(f"path is {short_repr(path)}: pass the path of a file or folder")
    if os.path.isdir(path):
        return "folder"
    name = Path(path).name.lower().removesuffix(".gz")
    if name.startswith("docword."):
        return "uci"
    guess = _SUFFIXES.get(Path(name).suffix)
    if guess is None:
        what = (
            "the name does not tell the format" if os.path.exists(path) else "there is no such file or folder"
        )
        raise PlaitError(f"{os.fspath(path)}: {what}: check it, or pass format= one of {', '.join(known)}")
    return guess


@contextmanager
def _naming(path: FilePath) -> Iterator[None]:
    """Put the path in front of errors about contents."""
    try:
        yield
    except PlaitError as error:
        raise PlaitError(f"{os.fspath(path)}: {error}") from None


def _read_matrix(path: FilePath, format: str, encoding: str, vocabulary: Sequence[str] | None) -> Any:
    if format == "uci":
        return count_files.read_uci(path, encoding)
    if format == "mtx":
        return count_files.read_mtx(path, encoding)
    return count_files.read_ldac(path, encoding, None if vocabulary is None else len(vocabulary))


def _read_documents(path: FilePath, format: str, keys: Keys, encoding: str) -> Documents:
    if format == "csv":
        return _read_csv(path, keys, encoding)
    if format == "jsonl":
        return _read_jsonl(path, keys, encoding)
    _refuse_keys(path, format, keys)
    if format == "folder":
        return _read_folder(path, encoding)
    return Documents(tuple(read_lines(path, encoding)))


def _refuse_keys(path: FilePath, format: str, keys: Keys) -> None:
    for option, key in zip(("text_column", "id_column", "date_column"), keys, strict=True):
        if key is not None:
            raise PlaitError(
                f"{os.fspath(path)}: {option} is {short_repr(key)}, but the format {format!r} has no columns: "
                "leave it out, or pass format='csv' or 'jsonl'"
            )


def _read_folder(path: FilePath, encoding: str) -> Documents:
    folder = Path(path)
    if not os.path.isdir(folder):
        what = "this is a file, not a folder" if os.path.exists(folder) else "there is no such folder"
        raise PlaitError(f"{folder}: {what}: pass a folder of .txt files")
    files = {
        file.relative_to(folder).as_posix(): file
        for file in folder.rglob("*")
        if file.name.lower().endswith((".txt", ".txt.gz")) and os.path.isfile(file)
    }
    if not files:
        raise PlaitError(f"{folder}: the folder has no .txt files: pass one that has")
    names = tuple(sorted(files))
    return Documents(tuple(read_text(files[name], encoding) for name in names), names)


def _read_csv(path: FilePath, keys: Keys, encoding: str) -> Documents:
    tabs = Path(path).name.lower().removesuffix(".gz").endswith(".tsv")
    text = read_text(path, encoding)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if tabs else ",", strict=True)
    rows: list[dict[str, str]] = []
    line = 1
    # Whole books fit in a cell, though not in the default limit; it is the csv module's, not this reader's.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        header = next(reader, None)
        if not header:
            raise PlaitError(f"{os.fspath(path)}: the file is empty: pass a table with a header")
        for name in header:
            if header.count(name) > 1:
                raise error_at(path, 1, f"the header has the column {short_repr(name)} twice: rename one")
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(header):
                raise error_at(
                    path,
                    line,
                    f"the row has {len(cells)} cells for {len(header)} columns: quote or add cells",
                )
            if cells:
                rows.append(dict(zip(header, cells, strict=True)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise error_at(path, line, f"the row cannot be read ({error}): check its quotes") from None
    finally:
        csv.field_size_limit(limit)
    return _from_rows(path, header, rows, keys)


def _read_jsonl(path: FilePath, keys: Keys, encoding: str) -> Documents:
    text_key = "text" if keys[0] is None else keys[0]
    rows: list[dict[str, str]] = []
    columns: dict[str, None] = {}
    for n, line in enumerate(read_lines(path, encoding), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            message = f"the line is not JSON ({error.msg} at column {error.colno}): write one object a line"
            raise error_at(path, n, message) from None
        except RecursionError:
            raise error_at(path, n, "the JSON is nested too deep: write one flat object a line") from None
        if not isinstance(record, dict):
            raise error_at(
                path, n, f"the line is {short_repr(record)}, not an object: write one object a line"
            )
        if text_key not in record:
            raise error_at(path, n, f"there is no key {text_key!r} among {_listed(record)}: pass text_column")
        if not isinstance(record[text_key], str):
            raise error_at(path, n, f"{text_key!r} is {short_repr(record[text_key])}, not a string: quote it")
        rows.append({key: _as_text(value) for key, value in record.items()})
        columns.update(dict.fromkeys(record))
    return _from_rows(path, columns, rows, keys)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _from_rows(path: FilePath, columns: Iterable[str], rows: list[dict[str, str]], keys: Keys) -> Documents:
    """Return the rows as documents."""
    if not rows:
        raise PlaitError(f"{os.fspath(path)}: there are no documents: pass a file with some")
    values = {name: tuple(row.get(name, "") for row in rows) for name in columns}
    used: dict[str, str] = {}
    for usual, key in zip(("text", "id", "date"), keys, strict=True):
        used[usual] = usual if key is None else key
        if used[usual] not in values and (key is not None or usual == "text"):
            message = (
                f"there is no column {used[usual]!r} among {_listed(values)}: pass {usual}_column with one"
            )
            raise error_at(path, 1, message)
    others = {name: value for name, value in values.items() if name not in used.values()}
    return Documents(values[used["text"]], values.get(used["id"]), values.get(used["date"]), others)
