"""Topics of new documents, given the topics of a fitted model."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, frozen_copy
from plait.checks import check_integer
from plait.data.corpus import Corpus
from plait.kernels.known_topics import Chains, infer_documents, scratch_buffers
from plait.kernels.lda import Documents, hash_documents
from plait.models.lda import Topics
from plait.models.priors import check_prior
from plait.models.topics import check_topics
from plait.plans import MAX_PATHS, MAX_SEED, MAX_SWEEPS
from plait.threads import count_threads, use_threads, weighted_ranges

N_PATHS = 5
N_SWEEPS = 30
BURN_IN = 10

LONG: Final = 10_000
"""Documents with more tokens are sampled as `plait.kernels.known_topics` does for long ones."""

_UPDATES_PER_RANGE = 30_000  # updates of tokens; with fewer, a thread costs more than it saves


class KnownTopics:
    """The topics of a fitted model, checked once, for the inference of the topics of new documents.

    Parameters
    ----------
    topics : Topics
        The parameters phi.
    alpha : float or array (T,)
        Prior of the topics in a document.
    """

    def __init__(self, topics: Topics, alpha: ArrayLike) -> None:
        check_topics(topics, len(topics[0]) if isinstance(topics, tuple) else 0, values=True)
        self._topics, (self._n_words, n_topics) = topics, topics.phi.shape
        own = np.asarray(check_prior("alpha", alpha, {"T": n_topics}))
        self._alpha = frozen_copy(np.broadcast_to(own, n_topics))

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and the kernel would be compiled for these again.
        return type(self), (self._topics, self._alpha)

    def theta(
        self,
        corpus: Corpus,
        *,
        seed: int = 0,
        n_paths: int = N_PATHS,
        n_sweeps: int = N_SWEEPS,
        burn_in: int = BURN_IN,
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Estimate the topic distribution of each document, (D, T); see `infer_theta`."""
        check_integer("seed", seed, least=0, most=MAX_SEED)
        n_paths = check_integer("n_paths", n_paths, least=1, limit=MAX_PATHS)
        n_sweeps = check_integer("n_sweeps", n_sweeps, least=1, limit=MAX_SWEEPS)
        burn_in = check_integer("burn_in", burn_in, least=0, most=n_sweeps - 1)
        count_threads(n_jobs)
        check_topics(self._topics, corpus.n_words)
        documents = _as_bags(corpus)
        totals = np.zeros((corpus.n_documents, self._alpha.size))
        longest = int(np.max(corpus.lengths, where=corpus.lengths <= LONG, initial=0))
        chains = Chains(seed, n_sweeps, burn_in, LONG)

        def infer(first: int, last: int) -> None:
            buffers = scratch_buffers(n_paths, longest, self._alpha.size)
            infer_documents(first, last, documents, self._topics, self._alpha, buffers, totals, chains)

        n_updates = corpus.n_tokens * n_paths * n_sweeps
        ranges = weighted_ranges(corpus.offsets, n_updates // _UPDATES_PER_RANGE)
        with use_threads(n_jobs if len(ranges) > 1 else 1) as threads:
            threads.map(infer, ranges)
        theta: Floats = totals / (n_paths * (n_sweeps - burn_in)) + self._alpha
        theta /= (corpus.lengths + self._alpha.sum())[:, None]
        return theta


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
    A document without words gets the prior, uniform for a symmetric alpha. One of more than `LONG` tokens has
    one path, which makes the sweeps of all.

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
    chains = {"seed": seed, "n_paths": n_paths, "n_sweeps": n_sweeps, "burn_in": burn_in}
    return KnownTopics(topics, alpha).theta(corpus, **chains, n_jobs=n_jobs)


def _as_bags(corpus: Corpus) -> Documents:
    """Return documents with sorted words, so that their order cannot matter, and streams keyed by them."""
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    words = corpus.words[np.lexsort((corpus.words, document))]
    units = np.empty(corpus.n_documents, np.int64)
    hash_documents(words, corpus.offsets, units)
    return Documents(words, corpus.offsets, units)
