"""Topics of new documents, given the topics of a fitted model."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.checks import check_integer
from plait.data.corpus import Corpus
from plait.fitting.collect import collect_after
from plait.models.fixed_topics import FixedTopicsModel
from plait.models.lda import Topics
from plait.models.priors import check_prior
from plait.models.topics import check_topics
from plait.sampler import Interrupted, sample

N_PATHS = 5
N_SWEEPS = 30
BURN_IN = 10


def infer_theta(
    corpus: Corpus,
    topics: Topics,
    alpha: ArrayLike,
    *,
    seed: int = 0,
    n_paths: int = N_PATHS,
    n_sweeps: int = N_SWEEPS,
    burn_in: int = BURN_IN,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Estimate the topic distribution of each document by sampling its topics with phi held fixed.

    The estimate is the mean over all paths of the sweeps after the first `burn_in`. It depends on the
    document's words (as a bag), the topics and the seed alone, not on the other documents or their order.
    A document without words gets the prior, uniform for a symmetric alpha.

    Parameters
    ----------
    corpus : Corpus
        The documents, in the vocabulary of the topics.
    topics : Topics
        The parameters phi.
    alpha : float or array (T,)
        Prior of the topics in a document.

    Returns
    -------
    ndarray, (D, T)
        theta; rows sum to 1.
    """
    check_integer("n_sweeps", n_sweeps, least=1)
    check_integer("burn_in", burn_in, least=0, most=n_sweeps - 1)
    check_topics(topics, corpus.n_words)
    n_topics = topics.phi.shape[1]
    if not corpus.n_tokens:
        own = check_prior("alpha", alpha, {"T": n_topics})
        prior = np.broadcast_to(own, (corpus.n_documents, n_topics))
        return prior / prior.sum(axis=1, keepdims=True)
    model = FixedTopicsModel(_as_bags(corpus), n_topics, alpha, topics=topics)
    totals = np.zeros((corpus.n_documents, n_topics))

    try:
        sample(
            model,
            n_paths=n_paths,
            n_sweeps=n_sweeps,
            seed=seed,
            thin=n_sweeps,
            n_jobs=n_jobs,
            callback=collect_after(burn_in, lambda paths: model.add_document_counts(paths, totals)),
        )
    except Interrupted:
        raise KeyboardInterrupt from None  # this run is internal: there is nothing to resume
    return model.theta(totals, n_paths * (n_sweeps - burn_in))


def _as_bags(corpus: Corpus) -> Corpus:
    """Sort the words of every document, so that their order cannot matter."""
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    words = corpus.words[np.lexsort((corpus.words, document))]
    return Corpus(words, corpus.offsets, corpus.vocabulary)
