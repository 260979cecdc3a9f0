"""Options for text: the language that is found, words that are no words, phrases, and the help."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.cli import main

SAMPLES = Path(__file__).parents[1] / "samples"
FRAGMENTS = """
    http https t co ly bit com www rt mt amp via org ow utm ms fb nyti pic twitter instagram igshid smid uk
"""

# Written down without a look at plait's lists.
FUNCTION_WORDS = {
    "reden.csv": """
        der die das den dem des ein eine einen einer eines und oder aber weil wenn dass ob nicht kein ich
        du er sie es wir ihr mich mir uns ihnen man wer was in im an am auf aus bei mit nach seit von zu
        zum zur für über ohne durch ist sind war hat haben wird werden wurde kann können müssen muss soll
        wollen würde noch nur schon auch so doch sehr mehr hier da dort dazu dafür deshalb jetzt gar etwas
        nichts z b weder noch obwohl sowohl als einerseits andererseits beides zwar keineswegs hierzulande
        vielmehr deswegen ebendeshalb selber damals dagegen offenbar darum dabei
    """,
    "discursos.csv": """
        el la los las un una unos unas y o pero porque si que no yo me nos se lo le les su sus de del a al
        en con por para sin contra como cuando quien es son está están era fueran ha han hay habría tiene
        tienen va van vamos más muy ya también así esta este eso ello ellos todos mucho algo sino aquí
        ahora ni siquiera aunque ustedes nosotros acaso quienes apenas ambos mientras tanto nunca cuyo
        donde antes solamente todavía hoy
    """,
    "toespraken.csv": """
        de het een en of maar omdat als dat die wat wie ik jij hij zij wij ons onze zich er hier daar van
        voor in op aan met bij naar over tegen te toe uit om is zijn was heeft hebben had gaat zal zullen
        zou zouden moet moeten kan kunnen wil willen wordt niet geen nog al nu dan toch ook zo echt iets
        niets zo'n ervan ervoor waarmee terwijl hoewel steeds daarom nogmaals hoeveel tegenwoordig destijds
        zomaar sommigen alsof vanzelf hetgeen zowel juist eigenlijk nauwelijks je hem hen
    """,
    "tweets.csv": """
        the a an and or but if that this those what who i i've you your we we'll us our they they've them
        it it's in on at by for from of to up with about is are isn't been be do didn't can't couldn't
        have has should so too only either they're don't gonna isn't we're should've y'all
        lol never just at us or if u
    """,
}  # fmt: skip


def run(*arguments):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def fit(tmp_path):
    def fitted(*arguments):
        fast = ("--topics", 2, "--sweeps", 4, "-q", "--jobs", 1)
        return run(
            "fit", "lda", *arguments, "-o", tmp_path / "x.plait", "--overwrite", *fast
        ), tmp_path / "x.plait"

    return fitted


@pytest.mark.parametrize(
    ("file", "language"),
    [("reden.csv", "German (de)"), ("discursos.csv", "Spanish (es)"), ("toespraken.csv", "Dutch (nl)"),
     ("tweets.csv", "English (en)")],
)  # fmt: skip
def test_topics_have_neither_function_words_nor_fragments_of_addresses(fit, file, language):
    with SAMPLES.joinpath(file).open(encoding="utf-8", newline="") as lines:
        column = next(csv.reader(lines))[1]
    done, model = fit(SAMPLES / file, "--text-column", column)
    assert f"Language: {language}, detected; its stop words are removed. --language chooses" in done.stderr
    topics = json.loads(run("topics", model, "--words", 1000, "--json").stdout)
    words = {word for topic in topics for word in topic["words"]}
    assert len(words) > 30
    assert not words & {*FRAGMENTS.split(), *FUNCTION_WORDS[file].split()}
    if file == "tweets.csv":
        assert {"#walking", "#sleep", "vaccines", "doctors"} <= words
        assert not any("health_desk" in word or "@" in word for word in words)


def write(folder, *texts):
    path = folder / "texts.csv"
    path.write_text("text\n" + "\n".join(f'"{text}"' for text in texts) + "\n", encoding="utf-8")
    return path


def recipe_of(model):
    return plait.load(model).model.corpus.recipe


class TestLanguage:
    TEXTS = (
        "Die Steuern der Städte sind hoch und die Häuser teuer.",
        "Wir haben die Steuer auf ein Haus gesenkt.",
    )

    def test_stems_follow_the_language(self, fit, tmp_path):
        done, model = fit(write(tmp_path, *self.TEXTS), "--stem")
        assert "German (de), detected; its stop words are removed and words are stemmed." in done.stderr
        corpus = plait.load(model).model.corpus
        assert {"steu", "haus"} <= set(corpus.vocabulary) or {"steuer", "haus"} <= set(corpus.vocabulary)
        assert corpus.recipe.language == "de"

    def test_new_text_has_the_language_of_the_model(self, fit, tmp_path):
        _, model = fit(write(tmp_path, *self.TEXTS))
        run("infer", model, write(tmp_path, "the Steuer of the Haus"))

    def test_a_language_that_is_given_is_not_looked_for(self, fit, tmp_path):
        done, model = fit(write(tmp_path, *self.TEXTS), "--language", "english")
        assert "Language" not in done.stderr
        assert recipe_of(model).language == "en"
        assert "die" in plait.load(model).model.corpus.vocabulary

    def test_what_is_not_clear_is_said(self, fit, tmp_path):
        path = write(tmp_path, "war peace tax", "tax trade war")
        done, model = fit(path)
        assert "Language: not clear, so no stop words are removed. --language chooses one." in done.stderr
        assert recipe_of(model).language is None
        done, _ = fit(path, "--language", "none")
        assert "Language" not in done.stderr

    def test_stop_words_come_from_a_language_or_a_file(self, fit, tmp_path):
        path = write(tmp_path, "la Steuer war of the Haus")
        for value, words in (("french", "haus of steuer the war"), ("none", "haus la of steuer the war")):
            _, model = fit(path, "--stop-words", value)
            assert plait.load(model).model.corpus.vocabulary == tuple(words.split())
        (tmp_path / "stop.txt").write_text("haus\nof\n")
        _, model = fit(path, "--stop-words", tmp_path / "stop.txt")
        assert plait.load(model).model.corpus.vocabulary == ("la", "steuer", "the", "war")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", "#tag apfel straße x²"),
        ("--fold-accents --min-length 3", "#tag apfel strasse"),
        ("--urls keep --mentions keep --emails keep", "#tag @bob a@b.de apfel http://t.co/1 straße x²"),
        ("--hashtags split --numbers keep", "12 apfel straße tag x²"),
        ("--hashtags drop --markup keep --keep-case", "Apfel Straße em x²"),
        ("--token-pattern [A-Za-z]{5,}", "apfel"),
        ("--numbers replace --hashtags drop", "<number> apfel straße x²"),
    ],
)  # fmt: skip
def test_options_say_what_is_a_word(fit, tmp_path, options, words):
    path = write(tmp_path, "Apfel <em>Straße</em> 12 x² #tag @bob a@b.de http://t.co/1")
    _, model = fit(path, "--language", "de", *options.split())
    corpus = plait.load(model).model.corpus
    assert corpus.vocabulary == tuple(words.split())


def test_phrases_are_found_and_kept(fit, tmp_path):
    path = write(tmp_path, *["The United States and other states.", "A united front of states"] * 3)
    _, model = fit(path, "--phrases", "0.2", "--phrase-count", "3", "--language", "en")
    assert "united states" in plait.load(model).model.corpus.vocabulary
    assert recipe_of(model).found_phrases[0] == "united front"
    _, model = fit(path, "--language", "en", "--phrases")
    assert recipe_of(model).found_phrases == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--language klingon", "--language must be 'auto', None, a language such as 'de' or 'german'"),
        ("--stem klingon", "--stem must be True, for the language of the texts, or one of"),
        ("--token-pattern (", "--token-pattern must be a regular expression such as"),
        ("--phrases maybe", "--phrases must be a number from 0 to 1, got 'maybe'"),
        ("--phrases 2", "--phrases must be True, False or a number from 0 to 1, got 2.0"),
        ("--tokenizer icu --token-pattern a", "pass either --tokenizer or --token-pattern, not both"),
        ("--min-length 0", "--min-length must be a whole number of at least 1, got 0"),
    ],
)
def test_wrong_values_are_refused(tmp_path, options, message):
    path = write(tmp_path, "war")
    done = CliRunner().invoke(main, ["fit", "lda", str(path), "-o", str(tmp_path / "x"), *options.split()])
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Error: {message}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["fit", "lda"], ["compare"], ["select"]])
def test_the_help_lists_options_for_text_below_headings(command):
    text = run(*command, "--help").stdout
    places = [text.index(f"\n{title}:\n") for title in (
        "Options", "Language and words", "Addresses, markup and numbers", "Choice of the vocabulary"
    )]  # fmt: skip
    assert places == sorted(places)
    for option, place in (("--topics", 0), ("--stem ", 1), ("--urls", 2), ("--min-df", 3)):
        assert places[place] < text.index(f"  {option}") < [*places, len(text)][place + 1]
