"""Hidden Markov models with hmmlearn's names, attributes and methods.

The file is longer than others because scikit-learn needs the whole signatures of the constructors.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_distributions, check_finite, check_numbers, place_of
from plait.checks import check_choice, check_integer, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.estimators.base import Constraint, choice, known_or_none, number
from plait.estimators.base_hmm import BaseHMM
from plait.models.emissions import (
    COVARIANCES,
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
    PoissonParameters,
)
from plait.models.emissions.covariances import check_covariances


class CategoricalHMM(BaseHMM):
    """Hidden Markov model of symbols.

    Parameters
    ----------
    n_components : int
        Number of states S.
    startprob_prior, transmat_prior, emissionprob_prior : float or array, default: 1
        Parameters of the Dirichlet priors: (S,), (S, S) and (S, W). Zeros fix probabilities to 0.
    n_features : int, optional
        Number of symbols W; by default that of the data.
    emissionprob_fixed : array (S, W), optional
        Known emission probabilities, which are not learnt; NaN for unknown ones.
    method : {"search", "blocked", "single-site", "collapsed", "em"}
        See `BaseHMM` for this and all other parameters. The letters of `params` are s, t, e.

    Attributes
    ----------
    startprob_ : ndarray, (S,)
        Probabilities of the first state.
    transmat_ : ndarray, (S, S)
        Row a holds the probabilities of the state after a.
    emissionprob_ : ndarray, (S, W)
        Probabilities of the symbols in each state.

    Notes
    -----
    States are numbered by their mean symbol, the smallest first, so that two fits can be compared. If zeros,
    fixed probabilities, priors or initial emissions distinguish the states, their order is kept.

    Examples
    --------
    >>> import plait
    >>> data = plait.datasets.hard_hmm(n=2000, amplitude=0.9, switch=0.1)
    >>> hmm = plait.CategoricalHMM(n_components=2, n_iter=100, random_state=0).fit(data.sequences.values)
    >>> hmm.emissionprob_.shape
    (2, 10)
    """

    _emissions_kind = "categorical"
    _argument_names: ClassVar[dict[str, str]] = BaseHMM._argument_names | {
        "n_symbols": "n_features",
        "prior": "emissionprob_prior",
        "fixed": "emissionprob_fixed",
    }
    _emission_parameters: ClassVar[dict[str, str]] = {"e": "emissionprob_"}

    emissionprob_: Floats

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        *,
        emissionprob_prior: ArrayLike = 1.0,
        n_features: int | None = None,
        algorithm: str = "viterbi",
        random_state: int | np.random.RandomState | None = None,
        n_iter: int = 200,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        n_paths: int = 5,
        method: str = "search",
        polish: bool = True,
        n_init: int = 1,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        emissionprob_fixed: ArrayLike | None = None,
        missing: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.n_init = n_init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.emissionprob_fixed = emissionprob_fixed
        self.missing = missing
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _sequences(self, X: Any, lengths: ArrayLike | None) -> Sequences:
        if isinstance(X, Sequences):
            return without_lengths(X, lengths)
        return Sequences.from_symbols(X, lengths, missing=self.missing)

    def _check_and_set_n_features(self, X: Any) -> None:
        """Learn the number of symbols from the data, or check that it suffices."""
        symbols = np.asarray(X)
        if symbols.dtype.kind not in "ui" and not self.missing:
            raise PlaitError(f"the symbols must be whole numbers, got an array of {symbols.dtype}")
        sequences = self._sequences(symbols.reshape(-1), None)
        self._learn_features(sequences)
        CategoricalEmissions(sequences, self.n_components, n_symbols=self.n_features)

    def _learn_features(self, sequences: Sequences) -> None:
        _check_kind(sequences, symbols=True)
        if self.n_features is None or self.n_features == getattr(self, "_n_features_learnt", None):
            self.n_features = self._n_features_learnt = max(1, sequences.n_symbols)
        check_integer("n_features", self.n_features, least=1)

    def _check_features(self, sequences: Sequences) -> None:
        _check_kind(sequences, symbols=True)
        self._check_emissions()  # larger symbols are refused by the emissions

    def _make_emissions(self, sequences: Sequences, free: str) -> CategoricalEmissions:
        return CategoricalEmissions(
            sequences,
            self.n_components,
            prior=self.emissionprob_prior,
            n_symbols=self.n_features,
            fixed=self.emissionprob_fixed if "e" in free else self.emissionprob_,
        )

    def _get_emissions(self) -> CategoricalParameters:
        return CategoricalParameters(self.emissionprob_)

    def _set_emissions(self, parameters: CategoricalParameters, letters: Iterable[str]) -> None:
        if "e" in letters:
            self.emissionprob_ = parameters.probabilities

    @staticmethod
    def _emission_settings(emissions: CategoricalEmissions) -> dict[str, Any]:
        dirichlet = emissions.dirichlet
        return {
            "n_features": emissions.n_symbols,
            "emissionprob_prior": dirichlet.prior,
            "emissionprob_fixed": known_or_none(dirichlet.fixed),
        }

    def _check_emissions(self) -> None:
        if self.n_features is None:
            self.n_features = np.atleast_2d(check_numbers("emissionprob_", self.emissionprob_)).shape[1]
        check_integer("n_features", self.n_features, least=1)
        shape = self.n_components, self.n_features
        self.emissionprob_ = check_distributions("emissionprob_", self.emissionprob_, shape)

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        symbols = np.empty(len(states), np.int64)
        for s, row in enumerate(self.emissionprob_):
            here = states == s
            symbols[here] = random.choice(len(row), size=here.sum(), p=row / row.sum())
        return symbols[:, None]

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        n_symbols = self.n_features or self.emissionprob_.shape[1]
        return super()._get_n_fit_scalars_per_param() | {"e": self.n_components * (n_symbols - 1)}


class NumbersHMM(BaseHMM):
    """Base class of the models of numbers."""

    def _sequences(self, X: Any, lengths: ArrayLike | None) -> Sequences:
        if isinstance(X, Sequences):
            return without_lengths(X, lengths)
        return Sequences.from_values(X, lengths, missing=self.missing)

    def _learn_features(self, sequences: Sequences) -> None:
        _check_kind(sequences, symbols=False)
        self.n_features = sequences.n_features

    def _check_features(self, sequences: Sequences) -> None:
        _check_kind(sequences, symbols=False)
        name = ({"means_", "lambdas_", "emissionprob_"} & set(self._emission_parameters.values())).pop()
        if not hasattr(self, name):
            self.n_features = sequences.n_features
            return
        self.n_features = np.atleast_2d(getattr(self, name)).shape[-1]
        if self.n_features != sequences.n_features:
            raise PlaitError(
                f"the observations have {sequences.n_features} features, but the model has"
                f" {self.n_features}: give data of the same form"
            )


class GaussianHMM(NumbersHMM):
    """Hidden Markov model of real numbers that are normal in each state.

    Parameters
    ----------
    n_components : int
        Number of states S.
    covariance_type : {"diag", "spherical", "full", "tied"}
        Form of the covariances; tied is one full covariance for all states.
    min_covar : float
        Added to the variances of the data where these serve as a prior or initial value.
    startprob_prior, transmat_prior : float or array, default: 1
        Parameters of the Dirichlet priors: (S,) and (S, S). Zeros fix probabilities to 0.
    means_prior, means_weight : float or array, default: mean of the data, and 0.01
        Prior means of the means, and their weight in observations.
    covars_prior, covars_weight : float or array, default: 0.01 of the variances, and 3 (for a matrix D + 2)
        Scale and degrees of freedom of the prior of the covariances; see `plait.models.emissions`.
    means_fixed, covars_fixed : array, optional
        Known means and covariances, which are not learnt; all NaN for states with unknown ones.
    method : {"search", "blocked", "single-site", "em"}
        See `BaseHMM` for this and all other parameters. The letters of `params` are s, t, m, c.

    Attributes
    ----------
    startprob_ : ndarray, (S,)
        Probabilities of the first state.
    transmat_ : ndarray, (S, S)
        Row a holds the probabilities of the state after a.
    means_ : ndarray, (S, D)
        Means of the states.
    covars_ : ndarray, (S, D, D)
        Covariances of the states. Set it in the form of `covariance_type`: (S,), (S, D), (S, D, D) or (D, D).

    Notes
    -----
    States are numbered by the mean of the first feature whose means are at least 0.1 standard deviations of
    the data apart, the smallest first, so that two fits can be compared. If zeros, fixed parameters, priors
    or initial means and covariances distinguish the states, their order is kept.
    """

    _emissions_kind = "gaussian"
    _argument_names: ClassVar[dict[str, str]] = BaseHMM._argument_names | {
        "covariance": "covariance_type",
        "mean_prior": "means_prior",
        "mean_weight": "means_weight",
        "covariance_prior": "covars_prior",
        "covariance_weight": "covars_weight",
        "floor": "min_covar",
        "fixed_means": "means_fixed",
        "fixed_covariances": "covars_fixed",
    }
    _emission_parameters: ClassVar[dict[str, str]] = {"m": "means_", "c": "covars_"}
    _constraints: ClassVar[dict[str, Constraint]] = BaseHMM._constraints | {
        "covariance_type": choice(*COVARIANCES),
        "min_covar": number(0.0),
    }

    means_: Floats

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "diag",
        min_covar: float = 1e-3,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        means_prior: ArrayLike | None = None,
        means_weight: ArrayLike | None = None,
        covars_prior: ArrayLike | None = None,
        covars_weight: ArrayLike | None = None,
        algorithm: str = "viterbi",
        random_state: int | np.random.RandomState | None = None,
        n_iter: int = 200,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmc",
        init_params: str = "stmc",
        implementation: str = "log",
        *,
        n_paths: int = 5,
        method: str = "search",
        polish: bool = True,
        n_init: int = 1,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        means_fixed: ArrayLike | None = None,
        covars_fixed: ArrayLike | None = None,
        missing: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.n_init = n_init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.means_fixed = means_fixed
        self.covars_fixed = covars_fixed
        self.missing = missing
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    @property
    def covars_(self) -> Floats:
        """Covariances of the states as matrices, (S, D, D)."""
        unit = np.eye(np.atleast_2d(self.means_).shape[1])
        if self.covariance_type == "spherical":
            return self._covars_[:, None, None] * unit
        if self.covariance_type == "diag":
            return self._covars_[:, :, None] * unit
        if self.covariance_type == "tied":
            return np.tile(self._covars_, (self.n_components, 1, 1))
        return self._covars_

    @covars_.setter
    def covars_(self, covars: ArrayLike) -> None:
        check_choice("covariance_type", self.covariance_type, COVARIANCES)
        array = np.array(check_numbers("covars_", covars), order="C")
        if self.covariance_type == "spherical" and array.size == self.n_components:
            array = array.reshape(-1)  # as hmmlearn takes them
        self._check_covars(array)
        self._covars_ = array

    @covars_.deleter
    def covars_(self) -> None:
        del self._covars_

    def _check_covars(self, array: Floats, n_features: int | None = None) -> None:
        """Raise an error for invalid covariances, or a shape that does not match the covariance type."""
        form = {"spherical": "S", "diag": "SD", "full": "SDD", "tied": "DD"}[self.covariance_type]
        known = "" if n_features is None else f" = {n_features}"
        if n_features is None:
            n_features = array.shape[-1] if array.ndim else 0
        if array.shape != tuple({"S": self.n_components, "D": n_features}[axis] for axis in form):
            axes = f"({', '.join(form)}{',' * (form == 'S')})"
            raise PlaitError(
                f"covars_ has shape {array.shape}: with covariance_type={self.covariance_type!r} give an"
                f" array of shape {axes}, for S = {self.n_components} states and D{known} features"
            )
        check_covariances(Argument("covars_"), array, self.covariance_type)

    def _make_emissions(self, sequences: Sequences, free: str) -> GaussianEmissions:
        return GaussianEmissions(
            sequences,
            self.n_components,
            covariance=self.covariance_type,
            mean_prior=self.means_prior,
            mean_weight=self.means_weight,
            covariance_prior=self.covars_prior,
            covariance_weight=self.covars_weight,
            floor=self.min_covar,
            fixed_means=self.means_fixed if "m" in free else self.means_,
            fixed_covariances=self.covars_fixed if "c" in free else self._covars_,
        )

    def _get_emissions(self) -> NormalParameters:
        return NormalParameters(self.means_, self._covars_, self.covariance_type)

    def _set_emissions(self, parameters: NormalParameters, letters: Iterable[str]) -> None:
        if "m" in letters:
            self.means_ = parameters.means
        if "c" in letters:
            self._covars_ = parameters.covariances

    @staticmethod
    def _emission_settings(emissions: GaussianEmissions) -> dict[str, Any]:
        arrays, header = emissions.to_arrays()
        return {
            "covariance_type": emissions.covariance,
            "min_covar": header["floor"],
            "means_prior": arrays["mean_prior"],
            "means_weight": arrays["mean_weight"],
            "covars_prior": arrays["covariance_prior"],
            "covars_weight": arrays["covariance_weight"],
            "means_fixed": known_or_none(arrays["fixed_means"]),
            "covars_fixed": known_or_none(arrays["fixed_covariances"]),
        }

    def _is_set(self, name: str) -> bool:
        # The property `covars_` also needs the means, so test the stored covariances.
        return hasattr(self, "_covars_" if name == "covars_" else name)

    def _check_emissions(self) -> None:
        check_choice("covariance_type", self.covariance_type, COVARIANCES)
        self.means_ = _checked_rows("means_", self.means_, self.n_components)
        self.n_features = self.means_.shape[1]
        self._check_covars(self._covars_, self.n_features)

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        factors = np.linalg.cholesky(self.covars_)
        normals = random.standard_normal((len(states), self.means_.shape[1]))
        shifts: Floats = (factors[states] @ normals[:, :, None])[:, :, 0]
        return self.means_[states] + shifts

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        n_states, n_features = self.n_components, self.n_features or 1
        return super()._get_n_fit_scalars_per_param() | {
            "m": n_states * n_features,
            "c": {
                "spherical": n_states,
                "diag": n_states * n_features,
                "full": n_states * n_features * (n_features + 1) // 2,
                "tied": n_features * (n_features + 1) // 2,
            }[self.covariance_type],
        }


class PoissonHMM(NumbersHMM):
    """Hidden Markov model of counts that are Poisson in each state.

    Parameters
    ----------
    n_components : int
        Number of states S.
    startprob_prior, transmat_prior : float or array, default: 1
        Parameters of the Dirichlet priors: (S,) and (S, S). Zeros fix probabilities to 0.
    lambdas_prior, lambdas_weight : float or array (S, D), default: 1, and 1 over the mean of the data
        Shape and rate of the gamma prior of the rates.
    lambdas_fixed : array (S, D), optional
        Known rates, which are not learnt; NaN for unknown ones.
    method : {"search", "blocked", "single-site", "em"}
        See `BaseHMM` for this and all other parameters. The letters of `params` are s, t, l.

    Attributes
    ----------
    startprob_ : ndarray, (S,)
        Probabilities of the first state.
    transmat_ : ndarray, (S, S)
        Row a holds the probabilities of the state after a.
    lambdas_ : ndarray, (S, D)
        Rates of the states.

    Notes
    -----
    States are numbered by the rate of the first feature that separates them, as in `GaussianHMM`.
    """

    _emissions_kind = "poisson"
    _argument_names: ClassVar[dict[str, str]] = BaseHMM._argument_names | {
        "prior": "lambdas_prior",
        "prior_weight": "lambdas_weight",
        "fixed": "lambdas_fixed",
    }
    _emission_parameters: ClassVar[dict[str, str]] = {"l": "lambdas_"}

    lambdas_: Floats

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        lambdas_prior: ArrayLike | None = None,
        lambdas_weight: ArrayLike | None = None,
        algorithm: str = "viterbi",
        random_state: int | np.random.RandomState | None = None,
        n_iter: int = 200,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stl",
        init_params: str = "stl",
        implementation: str = "log",
        *,
        n_paths: int = 5,
        method: str = "search",
        polish: bool = True,
        n_init: int = 1,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        lambdas_fixed: ArrayLike | None = None,
        missing: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.n_init = n_init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.lambdas_fixed = lambdas_fixed
        self.missing = missing
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _make_emissions(self, sequences: Sequences, free: str) -> PoissonEmissions:
        return PoissonEmissions(
            sequences,
            self.n_components,
            prior=self.lambdas_prior,
            prior_weight=self.lambdas_weight,
            fixed=self.lambdas_fixed if "l" in free else self.lambdas_,
        )

    def _get_emissions(self) -> PoissonParameters:
        return PoissonParameters(self.lambdas_)

    def _set_emissions(self, parameters: PoissonParameters, letters: Iterable[str]) -> None:
        if "l" in letters:
            self.lambdas_ = parameters.rates

    @staticmethod
    def _emission_settings(emissions: PoissonEmissions) -> dict[str, Any]:
        arrays, _ = emissions.to_arrays()
        return {
            "lambdas_prior": arrays["prior"],
            "lambdas_weight": arrays["prior_weight"],
            "lambdas_fixed": known_or_none(arrays["fixed"]),
        }

    def _check_emissions(self) -> None:
        self.lambdas_ = _checked_rows("lambdas_", self.lambdas_, self.n_components)
        if not np.all(self.lambdas_ >= 0):
            place, index = place_of(self.lambdas_ < 0)
            raise PlaitError(
                Argument("lambdas_"), f"{place} must be at least 0, got {self.lambdas_[index]:g}"
            )
        self.n_features = self.lambdas_.shape[1]

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        counts: NDArray[Any] = random.poisson(self.lambdas_[states])
        return counts

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        n_features = self.n_features or 1
        return super()._get_n_fit_scalars_per_param() | {"l": self.n_components * n_features}


def _checked_rows(name: str, value: ArrayLike, n_states: int) -> Floats:
    """Return an attribute as an array of finite numbers, one row per state."""
    array = np.ascontiguousarray(check_numbers(name, value))
    if np.ndim(value) != 2 or len(array) != n_states or not array.shape[1]:
        raise PlaitError(Argument(name), f" must have shape ({n_states}, D), got {np.shape(value)}")
    check_finite(Argument(name), array, array.shape)
    return array


def _check_kind(sequences: Sequences, *, symbols: bool) -> None:
    if sequences.is_symbols and not symbols:
        raise PlaitError(f"the data are symbols, {sequences}: use CategoricalHMM, or Sequences.from_values")
    if symbols and not sequences.is_symbols:
        raise PlaitError(
            f"the data are numbers, {sequences}: use GaussianHMM or PoissonHMM, or Sequences.from_symbols"
        )


def without_lengths(sequences: Sequences, lengths: ArrayLike | None) -> Sequences:
    """Return the sequences, or raise an error for lengths in addition to their own."""
    if lengths is not None:
        raise PlaitError(
            Argument("lengths"), f" must be None for Sequences, which have lengths, got {short_repr(lengths)}"
        )
    return sequences
