"""Checks of plain arguments that several places make."""

from __future__ import annotations

import operator

from plait.errors import PlaitError


def check_integer(what: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return `value` as an int between `least` and `most`, or raise an error that names it."""
    limits = f"at least {least}" if most is None else f"between {least} and {most}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise PlaitError(f"{what} is {value!r}: it must be a whole number, {limits}") from None
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        raise PlaitError(f"{what} is {value}: it must be {limits}")
    return number
