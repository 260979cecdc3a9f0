"""Objects with large arrays, passed between processes of one machine through memory that both map.

The bytes of the arrays are written once, to a file in memory without a name, and read where they are: sending
phi and the counts through a socket would take a good part of a sweep. The file is gone when its process lets
go of it or dies. Only Linux has such files.
"""

from __future__ import annotations

import mmap
import os
import pickle
from typing import Any

_LEAST_BYTES = 2**20  # arrays with fewer in all are sent like everything else
_ALIGNMENT = 64


class Passed:
    """An object in memory of the process that made it, for others on the same machine to receive.

    Parameters
    ----------
    head : bytes
        The object without its arrays, as pickle writes it. It can be received as long as this one exists.
    views : list of memoryview
        The bytes of its arrays.
    """

    def __init__(self, head: bytes, views: list[memoryview]) -> None:
        self._head = head
        self._sizes = [view.nbytes for view in views]
        self._process, self._descriptor = os.getpid(), os.memfd_create("plait", os.MFD_CLOEXEC)
        for view, start in zip(views, self._starts(), strict=True):
            os.lseek(self._descriptor, start, os.SEEK_SET)
            while view:
                view = view[os.write(self._descriptor, view) :]
        end = self._starts()[-1] + self._sizes[-1] if self._sizes else 0
        os.ftruncate(self._descriptor, max(1, end))  # a map must not be empty

    def _starts(self) -> list[int]:
        starts, end = [], 0
        for size in self._sizes:
            starts.append(end)
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        return starts

    def __del__(self) -> None:
        if vars(self).get("_process") == os.getpid():
            os.close(self._descriptor)

    def received(self) -> Any:
        """Return the object. Its arrays can be changed, which others do not see."""
        with open(f"/proc/{self._process}/fd/{self._descriptor}", "rb") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        parts = (
            memory[start : start + size] for start, size in zip(self._starts(), self._sizes, strict=True)
        )
        return pickle.loads(self._head, buffers=parts)


def passed(value: Any, least_bytes: int = _LEAST_BYTES) -> Any:
    """Return an object in a form to be passed to other processes of this machine, if it is large."""
    if not hasattr(os, "memfd_create"):
        return value
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, 5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    return Passed(head, views) if sum(view.nbytes for view in views) >= least_bytes else value


def received(value: Any) -> Any:
    """Return an object that `passed` returned, perhaps in another process."""
    return value.received() if isinstance(value, Passed) else value


def can_receive(token: Any, secret: str) -> bool:
    """Return whether this process is on the machine of the one that passed a secret string."""
    try:
        return isinstance(token, Passed) and bool(token.received() == secret)
    except (OSError, ValueError, EOFError, pickle.UnpicklingError):
        return False
