"""Document completion, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.evaluate.heldout import HeldOut, complete_documents
from plait.inference import infer_theta
from plait.models.lda import LdaModel
from plait.threads import Threads

VOCABULARY = ("a", "b", "c", "d")
DOCUMENTS = [["a", "b", "c"], [], ["d"], ["c", "c", "d", "a", "b", "b"]]
CORPUS = Corpus.from_tokens(DOCUMENTS, vocabulary=VOCABULARY)


def make_topics(phi, alpha):
    model = LdaModel(Corpus.from_tokens([VOCABULARY]), len(phi), alpha, least_topics=1)
    return model.as_topics(np.asarray(phi, float), Threads(1))


def test_the_log_likelihood_follows_its_formula():
    phi = np.random.default_rng(0).dirichlet(np.ones(4), 3)
    topics = make_topics(phi, 0.2)
    result = complete_documents(CORPUS, topics, 0.2, seed=4, n_jobs=1)
    observed = Corpus.from_tokens([["a", "c"], [], ["d"], ["c", "d", "b"]], vocabulary=VOCABULARY)
    theta = infer_theta(observed, topics, 0.2, seed=4, n_jobs=1)
    scored = {0: ["b"], 3: ["c", "a", "b"]}
    by_hand = [
        np.log(theta[d] @ phi[:, VOCABULARY.index(word)]) for d, words in scored.items() for word in words
    ]
    assert result.n_tokens == 4
    assert result.log_likelihood == pytest.approx(
        np.sum(by_hand), rel=1e-6
    )  # phi is kept in single precision
    assert result.per_token == pytest.approx(np.mean(by_hand), rel=1e-6)
    assert result.perplexity == pytest.approx(np.exp(-np.mean(by_hand)), rel=1e-6)


def test_the_log_likelihood_is_exact_if_theta_is_certain():
    # No word is in both topics, so theta is certain: (count + 1/2) / (n + 1).
    topics = make_topics([[0.75, 0.25, 0, 0], [0, 0, 0.5, 0.5]], 0.5)
    result = complete_documents(CORPUS, topics, 0.5, n_jobs=1)
    first = np.array([1.5, 1.5]) / 3  # observed: a, c
    last = np.array([1.5, 2.5]) / 4  # observed: c, d, b
    exact = np.log([first[0] * 0.25, last[1] * 0.5, last[0] * 0.75, last[0] * 0.25]).sum()
    assert result.log_likelihood == pytest.approx(exact, rel=1e-6)


@pytest.mark.filterwarnings("ignore:the number of topics is 1")
def test_one_topic_is_a_unigram_model():
    result = complete_documents(CORPUS, make_topics([[0.4, 0.3, 0.2, 0.1]], 1.0), 1.0, n_jobs=1)
    assert result.log_likelihood == pytest.approx(np.log([0.3, 0.2, 0.4, 0.3]).sum(), rel=1e-6)


def test_the_perplexity_of_uniform_topics_is_the_number_of_words():
    assert complete_documents(
        CORPUS, make_topics(np.full((3, 4), 0.25), 1.0), 1.0
    ).perplexity == pytest.approx(4)


def test_the_result_does_not_depend_on_the_order_of_documents():
    topics = make_topics(np.random.default_rng(0).dirichlet(np.ones(4), 3), 0.2)
    mine = complete_documents(CORPUS, topics, 0.2, n_jobs=1).log_likelihood
    other = complete_documents(CORPUS.select([3, 2, 1, 0]), topics, 0.2, n_jobs=1).log_likelihood
    assert mine == pytest.approx(other, rel=1e-12)


def test_documents_too_short_to_split_are_refused():
    short = Corpus.from_tokens([["a"], [], ["d"]], vocabulary=VOCABULARY)
    with pytest.raises(PlaitError, match=r"^no document has two words: [^\n]*; pass longer documents$"):
        complete_documents(short, make_topics(np.full((3, 4), 0.25), 1.0), 1.0)


def test_perplexity_follows_from_the_log_likelihood():
    result = HeldOut(log_likelihood=-20.0, n_tokens=10)
    assert (result.per_token, result.perplexity) == (-2.0, pytest.approx(np.exp(2.0)))
