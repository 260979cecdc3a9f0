"""What programs that call the command rely on: JSON from every command, exit statuses, encodings."""

from __future__ import annotations

import io
import json
import re
import signal
import sys
import warnings
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import plait
from plait import interrupts
from plait.cli import main
from plait.cli.common import Commands
from plait.cli.output import CLOSED_PIPE, writing_output

DOC = Path(__file__).parents[2] / "docs" / "command.md"


def commands(group, *names):
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name)), command


COMMANDS = dict(commands(main))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    texts = ["Äpfel → und Birnen", "Birnen und Äpfel", "Züge → und Straßen", "Straßen und Züge"]
    columns = {"names": ["Jürgen", "日本", "c", "d"], "dates": ["2001", "2002", "2003", "2004"]}
    recipe = plait.TextRecipe(stop_words=())
    corpus = plait.Corpus.from_texts(texts, recipe=recipe, keep_texts=True, **columns)
    run = plait.sample(plait.LdaModel(corpus, 2), n_paths=1, n_sweeps=2, n_jobs=1, names={1: "Früchte →"})
    run.save(folder / "lda.plait")
    sequences = plait.Sequences.from_symbols([0, 1, 0, 1], [4])
    hmm = plait.HmmModel(plait.CategoricalEmissions(sequences, 2))
    plait.sample(hmm, n_paths=1, n_sweeps=1, n_jobs=1).save(folder / "hmm.plait")
    (folder / "new.txt").write_text("Äpfel und Züge\n\nStraßen\n", encoding="utf-8")
    return folder


USES = [
    "topics lda.plait",
    "documents lda.plait --topic 0",
    "timeline lda.plait",
    "similar lda.plait 日本",
    "similar lda.plait --topic 1",
    "encode new.txt -o encoded --overwrite",
    "infer lda.plait new.txt",
    "evaluate lda.plait --top 3",
    "info lda.plait",
    "info hmm.plait",
    "name lda.plait",
    "states hmm.plait",
    "decode hmm.plait",
    "export lda.plait --overwrite --inference -o slim.plait",
    "export lda.plait --overwrite --format topics -o topics.csv",
]
EVERY_USE = pytest.mark.parametrize("use", USES)


def run(arguments, charset="utf-8"):
    return CliRunner(charset=charset).invoke(main, arguments.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json(name):
    assert any("--json" in option.opts for option in COMMANDS[name].params)


@EVERY_USE
def test_with_json_standard_output_is_json_and_nothing_else(use, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = run(f"{use} --json")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines
    if use.split()[0] not in ("infer", "decode"):  # one object per line
        assert len(lines) == 1
    for line in lines:
        json.loads(line)


@EVERY_USE
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@pytest.mark.parametrize("form", ["", " --json"])
def test_characters_that_an_encoding_lacks_are_escaped(use, encoding, form, folder, monkeypatch):
    monkeypatch.chdir(folder)
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    with pytest.raises(SystemExit) as ended:
        main((use + form).split())
    assert ended.value.code == 0
    for stream in streams:
        stream.flush()
    text = streams[0].buffer.getvalue().decode(encoding)
    if form and text:
        assert text.isascii()
        json.loads(text.splitlines()[0])
    if use == "name lda.plait" and not form:
        assert "chte \\u2192" in text


def documented(text):
    return {int(status) for status in re.findall(r"^\W*(\d+)\s", text, re.MULTILINE)}


def test_exit_statuses_are_in_the_help_and_on_the_page():
    text = run("--help").output.split("Exit statuses:")[1]
    page = DOC.read_text(encoding="utf-8").split("## Exit statuses")[1].split("##")[0]
    signals = {interrupts.exit_status(stopped(name)) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
    assert documented(text) == documented(page) == {0, 1, 2, CLOSED_PIPE} | signals


def stopped(name):
    error = KeyboardInterrupt()
    error.number = getattr(signal, name)
    return error


def test_a_command_that_cannot_be_done_ends_with_2(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for arguments in ("topics missing.plait", "topics", "nonsense", "states lda.plait", "name lda.plait 3"):
        assert run(arguments).exit_code == 2


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_command_that_is_stopped_ends_with_the_number_of_the_signal(number, status):
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    def work():
        raise stopped(number)

    assert CliRunner().invoke(group, ["work"]).exit_code == status


def test_a_fault_of_plait_is_not_hidden():
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    def work():
        raise ZeroDivisionError

    done = CliRunner().invoke(group, ["work"])
    assert done.exit_code == 1
    assert isinstance(done.exception, ZeroDivisionError)


def test_a_pipe_that_windows_calls_invalid_is_a_closed_one(monkeypatch):
    monkeypatch.setattr("plait.cli.output._CLOSED", (22,))
    monkeypatch.setattr("plait.cli.output._FAILURES", (22,))
    monkeypatch.setattr("plait.cli.output._discard", lambda stream: None)
    with pytest.raises(SystemExit) as ended, writing_output():
        raise OSError(22, "Invalid argument")
    assert ended.value.code == CLOSED_PIPE


def test_a_note_is_shown_once():
    @click.group(cls=Commands)
    def group():
        pass

    @group.command()
    def work():
        for text in ("the same", "the same", "another"):
            warnings.warn(text, plait.PlaitWarning, stacklevel=1)

    assert CliRunner().invoke(group, ["work"]).stderr == "Note: the same\nNote: another\n"
