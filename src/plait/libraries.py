"""Libraries that only some functions need: they are imported when used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from plait.errors import PlaitError


def library(name: str, extra: str = "interop") -> Any:
    """Return an optional library, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        reason = "" if error.name == name else f" and cannot be imported ({error})"
        raise PlaitError(f'this needs {name}{reason}: pip install "plait[{extra}]"') from error
