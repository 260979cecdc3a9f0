"""The scores of `quality.py`: one scorer for the topics of every method.

A method hands over its topics phi (T, W), whose rows sum to 1, and its prior alpha (T,). How it found them
plays no part here.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from plait.data.corpus import Corpus
from plait.inference import infer_theta
from plait.models.lda import LdaModel

Floats = NDArray[np.float64]

SCORE_SEED = 7
"""Seed of the halves of held-out documents and of the inference; the same for all methods and runs."""

TOP = 10
"""Number of words of a topic whose coherence is measured."""


def held_out(phi: Floats, corpus: Corpus, *, alpha: Floats, seed: int = SCORE_SEED) -> float:
    """Return the log-likelihood per token by document completion.

    The tokens of each document are shuffled. Its topics are inferred from the first half, rounded up, and
    the second half is scored.
    """
    shown, scored = halves(corpus, seed)
    topics = LdaModel(corpus, len(phi), alpha).as_topics(phi)
    theta = infer_theta(shown, topics, alpha, seed=seed)
    document = np.repeat(np.arange(scored.n_documents), scored.lengths)
    likelihoods = np.empty(scored.n_tokens)
    for first in range(0, scored.n_tokens, 2**14):  # in blocks, to bound the memory
        block = slice(first, first + 2**14)
        words = phi[:, scored.words[block]]
        likelihoods[block] = np.einsum("it,ti->i", theta[document[block]], words)
    return float(np.log(likelihoods).mean())


def unigram(training: Corpus, corpus: Corpus, *, seed: int = SCORE_SEED) -> float:
    """Return the log-likelihood per token of the same tokens if topics are ignored.

    Every token is predicted by the word's frequency in the training documents. Topics are worth having if
    they do better.
    """
    _, scored = halves(corpus, seed)
    frequencies = np.bincount(training.words, minlength=training.n_words) / training.n_tokens
    return float(np.log(frequencies[scored.words]).mean())


def halves(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """Return a corpus of a random half of each document's tokens, rounded up, and one of the others."""
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    order = np.lexsort((np.random.default_rng(seed).random(corpus.n_tokens), document))
    words = corpus.words[order]
    position = np.arange(corpus.n_tokens) - corpus.offsets[document]
    is_shown = position < (corpus.lengths[document] + 1) // 2
    parts = []
    for keep in (is_shown, ~is_shown):
        offsets = np.append(0, np.cumsum(keep))[corpus.offsets]
        parts.append(Corpus(words[keep], offsets, corpus.vocabulary))
    return parts[0], parts[1]


def coherence(phi: Floats, corpus: Corpus, *, top: int = TOP) -> float:
    """Return the mean over topics of the NPMI of their `top` words, by the documents they share.

    NPMI of two words is log(p_ij / (p_i p_j)) / -log p_ij, where p is a share of the documents: 1 if they
    only occur together, 0 if they are independent, and -1 if they share no document.
    """
    best = np.argsort(-phi, axis=1, kind="stable")[:, :top]
    words, index = np.unique(best, return_inverse=True)
    occurs = (corpus.to_matrix()[:, words] > 0).astype(np.float64)
    shares = (occurs.T @ occurs).toarray() / corpus.n_documents
    single = np.diag(shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(shares / np.outer(single, single)) / -np.log(shares)
    npmi[shares == 0] = -1.0
    npmi[shares == 1] = 0.0  # words of every document: independent of all others
    own = index.reshape(best.shape)
    return float(np.mean([npmi[own[:, i], own[:, j]] for i, j in combinations(range(top), 2)]))


def aligned_cosine(one: Floats, other: Floats) -> float:
    """Return the mean cosine of the topics of two runs, matched so that it is largest."""
    cosines = _unit_rows(one) @ _unit_rows(other).T
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    return float(cosines[rows, columns].mean())


def _unit_rows(matrix: Floats) -> Floats:
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
