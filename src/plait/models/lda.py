"""Latent Dirichlet allocation: the model of Algorithms 3 and 4 of the paper.

phi_t    ~ Dir(eta_t)       topics, distributions over W words; phi = (phi_1, ..., phi_T)
theta_d  ~ Dir(alpha)       topics of a document, integrated out throughout
p_i      ~ theta_d          topic of a token
w_i      ~ phi_{p_i}        its word
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import check_finite, check_form, check_numbers, frozen_copy, place_of, stored
from plait.checks import check_integer, list_names, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, rename_arguments
from plait.kernels import collapsed_lda
from plait.kernels import lda as kernels
from plait.kernels.documents import scratch_topic_list
from plait.kernels.lda import Documents, Priors, TopicCounts, Topics
from plait.models.lda_starts import STARTS, progressive_paths, resample_given, spectral_topics
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, checks_paths
from plait.models.priors import check_prior
from plait.rng import INITIAL, tiny_share
from plait.scratch import scratch, set_apart
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges, use_threads, weighted_ranges

MAX_TOPICS = MAX_STATES
"""A topic is stored in two bytes."""

MAX_COUNT = 2**31 - 1
"""A count of a word in a topic is stored in four bytes."""

__all__ = ["MAX_COUNT", "MAX_TOPICS", "FixedTopicsModel", "LdaModel", "TopicCounts", "Topics"]

_TOKENS_PER_RANGE = 8192  # with fewer, a thread costs more than it saves
_CELLS_PER_RANGE = 65536
_MAX_DENSE = 64  # up to this many topics, weighing all of them for every token is faster than lists
_MAX_UNROLLED = 16  # up to this many, the dense kernel is faster if the compiler knows their number
_ROUNDING = 1e-3  # how far the sum of a topic may be from 1: phi is single precision
_SMALL_PRIOR = 8.0  # sum over words of eta; above it, the sum of a topic's gamma variates cannot underflow


@dataclass(frozen=True, eq=False)
class LdaModel:
    """LDA on a corpus, with fixed priors.

    Parameters
    ----------
    corpus : Corpus
        The data w.
    n_topics : int
        Number of topics T, 2 to 65535.
    alpha : float or array (T,), default: 10 / T, at most 1
        Prior of the topics in a document.
    eta : float or array (T, W), default: 0.01
        Prior of the words in a topic. Raise single cells to seed topics with words.
    least_topics : int, default: 2
        Smallest T that is accepted. With one topic there is nothing to learn, but scikit-learn requires that
        its estimators accept one component.
    initial : {"uniform", "progressive", "spectral"} or Topics, default: "uniform"
        How the initial paths are drawn, see `plait.models.lda_starts`: uniformly as in the paper, by one
        collapsed pass from empty counts, or given topics, which anchor words determine or which are given.
        Of given topics only phi is used: these may be the topics of a run with another alpha.
    """

    kind: ClassVar[str] = "lda"
    site_name: ClassVar[str] = "token"

    corpus: Corpus
    n_topics: int
    alpha: ArrayLike | None = None
    eta: ArrayLike | None = None
    least_topics: int = 2
    initial: str | Topics = "uniform"
    _documents: Documents = field(init=False, repr=False)
    _priors: Priors = field(init=False, repr=False)
    _document_ranges: list[Range] = field(init=False, repr=False)
    _word_ranges: list[Range] = field(init=False, repr=False)
    _word_offsets: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        least = check_integer("least_topics", self.least_topics, least=1, most=MAX_TOPICS)
        check_integer("n_topics", self.n_topics, least=least, most=MAX_TOPICS)
        if not self.corpus.n_tokens:
            raise PlaitError(
                f"the corpus is empty: none of its {self.corpus.n_documents} documents has a word;"
                " give documents with words, or filter fewer of them out"
            )
        n_topics, n_words = int(self.n_topics), self.corpus.n_words
        alpha = min(1.0, 10.0 / n_topics) if self.alpha is None else self.alpha
        eta = 0.01 if self.eta is None else self.eta
        checked_alpha = check_prior("alpha", alpha, {"T": n_topics})
        checked_eta = check_prior("eta", eta, {"T": n_topics, "W": n_words})

        if checked_eta.ndim == 0:
            rows = np.full((1, n_topics), checked_eta)
            row_of_word = np.zeros(n_words, np.intp)
            sums = np.full(n_topics, n_words * float(checked_eta))
        else:
            rows, row_of_word = np.unique(checked_eta.T, axis=0, return_inverse=True)
            sums = checked_eta.sum(axis=1)
        priors = Priors(
            alpha=frozen_copy(np.broadcast_to(checked_alpha, n_topics)),
            eta=frozen_copy(rows),
            eta_row=frozen_copy(row_of_word.reshape(-1).astype(np.int32)),
            eta_sums=frozen_copy(sums),
            tiny=frozen_copy(tiny_share(rows)),
        )
        derived = {
            "alpha": frozen_copy(checked_alpha),
            "eta": frozen_copy(checked_eta),
            "_documents": Documents(self.corpus.words, self.corpus.offsets, frozen_copy(self._units())),
            "_priors": priors,
            "_document_ranges": weighted_ranges(
                self.corpus.offsets, self.corpus.n_tokens // _TOKENS_PER_RANGE
            ),
            "_word_offsets": _count_words(self.corpus),
            "_word_ranges": even_ranges(n_words, n_words * n_topics // _CELLS_PER_RANGE),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "initial", self._check_initial())

    def _check_initial(self) -> str | Topics:
        """Return the initialisation, its topics read-only, or raise an error."""
        initial = self.initial
        if isinstance(initial, str) and initial in STARTS:
            return initial
        if not isinstance(initial, Topics):
            raise PlaitError(
                Argument("initial"),
                f" must be one of {list_names(STARTS)}, or Topics, got {short_repr(initial)}",
            )
        with rename_arguments({"topics": "initial"}):
            self._check_form(initial)
        _check_probabilities(Argument("initial"), initial.phi)
        with Threads(1) as threads:
            own = self._normalised(initial.phi.copy(), np.ones(self.n_topics), threads)
        return Topics(frozen_copy(own.phi), frozen_copy(own.shared))

    def _units(self) -> NDArray[np.int64]:
        """Return the number of each document in the keys of its random streams, (D,)."""
        return np.arange(self.corpus.n_documents)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and kernels are compiled for read-only ones.
        return type(self), (self.corpus, self.n_topics, self.alpha, self.eta, self.least_topics, self.initial)

    @property
    def n_sites(self) -> int:
        """Number of tokens (N)."""
        return self.corpus.n_tokens

    @property
    def n_states(self) -> int:
        """Number of topics (T)."""
        return self.n_topics

    @property
    def alpha_vector(self) -> NDArray[np.float64]:
        """The prior of the topics in a document, one value per topic, (T,)."""
        return self._priors.alpha

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """How often each word occurs in the corpus, (W,)."""
        return np.diff(self._word_offsets)

    def has_priors_of(self, other: LdaModel) -> bool:
        """Return whether both models have the same alpha and eta."""
        return np.array_equal(self.alpha_vector, other.alpha_vector) and np.array_equal(
            np.asarray(self.eta), np.asarray(other.eta)
        )

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the initial paths as `initial` says: line 2 of Algorithms 3 and 4."""
        if self.initial == "progressive":
            self._check_counts(n_paths)
            return progressive_paths(self, n_paths, seed)
        paths = self._uniform_paths(n_paths, seed, threads)
        if self.initial == "spectral":
            topics = self.as_topics(spectral_topics(self, seed, threads), threads)
            resample_given(self, paths, topics, seed, threads)
        elif isinstance(self.initial, Topics):
            # Copies, because kernels are compiled for the writeable arrays of topics that are drawn.
            topics = Topics(self.initial.phi.copy(), self.initial.shared.copy())
            resample_given(self, paths, topics, seed, threads)
        return paths

    def _uniform_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        paths = np.empty((n_paths, self.n_sites), np.uint16)

        def draw(first: int, last: int) -> None:
            kernels.draw_initial_paths(first, last, self._documents, self.n_topics, paths, Key(seed, INITIAL))

        threads.map(draw, self._document_ranges)
        return paths

    @checks_paths
    def count(self, paths: Paths, threads: Threads) -> TopicCounts:
        """Count C^TW and C^T over all paths."""
        corpus = self.corpus
        self._check_counts(len(paths))
        words = scratch((corpus.n_words, self.n_topics), np.int32)

        def count(first: int, last: int) -> NDArray[np.int64]:
            kernels.count_words(first, last, corpus.words, paths, words)
            return words[first:last].sum(axis=0, dtype=np.int64)

        # Every range reads the whole corpus and counts its own words, so one range per thread is best.
        topics = threads.map(count, weighted_ranges(self._word_offsets, threads.n))
        return TopicCounts(words, set_apart(np.sum(topics, axis=0)))

    def _check_counts(self, n_paths: int) -> None:
        """Raise an error if a count of a word in a topic could exceed its type."""
        most = int(self.frequencies.max())
        if most * n_paths > MAX_COUNT:
            raise PlaitError(
                Argument("n_paths"),
                f" must be at most {MAX_COUNT // most}, got {n_paths}: a word occurs {most} times, and at"
                f" most {MAX_COUNT} tokens of a word can be counted in all paths together",
            )

    def draw_parameters(self, counts: TopicCounts, key: Key, threads: Threads) -> Topics:
        """Draw phi_t ~ Dir(eta_t + C^TW_t) for every topic: lines 5 to 7 of Algorithm 3."""
        phi = np.empty(counts.words.shape, np.float32)

        def draw(first: int, last: int) -> NDArray[np.float64]:
            sums = scratch(self.n_topics)
            buffers = kernels.GammaScratch(scratch(self.n_topics, np.int64), scratch(self.n_topics))
            kernels.draw_gammas(first, last, counts.words, self._priors, phi, sums, buffers, key)
            return sums

        sums = np.sum(threads.map(draw, self._word_ranges), axis=0)
        empty = np.flatnonzero((counts.topics == 0) & (self._priors.eta_sums < _SMALL_PRIOR))
        kernels.draw_empty_topics(empty, self._priors, phi, sums, key)
        return self._normalised(phi, 1.0 / sums, threads)

    def mean_parameters(self, counts: TopicCounts, threads: Threads) -> Topics:
        """Return phi_t(w) = (C^TW_tw + eta_tw) / (C^T_t + sum_w eta_tw)."""
        phi = np.empty(counts.words.shape, np.float32)

        def fill(first: int, last: int) -> None:
            kernels.add_prior(first, last, counts.words, self._priors, phi)

        threads.map(fill, self._word_ranges)
        return self._normalised(phi, 1.0 / (counts.topics + self._priors.eta_sums), threads)

    def _normalised(self, phi: NDArray[np.float32], scale: NDArray[np.float64], threads: Threads) -> Topics:
        topics = Topics(phi, np.empty((phi.shape[0], kernels.count_blocks(self.n_topics))))

        def normalise(first: int, last: int) -> None:
            kernels.normalise_topics(first, last, topics, scale, self._priors.alpha)

        threads.map(normalise, self._word_ranges)
        return topics

    @checks_paths
    def resample(self, paths: Paths, parameters: Topics, key: Key, threads: Threads) -> None:
        """Draw every topic given phi: lines 8 to 21 of Algorithm 3."""
        self._check_form(parameters)

        def draw(first: int, last: int) -> None:
            kernels.resample_documents(
                first,
                last,
                self._documents,
                paths,
                parameters,
                self._priors.alpha,
                scratch_topic_list(self.n_topics),
                scratch(self.n_topics),
                key,
            )

        threads.map(draw, self._document_ranges)

    @checks_paths
    def resample_collapsed(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        """Draw every topic given all others: lines 5 to 18 of Algorithm 4."""
        if self.n_topics <= _MAX_DENSE:
            self._resample_collapsed_dense(paths, counts, key)
            return
        n_paths, n_topics = len(paths), self.n_topics
        most = np.minimum(np.diff(self._word_offsets) * n_paths, n_topics)
        collapsed_lda.resample_collapsed(
            self._documents,
            paths,
            counts,
            self._priors,
            collapsed_lda.Scales(inverse=scratch(n_topics), scaled_alpha=scratch(n_topics)),
            collapsed_lda.WordLists(
                starts=np.cumsum(most) - most,
                listed=scratch(int(most.sum()), np.uint16),
                sizes=scratch(len(most), np.uint64),
            ),
            collapsed_lda.CollapsedScratch(
                streams=scratch((n_paths, 2), np.uint64),
                present=scratch_topic_list(n_paths, n_topics),
                sizes=scratch(n_paths, np.uint64),
                cumulative=scratch(n_topics),
            ),
            key,
        )

    def _resample_collapsed_dense(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        n_paths, n_topics = len(paths), self.n_topics
        buffers = collapsed_lda.DenseScratch(
            streams=scratch((n_paths, 2), np.uint64),
            totals=scratch(n_topics),
            inverse=scratch(n_topics),
            counts=scratch((n_paths, n_topics)),
            cumulative=scratch(n_topics),
        )
        size = (0,) * n_topics if n_topics <= _MAX_UNROLLED else ()
        collapsed_lda.resample_collapsed_dense(
            size, self._documents, paths, counts, self._priors, buffers, key
        )

    @checks_paths
    def log_joint(self, paths: Paths, parameters: Topics, threads: Threads) -> NDArray[np.float64]:
        """Return log P(p^j, w | phi) for every path, theta integrated out."""
        self._check_form(parameters)

        def add(first: int, last: int) -> NDArray[np.float64]:
            sums = scratch(len(paths))
            present = scratch_topic_list(self.n_topics)
            kernels.log_joint_documents(
                first, last, self._documents, paths, parameters.phi, self._priors.alpha, present, sums
            )
            return sums

        return np.sum(threads.map(add, self._document_ranges), axis=0)

    def _check_form(self, topics: Topics) -> None:
        """Raise an error if topics are not of this vocabulary, or not in the layout that kernels take."""
        check_topics(topics, self.corpus.n_words, self.n_topics)

    def pseudo_counts(self, counts: TopicCounts) -> NDArray[np.float64]:
        """Return C^TW_tw + eta_tw, (T, W)."""
        pseudo: NDArray[np.float64] = counts.words.T + self._priors.eta.T[:, self._priors.eta_row]
        return pseudo

    def topic_word(self, counts: TopicCounts) -> NDArray[np.float64]:
        """Return the mean of phi given the paths, (T, W), in double precision; rows sum to 1."""
        pseudo = self.pseudo_counts(counts)
        pseudo /= pseudo.sum(axis=1, keepdims=True)
        return pseudo

    def as_topics(self, topic_word: NDArray[np.float64], n_jobs: int | Threads | None = None) -> Topics:
        """Return topics in the layout of the sampler.

        Parameters
        ----------
        topic_word : ndarray, (T, W)
            The topics; rows sum to 1.
        n_jobs : int, optional
            Number of threads; all cores by default.
        """
        topic_word = check_numbers("topic_word", topic_word)
        check_finite(Argument("topic_word"), topic_word, (self.n_topics, self.corpus.n_words))
        phi = topic_word.T.astype(np.float32, order="C")
        with use_threads(n_jobs) as threads:
            return self._normalised(phi, np.ones(self.n_topics), threads)

    @checks_paths
    def add_document_counts(self, paths: Paths, totals: NDArray[np.float64]) -> None:
        """Add C^DT of all paths together to `totals` (D, T)."""
        check_form(Argument("totals"), totals, (self.corpus.n_documents, self.n_topics))
        kernels.count_documents(0, len(totals), self.corpus.offsets, paths, totals)

    def theta(self, totals: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """Return the mean of theta, (D, T), given C^DT added up over n paths; rows sum to 1.

        theta_dt = (C^DT_dt / n + alpha_t) / (length of d + sum_t alpha_t).
        """
        alpha = self._priors.alpha
        theta = totals / n + alpha
        theta /= (self.corpus.lengths + alpha.sum())[:, None]
        return theta

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, Topics]:
        """Draw phi, a path and words from the prior; return a model of these words, the path and phi.

        Documents keep their lengths.
        """
        n_words, n_topics = self.corpus.n_words, self.n_topics
        counts = TopicCounts(np.zeros((n_words, n_topics), np.int32), np.zeros(n_topics, np.int64))
        with Threads(1) as threads:
            phi = self.draw_parameters(counts, Key(int(rng.integers(2**62)), INITIAL), threads)
        path = np.empty(self.n_sites, np.uint16)
        words = np.empty(self.n_sites, np.int32)
        columns = phi.phi.astype(np.float64)
        for first, last in pairwise(self.corpus.offsets):
            shares = rng.dirichlet(self._priors.alpha)
            path[first:last] = rng.choice(n_topics, size=last - first, p=shares)
            for i in range(first, last):
                topic = columns[:, path[i]]
                words[i] = rng.choice(n_words, p=topic / topic.sum())
        corpus = Corpus(words, self.corpus.offsets, self.corpus.vocabulary)
        return replace(self, corpus=corpus), path, phi

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the corpus, the priors and the initialisation as arrays and a header."""
        corpus_arrays, corpus_header = self.corpus.to_arrays()
        arrays = {f"corpus.{name}": array for name, array in corpus_arrays.items()}
        arrays |= {"alpha": np.asarray(self.alpha), "eta": np.asarray(self.eta)}
        header = {"n_topics": self.n_topics, "least_topics": self.least_topics, "corpus": corpus_header}
        if isinstance(self.initial, Topics):
            arrays["initial.phi"] = self.initial.phi
        else:
            header["initial"] = self.initial
        return arrays, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        corpus = Corpus.from_arrays(arrays_below("corpus.", arrays), header["corpus"])
        alpha, eta = stored(arrays, "alpha"), stored(arrays, "eta")
        initial = header.get("initial", "uniform")  # older files have none
        if "initial.phi" in arrays:
            phi = stored(arrays, "initial.phi", np.float32)
            check_form("initial.phi", phi, (corpus.n_words, header["n_topics"]), np.float32)
            initial = Topics(phi, np.zeros((len(phi), kernels.count_blocks(phi.shape[1]))))
        return cls(corpus, header["n_topics"], alpha, eta, header["least_topics"], initial)


@dataclass(frozen=True, eq=False)
class FixedTopicsModel(LdaModel):
    """LDA with known topics: sampling it infers the topics of new documents.

    A document's random streams are keyed by its words, not by its position in the corpus. So its result does
    not depend on the other documents.

    Parameters
    ----------
    topics : Topics
        The parameters phi, which are not sampled.
    """

    kind: ClassVar[str] = "lda-fixed-topics"

    topics: Topics = field(kw_only=True)
    least_topics: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_form(self.topics)
        for array in self.topics:
            if not (array.min() >= 0 and np.isfinite(array.max())):  # NaN fails both
                raise PlaitError(Argument("topics"), " must be finite numbers of at least 0")

    def _units(self) -> NDArray[np.int64]:
        """Return a hash of the words of each document, (D,)."""
        units = np.empty(self.corpus.n_documents, np.int64)
        kernels.hash_documents(self.corpus.words, self.corpus.offsets, units)
        return units

    def count(self, paths: Paths, threads: Threads) -> TopicCounts:
        """Return empty counts: known topics do not depend on them."""
        return TopicCounts(np.empty((0, self.n_topics), np.int32), np.zeros(self.n_topics, np.int64))

    def draw_parameters(self, counts: TopicCounts, key: Key, threads: Threads) -> Topics:
        """Return the known topics."""
        return self.topics

    def mean_parameters(self, counts: TopicCounts, threads: Threads) -> Topics:
        """Return the known topics."""
        return self.topics

    def resample_collapsed(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        """Raise an error: known topics are not integrated out."""
        raise PlaitError("known topics cannot be integrated out: sample with collapsed=False")

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Raise an error: save the model that the topics come from instead."""
        raise PlaitError(
            "inference with known topics cannot be saved: save the model that the topics come from"
        )


def check_topics(topics: Any, n_words: int, n_topics: int | None = None) -> None:
    """Raise an error unless topics have the layout that kernels take, for this many words and topics."""
    if not isinstance(topics, Topics):
        raise PlaitError(
            Argument("topics"), f" must be Topics, such as Run.parameters returns, got {short_repr(topics)}"
        )
    phi, shared = topics
    if n_topics is None:
        n_topics = np.shape(phi)[-1] if np.ndim(phi) else 0
    check_form("phi of the topics", phi, (n_words, n_topics), np.float32)
    check_form("shared of the topics", shared, (n_words, kernels.count_blocks(n_topics)))
    if not phi.flags.c_contiguous or not shared.flags.c_contiguous:
        raise PlaitError(
            Argument("topics"), " must be arrays in C order: copy them with numpy.ascontiguousarray"
        )


def _check_probabilities(name: Argument, phi: NDArray[np.float32]) -> None:
    """Raise an error unless the columns of phi (W, T) are distributions."""
    wrong = ~((phi >= 0) & (phi <= 1 + _ROUNDING))  # NaN is neither
    if wrong.any():
        _, (w, t) = place_of(wrong)
        raise PlaitError(
            name, f" must have probabilities from 0 to 1, got {phi[w, t]:g} for word {w} in topic {t}"
        )
    sums = phi.sum(axis=0, dtype=np.float64)
    for t in np.flatnonzero(np.abs(sums - 1) > _ROUNDING)[:1]:
        raise PlaitError(
            name, f" must have topics that sum to 1, got {sums[t]:.6g} for topic {t}: normalise them"
        )


def _count_words(corpus: Corpus) -> NDArray[np.int64]:
    """Return the cumulative sum of the words' frequencies, (W + 1,)."""
    offsets = np.zeros(corpus.n_words + 1, np.int64)
    kernels.count_frequencies(corpus.words, offsets[1:])
    np.cumsum(offsets, out=offsets)
    return offsets
