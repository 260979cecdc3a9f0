"""Sequences: their invariants, conversions, and errors that name the argument."""

import copy
import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from plait.data.sequences import MAX_SYMBOLS, Sequences
from plait.errors import Argument, PlaitError
from plait.storage import read_file, write_file

NAN = float("nan")


def make(**changes):
    return Sequences(**{"values": [1, 0, -1, 2], "offsets": [0, 3, 4]} | changes)


def make_numbers(**changes):
    values = [[1.0, 2.0], [NAN, NAN], [3.0, 4.0]]
    return Sequences(**{"values": values, "offsets": [0, 2, 3]} | changes)


def fails(match):
    return pytest.raises(PlaitError, match=f"^[^\n]*{match}[^\n]*$")


class TestInvariants:
    def test_sizes_of_symbols(self):
        sequences = make()
        assert (sequences.n_sites, sequences.n_sequences, sequences.n_features) == (4, 2, 1)
        assert (sequences.n_symbols, sequences.n_missing, sequences.is_symbols) == (3, 1, True)
        assert sequences.lengths.tolist() == [3, 1]
        assert repr(sequences) == "Sequences(2 sequences, 4 observations, 3 symbols)"

    def test_sizes_of_numbers(self):
        sequences = make_numbers()
        assert (sequences.n_sites, sequences.n_sequences, sequences.n_features) == (3, 2, 2)
        assert (sequences.n_missing, sequences.is_symbols) == (1, False)
        assert sequences.lengths.tolist() == [2, 1]
        assert repr(sequences) == "Sequences(2 sequences, 3 observations, 2 features)"
        with fails("numbers of 2 features, not symbols"):
            _ = sequences.n_symbols

    def test_labels_count_symbols_that_do_not_occur(self):
        assert make(labels=("a", "b", "c", "d", "e")).n_symbols == 5

    def test_all_may_be_missing(self):
        assert make(values=[-1] * 4).n_symbols == 0
        assert make(values=[-1] * 4, labels=("a", "b")).n_symbols == 2
        assert make_numbers(values=np.full((3, 2), NAN)).n_missing == 3

    @pytest.mark.parametrize("dtype", [">i8", np.uint8, np.int16])
    def test_symbols_have_the_promised_type_and_are_read_only(self, dtype):
        sequences = make(values=np.array([1, 0, 1, 2], dtype), offsets=np.array([0, 2, 4], np.uint8))
        assert sequences.values.dtype == np.int32
        assert sequences.offsets.dtype == np.int64
        assert sequences.values.tolist() == [1, 0, 1, 2]
        for array in (sequences.values, sequences.offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    @pytest.mark.parametrize(
        "values",
        [
            np.arange(6, dtype=">f8").reshape(3, 2),
            np.asfortranarray(np.arange(6.0).reshape(3, 2)),
            np.arange(12.0).reshape(3, 4)[:, ::2],
            np.arange(6, dtype=np.float32).reshape(3, 2),
            np.arange(6).reshape(3, 2),
            np.frombuffer(b"x" + np.arange(6.0).tobytes(), np.uint8)[1:].view(np.float64).reshape(3, 2),
        ],
    )
    def test_numbers_have_the_promised_type_and_layout(self, values):
        got = make_numbers(values=values).values
        assert got.dtype == np.float64
        assert got.dtype.isnative
        assert got.flags.c_contiguous
        assert got.flags.aligned
        assert not got.flags.writeable
        np.testing.assert_array_equal(got, values)

    def test_the_callers_arrays_stay_writeable_and_are_not_copied(self):
        symbols, values = np.array([1, 0, 1, 2], np.int32), np.arange(6.0).reshape(3, 2)
        for array, sequences in (
            (symbols, make(values=symbols)),
            (values, make_numbers(values=values)),
            (symbols, Sequences.from_symbols(symbols)),
            (symbols, Sequences.from_symbols(symbols[:, None])),
            (values, Sequences.from_values(values)),
        ):
            assert array.flags.writeable
            assert np.shares_memory(array, sequences.values)
            assert not sequences.values.flags.writeable

    def test_the_callers_offsets_are_neither_frozen_nor_shared(self):
        offsets = np.array([0, 3, 4])
        sequences = make(offsets=offsets)
        offsets[1] = 0
        assert sequences.offsets.tolist() == [0, 3, 4]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"values": []}, "no observations: pass at least one"),
            ({"values": np.zeros(0, np.int32), "offsets": [0, 0]}, "no observations"),
            ({"values": [1, 0, -2, 2]}, "observation 2 is -2: symbols are whole numbers from 0 to .*, or -1"),
            ({"values": [1, 0, 2, MAX_SYMBOLS]}, f"observation 3 is {MAX_SYMBOLS}: symbols are"),
            ({"values": [1, 0, 2, 2**32]}, f"observation 3 is {2**32}: symbols"),
            (
                {"values": [1.0, 0.0, 1.0, 2.0]},
                "values must be .*, got one dimension and dtype float64: use from_symbols or from_values",
            ),
            ({"values": 3}, "values must be an array .*, got 3"),
            (
                {"offsets": [0, 4, 3, 4]},
                "offsets must go from 0 to 4, the number of observations, and never decrease, got 3 after 4",
            ),
            ({"offsets": [1, 4]}, "offsets must go from 0 to 4, .*, got 1 to 4"),
            ({"offsets": [0, 5]}, "offsets must go from 0 to 4, .*, got 0 to 5"),
            ({"offsets": [0, 2**63 - 1, -(2**63), -1, 4]}, "offsets must .*, and never decrease"),
            ({"offsets": [0]}, "offsets must go from 0 to 4, .*, got 0 to 0"),
            ({"offsets": []}, "offsets must go from 0 to 4, .*, got none"),
            ({"offsets": [0.0, 4.0]}, "offsets must be an array of whole numbers, got dtype float64"),
            ({"offsets": [0, 2, 2, 4]}, "sequence 1 has no observations: leave it out"),
            ({"offsets": [0, 2, 2, 4], "names": "xyz"}, "names must be a sequence of strings, got 'xyz'"),
            ({"offsets": [0, 2, 2, 4], "names": ("x", "y", "z")}, r"sequence 1 \('y'\) has no observations"),
            ({"names": ("x",)}, "names must have one entry for each of the 2 sequences, got 1"),
            (
                {"labels": ("a", "b")},
                r"labels must have one entry for each symbol from 0 to 2, got 2 \(observation 3 is 2\)",
            ),
            ({"labels": ("a", "b", "a")}, "labels must not have duplicates, got 'a' at 0 and 2"),
            ({"labels": (1, 2, 3)}, r"labels\[0\] must be a string, got 1"),
            ({"columns": ("x",)}, r"columns must be left out, as symbols have no features, got \('x',\)"),
        ],
    )
    def test_inconsistent_symbols_are_refused(self, changes, message):
        with fails(message) as caught:
            make(**changes)
        assert caught.value.argument in (*changes, None)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"values": np.zeros((3, 0))}, r"values must have at least one feature, got shape \(3, 0\)"),
            ({"values": np.zeros((0, 3))}, "no observations"),
            ({"values": np.zeros((3, 1, 1))}, "values must be symbols of shape .*, got 3 dimensions"),
            ({"values": [[0.0, 1], [1, 2], [3, np.inf]]}, "observation 2 is inf in feature 1: pass finite"),
            ({"values": [[0.0, 1], [-np.inf, NAN], [3, 4]]}, "observation 1 is -inf in feature 0"),
            ({"columns": ("x",)}, "columns must have one entry for each of the 2 features, got 1"),
            ({"columns": ("x", "x")}, "columns must not have duplicates, got 'x' at 0 and 1"),
            ({"labels": ("x", "y")}, "labels must be left out, as only symbols have labels, got"),
        ],
    )
    def test_inconsistent_numbers_are_refused(self, changes, message):
        with fails(message) as caught:
            make_numbers(**changes)
        assert caught.value.argument in (*changes, None)

    def test_numbers_too_large_for_a_double_are_infinite(self):
        if np.finfo(np.longdouble).max == np.finfo(np.float64).max:
            pytest.skip("long doubles are doubles here")
        with fails("observation 1 is inf"):
            Sequences.from_values(np.array([1, np.finfo(np.longdouble).max], np.longdouble))

    @pytest.mark.parametrize("copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.copy, copy.deepcopy])
    def test_copies_keep_everything_and_the_arrays_read_only(self, copied):
        for sequences in (
            make(names=("x", "y"), labels=("a", "b", "c")),
            make_numbers(names=("x", "y"), columns=("u", "v")),
        ):
            again = copied(sequences)
            assert again.equals(sequences)
            for key in ("names", "labels", "columns"):
                assert getattr(again, key) == getattr(sequences, key)
            assert not again.values.flags.writeable
            assert not again.offsets.flags.writeable

    def test_equals_compares_observations_offsets_and_labels(self):
        assert make().equals(make(names=("x", "y")))
        assert make_numbers().equals(make_numbers())
        assert not make().equals(make(values=[1, 0, -1, 1]))
        assert not make().equals(make(offsets=[0, 1, 4]))
        assert not make().equals(make(labels=("a", "b", "c")))
        assert not make().equals(make_numbers())
        assert not make_numbers().equals(make_numbers(values=np.zeros((3, 2))))


class TestSymbols:
    @pytest.mark.parametrize(
        "symbols",
        [
            [2, 0, 1],
            (2, 0, 1),
            [[2], [0], [1]],
            np.array([2.0, 0.0, 1.0], np.float32),
            np.array([2, 0, 1], np.uint64),
            pd.Series([2, 0, 1]),
            pd.DataFrame({"x": [2, 0, 1]}),
        ],
    )
    def test_whole_numbers_of_any_type_are_symbols(self, symbols):
        sequences = Sequences.from_symbols(symbols)
        assert sequences.values.dtype == np.int32
        assert sequences.values.tolist() == [2, 0, 1]
        assert sequences.offsets.tolist() == [0, 3]
        assert sequences.labels is None

    def test_booleans_are_symbols(self):
        assert Sequences.from_symbols([True, False]).values.tolist() == [1, 0]

    def test_all_arguments_work_together(self):
        sequences = Sequences.from_symbols(
            [0, 1, NAN, -1], (1, 3), missing=True, names=iter(["x", "y"]), labels=iter("ab")
        )
        assert sequences.values.tolist() == [0, 1, -1, -1]
        assert sequences.lengths.tolist() == [1, 3]
        assert (sequences.names, sequences.labels, sequences.n_missing) == (("x", "y"), ("a", "b"), 2)

    def test_the_given_array_is_not_modified(self):
        given = np.array([0.0, NAN])
        Sequences.from_symbols(given, missing=True)
        assert np.isnan(given[1])

    @pytest.mark.parametrize(
        ("symbols", "options", "message"),
        [
            ([0, 1, 2, NAN], {}, "observation 3 is NaN: pass missing=True if it is missing, or fill it in"),
            ([0, -1], {}, "observation 1 is -1: pass missing=True if it is missing, or fill it in"),
            ([0.0, -1.0], {}, "observation 1 is -1: pass missing=True"),
            ([0, 1.5], {"missing": True}, "observation 1 is 1.5: symbols are whole numbers from 0"),
            ([0, NAN, -2], {"missing": True}, "observation 2 is -2.0: symbols are"),
            ([0, -7], {}, "observation 1 is -7: symbols are"),
            ([0, np.inf], {}, "observation 1 is inf: symbols are"),
            ([0, -np.inf], {"missing": True}, "observation 1 is -inf: symbols are"),
            ([0, 2**31], {}, f"observation 1 is {2**31}: symbols are"),
            (np.array([0, 2**63], np.uint64), {}, f"observation 1 is {2**63}: symbols are"),
            ([0, 2**70], {}, "symbols must be an array of real numbers, got dtype object"),
            ([0, "a"], {}, "observation 1 is 'a', not a number: number them from 0 up, as numpy.unique does"),
            (np.array(["a", "b"]), {}, "observation 0 is 'a', not a number"),
            ([0, None], {}, "observation 1 is None, not a number"),
            ([0, 1j], {}, "symbols must be an array of real numbers, got dtype complex128"),
            (
                np.array([0, 1], "M8[s]"),
                {},
                r"symbols must be an array of real numbers, got dtype datetime64\[s\]",
            ),
            ([[0, 1], [2, 3]], {}, r"symbols must have one symbol per observation, .*, got shape \(2, 2\)"),
            (
                [[0, 1], [2]],
                {},
                "symbols must not have entries of different lengths: put .* another, and pass lengths",
            ),
            ("abc", {}, "symbols must be an array .*, got 'abc'"),
            (scipy.sparse.csr_matrix([[1]]), {}, "symbols must be an array .*, got <"),
            (
                np.ma.masked_array([0, 1], [False, True]),
                {},
                "symbols must not be a masked array: call filled",
            ),
            ([], {}, "no observations"),
            ([0, 1], {"labels": "ab"}, "labels must be a sequence of strings, got 'ab'"),
            ([0, 1], {"names": "a"}, "names must be a sequence of strings, got 'a'"),
            ([0, 1], {"labels": ["a"]}, "labels must have one entry for each symbol from 0 to 1, got 1"),
        ],
    )
    def test_other_than_symbols_is_refused(self, symbols, options, message):
        with fails(message):
            Sequences.from_symbols(symbols, **options)


class TestValues:
    def test_a_vector_has_one_feature(self):
        sequences = Sequences.from_values([1, 2.5, 3])
        assert sequences.values.tolist() == [[1], [2.5], [3]]

    def test_columns_of_a_table_are_features(self):
        sequences = Sequences.from_values(
            pd.DataFrame({"u": [1, 2, 3], "v": [0.5, 1.5, 2.5]}), [2, 1], names=["x", "y"], columns=iter("uv")
        )
        assert sequences.values.tolist() == [[1, 0.5], [2, 1.5], [3, 2.5]]
        assert (sequences.names, sequences.columns) == (("x", "y"), ("u", "v"))
        assert sequences.lengths.tolist() == [2, 1]

    def test_missing_observations_are_rows_of_nan(self):
        assert Sequences.from_values([1, NAN], missing=True).n_missing == 1
        assert Sequences.from_values([[1, 2], [NAN, NAN]], missing=True).n_missing == 1

    def test_times_are_kept_through_pickle_and_files(self):
        sequences = Sequences.from_values([1.0, 2.0], times=["mon", "tue"])
        assert pickle.loads(pickle.dumps(sequences)).times == ("mon", "tue")
        assert Sequences.from_arrays(*sequences.to_arrays()).times == ("mon", "tue")
        with fails("times must have one entry for each of the 2 observations, got 1"):
            Sequences.from_values([1.0, 2.0], times=["mon"])

    def test_the_times_of_pandas_are_its_index_unless_that_just_counts(self):
        days = pd.date_range("2024-02-28", periods=3)
        frame = pd.DataFrame({"wind": [1.0, 2, 3]}, index=days)
        assert Sequences.from_values(frame).times == ("2024-02-28", "2024-02-29", "2024-03-01")
        assert Sequences.from_symbols(pd.Series([0, 1, 0], index=days)).times[1] == "2024-02-29"
        assert Sequences.from_values(frame.reset_index(drop=True)).times is None

    def test_rows_may_be_missing_in_part_where_the_model_permits_it(self):
        sequences = Sequences.from_values([[1, 2], [NAN, NAN], [3, NAN]], missing=True)
        assert sequences.partly_missing.tolist() == [False, False, True]
        assert sequences.n_missing == 1
        with fails(
            r"observation 2 is partly missing \(feature 1 is NaN\), which a clock cannot take: fill it in, or"
            " make all its features NaN"
        ):
            sequences.refuse_partly_missing("a clock")
        assert not Sequences.from_symbols([0, -1], missing=True).partly_missing.any()

    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [
            ([1, NAN], {}, "observation 1 is NaN: pass missing=True if it is missing, or fill it in"),
            ([[1, 2], [3, NAN]], {}, "observation 1 is NaN in feature 1: pass missing=True if"),
            ([1, np.inf], {"missing": True}, "observation 1 is inf in feature 0: pass finite numbers"),
            ([1, 2j], {}, "values must be an array of real numbers, got dtype complex128"),
            ([1, "2"], {}, "observation 1 is '2', not a number: convert it"),
            ([[1, 2], [3, None]], {}, "observation 1 is None, not a number: convert it"),
            ([Decimal("1.5")], {}, r"observation 0 is Decimal\('1.5'\), not a number: convert it"),
            (np.array([1.5, 2], object), {}, "values must be an array of real numbers, got dtype object"),
            (np.zeros((2, 2, 2)), {}, "values must be .*, got 3 dimensions"),
            (np.full((2, 2, 2), NAN), {}, "observation 0 is NaN"),
            (np.zeros((2, 0)), {}, "values must have at least one feature"),
            ([], {}, "no observations"),
            ([[1, 2], [3]], {}, "values must not have entries of different lengths"),
            (np.ma.masked_array([0.0, 1]), {}, "values must not be a masked array"),
            ([[1, 2]], {"columns": ["u"]}, "columns must have one entry for each of the 2 features, got 1"),
        ],
    )
    def test_other_than_numbers_is_refused(self, values, options, message):
        with fails(message):
            Sequences.from_values(values, **options)


@pytest.mark.parametrize("build", [Sequences.from_symbols, Sequences.from_values])
class TestLengths:
    @pytest.mark.parametrize("lengths", [[2, 1, 7], np.array([2, 1, 7], np.uint8), pd.Series([2, 1, 7])])
    def test_they_cut_the_observations(self, build, lengths):
        assert build(range(10), lengths).offsets.tolist() == [0, 2, 3, 10]

    @pytest.mark.parametrize(
        ("lengths", "message"),
        [
            ([5, 7], "lengths must add up to 10, the number of observations, got 12"),
            ([], "lengths must add up to 10, .*, got 0"),
            ([2**62, 2**62, 2**62, 2**62, 10], "lengths must add up to 10, .*, got 18446744073709551626"),
            ([5, 5, 0], r"lengths\[2\] must be at least 1, got 0: leave empty sequences out"),
            ([12, -2], r"lengths\[1\] must be at least 1, got -2"),
            ([5.0, 5.0], "lengths must be an array of whole numbers, got dtype float64"),
            ([[5, 5]], "lengths must be a one-dimensional array, got 2 dimensions"),
            ([[5], [5, 1]], r"lengths must be a one-dimensional array, got entries of different lengths"),
            (10, "lengths must be a one-dimensional array, got 0 dimensions"),
            ("10", "lengths must be a one-dimensional array, got 0 dimensions"),
            ([True], "lengths must be an array of whole numbers, got dtype bool"),
        ],
    )
    def test_impossible_lengths_are_refused(self, build, lengths, message):
        with fails(message) as caught:
            build(range(10), lengths)
        assert caught.value.argument == "lengths"


class TestArrays:
    @pytest.mark.parametrize(
        "sequences",
        [
            make(),
            make(names=("é\n", "y"), labels=("a", "語", "")),
            make_numbers(),
            make_numbers(names=("x", "y"), columns=("ü", "v")),
        ],
    )
    def test_round_trip_through_a_file(self, sequences, tmp_path):
        arrays, header = sequences.to_arrays()
        assert json.loads(json.dumps(header)) == header
        assert all(array.dtype.kind in "iuf" for array in arrays.values())
        write_file(tmp_path / "a", arrays, header)
        stored, read = read_file(tmp_path / "a")[::-1]
        again = Sequences.from_arrays(stored, read)
        assert again.equals(sequences)
        for key in ("names", "labels", "columns"):
            assert getattr(again, key) == getattr(sequences, key)
        assert not again.values.flags.writeable

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"values": None}, "the stored sequences have no array 'values': the file is damaged"),
            ({"offsets": None}, "no array 'offsets'"),
            ({"offsets": "0 4"}, "no array 'offsets'"),
            ({"offsets": np.array([0, 9])}, "offsets must go from 0 to 4, .*, got 0 to 9"),
            (
                {"offsets": np.array([0.0, 4.0])},
                "offsets must be an array of whole numbers, got dtype float64",
            ),
            (
                {"values": np.zeros((4, 1))},
                r"stored symbols have shape \(4, 1\) and dtype float64: .*damaged",
            ),
            ({"values": np.zeros(4)}, "and dtype float64: the file is damaged"),
            ({"values": np.zeros(4, np.int64)}, "and dtype int64: the file is damaged"),
            ({"values": np.array(4, np.int32)}, r"have shape \(\) and dtype int32: the file is damaged"),
            ({"values": np.array([0, 1, -9, 0], np.int32)}, "observation 2 is -9"),
            (
                {"names": np.array([1.0])},
                "the stored array 'names' is not a list in JSON: the file is damaged",
            ),
            ({"labels": np.frombuffer(b"[1, 2, 3]", np.uint8)}, r"labels\[0\] must be a string, got 1"),
            ({"labels": np.frombuffer(b'["a", "b"', np.uint8)}, "'labels' is not a list in JSON"),
            ({"labels": np.frombuffer(b'{"a": 1}', np.uint8)}, "'labels' is not a list in JSON"),
            (
                {"labels": np.frombuffer(b'["a"]', np.uint8)},
                "labels must have one entry for each symbol from 0 to 2, got 1",
            ),
            (
                {"features": np.frombuffer(b'["a"]', np.uint8)},
                "columns must be left out, as symbols have no features",
            ),
        ],
    )
    def test_damaged_arrays_are_refused(self, changes, message):
        arrays, header = make(names=("x", "y")).to_arrays()
        arrays = {key: array for key, array in (arrays | changes).items() if array is not None}
        with fails(message):
            Sequences.from_arrays(arrays, header)

    @pytest.mark.parametrize("header", [{}, {"kind": "numbers"}, {"kind": "x"}, {"kind": []}, None, [1]])
    def test_damaged_headers_are_refused(self, header):
        with fails("the file is damaged or holds no sequences"):
            Sequences.from_arrays(make().to_arrays()[0], header)


@pytest.mark.parametrize(
    ("build", "observations", "message"),
    [
        (Sequences.from_symbols, [0, NAN], "observation 1 is NaN: pass --missing if it is missing"),
        (Sequences.from_symbols, [0, -1], "observation 1 is -1: pass --missing if it is missing"),
        (Sequences.from_values, [0, NAN], "observation 1 is NaN: pass --missing if it is missing"),
    ],
)
def test_errors_about_missing_observations_carry_the_argument(build, observations, message):
    with pytest.raises(PlaitError) as caught:
        build(observations)
    assert caught.value.argument == "missing"
    assert Argument("missing", True) in caught.value.parts
    assert caught.value.message(lambda argument: f"--{argument.name}").startswith(message)
