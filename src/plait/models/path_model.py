"""Models of one's own: written for a single path, run with any number of them.

`PathModel` turns a few methods, each about one path and in plain NumPy or Numba, into what
`plait.models.model.Model` asks for. docs/your-own-model.md walks through an example.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plait.checks import check_integer, short_repr
from plait.errors import NotSupported, PlaitError
from plait.models.model import Arrays, Header, Key, Paths
from plait.rng import INITIAL, PARAMETERS, generator
from plait.threads import Threads

Path = NDArray[Any]


class PathModel:
    """A model of one's own. Derive a dataclass from it, whose fields are the data and the priors.

    To be written: `n_sites` and `n_states`, as fields or properties, and the methods `statistics`, `draw`,
    `update` and `log_density`. The others may be written for more: `first_path` to begin elsewhere than at
    random, `mean` for point estimates, `update_collapsed` for Algorithm 2, and `simulate` so that
    `plait.testing.check_model` can test all of it.

    Random numbers come from the generators that the methods are given, and from nowhere else: then a run
    does not depend on the number of threads, and goes on after a pause as if there had been none.
    """

    kind: ClassVar[str] = "own"
    """Name of the model in files."""

    site_name: ClassVar[str] = "site"
    """What a site is called in messages."""

    n_sites: int
    """Number of latent variables in a path (N)."""

    n_states: int
    """Number of values that a latent variable can take (S)."""

    # ---------------------------------------------------------------------------------------------
    # To be written
    # ---------------------------------------------------------------------------------------------

    def statistics(self, path: Path) -> Any:
        """Return the sufficient statistics of a path (N,): a number, an array, or a dict or tuple of these.

        Those of all paths are added up.
        """
        raise self._lacks("statistics")

    def draw(self, statistics: Any, rng: np.random.Generator) -> Any:
        """Draw the parameters phi given the statistics of all paths together: line 4 of Algorithm 1."""
        raise self._lacks("draw")

    def update(self, path: Path, parameters: Any, rng: np.random.Generator) -> Path | None:
        """Draw every latent variable of a path given phi, in place: lines 5 to 9 of Algorithm 1.

        A new path may be returned instead.
        """
        raise self._lacks("update")

    def log_density(self, path: Path, parameters: Any) -> float:
        """Return log P(p, w | phi); a term that depends on neither p nor phi may be left out."""
        raise self._lacks("log_density")

    # ---------------------------------------------------------------------------------------------
    # May be written
    # ---------------------------------------------------------------------------------------------

    def first_path(self, rng: np.random.Generator) -> Path:
        """Draw a path to begin with; by default every latent variable at random."""
        return rng.integers(self.n_states, size=self.n_sites)

    def mean(self, statistics: Any) -> Any:
        """Return the mean of phi given the statistics of all paths together."""
        raise self._lacks("mean")

    def update_collapsed(self, path: Path, statistics: Any, rng: np.random.Generator) -> None:
        """Draw every latent variable of a path given those of all paths, in place: Algorithm 2.

        The statistics are those of all paths together, and must be again on return.
        """
        raise self._lacks("update_collapsed")

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Path, Any]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi."""
        raise self._lacks("simulate")

    def _lacks(self, method: str) -> NotSupported:
        return NotSupported(f"{type(self).__name__} has no method {method}: write one, see plait.PathModel")

    # ---------------------------------------------------------------------------------------------
    # What the sampler asks for
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the first paths."""
        n_sites = check_integer(f"n_sites of {type(self).__name__}", self.n_sites, least=1)
        n_states = check_integer(f"n_states of {type(self).__name__}", self.n_states, least=1, most=2**32)
        paths = np.empty((n_paths, n_sites), np.uint16 if n_states <= 2**16 else np.uint32)
        for j in range(n_paths):
            self._put("first_path", paths[j], self.first_path(generator(seed, INITIAL, j, 0)))
        return paths

    def count(self, paths: Paths, threads: Threads) -> Any:
        """Return the sum of the statistics of all paths."""
        each = threads.map(lambda j, _: self.statistics(paths[j]), _singly(len(paths)))
        total = _copied(each[0])
        for j in range(1, len(each)):
            total = _added("statistics()", total, each[j], j)
        return total

    def draw_parameters(self, counts: Any, key: Key, threads: Threads) -> Any:
        """Draw phi."""
        parameters = self.draw(counts, generator(*key, PARAMETERS, 0))
        check_finite(f"draw() of {type(self).__name__} in sweep {key.sweep}", parameters)
        return parameters

    def mean_parameters(self, counts: Any, threads: Threads) -> Any:
        """Return the mean of phi."""
        return self.mean(counts)

    def resample(self, paths: Paths, parameters: Any, key: Key, threads: Threads) -> None:
        """Draw all paths given phi, each with random numbers of its own."""

        def update(j: int, _: int) -> None:
            path = paths[j].astype(np.int64)  # in which a wrong value can be seen
            returned = self.update(path, parameters, generator(*key, j, 0))
            self._put("update", paths[j], path if returned is None else returned)

        threads.map(update, _singly(len(paths)))

    def resample_collapsed(self, paths: Paths, counts: Any, key: Key) -> None:
        """Draw one path after the other, phi integrated out."""
        for j in range(len(paths)):
            path = paths[j].astype(np.int64)
            self.update_collapsed(path, counts, generator(*key, j, 0))
            self._put("update_collapsed", paths[j], path)

    def log_joint(self, paths: Paths, parameters: Any, threads: Threads) -> NDArray[np.float64]:
        """Return log P(p^j, w | phi) for every path."""
        values = threads.map(lambda j, _: self.log_density(paths[j], parameters), _singly(len(paths)))
        return np.array(values, np.float64)

    def _put(self, method: str, path: Path, values: Path) -> None:
        """Put the values into a path, if they can be one."""
        values = np.asarray(values)
        name = f"{method}() of {type(self).__name__}"
        if values.shape != path.shape or values.dtype.kind not in "ui":
            raise PlaitError(
                f"{name} makes a path of shape {values.shape} and {values.dtype}: a path has shape"
                f" ({self.n_sites},), n_sites, and whole numbers"
            )
        if not 0 <= values.min() <= values.max() < self.n_states:
            site = int(np.argmax((values < 0) | (values >= self.n_states)))
            raise PlaitError(
                f"{name} puts site {site} into state {values[site]}: states go from 0 to"
                f" {self.n_states - 1}, n_states - 1"
            )
        path[:] = values

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the fields of the dataclass: arrays, and what JSON can hold."""
        if not dataclasses.is_dataclass(self):
            raise PlaitError(
                f"{type(self).__name__} cannot be kept in a file: make it a dataclass, or write to_arrays and"
                " from_arrays"
            )
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}
        arrays = {name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
        header = {name: value for name, value in fields.items() if name not in arrays}
        for name, value in header.items():
            try:
                same = json.loads(json.dumps(value)) == value
            except (TypeError, ValueError):
                same = False
            if not same:
                raise PlaitError(
                    f"{type(self).__name__}.{name} is {short_repr(value)}, which cannot be kept in a file: make it"
                    " an array, a number, a text, or a list of these"
                )
        return arrays, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Make the model again from what `to_arrays` returned."""
        return cls(**arrays, **header)


def leaves(value: Any, name: str = "") -> list[tuple[str, NDArray[Any]]]:
    """Return the arrays in a number, an array, or a dict, tuple, list or dataclass of these, with names."""
    if isinstance(value, Mapping):
        parts = [(f"{name}[{key!r}]", part) for key, part in value.items()]
    elif isinstance(value, (tuple, list)):
        parts = [(f"{name}[{k}]", part) for k, part in enumerate(value)]
    elif dataclasses.is_dataclass(value):
        parts = [(f"{name}.{f.name}", getattr(value, f.name)) for f in dataclasses.fields(value)]
    else:
        array = np.asarray(value)
        return [(name, array)] if array.dtype.kind in "buif" else []
    return [leaf for inner, part in parts for leaf in leaves(part, inner)]


def check_finite(name: str, value: Any) -> None:
    """Refuse numbers that are NaN or infinite, wherever they are."""
    for place, array in leaves(value, name):
        if not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            at = "".join(f"[{i}]" for i in index)
            raise PlaitError(f"{place}{at} is {array[index]}: parameters must be finite numbers")


def _singly(n: int) -> list[tuple[int, int]]:
    return [(j, j + 1) for j in range(n)]


def _copied(value: Any) -> Any:
    """Return a copy that can be changed without changing what a model may have kept."""
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(_copied(part) for part in value)
    return np.array(value)


def _added(name: str, total: Any, more: Any, j: int) -> Any:
    """Return the sum of statistics; they must have the same form for every path."""
    if isinstance(total, Mapping):
        if not isinstance(more, Mapping) or more.keys() != total.keys():
            raise PlaitError(
                f"{name} has the keys {short_repr(list(total))} for path 0, but not for path {j}"
            )
        return {key: _added(f"{name}[{key!r}]", part, more[key], j) for key, part in total.items()}
    if isinstance(total, tuple):
        if not isinstance(more, (tuple, list)) or len(more) != len(total):
            raise PlaitError(f"{name} has {len(total)} parts for path 0, but not for path {j}")
        return tuple(_added(f"{name}[{k}]", part, more[k], j) for k, part in enumerate(total))
    if np.shape(more) != np.shape(total):
        raise PlaitError(
            f"{name} has shape {np.shape(total)} for path 0 and {np.shape(more)} for path {j}: it must be the"
            " same for all"
        )
    return total + more
