"""Everything that the commands print to standard output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from plait.display import encodable, json_text, say, table_cell, visible

CLOSED_PIPE = 141
"""Exit status if the reader of a pipe has gone, as in `plait topics x | head`: that of a SIGPIPE."""

BARS = "▁▂▃▄▅▆▇█"
"""Signs of a line of small bars, from the lowest to the highest."""

_PLAIN_BARS = "_.:-=+*#"

_CLOSED = (errno.EPIPE, errno.EINVAL) if os.name == "nt" else (errno.EPIPE,)
"""What writing to a pipe fails with if its reader has gone."""

_FAILURES = (*_CLOSED, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


@contextmanager
def writing_output() -> Iterator[None]:
    """Flush standard output when the block ends; if it cannot be written, end the process with one line.

    Errors from writing other files have become a `PlaitError` before they get here. Standard error that
    cannot be written is not an error.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before Python started
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is not None or error.errno not in _FAILURES:
            raise
        _discard(sys.stdout)
        if error.errno in _CLOSED:
            sys.exit(CLOSED_PIPE)
        say(f"Error: cannot write to standard output: {error.strerror}. Write to another place")
        sys.exit(2)
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Discard what is still buffered: otherwise Python's exit fails."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_lines(*lines: str) -> None:
    """Print lines, with control characters as escapes."""
    for line in lines:
        print(visible(line, sys.stdout))


def name_cell(name: str, stream: TextIO, *, raw: bool) -> str:
    """Return the cell for a name in a table that goes to a stream: safe, or with --raw as it is."""
    return encodable(name, stream) if raw else table_cell(name, stream)


def print_row(*cells: str) -> None:
    """Print cells, which are safe already, separated by tabs."""
    print(*cells, sep="\t")


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(json_text(value, sys.stdout))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], n_texts: int = 1) -> None:
    """Print a table whose last columns, `n_texts` of them, are text and may be long; others are numbers."""
    cells = [[visible(cell, sys.stdout) for cell in row] for row in (headers, *rows)]
    if sys.stdout.isatty():
        _print_for_people(cells, n_texts)
    else:
        _print_for_programs(cells, n_texts)


def print_columns(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose first column is text, and the others numbers."""
    cells = [[visible(cell, sys.stdout) for cell in row] for row in (headers, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *numbers in cells:
        right = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        print("  ".join((first.ljust(widths[0]), *right)).rstrip(" "))


def print_named_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose last column but one has names; if there are none, without that column."""
    if any(row[-2] for row in rows):
        print_table(headers, rows, n_texts=2)
    else:
        print_table([*headers[:-2], headers[-1]], [[*row[:-2], row[-1]] for row in rows])


def print_passage(title: str, text: str, marks: Sequence[tuple[int, int]]) -> None:
    """Print a title and, below it, indented, a text in which the marked places are bold; for a terminal."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    shown, at = Text(), 0
    for start, end in marks:
        shown.append(visible(text[at:start], sys.stdout))
        shown.append(visible(text[start:end], sys.stdout), "bold")
        at = end
    shown.append(visible(text[at:], sys.stdout))
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(Text(visible(title, sys.stdout)))
    console.print(Padding(shown, (0, 0, 0, 4)))


def sparkline(values: Sequence[float], width: int, stream: TextIO) -> str:
    """Return a line of small bars, the largest value the highest; NaN is a gap.

    More values than `width` are averaged in groups; in an encoding without bars, the line has other signs.
    """
    groups = [values[k * len(values) // width : (k + 1) * len(values) // width] for k in range(width)]
    cells = [
        [v for v in group if v == v] for group in (groups if len(values) > width else [[v] for v in values])
    ]
    means = [sum(cell) / len(cell) if cell else None for cell in cells]
    most = max((mean for mean in means if mean is not None), default=0.0) or 1.0
    bars = BARS if encodable(BARS, stream) == BARS else _PLAIN_BARS
    return "".join(
        " " if mean is None else bars[min(int(len(bars) * mean / most), len(bars) - 1)] for mean in means
    )


def _print_for_people(rows: Sequence[Sequence[str]], n_texts: int) -> None:
    """Print a table as wide as the terminal, which folds the text."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for header in rows[0][:-n_texts]:
        table.add_column(header, justify="right")
    for header in rows[0][-n_texts:]:
        table.add_column(header, overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    Console(highlight=False, markup=False, emoji=False).print(table)


def _print_for_programs(rows: Sequence[Sequence[str]], n_texts: int) -> None:
    """Print one row per line, however long."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        numbers = [cell.rjust(width) for cell, width in zip(row[:-n_texts], widths, strict=False)]
        texts = [
            cell.ljust(width) for cell, width in zip(row[-n_texts:], widths[len(numbers) : -1], strict=False)
        ]
        print("  ".join((*numbers, *texts, row[-1])).rstrip(" "))
