"""Findings on the hard sequence: claims, tables and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from scipy import stats

from plait.evaluate import figure_style as figures
from plait.paper.findings import Claim, Figure, Table
from plait.paper.hard import EM, SAMPLERS, Floats, HardData, emission_distance, matched
from plait.paper.results import Row

NEAR: Final = 3.0
"""A run counts as near the best solution of all runs if it is within this many nats of it."""

_PAPER_SAMPLERS = ("C1", "C5", "PC1", "PC5")
_COMPARED_AT_THE_END = (
    "Runs are compared where they end, as in the paper's figure. Five paths stay closer to any maximum than"
    " one path, so five would look better even if all runs found the same maximum. The claim on five paths"
    " compares the maxima themselves."
)
_FLUCTUATIONS = 5  # levels further apart than this many fluctuations count as different
_MAX_POINTS = 250  # per line of a figure: more would be indistinguishable
_LINEAR = 20  # nats around the truth: the axis of final likelihoods is always linear there
_AXIS = "data log-likelihood\nabove the truth (nats)"
_COLOURS = {"C": figures.BLUE, "PC": figures.RED, "B": figures.GREEN}
_MARKERS = {"C": "o", "PC": "s", "B": "^"}

Runs = Mapping[str, Sequence[Row]]


def _by_sampler(rows: Sequence[Row]) -> dict[str, list[Row]]:
    runs = {name: [row for row in rows if row["sampler"] == name] for name in (*SAMPLERS, EM)}
    return {name: own for name, own in runs.items() if own}


def _final(runs: Runs, sampler: str, where: str = "above_truth") -> Floats:
    """Return the sorted likelihoods at the end of a sampler's runs, or ("polished") of EM after them."""
    return np.sort([row[where] for row in runs[sampler]])


def _best(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: row["above_truth"])


def _top(runs: Runs, where: str = "above_truth") -> float:
    """Return the highest likelihood of any run."""
    return max(float(_final(runs, name, where)[-1]) for name in runs)


def _near(runs: Runs, sampler: str, where: str = "above_truth") -> int:
    """Return how many runs end near the highest likelihood."""
    return int((_final(runs, sampler, where) > _top(runs, where) - NEAR).sum())


def _share(runs: Runs, sampler: str, where: str = "above_truth") -> float:
    return _near(runs, sampler, where) / len(runs[sampler])


def _median(runs: Runs, sampler: str) -> float:
    return float(np.median(_final(runs, sampler)))


def claims_of(rows: Sequence[Row], data: HardData) -> list[Claim]:
    """Return the paper's claims, checked against the rows."""
    runs = _by_sampler(rows)
    return [
        _local_maxima(runs, data),
        _more_paths(runs, data),
        _improvement(runs),
        _best_sampler(runs),
        _single_paths(runs),
        _overfit(runs, data),
        _close_emissions(runs, data),
    ]


def _has(runs: Runs, *samplers: str) -> bool:
    return all(sampler in runs for sampler in samplers)


def _late(course: Sequence[Sequence[float]]) -> Floats:
    """Return the measurements of the second half of a run."""
    values = np.array(course)
    late: Floats = values[values[:, 0] > values[-1, 0] / 2, 1]
    return late


def _count_on_plateau_along(rows: Sequence[Row], data: HardData) -> list[tuple[float, int]]:
    """Return how many runs are on the plateau after a tenth, half and all of the sweeps, by sweep."""
    courses = np.array([row["course"] for row in rows])  # runs, measurements, (sweep, value)
    moments = [math.ceil(courses.shape[1] * share) - 1 for share in (0.1, 0.5, 1.0)]
    low = (courses[:, :, 1] < data.independent / 2).sum(axis=0)
    return [(float(courses[0, k, 0]), int(low[k])) for k in moments]


def _local_maxima(runs: Runs, data: HardData) -> Claim:
    """Compare the levels of the runs with the fluctuation along a run, both over the second half."""
    text = "Local maxima: each run of C1 soon settles at a level of its own."
    late = [_late(row["course"]) for row in runs.get("C1", ())]
    if len(late) < 2 or min(len(row["course"]) for row in runs["C1"]) < 20:
        return Claim(text, "a figure", "", {})
    levels = np.array([values.mean() for values in late])
    quarters = [np.array_split(values, 2) for values in late]
    # Within quarters, so that a drift does not count as fluctuation.
    fluctuation = float(np.median([np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2) for a, b in quarters]))
    early = np.array([_after_a_fifth(row["course"]) for row in runs["C1"]])
    soon = int((np.abs(early - levels) < _FLUCTUATIONS * fluctuation).sum())
    stay = sum(abs(b.mean() - a.mean()) < 2 * fluctuation for a, b in quarters)
    apart = int((np.abs(levels - np.median(levels)) > _FLUCTUATIONS * fluctuation).sum())
    n = len(late)
    return Claim(
        text,
        "a figure",
        f"levels over the second half of the runs: {levels.min():.1f} to {levels.max():.1f} nats above the"
        f" truth; fluctuation along a run: {fluctuation:.1f} nats",
        {
            f"soon: after a fifth of the sweeps at least 3 of 4 runs ({soon} of {n}) are within"
            f" {_FLUCTUATIONS} fluctuations of their level": soon >= 0.75 * n,
            f"they stay: in at least 3 of 4 runs ({stay} of {n}) the third and the fourth quarter differ by"
            " less than 2 fluctuations": stay >= 0.75 * n,
            f"levels of their own: at least 1 of 4 runs ({apart} of {n}) are more than {_FLUCTUATIONS}"
            " fluctuations from the median of all": apart >= 0.25 * n,
        },
        "Runs on the plateau, nearer to independent symbols than to the truth: "
        + ", ".join(
            f"{number} after {sweep:g} sweeps" for sweep, number in _count_on_plateau_along(runs["C1"], data)
        )
        + f", of {n}. A level that runs leave in the end is slow mixing, not a maximum.",
    )


def _after_a_fifth(course: Sequence[Sequence[float]]) -> float:
    """Return the mean likelihood around the end of the first fifth of a run."""
    values = np.array(course)
    share = values[:, 0] / values[-1, 0]
    return float(values[(share > 0.15) & (share <= 0.25), 1].mean())


def _on_plateau(runs: Runs, sampler: str, data: HardData) -> int:
    """Return how many runs end nearer to independent symbols than to the truth."""
    return int((_final(runs, sampler) < data.independent / 2).sum())


def _more_paths(runs: Runs, data: HardData) -> Claim:
    checks = {}
    parts = []
    for one, five in (("C1", "C5"), ("PC1", "PC5")):
        if _has(runs, one, five):
            for where, words in (("above_truth", ""), ("polished", "after EM, ")):
                checks[f"{words}more runs of {five} than of {one} end within {NEAR:g} nats of the best"] = (
                    _share(runs, five, where) > _share(runs, one, where)
                )
                near = [f"{name} {_near(runs, name, where)} of {len(runs[name])}" for name in (one, five)]
                parts.append(words + ", ".join(near))
    low = ", ".join(f"{name} {_on_plateau(runs, name, data)}" for name in SAMPLERS if name in runs)
    cut = sum(_cut_short(runs, name) for name in SAMPLERS if name in runs)
    total = sum(len(runs[name]) for name in SAMPLERS if name in runs)
    return Claim(
        "Five paths reach the highest likelihoods more often than one.",
        "a figure",
        "; ".join(parts),
        checks,
        "A run fluctuates some nats below a maximum, and the more paths it has, the closer it stays. That"
        " alone raises the likelihoods of five paths. After EM, runs are compared by the maxima they have"
        f" found; {cut} of {total} had not quite reached theirs. Runs that end on the plateau, nearer to"
        f" independent symbols than to the truth: {low}.",
    )


def _cut_short(runs: Runs, sampler: str) -> int:
    """Return the number of runs after which EM reached its limit of iterations while still gaining."""
    return sum(row["made"] == row["iterations"] for row in runs[sampler])


def _improvement(runs: Runs) -> Claim:
    text = "Most of the algorithms improve on the baseline C1."
    if not _has(runs, "C1", "C5", "PC5"):
        return Claim(text, "a figure", "", {})
    base = _final(runs, "C1")
    chances = {
        name: float(stats.mannwhitneyu(_final(runs, name), base, alternative="greater").pvalue)
        for name in ("C5", "PC5")
    }
    listed = ", ".join(f"{name} {_median(runs, name):.1f}" for name in ("C1", *chances))
    return Claim(
        text,
        "a figure",
        f"medians: {listed}",
        {f"{name} is higher than C1 by a rank test (p = {p:.2g})": p < 0.025 for name, p in chances.items()},
        _COMPARED_AT_THE_END,
    )


def _best_sampler(runs: Runs) -> Claim:
    text = "The best results are obtained by C5."
    if not _has(runs, *_PAPER_SAMPLERS):
        return Claim(text, "a figure", "", {})
    others = [sampler for sampler in _PAPER_SAMPLERS if sampler != "C5"]
    found = ", ".join(f"{sampler} {_median(runs, sampler):.1f}" for sampler in _PAPER_SAMPLERS)
    return Claim(
        text,
        "a figure",
        f"medians: {found}",
        {
            "C5 has the highest median of C1, C5, PC1 and PC5": _median(runs, "C5")
            > max(_median(runs, sampler) for sampler in others),
            f"C5 ends within {NEAR:g} nats of the best, and none of the others does so more often": (
                _share(runs, "C5") >= max(1e-9, *(_share(runs, sampler) for sampler in others))
            ),
            "C5 has the highest single run of these": float(_final(runs, "C5")[-1])
            >= max(float(_final(runs, sampler)[-1]) for sampler in others),
        },
        _COMPARED_AT_THE_END,
    )


def _single_paths(runs: Runs) -> Claim:
    text = "The non-collapsed PC1 is about as good as C1."
    if not _has(runs, "C1", "PC1", "C5"):
        return Claim(text, "a figure", "", {})
    difference = _median(runs, "PC1") - _median(runs, "C1")
    gain = _median(runs, "C5") - _median(runs, "C1")
    chance = float(stats.mannwhitneyu(_final(runs, "PC1"), _final(runs, "C1")).pvalue)
    return Claim(
        text,
        "a figure",
        f"medians {_median(runs, 'PC1'):.1f} and {_median(runs, 'C1'):.1f}; p = {chance:.2f}",
        {
            f"their medians differ by {abs(difference):.1f}, less than half of the gain of five paths"
            f" ({gain:.1f})": abs(difference) < 0.5 * gain,
            "a rank test sees no difference (p > 0.05)": chance > 0.05,
        },
    )


def _overfit(runs: Runs, data: HardData) -> Claim:
    text = "Baum-Welch and the best runs of the sampler end slightly above the truth: they overfit a little."
    if not _has(runs, "C5", EM):
        return Claim(text, "a figure", "", {})
    n_states, n_symbols = data.emissions.shape
    n_free = n_states - 1 + n_states * (n_states - 1) + n_states * (n_symbols - 1)
    most = float(stats.chi2.ppf(0.999, n_free)) / 2
    em, five, polished = _final(runs, EM), _final(runs, "C5")[-1], _final(runs, "C5", "polished")[-1]
    return Claim(
        text,
        "a figure with one solution of Baum-Welch",
        f"nats above the truth: best run of Baum-Welch {em[-1]:.1f}, median {np.median(em):.1f},"
        f" {_near(runs, EM, 'polished')} of {len(em)} within {NEAR:g} nats of the best; best run of C5"
        f" {five:.1f}, after EM {polished:.1f}",
        {
            "the best run of Baum-Welch is above the truth": em[-1] > 0,
            "the best run of C5 is above the truth": five > 0,
            f"slightly: by no more than fitting {n_free} free parameters explains ({most:.1f} nats, 99.9%)": (
                0 < max(em[-1], five) < most
            ),
        },
        f"{_cut_short(runs, EM)} of {len(em)} runs of Baum-Welch reached the limit of iterations while still"
        " gaining.",
    )


def _close_emissions(runs: Runs, data: HardData) -> Claim:
    text = "The emissions of the best run of C5 are close to the truth, apart from mild overfitting."
    if "C5" not in runs:
        return Claim(text, "a figure", "", {})
    found = np.array(_best(runs["C5"])["emissions"])
    distance = emission_distance(found, data.emissions)
    equal = emission_distance(np.repeat(data.emissions.mean(axis=0)[None], 2, axis=0), data.emissions)
    return Claim(
        text,
        "a figure",
        f"L1 distance {distance:.3f}, mean of the two states; {equal:.3f} for two equal states",
        {"at most a quarter of the distance of two equal states": distance <= equal / 4},
    )


def tables_of(rows: Sequence[Row], data: HardData) -> list[Table]:
    """Return the likelihoods of all runs."""
    runs = _by_sampler(rows)
    return [_summary(runs, data), _sorted_values(runs)] if runs else []


def _summary(runs: Runs, data: HardData) -> Table:
    rows = []
    for name, own in runs.items():
        final, polished = _final(runs, name), _final(runs, name, "polished")
        seconds = np.mean([row["seconds"] for row in own])
        numbers = [f"{value:.1f}" for value in (final[-1], np.median(final), final[0], np.median(polished))]
        near = [f"{_near(runs, name, where)} of {len(own)}" for where in ("above_truth", "polished")]
        rows.append([name, near[0], *numbers[:3], numbers[3], near[1], str(_on_plateau(runs, name, data))])
        rows[-1].append(f"{seconds:.1f}")
    near_best = f"within {NEAR:g} nats of the best"
    heads = ["sampler", near_best, "best", "median", "worst", "median after EM", f"{near_best}, after EM"]
    return Table(
        "Data log-likelihood above that of the truth, in nats",
        [*heads, "on the plateau", "seconds per run"],
        rows,
    )


def _sorted_values(runs: Runs) -> Table:
    most = max(len(own) for own in runs.values())
    rows = [
        [name, *(f"{value:.1f}" for value in _final(runs, name)), *[""] * (most - len(own))]
        for name, own in runs.items()
    ]
    heads = ["sampler", *(str(rank) for rank in range(1, most + 1))]
    return Table("The same for every run, sorted", heads, rows)


# ---------------------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------------------


def figures_of(rows: Sequence[Row], data: HardData, folder: Path) -> list[Figure]:
    """Draw the paper's three figures."""
    runs = _by_sampler(rows)
    drawn = []
    if "C1" in runs:
        _draw_course(runs["C1"], data, folder)
        drawn.append(
            Figure(
                "hmm-course",
                "Data log-likelihood along the runs of C1. The dotted line is a model of independent"
                " symbols: the plateau, where nothing is learnt about the chain.",
            )
        )
    if any(sampler in runs for sampler in SAMPLERS):
        is_symlog = _draw_final(runs, folder)
        caption = (
            "Data log-likelihood at the end of the runs, sorted. Filled: five paths; open: one path. The"
            " blocked samplers (B) are plait's own."
        )
        if is_symlog:
            caption += f" Below {-_LINEAR} the axis is logarithmic."
        drawn.append(Figure("hmm-final", caption))
    if "C5" in runs:
        _draw_emissions(_best(runs["C5"]), data, folder)
        drawn.append(Figure("hmm-emissions", "Emissions of the C5 run with the highest likelihood."))
    return drawn


def _draw_course(rows: Sequence[Row], data: HardData, folder: Path) -> None:
    figure, axes = figures.new_figure(height=3.6)
    axis = axes[0][0]
    shades = [figures.BLUE, figures.SKY, figures.GREEN, figures.ORANGE, figures.RED, figures.PURPLE]
    late: list[float] = []
    for k, row in enumerate(rows):
        course = row["course"]
        sweeps, values = zip(*course[:: math.ceil(len(course) / _MAX_POINTS)], strict=True)
        axis.plot(sweeps, values, color=shades[k % len(shades)], linewidth=0.8, alpha=0.9)
        late += values[1:]
    axis.axhline(0, color=figures.BLACK, linewidth=1.2, linestyle="--", label="truth")
    axis.axhline(
        data.independent, color=figures.GREY, linewidth=1.2, linestyle=":", label="independent symbols"
    )
    # The first sweeps are far below; showing them would squeeze the rest.
    lowest = max(min(late, default=0.0), 1.3 * data.independent)
    margin = 0.06 * (max(late, default=0.0) - lowest) + 1.0
    axis.set(
        xlabel="sweep",
        ylabel=_AXIS,
        ylim=(min(lowest, data.independent) - margin, max(0.0, *late) + margin),
        xlim=(0, max(row["course"][-1][0] for row in rows)),
    )
    axis.locator_params(axis="x", nbins=5)
    figures.legend_above(figure, axis)
    figures.save(figure, folder, "hmm-course")


def _draw_final(runs: Runs, folder: Path) -> bool:
    """Draw the likelihoods at the end of the runs, and return whether the axis is partly logarithmic."""
    figure, axes = figures.new_figure(height=3.8)
    axis = axes[0][0]
    values = np.concatenate([_final(runs, name) for name in runs])
    for name in SAMPLERS:
        if name not in runs:
            continue
        final = _final(runs, name)
        colour, many = _COLOURS[name[:-1]], SAMPLERS[name][1] > 1
        axis.plot(
            np.arange(1, len(final) + 1),
            final,
            color=colour,
            linestyle="-" if many else "--",
            linewidth=1.2,
            marker=_MARKERS[name[:-1]],
            markersize=5,
            markerfacecolor=colour if many else "white",
            label=name,
        )
    if EM in runs:
        axis.axhline(
            _final(runs, EM)[-1], color=figures.PURPLE, linewidth=1.5, linestyle="-.", label="best BW"
        )
    axis.axhline(0, color=figures.BLACK, linewidth=1.2, linestyle=":", label="truth")
    is_symlog = bool(values.min() < -1.5 * _LINEAR)  # runs on the plateau are far below all others
    if is_symlog:
        axis.set_yscale("symlog", linthresh=_LINEAR, linscale=2)
        ticks = [-1000, -500, -200, -100, -50, -20, -10, 0, 10, 20]
        low = 1.3 * values.min()
        axis.set_yticks(ticks, [str(tick).replace("-", "−") for tick in ticks])
        axis.minorticks_off()
        axis.set_ylim(low, values.max() + 2)
    most = max(len(own) for own in runs.values())
    axis.set(xlabel="run, from the lowest to the highest", ylabel=_AXIS)
    axis.set_xticks(range(1, most + 1, max(1, math.ceil(most / 8))))
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    figures.save(figure, folder, "hmm-final")
    return is_symlog


def _draw_emissions(best: Row, data: HardData, folder: Path) -> None:
    truth = data.emissions
    found = np.array(best["emissions"])
    found = found[matched(found, truth)]
    figure, axes = figures.new_figure(columns=len(truth), height=2.9, sharey=True)
    symbols = np.arange(truth.shape[1])
    for state, axis in enumerate(axes[0]):
        axis.bar(symbols, truth[state], color=figures.GREY, alpha=0.45, width=0.8, label="truth")
        axis.plot(symbols, found[state], "o-", color=figures.BLUE, linewidth=1.2, markersize=5, label="C5")
        axis.set(title=f"state {state + 1}", xlabel="symbol", xticks=symbols)
    axes[0][0].set_ylabel("probability")
    figures.legend_above(figure, axes[0][0], ("truth",))
    figures.save(figure, folder, "hmm-emissions")
