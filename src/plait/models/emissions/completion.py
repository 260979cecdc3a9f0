"""Observations that are missing in part, where the features of a state depend on each other.

Given a state, the density of a row is that of its observed entries x_o, which needs no more than the
covariance of these. Parameters are another matter: with normal features that depend on each other, the
posterior of means and covariances given states and x_o is conjugate only if the missing entries x_m are known
as well.

So the sampler draws them. The distribution P(phi) prod_j P(p^j, x_o | phi) of Algorithm 1 is extended by the
missing entries of each path,

    P(phi)  prod_j P(p^j, x_o | phi) P(x_m^j | p^j, x_o, phi),

whose factors after P(phi) are the densities of complete data. A sweep draws, each exactly,

    x_m^j  given the states of path j, x_o and phi          normal; see `plait.kernels.completions`
    phi    given all paths and their complete data          conjugate, as without missing entries
    p^j    given x_o and phi, with x_m^j integrated out     the blocked or single-site sampler

and forgets x_m^j. Integrating x_m^j out leaves the distribution of the other samplers, for any m. The first
draw needs phi of the sweep before, so a run keeps that.

EM takes the expectations of x_m and x_m x_m' given state, x_o and phi instead of the draws; each iteration
raises the posterior as ever, because x_m is a latent variable like the states.
"""

from __future__ import annotations

import numpy as np

from plait.arrays import Floats, frozen_copy
from plait.data.sequences import Sequences
from plait.kernels import completions as kernels
from plait.models.model import Key, Paths
from plait.scratch import scratch


class Completion:
    """Completes the rows of sequences that are missing in part, given normal distributions.

    Parameters
    ----------
    sequences : Sequences
        The data.
    centre : ndarray, (D,)
        What is subtracted before sums are taken.
    """

    def __init__(self, sequences: Sequences, centre: Floats) -> None:
        self._data = sequences.values, centre
        self._patterns = kernels.patterns_of(sequences.values, np.flatnonzero(sequences.partly_missing))
        self.whole: Floats = frozen_copy(
            np.where(sequences.partly_missing[:, None], np.nan, sequences.values)
        )
        """The data without these rows."""

    def set_logs(self, first: int, last: int, normals: kernels.Normals, logs: Floats) -> None:
        """Set rows of `logs` (n, S) to the log-densities of what is observed; row 0 is the site `first`."""
        values, _ = self._data
        kernels.log_partly(first, last, self._patterns, values, normals, _scratch(normals), logs)

    def drawn(self, first: int, last: int, paths: Paths, normals: kernels.Normals, key: Key) -> Floats:
        """Return the sums over the rows, completed by a draw for each path."""
        sums, work = _sums(normals), (self._patterns, self._data, paths, normals)
        kernels.add_drawn(first, last, *work, _scratch(normals), sums, key)
        return sums

    def expected(self, first: int, last: int, posteriors: Floats, normals: kernels.Normals) -> Floats:
        """Return the expected sums over the rows; row 0 of the posteriors is the site `first`."""
        sums, work = _sums(normals), (self._patterns, self._data, posteriors, normals)
        kernels.add_expected(first, last, *work, _scratch(normals), sums)
        return sums


def _sums(normals: kernels.Normals) -> Floats:
    n_states, n_features = normals.means.shape
    return scratch((n_states, 1 + n_features + n_features**2))


def _scratch(normals: kernels.Normals) -> kernels.Scratch:
    n_features = normals.means.shape[1]
    return kernels.Scratch(np.empty(normals.covariances.shape), np.empty(n_features), np.empty(n_features))
