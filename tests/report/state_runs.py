"""Small runs of models with states to report on, and one whose texts try to break the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from report_runs import HOSTILE

import plait
from plait.fitting.plan import Plan
from plait.fitting.stored import fit_and_store

LENGTHS = [120, 60, 20]
MISSING = slice(30, 42)


def drawn_states(n, stay=(0.9, 0.8, 0.85), seed=1):
    """Return a path of three states."""
    rng = np.random.default_rng(seed)
    states = [0]
    while len(states) < n:
        own = states[-1]
        others = [s for s in range(len(stay)) if s != own]
        states.append(own if rng.random() < stay[own] else int(rng.choice(others)))
    return np.array(states)


def numbers(names=("Monday", "Tuesday", "Wednesday"), columns=("wind", "rain")):
    """Return sequences of two features, of which a stretch is missing."""
    rng = np.random.default_rng(2)
    states = drawn_states(sum(LENGTHS))
    values = np.array([[0.0, 0.0], [4.0, 5.0], [8.0, 1.0]])[states] + rng.normal(size=(len(states), 2))
    values[MISSING] = np.nan
    return plait.Sequences.from_values(values, LENGTHS, missing=True, names=names, columns=columns)


def symbols(labels):
    rng = np.random.default_rng(3)
    chances = np.array([[0.8, 0.1, 0.05, 0.05], [0.05, 0.05, 0.1, 0.8], [0.1, 0.4, 0.4, 0.1]])
    states = drawn_states(sum(LENGTHS))
    values = np.array([rng.choice(4, p=chances[s]) for s in states])
    return plait.Sequences.from_symbols(values, LENGTHS, labels=labels)


def fitted(emissions, path, *, restarts=3, paths=2, sweeps=20, seed=0):
    """Return a run with restarts and EM."""
    plan = Plan.of_method("blocked", n_paths=paths, n_iter=sweeps, polish=True)
    return fit_and_store(plait.HmmModel(emissions), plan, path, seed=seed, n_init=restarts, n_jobs=1)


def gaussian_run(path, **changes):
    return fitted(plait.GaussianEmissions(numbers(), 3), path, **changes)


def hostile_run(path):
    """Return a run whose names, labels and columns are markup, controls and endless."""
    labels = [*HOSTILE[:3], "x" * 10_000]
    run = fitted(plait.CategoricalEmissions(symbols(labels), 3), path, restarts=1)
    sequences = run.model.sequences
    named = plait.Sequences(
        sequences.values, sequences.offsets, (HOSTILE[0], HOSTILE[3], "y" * 10_000), sequences.labels
    )
    run = fitted(plait.CategoricalEmissions(named, 3), path, restarts=1)
    return run.named({0: HOSTILE[1], 1: HOSTILE[3], 2: "z" * 1000})


def hostile_columns_run(path):
    columns = ("<script>window.hacked=true</script>", "\u202eevil\u202c")
    return fitted(plait.GaussianEmissions(numbers(columns=columns), 2), path, restarts=1)


def mixture_run():
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.normal(mean, 1.0, (40, 2)) for mean in (-4, 4)])
    return plait.GaussianMixture(2, n_paths=2, max_iter=20, random_state=0).fit(values).run_


def field_run(shape=(12, 16)):
    rng = np.random.default_rng(5)
    truth = np.zeros(shape)
    truth[..., 3:9, 4:10] = 3
    field = plait.PottsSegmentation(
        2, spatial_dims=len(shape), n_paths=2, n_iter=20, n_init=1, random_state=0
    )
    return field.fit(truth + rng.normal(0, 0.5, shape)).run_


def chains_run():
    rng = np.random.default_rng(6)
    truth = np.cumsum(rng.random((100, 2)) < 0.1, axis=0) % 2
    values = truth @ np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 1.0]]) + rng.normal(0, 0.2, (100, 3))
    return plait.FactorialHMM(2, 2, n_paths=2, n_iter=20, search=1, random_state=0).fit(values).run_


@dataclass(frozen=True, eq=False)
class Coins(plait.PathModel):
    """Two coins; each toss is of one of them."""

    tosses: np.ndarray
    n_states = 2
    kind = "coins"
    site_name = "toss"

    @property
    def n_sites(self):
        return len(self.tosses)

    def statistics(self, path):
        return {"heads": np.bincount(path, self.tosses, 2), "tosses": np.bincount(path, minlength=2)}

    def draw(self, statistics, rng):
        heads, tosses = statistics["heads"], statistics["tosses"]
        return {"chance": rng.beta(1 + heads, 1 + tosses - heads)}

    def update(self, path, parameters, rng):
        chance = parameters["chance"]
        weights = np.where(self.tosses[:, None] == 1, chance, 1 - chance)
        path[:] = rng.random(len(path)) * weights.sum(axis=1) > weights[:, 0]

    def log_density(self, path, parameters):
        chance = parameters["chance"][path]
        return float(np.log(np.where(self.tosses == 1, chance, 1 - chance)).sum())

    def mean(self, statistics):
        heads, tosses = statistics["heads"], statistics["tosses"]
        return {"chance": (1 + heads) / (2 + tosses), "table": np.outer(tosses, heads)}


class CoinsWithoutMean(Coins):
    mean = plait.PathModel.mean


def own_run(kind=Coins):
    tosses = np.random.default_rng(7).integers(0, 2, 60)
    return plait.sample(kind(tosses), n_paths=3, n_sweeps=10, n_jobs=1)
