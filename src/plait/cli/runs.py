"""Commands for runs of any model."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import warnings
from pathlib import Path

import click

from plait.cli import hmm, lda
from plait.cli.common import (
    checkpoint_option,
    claim_output,
    describe_run,
    jobs_option,
    json_option,
    model_argument,
    print_run,
    quiet_option,
    sampling,
)
from plait.display import say
from plait.errors import PlaitError, PlaitWarning

_REPORTS = {"hmm": hmm.report, "lda": lda.report}
"""Functions that print the result of a run, by the kind of its model."""


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
@quiet_option
@json_option
def resume(
    model: Path,
    sweeps: int | None,
    checkpoint_seconds: float,
    keep_previous: bool | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
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

    Checkpoints(seconds=checkpoint_seconds)
    check_readable(model)
    claim_output(model, overwrite=True)
    finished, resumable, made, position, site_name = _state_of(model)
    if not resumable:
        raise PlaitError(
            f"{model} was fitted by EM in Python and has no paths to resume: fit the model again"
        )
    if finished and sweeps is None:
        raise PlaitError(f"{model} is finished, at {position}: give a larger number, --sweeps {2 * made}")
    say(f"Resuming from {position}.")
    with sampling(model, quiet, site_name) as callback:
        run = resume_run(
            model,
            n_sweeps=sweeps,
            n_jobs=jobs,
            callback=callback,
            checkpoint_seconds=checkpoint_seconds,
            keep_previous=keep_previous,
        )
    report = _REPORTS.get(run.model.kind)
    if report is not None:
        report(run, model, jobs, as_json)
    elif as_json:
        print_run(run, model)
    else:
        describe_run(run, model, f"log-likelihood of the paths {run.trace.mean_log_joint()[-1]:.2f}")


def _state_of(model: Path) -> tuple[bool, bool, int, str, str]:
    """Return whether a run is finished and resumable, its sweeps, its position and the name of its sites.

    The run itself does not stay in memory while it is resumed from its file.
    """
    from plait.run import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaitWarning)  # the same notes come when the run is resumed
        run = load(model)
    resumable = run.fit is not None or run.settings.n_paths > 0
    return run.finished, resumable, run.sweep, run.position, getattr(run.model, "site_name", "site")
