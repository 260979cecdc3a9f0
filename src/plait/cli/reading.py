"""Options for reading data that several commands share."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import F, encoding_option, together
from plait.cli.text_options import describe_language, recipe_of
from plait.display import say
from plait.errors import Argument, PlaitError, rename_arguments

if TYPE_CHECKING:
    from plait.data.corpus import Corpus

_REMEMBERED = {
    "text_column": "--text-column",
    "id_column": "--id-column",
    "date_column": "--date-column",
    "date_format": "--date-format",
}
"""Options about columns, which a model remembers."""

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Return a number of bytes, which may have a unit, such as 500M or 2G."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)B?", text.strip().upper(), re.ASCII)
    if match is None or int(match[1]) == 0:
        from plait.checks import short_repr  # not above: it imports numpy, which takes long

        raise PlaitError(
            Argument("max_unpacked"),
            f" must be a number of bytes, such as 500M or 2G, got {short_repr(text)}",
        )
    return int(match[1]) * _UNITS[match[2]]


max_unpacked_option = click.option(
    "--max-unpacked",
    metavar="SIZE",
    callback=_size,
    help="Maximum size after unpacking, e.g. 500M or 2G.  [default: 16 times the file's size, at least 16M]",
)

delimiter_option = click.option(
    "--delimiter",
    metavar="comma|semicolon|tab|pipe|CHARACTER",
    help="What separates the cells of a table.  [default: found out]",
)


def _format_option(*formats: str) -> Callable[[F], F]:
    return click.option(
        "--format", type=click.Choice(formats), help="Format of INPUT.  [default: by its name]"
    )


_column_options = (
    click.option("--text-column", metavar="NAME", help="Column with the text of a table.  [default: text]"),
    click.option("--id-column", metavar="NAME", help="Column with the name of the document.  [default: id]"),
    click.option("--date-column", metavar="NAME", help="Column with its date.  [default: date]"),
)
_file_options = (
    encoding_option,
    max_unpacked_option,
)

document_options = together(
    "reading",
    _format_option("lines", "folder", "csv", "jsonl", "xlsx", "parquet", "uci", "ldac", "mtx"),
    *_column_options,
    click.option(
        "--date-format",
        metavar="day-first|month-first|PATTERN",
        help="How to read dates such as 3/4/2017, or a pattern such as %d.%m.%y.  [default: found out]",
    ),
    click.option("--sheet", metavar="NAME", help="Sheet of a workbook.  [default: the only one]"),
    delimiter_option,
    *_file_options,
)
streaming_options = together(
    "reading", _format_option("lines", "csv", "jsonl", "parquet"), *_column_options, *_file_options
)


def split_names(context: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Return the names in a comma-separated list; a name with a comma is quoted, as in a table."""
    if text is None:
        return None
    try:
        return tuple(next(csv.reader([text], skipinitialspace=True)))
    except csv.Error:
        from plait.checks import short_repr

        raise PlaitError(
            Argument(str(option.name)), f" must be names on one line, such as A,B,C, got {short_repr(text)}"
        ) from None


keep_columns_option = click.option(
    "--keep-columns",
    metavar="A,B,C|all",
    callback=split_names,
    help="Other columns of a table to keep in the model, for `plait timeline --by` and tables.",
)

vocabulary_option = click.option(
    "--vocabulary", type=click.Path(path_type=Path), metavar="FILE", help="The words to use, one per line."
)


no_texts_option = click.option(
    "--no-texts", is_flag=True, help="Do not keep the texts in the model; then it shows no excerpts."
)


def read_corpus(
    path: Path,
    vocabulary: Path | None,
    reading: dict[str, Any],
    text: dict[str, Any],
    *,
    keep_columns: tuple[str, ...] | None = None,
    keep_texts: bool = False,
    words_in: Path | None = None,
) -> Corpus:
    """Read the documents to fit topics to, given the values of all options of this module; describe them.

    The words of an encoded corpus are kept in a file in the folder `words_in`, if given.
    """
    from plait.data.encoded import EncodedCorpus, is_encoded
    from plait.data.readers import read

    if is_encoded(path):
        encoded = EncodedCorpus.open(path, words_in)
        describe_corpus(encoded)
        return encoded
    recipe = recipe_of(encoding=reading["encoding"], max_unpacked=reading["max_unpacked"], **text)
    columns = "all" if keep_columns == ("all",) else keep_columns
    with rename_arguments({"columns": "keep_columns"}):
        corpus = read(
            path, recipe=recipe, vocabulary=vocabulary, columns=columns, keep_texts=keep_texts, **reading
        )
    if corpus.recipe is not None:
        describe_language(recipe, corpus.recipe)
    describe_corpus(corpus)
    return corpus


def read_for_model(path: Path, fitted: Corpus, reading: dict[str, Any] | None = None) -> Corpus:
    """Read documents as those that a topic model was fitted to: same words, stems, paragraphs and columns.

    A command without the options of this module gives no `reading`: then the file decides.
    """
    from plait.data.readers import read
    from plait.data.text import DEFAULT_RECIPE

    if reading is None:
        reading = dict.fromkeys(("format", *_REMEMBERED))

    recipe = fitted.recipe or DEFAULT_RECIPE
    remembered = _remembered(path, fitted, reading)
    while True:
        try:
            options = reading | remembered
            corpus = read(path, recipe=recipe, vocabulary=fitted.vocabulary, **options)
            break
        except PlaitError as error:
            name = None if error.argument is None else str(error.argument)
            if name not in remembered or name == "date_format":
                raise
            say(
                f"Note: {path} has no column {remembered.pop(name)!r}, which the model was fitted with;"
                f" {_REMEMBERED[name]} names another one"
            )
    if fitted.recipe is None and corpus.recipe is not None:
        say("Note: the model was fitted to counts; text is read with the default recipe")
    return corpus


def _remembered(path: Path, fitted: Corpus, reading: dict[str, Any]) -> dict[str, str]:
    """Return the options of the fit about columns that are not given now, if the file has columns."""
    from plait.data.readers import is_table

    own = {name: fitted.reading[name] for name in _REMEMBERED if name in fitted.reading}
    own = {name: column for name, column in own.items() if reading[name] is None}
    return own if own and is_table(path, reading["format"]) else {}


def describe_corpus(corpus: Corpus) -> None:
    """Say how large a corpus is."""
    say(f"{corpus.n_documents} documents, {corpus.n_tokens} words, {corpus.n_words} of them distinct.")
    note_empty(corpus)


def note_empty(corpus: Corpus) -> None:
    """Say how many documents are empty, if any."""
    if corpus.n_empty:
        say(f"Note: {corpus.note_of_empty}")
