"""The contract between a model and the sampler.

A model describes the data, the latent variables and the priors; it has no sampling loop.
`plait.models.sweeps` combines its methods into Algorithms 1 and 2 of the paper, for any number of paths m.

`paths` is always an integer array (m, N): row j is the path p^j, one latent variable per site. A method
receives all m paths at once, because they share the parameters: values that depend on these alone are
computed once. Methods that change paths or counts do so in place. The models that plait ships check the
paths, which their kernels use as indices (see `checks_paths`), and the form of counts and parameters: their
shape and dtype. Random variates come from streams with the key (key.seed, key.sweep, path, unit), see
`plait.rng`, so that models hold no random state.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_changeable, check_paths, frozen
from plait.errors import Argument
from plait.models.shares import Share
from plait.rng import Key
from plait.threads import Range, Threads

MAX_STATES: Final = 65535
"""A latent variable is stored in two bytes."""

Paths = NDArray[Any]
Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]

Report = Callable[[int, int], object]
"""Called with the number of search steps done, and the total."""

__all__ = [
    "MAX_STATES",
    "Arrays",
    "CompletingModel",
    "DivisibleModel",
    "FillingModel",
    "Header",
    "Key",
    "Model",
    "Paths",
    "Report",
    "SearchingModel",
    "changes_paths",
    "checks_paths",
    "unchecked",
]


Counts = TypeVar("Counts")
Parameters = TypeVar("Parameters")


class Model(Protocol[Counts, Parameters]):
    """The methods that the sampler needs.

    `Counts` are the sufficient statistics of all paths together, `Parameters` the shared phi; both are the
    model's own types, which the sampler only passes on.
    """

    kind: ClassVar[str]
    """Name of the model in files."""

    site_name: ClassVar[str]
    """Name of a site in messages, such as "token"; user-defined models may leave it out."""

    @property
    def n_sites(self) -> int:
        """Number of latent variables in a path (N)."""

    @property
    def n_states(self) -> int:
        """Number of values a latent variable can take (S; T for topics): 0 to n_states - 1."""

    def initial_paths(self, n_paths: int, seed: int, threads: Threads) -> Paths:
        """Draw the initial paths (m, N): line 2 of both algorithms."""

    def count(self, paths: Paths, threads: Threads) -> Counts:
        """Return the sufficient statistics of all paths together."""

    def draw_parameters(self, counts: Counts, key: Key, threads: Threads) -> Parameters:
        """Draw phi from P(phi | p^1, ..., p^m, w): line 4 of Algorithm 1."""

    def mean_parameters(self, counts: Counts, threads: Threads) -> Parameters:
        """Return the mean of P(phi | p^1, ..., p^m, w), the point estimate."""

    def resample(self, paths: Paths, parameters: Parameters, key: Key, threads: Threads) -> None:
        """Draw every p^j_i from P(p^j_i | p^j_-i, w, phi): lines 5 to 9 of Algorithm 1."""

    def resample_collapsed(self, paths: Paths, counts: Counts, key: Key) -> None:
        """Draw every p^j_i given all other latent variables, phi integrated out: Algorithm 2.

        `counts` match `paths` on entry and on return.
        """

    def log_joint(self, paths: Paths, parameters: Parameters, threads: Threads) -> NDArray[np.float64]:
        """Return log P(p^j, w | phi) for every path (m,)."""

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the model and its data as arrays and a header that can be written as JSON."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""


class SearchingModel(Model[Counts, Parameters], Protocol[Counts, Parameters]):
    """A model whose search for initial paths may take long and reports its progress.

    A model opts in with a true attribute `searches`.
    """

    @property
    def searches(self) -> bool:
        """Whether `initial_paths` searches, and takes a `report`."""

    def initial_paths(self, n_paths: int, seed: int, threads: Threads, report: Report | None = None) -> Paths:
        """Search for the initial paths (m, N); call `report` after each step, in the calling thread only."""


class CompletingModel(Model[Counts, Parameters], Protocol[Counts, Parameters]):
    """A model that draws latent variables besides the paths, and forgets them once phi is drawn.

    Given the paths and the phi of the sweep before, they are drawn before phi, so a run stores that phi. A
    model opts in with a true attribute `completes`.
    """

    @property
    def completes(self) -> bool:
        """Whether sweeps call `complete` instead of `count`."""

    def complete(self, paths: Paths, parameters: Parameters | None, key: Key, threads: Threads) -> Counts:
        """Draw these variables; return the sufficient statistics of all paths together with them.

        `parameters` are those of the sweep before, None in the first.
        """

    def parameters_from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Parameters:
        """Rebuild parameters from the output of their `to_arrays`, and check them."""


class FillingModel(Model[Counts, Parameters], Protocol[Counts, Parameters]):
    """A model that draws its initial paths into an array that it is given.

    So that paths which are kept in a file, see `plait.sample`, need no memory at the start either.
    """

    def fill_initial_paths(self, paths: Paths, seed: int, threads: Threads) -> None:
        """Fill `paths` (m, N) of uint16 with what `initial_paths` returns."""


class DivisibleModel(Model[Counts, Parameters], Protocol[Counts, Parameters]):
    """A model whose data can be cut into shares, which different processes hold; see `plait.engine`.

    Given phi, the units of the data (documents, sequences, observations) do not depend on each other. They
    are cut at ranges that depend on the data alone, and a share is some consecutive ranges. What is summed
    over the data is summed over each range first, then over the ranges in their order. So the sums have the
    same bits however the ranges are spread.
    """

    @property
    def exact_counts(self) -> bool:
        """Whether counts are whole numbers throughout, which can be added in any order."""

    def site_ranges(self) -> list[Range]:
        """Return the ranges of sites at which the data may be cut, one after another."""

    def share(self, first: int, last: int) -> Share:
        """Return the model of the ranges `first` to `last`, whose streams are those of the whole."""

    def count_parts(self, paths: Paths, threads: Threads) -> list[Counts]:
        """Return the sufficient statistics of ranges of the data; if `exact_counts`, of any ranges."""

    def sum_counts(self, parts: list[Counts]) -> Counts:
        """Return the sum of the statistics of all ranges: `count` returns that of `count_parts`."""

    def log_joint_parts(
        self, paths: Paths, parameters: Parameters, threads: Threads
    ) -> list[NDArray[np.float64]]:
        """Return log P(p^j, w | phi) for every path (m,), range by range: `log_joint` is their sum."""

    def check_divisible(self, n_paths: int) -> None:
        """Raise an error if this model cannot be sampled in shares, with up to `n_paths` paths."""


class LearningModel(DivisibleModel[Counts, Parameters], Protocol[Counts, Parameters]):
    """A model that learns its priors, and can do so in shares."""

    def with_priors_of(self, priors: Mapping[str, NDArray[Any]]) -> Self:
        """Return the model with another's `priors`, as far as draws of paths need them."""

    def learning_bounds(self, counts: Counts) -> NDArray[np.int64]:
        """Return what `learning_counts` needs to know of the counts of all data."""

    def learning_counts(self, paths: Paths, bounds: NDArray[np.int64], threads: Threads) -> NDArray[np.int64]:
        """Return the whole numbers that priors are learnt from, besides the counts."""

    def with_priors_learnt_from(
        self, numbers: NDArray[np.int64], counts: Counts, n_paths: int, threads: Threads
    ) -> Self:
        """Return the model with priors learnt from the sum of `learning_counts` over all data."""


Method = TypeVar("Method", bound=Callable[..., Any])

_BARE = "_without_check_of_paths"  # attribute of a method that checks paths: the method without the check


def checks_paths(method: Method) -> Method:
    """Let a method of a model or of emissions check its paths, because kernels use them as indices.

    The method gets them read-only, whether the caller may change them or not, as the paths of a sweep and not
    those of a run: Numba compiles a kernel twice for two kinds of array.

    The check reads all paths. A caller that has checked them already, such as a sweep, which calls several
    methods with the same paths, calls `unchecked(model.method)` instead.
    """
    return _checking(method, changes=False)


def changes_paths(method: Method) -> Method:
    """Let a method that draws paths in place check them like `checks_paths`, and refuse read-only ones."""
    return _checking(method, changes=True)


def _checking(method: Method, changes: bool) -> Method:
    signature = inspect.signature(method)

    @functools.wraps(method)
    def bare(self: Any, *args: Any, **kwargs: Any) -> Any:
        if changes:
            return method(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.arguments["paths"] = frozen(bound.arguments["paths"].view())
        return method(*bound.args, **bound.kwargs)

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        paths = signature.bind(self, *args, **kwargs).arguments["paths"]
        check_paths(paths, self.n_sites, self.n_states)
        if changes:
            check_changeable(Argument("paths"), paths)
        return bare(self, *args, **kwargs)

    setattr(checked, _BARE, bare)
    return cast(Method, checked)


def unchecked(method: Method) -> Method:
    """Return a bound method without the check of `checks_paths`; a method without that check as it is."""
    bare = getattr(method, _BARE, None)
    if bare is None:
        return method
    return cast(Method, functools.partial(bare, cast(MethodType, method).__self__))
