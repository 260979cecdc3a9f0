"""Latent Dirichlet allocation: the model of Algorithms 3 and 4 of the paper.

phi_t    ~ Dir(eta_t)       topics, distributions over W words; phi = (phi_1, ..., phi_T)
theta_d  ~ Dir(alpha)       topics of a document, integrated out throughout
p_i      ~ theta_d          topic of a token
w_i      ~ phi_{p_i}        its word

This module is longer than most: it has everything that the sampler, an engine, learnt priors and averages ask
of the model, in short methods around kernels and functions that are elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from plait.arrays import (
    check_changeable,
    check_finite,
    check_form,
    check_numbers,
    check_parts,
    frozen,
    frozen_copy,
    stored,
)
from plait.checks import (
    check_choice,
    check_distinct_strings,
    check_integer,
    check_number,
    list_names,
    short_repr,
)
from plait.data.corpus import Corpus
from plait.data.encoded import EncodedCorpus
from plait.errors import Argument, PlaitError, rename_arguments
from plait.kernels import gammas
from plait.kernels import lda as kernels
from plait.kernels.documents import scratch_topic_list
from plait.kernels.lda import Documents, Priors, TopicCounts, Topics
from plait.models import learnt_priors
from plait.models.late import LateSums, Sums
from plait.models.late_topics import late_topic_word
from plait.models.lda_collapsed import resample_range, resample_rounds, rounds_of
from plait.models.lda_starts import STARTS, fill_progressive_paths, resample_given, spectral_topics
from plait.models.model import (
    MAX_STATES,
    Arrays,
    Header,
    Key,
    Paths,
    changes_paths,
    checks_paths,
    unchecked,
)
from plait.models.priors import check_prior
from plait.models.shares import Share
from plait.models.topics import (
    CELLS_PER_RANGE,
    check_probabilities,
    check_topics,
    make_topics,
    normalise_topics,
)
from plait.rng import INITIAL
from plait.scratch import scratch, set_apart
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges, weighted_ranges

MAX_TOPICS = MAX_STATES
"""A topic is stored in two bytes."""

DEFAULT_ETA = 0.01

MAX_COUNT = 2**31 - 1
"""A count of a word in a topic is stored in four bytes."""

__all__ = ["MAX_COUNT", "MAX_TOPICS", "LdaModel", "TopicCounts", "Topics"]

_TOKENS_PER_RANGE = 8192  # with fewer, a thread costs more than it saves
_SMALL_PRIOR = 8.0  # sum over words of eta; above it, the sum of a topic's gamma variates cannot underflow


def default_alpha(n_topics: int) -> float:
    """Return the alpha of a model that is given none, and from which learning starts."""
    return min(1.0, 10.0 / n_topics)


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
    fixed : tuple of {"alpha", "eta"}
        Priors that stages of a plan which learn priors leave as they are.
    initial : {"uniform", "progressive", "spectral"} or Topics, default: "uniform"
        How the initial paths are drawn, see `plait.models.lda_starts`: uniformly as in the paper, by one
        collapsed pass from empty counts, or given topics, which anchor words determine or which are given.
        Of given topics only phi is used: these may be the topics of a run with another alpha.
    least_eta : float, default: 0
        Samplers take eta to be at least this; estimates of phi take it as it is. For priors that are learnt:
        with many topics, the learnt eta of large corpora is about 0.01, where samplers get stuck at worse
        topics than with a larger one.
    """

    kind: ClassVar[str] = "lda"
    site_name: ClassVar[str] = "token"
    exact_counts: ClassVar[bool] = True

    corpus: Corpus
    n_topics: int
    alpha: ArrayLike | None = None
    eta: ArrayLike | None = None
    least_topics: int = 2
    fixed: tuple[str, ...] = ()
    initial: str | Topics = "uniform"
    least_eta: float = 0.0
    _priors: Priors = field(init=False, repr=False)
    _estimating: Priors = field(init=False, repr=False)
    _document_ranges: list[Range] = field(init=False, repr=False)
    _rounds: list[list[Range]] = field(init=False, repr=False)
    _word_ranges: list[Range] = field(init=False, repr=False)
    _word_offsets: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        least = check_integer("least_topics", self.least_topics, least=1, most=MAX_TOPICS)
        fixed = check_distinct_strings("fixed", self.fixed)
        for name in fixed:
            check_choice("fixed", name, ("alpha", "eta"))
        if check_number("least_eta", self.least_eta) > 0:
            check_prior("least_eta", self.least_eta, {})
        object.__setattr__(self, "fixed", fixed)
        check_integer("n_topics", self.n_topics, least=least, most=MAX_TOPICS)
        if not self.corpus.n_tokens:
            raise PlaitError(
                f"the corpus is empty: none of its {self.corpus.n_documents} documents has a word;"
                " give documents with words, or filter fewer of them out"
            )
        n_topics, n_words = int(self.n_topics), self.corpus.n_words
        alpha = default_alpha(n_topics) if self.alpha is None else self.alpha
        eta = DEFAULT_ETA if self.eta is None else self.eta
        checked_alpha = check_prior("alpha", alpha, {"T": n_topics})
        checked_eta = check_prior("eta", eta, {"T": n_topics, "W": n_words})

        if checked_eta.ndim == 0:
            rows = np.full((1, n_topics), checked_eta)
            row_of_word = np.zeros(n_words, np.intp)
        else:
            rows, row_of_word = np.unique(checked_eta.T, axis=0, return_inverse=True)
        self._set_priors(checked_alpha, checked_eta, rows, row_of_word.reshape(-1).astype(np.int32))
        derived = {
            "_document_ranges": weighted_ranges(
                self.corpus.offsets, self.corpus.n_tokens // _TOKENS_PER_RANGE
            ),
            "_rounds": rounds_of(self.corpus.offsets, n_words, n_topics),
            "_word_offsets": _count_words(self.corpus),
            "_word_ranges": even_ranges(n_words, n_words * n_topics // CELLS_PER_RANGE),
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
        check_probabilities(Argument("initial"), initial.phi)
        with Threads(1) as threads:
            own = self._normalised(initial.phi.copy(), np.ones(self.n_topics), threads)
        return Topics(frozen_copy(own.phi), frozen_copy(own.shared))

    def _set_priors(
        self,
        alpha: NDArray[np.float64],
        eta: NDArray[np.float64],
        rows: NDArray[np.float64],
        row_of_word: NDArray[np.int32],
    ) -> None:
        """Set the priors; `rows` (R, T) are the distinct rows of eta, `row_of_word` (W,) says whose."""

        def priors(eta: NDArray[np.float64], rows: NDArray[np.float64]) -> Priors:
            n_words = self.corpus.n_words
            sums = eta.sum(axis=1) if eta.ndim else np.full(self.n_topics, n_words * float(eta))
            return Priors(
                alpha=frozen_copy(np.broadcast_to(alpha, int(self.n_topics))),
                eta=frozen_copy(rows),
                eta_row=frozen_copy(row_of_word),
                eta_sums=frozen_copy(sums),
                small=gammas.SmallShapes(*map(frozen_copy, gammas.small_shapes(rows))),
            )

        least = self.least_eta
        values = {
            "alpha": frozen_copy(alpha),
            "eta": frozen_copy(eta),
            "_priors": priors(np.maximum(eta, least), np.maximum(rows, least)),
            "_estimating": priors(eta, rows),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @functools.cached_property
    def _documents(self) -> Documents:
        return self._numbered(self.corpus.words)

    def _numbered(self, words: NDArray[np.int32]) -> Documents:
        return Documents(words, self.corpus.offsets, frozen_copy(self._units()))

    def _units(self) -> NDArray[np.int64]:
        """Return the number of each document in the keys of its random streams, (D,)."""
        return np.arange(self.corpus.n_documents)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and kernels are compiled for read-only ones.
        own = self.corpus, self.n_topics, self.alpha, self.eta, self.least_topics, self.fixed, self.initial
        return type(self), (*own, self.least_eta)

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
        """Return whether both models have the same fixed priors, and learn the others."""
        same = {
            "alpha": np.array_equal(self.alpha_vector, other.alpha_vector),
            "eta": np.array_equal(np.asarray(self.eta), np.asarray(other.eta)),
        }
        return self.fixed == other.fixed and all(same[name] for name in self.fixed)

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the initial paths as `initial` says: line 2 of Algorithms 3 and 4."""
        paths = np.empty((n_paths, self.n_sites), np.uint16)
        self.fill_initial_paths(paths, seed, threads)
        return paths

    def fill_initial_paths(self, paths: Paths, seed: int, threads: Threads) -> None:
        """Fill `paths` (m, N) of uint16 with what `initial_paths` returns."""
        check_form(Argument("paths"), paths, (len(paths), self.n_sites), np.uint16)
        check_changeable(Argument("paths"), paths)
        if self.initial == "progressive":
            self._check_totals(len(paths))
            fill_progressive_paths(self, paths, seed)
            return
        self._fill_uniform_paths(paths, seed, threads)
        if self.initial == "spectral":
            topics = self.as_topics(spectral_topics(self, threads), threads)
            resample_given(self, paths, topics, seed, threads)
        elif isinstance(self.initial, Topics):
            # Copies, because kernels are compiled for the writeable arrays of topics that are drawn.
            topics = Topics(self.initial.phi.copy(), self.initial.shared.copy())
            resample_given(self, paths, topics, seed, threads)

    def _fill_uniform_paths(self, paths: Paths, seed: int, threads: Threads) -> None:
        # These do not depend on the words, which an encoded corpus reads when they are asked for.
        documents = self._numbered(frozen(np.empty(0, np.int32)))

        def draw(first: int, last: int) -> None:
            kernels.draw_initial_paths(first, last, documents, self.n_topics, paths, Key(seed, INITIAL))

        threads.map(draw, self._document_ranges)

    @checks_paths
    def count(self, paths: Paths, threads: Threads) -> TopicCounts:
        """Count C^TW and C^T over all paths."""
        corpus = self.corpus
        self._check_totals(len(paths))
        words = scratch((corpus.n_words, self.n_topics), np.int32)

        def count(first: int, last: int) -> NDArray[np.int64]:
            totals = scratch(self.n_topics, np.int64)
            kernels.count_words(first, last, corpus.words, paths, words, totals)
            return totals

        # Every range reads the whole corpus and counts its own words, so one range per thread is best.
        topics = threads.map(count, weighted_ranges(self._word_offsets, threads.n))
        return TopicCounts(words, set_apart(np.sum(topics, axis=0)))

    def _check_totals(self, n_paths: int) -> None:
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
        self.check_counts(counts)
        phi = np.empty(counts.words.shape, np.float32)

        def draw(first: int, last: int) -> NDArray[np.float64]:
            sums = scratch(self.n_topics)
            buffers = gammas.scratch_gammas(self.n_topics)
            gammas.draw_gammas(first, last, counts.words, self._priors, phi, sums, buffers, key)
            return sums

        sums = np.sum(threads.map(draw, self._word_ranges), axis=0)
        empty = np.flatnonzero((counts.topics == 0) & (self._priors.eta_sums < _SMALL_PRIOR))
        if empty.size:  # seldom, and the kernel takes time to compile
            gammas.draw_empty_topics(empty, self._priors, phi, sums, key)
        return self._normalised(phi, 1.0 / sums, threads)

    def mean_parameters(self, counts: TopicCounts, threads: Threads) -> Topics:
        """Return phi_t(w) = (C^TW_tw + eta_tw) / (C^T_t + sum_w eta_tw)."""
        self.check_counts(counts)
        phi = np.empty(counts.words.shape, np.float32)

        def fill(first: int, last: int) -> None:
            kernels.add_prior(first, last, counts.words, self._estimating, phi)

        threads.map(fill, self._word_ranges)
        return self._normalised(phi, 1.0 / (counts.topics + self._estimating.eta_sums), threads)

    def _normalised(self, phi: NDArray[np.float32], scale: NDArray[np.float64], threads: Threads) -> Topics:
        return normalise_topics(phi, scale, self._priors.alpha, self._word_ranges, threads)

    @changes_paths
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

    @changes_paths
    def resample_collapsed(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        """Draw every topic given all others: lines 5 to 18 of Algorithm 4."""
        self.check_counts(counts, changed=True)
        n_documents = self.corpus.n_documents
        resample_range(0, n_documents, self._documents, paths, counts, self._priors, key, in_rounds=False)

    @property
    def n_partitions(self) -> int:
        """Number of ranges of documents that `resample_partitioned` samples side by side."""
        return max(len(ranges) for ranges in self._rounds)

    @changes_paths
    def resample_partitioned(self, paths: Paths, counts: TopicCounts, key: Key, threads: Threads) -> None:
        """Draw every topic as `resample_collapsed` does, but several ranges of documents side by side.

        This is approximate: a range of documents sees the changes that it makes at once, and those of the
        other ranges at the end of a round (AD-LDA of Newman et al., 2009, with several rounds in a sweep, and
        for m paths). The ranges depend on the data alone, so the bits do not depend on the number of threads.
        With one range it is `resample_collapsed`, and exact.
        """
        self.check_counts(counts, changed=True)
        if self.n_partitions == 1:
            unchecked(self.resample_collapsed)(paths, counts, key)
            return

        def resample(first: int, last: int, own: TopicCounts) -> None:
            resample_range(first, last, self._documents, paths, own, self._priors, key, in_rounds=True)

        resample_rounds(self._rounds, self._documents, paths, counts, resample, threads)

    @checks_paths
    def log_joint(self, paths: Paths, parameters: Topics, threads: Threads) -> NDArray[np.float64]:
        """Return log P(p^j, w | phi) for every path, theta integrated out."""
        return np.sum(unchecked(self.log_joint_parts)(paths, parameters, threads), axis=0)

    @checks_paths
    def log_joint_parts(
        self, paths: Paths, parameters: Topics, threads: Threads
    ) -> list[NDArray[np.float64]]:
        """Return the terms of `log_joint`, one for each range of documents."""
        self._check_form(parameters)

        def add(first: int, last: int) -> NDArray[np.float64]:
            sums = scratch(len(paths))
            present = scratch_topic_list(self.n_topics)
            kernels.log_joint_documents(
                first, last, self._documents, paths, parameters.phi, self._priors.alpha, present, sums
            )
            return sums

        return threads.map(add, self._document_ranges)

    # ---------------------------------------------------------------------------------------------
    # Shares of the documents
    # ---------------------------------------------------------------------------------------------

    def check_divisible(self, n_paths: int) -> None:
        """Raise an error if counts of a word in a topic could exceed their type."""
        self._check_totals(n_paths)

    def site_ranges(self) -> list[Range]:
        """Return the ranges of tokens at which the corpus may be cut: ranges of documents."""
        offsets = self.corpus.offsets
        return [(int(offsets[first]), int(offsets[last])) for first, last in self._document_ranges]

    def share(self, first: int, last: int) -> Share:
        """Return the model of the documents of the ranges `first` to `last`."""
        ranges = self._document_ranges[first:last]
        begin, end = ranges[0][0], ranges[-1][1]
        offsets = self.corpus.offsets[begin : end + 1]
        own = [(a - begin, b - begin) for a, b in ranges]
        words: Any = self.corpus  # of an encoded corpus, the share reads its words itself
        if not isinstance(self.corpus, EncodedCorpus):
            words = self.corpus.words[offsets[0] : offsets[-1]]
        documents = offsets - offsets[0], self._units()[begin:end]
        sizes = self.corpus.n_words, self.n_topics
        return Share(_model_of_share, (words, begin, *documents, own, *sizes, self.alpha_vector))

    def count_parts(self, paths: Paths, threads: Threads) -> list[TopicCounts]:
        """Return the counts of all documents, which are whole numbers: parts would be added anyway."""
        return [unchecked(self.count)(paths, threads)]

    def sum_counts(self, parts: list[TopicCounts]) -> TopicCounts:
        """Return the sum of counts, in the arrays of the first."""
        total, *others = parts
        for other in others:
            np.add(total.words, other.words, out=total.words)
            np.add(total.topics, other.topics, out=total.topics)
        return total

    def with_priors_of(self, priors: Mapping[str, NDArray[np.float64]]) -> Self:
        """Return the model with another alpha; draws of topics given phi do not need eta."""
        if np.array_equal(priors["alpha"], self.alpha_vector):
            return self
        return self._with_priors(priors["alpha"], np.asarray(self.eta), self._estimating.eta)

    # ---------------------------------------------------------------------------------------------
    # Learnt priors
    # ---------------------------------------------------------------------------------------------

    @checks_paths
    def with_learnt_priors(self, paths: Paths, counts: TopicCounts, threads: Threads) -> Self:
        """Return the model with priors that fit the paths better; see `plait.models.learnt_priors`.

        `counts` match `paths`. Priors that are named in `fixed` stay as they are.
        """
        bounds = self.learning_bounds(counts)
        numbers = unchecked(self.learning_counts)(paths, bounds, threads)
        return self.with_priors_learnt_from(numbers, counts, len(paths), threads)

    def learning_bounds(self, counts: TopicCounts) -> NDArray[np.int64]:
        """Return for each topic how many tokens of it a document can have; 0 if alpha is fixed, (T,)."""
        self.check_counts(counts)
        return np.minimum(counts.topics, 0 if "alpha" in self.fixed else self.corpus.lengths.max())

    @checks_paths
    def learning_counts(self, paths: Paths, bounds: NDArray[np.int64], threads: Threads) -> NDArray[np.int64]:
        """Return what alpha is learnt from; `bounds` are those of all documents, see `learning_bounds`."""
        if not bounds.any():
            return np.zeros(0, np.int64)
        return learnt_priors.count_in_documents(self.corpus, paths, bounds, threads)

    def with_priors_learnt_from(
        self, numbers: NDArray[np.int64], counts: TopicCounts, n_paths: int, threads: Threads
    ) -> Self:
        """Return the model with learnt priors, given the sum of `learning_counts` over all documents."""
        alpha, eta, rows = np.asarray(self._priors.alpha), np.asarray(self.eta), self._estimating.eta
        if "alpha" not in self.fixed:
            of_topics = learnt_priors.accumulated(numbers, self.learning_bounds(counts))
            start = default_alpha(self.n_topics)
            alpha = learnt_priors.learn_alpha(of_topics, self.corpus.lengths, n_paths, alpha, start)
        if "eta" not in self.fixed and eta.ndim:
            scale = learnt_priors.learn_scale(counts.words, rows[self._priors.eta_row])
            eta, rows = scale * eta, scale * rows
        elif "eta" not in self.fixed:
            most = int(self.frequencies.max()) * n_paths
            of_cells = learnt_priors.count_in_cells(counts.words, most, threads)
            n_words = self.corpus.n_words
            learnt = learnt_priors.learn_eta(of_cells, counts.topics, n_words, float(eta), DEFAULT_ETA)
            eta, rows = np.array(learnt), np.full_like(rows, learnt)
        return self._with_priors(alpha, eta, rows)

    def _with_priors(
        self, alpha: NDArray[np.float64], eta: NDArray[np.float64], rows: NDArray[np.float64]
    ) -> Self:
        model = object.__new__(type(self))  # copy.copy would count the words of the corpus again
        model.__dict__.update(self.__dict__)
        model._set_priors(alpha, eta, rows, self._priors.eta_row)
        return model

    def priors(self) -> dict[str, NDArray[np.float64]]:
        """Return the priors that can be learnt, by name: alpha (T,), and eta (1,), its mean for a matrix."""
        return {"alpha": self._priors.alpha, "eta": np.array([np.asarray(self.eta).mean()])}

    # ---------------------------------------------------------------------------------------------
    # Averages over late sweeps
    # ---------------------------------------------------------------------------------------------

    def late_forms(self) -> dict[str, tuple[tuple[int, ...], DTypeLike]]:
        """Return the forms of the sums over late sweeps: of C^TW (W, T) and of C^DT over all paths (D, T)."""
        corpus = self.corpus
        return {
            "words": ((corpus.n_words, self.n_topics), np.int64),
            "documents": ((corpus.n_documents, self.n_topics), np.uint32),
        }

    @checks_paths
    def add_late(self, paths: Paths, counts: TopicCounts, sums: Sums, threads: Threads) -> None:
        """Add the counts of a sweep to the sums."""
        self.check_counts(counts)
        for name, (shape, dtype) in self.late_forms().items():
            check_form(Argument(name), sums[name], shape, dtype)
            check_changeable(Argument(name), sums[name])

        def add_words(first: int, last: int) -> None:
            sums["words"][first:last] += counts.words[first:last]

        def add_documents(first: int, last: int) -> None:
            kernels.count_documents(first, last, self.corpus.offsets, paths, sums["documents"][first:last])

        threads.map(add_words, self._word_ranges)
        threads.map(add_documents, self._document_ranges)

    def late_parameters(self, late: LateSums, threads: Threads) -> Topics:
        """Return phi averaged over late sweeps, in the layout of the sampler."""
        phi = late_topic_word(self, late).T.astype(np.float32, order="C")
        return self._normalised(phi, np.ones(self.n_topics), threads)

    def _check_form(self, topics: Topics) -> None:
        """Raise an error if topics are not of this vocabulary, or not in the layout that kernels take."""
        check_topics(topics, self.corpus.n_words, self.n_topics)

    def check_counts(self, counts: TopicCounts, *, changed: bool = False) -> None:
        """Raise an error if counts do not have the form that kernels take; see `plait.arrays.check_parts`."""
        shape = self.corpus.n_words, self.n_topics
        forms = {"words": (shape, np.int32), "topics": (shape[1:], np.int64)}
        check_parts("counts", counts, TopicCounts, forms, changed=changed)

    def pseudo_counts(self, counts: TopicCounts) -> NDArray[np.float64]:
        """Return C^TW_tw + eta_tw, (T, W)."""
        self.check_counts(counts)
        pseudo: NDArray[np.float64] = counts.words.T + self.eta_matrix
        return pseudo

    @property
    def eta_matrix(self) -> NDArray[np.float64]:
        """Eta with all its rows, (T, W), as estimates take it."""
        return self._estimating.eta.T[:, self._estimating.eta_row]

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
        return make_topics(topic_word, self._priors.alpha, n_jobs)

    @checks_paths
    def add_document_counts(self, paths: Paths, totals: NDArray[np.float64]) -> None:
        """Add C^DT of all paths together to `totals` (D, T)."""
        check_form(Argument("totals"), totals, (self.corpus.n_documents, self.n_topics))
        check_changeable(Argument("totals"), totals)
        kernels.count_documents(0, len(totals), self.corpus.offsets, paths, totals)

    def theta(self, totals: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """Return the mean of theta, (D, T), given C^DT added up over n paths; rows sum to 1.

        theta_dt = (C^DT_dt / n + alpha_t) / (length of d + sum_t alpha_t).
        """
        check_form(Argument("totals"), totals, (self.corpus.n_documents, self.n_topics))
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
        header: Header = {
            "n_topics": self.n_topics,
            "least_topics": self.least_topics,
            "fixed": list(self.fixed),
            "least_eta": self.least_eta,
            "corpus": corpus_header,
        }
        if isinstance(self.initial, Topics):
            arrays["initial.phi"] = self.initial.phi
        else:
            header["initial"] = self.initial
        return arrays, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        is_encoded = "folder" in header["corpus"]
        corpus = (
            EncodedCorpus.from_header(header["corpus"])
            if is_encoded
            else Corpus.from_arrays(arrays_below("corpus.", arrays), header["corpus"])
        )
        alpha, eta = stored(arrays, "alpha"), stored(arrays, "eta")
        # Older files have none of these.
        fixed, initial = header.get("fixed", ()), header.get("initial", "uniform")
        least_eta = header.get("least_eta", 0.0)
        if "initial.phi" in arrays:
            phi = stored(arrays, "initial.phi", np.float32)
            check_form("initial.phi", phi, (corpus.n_words, header["n_topics"]), np.float32)
            initial = Topics(phi, np.zeros((len(phi), kernels.count_blocks(phi.shape[1]))))
        return cls(corpus, header["n_topics"], alpha, eta, header["least_topics"], fixed, initial, least_eta)


def _model_of_share(
    words: NDArray[np.int32] | EncodedCorpus,
    first_document: int,
    offsets: NDArray[np.int64],
    units: NDArray[np.int64],
    document_ranges: list[Range],
    n_words: int,
    n_topics: int,
    alpha: NDArray[np.float64],
) -> LdaModel:
    """Return the model of a share; draws given phi need neither eta nor the words as text."""
    if isinstance(words, EncodedCorpus):
        words = words.words_of(first_document, first_document + len(units))
    corpus = Corpus(frozen(words), frozen(offsets), tuple(map(str, range(n_words))))
    model = LdaModel(corpus, n_topics, alpha, least_topics=1)
    object.__setattr__(model, "_documents", Documents(corpus.words, corpus.offsets, frozen(units)))
    object.__setattr__(model, "_document_ranges", document_ranges)
    return model


def _count_words(corpus: Corpus) -> NDArray[np.int64]:
    """Return the cumulative sum of the words' frequencies, (W + 1,)."""
    offsets = np.zeros(corpus.n_words + 1, np.int64)
    if isinstance(corpus, EncodedCorpus):
        offsets[1:] = corpus.frequencies
    else:
        kernels.count_frequencies(corpus.words, offsets[1:])
    np.cumsum(offsets, out=offsets)
    return offsets
