"""A target of the fuzzer: it makes random inputs, and reads an input as plait's users would.

Whatever plait does with the input is judged by `judging`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from inputs import Input

Then = Callable[[], object]
"""What can be done with an accepted input; errors of it need not name the file."""

Read = Callable[[Path, str], Iterator[Then] | None]


@dataclass(frozen=True)
class Target:
    """Something that reads input from outside.

    Attributes
    ----------
    name : str
        Name of the target.
    weight : int
        Share of the inputs that it gets.
    seeds : tuple of Input
        Valid inputs.
    generate : callable
        Returns a random input.
    contents : callable
        Returns the bytes of the file that an input describes.
    read : callable
        Reads the file, given its path and the name of the input's seed; returns what else to try.
    file_name : callable
        Name of the file, given the name of the seed.
    named : bool
        Whether errors must name the file.
    companion : str
        Name of a valid file that is read along; errors may name it instead.
    """

    name: str
    weight: int
    seeds: tuple[Input, ...]
    generate: Callable[[Random], Input]
    contents: Callable[[Input], bytes]
    read: Read
    file_name: Callable[[str], str] = str
    named: bool = True
    companion: str = ""
