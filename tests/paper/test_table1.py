"""Table 1 of the paper, at a tiny scale, and its verdicts."""

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


def test_distance():
    truth = np.eye(3)
    assert distance(truth, truth[[2, 0, 1]]) == 0
    assert distance(truth, truth[[0, 0, 0]]) == pytest.approx((0 + 2 + 2) / 3)
    assert distance(truth, np.full((3, 3), 1 / 3)) == pytest.approx(4 / 3)


def test_tiny_scale(tmp_path):
    experiment = SCALES["tiny"]
    jobs = experiment.jobs()
    assert len({job.key for job in jobs}) == len(jobs) == 2 * 2 * 2 * 2 + 2 * 2
    run_jobs(jobs, tmp_path, n_jobs=2, quiet=True)
    rows = collect(jobs, tmp_path)
    assert len(rows) == len(jobs)
    assert all(0 < row["distance"] < 2 and row["course"][-1][1] == row["distance"] for row in rows)
    section = experiment.tell(rows, tmp_path)
    for figure in section.figures:
        for suffix in ("png", "svg"):
            assert (tmp_path / f"{figure.name}.{suffix}").stat().st_size < 300_000
    assert section.claims[0].verdict in (REPRODUCED, PARTLY, NOT)
    assert section.claims[1].checks == {}  # the paper has no corpora of that size
    assert len(section.tables) == 2


@pytest.fixture
def undrawn(monkeypatch):
    for name in ("topics", "distances", "course"):
        monkeypatch.setattr(table1, f"_draw_{name}", lambda *arguments: None)


def at_the_end(distance):
    return {"distance": distance, "course": [[350, 1.0], [700, distance]]}


def rows_with(change, n_sets=2):
    """Rows of a finished experiment whose distances are the paper's, changed."""
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
def test_verdicts(change, order, values, tmp_path, undrawn):
    claims = SCALES["quick"].tell(rows_with(change), tmp_path).claims
    assert [claim.verdict for claim in claims] == [order, values, UNKNOWN]


def test_data_sets_that_differ_allow_more():
    """A cell may be two standard deviations between data sets away."""

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
    assert verdict(2, 0.2, 0.001) == PARTLY  # two data sets do not tell
    assert verdict(3, 0.2, 0.3) == PARTLY  # runs differ, not data sets


def test_data_sets_are_also_averaged():
    """One data set may be off, however many runs it has, if the others are off the other way."""
    rows = rows_with(lambda m, n, paper: paper, 2)
    for row in rows:
        row |= at_the_end(row["distance"] * (1.3 if row["data"] else 0.7))
    rows += [row | {"run": row["run"] + 2 * k} for row in rows if row["data"] for k in range(1, 5)]
    sets = _data_sets(rows, "collapsed", 700)
    assert _claim_of_values(_cells(rows, "collapsed", (0,)), sets).verdict == NOT
    assert _claim_of_means(sets, 700).verdict == REPRODUCED


def test_topics_that_have_settled(tmp_path, undrawn):
    def verdict(course, n_sweeps=10_000):
        rows = rows_with(lambda m, n, paper: paper, 1)
        rows = [row | {"sweeps": n_sweeps, "course": course(row["distance"])} for row in rows]
        experiment = replace(SCALES["quick"], runs=[replace(SCALES["quick"].runs[0], n_sweeps=n_sweeps)])
        return experiment.tell(rows, tmp_path).claims[-1].verdict

    assert verdict(lambda end: [[500, 1.9], [3000, 1.02 * end], [10_000, end]]) == REPRODUCED
    assert verdict(lambda end: [[500, 1.9], [3000, 1.2 * end], [10_000, end]]) == NOT
    assert verdict(lambda end: [[500, 1.9], [3000, end], [3001, end]], 3001) == UNKNOWN


def test_runs_that_move_apart_have_not_settled(tmp_path, undrawn):
    """That their mean does not change says nothing."""
    rows = rows_with(lambda m, n, paper: paper, 1)
    for row in rows:
        before = row["distance"] * (1.2 if row["run"] else 0.8)
        row |= {"sweeps": 10_000, "course": [[3000, before], [10_000, row["distance"]]]}
    assert SCALES["paper"].tell(rows, tmp_path).claims[-1].verdict == NOT


def test_nothing_is_claimed_of_runs_that_are_not_there(tmp_path, undrawn):
    other = [row | {"sampler": "partially collapsed"} for row in rows_with(lambda m, n, paper: paper, 1)]
    for rows in ([], other):
        claims = SCALES["paper"].tell(rows, tmp_path).claims
        assert [claim.verdict for claim in claims] == [UNKNOWN] * 3


def test_the_spread_between_data_sets_is_that_after_equal_sweeps():
    """Longer runs of one data set do not make it differ."""
    rows = rows_with(lambda m, n, paper: paper, 3)
    for row in rows:
        if row["data"] == 0:
            row["course"] = [[350, 1.0], [700, row["distance"]], [9000, row["distance"] - 0.1]]
            row["sweeps"], row["distance"] = 9000, row["distance"] - 0.1
    assert max(map(_between, _data_sets(rows, "collapsed", 700).values())) < 1e-9


def test_sweeps_can_be_changed():
    jobs = experiment_of("table1", "paper", 50).jobs()
    assert {job.settings["sweeps"] for job in jobs} == {50}
