"""Invariants of every state: counts match the paths, topics are in range, phi sums to 1."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Lda, conditional_collapsed, log_path_likelihood
from support import LDA_SAMPLERS, THREADS, assert_fits, plait_model, settings

from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.kernels.documents import scratch_topic_list
from plait.kernels.lda import log_joint_documents
from plait.models.lda import MAX_TOPICS, LdaModel, TopicCounts
from plait.models.model import Key
from plait.sampler import State, log_joint, step
from plait.threads import Threads


def corpus_of(lengths: np.ndarray, n_words: int, seed: int) -> Corpus:
    words = np.random.default_rng(seed).integers(n_words, size=int(np.sum(lengths)), dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Corpus(words, offsets, tuple(f"w{w}" for w in range(n_words)))


def check_counts(model: LdaModel, paths: np.ndarray, counts: TopicCounts) -> None:
    exact = np.zeros((model.corpus.n_words, model.n_topics), np.int64)
    for path in paths:
        np.add.at(exact, (model.corpus.words, path), 1)
    np.testing.assert_array_equal(counts.words, exact)
    np.testing.assert_array_equal(counts.topics, exact.sum(axis=0))
    assert counts.topics.sum() == paths.size


def run_checked(model: LdaModel, n_paths: int, collapsed: bool, n_sweeps: int) -> State:
    how = settings(n_paths, collapsed, seed=11)
    state = State(0, model.initial_paths(n_paths, 11, THREADS))
    assert state.paths.shape == (n_paths, model.corpus.n_tokens)
    moved = 0
    for _ in range(n_sweeps):
        before = state.paths.copy()
        state = step(model, state, how, THREADS)
        moved += int(np.sum(before != state.paths))
        assert state.paths.max() < model.n_topics
        check_counts(model, state.paths, model.count(state.paths, THREADS))
        if collapsed:
            check_counts(model, state.paths, state.counts)
            topics = model.mean_parameters(state.counts, THREADS)
        else:
            topics = state.parameters
        assert np.isfinite(topics.phi).all()
        assert (topics.phi >= 0).all()
        np.testing.assert_allclose(topics.phi.sum(axis=0, dtype=float), 1, atol=1e-5)
        assert np.isfinite(log_joint(model, state, THREADS)).all()
    assert moved > 0 or model.n_topics == 1
    return state


MIXED = np.array([0, 7, 1, 0, 30, 1, 12, 200, 0, 3, 1, 25, 0])


@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
@pytest.mark.parametrize("n_paths", [1, 4])
@pytest.mark.parametrize(
    ("n_topics", "n_words"),
    [(2, 50), (20, 50), (33, 50), (600, 50), (5, 1)],  # also more topics than tokens, and one word only
)
def test_counts_are_conserved(n_topics: int, n_words: int, n_paths: int, collapsed: bool) -> None:
    model = LdaModel(corpus_of(MIXED, n_words, seed=12), n_topics, eta=0.1 if n_words > 1 else 1.0)
    run_checked(model, n_paths, collapsed, n_sweeps=25)


@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
def test_per_cell_priors_conserve_counts(collapsed: bool) -> None:
    rng = np.random.default_rng(13)
    corpus = corpus_of(MIXED, 40, seed=14)
    model = LdaModel(corpus, 35, rng.uniform(0.01, 2, 35), rng.uniform(0.05, 3, (35, 40)))
    run_checked(model, 3, collapsed, n_sweeps=25)


@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
def test_largest_number_of_topics_works(collapsed: bool) -> None:
    """T = 65535: the last topic is 65534, and all values of two bytes but one are in use."""
    model = LdaModel(corpus_of(np.array([3, 0, 1, 2]), 2, seed=15), MAX_TOPICS, eta=1.0)
    state = run_checked(model, 2, collapsed, n_sweeps=3)
    state.paths[:] = MAX_TOPICS - 1
    how = settings(2, collapsed, seed=16)
    stayed = 0
    for sweep in range(4):
        after = step(model, State(sweep, state.paths.copy()), how, THREADS)
        assert after.paths.max() < MAX_TOPICS
        stayed += int(np.sum(after.paths == MAX_TOPICS - 1))
        check_counts(model, after.paths, model.count(after.paths, THREADS))
    assert stayed > 0


@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
def test_one_topic_works_where_it_is_asked_for(collapsed: bool) -> None:
    with pytest.raises(PlaitError, match=r"^n_topics must be .* from 2 to 65535, got 1$"):
        LdaModel(corpus_of(MIXED, 9, seed=17), 1)
    model = LdaModel(corpus_of(MIXED, 9, seed=17), 1, least_topics=1)
    state = run_checked(model, 2, collapsed, n_sweeps=3)
    assert not state.paths.any()


@pytest.mark.parametrize("collapsed", LDA_SAMPLERS, indirect=True)
def test_topic_of_a_lone_token_follows_alpha(collapsed: bool) -> None:
    """One token in one document and W = 1: eta does not matter."""
    lda = Lda([[0]], np.array([0.2, 0.5, 0.3]), np.full((3, 1), 0.7))
    model, how = plait_model(lda), settings(1, collapsed, seed=18)
    drawn = np.zeros(3, np.int64)
    state = State(0, model.initial_paths(1, 18, THREADS))
    for _ in range(3_000):
        state = step(model, state, how, THREADS)
        drawn[state.paths[0, 0]] += 1
    np.testing.assert_allclose(conditional_collapsed(lda, state.paths, 0, 0), lda.alpha)
    assert_fits(drawn, lda.alpha)


def test_ranges_and_threads_leave_the_same_bits() -> None:
    """The corpus is large enough for several ranges; one thread against three."""
    model = LdaModel(corpus_of(np.full(400, 100), 4_000, seed=19), 40, eta=0.05)
    assert len(model._document_ranges) > 3
    assert len(model._word_ranges) > 1
    states = []
    for n_jobs in (1, 3):
        with Threads(n_jobs) as threads:
            state = State(0, model.initial_paths(2, 20, threads))
            for _ in range(3):
                state = step(model, state, settings(2, False, seed=20), threads)
            check_counts(model, state.paths, model.count(state.paths, threads))
            states.append(state)
    np.testing.assert_array_equal(states[0].paths, states[1].paths)
    np.testing.assert_array_equal(states[0].parameters.phi, states[1].parameters.phi)


# ---------------------------------------------------------------------------------------------------------
# log P(p, w | phi)
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_paths", [1, 3])
def test_log_joint_is_the_path_likelihood(n_paths: int) -> None:
    rng = np.random.default_rng(21)
    documents = [rng.integers(8, size=n).tolist() for n in (3, 0, 1, 40, 500)]  # the last underflows
    lda = Lda(documents, rng.uniform(0.05, 2, 6), rng.uniform(0.1, 2, (6, 8)))
    model = plait_model(lda)
    paths = rng.integers(6, size=(n_paths, lda.n_tokens)).astype(np.uint16)
    counts = model.count(paths, THREADS)
    for topics in (
        model.draw_parameters(counts, Key(22, 1), THREADS),
        model.mean_parameters(counts, THREADS),
    ):
        phi = topics.phi.T.astype(float)
        exact = [log_path_likelihood(lda, path, phi) for path in paths]
        np.testing.assert_allclose(model.log_joint(paths, topics, THREADS), exact, rtol=1e-11)


def test_log_joint_of_the_collapsed_sampler_is_given_the_mean_of_phi() -> None:
    lda = Lda([[0, 1, 1], [2, 0]], np.array([0.3, 0.8]), np.array([[0.5, 0.6, 0.7], [0.8, 0.9, 1.0]]))
    model = plait_model(lda)
    state = step(model, State(0, model.initial_paths(2, 23, THREADS)), settings(2, True, 23), THREADS)
    mean = np.array(lda.eta)
    for path in state.paths:
        np.add.at(mean, (path, lda.words), 1)
    mean /= mean.sum(axis=1, keepdims=True)
    exact = [log_path_likelihood(lda, path, mean) for path in state.paths]
    np.testing.assert_allclose(log_joint(model, state, THREADS), exact, rtol=1e-6)  # phi has single precision


def test_log_joint_adds_up_over_ranges() -> None:
    lda = Lda([[0, 1], [1], [], [0, 0, 1]], np.array([0.3, 0.8]), np.ones((2, 2)))
    model = plait_model(lda)
    paths = np.array([[0, 1, 1, 0, 1, 0]], np.uint16)
    topics = model.mean_parameters(model.count(paths, THREADS), THREADS)
    parts = np.zeros(1)
    for first, last in ((0, 1), (1, 3), (3, 4)):
        present = scratch_topic_list(2)
        log_joint_documents(first, last, model._documents, paths, topics.phi, lda.alpha, present, parts)
    np.testing.assert_allclose(parts, model.log_joint(paths, topics, THREADS))
