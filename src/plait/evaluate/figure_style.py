"""The style of the figures: one palette, sizes that stay readable in print, PNG and SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from plait.errors import PlaitError
from plait.outputs import replacing

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE, GREY = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#999999",
)
WIDTH = 6.4  # inches: text is 7 points high if the figure is printed at half the width of a page


def import_pyplot() -> ModuleType:
    """Import matplotlib's pyplot for drawing to files, or say how to install it."""
    try:
        import matplotlib
    except ImportError:
        raise PlaitError('figures need matplotlib: pip install "plait[plot]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def new_figure(
    columns: int = 1, rows: int = 1, height: float = 3.6, *, width: float = WIDTH, **options: Any
) -> tuple[Any, Any]:
    """Return a figure and the array of its axes, (rows, columns)."""
    plt = import_pyplot()
    plt.rcParams.update(
        {
            "font.size": 11,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "legend.fontsize": 10,
            "svg.hashsalt": "plait",
        }
    )
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height), squeeze=False, layout="constrained", **options
    )
    return figure, axes


def legend_above(figure: Any, axis: Any, first: Sequence[str] = ()) -> None:
    """Put the legend of one panel above the figure, where it covers nothing; the labels `first` lead."""
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda k: (*first, labels[k]).index(labels[k]))
    legend = figure.legend(
        [handles[k] for k in order],
        [labels[k] for k in order],
        loc="outside upper center",
        ncols=max(1, len(labels)),
        columnspacing=1.4,
        handlelength=1.4,
    )
    for line in legend.get_lines():
        line.set_linewidth(2)


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG, and close it."""
    with replacing(folder / f"{name}.png") as temporary:
        figure.savefig(temporary, format="png", dpi=200)
    figure.set_layout_engine("none")  # the SVG reuses the PNG's: computing it again takes a fifth of the time
    with replacing(folder / f"{name}.svg") as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    import_pyplot().close(figure)
