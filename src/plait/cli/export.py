"""Commands that write a model for other software."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from plait.cli.common import claim_output, load_run, model_argument, overwrite_option
from plait.cli.output import name_cell
from plait.display import say, shell_word
from plait.errors import PlaitError

if TYPE_CHECKING:
    from plait.interop.tables import Column


@click.command()
@model_argument
@click.option(
    "--format",
    type=click.Choice(["topics", "documents", "mallet"]),
    required=True,
    help="topics and documents are tables (CSV), mallet is a state file of MALLET.",
)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="File for what is exported."
)
@click.option(
    "--words", type=click.IntRange(1), default=10, show_default=True, help="Words per topic (topics)."
)
@overwrite_option
def export(model: Path, format: str, output: Path, words: int, overwrite: bool) -> None:
    """Write a topic model for other software.

    The table of topics has a row for each topic: its number, name, share of the words and most probable
    words. That of documents has a row for each document: its number, name, date and other columns, its number
    of words and its share of each topic. Control characters are written as escapes, such as \\n, and a cell
    that a spreadsheet could take for a formula starts with an apostrophe. The state file has the topic of
    every word in the first path; a name that ends in .gz, which MALLET requires, compresses it.

    \b
    Examples:
      plait export model.plait --format topics -o topics.csv
      plait export model.plait --format documents -o documents.csv
      plait export model.plait --format mallet -o state.gz
    """
    from plait.interop.mallet import to_mallet
    from plait.interop.tables import documents_table, topics_table
    from plait.outputs import previous_name, replacing

    if format != "mallet" and output.suffix.lower() == ".gz":
        raise PlaitError(f"{output}: tables are not compressed: choose a name without .gz")
    run = load_run(model, "lda", f"`plait decode {shell_word(model)} -o FILE` writes its states")
    claim_output(output, overwrite=overwrite, inputs=(model, previous_name(model)))
    if format == "mallet":
        to_mallet(run, output, overwrite=True)
    else:
        table = topics_table(run, words) if format == "topics" else documents_table(run)
        with (
            replacing(output) as temporary,
            open(temporary, "w", encoding="utf-8", newline="") as stream,
        ):
            _write_table(stream, table)
    say(f"Saved to {output}")


def _write_table(stream: TextIO, table: list[Column]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([name_cell(column.header, stream, raw=False) for column in table])
    for row in zip(*(column.values for column in table), strict=True):
        writer.writerow([_cell(value, stream) for value in row])


def _cell(value: Any, stream: TextIO) -> Any:
    if isinstance(value, str):
        return name_cell(value, stream, raw=False)
    return round(float(value), 6) if isinstance(value, float) else value
