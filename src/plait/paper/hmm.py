"""A hidden Markov model that is hard to learn: the paper's section on HMMs and its figures.

Collapsed (C), single-site (PC) and blocked (B) samplers with one and five paths, and Baum-Welch (BW), all run
on the same sequence from the same random initial parameters. The measure is the data log-likelihood
log P(w | phi) minus that of the true parameters, in nats; phi is its mean given the paths.

A run fluctuates some nats below a local maximum, and the more paths it has, the closer it stays. So a few
iterations of EM follow every run: they show which maximum it has found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from plait.models.chain import HmmParameters
from plait.paper.findings import Claim, Section
from plait.paper.hard import (
    EM,
    SAMPLERS,
    SECONDS_PER_MEASUREMENT,
    SECONDS_PER_SITE,
    HardData,
    emissions_of,
    hard_data,
)
from plait.paper.hmm_findings import claims_of, figures_of, tables_of
from plait.paper.internals import estimate_parameters, initial_parameters, run_em
from plait.paper.results import Row
from plait.paper.work import Job, JobContext
from plait.sampler import Progress

_EM_GAIN = 1e-5  # nats per iteration: EM stops when it gains less
_POLISH_GAIN = 1e-4  # after a sampler, EM need not leave the plateau first, where gains are small


@dataclass(frozen=True)
class HmmExperiment:
    """Runs of all samplers and of Baum-Welch.

    Attributes
    ----------
    n_sites : int
        Length of the sequence (N).
    switch : float
        Probability of a change of state.
    n_runs : int
        Runs of each sampler.
    n_sweeps : int
        Sweeps of each run.
    every : int
        Sweeps from one measurement of the likelihood to the next.
    em_iterations : int
        Maximum number of iterations of Baum-Welch.
    polish_iterations : int
        Maximum number of iterations of EM after a sampler.
    """

    name: ClassVar[str] = "hmm"

    n_sites: int
    switch: float
    n_runs: int
    n_sweeps: int
    every: int
    em_iterations: int
    polish_iterations: int

    def with_sweeps(self, n_sweeps: int) -> HmmExperiment:
        """Return the experiment with another number of sweeps."""
        return replace(self, n_sweeps=n_sweeps, every=max(1, min(self.every, n_sweeps // 50)))

    def jobs(self) -> list[Job]:
        """Return one job per run, seed by seed, so that an unfinished experiment compares like with like."""
        return [self._job(sampler, seed) for seed in range(self.n_runs) for sampler in (*SAMPLERS, EM)]

    def _job(self, sampler: str, seed: int) -> Job:
        settings = {"sampler": sampler, "seed": seed, "sites": self.n_sites, "switch": self.switch}
        if sampler == EM:
            cost = self.n_sites * self.em_iterations * SECONDS_PER_SITE[EM]
            settings |= {"iterations": self.em_iterations}
            return Job(self.name, settings, cost, lambda context: self._baum_welch(context, seed))
        settings |= {"sweeps": self.n_sweeps, "every": self.every, "iterations": self.polish_iterations}
        measuring = SECONDS_PER_MEASUREMENT / self.every
        sampling = self.n_sites * self.n_sweeps * (SECONDS_PER_SITE[sampler] + measuring)
        polishing = self.n_sites * self.polish_iterations * SECONDS_PER_SITE[EM]
        share = polishing / (sampling + polishing)

        def work(context: JobContext) -> Mapping[str, Any]:
            return self._sample(context, sampler, seed, share)

        return Job(self.name, settings, sampling + polishing, work)

    def _sample(self, context: JobContext, sampler: str, seed: int, polishing: float) -> Mapping[str, Any]:
        data = hard_data(self.n_sites, self.switch)
        method, n_paths = SAMPLERS[sampler]
        model = data.single_site if method == "single-site" else data.blocked

        def measure(progress: Progress) -> float:
            return data.above_truth(estimate_parameters(model, progress.state.paths))

        run, course = context.sample(
            model,
            n_sweeps=self.n_sweeps,
            share=1.0 - polishing,
            measure=measure,
            every=self.every,
            n_paths=n_paths,
            seed=seed,
            collapsed=method == "collapsed",
            thin=self.n_sweeps,
        )
        parameters = estimate_parameters(model, run.paths)
        top, made = _maximise(context, data, parameters, self.polish_iterations, _POLISH_GAIN, polishing)
        return _result(data, parameters) | {
            "course": [[sweep, round(value, 3)] for sweep, value in sorted(course.items())],
            "polished": data.above_truth(top),
            "made": made,
        }

    def _baum_welch(self, context: JobContext, seed: int) -> Mapping[str, Any]:
        """Run Baum-Welch from the parameters at which the samplers with this seed start."""
        data = hard_data(self.n_sites, self.switch)
        start = initial_parameters(data.blocked, seed)
        parameters, n_iterations = _maximise(context, data, start, self.em_iterations, _EM_GAIN, 1.0)
        result = _result(data, parameters)
        return result | {"polished": result["above_truth"], "made": n_iterations}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return the paper's claims, checked against the rows."""
        return claims_of(rows, hard_data(self.n_sites, self.switch))

    def report(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the paper's three figures and compare the samplers."""
        data = hard_data(self.n_sites, self.switch)
        return Section(
            "Hidden Markov models",
            self._describe(),
            self.claims(rows),
            figures_of(rows, data, folder),
            tables_of(rows, data),
            self._differences(),
            sum(row["seconds"] for row in rows),
        )

    def _describe(self) -> str:
        return (
            f"Two states that switch with probability {self.switch:g}, ten symbols, N = {self.n_sites}. Each"
            f" sampler has {self.n_runs} runs of {self.n_sweeps} sweeps; the likelihood is measured every"
            f" {self.every} sweeps. At most {self.polish_iterations} iterations of EM follow each run."
            f" Baum-Welch: at most {self.em_iterations} iterations from the same initial parameters."
        )

    def _differences(self) -> list[str]:
        paper = SCALES["paper"]
        differences = [
            "The paper shows its emissions only in a figure. Here they are those of plait.datasets.hard_hmm:"
            " proportional to 1 + 0.8 cos(2 pi x / 10) and 1 - 0.8 cos(2 pi x / 10).",
            "For all samplers, the likelihood is that of the mean of phi given the paths. The paper does not"
            " say whether it measured a draw of phi or the mean.",
            "The initial paths are drawn given random parameters whose states tend to stay. Independent"
            " random states would start on the plateau; the paper only says 'at random'.",
            f"Baum-Welch starts at the same {self.n_runs} random parameters. The paper shows one solution and"
            " does not say how it was initialised. The blocked samplers are plait's addition.",
        ]
        if self.n_sweeps != paper.n_sweeps or self.n_runs != paper.n_runs:
            differences.append(
                f"Here {self.n_runs} runs of {self.n_sweeps} sweeps; in the paper {paper.n_runs} of"
                f" {paper.n_sweeps}."
            )
        if (self.n_sites, self.switch) != (paper.n_sites, paper.switch):
            differences.append(
                f"Here N = {self.n_sites} and states switch with probability {self.switch:g}; in the paper"
                f" {paper.n_sites} and {paper.switch:g}. The sequence is shorter, but its states last longer,"
                " so it holds about as much information about the chain. These sizes were chosen after trying"
                " several, so that runs of C1 and C5 settle within the sweeps."
            )
        return differences


SCALES: Final = {
    "tiny": HmmExperiment(
        n_sites=2000, switch=0.35, n_runs=2, n_sweeps=20, every=1, em_iterations=30, polish_iterations=10
    ),
    "quick": HmmExperiment(
        n_sites=20_000,
        switch=0.35,
        n_runs=16,
        n_sweeps=600,
        every=10,
        em_iterations=1500,
        polish_iterations=600,
    ),
    "paper": HmmExperiment(
        n_sites=200_000,
        switch=0.45,
        n_runs=16,
        n_sweeps=200_000,
        every=100,
        em_iterations=5000,
        polish_iterations=2000,
    ),
}


def _maximise(
    context: JobContext, data: HardData, start: HmmParameters, most: int, least_gain: float, share: float
) -> tuple[HmmParameters, int]:
    """Return the parameters at which EM ends, and the number of iterations it took."""
    course: list[float] = []

    def report(log_likelihood: float) -> bool:
        course.append(log_likelihood)
        context.advance(share / most)
        return len(course) > 1 and course[-1] - course[-2] < least_gain

    return run_em(data.blocked, start, most, report), len(course)


def _result(data: HardData, parameters: HmmParameters) -> dict[str, Any]:
    return {
        "above_truth": data.above_truth(parameters),
        "emissions": np.round(emissions_of(parameters), 6).tolist(),
        "transitions": np.round(parameters.transitions, 6).tolist(),
    }
