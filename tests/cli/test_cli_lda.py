"""The commands for topic models, and those for all models, as a user meets them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.run import load
from plait.trace import Trace

TEXTS = [
    "Apples and pears grow on trees in the orchard",
    "Pears, plums and apples: the orchard's harvest",
    "",
    "Trains and trams run on rails through the city",
    "The city's trams, buses and trains",
] * 6

FIXED = ["--alpha", "1", "--eta", "0.01"]
FAST = ["--topics", "4", "--paths", "2", *FIXED, "--sweeps", "20", "-q"]


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n")
    return CliRunner()


def invoke(runner, *arguments):
    return runner.invoke(main, [str(a) for a in arguments])


def fit(runner, *more):
    done = invoke(runner, "fit", "lda", "texts.txt", "-o", "model.plait", *FAST, *more)
    assert done.exit_code == 0, done.output
    return done


def fails(done, *parts):
    """Assert that the command failed with exit status 2 and one line that has all the parts."""
    assert done.exit_code == 2, done.output
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert done.stderr.splitlines()[-1] == errors[0]
    assert "Traceback" not in done.output
    for part in parts:
        assert str(part) in errors[0]


class TestFit:
    def test_the_model_is_stored_and_described(self, runner):
        done = fit(runner)
        assert "30 documents" in done.stderr
        assert "6 of 30 documents are empty" in done.stderr
        assert "plait topics model.plait" in done.stderr
        run = load("model.plait")
        assert run.finished
        assert run.paths.shape == (2, run.model.n_sites)

    def test_standard_output_holds_nothing_but_json(self, runner):
        summary = json.loads(fit(runner, "--json").stdout)
        run = load("model.plait")
        assert summary["sweeps"] == 20
        np.testing.assert_array_equal(summary["log_joint"], run.trace.log_joint[-1])

    def test_same_bits_for_any_number_of_threads(self, runner, tmp_path):
        corpus = plait.datasets.bands(3000, seed=1).corpus
        lines = [" ".join(f"w{w}" for w in corpus.tokens(d)) for d in range(corpus.n_documents)]
        (tmp_path / "bands.txt").write_text("\n".join(lines))
        results = []
        for jobs in (1, 2, 4):
            name = f"{jobs}.plait"
            done = invoke(runner, "fit", "lda", "bands.txt", "-o", name, *FAST, "--jobs", jobs)
            assert done.exit_code == 0, done.output
            results.append(load(name))
        for other in results[1:]:
            np.testing.assert_array_equal(other.paths, results[0].paths)
            np.testing.assert_array_equal(other.trace.log_joint, results[0].trace.log_joint)

    def test_options_reach_the_model(self, runner):
        options = [
            "--method",
            "collapsed",
            "--alpha",
            "0.3",
            "--eta",
            "0.2",
            "--seed",
            "7",
            "--stem",
            "english",
        ]
        fit(runner, *options, "--min-count", "2", "--min-df", "2", "--max-df", "0.9", "--remove-top", "1")
        run = load("model.plait")
        assert run.settings.collapsed
        assert run.settings.seed == 7
        assert (float(run.model.alpha), float(run.model.eta)) == (0.3, 0.2)
        recipe = run.model.corpus.recipe
        assert (recipe.stem, recipe.min_count, recipe.min_df, recipe.max_df) == ("english", 2, 2, 0.9)
        assert recipe.remove_top == 1

    def test_stop_words_can_be_given(self, runner, tmp_path):
        (tmp_path / "stop.txt").write_text("apples\ncity\n")
        fit(runner, "--stop-words", "stop.txt")
        vocabulary = load("model.plait").model.corpus.vocabulary
        assert "apples" not in vocabulary
        assert "the" in vocabulary

    def test_existing_output_is_not_lost(self, runner):
        fit(runner)
        fails(
            invoke(runner, "fit", "lda", "texts.txt", "-o", "model.plait", *FAST),
            "model.plait",
            "--overwrite",
        )
        fit(runner, "--overwrite")

    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            (["missing.txt", "-o", "m"], ["missing.txt"]),
            (["min_count.txt", "-o", "m"], ["min_count.txt"]),
            (["folder/n_jobs-text_column.csv", "-o", "m"], ["folder/n_jobs-text_column.csv"]),
            (["texts.txt", "-o", "no/folder/m"], ["no/folder"]),
            (["texts.txt", "-o", "."], ["folder"]),
            (
                ["texts.txt", "-o", "m", "--topics", "1"],
                ["--topics must be a whole number from 2 to 65535, got 1"],
            ),
            (["texts.txt", "-o", "m", "--topics", "65536"], ["65536", "65535"]),
            (
                ["texts.txt", "-o", "m", "--paths", "0"],
                ["--paths must be a whole number of at least 1, got 0"],
            ),
            (
                ["texts.txt", "-o", "m", "--sweeps", "0"],
                ["--sweeps must be a whole number of at least 1, got 0"],
            ),
            (
                ["texts.txt", "-o", "m", "--alpha", "0"],
                ["--alpha must be a number from 1e-10 to 1e+10, got 0"],
            ),
            (["texts.txt", "-o", "m", "--eta", "-1"], ["--eta must be a number from 1e-10 to 1e+10, got -1"]),
            (
                ["texts.txt", "-o", "m", "--eta", "nan"],
                ["--eta must be a number from 1e-10 to 1e+10, got nan"],
            ),
            (
                ["texts.txt", "-o", "m", "--seed", "-3"],
                ["--seed must be a whole number from 0 to ", "got -3"],
            ),
            (["texts.txt", "-o", "m", "--jobs", "0"], ["--jobs must be a number of threads", "got 0"]),
            (["texts.txt", "-o", "m", "--stem", "klingon"], ["klingon"]),
            (["texts.txt", "-o", "m", "--min-df", "x"], ["--min-df", "'x'"]),
            (["texts.txt", "-o", "m", "--min-count", "99"], ["texts.txt", "--min-count"]),
            (["texts.txt", "-o", "m", "--stop-words", "gone.txt"], ["gone.txt"]),
            (["stop.txt", "-o", "m"], ["stop.txt", "stop words"]),
            (["empty.txt", "-o", "m"], ["empty.txt"]),
            (["counts.ldac", "-o", "m"], ["counts.ldac:2", "-3"]),
            (["table.csv", "-o", "m", "--text-column", "body"], ["table.csv", "body", "words"]),
            (["latin.txt", "-o", "m"], ["latin.txt", "utf-8"]),
        ],
    )
    def test_bad_input_gets_one_line(self, runner, tmp_path, arguments, parts):
        (tmp_path / "stop.txt").write_text("the and of\nand the\n")
        (tmp_path / "empty.txt").write_text("")
        (tmp_path / "counts.ldac").write_text("1 0:2\n1 0:-3\n")
        (tmp_path / "table.csv").write_text("words,year\nhello,1999\n")
        (tmp_path / "latin.txt").write_bytes("caf\xe9 bar\n".encode("latin-1"))
        fails(invoke(runner, "fit", "lda", *arguments), *parts)


class TestTopicsAndInfer:
    def test_topics_are_listed_in_a_table(self, runner):
        fit(runner)
        done = invoke(runner, "topics", "model.plait", "--words", 3, "--top", 2)
        lines = done.stdout.strip().splitlines()
        assert len(lines) == 3
        assert lines[0].split() == ["topic", "share", "words"]
        assert len(lines[1].split()) == 6

    def test_json_agrees_with_the_estimator(self, runner):
        fit(runner)
        rows = json.loads(invoke(runner, "topics", "model.plait", "--json").stdout)
        run = load("model.plait")
        shares = np.bincount(run.paths.ravel(), minlength=4) / run.paths.size
        assert [row["topic"] for row in rows] == list(np.argsort(-shares, kind="stable"))
        np.testing.assert_allclose([row["share"] for row in rows], np.sort(shares)[::-1], atol=1e-6)
        for row in rows:
            assert row["probabilities"] == sorted(row["probabilities"], reverse=True)

    def test_new_texts_are_prepared_like_those_of_the_fit(self, runner, tmp_path):
        fit(runner, "--stem", "english")
        (tmp_path / "new.txt").write_text("APPLE orchards; pear\n\nzebra\ncity tram\n")
        done = invoke(runner, "infer", "model.plait", "new.txt", "--json")
        assert "1 of 6 tokens were dropped" in done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        theta = np.array([row["theta"] for row in rows])
        np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(theta[1], 0.25)
        np.testing.assert_allclose(theta[2], 0.25)
        assert np.abs(theta[0] - theta[3]).sum() > 0.1
        again = invoke(runner, "infer", "model.plait", "new.txt", "--json", "--jobs", 1)
        assert again.stdout == done.stdout

    def test_each_document_gets_a_readable_line(self, runner):
        fit(runner)
        lines = invoke(runner, "infer", "model.plait", "texts.txt", "--top", 2).stdout.splitlines()
        assert len(lines) == len(TEXTS)
        name, topics = lines[0].split("\t")
        assert name == "1"
        assert len(topics.split("  ")) == 2

    def test_words_that_look_like_markup_are_printed_as_they_are(self, runner, tmp_path):
        (tmp_path / "docword.x.txt").write_text("2\n3\n4\n1 1 5\n1 2 5\n2 3 5\n2 1 5\n")
        (tmp_path / "vocab.x.txt").write_text("[/b]\n[red]\n:smile:\n")
        done = invoke(runner, "fit", "lda", "docword.x.txt", "-o", "x.plait", *FAST)
        assert done.exit_code == 0, done.output
        table = invoke(runner, "topics", "x.plait").stdout
        for word in ("[/b]", "[red]", ":smile:"):
            assert word in table

    def test_notes_tell_of_empty_documents_and_unfinished_runs(self, runner, tmp_path):
        fit(runner)
        run = load("model.plait")
        replace(run, sweep=3, trace=Trace.empty(run.settings.n_paths)).save("part.plait")
        (tmp_path / "new.txt").write_text("apples\n\n\n")
        done = invoke(runner, "infer", "part.plait", "new.txt")
        assert "2 of 3 documents are empty" in done.stderr
        assert "Note: the run is at sweep 3 of 20;" in done.stderr

    @pytest.mark.parametrize("command", ["topics", "resume", "infer"])
    def test_bad_model_files_are_refused(self, runner, tmp_path, command):
        fit(runner)
        whole = (tmp_path / "model.plait").read_bytes()
        (tmp_path / "foreign.plait").write_text("hello")
        (tmp_path / "short.plait").write_bytes(whole[: len(whole) // 2])
        (tmp_path / "empty.plait").write_bytes(b"")
        more = ["texts.txt"] if command == "infer" else []
        for name in ("foreign.plait", "short.plait", "empty.plait", "missing.plait"):
            fails(invoke(runner, command, name, *more), name)


class TestResume:
    def test_a_finished_run_can_only_be_made_longer(self, runner):
        fit(runner)
        fails(invoke(runner, "resume", "model.plait"), "model.plait is finished", "--sweeps 40")
        fails(
            invoke(runner, "resume", "model.plait", "--sweeps", 5),
            "--sweeps must be a whole number of at least 20, got 5",
        )
        replace(load("model.plait"), trace=Trace.empty(2)).save("untraced.plait")
        assert invoke(runner, "resume", "untraced.plait", "--sweeps", 20, "-q").exit_code == 0
        assert load("untraced.plait").trace.sweep.tolist() == [20]
        assert invoke(runner, "resume", "model.plait", "--sweeps", 30, "-q").exit_code == 0
        longer = load("model.plait")
        assert invoke(runner, "fit", "lda", "texts.txt", "-o", "b", *FAST, "--sweeps", 30).exit_code == 0
        np.testing.assert_array_equal(longer.paths, load("b").paths)


def start(tmp_path, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", "from plait.cli import main; main()", *map(str, arguments)],
        cwd=tmp_path,
        **options,
    )


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def large_fit(runner, tmp_path):
    """Return the arguments of a fit that takes long enough to be stopped, and its result."""
    arguments = ["fit", "lda", "texts.txt", "--topics", "4", "--paths", "2", *FIXED, "--sweeps", "3000"]
    done = invoke(runner, *arguments, "-o", "whole.plait", "-q")
    assert done.exit_code == 0
    return arguments, load(tmp_path / "whole.plait")


def test_ctrl_c_keeps_a_checkpoint_and_says_how_to_resume(runner, tmp_path, large_fit):
    arguments, whole = large_fit
    arguments = [*arguments[:-1], "100000000"]  # more than can be made before the signal
    process = start(tmp_path, *arguments, "-o", "part.plait", stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (tmp_path / "part.plait").exists() or process.poll() is not None)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "plait resume part.plait" in stderr
    part = load(tmp_path / "part.plait")
    assert 0 < part.sweep < part.settings.n_sweeps
    note = invoke(runner, "topics", "part.plait")
    assert f"sweep {part.sweep} of" in note.stderr
    target = max(part.sweep + 5, whole.sweep)
    assert invoke(runner, "resume", "part.plait", "--sweeps", target, "-q").exit_code == 0
    assert invoke(runner, "resume", "whole.plait", "--sweeps", max(target, whole.sweep), "-q").exit_code == 0
    np.testing.assert_array_equal(load(tmp_path / "part.plait").paths, load(tmp_path / "whole.plait").paths)


def test_a_killed_fit_is_resumed_to_the_same_bits(runner, tmp_path, large_fit):
    arguments, whole = large_fit
    process = start(tmp_path, *arguments, "-o", "part.plait", "-q")
    wait_for(lambda: (tmp_path / "part.plait").exists() or process.poll() is not None)
    process.kill()
    process.wait()
    assert not load(tmp_path / "part.plait").finished
    assert invoke(runner, "resume", "part.plait", "-q").exit_code == 0
    resumed = load(tmp_path / "part.plait")
    np.testing.assert_array_equal(resumed.paths, whole.paths)
    np.testing.assert_array_equal(resumed.trace.log_joint, whole.trace.log_joint)


def test_progress_is_shown_on_a_terminal(runner, tmp_path):
    primary, secondary = pty.openpty()
    arguments = ["fit", "lda", "texts.txt", "-o", "m.plait", "--topics", "4", "--sweeps", "300"]
    process = start(tmp_path, *arguments, stderr=secondary)
    os.close(secondary)
    shown = b""
    while True:
        try:
            piece = os.read(primary, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(primary)
    assert process.wait() == 0
    assert b"sweep 300 of 300" in shown
    assert b"left" in shown
    assert b"log P(words, topics)" in shown


def test_the_demo_fits_shows_topics_and_writes_a_report(runner):
    done = invoke(runner, "demo", "--sweeps", 2)
    assert done.exit_code == 0, done.output
    assert "What to do next" in done.stdout
    assert done.stdout.count(" % ") == 20
    assert load("plait-demo.plait").sweep == 2
    assert Path("plait-demo.html").resolve().as_uri() in done.stdout
    assert Path("plait-demo.html").stat().st_size < 4_000_000


@pytest.mark.parametrize(
    "command",
    [
        ["demo"],
        ["fit"],
        ["fit", "lda"],
        ["fit", "hmm"],
        ["resume"],
        ["topics"],
        ["report"],
        ["infer"],
        ["evaluate"],
        ["states"],
        ["decode"],
    ],
    ids=lambda c: " ".join(c),
)
def test_help_has_an_example(runner, command):
    done = invoke(runner, *command, "--help")
    assert done.exit_code == 0
    assert "Example" in done.output
    examples = done.output.split("Example")[1].splitlines()[1:]
    assert examples[0].startswith(f"    plait {' '.join(command)}")
    assert "\\b" not in done.output


def test_help_names_both_models(runner):
    text = invoke(runner, "--help").output
    assert "Topic models and hidden Markov models" in text
    assert "plait fit lda" in text
    assert "plait fit hmm" in text


def test_help_imports_nothing_slow():
    code = "import sys; from plait.cli import main; main(['--help'], standalone_mode=False);"
    code += "print(sorted({'numpy', 'numba', 'sklearn', 'scipy', 'rich', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
