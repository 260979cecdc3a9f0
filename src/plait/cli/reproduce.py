"""The command that runs the paper's experiments."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import sys
from pathlib import Path

import click

from plait.cli.common import jobs_option, json_option, quiet_option
from plait.cli.output import print_json, print_lines
from plait.display import say, shell_word


@click.command(short_help="Run the paper's experiments.")
@click.argument("experiment", type=click.Choice(["table1", "hmm", "sotu", "ablation", "all"]))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for results.")
@click.option(
    "--scale",
    type=click.Choice(["quick", "paper"]),
    default="quick",
    show_default=True,
    help="Sizes that take minutes, or the paper's.",
)
@click.option("--sweeps", type=int, help="Number of sweeps of all runs, instead of that of the scale.")
@jobs_option
@quiet_option
@json_option
def reproduce(
    experiment: str,
    output: Path,
    scale: str,
    sweeps: int | None,
    jobs: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run the paper's experiments and compare the results with the paper's.

    The folder receives all results as JSON and CSV, figures as PNG and SVG, and the pages index.html and
    summary.md, which cover all experiments in the folder. After Ctrl-C or a power cut, the same command
    resumes where it stopped.

    \b
    Examples:
      plait reproduce all -o results
      plait reproduce table1 --scale paper -o table1
      plait reproduce hmm --scale paper --sweeps 5000 -o hmm
    """
    from plait.interrupts import exit_status
    from plait.paper.reproduce import EXPERIMENTS
    from plait.paper.reproduce import reproduce as run

    names = EXPERIMENTS if experiment == "all" else (experiment,)
    command = f"plait reproduce {experiment} --scale {scale}" + (f" --sweeps {sweeps}" if sweeps else "")
    try:
        sections = run(names, output, scale=scale, n_sweeps=sweeps, n_jobs=jobs, quiet=quiet, command=command)
    except KeyboardInterrupt as stopped:  # while jobs run, or while figures are drawn
        again = f"{command} -o {shell_word(output)}"
        say(f"Stopped. Finished work is kept in {output}. To resume:", f"  {again}")
        sys.exit(exit_status(stopped))
    if as_json:
        print_json(
            [
                {
                    "experiment": section.title,
                    "claims": [
                        {"verdict": claim.verdict_text, "text": claim.text} for claim in section.claims
                    ],
                }
                for section in sections
            ]
        )
        return
    for section in sections:
        print_lines(section.title)
        for claim in section.claims:
            print_lines(f"  {claim.verdict_text:17}  {claim.text}")
    say(f"Wrote {output / 'index.html'}")
