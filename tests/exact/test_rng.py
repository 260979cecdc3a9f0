"""Keyed streams: neighbouring keys give independent variates, which follow the distributions they should.

Helpers are not cached: Numba's cache does not notice changes in the functions that they call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import special, stats
from support import LEAST_P, SCALES, assert_fits, assert_small

from plait.rng import (
    INITIAL,
    PARAMETERS,
    SEARCH,
    SEARCH_STEP,
    gamma,
    hash_position,
    integer,
    large_gamma,
    mix,
    new_stream,
    next_bits,
    normal,
    open_stream,
    small_gamma,
    to_pair,
    uniform,
)

PARTS = ["seed", "sweep", "path", "unit"]
ALL_ONES = 2**64 - 1


@njit
def fill_bits(keys, bits):
    """Fill `bits` (n, k) with the first numbers of the stream of every key (n, 4)."""
    stream = np.zeros(2, np.uint64)
    for i in range(keys.shape[0]):
        open_stream(stream, keys[i, 0], keys[i, 1], keys[i, 2], keys[i, 3])
        for k in range(bits.shape[1]):
            bits[i, k] = next_bits(stream)


@njit
def fill_states(keys, states):
    for i in range(keys.shape[0]):
        open_stream(states[i], keys[i, 0], keys[i, 1], keys[i, 2], keys[i, 3])


@njit
def fill_pairs(keys, pairs):
    """Fill `pairs` (n, k, 2) with the variates of the first k positions of the stream of every key (n, 4)."""
    stream = np.zeros(2, np.uint64)
    for i in range(keys.shape[0]):
        open_stream(stream, keys[i, 0], keys[i, 1], keys[i, 2], keys[i, 3])
        for k in range(pairs.shape[1]):
            pairs[i, k, 0], pairs[i, k, 1] = to_pair(hash_position(stream[0], stream[1], np.uint64(k)))


@njit
def fill_variates(kind, shape, per_stream, variates):
    """Draw uniform (0), normal (1) or gamma (2) variates, `per_stream` from each stream."""
    stream = np.zeros(2, np.uint64)
    for i in range(variates.size):
        if i % per_stream == 0:
            open_stream(stream, 5, 1, 0, i)
        if kind == 0:
            variates[i] = uniform(stream)
        elif kind == 1:
            variates[i] = normal(stream)
        else:
            variates[i] = gamma(stream, shape)


def neighbours(part: str, n: int, *, at: tuple[int, int, int, int] = (3, 7, 0, 11)) -> NDArray[np.int64]:
    """Return keys that differ in one part only, which counts up from 0."""
    keys = np.tile(np.array(at, np.int64), (n, 1))
    keys[:, PARTS.index(part)] = np.arange(n)
    return keys


def bits_of(keys: NDArray[np.int64], k: int = 1) -> NDArray[np.uint64]:
    bits = np.empty((len(keys), k), np.uint64)
    fill_bits(keys, bits)
    return bits


def variates_of(kind: int, n: int, *, shape: float = 1.0, per_stream: int = 1) -> Any:
    variates = np.empty(n)
    fill_variates(kind, shape, per_stream, variates)
    return variates


def as_unit(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    return (bits >> np.uint64(12)).astype(float) * 2.0**-52


# ---------------------------------------------------------------------------------------------------------
# Keys
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("part", PARTS)
def test_first_draws_are_uniform_across_neighbouring_keys(part: str, scale: int) -> None:
    bits = bits_of(neighbours(part, 100_000 * scale), 3)
    for k in range(3):
        for shift in (56, 28, 0):  # high, middle and low bits
            byte = (bits[:, k] >> np.uint64(shift)) & np.uint64(255)
            assert_fits(np.bincount(byte.astype(int), minlength=256), np.full(256, 1 / 256))
        assert stats.kstest(as_unit(bits[:, k]), "uniform").pvalue > LEAST_P


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("part", PARTS)
def test_neighbouring_keys_are_uncorrelated(part: str, scale: int) -> None:
    n = 100_000 * scale
    u = (as_unit(bits_of(neighbours(part, n), 4)) - 0.5) * np.sqrt(12)
    z = []
    for lag in (1, 2, 3, 8, 64):
        z += [(u[lag:, k] * u[:-lag, o]).sum() / np.sqrt(n - lag) for k in range(4) for o in range(4)]
    z += [(u[:, k] * u[:, o]).sum() / np.sqrt(n) for k in range(4) for o in range(k)]  # within streams
    assert_small(np.array(z))
    # pairs of neighbours are uniform on the square, which is more than uncorrelated
    for lag, k in ((1, 0), (2, 0), (1, 1)):
        cell = ((as_unit(bits_of(neighbours(part, n), 2)))[:, k] * 16).astype(int)
        assert_fits(np.bincount(cell[lag:] * 16 + cell[:-lag], minlength=256), np.full(256, 1 / 256))


@pytest.mark.parametrize("part", PARTS)
def test_every_bit_is_balanced_and_flips(part: str) -> None:
    bits = bits_of(neighbours(part, 50_000), 2)
    places = np.arange(64, dtype=np.uint64)
    for k in range(2):
        ones = (bits[:, k, None] >> places) & np.uint64(1)
        flips = ones[1:] ^ ones[:-1]
        assert_small((ones.mean(axis=0) - 0.5) * 2 * np.sqrt(len(ones)))
        assert_small((flips.mean(axis=0) - 0.5) * 2 * np.sqrt(len(flips)))


def test_no_two_of_a_million_keys_share_numbers() -> None:
    """With 32 values of each part, no two streams share half of their states, or their first numbers."""
    grid = np.stack(np.meshgrid(*[np.arange(32)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    grid[grid[:, 2] == 31, 2] = PARAMETERS
    states = np.empty((len(grid), 2), np.uint64)
    fill_states(grid, states)
    bits = bits_of(grid)
    for column in (states[:, 0], states[:, 1], bits[:, 0]):  # probability of a tie: 3e-8 each
        assert len(np.unique(column)) == len(grid)
    # nor do streams overlap within their first numbers
    few = bits_of(grid[::64], 40).reshape(-1)
    assert len(np.unique(few)) == len(few)


@pytest.mark.parametrize("part", PARTS)
def test_large_keys_differ(part: str) -> None:
    keys = np.repeat(np.array([[1, 1, 1, 1]], np.int64), 63 + 63, axis=0)
    powers = [2**k for k in range(63)]
    keys[:, PARTS.index(part)] = [*powers, *(p - 1 for p in powers)]
    states = np.empty((len(keys), 2), np.uint64)
    fill_states(keys, states)
    values = keys[:, PARTS.index(part)]
    assert len(np.unique(states[:, 0])) == len(np.unique(values)) == len(np.unique(states[:, 1]))


def test_the_same_key_gives_the_same_bits() -> None:
    first, second = new_stream(), new_stream()
    open_stream(first, 12, 34, PARAMETERS, 56)
    open_stream(second, 12, 34, PARAMETERS, 56)
    drawn = [next_bits(first) for _ in range(5)]
    assert drawn == [next_bits(second) for _ in range(5)]
    open_stream(first, 12, 34, PARAMETERS, 56)  # opening it again returns to the start
    assert drawn == [next_bits(first) for _ in range(5)]
    keys = np.array([[12, 34, PARAMETERS, 56]], np.int64)
    assert drawn == bits_of(keys, 5)[0].tolist()  # from Python and from a kernel
    assert mix(np.uint64(1)) != mix(np.uint64(2))


def test_generator_is_xoroshiro128plusplus() -> None:
    """Compare with the definition in Python integers, and with known first numbers of the state (1, 2)."""

    def rotated(x: int, k: int) -> int:
        return (x << k | x >> (64 - k)) & ALL_ONES

    for a, b in ((1, 2), (0xDEADBEEF12345678, 0x0123456789ABCDEF), (ALL_ONES, 1), (0, ALL_ONES)):
        stream = np.array([a, b], np.uint64)
        for _ in range(100):
            expected = (rotated((a + b) & ALL_ONES, 17) + a) & ALL_ONES
            b ^= a
            a, b = rotated(a, 49) ^ b ^ (b << 21 & ALL_ONES), rotated(b, 28)
            assert int(next_bits(stream)) == expected
            assert stream.tolist() == [a, b]
    stream = np.array([1, 2], np.uint64)
    assert [int(next_bits(stream)) for _ in range(3)] == [393217, 669327710093319, 1732421326133921491]


def described(seed: int, sweep: int, path: int, unit: int, n: int) -> list[int]:
    """Return numbers of a stream, in Python integers, from the description at the top of `plait.rng`."""

    def finalised(x: int) -> int:
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL_ONES
        x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL_ONES
        return x ^ x >> 31

    a, b = finalised(seed ^ 0x243F6A8885A308D3), finalised(seed ^ 0x13198A2E03707344)
    for part in (sweep, path, unit):
        step = (part + 1) * 0x9E3779B97F4A7C15 & ALL_ONES
        a, b = finalised((a + step) & ALL_ONES), finalised(b ^ step)
    numbers = []
    for _ in range(n):
        total = (a + b) & ALL_ONES
        numbers.append(((total << 17 | total >> 47) + a) & ALL_ONES)
        b ^= a
        a, b = (a << 49 | a >> 15) & ALL_ONES ^ b ^ (b << 21 & ALL_ONES), (b << 28 | b >> 36) & ALL_ONES
    return numbers


@pytest.mark.parametrize("key", [(0, 1, 2, 3), (2**63 - 1, 1000, PARAMETERS, 12345), (42, 0, 0, 2**40)])
def test_streams_follow_their_description(key: tuple[int, int, int, int]) -> None:
    stream = new_stream()
    open_stream(stream, *key)
    assert [int(next_bits(stream)) for _ in range(5)] == described(*key, 5)


def test_no_state_is_all_zeros() -> None:
    states = np.empty((200_000, 2), np.uint64)
    fill_states(neighbours("unit", len(states)), states)
    assert np.all(states.any(axis=1))


def test_reserved_numbers_are_distinct() -> None:
    """No run has 2^40 sweeps, 2^40 paths or a search of 2^40 steps; see the table in `plait.rng`."""
    n_steps, n_sweeps, n_paths = 2**40, 2**40, 2**40
    assert INITIAL < 1
    assert n_sweeps < SEARCH < SEARCH + n_steps * SEARCH_STEP <= 2**63 - 1  # keys are signed 64-bit integers
    assert n_paths < PARAMETERS <= 2**63 - 1
    assert len({INITIAL, SEARCH, PARAMETERS}) == 3


# ---------------------------------------------------------------------------------------------------------
# Distributions
# ---------------------------------------------------------------------------------------------------------


def test_uniform_is_strictly_between_0_and_1() -> None:
    least, most = np.array([0, 0], np.uint64), np.array([ALL_ONES, 1], np.uint64)  # give bits of 0s and 1s
    assert uniform(least) == 2.0**-53
    assert uniform(most) == 1 - 2.0**-53
    u = variates_of(0, 1_000_000, per_stream=1000)
    assert 0 < u.min() < u.max() < 1


@pytest.mark.parametrize("per_stream", [1, 7, 1_000_000])
def test_uniform_variates_are_uniform_and_uncorrelated(per_stream: int) -> None:
    u = variates_of(0, 200_000, per_stream=per_stream)
    assert stats.kstest(u, "uniform").pvalue > LEAST_P
    centred = (u - 0.5) * np.sqrt(12)
    assert_small(np.array([(centred[k:] * centred[:-k]).sum() / np.sqrt(len(u) - k) for k in range(1, 20)]))


@pytest.mark.parametrize("n", [1, 2, 7, 100, 65535])
def test_integers_are_uniform(n: int) -> None:
    stream = new_stream()
    open_stream(stream, 1, 2, 3, n)
    drawn = np.array([integer(stream, n) for _ in range(20_000)])
    assert 0 <= drawn.min() <= drawn.max() < n
    if n > 1:
        cells = min(n, 256)
        shares = np.bincount(np.arange(n) * cells // n) / n
        assert_fits(np.bincount(drawn * cells // n, minlength=cells), shares)
    assert integer(np.array([ALL_ONES, 1], np.uint64), n) == n - 1  # the largest uniform variate
    assert integer(np.array([0, 0], np.uint64), n) == 0


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("per_stream", [1, 1_000_000])
def test_normal_variates_are_normal(per_stream: int, scale: int) -> None:
    n = 200_000 * scale
    x = variates_of(1, n, per_stream=per_stream)
    assert stats.kstest(x, "norm").pvalue > LEAST_P
    for k, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert_small((np.mean(x**k) - mean) / np.sqrt(variance / n))
    tail = np.sum(np.abs(x) > 3)  # to which the Kolmogorov-Smirnov test is not sensitive
    p = 2 * stats.norm.sf(3)
    assert_small((tail - n * p) / np.sqrt(n * p))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("per_stream", [1, 1_000_000])
@pytest.mark.parametrize("shape", [0.01, 0.1, 0.5, 0.99, 1.0, 1.01, 3.0, 100.0, 1e6])
def test_gamma_variates_are_gamma(shape: float, per_stream: int, scale: int) -> None:
    n = 100_000 * scale
    x = variates_of(2, n, shape=shape, per_stream=per_stream)
    assert np.all(np.isfinite(x))
    assert stats.kstest(special.gammainc(shape, x), "uniform").pvalue > LEAST_P
    assert_small((x.mean() - shape) / np.sqrt(shape / n))
    second, fourth = shape * (shape + 1), shape * (shape + 1) * (shape + 2) * (shape + 3)
    assert_small((np.mean(x**2) - second) / np.sqrt((fourth - second**2) / n))


def test_gamma_uses_the_method_for_its_shape() -> None:
    for shape in (0.3, 2.0):
        streams = [new_stream(), new_stream()]
        for stream in streams:
            open_stream(stream, 4, 4, 4, 4)
        other = (
            small_gamma(streams[1], shape, uniform(streams[1]), uniform(streams[1]))
            if shape < 1
            else large_gamma(streams[1], shape)
        )
        assert gamma(streams[0], shape) == other


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("part", PARTS)
def test_hashed_pairs_are_uniform_and_independent_of_their_neighbours(part: str, scale: int) -> None:
    """Across keys and positions, within a pair, and one position further on."""
    pairs = np.empty((2000 * scale, 20, 2))
    fill_pairs(neighbours(part, len(pairs)), pairs)
    assert ((pairs > 0) & (pairs < 1)).all()
    u, v = pairs[..., 0], pairs[..., 1]
    for one, other in (
        (u, v),
        (u[:, 1:], u[:, :-1]),
        (u[1:], u[:-1]),
        (v[:, 1:], v[:, :-1]),
        (v[1:], u[:-1]),
    ):
        cells = (16 * one).astype(int) * 16 + (16 * other).astype(int)
        assert_fits(np.bincount(cells.ravel(), minlength=256), np.full(256, 1 / 256))
    for variates in (u, v):
        assert stats.kstest(variates.ravel(), "uniform").pvalue > LEAST_P
