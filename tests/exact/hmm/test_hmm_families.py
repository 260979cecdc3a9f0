"""Families of emissions: densities, draws of phi for any number of paths, and EM, against SciPy and NumPy.

The distribution of phi is P(phi) P(w | phi)^m. Draws from the prior by NumPy, weighted by likelihoods that
SciPy's densities and a sum over all paths give, have it too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from oracle import Floats
from scipy import stats
from support import LEAST_P, THREADS, assert_small, batch_z, settings

from plait.data.sequences import Sequences
from plait.models.emissions import (
    AutoregressiveEmissions,
    ExponentialEmissions,
    GammaEmissions,
    GaussianMixtureEmissions,
    LogNormalEmissions,
    MultinomialSequenceEmissions,
    NegativeBinomialEmissions,
    RegressionEmissions,
    StudentEmissions,
    VonMisesEmissions,
    mixed_emissions,
)
from plait.models.hmm import HmmModel
from plait.models.model import Key
from plait.models.scalar_posteriors import ScalarPosteriors, modes
from plait.sampler import State, step

NAN = np.nan
LENGTHS = [3, 2]
START, MOVES = np.array([1.5, 2.5]), np.array([[3.0, 1.5], [1.2, 2.8]])
POSITIVE = np.array([[0.4], [2.1], [NAN], [1.3], [5.2]])
ANGLES = np.array([[0.3], [3.0], [-2.9], [NAN], [1.1]])
COUNTS = np.array([[2.0], [0.0], [NAN], [7.0], [3.0]])
NUMBERS = np.array([[0.3], [-1.2], [0.4], [NAN], [2.2]])
KINDS_OF = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [NAN] * 3, [1.0, 1.0, 0.0], [2.0, 0.0, 4.0]])


def both(a: float, b: float) -> Floats:
    """Return a prior (S, 1) that differs between the two states."""
    return np.array([[a], [b]])


@dataclass(frozen=True)
class Family:
    """A family: its emissions of the tiny data, draws of its parameters from the prior, and densities."""

    values: Floats
    emissions: Callable[[Sequences], Any]
    prior: Callable[[int, np.random.Generator], dict[str, Floats]]
    log_density: Callable[[Floats, dict[str, Floats]], Floats]
    """Of a row, given parameters (..., S, D): (..., S)."""

    rows: Floats | None = None
    """The rows of the density, if they are not those of the data."""


def gammas(shape: Floats, rate: Floats, n: int, rng: np.random.Generator) -> Floats:
    return rng.gamma(np.broadcast_to(shape, (n, *np.shape(shape)))) / rate


def gamma_prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
    shapes = gammas(both(3.0, 4.0), both(2.0, 1.5), n, rng)
    rates = rng.gamma(shapes * both(3.0, 2.0)) / (both(3.0, 2.0) * both(1.0, 2.0))
    return {"means": shapes / rates, "shapes": shapes}


def lognormal_prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
    variances = both(4.0, 5.0) / 2 / gammas(both(4.5, 4.0), 1.0, n, rng)
    shift = rng.normal(size=variances.shape) * np.sqrt(variances / both(2.0, 1.0))
    return {"log_means": both(0.0, 0.8) + shift, "log_variances": variances}


def negative_binomial_prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
    sizes = gammas(both(3.0, 4.0), both(1.0, 1.2), n, rng)
    q = rng.beta(both(4.0, 6.0), both(6.0, 5.0), (n, 2, 1))
    return {"means": sizes * (1 - q) / q, "sizes": sizes}


MIXTURE_MEANS = np.array([[[-1.0], [0.5]], [[0.0], [2.0]]])
MIXTURE_DEGREES = np.array([[7.0, 8.0], [9.0, 7.5]])
MIXTURE_WEIGHTS = np.array([[2.0, 3.0], [4.0, 1.5]])


def mixture_prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
    covariances = (4.0 / 2 / gammas(MIXTURE_DEGREES / 2, 1.0, n, rng))[..., None]
    means = MIXTURE_MEANS + rng.normal(size=covariances.shape) * np.sqrt(covariances / 1.5)
    weights = np.stack([rng.dirichlet(row, n) for row in MIXTURE_WEIGHTS], axis=1)
    return {"weights": weights, "means": means, "covariances": covariances}


def mixture_density(x: Floats, own: dict[str, Floats]) -> Floats:
    each = stats.norm.pdf(x, own["means"], np.sqrt(own["covariances"])).prod(axis=-1)
    return np.log((own["weights"] * each).sum(axis=-1))


def student_prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
    scales = both(4.0, 5.0) / 2 / gammas(both(4.5, 4.0), 1.0, n, rng)
    shift = rng.normal(size=scales.shape) * np.sqrt(scales / both(2.0, 1.0))
    degrees = gammas(both(2.0, 3.0), both(0.5, 0.8), n, rng)
    return {"locations": both(0.0, 0.8) + shift, "squared_scales": scales, "degrees": degrees}


CENTRE, SLOPES = np.array([0.2, -0.1]), np.array([[0.3, 0.5], [-0.4, 0.2]])
SLOPE_WEIGHTS = np.array([[2.0, 1.5], [1.2, 3.0]])


def linear_prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
    variances = np.array([4.0, 5.0]) / 2 / gammas(np.array([4.5, 4.0]), 1.0, n, rng)
    shift = rng.normal(size=(n, 2, 2)) * np.sqrt(variances[..., None] / SLOPE_WEIGHTS)
    coefficients = SLOPES + shift
    coefficients[..., 0] += CENTRE[1] - coefficients[..., 1] * CENTRE[0]
    return {"coefficients": coefficients, "variances": variances}


def linear_density(row: Floats, own: dict[str, Floats]) -> Floats:
    mean = own["coefficients"] @ np.append(1.0, row[1:])
    return stats.norm.logpdf(row[0], mean, np.sqrt(own["variances"]))


LINEAR: dict[str, Any] = {
    "centre": CENTRE,
    "coefficient_prior": SLOPES,
    "coefficient_weight": SLOPE_WEIGHTS,
    "variance_prior": np.array([4.0, 5.0]),
    "variance_weight": np.array([9.0, 8.0]),
}
SERIES = np.array([[0.3], [-1.2], [0.9], [0.4], [2.2]])

FAMILIES = {
    "student": Family(
        NUMBERS,
        lambda data: StudentEmissions(
            data,
            2,
            mean_prior=both(0.0, 0.8),
            mean_weight=both(2.0, 1.0),
            variance_prior=both(4.0, 5.0),
            variance_weight=both(9.0, 8.0),
            degrees_prior=both(2.0, 3.0),
            degrees_weight=both(0.5, 0.8),
        ),
        student_prior,
        lambda x, own: stats.t.logpdf(
            x, own["degrees"], own["locations"], np.sqrt(own["squared_scales"])
        ).sum(axis=-1),
    ),
    "regression": Family(
        np.array([[0.3, 1.0], [-1.2, 0.4], [0.9, -0.7], [NAN, NAN], [2.2, 0.1]]),
        lambda data: RegressionEmissions(data, 2, **LINEAR),
        linear_prior,
        linear_density,
    ),
    "autoregressive": Family(
        SERIES,
        lambda data: AutoregressiveEmissions(data, 2, **LINEAR),
        linear_prior,
        linear_density,
        np.array([[NAN, NAN], [-1.2, 0.3], [0.9, -1.2], [NAN, NAN], [2.2, 0.4]]),  # y, and y before
    ),
    "exponential": Family(
        POSITIVE,
        lambda data: ExponentialEmissions(data, 2, mean_prior=both(1.0, 2.0), mean_weight=both(4.0, 3.0)),
        lambda n, rng: {"means": 1 / gammas(both(4.0, 3.0), both(4.0, 6.0), n, rng)},
        lambda x, own: stats.expon.logpdf(x, scale=own["means"]).sum(axis=-1),
    ),
    "gamma": Family(
        POSITIVE,
        lambda data: GammaEmissions(
            data,
            2,
            mean_prior=both(1.0, 2.0),
            mean_weight=both(3.0, 2.0),
            shape_prior=both(3.0, 4.0),
            shape_weight=both(2.0, 1.5),
        ),
        gamma_prior,
        lambda x, own: stats.gamma.logpdf(x, own["shapes"], scale=own["means"] / own["shapes"]).sum(axis=-1),
    ),
    "lognormal": Family(
        POSITIVE,
        lambda data: LogNormalEmissions(
            data,
            2,
            mean_prior=both(0.0, 0.8),
            mean_weight=both(2.0, 1.0),
            variance_prior=both(4.0, 5.0),
            variance_weight=both(9.0, 8.0),
        ),
        lognormal_prior,
        lambda x, own: stats.lognorm.logpdf(
            x, np.sqrt(own["log_variances"]), scale=np.exp(own["log_means"])
        ).sum(axis=-1),
    ),
    "vonmises": Family(
        ANGLES,
        lambda data: VonMisesEmissions(
            data, 2, concentration_prior=both(2.0, 3.0), concentration_weight=both(3.0, 2.5)
        ),
        lambda n, rng: {
            "directions": rng.uniform(-np.pi, np.pi, (n, 2, 1)),
            "concentrations": gammas(both(2.0, 3.0), both(3.0, 2.5), n, rng),
        },
        lambda x, own: stats.vonmises.logpdf(x, own["concentrations"], loc=own["directions"]).sum(axis=-1),
    ),
    "negative-binomial": Family(
        COUNTS,
        lambda data: NegativeBinomialEmissions(
            data,
            2,
            prior=both(4.0, 6.0),
            prior_of_counts=both(6.0, 5.0),
            size_prior=both(3.0, 4.0),
            size_weight=both(1.0, 1.2),
        ),
        negative_binomial_prior,
        lambda x, own: stats.nbinom.logpmf(x, own["sizes"], own["sizes"] / (own["sizes"] + own["means"])).sum(
            axis=-1
        ),
    ),
    "gaussian-mixture": Family(
        NUMBERS,
        lambda data: GaussianMixtureEmissions(
            data,
            2,
            2,
            covariance="diag",
            weight_prior=MIXTURE_WEIGHTS,
            mean_prior=MIXTURE_MEANS,
            mean_weight=1.5,
            covariance_prior=4.0,
            covariance_weight=MIXTURE_DEGREES,
        ),
        mixture_prior,
        mixture_density,
    ),
    "multinomial-sequences": Family(
        KINDS_OF,
        lambda data: MultinomialSequenceEmissions(
            data, 2, prior=np.array([[2.0, 3.0, 4.0], [5.0, 1.5, 2.5]])
        ),
        lambda n, rng: {
            "probabilities": np.stack(
                [rng.dirichlet([2.0, 3.0, 4.0], n), rng.dirichlet([5.0, 1.5, 2.5], n)], axis=1
            )
        },
        lambda x, own: stats.multinomial.logpmf(x, x.sum(), own["probabilities"]),
    ),
}


def joined(parts: dict[int, str]) -> Family:
    """Return the family of columns with families of their own."""
    chosen = [FAMILIES[name] for name in parts.values()]

    def emissions(data: Sequences) -> Any:
        made = []
        for d, family in zip(parts, chosen, strict=True):
            own = family.emissions(Sequences.from_values(family.values, LENGTHS, missing=True))
            options = {name: array for name, array in own.to_arrays()[0].items() if "sequences" not in name}
            made.append(((d,), own.kind, options))
        return mixed_emissions(data, 2, made)

    def prior(n: int, rng: np.random.Generator) -> dict[str, Floats]:
        return {
            f"{k}.{name}": array
            for k, family in enumerate(chosen)
            for name, array in family.prior(n, rng).items()
        }

    def log_density(x: Floats, own: dict[str, Floats]) -> Floats:
        total = np.zeros(())
        for k, (d, family) in enumerate(zip(parts, chosen, strict=True)):
            if not np.isnan(x[d]):
                mine = {name[2:]: array for name, array in own.items() if name.startswith(f"{k}.")}
                total = total + family.log_density(x[d : d + 1], mine)
        return total

    values = np.hstack([family.values for _, family in sorted(zip(parts, chosen, strict=True))])
    return Family(values, emissions, prior, log_density)


FAMILIES["mixed"] = joined({1: "vonmises", 0: "gamma"})
"""Its two columns lack different observations."""

EVERY_FAMILY = pytest.mark.parametrize("name", FAMILIES)


def model_of(name: str) -> HmmModel:
    family = FAMILIES[name]
    sequences = Sequences.from_values(family.values, LENGTHS, missing=True)
    return HmmModel(family.emissions(sequences), START, MOVES)


def tables(family: Family, own: dict[str, Floats], n: int) -> Floats:
    """Return the log-density of each row in each state, (n, N, S)."""
    rows = np.zeros((n, len(family.values), 2))
    for i, row in enumerate(family.values if family.rows is None else family.rows):
        if not np.isnan(row).all():
            rows[:, i] = family.log_density(row, own)
    return rows


def likelihoods(start: Floats, moves: Floats, logs: Floats) -> Floats:
    """Return P(w | phi) of each draw, the sum over all paths of both sequences."""
    densities, total = np.exp(logs), np.ones(len(logs))
    for at in (range(3), range(3, 5)):
        of_sequence = np.zeros(len(logs))
        for path in itertools.product(range(2), repeat=len(at)):
            p = start[:, path[0]] * densities[:, at[0], path[0]]
            for i, (before, after) in zip(at[1:], itertools.pairwise(path), strict=True):
                p = p * moves[:, before, after] * densities[:, i, after]
            of_sequence += p
        total *= of_sequence
    return total


def functions(start: Floats, moves: Floats, own: dict[str, Floats]) -> Floats:
    """Return bounded functions of phi, or functions with light tails, (n, K)."""
    parts = [start[:, :1], moves[:, :, 0], moves[:, :1, 0] * moves[:, 1:, 0]]
    for name, array in own.items():
        flat = array.reshape(len(array), -1)
        if "directions" in name:
            parts += [np.cos(flat), np.sin(flat)]
        elif array.min() > 0:
            parts += [np.log(flat), 1 / (1 + flat)]
        else:
            parts += [np.tanh(flat)]
    first = parts[3]
    parts += [first[:, :1] * parts[-1], first[:, :1] * start[:, :1]]
    return np.hstack(parts)


@EVERY_FAMILY
def test_weights_are_the_log_densities_of_scipy(name: str) -> None:
    family, model = FAMILIES[name], model_of(name)
    logs = model.emissions
    for sweep in range(1, 20):
        phi = model.draw_parameters(model.count(np.zeros((1, 5), np.uint16), THREADS), Key(3, sweep), THREADS)
        own = {key: array[None] for key, array in phi.emissions.to_arrays().items()}
        exact = tables(family, own, 1)[0]
        np.testing.assert_allclose(logs.weights(phi.emissions, 0, 5), exact, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(
            logs.weights(phi.emissions, 2, 4), logs.weights(phi.emissions, 0, 5)[2:4]
        )


QUICK = [
    ("mixed", 3),
    ("negative-binomial", 2),
    ("gaussian-mixture", 2),
    ("lognormal", 2),
    ("exponential", 1),
]


@pytest.mark.parametrize(
    ("name", "n_paths"),
    [
        pytest.param(name, m, id=f"{name}-m{m}", marks=() if (name, m) in QUICK else pytest.mark.slow)
        for name in FAMILIES
        for m in ((1, 2) if name == "mixed" else (1, 2, 3))  # weights would be too unequal
    ],
)
def test_parameters_have_the_distribution_of_the_prior_times_the_power_of_the_likelihood(
    name: str, n_paths: int
) -> None:
    family, n = FAMILIES[name], 30_000 if (name, n_paths) in QUICK else 150_000
    rng = np.random.default_rng(11)
    start = rng.dirichlet(START, n)
    moves = np.stack([rng.dirichlet(row, n) for row in MOVES], axis=1)
    own = family.prior(n, rng)
    weights = likelihoods(start, moves, tables(family, own, n)) ** n_paths
    weights /= weights.sum()
    assert 1 / np.sum(weights**2) > 100  # effective number of draws
    known = functions(start, moves, own)
    mean = weights @ known
    error = np.sqrt(weights**2 @ (known - mean) ** 2)

    model = model_of(name)
    how = settings(n_paths, False, 5)
    state = State(0, model.initial_paths(n_paths, 5, THREADS))
    drawn = []
    for k in range(1_600 if (name, n_paths) in QUICK else 5_100):
        state = step(model, state, how, THREADS)
        if k >= 100:
            drawn.append(state.parameters)
    arrays = [phi.emissions.to_arrays() for phi in drawn]
    values = functions(
        np.array([phi.start for phi in drawn]),
        np.array([phi.transitions for phi in drawn]),
        {key: np.array([each[key] for each in arrays]) for key in own},
    )
    z = batch_z(values, mean, n_batches=25)
    own_error = np.abs((values.mean(axis=0) - mean) / z)
    assert_small(z * own_error / np.hypot(own_error, error))


@EVERY_FAMILY
def test_em_never_lowers_the_posterior(name: str) -> None:
    """With weak priors the likelihood never falls by more than the priors gain, which is little."""
    model = model_of(name)
    phi = model.first_parameters(Key(2, 1))
    last = -np.inf
    for _ in range(15):
        counts, _ = model.expected_counts(phi, THREADS)
        phi = model.mode_parameters(counts)
        again = model.mode_parameters(counts)
        for key, array in phi.emissions.to_arrays().items():
            assert np.isfinite(array).all(), key
            np.testing.assert_array_equal(array, again.emissions.to_arrays()[key])
        posterior = model.log_likelihood(phi, 1) + log_prior(name, phi)
        assert posterior > last - 1e-9
        last = posterior


def log_prior(name: str, phi: Any) -> float:
    """Return the log-density of phi, up to a constant, in the coordinates in which the mode is taken."""
    own = phi.emissions.to_arrays()
    total = stats.dirichlet.logpdf(phi.start, START)
    total += sum(
        stats.dirichlet.logpdf(row, prior) for row, prior in zip(phi.transitions, MOVES, strict=True)
    )
    return float(total + np.sum(LOG_PRIORS[name](own)))


def _log_gamma_prior(own: dict[str, Floats]) -> Floats:
    k, rate = own["shapes"], own["shapes"] / own["means"]
    weight, mean = both(3.0, 2.0), both(1.0, 2.0)
    logs = stats.gamma.logpdf(k, both(3.0, 4.0), scale=1 / both(2.0, 1.5)) + np.log(k)
    return logs + stats.gamma.logpdf(rate, k * weight, scale=1 / (weight * mean)) + np.log(rate)


def _log_normal_prior(mean: Floats, variance: Floats, *prior: Any) -> Floats:
    centre, weight, scale, degrees = prior
    logs = stats.norm.logpdf(mean, centre, np.sqrt(variance / weight))
    return logs + stats.gamma.logpdf(1 / variance, degrees / 2, scale=2 / scale)  # of the inverse variance


def _log_negative_binomial_prior(own: dict[str, Floats]) -> Floats:
    r, q = own["sizes"], own["sizes"] / (own["sizes"] + own["means"])
    logs = stats.gamma.logpdf(r, both(3.0, 4.0), scale=1 / both(1.0, 1.2)) + np.log(r)
    return logs + stats.beta.logpdf(q, both(4.0, 6.0), both(6.0, 5.0)) + np.log(q * (1 - q))


def _log_von_mises_prior(own: dict[str, Floats]) -> Floats:
    kappa = own["concentrations"]
    return stats.gamma.logpdf(kappa, both(2.0, 3.0), scale=1 / both(3.0, 2.5)) + np.log(kappa)


def _log_linear_prior(own: dict[str, Floats]) -> Floats:
    relative = own["coefficients"].copy()
    relative[:, 0] += relative[:, 1] * CENTRE[0] - CENTRE[1]
    logs = stats.norm.logpdf(relative, SLOPES, np.sqrt(own["variances"][:, None] / SLOPE_WEIGHTS)).sum()
    shapes = np.array([4.5, 4.0])
    return logs + stats.gamma.logpdf(1 / own["variances"], shapes, scale=2 / np.array([4.0, 5.0])).sum()


def _log_student_prior(own: dict[str, Floats]) -> Floats:
    prior = both(0.0, 0.8), both(2.0, 1.0), both(4.0, 5.0), both(9.0, 8.0)
    logs = _log_normal_prior(own["locations"], own["squared_scales"], *prior)
    nu = own["degrees"]
    return logs + stats.gamma.logpdf(nu, both(2.0, 3.0), scale=1 / both(0.5, 0.8)) + np.log(nu)


LOG_PRIORS: dict[str, Callable[[dict[str, Floats]], Any]] = {
    "student": _log_student_prior,
    "regression": _log_linear_prior,
    "autoregressive": _log_linear_prior,
    "exponential": lambda own: (
        stats.gamma.logpdf(1 / own["means"], both(4.0, 3.0), scale=1 / both(4.0, 6.0)) - np.log(own["means"])
    ),
    "gamma": _log_gamma_prior,
    "lognormal": lambda own: _log_normal_prior(
        own["log_means"], own["log_variances"], both(0.0, 0.8), both(2.0, 1.0), both(4.0, 5.0), both(9.0, 8.0)
    ),
    "vonmises": _log_von_mises_prior,
    "negative-binomial": _log_negative_binomial_prior,
    "gaussian-mixture": lambda own: (
        _log_normal_prior(
            own["means"], own["covariances"], MIXTURE_MEANS, 1.5, 4.0, MIXTURE_DEGREES[..., None]
        ).sum()
        + sum(map(stats.dirichlet.logpdf, own["weights"], MIXTURE_WEIGHTS))
    ),
    "multinomial-sequences": lambda own: sum(
        stats.dirichlet.logpdf(row, prior)
        for row, prior in zip(own["probabilities"], ([2.0, 3.0, 4.0], [5.0, 1.5, 2.5]), strict=True)
    ),
    "mixed": lambda own: (
        _log_von_mises_prior({"concentrations": own["0.concentrations"]}).sum()
        + _log_gamma_prior({"shapes": own["1.shapes"], "means": own["1.means"]}).sum()
    ),
}


# ---------------------------------------------------------------------------------------------------------
# Draws given the paths, against the textbook
# ---------------------------------------------------------------------------------------------------------


def draws_given_one_state(emissions: Any, n: int = 3_000) -> list[dict[str, Floats]]:
    statistics = emissions.count(0, emissions.n_sites, np.zeros((1, emissions.n_sites), np.uint16))
    return [emissions.draw(statistics, Key(4, sweep), 3).to_arrays() for sweep in range(1, n + 1)]


def test_regressions_are_drawn_from_the_normal_inverse_gamma_posterior() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=12) + 4.0
    y = 1.0 - 0.5 * x + 3.0 * rng.normal(size=12)
    data = Sequences.from_values(np.column_stack([y, x]))
    drawn = draws_given_one_state(RegressionEmissions(data, 2, **LINEAR))
    design = np.column_stack([np.ones(12), x - CENTRE[0]])
    precision = design.T @ design + np.diag(SLOPE_WEIGHTS[0])
    right = design.T @ (y - CENTRE[1]) + SLOPE_WEIGHTS[0] * SLOPES[0]
    mean = np.linalg.solve(precision, right)
    scale = 4.0 + np.sum((y - CENTRE[1]) ** 2) + SLOPE_WEIGHTS[0] @ SLOPES[0] ** 2 - mean @ right
    degrees = 9.0 + 12
    variances = np.array([each["variances"][0] for each in drawn])
    assert stats.kstest(variances, stats.invgamma(degrees / 2, scale=scale / 2).cdf).pvalue > LEAST_P
    coefficients = np.array([each["coefficients"][0] for each in drawn])
    spread = np.sqrt(np.diag(np.linalg.inv(precision)) * scale / degrees)
    coefficients[:, 0] += coefficients[:, 1] * CENTRE[0] - CENTRE[1]
    for k in range(2):
        assert stats.kstest((coefficients[:, k] - mean[k]) / spread[k], stats.t(degrees).cdf).pvalue > LEAST_P


@pytest.mark.parametrize("rate", [0.3, 14.0])  # the second holds concentrations against the data near 0
def test_directions_and_concentrations_are_drawn_from_their_posterior(rate: float) -> None:
    """By the sums over a grid of both."""
    angles = np.random.default_rng(9).vonmises(0.7, 3.0, 15)
    emissions = VonMisesEmissions(
        Sequences.from_values(angles), 2, concentration_prior=2.0, concentration_weight=rate
    )
    drawn = draws_given_one_state(emissions, 12_000)
    kappa, mu = np.linspace(0.005, 25, 1_500)[:, None], np.linspace(-np.pi, np.pi, 1_201)[None, :-1]
    logs = stats.gamma.logpdf(kappa, 2.0, scale=1 / rate)
    logs = logs + sum(stats.vonmises.logpdf(angle, kappa, loc=mu) for angle in angles)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    for name, points, shares in (
        ("concentrations", kappa[:, 0], weights.sum(axis=1)),
        ("directions", mu[0], weights.sum(axis=0)),
    ):
        values = np.array([each[name][0, 0] for each in drawn])
        exact = np.interp(values, points, np.cumsum(shares) - shares / 2)
        assert stats.kstest(exact, "uniform").pvalue > LEAST_P, name


# ---------------------------------------------------------------------------------------------------------
# Posteriors of single parameters
# ---------------------------------------------------------------------------------------------------------

SHAPES, RATES = np.array([0.5, 3.0, 1000.0, 1e6]), np.array([1.0, 2.0, 5.0, 1e3])


def log_gamma_density(t: Floats) -> Floats:
    return SHAPES[:, None] * t - RATES[:, None] * np.exp(t)


def test_draws_of_single_parameters_have_their_distribution() -> None:
    posteriors = ScalarPosteriors(log_gamma_density, 4)
    drawn = np.array([posteriors.draw(Key(0, sweep), 3) for sweep in range(1, 4_000)])
    for k in range(4):
        assert stats.kstest(drawn[:, k], stats.gamma(SHAPES[k], scale=1 / RATES[k]).cdf).pvalue > LEAST_P
    np.testing.assert_allclose(
        posteriors.mean(), SHAPES / RATES, rtol=2e-4
    )  # 1e-4 of the first is below 1e-8
    np.testing.assert_allclose(modes(log_gamma_density, 4), SHAPES / RATES, rtol=1e-6)


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.7, 30.0, 9e3, 2e4, 1e9])
def test_von_mises_variates_have_their_distribution(kappa: float) -> None:
    from plait.kernels import parameters

    drawn = np.empty(4_000)
    parameters.fill_von_mises(5, np.full(4_000, kappa), drawn, Key(1, 2))
    exact = stats.norm(scale=kappa**-0.5) if kappa > 1e6 else stats.vonmises(kappa)
    assert stats.kstest(drawn, exact.cdf).pvalue > LEAST_P
