"""Elementary functions of vector code, compared with the system's."""

from __future__ import annotations

import numpy as np

from plait.kernels.elementary import cos_of_turns, exp_of, log_of


def test_logarithms_are_those_of_the_system():
    x = np.concatenate([np.logspace(-300, 300, 2001), np.linspace(0.5, 2, 2001), [np.sqrt(0.5), np.sqrt(2)]])
    logs = np.array([log_of(value) for value in x])
    np.testing.assert_allclose(logs, np.log(x), rtol=1e-11, atol=1e-15)


def test_exponentials_are_those_of_the_system():
    x = np.concatenate([np.linspace(-700, 700, 2001), np.linspace(-1, 1, 2001)])
    np.testing.assert_allclose([exp_of(value) for value in x], np.exp(x), rtol=1e-11)


def test_cosines_are_those_of_the_system():
    x = np.linspace(0, 1, 4001)
    np.testing.assert_allclose([cos_of_turns(value) for value in x], np.cos(2 * np.pi * x), atol=1e-13)
