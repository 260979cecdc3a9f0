"""The estimator of factorial hidden Markov models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plait.arrays import Floats, check_numbers
from plait.checks import check_integer, short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError, PlaitWarning, rename_arguments
from plait.estimators.base import Constraint, RunEstimator, choice, whole
from plait.evaluate.agreement import token_agreement
from plait.fitting.collect import call_all, collect_after
from plait.fitting.plan import Fit, Plan, draw_seed
from plait.fitting.restarts import best_of
from plait.interop.frames import frame_of
from plait.interop.tables import Column
from plait.models.factorial import COVARIANCES, FactorialHmmModel, FactorialParameters, simulate
from plait.models.priors import spread
from plait.plans import MAX_PATHS
from plait.progress import show_progress
from plait.run import Run
from plait.sampler import Interrupted, Progress, State, log_joint, start_run
from plait.threads import Threads

_LATE = 0.25  # states are counted in this last share of the sweeps
_SWEEPS_TO_PREDICT = 20
_MOST_NAMED = 3  # maximum number of states without observations that a warning names


class FactorialHMM(RunEstimator):
    """Factorial hidden Markov model: several parallel chains whose contributions add up.

    An observation is intercept_ + sum_k means_[k, state of chain k] + noise. K chains of S states
    correspond to S^K states of an ordinary hidden Markov model, at a cost that grows with K only.

    Parameters
    ----------
    n_chains : int, default: 2
        Number of chains K.
    n_components : int, default: 2
        Number of states S of each chain.
    covariance_type : {"diag", "full"}
        Form of the covariance of the noise, which all states share.
    n_paths : int, default: 5
        Number of paths m that share the parameters; 1 is the ordinary Gibbs sampler.
    n_iter : int, default: 200
        Number of sweeps.
    n_init : int, default: 1
        Number of random restarts; the one whose late sweeps have the highest mean log P(states, X |
        parameters) is kept.
    search : int, default: 6
        Number of rounds of the search for a starting point; see `FactorialHmmModel.initial_paths`. Raise it
        if there are fewer than K (S - 1) features; 0 starts at random.
    random_state : int, RandomState or None
        Determines the random numbers. The same int gives the same bits on any number of threads.
    n_jobs : int, optional
        Number of threads; all cores by default.
    startprob_prior : float or array (K, S), default: 1
        Parameters of the Dirichlet priors of the first states.
    transmat_prior : float or array (K, S, S), default: 1
        Parameters of the Dirichlet priors of the transitions. A zero forbids a transition.
    stay_prior : float, default: 0
        Added to the prior of staying in a state.
    means_prior, means_weight : float or array, default: mean of the data over K, and 0.01
        Prior means of the means, (K, S, D), and their weight in observations, (K, S).
    covars_prior, covars_weight : float or array, default: 0.01 of the variances, and 3 (for a matrix D + 2)
        Scale and degrees of freedom of the prior of the covariance.
    missing : bool
        Whether observations may be missing: NaN in all features. A missing observation carries no
        information about the states.
    verbose : bool
        Whether to show progress on standard error.

    Attributes
    ----------
    startprob_ : ndarray, (K, S)
        Probabilities of the first state of each chain.
    transmat_ : ndarray, (K, S, S)
        Row [k, a] holds the probabilities of the state of chain k after a.
    means_ : ndarray, (K, S, D)
        Contribution of each state, relative to the mean of its chain: over the training data, the
        contributions of a chain have mean 0 in each feature.
    intercept_ : ndarray, (D,)
        Sum of the means of all chains.
    covars_ : ndarray, (D,) or (D, D)
        Variances or covariance of the noise.
    states_ : ndarray of int, (T, K)
        The most frequent state of each chain, over all paths and the last quarter of the sweeps.
    paths_ : ndarray of uint16, (m, T, K)
        State of each chain in each path after the last sweep, numbered as in the other attributes.
    agreement_ : ndarray, (T, K)
        Share of the paths that give a chain its most common state.
    log_joint_ : float
        log P(states, X | parameters), averaged over the paths and the late records of the trace.
    trace_ : Trace
        log P(states, X | parameters) of each path along the run.
    run_ : Run
        The run, which can be saved. Its chains and states are numbered as they were drawn, and
        its means contain the intercept.
    seed_ : int
        Seed of the best run.

    Notes
    -----
    Chains are numbered by their contribution, the largest first: the variance of their means over the
    observations, each feature in units of its variance. The states of a chain are numbered by the mean of the
    first feature whose means are at least 0.1 standard deviations of the data apart, the smallest first. So
    two fits can be compared, unless chains contribute nearly the same. If priors differ between chains or
    states, these determine the numbering instead.
    """

    _model_kinds = ("factorial-hmm",)
    _argument_names: ClassVar[dict[str, str]] = {
        "n_states": "n_components",
        "covariance": "covariance_type",
        "start_prior": "startprob_prior",
        "transition_prior": "transmat_prior",
        "staying": "stay_prior",
        "mean_prior": "means_prior",
        "mean_weight": "means_weight",
        "covariance_prior": "covars_prior",
        "covariance_weight": "covars_weight",
    }
    _constraints: ClassVar[dict[str, Constraint]] = RunEstimator._constraints | {
        "n_chains": whole(1),
        "n_components": whole(1),
        "n_iter": whole(1),
        "n_init": whole(1),
        "search": whole(0),
        "covariance_type": choice(*COVARIANCES),
    }

    startprob_: Floats
    transmat_: Floats
    means_: Floats
    intercept_: Floats
    covars_: Floats
    states_: NDArray[np.int64]
    paths_: NDArray[np.uint16]
    log_joint_: float
    seed_: int

    def __init__(
        self,
        n_chains: int = 2,
        n_components: int = 2,
        *,
        covariance_type: str = "diag",
        n_paths: int = 5,
        n_iter: int = 200,
        n_init: int = 1,
        search: int = 6,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        stay_prior: float = 0.0,
        means_prior: ArrayLike | None = None,
        means_weight: ArrayLike = 0.01,
        covars_prior: ArrayLike | None = None,
        covars_weight: float | None = None,
        missing: bool = False,
        verbose: bool = False,
    ) -> None:
        self.n_chains = n_chains
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.n_paths = n_paths
        self.n_iter = n_iter
        self.n_init = n_init
        self.search = search
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.stay_prior = stay_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.missing = missing
        self.verbose = verbose

    def fit(self, X: Any, lengths: ArrayLike | None = None) -> Self:
        """Learn the parameters.

        Parameters
        ----------
        X : array (T, D), or Sequences
            The observations of all sequences, one after another.
        lengths : array, optional
            Lengths of the sequences; one sequence by default.

        Returns
        -------
        self

        Raises
        ------
        Interrupted
            On Ctrl-C, after the sweep is finished. The attributes hold the best fit so far. During the search
            for a starting point of the first fit there is none, and a plain KeyboardInterrupt is raised.
        """
        self._check_settings()
        sequences = self._sequences(X, lengths)
        with rename_arguments(self._argument_names):
            model = FactorialHmmModel(
                sequences,
                self.n_chains,
                self.n_components,
                covariance=self.covariance_type,
                start_prior=self.startprob_prior,
                transition_prior=self.transmat_prior,
                staying=self.stay_prior,
                mean_prior=self.means_prior,
                mean_weight=self.means_weight,
                covariance_prior=self.covars_prior,
                covariance_weight=self.covars_weight,
                search=self.search,
            )
        fit = best_of(self._fits(model))
        self._take(fit)
        self._raise_interrupt(fit)
        return self

    def _fits(self, model: FactorialHmmModel) -> Iterator[Fit]:
        random = check_random_state(self.random_state)
        for _ in range(self.n_init):
            yield self._fit_once(model, draw_seed(random))

    def _fit_once(self, model: FactorialHmmModel, seed: int) -> Fit:
        counts = np.zeros((model.n_sites, model.n_states), np.uint32)
        from_sweep = self.n_iter - max(1, int(_LATE * self.n_iter))
        late = collect_after(from_sweep, lambda paths: model.add_states(paths, counts))
        settings = Plan(self.n_paths, self.n_iter).settings(seed)
        last: State | None = None
        interrupted = None

        def remember(progress: Progress) -> None:
            nonlocal last
            last = progress.state

        with show_progress(bool(self.verbose), model.site_name) as show:
            try:
                callback = call_all(late, remember, show)
                run = start_run(model, settings, n_jobs=self.n_jobs, callback=callback)
            except Interrupted as error:
                run, interrupted = error.run, error
        return replace(self._scored(run, counts, from_sweep, last), interrupted=interrupted)

    def _scored(
        self, run: Run, counts: NDArray[np.uint32], from_sweep: int, last: State | None = None
    ) -> Fit:
        """Return a fit whose score is the mean of log P(states, X | parameters) over late sweeps."""
        model: Any = run.model
        if not counts.any():  # there is no late sweep to count
            model.add_states(run.paths, counts)
        late = run.trace.log_joint[run.trace.sweep > from_sweep]
        if not len(late):
            with Threads(self.n_jobs) as threads:
                late = log_joint(model, last or State(run.sweep, run.paths), threads)
        with np.errstate(over="ignore"):  # a sum may overflow to -inf, which is a score, too
            score = float(late.mean())
        return Fit(run, score, late=model.most_frequent(counts))

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        model, settings = run.model, run.settings
        assert isinstance(model, FactorialHmmModel)
        return {
            "n_chains": model.n_chains,
            "n_components": model.n_states,
            "covariance_type": model.covariance,
            "n_paths": settings.n_paths,
            "n_iter": settings.n_sweeps,
            "search": model.search,
            "startprob_prior": model.start_prior,
            "transmat_prior": model.transition_prior,
            "stay_prior": model.staying,
            "means_prior": model.mean_prior,
            "means_weight": model.mean_weight,
            "covars_prior": model.covariance_prior,
            "covars_weight": model.covariance_weight,
            "missing": bool(model.sequences.n_missing),
        }

    def _take_run(self, run: Run) -> None:
        # A run stores the last sweep only, so the states are those of its paths.
        counts = np.zeros((run.model.n_sites, run.model.n_states), np.uint32)
        from_sweep = run.settings.n_sweeps - max(1, int(_LATE * run.settings.n_sweeps))
        self._take(self._scored(run, counts, from_sweep))

    def _take(self, fit: Fit) -> None:
        """Set the attributes from a fit, with chains and states in canonical order."""
        run = fit.run
        model = run.model
        assert isinstance(model, FactorialHmmModel)
        self.n_features_in_ = model.sequences.n_features
        with Threads(self.n_jobs) as threads:
            counts = model.count(run.paths, threads)
            parameters = model.mean_parameters(counts, threads)
        shares = model.shares(counts)
        chains, states = model.canonical_order(parameters, shares)
        parameters = parameters.permuted(chains, states)
        shares = np.take_along_axis(shares[chains], states, axis=1)
        self.intercept_, parameters = parameters.centred(shares)
        self.startprob_, self.transmat_ = parameters.start, parameters.transitions
        self.means_, self.covars_ = parameters.means, parameters.covariance
        numbers = np.argsort(states, axis=1)  # canonical number of each state of the run
        every = np.arange(model.n_chains)
        self.states_ = numbers[every, fit.late[:, chains]].astype(np.int64)
        paths = run.paths.reshape(len(run.paths), model.n_chains, -1).transpose(0, 2, 1)
        self.paths_ = numbers[every, paths[:, :, chains]].astype(np.uint16)
        self._chains = chains
        self.log_joint_, self.run_, self.seed_ = fit.score, run, run.settings.seed
        if (shares == 0).any():
            warnings.warn(_about_empty(np.argwhere(shares == 0).tolist()), PlaitWarning, stacklevel=3)

    def to_frame(self) -> Any:
        """Return a frame of pandas with a row per observation and the state of each chain in a column."""
        check_is_fitted(self, "run_")
        states = [Column(f"chain {k}", own) for k, own in enumerate(self.states_.T)]
        return frame_of([Column("observation", range(len(self.states_))), *states])

    @property
    def agreement_(self) -> Floats:
        """Share of the paths that give a chain its most common state, (T, K)."""
        check_is_fitted(self, "run_")
        share = token_agreement(self.run_.paths).reshape(len(self._chains), -1)
        return np.ascontiguousarray(share[self._chains].T)

    def predict(self, X: Any, lengths: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the states of all chains, (T, K), given the fitted parameters.

        They are the most frequent states in several sweeps with `n_paths` paths. The seed is that of the fit
        (0 if the parameters were set, not fitted), so the same data get the same states.

        Parameters
        ----------
        X : array (T, D), or Sequences
            The observations of all sequences, one after another.
        lengths : array, optional
            Lengths of the sequences; one sequence by default.
        """
        n_paths = check_integer("n_paths", self.n_paths, least=1, limit=MAX_PATHS)
        model, parameters = self._fitted(X, lengths)
        seed = getattr(self, "seed_", 0)
        return model.states_given(parameters, n_paths, _SWEEPS_TO_PREDICT, seed, self.n_jobs)

    def score(self, X: Any, lengths: ArrayLike | None = None) -> float:
        """Return log P(X | parameters), by the forward recursion over all S^K states.

        Raises an error if there are more than 4096 of these.
        """
        model, parameters = self._fitted(X, lengths)
        return model.log_likelihood(parameters, self.n_jobs)

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Draw a sequence from the model.

        Parameters
        ----------
        n_samples : int
            Its length.
        random_state : int or RandomState, optional
            Source of the random numbers; the estimator's by default.

        Returns
        -------
        X : ndarray, (n_samples, D)
        states : ndarray of int, (n_samples, K)
        """
        check_integer("n_samples", n_samples, least=1)
        random = check_random_state(self.random_state if random_state is None else random_state)
        parameters = self._parameters()
        states, X = simulate(parameters, np.array([0, n_samples]), np.random.default_rng(draw_seed(random)))
        return X, states

    def _parameters(self) -> FactorialParameters:
        """Return the parameters that the attributes describe, with the intercept divided among the chains.

        The user may have set the attributes, so they are checked.
        """
        check_is_fitted(self, ["startprob_", "transmat_", "means_", "intercept_", "covars_"])
        means = check_numbers("means_", self.means_)
        if means.ndim != 3 or not means.size:
            raise PlaitError(Argument("means_"), f" must have shape (K, S, D), got {means.shape}")
        n_chains, _, n_features = means.shape
        intercept = spread("intercept_", self.intercept_, {"D": n_features})
        arrays = (
            check_numbers("startprob_", self.startprob_),
            check_numbers("transmat_", self.transmat_),
            means + intercept / n_chains,
            check_numbers("covars_", self.covars_),
        )
        parameters = FactorialParameters(*(np.array(array, order="C") for array in arrays))
        nothing = Sequences.from_values(np.full((1, n_features), np.nan), missing=True)
        self._model(nothing, parameters).check_parameters(parameters)
        return parameters

    def _model(self, sequences: Sequences, parameters: FactorialParameters) -> FactorialHmmModel:
        """Return a model of the data with the shape of the parameters."""
        n_chains, n_states, _ = parameters.means.shape
        return FactorialHmmModel(sequences, n_chains, n_states, covariance=self.covariance_type)

    def _fitted(self, X: Any, lengths: ArrayLike | None) -> tuple[FactorialHmmModel, FactorialParameters]:
        """Return a model of the data, and the fitted parameters."""
        parameters = self._parameters()
        sequences = self._sequences(X, lengths)
        n_features = parameters.means.shape[2]
        if sequences.n_features != n_features:
            raise PlaitError(
                f"the observations have {sequences.n_features} features, but the model has {n_features}: give"
                " data of the same form"
            )
        return self._model(sequences, parameters), parameters

    def _sequences(self, X: Any, lengths: ArrayLike | None) -> Sequences:
        """Return the data, checked."""
        if not isinstance(X, Sequences):
            return Sequences.from_values(X, lengths, missing=self.missing)
        if lengths is not None:
            raise PlaitError(
                Argument("lengths"),
                f" must be None for Sequences, which have lengths, got {short_repr(lengths)}",
            )
        return X


def _about_empty(places: list[list[int]]) -> str:
    """Return a warning about states without observations, by chain and number."""
    names = ", ".join(f"state {s} of chain {k}" for k, s in places[:_MOST_NAMED])
    if len(places) > _MOST_NAMED:
        names += ", ..."
    if len(places) == 1:
        text = f"1 state has no observation ({names}): its mean is that of the prior"
    else:
        text = f"{len(places)} states have no observation ({names}): their means are those of the prior"
    return f"{text}; try fewer chains or states"
