"""Mixtures of counts, bits and documents, with scikit-learn's names, attributes and methods."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from plait.arrays import Floats, check_distributions, check_sparse, place_of
from plait.checks import check_integer
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.estimators.base import Constraint, number, optional
from plait.estimators.base_mixture import BaseMixture, checked_init
from plait.estimators.gaussian_mixture import GaussianMixture
from plait.models.emissions import (
    BernoulliEmissions,
    BernoulliParameters,
    CategoricalParameters,
    MultinomialEmissions,
    PoissonEmissions,
    PoissonParameters,
)
from plait.run import Run

__all__ = ["BernoulliMixture", "GaussianMixture", "MultinomialMixture", "PoissonMixture"]

_PRIOR = 1.1  # of probabilities: above 1, so that values unseen in a component stay possible


class PoissonMixture(BaseMixture):
    """Mixture of counts: in each component, the features are independent Poisson variates.

    Parameters
    ----------
    n_components : int, default=1
        Number of components S.
    rates_init : array (S, D), default=None
        Initial rates.
    rate_prior : float or array (S, D), default=None
        Shape of the gamma prior of the rates; None is 1.
    rate_weight_prior : float or array (S, D), default=None
        Rate of that prior: its weight in observations. With None, the prior mean is the mean of the data.
    method : {"partially-collapsed", "collapsed", "em"}, default="partially-collapsed"
        See `BaseMixture` for this and all other parameters.

    Attributes
    ----------
    rates_ : ndarray, (S, D)
        Means of the counts in each component.

    Notes
    -----
    EM maximises P(phi) P(X | phi), whose prior keeps rates above 0. To come close to maximum likelihood, make
    `rate_prior` and `rate_weight_prior` small, but at least 1e-10; a positive count of a feature then has
    probability 0 in components that never had one in training.
    """

    _emissions_kind = "poisson"
    _argument_names: ClassVar[dict[str, str]] = BaseMixture._argument_names | {
        "prior": "rate_prior",
        "prior_weight": "rate_weight_prior",
    }
    _inits: ClassVar[tuple[str, ...]] = ("rates_init",)

    rates_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        weights_init: ArrayLike | None = None,
        rates_init: ArrayLike | None = None,
        n_paths: int = 5,
        method: str = "partially-collapsed",
        polish: bool = True,
        weight_concentration_prior: ArrayLike | None = None,
        rate_prior: ArrayLike | None = None,
        rate_weight_prior: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.rates_init = rates_init
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.weight_concentration_prior = weight_concentration_prior
        self.rate_prior = rate_prior
        self.rate_weight_prior = rate_weight_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _checked(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked(X, reset=reset)
        _check_sign(X)
        return X

    def _make_emissions(self, X: Floats) -> PoissonEmissions:
        sequences = Sequences.from_values(X)
        return PoissonEmissions(
            sequences, self.n_components, prior=self.rate_prior, prior_weight=self.rate_weight_prior
        )

    def _plain_emissions(self, X: Floats) -> PoissonEmissions:
        return PoissonEmissions(Sequences.from_values(X), len(self.weights_), prior=1.0, prior_weight=1.0)

    @staticmethod
    def _emission_settings(emissions: PoissonEmissions) -> dict[str, Any]:
        arrays, _ = emissions.to_arrays()
        return {"rate_prior": arrays["prior"], "rate_weight_prior": arrays["prior_weight"]}

    def _get_emissions(self) -> PoissonParameters:
        return PoissonParameters(self.rates_)

    def _set_emissions(self, parameters: PoissonParameters) -> None:
        self.rates_ = parameters.rates

    def _first_emissions(self, drawn: PoissonParameters) -> PoissonParameters:
        if self.rates_init is None:
            return drawn
        rates = checked_init("rates_init", self.rates_init, drawn.rates.shape)
        if (rates < 0).any():
            place, index = place_of(rates < 0)
            raise PlaitError(Argument("rates_init"), f"{place} must be at least 0, got {rates[index]:g}")
        return PoissonParameters(rates)

    def _n_emission_parameters(self) -> int:
        return self.rates_.size

    def __sklearn_tags__(self) -> Tags:
        return _counts_tags(super().__sklearn_tags__())


class BernoulliMixture(BaseMixture):
    """Mixture of features that are 0 or 1, independent in each component: latent class analysis.

    Parameters
    ----------
    n_components : int, default=1
        Number of components S.
    binarize : float, default=None
        Numbers above it count as 1, others as 0; None if X holds only 0 and 1.
    probabilities_init : array (S, D), default=None
        Initial probabilities.
    ones_prior : float or array (S, D), default=None
        First parameter of the beta prior of the probabilities, which is added to the number of ones; None is
        1.1.
    zeros_prior : float or array (S, D), default=None
        Second parameter, which is added to the number of zeros; None is the value of `ones_prior`.
    method : {"partially-collapsed", "collapsed", "em"}, default="partially-collapsed"
        See `BaseMixture` for this and all other parameters.

    Attributes
    ----------
    probabilities_ : ndarray, (S, D)
        Probability of a 1 in each component.

    Notes
    -----
    EM maximises P(phi) P(X | phi), whose prior keeps probabilities away from 0 and 1. With `ones_prior=1` it
    maximises the likelihood alone; a 1 then has probability 0 in components that never had one in training.
    """

    _emissions_kind = "bernoulli"
    _argument_names: ClassVar[dict[str, str]] = BaseMixture._argument_names | {
        "prior": "ones_prior",
        "prior_of_zeros": "zeros_prior",
    }
    _inits: ClassVar[tuple[str, ...]] = ("probabilities_init",)
    _constraints: ClassVar[dict[str, Constraint]] = BaseMixture._constraints | {
        "binarize": optional(number(None)),
    }

    probabilities_: Floats

    def __init__(
        self,
        n_components: int = 1,
        *,
        binarize: float | None = None,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        weights_init: ArrayLike | None = None,
        probabilities_init: ArrayLike | None = None,
        n_paths: int = 5,
        method: str = "partially-collapsed",
        polish: bool = True,
        weight_concentration_prior: ArrayLike | None = None,
        ones_prior: ArrayLike | None = None,
        zeros_prior: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.binarize = binarize
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.probabilities_init = probabilities_init
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.weight_concentration_prior = weight_concentration_prior
        self.ones_prior = ones_prior
        self.zeros_prior = zeros_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _checked(self, X: Any, *, reset: bool) -> Any:
        X = super()._checked(X, reset=reset)
        return X if self.binarize is None else (self.binarize < X).astype(np.float64)

    def _make_emissions(self, X: Floats) -> BernoulliEmissions:
        ones = _PRIOR if self.ones_prior is None else self.ones_prior
        sequences = Sequences.from_values(X)
        return BernoulliEmissions(sequences, self.n_components, prior=ones, prior_of_zeros=self.zeros_prior)

    def _plain_emissions(self, X: Floats) -> BernoulliEmissions:
        return BernoulliEmissions(Sequences.from_values(X), len(self.weights_))

    @staticmethod
    def _emission_settings(emissions: BernoulliEmissions) -> dict[str, Any]:
        arrays, _ = emissions.to_arrays()
        return {"ones_prior": arrays["prior"], "zeros_prior": arrays["prior_of_zeros"]}

    def _get_emissions(self) -> BernoulliParameters:
        return BernoulliParameters(self.probabilities_)

    def _set_emissions(self, parameters: BernoulliParameters) -> None:
        self.probabilities_ = parameters.probabilities

    def _first_emissions(self, drawn: BernoulliParameters) -> BernoulliParameters:
        if self.probabilities_init is None:
            return drawn
        shape = drawn.probabilities.shape
        probabilities = checked_init("probabilities_init", self.probabilities_init, shape)
        wrong = (probabilities < 0) | (probabilities > 1)
        if wrong.any():
            place, index = place_of(wrong)
            raise PlaitError(
                Argument("probabilities_init"), f"{place} must be from 0 to 1, got {probabilities[index]:g}"
            )
        return BernoulliParameters(probabilities)

    def _n_emission_parameters(self) -> int:
        return self.probabilities_.size


class MultinomialMixture(BaseMixture):
    """Mixture of documents, or other counts of categories: each component has a distribution of words.

    Parameters
    ----------
    n_components : int, default=1
        Number of components S.
    probabilities_init : array (S, D), default=None
        Initial distributions of the words.
    probability_prior : float or array (S, D), default=None
        Parameters of the Dirichlet prior of the distributions; None is 1.1.
    method : {"partially-collapsed", "collapsed", "em"}, default="partially-collapsed"
        See `BaseMixture` for this and all other parameters.

    Attributes
    ----------
    probabilities_ : ndarray, (S, D)
        Distribution of the words in each component; rows sum to 1.
    lengths_ : ndarray of int, (N,)
        Number of words of each training document.

    Notes
    -----
    X may be a sparse matrix. Its rows, the documents, have one component each; for documents of several
    topics see `LatentDirichletAllocation`.

    EM maximises P(phi) P(X | phi), whose prior keeps probabilities above 0. With `probability_prior=1` it
    maximises the likelihood alone; a word then has probability 0 in components that never had it in training.
    """

    _emissions_kind = "multinomial"
    _argument_names: ClassVar[dict[str, str]] = BaseMixture._argument_names | {"prior": "probability_prior"}
    _inits: ClassVar[tuple[str, ...]] = ("probabilities_init",)

    probabilities_: Floats
    lengths_: NDArray[np.int64]

    def __init__(
        self,
        n_components: int = 1,
        *,
        tol: float = 1e-3,
        max_iter: int = 100,
        n_init: int = 1,
        weights_init: ArrayLike | None = None,
        probabilities_init: ArrayLike | None = None,
        n_paths: int = 5,
        method: str = "partially-collapsed",
        polish: bool = True,
        weight_concentration_prior: ArrayLike | None = None,
        probability_prior: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 30.0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.weights_init = weights_init
        self.probabilities_init = probabilities_init
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.weight_concentration_prior = weight_concentration_prior
        self.probability_prior = probability_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def _checked(self, X: Any, *, reset: bool) -> Any:
        check_sparse(X)  # before scikit-learn walks it
        X = validate_data(self, X, reset=reset, dtype=np.float64, accept_sparse="csr")
        _check_sign(X)
        return X

    def _make_emissions(self, X: Any) -> MultinomialEmissions:
        prior = _PRIOR if self.probability_prior is None else self.probability_prior
        emissions = MultinomialEmissions(X, self.n_components, prior=prior)
        self.lengths_ = np.asarray(X.sum(axis=1)).ravel().astype(np.int64)
        return emissions

    def _plain_emissions(self, X: Any) -> MultinomialEmissions:
        return MultinomialEmissions(X, len(self.weights_))

    @staticmethod
    def _emission_settings(emissions: MultinomialEmissions) -> dict[str, Any]:
        return {"probability_prior": emissions.dirichlet.prior}

    def _take_run(self, run: Run) -> None:
        super()._take_run(run)
        emissions: Any = run.model.emissions  # type: ignore[attr-defined]
        words_before = np.append(0, np.cumsum(emissions.numbers.astype(np.int64)))
        self.lengths_ = np.diff(words_before[emissions.offsets])

    def _get_emissions(self) -> CategoricalParameters:
        return CategoricalParameters(self.probabilities_)

    def _set_emissions(self, parameters: CategoricalParameters) -> None:
        self.probabilities_ = parameters.probabilities

    def _first_emissions(self, drawn: CategoricalParameters) -> CategoricalParameters:
        if self.probabilities_init is None:
            return drawn
        shape = drawn.probabilities.shape
        return CategoricalParameters(
            check_distributions("probabilities_init", self.probabilities_init, shape)
        )

    def _n_emission_parameters(self) -> int:
        n_components, n_words = self.probabilities_.shape
        return n_components * (n_words - 1)

    def sample(self, n_samples: int = 1, length: int | None = None) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Draw documents from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of documents.
        length : int, default=None
            Number of words of each; None draws lengths at random from those of the training documents.

        Returns
        -------
        X : ndarray of int, (n_samples, D)
        y : ndarray of int, (n_samples,)
            Their components.
        """
        if length is not None:
            check_integer("length", length, least=0)

        def blank(rng: np.random.Generator) -> Any:
            lengths = rng.choice(self.lengths_, n_samples) if length is None else np.full(n_samples, length)
            return sparse.csr_array(
                (lengths, (np.arange(n_samples), np.zeros(n_samples, np.int64))),
                shape=(n_samples, self.n_features_in_),
            )

        return self._drawn(n_samples, blank)

    def _values(self, emissions: Any) -> NDArray[Any]:
        parts = emissions.numbers.astype(np.int64), emissions.words, emissions.offsets
        shape = emissions.n_sites, emissions.n_words
        values: NDArray[Any] = sparse.csr_array(parts, shape=shape).toarray()
        return values

    def __sklearn_tags__(self) -> Tags:
        tags = _counts_tags(super().__sklearn_tags__())
        tags.input_tags.sparse = True
        return tags


def _check_sign(X: Any) -> None:
    least = X.min()
    if least < 0:
        raise PlaitError(
            f"Negative values in data: X holds {least:g}, but counts are whole numbers from 0 up"
        )


def _counts_tags(tags: Tags) -> Tags:
    tags.input_tags.positive_only = True
    tags.input_tags.categorical = True  # whole numbers: counts with a fraction are refused
    return tags
