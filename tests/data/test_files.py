"""Read files: what is unpacked, pipes and devices, paths that cannot be, and encodings."""

import gzip
import os
import re
import socket
import threading
import warnings

import numpy as np
import pytest

from plait.data import files
from plait.data.files import check_encoding, error_at, read_bytes, read_lines, read_text
from plait.data.matching import read_matching_sequences
from plait.data.readers import read, read_texts
from plait.data.sequence_files import read_sequences
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError


def fails(path, place, message):
    """Expect a one-line error that starts with the path and the place in it."""
    return pytest.raises(PlaitError, match=f"^{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*$")


class TestUnpacking:
    @pytest.fixture(autouse=True)
    def low_limits(self, monkeypatch):
        monkeypatch.setattr(files, "UNPACKED_FLOOR", 1000)
        monkeypatch.setattr(files, "UNPACKED_RATIO", 4)

    def test_a_small_file_may_unpack_to_the_floor(self, write):
        assert read_bytes(write("a.gz", b"a" * 1000)) == b"a" * 1000
        path = write("a.gz", b"a" * 1001)
        assert path.stat().st_size < 1000 / files.UNPACKED_RATIO
        with fails(path, "", "it unpacks to more than 1000 bytes: check .*, or pass a larger max_unpacked"):
            read_bytes(path)

    def test_a_larger_file_may_unpack_to_a_multiple_of_its_size(self, write):
        data = np.random.default_rng(0).bytes(400) + b"a" * 100_000
        path = write("a.gz", data)
        limit = files.UNPACKED_RATIO * path.stat().st_size
        assert 1000 < limit < len(data)
        with fails(path, "", f"it unpacks to more than {limit} bytes"):
            read_bytes(path)

    def test_the_limit_can_be_raised_and_lowered(self, write):
        path = write("a.gz", b"a" * 1001)
        assert len(read_bytes(path, 1001)) == 1001
        with fails(path, "", "it unpacks to more than 1000 bytes"):
            read_bytes(path, 1000)
        with fails(write("a.txt", "war"), "", "it has more than 2 bytes"):
            read_bytes(write("a.txt", "war"), 2)

    def test_no_more_is_unpacked_than_the_limit(self, write, monkeypatch):
        sizes = []

        class Recording(gzip.GzipFile):
            def read(self, size=-1):
                sizes.append(size)
                return super().read(size)

        monkeypatch.setattr(gzip, "GzipFile", Recording)
        with pytest.raises(PlaitError):
            read_bytes(write("a.gz", b"a" * 10**5))
        assert sizes == [1001]

    @pytest.mark.parametrize("limit", [0, -1, 1.5, "1M", True])
    def test_the_limit_is_a_number_of_bytes(self, write, limit):
        with pytest.raises(PlaitError, match="max_unpacked must be a whole number of at least 1, got"):
            read_bytes(write("a.txt", "war"), limit)

    def test_files_of_several_members_are_read(self, tmp_path):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(gzip.compress(b"war\n") + gzip.compress(b"") + gzip.compress(b"tax\n") + b"\0" * 9)
        assert read_lines(path) == (["war", "tax"], 8)

    def test_every_reader_has_the_limit(self, write, tmp_path):
        text = write("a.txt.gz", "war " * 500)
        table = write("a.csv.gz", "x\n" + "1\n" * 1000)
        counts = write("docword.x.txt.gz", "1\n1\n0\n" + "\n" * 2000)
        words = write("words.txt.gz", "war\npeace" + " " * 2000)
        lengths = write("l.txt.gz", "1\n1" + " " * 2000)
        np.save(tmp_path / "a.npy", [1, 0])
        known = Sequences.from_symbols([0, 1])
        calls = [
            (text, lambda path, **o: read(path, **o)),
            (text, lambda path, **o: read_texts(path, **o)),
            (counts, lambda path, **o: read(path, **o)),
            (words, lambda path, **o: read(write("b.txt", "war"), vocabulary=path, **o)),
            (table, lambda path, **o: read_sequences(path, kind="symbols", **o)),
            (table, lambda path, **o: read_matching_sequences(path, known, **o)),
            (
                lengths,
                lambda path, **o: read_sequences(tmp_path / "a.npy", kind="symbols", lengths=path, **o),
            ),
        ]
        for path, call in calls:
            with fails(path, "", "it unpacks to more than 1000 bytes"):
                call(path)
            call(path, max_unpacked=10_000)

    def test_the_files_of_a_folder_have_one_limit(self, write, tmp_path):
        for k in range(3):
            write(f"d/{k}.txt.gz", b"a" * 900)
        with fails(tmp_path / "d", "", "it unpacks to more than .* bytes"):
            read(tmp_path / "d")
        assert read(tmp_path / "d", max_unpacked=2700).n_documents == 3


class TestPipesAndDevices:
    def test_a_pipe_is_read(self, tmp_path):
        path = tmp_path / "a.txt"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_text, args=("war\ntax\n",))
        writer.start()
        try:
            assert read_texts(path).texts == ("war", "tax")
        finally:
            writer.join()

    def test_a_pipe_without_a_name_is_read_after_its_writer_left(self):
        reading, writing = os.pipe()
        os.write(writing, b"war")
        os.close(writing)
        try:
            assert read_text(f"/dev/fd/{reading}") == "war"
        finally:
            os.close(reading)

    def test_a_pipe_whose_writer_left_without_a_word_is_empty(self):
        reading, writing = os.pipe()
        os.close(writing)
        try:
            assert read_bytes(f"/dev/fd/{reading}") == b""
        finally:
            os.close(reading)

    @pytest.mark.parametrize(
        ("call", "remedy"),
        [
            (lambda path, _: read(path, format="lines"), "pass one with documents"),
            (lambda path, _: read(path, format="csv"), "pass a table with a header"),
            (
                lambda path, array: read_sequences(array, kind="symbols", lengths=path),
                "pass one with a length on each line",
            ),
        ],
    )
    def test_an_empty_pipe_is_not_called_a_file(self, tmp_path, call, remedy):
        np.save(tmp_path / "a.npy", [1, 0])
        reading, writing = os.pipe()
        os.close(writing)
        try:
            with fails(f"/dev/fd/{reading}", "", f"the pipe is empty: {remedy}"):
                call(f"/dev/fd/{reading}", tmp_path / "a.npy")
        finally:
            os.close(reading)

    def test_a_pipe_without_a_writer_is_given_up(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "PIPE_PATIENCE", 0.05)
        os.mkfifo(tmp_path / "a.txt")
        with fails(tmp_path / "a.txt", "", "a pipe to which no program wrote within 0.05 seconds: start"):
            read(tmp_path / "a.txt")

    def test_a_pipe_has_a_limit(self, monkeypatch):
        monkeypatch.setattr(files, "PIPE_LIMIT", 3)
        for data, limit in ((b"wars", None), (b"wars", 4)):
            reading, writing = os.pipe()
            os.write(writing, data)
            os.close(writing)
            try:
                if limit is None:
                    with fails(f"/dev/fd/{reading}", "", "it has more than 3 bytes"):
                        read_bytes(f"/dev/fd/{reading}")
                else:
                    assert read_bytes(f"/dev/fd/{reading}", limit) == data
            finally:
                os.close(reading)

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
    def test_a_device_is_refused(self, device):
        with fails(device, "", "this is a device, not a file: pass a file"):
            read(device, format="lines")

    def test_a_socket_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)  # names of sockets are short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("a.csv")
            with fails("a.csv", "", "this is a socket, not a file: pass a file"):
                read_sequences("a.csv", kind="numbers")

    def test_no_descriptor_is_left_open(self, tmp_path, monkeypatch):
        monkeypatch.setattr(files, "PIPE_PATIENCE", 0.0)
        os.mkfifo(tmp_path / "a.txt")
        before = len(os.listdir("/dev/fd"))
        for _ in range(3):
            with pytest.raises(PlaitError):
                read(tmp_path / "a.txt")
        assert len(os.listdir("/dev/fd")) == before

    def test_a_file_that_grows_while_it_is_read_has_the_limit_of_its_first_size(self, write, monkeypatch):
        monkeypatch.setattr(files, "UNPACKED_FLOOR", 100)
        path = write("a.txt", "war")

        class Growing:
            def __init__(self, file):
                self.file = file

            def __getattr__(self, name):
                return getattr(self.file, name)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.file.close()

            def read(self, size):
                return b"a" * min(size, 60)

        plain_open = files._open
        monkeypatch.setattr(files, "_open", lambda path: Growing(plain_open(path)))
        with fails(path, "", "it has more than 100 bytes"):
            read_bytes(path)


class TestPaths:
    @pytest.mark.parametrize("name", ["a\0b.csv", "\0", "\ud800.csv"])
    def test_characters_that_no_path_has_are_refused(self, name, tmp_path):
        message = "must be a path without NUL characters or lone surrogates, got"
        for call, argument in (
            (lambda: read(name), "path"),
            (lambda: read_sequences(name, kind="symbols"), "path"),
            (lambda: read_matching_sequences(name, Sequences.from_symbols([0])), "path"),
            (lambda: read_text(name), "path"),
        ):
            with pytest.raises(PlaitError, match=f"^{argument} {message}") as caught:
                call()
            caught.value.message().encode()

    @pytest.mark.parametrize("name", ["a" * 300 + ".csv", "a" * 300])
    def test_long_names_are_refused(self, tmp_path, name):
        with fails(tmp_path / name, "", r"it cannot be read \(File name too long\)"):
            read(tmp_path / name)
        with fails(tmp_path / name, "", r"it cannot be read \(File name too long\)"):
            read_sequences(tmp_path / name, kind="symbols")

    @pytest.mark.parametrize("name", ["a.csv", "a"])
    def test_links_in_a_circle_are_refused(self, tmp_path, name):
        path = tmp_path / name
        path.symlink_to(path)
        for call in (lambda: read(path), lambda: read_sequences(path, kind="symbols")):
            with fails(path, "", r"it cannot be read \(Too many levels of symbolic links\)"):
                call()

    def test_paths_are_shown_on_one_line_as_unicode(self):
        assert str(error_at("été/नि\u200dक.txt", None, "x")) == "été/नि\u200dक.txt: x"
        assert str(error_at(os.fsdecode(b"a\xff\n.txt"), 3, "x")) == r"a\xff\n.txt:3: x"
        assert str(error_at("\ud800", None, "x")) == r"\ud800: x"


class TestFolders:
    def test_links_to_folders_are_not_followed_and_pipes_are_left_out(self, write, tmp_path):
        write("d/a.txt", "war")
        (tmp_path / "d" / "up").symlink_to(tmp_path)
        (tmp_path / "d" / "gone.txt").symlink_to("nowhere")
        (tmp_path / "d" / "same.txt").symlink_to("a.txt")
        os.mkfifo(tmp_path / "d" / "pipe.txt")
        assert read(tmp_path / "d").names == ("a.txt", "same.txt")

    def test_names_that_are_not_utf8_are_escaped(self, tmp_path):
        folder = os.fsencode(tmp_path)
        for name in (b"b\xff.txt", b"a\n.txt", "c\u200d.txt".encode()):
            with open(os.path.join(folder, name), "w") as file:
                file.write("war")
        names = read(tmp_path).names
        assert names == (r"a\n.txt", r"b\xff.txt", "c\u200d.txt")
        with open(os.path.join(folder, b"b\xff.txt"), "wb") as file:
            file.write(b"\xe4")
        with pytest.raises(PlaitError, match=r"/b\\xff.txt:1: byte 0xe4"):
            read(tmp_path)

    def test_a_subfolder_that_cannot_be_listed_is_an_error(self, write, tmp_path, monkeypatch):
        write("a.txt", "war")
        closed = write("sub/b.txt", "tax").parent
        scandir = os.scandir

        def denied(path):
            if str(path).rstrip("/") == str(closed):
                raise PermissionError(13, "Permission denied")
            return scandir(path)

        monkeypatch.setattr(os, "scandir", denied)
        with fails(f"{closed}/", "", "permission to read it is denied"):
            read(tmp_path)


class TestEncodings:
    @pytest.mark.parametrize(
        "encoding",
        [
            *("undefined", "idna", "punycode", "hex", "base64", "rot13", "zip", "utf-7"),
            *("unicode_escape", "raw_unicode_escape", "", "utf8000", "é", "\0", "utf-8\0", "\ud800", 3, None),
        ],
    )
    def test_what_is_no_encoding_of_text_is_refused(self, write, encoding):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(PlaitError, match=r"^encoding must be an encoding of text") as caught:
                read(write("a.txt", rb"war \d+"), encoding=encoding)
        assert caught.value.argument == "encoding"
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
    def test_text_of_other_encodings_is_read(self, write, encoding):
        check_encoding(encoding)
        path = write("a.txt", "été\r\ntax\n".encode(encoding))
        assert read_texts(path, encoding=encoding).texts == ("été", "tax")

    def test_the_line_of_a_wrong_byte_is_that_of_the_text(self, write):
        # U+0A00 has the byte of a line feed, which does not end a line.
        path = write("a.txt", "\u0a00\u0a00\nwar".encode("utf-16-le") + b"\x00\xd8")
        with fails(path, ":2", "byte 0x00 at position 12 is not utf-16-le"):
            read(path, encoding="utf-16-le")

    @pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "docword.a"])
    def test_nul_characters_are_refused(self, write, name):
        path = write(name, "text\nwar tax\n".encode("utf-16-le"))
        with fails(path, ":1", "there is a NUL character, .*such as encoding='utf-16'") as caught:
            read(path)
        assert Argument("encoding", "utf-16") in caught.value.parts
