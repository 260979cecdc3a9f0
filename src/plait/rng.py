"""Keyed random streams: (seed, sweep, path, unit) -> stream.

Every unit of work (a document, a sequence, a row of the parameters) opens its own stream, whose key says
what is drawn, not which thread draws it. So results do not depend on the number of threads or workers, and a
sweep can be repeated bit for bit from its key alone.

A stream is an array of two unsigned 64-bit words, the state of a xoroshiro128++ generator (Blackman and
Vigna, 2021). The four parts of the key are absorbed, one after another, by two independent chains of the
SplitMix64 finaliser, which fill the two words. With 128 bits of state, two streams of one run overlap with
probability below 1e-15 even for 1e10 streams of 1e6 draws.

Most functions here are kernels: they work inside other kernels and, more slowly, from Python.

    stream = new_stream()
    open_stream(stream, seed, sweep, path, unit)
    u = uniform(stream)

Keys in use
-----------
Within one seed, no two uses may share a key. This is the table of all of them; a new use adds its line.

    sweep           path        what is drawn
    INITIAL         j           path j of the initial paths
    INITIAL         PARAMETERS  the parameters that the initial paths are drawn from, if any;
                                by `simulate`, the parameters of the simulated data (its seed is drawn);
                                unit 0: the order in which the search of a factorial HMM replaces chains,
                                and in which a progressive initialisation of LDA visits documents;
                                unit 1, seed 0: all random numbers of the search for anchor words of LDA
    1, 2, ...       j           path j in a sweep
    1, 2, ...       PARAMETERS  the parameters in a sweep
    1, 2, ...       COMPLETIONS the missing features of an observation, its components in mixtures, or its
                                weights if it has a t distribution, before the parameters
    SPLIT           0           the order of the tokens of a held-out document
    PARTICLES       j           particle j of the left-to-right estimate of a document's likelihood
    SURVIVORS       0           which of its particles are copied
    UNRELATED       j           topics that have nothing to do with those of run j, for comparison
    HELD_OUT        0           whether a document is held out when fits are compared
    FITS            j           the seeds of the fits that are compared: unit r is restart r of seed j
    from SEARCH on  both        sweeps of the search for initial paths of a factorial HMM: step s counts from
                                SEARCH + s SEARCH_STEP; with `initial` given there is no search, and the
                                sweeps that anneal its paths count from SEARCH + 1, and so do the sweeps
                                that draw initial paths of LDA given topics

The units, for path j:

    LDA                     the document; in inference, a hash of its words (equal documents share streams)
    LDA, power of m         the document (`paper/power.py`)
    held-out documents      a hash of its words, sorted (equal documents share streams)
    unrelated topics        the run that they are compared with
    HMM, blocked            2 k for sequence k, 2 k + 1 for the second half of a long one
    HMM, other samplers     the sequence
    mixture                 the first site of the range; 0 if collapsed
    Potts field             (range) (number of colours) + colour
    factorial HMM           the sequence
    PathModel               the part of the data; 0 if it has no parts (`generator`)

The unit, for COMPLETIONS, is the observation. The units, for PARAMETERS, with emissions from unit u on:

    LDA                     the word w, by its positions (`hash_position`) and then by the generator;
                            W + t for a topic t without tokens
    HMM                     0: start; 1 + s: transitions from state s; u = 1 + S
    mixture                 0: shares of the states; u = 1
    Potts field             u = 0
    factorial HMM           k: start of chain k; K + k S + s: its transitions from state s; K + K S: means of
                            all chains; the next two: covariance
    PathModel               0 (`generator`)
    emissions               categorical, multinomial: u + s; Bernoulli: u + row; Poisson: u;
                            Gaussian: u: means, u + 1: variances, or u + 1 + 2 s, u + 2 + 2 s: covariances;
                            families of independent columns: u, u + 1, u + 2;
                            mixtures of normal distributions: u + s: weights, from u + S on as Gaussian;
                            columns with families of their own: part k from u + 2^40 k on;
                            initial parameters: u, or u + s
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel
from plait.scratch import scratch

Stream = NDArray[np.uint64]


class Key(NamedTuple):
    """The part of a stream's key that a whole sweep shares; the last argument of every kernel that draws."""

    seed: int
    sweep: int


INITIAL: Final = 0
"""The `sweep` of streams that draw the initial paths; a run counts its sweeps from 1."""

SPLIT: Final = 2**60
"""The `sweep` of streams that shuffle held-out documents, far beyond those of any run, as are the next."""

PARTICLES: Final = 2**60 + 1
"""The `sweep` of streams that draw particles of the left-to-right estimate."""

SURVIVORS: Final = 2**60 + 2
"""The `sweep` of streams that choose the particles to be copied."""

UNRELATED: Final = 2**60 + 3
"""The `sweep` of streams that permute words to get unrelated topics."""

HELD_OUT: Final = 2**60 + 4
"""The `sweep` of streams that choose the documents to be held out."""

FITS: Final = 2**60 + 5
"""The `sweep` of streams that draw the seeds of fits that are compared."""

SEARCH: Final = 2**61
"""The first `sweep` of the search for initial paths of a factorial HMM, far beyond those of any run."""

SEARCH_STEP: Final = 2**20
"""Number of sweeps reserved for each step of that search."""

PARAMETERS: Final = 2**62
"""The `path` of streams that draw parameters, which belong to all paths."""

COMPLETIONS: Final = 2**62 + 1
"""The `path` of streams that draw missing features, for all paths one after another."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_A = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLY_B = np.uint64(0x94D049BB133111EB)
_FIRST_CHAIN = np.uint64(0x243F6A8885A308D3)
_SECOND_CHAIN = np.uint64(0x13198A2E03707344)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-52
_MAX_ATTEMPTS = 10_000  # never reached by rejection; keeps a NaN from causing an infinite loop


def new_stream() -> Stream:
    """Return a buffer for one stream, to be filled by `open_stream`."""
    return scratch(2, np.uint64)


def generator(seed: int, sweep: int, path: int, unit: int) -> np.random.Generator:
    """Return a NumPy generator keyed by (seed, sweep, path, unit), for code that is not a kernel.

    It does not produce the numbers of `open_stream` with the same key: the two words of that stream are the
    key of a Philox generator.
    """
    stream = new_stream()
    open_stream(stream, seed, sweep, path, unit)
    return np.random.Generator(np.random.Philox(key=stream))


@kernel
def mix(x):
    """Scramble 64 bits: the finaliser of SplitMix64, a bijection."""
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLY_A
    x = (x ^ (x >> np.uint64(27))) * MULTIPLY_B
    return x ^ (x >> np.uint64(31))


@kernel
def open_stream(stream, seed, sweep, path, unit):
    """Set `stream` to the start of the stream with the key (seed, sweep, path, unit)."""
    first = mix(np.uint64(seed) ^ _FIRST_CHAIN)
    second = mix(np.uint64(seed) ^ _SECOND_CHAIN)
    for part in (sweep, path, unit):
        step = (np.uint64(part) + _ONE) * GOLDEN
        first = mix(first + step)
        second = mix(second ^ step)
    stream[0] = first
    stream[1] = second | _ONE if first == np.uint64(0) else second  # the state must not be all zeros


@kernel
def turn(a, b):
    """Return 64 random bits and the next state of xoroshiro128++."""
    x = a + b
    bits = ((x << np.uint64(17)) | (x >> np.uint64(47))) + a
    b ^= a
    after = ((a << np.uint64(49)) | (a >> np.uint64(15))) ^ b ^ (b << np.uint64(21))
    return bits, after, (b << np.uint64(28)) | (b >> np.uint64(36))


@kernel
def to_unit(bits):
    """Return the uniform variate of 64 random bits, see `uniform`."""
    return (np.float64(bits >> np.uint64(12)) + 0.5) * _TO_UNIT


@kernel
def next_bits(stream):
    """Return 64 random bits."""
    bits, stream[0], stream[1] = turn(stream[0], stream[1])
    return bits


@kernel
def uniform(stream):
    """Return a uniform variate strictly between 0 and 1, one of 2**52 equally spaced values."""
    return to_unit(next_bits(stream))


@kernel
def uniform_of(streams, j):
    """Return `uniform(streams[j])`, without the cost of taking the row out of the array (n, 2)."""
    bits, streams[j, 0], streams[j, 1] = turn(streams[j, 0], streams[j, 1])
    return to_unit(bits)


@kernel
def hash_position(first, second, k):
    """Return 64 random bits for the position k of a stream.

    They depend on the two words of an opened stream and on k alone, so that those of many positions can be
    computed side by side. It is the finaliser of SplitMix64 with one of its multipliers replaced by a word of
    the key.
    """
    x = first + (k + _ONE) * GOLDEN
    x = (x ^ (x >> np.uint64(30))) * (second | _ONE)
    x = (x ^ (x >> np.uint64(27))) * MULTIPLY_B
    return x ^ (x >> np.uint64(31))


@kernel
def to_pair(bits):
    """Return two uniform variates of 64 random bits, with steps of 2**-40 and 2**-24."""
    u = (np.float64(np.int64(bits >> np.uint64(24))) + 0.5) * 2.0**-40
    v = (np.float64(np.int64(bits & np.uint64(0xFFFFFF))) + 0.5) * 2.0**-24
    return u, v


def bits_of(u: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the least random bits of which `to_pair` makes a first variate of at least about u (below 1)."""
    return np.floor(u * 2.0**40).astype(np.uint64) << np.uint64(24)


@kernel
def integer(stream, n):
    """Return an integer from 0 to n - 1; the bias is below n / 2**52."""
    return np.int64(uniform(stream) * n)


@kernel
def normal(stream):
    """Return a standard normal variate, by ratio of uniforms with Leva's (1992) bounds."""
    for _ in range(_MAX_ATTEMPTS):
        u = uniform(stream)
        v = 1.7156 * (uniform(stream) - 0.5)
        x = u - 0.449871
        y = abs(v) + 0.386595
        q = x * x + y * (0.19600 * y - 0.25472 * x)
        if q < 0.27597 or (q < 0.27846 and v * v < -4.0 * np.log(u) * u * u):
            return v / u
    return np.nan


@kernel
def large_gamma(stream, shape):
    """Return a gamma variate of unit scale for shape >= 1 (Marsaglia and Tsang, 2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    for _ in range(_MAX_ATTEMPTS):
        x = normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(stream)
        xx = x * x
        if u < 1.0 - 0.0331 * xx * xx or np.log(u) < 0.5 * xx + d * (1.0 - v + np.log(v)):
            return d * v
    return np.nan


@kernel
def large_gamma_from(stream, shape, x, u):
    """Return `large_gamma`, whose first attempt uses the normal variate x and the uniform variate u."""
    d = shape - 1.0 / 3.0
    v = 1.0 + x / np.sqrt(9.0 * d)
    if v > 0.0:
        v = v * v * v
        if np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
            return d * v
    return large_gamma(stream, shape)


@kernel
def small_gamma(stream, shape, u, v):
    """Return a gamma variate of unit scale for 0 < shape < 1 (Ahrens and Dieter's GS, 1974).

    `u` and `v` are the first uniform variates that it uses. The caller draws them, because they nearly always
    suffice: see `plait.kernels.gammas`.
    """
    bound = 1.0 + shape / np.e
    for _ in range(_MAX_ATTEMPTS):
        p = bound * u
        if p <= 1.0:
            x = np.exp(np.log(p) / shape)
            if v <= 1.0 - x or v <= np.exp(-x):
                return x
        else:
            x = -np.log((bound - p) / shape)
            if v <= x ** (shape - 1.0):
                return x
        u = uniform(stream)
        v = uniform(stream)
    return np.nan


@kernel
def gamma(stream, shape):
    """Return a gamma variate of unit scale for any shape > 0."""
    if shape < 1.0:
        return small_gamma(stream, shape, uniform(stream), uniform(stream))
    return large_gamma(stream, shape)


@kernel
def log_gamma(stream, shape):
    """Return the logarithm of a gamma variate of unit scale: finite for any shape > 0.

    A variate of shape a < 1 is one of shape a + 1 times u^(1/a), which underflows for small a.
    """
    if shape < 1.0:
        return np.log(large_gamma(stream, shape + 1.0)) + np.log(uniform(stream)) / shape
    return np.log(large_gamma(stream, shape))
