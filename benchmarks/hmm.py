"""Speed of hidden Markov models compared with hmmlearn, and of the samplers compared with each other.

Prints nanoseconds per site: one state of one path (or one observation, for EM). A sweep is timed as a whole,
including the counting and the drawing of phi. Contestants take turns and the median is printed, because the
speed of shared machines varies from minute to minute.

    make bench
    python benchmarks/hmm.py --turns 9
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from hmmlearn.hmm import CategoricalHMM

from plait.data.sequences import Sequences
from plait.datasets import hard_hmm
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalEmissions, CategoricalParameters
from plait.models.hmm import HmmModel
from plait.plans import Settings
from plait.sampler import State, step
from plait.threads import Threads

N_SYMBOLS = 10


@dataclass
class Contestant:
    """A function to time, and the seconds that each call took."""

    work: Callable[[], object]
    n_sites: int
    seconds: list[float] = field(default_factory=list)

    def take_turn(self) -> None:
        """Do the work once and record the seconds."""
        start = time.perf_counter()
        self.work()
        self.seconds.append(time.perf_counter() - start)

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return statistics.median(self.seconds)

    @property
    def nanoseconds(self) -> float:
        """Nanoseconds per site."""
        return self.median / self.n_sites * 1e9


def compete(contestants: dict[str, Contestant], turns: int) -> None:
    for contestant in contestants.values():
        contestant.work()  # compile and warm up
    for _ in range(turns):
        for contestant in contestants.values():
            contestant.take_turn()


def random_parameters(n_states: int, seed: int = 0) -> HmmParameters:
    generator = np.random.default_rng(seed)
    return HmmParameters(
        generator.dirichlet(np.ones(n_states)),
        generator.dirichlet(np.ones(n_states), n_states),
        CategoricalParameters(generator.dirichlet(np.ones(N_SYMBOLS), n_states)),
    )


def random_symbols(n_sites: int, n_states: int) -> np.ndarray:
    """Draw observations from a model with well-separated states, a typical task for samplers."""
    generator = np.random.default_rng(1)
    states = np.repeat(generator.integers(0, n_states, n_sites // 10 + 1), 10)[:n_sites]
    table = generator.dirichlet(np.full(N_SYMBOLS, 0.5), n_states)
    steps = np.cumsum(table, axis=1)[states]
    return np.minimum((steps < generator.random(n_sites)[:, None]).sum(axis=1), N_SYMBOLS - 1)


def sampler(
    n_sites: int, n_states: int, n_paths: int, method: str, n_jobs: int, n_sequences: int = 1
) -> Contestant:
    lengths = np.full(n_sequences, n_sites // n_sequences)
    sequences = Sequences.from_symbols(random_symbols(lengths.sum(), n_states), lengths)
    emissions = CategoricalEmissions(sequences, n_states, n_symbols=N_SYMBOLS)
    model = HmmModel(emissions, blocked=method == "blocked")
    settings = Settings(n_paths=n_paths, n_sweeps=1, seed=0, collapsed=method == "collapsed", thin=1)
    threads = Threads(n_jobs)
    state = State(0, model.initial_paths(n_paths, settings.seed, threads))

    def sweep() -> None:
        nonlocal state
        state = step(model, state, settings, threads)

    for _ in range(20):
        sweep()
    return Contestant(sweep, n_sites * n_paths)


def compare_em(n_sites: int, turns: int) -> None:
    data = hard_hmm(n=n_sites)
    first = random_parameters(2)
    peer = CategoricalHMM(2, n_iter=1, init_params="", tol=-np.inf, n_features=N_SYMBOLS)
    symbols = data.sequences.values[:, None]

    def hmmlearn(implementation: str) -> Callable[[], object]:
        def iterate() -> None:
            peer.implementation = implementation
            peer.startprob_, peer.transmat_ = first.start, first.transitions
            peer.emissionprob_ = first.emissions.probabilities
            peer.fit(symbols)

        return iterate

    model = HmmModel(CategoricalEmissions(data.sequences, 2))
    threads = Threads(1)

    def plait() -> None:
        model.mode_parameters(model.expected_counts(first, threads)[0])

    contestants = {
        "hmmlearn, log (its default)": Contestant(hmmlearn("log"), n_sites),
        "hmmlearn, scaling": Contestant(hmmlearn("scaling"), n_sites),
        "plait, one thread": Contestant(plait, n_sites),
    }
    compete(contestants, turns)
    print(f"\nAn iteration of EM: {N_SYMBOLS} symbols, 2 states, {n_sites} observations in one sequence")
    print(f"{'':30} {'ns per site':>11} {'times plait':>12}")
    fastest = contestants["plait, one thread"].median
    for name, contestant in contestants.items():
        print(f"{name:30} {contestant.nanoseconds:11.1f} {contestant.median / fastest:12.1f}")


def compare_samplers(n_sites: int, turns: int) -> None:
    print(f"\nSweeps, one thread: {N_SYMBOLS} symbols, {n_sites} observations in one sequence")
    print(
        f"{'sampler':12} {'states':>6} {'ns per site, m = 1':>19} {'m = 5':>7} {'sweep of m = 5 / m = 1':>24}"
    )
    for method in ("single-site", "collapsed", "blocked"):
        for n_states in (2, 8, 32):
            pair = {str(m): sampler(n_sites, n_states, m, method, 1) for m in (1, 5)}
            compete(pair, turns)
            one, five = pair["1"], pair["5"]
            print(
                f"{method:12} {n_states:6d} {one.nanoseconds:19.1f} {five.nanoseconds:7.1f}"
                f" {five.median / one.median:24.2f}",
                flush=True,
            )


def control(n_sites: int) -> dict[str, Contestant]:
    """Return two independent sweeps, one after another or on two threads.

    Their ratio is the maximum speed-up of two threads on this machine at the moment.
    """
    pair = [sampler(n_sites, 8, 2, "blocked", 1) for _ in range(2)]
    threads = Threads(2)

    def together() -> None:
        threads.map(lambda first, last: pair[first].work(), [(0, 1), (1, 2)])

    def in_turn() -> None:
        for contestant in pair:
            contestant.work()

    return {"1": Contestant(in_turn, 4 * n_sites), "2": Contestant(together, 4 * n_sites)}


def compare_threads(n_sites: int, turns: int) -> None:
    print(f"\nTwo threads to one: m = 4, 8 states, {n_sites} observations")
    print(f"{'sampler':12} {'sequences':>10} {'ns per site, one thread':>24} {'two':>6} {'times faster':>13}")
    rows = {("two runs", 2): control(n_sites)}
    for method in ("blocked", "single-site"):
        for n_sequences in (1, 200):
            rows[method, n_sequences] = {
                str(n): sampler(n_sites, 8, 4, method, n, n_sequences) for n in (1, 2)
            }
    # All take turns, so that other load on the machine affects them equally.
    compete({f"{key} {n}": pair[n] for key, pair in rows.items() for n in pair}, turns)
    for (method, n_sequences), pair in rows.items():
        one, two = pair["1"], pair["2"]
        print(
            f"{method:12} {n_sequences:10d} {one.nanoseconds:24.1f} {two.nanoseconds:6.1f}"
            f" {one.median / two.median:13.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", type=int, default=200_000, help="number of observations")
    parser.add_argument("--turns", type=int, default=9, help="turns of each contestant")
    options = parser.parse_args()
    compare_em(options.sites, options.turns)
    compare_samplers(options.sites, options.turns)
    compare_threads(options.sites, options.turns)


if __name__ == "__main__":
    main()
