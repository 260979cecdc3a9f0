"""What the pictures share: where they are drawn, their colours and labels, matrices and rows."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.checks import check_integer
from plait.errors import Argument, PlaitError
from plait.evaluate import figure_style as style
from plait.evaluate.figure_style import figure_text
from plait.evaluate.states import state_names
from plait.evaluate.summary import summarise_topics
from plait.fitting.restarts import state_order
from plait.interop.source import run_of
from plait.run import Run, load

Axes = Any
"""Axes of matplotlib, which is imported only when something is drawn."""

PALETTE: Final = (
    style.BLUE,
    style.ORANGE,
    style.GREEN,
    style.RED,
    style.SKY,
    style.PURPLE,
    "#8A7A00",
)
"""Colours that colour-blind readers can tell apart; more than these cannot be told apart by colour."""

PALE: Final = "#D9D9D9"
_MOST_LABELS: Final = 40  # rows of a matrix that can have a label each
_SMALL: Final = 8  # points


def run_from(source: Any) -> Run:
    """Return the run of a source: a run, a fitted estimator or the path of a file; of a fit, the best."""
    return run_of(load(source) if isinstance(source, (str, PathLike)) else source)


def fit_from(source: Any) -> Run:
    """Return the run of a source as it is, with the records of all restarts of its fit."""
    source = load(source) if isinstance(source, (str, PathLike)) else source
    run_of(source)  # raises an error for anything else
    run: Run = getattr(source, "run_", source)
    return run


def axes_for(ax: Axes, width: float, height: float) -> Axes:
    """Return the axes to draw in: those given, or those of a new figure."""
    if ax is None:
        pyplot = style.import_matplotlib("matplotlib.pyplot")
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    elif not hasattr(ax, "get_figure"):
        raise PlaitError(Argument("ax"), f" must be axes of matplotlib, got {type(ax).__name__}")
    return ax


def tidy(ax: Axes, *, left: bool = True, bottom: bool = True) -> Axes:
    """Hide the frame except for the sides that have a scale."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines["left"].set_visible(left)
    ax.spines["bottom"].set_visible(bottom)
    ax.tick_params(left=left, bottom=bottom)
    return ax


def colours(n: int) -> list[Any]:
    """Return n colours: of the palette or, if there are more, along a scale from dark to light."""
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    cividis = style.import_matplotlib().colormaps["cividis"]
    return [cividis(x) for x in np.linspace(0, 0.95, n)]


def topic_labels(run: Run, n_words: int = 2, most: int = 30) -> list[str]:
    """Return a label for each topic: its name or, without one, its number and first words."""
    labels = {
        own.topic: own.name or f"{own.topic}: {' '.join(own.words)}" for own in summarise_topics(run, n_words)
    }
    return [figure_text(labels[t], most) for t in sorted(labels)]


def state_places(run: Run) -> NDArray[np.intp]:
    """Return the states as they are in the paths, in the order in which they are shown."""
    if not hasattr(run.model, "canonical_order"):
        return np.arange(run.model.n_states)
    return state_order(run, run.parameters())


def state_labels(run: Run, n: int) -> list[str]:
    """Return a label for each state, numbered as it is shown: its name or, without one, its number."""
    names = state_names(run, state_places(run)) if run.names else {}
    return [figure_text(names.get(s, f"state {s}"), 24) for s in range(n)]


def chosen(run: Run, topics: Sequence[int | str] | None, n: int, shares: NDArray[np.float64]) -> list[int]:
    """Return the topics to show: those given or, without any, the n largest, by their number."""
    from plait.answers.choosing import topic_number

    if topics is not None:
        return [topic_number(run, topic) for topic in topics]
    check_integer("n", n, least=1)
    return sorted(np.argsort(-shares, kind="stable")[:n].tolist())


def matrix(
    ax: Axes,
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    what: str,
    **limits: Any,
) -> Axes:
    """Draw a matrix, with its numbers if there are few, and a scale of its colours. NaN stays white."""
    image = ax.imshow(values, cmap="cividis", aspect="auto", interpolation="nearest", **limits)
    ax.figure.colorbar(image, ax=ax, label=what, shrink=0.8)
    for axis, labels in ((ax.yaxis, rows), (ax.xaxis, columns)):
        if len(labels) <= _MOST_LABELS:
            axis.set_ticks(range(len(labels)), labels)
    if len(columns) <= _MOST_LABELS and max(map(len, columns), default=0) * len(columns) > 30:
        ax.tick_params(axis="x", rotation=90 if len(columns) > 8 else 35)
        if len(columns) <= 8:
            for label in ax.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
    if values.size <= 100:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "white" if image.norm(value) < 0.5 else "black"
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=_SMALL)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def row_base(row: int, n_rows: int) -> int:
    """Return the baseline of a row of pictures one above the other; row 0 is at the top."""
    return n_rows - 1 - row


def label_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Label rows one above the other, see `row_base`; each is 0.85 high."""
    n = len(labels)
    ax.set_yticks([row_base(r, n) + 0.4 for r in range(n)], labels)
    ax.set_ylim(-0.1, n)
    tidy(ax, left=False)


def bar_rows(
    ax: Axes, values: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str], what: str
) -> Axes:
    """Draw bars in rows one above the other, all on the scale of the largest, which the title tells."""
    top = float(values.max())
    for r, (own, colour) in enumerate(zip(values, colours(len(values)), strict=True)):
        base = row_base(r, len(values))
        ax.bar(range(len(own)), 0.85 * own / (top or 1.0), bottom=base, color=colour)
        ax.axhline(base, color=PALE, linewidth=0.8, zorder=0)
    label_rows(ax, rows)
    ax.set_xticks(range(len(columns)), columns)
    if sum(map(len, columns)) > 50:
        ax.tick_params(axis="x", rotation=90)
    ax.set_title(f"{what}; the tallest bar is {top:.3g}", loc="left", fontsize="medium")
    return ax
