"""What a file claims is limited by its size, and so is the memory that reading it takes."""

import gc
import json
import re
import struct
import tracemalloc
import warnings

import numpy as np
import pytest

from plait.data import limits
from plait.data.corpus import Corpus
from plait.data.limits import Limit
from plait.data.readers import read, read_texts
from plait.data.sequence_files import read_sequences
from plait.data.text import TextRecipe
from plait.errors import PlaitError

BANNER = "%%MatrixMarket matrix coordinate integer general\n"


def fails(path, place, message):
    """Expect a one-line error that starts with the path and the place in it."""
    return pytest.raises(PlaitError, match=f"^{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*$")


def npy(descr, shape, data=b"", *, size=None, version=1):
    """Return the bytes of a .npy file with any header."""
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header) if size is None else size)
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


class TestCounts:
    @pytest.mark.parametrize(
        ("name", "content", "place", "message"),
        [
            (
                "docword.x.txt",
                "900000000\n4\n0\n",
                ":1",
                "the header claims 900000000 documents in a file of 14 bytes: at most 65539 are allowed;"
                " correct the header",
            ),
            ("docword.x.txt", "4\n900000000\n0\n", ":2", "claims 900000000 words .* at most 262147 are"),
            ("docword.x.txt.gz", "900000000\n4\n0\n", ":1", "in a file of 14 bytes"),
            ("a.mtx", BANNER + "900000000 4 0\n", ":2", "claims 900000000 documents"),
            ("a.mtx", BANNER + "4 900000000 0\n", ":2", "claims 900000000 words"),
            (
                "a.ldac",
                "0\n1 999999999:1\n",
                ":2",
                "word 999999999 claims a vocabulary of 1000000000 .* at most 262148 are allowed",
            ),
            (
                "a.ldac",
                "1 0:999999999\n",
                "",
                "the counts add up to 999999999 tokens in a file of 14 bytes: at most 33554544 are allowed;"
                " correct the counts, or pass max_unpacked of at least 3999999996, or use Corpus.from_matrix",
            ),
            (
                "docword.x.txt",
                "1\n1\n1\n1 1 1e300\n",
                "",
                r"the counts add up to 1e\+300 tokens .* allowed; correct the counts$",
            ),
        ],
    )
    def test_claims_beyond_the_size_of_the_file_are_refused(self, write, name, content, place, message):
        path = write(name, content)
        with fails(path, place, message):
            read(path)

    def test_claims_up_to_the_limit_are_believed(self, write):
        n_bytes = len("65550\n262160\n0\n")
        header = (limits.DOCUMENTS.most(n_bytes), limits.WORDS.most(n_bytes))
        corpus = read(write("docword.x.txt", f"{header[0]}\n{header[1]}\n0\n"))
        assert (corpus.n_documents, corpus.n_words) == header
        with fails(write("docword.x.txt", f"{header[0] + 1}\n4\n0 \n"), ":1", "documents"):
            read(write("docword.x.txt", f"{header[0] + 1}\n4\n0\n"))

    def test_large_counts_in_a_small_file_are_read(self, write):
        path = write("a.mtx", BANNER + "2 1 2\n1 1 4000000\n2 1 3200000\n")
        assert read(path).n_tokens == 7_200_000

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("docword.x.txt", "1\n1\n1\n1 1 30\n"),
            ("a.mtx", BANNER + "1 1 1\n1 1 30\n"),
            ("a.ldac", "1 0:30"),
        ],
    )
    def test_a_larger_max_unpacked_allows_larger_counts(self, write, monkeypatch, name, content):
        monkeypatch.setattr(limits, "TOKENS", Limit(2, 0))
        path = write(name, content)
        for max_unpacked, most in ((None, 2), (100, 25), (119, 29)):
            with fails(path, "", f"at most {most} are allowed; .* max_unpacked of at least 120,") as caught:
                read(path, max_unpacked=max_unpacked)
            assert caught.value.argument == "max_unpacked"
        assert read(path, max_unpacked=120).n_tokens == 30

    def test_a_small_max_unpacked_does_not_lower_the_limit_on_counts(self, write):
        assert read(write("a.ldac", "1 0:30"), max_unpacked=6).n_tokens == 30

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("docword.x.txt", "1\n30\n1\n1 30 1\n"),
            ("a.mtx", BANNER + "1 30 1\n1 30 1\n"),
            ("a.ldac", "1 29:1"),
        ],
    )
    def test_a_given_vocabulary_may_be_larger(self, write, monkeypatch, name, content):
        monkeypatch.setattr(limits, "WORDS", Limit(2, 0))
        path = write(name, content)
        with pytest.raises(PlaitError, match="at most 2 are allowed"):
            read(path)
        words = tuple(f"w{i}" for i in range(30))
        assert read(path, vocabulary=words).tokens(0) == ["w29"]


class TestSymbols:
    def test_a_large_symbol_in_a_small_table_is_refused(self, write):
        path = write("a.csv", "x\n1\n65548\n")
        with fails(
            path,
            ":3",
            "is '65548', but symbols go from 0 to 65545 in a file of 10 bytes: number them"
            " from 0 up, or in Python pass a larger n_symbols$",
        ):
            read_sequences(path, kind="symbols")
        assert read_sequences(write("a.csv", "x\n1\n65545\n"), kind="symbols").n_symbols == 65546

    @pytest.mark.parametrize("dtype", [np.int32, np.float64, np.uint64])
    def test_a_large_symbol_in_a_small_array_is_refused(self, tmp_path, dtype):
        path = tmp_path / "a.npy"
        np.save(path, np.array([1, 4_000_000], dtype))
        most = 2**16 + path.stat().st_size
        with fails(path, "", f"the symbol 4000000 is in the array, but symbols go from 0 to {most - 1} in"):
            read_sequences(path, kind="symbols")
        assert read_sequences(path, kind="symbols", n_symbols=4_000_001).n_symbols == 4_000_001
        assert read_sequences(path, kind="numbers").values.max() == 4_000_000

    def test_a_known_number_of_symbols_raises_the_limit(self, write):
        path = write("a.csv", "x\n1\n4000000\n")
        assert read_sequences(path, kind="symbols", n_symbols=4_000_001).n_symbols == 4_000_001
        with fails(path, ":3", "but symbols go from 0 to 3999999 in a file"):
            read_sequences(path, kind="symbols", n_symbols=4_000_000)
        with pytest.raises(PlaitError, match="n_symbols must be a whole number from 1 to"):
            read_sequences(path, kind="symbols", n_symbols=0)

    def test_a_symbol_beyond_what_any_number_of_symbols_allows_is_refused(self, write):
        with pytest.raises(
            PlaitError, match=r"but symbols go from 0 to 33554431 in .*: number them from 0 up$"
        ):
            read_sequences(write("a.csv", "x\n33554432\n"), kind="symbols", n_symbols=2**25)


class TestArrays:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                npy("<f8", (10**10,), b"\0" * 80),
                r"claims shape \(10000000000,\) of float64, and 80 bytes follow",
            ),
            (npy("<f8", (10,), b"\0" * 81), "and 81 bytes follow"),
            (npy("<f8", (11,), b"\0" * 80), "and 80 bytes follow"),
            (npy("<f8", (-1, -10), b"\0" * 80), r"claims shape \(-1, -10\)"),
            (npy("<f8", (1,) * 100, b"\0" * 8), "claims shape"),
            (npy("<f8", (0, 10**30)), "claims shape"),
            (npy("<f8", (0, -1)), "claims shape"),
            (npy("<f8", (-1,), b"\0" * 80), r"claims shape \(-1,\)"),
            (npy("|V0", (10**10,)), r"its dtype is '\|V0'"),
            (npy("|S0", (10**10,)), r"its dtype is '\|S"),
            (npy("<c16", (1,), b"\0" * 16), "its dtype is 'complex128'"),
            (npy("<M8[s]", (1,), b"\0" * 8), "its dtype is 'datetime64"),
            (npy("<f8", (1,), b"\0" * 8, version=3), r"version \(3, 0\) of the format"),
            (npy("<f8", (1,), b" " * 2**20, size=2**20, version=2), "reading array header"),
            (b"\x93NUMPY\x01\0\x00\x10" + b"(" * 4096, "cut short or damaged"),
            (b"\x93NUMPY\x01\0\x00\x10" + b"-" * 4095 + b"1", "cut short or damaged"),
            (b"\x93NUMPY\x01\0\x04\x00'\\d'", "cut short or damaged"),
        ],
        ids=str,
    )
    def test_a_header_that_does_not_fit_the_file_is_refused(self, write, content, message):
        path = write("a.npy", content)
        with fails(path, "", message):
            read_sequences(path, kind="numbers")

    def test_an_array_of_an_old_python_is_read_without_a_warning(self, write):
        content = npy("<i2", (3,), np.arange(3, dtype="<i2").tobytes())
        old = content.replace(b"(3,)}\n", b"(3L,)}")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert read_sequences(write("a.npy", old), kind="symbols").values.tolist() == [0, 1, 2]

    def test_the_second_version_of_the_format_is_read(self, write):
        data = np.arange(6, dtype=">i2").tobytes()
        sequences = read_sequences(write("a.npy", npy(">i2", (3, 2), data, version=2)), kind="numbers")
        assert sequences.values.tolist() == [[0, 1], [2, 3], [4, 5]]


class TestTables:
    def test_objects_with_keys_of_their_own_are_refused(self, write):
        rows = [json.dumps({"text": "war", f"k{i}": 1}) for i in range(3000)]
        path = write("a.jsonl", "\n".join(rows))
        most = limits.CELLS.most(path.stat().st_size)
        with fails(path, r":\d+", f"different keys make .* cells .*at most {most} are allowed; give all"):
            read(path)
        documents = read_texts(write("a.jsonl", "\n".join(rows[:500])), columns="all")
        assert documents.columns["k7"][6:9] == ("", "1", "")

    def test_rows_before_a_wide_object_take_no_memory(self, write):
        wide = json.dumps({"text": "war"} | {f"k{i}": 1 for i in range(3000)})
        path = write("a.jsonl", '{"text":""}\n' * 2000 + wide)
        tracemalloc.start()
        try:
            with fails(path, ":2001", "2001 rows with 3001 different keys make 6005001 cells .* allowed"):
                read_texts(path)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 * 2000 * 3000 / 4  # a quarter of what its cells would take

    def test_a_long_name_is_not_repeated_for_many_paragraphs(self, write, monkeypatch):
        monkeypatch.setattr(limits, "NAMES", Limit(1000, 2))
        recipe = TextRecipe(split_paragraphs=True)
        rows = [{"text": "war\n\n" * 100, "id": "x" * n} for n in (9, 10)]
        path = write("a.jsonl", "\n".join(map(json.dumps, rows)))
        assert read(path, recipe=recipe).names[100:102] == ("x" * 10 + " #1", "x" * 10 + " #2")
        rows[0]["id"] = "x" * 24
        path = write("a.jsonl", "\n".join(map(json.dumps, rows)))
        message = "names of the paragraphs have 3400 characters, their texts 1000: at most 3000 are allowed;"
        with fails(path, "", f"{message} shorten the names of the texts"):
            read(path, recipe=recipe)

    def test_a_wide_header_takes_linear_time(self, write):
        names = [f"c{i}" for i in range(100_000)]
        header = ",".join(names)
        path = write("a.csv", f"text,{header}\nwar{',' * len(names)}\n")
        assert len(read_texts(path, columns="all").columns) == len(names)
        numbers = write("b.csv", f"{header}\n{'1,' * (len(names) - 1)}1\n")
        assert read_sequences(numbers, kind="numbers").n_features == len(names)
        with fails(write("c.csv", f"{header},c0\n"), ":1", "has the column 'c0' twice"):
            read(write("c.csv", f"{header},c0\n"))

    def test_messages_list_only_some_of_many_columns(self, write):
        path = write("a.csv", ",".join(f"c{i}" for i in range(1000)) + "\n" + "," * 999)
        with fails(path, ":1", "no column 'text' among 'c0', .*, 'c9' and 990 more: pass text_column"):
            read(path)
        for kind in ("numbers", "symbols"):
            with pytest.raises(PlaitError) as caught:
                read_sequences(path, kind=kind)
            assert len(str(caught.value)) < 500

    def test_messages_cut_long_names(self, write):
        path = write("a.csv", f"{'x' * 10_000}\n1\n\n")
        with pytest.raises(PlaitError) as caught:
            read_sequences(path, kind="numbers")
        assert len(str(caught.value)) < 500


SIZE = 30_000
PER_BYTE = 100
BUFFER = 2**20  # for reading a file in chunks


def lines(line):
    return line * (SIZE // len(line))


def numbered(form):
    """Return text of the size that the tests use, of lines with different numbers."""
    return "\n".join(form.format(i) for i in range(SIZE // len(form.format(9999))))


ADVERSARIAL = {
    "empty lines": ("a.txt", "war" + lines("\n")),
    "lines that end in CR": ("a.txt", "war\U0001f600" + lines("\r")),
    "short lines": ("a.txt", lines("ab\n")),
    "different words": ("a.txt", numbered("a{:x}")),
    "apostrophes": ("a.txt", "é" + lines("a'")),
    "short rows": ("a.csv", "text,a\n" + lines("ab,\n")),
    "empty cells": ("a.csv", "text,b,c,d,e\n" + lines("ab,,,,\n")),
    "many columns": ("a.csv", "text," + numbered("{:x}").replace("\n", ",") + "\nab" + "," * (SIZE // 4)),
    "one key": ("a.jsonl", lines('{"text":"ab"}\n')),
    "many keys": ("a.jsonl", '{"text":"ab",' + numbered('"{:x}":1').replace("\n", ",") + "}"),
    "own keys": ("a.jsonl", numbered('{{"text":"ab","{:x}":1}}')),
    "nested lists": ("a.jsonl", '{"text":"ab","x":[' + lines("[],") + "0]}"),
    "documents and words": (
        "docword.x.txt",
        f"{SIZE // 4}\n{SIZE // 4}\n{SIZE // 6}\n" + lines("1 1 1\n"),
    ),
    "tokens": ("docword.x.txt", f"{SIZE // 4}\n{SIZE // 4}\n{SIZE // 7}\n" + lines("1 1 56\n")),
    "pairs": ("a.ldac", f"{SIZE // 7} " + lines("999:55 ") + f"\n1 {SIZE // 4 - 1}:1"),
    "observations": ("s.csv", "x\n" + lines("1\n")),
    "labels": ("s.csv", "x\n" + numbered("a{:x}")),
    "array": ("s.npy", npy("|i1", (SIZE,), bytes(SIZE))),
}


class TestMemory:
    @pytest.mark.parametrize("case", ADVERSARIAL)
    def test_reading_takes_a_multiple_of_the_size(self, write, monkeypatch, case):
        for name in ("DOCUMENTS", "WORDS", "TOKENS", "CELLS"):
            monkeypatch.setattr(limits, name, getattr(limits, name)._replace(floor=0))
        name, content = ADVERSARIAL[case]
        path = write(name, content)

        def reading():
            try:
                if name.startswith("s."):
                    read_sequences(path, kind="symbols")
                else:
                    read(path)
            except PlaitError as error:
                if "different keys" not in str(error):
                    raise

        reading()  # what is cached is not counted
        gc.collect()
        tracemalloc.start()
        try:
            reading()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < BUFFER + 100_000 + PER_BYTE * path.stat().st_size

    def test_lack_of_memory_is_told_of_the_file(self, write, monkeypatch):
        def exhausted(*arguments, **options):
            raise MemoryError

        path = write("a.txt", "war")
        monkeypatch.setattr(Corpus, "from_texts", exhausted)
        with fails(path, "", "it is too large to read into memory: pass a part of it"):
            read(path)
        table = write("a.csv", "x\n1\n")
        monkeypatch.setattr("plait.data.sequence_files.read_table", exhausted)
        with fails(table, "", "it is too large to read into memory"):
            read_sequences(table, kind="symbols")
