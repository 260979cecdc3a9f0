"""Summaries of the states of a hidden Markov model: their shares, transitions and emissions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.errors import PlaitError
from plait.fitting.restarts import state_order
from plait.models.emissions import CategoricalParameters, MixedParameters, NormalParameters
from plait.models.hmm import HmmModel
from plait.run import Run
from plait.threads import use_threads


@dataclass(frozen=True)
class StateSummary:
    """Summary of one state.

    Attributes
    ----------
    state : int
        Its number, in canonical order; see `HmmModel.canonical_order`.
    share : float
        Share of the observations, missing ones included, over all paths.
    n_observations : int
        Number of observations, missing ones excluded, over all paths.
    start : float
        Probability that a sequence starts in it.
    transitions : tuple of float
        Probability that each state comes next.
    emissions : dict
        "symbols" (the most probable first) with "probabilities", or "features" with "means" and
        "standard_deviations", with "rates", for binary features with "probabilities" of a 1, or with the
        parameters of other families by their names. With families of columns, "parts" is a list of these.
    name : str or None
        Its name, if the run has one for it.
    """

    state: int
    share: float
    n_observations: int
    start: float
    transitions: tuple[float, ...]
    emissions: dict[str, tuple[Any, ...]]
    name: str | None = None

    @property
    def stay(self) -> float:
        """Probability of staying in the state."""
        return self.transitions[self.state]


def hmm_model(run: Run) -> HmmModel:
    """Return the model of a run, which must be a hidden Markov model."""
    if not isinstance(run.model, HmmModel):
        raise PlaitError(
            f"the model is of the kind {run.model.kind!r}: this works for hidden Markov models (hmm)"
        )
    return run.model


def state_names(run: Run, order: NDArray[np.intp]) -> dict[int, str]:
    """Return the names of the states that have one, by their numbers in an order; see `state_order`."""
    return {k: run.names[int(s)] for k, s in enumerate(order) if int(s) in run.names}


def summarise_states(run: Run, n_symbols: int = 10, n_jobs: int | None = None) -> list[StateSummary]:
    """Return a summary of every state, in canonical order.

    Shares and numbers of observations are counted in the paths; after EM alone, which has no paths, they are
    their expectations for one path given the parameters.
    """
    model = hmm_model(run)
    with use_threads(n_jobs) as threads:
        parameters = run.parameters(threads)
        if len(run.paths):
            counts = model.count(run.paths, threads)
        else:
            counts, _ = model.expected_counts(parameters, threads)
    order = state_order(run, parameters)
    parameters = parameters.permuted(order)
    names = state_names(run, order)
    visits = (counts.starts + counts.pairs.sum(axis=0))[order]
    observations = model.emissions.observations(counts.emissions)[order]
    features = model.sequences.columns or tuple(map(str, range(model.sequences.n_features)))
    return [
        StateSummary(
            state=s,
            share=float(visits[s] / visits.sum()),
            n_observations=round(float(observations[s])),
            start=float(parameters.start[s]),
            transitions=tuple(parameters.transitions[s].tolist()),
            emissions=_describe_emissions(
                features, model.sequences.labels, parameters.emissions, s, n_symbols
            ),
            name=names.get(s),
        )
        for s in range(model.n_states)
    ]


def _describe_emissions(
    names: tuple[str, ...], labels: tuple[str, ...] | None, own: Any, s: int, n_symbols: int
) -> dict[str, tuple[Any, ...]]:
    """Return the emissions of a state, given the names of the features and the labels of symbols."""
    if isinstance(own, MixedParameters):
        parts = (
            _describe_emissions(tuple(names[d] for d in columns), None, part, s, n_symbols)
            for columns, part in zip(own.columns, own.parts, strict=True)
        )
        # Symbols stand for no feature: with others, say of which they are.
        features = [tuple(names[d] for d in columns) for columns in own.columns]
        return {
            "parts": tuple({"features": named} | part for named, part in zip(features, parts, strict=True))
        }
    if isinstance(own, CategoricalParameters):
        row = own.probabilities[s]
        best = np.argsort(-row, kind="stable")[:n_symbols]
        known = dict(enumerate(labels or ()))
        symbols = tuple(known.get(w, str(w)) for w in best.tolist())
        return {"symbols": symbols, "probabilities": tuple(row[best].tolist())}
    if isinstance(own, NormalParameters):
        return {
            "features": names,
            "means": tuple(own.means[s].tolist()),
            "standard_deviations": tuple(np.sqrt(_variances(own, s)).tolist()),
        }
    return {"features": names} | {name: tuple(array[s].tolist()) for name, array in own.to_arrays().items()}


def _variances(own: NormalParameters, s: int) -> Floats:
    """Return the variance of each feature in a state."""
    covariance = own.covariances if own.covariance == "tied" else own.covariances[s]
    variances = np.diagonal(covariance) if covariance.ndim == 2 else covariance
    return np.broadcast_to(variances, own.means[s].shape)


def covariance_matrices(own: NormalParameters) -> Floats:
    """Return the covariance matrix of each state, (S, D, D)."""
    n_states, n_features = own.means.shape
    if own.covariance == "tied":
        return np.broadcast_to(own.covariances, (n_states, n_features, n_features))
    if own.covariance == "full":
        return own.covariances
    variances = np.broadcast_to(own.covariances.reshape(n_states, -1), own.means.shape)
    return variances[:, :, None] * np.eye(n_features)
