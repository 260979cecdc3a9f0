"""The number of states as a compile-time constant, and a draw of one state.

`size` makes kernels fast when there are few states: it is a tuple of S entries, whose values do not matter.
Its length is part of its type, so that the compiler unrolls loops over states. With many states it is empty.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.matrices import draw_product

_ONE = np.uint64(1)

FEW_STATES = 4
"""Maximum number of states for which kernels are compiled separately."""


def size_of(n_states: int) -> tuple[int, ...]:
    """Return the argument `size` of kernels for a number of states."""
    return (0,) * n_states if n_states <= FEW_STATES else ()


@kernel
def number_of_states(size, n_states):
    """Return the number of states, as a compile-time constant when there are few."""
    return len(size) if len(size) > 0 else n_states


@kernel
def draw_state(size, left, row, right, line, u):
    """Return a state drawn with the weights left(s) right(s), each a row of an array.

    The sum is computed twice rather than stored: a buffer would make the draws of different paths depend on
    each other, which the processor otherwise executes at the same time.
    """
    row, line = np.uint64(row), np.uint64(line)
    n_states = np.uint64(number_of_states(size, left.shape[1]))
    if len(size) == 0:
        chosen = min(draw_product(left, row, right, line, u), n_states - _ONE)
    else:
        total = 0.0
        for s in range(n_states):
            total += left[row, s] * right[line, s]
        x = u * total
        chosen = np.uint64(0)
        total = 0.0
        for s in range(n_states - _ONE):
            total += left[row, s] * right[line, s]
            chosen += np.uint64(total <= x)
    if left[row, chosen] * right[line, chosen] == 0.0:  # x was rounded up to the total
        chosen = n_states - _ONE
        while chosen > 0 and left[row, chosen] * right[line, chosen] == 0.0:
            chosen -= _ONE
    return chosen
