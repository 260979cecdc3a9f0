"""The number of states as a compile-time constant, and draws of states.

`size` makes kernels fast when there are few states: it is a tuple of S entries, whose values do not matter.
Its length is part of its type, so that the compiler unrolls loops over states. With many states it is empty.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.matrices import draw_products
from plait.rng import uniform_of

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
        chosen = draw_products(left, row, right, (line,), (u,))[0]
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
    return possible_state(left, row, right, line, chosen)


@kernel
def possible_state(left, row, right, line, chosen):
    """Return a state that was drawn, or if it has no weight, because of rounding, the last one that has."""
    n_states = np.uint64(left.shape[1])
    chosen = min(chosen, n_states - _ONE)
    if left[row, chosen] * right[line, chosen] == 0.0:
        chosen = n_states - _ONE
        while chosen > 0 and left[row, chosen] * right[line, chosen] == 0.0:
            chosen -= _ONE
    return chosen


@kernel
def draw_states(size, left, row, right, states, streams, path_range):
    """Replace the state of each path by one that is drawn with the weights left(s) right(s).

    `row` of the left array is the same for all paths, and that of the right one is the state so far. Five
    draws are made side by side, because each step of a draw waits for the one before it.
    """
    row = np.uint64(row)
    j, last = path_range
    while j + 1 < last:
        lines = (
            np.uint64(states[j]),
            np.uint64(states[j + 1]),
            _line(states, j + 2, last),
            _line(states, j + 3, last),
            _line(states, j + 4, last),
        )
        variates = (
            uniform_of(streams, j),
            uniform_of(streams, j + 1),
            _variate(streams, j + 2, last),
            _variate(streams, j + 3, last),
            _variate(streams, j + 4, last),
        )
        drawn = draw_products(left, row, right, lines, variates)
        for k in range(min(5, last - j)):
            states[j + k] = possible_state(left, row, right, lines[k], drawn[k])
        j += 5
    while j < last:
        states[j] = draw_state(size, left, row, right, states[j], uniform_of(streams, j))
        j += 1


@kernel
def _line(states, j, last):
    """Return the state of a path, or 0, for a draw that is not used, if there is no such path."""
    return np.uint64(states[j]) if j < last else np.uint64(0)


@kernel
def _variate(streams, j, last):
    """Return a uniform variate for a path, or 0 if there is no such path."""
    return uniform_of(streams, j) if j < last else 0.0
