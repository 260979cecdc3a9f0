"""Read documents from files and folders."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Never

from plait.checks import check_choice, short_repr
from plait.data import count_files, limits
from plait.data.corpus import Corpus
from plait.data.files import (
    FilePath,
    Source,
    check_path,
    error_at,
    over_unpacked,
    prefix_errors,
    read_contents,
    read_lines,
    read_vocabulary,
    translate_errors,
    unpacked_limit,
)
from plait.data.tables import missing_column, read_table
from plait.data.text import DEFAULT_RECIPE, TextRecipe
from plait.display import visible
from plait.errors import Argument, PlaitError, PlaitWarning

TABLE_FORMATS = ("csv", "jsonl")
TEXT_FORMATS = ("lines", "folder", *TABLE_FORMATS)
_COUNT_READERS = {"uci": count_files.read_uci, "ldac": count_files.read_ldac, "mtx": count_files.read_mtx}
COUNT_FORMATS = tuple(_COUNT_READERS)

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
    max_unpacked: int | None = None,
    keep_texts: bool = False,
) -> Corpus:
    """Read a corpus from a file or folder.

    Parameters
    ----------
    path : path
        A file, which is decompressed if its name ends in .gz, a folder, or a pipe.
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
    max_unpacked : int or None
        Maximum number of bytes that a file may have after decompression, and the files of a folder together.
        None allows 16 times the size on disk, or 16 MB if that is more, and 1 GB from a pipe.  Counts may
        add up to one token per 4 bytes of it, if that is more than the size of the file allows.
    keep_texts : bool
        Whether the corpus keeps the texts, see `Corpus.from_texts`; counts have none.

    Returns
    -------
    Corpus

    Notes
    -----
    What a file claims is limited by its size, as `plait.data.limits` describes: a header cannot ask for a
    billion documents in a file of a few bytes.  `Corpus.from_matrix` has no such limits.
    """
    format = _format(path, format)
    keys = (text_column, id_column, date_column)
    source = Source(path, encoding, max_unpacked)
    with translate_errors(path):
        wanted: Sequence[str] | None
        if isinstance(vocabulary, (str, os.PathLike)):
            wanted, is_file = read_vocabulary(vocabulary, encoding, max_unpacked), True
        else:
            wanted, is_file = vocabulary, False
        if format in TEXT_FORMATS:
            documents = _read_documents(source, format, keys)
            with prefix_errors(path):
                return Corpus.from_texts(
                    documents.texts,
                    recipe=recipe,
                    vocabulary=wanted,
                    names=documents.names,
                    dates=documents.dates,
                    columns=documents.columns,
                    keep_texts=keep_texts,
                )
        _refuse_keys(path, format, keys)
        if recipe != DEFAULT_RECIPE:
            message = f"{os.fsdecode(path)}: the recipe is for text and is not applied to counts"
            warnings.warn(message, PlaitWarning, stacklevel=2)
        sibling = count_files.sibling_vocabulary(path) if format == "uci" and not is_file else None
        columns = wanted if sibling is None else read_vocabulary(sibling, encoding, max_unpacked)
        n_words = None if columns is None else len(columns)
        matrix = _COUNT_READERS[format](path, encoding, n_words, max_unpacked)
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
    max_unpacked: int | None = None,
) -> Documents:
    """Read raw texts from a file or folder, without splitting them into words.

    Parameters
    ----------
    path, format, text_column, id_column, date_column, encoding, max_unpacked
        As in `read`; the format must hold text, not counts.

    Returns
    -------
    Documents
    """
    format = _format(path, format)
    if format in COUNT_FORMATS:
        raise error_at(path, None, f"the format {format!r} holds counts, not text: use read")
    source = Source(path, encoding, max_unpacked)
    with translate_errors(path):
        return _read_documents(source, format, (text_column, id_column, date_column))


def is_table(path: FilePath, format: str | None) -> bool:
    """Return whether the format of a file, the given one or that of its name, has columns."""
    return _format(path, format) in TABLE_FORMATS


Keys = tuple[str | None, str | None, str | None]


def _format(path: FilePath, format: str | None) -> str:
    """Return the format to read: the given one, or the one that the name suggests."""
    check_path(path, what="a file or folder")
    known = TEXT_FORMATS + COUNT_FORMATS
    is_folder = os.path.isdir(path)
    if format is not None:
        check_choice("format", format, known)
        if is_folder and format != "folder":
            raise error_at(
                path, None, "this is a folder, not a file: pass a file, or ", Argument("format", "folder")
            )
        return format
    if is_folder:
        return "folder"
    name = Path(path).name.lower().removesuffix(".gz")
    if name.startswith("docword."):
        return "uci"
    guess = _SUFFIXES.get(Path(name).suffix)
    if guess is None:
        with translate_errors(path):
            os.stat(path)
        raise error_at(
            path,
            None,
            "the format cannot be inferred from the name: check it, or pass ",
            Argument("format"),
            f" with one of {', '.join(known)}",
        )
    return guess


def _read_documents(source: Source, format: str, keys: Keys) -> Documents:
    if format == "csv":
        return _read_csv(source, keys)
    if format == "jsonl":
        return _read_jsonl(source, keys)
    _refuse_keys(source.path, format, keys)
    if format == "folder":
        return _read_folder(source)
    return Documents(tuple(read_lines(*source)[0]))


def _refuse_keys(path: FilePath, format: str, keys: Keys) -> None:
    for name, key in zip(("text_column", "id_column", "date_column"), keys, strict=True):
        if key is not None:
            raise error_at(
                path,
                None,
                Argument(name),
                f" must be left out, as the format {format!r} has no columns, got {short_repr(key)};"
                " columns need ",
                Argument("format", "csv"),
                " or ",
                Argument("format", "jsonl"),
            )


def _read_folder(source: Source) -> Documents:
    folder = os.fspath(source.path)
    if not os.path.isdir(folder):
        what = "this is a file, not a folder" if os.path.exists(folder) else "there is no such folder"
        raise error_at(folder, None, f"{what}: pass a folder of .txt files")
    files = _text_files(folder)
    if not files:
        raise error_at(folder, None, "the folder has no .txt files: pass one that has")
    limit = source.max_unpacked
    if limit is None:
        limit = unpacked_limit(sum(n_bytes for _, n_bytes in files.values()))
    texts = []
    total = 0
    names = sorted(files)
    for name in names:
        text, n_bytes = read_contents(files[name][0], source.encoding, source.max_unpacked)
        texts.append(text)
        total += n_bytes
        if total > limit:
            raise over_unpacked(folder, limit, is_packed=True)
    return Documents(tuple(texts), tuple(map(visible, names)))


def _text_files(folder: str) -> dict[str, tuple[str, int]]:
    """Return the paths and sizes of the text files in a folder, by their names relative to the folder.

    Links to folders are not followed, because they can lead back to where they are.
    """
    found: dict[str, tuple[str, int]] = {}
    prefixes = [""]
    while prefixes:
        prefix = prefixes.pop()
        place = os.path.join(folder, prefix)
        with translate_errors(place), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    prefixes.append(f"{prefix}{entry.name}/")
                elif entry.name.lower().endswith((".txt", ".txt.gz")) and os.path.isfile(entry.path):
                    found[prefix + entry.name] = (entry.path, entry.stat().st_size)
    return found


def _read_csv(source: Source, keys: Keys) -> Documents:
    table = read_table(source.path, source.encoding, long_cells=True, max_unpacked=source.max_unpacked)
    return _documents(source.path, {name: tuple(table.column(name)) for name in table.header}, keys)


def _read_jsonl(source: Source, keys: Keys) -> Documents:
    path = source.path
    text_key = "text" if keys[0] is None else keys[0]
    lines, n_bytes = read_lines(*source)
    most = limits.CELLS.most(n_bytes)
    columns: dict[str, list[str]] = {}
    n_rows = 0
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse_object(line, text_key)
        except RecursionError:
            raise error_at(path, n, "the JSON is nested too deeply: write one flat object per line") from None
        except PlaitError as error:
            raise error_at(path, n, error) from None
        if text_key not in record:
            raise missing_column(path, text_key, record, "text_column", line=n, what="key")
        n_keys = len(columns) + sum(key not in columns for key in record)
        n_cells = n_keys * (n_rows + 1)
        if n_cells > most:  # before the cells take memory
            claim = f"{n_rows + 1} rows with {n_keys} different keys make {n_cells} cells"
            remedy = "give all objects the same keys"
            raise limits.over_limit(path, n, claim, most, n_bytes, remedy)
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column += [""] * (n_rows - len(column))  # of the rows before, which lack the key
            column.append(value)
        n_rows += 1
    for column in columns.values():
        column += [""] * (n_rows - len(column))
    return _documents(path, {name: tuple(column) for name, column in columns.items()}, keys)


def parse_object(line: str, text_key: str) -> dict[str, str]:
    """Return the object on a line of JSON, with its values as text."""
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise PlaitError(
            f"the line is not JSON ({error.msg} at column {error.colno}): write one object per line"
        ) from None
    if not isinstance(record, dict):
        raise PlaitError(f"the line is {short_repr(record)}, not an object: write one object per line")
    if not isinstance(record.get(text_key, ""), str):
        raise PlaitError(f"{text_key!r} is {short_repr(record[text_key])}, not a string: quote it")
    texts = {key: _as_text(value) for key, value in record.items()}
    # The line itself is valid Unicode: only escapes can make half a pair.
    if "\\u" in line:
        for text in (*texts, *texts.values()):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                half = ascii(text[error.start])[1:-1]
                raise PlaitError(
                    f"{half} is half of a surrogate pair, not a character: write both halves, or remove it"
                ) from None
    return texts


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python limits the number of digits, because conversion takes quadratic time
        raise PlaitError(f"a number has {len(text.lstrip('-'))} digits: quote it") from None


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise PlaitError(f"the number {short_repr(text)[1:-1]} is too large: quote it")
    return number


def _constant(text: str) -> Never:
    raise PlaitError(f"{text} is not in JSON: write null, or quote it")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_finite, parse_constant=_constant)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _documents(path: FilePath, columns: dict[str, tuple[str, ...]], keys: Keys) -> Documents:
    """Return the documents of a table, given its columns."""
    if not any(columns.values()):
        raise error_at(path, None, "there are no documents: pass a file with some")
    used: dict[str, str] = {}
    for default, key in zip(("text", "id", "date"), keys, strict=True):
        used[default] = default if key is None else key
        if used[default] not in columns and (key is not None or default == "text"):
            raise missing_column(path, used[default], columns, f"{default}_column")
    others = {name: values for name, values in columns.items() if name not in used.values()}
    return Documents(columns[used["text"]], columns.get(used["id"]), columns.get(used["date"]), others)
