"""Diversity and exclusivity, by hand."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.errors import PlaitError
from plait.evaluate.distinctness import diversity, exclusivity
from plait.evaluate.sources import top_words

PHI = np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.6, 0.3, 0.0], [0.0, 0.1, 0.1, 0.8]])


def test_diversity_by_hand():
    result = diversity(PHI, top=2)  # top words: 0 1, 1 2, 3 1
    np.testing.assert_allclose(result.per_topic, [(1 + 1 / 3) / 2, (1 / 3 + 1) / 2, (1 + 1 / 3) / 2])
    assert result.overall == pytest.approx(4 / 6)  # words 0, 1, 2 and 3 of six


def test_overall_diversity_is_the_share_of_distinct_top_words():
    phi = np.random.default_rng(0).dirichlet(np.ones(40), 12)
    distinct = np.unique(top_words(phi, 7)).size
    assert diversity(phi, top=7).overall == pytest.approx(distinct / (12 * 7))
    assert diversity(np.tile(phi[0], (5, 1)), top=7).overall == pytest.approx(1 / 5)
    assert diversity(np.eye(5), top=1).overall == 1


def test_exclusivity_by_hand():
    result = exclusivity(PHI, top=2)
    by_hand = [(0.5 / 0.6 + 0.3 / 1.0) / 2, (0.6 / 1.0 + 0.3 / 0.6) / 2, (0.8 / 0.8 + 0.1 / 1.0) / 2]
    np.testing.assert_allclose(result.per_topic, by_hand)
    assert result.overall == pytest.approx(np.mean(by_hand))
    assert (result.top, exclusivity(np.tile(PHI[0], (4, 1)), top=3).overall) == (2, pytest.approx(1 / 4))


def test_a_word_that_no_topic_has_is_not_exclusive():
    assert exclusivity([[1.0, 0.0], [1.0, 0.0]], top=2).overall == pytest.approx(1 / 4)


def test_top_words_are_those_of_a_stable_sort():
    rng = np.random.default_rng(1)
    phi = rng.integers(0, 6, (20, 50)).astype(float)  # many ties
    for top in (1, 7, 50):
        expected = np.argsort(-phi, axis=1, kind="stable")[:, :top]
        np.testing.assert_array_equal(top_words(phi, top), expected)


def test_all_sources_agree(tmp_path, small_bands):
    run = plait.sample(plait.LdaModel(small_bands.corpus, 3), n_paths=2, n_sweeps=5, n_jobs=1)
    run.save(tmp_path / "run.plait")
    sources = (run, tmp_path / "run.plait", plait.LatentDirichletAllocation.from_run(run))
    for measure in (diversity, exclusivity):
        values = [measure(source, top=5).overall for source in sources]
        values.append(measure(run.parameters().topic_word, top=5).overall)
        assert values == [values[0]] * 4


@pytest.mark.parametrize("measure", [diversity, exclusivity])
def test_more_top_words_than_words_are_refused(measure):
    with pytest.raises(PlaitError, match=r"\Atop must be a whole number from 1 to 4, got 5\Z"):
        measure(PHI, top=5)
