"""Record the key of every stream that small runs of all models open; prints them. See test_streams.py.

Kernels must be interpreted (NUMBA_DISABLE_JIT=1); `open_stream` is replaced before they import it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plait import rng

opened: list[tuple[int, ...]] = []
_open_stream = rng.open_stream


def _record(stream: Any, *key: Any) -> None:
    opened.append(tuple(int(part) for part in key))
    _open_stream(stream, *key)


rng.open_stream = _record

import plait  # noqa: E402
from plait.models.emissions import (  # noqa: E402
    BernoulliEmissions,
    CategoricalEmissions,
    GaussianEmissions,
    GaussianMixtureEmissions,
    MultinomialEmissions,
    PoissonEmissions,
    StudentEmissions,
    mixed_emissions,
)
from plait.models.factorial import FactorialHmmModel  # noqa: E402
from plait.models.hmm import HmmModel  # noqa: E402
from plait.models.mixture import MixtureModel  # noqa: E402
from plait.models.path_model import PathModel  # noqa: E402
from plait.models.potts import PottsModel  # noqa: E402


@dataclass
class Coin(PathModel):
    """Two states, drawn at random."""

    kind = "coin"

    n_sites: int = 3
    n_states: int = 2

    def statistics(self, path):
        return np.bincount(path, minlength=2)

    def draw(self, statistics, rng):
        return rng.beta(1 + statistics[1], 1 + statistics[0])

    def mean(self, statistics):
        return (1 + statistics[1]) / (2 + statistics.sum())

    def update(self, path, parameters, rng):
        path[:] = rng.random(path.size) < parameters

    def log_density(self, path, parameters):
        return float(np.log(np.where(path, parameters, 1 - parameters)).sum())


def with_topics(model: plait.LdaModel) -> plait.LdaModel:
    return replace(model, initial=model.as_topics(np.full((3, 5), 0.2), 1))


def models() -> dict[str, tuple[Any, tuple[bool, ...]]]:
    """Return models, and for which values of `collapsed` to run them."""
    random = np.random.default_rng(0)
    corpus = plait.Corpus(random.integers(0, 5, 12), np.array([0, 5, 8, 12]), tuple("abcde"))
    values = random.normal(size=(12, 2))
    numbers = plait.Sequences.from_values(values, [5, 3, 4])
    symbols = plait.Sequences.from_symbols(random.integers(0, 3, 12), [5, 3, 4])
    counts = plait.Sequences.from_values(random.poisson(2.0, (12, 2)).astype(float))
    bits = plait.Sequences.from_values((values > 0).astype(float))
    full, diag = (GaussianEmissions(numbers, 2, covariance=kind) for kind in ("full", "diag"))
    either, partial = (False, True), (False,)
    mixed = [((0,), "gaussian", {"covariance": "full"}), ((1,), "autoregressive", {})]
    return {
        "lda": (plait.LdaModel(corpus, 3), either),
        "lda, many topics": (plait.LdaModel(corpus, 70), either),
        "lda, progressive": (plait.LdaModel(corpus, 3, initial="progressive"), either),
        "lda, spectral search": (plait.LdaModel(corpus, 3, initial="spectral"), either),
        "lda, given topics": (with_topics(plait.LdaModel(corpus, 3)), partial),
        "hmm, blocked": (HmmModel(CategoricalEmissions(symbols, 2)), either),
        "hmm, single-site": (HmmModel(full, blocked=False), partial),
        "hmm, mixtures": (HmmModel(GaussianMixtureEmissions(numbers, 2, 2)), partial),
        "hmm, tied mixtures": (HmmModel(GaussianMixtureEmissions(numbers, 2, 2, covariance="tied")), partial),
        "hmm, student": (HmmModel(StudentEmissions(numbers, 2)), partial),
        "hmm, mixed": (HmmModel(mixed_emissions(numbers, 2, mixed)), partial),
        "mixture, Gaussian": (MixtureModel(diag), either),
        "mixture, Poisson": (MixtureModel(PoissonEmissions(counts, 3)), either),
        "mixture, Bernoulli": (MixtureModel(BernoulliEmissions(bits, 3)), either),
        "mixture, multinomial": (MixtureModel(MultinomialEmissions(counts.values, 3)), either),
        "field": (
            PottsModel(GaussianEmissions(plait.Sequences.from_values(values[:, 0]), 2), (3, 4)),
            partial,
        ),
        "factorial": (FactorialHmmModel(numbers, 2, 2, search=0), partial),
        "factorial, search": (FactorialHmmModel(numbers, 2, 2, covariance="full", search=2), partial),
        "own": (Coin(), partial),
    }


def keys_of_runs() -> dict[str, list[tuple[int, ...]]]:
    found = {}
    for name, (model, samplers) in models().items():
        for collapsed in samplers:
            opened.clear()
            plait.sample(model, n_paths=3, n_sweeps=2, seed=1, collapsed=collapsed, n_jobs=1)
            found[f"{name}, collapsed {collapsed}"] = list(opened)
    return found


if __name__ == "__main__":
    print(json.dumps(keys_of_runs()))
