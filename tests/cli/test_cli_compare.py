"""The commands that compare fits and choose the number of topics, as a user meets them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.datasets import bands
from plait.evaluate import fits, plots

FAST = ["--sweeps", "12", "--seeds", "2", "-q", "--jobs", "1"]
COMPARE = ["compare", "texts.txt", "-o", "out", "--topics", "4", "--contestants", "1,2,2x1", *FAST]
SELECT = ["select", "texts.txt", "-o", "out", "--topics", "3,6", *FAST]


@pytest.fixture(autouse=True)
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = bands(60, seed=1, document_length=20).corpus
    lines = (" ".join(f"w{word}" for word in corpus.tokens(d)) for d in range(60))
    (tmp_path / "texts.txt").write_text("\n".join(lines) + "\n")


def ok(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done


def fails(*arguments):
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    return last


def test_compare_prints_a_table_and_says_what_it_means(tmp_path):
    done = ok(*COMPARE)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "2x1"]
    assert re.search(r"Best on held-out documents: (1|2|2x1), with -\d\.\d{4} per token\.", done.stdout)
    found = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert found["explanation"] == lines[5:]
    assert f"{found['rows'][0]['held_out_per_token']:.4f}" in lines[1]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("compare.json", "compare.csv", "compare.png", "compare.svg", "settings.json", "fits"),
    }


def test_compare_gives_the_bits_of_the_library():
    found = json.loads(ok(*COMPARE, "--json").stdout)
    result = plait.evaluate.compare(
        plait.Corpus.read("texts.txt"), [1, 2, "2x1"], n_topics=4, n_sweeps=12, n_seeds=2
    )
    for row, own in zip(found["rows"], result.rows(), strict=True):
        for name in ("held_out_per_token", "coherence", "diversity", "stability", "above_first_error"):
            assert row[name] == own[name]


def test_select_recommends(tmp_path):
    done = ok(*SELECT)
    recommended = json.loads((tmp_path / "out" / "select.json").read_text())["recommended"]
    marked = [line.split()[0] for line in done.stdout.splitlines() if line.endswith("recommended")]
    assert marked == [str(recommended)]
    assert f"Take {recommended} topics" in done.stdout
    assert (tmp_path / "out" / "select.png").stat().st_size > 5000


def test_a_repeated_command_makes_no_fit(monkeypatch, tmp_path):
    for command in (COMPARE, SELECT):
        command = [*command, "-o", command[0]]
        printed = ok(*command).stdout
        with monkeypatch.context() as patch:
            patch.setattr(fits, "sample", lambda *args, **kwargs: pytest.fail("a fit was made"))
            assert ok(*command).stdout == printed


def test_text_options_are_those_of_fit_lda():
    own = {name for command in ("compare", "select") for name in _options(main.commands[command])}
    lda = set(_options(main.commands["fit"].commands["lda"]))
    elsewhere = {"tol", "init", "seeds", "seed_weight", "overwrite", "checkpoint_seconds", "keep_previous"}
    elsewhere |= {"keep_columns", "no_texts", "watch", "port", "cluster", "paths_in"}
    assert lda - own == elsewhere | {"output"}
    found = json.loads(ok(*COMPARE, "--min-count", 15, "--json").stdout)
    plain = json.loads(ok(*COMPARE, "-o", "plain", "--json").stdout)
    assert found["settings"]["corpus"] != plain["settings"]["corpus"]


def _options(command):
    return [parameter.name for parameter in command.params if hasattr(parameter, "is_flag")]


def test_without_matplotlib_there_is_a_note(monkeypatch):
    monkeypatch.setattr(plots, "has_matplotlib", lambda: False)
    done = ok(*COMPARE)
    assert 'Note: no figure, which needs matplotlib: pip install "plait[plot]"' in done.stderr
    assert "compare.png" not in done.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--contestants", "1,fast"], "--contestants must be plans"),
        (["--contestants", "1"], "--contestants must be at least two, got 1"),
        (["--topics", "1"], "--topics must be a whole number from 2 to 65535, got 1"),
        (["--time", "soon"], "--time must be a time such as 60s, 10min or 1.5h, got 'soon'"),
        (["--time", "1s"], "give --time or --sweeps, not both"),
        (["--seeds", "0"], "--seeds must be a whole number of at least 1, got 0"),
        (["--held-out", "1.5"], "--held-out must be a number above 0 and below 1, got 1.5"),
        (["--alpha", "x"], "--alpha must be learn or a number such as 0.1, got 'x'"),
        (["--jobs", "0"], "--jobs must be a number of threads"),
        (["-o", "texts.txt"], "cannot make the folder texts.txt"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_errors_of_compare_name_the_option(more, said):
    assert said in fails(*COMPARE, *more)


@pytest.mark.parametrize("topics", ["10", "10,x", "10,,20", "1,5", "5,5", ""])
def test_wrong_numbers_of_topics_are_refused(topics):
    assert "--topics must be" in fails(*SELECT, "--topics", topics)


def test_other_settings_in_the_folder_are_refused():
    ok(*COMPARE)
    assert fails(*COMPARE, "--topics", 5) == (
        "Error: out holds fits with other settings (topics: 4, not 5): repeat the command as it was, or"
        " choose another folder"
    )
    assert "other documents" in fails(*COMPARE, "--min-count", 11)
    assert "(command: 'compare', not 'select')" in fails(*SELECT)


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_finished_fits_and_says_how_to_resume(tmp_path, number):
    arguments = [*COMPARE, "--sweeps", "3000", "--seeds", "30"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from plait.cli import main; main(prog_name='plait')", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [signal.signal(n, signal.SIG_DFL) for n in (signal.SIGINT, signal.SIGTERM)],
    )
    folder = tmp_path / "out" / "fits"
    for _ in range(1200):
        if folder.exists() and len(list(folder.glob("*.fit"))) > 1:
            break
        time.sleep(0.05)
    process.send_signal(number)
    printed, complaints = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert printed == ""
    kept = len(list(folder.glob("*.fit")))
    assert f"Stopped: {kept} of 90 fits are finished and kept in out. To resume:" in complaints
    assert complaints.rstrip().endswith(f"plait {' '.join(arguments)}")
