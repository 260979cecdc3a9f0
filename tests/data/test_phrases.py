"""Phrases: what is found, how it is joined, and that new text is treated alike."""

import numpy as np
import pytest

from plait.data import phrases
from plait.data.corpus import Corpus
from plait.data.phrases import find_phrases, joins, spans
from plait.data.text import TextRecipe

TEXTS = [
    "The United States of America, and the united states.",
    "Other states are united, too; the state of the union.",
    "the prime minister of the United States met the prime minister",
    "A minister is in prime condition; the prime minister of other states",
] * 5


def joined(words, found):
    return [word for word, _, _ in spans(words, joins(found)) if word]


def npmi(ab, a, b, n):
    return np.log(ab * n / (a * b)) / np.log(n / ab)


class TestFinding:
    def test_neighbours_that_hardly_ever_part_are_found(self):
        recipe = TextRecipe(language="en", phrases=True, phrase_count=6)
        corpus = Corpus.from_texts(TEXTS, recipe=recipe)
        assert corpus.recipe.found_phrases == ("prime minister", "united states")
        assert corpus.tokens(0) == ["united states", "america", "united states"]
        assert {"minister", "prime", "united", "states"} <= set(corpus.vocabulary)

    def test_the_score_is_normalised_mutual_information(self):
        documents = [["a", "b", "", "a", "c"], ["a", "b", "", "b", "c"]]
        score = npmi(2, 3, 3, 8)
        assert find_phrases(documents, score - 1e-6, 2) == ("a b",)
        assert find_phrases(documents, score + 1e-6, 2) == ()
        assert find_phrases([["a", "b"]] * 3, 1.0, 3) == ("a b",)
        assert find_phrases([["a", "b"]] * 3, 1.0, 4) == ()

    def test_longer_phrases_are_found_from_shorter_ones(self):
        documents = [[f"x{i}", *"abcdefg", f"y{i}", "g", "a"] for i in range(9)]
        found = find_phrases(documents, 0.7, 9)
        assert found == ("a b c d", "e f")
        assert joined(documents[0], found) == ["x0", "a b c d", "e f", "g", "y0", "g", "a"]

    def test_phrases_do_not_reach_over_what_is_dropped(self):
        texts = ["house of lords", "house 12 lords", "house <b>lords</b>"]
        recipe = TextRecipe(language="en", phrases=0.0, phrase_count=3)
        assert Corpus.from_texts(texts[:2] * 5, recipe=recipe).recipe.found_phrases == ()
        assert Corpus.from_texts(texts[2:] * 5, recipe=recipe).recipe.found_phrases == ("house lords",)

    def test_chunks_and_forgetting_change_nothing_in_small_texts(self, monkeypatch):
        rng = np.random.default_rng(0)
        documents = [[f"w{i}" for i in rng.integers(0, 30, 50)] for _ in range(40)]
        whole = find_phrases(documents, 0.1, 2)
        assert len(whole) > 50
        monkeypatch.setattr(phrases, "_CHUNK", 7)
        assert find_phrases(documents, 0.1, 2) == whole
        monkeypatch.setattr(phrases, "_MOST_PAIRS", 100)
        assert len(find_phrases(documents, 0.1, 2)) <= 300

    @pytest.mark.parametrize("documents", [[], [[]], [["", ""]], [["a"]]])
    def test_without_neighbours_there_are_none(self, documents):
        assert find_phrases(documents, 0.0, 1) == ()


class TestJoining:
    def test_the_longest_is_joined_from_left_to_right(self):
        found = ("a b", "b c", "a b c d", "x y")
        assert joined(list("abcabcdx"), found) == ["a b", "c", "a b c d", "x"]
        assert joined(["a", "", "b", "x", "y"], found) == ["a", "b", "x y"]

    def test_new_text_has_the_same_phrases(self):
        recipe = TextRecipe(language="en", stem=True, phrases=True, phrase_count=6)
        corpus = Corpus.from_texts(TEXTS, recipe=recipe)
        new = ["Prime ministers of the UNITED STATE united", "unite"]
        again = TextRecipe.from_dict(corpus.recipe.to_dict())
        lists = [["prime minist", "unit state", "unit"], ["unit"]]
        assert list(again.token_lists(new)) == lists

    def test_a_phrase_of_stems_is_shown_as_it_was_most_often(self):
        recipe = TextRecipe(language="en", stem=True, phrases=True, phrase_count=6)
        corpus = Corpus.from_texts(TEXTS, recipe=recipe)
        shown = dict(zip(corpus.vocabulary, corpus.shown_words, strict=True))
        assert shown["unit state"] == "united states"
        assert shown["prime minist"] == "prime minister"
        assert shown["state"] == "states"
