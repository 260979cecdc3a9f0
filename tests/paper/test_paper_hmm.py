"""The hidden Markov model experiment at a tiny scale, and its verdicts on made-up rows."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from plait.em import maximise
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalParameters
from plait.paper.findings import NOT, PARTLY, REPRODUCED, UNKNOWN
from plait.paper.hard import EM, SAMPLERS, emission_distance, hard_data, matched
from plait.paper.hmm import SCALES
from plait.paper.reproduce import experiment_of
from plait.paper.work import JobContext, Stopped, collect, run_jobs
from plait.rng import INITIAL, Key
from plait.threads import Threads

TINY = SCALES["tiny"]
THREADS = Threads(1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run the tiny scale; return the folder, the jobs and their rows."""
    folder = tmp_path_factory.mktemp("hmm")
    jobs = TINY.jobs()
    run_jobs(jobs, folder, n_jobs=2, quiet=True)
    return folder, jobs, collect(jobs, folder)


def test_tiny_scale_gives_consistent_rows_and_a_full_report(finished):
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
    section = TINY.report(rows, folder)
    assert [figure.name for figure in section.figures] == ["hmm-course", "hmm-final", "hmm-emissions"]
    for figure in section.figures:
        for suffix in ("png", "svg"):
            assert 0 < (folder / f"{figure.name}.{suffix}").stat().st_size < 300_000
    assert all(claim.verdict in (REPRODUCED, PARTLY, NOT) for claim in section.claims)
    assert [row[0] for row in section.tables[0].rows] == [*SAMPLERS, EM]
    assert len(section.tables[1].rows[0]) == 1 + TINY.n_runs


@pytest.mark.parametrize("sampler", ["C5", "PC1", EM])
def test_a_stopped_job_ends_with_the_result_of_an_uninterrupted_one(sampler, finished, tmp_path):
    _, jobs, rows = finished
    job, row = next((job, row) for job, row in zip(jobs, rows, strict=True) if row["sampler"] == sampler)
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        job.work(JobContext(job, tmp_path, stop))
    stop.clear()
    assert dict(job.settings) | job.work(JobContext(job, tmp_path, stop)) | {"seconds": row["seconds"]} == row


def test_baum_welch_starts_where_the_samplers_do(finished):
    _, _, rows = finished
    data = hard_data(TINY.n_sites, TINY.switch)
    start = data.blocked.first_parameters(Key(1, INITIAL))
    row = next(row for row in rows if row["sampler"] == EM and row["seed"] == 1)
    end = maximise(data.blocked, start, row["made"], lambda _: False, THREADS)
    assert row["above_truth"] == pytest.approx(data.above_truth(end), abs=1e-6)


def test_likelihoods_are_relative_to_the_truth_and_to_independent_symbols():
    data = hard_data(TINY.n_sites, TINY.switch)
    assert data.above_truth(data.truth) == 0
    symbols = np.bincount(data.blocked.sequences.values, minlength=10) / TINY.n_sites
    independent = HmmParameters(
        data.truth.start, data.truth.transitions, CategoricalParameters(np.stack([symbols] * 2))
    )
    assert data.independent == pytest.approx(data.above_truth(independent), abs=1e-6)


def test_emission_distance_matches_the_states():
    truth = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    assert emission_distance(truth[::-1], truth) == 0
    assert list(matched(truth[::-1], truth)) == [1, 0]
    assert emission_distance(np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]), truth) == pytest.approx(0.2)


GOOD = {"C1": 4.0, "C5": 12.0, "PC1": 4.2, "PC5": 11.0, "B1": 5.0, "B5": 11.5, EM: 11.9}
"""Likelihoods at the end of the runs if all claims hold; each run is a little lower than the one before."""

AFTER_EM: dict = {"C1": 6.0, "C5": 13.0, "PC1": 6.0, "PC5": 13.0, "B1": 6.0, "B5": 13.0, EM: 11.9}
"""Likelihoods after EM."""


def rows_of(final, *, levels=(0.0, -60.0), drift=0.0, emissions=None, after_em=AFTER_EM):
    """Return rows of eight runs of each sampler, which fluctuate around `levels` in turn and drift away."""
    data = hard_data(TINY.n_sites, TINY.switch)
    emissions = data.emissions if emissions is None else emissions
    rows = []
    for sampler, value in final.items():
        for seed in range(8):
            row = {"sampler": sampler, "seed": seed, "above_truth": value - 0.1 * seed, "seconds": 1.0}
            row |= {"emissions": np.asarray(emissions).tolist()}
            wave = [[10 * k, levels[seed % len(levels)] + drift * k + (-1) ** k] for k in range(1, 21)]
            own = {} if sampler == EM else {"course": wave}
            rows.append(row | own | {"polished": after_em[sampler], "made": 5 + seed, "iterations": 12})
    return rows


def verdicts(rows):
    return [claim.verdict for claim in TINY.claims(rows)]


def test_rows_like_the_paper_reproduce_all_claims():
    assert verdicts(rows_of(GOOD)) == [REPRODUCED] * 7


@pytest.mark.parametrize(
    ("rows", "claim", "expected"),
    [
        # all runs at one fixed level; levels that differ and drift; one level that drifts
        (lambda: rows_of(GOOD, levels=(0.0,)), 0, PARTLY),
        (lambda: rows_of(GOOD, drift=2.0), 0, PARTLY),
        (lambda: rows_of(GOOD, levels=(0.0,), drift=2.0), 0, NOT),
        (lambda: rows_of(GOOD, levels=(0.0,) * 7 + (-60.0,)), 0, PARTLY),  # one straggler
        # five paths are no better; they are better, but find the same maxima
        (lambda: rows_of(dict.fromkeys(GOOD, 5.0), after_em=dict.fromkeys(GOOD, 9.0)), 1, NOT),
        (lambda: rows_of(GOOD | {"PC1": 12.0, "PC5": 4.0}), 1, PARTLY),
        (lambda: rows_of(GOOD, after_em=dict.fromkeys(GOOD, 13.0)), 1, PARTLY),
        (lambda: rows_of(GOOD | {"C5": 4.0, "PC5": 3.0}), 2, NOT),
        (lambda: rows_of(GOOD | {"PC5": 3.0}), 2, PARTLY),
        (lambda: rows_of(GOOD | {"PC5": 16.0}), 3, NOT),
        (lambda: rows_of(GOOD | {"C5": 5.0, "PC5": 4.0, EM: 13.0}), 3, PARTLY),  # none comes near
        (lambda: rows_of(GOOD | {"PC1": 9.0}), 4, NOT),
        # below the truth; far above it
        (lambda: rows_of({name: value - 40 for name, value in GOOD.items()}), 5, NOT),
        (lambda: rows_of(GOOD | {EM: 50.0}), 5, PARTLY),
        # two equal states
        (lambda: rows_of(GOOD, emissions=np.full((2, 10), 0.1)), 6, NOT),
    ],
)
def test_verdicts_follow_the_rows(rows, claim, expected):
    found = TINY.claims(rows())[claim]
    assert found.verdict == expected, found


def test_runs_on_the_plateau_are_counted():
    """Half of the runs are at -60, nearer to independent symbols than to the truth; the others are not."""
    claims = TINY.claims(rows_of(GOOD | {"PC5": -60.0}))
    assert "4 after 20 sweeps, 4 after 100 sweeps, 4 after 200 sweeps, of 8." in claims[0].note
    assert "C1 0, C5 0, PC1 0, PC5 8, B1 0, B5 0." in claims[1].note
    assert "6 of 48 had not quite reached theirs" in claims[1].note
    assert claims[5].note.startswith("1 of 8 runs of Baum-Welch reached the limit")


def test_claims_without_runs_have_no_verdict(tmp_path):
    section = TINY.report([], tmp_path)
    assert {claim.verdict for claim in section.claims} == {UNKNOWN}
    assert (list(section.figures), list(section.tables)) == ([], [])
    some = [row for row in rows_of(GOOD) if row["sampler"] in ("C1", "PC1")]
    assert verdicts(some) == [REPRODUCED, *[UNKNOWN] * 6]
    assert len(TINY.report(some, tmp_path).figures) == 2


def test_another_number_of_sweeps_changes_all_jobs():
    experiment = experiment_of("hmm", "paper", 2000)
    assert (experiment.n_sweeps, experiment.every, experiment.n_runs) == (2000, 40, 16)
    jobs = experiment.jobs()
    assert {job.settings["sweeps"] for job in jobs if job.settings["sampler"] != EM} == {2000}
    assert sum(job.cost for job in jobs) < sum(job.cost for job in SCALES["paper"].jobs()) / 50


def test_the_quick_scale_takes_minutes():
    assert sum(job.cost for job in SCALES["quick"].jobs()) < 200
