"""Geweke's joint distribution test for hidden Markov models; see `test_lda_geweke.py`.

The joint distribution of everything, including the data, is

    g(phi, p^1..m, w)  proportional to  P(phi) prod_j P(p^j, w | phi),   normalised over w too.

Rejection cannot work, because two draws of real-valued data are never equal: the marginal-conditional
simulator weights its draws instead. It draws phi and all paths from their priors, and w from g given these
(below); the weight is the integral of prod_j P(w | p^j, phi) over w. For m = 1 the weight is 1, and w is
drawn from the model.

The successive-conditional simulator alternates a sweep of plait with a draw of the data given the rest,

    g(w_i | p^1..m, phi)  proportional to  prod_j P(w_i | p^j_i, phi):

a product of normal densities is normal, and those of symbols and counts are tabulated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hmm_oracle import Counts, Hmm, Phi, Rows, Symbols, as_matrix
from hmm_support import (
    BLOCKED,
    COLLAPSED,
    FORMS,
    MOVES,
    SITES,
    START,
    TABLE,
    array,
    choose,
    normals,
    oracle_phi,
    plait_model,
    some_phi,
)
from oracle import Floats
from scipy import stats
from support import THREADS, assert_small, batch_z, settings

from plait.models.model import Key
from plait.sampler import State, step

LENGTHS = [1, 2]
MOST = 40  # larger counts have a negligible probability here

PROBLEMS = {
    "symbols": Hmm(
        LENGTHS, START, MOVES, Symbols(np.zeros(3, int), Rows(array([0.9, 0.5, 1.1], [0.7, 1.5, 0.6])))
    ),
    "counts": Hmm(
        LENGTHS,
        START,
        MOVES,
        Counts(np.zeros((3, 2)), array([7.4, 5.8], [8.5, 6.7]), array([3.6, 3.5], [2.9, 3.1])),
    ),
}
for _form in FORMS:
    _hmm = normals(_form, 2)
    # proper enough for weights to have a variance, and for chains to forget soon
    _strong = replace(
        _hmm.emissions,
        values=np.zeros((3, 2)),
        degrees=np.array([20.0, 20.0 if _form == "tied" else 24.0]),
        scale=8 * _hmm.emissions.scale,
        mean_weight=np.array([2.3, 3.1]),
    )
    PROBLEMS[_form] = Hmm(LENGTHS, START, MOVES, _strong)


def draw_index(weights: Floats, rng: np.random.Generator) -> np.ndarray:
    """Draw along the last axis."""
    sums = np.cumsum(weights, axis=-1)
    return (sums <= rng.random(weights.shape[:-1])[..., None] * sums[..., -1:]).sum(axis=-1)


def draw_data(hmm: Hmm, phi: Phi, paths: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Draw w given phi and one or two paths (m, N); return also the integral of its density."""
    e = hmm.emissions
    if isinstance(e, Symbols):
        products = phi.emissions[paths].prod(axis=0)
        return draw_index(products, rng), float(products.sum(axis=-1).prod())
    if isinstance(e, Counts):
        x = np.arange(MOST)
        logs = stats.poisson._logpmf(x, phi.emissions[paths][..., None]).sum(axis=0)
        products = np.exp(logs)
        return draw_index(products, rng).astype(float), float(products.sum(axis=-1).prod())
    means, covariances = phi.emissions
    own = np.array([as_matrix(e.covariance, covariances, s, 2) for s in range(2)])
    precisions = np.linalg.inv(own)
    together = precisions[paths].sum(axis=0)
    centre = np.linalg.solve(together, np.einsum("jnab,jnb->na", precisions[paths], means[paths])[..., None])
    roots = np.linalg.cholesky(np.linalg.inv(together))
    data = centre[..., 0] + np.einsum("nab,nb->na", roots, rng.normal(size=centre[..., 0].shape))
    if len(paths) == 1:
        return data, 1.0
    apart, spread = means[paths[0]] - means[paths[1]], own[paths].sum(axis=0)
    squares = np.einsum("na,nab,nb->n", apart, np.linalg.inv(spread), apart)
    return data, float(np.prod(np.exp(-squares / 2) / np.sqrt(np.linalg.det(2 * np.pi * spread))))


def marginal_conditional(hmm: Hmm, n_paths: int, n: int, seed: int) -> tuple[Floats, Floats]:
    """Values of the functions, (n, K), and weights (n,)."""
    rng = np.random.default_rng(seed)
    values, weights = [], np.empty(n)
    for k in range(n):
        phi = some_phi(hmm, seed * n + k)
        paths = np.empty((n_paths, 3), np.int64)
        paths[:, :2] = rng.choice(2, size=(n_paths, 2), p=phi.start)
        paths[:, 2] = rng.random(n_paths) < phi.transitions[paths[:, 1], 1]
        data, weights[k] = draw_data(hmm, phi, paths, rng)
        values.append(functions(phi, paths, data))
    return np.array(values), weights


def successive_conditional(hmm: Hmm, n_paths: int, sampler: str, n: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    how = settings(n_paths, sampler == COLLAPSED, seed)
    values = []
    models: dict[Any, Any] = {}
    data = hmm.emissions.values
    paths = plait_model(hmm, sampler).initial_paths(n_paths, seed, THREADS)
    for k in range(n):
        name = data.tobytes()
        if name not in models:
            models = models if isinstance(hmm.emissions, Symbols) else {}
            models[name] = plait_model(replace(hmm, emissions=replace(hmm.emissions, values=data)), sampler)
        model = models[name]
        state = step(model, State(k, paths), how, THREADS)
        parameters = state.parameters
        if parameters is None:
            parameters = model.draw_parameters(state.counts, Key(seed, k + 1), THREADS)
        phi = oracle_phi(parameters)
        data, _ = draw_data(hmm, phi, paths, rng)
        if k >= 50:
            values.append(functions(phi, paths, data))
    return np.array(values)


def functions(phi: Phi, paths: np.ndarray, data: np.ndarray) -> Floats:
    """Functions of phi, paths and data alone, and of all of them together."""
    data = data[:, None].astype(float) if data.ndim == 1 else data
    own = phi.emissions
    if isinstance(own, tuple):
        # logarithms, because the variance of a variance may be infinite
        means, covariances = own
        spread = np.log(
            np.abs(np.linalg.det(covariances) if covariances.shape[-2:] == (2, 2) else covariances)
        )
        if covariances.ndim == 3:
            ratio = covariances[:, 0, 1] / np.sqrt(covariances[:, 0, 0] * covariances[:, 1, 1])
            spread = np.concatenate([spread.ravel(), ratio])
        parts = [np.tanh(means), spread]
    else:
        parts = [np.tanh(own), own[:, :1] * own[:, 1:]]
    first, last = paths[0], paths[-1]
    squashed = np.tanh(data)
    parts += [[phi.start[0], phi.start[0] ** 2], phi.transitions[:, 0], phi.transitions[:, 0] ** 2]
    parts += [paths.mean(axis=0), first == last, [first[1] == first[2]], [first[0] * first[2]]]
    parts += [squashed, [squashed[0, 0] * squashed[2, 0], squashed[1, -1] * squashed[2, -1]]]
    parts += [squashed[:, 0] * paths.mean(axis=0), squashed[:, -1] * first * last]
    parts += [[phi.start[first[0]], phi.transitions[first[1], first[2]] * squashed[2, 0]]]
    return np.concatenate([np.asarray(part, float).ravel() for part in parts])


# Slow: one path except for symbols; single sites of numbers, whose conditionals test_hmm_conditionals.py
# checks one by one; and most forms of the covariance.
QUICK = ("full", "counts")
CASES = [
    pytest.param(name, m, sampler, scale, id=f"{name}-m{m}-{sampler}-{scale}", marks=marks)
    for name in PROBLEMS
    for sampler in ([BLOCKED, SITES, TABLE, COLLAPSED] if name == "symbols" else [BLOCKED, SITES])
    for m in (1, 2)
    for scale in (1, 10)
    for marks in [
        [pytest.mark.slow]
        if scale == 10 or (name != "symbols" and (m == 1 or sampler == "sites" or name not in QUICK))
        else []
    ]
]


@pytest.mark.parametrize(("name", "n_paths", "sampler", "scale"), CASES)
def test_both_simulators_have_the_same_means(
    name: str, n_paths: int, sampler: str, scale: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(sampler, monkeypatch)
    hmm = PROBLEMS[name]
    forward, weights = forward_draws(name, n_paths, scale)
    weights = weights / weights.sum()
    assert 1 / np.sum(weights**2) > 300 * scale  # effective number of draws
    backward = successive_conditional(hmm, n_paths, sampler, 2_000 * scale, seed=8)
    assert forward.shape[1] == backward.shape[1] > 20
    mean = weights @ forward
    forward_error = np.sqrt(weights**2 @ (forward - mean) ** 2)
    varies = backward.std(axis=0) > 1e-12
    z = batch_z(backward[:, varies], mean[varies], n_batches=25)
    # batch_z divides by the standard error of the backward means; add that of the forward ones
    kept = len(backward) // 25 * 25
    backward_error = np.abs((backward[:kept, varies].mean(axis=0) - mean[varies]) / z)
    assert_small(z * backward_error / np.hypot(backward_error, forward_error[varies]))


_FORWARD: dict[tuple[str, int, int], tuple[Floats, Floats]] = {}


def forward_draws(name: str, n_paths: int, scale: int) -> tuple[Floats, Floats]:
    key = (name, n_paths, scale)
    if key not in _FORWARD:
        _FORWARD[key] = marginal_conditional(PROBLEMS[name], n_paths, 1_500 * scale, seed=7)
    return _FORWARD[key]
