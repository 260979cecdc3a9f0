"""Synthetic data, drawn from models with known parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plait.arrays import frozen
from plait.checks import check_integer, short_repr
from plait.data.corpus import Corpus
from plait.data.sequences import MAX_SYMBOLS, Sequences
from plait.errors import Argument, PlaitError

_SHARE_IN_BAND = 0.95


@dataclass(frozen=True, eq=False)
class Bands:
    """A corpus and the topics it was drawn from.

    Parameters
    ----------
    corpus : Corpus
        The documents; the vocabulary is "0", "1", ..., including words that were not drawn.
    topics : array of float64, shape (T, W)
        Probability of each word in each topic.
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
    width: int = 19,
    alpha: float = 1.0,
) -> Bands:
    """Draw short documents from topics that are overlapping bands of words.

    The centres of the bands are evenly spaced from the first word to the last.  The band with centre c holds
    the words v with `c - width / 2 <= v < c + width / 2`, that is `width` words, except that bands are cut
    off at the borders.  A topic spreads 0.95 of its probability evenly over its band and 0.05 evenly over
    all words.  Each document draws its topic distribution from a symmetric Dirichlet distribution; each
    token draws a topic from that, and a word from the topic.

    Parameters
    ----------
    n_documents : int
        Number of documents.
    seed : int
        Seed of the random numbers; the same seed gives the same corpus.
    n_topics, n_words : int
        Numbers of topics and words.
    document_length : int
        Number of tokens in each document.
    width : int
        Number of words in a band; by default its centre and nine words on either side.
    alpha : float
        Parameter of the Dirichlet distribution.

    Returns
    -------
    Bands
    """
    n_documents = check_integer("n_documents", n_documents, least=1)
    document_length = check_integer("document_length", document_length, least=1)
    if not (isinstance(alpha, (int, float)) and 0 < alpha < np.inf):
        raise PlaitError(Argument("alpha"), f" must be a number above 0, got {short_repr(alpha)}")
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


@dataclass(frozen=True, eq=False)
class HardHmm:
    """A sequence of symbols and the hidden Markov model it was drawn from.

    Parameters
    ----------
    sequences : Sequences
        A single sequence of N symbols; the labels are "0", "1", ..., including symbols that were not drawn.
    states : array of uint16, shape (N,)
        The hidden state of each observation.
    start : array of float64, shape (2,)
        Probability of each state for the first observation.
    transitions : array of float64, shape (2, 2)
        Probability of each state, given the state before.
    emissions : array of float64, shape (2, n_symbols)
        Probability of each symbol in each state.
    """

    sequences: Sequences
    states: npt.NDArray[np.uint16]
    start: npt.NDArray[np.float64]
    transitions: npt.NDArray[np.float64]
    emissions: npt.NDArray[np.float64]


def hard_hmm(
    seed: int = 0,
    *,
    n: int = 200_000,
    switch: float = 0.45,
    n_symbols: int = 10,
    amplitude: float = 0.8,
) -> HardHmm:
    """Draw a long sequence from a hidden Markov model whose parameters are hard to recover.

    There are two states, equally probable at the start.  From one observation to the next, the state
    changes with probability `switch`.  State 0 emits symbol x with a probability proportional to
    `1 + amplitude * cos(2 * pi * x / n_symbols)`, state 1 with one proportional to
    `1 - amplitude * cos(2 * pi * x / n_symbols)`.

    The states switch nearly at random, so a state says little about the next one, and neighbouring
    observations are almost independent.  The likelihood therefore has a plateau around the models in which
    they are independent and both states have the mean of the two emissions.  A sampler stays there for a long
    time before it finds the small difference between the states.  With the defaults, the plateau is 69 nats
    below the log-likelihood of the true parameters, -460441.4, and the highest maximum is 14 nats above it.
    With a smaller amplitude, samplers stay on the plateau for thousands of sweeps.

    Parameters
    ----------
    seed : int
        Seed of the random numbers; the same seed gives the same sequence.
    n : int
        Number of observations.
    switch : float
        Probability that the state changes, between 0 and 1; the nearer to 1/2, the harder.
    n_symbols : int
        Number of symbols.
    amplitude : float
        How much the emissions of the states differ, between 0 and 1; the smaller, the harder.

    Returns
    -------
    HardHmm
    """
    n = check_integer("n", n, least=1)
    n_symbols = check_integer("n_symbols", n_symbols, least=2, most=MAX_SYMBOLS)
    for name, value in (("switch", switch), ("amplitude", amplitude)):
        if not (isinstance(value, (int, float)) and 0 < value < 1):
            raise PlaitError(
                Argument(name), f" must be a number above 0 and below 1, got {short_repr(value)}"
            )
    rng = np.random.Generator(np.random.PCG64(check_integer("seed", seed, least=0)))
    start = np.array([0.5, 0.5])
    transitions = np.array([[1 - switch, switch], [switch, 1 - switch]])
    wave = amplitude * np.cos(2 * np.pi * np.arange(n_symbols) / n_symbols)
    emissions = np.stack([1 + wave, 1 - wave])
    emissions /= emissions.sum(axis=1, keepdims=True)
    # The first entry is the first state; each later entry is 1 if the state changes there.
    changes = rng.random(n) < np.concatenate((start[:1], np.full(n - 1, switch)))
    states = np.bitwise_xor.accumulate(changes.astype(np.int64))
    symbols = _draw(rng, emissions, states).astype(np.int32)
    return HardHmm(
        Sequences.from_symbols(symbols, labels=map(str, range(n_symbols))),
        frozen(states.astype(np.uint16)),
        frozen(start),
        frozen(transitions),
        frozen(emissions),
    )


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
    # Cumulative sums of all rows in one array, row r from r to r + 1, so that one search makes all draws.
    stairs = (steps / steps[:, -1:] + np.arange(n_rows)[:, None]).ravel()
    places: npt.NDArray[np.int64] = (
        np.searchsorted(stairs, rows + rng.random(rows.size), side="right") - rows * n_categories
    )
    # Rounding may push a draw past the last category of its row.
    np.minimum(places, n_categories - 1, out=places)
    return places
