"""The State of the Union experiment on a few years, and its verdicts on made-up rows."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from plait.paper import sotu_figures
from plait.paper.findings import NOT, PARTLY, REPRODUCED
from plait.paper.sotu import SCALES, spread_in_years, variations
from plait.paper.sotu_findings import skewness, weighted_median
from plait.paper.work import JobContext, Stopped, collect, run_jobs

PICTURES = ("sotu-topic", "sotu-buckets", "sotu-lengths", "sotu-weights", "sotu-course")
N_YEARS, N_TOPICS = 224, 50


# ---------------------------------------------------------------------------------------------------------
# The experiment
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run the tiny scale; return the folder, the rows and the report."""
    folder = tmp_path_factory.mktemp("sotu")
    experiment = SCALES["tiny"]
    run_jobs(experiment.jobs(), folder, n_jobs=2, quiet=True)
    rows = collect(experiment.jobs(), folder)
    return folder, rows, experiment.report(rows, folder)


def test_rows_are_complete_and_consistent(finished):
    _, rows, _ = finished
    assert [(row["sampler"], row["seed"]) for row in rows] == [
        ("collapsed", 0),
        ("collapsed", 1),
        ("partially collapsed", 0),
    ]
    for row in rows:
        assert row["years"] == [1990, 2013]
        assert row["empty_years"] == [1993, 2001, 2009]
        assert len(json.dumps(row)) < 2e6
        for name in ("lda", "multipath"):
            entropies = np.array(row[f"{name}_entropies"], float)
            assert np.flatnonzero(np.isnan(entropies)).tolist() == [3, 11, 19]
            assert np.nanmax(entropies) <= np.log(20)
            lengths = np.array(row[f"{name}_lengths"]).reshape(-1, 20)
            np.testing.assert_allclose(lengths.sum(axis=1), 24, atol=0.2)  # rounded to 0.01
            assert len(lengths) == len(row[f"{name}_weights"]) == 20
            assert sum(row[f"{name}_weights"]) == pytest.approx(21, abs=1e-3)
            assert len(row[f"{name}_topic"]) == 24
            assert len(row[f"{name}_words"]) == 9
            assert row[f"{name}_course"][-1][0] == 20
            assert row[f"{name}_course"][-1][1] == pytest.approx(np.nanmean(entropies), abs=1e-4)
        assert row["lda_unanimous"] == 1.0
        assert 0 < row["multipath_unanimous"] < 1


def test_the_report_has_all_claims_figures_and_tables(finished):
    folder, rows, section = finished
    assert len(section.claims) == 10
    assert tuple(figure.name for figure in section.figures) == PICTURES
    for name in PICTURES:
        assert (folder / f"{name}.svg").stat().st_size > 1000
        assert 5000 < (folder / f"{name}.png").stat().st_size < 300_000
    assert len(section.tables[0].rows) == 6
    assert all(len(row) == len(table.heads) for table in section.tables for row in table.rows)
    assert section.seconds == pytest.approx(sum(row["seconds"] for row in rows))
    assert "1990 to 2013" in section.setting
    assert any("1773 and 51172" in text for text in section.differences)


def test_a_stopped_job_ends_with_the_result_of_an_uninterrupted_one(finished, tmp_path):
    rows = finished[1]
    job = SCALES["tiny"].jobs()[0]
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        job.work(JobContext(job, tmp_path, stop))
    context = JobContext(job, tmp_path, threading.Event())
    result = json.loads(json.dumps(job.work(context)))
    assert {name: rows[0][name] for name in result} == result
    assert context.share == pytest.approx(0.98)


def test_no_rows_give_an_empty_report(tmp_path):
    section = SCALES["tiny"].report([], tmp_path)
    assert section.claims == ()
    assert section.seconds == 0


def test_scales_have_the_sizes_and_costs_they_promise():
    paper = SCALES["paper"]
    assert (paper.n_topics, paper.n_paths, paper.n_sweeps, paper.first_year) == (500, 5, 2000, 1790)
    assert paper.alpha == pytest.approx(0.02)
    assert len({job.key for job in paper.jobs()}) == 7
    assert paper.with_sweeps(3).jobs()[0].settings["sweeps"] == 3
    for scale, seconds in {"quick": 300, "paper": 4 * 3600}.items():
        assert sum(job.cost for job in SCALES[scale].jobs()) < seconds


def test_measures_agree_with_their_definitions():
    assert weighted_median([3.0, 1.0, 2.0], [1.0, 1.0, 1.0]) == 2.0
    assert weighted_median([3.0, 1.0, 2.0], [5.0, 1.0, 1.0]) == 3.0
    assert skewness([1.0, 2.0, 3.0]) == 0.0
    assert skewness([1.0, 1.0, 1.0, 5.0]) > 1
    spread = spread_in_years(np.array([[1.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(spread, [3.0, 1.0, np.nan])
    first, second = (np.random.default_rng(k).dirichlet(np.ones(1300), size=n) for k, n in ((0, 3), (1, 4)))
    expected = np.abs(first[:, None] - second[None]).sum(axis=2) / 2.0
    np.testing.assert_allclose(variations(first, second), expected, atol=1e-6)


# ---------------------------------------------------------------------------------------------------------
# Verdicts
# ---------------------------------------------------------------------------------------------------------

CLAIMS = (
    "topic",
    "typical",
    "entropies",
    "every year",
    "time",
    "centre",
    "short",
    "weighted",
    "weights",
    "agreement",
)


def model_rows(name: str, concentration: float, seed: int) -> dict:
    """Make up the measurements of a model; a larger `concentration` means more concentrated topics."""
    rng = np.random.default_rng(seed)
    entropies: list = (5.0 - concentration + 0.01 * rng.random(N_YEARS)).tolist()
    entropies[143] = None
    lengths = rng.gamma(100.0 / (1.0 + 100.0 * concentration), size=(N_TOPICS, 20))
    lengths *= N_YEARS / lengths.sum(axis=1, keepdims=True)
    years = np.arange(N_YEARS)
    width = 20.0 / (1.0 + concentration)
    topic = 0.01 * (1.0 + concentration) ** 2 * np.exp(-((years - 180) ** 2) / (2 * width**2))
    topic[143] = 0.0
    return {
        f"{name}_entropies": entropies,
        f"{name}_lengths": lengths.ravel().tolist(),
        f"{name}_shuffled_lengths": rng.gamma(100.0, 0.112, size=lengths.size).tolist(),
        f"{name}_shuffled_entropy": 5.1,
        f"{name}_weights": np.linspace(2.0, 6.0, N_TOPICS).tolist(),
        f"{name}_topic": topic.tolist(),
        f"{name}_spread": width,
        f"{name}_words": ["word"] * 9,
        f"{name}_unanimous": 0.7,
        f"{name}_agreement": 0.9,
        f"{name}_fit": -6.0,
        f"{name}_course": [[50, 5.2], [100, 5.0]],
    }


def made_up(lda: float = 0.0, multipath: float = 0.5, **changes: object) -> list[dict]:
    """Make up rows for two seeds."""
    return [
        {
            "sampler": "collapsed",
            "seed": seed,
            "topics": N_TOPICS,
            "paths": 5,
            "sweeps": 100,
            "documents": 10,
            "tokens": 100,
            "words": 20,
            "years": [1790, 2013],
            "empty_years": [1933],
            "distance": 0.4,
            "concentrated": 0.8,
            "concentrated_back": 0.7,
            "timed": 0.6,
            "timed_back": 0.55,
            "seconds": 1.0,
            **model_rows("lda", lda, seed),
            **model_rows("multipath", multipath, seed + 10),
            **changes,
        }
        for seed in (0, 1)
    ]


@pytest.fixture
def verdicts(tmp_path, monkeypatch):
    """Return a function from rows to verdicts by claim, which draws nothing."""
    for name in ("topic", "buckets", "lengths", "weights", "course"):
        monkeypatch.setattr(sotu_figures, f"_draw_{name}", lambda rows, folder: None)

    def judge(rows):
        claims = SCALES["quick"].report(rows, tmp_path).claims
        return dict(zip(CLAIMS, (claim.verdict for claim in claims), strict=True))

    return judge


def test_rows_like_the_paper_reproduce_all_claims(verdicts):
    assert set(verdicts(made_up()).values()) == {REPRODUCED}


def test_the_opposite_of_the_claims_is_not_reproduced(verdicts):
    found = verdicts(made_up(lda=0.5, multipath=0.0))
    for claim in ("topic", "entropies", "every year", "centre", "short"):
        assert found[claim] == NOT, claim
    assert found["weighted"] == REPRODUCED  # weighting still changes nothing


def test_claims_about_most_topics_and_tokens_need_more_than_half(verdicts):
    found = verdicts(made_up(concentrated=0.4, concentrated_back=0.6, multipath_unanimous=0.3))
    assert (found["typical"], found["agreement"]) == (PARTLY, NOT)


def test_a_difference_that_remains_with_shuffled_years_is_not_one_of_time(verdicts):
    assert verdicts(made_up(multipath_shuffled_entropy=4.0))["time"] == PARTLY
    higher = made_up(
        lda=0.5, multipath=0.4, lda_shuffled_entropy=4.0
    )  # higher, but by less than with shuffled years
    assert verdicts(higher)["time"] == PARTLY
    assert verdicts(made_up(multipath_shuffled_entropy=4.0, timed=0.4, timed_back=0.3))["time"] == NOT


def test_one_year_of_higher_entropy_contradicts_every_year(verdicts):
    rows = made_up()
    for row in rows:
        row["multipath_entropies"][7] = 9.0
    assert verdicts(rows)["every year"] == PARTLY


def test_overlapping_runs_do_not_count_as_lower(verdicts):
    rows = made_up(multipath=0.05)
    rows[1]["multipath_entropies"] = [None if x is None else x + 0.1 for x in rows[1]["multipath_entropies"]]
    found = verdicts(rows)
    assert (found["entropies"], found["every year"]) == (NOT, NOT)


def test_a_dominant_topic_changes_the_verdict_on_weights(verdicts):
    weights = [100.0] + [1.0] * (N_TOPICS - 1)
    assert verdicts(made_up(multipath_weights=weights))["weights"] == NOT


def test_weights_that_change_the_histogram_change_the_verdict(verdicts):
    rows = made_up()
    for row in rows:  # the heaviest topics have the shortest and the longest buckets
        lengths = np.array(row["multipath_lengths"]).reshape(N_TOPICS, 20)
        lengths[-10:] = [0.5] * 19 + [214.5]
        row["multipath_lengths"] = lengths.ravel().tolist()
    assert verdicts(rows)["weighted"] == NOT
