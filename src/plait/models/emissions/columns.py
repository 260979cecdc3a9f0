"""The base classes of emissions whose columns are independent given the state."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import (
    Floats,
    check_finite,
    check_form,
    check_range_of_sites,
    frozen_copy,
    place_of,
    rows_of,
    stored_shapes,
    with_row,
)
from plait.data.sequences import Sequences
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import columns as kernels
from plait.kernels import emissions as sums
from plait.kernels import parameters as draws
from plait.models.emissions.contract import (
    check_form_of_posteriors,
    check_form_of_statistics,
    part_of,
    sequences_from_arrays,
    sequences_to_arrays,
)
from plait.models.emissions.numbers import NumberEmissions
from plait.models.model import Arrays, Header, Key, Paths, checks_paths
from plait.models.priors import spread
from plait.scratch import scratch


@dataclass(frozen=True, eq=False)
class ColumnParameters:
    """Base class of parameters with one number for each state and column; every field is an array (S, D)."""

    positive: ClassVar[tuple[str, ...]] = ()
    """The fields that are greater than 0."""

    def permuted(self, order: NDArray[np.intp]) -> Self:
        """Return the parameters with the states in another order."""
        return type(self)(**{name: array[order] for name, array in self.to_arrays().items()})

    def with_state(self, state: int, other: Self, theirs: int) -> Self:
        """Return the parameters with those of one state replaced by those of a state of others."""
        found = other.to_arrays()
        return type(self)(
            **{name: with_row(array, state, found[name][theirs]) for name, array in self.to_arrays().items()}
        )

    def to_arrays(self) -> Arrays:
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def sample(self, states: Paths, rng: np.random.Generator) -> Floats:
        """Draw an observation for each of the states, (n, D)."""
        raise NotImplementedError


P = TypeVar("P", bound=ColumnParameters)


class ColumnEmissions(NumberEmissions[P]):
    """Base class of emissions whose columns are independent given the state, with one prior per column."""

    kind: ClassVar[str]
    parameters: ClassVar[type[Any]]
    """The class of the parameters."""

    prior_names: ClassVar[tuple[str, ...]]
    """The names of the arguments with the priors, in the order of `_set_priors`."""

    def _set_priors(self, *priors: ArrayLike) -> None:
        """Keep the priors, each a number or an array (S, D)."""
        self._priors = {
            name: frozen_copy(spread(name, prior, self._axes))
            for name, prior in zip(self.prior_names, priors, strict=True)
        }

    @property
    def is_exchangeable(self) -> bool:
        """Whether only the data distinguish the states."""
        return all(bool(np.all(prior == prior[0])) for prior in self._priors.values())

    @functools.cached_property
    def has_default_prior(self) -> bool:
        """Whether the prior is the one that the data give if none is given."""
        make: Any = type(self)
        return same_arrays(self._priors, make(self.sequences, self.n_states)._priors)

    def _means(self, parameters: P) -> Floats:
        """Return numbers (S, D) to put the states in order by."""
        raise NotImplementedError

    def order(self, parameters: P) -> NDArray[np.intp]:
        """Return the states by the mean of the first column that separates them."""
        return self.order_of(self._means(parameters))

    def redrawn(self, parameters: P, states: Paths, rng: np.random.Generator) -> Self:
        """Return emissions with the same priors and data drawn from the parameters, given the states."""
        return self._of(parameters.sample(states, rng))

    def _collapsed(self) -> tuple[int, Floats]:
        raise NotSupported(
            f"the collapsed sampler does not support {self.kind} emissions: choose another sampler"
        )

    def _check_form(self, parameters: P) -> None:
        for name, array in parameters.to_arrays().items():
            check_form(Argument(name), array, self._shape_of_states)

    def check_parameters(self, parameters: P) -> None:
        """Raise an error for a wrong shape, or numbers that are not finite or not greater than 0."""
        for name, array in parameters.to_arrays().items():
            check_finite(Argument(name), array, self._shape_of_states)
            if name in parameters.positive and not (array > 0).all():
                place, index = place_of(~(array > 0))
                raise PlaitError(Argument(name), f"{place} must be greater than 0, got {array[index]:g}")

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> P:
        """Rebuild parameters from the output of their `to_arrays`, in the shapes of these emissions."""
        names = (field.name for field in dataclasses.fields(self.parameters))
        found: P = self.parameters(**stored_shapes(arrays, dict.fromkeys(names, self._shape_of_states)))
        return found

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data and the priors as arrays and a header."""
        arrays, header = sequences_to_arrays(self.sequences)
        return arrays | self._priors, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the emissions from the output of `to_arrays`."""
        sequences = sequences_from_arrays(arrays, header)
        shape = (rows_of(arrays, cls.prior_names[0]), sequences.n_features)
        priors = stored_shapes(arrays, dict.fromkeys(cls.prior_names, shape))
        make: Any = cls
        found: Self = make(sequences, shape[0], **priors)
        return found


class LinearColumnEmissions(ColumnEmissions[P]):
    """Base class of columns whose log-densities are linear in a few functions of the number.

    log p(x | s) = b(x) + c_s0 + c_s1 T_1(x) + ... + c_sK T_K(x)

    The statistics of a state are the number of observations and, for each column, the number of those that
    are not missing in it and their sums of T_1, ..., T_K. They are the same for one path and for m paths
    together, whose sums add up.
    """

    exact_counts: ClassVar[bool] = False

    def _set_functions(self, base: Floats, *functions: Floats) -> None:
        """Keep b(x) and T_1(x), ..., T_K(x), each (N, D)."""
        missing = np.isnan(self.sequences.values)
        features = np.stack([np.ones(missing.shape), *functions], axis=2)
        features = np.where(missing[:, :, None], 0.0, features)
        features[missing.all(axis=1)] = np.nan
        self._n_functions = features.shape[2]
        self._features = frozen_copy(features.reshape(len(features), -1))
        self._base = frozen_copy(np.where(missing, 0.0, base).sum(axis=1))
        self._n_sums = 1 + self._features.shape[1]
        self._no_centre = frozen_copy(np.zeros(self._features.shape[1]))

    def part(self, first: int, last: int) -> Self:
        """Return emissions of the sites first to last alone."""
        return part_of(self, first, last, "_features", "_base")

    def _coefficients(self, parameters: P) -> tuple[Floats, ...]:
        """Return c_0, ..., c_K, each (S, D)."""
        raise NotImplementedError

    def _fill(self, parameters: P, first: int, last: int, logs: Floats) -> None:
        self._check_form(parameters)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            coefficients = np.stack(self._coefficients(parameters), axis=2)
        flat = np.ascontiguousarray(coefficients.reshape(self.n_states, -1))
        kernels.log_linear(first, last, self._features, self._base, flat, logs)

    @checks_paths
    def count(self, first: int, last: int, paths: Paths) -> Floats:
        """Return the sums over the observations in each state, (S, 1 + D (K + 1))."""
        check_range_of_sites(first, last, self.n_sites)
        found = scratch((self.n_states, self._n_sums))
        sums.sum_values(first, last, self._features, self._no_centre, paths, found)
        return found

    def expect(self, first: int, last: int, posteriors: Floats) -> Floats:
        """Return the expected sums over the observations in each state."""
        check_form_of_posteriors(posteriors, first, last, self.n_sites, self.n_states)
        found = scratch((self.n_states, self._n_sums))
        sums.add_values(first, last, self._features, self._no_centre, posteriors, found)
        return found

    def check_statistics(self, statistics: Floats, *, changed: bool = False) -> None:
        """Raise an error if statistics do not have the form that `count` returns, or cannot be changed."""
        check_form_of_statistics(statistics, (self.n_states, self._n_sums), changed)

    def _sums(self, statistics: Floats) -> tuple[Floats, ...]:
        """Return the numbers of observations and the sums of T_1, ..., T_K, each (S, D)."""
        self.check_statistics(statistics)
        parts = statistics[:, 1:].reshape(*self._shape_of_states, self._n_functions)
        return tuple(np.ascontiguousarray(parts[:, :, k]) for k in range(self._n_functions))


def check_values(sequences: Sequences, wrong: NDArray[np.bool_], must: str) -> None:
    """Raise an error about the first number that a family does not allow; `must` says what is allowed."""
    if wrong.any():
        _, (i, d) = place_of(wrong)
        name = f"feature {d}" if sequences.columns is None else f"column {sequences.columns[d]!r}"
        raise PlaitError(f"{must}, got {sequences.values[i, d]:g} in {name} of observation {i}")


def same_arrays(own: Arrays, other: Arrays) -> bool:
    """Return whether two sets of arrays, such as priors, are the same."""
    return all(np.array_equal(array, other[name], equal_nan=True) for name, array in own.items())


def check_positive(name: str, array: Floats) -> None:
    """Raise an error unless all numbers are finite and greater than 0."""
    wrong = ~((array > 0) & (array < np.inf))
    if wrong.any():
        place, index = place_of(wrong)
        raise PlaitError(
            Argument(name), f"{place} must be a finite number greater than 0, got {array[index]:g}"
        )


def gamma_variates(shapes: Floats, key: Key, unit: int) -> Floats:
    """Draw gamma variates of unit scale with these shapes, from the stream of a unit of the parameters."""
    variates = np.empty(shapes.size)
    draws.fill_gammas(unit, np.ascontiguousarray(shapes).reshape(-1), variates, key)
    return variates.reshape(shapes.shape)
