"""Commands for runs of any model."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli import hmm, lda
from plait.cli.common import (
    checkpoint_option,
    claim_output,
    cluster_option,
    describe_run,
    jobs_option,
    join_cluster,
    joint_likelihood,
    json_option,
    model_argument,
    print_run,
    quiet_option,
    read_json,
    sampling,
)
from plait.cli.output import print_json, print_table
from plait.cli.watching import watch, watch_options
from plait.display import say, shell_word
from plait.errors import PlaitError, PlaitWarning

if TYPE_CHECKING:
    from plait.run import Run

_REPORTS = {"hmm": hmm.report, "lda": lda.report}
"""Functions that print the result of a run, by the kind of its model."""

_NOUNS = {"hmm": "state", "lda": "topic", "slim-lda": "topic"}
"""What can be named, by the kind of the model."""


@click.command()
@model_argument
@click.option("--sweeps", type=int, help="Total number of sweeps.  [default: as planned]")
@checkpoint_option
@click.option(
    "--keep-previous/--no-keep-previous",
    default=None,
    help="Also keep the checkpoint before the newest.  [default: if there is one already]",
)
@jobs_option
@watch_options
@cluster_option
@quiet_option
@json_option
def resume(
    model: Path,
    sweeps: int | None,
    checkpoint_seconds: float,
    keep_previous: bool | None,
    jobs: int | None,
    cluster: str | None,
    quiet: bool,
    as_json: bool,
    watching: dict[str, Any],
) -> None:
    """Resume a run that was stopped, or make a finished one longer.

    The result has the same bits as if the run had never been stopped. A fit with restarts is resumed to its
    end; --sweeps makes its best run longer.

    \b
    Examples:
      plait resume model.plait
      plait resume model.plait --sweeps 2000
    """
    from plait.fitting.stored import resume as resume_run
    from plait.sampler import Checkpoints
    from plait.storage import check_readable

    join_cluster(cluster, jobs)
    Checkpoints(seconds=checkpoint_seconds)
    check_readable(model)
    claim_output(model, overwrite=True)
    finished, made, position, site_name = _state_of(model)
    if finished and sweeps is None:
        raise PlaitError(f"{model} is finished, at {position}: give a larger number, --sweeps {2 * made}")
    watch(model, watching, has_started=True)
    say(f"Resuming from {position}.")
    with sampling(model, quiet, site_name) as callback:
        run = resume_run(
            model,
            n_sweeps=sweeps,
            n_jobs=jobs,
            callback=callback,
            checkpoint_seconds=checkpoint_seconds,
            keep_previous=keep_previous,
            cluster=cluster,
        )
    report = _REPORTS.get(run.model.kind)
    if report is not None:
        report(run, model, jobs, as_json)
    elif as_json:
        print_run(run, model)
    else:
        describe_run(run, model, joint_likelihood(run))


def _state_of(model: Path) -> tuple[bool, int, str, str]:
    """Return whether a run is finished, its sweeps, its position and the name of its sites.

    The run itself does not stay in memory while it is resumed from its file.
    """
    from plait.data.files import prefix_errors
    from plait.fitting.stored import check_resumable
    from plait.run import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaitWarning)  # the same notes come when the run is resumed
        run = load(model)
    with prefix_errors(model):
        check_resumable(run)
    return run.finished, run.sweep, run.position, getattr(run.model, "site_name", "site")


@click.command()
@model_argument
@click.argument("pairs", nargs=-1, metavar="[NUMBER NAME]...")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help='Also take names from a JSON file: {"3": "taxes"}, or what a report saves.',
)
@click.option("--clear", is_flag=True, help="Remove all names first.")
@json_option
def name(model: Path, pairs: tuple[str, ...], source: Path | None, clear: bool, as_json: bool) -> None:
    """Name topics or states, or list their names.

    Numbers are those of `plait topics` and `plait states`. Names are kept in the file of the model and shown
    wherever its topics or states are; their numbers stay, and `plait resume` keeps the names. An empty name
    removes the name of a topic. Without names, those that the model has are listed.

    \b
    Examples:
      plait name model.plait 3 "taxes" 7 "war and peace"
      plait name model.plait
      plait name model.plait --json > names.json
      plait name other.plait --from names.json
      plait name model.plait --clear
    """
    from plait.run import load
    from plait.storage import check_readable

    given = _names_of_file(source) if source is not None else {}
    given |= _names_of_pairs(pairs)
    is_change = bool(pairs) or clear or source is not None
    if is_change:
        check_readable(model)
        claim_output(model, overwrite=True)
        run = _renamed(model, given, clear)
    else:
        run = load(model).best
    noun, numbers = _NOUNS[_nameable(run, model).model.kind], _shown_numbers(run)
    names = {number: run.names[own] for number, own in numbers.items() if own in run.names}
    if as_json:
        print_json(names)
    elif is_change:
        shown = f"plait {noun}s {shell_word(model)}"
        say(f"{len(names)} of {len(numbers)} {noun}s have names; to see them: {shown}")
    elif names:
        print_table([noun, "name"], [[str(number), text] for number, text in names.items()])
    else:
        say(f"No {noun} has a name; to give one: plait name {shell_word(model)} NUMBER NAME")


def _names_of_pairs(pairs: tuple[str, ...]) -> dict[int, Any]:
    """Return names by number; an empty one is None, which removes a name."""
    from plait.checks import short_repr

    found: dict[int, Any] = {}
    if len(pairs) % 2:
        raise PlaitError(
            f"{short_repr(pairs[-1])} has no partner: write pairs of a number and a name, such as 3 taxes"
        )
    for text, given in zip(pairs[::2], pairs[1::2], strict=True):
        if not re.fullmatch("[0-9]{1,9}", text, re.ASCII):
            raise PlaitError(
                f"{short_repr(text)} is not a number: write pairs of a number and a name, such as 3 taxes"
            )
        if int(text) in found:
            raise PlaitError(f"{int(text)} has two names: remove one")
        found[int(text)] = given or None
    return found


def _names_of_file(source: Path) -> dict[int, Any]:
    """Return names by number from a file; what they must be is checked when they are used."""
    from plait.data.files import prefix_errors
    from plait.names import names_from_json

    value = read_json(source, '{"3": "taxes"}')
    with prefix_errors(source):
        return names_from_json(value)


def _renamed(model: Path, given: dict[int, Any], clear: bool) -> Run:
    """Change names in a file, whose place is claimed, and return the run."""
    from plait.names import check_names, merged_names
    from plait.run import load_with_paths

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaitWarning)  # of a damaged file, which is an error here
        loaded = load_with_paths(model)
    run = _nameable(loaded.run, model)
    if loaded.is_previous:
        raise PlaitError(f"{model} is damaged or missing: repair it with `plait resume {shell_word(model)}`")
    if run.fit is not None and len(run.fit.seeds) > 1 and not run.finished:
        raise PlaitError(
            f"{model} is at {run.position}, and every restart has states of its own: finish it first, with"
            f" `plait resume {shell_word(model)}`"
        )
    numbers = _shown_numbers(run)
    n_states = run.model.n_states
    known = {number: run.names[own] for number, own in numbers.items() if own in run.names and not clear}
    names = check_names(merged_names(known, given, n_states), n_states)
    run = replace(run, names={numbers[number]: text for number, text in names.items()})
    run.save(model)
    return run


def _nameable(run: Run, model: Path) -> Run:
    """Return the run, or raise an error if no command shows its states."""
    if run.model.kind not in _NOUNS:
        raise PlaitError(
            f"{model} holds a model of the kind {run.model.kind}, which has no command for this: name its"
            " states in Python with Run.named"
        )
    return run


def _shown_numbers(run: Run) -> dict[int, int]:
    """Return the numbers of topics or states in the paths, by the numbers that the commands show."""
    from plait.fitting.restarts import state_order

    if _NOUNS[run.model.kind] == "topic":
        return {t: t for t in range(run.model.n_states)}
    return dict(enumerate(state_order(run, run.parameters()).tolist()))
