"""What separates the cells of a table is found out from its header and first rows, or given."""

import pytest

from plait.data.readers import read_texts
from plait.data.tables import read_table
from plait.errors import PlaitError


@pytest.mark.parametrize(
    ("content", "header"),
    [
        ("id;text\n1;a, b\n2;c, d, e\n", ["id", "text"]),
        ("id\ttext\n1\ta, b; c\n", ["id", "text"]),
        ("id|text\n1|a, b; c\n", ["id", "text"]),
        ("id,text\n1,a; b\n2,c; d; e\n", ["id", "text"]),
        ('id;"name, first";text\n1;"x; y, z";b\n', ["id", "name, first", "text"]),
        ("id;name, first\n1;x\n2;y\n", ["id", "name, first"]),
        ("id,b;c\n1;2\n3;4,5\n", ["id,b", "c"]),
        ("\ufeffid;text\r\n1;a\r\n", ["id", "text"]),
        ("id;text\n", ["id", "text"]),
        ('id;text\n1;"a\n\n;;;\nb"\n2;c\n', ["id", "text"]),
    ],
)
def test_the_delimiter_is_the_one_that_fits_header_and_rows(write, content, header):
    assert read_table(write("a.csv", content)).header == header


def test_a_header_with_one_column_has_no_delimiter(write):
    assert read_table(write("a.csv", 'text\n"a, b"\nc; d|e\tf\n')).cells == ["a, b", "c; d|e\tf"]
    with pytest.raises(PlaitError, match=":2: the row has 2 cells for 1 columns, separated by commas"):
        read_table(write("a.csv", "text\na, b; c\n"))


def test_few_odd_rows_do_not_change_the_delimiter(write):
    path = write("a.csv", "id;a,b\n" + "1;2\n" * 50 + "1,2\n")
    with pytest.raises(
        PlaitError, match=r":52: the row has 1 cells for 2 columns, separated by semicolons: "
    ) as caught:
        read_table(path)
    assert caught.value.argument == "delimiter"


@pytest.mark.parametrize(
    ("delimiter", "name"), [("semicolon", ";"), ("|", "|"), ("tab", "\t"), ("\\t", "\t"), ("#", "#")]
)
def test_a_delimiter_can_be_given(write, delimiter, name):
    content = f"text,x{name}y\na,b{name}c\n"
    assert read_table(write("a.tsv", content), delimiter=delimiter).header == ["text,x", "y"]


@pytest.mark.parametrize("delimiter", ["", "ab", " ", '"', "\n", "\0", 3])
def test_what_is_no_delimiter_is_refused(write, delimiter):
    with pytest.raises(PlaitError, match="delimiter must be a single character, or one of 'comma', "):
        read_table(write("a.csv", "u\n1\n"), delimiter=delimiter)


def test_tables_with_commas_and_semicolons_have_the_same_documents(write):
    rows = [("id", "text"), ("1", "a, b; c"), ("2", 'say "x"'), ("3", "")]
    found = []
    for delimiter in ",;\t|":
        lines = [delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
        found.append(read_texts(write("a.csv", "\n".join(lines))))
    assert found[0].texts == ("a, b; c", 'say "x"', "")
    assert all(documents == found[0] for documents in found)
