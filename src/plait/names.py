"""Names of topics and states. They come from users and files, so they are checked before a run keeps them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from plait.checks import check_integer, is_unicode, short_repr
from plait.errors import Argument, PlaitError

MAX_NAME: Final = 1000
"""Maximum number of characters of a name."""

_NAMES: Final = Argument("names")
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,9}", re.ASCII)


def check_names(names: Any, n_states: int) -> dict[int, str]:
    """Return names of topics or states, by number, as a dict in the order of the numbers.

    Parameters
    ----------
    names : mapping of int to str
        The names as they were given.
    n_states : int
        Number of topics or states.
    """
    checked: dict[int, str] = {}
    owners: dict[str, int] = {}
    for key, name in _mapping(names).items():
        number = _check_key(key, n_states)
        text = _check_name(number, name)
        if owners.setdefault(text, number) != number:
            raise PlaitError(
                _NAMES,
                f"[{number}] must differ from the name of {owners[text]}, got {short_repr(text)} for both:"
                " change one",
            )
        checked[number] = text
    return dict(sorted(checked.items()))


def merged_names(names: Mapping[int, str], more: Any, n_states: int) -> dict[int, Any]:
    """Return names with others added or, where these are None, removed; `check_names` comes after this."""
    merged = {**names, **{_check_key(key, n_states): name for key, name in _mapping(more).items()}}
    return {number: name for number, name in merged.items() if name is not None}


def names_from_json(names: Any) -> dict[int, Any]:
    """Return names by number from JSON, in which numbers are strings: {"3": "taxes"}.

    They may also be in the form that a report saves, {"names": {"3": "taxes"}, "hidden": [5]}.
    """
    if isinstance(names, dict) and "names" in names:
        names = names["names"]
    if not isinstance(names, dict):
        raise PlaitError(_NAMES, f' must be an object, such as {{"3": "taxes"}}, got {short_repr(names)}')
    for key in names:
        if not _NUMBER.fullmatch(key):
            raise PlaitError(_NAMES, f" must have whole numbers in quotes as keys, got {short_repr(key)}")
    return {int(key): name for key, name in names.items()}


def hidden_from_json(value: Any, n_states: int) -> tuple[int, ...]:
    """Return the numbers of the topics that are hidden, from JSON in the form that a report saves."""
    hidden = value.get("hidden", []) if isinstance(value, dict) else []
    if not isinstance(hidden, list):
        raise PlaitError(Argument("hidden"), f" must be a list of numbers, got {short_repr(hidden)}")
    return tuple(check_integer("hidden", number, least=0, most=n_states - 1) for number in hidden)


def _mapping(names: Any) -> Mapping[Any, Any]:
    if not isinstance(names, Mapping):
        raise PlaitError(
            _NAMES,
            f' must be a mapping from numbers to names, such as {{3: "taxes"}}, got {short_repr(names)}',
        )
    return names


def _check_key(key: object, n_states: int) -> int:
    try:
        return check_integer("names", key, least=0, most=n_states - 1)
    except PlaitError:
        raise PlaitError(
            _NAMES, f" must have whole numbers from 0 to {n_states - 1} as keys, got {short_repr(key)}"
        ) from None


def _check_name(number: int, name: Any) -> str:
    if not isinstance(name, str):
        raise PlaitError(
            _NAMES, f"[{number}] must be a string, got {short_repr(name)}: convert it with str()"
        )
    if not name.strip():
        raise PlaitError(_NAMES, f"[{number}] must not be blank, got {short_repr(name)}: give it a name")
    if len(name) > MAX_NAME:
        raise PlaitError(
            _NAMES, f"[{number}] must have at most {MAX_NAME} characters, got {len(name)}: shorten it"
        )
    if not is_unicode(name):
        raise PlaitError(
            _NAMES,
            f"[{number}] must not have lone surrogates, which UTF-8 cannot hold, got {short_repr(name)}:"
            " remove them",
        )
    return str(name)
