"""Builds a live page in a process of its own: `python -m plait.report.building MODEL PAGE VERSION`.

The fit goes on meanwhile. This process gives way to it: it is nice, has one thread, and if memory is short,
Linux ends it first.
"""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from plait.display import shell_word
from plait.errors import PlaitError, PlaitWarning
from plait.report import write_report
from plait.report.page import Live


def build(model: Path, page: Path, version: str) -> None:
    """Write the live page of a model's file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaitWarning)  # the fit itself shows them
        write_report(model, page, live=Live(version, shell_word(model)), n_jobs=1)


def _give_way() -> None:
    with suppress(OSError, AttributeError):
        os.nice(19)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    _give_way()
    model, page, version = sys.argv[1:]
    try:
        build(Path(model), Path(page), version)
    except PlaitError as error:
        sys.exit(str(error))
