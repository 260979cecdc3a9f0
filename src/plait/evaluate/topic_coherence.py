r"""Coherence: whether the top words of a topic occur together.

Let P(i) be the share of windows with word i, P(i, j) the share with both words, and e = 1e-12. A window is a
document, or `window` tokens in a row; a document of n tokens has max(1, n - window + 1) of those. The top
words of a topic are numbered from the most probable. Values of pairs:

    pmi(i, j)   = log( (P(i, j) + e) / (P(i) P(j)) )
    npmi(i, j)  = pmi(i, j) / -log( P(i, j) + e )
    cond(i, j)  = log( (P(i, j) + e) / P(j) )

The measures of a topic:

    ========  ===========  ================================================================================
    measure   windows of   value
    ========  ===========  ================================================================================
    npmi      documents    mean of npmi over pairs
    u_mass    documents    mean of cond(i, j) over pairs with j more probable than i (Mimno et al., 2011)
    c_uci     10 tokens    mean of pmi over pairs (Newman et al., 2010)
    c_npmi    10 tokens    mean of npmi over pairs (Aletras and Stevenson, 2013; Bouma, 2009)
    c_v       110 tokens   mean over words i of the cosine of v_i and sum_j v_j, where v_i is the vector of
                           npmi(i, j) for all top words j, i itself included (Röder, Both and Hinneburg, 2015)
    ========  ===========  ================================================================================

The last four are those of gensim's `CoherenceModel`. Where a word does not occur in the
corpus, gensim's are infinite or not numbers (0 for u_mass); here the value of a pair with such a word is 0,
as of words that have nothing to do with each other, and so is its cosine.

gensim's windows forget: when one of several tokens of a word leaves the window, gensim takes the word as
absent although it is still there. Published values of c_v, c_npmi and c_uci are mostly gensim's, so that is
the default. `forgetful=False` counts windows as the measures define them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.arrays import frozen, frozen_copy
from plait.checks import check_choice, check_flag, check_integer
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, PlaitWarning
from plait.evaluate.sources import (
    Source,
    TopicSource,
    check_corpus,
    check_same_words,
    check_top,
    resolve,
    top_words,
)
from plait.evaluate.topic_scores import TopicScores
from plait.kernels.cooccurrence import (
    ABSENT,
    Counts,
    Presence,
    TopWords,
    count_windows,
    no_presence,
    zero_counts,
)
from plait.threads import Threads, use_threads, weighted_ranges

WINDOWS: Final = {"npmi": None, "u_mass": None, "c_uci": 10, "c_npmi": 10, "c_v": 110}
"""The measures, and the sizes of their windows; None stands for documents."""

EPSILON: Final = 1e-12

_TOKENS_PER_RANGE = 2**16


@dataclass(frozen=True, eq=False, repr=False)
class Coherence(TopicScores):
    """Coherence of topics; larger is better.

    Attributes
    ----------
    measure : str
        The measure; `plait.evaluate.topic_coherence` defines them.
    window : int or None
        Number of tokens in a window; None for documents.
    n_unseen : int
        Number of distinct top words that do not occur in the corpus.
    """

    measure: str
    window: int | None
    n_unseen: int


def coherence(
    source: Source,
    corpus: Corpus,
    *,
    measure: str = "npmi",
    top: int = 10,
    window: int | None = None,
    forgetful: bool = True,
    n_jobs: int | None = None,
) -> Coherence:
    """Measure how often the top words of each topic occur together.

    `plait.evaluate.topic_coherence` defines the measures. Memory is needed for the top words and their pairs
    only, whatever the size of the corpus.

    Parameters
    ----------
    source : Run, path, LatentDirichletAllocation or array (T, W)
        The topics: a run of LDA, the file of one, a fitted estimator, or a matrix whose rows sum to 1.
    corpus : Corpus
        The documents to count in: those that the topics were fitted to, or others. Words are matched by name;
        topics in a matrix must have the words of the corpus.
    measure : {"npmi", "u_mass", "c_uci", "c_npmi", "c_v"}
        The measure.
    top : int
        Number of words per topic, at least 2. gensim takes 20 by default.
    window : int, optional
        Number of tokens in a window; by default that of the measure. "npmi" counts in documents unless a
        window is given, and "u_mass" always does. Windows need tokens in the order of the text, not counts.
    forgetful : bool
        Whether windows forget repeated words as gensim's do.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Returns
    -------
    Coherence

    Examples
    --------
    >>> import plait
    >>> corpus = plait.Corpus.from_tokens([["apple", "pear"], ["pear", "apple"], ["tram", "bus"], ["tram"]])
    >>> topics = [[0.5, 0.0, 0.5, 0.0], [0.0, 0.4, 0.0, 0.6]]  # the words are apple, bus, pear, tram
    >>> plait.evaluate.coherence(topics, corpus, top=2).per_topic.round(3)
    array([1. , 0.5])
    """
    check_choice("measure", measure, WINDOWS)
    forgetful = check_flag("forgetful", forgetful)
    if window is not None and measure == "u_mass":
        raise PlaitError(Argument("window"), " must be None for u_mass, which counts in documents")
    window = WINDOWS[measure] if window is None else check_integer("window", window, least=2)
    corpus = check_corpus(corpus)
    with use_threads(n_jobs) as threads:
        found = resolve(source, n_jobs=threads)
        words = top_words(found.topics, check_top(top, found.topics.shape[1], least=2))
        known = _number_words(words, found, corpus)
        if window is not None:
            _warn_of_counts(corpus, window)
        counts = _count(corpus, window, forgetful, known, threads)
    n_windows = _count_windows(corpus, window)
    values = _score(measure, known, counts, n_windows)
    in_corpus = known.of_topic >= 0
    seen = np.unique(words[in_corpus][counts.words[known.of_topic[in_corpus]] > 0])
    return Coherence(frozen(values), words.shape[1], measure, window, np.unique(words).size - seen.size)


def _number_words(words: NDArray[np.int64], source: TopicSource, corpus: Corpus) -> TopWords:
    """Return numbers for the distinct top words that a corpus knows."""
    if source.corpus is None:
        check_same_words(source.topics.shape[1], corpus)
        ids = words
    elif source.corpus.vocabulary == corpus.vocabulary:
        ids = words
    else:
        index = {word: w for w, word in enumerate(corpus.vocabulary)}
        names = source.corpus.vocabulary
        ids = np.array([[index.get(names[w], ABSENT) for w in row] for row in words.tolist()], np.int64)
    distinct = np.unique(ids[ids >= 0])
    number = np.full(corpus.n_words, ABSENT, np.int32)
    number[distinct] = np.arange(distinct.size)
    of_topic = np.where(ids >= 0, number[ids], ABSENT).astype(np.int32)
    topics, ranks = np.nonzero(of_topic >= 0)
    by_word = np.argsort(of_topic[topics, ranks], kind="stable")
    sizes = np.bincount(of_topic[topics, ranks], minlength=distinct.size)
    return TopWords(
        number=frozen(number),
        of_topic=frozen_copy(of_topic),
        starts=frozen(np.append(0, np.cumsum(sizes))),
        topics=frozen(topics[by_word]),
        ranks=frozen(ranks[by_word]),
    )


def _count(corpus: Corpus, window: int | None, forgetful: bool, top: TopWords, threads: Threads) -> Counts:
    """Count windows in all documents; each thread has counts of its own, which are added up."""
    size = max(1, corpus.n_tokens if window is None else min(window, corpus.n_tokens))
    free: list[tuple[Presence, Counts]] = []
    lock = Lock()

    def count(first: int, last: int) -> None:
        with lock:
            own = free.pop() if free else (no_presence(top), zero_counts(top))
        count_windows(first, last, corpus.words, corpus.offsets, size, forgetful, top, *own)
        with lock:
            free.append(own)

    threads.map(count, weighted_ranges(corpus.offsets, corpus.n_tokens // _TOKENS_PER_RANGE))
    total = zero_counts(top)
    for _, own in free:
        for sums, more in zip(total, own, strict=True):
            sums += more
    return total


def _count_windows(corpus: Corpus, window: int | None) -> int:
    """Return the number of windows: at least one per document, and one for an empty one."""
    if window is None:
        return corpus.n_documents
    return int(np.maximum(corpus.lengths - window + 1, 1).sum())


def _score(measure: str, top: TopWords, counts: Counts, n_windows: int) -> NDArray[np.float64]:
    """Return the value of each topic, (T,)."""
    of_topic = top.of_topic
    single = np.where(of_topic >= 0, np.append(counts.words, 0)[of_topic], 0) / n_windows  # (T, n)
    pairs = counts.pairs + counts.pairs.transpose(0, 2, 1)
    joint = pairs / n_windows
    n = of_topic.shape[1]
    diagonal = np.arange(n)
    joint[:, diagonal, diagonal] = single
    seen = (single > 0)[:, :, None] & (single > 0)[:, None, :]
    above = np.triu_indices(n, 1)

    def over_pairs(values: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = values[:, above[0], above[1]].mean(axis=1)
        return means

    with np.errstate(divide="ignore", invalid="ignore"):  # words that do not occur are put right by `where`
        if measure == "u_mass":  # word j, the more probable one, has the smaller rank
            return over_pairs(np.where(seen, np.log((joint + EPSILON) / single[:, :, None]), 0.0))
        values = np.log((joint + EPSILON) / (single[:, :, None] * single[:, None, :]))
        if measure != "c_uci":
            values /= -np.log(joint + EPSILON)
    values = np.where(seen, values, 0.0)
    if measure != "c_v":
        return over_pairs(values)
    whole = values.sum(axis=1)
    lengths = np.sqrt((values**2).sum(axis=2)) * np.sqrt((whole**2).sum(axis=1))[:, None]
    products = (values * whole[:, None, :]).sum(axis=2)
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return np.asarray(cosines.mean(axis=1))


def _warn_of_counts(corpus: Corpus, window: int) -> None:
    """Warn if the tokens of all documents are sorted by word: then they come from counts, not from text."""
    if corpus.lengths.max() <= window:
        return  # all documents are single windows
    descends = corpus.words[1:] < corpus.words[:-1]
    descends[
        corpus.offsets[1:-1][(corpus.offsets[1:-1] > 0) & (corpus.offsets[1:-1] < corpus.n_tokens)] - 1
    ] = False
    if not descends.any():
        warnings.warn(
            f"the words of every document are sorted, as in counts: windows of {window} words need the order"
            " of the text; use npmi or u_mass, which count in documents",
            PlaitWarning,
            stacklevel=3,
        )
