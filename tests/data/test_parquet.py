"""Read documents from Parquet files: values as text, limits, and damaged files."""

import datetime
import decimal
import random
import re
import sys

import pytest

from plait.data import limits, parquet
from plait.data.documents import Documents
from plait.data.limits import Limit
from plait.data.readers import read, read_texts
from plait.errors import PlaitError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def fails(path, message, place=""):
    return pytest.raises(PlaitError, match=rf"\A{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*\Z")


@pytest.fixture
def store(tmp_path):
    """Return a function that writes columns to a file, and returns its path."""

    def written(columns, name="a.parquet", **options):
        pq.write_table(pa.table(columns), tmp_path / name, **options)
        return tmp_path / name

    return written


def test_values_become_text(store):
    noon = datetime.datetime(2016, 12, 30, 12)
    path = store(
        {
            "text": ["war", None, "tax"],
            "id": pa.array([3.0, None, 5.0]),
            "date": pa.array([noon, None, noon], pa.timestamp("ns", "UTC")),
            "day": pa.array([datetime.date(1999, 1, 2)] * 3),
            "tags": [["é", "x"], [], None],
            "party": pa.array(["R", "D", "R"]).dictionary_encode(),
            "price": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.00"), None]),
            "key": pa.array([b"a", b"b", None]),
            "n": pa.array([1, None, 3], pa.int8()),
        }
    )
    assert read_texts(path, columns="all") == Documents(
        ("war", "", "tax"),
        ("3", "", "5"),
        ("2016-12-30", "", "2016-12-30"),
        {
            "day": ("1999-01-02",) * 3,
            "tags": ('["é", "x"]', "[]", ""),
            "party": ("R", "D", "R"),
            "price": ("1.50", "2", ""),
            "key": ("a", "b", ""),
            "n": ("1", "", "3"),
        },
    )


def test_rows_are_read_in_order_over_groups_and_batches(store, monkeypatch):
    monkeypatch.setattr(parquet, "_ROWS_AT_A_TIME", 3)
    texts = [f"war {k % 4}" for k in range(20)]
    assert read_texts(store({"text": texts}, row_group_size=7)).texts == tuple(texts)


def test_columns_can_be_chosen_and_have_dots(store):
    path = store({"a.b": ["war"], "a": [[{"c": "x"}]], "year": [1863]})
    documents = read_texts(path, text_column="a.b", date_column="year")
    assert documents == Documents(("war",), None, ("1863",))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"body": ["war"]}, "no column 'text' among 'body': pass text_column"),
        ({"text": pa.array([], pa.string())}, "there are no documents"),
        ({"text": ["war"], "date": ["3/4/2017"]}, "can be read in two ways"),
    ],
)
def test_tables_without_texts_are_refused(store, columns, message):
    path = store(columns)
    with fails(path, message, place="(:1)?"):
        read(path)


def test_two_columns_of_one_name_are_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array(["war"]), pa.array(["tax"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "a.pq")
    with fails(tmp_path / "a.pq", "has the column 'text' twice", place=":1"):
        read(tmp_path / "a.pq")


class TestDamage:
    @pytest.mark.parametrize("content", [b"", b"text\nwar\n", b"PAR1" + b"x" * 100 + b"PAR1"])
    def test_what_is_no_parquet_file_is_refused(self, write, content):
        path = write("a.parquet", content)
        with fails(path, r"the Parquet file cannot be read \(.*\): write it again"):
            read(path)

    def test_texts_that_are_not_unicode_are_refused(self, store):
        texts = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
        path = store({"text": texts})
        with fails(path, "cannot be read .UnicodeDecodeError"):
            read(path)

    def test_without_pyarrow_it_says_what_to_install(self, store, monkeypatch):
        path = store({"text": ["war"]})
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with fails(path, r'this needs pyarrow.*: pip install "plait\[files\]"'):
            read(path)

    def test_damaged_bytes_are_read_or_refused_in_one_line(self, store):
        path = store({"text": [f"war {k}" for k in range(50)], "id": list(range(50)), "date": ["1999"] * 50})
        valid = path.read_bytes()
        rng = random.Random(1)
        messages = []
        for _ in range(300):
            changed = bytearray(valid)
            for _ in range(rng.choice((1, 2, 8))):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            path.write_bytes(changed)
            try:
                read_texts(path)
            except PlaitError as error:
                messages.append(str(error))
        assert 20 < len(messages) < 300
        assert all(message.startswith(f"{path}:") for message in messages)


class TestLimits:
    def test_more_rows_than_the_file_can_hold_are_refused(self, store, monkeypatch):
        path = store({"text": ["war"] * 5000})
        monkeypatch.setattr(limits, "CELLS", Limit(100, 1))
        with fails(path, "the header claims 5000 rows in a file of .* are allowed; split the table"):
            read(path)

    def test_one_long_text_in_many_rows_is_refused(self, store):
        path = store({"text": ["x" * 100_000] * 1000})
        assert path.stat().st_size < 100_000
        usual = pa.default_memory_pool()
        pool = pa.proxy_memory_pool(usual)
        pa.set_memory_pool(pool)
        try:
            with fails(path, "more than 16777216 bytes: .*max_unpacked"):
                read(path)
        finally:
            pa.set_memory_pool(usual)
        assert pool.max_memory() < 10_000_000
        assert len(read_texts(path, max_unpacked=2**27).texts) == 1000
