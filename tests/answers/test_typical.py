"""The documents that are most typical of a topic, and excerpts of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from given_paths import run_with

from plait.answers import documents
from plait.answers.choosing import document_number, topic_number
from plait.answers.excerpts import excerpt
from plait.data.corpus import Corpus
from plait.data.text import TextRecipe
from plait.errors import PlaitError


@pytest.fixture(scope="module")
def run():
    texts = [
        "tax",  # all of topic 1, but short
        "Taxes rise, and taxes fall. The war goes on.",
        "",
        "war war war war",
        "taxes taxes taxes taxes taxes taxes taxes taxes war",
    ]
    corpus = Corpus.from_texts(
        texts,
        recipe=TextRecipe(language="en", stop_words="english"),
        names=list("abcde"),
        dates=["1861", "1862", "1863", "1864", "1865"],
        keep_texts=True,
    )
    own = {"tax": 1, "taxes": 1, "rise": 1, "fall": 1}
    path = [own.get(word, 0) for d in range(5) for word in corpus.tokens(d)]
    return run_with(corpus, path).named({1: "money"})


def test_documents_are_in_the_order_of_the_posterior_mean(run):
    found = documents(run, 1)
    assert [own.name for own in found] == ["e", "a", "b", "d"]  # and without the empty one
    assert [own.document for own in found] == [4, 0, 1, 3]
    # (C + alpha) / (n + sum of alpha)
    np.testing.assert_allclose([own.share for own in found], [8.5 / 10, 1.5 / 2, 4.5 / 7, 0.5 / 5])
    assert [own.n_tokens for own in found] == [9, 1, 6, 4]
    assert found[0].date == "1865"
    assert [own.document for own in documents(run, "money", 1)] == [4]


def test_among_equal_shares_the_longer_document_comes_first():
    corpus = Corpus.from_tokens([["a"], ["a", "b"], ["b"]])
    run = run_with(corpus, [0, 0, 1, 1], alpha=1.0)  # shares of topic 1: 1/3, 2/4, 2/3
    assert [own.document for own in documents(run, 1)] == [2, 1, 0]
    equal = Corpus.from_tokens([["a", "b"], ["a", "b", "a", "b"]])
    run = run_with(equal, [0, 1, 0, 1, 0, 1], alpha=1.0)
    assert [own.document for own in documents(run, 0)] == [1, 0]


def test_excerpts_mark_the_words_of_the_topic(run):
    second = documents(run, 1)[2].excerpt
    assert second.is_text
    assert second.text == "Taxes rise, and taxes fall. The war goes on."
    assert [second.text[start:end] for start, end in second.marks] == ["Taxes", "rise", "taxes", "fall"]


def test_the_passage_is_the_one_with_most_words_of_the_topic():
    middle = "Here  the taxes\nand the tax"
    text = " ".join(["war goes on and on"] * 20 + [middle] + ["so does peace"] * 20)
    corpus = Corpus.from_texts([text], keep_texts=True)
    found = excerpt(corpus, 0, {"tax", "taxes"}, 60)
    assert "Here the taxes and the tax" in found.text
    assert found.text.startswith("... ")
    assert found.text.endswith(" ...")
    assert len(found.text) <= 68
    assert [found.text[start:end] for start, end in found.marks] == ["taxes", "tax"]
    inner = found.text.removeprefix("... ").removesuffix(" ...")
    assert f" {inner} " in f" {' '.join(text.split())} "  # whole words


def test_stems_are_found_in_the_text_and_shown_by_their_form():
    corpus = Corpus.from_texts(
        ["The taxes", "a tax"], recipe=TextRecipe(language="en", stem=True), keep_texts=True
    )
    found = excerpt(corpus, 0, {"tax"})
    assert [found.text[start:end] for start, end in found.marks] == ["taxes"]
    without = replace(corpus, texts=None, forms=("taxes",))
    assert excerpt(without, 1, {"tax"}) == ("taxes", ((0, 5),), False)


def test_without_texts_excerpts_are_of_words(run):
    model = replace(run.model, corpus=replace(run.model.corpus, texts=None))
    found = documents(replace(run, model=model), 1)[2].excerpt
    assert not found.is_text
    assert found.text == "taxes rise taxes fall war goes"
    assert [found.text[start:end] for start, end in found.marks] == ["taxes", "rise", "taxes", "fall"]


def test_words_without_spaces_between_them_are_marked_within():
    class Recipe(TextRecipe):
        def token_lists(self, texts):
            return (["税金", "戦争"] if "税金" in text else [text] for text in texts)

    corpus = replace(Corpus.from_tokens([["税金", "戦争"]]), texts=["税金と戦争"], recipe=Recipe())
    found = excerpt(corpus, 0, {"戦争"})
    assert [found.text[start:end] for start, end in found.marks] == ["戦争"]


@pytest.mark.parametrize("text", ["", "  \n ", "no such words"])
def test_documents_without_words_of_the_topic_have_excerpts_without_marks(text):
    corpus = Corpus.from_texts([text, "tax"], keep_texts=True)
    assert excerpt(corpus, 0, {"tax"}) == (" ".join(text.split()), (), True)


def test_topics_and_documents_go_by_number_or_name(run):
    assert [topic_number(run, topic) for topic in (1, "1", "money")] == [1, 1, 1]
    corpus = run.model.corpus
    assert [document_number(corpus, document) for document in (2, "2", "c")] == [2, 2, 2]
    for topic in (2, "2", -1):
        with pytest.raises(PlaitError, match="topic must be a whole number from 0 to 1, got"):
            topic_number(run, topic)
    with pytest.raises(PlaitError, match="topic must be a number from 0 to 1 or one of 'money', got 'mony'"):
        topic_number(run, "mony")
    with pytest.raises(PlaitError, match="from 0 to 4 or a name, such as 'a', got 'x'"):
        document_number(corpus, "x")
    twice = replace(corpus, names=("a", "b", "a", "c", "d"))
    with pytest.raises(
        PlaitError, match="2 documents are called 'a': give the number of one, such as 0 or 2"
    ):
        document_number(twice, "a")
