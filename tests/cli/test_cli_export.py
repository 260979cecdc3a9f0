"""`plait export`: tables that are safe to open, and state files that come back."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.interop import documents_frame, from_mallet, topics_frame
from plait.run import load


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = plait.Corpus.from_tokens(
        [["=1+1", "b", "b"], [], ["día", "b"]],
        names=["=SUM(A1)", "b\n2", "-3"],
        columns={"@column": ["+x", "", "y, z"]},
    )
    run = plait.sample(plait.LdaModel(corpus, 2), n_paths=2, n_sweeps=3, n_jobs=1, names={1: "=war\t"})
    run.save("lda.plait")
    return CliRunner()


def invoke(runner, *arguments):
    return runner.invoke(main, ["export", *map(str, arguments)])


def ok(runner, *arguments):
    done = invoke(runner, *arguments)
    assert done.exit_code == 0, done.output
    return done


def fails(done, *parts):
    assert done.exit_code == 2, done.output
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    for part in parts:
        assert part in line


def rows(name):
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_topics_are_a_table_without_formulas(runner):
    assert "Saved to topics.csv" in ok(runner, "lda.plait", "--format", "topics", "-o", "topics.csv").stderr
    found, frame = rows("topics.csv"), topics_frame(load("lda.plait"))
    assert [row["topic"] for row in found] == ["0", "1"]
    assert [row["name"] for row in found] == ["topic 0", r"'=war\t"]
    np.testing.assert_allclose([float(row["share"]) for row in found], frame.share, atol=1e-6)
    for row, words in zip(found, frame.words, strict=True):
        assert row["words"] == (f"'{words}" if words.startswith("=") else words)
    ok(runner, "lda.plait", "--format", "topics", "-o", "short.csv", "--words", 1)
    assert all(len(row["words"].split()) == 1 for row in rows("short.csv"))


def test_documents_are_a_table_without_formulas(runner):
    ok(runner, "lda.plait", "--format", "documents", "-o", "documents.csv")
    found, frame = rows("documents.csv"), documents_frame(load("lda.plait"))
    assert list(found[0]) == ["document", "name", "'@column", "tokens", "topic 0", r"'=war\t"]
    assert [row["name"] for row in found] == ["'=SUM(A1)", r"b\n2", "-3"]
    assert [row["'@column"] for row in found] == ["'+x", "", "y, z"]
    assert [row["tokens"] for row in found] == ["3", "0", "2"]
    shares = [[float(row["topic 0"]), float(row[r"'=war\t"])] for row in found]
    np.testing.assert_allclose(shares, frame.iloc[:, -2:], atol=1e-6)


def test_a_state_file_comes_back(runner):
    ok(runner, "lda.plait", "--format", "mallet", "-o", "state.gz")
    run, again = load("lda.plait"), from_mallet("state.gz")
    assert np.array_equal(again.paths[0], run.paths[0])
    assert again.model.corpus.equals(run.model.corpus)


def test_outputs_are_not_lost(runner):
    Path("mine.csv").write_text("mine")
    arguments = ["lda.plait", "--format", "topics", "-o", "mine.csv"]
    fails(invoke(runner, *arguments), "mine.csv exists", "--overwrite")
    assert Path("mine.csv").read_text() == "mine"
    ok(runner, *arguments, "--overwrite")
    for format in ("topics", "documents", "mallet"):
        done = invoke(runner, "lda.plait", "--format", format, "-o", "lda.plait", "--overwrite")
        fails(done, "part of the input")
    load("lda.plait")


def test_what_cannot_be_exported_is_refused(runner):
    fails(invoke(runner, "lda.plait", "--format", "topics", "-o", "x.csv.gz"), "not compressed")
    fails(invoke(runner, "none.plait", "--format", "topics", "-o", "x.csv"), "none.plait")
    data = plait.Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    plait.sample(plait.HmmModel(plait.GaussianEmissions(data, 2)), n_sweeps=1, n_jobs=1).save("hmm.plait")
    done = invoke(runner, "hmm.plait", "--format", "topics", "-o", "x.csv")
    fails(done, "hidden Markov model", "plait decode hmm.plait")
    assert not Path("x.csv").exists()
