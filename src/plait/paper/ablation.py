"""Claims that the paper makes without experiments.

Power
    Sample the pair (phi, p) with a single path from a distribution proportional to P(phi, p | w)^m. The paper
    says that the parameters are useless. Here that sampler (`plait.paper.power`) is compared with m paths.

Equal compute
    m = 5 paths against five restarts, one chain five times as long, and averages of samples.

More paths
    m from 1 to 20, at equal sweeps and at equal work.
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
    Comparison,
    claims_of,
    compare,
    figures_of,
    tables_of,
)
from plait.paper.bands import (
    PRIOR,
    SECONDS_PER_UPDATE,
    WIDTH,
    band_data,
    band_model,
    distance,
    distance_along,
)
from plait.paper.findings import Claim, Section
from plait.paper.hard import (
    SECONDS_PER_MEASUREMENT,
    SECONDS_PER_SITE,
    emission_distance,
    emissions_of,
    hard_data,
)
from plait.paper.internals import estimate_parameters, estimate_topics, log_joint
from plait.paper.power import PowerHmm, PowerLda
from plait.paper.results import Row
from plait.paper.work import Job, JobContext
from plait.run import Run
from plait.sampler import Progress, sample

_LATE_SAMPLES = 5


@dataclass(frozen=True)
class Ablation:
    """The power of the posterior, equal compute, and more paths.

    Attributes
    ----------
    n_sites, switch
        Length of the hard sequence, and the probability of a change of state.
    power_sweeps : int
        Sweeps of the runs of the power and of those it is compared with.
    documents : sequence of int
        Sizes of the corpora; only the comparison of numbers of paths uses all of them.
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
        """Return one job per run; five restarts that are compared with one another are one job."""
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
        rate = SECONDS_PER_SITE["B5" if kind == FIVE else "B1"]
        every = _interval(self.power_sweeps)
        cost = self.n_sites * self.power_sweeps * (rate + 2 * SECONDS_PER_MEASUREMENT / every)

        def work(context: JobContext) -> Mapping[str, Any]:
            data = hard_data(self.n_sites, self.switch)
            model = PowerHmm(data.blocked.emissions, power=N_PATHS) if kind == POWER else data.blocked

            def measure(progress: Progress) -> float:
                return data.above_truth(estimate_parameters(model, progress.state.paths))

            run, course = _sample(
                context, model, measure, self.power_sweeps, N_PATHS if kind == FIVE else 1, seed
            )
            found = estimate_parameters(model, run.paths)
            pair = log_joint(data.blocked, data.states, data.truth)
            return {
                "above_truth": data.above_truth(found),
                "course": _as_list(course),
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
        rate = SECONDS_PER_UPDATE["partially collapsed"]

        def work(context: JobContext) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = (
                PowerLda(truth.corpus, len(truth.topics), PRIOR, PRIOR, power=N_PATHS)
                if kind == POWER
                else band_model(truth)
            )
            measure = distance_along(model, truth)
            run, course = _sample(context, model, measure, self.power_sweeps, n_paths, seed)
            found = estimate_topics(model, run.paths)
            return {
                "distance": distance(truth.topics, found),
                "course": _as_list(course),
                "pairs": _pairs(run),
                **({"topics": np.round(found, 5).tolist()} if seed == 0 else {}),
            }

        return Job(self.name, settings, 10 * n_documents * n_paths * self.power_sweeps * rate, work)

    def _collapsed(self, part: str, n_documents: int, n_paths: int, seed: int) -> tuple[Row, float]:
        """Return the settings and the cost of a job on the synthetic topics."""
        settings = {
            "part": part,
            "data": DATA_SEED,
            "width": WIDTH,
            "documents": n_documents,
            "paths": n_paths,
            "seed": seed,
            "sweeps": self.n_sweeps,
        }
        return settings, 10 * n_documents * n_paths * self.n_sweeps * SECONDS_PER_UPDATE["collapsed"]

    def _restarts(self, seed: int) -> Job:
        """Make five runs, and pick the most likely by log P(p, w | phi), the nearest, and their mean."""
        n_documents = self.documents[0]
        settings, cost = self._collapsed("restarts", n_documents, 1, seed)
        first = self.n_runs + N_PATHS * seed  # seeds that no other run uses
        settings |= {"first_seed": first}

        def work(context: JobContext) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            runs = [
                context.sample(
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
            topics = [estimate_topics(model, run.paths) for run in runs]
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
        """Make one run with five times the sweeps, and take five samples from its last fifth."""
        n_documents = self.documents[0]
        settings, cost = self._collapsed("long", n_documents, 1, seed)
        gap = max(1, self.n_sweeps // (_LATE_SAMPLES - 1))
        first = N_PATHS * self.n_sweeps - (_LATE_SAMPLES - 1) * gap

        def work(context: JobContext) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            run, course = context.sample(
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
            topics = [estimate_topics(model, run.paths)]
            for _ in range(_LATE_SAMPLES - 1):
                run = resume(run, n_sweeps=run.sweep + gap, n_jobs=1)
                topics.append(estimate_topics(model, run.paths))
                course[run.sweep] = distance(truth.topics, topics[-1])
                context.advance(gap / (N_PATHS * self.n_sweeps))
            return {
                LONG: distance(truth.topics, topics[-1]),
                LATE: distance(truth.topics, np.mean(topics, axis=0)),
                "course": _as_list(course),
            }

        return Job(self.name, settings, N_PATHS * cost, work)

    def _paths(self, n_documents: int, n_paths: int, seed: int) -> Job:
        settings, cost = self._collapsed("paths", n_documents, n_paths, seed)

        def work(context: JobContext) -> Mapping[str, Any]:
            truth = band_data(n_documents, DATA_SEED)
            model = band_model(truth)
            run, course = context.sample(
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
                "distance": distance(truth.topics, estimate_topics(model, run.paths)),
                "course": _as_list(course),
            }

        return Job(self.name, settings, cost, work)

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return the paper's claims, checked against the rows."""
        return claims_of(self._compare(rows))

    def _compare(self, rows: Sequence[Row]) -> Comparison:
        return compare(rows, self.documents, hard_data(self.n_sites, self.switch))

    def report(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the runs over time, and compare the samplers."""
        comparison, paper = self._compare(rows), SCALES["paper"]
        return Section(
            "What the paper argues without showing",
            self._describe(),
            claims_of(comparison),
            figures_of(comparison, folder),
            tables_of(comparison, self.n_sweeps),
            [
                "The paper has no figures for these claims: it argues for them, or mentions them in a"
                " sentence.",
                "The power is compared with samplers that also draw phi: blocked for the sequence (plait's"
                " own), partially collapsed for topics. All other runs here are collapsed.",
                f"The sequence has {self.n_sites} symbols, and states switch with probability"
                f" {self.switch:g}. The topics are plait.datasets.bands with other documents than in Table 1"
                f" (seed {DATA_SEED}) and alpha = eta = 1.",
                f"Restarts have seeds from {self.n_runs} on, five per group.",
                *(
                    [
                        f"Here runs have {self.n_sweeps} sweeps; in the paper's Table 1 they have"
                        f" {paper.n_sweeps}."
                    ]
                    if self.n_sweeps != paper.n_sweeps
                    else []
                ),
                *(
                    [
                        f"The paper's sequence has {paper.n_sites} symbols, and states switch with"
                        f" probability {paper.switch:g}."
                    ]
                    if (self.n_sites, self.switch) != (paper.n_sites, paper.switch)
                    else []
                ),
            ],
            sum(row["seconds"] for row in rows),
        )

    def _describe(self) -> str:
        sizes = ", ".join(map(str, self.documents))
        return (
            f"Power: {self.n_runs} runs of {self.power_sweeps} sweeps with each sampler, on N ="
            f" {self.n_sites} symbols and on {self.documents[0]} documents. Equal compute: {self.n_runs} runs"
            f" of {self.n_sweeps} sweeps with {N_PATHS} paths, and as many repetitions of each alternative"
            f" that costs the same, on {self.documents[0]} documents. More paths:"
            f" m = {', '.join(map(str, self.paths))}; {self.n_runs} runs of {self.n_sweeps} sweeps each, on"
            f" {sizes} documents."
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
    """Return log P(p, w | phi) along a run, averaged over the paths."""
    values = run.trace.log_joint.mean(axis=1) - zero
    return [[int(sweep), round(float(v), 3)] for sweep, v in zip(run.trace.sweep, values, strict=True)]


def _as_list(course: Mapping[int, float]) -> list[list[float]]:
    return [[sweep, round(value, 4)] for sweep, value in sorted(course.items())]


def _sample(
    context: JobContext,
    model: HmmModel | LdaModel,
    measure: Callable[[Progress], float],
    n_sweeps: int,
    n_paths: int,
    seed: int,
) -> tuple[Run, dict[int, float]]:
    """Run Algorithm 1 without a checkpoint: these runs are short, and the power cannot be saved."""
    course: dict[int, float] = {}
    every = _interval(n_sweeps)

    def follow(progress: Progress) -> None:
        sweep = progress.state.sweep
        if sweep % every == 0 or sweep == n_sweeps:
            course[sweep] = measure(progress)
        context.advance(1 / n_sweeps)

    run = sample(model, n_paths=n_paths, n_sweeps=n_sweeps, seed=seed, thin=every, n_jobs=1, callback=follow)
    return run, course
