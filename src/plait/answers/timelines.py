"""Topics over time, or over the values of any column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.answers.periods import UNITS
from plait.arrays import Floats, frozen
from plait.checks import list_names, short_repr
from plait.data.corpus import Corpus
from plait.data.dates import Day, parse_iso
from plait.errors import Argument, PlaitError
from plait.inference.fitted import document_counts, lda_model
from plait.run import Run

_MOST_PERIODS: Final = 100_000  # more is a mistake in a date
_PARTS: Final = ("", "year", "month", "day")


@dataclass(frozen=True, eq=False)
class Timeline:
    """Shares of topics per period.

    Attributes
    ----------
    by : str
        The unit of time, or the name of the column.
    is_time : bool
        Whether the periods are of time; then those between the first and the last are there, too, if they
        have no documents.
    periods : tuple of str
        Names of the periods, in order.
    n_documents, n_tokens : ndarray of int64, (P,)
        Number of documents of each period, and of their tokens.
    shares : ndarray, (P, T)
        Share of the tokens of each period that each topic has; NaN where there are no tokens.
    n_without : int
        Number of documents that have no date, or no value in the column.
    n_coarse : int
        Number of documents whose date is not as precise as the unit needs.
    unreadable : tuple of int
        Numbers of the documents whose date is none.
    """

    by: str
    is_time: bool
    periods: tuple[str, ...]
    n_documents: NDArray[np.int64]
    n_tokens: NDArray[np.int64]
    shares: Floats
    n_without: int = 0
    n_coarse: int = 0
    unreadable: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("n_documents", "n_tokens", "shares"):
            frozen(getattr(self, name))

    def notes(self) -> list[str]:
        """Return sentences about the documents that are left out."""
        found = []
        if self.n_without:
            what = "date" if self.is_time else f"value of {short_repr(self.by)}"
            found.append(f"{_documents(self.n_without)} without a {what}: left out")
        if self.n_coarse:
            found.append(f"{_documents(self.n_coarse)} with dates too coarse for a {self.by}: left out")
        if self.unreadable:
            found.append(
                f"{_documents(len(self.unreadable))} with dates that are not in the form 1863-11-19, such as"
                f" document {self.unreadable[0]}: left out"
            )
        return found


def timeline(run: Run, by: str = "year") -> Timeline:
    """Return the share of each topic per period.

    The share of a topic in a period is the share of the tokens of its documents, as in the list of topics: a
    long document counts more than a short one.

    Parameters
    ----------
    run : Run
        A run of LDA.
    by : str
        "decade", "year", "month", "week" (of ISO 8601) or "day" of the dates of the documents; or the name of
        a column of the corpus, whose values are then the periods, in order of size if all are numbers.
    """
    corpus = lda_model(run).corpus
    if by in UNITS and (corpus.dates is not None or by not in corpus.columns):
        return _of_time(run, corpus, by)
    if by not in corpus.columns:
        raise PlaitError(
            Argument("by"),
            f" must be one of {list_names(UNITS)} or a column of the corpus,"
            f" {list_names(corpus.columns)}, got {short_repr(by)}: fit the model again with ",
            Argument("columns"),
            " to keep others",
        )
    values = corpus.columns[by]
    periods = _sorted({value for value in values if value})
    if not periods:
        raise PlaitError(f"the column {short_repr(by)} has no values: choose another one")
    numbers = {period: p for p, period in enumerate(periods)}
    place = np.array([numbers.get(value, -1) for value in values], np.int64)
    return _counted(run, by, False, periods, place, n_without=int(np.count_nonzero(place < 0)))


def _of_time(run: Run, corpus: Corpus, by: str) -> Timeline:
    if corpus.dates is None:
        columns = f", or choose one of the columns {list_names(corpus.columns)}" if corpus.columns else ""
        raise PlaitError(
            "the corpus has no dates: fit the model again with the column of the dates, ",
            Argument("date_column"),
            columns,
        )
    unit = UNITS[by]
    days = [parse_iso(text) if text.strip() else None for text in corpus.dates]
    without = [d for d, text in enumerate(corpus.dates) if not text.strip()]
    unreadable = [d for d, day in enumerate(days) if day is None and corpus.dates[d].strip()]
    usable = {d: day for d, day in enumerate(days) if day and day.precision >= unit.precision}
    coarse = sum(day is not None for day in days) - len(usable)
    if not usable:
        raise _no_period(corpus, by, [day for day in days if day], unreadable)
    numbers = {d: unit.number(day) for d, day in usable.items()}
    first, last = min(numbers.values()), max(numbers.values())
    if last - first >= _MOST_PERIODS:
        raise PlaitError(
            f"the dates go from {unit.label(first)} to {unit.label(last)}, more than {_MOST_PERIODS} periods:"
            " correct them, or choose a longer ",
            Argument("by"),
        )
    place = np.full(corpus.n_documents, -1, np.int64)
    place[list(numbers)] = np.array(list(numbers.values())) - first
    periods = tuple(unit.label(number) for number in range(first, last + 1))
    return _counted(
        run,
        by,
        True,
        periods,
        place,
        n_without=len(without),
        n_coarse=coarse,
        unreadable=tuple(unreadable),
    )


def _no_period(corpus: Corpus, by: str, days: list[Day], unreadable: list[int]) -> PlaitError:
    if days:
        most = _PARTS[max(day.precision for day in days)]
        return PlaitError(f"the dates are too coarse for a {by}: choose ", Argument("by", most))
    if unreadable:
        assert corpus.dates is not None
        return PlaitError(
            f"the date of document {unreadable[0]} is {short_repr(corpus.dates[unreadable[0]])}, and no other"
            " can be read either: write dates as 1863, 1863-11 or 1863-11-19, and fit the model again"
        )
    return PlaitError("no document has a date: choose a column as ", Argument("by"))


def _counted(
    run: Run, by: str, is_time: bool, periods: Sequence[str], place: NDArray[np.int64], **left_out: object
) -> Timeline:
    from scipy.sparse import csr_matrix

    lengths = lda_model(run).corpus.lengths
    chosen = np.flatnonzero(place >= 0)
    shape = (len(periods), len(place))
    members = csr_matrix((np.ones(len(chosen)), (place[chosen], chosen)), shape=shape)
    counts = members @ document_counts(run)
    totals = counts.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shares = np.where(totals > 0, counts / totals, np.nan)
    return Timeline(
        by,
        is_time,
        tuple(periods),
        np.bincount(place[chosen], minlength=len(periods)),
        np.bincount(place[chosen], weights=lengths[chosen], minlength=len(periods)).astype(np.int64),
        shares,
        **left_out,  # type: ignore[arg-type]
    )


def _sorted(values: set[str]) -> tuple[str, ...]:
    """Return values in order: of size, if all are numbers."""
    try:
        return tuple(sorted(values, key=lambda value: (float(value), value)))
    except ValueError:
        return tuple(sorted(values))


def _documents(n: int) -> str:
    return "1 document" if n == 1 else f"{n} documents"
