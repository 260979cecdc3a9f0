"""Words of a topic beside the corpus, topics of two models, and paths that agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from given_paths import run_with

import plait
from plait.answers import course, match_topics, state_agreement, topic_words
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.inference.fitted import fitted_topics
from plait.plans import Plan, Stage


@pytest.fixture(scope="module")
def run():
    """Return a run in which topic 0 has "a" and "b", and topic 1 "a" and "c"."""
    corpus = Corpus.from_tokens([list("aaabb"), list("acccc")], vocabulary=["a", "b", "c", "never"])
    return run_with(corpus, [0] * 5 + [1] * 5)


class TestTopicWords:
    def test_numbers_are_those_of_the_topic_and_the_corpus(self, run):
        first, second, third = topic_words(run, 0, n_jobs=1)  # not the word that the corpus does not have
        assert (first.word, second.word, third.word) == ("a", "b", "c")
        phi, shares = fitted_topics(run).topic_word, fitted_topics(run).shares
        assert first.probability == phi[0, 0]
        assert (first.corpus_share, first.corpus_tokens) == (0.4, 4)
        assert first.lift == pytest.approx(phi[0, 0] / 0.4)
        own = shares[0] * phi[0, 0]
        assert first.tokens == pytest.approx(4 * own / (own + shares[1] * phi[1, 0]))
        assert sum(topic_words(run, t)[0].tokens for t in (0,)) < 4

    def test_tokens_of_a_word_add_up_over_topics(self, run):
        own, other = ({word.stem: word.tokens for word in topic_words(run, t)} for t in (0, 1))
        assert {word: own[word] + other[word] for word in "abc"} == pytest.approx({"a": 4, "b": 2, "c": 4})

    def test_relevance_goes_from_lift_to_probability(self, run):
        assert [word.word for word in topic_words(run, 0, 2, relevance=0)] == ["b", "a"]
        assert [word.word for word in topic_words(run, 0, 2, relevance=1)] == ["a", "b"]
        with pytest.raises(PlaitError, match="relevance must be from 0 to 1, got 2"):
            topic_words(run, 0, relevance=2)


class TestMatchedTopics:
    def test_topics_in_another_order_are_found_again(self, run):
        swapped = replace(run, paths=1 - run.paths)
        found = match_topics(run, swapped, n_jobs=1)
        assert (found.second == 1 - found.first).all()
        np.testing.assert_allclose(found.matched, 1, atol=1e-7)
        assert found.only_first == found.only_second == ()

    def test_topics_that_only_one_model_has_are_left_over(self, run):
        more = run_with(run.model.corpus, [1] * 5 + [2] * 5, n_topics=3)
        found = match_topics(run, more)
        assert sorted(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [(0, 1), (1, 2)]
        assert (found.only_first, found.only_second) == ((), (0,))
        assert match_topics(more, run).only_first == (0,)
        assert (np.diff(found.matched) <= 0).all()

    def test_words_are_matched_by_what_they_are(self, run):
        corpus = Corpus.from_tokens([list("aaabb"), list("acccc")], vocabulary=["c", "b", "a", "x"])
        found = match_topics(run, run_with(corpus, [0] * 5 + [1] * 5))
        assert (found.first == found.second).all()
        phi = fitted_topics(run).topic_word[0]
        assert found.similarities[0, 0] == pytest.approx(1 - np.sqrt(phi[3]), abs=1e-6)
        alien = Corpus.from_tokens([list("xxxxx"), list("yyyyy")])
        with pytest.raises(PlaitError, match="no word in common"):
            match_topics(run, run_with(alien, [0] * 5 + [1] * 5))


class TestStateAgreement:
    def test_it_counts_pairs_of_paths(self, run):
        paths = np.random.default_rng(0).integers(2, size=(3, 10)).astype(np.uint16)
        settings = replace(run.settings, n_paths=3, stages=())
        found = state_agreement(replace(run, paths=paths, settings=settings))
        pairs = np.zeros((2, 2))
        for first, second in permutations(paths, 2):
            np.add.at(pairs, (first, second), 1)
        np.testing.assert_allclose(found, pairs / pairs.sum(axis=1, keepdims=True))

    def test_states_that_do_not_occur_are_unknown(self, run):
        settings = replace(run.settings, n_paths=2, stages=())
        found = state_agreement(replace(run, paths=np.zeros((2, 10), np.uint16), settings=settings))
        assert found[0].tolist() == [1, 0]
        assert np.isnan(found[1]).all()

    def test_states_have_the_numbers_under_which_they_are_shown(self):
        model = plait.MixtureModel(
            plait.GaussianEmissions(plait.Sequences.from_values([[0.0], [0.1], [9.0], [9.1]]), 2)
        )
        run = plait.sample(model, n_paths=2, n_sweeps=1, n_jobs=1)
        for paths in ([0, 0, 1, 1], [0, 0, 1, 0]), ([1, 1, 0, 0], [1, 1, 0, 1]):
            found = state_agreement(replace(run, paths=np.array(paths, np.uint16)))
            np.testing.assert_allclose(found, [[0.8, 0.2], [1 / 3, 2 / 3]])

    def test_one_path_cannot_agree(self, run):
        with pytest.raises(PlaitError, match="at least two paths, and the run has 1"):
            state_agreement(run)


def test_the_course_of_a_run_has_the_stages_that_it_reached(run):
    plan = Plan([Stage("collapsed", 1, 4, learn_priors=True), Stage(n_paths=(1, 3), sweeps=6, average=True)])
    made = plait.sample(run.model, n_paths=plan, thin=2, seed=1, n_jobs=1)
    found = course(made)
    assert found.sweeps.tolist() == made.trace.sweep.tolist()
    np.testing.assert_array_equal(found.mean, np.nanmean(found.paths, axis=1))
    assert [(span.first, span.last, span.label) for span in found.stages] == [
        (1, 4, "m = 1"),
        (5, 10, "m = 1 to 3"),
    ]
    assert [span.averages for span in found.stages] == [False, True]
    assert set(found.priors) == {"alpha", "eta"}
    early = replace(made, sweep=3, paths=made.paths[:1])
    assert [(span.first, span.last) for span in course(early).stages] == [(1, 3)]
