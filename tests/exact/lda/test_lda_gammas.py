"""Gamma variates of phi, one word and one topic at a time: those of vector code and the others.

Every word opens a stream of its own, so the cells of a table are independent.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats
from support import LEAST_P, SCALES, assert_small

from plait.data.corpus import Corpus
from plait.kernels.gammas import TINY, draw_gammas, scratch_gammas
from plait.models.lda import LdaModel
from plait.rng import Key

T = 40


def draw(n_words: int, eta: float, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the variates (W, T) of `n_words` words, each with the same counts (T,), and their sums (T,)."""
    corpus = Corpus(np.arange(n_words), np.array([0, n_words]), tuple(map(str, range(n_words))))
    priors = LdaModel(corpus, T, 0.1, eta)._priors
    gammas, sums = np.full((n_words, T), np.nan, np.float32), np.empty(T)
    table = np.tile(counts.astype(np.int32), (n_words, 1))
    buffers = scratch_gammas(T)
    draw_gammas(0, n_words, table, priors, gammas, sums, buffers, Key(3, 5))
    return gammas, sums


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("eta", [0.003, 0.01, 0.1, 0.5, 0.999, 1.0, 2.5])
def test_variates_are_gamma(eta: float, scale: int) -> None:
    """Above TINY they follow the gamma distribution; below, they are zero as often as they should be."""
    counts = np.repeat([0, 0, 1, 20], T // 4)
    gammas, sums = draw(1000 * scale, eta, counts)
    np.testing.assert_allclose(sums, gammas.astype(float).sum(axis=0), rtol=1e-12)
    for count in np.unique(counts):
        x = gammas[:, counts == count].astype(float).ravel()
        shape = eta + count
        least = special.gammainc(shape, TINY)
        below = x < TINY
        if least * x.size > 20:
            assert_small((below.sum() - x.size * least) / np.sqrt(x.size * least * (1 - least)))
        unit = (special.gammainc(shape, x[~below]) - least) / (1 - least)
        assert stats.kstest(unit, "uniform").pvalue > LEAST_P
        assert_small((x.mean() - shape) / np.sqrt(shape / x.size))


@pytest.mark.parametrize("scale", SCALES)
def test_variates_of_neighbouring_topics_and_words_are_independent(scale: int) -> None:
    gammas, _ = draw(1000 * scale, 0.3, np.zeros(T))
    unit = special.gammainc(0.3, gammas.astype(float))
    for one, other in ((unit[1:], unit[:-1]), (unit[:, 1:], unit[:, :-1])):
        correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert_small(correlation * np.sqrt(one.size))
