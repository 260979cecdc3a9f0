"""Learnt priors maximise the marginal likelihood of the paths, as numerical optimisation finds it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln

import plait
from plait.data.corpus import Corpus
from plait.models import learnt_priors
from plait.models.lda import DEFAULT_ETA, LdaModel, default_alpha
from plait.threads import Threads

ONE = Threads(1)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(1)
    lengths = np.append(rng.integers(0, 12, 30), 0)
    words = rng.integers(0, 6, lengths.sum()).astype(np.int32)
    return Corpus(words, np.append(0, np.cumsum(lengths)), tuple("abcdef"))


@pytest.fixture(scope="module", params=[1, 2, 3], ids=["m1", "m2", "m3"])
def paths(request, corpus):
    rng = np.random.default_rng(2)
    return rng.choice(3, p=[0.6, 0.3, 0.1], size=(request.param, corpus.n_tokens)).astype(np.uint16)


def log_beta(a):
    return gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))


def log_hyperprior(values, start, weight):
    return weight * (np.log(values) - values / start).sum()


def document_counts(corpus, paths):
    owner = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    return np.array(
        [[np.bincount(path[owner == d], minlength=3) for d in range(corpus.n_documents)] for path in paths]
    )


def word_counts(corpus, paths):
    return np.array(
        [sum(np.bincount(corpus.words[path == t], minlength=6) for path in paths) for t in range(3)]
    )


def maximum(log_density, start):
    found = minimize(
        lambda logs: -log_density(np.exp(logs)),
        np.log(start),
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 20_000, "maxfev": 20_000},
    )
    assert found.success
    return np.exp(found.x)


def learn_until_settled(model, paths):
    for _ in range(100):
        model = model.with_learnt_priors(paths, model.count(paths, ONE), ONE)
    return model


def test_alpha_maximises_the_probability_of_the_topics(corpus, paths):
    counts = document_counts(corpus, paths)

    def log_density(alpha):
        own = (log_beta(alpha + counts) - log_beta(alpha)).sum()
        return own + log_hyperprior(alpha, default_alpha(3), learnt_priors.ALPHA_WEIGHT)

    best = maximum(log_density, np.ones(3))
    learnt = learn_until_settled(LdaModel(corpus, 3, fixed=("eta",)), paths)
    np.testing.assert_allclose(learnt.alpha_vector, best, rtol=2e-3)
    assert float(learnt.eta) == DEFAULT_ETA


def test_eta_maximises_the_probability_of_the_words(corpus, paths):
    counts = word_counts(corpus, paths)

    def log_density(eta):
        own = (log_beta(eta[0] + counts) - log_beta(np.full(6, eta[0]))).sum()
        return own + log_hyperprior(eta, DEFAULT_ETA, learnt_priors.ETA_WEIGHT)

    best = maximum(log_density, np.array([0.1]))
    learnt = learn_until_settled(LdaModel(corpus, 3, fixed=("alpha",)), paths)
    assert float(learnt.eta) == pytest.approx(best[0], rel=2e-3)
    assert set(learnt.alpha_vector) == {default_alpha(3)}


def test_scale_of_a_matrix_maximises_the_probability_of_the_words(corpus, paths):
    counts = word_counts(corpus, paths)
    shape = np.random.default_rng(3).uniform(0.1, 2.0, (3, 6))
    best = maximum(lambda s: (log_beta(s[0] * shape + counts) - log_beta(s[0] * shape)).sum(), np.ones(1))
    learnt = learn_until_settled(LdaModel(corpus, 3, 0.5, shape, fixed=("alpha",)), paths)
    np.testing.assert_allclose(learnt.eta, best[0] * shape, rtol=2e-3)


def test_learnt_priors_reach_the_sampler(corpus, paths):
    """The model with learnt priors samples as one that is built with these values does."""
    learnt = LdaModel(corpus, 3).with_learnt_priors(paths, LdaModel(corpus, 3).count(paths, ONE), ONE)
    built = LdaModel(corpus, 3, learnt.alpha_vector, float(learnt.eta))
    for mine, other in zip(learnt._priors, built._priors, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("eta", [0.01, 0.5])
def test_samplers_take_the_least_eta_and_estimates_the_learnt_one(corpus, paths, eta):
    bounded, larger = LdaModel(corpus, 3, eta=eta, least_eta=0.2), LdaModel(corpus, 3, eta=max(eta, 0.2))
    plain = LdaModel(corpus, 3, eta=eta)
    counts = plain.count(paths, ONE)
    for collapsed in (False, True):
        mine, theirs = (
            plait.sample(model, n_paths=2, n_sweeps=5, collapsed=collapsed, n_jobs=1)
            for model in (bounded, larger)
        )
        np.testing.assert_array_equal(mine.paths, theirs.paths)
    np.testing.assert_array_equal(bounded.topic_word(counts), plain.topic_word(counts))
    np.testing.assert_array_equal(
        bounded.mean_parameters(counts, ONE).phi, plain.mean_parameters(counts, ONE).phi
    )
    learnt = bounded.with_learnt_priors(paths, counts, ONE)
    assert float(learnt.eta) == float(plain.with_learnt_priors(paths, counts, ONE).eta)
    assert learnt.least_eta == LdaModel.from_arrays(*learnt.to_arrays()).least_eta == 0.2
    assert pickle.loads(pickle.dumps(learnt)).least_eta == 0.2


def test_a_least_eta_that_is_no_prior_is_refused(corpus):
    for value, got in ((-0.1, "-0.1"), (float("nan"), "nan"), ("a", "'a'"), (1e20, "1e\\+20")):
        with pytest.raises(plait.PlaitError, match=f"least_eta must be .*, got {got}"):
            LdaModel(corpus, 3, least_eta=value)


def test_bits_do_not_depend_on_threads(corpus, paths):
    model = LdaModel(corpus, 3)
    counts = model.count(paths, ONE)
    with Threads(4) as four:
        one, other = (model.with_learnt_priors(paths, counts, threads) for threads in (ONE, four))
    np.testing.assert_array_equal(one.alpha_vector, other.alpha_vector)
    assert float(one.eta) == float(other.eta)


def test_topic_without_tokens_keeps_a_positive_prior(corpus):
    paths = np.zeros((1, corpus.n_tokens), np.uint16)
    learnt = learn_until_settled(LdaModel(corpus, 3), paths)
    assert (learnt.alpha_vector[1:] > 1e-3).all()
    assert learnt.alpha_vector[0] > learnt.alpha_vector[1]
    assert np.isfinite(learnt.alpha_vector).all()


@pytest.mark.parametrize("length", [1, 2])
def test_priors_of_extreme_data_stay_in_range(length):
    """One word per document, or each document of one topic: likelihoods that increase without bound."""
    words = np.zeros(50 * length, np.int32)
    corpus = Corpus(words, np.arange(0, 50 * length + 1, length), ("a",))
    paths = (np.arange(50 * length) // length % 2).astype(np.uint16)[None]
    learnt = learn_until_settled(LdaModel(corpus, 2), paths)
    assert (learnt.alpha_vector >= learnt_priors.ALPHA_RANGE[0]).all()
    assert (learnt.alpha_vector <= learnt_priors.ALPHA_RANGE[1]).all()
    assert learnt_priors.ETA_RANGE[0] <= float(learnt.eta) <= learnt_priors.ETA_RANGE[1]
