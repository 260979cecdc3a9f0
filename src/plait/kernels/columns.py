"""Kernel of emissions with independent columns, whose log-densities are linear in a few functions.

`features` (N, D (K + 1)) holds, for each column, whether it is observed, as 0 or 1, and K functions of the
number, 0 if it is missing. So sums over the observations of a state (`plait.kernels.emissions.sum_values`)
are all that the posterior of its parameters depends on. The row of an observation that is missing as a whole
is NaN.
"""

from __future__ import annotations

from plait.jit import kernel


@kernel
def log_linear(first, last, features, base, coefficients, logs):
    """Set `logs` (n, S) to base_i + sum_k coefficients_sk features_ik, or 0 for a missing observation."""
    for i in range(first, last):
        is_seen = features[i, 0] == features[i, 0]
        for s in range(coefficients.shape[0]):
            x = 0.0
            if is_seen:
                x = base[i]
                for k in range(coefficients.shape[1]):
                    if features[i, k] != 0.0:  # an infinite coefficient times 0 is 0
                        x += coefficients[s, k] * features[i, k]
            logs[i - first, s] = x
