"""Held-out likelihood by document completion, plait's measure of how well topics predict.

The topic distribution theta_d of a document is inferred from every other token, starting with the first;
the remaining tokens are scored:

    log-likelihood = sum over scored tokens of log sum_t theta_dt phi_t(w_i)

No token helps to predict itself, and no marginal likelihood needs to be estimated. Documents given as counts
have no order of tokens; their tokens are sorted by word id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.inference import infer_theta
from plait.kernels import lda as kernels
from plait.models.lda import Topics


@dataclass(frozen=True)
class HeldOut:
    """How well held-out tokens were predicted.

    Attributes
    ----------
    log_likelihood : float
        Sum over the scored tokens.
    n_tokens : int
        Number of scored tokens.
    """

    log_likelihood: float
    n_tokens: int

    @property
    def per_token(self) -> float:
        """Mean log-likelihood of a token."""
        return self.log_likelihood / self.n_tokens

    @property
    def perplexity(self) -> float:
        """The perplexity, exp(-per_token): the number of equally likely words that are as hard to predict."""
        return float(np.exp(-self.per_token))


def complete_documents(
    corpus: Corpus, topics: Topics, alpha: ArrayLike, *, seed: int = 0, n_jobs: int | None = None
) -> HeldOut:
    """Score documents that the topics were not fitted to, by document completion.

    Parameters
    ----------
    corpus : Corpus
        The documents, in the vocabulary of the topics.
    topics : Topics
        The parameters phi.
    alpha : float or array (T,)
        Prior of the topics in a document.
    seed : int
        Seed of the inference; the same seed gives the same result.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    if not (corpus.lengths > 1).any():
        raise PlaitError(
            "no document has two words: document completion infers topics from every other word of a document"
            " and scores the rest; pass longer documents"
        )
    position = np.arange(corpus.n_tokens) - np.repeat(corpus.offsets[:-1], corpus.lengths)
    theta = infer_theta(_every_other(corpus, position % 2 == 0), topics, alpha, seed=seed, n_jobs=n_jobs)
    scored = _every_other(corpus, position % 2 == 1)
    scores = np.empty(corpus.n_documents)
    kernels.score_documents(0, len(scores), scored.words, scored.offsets, theta, topics.phi, scores)
    return HeldOut(float(scores.sum()), scored.n_tokens)


def _every_other(corpus: Corpus, keep: np.ndarray) -> Corpus:
    kept_before = np.append(0, np.cumsum(keep))
    return Corpus(corpus.words[keep], kept_before[corpus.offsets], corpus.vocabulary)
