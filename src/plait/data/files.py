"""Read files as text; errors name the file and the line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plait.checks import short_repr
from plait.errors import Argument, Part, PlaitError

FilePath = str | os.PathLike[str]


def error_at(path: FilePath, line: int, *parts: Part) -> PlaitError:
    """Return an error about a line of a file; `parts` are those of the message."""
    return PlaitError(f"{os.fspath(path)}:{line}: ", *parts)


@contextmanager
def prefix_errors(path: FilePath) -> Iterator[None]:
    """Put the path of a file in front of errors about its contents."""
    try:
        yield
    except PlaitError as error:
        raise PlaitError(f"{os.fspath(path)}: ", error) from None


@contextmanager
def translate_os_errors(path: FilePath) -> Iterator[None]:
    """Turn errors from reading a file into a `PlaitError` that names it."""
    name = os.fspath(path)
    try:
        yield
    except FileNotFoundError:
        raise PlaitError(f"{name}: there is no such file: check the path") from None
    except IsADirectoryError:
        raise PlaitError(f"{name}: this is a folder, not a file: pass a file") from None
    except PermissionError:
        raise PlaitError(f"{name}: permission to read it is denied: change its mode or owner") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise PlaitError(f"{name}: the gzip file is broken ({error}): copy or download it again") from None
    except OSError as error:
        raise PlaitError(
            f"{name}: it cannot be read ({error.strerror}): check the disk and the path"
        ) from None


def read_text(path: FilePath, encoding: str = "utf-8") -> str:
    """Return the contents of a file, without a byte order mark and with line endings unchanged.

    A file whose name ends in .gz is decompressed.
    """
    with translate_os_errors(path):
        data = Path(path).read_bytes()
        if os.fspath(path).lower().endswith(".gz"):
            data = gzip.decompress(data)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise error_at(
            path,
            line,
            f"byte {data[error.start]:#04x} at position {error.start} is not {encoding}: "
            "convert the file, or pass its encoding, such as ",
            Argument("encoding", "latin-1"),
        ) from None
    except LookupError:
        raise PlaitError(
            Argument("encoding"),
            f" must be an encoding that Python knows, such as 'utf-8', got {short_repr(encoding)}",
        ) from None


def read_lines(path: FilePath, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a file without line endings; an empty file is an error.

    Only line feeds and carriage returns end a line; the other line separators of Unicode occur within text.
    """
    lines = read_text(path, encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise PlaitError(f"{os.fspath(path)}: the file is empty: pass one with documents")
    return lines


def read_vocabulary(path: FilePath, encoding: str = "utf-8") -> tuple[str, ...]:
    """Return the words of a vocabulary file, which has one per line, without duplicates."""
    seen: dict[str, int] = {}
    for n, line in enumerate(read_lines(path, encoding), 1):
        word = line.strip()
        if not word:
            raise error_at(path, n, "the line is blank: a vocabulary has one word per line")
        if seen.setdefault(word, n) != n:
            raise error_at(
                path, n, f"the word {short_repr(word)} is already on line {seen[word]}: remove one"
            )
    return tuple(seen)
