"""documents, timeline, similar and info: tables that can be piped, JSON, and notes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.cli.output import BARS, sparkline


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = plait.Corpus.from_texts(
        ["Taxes and more taxes", "the war", "", "war, war,\nand taxes", "war"],
        recipe=plait.TextRecipe(language="en"),
        names=["=a", "b", "c", "d\n", "e"],
        dates=["1861-01-01", "1861-03-01", "1862-01-01", "1863-01-01", ""],
        columns={"party": ["R", "D", "R", "D", "R"]},
        keep_texts=True,
    )
    corpus = replace(corpus, forms=("Taxes", "War"))
    run = plait.sample(plait.LdaModel(corpus, 2, 0.5, 0.1), n_paths=1, n_sweeps=1, n_jobs=1)
    path = [0 if word == "taxes" else 1 for d in range(5) for word in corpus.tokens(d)]
    run = replace(run, paths=np.array([path], np.uint16)).named({1: "war"})
    run.save("model.plait")
    states = plait.Sequences.from_symbols([0, 1, 0, 1], [4])
    plait.sample(plait.HmmModel(plait.CategoricalEmissions(states, 2)), n_paths=1, n_sweeps=1, n_jobs=1).save(
        "hmm.plait"
    )
    return CliRunner()


def ok(runner, *arguments):
    done = runner.invoke(main, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done


def lines(runner, *arguments):
    """Return the cells of a table in a pipe."""
    return [re.split(r"  +", line.strip()) for line in ok(runner, *arguments).stdout.splitlines()]


def objects(runner, *arguments):
    return json.loads(ok(runner, *arguments, "--json").stdout)


def test_topics_are_shown_by_their_forms_and_stems_are_available(runner):
    assert [row[-1] for row in lines(runner, "topics", "model.plait", "--words", "1")[1:]] == ["War", "Taxes"]
    stems = lines(runner, "topics", "model.plait", "--words", "1", "--stems")
    assert [row[-1] for row in stems[1:]] == ["war", "taxes"]
    first = objects(runner, "topics", "model.plait", "--words", "1")[0]
    assert (first["words"], first["stems"]) == (["War"], ["war"])


def test_documents_of_a_topic(runner):
    header, *rows = lines(runner, "documents", "model.plait", "--topic", "0")
    assert header == ["document", "share", "words", "date", "name", "excerpt"]
    assert rows[0] == ["0", "0.833", "2", "1861-01-01", "'=a", "Taxes and more taxes"]
    assert rows[1] == ["3", "0.375", "3", "1863-01-01", r"d\n", "war, war, and taxes"]
    found = objects(runner, "documents", "model.plait", "--topic", "war", "--top", 1)
    assert found == [
        {"document": 1, "name": "b", "date": "1861-03-01", "topic": 1, "topic_name": "war", "share": 0.75}
        | {"tokens": 1, "excerpt": "the war", "marks": [[4, 7]], "is_text": True}
    ]


def test_words_stand_in_for_texts_that_were_not_kept(runner):
    run = plait.load("model.plait")
    model = replace(run.model, corpus=replace(run.model.corpus, texts=None))
    replace(run, model=model).save("model.plait")
    done = ok(runner, "documents", "model.plait", "--topic", "0", "--top", 1)
    assert "Note: the model has no texts" in done.stderr
    assert done.stdout.splitlines()[1].endswith("Taxes Taxes")


def test_topics_over_time(runner):
    done = ok(runner, "timeline", "model.plait")
    assert "Note: 1 document without a date: left out" in done.stderr
    header, *rows = lines(runner, "timeline", "model.plait", "--topic", "0")
    assert header == ["documents", "words", "topic", "share", "year", "name"]
    assert rows[0] == ["2", "3", "0", "0.666667", "1861", "Taxes War"]
    assert rows[1] == ["1", "0", "0", "1862", "Taxes War"]  # no share
    found = objects(runner, "timeline", "model.plait", "--by", "party", "--top", 1)
    assert [topic["name"] for topic in found["topics"]] == ["war"]
    assert found["periods"][0] == {"period": "D", "documents": 2, "words": 4, "shares": {"1": 0.75}}
    assert found["left_out"] == {"without": 0, "too_coarse": 0, "unreadable": 0}


def test_what_is_similar(runner):
    header, *rows = lines(runner, "similar", "model.plait", "=a")
    assert header == ["document", "similarity", "date", "name", "most in common"]
    assert [row[0] for row in rows] == ["3", "1", "4"]
    assert rows[0][3:] == [r"d\n", "0 (Taxes War)"]
    assert objects(runner, "similar", "model.plait", "--text", "the war", "--top", 1)[0]["topic"] == 1
    (topic,) = objects(runner, "similar", "model.plait", "--topic", "war")
    assert (topic["topic"], topic["words"]) == (0, ["Taxes", "War"])
    assert lines(runner, "similar", "model.plait", "--topic", 0)[1][2:] == ["war", "War Taxes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["documents", "model.plait", "--topic", "9"], "--topic must be a whole number from 0 to 1, got 9"),
        (["documents", "hmm.plait", "--topic", "0"], "plait states hmm.plait"),
        (["timeline", "model.plait", "--by", "moon"], "--by must be one of"),
        (["similar", "model.plait"], "give one of DOCUMENT, --topic and --text, got none"),
        (["similar", "model.plait", "x", "--topic", "1"], "got DOCUMENT and --topic"),
        (["similar", "model.plait", "x"], "document must be a number from 0 to 4 or a name"),
        (["info", "missing"], "cannot read the model missing"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(runner, arguments, message):
    done = runner.invoke(main, arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_info_of_topic_models(runner):
    text = ok(runner, "info", "model.plait").stdout
    for part in (
        "topic model: 2 topics, 1 of them named",
        "5 documents, 7 tokens, 2 distinct words, 1 empty document, dates from 1861-01-01 to 1863-01-01",
        "language en, ",
        "1 sweep partially-collapsed, 1 path; seed 0",
        "0.5 to 0.5 per topic, 1 in all, given",
        "of words and topics, given the parameters",
        "Too few records to tell whether the log-likelihood has settled: plait resume model.plait --sweeps 2",
    ):
        assert part in text
    about = objects(runner, "info", "model.plait")
    assert about["kind"] == "lda"
    assert about["data"]["recipe"]["language"] == "en"
    assert about["verdict"]["state"] == "short"
    (likelihood,) = about["likelihoods"]
    total = plait.load("model.plait").trace.log_joint[-1, 0]
    assert likelihood["total"] == pytest.approx(total)
    assert likelihood["per_token"] == pytest.approx(total / 7)


def test_info_of_hidden_markov_models(runner):
    text = ok(runner, "info", "hmm.plait").stdout
    assert "hidden Markov model: 2 states, categorical emissions" in text
    assert "1 sequence, 4 observations, 2 symbols" in text
    assert "of observations and states, given the parameters" in text


class Stream:
    def __init__(self, encoding):
        self.encoding = encoding


def test_small_bars_show_gaps_and_do_without_signs_that_are_missing():
    values = [0.0, float("nan"), 0.5, 1.0]
    assert sparkline(values, 40, Stream("utf-8")) == f"{BARS[0]} {BARS[4]}{BARS[7]}"
    assert sparkline(values, 40, Stream("ascii")) == "_ =#"
    assert sparkline([1.0, 1.0, 0.0, 0.0], 2, Stream("utf-8")) == BARS[-1] + BARS[0]
    assert sparkline([float("nan")], 5, Stream("utf-8")) == " "


def test_info_does_not_judge_a_fit_that_is_not_finished(runner):
    run = plait.load("model.plait")
    replace(run, settings=run.settings.lasting(9)).save("half.plait")
    text = ok(runner, "info", "half.plait").stdout
    assert text.splitlines()[-1].split(maxsplit=1) == [
        "verdict",
        "The fit is not finished: plait resume half.plait",
    ]
    assert "not finished" not in ok(runner, "info", "model.plait").stdout
