"""One sweep given phi, and one sweep of the collapsed sampler, have the textbook distribution.

From a fixed state and given phi, the distribution of the state after a sweep is known: for whole paths it is
the product of P(p^j | w, phi), whatever the state before; site by site it is the product of the conditionals
that are drawn from (`sweep_distribution`). The same holds for the collapsed sampler, without phi. Sweeps with
distinct keys are independent draws, and a chi-square test compares them with it. Together with the
distribution of phi given the paths (`test_hmm_parameter_distribution.py`) this determines a sampler for any
m; for m = 1 it is the textbook's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hmm_oracle import (
    Hmm,
    Normals,
    Phi,
    Rows,
    Symbols,
    all_paths,
    joint_distribution,
    log_joints,
    path_distribution,
    sites_by_colour,
    sweep_distribution,
)
from hmm_support import (
    ALL_CASES,
    COLLAPSED,
    FOR_SYMBOLS,
    LEFT_RIGHT,
    SITES,
    SYMBOLS,
    TABLE,
    THREE_STATES,
    array,
    choose,
    plait_model,
    plait_parameters,
    some_phi,
)
from oracle import Floats, state_index
from support import SCALES, THREADS, assert_all_fit, chi_square

from plait.models.chain import HmmCounts
from plait.models.model import Key


def product_distribution(factors: list[Floats]) -> Floats:
    probabilities = np.ones(1)
    for own in factors:
        probabilities = np.outer(probabilities, own).ravel()
    return probabilities


def exact_distribution(hmm: Hmm, phi: Phi, before: np.ndarray, sampler: str) -> Floats:
    """The distribution of all paths (m, N) after a sweep given phi."""
    if sampler not in (SITES, TABLE):
        return product_distribution([path_distribution(hmm, phi)] * len(before))
    logs = log_joints(hmm, phi, all_paths(hmm))
    order = sites_by_colour(hmm)
    return product_distribution([sweep_distribution(logs, own[None], hmm.n_states, order) for own in before])


def drawn(hmm: Hmm, phi: Phi, before: np.ndarray, sampler: str, n: int, seed: int = 31) -> np.ndarray:
    model, parameters = plait_model(hmm, sampler), plait_parameters(hmm, phi)
    after = np.repeat(before[None], n, axis=0)
    for k in range(n):
        model.resample(after[k], parameters, Key(seed, k + 1), THREADS)
    return np.bincount(state_index(after, hmm.n_states), minlength=hmm.n_states**before.size)


GIVEN_PHI = [case for case in ALL_CASES if case.values[2] != COLLAPSED]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("hmm", "n_paths", "sampler"), GIVEN_PHI)
def test_a_sweep_given_phi_has_the_exact_distribution(
    hmm: Hmm, n_paths: int, sampler: str, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    rng = np.random.default_rng(41)
    results = []
    for k in range(2):
        phi = some_phi(hmm, 42 + k)
        paths = all_paths(hmm)
        possible = np.flatnonzero(path_distribution(hmm, phi) > 1e-9)
        before = paths[rng.choice(possible, size=n_paths)]
        probabilities = exact_distribution(hmm, phi, before, sampler)
        results.append(chi_square(drawn(hmm, phi, before, sampler, 1_000 * scale, seed=k), probabilities))
    assert_all_fit(results)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("hmm", "n_paths"),
    [
        (SYMBOLS, 1),
        (SYMBOLS, 2),
        (SYMBOLS, 3),
        (THREE_STATES, 1),
        (THREE_STATES, 2),
        (LEFT_RIGHT, 1),
        (LEFT_RIGHT, 2),
    ],
    ids=["two-1", "two-2", "two-3", "three-1", "three-2", "leftright-1", "leftright-2"],
)
def test_a_collapsed_sweep_has_the_exact_distribution(hmm: Hmm, n_paths: int, scale: int) -> None:
    model = plait_model(hmm)
    states, probabilities, logs = joint_distribution(hmm, n_paths)
    results = []
    for before in states[np.random.default_rng(51).choice(len(probabilities), size=4, p=probabilities)]:
        counts = model.count(before, THREADS)
        after = np.repeat(before[None], 1_500 * scale, axis=0)
        for k, paths in enumerate(after):
            fresh = HmmCounts(counts.starts.copy(), counts.pairs.copy(), counts.emissions.copy())
            model.resample_collapsed(paths, fresh, Key(len(results), k))
        observed = np.bincount(state_index(after, hmm.n_states), minlength=len(probabilities))
        results.append(chi_square(observed, sweep_distribution(logs, before, hmm.n_states)))
    assert_all_fit(results)


def many_states(n_states: int) -> Hmm:
    """More states than sums are unrolled for."""
    rng = np.random.default_rng(n_states)
    return Hmm(
        [2, 1],
        Rows(rng.uniform(0.3, 2, (1, n_states))),
        Rows(rng.uniform(0.3, 2, (n_states, n_states))),
        Symbols(np.array([1, 0, 2]), Rows(rng.uniform(0.3, 2, (n_states, 3)))),
    )


@pytest.mark.parametrize("sampler", FOR_SYMBOLS)
@pytest.mark.parametrize("n_states", [4, 7])
def test_sweeps_with_many_states_have_the_exact_distribution(
    n_states: int, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    hmm, before = many_states(n_states), np.array([[n_states - 1, 0, 2]], np.uint16)
    if sampler != COLLAPSED:
        phi = some_phi(hmm, 6)
        probabilities = exact_distribution(hmm, phi, before, sampler)
        assert_all_fit([chi_square(drawn(hmm, phi, before, sampler, 5_000), probabilities)])
        return
    model, (_, probabilities, logs) = plait_model(hmm), joint_distribution(hmm, 1)
    after = np.repeat(before[None], 5_000, axis=0)
    for k, paths in enumerate(after):
        model.resample_collapsed(paths, model.count(before, THREADS), Key(53, k))
    observed = np.bincount(state_index(after, n_states), minlength=len(probabilities))
    assert_all_fit([chi_square(observed, sweep_distribution(logs, before, n_states))])


@pytest.mark.parametrize("sampler", [s for s in FOR_SYMBOLS if s != COLLAPSED])
def test_sweeps_with_zeros_in_phi_have_the_exact_distribution(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros in phi, including ones of the last state: only possible states are drawn."""
    choose(sampler, monkeypatch)
    phi = Phi(
        np.array([0.0, 1.0, 0.0]),
        array([0.5, 0.5, 0.0], [0.3, 0.2, 0.5], [1.0, 0.0, 0.0]),
        array([0.3, 0.7], [0.6, 0.4], [1.0, 0.0]),
    )
    hmm = replace(THREE_STATES, emissions=replace(THREE_STATES.emissions, values=np.array([1, 0, -1, 1])))
    before = np.array([[1, 0, 1, 1], [1, 2, 0, 1]], np.uint16)
    probabilities = exact_distribution(hmm, phi, before, sampler)
    assert_all_fit([chi_square(drawn(hmm, phi, before, sampler, 5_000), probabilities)])


def test_single_sites_are_exact_for_an_outlier_of_all_possible_states() -> None:
    """The state that fits the outlier is forbidden; the others, 100 deviations off, weigh 1e-2000."""
    e = Normals(
        array([0.3], [100.0], [-0.2]), "diag", np.zeros((3, 1)), np.ones(3), np.ones((3, 1)), np.full(3, 3.0)
    )
    hmm = Hmm([3], Rows(np.ones((1, 3))), Rows(np.ones((3, 3))), e)
    phi = Phi(
        np.array([0.5, 0.5, 0]),
        array([0.7, 0.3, 0], [0.2, 0.8, 0], [0.1, 0.2, 0.7]),
        (array([0.0], [0.01], [100.0]), np.ones((3, 1))),
    )
    results = []
    for before in ([[0, 0, 1], [1, 1, 0]], [[1, 0, 1], [0, 1, 0]]):
        paths = np.array(before, np.uint16)
        probabilities = exact_distribution(hmm, phi, paths, SITES)
        results.append(chi_square(drawn(hmm, phi, paths, SITES, 4_000, seed=len(results)), probabilities))
    assert_all_fit(results)
