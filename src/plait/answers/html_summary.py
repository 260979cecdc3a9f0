"""A short summary of a run as HTML, for notebooks: all text escaped, no style sheet, no script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from plait.answers.describing import describe
from plait.answers.wording import (
    data_in_words,
    emissions_in_words,
    model_in_words,
    progress_in_words,
    settings_in_words,
)
from plait.display import visible
from plait.evaluate.states import summarise_states
from plait.evaluate.summary import summarise_topics
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.run import Run

MOST_ROWS: Final = 20
"""Topics or states that a summary lists."""

_MOST_CHARACTERS: Final = 160  # of a cell
_N_WORDS: Final = 8
_STYLE: Final = "text-align:left;vertical-align:top;white-space:pre-wrap"


def html_summary(run: Run) -> str:
    """Return what a run is and how it went, with its largest topics or its states, as HTML."""
    about = describe(run)
    facts = [
        ("model", model_in_words(about)),
        ("data", data_in_words(about["data"])),
        ("settings", settings_in_words(about["settings"])),
        ("progress", progress_in_words(about["progress"])),
        ("verdict", about["verdict"]["text"]),
    ]
    return f'<div class="plait-run">{_table((), facts)}{_contents(run.best)}</div>'


def _contents(run: Run) -> str:
    """Return a table of the topics or states, if the model has these."""
    rows: list[tuple[object, ...]]
    if isinstance(run.model, LdaModel) and len(run.paths):
        topics = summarise_topics(run, _N_WORDS)
        rows = [(own.topic, own.name or "", f"{own.share:.1%}", " ".join(own.words)) for own in topics]
        return _table(("topic", "name", "share", "words"), rows, "topics")
    if isinstance(run.model, HmmModel):
        states = summarise_states(run, _N_WORDS)
        header, _ = emissions_in_words(states[0].emissions)
        rows = [
            (
                own.state,
                own.name or "",
                f"{own.share:.1%}",
                f"{own.stay:.3f}",
                emissions_in_words(own.emissions)[1],
            )
            for own in states
        ]
        return _table(("state", "name", "share", "stay", header), rows, "states")
    return ""


def _table(headers: Sequence[str], rows: Sequence[Sequence[object]], what: str = "") -> str:
    """Return a table of the first rows, without columns that are empty, and how many rows there are more."""
    columns = [k for k in range(len(rows[0])) if any(str(row[k]) for row in rows)]
    lines = [_line("th", [headers[k] for k in columns])] if headers else []
    lines += [_line("td", [row[k] for k in columns]) for row in rows[:MOST_ROWS]]
    rest = f"<p>and {len(rows) - MOST_ROWS} more {what}</p>" if len(rows) > MOST_ROWS else ""
    return f"<table>{''.join(lines)}</table>{rest}"


def _line(tag: str, cells: Sequence[object]) -> str:
    inner = "".join(f'<{tag} style="{_STYLE}">{_cell(cell)}</{tag}>' for cell in cells)
    return f"<tr>{inner}</tr>"


def _cell(value: object) -> str:
    """Return a value as the content of a cell; `bdi` keeps text from right to left apart from the rest."""
    text = str(value)
    if len(text) > _MOST_CHARACTERS:
        text = f"{text[: _MOST_CHARACTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
    return f"<bdi>{escape(visible(text))}</bdi>"
