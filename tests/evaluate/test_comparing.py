"""Comparisons at equal sweeps and equal time: fair, reproducible, and plain about what they cannot tell."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import plait
from plait.datasets import bands
from plait.errors import PlaitError
from plait.evaluate import plots
from plait.evaluate.comparing import (
    Contestant,
    _plan_of,
    check_contestants,
    compare,
    describe_standing,
    plan_at_cost,
)
from plait.evaluate.fit_groups import Difference, FitGroup
from plait.evaluate.fits import FitScores, path_sweeps
from plait.evaluate.heldout import HeldOut
from plait.plans import Plan, Stage
from plait.topic_fits import topic_plan

CORPUS = bands(60, seed=1, document_length=20).corpus
FAST = {"n_topics": 4, "n_sweeps": 24, "n_seeds": 2, "n_jobs": 1}


def without_seconds(result):
    rows = json.loads(json.dumps(result.rows()))
    for row in rows:
        for entry in (row, *row["fits"]):
            del entry["seconds"]
    return rows


@pytest.fixture(scope="module")
def result():
    return compare(CORPUS, [1, "2", "3x1", "optimum"], **FAST)


def test_contestants_are_read():
    assert check_contestants([5, "1", "5x1", "prediction", "3xoptimum"]) == (
        Contestant("5", 5),
        Contestant("1", 1),
        Contestant("5x1", 1, 5),
        Contestant("prediction", "prediction"),
        Contestant("3xoptimum", "optimum", 3),
    )


def test_contestants_may_have_names_and_plans_of_their_own():
    mine = Plan([Stage("collapsed", 2, 10)])
    assert check_contestants({"mine": mine, "five": 5, "restarts": "5x1"}) == (
        Contestant("mine", mine),
        Contestant("five", 5),
        Contestant("restarts", 1, 5),
    )
    found = compare(CORPUS, {"mine": mine, "one": 1}, **FAST)
    assert [group.name for group in found.groups] == ["mine", "one"]
    assert [fit.n_path_sweeps for group in found.groups for fit in group.fits] == [24] * 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"": 1, "b": 2}, r"names that are strings and not empty, got ''"),
        ({1: 1, "b": 2}, "names that are strings and not empty, got 1"),
        ({"a": 1}, "at least two, got 1"),
        ({"a": 1, "b": "fast"}, "must be plans .* got 'fast'"),
        ([Plan([Stage("collapsed", 1, 2)]), 1], r"give plans names, as in \{'mine': Plan\(\.\.\.\)"),
    ],
)
def test_wrong_names_of_contestants_are_refused(wrong, message):
    with pytest.raises(PlaitError, match=message):
        check_contestants(wrong)


@pytest.mark.parametrize(
    "wrong", ["0", "x1", "5x", "0x1", "5x0", "fast", "", True, 2.5, None, "1001x1", "-1"]
)
def test_a_wrong_contestant_is_named(wrong):
    with pytest.raises(
        PlaitError, match=r"contestants must be plans .*'prediction'.* such as 5x1, got"
    ) as error:
        check_contestants([1, wrong])
    assert repr(wrong) in str(error.value)


def test_lists_that_compare_nothing_are_refused():
    for wrong, message in (("5", "a list"), ([1], "at least two, got 1"), ([1, "1"], "duplicates, got '1'")):
        with pytest.raises(PlaitError, match=message):
            check_contestants(wrong)


@pytest.mark.parametrize("budget", [24, 100, 1001])
@pytest.mark.parametrize("name", ["1", "5", "prediction", "posterior", "3x2"])
def test_all_contestants_have_the_same_number_of_sweeps_times_paths(name, budget):
    (contestant, _) = check_contestants([name, "9"])
    plan = _plan_of(contestant, "collapsed", budget, learns=True)
    made = contestant.n_restarts * path_sweeps(plan)
    assert budget - 5 - contestant.n_restarts * 2 <= made <= budget


def test_the_longest_plan_within_a_budget_is_found():
    def make(n):
        return topic_plan(4, "collapsed", n, learns=False)

    assert plan_at_cost(make, 11, 1).n_sweeps == 2
    assert plan_at_cost(make, 12, 1).n_sweeps == 3
    assert plan_at_cost(make, 3, 1) is None


def test_repeated_comparisons_have_the_same_bits(result):
    assert without_seconds(compare(CORPUS, [1, "2", "3x1", "optimum"], **FAST | {"n_jobs": 2})) == (
        without_seconds(result)
    )
    again = compare(CORPUS, [1, "2", "3x1", "optimum"], **FAST, seed=1)
    assert without_seconds(again) != without_seconds(result)


def test_scores_are_those_of_the_library(result):
    for row, group in zip(result.rows(), result.groups, strict=True):
        fits = group.fits
        stable = plait.evaluate.stability([fit.topics.astype(float) for fit in fits])
        assert row["stability"] == pytest.approx(stable.cosine, rel=1e-6)
        assert row["stability_unrelated"] == pytest.approx(stable.unrelated.cosine, rel=1e-6)
        values = [fit.held_out.per_token for fit in fits]
        assert row["held_out_per_token"] == pytest.approx(np.mean(values))
        assert row["held_out_spread"] == pytest.approx(np.std(values, ddof=1))
        value, error = group.held_out.difference(result.groups[0].held_out)
        assert (row["above_first"], row["above_first_error_documents"]) == (value, error)
        assert row["above_first_error"] >= error
    assert result.rows()[0]["above_first"] == 0


def test_restarts_are_different_runs_and_the_best_counts():
    one, best = compare(CORPUS, [1, "4x1"], **FAST | {"n_sweeps": 40}).groups
    assert [fit.n_sweeps for fit in best.fits] == [40, 40]
    assert not np.array_equal(best.fits[0].topics, one.fits[0].topics)
    short = compare(CORPUS, [1, 2], **FAST | {"n_sweeps": 10}).groups[0]  # the first of the four restarts
    assert best.fits[0].log_likelihood >= short.fits[0].log_likelihood
    assert best.fits[1].log_likelihood >= short.fits[1].log_likelihood
    assert any(a.log_likelihood > b.log_likelihood for a, b in zip(best.fits, short.fits, strict=True))


def test_seeds_are_different_runs(result):
    for group in result.groups:
        one, two = group.fits
        assert not np.array_equal(one.topics, two.topics)


def test_restarts_share_the_time(monkeypatch):
    given = []

    def sample(*args, **kwargs):
        given.append(kwargs.get("max_seconds"))
        return plait.sample(*args, **kwargs)

    monkeypatch.setattr("plait.evaluate.fits.sample", sample)
    compare(CORPUS, [1, "4x1"], n_topics=4, max_seconds=0.04, n_seeds=1, n_jobs=1)
    assert [seconds for seconds in given if seconds is not None] == [0.04, *[0.01] * 4]
    assert given[0] is None  # kernels are compiled or loaded before the clock starts


def test_at_equal_time_all_contestants_take_it():
    found = compare(CORPUS, [1, "2x1", "optimum"], n_topics=4, max_seconds=0.3, n_seeds=1, n_jobs=1)
    for row in found.rows():
        assert 0.3 <= row["seconds"] < 1.5
        assert row["stability"] is None
    assert found.settings["time"] == 0.3
    assert any("one seed each" in line for line in found.explain())


def group(name, seeds):
    """Return a group whose fits have these scores of three documents, of ten tokens each."""
    fits = [
        FitScores(
            np.ones((2, 3), np.float32) / 3,
            HeldOut("completion", np.array(s), np.full(3, 10)),
            0,
            0,
            0,
            1,
            1,
            1,
        )
        for s in seeds
    ]
    return FitGroup(name, tuple(fits), None)


def test_errors_cover_documents_and_seeds():
    one = group("one", [[-50.0, -60.0, -70.0], [-53.0, -63.0, -73.0]])
    two = group("two", [[-55.0, -65.0, -75.0], [-55.0, -65.0, -75.0]])
    difference = one.difference(two)
    assert difference.value == pytest.approx(0.35)
    assert difference.error_documents == pytest.approx(0)  # the same for every document
    spread = np.std([-6.0, -6.3], ddof=1)
    assert difference.error == pytest.approx(spread / math.sqrt(2))
    assert one.difference(one) == (0, 0, 0)
    assert group("x", [[-50.0, -60.0, -75.0]]).difference(group("y", [[-50.0] * 3])).error > 0


def test_what_cannot_be_told_apart_is_said():
    close, far = Difference(0.01, 0.005, 0.006), Difference(0.03, 0.005, 0.006)
    assert describe_standing("5", -6.0, [("1", close), ("5x1", far), ("2", close)]) == [
        "Best on held-out documents: 5, with -6.0000 per token.",
        "Cannot be told apart from it: 1 (0.0100 lower, standard error 0.0060) and"
        " 2 (0.0100 lower, standard error 0.0060).",
        "Worse by more than two standard errors: 5x1 (0.0300 lower, standard error 0.0060).",
    ]
    assert describe_standing("5", -6.0, [("1", far)])[1:] == [
        "All others are worse by more than two standard errors."
    ]
    unknown = Difference(0.5, math.nan, math.nan)
    assert "Cannot be told apart from it: 1" in describe_standing("5", -6.0, [("1", unknown)])[1]


def test_results_are_written(result, tmp_path):
    files = result.save(tmp_path)
    assert [path.name for path in files] == ["compare.json", "compare.csv", "compare.png", "compare.svg"]
    found = json.loads(files[0].read_text())
    assert found["rows"] == result.rows()
    assert found["best"] == result.best.name
    assert found["explanation"] == result.explain()
    lines = files[1].read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("contestant,seeds,held_out_per_token,")
    assert "fits" not in lines[0]
    assert files[2].stat().st_size > 5000


def test_without_matplotlib_there_is_no_figure(result, tmp_path, monkeypatch):
    monkeypatch.setattr(plots, "has_matplotlib", lambda: False)
    assert [path.suffix for path in result.save(tmp_path)] == [".json", ".csv"]


def test_json_of_one_seed_has_no_nan(tmp_path):
    found = compare(CORPUS, [1, 2], **FAST | {"n_seeds": 1})
    rows = json.loads(found.save(tmp_path)[0].read_text())["rows"]
    assert rows[0]["held_out_spread"] is None
    assert rows[0]["stability"] is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_topics": 1}, "n_topics must be a whole number from 2"),
        ({"n_seeds": 0}, "n_seeds must be a whole number of at least 1, got 0"),
        ({"n_sweeps": 0}, "n_sweeps must be a whole number of at least 1, got 0"),
        ({"n_sweeps": 2}, "n_sweeps must be enough for one sweep in each stage of posterior, got 2"),
        ({"max_seconds": 1}, "give max_seconds or n_sweeps, not both"),
        ({"n_sweeps": None, "max_seconds": 0}, "max_seconds must be a time above 0, got 0"),
        ({"held_out_share": 2}, "held_out_share must be a number above 0 and below 1, got 2"),
        ({"alpha": 0}, "alpha must be a number from"),
        ({"alpha": "x"}, "alpha must be a number"),
        ({"method": "fast"}, "method must be one of"),
        ({"top": 1}, "top must be a whole number of at least 2, got 1"),
        ({"top": 1000}, "top must be a whole number from 2 to 100, got 1000"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_wrong_settings_are_refused_before_the_first_fit(wrong, message, monkeypatch):
    monkeypatch.setattr("plait.evaluate.fits.sample", lambda *args, **kwargs: pytest.fail("a fit was made"))
    with pytest.raises(PlaitError, match=message):
        compare(CORPUS, [1, "posterior"], **FAST | wrong)


def test_a_corpus_is_asked_for():
    with pytest.raises(PlaitError, match="corpus must be a Corpus"):
        compare([["a", "b"]], [1, 2])
