"""The data of a report on a hidden Markov model.

States have the numbers under which estimators and commands show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.answers import state_durations
from plait.answers.state_paths import StateDurations
from plait.arrays import Floats
from plait.evaluate.states import hmm_model
from plait.fitting.restarts import state_order
from plait.inference.states import decode
from plait.models.chain import HmmParameters
from plait.report.emissions import emissions
from plait.report.latent import StateWords, latent_parts
from plait.report.packing import Payload, rounded, small_integers
from plait.report.page import Page
from plait.report.sequences import kept_lengths, sequences_block
from plait.run import Run
from plait.threads import Threads, use_threads

_MOST_STEPS: Final = 400  # lengths of stays in a picture


class FittedStates(NamedTuple):
    """A hidden Markov model and the states of its data, numbered as they are shown."""

    parameters: HmmParameters

    states: NDArray[np.int64]
    """Viterbi's state of each observation, (N,)."""

    log_likelihoods: Floats
    """log P(w | phi) of each sequence, (K,)."""

    kept: NDArray[np.int64]
    """The number of observations of each sequence, from its start, whose states have probabilities, (K,)."""

    is_kept: NDArray[np.bool_]
    """Which observations these are, (N,)."""

    probabilities: Floats
    """The probabilities of their states, (n, S)."""


def fitted_states(run: Run, *, full: bool = False, n_jobs: int | Threads | None = None) -> FittedStates:
    """Return the states of the data of a hidden Markov model, and of a part of it their probabilities."""
    sequences = hmm_model(run).sequences
    with use_threads(n_jobs) as threads:
        parameters = run.parameters(threads)
        parameters = parameters.permuted(state_order(run, parameters))
        kept = kept_lengths(sequences, len(parameters.start), full)
        positions = np.arange(sequences.n_sites) - np.repeat(sequences.offsets[:-1], sequences.lengths)
        is_kept = positions < np.repeat(kept, sequences.lengths)
        states, probabilities, log_likelihoods, first = [], [], [], 0
        for part in decode(parameters, sequences, probabilities=True, likelihoods=True, n_jobs=threads):
            assert part.probabilities is not None
            assert part.log_likelihoods is not None
            states.append(part.states)
            log_likelihoods.append(part.log_likelihoods)
            probabilities.append(part.probabilities[is_kept[first : first + len(part.states)]])
            first += len(part.states)
    return FittedStates(
        parameters,
        np.concatenate(states),
        np.concatenate(log_likelihoods),
        kept,
        is_kept,
        np.concatenate(probabilities),
    )


def states_pages(
    run: Run,
    *,
    title: str,
    path: Path,
    full: bool = False,
    n_jobs: int | None = None,
) -> Iterator[Page]:
    """Yield the page of a report on a run of a hidden Markov model.

    Parameters
    ----------
    run : Run
        The run.
    title : str
        Title of the report.
    path : Path
        The file of the page.
    full : bool
        Whether the page has all sequences, however long they are.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Yields
    ------
    Page
        Its blocks are "main", with the parts of `plait.report.latent.latent_parts`, "emissions" (see
        `plait.report.emissions`), "chain" and "sequences" (see `plait.report.sequences`).
    """
    best = run.best
    model = hmm_model(best)
    with use_threads(n_jobs) as threads:
        found = fitted_states(best, full=full, n_jobs=threads)
        main = latent_parts(run, found.states, WORDS, title=title, n_jobs=threads)
        durations = state_durations(best, n_jobs=threads)
    main["emissions"] = emissions(model.emissions, found.parameters.emissions, found.states)
    main["chain"] = chain(found.parameters, durations)
    main["has_sequences"] = True
    block = sequences_block(
        model.sequences,
        found.kept,
        found.states[found.is_kept],
        found.probabilities,
        found.log_likelihoods,
    )
    yield Page(path, {"main": main, "sequences": block})


WORDS: Final = StateWords("hidden Markov model", "state", "states")


def chain(parameters: HmmParameters, durations: Sequence[StateDurations]) -> Payload:
    """Return the transitions, and how long states last.

    Returns
    -------
    Payload
        "start" (S,); "transitions" (S, S); "durations": for each state "stays", how many there are in the
        decoded paths, "cut", how many of them touch an end, "mean" and "implied", of their lengths, and
        "lengths" and "longer" as of `StateDurations.survival`.
    """
    return {
        "start": rounded(parameters.start),
        "transitions": np.ascontiguousarray(parameters.transitions, np.float32),
        "durations": [_duration(own) for own in durations],
    }


def _duration(own: StateDurations) -> Payload:
    lengths, longer = own.survival()
    if len(lengths) > _MOST_STEPS:
        chosen = np.unique(np.linspace(0, len(lengths) - 1, _MOST_STEPS).astype(np.intp))
        lengths, longer = lengths[chosen], longer[chosen]
    return {
        "stays": int(own.lengths.size),
        "cut": int(own.is_cut.sum()),
        "longest": int(own.lengths.max()) if own.lengths.size else 0,
        "mean": own.observed_mean,
        "implied": own.implied_mean,
        "stay": own.stay,
        "lengths": small_integers(lengths),
        "longer": rounded(longer),
    }
