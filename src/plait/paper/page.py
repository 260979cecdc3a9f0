"""The page that compares plait's findings with the paper's: index.html, and summary.md for terminals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from plait.outputs import replacing
from plait.paper.findings import NOT, PARTLY, REPRODUCED, Claim, Section, Table
from plait.progress import describe_seconds

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #ddd; --soft: #666; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181c; --line: #3a3d44; --soft: #a0a0a0; } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 6rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3.5rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
.setting, figcaption, .note { color: var(--soft); } figure { margin: 2rem 0; }
figure img { width: 100%; max-width: 46rem; background: #fff; border: 1px solid var(--line); }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .35rem .8rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.verdict { font-weight: 600; padding: .1rem .5rem; border-radius: .3rem; color: #fff; white-space: nowrap; }
.reproduced { background: #00795a; } .partly { background: #a86400; } .not { background: #b03a00; }
.unknown { background: #777; }
.claim { border-left: 3px solid var(--line); padding-left: 1rem; margin: 1.5rem 0; }
.claim p { margin: .3rem 0; } details { color: var(--soft); } summary { cursor: pointer; }
dl { display: grid; grid-template-columns: 4rem 1fr; gap: .1rem .8rem; margin: .4rem 0; }
dt { color: var(--soft); } dd { margin: 0; }
"""


def write_page(sections: Sequence[Section], folder: Path, title: str, facts: Sequence[str]) -> None:
    """Write index.html and summary.md.

    Parameters
    ----------
    sections : sequence of Section
        The reports on the experiments.
    folder : Path
        Folder to write to, which already contains the figures.
    title : str
        Title of the page.
    facts : sequence of str
        Notes that apply to all experiments.
    """
    _write(folder / "index.html", _html(sections, title, facts))
    _write(folder / "summary.md", _markdown(sections, title, facts))


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _html(sections: Sequence[Section], title: str, facts: Sequence[str]) -> str:
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p class=setting>{'<br>'.join(escape(fact) for fact in facts)}</p>",
        "<table><tr><th>Experiment</th><th>Claim</th><th>Verdict</th></tr>",
    ]
    for number, section in enumerate(sections):
        link = f'<a href="#s{number}">{escape(section.title)}</a>'
        first = f"<td rowspan={len(section.claims)}>{link}</td>"
        for claim in section.claims:
            parts.append(f"<tr>{first}<td>{escape(claim.text)}</td><td>{_badge(claim)}</td></tr>")
            first = ""
    parts.append("</table>")
    for number, section in enumerate(sections):
        parts += _section(section, number)
    return "\n".join([*parts, "</body></html>\n"])


def _section(section: Section, number: int) -> list[str]:
    parts = [
        f'<h2 id="s{number}">{escape(section.title)}</h2>',
        f"<p class=setting>{escape(section.setting)}<br>{escape(_provenance(section))}</p>",
    ]
    for claim in section.claims:
        checks = "".join(
            f"<li>{'yes' if holds else '<b>no</b>'}: {escape(check)}</li>"
            for check, holds in claim.checks.items()
        )
        details = f"<details><summary>{_count_checks(claim)}</summary><ul>{checks}</ul></details>"
        note = f"<p class=note>{escape(claim.note)}</p>" if claim.note else ""
        parts.append(
            f"<div class=claim><p>{_badge(claim)} {escape(claim.text)}</p>"
            f"<dl><dt>Paper</dt><dd>{escape(claim.paper)}</dd><dt>plait</dt><dd>{escape(claim.found)}</dd></dl>"
            f"{details if claim.checks else ''}{note}</div>"
        )
    for figure in section.figures:
        parts.append(
            f'<figure><a href="{escape(figure.name)}.svg"><img src="{escape(figure.name)}.png"'
            f' alt="{escape(figure.caption)}"></a><figcaption>{escape(figure.caption)}</figcaption></figure>'
        )
    for table in section.tables:
        parts.append(_table(table))
    if section.differences:
        parts.append("<h3>Differences from the paper</h3><ul>")
        parts += [f"<li>{escape(difference)}</li>" for difference in section.differences]
        parts.append("</ul>")
    return parts


def _provenance(section: Section) -> str:
    time = f"All runs together took {describe_seconds(section.seconds)} on one core."
    return f"Made by {section.made_by}. {time}" if section.made_by else time


def _count_checks(claim: Claim) -> str:
    return f"{sum(claim.checks.values())} of {len(claim.checks)} checks hold"


def _badge(claim: Claim) -> str:
    kind = claim.verdict if claim.verdict in (REPRODUCED, PARTLY, NOT) else "unknown"
    return f'<span class="verdict {kind}">{escape(claim.verdict_text)}</span>'


def _table(table: Table) -> str:
    kinds = [" class=number" if table.has_numbers(k) else "" for k in range(len(table.heads))]

    def row_of(tag: str, cells: Sequence[str]) -> str:
        row = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(row)}</tr>"

    rows = "".join([row_of("th", table.heads), *(row_of("td", row) for row in table.rows)])
    return f"<h3>{escape(table.title)}</h3><table>{rows}</table>"


def _markdown(sections: Sequence[Section], title: str, facts: Sequence[str]) -> str:
    lines = [f"# {title}", "", *(f"- {fact}" for fact in facts), ""]
    lines += ["| experiment | claim | verdict |", "|---|---|---|"]
    for section in sections:
        for claim in section.claims:
            lines.append(f"| {_cell(section.title)} | {_cell(claim.text)} | {claim.verdict_text} |")
    for section in sections:
        lines += ["", f"## {section.title}", "", section.setting, "", _provenance(section), ""]
        for claim in section.claims:
            lines += [
                f"- **{claim.verdict_text}**: {claim.text}",
                f"  - paper: {claim.paper}",
                f"  - plait: {claim.found}",
                *([f"  - {_count_checks(claim)}"] if claim.checks else []),
                *(f"    - no: {check}" for check, holds in claim.checks.items() if not holds),
            ]
            if claim.note:
                lines.append(f"  - {claim.note}")
        for figure in section.figures:
            lines += ["", f"![{figure.caption}]({figure.name}.png)", "", figure.caption]
        for table in section.tables:
            lines += ["", f"**{table.title}**", "", f"| {' | '.join(map(_cell, table.heads))} |"]
            rules = ["---:" if table.has_numbers(k) else "---" for k in range(len(table.heads))]
            lines.append(f"|{'|'.join(rules)}|")
            lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table.rows]
        if section.differences:
            lines += ["", "Differences from the paper:", ""]
            lines += [f"- {difference}" for difference in section.differences]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
