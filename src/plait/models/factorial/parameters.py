"""The parameters of a factorial hidden Markov model, and their sufficient statistics."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, check_numbers, frozen_copy
from plait.blas import one_blas_thread
from plait.checks import short_repr
from plait.errors import Argument, PlaitError
from plait.models.priors import cumulative_steps


@dataclass(frozen=True)
class FactorialCounts:
    """Sufficient statistics of all paths together.

    Z is the design matrix: it has a row for each observation of each path, with a one for the state of each
    chain. X are the observations, minus their mean.

    Attributes
    ----------
    starts : ndarray, (K, S)
        Number of sequences that start in each state.
    pairs : ndarray, (K, S, S)
        Number of times that state r follows state s.
    together : ndarray, (K, S, K, S)
        Z'Z: number of observations where two chains are in two states.
    sums : ndarray, (K, S, D)
        Z'X.
    squares : ndarray, (D, D) or (D,)
        X'X, or its diagonal.
    observations : ndarray, ()
        Number of rows.
    """

    starts: Floats
    pairs: Floats
    together: Floats
    sums: Floats
    squares: Floats
    observations: Floats

    @property
    def shares(self) -> Floats:
        """Share of the observations in each state of each chain, (K, S)."""
        n_chains, n_states = self.starts.shape
        n = n_chains * n_states
        own = np.diagonal(self.together.reshape(n, n)).reshape(n_chains, -1)
        return own / max(float(self.observations), 1.0)


@dataclass(frozen=True)
class FactorialParameters:
    """The parameters phi.

    Attributes
    ----------
    start : ndarray, (K, S)
        Distribution of the first state of each chain.
    transitions : ndarray, (K, S, S)
        Row [k, a] is the distribution of the state of chain k after a.
    means : ndarray, (K, S, D)
        What each state of each chain contributes to the mean of an observation.
    covariance : ndarray, (D,) or (D, D)
        Variances of the noise, or its covariance.
    """

    start: Floats
    transitions: Floats
    means: Floats
    covariance: Floats

    def permuted(self, chains: NDArray[np.intp], states: NDArray[np.intp]) -> FactorialParameters:
        """Return the parameters with chains in another order (K,), and then the states of each, (K, S)."""
        k = np.arange(len(chains))[:, None]
        return FactorialParameters(
            self.start[chains][k, states],
            self.transitions[chains][k[:, :, None], states[:, :, None], states[:, None, :]],
            self.means[chains][k, states],
            self.covariance,
        )

    def centred(self, shares: Floats) -> tuple[Floats, FactorialParameters]:
        """Return an intercept (D,) and parameters whose chains have mean 0, given shares of states (K, S)."""
        own = np.einsum("ks,ksd->kd", shares, self.means)
        return own.sum(axis=0), replace(self, means=self.means - own[:, None])

    def to_arrays(self) -> dict[str, Floats]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in PARAMETERS}


PARAMETERS = tuple(field.name for field in fields(FactorialParameters))
"""The names of the parameters."""


def frozen_parameters(parameters: object) -> FactorialParameters:
    """Return a copy of parameters with read-only float arrays."""
    if not isinstance(parameters, FactorialParameters):
        raise PlaitError(Argument("initial"), f" must be FactorialParameters, got {short_repr(parameters)}")
    arrays = {name: check_numbers(f"initial.{name}", array) for name, array in parameters.to_arrays().items()}
    return FactorialParameters(**{name: frozen_copy(array) for name, array in arrays.items()})


@one_blas_thread
def simulate(
    parameters: FactorialParameters, offsets: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Draw states (T, K) and observations (T, D) of sequences given phi."""
    n_chains, _, n_features = parameters.means.shape
    n_times = int(offsets[-1])
    start, transitions = (cumulative_steps(rows) for rows in (parameters.start, parameters.transitions))
    states = np.empty((n_times, n_chains), np.int64)
    every = np.arange(n_chains)
    uniforms = rng.random((n_times, n_chains, 1))
    firsts = set(offsets[:-1].tolist())
    for t in range(n_times):
        steps = start if t in firsts else transitions[every, states[t - 1]]
        states[t] = (steps <= uniforms[t]).sum(axis=1)
    noise = rng.standard_normal((n_times, n_features))
    covariance = parameters.covariance
    if covariance.ndim == 2:
        noise = noise @ np.linalg.cholesky(covariance).T
    else:
        noise *= np.sqrt(covariance)
    return states, parameters.means[every, states].sum(axis=1) + noise
