"""Access to the rows of the State of the Union experiment, for its claims, tables and figures."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.paper.results import Row

Floats = NDArray[np.float64]

EXAMPLE_STEM: Final = "welfar"
"""The example topic is the topic of LDA that gives this stem the highest probability."""

GAMMA: Final = 0.05
"""Share of a topic's weight in a bucket, for the buckets of all topics."""

EXAMPLE_GAMMA: Final = 0.1
"""The same for the buckets of the example topic."""

LABELS: Final = {"lda": "LDA", "multipath": "mpLDA"}
"""The models: their names in the rows, and in the report."""


def entropies_of(row: Row, name: str) -> Floats:
    """Return the entropy of each year's topics, NaN in years without documents."""
    return np.array(row[f"{name}_entropies"], float)  # None becomes NaN


def lengths_of(row: Row, name: str) -> Floats:
    """Return the length of every bucket of every topic, in years."""
    return np.array(row[f"{name}_lengths"])


def bucket_weights_of(row: Row, name: str) -> Floats:
    """Return the weight of the topic of every bucket."""
    return np.repeat(np.array(row[f"{name}_weights"]), round(1 / GAMMA))


def n_years_of(row: Row) -> int:
    """Return the number of years, those without documents included."""
    return int(row["years"][1] - row["years"][0] + 1)


def mean_length_of(row: Row) -> float:
    """Return the mean length of a bucket in years, which is the same for any topics."""
    return n_years_of(row) * GAMMA


def histogram_of(row: Row, name: str, *, weighted: bool) -> tuple[Floats, Floats]:
    """Return the edges of the bins and the share of buckets in each; the last bin has no upper edge."""
    mean = mean_length_of(row)
    width = 1.0 if mean >= 5.0 else mean / 10.0
    edges = np.append(np.arange(0.0, 3.6 * mean, width), np.inf)
    weights = bucket_weights_of(row, name) if weighted else None
    counts, _ = np.histogram(lengths_of(row, name), edges, weights=weights)
    return edges, counts / counts.sum()


def sorted_shares_of(row: Row, name: str) -> Floats:
    """Return the topics' shares of all weight, largest first, zero for topics without weight."""
    weights = np.sort(np.array(row[f"{name}_weights"]))[::-1]
    return np.append(weights, np.zeros(row["topics"] - len(weights))) / weights.sum()
