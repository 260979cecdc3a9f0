"""Findings of the ablation: claims, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from scipy import stats

from plait.evaluate import figure_style as figures
from plait.paper.bands import band_data, distance, distance_after, nearest_topics
from plait.paper.findings import Claim, Figure, Table, mean_and_error, standard_error
from plait.paper.hard import HardData
from plait.paper.results import Row

POWER, ONE, FIVE = "power", "one path", "five paths"
LONG, LATE = "five times the sweeps", "mean of five late samples"
BEST, NEAREST, MEAN = "best of five by likelihood", "nearest of five", "mean of five"

DATA_SEED: Final = 5
"""Seed of the documents, which Table 1 does not use, so that this is independent evidence."""

N_PATHS: Final = 5
"""Number of paths; also the power and the number of restarts."""

SMALL_GAIN: Final = 0.05
"""A relative gain below this counts as none."""

_COLOURS = {ONE: figures.BLACK, FIVE: figures.BLUE, POWER: figures.RED}
_COLOURS_OF_PATHS = {
    1: figures.BLACK,
    2: figures.ORANGE,
    3: figures.GREEN,
    5: figures.BLUE,
    10: figures.PURPLE,
    20: figures.RED,
}

Runs = Mapping[Any, Sequence[Row]]
Arms = Mapping[str, Sequence[float]]


class Comparison(NamedTuple):
    """The rows, sorted by comparison.

    Attributes
    ----------
    hmm, lda : mapping
        Runs of the power and of the samplers it is compared with, by kind.
    arms : mapping
        Distances at equal compute, by method.
    paths : mapping
        Runs by number of documents and number of paths.
    long : sequence of Row
        Runs with five times the sweeps.
    independent : float
        Log-likelihood of a model of independent symbols, minus that of the truth.
    n_documents : int
        Size of the corpus, except where numbers of paths are compared.
    """

    hmm: Runs
    lda: Runs
    arms: Arms
    paths: Mapping[int, Runs]
    long: Sequence[Row]
    independent: float
    n_documents: int


def compare(rows: Sequence[Row], documents: Sequence[int], data: HardData) -> Comparison:
    """Sort the rows by comparison."""
    sizes = {n: [row for row in rows if row.get("documents") == n] for n in documents}
    return Comparison(
        _by(rows, "power-hmm", "kind"),
        _by(rows, "power-lda", "kind"),
        _arms(rows, documents[0]),
        {n: own for n, some in sizes.items() if (own := _by(some, "paths", "paths"))},
        _part(rows, "long"),
        data.independent,
        documents[0],
    )


def _part(rows: Sequence[Row], part: str) -> list[Row]:
    return [row for row in rows if row["part"] == part]


def _by(rows: Sequence[Row], part: str, name: str) -> dict[Any, list[Row]]:
    """Return the rows of a part, by one of their settings."""
    own = _part(rows, part)
    values = dict.fromkeys(row[name] for row in own)
    return {value: [row for row in own if row[name] == value] for value in values}


def _arms(rows: Sequence[Row], n_documents: int) -> dict[str, list[float]]:
    """Return the distances of the methods that are compared at equal compute."""
    paths = [row for row in _part(rows, "paths") if row["documents"] == n_documents]
    restarts, long = _part(rows, "restarts"), _part(rows, "long")
    arms = {
        ONE: [value for row in restarts for value in row["distances"]],
        LONG: [row[LONG] for row in long],
        LATE: [row[LATE] for row in long],
        BEST: [row[BEST] for row in restarts],
        NEAREST: [row[NEAREST] for row in restarts],
        MEAN: [row[MEAN] for row in restarts],
        FIVE: [row["distance"] for row in paths if row["paths"] == N_PATHS],
    }
    return {name: values for name, values in arms.items() if values}


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _median(rows: Sequence[Row], name: str) -> float:
    return float(np.median([row[name] for row in rows]))


def _last_pair(rows: Sequence[Row]) -> float:
    return float(np.median([row["pairs"][-1][1] for row in rows]))


def _has_all(runs: Mapping[Any, Any], names: Sequence[Any]) -> bool:
    return all(name in runs for name in names)


def claims_of(comparison: Comparison) -> list[Claim]:
    """Return the paper's claims, checked against the runs."""
    topics = band_data(comparison.n_documents, DATA_SEED).topics
    uniform = distance(topics, np.full_like(topics, 1 / topics.shape[1]))
    return [
        _power_hmm_claim(comparison.hmm, comparison.independent),
        _power_lda_claim(comparison.lda, uniform),
        _compute_claim(comparison.arms),
        _average_claim(comparison.arms),
        _paths_claim(comparison.paths),
        _many_paths_claim(comparison.paths),
    ]


def _power_hmm_claim(runs: Runs, independent: float) -> Claim:
    text = (
        f"Hidden Markov model: sampling (phi, p) from P(phi, p | w)^{N_PATHS} with a single path finds"
        " probable pairs, but useless parameters."
    )
    if not _has_all(runs, (POWER, ONE, FIVE)):
        return Claim(text, "no number", "", {})
    power, one, five = (_median(runs[kind], "above_truth") for kind in (POWER, ONE, FIVE))
    pairs = {kind: _last_pair(runs[kind]) for kind in (POWER, FIVE)}
    far, near = (_median(runs[kind], "emission_distance") for kind in (POWER, FIVE))
    return Claim(
        text,
        "no number",
        f"median data log-likelihood above the truth: power {power:.1f}, one path {one:.1f}, five paths"
        f" {five:.1f}, independent symbols {independent:.1f}; median log P(p, w | phi) above the truth: power"
        f" {pairs[POWER]:.0f}, five paths {pairs[FIVE]:.0f}; median L1 distance of the emissions: power"
        f" {far:.2f}, five paths {near:.2f}",
        {
            "the power's pairs are more probable than those of five paths": pairs[POWER] > pairs[FIVE],
            "its parameters are less likely than those of one path": power < one,
            "its parameters are less likely than those of five paths": power < five,
            "they are little better than independent symbols: at most a tenth of the way to the truth": (
                power < 0.9 * independent
            ),
        },
    )


def _power_lda_claim(runs: Runs, uniform: float) -> Claim:
    text = f"Topics: parameters drawn from P(phi, p | w)^{N_PATHS} with a single path are useless."
    if not _has_all(runs, (POWER, ONE, FIVE)):
        return Claim(text, "no number", "", {})
    power, one, five = (_mean(runs[kind], "distance") for kind in (POWER, ONE, FIVE))
    pairs = {kind: _last_pair(runs[kind]) for kind in (POWER, FIVE)}
    still = sum(np.ptp(np.array(row["course"])[len(row["course"]) // 2 :, 1]) == 0 for row in runs[POWER])
    return Claim(
        text,
        "no number",
        f"mean distance to the true topics: power {power:.2f}, one path {one:.2f}, five paths {five:.2f},"
        f" uniform topics {uniform:.2f}; median log P(p, w | phi): power {pairs[POWER]:.0f}, five paths"
        f" {pairs[FIVE]:.0f}",
        {
            "the power's pairs are more probable than those of five paths": pairs[POWER] > pairs[FIVE],
            "its topics are farther from the truth than those of one path": power > one,
            "their distance is nearer to that of uniform topics than to that of five paths": uniform - power
            < power - five,
        },
        f"{still} of {len(runs[POWER])} runs of the power do not move in their second half. They show where"
        " such a sampler gets stuck, which need not be the mode of the distribution it samples from.",
    )


def _compute_claim(arms: Arms) -> Claim:
    text = (
        "Five paths find better topics than five restarts, one chain of five times the length, or the mean of"
        " its late samples."
    )
    others = [name for name in (LONG, LATE, BEST, NEAREST) if name in arms]
    found = ", ".join(f"{name} {np.mean(arms[name]):.2f}" for name in (*others, FIVE) if name in arms)
    checks = {
        f"five paths are nearer than {name}": bool(np.mean(arms[FIVE]) < np.mean(arms[name]))
        for name in others
        if FIVE in arms
    }
    if not checks:
        return Claim(text, "no number", "", {})
    note = "The nearest of five is chosen by its distance to the truth, so no choice among them is better."
    return Claim(text, "no number", f"mean distance: {found}", checks, note)


def _average_claim(arms: Arms) -> Claim:
    text = "Results of independent samplers cannot be averaged: topics of the same number are different."
    if not _has_all(arms, (ONE, MEAN)):
        return Claim(text, "no number", "", {})
    mean, one = (float(np.mean(arms[name])) for name in (MEAN, ONE))
    return Claim(
        text,
        "no number",
        f"mean distance: one path {one:.2f}, mean of five runs {mean:.2f}",
        {"the mean of five runs is farther than a single run": mean > one},
        "Late samples of one run can be averaged as long as the run does not renumber its topics.",
    )


def _distances(rows: Sequence[Row]) -> list[float]:
    return [row["distance"] for row in rows]


def _paths_claim(paths: Mapping[int, Runs]) -> Claim:
    checks = {}
    parts = []
    for n, runs in paths.items():
        few = sorted(m for m in runs if m <= N_PATHS)
        if len(few) > 1:
            means = [_mean(runs[m], "distance") for m in few]
            checks[f"{n} documents: the distance falls with every increase of m"] = all(
                b < a for a, b in pairwise(means)
            )
            listed = ", ".join(f"m = {m} {mean:.2f}" for m, mean in zip(few, means, strict=True))
            parts.append(f"{n} documents: {listed}")
    text = f"More paths find topics closer to the truth, up to m = {N_PATHS}."
    return Claim(text, "Table 1", "; ".join(parts), checks)


def _many_paths_claim(paths: Mapping[int, Runs]) -> Claim:
    text = f"More than {N_PATHS} paths give a further improvement in some cases, but not in all."
    gains = {}
    for n, runs in paths.items():
        for m in sorted(runs):
            if m > N_PATHS and N_PATHS in runs and min(len(runs[N_PATHS]), len(runs[m])) > 1:
                few = _mean(runs[N_PATHS], "distance")
                errors = [standard_error(_distances(runs[k])) for k in (N_PATHS, m)]
                # Degrees of freedom by Welch and Satterthwaite.
                freedom = sum(e**2 for e in errors) ** 2 / sum(
                    e**4 / (len(runs[k]) - 1) for e, k in zip(errors, (N_PATHS, m), strict=True)
                )
                gains[n, m] = few - _mean(runs[m], "distance"), math.hypot(*errors), freedom, SMALL_GAIN * few
    if not gains:
        return Claim(text, "no number", "", {})
    chance = 0.025 / len(gains)  # Bonferroni: 2.5% for all cases together
    better = equal = 0
    for gain, error, freedom, worth in gains.values():
        bound = float(stats.t.isf(chance, freedom)) * error
        if gain + bound < worth:
            equal += 1
        elif gain > bound:
            better += 1
    listed = "; ".join(
        f"{n} documents, m = {m}: {gain:+.3f} ± {error:.3f}" for (n, m), (gain, error, *_) in gains.items()
    )
    undecided = len(gains) - better - equal
    is_decided = (better and equal) or not undecided
    return Claim(
        text,
        "no number",
        f"gain over m = {N_PATHS}: {listed}; {better} of {len(gains)} cases better, {equal} not better,"
        f" {undecided} undecided",
        {"some cases are better, and some are not": bool(better and equal)} if is_decided else {},
        "A case is better if its gain is significantly above 0, and not better if its gain is significantly"
        f" below {SMALL_GAIN:.0%}, with an error probability of at most 2.5% for all cases together.",
    )


def tables_of(comparison: Comparison, n_sweeps: int) -> list[Table]:
    """Return tables of all distances."""
    tables = []
    if comparison.arms:
        tables.append(_arms_table(comparison.arms))
    if comparison.paths:
        tables.append(_paths_table(comparison.paths, comparison.long, n_sweeps))
    return tables


def _arms_table(arms: Arms) -> Table:
    rows = []
    for name, values in arms.items():
        spread = f"{np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
        least, most = f"{min(values):.3f}", f"{max(values):.3f}"
        rows.append([name, f"{np.mean(values):.3f}", spread, least, most, str(len(values))])
    heads = ["", "mean distance", "standard deviation", "minimum", "maximum", "number"]
    return Table("Equal compute: distance to the true topics", heads, rows)


def _paths_table(paths: Mapping[int, Runs], long: Sequence[Row], n_sweeps: int) -> Table:
    """Compare numbers of paths after equally many sweeps, and after equally many updates."""
    sizes = list(paths)
    counts = sorted({m for runs in paths.values() for m in runs})
    work = N_PATHS * n_sweeps
    rows = []
    for m in counts:
        row = [str(m)]
        for n in sizes:
            own = paths[n].get(m, [])
            row.append(mean_and_error(_distances(own)) if own else "")
        first = paths[sizes[0]].get(m, [])
        longest = long if m == 1 else first if m >= N_PATHS else []
        equal_work = [distance_after(run, work / m) for run in longest]
        row.append(f"{np.mean(equal_work):.3f}" if equal_work else "")
        row.append(f"{_mean(first, 'seconds'):.1f}" if first else "")
        rows.append(row)
    heads = ["paths", *(f"{n} documents" for n in sizes)]
    heads += [f"{sizes[0]} documents, {work} updates per token", f"seconds per run ({sizes[0]} documents)"]
    return Table(f"More paths: distance after {n_sweeps} sweeps, and after equal work", heads, rows)


# ---------------------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------------------


def figures_of(comparison: Comparison, folder: Path) -> list[Figure]:
    """Draw the runs over time, and their final distances."""
    drawn = []
    if comparison.hmm:
        _draw_power_hmm(comparison.hmm, comparison.independent, folder)
        drawn.append(
            Figure(
                "ablation-power-hmm",
                f"The posterior raised to the power {N_PATHS} with one path, compared with one and five"
                " paths. Each line is a run. Left: data log-likelihood of the parameters; the dotted line is"
                " a model of independent symbols. Right: log-likelihood of the pairs of parameters and path.",
            )
        )
    if comparison.lda:
        _draw_power_lda(comparison.lda, comparison.n_documents, folder)
        drawn.append(
            Figure(
                "ablation-power-lda",
                "The same for topics. Left: distance to the truth along the runs. Right: the true topics, and"
                " for each of them the nearest topic that the first run found.",
            )
        )
    if comparison.arms:
        _draw_arms(comparison.arms, folder)
        drawn.append(
            Figure(
                "ablation-compute",
                "Distance to the true topics. A dot is a run or a group of five, a line a mean. All methods"
                " except one path cost the same.",
            )
        )
    if comparison.paths:
        _draw_paths(next(iter(comparison.paths.values())), comparison.long, folder)
        _draw_sizes(comparison.paths, folder)
        first = next(iter(comparison.paths))
        drawn += [
            Figure(
                "ablation-paths",
                f"Distance to the true topics, {first} documents, mean and range of the runs. Left: by"
                " sweeps. Right: by work, which is sweeps times paths.",
            ),
            Figure(
                "ablation-paths-final",
                "Distance at the end of the runs, by number of paths. Bars are standard errors.",
            ),
        ]
    return drawn


def _draw_power_hmm(runs: Runs, independent: float, folder: Path) -> None:
    figure, axes = figures.new_figure(columns=2, height=3.2)
    left, right = axes[0]
    late: list[float] = []
    for kind, rows in runs.items():
        for k, row in enumerate(rows):
            for axis, name in ((left, "course"), (right, "pairs")):
                sweeps, values = zip(*row[name], strict=True)
                label = kind if k == 0 else None
                axis.plot(sweeps, values, color=_COLOURS[kind], linewidth=1.0, label=label, alpha=0.85)
            late += [value for _, value in row["course"][len(row["course"]) // 20 :]]
    left.axhline(independent, color=figures.GREY, linestyle=":", linewidth=1.2, label="independent symbols")
    lowest = max(min(late), 1.5 * independent) if independent < 0 else min(late)
    margin = 0.06 * (max(late) - lowest) + 1.0
    left.set(
        xscale="log",
        xlabel="sweep",
        ylabel="log P(w | φ)\nabove the truth (nats)",
        ylim=(min(lowest, independent) - margin, max(0.0, *late) + margin),
        title="parameters",
    )
    right.set(xscale="log", xlabel="sweep", ylabel="log P(p, w | φ)\nabove the truth (nats)", title="pairs")
    _plain_ticks(left, right)
    figures.legend_above(figure, left)
    figures.save(figure, folder, "ablation-power-hmm")


def _plain_ticks(*axes: Any) -> None:
    """Label a logarithmic axis with 10 and 100 instead of powers of ten."""
    for axis in axes:
        axis.xaxis.set_major_formatter("{x:g}")


def _draw_power_lda(runs: Runs, n_documents: int, folder: Path) -> None:
    truth = band_data(n_documents, DATA_SEED).topics
    panels = {"truth": truth}
    for kind, rows in runs.items():
        for row in rows:
            if "topics" in row:
                panels[kind] = nearest_topics(truth, np.array(row["topics"]))
    figure, axes = figures.new_figure(columns=2, height=3.6, width_ratios=(1.1, 1))
    axis, place = axes[0]
    for kind, rows in runs.items():
        for k, row in enumerate(rows):
            sweeps, values = zip(*row["course"], strict=True)
            label = kind if k == 0 else None
            axis.plot(sweeps, values, color=_COLOURS[kind], linewidth=1.0, label=label, alpha=0.85)
    axis.set(xscale="log", xlabel="sweep", ylabel="distance to the true topics (L1)", ylim=(0, None))
    _plain_ticks(axis)
    place.axis("off")
    height = 1 / len(panels)
    for k, (name, topics) in enumerate(panels.items()):
        inset = place.inset_axes((0.28, 1 - (k + 0.88) * height, 0.72, 0.76 * height))
        inset.imshow(topics, aspect="auto", cmap="Blues", vmin=0, vmax=truth.max(), interpolation="nearest")
        inset.set(yticks=[], xticks=[0, 50, 99] if k == len(panels) - 1 else [])
        inset.set_ylabel(name, rotation=0, ha="right", va="center")
        inset.spines[["top", "right"]].set_visible(True)
        if k == len(panels) - 1:
            inset.set_xlabel("word (each row a topic)")
    figures.legend_above(figure, axis)
    figures.save(figure, folder, "ablation-power-lda")


_WRAPPED = {
    ONE: "one\npath",
    LONG: "5 times\nthe\nsweeps",
    LATE: "mean of\n5 late\nsamples",
    BEST: "best of 5\nby likeli-\nhood",
    NEAREST: "nearest\nof 5",
    MEAN: "mean of\n5 runs",
    FIVE: "five\npaths",
}


def _draw_arms(arms: Arms, folder: Path) -> None:
    figure, axes = figures.new_figure(height=3.4)
    axis = axes[0][0]
    colours = {ONE: figures.BLACK, FIVE: figures.BLUE}
    for k, (name, values) in enumerate(arms.items()):
        places = k + np.linspace(-0.2, 0.2, len(values)) if len(values) > 1 else np.array([k])
        colour = colours.get(name, figures.ORANGE)
        axis.plot(places, values, "o", color=colour, markersize=5, alpha=0.75, markeredgewidth=0)
        axis.plot([k - 0.32, k + 0.32], [np.mean(values)] * 2, color=figures.BLACK, linewidth=1.8)
    axis.set_xticks(range(len(arms)), [_WRAPPED[name] for name in arms])
    axis.set(ylabel="distance to the true topics (L1)", ylim=(0, None))
    figures.save(figure, folder, "ablation-compute")


def _draw_paths(runs: Runs, long: Sequence[Row], folder: Path) -> None:
    figure, axes = figures.new_figure(columns=2, height=3.3, sharey=True)
    left, right = axes[0]
    for m in sorted(runs):
        colour = _COLOURS_OF_PATHS.get(m, figures.GREY)
        for axis, rows, scale in ((left, runs[m], 1), (right, long if m == 1 and long else runs[m], m)):
            courses = [dict(row["course"]) for row in rows]
            sweeps = sorted(set.intersection(*(set(course) for course in courses)))
            values = np.array([[course[sweep] for sweep in sweeps] for course in courses])
            x = scale * np.array(sweeps)
            axis.plot(x, values.mean(axis=0), color=colour, linewidth=1.5, label=f"m = {m}")
            least, most = values.min(axis=0), values.max(axis=0)
            axis.fill_between(x, least, most, color=colour, alpha=0.15, linewidth=0)
    left.set(xscale="log", xlabel="sweep", ylabel="distance to the true topics (L1)", ylim=(0, None))
    right.set(xscale="log", xlabel="updates per token (sweeps × paths)")
    _plain_ticks(left, right)
    figures.legend_above(figure, left)
    figures.save(figure, folder, "ablation-paths")


def _draw_sizes(paths: Mapping[int, Runs], folder: Path) -> None:
    figure, axes = figures.new_figure(height=3.2)
    axis = axes[0][0]
    colours = (figures.BLUE, figures.ORANGE, figures.GREEN, figures.RED)
    counts = sorted({m for runs in paths.values() for m in runs})
    for k, (n, runs) in enumerate(paths.items()):
        own = sorted(runs)
        means = [_mean(runs[m], "distance") for m in own]
        errors = np.nan_to_num([standard_error(_distances(runs[m])) for m in own])
        colour = colours[k % len(colours)]
        axis.errorbar(own, means, errors, color=colour, marker="o", markersize=5, capsize=3, label=f"{n}")
    axis.set(xscale="log", xlabel="paths m", ylabel="distance to the true topics (L1)", ylim=(0, None))
    axis.set_xticks(counts, [str(m) for m in counts])
    axis.minorticks_off()
    axis.legend(title="documents", loc="center left", bbox_to_anchor=(1, 0.5))
    figures.save(figure, folder, "ablation-paths-final")
