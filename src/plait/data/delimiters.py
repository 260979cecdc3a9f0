"""Which character separates the cells of a table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from plait.checks import list_names, short_repr
from plait.errors import Argument, PlaitError

DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
"""What is tried, the most common first; the names are for options and messages."""

_ROWS_READ = 200
_CHARACTERS_READ = 2**20


def check_delimiter(delimiter: str | None) -> str | None:
    """Return a delimiter, given by itself or by its name."""
    if delimiter is None:
        return None
    if isinstance(delimiter, str):
        character = DELIMITERS.get(delimiter, "\t" if delimiter == "\\t" else delimiter)
        if len(character) == 1 and character.isprintable() | (character == "\t") and character not in ' "':
            return character
    raise PlaitError(
        Argument("delimiter"),
        f" must be a single character, or one of {list_names(DELIMITERS)}, got {short_repr(delimiter)}",
    )


def name_of_delimiter(delimiter: str) -> str:
    """Return how to call a delimiter in a message, in the plural."""
    names = {character: f"{name}s" for name, character in DELIMITERS.items()}
    return names.get(delimiter, short_repr(delimiter))


def find_delimiter(lines: Callable[[], Iterator[str]]) -> str:
    """Return the delimiter of a table: the one by which most rows are as long as the header.

    Only what separates cells of the header is considered, so that commas and semicolons in the texts of a
    table with one column do not count. Among equals, the one with more cells is taken, then the more common.

    Parameters
    ----------
    lines : callable
        Called without arguments, returns the lines of the table.
    """
    lengths = {}
    for delimiter in DELIMITERS.values():
        first, *rest = _lengths(lines(), delimiter) or [1]
        if first > 1:
            fitting = sum(length == first for length in rest)
            lengths[delimiter] = (fitting / len(rest) if rest else 1.0, first)
    return max(lengths, key=lengths.__getitem__, default=DELIMITERS["comma"])


def _lengths(lines: Iterator[str], delimiter: str) -> list[int]:
    """Return the numbers of cells of the header and of the first rows, without blank ones."""
    found: list[int] = []
    try:
        for row in islice(csv.reader(_first(lines), delimiter=delimiter, strict=True), _ROWS_READ):
            if row or not found:
                found.append(len(row))
            if found == [1]:
                break
    except csv.Error:  # quotes that fit another delimiter, or the cell in which the lines end
        pass
    return found


def _first(lines: Iterator[str]) -> Iterator[str]:
    rest = _CHARACTERS_READ
    for line in lines:
        rest -= len(line)
        yield line
        if rest < 0:
            return
