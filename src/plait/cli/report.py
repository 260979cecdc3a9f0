"""The command that writes a report."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import (
    claim_output,
    jobs_option,
    json_option,
    load_run,
    model_argument,
    overwrite_option,
    read_json,
    seed_option,
)
from plait.cli.output import print_json
from plait.cli.reading import read_for_model
from plait.display import say

if TYPE_CHECKING:
    from plait.evaluate import HeldOut
    from plait.run import Run


@click.command(short_help="Write a page of HTML that shows a model and its documents.")
@model_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="report.html",
    show_default=True,
    help="File for the page.",
)
@click.option("--title", help="Title of the page.  [default: the name of the model]")
@click.option(
    "--names",
    "names_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Names of topics, and topics to hide: a JSON file, which a report saves.",
)
@click.option(
    "--held-out",
    "held_out_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also show how well these documents are predicted.",
)
@click.option(
    "--full", is_flag=True, help="Write documents that one page has no room for to others next to it."
)
@click.option("--no-texts", is_flag=True, help="Show the words of documents, not their texts.")
@overwrite_option
@seed_option
@jobs_option
@json_option
def report(
    model: Path,
    output: Path,
    title: str | None,
    names_file: Path | None,
    held_out_file: Path | None,
    full: bool,
    no_texts: bool,
    overwrite: bool,
    seed: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Write a page of HTML that shows a topic model and its documents.

    The page is one file, which any browser opens, offline: send it to a colleague. It has the topics and a
    map of them, the documents with the topic of each word, and topics over time and by the columns of the
    documents. Topics can be named in the page, and the names saved to a file, which `plait name MODEL --from
    FILE` reads.

    \b
    Examples:
      plait report model.plait -o report.html
      plait report model.plait -o report.html --overwrite --names names.json
    """
    from plait.outputs import previous_name
    from plait.report import write_report

    inputs = (model, previous_name(model), names_file, held_out_file)
    claim_output(output, overwrite=overwrite, inputs=inputs)
    run = load_run(model, "lda", "there is no report on it yet")
    hidden: tuple[int, ...] = ()
    if names_file is not None:
        run, hidden = _with_names(run, names_file)
    held_out = None if held_out_file is None else _score(run, held_out_file, seed, jobs)
    write_report(
        run,
        output,
        title=title if title is not None else model.stem,
        hidden=hidden,
        held_out=held_out,
        texts=not no_texts,
        full=full,
        overwrite=overwrite,
        n_jobs=jobs,
    )
    if as_json:
        print_json({"model": str(model), "report": str(output), "bytes": output.stat().st_size})
    say(f"Report written to {output}; to see it, open it in a browser: {opening(output)}")


def opening(output: Path) -> str:
    """Return how to open a page."""
    return output.resolve().as_uri()


def _with_names(run: Run, source: Path) -> tuple[Run, tuple[int, ...]]:
    """Return the run with the names of a file, and the topics that the file hides."""
    from plait.data.files import prefix_errors
    from plait.names import hidden_from_json, names_from_json

    value: Any = read_json(source, '{"names": {"3": "taxes"}, "hidden": [5]}')
    with prefix_errors(source):
        return run.named(names_from_json(value)), hidden_from_json(value, run.model.n_states)


def _score(run: Run, source: Path, seed: int, jobs: int | None) -> HeldOut:
    from plait.evaluate import held_out
    from plait.inference.fitted import lda_model

    return held_out(run, read_for_model(source, lda_model(run).corpus), seed=seed, n_jobs=jobs)
