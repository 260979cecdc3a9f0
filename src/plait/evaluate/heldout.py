"""Held-out likelihood: how well topics predict documents that they were not fitted to.

Two measures, both of log P(words | phi, alpha) with theta integrated out or inferred, never with a token that
helps to predict itself:

**Document completion.** The tokens of a document are shuffled. The first half, rounded up, is shown: theta_d
is inferred from it. The other half is scored:

    score_d = sum over scored tokens i of log sum_t theta_dt phi_t(w_i)

**Left to right.** The likelihood of the whole document,

    score_d = log P(w_d | phi, alpha) = log integral of Dir(theta; alpha) prod_i sum_t theta_t phi_t(w_i),

estimated with particles (Wallach, Murray, Salakhutdinov and Mimno, 2009, in an unbiased form). The mean over
seeds of exp(score_d) is the likelihood; the logarithm is a little too small on average, less so with more
particles. `plait.kernels.held_out` describes the algorithm.

For both, the order of a document's tokens is a random one whose key is the seed and the words as a bag. So
the score of a document depends neither on the order of its tokens nor on the other documents.

Over documents, with n_d scored tokens each, n = sum_d n_d and D documents that have any:

    per_token       r = sum_d score_d / n
    standard_error  sqrt( D / (D - 1) sum_d (score_d - r n_d)^2 ) / n
    perplexity      exp(-r)

The standard error is that of a ratio: the documents are the sample, not the tokens, which come in clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import frozen, frozen_copy
from plait.checks import check_choice, check_integer
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.evaluate.sources import Source, check_corpus, in_vocabulary, resolve
from plait.inference.topics import infer_theta
from plait.kernels import held_out as kernels
from plait.kernels.lda import Documents, hash_documents, score_documents
from plait.models.lda import Topics
from plait.models.priors import check_prior
from plait.models.topics import check_topics, make_topics
from plait.plans import MAX_SEED
from plait.rng import PARTICLES, SPLIT, Key
from plait.threads import Threads, use_threads, weighted_ranges

METHODS = ("completion", "left-to-right")

N_PARTICLES = 20
MAX_PARTICLES = 2**20

_THETA_CELLS = 2**24  # theta of so many cells is inferred at once, which bounds the memory
_TOKENS_PER_RANGE = 8192
_DRAWS_PER_RANGE = 2**16


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """How well held-out documents were predicted; `plait.evaluate.heldout` has the formulas.

    Attributes
    ----------
    method : str
        "completion" or "left-to-right".
    document_scores : ndarray of float64, (D,)
        Log-likelihood of the scored tokens of each document; 0 for those without any.
    document_tokens : ndarray of int64, (D,)
        Number of scored tokens of each document.
    """

    method: str
    document_scores: NDArray[np.float64]
    document_tokens: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("document_scores", "document_tokens"):
            object.__setattr__(self, name, frozen_copy(getattr(self, name)))

    def __repr__(self) -> str:
        return (
            f"HeldOut(method={self.method!r}, per_token={self.per_token:.6g},"
            f" standard_error={self.standard_error:.2g}, perplexity={self.perplexity:.6g},"
            f" n_tokens={self.n_tokens}, n_documents={self.n_documents})"
        )

    @property
    def log_likelihood(self) -> float:
        """Sum over the scored tokens."""
        return math.fsum(self.document_scores)  # exact, so the order of documents does not matter

    @property
    def n_tokens(self) -> int:
        """Number of scored tokens."""
        return int(self.document_tokens.sum())

    @property
    def n_documents(self) -> int:
        """Number of documents with scored tokens."""
        return int(np.count_nonzero(self.document_tokens))

    @property
    def per_token(self) -> float:
        """Mean log-likelihood of a token."""
        return self.log_likelihood / self.n_tokens

    @property
    def standard_error(self) -> float:
        """Standard error of `per_token` over documents; NaN for one document."""
        return _standard_error(self.document_scores, self.document_tokens)

    @property
    def perplexity(self) -> float:
        """The perplexity, exp(-per_token): the number of equally likely words that are as hard to predict."""
        return float(np.exp(-self.per_token))

    def difference(self, other: HeldOut) -> tuple[float, float]:
        """Return how much larger `per_token` is than that of other topics, and the standard error of that.

        The two results must be of the same documents. Some documents are hard for all topics: that cancels in
        the difference, so its standard error is far smaller than those of the two results.
        """
        if self.method != other.method or not np.array_equal(self.document_tokens, other.document_tokens):
            raise PlaitError(
                Argument("other"),
                " must be a result for the same documents and method: score the same corpus",
            )
        scores = self.document_scores - other.document_scores
        return math.fsum(scores) / self.n_tokens, _standard_error(scores, self.document_tokens)


def _standard_error(scores: NDArray[np.float64], tokens: NDArray[np.int64]) -> float:
    used = tokens > 0
    n = int(np.count_nonzero(used))
    if n < 2 or not np.isfinite(scores).all():
        return math.nan
    total = int(tokens.sum())
    residuals = scores[used] - math.fsum(scores) / total * tokens[used]
    return math.sqrt(n / (n - 1) * math.fsum(residuals**2)) / total


def held_out(
    source: Source,
    corpus: Corpus,
    *,
    method: str = "completion",
    alpha: ArrayLike | None = None,
    n_particles: int = N_PARTICLES,
    seed: int = 0,
    n_jobs: int | None = None,
) -> HeldOut:
    """Score documents that the topics were not fitted to.

    The result depends on the documents, the topics, alpha and the seed alone; it has the same bits for any
    number of threads. `plait.evaluate.heldout` has the formulas.

    Parameters
    ----------
    source : Run, path, LatentDirichletAllocation or array (T, W)
        The topics: a run of LDA, the file of one, a fitted estimator, or a matrix whose rows sum to 1.
    corpus : Corpus
        The documents. Words that the topics do not know are dropped, with a warning.
    method : {"completion", "left-to-right"}
        Infer theta from half of a document and score the other half, or estimate the likelihood of all of it.
    alpha : float or array (T,), optional
        Prior of the topics in a document; by default that of the model. For a matrix it must be given.
    n_particles : int
        Number R of particles of "left-to-right".
    seed : int
        The same seed gives the same result.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> import plait
    >>> corpus = plait.datasets.bands(40, seed=1).corpus
    >>> lda = plait.LatentDirichletAllocation(10, max_iter=20, random_state=0).fit(corpus.select(range(30)))
    >>> result = plait.evaluate.held_out(lda, corpus.select(range(30, 40)))
    >>> result.n_documents
    10
    """
    check_choice("method", method, METHODS)
    corpus = check_corpus(corpus)
    found = resolve(source, alpha, n_jobs=n_jobs)
    if found.alpha is None:
        raise PlaitError(
            Argument("alpha"),
            " must be given for topics in a matrix: pass the prior that they were fitted with",
        )
    corpus = in_vocabulary(corpus, found)
    topics = make_topics(found.topics, found.alpha, n_jobs)
    if method == "completion":
        return complete_documents(corpus, topics, found.alpha, seed=seed, n_jobs=n_jobs)
    return score_left_to_right(corpus, topics, found.alpha, n_particles=n_particles, seed=seed, n_jobs=n_jobs)


def complete_documents(
    corpus: Corpus, topics: Topics, alpha: ArrayLike, *, seed: int = 0, n_jobs: int | None = None
) -> HeldOut:
    """Score documents by document completion; see `held_out`.

    Parameters
    ----------
    corpus : Corpus
        The documents, in the vocabulary of the topics.
    topics : Topics
        The parameters phi.
    alpha : float or array (T,)
        Prior of the topics in a document, the one that `topics` were made with.
    seed, n_jobs
        As in `held_out`.
    """
    check_topics(topics, corpus.n_words)
    if not (corpus.lengths > 1).any():
        raise PlaitError(
            "no document has two words: document completion infers topics from half of the words of a"
            " document and scores the rest; pass longer documents"
        )
    scores = np.zeros(corpus.n_documents)
    with use_threads(n_jobs) as threads:
        words = shuffle(corpus, seed, threads).words
        batch = max(1, _THETA_CELLS // topics.phi.shape[1])
        for first in range(0, corpus.n_documents, batch):
            shown, scored = _halves(corpus, words, first, min(first + batch, corpus.n_documents))
            theta = infer_theta(shown, topics, alpha, seed=seed, n_jobs=n_jobs)
            own = scores[first : first + batch]

            def score(
                start: int,
                stop: int,
                scored: Corpus = scored,
                theta: NDArray[np.float64] = theta,
                own: NDArray[np.float64] = own,
            ) -> None:
                score_documents(start, stop, scored.words, scored.offsets, theta, topics.phi, own)

            threads.map(score, weighted_ranges(scored.offsets, scored.n_tokens // _TOKENS_PER_RANGE))
    return HeldOut("completion", scores, corpus.lengths // 2)


def score_left_to_right(
    corpus: Corpus,
    topics: Topics,
    alpha: ArrayLike,
    *,
    n_particles: int = N_PARTICLES,
    seed: int = 0,
    n_jobs: int | None = None,
) -> HeldOut:
    """Estimate the likelihood of documents from left to right; see `held_out`.

    Parameters
    ----------
    corpus, topics, alpha, seed, n_jobs
        As in `complete_documents`.
    n_particles : int
        Number of particles R.
    """
    check_topics(topics, corpus.n_words, values=True)
    n_topics = topics.phi.shape[1]
    prior = frozen_copy(np.broadcast_to(check_prior("alpha", alpha, {"T": n_topics}), n_topics))
    n_particles = check_integer("n_particles", n_particles, least=1, limit=MAX_PARTICLES)
    if not corpus.n_tokens:
        raise PlaitError("no document has a word that the topics know: pass documents with words")
    scores = np.zeros(corpus.n_documents)
    lengths = corpus.lengths
    with use_threads(n_jobs) as threads:
        documents = shuffle(corpus, seed, threads)

        def score(first: int, last: int) -> None:
            particles = kernels.scratch_particles(n_particles, n_topics, int(lengths[first:last].max()))
            kernels.left_to_right(
                first, last, documents, topics, prior, particles, scores, Key(seed, PARTICLES)
            )

        draws = np.append(0, np.cumsum(lengths * (1 + np.minimum(lengths, kernels.MOST_MOVES))))
        threads.map(score, weighted_ranges(draws, int(draws[-1]) * n_particles // _DRAWS_PER_RANGE))
    return HeldOut("left-to-right", scores, lengths)


def shuffle(corpus: Corpus, seed: int, threads: Threads) -> Documents:
    """Return the documents with their tokens in random order, and a hash of the words of each.

    Both depend on the words of the document as a bag, and on nothing else but the seed.
    """
    seed = check_integer("seed", seed, least=0, most=MAX_SEED)
    document = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    bags = frozen(corpus.words[np.lexsort((corpus.words, document))])
    units = np.empty(corpus.n_documents, np.int64)
    hash_documents(bags, corpus.offsets, units)
    sorted_documents = Documents(bags, corpus.offsets, frozen(units))
    words = np.empty_like(bags)

    def draw(first: int, last: int) -> None:
        kernels.shuffle_documents(first, last, sorted_documents, words, Key(seed, SPLIT))

    threads.map(draw, weighted_ranges(corpus.offsets, corpus.n_tokens // _TOKENS_PER_RANGE))
    return sorted_documents._replace(words=frozen(words))


def _halves(corpus: Corpus, words: NDArray[np.int32], first: int, last: int) -> tuple[Corpus, Corpus]:
    """Return the shown and the scored halves of the documents `first` to `last`, given shuffled words."""
    offsets = corpus.offsets[first : last + 1]
    lengths = np.diff(offsets)
    n_shown = lengths - lengths // 2
    position = np.arange(offsets[0], offsets[-1]) - np.repeat(offsets[:-1], lengths)
    is_shown = position < np.repeat(n_shown, lengths)
    own = words[offsets[0] : offsets[-1]]
    shown_offsets = np.append(0, np.cumsum(n_shown))
    scored_offsets = np.append(0, np.cumsum(lengths // 2))
    return (
        Corpus(frozen(own[is_shown]), frozen(shown_offsets), corpus.vocabulary),
        Corpus(frozen(own[~is_shown]), frozen(scored_offsets), corpus.vocabulary),
    )
