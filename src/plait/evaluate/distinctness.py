"""Diversity and exclusivity: whether topics differ from each other.

For the n most probable words of each of T topics:

    diversity of a topic    mean over its top words w of 1 / (number of topics that have w among theirs)
    exclusivity of a topic  mean over its top words w of phi_t(w) / sum_s phi_s(w)

The mean diversity over topics is the number of distinct top words divided by T n: topic diversity as defined
by Dieng, Ruiz and Blei (2020), who take n = 25. Exclusivity is the share of the probability of a word, added
up over topics, that is the topic's own: the exclusivity part of FREX (Bischof and Airoldi, 2012), which ranks
words, here averaged over the top words. A topic that has its words to itself has exclusivity 1; if all topics
are equal, it is 1 / T.
"""

from __future__ import annotations

import numpy as np

from plait.arrays import frozen
from plait.evaluate.sources import Source, check_top, resolve, top_words
from plait.evaluate.topic_scores import TopicScores


def diversity(source: Source, *, top: int = 10, n_jobs: int | None = None) -> TopicScores:
    """Return how much of each topic's top words it has to itself, from 1 / T to 1.

    The mean over topics is the share of distinct words among the top words of all topics.

    Parameters
    ----------
    source : Run, path, LatentDirichletAllocation or array (T, W)
        The topics: a run of LDA, the file of one, a fitted estimator, or a matrix whose rows sum to 1.
    top : int
        Number of words per topic.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    topics = resolve(source, n_jobs=n_jobs).topics
    words = top_words(topics, check_top(top, topics.shape[1]))
    times = np.bincount(words.ravel(), minlength=topics.shape[1])
    return TopicScores(frozen((1 / times[words]).mean(axis=1)), words.shape[1])


def exclusivity(source: Source, *, top: int = 10, n_jobs: int | None = None) -> TopicScores:
    """Return the mean over each topic's top words of phi_t(w) / sum_s phi_s(w), from 0 to 1.

    Parameters
    ----------
    source, top, n_jobs
        As for `diversity`.
    """
    topics = resolve(source, n_jobs=n_jobs).topics
    words = top_words(topics, check_top(top, topics.shape[1]))
    own = np.take_along_axis(topics, words, axis=1)
    sums = topics.sum(axis=0)[words]
    shares = np.divide(own, sums, out=np.zeros_like(own), where=sums > 0)
    return TopicScores(frozen(shares.mean(axis=1)), words.shape[1])
