"""Pictures of topics over time, and over the values of a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from plait import answers
from plait.answers.choosing import topic_number
from plait.arrays import Floats
from plait.checks import check_choice
from plait.errors import PlaitError
from plait.evaluate import figure_style as style
from plait.evaluate import timeconc
from plait.evaluate.figure_style import figure_text
from plait.inference.fitted import fitted_topics
from plait.plots.drawing import (
    PALE,
    PALETTE,
    Axes,
    axes_for,
    chosen,
    colours,
    label_rows,
    matrix,
    row_base,
    run_from,
    tidy,
    topic_labels,
)

_CHARACTERS: Final = 26  # of the labels of all periods together: a long legend leaves no room for more
_BINS: Final = 40


def timeline(
    source: Any,
    by: str = "year",
    *,
    topics: Sequence[int | str] | None = None,
    n: int = 6,
    kind: str = "stacked",
    ax: Axes = None,
) -> Axes:
    """Draw the shares of topics over time. Periods without documents are gaps.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA, a fitted estimator, or a file.
    by : str
        "decade", "year", "month", "week" or "day", or a column; see `plait.answers.timeline`.
    topics : sequence of int or str, optional
        Numbers or names of the topics; by default the `n` largest.
    n : int
        Number of topics.
    kind : {"stacked", "rows"}
        One on top of another, with the others in grey, or one above the other, each on its own scale.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    check_choice("kind", kind, ("stacked", "rows"))
    run = run_from(source)
    found, names = answers.timeline(run, by), topic_labels(run)
    own = chosen(run, topics, n, fitted_topics(run).shares)
    shares = 100 * found.shares[:, own]
    x = np.arange(len(found.periods))
    if kind == "stacked":
        ax = axes_for(ax, 6.4, 3.4)
        _stack(ax, x, shares, [names[t] for t in own], len(names))
    else:
        ax = axes_for(ax, 6.4, 0.8 + 0.5 * len(own))
        _rows(ax, x, shares, [names[t] for t in own])
    labels = [figure_text(period, 12) for period in found.periods]
    step = -(-len(x) * max(map(len, labels)) // _CHARACTERS)
    ax.set_xticks(x[::step], labels[::step])
    ax.set_xlim(-0.5, len(x) - 0.5)
    ax.set_xlabel(figure_text(by))
    return ax


def _steps(ax: Axes, x: Any, low: Any, high: Any, **how: Any) -> None:
    """Fill between two values per period, each as wide as its period; NaN is a gap."""
    edges = np.append(x - 0.5, x[-1] + 0.5)
    ax.stairs(high, edges, baseline=low, fill=True, linewidth=0, **how)


def _stack(ax: Axes, x: Any, shares: Floats, labels: list[str], n_topics: int) -> None:
    base = np.zeros(len(x))
    for k, (label, colour) in enumerate(zip(labels, colours(len(labels)), strict=True)):
        _steps(ax, x, base, base + shares[:, k], color=colour, label=label)
        base = base + shares[:, k]
    if n_topics > len(labels):
        full = np.where(np.isnan(base), np.nan, 100)
        _steps(ax, x, base, full, color=PALE, label=f"{n_topics - len(labels)} others")
    ax.set(ylim=(0, 100), ylabel="share of the tokens (%)")
    handles, names = ax.get_legend_handles_labels()
    ax.legend(handles[::-1], names[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    tidy(ax)


def _rows(ax: Axes, x: Any, shares: Floats, labels: list[str]) -> None:
    for r, own in enumerate(shares.T):
        base, top = row_base(r, len(labels)), float(np.nanmax(own))
        _steps(ax, x, base, base + 0.85 * own / (top or 1.0), color=style.BLUE)
        ax.axhline(base, color=PALE, linewidth=0.8, zorder=0)
        ax.text(len(x), base + 0.4, f"{top:.2g} %", va="center", fontsize="small")
    label_rows(ax, labels)
    ax.set_title("share of the tokens; right: its maximum", loc="left", fontsize="medium")


def prevalence(
    source: Any, by: str, *, topics: Sequence[int | str] | None = None, n: int = 10, ax: Axes = None
) -> Axes:
    """Draw the shares of topics by the values of a column: as points or, if there are many, as a matrix.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA, a fitted estimator, or a file.
    by : str
        A column of the corpus, or a unit of time; see `plait.answers.timeline`.
    topics : sequence of int or str, optional
        Numbers or names of the topics; by default the `n` largest.
    n : int
        Number of topics.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    found, names = answers.timeline(run, by), topic_labels(run)
    own = chosen(run, topics, n, fitted_topics(run).shares)
    shares, values = 100 * found.shares[:, own], [figure_text(period, 20) for period in found.periods]
    labels = [names[t] for t in own]
    if len(values) > len(PALETTE):
        ax = axes_for(ax, min(10.0, 4.0 + 0.2 * len(values)), 1.8 + 0.24 * len(own))
        return matrix(ax, shares.T, labels, values, "share of the tokens (%)")
    ax = axes_for(ax, 5.6, 1.2 + 0.26 * len(own))
    rows = np.arange(len(own))
    ax.hlines(rows, np.nanmin(shares, axis=0), np.nanmax(shares, axis=0), color=PALE, zorder=0)
    for value, row, colour, marker in zip(values, shares, colours(len(values)), "osD^vPX", strict=False):
        ax.plot(row, rows, marker, color=colour, label=value, markersize=5)
    ax.set_yticks(rows, labels)
    ax.set_ylim(len(own) - 0.5, -0.5)
    ax.set_xlim(0, None)
    ax.set_xlabel("share of the tokens (%)")
    ax.legend(title=figure_text(by), loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    tidy(ax, left=False)
    return ax


def yearly_entropy(source: Any, *, ax: Axes = None) -> Axes:
    """Draw the entropy of the topics of each year: low where few topics dominate. Years without are gaps.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA whose documents have dates, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    found = answers.topic_years(run_from(source))
    ax = axes_for(ax, 5.6, 2.8)
    mean = float(np.nanmean(found.entropies))
    ax.plot(found.years, found.entropies, color=style.BLUE, linewidth=1, marker=".", markersize=3)
    ax.axhline(mean, color=style.BLACK, linewidth=1, linestyle="--", label=f"mean {mean:.2f}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="year", ylabel="entropy of the topics (nats)")
    ax.legend(frameon=False)
    return tidy(ax)


def bucket_lengths(source: Any, gamma: float = 0.05, *, ax: Axes = None) -> Axes:
    """Draw how long the buckets of all topics are, each of which holds a share `gamma` of a topic's weight.

    Short buckets belong to topics that are concentrated in few years; see `plait.evaluate.timeconc`.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA whose documents have dates, a fitted estimator, or a file.
    gamma : float
        Share of a topic's weight in a bucket: 1 divided by a whole number.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    found = answers.topic_years(run_from(source))
    lengths = timeconc.bucket_lengths(found.weights, gamma)
    lengths = lengths[~np.isnan(lengths)]
    even = gamma * len(found.years)
    ax = axes_for(ax, 5.6, 2.8)
    ax.hist(lengths, bins=_BINS, weights=np.full(lengths.size, 100 / lengths.size), color=style.BLUE)
    ax.axvline(even, color=style.BLACK, linewidth=1, linestyle="--", label=f"even over time: {even:.3g}")
    ax.set(xlabel="length of a bucket (years)", ylabel="share of the buckets (%)", xlim=(0, None))
    ax.legend(frameon=False)
    return tidy(ax)


def topic_buckets(source: Any, topic: int | str, gamma: float = 0.1, *, ax: Axes = None) -> Axes:
    """Draw the weight of a topic over the years, and the intervals that hold equal shares of it.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA whose documents have dates, a fitted estimator, or a file.
    topic : int or str
        Number or name of the topic.
    gamma : float
        Share of the topic's weight in an interval: 1 divided by a whole number.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    t = topic_number(run, topic)
    found = answers.topic_years(run)
    if not found.totals[t] > 0:
        raise PlaitError(f"topic {t} has no tokens in documents with dates: choose another one")
    edges = found.years[0] + timeconc.quantile_edges(found.weights[:, [t]], gamma)[0]
    ax = axes_for(ax, 5.6, 2.8)
    for k in range(len(edges) - 1):
        ax.axvspan(edges[k], edges[k + 1], color=PALE, alpha=0.9 if k % 2 else 0.3, linewidth=0)
    weights = np.where(found.n_documents > 0, 100 * found.weights[:, t], np.nan)
    ax.stairs(weights, np.append(found.years, found.years[-1] + 1), color=style.BLUE, fill=True)
    ax.set(xlabel="year", ylabel="weight of the topic (%)", xlim=(edges[0], edges[-1]), ylim=(0, None))
    ax.xaxis.get_major_locator().set_params(integer=True)
    label = topic_labels(run, n_words=3, most=36)[t]
    ax.set_title(f"{label}; each band holds {gamma:.0%} of it", loc="left", fontsize="medium")
    return tidy(ax)
