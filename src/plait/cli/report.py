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
    model_argument,
    note_unfinished,
    overwrite_option,
    read_json,
    seed_option,
)
from plait.cli.output import print_json
from plait.cli.reading import read_for_model
from plait.display import say
from plait.errors import Argument, PlaitError

if TYPE_CHECKING:
    from plait.evaluate import HeldOut
    from plait.run import Run


@click.command(short_help="Write a page of HTML that shows a model and its data, or two models.")
@model_argument
@click.argument("other", required=False, type=click.Path(path_type=Path))
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
    help="Names of topics or states, and topics to hide: a JSON file, which a report saves.",
)
@click.option(
    "--held-out",
    "held_out_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also show how well these documents are predicted.",
)
@click.option(
    "--full", is_flag=True, help="All documents, in pages next to it where one is too small; all sequences."
)
@click.option("--no-texts", is_flag=True, help="Show the words of documents, not their texts.")
@overwrite_option
@seed_option
@jobs_option
@json_option
def report(
    model: Path,
    other: Path | None,
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
    """Write a page of HTML that shows a model and its data or, if OTHER is given, compares two models.

    The page is one file, which any browser opens, offline: send it to a colleague. Of a topic model it has
    the topics and a map of them, the documents with the topic of each word, and topics over time and by the
    columns of the documents. Of a hidden Markov model it has the states with their emissions, their
    transitions and durations, and the sequences with their states. Other models have a report, too. Topics
    and states can be named in the page, and the names saved to a file, which `plait name MODEL --from FILE`
    and --names read.

    With OTHER, the page has the topics or states of two models side by side: what both found, and what only
    one of them did.

    \b
    Examples:
      plait report model.plait -o report.html
      plait report model.plait -o report.html --overwrite --names names.json
      plait report model.plait other.plait -o both.html
    """
    from plait.outputs import previous_name
    from plait.report import model_names, write_report

    inputs = (model, previous_name(model), other, names_file, held_out_file)
    claim_output(output, overwrite=overwrite, inputs=inputs)
    run = _noted(model)
    given = {"full": full, "names_file": names_file, "held_out_file": held_out_file, "no_texts": no_texts}
    _check_options(run, [name for name, value in given.items() if value], other)
    options: dict[str, Any] = {}
    if other is not None:
        names = model_names(model, other)
        options |= {"other": _noted(other), "titles": names, "title": " and ".join(names)}
    if names_file is not None:
        run, hidden = _with_names(run, names_file)
        options |= {"hidden": hidden} if run.model.kind == "lda" else {}
    if held_out_file is not None:
        options["held_out"] = _score(run, held_out_file, seed, jobs)
    if no_texts:
        options["texts"] = False
    if full:
        options["full"] = True
    options["title"] = title if title is not None else options.get("title", model.stem)
    write_report(run, output, overwrite=overwrite, n_jobs=jobs, **options)
    if as_json:
        print_json({"model": str(model), "report": str(output), "bytes": output.stat().st_size})
    say(f"Report written to {output}; to see it, open it in a browser: {opening(output)}")


def _check_options(run: Run, given: list[str], other: Path | None) -> None:
    """Raise an error if an option was given that this report does not have."""
    kind = run.model.kind
    for name in given:
        if other is not None:
            raise PlaitError(Argument(name), " is no option of a report on two models: leave it out")
        if name in ("held_out_file", "no_texts") and kind != "lda":
            raise PlaitError(Argument(name), " is an option of reports on topic models: leave it out")
        if name == "full" and kind not in ("lda", "hmm"):
            raise PlaitError(Argument(name), f" does nothing for a model of the kind {kind}: leave it out")


def _noted(model: Path) -> Run:
    """Load a run of any kind; say so if it is not finished."""
    from plait.run import load

    run = load(model)
    note_unfinished(run, model)
    return run


def opening(output: Path) -> str:
    """Return how to open a page."""
    return output.resolve().as_uri()


def _with_names(run: Run, source: Path) -> tuple[Run, tuple[int, ...]]:
    """Return the run with the names of a file, and what the file hides; numbers are those that are shown."""
    from plait.data.files import prefix_errors
    from plait.names import hidden_from_json, merged_names, names_from_json
    from plait.report.latent import shown_order

    value: Any = read_json(source, '{"names": {"3": "taxes"}, "hidden": [5]}')
    run = run.best
    n_states = int(run.model.n_states)
    with prefix_errors(source):
        names, order = names_from_json(value), shown_order(run)
        merged_names({}, names, n_states)  # raises an error for a number that no state has
        named = run.named({int(order[number]): name for number, name in names.items()})
        return named, hidden_from_json(value, n_states)


def _score(run: Run, source: Path, seed: int, jobs: int | None) -> HeldOut:
    from plait.evaluate import held_out
    from plait.inference.fitted import lda_model

    return held_out(run, read_for_model(source, lda_model(run).corpus), seed=seed, n_jobs=jobs)
