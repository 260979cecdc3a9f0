"""check_model accepts correct models and names the mistakes of wrong ones."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.models.emissions import CategoricalEmissions
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.models.path_model import PathModel
from plait.testing import check_model

sys.path.insert(0, str(Path(__file__).parent / "models"))
from coins import Coins

HEADS = np.array([0, 3, 3, 1, 2])


def test_a_correct_model_passes_all_checks():
    done = check_model(Coins(HEADS[:4]), n_draws=200)
    assert not [line for line in done if "not checked" in line]
    assert sum("joint distribution" in line for line in done) == 6


def test_what_cannot_be_checked_is_listed():
    class Plain(Coins):
        update_collapsed = PathModel.update_collapsed
        simulate = PathModel.simulate

    done = check_model(Plain(HEADS), n_draws=100)
    assert "no collapsed sampler" in done
    assert done[-1] == "joint distribution not checked: the model has no method simulate"
    assert "distributions not checked: there are 2^20 paths" in check_model(Plain(np.tile(HEADS, 4)))[-1]


def test_simulated_data_that_differ_too_much_are_not_checked(monkeypatch):
    monkeypatch.setattr("plait.testing._LEAST_EFFECTIVE", 1e9)
    monkeypatch.setattr("plait.testing._MOST_BATCHES", 1)
    done = check_model(Coins(HEADS), n_draws=20, n_paths=[2])
    line = "joint distribution, m = 2, collapsed: not checked, because simulated data differ too much"
    assert line in done


def wrong(method, change):
    """Return the coins with one method changed: change(model, original method, arguments)."""
    original = getattr(Coins, method)

    def changed(self, *arguments):
        return change(self, lambda *given: original(self, *given), *arguments)

    others = {} if method == "update_collapsed" else {"update_collapsed": PathModel.update_collapsed}
    return type("Wrong", (Coins,), others | {method: changed})


SHARED = np.random.default_rng(0)


def no_prior(self, draw, statistics, rng):
    shapes = statistics["n"] + 2 * (statistics["n"].sum() == 0)  # no prior, except in simulate
    return draw(statistics, rng) | {"shares": rng.dirichlet(shapes + 1e-3)}


def off_by_one(self, statistics_of, path):
    statistics = statistics_of(path)
    return {"n": statistics["n"] + (path[0] == 0), "heads": statistics["heads"]}


def forgetful(self, update, path, statistics, rng):
    update(path, statistics, rng)
    statistics["n"][0] += 1


def not_the_own_count(self, update, path, statistics, rng):
    for i, heads in enumerate(self.heads):
        a, b = self._shapes(statistics)  # the coin itself still counted
        weights = (2 + statistics["n"]) * np.exp(heads * np.log(a / b) + 0 * self.tosses)
        steps = np.cumsum(weights)
        new = int(np.searchsorted(steps, rng.random() * steps[-1], side="right"))
        for name, value in (("n", 1), ("heads", heads)):
            statistics[name][path[i]] -= value
            statistics[name][new] += value
        path[i] = new


MISTAKES = {
    "no prior": ("draw", no_prior, "partially collapsed sampler with m = 1 does not leave the distribution"),
    "one too many": ("statistics", off_by_one, "does not leave the distribution"),
    "other weights": (
        "update",
        lambda self, update, path, phi, rng: update(path, phi | {"shares": phi["shares"][::-1]}, rng),
        r"resample does not draw from P\(p \| w, phi\)",
    ),
    "another density": (
        "log_density",
        lambda self, density, path, phi: 2 * density(path, phi),
        r"resample does not draw from P\(p \| w, phi\)",
    ),
    "no change": ("update", lambda *_: None, "resample changes nothing in 20 sweeps"),
    "all paths alike": (
        "update",
        lambda self, update, path, phi, rng: update(path, phi, np.random.default_rng(4)),
        "resample draws all paths alike",
    ),
    "numbers from elsewhere": (
        "update",
        lambda self, update, path, phi, rng: update(path, phi, SHARED),
        "resample differs from call to call",
    ),
    "parameters from elsewhere": (
        "draw",
        lambda self, draw, statistics, rng: draw(statistics, SHARED),
        "draw_parameters differs from call to call",
    ),
    "always the same parameters": (
        "draw",
        lambda self, draw, statistics, rng: draw(statistics, np.random.default_rng(1)),
        "draw_parameters draws the same in each sweep",
    ),
    "paths from elsewhere": (
        "first_path",
        lambda self, first, rng: SHARED.integers(2, size=5),
        "initial_paths differs from call to call",
    ),
    "statistics at random": (
        "statistics",
        lambda self, statistics, path: statistics(path) | {"x": SHARED.random()},
        "count differs from call to call",
    ),
    "not finite": ("log_density", lambda *_: -np.inf, "log_joint must return a finite number"),
    "stale counts": ("update_collapsed", forgetful, "leaves counts that are not those of its paths"),
    "own count left in": ("update_collapsed", not_the_own_count, "the collapsed sampler with m = 1"),
    "part of the data forgotten": (
        "to_arrays",
        lambda self, arrays: ({"heads": 0 * self.heads}, arrays()[1]),
        "a model rebuilt by to_arrays and from_arrays draws other paths",
    ),
    "a list in arrays": (
        "to_arrays",
        lambda self, arrays: ({"heads": self.heads.tolist()}, {}),
        "to_arrays must return arrays, got list for heads",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_path_models_are_named(mistake):
    method, change, message = MISTAKES[mistake]
    with pytest.raises(PlaitError, match=message):
        check_model(wrong(method, change)(HEADS), n_draws=1000, n_paths=[1])


class Bare:
    """A model that implements the contract directly, here by delegating to the coins."""

    kind, n_sites, n_states = "bare", 5, 2

    def __init__(self):
        self.coins = Coins(HEADS)

    def __getattr__(self, name):
        return getattr(self.coins, name)

    def to_arrays(self):
        return {}, {}

    @classmethod
    def from_arrays(cls, arrays, header):
        return cls()

    def resample_collapsed(self, *_):
        raise NotSupported("none")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_sites", 0, "Bare.n_sites must be a whole number of at least 1, got 0"),
        ("n_states", 2.0, "Bare.n_states must be a whole number of at least 1, got 2.0"),
        ("kind", None, "Bare.kind must be a string, .*, got None"),
        ("kind", "lda", "Bare.kind must not be 'lda', the name of plait's LdaModel"),
        ("initial_paths", lambda *_: np.zeros((3, 4), int), r"got int64 of shape \(3, 4\)"),
        (
            "initial_paths",
            lambda *_: np.full((3, 5), 2),
            "initial_paths must return states .*, got 2 at site 0",
        ),
        ("count", lambda paths, _: len(paths) ** 2, "counts of three paths is not the sum over the paths"),
        ("count", lambda paths, _: np.zeros(len(paths)), "for three paths, but another for one path"),
        ("count", lambda paths, _: paths.__setitem__(0, 1 - paths[0]), "count changes the paths"),
        ("count", lambda paths, threads: threads.n, "count depends on the number of threads"),
    ],
)
def test_mistakes_of_bare_models_are_named(name, value, message):
    model = Bare()
    setattr(model, name, value)
    with pytest.raises(PlaitError, match=message):
        check_model(model, n_draws=10)


def test_dependence_on_the_number_of_threads_is_named():
    model = Bare()

    def resample(paths, parameters, key, threads):
        model.coins.resample(paths, parameters, key, threads)
        paths[0, 0] = threads.n - 1

    model.resample = resample
    with pytest.raises(PlaitError, match="resample depends on the number of threads"):
        check_model(model)


def own_models():
    symbols = Sequences.from_symbols([0, 1, 2, 0], [3, 1])
    hmm = HmmModel(CategoricalEmissions(symbols, 2, prior=2.0), 2.0, 2.0)
    corpus = Corpus(np.array([0, 1, 2, 1], np.int32), np.array([0, 3, 4]), ("a", "b", "c"))
    return {
        "lda": LdaModel(corpus, 2, alpha=1.0, eta=2.0),
        "hmm, blocked": hmm,
        "hmm, single-site": replace(hmm, blocked=False),
    }


@pytest.mark.parametrize(
    ("name", "n_paths"),
    [
        ("hmm, blocked", [1]),
        *(pytest.param(name, [1, 2, 3], marks=pytest.mark.slow) for name in own_models()),
    ],
)
def test_models_of_plait_pass_all_checks(name, n_paths):
    done = check_model(own_models()[name], n_draws=200, n_paths=n_paths)
    assert not [line for line in done if "not checked" in line]
    assert sum("joint distribution" in line for line in done) == 2 * len(n_paths)
