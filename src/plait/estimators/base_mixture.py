"""Base class of the estimators of mixtures: scikit-learn's interface to plait's fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from plait.arrays import Floats, check_distributions, check_finite, check_numbers
from plait.checks import check_integer
from plait.em import ExpectationModel
from plait.errors import Argument, PlaitError, PlaitWarning, rename_arguments
from plait.estimators.base import CHECKPOINTS, Constraint, RunEstimator, choice, number, whole
from plait.fitting.monitor import MeanMonitor
from plait.fitting.plan import Fit, Plan, Start, draw_seed, fit_once, start_at
from plait.fitting.restarts import best_of, renumbered, state_order
from plait.fitting.stored import Ways
from plait.models.emissions import Emissions
from plait.models.mixture import MixtureModel, MixtureParameters
from plait.models.model import MAX_STATES, Key
from plait.progress import show_progress
from plait.rng import INITIAL
from plait.run import Run
from plait.threads import Threads

METHODS = ("partially-collapsed", "collapsed", "em")

_EMPTY = 0.5  # a component with less than half an expected observation counts as empty


class BaseMixture(DensityMixin, RunEstimator):
    """Base class of the estimators of mixtures, with their common parameters.

    m assignments of the observations to components (paths) share one set of parameters phi. That samples phi
    from P(phi) P(X | phi)^m: good solutions become exponentially more likely than with one path.

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
        Whether a sampler ends with EM, from the sampled solution to the exact local maximum of
        P(phi) P(X | phi).
    max_iter : int, default=100
        Number of sweeps of a sampler; maximum number of iterations of EM.
    tol : float, default=1e-3
        EM stops when an iteration changes the mean log-likelihood of an observation by less than this.
    n_init : int, default=1
        Number of random restarts; the fit with the highest likelihood is kept.
    weights_init : array (S,), default=None
        Initial weights of the components; equal by default.
    weight_concentration_prior : float or array (S,), default=None
        Parameters of the Dirichlet prior of the weights; None is 1.
    random_state : int, RandomState or None, default=None
        Determines the random numbers. An int gives the same result, bit for bit, on any number of threads.
    warm_start : bool, default=False
        Whether `fit` starts from the parameters of the last fit; `n_init` is then ignored.
    n_jobs : int, default=None
        Number of threads; None and -1 take all cores.
    verbose : int, default=0
        Whether to show progress on standard error.
    checkpoint : path, default=None
        A file that keeps the fit while it runs. If `fit` is interrupted, even killed, call it again with the
        same settings and data: it continues, and ends with the same bits. Another fit in the file is refused.
    checkpoint_seconds : float, default=30
        Time between two checkpoints; 0 writes one after every sweep.

    Attributes
    ----------
    weights_ : ndarray, (S,)
        Shares of the components.
    converged_ : bool
        Whether EM converged within `max_iter` iterations; False for a sampler without polish.
    n_iter_ : int
        Number of sweeps plus iterations of EM.
    lower_bound_ : float
        Mean log-likelihood of the training data: `score(X)`.
    lower_bounds_ : list of float
        Mean log-likelihood before each iteration of EM.
    run_ : Run
        The run, which can be saved; after EM alone it has no paths. Its states are numbered as they were
        drawn.
    paths_ : ndarray of uint16, (m, N), or None
        Component of each observation in each path, numbered as in the other attributes.
    n_features_in_ : int
        Number of features D.
    feature_names_in_ : ndarray of str, (D,)
        Their names, if X had any.

    Notes
    -----
    Components are numbered by their weights, the largest first, so that two fits can be compared.
    If initial parameters or priors differ between components, these determine the numbering instead.

    A component without observations has the finite parameters of its prior, and there is a warning.
    """

    _model_kinds = ("mixture",)
    _constraints: ClassVar[dict[str, Constraint]] = (
        RunEstimator._constraints
        | CHECKPOINTS
        | {
            "n_components": whole(1, MAX_STATES),
            "max_iter": whole(1),
            "n_init": whole(1),
            "tol": number(0.0),
            "method": choice(*METHODS),
        }
    )

    _argument_names: ClassVar[dict[str, str]] = {
        "n_states": "n_components",
        "share_prior": "weight_concentration_prior",
    }

    _inits: ClassVar[tuple[str, ...]]
    """Names of the arguments with initial parameters of the emissions."""

    # Set by the subclasses' constructors, whose explicit signatures scikit-learn needs.
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
    checkpoint: str | PathLike[str] | None
    checkpoint_seconds: float

    weights_: Floats
    converged_: bool
    n_iter_: int
    lower_bound_: float
    lower_bounds_: list[float]
    paths_: NDArray[np.uint16] | None
    n_features_in_: int

    # ---------------------------------------------------------------------------------------------
    # Defined by the subclasses, for their kind of emissions
    # ---------------------------------------------------------------------------------------------

    def _make_emissions(self, X: Any) -> Emissions[Any]:
        """Return the emissions of the training data, with their priors."""
        raise NotImplementedError

    def _plain_emissions(self, X: Any) -> Emissions[Any]:
        """Return the emissions of other data; their priors do not matter."""
        raise NotImplementedError

    def _get_emissions(self) -> Any:
        """Return the parameters of the emissions that the attributes describe."""
        raise NotImplementedError

    def _set_emissions(self, parameters: Any) -> None:
        """Set the attributes to parameters of the emissions."""
        raise NotImplementedError

    def _first_emissions(self, drawn: Any) -> Any:
        """Return initial parameters: the drawn ones, replaced by those that the user gave."""
        raise NotImplementedError

    def _n_emission_parameters(self) -> int:
        """Return the number of free parameters of the emissions."""
        raise NotImplementedError

    @staticmethod
    def _emission_settings(emissions: Any) -> dict[str, Any]:
        """Return the arguments of the constructor that describe the emissions of a run."""
        raise NotImplementedError

    def _values(self, emissions: Any) -> NDArray[Any]:
        """Return the data of emissions in the form of X."""
        values: NDArray[Any] = emissions.sequences.values
        return values.astype(np.int64)

    def _climber(self, model: MixtureModel) -> ExpectationModel[MixtureParameters]:
        """Return the objective of EM alone; after a sampler, EM maximises the model itself."""
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
        with rename_arguments(self._argument_names):
            model = MixtureModel(self._make_emissions(X), self._weight_prior)
        given = any(getattr(self, name) is not None for name in ("weights_init", *self._inits))
        if self.checkpoint is None:
            with Threads(self.n_jobs) as threads:
                fit = best_of(self._fits(model, warm, threads))
        else:
            if warm:
                raise PlaitError(
                    Argument("checkpoint"), " resumes a fit by itself: set ", Argument("warm_start", False)
                )
            fit = self._fit_with_checkpoint(model, numbered=given)
        self._take(replace(fit, run=replace(fit.run, numbered=given or warm)))
        self._raise_interrupt(fit)
        return self

    def _fits(self, model: MixtureModel, warm: bool, threads: Threads) -> Iterator[Fit]:
        """Fit from `n_init` starts, or from the last fit."""
        random = check_random_state(self.random_state)
        plan, climb = self._plan, self._climber(model)
        for _ in range(1 if warm else self.n_init):
            first = self._last_parameters(model) if warm else self._first_parameters(model, draw_seed(random))
            start = start_at(model, first, draw_seed(random) if plan.n_paths else 0)
            monitor = self._new_monitor(model)
            with show_progress(self.verbose > 0, model.site_name) as show:
                yield fit_once(start, plan, monitor, threads, climb=climb, callback=show, n_jobs=self.n_jobs)

    @property
    def _plan(self) -> Plan:
        return Plan.of_method(self.method, n_paths=self.n_paths, n_iter=self.max_iter, polish=self.polish)

    def _new_monitor(self, model: MixtureModel) -> MeanMonitor:
        return MeanMonitor(self.tol, self.max_iter, self.verbose > 0, model.n_sites)

    def _fit_with_checkpoint(self, model: MixtureModel, *, numbered: bool) -> Fit:
        """Fit from `n_init` starts in the file `checkpoint`."""

        def start(model: MixtureModel, seed_of_parameters: int, seed_of_run: int) -> Start:
            return start_at(model, self._first_parameters(model, seed_of_parameters), seed_of_run)

        monitor, climb = (lambda: self._new_monitor(model)), self._climber(model)
        ways = Ways(start, monitor, climb, own=True, numbered=numbered)
        with show_progress(self.verbose > 0, model.site_name) as show:
            return self._fit_in_file(model, self._plan, ways, show, self.n_init)

    def _take(self, fit: Fit) -> None:
        """Set the attributes from a fit; components are in canonical order unless the user numbered them."""
        run = fit.run
        model = run.model
        assert isinstance(model, MixtureModel)
        parameters = run.parameters(self.n_jobs)
        order = state_order(run, parameters)
        parameters = parameters.permuted(order)
        for name, array in parameters.emissions.to_arrays().items():
            if not np.isfinite(array).all():
                raise PlaitError(
                    f"the fit gave {name} that are not finite: the numbers in X are too large, divide them"
                    " by a constant"
                )
        self.weights_ = parameters.shares
        self._set_emissions(parameters.emissions)
        self.lower_bound_ = fit.score / model.n_sites
        self.lower_bounds_ = list(run.em_history)
        self.converged_ = run.converged
        self.n_iter_ = fit.n_iter
        self.run_ = run
        self.paths_ = renumbered(run.paths, order) if len(run.paths) else None
        self._warn(model)

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        model, settings = run.model, run.settings
        assert isinstance(model, MixtureModel)
        method = "em" if not settings.n_paths else "partially-collapsed"
        return {
            "n_components": model.n_states,
            "n_paths": settings.n_paths or 5,
            "max_iter": settings.n_sweeps,
            "method": "collapsed" if settings.collapsed else method,
            "polish": bool(settings.n_paths) and run.estimate is not None,
            "weight_concentration_prior": model.share_prior,
            **cls._emission_settings(model.emissions),
        }

    def _take_run(self, run: Run) -> None:
        model = run.model
        assert isinstance(model, MixtureModel)
        score = model.log_likelihood(run.parameters(self.n_jobs), self.n_jobs)
        self._take(Fit(run, score))
        self.n_features_in_ = next(iter(self._get_emissions().to_arrays().values())).shape[-1]

    def _warn(self, model: MixtureModel) -> None:
        """Warn about components without observations, and about EM that did not converge."""
        empty = self.weights_ * model.n_sites < _EMPTY
        if self.paths_ is not None and not self.lower_bounds_:  # means of weights are never that small
            empty = np.bincount(self.paths_.ravel(), minlength=model.n_states) == 0
        for k in np.flatnonzero(empty):
            warnings.warn(
                f"component {k} has no observation: its parameters are those of the prior; try fewer"
                " components",
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

    def _first_parameters(self, model: MixtureModel, seed: int) -> MixtureParameters:
        """Return initial parameters: those given by the user, and random ones for the others."""
        first = model.first_parameters(Key(seed, INITIAL))
        shares = first.shares
        if self.weights_init is not None:
            shares = check_distributions("weights_init", self.weights_init, shares.shape)
        return MixtureParameters(shares, self._first_emissions(first.emissions))

    def _last_parameters(self, model: MixtureModel) -> MixtureParameters:
        """Return the parameters of the last fit; raise an error if they do not match the model."""
        last = self._parameters()
        try:
            model.check_parameters(last)
        except PlaitError as error:
            raise PlaitError(
                "warm_start resumes the last fit, but ",
                error,
                "; set ",
                Argument("warm_start", False),
                " to start again",
            ) from None
        return last

    def _parameters(self) -> MixtureParameters:
        """Return the parameters that the attributes describe; the user may have set these to anything."""
        own = self._get_emissions()
        arrays = {name: checked_rows(f"{name}_", array) for name, array in own.to_arrays().items()}
        shares = check_distributions("weights_", self.weights_, (np.size(self.weights_),))
        return MixtureParameters(shares, replace(own, **arrays))

    @property
    def _weight_prior(self) -> ArrayLike:
        return 1.0 if self.weight_concentration_prior is None else self.weight_concentration_prior

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return the data as an array, checked by scikit-learn."""
        return validate_data(self, X, reset=reset, dtype=np.float64, order="C")

    # ---------------------------------------------------------------------------------------------
    # Using the fitted parameters
    # ---------------------------------------------------------------------------------------------

    def fit_predict(self, X: Any, y: object = None) -> NDArray[np.int64]:
        """Learn the parameters and return the most probable component of each observation, (N,)."""
        return self.fit(X).predict(X)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most probable component of each observation, (N,)."""
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each component given each observation, (N, S)."""
        model, parameters = self._fitted(X)
        return model.posteriors(parameters, self.n_jobs)[0]

    def score_samples(self, X: Any) -> Floats:
        """Return the log-likelihood of each observation, (N,)."""
        model, parameters = self._fitted(X)
        return model.log_likelihoods(parameters, self.n_jobs)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of the observations."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Draw observations from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of observations.

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
        """Draw observations as `sample` does; `blank` makes data of the right size to overwrite."""
        check_is_fitted(self, "weights_")
        check_integer("n_samples", n_samples, least=1)
        parameters = self._parameters()
        shares = parameters.shares
        rng = np.random.default_rng(draw_seed(check_random_state(self.random_state)))
        components = rng.choice(len(shares), n_samples, p=shares / shares.sum())
        emissions = self._plain_emissions(blank(rng))
        emissions.check_parameters(parameters.emissions)
        return self._values(emissions.redrawn(parameters.emissions, components, rng)), components

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion: the lower the better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion: the lower the better."""
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._n_parameters() * np.log(len(scores)))

    def _n_parameters(self) -> int:
        """Return the number of free parameters."""
        return len(self.weights_) - 1 + self._n_emission_parameters()

    def _fitted(self, X: Any) -> tuple[MixtureModel, MixtureParameters]:
        """Return a model of the data, and the fitted parameters to apply to it."""
        check_is_fitted(self, "weights_")
        parameters = self._parameters()
        return MixtureModel(self._plain_emissions(self._checked(X, reset=False))), parameters


def checked_rows(name: str, value: ArrayLike) -> Floats:
    """Return a fitted attribute as an array of finite float64; the model checks its shape."""
    array = np.ascontiguousarray(check_numbers(name, value))
    check_finite(Argument(name), array)
    return array


def checked_init(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return initial parameters, if they are finite numbers of that shape."""
    array = np.ascontiguousarray(check_numbers(name, value))
    check_finite(Argument(name), array, shape)
    return array
