"""Summaries of topics: their most probable words and their shares of the corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plait.inference.fitted import fitted_topics, topic_model
from plait.run import Run
from plait.threads import Threads


@dataclass(frozen=True)
class TopicSummary:
    """Summary of one topic.

    Attributes
    ----------
    topic : int
        Its number: its row in `topic_word_` and its value in `paths_`.
    share : float
        Its share of the tokens, over all paths.
    words : tuple of str
        Its most probable words, the most probable first, as they are shown: "welfare" for the stem "welfar".
    probabilities : tuple of float
        Probabilities phi_t(w) of these words.
    stems : tuple of str
        The same words as they are in the vocabulary.
    name : str or None
        Its name, if the run has one for it.
    """

    topic: int
    share: float
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    stems: tuple[str, ...]
    name: str | None = None

    def label(self, n_words: int = 3) -> str:
        """Return its name or, without one, its first words."""
        return self.name or " ".join(self.words[:n_words])


def topic_names(run: Run) -> list[str]:
    """Return the names of all topics; one without a name is "topic 3", by its number."""
    return [run.names.get(t, f"topic {t}") for t in range(topic_model(run).n_topics)]


def summarise_topics(
    run: Run, n_words: int = 10, *, n_jobs: int | Threads | None = None
) -> list[TopicSummary]:
    """Return a summary of every topic, the largest first.

    Parameters
    ----------
    run : Run
        A run of LDA.
    n_words : int
        Number of words per topic.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    topics = fitted_topics(run, n_jobs)
    phi, shares = topics.topic_word, topics.shares
    best = np.argsort(-phi, axis=1, kind="stable")[:, :n_words]
    corpus = topic_model(run).corpus
    return [
        TopicSummary(
            topic=int(t),
            share=float(shares[t]),
            words=tuple(corpus.shown_words[w] for w in best[t]),
            probabilities=tuple(float(p) for p in phi[t, best[t]]),
            stems=tuple(corpus.vocabulary[w] for w in best[t]),
            name=run.names.get(int(t)),
        )
        for t in np.argsort(-shares, kind="stable")
    ]
