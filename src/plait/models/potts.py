"""Hidden Potts fields: labels on a picture or a volume, where neighbours tend to agree.

P(p) proportional to exp(coupling n(p)),    n(p) = number of pairs of neighbours with the same label
w_i  ~ the emissions of label p_i                  see `plait.models.emissions`

phi are the parameters of the emissions; the coupling is fixed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats, check_changeable, check_form, frozen
from plait.checks import check_integer, short_repr
from plait.errors import Argument, NotSupported, PlaitError
from plait.kernels import potts as kernels
from plait.models.emissions import Emissions, emissions_from_arrays
from plait.models.model import MAX_STATES, Arrays, Header, Key, Paths, changes_paths, checks_paths, unchecked
from plait.rng import INITIAL
from plait.scratch import scratch
from plait.threads import Range, Threads, even_ranges, use_threads

NEIGHBOURS = {2: (4, 8), 3: (6, 26)}
"""Possible numbers of neighbours, without and with corners, by the dimensions of the grid."""

MOST_ENUMERATED = 65536
"""Maximum number of labelings of the grid that `simulate` enumerates to draw one."""

_LONGEST = 2**53  # no grid is longer, and messages repeat the number
_STEEPEST = 60.0  # densities below exp(-87) vanish in single precision, which exp(-60) makes negligible
_SITES_PER_RANGE = 4096  # with fewer, a thread costs more than it saves
_FEW_RANGES = 8  # with fewer, the paths are divided among threads as well
_UPDATES_PER_TASK = 16384  # sites times paths; smaller tasks do not pay


@dataclass(frozen=True)
class PottsParameters:
    """The parameters phi.

    Attributes
    ----------
    emissions : object
        Parameters of the emissions of each label, such as `NormalParameters`.
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
        The data w, one observation per site of the grid in C order, the number of labels S, and the priors of
        the emissions. Observations may be missing.
    shape : tuple of int
        Shape of the grid: (rows, columns) or (planes, rows, columns).
    coupling : float, default: 1
        How strongly neighbours tend to agree, at least 0: a pair that agrees is exp(coupling) times as
        likely. The coupling times the number of neighbours is at most 60; well below that, all neighbours
        already agree.
    neighbours : int, optional
        Number of neighbours of a site: 4 (the default) or 8 in a picture, 6 (the default) or 26 in a volume.
        Sites at the edge have fewer.

    Notes
    -----
    The normalising constant of the field, the sum of exp(coupling n(p)) over all labelings, can be computed
    for tiny grids only. It depends on neither the labels nor phi, so the sampler does not need it, and
    `log_joint` leaves it out. P(w | phi) cannot be computed for the same reason.
    """

    kind: ClassVar[str] = "potts"
    site_name: ClassVar[str] = "pixel"

    emissions: Emissions[Any]
    shape: tuple[int, ...]
    coupling: float = 1.0
    neighbours: int | None = None

    def __post_init__(self) -> None:
        check_integer("n_states", self.emissions.n_states, least=1, most=MAX_STATES)
        if self.emissions.completes:
            raise NotSupported(
                "a Potts field does not support pixels that are partly missing with full or tied"
                " covariances: choose diagonal or spherical ones, or fill them in"
            )
        shape = _check_shape(self.shape, self.emissions.n_sites)
        offered = NEIGHBOURS[len(shape)]
        neighbours = offered[0] if self.neighbours is None else self.neighbours
        if isinstance(neighbours, bool) or neighbours not in offered:
            raise PlaitError(
                Argument("neighbours"),
                f" must be {offered[0]} or {offered[1]} on a grid of {len(shape)} dimensions, got"
                f" {short_repr(self.neighbours)}",
            )
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "neighbours", int(neighbours))
        object.__setattr__(self, "coupling", _check_coupling(self.coupling, int(neighbours)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickled arrays would be writeable, and kernels are compiled for read-only ones.
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
        """Whether the priors treat all labels alike, so that their numbers are arbitrary."""
        return self.emissions.is_exchangeable

    def canonical_order(self, parameters: PottsParameters) -> NDArray[np.intp]:
        """Return the labels in canonical order, so that two fits can be compared.

        Where priors or fixed parameters distinguish the labels, their order stays.
        """
        if not self.is_exchangeable:
            return np.arange(self.n_states)
        return self.emissions.order(parameters.emissions)

    @functools.cached_property
    def _grid(self) -> kernels.Grid:
        planes, rows, columns = (1, *self.shape)[-3:]
        return kernels.Grid((planes, rows, columns), self.neighbours == NEIGHBOURS[len(self.shape)][1])

    @property
    def _n_colours(self) -> int:
        """Number of classes of sites in which no two sites are neighbours."""
        return 2 ** len(self.shape) if self._grid.full else 2

    @functools.cached_property
    def _ranges(self) -> list[Range]:
        return even_ranges(self.n_sites, self.n_sites // _SITES_PER_RANGE)

    # ---------------------------------------------------------------------------------------------
    # Algorithm 1
    # ---------------------------------------------------------------------------------------------

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the first paths given random parameters, without coupling."""
        paths = np.zeros((n_paths, self.n_sites), np.uint16)
        key = Key(seed, INITIAL)
        self._draw(paths, self.first_parameters(key), 0.0, key, threads)
        return paths

    def first_parameters(self, key: Key) -> PottsParameters:
        """Draw initial parameters of the emissions."""
        return PottsParameters(self.emissions.first_parameters(key, 0))

    @checks_paths
    def count(self, paths: Paths, threads: Threads) -> Floats:
        """Return the sufficient statistics of the emissions over all paths."""
        count = unchecked(self.emissions.count)
        parts = threads.map(lambda first, last: count(first, last, paths), self._ranges)
        return np.sum(parts, axis=0)

    def draw_parameters(self, counts: Floats, key: Key, threads: Threads) -> PottsParameters:
        """Draw phi given all paths: line 4 of Algorithm 1."""
        return PottsParameters(self.emissions.draw(counts, key, 0))

    def mean_parameters(self, counts: Floats, threads: Threads) -> PottsParameters:
        """Return the mean of phi given all paths."""
        return PottsParameters(self.emissions.mean(counts))

    @changes_paths
    def resample(self, paths: Paths, parameters: PottsParameters, key: Key, threads: Threads) -> None:
        """Draw every label given its neighbours and phi, colour by colour: lines 5 to 9 of Algorithm 1."""
        self._draw(paths, parameters, self.coupling, key, threads)

    def resample_collapsed(self, paths: Paths, counts: Floats, key: Key) -> None:
        """Raise an error: there is no collapsed sampler, since without phi all sites depend on each other."""
        raise NotSupported(
            "there is no collapsed sampler for Potts fields: use the partially collapsed one, collapsed=False"
        )

    def _draw(
        self, paths: Paths, parameters: PottsParameters, coupling: float, key: Key, threads: Threads
    ) -> None:
        """Draw every label once, with the given coupling."""
        weights = self._weights(parameters, coupling, threads)
        draw = self._draw_few if weights.size else self._draw_many
        groups = even_ranges(len(paths), self._n_groups(len(paths)))
        tasks = list(product(enumerate(self._ranges), groups))

        for colour in range(self._n_colours):

            def work(k: int, _: int, colour: int = colour) -> None:
                (number, sites), (first, last) = tasks[k]
                # A stream belongs to a colour of a range and to a path, however the paths are grouped.
                unit = number * self._n_colours + colour
                draw(sites, colour, unit, weights, paths[first:last], first, key)

            threads.map(work, [(k, k + 1) for k in range(len(tasks))])

    def _n_groups(self, n_paths: int) -> int:
        """Return the number of groups of paths: more than one if there are few ranges."""
        if len(self._ranges) >= _FEW_RANGES:
            return 1
        return max(1, n_paths * self.n_sites // (len(self._ranges) * _UPDATES_PER_TASK))

    def _draw_few(
        self,
        sites: Range,
        colour: int,
        unit: int,
        weights: kernels.Weights,
        paths: Paths,
        first_path: int,
        key: Key,
    ) -> None:
        n_columns = min(self._grid.shape[2], sites[1] - sites[0])
        integer = kernels.bytes_for(self.n_states)
        scratches = kernels.FewScratch(
            streams=scratch((len(paths), 2), np.uint64),
            sums=scratch((2, n_columns + 2), integer),
            around=scratch((len(paths), n_columns), integer),
        )
        kernels.resample_few(*sites, colour, unit, self._grid, weights, paths, first_path, scratches, key)

    def _draw_many(
        self,
        sites: Range,
        colour: int,
        unit: int,
        weights: kernels.Weights,
        paths: Paths,
        first_path: int,
        key: Key,
    ) -> None:
        scratches = kernels.ManyScratch(
            streams=scratch((len(paths), 2), np.uint64),
            steps=scratch(self.n_states),
            tally=scratch(self.n_states, np.int64),
        )
        kernels.resample_many(*sites, colour, unit, self._grid, weights, paths, first_path, scratches, key)

    def _weights(self, parameters: PottsParameters, coupling: float, threads: Threads) -> kernels.Weights:
        """Return the factors of the labels' conditional distributions, which serve all paths."""
        size = (0,) * self.n_states if self.n_states <= kernels.FEW_LABELS else ()
        most = NEIGHBOURS[len(self.shape)][self._grid.full]
        table = np.exp(coupling * (np.arange(most + 1.0) - most))
        return kernels.Weights(size, self.emissions.rows, self._densities(parameters, threads), table)

    def _densities(self, parameters: PottsParameters, threads: Threads) -> NDArray[np.float32]:
        """Return b(s), one row per site or per symbol, each divided by its largest entry."""
        given, rows = parameters.emissions, self.emissions.rows
        if not self.emissions.logs:
            logs = self.emissions.log_weights(given, 0, self.n_sites)
            impossible = (logs.max(axis=1) == -np.inf)[rows]
            if impossible.any():
                raise self._impossible(int(np.argmax(impossible)))
            kernels.subtract_largest(logs)
            return frozen(np.exp(logs).astype(np.float32))
        densities = np.empty((self.n_sites, self.n_states), np.float32)

        def fill(first: int, last: int) -> int:
            logs = self.emissions.log_weights(given, first, last)
            impossible: int = kernels.subtract_largest(logs)
            np.exp(logs, out=densities[first:last], casting="same_kind")
            return first + impossible if impossible >= 0 else -1

        for i in threads.map(fill, self._ranges):
            if i >= 0:
                raise self._impossible(i)
        return frozen(densities)

    def _impossible(self, i: int) -> PlaitError:
        place = ", ".join(str(int(k)) for k in np.unravel_index(i, self.shape))
        return PlaitError(
            f"pixel ({place}) has probability 0 with every label: remove zeros from the parameters, or the"
            " pixel from the data"
        )

    # ---------------------------------------------------------------------------------------------
    # Likelihoods and frequencies
    # ---------------------------------------------------------------------------------------------

    @checks_paths
    def log_joint(self, paths: Paths, parameters: PottsParameters, threads: Threads) -> Floats:
        """Return log P(p^j, w | phi) for every path, up to a constant.

        It is the coupling times the number of pairs that agree, plus the sum of log b. The normalising
        constant of the field, which depends on neither p nor phi, is left out.
        """
        pairs = unchecked(self.count_agreeing)(paths, threads)
        return self.coupling * pairs + unchecked(self.log_densities)(paths, parameters, threads)

    @checks_paths
    def count_agreeing(self, paths: Paths, n_jobs: int | Threads | None = None) -> NDArray[np.int64]:
        """Return the number of pairs of neighbours with the same label in every path, (m,).

        Parameters
        ----------
        paths : ndarray, (m, N)
            Labels of all sites.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """

        def count(first: int, last: int) -> NDArray[np.int64]:
            pairs = scratch(len(paths), np.int64)
            kernels.count_agreeing(first, last, self._grid, paths, pairs)
            return pairs

        with use_threads(n_jobs) as threads:
            return np.sum(threads.map(count, self._ranges), axis=0)

    @checks_paths
    def log_densities(
        self, paths: Paths, parameters: PottsParameters, n_jobs: int | Threads | None = None
    ) -> Floats:
        """Return log P(w | p^j, phi), the sum of log b, for every path, (m,).

        Parameters
        ----------
        paths : ndarray, (m, N)
            Labels of all sites.
        parameters : PottsParameters
            The parameters phi.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """

        def add(first: int, last: int) -> Floats:
            logs = self.emissions.log_weights(parameters.emissions, first, last)
            sums = scratch(len(paths))
            kernels.add_log_weights(first, last, self.emissions.rows, logs, paths, sums)
            return sums

        with use_threads(n_jobs) as threads:
            return np.sum(threads.map(add, self._ranges), axis=0)

    @checks_paths
    def add_label_counts(
        self, paths: Paths, totals: NDArray[Any], n_jobs: int | Threads | None = None
    ) -> None:
        """Add the number of paths in which each site has each label to `totals`.

        Parameters
        ----------
        paths : ndarray, (m, N)
            Labels of all sites.
        totals : ndarray of integers, (N, S)
            Changed in place.
        n_jobs : int or Threads, optional
            Number of threads; all cores by default.
        """
        if not isinstance(totals, np.ndarray) or totals.dtype.kind not in "iu":
            raise PlaitError(Argument("totals"), f" must be an array of integers, got {short_repr(totals)}")
        check_form(Argument("totals"), totals, (self.n_sites, self.n_states), totals.dtype)
        check_changeable(Argument("totals"), totals)
        with use_threads(n_jobs) as threads:
            threads.map(lambda first, last: kernels.count_labels(first, last, paths, totals), self._ranges)

    # ---------------------------------------------------------------------------------------------
    # Simulation and files
    # ---------------------------------------------------------------------------------------------

    @functools.cached_property
    def _labelings(self) -> tuple[Paths, Floats]:
        """All labelings of the grid, and the running sums of their probabilities."""
        # With two labels, 17 sites are too many already; larger powers need not be computed.
        if self.n_states ** min(self.n_sites, MOST_ENUMERATED.bit_length()) > MOST_ENUMERATED:
            raise NotSupported(
                f"the grid has {self.n_states}^{self.n_sites} labelings, and simulate enumerates them: use a"
                f" grid with at most {MOST_ENUMERATED}"
            )
        numbers = np.arange(self.n_states**self.n_sites)[:, None]
        places = self.n_states ** np.arange(self.n_sites)[::-1]
        labelings = (numbers // places % self.n_states).astype(np.uint16)
        logs = self.coupling * self.count_agreeing(labelings, 1)
        steps = np.cumsum(np.exp(logs - logs.max()))
        return labelings, steps / steps[-1]

    def simulate(self, rng: np.random.Generator) -> tuple[Self, Paths, PottsParameters]:
        """Draw phi from its prior, a path and data given phi; return a model of the data, path and phi.

        Tiny grids only: there is no exact way to draw a labeling of a larger one.
        """
        labelings, steps = self._labelings
        with Threads(1) as threads:
            nothing = self.count(np.empty((0, self.n_sites), np.uint16), threads)
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
        """Rebuild the model from the output of `to_arrays`."""
        emissions = emissions_from_arrays(arrays, header)
        return cls(emissions, tuple(header["shape"]), header["coupling"], header["neighbours"])


def _check_shape(shape: object, n_sites: int) -> tuple[int, ...]:
    """Return the shape of the grid if it has as many sites as there are observations."""
    if not isinstance(shape, (tuple, list, np.ndarray)) or len(shape) not in NEIGHBOURS:
        raise PlaitError(
            Argument("shape"),
            f" must be (rows, columns) or (planes, rows, columns), got {short_repr(shape)}",
        )
    lengths = tuple(
        check_integer(f"shape[{k}]", length, least=1, limit=_LONGEST) for k, length in enumerate(shape)
    )
    if math.prod(lengths) != n_sites:
        raise PlaitError(
            Argument("shape"),
            f" must have one site for each of the {n_sites} observations, got {lengths} with"
            f" {math.prod(lengths)} sites",
        )
    return lengths


def _check_coupling(coupling: object, neighbours: int) -> float:
    is_number = isinstance(coupling, (int, float, np.integer, np.floating)) and not isinstance(coupling, bool)
    if not is_number or not 0 <= coupling <= _STEEPEST / neighbours:  # type: ignore[operator]
        most = math.floor(100 * _STEEPEST / neighbours) / 100
        raise PlaitError(
            Argument("coupling"),
            f" must be a number from 0 to {most:g} with {neighbours} neighbours, got {short_repr(coupling)}",
        )
    return float(coupling)  # type: ignore[arg-type]
