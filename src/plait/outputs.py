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
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
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
        Whether the message suggests resuming that file.
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
            mode = _create(temporary, target)
            yield temporary
            os.chmod(temporary, mode)  # safetensors makes a file of its own, which only its owner can read
            _fsync(temporary)
            if keep_previous and target.exists():
                _keep(target)
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
    """Return the name under which the file before the newest is kept: next to it, not to a link to it."""
    return Path(f"{_target(path) if os.path.islink(path) else path}.previous")


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


def _create(temporary: Path, target: Path) -> int:
    """Create an empty file that others cannot read if they cannot read `target`; return its final mode."""
    with suppress(FileNotFoundError):
        temporary.unlink()
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    os.close(os.open(temporary, flags, 0o666 if mode is None else mode | stat.S_IWUSR))
    return stat.S_IMODE(temporary.stat().st_mode) if mode is None else mode


def _keep(target: Path) -> None:
    """Keep the file at `target` under its `previous_name` as well, instead of the file that was there."""
    previous, link = previous_name(target), _temporary_name(target).with_suffix(".link")
    try:
        os.link(target, link)
        os.replace(link, previous)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(target, previous)  # for a moment there is only the previous file, which `load` finds
    finally:
        with suppress(OSError):  # renaming does nothing if both names are of one file already
            link.unlink()


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


_TO_FSYNC: Final = os.O_RDWR if os.name == "nt" else os.O_RDONLY  # Windows refuses what is open for reading


def _fsync(path: Path) -> None:
    descriptor = os.open(path, _TO_FSYNC)
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
        The lock file, created here and removed at the end.
    busy : str
        Message of the error if another process or thread holds the lock.
    """
    key, me = (os.getpid(), os.path.realpath(lock)), threading.get_ident()
    descriptor, is_new = None, False
    try:
        with _owners_guard:
            owner = _owners.get(key)
            if owner not in (None, me):
                raise PlaitError(busy)
            if owner is None:
                is_new = True  # before the entry is made: Ctrl-C may fall between the two
                _owners[key] = me
        if is_new:
            descriptor = _acquire(lock, busy)
        yield descriptor is not None
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.unlink(lock)  # while it is locked: later it may be the file of another process
            os.close(descriptor)
        if is_new:
            with _owners_guard:
                _owners.pop(key, None)


def _acquire(lock: Path, busy: str) -> int | None:
    """Lock a file against other processes and return its descriptor; None where there are no locks."""
    if fcntl is None:
        return None
    for _ in range(_LOCK_ATTEMPTS):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except PermissionError:
            _refuse_if_locked(lock, busy)
            return None
        except OSError:  # a read-only folder, for one: writing the file itself will say why
            return None
        try:
            # A record lock, unlike one by `flock`, is not shared with forked processes.
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file since it was opened: then this protects nothing.
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


def _refuse_if_locked(lock: Path, busy: str) -> None:
    """Raise an error if another user, whose lock file may only be read, holds the lock."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN):
            raise PlaitError(busy) from None
    finally:
        os.close(descriptor)
