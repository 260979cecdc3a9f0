"""Two threads against one: how many times as fast the sweeps of topic models become.

    python benchmarks/threads.py --corpora sotu,news --topics 100,500

A run repeats every sweep, first on one thread and then on two: both have the same bits, so both do the same
work, at the same moment of a machine whose speed varies. The figures are medians over the sweeps that are
measured, after 50 others, of the ratio of the two times, with the quartiles; and nanoseconds per token and
path on one thread and on two. Let nothing else run meanwhile.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import corpora
from plait.data.corpus import Corpus
from plait.models.lda import LdaModel
from plait.models.sweeps import State, SweepSettings, step
from plait.speed import processor
from plait.threads import Threads

SAMPLERS = {
    "partially collapsed, m = 1": (1, SweepSettings(0)),
    "partially collapsed, m = 5": (5, SweepSettings(0)),
    "partitioned, m = 1": (1, SweepSettings(0, collapsed=True, partitioned=True)),
}
WARM_UP = 50


def measure(corpus: Corpus, n_topics: int, name: str, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds of sweeps on one thread and on two."""
    n_paths, algorithm = SAMPLERS[name]
    model = LdaModel(corpus, n_topics, 10.0 / n_topics, 0.01)
    one, two = Threads(1), Threads(2)
    state = State(0, model.initial_paths(n_paths, 0, two))
    seconds: dict[Threads, list[float]] = {one: [], two: []}
    for number in range(WARM_UP + sweeps):
        # The counts of a collapsed sampler change in place, and are counted here for both.
        before = state.paths.copy()
        counts = model.count(before, two) if algorithm.collapsed else None
        for threads in (one, two) if number >= WARM_UP else (two,):
            state = State(number, before.copy(), counts=model.count(before, two) if counts else None)
            started = time.perf_counter()
            state = step(model, state, algorithm, threads)
            seconds[threads].append(time.perf_counter() - started)
    return np.array(seconds[one]), np.array(seconds[two][-sweeps:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", default="sotu,news")
    parser.add_argument("--topics", default="100,500")
    parser.add_argument("--sweeps", type=int, default=20, help="sweeps that are measured")
    options = parser.parse_args()
    print(f"Processor: {processor()}\n")
    print("| corpus | topics | sampler | two threads against one | ns on one | ns on two |")
    print("|---|---:|---|---:|---:|---:|")
    for name in options.corpora.split(","):
        corpus = corpora.load(name).training
        for n_topics in map(int, options.topics.split(",")):
            for sampler, (n_paths, _) in SAMPLERS.items():
                one, two = measure(corpus, n_topics, sampler, options.sweeps)
                low, median, high = np.quantile(one / two, [0.25, 0.5, 0.75])
                nanoseconds = [1e9 * np.median(s) / (corpus.n_tokens * n_paths) for s in (one, two)]
                print(
                    f"| {name} | {n_topics} | {sampler} | {median:.2f} ({low:.2f}–{high:.2f})"
                    f" | {nanoseconds[0]:.0f} | {nanoseconds[1]:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
