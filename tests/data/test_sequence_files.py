"""Read sequences from tables and arrays; errors name the file, the line and the argument."""

import re

import numpy as np
import pytest

from plait.data import files
from plait.data.sequence_files import read_sequences
from plait.data.sequences import MAX_SYMBOLS
from plait.errors import PlaitError


@pytest.fixture
def save(tmp_path):
    """Return a function that saves an array in the test's folder and returns its path."""

    def save(name, array):
        np.save(tmp_path / name, array)
        return tmp_path / name

    return save


def fails(path, place, message):
    """Expect a one-line error that starts with the path and the place in it."""
    return pytest.raises(PlaitError, match=f"^{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*$")


class TestNumbers:
    def test_ids_separate_sequences(self, write):
        path = write("a.csv", "u,id,v\n1,x,2.5\n-3,x,4e2\n5,y, 6 \n")
        sequences = read_sequences(path, kind="numbers", id_column="id")
        assert sequences.values.tolist() == [[1, 2.5], [-3, 400], [5, 6]]
        assert sequences.lengths.tolist() == [2, 1]
        assert (sequences.names, sequences.columns) == (("x", "y"), ("u", "v"))

    def test_a_column_of_times_is_kept_as_text_and_is_no_observation(self, write):
        path = write("a.csv", "day,id,v\n1 May,x,2.5\n2 May,x,4\n1 May,y,6\n")
        sequences = read_sequences(path, kind="numbers", id_column="id", time_column="day")
        assert sequences.times == ("1 May", "2 May", "1 May")
        assert sequences.columns == ("v",)
        with fails(path, ":1", "there is no column 'hour'"):
            read_sequences(path, kind="numbers", id_column="id", time_column="hour")
        with pytest.raises(PlaitError, match=r"^columns must not have the time_column, got 'day'$"):
            read_sequences(path, kind="numbers", columns=["v", "day"], time_column="day")

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
    def test_tsv_has_tabs(self, write, name):
        path = write(name, "\ufeffu\tv\r\n1\t2\r\n")
        sequences = read_sequences(str(path), kind="numbers")
        assert (sequences.values.tolist(), sequences.columns) == ([[1, 2]], ("u", "v"))

    @pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", " NA ", "NAN"])
    def test_missing_rows_need_permission(self, write, cell):
        path = write("a.csv", f"u,v\n1,2\n{cell},{cell}\n3,4\n")
        sequences = read_sequences(path, kind="numbers", missing=True)
        np.testing.assert_array_equal(sequences.values, [[1, 2], [np.nan, np.nan], [3, 4]])
        with fails(path, ":3", f"column 'u' is '{cell}', which is missing: fill it in, or pass missing=True"):
            read_sequences(path, kind="numbers")

    def test_cells_of_a_row_may_be_missing(self, write):
        path = write("a.csv", "u,v\n1,2\n,\n3,NA\n")
        sequences = read_sequences(path, kind="numbers", missing=True)
        np.testing.assert_array_equal(sequences.values, [[1, 2], [np.nan, np.nan], [3, np.nan]])

    def test_a_blank_line_is_missing_in_a_single_column(self, write):
        path = write("a.csv", "u\n1\n\n3\n\n")
        sequences = read_sequences(path, kind="numbers", missing=True)
        np.testing.assert_array_equal(sequences.values[:, 0], [1, np.nan, 3, np.nan])
        with fails(path, ":3", "column 'u' is '', which is missing"):
            read_sequences(path, kind="numbers")

    def test_trailing_blank_lines_are_ignored_in_several_columns(self, write):
        path = write("a.csv", "u,v\n1,2\n\n\n")
        assert read_sequences(path, kind="numbers", missing=True).n_sites == 1

    @pytest.mark.parametrize(
        ("rows", "place", "message"),
        [
            ("1,2\n3,x\n", ":3", "column 'v' is 'x', not a number: correct it, or pass other columns"),
            ("1,2\n3,\n1_0,4\n", ":4", "column 'u' is '1_0', not a number"),
            ("1,2\n1_0,4\n", ":3", "column 'u' is '1_0', not a number"),
            ("1,2\n,\n3,?\n", ":4", r"column 'v' is '\?', not a number"),
            ("1,2\n3,-inf\n", ":3", "column 'v' is '-inf', which is not a finite number"),
            ("1,2\n1e999,4\n", ":3", "column 'u' is '1e999', which is not a finite number"),
            ('"1\n",2\n\n3,4\n', ":4", "the line is blank: remove it, or fill in its cells; id_column"),
            ('"1\n",2\n3,x\n', ":4", "column 'v' is 'x'"),
            ("1,2\n\n\n3,4\n", ":3", "the line is blank"),
            ('1,2\n"x\ny",4\n', ":3", "column 'u' is .*, not a number"),
            ("1,2\n3\n", ":3", "the row has 1 cells for 2 columns"),
            ("1,2\n3,4,5\n", ":3", "the row has 3 cells for 2 columns"),
            ('1,2\n3,"4\n', ":3", r"the row cannot be read \(unexpected end of data\): check its quotes"),
        ],
    )
    def test_errors_name_the_line(self, write, rows, place, message):
        path = write("a.csv", "u,v\n" + rows)
        with fails(path, place, message):
            read_sequences(path, kind="numbers", missing=True)


class TestIds:
    def test_the_rows_of_a_sequence_must_be_contiguous(self, write):
        path = write("a.csv", "id,u\nx,1\ny,2\ny,2\nx,3\n")
        with fails(path, ":5", "the sequence 'x', which starts on line 2, continues after another one: sort"):
            read_sequences(path, kind="numbers", id_column="id")

    @pytest.mark.parametrize("cell", ["", " "])
    def test_an_empty_id_is_refused(self, write, cell):
        path = write("a.csv", f"id,u\nx,1\n{cell},2\n")
        with fails(path, ":3", "column 'id' is empty: give each row the id of its sequence"):
            read_sequences(path, kind="numbers", id_column="id")

    def test_a_column_cannot_hold_ids_and_observations(self, write):
        with pytest.raises(PlaitError, match="columns must not have the id_column, got 'id'"):
            read_sequences(write("a.csv", "id,u\n1,1\n"), kind="numbers", id_column="id", columns=["u", "id"])

    def test_a_column_of_observations_is_required(self, write):
        path = write("a.csv", "id\n1\n")
        with fails(path, ":1", "no column of observations among 'id'"):
            read_sequences(path, kind="numbers", id_column="id")
        with fails(path, ":1", "no column of observations"):
            read_sequences(path, kind="numbers", columns=[])

    def test_columns_must_exist(self, write):
        path = write("a.csv", "id,u\nx,1\n")
        with fails(path, ":1", "no column 'name' among 'id', 'u': pass id_column with one"):
            read_sequences(path, kind="numbers", id_column="name")
        with fails(path, ":1", "no column 'w' among 'id', 'u': pass columns with one"):
            read_sequences(path, kind="numbers", columns=["u", "w"])

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ("u", "columns must be a sequence of strings, got 'u'"),
            (["u", "u"], "columns must not have duplicates, got 'u' at 0 and 1: remove one"),
        ],
    )
    def test_columns_must_be_distinct_strings(self, write, columns, message):
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

    def test_missing_texts_need_permission(self, write):
        path = write("a.csv", 'x\nwet\nNA\n""\ndry\n')
        sequences = read_sequences(path, kind="symbols", missing=True)
        assert (sequences.labels, sequences.values.tolist()) == (("dry", "wet"), [1, -1, -1, 0])
        with fails(path, ":3", "column 'x' is 'NA', which is missing: fill it in, or pass missing=True"):
            read_sequences(path, kind="symbols")

    def test_all_may_be_missing(self, write):
        sequences = read_sequences(write("a.csv", "x\nNA\nNA\n"), kind="symbols", missing=True)
        assert sequences.values.tolist() == [-1, -1]

    def test_given_labels_number_the_symbols(self, write):
        path = write("a.csv", "x\nwet\n1\nNA\n")
        sequences = read_sequences(path, kind="symbols", labels=["wet", "dry", "1"], missing=True)
        assert (sequences.labels, sequences.values.tolist()) == (("wet", "dry", "1"), [0, 2, -1])

    def test_given_labels_are_looked_up_for_whole_numbers_too(self, write):
        sequences = read_sequences(write("a.csv", "x\n10\n20\n"), kind="symbols", labels=["20", "10"])
        assert sequences.values.tolist() == [1, 0]

    def test_an_unknown_label_is_refused(self, write):
        path = write("a.csv", "x\nwet\nfoggy\nwet\n")
        with fails(
            path, ":3", "column 'x' is 'foggy', which is not among the 2 labels: correct it, or add a label"
        ):
            read_sequences(path, kind="symbols", labels=("wet", "dry"))

    @pytest.mark.parametrize("cell", [str(MAX_SYMBOLS), "9" * 5000])
    def test_symbols_above_the_limit_are_refused(self, write, cell):
        path = write("a.csv", f"x\n1\n{cell}\n")
        with fails(path, ":3", f"column 'x' is '{cell[:8]}.*, but symbols go from 0 to {MAX_SYMBOLS - 1}"):
            read_sequences(path, kind="symbols", n_symbols=MAX_SYMBOLS)

    def test_the_limit_itself_is_a_symbol(self, write):
        path = write("a.csv", f"x\n{MAX_SYMBOLS - 1}\n")
        assert read_sequences(path, kind="symbols", n_symbols=MAX_SYMBOLS).n_symbols == MAX_SYMBOLS

    def test_symbols_need_a_single_column(self, write):
        path = write("a.csv", "id,x,y\na,1,2\n")
        with fails(
            path, ":1", "symbols must be in a single column, but there are 'x', 'y': pass columns with"
        ):
            read_sequences(path, kind="symbols", id_column="id")
        assert read_sequences(path, kind="symbols", columns=["y"]).values.tolist() == [2]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ("wd", "labels must be a sequence of strings, got 'wd'"),
            (["w", "w"], "labels must not have duplicates, got 'w' at 0 and 1: remove one"),
        ],
    )
    def test_labels_must_be_distinct_strings(self, write, labels, message):
        with pytest.raises(PlaitError, match=message):
            read_sequences(write("a.csv", "x\nw\n"), kind="symbols", labels=labels)


class TestArrays:
    def test_symbols_are_read(self, save):
        path = save("a.npy", np.array([3, 0, 1]))
        sequences = read_sequences(path, kind="symbols", labels=["a", "b", "c", "d", "e"])
        assert (sequences.values.tolist(), sequences.labels) == ([3, 0, 1], ("a", "b", "c", "d", "e"))

    @pytest.mark.parametrize("shape", [(6,), (6, 1), (3, 2)])
    def test_numbers_are_read(self, save, shape):
        array = np.asfortranarray(np.arange(6.0).reshape(shape))
        sequences = read_sequences(save("a.npy", array), kind="numbers")
        np.testing.assert_array_equal(sequences.values, array.reshape(shape[0], -1))

    def test_lengths_come_from_an_array_or_text(self, save, write):
        path = save("a.npy", np.arange(6))
        for lengths in (save("l.npy", np.array([1, 5], np.uint8)), write("l.txt", "1\r\n 5 \n")):
            assert read_sequences(path, kind="symbols", lengths=lengths).lengths.tolist() == [1, 5]

    def test_missing_observations_need_permission(self, save):
        path = save("a.npy", np.array([1, np.nan]))
        assert read_sequences(path, kind="symbols", missing=True).values.tolist() == [1, -1]
        assert read_sequences(path, kind="numbers", missing=True).n_missing == 1
        for kind in ("symbols", "numbers"):
            with fails(path, "", "observation 1 is NaN: pass missing=True"):
                read_sequences(path, kind=kind)

    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.zeros((2, 2, 2)), "values must be symbols .* or numbers .*, got 3 dimensions"),
            (np.array(3.0), "values must be an array with a row for each observation"),
            (np.array(["a"]), r"not an array of numbers, .*its dtype is '<U1'"),
            (np.zeros(2, [("a", int)]), "its dtype is .*'a', '<i8'"),
            (np.array([1.0, np.inf]), "observation 1 is inf"),
            (np.zeros(0), "no observations"),
        ],
    )
    def test_arrays_of_other_shapes_or_types_are_refused(self, save, array, message):
        path = save("a.npy", array)
        with fails(path, "", message):
            read_sequences(path, kind="numbers")

    def test_objects_are_not_loaded(self, save):
        path = save("a.npy", np.array([1, None], object))
        with fails(path, "", "not an array of numbers.*its dtype is 'object'.*numpy.save"):
            read_sequences(path, kind="numbers")

    def test_damaged_files_are_refused(self, save, write):
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
            ("1\nx\n", ":2", "the line is 'x': lengths are whole numbers, one per line"),
            ("1\n\n2\n", ":2", "the line is ''"),
            ("1\n-5\n", ":2", "the line is '-5'"),
            ("1 5\n", ":1", "the line is '1 5'"),
            ("9" * 30, ":1", "the line is '9999"),
            ("", "", "the file is empty: pass one with a length on each line"),
        ],
    )
    def test_a_text_file_of_lengths_has_one_whole_number_per_line(self, save, write, content, place, message):
        path = write("l.txt", content)
        with fails(path, place, message):
            read_sequences(save("a.npy", np.arange(6)), kind="symbols", lengths=path)

    def test_lengths_must_fit_the_observations(self, save, tmp_path):
        path = save("a.npy", np.arange(6))
        lengths = save("l.npy", np.array([[1, 5]]))
        with fails(lengths, "", "lengths must be a one-dimensional array, got 2 dimensions"):
            read_sequences(path, kind="symbols", lengths=lengths)
        lengths = save("l.npy", np.array([1.0, 5.0]))
        with fails(lengths, "", "lengths must be an array of whole numbers, got dtype float64"):
            read_sequences(path, kind="symbols", lengths=lengths)
        with fails(path, "", "lengths must add up to 6, the number of observations, got 7"):
            read_sequences(path, kind="symbols", lengths=save("l.npy", np.array([1, 6])))
        with fails(tmp_path / "no.npy", "", "there is no such file"):
            read_sequences(path, kind="symbols", lengths=tmp_path / "no.npy")
        with fails(tmp_path / "no.txt", "", "there is no such file"):
            read_sequences(path, kind="symbols", lengths=tmp_path / "no.txt")
        with fails(tmp_path, "", "this is a folder, not a file: pass a file of lengths"):
            read_sequences(path, kind="symbols", lengths=tmp_path)
        with pytest.raises(PlaitError, match=r"^lengths must be the path of a file .*, got \[1, 5\]$"):
            read_sequences(path, kind="symbols", lengths=[1, 5])


class TestFiles:
    @pytest.mark.parametrize("name", ["a.csv", "a.npy"])
    def test_a_missing_file_is_named(self, tmp_path, name):
        with fails(tmp_path / name, "", "there is no such file: check the path"):
            read_sequences(tmp_path / name, kind="numbers")

    def test_a_folder_is_not_a_file(self, tmp_path):
        for path in (tmp_path, tmp_path / "a.csv", tmp_path / "a.npy"):
            path.mkdir(exist_ok=True)
            with fails(path, "", "this is a folder, not a file: pass a .csv"):
                read_sequences(path, kind="numbers")

    @pytest.mark.parametrize("name", ["a.txt", "a", "a.npy.gz", "a.npz"])
    def test_the_ending_tells_the_format(self, write, tmp_path, name):
        with fails(tmp_path / name, "", "there is no such file: check the path"):
            read_sequences(tmp_path / name, kind="numbers")
        match = "the format cannot be inferred from the name: pass a file whose name ends in"
        with fails(write(name, "1"), "", match):
            read_sequences(tmp_path / name, kind="numbers")

    def test_errors_of_the_system_are_reported(self, save, monkeypatch):
        def broken(path):
            raise OSError(5, "Input/output error")

        path = save("a.npy", np.arange(3))
        monkeypatch.setattr(files, "_open", broken)
        with fails(path, "", r"it cannot be read \(Input/output error\): check the disk"):
            read_sequences(path, kind="symbols")

    @pytest.mark.parametrize(
        ("content", "place", "message"),
        [
            ("", "", "the file is empty: pass a table with a header"),
            ("\n\n", "", "the file is empty"),
            ("\nu\n1\n", "", "the file starts with a blank line: pass a table with a header"),
            ("u,v\n", "", "there are no observations: pass a table with rows"),
            ("u,v\n\n", "", "there are no observations"),
            ("u,v,u\n1,2,3\n", ":1", "the header has the column 'u' twice"),
            (b"u\n1\n\xe4\n", ":3", "byte 0xe4 at position 4 is not utf-8"),
        ],
    )
    def test_a_table_needs_a_header_and_rows(self, write, content, place, message):
        path = write("a.csv", content)
        with fails(path, place, message):
            read_sequences(path, kind="numbers")

    def test_the_encoding_can_be_chosen(self, write):
        path = write("a.csv", "x\nété\n".encode("latin-1"))
        assert read_sequences(path, kind="symbols", encoding="latin-1").labels == ("été",)

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("a.csv", {"kind": "words"}, "kind must be one of 'symbols', 'numbers', got 'words'"),
            ("a.csv", {"kind": ["symbols"]}, "kind must be one of 'symbols', 'numbers', got .'symbols'"),
            (
                "a.csv",
                {"kind": "numbers", "n_symbols": 3},
                "n_symbols must be left out, as numbers are not symbols, got 3",
            ),
            (
                "a.csv",
                {"kind": "numbers", "labels": ["a"]},
                "labels must be left out, as only symbols have labels",
            ),
            (
                "a.csv",
                {"kind": "numbers", "lengths": "l.npy"},
                "lengths must be left out, .* by id_column, got 'l.npy'",
            ),
            (
                "a.npy",
                {"kind": "numbers", "id_column": "i"},
                "id_column must be left out, as an array has .*, got 'i'; .*pass lengths",
            ),
            (
                "a.npy",
                {"kind": "numbers", "columns": ["u"]},
                r"columns must be left out, as an array has no named columns, got \['u'\]",
            ),
        ],
    )
    def test_arguments_must_fit_the_format(self, name, options, message):
        with pytest.raises(PlaitError, match=message):
            read_sequences(name, **options)

    def test_a_path_must_be_a_path(self):
        with pytest.raises(PlaitError, match="path must be the path of a file, got 3"):
            read_sequences(3, kind="numbers")


def option(argument):
    """Name an argument as a command would."""
    name = "--" + argument.name.replace("_", "-")
    return name if argument.value in (None, True) else f"{name} {argument.value}"


class TestArguments:
    @pytest.mark.parametrize(
        ("content", "options", "argument", "message"),
        [
            ("u,v\n1,2\nNA,NA\n", {}, "missing", ":3: .* which is missing: fill it in, or pass --missing$"),
            (
                "u,v\n1,2\n3,x\n",
                {},
                "columns",
                ":3: .* 'x', not a number: correct it, or pass other --columns$",
            ),
            (
                "u,v\n1,2\n\n3,4\n",
                {},
                "id_column",
                ":3: the line is blank: .*; --id-column, not a blank line",
            ),
            ("u\n1\n", {"id_column": "id"}, "id_column", ":1: .* among 'u': pass --id-column with one$"),
            ("u\n1\n", {"columns": ["v"]}, "columns", ":1: .* among 'u': pass --columns with one$"),
            ("u\n1\n", {"columns": []}, "columns", ":1: .* among 'u': pass --columns with one$"),
            ("u\n1\n", {"columns": ["u", "u"]}, "columns", "^--columns must not have duplicates"),
            (
                "u\n1\n",
                {"columns": ["u"], "id_column": "u"},
                "columns",
                "^--columns must not have the --id-column",
            ),
            (
                "u\n1\n",
                {"lengths": "l"},
                "lengths",
                "a.csv: --lengths must be left out, .* by --id-column, got",
            ),
            (
                "u,v\n1,2\n",
                {"kind": "symbols"},
                "columns",
                ":1: .*: pass --columns with one, and --id-column if",
            ),
            ("u\nx\n\n", {"kind": "symbols"}, "missing", ":3: .* which is missing: .* pass --missing$"),
            (
                "u\nx\n",
                {"kind": "symbols", "labels": "x"},
                "labels",
                "^--labels must be a sequence of strings",
            ),
            ("u\n1\n", {"kind": "words"}, "kind", "^--kind must be one of"),
            (b"u\n\xe4\n", {}, "encoding", ":2: .* such as --encoding cp1252$"),
        ],
    )
    def test_errors_about_tables_carry_the_argument(self, write, content, options, argument, message):
        with pytest.raises(PlaitError) as caught:
            read_sequences(write("a.csv", content), **{"kind": "numbers"} | options)
        assert caught.value.argument == argument
        assert re.search(message, caught.value.message(option))

    @pytest.mark.parametrize(
        ("options", "argument", "message"),
        [
            ({}, "missing", "a.npy: observation 1 is NaN: pass --missing if it is missing"),
            ({"id_column": "i"}, "id_column", "a.npy: --id-column must be left out, .*pass --lengths$"),
            ({"columns": ["i"]}, "columns", "a.npy: --columns must be left out, .*pass --lengths$"),
            (
                {"missing": True, "lengths": "l.txt"},
                "lengths",
                "a.npy: --lengths must add up to 2, .*, got 3$",
            ),
            ({"lengths": "l.npy"}, "lengths", "l.npy: --lengths must be an array of whole numbers"),
            ({"lengths": [1, 1]}, "lengths", "^--lengths must be the path of a file"),
        ],
    )
    def test_errors_about_arrays_carry_the_argument(
        self, save, write, monkeypatch, tmp_path, options, argument, message
    ):
        monkeypatch.chdir(tmp_path)
        write("l.txt", "1\n2\n")
        save("l.npy", np.array([1.0, 1.0]))
        with pytest.raises(PlaitError) as caught:
            read_sequences(save("a.npy", np.array([1, np.nan])), **{"kind": "numbers"} | options)
        assert caught.value.argument == argument
        assert re.search(message, caught.value.message(option))
