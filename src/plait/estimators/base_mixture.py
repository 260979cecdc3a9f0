"""What the estimators of mixtures share: scikit-learn's face, plait's samplers behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from plait.checks import check_integer, short_repr
from plait.em import ExpectationModel, maximise
from plait.errors import PlaitError, PlaitWarning
from plait.estimators.monitor import ConvergenceMonitor
from plait.estimators.seeds import drawn_seed
from plait.evaluate.agreement import token_agreement
from plait.models.emissions import Emissions
from plait.models.mixture import MixtureModel, MixtureParameters
from plait.models.model import MAX_STATES, Key
from plait.models.priors import Floats, check_distributions
from plait.progress import show_progress
from plait.rng import INITIAL
from plait.run import Run, Trace
from plait.sampler import Interrupted, sample
from plait.threads import Threads

METHODS = ("partially-collapsed", "collapsed", "em")

_EMPTY = 0.5  # a component that EM gives less than half an observation has none


@dataclass(frozen=True)
class _Fit:
    """One fit, of the `n_init` from which the best is taken."""

    parameters: MixtureParameters
    run: Run | None
    log_likelihood: float
    history: list[float]
    converged: bool
    stopped: Interrupted | None


class BaseMixture(DensityMixin, BaseEstimator):
    """Base of the estimators of mixtures, and what they have in common.

    m sets of components of the observations (paths) share one set of parameters phi. That samples phi from
    P(phi) P(X | phi)^m: good solutions become exponentially more likely than with one path.

    Parameters
    ----------
    n_components : int, default=1
        Number of components S.
    n_paths : int, default=5
        Number of paths m that share the parameters; 1 is the ordinary Gibbs sampler.
    method : {"partially-collapsed", "collapsed", "em"}, default="partially-collapsed"
        How to fit. The partially collapsed sampler draws the parameters and runs on all cores; the collapsed
        one integrates them out, is sequential and needs fewer sweeps; "em" climbs to the nearest maximum.
    polish : bool, default=True
        Whether a sampler ends with EM, from the sampled solution to the exact top of its hill, which is one
        of P(phi) P(X | phi).
    max_iter : int, default=100
        Number of sweeps of a sampler; the most iterations of EM.
    tol : float, default=1e-3
        EM ends when an iteration changes the mean log-likelihood of an observation by less.
    n_init : int, default=1
        Number of fits from different beginnings; the one with the highest likelihood is kept.
    weights_init : array (S,), default=None
        Weights of the components to begin with; equal by default.
    weight_concentration_prior : float or array (S,), default=None
        Parameters of the Dirichlet prior of the weights; None is 1.
    random_state : int, RandomState or None, default=None
        Names the random streams. An int gives the same result, bit for bit, on any number of threads.
    warm_start : bool, default=False
        Whether `fit` begins with the parameters of the last fit; `n_init` then does not count.
    n_jobs : int, default=None
        Number of threads; None and -1 take all cores.
    verbose : int, default=0
        Whether to show progress on standard error.

    Attributes
    ----------
    weights_ : ndarray, (S,)
        Shares of the components.
    converged_ : bool
        Whether EM came to an end within `max_iter` iterations. False for a sampler that is not polished:
        nothing says that it has.
    n_iter_ : int
        Number of sweeps and of iterations of EM made.
    lower_bound_ : float
        Mean log-likelihood of the observations that were fitted: `score(X)`.
    lower_bounds_ : list of float
        The same before each iteration of EM.
    run_ : Run or None
        The run of the sampler, which can be saved; None for EM. Its states are numbered as they were drawn.
    paths_ : ndarray of uint16, (m, N), or None
        Component of each observation in each path, numbered as everywhere else.
    trace_ : Trace or None
        Course of the sampler.
    agreement_ : ndarray, (N,)
        Share of the paths that give an observation its most common component: how certain that is *given the
        parameters*. Computed when asked for.
    n_features_in_ : int
        Number of features D.
    feature_names_in_ : ndarray of str, (D,)
        Their names, if X had any.

    Notes
    -----
    Components are numbered by their weights, the largest first, so that two fits can be compared; unless
    parameters to begin with or priors that differ between components number them.

    A component without observations keeps the finite parameters that the prior gives it, and is warned of.
    """

    _inits: ClassVar[tuple[str, ...]]
    """Names of the arguments with parameters of the emissions to begin with."""

    # Set by the subclasses' constructors, which list them one by one as scikit-learn wants it.
    n_components: int
    n_paths: int
    method: str
    polish: bool
    max_iter: int
    tol: float
    n_init: int
    weights_init: ArrayLike | None
    weight_concentration_prior: ArrayLike | None
    random_state: int | np.random.RandomState | None
    warm_start: bool
    n_jobs: int | None
    verbose: int

    weights_: Floats
    converged_: bool
    n_iter_: int
    lower_bound_: float
    lower_bounds_: list[float]
    run_: Run | None
    paths_: NDArray[np.uint16] | None
    n_features_in_: int

    # ---------------------------------------------------------------------------------------------
    # What each kind of emissions says
    # ---------------------------------------------------------------------------------------------

    def _emissions(self, X: Any) -> Emissions[Any]:
        """Return the emissions of data to be fitted, with their priors."""
        raise NotImplementedError

    def _plain_emissions(self, X: Any) -> Emissions[Any]:
        """Return the emissions of other data; their priors do not matter."""
        raise NotImplementedError

    def _law(self) -> Any:
        """Return the law of the emissions that the attributes describe."""
        raise NotImplementedError

    def _set_law(self, law: Any) -> None:
        """Set the attributes to a law of the emissions."""
        raise NotImplementedError

    def _first_emission_parameters(self, law: Any) -> Any:
        """Return a law to begin with, with those parameters that the user gave."""
        raise NotImplementedError

    def _n_law_parameters(self) -> int:
        """Return the number of free parameters of the emissions."""
        raise NotImplementedError

    def _values(self, emissions: Any) -> NDArray[Any]:
        """Return the data of emissions, as a user would give them."""
        values: NDArray[Any] = emissions.sequences.values
        return values.astype(np.int64)

    def _check_more(self) -> None:
        """Check the settings that a kind of emissions has of its own."""

    def _climber(self, model: MixtureModel) -> ExpectationModel[MixtureParameters]:
        """Return what EM shall climb, where it is not the polish of a sampled solution."""
        return model

    # ---------------------------------------------------------------------------------------------
    # Fitting
    # ---------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the parameters.

        Parameters
        ----------
        X : array (N, D)
            The observations.
        y : ignored

        Returns
        -------
        self
        """
        self._check_settings()
        warm = self.warm_start and hasattr(self, "weights_")
        X = self._checked(X, reset=True)
        if X.shape[0] < self.n_components:
            raise PlaitError(
                f"X has n_samples = {X.shape[0]}, fewer than n_components = {self.n_components}: give more"
                " observations, or choose fewer components"
            )
        model = MixtureModel(self._emissions(X), self._weight_prior)
        random = check_random_state(self.random_state)
        fits = []
        with Threads(self.n_jobs) as threads:
            for _ in range(1 if warm else self.n_init):
                first = self._last_parameters(model) if warm else self._first_parameters(model, random)
                try:
                    fits.append(self._fit_once(model, first, random, threads))
                except np.linalg.LinAlgError:
                    raise PlaitError(
                        "a covariance is singular: give the covariances a larger prior, or leave out features"
                        " that depend on each other"
                    ) from None
                if fits[-1].stopped:
                    break
        given = any(getattr(self, name) is not None for name in ("weights_init", *self._inits))
        best = max(fits, key=lambda fit: fit.log_likelihood)
        self._take(model, best, canonical=not given and not warm)
        if fits[-1].stopped:
            raise fits[-1].stopped  # what there is can be used
        return self

    def _fit_once(
        self,
        model: MixtureModel,
        first: MixtureParameters,
        random: np.random.RandomState,
        threads: Threads,
    ) -> _Fit:
        """Fit from given parameters, by sampling, by EM, or by one after the other."""
        run, parameters, converged, stopped = None, first, False, None
        monitor = ConvergenceMonitor(self.tol, self.max_iter, self.verbose > 0)
        if self.method != "em":
            with show_progress(self.verbose > 0, model.site_name) as callback:
                try:
                    run = sample(
                        replace(model, initial=first),
                        n_paths=self.n_paths,
                        n_sweeps=self.max_iter,
                        seed=drawn_seed(random),
                        collapsed=self.method == "collapsed",
                        n_jobs=self.n_jobs,
                        callback=callback,
                    )
                except Interrupted as interrupted:
                    run, stopped = interrupted.run, interrupted
            parameters = model.mean_parameters(model.count(run.paths, threads), threads)
        if self.method == "em" or (self.polish and not stopped):

            def report(log_likelihood: float) -> bool:
                nonlocal converged
                monitor.follow(monitor.iter + 1, log_likelihood / model.n_sites)  # a prior may lower it
                history = monitor.history
                converged = len(history) > 1 and abs(history[-1] - history[-2]) < self.tol
                return converged

            climber = model if run is not None else self._climber(model)
            parameters = maximise(climber, parameters, self.max_iter, report, threads)
        log_likelihood = model.log_likelihood(parameters, threads)
        return _Fit(parameters, run, log_likelihood, list(monitor.history), converged, stopped)

    def _take(self, model: MixtureModel, fit: _Fit, *, canonical: bool) -> None:
        """Set the attributes to a fit, with the components in canonical order if they have none yet."""
        order = model.canonical_order(fit.parameters) if canonical else np.arange(model.n_states)
        parameters = fit.parameters.permuted(order)
        for name, array in parameters.emissions.to_arrays().items():
            if not np.isfinite(array).all():
                raise PlaitError(
                    f"the fit gave {name} that are not finite: the numbers in X are too large, divide them"
                    " by a constant"
                )
        self.weights_ = parameters.shares
        self._set_law(parameters.emissions)
        self.lower_bound_ = fit.log_likelihood / model.n_sites
        self.lower_bounds_ = fit.history
        self.converged_ = fit.converged
        self.n_iter_ = len(fit.history) + (0 if fit.run is None else fit.run.sweep)
        self.run_ = fit.run
        self.paths_ = None
        if fit.run is not None:
            number = np.empty(model.n_states, np.uint16)
            number[order] = np.arange(model.n_states)
            self.paths_ = number[fit.run.paths]
        self._remark(model)

    def _remark(self, model: MixtureModel) -> None:
        """Warn of components without observations, and of EM that was stopped on its way."""
        empty = self.weights_ * model.n_sites < _EMPTY
        if self.paths_ is not None and not self.lower_bounds_:  # the weights are means, and never so small
            empty = np.bincount(self.paths_.ravel(), minlength=model.n_states) == 0
        for k in np.flatnonzero(empty):
            warnings.warn(
                f"component {k} has no observation: its parameters are those of the prior; fewer components"
                " would do",
                PlaitWarning,
                stacklevel=4,
            )
        if self.lower_bounds_ and not self.converged_:
            warnings.warn(
                f"EM did not converge in max_iter = {self.max_iter} iterations: raise max_iter or tol, or"
                " look at the data",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _first_parameters(self, model: MixtureModel, random: np.random.RandomState) -> MixtureParameters:
        """Return the parameters to begin with: those that the user gave, drawn at random where none are."""
        first = model.first_parameters(Key(drawn_seed(random), INITIAL))
        shares = first.shares
        if self.weights_init is not None:
            shares = check_distributions("weights_init", self.weights_init, shares.shape)
        return MixtureParameters(shares, self._first_emission_parameters(first.emissions))

    def _last_parameters(self, model: MixtureModel) -> MixtureParameters:
        """Return the parameters of the last fit, if they fit the model."""
        last = self._parameters()
        try:
            model.check_parameters(last)
        except PlaitError as error:
            raise PlaitError(
                f"warm_start goes on from the last fit, but {error}; set warm_start=False to begin anew"
            ) from None
        return last

    def _parameters(self) -> MixtureParameters:
        return MixtureParameters(self.weights_, self._law())

    @property
    def _weight_prior(self) -> ArrayLike:
        return 1.0 if self.weight_concentration_prior is None else self.weight_concentration_prior

    def _check_settings(self) -> None:
        check_integer("n_components", self.n_components, least=1, most=MAX_STATES)
        for name in ("n_paths", "max_iter", "n_init"):
            check_integer(name, getattr(self, name), least=1)
        check_number("tol", self.tol)
        if self.method not in METHODS:
            raise PlaitError(f"method is {short_repr(self.method)}: choose one of {', '.join(METHODS)}")
        self._check_more()

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return the data as they are worked with, if scikit-learn has nothing against them."""
        return validate_data(self, X, reset=reset, dtype=np.float64, order="C")

    # ---------------------------------------------------------------------------------------------
    # Using what was learnt
    # ---------------------------------------------------------------------------------------------

    @property
    def trace_(self) -> Trace | None:
        """Course of the sampler; None for EM."""
        check_is_fitted(self, "weights_")
        return None if self.run_ is None else self.run_.trace

    @property
    def agreement_(self) -> NDArray[np.float64]:
        """Share of the paths that give an observation its most common component, (N,)."""
        check_is_fitted(self, "weights_")
        if self.run_ is None:
            raise PlaitError("EM has no paths that could agree: choose another method")
        return token_agreement(self.run_.paths)

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int64]:
        """Learn the parameters and return the most probable component of each observation, (N,)."""
        return self.fit(X).predict(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable component of each observation, (N,)."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each component given each observation, (N, S)."""
        model = self._fitted(X)
        with Threads(self.n_jobs) as threads:
            return model.posteriors(self._parameters(), threads)[0]

    def score_samples(self, X: Any) -> Floats:
        """Return the log-likelihood of each observation, (N,)."""
        model = self._fitted(X)
        with Threads(self.n_jobs) as threads:
            return model.log_likelihoods(self._parameters(), threads)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of the observations."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Draw observations from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            How many.

        Returns
        -------
        X : ndarray, (n_samples, D)
        y : ndarray of int, (n_samples,)
            Their components.
        """
        return self._drawn(n_samples, lambda rng: np.zeros((n_samples, self.n_features_in_)))

    def _drawn(
        self, n_samples: int, blank: Callable[[np.random.Generator], Any]
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Do `sample`; `blank` gives data to write over."""
        check_is_fitted(self, "weights_")
        check_integer("n_samples", n_samples, least=1)
        rng = np.random.default_rng(drawn_seed(check_random_state(self.random_state)))
        components = rng.choice(len(self.weights_), n_samples, p=self.weights_ / np.sum(self.weights_))
        emissions = self._plain_emissions(blank(rng))
        return self._values(emissions.redrawn(self._law(), components, rng)), components

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion: the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion: the lower the better."""
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._n_parameters() * np.log(len(scores)))

    def _n_parameters(self) -> int:
        """Return the number of free parameters."""
        return len(self.weights_) - 1 + self._n_law_parameters()

    def _fitted(self, X: Any) -> MixtureModel:
        """Return the model of data to which the fitted parameters are applied."""
        check_is_fitted(self, "weights_")
        return MixtureModel(self._plain_emissions(self._checked(X, reset=False)))


def check_number(name: str, value: object) -> float:
    """Return an argument as a number of at least 0."""
    if (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and 0 <= value < np.inf
    ):
        return float(value)
    raise PlaitError(f"{name} is {short_repr(value)}: give a number of at least 0")
