"""Read the seed words of topics from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plait.checks import short_repr
from plait.data.files import FilePath, check_path, error_at, read_contents, read_lines


def read_seeds(
    path: FilePath, encoding: str = "utf-8", max_unpacked: int | None = None
) -> dict[str, tuple[str, ...]]:
    """Return seed words by the names of their topics, in the order of the file.

    Parameters
    ----------
    path : path
        A text file with one topic per line, its name, a colon and its words, such as `tax: taxes revenue`.
        Commas between words and blank lines are skipped. Or a file whose name ends in .json, with one object:
        `{"tax": ["taxes", "revenue"]}`.
    encoding : str
        Encoding of the text.
    max_unpacked : int or None
        As for `plait.data.files.read_bytes`.
    """
    check_path(path)
    if Path(path).suffix.lower() == ".json":
        return _from_json(path, encoding, max_unpacked)
    seeds: dict[str, tuple[str, ...]] = {}
    for n, line in enumerate(read_lines(path, encoding, max_unpacked)[0], 1):
        if not line.strip():
            continue
        name, colon, text = line.partition(":")
        name, words = name.strip(), tuple(text.replace(",", " ").split())
        if not colon or not name or not words:
            raise error_at(
                path,
                n,
                "the line must be a name, a colon and words, as in `tax: taxes revenue`, got"
                f" {short_repr(line)}",
            )
        if name in seeds:
            raise error_at(
                path, n, f"there is another topic {short_repr(name)}: put all its words on one line"
            )
        seeds[name] = words
    if not seeds:
        raise error_at(
            path, None, "there are no seed words: write one topic per line, as in `tax: taxes revenue`"
        )
    return seeds


def _from_json(path: FilePath, encoding: str, max_unpacked: int | None) -> dict[str, tuple[str, ...]]:
    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, words in pairs:
            if name in found:
                raise error_at(path, None, f"there are two topics {short_repr(name)}: join their words")
            found[name] = words
        return found

    text = read_contents(path, encoding, max_unpacked).text
    try:
        # Numbers are refused below; as floats, none is too long to read.
        seeds = json.loads(text, object_pairs_hook=distinct, parse_int=float)
    except json.JSONDecodeError as error:
        raise error_at(path, error.lineno, f"this is not JSON ({error.msg}): correct it") from None
    except RecursionError:
        raise error_at(
            path, None, "the JSON is nested too deeply: write one object of lists of words"
        ) from None
    if not isinstance(seeds, dict) or not all(
        isinstance(words, list) and all(isinstance(word, str) for word in words) for words in seeds.values()
    ):
        raise error_at(
            path,
            None,
            'the JSON must be an object of lists of words, as in {"tax": ["taxes", "revenue"]}, got'
            f" {short_repr(seeds)}",
        )
    return {name: tuple(words) for name, words in seeds.items()}
