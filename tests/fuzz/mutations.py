"""Mutations of bytes: those of any file, and those of the header of a .npy file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

LONGEST = 2**16
"""Inputs are cut off here, so that trying them stays quick."""

NUMBERS = [
    b"0", b"1", b"-1", b"2", b"-0", b"127", b"255", b"65536", b"2147483647", b"2147483648", b"4294967296",
    b"999999999", b"33554432", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808",
    b"18446744073709551616", b"1e400", b"-1e400", b"1e-400", b"1e9", b"0.5", b"1.0", b"nan", b"inf", b"-inf",
    b"NaN", b"Infinity", b"0x10", b"1_000", b"+1", b"1.", b".5", b"00012", b"9" * 30, b"9" * 5000,
    "٣".encode(), "½".encode(),
]  # fmt: skip

TOKENS = [
    b"\0", b"\n", b"\r", b"\r\n", b"\n\n", b" ", b"\t", b",", b'"', b"'", b":", b"%", b"#", b"\\", b"{",
    b"}", b"[", b"]", b"[" * 1000, b"{" * 1000, b'{"a":' * 500, b"true", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\\ud800", b"\x1b[31m", b"\x1a", b"\x0c", b"\x1c", b"\x7f",
    "\u2028".encode(), "\u202e".encode(), "\x85".encode(), "\ufeff".encode(), "é".encode(), "İ".encode(),
    "e\u0301".encode(), "\u200d".encode(), "\U0001f600".encode(), b"a" * 3000, b"'s", b"text", b"id",
    b"NA", b"<U", b"O", b"%%MatrixMarket",
]  # fmt: skip

_NUMBER = re.compile(rb"[0-9]+")

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutate(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return the data after one to four random mutations; `others` are files to take pieces from."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        data = rng.choice(MUTATIONS)(rng, data, others)
    return data[:LONGEST]


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    """Return the ends of a random piece, which is often short."""
    first = rng.randrange(len(data) + 1)
    longest = len(data) - first
    return first, first + rng.randint(0, min(longest, 8) if rng.random() < 0.7 else longest)


def _flip(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _set(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    first, last = _span(rng, data)
    return data[:first] + rng.randbytes(last - first) + data[last:]


def _cut(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    first, last = _span(rng, data)
    return data[:first] + data[last:]


def _end(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(NUMBERS if rng.random() < 0.4 else TOKENS) + data[at:]


def _replace_number(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(rng, data, others)
    first, last = rng.choice(found).span()
    return data[:first] + rng.choice(NUMBERS) + data[last:]


def _splice(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others)
    first, last = _span(rng, other)
    at = rng.randrange(len(data) + 1)
    return data[:at] + other[first:last] + data[at:]


def _repeat(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    first, last = _span(rng, data)
    times = rng.choice((2, 2, 3, 10, 300))
    return data[:first] + data[first:last] * times + data[last:]


def _move_line(rng: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


MUTATIONS: tuple[Mutation, ...] = (
    _flip, _set, _cut, _end, _insert, _insert, _replace_number, _replace_number, _splice, _repeat, _move_line,
)  # fmt: skip

# -----------------------------------------------------------------------------------------------------
# .npy files
# -----------------------------------------------------------------------------------------------------

_TYPES = [
    "'<f8'", "'<f4'", "'<f2'", "'>f8'", "'<i8'", "'<i4'", "'>i2'", "'|i1'", "'<u8'", "'|b1'", "'<c16'",
    "'<f16'", "'|O'", "'<U4'", "'|S3'", "'|V0'", "'<U0'", "'|V8'", "'<M8[s]'", "[('a', '<f4')]", "''",
    "None", "8", "[]", "[('a', '<f8', (1000000000,))]", "'<f8" + "x" * 100 + "'",
]  # fmt: skip
_LENGTHS = [0, 1, 2, 3, 4, 6, -1, 2**31, 2**32, 2**61, 2**62, 2**63, 10**30, 10**9]
_VERSIONS = [b"\1\0", b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\0\0", b"\xff\xff"]


def random_npy(rng: Random) -> bytes:
    """Return a .npy file whose header is well formed but may claim anything."""
    shape = ", ".join(str(rng.choice(_LENGTHS)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 33))))
    order = rng.choice(("False", "False", "True", "None", "2"))
    header = f"{{'descr': {rng.choice(_TYPES)}, 'fortran_order': {order}, 'shape': ({shape},), }}"
    if rng.random() < 0.1:
        header = rng.choice(("", "{}", "[" * 5000, "1" * 5000, "{'shape': 1}", header + "x", header * 300))
    version = rng.choice(_VERSIONS)
    size = min(len(header) + 1, 2**16 - 1).to_bytes(2 if version[0] < 2 else 4, "little")
    if rng.random() < 0.1:
        size = rng.randbytes(len(size))
    contents = rng.choice((bytes, rng.randbytes))(rng.choice((0, 1, 8, 16, 32, 48, 64)))
    return b"\x93NUMPY" + version + size + header.encode() + b"\n" + contents
