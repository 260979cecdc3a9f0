"""Read documents from workbooks of Excel: cells as text, sheets, limits, and damaged files."""

import datetime
import random
import re
import sys
import zipfile

import pytest

from plait.data import limits, workbooks
from plait.data.documents import Documents
from plait.data.limits import Limit
from plait.data.readers import read, read_texts
from plait.errors import PlaitError

openpyxl = pytest.importorskip("openpyxl")


def fails(path, message, place=""):
    return pytest.raises(PlaitError, match=rf"\A{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*\Z")


@pytest.fixture
def book(tmp_path):
    """Return a function that writes a workbook with the given rows in each sheet, and returns its path."""

    def written(sheets, name="a.xlsx"):
        made = openpyxl.Workbook()
        made.remove(made.active)
        for title, rows in sheets.items():
            sheet = made.create_sheet(title)
            for row in rows:
                sheet.append(row)
        made.save(tmp_path / name)
        return tmp_path / name

    return written


SHEET, STRINGS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def put_together(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def edited(path, part, old, new):
    """Replace text in a part of a workbook."""
    parts = parts_of(path)
    assert old in parts[part]
    return put_together(path, parts | {part: parts[part].replace(old, new)})


def shared(path):
    """Move the texts of the first sheet to a list to which the cells point, as Excel does."""
    parts = parts_of(path)
    texts = []

    def pointed(match):
        texts.append(match[1])
        return f't="s"><v>{len(texts) - 1}</v></c>'

    sheet = re.sub('t="inlineStr"><is>(.*?)</is></c>', pointed, parts[SHEET])
    strings = "".join(f"<si>{text}</si>" for text in texts)
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    override = f'<Override PartName="/{STRINGS}" ContentType="{_TYPES}.sharedStrings+xml"/></Types>'
    types = parts["[Content_Types].xml"].replace("</Types>", override)
    more = {SHEET: sheet, STRINGS: f'<sst xmlns="{space}">{strings}</sst>', "[Content_Types].xml": types}
    return put_together(path, parts | more)


class TestCells:
    def test_numbers_and_dates_become_text(self, book):
        rows = [
            ["text", "id", "date", "n", "b"],
            ["war", 3, datetime.datetime(2016, 12, 30), 1.5, True],
            ["tax", 4.0, datetime.date(1999, 1, 2), None, None],
            [1863, "x", datetime.datetime(2016, 12, 30, 7, 11), 10, False],
        ]
        assert read_texts(book({"s": rows}), columns="all") == Documents(
            ("war", "tax", "1863"),
            ("3", "4", "x"),
            ("2016-12-30", "1999-01-02", "2016-12-30"),
            {"n": ("1.5", "", "10"), "b": ("true", "", "false")},
        )

    def test_blank_rows_and_columns_without_a_name_are_skipped(self, book):
        rows = [[], [None, "text", None, " id "], [], ["x", "war", "y", 1], [None, " "], [None, "tax"]]
        assert read_texts(book({"s": rows})) == Documents(("war", "tax"), ("1", ""))

    def test_errors_have_the_number_of_the_row(self, book):
        path = book({"s": [["text", "date"], [], ["war", "3/4/2017"]]})
        with fails(path, "can be read in two ways", place=":3"):
            read(path)

    def test_control_characters_of_excel_are_white_space(self, book):
        path = shared(book({"s": [["text"], ["war and peace"]]}))
        edited(path, STRINGS, "war and", "war_x000D_\nand_x0001_")
        assert read_texts(path).texts[0].split() == ["war", "and", "peace"]

    @pytest.mark.parametrize(
        ("sheets", "message"),
        [
            ({"s": []}, "the workbook is empty: pass a table with a header"),
            ({"s": [["text"]]}, "there are no documents"),
            ({"s": [["body"], ["war"]]}, "no column 'text' among 'body': pass text_column"),
            ({"s": [["text", "a", "a"], ["war"]]}, "has the column 'a' twice"),
        ],
    )
    def test_tables_without_texts_are_refused(self, book, sheets, message):
        path = book(sheets)
        with fails(path, message, place="(:1)?"):
            read(path)


class TestSheets:
    SHEETS = {"one": [["text"], ["war"]], "two": [["text"], ["tax"]], "empty": []}  # noqa: RUF012

    def test_a_sheet_can_be_chosen(self, book):
        assert read_texts(book(self.SHEETS), sheet="two").texts == ("tax",)

    def test_the_only_sheet_with_cells_is_taken(self, book):
        assert read_texts(book({"empty": [], "one": [["text"], ["war"]]})).texts == ("war",)

    def test_one_of_several_must_be_chosen(self, book):
        path = book(self.SHEETS)
        with fails(path, "there are the sheets 'one', 'two': pass sheet with one"):
            read(path)
        with fails(path, "there is no sheet 'six' among 'one', 'two', 'empty': pass sheet with one"):
            read(path, sheet="six")
        with fails(path, "the sheet 'empty' is empty"):
            read(path, sheet="empty")

    def test_other_formats_have_no_sheets(self, write):
        path = write("a.csv", "text\nwar\n")
        with fails(
            path, "sheet must be left out, as the format 'csv' has no sheets, got 'x': it is for xlsx"
        ):
            read(path, sheet="x")


class TestDamage:
    @pytest.mark.parametrize("content", [b"", b"text\nwar\n", b"PK\x03\x04" + bytes(100)])
    def test_what_is_no_workbook_is_refused(self, write, content):
        path = write("a.xlsx", content)
        with fails(
            path, r"the workbook cannot be read \(.*\): open it in a spreadsheet program, and save it again"
        ):
            read(path)

    def test_old_and_encrypted_workbooks_are_refused(self, write):
        path = write("a.xlsx", workbooks._OLD_FORMAT + bytes(1000))
        with fails(path, "this is an .xls or encrypted workbook: save it as .xlsx"):
            read(path)

    def test_without_openpyxl_it_says_what_to_install(self, book, monkeypatch):
        path = book({"s": [["text"], ["war"]]})
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with fails(path, r'this needs openpyxl.*: pip install "plait\[files\]"'):
            read(path)

    def test_damaged_bytes_are_read_or_refused_in_one_line(self, book):
        rows = [["text", "id", "date"], *([f"war {k}", k, datetime.date(1999, 1, k)] for k in range(1, 20))]
        path = shared(book({"s": rows}))
        parts = parts_of(path)
        rng = random.Random(1)
        messages = []
        for _ in range(150):
            name = rng.choice([SHEET, STRINGS, "xl/workbook.xml", "xl/styles.xml"])
            changed = bytearray(parts[name].encode())
            for _ in range(rng.choice((1, 2, 8))):
                changed[rng.randrange(len(changed))] = rng.choice(b'<>"/=09Azr\xff&')
            put_together(path, parts | {name: bytes(changed)})
            try:
                read_texts(path)
            except PlaitError as error:
                messages.append(str(error))
        assert 20 < len(messages) < 150
        assert all(message.startswith(f"{path}:") for message in messages)


class TestLimits:
    def test_a_bomb_is_refused_before_it_is_unpacked(self, book):
        path = book({"s": [["text"], ["war"]]})
        edited(path, SHEET, "<sheetData>", "<sheetData>" + " " * 20_000_000)
        assert path.stat().st_size < 100_000
        with fails(path, "it unpacks to more than 16777216 bytes: .*max_unpacked"):
            read(path)
        assert read_texts(path, max_unpacked=2**26).texts == ("war",)

    def test_one_long_text_in_many_cells_is_refused(self, book):
        path = shared(book({"s": [["text"], *([["y"]] * 700), ["x" * 30_000]]}))
        parts = parts_of(path)
        put_together(path, parts | {SHEET: re.sub("<v>[1-9][0-9]*", "<v>701", parts[SHEET])})
        with fails(path, "it unpacks to more than 16777216 bytes"):
            read(path)

    def test_entities_are_not_expanded(self, book):
        path = book({"s": [["text"], ["war"]]})
        edited(path, SHEET, "<worksheet", '<!DOCTYPE a [<!ENTITY b "xxxxxxxx">]><worksheet')
        edited(path, SHEET, "war", "war&b;")
        with fails(path, "the workbook cannot be read"):
            read(path)

    def test_dimensions_that_a_file_claims_take_no_memory(self, book):
        path = book({"s": [["text"], ["war"]]})
        edited(path, SHEET, 'ref="A1:A2"', 'ref="A1:XFD1048576"')
        assert read_texts(path).texts == ("war",)

    def test_a_row_beyond_those_of_excel_is_refused(self, book, monkeypatch):
        monkeypatch.setattr(workbooks, "_MOST_ROWS", 1000)
        path = edited(book({"s": [["text"], ["war"]]}), SHEET, 'r="2"', 'r="999999999999"')
        with fails(path, "a sheet has at most 1000 rows", place=":1001"):
            read(path)

    def test_wide_tables_of_empty_cells_are_refused(self, book, monkeypatch):
        monkeypatch.setattr(limits, "CELLS", Limit(1000, 0))
        path = book({"s": [["text", *(f"c{k}" for k in range(99))], *([["war"]] * 20)]})
        with fails(path, "11 rows of 100 columns in a file of .* at most 1000 are allowed", place=":12"):
            read(path)
