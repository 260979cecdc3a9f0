"""Hidden Markov models with any family of emissions, or a family of its own for each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.checks import check_choice, list_names, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.estimators.base_hmm import BaseHMM
from plait.estimators.hmm import without_lengths
from plait.models.emissions import (
    FAMILIES,
    CategoricalParameters,
    MixedEmissions,
    MixedParameters,
    NormalParameters,
    SequenceEmissions,
    mixed_emissions,
)
from plait.models.emissions.mixed import part_of

Family = str | tuple[str, Mapping[str, Any]]
Families = Family | Mapping[Any, Family]


class HMM(BaseHMM):
    """Hidden Markov model with a family of distributions for all columns, or for each.

    Parameters
    ----------
    n_components : int
        Number of states S.
    emissions : str, (str, dict), or dict
        The family of all columns, by its name: "bernoulli", "categorical" (one column of whole numbers),
        "exponential", "gamma", "gaussian", "lognormal", "negative-binomial", "poisson" or "vonmises" (angles,
        in radians). Or with arguments of its emissions, such as priors: `("gaussian", {"covariance":
        "full"})`. Or the families of columns: `{"step": "gamma", "angle": "vonmises"}`, by the names of a
        frame or the numbers of an array; a tuple of columns has one family together. Columns that are not
        listed are not used. Columns are independent given the state, except for Gaussian ones with full
        covariances.
    startprob_prior, transmat_prior : float or array, default: 1
        Parameters of the Dirichlet priors: (S,) and (S, S). Zeros fix probabilities to 0.
    method : {"search", "blocked", "single-site", "em"}
        See `BaseHMM` for this and all other parameters; `params` and `init_params` are not among them.

    Attributes
    ----------
    startprob_ : ndarray, (S,)
        Probabilities of the first state.
    transmat_ : ndarray, (S, S)
        Row a holds the probabilities of the state after a.
    emissions_ : dict
        The parameters of the emissions by name, each with a row per state, or, with a family for each column,
        a dict of them for each key of `emissions`.

    Notes
    -----
    States are numbered by the mean of the first column that separates them in the first family, the smallest
    first. If zeros, fixed probabilities or priors distinguish the states, their order is kept.

    Examples
    --------
    >>> import numpy as np
    >>> import plait
    >>> rng = np.random.default_rng(0)
    >>> states = np.repeat([0, 1, 0, 1], 50)
    >>> X = np.stack([rng.gamma(4.0, np.array([1.0, 9.0])[states]), rng.vonmises(0, 3.0 * states)], axis=1)
    >>> hmm = plait.HMM(2, {0: "gamma", 1: "vonmises"}, n_iter=50, random_state=0).fit(X)
    >>> hmm.emissions_[0]["means"].ravel().round(0)
    array([ 4., 36.])
    """

    params = "ste"
    init_params = "ste"
    implementation = "log"
    _emission_parameters: ClassVar[dict[str, str]] = {"e": "emissions_"}

    def __init__(
        self,
        n_components: int = 1,
        emissions: Families = "gaussian",
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        *,
        algorithm: str = "viterbi",
        random_state: int | np.random.RandomState | None = None,
        n_iter: int = 200,
        tol: float = 1e-2,
        verbose: bool = False,
        n_paths: int = 5,
        method: str = "search",
        polish: bool = True,
        n_init: int = 1,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        missing: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.emissions = emissions
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.n_init = n_init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.missing = missing
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    @property
    def emissions_(self) -> dict[Any, Any]:
        """The parameters of the emissions, by the keys of `emissions` if it has families of columns."""
        own = self._own
        if not isinstance(own, MixedParameters):
            return dict(own.to_arrays())
        assert isinstance(self.emissions, Mapping)
        return {key: dict(part.to_arrays()) for key, part in zip(self.emissions, own.parts, strict=True)}

    def _stored_as(self, name: str) -> str:
        return "_own" if name == "emissions_" else name

    def _check_settings(self) -> None:
        super()._check_settings()
        _check_families(self.emissions)

    def _sequences(self, X: Any, lengths: ArrayLike | None) -> Sequences:
        """Return the columns that have a family, in the order of `emissions`."""
        _check_families(self.emissions)
        wanted = None
        if isinstance(self.emissions, Mapping):
            wanted = [name for key in self.emissions for name in _names_of(key)]
        if isinstance(X, Sequences):
            sequences = without_lengths(X, lengths)
            if wanted is None or sequences.is_symbols:
                return sequences
            known: Iterable[Any] = sequences.columns or range(sequences.n_features)
            return part_of(sequences, tuple(_places(wanted, known)), False)
        names: Any = None
        if hasattr(X, "columns"):
            names = list(X.columns) if wanted is None else wanted
            _places(names, X.columns)  # says which are missing
            X, names = X[names], [str(name) for name in names]
        elif wanted is not None:
            X = np.asarray(X)
            X = X[:, _places(wanted, range(X.shape[1] if X.ndim == 2 else 0))]
        if self._is_categorical:
            return Sequences.from_symbols(X, lengths, missing=self.missing)
        return Sequences.from_values(X, lengths, missing=self.missing, columns=names)

    @property
    def _is_categorical(self) -> bool:
        return not isinstance(self.emissions, Mapping) and _with_options(self.emissions)[0] == "categorical"

    def _learn_features(self, sequences: Sequences) -> None:
        if sequences.is_symbols != self._is_categorical:
            kind = "symbols" if sequences.is_symbols else "numbers"
            raise PlaitError(f"the data are {kind}, which {short_repr(self.emissions)} emissions do not take")
        self.n_features = sequences.n_features

    def _check_features(self, sequences: Sequences) -> None:
        self._learn_features(sequences)

    def _make_emissions(self, sequences: Sequences, free: str) -> SequenceEmissions[Any]:
        if not isinstance(self.emissions, Mapping):
            family, options = _with_options(self.emissions)
            made: SequenceEmissions[Any] = FAMILIES[family](sequences, self.n_components, **options)
            return made
        parts, first = [], 0
        for key, given in self.emissions.items():
            width = len(_names_of(key))
            parts.append((range(first, first + width), *_with_options(given)))
            first += width
        return mixed_emissions(sequences, self.n_components, parts)

    def _get_emissions(self) -> Any:
        return self._own

    def _set_emissions(self, parameters: Any, letters: Iterable[str]) -> None:
        if "e" in letters:
            self._own = parameters

    @staticmethod
    def _emission_settings(emissions: Any) -> dict[str, Any]:
        if not isinstance(emissions, MixedEmissions):
            return {"emissions": (emissions.kind, _options_of(emissions))}
        names = emissions.sequences.columns or range(emissions.sequences.n_features)
        keys = [tuple(names[d] for d in columns) for columns in emissions.columns]
        return {
            "emissions": {
                key if len(key) > 1 else key[0]: (part.kind, _options_of(part))
                for key, part in zip(keys, emissions.parts, strict=True)
            }
        }

    def _check_emissions(self) -> None:
        """Do nothing: the parameters are those of a fit."""

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        drawn: NDArray[Any] = self._own.sample(states, np.random.default_rng(random.randint(2**31)))
        return drawn.reshape(len(states), -1)

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        own = getattr(self, "_own", None)
        parts = own.parts if isinstance(own, MixedParameters) else () if own is None else (own,)
        return super()._get_n_fit_scalars_per_param() | {"e": sum(map(_n_free, parts))}


def _with_options(family: Family) -> tuple[str, Mapping[str, Any]]:
    """Return a family's name and the arguments of its emissions."""
    return (family, {}) if isinstance(family, str) else family


def _names_of(key: Any) -> tuple[Any, ...]:
    """Return the columns that a key of `emissions` stands for."""
    return key if isinstance(key, tuple) else (key,)


def _check_families(emissions: Any) -> None:
    given = emissions.values() if isinstance(emissions, Mapping) else [emissions]
    if not given:
        raise PlaitError(Argument("emissions"), " must have at least one column, got {}")
    for family in given:
        pair = (family, {}) if isinstance(family, str) else family
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)):
            raise PlaitError(
                Argument("emissions"),
                ' must be the name of a family, or (name, options), such as ("gaussian", {"covariance":'
                f' "full"}}), or a dict with these for columns, got {short_repr(family)}',
            )
        check_choice("emissions", pair[0], FAMILIES)


def _places(wanted: Iterable[Any], known: Iterable[Any]) -> list[int]:
    """Return the places of the wanted columns among those that there are."""
    places = {name: d for d, name in enumerate(known)}
    for name in wanted:
        if name not in places:
            raise PlaitError(f"there is no column {short_repr(name)} among {list_names(map(str, places))}")
    return [places[name] for name in wanted]


def _options_of(emissions: Any) -> dict[str, Any]:
    """Return the arguments that emissions were built with, priors as arrays."""
    arrays, header = emissions.to_arrays()
    options = {
        name.removeprefix("laws."): array
        for name, array in arrays.items()
        if not name.startswith("sequences.") and not np.isnan(array).all()  # nothing is fixed
    }
    return options | {name: value for name, value in header.items() if name != "sequences"}


def _n_free(own: Any) -> int:
    """Return the number of free parameters of a family."""
    if isinstance(own, CategoricalParameters):
        return int(own.probabilities.size - len(own.probabilities))
    if isinstance(own, NormalParameters) and own.covariance in ("full", "tied"):
        d = own.means.shape[1]
        return int(own.means.size + own.covariances.size // d**2 * (d * (d + 1) // 2))
    return sum(int(array.size) for array in own.to_arrays().values())
