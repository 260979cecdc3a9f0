"""Fits that differ in their seeds only, taken together; and tables of such groups.

Held-out scores are averaged over seeds, document by document. Two groups are compared on the same documents:

    error_documents   standard error of the mean difference over documents (`HeldOut.difference`)
    error_seeds       sqrt( (s_a^2 + s_b^2) / S ), s the standard deviation of a group over its S seeds
    error             sqrt( error_documents^2 + error_seeds^2 )

The first says how much other documents would change the difference, the second how much other seeds would.
With one seed the second is unknown, and taken as 0.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plait.evaluate.fits import FitScores
from plait.evaluate.heldout import HeldOut
from plait.evaluate.topic_stability import Stability, stability
from plait.outputs import replacing


class Difference(NamedTuple):
    """How much better one group predicts held-out tokens than another.

    Attributes
    ----------
    value : float
        Difference of the log-likelihoods per token.
    error_documents : float
        Its standard error over documents.
    error : float
        Its standard error over documents and seeds.
    """

    value: float
    error_documents: float
    error: float


@dataclass(frozen=True, eq=False, repr=False)
class FitGroup:
    """Fits that differ in their seeds only.

    Attributes
    ----------
    name : str
        What they have in common: the name of a contestant, or a number of topics.
    fits : tuple of FitScores
        The fits, by seed.
    stability : Stability or None
        Agreement of their topics; None for one seed.
    """

    name: str
    fits: tuple[FitScores, ...]
    stability: Stability | None

    @classmethod
    def of_fits(
        cls, name: str, fits: Sequence[FitScores], *, top: int, seed: int, n_jobs: int | None
    ) -> FitGroup:
        """Return the group of some fits; stability is computed here."""
        stable = None
        if len(fits) > 1:
            stable = stability([fit.source for fit in fits], top=top, seed=seed, n_jobs=n_jobs)
        return cls(name, tuple(fits), stable)

    def __repr__(self) -> str:
        return f"FitGroup({self.name!r}, {len(self.fits)} fits, per_token={self.per_token:.6g})"

    @cached_property
    def held_out(self) -> HeldOut:
        """The held-out scores, averaged over seeds."""
        scores = np.mean([fit.held_out.document_scores for fit in self.fits], axis=0)
        return HeldOut("completion", scores, self.fits[0].held_out.document_tokens)

    @property
    def per_token(self) -> float:
        """Held-out log-likelihood per token, mean over seeds."""
        return self.held_out.per_token

    def values(self, name: str) -> list[float]:
        """Return a score of each fit; "per_token" is the held-out log-likelihood."""
        if name == "per_token":
            return [fit.held_out.per_token for fit in self.fits]
        return [float(getattr(fit, name)) for fit in self.fits]

    def mean(self, name: str) -> float:
        """Return the mean of a score over seeds."""
        return math.fsum(self.values(name)) / len(self.fits)

    def spread(self, name: str) -> float:
        """Return the standard deviation of a score over seeds; NaN for one seed."""
        return float(np.std(self.values(name), ddof=1)) if len(self.fits) > 1 else math.nan

    def difference(self, other: FitGroup) -> Difference:
        """Return how much better this group predicts the held-out documents than another."""
        if other is self:
            return Difference(0.0, 0.0, 0.0)
        value, error = self.held_out.difference(other.held_out)
        over_seeds = 0.0
        if len(self.fits) > 1 and len(other.fits) > 1:
            spreads = (group.spread("per_token") ** 2 / len(group.fits) for group in (self, other))
            over_seeds = math.sqrt(sum(spreads))
        return Difference(value, error, math.hypot(error, over_seeds))

    def as_row(self) -> dict[str, Any]:
        """Return the scores of the group as numbers by name, for tables."""
        stable = self.stability
        return {
            "seeds": len(self.fits),
            "held_out_per_token": self.per_token,
            "held_out_spread": self.spread("per_token"),
            "held_out_standard_error": self.held_out.standard_error,
            "coherence": self.mean("coherence"),
            "coherence_spread": self.spread("coherence"),
            "diversity": self.mean("diversity"),
            "diversity_spread": self.spread("diversity"),
            "stability": None if stable is None else stable.cosine,
            "stability_unrelated": None if stable is None else stable.unrelated.cosine,
            "stability_found": None if stable is None else stable.found,
            "log_likelihood": self.mean("log_likelihood"),
            "sweeps": self.mean("n_sweeps"),
            "path_sweeps": self.mean("n_path_sweeps"),
            "seconds": self.mean("seconds"),
        }

    def fit_rows(self) -> list[dict[str, float]]:
        """Return the scores of each fit."""
        names = {
            "held_out_per_token": "per_token",
            "coherence": "coherence",
            "diversity": "diversity",
            "log_likelihood": "log_likelihood",
            "sweeps": "n_sweeps",
            "path_sweeps": "n_path_sweeps",
            "seconds": "seconds",
        }
        columns = [self.values(name) for name in names.values()]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def best_of(groups: Sequence[FitGroup]) -> FitGroup:
    """Return the group that predicts held-out documents best, the first of equal ones."""
    return max(groups, key=lambda group: group.per_token)


def write_table(rows: Sequence[Mapping[str, Any]], rest: Mapping[str, Any], folder: Path, name: str) -> None:
    """Write rows as CSV, and with the rest of a result as JSON; numbers that are not finite are left out."""
    clean = [{key: _finite(value) for key, value in row.items()} for row in rows]
    with replacing(folder / f"{name}.json") as temporary:
        text = json.dumps({**rest, "rows": clean}, indent=1, allow_nan=False)
        temporary.write_text(f"{text}\n", encoding="utf-8")
    columns = [key for key in clean[0] if not isinstance(clean[0][key], (list, dict))]
    with (
        replacing(folder / f"{name}.csv") as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(clean)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
