"""Rows and matrices by vector instructions: the compiled code against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from plait.jit import kernel
from plait.kernels.matrices import COLUMNS, LANES, draw_products, multiply_row

NUMBERS_OF_STATES = [1, 2, 5, LANES - 1, LANES, LANES + 1, COLUMNS - 1, COLUMNS, COLUMNS + 1, 32, 45]


@kernel
def multiply(source, row, matrix, factors, factor, target, to):
    return multiply_row(source, row, matrix, factors, factor, target, to)


@kernel
def draw(left, row, right, line, u):
    return draw_products(left, row, right, (np.uint64(line),), (u,))[0]


@kernel
def draw_two(left, row, right, lines, variates):
    return draw_products(left, row, right, lines, variates)


@pytest.mark.parametrize("n_states", NUMBERS_OF_STATES)
def test_a_product_has_the_bits_of_its_definition_and_fills_its_row_alone(n_states):
    rng = np.random.default_rng(n_states)
    matrix, factors, values = (rng.random((n, n_states)) for n in (n_states, 3, 4))
    compiled, defined = values.copy(), values.copy()
    assert multiply(compiled, 1, matrix, factors, 2, compiled, 2) == multiply_row(
        defined, 1, matrix, factors, 2, defined, 2
    )
    np.testing.assert_array_equal(compiled, defined)
    np.testing.assert_allclose(compiled[2], values[1] @ matrix * factors[2], rtol=1e-13)
    np.testing.assert_array_equal(np.delete(compiled, 2, axis=0), np.delete(values, 2, axis=0))


@pytest.mark.parametrize("n_states", NUMBERS_OF_STATES)
def test_draws_have_the_bits_of_their_definition(n_states):
    rng = np.random.default_rng(n_states)
    left, right = rng.random((2, 3, n_states))
    for u in rng.random(200):
        (defined,) = draw_products(left, 1, right, (2,), (u,))
        assert draw(left, 1, right, 2, u) == defined < n_states


@pytest.mark.parametrize("n_states", NUMBERS_OF_STATES)
def test_draws_side_by_side_are_those_of_single_ones(n_states):
    rng = np.random.default_rng(n_states)
    left, right = rng.random((2, 3, n_states))
    for u, v in rng.random((200, 2)):
        drawn = draw_two(left, 1, right, (np.uint64(2), np.uint64(0)), (u, v))
        assert drawn == (draw(left, 1, right, 2, u), draw(left, 1, right, 0, v))


@pytest.mark.parametrize("n_states", NUMBERS_OF_STATES)
def test_each_state_is_drawn_for_its_share_of_u(n_states):
    rng = np.random.default_rng(n_states)
    left, right = rng.random((2, 1, n_states))
    left[0, 1:][rng.random(n_states - 1) < 0.2] = 0.0
    weights = left[0] * right[0]
    n = 20_000
    drawn = [int(draw(left, 0, right, 0, (k + 0.5) / n)) for k in range(n)]
    shares = np.bincount(drawn, minlength=n_states) / n
    # u runs over a grid, so each of the pieces of a state is off by at most one step.
    assert np.abs(shares - weights / weights.sum()).max() <= 1.01 / n


def test_only_contiguous_arrays_are_taken():
    matrix = np.ones((3, 3))
    with pytest.raises(Exception, match="contiguous"):
        multiply(matrix, 0, np.asfortranarray(np.ones((3, 4)))[:, :3], matrix, 0, matrix, 1)
