"""Where topics come from: a run, its file, a fitted estimator, or a matrix."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import check_distributions, check_numbers, frozen_copy
from plait.checks import check_integer, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, rename_arguments
from plait.inference.fitted import topic_model
from plait.models.lda import MAX_TOPICS
from plait.models.priors import check_prior
from plait.run import Run, load
from plait.threads import Threads

Source = Run | str | PathLike[str] | ArrayLike | Any
"""Whatever `resolve` takes; the last stands for a fitted `LatentDirichletAllocation`."""


class TopicSource(NamedTuple):
    """Topics, and what is known about them.

    Attributes
    ----------
    topics : ndarray of float64, (T, W)
        phi; rows sum to 1.
    alpha : ndarray of float64, (T,), or None
        Prior of the topics in a document; None if unknown.
    corpus : Corpus or None
        What the topics were fitted to, whose vocabulary names their words; None if unknown.
    """

    topics: NDArray[np.float64]
    alpha: NDArray[np.float64] | None
    corpus: Corpus | None


def resolve(
    source: Source,
    alpha: ArrayLike | None = None,
    *,
    name: str = "source",
    n_jobs: int | Threads | None = None,
) -> TopicSource:
    """Return the topics of a source.

    Parameters
    ----------
    source : Run, path, LatentDirichletAllocation or array (T, W)
        A run of LDA, the file of one, a fitted estimator, or the topics themselves, whose rows sum to 1. What
        `resolve` returned is taken as it is, so that several measures need to resolve a source only once.
    alpha : float or array (T,), optional
        Prior of the topics in a document; by default that of the model.
    name : str
        Name of the argument, for messages.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    run = None if isinstance(source, TopicSource) else _run_of(source, name)
    if isinstance(source, TopicSource):
        topics, own_alpha, corpus = source
    elif run is None:
        topics, own_alpha, corpus = _check_matrix(source, name), None, None
    else:
        with rename_arguments({"run": name}):
            model = topic_model(run)
        topics = run.parameters(n_jobs).topic_word.astype(np.float64, order="C")
        own_alpha, corpus = model.alpha_vector, model.corpus
    if alpha is not None:
        own_alpha = np.broadcast_to(check_prior("alpha", alpha, {"T": len(topics)}), len(topics))
    return TopicSource(topics, None if own_alpha is None else frozen_copy(own_alpha), corpus)


def _run_of(source: Source, name: str) -> Run | None:
    """Return the run of a source, or None for a matrix."""
    if isinstance(source, (str, PathLike)):
        source = load(source)
    run = source if isinstance(source, Run) else getattr(source, "run_", None)
    if isinstance(run, Run):
        return run.best
    if hasattr(source, "fit"):
        raise PlaitError(
            Argument(name),
            f" must be fitted topics, got {short_repr(source)}: call fit of plait's estimators first;"
            " of others, pass the topics as a matrix whose rows sum to 1",
        )
    return None


def _check_matrix(source: Any, name: str) -> NDArray[np.float64]:
    matrix = check_numbers(name, source)
    if matrix.ndim != 2 or not 1 <= len(matrix) <= MAX_TOPICS or not matrix.shape[1]:
        raise PlaitError(
            Argument(name),
            f" must be a run, its file, a fitted estimator or a matrix of shape (topics, words),"
            f" got an array of shape {matrix.shape}",
        )
    return check_distributions(name, matrix, matrix.shape)


def check_corpus(corpus: Any) -> Corpus:
    """Return a corpus, or raise an error that says how to make one."""
    if isinstance(corpus, Corpus):
        return corpus
    raise PlaitError(
        Argument("corpus"),
        f" must be a Corpus, got {short_repr(corpus)}: make one with plait.Corpus.from_texts, from_tokens or"
        " from_matrix",
    )


def check_same_words(n_words: int, corpus: Corpus) -> None:
    """Raise an error unless topics without a vocabulary have as many words as a corpus."""
    if corpus.n_words != n_words:
        raise PlaitError(
            Argument("corpus"),
            f" must have the words of the topics, which are {n_words}, got {corpus.n_words}: build it with"
            " the vocabulary of the topics",
        )


def in_vocabulary(corpus: Corpus, source: TopicSource) -> Corpus:
    """Return documents in the vocabulary of the topics.

    Words outside it are dropped, with a warning that counts them.
    """
    if source.corpus is None:
        check_same_words(source.topics.shape[1], corpus)
    elif source.corpus.vocabulary != corpus.vocabulary:
        return corpus.reindexed(source.corpus.vocabulary)
    return corpus


def check_top(top: int, n_words: int, *, least: int = 1) -> int:
    """Return the number of top words, at most the number of all words."""
    return check_integer("top", top, least=least, most=max(least, n_words))


def top_words(topics: NDArray[np.float64], top: int) -> NDArray[np.int64]:
    """Return the most probable words of each topic, (T, top), the most probable first.

    Of words with equal probabilities, the one with the smaller number comes first.
    """
    best = np.empty((len(topics), top), np.int64)
    for row, topic in zip(best, topics, strict=True):
        threshold = np.partition(topic, topic.size - top)[topic.size - top]
        candidates = np.flatnonzero(topic >= threshold)
        row[:] = candidates[np.argsort(-topic[candidates], kind="stable")[:top]]
    return best
