"""Write the speeds that `topics.py` has measured into docs/benchmarks.md and the README.

python benchmarks/pages.py results/topics.jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quality import read
from topics import BASE, CONTESTANTS, tables_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
START, END = "<!-- speed of topics: written by benchmarks/pages.py -->", "<!-- end of the speed of topics -->"

PREFACE = """# Speed of topic models

Written by `benchmarks/pages.py` from the output of `make bench` (`benchmarks/topics.py`, which says how it
measures). An update is one token in one path, in whole sweeps. All contestants take turns on one machine, so
the ratios can be trusted more than the times; "from, to" is the range of five parts of a run. gensim and
scikit-learn, where they are shown, do not sample: their times are per token and pass over the documents. Peak
memory includes the corpus and the interpreter. Versions are those of `uv.lock`.
"""


def readme_table(records: Sequence[dict[str, Any]], corpus: str = "sotu") -> str:
    """Return the README's table: nanoseconds per update, and the ratio to tomotopy, by number of topics."""
    here = [record for record in records if record["corpus"] == corpus]
    own = {(record["contestant"], record["topics"]): np.median(record["nanoseconds"]) for record in here}
    sizes = sorted({n_topics for _, n_topics in own})
    header = [f"{n} topics, ns per update | relative to {BASE}" for n in sizes]
    lines = [f"| | {' | '.join(header)} |", "|---|" + "---:|---:|" * len(sizes)]
    for contestant in CONTESTANTS:
        if any((contestant, n) in own for n in sizes):
            cells = [
                f"{own[contestant, n]:.0f} | {own[BASE, n] / own[contestant, n]:.1f}"
                if (contestant, n) in own
                else " | "
                for n in sizes
            ]
            lines.append(f"| {contestant} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    records = read(Path(sys.argv[1]))
    if not records:
        raise SystemExit(f"{sys.argv[1]} has no results: run 'python benchmarks/topics.py'")
    if not any(record["contestant"] == BASE for record in records):
        raise SystemExit(f"{sys.argv[1]} has no results of {BASE}, which the others are compared with")
    PAGE.write_text(f"{PREFACE}\n{tables_of(records)}\n", encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    processor = ", ".join(sorted({r["cpu"] for r in records}))
    table = f"{START}\n\nProcessor: {processor}\n\n{readme_table(records)}\n\n{END}"
    README.write_text(before + table + after, encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)} and the table in {README.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
