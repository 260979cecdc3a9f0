"""The decoded sequences in a report: observations, states, and their probabilities."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.data.sequences import MISSING, Sequences
from plait.report.emissions import MOST_FEATURES, feature_name
from plait.report.packing import Payload, rounded, small_integers

BUDGET: Final = 8_000_000
"""Bytes of observations, states and probabilities in a page, before they are compressed."""


def kept_lengths(sequences: Sequences, n_states: int, full: bool) -> NDArray[np.int64]:
    """Return how many observations of each sequence a page has room for, (K,); 0 for those left out.

    Those that are kept are at equal distances. Of a single sequence that is too long, the start is kept.
    """
    lengths = sequences.lengths
    each = n_states + 4 * min(sequences.n_features, MOST_FEATURES) + 2
    room = BUDGET // each
    if full or sequences.n_sites <= room:
        return lengths
    n = max(1, int(len(lengths) * room / sequences.n_sites))
    kept = np.zeros_like(lengths)
    chosen = np.unique(np.linspace(0, len(lengths) - 1, n).astype(np.intp))
    before = np.cumsum(lengths[chosen]) - lengths[chosen]
    kept[chosen] = np.clip(room - before, 0, lengths[chosen])
    return kept


def sequences_block(
    sequences: Sequences,
    kept: NDArray[np.int64],
    states: NDArray[Any],
    probabilities: Floats,
    log_likelihoods: Floats | None = None,
) -> Payload:
    """Return the sequences of a page.

    Parameters
    ----------
    sequences : Sequences
        All of them.
    kept : ndarray, (K,)
        The number of observations of each that the page has; see `kept_lengths`.
    states : ndarray, (n,) or (n, chains)
        The states of these.
    probabilities : ndarray, (n, S) or (n, chains)
        The probability of each state or, of several chains, how certain the state of each is.
    log_likelihoods : ndarray, (K,), optional
        log P(w | phi) of each sequence.

    Returns
    -------
    Payload
        "n_all", "n_sites_all"; "numbers", "names" (or None), "lengths" and "whole_lengths" of those in the
        page; "log_likelihoods" per observation, or None; "features": names, [] for symbols; "values": a list
        of arrays, or of symbols their numbers with 0 for a missing one; "labels" of symbols; "times": list of
        str or None; "states"; "probabilities", from 0 to 255.
    """
    chosen = np.flatnonzero(kept)
    offsets = sequences.offsets
    places = np.concatenate([np.arange(offsets[k], offsets[k] + kept[k]) for k in chosen])
    values = sequences.values[places]
    if sequences.is_symbols:
        features, columns = [], [small_integers(values - MISSING)]
    else:
        features = [feature_name(sequences, d) for d in range(min(sequences.n_features, MOST_FEATURES))]
        columns = [rounded(values[:, d]) for d in range(len(features))]
    times = getattr(sequences, "times", None)
    likelihoods = None
    if log_likelihoods is not None:
        likelihoods = rounded(log_likelihoods[chosen] / sequences.lengths[chosen])
    return {
        "n_all": sequences.n_sequences,
        "n_sites_all": sequences.n_sites,
        "numbers": small_integers(chosen),
        "names": None if sequences.names is None else [sequences.names[k] for k in chosen.tolist()],
        "lengths": small_integers(kept[chosen]),
        "whole_lengths": small_integers(sequences.lengths[chosen]),
        "log_likelihoods": likelihoods,
        "features": features,
        "values": columns,
        "labels": None if sequences.labels is None else list(sequences.labels),
        "times": None if times is None else [times[i] for i in places.tolist()],
        "states": small_integers(states),
        "probabilities": np.rint(255 * np.clip(probabilities, 0, 1)).astype(np.uint8),
    }
