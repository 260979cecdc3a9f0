"""`plait report`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.report.latent import shown_order
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


@pytest.fixture
def walks(runner):
    """Return the file of a run whose states are not shown in the order of its paths."""
    values = plait.Sequences.from_values([[0.0], [0.1], [9.0], [9.1], [9.0], [0.2]] * 5, [15, 15])
    model = plait.HmmModel(plait.GaussianEmissions(values, 2))
    for seed in range(20):
        run = plait.sample(model, n_paths=2, n_sweeps=5, seed=seed, n_jobs=1)
        if shown_order(run).tolist() == [1, 0]:
            run.save("walks.plait")
            return "walks.plait"
    raise AssertionError("states have the order of the paths with every seed")


def test_names_of_states_are_those_of_the_numbers_that_are_shown(runner, walks):
    Path("names.json").write_text('{"names": {"0": "low"}, "hidden": []}')
    done = invoke(runner, walks, "--names", "names.json", "--jobs", "1")
    assert done.exit_code == 0, done.output
    main_part = main_block("report.html")
    assert main_part["states"]["names"] == ["low", None]
    means = main_part["emissions"]["tables"][0]["values"]
    assert means[0, 0] < means[1, 0]


def test_two_models_have_one_report(runner, walks):
    done = invoke(runner, "topics.plait", "topics.plait", "-o", "both.html", "--jobs", "1")
    assert done.exit_code == 0, done.output
    both = main_block("both.html")
    assert both["title"] == "topics (A) and topics (B)"
    assert both["pairs"]["similarities"] == pytest.approx(1, abs=1e-3)
    assert not any(len(left) for left in both["only"])
    assert invoke(runner, walks, walks, "-o", "walks.html").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["walks.plait", "--no-texts"], "--no-texts is an option of reports on topic models"),
        (["walks.plait", "--held-out", "new.txt"], "--held-out is an option of reports on topic models"),
        (["topics.plait", "topics.plait", "--full"], "--full is no option of a report on two models"),
        (["topics.plait", "walks.plait"], "'lda' and 'hmm' cannot be compared"),
        (["topics.plait", "missing.plait"], "missing.plait"),
        (["topics.plait", "walks.plait", "-o", "walks.plait", "--overwrite"], "walks.plait"),
    ],
)
def test_what_a_report_cannot_do_is_refused_in_one_line(runner, walks, arguments, message):
    before = Path(walks).read_bytes()
    done = invoke(runner, *arguments)
    assert done.exit_code == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not Path("report.html").exists()
    assert Path(walks).read_bytes() == before
