"""Places of words in their texts."""

from __future__ import annotations

import pytest

import plait
from plait.answers.places import WordPlaces, in_utf16


def found_in(text, **settings):
    """Return the stretches of a text that its tokens are."""
    settings = {"language": "en", "min_length": 1, **settings}
    corpus = plait.Corpus.from_texts([text], recipe=plait.TextRecipe(**settings), keep_texts=True)
    places = WordPlaces(corpus.recipe).tokens(corpus, 0)
    return [None if place is None else text[place.start : place.end] for place in places]


def test_each_token_is_where_its_word_is():
    assert found_in("The Taxes rise; war, and TAXES fall.") == ["Taxes", "rise", "war", "TAXES", "fall"]


def test_stems_have_the_whole_word():
    assert found_in("Nations' taxes", stem="english") == ["Nations", "taxes"]


def test_repeated_words_have_places_of_their_own():
    text = "war peace war"
    corpus = plait.Corpus.from_texts([text], recipe=plait.TextRecipe(language="en"), keep_texts=True)
    assert [place.start for place in WordPlaces(corpus.recipe).tokens(corpus, 0)] == [0, 4, 10]


def test_phrases_cover_their_words():
    text = "United States of the United States"
    found = found_in(text, phrases=0.1, phrase_count=1, found_phrases=("united states",))
    assert found == ["United States", "United States"]


def test_what_was_dropped_from_the_text_is_passed_over():
    assert found_in("war http://war.example/peace peace")[0] == "war"
    assert found_in("war http://war.example/peace peace")[-1] in ("peace", None)


@pytest.mark.parametrize(
    ("text", "expected"), [("war tax", [[0, 3], [4, 3]]), ("🎉 war", [[3, 3]]), ("día war", [[0, 3], [4, 3]])]
)
def test_places_in_javascript_count_units_of_utf16(text, expected):
    corpus = plait.Corpus.from_texts([text], recipe=plait.TextRecipe(language=None), keep_texts=True)
    assert in_utf16(text, WordPlaces(corpus.recipe).tokens(corpus, 0)).tolist() == expected
    assert in_utf16(text, [None]).tolist() == [[0, 0]]
