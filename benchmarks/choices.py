r"""The choices behind the default plan, at equal sweeps: bounds of eta, rounds of partitions, start, stages.

    python benchmarks/choices.py eta --corpora news,tweets,sotu,lee --sweeps 300
    python benchmarks/choices.py rounds --corpora news --sweeps 250
    python benchmarks/choices.py start --corpora sotu --sweeps 400 --seeds 2
    python benchmarks/choices.py plan --corpora sotu --topics 20 --sweeps 400 --methods plait,plait-climb

Every line is one fit. For eta and rounds, m = 1, priors are learnt throughout, the second half of the sweeps
is averaged, and the start is uniform; the starts are compared with the default plan; `methods.py` has the
plans. A sweep with m paths counts as m sweeps. "training" is the held-out score of the training documents.
Unlike `quality.py`, which says what the other scores are, this gives the same figures on every machine.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import corpora
import scoring
from methods import VARIANTS, Variant
from plait.models import lda_collapsed
from plait.models.lda import LdaModel
from plait.models.lda_starts import STARTS
from plait.plans import Plan, Stage
from plait.run import Run
from plait.sampler import sample
from plait.topic_fits import LEAST_ETA

BOUNDS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)
ROUNDS = {"exact": (1, 1), "2 x 1": (2, 1), "2 x 8": (2, 8), "4 x 1": (4, 1), "4 x 8": (4, 8)}


Floats = NDArray[np.float64]


def fit(
    split: corpora.Split, label: str, n_topics: int, sweeps: int, seed: int, least_eta: float = LEAST_ETA
) -> None:
    """Fit one model, and print its line."""
    stages = [
        Stage("partitioned", 1, sweeps - sweeps // 2, learn_priors=True),
        Stage("partitioned", 1, sweeps // 2, learn_priors=True, average=True),
    ]
    model = LdaModel(split.training, n_topics, least_eta=least_eta)
    show(split, label, seed, sample(model, n_paths=Plan(stages), seed=seed))


def fit_variant(
    split: corpora.Split, label: str, variant: Variant, n_topics: int, sweeps: int, seed: int
) -> Floats:
    """Fit one model by a plan from a start, print its line, and return its topics."""
    made = variant.settings(n_topics, sweeps).fit(split.training)
    return show(split, label, seed, sample(made.model, n_paths=made.plan, seed=seed))


def show(split: corpora.Split, label: str, seed: int, run: Run) -> Floats:
    """Print the line of a fit, and return its topics."""
    fitted = run.model
    assert isinstance(fitted, LdaModel)
    phi = run.parameters().phi.T.astype(np.float64)
    phi /= phi.sum(axis=1, keepdims=True)
    alpha, eta = fitted.alpha_vector, float(np.asarray(fitted.eta))
    print(
        f"| {split.name} | {label} | {seed} | {scoring.held_out(phi, split.held_out, alpha=alpha):.4f}"
        f" | {scoring.held_out(phi, split.training, alpha=alpha):.4f}"
        f" | {scoring.coherence(phi, split.training):.4f} | {alpha.sum():.2f} | {eta:.4f} |",
        flush=True,
    )
    return phi


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("choice", choices=["eta", "rounds", "start", "plan"])
    parser.add_argument("--corpora", default="news,tweets,sotu,lee")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", default="plait,plait-partitioned,plait-climb,plait-climb-back")
    options = parser.parse_args()
    variants = {
        "start": {init: VARIANTS["plait"]._replace(init=init) for init in STARTS},
        "plan": {name: VARIANTS[name] for name in options.methods.split(",")},
    }
    print("| corpus | choice | seed | held out | training | NPMI | sum of alpha | eta |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in options.corpora.split(","):
        split = corpora.load(name)
        for label, variant in variants.get(options.choice, {}).items():
            topics = [
                fit_variant(split, label, variant, options.topics, options.sweeps, seed)
                for seed in range(options.seeds)
            ]
            cosines = [scoring.aligned_cosine(*pair) for pair in combinations(topics, 2)]
            if cosines:
                print(f"agreement between seeds: {np.mean(cosines):.3f}", flush=True)
        for seed in range(options.seeds):
            if options.choice == "eta":
                for least in BOUNDS:
                    fit(split, f"sampled at {least:g}", options.topics, options.sweeps, seed, least)
            elif options.choice == "rounds":
                for label, (partitions, rounds) in ROUNDS.items():
                    with (
                        patch.object(lda_collapsed, "_PARTITIONS", {1: partitions}),
                        patch.object(lda_collapsed, "_ROUNDS", rounds),
                    ):
                        fit(split, label, options.topics, options.sweeps, seed)


if __name__ == "__main__":
    main()
