"""Dates as people and programs write them, turned into ISO dates.

Whether 3/4/2017 is a day in April or in March cannot be told from one date, so dates are read by the column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final, NamedTuple

from plait.checks import short_repr
from plait.errors import Argument, Part, PlaitError

DAY_FIRST: Final = "day-first"
MONTH_FIRST: Final = "month-first"

_LONGEST = 80  # characters; what is longer is no date

# In English, German, Dutch, French, Spanish, Italian, Portuguese, Swedish, Danish and Norwegian, without
# accents. A beginning of three letters or more stands for the month, unless another month has it, too.
_MONTHS = """
    january januar januari janvier enero gennaio janeiro janner
    february februar februari fevrier febrero febbraio fevereiro
    march marz maerz maart mars marzo marco marts mrz mrt
    april avril abril aprile
    may mai mei mayo maggio maio maj
    june juni juin junio giugno junho
    july juli juillet julio luglio julho
    august augustus aout agosto augusti
    september septembre septiembre settembre setembro sept setiembre
    october oktober octobre octubre ottobre outubro
    november novembre noviembre novembro
    december dezember decembre diciembre dicembre dezembro desember
"""

# Words that may stand beside a day, a month and a year without a change of meaning: days of the week, and
# small words of the same languages.
_OTHER_WORDS = """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
    maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma wo vr za zo
    lundi mardi mercredi jeudi vendredi samedi dimanche lun mar mer jeu ven sam dim
    lunes martes miercoles jueves viernes sabado domingo mie jue vie sab dom
    lunedi martedi mercoledi giovedi venerdi gio
    segunda terca quarta quinta sexta feira
    mandag tirsdag tisdag onsdag torsdag fredag lordag sondag
    of the st nd rd th den der de del di le el o er re ad ce
"""
_BESIDE = frozenset(_OTHER_WORDS.split())

_ISO = re.compile(r"([0-9]{1,6})(?:-([0-9]{2})(?:-([0-9]{2})(?:[T ].*)?)?)?", re.ASCII | re.DOTALL)
_CLOCK = re.compile(
    r"""(?:T|,|\b(?:at|um|om|a\ las|alle)\b)? \s*
        \b (?:[01]?[0-9]|2[0-4]) : [0-5][0-9] (?: :[0-6][0-9] (?:[.,][0-9]{1,9})? )? \s?
        (?:[ap]\.?m\b\.?|uhr|uur|h\b)? \s?
        (?:Z\b|UTC|GMT|CES?T|[+-][0-9]{2}:?[0-9]{2}\b|[+-][0-9]{2}\b)?""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})(?:\2([0-9]{1,2}))?", re.ASCII)
_EAST_ASIAN = re.compile(r"([0-9]{4})[年년]\s?([0-9]{1,2})[月월]\s?(?:([0-9]{1,2})[日일])?", re.ASCII)
_COMPACT = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})", re.ASCII)
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])\s?([0-9]{1,2})\2\s?([0-9]{4})", re.ASCII)
_MONTH_AND_YEAR = re.compile(r"([0-9]{1,2})[-/.]([0-9]{4})", re.ASCII)
_YEAR_AS_DECIMAL = re.compile(r"([0-9]{1,4})\.0", re.ASCII)  # as programs write a column of years with gaps
_PIECE = re.compile(r"[^\W\d_]+|[0-9]+")


class Day(NamedTuple):
    """A date, of which the month and the day may be unknown (0)."""

    year: int
    month: int = 0
    day: int = 0

    @property
    def precision(self) -> int:
        """How many parts are known: 1 if only the year is, 3 if the day is."""
        return 1 + (self.month > 0) + (self.day > 0)

    @property
    def iso(self) -> str:
        """The date in ISO format, such as "1863", "1863-11" or "1863-11-19"."""
        year, *rest = self[: self.precision]
        return "-".join([f"{year:04d}", *(f"{part:02d}" for part in rest)])


class Dates(NamedTuple):
    """A column of dates.

    Attributes
    ----------
    texts : tuple of str
        The dates in ISO format, without the time of day; those that cannot be read as they were.
    format : str or None
        The format that was given or found out, to read the dates of other documents in the same way.
    unreadable : tuple of int
        The rows whose date cannot be read.
    """

    texts: tuple[str, ...]
    format: str | None
    unreadable: tuple[int, ...]


def parse_iso(text: str) -> Day | None:
    """Return an ISO date, such as "1863", "1863-11" or "1863-11-19T15:00"; None if it is something else."""
    match = _ISO.fullmatch(text.strip())
    return None if match is None else _day(*match.groups())


def check_date_format(name: str, value: object) -> str:
    """Return `value` if it says how to read dates, see `read_dates`, or raise an error that names it."""
    sample = datetime(1987, 6, 5)
    try:
        if isinstance(value, str):
            if value in (DAY_FIRST, MONTH_FIRST):
                return value
            if datetime.strptime(sample.strftime(value), value).year == sample.year:
                return value
    except ValueError:
        pass
    raise PlaitError(
        Argument(name),
        f" must be {DAY_FIRST!r}, {MONTH_FIRST!r} or a pattern with a year, such as '%d.%m.%y',"
        f" got {short_repr(value)}",
    )


def read_dates(texts: Sequence[str], format: str | None, error: Callable[..., PlaitError]) -> Dates:
    """Read a column of dates.

    Parameters
    ----------
    texts : sequence of str
        The dates; blank ones are left as they are.
    format : str or None
        "day-first" or "month-first", the order in dates such as 3/4/2017, or a pattern of
        `datetime.strptime`, such as "%d.%m.%y", that all dates have.  None finds out the order from the
        column; dots, as in 3.4.2017, mean that the day comes first, unless a date says otherwise.
    error : callable
        Called with a row and the parts of a message, returns the error about that row.
    """
    distinct = dict.fromkeys(texts)
    known: Mapping[str, Day | _Unordered | None]
    if format is None or check_date_format("date_format", format) in (DAY_FIRST, MONTH_FIRST):
        known = {text: _read(text) for text in distinct}
        order = format or _order(texts, known, error)
    else:
        known = {text: _read_pattern(text, format) for text in distinct}
        order = None
    days = {
        text: own.ordered(order or DAY_FIRST) if isinstance(own, _Unordered) else own
        for text, own in known.items()
    }
    iso = {text: text if day is None else day.iso for text, day in days.items()}
    unreadable = tuple(row for row, text in enumerate(texts) if days[text] is None and text.strip())
    return Dates(tuple(iso[text] for text in texts), format or order, unreadable)


class _Unordered(NamedTuple):
    """A date whose day and month stand in an order that the column tells."""

    first: int
    second: int
    year: int
    mark: str

    def ordered(self, order: str) -> Day | None:
        """Return the date in an order, or None if there is no such date."""
        day, month = (self.first, self.second) if order == DAY_FIRST else (self.second, self.first)
        return _day(self.year, month, day)


def _order(
    texts: Sequence[str], known: Mapping[str, Day | _Unordered | None], error: Callable[..., PlaitError]
) -> str | None:
    """Return the order of day and month in a column; None if no date depends on it."""
    sure: dict[str, int] = {}
    open_rows: dict[bool, int] = {}  # the first date that can be read both ways, with dots or without
    for row, text in enumerate(texts):
        own = known[text]
        if not isinstance(own, _Unordered):
            continue
        orders = [order for order in (DAY_FIRST, MONTH_FIRST) if own.ordered(order)]
        if len(orders) == 1:
            sure.setdefault(orders[0], row)
        elif orders and own.first != own.second:
            open_rows.setdefault(own.mark == ".", row)
    day_first, month_first = (Argument("date_format", order) for order in (DAY_FIRST, MONTH_FIRST))
    choose: tuple[Part, ...] = ("pass ", day_first, " or ", month_first)
    if len(sure) == 2:
        (first, row), (second, other) = sorted(sure.items(), key=lambda item: item[1])
        raise error(
            other,
            f"the date {short_repr(texts[other])} has the {_FIRSTS[second]} first, but"
            f" {short_repr(texts[row])} above it the {_FIRSTS[first]}: ",
            *choose,
            ", which makes the others unreadable, or correct these",
        )
    if sure:
        return next(iter(sure))
    if False in open_rows and True not in open_rows:
        row = open_rows[False]
        raise error(
            row,
            f"the date {short_repr(texts[row])} can be read in two ways, and no other date of the column"
            " tells which of its numbers is the month: ",
            *choose,
        )
    return DAY_FIRST if open_rows else None


_FIRSTS = {DAY_FIRST: "day", MONTH_FIRST: "month"}


def _read(text: str) -> Day | _Unordered | None:
    """Return a date in any form that is known; None if it is something else."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    match = _ISO.fullmatch(text)
    if match is not None:
        return _day(*match.groups()) if len(match[1]) <= 4 else None
    text = " ".join(_CLOCK.sub(" ", text, count=1).split()).rstrip(",")
    for form in (_EAST_ASIAN, _COMPACT, _YEAR_AS_DECIMAL):
        match = form.fullmatch(text)
        if match is not None:
            return _day(*match.groups())
    match = _YEAR_FIRST.fullmatch(text)
    if match is not None:
        return _day(match[1], match[3], match[4])
    match = _MONTH_AND_YEAR.fullmatch(text)
    if match is not None:
        return _day(match[2], match[1])
    match = _YEAR_LAST.fullmatch(text)
    if match is not None:
        return _Unordered(int(match[1]), int(match[3]), int(match[4]), match[2])
    return _read_words(text)


def _read_words(text: str) -> Day | None:
    """Return a date with the name of a month, such as "30. Dezember 2016", "Dec 30, 2016" or "May 1863"."""
    rest = _PIECE.sub("", text)
    if rest.strip(" .,/-'’()ºª°"):
        return None
    pieces = _PIECE.findall(_plain(text))
    words = [piece for piece in pieces if not piece.isdigit()]
    numbers = [piece for piece in pieces if piece.isdigit()]
    years = [number for number in numbers if len(number) == 4]
    days = [number for number in numbers if len(number) <= 2]
    months = [word for word in words if word in _MONTH_OF]
    # "mar" is both a Tuesday in Spanish and a month.
    if len(months) == 2 and months[0] in _BESIDE:
        del months[0]
    others = [word for word in words if word not in months and word not in _BESIDE]
    if len(months) != 1 or others or len(years) != 1 or len(days) > 1 or len(years + days) < len(numbers):
        return None
    return _day(years[0], _MONTH_OF[months[0]], days[0] if days else None)


def _day(year: str | int, month: str | int | None = None, day: str | int | None = None) -> Day | None:
    """Return a date of which the day, or day and month, may be unknown; None if it is not in the calendar."""
    if month is None:
        return Day(int(year))
    try:
        date(int(year), int(month), 1 if day is None else int(day))
    except ValueError:
        return None
    return Day(int(year), int(month), int(day or 0))


def _read_pattern(text: str, pattern: str) -> Day | None:
    try:
        found = datetime.strptime(text.strip(), pattern)
    except ValueError:
        return None
    directives = set(re.findall(r"%(.)", pattern))
    has_day = directives & set("djxcV")
    has_month = has_day or directives & set("mbB")
    return Day(found.year, found.month if has_month else 0, found.day if has_day else 0)


def _plain(text: str) -> str:
    """Return text in lower case and without accents."""
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(part for part in parts if not unicodedata.combining(part))


def _beginnings(lines: Iterable[str]) -> dict[str, int]:
    """Return the numbers of months by their names and the beginnings of these."""
    found: dict[str, int] = {}
    for month, line in enumerate(lines, 1):
        for name in line.split():
            for length in range(3, len(name) + 1):
                if found.setdefault(name[:length], month) != month:
                    found[name[:length]] = 0
    return {name: month for name, month in found.items() if month}


_MONTH_OF = _beginnings(_MONTHS.strip().splitlines())
