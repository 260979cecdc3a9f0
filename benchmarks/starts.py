"""Initialisations and seeds of LDA on the State of the Union addresses: the tables of docs/starting.md.

python benchmarks/starts.py
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import plait
from plait.inference.starts import with_initial
from plait.models.seeds import seeded_prior
from plait.threads import Threads

MARKS = (5, 20, 100)
SEEDS = {
    "tax": ["taxes", "taxation", "revenue"],
    "army": ["army", "troops"],
    "school": ["schools", "education"],
    "indians": ["indian", "tribes"],
    "slavery": ["slavery"],
}
WEIGHTS = (0.0, 0.01, 0.1, 1.0)


def starts(corpus: plait.Corpus, n_topics: int, n_runs: int) -> None:
    half = plait.sample(
        plait.LdaModel(corpus.select(np.arange(0, corpus.n_documents, 2)), n_topics),
        n_paths=1,
        n_sweeps=100,
        seed=100,
        collapsed=True,
    )
    print("initialisation | seconds | log joint per token after", ", ".join(map(str, MARKS)), "sweeps")
    for init in ("uniform", "progressive", "spectral", half):
        model = with_initial(plait.LdaModel(corpus, n_topics), init)
        few = corpus.select(np.arange(100))
        with Threads() as threads:
            with_initial(plait.LdaModel(few, n_topics), init).initial_paths(1, 0, threads)  # compiles
        seconds, results = [], []
        for seed in range(n_runs):
            with Threads() as threads:
                begun = time.perf_counter()
                model.initial_paths(1, seed, threads)
                seconds.append(time.perf_counter() - begun)
            run = plait.sample(model, n_paths=1, n_sweeps=MARKS[-1], seed=seed, collapsed=True, thin=5)
            at = [run.trace.sweep.tolist().index(mark) for mark in MARKS]
            results.append(run.trace.log_joint[at, 0] / corpus.n_tokens)
        name = init if isinstance(init, str) else "topics of half the documents"
        means = "  ".join(f"{x:.3f}" for x in np.mean(results, axis=0))
        spread = np.ptp(results, axis=0)[-1]
        print(f"{name} | {np.median(seconds):.2f} | {means} | range at the end {spread:.3f}", flush=True)


def seeds(corpus: plait.Corpus, n_topics: int) -> None:
    print("weight | share of the tokens of seed words in their topic, by topic | log joint per token")
    used = [np.flatnonzero(row) for row in seeded_prior(corpus, len(SEEDS), SEEDS).added]
    for weight in WEIGHTS:
        prior = seeded_prior(corpus, n_topics, SEEDS, weight=weight)
        run = plait.sample(
            plait.LdaModel(corpus, n_topics, eta=prior.eta), n_paths=1, n_sweeps=60, seed=1, collapsed=True
        )
        shares = [np.mean(run.paths[:, np.isin(corpus.words, own)] == t) for t, own in enumerate(used)]
        text = "  ".join(f"{share:.2f}" for share in shares)
        print(f"{weight:g} | {text} | {run.trace.log_joint[-1, 0] / corpus.n_tokens:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    addresses = plait.datasets.sotu()
    starts(addresses, arguments.topics, arguments.runs)
    seeds(addresses, arguments.topics)
