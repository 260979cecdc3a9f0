"""Run: what a sampling run returns, and how it is kept in a file.

The file holds the model with its data, the paths, the settings and the trace; everything else is computed
from these. A run that is not finished has the same form: it is the checkpoint.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.checks import check_integer, frozen
from plait.errors import PlaitError
from plait.models.model import Model, Paths
from plait.storage import arrays_below, read_file, write_file
from plait.version import __version__

MODELS: Final = {
    "factorial-hmm": "plait.models.factorial:FactorialHmmModel",
    "hmm": "plait.models.hmm:HmmModel",
    "lda": "plait.models.lda:LdaModel",
    "mixture": "plait.models.mixture:MixtureModel",
    "potts": "plait.models.potts:PottsModel",
}
"""Where the models are that `load` knows by their kind; imported when needed."""

MAX_SEED: Final = 2**63 - 1


@dataclass(frozen=True)
class Settings:
    """What determines a run, besides its model.

    Attributes
    ----------
    n_paths : int
        Number of paths m.
    n_sweeps : int
        Number of sweeps the run shall have.
    seed : int
        Names the random streams.
    collapsed : bool
        Algorithm 2 (True) or Algorithm 1 (False).
    thin : int
        Sweeps from one record of the trace to the next.
    """

    n_paths: int
    n_sweeps: int
    seed: int
    collapsed: bool
    thin: int

    def __post_init__(self) -> None:
        checked = {
            "n_paths": check_integer("n_paths", self.n_paths, least=1),
            "n_sweeps": check_integer("n_sweeps", self.n_sweeps, least=1),
            "seed": check_integer("seed", self.seed, least=0, most=MAX_SEED),
            "collapsed": bool(self.collapsed),
            "thin": check_integer("thin", self.thin, least=1),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Trace:
    """The course of a run, one record every few sweeps.

    Attributes
    ----------
    sweep : ndarray of int64, (R,)
        Number of sweeps made.
    seconds : ndarray of float64, (R,)
        Time taken since the start.
    log_joint : ndarray of float64, (R, m)
        log P(p^j, w | phi) of each path. For the partially collapsed sampler phi is the last draw, for the
        collapsed one its mean given the paths.
    """

    sweep: NDArray[np.int64]
    seconds: NDArray[np.float64]
    log_joint: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("sweep", "seconds", "log_joint"):
            object.__setattr__(self, name, frozen(getattr(self, name).view()))

    @classmethod
    def empty(cls, n_paths: int) -> Trace:
        """Return the trace of a run that has not begun."""
        return cls(np.empty(0, np.int64), np.empty(0), np.empty((0, n_paths)))

    def appended(self, sweep: int, seconds: float, log_joint: NDArray[np.float64]) -> Trace:
        """Return the trace with one more record."""
        return Trace(
            np.append(self.sweep, sweep),
            np.append(self.seconds, seconds),
            np.vstack([self.log_joint, log_joint]),
        )

    def __len__(self) -> int:
        return len(self.sweep)


@dataclass(frozen=True, eq=False)
class Run:
    """A sampling run, finished or not.

    Attributes
    ----------
    model : Model
        What was sampled, its data included.
    paths : ndarray, (m, N)
        The latent variables p^1..p^m after the last sweep.
    sweep : int
        Number of sweeps made.
    settings : Settings
        What determines the run, besides its model.
    trace : Trace
        Its course.
    seconds : float
        Time taken.
    version : str
        Version of plait that made it.
    """

    model: Model[Any, Any]
    paths: Paths
    sweep: int
    settings: Settings
    trace: Trace
    seconds: float = 0.0
    version: str = __version__

    def __post_init__(self) -> None:
        view = self.paths.view()  # the sampler may go on in its own array; nobody writes through a run
        object.__setattr__(self, "paths", frozen(view))

    @property
    def finished(self) -> bool:
        """Whether all sweeps were made."""
        return self.sweep >= self.settings.n_sweeps

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file, whole or not at all: a file that was there survives any failure."""
        model_arrays, model_header = self.model.to_arrays()
        arrays = {f"model.{name}": array for name, array in model_arrays.items()}
        arrays |= {f"trace.{name}": getattr(self.trace, name) for name in ("sweep", "seconds", "log_joint")}
        arrays["paths"] = self.paths
        header = {
            "version": self.version,
            "kind": self.model.kind,
            "model": model_header,
            "settings": asdict(self.settings),
            "sweep": self.sweep,
            "seconds": self.seconds,
        }
        write_file(Path(path), arrays, header)

    @classmethod
    def load(cls, path: str | PathLike[str], model_class: type[Model[Any, Any]] | None = None) -> Run:
        """Read a run from a file that `save` wrote; see `load`."""
        return load_with_paths(path, model_class)[0]


def load(path: str | PathLike[str], model_class: type[Model[Any, Any]] | None = None) -> Run:
    """Read a run, finished or not, from a file.

    Parameters
    ----------
    path : path
        The file.
    model_class : type, optional
        Class of the model, for one that plait does not ship.
    """
    return Run.load(path, model_class)


def load_with_paths(
    path: str | PathLike[str], model_class: type[Model[Any, Any]] | None = None
) -> tuple[Run, Paths]:
    """Read a run, and give its paths to write in: whoever goes on with the run needs no copy of them."""
    header, arrays = read_file(Path(path))
    if model_class is None:
        model_class = _model_class(header.get("kind"), path)
    try:
        model = model_class.from_arrays(arrays_below("model.", arrays), header["model"])
        settings = Settings(**header["settings"])
        paths = _check_paths(np.require(arrays["paths"], requirements="W"), model, settings.n_paths)
        run = Run(
            model=model,
            paths=paths,
            sweep=check_integer("sweep", header["sweep"], least=0, most=settings.n_sweeps),
            settings=settings,
            trace=_check_trace(Trace(**arrays_below("trace.", arrays)), settings.n_paths),
            seconds=float(header["seconds"]),
            version=header["version"],
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = str(error) if isinstance(error, PlaitError) else f"it lacks a part ({error!r})"
        raise PlaitError(f"{Path(path)} is damaged: {what}; fit the model again") from error
    return run, paths


def _model_class(kind: object, path: str | PathLike[str]) -> type[Model[Any, Any]]:
    home = MODELS.get(kind) if isinstance(kind, str) else None
    if home is None:
        raise PlaitError(
            f"{Path(path)} holds a model of the kind {kind!r}, which plait does not ship:"
            " give its class as load(path, model_class), or fit the model again"
        )
    module, name = home.split(":")
    model_class: type[Model[Any, Any]] = getattr(import_module(module), name)
    return model_class


def _check_paths(paths: NDArray[Any], model: Model[Any, Any], n_paths: int) -> NDArray[Any]:
    """Return paths from a file if they fit the model: kernels use them as indices, unchecked."""
    shape = (n_paths, model.n_sites)
    fits = paths.dtype.kind in "ui" and paths.shape == shape
    if not fits or (paths.size and not 0 <= paths.min() <= paths.max() < model.n_states):
        raise PlaitError(
            f"its paths are not {shape[0]} times {shape[1]} whole numbers from 0 to {model.n_states - 1}"
        )
    return paths


def _check_trace(trace: Trace, n_paths: int) -> Trace:
    n = len(trace)
    if trace.seconds.shape != (n,) or trace.log_joint.shape != (n, n_paths):
        raise PlaitError("the parts of its trace differ in length")
    return trace
