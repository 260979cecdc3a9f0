"""Helpers of the exactness tests: plait's models of the oracle's problems, runs of samplers, tests of fit.

Every test has a fixed seed and a limit that follows from sampling error alone: p-values must exceed 1e-4,
z-scores stay below 4.5. A correct sampler passes all of them; no seed was selected for passing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle import Floats, Lda, joint_distribution
from scipy import stats

from plait.data.corpus import Corpus
from plait.models.lda import LdaModel
from plait.plans import Settings
from plait.sampler import State, step
from plait.threads import Threads

THREADS = Threads(1)
LEAST_P = 1e-4
MOST_Z = 4.5

SCALES = [1, pytest.param(20, marks=pytest.mark.slow)]
"""Factors of the number of samples."""

SAMPLERS = [pytest.param(False, id="partial"), pytest.param(True, id="collapsed")]

LDA_SAMPLERS = ["partial", "dense", "vectors", pytest.param("bounded", marks=pytest.mark.slow)]
"""Values of the fixture `collapsed`."""


def plait_model(lda: Lda, *, scalar: bool = False) -> LdaModel:
    """Return the model under test; with `scalar`, constant priors are given as scalars."""
    offsets = np.array([0, *accumulate(len(document) for document in lda.documents)], np.int64)
    vocabulary = tuple(f"w{w}" for w in range(lda.n_words))
    corpus = Corpus(lda.words.astype(np.int32), offsets, vocabulary)
    if not scalar:
        return LdaModel(corpus, lda.n_topics, lda.alpha, lda.eta)
    assert np.ptp(lda.alpha) == np.ptp(lda.eta) == 0
    return LdaModel(corpus, lda.n_topics, float(lda.alpha[0]), float(lda.eta[0, 0]))


def settings(n_paths: int, collapsed: bool, seed: int) -> Settings:
    return Settings(n_paths=n_paths, n_sweeps=1, seed=seed, collapsed=collapsed, thin=1)


# Tiny problems. The numbers of topics and of words differ, and no two priors are equal, so that a wrong index
# or constant makes a test fail.
TWO_TOPICS = Lda([[0, 1, 0], [], [2]], np.array([0.7, 0.4]), np.array([[0.9, 0.5, 0.6], [0.6, 1.5, 0.7]]))
THREE_TOPICS = Lda([[0, 1], [1]], np.array([0.5, 0.9, 0.3]), np.array([[0.6, 1.1], [1.4, 0.5], [0.8, 0.7]]))
SCALAR_PRIORS = Lda([[0, 1, 2], [2]], np.full(2, 0.6), np.full((2, 3), 0.8))

CASES = [
    pytest.param(TWO_TOPICS, 1, False, id="T2-m1"),
    pytest.param(TWO_TOPICS, 2, False, id="T2-m2"),
    pytest.param(TWO_TOPICS, 3, False, id="T2-m3"),
    pytest.param(THREE_TOPICS, 1, False, id="T3-m1"),
    pytest.param(THREE_TOPICS, 2, False, id="T3-m2"),
    pytest.param(SCALAR_PRIORS, 2, True, id="scalar-m2"),
]
"""Problem, number of paths, whether its priors are given as scalars."""


def sweeps_from_exact(
    lda: Lda, n_paths: int, collapsed: bool, n: int, seed: int, *, scalar: bool = False
) -> Iterator[State]:
    """Yield n independent states: each drawn from the exact distribution, then moved by one sweep."""
    model = plait_model(lda, scalar=scalar)
    states, p = joint_distribution(lda, n_paths)
    chosen = states[np.random.default_rng(seed).choice(len(p), size=n, p=p)]
    how = settings(n_paths, collapsed, seed)
    for k in range(n):
        yield step(model, State(k, chosen[k]), how, THREADS)


def chain(
    model: LdaModel, n_paths: int, collapsed: bool, n: int, thin: int, seed: int, burn: int = 200
) -> Iterator[State]:
    """Yield n states of one run of plait, `thin` sweeps apart. The next state works in the same arrays."""
    how = settings(n_paths, collapsed, seed)
    state = State(0, model.initial_paths(n_paths, seed, THREADS))
    for _ in range(burn):
        state = step(model, state, how, THREADS)
    for _ in range(n):
        for _ in range(thin):
            state = step(model, state, how, THREADS)
        yield state


# ---------------------------------------------------------------------------------------------------------
# Tests of fit
# ---------------------------------------------------------------------------------------------------------


def chi_square(observed: NDArray[Any], probabilities: Floats, least: float = 8.0) -> tuple[float, int]:
    """Return Pearson's statistic and its degrees of freedom for counts with these cell probabilities.

    Cells are pooled, smallest first, until each expects `least`. A count in a cell of probability zero fails
    at once.
    """
    assert not observed[probabilities == 0].any(), "a state of probability zero was drawn"
    expected = probabilities * observed.sum()
    groups_observed, groups_expected = [0.0], [0.0]
    for k in np.argsort(expected):
        if groups_expected[-1] >= least:
            groups_observed.append(0.0)
            groups_expected.append(0.0)
        groups_observed[-1] += observed[k]
        groups_expected[-1] += expected[k]
    difference = np.array(groups_observed) - groups_expected
    return float(np.sum(difference**2 / groups_expected)), len(groups_expected) - 1


def assert_fits(observed: NDArray[Any], probabilities: Floats) -> None:
    statistic, freedom = chi_square(observed, probabilities)
    assert freedom > 0
    p = stats.chi2.sf(statistic, freedom)
    assert p > LEAST_P, f"chi-square {statistic:.1f} on {freedom} degrees of freedom, p = {p:.2g}"


def assert_all_fit(results: list[tuple[float, int]]) -> None:
    """Check chi-square statistics one by one (allowing for their number) and all together."""
    statistics, freedoms = np.array(results, dtype=float).T
    tested = freedoms > 0
    p = stats.chi2.sf(statistics[tested], freedoms[tested])
    assert p.min() > LEAST_P / len(p), f"smallest of {len(p)} p-values: {p.min():.2g}"
    total = stats.chi2.sf(statistics.sum(), freedoms.sum())
    assert total > LEAST_P, f"chi-square {statistics.sum():.1f} on {freedoms.sum():.0f}, p = {total:.2g}"


def assert_small(z: NDArray[Any]) -> None:
    z = np.asarray(z)
    assert np.all(np.abs(z) < MOST_Z), f"z-scores {np.round(z[~(np.abs(z) < MOST_Z)], 1)}"


def batch_z(values: NDArray[Any], exact: NDArray[Any], n_batches: int = 50) -> NDArray[Any]:
    """Return z-scores of the means over a chain, values (n, ...), with standard errors by batch means.

    Batches are much longer than the chain's autocorrelation time, so their means are nearly independent.
    """
    n = len(values) // n_batches * n_batches
    means = values[:n].reshape(n_batches, n // n_batches, *values.shape[1:]).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(n_batches)
    return (means.mean(axis=0) - exact) / error
