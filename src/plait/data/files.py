"""Files as text, with messages that name the file and the line."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from plait.checks import short_repr
from plait.errors import PlaitError

FilePath = str | os.PathLike[str]


def error_at(path: FilePath, line: int, message: str) -> PlaitError:
    """Return the error that something is wrong at a line of a file."""
    return PlaitError(f"{os.fspath(path)}:{line}: {message}")


def read_text(path: FilePath, encoding: str = "utf-8") -> str:
    """Return the contents of a file, unpacked if its name ends in .gz, without a byte order mark.

    Line ends are as in the file.
    """
    data = _read_bytes(path)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise error_at(
            path,
            line,
            f"byte {data[error.start]:#04x} at position {error.start} is not {encoding}: "
            "convert the file or pass its encoding, such as encoding='latin-1'",
        ) from None
    except LookupError:
        raise PlaitError(
            f"encoding is {short_repr(encoding)}: pass one that Python knows, such as 'utf-8'"
        ) from None


def read_lines(path: FilePath, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a file without their ends; an empty file is an error.

    Only the usual line ends separate lines, not the rarer ones of Unicode, which occur within text.
    """
    lines = read_text(path, encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise PlaitError(f"{os.fspath(path)}: the file is empty: pass one with documents")
    return lines


def read_vocabulary(path: FilePath, encoding: str = "utf-8") -> tuple[str, ...]:
    """Return the words of a vocabulary file, one a line, all different."""
    seen: dict[str, int] = {}
    for n, line in enumerate(read_lines(path, encoding), 1):
        word = line.strip()
        if not word:
            raise error_at(path, n, "the line is blank: a vocabulary has one word a line")
        if seen.setdefault(word, n) != n:
            raise error_at(
                path, n, f"the word {short_repr(word)} is on line {seen[word]} already: remove one"
            )
    return tuple(seen)


def _read_bytes(path: FilePath) -> bytes:
    name = os.fspath(path)
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if name.lower().endswith(".gz") else data
    except FileNotFoundError:
        raise PlaitError(f"{name}: there is no such file: check the path") from None
    except IsADirectoryError:
        raise PlaitError(f"{name}: this is a folder, not a file: pass a file, or format='folder'") from None
    except PermissionError:
        raise PlaitError(f"{name}: permission to read it is denied: change its mode or owner") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise PlaitError(f"{name}: the gzip file is broken ({error}): copy or download it again") from None
    except OSError as error:
        raise PlaitError(
            f"{name}: it cannot be read ({error.strerror}): check the disk and the path"
        ) from None
