"""The parameters of hidden Markov chains, and the statistics that they are drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats


@dataclass(frozen=True)
class HmmCounts:
    """Sufficient statistics of all paths together; their expectation in EM.

    Attributes
    ----------
    starts : ndarray, (S,)
        How often a sequence starts in each state.
    pairs : ndarray, (S, S)
        How often state r follows state s.
    emissions : ndarray
        Sufficient statistics of the emissions.
    """

    starts: Floats
    pairs: Floats
    emissions: Floats


@dataclass(frozen=True)
class HmmParameters:
    """The parameters phi.

    Attributes
    ----------
    start : ndarray, (S,)
        Distribution of the first state.
    transitions : ndarray, (S, S)
        Row a is the distribution of the state after a.
    emissions : CategoricalParameters, NormalParameters or PoissonParameters
        Parameters of the emissions of each state.
    """

    start: Floats
    transitions: Floats
    emissions: Any

    def permuted(self, order: NDArray[np.intp]) -> HmmParameters:
        """Return the parameters with the states in another order."""
        return HmmParameters(
            self.start[order], self.transitions[np.ix_(order, order)], self.emissions.permuted(order)
        )

    def with_state(self, state: int, other: HmmParameters, theirs: int) -> HmmParameters:
        """Return the parameters with a state replaced by one of others, as one that any state leads to."""
        n_states = len(self.start)
        start, transitions = self.start.copy(), self.transitions.copy()
        for rows in (start[None], transitions):
            rows[:, state] = 0.0
            rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
            rows *= 1.0 - 1.0 / n_states
            rows[:, state] = 1.0 - rows.sum(axis=1)
        transitions[state] = 0.5 / (n_states - 1)
        transitions[state, state] = 0.5
        return HmmParameters(start, transitions, self.emissions.with_state(state, other.emissions, theirs))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the parameters by name."""
        emissions = {f"emissions.{name}": array for name, array in self.emissions.to_arrays().items()}
        return {"start": self.start, "transitions": self.transitions, **emissions}
