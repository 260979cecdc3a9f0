"""Distance from the found to the true topics on the paper's synthetic corpus, for one and for five paths.

The distance is that of the paper's Table 1: the mean over true topics of the L1 distance to the nearest found
topic, from 0 to 2.

    python benchmarks/bands.py --documents 1500 --runs 4
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from plait.data.synthetic import Bands, bands
from plait.models.lda import LdaModel
from plait.paper.table1 import distance
from plait.sampler import sample
from plait.threads import Threads


def distance_of_run(data: Bands, n_paths: int, seed: int, n_sweeps: int) -> float:
    """Fit one model as the paper does, and compare its topics with the true ones."""
    model = LdaModel(data.corpus, len(data.topics), alpha=1.0, eta=1.0)
    run = sample(model, n_paths=n_paths, n_sweeps=n_sweeps, seed=seed, collapsed=True, n_jobs=1)
    with Threads(1) as threads:
        found = model.topic_word(model.count(run.paths, threads))
    return distance(data.topics, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--sweeps", type=int, default=1000)
    arguments = parser.parse_args()

    data = bands(arguments.documents, seed=0)
    print(f"{data.corpus}, 10 topics, alpha = eta = 1, collapsed, {arguments.sweeps} sweeps")
    print(f"{'paths':>5s}  {'distance, mean':>14s}  {'runs'}")
    with ThreadPoolExecutor() as pool:
        for n_paths in (1, 5):
            jobs = [
                pool.submit(distance_of_run, data, n_paths, seed, arguments.sweeps)
                for seed in range(arguments.runs)
            ]
            values = [job.result() for job in jobs]
            print(f"{n_paths:5d}  {np.mean(values):14.3f}  {' '.join(f'{v:.3f}' for v in values)}")


if __name__ == "__main__":
    main()
