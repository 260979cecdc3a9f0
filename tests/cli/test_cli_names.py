"""`plait name`, and names wherever the commands show topics and states."""

from __future__ import annotations

import csv
import io
import json
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import forging
import plait
from plait.cli import main
from plait.errors import PlaitError
from plait.evaluate.states import summarise_states
from plait.outputs import claimed
from plait.run import load


@pytest.fixture
def runner(tmp_path, monkeypatch, small_bands):
    """Return a runner in a folder with runs of a topic model and of a hidden Markov model."""
    monkeypatch.chdir(tmp_path)
    plait.sample(plait.LdaModel(small_bands.corpus, 4), n_paths=2, n_sweeps=5, n_jobs=1).save("lda.plait")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 1)) + 9.0 * (np.arange(60)[:, None] // 20 % 3)
    days = plait.Sequences.from_values(values, [40, 20], names=["a", "b"])
    run = plait.sample(plait.HmmModel(plait.GaussianEmissions(days, 3)), n_paths=2, n_sweeps=50, n_jobs=1)
    # States that are not in canonical order, so that it matters which numbers are meant
    order = run.model.canonical_order(run.parameters(1))
    number = np.empty(3, np.uint16)
    number[order] = [2, 0, 1]
    replace(run, paths=number[run.paths]).save("hmm.plait")
    return CliRunner()


def invoke(runner, *arguments):
    return runner.invoke(main, [str(a) for a in arguments])


def ok(runner, *arguments):
    done = invoke(runner, *arguments)
    assert done.exit_code == 0, done.output
    return done


def fails(done, *parts):
    assert done.exit_code == 2, done.output
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    for part in parts:
        assert part in line


class TestNaming:
    def test_names_are_kept_in_the_file_and_listed(self, runner):
        before = load("lda.plait")
        done = ok(runner, "name", "lda.plait", 3, "taxes", 0, "war and peace")
        assert "2 of 4 topics have names" in done.stderr
        assert done.stdout == ""
        assert dict(load("lda.plait").names) == {0: "war and peace", 3: "taxes"}
        assert np.array_equal(load("lda.plait").paths, before.paths)
        assert ok(runner, "name", "lda.plait").stdout == "topic  name\n    0  war and peace\n    3  taxes\n"
        assert json.loads(ok(runner, "name", "lda.plait", "--json").stdout) == {
            "0": "war and peace",
            "3": "taxes",
        }

    def test_later_names_are_added_and_empty_ones_removed(self, runner):
        ok(runner, "name", "lda.plait", 3, "taxes", 0, "war")
        ok(runner, "name", "lda.plait", 3, "", 1, "peace")
        assert dict(load("lda.plait").names) == {0: "war", 1: "peace"}
        ok(runner, "name", "lda.plait", "--clear", 2, "rivers")
        assert dict(load("lda.plait").names) == {2: "rivers"}
        ok(runner, "name", "lda.plait", "--clear")
        assert dict(load("lda.plait").names) == {}
        assert "No topic has a name" in ok(runner, "name", "lda.plait").stderr

    def test_names_can_be_exchanged_between_two_topics(self, runner):
        ok(runner, "name", "lda.plait", 0, "war", 1, "peace")
        ok(runner, "name", "lda.plait", 0, "peace", 1, "war")
        assert dict(load("lda.plait").names) == {0: "peace", 1: "war"}

    def test_names_go_from_one_file_to_another(self, runner):
        ok(runner, "name", "lda.plait", 3, "día\n語")
        Path("names.json").write_text(ok(runner, "name", "lda.plait", "--json").stdout, encoding="utf-8")
        ok(runner, "name", "lda.plait", "--clear", 3, "x")
        printed = ok(runner, "name", "lda.plait", "--from", "names.json", 0, "war", "--json").stdout
        assert json.loads(printed) == {"0": "war", "3": "día\n語"}

    def test_reading_names_does_not_write(self, runner):
        def state():
            found = Path("lda.plait").stat()
            return found.st_ino, found.st_size, found.st_mtime_ns  # not when it was last read

        before = state()
        ok(runner, "name", "lda.plait")
        ok(runner, "name", "lda.plait", "--json")
        assert state() == before

    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            (["4", "x"], ["from 0 to 3", "got 4"]),
            (["4", ""], ["from 0 to 3", "got 4"]),
            (["3"], ["'3' has no partner"]),
            (["taxes", "3"], ["'taxes' is not a number"]),
            (["3", "x", "03", "y"], ["3 has two names"]),
            (["3", "x", "2", "x"], ["names[2] must differ from the name of 3"]),
            (["3", "  "], ["names[3] must not be blank"]),
            (["--from", "none.json"], ["none.json: there is no such file"]),
            (["--from", "broken.json"], ["broken.json: it is not JSON"]),
            (["--from", "deep.json"], ["deep.json: it is not JSON"]),
            (["--from", "list.json"], ["list.json: names must be an object"]),
            (["--from", "words.json"], ["words.json: names must have whole numbers", "'taxes'"]),
            (["--from", "number.json"], ["names[3] must be a string, got 7"]),
        ],
    )
    def test_bad_names_get_one_line_and_change_nothing(self, runner, arguments, parts):
        contents = {
            "broken": "{",
            "deep": "[" * 100_000,
            "list": "[]",
            "words": '{"taxes": "3"}',
            "number": '{"3": 7}',
        }
        for name, text in contents.items():
            Path(f"{name}.json").write_text(text)
        before = Path("lda.plait").read_bytes()
        fails(invoke(runner, "name", "lda.plait", *arguments), *parts)
        assert Path("lda.plait").read_bytes() == before

    def test_a_missing_file_and_other_models_are_refused(self, runner, tmp_path):
        fails(invoke(runner, "name", "none.plait", "3", "x"), "none.plait", "plait fit")
        path = forging.make_files(tmp_path)["potts, gaussian"]
        for arguments in ([], ["0", "sky"]):
            fails(invoke(runner, "name", path, *arguments), "of the kind potts", "Run.named")

    def test_a_file_that_another_writer_has_claimed_is_left_alone(self, runner):
        before, errors = Path("lda.plait").read_bytes(), []

        def name():
            errors.append(invoke(runner, "name", "lda.plait", "3", "x"))

        with claimed(Path("lda.plait"), overwrite=True):
            other = threading.Thread(target=name)
            other.start()
            other.join()
        fails(errors[0], "another process or thread is writing lda.plait")
        assert Path("lda.plait").read_bytes() == before

    def test_the_file_is_claimed_before_it_is_read(self, runner, monkeypatch):
        """Otherwise what another process writes between reading and writing would be lost."""
        from plait import run as module

        read, refused = module.load_with_paths, []

        def claim():
            try:
                with claimed(Path("lda.plait"), overwrite=True):
                    pass
            except PlaitError as error:
                refused.append(str(error))

        def read_while_another_thread_claims(*arguments):
            other = threading.Thread(target=claim)
            other.start()
            other.join()
            return read(*arguments)

        monkeypatch.setattr(module, "load_with_paths", read_while_another_thread_claims)
        ok(runner, "name", "lda.plait", "3", "x")
        assert len(refused) == 1
        assert "is writing lda.plait" in refused[0]

    def test_a_damaged_file_is_not_replaced_by_the_one_before_it(self, runner):
        load("lda.plait").save("lda.plait", keep_previous=True)
        Path("lda.plait").write_bytes(b"damaged")
        fails(invoke(runner, "name", "lda.plait", "3", "x"), "lda.plait is damaged", "plait resume lda.plait")
        assert Path("lda.plait").read_bytes() == b"damaged"

    def test_resuming_keeps_names(self, runner):
        ok(runner, "name", "lda.plait", 3, "taxes")
        ok(runner, "resume", "lda.plait", "--sweeps", 8, "-q")
        assert dict(load("lda.plait").names) == {3: "taxes"}


class TestTopics:
    def test_names_are_shown_beside_numbers(self, runner):
        assert ok(runner, "topics", "lda.plait").stdout.splitlines()[0].split() == ["topic", "share", "words"]
        ok(runner, "name", "lda.plait", 3, "taxes\n\x1b[31m", 0, "war and peace")
        header, *lines = ok(runner, "topics", "lda.plait").stdout.splitlines()
        assert header.split() == ["topic", "share", "name", "words"]
        (line,) = [line for line in lines if line.split()[0] == "3"]
        column = header.index("name")
        assert line[column:].startswith(r"taxes\n\x1b[31m  ")
        assert len({line.index("  ", column) for line in lines if "war and" in line}) == 1
        rows = json.loads(ok(runner, "topics", "lda.plait", "--json").stdout)
        assert {row["topic"]: row["name"] for row in rows} == {
            0: "war and peace",
            1: None,
            2: None,
            3: "taxes\n\x1b[31m",
        }

    def test_inferred_topics_have_numbers_and_names(self, runner):
        ok(runner, "name", "lda.plait", 3, "taxes\t\x1b[31m")
        Path("new.txt").write_text("1 2 3 4\n5 6 7\n")
        shown = ok(runner, "infer", "lda.plait", "new.txt", "--top", 4).stdout.splitlines()
        rows = [
            json.loads(line)
            for line in ok(runner, "infer", "lda.plait", "new.txt", "--json").stdout.splitlines()
        ]
        for line, row in zip(shown, rows, strict=True):
            name, found = line.split("\t")
            cells = dict(cell.rsplit(":", 1) for cell in found.split("  "))
            assert {cell.split(" (")[0] for cell in cells} == {"0", "1", "2", "3"}
            assert float(cells[r"3 (taxes\t\x1b[31m)"]) == pytest.approx(row["theta"][3], abs=6e-4)
            assert row["document"] == name
            assert len(row["topics"]) == 3
            for best in row["topics"]:
                assert best["share"] == row["theta"][best["topic"]]
                assert best["name"] == ("taxes\t\x1b[31m" if best["topic"] == 3 else None)
            assert row["topics"][0]["share"] == max(row["theta"])


class TestStates:
    def test_numbers_are_those_that_are_shown(self, runner):
        ok(runner, "name", "hmm.plait", 0, "low", 2, "high")
        run = load("hmm.plait")
        means = {run.names[s]: run.parameters(1).emissions.means[s, 0] for s in run.names}
        assert means["low"] < 3
        assert means["high"] > 15
        assert json.loads(ok(runner, "name", "hmm.plait", "--json").stdout) == {"0": "low", "2": "high"}
        assert [summary.name for summary in summarise_states(run)] == ["low", None, "high"]
        fails(invoke(runner, "name", "hmm.plait", 1, "low"), "names[1] must differ from the name of 0")

    def test_names_are_shown_beside_numbers(self, runner):
        header = ok(runner, "states", "hmm.plait").stdout.splitlines()[0]
        assert "name" not in header.split()
        ok(runner, "name", "hmm.plait", 0, "low tide")
        header, *lines = ok(runner, "states", "hmm.plait").stdout.splitlines()
        assert header.split()[:4] == ["state", "share", "stay", "name"]
        assert "  low tide  " in lines[0]
        rows = json.loads(ok(runner, "states", "hmm.plait", "--json").stdout)
        assert [row["name"] for row in rows] == ["low tide", None, None]

    def test_decoded_states_have_names(self, runner):
        plain = ok(runner, "decode", "hmm.plait", "-q").stdout
        ok(runner, "name", "hmm.plait", 0, "=low")
        rows = list(csv.DictReader(io.StringIO(ok(runner, "decode", "hmm.plait", "-q").stdout)))
        assert list(rows[0]) == ["sequence", "position", "state", "name"]
        assert [row["state"] for row in rows] == [row["state"] for row in csv.DictReader(io.StringIO(plain))]
        assert {(row["state"], row["name"]) for row in rows} == {("0", "'=low"), ("1", ""), ("2", "")}
        raw = ok(runner, "decode", "hmm.plait", "-q", "--raw", "--probabilities").stdout.splitlines()
        assert raw[0] == "sequence,position,state,name,p0,p1,p2"
        assert any(line.startswith("a,0,0,=low,") for line in raw)
        lines = ok(runner, "decode", "hmm.plait", "-q", "--json").stdout.splitlines()
        assert [json.loads(line)["names"] for line in lines] == [{"0": "=low"}] * 2

    def test_states_of_restarts_to_come_cannot_be_named(self, runner, tmp_path):
        path = forging.make_files(tmp_path)["hmm, poisson, unfinished"]
        before = path.read_bytes()
        fails(invoke(runner, "name", path, 0, "calm"), "in restart 2 of 2", "plait resume")
        assert path.read_bytes() == before
        assert "No state has a name" in ok(runner, "name", path).stderr
        ok(runner, "resume", path, "-q")
        ok(runner, "name", path, 0, "calm")
        assert json.loads(ok(runner, "name", path, "--json").stdout) == {"0": "calm"}
