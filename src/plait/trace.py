"""The records of a run: what the sampler writes down every few sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.arrays import frozen

_PRIOR = "priors."


class _Column:
    """Rows in a buffer that is larger than needed, so that a record costs no copy of those before it."""

    def __init__(self, rows: NDArray[Any]) -> None:
        self._buffer, self._n = rows, len(rows)

    def __len__(self) -> int:
        return self._n

    def append(self, row: Any) -> None:
        """Add a row; views of the rows before stay valid."""
        if self._n == len(self._buffer):
            buffer = np.empty((2 * self._n + 16, *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self._n] = self._buffer
            self._buffer = buffer
        self._buffer[self._n] = row
        self._n += 1

    def rows(self) -> NDArray[Any]:
        """Return a view of all rows."""
        return self._buffer[: self._n]


@dataclass(frozen=True)
class Trace:
    """Records of a run, one every few sweeps.

    Attributes
    ----------
    sweep : ndarray of int64, (R,)
        Number of sweeps made.
    seconds : ndarray of float64, (R,)
        Time taken since the start.
    log_joint : ndarray of float64, (R, m)
        log P(p^j, w | phi) of each path. For the partially collapsed sampler phi is the last draw, for the
        collapsed one its mean given the paths. m is the largest number of paths; where there were fewer, the
        rest is NaN.
    priors : dict of ndarray of float64, (R, ...)
        The priors by name, if any stage learns them.
    """

    sweep: NDArray[np.int64]
    seconds: NDArray[np.float64]
    log_joint: NDArray[np.float64]
    priors: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    _columns: dict[str, _Column] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("sweep", "seconds", "log_joint"):
            object.__setattr__(self, name, frozen(getattr(self, name).view()))
        object.__setattr__(
            self, "priors", {name: frozen(array.view()) for name, array in self.priors.items()}
        )

    @classmethod
    def empty(cls, n_paths: int) -> Trace:
        """Return the trace of a run that has not started; `n_paths` is its largest number of paths."""
        return cls(np.empty(0, np.int64), np.empty(0), np.empty((0, n_paths)))

    def appended(
        self,
        sweep: int,
        seconds: float,
        log_joint: NDArray[np.float64],
        priors: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> Trace:
        """Return the trace with one more record."""
        row = np.full(self.log_joint.shape[1], np.nan)
        row[: len(log_joint)] = log_joint
        record = {"sweep": np.int64(sweep), "seconds": np.float64(seconds), "log_joint": row}
        priors = {name: np.asarray(value, np.float64) for name, value in (priors or {}).items()}
        columns = self._columns
        if columns is None or len(columns["sweep"]) != len(self):  # another trace has gone on from here
            columns = {name: _Column(getattr(self, name)) for name in record}
            for name, value in priors.items():
                columns[_PRIOR + name] = _Column(self.priors.get(name, np.empty((0, *value.shape))))
        for name, cell in (*record.items(), *((_PRIOR + name, value) for name, value in priors.items())):
            columns[name].append(cell)
        longer = Trace(
            columns["sweep"].rows(),
            columns["seconds"].rows(),
            columns["log_joint"].rows(),
            {name: columns[_PRIOR + name].rows() for name in priors},
        )
        object.__setattr__(longer, "_columns", columns)
        return longer

    def mean_log_joint(self) -> NDArray[np.float64]:
        """Return the mean of `log_joint` over the paths of each record, (R,)."""
        return np.nanmean(self.log_joint, axis=1) if len(self) else np.empty(0)

    def __reduce__(self) -> tuple[Any, ...]:
        return Trace, (self.sweep, self.seconds, self.log_joint, self.priors)

    def __len__(self) -> int:
        return len(self.sweep)
