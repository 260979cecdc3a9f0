"""Table 1 of the paper at a tiny scale, and its verdicts on made-up rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plait.paper import table1
from plait.paper.bands import distance
from plait.paper.findings import NOT, PARTLY, REPRODUCED, UNKNOWN
from plait.paper.reproduce import experiment_of
from plait.paper.table1 import PAPER, SCALES, _between, _cells, _claim_of_means, _claim_of_values, _data_sets
from plait.paper.work import collect, run_jobs


def test_distance_is_the_mean_l1_distance_to_the_nearest_topic():
    truth = np.eye(3)
    assert distance(truth, truth[[2, 0, 1]]) == 0
    assert distance(truth, truth[[0, 0, 0]]) == pytest.approx((0 + 2 + 2) / 3)
    assert distance(truth, np.full((3, 3), 1 / 3)) == pytest.approx(4 / 3)


def test_tiny_scale_gives_consistent_rows_and_a_full_report(tmp_path):
    experiment = SCALES["tiny"]
    jobs = experiment.jobs()
    assert len({job.key for job in jobs}) == len(jobs) == 2 * 2 * 2 * 2 + 2 * 2
    run_jobs(jobs, tmp_path, n_jobs=2, quiet=True)
    rows = collect(jobs, tmp_path)
    assert len(rows) == len(jobs)
    assert all(0 < row["distance"] < 2 and row["course"][-1][1] == row["distance"] for row in rows)
    section = experiment.report(rows, tmp_path)
    for figure in section.figures:
        for suffix in ("png", "svg"):
            assert (tmp_path / f"{figure.name}.{suffix}").stat().st_size < 300_000
    assert section.claims[0].verdict in (REPRODUCED, PARTLY, NOT)
    assert section.claims[1].checks == {}  # the paper has no corpora of that size
    assert len(section.tables) == 2


@pytest.fixture
def undrawn(monkeypatch):
    """Draw no figures."""
    for name in ("topics", "distances", "course"):
        monkeypatch.setattr(table1, f"_draw_{name}", lambda *arguments: None)


def at_the_end(distance):
    return {"distance": distance, "course": [[350, 1.0], [700, distance]]}


def rows_with(change, n_sets=2):
    """Return rows of a finished experiment whose distances are a function of the paper's."""
    topics = np.full((10, 100), 0.01).tolist()
    return [
        {
            "sampler": "collapsed",
            "data": data,
            "documents": n,
            "paths": m,
            "run": run,
            "sweeps": 700,
            "seconds": 1.0,
            **({"topics": topics} if run == 0 else {}),
            **at_the_end(change(m, n, PAPER[m][n]) + 0.001 * run),
        }
        for data in range(n_sets)
        for m in PAPER
        for n in PAPER[m]
        for run in range(2)
    ]


@pytest.mark.parametrize(
    ("change", "order", "values"),
    [
        (lambda m, n, paper: paper, REPRODUCED, REPRODUCED),
        (lambda m, n, paper: 1.4 * paper, REPRODUCED, NOT),
        (lambda m, n, paper: 1.4 * paper if n == 9000 else paper, REPRODUCED, PARTLY),
        (lambda m, n, paper: PAPER[1][n] + 0.01 * m, NOT, PARTLY),
        (lambda m, n, paper: paper if n > 1500 else 1.2 - paper, PARTLY, PARTLY),
    ],
)
def test_verdicts_follow_the_rows(change, order, values, tmp_path, undrawn):
    claims = SCALES["quick"].report(rows_with(change), tmp_path).claims
    assert [claim.verdict for claim in claims] == [order, values, UNKNOWN]


def test_cells_may_differ_by_two_standard_deviations_between_data_sets():

    def verdict(n_sets, apart, noise):
        rows = rows_with(lambda m, n, paper: paper, n_sets)
        for row in rows:
            if (row["paths"], row["documents"]) == (5, 9000):
                own = 0.24 + (0.0 if row["data"] else apart) + (noise if row["run"] else -noise)
                row |= at_the_end(own)
        sets = _data_sets(rows, "collapsed", 700)
        assert np.isnan(_between(sets[5, 9000])) == (n_sets < 3)
        return _claim_of_values(_cells(rows, "collapsed", (0,)), sets).verdict

    assert verdict(3, 0.2, 0.001) == REPRODUCED
    assert verdict(2, 0.2, 0.001) == PARTLY  # two data sets are too few
    assert verdict(3, 0.2, 0.3) == PARTLY  # here runs differ, not data sets


def test_means_over_data_sets_weight_data_sets_equally():
    """Errors of opposite sign cancel, however many runs each data set has."""
    rows = rows_with(lambda m, n, paper: paper, 2)
    for row in rows:
        row |= at_the_end(row["distance"] * (1.3 if row["data"] else 0.7))
    rows += [row | {"run": row["run"] + 2 * k} for row in rows if row["data"] for k in range(1, 5)]
    sets = _data_sets(rows, "collapsed", 700)
    assert _claim_of_values(_cells(rows, "collapsed", (0,)), sets).verdict == NOT
    assert _claim_of_means(sets, 700).verdict == REPRODUCED


def test_settling_compares_distances_after_3000_sweeps_and_at_the_end(tmp_path, undrawn):
    def verdict(course, n_sweeps=10_000):
        rows = rows_with(lambda m, n, paper: paper, 1)
        rows = [row | {"sweeps": n_sweeps, "course": course(row["distance"])} for row in rows]
        experiment = replace(SCALES["quick"], runs=[replace(SCALES["quick"].runs[0], n_sweeps=n_sweeps)])
        return experiment.report(rows, tmp_path).claims[-1].verdict

    assert verdict(lambda end: [[500, 1.9], [3000, 1.02 * end], [10_000, end]]) == REPRODUCED
    assert verdict(lambda end: [[500, 1.9], [3000, 1.2 * end], [10_000, end]]) == NOT
    assert verdict(lambda end: [[500, 1.9], [3000, end], [3001, end]], 3001) == UNKNOWN


def test_runs_that_move_apart_have_not_settled(tmp_path, undrawn):
    """Single runs count, not their mean."""
    rows = rows_with(lambda m, n, paper: paper, 1)
    for row in rows:
        before = row["distance"] * (1.2 if row["run"] else 0.8)
        row |= {"sweeps": 10_000, "course": [[3000, before], [10_000, row["distance"]]]}
    assert SCALES["paper"].report(rows, tmp_path).claims[-1].verdict == NOT


def test_claims_without_runs_have_no_verdict(tmp_path, undrawn):
    other = [row | {"sampler": "partially collapsed"} for row in rows_with(lambda m, n, paper: paper, 1)]
    for rows in ([], other):
        claims = SCALES["paper"].report(rows, tmp_path).claims
        assert [claim.verdict for claim in claims] == [UNKNOWN] * 3


def test_the_spread_between_data_sets_is_measured_after_equal_sweeps():
    """Longer runs on one data set must not make it look different."""
    rows = rows_with(lambda m, n, paper: paper, 3)
    for row in rows:
        if row["data"] == 0:
            row["course"] = [[350, 1.0], [700, row["distance"]], [9000, row["distance"] - 0.1]]
            row["sweeps"], row["distance"] = 9000, row["distance"] - 0.1
    assert max(map(_between, _data_sets(rows, "collapsed", 700).values())) < 1e-9


def test_another_number_of_sweeps_changes_all_jobs():
    jobs = experiment_of("table1", "paper", 50).jobs()
    assert {job.settings["sweeps"] for job in jobs} == {50}
