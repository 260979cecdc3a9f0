"""Raw texts with what is known about them, from the columns of a table."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from plait.checks import check_distinct_strings, short_repr
from plait.data.corpus import Corpus
from plait.data.dates import read_dates
from plait.data.tables import Table
from plait.data.text import TextRecipe
from plait.errors import Argument, PlaitError, PlaitWarning

ALL: Final = "all"
"""Stands for all columns that have no other role."""

Columns = str | Sequence[str] | None
"""Columns to keep: `ALL`, names, or None for none."""

_DEFAULTS = ("text", "id", "date")


@dataclass(frozen=True)
class Documents:
    """Raw texts and their metadata.

    Parameters
    ----------
    texts : tuple of str
        The text of each document.
    names, dates : tuple of str or None
        The name and the date of each document; dates are in ISO format, unless they cannot be read.
    columns : mapping of str to tuple of str
        Other metadata, one entry per document in each column.
    date_format : str or None
        How dates were read, if that was given or found out; see `plait.data.dates.read_dates`.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...] | None = None
    dates: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    date_format: str | None = None

    def to_corpus(
        self, recipe: TextRecipe, vocabulary: Iterable[str] | None = None, *, keep_texts: bool = False
    ) -> Corpus:
        """Return the corpus of the documents; see `Corpus.from_texts`."""
        return Corpus.from_texts(
            self.texts,
            recipe=recipe,
            vocabulary=vocabulary,
            names=self.names,
            dates=self.dates,
            columns=self.columns,
            keep_texts=keep_texts,
        )


class Roles(NamedTuple):
    """What the columns of a table are.

    Attributes
    ----------
    text, id, date : str or None
        Columns with the text, the name and the date of each document. None is the column "text", which must
        be there, and "id" and "date", which need not be.
    columns : str, sequence of str or None
        Columns to keep as metadata: "all" without a role, or those named.
    date_format : str or None
        As for `plait.data.dates.read_dates`.
    arguments : tuple of str
        The arguments that name the text, the name and the date.
    """

    text: str | None = None
    id: str | None = None
    date: str | None = None
    columns: Columns = None
    date_format: str | None = None
    arguments: tuple[str, str, str] = ("text_column", "id_column", "date_column")

    @property
    def named(self) -> dict[str, str]:
        """The roles that are given, by their arguments."""
        given = zip(self.arguments, (self.text, self.id, self.date), strict=True)
        return {argument: name for argument, name in given if name is not None}


def check_columns(columns: Columns) -> Columns:
    """Return columns to keep, or raise an error that says what they must be."""
    if columns is None or columns == ALL:
        return columns
    is_list = isinstance(columns, Collection) and not isinstance(columns, str)
    if not is_list or not all(isinstance(name, str) for name in columns):
        raise PlaitError(
            Argument("columns"), f" must be {ALL!r} or a sequence of names, got {short_repr(columns)}"
        )
    return check_distinct_strings("columns", columns)


def documents_of(table: Table, roles: Roles) -> Documents:
    """Return the documents in a table, one per row."""
    if not len(table.lines):
        raise table.error(None, "there are no documents: pass a table with some")
    text = text_column(table, roles)
    id, date = _find(table, roles, 1), _find(table, roles, 2)
    kept = check_columns(roles.columns) or ()
    if kept == ALL:
        kept = [name for name in table.header if name not in (text, id, date)]
    for name in kept:
        if name not in table.positions:
            raise table.missing_column(name, "columns")
    columns = {name: tuple(table.column(name)) for name in kept}
    names = None if id is None else tuple(table.column(id))
    dates, date_format = (None, None) if date is None else _dates(table, date, roles.date_format)
    return Documents(tuple(table.column(text)), names, dates, columns, date_format)


def text_column(table: Table, roles: Roles) -> str:
    """Return the column with the texts."""
    name = _find(table, roles, 0)
    if name is None:
        raise table.missing_column(_DEFAULTS[0], roles.arguments[0])
    return name


def _find(table: Table, roles: Roles, role: int) -> str | None:
    """Return the column that has a role, or None if none is given and there is none with the usual name."""
    given = (roles.text, roles.id, roles.date)[role]
    name = _DEFAULTS[role] if given is None else given
    if name in table.positions:
        return name
    if given is None:
        return None
    raise table.missing_column(name, roles.arguments[role])


def _dates(table: Table, column: str, date_format: str | None) -> tuple[tuple[str, ...], str | None]:
    """Return a column of dates, and their format; warn of those that cannot be read."""
    found = read_dates(table.column(column), date_format, table.error)
    if found.unreadable:
        row, *others = found.unreadable
        more = f", nor can {len(others)} more, the next on {table.place(others[0])}" if others else ""
        message = table.error(
            row,
            f"the date {short_repr(found.texts[row])} cannot be read{more}: write dates as 2016-12-30, or"
            " name their format, such as %d.%m.%y; timelines leave these documents out",
        )
        warnings.warn(str(message), PlaitWarning, stacklevel=5)
    return found.texts, found.format
