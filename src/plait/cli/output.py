"""Everything that the commands print to standard output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from plait.display import json_text, say, visible

CLOSED_PIPE = 141
"""Exit status if the reader of a pipe has gone, as in `plait topics x | head`: that of a SIGPIPE."""

_FAILURES = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


@contextmanager
def writing_output() -> Iterator[None]:
    """Flush standard output when the block ends; if it cannot be written, end the process with one line.

    Errors from writing other files have become a `PlaitError` before they get here.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _FAILURES:
            raise
        _discard_output()
        if error.errno == errno.EPIPE:
            sys.exit(CLOSED_PIPE)
        say(f"Error: cannot write to standard output: {error.strerror}. Write to another place")
        sys.exit(2)


def _discard_output() -> None:
    """Send what is still in the buffer of standard output nowhere, so that Python's exit is silent."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def print_lines(*lines: str) -> None:
    """Print lines, with control characters as escapes."""
    for line in lines:
        print(visible(line, sys.stdout))


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(json_text(value, sys.stdout))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose last column is text and may be long; the others are numbers."""
    cells = [[visible(cell, sys.stdout) for cell in row] for row in (headers, *rows)]
    if sys.stdout is not None and sys.stdout.isatty():
        _print_for_people(cells)
    else:
        _print_for_programs(cells)


def _print_for_people(rows: Sequence[Sequence[str]]) -> None:
    """Print a table as wide as the terminal, which folds the last column."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for header in rows[0][:-1]:
        table.add_column(header, justify="right")
    table.add_column(rows[0][-1], overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    Console(highlight=False, markup=False, emoji=False).print(table)


def _print_for_programs(rows: Sequence[Sequence[str]]) -> None:
    """Print one row per line, however long."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        numbers = (cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=False))
        print("  ".join((*numbers, row[-1])).rstrip(" "))
