"""The command `plait`: a thin layer over the library.

Modules are imported inside the commands, so that `plait --help` is fast.
"""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import click

from plait.cli import (
    answers,
    bench,
    compare,
    encode,
    evaluate,
    export,
    hmm,
    info,
    lda,
    report,
    reproduce,
    runs,
)
from plait.cli.common import Commands
from plait.version import __version__

__all__ = ["main"]


EXIT_STATUSES = """\b
Every command has --json. Results go to standard output, everything else to standard error.
\b
Exit statuses:
  0    done
  1    a fault of plait, with a traceback: please report it
  2    it cannot be done as typed, or with these files: one line says what to do
  129  stopped by SIGHUP
  130  stopped by Ctrl-C
  141  the reader of standard output has gone
  143  stopped by SIGTERM
"""


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_STATUSES,
)
@click.version_option(__version__, prog_name="plait")
def main() -> None:
    """Topic models and hidden Markov models by multipath Gibbs sampling.

    \b
    Try it:          plait demo
    Fit topics:      plait fit lda texts.csv -o topics.plait --topics 100
    Look at them:    plait topics topics.plait
    In a browser:    plait report topics.plait -o report.html
    In documents:    plait documents topics.plait --topic 3
    Over time:       plait timeline topics.plait --by year
    Judge them:      plait evaluate topics.plait new.csv
    How many topics: plait select texts.csv -o sizes --topics 10,20,50,100
    Compare fits:    plait compare texts.csv -o contest --time 30s
    Fit states:      plait fit hmm days.csv -o days.plait --states 3 --emissions gaussian
    Look at them:    plait states days.plait
    State each day:  plait decode days.plait
    Check the paper: plait reproduce all -o results
    How fast is it:  plait bench
    """


@main.group()
def fit() -> None:
    """Fit a model and keep it in a file.

    \b
    Examples:
      plait fit lda texts.csv -o topics.plait --topics 100
      plait fit hmm days.csv -o days.plait --states 3 --emissions gaussian
    """


for command in (lda.fit, hmm.fit):
    fit.add_command(command)
for command in (
    lda.demo,
    lda.topics,
    answers.documents,
    answers.timeline,
    answers.similar,
    lda.infer,
    encode.encode,
    evaluate.evaluate,
    compare.compare,
    compare.select,
    hmm.states,
    hmm.decode,
    info.info,
    runs.name,
    export.export,
    report.report,
    runs.resume,
    reproduce.reproduce,
    bench.bench,
):
    main.add_command(command)
