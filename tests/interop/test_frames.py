"""Frames of pandas: one row per topic, document or token."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.evaluate.agreement import token_agreement
from plait.interop import documents_frame, tokens_frame, topics_frame


@pytest.fixture(scope="module")
def lda(annotated_corpus):
    model = plait.LDA(3, n_paths=2, max_iter=5, random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match="empty"):
        return model.fit(annotated_corpus).name_topics({1: "war"})


def test_topics_are_in_the_order_of_their_numbers(lda):
    frame = topics_frame(lda, n_words=2)
    assert frame.index.tolist() == [0, 1, 2]
    assert frame.index.name == "topic"
    assert list(frame.columns) == ["name", "share", "words"]
    assert frame.name.tolist() == ["topic 0", "war", "topic 2"]
    np.testing.assert_allclose(frame.share, np.bincount(lda.paths_.ravel(), minlength=3) / lda.paths_.size)
    for t in range(3):
        best = np.argsort(-lda.topic_word_[t], kind="stable")[:2]
        assert frame.words[t].split() == [lda.corpus_.vocabulary[w] for w in best]


def test_documents_have_their_metadata_and_shares(lda):
    frame = documents_frame(lda.run_)
    corpus = lda.corpus_
    assert list(frame.columns) == ["name", "date", "party", "länge", "tokens", "topic 0", "war", "topic 2"]
    assert frame.index.name == "document"
    assert tuple(frame.name) == corpus.names
    assert tuple(frame.date) == corpus.dates
    assert tuple(frame.party) == corpus.columns["party"]
    assert frame.tokens.tolist() == corpus.lengths.tolist()
    assert np.array_equal(frame[lda.topic_names_].to_numpy(), lda.doc_topic_)


def test_documents_without_metadata_have_shares_alone(small_bands):
    run = plait.sample(plait.LdaModel(small_bands.corpus, 2), n_sweeps=1, n_jobs=1)
    assert list(documents_frame(run).columns) == ["tokens", "topic 0", "topic 1"]


def test_no_column_is_lost_where_headers_are_the_same():
    corpus = plait.Corpus.from_tokens(
        [["a", "b"], ["b"]],
        names=["x", "y"],
        columns={"tokens": ["1", "2"], "war": ["3", "4"], "war (corpus)": ["5", "6"], "name": ["7", "8"]},
    )
    names = {0: "war", 1: "name", 2: "topic 3"}
    run = plait.sample(plait.LdaModel(corpus, 4), n_sweeps=1, n_jobs=1, names=names)
    frame = documents_frame(run)
    assert list(frame.columns) == [
        *("name", "tokens (corpus)", "war (corpus)", "war (corpus) (corpus)", "name (corpus)"),
        *("tokens", "war", "name (topic 1)", "topic 3", "topic 3 (topic 3)"),
    ]
    assert frame["war (corpus) (corpus)"].tolist() == ["5", "6"]
    np.testing.assert_allclose(frame.iloc[:, -4:].sum(axis=1), 1)


def test_tokens_have_their_topic_in_each_path(lda):
    frame = tokens_frame(lda)
    corpus = lda.corpus_
    assert list(frame.columns) == ["document", "position", "word", "path 0", "path 1", "agreement"]
    assert frame.word.tolist() == [word for d in range(4) for word in corpus.tokens(d)]
    assert frame.document.tolist() == np.repeat(range(4), corpus.lengths).tolist()
    assert frame.position.tolist() == [i for length in corpus.lengths for i in range(length)]
    assert np.array_equal(frame[["path 0", "path 1"]].to_numpy().T, lda.paths_)
    assert np.array_equal(frame.agreement, token_agreement(lda.paths_))
    frame.loc[0, "path 0"] = 1  # a copy: the run stays as it is
    assert not lda.paths_.flags.writeable
