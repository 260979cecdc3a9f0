"""Periods of time: years, months, weeks and others.

Every unit numbers its periods without gaps, so that the empty ones between two others are known.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple

from plait.data.dates import Day


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
