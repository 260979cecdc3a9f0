"""The left-to-right estimate, against the sum over all topics of short documents."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.evaluate.heldout import score_left_to_right
from plait.kernels import held_out as kernels
from plait.models.topics import make_topics

PHI = np.random.default_rng(0).dirichlet(np.full(4, 0.5), 3)
WORDS = [0, 1, 1, 2, 3, 3]
CORPUS = Corpus(WORDS, [0, len(WORDS)], tuple("abcd"))
ALPHAS = {"symmetric": np.full(3, 0.5), "asymmetric": np.array([0.1, 1.5, 0.4])}
N_SEEDS = 3000


def likelihood(words, phi, alpha):
    """Return P(w | phi, alpha), the sum over all topics of P(w, z | phi, alpha)."""
    constant = math.lgamma(alpha.sum()) - math.lgamma(alpha.sum() + len(words))
    total = 0.0
    for z in itertools.product(range(len(phi)), repeat=len(words)):
        counts = np.bincount(z, minlength=len(phi))
        polya = sum(math.lgamma(a + n) - math.lgamma(a) for a, n in zip(alpha, counts, strict=True))
        total += math.exp(constant + polya) * math.prod(phi[t, w] for t, w in zip(z, words, strict=True))
    return total


def estimates(n_particles, alpha, corpus=CORPUS, phi=PHI, n_seeds=N_SEEDS):
    """Return estimates of the log-likelihood with many seeds."""
    topics = make_topics(phi, alpha)
    return np.array(
        [
            score_left_to_right(
                corpus, topics, alpha, n_particles=n_particles, seed=seed, n_jobs=1
            ).log_likelihood
            for seed in range(n_seeds)
        ]
    )


@pytest.mark.parametrize("alpha", ALPHAS.values(), ids=ALPHAS)
@pytest.mark.parametrize("n_particles", [1, 2, 5])
def test_the_mean_estimate_is_the_likelihood(n_particles, alpha):
    values = np.exp(estimates(n_particles, alpha))
    error = values.std() / np.sqrt(len(values))
    exact = likelihood(WORDS, PHI, alpha)
    assert abs(values.mean() - exact) < 4 * error
    assert error < 0.02 * exact  # or the test could not see a bias


@pytest.mark.parametrize("n_particles", [2, 3])
def test_the_mean_estimate_is_the_likelihood_if_moves_change_little(n_particles):
    # A small alpha keeps all tokens in one topic. Then particles that predicted well must get more weight:
    # two that are weighted equally estimate 0.93 of the likelihood.
    phi, alpha, words = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.002, 0.004]), [0, 0, 0, 0, 1, 0]
    corpus = Corpus(words, [0, len(words)], ("a", "b"))
    values = np.exp(estimates(n_particles, alpha, corpus, phi))
    error = values.std() / np.sqrt(len(values))
    exact = likelihood(words, phi, alpha)
    assert abs(values.mean() - exact) < 4 * error
    assert error < 0.03 * exact


def test_the_mean_estimate_is_the_likelihood_if_only_some_tokens_move():
    # A document with more tokens than one move redraws. Since it repeats one word and has two topics, its
    # likelihood is a sum over the number of tokens of the first topic.
    phi = np.array([[0.9, 0.1], [0.2, 0.8]])
    alpha = np.array([0.3, 0.6])
    n = kernels.MOST_MOVES + 20
    words = np.zeros(n, np.int32)
    logs = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + math.lgamma(0.9)
        - math.lgamma(0.9 + n)
        + math.lgamma(0.3 + k)
        - math.lgamma(0.3)
        + math.lgamma(0.6 + n - k)
        - math.lgamma(0.6)
        + k * math.log(0.9)
        + (n - k) * math.log(0.2)
        for k in range(n + 1)
    ]
    exact = np.logaddexp.reduce(logs)
    values = np.exp(estimates(5, alpha, Corpus(words, [0, n], ("a", "b")), phi, n_seeds=400) - exact)
    error = values.std() / np.sqrt(len(values))
    assert abs(values.mean() - 1) < 4 * error
    assert error < 0.1


def test_particles_survive_in_proportion_to_their_weights():
    weights = np.array([0.1, 2.0, 0.0, 0.5, 1.4])
    n, steps = len(weights), 2000
    copies = np.zeros(n)
    for u in (np.arange(steps) + 0.5) / steps:
        particles = kernels.scratch_particles(n, 4, 2)
        particles.weights[:] = weights
        for r in range(n):
            particles.paths[r] = r, 7
            particles.sizes[r] = 1
            particles.present.topics[r, 0] = r % 4
            particles.present.counts[r, 0] = r
            particles.present.place[r, r % 4] = 0
        kernels._survive(2, weights.sum(), u, particles)
        source = particles.paths[:, 0]
        copies += np.bincount(source, minlength=n)
        # Each is a whole copy.
        np.testing.assert_array_equal(particles.paths[:, 1], 7)
        np.testing.assert_array_equal(particles.present.counts[:, 0], source)
        np.testing.assert_array_equal(particles.present.topics[:, 0], source % 4)
        placed = [np.flatnonzero(row == 0).tolist() for row in particles.present.place]
        assert placed == [[r % 4] for r in source]
    np.testing.assert_allclose(copies / steps, n * weights / weights.sum(), atol=2 / steps)


def test_more_particles_make_the_error_smaller():
    exact = math.log(likelihood(WORDS, PHI, ALPHAS["asymmetric"]))
    errors = [
        np.sqrt(np.mean((estimates(n, ALPHAS["asymmetric"], n_seeds=600) - exact) ** 2)) for n in (1, 8, 64)
    ]
    # Independent particles would give a factor of sqrt(8); 600 values know each error to about 4 %.
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_one_word_needs_no_sampling():
    corpus = Corpus([2], [0, 1], tuple("abcd"))
    alpha = ALPHAS["asymmetric"]
    exact = math.log(alpha @ PHI[:, 2] / alpha.sum())
    np.testing.assert_allclose(estimates(3, alpha, corpus, n_seeds=3), exact, rtol=1e-6)


def test_the_likelihoods_of_all_documents_of_a_length_sum_to_one():
    documents = list(itertools.product(range(4), repeat=3))
    words = np.array(documents, np.int32).ravel()
    corpus = Corpus(words, np.arange(0, words.size + 1, 3), tuple("abcd"))
    alpha = ALPHAS["asymmetric"]
    result = score_left_to_right(corpus, make_topics(PHI, alpha), alpha, n_particles=2000, n_jobs=1)
    exact = np.array([likelihood(document, PHI, alpha) for document in documents])
    assert exact.sum() == pytest.approx(1)
    # The relative error of one particle is about 1 for three tokens, and documents with the same words agree.
    np.testing.assert_allclose(np.exp(result.document_scores), exact, rtol=4 / math.sqrt(2000))


def test_many_topics_and_documents_of_all_lengths():
    # More than one block of topics; equal topics make the likelihood that of the words alone.
    rng = np.random.default_rng(4)
    topic = rng.dirichlet(np.ones(6))
    lengths = np.array([0, 1, 150, 0, 30])
    words = rng.integers(0, 6, lengths.sum(), dtype=np.int32)
    corpus = Corpus(words, np.append(0, np.cumsum(lengths)), tuple("abcdef"))
    alpha = rng.uniform(0.01, 1, 70)
    topics = make_topics(np.tile(topic, (70, 1)), alpha)
    result = score_left_to_right(corpus, topics, alpha, n_particles=4, n_jobs=1)
    exact = np.add.reduceat(np.append(np.log(topic)[words], 0), corpus.offsets[:-1]) * (lengths > 0)
    np.testing.assert_allclose(result.document_scores, exact, rtol=1e-5)
    np.testing.assert_array_equal(result.document_tokens, lengths)
