"""The hidden states of observations, given the parameters of a hidden Markov model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.checks import check_choice
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.models.chain import Chain, HmmParameters
from plait.threads import Threads, use_threads

ALGORITHMS: Final = ("viterbi", "map")
"""The most probable path as a whole, or the most probable state of each observation."""

_CELLS_PER_PIECE = 2**23  # posteriors of 64 MB
_SITES_PER_PIECE = (2**15, 2**18)  # enough for several threads; few enough to show progress


def chain_of(parameters: HmmParameters, sequences: Sequences) -> Chain:
    """Return a chain over sequences, with the states and emissions that the parameters describe."""
    # Given the parameters, priors do not matter. `over` sets them because their defaults depend on the data,
    # which may be too few.
    own = parameters.emissions.over(sequences)
    own.check_parameters(parameters.emissions)
    return Chain(own)


@dataclass(frozen=True, eq=False)
class Decoded:
    """The states of some sequences.

    Attributes
    ----------
    first : int
        Number of the first of the sequences.
    sequences : Sequences
        The sequences.
    states : ndarray, (n,)
        The state of each of their observations.
    probabilities : ndarray, (n, S), or None
        P(state | w, phi) of each observation, if requested or computed anyway.
    scores : ndarray, (k,)
        For "viterbi", log P(states, w | phi) of each sequence; for "map", the sum of the probabilities of the
        states.
    log_likelihoods : ndarray, (k,), or None
        log P(w | phi) of each sequence, if requested or computed anyway.
    """

    first: int
    sequences: Sequences
    states: NDArray[np.int64]
    probabilities: Floats | None
    scores: Floats
    log_likelihoods: Floats | None


def decode(
    parameters: HmmParameters,
    sequences: Sequences,
    *,
    algorithm: str = "viterbi",
    probabilities: bool = False,
    likelihoods: bool = False,
    n_jobs: int | Threads | None = None,
) -> Iterator[Decoded]:
    """Find the hidden states of the observations; yield them a few whole sequences at a time.

    Parameters
    ----------
    parameters : HmmParameters
        The parameters, such as `Run.parameters` returns; their numbering of the states is used.
    sequences : Sequences
        The observations.
    algorithm : {"viterbi", "map"}
        "viterbi" finds the path that is most probable as a whole, "map" the most probable state of each
        observation.
    probabilities : bool
        Whether to return the probability of each state as well.
    likelihoods : bool
        Whether to return the likelihood of each sequence as well.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    check_choice("algorithm", algorithm, ALGORITHMS)
    return _decoded(parameters, sequences, algorithm, probabilities, likelihoods, n_jobs)


def _decoded(
    parameters: HmmParameters,
    sequences: Sequences,
    algorithm: str,
    probabilities: bool,
    likelihoods: bool,
    n_jobs: int | Threads | None,
) -> Iterator[Decoded]:
    with use_threads(n_jobs) as threads:
        for first, piece in _pieces(sequences, len(parameters.start)):
            chain = chain_of(parameters, piece)
            posteriors = log_likelihoods = None
            if algorithm == "viterbi":
                states, scores = chain.best_paths(parameters, threads)
                _check_possible(scores, first, piece)
            if probabilities or algorithm == "map":
                try:
                    posteriors, log_likelihoods = chain.posteriors(parameters, threads)
                except PlaitError:  # it counts the sequences of this piece alone
                    _check_possible(chain.log_likelihoods(parameters, threads), first, piece)
                    raise
            elif likelihoods:
                log_likelihoods = chain.log_likelihoods(parameters, threads)
            if algorithm == "map":
                assert posteriors is not None
                states = posteriors.argmax(axis=1)
                scores = np.add.reduceat(posteriors.max(axis=1), piece.offsets[:-1])
            yield Decoded(first, piece, states, posteriors, scores, log_likelihoods)


def _check_possible(scores: Floats, first: int, sequences: Sequences) -> None:
    if not np.isfinite(scores).all():
        k = int(np.argmax(~np.isfinite(scores)))
        name = f" ({sequences.names[k]})" if sequences.names else ""
        raise PlaitError(
            f"sequence {first + k}{name} has probability 0 under every state path: remove it, or fit a model"
            " that allows what is in it"
        )


def _pieces(sequences: Sequences, n_states: int) -> Iterator[tuple[int, Sequences]]:
    """Cut the sequences into pieces that fit into memory; yield the first sequence of each, and the piece."""
    offsets, names, times = sequences.offsets, sequences.names, sequences.times
    n_sites = int(np.clip(_CELLS_PER_PIECE // n_states, *_SITES_PER_PIECE))
    first = 0
    while first < sequences.n_sequences:
        fitting = int(np.searchsorted(offsets, offsets[first] + n_sites, side="right")) - 1
        last = max(first + 1, fitting)
        start, end = int(offsets[first]), int(offsets[last])
        yield (
            first,
            Sequences(
                sequences.values[start:end],
                offsets[first : last + 1] - start,
                None if names is None else names[first:last],
                times=None if times is None else times[start:end],
            ),
        )
        first = last
