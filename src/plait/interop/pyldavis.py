"""The data of pyLDAvis, the viewer of topics by Sievert and Shirley (2014)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from plait.answers.maps import principal_axes
from plait.inference.fitted import doc_topic, fitted_topics
from plait.interop.source import lda_run_of, library


def pyldavis_arguments(run: Any, n_jobs: int | None = None) -> dict[str, Any]:
    """Return the arguments of `pyLDAvis.prepare` for a topic model.

    Topics keep their numbers; without these arguments, pyLDAvis sorts topics by size and counts from 1. Words
    and documents without tokens are left out.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Returns
    -------
    dict
        topic_term_dists (T, W), doc_topic_dists (D, T), doc_lengths (D,), vocab (W,), term_frequency (W,),
        sort_topics (False) and start_index (0).
    """
    run, model = lda_run_of(run)
    corpus = model.corpus
    frequencies = np.bincount(corpus.words, minlength=corpus.n_words)
    words, documents = np.flatnonzero(frequencies), np.flatnonzero(corpus.lengths)
    topics = fitted_topics(run, n_jobs).topic_word[:, words]
    return {
        "topic_term_dists": topics / topics.sum(axis=1, keepdims=True),
        "doc_topic_dists": doc_topic(run)[documents],
        "doc_lengths": corpus.lengths[documents],
        "vocab": [corpus.shown_words[w] for w in words],
        "term_frequency": frequencies[words],
        "sort_topics": False,
        "start_index": 0,
    }


def to_pyldavis(run: Any, **options: Any) -> Any:
    """Return the data of a topic model for pyLDAvis: pass it to `pyLDAvis.display` or `pyLDAvis.save_html`.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator.
    **options
        Options of `pyLDAvis.prepare`, such as `mds="tsne"` or `R=20`. By default, `mds` is
        `principal_coordinates`, which is pyLDAvis's own except where that fails.

    Returns
    -------
    pyLDAvis.PreparedData

    Notes
    -----
    Topics keep the numbers of `topic_word_`, from 0. pyLDAvis's page takes topic 0 for "none": it shows its
    words while the pointer is on its circle, but a click does not select it. With `start_index=1`, the page
    can select it, and numbers topics from 1.
    """
    pyldavis = library("pyLDAvis")
    return pyldavis.prepare(**({"mds": principal_coordinates} | pyldavis_arguments(run) | options))


def principal_coordinates(topics: ArrayLike) -> NDArray[np.float64]:
    """Return a map of the topics, (T, 2): the principal coordinates of their Jensen-Shannon divergences.

    It is the map that pyLDAvis draws by default. But where topics are equal, as those without tokens are,
    pyLDAvis finds complex coordinates, because it does not use that the matrix of divergences is symmetric.
    """
    topics = np.asarray(topics, np.float64)
    divergences = _divergences(topics)
    squares = divergences**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    return principal_axes(-centred / 2)


def _divergences(topics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Jensen-Shannon divergence of every two topics, (T, T)."""
    entropies = entr(topics).sum(axis=1)
    found = np.zeros((len(topics), len(topics)))
    for t in range(1, len(topics)):
        middle = entr((topics[:t] + topics[t]) / 2).sum(axis=1)
        found[t, :t] = found[:t, t] = np.maximum(middle - (entropies[:t] + entropies[t]) / 2, 0)
    return found
