"""docs/reproduction.md has the words that the code would write today; its numbers come from long runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plait.evaluate import figure_style as figures
from plait.paper.reproduce import EXPERIMENTS, FACTS, experiment_of
from plait.paper.sotu_findings import differences_of

PAGE = Path(__file__).parents[2].joinpath("docs", "reproduction.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^    plait reproduce (\w+) --scale (\w+)(?: --sweeps (\d+))? -o", re.MULTILINE)


def on_page(text):
    return text in PAGE.replace("\\|", "|")


def test_the_page_names_a_command_for_each_experiment():
    assert sorted(name for name, *_ in COMMAND.findall(PAGE)) == sorted(EXPERIMENTS)
    assert [fact for fact in FACTS if not on_page(fact)] == []


@pytest.mark.parametrize("command", COMMAND.findall(PAGE), ids=lambda command: command[0])
def test_the_page_has_the_settings_claims_and_differences_that_the_code_writes(
    command, tmp_path, monkeypatch
):
    monkeypatch.setattr(figures, "save", lambda *_: [])
    name, scale, n_sweeps = command
    section = experiment_of(name, scale, int(n_sweeps) if n_sweeps else None).report([], tmp_path)
    claims = [claim.text.rstrip(".") for claim in section.claims]  # some say more where there are runs
    setting = section.setting.partition(". ")[2] if name == "sotu" else section.setting  # its sizes need rows
    assert [
        text for text in (section.title, setting, *claims, *section.differences) if not on_page(text)
    ] == []


def test_the_page_has_the_differences_of_the_state_of_the_union():
    row = {"documents": 23037, "tokens": 769056, "topics": 500, "sweeps": 2000, "empty_years": [0] * 5}
    assert [text for text in differences_of(row) if not on_page(text)] == []
