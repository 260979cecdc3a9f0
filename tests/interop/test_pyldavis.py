"""The data of pyLDAvis: its contract, and topics that keep their numbers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import plait
from plait.interop import pyldavis_arguments, to_pyldavis
from plait.interop.pyldavis import principal_coordinates


@pytest.fixture(scope="module")
def lda(small_bands):
    """Return an estimator fitted to documents, two of them empty, with a word that does not occur."""
    documents = [small_bands.corpus.tokens(d)[: 5 + d % 16] for d in range(60)]
    known = sorted({word for document in documents for word in document})
    corpus = plait.Corpus.from_tokens([[], *documents, []], vocabulary=["never", *known])
    model = plait.LDA(4, doc_topic_prior=[0.1, 0.2, 0.3, 0.4], max_iter=30, random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match="2 of 62 documents are empty"):
        return model.fit(corpus)


@pytest.fixture(scope="module")
def prepared(lda):
    pytest.importorskip("pyLDAvis")
    return lda.to_pyldavis(n_jobs=1, R=5)


def is_finite(value):
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    if isinstance(value, list):
        return all(map(is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


class TestArguments:
    def test_they_keep_the_contract(self, lda):
        given = pyldavis_arguments(lda, n_jobs=1)
        assert given["topic_term_dists"].shape == (4, lda.corpus_.n_words - 1)
        assert given["doc_topic_dists"].shape == (60, 4)
        assert given["term_frequency"].sum() == given["doc_lengths"].sum() == lda.corpus_.n_tokens
        assert given["term_frequency"].min() > 0
        assert given["doc_lengths"].min() > 0
        np.testing.assert_allclose(given["topic_term_dists"].sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(given["doc_topic_dists"].sum(axis=1), 1, rtol=1e-12)
        assert (given["sort_topics"], given["start_index"]) == (False, 0)

    def test_they_are_those_of_the_estimator(self, lda):
        given = pyldavis_arguments(lda.run_, n_jobs=1)
        assert given["vocab"] == list(lda.corpus_.vocabulary[1:])
        assert np.array_equal(given["doc_topic_dists"], lda.doc_topic_[1:-1])
        share = 1 - lda.topic_word_[:, :1]  # of the words that occur
        np.testing.assert_allclose(given["topic_term_dists"] * share, lda.topic_word_[:, 1:], rtol=1e-12)


class TestPrepared:
    def test_topics_keep_their_numbers(self, lda, prepared):
        assert prepared.topic_order == [0, 1, 2, 3]
        assert prepared.topic_coordinates.topics.tolist() == [0, 1, 2, 3]
        for t in range(4):
            terms = prepared.sorted_terms(topic=t).Term.tolist()[:5]
            best = np.argsort(-lda.topic_word_[t], kind="stable")[:5]
            assert set(terms) == {lda.corpus_.vocabulary[w] for w in best}

    def test_their_sizes_are_the_shares_of_the_documents(self, lda, prepared):
        sizes = lda.corpus_.lengths @ lda.doc_topic_
        np.testing.assert_allclose(prepared.topic_coordinates.Freq, 100 * sizes / sizes.sum())

    def test_the_page_can_be_written_and_has_finite_numbers(self, prepared, tmp_path):
        import pyLDAvis

        assert is_finite(json.loads(prepared.to_json()))
        pyLDAvis.save_html(prepared, str(tmp_path / "topics.html"))
        assert (tmp_path / "topics.html").stat().st_size > 1000

    def test_options_of_pyldavis_go_first(self, lda):
        pytest.importorskip("pyLDAvis")
        found = to_pyldavis(lda, n_jobs=1, sort_topics=True, start_index=1, mds="tsne")
        sizes = found.topic_coordinates.Freq.to_numpy()
        assert (np.diff(sizes) <= 0).all()
        assert sorted(found.topic_order) == [1, 2, 3, 4]

    @pytest.mark.parametrize("n_topics", [1, 2, 60])
    def test_few_topics_and_topics_without_tokens_can_be_shown(self, n_topics, small_bands):
        pytest.importorskip("pyLDAvis")
        corpus = small_bands.corpus.select(range(5))
        model = plait.LdaModel(corpus, n_topics, 0.01, least_topics=1)
        run = plait.sample(model, n_paths=2, n_sweeps=50, n_jobs=1)
        if n_topics == 60:
            assert len(np.unique(run.paths)) < 30
        found = to_pyldavis(run, n_jobs=1)
        assert found.topic_coordinates.x.dtype == np.float64
        assert is_finite(json.loads(found.to_json()))


class TestMap:
    def test_it_is_that_of_pyldavis(self):
        prepare = pytest.importorskip("pyLDAvis._prepare")
        topics = np.random.default_rng(0).dirichlet(np.full(40, 0.2), 9)
        mine, theirs = principal_coordinates(topics), prepare.js_PCoA(topics)
        signs = np.sign((mine * theirs).sum(axis=0))
        np.testing.assert_allclose(mine, theirs * signs, atol=1e-12)

    def test_two_topics_without_a_common_word_are_log_2_apart(self):
        places = principal_coordinates([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
        assert np.linalg.norm(places[0] - places[1]) == pytest.approx(math.log(2))

    def test_equal_topics_have_one_place(self):
        places = principal_coordinates(np.repeat([[0.9, 0.1], [0.2, 0.8]], 20, axis=0))
        assert np.ptp(places[:20], axis=0).max() < 1e-6
        assert np.linalg.norm(places[0] - places[-1]) > 0.1
