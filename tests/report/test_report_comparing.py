"""The data of reports on two models."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import state_runs
from report_runs import themed_run

import plait
from plait.answers import match_topics
from plait.errors import PlaitError
from plait.evaluate.timeconc import entropy, yearly_topics
from plait.report import write_report
from plait.report.comparing import comparison_pages
from plait.report.packing import unpack


def main_of(first, second, tmp_path):
    names = ("first", "second")
    (page,) = comparison_pages(first, second, title="Both", titles=names, path=tmp_path / "a.html", n_jobs=1)
    return page.blocks["main"]


@pytest.fixture(scope="module")
def other():
    """Return a run with fewer topics, on documents of which some words are unknown to the other."""
    run = themed_run(n_sweeps=60, seed=5)
    corpus = run.model.corpus
    tokens = [
        [corpus.vocabulary[w] for w in corpus.words[a:b] if corpus.vocabulary[w] != "orchard"] + ["new"]
        for a, b in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True)
    ]
    own = plait.Corpus.from_tokens(tokens, names=corpus.names, dates=corpus.dates)
    return plait.sample(plait.LdaModel(own, 3, 0.3, 0.1), n_paths=3, n_sweeps=60, seed=2, n_jobs=1)


class TestTopics:
    def test_pairs_are_those_of_the_matching(self, run, other, tmp_path):
        main = main_of(run, other, tmp_path)
        matched = match_topics(run, other)
        assert main["pairs"]["first"].tolist() == matched.first.tolist()
        assert main["pairs"]["second"].tolist() == matched.second.tolist()
        assert main["pairs"]["similarities"] == pytest.approx(matched.matched, rel=1e-3)
        assert [own.tolist() for own in main["only"]] == [list(matched.only_first), []]
        left = matched.only_first[0]
        assert main["nearest"][0]["number"].tolist() == [int(matched.similarities[left].argmax())]

    def test_vocabularies_may_differ(self, run, other, tmp_path):
        main = main_of(run, other, tmp_path)
        words = set(run.model.corpus.vocabulary)
        assert main["vocabularies"] == [len(words), len(words)]
        assert main["shared_words"] == len(words) - 1

    def test_one_path_is_compared_with_one_path(self, run, tmp_path):
        single = themed_run(n_paths=1, n_sweeps=20)
        main = main_of(run, single, tmp_path)
        assert main["certainty_of"] == "assignments"
        assert all(own["mean_certainty"] < 1 for own in main["models"])
        assert main_of(run, run, tmp_path)["certainty_of"] == "paths"

    def test_a_topic_of_few_years_has_a_small_spread(self, run, tmp_path):
        own = main_of(run, run, tmp_path)["models"][0]["years"]
        weights = np.mean([yearly_topics(run.model.corpus, path, 4).weights for path in run.paths], axis=0)
        assert own["spread"] == pytest.approx(np.exp(entropy(weights.T)), rel=1e-3)
        assert own["first"] == 1900
        assert len(own["shortest"]) == 4


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    first = state_runs.gaussian_run(folder / "a.plait", restarts=4)
    second = state_runs.gaussian_run(folder / "b.plait", restarts=4, seed=9)
    # The same states, whose numbers a user has turned around.
    emissions = plait.GaussianEmissions(state_runs.numbers(), 4)
    return first, replace(second, numbered=True), state_runs.fitted(emissions, folder / "c.plait")


class TestStates:
    def test_the_same_states_are_matched_whatever_their_numbers(self, runs, tmp_path):
        main = main_of(runs[0], runs[1], tmp_path)
        means = [own["tables"][0]["values"] for own in main["models"]]
        first, second = main["pairs"]["first"], main["pairs"]["second"]
        assert means[0][first] == pytest.approx(means[1][second], abs=0.05)
        assert first.tolist() != second.tolist()
        assert main["agreement"] > 0.98
        assert main["same_data"]

    def test_what_only_one_has_is_named_with_what_is_most_like_it(self, runs, tmp_path):
        main = main_of(runs[0], runs[2], tmp_path)
        assert [len(own) for own in main["only"]] == [0, 1]
        assert main["confusion"].sum() == pytest.approx(1, abs=1e-3)
        alone, nearest = int(main["only"][1][0]), int(main["nearest"][1]["number"][0])
        overlap = main["confusion"][:, alone]
        assert nearest == int(overlap.argmax()) or overlap.max() == 0

    def test_likelihoods_are_of_the_data_of_the_first(self, runs, tmp_path):
        main = main_of(runs[0], runs[2], tmp_path)
        n = runs[0].model.n_sites
        assert main["log_likelihoods"][0] * n == pytest.approx(max(runs[0].fit.scores), rel=1e-6)

    def test_models_of_other_observations_are_refused(self, runs, tmp_path):
        own = state_runs.fitted(
            plait.CategoricalEmissions(state_runs.symbols(None), 2), tmp_path / "d.plait", restarts=1
        )
        with pytest.raises(PlaitError, match="one model has 2 features, the other symbols"):
            main_of(runs[0], own, tmp_path)


def test_a_file_for_two_models_bears_their_names(run, other, tmp_path):
    run.save(tmp_path / "letters.plait")
    (tmp_path / "b").mkdir()
    other.save(tmp_path / "b" / "letters.plait")
    path = write_report(
        tmp_path / "letters.plait", tmp_path / "a.html", other=tmp_path / "b" / "letters.plait"
    )
    text = path.read_text("utf-8")
    assert "<title>letters (A) and letters (B)</title>" in text
    main = unpack(re.search(r'id="data-main">([^<]*)<', text)[1])
    assert [own["title"] for own in main["models"]] == ["letters (A)", "letters (B)"]
    assert run.report(tmp_path / "c.html", other=other).exists()


def test_models_of_different_kinds_are_refused(run, tmp_path):
    with pytest.raises(PlaitError, match="'lda' and 'mixture' cannot be compared"):
        write_report(run, tmp_path / "a.html", other=state_runs.mixture_run())
    assert not list(tmp_path.iterdir())
