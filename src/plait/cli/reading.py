"""Options for reading data that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import F, encoding_option, together
from plait.cli.text_options import describe_language, recipe_of
from plait.display import say
from plait.errors import Argument, PlaitError

if TYPE_CHECKING:
    from plait.data.corpus import Corpus

_ROLES = {"text_column": "--text-column", "id_column": "--id-column", "date_column": "--date-column"}
"""Options that name columns; a model remembers them."""

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


def _format_option(*formats: str) -> Callable[[F], F]:
    return click.option(
        "--format", type=click.Choice(formats), help="Format of INPUT.  [default: by its name]"
    )


_column_options = (
    click.option("--text-column", metavar="NAME", help="Column with the text (csv, jsonl).  [default: text]"),
    click.option("--id-column", metavar="NAME", help="Column with the name of the document."),
    click.option("--date-column", metavar="NAME", help="Column with its date."),
    encoding_option,
    max_unpacked_option,
)

document_options = together(
    "reading",
    _format_option("lines", "folder", "csv", "jsonl", "uci", "ldac", "mtx"),
    *_column_options,
)
streaming_options = together("reading", _format_option("lines", "csv", "jsonl", "parquet"), *_column_options)

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
    corpus = read(path, recipe=recipe, vocabulary=vocabulary, keep_texts=keep_texts, **reading)
    named = {name: reading[name] for name in _ROLES if reading[name] is not None}
    corpus = replace(corpus, reading=named) if named else corpus
    if corpus.recipe is not None:
        describe_language(recipe, corpus.recipe)
    describe_corpus(corpus)
    return corpus


def read_for_model(path: Path, fitted: Corpus, reading: dict[str, Any]) -> Corpus:
    """Read documents as those that a topic model was fitted to: same words, stems, paragraphs and columns."""
    from plait.data.readers import read
    from plait.data.text import DEFAULT_RECIPE

    recipe = fitted.recipe or DEFAULT_RECIPE
    remembered = _remembered(path, fitted, reading)
    while True:
        try:
            options = reading | remembered
            corpus = read(path, recipe=recipe, vocabulary=fitted.vocabulary, **options)
            break
        except PlaitError as error:
            name = None if error.argument is None else str(error.argument)
            if name not in remembered:
                raise
            say(
                f"Note: {path} has no column {remembered.pop(name)!r}, which the model was fitted with;"
                f" {_ROLES[name]} names another one"
            )
    if fitted.recipe is None and corpus.recipe is not None:
        say("Note: the model was fitted to counts; text is read with the default recipe")
    return corpus


def _remembered(path: Path, fitted: Corpus, reading: dict[str, Any]) -> dict[str, str]:
    """Return the columns that the fit named and that are not named now, if the file has columns."""
    from plait.data.readers import is_table

    own = {name: fitted.reading[name] for name in _ROLES if name in fitted.reading}
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
