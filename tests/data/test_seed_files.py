"""Files of seed words."""

from __future__ import annotations

import gzip
import json

import pytest

from plait.data.seed_files import read_seeds
from plait.errors import PlaitError

SEEDS = {"tax": ("taxes", "revenue"), "war": ("army",)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.txt", "tax: taxes revenue\nwar: army\n"),
        ("s", "tax:taxes,revenue\r\n\r\n  war : army ,\r\n"),
        ("s.json", json.dumps(SEEDS)),
        ("s.JSON", "\ufeff" + json.dumps(SEEDS)),
    ],
)
def test_seeds_are_read_in_order(tmp_path, name, text):
    (tmp_path / name).write_bytes(text.encode())
    seeds = read_seeds(tmp_path / name)
    assert seeds == SEEDS
    assert list(seeds) == ["tax", "war"]


def test_encodings_and_gzip(tmp_path):
    (tmp_path / "s.gz").write_bytes(gzip.compress("größe: wörter".encode("latin-1")))
    assert read_seeds(tmp_path / "s.gz", "latin-1") == {"größe": ("wörter",)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.txt", "tax taxes", ":1: the line must be a name, a colon and words, as in .*, got 'tax taxes'"),
        ("s.txt", "\ntax:\n", ":2: the line must be a name, a colon and words"),
        ("s.txt", ": taxes", ":1: the line must be"),
        ("s.txt", "a: b\na: c", ":2: there is another topic 'a': put all its words on one line"),
        ("s.txt", "\n \n", ": there are no seed words: write one topic per line"),
        ("s.txt", "", ": the file is empty"),
        ("s.json", "{", ":1: this is not JSON "),
        ("s.json", '["a"]', ": the JSON must be an object of lists of words, .*, got "),
        ("s.json", '{"a": "b"}', ": the JSON must be an object of lists of words"),
        ("s.json", '{"a": [1]}', ": the JSON must be an object of lists of words"),
        ("s.json", '{"a": ["b"], "a": ["c"]}', ": there are two topics 'a': join their words"),
        ("s.json", "[" * 10**5, ": the JSON is nested too deeply|:1: this is not JSON"),
        ("s.json", "1" * 5000, ": "),
    ],
)
def test_other_files_are_refused_with_the_place(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PlaitError, match=rf"\A[^\n]*{name}({message})[^\n]*\Z"):
        read_seeds(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PlaitError, match=r"no-such\.txt: there is no such file"):
        read_seeds(tmp_path / "no-such.txt")
