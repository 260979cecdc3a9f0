"""Methods of estimators that return frames, and save and load."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait import answers
from plait.errors import PlaitError


@pytest.fixture(scope="module")
def lda(annotated_corpus):
    pytest.importorskip("pandas")
    model = plait.LDA(3, n_paths=2, max_iter=3, random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match="empty"):
        return model.fit(annotated_corpus).name_topics({1: "war"})


def test_top_words(lda):
    frame = lda.top_words(2)
    assert frame.index.tolist() == [0, 0, 1, 1, 2, 2]
    assert list(frame.columns) == ["name", "rank", "word", "stem", "probability"]
    assert frame.word[1].tolist() == [
        lda.corpus_.vocabulary[w] for w in np.argsort(-lda.topic_word_[1], kind="stable")[:2]
    ]


def test_documents_and_what_is_similar(lda):
    frame = lda.documents("war", 2)
    assert frame.index.tolist() == [own.document for own in answers.documents(lda.run_, 1, 2)]
    assert frame.share.tolist() == sorted(frame.share, reverse=True)
    found = answers.similar(lda.run_, 0, n=2)
    similar = lda.similar(0, n=2)
    assert similar.index.tolist() == [own.document for own in found]
    assert similar.similarity.tolist() == [own.similarity for own in found]
    assert lda.similar(text="war, peace", n=1).shape == (1, 4)
    assert lda.similar(topic="war").index.tolist() == [
        own.topic for own in answers.similar_topics(lda.run_, 1)
    ]
    with pytest.raises(PlaitError, match="give one of document, topic and text"):
        lda.similar(0, topic=1)


def test_topics_over_time(lda):
    frame = lda.timeline("year")
    assert frame.index.tolist() == ["1861", "1862", "1863", "1864"]
    assert frame.index.name == "year"
    assert list(frame.columns) == ["topic 0", "war", "topic 2"]
    np.testing.assert_allclose(frame, answers.timeline(lda.run_).shares)
    left_out = lda.timeline("month").attrs["left_out"]
    assert left_out == ["3 documents with dates too coarse for a month: left out"]


def test_estimators_are_saved_and_loaded(lda, tmp_path):
    lda.save(tmp_path / "x.plait")
    again = plait.LDA.load(tmp_path / "x.plait")
    np.testing.assert_array_equal(again.topic_word_, lda.topic_word_)
    assert again.to_frame().equals(lda.to_frame())
    with pytest.raises(PlaitError, match="holds a model of the kind 'lda'"):
        plait.PoissonHMM.load(tmp_path / "x.plait")


def test_every_estimator_has_a_frame():
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, (8, 1))
    hmm = plait.PoissonHMM(2, n_paths=1, n_iter=2, random_state=0, n_jobs=1).fit(counts, [5, 3])
    frame = hmm.to_frame()
    assert frame.state.tolist() == hmm.predict_proba(counts, [5, 3]).argmax(axis=1).tolist()
    assert frame.sequence.tolist() == ["0"] * 5 + ["1"] * 3
    mixture = plait.PoissonMixture(2, n_paths=1, max_iter=2, random_state=0, n_jobs=1).fit(counts)
    np.testing.assert_array_equal(mixture.to_frame().state, mixture.predict(counts))
    image = rng.normal(size=(4, 3))
    potts = plait.PottsSegmentation(2, n_paths=1, n_iter=2, random_state=0, n_jobs=1).fit(image)
    frame = potts.to_frame()
    np.testing.assert_array_equal(potts.labels_[frame.row, frame.column], frame.label)
    assert frame.index.name == "pixel"
