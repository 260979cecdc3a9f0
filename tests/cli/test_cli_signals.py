"""The command as a process: signals, two commands on one output, and files that must not be replaced."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from plait.cli import main
from plait.run import load

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")

COMMAND = [sys.executable, "-c", "from plait.cli import main; main(prog_name='plait')"]
FIXED = ["--alpha", "1", "--eta", "0.01"]
FIT = ["fit", "lda", "texts.txt", "-o", "m.plait", "--topics", "3", "--paths", "2", *FIXED, "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = ["apple", "pear", "plum", "tram", "train", "bus"]
    texts = "\n".join(" ".join(rng.choice(words, 20)) for _ in range(40))
    (tmp_path / "texts.txt").write_text(texts)
    return tmp_path


def accept_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start(folder, *arguments):
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=accept_signals,
    )


def end(process):
    printed, complaints = process.communicate(timeout=120)
    return process.returncode, printed, complaints


def run(folder, *arguments):
    """Run a command to its end; in this process, which is faster."""
    done = CliRunner().invoke(main, arguments, prog_name="plait")
    return done.exit_code, done.stdout, done.stderr


def wait_for(path):
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_finishes_the_sweep_and_says_how_to_resume(folder, number):
    process = start(folder, *FIT, "--sweeps", "1000000", "--checkpoint-every", "0")
    wait_for(folder / "m.plait")
    time.sleep(0.3)
    process.send_signal(number)
    status, _, complaints = end(process)
    assert status == 128 + number
    made = int(re.search(r"interrupted after sweep (\d+) of 1000000", complaints)[1])
    assert complaints.rstrip().endswith("plait resume m.plait")
    assert load(folder / "m.plait").sweep == made
    assert sorted(os.listdir(folder)) == ["m.plait", "texts.txt"]


def test_a_second_command_on_one_output_is_refused_and_the_first_goes_on(folder):
    # A checkpoint after every sweep: the second command must not touch the temporary files of the first.
    first = start(folder, *FIT, "--sweeps", "1000000", "--checkpoint-every", "0")
    wait_for(folder / "m.plait")
    for arguments in ([*FIT, "--overwrite"], FIT, ["resume", "m.plait", "--sweeps", "9999"]):
        status, _, complaints = run(folder, *arguments)
        assert status == 2
        assert complaints.count("\n") == 1
        assert re.match(r"Error: (another process or thread is writing m\.plait|m\.plait exists)", complaints)
    assert first.poll() is None
    made = load(folder / "m.plait").sweep
    time.sleep(0.2)
    first.send_signal(signal.SIGTERM)
    status, _, complaints = end(first)
    assert status == 143, complaints
    assert load(folder / "m.plait").sweep > made
    assert sorted(os.listdir(folder)) == ["m.plait", "texts.txt"]


@pytest.mark.parametrize("output", ["texts.txt", "./texts.txt", "link", "pipe", "/dev/full"])
def test_inputs_and_special_files_are_not_replaced(folder, output):
    before = (folder / "texts.txt").read_bytes()
    (folder / "link").symlink_to("texts.txt")
    os.mkfifo(folder / "pipe")
    status, _, complaints = run(folder, *FIT, "-o", output, "--sweeps", "1", "--overwrite")
    assert status == 2
    assert re.fullmatch(
        r"Error: cannot write [^\n]*: it is (part of the input|a pipe|a device)[^\n]*\n", complaints
    )
    assert (folder / "texts.txt").read_bytes() == before
    assert (folder / "pipe").is_fifo()
    assert Path("/dev/full").is_char_device()


def test_a_vocabulary_that_was_found_is_not_replaced(folder):
    (folder / "docword.x.txt").write_text("1\n2\n1\n1 1 1\n")
    (folder / "vocab.x.txt").write_text("apple\npear\n")
    status, _, complaints = run(folder, "fit", "lda", "docword.x.txt", "-o", "vocab.x.txt", "--overwrite")
    assert status == 2
    assert "vocab.x.txt: it is part of the input" in complaints
    assert (folder / "vocab.x.txt").read_text() == "apple\npear\n"


def test_a_damaged_checkpoint_falls_back_to_the_one_before(folder):
    assert run(folder, *FIT, "--sweeps", "9", "--checkpoint-every", "0", "-o", "whole.plait")[0] == 0
    status, _, _ = run(folder, *FIT, "--sweeps", "5", "--checkpoint-every", "0", "--keep-previous")
    assert status == 0
    assert load(folder / "m.plait.previous").sweep == 5  # the last sweep is written once more at the end
    newest = folder / "m.plait"
    newest.write_bytes(newest.read_bytes()[:-100])
    status, _, complaints = run(folder, "resume", "m.plait", "--sweeps", "9")
    assert status == 0
    note = "Note: m.plait is damaged or missing; the checkpoint before it, m.plait.previous, at sweep 5 of 5"
    assert complaints.count(note) == 1
    assert np.array_equal(load(newest).paths, load(folder / "whole.plait").paths)


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_a_wrong_time_between_checkpoints_is_refused(folder, seconds):
    status, _, complaints = run(folder, *FIT, "--checkpoint-every", seconds)
    assert status == 2
    assert "--checkpoint-every" in complaints
    assert not (folder / "m.plait").exists()
