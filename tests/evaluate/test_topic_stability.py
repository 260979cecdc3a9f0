"""Stability over runs: matching, agreement, and the reference of unrelated topics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.evaluate.sources import top_words
from plait.evaluate.topic_stability import _permutation, stability

PHI = np.random.default_rng(0).dirichlet(np.full(60, 0.1), 8)


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


def test_topics_in_another_order_are_matched():
    order = np.random.default_rng(1).permutation(8)
    result = stability([PHI, PHI[order]])
    assert result.cosine == pytest.approx(1)
    assert (result.overlap, result.found) == (1, 1)
    np.testing.assert_array_equal(result.matches[1, 0], order)
    np.testing.assert_array_equal(order[result.matches[0, 1]], np.arange(8))
    np.testing.assert_allclose(result.certainty, np.ones((2, 8)))


def test_the_matching_is_the_best_of_all():
    rng = np.random.default_rng(2)
    one, two = (rng.dirichlet(np.ones(12), 5) for _ in range(2))
    result = stability([one, two], top=4)
    cosines = np.array([[cosine(a, b) for b in two] for a in one])
    best = max(itertools.permutations(range(5)), key=lambda p: sum(cosines[t, p[t]] for t in range(5)))
    np.testing.assert_array_equal(result.matches[0, 1], best)
    assert result.cosine == pytest.approx(np.mean([cosines[t, best[t]] for t in range(5)]))
    tops = top_words(one, 4), top_words(two, 4)
    overlaps = []
    for t in range(5):
        a, b = set(tops[0][t].tolist()), set(tops[1][best[t]].tolist())
        overlaps.append(len(a & b) / len(a | b))
    assert result.overlap == pytest.approx(np.mean(overlaps))


def test_a_topic_counts_as_found_if_it_is_in_every_other_run():
    other = PHI.copy()
    other[:3] = np.random.default_rng(3).dirichlet(np.full(60, 0.1), 3)  # three topics are lost in the third
    order = np.random.default_rng(5).permutation(8)
    result = stability([PHI, PHI, other[order]])
    assert result.found == pytest.approx(5 / 8)
    np.testing.assert_array_equal(result.certainty[0, 3:] > 0.999, True)
    assert (result.certainty[0, :3] < 0.9).all()  # 1 in one run, far less in the other
    np.testing.assert_array_equal(result.certainty[2] > 0.999, order >= 3)
    mixed = 0.5 * PHI + 0.5 / 60
    assert stability([PHI, mixed]).found == 1
    assert stability([PHI, mixed], threshold=0.999).found < 1


def test_unrelated_topics_agree_as_much_as_unrelated_topics_do():
    # Two independent sets of topics, with words of very different frequencies.
    frequencies = 1 / np.arange(1, 501)
    frequencies /= frequencies.sum()

    def topics(seed):
        return np.random.default_rng(seed).dirichlet(20 * frequencies, 20)

    results = [stability([topics(2 * k), topics(2 * k + 1)], seed=k) for k in range(8)]
    real = np.array([result.agreement for result in results])
    reference = np.array([result.unrelated for result in results])
    difference = (real - reference)[:, 0]
    # The first word is alone in its group, so the reference is a little larger, if anything.
    assert abs(difference.mean()) < 0.1
    assert reference[:, 0].mean() > 0.3  # frequent words and matching alone reach this
    assert (reference[:, 2] < 0.5).all()


def test_the_reference_is_the_agreement_with_permuted_topics():
    other = np.random.default_rng(6).dirichlet(np.full(60, 0.1), 8)
    permuted = other[:, _permutation(other, 3, 0, 1)]
    expected = stability([PHI, permuted], top=4).agreement
    assert stability([PHI, other], top=4, seed=3).unrelated == pytest.approx(expected, rel=1e-12)


def test_the_reference_of_stable_topics_is_low():
    result = stability([PHI, PHI])
    assert result.cosine == pytest.approx(1)
    assert result.unrelated.cosine < 0.7
    assert result.unrelated.overlap < 0.5
    assert result.unrelated != stability([PHI, PHI], seed=1).unrelated


def test_words_are_permuted_among_words_of_similar_frequency():
    order = _permutation(PHI, 0, 0, 1)
    assert sorted(order.tolist()) == list(range(60))
    assert (order != np.arange(60)).mean() > 0.5
    mean = PHI.mean(axis=0)
    ratio = mean[order] / mean
    assert ratio.max() < 2
    assert ratio.min() > 0.5


def test_same_bits_for_any_number_of_threads():
    rng = np.random.default_rng(4)
    runs = [rng.dirichlet(np.full(60, 0.1), 8) for _ in range(4)]
    one, two, four = (stability(runs, n_jobs=n) for n in (1, 2, 4))
    for other in (two, four):
        assert (one.agreement, one.unrelated) == (other.agreement, other.unrelated)
        np.testing.assert_array_equal(one.certainty, other.certainty)
        np.testing.assert_array_equal(one.matches, other.matches)


def test_runs_and_their_files_are_compared(tmp_path, small_bands):
    model = plait.LdaModel(small_bands.corpus, 3)
    runs = [plait.sample(model, n_paths=2, n_sweeps=60, seed=seed, n_jobs=1) for seed in (0, 1)]
    runs[1].save(tmp_path / "run.plait")
    result = stability([runs[0], tmp_path / "run.plait"], top=5)
    matrices = [run.parameters().topic_word for run in runs]
    assert result.agreement == stability(matrices, top=5).agreement
    assert result.cosine > result.unrelated.cosine
    assert repr(result).startswith("Stability(cosine=")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ([PHI], r"sources must be at least two fits to compare, got \["),
        ("a.plait", r"sources must be at least two fits to compare, got 'a.plait'"),
        ([PHI, PHI[:3]], r"sources\[1\] must have 8 topics of 60 words, as the first has, got 3 of 60"),
        ([PHI, [[0.5, 0.6]]], r"row 0 of sources\[1\] must sum to 1"),
    ],
)
def test_wrong_sources_are_refused_in_one_line(sources, message):
    with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
        stability(sources)


def test_another_vocabulary_is_refused(small_bands):
    corpus = small_bands.corpus
    other = Corpus(corpus.words, corpus.offsets, tuple(f"x{w}" for w in range(corpus.n_words)))
    runs = [plait.sample(plait.LdaModel(c, 3), n_paths=1, n_sweeps=1, n_jobs=1) for c in (corpus, other)]
    with pytest.raises(PlaitError, match=r"\Asources\[1\] must have the vocabulary of the first"):
        stability(runs)
