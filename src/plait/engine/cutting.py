"""How data are cut into shares: consecutive ranges, as many sites for each thread as possible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plait.threads import Range


class Cut(NamedTuple):
    """The ranges `first` to `last` of a model, which are the sites `begin` to `end`."""

    first: int
    last: int
    begin: int
    end: int


def cut_ranges(ranges: Sequence[Range], weights: Sequence[float]) -> list[Cut]:
    """Return at most a cut for each weight, each of at least one range; small data have fewer cuts."""
    ends = np.array([end for _, end in ranges], np.float64)
    n = min(len(weights), len(ranges))
    targets = ranges[0][0] + (ends[-1] - ranges[0][0]) * np.cumsum(weights[:n]) / np.sum(weights[:n])
    bounds = [0]
    for k, target in enumerate(targets[:-1]):
        nearest = int(np.argmin(np.abs(ends - target))) + 1
        bounds.append(min(max(nearest, bounds[-1] + 1), len(ranges) - (n - 1 - k)))
    bounds.append(len(ranges))
    return [Cut(first, last, ranges[first][0], ranges[last - 1][1]) for first, last in pairwise(bounds)]
