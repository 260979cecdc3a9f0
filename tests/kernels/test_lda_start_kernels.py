"""The closest mixture of anchors: the solution of a quadratic programme on the simplex."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from plait.kernels.lda_starts import recover_shares


def recover(anchors, rows, tolerance=1e-10):
    gram, products = anchors @ anchors.T, rows @ anchors.T
    shares = np.full(products.shape, np.nan)
    buffer = np.empty(len(anchors))
    recover_shares(0, len(rows), gram, products, shares, buffer, tolerance, 10_000)
    return shares


def test_mixtures_of_anchors_are_recovered():
    rng = np.random.default_rng(0)
    anchors = rng.normal(size=(6, 10))
    truth = np.concatenate([rng.dirichlet(np.full(6, 0.3), 40), np.eye(6)])
    np.testing.assert_allclose(recover(anchors, truth @ anchors), truth, atol=1e-6)


def test_other_rows_get_the_closest_mixture():
    rng = np.random.default_rng(1)
    anchors, rows = rng.normal(size=(4, 5)), rng.normal(size=(10, 5))
    shares = recover(anchors, rows)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.all(shares >= 0)
    for share, row in zip(shares, rows, strict=True):

        def loss(c, row=row):
            return np.sum((row - c @ anchors) ** 2)

        best = minimize(
            loss,
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda c: c.sum() - 1},
            options={"ftol": 1e-14},
        )
        assert loss(share) < best.fun + 1e-8


def test_indefinite_products_end():
    """Products of rows of different halves need not be those of any vectors; shares are still shares."""
    rng = np.random.default_rng(2)
    gram = rng.normal(size=(5, 5))
    shares = np.empty((8, 5))
    recover_shares(0, 8, gram + gram.T, rng.normal(size=(8, 5)), shares, np.empty(5), 1e-9, 1000)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.all(shares >= 0)


def test_equal_anchors_end():
    shares = recover(np.ones((3, 2)), np.array([[5.0, 5.0], [1.0, 1.0]]))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
