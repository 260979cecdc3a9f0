"""The map of topics."""

from __future__ import annotations

import numpy as np
import pytest
from given_paths import run_with

from plait.answers import similar_topics, topic_map, topic_similarities
from plait.answers.maps import principal_axes
from plait.data.corpus import Corpus
from plait.inference.fitted import fitted_topics


def run_of(*documents, n_topics):
    """Return a run in which every document is of the topic of its number."""
    corpus = Corpus.from_tokens([list(document) for document in documents])
    return run_with(corpus, [d for d, document in enumerate(documents) for _ in document], n_topics=n_topics)


def distances(points):
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


@pytest.fixture(scope="module")
def three():
    return run_of("aabb" * 5, "aaab" * 5, "ccdd" * 10, n_topics=3)


def hellinger(run):
    roots = np.sqrt(fitted_topics(run, 1).topic_word)
    return distances(roots) / np.sqrt(2)


def test_three_topics_have_their_hellinger_distances_on_the_map(three):
    found = topic_map(three, n_jobs=1)
    np.testing.assert_allclose(distances(found.places), hellinger(three), atol=1e-7)
    assert found.explained == pytest.approx(1.0)
    assert found.shares.tolist() == [0.25, 0.25, 0.5]


def test_what_two_dimensions_leave_out_is_told():
    run = run_of("aaaa" * 9, "bbbb" * 9, "cccc" * 9, "dddd" * 9, "eeee" * 9, n_topics=5)
    found = topic_map(run, n_jobs=1)
    assert found.explained == pytest.approx(0.5)  # five equally distant points have four equal dimensions
    assert (distances(found.places) <= hellinger(run) + 1e-9).all()


@pytest.mark.parametrize("n_topics", [2, 3])
def test_a_map_of_few_or_equal_topics_is_finite(n_topics):
    run = run_of("aabb" * 5, n_topics=n_topics)
    found = topic_map(run, n_jobs=1)
    assert found.places.shape == (n_topics, 2)
    assert np.isfinite(found.places).all()
    assert 0 <= found.explained <= 1


def test_similarities_are_those_of_similar_topics(three):
    found = topic_similarities(three, n_jobs=1)
    assert np.array_equal(found, found.T)
    assert np.diagonal(found).tolist() == [1, 1, 1]
    for other in similar_topics(three, 0, n_jobs=1):
        assert found[0, other.topic] == pytest.approx(other.similarity, abs=1e-7)


def test_axes_do_not_depend_on_the_signs_of_eigenvectors():
    points = np.random.default_rng(0).normal(size=(7, 2))
    points -= points.mean(axis=0)
    found = principal_axes(points @ points.T)
    np.testing.assert_allclose(found @ found.T, points @ points.T, atol=1e-12)
    largest = found[np.abs(found).argmax(axis=0), [0, 1]]
    assert (largest > 0).all()
    assert (found[:, 0] ** 2).sum() >= (found[:, 1] ** 2).sum()
