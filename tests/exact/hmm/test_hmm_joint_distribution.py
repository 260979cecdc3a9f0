"""The joint distribution of all paths under every sampler and kind of emissions is the exact one.

As in `test_lda_joint_distribution.py`: a state drawn from the exact distribution and moved by one sweep still
has that distribution, and a run converges to it from plait's initial paths. Besides the chi-square test over
whole states there are z-scores of functions of them, which detect a small change of many states at once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hmm_oracle import (
    Hmm,
    Normals,
    Rows,
    Symbols,
    joint_distribution,
    pair_counts,
    path_distribution,
    site_counts,
    start_counts,
)
from hmm_support import (
    ALL_CASES,
    BOTH_ENDS,
    FIXED,
    LEFT_RIGHT,
    RATES,
    SYMBOLS,
    THREE_STATES,
    chain,
    choose,
    normals,
    oracle_phi,
    plait_model,
    plait_parameters,
    some_phi,
    sweeps_from_exact,
    with_missing,
)
from oracle import Floats, state_index
from support import SCALES, THREADS, assert_fits, assert_small, batch_z

from plait.models.model import Key
from plait.rng import INITIAL

# `test_hmm_conditionals.py` covers filters from both ends for numbers, so they are left out here.
CASES = [c for c in ALL_CASES if isinstance(c.values[0].emissions, Symbols) or c.values[2] != BOTH_ENDS]


def functions(hmm: Hmm, n_paths: int) -> Floats:
    """Functions of all states (n, K): counts, their products, agreement of paths, and the log-weight."""
    states, probabilities, logs = joint_distribution(hmm, n_paths)
    n = len(states)
    sites, pairs = site_counts(hmm, states).reshape(n, -1), pair_counts(hmm, states).reshape(n, -1)
    first = (states[:, 0] == 0).astype(float)  # the first path alone, and with the last
    agree = states[:, 0] == states[:, -1]
    diagonal = pair_counts(hmm, states).trace(axis1=1, axis2=2)[:, None]
    parts = [sites, pairs, pairs**2, start_counts(hmm, states), diagonal, diagonal**2]
    parts += [first, first[:, :1] * first[:, 1:], agree, agree.sum(axis=1, keepdims=True) ** 2]
    parts += [np.where(probabilities > 0, logs, 0)[:, None]]
    table = np.concatenate([np.asarray(part, float) for part in parts], axis=1)
    spread = np.sqrt(probabilities @ (table - probabilities @ table) ** 2)
    return table[:, spread > 0.05 * np.ptp(table, axis=0) + 1e-6]  # others vary too rarely


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("hmm", "n_paths", "sampler"), CASES)
def test_one_sweep_leaves_the_distribution_unchanged(
    hmm: Hmm, n_paths: int, sampler: str, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    n = (3_000 if isinstance(hmm.emissions, Symbols) else 1_200) * scale
    paths = np.array([state.paths for state in sweeps_from_exact(hmm, n_paths, sampler, n, seed=101)])
    _, probabilities, _ = joint_distribution(hmm, n_paths)
    indices = state_index(paths, hmm.n_states)
    assert_fits(np.bincount(indices, minlength=len(probabilities)), probabilities)
    table = functions(hmm, n_paths)
    exact = probabilities @ table
    error = np.sqrt(probabilities @ (table - exact) ** 2 / n)
    assert_small((table[indices].mean(axis=0) - exact) / error)


def strengthened(hmm: Hmm) -> Hmm:
    """The same with stronger priors, so that chains mix within some 20 sweeps; batches have 100."""
    e = hmm.emissions
    if isinstance(e, Normals):
        return replace(
            hmm,
            emissions=replace(e, mean_weight=4 * e.mean_weight, degrees=e.degrees + 8, scale=5 * e.scale),
        )
    rows = [Rows(3 * rows.prior) for rows in (hmm.start, hmm.transitions, e.rows)]
    return Hmm(hmm.lengths, rows[0], rows[1], Symbols(e.values, rows[2]))


RUNS = [
    ("two", SYMBOLS, 2, ["blocked", "both ends", "sites", "table", "collapsed"]),
    ("three", THREE_STATES, 2, ["collapsed"]),
    ("leftright", strengthened(LEFT_RIGHT), 2, ["blocked", "sites", "collapsed"]),
    ("fixed", FIXED, 1, ["blocked", "sites"]),
    ("poisson", with_missing(RATES, 2), 2, ["blocked", "sites"]),
    ("spherical", strengthened(normals("spherical", 2)), 2, ["blocked"]),
    ("diag", strengthened(normals("diag", 2)), 2, ["blocked", "sites"]),
    ("full", strengthened(normals("full", 2)), 2, ["blocked"]),
    ("tied", strengthened(normals("tied", 2)), 3, ["sites"]),
]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("hmm", "n_paths", "sampler"),
    [pytest.param(hmm, m, s, id=f"{name}-m{m}-{s}") for name, hmm, m, samplers in RUNS for s in samplers],
)
def test_a_long_run_has_the_exact_means(
    hmm: Hmm, n_paths: int, sampler: str, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    run = chain(hmm, n_paths, sampler, 5_000 * scale, seed=202)
    indices = state_index(np.array([state.paths.copy() for state in run]), hmm.n_states)
    _, probabilities, _ = joint_distribution(hmm, n_paths)
    assert np.all(probabilities[indices] > 0)
    table = functions(hmm, n_paths)
    assert_small(batch_z(table[indices], probabilities @ table))


@pytest.mark.parametrize("hmm", [SYMBOLS, LEFT_RIGHT, FIXED, RATES, normals("tied", 2)])
def test_initial_paths_are_draws_given_random_parameters(hmm: Hmm) -> None:
    """These parameters keep zeros and fixed probabilities."""
    model = plait_model(hmm)
    for seed in (1, 2):
        first = model.first_parameters(Key(seed, INITIAL))
        model.check_parameters(first)
        for rows, given in ((hmm.start, first.start[None]), (hmm.transitions, first.transitions)):
            np.testing.assert_array_equal(given[~rows.free], rows.known[~rows.free])
        probabilities = path_distribution(hmm, oracle_phi(first))
        paths = model.initial_paths(4_000, seed, THREADS)
        assert_fits(
            np.bincount(state_index(paths, hmm.n_states), minlength=len(probabilities)), probabilities
        )


def test_initial_paths_are_draws_given_the_initial_parameters() -> None:
    phi = some_phi(SYMBOLS, 5)
    model = replace(plait_model(SYMBOLS), initial=plait_parameters(SYMBOLS, phi))
    paths = np.array([model.initial_paths(2, seed, THREADS) for seed in range(6_000)])
    one = path_distribution(SYMBOLS, phi)
    probabilities = np.outer(one, one).ravel()
    assert_fits(np.bincount(state_index(paths, 2), minlength=len(probabilities)), probabilities)
