"""Read tables of JSON objects, one per line."""

from __future__ import annotations

import json
import math
from typing import Never

from plait.checks import short_repr
from plait.data import limits
from plait.data.cells import cell_text
from plait.data.files import Source, error_at, read_lines
from plait.data.tables import ColumnTable, missing_column
from plait.errors import PlaitError


def read_json_lines(source: Source, text_key: str) -> ColumnTable:
    """Return a table with a row per object and a column per key; a key that an object lacks is empty there.

    Parameters
    ----------
    source : Source
        The file.
    text_key : str
        The key of the text, which every object must have.
    """
    path = source.path
    lines, n_bytes = read_lines(*source)
    most = limits.CELLS.most(n_bytes)
    columns: dict[str, list[str]] = {}
    starts: list[int] = []
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse_object(line, text_key)
        except RecursionError:
            raise error_at(path, n, "the JSON is nested too deeply: write one flat object per line") from None
        except PlaitError as error:
            raise error_at(path, n, error) from None
        if text_key not in record:
            raise missing_column(path, text_key, record, "text_column", line=n, what="key")
        n_keys = len(columns) + sum(key not in columns for key in record)
        n_cells = n_keys * (len(starts) + 1)
        if n_cells > most:  # before the cells take memory
            claim = f"{len(starts) + 1} rows with {n_keys} different keys make {n_cells} cells"
            remedy = "give all objects the same keys"
            raise limits.over_limit(path, n, claim, most, n_bytes, remedy)
        for key, value in record.items():
            column = columns.setdefault(key, [])
            column += [""] * (len(starts) - len(column))  # of the rows before, which lack the key
            column.append(value)
        starts.append(n)
    for column in columns.values():
        column += [""] * (len(starts) - len(column))
    return ColumnTable(path, list(columns), starts, n_bytes, columns)


def parse_object(line: str, text_key: str) -> dict[str, str]:
    """Return the object on a line of JSON, with its values as text."""
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise PlaitError(
            f"the line is not JSON ({error.msg} at column {error.colno}): write one object per line"
        ) from None
    if not isinstance(record, dict):
        raise PlaitError(f"the line is {short_repr(record)}, not an object: write one object per line")
    if not isinstance(record.get(text_key, ""), str):
        raise PlaitError(f"{text_key!r} is {short_repr(record[text_key])}, not a string: quote it")
    texts = {key: cell_text(value) for key, value in record.items()}
    # The line itself is valid Unicode: only escapes can make half a pair.
    if "\\u" in line:
        for text in (*texts, *texts.values()):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                half = ascii(text[error.start])[1:-1]
                raise PlaitError(
                    f"{half} is half of a surrogate pair, not a character: write both halves, or remove it"
                ) from None
    return texts


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python limits the number of digits, because conversion takes quadratic time
        raise PlaitError(f"a number has {len(text.lstrip('-'))} digits: quote it") from None


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise PlaitError(f"the number {short_repr(text)[1:-1]} is too large: quote it")
    return number


def _constant(text: str) -> Never:
    raise PlaitError(f"{text} is not in JSON: write null, or quote it")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_finite, parse_constant=_constant)
