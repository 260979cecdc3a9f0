"""What the states of a hidden Markov model are about, and which states made the observations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.checks import short_repr
from plait.data.files import FilePath, error_at
from plait.data.sequence_files import read_sequences
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.models.chain import Chain, HmmParameters
from plait.models.emissions import (
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.hmm import HmmModel
from plait.models.priors import Floats
from plait.run import Run
from plait.threads import Threads

ALGORITHMS: Final = ("viterbi", "map")
"""The most probable path as a whole, or the most probable state of each observation."""

_CELLS_A_PIECE = 2**23  # posteriors of 64 MB
_SITES_A_PIECE = (2**15, 2**18)  # enough for several threads; soon enough for progress


@dataclass(frozen=True)
class StateSummary:
    """One state in short.

    Attributes
    ----------
    state : int
        Its number, in canonical order; see `HmmModel.canonical_order`.
    share : float
        Share of the observations, missing ones included, over all paths.
    n_observations : int
        Number of observations, missing ones left out, over all paths.
    start : float
        Probability that a sequence starts in it.
    transitions : tuple of float
        Probability of each state to be the next.
    emissions : dict
        Its law: "symbols" (the most probable first) with "probabilities", or "features" with "means" and
        "standard_deviations", or with "rates".
    """

    state: int
    share: float
    n_observations: int
    start: float
    transitions: tuple[float, ...]
    emissions: dict[str, tuple[Any, ...]]

    @property
    def stay(self) -> float:
        """Probability to stay in the state."""
        return self.transitions[self.state]


def hmm_model(run: Run) -> HmmModel:
    """Return the model of a run of a hidden Markov model; an error for any other."""
    if not isinstance(run.model, HmmModel):
        raise PlaitError(
            f"the model is of the kind {run.model.kind!r}: this works for hidden Markov models (hmm)"
        )
    return run.model


def hmm_solution(run: Run, threads: Threads) -> HmmParameters:
    """Return the mean of the parameters given the paths, with the states in canonical order."""
    model = hmm_model(run)
    parameters = model.mean_parameters(model.count(run.paths, threads), threads)
    return parameters.permuted(model.canonical_order(parameters))


def summarise_states(run: Run, n_symbols: int = 10) -> list[StateSummary]:
    """Return a summary of every state, in canonical order."""
    model = hmm_model(run)
    with Threads(1) as threads:
        counts = model.count(run.paths, threads)
        parameters = model.mean_parameters(counts, threads)
    order = model.canonical_order(parameters)
    parameters = parameters.permuted(order)
    visits = (counts.starts + counts.pairs.sum(axis=0))[order]
    observations = model.emissions.observations(counts.emissions)[order]
    return [
        StateSummary(
            state=s,
            share=float(visits[s] / visits.sum()),
            n_observations=int(observations[s]),
            start=float(parameters.start[s]),
            transitions=tuple(parameters.transitions[s].tolist()),
            emissions=_describe_law(model.sequences, parameters.emissions, s, n_symbols),
        )
        for s in range(model.n_states)
    ]


def _describe_law(
    sequences: Sequences,
    law: CategoricalParameters | NormalParameters | PoissonParameters,
    s: int,
    n_symbols: int,
) -> dict[str, tuple[Any, ...]]:
    if isinstance(law, CategoricalParameters):
        row = law.probabilities[s]
        best = np.argsort(-row, kind="stable")[:n_symbols]
        labels = dict(enumerate(sequences.labels or ()))
        symbols = tuple(labels.get(w, str(w)) for w in best.tolist())
        return {"symbols": symbols, "probabilities": tuple(row[best].tolist())}
    features = sequences.columns or tuple(map(str, range(sequences.n_features)))
    if isinstance(law, PoissonParameters):
        return {"features": features, "rates": tuple(law.rates[s].tolist())}
    deviations = np.sqrt(_variances(law, s))
    return {
        "features": features,
        "means": tuple(law.means[s].tolist()),
        "standard_deviations": tuple(deviations.tolist()),
    }


def _variances(law: NormalParameters, s: int) -> Floats:
    """Return the variance of each feature in a state."""
    covariance = law.covariances if law.covariance == "tied" else law.covariances[s]
    variances = np.diagonal(covariance) if covariance.ndim == 2 else covariance
    return np.broadcast_to(variances, law.means[s].shape)


# -----------------------------------------------------------------------------------------------------
# Data that the model was not fitted to
# -----------------------------------------------------------------------------------------------------


def chain_of(model: HmmModel, sequences: Sequences) -> Chain:
    """Return a chain over other data, with the same states and the same kind of emissions."""
    return Chain(_emissions_of(model, sequences))


def _emissions_of(model: HmmModel, sequences: Sequences) -> Any:
    # The priors do not matter, but the usual ones come from the data, and might not be valid for few.
    n_states, emissions = model.n_states, model.emissions
    if isinstance(emissions, CategoricalEmissions):
        return CategoricalEmissions(sequences, n_states, n_symbols=emissions.n_symbols)
    if isinstance(emissions, GaussianEmissions):
        return GaussianEmissions(
            sequences, n_states, covariance=emissions.covariance, mean_prior=0.0, covariance_prior=1.0
        )
    return PoissonEmissions(sequences, n_states, prior_weight=1.0)


def read_new_data(
    model: HmmModel,
    path: FilePath,
    *,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    missing: bool = False,
    lengths: FilePath | None = None,
    encoding: str = "utf-8",
) -> Sequences:
    """Read data that a fitted model shall explain: its symbols, or its features, are those of the model.

    Parameters
    ----------
    model : HmmModel
        The model.
    path, id_column, missing, lengths, encoding
        As for `read_sequences`.
    columns : sequence of str or None
        As for `read_sequences`; None takes those that the model was fitted to, if they had names.
    """
    name, known = os.fspath(path), model.sequences
    is_table = Path(name).suffix.lower() != ".npy"
    if columns is None and is_table:
        columns = known.columns
    sequences = read_sequences(
        path,
        kind="symbols" if known.is_symbols else "numbers",
        id_column=id_column,
        columns=columns,
        missing=missing,
        lengths=lengths,
        labels=known.labels if is_table else None,
        encoding=encoding,
    )
    if isinstance(model.emissions, CategoricalEmissions):
        _check_symbols(sequences, model.emissions.n_symbols, known.labels, name, is_table)
    elif sequences.n_features != known.n_features:
        n = known.n_features
        remedy = f"pass columns with {n} of them" if is_table else f"pass an array of shape (N, {n})"
        raise PlaitError(
            f"{name}: there are {sequences.n_features} features, but the model was fitted to {n}: {remedy}"
        )
    try:
        _emissions_of(model, sequences)
    except PlaitError as error:
        raise PlaitError(f"{name}: {error}") from None
    return sequences


def _check_symbols(
    sequences: Sequences, n_symbols: int, labels: tuple[str, ...] | None, name: str, is_table: bool
) -> None:
    if labels is None and sequences.labels is not None:
        raise PlaitError(
            f"{name}: the symbols are texts, such as {short_repr(sequences.labels[0])}, but the model was fitted"
            f" to whole numbers from 0 to {n_symbols - 1}: number them as in the data of the model"
        )
    wrong = sequences.values >= n_symbols
    if wrong.any():
        i = int(np.argmax(wrong))
        says = (
            f"is the symbol {sequences.values[i]}, but the model was fitted to the symbols 0 to"
            f" {n_symbols - 1}: correct it, or fit a model to data that have it"
        )
        if is_table:  # under the header, an observation a line
            raise error_at(name, i + 2, f"the observation {says}")
        raise PlaitError(f"{name}: observation {i} {says}")


# -----------------------------------------------------------------------------------------------------
# Decoding
# -----------------------------------------------------------------------------------------------------


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
        Probability of each state given the data, if asked for.
    log_likelihoods : ndarray, (k,)
        log P(w | phi) of each sequence.
    """

    first: int
    sequences: Sequences
    states: NDArray[np.int64]
    probabilities: Floats | None
    log_likelihoods: Floats


def decode(
    model: HmmModel,
    parameters: HmmParameters,
    sequences: Sequences,
    threads: Threads,
    *,
    algorithm: str = "viterbi",
    probabilities: bool = False,
) -> Iterator[Decoded]:
    """Find the states that made the observations, some whole sequences at a time.

    Parameters
    ----------
    model : HmmModel
        The model that the parameters belong to; `sequences` may be its data or others.
    parameters : HmmParameters
        The parameters, such as those of `hmm_solution`, whose states are numbered canonically.
    sequences : Sequences
        The observations.
    threads : Threads
        Threads to work with.
    algorithm : {"viterbi", "map"}
        "viterbi" finds the path that is most probable as a whole, "map" the most probable state of each
        observation.
    probabilities : bool
        Whether to return the probability of each state, too.
    """
    if algorithm not in ALGORITHMS:
        raise PlaitError(
            f"algorithm is {short_repr(algorithm)}: pass one of {', '.join(map(repr, ALGORITHMS))}"
        )
    for first, piece in _pieces(sequences, model.n_states):
        chain = chain_of(model, piece)
        likelihoods = chain.log_likelihoods(parameters, threads)
        if not np.isfinite(likelihoods).all():
            k = int(np.argmax(~np.isfinite(likelihoods)))
            which = f"sequence {first + k}" + (f" ({piece.names[k]})" if piece.names else "")
            raise PlaitError(
                f"no path of states can have made {which}: it has what the model was told is impossible;"
                " take it from the data"
            )
        posteriors = None
        if probabilities or algorithm == "map":
            posteriors, _ = chain.posteriors(parameters, threads)
        if algorithm == "map":
            assert posteriors is not None
            states: NDArray[np.int64] = posteriors.argmax(axis=1)
        else:
            states, _ = chain.best_paths(parameters, threads)
        yield Decoded(first, piece, states, posteriors if probabilities else None, likelihoods)


def _pieces(sequences: Sequences, n_states: int) -> Iterator[tuple[int, Sequences]]:
    """Cut sequences into pieces that fit into memory; give the number of the first of each, and the piece."""
    offsets, names = sequences.offsets, sequences.names
    n_sites = int(np.clip(_CELLS_A_PIECE // n_states, *_SITES_A_PIECE))
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
            ),
        )
        first = last
