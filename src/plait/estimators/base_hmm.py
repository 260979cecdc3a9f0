"""Base class of the estimators of hidden Markov models: hmmlearn's interface to plait's fits.

The file is longer than others because that interface is one class.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plait.arrays import Floats, check_distributions
from plait.checks import check_integer, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError, PlaitWarning, rename_arguments
from plait.estimators.base import (
    CHECKPOINTS,
    Constraint,
    RunEstimator,
    any_number,
    choice,
    known_or_none,
    like,
    one_row,
    whole,
)
from plait.fitting.collect import call_all
from plait.fitting.monitor import ConvergenceMonitor
from plait.fitting.plan import (
    Fit,
    Plan,
    Start,
    draw_seed,
    fit_once,
    record_likelihoods,
    searched_start,
    start_at,
)
from plait.fitting.restarts import best_of, renumbered, state_order
from plait.fitting.stored import Ways
from plait.inference.states import ALGORITHMS, chain_of, decode
from plait.models.chain import Chain, HmmParameters
from plait.models.emissions import SequenceEmissions
from plait.models.hmm import HmmModel
from plait.models.model import MAX_STATES, Key
from plait.models.priors import cumulative_steps, spread
from plait.progress import show_progress
from plait.rng import INITIAL
from plait.run import Optimum, Run
from plait.threads import Threads, use_threads

METHODS = ("search", "blocked", "single-site", "collapsed", "em")
IMPLEMENTATIONS = ("log", "scaling")

_RECORDS = 20  # entries in the monitor's history for a run of a sampler
_log = logging.getLogger("plait")


class BaseHMM(RunEstimator):
    """Base class of `CategoricalHMM`, `GaussianHMM` and `PoissonHMM`, with their common parameters.

    Parameters
    ----------
    algorithm : {"viterbi", "map"}, default: "viterbi"
        How `decode` and `predict` find the states.
    random_state : int, RandomState or None
        Determines the random numbers. The same int gives the same bits on any number of threads.
    n_iter : int, default: 200
        Number of sweeps of a sampler; maximum number of iterations of EM. 0 only sets initial parameters.
    tol : float, default: 0.01
        EM stops when an iteration raises the log-likelihood by less than this.
    verbose : bool
        Whether to print the log-likelihood along the fit on standard error.
    params : str
        Letters of the parameters to learn; others keep the values they are set to.
    init_params : str
        Letters of the parameters that the fit initialises; for others, set the attributes. Zeros that
        you set in `startprob_` and `transmat_` stay zero.
    implementation : {"log", "scaling"}
        Accepted for compatibility with hmmlearn; plait's recursions are scaled and do not underflow.
    n_paths : int, default: 5
        Number of paths m that share the parameters; 1 is the ordinary Gibbs sampler.
    method : {"search", "blocked", "single-site", "collapsed", "em"}
        How to fit. "search" tries many starts by EM and drops the weaker ones early; a few sweeps with all
        paths and EM follow (see `plait.fitting.search`). If you set initial values, it starts there, like
        "blocked". The others make `n_iter` sweeps, or iterations, from one start: "blocked" draws whole paths
        and mixes best; "single-site" is the paper's PC sampler and "collapsed", for symbols, its C sampler;
        "em" is the Baum-Welch algorithm.
    polish : bool, default: True
        Whether a sampler ends with EM, from the sampled solution to the exact local maximum. The sampled
        solution is kept if its likelihood is higher, unless you gave priors.
    n_init : int, default: 1
        Number of random restarts; the fit with the highest likelihood is kept.
    startprob_fixed, transmat_fixed : array (S,) and (S, S), optional
        Known probabilities, which are not learnt; NaN for unknown ones.
    missing : bool
        Whether observations may be missing: NaN in some features or in all, or -1 among symbols. The state
        follows from what is observed, and a likelihood is that of what is observed.
    n_jobs : int, optional
        Number of threads; all cores by default.
    checkpoint : path, optional
        A file that keeps the fit while it runs. If `fit` is interrupted, even killed, call it again with the
        same settings and data: it continues, and ends with the same bits. Another fit in the file is refused.
        `monitor_` then holds the iterations of EM of this call only.
    checkpoint_seconds : float, default: 30
        Time between two checkpoints; 0 writes one after every sweep.

    Attributes
    ----------
    run_ : Run
        The run, which can be saved; after EM alone it has no paths. Its states are numbered as they were
        drawn.
    paths_ : ndarray of uint16, (m, N), or None
        State of each observation in each path, numbered as in the other attributes.
    log_likelihood_ : float
        log P(X | parameters) of the training data.
    optimum_ : Optimum or None
        After a search: `n_starts`, the likelihoods of those that were `finished`, and how many of these
        ended within 1 nat of the best, `n_reached`.
    """

    _model_kinds = ("hmm",)
    _constraints: ClassVar[dict[str, Constraint]] = (
        RunEstimator._constraints
        | CHECKPOINTS
        | {
            "n_components": whole(1, MAX_STATES),
            "n_iter": whole(0),
            "n_init": whole(1),
            "tol": any_number,
            "method": choice(*METHODS),
            "algorithm": choice(*ALGORITHMS),
            "implementation": choice(*IMPLEMENTATIONS),
        }
    )

    _argument_names: ClassVar[dict[str, str]] = {
        "n_states": "n_components",
        "start_prior": "startprob_prior",
        "transition_prior": "transmat_prior",
        "fixed_start": "startprob_fixed",
        "fixed_transitions": "transmat_fixed",
    }

    _emission_parameters: ClassVar[dict[str, str]]
    """The attributes of the emissions, by their letters in `params`."""

    # Set by the subclasses' constructors, whose explicit signatures scikit-learn needs.
    n_components: int
    startprob_prior: ArrayLike
    transmat_prior: ArrayLike
    algorithm: str
    random_state: int | np.random.RandomState | None
    n_iter: int
    tol: float
    verbose: bool
    params: str
    init_params: str
    implementation: str
    n_paths: int
    method: str
    polish: bool
    n_init: int
    startprob_fixed: ArrayLike | None
    transmat_fixed: ArrayLike | None
    missing: bool
    n_jobs: int | None
    checkpoint: str | PathLike[str] | None
    checkpoint_seconds: float
    n_features: int | None

    startprob_: Floats
    transmat_: Floats
    paths_: NDArray[np.uint16] | None
    log_likelihood_: float
    optimum_: Optimum | None

    # ---------------------------------------------------------------------------------------------
    # Defined by the subclasses, for their kind of emissions
    # ---------------------------------------------------------------------------------------------

    def _sequences(self, X: ArrayLike, lengths: ArrayLike | None) -> Sequences:
        """Return the data, checked."""
        raise NotImplementedError

    def _learn_features(self, sequences: Sequences) -> None:
        """Learn the number of features from the data."""
        raise NotImplementedError

    def _check_features(self, sequences: Sequences) -> None:
        """Check that the data have the features of the parameters."""
        raise NotImplementedError

    def _make_emissions(self, sequences: Sequences, free: str) -> SequenceEmissions[Any]:
        """Return the emissions of the data; parameters whose letter is not in `free` are fixed."""
        raise NotImplementedError

    def _get_emissions(self) -> Any:
        """Return the parameters of the emissions that the attributes describe."""
        raise NotImplementedError

    def _set_emissions(self, parameters: Any, letters: Iterable[str]) -> None:
        """Set the attributes of the emissions that have these letters."""
        raise NotImplementedError

    @staticmethod
    def _emission_settings(emissions: Any) -> dict[str, Any]:
        """Return the arguments of the constructor that describe the emissions of a run."""
        raise NotImplementedError

    def _check_emissions(self) -> None:
        """Check the attributes of the emissions, and learn the number of features from them."""
        raise NotImplementedError

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        """Return an observation for each of the states, (n, D)."""
        raise NotImplementedError

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        """Return the number of free parameters, by the letters in `params`."""
        return {"s": self.n_components - 1, "t": self.n_components * (self.n_components - 1)}

    # ---------------------------------------------------------------------------------------------
    # Fitting
    # ---------------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Self:
        """Learn the parameters.

        Parameters
        ----------
        X : array (N, D)
            The observations of all sequences, one after another.
        lengths : array (K,), optional
            Lengths of the sequences; one sequence by default.

        Returns
        -------
        self
        """
        self._check_settings()
        sequences = self._sequences(X, lengths)
        chosen = self._chosen(sequences)
        self._log_warnings(sequences)
        random = check_random_state(self.random_state)
        if self.n_iter == 0 or self.checkpoint is None:
            seed = draw_seed(random)
            self._set_first_parameters(sequences, chosen, seed)
            if self.n_iter == 0:
                return self
            with Threads(self.n_jobs) as threads:
                fit = best_of(self._fits(sequences, chosen, seed, random, threads))
        else:
            fit = self._fit_with_checkpoint(sequences, chosen)
        # Initial emissions given by the user determine the numbering of the states.
        numbered = not chosen >= set(self._emission_parameters)
        self._take(replace(fit, run=replace(fit.run, numbered=numbered)))
        self._raise_interrupt(fit)
        return self

    def _fits(
        self,
        sequences: Sequences,
        chosen: set[str],
        seed: int,
        random: np.random.RandomState,
        threads: Threads,
    ) -> Iterator[Fit]:
        """Fit from `n_init` starts; the first one is already set, from this seed."""
        model = self._model(sequences, chosen)
        plan = self._plan(chosen)
        for restart in range(self.n_init):
            if restart:
                seed = draw_seed(random)
                self._set_first_parameters(sequences, chosen, seed)
            first = self._get_parameters()
            seed_of_run = draw_seed(random) if plan.n_paths else 0
            if plan.search:
                start = searched_start(model, seed, seed_of_run, plan, self.tol, threads)
            else:
                start = start_at(model, first, seed_of_run)
            monitor = self._fresh_monitor()
            record = record_likelihoods(model, monitor, max(1, self.n_iter // _RECORDS), self.n_iter, threads)
            with show_progress(False, model.site_name) as show:  # the monitor has its own table
                callback = call_all(record, show)
                yield fit_once(start, plan, monitor, threads, callback=callback, n_jobs=self.n_jobs)

    def _fit_with_checkpoint(self, sequences: Sequences, chosen: set[str]) -> Fit:
        """Fit from `n_init` starts in the file `checkpoint`."""
        # A second call of `fit` must not take the parameters of the first for initial ones.
        names = [self._stored_as(name) for letter, name in self._parameters.items() if letter not in chosen]
        given = {name: getattr(self, name) for name in names}

        def start(model: HmmModel, seed_of_parameters: int, seed_of_run: int) -> Start:
            for name, value in given.items():
                setattr(self, name, value)
            self._set_first_parameters(sequences, chosen, seed_of_parameters)
            return start_at(model, self._get_parameters(), seed_of_run)

        letters = set(self._parameters)
        is_usual = chosen == letters == set(self.params) and getattr(self, "_monitor_is_ours", True)
        ways = Ways(
            start,
            self._fresh_monitor,
            own=not is_usual,
            numbered=not chosen >= set(self._emission_parameters),
        )
        model = self._model(sequences, chosen)
        with show_progress(self.verbose, model.site_name) as show:
            return self._fit_in_file(model, self._plan(chosen), ways, show, self.n_init)

    def _plan(self, chosen: set[str]) -> Plan:
        """Return the steps of the fit from one start: there is no search if any initial values are given."""
        is_search = self.method == "search" and chosen == set(self._parameters)
        method = "blocked" if self.method == "search" and not is_search else self.method
        return Plan.of_method(method, n_paths=self.n_paths, n_iter=self.n_iter, polish=self.polish)

    def _take(self, fit: Fit) -> None:
        """Set the attributes from a fit, with the states in canonical order unless the user numbered them."""
        run = fit.run
        model, parameters = run.model, run.parameters(self.n_jobs)
        assert isinstance(model, HmmModel)
        order = state_order(run, parameters)
        self._set_parameters(parameters.permuted(order), self._parameters)
        self.log_likelihood_ = fit.score
        self.run_ = run
        self.optimum_ = run.optimum
        self.paths_ = None
        if len(run.paths):
            self.paths_ = renumbered(run.paths, order)
            with use_threads(self.n_jobs) as threads:
                statistics = model.count(self.paths_, threads).emissions
            for state in np.flatnonzero(model.emissions.observations(statistics) == 0):
                warnings.warn(
                    f"state {state} has no observation: its parameters are those of the prior; try fewer"
                    " states",
                    PlaitWarning,
                    stacklevel=3,
                )
        monitor = self.monitor_
        monitor.history.clear()
        monitor.history.extend(fit.history)
        monitor.iter = fit.n_iter

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        model, settings = run.model, run.settings
        assert isinstance(model, HmmModel)
        method = "blocked" if model.blocked else "single-site"
        if not settings.n_paths:
            method = "em"
        elif settings.collapsed:
            method = "collapsed"
        elif run.optimum is not None:
            method = "search"
        of_fit: dict[str, Any] = {"polish": bool(settings.n_paths and run.em_history)}
        if run.fit is not None:
            of_fit = {
                "n_init": len(run.fit.seeds),
                "polish": bool(settings.n_paths) and run.fit.em_iterations > 0,
                "tol": run.fit.tol,
                "random_state": run.fit.seed,
            }
        return {
            "n_components": model.n_states,
            "n_paths": settings.n_paths or 5,
            "n_iter": settings.n_sweeps if run.optimum is None else run.optimum.n_iter,
            "method": method,
            **of_fit,
            "startprob_prior": one_row(model.start_prior),
            "transmat_prior": model.transition_prior,
            "startprob_fixed": known_or_none(one_row(model.fixed_start)),
            "transmat_fixed": known_or_none(model.fixed_transitions),
            "missing": model.sequences.has_missing,
            **cls._emission_settings(model.emissions),
        }

    def _take_run(self, run: Run) -> None:
        model = run.model
        assert isinstance(model, HmmModel)
        self._learn_features(model.sequences)
        score = model.log_likelihood(run.parameters(self.n_jobs), self.n_jobs)
        self._take(Fit(run, score))

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """The monitor of the fit; set it to an instance of a subclass to stop EM by your own rule."""
        if getattr(self, "_monitor", None) is None:
            self._monitor: ConvergenceMonitor | None = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
            self._monitor_is_ours = True
        return self._monitor  # type: ignore[return-value]

    @monitor_.setter
    def monitor_(self, monitor: ConvergenceMonitor) -> None:
        self._monitor = monitor
        self._monitor_is_ours = False

    def _fresh_monitor(self) -> ConvergenceMonitor:
        if getattr(self, "_monitor_is_ours", True):
            self._monitor = None  # the settings may have changed since it was created
        self.monitor_._reset()
        return self.monitor_

    @property
    def _parameters(self) -> dict[str, str]:
        """The attributes by their letters in `params`."""
        return {"s": "startprob_", "t": "transmat_"} | self._emission_parameters

    def _chosen(self, sequences: Sequences) -> set[str]:
        """Return the letters of the parameters that the fit initialises."""
        chosen = {
            letter
            for letter, name in self._parameters.items()
            if letter in self.init_params or not self._is_set(name)
        }
        if chosen >= set(self._emission_parameters):
            self._learn_features(sequences)
        else:
            self._check_features(sequences)
        return chosen

    def _is_set(self, name: str) -> bool:
        """Return whether an attribute with parameters is set."""
        return hasattr(self, self._stored_as(name))

    def _stored_as(self, name: str) -> str:
        """Return the attribute that keeps what an attribute with parameters shows."""
        return name

    def _check_is_set(self) -> None:
        """Raise an error if parameters are missing."""
        for name in self._parameters.values():
            if not self._is_set(name):
                raise NotFittedError(
                    f"this {type(self).__name__} has no {name}: call fit, or set it along with"
                    f" {', '.join(other for other in self._parameters.values() if other != name)}"
                )

    def _log_warnings(self, sequences: Sequences) -> None:
        """Log the warnings that hmmlearn logs."""
        for letter, name in self._parameters.items():
            if letter in self.init_params and self._is_set(name) and not hasattr(self, "run_"):
                _log.warning(
                    "%s is set, but will be overwritten: init_params contains %r. Remove that letter to start"
                    " from the values that are set.",
                    name,
                    letter,
                )
        scalars = self._get_n_fit_scalars_per_param()
        n_scalars = sum(scalars[letter] for letter in self.params)
        if sequences.values.size < n_scalars:
            _log.warning(
                "There are %d parameters to fit and only %d numbers: expect a degenerate solution.",
                n_scalars,
                sequences.values.size,
            )

    def _init(self, X: ArrayLike, lengths: object = None) -> None:
        """Set the parameters to the initial values of a fit."""
        sequences = self._sequences(X, None)
        chosen = self._chosen(sequences)
        self._log_warnings(sequences)
        self._set_first_parameters(sequences, chosen, draw_seed(check_random_state(self.random_state)))

    def _set_first_parameters(self, sequences: Sequences, chosen: set[str], seed: int) -> None:
        """Draw initial parameters for those that were not given."""
        model = self._model(sequences, chosen, letters="".join(self._parameters))
        self._set_parameters(model.first_parameters(Key(seed, INITIAL)), chosen)

    def _model(self, sequences: Sequences, chosen: set[str], letters: str | None = None) -> HmmModel:
        """Return the model: zeros set by the user and parameters without a letter in `params` are fixed."""
        free = self.params if letters is None else letters
        axes = {"S": self.n_components}
        start = spread("startprob_prior", self.startprob_prior, axes)
        transitions = spread("transmat_prior", self.transmat_prior, {"S before": self.n_components} | axes)
        if "s" not in chosen:
            self.startprob_ = check_distributions("startprob_", self.startprob_, start.shape)
            start = np.where(self.startprob_ == 0, 0.0, start)
        if "t" not in chosen:
            self.transmat_ = check_distributions("transmat_", self.transmat_, transitions.shape)
            transitions = np.where(self.transmat_ == 0, 0.0, transitions)
        with rename_arguments(self._argument_names):
            model = HmmModel(
                self._make_emissions(sequences, free),
                start,
                transitions,
                self.startprob_fixed if "s" in free else self.startprob_,
                self.transmat_fixed if "t" in free else self.transmat_,
                blocked=self.method != "single-site",
            )
        if self.method == "collapsed":
            model.check_collapsed()
        return model

    def _get_parameters(self) -> HmmParameters:
        """Return the parameters that the attributes describe, checked."""
        self._check()
        return HmmParameters(self.startprob_, self.transmat_, self._get_emissions())

    def _set_parameters(self, parameters: HmmParameters, letters: Iterable[str]) -> None:
        """Set the attributes with these letters."""
        if "s" in letters:
            self.startprob_ = parameters.start
        if "t" in letters:
            self.transmat_ = parameters.transitions
        self._set_emissions(parameters.emissions, letters)

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("params", "init_params"):
            given = getattr(self, name)
            if not isinstance(given, str) or set(given) - set(self._parameters):
                letters = ", ".join(self._parameters)
                raise PlaitError(
                    Argument(name), f" must be a string of the letters {letters}, got {short_repr(given)}"
                )

    def _check(self) -> None:
        """Check the parameters that the attributes describe."""
        self._check_chain()
        self._check_emissions()

    def _check_chain(self) -> None:
        """Check the start and transition probabilities."""
        n_states = self.n_components
        self.startprob_ = check_distributions("startprob_", self.startprob_, (n_states,))
        self.transmat_ = check_distributions("transmat_", self.transmat_, (n_states, n_states))

    # ---------------------------------------------------------------------------------------------
    # Using the fitted parameters
    # ---------------------------------------------------------------------------------------------

    def score(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return log P(X | parameters), by the forward recursion.

        Parameters
        ----------
        X : array (N, D)
            The observations of all sequences, one after another.
        lengths : array (K,), optional
            Lengths of the sequences; one sequence by default.
        """
        chain, parameters = self._fitted_chain(X, lengths)
        return chain.log_likelihood(parameters, self.n_jobs)

    def score_samples(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, Floats]:
        """Return log P(X | parameters), and P(state | X) of each observation, (N, S)."""
        chain, parameters = self._fitted_chain(X, lengths)
        posteriors, log_likelihoods = chain.posteriors(parameters, self.n_jobs)
        return float(log_likelihoods.sum()), like(X, posteriors)

    def decode(
        self, X: ArrayLike, lengths: ArrayLike | None = None, algorithm: str | None = None
    ) -> tuple[float, NDArray[np.int64]]:
        """Return the states that explain the observations.

        Parameters
        ----------
        X : array (N, D)
            The observations of all sequences, one after another.
        lengths : array (K,), optional
            Lengths of the sequences; one sequence by default.
        algorithm : {"viterbi", "map"}, optional
            The most probable sequence of states, or for each observation its most probable state; the
            estimator's `algorithm` by default.

        Returns
        -------
        log_prob : float
            log P(states, X | parameters) for "viterbi"; for "map", as in hmmlearn, the sum of the
            probabilities of the states.
        states : ndarray of int, (N,)
            Or a series with the same index, if X is a frame or a series of pandas; so in the other methods.
        """
        parameters, sequences = self._fitted(X, lengths)
        parts = list(decode(parameters, sequences, algorithm=algorithm or self.algorithm, n_jobs=self.n_jobs))
        log_prob = float(np.concatenate([part.scores for part in parts]).sum())
        return log_prob, like(X, np.concatenate([part.states for part in parts]), "state")

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the states that explain the observations, (N,); see `decode`."""
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Floats:
        """Return P(state | X) of each observation, (N, S)."""
        return self.score_samples(X, lengths)[1]

    def sample(
        self,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
        currstate: int | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Draw a sequence from the model.

        Parameters
        ----------
        n_samples : int
            Its length.
        random_state : int or RandomState, optional
            Source of the random numbers; the estimator's by default.
        currstate : int, optional
            The first state, to continue a sequence.

        Returns
        -------
        X : ndarray, (n_samples, D)
        states : ndarray of int, (n_samples,)
        """
        self._check_is_set()
        self._check()
        check_integer("n_samples", n_samples, least=1)
        random = check_random_state(self.random_state if random_state is None else random_state)
        start, steps = cumulative_steps(self.startprob_), cumulative_steps(self.transmat_)
        uniforms = random.random_sample(n_samples)
        states = np.empty(n_samples, np.intp)
        if currstate is None:
            states[0] = np.searchsorted(start, uniforms[0], side="right")
        else:
            states[0] = check_integer("currstate", currstate, least=0, most=self.n_components - 1)
        for i in range(1, n_samples):
            states[i] = np.searchsorted(steps[states[i - 1]], uniforms[i], side="right")
        return self._draw_observations(states, random), states

    def aic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return Akaike's information criterion: the lower the better."""
        return -2 * self.score(X, lengths) + 2 * sum(self._get_n_fit_scalars_per_param().values())

    def bic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return the Bayesian information criterion: the lower the better."""
        score = self.score(X, lengths)
        n_scalars = sum(self._get_n_fit_scalars_per_param().values())
        n_sites = self._sequences(X, lengths).n_sites
        return float(-2 * score + n_scalars * np.log(n_sites))

    def get_stationary_distribution(self) -> Floats:
        """Return the stationary distribution of the states, (S,)."""
        check_is_fitted(self, "transmat_")
        transitions = np.asarray(self.transmat_, np.float64)
        # It solves pi (A - 1) = 0 and sum(pi) = 1; one equation is redundant.
        equations = np.vstack([transitions.T - np.eye(len(transitions)), np.ones(len(transitions))])
        solution = np.linalg.lstsq(equations, np.append(np.zeros(len(transitions)), 1.0), rcond=None)[0]
        shares: Floats = np.maximum(solution, 0.0)
        return shares / shares.sum()

    def _fitted(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[HmmParameters, Sequences]:
        """Return the fitted parameters, and the checked data."""
        self._check_is_set()
        parameters = self._get_parameters()
        sequences = self._sequences(X, lengths)
        self._check_features(sequences)
        return parameters, sequences

    def _fitted_chain(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[Chain, HmmParameters]:
        """Return a chain over the data, and the fitted parameters."""
        parameters, sequences = self._fitted(X, lengths)
        return chain_of(parameters, sequences), parameters
