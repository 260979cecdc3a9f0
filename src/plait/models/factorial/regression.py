"""The means and the covariance given the paths: a Bayesian regression.

Given the paths of all chains, the observations X (n, D) are a regression X = Z B + noise. Z (n, K S) has a
row for each observation of each path, with a one for the state of each chain; B (K S, D) holds the means.
With B0 their prior means, V the diagonal of their weights, C the covariance, and R0 and f its prior scale and
degrees of freedom,

    P(B, C | X, Z) ~ |C|^-(n + K S + f + D + 1)/2 exp(-(1/2) tr C^-1 [(X - Z B)'(X - Z B)
                     + (B - B0)' V (B - B0) + R0]).

To complete the square in B, let A = V + Z'Z = L L' and M = A^-1 (V B0 + Z'X). The bracket is
(B - M)' A (B - M) + R with

    R = R0 + X'X + B0' V B0 - M' A M,      M' A M = H'H,  H = L^-1 (V B0 + Z'X).

So C is inverse Wishart with scale R and f + n degrees of freedom, and given C = F F'

    B = M + L'^-1 N F' = L'^-1 (H + N F'),      N (K S, D) standard normal.

A diagonal C makes the features independent: they share A, and the variance of each is inverse gamma with
shape (f + n) / 2 and scale R_dd / 2.

Observations and prior means are relative to the mean of the data, which is divided equally among the chains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plait.arrays import Floats
from plait.errors import PlaitError
from plait.kernels import parameters as kernels
from plait.models.emissions.covariances import draw_inverse_wishart_root, solved
from plait.models.factorial.parameters import FactorialCounts
from plait.models.factorial.priors import FactorialPriors
from plait.models.model import Key

_LOST = 1e-14  # a weight smaller than this share of the counts is lost to rounding


class Posterior(NamedTuple):
    """The posterior of means and covariance."""

    factor: Floats
    """L, (K S, K S)"""

    half: Floats
    """H, (K S, D)"""

    scale: Floats
    """R, (D, D), or its diagonal (D,)"""

    degrees: float
    """f + n"""


def posterior_of(counts: FactorialCounts, priors: FactorialPriors, centre: Floats) -> Posterior:
    """Return the posterior given the counts of all paths; `centre` is the mean of the data."""
    n_features = len(centre)
    weight = priors.mean_weights.reshape(-1, 1)
    means = (priors.means - centre / len(priors.means)).reshape(-1, n_features)
    precision = counts.together.reshape(len(weight), -1).copy()
    lost = weight.min() < _LOST * precision.max()
    precision.flat[:: len(weight) + 1] += weight[:, 0]
    try:
        factor: Floats = np.linalg.cholesky(precision).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        lost = True
    if lost:
        # Only the prior determines the constant that one chain may add to all its means and another subtract.
        raise PlaitError(
            f"the weight of the means' prior, {weight.min():g}, is lost to rounding among"
            f" {counts.observations:g} observations: increase it"
        )
    half = solved(factor, counts.sums.reshape(-1, n_features) + weight * means)
    if priors.is_matrix:
        scatter = counts.squares + means.T @ (weight * means) - half.T @ half
    else:
        scatter = counts.squares + (weight * means**2).sum(axis=0) - (half**2).sum(axis=0)
        scatter = np.maximum(scatter, 0.0)  # rounding may make it negative
    return Posterior(factor, half, priors.scale + scatter, priors.degrees + float(counts.observations))


def draw(posterior: Posterior, key: Key, unit: int) -> tuple[Floats, Floats]:
    """Draw means (K S, D) and covariance, from the streams of the units `unit` and `unit + 1`."""
    factor, half, scale, degrees = posterior
    n_features = half.shape[1]
    normals = np.empty(half.shape)
    kernels.fill_normals(unit, normals.reshape(-1), key)
    if scale.ndim == 2:
        root = draw_inverse_wishart_root(scale, degrees, key, unit + 1)
        covariance, noise = root @ root.T, normals @ root.T
    else:
        gammas = np.empty(n_features)
        kernels.fill_gammas(unit + 1, np.full(n_features, degrees / 2), gammas, key)
        covariance = scale / (2 * gammas)
        noise = normals * np.sqrt(covariance)
    return solved(factor, half + noise, transposed=True), covariance


def mean(posterior: Posterior) -> tuple[Floats, Floats]:
    """Return the mean of the means (K S, D) and of the covariance.

    The mean of an inverse Wishart distribution is scale / (degrees - D - 1), and that of the inverse gamma
    distribution, in the same terms, scale / (degrees - 2). With too few degrees it does not exist, and
    scale / degrees is returned instead.
    """
    factor, half, scale, degrees = posterior
    less = degrees - (half.shape[1] + 1.0 if scale.ndim == 2 else 2.0)
    return solved(factor, half, transposed=True), scale / (less if less > 0 else degrees)
