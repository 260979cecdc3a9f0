"""The command `plait reproduce`, end to end at a tiny scale, and the pages it writes."""

from __future__ import annotations

import json
import signal
import threading
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

from plait.cli import main
from plait.errors import PlaitWarning
from plait.evaluate import figure_style as figures
from plait.paper import reproduce as module
from plait.paper import table1
from plait.paper.findings import NOT, PARTLY, REPRODUCED, UNKNOWN, Claim, Figure, Section, Table
from plait.paper.page import write_page
from plait.paper.reproduce import EXPERIMENTS, experiment_of


@pytest.fixture
def tiny(monkeypatch):
    """Make `--scale quick` run the tiny scale."""
    monkeypatch.setattr(module, "experiment_of", lambda name, scale, n: experiment_of(name, "tiny", n))


@pytest.fixture
def undrawn(monkeypatch):
    """Write empty files instead of figures: rendering takes most of the time of a tiny experiment."""

    def save(figure, folder, name):
        for suffix in ("png", "svg"):
            (folder / f"{name}.{suffix}").touch()

    monkeypatch.setattr(figures, "save", save)


def invoke(*arguments):
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects pictures and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.pictures, self.words = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.pictures.append(dict(attributes)["src"])
        if tag not in ("img", "meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.words.append(text)


def test_all_experiments_write_results_figures_and_a_page(tiny, tmp_path):
    done = invoke("all", "-o", tmp_path / "out", "-q")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n") > 8
    page = Tags((tmp_path / "out" / "index.html").read_text())
    assert page.open == []
    assert len(page.pictures) >= 10
    for picture in page.pictures:
        assert (tmp_path / "out" / picture).exists()
        assert (tmp_path / "out" / picture.replace(".png", ".svg")).exists()
    for name in EXPERIMENTS:
        rows = json.loads((tmp_path / "out" / f"{name}.json").read_text())
        assert len(rows) == len(experiment_of(name, "tiny").jobs())
        assert len((tmp_path / "out" / f"{name}.csv").read_text().splitlines()) == 1 + len(rows)
    assert [path.suffix for path in (tmp_path / "out" / "work").iterdir() if path.suffix == ".plait"] == []
    assert "plait reproduce all --scale quick" in (tmp_path / "out" / "summary.md").read_text()


def test_the_page_shows_all_experiments_in_the_folder(tiny, undrawn, tmp_path):
    assert invoke("hmm", "-o", tmp_path, "-q").exit_code == 0
    assert invoke("table1", "-o", tmp_path, "-q", "--sweeps", 50).exit_code == 0
    text = (tmp_path / "summary.md").read_text()
    assert text.index("## Table 1") < text.index("## Hidden Markov models")
    assert "Made by plait reproduce hmm --scale quick (plait" in text
    assert "Made by plait reproduce table1 --scale quick --sweeps 50 (plait" in text
    (section,) = [Section.from_dict(part.to_dict()) for part in module._read_sections(tmp_path, ["hmm"])]
    assert section == module._read_sections(tmp_path, ["hmm"])[0]


def test_a_section_that_cannot_be_read_is_left_out_with_a_warning(tiny, undrawn, tmp_path):
    assert invoke("hmm", "-o", tmp_path, "-q").exit_code == 0
    (tmp_path / "work" / "hmm.section").write_text("{}")
    with pytest.warns(PlaitWarning, match=r"hmm\.section was written by another version and is left out"):
        assert module._read_sections(tmp_path, EXPERIMENTS) == []


def test_the_same_command_computes_nothing_twice(tiny, undrawn, tmp_path, monkeypatch):
    assert invoke("table1", "-o", tmp_path, "-q").exit_code == 0
    first = (tmp_path / "table1.json").read_text()
    monkeypatch.setattr(table1.JobContext, "sample", lambda *_, **__: pytest.fail("sampled again"))
    assert invoke("table1", "-o", tmp_path, "-q").exit_code == 0
    assert (tmp_path / "table1.json").read_text() == first


def test_ctrl_c_says_how_to_resume(tiny, tmp_path):
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    done = invoke("table1", "-o", tmp_path / "my results", "-q", "--sweeps", 20000)
    assert done.exit_code == 130
    assert "To resume:\n  plait reproduce table1 --scale quick --sweeps 20000 -o '" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table1", "-o", "FILE"), "is a file, not a folder: choose another place"),
        (("table1", "-o", "out", "--sweeps", "1"), "sweeps must be a whole number of at least 2, got 1"),
        (("table2", "-o", "out"), "'table2' is not one of"),
        (("table1",), "Missing option '-o'"),
    ],
)
def test_wrong_arguments_end_the_command_with_a_message(arguments, message, tmp_path):
    (tmp_path / "FILE").write_text("")
    arguments = [tmp_path / part if part in ("FILE", "out") else part for part in arguments]
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


class TestPage:
    def test_both_pages_show_every_part_of_a_section(self, tmp_path):
        claims = [
            Claim("a < b", "1 & 2", "3", {"it holds": True}),
            Claim("c", "1", "2", {"yes it does": True, "no it does not": False}, "a note"),
            Claim("d", "1", "2", {"never": False}),
            Claim("e", "1", "2", {}),
        ]
        section = Section(
            "Things",
            "Two runs.",
            claims,
            [Figure("thing", "A thing")],
            [Table("Numbers", ["m", "x|y"], [["1", "2"]])],
            ["it is smaller"],
            75.0,
        )
        assert [claim.verdict for claim in claims] == [REPRODUCED, PARTLY, NOT, UNKNOWN]
        write_page([section], tmp_path, "Title & more", ["Made by hand"])
        page = Tags((tmp_path / "index.html").read_text())
        assert page.open == []
        assert page.pictures == ["thing.png"]
        words = " ".join(page.words)
        for part in (
            "Title & more",
            "a < b",
            "1 & 2",
            "not reproduced",
            "partly reproduced",
            "a note",
            "it is smaller",
            "1 min 15 s",
            "Made by hand",
            ": never",
            "1 of 2 checks hold",
        ):
            assert part in words, part
        text = (tmp_path / "summary.md").read_text()
        for part in (
            "**partly reproduced**",
            "    - no: no it does not",
            "![A thing](thing.png)",
            "- it is smaller",
            "| 1 | 2 |",
            "| m | x\\|y |",
            "| Things | c | partly reproduced |",
            "a note",
        ):
            assert part in text, part

    def test_columns_of_numbers_are_aligned_right(self, tmp_path):
        rows = [["1", "-2.5 ± 0.1", "a 7", ""], ["2", "+3", "", "3 of 4"]]
        table = Table("Numbers", ["m", "x", "words", "runs"], rows)
        write_page([Section("Things", "", tables=[table])], tmp_path, "Title", [])
        assert "|---|---:|---|---:|" in (tmp_path / "summary.md").read_text().splitlines()
        page = (tmp_path / "index.html").read_text()
        assert "<td>1</td><td class=number>-2.5 ± 0.1</td><td>a 7</td><td class=number></td>" in page
        assert "<th>words</th><th class=number>runs</th>" in page
