"""Raw texts in little memory: compressed in blocks, and checked where they come from a file."""

from __future__ import annotations

import operator
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_offsets, frozen, stored
from plait.checks import check_strings
from plait.data.encoding import offsets_of
from plait.errors import PlaitError

_BLOCK: Final = 2**16
"""A block ends with the document that brings it to this many bytes before compression."""

_MOST_RATIO: Final = 100
"""How many times its size in a file a block may have; beyond that it is stored without compression."""

_LEVEL: Final = 1  # of zlib: three times as fast as its default, and a fifth larger


class Texts(Sequence[str]):
    """The raw texts of documents: a sequence of strings, compressed in memory and in files.

    Texts are compressed once, when they are packed; saving them again, as every checkpoint does, writes the
    same bytes. To read one, a block of 64 kB, or a longer document, is unpacked.

    Parameters
    ----------
    data : array of uint8
        The blocks, each compressed by zlib, one after the other.
    blocks : array of int64, shape (2, B + 1)
        Where each block starts in `data`, and its first document; at the end their lengths.
    offsets : array of int64, shape (D + 1,)
        Where each document starts in the unpacked texts, in UTF-8; at the end their length.
    """

    def __init__(
        self, data: NDArray[np.uint8], blocks: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> None:
        self._arrays: dict[str, NDArray[Any]] = {"data": data, "blocks": blocks, "offsets": offsets}
        self._last: tuple[int, bytes] = (-1, b"")
        for name, dtype in (("data", np.uint8), ("blocks", np.int64), ("offsets", np.int64)):
            stored(self._arrays, name, dtype)
        if data.ndim != 1 or blocks.ndim != 2 or len(blocks) != 2 or offsets.ndim != 1 or not offsets.size:
            raise PlaitError("its arrays have other dimensions")
        check_offsets(offsets, int(offsets[-1]), "bytes")
        for row, n, of in ((0, data.size, "bytes"), (1, offsets.size - 1, "documents")):
            check_offsets(blocks[row], n, of)
        self._check_blocks()

    def _check_blocks(self) -> None:
        sizes = np.diff(self._arrays["offsets"][self._arrays["blocks"][1]])
        limits = _MOST_RATIO * np.diff(self._arrays["blocks"][0])
        if (sizes > np.maximum(limits, 2 * _BLOCK)).any():
            raise PlaitError("a block claims more bytes than it can hold")
        for b in range(len(sizes)):
            try:
                for _ in self._documents(b, self._unpacked(b)):
                    pass
            except (zlib.error, UnicodeDecodeError) as error:
                raise PlaitError(f"block {b} cannot be unpacked ({error})") from error

    @classmethod
    def pack(cls, texts: Iterable[str]) -> Texts:
        """Return the texts, checked to be strings."""
        encoded = [text.encode() for text in check_strings("texts", texts)]
        offsets = offsets_of([len(one) for one in encoded])
        firsts, packed, first = [0], [], 0
        for d in range(1, len(encoded) + 1):
            if d == len(encoded) or offsets[d] - offsets[first] >= _BLOCK:
                packed.append(_compressed(b"".join(encoded[first:d])))
                firsts.append(d)
                first = d
        data = np.frombuffer(b"".join(packed), np.uint8)
        blocks = np.array([offsets_of([len(block) for block in packed]), firsts], np.int64)
        return cls(data, frozen(blocks), frozen(offsets))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the texts as named arrays, which `from_arrays` reads."""
        return dict(self._arrays)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Texts:
        """Return the texts that `to_arrays` wrote; everything about them is checked."""
        try:
            own = (("data", np.uint8), ("blocks", np.int64), ("offsets", np.int64))
            return cls(*(stored(arrays, name, dtype) for name, dtype in own))
        except PlaitError as error:
            raise PlaitError(f"the stored texts are damaged: {error}") from error

    def select(self, documents: NDArray[np.int64]) -> Texts:
        """Return the texts of some documents, in this order."""
        chosen = [""] * len(documents)
        for k in np.argsort(documents, kind="stable").tolist():  # block by block
            chosen[k] = self[documents[k]]
        return Texts.pack(chosen)

    def __len__(self) -> int:
        return len(self._arrays["offsets"]) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[d] for d in range(*place.indices(len(self))))
        d = operator.index(place)
        if not -len(self) <= d < len(self):
            raise IndexError(f"there are {len(self)} texts, and none has the number {d}")
        d %= len(self)
        offsets, firsts = self._arrays["offsets"], self._arrays["blocks"][1]
        b = int(np.searchsorted(firsts, d, side="right")) - 1
        start = offsets[firsts[b]]
        return self._unpacked(b)[offsets[d] - start : offsets[d + 1] - start].decode()

    def __iter__(self) -> Iterator[str]:
        for b in range(self._arrays["blocks"].shape[1] - 1):
            yield from self._documents(b, self._unpacked(b))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Texts({len(self)} documents, {self._arrays['offsets'][-1]} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Texts, tuple(self._arrays.values())

    def _documents(self, b: int, block: bytes) -> Iterator[str]:
        first, last = self._arrays["blocks"][1, b : b + 2]
        ends = (self._arrays["offsets"][first : last + 1] - self._arrays["offsets"][first]).tolist()
        for start, end in pairwise(ends):
            yield block[start:end].decode()

    def _unpacked(self, b: int) -> bytes:
        """Return the bytes of a block; the last one is kept, since neighbours are often read in a row."""
        last, block = self._last  # one read, so that threads never see the bytes of another block
        if last == b:
            return block
        (start, end), (first, following) = self._arrays["blocks"][:, b : b + 2].tolist()
        size = int(self._arrays["offsets"][following] - self._arrays["offsets"][first])
        unpacker = zlib.decompressobj()
        # One byte more than there should be, since 0 would be no limit
        block = unpacker.decompress(self._arrays["data"][start:end].tobytes(), size + 1)
        if len(block) != size or not unpacker.eof or unpacker.unused_data:
            raise zlib.error("it has another length than it claims")
        self._last = b, block
        return block


def _compressed(block: bytes) -> bytes:
    packed = zlib.compress(block, _LEVEL)
    return packed if len(block) <= _MOST_RATIO * len(packed) else zlib.compress(block, 0)
