"""Shares of a model: models of some of its data, in a form that can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plait.arrays import frozen

T = TypeVar("T")


class Share(NamedTuple):
    """A function that builds the model of some of the data, and its arguments."""

    build: Callable[..., Any]
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, model: Any, changes: Mapping[str, Any]) -> Share:
        """Return the share of a model that differs from it in some attributes, those with the data.

        All others are those of the whole, such as priors that were found from all data.
        """
        kept = {
            name: value
            for name, value in vars(model).items()
            if not isinstance(getattr(type(model), name, None), cached_property)  # they may describe all data
        }
        return cls(changed_copy, (type(model), {**kept, **changes}))

    def model(self) -> Any:
        """Return the model."""
        return self.build(*self.arguments)


def changed_copy(kind: type[T], attributes: Mapping[str, Any]) -> T:
    """Return an object with the given attributes, whose arrays become read-only; pickle does not keep that.

    No constructor checks or changes them.
    """
    made = object.__new__(kind)
    vars(made).update(_frozen_all(attributes))
    return made


def _frozen_all(value: T) -> T:
    """Make all arrays in nested containers and objects of plait read-only, and return the value."""
    if isinstance(value, np.ndarray):
        frozen(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            _frozen_all(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            _frozen_all(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            _frozen_all(getattr(value, field.name))
    elif type(value).__module__.startswith("plait."):
        _frozen_all(vars(value))
    return value
