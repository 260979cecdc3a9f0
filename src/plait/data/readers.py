"""Read documents from files and folders."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from plait.checks import check_choice, short_repr
from plait.data import count_files
from plait.data.corpus import Corpus
from plait.data.documents import Columns, Documents, Roles, documents_of
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
)
from plait.data.json_lines import read_json_lines
from plait.data.parquet import read_parquet
from plait.data.tables import Table, read_table
from plait.data.text import DEFAULT_RECIPE, TextRecipe
from plait.data.workbooks import read_workbook
from plait.display import visible
from plait.errors import Argument, PlaitWarning

TABLE_FORMATS = ("csv", "jsonl", "xlsx", "parquet")
TEXT_FORMATS = ("lines", "folder", *TABLE_FORMATS)
_COUNT_READERS = {"uci": count_files.read_uci, "ldac": count_files.read_ldac, "mtx": count_files.read_mtx}
COUNT_FORMATS = tuple(_COUNT_READERS)

_SUFFIXES = {
    ".txt": "lines",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".ldac": "ldac",
    ".lda-c": "ldac",
    ".dat": "ldac",
    ".mtx": "mtx",
}


def read(
    path: FilePath,
    *,
    format: str | None = None,
    recipe: TextRecipe = DEFAULT_RECIPE,
    vocabulary: FilePath | Sequence[str] | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    date_column: str | None = None,
    columns: Columns = None,
    date_format: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
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
        xlsx      a table in a workbook of Excel (needs openpyxl)          .xlsx, .xlsm
        parquet   a table in a Parquet file (needs pyarrow)                .parquet, .pq
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
        Columns of a table, or keys of JSON objects, with the text, the name and the date of each document.
        The defaults are "text", which is required, and "id" and "date", which are optional.  Dates are
        turned into ISO format ("2016-12-30"); those that cannot be read stay as they are, with a warning.
    columns : "all", sequence of str or None
        Other columns to keep in `Corpus.columns`: all of them, those that are named, or none.
    date_format : str or None
        "day-first" or "month-first", the order in dates such as 3/4/2017, or a pattern of
        `datetime.strptime` that all dates have, such as "%d.%m.%y".  None finds out the order from the dates.
    delimiter : str or None
        What separates the cells of a csv table: a character, or "comma", "semicolon", "tab" or "pipe".  None
        finds it out.
    sheet : str or None
        Name of the sheet of a workbook; None takes the only one that has cells.
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
    options = TableOptions(Roles(text_column, id_column, date_column, columns, date_format), delimiter, sheet)
    source = Source(path, encoding, max_unpacked)
    with translate_errors(path):
        wanted: Sequence[str] | None
        if isinstance(vocabulary, (str, os.PathLike)):
            wanted, is_file = read_vocabulary(vocabulary, encoding, max_unpacked), True
        else:
            wanted, is_file = vocabulary, False
        if format in TEXT_FORMATS:
            documents = _read_documents(source, format, options)
            with prefix_errors(path):
                corpus = documents.to_corpus(recipe, wanted, keep_texts=keep_texts)
            reading = options.roles.named
            if documents.date_format is not None:
                reading["date_format"] = documents.date_format
            return replace(corpus, reading=reading) if reading else corpus
        _refuse(path, format, options)
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
    columns: Columns = None,
    date_format: str | None = None,
    delimiter: str | None = None,
    sheet: str | None = None,
    encoding: str = "utf-8",
    max_unpacked: int | None = None,
) -> Documents:
    """Read raw texts from a file or folder, without splitting them into words.

    Parameters
    ----------
    path, format, text_column, id_column, date_column, columns, date_format, delimiter, sheet
        As in `read`; the format must hold text, not counts.
    encoding, max_unpacked
        As in `read`.

    Returns
    -------
    Documents
    """
    format = _format(path, format)
    if format in COUNT_FORMATS:
        raise error_at(path, None, f"the format {format!r} holds counts, not text: use read")
    source = Source(path, encoding, max_unpacked)
    with translate_errors(path):
        roles = Roles(text_column, id_column, date_column, columns, date_format)
        return _read_documents(source, format, TableOptions(roles, delimiter, sheet))


def is_table(path: FilePath, format: str | None) -> bool:
    """Return whether the format of a file, the given one or that of its name, has columns."""
    return _format(path, format) in TABLE_FORMATS


class TableOptions(NamedTuple):
    """Options of `read` that are for tables only."""

    roles: Roles
    delimiter: str | None
    sheet: str | None


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


def _read_documents(source: Source, format: str, options: TableOptions) -> Documents:
    _refuse(source.path, format, options)
    if format in TABLE_FORMATS:
        return documents_of(_read_table(source, format, options), options.roles)
    if format == "folder":
        return _read_folder(source)
    return Documents(tuple(read_lines(*source)[0]))


def _read_table(source: Source, format: str, options: TableOptions) -> Table:
    if format == "csv":
        return read_table(
            source.path,
            source.encoding,
            long_cells=True,
            max_unpacked=source.max_unpacked,
            delimiter=options.delimiter,
        )
    if format == "jsonl":
        return read_json_lines(source, options.roles.text or "text")
    return read_parquet(source) if format == "parquet" else read_workbook(source, options.sheet)


def _refuse(path: FilePath, format: str, options: TableOptions) -> None:
    """Raise an error if an option is given that the format does not have."""
    roles = options.roles
    columns = {**roles.named, "columns": roles.columns, "date_format": roles.date_format}
    for what, formats, values in (
        ("columns", TABLE_FORMATS, columns),
        ("delimiter", ("csv",), {"delimiter": options.delimiter}),
        ("sheets", ("xlsx",), {"sheet": options.sheet}),
    ):
        for name, value in values.items():
            if value is not None and format not in formats:
                raise error_at(
                    path,
                    None,
                    Argument(name),
                    f" must be left out, as the format {format!r} has no {what}, got {short_repr(value)}:"
                    f" it is for {', '.join(formats)}",
                )


def _read_folder(source: Source) -> Documents:
    folder = os.fspath(source.path)
    if not os.path.isdir(folder):
        what = "this is a file, not a folder" if os.path.exists(folder) else "there is no such folder"
        raise error_at(folder, None, f"{what}: pass a folder of .txt files")
    files = _text_files(folder)
    if not files:
        raise error_at(folder, None, "the folder has no .txt files: pass one that has")
    limit = source.limit(sum(n_bytes for _, n_bytes in files.values()))
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
