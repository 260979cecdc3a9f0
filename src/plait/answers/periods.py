"""Periods of time: years, months, weeks and others, from ISO dates.

Every unit numbers its periods without gaps, so that the empty ones between two others are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple

_ISO = re.compile(r"([0-9]{1,6})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ].*)?)?)?", re.ASCII | re.DOTALL)


class Day(NamedTuple):
    """A date, of which the month and the day may be unknown (0)."""

    year: int
    month: int
    day: int


class Unit(NamedTuple):
    """A unit of time."""

    precision: int
    """How many parts of a date it needs: 1 for the year, 2 for the month, 3 for the day."""

    number: Callable[[Day], int]
    """Returns the number of the period that a date is in."""

    label: Callable[[int], str]
    """Returns the name of the period with a number."""


def _week_label(number: int) -> str:
    year, week, _ = date.fromordinal(7 * number + 1).isocalendar()
    return f"{year:04d}-W{week:02d}"


def _ordinal(day: Day) -> int:
    return date(*day).toordinal()


UNITS: Final = {
    "decade": Unit(1, lambda day: day.year // 10, lambda number: f"{10 * number:04d}s"),
    "year": Unit(1, lambda day: day.year, lambda number: f"{number:04d}"),
    "month": Unit(
        2,
        lambda day: 12 * day.year + day.month - 1,
        lambda number: f"{number // 12:04d}-{number % 12 + 1:02d}",
    ),
    # Monday, 1 January of the year 1, is day 1.
    "week": Unit(3, lambda day: (_ordinal(day) - 1) // 7, _week_label),
    "day": Unit(3, _ordinal, lambda number: date.fromordinal(number).isoformat()),
}
"""The units, from the longest to the shortest; weeks are those of ISO 8601, from Monday to Sunday."""


def parse(text: str) -> Day | None:
    """Return an ISO date, such as "1863", "1863-11" or "1863-11-19T15:00"; None if it is something else."""
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    day = Day(*(int(part or 0) for part in match.groups()))
    if (match[2] and not 1 <= day.month <= 12) or (match[3] and not _exists(day)):
        return None
    return day


def precision(day: Day) -> int:
    """Return how many parts of a date are known."""
    return 1 + (day.month > 0) + (day.day > 0)


def _exists(day: Day) -> bool:
    try:
        date(*day)
    except ValueError:
        return False
    return True
