"""Read files as text; errors name the file and the line."""

from __future__ import annotations

import codecs
import gzip
import os
import select
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from plait.checks import check_integer, cut, short_repr
from plait.errors import Argument, Part, PlaitError

FilePath = str | os.PathLike[str]

UNPACKED_FLOOR: Final = 16 * 2**20
"""Bytes that any file may hold after decompression."""

UNPACKED_RATIO: Final = 16
"""A larger file may hold this many times its size; text seldom compresses by more than 10."""

PIPE_LIMIT: Final = 2**30
"""Bytes that are read from a pipe, whose size is not known beforehand."""

PIPE_PATIENCE: Final = 5.0
"""Seconds to wait until some program opens a named pipe to write to it."""

_CHUNK = 2**20

# Python knows these encodings, but they are not of text in files: they encode host names or string literals.
_NOT_OF_FILES = frozenset(("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"))


class Source(NamedTuple):
    """A file to read: the arguments of `read_contents`."""

    path: FilePath
    encoding: str
    max_unpacked: int | None

    def limit(self, n_bytes: int) -> int:
        """Return how many bytes may come from these on disk after decompression."""
        return unpacked_limit(n_bytes) if self.max_unpacked is None else self.max_unpacked


class Contents(NamedTuple):
    """The contents of a file.

    Attributes
    ----------
    text : str
        The text.
    n_bytes : int
        Size of the file in bytes, after decompression.
    """

    text: str
    n_bytes: int


def error_at(path: FilePath, line: int | None, *parts: Part) -> PlaitError:
    """Return an error about a file, and about a line of it unless None; `parts` are those of the message."""
    place = "" if line is None else f":{line}"
    return PlaitError(f"{os.fsdecode(path)}{place}: ", *parts)


def error_empty(path: FilePath, remedy: str) -> PlaitError:
    """Return the error for a file without text, or for a pipe whose writer left without data."""
    what = "pipe" if Path(path).is_fifo() else "file"
    return error_at(path, None, f"the {what} is empty: {remedy}")


@contextmanager
def prefix_errors(path: FilePath) -> Iterator[None]:
    """Put the path of a file in front of errors about its contents."""
    try:
        yield
    except PlaitError as error:
        raise error_at(path, None, error) from None


@contextmanager
def translate_errors(path: FilePath) -> Iterator[None]:
    """Turn errors of the system and lack of memory while reading a file into a `PlaitError` that names it."""
    try:
        yield
    except FileNotFoundError:
        raise error_at(path, None, "there is no such file: check the path") from None
    except IsADirectoryError:
        raise error_at(path, None, "this is a folder, not a file: pass a file") from None
    except PermissionError:
        raise error_at(path, None, "permission to read it is denied: change its mode or owner") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise error_at(path, None, f"the gzip file is broken ({error}): copy or download it again") from None
    except OSError as error:
        raise error_at(
            path, None, f"it cannot be read ({error.strerror or error}): check the disk and the path"
        ) from None
    except MemoryError:
        raise error_at(
            path, None, "it is too large to read into memory: pass a part of it, or use a larger machine"
        ) from None


@contextmanager
def translate_others(path: FilePath, what: str, remedy: str) -> Iterator[None]:
    """Turn whatever another library raises for a damaged file into one error; it may be anything."""
    try:
        yield
    except (PlaitError, MemoryError):
        raise
    except Exception as error:
        reason = cut(" ".join(f"{type(error).__name__}: {error}".split()), 100)
        raise error_at(path, None, f"the {what} cannot be read ({reason}): {remedy}") from error


def check_path(path: object, *, argument: str = "path", what: str = "a file") -> None:
    """Raise an error unless the argument is a path that can exist."""
    if not isinstance(path, (str, os.PathLike)):
        raise PlaitError(Argument(argument), f" must be the path of {what}, got {short_repr(path)}")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise PlaitError(
            Argument(argument),
            f" must be a path without NUL characters or lone surrogates, got {short_repr(os.fspath(path))}",
        )


def read_bytes(path: FilePath, max_unpacked: int | None = None) -> bytearray:
    """Return the bytes of a file, decompressed if its name ends in .gz.

    Parameters
    ----------
    path : path
        A file, or a pipe.
    max_unpacked : int or None
        Maximum number of bytes to return; if there are more, that is an error.  None allows 16 times the
        size of the file, or 16 MB if that is more, and 1 GB from a pipe.
    """
    check_path(path)
    if max_unpacked is not None:
        max_unpacked = check_integer("max_unpacked", max_unpacked, least=1)
    data = bytearray()
    is_packed = os.fsdecode(path).lower().endswith(".gz")
    with translate_errors(path), _open(path) as file:
        limit = _default_limit(file) if max_unpacked is None else max_unpacked
        source = gzip.GzipFile(fileobj=file) if is_packed else file
        while chunk := source.read(min(_CHUNK, limit + 1 - len(data))):
            data += chunk
            if len(data) > limit:
                raise over_unpacked(path, limit, is_packed=is_packed)
    return data


def over_unpacked(path: FilePath, limit: int, *, is_packed: bool) -> PlaitError:
    """Return the error for a file or folder with more bytes than the limit."""
    what = "it unpacks to" if is_packed else "it has"
    return error_at(
        path,
        None,
        f"{what} more than {limit} bytes: check that it is the right one, or pass a larger ",
        Argument("max_unpacked"),
    )


def read_contents(path: FilePath, encoding: str = "utf-8", max_unpacked: int | None = None) -> Contents:
    """Return the contents of a file, without a byte order mark and with line endings unchanged.

    A file whose name ends in .gz is decompressed; `max_unpacked` is as for `read_bytes`.
    """
    check_encoding(encoding)
    data = read_bytes(path, max_unpacked)
    with translate_errors(path):
        text = _decode(path, data, encoding).removeprefix("\ufeff")
        if "\0" in text:
            raise error_at(
                path,
                _line_at(text, text.index("\0")),
                "there is a NUL character, which text does not have: pass a text file, or its encoding,"
                " such as ",
                Argument("encoding", "utf-16"),
            )
    return Contents(text, len(data))


def read_text(path: FilePath, encoding: str = "utf-8", max_unpacked: int | None = None) -> str:
    """Return the text of a file; see `read_contents`."""
    return read_contents(path, encoding, max_unpacked).text


def read_lines(
    path: FilePath, encoding: str = "utf-8", max_unpacked: int | None = None
) -> tuple[list[str], int]:
    """Return the lines of a file without line endings, and its size in bytes; an empty file is an error.

    Only line feeds and carriage returns end a line; the other line separators of Unicode occur within text.
    """
    text, n_bytes = read_contents(path, encoding, max_unpacked)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise error_empty(path, "pass one with documents")
    return lines, n_bytes


def read_vocabulary(
    path: FilePath, encoding: str = "utf-8", max_unpacked: int | None = None
) -> tuple[str, ...]:
    """Return the words of a vocabulary file, which has one per line, without duplicates."""
    seen: dict[str, int] = {}
    for n, line in enumerate(read_lines(path, encoding, max_unpacked)[0], 1):
        word = line.strip()
        if not word:
            raise error_at(path, n, "the line is blank: a vocabulary has one word per line")
        if seen.setdefault(word, n) != n:
            raise error_at(
                path, n, f"the word {short_repr(word)} is already on line {seen[word]}: remove one"
            )
    return tuple(seen)


def check_encoding(encoding: object) -> None:
    """Raise an error unless files of text can have this encoding."""
    try:
        if isinstance(encoding, str) and codecs.lookup(encoding).name not in _NOT_OF_FILES:
            b"text".decode(encoding, "replace")  # refuses what is no encoding of text, such as hex
            return
    except (LookupError, ValueError):  # the latter for names with NUL or lone surrogates
        pass
    raise PlaitError(
        Argument("encoding"),
        f" must be an encoding of text that Python knows, such as 'utf-8', got {short_repr(encoding)}",
    )


def _open(path: FilePath) -> BinaryIO:
    """Open a file or pipe; an error if it is anything else, or if nobody writes to the pipe."""
    _refuse_other(path, os.stat(path).st_mode)  # before opening: that alone can change a device
    # Without O_NONBLOCK, opening a pipe would wait for ever for a writer.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        mode = os.fstat(descriptor).st_mode
        _refuse_other(path, mode)
        file = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    if stat.S_ISFIFO(mode):
        try:
            os.set_blocking(descriptor, True)
            _await_writer(path, file)
        except BaseException:
            file.close()
            raise
    return file


def _refuse_other(path: FilePath, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        what = "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise error_at(path, None, f"this is {what}, not a file: pass a file")


def _await_writer(path: FilePath, file: BinaryIO) -> None:
    """Wait until the pipe has data, or had a writer that left."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    end = time.monotonic() + PIPE_PATIENCE
    # Without a writer, peeking returns at once; with one, it waits for data.
    while not file.peek(1):  # type: ignore[attr-defined]
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            return
        if time.monotonic() > end:
            raise error_at(
                path,
                None,
                f"this is a pipe to which no program wrote within {PIPE_PATIENCE:g} seconds: start the"
                " program, or pass a file",
            )
        time.sleep(0.02)


def _default_limit(file: BinaryIO) -> int:
    status = os.fstat(file.fileno())
    return PIPE_LIMIT if stat.S_ISFIFO(status.st_mode) else unpacked_limit(status.st_size)


def unpacked_limit(n_bytes: int) -> int:
    """Return how many bytes may come from files that take this many on disk."""
    return max(UNPACKED_FLOOR, UNPACKED_RATIO * n_bytes)


def _decode(path: FilePath, data: bytearray, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        raise error_at(
            path,
            _line_at(before, len(before)),
            f"byte {data[error.start]:#04x} at position {error.start} is not {encoding}: "
            "convert the file, or pass its encoding, such as ",
            Argument("encoding", _likely_encoding(data, encoding)),
        ) from None


def _likely_encoding(data: bytearray, encoding: str) -> str:
    """Return the encoding that a file has whose text is not in the given one: that of Excel on Windows."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "latin-1" if codecs.lookup(encoding).name == "cp1252" else "cp1252"


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
