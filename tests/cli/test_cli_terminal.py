"""Hostile words, names and file names: what the commands print stays harmless, whole and readable."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import plait
import plait.cli
from plait.cli import main, output
from plait.cli.common import Commands, sampling
from plait.cli.decoding import write_text
from plait.display import visible
from plait.errors import PlaitWarning
from plait.run import load

NAMES = (
    "\x1b[31mred",
    "new\nline",
    "re\rturn",
    "ta\tb",
    "=cmd|' /C calc'!A0",
    "\u202eright to left",
    "\x9b2J",
    "-5",
    "'=x",
    "語, é",
)
CELLS = (
    r"\x1b[31mred",
    r"new\nline",
    r"re\rturn",
    r"ta\tb",
    "'=cmd|' /C calc'!A0",
    r"\u202eright to left",
    r"\x9b2J",
    "-5",
    "''=x",
    "語, é",
)
ODD = "-o'd d\x1b[31m\n\u202e.plait"
"""A file name with all that a shell or a terminal takes amiss."""

ODD_WORD = r"$'./-o\'d d\033[31m\012\342\200\256.plait'"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with a topic model, a hidden Markov model and documents, all with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    corpus = plait.Corpus.from_matrix(np.ones((2, len(NAMES)), int), vocabulary=NAMES)
    fit_topics(corpus).save(folder / "lda.plait")
    write(folder / "seq.csv", ["id", "symbol"], [(name, other) for name in NAMES for other in NAMES[:3]])
    arguments = ["seq.csv", "-o", ODD, "--states", "2", "--emissions", "categorical", "--id-column", "id"]
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = run("fit", "hmm", *arguments, "--sweeps", "2", "--paths", "1", "-q")
    finally:
        os.chdir(before)
    assert done.exit_code == 0
    (folder / "fitted.txt").write_text(done.stderr, encoding="utf-8")
    shutil.copy(folder / ODD, folder / "hmm.plait")
    write(folder / "doc.csv", ["id", "text"], [(name, "語") for name in NAMES])
    return folder


@pytest.fixture
def here(models, monkeypatch):
    """Work in the folder with the models."""
    monkeypatch.chdir(models)


def fit_topics(corpus):
    return plait.sample(plait.LdaModel(corpus, 2), n_paths=1, n_sweeps=2, seed=0, n_jobs=1)


def write(path, header, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def run(*arguments, charset="utf-8"):
    return CliRunner(charset=charset).invoke(main, arguments)


def ok(*arguments, **options):
    done = run(*arguments, **options)
    assert done.exit_code == 0, done.output
    return done


def is_harmless(text):
    """Tell whether a text of several lines holds no control character; tabs between cells are fine."""
    return all(cell == visible(cell) for line in text.split("\n") for cell in line.split("\t"))


COMMANDS = {
    "topics": ["topics", "lda.plait"],
    "topics --json": ["topics", "lda.plait", "--json"],
    "infer": ["infer", "lda.plait", "doc.csv", "--id-column", "id"],
    "infer --json": ["infer", "lda.plait", "doc.csv", "--id-column", "id", "--json"],
    "evaluate": ["evaluate", "lda.plait", "--top", "2"],
    "evaluate --json": ["evaluate", "lda.plait", "--top", "2", "--json"],
    "states": ["states", f"./{ODD}"],
    "states --json": ["states", "hmm.plait", "--json"],
    "decode": ["decode", f"./{ODD}"],
    "decode new": ["decode", "hmm.plait", "seq.csv", "--id-column", "id", "--columns", "symbol"],
    "decode --json": ["decode", "hmm.plait", "--json"],
}
FAILURES = {
    "no file": ["topics", "\x1b[31mx"],
    "no documents": ["evaluate", "lda.plait", "\x1b[31mx", "--top", "2"],
    "wrong kind": ["topics", f"./{ODD}"],
    "option value": ["infer", "lda.plait", "doc.csv", "--format", "a\nb\x1b"],
    "number": ["topics", "lda.plait", "--words", "\x1b[31m"],
    "option": ["topics", "lda.plait", "--\x1b[31m\n"],
    "argument": ["topics", "lda.plait", "\x1b[31m\nx", "\u202e"],
    "command": ["\x1b[31m\nx"],
    "column": ["decode", "hmm.plait", "seq.csv", "--id-column", "\x1b[31m\n"],
    "share": ["fit", "lda", "doc.csv", "-o", "x", "--min-df", "\x1b[31m\n"],
    "encoding": ["fit", "lda", "doc.csv", "-o", "x", "--encoding", "\x1b[31m\n"],
    "folder": ["fit", "lda", "doc.csv", "-o", "\x1b[31m\n/x"],
    "long name": ["fit", "lda", "doc.csv", "-o", "\x1b" * 5000],
    "lone surrogate": ["topics", "\udcff\u202e"],
}


@pytest.mark.usefixtures("here")
class TestEveryCommand:
    @pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
    @pytest.mark.parametrize("charset", ["utf-8", "ascii"])
    def test_nothing_hidden_is_printed_in_any_encoding(self, arguments, charset):
        done = ok(*arguments, charset=charset)
        assert is_harmless(done.stdout)
        assert is_harmless(done.stderr)
        assert charset != "ascii" or done.output.isascii()

    @pytest.mark.parametrize("arguments", FAILURES.values(), ids=FAILURES)
    def test_errors_are_one_harmless_line(self, arguments):
        done = run(*arguments)
        assert done.exit_code == 2
        assert is_harmless(done.output)
        assert len(done.stderr) < 10_000
        assert [line for line in done.stderr.splitlines() if line.startswith("Error: ")] == [
            done.stderr.splitlines()[-1]
        ]

    def test_click_s_errors_that_repeat_nothing_keep_their_lines(self):
        assert "Choose from:\n\ttable1,\n" in run("reproduce", "-o", "x").stderr
        assert "Commands:\n  hmm" in run("fit").output

    def test_errors_of_click_are_in_the_encoding_of_the_terminal(self):
        assert r"Error: No such command '\xe9" in run("é語", charset="ascii").stderr


@pytest.mark.usefixtures("here")
class TestTables:
    def test_topics_are_one_row_each(self):
        header, *rows = ok("topics", "lda.plait").stdout.splitlines()
        assert header == "topic   share  words"
        assert len(rows) == 2
        for word in NAMES:
            assert all(visible(word) in row for row in rows)

    def test_a_row_is_one_line_however_long_it_is(self):
        words = [f"{letter * 3000}" for letter in "abc"]
        corpus = plait.Corpus.from_matrix(np.ones((2, 3), int), vocabulary=words)
        fit_topics(corpus).save("long.plait")
        header, *rows = ok("topics", "long.plait").stdout.splitlines()
        assert header == "topic   share  words"
        assert [len(row) for row in rows] == [9017, 9017]

    def test_documents_are_one_row_each_with_two_cells(self):
        rows = [line.split("\t") for line in ok(*COMMANDS["infer"]).stdout.splitlines()]
        assert [name for name, _ in rows] == list(CELLS)
        assert all(re.fullmatch(r"[01] \(.+\):0\.\d{3}  [01] \(.+\):0\.\d{3}", topics) for _, topics in rows)

    def test_raw_documents_have_their_names(self):
        out = ok(*COMMANDS["infer"], "--raw").stdout_bytes.decode("utf-8")
        assert [row.rsplit("\t", 1)[0] for row in re.split(r"(?<=\d{3})\n", out)[:-1]] == list(NAMES)

    @pytest.mark.parametrize("more", [[], ["--probabilities"], ["-o", "states.csv", "--overwrite"]])
    def test_observations_are_one_row_each(self, more):
        done = ok(*COMMANDS["decode"], *more)
        text = Path("states.csv").read_bytes().decode("utf-8") if "-o" in more else done.stdout
        assert len(text.splitlines()) == 1 + 3 * len(NAMES)
        names = [row["sequence"] for row in csv.DictReader(io.StringIO(text))]
        assert names == [cell for cell in CELLS for _ in range(3)]

    def test_raw_observations_have_their_names(self):
        text = ok(*COMMANDS["decode"], "--raw").stdout_bytes.decode("utf-8")
        names = [row["sequence"] for row in csv.DictReader(io.StringIO(text, newline=""))]
        assert names == [name for name in NAMES for _ in range(3)]

    @pytest.mark.parametrize("command", ["infer", "decode"])
    def test_raw_names_are_escaped_where_the_encoding_lacks_a_character(self, command):
        assert r"\u8a9e, \xe9" in ok(*COMMANDS[command], "--raw", charset="ascii").stdout

    def test_a_file_of_states_is_utf_8_whatever_the_terminal_is(self):
        ok(*COMMANDS["decode"], "-o", "states.csv", "--overwrite", charset="ascii")
        assert "語, é" in Path("states.csv").read_text(encoding="utf-8")

    def test_an_array_has_no_raw_names(self):
        done = run("decode", "hmm.plait", "--raw", "-o", "states.npy")
        assert done.exit_code == 2
        assert "remove --raw" in done.stderr

    @pytest.mark.parametrize("charset", ["utf-8", "ascii", "cp1252"])
    def test_json_has_the_exact_names(self, charset):
        def lines(key):
            return [json.loads(line) for line in ok(*COMMANDS[key], charset=charset).stdout.splitlines()]

        assert tuple(item["document"] for item in lines("infer --json")) == NAMES
        assert tuple(item["sequence"] for item in lines("decode --json")) == NAMES
        assert set(lines("topics --json")[0][0]["words"]) == set(NAMES)
        assert set(lines("states --json")[0][0]["symbols"]) == set(NAMES[:3])

    def test_a_long_number_is_cut_off_in_a_note(self):
        write(Path("long.csv"), ["x"], [(f"1.{'1' * 5000}",), ("2.5",)])
        options = ["--states", "2", "--emissions", "categorical", "--sweeps", "2", "--overwrite", "-q"]
        note = ok("fit", "hmm", "long.csv", "-o", "x.plait", *options).stderr.splitlines()[1]
        assert note.startswith("Note: the symbols are numbers, such as '1.11")
        assert len(note) < 250


@pytest.mark.usefixtures("here")
class TestHints:
    def test_hints_can_be_pasted(self, models):
        *_, saved, verdict, _optimum, states, decode = (
            models.joinpath("fitted.txt").read_text(encoding="utf-8").splitlines()
        )
        assert saved.endswith(r"Model saved to -o'd d\x1b[31m\n\u202e.plait")
        assert verdict == "EM has converged."
        assert states == f"Look at its states with: plait states {ODD_WORD}"
        assert decode == f"Find the state of each observation with: plait decode {ODD_WORD}"

    @pytest.mark.parametrize(
        ("arguments", "hint"),
        [
            (["topics", f"./{ODD}"], f"`plait states {ODD_WORD}` lists its states"),
            (["infer", f"./{ODD}", "./-a b"], f"`plait decode {ODD_WORD} './-a b'` finds"),
            (["states", "./-lda.plait"], "`plait topics ./-lda.plait` lists its topics"),
            (["decode", "./-lda.plait"], "`plait infer ./-lda.plait INPUT` finds"),
            (["decode", "./-lda.plait", "a b"], "`plait infer ./-lda.plait 'a b'` finds"),
        ],
        ids=lambda value: ascii(value),
    )
    def test_another_command_is_recommended_as_it_must_be_typed(self, arguments, hint):
        shutil.copy("lda.plait", "-lda.plait")
        done = run(*arguments)
        assert done.exit_code == 2
        assert hint in done.stderr

    def test_a_run_that_is_not_finished_can_be_resumed_as_it_says(self):
        unfinished = load("lda.plait")
        replace(unfinished, settings=unfinished.settings.lasting(3)).save("-it's.plait")
        note = ok("topics", "--", "-it's.plait").stderr
        command = re.search(r"`(plait resume .*)` resumes it", note)[1]
        assert shlex.split(command) == ["plait", "resume", "./-it's.plait"]
        lines = ok(*shlex.split(command)[1:], "-q").stderr.splitlines()
        hints = [shlex.split(line.split(": ")[1]) for line in lines if ": " in line and "plait " in line][-3:]
        assert hints[0] == ["plait", "topics", "./-it's.plait"]
        assert hints[1] == ["plait", "documents", "./-it's.plait", "--topic", "0"]
        assert hints[2] == ["plait", "report", "./-it's.plait"]


def test_a_stopped_run_can_be_resumed_as_it_says(capsys):
    with pytest.raises(SystemExit), sampling(Path("-a b\n"), True, "token"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err.splitlines()[-1] == r"  plait resume $'./-a b\012'"


def test_lines_are_printed_in_visible_form(capsys):
    output.print_lines("a\x1b\nb", "c")
    assert capsys.readouterr().out == "a\\x1b\\nb\nc\n"


def test_only_one_module_prints():
    """Everything else is printed by functions that make text safe."""
    for path in Path(plait.cli.__file__).parent.glob("*.py"):
        if path.name != "output.py":
            calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if is_call(node)]
            assert not {ast.unparse(call) for call in calls} & {"print", "click.echo", "click.secho"}, path


def is_call(node):
    return isinstance(node, ast.Call)


def test_warnings_are_harmless():
    done = CliRunner().invoke(warning_group, ["warn"])
    assert done.stderr.splitlines() == [r"Note: a\x1b[31m\nb", r"DeprecationWarning: c\x1b\nd"]


@click.group(cls=Commands)
def warning_group():
    pass


@warning_group.command()
def warn():
    warnings.simplefilter("always", DeprecationWarning)
    warnings.warn("a\x1b[31m\nb", PlaitWarning, stacklevel=1)
    warnings.warn("c\x1b\nd", DeprecationWarning, stacklevel=1)


GROUP = """
import click
from plait.cli.common import Commands, sampling
from plait.cli.decoding import write_text
from plait.cli.output import print_lines, print_table
from plait.display import say

@click.group(cls=Commands)
def main():
    pass

@main.command()
@click.argument("n", type=int)
def rows(n):
    say("a note")
    print_lines(*["row"] * n)

@main.command()
def table():
    print_table(["n", "word"], [["1", "é語\\x1b[31m"]])

main()
"""
"""A command that prints, in a process that starts quickly."""


def start(*arguments, env=None, **options):
    command = [sys.executable, "-c", GROUP, *arguments]
    environment = os.environ | {"PYTHONUNBUFFERED": ""} | (env or {})
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen(command, env=environment, **options)


NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


class Full(io.StringIO):
    def flush(self):
        raise OSError(28, "No space left on device")


class TestBrokenStreams:
    @NEEDS_FULL
    @pytest.mark.parametrize("arguments", [["rows", "1"], ["rows", "100000"], ["--help"]], ids=str)
    @pytest.mark.parametrize("unbuffered", ["", "1"])
    def test_a_full_disk_is_one_line(self, arguments, unbuffered):
        with open("/dev/full", "w") as full:
            process = start(*arguments, stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
            errors = process.communicate()[1].splitlines()
        assert process.returncode == 2
        assert errors[-1].startswith("Error: cannot write to standard output: No space left on device. ")
        assert errors[:-1] in ([], ["a note"])

    @pytest.mark.parametrize("arguments", [["rows", "1"], ["rows", "100000"], ["--help"]], ids=str)
    def test_a_closed_pipe_ends_the_command_in_silence(self, arguments):
        reader, writer = os.pipe()
        os.close(reader)
        process = start(*arguments, stdout=writer)
        os.close(writer)
        assert process.communicate()[1].replace("a note\n", "") == ""
        assert process.returncode == output.CLOSED_PIPE

    @NEEDS_FULL
    def test_standard_error_that_takes_nothing_is_no_error(self):
        with open("/dev/full", "w") as full:
            process = start("rows", "2", stderr=full)
            assert process.communicate()[0] == "row\nrow\n"
        assert process.returncode == 0

    @pytest.mark.parametrize("closed", ["1", "2"])
    def test_a_closed_stream_is_no_error(self, closed):
        command = ["sh", "-c", f'"$0" -c "$1" rows 2 {closed}>&-', sys.executable, GROUP]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0
        assert (done.stdout, done.stderr) == (("", "a note\n") if closed == "1" else ("row\nrow\n", ""))

    def test_other_errors_of_files_are_not_taken_for_the_output(self):
        with pytest.raises(OSError, match="Cannot allocate"), output.writing_output():
            raise OSError(12, "Cannot allocate memory")
        with pytest.raises(OSError, match=r"x\.bin"), output.writing_output():
            raise OSError(28, "No space left on device", "x.bin")

    def test_a_table_is_written_before_its_summary(self):
        with pytest.raises(OSError, match="No space left"):
            write_text(Full(), iter(()), 2, probabilities=False, raw=False, as_json=False)


class TestTerminal:
    @pytest.mark.parametrize(
        ("encoding", "cell"), [("utf-8", r"é語\x1b[31m"), ("ascii", r"\xe9\u8a9e\x1b[31m")]
    )
    def test_a_table_on_a_terminal_is_harmless(self, encoding, cell):
        screen, terminal = pty.openpty()
        env = {"PYTHONIOENCODING": encoding, "TERM": "dumb", "NO_COLOR": "1"}
        process = start("table", stdout=terminal, env=env)
        os.close(terminal)
        assert process.communicate()[1] == ""
        assert f"1  {cell}" in os.read(screen, 4096).decode()
        os.close(screen)
