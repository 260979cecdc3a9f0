"""Checks of plain arguments; `name` is the name of the argument, which the error carries."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from plait.errors import Argument, PlaitError


def short_repr(value: object, limit: int = 60) -> str:
    """Return a repr for messages, on one line and cut off after `limit` characters."""
    return cut(" ".join(repr(value).split()), limit)


def cut(text: str, limit: int) -> str:
    """Return the text, cut off with dots after it if it has more than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def list_names(names: Iterable[object], limit: int = 60) -> str:
    """Return the names for a message, in quotes, each cut off after `limit`, and separated by commas."""
    return ", ".join(cut(repr(name), limit) for name in names) or "none"


def check_integer(
    name: str, value: object, *, least: int, most: int | None = None, limit: int | None = None
) -> int:
    """Return `value` as an int of at least `least` and at most `most`, or raise an error that names it.

    `limit` is a bound far above all sensible values; only an error about a number beyond it mentions it.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if isinstance(value, bool) or number is None or number < least or (most is not None and number > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise PlaitError(Argument(name), f" must be a whole number {limits}, got {short_repr(value)}")
    if limit is not None and number > limit:
        raise PlaitError(Argument(name), f" must be at most {limit}, got {short_repr(value)}")
    return number


def check_number(name: str, value: object, *, least: float | None = 0.0) -> float:
    """Return `value` as a finite float of at least `least`, or raise an error that names it."""
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:  # an int that no float can hold
            number = np.inf
        if np.isfinite(number) and (least is None or number >= least):
            return number
    limits = "finite number" if least is None else f"number of at least {least:g}"
    raise PlaitError(Argument(name), f" must be a {limits}, got {short_repr(value)}")


def check_flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False, or raise an error that names it."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise PlaitError(Argument(name), f" must be True or False, got {short_repr(value)}")


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return `value` if it is one of the choices, or raise an error that lists them."""
    if isinstance(value, str) and value in choices:
        return value
    raise PlaitError(Argument(name), f" must be one of {list_names(choices)}, got {short_repr(value)}")


def check_string(name: str, value: object) -> str:
    """Return `value` if it is a string, or raise an error that names it."""
    if isinstance(value, str):
        return value
    raise PlaitError(Argument(name), f" must be a string, got {short_repr(value)}")


def check_strings(
    name: str, values: Iterable[str], *, n: int | None = None, of: str = "documents", key: str = ""
) -> tuple[str, ...]:
    """Return the values as a tuple of plain strings, or raise an error that names the wrong one.

    Parameters
    ----------
    name : str
        Name of the argument.
    values : iterable of str
        The values as the user passed them.
    n : int, optional
        Required number of values.
    of : str
        Plural noun for the things that have one value each, for messages.
    key : str
        If the values are part of the argument, the text after its name in messages, such as "['party']".
    """
    argument = Argument(name)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise PlaitError(argument, f"{key} must be a sequence of strings, got {short_repr(values)}")
    result = tuple(values)
    for i, value in enumerate(result):
        if not isinstance(value, str):
            raise PlaitError(
                argument, f"{key}[{i}] must be a string, got {short_repr(value)}: convert it with str()"
            )
        if not value.isascii() and not is_unicode(value):
            raise PlaitError(
                argument,
                f"{key}[{i}] must not have lone surrogates, which UTF-8 cannot hold, got {short_repr(value)}:"
                " remove them",
            )
    if n is not None:
        check_length(name, result, n, of=of, key=key)
    return tuple(map(str, result))


def check_length(
    name: str, values: Sequence[object], n: int, *, of: str = "documents", key: str = ""
) -> None:
    """Raise an error unless there are `n` values; `of` and `key` as in `check_strings`."""
    if len(values) != n:
        raise PlaitError(
            Argument(name), f"{key} must have one entry for each of the {n} {of}, got {len(values)}"
        )


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can hold the text, as it cannot hold lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_distinct_strings(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return the values as `check_strings` does, or raise an error that names a duplicate."""
    result = check_strings(name, values)
    first: dict[str, int] = {}
    for i, value in enumerate(result):
        if first.setdefault(value, i) != i:
            raise PlaitError(
                Argument(name),
                f" must not have duplicates, got {short_repr(value)} at {first[value]} and {i}: remove one",
            )
    return result
