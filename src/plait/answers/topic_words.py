"""The words of a topic beside their frequencies in the corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plait.answers.choosing import topic_number
from plait.checks import check_integer, check_number
from plait.errors import Argument, PlaitError
from plait.inference.fitted import fitted_topics, lda_model
from plait.run import Run
from plait.threads import Threads


@dataclass(frozen=True)
class TopicWord:
    """A word of a topic.

    Attributes
    ----------
    word, stem : str
        The word as it is shown, and as it is in the vocabulary.
    probability : float
        phi_t(w), its probability in the topic.
    corpus_share : float
        p(w), its share of the tokens of the corpus.
    tokens : float
        Number of tokens of the word that the topic is expected to have, of `corpus_tokens`.
    corpus_tokens : int
        Number of tokens of the word in the corpus.
    """

    word: str
    stem: str
    probability: float
    corpus_share: float
    tokens: float
    corpus_tokens: int

    @property
    def lift(self) -> float:
        """How many times as frequent the word is in the topic as in the corpus."""
        return self.probability / self.corpus_share


def topic_words(
    run: Run, topic: int | str, n: int = 10, *, relevance: float = 1.0, n_jobs: int | Threads | None = None
) -> list[TopicWord]:
    """Return the most relevant words of a topic, the most relevant first.

    The relevance of a word is that of Sievert and Shirley (2014), a mean of logarithms,

        relevance log phi_t(w) + (1 - relevance) log( phi_t(w) / p(w) ),

    so 1 ranks words by probability, and 0 by lift. Words that the corpus does not have are left out.

    Parameters
    ----------
    run : Run
        A run of LDA.
    topic : int or str
        Number or name of the topic.
    n : int
        Number of words.
    relevance : float
        The weight of the probability, from 0 to 1.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    t = topic_number(run, topic)
    check_integer("n", n, least=1)
    relevance = check_number("relevance", relevance, least=0.0)
    if relevance > 1:
        raise PlaitError(Argument("relevance"), f" must be from 0 to 1, got {relevance}")
    corpus = lda_model(run).corpus
    topics = fitted_topics(run, n_jobs)
    counts = np.bincount(corpus.words, minlength=corpus.n_words)
    known = np.flatnonzero(counts)
    phi = topics.topic_word[t, known]
    shares = counts[known] / corpus.n_tokens
    with np.errstate(divide="ignore"):
        order = np.argsort(-(np.log(phi) - (1 - relevance) * np.log(shares)), kind="stable")[:n]
    # P(t | w) by Bayes' rule from phi and the sizes of the topics: the tokens of a word add up over topics.
    best = known[order]
    weights = topics.topic_word[:, best] * topics.shares[:, None]
    own = weights[t] / weights.sum(axis=0) * counts[best]
    return [
        TopicWord(
            word=corpus.shown_words[w],
            stem=corpus.vocabulary[w],
            probability=float(topics.topic_word[t, w]),
            corpus_share=float(counts[w] / corpus.n_tokens),
            tokens=float(tokens),
            corpus_tokens=int(counts[w]),
        )
        for w, tokens in zip(best.tolist(), own, strict=True)
    ]
