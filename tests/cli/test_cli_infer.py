"""`plait infer`: words and names for topics, and the columns of the fit."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from plait.cli import main
from plait.run import load

ROWS = [
    "who,when,body,text",
    "a,1861-01-02,taxes and taxes,x",
    "b,1862-03-04,the war,x",
    "c,1863-05-06,war and taxes,x",
]
NAMED = ["--text-column", "body", "--id-column", "who", "--date-column", "when"]


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("\n".join(ROWS))
    runner = CliRunner()
    fast = [
        "--language",
        "en",
        "--topics",
        "2",
        "--paths",
        "1",
        "--alpha",
        "1",
        "--eta",
        "0.01",
        "--sweeps",
        "3",
        "-q",
    ]
    done = runner.invoke(main, ["fit", "lda", "old.csv", "-o", "m", *NAMED, *fast])
    assert done.exit_code == 0, done.output
    assert runner.invoke(main, ["name", "m", "1", "wars"]).exit_code == 0
    return runner


def infer(runner, *arguments):
    done = runner.invoke(main, ["infer", "m", *arguments])
    assert done.exit_code == 0, done.output
    return done


def test_the_columns_of_the_fit_are_remembered(runner):
    assert dict(load("m").model.corpus.reading) == {
        "text_column": "body",
        "id_column": "who",
        "date_column": "when",
    }
    rows = [line.split("\t") for line in infer(runner, "old.csv").stdout.splitlines()]
    assert [row[:2] for row in rows] == [["a", "1861-01-02"], ["b", "1862-03-04"], ["c", "1863-05-06"]]


def test_topics_have_their_name_or_first_words(runner):
    first = infer(runner, "old.csv").stdout.splitlines()[0].split("\t")[2]
    assert "1 (wars):0." in first
    words = "taxes war" if "0 (taxes war)" in first else "war taxes"
    assert f"0 ({words}):0." in first


def test_json_has_the_date_and_the_words(runner):
    found = [
        json.loads(line) for line in infer(runner, "old.csv", "--json", "--top", "1").stdout.splitlines()
    ]
    assert [own["document"] for own in found] == ["a", "b", "c"]
    assert [own["date"] for own in found] == ["1861-01-02", "1862-03-04", "1863-05-06"]
    assert set(found[0]["topics"][0]) == {"topic", "name", "words", "share"}
    assert set(found[0]["topics"][0]["words"]) == {"taxes", "war"}


def test_options_override_what_is_remembered(runner, tmp_path):
    (tmp_path / "new.csv").write_text("speech,day,who\nthe war,1900,z\n")
    done = infer(runner, "new.csv", "--text-column", "speech", "--date-column", "day", "--json")
    found = json.loads(done.stdout)
    assert (found["document"], found["date"]) == ("z", "1900")


def test_remembered_columns_that_a_file_lacks_are_named(runner, tmp_path):
    (tmp_path / "new.csv").write_text("body\nthe war\n")
    done = infer(runner, "new.csv", "--json")
    assert json.loads(done.stdout)["date"] is None
    assert (
        "Note: new.csv has no column 'when', which the model was fitted with; --date-column names"
        in done.stderr
    )
    assert "no column 'who'" in done.stderr


def test_files_without_columns_need_none(runner, tmp_path):
    (tmp_path / "new.txt").write_text("the war\n")
    done = infer(runner, "new.txt")
    assert done.stdout.startswith("1\t")
    assert done.stderr == ""


def test_a_date_column_that_is_not_there_is_an_error(runner):
    done = runner.invoke(main, ["infer", "m", "old.csv", "--date-column", "day"])
    assert done.exit_code == 2
    assert "there is no column 'day'" in done.stderr
