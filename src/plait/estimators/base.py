"""Base class of the estimators: settings that are checked by declared constraints, and `from_run`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from plait.checks import check_choice, check_integer, check_number, short_repr
from plait.errors import Argument, PlaitError
from plait.estimators.seeds import seed_of
from plait.evaluate.agreement import token_agreement
from plait.fitting.checkpointed import fit_or_resume
from plait.fitting.plan import Fit, Plan
from plait.fitting.stored import Ways
from plait.interop.frames import frame_of
from plait.run import Run, load
from plait.sampler import Callback, Interrupted
from plait.threads import count_threads
from plait.trace import Trace

Constraint = Callable[[str, Any], object]
"""Raises an error that names the argument if its value is not allowed."""


def whole(least: int, most: int | None = None) -> Constraint:
    """Return a constraint that allows whole numbers in a range."""
    return lambda name, value: check_integer(name, value, least=least, most=most)


def number(least: float | None = 0.0) -> Constraint:
    """Return a constraint that allows finite numbers, of at least `least` if given."""
    return lambda name, value: check_number(name, value, least=least)


def choice(*choices: str) -> Constraint:
    """Return a constraint that allows the given strings."""
    return lambda name, value: check_choice(name, value, choices)


def optional(constraint: Constraint) -> Constraint:
    """Return a constraint that also allows None."""
    return lambda name, value: None if value is None else constraint(name, value)


def check_path(name: str, value: object) -> None:
    """Raise an error unless the value is the path of a file."""
    if not isinstance(value, (str, PathLike)):
        raise PlaitError(Argument(name), f" must be the path of a file, got {short_repr(value)}")


CHECKPOINTS: Final[dict[str, Constraint]] = {
    "checkpoint": optional(check_path),
    "checkpoint_seconds": number(),
}
"""Constraints of the estimators whose fits can be kept in a file."""


class RunEstimator(BaseEstimator):
    """Base class of all estimators.

    Attributes
    ----------
    trace_ : Trace
        log P(p^j, X | parameters) of each path along the run.
    agreement_ : ndarray, (N,)
        Share of the paths that give an observation its most common state: how certain the state is *given the
        parameters*. Computed on access.
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "n_paths": whole(1),
        "n_jobs": lambda name, value: count_threads(value),
    }
    """Constraints on the arguments of the constructor, by name; subclasses add theirs."""

    _argument_names: ClassVar[dict[str, str]] = {}
    """Names of the model's arguments in the constructor, where they differ."""

    _model_kinds: ClassVar[tuple[str, ...]]
    """Kinds of models that `from_run` accepts."""

    _emissions_kind: ClassVar[str | None] = None
    """Kind of emissions that `from_run` takes; None if any will do."""

    run_: Run

    def _check_settings(self) -> None:
        """Raise an error if an argument of the constructor has a value that is not allowed."""
        for name, check in self._constraints.items():
            check(name, getattr(self, name))

    @classmethod
    def from_run(cls, run: Run | str | PathLike[str]) -> Self:
        """Return a fitted estimator from a run of the same model, or from the file of one.

        Parameters
        ----------
        run : Run or path
            A run from `plait.sample`, `plait.load` or `run_` of an estimator, or a file that the command or
            `Run.save` wrote. Settings that the run stores are passed to the estimator. If a fit is not
            finished, its best finished restart is used, if there is one.
        """
        run = (run if isinstance(run, Run) else load(run)).best
        if run.model.kind not in cls._model_kinds:
            raise PlaitError(
                f"the run holds a model of the kind {run.model.kind!r}: {cls.__name__} takes runs of the kind"
                f" {cls._model_kinds[0]!r}"
            )
        emissions = getattr(getattr(run.model, "emissions", None), "kind", None)
        if cls._emissions_kind not in (None, emissions):
            raise PlaitError(
                f"the run has {emissions} emissions: {cls.__name__} takes runs with"
                f" {cls._emissions_kind} ones"
            )
        estimator = cls(**cls._settings_of(run))
        estimator._take_run(run)
        return estimator

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return a fitted estimator from a file that `save` or the command wrote; see `from_run`."""
        return cls.from_run(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted run to a file, which `load` and the command read; see `Run.save`."""
        check_is_fitted(self, "run_")
        self.run_.save(path)

    def report(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write a report on the fitted run, one file of HTML that any browser opens; see `Run.report`."""
        check_is_fitted(self, "run_")
        return self.run_.report(path, **options)

    def to_frame(self) -> Any:
        """Return a frame of pandas with a row per observation that was fitted.

        Returns
        -------
        pandas.DataFrame
            The sequence and the position of the observation, if it is in one; its most probable state given
            the parameters; the name of the state, if states have names; and its probability.
        """
        from plait.interop.state_tables import states_table  # slow to import, and topics do not need it

        check_is_fitted(self, "run_")
        return frame_of(states_table(self.run_))

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        """Return the arguments of the constructor that a run stores."""
        raise NotImplementedError

    def _take_run(self, run: Run) -> None:
        """Set the attributes from a run."""
        raise NotImplementedError

    def _fit_in_file(self, model: Any, plan: Plan, ways: Ways, callback: Callback | None, n_init: int) -> Fit:
        """Fit with restarts in the file `checkpoint`, or continue in it; Ctrl-C is kept in the fit."""
        own: Any = self  # an estimator with the arguments `checkpoint`, `random_state` and `tol`
        check_random_state(own.random_state)
        seed, is_given = seed_of(own.random_state), isinstance(own.random_state, (int, np.integer))
        try:
            run = fit_or_resume(
                model,
                plan,
                own.checkpoint,
                seed=seed,
                is_seed_given=is_given,
                n_init=n_init,
                tol=float(own.tol),
                ways=ways,
                n_jobs=own.n_jobs,
                callback=callback,
                checkpoint_seconds=own.checkpoint_seconds,
            )
        except Interrupted as interrupted:
            run = interrupted.run.best
            score = float(model.log_likelihood(run.parameters(own.n_jobs), own.n_jobs))
            return Fit(run, score, interrupted=interrupted)
        assert run.fit is not None
        return Fit(run, max(run.fit.scores))

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram and, once fitted, a summary of the run below it, for notebooks."""
        return super()._repr_html_inner() + self._run_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what notebooks show: as text and, unless scikit-learn is told otherwise, as HTML."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._run_html()
        return bundle

    def _run_html(self) -> str:
        from plait.answers.html_summary import html_summary  # it imports the models of states, too

        return html_summary(self.run_) if hasattr(self, "run_") else ""

    @staticmethod
    def _raise_interrupt(fit: Fit) -> None:
        """Raise Ctrl-C again, now that the attributes hold the result so far."""
        if fit.interrupted is not None:
            raise fit.interrupted

    @property
    def trace_(self) -> Trace:
        """The log-likelihood log P(p^j, X | parameters) of each path along the run."""
        check_is_fitted(self, "run_")
        return self.run_.trace

    @property
    def agreement_(self) -> NDArray[np.float64]:
        """Share of the paths that give an observation its most common state, (N,)."""
        check_is_fitted(self, "run_")
        if not len(self.run_.paths):
            raise PlaitError("EM has no paths that could agree: choose another method")
        return token_agreement(self.run_.paths)


def any_number(name: str, value: object) -> None:
    """Refuse what is no number."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or np.isnan(value):
        raise PlaitError(Argument(name), f" must be a number, got {short_repr(value)}")


def like(X: Any, result: NDArray[Any], name: str | None = None) -> Any:
    """Return a result with a row for each observation, as a series or frame of pandas if the data are one."""
    if not hasattr(X, "iloc"):
        return result
    pandas = import_module("pandas")
    if result.ndim == 1:
        return pandas.Series(result, index=X.index, name=name)
    return pandas.DataFrame(result, index=X.index)


def one_row(prior: ArrayLike | None) -> ArrayLike | None:
    """Return what a model keeps as one row (1, S) with the shape (S,) that users give it."""
    return np.reshape(prior, -1) if np.ndim(prior) == 2 else prior  # type: ignore[arg-type]


def known_or_none(fixed: ArrayLike | None) -> ArrayLike | None:
    """Return fixed parameters, or None if all of them are NaN, that is, not fixed."""
    return None if fixed is None or np.isnan(np.asarray(fixed, np.float64)).all() else fixed
