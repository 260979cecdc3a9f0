"""Reading sequences: tables and arrays, and the file and line in each complaint."""

import gzip
import re

import numpy as np
import pytest

from plait.data.sequence_files import read_sequences
from plait.data.sequences import MAX_SYMBOLS
from plait.errors import PlaitError


@pytest.fixture
def write(tmp_path):
    """Write a file in the test's folder and return its path."""

    def write(name, content):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def save(tmp_path):
    """Write an array in the test's folder and return its path."""

    def save(name, array):
        np.save(tmp_path / name, array)
        return tmp_path / name

    return save


def fails(path, place, message):
    """Expect a one-line error that starts with the path and the place in it."""
    return pytest.raises(PlaitError, match=f"^{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*$")


class TestNumbers:
    def test_several_sequences(self, write):
        path = write("a.csv", "u,id,v\n1,x,2.5\n-3,x,4e2\n5,y, 6 \n")
        sequences = read_sequences(path, kind="numbers", id_column="id")
        assert sequences.values.tolist() == [[1, 2.5], [-3, 400], [5, 6]]
        assert sequences.lengths.tolist() == [2, 1]
        assert (sequences.names, sequences.columns) == (("x", "y"), ("u", "v"))

    def test_one_sequence_without_ids(self, write):
        sequences = read_sequences(write("a.csv", "u,v\n1,2\n3,4\n"), kind="numbers")
        assert (sequences.n_sequences, sequences.names) == (1, None)
        assert sequences.values.tolist() == [[1, 2], [3, 4]]

    def test_columns_can_be_chosen_and_ordered(self, write):
        path = write("a.csv", "day,u,v\nmon,1,2\ntue,3,4\n")
        sequences = read_sequences(path, kind="numbers", columns=["v", "u"])
        assert sequences.values.tolist() == [[2, 1], [4, 3]]
        assert sequences.columns == ("v", "u")

    @pytest.mark.parametrize("name", ["a.tsv", "a.TSV", "a.tsv.gz"])
    def test_tabs(self, write, name):
        path = write(name, "\ufeffu\tv\r\n1\t2\r\n")
        sequences = read_sequences(str(path), kind="numbers")
        assert (sequences.values.tolist(), sequences.columns) == ([[1, 2]], ("u", "v"))

    @pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", " NA ", "NAN"])
    def test_missing(self, write, cell):
        path = write("a.csv", f"u,v\n1,2\n{cell},{cell}\n3,4\n")
        sequences = read_sequences(path, kind="numbers", missing=True)
        np.testing.assert_array_equal(sequences.values, [[1, 2], [np.nan, np.nan], [3, 4]])
        with fails(path, ":3", f"column 'u' is '{cell}', which is missing: fill it in, or pass missing=True"):
            read_sequences(path, kind="numbers")

    def test_a_blank_line_is_missing_in_a_single_column(self, write):
        path = write("a.csv", "u\n1\n\n3\n\n")
        sequences = read_sequences(path, kind="numbers", missing=True)
        np.testing.assert_array_equal(sequences.values[:, 0], [1, np.nan, 3, np.nan])
        with fails(path, ":3", "column 'u' is '', which is missing"):
            read_sequences(path, kind="numbers")

    def test_blank_lines_at_the_end_of_several_columns(self, write):
        path = write("a.csv", "u,v\n1,2\n\n\n")
        assert read_sequences(path, kind="numbers", missing=True).n_sites == 1

    @pytest.mark.parametrize(
        ("rows", "place", "message"),
        [
            ("1,2\n3,x\n", ":3", "column 'v' is 'x', not a number: correct it, or name other columns"),
            ("1,2\n3,\n1_0,4\n", ":4", "column 'u' is '1_0', not a number"),
            ("1,2\n1_0,4\n", ":3", "column 'u' is '1_0', not a number"),
            ("1,2\n,\n3,?\n", ":4", r"column 'v' is '\?', not a number"),
            ("1,2\n3,-inf\n", ":3", "column 'v' is '-inf', which is not a finite number"),
            ("1,2\n1e999,4\n", ":3", "column 'u' is '1e999', which is not a finite number"),
            ("1,2\n,\n3,\n", ":4", "column 'v' is '', which is missing, but others of its row are not"),
            ('"1\n",2\n\n3,4\n', ":4", "the line is blank: remove it, or fill in its cells; id_column"),
            ('"1\n",2\n3,x\n', ":4", "column 'v' is 'x'"),
            ("1,2\n\n\n3,4\n", ":3", "the line is blank"),
            ('1,2\n"x\ny",4\n', ":3", "column 'u' is .*, not a number"),
            ("1,2\n3\n", ":3", "the row has 1 cells for 2 columns"),
            ("1,2\n3,4,5\n", ":3", "the row has 3 cells for 2 columns"),
            ('1,2\n3,"4\n', ":3", r"the row cannot be read \(unexpected end of data\): check its quotes"),
        ],
    )
    def test_mistakes(self, write, rows, place, message):
        path = write("a.csv", "u,v\n" + rows)
        with fails(path, place, message):
            read_sequences(path, kind="numbers", missing=True)


class TestIds:
    def test_an_id_that_comes_back(self, write):
        path = write("a.csv", "id,u\nx,1\ny,2\ny,2\nx,3\n")
        with fails(
            path, ":5", "the sequence 'x', which begins on line 2, comes back after another one: sort"
        ):
            read_sequences(path, kind="numbers", id_column="id")

    @pytest.mark.parametrize("cell", ["", " "])
    def test_an_empty_id(self, write, cell):
        path = write("a.csv", f"id,u\nx,1\n{cell},2\n")
        with fails(path, ":3", "column 'id' is empty: give each row the id of its sequence"):
            read_sequences(path, kind="numbers", id_column="id")

    def test_a_column_cannot_be_both(self, write):
        with pytest.raises(PlaitError, match="columns has 'id', which is the id_column"):
            read_sequences(write("a.csv", "id,u\n1,1\n"), kind="numbers", id_column="id", columns=["u", "id"])

    def test_only_ids(self, write):
        path = write("a.csv", "id\n1\n")
        with fails(path, ":1", "no column of observations among 'id'"):
            read_sequences(path, kind="numbers", id_column="id")
        with fails(path, ":1", "no column of observations"):
            read_sequences(path, kind="numbers", columns=[])

    def test_columns_that_are_not_there(self, write):
        path = write("a.csv", "id,u\nx,1\n")
        with fails(path, ":1", "no column 'name' among 'id', 'u': pass id_column with one"):
            read_sequences(path, kind="numbers", id_column="name")
        with fails(path, ":1", "no column 'w' among 'id', 'u': pass columns with one"):
            read_sequences(path, kind="numbers", columns=["u", "w"])

    @pytest.mark.parametrize(
        ("columns", "message"),
        [("u", "columns is 'u': pass a sequence"), (["u", "u"], r"columns\[1\] is 'u' again")],
    )
    def test_what_columns_are(self, write, columns, message):
        with pytest.raises(PlaitError, match=message):
            read_sequences(write("a.csv", "id,u\nx,1\n"), kind="numbers", columns=columns)


class TestSymbols:
    def test_whole_numbers_are_the_symbols(self, write):
        path = write("a.csv", "id,x\na,3\na, 10\nb,0\n")
        sequences = read_sequences(path, kind="symbols", id_column="id")
        assert sequences.values.tolist() == [3, 10, 0]
        assert (sequences.names, sequences.labels, sequences.n_symbols) == (("a", "b"), None, 11)

    def test_whole_numbers_with_a_point_and_gaps(self, write):
        path = write("a.csv", "x\n2.0\n\n0.\nNA\n1\n")
        sequences = read_sequences(path, kind="symbols", missing=True)
        assert (sequences.values.tolist(), sequences.labels) == ([2, -1, 0, -1, 1], None)

    def test_texts_are_labels_in_sorted_order(self, write):
        path = write("a.csv", "x\nwet\n dry\nwet\n10\n")
        sequences = read_sequences(path, kind="symbols")
        assert sequences.labels == ("10", "dry", "wet")
        assert sequences.values.tolist() == [2, 1, 2, 0]

    @pytest.mark.parametrize("cell", ["-1", "1.5", "٣", "1e1"])
    def test_a_single_other_text_makes_all_of_them_labels(self, write, cell):
        sequences = read_sequences(write("a.csv", f"x\n1\n{cell}\n"), kind="symbols")
        assert sequences.labels == tuple(sorted(["1", cell]))

    def test_missing_texts(self, write):
        path = write("a.csv", 'x\nwet\nNA\n""\ndry\n')
        sequences = read_sequences(path, kind="symbols", missing=True)
        assert (sequences.labels, sequences.values.tolist()) == (("dry", "wet"), [1, -1, -1, 0])
        with fails(path, ":3", "column 'x' is 'NA', which is missing: fill it in, or pass missing=True"):
            read_sequences(path, kind="symbols")

    def test_all_missing(self, write):
        sequences = read_sequences(write("a.csv", "x\nNA\nNA\n"), kind="symbols", missing=True)
        assert sequences.values.tolist() == [-1, -1]

    def test_given_labels(self, write):
        path = write("a.csv", "x\nwet\n1\nNA\n")
        sequences = read_sequences(path, kind="symbols", labels=["wet", "dry", "1"], missing=True)
        assert (sequences.labels, sequences.values.tolist()) == (("wet", "dry", "1"), [0, 2, -1])

    def test_given_labels_are_looked_up_for_whole_numbers_too(self, write):
        sequences = read_sequences(write("a.csv", "x\n10\n20\n"), kind="symbols", labels=["20", "10"])
        assert sequences.values.tolist() == [1, 0]

    def test_an_unknown_label(self, write):
        path = write("a.csv", "x\nwet\nfoggy\nwet\n")
        with fails(
            path, ":3", "column 'x' is 'foggy', but not among the 2 labels: correct it, or add a label"
        ):
            read_sequences(path, kind="symbols", labels=("wet", "dry"))

    @pytest.mark.parametrize("cell", [str(MAX_SYMBOLS), "9" * 5000])
    def test_too_large(self, write, cell):
        path = write("a.csv", f"x\n1\n{cell}\n")
        with fails(path, ":3", f"column 'x' is '{cell[:8]}.*, but symbols go from 0 to {MAX_SYMBOLS - 1}"):
            read_sequences(path, kind="symbols")

    def test_the_largest(self, write):
        path = write("a.csv", f"x\n{MAX_SYMBOLS - 1}\n")
        assert read_sequences(path, kind="symbols").n_symbols == MAX_SYMBOLS

    def test_several_columns(self, write):
        path = write("a.csv", "id,x,y\na,1,2\n")
        with fails(path, ":1", "symbols stand in a single column, but there are 'x', 'y': pass columns with"):
            read_sequences(path, kind="symbols", id_column="id")
        assert read_sequences(path, kind="symbols", columns=["y"]).values.tolist() == [2]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [("wd", "labels is 'wd': pass a sequence"), (["w", "w"], r"labels\[1\] is 'w' again")],
    )
    def test_what_labels_are(self, write, labels, message):
        with pytest.raises(PlaitError, match=message):
            read_sequences(write("a.csv", "x\nw\n"), kind="symbols", labels=labels)


class TestArrays:
    def test_symbols(self, save):
        path = save("a.npy", np.array([3, 0, 1]))
        sequences = read_sequences(path, kind="symbols", labels=["a", "b", "c", "d", "e"])
        assert (sequences.values.tolist(), sequences.labels) == ([3, 0, 1], ("a", "b", "c", "d", "e"))

    @pytest.mark.parametrize("shape", [(6,), (6, 1), (3, 2)])
    def test_numbers(self, save, shape):
        array = np.asfortranarray(np.arange(6.0).reshape(shape))
        sequences = read_sequences(save("a.npy", array), kind="numbers")
        np.testing.assert_array_equal(sequences.values, array.reshape(shape[0], -1))

    def test_lengths(self, save, write):
        path = save("a.npy", np.arange(6))
        for lengths in (save("l.npy", np.array([1, 5], np.uint8)), write("l.txt", "1\r\n 5 \n")):
            assert read_sequences(path, kind="symbols", lengths=lengths).lengths.tolist() == [1, 5]

    def test_missing(self, save):
        path = save("a.npy", np.array([1, np.nan]))
        assert read_sequences(path, kind="symbols", missing=True).values.tolist() == [1, -1]
        assert read_sequences(path, kind="numbers", missing=True).n_missing == 1
        for kind in ("symbols", "numbers"):
            with fails(path, "", "observation 1 is NaN: pass missing=True"):
                read_sequences(path, kind=kind)

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((2, 2, 2)), "values has 3 dimensions"),
            (np.array(3.0), "pass an array with a row for each observation"),
            (np.array(["a"]), "observation 0 is 'a', not a number"),
            (np.zeros(2, [("a", int)]), "values has dtype"),
            (np.array([1.0, np.inf]), "observation 1 is inf"),
            (np.zeros(0), "no observations"),
        ],
    )
    def test_arrays_that_will_not_do(self, save, array, message):
        path = save("a.npy", array)
        with fails(path, "", message):
            read_sequences(path, kind="numbers")

    def test_objects_are_not_loaded(self, save):
        path = save("a.npy", np.array([1, None], object))
        with fails(path, "", "not an array of numbers.*Object arrays cannot be loaded.*numpy.save"):
            read_sequences(path, kind="numbers")

    def test_damaged_files(self, save, write):
        whole = save("a.npy", np.arange(100.0)).read_bytes()
        header = whole.replace(b"(100,)", b"(10**9")
        huge = whole.replace(b"(100,), }     ", b"(10000000000,)}")
        damaged = [
            whole[:500],
            whole[:100],
            whole[:7],
            b"",
            b"PK\x03\x04",
            b"text",
            header,
            huge[: len(whole)],
        ]
        for k, content in enumerate(damaged):
            path = write(f"{k}.npy", content)
            with fails(path, "", "it is not an array of numbers, or is cut short or damaged"):
                read_sequences(path, kind="numbers")

    @pytest.mark.parametrize(
        ("content", "place", "message"),
        [
            ("1\nx\n", ":2", "the line is 'x': lengths are whole numbers, one a line"),
            ("1\n\n2\n", ":2", "the line is ''"),
            ("1\n-5\n", ":2", "the line is '-5'"),
            ("1 5\n", ":1", "the line is '1 5'"),
            ("9" * 30, ":1", "the line is '9999"),
            ("", "", "the file is empty: pass one with a length on each line"),
        ],
    )
    def test_text_that_is_no_lengths(self, save, write, content, place, message):
        path = write("l.txt", content)
        with fails(path, place, message):
            read_sequences(save("a.npy", np.arange(6)), kind="symbols", lengths=path)

    def test_arrays_that_are_no_lengths(self, save, tmp_path):
        path = save("a.npy", np.arange(6))
        lengths = save("l.npy", np.array([[1, 5]]))
        with fails(lengths, "", "the array of lengths has 2 dimensions"):
            read_sequences(path, kind="symbols", lengths=lengths)
        lengths = save("l.npy", np.array([1.0, 5.0]))
        with fails(lengths, "", "the array of lengths has dtype float64"):
            read_sequences(path, kind="symbols", lengths=lengths)
        with fails(path, "", "the lengths add up to 7, but there are 6 observations"):
            read_sequences(path, kind="symbols", lengths=save("l.npy", np.array([1, 6])))
        with fails(tmp_path / "no.npy", "", "there is no such file"):
            read_sequences(path, kind="symbols", lengths=tmp_path / "no.npy")
        with fails(tmp_path / "no.txt", "", "there is no such file"):
            read_sequences(path, kind="symbols", lengths=tmp_path / "no.txt")
        with fails(tmp_path, "", "this is a folder, not a file: pass a file of lengths"):
            read_sequences(path, kind="symbols", lengths=tmp_path)
        with pytest.raises(PlaitError, match=r"^lengths is \[1, 5\]: pass the path of a file"):
            read_sequences(path, kind="symbols", lengths=[1, 5])


class TestFiles:
    @pytest.mark.parametrize("name", ["a.csv", "a.npy"])
    def test_missing_files(self, tmp_path, name):
        with fails(tmp_path / name, "", "there is no such file: check the path"):
            read_sequences(tmp_path / name, kind="numbers")

    def test_folders(self, tmp_path):
        for path in (tmp_path, tmp_path / "a.csv", tmp_path / "a.npy"):
            path.mkdir(exist_ok=True)
            with fails(path, "", "this is a folder, not a file: pass a .csv"):
                read_sequences(path, kind="numbers")

    @pytest.mark.parametrize("name", ["a.txt", "a", "a.npy.gz", "a.npz"])
    def test_endings(self, write, tmp_path, name):
        with fails(tmp_path / name, "", "there is no such file: pass a file whose name ends in .csv"):
            read_sequences(tmp_path / name, kind="numbers")
        with fails(write(name, "1"), "", "the name does not tell the format: pass a file whose name ends in"):
            read_sequences(tmp_path / name, kind="numbers")

    def test_trouble_with_an_array(self, save, monkeypatch):
        def broken(file, **options):
            raise OSError(5, "Input/output error")

        path = save("a.npy", np.arange(3))
        monkeypatch.setattr(np.lib.format, "read_array", broken)
        with fails(path, "", r"it cannot be read \(Input/output error\): check the disk"):
            read_sequences(path, kind="symbols")

    @pytest.mark.parametrize(
        ("content", "place", "message"),
        [
            ("", "", "the file is empty: pass a table with a header"),
            ("\n\n", "", "the file is empty"),
            ("\nu\n1\n", "", "the file begins with a blank line: pass a table with a header"),
            ("u,v\n", "", "there are no observations: pass a table with rows"),
            ("u,v\n\n", "", "there are no observations"),
            ("u,v,u\n1,2,3\n", ":1", "the header has the column 'u' twice"),
            (b"u\n1\n\xe4\n", ":3", "byte 0xe4 at position 4 is not utf-8"),
        ],
    )
    def test_contents(self, write, content, place, message):
        path = write("a.csv", content)
        with fails(path, place, message):
            read_sequences(path, kind="numbers")

    def test_other_encodings(self, write):
        path = write("a.csv", "x\nété\n".encode("latin-1"))
        assert read_sequences(path, kind="symbols", encoding="latin-1").labels == ("été",)

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("a.csv", {"kind": "words"}, "kind is 'words': pass 'symbols' or 'numbers'"),
            ("a.csv", {"kind": ["symbols"]}, "kind is .*: pass 'symbols' or 'numbers'"),
            ("a.csv", {"kind": "numbers", "labels": ["a"]}, "only symbols have labels: leave it out"),
            (
                "a.csv",
                {"kind": "numbers", "lengths": "l.npy"},
                "lengths is 'l.npy', but .*id_column: pass that",
            ),
            (
                "a.npy",
                {"kind": "numbers", "id_column": "i"},
                "id_column is 'i', but an array has .*pass lengths",
            ),
            (
                "a.npy",
                {"kind": "numbers", "columns": ["u"]},
                r"columns is \['u'\], but an array has no named",
            ),
        ],
    )
    def test_options_that_do_not_fit(self, name, options, message):
        with pytest.raises(PlaitError, match=message):
            read_sequences(name, **options)

    def test_what_a_path_is(self):
        with pytest.raises(PlaitError, match="path is 3: pass the path of a file"):
            read_sequences(3, kind="numbers")
