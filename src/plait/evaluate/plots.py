"""Figures of comparisons and selections: means over seeds, single seeds, and references.

Without matplotlib (the extra `plot`) nothing is drawn; `has_matplotlib` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plait.evaluate import figure_style as style
from plait.evaluate.fit_groups import FitGroup

if TYPE_CHECKING:
    from plait.evaluate.comparing import Comparison
    from plait.evaluate.selecting import Selection

_WIDTH = 9.0
_SEED = {"color": style.SKY, "marker": "o", "linestyle": "none", "markersize": 4, "zorder": 4}
_MEAN = {
    "color": style.BLUE,
    "marker": "D",
    "markersize": 7,
    "markerfacecolor": "white",  # seeds that lie on the mean stay visible
    "capsize": 3,
    "zorder": 3,
}
_UNRELATED = {
    "color": style.GREY,
    "marker": "|",
    "markersize": 12,
    "markeredgewidth": 2,
    "linestyle": "none",
    "label": "unrelated topics",
}
_REFERENCE = {"color": style.GREY, "linestyle": "--", "label": "unrelated topics"}

_HELD_OUT = "held-out log-likelihood per token"
_COHERENCE = "coherence (NPMI)"
_STABILITY = "stability (cosine)"
_ERRORS = "bars: standard error of the\ndifference to the best"
_SPREADS = "bars: standard deviation\nover seeds"


def has_matplotlib() -> bool:
    """Tell whether figures can be drawn."""
    return find_spec("matplotlib") is not None


def draw_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Draw the scores of all contestants, one row each; return the files."""
    if not has_matplotlib():
        return []
    with style.styled():
        return style.save(_comparison_figure(comparison), folder, "compare")


def draw_selection(selection: Selection, folder: Path) -> list[Path]:
    """Draw the scores against the number of topics; return the files."""
    if not has_matplotlib():
        return []
    with style.styled():
        return style.save(_selection_figure(selection), folder, "select")


def _comparison_figure(comparison: Comparison) -> Any:
    groups, best = comparison.groups, comparison.best
    figure, axes = style.new_figure(columns=3, height=1.6 + 0.45 * len(groups), width=_WIDTH, sharey=True)
    held_out, coherence, stability = axes[0]
    rows = range(len(groups))
    for row, group in zip(rows, groups, strict=True):
        seeds = group.values("per_token")
        held_out.plot(seeds, [row] * len(seeds), label="one seed", **_SEED)
        error = best.difference(group).error
        held_out.errorbar(group.per_token, row, xerr=error or None, label="mean", **_MEAN)
        seeds = group.values("coherence")
        coherence.plot(seeds, [row] * len(seeds), **_SEED)
        coherence.errorbar(group.mean("coherence"), row, xerr=_spread(group, "coherence"), **_MEAN)
        if group.stability is not None:
            stability.plot(group.stability.unrelated.cosine, row, **_UNRELATED)
            stability.errorbar(group.stability.cosine, row, **_MEAN)
    held_out.axvline(best.per_token, color=style.GREY, linewidth=1, linestyle=":", zorder=1)
    held_out.set_yticks(list(rows), [style.figure_text(group.name) for group in groups])
    held_out.set_ylim(len(groups) - 0.5, -0.5)
    held_out.set(xlabel=_HELD_OUT)
    coherence.set(xlabel=_COHERENCE)
    stability.set(xlabel=_STABILITY, xlim=(0, 1.04), xticks=(0, 0.5, 1))
    for axis, note in ((held_out, _ERRORS), (coherence, _SPREADS)):
        axis.locator_params(axis="x", nbins=4)
        axis.set_title(note, fontsize=9, color="dimgrey")
    _finish(figure, held_out, stability, groups)
    return figure


def _selection_figure(selection: Selection) -> Any:
    topics, groups = selection.topics, selection.groups
    figure, axes = style.new_figure(columns=3, height=3.6, width=_WIDTH)
    held_out, coherence, stability = axes[0]
    _line(held_out, topics, groups, "per_token", [c.error for c in selection.candidates()])
    _line(coherence, topics, groups, "coherence", [_spread(group, "coherence") or 0.0 for group in groups])
    stable = [(n, group.stability) for n, group in zip(topics, groups, strict=True) if group.stability]
    if stable:
        numbers = [n for n, _ in stable]
        stability.plot(numbers, [found.unrelated.cosine for _, found in stable], **_REFERENCE)
        stability.errorbar(numbers, [found.cosine for _, found in stable], **_MEAN)
        stability.set_ylim(0, 1.04)
    for axis, note in ((held_out, _ERRORS), (coherence, _SPREADS)):
        axis.set_title(note, fontsize=9, color="dimgrey")
    for axis, label in zip(axes[0], (_HELD_OUT, _COHERENCE, _STABILITY), strict=True):
        axis.axvline(
            selection.recommended, color=style.ORANGE, linewidth=6, alpha=0.4, zorder=1, label="recommended"
        )
        axis.set_xscale("log")
        axis.set_xticks(topics, [str(n) for n in topics])
        axis.minorticks_off()
        axis.set(xlabel="topics", ylabel=label)
    _finish(figure, held_out, stability, groups)
    return figure


def _line(
    axis: Any, topics: Sequence[int], groups: Sequence[FitGroup], name: str, errors: Sequence[float]
) -> None:
    for number, group in zip(topics, groups, strict=True):
        seeds = group.values(name)
        axis.plot([number] * len(seeds), seeds, label="one seed", **_SEED)
    axis.errorbar(topics, [group.mean(name) for group in groups], yerr=errors, label="mean", **_MEAN)


def _spread(group: FitGroup, name: str) -> float | None:
    return group.spread(name) if len(group.fits) > 1 else None


def _finish(figure: Any, first: Any, last: Any, groups: Sequence[FitGroup]) -> None:
    """Put one legend above all panels; say so where there is no stability."""
    if groups[0].stability is None:
        last.text(0.5, 0.5, "needs two seeds", transform=last.transAxes, ha="center", color=style.GREY)
    entries: dict[str, Any] = {}
    for axis in (first, last):
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=len(entries))
