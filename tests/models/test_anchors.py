"""Topics from anchor words: planted ones are found, on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.models.anchors import MOST_ANCHORS, Cooccurrence, anchor_topics, find_anchors
from plait.threads import Threads


def random():
    return np.random.default_rng(0)


def separable(n_documents=3000, n_topics=8, n_words=60, length=30, seed=1):
    """Return a corpus and its topics; each has an anchor, a word of its own."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.2), n_topics)
    topics[:, :n_topics] = 0.1 * np.eye(n_topics)
    topics /= topics.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(n_topics, 0.3), n_documents)
    words = np.concatenate([rng.choice(n_words, length, p=share @ topics) for share in shares])
    offsets = np.arange(n_documents + 1) * length
    return Corpus(words.astype(np.int32), offsets, tuple(f"w{w}" for w in range(n_words))), topics


def distance(found, truth):
    """Return the L1 distance of a true topic from the nearest found one, on average."""
    return np.abs(truth[:, None] - found[None]).sum(axis=2).min(axis=1).mean()


@pytest.fixture(scope="module")
def planted():
    return separable()


def test_planted_topics_are_recovered(planted):
    corpus, truth = planted
    with Threads(1) as threads:
        found = anchor_topics(corpus, 8, random(), threads)
    assert found.shape == truth.shape
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.all(found >= 0)
    frequencies = np.bincount(corpus.words, minlength=60) / corpus.n_tokens
    chance = distance(frequencies * random().exponential(size=truth.shape), truth)
    assert chance > 0.8
    assert distance(found, truth) < 0.3


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_does_not_make_every_word_a_mixture_of_all_anchors(seed):
    """With inner products of anchors within a half, which contain the squared noise, it is 0.63."""
    corpus, truth = separable(800, n_words=200, length=10, seed=seed)
    with Threads(1) as threads:
        assert distance(anchor_topics(corpus, 8, random(), threads), truth) < 0.59


def test_the_bits_do_not_depend_on_the_threads(planted):
    corpus, _ = planted
    results = []
    for n in (1, 2, 3):
        with Threads(n) as threads:
            results.append(anchor_topics(corpus, 8, random(), threads))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_projections_change_the_anchors_hardly(planted, monkeypatch):
    corpus, truth = planted
    monkeypatch.setattr("plait.models.anchors._PROJECTIONS", 20)
    with Threads(1) as threads:
        assert distance(anchor_topics(corpus, 8, random(), threads), truth) < 0.35


def test_only_the_most_frequent_words_take_part(planted, monkeypatch):
    corpus, _ = planted
    monkeypatch.setattr("plait.models.anchors.MOST_WORDS", 20)
    with Threads(1) as threads:
        found = anchor_topics(corpus, 4, random(), threads)
    documents = (corpus.to_matrix() > 0).sum(axis=0).A1
    used = np.flatnonzero(found.any(axis=0))
    assert set(used) <= set(np.argsort(-documents, kind="stable")[:20])


@pytest.mark.parametrize("n_topics", [2, 12, 300])
def test_there_are_at_most_as_many_topics_as_candidates(n_topics):
    corpus, _ = separable(60, n_topics=3, n_words=12)
    with Threads(1) as threads:
        found = anchor_topics(corpus, n_topics, random(), threads)
    assert len(found) == min(n_topics, len(found))
    assert 2 <= len(found) <= 12
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize(
    "documents",
    [
        [["a"], ["b"], ["c"]],  # no pairs of words
        [["a", "b"]],  # nothing in the other half
        [[], ["a", "b", "a"], []],
        [["a", "b"]] * 4,  # too few documents for an anchor
    ],
)
def test_without_candidates_there_are_no_topics(documents):
    with Threads(1) as threads:
        assert anchor_topics(Corpus.from_tokens(documents), 3, random(), threads).shape[0] == 0


def test_identical_rows_give_one_anchor():
    with Threads(1) as threads:
        found = anchor_topics(Corpus.from_tokens([["a", "a", "a"]] * 50), 3, random(), threads)
    np.testing.assert_array_equal(found, [[1.0]])
    assert MOST_ANCHORS >= 1


def test_cooccurrence_is_the_share_of_pairs_of_tokens():
    corpus = Corpus.from_tokens([["a", "b", "a"], ["c"], ["b", "c"]])
    q = Cooccurrence.of(corpus.to_matrix())
    pairs = np.zeros((3, 3))
    for d in range(3):
        words = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]
        n = len(words)
        for i in range(n):
            for k in range(n):
                if i != k:
                    pairs[words[i], words[k]] += 1 / (n * (n - 1))
    every = np.arange(3)
    np.testing.assert_allclose(q.times(np.eye(3), every), pairs, atol=1e-15)
    np.testing.assert_allclose(q.times(np.eye(3), every[1:]), pairs[1:], atol=1e-15)
    np.testing.assert_allclose(q.sums, pairs.sum(axis=1))
    np.testing.assert_allclose(q.columns(every), pairs / pairs.sum(axis=1), atol=1e-15)


def test_a_product_in_chunks_is_the_whole_product(planted, monkeypatch):
    q = Cooccurrence.of(planted[0].to_matrix())
    columns = np.random.default_rng(2).normal(size=(60, 7))
    whole = q.times(columns, np.arange(60))
    monkeypatch.setattr("plait.models.anchors._CELLS_PER_CHUNK", 700)
    np.testing.assert_allclose(q.times(columns, np.arange(60)), whole)


def test_anchors_are_the_corners_of_a_simplex():
    rng = np.random.default_rng(3)
    corners = rng.normal(size=(5, 9))
    inside = rng.dirichlet(np.ones(5), 200) @ corners
    rows = np.concatenate([inside, corners])
    assert sorted(find_anchors(rows, 5)) == [200, 201, 202, 203, 204]
    assert len(find_anchors(rows, 8)) == 5  # the rows have no more dimensions
    assert len(find_anchors(np.ones((4, 2)), 3)) == 1
