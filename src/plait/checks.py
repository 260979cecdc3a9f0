"""Checks of plain arguments that several places make."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.errors import PlaitError


def shown(value: object, limit: int = 60) -> str:
    """Return the value as it should look in a message: one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def check_integer(what: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int of at least `least` and at most `most`, or raise an error that names it."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if isinstance(value, bool) or number is None or number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise PlaitError(f"{what} is {shown(value)}: pass a whole number {limits}")
    return number


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


def frozen_copy(array: ArrayLike) -> NDArray[Any]:
    """Return a read-only copy of the array, rows one after another."""
    return frozen(np.array(array, order="C"))
