"""Kernels of the collapsed sampler for mixtures (Algorithm 2): phi is integrated out.

With all counts taken without site i of path j, the weight of state s is

    (n_s + prior_s)  P(w_i | the other observations of state s, in all paths).

The last factor, the predictive density, depends on the kind of emissions:

    POISSON     negative binomial, for each feature
    BERNOULLI   (count + a) / (n + a + b), for each feature
    DIAGONAL    Student's t, for each feature
    SPHERICAL   multivariate t with one variance for all features
    FULL        multivariate t

Sums over the observations of each state are those of `plait.kernels.emissions`. The values that a predictive
density needs are cached, one row per state, and recomputed when an observation enters or leaves the state.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.kernels.choice import choose
from plait.kernels.emissions import add_observation
from plait.rng import open_stream, uniform_of

Floats = NDArray[np.float64]

POISSON, BERNOULLI, DIAGONAL, SPHERICAL, FULL = range(5)


class Observations(NamedTuple):
    """Observations that are numbers."""

    values: Floats
    """(N, D); NaN in all features where an observation is missing."""

    centre: Floats
    """(D,), subtracted from the values before they are summed."""


class Documents(NamedTuple):
    """Observations that are documents: document i holds `words[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    """(N + 1,)"""

    words: NDArray[np.int32]
    """Word ids of all documents, each word once per document."""

    numbers: Floats
    """How often each of these words occurs in its document."""


class Counts(NamedTuple):
    """Sufficient statistics of all paths, which the sampler keeps up to date."""

    states: Floats
    """(S,): number of sites in each state."""

    emissions: Floats
    """Sums over the observations of each state, one row per state; for documents, words (W, S)."""


class Priors(NamedTuple):
    """The priors of phi."""

    shares: Floats
    """(S,): Dirichlet prior of the shares."""

    emissions: Floats
    """One row per state: for POISSON shapes and rates, for BERNOULLI a and b, for normal emissions weight,
    degrees of freedom, means (relative to the centre) and scale."""


class DocumentPriors(NamedTuple):
    """The priors of phi for documents."""

    shares: Floats
    """(S,): Dirichlet prior of the shares."""

    words: Floats
    """(W, S): Dirichlet priors of the words."""

    word_sums: Floats
    """(S,): their sums over words."""


class Scratch(NamedTuple):
    """Scratch buffers for observations that are numbers."""

    streams: NDArray[np.uint64]
    """(m, 2): a random stream for each path."""

    weights: Floats
    """(S,): weights of the states of a site."""

    cache: Floats
    """(S, `cache_size`): cached values for the predictive densities."""

    buffer: Floats
    """(D,): a whitened observation."""


class DocumentScratch(NamedTuple):
    """Scratch buffers for documents."""

    streams: NDArray[np.uint64]
    """(m, 2): a random stream for each path."""

    weights: Floats
    """(S,): weights of the states of a document."""

    totals: Floats
    """(S,): number of words in each state."""


def cache_size(kind: int, n_features: int) -> int:
    """Return the number of columns of the cache."""
    return {
        POISSON: 3 * n_features,
        BERNOULLI: 2 * n_features,
        DIAGONAL: 2 + 2 * n_features,
        SPHERICAL: 3 + n_features,
        FULL: 3 + n_features + n_features**2,
    }[kind]


@kernel
def _refresh(kind, s, sums, prior, cache):
    """Recompute the cached row of state s."""
    n = sums[s, 0]
    if kind == POISSON:
        n_features = prior.shape[1] // 2
        for d in range(n_features):
            shape = prior[s, d] + sums[s, 1 + d]
            rate = prior[s, n_features + d] + n
            cache[s, 3 * d] = shape
            cache[s, 3 * d + 1] = shape * (np.log(rate) - np.log1p(rate)) - math.lgamma(shape)
            cache[s, 3 * d + 2] = -np.log1p(rate)
        return
    if kind == BERNOULLI:
        n_features = prior.shape[1] // 2
        for d in range(n_features):
            yes = prior[s, d] + sums[s, 1 + d]
            no = prior[s, n_features + d] + (n - sums[s, 1 + d])
            cache[s, 2 * d] = np.log(yes / (yes + no))
            cache[s, 2 * d + 1] = np.log(no / (yes + no))
        return
    n_features = (sums.shape[1] - 1) // 2
    if kind == FULL:
        n_features = int(np.rint(np.sqrt(sums.shape[1] - 0.75) - 0.5))  # sums has 1 + D + D D columns
    weight = prior[s, 0] + n
    widening = (weight + 1.0) / weight
    if kind == FULL:
        _refresh_full(s, n, weight, widening, n_features, sums, prior, cache)
        return
    total = 0.0
    for d in range(n_features):
        own = prior[s, 2 + d]
        mean = (prior[s, 0] * own + sums[s, 1 + d]) / weight
        scatter = sums[s, 1 + n_features + d] + prior[s, 0] * own * own - weight * mean * mean
        scatter = max(scatter, 0.0)
        if kind == DIAGONAL:
            cache[s, 2 + 2 * d] = mean
            cache[s, 3 + 2 * d] = 1.0 / (widening * (prior[s, 2 + n_features + d] + scatter))
            total += np.log(cache[s, 3 + 2 * d])
        else:
            cache[s, 3 + d] = mean
            total += scatter
    if kind == DIAGONAL:
        degrees = prior[s, 1] + n
        each = math.lgamma(0.5 * (degrees + 1.0)) - math.lgamma(0.5 * degrees) - 0.5 * np.log(np.pi)
        cache[s, 0] = n_features * each + 0.5 * total
        cache[s, 1] = 0.5 * (degrees + 1.0)
    else:
        degrees = prior[s, 1] + n * n_features
        cache[s, 2] = 1.0 / (widening * (prior[s, 2 + n_features] + total))
        each = math.lgamma(0.5 * (degrees + n_features)) - math.lgamma(0.5 * degrees)
        cache[s, 0] = each + 0.5 * n_features * np.log(cache[s, 2] / np.pi)
        cache[s, 1] = 0.5 * (degrees + n_features)


@kernel
def _refresh_full(s, n, weight, widening, n_features, sums, prior, cache):
    """Recompute the cached row of state s for FULL: the mean, and the Cholesky factor of the scale."""
    factor = 3 + n_features
    for d in range(n_features):
        cache[s, 3 + d] = (prior[s, 0] * prior[s, 2 + d] + sums[s, 1 + d]) / weight
    log_root = 0.0
    for d in range(n_features):
        for e in range(d + 1):
            x = prior[s, 2 + n_features + d * n_features + e] + sums[s, 1 + n_features + d * n_features + e]
            x += prior[s, 0] * prior[s, 2 + d] * prior[s, 2 + e] - weight * cache[s, 3 + d] * cache[s, 3 + e]
            for f in range(e):
                x -= cache[s, factor + d * n_features + f] * cache[s, factor + e * n_features + f]
            if d == e:
                x = np.sqrt(max(x, 1e-300))
                log_root += np.log(x)
                cache[s, factor + d * n_features + d] = x
            else:
                cache[s, factor + d * n_features + e] = x / cache[s, factor + e * n_features + e]
    degrees = prior[s, 1] + n - n_features + 1.0
    each = math.lgamma(0.5 * (degrees + n_features)) - math.lgamma(0.5 * degrees)
    cache[s, 0] = each - 0.5 * n_features * np.log(np.pi * widening) - log_root
    cache[s, 1] = 0.5 * (degrees + n_features)
    cache[s, 2] = 1.0 / widening


@kernel
def _log_predictive(kind, s, values, i, centre, cache, buffer):
    """Return the log predictive density of observation i in state s, up to a constant for all states."""
    n_features = values.shape[1]
    total = 0.0
    if kind == POISSON:
        for d in range(n_features):
            x = values[i, d]
            total += cache[s, 3 * d + 1] + x * cache[s, 3 * d + 2] + math.lgamma(cache[s, 3 * d] + x)
        return total
    if kind == BERNOULLI:
        for d in range(n_features):
            total += cache[s, 2 * d] if values[i, d] > 0.5 else cache[s, 2 * d + 1]
        return total
    if kind == DIAGONAL:
        for d in range(n_features):
            x = values[i, d] - centre[d] - cache[s, 2 + 2 * d]
            total += np.log1p(x * x * cache[s, 3 + 2 * d])
        return cache[s, 0] - cache[s, 1] * total
    if kind == SPHERICAL:
        for d in range(n_features):
            x = values[i, d] - centre[d] - cache[s, 3 + d]
            total += x * x
    else:
        factor = 3 + n_features
        for d in range(n_features):
            x = values[i, d] - centre[d] - cache[s, 3 + d]
            for e in range(d):
                x -= cache[s, factor + d * n_features + e] * buffer[e]
            buffer[d] = x / cache[s, factor + d * n_features + d]
            total += buffer[d] * buffer[d]
    return cache[s, 0] - cache[s, 1] * np.log1p(total * cache[s, 2])


@kernel
def resample_numbers(kind, observations, paths, counts, priors, scratch, key):
    """Algorithm 2 for observations that are numbers: draw every p^j_i given all other latent variables.

    `counts` match `paths` on entry and on return.
    """
    values, centre = observations
    states, sums = counts
    share_prior, prior = priors
    streams, weights, cache, buffer = scratch
    n_states = states.size
    for j in range(paths.shape[0]):
        open_stream(streams[j], key.seed, key.sweep, j, 0)
    for s in range(n_states):
        _refresh(kind, s, sums, prior, cache)
    for i in range(values.shape[0]):
        seen = values[i, 0] == values[i, 0]
        for j in range(paths.shape[0]):
            old = np.int64(paths[j, i])
            states[old] -= 1.0
            if seen:
                add_observation(-1.0, values, i, centre, old, sums)
                _refresh(kind, old, sums, prior, cache)
            top = -np.inf
            for s in range(n_states):
                weights[s] = np.log(states[s] + share_prior[s])
                if seen:
                    weights[s] += _log_predictive(kind, s, values, i, centre, cache, buffer)
                top = max(top, weights[s])
            total = 0.0
            for s in range(n_states):
                weights[s] = np.exp(weights[s] - top)
                total += weights[s]
            new = choose(weights, total, uniform_of(streams, j))
            paths[j, i] = new
            states[new] += 1.0
            if seen:
                add_observation(1.0, values, i, centre, new, sums)
                _refresh(kind, new, sums, prior, cache)


@kernel
def resample_documents(documents, paths, counts, priors, scratch, key):
    """Algorithm 2 for documents: the predictive density is Dirichlet-multinomial.

    `counts` match `paths` on entry and on return.
    """
    offsets, words, numbers = documents
    states, in_state = counts
    share_prior, prior, prior_sums = priors
    streams, weights, totals = scratch
    n_states = states.size
    for j in range(paths.shape[0]):
        open_stream(streams[j], key.seed, key.sweep, j, 0)
    for s in range(n_states):
        totals[s] = 0.0
        for w in range(in_state.shape[0]):
            totals[s] += in_state[w, s]
    for i in range(offsets.size - 1):
        first, last = offsets[i], offsets[i + 1]
        length = 0.0
        for k in range(first, last):
            length += numbers[k]
        for j in range(paths.shape[0]):
            old = np.int64(paths[j, i])
            states[old] -= 1.0
            totals[old] -= length
            for k in range(first, last):
                in_state[words[k], old] -= numbers[k]
            for s in range(n_states):
                weights[s] = np.log(states[s] + share_prior[s])
                weights[s] += _log_rising(totals[s] + prior_sums[s], length, -1.0)
            for k in range(first, last):
                for s in range(n_states):
                    weights[s] += _log_rising(in_state[words[k], s] + prior[words[k], s], numbers[k], 1.0)
            top = -np.inf
            for s in range(n_states):
                top = max(top, weights[s])
            total = 0.0
            for s in range(n_states):
                weights[s] = np.exp(weights[s] - top)
                total += weights[s]
            new = choose(weights, total, uniform_of(streams, j))
            paths[j, i] = new
            states[new] += 1.0
            totals[new] += length
            for k in range(first, last):
                in_state[words[k], new] += numbers[k]


@kernel
def _log_rising(x, n, sign):
    """Return sign times log x (x + 1) ... (x + n - 1)."""
    if n == 1.0:
        return sign * np.log(x)
    return sign * (math.lgamma(x + n) - math.lgamma(x))
