"""Text from outside: on a terminal, in tables, in JSON and in shells."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import traceback
import unicodedata
import warnings

import pytest

from plait import display
from plait.display import MESSAGE_LIMIT, json_text, one_line, say, shell_word, table_cell, visible
from plait.errors import Argument, PlaitError, PlaitWarning
from plait.progress import show_count, show_progress, show_share

HIDDEN = [
    *map(chr, (*range(0x20), *range(0x7F, 0xA0))),
    *"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
    *"\ud800\udbff\udc00\udc80\udfff",
]
HOSTILE = "\x1b[31mred\r\n\t\x07\x7f\x9b2J\u202eevil\u2066\u2028\ufeff\udcff"

LETTERS = "ab'\" =+-@\t\r\n,\\\u202e\x1b\x7f\x9b\udc80é日😀0159.eE"


def random_texts(n, seed):
    rng = random.Random(seed)
    return ["".join(rng.choices(LETTERS, k=rng.randrange(7))) for _ in range(n)]


def stream_of(encoding):
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


class TestVisible:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("\x1b[31m", r"\x1b[31m"),
            ("a\nb\tc\rd", r"a\nb\tc\rd"),
            ("\x00\x7f\x9b", r"\x00\x7f\x9b"),
            ("\u202eevil\u2069", r"\u202eevil\u2069"),
            ("a\u2028b\ufeffc", r"a\u2028b\ufeffc"),
            ("\udcff\udc80.txt", r"\xff\x80.txt"),
            ("\ud800\udc7f\udd00", r"\ud800\udc7f\udd00"),
        ],
        ids=ascii,
    )
    def test_control_characters_are_escaped(self, text, shown):
        assert visible(text) == shown

    @pytest.mark.parametrize("character", HIDDEN, ids=lambda c: f"{ord(c):04x}")
    def test_every_control_character_is_escaped_alone_and_in_text(self, character):
        assert visible(character).isascii()
        assert visible(character).isprintable()
        assert visible(f"é{character}é") == f"é{visible(character)}é"

    def test_no_line_of_output_holds_a_control_character_of_any_kind(self):
        everything = "".join(map(chr, range(sys.maxunicode + 1)))
        kinds = {unicodedata.category(character) for character in visible(everything)}
        assert not kinds & {"Cc", "Cs", "Zl", "Zp"}

    @pytest.mark.parametrize(
        "text", ["", "plain", "día", "語", "नि\u200dक", "می\u200cروم", "a\xa0b", "C:\\new", "😀", "\u200f"]
    )
    def test_ordinary_text_stays_as_it_is(self, text):
        assert visible(text) is text

    def test_what_an_encoding_lacks_is_escaped_for_it(self):
        assert visible("é語😀\x1b", stream_of("ascii")) == r"\xe9\u8a9e\U0001f600\x1b"
        assert visible("é語", stream_of("cp1252")) == r"é\u8a9e"
        assert visible("é語", stream_of("utf-8")) == "é語"
        assert visible("é語", io.StringIO()) == "é語"  # has no encoding


class TestMessages:
    def test_an_error_is_one_visible_line(self):
        error = PlaitError(f"{HOSTILE}: pass ", Argument("encoding", HOSTILE), " or ", Argument("é\n"))
        for message in (str(error), error.message(), error.message(lambda argument: str(argument.value))):
            assert message == visible(message)
        assert str(PlaitError("a\nb: ", error)).startswith(r"a\nb: \x1b[31mred")

    def test_the_parts_of_an_error_stay_as_they_are(self):
        error = pickle.loads(pickle.dumps(PlaitError(HOSTILE)))
        assert error.parts == (HOSTILE,)

    def test_a_traceback_is_safe(self):
        lines = "".join(traceback.format_exception(PlaitError(f"{HOSTILE} is wrong"))).splitlines()
        assert lines == [f"plait.errors.PlaitError: {visible(HOSTILE)} is wrong"]

    def test_a_warning_is_one_visible_line(self):
        with pytest.warns(PlaitWarning) as caught:
            warnings.warn(f"{HOSTILE} is odd", PlaitWarning, stacklevel=1)
        assert str(caught[0].message) == f"{visible(HOSTILE)} is odd"

    def test_a_huge_label_does_not_fill_the_screen(self):
        error = PlaitError("file.csv: the label ", "x" * 10**6, " is wrong: remove it")
        assert len(str(error)) <= MESSAGE_LIMIT
        assert str(error).startswith("file.csv: the label xxx")
        assert str(error).endswith("xxx is wrong: remove it")
        assert len(str(PlaitWarning("x" * 10**6))) <= MESSAGE_LIMIT

    def test_a_message_up_to_the_limit_is_whole(self):
        assert one_line("x" * MESSAGE_LIMIT) == "x" * MESSAGE_LIMIT
        assert " ... " in one_line("x" * (MESSAGE_LIMIT + 1))


def restored(cell):
    """Return the text of a cell by the rule in the documentation: an added apostrophe is removed."""
    return cell[1:] if re.match("'['\" ]*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]", cell) else cell


class TestTableCell:
    @pytest.mark.parametrize(
        "text",
        [
            "=cmd|' /C calc'!A0",
            "+1+1",
            "-x",
            "@SUM(A1)",
            " =1",
            "'=1",
            "''-x",
            "' +x",
            '"=1"',
            "\uff1d1",
            "--5",
            "-5%",
            "-",
            "-e3",
            "-\u0665",
        ],
        ids=ascii,
    )
    def test_what_could_be_a_formula_gets_an_apostrophe(self, text):
        assert table_cell(text) == f"'{text}"

    @pytest.mark.parametrize(
        "text", ["", "Oslo", "a=b", "'s Gravenhage", "'", " ", "3", "-5", "+1e3", "-.5", "-0.25E-7", "1-2"]
    )
    def test_text_and_plain_numbers_stay_as_they_are(self, text):
        assert table_cell(text) == text

    @pytest.mark.parametrize("text", ["\t=1", "\r=1", "\n=1", "\tx"])
    def test_a_tab_or_a_line_break_in_front_is_guarded_or_escaped(self, text):
        assert display.without_formula(text) == f"'{text}"
        assert table_cell(text) == visible(text)  # starts with a backslash

    def test_a_cell_is_one_line_without_tabs(self):
        assert table_cell("=a\nb\tc\r\x1b") == r"'=a\nb\tc\r\x1b"

    def test_removing_one_apostrophe_restores_the_text(self):
        texts = random_texts(20_000, seed=1)
        guarded = [display.without_formula(text) for text in texts]
        assert [restored(cell) for cell in guarded] == texts
        assert 0.2 < sum(cell != text for cell, text in zip(guarded, texts, strict=True)) / len(texts) < 0.9


class TestJson:
    @pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "ascii", "cp1252"])
    def test_reading_gives_the_same_value_and_no_byte_acts_on_a_terminal(self, encoding):
        value = {text: [text, 1.5, None] for text in [HOSTILE, *HIDDEN, *random_texts(300, seed=2)]}
        text = json_text(value, stream_of(encoding))
        assert text.encode(encoding).decode(encoding) == text
        assert json.loads(text) == value
        assert text == visible(text)

    def test_letters_are_written_as_they_are_in_utf_8_alone(self):
        assert json_text("é語😀") == '"é語😀"'
        assert json_text("é語😀", stream_of("utf-8")) == '"é語😀"'
        assert json_text("é語", stream_of("cp1252")) == r'"\u00e9\u8a9e"'
        assert json_text("\x7f\u202e\udcff") == r'"\u007f\u202e\udcff"'


class TestShellWord:
    @pytest.mark.parametrize(
        ("path", "word"),
        [
            ("m.plait", "m.plait"),
            ("-x.plait", "./-x.plait"),
            ("=x", "./=x"),
            ("a b", "'a b'"),
            ("it's", "'it'\"'\"'s'"),
            ("- x", "'./- x'"),
            ("a\nb'\\", r"$'a\012b\'\\'"),
            ("\x1b1\u202eé", r"$'\0331\342\200\256é'"),
            ("\udcff", r"$'\377'"),
        ],
        ids=ascii,
    )
    def test_words(self, path, word):
        assert shell_word(path) == word
        assert visible(word) == word

    @pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    def test_bash_reads_the_path_back(self, encoding, monkeypatch):
        monkeypatch.setattr(sys, "stderr", stream_of(encoding))
        paths = [path.replace("\x00", "") for path in random_texts(300, seed=3)]
        paths += ["$(ls) `ls` $HOME !x ~ * ? # & ;", "-", "--", "", "café 語"]
        words = [shell_word(path) for path in paths]
        assert encoding == "utf-8" or all(map(str.isascii, words))
        script = f"printf '%s\\0' {' '.join(words)}"
        done = subprocess.run(["bash", "-c", os.fsencode(script)], capture_output=True, check=True)
        read = [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]
        assert [word.removeprefix("./") for word in read] == paths
        assert not any(word.startswith("-") for word in read)

    def test_windows_quotes_with_quotation_marks(self, monkeypatch):
        monkeypatch.setattr(display.os, "name", "nt")
        assert shell_word(r"C:\my files\m.plait") == r'"C:\my files\m.plait"'
        assert shell_word(r"C:\files\m.plait") == r"C:\files\m.plait"


class Full(io.StringIO):
    def flush(self):
        raise OSError(28, "No space left on device")


class TestSay:
    def test_each_line_is_one_visible_line(self, capsys):
        say("a\nb", HOSTILE)
        assert capsys.readouterr() == ("", f"a\\nb\n{visible(HOSTILE)}\n")

    @pytest.mark.parametrize("stream", [None, Full()], ids=["closed", "full"])
    def test_a_stream_that_takes_nothing_is_no_error(self, stream, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stderr", stream)
        say("a line")
        assert capsys.readouterr().out == ""

    def test_progress_needs_no_standard_error(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "stderr", None)
        monkeypatch.setattr("plait.progress.PLAIN_SECONDS", 0.0)
        with show_progress(), show_count(3, "done") as count, show_share("work") as share:
            count(1)
            share(0.5, 0.0)
        assert capsys.readouterr().out == ""
