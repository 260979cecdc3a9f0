"""Errors and warnings.

A message is one line that says what is wrong, where, and what to do. It may name arguments of Python
functions, for which the command shows its options. So an error keeps arguments separate from text:

    raise PlaitError(Argument("n_paths"), " must be at least 1, got 0")

reads "n_paths must be at least 1, got 0" in Python, and "--paths must be ..." from the command.

Messages quote files that others wrote, so control characters in them are shown as escapes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from plait.display import one_line


@dataclass(frozen=True)
class Argument:
    """An argument that a message names.

    Parameters
    ----------
    name : str
        Its name in Python.
    value : object, optional
        A value that the message recommends: `Argument("missing", True)` reads "missing=True".
    """

    name: str
    value: object = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class PlaitError(ValueError):
    """Bad input, or a file that cannot be read or written; the message is one line for the user.

    Parameters
    ----------
    *parts : str, Argument or PlaitError
        The message, in parts that are joined without spaces.
    """

    def __init__(self, *parts: str | Argument | PlaitError) -> None:
        self.parts: tuple[str | Argument, ...] = tuple(
            piece for part in parts for piece in (part.parts if isinstance(part, PlaitError) else (part,))
        )
        super().__init__(*self.parts)

    @property
    def argument(self) -> str | None:
        """Name of the first argument that the message names, if any."""
        return next((part.name for part in self.parts if isinstance(part, Argument)), None)

    def message(self, name_of: Callable[[Argument], str] = str) -> str:
        """Return the message as one line, with each argument named by `name_of`."""
        return one_line("".join(name_of(part) if isinstance(part, Argument) else part for part in self.parts))

    def rename(self, names: Mapping[str, str]) -> None:
        """Give arguments the names that they have in another interface."""
        self.parts = tuple(
            replace(part, name=names.get(part.name, part.name)) if isinstance(part, Argument) else part
            for part in self.parts
        )
        self.args = self.parts

    def __str__(self) -> str:
        return self.message()


@contextmanager
def rename_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Rename arguments in errors raised in the block, as in {"alpha": "doc_topic_prior"}."""
    try:
        yield
    except PlaitError as error:
        error.rename(names)
        raise


Part = str | Argument | PlaitError
"""A part of a message."""


class PlaitWarning(UserWarning):
    """Something the user should know that did not stop the work, such as empty documents."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class NotSupported(PlaitError, NotImplementedError):
    """A model does not have what was asked for, such as a collapsed sampler."""


if not TYPE_CHECKING:  # otherwise the type checker would accept any attribute of this module

    def __getattr__(name: str) -> Any:
        return deprecated_name(__name__, {"NotOffered": NotSupported}, name)


def deprecated_name(module: str, renamed: dict[str, Any], name: str) -> Any:
    """Return the object that replaces a deprecated name, with a warning; for a module's `__getattr__`."""
    if name not in renamed:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    new = renamed[name]
    warnings.warn(f"{name} is called {new.__name__} now", DeprecationWarning, stacklevel=3)
    return new
