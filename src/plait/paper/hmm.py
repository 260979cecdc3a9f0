"""A hidden Markov model that is hard to learn: the paper's section on HMMs and its figures.

Collapsed (C), single-site (PC) and blocked (B) samplers with one and five paths, and Baum-Welch (BW), all
from the same random beginnings on the same sequence. What is measured is the data log-likelihood
log P(w | phi) above that of the true parameters, in nats; phi is its mean given the paths.

A run lies some nats below the maximum about which it moves, the fewer the more paths there are. So every run
is followed by a few iterations of EM, too: where these end tells which maximum it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from plait.em import maximise
from plait.models.chain import HmmParameters
from plait.models.model import Key
from plait.paper.findings import Claim, Section
from plait.paper.hard import (
    EM,
    SAMPLERS,
    SECONDS_A_MEASUREMENT,
    SECONDS_A_SITE,
    HardData,
    emissions_of,
    estimate,
    hard_data,
)
from plait.paper.hmm_findings import claims_of, figures_of, tables_of
from plait.paper.results import Row
from plait.paper.work import Bench, Job
from plait.rng import INITIAL
from plait.sampler import Progress
from plait.threads import Threads

_EM_GAIN = 1e-5  # nats an iteration: EM ends when it gains less
_POLISHED = 1e-4  # the same after a sampler, whose solution is no plateau that must be left first
_ONE_THREAD = Threads(1)


@dataclass(frozen=True)
class HmmExperiment:
    """Runs of all samplers and of Baum-Welch.

    Attributes
    ----------
    n_sites : int
        Length of the sequence (N).
    switch : float
        Probability that the state changes.
    n_runs : int
        Runs of each sampler.
    n_sweeps : int
        Sweeps of each run.
    every : int
        Sweeps from one measurement of the likelihood to the next.
    em_iterations : int
        The most iterations of Baum-Welch.
    polish_iterations : int
        The most iterations of EM that follow a sampler.
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
        """Return a job for each run, seed by seed: an unfinished experiment compares like with like."""
        return [self._job(sampler, seed) for seed in range(self.n_runs) for sampler in (*SAMPLERS, EM)]

    def _job(self, sampler: str, seed: int) -> Job:
        settings = {"sampler": sampler, "seed": seed, "sites": self.n_sites, "switch": self.switch}
        if sampler == EM:
            cost = self.n_sites * self.em_iterations * SECONDS_A_SITE[EM]
            settings |= {"iterations": self.em_iterations}
            return Job(self.name, settings, cost, lambda bench: self._climb(bench, seed))
        settings |= {"sweeps": self.n_sweeps, "every": self.every, "iterations": self.polish_iterations}
        measuring = SECONDS_A_MEASUREMENT / self.every
        sampling = self.n_sites * self.n_sweeps * (SECONDS_A_SITE[sampler] + measuring)
        polishing = self.n_sites * self.polish_iterations * SECONDS_A_SITE[EM]
        share = polishing / (sampling + polishing)
        return Job(
            self.name, settings, sampling + polishing, lambda bench: self._sample(bench, sampler, seed, share)
        )

    def _sample(self, bench: Bench, sampler: str, seed: int, polishing: float) -> Mapping[str, Any]:
        data = hard_data(self.n_sites, self.switch)
        method, n_paths = SAMPLERS[sampler]
        model = data.single_site if method == "single-site" else data.blocked

        def measure(progress: Progress) -> float:
            return data.above_truth(estimate(model, progress.state.paths))

        run, course = bench.sample(
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
        parameters = estimate(model, run.paths)
        top, made = _maximum(bench, data, parameters, self.polish_iterations, _POLISHED, polishing)
        return _result(data, parameters) | {
            "course": [[sweep, round(value, 3)] for sweep, value in sorted(course.items())],
            "polished": data.above_truth(top),
            "made": made,
        }

    def _climb(self, bench: Bench, seed: int) -> Mapping[str, Any]:
        """Run Baum-Welch from where the samplers of this seed begin."""
        data = hard_data(self.n_sites, self.switch)
        begin = data.blocked.first_parameters(Key(seed, INITIAL))
        parameters, n_iterations = _maximum(bench, data, begin, self.em_iterations, _EM_GAIN, 1.0)
        result = _result(data, parameters)
        return result | {"polished": result["above_truth"], "made": n_iterations}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Return what the paper says, and what the rows say to it."""
        return claims_of(rows, hard_data(self.n_sites, self.switch))

    def tell(self, rows: Sequence[Row], folder: Path) -> Section:
        """Draw the paper's three figures; compare the samplers."""
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
            f"Two states that change with probability {self.switch:g}, ten symbols, N = {self.n_sites};"
            f" {self.n_runs} runs of {self.n_sweeps} sweeps of each sampler, the likelihood measured every"
            f" {self.every} sweeps. Each run is followed by at most {self.polish_iterations} iterations of"
            f" EM. Baum-Welch: at most {self.em_iterations} iterations, from the same beginnings."
        )

    def _differences(self) -> list[str]:
        paper = SCALES["paper"]
        differences = [
            "The paper shows its emissions only in a figure. Here they are those of plait.datasets.hard_hmm:"
            " proportional to 1 + 0.8 cos(2 pi x / 10) and 1 - 0.8 cos(2 pi x / 10).",
            "The likelihood is that of the mean of phi given the paths, for all samplers; of what phi the"
            " paper measured it, a draw or the mean, it does not say.",
            "Paths begin as draws given random parameters whose states tend to stay, not as independent"
            " random states, which would be on the plateau; the paper says only 'at random'.",
            f"Baum-Welch begins at the same {self.n_runs} random parameters; the paper shows one solution"
            " and does not say how it was begun. The blocked samplers are plait's addition.",
        ]
        if self.n_sweeps != paper.n_sweeps or self.n_runs != paper.n_runs:
            differences.append(
                f"{self.n_runs} runs of {self.n_sweeps} sweeps; in the paper {paper.n_runs} of"
                f" {paper.n_sweeps}."
            )
        if (self.n_sites, self.switch) != (paper.n_sites, paper.switch):
            differences.append(
                f"N = {self.n_sites} and a probability of {self.switch:g} to change state; in the paper"
                f" {paper.n_sites} and {paper.switch:g}. The shorter sequence, whose states last longer, says"
                " about as much of its chain. These sizes were chosen, after trying several, so that runs of"
                " C1 and C5 settle within the sweeps."
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


def _maximum(
    bench: Bench, data: HardData, begin: HmmParameters, most: int, least_gain: float, share: float
) -> tuple[HmmParameters, int]:
    """Return where EM ends, and how many iterations it made."""
    course: list[float] = []

    def report(log_likelihood: float) -> bool:
        course.append(log_likelihood)
        bench.advance(share / most)
        return len(course) > 1 and course[-1] - course[-2] < least_gain

    return maximise(data.blocked, begin, most, report, _ONE_THREAD), len(course)


def _result(data: HardData, parameters: HmmParameters) -> dict[str, Any]:
    return {
        "above_truth": data.above_truth(parameters),
        "emissions": np.round(emissions_of(parameters), 6).tolist(),
        "transitions": np.round(parameters.transitions, 6).tolist(),
    }
