"""Initial paths of LDA: line 2 of Algorithms 3 and 4.

    uniform       every topic with the same probability, as in the paper (`LdaModel.initial_paths`)
    progressive   one collapsed pass from empty counts
    spectral      given topics that anchor words determine
    Topics        given these topics

The initialisation does not change what the sampler samples, only where it starts; docs/starting.md compares
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from plait.arrays import Floats
from plait.blas import one_blas_thread
from plait.kernels.lda import TopicCounts, Topics
from plait.kernels.lda_starts import draw_progressive_paths
from plait.models.anchors import anchor_topics
from plait.models.lda_collapsed import vector_buffers
from plait.models.model import Key, Paths, unchecked
from plait.rng import INITIAL, PARAMETERS, SEARCH, generator
from plait.scratch import scratch
from plait.threads import Threads

if TYPE_CHECKING:
    from plait.models.lda import LdaModel

STARTS: Final = ("uniform", "progressive", "spectral")
"""The initialisations by name."""

SWEEPS_GIVEN_TOPICS: Final = 5
"""Number of sweeps with phi fixed that draw initial paths given topics.

With ten, runs on the State of the Union addresses were no further after 20 sweeps.
"""

_ORDER, _SPECTRAL = 0, 1  # units of the streams, see the table in `plait.rng`
_BACKGROUND = 0.05  # share of the corpus's word frequencies in every spectral topic


def fill_progressive_paths(model: LdaModel, paths: Paths, seed: int) -> None:
    """Draw the paths token by token, each given the tokens before it in all paths, phi integrated out.

    Documents are visited in a random order: in a corpus sorted by date or class, the first topics would
    otherwise be those of the first documents alone. With a small eta, the paths start nearly alike, because
    each of them follows the counts that the others have just made; the sweeps separate them.
    """
    n_topics, n_words = model.n_topics, model.corpus.n_words
    draw_progressive_paths(
        generator(seed, INITIAL, PARAMETERS, _ORDER).permutation(model.corpus.n_documents),
        model._documents,
        paths,
        TopicCounts(scratch((n_words, n_topics), np.int32), scratch(n_topics, np.int64)),
        model._priors,
        vector_buffers(len(paths), n_topics),
        Key(seed, INITIAL),
    )


def resample_given(model: LdaModel, paths: Paths, topics: Topics, seed: int, threads: Threads) -> None:
    """Draw paths given topics, theta integrated out, by a few sweeps with phi fixed."""
    for k in range(SWEEPS_GIVEN_TOPICS):
        unchecked(model.resample)(paths, topics, Key(seed, SEARCH + 1 + k), threads)


@one_blas_thread
def spectral_topics(model: LdaModel, threads: Threads) -> Floats:
    """Return topics that anchor words determine, (T, W); see `plait.models.anchors`.

    Where there are fewer anchors than topics, the remaining topics are random: the frequencies of the words
    in the corpus, each multiplied by an exponential variate. Every topic is mixed with a share of these
    frequencies, so that no probability is 0. With a prior for single topics, such as that of seed words,
    topics are numbered so that the density of the prior is as high as possible.

    The random numbers are the same for every seed, so that fits which differ in the seed start from the same
    topics, and more of the topics that they find are the same.
    """
    random = generator(0, INITIAL, PARAMETERS, _SPECTRAL)
    frequencies = model.frequencies / model.n_sites
    topics = add_unknown(anchor_topics(model.corpus, model.n_topics, random, threads), frequencies)
    others = frequencies * random.exponential(size=(model.n_topics - len(topics), len(frequencies)))
    others /= others.sum(axis=1, keepdims=True)
    topics = (1.0 - _BACKGROUND) * np.concatenate([topics, others]) + _BACKGROUND * frequencies
    eta = np.asarray(model.eta)
    return _numbered_by_prior(topics, eta) if eta.ndim else topics


def add_unknown(topics: Floats, frequencies: Floats) -> Floats:
    """Give words that no topic knows their share of the corpus in every topic.

    For such a word phi_t(w) = f_w, its relative frequency in the corpus; for all others phi_t(w) is
    multiplied by 1 - sum of f_v over the unknown words v, so that rows still sum to 1. As phi_t(w) is the
    same for all topics, tokens of an unknown word follow the topics of the rest of their document.

    Parameters
    ----------
    topics : ndarray, (K, W)
        The topics; rows sum to 1, and unknown words have columns of zeros.
    frequencies : ndarray, (W,)
        The relative frequencies f_w.
    """
    shares = np.where((topics > 0).any(axis=0), 0.0, frequencies)
    return topics * (1.0 - shares.sum()) + shares


def _numbered_by_prior(topics: Floats, eta: Floats) -> Floats:
    """Return the topics in the order that maximises sum_tw eta_tw log phi_t(w)."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    logs = np.log(topics, where=topics > 0, out=np.zeros_like(topics))  # words that never occur have none
    _, order = linear_sum_assignment(eta @ logs.T, maximize=True)
    return topics[order]
