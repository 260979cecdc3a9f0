"""Fuzz a target with planted faults, one for each kind of finding; see test_fuzz.py."""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from random import Random

import fuzz

FAULTS = (
    "none", "refused", "exception", "exit", "warning", "swallowed warning", "two lines", "long", "no name",
    "memory", "swallowed memory", "hang", "wait", "abort", "segfault",
)  # fmt: skip


def planted_targets(folder: Path) -> dict[str, object]:
    """Return a target that does what its input says."""
    from inputs import Input
    from target import Target

    from plait.errors import PlaitError, PlaitWarning

    class TwoLines(PlaitError):
        def __str__(self) -> str:  # a PlaitError escapes line breaks
            return f"{super().__str__()}\nvery"

    def generate(rng: Random) -> Input:
        return Input("planted", "fault", f"{rng.choice(FAULTS)} {rng.randrange(10)}".encode())

    def read(path: Path, seed: str) -> None:
        fault = path.read_text().rpartition(" ")[0]
        warnings.warn("plait's own warnings are no findings", PlaitWarning, stacklevel=2)
        if fault == "refused":
            raise PlaitError(f"{path}: wrong")
        if fault == "exception":
            raise KeyError("planted")
        if fault == "exit":
            os._exit(3)
        if fault == "warning":
            warnings.warn("planted", RuntimeWarning, stacklevel=2)
        if fault == "swallowed warning":
            warnings.warn("planted", DeprecationWarning, stacklevel=2)
            raise PlaitError(f"{path}: wrong")
        if fault == "two lines":
            raise TwoLines(f"{path}: wrong")
        if fault == "long":
            raise PlaitError(f"{path}: {'wrong' * 200}")
        if fault == "no name":
            raise PlaitError("wrong")
        if fault == "memory":
            bytes(2**28)
        if fault == "swallowed memory":
            try:
                bytes(2**28)
            except MemoryError:
                raise PlaitError(f"{path}: too large") from None
        if fault == "hang":
            # fmt: off
            while True: pass  # noqa: E701 - on one line, so that its number is the same in every finding
            # fmt: on
        if fault == "wait":
            time.sleep(1000)
        if fault == "abort":
            os.abort()
        if fault == "segfault":
            os.kill(os.getpid(), 11)

    def contents(input: Input) -> bytes:
        return input.data or b""

    valid = (Input("planted", "fault", b"none 0"),)
    return {"planted": Target("planted", 1, valid, generate, contents, read)}


if __name__ == "__main__":
    sys.exit(fuzz.main(make_targets=planted_targets))  # type: ignore[arg-type]
