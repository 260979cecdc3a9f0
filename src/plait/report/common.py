"""Parts of the data of a page that all kinds of models share."""

from __future__ import annotations

from typing import Final

import numpy as np

from plait.answers import describe
from plait.report.packing import Payload, small_integers
from plait.run import Run

_MOST_RECORDS: Final = 1000


def about(run: Run) -> Payload:
    """Return what a run is and how it went: `plait.answers.describe`, and the trace as arrays."""
    return {**describe(run), "site_name": getattr(run.model, "site_name", "site"), "trace": trace(run)}


def trace(run: Run) -> Payload:
    """Return the log-likelihood along a run.

    Returns
    -------
    Payload
        "sweep" (R,); "log_joint" (m, R): log P(p^j, w | phi) per site of each path, NaN where a path was not
        there; "stages": for each stage its last sweep and its description. Of more than a thousand records,
        some are left out, at equal distances.
    """
    own = run.best
    records = own.trace
    chosen = np.unique(np.linspace(0, len(records) - 1, min(len(records), _MOST_RECORDS)).astype(np.intp))
    n = max(1, own.model.n_sites)
    ends = np.cumsum([stage.sweeps for stage in own.settings.stages], dtype=np.int64)
    return {
        "sweep": small_integers(records.sweep[chosen]),
        # In full single precision, since it is the differences that matter.
        "log_joint": np.ascontiguousarray(records.log_joint[chosen].T / n, np.float32),
        "stages": [
            {"end": int(end), "text": stage.describe()}
            for end, stage in zip(ends, own.settings.stages, strict=True)
        ],
    }
