"""Summaries of topics: their most probable words and their shares of the corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plait.errors import Argument, PlaitError
from plait.models.lda import LdaModel
from plait.run import Run
from plait.threads import Threads, use_threads


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
        Its most probable words, the most probable first.
    probabilities : tuple of float
        Probabilities phi_t(w) of these words.
    name : str or None
        Its name, if the run has one for it.
    """

    topic: int
    share: float
    words: tuple[str, ...]
    probabilities: tuple[float, ...]
    name: str | None = None


def lda_model(run: Run) -> LdaModel:
    """Return the model of a run, which must be a run of LDA."""
    if not isinstance(run.model, LdaModel):
        raise PlaitError(
            Argument("run"), f" must have a model of the kind 'lda' (topic models), got {run.model.kind!r}"
        )
    return run.model


def document_topics(run: Run) -> NDArray[np.float64]:
    """Return the mean of theta given the paths, (D, T), for the documents of a run; rows sum to 1."""
    model = lda_model(run)
    totals = np.zeros((model.corpus.n_documents, model.n_topics))
    model.add_document_counts(run.paths, totals)
    return model.theta(totals, len(run.paths))


def topic_names(run: Run) -> list[str]:
    """Return the names of all topics; one without a name is "topic 3", by its number."""
    return [run.names.get(t, f"topic {t}") for t in range(lda_model(run).n_topics)]


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
    model = lda_model(run)
    with use_threads(n_jobs) as threads:
        counts = model.count(run.paths, threads)
    phi = model.topic_word(counts)
    shares = counts.topics / counts.topics.sum()
    best = np.argsort(-phi, axis=1, kind="stable")[:, :n_words]
    vocabulary = model.corpus.vocabulary
    return [
        TopicSummary(
            topic=int(t),
            share=float(shares[t]),
            words=tuple(vocabulary[w] for w in best[t]),
            probabilities=tuple(float(p) for p in phi[t, best[t]]),
            name=run.names.get(int(t)),
        )
        for t in np.argsort(-shares, kind="stable")
    ]
