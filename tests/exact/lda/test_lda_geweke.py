"""Geweke's (2004) joint distribution test, for the multipath model.

The multipath model draws phi, then m copies of paths and data (p^j, w^j), and is conditioned on all copies
of the data being equal. If that common value w is free as well, the joint density is

    g(phi, p^1..m, w)  proportional to  P(phi) prod_j P(p^j, w | phi),   normalised over w too.

Marginal-conditional simulator: draw the generative model, theta and all m copies of the data included, and
keep the draw if the copies are equal. That is g by definition and uses no formula at all.

Successive-conditional simulator: alternate a sweep of plait given w, which leaves g(phi, p^1..m | w)
invariant, with a draw of w given the rest. The latter factorises over tokens,

    g(w_i | p^1..m, phi)  proportional to  prod_j phi_{p^j_i}(w_i).

Both must agree in the mean of any function. (With m = 1 this is the classical test.)
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from oracle import Floats, Lda
from support import LDA_SAMPLERS, SCALES, THREADS, assert_small, batch_z, plait_model, settings

from plait.models.model import Key
from plait.sampler import State, step

GEWEKE = Lda([[0, 0, 0], [0]], np.array([0.8, 0.5]), np.array([[0.7, 1.2, 0.5], [1.6, 0.6, 0.9]]))
Draws = tuple[Floats, np.ndarray, np.ndarray]  # phi (n, T, W), paths (n, m, N), words (n, N)


def categorical(p: Floats, rng: np.random.Generator) -> np.ndarray:
    """Draw from distributions that lie along the last axis."""
    return (np.cumsum(p, axis=-1) < rng.random(p.shape[:-1])[..., None]).sum(axis=-1).clip(0, p.shape[-1] - 1)


def dirichlet(shapes: Floats, n: int, rng: np.random.Generator) -> Floats:
    gammas = rng.standard_gamma(shapes, size=(n, *shapes.shape))
    return gammas / gammas.sum(axis=-1, keepdims=True)


@cache
def marginal_conditional(n_paths: int, n_proposals: int, seed: int) -> Draws:
    rng = np.random.default_rng(seed)
    lda, which = GEWEKE, np.arange(n_proposals)[:, None]
    phi = dirichlet(lda.eta, n_proposals, rng)
    paths, words = [], []
    for _ in range(n_paths):
        theta = dirichlet(np.tile(lda.alpha, (len(lda.documents), 1)), n_proposals, rng)
        path = categorical(theta[:, lda.document_of], rng)
        paths.append(path)
        words.append(categorical(phi[which, path], rng))
    equal = np.all(np.array(words) == words[0], axis=(0, 2))
    return phi[equal], np.stack(paths, axis=1)[equal], words[0][equal]


def successive_conditional(n_paths: int, collapsed: bool, n: int, seed: int) -> Draws:
    rng = np.random.default_rng(seed)
    lda, how = GEWEKE, settings(n_paths, collapsed, seed)
    models = {}
    words = np.zeros(lda.n_tokens, np.int64)
    state = State(0, plait_model(lda).initial_paths(n_paths, seed, THREADS))
    all_phi = np.empty((n, lda.n_topics, lda.n_words))
    all_paths = np.empty((n, n_paths, lda.n_tokens), np.int64)
    all_words = np.empty((n, lda.n_tokens), np.int64)
    for k in range(n):
        name = tuple(words)
        if name not in models:
            models[name] = plait_model(Lda([words[:3], words[3:]], lda.alpha, lda.eta))
        model = models[name]
        state = step(model, State(k, state.paths), how, THREADS)
        topics = state.parameters
        if topics is None:
            topics = model.draw_parameters(state.counts, Key(seed, k + 1), THREADS)
        phi = topics.phi.astype(float)
        weights = np.cumsum(phi[:, state.paths].prod(axis=1), axis=0)  # (W, N)
        words = (weights <= rng.random(lda.n_tokens) * weights[-1]).sum(axis=0)
        all_phi[k], all_paths[k], all_words[k] = phi.T, state.paths, words
    return all_phi, all_paths, all_words


def functions(draws: Draws) -> Floats:
    """Test functions (n, K): of phi, paths and words alone, and of all of them together."""
    phi, paths, words = draws
    rows = np.arange(len(phi))[:, None]
    values = [phi.reshape(len(phi), -1)[:, [0, 1, 3, 4]], phi[:, :, 0] ** 2, phi[:, 0, :1] * phi[:, 1, 1:2]]
    values += [(paths == 0).mean(axis=1)]  # topics, token by token
    values += [words == 0, words == 1, (words[:, :1] == words[:, 1:])]
    for j in range(paths.shape[1]):
        own = paths[:, j]
        values += [(own[:, :1] == own[:, 1:])]  # topics that go together
        values += [phi[rows, own, words][:, [0, 3]]]  # phi_{p_i}(w_i)
        values += [((own == 0) & (words == 1)).sum(axis=1, keepdims=True)]
        values += [((own == 1) & (words == 2)).sum(axis=1, keepdims=True)]
    values += [(paths[:, 0] == paths[:, -1])[:, [0, 3]]]  # two paths that agree
    functions = np.concatenate([np.asarray(v, float) for v in values], axis=1)
    return functions[:, np.ptp(functions, axis=0) > 0]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
@pytest.mark.parametrize("n_paths", [1, 2])
def test_both_simulators_of_the_joint_distribution_agree(n_paths: int, collapsed: bool, scale: int) -> None:
    n = 7_500 * scale
    forward = functions(marginal_conditional(n_paths, (30_000 if n_paths == 1 else 200_000) * scale, seed=7))
    assert len(forward) > n
    backward = functions(successive_conditional(n_paths, collapsed, n, seed=8))
    assert forward.shape[1] == backward.shape[1] > 20
    z = batch_z(backward, forward.mean(axis=0))
    # batch_z divides by the error of the backward means; add that of the forward ones
    backward_error = np.abs((backward[: n // 50 * 50].mean(axis=0) - forward.mean(axis=0)) / z)
    forward_error = forward.std(axis=0) / np.sqrt(len(forward))
    assert_small(z * backward_error / np.hypot(backward_error, forward_error))
