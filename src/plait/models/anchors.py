"""Topics from anchor words (Arora et al., 2013, A practical algorithm for topic modeling with guarantees).

An anchor word occurs in one topic only. Let Q_vw be the probability that two tokens of a document, drawn at
random without replacement, are the words v and w, r_w the sum of the row of w, and x_w = Q_w / r_w: the
distribution of the words that occur together with w. Then, up to noise,

    x_w = sum_k P(topic k | w) x_k,    x_k the row of the anchor of topic k:

all rows lie in the simplex whose corners are the rows of the anchors.

1. Q is estimated without bias: document d with counts h_d and length n_d contributes
   (h_d h_d' - diag(h_d)) / (n_d (n_d - 1)). Only products of Q with thin matrices are formed.
2. Anchors are found greedily on random projections of the rows: first the row farthest from the mean of all,
   then again and again the row farthest from the affine space through those found.
3. The mixture of anchors that is closest to the row of a word, in the Euclidean norm (RecoverL2), estimates
   P(topic k | w), and Bayes' rule with r_w turns it into topics.

Rows of rare words are mostly noise, which differs from the paper's theory in two ways. Noise puts a row far
from all others, so anchors must be frequent, see `CONTEXT`. And it lengthens the rows, so that inner products
of an anchor with itself are too large and every word seems to be a mixture of all anchors. So Q is estimated
twice, on a random half of the documents each, and step 3 multiplies rows of one half with rows of the other:
their noise is independent. On paragraphs of 33 words, that raises the log-likelihood of the initial paths by
0.3 per token.

At most `MOST_WORDS` words and `MOST_ANCHORS` anchors take part, which bounds memory and time.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.blas import one_blas_thread
from plait.data.corpus import Corpus
from plait.kernels.lda_starts import recover_shares
from plait.scratch import scratch
from plait.threads import Threads, even_ranges

MOST_WORDS: Final = 20_000
"""The words in the most documents take part, at most so many."""

MOST_ANCHORS: Final = 1000
"""Maximum number of anchors."""

CONTEXT: Final = 30_000
"""An anchor must occur in so many documents that they have about this many tokens together."""

CANDIDATES: Final = 3
"""If fewer than this many words per topic do, the words in the most documents are candidates instead."""

LEAST_DOCUMENTS: Final = 5
"""No word in fewer documents is an anchor."""

_PROJECTIONS = 500  # with more topics than half of that, two per topic
_CELLS_PER_CHUNK = 2**22  # of documents times columns: 32 MB
_WORDS_PER_RANGE = 64
_STEPS_PER_ANCHOR = 20
_TOLERANCE = 1e-4  # of slopes, relative to the squared length of anchors' rows
_ROUNDING = 1e-9


class Cooccurrence(NamedTuple):
    """Q, estimated from some documents and multiplied by their number, as H'H - diag(single).

    Attributes
    ----------
    scaled : csr_matrix of float64, (D, V)
        H: the counts h_d / sqrt(n_d (n_d - 1)) of the V words in each document with at least two tokens.
    single : ndarray of float64, (V,)
        The sum over documents of h_dw / (n_d (n_d - 1)).
    sums : ndarray of float64, (V,)
        The sums of the rows of Q: the sum over documents of h_dw / n_d.
    """

    scaled: Any
    single: Floats
    sums: Floats

    @classmethod
    def of(cls, counts: Any) -> Cooccurrence:
        """Estimate Q from the counts of words in documents, a csr_matrix (D, V)."""
        lengths = np.asarray(counts.sum(axis=1), np.float64).ravel()
        pairs = lengths * (lengths - 1.0)
        weights = np.divide(1.0, pairs, out=np.zeros_like(pairs), where=pairs > 0)
        scaled = counts.astype(np.float64)
        scaled.data *= np.repeat(np.sqrt(weights), np.diff(scaled.indptr))
        return cls(scaled, counts.T @ weights, counts.T @ (weights * (lengths - 1.0)))

    def times(self, columns: Floats, rows: NDArray[np.intp]) -> Floats:
        """Return some rows of the product of Q and a matrix (V, C), a chunk of documents at a time."""
        left = self.scaled[:, rows]
        product = -self.single[rows, None] * columns[rows]
        n = max(1, _CELLS_PER_CHUNK // columns.shape[1])
        for first in range(0, self.scaled.shape[0], n):
            product += left[first : first + n].T @ (self.scaled[first : first + n] @ columns)
        return product

    def columns(self, words: NDArray[np.intp]) -> Floats:
        """Return the columns of some words, each divided by its sum, (V, C)."""
        columns: Floats = (self.scaled.T @ self.scaled[:, words]).toarray()
        columns[words, np.arange(len(words))] -= self.single[words]
        return columns / self.sums[words]


@one_blas_thread
def anchor_topics(corpus: Corpus, n_topics: int, random: np.random.Generator, threads: Threads) -> Floats:
    """Return topics of a corpus, (K, W) with K at most `n_topics`; rows sum to 1.

    There are fewer topics if there are not enough candidates for anchors, or not enough distinct rows. The
    columns of words that did not take part are zero: words beyond the `MOST_WORDS` most frequent ones, and
    words that do not occur in both halves of the documents. The bits do not depend on the number of threads.
    """
    counts = corpus.to_matrix()
    frequencies = np.bincount(counts.indices, minlength=corpus.n_words)
    used = np.sort(np.argsort(-frequencies, kind="stable")[:MOST_WORDS])
    counts, frequencies = counts[:, used], frequencies[used]
    half = random.permutation(corpus.n_documents) % 2
    halves = [Cooccurrence.of(counts[half == h]) for h in (0, 1)]
    sums = halves[0].sums + halves[1].sums
    known = np.flatnonzero((halves[0].sums > 0) & (halves[1].sums > 0))
    candidates = known[_candidates(frequencies[known], n_topics, corpus.n_tokens / corpus.n_documents)]
    topics = np.zeros((0, corpus.n_words))
    if not len(candidates):
        return topics

    projections = _projections(len(used), max(_PROJECTIONS, 2 * min(n_topics, MOST_ANCHORS)), random)
    rows = halves[0].times(projections, candidates) + halves[1].times(projections, candidates)
    anchors = candidates[find_anchors(rows / sums[candidates, None], min(n_topics, MOST_ANCHORS))]

    corners = [half.columns(anchors) for half in halves]
    gram = corners[0].T @ corners[1]
    products = [halves[h].times(corners[1 - h], known) / (2.0 * halves[h].sums[known, None]) for h in (0, 1)]
    shares = _shares((gram + gram.T) / 2.0, products[0] + products[1], threads)
    shares[np.searchsorted(known, anchors)] = np.eye(len(anchors))  # by definition, whatever the noise says
    weights = (shares * sums[known, None]).T
    topics = np.zeros((len(anchors), corpus.n_words))
    topics[:, used[known]] = weights / weights.sum(axis=1, keepdims=True)
    return topics


def _projections(n_words: int, n: int, random: np.random.Generator) -> Floats:
    """Return a matrix of random signs, (V, n); for few words, that which changes nothing."""
    if n >= n_words:
        return np.eye(n_words)
    signs = random.integers(0, 2, (n_words, n), np.int8).astype(np.float64)
    signs *= 2.0
    signs -= 1.0
    return signs


def _candidates(frequencies: NDArray[np.int64], n_topics: int, mean_length: float) -> NDArray[np.intp]:
    """Return which words may be anchors, given the numbers of documents that words occur in."""
    order = np.argsort(-frequencies, kind="stable")
    order = order[frequencies[order] >= LEAST_DOCUMENTS]
    enough = np.count_nonzero(frequencies[order] * mean_length >= CONTEXT)
    return np.sort(order[: max(enough, CANDIDATES * n_topics)])


def find_anchors(rows: Floats, n: int) -> NDArray[np.intp]:
    """Return the indices of at most n rows that span the others best, in the order in which they are found.

    Parameters
    ----------
    rows : ndarray, (C, P)
        The points.
    n : int
        Number of anchors; there are fewer if the rows lie in a space of fewer dimensions.
    """
    rows = rows - rows.mean(axis=0)
    lengths = np.einsum("cp,cp->c", rows, rows)
    found = [int(lengths.argmax())]
    smallest = _ROUNDING * lengths.max()
    rows -= rows[found[0]].copy()
    lengths = np.einsum("cp,cp->c", rows, rows)
    basis = np.empty((0, rows.shape[1]))
    while len(found) < n:
        best = int(lengths.argmax())
        direction = rows[best].copy()
        for _ in range(2):  # once more, against rounding
            direction -= basis.T @ (basis @ direction)
        length = direction @ direction
        if lengths[best] <= smallest or length <= smallest:
            break
        direction /= np.sqrt(length)
        found.append(best)
        basis = np.vstack([basis, direction])
        lengths -= (rows @ direction) ** 2
        lengths[found] = 0.0
    return np.array(found, np.intp)


def _shares(gram: Floats, products: Floats, threads: Threads) -> Floats:
    """Return the mixture of anchors that is closest to each word, (V, K), given inner products of rows."""
    n_words, n_anchors = products.shape
    shares = np.empty(products.shape)
    tolerance = _TOLERANCE * float(np.abs(np.diag(gram)).mean())

    def recover(first: int, last: int) -> None:
        buffer = scratch(n_anchors)
        most = _STEPS_PER_ANCHOR * n_anchors
        recover_shares(first, last, gram, products, shares, buffer, tolerance, most)

    threads.map(recover, even_ranges(n_words, n_words // _WORDS_PER_RANGE))
    return shares
