"""Bags of words, as gensim has them."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.errors import PlaitError

WORDS = {0: "peace", 1: "tax", 2: "war"}


def test_bags_become_documents():
    corpus = Corpus.from_gensim(
        [[(0, 2), (2, 1)], [], [(1, 3)]], WORDS, names=["a", "b", "c"], columns={"x": ["1", "2", "3"]}
    )
    assert [corpus.tokens(d) for d in range(3)] == [["peace", "peace", "war"], [], ["tax"] * 3]
    assert corpus.vocabulary == ("peace", "tax", "war")
    assert (corpus.names, corpus.columns["x"]) == (("a", "b", "c"), ("1", "2", "3"))


def test_iterators_numbers_of_numpy_and_whole_floats_are_taken():
    bags = (iter([(np.int64(0), np.float32(2.0)), [2, 1.0]]) for _ in range(2))
    assert Corpus.from_gensim(bags, WORDS).words.tolist() == [0, 0, 2, 0, 0, 2]


def test_words_of_gensim_are_taken_and_given_back():
    corpora = pytest.importorskip("gensim.corpora")
    texts = [["war", "peace", "war"], [], ["tax", "día"]]
    dictionary = corpora.Dictionary(texts)
    bags = [dictionary.doc2bow(text) for text in texts]
    corpus = Corpus.from_gensim(bags, dictionary)
    assert [sorted(corpus.tokens(d)) for d in range(3)] == [sorted(text) for text in texts]
    assert list(corpus.vocabulary) == [dictionary[w] for w in range(4)]
    assert corpus.to_gensim() == (bags, {w: dictionary[w] for w in range(4)})


def test_models_of_gensim_take_what_is_given_back(small_bands):
    models = pytest.importorskip("gensim.models")
    bags, words = small_bands.corpus.to_gensim()
    lda = models.LdaModel(corpus=bags, id2word=words, num_topics=2, random_state=0)
    assert lda.get_topics().shape == (2, small_bands.corpus.n_words)


def test_a_corpus_comes_back_except_for_the_order_of_its_tokens(annotated_corpus):
    again = Corpus.from_gensim(*annotated_corpus.to_gensim())
    assert again.vocabulary == annotated_corpus.vocabulary
    assert (again.to_matrix() != annotated_corpus.to_matrix()).nnz == 0


def test_ids_that_are_skipped_are_closed_up():
    corpus = Corpus.from_gensim([[(7, 1), (3, 2)]], {7: "war", 3: "peace"})
    assert corpus.vocabulary == ("peace", "war")
    assert corpus.tokens(0) == ["war", "peace", "peace"]


def test_without_a_dictionary_words_are_numbers():
    assert Corpus.from_gensim([[(2, 1)], [(0, 1)]]).vocabulary == ("0", "1", "2")


@pytest.mark.parametrize(
    ("bags", "dictionary", "message"),
    [
        (5, WORDS, "bags must be a list of lists of pairs .*, got 5"),
        ("war", WORDS, "bags must be a list of lists of pairs .*, got 'war'"),
        ([5], WORDS, r"bags\[0\] must be a list of pairs .*, got 5"),
        (["war"], WORDS, r"bags\[0\] must be a list of pairs .*, got 'war'"),
        ([["war"]], WORDS, r"bags\[0\] must have pairs .*, got 'war'"),
        ([[], [("war", 1)]], WORDS, r"bags\[1\] must have pairs .*, got \('war', 1\)"),
        ([[(0, 1, 2)]], WORDS, r"bags\[0\] must have pairs"),
        ([[(0, 1.5)]], WORDS, r"bags\[0\] must have pairs of an id .* and a whole count, got \(0, 1.5\)"),
        ([[(0, -1)]], WORDS, r"bags\[0\] must have pairs"),
        ([[(-1, 1)]], WORDS, r"bags\[0\] must have pairs"),
        ([[(0.0, 1)]], WORDS, r"bags\[0\] must have pairs"),
        ([[(0, float("nan"))]], WORDS, r"bags\[0\] must have pairs"),
        ([[(0, float("inf"))]], WORDS, r"bags\[0\] must have pairs"),
        ([[(2**40, 1)]], None, r"bags\[0\] must have pairs"),
        ([[(0, 2**31)]], WORDS, r"bags\[0\] has more tokens than the 2147483647 that are possible"),
        ([[(0, 1)], [], [(2, 1), (3, 1)]], WORDS, r"bags\[2\] has the word 3, which is not in dictionary"),
        ([[(1, 1)]], {0: "a", 2: "b"}, r"bags\[0\] has the word 1, which is not in dictionary"),
        ([[(0, 1)]], {}, r"bags\[0\] has the word 0, which is not in dictionary"),
        ([[(0, 1)]], ["war"], r"dictionary must be a Dictionary of gensim or a mapping .*, got \['war'\]"),
        ([[(0, 1)]], {"war": 0}, "dictionary must have ids .* as keys, got 'war': .* not its token2id"),
        ([[(0, 1)]], {0: 5}, r"dictionary\[0\] must be a string, got 5"),
        ([[(0, 1)]], {0: "a", 1: "a"}, "vocabulary must not have duplicates"),
        ([], WORDS, "the corpus has no documents"),
    ],
)
def test_what_is_no_bag_is_refused_with_the_place(bags, dictionary, message):
    with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
        Corpus.from_gensim(bags, dictionary)
