"""Judge what plait does with one input.

Whatever the input, plait returns, or raises a `PlaitError` with one line of reasonable length that names the
file. Anything else is a finding: another exception, a warning that is not a `PlaitWarning`, memory out of
proportion to the input. Crashes and hangs end the process, and are judged by the process that started it;
see `workers`.
"""

from __future__ import annotations

import gzip
import os
import re
import resource
import traceback
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from inputs import Input
from target import Target

import plait
from plait.errors import PlaitError, PlaitWarning

PACKAGE = f"{Path(plait.__file__).parent}/"

MEMORY = 64 * 2**20
MEMORY_PER_BYTE = 200
"""An input may take this much memory, and this much more for each of its bytes after decompression."""

LONGEST_MESSAGE = 500
"""Characters, the folder of the file not counted."""

_KERNELS = (f"{PACKAGE}kernels/", f"{PACKAGE}rng.py")

# Control characters, line separators, changes of direction and half characters have no place in a message.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Outcome:
    """What plait did with an input.

    Attributes
    ----------
    kind : str
        "accepted" and "refused" are as they should be. Findings are an "exception", a "warning", a bad
        "message", too much "memory", a "crash", a "hang".
    what : str
        Which one: outcomes with the same kind, `what` and `where` have the same cause.
    where : str
        The innermost line of plait's code that took part.
    detail : str
        The message.
    """

    kind: str
    what: str = ""
    where: str = ""
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether plait should have done something else."""
        return self.kind not in ("accepted", "refused")

    @property
    def cause(self) -> tuple[str, str, str]:
        """What identifies the cause of a finding."""
        return self.kind, self.what, self.where


def judge(target: Target, input: Input, folder: Path, *, thorough: bool, limited: bool = True) -> Outcome:
    """Try an input.

    Parameters
    ----------
    target : Target
        The target that the input is for.
    input : Input
        The input.
    folder : path
        Where to write its file.
    thorough : bool
        Whether to try everything that can be done with an accepted input.
    limited : bool
        Whether to limit memory; not the first time, which also loads modules and kernels.
    """
    contents = target.contents(input)
    path = folder / target.file_name(input.seed)
    path.write_bytes(contents)
    with _warnings_as_outcomes() as found:
        limit = MEMORY + MEMORY_PER_BYTE * _unpacked_size(path, contents) if limited else None
        outcome = _try(target, input.seed, path, limit, thorough)
    return found[0] if found and not outcome.is_finding else outcome


def _unpacked_size(path: Path, contents: bytes) -> int:
    """Return the number of bytes in a file, after decompression as far as that is possible."""
    size = len(contents)
    if path.suffix == ".gz":
        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as file:
            while part := file.read(2**16):
                size += len(part)
    return size


def _try(target: Target, seed: str, path: Path, limit: int | None, thorough: bool) -> Outcome:
    read = False
    try:
        with nullcontext() if limit is None else memory_limit(limit):
            then = target.read(path, seed)
            read = True
            if then is not None:
                for follow in then if thorough else [next(then)]:
                    follow()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of Rust code is not an Exception
        return _outcome_of(error, target, path, target.named and not read)
    return Outcome("accepted")


def _outcome_of(error: BaseException, target: Target, path: Path, named: bool) -> Outcome:
    """Return the outcome of an exception; `named` tells whether the message must name the file."""
    where = place_of(error.__traceback__)
    message = str(error).replace(f"{path.parent}/", "")
    if memory := _out_of_memory(error):
        return Outcome(
            "memory", "", place_of(memory.__traceback__), f"{type(error).__name__}: {message[:300]}"
        )
    if not isinstance(error, PlaitError):
        return Outcome("exception", type(error).__name__, where, message[:300])
    fault = ""
    if _INVISIBLE.search(message):
        fault = "control characters"
    elif len(message) > LONGEST_MESSAGE:
        fault = "too long"
    elif named and not any(name in message for name in (path.name, target.companion) if name):
        fault = "does not name the file"
    elif not message.strip():
        fault = "empty"
    return Outcome("message", fault, where, message[:300]) if fault else Outcome("refused", detail=message)


def _out_of_memory(error: BaseException | None) -> BaseException | None:
    """Return the MemoryError that an error is, or that it was raised for."""
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__ or error.__context__
    return error


def place_of(trace: TracebackType | None) -> str:
    """Return the innermost line of plait's code in a traceback, or of any code if there is none."""
    frames = traceback.extract_tb(trace)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)] or frames[-1:]
    return f"{short_file(own[-1].filename)}:{own[-1].lineno} {own[-1].name}" if own else ""


def short_file(name: str) -> str:
    """Return the name of a source file, below the folder of the package if it belongs to plait."""
    return name.removeprefix(PACKAGE) if name.startswith(PACKAGE) else Path(name).name


@contextmanager
def memory_limit(size: int) -> Iterator[None]:
    """Limit the memory that the block may take in addition to what is in use."""
    with open("/proc/self/statm", "rb") as file:
        used = int(file.read().split(b" ", 1)[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


@contextmanager
def _warnings_as_outcomes() -> Iterator[list[Outcome]]:
    """Collect warnings other than plait's own, as outcomes."""
    found: list[Outcome] = []

    def collect(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object
    ) -> None:
        # Interpreted kernels warn about integers that wrap, as they are meant to.
        kernel = os.environ.get("NUMBA_DISABLE_JIT") == "1" and filename.startswith(_KERNELS)
        # Estimators warn in the way of scikit-learn if EM has not converged.
        meant = issubclass(category, PlaitWarning) or category.__name__ == "ConvergenceWarning"
        if not meant and not kernel:
            where = f"{short_file(filename)}:{lineno}"
            found.append(Outcome("warning", category.__name__, where, str(message)[:300]))

    usual = warnings.showwarning
    warnings.showwarning = collect  # type: ignore[assignment]
    try:
        yield found
    finally:
        warnings.showwarning = usual
