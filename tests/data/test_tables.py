"""Read tables: the rules that the readers of documents and of sequences share, and those they choose."""

import csv
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from plait.data import tables
from plait.data.tables import missing_column, read_table
from plait.errors import Argument, PlaitError

REMEDY = ("remove it, or see ", Argument("id_column"))


def test_cells_and_the_lines_on_which_rows_start(write):
    table = read_table(write("a.csv", '"u\nu",v\n1,"2\n\n3"\n4,5\n'))
    assert table.header == ["u\nu", "v"]
    assert (table.column("u\nu"), table.column("v")) == (["1", "4"], ["2\n\n3", "5"])
    assert table.lines.tolist() == [3, 6]


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t"), ("A.TSV.gz", "\t")])
def test_the_name_tells_the_delimiter(write, name, delimiter):
    assert read_table(write(name, f"u{delimiter}v\n1{delimiter}2\n")).header == ["u", "v"]


def test_blank_lines_are_skipped_by_default(write):
    table = read_table(write("a.csv", "u,v\n\n1,2\n\n\n3,4\n\n"))
    assert (table.cells, table.lines.tolist()) == (["1", "2", "3", "4"], [3, 6])
    assert read_table(write("a.csv", "u\n\n1\n\n")).cells == ["1"]


def test_blank_lines_can_be_empty_cells_of_a_single_column(write):
    table = read_table(write("a.csv", "u\n1\n\n3\n\n"), blank_line=REMEDY)
    assert (table.cells, table.lines.tolist()) == (["1", "", "3", ""], [2, 3, 4, 5])


def test_blank_lines_between_rows_can_be_refused(write):
    assert read_table(write("a.csv", "u,v\n1,2\n\n\n"), blank_line=REMEDY).cells == ["1", "2"]
    path = write("a.csv", "u,v\n1,2\n\n\n3,4\n")
    with pytest.raises(PlaitError) as caught:
        read_table(path, blank_line=REMEDY)
    assert caught.value.argument == "id_column"
    assert str(caught.value) == f"{path}:3: the line is blank: remove it, or see id_column"


def test_long_cells_must_be_asked_for(write):
    csv.field_size_limit(131_072)
    path = write("a.csv", "u\n" + "x" * 200_000)
    with pytest.raises(PlaitError, match=rf"^{re.escape(str(path))}:2: .*field larger than field limit"):
        read_table(path)
    assert len(read_table(path, long_cells=True).cells[0]) == 200_000
    assert csv.field_size_limit() == 131_072


def test_long_cells_are_read_by_several_threads(write, monkeypatch):
    csv.field_size_limit(131_072)
    path = write("a.csv", "u\n" + "x" * 200_000)
    second_started, first_done = threading.Event(), threading.Event()
    main = threading.current_thread()
    seconds = []

    def interleave(path, header):
        """Start a second reader while the first one is at its header; it ends after the first one."""
        if threading.current_thread() is main:
            seconds.append(pool.submit(read_table, path, long_cells=True))
            assert second_started.wait(10)
        else:
            second_started.set()
            assert first_done.wait(10)

    monkeypatch.setattr(tables, "check_header", interleave)
    with ThreadPoolExecutor(1) as pool:
        first = read_table(path, long_cells=True)
        first_done.set()
        second = seconds[0].result()
    assert first.cells == second.cells == ["x" * 200_000]
    assert csv.field_size_limit() == 131_072


def test_an_error_in_a_long_table_restores_the_limit(write):
    csv.field_size_limit(131_072)
    with pytest.raises(PlaitError, match="cells for 2 columns"):
        read_table(write("a.csv", "u,v\n1\n"), long_cells=True)
    assert csv.field_size_limit() == 131_072


def test_even_long_cells_have_a_limit(write, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_CELL", 1000)
    assert read_table(write("a.csv", "u\n" + "x" * 1000), long_cells=True).cells == ["x" * 1000]
    path = write("a.csv", "u\n" + "x" * 1001)
    with pytest.raises(PlaitError, match=r":2: the row cannot be read \(field larger than field limit"):
        read_table(path, long_cells=True)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_only_line_feeds_and_carriage_returns_end_a_line(write, ending):
    rows = ["u,v", "1\u2028,\x0b2", '"3' + ending + '4",\x1c5', "", "6,7"]
    table = read_table(write("a.csv", ending.join(rows)))
    assert table.cells == ["1\u2028", "\x0b2", f"3{ending}4", "\x1c5", "6", "7"]
    assert table.lines.tolist() == [2, 3, 6]


def test_a_missing_column_is_listed_with_the_argument_that_chooses_it():
    error = missing_column("a.csv", "w", ["u", "v"], "columns")
    assert error.argument == "columns"
    assert error.message(lambda a: f"--{a}") == (
        "a.csv:1: there is no column 'w' among 'u', 'v': pass --columns with one"
    )
