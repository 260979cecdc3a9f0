"""Write the speeds that `topics.py`, `hmm.py` and `mixtures.py` have measured into docs and the README.

    make bench
    python benchmarks/pages.py results

Reads topics.jsonl, hmm.jsonl and mixtures.jsonl from a folder, and writes docs/benchmarks.md and tables in
the README. The records behind them are in `measured/`.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import hmm
import mixtures
import topics
from contest import (
    Contest,
    Record,
    by_data,
    heading,
    megabytes,
    nanoseconds,
    ratio,
    ratio_and_nanoseconds,
    table,
)
from quality import read

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"

PREFACE = """# Speed

How much faster is plait than what you use now? Written by `benchmarks/pages.py` from what `make bench` has
measured. `plait bench` runs a short version on your machine in about a minute.

All contestants of a table ran in the same minutes, one thread each, taking turns of half a second, so that
whatever slowed the machine down slowed all of them down alike: trust the ratios more than the times. Tables
have the ratios first, then the median time with its range over parts of the run, then the peak memory,
which includes the interpreter and the data."""

TOPICS = """## Topic models

Priors are fixed: α = 10 / T, η = 0.01. An update is one token in one path, in whole sweeps after 50 others,
including the draw of φ. A sweep with five paths makes five updates per token. gensim and scikit-learn do
not sample: their times are per token and pass over the documents, and a pass of theirs changes more than a
sweep.

Made by `python benchmarks/topics.py`."""

HMMS = """## Hidden Markov models

An iteration of EM is an E step and an M step; all start from the parameters that the data were drawn from.
The other packages have EM alone, so the rows of plait's samplers compare one path in a sweep with an
iteration of hmmlearn's EM, both per observation. "hmmlearn" is its default, logarithms; "scaling" its other
implementation. Symbols are one of 50, Gaussian observations have one feature.

Made by `python benchmarks/hmm.py`."""

MIXTURES = """## Gaussian mixtures

Iterations of EM and sweeps, per observation and component; sizes are observations × features. The rows of
plait's samplers compare one path in a sweep with an iteration of scikit-learn's EM.

Made by `python benchmarks/mixtures.py`."""


def section(contest: Contest, introduction: str, records: Sequence[Record]) -> str:
    """Return the section of a contest: ratios of all data first, and the details folded."""
    versions = {record["package"]: record["version"] for record in records}
    packages = ", ".join(f"{package} {versions[package]}" for package in sorted(versions))
    missing = sorted({c.package for c in contest.contestants.values()} - versions.keys())
    setting = f"Processor: {processors(records)}. Packages: {packages}."
    if missing:
        setting += f" Not measured: {', '.join(missing)}."
    parts = [introduction, textwrap.fill(setting, 108, break_on_hyphens=False)]
    groups = by_data(records)
    for name, group in groups.items():
        parts += [f"{heading(name, group)}: times as fast as {contest.base}", table(contest, group, ratio)]
    parts.append("<details>\n<summary>Nanoseconds and their range, and peak memory</summary>")
    for name, group in groups.items():
        parts += [f"**{name}**: nanoseconds", table(contest, group, nanoseconds)]
        parts += [f"**{name}**: peak MB", table(contest, group, megabytes)]
    return "\n\n".join([*parts, "</details>"])


def processors(records: Sequence[Record]) -> str:
    """Return the names of the processors of some records."""
    return ", ".join(sorted({record["cpu"] for record in records}))


def with_table(text: str, name: str, contest: Contest, records: Sequence[Record], data: str) -> str:
    """Return a text in which a table replaces what is between its marker comments."""
    start, end = f"<!-- {name}: written by benchmarks/pages.py -->", f"<!-- end of {name} -->"
    before, rest = text.split(start)
    _, after = rest.split(end)
    here = [record for record in records if record["data"] == data]
    rows = f"Processor: {processors(here)}\n\n{table(contest, here, ratio_and_nanoseconds)}"
    return f"{before}{start}\n\n{rows}\n\n{end}{after}"


SECTIONS = ((topics.CONTEST, TOPICS), (hmm.CONTEST, HMMS), (mixtures.CONTEST, MIXTURES))


def main() -> None:
    folder = Path(sys.argv[1])
    found = {contest.name: read(folder / f"{contest.name}.jsonl") for contest, _ in SECTIONS}
    for contest, _ in SECTIONS:
        if not any(record["contestant"] == contest.base for record in found[contest.name]):
            raise SystemExit(
                f"{folder / contest.name}.jsonl has no results of {contest.base}, which others are compared"
                f" with: run 'python benchmarks/{contest.name}.py'"
            )
    sections = [section(contest, words, found[contest.name]) for contest, words in SECTIONS]
    PAGE.write_text("\n\n".join([PREFACE, *sections]) + "\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    text = with_table(text, "speed of topics", topics.CONTEST, found["topics"], "sotu")
    text = with_table(text, "speed of HMMs", hmm.CONTEST, found["hmm"], "categorical")
    README.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and the tables in {README.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
