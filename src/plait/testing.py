"""Checks of a model: whether it keeps the contract, and whether it samples what it describes.

    plait.testing.check_model(model)

takes any model that `plait.sample` takes, preferably a tiny one, and raises `plait.PlaitError` for the first
mistake it finds. How much it can check depends on the model: if it has a method `simulate`, the whole sampler
is tested (Geweke's joint test, for several paths).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.errors import NotSupported, PlaitError
from plait.models.model import Key, Model, Paths
from plait.models.path_model import check_finite, leaves
from plait.models.sweeps import State, sweeps
from plait.plans import Settings
from plait.run import MODELS
from plait.threads import Threads

Floats = NDArray[np.float64]

MOST_PATHS = 4096
"""Maximum number of possible paths for which they are enumerated."""

_SWEEPS = 5  # several, so that small mistakes add up
_SHORT_RUN, _FEW_PATHS = 20, 5  # sweeps and paths of the run that finds a typical likelihood
_LEAST_EFFECTIVE = 50  # effective sample size that unequal weights must have
_MOST_BATCHES = 5  # of draws that may be added to reach it
_LIMIT = 5.0  # standard errors; 1000 correct means stay within with probability above 0.999


def check_model(
    model: Model[Any, Any], *, n_paths: Sequence[int] = (1, 2, 3), n_draws: int = 1000, seed: int = 0
) -> list[str]:
    """Check a model; raise an error that names the first mistake.

    Parameters
    ----------
    model : Model
        The model, with tiny data: three states and five sites are plenty.
    n_paths : sequence of int
        Numbers of paths m to test the sampler with.
    n_draws : int
        Number of draws: a mistake is found if it moves a mean by more than about 5 / sqrt(n_draws) standard
        deviations.
    seed : int
        Seed of the random streams. The check of a correct model fails for one seed in a few hundred.

    Returns
    -------
    list of str
        What was checked, and what could not be checked and why.
    """
    check = _Check(model, seed)
    done = [
        check.attributes(),
        check.paths(),
        check.counts(),
        check.parameters(),
        check.sweep(),
        check.file(),
    ]
    collapsed = check.collapsed()
    done.append("collapsed sampler: counts kept up to date" if collapsed else "no collapsed sampler")
    n_possible = model.n_states**model.n_sites
    if n_possible > MOST_PATHS:
        done.append(
            f"distributions not checked: there are {model.n_states}^{model.n_sites} paths, more than"
            f" {MOST_PATHS}; use a model with fewer sites or states"
        )
        return done
    done.append(check.conditional_distribution(n_draws))
    try:
        model.simulate(np.random.default_rng(seed))  # type: ignore[attr-defined]
    except (AttributeError, NotSupported):
        done.append("joint distribution not checked: the model has no method simulate")
        return done
    for m in n_paths:
        done.append(check.joint_distribution(m, n_draws, collapsed=False))
        if collapsed:
            done.append(check.joint_distribution(m, n_draws, collapsed=True))
    return done


@dataclass(frozen=True)
class _Replicate:
    """Simulated parameters, a path and a model of simulated data; all paths with their P(p | w, phi)."""

    model: Model[Any, Any]
    path: Paths
    parameters: Any
    every: Paths
    shares: Floats
    log_likelihood: float


class _Check:
    """The checks, one per method; each returns what it found to be right."""

    def __init__(self, model: Model[Any, Any], seed: int) -> None:
        self.model = model
        self.seed = seed
        self.name = type(model).__name__
        self.one, self.two = Threads(1), Threads(2)
        self.replicates: list[_Replicate] = []
        self.log_ratios: list[float] = []

    def attributes(self) -> str:
        for name in ("n_sites", "n_states"):
            value = getattr(self.model, name, None)
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise PlaitError(f"{self.name}.{name} must be a whole number of at least 1, got {value!r}")
        kind = getattr(self.model, "kind", None)
        if not isinstance(kind, str) or not kind:
            raise PlaitError(f"{self.name}.kind must be a string, the model's name in files, got {kind!r}")
        home = MODELS.get(kind, f":{self.name}").split(":")[1]
        if home != self.name:
            raise PlaitError(f"{self.name}.kind must not be {kind!r}, the name of plait's {home}")
        return "attributes"

    def paths(self) -> str:
        first = self.first_paths(3)
        shape = (3, self.model.n_sites)
        if first.shape != shape or first.dtype.kind not in "ui":
            raise PlaitError(
                f"initial_paths must return integers of shape {shape}, (m, n_sites), got {first.dtype} of"
                f" shape {first.shape}"
            )
        self.in_range("initial_paths", first)
        if not np.array_equal(first, self.first_paths(3)):
            raise PlaitError(
                "initial_paths differs from call to call: draw random numbers from its seed only"
            )
        return "first paths"

    def counts(self) -> str:
        paths = self.first_paths(3)
        before = paths.copy()
        whole = self.count(paths)
        if not np.array_equal(paths, before):
            raise PlaitError("count changes the paths: it must not")
        self.same("count differs from call to call", whole, self.count(paths))
        self.same(
            "count depends on the number of threads", whole, self.model.count(paths, self.two), exact=True
        )
        parts = [leaves(self.count(paths[j : j + 1]), "counts") for j in range(3)]
        for (name, total), *each in zip(leaves(whole, "counts"), *parts, strict=True):
            if any(part.shape != total.shape for _, part in each):
                raise PlaitError(f"{name} has shape {total.shape} for three paths, but another for one path")
            if not np.allclose(total, np.sum([part for _, part in each], axis=0)):
                raise PlaitError(
                    f"{name} of three paths is not the sum over the paths: count all paths together"
                )
        return "counts add up"

    def parameters(self) -> str:
        counts = self.count(self.first_paths(3))
        drawn = self.draw(counts, 1)
        check_finite("draw_parameters", drawn)
        self.same("draw_parameters differs from call to call with one key", drawn, self.draw(counts, 1))
        if _is_same(drawn, self.draw(counts, 2)):
            raise PlaitError("draw_parameters draws the same in each sweep: draw random numbers from its key")
        log_joint = self.model.log_joint(self.first_paths(3), drawn, self.one)
        if np.shape(log_joint) != (3,) or not np.isfinite(log_joint).all():
            raise PlaitError(
                "log_joint must return a finite number for each of three paths, log P(p, w | phi), got"
                f" {log_joint!r}"
            )
        return "parameters are finite"

    def sweep(self) -> str:
        same = np.repeat(self.first_paths(1), 4, axis=0)
        counts = self.count(same)
        parameters = self.draw(counts, 1)
        results = []
        for threads in (self.one, self.one, self.two):
            paths = same.copy()
            self.model.resample(paths, parameters, Key(self.seed, 1), threads)
            self.in_range("resample", paths)
            results.append(paths)
        if not np.array_equal(results[0], results[1]):
            raise PlaitError(
                "resample differs from call to call with one key: draw random numbers from its key"
            )
        if not np.array_equal(results[0], results[2]):
            raise PlaitError("resample depends on the number of threads: give each path a stream of its own")
        many, again, moved = same, same, False
        for sweep in range(1, 21):
            many, again, parameters = many.copy(), again.copy(), self.draw(counts, sweep)
            self.model.resample(many, parameters, Key(self.seed, sweep), self.one)
            self.model.resample(again, parameters, Key(self.seed, sweep + 20), self.one)
            if (many != many[0]).any() and (many != again).any():
                return "sweeps do not depend on threads"
            moved |= bool((many != same).any())
        if moved:
            raise PlaitError(
                "resample draws all paths alike, or the same in each sweep: draw random numbers from the key"
                " and the number of the path"
            )
        raise PlaitError("resample changes nothing in 20 sweeps: it must draw new paths in place")

    def file(self) -> str:
        arrays, header = self.model.to_arrays()
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):
                raise PlaitError(f"to_arrays must return arrays, got {type(array).__name__} for {name}")
        other = type(self.model).from_arrays(arrays, header)
        how = Settings(n_paths=2, n_sweeps=3, seed=self.seed, collapsed=False, thin=1)
        ends = []
        for model in (self.model, other):
            paths = model.initial_paths(2, self.seed, self.one)
            for state in sweeps(model, State(0, paths), 3, how, self.one):
                paths = state.paths
            ends.append(paths)
        if not np.array_equal(ends[0], ends[1]):
            raise PlaitError(
                "a model rebuilt by to_arrays and from_arrays draws other paths: to_arrays must keep all that"
                " matters"
            )
        return "files"

    def collapsed(self) -> bool:
        """Return whether there is a collapsed sampler; check that it keeps counts up to date."""
        paths = self.first_paths(3)
        counts = self.count(paths)
        try:
            for sweep in range(1, 4):
                self.model.resample_collapsed(paths, counts, Key(self.seed, sweep))
        except NotSupported:
            return False
        self.in_range("resample_collapsed", paths)
        self.same(
            "resample_collapsed leaves counts that are not those of its paths", counts, self.count(paths)
        )
        return True

    # ---------------------------------------------------------------------------------------------
    # Distributions
    # ---------------------------------------------------------------------------------------------

    def conditional_distribution(self, n_draws: int) -> str:
        """Check that a sweep given phi leaves P(p | w, phi) invariant."""
        every = _all_paths(self.model)
        rng = np.random.default_rng(self.seed)
        for trial in range(3):
            parameters = self.draw(self.count(self.first_paths(1 + trial)), 1 + trial)
            shares = _shares(self.model.log_joint(every, parameters, self.one))[0]
            paths = every[rng.choice(len(every), n_draws, p=shares)]
            self.model.resample(paths, parameters, Key(self.seed, 1), self.two)
            for name, of in _SUMMARIES.items():
                exact = shares @ of(every)
                spread = np.sqrt(np.maximum(shares @ of(every) ** 2 - exact**2, 0.0) / n_draws)
                wrong = np.abs(of(paths).mean(axis=0) - exact) > _LIMIT * spread + 5.0 / n_draws
                if wrong.any():
                    k = int(np.argmax(wrong))
                    raise PlaitError(
                        f"resample does not draw from P(p | w, phi): {name.format(k, k + 1)} has mean"
                        f" {of(paths).mean(axis=0)[k]:.4g}, but {exact[k]:.4g} according to log_joint"
                    )
        return f"P(p | w, phi): {n_draws} draws agree with log_joint over all {len(every)} paths"

    def joint_distribution(self, n_paths: int, n_draws: int, *, collapsed: bool) -> str:
        """Check that whole sweeps leave P(phi) prod_j P(p^j, w | phi) invariant.

        phi, one path and data w are simulated, and the other paths drawn from P(p | w, phi). Such a draw has
        the weight (P(w | phi) / h(w))^(m - 1), for any function h of the data. Sweeps must not change the
        weighted mean of any function.
        """
        replicates, weights = self.weighted(n_paths, n_draws)
        sampler = "collapsed" if collapsed else "partially collapsed"
        if weights.sum() ** 2 < _LEAST_EFFECTIVE * (weights**2).sum():
            return (
                f"joint distribution, m = {n_paths}, {sampler}: not checked, because simulated data differ"
                " too much"
            )
        rng = np.random.default_rng([self.seed, n_paths])
        how = Settings(n_paths=n_paths, n_sweeps=1, seed=self.seed, collapsed=collapsed, thin=1)
        rows: list[Floats] = []
        names: list[str] = []
        for k, given in enumerate(replicates):
            others = given.every[rng.choice(len(given.every), n_paths - 1, p=given.shares)]
            paths = np.vstack([np.asarray(given.path, others.dtype)[None], others])
            names, before = self.functions(given.model, paths, given.parameters)
            *_, state = sweeps(given.model, State(k * _SWEEPS, paths), _SWEEPS, how, self.one)
            parameters = state.parameters
            if collapsed:
                parameters = given.model.draw_parameters(state.counts, Key(self.seed + 1, k), self.one)
            rows.append(self.functions(given.model, state.paths, parameters)[1] - before)
        differences = weights[:, None] * np.array(rows)
        errors = differences.std(axis=0) / np.sqrt(len(rows))
        scores = differences.mean(axis=0) / np.maximum(errors, 1e-300)
        scores[np.abs(differences).max(axis=0) < 1e-12] = 0.0
        worst = int(np.argmax(np.abs(scores)))
        if abs(scores[worst]) > _LIMIT:
            raise PlaitError(
                f"the {sampler} sampler with m = {n_paths} does not leave the distribution of the model"
                f" invariant: {names[worst]} moves by {scores[worst]:.1f} standard errors in {_SWEEPS}"
                " sweeps; check the prior, the counts, the weights and simulate"
            )
        return f"joint distribution, m = {n_paths}, {sampler}: {len(names)} means are invariant"

    def weighted(self, n_paths: int, n_draws: int) -> tuple[list[_Replicate], Floats]:
        """Return simulated replicates and their weights; more of them where the weights are very unequal."""
        while True:
            if len(self.replicates) < n_draws:
                self.replicates += self.simulated(n_draws - len(self.replicates))
            if n_paths == 1:
                return self.replicates, np.ones(len(self.replicates))
            for k in range(len(self.log_ratios), len(self.replicates)):
                self.log_ratios.append(self.log_ratio(self.replicates[k]))
            logs = (n_paths - 1) * np.array(self.log_ratios)
            weights = np.exp(logs - logs.max())
            if (
                weights.sum() ** 2 >= _LEAST_EFFECTIVE * (weights**2).sum()
                or len(weights) > n_draws * _MOST_BATCHES
            ):
                return self.replicates, weights
            self.replicates += self.simulated(n_draws)

    def simulated(self, n_draws: int) -> list[_Replicate]:
        """Return replicates of phi, a path and data."""
        rng = np.random.default_rng([self.seed, len(self.replicates)])
        every = _all_paths(self.model)
        found = []
        for _ in range(n_draws):
            model, path, parameters = self.model.simulate(rng)  # type: ignore[attr-defined]
            shares, log_likelihood = _shares(model.log_joint(every, parameters, self.one))
            found.append(_Replicate(model, path, parameters, every, shares, log_likelihood))
        return found

    def log_ratio(self, given: _Replicate) -> float:
        """Return log P(w | phi) / h(w).

        h(w) is the highest likelihood along a short run on w: a function of w alone, and close to the
        likelihood of good parameters, so that the weights differ little.
        """
        how = Settings(n_paths=_FEW_PATHS, n_sweeps=1, seed=self.seed, collapsed=False, thin=1)
        model = given.model
        start, typical = State(0, model.initial_paths(_FEW_PATHS, self.seed, self.one)), -np.inf
        for state in sweeps(model, start, _SHORT_RUN, how, self.one):
            likelihood = _shares(model.log_joint(given.every, state.parameters, self.one))[1]
            typical = max(typical, likelihood)
        return given.log_likelihood - typical

    def functions(self, model: Model[Any, Any], paths: Paths, parameters: Any) -> tuple[list[str], Floats]:
        """Return the values of many functions of paths and phi, with names: their means must not change."""
        log_joint = model.log_joint(paths, parameters, self.one)
        names, values = ["log_joint", "log_joint squared"], [log_joint.mean(), (log_joint**2).mean()]
        for name, of in _SUMMARIES.items():
            for k, value in enumerate(of(paths).mean(axis=0)):
                names.append(name.format(k, k + 1))
                values.append(value)
        names.append("agreement of the paths")
        values.append(float(np.mean(paths == paths[0])))
        for name, array in leaves(parameters, "phi"):
            for index in np.ndindex(array.shape):
                x = float(np.arcsinh(array[index]))  # arcsinh: its mean exists for any prior
                place = name + "".join(f"[{i}]" for i in index)
                names += [place, f"{place} squared", f"{place} times the first state"]
                values += [x, x * x, x * float(np.mean(paths[:, 0] == 0))]
        return names, np.array(values)

    # ---------------------------------------------------------------------------------------------
    # Helpers
    # ---------------------------------------------------------------------------------------------

    def first_paths(self, n_paths: int) -> Paths:
        return self.model.initial_paths(n_paths, self.seed, self.one)

    def count(self, paths: Paths) -> Any:
        return self.model.count(paths, self.one)

    def draw(self, counts: Any, sweep: int) -> Any:
        return self.model.draw_parameters(counts, Key(self.seed, sweep), self.one)

    def in_range(self, method: str, paths: Paths) -> None:
        wrong = (paths < 0) | (paths >= self.model.n_states)
        if wrong.any():
            j, i = np.argwhere(wrong)[0]
            raise PlaitError(
                f"{method} must return states from 0 to {self.model.n_states - 1}, n_states - 1, got"
                f" {paths[j, i]} at site {i} of path {j}"
            )

    def same(self, complaint: str, one: Any, other: Any, exact: bool = False) -> None:
        for (name, a), (_, b) in zip(leaves(one, "value"), leaves(other, "value"), strict=True):
            if a.shape != b.shape or not (np.array_equal(a, b) if exact else np.allclose(a, b)):
                raise PlaitError(f"{complaint} ({name})")


def _is_same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(leaves(one), leaves(other), strict=True))


def _all_paths(model: Model[Any, Any]) -> Paths:
    """Return all possible paths, (S^N, N)."""
    every = itertools.product(range(model.n_states), repeat=model.n_sites)
    return np.array(list(every), model.initial_paths(1, 0, Threads(1)).dtype)


def _shares(log_weights: Floats) -> tuple[Floats, float]:
    """Return probabilities proportional to exp(log_weights), and the logarithm of the sum of these."""
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    return weights / weights.sum(), float(top + np.log(weights.sum()))


def _in_first_state(paths: Paths) -> Floats:
    return (paths == 0).astype(np.float64)


def _as_the_next(paths: Paths) -> Floats:
    return (paths[:, 1:] == paths[:, :-1]).astype(np.float64)


_SUMMARIES = {
    "state 0 at site {0}": _in_first_state,
    "the same state at the sites {0} and {1}": _as_the_next,
}
