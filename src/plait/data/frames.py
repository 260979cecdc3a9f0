"""Documents from data frames and series of pandas or polars, neither of which is imported here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from plait.checks import short_repr
from plait.data.cells import cell_text
from plait.data.documents import Documents, Roles, documents_of, text_column
from plait.data.tables import Table, list_columns
from plait.errors import Argument, Part, PlaitError

FRAME_ARGUMENTS = ("text", "id", "date")
"""What names the text, the name and the date, for `Roles`."""


@dataclass(frozen=True, eq=False)
class FrameTable(Table):
    """A data frame as a table; `lines` are its rows, counted from 0."""

    frame: Any

    def column(self, name: str) -> list[str]:
        """Return a column as text."""
        found = self.frame[list(self.frame.columns)[self.positions[name]]]
        return [cell_text(value) for value in found.to_list()]

    def place(self, row: int) -> str:
        """Return where a row is."""
        return f"row {row}"

    def error(self, row: int | None, *parts: Part) -> PlaitError:
        """Return an error about a row, or about the whole frame."""
        return PlaitError("the frame: " if row is None else f"row {row} of the frame: ", *parts)

    def missing_column(self, name: str, argument: str) -> PlaitError:
        """Return the error for a column that does not exist."""
        return PlaitError(
            Argument(argument),
            f" must be among the columns of the frame, {list_columns(self.header)}, got {short_repr(name)}",
        )


def read_frame(frame: Any, roles: Roles) -> Documents:
    """Return the documents in a data frame, one per row."""
    return documents_of(_table(frame), roles)


def find_documents(X: Any, roles: Roles, *, only_texts: bool = False) -> Documents | None:
    """Return the documents in a list, an array or a series of texts, or in a data frame that has texts.

    Parameters
    ----------
    X : object
        What may hold documents.
    roles : Roles
        The columns of a data frame.
    only_texts : bool
        Whether names, dates and other columns are left out.

    Returns
    -------
    Documents or None
        None if there are no texts.
    """
    texts = _texts(X)
    if texts is not None:
        return Documents(tuple(texts))
    if not _is_frame(X) or (roles.text is None and not _has_texts(X)):
        return None
    if not only_texts:
        return read_frame(X, roles)
    table = _table(X)
    return Documents(tuple(table.column(text_column(table, roles))))


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "dtypes") and hasattr(value, "__getitem__")


def _has_texts(frame: Any) -> bool:
    columns = [frame[name] for name in frame.columns if getattr(frame[name].dtype, "kind", "O") not in "biuf"]
    return any(isinstance(value, str) for column in columns for value in column.to_list())


def _table(frame: Any) -> FrameTable:
    if not _is_frame(frame):
        raise PlaitError(
            Argument("frame"), f" must be a data frame of pandas or polars, got {short_repr(type(frame))}"
        )
    header = [str(name) for name in frame.columns]
    name, count = max(Counter(header).items(), key=itemgetter(1), default=("", 0))
    if count > 1:
        raise PlaitError(f"the frame has the column {short_repr(name)} twice: rename one")
    return FrameTable("the frame", header, range(len(frame)), 0, frame)


def _texts(values: Any) -> list[Any] | None:
    """Return what is in a list, an array or a series of texts; None if it has no texts.

    Missing values of a series are empty texts; other values are left for `Corpus.from_texts` to refuse.
    """
    if isinstance(values, (list, tuple)):
        found = list(values)
    elif isinstance(values, np.ndarray):
        found = values.tolist() if values.ndim == 1 and values.dtype.kind in "UO" else []
    elif hasattr(values, "to_list") and not _is_frame(values):
        found = [value if cell_text(value) else "" for value in values.to_list()]
    else:
        return None
    return found if any(isinstance(value, str) for value in found) else None
