"""The corpus: its invariants, conversions, and errors that name the argument."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from plait.data.corpus import Corpus
from plait.data.text import TextRecipe
from plait.errors import PlaitError, PlaitWarning

DOCUMENTS = [["b", "a", "b"], [], ["c", "a"]]


ENGLISH = TextRecipe(language="en")


def make(**changes):
    values = {"words": [1, 0, 1, 2], "offsets": [0, 2, 2, 4], "vocabulary": ("a", "b", "c")} | changes
    return Corpus(**values)


def fails(match):
    return pytest.raises(PlaitError, match=f"^[^\n]*{match}[^\n]*$")


class TestInvariants:
    def test_sizes_are_counted(self):
        corpus = make()
        assert (corpus.n_tokens, corpus.n_documents, corpus.n_words, corpus.n_empty) == (4, 3, 3, 1)
        assert corpus.lengths.tolist() == [2, 0, 2]
        assert repr(corpus) == "Corpus(3 documents, 4 tokens, 3 words)"

    def test_arrays_have_the_promised_types_and_are_read_only(self):
        corpus = make(words=np.array([1, 0, 1, 2], ">i8"), offsets=np.array([0, 2, 2, 4], np.uint8))
        assert corpus.words.dtype == np.int32
        assert corpus.words.dtype.isnative
        assert corpus.offsets.dtype == np.int64
        for array in (corpus.words, corpus.offsets):
            assert array.flags.c_contiguous
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    def test_the_callers_array_is_neither_frozen_nor_shared(self):
        words = np.array([1, 0, 1, 2], np.int32)
        corpus = make(words=words)
        words[0] = 2
        assert corpus.words[0] == 1

    def test_an_array_inside_a_series_is_not_frozen(self):
        buffer = np.array([1, 0, 1, 2], np.int32)
        make(words=pd.Series(buffer, copy=False))
        assert buffer.flags.writeable

    def test_a_read_only_array_is_taken_without_a_copy(self):
        words = np.array([1, 0, 1, 2], np.int32)
        words.flags.writeable = False
        assert np.shares_memory(make(words=words).words, words)

    def test_strided_arrays_become_contiguous(self):
        words = np.array([1, 9, 0, 9, 1, 9, 2, 9], np.int32)[::2]
        assert make(words=words).words.tolist() == [1, 0, 1, 2]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"words": [[1, 0], [1, 2]]}, "words must be a one-dimensional array, got 2 dimensions"),
            ({"words": [1.0, 0, 1, 2]}, "words must be an array of whole numbers, got dtype float64"),
            (
                {"words": [1, 0, 1, 3]},
                r"words\[3\] must be at least 0 and less than 3, the size of the vocabulary, got 3",
            ),
            ({"words": [1, -1, 1, 2]}, r"words\[1\] must be at least 0 .*, got -1"),
            ({"words": [1, 0, 1, 2**40]}, "words must fit into int32, got numbers from 0 to 1099511627776"),
            (
                {"offsets": [0, 3, 2, 4]},
                "offsets must go from 0 to 4, the number of tokens, and never decrease, got 2 after 3",
            ),
            ({"offsets": [1, 2, 4]}, "offsets must go from 0 to 4, .*, got 1 to 4"),
            ({"offsets": [0, 2, 5]}, "offsets must go from 0 to 4, .*, got 0 to 5"),
            ({"offsets": [0, 2**63 - 1, -(2**63), -1, 4]}, "offsets must .* never decrease"),
            ({"offsets": [0]}, "no documents: pass at least one"),
            ({"offsets": []}, "no documents"),
            (
                {"vocabulary": ("a", "b", "a")},
                "vocabulary must not have duplicates, got 'a' at 0 and 2: remove one",
            ),
            ({"vocabulary": ("a", "b", 3)}, r"vocabulary\[2\] must be a string, got 3: convert it with str"),
            ({"vocabulary": "abc"}, "vocabulary must be a sequence of strings, got 'abc'"),
            ({"names": ("x", "y")}, "names must have one entry for each of the 3 documents, got 2"),
            ({"dates": ("1", "2", "3", "4")}, "dates must have one entry for each of the 3 documents, got 4"),
            ({"dates": (1861, 1862, 1863)}, r"dates\[0\] must be a string, got 1861"),
            (
                {"columns": {"party": ("x",)}},
                r"columns\['party'\] must have one entry for each of the 3 documents, got 1",
            ),
            ({"columns": {3: ("x", "y", "z")}}, "columns must have strings as names, got 3"),
            (
                {"columns": {"\udc80": ("x", "y", "z")}},
                r"columns must have names without lone surrogates, .*, got '\\udc80': rename it",
            ),
            ({"columns": ["party"]}, "columns must be a mapping .*, got .'party'"),
            ({"forms": ("x", "y")}, "forms must have one entry for each of the 3 words, got 2"),
            ({"forms": ("x", "y", 3)}, r"forms\[2\] must be a string, got 3"),
            ({"recipe": {"stem": None}}, "recipe must be a TextRecipe or None, got .'stem'"),
        ],
    )
    def test_inconsistent_parts_are_refused(self, changes, message):
        with fails(message) as caught:
            make(**changes)
        assert caught.value.argument in (*changes, None)

    def test_documents_may_all_be_empty(self):
        corpus = make(words=[], offsets=[0, 0, 0])
        assert (corpus.n_tokens, corpus.n_documents, corpus.n_empty) == (0, 2, 2)
        assert corpus.words.dtype == np.int32
        assert (corpus.tokens(1), corpus.to_matrix().shape) == ([], (2, 3))
        assert Corpus.from_arrays(*corpus.to_arrays()).equals(corpus)

    def test_pickling_keeps_everything_and_the_arrays_read_only(self):
        corpus = make(names=("x", "y", "z"), columns={"k": ("1", "2", "3")}, recipe=TextRecipe())
        again = pickle.loads(pickle.dumps(corpus))
        assert again.equals(corpus)
        assert (again.names, again.columns, again.recipe) == (corpus.names, corpus.columns, corpus.recipe)
        assert not again.words.flags.writeable

    def test_words_are_shown_by_their_forms_if_there_are_any(self):
        assert make().shown_words == ("a", "b", "c")
        corpus = make(forms=["apples", "b", "cats"])
        assert corpus.shown_words == ("apples", "b", "cats")
        assert pickle.loads(pickle.dumps(corpus)).forms == corpus.forms
        assert corpus.select([0]).forms == corpus.forms
        assert corpus.reindexed(["d", "c", "b", "a"]).forms == ("d", "cats", "b", "apples")
        assert make().reindexed(["d", "c", "b", "a"]).forms is None

    def test_columns_cannot_be_changed(self):
        with pytest.raises(TypeError):
            make(columns={"k": ("1", "2", "3")}).columns["k"] = ()


class TestTokens:
    def test_the_vocabulary_is_sorted_and_the_order_of_tokens_kept(self):
        corpus = Corpus.from_tokens(iter(DOCUMENTS))
        assert corpus.vocabulary == ("a", "b", "c")
        assert [corpus.tokens(d) for d in range(3)] == DOCUMENTS

    def test_unknown_words_are_dropped_and_counted(self):
        with pytest.warns(
            PlaitWarning, match="^3 of 5 tokens were dropped: .* of 2 words .*'b', 'c'"
        ) as caught:
            corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=["z", "a"])
        assert len(caught) == 1
        assert corpus.vocabulary == ("z", "a")
        assert corpus.words.tolist() == [1, 1]
        assert corpus.lengths.tolist() == [1, 0, 1]

    def test_a_vocabulary_without_any_of_the_words_leaves_empty_documents(self):
        message = "^5 of 5 tokens were dropped: .* of 1 words .*: use the vocabulary and recipe made for this"
        with pytest.warns(PlaitWarning, match=message):
            corpus = Corpus.from_tokens(DOCUMENTS, vocabulary=["z"])
        assert corpus.vocabulary == ("z",)
        assert corpus.lengths.tolist() == [0, 0, 0]

    def test_documents_may_all_be_empty(self):
        corpus = Corpus.from_tokens([[], []])
        assert (corpus.n_empty, corpus.n_words) == (2, 0)

    @pytest.mark.parametrize(
        ("documents", "message"),
        [
            (
                [["a"], "b c"],
                r"documents\[1\] must be a list of words, got 'b c': split it, or use Corpus.from_texts",
            ),
            ([["a"], 7], r"documents\[1\] must be a list of words, got 7"),
            ([["a"], ["b", None]], r"documents\[1\] must have strings as words, got None"),
            ([["a"], [["b"]]], r"documents\[1\] must have strings as words, got \['b'\]"),
            ("a b", "documents must be a list of lists of words, got 'a b'"),
            ([], "no documents"),
        ],
    )
    def test_other_than_lists_of_words_is_refused(self, documents, message):
        with fails(message):
            Corpus.from_tokens(documents)

    def test_the_index_of_a_document_must_be_in_range(self):
        with fails("d must be from 0 to 2, got 3"):
            make().tokens(3)


class TestMatrix:
    COUNTS = np.array([[0, 2, 1], [0, 0, 0], [3, 0, 1]])

    @pytest.mark.parametrize(
        "convert",
        [
            np.asarray,
            np.ndarray.tolist,
            lambda x: x.astype(float),
            pd.DataFrame,
            scipy.sparse.csr_matrix,
            scipy.sparse.csc_array,
            scipy.sparse.coo_matrix,
            scipy.sparse.lil_matrix,
            scipy.sparse.dok_array,
        ],
    )
    def test_counts_become_tokens_in_the_order_of_ids(self, convert):
        corpus = Corpus.from_matrix(convert(self.COUNTS), vocabulary=["x", "y", "z"])
        assert corpus.words.tolist() == [1, 1, 2, 0, 0, 0, 2]
        assert corpus.offsets.tolist() == [0, 3, 3, 7]
        assert corpus.tokens(0) == ["y", "y", "z"]

    def test_matrix_and_corpus_convert_into_each_other(self):
        matrix = Corpus.from_tokens(DOCUMENTS).to_matrix()
        assert scipy.sparse.isspmatrix_csr(matrix)
        assert matrix.dtype == np.int64
        assert matrix.toarray().tolist() == [[1, 2, 0], [0, 0, 0], [1, 0, 1]]
        assert Corpus.from_matrix(matrix).vocabulary == ("0", "1", "2")

    def test_a_matrix_with_repeated_unsorted_entries_is_summed_and_left_alone(self):
        parts = (np.array([1, 2, 1]), np.array([1, 0, 1]), np.array([0, 3]))
        matrix = scipy.sparse.csr_matrix(parts, shape=(1, 2))
        assert Corpus.from_matrix(matrix).words.tolist() == [0, 0, 1, 1]
        assert matrix.indices.tolist() == [1, 0, 1]
        assert matrix.data.tolist() == [1, 2, 1]

    def test_booleans_are_counts(self):
        assert Corpus.from_matrix(self.COUNTS > 0).words.tolist() == [1, 2, 0, 2]

    @pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_matrix])
    @pytest.mark.parametrize(
        ("value", "before", "text"),
        [
            (-1.0, "Negative values in data: ", "-1.0"),
            (0.5, "", "0.5"),
            (np.nan, "", "NaN"),
            (np.inf, "", "inf"),
        ],
    )
    def test_impossible_counts_are_located(self, convert, value, before, text):
        counts = self.COUNTS.astype(float)
        counts[2, 1] = value
        message = f"^{before}the count in row 2, column 1 is {text}: pass whole numbers from 0 up$"
        with pytest.raises(PlaitError, match=message):
            Corpus.from_matrix(convert(counts))

    @pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_matrix])
    def test_a_matrix_of_zeros_is_empty_documents(self, convert):
        corpus = Corpus.from_matrix(convert(np.zeros((2, 3))))
        assert corpus.lengths.tolist() == [0, 0]
        assert corpus.n_words == 3

    @pytest.mark.parametrize(
        ("matrix", "options", "message"),
        [
            ([[1, 2], [3]], {}, "the rows of the matrix have different lengths"),
            ([1, 2], {}, "the matrix has 1 dimensions"),
            (np.ones((1, 2, 3)), {}, "the matrix has 3 dimensions"),
            ([["a"]], {}, "the matrix has dtype <U1: pass counts as numbers"),
            (
                [[1, 2]],
                {"vocabulary": ["a"]},
                "vocabulary must have one entry for each of the 2 columns of the matrix, got 1",
            ),
            ([[1, 2]], {"vocabulary": ["a", "a"]}, "vocabulary must not have duplicates, got 'a' at 0 and 1"),
            ([[1e12]], {}, "add up to 1000000000000 tokens: at most 2147483647"),
            (scipy.sparse.csr_matrix((1, 10**9)), {}, "the matrix has 1000000000 columns: at most 33554432"),
            (np.zeros((0, 3)), {}, "no documents"),
        ],
    )
    def test_other_than_a_matrix_of_counts_is_refused(self, matrix, options, message):
        with fails(message):
            Corpus.from_matrix(matrix, **options)


class TestTexts:
    def test_texts_are_split_by_the_recipe(self):
        texts = ["The harvest of peace", "", "peace!"]
        corpus = Corpus.from_texts(texts, recipe=ENGLISH, names=["p", "q", "r"])
        assert corpus.vocabulary == ("harvest", "peace")
        assert [corpus.tokens(d) for d in range(3)] == [["harvest", "peace"], [], ["peace"]]
        assert corpus.names == ("p", "q", "r")
        assert corpus.recipe == ENGLISH
        assert corpus.forms is None

    def test_paragraphs_inherit_the_metadata_of_their_text(self):
        corpus = Corpus.from_texts(
            ["war\n \npeace\n\n\ntrade", "tax"],
            recipe=TextRecipe(split_paragraphs=True),
            names=["x", "y"],
            dates=["1861", "1862"],
            columns={"party": ["R", "D"]},
        )
        assert [corpus.tokens(d) for d in range(4)] == [["war"], ["peace"], ["trade"], ["tax"]]
        assert corpus.names == ("x #1", "x #2", "x #3", "y #1")
        assert corpus.dates == ("1861", "1861", "1861", "1862")
        assert corpus.columns["party"] == ("R", "R", "R", "D")

    def test_a_given_vocabulary_overrides_the_filters_by_counts(self):
        recipe = TextRecipe(language="en", min_count=5)
        with pytest.warns(PlaitWarning, match="1 of 2 tokens were dropped.*'war'"):
            corpus = Corpus.from_texts(["war and peace"], recipe=recipe, vocabulary=("peace", "tax"))
        assert corpus.words.tolist() == [0]
        assert corpus.vocabulary == ("peace", "tax")

    def test_texts_without_known_words_are_empty_documents(self):
        # Stop words are not unknown words.
        corpus = Corpus.from_texts(["the of", ""], recipe=ENGLISH, vocabulary=["tax"])
        assert (corpus.lengths.tolist(), corpus.vocabulary) == ([0, 0], ("tax",))
        with pytest.warns(PlaitWarning, match=r"^1 of 1 tokens were dropped: .*'war'\): use the vocabulary"):
            corpus = Corpus.from_texts(["war"], vocabulary=["tax"])
        assert corpus.lengths.tolist() == [0]

    @pytest.mark.parametrize(
        ("texts", "options", "message"),
        [
            ("war", {}, "texts must be a sequence of strings, got 'war'"),
            (["war", float("nan")], {}, r"texts\[1\] must be a string, got nan"),
            (["war"], {"names": ["x", "y"]}, "names must have one entry for each of the 1 texts, got 2"),
            (["war"], {"dates": []}, "dates must have one entry for each of the 1 texts, got 0"),
            ([], {}, "no documents"),
            (["", "1863 ..."], {"recipe": ENGLISH}, "all 1 tokens are numbers or stop words"),
            (["--"], {}, "the texts have no words at all"),
            (
                ["the of and"],
                {"recipe": ENGLISH},
                r"all 3 tokens are numbers or stop words \(stop_words='en'\); relax these settings$",
            ),
            (
                ["the of and war"],
                {"recipe": TextRecipe(stop_words=["the"] * 99, min_length=9)},
                r"all 4 tokens are numbers or stop words \(stop_words\) or shorter than min_length=9; relax",
            ),
            (
                ["1863"],
                {"recipe": TextRecipe(stop_words=None)},
                "all 1 tokens are numbers: a word has at least",
            ),
            (
                ["war war peace"],
                {"recipe": TextRecipe(language=None, min_count=3, remove_top=1)},
                "of 2 different ones in 3 tokens: min_count=3 removes 2, remove_top=1 removes 1; relax",
            ),
            (["war"], {"recipe": "english"}, "recipe must be a TextRecipe, got 'english'"),
        ],
    )
    def test_texts_without_words_and_wrong_arguments_are_refused(self, texts, options, message):
        with fails(message):
            Corpus.from_texts(texts, **options)


class TestSelect:
    def corpus(self):
        return Corpus.from_tokens(
            DOCUMENTS, names=["x", "y", "z"], dates=["1", "2", "3"], columns={"k": ["p", "q", "r"]}
        )

    def test_indices_select_in_their_order_and_repeatedly(self):
        chosen = self.corpus().select([2, 0, 2])
        assert [chosen.tokens(d) for d in range(3)] == [["c", "a"], ["b", "a", "b"], ["c", "a"]]
        assert (chosen.names, chosen.dates) == (("z", "x", "z"), ("3", "1", "3"))
        assert chosen.columns["k"] == ("r", "p", "r")
        assert chosen.vocabulary == ("a", "b", "c")

    def test_a_mask_selects_documents(self):
        chosen = self.corpus().select(self.corpus().lengths > 0)
        assert chosen.names == ("x", "z")
        assert chosen.n_empty == 0

    @pytest.mark.parametrize(
        ("documents", "message"),
        [
            ([0, 3], "documents must be from 0 to 2, got 3"),
            ([-1], "documents must be from 0 to 2, got -1"),
            (
                [True, False],
                r"documents must have one entry for each of the 3 documents if it is a mask, got shape \(2",
            ),
            ([0.5], "documents must be an array of whole numbers, got dtype float64"),
            ([], "no documents"),
        ],
    )
    def test_documents_that_do_not_exist_are_refused(self, documents, message):
        with fails(message):
            self.corpus().select(documents)

    def test_empty_documents_can_be_selected(self):
        chosen = self.corpus().select([1])
        assert (chosen.names, chosen.n_tokens, chosen.vocabulary) == (("y",), 0, ("a", "b", "c"))

    def test_reindexing_to_other_words_leaves_empty_documents(self):
        with pytest.warns(PlaitWarning, match="5 of 5 tokens were dropped.*: use the vocabulary"):
            corpus = self.corpus().reindexed(["z"])
        assert (corpus.lengths.tolist(), corpus.names) == ([0, 0, 0], ("x", "y", "z"))

    def test_reindexing_drops_words_outside_the_vocabulary(self):
        with pytest.warns(PlaitWarning, match="2 of 5 tokens were dropped.*'b'"):
            corpus = self.corpus().reindexed(["c", "x", "a"])
        assert [corpus.tokens(d) for d in range(3)] == [["a"], [], ["c", "a"]]
        assert corpus.words.tolist() == [2, 0, 2]
        assert corpus.names == ("x", "y", "z")

    def test_reindexing_to_a_larger_vocabulary_does_not_warn(self):
        corpus = self.corpus().reindexed(["d", "c", "b", "a"])
        assert [corpus.tokens(d) for d in range(3)] == DOCUMENTS

    def test_equals_compares_words_offsets_and_vocabulary(self):
        assert self.corpus().equals(Corpus.from_tokens(DOCUMENTS))
        assert not self.corpus().equals(Corpus.from_tokens(DOCUMENTS, vocabulary=["a", "b", "c", "d"]))
        assert not self.corpus().equals(Corpus.from_tokens([*DOCUMENTS, []]))
        assert not self.corpus().equals(Corpus.from_tokens([["b", "b", "a"], [], ["c", "a"]]))


class TestArrays:
    def corpus(self):
        corpus = Corpus.from_texts(
            ["día 語 war", "peace"],
            recipe=TextRecipe(stop_words=("x",), max_df=2),
            names=["a\nb", "\U0001f600"],
            dates=["1861", "1861-03-04"],
            columns={"p": ["", "é"]},
            keep_texts=True,
        )
        return replace(corpus, forms=("Día", "Peace", "Wars", "語"))

    def test_round_trip_through_plain_arrays_and_json(self):
        corpus = self.corpus()
        arrays, header = corpus.to_arrays()
        assert all(array.dtype.kind in "iu" for array in arrays.values())
        again = Corpus.from_arrays(arrays, json.loads(json.dumps(header)))
        assert again.equals(corpus)
        for name in ("names", "dates", "columns", "recipe", "forms", "texts"):
            assert getattr(again, name) == getattr(corpus, name)

    def test_absent_fields_stay_absent(self):
        again = Corpus.from_arrays(*make().to_arrays())
        assert (again.names, again.dates, dict(again.columns), again.recipe) == (None, None, {}, None)
        assert (again.forms, again.texts) == (None, None)

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("vocabulary", None, "no array 'vocabulary': the file is damaged or holds no corpus"),
            ("vocabulary", np.frombuffer(b'["a', np.uint8), "array 'vocabulary' is not a list in JSON"),
            ("vocabulary", np.frombuffer(b'{"a": 1}', np.uint8), "array 'vocabulary' is not a list in JSON"),
            (
                "vocabulary",
                np.frombuffer(b'["a", 3, "c", "d"]', np.uint8),
                r"vocabulary\[1\] must be a string, got 3",
            ),
            ("names", np.frombuffer(b"\xff\xfe", np.uint8), "array 'names' is not a list in JSON"),
            ("names", np.array(["a", "b"], object), "array 'names' is not a list in JSON"),
            ("forms", np.frombuffer(b'["a"]', np.uint8), "forms must have one entry for each of the 4 words"),
            ("texts.data", None, "stored texts are damaged: it has no array 'data'"),
            ("texts.data", np.zeros(3, np.uint8), "stored texts are damaged: offsets must go from 0 to 3"),
            ("columns", np.frombuffer(b"[]", np.uint8), "array 'columns' is not a mapping in JSON"),
            ("columns", np.frombuffer(b"[" * 100_000, np.uint8), "array 'columns' is not a mapping in JSON"),
            (
                "columns",
                np.frombuffer(b'{"p": ["1"]}', np.uint8),
                r"columns\['p'\] must have one entry for each of the 2",
            ),
            ("words", np.array([0, 1, 2, 9], np.int32), r"words\[3\] must be .*, got 9"),
            ("offsets", np.array([0.0, 4.0]), "offsets must be an array of whole numbers, got dtype float64"),
        ],
    )
    def test_damaged_arrays_are_refused(self, key, value, message):
        arrays, header = self.corpus().to_arrays()
        del arrays[key]
        if value is not None:
            arrays[key] = value
        with fails(message):
            Corpus.from_arrays(arrays, header)

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            ({}, "header of the stored corpus has no recipe"),
            ([], "header of the stored corpus has no recipe"),
            ({"recipe": {"stemm": "english"}}, "recipe must have settings among lowercase, .*, got 'stemm'"),
            ({"recipe": ["stem"]}, r"recipe must be a mapping of settings, got \['stem'\]"),
        ],
    )
    def test_damaged_headers_are_refused(self, header, message):
        with fails(message):
            Corpus.from_arrays(self.corpus().to_arrays()[0], header)
