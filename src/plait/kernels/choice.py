"""Draws of one of several states, in proportion to their weights."""

from __future__ import annotations

from plait.jit import kernel


@kernel
def choose(weights, total, u):
    """Return a state drawn with these weights (n,), whose sum is `total`; never one of weight zero.

    `u` is a uniform variate.
    """
    x = u * total
    chosen = 0
    for s in range(weights.size - 1):
        x -= weights[s]
        if x < 0.0:
            break
        chosen += 1
    # Rounding may carry x past the last state of positive weight.
    while chosen > 0 and weights[chosen] == 0.0:
        chosen -= 1
    while weights[chosen] == 0.0 and chosen < weights.size - 1:
        chosen += 1
    return chosen
