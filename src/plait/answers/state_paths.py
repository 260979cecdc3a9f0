"""The states of the observations that a hidden Markov model was fitted to, and how long they last.

States have the numbers under which estimators and commands show them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plait.answers.choosing import sequence_number
from plait.arrays import Floats
from plait.data.sequences import Sequences
from plait.evaluate.states import hmm_model, state_names
from plait.fitting.restarts import state_order
from plait.inference.states import decode
from plait.models.chain import HmmParameters
from plait.run import Run
from plait.threads import Threads


@dataclass(frozen=True, eq=False)
class DecodedSequence:
    """The states of one sequence.

    Attributes
    ----------
    sequence : int
        Its number.
    name : str or None
        Its name, if sequences have names.
    values : ndarray, (n,) or (n, D)
        Its observations.
    missing : ndarray of bool, (n,)
        Which observations are missing.
    states : ndarray of int64, (n,)
        The path of states that is most probable as a whole (Viterbi's).
    probabilities : ndarray, (n, S)
        The probability of each state at each observation, given the parameters.
    log_likelihood : float
        log P(w | phi) of the sequence.
    """

    sequence: int
    name: str | None
    values: NDArray[np.float64] | NDArray[np.int32]
    missing: NDArray[np.bool_]
    states: NDArray[np.int64]
    probabilities: Floats
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class StateDurations:
    """How long a state lasts.

    Attributes
    ----------
    state : int
        Its number.
    name : str or None
        Its name, if the run has one for it.
    stay : float
        The probability that it stays for one more observation, which implies the distribution of `implied`.
    lengths : ndarray of int64
        Number of observations of each stay in the decoded paths, in their order.
    is_cut : ndarray of bool
        Which of these stays touch the start or the end of a sequence, so that they may have lasted longer.
    """

    state: int
    name: str | None
    stay: float
    lengths: NDArray[np.int64]
    is_cut: NDArray[np.bool_]

    @property
    def implied_mean(self) -> float:
        """The mean duration that the transitions imply, 1 / (1 - stay); infinite if the state never ends."""
        return 1.0 / (1.0 - self.stay) if self.stay < 1.0 else math.inf

    @property
    def observed_mean(self) -> float:
        """The mean length of the stays, those that are cut included; NaN if the state does not occur."""
        return float(self.lengths.mean()) if self.lengths.size else np.nan

    def survival(self) -> tuple[NDArray[np.int64], Floats]:
        """Return lengths n, from 0, and the probability that a stay is longer than n (Kaplan and Meier's).

        A stay that is cut counts as long as it was seen: it says that the state lasted at least so long. The
        lengths are those at which a stay ended that is not cut.
        """
        ended = np.unique(self.lengths[~self.is_cut])
        lengths = np.append(0, ended)
        at_risk = np.array([np.count_nonzero(self.lengths >= n) for n in ended])
        ends = np.array([np.count_nonzero(self.lengths[~self.is_cut] == n) for n in ended])
        return lengths, np.append(1.0, np.cumprod(1.0 - ends / at_risk))

    def implied(self, lengths: NDArray[np.int64]) -> Floats:
        """Return the probabilities of durations that the transitions imply: stay^(n - 1) (1 - stay)."""
        before: Floats = np.power(self.stay, np.asarray(lengths, np.float64) - 1.0)
        return before * (1.0 - self.stay)


def decoded_sequence(
    run: Run, sequence: int | str = 0, *, n_jobs: int | Threads | None = None
) -> DecodedSequence:
    """Return the states of one of the sequences that a hidden Markov model was fitted to.

    Parameters
    ----------
    run : Run
        A run of a hidden Markov model.
    sequence : int or str
        Number or name of the sequence.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    sequences = hmm_model(run).sequences
    k = sequence_number(sequences, sequence)
    parameters, _ = _shown_parameters(run, n_jobs)
    start, stop = sequences.offsets[k : k + 2]
    values = sequences.values[start:stop]
    (found,) = decode(
        parameters, Sequences(values, np.array([0, stop - start])), probabilities=True, n_jobs=n_jobs
    )
    assert found.probabilities is not None
    assert found.log_likelihoods is not None
    return DecodedSequence(
        sequence=k,
        name=None if sequences.names is None else sequences.names[k],
        values=values,
        missing=values < 0 if sequences.is_symbols else np.isnan(values).all(axis=1),
        states=found.states,
        probabilities=found.probabilities,
        log_likelihood=float(found.log_likelihoods[0]),
    )


def state_durations(run: Run, *, n_jobs: int | Threads | None = None) -> list[StateDurations]:
    """Return how long each state lasts, by its transitions and in the decoded paths of all sequences.

    If the two differ much, durations are not geometric, as those of a Markov chain are.

    Parameters
    ----------
    run : Run
        A run of a hidden Markov model.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    sequences = hmm_model(run).sequences
    parameters, names = _shown_parameters(run, n_jobs)
    parts = decode(parameters, sequences, n_jobs=n_jobs)
    states = np.concatenate([part.states for part in parts])
    is_first = np.append(True, states[1:] != states[:-1])
    is_first[sequences.offsets[:-1]] = True
    firsts = np.flatnonzero(is_first)
    ends = np.append(firsts[1:], states.size)
    is_cut = np.isin(firsts, sequences.offsets) | np.isin(ends, sequences.offsets)
    of_state = states[firsts]
    return [
        StateDurations(
            state=s,
            name=names.get(s),
            stay=float(parameters.transitions[s, s]),
            lengths=(ends - firsts)[of_state == s],
            is_cut=is_cut[of_state == s],
        )
        for s in range(len(parameters.start))
    ]


def _shown_parameters(run: Run, n_jobs: int | Threads | None) -> tuple[HmmParameters, dict[int, str]]:
    """Return the parameters and the names of the states, numbered as they are shown."""
    parameters = run.parameters(n_jobs)
    order = state_order(run, parameters)
    return parameters.permuted(order), state_names(run, order)
