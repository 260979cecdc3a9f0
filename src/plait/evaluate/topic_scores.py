"""Values of single topics, and their mean."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class TopicScores:
    """A value for each topic.

    Attributes
    ----------
    per_topic : ndarray of float64, (T,)
        The values.
    top : int
        Number of top words of a topic that were looked at.
    """

    per_topic: NDArray[np.float64]
    top: int

    @property
    def overall(self) -> float:
        """The mean over topics."""
        return float(self.per_topic.mean())

    def __repr__(self) -> str:
        settings = [f"{field.name}={getattr(self, field.name)!r}" for field in fields(self)[1:]]
        return f"{type(self).__name__}({', '.join([f'overall={self.overall:.6g}', *settings])})"
