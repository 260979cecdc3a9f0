"""Checks of plain arguments that several places make; `name` is the argument's, which the error carries."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.errors import Argument, PlaitError


def short_repr(value: object, limit: int = 60) -> str:
    """Return the value as it should look in a message: one line, not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def check_integer(name: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int of at least `least` and at most `most`, or raise an error that names it."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if isinstance(value, bool) or number is None or number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise PlaitError(Argument(name), f" must be a whole number {limits}, got {short_repr(value)}")
    return number


def check_number(name: str, value: object, *, least: float | None = 0.0) -> float:
    """Return `value` as a finite float of at least `least`, or raise an error that names it."""
    if (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and np.isfinite(value)
        and (least is None or value >= least)
    ):
        return float(value)
    limits = "finite number" if least is None else f"number of at least {least:g}"
    raise PlaitError(Argument(name), f" must be a {limits}, got {short_repr(value)}")


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return `value` if it is one of the choices, or raise an error that lists them."""
    if isinstance(value, str) and value in choices:
        return value
    raise PlaitError(
        Argument(name), f" must be one of {', '.join(map(repr, choices))}, got {short_repr(value)}"
    )


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


def frozen_copy(array: ArrayLike) -> NDArray[Any]:
    """Return a read-only copy of the array in C order."""
    return frozen(np.array(array, order="C"))
