"""Both samplers leave the exact joint distribution of all paths invariant, for m = 1, 2, 3.

Invariance: a state drawn from the exact distribution and moved by one sweep still follows it. Repeats are
independent, so a plain chi-square test applies. The long run tests that averages over a chain from plait's
own initial paths converge: the frequencies of the most probable states and the means of counts, with standard
errors by batch means (a batch is 200 sweeps; the chains forget within about ten).
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Lda, document_counts, joint_distribution, log_weight, state_index, word_counts
from support import (
    CASES,
    LDA_SAMPLERS,
    SCALES,
    THREADS,
    TWO_TOPICS,
    assert_fits,
    assert_small,
    batch_z,
    chain,
    plait_model,
    sweeps_from_exact,
)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
@pytest.mark.parametrize(("lda", "n_paths", "scalar"), CASES)
def test_one_sweep_leaves_the_joint_distribution_invariant(
    lda: Lda, n_paths: int, scalar: bool, collapsed: bool, scale: int
) -> None:
    n = 8_000 * scale
    sweeps = sweeps_from_exact(lda, n_paths, collapsed, n, seed=101, scalar=scalar)
    paths = np.array([state.paths for state in sweeps])
    _, p = joint_distribution(lda, n_paths)
    assert_fits(np.bincount(state_index(paths, lda.n_topics), minlength=len(p)), p)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
@pytest.mark.parametrize(("lda", "n_paths", "scalar"), CASES)
def test_averages_over_a_long_run_converge(
    lda: Lda, n_paths: int, scalar: bool, collapsed: bool, scale: int
) -> None:
    run = chain(plait_model(lda, scalar=scalar), n_paths, collapsed, 10_000 * scale, thin=1, seed=202)
    indices = state_index(np.array([state.paths.copy() for state in run]), lda.n_topics)
    states, p = joint_distribution(lda, n_paths)

    by_word = word_counts(lda, states).reshape(len(states), -1)
    by_document = document_counts(lda, states)
    alike = (by_document[:, 0] * by_document[:, -1]).sum(axis=2)  # the first path and the last
    likely = np.argsort(p)[-30:]
    is_state = np.arange(len(p))[:, None] == likely
    table = np.concatenate([by_word, by_word**2, alike, log_weight(lda, states)[:, None], is_state], axis=1)
    table = table[:, np.ptp(table, axis=0) > 0]
    assert_small(batch_z(table[indices], p @ table))


@pytest.mark.parametrize("n_paths", [1, 3])
def test_initial_paths_are_uniform(n_paths: int) -> None:
    model = plait_model(TWO_TOPICS)
    paths = np.array([model.initial_paths(n_paths, seed, THREADS) for seed in range(20_000)])
    n_states = 2 ** (n_paths * TWO_TOPICS.n_tokens)
    assert_fits(np.bincount(state_index(paths, 2), minlength=n_states), np.full(n_states, 1 / n_states))
