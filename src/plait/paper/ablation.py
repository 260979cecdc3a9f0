"""What the paper argues without showing it.

Power
    "Sample the pair (phi, p) from a law proportional to P(phi, p | w)^m, with a single path": the parameters
    are of no use, says the paper. `plait.paper.power` has that sampler; here it is beside m paths.

Equal compute
    m = 5 paths against five restarts, one chain five times as long, and means of samples.

More paths
    m from 1 to 20, by sweeps and by updates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.paper import figures
from plait.paper.bands import band_data, band_model, distance, distance_along, found_topics
from plait.paper.findings import Claim, Figure, Section, Table, mean_and_error, standard_error
from plait.paper.hmm import (
    SECONDS_A_MEASUREMENT,
    SECONDS_A_SITE,
    emission_distance,
    emissions_of,
    estimate,
    hard_data,
)
from plait.paper.power import PowerHmm, PowerLda
from plait.paper.results import Row
from plait.paper.work import Bench, Job
from plait.run import Run
from plait.sampler import Progress, resume, sample
from plait.threads import Threads

Floats = NDArray[np.float64]

_ONE_THREAD = Threads(1)


# ---------------------------------------------------------------------------------------------------------
# The experiment
# ---------------------------------------------------------------------------------------------------------

POWER, ONE, FIVE = "power", "one path", "five paths"
LONG, LATE = "five times the sweeps", "mean of five late samples"
BEST, NEAREST, MEAN = "best of five by likelihood", "nearest of five", "mean of five"

DATA_SEED: Final = 5
"""Of the documents: none that Table 1 has, so that this is evidence of its own."""

WORTH: Final = 0.05
"""A gain of less than this share is none worth having."""

_M: Final = 5  # paths, power, restarts
_SECONDS_A_TOKEN = {"collapsed": 33e-9, "partially collapsed": 65e-9}
_COLOURS = {ONE: figures.BLACK, FIVE: figures.BLUE, POWER: figures.RED}
_COLOURS_OF_PATHS = {
    1: figures.BLACK,
    2: figures.ORANGE,
    3: figures.GREEN,
    5: figures.BLUE,
    10: figures.PURPLE,
    20: figures.RED,
}
_LATE_SAMPLES = 5


Runs = Mapping[Any, Sequence[Row]]
Arms = Mapping[str, Sequence[float]]


class _Compared(NamedTuple):
    """The rows, sorted by what is compared.

    Attributes
    ----------
    hmm, lda : mapping
        Runs of the power and of what it is compared with, by kind.
    arms : mapping
        Distances at equal compute.
    paths : mapping
        Runs by number of documents and of paths.
    long : sequence of Row
        Runs of five times the sweeps.
    independent : float
        Log-likelihood of independent symbols above the truth.
    """

    hmm: Runs
    lda: Runs
    arms: Arms
    paths: Mapping[int, Runs]
    long: Sequence[Row]
    independent: float


@dataclass(frozen=True)
class Ablation:
    """The power of the law, equal compute, and more paths.

    Attributes
    ----------
    n_sites, switch
        Length of the hard sequence, and the probability to change state.
    power_sweeps : int
        Sweeps of the runs that are compared with the power.
    documents : sequence of int
        Sizes of the corpora; all but the comparison of numbers of paths takes the first only.
    paths : sequence of int
        Numbers of paths.
    n_runs : int
        Runs of each kind.
    n_sweeps : int
        Sweeps of the other runs.
    """

    name: ClassVar[str] = "ablation"

    n_sites: int
    switch: float
    power_sweeps: int
    documents: Sequence[int]
    paths: Sequence[int]
    n_runs: int
    n_sweeps: int

    def with_sweeps(self, n_sweeps: int) -> Ablation:
        """Return the experiment with another number of sweeps."""
        return replace(self, n_sweeps=n_sweeps, power_sweeps=n_sweeps)

    def jobs(self) -> list[Job]:
        """Return a job for each run; the restarts that belong together are one."""
        seeds = range(self.n_runs)
        jobs = [self._power_hmm(kind, seed) for seed in seeds for kind in (POWER, ONE, FIVE)]
        jobs += [self._power_lda(kind, seed) for seed in seeds for kind in (POWER, ONE, FIVE)]
        jobs += [make(seed) for seed in seeds for make in (self._restarts, self._long)]
        return jobs + [self._paths(n, m, seed) for n in self.documents for seed in seeds for m in self.paths]

    def _power_hmm(self, kind: str, seed: int) -> Job:
        settings = {
            "part": "power-hmm",
            "kind": kind,
            "seed": seed,
            "sites": self.n_sites,
            "switch": self.switch,
            "sweeps": self.power_sweeps,
        }
        rate = SECONDS_A_SITE["B5" if kind == FIVE else "B1"]
        every = _interval(self.power_sweeps)
        cost = self.n_sites * self.power_sweeps * (rate + 2 * SECONDS_A_MEASUREMENT / every)

        def work(bench: Bench) -> Mapping[str, Any]:
            data = hard_data(self.n_sites, self.switch)
            model = PowerHmm(data.blocked.emissions, power=_M) if kind == POWER else data.blocked

            def measure(progress: Progress) -> float:
                return data.above_truth(estimate(model, progress.state.paths))

            run, course = _sampled(bench, model, measure, self.power_sweeps, _M if kind == FIVE else 1, seed)
            found = estimate(model, run.paths)
            pair = float(data.blocked.log_joint(data.states, data.truth, _ONE_THREAD)[0])
            return {
                "above_truth": data.above_truth(found),
                "course": _listed(course),
                "pairs": _pairs(run, pair),
                "emission_distance": emission_distance(emissions_of(found), data.emissions),
                "emissions": np.round(emissions_of(found), 6).tolist(),
                "transitions": np.round(found.transitions, 6).tolist(),
            }

        return Job(self.name, settings, cost, work)

    def _power_lda(self, kind: str, seed: int) -> Job:
        n_documents = self.documents[0]
        settings = {
            "part": "power-lda",
            "kind": kind,
            "seed": seed,
            "data": DATA_SEED,
            "documents": n_documents,
            "sweeps": self.power_sweeps,
        }
        n_paths = _M if kind == FIVE else 1
        rate = _SECONDS_A_TOKEN["partially collapsed"]

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = PowerLda(truth.corpus, 10, 1.0, 1.0, power=_M) if kind == POWER else band_model(truth)
            measure = distance_along(model, truth)
            run, course = _sampled(bench, model, measure, self.power_sweeps, n_paths, seed)
            found = found_topics(model, run.paths)
            return {
                "distance": distance(truth.topics, found),
                "course": _listed(course),
                "pairs": _pairs(run),
                **({"topics": np.round(found, 5).tolist()} if seed == 0 else {}),
            }

        return Job(self.name, settings, 10 * n_documents * n_paths * self.power_sweeps * rate, work)

    def _collapsed(self, part: str, n_documents: int, n_paths: int, seed: int) -> tuple[Row, float]:
        """Return settings and cost of a job on the bands."""
        settings = {
            "part": part,
            "data": DATA_SEED,
            "documents": n_documents,
            "paths": n_paths,
            "seed": seed,
            "sweeps": self.n_sweeps,
        }
        return settings, 10 * n_documents * n_paths * self.n_sweeps * _SECONDS_A_TOKEN["collapsed"]

    def _restarts(self, seed: int) -> Job:
        """Make five runs; take the one with the highest log P(p, w | phi), the nearest, and the mean."""
        n_documents = self.documents[0]
        settings, cost = self._collapsed("restarts", n_documents, 1, seed)
        first = self.n_runs + _M * seed  # no seed that another run has
        settings |= {"first_seed": first}

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            runs = [
                bench.sample(
                    model,
                    n_sweeps=self.n_sweeps,
                    share=1 / _M,
                    n_paths=1,
                    seed=first + k,
                    collapsed=True,
                    thin=self.n_sweeps,
                )[0]
                for k in range(_M)
            ]
            topics = [found_topics(model, run.paths) for run in runs]
            scores = [float(run.trace.log_joint[-1, 0]) for run in runs]
            distances = [distance(truth.topics, found) for found in topics]
            return {
                "distances": distances,
                BEST: distances[int(np.argmax(scores))],
                NEAREST: min(distances),
                MEAN: distance(truth.topics, np.mean(topics, axis=0)),
            }

        return Job(self.name, settings, _M * cost, work)

    def _long(self, seed: int) -> Job:
        """Make one run of five times the sweeps, the last fifth of which gives five samples."""
        n_documents = self.documents[0]
        settings, cost = self._collapsed("long", n_documents, 1, seed)
        gap = max(1, self.n_sweeps // (_LATE_SAMPLES - 1))
        first = _M * self.n_sweeps - (_LATE_SAMPLES - 1) * gap

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            run, course = bench.sample(
                model,
                n_sweeps=first,
                share=first / (_M * self.n_sweeps),
                measure=distance_along(model, truth),
                every=_interval(self.n_sweeps),
                n_paths=1,
                seed=seed,
                collapsed=True,
                thin=first,
            )
            topics = [found_topics(model, run.paths)]
            for _ in range(_LATE_SAMPLES - 1):
                run = resume(run, n_sweeps=run.sweep + gap, n_jobs=1)
                topics.append(found_topics(model, run.paths))
                course[run.sweep] = distance(truth.topics, topics[-1])
                bench.advance(gap / (_M * self.n_sweeps))
            return {
                LONG: distance(truth.topics, topics[-1]),
                LATE: distance(truth.topics, np.mean(topics, axis=0)),
                "course": _listed(course),
            }

        return Job(self.name, settings, _M * cost, work)

    def _paths(self, n_documents: int, n_paths: int, seed: int) -> Job:
        settings, cost = self._collapsed("paths", n_documents, n_paths, seed)

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            run, course = bench.sample(
                model,
                n_sweeps=self.n_sweeps,
                measure=distance_along(model, truth),
                every=_interval(self.n_sweeps),
                n_paths=n_paths,
                seed=seed,
                collapsed=True,
                thin=self.n_sweeps,
            )
            return {
                "distance": distance(truth.topics, found_topics(model, run.paths)),
                "course": _listed(course),
            }

        return Job(self.name, settings, cost, work)

    def _compared(self, rows: Sequence[Row]) -> _Compared:
        hmm = _by(rows, "power-hmm", "kind")
        sizes = {n: [row for row in rows if row.get("documents") == n] for n in self.documents}
        return _Compared(
            hmm,
            _by(rows, "power-lda", "kind"),
            _arms(rows, self.documents[0]),
            {n: own for n, some in sizes.items() if (own := _by(some, "paths", "paths"))},
            _part(rows, "long"),
            hard_data(self.n_sites, self.switch).independent if hmm else 0.0,
        )

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return what the paper says, and what the rows say to it."""
        hmm, lda, arms, paths, _, independent = self._compared(rows)
        topics = band_data(self.documents[0], DATA_SEED).topics
        blind = distance(topics, np.full_like(topics, 1 / topics.shape[1]))
        return [
            _power_hmm_claim(hmm, independent),
            _power_lda_claim(lda, blind),
            _compute_claim(arms),
            _average_claim(arms),
            _paths_claim(paths),
            _many_paths_claim(paths),
        ]

    def tell(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the courses; compare the samplers."""
        hmm, lda, arms, paths, long, independent = self._compared(rows)
        shown = []
        if hmm:
            _draw_power_hmm(hmm, independent, folder)
            shown.append(
                Figure(
                    "ablation-power-hmm",
                    f"The law to the power of {_M} with one path, beside one and five paths; a line is a run."
                    " Left: the data log-likelihood of the parameters; the dotted line is a model of"
                    " independent symbols. Right: the log-likelihood of the pairs of parameters and path.",
                )
            )
        if lda:
            _draw_power_lda(lda, self.documents[0], folder)
            shown.append(
                Figure(
                    "ablation-power-lda",
                    "The same for topics: distance to the truth along the runs; the true topics, and for each"
                    " of them the nearest that the first run found.",
                )
            )
        if arms:
            _draw_arms(arms, folder)
            shown.append(
                Figure(
                    "ablation-compute",
                    "Distance to the true topics. A dot is a run, or a group of five; a line is a mean. All"
                    " but one path take the same work.",
                )
            )
        if paths:
            _draw_paths(next(iter(paths.values())), long, folder)
            _draw_sizes(paths, folder)
            first = next(iter(paths))
            shown += [
                Figure(
                    "ablation-paths",
                    f"Distance to the true topics, {first} documents, mean of the runs and their range: by"
                    " sweeps, and by the work done, which is sweeps times paths.",
                ),
                Figure(
                    "ablation-paths-final",
                    "Distance where the runs end, by the number of paths; bars are standard errors.",
                ),
            ]
        tables = []
        if arms:
            tables.append(_arms_table(arms))
        if paths:
            tables.append(_paths_table(paths, long, self.n_sweeps))
        return Section(
            "What the paper argues without showing",
            self._describe(),
            self.claims(rows),
            shown,
            tables,
            [
                "The paper has no figures of these: it argues them, or mentions them in a sentence.",
                "The power is compared with the samplers that, like it, draw phi: blocked for the sequence"
                " (plait's own), partially collapsed for topics. All else here is collapsed.",
                f"Sequence of {self.n_sites} symbols, states that change with probability {self.switch:g}."
                f" Topics: plait.datasets.bands, other documents than Table 1's (seed {DATA_SEED}), alpha ="
                " eta = 1.",
                f"Restarts have the seeds {self.n_runs} and on, five to a group.",
            ],
            sum(row["seconds"] for row in rows),
        )

    def _describe(self) -> str:
        sizes = ", ".join(map(str, self.documents))
        return (
            f"Power: {self.n_runs} runs of {self.power_sweeps} sweeps of each sampler, on N = {self.n_sites}"
            f" symbols and on {self.documents[0]} documents. Equal compute: {self.n_runs} runs of"
            f" {self.n_sweeps} sweeps with {_M} paths, and as many groups of what costs the same, on"
            f" {self.documents[0]} documents. More paths: m = {', '.join(map(str, self.paths))};"
            f" {self.n_runs} runs of {self.n_sweeps} sweeps each, on {sizes} documents."
        )


SCALES: Final = {
    "tiny": Ablation(
        n_sites=2000,
        switch=0.35,
        power_sweeps=12,
        documents=(60, 90),
        paths=(1, 5, 10),
        n_runs=2,
        n_sweeps=20,
    ),
    "quick": Ablation(
        n_sites=20_000,
        switch=0.35,
        power_sweeps=400,
        documents=(1500, 3000),
        paths=(1, 2, 3, 5, 10, 20),
        n_runs=4,
        n_sweeps=400,
    ),
    "paper": Ablation(
        n_sites=200_000,
        switch=0.45,
        power_sweeps=3000,
        documents=(1500, 3000, 6000, 9000),
        paths=(1, 2, 3, 5, 10, 20),
        n_runs=10,
        n_sweeps=10_000,
    ),
}


def _interval(n_sweeps: int) -> int:
    """Return the number of sweeps from one measurement to the next."""
    return max(1, n_sweeps // 100)


def _pairs(run: Run, zero: float = 0.0) -> list[list[float]]:
    """Return log P(p, w | phi) along a run, mean of the paths."""
    values = run.trace.log_joint.mean(axis=1) - zero
    return [[int(sweep), round(float(v), 3)] for sweep, v in zip(run.trace.sweep, values, strict=True)]


def _listed(course: Mapping[int, float]) -> list[list[float]]:
    return [[sweep, round(value, 4)] for sweep, value in sorted(course.items())]


def _sampled(
    bench: Bench,
    model: HmmModel | LdaModel,
    measure: Callable[[Progress], float],
    n_sweeps: int,
    n_paths: int,
    seed: int,
) -> tuple[Run, dict[int, float]]:
    """Run Algorithm 1, without a checkpoint: these runs are short, and a power is not kept in files."""
    course: dict[int, float] = {}
    every = _interval(n_sweeps)

    def follow(progress: Progress) -> None:
        sweep = progress.state.sweep
        if sweep % every == 0 or sweep == n_sweeps:
            course[sweep] = measure(progress)
        bench.advance(1 / n_sweeps)

    run = sample(model, n_paths=n_paths, n_sweeps=n_sweeps, seed=seed, thin=every, n_jobs=1, callback=follow)
    return run, course


# ---------------------------------------------------------------------------------------------------------
# What the runs show
# ---------------------------------------------------------------------------------------------------------


def _part(rows: Sequence[Row], part: str) -> list[Row]:
    return [row for row in rows if row["part"] == part]


def _by(rows: Sequence[Row], part: str, name: str) -> dict[Any, list[Row]]:
    """Return the rows of a part, by one of their settings."""
    own = _part(rows, part)
    values = dict.fromkeys(row[name] for row in own)
    return {value: [row for row in own if row[name] == value] for value in values}


def _arms(rows: Sequence[Row], n_documents: int) -> dict[str, list[float]]:
    """Return the distances of what is compared at equal compute."""
    paths = [row for row in _part(rows, "paths") if row["documents"] == n_documents]
    restarts, long = _part(rows, "restarts"), _part(rows, "long")
    arms = {
        ONE: [value for row in restarts for value in row["distances"]],
        LONG: [row[LONG] for row in long],
        LATE: [row[LATE] for row in long],
        BEST: [row[BEST] for row in restarts],
        NEAREST: [row[NEAREST] for row in restarts],
        MEAN: [row[MEAN] for row in restarts],
        FIVE: [row["distance"] for row in paths if row["paths"] == _M],
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


def _power_hmm_claim(runs: Runs, independent: float) -> Claim:
    text = (
        f"Sampling (phi, p) from P(phi, p | w)^{_M} with a single path finds probable pairs, but useless"
        " parameters: hidden Markov model."
    )
    if not _has_all(runs, (POWER, ONE, FIVE)):
        return Claim(text, "no number", "", {})
    power, one, five = (_median(runs[kind], "above_truth") for kind in (POWER, ONE, FIVE))
    pairs = {kind: _last_pair(runs[kind]) for kind in (POWER, FIVE)}
    far, near = (_median(runs[kind], "emission_distance") for kind in (POWER, FIVE))
    return Claim(
        text,
        "no number",
        f"data log-likelihood above the truth, medians: power {power:.1f}, one path {one:.1f}, five paths"
        f" {five:.1f}, independent symbols {independent:.1f}; log P(p, w | phi) above the truth's: power"
        f" {pairs[POWER]:.0f}, five paths {pairs[FIVE]:.0f}; L1 distance of the emissions: power {far:.2f},"
        f" five paths {near:.2f}",
        {
            "the power's pairs are more probable than those of five paths": pairs[POWER] > pairs[FIVE],
            "its parameters are less likely than those of one path": power < one,
            "its parameters are less likely than those of five paths": power < five,
            "they are hardly worth more than independent symbols (a tenth of the way to the truth at most)": (
                power < 0.9 * independent
            ),
        },
    )


def _power_lda_claim(runs: Runs, blind: float) -> Claim:
    text = f"The same for topics: parameters drawn from P(phi, p | w)^{_M} with a single path are useless."
    if not _has_all(runs, (POWER, ONE, FIVE)):
        return Claim(text, "no number", "", {})
    power, one, five = (_mean(runs[kind], "distance") for kind in (POWER, ONE, FIVE))
    pairs = {kind: _last_pair(runs[kind]) for kind in (POWER, FIVE)}
    still = sum(np.ptp(np.array(row["course"])[len(row["course"]) // 2 :, 1]) == 0 for row in runs[POWER])
    return Claim(
        text,
        "no number",
        f"distance to the true topics: power {power:.2f}, one path {one:.2f}, five paths {five:.2f}, topics"
        f" that are all uniform {blind:.2f}; log P(p, w | phi): power {pairs[POWER]:.0f}, five paths"
        f" {pairs[FIVE]:.0f}",
        {
            "the power's pairs are more probable than those of five paths": pairs[POWER] > pairs[FIVE],
            "its topics are farther from the truth than those of one path": power > one,
            "they are nearer to uniform topics' distance than to that of five paths": blind - power
            < power - five,
        },
        f"{still} of {len(runs[POWER])} runs of the power do not move any more in their second half: what"
        " they show is where such a sampler gets stuck, which need not be the best of its law.",
    )


def _compute_claim(arms: Arms) -> Claim:
    text = (
        "Five paths find more than five restarts, one chain of five times the length, or the mean of late"
        " samples of it."
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
    note = "The nearest of five is chosen by its distance to the truth: no choice among them could be better."
    return Claim(text, "no number", f"mean distance: {found}", checks, note)


def _average_claim(arms: Arms) -> Claim:
    text = "Results of independent samplers cannot be averaged: topics with one number are different topics."
    if not _has_all(arms, (ONE, MEAN)):
        return Claim(text, "no number", "", {})
    mean, one = (float(np.mean(arms[name])) for name in (MEAN, ONE))
    return Claim(
        text,
        "no number",
        f"mean distance: one path {one:.2f}, mean of five runs {mean:.2f}",
        {"the mean of five runs is farther than a single run": mean > one},
        "Late samples of one run can be averaged where the run does not change its numbering meanwhile.",
    )


def _distances(rows: Sequence[Row]) -> list[float]:
    return [row["distance"] for row in rows]


def _paths_claim(paths: Mapping[int, Runs]) -> Claim:
    checks = {}
    parts = []
    for n, runs in paths.items():
        few = sorted(m for m in runs if m <= _M)
        if len(few) > 1:
            means = [_mean(runs[m], "distance") for m in few]
            checks[f"{n} documents: the more paths, the nearer"] = all(b < a for a, b in pairwise(means))
            listed = ", ".join(f"m = {m} {mean:.2f}" for m, mean in zip(few, means, strict=True))
            parts.append(f"{n} documents: {listed}")
    text = f"More paths find topics nearer to the truth, up to m = {_M}."
    return Claim(text, "Table 1", "; ".join(parts), checks)


def _many_paths_claim(paths: Mapping[int, Runs]) -> Claim:
    text = f"More than {_M} paths improve further in some, but not all cases."
    gains = {}
    for n, runs in paths.items():
        for m in sorted(runs):
            if m > _M and _M in runs and min(len(runs[_M]), len(runs[m])) > 1:
                few = _mean(runs[_M], "distance")
                errors = [standard_error(_distances(runs[k])) for k in (_M, m)]
                # Welch: as many degrees of freedom as the two errors together have.
                freedom = sum(e**2 for e in errors) ** 2 / sum(
                    e**4 / (len(runs[k]) - 1) for e, k in zip(errors, (_M, m), strict=True)
                )
                gains[n, m] = few - _mean(runs[m], "distance"), math.hypot(*errors), freedom, WORTH * few
    if not gains:
        return Claim(text, "no number", "", {})
    chance = 0.025 / len(gains)  # of a case, so that it is 2.5 % for all together
    better = equal = 0
    for gain, error, freedom, worth in gains.values():
        bound = float(stats.t.isf(chance, freedom)) * error
        better += gain > bound
        equal += gain + bound < worth
    listed = "; ".join(
        f"{n} documents, m = {m}: {gain:+.3f} ± {error:.3f}" for (n, m), (gain, error, *_) in gains.items()
    )
    return Claim(
        text,
        "no number",
        f"gain over m = {_M}: {listed}; {better} of {len(gains)} cases are better, {equal} are not,"
        f" {len(gains) - better - equal} cannot be told",
        {
            "some cases are better (2.5% chance in all)": better > 0,
            f"some are not: the gain is less than {WORTH:.0%} (2.5% chance in all)": equal > 0,
        }
        if better or equal
        else {},
    )


def _arms_table(arms: Arms) -> Table:
    rows = []
    for name, values in arms.items():
        spread = f"{np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
        least, most = f"{min(values):.3f}", f"{max(values):.3f}"
        rows.append([name, f"{np.mean(values):.3f}", spread, least, most, str(len(values))])
    heads = ["", "mean distance", "standard deviation", "least", "most", "number"]
    return Table("Equal compute: distance to the true topics", heads, rows)


def _at(rows: Sequence[Row], sweep: float) -> float:
    """Return the mean distance at a sweep, of the last measurement until then."""
    values = []
    for row in rows:
        until = [value for at, value in row["course"] if at <= sweep]
        values.append(until[-1] if until else np.nan)
    return float(np.mean(values))


def _paths_table(paths: Mapping[int, Runs], long: Sequence[Row], n_sweeps: int) -> Table:
    """Compare numbers of paths after as many sweeps, and after as many updates."""
    sizes = list(paths)
    counts = sorted({m for runs in paths.values() for m in runs})
    work = _M * n_sweeps
    rows = []
    for m in counts:
        row = [str(m)]
        for n in sizes:
            own = paths[n].get(m, [])
            row.append(mean_and_error(_distances(own)) if own else "")
        first = paths[sizes[0]].get(m, [])
        longest = long if m == 1 else first if m >= _M else []
        row.append(f"{_at(longest, work / m):.3f}" if longest else "")
        row.append(f"{_mean(first, 'seconds'):.1f}" if first else "")
        rows.append(row)
    heads = ["paths", *(f"{n} documents" for n in sizes)]
    heads += [f"{sizes[0]} documents, {work} updates a token", f"seconds a run ({sizes[0]} documents)"]
    return Table(f"More paths: distance after {n_sweeps} sweeps, and after equal work", heads, rows)


# ---------------------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------------------


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
    room = 0.06 * (max(late) - lowest) + 1.0
    left.set(
        xscale="log",
        xlabel="sweep",
        ylabel="log P(w | φ)\nabove the truth (nats)",
        ylim=(min(lowest, independent) - room, max(0.0, *late) + room),
        title="parameters",
    )
    right.set(xscale="log", xlabel="sweep", ylabel="log P(p, w | φ)\nabove the truth (nats)", title="pairs")
    _plain_ticks(left, right)
    _share_legend(figure, left)
    figures.save(figure, folder, "ablation-power-hmm")


def _share_legend(figure: Any, axis: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside upper center", ncols=len(labels), columnspacing=1.4, handlelength=1.4
    )
    for line in legend.get_lines():
        line.set_linewidth(2)


def _plain_ticks(*axes: Any) -> None:
    """Write 10 and 100 along a logarithmic axis of sweeps, not powers of ten."""
    for axis in axes:
        axis.xaxis.set_major_formatter("{x:g}")


def _draw_power_lda(runs: Runs, n_documents: int, folder: Path) -> None:
    truth = band_data(n_documents, DATA_SEED).topics
    panels = {"truth": truth}
    for kind, rows in runs.items():
        for row in rows:
            if "topics" in row:
                found = np.array(row["topics"])
                panels[kind] = found[np.abs(truth[:, None] - found[None]).sum(axis=2).argmin(axis=1)]
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
    _share_legend(figure, axis)
    figures.save(figure, folder, "ablation-power-lda")


_WRAPPED = {
    ONE: "one\npath",
    LONG: "5 times\nthe sweeps",
    LATE: "mean of 5\nlate\nsamples",
    BEST: "best of 5\n(likelihood)",
    NEAREST: "nearest\nof 5",
    MEAN: "mean of 5\nruns",
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
    right.set(xscale="log", xlabel="updates a token (sweeps × paths)")
    _plain_ticks(left, right)
    _share_legend(figure, left)
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
