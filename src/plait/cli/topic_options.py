"""Options of topic models that several commands share."""

from __future__ import annotations

import click

from plait.errors import PlaitError

plan_option = click.option(
    "--paths",
    default="prediction",
    show_default=True,
    metavar="PLAN|N",
    help="The plan of the fit: prediction, optimum or posterior; or a number of paths, 1 for plain Gibbs.",
)

time_option = click.option(
    "--time",
    "max_seconds",
    metavar="TIME",
    help="Time for the fit instead of a number of sweeps: 60s, 10min or 1.5h.",
)

method_option = click.option(
    "--method",
    type=click.Choice(["partially-collapsed", "collapsed", "partitioned"]),
    default="partially-collapsed",
    show_default=True,
    help="Sampler, if --paths is a number: collapsed is sequential; partitioned is approximate.",
)

alpha_option = click.option(
    "--alpha",
    default="learn",
    show_default=True,
    metavar="learn|X",
    help="Prior of topics in a document: learnt, or a number.",
)

eta_option = click.option(
    "--eta", default="learn", show_default=True, metavar="learn|X", help="Prior of words in a topic."
)


def read_plan(text: str) -> int | str:
    """Read a number of paths, or the name of a plan."""
    from plait.topic_fits import check_paths_or_plan

    n_paths = int(text) if text.isascii() and text.isdigit() else text
    check_paths_or_plan("n_paths", n_paths)
    return n_paths


def read_prior(option: str, text: str) -> float | None:
    """Read a prior: a number, or None if it is to be learnt."""
    from plait.checks import short_repr

    if text == "learn":
        return None
    try:
        return float(text)
    except ValueError:
        raise PlaitError(f"{option} must be learn or a number such as 0.1, got {short_repr(text)}") from None


_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}


def read_seconds(option: str, text: str) -> float:
    """Read a time, such as 60s, 10min or 1.5h."""
    from plait.checks import check_number, short_repr

    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(number) :].strip()
    try:
        return check_number(option, float(number) * _UNITS[unit])
    except (KeyError, ValueError):
        raise PlaitError(
            f"{option} must be a time such as 60s, 10min or 1.5h, got {short_repr(text)}"
        ) from None
