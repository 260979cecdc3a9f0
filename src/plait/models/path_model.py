"""User-defined models: written for a single path, run with any number of paths.

`PathModel` turns a few methods for a single path, in plain NumPy or Numba, into a
`plait.models.model.Model`. docs/your-own-model.md walks through an example.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plait.checks import check_integer, short_repr
from plait.errors import NotSupported, PlaitError
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.shares import Share
from plait.rng import INITIAL, PARAMETERS, generator
from plait.threads import Range, Threads

Path = NDArray[Any]


class PathModel:
    """Base class of user-defined models: derive a dataclass whose fields are the data and the priors.

    Required are `n_sites` and `n_states`, as fields or properties, and the methods `statistics`, `draw`,
    `update` and `log_density`. Optional are `first_path` for a start that is not random, `mean` for point
    estimates, `update_collapsed` for Algorithm 2, `parts` for data that several threads or a cluster share,
    and `simulate`, which lets `plait.testing.check_model` test the whole model.

    Draw random numbers only from the generators that the methods receive. Then a run does not depend on the
    number of threads, and a resumed run has the bits of an uninterrupted one.
    """

    kind: ClassVar[str] = "own"
    """Name of the model in files."""

    site_name: ClassVar[str] = "site"
    """Name of a site in messages."""

    n_sites: int
    """Number of latent variables in a path (N)."""

    n_states: int
    """Number of values that a latent variable can take (S)."""

    exact_counts: ClassVar[bool] = False

    # ---------------------------------------------------------------------------------------------
    # Required
    # ---------------------------------------------------------------------------------------------

    def statistics(self, path: Path) -> Any:
        """Return the sufficient statistics of a path (N,): a number, an array, or a dict or tuple of these.

        plait sums them over all paths.
        """
        raise self._lacks("statistics")

    def draw(self, statistics: Any, rng: np.random.Generator) -> Any:
        """Draw the parameters phi given the statistics of all paths together: line 4 of Algorithm 1."""
        raise self._lacks("draw")

    def update(self, path: Path, parameters: Any, rng: np.random.Generator) -> Path | None:
        """Draw every latent variable of a path given phi, in place: lines 5 to 9 of Algorithm 1.

        You may return a new path instead.
        """
        raise self._lacks("update")

    def log_density(self, path: Path, parameters: Any) -> float:
        """Return log P(p, w | phi), up to a term that depends on neither p nor phi."""
        raise self._lacks("log_density")

    # ---------------------------------------------------------------------------------------------
    # Optional
    # ---------------------------------------------------------------------------------------------

    def first_path(self, rng: np.random.Generator) -> Path:
        """Draw an initial path; by default every latent variable is uniform."""
        return rng.integers(self.n_states, size=self.n_sites)

    def parts(self) -> Sequence[PathModel] | None:
        """Return models of parts of the data, one after another, if the data can be cut; by default None.

        Given phi, the parts must not depend on each other. Then each has random numbers of its own, and only
        its `n_sites`, `statistics`, `update` and `log_density` are used: statistics and log-densities are
        summed over the parts. How the data are cut must depend on the data alone. A hundred parts or so let
        as many threads and workers share the work.
        """
        return None

    def mean(self, statistics: Any) -> Any:
        """Return the mean of phi given the statistics of all paths together."""
        raise self._lacks("mean")

    def update_collapsed(self, path: Path, statistics: Any, rng: np.random.Generator) -> None:
        """Draw every latent variable of a path given those of all paths, in place: Algorithm 2.

        The statistics are those of all paths together, on entry and on return.
        """
        raise self._lacks("update_collapsed")

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Path, Any]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi."""
        raise self._lacks("simulate")

    def _lacks(self, method: str) -> NotSupported:
        return NotSupported(f"{type(self).__name__} has no method {method}: add one, see plait.PathModel")

    # ---------------------------------------------------------------------------------------------
    # The contract of the sampler
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the first paths."""
        n_sites = check_integer(f"n_sites of {type(self).__name__}", self.n_sites, least=1)
        n_states = check_integer(f"n_states of {type(self).__name__}", self.n_states, least=1, most=2**32)
        paths = np.empty((n_paths, n_sites), np.uint16 if n_states <= 2**16 else np.uint32)
        for j in range(n_paths):
            self._put("first_path", paths[j], self.first_path(generator(seed, INITIAL, j, 0)))
        return paths

    @functools.cached_property
    def _pieces(self) -> _Pieces:
        parts = self.parts()
        if parts is None:
            return _Pieces([self], [0, int(self.n_sites)])
        bounds = [0, *np.cumsum([part.n_sites for part in parts], dtype=np.int64).tolist()]
        if bounds[-1] != self.n_sites or len(bounds) == 1:
            raise PlaitError(
                f"parts() of {type(self).__name__} must return models with {self.n_sites} sites in all,"
                f" n_sites, got {bounds[-1]}"
            )
        return _Pieces(list(parts), bounds)

    def count(self, paths: Paths, threads: Threads) -> Any:
        """Return the sum of the statistics of all paths."""
        return self.sum_counts(self.count_parts(paths, threads))

    def count_parts(self, paths: Paths, threads: Threads) -> list[Any]:
        """Return the statistics of all paths, for each part of the data."""
        pieces, m = self._pieces, len(paths)
        each = threads.map(
            lambda t, _: pieces.models[t // m].statistics(pieces.of(paths[t % m], t // m)),
            _singly(len(pieces.models) * m),
        )
        return [_sum(each[k * m : (k + 1) * m], "path") for k in range(len(pieces.models))]

    def sum_counts(self, parts: list[Any]) -> Any:
        """Return the sum of the statistics of all parts."""
        return _sum(parts, "part")

    def draw_parameters(self, counts: Any, key: Key, threads: Threads) -> Any:
        """Draw phi."""
        parameters = self.draw(counts, generator(*key, PARAMETERS, 0))
        check_finite(f"draw() of {type(self).__name__} in sweep {key.sweep}", parameters)
        return parameters

    def mean_parameters(self, counts: Any, threads: Threads) -> Any:
        """Return the mean of phi."""
        return self.mean(counts)

    def resample(self, paths: Paths, parameters: Any, key: Key, threads: Threads) -> None:
        """Draw all paths given phi, each with its own random numbers."""
        pieces, m = self._pieces, len(paths)

        def update(task: int, _: int) -> None:
            k, j = divmod(task, m)
            own = pieces.of(paths[j], k)
            path = own.astype(np.int64)  # signed and wide, so that wrong values do not wrap around
            returned = pieces.models[k].update(path, parameters, generator(*key, j, pieces.first + k))
            self._put("update", own, path if returned is None else returned)

        threads.map(update, _singly(len(pieces.models) * m))

    def resample_collapsed(self, paths: Paths, counts: Any, key: Key) -> None:
        """Draw one path after the other, phi integrated out."""
        for j in range(len(paths)):
            path = paths[j].astype(np.int64)
            self.update_collapsed(path, counts, generator(*key, j, 0))
            self._put("update_collapsed", paths[j], path)

    def log_joint(self, paths: Paths, parameters: Any, threads: Threads) -> NDArray[np.float64]:
        """Return log P(p^j, w | phi) for every path."""
        return np.sum(self.log_joint_parts(paths, parameters, threads), axis=0)

    def log_joint_parts(self, paths: Paths, parameters: Any, threads: Threads) -> list[NDArray[np.float64]]:
        """Return the terms of `log_joint`, one for each part of the data."""
        pieces, m = self._pieces, len(paths)
        values = threads.map(
            lambda t, _: pieces.models[t // m].log_density(pieces.of(paths[t % m], t // m), parameters),
            _singly(len(pieces.models) * m),
        )
        return list(np.array(values, np.float64).reshape(-1, m))

    def check_divisible(self, n_paths: int) -> None:
        """Raise an error if the model does not say how its data can be cut."""
        if self.parts() is None:
            name = type(self).__name__
            raise NotSupported(f"{name} does not say how its data can be cut: add a method parts to it")

    def site_ranges(self) -> list[Range]:
        """Return the sites of each part of the data."""
        return list(pairwise(self._pieces.bounds))

    def share(self, first: int, last: int) -> Share:
        """Return the model of the parts `first` to `last`."""
        bounds = self._pieces.bounds[first : last + 1]
        pieces = _Pieces(self._pieces.models[first:last], [bound - bounds[0] for bound in bounds], first)
        return Share(_Part, (pieces, self.n_states))

    def _put(self, method: str, path: Path, values: Path) -> None:
        """Copy values into a path, or raise an error if they are not a path."""
        values = np.asarray(values)
        name = f"{method}() of {type(self).__name__}"
        if values.shape != path.shape or values.dtype.kind not in "ui":
            raise PlaitError(
                f"{name} must make a path of integers of shape ({self.n_sites},), n_sites, got {values.dtype}"
                f" of shape {values.shape}"
            )
        if not 0 <= values.min() <= values.max() < self.n_states:
            site = int(np.argmax((values < 0) | (values >= self.n_states)))
            raise PlaitError(
                f"{name} must make states from 0 to {self.n_states - 1}, n_states - 1, got {values[site]} at"
                f" site {site}"
            )
        path[:] = values

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the fields of the dataclass: arrays, and a header that can be written as JSON."""
        if not dataclasses.is_dataclass(self):
            raise PlaitError(
                f"{type(self).__name__} cannot be saved: make it a dataclass, or define to_arrays and"
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
                    f"{type(self).__name__}.{name} must be an array, a number, a string, or a list of these,"
                    f" to be saved, got {short_repr(value)}"
                )
        return arrays, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        return cls(**arrays, **header)


class _Pieces(NamedTuple):
    """Models of parts of the data, and where each starts and ends."""

    models: list[PathModel]
    bounds: list[int]
    first: int = 0
    """The number of the first among all parts: the unit in the keys of its random numbers."""

    def of(self, path: Path, k: int) -> Path:
        """Return the part of a path that belongs to piece k."""
        return path[self.bounds[k] : self.bounds[k + 1]]


class _Part(PathModel):
    """Some parts of a model's data."""

    def __init__(self, pieces: _Pieces, n_states: int) -> None:
        self._pieces = pieces
        self.n_sites, self.n_states = pieces.bounds[-1], n_states


def leaves(value: Any, name: str = "") -> list[tuple[str, NDArray[Any]]]:
    """Return all arrays in a possibly nested number, array, dict, tuple, list or dataclass, with names."""
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
    """Raise an error if any number in a nested value is NaN or infinite."""
    for place, array in leaves(value, name):
        if not np.isfinite(array).all():
            index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
            at = "".join(f"[{i}]" for i in index)
            raise PlaitError(f"{place}{at} must be a finite number, got {array[index]}")


def _singly(n: int) -> list[tuple[int, int]]:
    return [(j, j + 1) for j in range(n)]


def _copied(value: Any) -> Any:
    """Return a copy, so that adding to it does not change arrays that a model keeps."""
    if isinstance(value, Mapping):
        return {key: _copied(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(_copied(part) for part in value)
    return np.array(value)


def _sum(each: list[Any], of: str) -> Any:
    """Return the sum of the statistics of each path, or part."""
    total = _copied(each[0])
    for j in range(1, len(each)):
        total = _added("statistics()", total, each[j], of, j)
    return total


def _added(name: str, total: Any, more: Any, of: str, j: int) -> Any:
    """Return the sum of statistics, which must have the same structure for every path and part."""
    if isinstance(total, Mapping):
        if not isinstance(more, Mapping) or more.keys() != total.keys():
            raise PlaitError(
                f"{name} must have the same keys for all {of}s, got {short_repr(list(total))} for {of} 0 and"
                f" others for {of} {j}"
            )
        return {key: _added(f"{name}[{key!r}]", part, more[key], of, j) for key, part in total.items()}
    if isinstance(total, tuple):
        if not isinstance(more, (tuple, list)) or len(more) != len(total):
            raise PlaitError(
                f"{name} must have as many parts for all {of}s, got {len(total)} for {of} 0, but not for {of}"
                f" {j}"
            )
        return tuple(_added(f"{name}[{k}]", part, more[k], of, j) for k, part in enumerate(total))
    if np.shape(more) != np.shape(total):
        raise PlaitError(
            f"{name} must have the same shape for all {of}s, got {np.shape(total)} for {of} 0 and"
            f" {np.shape(more)} for {of} {j}"
        )
    return total + more
