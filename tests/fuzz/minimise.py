"""Make the input of a finding smaller, as long as its cause stays the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from inputs import Input


def minimise(input: Input, same: Callable[[Input], bool], seconds: float) -> Input:
    """Return a smaller input with the same finding.

    Parameters
    ----------
    input : Input
        The input of a finding.
    same : callable
        Whether another input has the same finding.
    seconds : float
        Stop after this time.
    """
    end = time.monotonic() + seconds
    again = True
    while again:
        again = False
        for smaller in _smaller(input):
            if time.monotonic() > end:
                return input
            if same(smaller):
                input, again = smaller, True
                break
    return input


def _smaller(input: Input) -> Iterator[Input]:
    """Yield inputs that lack a part, large parts first."""
    if input.data is None:
        for i in range(len(input.edits)):
            yield replace(input, edits=input.edits[:i] + input.edits[i + 1 :])
        return
    size = len(input.data)
    step = size // 2
    while step:
        for first in range(0, size, step):
            yield replace(input, data=input.data[:first] + input.data[first + step :])
        step //= 2
