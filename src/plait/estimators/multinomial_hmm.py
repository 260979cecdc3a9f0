"""Hidden Markov models of counts of several kinds, with hmmlearn's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_distributions, check_numbers
from plait.checks import short_repr
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.estimators.base import known_or_none
from plait.estimators.base_hmm import BaseHMM
from plait.estimators.hmm import NumbersHMM
from plait.models.emissions.multinomial import MultinomialParameters, MultinomialSequenceEmissions


class MultinomialHMM(NumbersHMM):
    """Hidden Markov model of rows of counts, each of which is multinomial given the state.

    Parameters
    ----------
    n_components : int
        Number of states S.
    n_trials : int or array (N,), optional
        Sum of the counts of an observation; by default learnt from the data. To `sample`, give one number.
    startprob_prior, transmat_prior : float or array, default: 1
        Parameters of the Dirichlet priors: (S,) and (S, S). Zeros fix probabilities to 0.
    emissionprob_prior : float or array (S, D), default: 1
        Parameters of the Dirichlet priors of the probabilities.
    method : {"search", "blocked", "single-site", "em"}
        See `BaseHMM` for this and all other parameters. The letters of `params` are s, t, e.

    Attributes
    ----------
    startprob_ : ndarray, (S,)
        Probabilities of the first state.
    transmat_ : ndarray, (S, S)
        Row a holds the probabilities of the state after a.
    emissionprob_ : ndarray, (S, D)
        Probabilities of what is counted in each column, in each state.
    """

    _emissions_kind = "multinomial-sequences"
    _argument_names: ClassVar[dict[str, str]] = BaseHMM._argument_names | {"prior": "emissionprob_prior"}
    _emission_parameters: ClassVar[dict[str, str]] = {"e": "emissionprob_"}

    emissionprob_: Floats

    def __init__(
        self,
        n_components: int = 1,
        n_trials: ArrayLike | None = None,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        algorithm: str = "viterbi",
        random_state: int | np.random.RandomState | None = None,
        n_iter: int = 200,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
        *,
        emissionprob_prior: ArrayLike = 1.0,
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
        self.n_trials = n_trials
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.emissionprob_prior = emissionprob_prior
        self.n_paths = n_paths
        self.method = method
        self.polish = polish
        self.n_init = n_init
        self.startprob_fixed = startprob_fixed
        self.transmat_fixed = transmat_fixed
        self.missing = missing
        self.n_jobs = n_jobs

    def _check_and_set_n_features(self, X: Any) -> None:
        """Learn the numbers of columns and of trials from the data, or check that they fit."""
        sequences = self._sequences(X, None)
        if getattr(self, "n_features", None) not in (None, sequences.n_features):
            raise PlaitError(
                f"the observations have {sequences.n_features} features, but the model has {self.n_features}"
            )
        MultinomialSequenceEmissions(sequences, self.n_components)
        self._learn_features(sequences)

    def _learn_features(self, sequences: Sequences) -> None:
        super()._learn_features(sequences)
        self._check_trials(sequences)

    def _check_trials(self, sequences: Sequences) -> None:
        """Learn the numbers of trials, or check that the counts of each observation add up to them."""
        sums = np.nansum(sequences.values, axis=1)
        if self.n_trials is None:
            self.n_trials = sums.astype(np.int64)
            return
        try:
            wanted = np.broadcast_to(check_numbers("n_trials", self.n_trials), sums.shape)
        except ValueError:
            raise PlaitError(
                Argument("n_trials"),
                f" must be a number or one for each of the {len(sums)} observations, got"
                f" {short_repr(self.n_trials)}",
            ) from None
        wrong = (sums != wanted) & ~np.isnan(sequences.values).all(axis=1)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise PlaitError(
                f"the counts of observation {i} must add up to ",
                Argument("n_trials"),
                f", {wanted[i]:g}, got {sums[i]:g}",
            )

    def _make_emissions(self, sequences: Sequences, free: str) -> MultinomialSequenceEmissions:
        self._check_trials(sequences)
        fixed = None if "e" in free else self.emissionprob_
        return MultinomialSequenceEmissions(
            sequences, self.n_components, prior=self.emissionprob_prior, fixed=fixed
        )

    def _get_emissions(self) -> MultinomialParameters:
        return MultinomialParameters(self.emissionprob_)

    def _set_emissions(self, parameters: MultinomialParameters, letters: Iterable[str]) -> None:
        if "e" in letters:
            self.emissionprob_ = parameters.probabilities

    @staticmethod
    def _emission_settings(emissions: MultinomialSequenceEmissions) -> dict[str, Any]:
        if known_or_none(emissions.dirichlet.fixed) is not None:
            raise PlaitError("the run has fixed emission probabilities, which MultinomialHMM does not take")
        return {"emissionprob_prior": emissions.dirichlet.prior}

    def _check_emissions(self) -> None:
        self.emissionprob_ = np.atleast_2d(check_numbers("emissionprob_", self.emissionprob_))
        shape = self.n_components, self.emissionprob_.shape[1]
        self.emissionprob_ = check_distributions("emissionprob_", self.emissionprob_, shape)
        self.n_features = shape[1]

    def _draw_observations(self, states: NDArray[np.intp], random: np.random.RandomState) -> NDArray[Any]:
        trials = np.unique(check_numbers("n_trials", np.nan if self.n_trials is None else self.n_trials))
        if len(trials) != 1 or not trials[0] >= 0:
            raise PlaitError(
                Argument("n_trials"), f" must be one number to sample, got {short_repr(self.n_trials)}"
            )
        shares = self.emissionprob_ / self.emissionprob_.sum(axis=1, keepdims=True)
        rng = np.random.default_rng(random.randint(2**31))
        drawn: NDArray[Any] = rng.multinomial(int(trials[0]), shares[states])
        return drawn

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        n_features = self.n_features or 1
        return super()._get_n_fit_scalars_per_param() | {"e": self.n_components * (n_features - 1)}
