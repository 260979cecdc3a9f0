"""`plait report`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.report.packing import unpack


@pytest.fixture
def runner(tmp_path, monkeypatch, small_bands):
    monkeypatch.chdir(tmp_path)
    plait.sample(plait.LdaModel(small_bands.corpus, 3), n_paths=2, n_sweeps=5, n_jobs=1).save("topics.plait")
    return CliRunner()


def invoke(runner, *arguments):
    return runner.invoke(main, ["report", *map(str, arguments)])


def main_block(path):
    text = Path(path).read_text("utf-8")
    return unpack(re.search(r'id="data-main">([^<]*)<', text)[1])


def test_a_report_is_written_and_the_command_says_how_to_open_it(runner, tmp_path):
    done = invoke(runner, "topics.plait")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "report.html").as_uri() in done.stderr
    assert main_block("report.html")["title"] == "topics"


def test_a_file_that_exists_is_replaced_only_if_told_so(runner):
    Path("report.html").write_text("mine")
    done = invoke(runner, "topics.plait")
    assert done.exit_code == 2
    assert "--overwrite" in done.stderr
    assert Path("report.html").read_text() == "mine"
    assert invoke(runner, "topics.plait", "--overwrite", "--title", "Mine").exit_code == 0
    assert main_block("report.html")["title"] == "Mine"
    assert invoke(runner, "topics.plait", "-o", "topics.plait", "--overwrite").exit_code == 2


def test_names_that_a_report_saved_go_into_the_next_one_and_into_the_model(runner):
    Path("names.json").write_text('{"names": {"1": "<taxes>"}, "hidden": [2]}')
    done = invoke(runner, "topics.plait", "--names", "names.json")
    assert done.exit_code == 0, done.output
    main_of = main_block("report.html")
    assert main_of["topics"]["names"] == [None, "<taxes>", None]
    assert main_of["hidden"] == [2]
    named = runner.invoke(main, ["name", "topics.plait", "--from", "names.json"])
    assert named.exit_code == 0, named.output
    assert dict(plait.load("topics.plait").names) == {1: "<taxes>"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is not JSON"),
        ('{"names": 3}', "names must be an object"),
        ('{"names": {}, "hidden": [3]}', "hidden must be a whole number from 0 to 2, got 3"),
        ('{"names": {}, "hidden": 3}', "hidden must be a list of numbers, got 3"),
    ],
)
def test_names_that_are_none_are_refused_with_their_file(runner, text, message):
    Path("names.json").write_text(text)
    done = invoke(runner, "topics.plait", "--names", "names.json")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: names.json")
    assert message in line
    assert not Path("report.html").exists()


def test_documents_that_were_held_out_are_scored(runner):
    corpus = plait.Corpus.from_tokens([["apples", "pears"], ["trains", "trams"]] * 5)
    plait.sample(plait.LdaModel(corpus, 2), n_paths=1, n_sweeps=5, n_jobs=1).save("fruit.plait")
    Path("new.txt").write_text("apples pears apples pears\n")
    done = invoke(runner, "fruit.plait", "--held-out", "new.txt", "--json", "--jobs", "1")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["bytes"] == Path("report.html").stat().st_size
    score = main_block("report.html")["held_out"]
    assert score["perplexity"] > 1
    assert score["method"] == "completion"


def test_a_model_of_another_kind_is_refused_in_one_line(runner):
    values = plait.Sequences.from_values([[0.0], [1.0], [5.0]], [3])
    plait.sample(plait.HmmModel(plait.GaussianEmissions(values, 2)), n_paths=1, n_sweeps=1, n_jobs=1).save(
        "h.plait"
    )
    done = invoke(runner, "h.plait")
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
