"""Output files: checked before the work, locked against other writers, and replaced atomically.

A place for an output is claimed before the work starts and released when it ends:

    with claimed(path, overwrite=False):    # fails early, and keeps other writers out
        ...
        with replacing(path) as temporary:  # as often as needed
            temporary.write_bytes(...)

Locks are advisory: they keep plait's own processes and threads apart. Where the file system has no locks,
only the threads of one process are.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from plait.errors import Argument, PlaitError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_LOCK_ATTEMPTS: Final = 100
_KINDS: Final = {
    stat.S_IFDIR: "folder",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


@contextmanager
def claimed(
    path: Path, *, overwrite: bool, resumable: bool = False, inputs: Iterable[Path | None] = ()
) -> Iterator[None]:
    """Claim the place of an output while the block runs; see `check_output` for what is refused.

    Raises
    ------
    PlaitError
        Also if another process or thread has claimed the place. A thread may claim it again.
    """
    check_output(path, overwrite=overwrite, resumable=resumable, inputs=inputs)
    with _locked(path):
        check_writable(path)
        # A file that appeared since the check must not be replaced either.
        check_output(path, overwrite=overwrite, resumable=resumable)
        yield


def check_output(
    path: Path, *, overwrite: bool, resumable: bool = False, inputs: Iterable[Path | None] = ()
) -> None:
    """Raise an error if a file cannot be written there, or one exists that may not be replaced.

    Nothing is written, so a command that is refused does not disturb the one that is running.

    Parameters
    ----------
    path : Path
        The place of the output.
    overwrite : bool
        Whether a regular file that exists may be replaced.
    resumable : bool
        Whether the message recommends to resume that file.
    inputs : iterable of Path or None
        Files and folders that the work reads, which must not be replaced.
    """
    found = _status(path)
    if found is not None and not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "special file")
        raise PlaitError(f"cannot write {path}: it is a {kind}; give the name of a file")
    if found is not None:
        for other in inputs:
            if other is not None and _is_read_from(path, other):
                raise PlaitError(
                    f"cannot write {path}: it is part of the input, which would be lost; choose another name"
                )
        if not overwrite:
            resume = "resume it, " if resumable else ""
            raise PlaitError(
                f"{path} exists: {resume}replace it with ",
                Argument("overwrite", True),
                ", or choose another name",
            )
    if not os.path.isdir(_target(path).parent):
        raise PlaitError(
            f"cannot write {path}: there is no folder {path.parent}; make it, or choose another place"
        )


def check_writable(path: Path) -> None:
    """Raise an error if no file can be written at `path`, by writing a temporary one next to it."""
    probe = _temporary_name(_target(path)).with_suffix(".probe")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def replacing(path: Path, *, keep_previous: bool = False) -> Iterator[Path]:
    """Yield the name of a temporary file, which is fsynced and replaces `path` when the block ends.

    The replacement is atomic. If anything fails, an existing file stays as it was.

    Parameters
    ----------
    path : Path
        The file to write.
    keep_previous : bool
        Whether the file that is replaced stays, under the name that `previous_name` returns.
    """
    with claimed(path, overwrite=True):
        target = _target(path)
        temporary = _temporary_name(target)
        try:
            temporary.touch()
            mode = target.stat().st_mode if target.exists() else temporary.stat().st_mode
            yield temporary
            os.chmod(temporary, mode)
            _fsync(temporary)
            if keep_previous and target.exists():
                _keep(target, previous_name(path))
            os.replace(temporary, target)
        except OSError as error:
            kept = "; the file that was there is unchanged" if path.exists() else ""
            raise cannot_write(path, error, kept) from error
        finally:
            with suppress(OSError):
                temporary.unlink()
        with suppress(OSError):  # makes the renaming durable; not every file system can fsync a folder
            _fsync(target.parent)


def previous_name(path: Path) -> Path:
    """Return the name under which the file before the newest is kept."""
    return Path(f"{path}.previous")


def has_previous(path: Path) -> bool:
    """Return whether the file before the newest was kept."""
    return os.path.isfile(previous_name(path))


def cannot_write(path: Path, error: OSError | ValueError, note: str = "") -> PlaitError:
    """Return the error for a file that could not be written: why, and what to do."""
    remedies = {
        None: "Free some space, or choose another place",  # an error of safetensors, which has no number
        errno.ENOSPC: "Free some space",
        errno.EDQUOT: "Free some space",
        errno.EFBIG: "Free some space",
        errno.ENAMETOOLONG: "Choose a shorter name",
    }
    number = getattr(error, "errno", 0)
    reason = getattr(error, "strerror", None) or error
    return PlaitError(f"cannot write {path}: {reason}{note}. {remedies.get(number, 'Choose another place')}")


# -----------------------------------------------------------------------------------------------------
# Places
# -----------------------------------------------------------------------------------------------------


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file at a path, links followed; None if there is none."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:  # a loop of links, a name that is too long, a NUL in it
        raise cannot_write(path, error) from None


def _target(path: Path) -> Path:
    """Return the file that a path stands for: a link is kept, and the file that it points to replaced."""
    return Path(os.path.realpath(path))


def _is_read_from(path: Path, source: Path) -> bool:
    """Return whether reading `source`, a file or a folder of .txt files, reads the file at `path`."""
    with suppress(OSError, ValueError):
        if os.path.isdir(source):
            inside = _target(path).is_relative_to(_target(source))
            return inside and path.name.lower().removesuffix(".gz").endswith(".txt")
        return os.path.samefile(path, source)
    return False


def _keep(target: Path, previous: Path) -> None:
    """Keep the file at `target` under the name `previous` as well, instead of the file that was there."""
    link = _temporary_name(target).with_suffix(".link")
    try:
        os.link(target, link)
    except OSError:  # no hard links here: for a moment there is only the previous file, which `load` finds
        os.replace(target, previous)
    else:
        os.replace(link, previous)


def _hidden_name(path: Path) -> str:
    """Return the start of the names of a file's temporary files; short, whatever the name of the file."""
    return f".plait-{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:16]}"


def _temporary_name(path: Path) -> Path:
    """Return a temporary name next to `path` that no other process or thread uses."""
    return path.with_name(f"{_hidden_name(path)}-{os.getpid()}-{threading.get_ident()}.tmp")


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of writers that were killed; only the holder of the lock may call this."""
    start = f"{_hidden_name(path)}-"
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if entry.name.startswith(start):
                with suppress(OSError):
                    os.unlink(entry.path)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# -----------------------------------------------------------------------------------------------------
# Locks
# -----------------------------------------------------------------------------------------------------

_owners: dict[tuple[int, str], int] = {}
"""The thread that holds each lock, by process and lock file: a forked process does not inherit locks."""

_owners_guard = threading.Lock()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other writers of a file out; a thread that has the lock already passes through."""
    target = _target(path)
    busy = f"another process or thread is writing {path}: wait until it is done, or choose another name"
    with exclusive(target.with_name(f"{_hidden_name(target)}.lock"), busy) as is_alone:
        if is_alone:
            _remove_leftovers(target)
        yield


@contextmanager
def exclusive(lock: Path, busy: str) -> Iterator[bool]:
    """Hold a lock while the block runs; the thread that holds it may enter again.

    Yield True if the lock is new and keeps other processes out, False if this thread had it already or the
    file system has no locks.

    Parameters
    ----------
    lock : Path
        The lock file, made for the purpose and removed again.
    busy : str
        Message of the error if another process or thread holds the lock.
    """
    key, me = (os.getpid(), os.path.realpath(lock)), threading.get_ident()
    with _owners_guard:
        has_lock = _owners.get(key) == me
        if key in _owners and not has_lock:
            raise PlaitError(busy)
        _owners[key] = me
    if has_lock:
        yield False
        return
    descriptor = None
    try:
        descriptor = _acquire(lock, busy)
        yield descriptor is not None
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.unlink(lock)  # while it is locked: later it may be the file of another process
            os.close(descriptor)
        with _owners_guard:
            del _owners[key]


def _acquire(lock: Path, busy: str) -> int | None:
    """Lock a file against other processes and return its descriptor; None where there are no locks."""
    if fcntl is None:
        return None
    for _ in range(_LOCK_ATTEMPTS):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:  # no permission, for one: writing the file itself will say why
            return None
        try:
            # A record lock, unlike one by `flock`, is not shared with forked processes.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The holder before may have removed the file since it was opened; then the lock is worth nothing.
            if os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except FileNotFoundError:
            pass
        except OSError as error:
            os.close(descriptor)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise PlaitError(busy) from None
            return None  # not every file system has locks
        os.close(descriptor)
    raise PlaitError(busy)
