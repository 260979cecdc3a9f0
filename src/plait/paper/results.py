"""The results of jobs: one JSON Lines file per experiment, which survives a kill or a full disk.

A line holds the result of one job, its settings and plait's version. The last two make up the job's key.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from plait.errors import PlaitError
from plait.outputs import cannot_write, replacing
from plait.version import __version__

Row = dict[str, Any]
"""The settings and the result of a job, by name: numbers, strings, and lists of these."""

_WRITING = threading.Lock()


def key_of(settings: Mapping[str, Any], version: str = __version__) -> str:
    """Return the settings and plait's version as a string: results may differ between versions."""
    return json.dumps({"plait": version, **settings}, sort_keys=True)


def add_result(path: Path, settings: Mapping[str, Any], result: Mapping[str, Any], seconds: float) -> None:
    """Append a result to a file and fsync it; if that fails, leave the file unchanged."""
    entry = {"plait": __version__, "settings": dict(settings), "result": dict(result), "seconds": seconds}
    line = json.dumps(entry).encode() + b"\n"
    try:
        with _WRITING, path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
            except OSError:
                with suppress(OSError):
                    file.truncate(size)
                raise
    except OSError as error:
        raise cannot_write(path, error) from error


def read_results(path: Path) -> dict[str, Row]:
    """Return the rows of a file by key, without a last line that was truncated by a kill."""
    rows: dict[str, Row] = {}
    for number, line in enumerate(_whole_lines(path)[0].splitlines(), 1):
        try:
            entry = json.loads(line)
            key = key_of(entry["settings"], entry["plait"])
            rows[key] = {**entry["settings"], **entry["result"], "seconds": entry["seconds"]}
        except (ValueError, KeyError, TypeError):
            raise PlaitError(f"{path}:{number} is not a result: delete the line, or the file") from None
    return rows


def drop_truncated_line(path: Path) -> None:
    """Remove a last line that was truncated by a kill; no other process may be writing to the file."""
    whole, is_complete = _whole_lines(path)
    if not is_complete:
        with replacing(path) as temporary:
            temporary.write_text(whole, encoding="utf-8")


def _whole_lines(path: Path) -> tuple[str, bool]:
    """Return the complete lines of a file, and whether that is all of it."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    return whole, whole == text


def write_rows(rows: Sequence[Row], folder: Path, name: str) -> None:
    """Write rows as JSON, and as CSV without the columns that hold lists."""
    with replacing(folder / f"{name}.json") as temporary:
        lines = ",\n".join(json.dumps(row) for row in rows)
        temporary.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    columns = [
        column for column in columns if not any(isinstance(row.get(column), (list, dict)) for row in rows)
    ]
    with (
        replacing(folder / f"{name}.csv") as temporary,
        temporary.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
