"""Whether a fit has converged, as far as its own records can tell.

For a sampler, the records of log P(p, w | phi) in the last stretch of sweeps that were made in the same way
are cut into quarters, and the mean of the last one is compared with that of the one before. The rise between
them is measured in units of the noise of the records themselves, which is what a parabola through both
quarters leaves:

    limit = noise * max(1, 3 sqrt(2 tau / n)),    tau = (1 + rho) / (1 - rho)

where n is the number of records in a quarter and rho the correlation of the noise with itself one record
later. A rise above the limit is more than what single sweeps differ by, and unlikely by chance: the run was
still on its way. A run that has settled may still be in one of many local optima: only other seeds tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from plait.arrays import Floats
from plait.plans import Settings
from plait.trace import Trace

LEAST_RECORDS: Final = 20
"""Records that a verdict needs: five in a quarter."""

_MOST_CORRELATED: Final = 0.9  # of the noise; more cannot be told from a trend in so few records


@dataclass(frozen=True)
class Verdict:
    """Whether a fit has converged.

    Attributes
    ----------
    state : {"settled", "rising", "falling", "short"}
        Whether the log-likelihood has settled, was still rising or falling, or has too few records to tell.
    what : {"sweeps", "EM"}
        What the verdict is on: sweeps of a sampler, or EM, by its tolerance.
    change : float or None
        Change of the log-likelihood per site in 100 sweeps, from the third quarter to the last; for EM, in
        its last iteration.
    noise : float or None
        Standard deviation of the records of a sampler, per site.
    sweeps : (int, int) or None
        First and last sweep of the records that were compared.
    """

    state: str
    what: str
    change: float | None = None
    noise: float | None = None
    sweeps: tuple[int, int] | None = None

    @property
    def has_settled(self) -> bool:
        """Whether the log-likelihood has settled."""
        return self.state == "settled"

    def describe(self, site_name: str = "site") -> str:
        """Return the verdict as a sentence without a full stop."""
        if self.state == "short":
            return "Too few records to tell whether the log-likelihood has settled"
        if self.what == "EM":
            if self.has_settled:
                return "EM has converged"
            change = "" if self.change is None else f", and the log-likelihood rose by {self.change:.2g}"
            return f"EM has not converged: it stopped at its number of iterations{change} in the last one"
        if self.has_settled:
            return "The log-likelihood has settled"
        assert self.change is not None
        how = "rising" if self.state == "rising" else "falling"
        return f"The log-likelihood was still {how}, by {abs(self.change):.2g} per {site_name} in 100 sweeps"


def judge(
    trace: Trace,
    settings: Settings,
    n_sites: int,
    *,
    em_history: Sequence[float] = (),
    em_converged: bool | None = None,
) -> Verdict:
    """Return the verdict on a run.

    Parameters
    ----------
    trace : Trace
        Its records.
    settings : Settings
        Its settings.
    n_sites : int
        Number of sites.
    em_history : sequence of float
        Log-likelihoods before each iteration of EM.
    em_converged : bool, optional
        Whether EM has converged, if it is EM that the run ends with.
    """
    n = max(1, n_sites)
    if em_converged is not None:
        last = (em_history[-1] - em_history[-2]) / n if len(em_history) > 1 else None
        return Verdict("settled" if em_converged else "rising", "EM", change=last)
    sweeps, values = _comparable(trace, settings)
    if len(values) < LEAST_RECORDS:
        return Verdict("short", "sweeps")
    quarters = len(values) // 4
    sweeps, values = sweeps[-2 * quarters :], values[-2 * quarters :] / n
    before, after = values[:quarters], values[quarters:]
    rise = float(after.mean() - before.mean())
    noise, limit = _noise(values)
    apart = float(sweeps[quarters:].mean() - sweeps[:quarters].mean())
    state = "settled" if abs(rise) <= limit else "rising" if rise > 0 else "falling"
    return Verdict(state, "sweeps", 100 * rise / apart, noise=noise, sweeps=(int(sweeps[0]), int(sweeps[-1])))


def _comparable(
    trace: Trace, settings: Settings
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats]:
    """Return the sweeps and values of the last stretch of sweeps that has enough records.

    A stretch is made in the same way: same sampler, same number of paths. A short one at the end, such as
    the exact sweeps after partitioned ones, is passed over.
    """
    ends = np.cumsum([stage.sweeps for stage in settings.stages])
    kinds = []
    for sweep in trace.sweep.tolist():
        k = min(int(np.searchsorted(ends, sweep)), len(ends) - 1) if len(ends) else -1
        kinds.append((settings.stages[k].sampler, settings.paths_after(sweep)) if k >= 0 else None)
    values = trace.mean_log_joint()
    stop = len(kinds)
    last = np.arange(0)
    while stop:
        start = stop - 1
        while start and kinds[start - 1] == kinds[stop - 1]:
            start -= 1
        if stop - start >= LEAST_RECORDS:
            last = np.arange(start, stop)
            break
        stop = start
    is_finite = np.isfinite(values[last])
    last = last[is_finite]
    return trace.sweep[last], values[last]


def _noise(values: Floats) -> tuple[float, float]:
    """Return the standard deviation of the noise of two quarters, and the limit for a rise between them."""
    n = len(values)
    curves = np.polynomial.legendre.legvander(np.linspace(-1, 1, n), 2)
    residuals = values - curves @ np.linalg.lstsq(curves, values, rcond=None)[0]
    squares = float(residuals @ residuals)
    noise = np.sqrt(squares / (n - 3))
    rho = float(residuals[1:] @ residuals[:-1]) / squares if squares > 0 else 0.0
    rho += (3 + 4 * rho) / n  # what the parabola and the short stretch take off on average
    rho = min(max(rho, 0.0), _MOST_CORRELATED)
    tau = (1 + rho) / (1 - rho)
    return float(noise), float(noise * max(1.0, 3.0 * np.sqrt(4.0 * tau / n)))
