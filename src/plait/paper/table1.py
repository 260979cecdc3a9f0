"""Synthetic topics: the paper's Table 1.

The ten topics are overlapping bands of a hundred words; documents have ten words. The distance is the paper's
disc: the mean over true topics of the L1 distance to the nearest topic found, from 0 to 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from plait.evaluate import figure_style as figures
from plait.paper.bands import (
    SECONDS_PER_UPDATE,
    WIDTH,
    band_data,
    band_model,
    distance,
    distance_after,
    distance_along,
    nearest_topics,
)
from plait.paper.findings import Claim, Figure, Section, Table, mean_and_error, standard_error
from plait.paper.internals import estimate_topics
from plait.paper.results import Row
from plait.paper.work import Job, JobContext

PAPER: Final = {
    1: {1500: 1.12, 3000: 0.79, 6000: 0.58, 9000: 0.43},
    2: {1500: 0.86, 3000: 0.59, 6000: 0.41, 9000: 0.32},
    3: {1500: 0.77, 3000: 0.54, 6000: 0.35, 9000: 0.29},
    5: {1500: 0.69, 3000: 0.46, 6000: 0.31, 9000: 0.24},
}
"""The paper's Table 1: distance by number of paths and number of documents."""

NEAR: Final = 0.15
"""Allowed relative difference from the paper's value, unless data sets differ by more."""

LEAST_SETS: Final = 3
"""Number of data sets needed to estimate how much data sets differ."""

SETTLED: Final = 3000
"""Sweeps after which topics practically stop changing, according to the paper."""

SMALL_CHANGE: Final = 0.05
"""Largest relative change of a distance that counts as practically none."""

_COLOURS = {1: figures.BLACK, 2: figures.ORANGE, 3: figures.GREEN, 5: figures.BLUE}


@dataclass(frozen=True)
class _Runs:
    """The runs of a sampler.

    Attributes
    ----------
    sampler : str
        "collapsed" or "partially collapsed".
    data : sequence of int
        Seeds of the data sets.
    n_runs : int
        Runs on each data set, for each number of paths and of documents.
    n_sweeps : int
        Sweeps of each run.
    """

    sampler: str
    data: Sequence[int]
    n_runs: int
    n_sweeps: int


@dataclass(frozen=True)
class Table1:
    """Recovery of topics for several numbers of paths and of documents."""

    name: ClassVar[str] = "table1"

    runs: Sequence[_Runs]
    documents: Sequence[int] = (1500, 3000, 6000, 9000)
    paths: Sequence[int] = (1, 2, 3, 5)

    def with_sweeps(self, n_sweeps: int) -> Table1:
        """Return the experiment with another number of sweeps."""
        return replace(self, runs=[replace(runs, n_sweeps=n_sweeps) for runs in self.runs])

    def jobs(self) -> list[Job]:
        """Return one job per run, small corpora first, so that an unfinished table has complete columns."""
        return [
            _job(runs.sampler, data, n_documents, n_paths, run, runs.n_sweeps)
            for runs in self.runs
            for data in runs.data
            for n_documents in self.documents
            for run in range(runs.n_runs)
            for n_paths in self.paths
        ]

    def report(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw topics and distances, and compare the table with the paper's."""
        main = self.runs[0]
        cells = _cells(rows, main.sampler, main.data)
        sweeps = min(runs.n_sweeps for runs in self.runs if runs.sampler == main.sampler)
        sets = _data_sets(rows, main.sampler, sweeps)
        _draw_topics(rows, main, self.documents[0], folder)
        _draw_distances(sets, folder)
        _draw_course(rows, main, folder)
        tables = [_table_of_runs(main, cells), _table_of_data_sets(main.sampler, sets, sweeps)]
        for runs in self.runs:
            if runs.sampler != main.sampler:
                tables.append(_table_of_runs(runs, _cells(rows, runs.sampler, runs.data)))
        return Section(
            "Table 1: synthetic topics",
            _describe(self),
            [
                _claim_of_order(cells),
                _claim_of_values(cells, sets),
                *([_claim_of_means(sets, sweeps)] if _n_sets(sets) > len(main.data) else []),
                _claim_of_settling(rows, main),
            ],
            [
                Figure(
                    "table1-topics",
                    "The true topics, and for each of them the nearest topic found by a run with one path and"
                    f" by a run with five, on {self.documents[0]} documents. A topic may appear more than"
                    " once.",
                ),
                Figure(
                    "table1-distance",
                    f"Distance to the true topics after {sweeps} sweeps, mean over {_n_sets(sets)} data sets."
                    f"{' Bars: standard deviation between data sets.' if _is_known(sets) else ''} Crosses:"
                    " the paper's values.",
                ),
                Figure(
                    "table1-course",
                    f"Distance along the runs on data set {main.data[0]}. Each line is a run.",
                ),
            ],
            [table for table in tables if table.rows],
            [
                "The paper calls the distance total variation, but its formula is the L1 norm, from 0 to 2."
                " plait computes the L1 norm.",
                "The paper does not give the prior of the topics. Here it is eta = 1, like alpha. The value"
                " 0.01 was tried first, with bands of 20 words, and fits much less well (m = 1, 1500"
                " documents: 0.81).",
                "A band is its centre and the nine words on either side. The paper does not give the width,"
                " only that most words belong to two bands. Several widths were compared with the table, and"
                " 19 fits best. Distances for 3000 documents are up to 23% too small with 18, and up to 19%"
                " too large with 20.",
                "The spread between data sets and the partially collapsed sampler are plait's additions.",
                *(
                    [f"Here {main.n_runs} runs of {main.n_sweeps} sweeps; in the paper 10 of 10000."]
                    if (main.n_runs, main.n_sweeps) != (10, 10_000)
                    else []
                ),
                "Algorithm 4 prints T eta in a denominator where the derivation gives W eta, which plait"
                " uses.",
            ],
            sum(row["seconds"] for row in rows),
        )


SCALES: Final = {
    "tiny": Table1(
        [_Runs("collapsed", (0, 1), 2, 60), _Runs("partially collapsed", (0,), 1, 60)], (60, 120), (1, 2)
    ),
    "quick": Table1([_Runs("collapsed", (0, 1), 2, 700), _Runs("partially collapsed", (0,), 1, 300)]),
    "paper": Table1(
        [
            _Runs("collapsed", (0,), 10, 10_000),
            _Runs("collapsed", (1, 2, 3, 4), 2, 3_000),
            _Runs("partially collapsed", (0,), 2, 10_000),
        ]
    ),
}


# ---------------------------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------------------------


def _job(sampler: str, data: int, n_documents: int, n_paths: int, run: int, n_sweeps: int) -> Job:
    settings = {
        "sampler": sampler,
        "data": data,
        "width": WIDTH,
        "documents": n_documents,
        "paths": n_paths,
        "run": run,
        "sweeps": n_sweeps,
    }
    cost = 10 * n_documents * n_paths * n_sweeps * SECONDS_PER_UPDATE[sampler]

    def work(context: JobContext) -> Mapping[str, Any]:
        truth = band_data(n_documents, data)
        model = band_model(truth)
        result, course = context.sample(
            model,
            n_sweeps=n_sweeps,
            n_paths=n_paths,
            seed=run,
            collapsed=sampler == "collapsed",
            thin=n_sweeps,
            measure=distance_along(model, truth),
            every=max(1, n_sweeps // 20),
        )
        found = estimate_topics(model, result.paths)
        return {
            "distance": distance(truth.topics, found),
            "course": [[sweep, value] for sweep, value in sorted(course.items())],
            **({"topics": np.round(found, 5).tolist()} if run == 0 else {}),
        }

    return Job("table1", settings, cost, work)


# ---------------------------------------------------------------------------------------------------------
# Claims and tables
# ---------------------------------------------------------------------------------------------------------

Cell = tuple[int, int]
"""Number of paths and number of documents."""

Cells = dict[Cell, NDArray[np.float64]]
"""Distances of all runs, by cell."""

DataSets = dict[Cell, list[NDArray[np.float64]]]
"""Distances of all runs of each data set, by cell."""


def _cells(rows: Iterable[Row], sampler: str, data: Iterable[int]) -> Cells:
    cells: dict[Cell, list[float]] = {}
    data = set(data)
    for row in rows:
        if row["sampler"] == sampler and row["data"] in data:
            cells.setdefault((row["paths"], row["documents"]), []).append(row["distance"])
    return {key: np.array(values) for key, values in cells.items()}


def _data_sets(rows: Sequence[Row], sampler: str, sweeps: int) -> DataSets:
    """Return the distances on all data sets after `sweeps` sweeps; some runs may be longer."""
    sets: DataSets = {}
    own_rows = [row | {"distance": distance_after(row, sweeps)} for row in rows if row["sampler"] == sampler]
    for data in sorted({row["data"] for row in own_rows}):
        for key, values in _cells(own_rows, sampler, [data]).items():
            sets.setdefault(key, []).append(values)
    return sets


def _n_sets(sets: DataSets) -> int:
    return max(map(len, sets.values()), default=0)


def _is_known(sets: DataSets) -> bool:
    """Return whether there are enough data sets to estimate how much they differ."""
    return any(not np.isnan(_between(own)) for own in sets.values())


def _mean_of(sets: Iterable[NDArray[np.float64]]) -> float:
    """Return the mean over data sets, which count equally regardless of their number of runs."""
    return float(np.mean([values.mean() for values in sets]))


def _between(sets: Iterable[NDArray[np.float64]]) -> float:
    """Return the standard deviation between data sets, NaN if too few have more than one run.

    The means of data sets with few runs differ also because runs differ. That part of their variance is
    estimated from the runs of each data set and subtracted.
    """
    sets = [values for values in sets if values.size > 1]
    if len(sets) < LEAST_SETS:
        return float("nan")
    means = np.var([values.mean() for values in sets], ddof=1)
    within = np.mean([standard_error(values) ** 2 for values in sets])
    return float(np.sqrt(max(0.0, means - within)))


def _claim_of_settling(rows: Sequence[Row], runs: _Runs) -> Claim:
    """Compare the distances after SETTLED sweeps with those at the end."""
    changes: dict[Cell, list[tuple[float, float]]] = {}
    for row in rows:
        same = (row["sampler"], row["sweeps"]) == (runs.sampler, runs.n_sweeps) and row["data"] in runs.data
        if same and runs.n_sweeps >= 2 * SETTLED:
            pair = distance_after(row, SETTLED), row["distance"]
            changes.setdefault((row["paths"], row["documents"]), []).append(pair)
    checks = {}
    moved = 0
    for (m, n), pairs in sorted(changes.items()):
        early, late = np.mean(pairs, axis=0)
        moves = [abs(a - b) / a for a, b in pairs]
        moved += sum(move > SMALL_CHANGE for move in moves)
        words = f"m = {m}, {n} documents: runs change by {np.mean(moves):.1%} on average"
        checks[f"{words} ({early:.3f} after {SETTLED} sweeps, {late:.3f} at the end)"] = (
            float(np.mean(moves)) <= SMALL_CHANGE
        )
    total = sum(map(len, changes.values()))
    found = (
        f"in {sum(checks.values())} of {len(checks)} cells runs change by at most {SMALL_CHANGE:.0%} on"
        f" average; {moved} of {total} single runs change by more"
    )
    too_short = f"runs of {runs.n_sweeps} sweeps are too short to decide"
    return Claim(
        f"After {SETTLED} sweeps the topics practically stop changing.",
        "all cases",
        found if checks else too_short if runs.n_sweeps < 2 * SETTLED else "no runs",
        checks,
        "Change is measured by the distance to the truth.",
    )


def _claim_of_order(cells: Cells) -> Claim:
    if not cells:
        return Claim("More paths find topics closer to the truth.", "Table 1", "no runs", {})
    mean = {key: float(values.mean()) for key, values in cells.items()}
    documents = sorted({n for _, n in cells})
    paths = sorted({m for m, _ in cells})
    first, last = paths[0], paths[-1]
    whole = [n for n in documents if all((m, n) in mean for m in paths) and len(paths) > 1]
    printed = [n for n in whole if n in PAPER.get(first, {}) and n in PAPER.get(last, {})]
    return Claim(
        f"More paths find topics closer to the truth (m = {first} to {last}).",
        "; ".join(f"{n} documents {PAPER[first][n]:.2f} to {PAPER[last][n]:.2f}" for n in printed)
        or "other sizes",
        "first table: "
        + "; ".join(f"{n} documents {mean[first, n]:.2f} to {mean[last, n]:.2f}" for n in whole),
        {
            f"{n} documents: the distance falls with every increase of m": all(
                mean[b, n] < mean[a, n] for a, b in pairwise(paths)
            )
            for n in whole
        },
    )


def _claim_of_values(cells: Cells, sets: DataSets) -> Claim:
    """Compare the first table with the paper's."""
    return _near_the_paper(
        "The values of Table 1.",
        "in the first table",
        {key: float(values.mean()) for key, values in cells.items()},
        sets,
    )


def _claim_of_means(sets: DataSets, sweeps: int) -> Claim:
    """Compare means over data sets with the paper's values, each of which comes from one data set."""
    return _near_the_paper(
        "The values of Table 1, averaged over data sets.",
        f"means over {_n_sets(sets)} data sets after {sweeps} sweeps",
        {key: _mean_of(own) for key, own in sets.items()},
        sets,
    )


def _near_the_paper(text: str, what: str, values: Mapping[Cell, float], sets: DataSets) -> Claim:
    """Compare values with the paper's: they may differ by the share NEAR, or by as much as data sets do."""
    checks = {}
    for (m, n), value in sorted(values.items()):
        paper = PAPER.get(m, {}).get(n)
        if paper is not None:
            share, apart = NEAR * paper, 2 * np.nan_to_num(_between(sets[m, n]))
            bound = f"± {share:.2f}, {NEAR:.0%}" if share >= apart else f"± {apart:.2f}, data sets"
            words = f"m = {m}, {n} documents: {value:.2f}, paper {paper:.2f} ({bound})"
            checks[words] = abs(value - paper) <= max(share, apart)
    bounds = f"{NEAR:.0%} or two standard deviations between data sets" if _is_known(sets) else f"{NEAR:.0%}"
    return Claim(
        text,
        f"{len(checks)} cells, one data set for each number of documents",
        f"{what}, {sum(checks.values())} of {len(checks)} cells are within {bounds}",
        checks,
        "The paper does not give the width of the bands and eta. They were chosen to fit these values.",
    )


def _table_of_runs(runs: _Runs, cells: Cells) -> Table:
    return _table(
        f"Distance, {_title(runs)}: mean ± standard error of the runs",
        {key: mean_and_error(values) for key, values in cells.items()},
    )


def _table_of_data_sets(sampler: str, sets: DataSets, sweeps: int) -> Table:
    """Return a table of the means over data sets, without cells that have too few of them."""
    spreads = {key: _between(own) for key, own in sets.items()}
    return _table(
        f"Distance, {sampler} sampler, {_n_sets(sets)} data sets, after {sweeps} sweeps: mean ± standard"
        " deviation between data sets",
        {key: f"{_mean_of(sets[key]):.3f} ± {s:.3f}" for key, s in spreads.items() if not np.isnan(s)},
    )


def _table(title: str, cells: Mapping[Cell, str]) -> Table:
    """Return a table of the cells beside the paper's values."""
    documents = sorted({n for _, n in cells})
    rows = []
    for m in sorted({m for m, _ in cells}):
        row = [str(m)]
        for n in documents:
            paper = PAPER.get(m, {}).get(n)
            row += [cells.get((m, n), ""), "" if paper is None else f"{paper:.2f}"]
        rows.append(row)
    return Table(title, ["paths", *(head for n in documents for head in (f"{n} documents", "paper"))], rows)


def _describe(experiment: Table1) -> str:
    parts = "; ".join(_title(runs) for runs in experiment.runs)
    return f"Ten topics, alpha = eta = 1: {parts}. All m share the same documents."


def _title(runs: _Runs) -> str:
    *most, last = map(str, runs.data)
    sets = f"each of the data sets {', '.join(most)} and {last}" if most else f"data set {last}"
    times = f"{runs.n_runs} run{'s' if runs.n_runs > 1 else ''} of {runs.n_sweeps} sweeps"
    return f"{runs.sampler} sampler, {times} on {sets}"


# ---------------------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------------------


def _draw_topics(rows: Sequence[Row], runs: _Runs, n_documents: int, folder: Path) -> None:
    """Draw the true topics, and those found on the smallest corpus with the fewest and the most paths."""
    truth = band_data(n_documents, runs.data[0]).topics
    chosen = {
        row["paths"]: np.array(row["topics"])
        for row in rows
        if (row["sampler"], row["data"], row["documents"], row["run"])
        == (runs.sampler, runs.data[0], n_documents, 0)
    }
    panels = {"truth": truth}
    for m in sorted({min(chosen), max(chosen)}) if chosen else []:
        panels[f"m = {m}"] = nearest_topics(truth, chosen[m])
    figure, axes = figures.new_figure(len(panels), 1, 2.6, sharey=True)
    top = max(panel.max() for panel in panels.values())
    for axis, (title, panel) in zip(axes[0], panels.items(), strict=True):
        image = axis.imshow(panel, aspect="auto", cmap="Blues", vmin=0, vmax=top, interpolation="nearest")
        axis.set(title=title, xlabel="word", yticks=range(0, len(panel), 3))
        axis.spines[["top", "right"]].set_visible(True)
    axes[0][0].set_ylabel("topic")
    figure.colorbar(image, ax=axes[0].tolist(), label="probability")
    figures.save(figure, folder, "table1-topics")


def _draw_distances(sets: DataSets, folder: Path) -> None:
    figure, axes = figures.new_figure(height=3.6)
    axis = axes[0][0]
    documents = sorted({n for _, n in sets})
    for m in sorted({m for m, _ in sets}):
        own = [n for n in documents if (m, n) in sets]
        means = [_mean_of(sets[m, n]) for n in own]
        errors = np.nan_to_num([_between(sets[m, n]) for n in own])
        colour = _COLOURS.get(m, figures.GREY)
        axis.errorbar(own, means, errors, color=colour, marker="o", markersize=4, capsize=3, label=f"m = {m}")
        printed = [n for n in own if n in PAPER.get(m, {})]
        axis.plot(printed, [PAPER[m][n] for n in printed], "x", color=colour, markersize=8)
    axis.plot([], [], "x", color=figures.GREY, label="paper")
    axis.set(
        xscale="log",
        xticks=documents,
        xticklabels=[f"{n}" for n in documents],
        xlabel="documents",
        ylabel="distance to the true topics (L1)",
        ylim=(0, None),
    )
    axis.minorticks_off()
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    figures.save(figure, folder, "table1-distance")


def _draw_course(rows: Sequence[Row], runs: _Runs, folder: Path) -> None:
    """Draw the distance along the runs, one panel per number of documents."""
    own = [row for row in rows if row["sampler"] == runs.sampler and row["data"] == runs.data[0]]
    own = [row for row in own if row["sweeps"] == runs.n_sweeps]
    documents = sorted({row["documents"] for row in own})
    figure, axes = figures.new_figure(max(1, len(documents)), 1, 2.8, sharey=True)
    for axis, n in zip(axes[0], documents, strict=False):
        for m in sorted({row["paths"] for row in own}):
            courses = [row["course"] for row in own if row["documents"] == n and row["paths"] == m]
            for k, course in enumerate(courses):
                sweeps, values = zip(*course, strict=True)
                label = f"m = {m}" if k == 0 else None
                axis.plot(sweeps, values, color=_COLOURS.get(m, figures.GREY), linewidth=0.8, label=label)
        axis.set(title=f"{n} documents", xlabel="sweep", ylim=(0, None))
        axis.locator_params(axis="x", nbins=2)
    axes[0][0].set_ylabel("distance (L1)")
    figures.legend_above(figure, axes[0][0])
    figures.save(figure, folder, "table1-course")
