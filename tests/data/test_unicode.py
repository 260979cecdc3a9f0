"""Text that UTF-8 cannot hold does not enter a corpus or sequences."""

import pytest

from plait.checks import check_strings
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.data.text import DEFAULT_RECIPE, TextRecipe
from plait.errors import PlaitError

LONE = "war\ud800"


@pytest.mark.parametrize(
    ("build", "start"),
    [
        (lambda: Corpus.from_texts(["tax", LONE]), r"texts\[1\]"),
        (lambda: Corpus.from_tokens([["tax", LONE]]), r"vocabulary\[1\]"),
        (lambda: Corpus.from_texts(["tax"], vocabulary=[LONE]), r"vocabulary\[0\]"),
        (lambda: Corpus.from_texts(["tax"], names=[LONE]), r"names\[0\]"),
        (lambda: Corpus.from_texts(["tax"], dates=[LONE]), r"dates\[0\]"),
        (lambda: Corpus.from_texts(["tax"], columns={"a": [LONE]}), r"columns\['a'\]\[0\]"),
        (lambda: Sequences.from_symbols([0, 1], labels=["a", LONE]), r"labels\[1\]"),
        (lambda: Sequences.from_symbols([0], names=[LONE]), r"names\[0\]"),
        (lambda: Sequences.from_values([0.5], columns=[LONE]), r"columns\[0\]"),
        (lambda: TextRecipe(stop_words=[LONE]), r"stop_words\[0\]"),
    ],
)
def test_lone_surrogates_are_refused(build, start):
    message = rf"^{start} must not have lone surrogates, .*, got 'war\\ud800': remove them$"
    with pytest.raises(PlaitError, match=message) as caught:
        build()
    str(caught.value).encode()


def test_all_characters_of_unicode_are_accepted():
    texts = ("été", "\ud7ff\ue000", "\U0001f600\U0010ffff", "")
    assert check_strings("texts", texts) == texts


def test_many_marks_on_a_letter_take_linear_time():
    marks = "\u0316\u0300"  # in an order that normalisation changes
    assert DEFAULT_RECIPE.tokens("war" + marks * 100_000) == DEFAULT_RECIPE.tokens("war" + marks * 15)
    assert DEFAULT_RECIPE.tokens("wa\u0300r") == ["w\xe0r"]
