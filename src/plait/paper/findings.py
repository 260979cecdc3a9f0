"""The parts of a report on an experiment: the paper's claims with computed verdicts, figures, tables."""

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
    """A claim of the paper, and whether plait's results support it.

    Attributes
    ----------
    text : str
        The claim, in our words.
    paper : str
        The paper's numbers; "no number" if it gives none.
    found : str
        plait's numbers.
    checks : mapping
        The text of each condition, and whether it holds.
    note : str
        Further information for the reader.
    """

    text: str
    paper: str
    found: str
    checks: Mapping[str, bool]
    note: str = ""

    def __post_init__(self) -> None:
        plain = {check: bool(holds) for check, holds in self.checks.items()}  # NumPy's bool is not JSON
        object.__setattr__(self, "checks", plain)

    @property
    def verdict(self) -> str:
        """The verdict: whether all, some or none of the checks hold."""
        if not self.checks:
            return UNKNOWN
        n_holding = sum(self.checks.values())
        return REPRODUCED if n_holding == len(self.checks) else PARTLY if n_holding else NOT

    @property
    def verdict_text(self) -> str:
        """The verdict as a complete phrase, such as "partly reproduced"."""
        return f"{self.verdict} reproduced" if self.verdict in (PARTLY, NOT) else self.verdict


@dataclass(frozen=True)
class Figure:
    """A figure, stored as PNG and SVG.

    Attributes
    ----------
    name : str
        Name of the files, without the extension.
    caption : str
        The caption.
    """

    name: str
    caption: str


@dataclass(frozen=True)
class Table:
    """A table: a title, column heads, and rows of cells."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def has_numbers(self, column: int) -> bool:
        """Return whether a column holds numbers; the first column names the rows."""
        cells = [row[column] for row in self.rows if row[column]]
        return column > 0 and all(cell.lstrip("+-")[:1].isdigit() for cell in cells)


@dataclass(frozen=True)
class Section:
    """The report on one experiment.

    Attributes
    ----------
    title : str
        Title of the section.
    setting : str
        What was run: sizes, sweeps, seeds.
    claims, figures, tables
        The findings.
    differences : sequence of str
        Differences from the paper.
    seconds : float
        Time of all runs together, on one core.
    made_by : str
        The command and plait's version.
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
        """Return the section as strings, numbers, lists and mappings."""
        return asdict(self)

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Section:
        """Rebuild the section from the output of `to_dict`."""
        kinds = {"claims": Claim, "figures": Figure, "tables": Table}
        built = {name: [kind(**part) for part in parts[name]] for name, kind in kinds.items()}
        return cls(**{**parts, **built})


class Experiment(Protocol):
    """An experiment of the paper at some scale."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def with_sweeps(self, n_sweeps: int) -> Experiment:
        """Return the experiment with another number of sweeps."""

    def jobs(self) -> list[Job]:
        """Return all jobs."""

    def report(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the figures into a folder and return the report on the rows of all jobs."""
