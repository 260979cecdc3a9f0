"""Emissions of documents, as counts of words."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy  # which imports its parts only when they are used: that takes long
from numpy.typing import ArrayLike, NDArray

from plait.arrays import (
    Floats,
    check_form,
    check_indices,
    check_numbers,
    check_offsets,
    check_range_of_sites,
    check_sparse,
    frozen_copy,
    rows_of,
    stored,
    stored_shapes,
)
from plait.checks import check_integer
from plait.data.encoding import MAX_WORDS
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.kernels import collapsed_mixtures
from plait.kernels import emissions as kernels
from plait.models.emissions.categorical import CategoricalParameters
from plait.models.emissions.contract import (
    check_form_of_posteriors,
    check_form_of_states,
    check_form_of_statistics,
    sequences_from_arrays,
    sequences_to_arrays,
)
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, changes_paths, checks_paths
from plait.models.priors import DirichletRows
from plait.rng import PARAMETERS, integer, new_stream, open_stream
from plait.scratch import scratch

_NO_ROWS: NDArray[np.int32] = frozen_copy(np.empty(0, np.int32))
_MAX_TOTAL = 2.0**53  # sums of more are no longer exact in double precision
_OWN = 0.5  # share of one document in the initial distribution of a state; the rest is all documents


class MultinomialEmissions:
    """Documents: the words of document i are drawn from e_s, with e_s ~ Dir(prior_s).

    Parameters
    ----------
    counts : array or sparse matrix (N, W)
        How often each word occurs in each document.
    n_states : int
        Number of states S.
    prior : float or array (S, W), default: 1
        Parameters of the Dirichlet priors; a zero forbids the word in that state.
    fixed : array (S, W), optional
        Fixed probabilities, NaN for free ones; files do not keep them.
    """

    kind: ClassVar[str] = "multinomial"
    exact_counts: ClassVar[bool] = False
    logs: ClassVar[bool] = True
    parameters: ClassVar[type[CategoricalParameters]] = CategoricalParameters
    rows = _NO_ROWS

    def __init__(
        self, counts: Any, n_states: int, *, prior: ArrayLike = 1.0, fixed: ArrayLike | None = None
    ) -> None:
        matrix = _checked(counts)
        self.n_sites, self.n_words = (int(n) for n in matrix.shape)
        self.n_states = check_integer("n_states", n_states, least=1, limit=MAX_STATES)
        self.offsets = check_offsets(matrix.indptr, matrix.nnz, "numbers")
        self.words = check_indices("words", matrix.indices, self.n_words, "the number of words")
        self.numbers: Floats = frozen_copy(matrix.data)
        lengths = np.asarray(matrix.sum(axis=1)).ravel()
        parts = scipy.sparse.csr_array(
            (scipy.special.gammaln(self.numbers + 1), self.words, self.offsets), matrix.shape
        )
        coefficient = scipy.special.gammaln(lengths + 1) - np.asarray(parts.sum(axis=1)).ravel()
        self._constants: Floats = frozen_copy(coefficient)
        self.dirichlet = DirichletRows("the emissions", {"S": self.n_states, "W": self.n_words}, prior, fixed)

    @property
    def _documents(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        return self.offsets, self.words, self.numbers

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        return bool(self.dirichlet.free.all() and np.all(self.dirichlet.prior == self.dirichlet.prior[0]))

    @property
    def completes(self) -> bool:
        """Whether what observations lack must be drawn: no, they lack nothing."""
        return False

    @property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""
        return self.dirichlet.is_default

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the documents first to last alone."""
        own, (begin, end) = copy.copy(self), (self.offsets[first], self.offsets[last])
        own.n_sites = last - first
        own.offsets = self.offsets[first : last + 1] - begin
        own.words, own.numbers = self.words[begin:end], self.numbers[begin:end]
        own._constants = self._constants[first:last]
        return own

    def weights(self, parameters: CategoricalParameters, first: int, last: int) -> Floats:
        """Return the log-probability of each document in each state, (n, S)."""
        check_range_of_sites(first, last, self.n_sites)
        check_form(Argument("probabilities"), parameters.probabilities, self.dirichlet.prior.shape)
        with np.errstate(divide="ignore"):
            log_probabilities = np.log(np.ascontiguousarray(parameters.probabilities.T))
        logs = np.empty((last - first, self.n_states))
        kernels.log_multinomial(first, last, *self._documents, self._constants, log_probabilities, logs)
        return logs

    def log_weights(self, parameters: CategoricalParameters, first: int, last: int) -> Floats:
        """Return the log-probability of each document in each state, (n, S)."""
        return self.weights(parameters, first, last)

    def first_parameters(self, key: Key, unit: int) -> CategoricalParameters:
        """Draw initial parameters: for each state halfway between all documents and a random one."""
        stream = new_stream()
        open_stream(stream, *key, PARAMETERS, unit)
        everything = np.bincount(self.words, self.numbers, self.n_words) + 1.0
        rows = np.tile((1 - _OWN) * everything / everything.sum(), (self.n_states, 1))
        for s in range(self.n_states):
            i = integer(stream, self.n_sites)
            own = slice(self.offsets[i], self.offsets[i + 1])
            total = self.numbers[own].sum()
            if total:
                rows[s, self.words[own]] += _OWN * self.numbers[own] / total
        rows = np.where(self.dirichlet.free, rows, 0.0)
        return self.parameters(rows / rows.sum(axis=1, keepdims=True))

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return how often each word occurs in each state, (W, S)."""
        check_range_of_sites(first, last, self.n_sites)
        counts = scratch((self.n_words, self.n_states))
        kernels.count_documents(first, last, *self._documents, paths, counts)
        return counts

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected number of times each word occurs in each state, (W, S)."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        counts = scratch((self.n_words, self.n_states))
        kernels.add_documents(first, last, *self._documents, posteriors, counts)
        return counts

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, (self.n_words, self.n_states), changed)

    def observations(self, statistics: Floats) -> Floats:
        """Return how many words each state has."""
        return statistics.sum(axis=0)

    def draw(self, statistics: Floats, key: Key, unit: int) -> CategoricalParameters:
        """Draw e_s ~ Dir(prior_s + counts_s)."""
        self.check_statistics(statistics)
        return self.parameters(self.dirichlet.draw(statistics.T, key, unit))

    def mean(self, statistics: Floats) -> CategoricalParameters:
        """Return the mean of Dir(prior_s + counts_s)."""
        self.check_statistics(statistics)
        return self.parameters(self.dirichlet.mean(statistics.T))

    def mode(self, statistics: Floats) -> CategoricalParameters:
        """Return the mode of Dir(prior_s + counts_s)."""
        self.check_statistics(statistics)
        return self.parameters(self.dirichlet.mode(statistics.T))

    @changes_paths
    def resample_collapsed(
        self, paths: Paths, states: Floats, share_prior: Floats, statistics: Floats, key: Key
    ) -> None:
        """Draw every state given all others; see `plait.kernels.collapsed_mixtures`."""
        check_form_of_states(states, share_prior, self.n_states)
        self.check_statistics(statistics, changed=True)
        collapsed_mixtures.resample_documents(
            collapsed_mixtures.Documents(*self._documents),
            paths,
            collapsed_mixtures.Counts(states, statistics),
            collapsed_mixtures.DocumentPriors(
                share_prior, np.ascontiguousarray(self.dirichlet.prior.T), self.dirichlet.prior.sum(axis=1)
            ),
            collapsed_mixtures.DocumentScratch(
                streams=scratch((len(paths), 2), np.uint64),
                weights=scratch(self.n_states),
                totals=scratch(self.n_states),
            ),
            key,
        )

    def redrawn(self, parameters: CategoricalParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors, and documents of the same lengths, given the states."""
        lengths = np.diff(np.append(0.0, np.cumsum(self.numbers))[self.offsets])
        own = parameters.probabilities[states]
        drawn = rng.multinomial(lengths.astype(np.int64), own / own.sum(axis=1, keepdims=True))
        return type(self)(drawn, self.n_states, prior=self.dirichlet.prior)

    def order(self, parameters: CategoricalParameters) -> NDArray[np.intp]:
        """Return the states by their mean word, the smallest first."""
        return np.argsort(parameters.probabilities @ np.arange(self.n_words), kind="stable")

    def check_parameters(self, parameters: CategoricalParameters) -> None:
        """Raise an error for rows that are not distributions, or a wrong number of states or words."""
        self.dirichlet.check(parameters.probabilities)

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> CategoricalParameters:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        return self.parameters(**stored_shapes(arrays, {"probabilities": self.dirichlet.prior.shape}))

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays: Arrays = {"offsets": self.offsets, "words": self.words, "numbers": self.numbers}
        return arrays | {"prior": self.dirichlet.prior}, {"n_words": self.n_words}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        n_words = check_integer("n_words", header["n_words"], least=1, limit=MAX_WORDS)
        n_states = rows_of(arrays, "prior")
        prior = stored_shapes(arrays, {"prior": (n_states, n_words)})["prior"]
        numbers = stored(arrays, "numbers")
        words = check_indices("words", stored(arrays, "words", np.int32), n_words, "the number of words")
        offsets = check_offsets(stored(arrays, "offsets", np.int64), len(words), "numbers")
        check_form(Argument("numbers"), numbers, words.shape)
        counts = scipy.sparse.csr_array((numbers, words, offsets), shape=(len(offsets) - 1, n_words))
        return cls(counts, n_states, prior=prior)


class MultinomialParameters(CategoricalParameters):
    """Probabilities of what the columns count, in each state."""

    def over(self, sequences: Sequences) -> Any:
        """Return emissions of other data that take these parameters."""
        return MultinomialSequenceEmissions(sequences, len(self.probabilities))


class MultinomialSequenceEmissions(MultinomialEmissions):
    """Rows of counts, in sequences: w_i is multinomial with the probabilities e_s, which are Dir(prior_s).

    Parameters
    ----------
    sequences : Sequences
        Numbers: the counts of each column. A missing observation is NaN in all of them.
    n_states : int
        Number of states S.
    prior, fixed : float or array (S, D)
        As in `MultinomialEmissions`; files keep both.
    """

    kind: ClassVar[str] = "multinomial-sequences"
    parameters = MultinomialParameters

    def __init__(
        self,
        sequences: Sequences,
        n_states: int,
        *,
        prior: ArrayLike = 1.0,
        fixed: ArrayLike | None = None,
    ) -> None:
        if sequences.is_symbols:
            raise PlaitError(Argument("sequences"), " must be numbers, got symbols: build them of counts")
        sequences.refuse_partly_missing("multinomial emissions")
        self.sequences = sequences
        super().__init__(np.nan_to_num(sequences.values), n_states, prior=prior, fixed=fixed)

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the rows first to last alone."""
        own = super().part(first, last)
        own.sequences = self.sequences.part(first, last)
        return own

    def redrawn(self, parameters: CategoricalParameters, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors, and rows with the same sums, given the states."""
        sums = np.nansum(self.sequences.values, axis=1).astype(np.int64)
        own = parameters.probabilities[states]
        drawn = rng.multinomial(sums, own / own.sum(axis=1, keepdims=True)).astype(np.float64)
        arrays, header = self.to_arrays()
        arrays["sequences.values"] = np.where(np.isnan(self.sequences.values), np.nan, drawn)
        return type(self).from_arrays(arrays, header)

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        return arrays | self.dirichlet.to_arrays("emissions"), header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        shape = rows_of(arrays, "emissions.prior"), sequences.n_features
        rows = stored_shapes(arrays, {"emissions.prior": shape, "emissions.fixed": shape})
        return cls(sequences, shape[0], prior=rows["emissions.prior"], fixed=rows["emissions.fixed"])


def _checked(counts: Any) -> Any:
    """Return counts as a CSR matrix without explicit zeros, or raise an error if they are not counts."""
    check_sparse(counts)
    try:
        given = counts if scipy.sparse.issparse(counts) else check_numbers("counts", counts)
        if given.dtype.kind == "c":
            raise TypeError("they are complex numbers")
        matrix = scipy.sparse.csr_array(given, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise PlaitError(
            Argument("counts"), f" must be a matrix with documents as rows and words as columns ({error})"
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise PlaitError(
            Argument("counts"), f" must have at least one document and one word, got shape {matrix.shape}"
        )
    if matrix.shape[1] > MAX_WORDS:
        raise PlaitError(
            Argument("counts"),
            f" must have at most {MAX_WORDS} words, got {matrix.shape[1]}: check the ids",
        )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    data = matrix.data
    wrong = ~((data >= 0) & (data == np.floor(data)) & np.isfinite(data))
    if wrong.any():
        k = int(np.argmax(wrong))
        i = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        raise PlaitError(
            Argument("counts"),
            f" must be whole numbers of at least 0, got {data[k]:g} for word {matrix.indices[k]} of document"
            f" {i}",
        )
    with np.errstate(over="ignore"):  # an infinite sum is refused, too
        total = float(data.sum())
    if total > _MAX_TOTAL:
        raise PlaitError(
            Argument("counts"), f" must add up to at most {_MAX_TOTAL:.0f}, got {total:g}: check them"
        )
    return matrix
