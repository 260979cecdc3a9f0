"""Read documents from files and folders."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plait.checks import check_choice, short_repr
from plait.data import count_files
from plait.data.corpus import Corpus
from plait.data.files import FilePath, error_at, prefix_errors, read_lines, read_text, read_vocabulary
from plait.data.tables import missing_column, read_table
from plait.data.text import DEFAULT_RECIPE, TextRecipe
from plait.errors import Argument, PlaitError, PlaitWarning

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
    """Raw texts and their metadata.

    Parameters
    ----------
    texts : tuple of str
        The text of each document.
    names, dates : tuple of str or None
        The name and the date of each document.
    columns : mapping of str to tuple of str
        Other metadata, one entry per document in each column.
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
        A file, which is decompressed if its name ends in .gz, or a folder.
    format : str or None
        One of the formats below; None infers it from the name.

        ========  =======================================================  ==============================
        format    contents                                                 names
        ========  =======================================================  ==============================
        lines     one document per line; a blank line is an empty one      .txt
        folder    .txt and .txt.gz files, also in subfolders, sorted by    a folder
                  path; the paths become the names of the documents
        csv       a table with a header                                    .csv; .tsv with tabs
        jsonl     one JSON object per line                                 .jsonl, .ndjson
        uci       UCI bag of words                                         docword.*
        ldac      LDA-C, words numbered from 0                             .ldac, .lda-c, .dat
        mtx       Matrix Market coordinate, one row per document           .mtx
        ========  =======================================================  ==============================
    recipe : TextRecipe
        How text becomes words.  It does not apply to counts.
    vocabulary : path, sequence of str or None
        For text, the vocabulary to use: words outside it are dropped, with a warning.  For counts, a path
        is a file with the words of the columns, one per line (for uci, vocab.NAME.txt next to
        docword.NAME.txt is found without it); a sequence, such as the vocabulary of a fitted model, is the
        vocabulary of the result, and names the columns if no file does.
    text_column, id_column, date_column : str or None
        Columns of a csv table, or keys of JSON objects, with the text, the name and the date of each
        document.  The defaults are "text", which is required, and "id" and "date", which are optional.
        Other columns are kept in `Corpus.columns`; a key that an object lacks is empty there.
    encoding : str
        Encoding of the text.

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
        with prefix_errors(path):
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
    with prefix_errors(path):
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
    """Read raw texts from a file or folder, without splitting them into words.

    Parameters
    ----------
    path, format, text_column, id_column, date_column, encoding
        As in `read`; the format must hold text, not counts.

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
    """Return the format to read: the given one, or the one that the name suggests."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(Argument("path"), f" must be the path of a file or folder, got {short_repr(path)}")
    known = TEXT_FORMATS + COUNT_FORMATS
    is_folder = os.path.isdir(path)
    if format is not None:
        check_choice("format", format, known)
        if is_folder and format != "folder":
            raise PlaitError(
                f"{os.fspath(path)}: this is a folder, not a file: pass a file, or ",
                Argument("format", "folder"),
            )
        return format
    if is_folder:
        return "folder"
    name = Path(path).name.lower().removesuffix(".gz")
    if name.startswith("docword."):
        return "uci"
    guess = _SUFFIXES.get(Path(name).suffix)
    if guess is None:
        exists = os.path.exists(path)
        what = "the format cannot be inferred from the name" if exists else "there is no such file or folder"
        raise PlaitError(
            f"{os.fspath(path)}: {what}: check it, or pass ",
            Argument("format"),
            f" with one of {', '.join(known)}",
        )
    return guess


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
    for name, key in zip(("text_column", "id_column", "date_column"), keys, strict=True):
        if key is not None:
            raise PlaitError(
                f"{os.fspath(path)}: ",
                Argument(name),
                f" must be left out, as the format {format!r} has no columns, got {short_repr(key)};"
                " columns need ",
                Argument("format", "csv"),
                " or ",
                Argument("format", "jsonl"),
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
    table = read_table(path, encoding, long_cells=True)
    return _documents(path, {name: tuple(table.column(name)) for name in table.header}, keys)


def _read_jsonl(path: FilePath, keys: Keys, encoding: str) -> Documents:
    text_key = "text" if keys[0] is None else keys[0]
    rows: list[dict[str, str]] = []
    names: dict[str, None] = {}  # a set that keeps the order
    for n, line in enumerate(read_lines(path, encoding), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            message = f"the line is not JSON ({error.msg} at column {error.colno}): write one object per line"
            raise error_at(path, n, message) from None
        except RecursionError:
            raise error_at(path, n, "the JSON is nested too deeply: write one flat object per line") from None
        if not isinstance(record, dict):
            raise error_at(
                path, n, f"the line is {short_repr(record)}, not an object: write one object per line"
            )
        if text_key not in record:
            raise missing_column(path, text_key, record, "text_column", line=n, what="key")
        if not isinstance(record[text_key], str):
            raise error_at(path, n, f"{text_key!r} is {short_repr(record[text_key])}, not a string: quote it")
        rows.append({key: _as_text(value) for key, value in record.items()})
        names.update(dict.fromkeys(record))
    return _documents(path, {name: tuple(row.get(name, "") for row in rows) for name in names}, keys)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _documents(path: FilePath, columns: dict[str, tuple[str, ...]], keys: Keys) -> Documents:
    """Return the documents of a table, given its columns."""
    if not any(columns.values()):
        raise PlaitError(f"{os.fspath(path)}: there are no documents: pass a file with some")
    used: dict[str, str] = {}
    for default, key in zip(("text", "id", "date"), keys, strict=True):
        used[default] = default if key is None else key
        if used[default] not in columns and (key is not None or default == "text"):
            raise missing_column(path, used[default], columns, f"{default}_column")
    others = {name: values for name, values in columns.items() if name not in used.values()}
    return Documents(columns[used["text"]], columns.get(used["id"]), columns.get(used["date"]), others)
