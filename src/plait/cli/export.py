"""Commands that write a model for other software."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plait.cli.common import claim_output, json_option, load_run, model_argument, overwrite_option
from plait.cli.output import print_json
from plait.display import say, shell_word
from plait.errors import PlaitError

if TYPE_CHECKING:
    from plait.interop.tables import Column


@click.command()
@model_argument
@click.option(
    "--format",
    type=click.Choice(["topics", "documents", "mallet"]),
    help="Write one table (CSV), or a state file of MALLET.  [default: all tables]",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="Workbook (.xlsx) or folder for all tables; else a file.",
)
@click.option("--words", type=click.IntRange(1), default=10, show_default=True, help="Words per topic.")
@click.option("--inference", is_flag=True, help="Write a model without its documents, for inference only.")
@overwrite_option
@json_option
def export(
    model: Path,
    format: str | None,
    output: Path,
    words: int,
    inference: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write a topic model for other software, or for inference.

    A workbook of Excel, or a folder of CSV files, has the tables topics, documents, words, time (if documents
    have dates) and parameters. The table of topics has a row for each topic: its number, name, share of the
    words and most probable words. That of documents has a row for each document: its number, name, date and
    other columns, its number of words and its share of each topic. Control characters are written as escapes,
    such as \\n, and a cell that a spreadsheet could take for a formula starts with an apostrophe. The state
    file of MALLET has the topic of every word in the first path; a name that ends in .gz, which MALLET
    requires, compresses it.

    --inference writes a model for `plait infer` and `plait topics`, and for LatentDirichletAllocation.load:
    the topics and how text becomes words, without the documents. It is far smaller, and gives new documents
    the same topics.

    \b
    Examples:
      plait export model.plait -o model.xlsx
      plait export model.plait -o tables
      plait export model.plait --format topics -o topics.csv
      plait export model.plait --format mallet -o state.gz
      plait export model.plait --inference -o slim.plait
    """
    from plait.inference.slim import slim
    from plait.interop.books import write_csv
    from plait.interop.mallet import to_mallet
    from plait.interop.tables import all_tables, documents_table, topics_table
    from plait.outputs import previous_name

    if inference and format is not None:
        raise PlaitError(f"--inference writes a model, and --format {format} does not: give one of the two")
    if format != "mallet" and output.suffix.lower() == ".gz":
        raise PlaitError(f"{output}: tables are not compressed: choose a name without .gz")
    run = load_run(model, "lda", f"`plait decode {shell_word(model)} -o FILE` writes its states")
    inputs = (model, previous_name(model))
    files = [output]
    if inference:
        claim_output(output, overwrite=overwrite, inputs=inputs)
        slim(run).save(output)
    elif format is None:
        files = _write_all(all_tables(run, words), output, inputs, overwrite)
    else:
        claim_output(output, overwrite=overwrite, inputs=inputs)
        if format == "mallet":
            to_mallet(run, output, overwrite=True)
        else:
            write_csv(topics_table(run, words) if format == "topics" else documents_table(run), output)
    if as_json:
        print_json({"model": str(model), "files": [str(file) for file in files]})
    smaller = f", {output.stat().st_size / model.stat().st_size:.1%} of the size" if inference else ""
    say(f"Saved to {output}{smaller}")


def _write_all(
    tables: Mapping[str, Sequence[Column]], output: Path, inputs: tuple[Path, ...], overwrite: bool
) -> list[Path]:
    """Write all tables to a workbook or a folder, and return the files."""
    from plait.interop.books import write_tables

    ending = output.suffix.lower()
    if ending == ".xlsx":
        claim_output(output, overwrite=overwrite, inputs=inputs)
    else:
        if ending and not output.is_dir():
            raise PlaitError(
                f"{output}: all tables go to a workbook, whose name ends in .xlsx, or to a folder, whose name"
                " has no ending; --format topics writes one table"
            )
        if output.is_dir():
            for name in tables:
                claim_output(output / f"{name}.csv", overwrite=overwrite, inputs=inputs)
    return write_tables(tables, output)
