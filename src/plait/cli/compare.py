"""Commands that make many fits of one corpus: to compare ways to fit, and to choose the number of topics."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from plait.cli.common import (
    input_argument,
    jobs_option,
    json_option,
    quiet_option,
    seed_option,
    typed_command,
)
from plait.cli.output import print_columns, print_json, print_lines
from plait.cli.reading import document_options, read_corpus, vocabulary_option
from plait.cli.text_options import GroupedCommand, text_options
from plait.cli.topic_options import (
    alpha_option,
    eta_option,
    method_option,
    plan_option,
    read_plan,
    read_prior,
    read_seconds,
)
from plait.display import say
from plait.errors import Argument, PlaitError

if TYPE_CHECKING:
    from plait.evaluate import Comparison, Selection

F = TypeVar("F", bound=Callable[..., Any])


def _fits_options(function: F) -> F:
    """Add the options that both commands have."""
    options = (
        click.option(
            "-o",
            "--output",
            "folder",
            required=True,
            type=click.Path(path_type=Path),
            help="Folder for the fits and the results.",
        ),
        click.option(
            "--seeds", "n_seeds", type=int, default=3, show_default=True, help="Fits with different seeds."
        ),
        click.option(
            "--held-out",
            "held_out_share",
            type=float,
            default=0.1,
            show_default=True,
            metavar="SHARE",
            help="Share of the documents to hold out.",
        ),
        click.option("--top", type=int, default=10, show_default=True, help="Top words per topic."),
        method_option,
        alpha_option,
        eta_option,
        seed_option,
        vocabulary_option,
        jobs_option,
        document_options,
        text_options,
        quiet_option,
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command(cls=GroupedCommand, short_help="Compare ways to fit topics, at equal time.")
@input_argument
@click.option(
    "--contestants",
    default="prediction,5,5x1,1",
    show_default=True,
    metavar="LIST",
    help="Plans, numbers of paths, and restarts of either; others are compared with the first.",
)
@click.option("--topics", type=int, default=100, show_default=True, help="Number of topics.")
@click.option(
    "--time", "max_seconds", metavar="TIME", help="Time of each fit: 60s, 10min or 1.5h.  [default: 30s]"
)
@click.option("--sweeps", type=int, metavar="N", help="Instead of a time, sweeps times paths of each fit.")
@_fits_options
def compare(
    input: Path,
    folder: Path,
    contestants: str,
    topics: int,
    max_seconds: str | None,
    sweeps: int | None,
    alpha: str,
    eta: str,
    quiet: bool,
    as_json: bool,
    jobs: int | None,
    vocabulary: Path | None,
    reading: dict[str, Any],
    text: dict[str, Any],
    **others: Any,
) -> None:
    """Compare ways to fit topics to the documents in INPUT, at equal time.

    A contestant is a plan (prediction, optimum, posterior), a number of paths (5), or the best of several
    restarts of either, which share the time (5x1). Some documents are held out, and all fits are scored on
    them. Finished fits are kept in the folder: after Ctrl-C, the same command resumes, and with more
    contestants or seeds it makes those only. With --sweeps instead of --time, results have the same bits
    every time. docs/comparing.md explains the results.

    \b
    Examples:
      plait compare texts.csv -o contest --topics 50 --time 30s
      plait compare texts.csv -o contest --contestants prediction,posterior,5,5x1 --seeds 5
    """
    from plait.evaluate.comparing import check_contestants
    from plait.evaluate.comparing import compare as run
    from plait.evaluate.plots import has_matplotlib

    found = check_contestants([part.strip() for part in contestants.split(",")])
    settings = {
        "n_topics": topics,
        "max_seconds": None if max_seconds is None else read_seconds("--time", max_seconds),
        "n_sweeps": sweeps,
        "alpha": read_prior("--alpha", alpha),
        "eta": read_prior("--eta", eta),
        **others,
    }
    _check_folder(folder)
    corpus = read_corpus(input, vocabulary, reading, text)
    with _resumable(folder):
        result = run(
            corpus, [one.name for one in found], folder=folder, n_jobs=jobs, verbose=not quiet, **settings
        )
    files = result.save(folder)
    _report(result, files, as_json, has_matplotlib(), _print_comparison)


@click.command(cls=GroupedCommand, short_help="Choose the number of topics.")
@input_argument
@click.option(
    "--topics",
    default="10,20,50,100,200",
    show_default=True,
    metavar="LIST",
    help="Numbers of topics to try.",
)
@plan_option
@click.option(
    "--time", "max_seconds", metavar="TIME", help="Time of each fit, instead of sweeps: 60s, 10min or 1.5h."
)
@click.option("--sweeps", type=int, metavar="N", help="Number of sweeps of each fit.  [default: 1000]")
@_fits_options
def select(
    input: Path,
    folder: Path,
    topics: str,
    paths: str,
    max_seconds: str | None,
    sweeps: int | None,
    alpha: str,
    eta: str,
    quiet: bool,
    as_json: bool,
    jobs: int | None,
    vocabulary: Path | None,
    reading: dict[str, Any],
    text: dict[str, Any],
    **others: Any,
) -> None:
    """Fit several numbers of topics to the documents in INPUT, and recommend one.

    Recommended is the smallest number that predicts held-out documents as well as the best, up to one
    standard error; the command says if coherence or stability disagree. Finished fits are kept in the folder:
    after Ctrl-C, the same command resumes, and with more numbers or seeds it makes those only.
    docs/comparing.md explains the results.

    \b
    Examples:
      plait select texts.csv -o sizes --topics 10,20,50,100,200
      plait select texts.csv -o sizes --topics 20,50,100 --time 2min --seeds 5
    """
    from plait.evaluate.plots import has_matplotlib
    from plait.evaluate.selecting import check_topic_numbers
    from plait.evaluate.selecting import select as run

    numbers = check_topic_numbers([_whole(part) for part in topics.split(",")])
    settings = {
        "n_paths": read_plan(paths),
        "max_seconds": None if max_seconds is None else read_seconds("--time", max_seconds),
        "n_sweeps": sweeps,
        "alpha": read_prior("--alpha", alpha),
        "eta": read_prior("--eta", eta),
        **others,
    }
    _check_folder(folder)
    corpus = read_corpus(input, vocabulary, reading, text)
    with _resumable(folder):
        result = run(corpus, numbers, folder=folder, n_jobs=jobs, verbose=not quiet, **settings)
    files = result.save(folder)
    _report(result, files, as_json, has_matplotlib(), _print_selection)


def _whole(text: str) -> int:
    from plait.checks import short_repr

    text = text.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    raise PlaitError(
        Argument("topics"),
        f" must be whole numbers separated by commas, such as 10,20,50, got {short_repr(text)}",
    )


def _check_folder(folder: Path) -> None:
    """Fail early, before a long read, if the results cannot be written."""
    from plait.evaluate.fits import working_in

    with working_in(folder):
        pass


@contextmanager
def _resumable(folder: Path) -> Iterator[None]:
    """After Ctrl-C, SIGTERM or SIGHUP, say what is kept and how to resume."""
    from plait.evaluate.fits import FitsStopped
    from plait.interrupts import exit_status

    try:
        yield
    except FitsStopped as stopped:
        say(
            f"Stopped: {stopped.n_done} of {stopped.n_fits} fits are finished and kept in {folder}."
            " To resume:",
            f"  {typed_command()}",
        )
        sys.exit(exit_status(stopped))


def _report(
    result: Any, files: Sequence[Path], as_json: bool, can_draw: bool, show: Callable[[Any], None]
) -> None:
    if as_json:
        print_json(json.loads(files[0].read_text(encoding="utf-8")))
        return
    if result.n_unknown:
        say(f"Note: {result.n_unknown} held-out words were left out: no fitted document has them")
    show(result)
    print_lines("", *result.explain())
    if not can_draw:
        say('Note: no figure, which needs matplotlib: pip install "plait[plot]"')
    say(f"Wrote {', '.join(str(path) for path in files)}")


def _print_comparison(result: Comparison) -> None:
    headers = ["", "held-out", "± seeds", "above first", "± error", *_COMMON]
    rows = []
    for row in result.rows():
        is_first = row["contestant"] == result.groups[0].name
        above = [""] * 2 if is_first else [_number(row["above_first"]), _number(row["above_first_error"])]
        held_out = [_number(row["held_out_per_token"]), _number(row["held_out_spread"])]
        rows.append([row["contestant"], *held_out, *above, *_common(row)])
    print_columns(headers, rows)


def _print_selection(result: Selection) -> None:
    headers = ["topics", "held-out", "± seeds", "below best", "± error", *_COMMON, ""]
    rows = []
    for row in result.rows():
        names = ("held_out_per_token", "held_out_spread", "below_best", "below_best_error")
        mark = "recommended" if row["recommended"] else ""
        rows.append([str(row["topics"]), *(_number(row[name]) for name in names), *_common(row), mark])
    print_columns(headers, rows)


_COMMON = ("npmi", "± seeds", "diversity", "stability", "unrelated", "sweeps", "seconds")


def _common(row: dict[str, Any]) -> list[str]:
    names = ("coherence", "coherence_spread", "diversity", "stability", "stability_unrelated")
    return [*(_number(row[name], 3) for name in names), f"{row['sweeps']:.0f}", f"{row['seconds']:.1f}"]


def _number(value: float | None, digits: int = 4) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"
