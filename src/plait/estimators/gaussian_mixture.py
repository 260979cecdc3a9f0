"""Mixtures of normal distributions, with scikit-learn's names, attributes and methods."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, place_of
from plait.data.sequences import Sequences
from plait.em import ExpectationModel
from plait.errors import Argument, PlaitError
from plait.estimators.base import Constraint, choice, number
from plait.estimators.base_mixture import BaseMixture, checked_init
from plait.models.emissions import COVARIANCES, GaussianEmissions, NormalParameters
from plait.models.emissions.covariances import check_covariances
from plait.models.mixture import LikelihoodOnly, MixtureModel, MixtureParameters


class GaussianMixture(BaseMixture):
    """Mixture of normal distributions.

    Parameters
    ----------
    n_components : int, default=1
        Number of components S.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Form of the covariances; tied is one full covariance for all components.
    reg_covar : float, default=1e-6
        Added to the variances in every iteration of maximum-likelihood EM; otherwise added to the variances
        of the data where these serve as a prior or initial value.
    means_init, precisions_init : array, default=None
        Means (S, D) and inverse covariances, in the form of `covariance_type`, to start from.
    mean_prior : float or array (D,) or (S, D), default=None
        Prior mean of the means; None is the mean of the data.
    mean_precision_prior : float or array (S,), default=None
        Weight of that prior in observations; None is 0.01.
    degrees_of_freedom_prior : float or array (S,), default=None
        Degrees of freedom of the inverse Wishart (or inverse gamma) prior of the covariances; None is 3, for
        a matrix D + 2. See `plait.models.emissions.GaussianEmissions`.
    covariance_prior : float or array, default=None
        Scale of that prior, in the form of the covariances or of one of them; None is 0.01 of the variances
        of the data.
    method : {"partially-collapsed", "collapsed", "em"}, default="partially-collapsed"
        See `BaseMixture` for this and all other parameters. The collapsed sampler does not support
        tied covariances.

    Attributes
    ----------
    means_ : ndarray, (S, D)
        Means of the components.
    covariances_ : ndarray
        Their covariances: (S,) if spherical, (S, D) if diagonal, (S, D, D) if full, (D, D) if tied.
    precisions_, precisions_cholesky_ : ndarray
        Inverses of the covariances, and the upper triangular factors of these, in the same form.

    Notes
    -----
    With `method="em"` and no prior given, EM maximises the likelihood alone, and each iteration is that of
    scikit-learn, with the same `reg_covar`. If any prior is given, EM maximises P(phi) P(X | phi) with all
    priors, as it does after a sampler.

    Examples
    --------
    >>> import numpy as np
    >>> import plait
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> mixture = plait.GaussianMixture(n_components=2, covariance_type="diag", random_state=0).fit(X)
    >>> mixture.predict([[0, 0], [12, 3]]).shape
    (2,)
    """

    _emissions_kind = "gaussian"
    _argument_names: ClassVar[dict[str, str]] = BaseMixture._argument_names | {
        "covariance": "covariance_type",
        "mean_weight": "mean_precision_prior",
        "covariance_weight": "degrees_of_freedom_prior",
        "floor": "reg_covar",
    }
    _inits: ClassVar[tuple[str, ...]] = ("means_init", "precisions_init")
    _constraints: ClassVar[dict[str, Constraint]] = BaseMixture._constraints | {
        "covariance_type": choice(*COVARIANCES),
        "reg_covar": number(0.0),
    }
    _priors: ClassVar[tuple[str, ...]] = (
        "weight_concentration_prior",
        "mean_prior",
        "mean_precision_prior",
        "degrees_of_freedom_prior",
        "covariance_prior",
    )

    means_: Floats
    covariances_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        weights_init: ArrayLike | None = None,
        means_init: ArrayLike | None = None,
        precisions_init: ArrayLike | None = None,
        n_paths: int = 5,
        method: str = "partially-collapsed",
        polish: bool = True,
        weight_concentration_prior: ArrayLike | None = None,
        mean_prior: ArrayLike | None = None,
        mean_precision_prior: ArrayLike | None = None,
        degrees_of_freedom_prior: ArrayLike | None = None,
        covariance_prior: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_prior = mean_prior
        self.mean_precision_prior = mean_precision_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def precisions_cholesky_(self) -> Floats:
        """Upper triangular factors of the inverse covariances, or 1 / standard deviation."""
        if self.covariance_type in ("spherical", "diag"):
            return 1.0 / np.sqrt(self.covariances_)
        upper = self._get_emissions().whitening[0].transpose(0, 2, 1)
        return upper[0] if self.covariance_type == "tied" else upper

    @property
    def precisions_(self) -> Floats:
        """Inverses of the covariances."""
        upper = self.precisions_cholesky_
        if self.covariance_type in ("spherical", "diag"):
            return upper**2
        return upper @ np.swapaxes(upper, -1, -2)

    def _make_emissions(self, X: Floats) -> GaussianEmissions:
        constant = np.ptp(X, axis=0) == 0
        if self.reg_covar == 0 and self.covariance_prior is None and constant.any():
            raise PlaitError(
                f"feature {place_of(constant)[1][0]} is the same in all observations and reg_covar is 0:"
                " raise reg_covar, or leave the feature out"
            )
        return GaussianEmissions(
            Sequences.from_values(X),
            self.n_components,
            covariance=self.covariance_type,
            mean_prior=self.mean_prior,
            mean_weight=self.mean_precision_prior,
            covariance_prior=self.covariance_prior,
            covariance_weight=self.degrees_of_freedom_prior,
            floor=float(self.reg_covar),
        )

    def _plain_emissions(self, X: Floats) -> GaussianEmissions:
        sequences, n_components = Sequences.from_values(X), len(self.weights_)
        return GaussianEmissions(
            sequences, n_components, covariance=self.covariance_type, covariance_prior=1.0
        )

    def _climber(self, model: MixtureModel) -> ExpectationModel[MixtureParameters]:
        if all(getattr(self, name) is None for name in self._priors):
            return LikelihoodOnly(model, float(self.reg_covar))
        return model

    @staticmethod
    def _emission_settings(emissions: GaussianEmissions) -> dict[str, Any]:
        arrays, header = emissions.to_arrays()
        return {
            "covariance_type": emissions.covariance,
            "reg_covar": header["floor"],
            "mean_prior": arrays["mean_prior"],
            "mean_precision_prior": arrays["mean_weight"],
            "covariance_prior": arrays["covariance_prior"],
            "degrees_of_freedom_prior": arrays["covariance_weight"],
        }

    def _get_emissions(self) -> NormalParameters:
        return NormalParameters(self.means_, self.covariances_, self.covariance_type)

    def _set_emissions(self, parameters: NormalParameters) -> None:
        self.means_, self.covariances_ = parameters.means, parameters.covariances

    def _first_emissions(self, drawn: NormalParameters) -> NormalParameters:
        means, covariances = drawn.means, drawn.covariances
        if self.means_init is not None:
            means = checked_init("means_init", self.means_init, means.shape)
        if self.precisions_init is not None:
            precisions = checked_init("precisions_init", self.precisions_init, covariances.shape)
            check_covariances(Argument("precisions_init"), precisions, self.covariance_type)
            if self.covariance_type in ("full", "tied"):
                covariances = np.ascontiguousarray(np.linalg.inv(precisions), np.float64)
            else:
                covariances = 1.0 / precisions
        return NormalParameters(means, covariances, self.covariance_type)

    def _n_emission_parameters(self) -> int:
        n_components, n_features = self.means_.shape
        each = n_features * (n_features + 1) // 2
        return (
            self.means_.size
            + {
                "spherical": n_components,
                "diag": n_components * n_features,
                "full": n_components * each,
                "tied": each,
            }[self.covariance_type]
        )

    def _values(self, emissions: Any) -> NDArray[Any]:
        values: NDArray[Any] = emissions.sequences.values
        return values.copy()
