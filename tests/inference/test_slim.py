"""A model without its documents: it gives new documents the same topics, and refuses what it cannot do."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.answers import documents, similar, timeline
from plait.errors import PlaitError
from plait.inference.fitted import doc_topic, fitted_topics
from plait.inference.slim import slim

RECIPE = plait.TextRecipe(stem="english", stop_words=())
TEXTS = ["apples and pears grow", "pears and plums", "trains and trams", "trams and buses go"] * 6
PLANS = ["prediction", 3]
NEEDS = "lacks the documents that it was fitted to: this needs the model that it was exported from"


def fitted(n_paths):
    corpus = plait.Corpus.from_texts(TEXTS, recipe=RECIPE, keep_texts=True, dates=["2001"] * len(TEXTS))
    lda = plait.LatentDirichletAllocation(2, n_paths=n_paths, max_iter=30, random_state=0, n_jobs=1)
    return lda.fit(corpus).name_topics({1: "fruit"})


@pytest.mark.parametrize("n_paths", PLANS)
def test_a_slim_model_gives_new_documents_the_same_topics_bit_for_bit(n_paths, tmp_path):
    lda = fitted(n_paths)
    lda.save(tmp_path / "slim.plait", inference=True)
    again = plait.LatentDirichletAllocation.load(tmp_path / "slim.plait")
    corpus = lda.corpus_.select(range(5))
    assert np.array_equal(again.transform(corpus), lda.transform(corpus))
    assert again.score(corpus) == lda.score(corpus)
    assert np.allclose(again.components_, lda.components_, rtol=1e-5)
    assert np.allclose(again.topic_word_, lda.topic_word_, rtol=1e-5)
    assert again.corpus_.vocabulary == lda.corpus_.vocabulary
    assert again.corpus_.shown_words == lda.corpus_.shown_words
    assert again.corpus_.recipe == lda.corpus_.recipe
    assert again.topic_names_ == lda.topic_names_
    assert again.top_words(2)["word"].tolist() == lda.top_words(2)["word"].tolist()
    assert np.allclose(fitted_topics(again.run_).shares, fitted_topics(lda.run_).shares)


def test_it_holds_no_document():
    run = slim(fitted(1).run_)
    assert run.model.corpus.n_tokens == 0
    assert run.model.corpus.texts is None
    assert run.model.corpus.dates is None
    assert run.paths.size == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda run: documents(run, 0),
        lambda run: timeline(run),
        lambda run: similar(run, text="apples"),
        doc_topic,
        slim,
        plait.interop.documents_frame,
        lambda run: plait.LatentDirichletAllocation.from_run(run).doc_topic_,
        lambda run: plait.LatentDirichletAllocation.from_run(run).paths_,
        lambda run: plait.LatentDirichletAllocation.from_run(run).agreement_,
    ],
)
def test_what_needs_the_documents_says_so(use):
    with pytest.raises(PlaitError, match=NEEDS):
        use(slim(fitted(1).run_))


def test_it_cannot_be_resumed():
    with pytest.raises(PlaitError, match="lacks its data: resume the run that it was exported from"):
        plait.resume(slim(fitted(1).run_), n_sweeps=100)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("phi", np.ones((5, 2), np.float32), "phi must have shape"),
        ("phi", np.full((9, 2), 0.5, np.float32), "topics that sum to 1"),
        ("phi", np.ones(3, np.float32), "shape"),
        ("shares", np.ones(3), "shares must have shape"),
        ("alpha", np.full(2, np.nan), "alpha"),
    ],
)
def test_parts_of_a_file_that_do_not_fit_are_refused(name, wrong, message):
    model = slim(fitted(1).run_).model
    arrays, header = model.to_arrays()
    with pytest.raises(PlaitError, match=message):
        type(model).from_arrays(arrays | {name: wrong}, header)
