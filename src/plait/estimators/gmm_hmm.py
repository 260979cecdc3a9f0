"""Hidden Markov models whose states are mixtures of normal distributions, with hmmlearn's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_distributions, check_finite, check_numbers
from plait.checks import check_choice
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.estimators.base import Constraint, choice, known_or_none, number, whole
from plait.estimators.base_hmm import BaseHMM
from plait.estimators.hmm import NumbersHMM
from plait.models.emissions import COVARIANCES
from plait.models.emissions.covariances import check_covariances
from plait.models.emissions.gaussian_mixture import GaussianMixtureEmissions, GaussianMixtureParameters
from plait.models.model import MAX_STATES


class GMMHMM(NumbersHMM):
    """Hidden Markov model of real numbers that are a mixture of normal distributions in each state.

    Parameters
    ----------
    n_components : int
        Number of states S.
    n_mix : int
        Number of normal distributions K in each state.
    min_covar : float
        Added to the variances of the data where these serve as a prior or initial value.
    startprob_prior, transmat_prior : float or array, default: 1
        Parameters of the Dirichlet priors: (S,) and (S, S). Zeros fix probabilities to 0.
    weights_prior : float or array (S, K), default: 1
        Parameters of the Dirichlet priors of the weights.
    means_prior, means_weight : float or array, default: mean of the data, and 0.01
        Prior means of the means, (S, K, D), and their weight in observations, (S, K).
    covars_prior, covars_weight : float or array, default: 0.01 of the variances, and 3 (for a matrix D + 2)
        Scale, in the form of `covars_`, and degrees of freedom, (S, K), of the prior of the covariances.
    covariance_type : {"diag", "spherical", "full", "tied"}
        Form of the covariances; tied is one full covariance for all components of a state.
    method : {"search", "blocked", "single-site", "em"}
        See `BaseHMM` for this and all other parameters. The letters of `params` are s, t, m, c, w.

    Attributes
    ----------
    startprob_ : ndarray, (S,)
        Probabilities of the first state.
    transmat_ : ndarray, (S, S)
        Row a holds the probabilities of the state after a.
    weights_ : ndarray, (S, K)
        Probabilities of the components of each state.
    means_ : ndarray, (S, K, D)
        Means of the components.
    covars_ : ndarray
        Covariances: (S, K), (S, K, D), (S, K, D, D), or (S, D, D) if tied.

    Notes
    -----
    States are numbered by their means as in `GaussianHMM`; components are in no particular order.
    """

    _emissions_kind = "gaussian-mixture"
    _argument_names: ClassVar[dict[str, str]] = BaseHMM._argument_names | {
        "covariance": "covariance_type",
        "weight_prior": "weights_prior",
        "mean_prior": "means_prior",
        "mean_weight": "means_weight",
        "covariance_prior": "covars_prior",
        "covariance_weight": "covars_weight",
        "floor": "min_covar",
    }
    _emission_parameters: ClassVar[dict[str, str]] = {"m": "means_", "c": "covars_", "w": "weights_"}
    _constraints: ClassVar[dict[str, Constraint]] = BaseHMM._constraints | {
        "n_mix": whole(1, MAX_STATES),
        "covariance_type": choice(*COVARIANCES),
        "min_covar": number(0.0),
    }

    weights_: Floats
    means_: Floats
    covars_: Floats

    def __init__(
        self,
        n_components: int = 1,
        n_mix: int = 1,
        min_covar: float = 1e-3,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        weights_prior: ArrayLike = 1.0,
        means_prior: ArrayLike | None = None,
        means_weight: ArrayLike | None = None,
        covars_prior: ArrayLike | None = None,
        covars_weight: ArrayLike | None = None,
        algorithm: str = "viterbi",
        covariance_type: str = "diag",
        random_state: int | np.random.RandomState | None = None,
        n_iter: int = 200,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmcw",
        init_params: str = "stmcw",
        implementation: str = "log",
        *,
        n_paths: int = 5,
        method: str = "search",
        polish: bool = True,
        n_init: int = 1,
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        missing: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_mix = n_mix
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.weights_prior = weights_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.algorithm = algorithm
        self.covariance_type = covariance_type
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
        self.missing = missing
        self.n_jobs = n_jobs

    def _make_emissions(self, sequences: Sequences, free: str) -> GaussianMixtureEmissions:
        return GaussianMixtureEmissions(
            sequences,
            self.n_components,
            self.n_mix,
            covariance=self.covariance_type,
            weight_prior=self.weights_prior,
            fixed_weights=None if "w" in free else self.weights_,
            floor=self.min_covar,
            mean_prior=self.means_prior,
            mean_weight=self.means_weight,
            covariance_prior=self.covars_prior,
            covariance_weight=self.covars_weight,
            fixed_means=None if "m" in free else self.means_,
            fixed_covariances=None if "c" in free else self.covars_,
        )

    def _get_emissions(self) -> GaussianMixtureParameters:
        return GaussianMixtureParameters(self.weights_, self.means_, self.covars_, self.covariance_type)

    def _set_emissions(self, parameters: GaussianMixtureParameters, letters: Iterable[str]) -> None:
        if "m" in letters:
            self.means_ = parameters.means
        if "c" in letters:
            self.covars_ = parameters.covariances
        if "w" in letters:
            self.weights_ = parameters.weights

    @staticmethod
    def _emission_settings(emissions: GaussianMixtureEmissions) -> dict[str, Any]:
        arrays, header = emissions.to_arrays()
        for name in ("fixed_means", "fixed_covariances", "weights.fixed"):
            if known_or_none(arrays[name]) is not None:
                raise PlaitError(f"the run has {name.replace('_', ' ')}, which GMMHMM does not take")
        return {
            "n_mix": emissions.n_components,
            "covariance_type": emissions.covariance,
            "min_covar": header["floor"],
            "weights_prior": arrays["weights.prior"],
            "means_prior": arrays["mean_prior"],
            "means_weight": arrays["mean_weight"],
            "covars_prior": arrays["covariance_prior"],
            "covars_weight": arrays["covariance_weight"],
        }

    def _check_emissions(self) -> None:
        check_choice("covariance_type", self.covariance_type, COVARIANCES)
        n_states, n_mix = self.n_components, self.n_mix
        self.weights_ = check_distributions("weights_", self.weights_, (n_states, n_mix))
        self.means_ = np.ascontiguousarray(check_numbers("means_", self.means_))
        if self.means_.ndim != 3 or self.means_.shape[:2] != (n_states, n_mix) or not self.means_.shape[2]:
            raise PlaitError(
                Argument("means_"), f" must have shape ({n_states}, {n_mix}, D), got {self.means_.shape}"
            )
        check_finite(Argument("means_"), self.means_)
        self.n_features = self.means_.shape[2]
        self.covars_ = np.ascontiguousarray(check_numbers("covars_", self.covars_))
        form = {"spherical": "SK", "diag": "SKD", "full": "SKDD", "tied": "SDD"}[self.covariance_type]
        sizes = {"S": n_states, "K": n_mix, "D": self.n_features}
        shape = tuple(sizes[axis] for axis in form)
        if self.covars_.shape != shape:
            raise PlaitError(
                f"covars_ has shape {self.covars_.shape}: with covariance_type={self.covariance_type!r} give"
                f" an array of shape ({', '.join(form)}) = {shape}"
            )
        components = self._get_emissions().components
        check_covariances(Argument("covars_"), components.covariances, components.covariance)

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        return self._get_emissions().sample(states, np.random.default_rng(random.randint(2**31)))

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        n_states, n_mix, n_features = self.n_components, self.n_mix, self.n_features or 1
        return super()._get_n_fit_scalars_per_param() | {
            "m": n_states * n_mix * n_features,
            "c": {
                "spherical": n_states * n_mix,
                "diag": n_states * n_mix * n_features,
                "full": n_states * n_mix * n_features * (n_features + 1) // 2,
                "tied": n_states * n_features * (n_features + 1) // 2,
            }[self.covariance_type],
            "w": n_states * (n_mix - 1),
        }
