"""Topics of new documents, against the posterior written out in full."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.inference import topics as module
from plait.inference.topics import KnownTopics, infer_theta
from plait.models.lda import LdaModel
from plait.threads import Threads

PHI = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.5, 0.3], [0.25, 0.25, 0.25, 0.25]])
VOCABULARY = ("a", "b", "c", "d")
DOCUMENTS = [["a"], ["d", "b", "a", "c", "a"], [], ["c", "c", "c", "d"]]


def make_topics(phi, alpha):
    """Return topics (T, W) in the form the sampler uses."""
    n_topics, n_words = phi.shape
    words = tuple(map(str, range(n_words)))
    model = LdaModel(Corpus(np.zeros(1, int), np.array([0, 1]), words), n_topics, alpha)
    return model.as_topics(phi, Threads(1))


def exact_theta(words, phi, alpha):
    """Return E[theta | words, phi]: a mean over all assignments of topics to tokens."""
    n_topics = len(phi)
    total, theta = 0.0, np.zeros(n_topics)
    for path in product(range(n_topics), repeat=len(words)):
        counts = np.bincount(np.array(path, int), minlength=n_topics)
        weight = np.exp((gammaln(alpha + counts) - gammaln(alpha)).sum()) * np.prod(phi[path, words])
        total += weight
        theta += weight * (counts + alpha) / (len(words) + alpha.sum())
    return theta / total


@pytest.mark.parametrize("longest", [0, 10_000], ids=["long", "short"])
@pytest.mark.parametrize(
    "alpha", [np.full(3, 0.3), np.array([0.1, 0.5, 2.0])], ids=["symmetric", "asymmetric"]
)
def test_the_mean_is_that_of_the_posterior(alpha, longest, monkeypatch):
    monkeypatch.setattr(module, "LONG", longest)
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    theta = infer_theta(
        corpus, make_topics(PHI, alpha), alpha, n_paths=100, n_sweeps=1000, burn_in=20, n_jobs=1
    )
    exact = [exact_theta([VOCABULARY.index(word) for word in document], PHI, alpha) for document in DOCUMENTS]
    assert np.abs(theta - exact).max() < 0.005
    assert np.allclose(theta.sum(axis=1), 1)


def test_the_defaults_are_good_to_a_few_hundredths():
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    alpha = np.full(3, 0.3)
    exact = [exact_theta([VOCABULARY.index(word) for word in words], PHI, alpha) for words in DOCUMENTS]
    topics = make_topics(PHI, alpha)
    thetas = [infer_theta(corpus, topics, 0.3, seed=seed, n_jobs=1) for seed in range(20)]
    assert np.abs(np.mean(thetas, axis=0) - exact).max() < 0.03  # no bias worth speaking of
    assert np.std(thetas, axis=0).max() < 0.1


def test_topics_without_a_common_word_leave_nothing_to_chance():
    phi = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    theta = infer_theta(corpus, make_topics(phi, 0.5), 0.5, n_jobs=1)
    assert np.allclose(theta[:, 0], [1.5 / 2, 3.5 / 6, 0.5, 0.5 / 5])


@pytest.mark.parametrize("alpha", [0.2, np.array([0.2, 0.3, 0.5])])
def test_documents_without_words_get_the_prior(alpha):
    corpus = Corpus.from_tokens([[], []], vocabulary=VOCABULARY)
    theta = infer_theta(corpus, make_topics(PHI, alpha), alpha, n_jobs=1)
    assert np.allclose(theta, np.broadcast_to(alpha, 3) / np.broadcast_to(alpha, 3).sum())


def test_the_seed_matters_and_the_order_of_words_does_not():
    topics = make_topics(PHI, 0.3)
    mine, reverse = (
        Corpus.from_tokens([document[::step] for document in DOCUMENTS], vocabulary=VOCABULARY)
        for step in (1, -1)
    )
    theta = infer_theta(mine, topics, 0.3, seed=1, n_jobs=1)
    assert np.array_equal(infer_theta(reverse, topics, 0.3, seed=1, n_jobs=1), theta)
    assert not np.array_equal(infer_theta(mine, topics, 0.3, seed=2, n_jobs=1), theta)


@pytest.mark.parametrize("burn_in", [10, 11, -1])
def test_sweeps_must_be_left_after_the_burn_in(burn_in):
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    with pytest.raises(PlaitError, match=f"{burn_in}"):
        infer_theta(corpus, make_topics(PHI, 0.3), 0.3, n_sweeps=10, burn_in=burn_in, n_jobs=1)


@pytest.mark.parametrize("longest", [0, 10_000], ids=["long", "short"])
def test_a_result_depends_on_neither_the_other_documents_nor_the_threads(longest, monkeypatch):
    monkeypatch.setattr(module, "LONG", longest)
    monkeypatch.setattr(module, "_UPDATES_PER_RANGE", 1)
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    topics = make_topics(PHI, 0.3)
    theta = infer_theta(corpus, topics, 0.3, n_jobs=1)
    assert np.array_equal(infer_theta(corpus, topics, 0.3, n_jobs=3), theta)
    for d in range(len(DOCUMENTS)):
        assert np.array_equal(infer_theta(corpus.select([d]), topics, 0.3, n_jobs=1), theta[[d]])


def test_long_documents_are_those_beyond_the_limit(monkeypatch):
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    topics = make_topics(PHI, 0.3)
    short = infer_theta(corpus, topics, 0.3, n_jobs=1)
    monkeypatch.setattr(module, "LONG", 4)
    mixed = infer_theta(corpus, topics, 0.3, n_jobs=1)
    assert (mixed == short).all(axis=1).tolist() == [True, False, True, True]


def test_a_word_that_no_topic_has_leaves_a_long_document_to_the_prior(monkeypatch):
    monkeypatch.setattr(module, "LONG", 0)
    corpus = Corpus.from_tokens([["d"] * 5], vocabulary=VOCABULARY)
    phi = np.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0]])
    theta = infer_theta(corpus, make_topics(phi, 0.5), 0.5, n_jobs=1)
    assert np.allclose(theta.sum(), 1)


def test_copies_by_pickle_need_no_other_kernel():
    known = KnownTopics(make_topics(PHI, 0.3), 0.3)
    copy = pickle.loads(pickle.dumps(known))
    assert not known._alpha.flags.writeable
    assert not copy._alpha.flags.writeable
    corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)
    assert np.array_equal(copy.theta(corpus, n_jobs=1), known.theta(corpus, n_jobs=1))


def test_the_topics_of_a_fitted_estimator_follow_the_last_fit():
    lda = plait.LatentDirichletAllocation(2, n_paths=1, max_iter=20, random_state=0, n_jobs=1)
    first = lda.fit([["a", "b"], ["c", "d"]] * 5).transform([["a", "b"]])
    assert not np.array_equal(lda.fit([["a", "c"], ["b", "d"]] * 5).transform([["a", "b"]]), first)
    assert np.array_equal(lda.fit([["a", "b"], ["c", "d"]] * 5).transform([["a", "b"]]), first)
