"""The report: one page of HTML that shows a model and its documents, offline.

`write_report` turns a run into a payload, a plain dict of texts and arrays, by the function for its kind of
model in `BUILDERS`, and writes it into a page with the script that shows it. README.md in this folder says
how a view is added.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Final

from plait.checks import check_flag
from plait.errors import Argument, PlaitError
from plait.interop.source import run_of
from plait.outputs import claimed, replacing
from plait.report.page import render
from plait.run import Run, load

__all__ = ["BUILDERS", "write_report"]

BUILDERS: Final = {
    "factorial-hmm": "plait.report.chains:chains_pages",
    "hmm": "plait.report.states:states_pages",
    "lda": "plait.report.topics:topics_pages",
    "mixture": "plait.report.latent:mixture_pages",
    "potts": "plait.report.latent:potts_pages",
}
"""The function that makes the pages of a report, by the kind of the model: module and name."""

OWN: Final = "plait.report.latent:own_pages"
"""The same for models of any other kind."""


def write_report(
    source: Run | str | PathLike[str] | Any,
    path: str | PathLike[str],
    *,
    title: str | None = None,
    overwrite: bool = True,
    **options: Any,
) -> Path:
    """Write a report on a model: one file of HTML, which any browser opens, offline.

    Parameters
    ----------
    source : Run, path or estimator
        A run, the file of one, or a fitted estimator.
    path : path
        The file to write.
    title : str, optional
        Title of the page; by default the name of the model's file, or else of the page's.
    overwrite : bool
        Whether a file that exists is replaced.
    **options
        Options of the kind of model; for topics those of `plait.report.topics.topics_pages`.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    check_flag("overwrite", overwrite)
    file = Path(source) if isinstance(source, (str, PathLike)) else None
    given = source if file is None else load(file)
    run_of(given)  # raises an error for anything else
    run: Run = getattr(given, "run_", given)  # with the records of all restarts of its fit
    if title is None:
        title = (path if file is None else file).stem
    builder = BUILDERS.get(run.model.kind, OWN)
    module, _, name = builder.partition(":")
    with claimed(path, overwrite=overwrite, inputs=[file]):
        for page in getattr(import_module(module), name)(run, title=title, path=path, **options):
            text = render(title, page.blocks)
            with replacing(page.file) as temporary:
                temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return path
