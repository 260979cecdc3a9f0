"""The emissions of states, for a report: their parameters, and the observations of each state.

It works for any family. What the parameters are called and how many there are comes from the parameters
themselves; the curve over a histogram comes from the log-densities that all emissions have.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.data.sequences import MISSING, Sequences
from plait.errors import PlaitError
from plait.evaluate.states import covariance_matrices
from plait.inference.states import chain_of
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalParameters, MultinomialEmissions, NormalParameters
from plait.models.emissions.mixed import MixedParameters
from plait.report.packing import Payload, rounded, small_integers

MOST_FEATURES: Final = 40
"""Features that the page shows; tables have all parameters of these."""

MOST_SYMBOLS: Final = 60
"""Symbols that the page shows: those that are most probable in some state."""

_BINS: Final = 48
_MOST_WHOLE: Final = 80  # a longer range of whole numbers is drawn like one of real numbers
_MANY: Final = 1000  # of so many values, the outermost are left out of the picture
_POINTS: Final = 160
_MOST_DOTS: Final = 1500


def emissions(emissions: Any, parameters: Any, states: NDArray[Any]) -> Payload:
    """Return the emissions of the states of a model.

    Parameters
    ----------
    emissions : Emissions
        The emissions of the model, with the data.
    parameters : object
        Their parameters, numbered as states are shown.
    states : ndarray, (N,)
        The state of each observation, likewise.

    Returns
    -------
    Payload
        "kind"; "features": names; "n_features": also those that are left out; "tables": the parameters as
        [{"name", "values" (S, D) or (S, 1)}]; "symbols": None, or of distributions of symbols "names",
        "probabilities" (S, W), "shares" (W,) in the data and "n_all"; "histograms": for each feature, or
        empty, see `_histogram`; "plane": None, or of normal distributions of several features "means" (S, D),
        "covariances" (S, D, D), and "points" (n, D) of the data with their "states" (n,).
    """
    n_states = emissions.n_states
    found = {**parameters_of(emissions, parameters), "histograms": [], "plane": None}
    if found["symbols"] is not None:
        return found
    values, shown = np.asarray(emissions.sequences.values, np.float64), len(found["features"])
    found["histograms"] = [_histogram(values, d, states, n_states, parameters) for d in range(shown)]
    if isinstance(parameters, NormalParameters) and shown > 1:
        found["plane"] = _plane(parameters, values, states, shown)
    return found


def parameters_of(emissions: Any, parameters: Any) -> Payload:
    """Return "kind", "features", "n_features", "tables" and "symbols"; see `emissions`."""
    found = {"kind": emissions.kind, "features": [], "n_features": 0, "tables": [], "symbols": None}
    if isinstance(parameters, CategoricalParameters):
        return found | {"symbols": _symbols(emissions, parameters.probabilities)}
    sequences: Sequences = emissions.sequences
    shown = min(sequences.n_features, MOST_FEATURES)
    return found | {
        "features": [feature_name(sequences, d) for d in range(shown)],
        "n_features": sequences.n_features,
        "tables": _tables_by_columns(parameters, sequences, emissions.n_states, shown),
    }


def _tables_by_columns(parameters: Any, sequences: Sequences, n_states: int, shown: int) -> list[Payload]:
    """Return `tables`; those of families of their own for some columns start with the names of these."""
    if not isinstance(parameters, MixedParameters):
        return tables(parameters, n_states, shown)
    found: list[Payload] = []
    for columns, part in zip(parameters.columns, parameters.parts, strict=True):
        names = ", ".join(feature_name(sequences, d) for d in columns)
        found += [{**own, "name": f"{names}: {own['name']}"} for own in tables(part, n_states, shown)]
    return found


def feature_name(sequences: Sequences, d: int) -> str:
    """Return the name of a feature, or its number in words."""
    return f"feature {d}" if sequences.columns is None else sequences.columns[d]


def tables(parameters: Any, n_states: int, n_features: int) -> list[Payload]:
    """Return the parameters that each state has of its own, by name: [{"name", "values" (S, D) or (S, 1)}].

    Of covariance matrices these are the square roots of their diagonals.
    """
    if isinstance(parameters, NormalParameters):
        deviations = np.sqrt(np.diagonal(covariance_matrices(parameters), axis1=1, axis2=2))
        both = {"mean": parameters.means, "standard deviation": deviations}
        return [{"name": name, "values": rounded(own[:, :n_features])} for name, own in both.items()]
    found: list[Payload] = []
    for name, array in parameters.to_arrays().items():
        values = np.asarray(array, np.float64)
        if values.shape[:1] != (n_states,):  # all states share it
            continue
        own = values.reshape(n_states, -1)[:, :MOST_FEATURES]
        found.append({"name": name.replace("_", " "), "values": rounded(own)})
    return found


def _symbols(emissions: Any, probabilities: Floats) -> Payload:
    n_symbols = probabilities.shape[1]
    if isinstance(emissions, MultinomialEmissions):
        names, counts = None, np.bincount(emissions.words, emissions.numbers, n_symbols)
    else:
        sequences = emissions.sequences
        names = sequences.labels
        counts = np.bincount(sequences.values[sequences.values != MISSING], minlength=n_symbols)
    shown = np.arange(n_symbols)
    if n_symbols > MOST_SYMBOLS:
        shown = np.sort(np.argsort(-probabilities.max(axis=0), kind="stable")[:MOST_SYMBOLS])
    known = dict(enumerate(names or ()))
    return {
        "names": [known.get(w, str(w)) for w in shown.tolist()],
        "probabilities": rounded(probabilities[:, shown]),
        "shares": rounded(counts[shown] / max(1.0, counts.sum())),
        "n_all": n_symbols,
    }


def _histogram(
    values: Floats, d: int, states: NDArray[Any], n_states: int, parameters: Any
) -> Payload | None:
    """Return the observations of a feature in each state, and the curve that the parameters make of it.

    Returns
    -------
    Payload or None
        "edges" (B + 1,); "counts" (S, B); "whole": whether the values are whole numbers, one in each bin;
        "outside": how many observations are beyond the edges; "x" (P,) and "densities" (S, P), or None: per
        unit of the feature or, of whole numbers, their probabilities. None if no value is known.
    """
    column = values[:, d]
    known = np.flatnonzero(np.isfinite(column))
    if not known.size:
        return None
    seen = column[known]
    low, high = (float(own) for own in (seen.min(), seen.max()))
    if seen.size >= _MANY:
        inner = np.quantile(seen, [0.002, 0.998])
        # Outliers would leave one bin for all others.
        if high - low > 3 * (inner[1] - inner[0]) > 0:
            low, high = (float(own) for own in inner)
    is_whole = bool((seen == np.floor(seen)).all()) and high - low < _MOST_WHOLE
    if is_whole:
        low, high = np.floor(low), np.ceil(high)
        x = np.arange(low, high + 1)
        edges = np.append(x - 0.5, x[-1] + 0.5)
    else:
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, _BINS + 1)
        x = np.linspace(low, high, _POINTS)
    counts = [np.histogram(seen[states[known] == s], edges)[0] for s in range(n_states)]
    densities = _densities(parameters, values, d, x, is_whole)
    return {
        "edges": np.asarray(edges, np.float32),
        "counts": small_integers(counts),
        "whole": is_whole,
        "outside": int(seen.size - np.sum(counts)),
        "x": np.asarray(x, np.float32),
        "densities": None if densities is None else rounded(densities),
    }


def _densities(parameters: Any, values: Floats, d: int, x: Floats, is_whole: bool) -> Floats | None:
    """Return the densities of a feature in each state at some points, (S, P), or None.

    Those of a normal distribution are exact. Of other families with several features, the others are held at
    values that occur, and the curve is scaled to have the area 1 over the points.
    """
    if isinstance(parameters, NormalParameters):
        mean = parameters.means[:, d, None]
        deviation = np.sqrt(covariance_matrices(parameters)[:, d, d])[:, None]
        normal: Floats = np.exp(-(((x - mean) / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
        return normal
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not known.size:
        return None
    rows = np.repeat(values[known[:1]], len(x), axis=0)
    rows[:, d] = x
    n_states = len(next(iter(parameters.to_arrays().values())))
    even = np.full(n_states, 1.0 / n_states)
    chain = HmmParameters(even, np.tile(even, (n_states, 1)), parameters)
    try:
        # Each point is a sequence of its own: what came before must not matter.
        own = chain_of(chain, Sequences.from_values(rows, np.ones(len(rows), np.int64))).emissions
        logs = np.asarray(own.log_weights(parameters, 0, len(x)), np.float64).T
    except PlaitError:  # some point is impossible in this family
        return None
    if len(x) > 1 and not np.ptp(logs):  # without an observation before it, this family says nothing
        return None
    if values.shape[1] > 1:
        logs = logs - logs.max(axis=1, keepdims=True)
    densities = np.exp(logs)
    if values.shape[1] > 1:
        areas = densities.sum(axis=1) if is_whole else np.trapezoid(densities, x, axis=1)
        densities /= areas[:, None]
    return densities if np.isfinite(densities).all() else None


def _plane(parameters: NormalParameters, values: Floats, states: NDArray[Any], shown: int) -> Payload:
    known = np.flatnonzero(np.isfinite(values[:, :shown]).all(axis=1))
    known = known[:: max(1, -(-len(known) // _MOST_DOTS))]
    return {
        "means": rounded(parameters.means[:, :shown]),
        "covariances": np.ascontiguousarray(covariance_matrices(parameters)[:, :shown, :shown], np.float32),
        "points": rounded(values[known, :shown]),
        "states": small_integers(states[known]),
    }
