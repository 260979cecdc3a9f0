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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from plait.fitting.stored import resume
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.paper.ablation_findings import (
    BEST,
    DATA_SEED,
    FIVE,
    LATE,
    LONG,
    MEAN,
    N_PATHS,
    NEAREST,
    ONE,
    POWER,
    Compared,
    claims_of,
    compare,
    figures_of,
    tables_of,
)
from plait.paper.bands import (
    PRIOR,
    SECONDS_AN_UPDATE,
    WIDTH,
    band_data,
    band_model,
    distance,
    distance_along,
    found_topics,
)
from plait.paper.findings import Claim, Section
from plait.paper.hard import (
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
from plait.sampler import Progress, sample
from plait.threads import Threads

_ONE_THREAD = Threads(1)
_LATE_SAMPLES = 5


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
            model = PowerHmm(data.blocked.emissions, power=N_PATHS) if kind == POWER else data.blocked

            def measure(progress: Progress) -> float:
                return data.above_truth(estimate(model, progress.state.paths))

            run, course = _sampled(
                bench, model, measure, self.power_sweeps, N_PATHS if kind == FIVE else 1, seed
            )
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
            "width": WIDTH,
            "documents": n_documents,
            "sweeps": self.power_sweeps,
        }
        n_paths = N_PATHS if kind == FIVE else 1
        rate = SECONDS_AN_UPDATE["partially collapsed"]

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = (
                PowerLda(truth.corpus, len(truth.topics), PRIOR, PRIOR, power=N_PATHS)
                if kind == POWER
                else band_model(truth)
            )
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
            "width": WIDTH,
            "documents": n_documents,
            "paths": n_paths,
            "seed": seed,
            "sweeps": self.n_sweeps,
        }
        return settings, 10 * n_documents * n_paths * self.n_sweeps * SECONDS_AN_UPDATE["collapsed"]

    def _restarts(self, seed: int) -> Job:
        """Make five runs; take the one with the highest log P(p, w | phi), the nearest, and the mean."""
        n_documents = self.documents[0]
        settings, cost = self._collapsed("restarts", n_documents, 1, seed)
        first = self.n_runs + N_PATHS * seed  # no seed that another run has
        settings |= {"first_seed": first}

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            runs = [
                bench.sample(
                    model,
                    n_sweeps=self.n_sweeps,
                    share=1 / N_PATHS,
                    n_paths=1,
                    seed=first + k,
                    collapsed=True,
                    thin=self.n_sweeps,
                )[0]
                for k in range(N_PATHS)
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

        return Job(self.name, settings, N_PATHS * cost, work)

    def _long(self, seed: int) -> Job:
        """Make one run of five times the sweeps, the last fifth of which gives five samples."""
        n_documents = self.documents[0]
        settings, cost = self._collapsed("long", n_documents, 1, seed)
        gap = max(1, self.n_sweeps // (_LATE_SAMPLES - 1))
        first = N_PATHS * self.n_sweeps - (_LATE_SAMPLES - 1) * gap

        def work(bench: Bench) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            run, course = bench.sample(
                model,
                n_sweeps=first,
                share=first / (N_PATHS * self.n_sweeps),
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
                bench.advance(gap / (N_PATHS * self.n_sweeps))
            return {
                LONG: distance(truth.topics, topics[-1]),
                LATE: distance(truth.topics, np.mean(topics, axis=0)),
                "course": _listed(course),
            }

        return Job(self.name, settings, N_PATHS * cost, work)

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

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return what the paper says, and what the rows say to it."""
        return claims_of(self._compared(rows))

    def _compared(self, rows: Sequence[Row]) -> Compared:
        return compare(rows, self.documents, hard_data(self.n_sites, self.switch))

    def tell(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the courses; compare the samplers."""
        compared, paper = self._compared(rows), SCALES["paper"]
        return Section(
            "What the paper argues without showing",
            self._describe(),
            claims_of(compared),
            figures_of(compared, folder),
            tables_of(compared, self.n_sweeps),
            [
                "The paper has no figures of these: it argues them, or mentions them in a sentence.",
                "The power is compared with the samplers that, like it, draw phi: blocked for the sequence"
                " (plait's own), partially collapsed for topics. All else here is collapsed.",
                f"Sequence of {self.n_sites} symbols, states that change with probability {self.switch:g}."
                f" Topics: plait.datasets.bands, other documents than Table 1's (seed {DATA_SEED}), alpha ="
                " eta = 1.",
                f"Restarts have the seeds {self.n_runs} and on, five to a group.",
                *(
                    [f"Runs of {self.n_sweeps} sweeps; in the paper, those of Table 1 have {paper.n_sweeps}."]
                    if self.n_sweeps != paper.n_sweeps
                    else []
                ),
                *(
                    [f"The paper's sequence has {paper.n_sites} symbols, and changes with {paper.switch:g}."]
                    if (self.n_sites, self.switch) != (paper.n_sites, paper.switch)
                    else []
                ),
            ],
            sum(row["seconds"] for row in rows),
        )

    def _describe(self) -> str:
        sizes = ", ".join(map(str, self.documents))
        return (
            f"Power: {self.n_runs} runs of {self.power_sweeps} sweeps of each sampler, on N = {self.n_sites}"
            f" symbols and on {self.documents[0]} documents. Equal compute: {self.n_runs} runs of"
            f" {self.n_sweeps} sweeps with {N_PATHS} paths, and as many groups of what costs the same, on"
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
