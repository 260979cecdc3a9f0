"""Files of corpora: read or mapped, and refused if they are damaged, forged or of another kind."""

from __future__ import annotations

import numpy as np
import pytest

import forging
import plait
from plait.data.corpus import Corpus
from plait.data.text import TextRecipe
from plait.errors import PlaitError


@pytest.fixture
def corpus():
    return Corpus.from_texts(
        ["war peace war tax", "", "tax trade law tax", "peace trade war law"],
        recipe=TextRecipe(min_length=3),
        names=list("abcd"),
        dates=["1861", "1862", "1863", "1864"],
        columns={"party": list("RDRD")},
        keep_texts=True,
    )


@pytest.fixture
def path(corpus, tmp_path):
    corpus.save(tmp_path / "x.corpus")
    return tmp_path / "x.corpus"


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array is not None


@pytest.mark.parametrize("mapped", [False, True])
def test_loaded_corpora_equal_the_saved_one(mapped, corpus, path):
    loaded = Corpus.load(path, mapped=mapped)
    assert loaded.equals(corpus)
    assert is_mapped(loaded.words) == mapped
    for name in ("names", "dates", "columns", "recipe", "texts"):
        assert getattr(loaded, name) == getattr(corpus, name)
    with pytest.raises(ValueError, match="read-only"):
        loaded.words[0] = 0


@pytest.mark.parametrize("collapsed", [False, True])
def test_mapped_words_give_the_bits_of_words_in_memory(collapsed, corpus, path, tmp_path):
    runs = [
        plait.sample(plait.LdaModel(own, 3), n_paths=2, n_sweeps=3, collapsed=collapsed, n_jobs=1)
        for own in (corpus, Corpus.load(path, mapped=True))
    ]
    assert np.array_equal(runs[0].paths, runs[1].paths)
    assert np.array_equal(runs[0].trace.log_joint, runs[1].trace.log_joint)
    runs[1].save(tmp_path / "run.plait")
    assert plait.load(tmp_path / "run.plait").model.corpus.equals(corpus)


def test_a_mapped_corpus_can_be_saved_over(corpus, path):
    mapped = Corpus.load(path, mapped=True)
    mapped.select([0]).save(path)
    assert mapped.equals(corpus)
    mapped.save(path)
    assert Corpus.load(path).equals(corpus)


def test_words_of_a_map_that_can_be_written_to_are_copied(tmp_path):
    np.array([0, 1, 0], np.int32).tofile(tmp_path / "words")
    for mode, stays in (("r", True), ("r+", False), ("c", False)):
        words = np.memmap(tmp_path / "words", np.int32, mode)
        assert is_mapped(Corpus(words, [0, 3], ("a", "b")).words) == stays


def test_a_corpus_without_words_can_be_mapped(tmp_path):
    Corpus.from_tokens([[], []]).save(tmp_path / "x")
    assert Corpus.load(tmp_path / "x", mapped=True).n_tokens == 0


def fails(path, *parts):
    """Return a context that expects an error about a file, in one line, with and without a map."""
    message = "".join(rf"(?=.*{part})" for part in parts)
    for mapped in (False, True):
        with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z") as caught:
            Corpus.load(path, mapped=mapped)
        assert path.name in str(caught.value)


@pytest.mark.parametrize("keep", [0, 7, 8, 100, -1])
def test_files_that_were_cut_short_are_refused(keep, path):
    path.write_bytes(path.read_bytes()[:keep])
    fails(path, "is not a plait corpus, or is cut short or damaged", "give a file that `Corpus.save` wrote")


def test_every_changed_byte_of_the_arrays_is_noticed(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    for at in range(start, len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        fails(path, "is damaged: .* is not what was written; save the corpus again")


@pytest.mark.parametrize("words", [[0, 1, 99], [-1, 1, 0]])
def test_words_out_of_range_are_refused(words, path):
    def change(arrays):
        arrays["words"][:3] = words

    forging.rewrite(path, change_tensors=change)
    fails(path, r"is damaged: words\[\d\] must be at least 0 and less than 5", "save the corpus again")


def test_forged_files_are_refused_or_make_a_consistent_corpus(path, tmp_path):
    target = tmp_path / "forged.corpus"
    tried = loaded = 0
    for text, forged in forging.forgeries(path):
        forging.write(target, *forged())
        for mapped in (False, True):
            tried += 1
            own, refused = None, ""
            try:
                own = Corpus.load(target, mapped=mapped)
            except PlaitError as error:
                refused = str(error)
            if own is None:
                assert str(target) in refused, text
                assert "\n" not in refused, text
                continue
            loaded += 1
            assert own.words.dtype == np.int32, text
            assert ((own.words >= 0) & (own.words < own.n_words)).all(), text
            assert own.offsets[0] == 0, text
            assert own.offsets[-1] == own.n_tokens, text
            assert (np.diff(own.offsets) >= 0).all(), text
            assert own.texts is None or len(tuple(own.texts)) == own.n_documents, text
    assert 0 < loaded < tried / 2


def test_an_index_that_does_not_fit_the_file_is_refused(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    index = data[8 : 8 + length].decode()
    forged = [
        index.replace('"data_offsets":[0,', '"data_offsets":[8,'),
        index.replace('"data_offsets":[0,', '"data_offsets":[-8,'),
        index.replace('"data_offsets":[0,', '"data_offsets":[0.0,'),
        index.replace('"shape":[', '"shape":[1,1,'),
        index.replace('"shape":[', '"shape":[' + "1" * 400 + ","),
        index.replace('"shape":[', '"shape":[true,'),
        index.replace('"I32"', '"I64"'),
        index.replace('"I32"', "7"),
        index.replace('"I32"', '"F8_E5M2"'),
        "[]",
        "7",
        "{}",
        '{"__metadata__":7}',
        '{"words":7}',
        '{"words":{"dtype":"I32","shape":[],"data_offsets":[0]}}',
        "[" * length,
        "\ud800",
        index[:-9],
    ]
    for text in forged:
        assert text != index
        raw = text.encode("utf-8", "surrogatepass")
        for whole in (raw.ljust(length), raw):
            path.write_bytes(len(whole).to_bytes(8, "little") + whole + data[8 + length :])
            if text.rstrip() != index:
                fails(path)
    path.write_bytes((2**63).to_bytes(8, "little") + data[8:])
    fails(path, "its index is longer than the file")


def test_two_arrays_may_not_share_their_bytes(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    index = data[8 : 8 + length].decode().rstrip()
    words = index[index.index('"words":') + 8 :].split("}", 1)[0] + "}"
    forged = f'{index[:-1]},"more":{words}}}'.encode()
    path.write_bytes(len(forged).to_bytes(8, "little") + forged + data[8 + length :])
    fails(path, "its arrays do not fill the file")


def test_corpora_and_models_are_told_apart(corpus, path, tmp_path):
    model = tmp_path / "run.plait"
    plait.sample(plait.LdaModel(corpus, 2), n_paths=1, n_sweeps=1, n_jobs=1).save(model)
    fails(model, "holds a model, not a corpus", "plait.load.path..model.corpus")
    with pytest.raises(PlaitError, match="holds a corpus, not a model: read it with plait"):
        plait.load(path)


def test_files_that_cannot_be_read_are_named(tmp_path):
    fails(tmp_path / "missing", "cannot read the corpus", "`Corpus.save` makes one")
    fails(tmp_path, "cannot read the corpus", "it is a folder; give a file that `Corpus.save` wrote")
