"""The scores of `quality.py`: one scorer for the topics of every method.

A method hands over its topics phi (T, W), whose rows sum to 1, and its prior alpha (T,). How it found them
plays no part here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import plait
from plait.data.corpus import Corpus

Floats = NDArray[np.float64]

SCORE_SEED = 7
"""Seed of the halves of held-out documents and of the inference; the same for all methods and runs."""

TOP = 10
"""Number of words of a topic whose coherence is measured."""


def held_out(phi: Floats, corpus: Corpus, *, alpha: Floats, seed: int = SCORE_SEED) -> float:
    """Return the log-likelihood per token by document completion; see `plait.evaluate.held_out`."""
    return plait.evaluate.held_out(phi, corpus, alpha=alpha, seed=seed).per_token


def unigram(training: Corpus, corpus: Corpus, *, seed: int = SCORE_SEED) -> float:
    """Return the log-likelihood per token of the same tokens if topics are ignored.

    Every token is predicted by the word's frequency in the training documents. Topics are worth having if
    they do better.
    """
    frequencies = np.bincount(training.words, minlength=training.n_words) / training.n_tokens
    return plait.evaluate.held_out(frequencies[None], corpus, alpha=1.0, seed=seed).per_token


def coherence(phi: Floats, corpus: Corpus, *, top: int = TOP) -> float:
    """Return the mean NPMI of the `top` words of the topics; see `plait.evaluate.coherence`."""
    return plait.evaluate.coherence(phi, corpus, measure="npmi", top=top).overall


def aligned_cosine(one: Floats, other: Floats) -> float:
    """Return the mean cosine of the topics of two runs, matched so that it is largest."""
    return plait.evaluate.stability([one, other]).agreement.cosine
