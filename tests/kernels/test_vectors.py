"""Weights by vector instructions: the compiled code against its definition, and draws from every topic."""

from __future__ import annotations

import numpy as np
import pytest

from plait.jit import kernel
from plait.kernels.vectors import LANES, draw_topic, padded, weigh_topics

NUMBERS_OF_TOPICS = [1, 2, LANES - 1, LANES, LANES + 1, 3 * LANES, 100, 101, 800]


@kernel
def draw(u, n_topics, old, excess, cumulative, sums):
    return draw_topic(u, n_topics, old, excess, cumulative, sums)


@kernel
def weigh(word, eta, inverse, shares, cumulative):
    weigh_topics(word, eta, inverse, shares, cumulative)


def random_weights(n_topics: int, seed: int = 1) -> tuple[np.ndarray, ...]:
    """Return the arguments of `weigh_topics`; beyond T, only the shares are zero."""
    rng = np.random.default_rng(seed)
    word = rng.integers(0, 50, n_topics, dtype=np.int32)
    eta, inverse, shares = rng.uniform(0.01, 1, (3, padded(n_topics))).astype(np.float32)
    shares[n_topics:] = 0
    return word, eta, inverse, shares


@pytest.mark.parametrize("n_topics", NUMBERS_OF_TOPICS)
def test_compiled_sums_have_the_bits_of_their_definition(n_topics):
    arguments = random_weights(n_topics)
    compiled, defined = np.full((2, padded(n_topics)), np.nan, np.float32)
    weigh(*arguments, compiled)
    weigh_topics(*arguments, defined)
    np.testing.assert_array_equal(compiled, defined)


@pytest.mark.parametrize("n_topics", NUMBERS_OF_TOPICS)
def test_nothing_is_read_beyond_the_last_topic(n_topics):
    """What follows a word's counts in memory are the counts of the next word."""
    word, *others = random_weights(n_topics)
    sums = np.empty((2, padded(n_topics)), np.float32)
    for behind, cumulative in zip((0, 10**6), sums, strict=True):
        row = np.full(n_topics + LANES, behind, np.int32)
        row[:n_topics] = word
        for array in others[:2]:
            array[n_topics:] = 0
        weigh(row[:n_topics], *others, cumulative)
    np.testing.assert_array_equal(*sums)


@pytest.mark.parametrize("n_topics", NUMBERS_OF_TOPICS)
def test_compiled_draws_have_the_bits_of_their_definition(n_topics):
    rng = np.random.default_rng(n_topics)
    arguments = random_weights(n_topics)
    cumulative = np.empty(padded(n_topics), np.float32)
    weigh(*arguments, cumulative)
    for _ in range(200):
        compiled, defined = np.full((2, LANES), np.nan, np.float32)
        old = np.uint64(rng.integers(n_topics))
        excess = np.float32(rng.uniform(0, 1) * cumulative[-LANES:].sum() / n_topics)
        own = rng.uniform(), n_topics, old, excess, cumulative
        assert draw(*own, compiled) == draw_topic(*own, defined)
        np.testing.assert_array_equal(compiled, defined)


@pytest.mark.parametrize("left", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n_topics", NUMBERS_OF_TOPICS[1:])
def test_every_topic_has_its_share_of_the_draws(n_topics, left):
    """Positions on a fine grid find each topic as often as its weight says, to the grid's own precision.

    Of the weight of one topic, only a share is left.
    """
    word, eta, inverse, shares = random_weights(n_topics)
    cumulative, sums = np.empty(padded(n_topics), np.float32), np.empty(LANES, np.float32)
    weigh(word, eta, inverse, shares, cumulative)
    weights = ((word + eta[:n_topics]) * inverse[:n_topics] * shares[:n_topics]).astype(np.float64)
    old = np.uint64(2 * n_topics // 3)
    excess = np.float32((1 - left) * weights[old])
    weights[old] *= left
    n = 200 * n_topics
    drawn = [int(draw((k + 0.5) / n, n_topics, old, excess, cumulative, sums)) for k in range(n)]
    frequencies = np.bincount(drawn, minlength=n_topics) / n
    assert np.abs(frequencies - weights / weights.sum()).max() < 1.5 / n + 1e-6


@pytest.mark.parametrize("n_topics", NUMBERS_OF_TOPICS)
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -1.0])
def test_a_draw_is_one_of_the_topics_whatever_the_weights(n_topics, value):
    cumulative, sums = np.full(padded(n_topics), value, np.float32), np.empty(LANES, np.float32)
    for u in (0.0, 0.5, np.nextafter(1.0, 0.0), 1.0):
        for excess in (0.0, 1.0, -1.0, np.nan, np.inf):
            old = np.uint64(n_topics - 1)
            assert 0 <= draw(u, n_topics, old, np.float32(excess), cumulative, sums) < n_topics


def test_the_end_of_rounding_is_a_topic():
    """In single precision, 1 - 2^-53 is 1: the position is at the end of all sums."""
    arguments = random_weights(100)
    cumulative, sums = np.empty(padded(100), np.float32), np.empty(LANES, np.float32)
    weigh(*arguments, cumulative)
    assert draw(np.nextafter(1.0, 0.0), 100, np.uint64(0), np.float32(0), cumulative, sums) < 100
