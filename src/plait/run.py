"""Run: what a sampling run returns, and the file it is kept in.

A file is a safetensors container: arrays, and a header of JSON. Loading one never runs code. It holds the
model with its data, the paths, the settings and the trace; everything else is computed from these. A run
that is not finished has the same form: it is the checkpoint.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.errors import PlaitError
from plait.models.model import Model, Paths
from plait.version import __version__

FORMAT: Final = 1
"""Version of the file's form; raised when an older plait could not read a newer file."""

MODELS: Final = {"lda": "plait.models.lda:LdaModel"}
"""Where the models are that `load` knows by their kind; imported when needed."""


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

    @property
    def finished(self) -> bool:
        """Whether all sweeps were made."""
        return self.sweep >= self.settings.n_sweeps

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to a file, whole or not at all: a file that was there survives any failure."""
        arrays, model_header = self.model.to_arrays()
        tensors = {f"model.{name}": array for name, array in arrays.items()}
        tensors |= {"paths": self.paths}
        tensors |= {f"trace.{name}": getattr(self.trace, name) for name in ("sweep", "seconds", "log_joint")}
        tensors = {name: np.asarray(array, order="C") for name, array in tensors.items()}
        header = {
            "format": FORMAT,
            "version": self.version,
            "kind": self.model.kind,
            "model": model_header,
            "settings": asdict(self.settings),
            "sweep": self.sweep,
            "seconds": self.seconds,
            "checksums": {name: zlib.crc32(array.data) for name, array in tensors.items()},
        }
        _write(Path(path), tensors, {"plait": json.dumps(header)})

    @classmethod
    def load(cls, path: str | PathLike[str], model_class: type[Model[Any, Any]] | None = None) -> Run:
        """Read a run from a file that `save` wrote; see `load`."""
        header, tensors = _read(Path(path))
        try:
            kind = header["kind"]
            if model_class is None:
                model_class = _model_class(kind, path)
            model = model_class.from_arrays(_below("model.", tensors), header["model"])
            return cls(
                model=model,
                paths=_check_paths(tensors["paths"], model, header["settings"]["n_paths"], path),
                sweep=header["sweep"],
                settings=Settings(**header["settings"]),
                trace=Trace(**_below("trace.", tensors)),
                seconds=header["seconds"],
                version=header["version"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise PlaitError(
                f"{fspath(path)} lacks a part of a plait model ({error}): fit the model again"
            ) from error


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


def _below(prefix: str, tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _model_class(kind: str, path: str | PathLike[str]) -> type[Model[Any, Any]]:
    if kind not in MODELS:
        raise PlaitError(
            f"{fspath(path)} holds a model of the kind {kind!r}, which plait does not ship:"
            " give its class as load(path, model_class)"
        )
    module, name = MODELS[kind].split(":")
    model_class: type[Model[Any, Any]] = getattr(import_module(module), name)
    return model_class


def _check_paths(
    paths: NDArray[Any], model: Model[Any, Any], n_paths: int, path: str | PathLike[str]
) -> NDArray[Any]:
    if paths.shape != (n_paths, model.n_sites):
        raise PlaitError(
            f"{fspath(path)} holds paths of shape {paths.shape} where the model needs"
            f" {(n_paths, model.n_sites)}: the file is damaged, fit the model again"
        )
    return paths


def _write(path: Path, tensors: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    """Write a safetensors file next to its place, bring it to the disk, and put it there in one step."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    if path.is_dir():
        raise PlaitError(f"cannot write {path}: it is a folder; give the name of a file")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        save_file(tensors, temporary, metadata)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, SafetensorError) as error:
        kept = "; the file that was there is unchanged" if path.exists() else ""
        raise PlaitError(
            f"cannot write {path}: {_reason(error, path)}{kept}. Free some space or choose another place"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    with suppress(OSError):  # the new name itself must reach the disk; not every file system lets us ask
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _reason(error: Exception, path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        raise PlaitError(f"cannot read the model {path}: {error.strerror}; `plait fit` makes one") from error
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if "plait" not in metadata:
                raise PlaitError(f"{path} is not a plait model: give a file that `plait fit` wrote")
            header = json.loads(metadata["plait"])
            if header["format"] > FORMAT:
                raise PlaitError(
                    f"{path} was written by plait {header['version']} in format {header['format']}; this"
                    f" plait {__version__} reads up to format {FORMAT}: update plait"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError, KeyError, OSError) as error:
        raise PlaitError(
            f"{path} is not a plait model, or is cut short or damaged ({error}):"
            " give a file that `plait fit` wrote"
        ) from error
    for name, checksum in header.get("checksums", {}).items():
        if name not in tensors or zlib.crc32(tensors[name].data) != checksum:
            raise PlaitError(f"{path} is damaged: {name} is not what was written; fit the model again")
    return header, tensors
