"""Initial paths of LDA have the distribution that their initialisation describes.

A progressive initialisation draws token after token, so the probability of an assignment is a product of
conditionals, averaged over the orders of the documents. Tiny problems are enumerated. Larger ones are
replayed: with p the conditional of a token given those drawn before it, and z its topic,
sum_{t<z} p_t + V p_z with V uniform is uniform on (0, 1).

Given topics, documents of one token have a known posterior, which the first sweep already draws from.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from oracle import Floats, Lda, all_states, state_index
from support import THREADS, THREE_TOPICS, TWO_TOPICS, assert_fits, plait_model

from plait.rng import INITIAL, PARAMETERS, generator

UNSEEN = -1


def conditional(lda: Lda, now: np.ndarray, j: int, i: int) -> Floats:
    """Return the distribution of p^j_i given the tokens of `now` (m, N) that are not UNSEEN."""
    seen = now != UNSEEN
    by_word = np.bincount(now[seen & (lda.words == lda.words[i])], minlength=lda.n_topics)
    by_topic = np.bincount(now[seen], minlength=lda.n_topics)
    own = now[j][seen[j] & (lda.document_of == lda.document_of[i])]
    r = (by_word + lda.eta[:, lda.words[i]]) / (by_topic + lda.eta.sum(axis=1))
    r = r * (np.bincount(own, minlength=lda.n_topics) + lda.alpha)
    return r / r.sum()


def draws(lda: Lda, paths: np.ndarray, order: tuple[int, ...]) -> list[tuple[int, int, Floats]]:
    """Return path, token and conditional of every draw, if the documents are visited in this order."""
    now = np.full(paths.shape, UNSEEN)
    found = []
    for d in order:
        for i in np.flatnonzero(lda.document_of == d):
            for j in range(len(paths)):
                found.append((j, i, conditional(lda, now, j, i)))
                now[j, i] = paths[j, i]
    return found


@pytest.mark.parametrize("n_paths", [1, 2])
@pytest.mark.parametrize("lda", [TWO_TOPICS, THREE_TOPICS], ids=["T2", "T3"])
def test_progressive_paths_have_the_probabilities_of_their_draws(lda: Lda, n_paths: int) -> None:
    states = all_states(lda.n_topics, n_paths, lda.n_tokens)
    orders = list(permutations(range(len(lda.documents))))
    p = np.zeros(len(states))
    for k, paths in enumerate(states.astype(np.int64)):
        for order in orders:
            p[k] += np.prod([q[paths[j, i]] for j, i, q in draws(lda, paths, order)]) / len(orders)
    assert p.sum() == pytest.approx(1)
    model = replace(plait_model(lda), initial="progressive")
    drawn = np.array([model.initial_paths(n_paths, seed, THREADS) for seed in range(20_000)])
    assert_fits(np.bincount(state_index(drawn, lda.n_topics), minlength=len(states)), p)


@pytest.mark.parametrize("n_paths", [1, 3])
@pytest.mark.parametrize("n_topics", [7, 150])
def test_every_progressive_draw_follows_its_conditional(n_topics: int, n_paths: int) -> None:
    rng = np.random.default_rng([n_topics, n_paths])
    documents = [rng.integers(6, size=n).tolist() for n in (9, 1, 0, 6)]
    eta = rng.choice([0.05, 0.4, 2.0], (n_topics, 6))
    lda = Lda(documents, rng.uniform(0.02, 0.5, n_topics), eta)
    model = replace(plait_model(lda), initial="progressive")
    positions = []
    for seed in range(150):
        paths = model.initial_paths(n_paths, seed, THREADS).astype(np.int64)
        order = generator(seed, INITIAL, PARAMETERS, 0).permutation(len(documents))
        for j, i, p in draws(lda, paths, tuple(order)):
            positions.append(p[: paths[j, i]].sum() + rng.random() * p[paths[j, i]])
    bins = np.minimum(np.array(positions) * 20, 19).astype(int)
    assert_fits(np.bincount(bins, minlength=20), np.full(20, 0.05))


@pytest.mark.parametrize("n_paths", [1, 2])
def test_paths_of_single_tokens_have_their_posterior_given_topics(n_paths: int) -> None:
    rng = np.random.default_rng(3)
    lda = Lda([[0], [1], [2]], np.array([0.3, 1.0, 0.6]), np.full((3, 3), 0.5))
    phi = rng.dirichlet(np.ones(3), 3)
    model = plait_model(lda)
    model = replace(model, initial=model.as_topics(phi, THREADS))
    drawn = np.array([model.initial_paths(n_paths, seed, THREADS) for seed in range(5000)])
    for d in range(3):
        p = lda.alpha * phi[:, d]
        for j in range(n_paths):
            assert_fits(np.bincount(drawn[:, j, d], minlength=3), p / p.sum())


def test_paths_given_topics_have_nearly_their_posterior() -> None:
    """Five sweeps from a uniform start are near the posterior of a document, if not exactly there."""
    lda = Lda([[0, 1, 0, 1]], np.array([0.4, 0.4]), np.full((2, 2), 0.5))
    phi = np.array([[0.7, 0.3], [0.3, 0.7]])
    model = plait_model(lda)
    model = replace(model, initial=model.as_topics(phi, THREADS))
    states = all_states(2, 1, 4)[:, 0]
    weights = np.ones(len(states))
    for k, path in enumerate(states):
        for i, t in enumerate(path):
            weights[k] *= phi[t, lda.words[i]] * (np.sum(path[:i] == t) + 0.4) / (i + 0.8)
    drawn = np.array([model.initial_paths(1, seed, THREADS) for seed in range(5000)])
    found = np.bincount(state_index(drawn, 2), minlength=16) / 5000
    assert np.abs(found - weights / weights.sum()).sum() / 2 < 0.05
