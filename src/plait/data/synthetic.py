"""Data drawn from models whose truth is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plait.checks import check_integer, frozen, shown
from plait.data.corpus import Corpus
from plait.errors import PlaitError

_SHARE_IN_BAND = 0.95


@dataclass(frozen=True, eq=False)
class Bands:
    """A corpus and the topics it was drawn from.

    Parameters
    ----------
    corpus : Corpus
        The documents; the words are called "0", "1", ..., and all are in the vocabulary, drawn or not.
    topics : array of float64, shape (T, W)
        The probability of each word in each topic.
    """

    corpus: Corpus
    topics: npt.NDArray[np.float64]


def bands(
    n_documents: int = 1500,
    seed: int = 0,
    *,
    n_topics: int = 10,
    n_words: int = 100,
    document_length: int = 10,
    width: int = 20,
    alpha: float = 1.0,
) -> Bands:
    """Draw short documents from topics that are overlapping bands of words.

    The centres of the bands are spread evenly from the first word to the last.  The band of centre c holds
    the words v with `c - width / 2 <= v < c + width / 2`, so `width` words, except that the bands at the
    borders are cut off.  A topic spends 0.95 of its probability evenly on its band and 0.05 evenly on all
    words.  Each document draws its shares of topics from a symmetric Dirichlet distribution, then for each
    token a topic and from that a word.

    Parameters
    ----------
    n_documents : int
        The number of documents.
    seed : int
        The seed of the random numbers; the same seed gives the same corpus.
    n_topics, n_words : int
        The numbers of topics and words.
    document_length : int
        The number of tokens in each document.
    width : int
        The number of words in a band.
    alpha : float
        The parameter of the Dirichlet distribution.

    Returns
    -------
    Bands
    """
    n_documents = check_integer("n_documents", n_documents, least=1)
    document_length = check_integer("document_length", document_length, least=1)
    if not (isinstance(alpha, (int, float)) and 0 < alpha < np.inf):
        raise PlaitError(f"alpha is {shown(alpha)}: pass a number above 0")
    topics = _band_topics(
        check_integer("n_topics", n_topics, least=1),
        check_integer("n_words", n_words, least=1),
        check_integer("width", width, least=1),
    )
    rng = np.random.Generator(np.random.PCG64(check_integer("seed", seed, least=0)))
    shares = rng.dirichlet(np.full(n_topics, float(alpha)), size=n_documents)
    documents = np.repeat(np.arange(n_documents), document_length)
    words = _draw(rng, topics, _draw(rng, shares, documents))
    corpus = Corpus(
        words=frozen(words.astype(np.int32)),
        offsets=frozen(np.arange(n_documents + 1, dtype=np.int64) * document_length),
        vocabulary=tuple(map(str, range(n_words))),
    )
    return Bands(corpus, frozen(topics))


def _band_topics(n_topics: int, n_words: int, width: int) -> npt.NDArray[np.float64]:
    centres = np.linspace(0, n_words - 1, n_topics)[:, None]
    words = np.arange(n_words)
    inside = (centres - width / 2 <= words) & (words < centres + width / 2)
    even: npt.NDArray[np.float64] = inside / inside.sum(axis=1, keepdims=True)
    return _SHARE_IN_BAND * even + (1 - _SHARE_IN_BAND) / n_words


def _draw(
    rng: np.random.Generator, distributions: npt.NDArray[np.float64], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Draw one category for each entry of `rows`, from the distribution in that row."""
    n_rows, n_categories = distributions.shape
    steps = np.cumsum(distributions, axis=1)
    # One staircase for all rows: row r climbs from r to r + 1, so a single search serves every draw.
    stairs = (steps / steps[:, -1:] + np.arange(n_rows)[:, None]).ravel()
    places: npt.NDArray[np.int64] = (
        np.searchsorted(stairs, rows + rng.random(rows.size), side="right") - rows * n_categories
    )
    # Rounding may carry a draw past the last step of its row.
    np.minimum(places, n_categories - 1, out=places)
    return places
