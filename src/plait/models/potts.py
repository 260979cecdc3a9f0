"""Hidden Potts fields: labels on a picture or a volume, where neighbours like to agree.

P(p) in proportion to exp(coupling n(p)), n(p) = number of pairs of neighbours with the same label
w_i  ~ the emissions of label p_i                  see `plait.models.emissions`

phi is the laws of the emissions; the coupling is fixed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plait.checks import check_integer, frozen, short_repr
from plait.errors import NotSupported, PlaitError
from plait.kernels import potts as kernels
from plait.models.emissions import KINDS, Emissions
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths
from plait.models.priors import Floats
from plait.rng import INITIAL
from plait.scratch import scratch
from plait.storage import arrays_below
from plait.threads import Range, Threads, even_ranges

NEIGHBOURS = {2: (4, 8), 3: (6, 26)}
"""How many neighbours a site can have, by the dimensions of the grid: without and with corners."""

MOST_ENUMERATED = 65536
"""Up to so many labelings of the grid, they are enumerated to draw one of them."""

_STEEPEST = 60.0  # exp(-60): next to that, what single precision loses of the weights is nothing
_SITES_A_RANGE = 4096  # below that, handing work to a thread costs more than it saves
_FEW_RANGES = 8  # with fewer, the paths are shared among threads as well
_UPDATES_A_TASK = 16384  # sites times paths, so that this pays


class _Place(NamedTuple):
    """Where and with what to draw, as `plait.kernels.potts` wants it."""

    first: int
    last: int
    grid: tuple[int, int, int]
    full: bool
    colour: int
    unit: int
    rows: NDArray[np.int32]
    weights: NDArray[np.float32]
    table: Floats


@dataclass(frozen=True)
class PottsParameters:
    """The parameters phi.

    Attributes
    ----------
    emissions : object
        Laws of the observations with each label, such as `NormalParameters`.
    """

    emissions: Any

    def permuted(self, order: NDArray[np.intp]) -> PottsParameters:
        """Return the parameters with the labels in another order."""
        return PottsParameters(self.emissions.permuted(order))


@dataclass(frozen=True, eq=False)
class PottsModel:
    """A hidden Potts field on a grid.

    Parameters
    ----------
    emissions : Emissions
        The data w, a site of the grid each and in C order, the number of labels S, and the priors of the
        emissions. Observations may be missing.
    shape : tuple of int
        Shape of the grid: (rows, columns) or (planes, rows, columns).
    coupling : float, default: 1
        How much neighbours like to agree, at least 0: a pair that does is exp(coupling) times as likely. The
        coupling times the neighbours of a site can be 60 at most; neighbours never differ long before.
    neighbours : int, optional
        How many neighbours a site has: 4 (the default) or 8 in a picture, 6 (the default) or 26 in a volume.
        Beyond the edge there are none.

    Notes
    -----
    The sum of exp(coupling n(p)) over all labelings is unknown but for tiny grids. It depends on neither the
    labels nor phi, so no sampler needs it, and `log_joint` leaves it out. For the same reason there is no
    log P(w | phi).
    """

    kind: ClassVar[str] = "potts"
    site_name: ClassVar[str] = "pixel"

    emissions: Emissions[Any]
    shape: tuple[int, ...]
    coupling: float = 1.0
    neighbours: int | None = None

    def __post_init__(self) -> None:
        check_integer("n_states", self.emissions.n_states, least=1, most=MAX_STATES)
        shape = _check_shape(self.shape, self.emissions.n_sites)
        offered = NEIGHBOURS[len(shape)]
        neighbours = offered[0] if self.neighbours is None else self.neighbours
        if isinstance(neighbours, bool) or neighbours not in offered:
            raise PlaitError(
                f"the number of neighbours is {short_repr(self.neighbours)}: on a grid of {len(shape)} dimensions"
                f" choose {offered[0]} or {offered[1]}"
            )
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "neighbours", int(neighbours))
        object.__setattr__(self, "coupling", _check_coupling(self.coupling, int(neighbours)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickles leave out that arrays are read-only, and kernels are compiled for read-only ones.
        return type(self).from_arrays, self.to_arrays()

    @property
    def n_sites(self) -> int:
        """Number of sites (N)."""
        return self.emissions.n_sites

    @property
    def n_states(self) -> int:
        """Number of labels (S)."""
        return self.emissions.n_states

    @property
    def is_exchangeable(self) -> bool:
        """Whether nothing tells one label from another but the data: then their numbers mean nothing."""
        return self.emissions.is_exchangeable

    def canonical_order(self, parameters: PottsParameters) -> NDArray[np.intp]:
        """Return the labels in canonical order, so that two fits can be compared.

        Where priors or fixed parameters tell the labels apart already, their order stays.
        """
        if not self.is_exchangeable:
            return np.arange(self.n_states)
        return self.emissions.order(parameters.emissions)

    @property
    def _grid(self) -> tuple[int, int, int]:
        """Planes, rows and columns."""
        planes, rows, columns = (1, *self.shape)[-3:]
        return planes, rows, columns

    @property
    def _full(self) -> bool:
        """Whether corners count."""
        return self.neighbours == NEIGHBOURS[len(self.shape)][1]

    @property
    def _n_colours(self) -> int:
        """How many classes of sites there are of which no two are neighbours."""
        return 2 ** len(self.shape) if self._full else 2

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        return even_ranges(self.n_sites, self.n_sites // _SITES_A_RANGE)

    # ---------------------------------------------------------------------------------------------
    # Algorithm 1
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the first paths, given parameters drawn at random, as if the sites were not coupled."""
        paths = np.zeros((n_paths, self.n_sites), np.uint16)
        key = Key(seed, INITIAL)
        self._draw(paths, self.first_parameters(key), 0.0, key, threads)
        return paths

    def first_parameters(self, key: Key) -> PottsParameters:
        """Draw parameters to begin with: laws as the emissions choose them."""
        return PottsParameters(self.emissions.first_parameters(key, 0))

    def count(self, paths: Paths, threads: Threads) -> Floats:
        """Return what the emissions count over all paths."""
        parts = threads.map(lambda first, last: self.emissions.count(first, last, paths), self._ranges)
        return np.sum(parts, axis=0)

    def draw_parameters(self, counts: Floats, key: Key, threads: Threads) -> PottsParameters:
        """Draw phi given all paths: line 4 of Algorithm 1."""
        return PottsParameters(self.emissions.draw(counts, key, 0))

    def mean_parameters(self, counts: Floats, threads: Threads) -> PottsParameters:
        """Return the mean of phi given all paths."""
        return PottsParameters(self.emissions.mean(counts))

    def resample(self, paths: Paths, parameters: PottsParameters, key: Key, threads: Threads) -> None:
        """Draw every label given its neighbours and phi, a colour at a time: lines 5 to 9 of Algorithm 1."""
        self._draw(paths, parameters, self.coupling, key, threads)

    def resample_collapsed(self, paths: Paths, counts: Floats, key: Key) -> None:
        """Refuse: with phi integrated out, every site depends on every other."""
        raise NotSupported(
            "there is no collapsed sampler for Potts fields: choose the partially collapsed one,"
            " collapsed=False"
        )

    def _draw(
        self, paths: Paths, parameters: PottsParameters, coupling: float, key: Key, threads: Threads
    ) -> None:
        """Draw every label once, with any coupling."""
        rows, weights = self._weights(parameters, threads)
        most = NEIGHBOURS[len(self.shape)][self._full]
        table = np.exp(coupling * (np.arange(most + 1.0) - most))
        draw = self._draw_few if self.n_states <= kernels.FEW_LABELS else self._draw_many
        groups = even_ranges(len(paths), self._n_groups(len(paths)))
        tasks = list(product(enumerate(self._ranges), groups))

        for colour in range(self._n_colours):

            def work(k: int, _: int, colour: int = colour) -> None:
                (number, (first, last)), group = tasks[k]
                # What a stream is for: this colour of this range. Groups of paths have no part in it.
                unit = number * self._n_colours + colour
                place = _Place(first, last, self._grid, self._full, colour, unit, rows, weights, table)
                draw(place, group, paths, key)

            threads.map(work, [(k, k + 1) for k in range(len(tasks))])

    def _n_groups(self, n_paths: int) -> int:
        """Return into how many groups the paths are cut: more than one where the ranges are few."""
        if len(self._ranges) >= _FEW_RANGES:
            return 1
        return max(1, n_paths * self.n_sites // (len(self._ranges) * _UPDATES_A_TASK))

    def _draw_few(self, place: _Place, group: Range, paths: Paths, key: Key) -> None:
        n_columns = min(self._grid[2], place.last - place.first)
        n_paths = group[1] - group[0]
        kind = kernels.bytes_for(self.n_states)
        kernels.resample_few(
            (0,) * self.n_states,
            *place,
            *group,
            paths,
            scratch((n_paths, 2), np.uint64),
            scratch((2, n_columns + 2), kind),
            scratch((n_paths, n_columns), kind),
            *key,
        )

    def _draw_many(self, place: _Place, group: Range, paths: Paths, key: Key) -> None:
        kernels.resample_many(
            *place,
            *group,
            paths,
            scratch((group[1] - group[0], 2), np.uint64),
            scratch(self.n_states),
            scratch(self.n_states, np.int64),
            *key,
        )

    def _weights(
        self, parameters: PottsParameters, threads: Threads
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return b(s) as `plait.kernels.potts` wants it, and the row of each site; once for all paths."""
        law, rows = parameters.emissions, self.emissions.rows
        if not self.emissions.logs:
            logs = self.emissions.log_weights(law, 0, self.n_sites)
            impossible = (logs.max(axis=1) == -np.inf)[rows]
            if impossible.any():
                raise self._unexplained(int(np.argmax(impossible)))
            kernels.subtract_largest(logs)
            return rows, frozen(np.exp(logs).astype(np.float32))
        weights = np.empty((self.n_sites, self.n_states), np.float32)

        def fill(first: int, last: int) -> int:
            logs = self.emissions.log_weights(law, first, last)
            unexplained: int = kernels.subtract_largest(logs)
            np.exp(logs, out=weights[first:last], casting="same_kind")
            return first + unexplained if unexplained >= 0 else -1

        for i in threads.map(fill, self._ranges):
            if i >= 0:
                raise self._unexplained(i)
        return rows, frozen(weights)

    def _unexplained(self, i: int) -> PlaitError:
        place = ", ".join(str(int(k)) for k in np.unravel_index(i, self.shape))
        return PlaitError(
            f"no label can have made pixel ({place}): take out zeros from the parameters, or it from the data"
        )

    # ---------------------------------------------------------------------------------------------
    # Likelihoods and frequencies
    # ---------------------------------------------------------------------------------------------

    def log_joint(self, paths: Paths, parameters: PottsParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path, but for a constant.

        It is the coupling times the pairs that agree, plus the sum of log b. The logarithm of the field's
        normaliser, which depends on neither p nor phi, is left out.
        """
        pairs = self.count_agreeing(paths, threads)
        return self.coupling * pairs + self.log_densities(paths, parameters, threads)

    def count_agreeing(self, paths: Paths, threads: Threads) -> NDArray[np.int64]:
        """Return the number of pairs of neighbours with the same label in every path, (m,)."""

        def count(first: int, last: int) -> NDArray[np.int64]:
            pairs = scratch(len(paths), np.int64)
            kernels.count_agreeing(first, last, self._grid, self._full, paths, pairs)
            return pairs

        return np.sum(threads.map(count, self._ranges), axis=0)

    def log_densities(self, paths: Paths, parameters: PottsParameters, threads: Threads) -> Floats:
        """Return log P(w | p^j, phi), the sum of log b, for every path, (m,)."""

        def add(first: int, last: int) -> Floats:
            logs = self.emissions.log_weights(parameters.emissions, first, last)
            sums = scratch(len(paths))
            kernels.add_log_weights(first, last, self.emissions.rows, logs, paths, sums)
            return sums

        return np.sum(threads.map(add, self._ranges), axis=0)

    def add_label_counts(self, paths: Paths, totals: NDArray[Any], threads: Threads) -> None:
        """Add how often each site has each label in all paths to `totals` (N, S)."""
        threads.map(lambda first, last: kernels.count_labels(first, last, paths, totals), self._ranges)

    # ---------------------------------------------------------------------------------------------
    # Simulation and files
    # ---------------------------------------------------------------------------------------------

    @functools.cached_property
    def _labelings(self) -> tuple[Paths, Floats]:
        """All labelings of the grid, and the running sum of their probabilities."""
        # Two labels on more sites than these are too many already, and a power of them hard to work out.
        if self.n_states ** min(self.n_sites, MOST_ENUMERATED.bit_length()) > MOST_ENUMERATED:
            raise NotSupported(
                f"there are {self.n_states}^{self.n_sites} labelings of the grid, and labels are simulated by"
                f" enumerating them: take a grid with at most {MOST_ENUMERATED}"
            )
        numbers = np.arange(self.n_states**self.n_sites)[:, None]
        places = self.n_states ** np.arange(self.n_sites)[::-1]
        labelings = (numbers // places % self.n_states).astype(np.uint16)
        with Threads(1) as threads:
            logs = self.coupling * self.count_agreeing(labelings, threads)
        steps = np.cumsum(np.exp(logs - logs.max()))
        return labelings, steps / steps[-1]

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, PottsParameters]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi.

        For tiny grids only: of larger ones no labeling can be drawn exactly.
        """
        labelings, steps = self._labelings
        nothing = self.emissions.count(0, 0, np.empty((1, 0), np.uint16))
        with Threads(1) as threads:
            phi = self.draw_parameters(nothing, Key(int(rng.integers(2**62)), INITIAL), threads)
        path = labelings[np.searchsorted(steps, rng.random(), side="right")].copy()
        emissions = self.emissions.redrawn(phi.emissions, path, rng)
        return type(self)(emissions, self.shape, self.coupling, self.neighbours), path, phi

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the data, the priors and the grid as arrays and a header."""
        arrays, header = self.emissions.to_arrays()
        return {f"emissions.{name}": array for name, array in arrays.items()}, {
            "emissions": {"kind": self.emissions.kind, **header},
            "shape": list(self.shape),
            "coupling": self.coupling,
            "neighbours": self.neighbours,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Make the model again from what `to_arrays` returned."""
        emissions: Any = KINDS[header["emissions"]["kind"]].from_arrays(
            arrays_below("emissions.", arrays), header["emissions"]
        )
        return cls(emissions, tuple(header["shape"]), header["coupling"], header["neighbours"])


def _check_shape(shape: object, n_sites: int) -> tuple[int, ...]:
    """Return the shape of the grid if there is one observation a site."""
    if not isinstance(shape, (tuple, list, np.ndarray)) or len(shape) not in NEIGHBOURS:
        raise PlaitError(
            f"the shape of the grid is {short_repr(shape)}: give (rows, columns) or (planes, rows, columns)"
        )
    lengths = tuple(
        check_integer(f"axis {k} of the shape of the grid", length, least=1) for k, length in enumerate(shape)
    )
    if math.prod(lengths) != n_sites:
        raise PlaitError(
            f"the shape of the grid is {lengths}, which makes {math.prod(lengths)} sites, but there are"
            f" {n_sites} observations: give one for each site"
        )
    return lengths


def _check_coupling(coupling: object, neighbours: int) -> float:
    is_number = isinstance(coupling, (int, float, np.integer, np.floating)) and not isinstance(coupling, bool)
    if not is_number or not 0 <= coupling <= _STEEPEST / neighbours:  # type: ignore[operator]
        most = math.floor(100 * _STEEPEST / neighbours) / 100
        raise PlaitError(
            f"the coupling is {short_repr(coupling)}: with {neighbours} neighbours give a number from 0 to"
            f" {most:g}"
        )
    return float(coupling)  # type: ignore[arg-type]
