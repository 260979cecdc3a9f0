"""Raw texts, compressed: the same strings come back, and damage is refused."""

from __future__ import annotations

import pickle
import zlib

import numpy as np
import pytest

from plait.data import texts as module
from plait.data.corpus import Corpus
from plait.data.text import TextRecipe
from plait.data.texts import Texts
from plait.errors import PlaitError

STRINGS = ("The harvest of peace", "", "día 語 \U0001f600\n\x00", "war")


@pytest.fixture(params=[1, 8, 2**16])
def block(request, monkeypatch):
    """Blocks of one document, of some, and one block of all."""
    monkeypatch.setattr(module, "_BLOCK", request.param)
    return request.param


def test_texts_come_back_as_they_were(block):
    texts = Texts.pack(STRINGS)
    assert tuple(texts) == STRINGS
    assert [texts[d] for d in (3, -2, 1, 0)] == [STRINGS[d] for d in (3, 2, 1, 0)]
    assert (texts[1:3], len(texts)) == (STRINGS[1:3], 4)
    with pytest.raises(IndexError, match="there are 4 texts, and none has the number 4"):
        texts[4]


def test_texts_come_back_from_arrays_and_from_pickle(block):
    texts = Texts.pack(STRINGS)
    assert Texts.from_arrays(texts.to_arrays()) == texts == pickle.loads(pickle.dumps(texts))
    assert texts != Texts.pack(STRINGS[:3])
    assert texts == STRINGS
    assert texts != "war"
    assert texts != [*STRINGS[:3], "peace"]


def test_texts_can_be_selected_in_any_order(block):
    assert Texts.pack(STRINGS).select(np.array([3, 0, 3])) == ("war", STRINGS[0], "war")


def test_saving_again_does_not_compress_again(monkeypatch):
    corpus = Corpus.from_texts(["war and peace"], keep_texts=True)
    monkeypatch.setattr(zlib, "compress", None)
    one, two = (corpus.to_arrays()[0]["texts.data"] for _ in range(2))
    assert one is two


def test_texts_that_compress_well_can_be_read_again():
    long = "a" * 10**6
    texts = Texts.pack([long, "b"])
    assert texts[0] == long
    assert Texts.from_arrays(texts.to_arrays()) == texts


def forged(**changes):
    """Return the arrays of packed texts, some of them changed."""
    arrays = {name: array.copy() for name, array in Texts.pack(STRINGS).to_arrays().items()}
    return arrays | {name: change(arrays[name]) for name, change in changes.items()}


def with_texts(raw, offsets):
    """Return arrays that hold these bytes in one block."""
    data = np.frombuffer(zlib.compress(raw), np.uint8)
    blocks = np.array([[0, data.size], [0, len(offsets) - 1]], np.int64)
    return {"data": data, "blocks": blocks, "offsets": np.array(offsets, np.int64)}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (forged(data=lambda a: a[:-1]), "offsets must go from 0 to"),
        (forged(data=lambda a: a.astype(np.int8)), "data must be an array of uint8"),
        (forged(data=lambda a: a[::-1].copy()), "block 0 cannot be unpacked"),
        (forged(blocks=lambda a: a[:1]), "other dimensions"),
        (forged(blocks=lambda a: a * 2), "offsets must go from 0 to"),
        (forged(offsets=lambda a: a[:0]), "other dimensions"),
        (forged(offsets=lambda a: a + 1), "offsets must go from 0 to"),
        (forged(offsets=lambda a: a[::-1].copy()), "offsets must go from 0 to"),
        (forged(offsets=lambda a: np.minimum(a, a[-1] - 1)), "another length than it claims"),
        (forged(offsets=lambda a: np.where(a == a[-1], a + 1, a)), "another length than it claims"),
        (forged(offsets=lambda a: np.where(a == a[-1], 10**12, a)), "claims more bytes than it can hold"),
        (with_texts(b"\xff\xfe", [0, 2]), "'utf-8' codec"),
        (with_texts("é".encode(), [0, 1, 2]), "'utf-8' codec"),
        (with_texts(b"a" * 10**6, [0, 10**6]), "claims more bytes than it can hold"),
        ({}, "it has no array 'data'"),
    ],
)
def test_damaged_texts_are_refused(arrays, message):
    with pytest.raises(PlaitError, match=f"^the stored texts are damaged: [^\n]*{message}[^\n]*$"):
        Texts.from_arrays(arrays)


class TestCorpora:
    def corpus(self, **options):
        return Corpus.from_texts(["The war", "", "Peace"], keep_texts=True, **options)

    def test_corpora_keep_texts_only_where_asked(self):
        assert self.corpus().texts == ("The war", "", "Peace")
        assert Corpus.from_texts(["The war"]).texts is None

    def test_paragraphs_are_kept_as_documents(self):
        corpus = Corpus.from_texts(
            ["War\n\nPeace", "Tax"], recipe=TextRecipe(split_paragraphs=True), keep_texts=True
        )
        assert corpus.texts == ("War", "Peace", "Tax")

    def test_texts_follow_the_documents(self):
        corpus = self.corpus()
        assert corpus.select([2, 0]).texts == ("Peace", "The war")
        assert corpus.reindexed(["peace", "the", "war"]).texts == corpus.texts
        assert pickle.loads(pickle.dumps(corpus)).texts == corpus.texts

    def test_texts_are_stored(self, tmp_path):
        corpus = self.corpus()
        corpus.save(tmp_path / "corpus")
        assert Corpus.load(tmp_path / "corpus").texts == corpus.texts

    def test_texts_must_be_one_string_per_document(self):
        message = "texts must have one entry for each of the 1 documents, got 2"
        for texts in (("a", "b"), Texts.pack(["a", "b"])):
            with pytest.raises(PlaitError, match=message):
                Corpus([0], [0, 1], ("a",), texts=texts)
        with pytest.raises(PlaitError, match=r"texts\[0\] must be a string, got 7"):
            Corpus([0], [0, 1], ("a",), texts=[7])
