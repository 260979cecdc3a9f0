"""Invariants of every state on any number of threads; and samplers agree on data too long to enumerate."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hmm_support import (
    BLOCKED,
    BOTH_ENDS,
    COLLAPSED,
    FOR_SYMBOLS,
    FORMS,
    SITES,
    TABLE,
    array,
    choose,
)
from support import SCALES, THREADS, assert_small, settings

from plait.data.sequences import Sequences
from plait.models import chain as module
from plait.models.chain import HmmCounts, HmmParameters
from plait.models.emissions import (
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    PoissonEmissions,
)
from plait.models.hmm import HmmModel
from plait.models.model import Key
from plait.sampler import State, step
from plait.threads import Threads

LENGTHS = [1, 30, 2, 1, 57, 9]


def check_counts(model: HmmModel, paths: np.ndarray, counts: HmmCounts) -> None:
    offsets, values = model.sequences.offsets, model.sequences.values
    starts, pairs = np.zeros(model.n_states), np.zeros((model.n_states, model.n_states))
    for path in paths:
        np.add.at(starts, path[offsets[:-1]], 1)
        for a, b in pairwise(offsets):
            np.add.at(pairs, (path[a : b - 1], path[a + 1 : b]), 1)
    np.testing.assert_array_equal(counts.starts, starts)
    np.testing.assert_array_equal(counts.pairs, pairs)
    symbols = np.zeros((model.emissions.n_symbols + 1, model.n_states))
    for path in paths:
        np.add.at(symbols, (values, path), 1)  # -1, a missing one, is the last row
    np.testing.assert_array_equal(counts.emissions, symbols)
    np.testing.assert_array_equal(model.emissions.observations(counts.emissions), symbols[:-1].sum(axis=0))


def model_of(sampler: str, n_states: int = 3, *, zeros: bool = True) -> HmmModel:
    rng = np.random.default_rng(71)
    data = rng.integers(-1, 5, sum(LENGTHS))
    prior, start, symbols = (
        np.full((n_states, n_states), 0.3),
        np.full(n_states, 0.5),
        np.full((n_states, 5), 0.4),
    )
    if zeros:
        prior[0, -1] = prior[-1, 0] = prior[1, 1] = 0
        start[-1] = 0
        symbols[1, 2] = 0
    emissions = CategoricalEmissions(
        Sequences.from_symbols(data, LENGTHS, missing=True), n_states, prior=symbols
    )
    return HmmModel(emissions, start, prior, blocked=sampler in (BLOCKED, BOTH_ENDS))


@pytest.mark.parametrize("sampler", FOR_SYMBOLS)
@pytest.mark.parametrize("n_paths", [1, 3])
@pytest.mark.parametrize(("n_states", "zeros"), [(3, True), (12, True), (2, False), (1, False)])
def test_counts_match_the_paths_and_zeros_stay_zero(
    n_states: int, zeros: bool, n_paths: int, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    model, how = model_of(sampler, n_states, zeros=zeros), settings(n_paths, sampler == COLLAPSED, seed=72)
    state = State(0, model.initial_paths(n_paths, 72, THREADS))
    moved = 0
    for k in range(31):
        counts = model.count(state.paths, THREADS)
        check_counts(model, state.paths, counts)
        if sampler == COLLAPSED and k:
            check_counts(model, state.paths, state.counts)
        assert state.paths.max() < n_states
        assert not counts.starts[~model._start.possible[0]].any()
        assert not counts.pairs[~model._transitions.possible].any()
        assert not counts.emissions[:-1].T[~model.emissions.dirichlet.possible].any()
        before = state.paths.copy()
        state = step(model, state, how, THREADS)
        moved += int(np.sum(before != state.paths))
        if state.parameters is not None:
            model.check_parameters(state.parameters)
            assert np.isfinite(model.log_joint(state.paths, state.parameters, THREADS)).all()
    assert moved > 0 or n_states == 1


# ---------------------------------------------------------------------------------------------------------
# Threads
# ---------------------------------------------------------------------------------------------------------


def emissions_of(kind: str, lengths: Any, n_states: int = 3) -> Any:
    rng = np.random.default_rng(73)
    n = sum(lengths)
    if kind == "categorical":
        return CategoricalEmissions(Sequences.from_symbols(rng.integers(4, size=n), lengths), n_states)
    if kind == "poisson":
        return PoissonEmissions(
            Sequences.from_values(rng.poisson(3, (n, 2)).astype(float), lengths), n_states
        )
    return GaussianEmissions(
        Sequences.from_values(rng.normal(size=(n, 2)), lengths), n_states, covariance=kind
    )


@pytest.mark.parametrize("lengths", [[400, 3, 1, 50, 700, 20, 8, 60], [900], [500, 600]])
@pytest.mark.parametrize(
    ("kind", "sampler"),
    [("categorical", TABLE), *product(["categorical", "poisson", *FORMS], [BLOCKED, SITES])],
)
def test_same_bits_on_any_number_of_threads(
    kind: str, sampler: str, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    monkeypatch.setattr(module, "_SITES_PER_RANGE", 64)
    monkeypatch.setattr(module, "_LONG", 300)
    model = HmmModel(emissions_of(kind, lengths), blocked=sampler == BLOCKED)
    assert len(model._counted_ranges) > 3
    states = []
    for n_jobs in (1, 2, 3):
        with Threads(n_jobs) as threads:
            state = State(0, model.initial_paths(4, 74, threads))
            for _ in range(3):
                state = step(model, state, settings(4, False, seed=74), threads)
            states.append((state, model.log_joint(state.paths, state.parameters, threads)))
    for (one, one_log), (other, other_log) in pairwise(states):
        np.testing.assert_array_equal(one.paths, other.paths)
        np.testing.assert_array_equal(one.parameters.transitions, other.parameters.transitions)
        np.testing.assert_array_equal(one_log, other_log)
        for name, array_ in one.parameters.emissions.to_arrays().items():
            np.testing.assert_array_equal(array_, other.parameters.emissions.to_arrays()[name])
    paths = states[0][0].paths
    assert len(np.unique(paths, axis=0)) == 4  # the paths differ


def test_draws_of_paths_do_not_depend_on_the_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WORK_PER_RANGE", 1)
    emissions = emissions_of("categorical", LENGTHS)
    for blocked in (True, False):
        results = []
        for size in (8192, 16):
            monkeypatch.setattr(module, "_SITES_PER_RANGE", size)
            model = HmmModel(emissions, blocked=blocked)
            state = State(0, model.initial_paths(2, 75, THREADS))
            for _ in range(3):
                state = step(model, state, settings(2, False, seed=75), THREADS)
            results.append(state.paths)
        assert len(model._ranges) > 3
        np.testing.assert_array_equal(*results)


def test_halves_of_a_long_sequence_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two pieces, of halves, paths or sweeps, are drawn from the same random numbers."""
    monkeypatch.setattr(module, "_LONG", 100)
    data = np.zeros(4_001, int)
    model = HmmModel(CategoricalEmissions(Sequences.from_symbols(data), 2, n_symbols=1))

    flat = HmmParameters(np.full(2, 0.5), np.full((2, 2), 0.5), CategoricalParameters(np.ones((2, 1))))
    paths = np.zeros((3, len(data)), np.uint16)
    model.resample(paths, flat, Key(76, 1), THREADS)
    again = np.zeros_like(paths)
    model.resample(again, flat, Key(76, 2), THREADS)
    first = paths[:, :2_000][:, ::-1] - 0.5
    second = paths[:, 2_000:4_000] - 0.5
    pieces = np.concatenate([first, second, second[:, ::-1], again[:, :2_000] - 0.5])
    shifted = np.concatenate([pieces, np.roll(pieces, 1, axis=1)])
    correlations = np.corrcoef(shifted)
    np.fill_diagonal(correlations, 0)
    same = np.abs(correlations) > 0.999  # nothing should
    assert not same.any()
    assert_small(correlations * np.sqrt(2_000))


# ---------------------------------------------------------------------------------------------------------
# The samplers agree
# ---------------------------------------------------------------------------------------------------------


def longer_data() -> np.ndarray:
    rng = np.random.default_rng(77)
    moves, table = array([0.8, 0.2], [0.3, 0.7]), array([0.75, 0.15, 0.1], [0.1, 0.3, 0.6])
    state, data = 0, np.empty(300, int)
    for i in range(len(data)):
        state = rng.choice(2, p=moves[state])
        data[i] = rng.choice(3, p=table[state])
    return data


# Different priors for the states, so that these do not swap, and strong ones, so that chains mix fast.
STRONG = {
    "mean_prior": [[0.0], [2.5]],
    "mean_weight": 60.0,
    "covariance_prior": 80.0,
    "covariance_weight": 60.0,
}


def run_of(sampler: str, n: int, n_paths: int, *, numbers: bool) -> np.ndarray:
    """Means over the paths of functions of paths and data, sweep by sweep, (n, K)."""
    data = longer_data()
    lengths = [200, 1, 99]
    if numbers:
        sequences = Sequences.from_values(
            (data * 1.5)[:, None] + np.random.default_rng(78).normal(size=(300, 1)), lengths
        )
        emissions: Any = GaussianEmissions(sequences, 2, **STRONG)
    else:
        prior = array([75.0, 15, 10], [10, 30, 60])
        emissions = CategoricalEmissions(Sequences.from_symbols(data, lengths), 2, prior=prior)
    model = HmmModel(emissions, [1.0, 2.0], [[80, 20], [30, 70]], blocked=sampler in (BLOCKED, BOTH_ENDS))
    how = settings(n_paths, sampler == COLLAPSED, seed=79)
    state = State(0, model.initial_paths(n_paths, 79, THREADS))
    values = np.empty((n, 9))
    for k in range(-150, n):
        state = step(model, state, how, THREADS)
        counts = model.count(state.paths, THREADS)
        mean = model.mean_parameters(counts, THREADS)
        if k >= 0:
            paths = state.paths
            values[k, :2] = np.mean(model.log_joint(paths, mean, THREADS)), counts.starts[0] / n_paths
            values[k, 2:6] = counts.pairs.ravel() / n_paths
            values[k, 6] = np.mean(paths[0] == paths[-1]) if n_paths > 1 else paths[0, 100]
            values[k, 7] = mean.transitions[0, 0]
            values[k, 8] = mean.emissions.means[0, 0] if numbers else mean.emissions.probabilities[1, 2]
    return values


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n_paths", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("numbers", [False, True])
def test_samplers_agree_on_longer_data(
    numbers: bool, n_paths: int, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    samplers = [BLOCKED, BOTH_ENDS, SITES] if numbers else FOR_SYMBOLS
    n_batches = 20  # long against the chains' memory
    means, errors = [], []
    for sampler in samplers:
        with monkeypatch.context() as patch:
            choose(sampler, patch)
            values = run_of(sampler, 2_000 * scale, n_paths, numbers=numbers)
        batches = values.reshape(n_batches, -1, values.shape[1]).mean(axis=1)
        means.append(batches.mean(axis=0))
        errors.append(batches.std(axis=0, ddof=1) / np.sqrt(n_batches))
    for k in range(1, len(samplers)):
        error = np.hypot(errors[0], errors[k])
        assert_small((means[k] - means[0]) / error)
