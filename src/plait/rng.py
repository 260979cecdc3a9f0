"""Keyed random streams: (seed, sweep, path, unit) -> stream.

Every unit of work (a document, a sequence, a row of the parameters) opens a stream of its own, named by what
it is and not by who computes it. Results therefore do not depend on the number of threads or workers, and a
sweep can be repeated bit for bit from its key alone.

A stream is an array of two unsigned 64-bit words, the state of a xoroshiro128++ generator (Blackman and
Vigna, 2021). The four parts of the key are absorbed, one after another, by two independent chains of the
SplitMix64 finaliser, which fill the two words. With 128 bits of state, two streams of one run overlap with a
chance below 1e-15 even for 1e10 streams of 1e6 draws.

All functions here are kernels: they work inside other kernels and, more slowly, from Python.

    stream = new_stream()
    open_stream(stream, seed, sweep, path, unit)
    u = uniform(stream)
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


PARAMETERS: Final = 2**62
"""Stands for `path` in the key of streams that draw parameters, which belong to all paths."""

INITIAL: Final = 0
"""Stands for `sweep` in the key of streams that draw the first paths; sweeps are counted from 1."""

TINY: Final = 2.0**-40
"""Gamma numbers below this may be taken as zero: see `tiny_share`."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLY_A = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLY_B = np.uint64(0x94D049BB133111EB)
_FIRST_CHAIN = np.uint64(0x243F6A8885A308D3)
_SECOND_CHAIN = np.uint64(0x13198A2E03707344)
_ONE = np.uint64(1)
_TO_UNIT = 2.0**-52
_MAX_ATTEMPTS = 10_000  # rejection ends long before; the bound only stops a NaN from looping for ever


def new_stream() -> Stream:
    """Room for one stream, to be filled by `open_stream`."""
    return scratch(2, np.uint64)


def generator(seed: int, sweep: int, path: int, unit: int) -> np.random.Generator:
    """Return NumPy's generator for the stream named (seed, sweep, path, unit), for code that is no kernel.

    Its numbers are not those of `open_stream`: the two words of the stream are the key of Philox.
    """
    stream = new_stream()
    open_stream(stream, seed, sweep, path, unit)
    return np.random.Generator(np.random.Philox(key=stream))


@kernel
def mix(x):
    """Scramble 64 bits: the finaliser of SplitMix64, a bijection."""
    x = (x ^ (x >> np.uint64(30))) * _MULTIPLY_A
    x = (x ^ (x >> np.uint64(27))) * _MULTIPLY_B
    return x ^ (x >> np.uint64(31))


@kernel
def open_stream(stream, seed, sweep, path, unit):
    """Set `stream` to the start of the stream named (seed, sweep, path, unit)."""
    first = mix(np.uint64(seed) ^ _FIRST_CHAIN)
    second = mix(np.uint64(seed) ^ _SECOND_CHAIN)
    for part in (sweep, path, unit):
        step = (np.uint64(part) + _ONE) * _GOLDEN
        first = mix(first + step)
        second = mix(second ^ step)
    stream[0] = first
    stream[1] = second | _ONE if first == np.uint64(0) else second  # the state must not be all zeros


@kernel
def _turn(a, b):
    """Return 64 random bits and the next state of xoroshiro128++."""
    x = a + b
    bits = ((x << np.uint64(17)) | (x >> np.uint64(47))) + a
    b ^= a
    after = ((a << np.uint64(49)) | (a >> np.uint64(15))) ^ b ^ (b << np.uint64(21))
    return bits, after, (b << np.uint64(28)) | (b >> np.uint64(36))


@kernel
def _to_unit(bits):
    return (np.float64(bits >> np.uint64(12)) + 0.5) * _TO_UNIT


@kernel
def next_bits(stream):
    """64 random bits."""
    bits, stream[0], stream[1] = _turn(stream[0], stream[1])
    return bits


@kernel
def uniform(stream):
    """Return a number strictly between 0 and 1, one of 2**52 equally spaced ones."""
    return _to_unit(next_bits(stream))


@kernel
def uniform_of(streams, j):
    """Do `uniform(streams[j])`, without the cost of taking the row out of the array (n, 2)."""
    bits, streams[j, 0], streams[j, 1] = _turn(streams[j, 0], streams[j, 1])
    return _to_unit(bits)


@kernel
def integer(stream, n):
    """Return an integer from 0 to n - 1; the bias is below n / 2**52."""
    return np.int64(uniform(stream) * n)


@kernel
def normal(stream):
    """Return a standard normal number, by ratio of uniforms with Leva's (1992) bounds."""
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
    """Return a gamma number of unit scale for shape >= 1 (Marsaglia and Tsang, 2000)."""
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
def small_gamma(stream, shape, u):
    """Return a gamma number of unit scale for 0 < shape < 1 (Ahrens and Dieter's GS, 1974).

    `u` is the first of the uniform numbers that it is made from; see `tiny_share` for why it is given.
    """
    bound = 1.0 + shape / np.e
    for _ in range(_MAX_ATTEMPTS):
        p = bound * u
        v = uniform(stream)
        if p <= 1.0:
            x = np.exp(np.log(p) / shape)
            if v <= 1.0 - x or v <= np.exp(-x):
                return x
        else:
            x = -np.log((bound - p) / shape)
            if v <= x ** (shape - 1.0):
                return x
        u = uniform(stream)
    return np.nan


def tiny_share(shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the u below which `small_gamma` gives less than TINY; 0 for a shape of 1 and more.

    For a small shape most gamma numbers are far too small to matter: with shape 0.01, three of four are below
    TINY. Nearly all of those are known by their first uniform number alone: GS makes p**(1/shape) of it,
    p = u (1 + shape/e), and accepts that with probability exp(-p**(1/shape)), which is 1 to twelve digits.
    Next to a cell with a count, whose number is about 1, taking them as zero changes a probability by less
    than rounding it to single precision does.
    """
    return np.where(shape < 1.0, TINY**shape / (1.0 + shape / np.e), 0.0)


@kernel
def gamma(stream, shape):
    """Return a gamma number of unit scale for any shape > 0."""
    if shape < 1.0:
        return small_gamma(stream, shape, uniform(stream))
    return large_gamma(stream, shape)


@kernel
def log_gamma(stream, shape):
    """Return the logarithm of a gamma number of unit scale: finite for any shape > 0.

    A number of shape a < 1 is one of shape a + 1 times u^(1/a), which soon is too small for a real number.
    """
    if shape < 1.0:
        return np.log(large_gamma(stream, shape + 1.0)) + np.log(uniform(stream)) / shape
    return np.log(large_gamma(stream, shape))
