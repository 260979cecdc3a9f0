"""Similar documents and similar topics."""

from __future__ import annotations

import numpy as np
import pytest
from given_paths import run_with

from plait.answers import similar, similar_topics
from plait.data.corpus import Corpus
from plait.data.text import TextRecipe
from plait.errors import PlaitError
from plait.inference.fitted import doc_topic, fitted_topics


@pytest.fixture(scope="module")
def run():
    corpus = Corpus.from_texts(
        ["tax tax war", "war war tax", "war war war", "", "tax tax war"],
        recipe=TextRecipe(language="en"),
        names=["a", "b", "c", "d", "e"],
        dates=["1861", "1862", "1863", "1864", "1865"],
    )
    path = [1 if word == "tax" else 0 for d in range(5) for word in corpus.tokens(d)]
    return run_with(corpus, path)


def hellinger(p, q):
    return np.sqrt(((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)


def test_similar_documents_have_a_small_hellinger_distance(run):
    found = similar(run, "a")
    assert [own.name for own in found] == ["e", "b", "c"]  # neither itself nor the empty one
    theta = doc_topic(run)
    for own in found:
        assert own.similarity == pytest.approx(1 - hellinger(theta[0], theta[own.document]), abs=1e-7)
    assert found[0].similarity == pytest.approx(1.0, abs=1e-7)
    assert (found[0].topic, found[2].topic) == (1, 0)
    assert found[1].date == "1862"
    assert similar(run, 0, n=1) == found[:1]


def test_a_text_is_compared_by_its_inferred_topics(run):
    found = similar(run, text="The war, a war and the war!", n=2)
    assert found[0].name == "c"
    assert found[0].similarity > found[1].similarity


def test_similar_topics_have_a_small_hellinger_distance():
    corpus = Corpus.from_tokens([["a", "b"] * 4, ["a", "b"] * 3, ["c", "d"] * 4])
    run = run_with(corpus, [0] * 8 + [1] * 6 + [2] * 8, n_topics=3)
    phi = fitted_topics(run).topic_word
    found = similar_topics(run, 0)
    assert [own.topic for own in found] == [1, 2]
    for own in found:
        assert own.similarity == pytest.approx(1 - hellinger(phi[0], phi[own.topic]), abs=1e-7)


def test_what_cannot_be_compared_is_refused(run):
    with pytest.raises(PlaitError, match="document 3 has no words that the model knows"):
        similar(run, "d")
    with pytest.raises(PlaitError, match="give either document or text"):
        similar(run)
    with (
        pytest.warns(UserWarning, match="dropped"),
        pytest.raises(PlaitError, match="'unknown' has no words that the model knows"),
    ):
        similar(run, text="unknown")
