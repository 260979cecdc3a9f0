"""The command that measures the speed of plait on the user's machine."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import jobs_option, json_option, quiet_option
from plait.cli.output import print_columns, print_json, print_lines
from plait.display import one_line, say

if TYPE_CHECKING:
    from plait.speed import Contest, Report, Speed


@click.command(short_help="Measure the speed on this machine.")
@click.option(
    "--tokens", type=int, default=200_000, show_default=True, help="Tokens of each corpus, and observations."
)
@click.option("--plait-only", is_flag=True, help="Measure no other packages.")
@jobs_option
@quiet_option
@json_option
def bench(tokens: int, plait_only: bool, jobs: int | None, quiet: bool, as_json: bool) -> None:
    """Measure how fast plait is on this machine, with one thread and with all.

    The data are synthetic: long and short documents, and sequences of symbols. tomotopy, topica, gensim,
    scikit-learn and hmmlearn take part if they are installed. All take turns, which takes about a minute;
    let nothing else run meanwhile. An update is one token or observation in one path. scikit-learn and gensim
    do not sample: what counts is one token in a pass over the documents.

    \b
    Examples:
      plait bench
      plait bench --plait-only --jobs 8
    """
    from plait.progress import show_share
    from plait.speed import measure

    with show_share("Measuring", not quiet) as show:
        report = measure(tokens, jobs, others=not plait_only, report=lambda share: show(share, 0.0))
    if as_json:
        print_json(_as_json(report))
        return
    packages = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    cores = "1 core" if report.n_cores == 1 else f"{report.n_cores} cores"
    print_lines(f"{report.processor}, {cores}", packages)
    for contest in report.contests:
        print_lines("", contest.title)
        _print_contest(contest, report.n_threads)
    print_lines("", *_legend(report))
    for package, reason in report.left_out.items():
        say(f"Note: {package} took no part: {one_line(reason)}")


def _print_contest(contest: Contest, n_threads: int) -> None:
    base = contest.find(contest.base, 1)
    headers = ["", *([f"times {contest.base}"] if base else []), "ns", "range", "M/s"]
    if n_threads > 1:
        headers += [f"{n_threads} threads: M/s", "gain"]
    rows = []
    for one in contest.speeds:
        if one.n_threads > 1:
            continue
        row = [one.name, *([f"{base.median / one.median:.2f}"] if base else [])]
        row += [f"{one.median:.0f}", f"{min(one.nanoseconds):.0f}-{max(one.nanoseconds):.0f}"]
        row.append(f"{one.millions:.2f}")
        if n_threads > 1:
            many = contest.find(one.name, n_threads)
            row += [f"{many.millions:.2f}", f"{one.median / many.median:.2f}"] if many else ["", ""]
        rows.append(row)
    print_columns(headers, rows)


def _legend(report: Report) -> list[str]:
    lines = [
        "ns: nanoseconds per update, which is one token or observation in one path; M/s: millions per second."
    ]
    if {"gensim", "scikit-learn"} & report.versions.keys() - report.left_out.keys():
        lines.append(
            "gensim and scikit-learn do not sample: their update is one token in a pass over the documents."
        )
    if report.n_threads > 1:
        lines.append(f"gain: {report.n_threads} threads against one. All other columns are of one thread.")
    return lines


def _as_json(report: Report) -> dict[str, Any]:
    return {
        **report._asdict(),
        "contests": [
            {
                "title": contest.title,
                "base": contest.base or None,
                "speeds": [_speed_as_json(contest, speed) for speed in contest.speeds],
            }
            for contest in report.contests
        ],
    }


def _speed_as_json(contest: Contest, speed: Speed) -> dict[str, Any]:
    base = contest.find(contest.base, 1)
    return {
        "name": speed.name,
        "threads": speed.n_threads,
        "ratio": base.median / speed.median if base else None,
        "nanoseconds": speed.median,
        "turns": list(speed.nanoseconds),
        "million_per_second": speed.millions,
    }
