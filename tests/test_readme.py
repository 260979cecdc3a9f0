"""The examples of the README run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from plait.cli import main
from plait.run import load

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_first_screen_shows_what_the_commands_print():
    Path("examples").symlink_to(Path(__file__).parents[1] / "examples")
    screen = README.split("\n    $ ", 1)[1].split("\n\n")[0]
    commands = [part.split("\n", 1) for part in screen.split("\n    $ ")]
    assert len(commands) == 4
    for command, *shown in commands:
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
        expected = set(re.findall(r"[a-z]{4,}", " ".join(shown)))
        # On another kind of processor, a sum may be rounded otherwise, and a draw with it.
        assert len(expected & set(re.findall(r"[a-z]{4,}", done.output))) >= 0.5 * len(expected)


def test_python_examples(capsys):
    topics, states = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(topics, "README.md", "exec"), {})
    assert "'orchard'" in capsys.readouterr().out
    assert load("fruit.plait").finished
    exec(compile(states, "README.md", "exec"), {})
    assert re.match(r"\[-?0\.\d* +2\.\d* +[45]\.\d* *\]", capsys.readouterr().out)


def test_commands(tmp_path):
    texts = ["apples and pears", "pears and plums", "trains and trams", "trams and buses"] * 3
    for name in ("speeches.csv", "new-speeches.csv"):
        (tmp_path / name).write_text("text\n" + "\n".join(texts) + "\n")
    rows = [f"{walk},{x},{x * x}" for walk in "ab" for x in range(30)]
    (tmp_path / "walks.csv").write_text("walk,x,y\n" + "\n".join(rows) + "\n")
    section = README.split("## From the command line")[1].split("\n## ")[0]
    commands = [line.strip() for line in section.splitlines() if line.startswith("    plait ")]
    assert [shlex.split(command)[1] for command in commands] == [
        "fit",
        "topics",
        "report",
        "infer",
        "fit",
        "states",
        "decode",
        "report",
    ]
    for command in commands:
        words = shlex.split(command.split(">")[0])[1:]
        more = ["--sweeps", "3"] if words[0] == "fit" else []
        done = CliRunner().invoke(main, words + more)
        assert done.exit_code == 0, done.output
