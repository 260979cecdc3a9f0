"""The report: one page of HTML that shows a model and its documents, offline.

`write_report` turns a run into a payload, a plain dict of texts and arrays, by the function for its kind of
model in `BUILDERS`, and writes it into a page with the script that shows it. README.md in this folder says
how a view is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import Any, Final

from plait.checks import check_flag
from plait.errors import Argument, PlaitError
from plait.interop.source import run_of
from plait.outputs import claimed, replacing
from plait.report.page import Live, Page, render
from plait.run import Run, load

__all__ = ["BUILDERS", "model_names", "write_report"]

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


COMPARISON: Final = "plait.report.comparing:comparison_pages"
"""The same for two models."""


def write_report(
    source: Run | str | PathLike[str] | Any,
    path: str | PathLike[str],
    *,
    other: Run | str | PathLike[str] | Any | None = None,
    title: str | None = None,
    overwrite: bool = True,
    live: Live | None = None,
    **options: Any,
) -> Path:
    """Write a report on a model, or on two: one file of HTML, which any browser opens, offline.

    Parameters
    ----------
    source : Run, path or estimator
        A run, the file of one, or a fitted estimator.
    path : path
        The file to write.
    other : Run, path or estimator, optional
        Another model: the report then shows what both found, and what only one of them did. Both are topic
        models, or both hidden Markov models.
    title : str, optional
        Title of the page; by default the name of the model's file, or else of the page's.
    overwrite : bool
        Whether files that exist are replaced.
    live : Live, optional
        For a page that is served while a fit goes on; see `plait.report.live`.
    **options
        Options of the kind of model, such as those of `plait.report.topics.topics_pages`.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    check_flag("overwrite", overwrite)
    run, file = _run_from(source)
    files = [file]
    if other is None:
        pages = _function(BUILDERS.get(run.model.kind, OWN))
        default = (file or path).stem
    else:
        second, second_file = _run_from(other)
        files.append(second_file)
        names = model_names(file, second_file)
        pages = partial(_function(COMPARISON), other=second, titles=names)
        default = " and ".join(names)
    title = default if title is None else title
    known = signature(pages).parameters
    for name in options:
        if name not in known:
            raise PlaitError(
                Argument(name),
                f" is no option of this report, which is on a model of the kind"
                f" {run.model.kind!r}: leave it out",
            )
    with claimed(path, overwrite=overwrite, inputs=files):
        for page in pages(run, title=title, path=path, **options):
            text = render(title, page.blocks, live)
            with claimed(page.file, overwrite=overwrite), replacing(page.file) as temporary:
                temporary.write_text(text, encoding="utf-8", errors="replace", newline="\n")
    return path


def _run_from(source: Any) -> tuple[Run, Path | None]:
    """Return the run of a source, with the records of all restarts of its fit, and its file."""
    file = Path(source) if isinstance(source, (str, PathLike)) else None
    given = source if file is None else load(file)
    run_of(given)  # raises an error for anything else
    run: Run = getattr(given, "run_", given)
    return run, file


def _function(place: str) -> Callable[..., Iterable[Page]]:
    module, _, name = place.partition(":")
    function: Callable[..., Iterable[Page]] = getattr(import_module(module), name)
    return function


def model_names(*files: Path | None) -> tuple[str, ...]:
    """Return what two models are called: by their files, if these have different names."""
    names = tuple(letter if file is None else file.stem for file, letter in zip(files, "AB", strict=True))
    return (
        names
        if len(set(names)) == len(names)
        else tuple(f"{name} ({letter})" for name, letter in zip(names, "AB", strict=True))
    )
