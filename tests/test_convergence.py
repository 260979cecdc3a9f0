"""The verdict on a run: right on traces that are known to have settled, or not to have."""

from __future__ import annotations

import numpy as np
import pytest

from plait.convergence import LEAST_RECORDS, judge
from plait.plans import Plan, Settings, Stage
from plait.trace import Trace

N_SITES = 1000


def trace_of(values, thin=10):
    """Return a trace with one path."""
    sweeps = thin * np.arange(1, len(values) + 1)
    return Trace(sweeps, np.zeros(len(values)), np.asarray(values, float)[:, None])


def verdict_on(values, *stages, **options):
    stages = stages or (Stage("collapsed", 1, max(1, 10 * len(values))),)
    settings = Settings.of_plan(Plan(stages), 0, 10, None, None)
    return judge(trace_of(values), settings, N_SITES, **options)


def noise(n, seed, rho=0.0):
    """Return normal noise of standard deviation 1, each record correlated with the one before."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=n)
    for k in range(1, n):
        found[k] = rho * found[k - 1] + np.sqrt(1 - rho**2) * found[k]
    return found


@pytest.mark.parametrize(
    ("rho", "n", "most"), [(0.0, LEAST_RECORDS, 8), (0.0, 100, 3), (0.7, 40, 50), (0.7, 100, 14)]
)
def test_noise_alone_has_settled(rho, n, most):
    # The limit is three standard errors or more on either side, 1 in 400; few correlated records are harder.
    wrong = sum(not verdict_on(noise(n, seed, rho)).has_settled for seed in range(400))
    assert wrong <= most


@pytest.mark.parametrize("n", [40, 100])
def test_a_rise_above_the_noise_is_seen(n):
    for seed in range(50):
        rising = verdict_on(-8000 + np.linspace(0, 24, n) + noise(n, seed))
        assert rising.state == "rising"
        # 24 in 10 n sweeps, per site
        assert rising.change == pytest.approx(24 / (10 * n) * 100 / N_SITES, rel=0.35)
        assert verdict_on(-8000 - np.linspace(0, 24, n) + noise(n, seed)).state == "falling"


def test_a_rise_within_the_noise_of_single_sweeps_has_settled():
    # A quarter of it lies between the last two quarters: 0.5 standard deviations
    settled = sum(verdict_on(np.linspace(0, 2, 100) + noise(100, seed)).has_settled for seed in range(100))
    assert settled >= 85


def test_a_curve_that_has_levelled_off_has_settled():
    curve = -8000 - 500 * np.exp(-np.arange(100) / 8)
    whole = [verdict_on(curve + noise(100, seed)).state for seed in range(50)]
    assert whole.count("settled") >= 47
    early = [verdict_on(curve[:30] + noise(30, seed)).state for seed in range(50)]
    assert early == ["rising"] * 50


def test_a_constant_trace_has_settled():
    assert verdict_on(np.full(20, -5.0)).has_settled


def test_few_records_are_too_few():
    short = verdict_on(noise(LEAST_RECORDS - 1, 0))
    assert short.state == "short"
    assert "Too few records" in short.describe()
    assert verdict_on([]).state == "short"


def test_stages_that_sweep_alike_are_compared_and_a_short_last_one_is_passed_over():
    stages = (
        Stage("partitioned", 1, 200),
        Stage("partitioned", 1, 200, learn_priors=True),
        Stage("partially-collapsed", 1, 50, average=True),
    )
    values = np.concatenate([np.full(40, -8000.0), np.full(5, -9000.0)]) + noise(45, 1)
    verdict = verdict_on(values, *stages)
    assert verdict.has_settled
    assert verdict.sweeps == (210, 400)


def test_a_change_of_the_number_of_paths_is_no_rise():
    stages = (Stage("collapsed", (1, 2), 400),)
    values = np.concatenate([np.full(20, -8000.0), np.full(20, -7000.0)]) + noise(40, 2)
    verdict = verdict_on(values, *stages)
    assert verdict.has_settled
    assert verdict.sweeps[0] > 200


def test_em_is_judged_by_its_tolerance():
    converged = verdict_on([], em_converged=True, em_history=[-10.0, -9.0])
    assert (converged.has_settled, converged.describe()) == (True, "EM has converged")
    stopped = verdict_on([], em_converged=False, em_history=[-2000.0, -1000.0])
    assert (stopped.state, stopped.change) == ("rising", 1.0)
    assert "stopped at its number of iterations, and the log-likelihood rose by 1" in stopped.describe()


def test_the_rate_is_said_per_site():
    rising = verdict_on(np.linspace(0, 40, 40) + noise(40, 0))
    text = rising.describe("token")
    assert text.startswith("The log-likelihood was still rising, by 0.01 per token in 100 sweeps")
