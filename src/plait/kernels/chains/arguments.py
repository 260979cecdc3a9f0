"""Named tuples that the kernels of chains take.

Besides these, most kernels take `offsets` (sequence k holds the sites offsets[k] to offsets[k + 1]) and
`size`, see `plait.kernels.chains.states`. S is the number of states, m that of paths, N that of sites.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class ChainProbabilities(NamedTuple):
    """Start and transition probabilities; their logarithms, for kernels that work in logarithms.

    Attributes
    ----------
    start : ndarray, (S,)
        Distribution of the first state.
    transitions : ndarray, (S, S)
        Row a is the distribution of the state after a.
    transposed : ndarray, (S, S)
        The transposed matrix.
    """

    start: Floats
    transitions: Floats
    transposed: Floats


class EmissionWeights(NamedTuple):
    """The probabilities b_i(s) of the observation at site i in state s, in one of two forms.

        logs = False   b_i(s) = weights[rows[i], s]: one row per symbol, the last for missing observations
        logs = True    log b_i(s) = weights[i - base, s]: one row per site

    Kernels that take all of phi in logarithms take `weights` in logarithms in both forms.

    Attributes
    ----------
    rows : ndarray of int32, (N,)
        The row of each site; empty if `logs`.
    weights : ndarray
        The table.
    logs : bool
        Whether the weights are logarithms: the form.
    base : int
        The site of row 0; not used unless `logs`.
    """

    rows: NDArray[np.int32]
    weights: Floats
    logs: bool
    base: int


class Messages(NamedTuple):
    """Messages, one row per site. The array may be that of the emission weights if these are `logs`.

    Attributes
    ----------
    values : ndarray, (n, S)
        The messages.
    base : int
        The site of row 0.
    """

    values: Floats
    base: int


class Neighbours(NamedTuple):
    """Transitions with one more row for sites that lack a neighbour.

    Attributes
    ----------
    before : ndarray, (S + 1, S)
        Row a weighs the states that follow a; the last row, for first sites, is the start distribution.
    after : ndarray, (S + 1, S)
        Row c weighs the states that come before c; the last row, for last sites, is all ones.
    """

    before: Floats
    after: Floats


class ExpectedCounts(NamedTuple):
    """Output of the E step, over a range of n sequences; zeros on entry.

    Attributes
    ----------
    starts : ndarray, (S,)
        Sum of P(p_i | w) over the first sites.
    pairs : ndarray, (S, S)
        Sum of P(p_i, p_i+1 | w).
    likelihoods : ndarray, (n,)
        Log-likelihood of each sequence.
    """

    starts: Floats
    pairs: Floats
    likelihoods: Floats


class CollapsedCounts(NamedTuple):
    """Counts of all paths together, as floats that hold whole numbers.

    Attributes
    ----------
    starts : ndarray, (S,)
        How often a sequence starts in each state.
    pairs : ndarray, (S, S)
        How often state r follows state s.
    symbols : ndarray, (W + 1, S)
        How often each symbol occurs in each state; the last row counts missing observations.
    """

    starts: Floats
    pairs: Floats
    symbols: Floats


class CollapsedPriors(NamedTuple):
    """Dirichlet priors of the counts, and their sums.

    Attributes
    ----------
    starts, pairs, symbols : ndarray, (S,), (S, S) and (W, S)
        The priors.
    pair_sums, symbol_sums : ndarray, (S,)
        Sums of the priors of each state over the states that follow and over symbols.
    """

    starts: Floats
    pairs: Floats
    symbols: Floats
    pair_sums: Floats
    symbol_sums: Floats


class DrawScratch(NamedTuple):
    """Scratch buffers of kernels that draw m paths.

    Attributes
    ----------
    streams : ndarray of uint64, (m, 2)
        A random stream per path.
    states : ndarray of int64, (m,)
        A state per path.
    rows : ndarray, (4, S); for the collapsed sampler (4 + 2 S, S)
        Weights of states.
    """

    streams: NDArray[np.uint64]
    states: NDArray[np.int64]
    rows: Floats


class Span(NamedTuple):
    """The sites `first` to `last` of a sequence, and the site `meet` where messages from both ends meet."""

    first: int
    meet: int
    last: int
    sequence: int
