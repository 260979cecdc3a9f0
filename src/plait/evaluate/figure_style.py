"""What all figures share: one palette, text that is shown as it is, and files as PNG and SVG.

Nothing here changes the settings of matplotlib, its backend, or what pyplot knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from plait.display import visible
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


_STYLE: Final = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 10,
    "svg.hashsalt": "plait",
}


def import_matplotlib(module: str = "matplotlib") -> ModuleType:
    """Import matplotlib or one of its modules, or say how to install it."""
    try:
        import_module("matplotlib")
        return import_module(module)
    except ImportError as error:
        reason = "" if (error.name or "").startswith("matplotlib") else f" and cannot be imported ({error})"
        raise PlaitError(f'figures need matplotlib{reason}: pip install "plait[plot]"') from error


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of the figures of the commands, in a `with` block; other settings stay the user's."""
    with import_matplotlib().rc_context(_STYLE):
        yield


def new_figure(
    columns: int = 1, rows: int = 1, height: float = 3.6, *, width: float = WIDTH, **options: Any
) -> tuple[Any, Any]:
    """Return a figure that pyplot does not know, and the array of its axes, (rows, columns)."""
    figure = import_matplotlib("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def figure_text(text: str, most: int = 40) -> str:
    """Return text from outside for a figure: one visible line, at most `most` characters, no mathematics.

    A legend leaves out labels that start with an underscore, so these get a space in front.
    """
    if len(text) > most:
        text = f"{text[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
    text = visible(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


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


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG; return the files."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    with replacing(png) as temporary:
        figure.savefig(temporary, format="png", dpi=200)
    figure.set_layout_engine("none")  # the SVG reuses the PNG's: computing it again takes a fifth of the time
    with replacing(svg) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None})
    return [png, svg]
