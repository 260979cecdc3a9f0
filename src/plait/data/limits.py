"""How much a file may claim to hold.

Some formats state sizes instead of showing them: a header, a large count or a large symbol can ask for any
amount of memory in a few bytes. So what a file claims may be at most a floor, which leaves small files alone,
plus a multiple of its size after decompression. With these limits, reading a file takes at most 300 MB of
memory plus 100 times that size; ordinary text takes less than 10 times.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from plait.data.files import FilePath, error_at
from plait.errors import Part, PlaitError


class Limit(NamedTuple):
    """The maximum that a file may claim: `floor`, and `per_byte` for each byte of it."""

    floor: int
    per_byte: float

    def most(self, n_bytes: int) -> int:
        """Return the limit for a file of this size."""
        return self.floor + int(self.per_byte * n_bytes)


DOCUMENTS: Final = Limit(2**16, 0.25)
"""Documents in the header of a file of counts, in which an entry has at least 6 bytes."""

WORDS: Final = Limit(2**18, 0.25)
"""Size of the vocabulary of a file of counts, unless its words are given."""

TOKENS: Final = Limit(2**25, 8)
"""Sum of the counts in a file, unless `max_unpacked` allows more."""

BYTES_PER_TOKEN: Final = 4
"""A token takes this many bytes of `max_unpacked`, if that is given: the size of its word id in memory."""

SYMBOLS: Final = Limit(2**16, 1)
"""Number of symbols, which is the largest one plus 1, unless labels or the number are given."""

CELLS: Final = Limit(2**20, 4)
"""Cells of a table of JSON objects, which are as many as its rows times all their keys."""

NAMES: Final = Limit(2**24, 8)
"""Characters in the names of paragraphs, which repeat the name of their text; per character of text."""


def over_limit(
    path: FilePath, line: int | None, claim: str, most: int, n_bytes: int, *remedy: Part
) -> PlaitError:
    """Return the error for a claim, such as "the header claims 9 words", above the limit for the file."""
    return error_at(
        path, line, f"{claim} in a file of {n_bytes} bytes: at most {most} are allowed; ", *remedy
    )
