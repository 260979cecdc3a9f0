"""Options for reading data that several commands share."""

from __future__ import annotations

import re

import click

from plait.errors import Argument, PlaitError

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _size(context: click.Context, option: click.Parameter, text: str | None) -> int | None:
    """Return a number of bytes, which may have a unit, such as 500M or 2G."""
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,15})([KMGT]?)B?", text.strip().upper(), re.ASCII)
    if match is None or int(match[1]) == 0:
        from plait.checks import short_repr  # not above: it imports numpy, which takes long

        raise PlaitError(
            Argument("max_unpacked"),
            f" must be a number of bytes, such as 500M or 2G, got {short_repr(text)}",
        )
    return int(match[1]) * _UNITS[match[2]]


max_unpacked_option = click.option(
    "--max-unpacked",
    metavar="SIZE",
    callback=_size,
    help="Maximum size after unpacking, e.g. 500M or 2G.  [default: 16 times the file's size, at least 16M]",
)
