"""Paths and likelihoods given phi: chains in blocks, each a small hidden Markov model of the residuals.

Given phi, paths are independent of each other, and so are sequences: each draws from a stream of its own. See
`plait.kernels.factorial`.
"""

from __future__ import annotations

import numpy as np

from plait.arrays import Floats
from plait.blas import one_blas_thread
from plait.errors import PlaitError
from plait.kernels import factorial as kernels
from plait.kernels.chains import size_of
from plait.kernels.factorial import Chains, Data, Effects, Noise, Scratch
from plait.models.emissions.gaussian import NormalParameters
from plait.models.factorial.parameters import FactorialParameters
from plait.models.factorial.priors import covariance_form
from plait.models.model import Key, Paths
from plait.scratch import scratch
from plait.threads import Range, Threads

_MOST_TOGETHER = 64  # joint states of the chains in a block
_FORBIDDEN = 1e-200  # a state lost to underflow is not recovered by a transition less probable than this


def chains_together(n_chains: int, n_states: int) -> int:
    """Return the number of chains in a block.

    A block has as many chains as possible with at most 64 joint states; the blocks are then balanced in size.
    """
    most = 1
    while most < n_chains and n_states ** (most + 1) <= _MOST_TOGETHER:
        most += 1
    n_blocks = -(-n_chains // most)
    return -(-n_chains // n_blocks)


def resample(
    data: Data, ranges: list[Range], paths: Paths, parameters: FactorialParameters, key: Key, threads: Threads
) -> int:
    """Draw all paths given phi; return the first sequence that has probability 0, or -1.

    Each thread needs n + D numbers of 8 bytes for every time of its longest sequence, where n is the
    number of joint states of a block: at most 64, or S if that is more.
    """
    n_chains, n_states, _ = parameters.means.shape
    n_together = chains_together(n_chains, n_states)
    effects, _ = effects_of(parameters, data.centre)
    chains = chains_of(parameters, n_together)
    pieces = [(bounds, j) for bounds in ranges for j in range(len(paths))]

    def draw(piece: int, _: int) -> int:
        (first, last), j = pieces[piece]
        longest = _longest(data, first, last)
        scratches = _scratches(longest, longest, n_states**n_together, parameters, len(paths))
        impossible: int = kernels.resample_blocks(
            first, last, j, n_together, data, chains, effects, paths, scratches, key
        )
        return impossible

    found = threads.map(draw, [(piece, piece + 1) for piece in range(len(pieces))])
    return next((q for q in found if q >= 0), -1)


def log_joint(
    data: Data, ranges: list[Range], paths: Paths, parameters: FactorialParameters, threads: Threads
) -> Floats:
    """Return log P(p^j, w | phi) for every path."""
    effects, noise = effects_of(parameters, data.centre)
    chains = _log_chains(parameters)._replace(size=())  # compiled once for all numbers of states

    def add(first: int, last: int) -> Floats:
        sums = scratch(len(paths))
        residual = scratch((1, len(data.centre)))
        kernels.log_joints(first, last, data, chains, effects, noise, paths, residual, sums)
        return sums

    return np.sum(threads.map(add, ranges), axis=0)


def log_likelihoods(
    data: Data, ranges: list[Range], parameters: FactorialParameters, threads: Threads
) -> Floats:
    """Return log P(w | phi) of each sequence, by the forward recursion over all joint states."""
    n_chains, n_states, _ = parameters.means.shape
    effects, noise = effects_of(parameters, data.centre)
    chains = chains_of(parameters, n_chains)
    likelihoods = np.empty(len(data.offsets) - 1)

    def score(first: int, last: int) -> None:
        longest = _longest(data, first, last)
        scratches = _scratches(longest, 2, n_states**n_chains, parameters, 1)
        kernels.log_likelihoods(first, last, data, chains, effects, noise, likelihoods[first:last], scratches)

    threads.map(score, ranges)
    return likelihoods


def _longest(data: Data, first: int, last: int) -> int:
    return int(np.diff(data.offsets[first : last + 1]).max())


def _scratches(
    longest: int, n_messages: int, n_joint: int, parameters: FactorialParameters, n_paths: int
) -> Scratch:
    n_chains, _, n_features = parameters.means.shape
    return Scratch(
        residuals=scratch((longest, n_features)),
        messages=scratch((n_messages, n_joint)),
        squares=scratch(n_joint),
        buffer=scratch((2, n_joint)),
        order=scratch(n_chains, np.int64),
        streams=scratch((n_paths, 2), np.uint64),
    )


@one_blas_thread
def effects_of(parameters: FactorialParameters, centre: Floats) -> tuple[Effects, Noise]:
    """Return means and covariance in the form that kernels take; `centre` is the mean of the data."""
    n_chains, n_states, n_features = parameters.means.shape
    is_matrix = parameters.covariance.ndim == 2
    normal = NormalParameters(
        np.zeros((1, n_features)), parameters.covariance, covariance_form(parameters.covariance)
    )
    try:
        whitening, constants = normal.whitening
    except np.linalg.LinAlgError:
        raise PlaitError(
            "the covariance is singular: increase its prior, or drop features that depend on each other"
        ) from None
    # One memory layout for all arrays, so that kernels are compiled once.
    means = np.subtract(parameters.means, centre / n_chains, order="C")
    own = np.array(whitening[0])
    # C^-1 is W'W: squares of whitened means cannot be negative.
    white = (means @ own.T if is_matrix else means * own).reshape(-1, n_features)
    duals = (white @ own if is_matrix else white * own).reshape(means.shape)
    products = (white @ white.T).reshape(n_chains, n_states, n_chains, n_states)
    return Effects(means, duals, products), Noise(own, float(constants[0]))


def chains_of(parameters: FactorialParameters, n_together: int) -> Chains:
    """Return start and transitions, in logarithms if a message might lose states to underflow.

    A state that is far less likely than all others underflows in a message. Usually it regains weight through
    transitions from the others; but if these are forbidden, it is lost although it might be the right one.
    """
    if parameters.transitions.min() ** n_together < _FORBIDDEN:
        return _log_chains(parameters)
    # `initial` is read-only, and kernels would be compiled a second time for read-only arrays.
    start, transitions = (
        np.require(array, requirements=["C", "W"]) for array in (parameters.start, parameters.transitions)
    )
    return Chains(size_of(start.shape[1]), start, transitions, False)


def _log_chains(parameters: FactorialParameters) -> Chains:
    with np.errstate(divide="ignore"):
        start, transitions = (
            np.log(array, order="C") for array in (parameters.start, parameters.transitions)
        )
    return Chains(size_of(start.shape[1]), start, transitions, True)
