"""The paper's hidden Markov model, at a tiny scale, and its verdicts."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from plait.em import maximise
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalParameters
from plait.models.model import Key
from plait.paper.findings import NOT, PARTLY, REPRODUCED, UNKNOWN
from plait.paper.hard import EM, SAMPLERS, emission_distance, hard_data, matched
from plait.paper.hmm import SCALES
from plait.paper.reproduce import experiment_of
from plait.paper.work import Bench, Stopped, collect, run_jobs
from plait.rng import INITIAL
from plait.threads import Threads

TINY = SCALES["tiny"]
THREADS = Threads(1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder, the jobs of the tiny scale, and their rows."""
    folder = tmp_path_factory.mktemp("hmm")
    jobs = TINY.jobs()
    run_jobs(jobs, folder, n_jobs=2, quiet=True)
    return folder, jobs, collect(jobs, folder)


def test_tiny_scale(finished):
    folder, jobs, rows = finished
    assert len({job.key for job in jobs}) == len(jobs) == len(rows) == TINY.n_runs * (len(SAMPLERS) + 1)
    for row in rows:
        assert np.shape(row["emissions"]) == (2, 10)
        assert np.sum(row["emissions"], axis=1) == pytest.approx([1, 1], abs=1e-4)
        assert np.sum(row["transitions"], axis=1) == pytest.approx([1, 1], abs=1e-4)
        if row["sampler"] != EM:
            assert [sweep for sweep, _ in row["course"]] == list(range(1, TINY.n_sweeps + 1))
            assert row["course"][-1][1] == pytest.approx(row["above_truth"], abs=1e-3)
        assert row["polished"] >= row["above_truth"]
        assert (row["polished"] == row["above_truth"]) == (row["sampler"] == EM)
    section = TINY.tell(rows, folder)
    assert [figure.name for figure in section.figures] == ["hmm-course", "hmm-final", "hmm-emissions"]
    for figure in section.figures:
        for suffix in ("png", "svg"):
            assert 0 < (folder / f"{figure.name}.{suffix}").stat().st_size < 300_000
    assert all(claim.verdict in (REPRODUCED, PARTLY, NOT) for claim in section.claims)
    assert [row[0] for row in section.tables[0].rows] == [*SAMPLERS, EM]
    assert len(section.tables[1].rows[0]) == 1 + TINY.n_runs


@pytest.mark.parametrize("sampler", ["C5", "PC1", EM])
def test_a_job_that_was_stopped_ends_as_if_it_had_not_been(sampler, finished, tmp_path):
    _, jobs, rows = finished
    job, row = next((job, row) for job, row in zip(jobs, rows, strict=True) if row["sampler"] == sampler)
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        job.work(Bench(job, tmp_path, stop))
    stop.clear()
    assert dict(job.settings) | job.work(Bench(job, tmp_path, stop)) | {"seconds": row["seconds"]} == row


def test_baum_welch_begins_where_the_samplers_do(finished):
    _, _, rows = finished
    data = hard_data(TINY.n_sites, TINY.switch)
    begin = data.blocked.first_parameters(Key(1, INITIAL))
    row = next(row for row in rows if row["sampler"] == EM and row["seed"] == 1)
    end = maximise(data.blocked, begin, row["made"], lambda _: False, THREADS)
    assert row["above_truth"] == pytest.approx(data.above_truth(end), abs=1e-6)


def test_what_is_measured_against():
    data = hard_data(TINY.n_sites, TINY.switch)
    assert data.above_truth(data.truth) == 0
    symbols = np.bincount(data.blocked.sequences.values, minlength=10) / TINY.n_sites
    blind = HmmParameters(
        data.truth.start, data.truth.transitions, CategoricalParameters(np.stack([symbols] * 2))
    )
    assert data.independent == pytest.approx(data.above_truth(blind), abs=1e-6)


def test_states_are_matched():
    truth = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    assert emission_distance(truth[::-1], truth) == 0
    assert list(matched(truth[::-1], truth)) == [1, 0]
    assert emission_distance(np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]), truth) == pytest.approx(0.2)


GOOD = {"C1": 4.0, "C5": 12.0, "PC1": 4.2, "PC5": 11.0, "B1": 5.0, "B5": 11.5, EM: 11.9}
"""Where the runs end, if all is as the paper says; each run a little lower than the one before."""


FOLLOWED: dict = {"C1": 6.0, "C5": 13.0, "PC1": 6.0, "PC5": 13.0, "B1": 6.0, "B5": 13.0, EM: 11.9}
"""Where EM ends after them."""


def rows_of(final, *, levels=(0.0, -60.0), drift=0.0, emissions=None, followed=FOLLOWED):
    """Rows of eight runs of each sampler; those of C1 are around `levels` in turn, and drift away."""
    data = hard_data(TINY.n_sites, TINY.switch)
    emissions = data.emissions if emissions is None else emissions
    rows = []
    for sampler, value in final.items():
        for seed in range(8):
            row = {"sampler": sampler, "seed": seed, "above_truth": value - 0.1 * seed, "seconds": 1.0}
            row |= {"emissions": np.asarray(emissions).tolist()}
            wave = [[10 * k, levels[seed % len(levels)] + drift * k + (-1) ** k] for k in range(1, 21)]
            own = {} if sampler == EM else {"course": wave}
            rows.append(row | own | {"polished": followed[sampler], "made": 5 + seed, "iterations": 12})
    return rows


def verdicts(rows):
    return [claim.verdict for claim in TINY.claims(rows)]


def test_all_is_as_the_paper_says():
    assert verdicts(rows_of(GOOD)) == [REPRODUCED] * 7


@pytest.mark.parametrize(
    ("rows", "claim", "expected"),
    [
        # all runs at one level, which is fixed; levels that differ and move; one level, moving
        (lambda: rows_of(GOOD, levels=(0.0,)), 0, PARTLY),
        (lambda: rows_of(GOOD, drift=2.0), 0, PARTLY),
        (lambda: rows_of(GOOD, levels=(0.0,), drift=2.0), 0, NOT),
        (lambda: rows_of(GOOD, levels=(0.0,) * 7 + (-60.0,)), 0, PARTLY),  # one straggler
        # five paths are no better; they are, but find the same maxima
        (lambda: rows_of(dict.fromkeys(GOOD, 5.0), followed=dict.fromkeys(GOOD, 9.0)), 1, NOT),
        (lambda: rows_of(GOOD | {"PC1": 12.0, "PC5": 4.0}), 1, PARTLY),
        (lambda: rows_of(GOOD, followed=dict.fromkeys(GOOD, 13.0)), 1, PARTLY),
        (lambda: rows_of(GOOD | {"C5": 4.0, "PC5": 3.0}), 2, NOT),
        (lambda: rows_of(GOOD | {"PC5": 3.0}), 2, PARTLY),
        (lambda: rows_of(GOOD | {"PC5": 16.0}), 3, NOT),
        (lambda: rows_of(GOOD | {"C5": 5.0, "PC5": 4.0, EM: 13.0}), 3, PARTLY),  # nobody comes near
        (lambda: rows_of(GOOD | {"PC1": 9.0}), 4, NOT),
        # below the truth; far above it
        (lambda: rows_of({name: value - 40 for name, value in GOOD.items()}), 5, NOT),
        (lambda: rows_of(GOOD | {EM: 50.0}), 5, PARTLY),
        # states that do not differ
        (lambda: rows_of(GOOD, emissions=np.full((2, 10), 0.1)), 6, NOT),
    ],
)
def test_verdicts(rows, claim, expected):
    found = TINY.claims(rows())[claim]
    assert found.verdict == expected, found


def test_runs_on_the_plateau_are_counted():
    """Half of the runs are at -60, far below half of what independent symbols have; the others above it."""
    claims = TINY.claims(rows_of(GOOD | {"PC5": -60.0}))
    assert "4 after 20 sweeps, 4 after 100 sweeps, 4 after 200 sweeps, of 8." in claims[0].note
    assert "C1 0, C5 0, PC1 0, PC5 8, B1 0, B5 0." in claims[1].note
    assert "6 of 48 had not quite reached theirs" in claims[1].note
    assert claims[5].note.startswith("1 of 8 runs of Baum-Welch reached the limit")


def test_what_was_not_run_has_no_verdict(tmp_path):
    section = TINY.tell([], tmp_path)
    assert {claim.verdict for claim in section.claims} == {UNKNOWN}
    assert (list(section.figures), list(section.tables)) == ([], [])
    some = [row for row in rows_of(GOOD) if row["sampler"] in ("C1", "PC1")]
    assert verdicts(some) == [REPRODUCED, *[UNKNOWN] * 6]
    assert len(TINY.tell(some, tmp_path).figures) == 2


def test_sweeps_can_be_changed():
    experiment = experiment_of("hmm", "paper", 2000)
    assert (experiment.n_sweeps, experiment.every, experiment.n_runs) == (2000, 40, 16)
    jobs = experiment.jobs()
    assert {job.settings["sweeps"] for job in jobs if job.settings["sampler"] != EM} == {2000}
    assert sum(job.cost for job in jobs) < sum(job.cost for job in SCALES["paper"].jobs()) / 50


def test_the_quick_scale_is_quick():
    assert sum(job.cost for job in SCALES["quick"].jobs()) < 200
