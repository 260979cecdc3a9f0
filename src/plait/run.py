"""Run: the result of a sampling run, and its file format.

The file holds the model with its data, the paths, the settings, the trace and, where EM has followed, the
parameters it found; everything else is computed from these. An unfinished run has the same form: it is its
own checkpoint. A fit with restarts also stores its progress and the best run so far (`FitState`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_finite, check_paths, frozen, stored, stored_shapes
from plait.checks import check_flag, check_integer, check_number, short_repr
from plait.convergence import Verdict, judge
from plait.errors import PlaitError, PlaitWarning
from plait.models.late import AveragingModel, LateSums
from plait.models.model import Arrays, Header, Model, Paths
from plait.names import check_names, merged_names, names_from_json
from plait.outputs import has_previous, previous_name
from plait.plans import MAX_PATHS, MAX_SEED, MAX_SWEEPS, Settings, check_stages_for
from plait.storage import DamagedFile, arrays_below, read_file, write_file
from plait.threads import Threads, use_threads
from plait.trace import Trace
from plait.version import __version__

MODELS: Final = {
    "factorial-hmm": "plait.models.factorial:FactorialHmmModel",
    "hmm": "plait.models.hmm:HmmModel",
    "lda": "plait.models.lda:LdaModel",
    "mixture": "plait.models.mixture:MixtureModel",
    "potts": "plait.models.potts:PottsModel",
}
"""The models that `load` knows, by kind: module and class, imported when needed."""


@dataclass(frozen=True)
class FitState:
    """Progress of a fit with random restarts, stored with its current run.

    Attributes
    ----------
    seeds : tuple of (int, int)
        For each restart, the seed of its initial parameters and the seed of its run.
    em_iterations : int
        Maximum number of iterations of EM after the sweeps of a restart; 0 for none.
    tol : float
        EM stops when an iteration raises the log-likelihood by less than this.
    seed : int
        The seed that the others were drawn from, as given by the user.
    scores : tuple of float
        log P(w | phi) of the restarts that are finished.
    best : Run or None
        The best of the finished restarts, while others are left.
    """

    seeds: tuple[tuple[int, int], ...]
    em_iterations: int
    tol: float
    seed: int = 0
    scores: tuple[float, ...] = ()
    best: Run | None = None

    @property
    def restart(self) -> int:
        """Number of the current restart, from 0."""
        return len(self.scores)

    @property
    def finished(self) -> bool:
        """Whether no restart is left."""
        return self.restart == len(self.seeds)

    @property
    def best_restart(self) -> int:
        """Number of the finished restart with the highest score; the first of several."""
        return max(range(len(self.scores)), key=self.scores.__getitem__)


_HTML_SUMMARY: Final = "plait.answers.html_summary"
"""The module that shows runs in notebooks, by name: it stands above this one."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A sampling run, finished or not.

    Attributes
    ----------
    model : Model
        The model, including its data.
    paths : ndarray, (m, N)
        The latent variables p^1..p^m after the last sweep.
    sweep : int
        Number of sweeps made.
    settings : Settings
        The settings that, together with the model, determine the run.
    trace : Trace
        Records of the run.
    seconds : float
        Time taken.
    version : str
        Version of plait that made it.
    estimate : object, optional
        The parameters that EM found, starting from the sampled ones; see `parameters`.
    em_history : tuple of float
        log P(w | phi) before each iteration of EM, as the monitor recorded it.
    converged : bool
        Whether EM has converged.
    numbered : bool
        Whether the user numbered the states, by giving initial emissions; then the canonical order does not
        apply.
    fit : FitState, optional
        Progress of the fit that the run belongs to, if it has restarts or ends with EM.
    late : LateSums, optional
        Sums over the sweeps that are averaged, if a stage averages.
    names : mapping of int to str
        Names of topics or states, by their numbers in `paths`; see `named`.
    """

    model: Model[Any, Any]
    paths: Paths
    sweep: int
    settings: Settings
    trace: Trace
    seconds: float = 0.0
    version: str = __version__
    estimate: Any = None
    em_history: tuple[float, ...] = ()
    converged: bool = False
    numbered: bool = False
    fit: FitState | None = None
    late: LateSums | None = None
    names: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        paths = _check_paths(self.paths, self.model, self.settings, self.sweep)
        view = paths.view()  # a read-only view: the sampler goes on writing to its own array
        object.__setattr__(self, "paths", frozen(view))
        names = check_names(self.names, self.model.n_states)
        object.__setattr__(self, "names", MappingProxyType(names))

    def __repr__(self) -> str:
        return f"Run({self.model.kind}, {self.model.n_sites} sites, {self.position})"

    def _repr_html_(self) -> str:
        """Return a short summary for notebooks."""
        summary: str = import_module(_HTML_SUMMARY).html_summary(self)
        return summary

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle cannot hold a mapping proxy: call the constructor again.
        values = {own.name: getattr(self, own.name) for own in fields(self)}
        return type(self), tuple((values | {"names": dict(self.names)}).values())

    @property
    def finished(self) -> bool:
        """Whether all sweeps, all restarts and EM are done."""
        if self.fit is not None:
            return self.fit.finished
        return self.estimate is not None or self.sweep >= self.settings.n_sweeps

    @property
    def best(self) -> Run:
        """The best run of the fit so far: of the finished restarts, if there are any; else this run."""
        return self if self.fit is None or self.fit.best is None else self.fit.best

    @property
    def position(self) -> str:
        """How far the run is, in words: "sweep 20 of 100 in restart 2 of 5"."""
        unit = "sweep" if self.settings.n_paths else "EM iteration"
        done = f"{unit} {self.sweep} of {self.settings.n_sweeps}"
        if len(self.settings.stages) > 1 and not self.finished:
            stage, _ = self.settings.place_of(self.sweep + 1)
            done += f", in stage {stage + 1} of {len(self.settings.stages)}"
        if self.fit is None or len(self.fit.seeds) == 1 or self.fit.finished:
            return done
        return f"{done} in restart {self.fit.restart + 1} of {len(self.fit.seeds)}"

    def parameters(self, n_jobs: int | Threads | None = None) -> Any:
        """Return the point estimate of phi, as the model's own type.

        Its type is `HmmParameters`, `MixtureParameters`, `PottsParameters`, `FactorialParameters` or `Topics`
        (LDA). The estimate is the result of EM if EM followed the sampler; the average over sweeps if any
        were averaged; otherwise the mean of phi given the paths. States are numbered as in `paths`.

        Parameters
        ----------
        n_jobs : int, optional
            Number of threads; all cores by default.
        """
        if self.estimate is not None:
            return self.estimate
        with use_threads(n_jobs) as threads:
            if self.late is not None and self.late.n:
                return cast(AveragingModel, self.model).late_parameters(self.late, threads)
            return self.model.mean_parameters(self.model.count(self.paths, threads), threads)

    def verdict(self) -> Verdict:
        """Return whether the fit has converged, as far as its records can tell; see `plait.convergence`."""
        return judge(
            self.trace,
            self.settings,
            self.model.n_sites,
            em_history=self.em_history,
            em_converged=None if self.estimate is None else self.converged,
        )

    def lasting(self, n_sweeps: int) -> Run:
        """Return the run with another total number of sweeps; see `Settings.lasting`."""
        settings = self.settings.lasting(n_sweeps)
        trace = self.trace if settings.learns_priors else replace(self.trace, priors={})
        return replace(self, settings=settings, trace=trace)

    def named(self, names: Mapping[int, str | None]) -> Run:
        """Return the run with names of topics or states; those it has already stay.

        Names change nothing else: topics keep their numbers, and resumed runs keep the names.

        Parameters
        ----------
        names : mapping of int to str or None
            Names by number, as in `paths`, such as {3: "taxes"}; None removes a name. No two may be the same.
        """
        return replace(self, names=merged_names(self.names, names, self.model.n_states))

    def report(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write a report on the run, one file of HTML that any browser opens; return the file.

        Parameters
        ----------
        path : path
            The file, such as "report.html"; replaced if it exists.
        **options
            Those of `plait.report.write_report`.
        """
        # The report is a layer above this one.
        written: Path = import_module("plait.report").write_report(self, path, **options)
        return written

    def save(self, path: str | PathLike[str], *, keep_previous: bool = False) -> None:
        """Write the run to a file atomically: if that fails, an existing file stays as it was.

        Parameters
        ----------
        path : path
            The file, replaced if it exists.
        keep_previous : bool
            Whether the file that is replaced stays, with ".previous" added to its name.
        """
        model_arrays, model_header = self.model.to_arrays()
        arrays = {f"model.{name}": array for name, array in model_arrays.items()}
        course, header = _course_to_arrays(self)
        header |= {"version": self.version, "kind": self.model.kind, "model": model_header}
        if self.fit is not None:
            header["fit"] = {
                name: value for name, value in asdict(replace(self.fit, best=None)).items() if name != "best"
            }
            if self.fit.best is not None:
                best, header["best"] = _course_to_arrays(self.fit.best)
                arrays |= {f"best.{name}": array for name, array in best.items()}
        write_file(Path(path), arrays | course, header, keep_previous=keep_previous)

    @classmethod
    def load(cls, path: str | PathLike[str], model_class: type[Model[Any, Any]] | None = None) -> Run:
        """Read a run from a file that `save` wrote; see `load`."""
        return load_with_paths(path, model_class).run


def load(path: str | PathLike[str], model_class: type[Model[Any, Any]] | None = None) -> Run:
    """Read a run, finished or not, from a file.

    `Run.parameters` returns its point estimate, and `from_run` of an estimator a fitted estimator.

    Parameters
    ----------
    path : path
        The file.
    model_class : type, optional
        Class of the model, for one that plait does not ship.
    """
    return Run.load(path, model_class)


class Loaded(NamedTuple):
    """A run that was read from a file."""

    run: Run

    paths: Paths
    """Its paths as a writeable array, so that resuming needs no copy."""

    is_previous: bool
    """Whether it is the previous checkpoint, because the newest is damaged."""


def load_with_paths(
    path: str | PathLike[str],
    model_class: type[Model[Any, Any]] | None = None,
    paths_in: Path | None = None,
) -> Loaded:
    """Read a run, and its paths as a writeable array, in a file in the folder `paths_in` if given.

    If the file is damaged, the previous checkpoint is read instead, where one was kept, with a warning.
    """
    newest = Path(path)
    try:
        try:
            if os.path.lexists(newest) or not has_previous(newest):
                return Loaded(*_read(newest, model_class, paths_in), False)
            error = PlaitError(f"{newest} is missing")
        except DamagedFile as damage:
            if not has_previous(newest):
                raise
            error = damage
        try:
            run, paths = _read(previous_name(newest), model_class, paths_in)
        except PlaitError:
            raise error from None
    except MemoryError as lack:
        raise PlaitError(f"not enough memory to load {newest}: free some, or use a larger machine") from lack
    warnings.warn(
        f"{newest} is damaged or missing; the checkpoint before it, {previous_name(newest)}, at"
        f" {run.position}, was read instead",
        PlaitWarning,
        stacklevel=3,
    )
    return Loaded(run, paths, True)


def _read(path: Path, model_class: type[Model[Any, Any]] | None, paths_in: Path | None) -> tuple[Run, Paths]:
    header, arrays = read_file(path, folders={"paths": paths_in})
    of_model = arrays_below("model.", arrays)
    if model_class is None:
        model_class = _model_class(header.get("kind"), path)
        # These arrays have no other owner: once read-only, they need not be copied.
        of_model = {name: frozen(array) for name, array in of_model.items()}
    try:
        model = model_class.from_arrays(of_model, header["model"])
        run, paths = _course_from_arrays(model, arrays, header)
        fit = None
        if "fit" in header:
            best = None
            if "best" in header:
                best, _ = _course_from_arrays(model, arrays_below("best.", arrays), header["best"])
            fit = _check_fit(FitState(**header["fit"], best=best))
        run = replace(run, version=_check_version(header["version"]), fit=fit)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        what = str(error) if isinstance(error, PlaitError) else f"it lacks a part ({short_repr(error, 200)})"
        raise DamagedFile(f"{path} is damaged: {what}; fit the model again") from error
    return run, paths


def _course_to_arrays(run: Run) -> tuple[Arrays, Header]:
    """Return all of a run except its model and its fit."""
    arrays = {f"trace.{name}": getattr(run.trace, name) for name in ("sweep", "seconds", "log_joint")}
    arrays |= {f"trace.priors.{name}": array for name, array in run.trace.priors.items()}
    arrays["paths"] = run.paths
    if run.estimate is not None:
        arrays |= {f"estimate.{name}": array for name, array in run.estimate.to_arrays().items()}
        arrays["em_history"] = np.array(run.em_history, np.float64)
    header = {name: getattr(run, name) for name in ("sweep", "seconds", "converged", "numbered")}
    if run.late is not None:
        sums, header["late"] = run.late.to_arrays()
        arrays |= {f"late.{name}": array for name, array in sums.items()}
    names = {str(state): name for state, name in run.names.items()}
    return arrays, header | {"settings": asdict(run.settings), "names": names}


def _course_from_arrays(
    model: Model[Any, Any], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> tuple[Run, Paths]:
    settings = Settings(**header["settings"])
    check_stages_for(model, settings.stages)
    sweep = check_integer("sweep", header["sweep"], least=0, most=settings.n_sweeps)
    paths = _check_paths(np.require(arrays["paths"], requirements="W"), model, settings, sweep)
    late = header.get("late")
    estimate = arrays_below("estimate.", arrays)
    run = Run(
        model=model,
        paths=paths,
        sweep=sweep,
        settings=settings,
        trace=_trace_from_arrays(arrays_below("trace.", arrays), model, settings, sweep),
        seconds=check_number("seconds", header["seconds"]),
        em_history=_history_from_arrays(arrays) if estimate else (),
        # Older files have none of these.
        converged=check_flag("converged", header.get("converged", False)),
        numbered=check_flag("numbered", header.get("numbered", False)),
        names=names_from_json(header.get("names", {})),
        estimate=model.parameters_from_arrays(estimate) if estimate else None,  # type: ignore[attr-defined]
        late=None if late is None else LateSums.from_arrays(model, arrays_below("late.", arrays), late),
    )
    return run, paths


def _model_class(kind: object, path: str | PathLike[str]) -> type[Model[Any, Any]]:
    if kind == "corpus":
        raise PlaitError(f"{Path(path)} holds a corpus, not a model: read it with plait.Corpus.load")
    home = MODELS.get(kind) if isinstance(kind, str) else None
    if home is None:
        raise PlaitError(
            f"{Path(path)} holds a model of the kind {short_repr(kind)}, which plait does not ship:"
            " give its class as load(path, model_class), or fit the model again"
        )
    module, name = home.split(":")
    model_class: type[Model[Any, Any]] = getattr(import_module(module), name)
    return model_class


def _check_paths(paths: Any, model: Model[Any, Any], settings: Settings, sweep: int) -> Paths:
    """Return paths that fit the model: kernels use them as indices without checks.

    Kernels of the models that plait ships take states of two bytes; a model of a user may have others.
    """
    dtype = np.uint16 if model.kind in MODELS else None
    n_paths = settings.paths_after(sweep)
    return check_paths(paths, model.n_sites, model.n_states, n_paths=n_paths, dtype=dtype)


def _trace_from_arrays(
    arrays: Mapping[str, NDArray[Any]], model: Model[Any, Any], settings: Settings, sweep: int
) -> Trace:
    """Return the trace of a run that has made a number of sweeps."""
    shape = stored(arrays, "log_joint").shape
    # A run whose last stages were cut off may have columns for their paths.
    n_paths = shape[-1] if shape and settings.most_paths < shape[-1] <= MAX_PATHS else settings.most_paths
    sweeps = stored(arrays, "sweep", np.int64)
    n = len(sweeps) if sweeps.ndim else 0
    rest = stored_shapes(arrays, {"seconds": (n,), "log_joint": (n, n_paths)})
    inside = sweeps.shape == (n,) and (not n or (sweeps[0] >= 1 and sweeps[-1] <= sweep))
    if not inside or (sweeps[1:] <= sweeps[:-1]).any():
        raise PlaitError(f"the sweeps of its trace do not increase from 1 to at most {sweep}")
    check_finite("seconds of the trace", rest["seconds"])
    if (rest["log_joint"] == np.inf).any():
        raise PlaitError("its trace has infinite likelihoods")
    return Trace(
        sweeps, **rest, priors=_priors_from_arrays(arrays_below("priors.", arrays), model, settings, n)
    )


def _priors_from_arrays(
    arrays: Mapping[str, NDArray[Any]], model: Any, settings: Settings, n: int
) -> dict[str, NDArray[np.float64]]:
    """Return the history of learnt priors in a trace of n records; it is empty if none are learnt."""
    learnt = model.priors() if n and settings.learns_priors else {}
    shapes = {name: (n, *value.shape) for name, value in learnt.items()}
    if arrays.keys() != shapes.keys():
        raise PlaitError(f"its trace has the priors {sorted(arrays)} instead of {sorted(shapes)}")
    priors = stored_shapes(arrays, shapes)
    for name, array in priors.items():
        check_finite(name, array)
    return priors


def _history_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[float, ...]:
    history = stored(arrays, "em_history")
    if history.ndim != 1:
        raise PlaitError("the history of its EM is not one row of real numbers")
    return tuple(history.tolist())


def _check_version(version: object) -> str:
    if not isinstance(version, str):
        raise PlaitError(f"its version is {short_repr(version)}, not a string")
    return version


def _check_fit(fit: FitState) -> FitState:
    """Return the state of a fit from a file, with its types checked."""
    if not isinstance(fit.seeds, list) or not isinstance(fit.scores, (list, tuple)):
        raise PlaitError("the seeds and scores of its restarts are not lists")
    seeds = tuple(
        (
            check_integer("seed", of_parameters, least=0, most=MAX_SEED),
            check_integer("seed", of_run, least=0, most=MAX_SEED),
        )
        for of_parameters, of_run in fit.seeds
    )
    scores = tuple(_check_score(score) for score in fit.scores)
    has_best = 0 < len(scores) < len(seeds)
    if not seeds or len(scores) > len(seeds) or has_best != (fit.best is not None):
        raise PlaitError("its restarts do not fit together")
    return replace(
        fit,
        seeds=seeds,
        em_iterations=check_integer("em_iterations", fit.em_iterations, least=0, limit=MAX_SWEEPS),
        tol=check_number("tol", fit.tol),
        seed=check_integer("seed", fit.seed, least=0, most=MAX_SEED),
        scores=scores,
    )


def _check_score(score: object) -> float:
    """Return the score of a restart; it may be infinite, but not NaN, since the best one is the largest."""
    if isinstance(score, bool) or not isinstance(score, (int, float)) or score != score:
        raise PlaitError(f"the score of a restart is {short_repr(score)}, not a number")
    return float(score)
