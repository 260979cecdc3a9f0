"""Properties of data and readers, on random examples that are always the same."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plait
from plait.data.corpus import Corpus
from plait.data.files import read_vocabulary
from plait.data.readers import read, read_texts
from plait.data.sequence_files import read_sequences
from plait.data.sequences import Sequences
from plait.data.text import TextRecipe
from plait.errors import PlaitError
from strategies import (
    SPARSE,
    any_file,
    any_text,
    arrays,
    as_format,
    broken_matrices,
    corpora,
    count_files,
    dense_counts,
    examples,
    number_sequences,
    number_tables,
    recipe_settings,
    recipes,
    runs,
    symbol_sequences,
    symbol_tables,
    text_files,
    words,
    wrong_counts,
)

pytestmark = pytest.mark.filterwarnings("ignore::plait.PlaitWarning")


def returns_or_refuses(function: Callable[[], object], *files: str) -> bool:
    """Return whether a call returns; otherwise it must raise one line that names one of the files."""
    try:
        function()
    except PlaitError as error:
        message = str(error)
        assert len(message.splitlines()) == 1, message
        assert not files or any(file in message for file in files), message
        return False
    return True


def survives(function: Callable[[], object]) -> bool:
    """Return whether a process that calls a function, which returns or refuses, ends as it should."""
    child = os.fork()
    if not child:
        status = 1
        try:
            warnings.simplefilter("ignore")
            returns_or_refuses(function)
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


class TestCorpus:
    @examples(40)
    @given(corpora())
    def test_arrays_hold_the_whole_corpus(self, corpus):
        again = Corpus.from_arrays(*corpus.to_arrays())
        assert again.equals(corpus)
        for name in ("names", "dates", "columns", "recipe"):
            assert getattr(again, name) == getattr(corpus, name)

    @examples(40)
    @given(corpora(), st.sampled_from(SPARSE))
    def test_a_matrix_in_any_format_holds_the_counts(self, corpus, format):
        X = corpus.to_matrix()
        again = Corpus.from_matrix(as_format(X.toarray(), format), vocabulary=corpus.vocabulary)
        assert again.vocabulary == corpus.vocabulary
        assert [again.tokens(d) for d in range(again.n_documents)] == [
            sorted(corpus.tokens(d), key=corpus.vocabulary.index) for d in range(corpus.n_documents)
        ]

    @examples(40)
    @given(corpora(), st.data())
    def test_selected_documents_keep_their_words_and_names(self, corpus, data):
        chosen = data.draw(st.lists(st.integers(0, corpus.n_documents - 1), min_size=1, max_size=6))
        part = corpus.select(chosen)
        assert [part.tokens(i) for i in range(len(chosen))] == [corpus.tokens(d) for d in chosen]
        if corpus.names is not None:
            assert part.names == tuple(corpus.names[d] for d in chosen)

    @examples(30)
    @given(dense_counts(), st.sampled_from(SPARSE))
    def test_sparse_and_dense_counts_are_the_same_corpus(self, X, format):
        assert Corpus.from_matrix(as_format(X, format)).equals(Corpus.from_matrix(X))

    @examples(60)
    @given(wrong_counts())
    def test_wrong_counts_are_refused(self, X):
        assert not returns_or_refuses(lambda: Corpus.from_matrix(X))

    @examples(25)
    @given(broken_matrices())
    def test_broken_matrices_do_not_crash(self, X):
        assert survives(lambda: Corpus.from_matrix(X))


class TestSequences:
    @examples(40)
    @given(symbol_sequences() | number_sequences())
    def test_arrays_hold_the_whole_sequences(self, sequences):
        again = Sequences.from_arrays(*sequences.to_arrays())
        assert again.equals(sequences)
        assert (again.names, again.columns) == (sequences.names, sequences.columns)

    @examples(30)
    @given(number_sequences())
    def test_values_and_lengths_make_the_same_sequences(self, sequences):
        again = Sequences.from_values(sequences.values, sequences.lengths, missing=True)
        assert again.equals(sequences)


class TestFiles:
    @examples(60)
    @given(text_files)
    def test_texts_are_read_as_written(self, tmp_path, file):
        assert read_texts(file.write(tmp_path)).texts == file.holds

    @examples(60)
    @given(count_files)
    def test_counts_are_read_as_written(self, tmp_path, file):
        if file.holds.size:
            assert np.array_equal(read(file.write(tmp_path)).to_matrix().toarray(), file.holds)
        else:
            returns_or_refuses(lambda: read(file.write(tmp_path)), file.name)

    @examples(40)
    @given(symbol_tables())
    def test_tables_of_symbols_are_read_as_written(self, tmp_path, file):
        path = file.write(tmp_path)
        if any(file.holds):
            again = read_sequences(path, kind="symbols", missing=True)
            labels = [None if value < 0 else again.labels[value] for value in again.values]
            assert labels == file.holds
        else:
            returns_or_refuses(lambda: read_sequences(path, kind="symbols", missing=True), file.name)

    @examples(40)
    @given(number_tables())
    def test_tables_of_numbers_are_read_as_written(self, tmp_path, file):
        path = file.write(tmp_path)
        again = read_sequences(path, kind="numbers", missing=True, id_column="id")
        assert np.array_equal(again.values, file.holds.values, equal_nan=True)
        assert np.array_equal(again.offsets, file.holds.offsets)

    @examples(40)
    @given(arrays(), st.sampled_from(["lengths.txt", "lengths.npy"]))
    def test_arrays_and_lengths_are_read_as_written(self, tmp_path, file, name):
        path, lengths, known = file.write(tmp_path), tmp_path / name, file.holds
        if name.endswith(".npy"):
            np.save(lengths, known.lengths)
        else:
            lengths.write_text("".join(f"{length}\n" for length in known.lengths))
        kind = "symbols" if known.is_symbols else "numbers"
        again = read_sequences(path, kind=kind, missing=True, lengths=lengths)
        assert np.array_equal(again.values, known.values, equal_nan=not known.is_symbols)
        assert np.array_equal(again.offsets, known.offsets)

    @examples(30)
    @given(st.lists(words, min_size=1, max_size=6, unique=True))
    def test_vocabularies_are_read_as_written(self, tmp_path, vocabulary):
        path = tmp_path / "vocab.txt"
        path.write_text("\n".join(vocabulary), encoding="utf-8")
        assert read_vocabulary(path) == tuple(vocabulary)

    @examples(100)
    @given(any_file)
    def test_any_file_is_read_or_refused(self, tmp_path, file):
        path = file.write(tmp_path)
        if file.name != "x.npy":
            returns_or_refuses(lambda: read(path), file.name)
        if ".npy" in file.name or ".csv" in file.name:
            returns_or_refuses(lambda: read_sequences(path, kind="symbols", missing=True), file.name)
            returns_or_refuses(lambda: read_sequences(path, kind="numbers"), file.name)

    @examples(60)
    @given(any_text)
    def test_any_text_is_a_vocabulary_and_lengths_or_refused(self, tmp_path, text):
        path = tmp_path / "text.txt"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        values = tmp_path / "values.npy"
        np.save(values, np.arange(3.0))
        returns_or_refuses(lambda: read_vocabulary(path), path.name)
        returns_or_refuses(
            lambda: read_sequences(values, kind="numbers", lengths=path), path.name, values.name
        )


class TestRecipes:
    @examples(60)
    @given(recipes, st.lists(any_text, min_size=1, max_size=3))
    def test_any_text_becomes_words_or_is_refused(self, recipe, texts):
        returns_or_refuses(lambda: Corpus.from_texts(texts, recipe=recipe))

    @examples(80)
    @given(recipe_settings)
    def test_any_settings_are_a_recipe_or_refused(self, values):
        returns_or_refuses(lambda: TextRecipe.from_dict(values).tokens("War and peace"))

    @examples(40)
    @given(recipes)
    def test_a_stored_recipe_is_the_same(self, recipe):
        assert TextRecipe.from_dict(recipe.to_dict()) == recipe

    @examples(40)
    @given(recipes, any_text)
    def test_words_of_words_are_the_same_words(self, recipe, text):
        # Phrases, and the word for all numbers, are other words once they are taken apart.
        recipe = replace(recipe, phrases=False, numbers="drop", tokenizer="words")
        tokens = recipe.tokens(text.replace("'", ""))
        assert recipe.tokens(" ".join(tokens)) == tokens


class TestModels:
    @examples(25)
    @given(runs())
    def test_a_model_file_holds_the_whole_run(self, tmp_path, run):
        path, copy = tmp_path / "run.plait", tmp_path / "copy.plait"
        run.save(path)
        again = plait.load(path)
        assert np.array_equal(again.paths, run.paths)
        assert (again.settings, again.sweep, again.seconds) == (run.settings, run.sweep, run.seconds)
        again.save(copy)
        assert copy.read_bytes() == path.read_bytes()
        mine, other = run.parameters(1), again.parameters(1)
        for name, array in mine.to_arrays().items() if hasattr(mine, "to_arrays") else ():
            assert np.array_equal(array, other.to_arrays()[name])
