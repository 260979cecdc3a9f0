"""What is no word: addresses, mentions, markup, numbers, accents; and tokenisers of the user's."""

import time
from dataclasses import replace

import pytest

from plait.data.corpus import Corpus
from plait.data.text import AS_WRITTEN, TextRecipe
from plait.errors import PlaitError

PLAIN = TextRecipe(language=None)
KEEP = replace(PLAIN, urls="keep", emails="keep", mentions="keep")
SPLIT = replace(PLAIN, urls="split", emails="split", mentions="split", hashtags="split")


class TestAddresses:
    @pytest.mark.parametrize(
        "url",
        [
            "http://t.co/X2jpTXG",
            "https://de.wikipedia.org/wiki/Österreich_(Land)?a=1&b=%20#c",
            "HTTP://EXAMPLE.COM",
            "ftp://a.b/c",
            "www.example.de",
            "bit.ly/1dE0buL",
            "news.example.co.uk/a-b/c.html",
            "example.com",
            "http://bit.ly/1dE0buL…",
            "http://t.c…",
            "htt…",
            "http...",
            "https://…",
        ],
    )
    def test_urls_are_dropped_whole(self, url):
        assert PLAIN.tokens(f"war ({url}) peace: {url}") == ["war", "peace"]
        assert len(KEEP.tokens(f"war {url} peace")) == 3 or "…" in url or "..." in url
        assert len(SPLIT.tokens(f"war {url} peace")) > 2

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("and/or e.g./i.e. 1.5/2 U.S./China", "and or e g i e u s china"),
            ("the end.The start", "the end the start"),
            ("a.com.pany dot.commerce", "a com pany dot commerce"),
            ("看http://t.cn/abc你好", "看 你好"),
            ("x@ @ y@@z http:// www. a..b", "x y a b"),
        ],
    )
    def test_other_dots_and_slashes_separate_words(self, text, words):
        assert PLAIN.tokens(text) == words.split()

    def test_addresses_can_be_kept_as_words(self):
        text = "See http://A.com/x_y, mail me.too@x-y.org or @Who_1 (@b@fedi.example)"
        words = ["see", "http://a.com/x_y,", "mail", "me.too@x-y.org", "or", "@who_1", "@b@fedi.example"]
        assert KEEP.tokens(text) == words

    def test_kept_words_are_neither_stop_words_nor_stemmed(self):
        recipe = TextRecipe(language="en", stem=True, mentions="keep", min_length=3)
        text = "@the #studies studies #of #a #1 @ab"
        assert recipe.tokens(text) == ["@the", "#studies", "studi", "#of", "@ab"]

    def test_retweets_lose_their_marks(self):
        for text in ("RT @bob: war", "war via @bob", "RT if you @see war", "MT @x cc: @y war"):
            assert set(TextRecipe(language="en").tokens(text)) == {"war"}
        assert PLAIN.tokens("The ART of MTV, rt via cc") == ["the", "art", "of", "mtv", "rt", "via", "cc"]
        assert SPLIT.tokens("RT @bob via @eve") == ["rt", "bob", "via", "eve"]

    def test_hashtags_stay_whole(self):
        assert PLAIN.tokens("#War_1914 C# a#b ＃語 #1 # ##x") == ["#war_1914", "c", "a", "b", "＃語", "#x"]
        assert replace(PLAIN, hashtags="drop").tokens("#war c #हिन्दी x") == ["c", "x"]
        assert SPLIT.tokens("#War_time") == ["war", "time"]
        assert PLAIN.tokens("#हिन्दी") == ["#हिन्दी"]

    @pytest.mark.parametrize("choice", ["drop", "keep", "split"])
    def test_emails(self, choice):
        words = {
            "drop": [],
            "keep": ["j.doe+x@mail.example.org"],
            "split": ["j", "doe", "x", "mail", "example", "org"],
        }
        recipe = replace(PLAIN, emails=choice, urls="split")
        assert recipe.tokens("<J.Doe+x@mail.example.org>") == words[choice]


class TestMarkup:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("<p class='a b'>War &amp; <b>peace</b><br/>tax</P ><!-- hid > den -->", "war peace tax"),
            ("R&amp;amp;D &eacute;t&eacute; &#233;t&#xe9; &nbsp;&lt;i&gt;x&lt;/i&gt;", "r d été été x"),
            ("<script>var x = '<p>';</script>war<style>p {a: b}</style>", "war"),
            ("a < b and c > d, <3 <war> x<y and y>z", "a b and c d war x y and y z"),
            ("AT&T &notanentity; &amp", "at t notanentity amp"),
            ("<!-- open <b>war", "open war"),
            ("İ<SCRIPT>x</SCRIPT>", "i x"),
        ],
    )
    def test_tags_and_entities_are_no_words(self, text, words):
        assert PLAIN.tokens(text) == words.split()

    def test_markup_can_be_kept(self):
        assert replace(PLAIN, markup="keep").tokens("<b>x</b> &amp;") == ["b", "x", "b", "amp"]


class TestNumbers:
    TEXT = "In 1863, 5,000.50 men of G7 and the 17th; 10:30 ½ x²"

    @pytest.mark.parametrize(
        ("choice", "words"),
        [
            ("drop", "in men of g7 and the 17th x²"),
            ("keep", "in 1863 5,000.50 men of g7 and the 17th 10:30 ½ x²"),
            ("replace", "in <number> <number> men of g7 and the 17th <number> <number> x²"),
        ],
    )
    def test_numbers_are_dropped_kept_or_replaced(self, choice, words):
        assert replace(PLAIN, numbers=choice).tokens(self.TEXT) == words.split()


class TestAccents:
    def test_accents_are_folded_where_asked(self):
        text = "Été Español Łódź Straße Ångström œuvre ΆΈΉ ёлка йод हिन्दी 日本語 ñ"
        folded = "ete espanol lodz strasse angstrom oeuvre αεη елка йод हिन्दी 日本語 n"
        assert replace(PLAIN, fold_accents=True).tokens(text) == folded.split()

    def test_they_are_folded_after_stemming_and_shown_as_they_were(self):
        recipe = TextRecipe(language="es", fold_accents=True, stem=True)
        corpus = Corpus.from_texts(
            ["Las políticas y la política políticas económicas segun según"], recipe=recipe
        )
        assert corpus.vocabulary == ("econom", "polit")
        assert corpus.forms == ("económicas", "políticas")


class TestShownForms:
    def test_a_stem_is_shown_by_its_most_frequent_word(self):
        recipe = TextRecipe(language="en", stem=True)
        corpus = Corpus.from_texts(["Welfare welfare taxes tax, nation's", "nations, taxing"], recipe=recipe)
        assert dict(zip(corpus.vocabulary, corpus.shown_words, strict=True)) == {
            "welfar": "welfare", "tax": "tax", "nation": "nation"
        }  # fmt: skip

    def test_without_stems_words_are_shown_as_they_are(self):
        assert Corpus.from_texts(["war"], recipe=TextRecipe(language="en")).forms is None

    def test_words_of_a_given_vocabulary_that_do_not_occur_are_shown_as_they_are(self):
        recipe = TextRecipe(language="en", stem=True)
        corpus = Corpus.from_texts(["taxes"], recipe=recipe, vocabulary=["welfar", "tax"])
        assert corpus.forms == ("welfar", "taxes")


def letters(text):
    return [part.strip() for part in text.split("|")]


class TestTokenizers:
    def test_a_function_gets_clean_text_in_its_case(self):
        seen = []

        def split(text):
            seen.append(text)
            return letters(text)

        recipe = TextRecipe(language="en", tokenizer=split)
        assert recipe.tokens("New York|The |the  WAR|http://t.co/x|7|") == ["new york", "the war"]
        assert seen == ["New York|The |the  WAR| "]

    def test_a_file_keeps_its_name_only(self, tmp_path):
        recipe = TextRecipe(language="en", tokenizer=letters)
        Corpus.from_texts(["war|peace"], recipe=recipe).save(tmp_path / "x.corpus")
        corpus = Corpus.load(tmp_path / "x.corpus")
        with pytest.raises(
            PlaitError, match=r"^the words were found by the function '.*test_cleaning.letters', "
        ):
            Corpus.from_texts(["war|tax"], recipe=corpus.recipe)
        again = replace(corpus.recipe, tokenizer=letters)
        assert again == recipe
        assert again.tokens("war|tax") == ["war", "tax"]
        assert TextRecipe.from_dict(corpus.recipe.to_dict()) == corpus.recipe

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            ("war", "a list of words for each text, got 'war'"),
            (None, "a list of words for each text, got None"),
            ([1], "words as strings, got 1"),
        ],
    )
    def test_what_it_returns_is_checked(self, result, message):
        with pytest.raises(PlaitError, match=f"^tokenizer must return {message}$"):
            replace(PLAIN, tokenizer=lambda text: result).tokens("war")

    def test_words_can_have_a_pattern(self):
        assert replace(PLAIN, token_pattern=r"[a-z]{3,}").tokens("An old-fashioned war's end") == [
            "old", "fashioned", "war", "end"
        ]  # fmt: skip
        assert replace(PLAIN, token_pattern=r"(\w+)!").tokens("war! peace tax!") == ["war", "tax"]

    def test_a_pattern_and_a_tokenizer_exclude_each_other(self):
        with pytest.raises(PlaitError, match=r"^pass either tokenizer or token_pattern, not both$"):
            TextRecipe(token_pattern="a", tokenizer="icu")


HOSTILE = [
    *("a.", "a@", "@a", "<", "<a", "<a ", "<!--", "<script", "&", "&a", "&#1;", "#a", "# ", "http", "http:"),
    *("ht…", "www.", "a-", "a'", "1,", "1.", "a.com", "a.co/", "via ", "RT ", "RT", "…", "a/", ".", "-"),
    *("é.", "a\u0301", "l'", "__", " ", "\n", "via", "@a.", "a.b@", "http://", "&amp;", "</", "<!"),
]


@pytest.mark.parametrize(
    "recipe",
    [
        replace(PLAIN, fold_accents=True),
        replace(KEEP, numbers="keep", language="fr"),
        replace(PLAIN, hashtags="drop", numbers="replace"),
    ],
    ids=["drop", "keep", "hashtags"],
)
def test_no_text_takes_quadratic_time(recipe):
    recipe.tokens("é a@b.c <b> http://x #x 1")  # compile the patterns
    start = time.perf_counter()
    for piece in HOSTILE:
        recipe.tokens(piece * (20_000 // len(piece)))
    assert time.perf_counter() - start < 10  # quadratic time would take minutes


def test_edited_english_text_has_the_words_of_early_releases():
    text = "The nation's post-office, at http://t.co, cost $5,000 in 1863; it's <b>O'Clock</b> #tag &c."
    words = ["nation", "post", "office", "http", "t", "co", "cost", "b", "o'clock", "b", "tag", "c"]
    assert TextRecipe(**AS_WRITTEN).tokens(text) == words
