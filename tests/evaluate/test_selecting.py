"""The choice of the number of topics: the rule, its words, and the fits behind it."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from plait.datasets import bands
from plait.errors import PlaitError
from plait.evaluate.selecting import Candidate, check_topic_numbers, choose, explain, select

CORPUS = bands(60, seed=1, document_length=20).corpus
FAST = {"n_sweeps": 10, "n_seeds": 2, "n_jobs": 1}


def candidate(n_topics, below=0.0, error=0.0, *, with_seeds=None, coherence=0.1, spread=0.0, stability=0.5):
    errors = error, error if with_seeds is None else with_seeds
    return Candidate(n_topics, -6.0 - below, below, *errors, coherence, spread, stability)


def test_the_smallest_number_within_one_standard_error_is_recommended():
    candidates = [
        candidate(10, 0.2, 0.01),
        candidate(20, 0.009, 0.01),
        candidate(50, 0.005, 0.01),
        candidate(100),
    ]
    assert choose(candidates).recommended == 20
    assert choose(candidates).held_out == 100
    assert choose(candidates[::-1]) == choose(candidates)
    assert choose([replace(candidates[1], error=0.0089), *candidates[2:]]).recommended == 50
    assert choose([replace(candidates[1], error=0.009), *candidates[2:]]).recommended == 20  # exactly one


def test_the_best_is_recommended_if_no_smaller_number_is_near():
    candidates = [candidate(10, 0.2, 0.01), candidate(20), candidate(50, 0.001, 0.01)]
    assert choose(candidates).recommended == choose(candidates).held_out == 20


def test_an_unknown_standard_error_makes_no_number_eligible():
    assert choose([candidate(10, 0.001, math.nan), candidate(20)]).recommended == 20


def test_words_of_criteria_that_agree():
    candidates = [
        candidate(5, 0.3, 0.01),
        candidate(10, 0.004, 0.01),
        candidate(20),
        candidate(40, 0.1, 0.01),
    ]
    assert explain(candidates, choose(candidates)) == [
        "Take 10 topics: it is the smallest number whose prediction of held-out documents (-6.0040 per token)"
        " is within one standard error (0.0100) of the best, that of 20 topics (-6.0000).",
        "Neither coherence nor stability objects.",
    ]


def test_words_of_criteria_that_disagree():
    candidates = [
        candidate(20, 0.3, 0.01, coherence=0.15, stability=0.52),
        candidate(50, 0.1, 0.01, coherence=0.12, stability=0.60),
        candidate(200, coherence=0.08, stability=0.5),
    ]
    choice = choose(candidates)
    assert choice.objections == ("coherence", "stability")
    why, advice, limit = explain(candidates, choice)
    assert why.startswith("Take 200 topics: they predict held-out documents best (-6.0000 per token)")
    assert advice == (
        "The criteria disagree: held-out prediction prefers 200 topics, but coherence prefers 20 and"
        " stability prefers 50. To predict, or as features, take 200; if people are to read the topics,"
        " look at the top words with 20 or 50 as well, and take that unless themes you need are missing."
    )
    assert limit == "It is the largest number tried, so try larger ones, too."
    both = [replace(candidates[0], stability=0.7), *candidates[1:]]
    assert "but coherence and stability prefer 20." in explain(both, choose(both))[1]


def test_small_differences_are_no_objection():
    near = [
        candidate(10, 0.2, 0.01, coherence=0.109, stability=0.54),
        candidate(20),
        candidate(40, 0.1, 0.01),
    ]
    assert choose(near).coherence == 10
    assert choose(near).objections == ()
    clear = [replace(near[0], coherence=0.12), *near[1:]]
    assert choose(clear).objections == ("coherence",)
    noisy = [replace(clear[0], coherence_error=0.03), *clear[1:]]
    assert choose(noisy).objections == ()
    assert choose([replace(near[0], stability=0.56), *near[1:]]).objections == ("stability",)


def test_one_seed_says_nothing_about_stability():
    candidates = [
        candidate(10, 0.2, 0.01, spread=math.nan, stability=None),
        candidate(20, spread=math.nan, stability=None),
        candidate(40, 0.2, 0.01, spread=math.nan, stability=None),
    ]
    choice = choose(candidates)
    assert choice.stability is None
    assert explain(candidates, choice)[1] == (
        "Coherence does not object; with one seed, nothing is known about stability."
    )


def test_seeds_that_vary_too_much_are_mentioned():
    candidates = [candidate(10, 0.015, 0.006, with_seeds=0.02), candidate(20), candidate(40, 0.1, 0.01)]
    assert (choose(candidates).recommended, choose(candidates).perhaps) == (20, 10)
    said = "Fits with different seeds vary so much that 10 topics may do as well: more seeds would tell."
    assert said in explain(candidates, choose(candidates))
    sure = [replace(candidates[0], error_with_seeds=0.01), *candidates[1:]]
    assert said not in explain(sure, choose(sure))


def test_the_smallest_number_tried_is_no_end():
    candidates = [candidate(10), candidate(20, 0.1, 0.01)]
    assert explain(candidates, choose(candidates))[-1] == (
        "It is the smallest number tried, so try smaller ones, too."
    )


def test_repeated_selections_have_the_same_bits():
    one, two = (select(CORPUS, topics, **FAST) for topics in ([3, 6], [6, 3]))
    for a, b in zip(one.groups, two.groups, strict=True):
        assert a.values("per_token") == b.values("per_token")
        assert a.values("coherence") == b.values("coherence")
        assert a.stability.cosine == b.stability.cosine
    assert one.topics == (3, 6)
    assert one.explain() == two.explain()


def test_the_choice_rests_on_paired_differences_to_the_best():
    found = select(CORPUS, [2, 10], **FAST | {"n_sweeps": 60})
    small, large = found.groups
    best = max(found.groups, key=lambda group: group.per_token)
    for own, n in zip(found.candidates(), (small, large), strict=True):
        value, error = best.held_out.difference(n.held_out)
        assert own.below_best == pytest.approx(value)
        assert own.error == pytest.approx(error)


def test_results_are_written(tmp_path):
    result = select(CORPUS, [2, 5], **FAST)
    files = result.save(tmp_path)
    assert [path.name for path in files] == ["select.json", "select.csv", "select.png", "select.svg"]
    found = json.loads(files[0].read_text())
    assert found["recommended"] == result.recommended
    assert [row["topics"] for row in found["rows"]] == [2, 5]
    assert [row["recommended"] for row in found["rows"]].count(True) == 1
    assert found["explanation"] == result.explain()


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ("10,20", "must be a list such as"),
        (10, "must be a list such as"),
        ([10], "at least two different numbers"),
        ([10, 10], "at least two different numbers"),
        ([1, 10], "whole number from 2"),
        ([2, 3.5], "whole number from 2"),
    ],
)
def test_wrong_numbers_of_topics_are_refused(topics, message):
    with pytest.raises(PlaitError, match=f"topics must be .*{message}|topics must be a {message}|{message}"):
        check_topic_numbers(topics)


def test_a_time_and_sweeps_exclude_each_other():
    with pytest.raises(PlaitError, match="give max_seconds or n_sweeps, not both"):
        select(CORPUS, [2, 3], max_seconds=1, n_sweeps=3)
