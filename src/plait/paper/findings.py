"""What an experiment shows: claims of the paper with verdicts that are computed, figures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.paper.results import Row
from plait.paper.work import Job

REPRODUCED, PARTLY, NOT, UNKNOWN = "reproduced", "partly", "not", "no verdict"


def standard_error(values: ArrayLike) -> float:
    """Return the standard error of the mean, NaN for a single value."""
    numbers = np.asarray(values, np.float64)
    return float(numbers.std(ddof=1) / np.sqrt(numbers.size)) if numbers.size > 1 else float("nan")


def mean_and_error(values: Sequence[float] | NDArray[np.float64]) -> str:
    """Return "mean ± standard error", or the mean of a single value."""
    mean, error = float(np.mean(values)), standard_error(values)
    return f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and whether plait finds it too.

    Attributes
    ----------
    text : str
        What the paper says, in our words.
    paper : str
        The paper's numbers; "no number" where it has none.
    found : str
        plait's numbers.
    checks : mapping
        What must hold, in words, and whether it does.
    note : str
        What a reader should know of it besides.
    """

    text: str
    paper: str
    found: str
    checks: Mapping[str, bool]
    note: str = ""

    def __post_init__(self) -> None:
        plain = {check: bool(held) for check, held in self.checks.items()}  # not NumPy's
        object.__setattr__(self, "checks", plain)

    @property
    def verdict(self) -> str:
        """Whether all, some or none of the checks hold."""
        if not self.checks:
            return UNKNOWN
        held = sum(self.checks.values())
        return REPRODUCED if held == len(self.checks) else PARTLY if held else NOT

    @property
    def in_words(self) -> str:
        """The verdict, for a reader who has no context."""
        return f"{self.verdict} reproduced" if self.verdict in (PARTLY, NOT) else self.verdict


@dataclass(frozen=True)
class Figure:
    """A picture, kept as PNG and SVG.

    Attributes
    ----------
    name : str
        Name of the files, without what follows the dot.
    caption : str
        What is to be seen.
    """

    name: str
    caption: str


@dataclass(frozen=True)
class Table:
    """A table: a title, the heads of the columns, and rows of cells."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def has_numbers(self, column: int) -> bool:
        """Return whether a column is one of numbers; the first names the rows."""
        cells = [row[column] for row in self.rows if row[column]]
        return column > 0 and all(cell.lstrip("+-")[:1].isdigit() for cell in cells)


@dataclass(frozen=True)
class Section:
    """What is to be told of one experiment.

    Attributes
    ----------
    title : str
        Its name.
    setting : str
        What was run: sizes, sweeps, seeds.
    claims, figures, tables
        What it shows.
    differences : sequence of str
        Where it differs from the paper.
    seconds : float
        Time of all runs together, on one core.
    made_by : str
        The command, and plait's version.
    """

    title: str
    setting: str
    claims: Sequence[Claim] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    differences: Sequence[str] = field(default=())
    seconds: float = 0.0
    made_by: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as texts, numbers, lists and mappings."""
        return asdict(self)

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Section:
        """Return what `to_dict` was made from."""
        kinds = {"claims": Claim, "figures": Figure, "tables": Table}
        made = {name: [kind(**part) for part in parts[name]] for name, kind in kinds.items()}
        return cls(**{**parts, **made})


class Experiment(Protocol):
    """An experiment of the paper, at some scale."""

    @property
    def name(self) -> str:
        """What the command calls it."""

    def with_sweeps(self, n_sweeps: int) -> Experiment:
        """Return the experiment with another number of sweeps."""

    def jobs(self) -> list[Job]:
        """Return what there is to do."""

    def tell(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the figures into a folder, and say what the rows of all jobs show."""
