"""Languages: the lists of stop words, names and codes, and finding out which language texts are in."""

import unicodedata

import pytest
import Stemmer

from plait.data.corpus import Corpus
from plait.data.detection import detect
from plait.data.languages import LANGUAGES, check_language, find_language, stop_list
from plait.data.text import TextRecipe
from plait.errors import PlaitError, PlaitWarning

SENTENCES = {
    "ca": "Aquesta és la casa que els meus pares van comprar quan jo encara era petit.",
    "cs": "Když jsem byl malý, chodil jsem s dědečkem do lesa a sbírali jsme tam houby.",
    "da": "Jeg har ikke set hende, siden hun flyttede til en anden by for to år siden.",
    "de": "Die Abgeordneten haben gestern über den Haushalt beraten, und sie sind sich nicht einig geworden.",
    "el": "Το σπίτι που αγόρασαν οι γονείς μου είναι κοντά στη θάλασσα και έχει έναν κήπο.",
    "en": "The members of the house could not agree on what to do with the money that was left.",
    "es": "Los diputados no se pusieron de acuerdo sobre lo que había que hacer con el dinero.",
    "et": "Ma ei tea, kas ta tuleb täna koju või jääb ta veel linna, sest ta ei ole mulle helistanud.",
    "fi": "En tiedä, onko hän jo tullut kotiin, mutta minä olen täällä ja odotan häntä.",
    "fr": "Les députés ne se sont pas mis d'accord sur ce qu'il fallait faire de l'argent qui restait.",
    "hu": "Nem tudom, hogy mikor jön haza, de ha itt lesz, akkor majd szólok neked is.",
    "id": "Saya tidak tahu apa yang harus kami lakukan dengan uang itu karena dia sudah pergi.",
    "it": "I deputati non si sono messi d'accordo su quello che si doveva fare con il denaro.",
    "ja": "議員たちは昨日、予算について話し合いましたが、意見は一致しませんでした。",
    "nl": "De leden van de kamer konden het niet eens worden over wat er met het geld moest gebeuren.",
    "no": "Jeg vet ikke hva vi skal gjøre med pengene som er igjen, fordi ingen har sagt noe om det.",
    "pl": "Nie wiem, co mamy zrobić z tymi pieniędzmi, bo nikt nam jeszcze nic o tym nie powiedział.",
    "pt": "Os deputados não chegaram a um acordo sobre o que se devia fazer com o dinheiro que sobrou.",
    "ro": "Nu știu ce trebuie să facem cu banii care au rămas, pentru că nimeni nu ne-a spus nimic.",
    "ru": "Я не знаю, что нам делать с деньгами, которые остались, потому что никто ничего не сказал.",
    "sv": "Jag vet inte vad vi ska göra med pengarna som är kvar, eftersom ingen har sagt något om det.",
    "th": "สมาชิกสภาไม่สามารถตกลงกันได้ว่าจะทำอย่างไรกับเงินที่เหลืออยู่",
    "tr": "Bu para ile ne yapacağımızı bilmiyorum, çünkü kimse bize bir şey söylemedi ve her şey daha zor.",
    "uk": "Я не знаю, що нам робити з грошима, які залишилися, бо ніхто нам нічого не сказав про це.",
    "zh": "议员们昨天讨论了预算，但是他们没有达成一致。",
}


def found(*texts):
    return TextRecipe().detect(texts)


class TestLists:
    def test_every_language_with_a_stemmer_has_one(self):
        stemmers = {language.stemmer for language in LANGUAGES.values() if language.stemmer}
        assert stemmers == set(Stemmer.algorithms()) - {"porter", "dutch_porter"}
        assert all(language.has_list for language in LANGUAGES.values() if language.stemmer)

    @pytest.mark.parametrize("code", [code for code in LANGUAGES if LANGUAGES[code].has_list])
    def test_their_words_are_those_that_plait_finds(self, code):
        words = stop_list(code)
        assert len(words) >= 50
        assert list(words) == sorted(set(words))
        text = " ".join(words)
        assert unicodedata.normalize("NFC", text) == text
        recipe = TextRecipe(language=code, tokenizer="words")
        assert recipe.tokens(text) == []

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            (
                "de",
                "arbeit bundestag freiheit frau geld gut haus jahr krieg land mensch recht steuer tag zeit",
            ),
            ("es", "agua año bueno españa gobierno guerra ley libertad mujer país trabajo verdad vida"),
            ("fr", "droit eau enfant état femme gens guerre justice loi monde pays travail vie ville"),
            ("it", "acqua città consiglio donna governo guerra lavoro legge mondo paese persone vita"),
            ("nl", "arbeid geld huis jaar kamer land mens oorlog recht vrij vrouw water werk wet"),
            ("pt", "água cidade governo guerra lei mulher mundo povo sistema tempo trabalho vida"),
        ],
    )
    def test_they_leave_words_with_a_meaning(self, code, words):
        left = [word for word in words.split() if word not in stop_list(code)]
        assert left == [word for word in words.split() if word not in ("bueno",)]

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("de", "aber dass daß der dieser für gibt ihnen müssen nicht sehr über und würden wäre zum"),
            ("es", "con del el ella está habría hay más muy no para pero por que según también una"),
            ("fr", "au avec cette dans elles est leur mais même nous où plus pour que sera son très"),
            ("it", "anche che con degli della di essere gli ha hanno il nella non più questo sono un"),
            ("nl", "aan dat deze er het hebben ik maar niet om ons ook te van voor wij wordt zijn zo'n"),
            ("pt", "ao com da dos ele está foi mais mas na não os para pelo que são sua um você")
        ],
    )  # fmt: skip
    def test_they_hold_function_words(self, code, words):
        assert [word for word in words.split() if word not in stop_list(code)] in ([], ["você"])


class TestNames:
    @pytest.mark.parametrize("name", ["de", "DE", "german", "German", " german "])
    def test_a_language_has_a_code_and_a_name(self, name):
        assert find_language(name) == "de"
        assert TextRecipe(language=name).language == "de"
        assert TextRecipe(language=None, stem=name.strip()).stemmer == "german"

    def test_both_kinds_of_norwegian_are_norwegian(self):
        assert check_language("language", "nb") == check_language("language", "nn") == "no"


class TestDetection:
    @pytest.mark.parametrize("code", SENTENCES)
    def test_one_sentence_is_enough(self, code):
        assert found(SENTENCES[code]).code == code

    def test_most_documents_must_agree(self):
        german, french = SENTENCES["de"], SENTENCES["fr"]
        assert found(*[german] * 8, *[french] * 2).code == "de"
        mixed = found(*[german] * 5, *[french] * 5)
        assert (mixed.code, mixed.reason) == (None, "some are German (de) and some French (fr)")

    @pytest.mark.parametrize(
        "text",
        ["", "war peace trade tax", "x1 x2 x3", "die", "12 34", "...", "\ud800", "tokyo 東京 osaka kyoto"],
    )
    def test_a_few_words_decide_nothing(self, text):
        assert found(text).code is None

    def test_similar_languages_are_told_apart_or_named(self):
        both = detect(["og som er til for"] * 3, str.split)
        assert both.code is None
        assert both.reason == "it could be Danish (da) or Norwegian (no)"

    def test_the_order_and_number_of_documents_do_not_matter(self):
        texts = [SENTENCES["nl"], SENTENCES["nl"][:40]] * 1000
        assert found(*texts).code == found(*reversed(texts)).code == "nl"

    def test_addresses_and_markup_are_no_words(self):
        text = f"<p>{SENTENCES['de']}</p> http://a.com/the/of/and/to/for/with/what/which/there &amp; " * 3
        assert found(text).code == "de"
        assert TextRecipe(urls="split").detect([text]).code is None


class TestRecipe:
    def test_the_corpus_keeps_the_language_that_was_found(self):
        corpus = Corpus.from_texts([SENTENCES["de"]], recipe=TextRecipe(stem=True))
        assert corpus.recipe.language == "de"
        assert corpus.vocabulary == ("abgeordnet", "berat", "gest", "haushalt")
        assert corpus.forms == ("abgeordneten", "beraten", "gestern", "haushalt")
        # English text is now taken for German: the recipe is settled.
        again = Corpus.from_texts(["the Haushalte and die"], recipe=corpus.recipe)
        assert again.vocabulary == ("and", "haushalt", "the")

    @pytest.mark.parametrize("language", ["auto", "de", None])
    def test_lists_of_other_languages_can_be_chosen(self, language):
        recipe = TextRecipe(language=language, stop_words="french")
        assert recipe.tokens("la maison et die Häuser") == ["maison", "die", "häuser"]

    def test_without_a_language_no_words_are_removed(self):
        assert TextRecipe(language=None).tokens("The war and the peace") == [
            "the",
            "war",
            "and",
            "the",
            "peace",
        ]

    @pytest.mark.parametrize(
        ("texts", "settings", "message"),
        [
            (
                [SENTENCES["de"], SENTENCES["fr"]],
                {},
                r"not clear, some are German \(de\) and some French \(fr\): no stop words are removed",
            ),
            (["war"], {"stem": True}, "not clear, they have .*: no stop words are .* words are not stemmed"),
            (["의원들은 어제 예산에 대해 논의했다"], {}, r"too little of Korean \(ko\): no stop words are"),
            ([SENTENCES["uk"]], {"stem": True}, r"too little of Ukrainian \(uk\): words are not stemmed"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_done_is_said(self, texts, settings, message):
        with pytest.warns(PlaitWarning, match=message):
            Corpus.from_texts(texts, recipe=TextRecipe(**settings))

    def test_steps_that_cannot_be_done_are_left_out_of_the_recipe(self):
        with pytest.warns(PlaitWarning, match="not stemmed"):
            corpus = Corpus.from_texts([SENTENCES["uk"]], recipe=TextRecipe(stem=True))
        assert (corpus.recipe.language, corpus.recipe.stem, corpus.forms) == ("uk", None, None)
        for language in (None, "uk"):
            with pytest.raises(
                PlaitError, match=r"^stem=True needs a language that has a stemmer, got language"
            ):
                TextRecipe(language=language, stem=True)

    def test_recipes_of_old_files_mean_what_they_meant(self):
        old = {"lowercase": True, "stop_words": "english", "stem": "english", "min_count": 1, "min_df": 1,
               "max_df": 1.0, "remove_top": 0, "split_paragraphs": False, "min_length": 1}  # fmt: skip
        recipe = TextRecipe.from_dict(old)
        text = "RT @bob: <b>The taxes</b> of http://t.co/x #tag 1863 me@x.org &amp; l'état"
        words = [
            "rt",
            "bob",
            "b",
            "tax",
            "b",
            "http",
            "t",
            "co",
            "x",
            "tag",
            "me@x"[3:],
            "org",
            "amp",
            "l'état",
        ]
        assert recipe.tokens(text) == words
        assert TextRecipe.from_dict(recipe.to_dict()) == recipe
        assert TextRecipe.from_dict({"stop_words": None}).tokens("the of") == ["the", "of"]


@pytest.mark.parametrize("code", ["zh", "ja", "th"])
def test_texts_without_spaces_need_word_breaks(code, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "icu4py.breakers", None)
    message = r'\(.*\) is written without spaces .*pip install "plait\[icu\]", or choose tokenizer yourself'
    with pytest.raises(PlaitError, match=message):
        Corpus.from_texts([SENTENCES[code]])
    with pytest.raises(PlaitError, match=r"^tokenizer='icu'.* needs icu4py"):
        Corpus.from_texts([SENTENCES[code]], recipe=TextRecipe(tokenizer="icu"))
    assert Corpus.from_texts([SENTENCES[code]], recipe=TextRecipe(tokenizer="words")).n_words >= 1
    assert Corpus.from_texts([SENTENCES[code]], recipe=TextRecipe(language=None)).n_words >= 1


@pytest.mark.parametrize(
    ("code", "words"),
    [("zh", {"议员", "昨天", "讨论", "预算"}), ("ja", {"議員", "昨日", "予算"}), ("th", {"สมาชิก", "เงิน"})],
)
def test_icu_finds_words_in_texts_without_spaces(code, words):
    corpus = Corpus.from_texts([SENTENCES[code]])
    assert corpus.recipe.language == code
    assert words <= set(corpus.vocabulary)
