"""The synthetic bands: the topics as documented, and documents that follow them."""

import numpy as np
import pytest

from plait.data.synthetic import bands
from plait.errors import PlaitError


def test_topics_are_bands():
    topics = bands(5).topics
    assert topics.shape == (10, 100)
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    inside = topics > 0.001
    assert inside.sum(axis=1).tolist() == [10] + [20] * 8 + [11]
    # The second centre is word 11, so its band goes from 1 to 20.
    assert np.flatnonzero(inside[1]).tolist() == list(range(1, 21))
    np.testing.assert_allclose(topics[1, 5], 0.95 / 20 + 0.05 / 100)
    np.testing.assert_allclose(topics[1, 50], 0.05 / 100)


@pytest.mark.parametrize(("n_topics", "n_words", "width"), [(7, 30, 5), (4, 11, 4), (1, 3, 1), (3, 5, 50)])
def test_any_sizes_give_distributions(n_topics, n_words, width):
    topics = bands(2, n_topics=n_topics, n_words=n_words, width=width).topics
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    assert ((topics > 0.1 / n_words).sum(axis=1) <= width).all()


def test_the_corpus():
    drawn = bands()
    corpus = drawn.corpus
    assert (corpus.n_documents, corpus.n_words) == (1500, 100)
    assert (corpus.lengths == 10).all()
    assert corpus.vocabulary[:2] == ("0", "1")
    assert not drawn.topics.flags.writeable


def test_the_seed_decides():
    assert bands(20, 3).corpus.equals(bands(20, 3).corpus)
    assert not bands(20, 3).corpus.equals(bands(20, 4).corpus)


def test_word_frequencies_follow_the_topics():
    drawn = bands(20_000, 1)
    frequencies = np.bincount(drawn.corpus.words, minlength=100) / drawn.corpus.n_tokens
    expected = drawn.topics.mean(axis=0)
    # The shares of topics vary between documents, so allow some more than the spread of independent tokens.
    spread = np.sqrt(expected / drawn.corpus.n_tokens) * 1.5
    assert (np.abs(frequencies - expected) < 5 * spread).all()


def test_pairs_of_tokens_follow_the_dirichlet_shares():
    """Two tokens of a document share their topic with probability (alpha + 1) / (T alpha + 1)."""
    drawn = bands(40_000, 2, n_topics=2, n_words=10, width=1, document_length=2, alpha=0.5)
    pairs = drawn.corpus.words.reshape(-1, 2)
    shares = np.array([[0.75, 0.25], [0.25, 0.75]]) / 2
    joint = drawn.topics.T @ shares @ drawn.topics
    observed = np.zeros((10, 10))
    np.add.at(observed, (pairs[:, 0], pairs[:, 1]), 1 / len(pairs))
    spread = np.sqrt(joint / len(pairs))
    assert (np.abs(observed - joint) < 5 * spread).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_documents": 0}, "n_documents is 0: pass a whole number of at least 1"),
        ({"n_documents": 1.5}, "n_documents is 1.5"),
        ({"seed": -1}, "seed is -1: pass a whole number of at least 0"),
        ({"width": 0}, "width is 0"),
        ({"alpha": 0.0}, "alpha is 0.0: pass a number above 0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": "1"}, "alpha is '1'"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(PlaitError, match=message):
        bands(**options)
