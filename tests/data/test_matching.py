"""Data for a fitted model: read in the form of the data it was fitted to."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.matching import read_matching_sequences
from plait.data.sequences import Sequences
from plait.errors import PlaitError


def symbols(labels=None):
    return Sequences.from_symbols([0, 1, 2, 1, 0], labels=labels)


def numbers(columns=None):
    return Sequences.from_values([[0.0, 1.0], [2.0, 3.0]], columns=columns)


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a table and reads it for known data."""

    def read(known, text, n_symbols=None, **options):
        (tmp_path / "new.csv").write_text(text)
        return read_matching_sequences(tmp_path / "new.csv", known, n_symbols, **options)

    return read


@pytest.fixture
def read_array(tmp_path):
    """Return a function that stores an array and reads it for known data."""

    def read(known, array, **options):
        np.save(tmp_path / "new.npy", array)
        return read_matching_sequences(tmp_path / "new.npy", known, **options)

    return read


class TestSymbols:
    def test_labels_have_the_numbers_of_the_known_ones(self, read):
        known = symbols(labels=["sun", "rain", "fog"])
        new = read(known, "w\nfog\nsun\n")
        assert new.values.tolist() == [2, 0]
        assert new.labels == known.labels

    def test_an_unknown_label_is_refused_with_its_line(self, read):
        with pytest.raises(PlaitError, match=r"new\.csv:3: .*'snow'"):
            read(symbols(labels=["sun", "rain", "fog"]), "w\nfog\nsnow\n")

    def test_whole_numbers_stay(self, read):
        assert read(symbols(), "w\n2.0\n\n1\n", missing=True).values.tolist() == [2, -1, 1]

    def test_a_symbol_beyond_the_known_ones_is_refused_with_its_line(self, read):
        with pytest.raises(PlaitError, match=r"new\.csv:3: .*symbol 3, .*0 to 2"):
            read(symbols(), "w\n2\n3\n")

    def test_symbols_that_the_model_knows_but_the_data_lack_are_allowed(self, read):
        assert read(symbols(), "w\n2\n3\n", n_symbols=4).values.tolist() == [2, 3]
        with pytest.raises(PlaitError, match=r"new\.csv:2: .*symbol 4, .*0 to 3"):
            read(symbols(), "w\n4\n", n_symbols=4)

    def test_texts_are_refused_where_the_model_has_numbers(self, read):
        with pytest.raises(PlaitError, match=r"texts, such as 'a', .*0 to 2"):
            read(symbols(), "w\na\nb\n")

    @pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
    def test_a_symbol_beyond_the_known_ones_is_refused_in_an_array(self, read_array, labels):
        with pytest.raises(PlaitError, match=r"new\.npy: observation 2 is the symbol 3, .*0 to 2"):
            read_array(symbols(labels=labels), [0, 2, 3])


class TestNumbers:
    def test_columns_are_those_of_the_known_data(self, read):
        known = numbers(columns=["x", "y"])
        assert read(known, "y,z,x\n1,2,3\n").values.tolist() == [[3, 1]]
        with pytest.raises(PlaitError, match="no column 'x'"):
            read(known, "a,b\n1,2\n")

    def test_columns_can_be_chosen(self, read):
        known = numbers(columns=["x", "y"])
        assert read(known, "a,b\n1,2\n", columns=["b", "a"]).values.tolist() == [[2, 1]]

    def test_another_number_of_columns_is_refused(self, read):
        with pytest.raises(
            PlaitError, match=r"3 features, but .* to 2: pass columns with 2 of them"
        ) as caught:
            read(numbers(), "a,b,c\n1,2,3\n")
        assert caught.value.argument == "columns"

    def test_an_array_with_another_number_of_features_is_refused(self, read_array):
        with pytest.raises(PlaitError, match=r"1 features, but .* to 2: pass an array of shape \(N, 2\)"):
            read_array(numbers(), [1.0, 2.0])

    def test_an_array_needs_no_columns(self, read_array):
        assert read_array(numbers(columns=["x", "y"]), [[1.0, 2.0]]).values.tolist() == [[1, 2]]

    def test_ids_and_gaps_are_read_as_from_any_table(self, read):
        new = read(numbers(columns=["x", "y"]), "x,y,id\n1,2,a\n,,a\n3,4,b\n", id_column="id", missing=True)
        assert new.names == ("a", "b")
        assert new.n_missing == 1


def test_lengths_divide_an_array_into_sequences(read_array, tmp_path):
    (tmp_path / "lengths.txt").write_text("1\n2\n")
    assert read_array(symbols(), [0, 1, 2], lengths=tmp_path / "lengths.txt").offsets.tolist() == [0, 1, 3]


def test_a_large_symbol_that_the_model_knows_is_read_from_a_small_file(read, read_array):
    known = Sequences.from_symbols([0, 4_000_000])
    assert read(known, "x\n4000000\n").values.tolist() == [4_000_000]
    assert read_array(known, np.array([4_000_000])).values.tolist() == [4_000_000]
    assert read(symbols(), "x\n4000000\n", 4_000_001).values.tolist() == [4_000_000]
