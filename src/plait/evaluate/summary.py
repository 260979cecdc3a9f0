"""What the topics of a fitted model are about: their commonest words and their shares of the corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plait.errors import PlaitError
from plait.models.lda import LdaModel
from plait.run import Run
from plait.threads import Threads


@dataclass(frozen=True)
class TopicSummary:
    """One topic in short.

    Attributes
    ----------
    topic : int
        Its number, the same everywhere: row of `topic_word_`, value in `paths_`.
    share : float
        Share of the tokens, over all paths.
    words : tuple of str
        Its most probable words, most probable first.
    probabilities : tuple of float
        phi_t(w) of these words.
    """

    topic: int
    share: float
    words: tuple[str, ...]
    probabilities: tuple[float, ...]


def lda_model(run: Run) -> LdaModel:
    """Return the model of a run of LDA; an error for any other."""
    if not isinstance(run.model, LdaModel):
        raise PlaitError(f"the model is of the kind {run.model.kind!r}: this works for topic models (lda)")
    return run.model


def summarise_topics(run: Run, n_words: int = 10) -> list[TopicSummary]:
    """Return a summary of every topic, the largest first."""
    model = lda_model(run)
    with Threads(1) as threads:
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
        )
        for t in np.argsort(-shares, kind="stable")
    ]
