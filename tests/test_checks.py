"""Checks of plain arguments: what they return, and that their errors carry the argument."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plait.checks import (
    check_choice,
    check_distinct_strings,
    check_flag,
    check_integer,
    check_number,
    check_strings,
    list_names,
    short_repr,
)
from plait.errors import PlaitError


def refused(message, argument="x"):
    """Expect an error with this very message, about this argument."""

    class Refused:
        def __enter__(self):
            self.raises = pytest.raises(PlaitError)
            self.caught = self.raises.__enter__()

        def __exit__(self, *error):
            swallowed = self.raises.__exit__(*error)
            assert str(self.caught.value) == message
            assert self.caught.value.argument == argument
            return swallowed

    return Refused()


class TestShortRepr:
    def test_a_value_is_one_line_that_is_not_too_long(self):
        assert short_repr("a") == "'a'"
        assert short_repr(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
        assert short_repr("x" * 100) == "'" + "x" * 56 + "..."
        assert len(short_repr(list(range(1000)))) == 60

    def test_names_are_listed_in_quotes(self):
        assert list_names(["a", "b"]) == "'a', 'b'"
        assert list_names([]) == "none"
        assert list_names(["x" * 10**6, "b"]) == "'" + "x" * 56 + "..., 'b'"


class TestIntegers:
    @pytest.mark.parametrize("value", [1, 7, np.int8(3), np.uint64(9), np.array(4)])
    def test_whole_numbers_are_returned_as_int(self, value):
        number = check_integer("x", value, least=1)
        assert type(number) is int
        assert number == int(value)

    @pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, True, None, "1", [1], math.nan])
    def test_all_else_is_refused(self, value):
        with refused(f"x must be a whole number of at least 1, got {value!r}"):
            check_integer("x", value, least=1)

    def test_both_limits_are_allowed_and_no_more(self):
        assert [check_integer("x", value, least=2, most=4) for value in (2, 4)] == [2, 4]
        for value in (1, 5):
            with refused(f"x must be a whole number from 2 to 4, got {value}"):
                check_integer("x", value, least=2, most=4)


class TestNumbers:
    @pytest.mark.parametrize("value", [0, 0.5, np.float32(2.0), np.int64(3)])
    def test_numbers_are_returned_as_float(self, value):
        number = check_number("x", value)
        assert type(number) is float
        assert number == value

    @pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, True, None, "1"])
    def test_all_else_is_refused(self, value):
        with refused(f"x must be a number of at least 0, got {value!r}"):
            check_number("x", value)

    def test_without_a_limit_numbers_may_be_negative_but_not_infinite(self):
        assert check_number("x", -5, least=None) == -5.0
        with refused("x must be a finite number, got inf"):
            check_number("x", math.inf, least=None)


class TestChoices:
    def test_a_choice_is_returned(self):
        assert check_choice("x", "b", ("a", "b")) == "b"

    @pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
    def test_all_else_is_refused_with_the_choices(self, value):
        with refused(f"x must be one of 'a', 'b', got {value!r}"):
            check_choice("x", value, ("a", "b"))


class TestStrings:
    def test_strings_are_returned_as_a_tuple(self):
        assert check_strings("x", iter(["a", "b"])) == ("a", "b")
        assert check_strings("x", np.array(["a"])) == ("a",)

    @pytest.mark.parametrize("value", ["ab", b"ab", 3])
    def test_one_string_is_not_a_sequence_of_strings(self, value):
        with refused(f"x must be a sequence of strings, got {value!r}"):
            check_strings("x", value)

    def test_the_wrong_entry_is_named(self):
        with refused("x[1] must be a string, got 2: convert it with str()"):
            check_strings("x", ["a", 2])
        with refused("x['party'][0] must be a string, got None: convert it with str()"):
            check_strings("x", [None], key="['party']")

    def test_the_number_of_entries_is_checked(self):
        with refused("x must have one entry for each of the 3 documents, got 2"):
            check_strings("x", ["a", "b"], n=3)

    def test_a_duplicate_is_named(self):
        assert check_distinct_strings("x", ["a", "b"]) == ("a", "b")
        with refused("x must not have duplicates, got 'a' at 0 and 2: remove one"):
            check_distinct_strings("x", ["a", "b", "a"])


class TestLimits:
    def test_only_a_number_beyond_the_limit_is_told_of_it(self):
        assert check_integer("x", 9, least=1, limit=9) == 9
        with refused("x must be at most 9, got 10"):
            check_integer("x", 10, least=1, limit=9)
        with refused("x must be a whole number of at least 1, got 0"):
            check_integer("x", 0, least=1, limit=9)

    def test_an_int_that_no_float_can_hold_is_not_a_number(self):
        for least, limits in ((0.0, "number of at least 0"), (None, "finite number")):
            with pytest.raises(PlaitError, match=f"^x must be a {limits}, got 1000"):
                check_number("x", 10**400, least=least)


def test_flags_are_true_or_false():
    assert check_flag("x", True) is True
    assert check_flag("x", np.False_) is False
    for wrong in (1, 0, "no", None, 1.0):
        with refused(f"x must be True or False, got {wrong!r}"):
            check_flag("x", wrong)
