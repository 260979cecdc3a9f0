"""Figures of the State of the Union experiment: the paper's, and the runs over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from plait.evaluate import figure_style as figures
from plait.evaluate.timeconc import quantile_edges
from plait.paper.findings import Figure
from plait.paper.results import Row
from plait.paper.sotu_rows import (
    EXAMPLE_GAMMA,
    GAMMA,
    LABELS,
    Floats,
    entropies_of,
    histogram_of,
    mean_length_of,
    sorted_shares_of,
)

_SMOOTHING = 9  # years of the running mean
_COLOURS: Final = {"lda": figures.BLUE, "multipath": figures.ORANGE}  # the paper's


def figures_of(rows: Sequence[Row], folder: Path) -> list[Figure]:
    """Draw the paper's figures for the runs of one sampler; the example topic is that of the first run."""
    return [
        _draw_topic(rows[0], folder),
        _draw_buckets(rows[0], folder),
        _draw_lengths(rows, folder),
        _draw_weights(rows, folder),
        _draw_course(rows, folder),
    ]


def _draw_topic(row: Row, folder: Path) -> Figure:
    """Draw the weights over the years of the example topic and of the nearest topic of mpLDA."""
    figure, axes = figures.new_figure(height=3.4)
    axis = axes[0][0]
    for name, label in LABELS.items():
        words = figures.figure_text(", ".join(row[f"{name}_words"]), 200)
        years, weights = _curve(row, name)
        axis.plot(years, weights, color=_COLOURS[name], linewidth=0.7, alpha=0.6)
        smooth = _running_mean(weights)
        axis.plot(years, smooth, color=_COLOURS[name], linewidth=2.2, label=f"{label}: {words}")
    axis.set(xlabel="year", ylabel="topic weight (%)", xlim=row["years"], ylim=(0, None))
    figure.legend(loc="outside upper left", fontsize=9)
    figures.save(figure, folder, "sotu-topic")
    return Figure(
        "sotu-topic",
        "Weights over the years of a topic of LDA and of the nearest topic of mpLDA, with their nine most"
        f" probable words. Thick: running mean over {_SMOOTHING} years. The total variation distance of the"
        f" two topics is {row['distance']:.2f}; they are spread over {row['lda_spread']:.0f} and"
        f" {row['multipath_spread']:.0f} years.",
    )


def _curve(row: Row, name: str) -> tuple[Floats, Floats]:
    """Return the years and the weights of the example topic in %, NaN in years without an address."""
    first, last = row["years"]
    years = np.arange(first, last + 1).astype(float)
    weights = 100.0 * np.array(row[f"{name}_topic"])
    weights[np.isnan(entropies_of(row, name))] = np.nan
    return years, weights


def _running_mean(values: Floats) -> Floats:
    """Return the running mean; windows are cut at the ends, and years without documents do not count."""
    around = np.ones(_SMOOTHING)
    known = ~np.isnan(values)
    half = _SMOOTHING // 2
    sums, counts = (np.convolve(x, around)[half : half + len(values)] for x in (np.nan_to_num(values), known))
    means: Floats = sums / np.maximum(counts, 1)
    return means


def _draw_buckets(row: Row, folder: Path) -> Figure:
    """Draw the buckets of the same two topics."""
    figure, axes = figures.new_figure(1, 2, 4.2, sharex=True, sharey=True)
    first, last = row["years"]
    top = 105.0 * max(max(row[f"{name}_topic"]) for name in LABELS)
    for axis, (name, label) in zip(axes[:, 0], LABELS.items(), strict=True):
        weights = np.array(row[f"{name}_topic"])
        edges = first + quantile_edges(weights[:, None], EXAMPLE_GAMMA)[0]
        years = np.arange(first, last + 2)
        for k in range(len(edges) - 1):
            axis.axvspan(
                edges[k], edges[k + 1], color=figures.GREY, alpha=0.3 if k % 2 else 0.08, linewidth=0
            )
        axis.stairs(100.0 * weights, years, color=_COLOURS[name], fill=True, alpha=0.85)
        lengths = np.sort(np.diff(edges))
        half = len(lengths) // 2
        axis.set_title(
            f"{label}: the {half} shortest buckets last {lengths[:half].mean():.1f} years on average",
            loc="left",
        )
        axis.set(ylabel="topic weight (%)", xlim=(first, last + 1), ylim=(0, top))
    axes[-1, 0].set_xlabel("year")
    figures.save(figure, folder, "sotu-buckets")
    return Figure(
        "sotu-buckets",
        f"The {EXAMPLE_GAMMA}-quantile buckets of the same topics, alternately light and dark. Each holds"
        f" {EXAMPLE_GAMMA:.0%} of the topic's weight.",
    )


def _draw_lengths(rows: Sequence[Row], folder: Path) -> Figure:
    """Draw the histograms of the lengths of all buckets, and the entropies of the years."""
    figure, (panels,) = figures.new_figure(2, 1, 3.4)
    longer = _draw_histograms(panels[0], rows, weighted=False)
    first, last = rows[0]["years"]
    for name in LABELS:
        entropies = np.array([entropies_of(row, name) for row in rows])
        years = np.arange(first, last + 1)
        panels[1].fill_between(
            years, entropies.min(axis=0), entropies.max(axis=0), color=_COLOURS[name], alpha=0.3, linewidth=0
        )
        panels[1].plot(years, entropies.mean(axis=0), color=_COLOURS[name], linewidth=0.9)
    panels[1].set(xlabel="year", ylabel="entropy of a year (nats)", xlim=(first, last))
    figures.legend_above(figure, panels[0], tuple(LABELS.values()))
    figures.save(figure, folder, "sotu-lengths")
    return Figure(
        "sotu-lengths",
        f"Left: lengths of the {GAMMA}-quantile buckets of all topics ({longer}). Dotted: LDA with the years"
        " shuffled among the documents, as topics without any concentration would look. Right: entropies of"
        " the years, mean and range of the runs.",
    )


def _draw_weights(rows: Sequence[Row], folder: Path) -> Figure:
    """Draw the histograms weighted by the topics' weights, and the sorted weights."""
    figure, (panels,) = figures.new_figure(2, 1, 3.4)
    longer = _draw_histograms(panels[0], rows, weighted=True)
    for name in LABELS:
        shares = np.array([sorted_shares_of(row, name) for row in rows]).mean(axis=0)
        rank = np.arange(1, len(shares) + 1)
        panels[1].plot(rank[shares > 0], 100.0 * shares[shares > 0], color=_COLOURS[name], linewidth=1.5)
    panels[1].set(xlabel="rank of the topic", ylabel="share of all weight (%)", yscale="log")
    low, high = panels[1].get_ylim()
    ticks = [tick for power in range(-6, 3) for tick in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)]
    panels[1].set_yticks([tick for tick in ticks if low <= tick <= high])
    panels[1].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panels[1].minorticks_off()
    figures.legend_above(figure, panels[0], tuple(LABELS.values()))
    figures.save(figure, folder, "sotu-weights")
    return Figure(
        "sotu-weights",
        f"Left: lengths of the {GAMMA}-quantile buckets, weighted by the weight of their topic ({longer})."
        " Right: the topics' sorted shares of all weight, mean of the runs.",
    )


def _draw_histograms(axis: Any, rows: Sequence[Row], *, weighted: bool) -> str:
    """Draw the mean histogram of each model, and return a note on the buckets that are off the axis."""
    if not weighted:
        shuffled = [{**row, "lda_lengths": row["lda_shuffled_lengths"]} for row in rows]
        edges, shares = _mean_histogram(shuffled, "lda", weighted=False)
        axis.stairs(100.0 * shares, edges, color=figures.BLACK, linestyle=":", label="LDA, years shuffled")
    longer = []
    for name, label in LABELS.items():
        edges, shares = _mean_histogram(rows, name, weighted=weighted)
        axis.stairs(100.0 * shares, edges, color=_COLOURS[name], fill=True, alpha=0.25)
        axis.stairs(100.0 * shares, edges, color=_COLOURS[name], linewidth=1.5, label=label)
        longer.append(f"{label} {1.0 - shares.sum():.1%}")
    mean = mean_length_of(rows[0])
    axis.axvline(mean, color=figures.BLACK, linestyle="--", linewidth=1.0, label=f"mean {mean:.1f}")
    axis.set(
        xlabel="length of a bucket (years)",
        ylabel=f"share of the {'weight' if weighted else 'buckets'} (%)",
        xlim=(0, edges[-1]),
        ylim=(0, None),
    )
    return f"longer than {edges[-1]:.3g} years: {', '.join(longer)}"


def _mean_histogram(rows: Sequence[Row], name: str, *, weighted: bool) -> tuple[Floats, Floats]:
    """Return the edges of the bins and the mean share of each, without the last bin, which has no end."""
    histograms = [histogram_of(row, name, weighted=weighted) for row in rows]
    return histograms[0][0][:-1], np.mean([shares for _, shares in histograms], axis=0)[:-1]


def _draw_course(rows: Sequence[Row], folder: Path) -> Figure:
    """Draw the mean entropy of the years along the runs."""
    figure, axes = figures.new_figure(height=2.8)
    axis = axes[0][0]
    for name, label in LABELS.items():
        for k, row in enumerate(rows):
            sweeps, values = zip(*row[f"{name}_course"], strict=True)
            axis.plot(sweeps, values, color=_COLOURS[name], linewidth=1.0, label=None if k else label)
    axis.set(xlabel="sweep", ylabel="mean entropy (nats)", xlim=(0, rows[0]["sweeps"]))
    figures.legend_above(figure, axis, tuple(LABELS.values()))
    figures.save(figure, folder, "sotu-course")
    return Figure("sotu-course", "Mean entropy of the years along each run.")
