"""Which states the paths of a run confuse."""

from __future__ import annotations

from typing import Final

import numpy as np

from plait.arrays import Floats
from plait.errors import PlaitError
from plait.fitting.restarts import state_order
from plait.run import Run
from plait.threads import Threads

MOST_STATES: Final = 5000
"""Largest number of states; the matrix has 200 MB then."""

_SITES = 2**18  # per piece, so that memory stays small


def state_agreement(run: Run, *, n_jobs: int | Threads | None = None) -> Floats:
    """Return how often paths agree on each state, (S, S).

    Entry (s, r) is the probability that a second path has state r where a path has state s: over all sites
    and ordered pairs of different paths. Rows sum to 1, and the diagonal is the agreement. Rows of states
    that do not occur are NaN.

    Parameters
    ----------
    run : Run
        A run of any model but a factorial one, with at least two paths. States have the numbers under which
        they are shown.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    from scipy.sparse import csr_matrix

    paths, n_states = run.paths, int(run.model.n_states)
    if hasattr(run.model, "n_chains"):
        raise PlaitError("the states of a factorial model belong to chains: compare the paths chain by chain")
    if n_states > MOST_STATES:
        raise PlaitError(f"a matrix of {n_states} states is too large: {MOST_STATES} at most")
    if len(paths) < 2:
        raise PlaitError(f"agreement needs at least two paths, and the run has {len(paths)}: fit with more")
    pairs = np.zeros((n_states, n_states))
    for start in range(0, paths.shape[1], _SITES):
        piece = paths[:, start : start + _SITES]
        n = piece.shape[1]
        places = np.arange(n + 1) * len(paths)
        # Entry (i, s) counts the paths that have state s at site i.
        counts = csr_matrix((np.ones(piece.size), piece.T.ravel(), places), shape=(n, n_states))
        pairs += (counts.T @ counts).toarray()
        pairs -= np.diag(np.bincount(piece.ravel(), minlength=n_states))  # of paths with themselves
    if hasattr(run.model, "canonical_order"):
        order = state_order(run, run.parameters(n_jobs))
        pairs = pairs[np.ix_(order, order)]
    totals = pairs.sum(axis=1, keepdims=True)
    return np.divide(pairs, totals, out=np.full_like(pairs, np.nan), where=totals > 0)
