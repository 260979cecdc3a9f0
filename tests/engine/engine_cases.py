"""Models with a few ranges of data, and workers in this process, for tests of engines."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import plait
from plait.data.sequences import Sequences
from plait.engine.contract import WorkersLost
from plait.engine.cutting import cut_ranges
from plait.engine.orders import Held, Order, joined
from plait.models.emissions import (
    CategoricalEmissions,
    GammaEmissions,
    GaussianEmissions,
    MultinomialSequenceEmissions,
    NegativeBinomialEmissions,
    PoissonEmissions,
)
from plait.models.hmm import HmmModel
from plait.models.mixture import MixtureModel
from plait.threads import Threads

LEARNING = plait.Plan(
    [
        plait.Stage("partially-collapsed", 1, 11, learn_priors=True),
        plait.Stage("partially-collapsed", (1, 3), 3),
        plait.Stage("partially-collapsed", 2, 2),
    ]
)


def lda(fixed: tuple[str, ...] = ()) -> plait.LdaModel:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 120, 600)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = (np.repeat(rng.integers(0, 40, 600), lengths) + rng.integers(0, 10, offsets[-1])) % 40
    corpus = plait.Corpus(words.astype(np.int32), offsets, [f"w{w}" for w in range(40)])
    return plait.LdaModel(corpus, 8, fixed=fixed)


def hmm(kind: str) -> HmmModel:
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 300, 200)
    n = int(lengths.sum())
    if kind == "categorical":
        emissions: Any = CategoricalEmissions(Sequences.from_symbols(rng.integers(0, 5, n), lengths), 4)
        return HmmModel(emissions, blocked=False)
    if kind == "poisson":
        values = rng.poisson(3.0, (n, 1)).astype(float)
        return HmmModel(PoissonEmissions(Sequences.from_values(values, lengths), 4))
    if kind == "gamma":
        return HmmModel(GammaEmissions(Sequences.from_values(rng.gamma(2.0, size=(n, 1)), lengths), 4))
    if kind == "negative-binomial":
        values = rng.negative_binomial(2, 0.3, (n, 1)).astype(float)
        return HmmModel(NegativeBinomialEmissions(Sequences.from_values(values, lengths), 4))
    if kind == "multinomial":
        values = rng.multinomial(6, [0.2, 0.3, 0.5], n).astype(float)
        return HmmModel(MultinomialSequenceEmissions(Sequences.from_values(values, lengths), 4))
    values = rng.normal(size=(n, 2))
    if kind == "gaussian, partly missing":
        values[rng.random(values.shape) < 0.1] = np.nan
        return HmmModel(GaussianEmissions(Sequences.from_values(values, lengths, missing=True), 4))
    return HmmModel(GaussianEmissions(Sequences.from_values(values, lengths), 4))


def mixture() -> MixtureModel:
    values = np.random.default_rng(2).normal(size=(13_000, 2))
    return MixtureModel(GaussianEmissions(Sequences.from_values(values), 3))


@dataclass
class Walks(plait.PathModel):
    """Observations in groups, whose states are 0 or 1 with a common probability."""

    values: np.ndarray
    lengths: np.ndarray
    n_states: int = 2

    @property
    def n_sites(self) -> int:
        return len(self.values)

    def parts(self) -> list[Walks] | None:
        if len(self.lengths) == 1:
            return None
        bounds = np.cumsum(self.lengths)[:-1]
        parts = np.split(self.values, bounds)
        return [Walks(own, np.array([len(own)])) for own in parts]

    def statistics(self, path: np.ndarray) -> dict[str, Any]:
        return {"n": np.bincount(path, minlength=2), "sum": np.bincount(path, self.values, 2)}

    def draw(self, statistics: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        n = statistics["n"] + 1.0
        return np.stack([rng.dirichlet(n), statistics["sum"] / n + rng.normal(size=2) / np.sqrt(n)])

    def update(self, path: np.ndarray, parameters: np.ndarray, rng: np.random.Generator) -> None:
        shares, means = parameters
        weights = shares * np.exp(-0.5 * (self.values[:, None] - means) ** 2)
        path[:] = rng.random(len(path)) * weights.sum(axis=1) > weights[:, 0]

    def log_density(self, path: np.ndarray, parameters: np.ndarray) -> float:
        shares, means = parameters
        return float(np.log(shares[path]).sum() - 0.5 * ((self.values - means[path]) ** 2).sum())


def walks() -> Walks:
    rng = np.random.default_rng(3)
    return Walks(rng.normal(size=500) + 3 * (np.arange(500) % 3 == 0), np.array([100, 150, 50, 120, 80]))


class HereWorkers:
    """Workers that are objects in this process; `lose` says for which orders some are lost."""

    can_be_lost = True
    joining = False

    def __init__(self, n: int, lose: Callable[[int], bool] = lambda order: False) -> None:
        self.n, self.lose, self.orders, self.placed = n, lose, 0, 0

    def place(self, model: Any, paths: np.ndarray, sweep: int) -> None:
        self.placed += 1
        self.cuts = cut_ranges(model.site_ranges(), [1.0] * self.n)
        self.held = []
        for cut in self.cuts:
            share = pickle.loads(pickle.dumps(model.share(cut.first, cut.last)))
            self.held.append(Held(share, paths[:, cut.begin : cut.end].copy(), sweep, Threads(1)))

    def _count_order(self) -> None:
        self.orders += 1
        if self.lose(self.orders):
            raise WorkersLost

    def compute(self, order: Order) -> Any:
        answers = [held.carry_out(order) for held in self.held]
        self._count_order()
        return joined(answers, order.exact)

    def gather(self, paths: np.ndarray) -> None:
        self._count_order()
        for cut, held in zip(self.cuts, self.held, strict=True):
            paths[:, cut.begin : cut.end] = held.paths

    def has_joined(self) -> bool:
        return self.joining

    def close(self) -> None:
        pass


def assert_same_run(one: plait.Run, other: plait.Run) -> None:
    """Check that two runs have the same bits."""
    np.testing.assert_array_equal(one.paths, other.paths)
    np.testing.assert_array_equal(one.trace.log_joint, other.trace.log_joint)
    assert one.trace.priors.keys() == other.trace.priors.keys()
    for name, values in one.trace.priors.items():
        np.testing.assert_array_equal(values, other.trace.priors[name])
