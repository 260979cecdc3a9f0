"""Encoded corpora hold what reading the file would, and fits to them have the same bits."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plait
from plait.data.encoded import MANIFEST, EncodedCorpus, encode, is_encoded
from plait.data.streams import Stream
from plait.errors import PlaitError
from plait.storage import DamagedFile

TEXTS = [
    f"Doc {k}, with\ncommas" if k == 3 else " ".join(f"word{(k * j) % 23}s" for j in range(k % 40))
    for k in range(400)
]
RECIPE = plait.TextRecipe(language="en", stem="english", min_count=3)


def write(path: Path, kind: str) -> Path:
    rows = [{"text": text, "id": f"n{k}", "date": str(1900 + k % 50)} for k, text in enumerate(TEXTS)]
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n\n" for row in rows), encoding="utf-8")
    elif kind == "jsonl.gz":
        path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    elif kind == "csv":
        cells = "".join(f'"{r["text"]}",{r["id"]},{r["date"]}\r\n' for r in rows)
        path.write_text("\ufefftext,id,date\r\n" + cells, newline="", encoding="utf-8")
    elif kind == "parquet":
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet")
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(text.replace("\n", " ") + "\n" for text in TEXTS))
    return path


@pytest.mark.parametrize("kind", ["txt", "csv", "jsonl", "jsonl.gz", "parquet"])
def test_an_encoded_corpus_is_that_of_the_file(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"texts.{kind}", kind)
    encoded = encode(Stream(path), tmp_path / "encoded", RECIPE, shard_tokens=1000)
    assert len(list((tmp_path / "encoded").glob("shard-*"))) > 3
    whole = plait.Corpus.read(
        path if kind != "parquet" else write(tmp_path / "texts.csv", "csv"), recipe=RECIPE
    )
    assert encoded.equals(whole)
    assert (encoded.names, encoded.dates, encoded.forms) == (whole.names, whole.dates, whole.forms)
    assert encoded.recipe == whole.recipe
    np.testing.assert_array_equal(encoded.frequencies, np.bincount(whole.words))
    for first, last in [(0, 1), (3, 170), (250, 400), (17, 17)]:
        begin, end = whole.offsets[first], whole.offsets[last]
        np.testing.assert_array_equal(encoded.words_of(first, last), whole.words[begin:end])


def test_the_language_is_found_and_paragraphs_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    text = "The ship was in the harbour for a week.\n\nIt had been there since the storm of the spring."
    path.write_text(json.dumps({"text": text, "id": "a"}) * 1 + "\n")
    recipe = plait.TextRecipe(split_paragraphs=True)
    encoded = encode(Stream(path), tmp_path / "encoded", recipe)
    assert encoded.equals(plait.Corpus.read(path, recipe=recipe))
    assert encoded.names == ("a #1", "a #2")
    assert encoded.recipe is not None
    assert encoded.recipe.language == "en"


@pytest.fixture
def encoded(tmp_path: Path) -> EncodedCorpus:
    return encode(
        Stream(write(tmp_path / "t.jsonl", "jsonl")), tmp_path / "encoded", RECIPE, shard_tokens=1000
    )


def test_a_fit_to_an_encoded_corpus_has_the_same_bits(encoded: EncodedCorpus, tmp_path: Path) -> None:
    corpus = plait.Corpus(encoded.words, encoded.offsets, encoded.vocabulary)
    one = plait.sample(plait.LdaModel(corpus, 4), n_paths=2, n_sweeps=4)
    again = EncodedCorpus.open(encoded.folder, words_in=tmp_path)
    path = tmp_path / "run.plait"
    run = plait.sample(plait.LdaModel(again, 4), n_paths=2, n_sweeps=3, checkpoint=path, paths_in=tmp_path)
    assert path.stat().st_size < 2 * 2 * corpus.n_tokens + 50_000
    resumed = plait.resume(path, n_sweeps=4)
    assert run.sweep == 3
    np.testing.assert_array_equal(one.paths, resumed.paths)
    np.testing.assert_array_equal(one.parameters().phi, plait.load(path).parameters().phi)


def test_a_run_whose_corpus_is_gone_or_another_is_refused(encoded: EncodedCorpus, tmp_path: Path) -> None:
    path = tmp_path / "run.plait"
    plait.sample(plait.LdaModel(encoded, 4), n_paths=1, n_sweeps=1, checkpoint=path)
    encode(Stream(write(tmp_path / "t.txt", "txt")), encoded.folder, RECIPE, overwrite=True)
    with pytest.raises(PlaitError, match="is not the one that it was fitted to"):
        plait.load(path)
    encoded.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(PlaitError, match=r"its corpus is not at .* any more: move"):
        plait.load(path)


@pytest.mark.parametrize("name", [MANIFEST, "shard-00001"])
def test_damage_is_found(name: str, encoded: EncodedCorpus) -> None:
    file = encoded.folder / name
    content = bytearray(file.read_bytes())
    content[-3] ^= 255
    file.write_bytes(content)
    with pytest.raises(DamagedFile, match="encode the documents again"):
        EncodedCorpus.open(encoded.folder).words  # noqa: B018


def test_what_exists_is_not_replaced_by_mistake(encoded: EncodedCorpus, tmp_path: Path) -> None:
    stream = Stream(tmp_path / "t.jsonl")
    with pytest.raises(PlaitError, match="encoded exists: choose another name, or replace it with overwrite"):
        encode(stream, encoded.folder, RECIPE)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(PlaitError, match=r"other exists: choose another name$"):
        encode(stream, other, RECIPE, overwrite=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b'{"text": "a b"}\n{"body": 1}\n', ":2: there is no key 'text'"),
        (b"[1]\n", ":1: the line is"),
        (b'{"text": "caf\xe9"}\n', "byte 0xe9 is not utf-8: .* encoding='latin-1'"),
        (b'{"text": "12 34"}\n', "no words are left"),
    ],
)
def test_mistakes_in_the_file_leave_nothing_behind(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(PlaitError, match=message):
        encode(Stream(path), tmp_path / "encoded", RECIPE)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bad.jsonl"]
    assert not is_encoded(tmp_path / "encoded")


def test_what_cannot_be_streamed_is_refused(tmp_path: Path) -> None:
    path: Any = write(tmp_path / "t.txt", "txt")
    with pytest.raises(PlaitError, match="phrases need all documents in memory"):
        encode(Stream(path), tmp_path / "encoded", plait.TextRecipe(phrases=True))
    with pytest.raises(PlaitError, match=r"only files whose names end in \.txt, \.csv"):
        encode(Stream(tmp_path / "docword.x"), tmp_path / "encoded", RECIPE)
