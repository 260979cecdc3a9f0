"""How the figures of the experiments look: one palette, sizes that stay readable in print, PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from plait.errors import PlaitError

# Okabe and Ito's colours, which the colour-blind tell apart.
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
WIDTH = 6.4  # inches: at half a page's width the letters are 7 points high


def new_figure(columns: int = 1, rows: int = 1, height: float = 3.6, **options: Any) -> tuple[Any, Any]:
    """Return a figure and an array of its axes, (rows, columns)."""
    try:
        import matplotlib
    except ImportError:
        raise PlaitError('the figures need matplotlib: pip install "plait[plot]"') from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

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
    return plt.subplots(
        rows, columns, figsize=(WIDTH, height), squeeze=False, layout="constrained", **options
    )


def save(figure: Any, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG, and forget it."""
    from matplotlib import pyplot as plt

    figure.savefig(folder / f"{name}.png", dpi=200)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
