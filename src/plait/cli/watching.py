"""The options --watch and --port: the report on a fit, while it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from plait.cli.common import together
from plait.display import say, shell_word
from plait.errors import Argument, PlaitError

watch_options = together(
    "watching",
    click.option("--watch", is_flag=True, help="Show the report in a browser while the fit goes on."),
    click.option("--port", type=int, help="Port of that page on this machine.  [default: a free one]"),
)


def watch(output: Path, watching: dict[str, Any], *, has_started: bool = False) -> None:
    """Serve the report on the fit in a file until the command ends, if the user wants that."""
    if watching["watch"]:
        page = _served(output, watching["port"] or 0, has_started)
        click.get_current_context().with_resource(page)
    elif watching["port"] is not None:
        raise PlaitError(Argument("port"), " is the port of the page that --watch serves: add --watch")


@contextmanager
def _served(output: Path, port: int, has_started: bool) -> Iterator[None]:
    from plait.report.live import LiveReport

    with LiveReport(output, port, has_started=has_started) as live:
        say(f"The report, while the fit goes on: {live.url}")
        try:
            yield
        finally:
            if live.problem is not None:
                say(f"Note: the page could not be built from the last checkpoint: {live.problem}")
            if live.has_report:
                command = f"plait report {shell_word(output)} -o report.html"
                say(f"The page has ended with the fit; to write the report: {command}")
