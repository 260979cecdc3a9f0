"""Checks of priors, and distributions with Dirichlet priors."""

from __future__ import annotations

import re

import numpy as np
import pytest

from plait.arrays import check_numbers
from plait.errors import PlaitError
from plait.models.model import Key
from plait.models.priors import DirichletRows, check_prior, spread

NAN = np.nan


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


def rows(prior=1.0, fixed=None, n_rows=2, n_cells=3):
    axes = {"R": n_rows, "L": n_cells}
    names = {"prior_name": "share_prior", "fixed_name": "fixed_shares"}
    return DirichletRows("the shares", axes, prior, fixed, **names)


MIXED = rows(
    [[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [1, 1, 1]], [[NAN, NAN, NAN], [0.4, NAN, NAN], [0.2, 0.3, 0.5]], 3
)
COUNTS = np.array([[3.0, 1.0, 0.0], [9.0, 2.0, 6.0], [1.0, 1.0, 1.0]])


class TestChecks:
    def test_numbers_are_returned_as_floats(self):
        assert check_numbers("x", [1, 2]).dtype == np.float64
        for wrong in ("a", [[1], [1, 2]], object()):
            with fails("x must be a number or an array of numbers, got ."):
                check_numbers("x", wrong)

    def test_priors_are_numbers_in_range_or_arrays_of_them(self):
        assert check_prior("x", 2, {"S": 3}).shape == ()
        assert check_prior("x", [1, 2, 3], {"S": 3}).tolist() == [1, 2, 3]
        with fails(r"x must be a number or an array of shape \(S\) = \(3,\), got an array of shape \(2,\)"):
            check_prior("x", [1, 2], {"S": 3})
        for wrong in (0, -1, NAN, np.inf, 1e11, 1e-11):
            with fails(r"x\[1\] must be a number from 1e-10 to 1e\+10, got " + re.escape(f"{wrong:g}")):
                check_prior("x", [1, wrong, 2], {"S": 3})

    def test_spread_broadcasts(self):
        assert spread("x", 2, {"R": 2, "S": 3}).tolist() == [[2] * 3] * 2
        assert spread("x", [1, 2, 3], {"R": 2, "S": 3}).tolist() == [[1, 2, 3]] * 2
        with fails(
            r"x must be a number or an array of shape \(R, S\) = \(2, 3\), got an array of shape \(2,\)"
        ):
            spread("x", [1, 2], {"R": 2, "S": 3})


class TestDirichletRows:
    def test_free_and_possible_cells(self):
        assert MIXED.free.tolist() == [[True, True, False], [False, True, True], [False] * 3]
        assert MIXED.possible.tolist() == [[True, True, False], [True] * 3, [True] * 3]
        assert MIXED.has_fixed
        assert not rows([[1, 0, 1]] * 2).has_fixed  # a zero forbids, and does not count as fixed
        assert rows().is_exchangeable
        assert rows(2.5).is_exchangeable
        for other in (MIXED, rows([1, 2, 1]), rows(1, [[NAN, 0, NAN]] * 2), rows([[1] * 3, [2] * 3])):
            assert not other.is_exchangeable
        for array in (MIXED.prior, MIXED.fixed, MIXED.free):
            assert not array.flags.writeable

    def test_mean_is_that_of_the_free_cells_times_their_mass(self):
        expected = [[4 / 7, 3 / 7, 0], [0.4, 0.6 * 3 / 10, 0.6 * 7 / 10], [0.2, 0.3, 0.5]]
        np.testing.assert_allclose(MIXED.mean(COUNTS), expected, rtol=1e-14)
        assert np.array_equal(MIXED.mean(COUNTS)[2], [0.2, 0.3, 0.5])

    def test_mode_of_a_row_without_one_is_the_prior_mean(self):
        """The mode is (prior + counts - 1) over its sum, unless that is zero."""
        expected = [[3 / 5, 2 / 5, 0], [0.4, 0.6 * 2 / 8, 0.6 * 6 / 8], [0.2, 0.3, 0.5]]
        np.testing.assert_allclose(MIXED.mode(COUNTS), expected, rtol=1e-14)
        sparse = rows([[0.5, 0.5, 1.0]] * 2)
        np.testing.assert_allclose(sparse.mode(np.zeros((2, 3))), [[0.25, 0.25, 0.5]] * 2)
        np.testing.assert_allclose(sparse.mode(np.array([[3.0, 0, 0], [0, 0, 1]])), [[1, 0, 0], [0, 0, 1]])

    def test_draws_have_the_moments_of_the_dirichlet_distribution(self):
        """20 000 draws; six standard errors of the mean of a beta variate and, roughly, of its variance."""
        n = 20_000
        drawn = np.stack([MIXED.draw(COUNTS, Key(1, sweep), 0) for sweep in range(1, n + 1)])
        np.testing.assert_allclose(drawn.sum(axis=2), 1, rtol=1e-12)
        assert np.all(drawn[:, ~MIXED.free] == np.where(MIXED.free, 0, MIXED.fixed)[~MIXED.free])
        mean = MIXED.mean(COUNTS)
        total = np.where(MIXED.free, MIXED.prior + COUNTS, 0).sum(axis=1, keepdims=True)
        mass = np.array([[1.0], [0.6], [1.0]])
        share = mean / mass
        variance = np.where(MIXED.free, mass**2 * share * (1 - share) / (total + 1), 0)
        assert np.all(np.abs(drawn.mean(axis=0) - mean) <= 6 * np.sqrt(variance / n) + 1e-12)
        np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=6 * np.sqrt(3 / n), atol=1e-12)
        assert np.array_equal(MIXED.draw(COUNTS, Key(1, 5), 0), drawn[4])
        assert not np.array_equal(MIXED.draw(COUNTS, Key(1, 5), 1), drawn[4])

    def test_draws_with_tiny_priors_are_not_nan(self):
        drawn = rows(1e-10).draw(np.zeros((2, 3)), Key(0, 1), 0)
        np.testing.assert_allclose(drawn.sum(axis=1), 1)
        assert np.all(drawn >= 0)

    def test_scatter_ignores_the_prior(self):
        """Dir(shapes) on the free cells: over 4000 draws, means within six standard errors."""
        strong = rows([1e6, 1.0, 0.0], [[NAN] * 3, [NAN, 0.4, NAN]])
        drawn = np.stack([strong.scatter(1.0, Key(1, sweep), 0) for sweep in range(1, 4001)])
        np.testing.assert_allclose(
            drawn.mean(axis=0), [[0.5, 0.5, 0], [0.6, 0.4, 0]], atol=6 * 0.29 / 4000**0.5
        )
        np.testing.assert_allclose(drawn[:, 0, 0].var(), 1 / 12, rtol=0.1)
        assert np.all(drawn[:, 1, 1] == 0.4)
        assert np.all(drawn[:, :, 2] == 0)
        uneven = np.stack([strong.scatter([1e6, 2e6, 1.0], Key(1, sweep), 0) for sweep in range(1, 20)])
        np.testing.assert_allclose(uneven[:, 0, 0], 1 / 3, atol=0.01)

    def test_rows_rebuilt_from_arrays_are_the_same(self):
        arrays = MIXED.to_arrays("x")
        again = DirichletRows("x", {"R": 3, "L": 3}, arrays["x.prior"], arrays["x.fixed"])
        for name in ("prior", "fixed", "free"):
            np.testing.assert_array_equal(getattr(again, name), getattr(MIXED, name))
        assert np.array_equal(again.mean(COUNTS), MIXED.mean(COUNTS))

    @pytest.mark.parametrize(
        ("prior", "fixed", "message"),
        [
            (-1, None, r"share_prior\[0\]\[0\] must be 0 or a number from 1e-10 to 1e\+10, got -1"),
            (NAN, None, r"share_prior\[0\]\[0\] must be 0 or a number from 1e-10 to 1e\+10, got nan"),
            (
                [1, 2],
                None,
                r"share_prior must be .* of shape \(R, L\) = \(2, 3\), got an array of shape \(2,\)",
            ),
            (
                1,
                [1, 2],
                r"fixed_shares must be .* of shape \(R, L\) = \(2, 3\), got an array of shape \(2,\)",
            ),
            (
                1,
                [[-0.1, NAN, NAN]] * 2,
                r"fixed_shares\[0\]\[0\] must be from 0 to 1, or NaN if it is free, got -0.1",
            ),
            (1, [[1.1, NAN, NAN]] * 2, r"fixed_shares\[0\]\[0\] must be from 0 to 1, or NaN .*, got 1.1"),
            (0, None, "row 0 of share_prior must not be all zeros"),
            (
                1,
                [[NAN] * 3, [0.5, 0.5, 0.1]],
                "row 1 of fixed_shares must sum to 1 or leave .* free, got 1.1 .*share_prior",
            ),
            (
                1,
                [[0.6, 0.4, NAN]] * 2,
                "row 0 of fixed_shares must sum to less than 1, got 1, which leaves nothing",
            ),
            (
                1,
                [[0.6, 0.6, NAN]] * 2,
                "row 0 of fixed_shares must sum to less than 1, got 1.2, which leaves nothing",
            ),
        ],
    )
    def test_invalid_priors_and_fixed_cells_are_refused(self, prior, fixed, message):
        with fails(message):
            rows(prior, fixed)

    def test_errors_carry_the_argument(self):
        for wrong, argument in (((-1, None), "share_prior"), ((1, 2), "fixed_shares")):
            with pytest.raises(PlaitError) as error:
                rows(*wrong)
            assert error.value.argument == argument

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (np.ones((2, 3)) / 3, r"the shares must have shape \(3, 3\), got \(2, 3\)"),
            (
                [[0.5, 0.4, 0.1], [0.4, 0.3, 0.3], [0.2, 0.3, 0.5]],
                r"the shares\[0\]\[2\] must be 0, as its prior is 0 .*, got 0.1",
            ),
            (
                [[0.5, NAN, 0.0], [0.4, 0.3, 0.3], [0.2, 0.3, 0.5]],
                r"the shares\[0\]\[1\] must be from 0 to 1, got nan",
            ),
            (
                [[1.5, -0.5, 0], [0.4, 0.3, 0.3], [0.2, 0.3, 0.5]],
                r"the shares\[0\]\[0\] must be from 0 to 1, got 1.5",
            ),
            ([[0.5, 0.5, 0], [0.4, 0.3, 0.1], [0.2, 0.3, 0.5]], "row 1 of the shares must sum to 1, got 0.8"),
        ],
    )
    def test_rows_that_are_no_distributions_are_refused(self, given, message):
        with fails(message):
            MIXED.check(np.asarray(given))
        MIXED.check(MIXED.mean(COUNTS))
