"""The prior of seeded topics: which words it raises, by how much, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.data.text import TextRecipe
from plait.errors import PlaitError, PlaitWarning
from plait.models.seeds import SEED_WEIGHT, seeded_prior

TEXTS = [
    "Taxes and revenues: taxes on income are taxing.",
    "The army marches, and the armies fight the war.",
    "Taxes pay for the army, and the war raises taxes.",
]


@pytest.fixture(scope="module")
def corpus():
    return Corpus.from_texts(TEXTS, recipe=TextRecipe(stem="english"))


def count(corpus, word):
    return int(np.sum(corpus.words == corpus.vocabulary.index(word)))


def test_seed_words_get_counts_in_proportion_to_their_frequency(corpus):
    seeds = {"tax": ["tax", "income"], "war": ["war"]}
    prior = seeded_prior(corpus, 4, seeds, 0.02, 0.5, n_paths=3)
    assert prior.names == ("tax", "war")
    assert prior.base == 0.02
    expected = np.zeros((4, corpus.n_words))
    for t, word in ((0, "tax"), (0, "incom"), (1, "war")):
        expected[t, corpus.vocabulary.index(word)] = 0.5 * 3 * count(corpus, word)
    np.testing.assert_array_equal(prior.added, expected)
    np.testing.assert_array_equal(prior.eta, 0.02 + expected)


def test_the_defaults(corpus):
    prior = seeded_prior(corpus, 2, {"war": ["war"]})
    assert prior.base == 0.01
    assert prior.added.sum() == SEED_WEIGHT * count(corpus, "war")


def test_words_are_processed_as_those_of_the_corpus(corpus):
    """Case, stems and phrases, and words that are already stems."""
    prior = seeded_prior(corpus, 2, {"a": ["TAXING", "armies"], "b": ["incom", "War of revenues"]})
    found = [[corpus.vocabulary[w] for w in np.flatnonzero(row)] for row in prior.added]
    assert found == [["armi", "tax"], ["incom", "revenu", "war"]]


def test_a_corpus_without_a_recipe_takes_words_as_they_are():
    corpus = Corpus.from_tokens([["Tax", "tax", "war"]])
    prior = seeded_prior(corpus, 2, {"a": ["Tax"]})
    assert np.flatnonzero(prior.added[0]).tolist() == [corpus.vocabulary.index("Tax")]


def test_a_word_may_belong_to_several_topics_and_counts_once_in_each(corpus):
    prior = seeded_prior(corpus, 3, {"a": ["tax", "taxes"], "b": ["tax"]}, weight=1.0)
    np.testing.assert_array_equal(prior.added[0], prior.added[1])
    assert prior.added[0].sum() == count(corpus, "tax")
    assert not prior.added[2].any()


def test_unknown_words_are_named_in_a_warning(corpus):
    with pytest.warns(PlaitWarning, match=r"\Aseed words .* are ignored: 'peace', 'the'\Z"):
        seeded_prior(corpus, 2, {"a": ["war", "peace"], "b": ["tax", "the"]})
    with pytest.warns(PlaitWarning, match="'x9' and 5 more"):
        seeded_prior(corpus, 2, {"a": ["war", *(f"x{i}" for i in range(15))]})


def test_words_of_the_vocabulary_that_never_occur_are_unknown():
    corpus = Corpus([0], [0, 1], ("a", "b"))
    with pytest.warns(PlaitWarning, match="'b'"):
        seeded_prior(corpus, 2, {"x": ["a", "b"]})


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ({"a": ["peace", "of mind"]}, r"seeds\['a'\] has no word .*, got 'peace', 'of mind': give words"),
        ({"a": ["tax"], "b": ["x"]}, r"seeds\['b'\] has no word that occurs in the corpus"),
        (
            {"a": ["tax"], "b": ["tax"], "c": ["tax"]},
            "seeds must be for at most 2 topics, got 3: raise n_topics",
        ),
        ({}, "seeds must have at least one topic"),
        ([["tax"]], "seeds must be a mapping of names of topics to words, got"),
        ("tax", "seeds must be a mapping"),
        ({"a": "tax"}, r"seeds\['a'\] must be a sequence of strings, got 'tax'"),
        ({"a": []}, r"seeds\['a'\] must have at least one word"),
        ({"a": ["tax", 3]}, r"seeds\['a'\]\[1\] must be a string, got 3"),
        ({1: ["tax"]}, r"seeds\[0\] must be a string, got 1"),
        ({" ": ["tax"]}, r"seeds\[' '\] must have a name that is not blank"),
        ({"a": ["\ud800"]}, "lone surrogates"),
        ({"a\nb": ["peace"]}, r"seeds\['a\\nb'\] has no word"),
    ],
)
def test_impossible_seeds_are_refused(corpus, seeds, message):
    with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z|\A[^\n]*{message}[^\n]*\Z") as caught:
        seeded_prior(corpus, 2, seeds)
    assert caught.value.argument == "seeds"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"weight": -1}, "seed_weight"),
        ({"weight": np.nan}, "seed_weight"),
        ({"weight": 1e9}, "seed_weight"),
        ({"weight": "1"}, "seed_weight"),
        ({"eta": -0.1}, "eta"),
        ({"eta": np.full((2, 3), 0.1)}, "eta"),
    ],
)
def test_impossible_numbers_are_refused(corpus, options, argument):
    with pytest.raises(PlaitError, match=rf"\A{argument} must be [^\n]*\Z") as caught:
        seeded_prior(corpus, 2, {"a": ["tax"]}, **options)
    assert caught.value.argument == argument


@pytest.mark.parametrize("collapsed", [False, True])
def test_seeds_decide_which_topic_gets_a_word(small_bands, collapsed):
    """Seed words go to their topics from any start, and draw the other words of their bands."""
    corpus = small_bands.corpus
    bands = [range(24, 30), range(10, 20), range(5)]
    seeds = {"last": ["27", "28"], "middle": ["14", "15"], "first": ["1", "2"]}
    for n_paths, initial in ((1, "uniform"), (4, "uniform"), (2, "progressive"), (2, "spectral")):
        prior = seeded_prior(corpus, 3, seeds, n_paths=n_paths)
        model = plait.LdaModel(corpus, 3, 0.3, prior.eta, initial=initial)
        run = plait.sample(model, n_paths=n_paths, n_sweeps=60, collapsed=collapsed, n_jobs=1)
        for t, (words, band) in enumerate(zip(seeds.values(), bands, strict=True)):
            seeded = np.isin(corpus.words, [int(word) for word in words])
            assert (run.paths[:, seeded] == t).mean() > 0.8
            if initial != "progressive":
                assert (run.paths[:, np.isin(corpus.words, band)] == t).mean() > 0.8
