"""Let atheris make the inputs, guided by the lines of plait that they reach; needs the package atheris.

Atheris mutates bytes, and keeps those that reach new branches. It ends with the first finding, as a crash of
this process. It fuzzes one target, whose inputs are bytes; model files with fitting checksums are not.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from target import Target


def instrument() -> None:
    """Import the modules that read files, so that atheris sees which branches an input takes."""
    with atheris.instrument_imports(include=["plait.data", "plait.storage", "plait.run"]):
        import plait.data.matching
        import plait.data.readers
        import plait.run  # noqa: F401


def fuzz(targets: Mapping[str, Target], folder: Path, chosen: argparse.Namespace) -> int:
    """Fuzz the only target until a finding, the number of inputs or the time ends it; does not return."""
    from inputs import Input
    from judging import judge

    (target, *others) = targets.values()
    if others or target.seeds[0].data is None:
        print("choose one --target whose inputs are bytes", file=sys.stderr)
        return 2
    corpus = folder / "corpus"
    corpus.mkdir()
    for i, seed in enumerate(target.seeds):
        (corpus / str(i)).write_bytes(bytes([i]) + (seed.data or b""))

    def try_bytes(data: bytes) -> None:
        seed = target.seeds[data[0] % len(target.seeds)].seed if data else target.seeds[0].seed
        outcome = judge(target, Input(target.name, seed, data[1:]), folder, thorough=True)
        if outcome.is_finding:
            raise AssertionError(f"{outcome.cause}: {outcome.detail}")

    limits = [f"-max_total_time={chosen.seconds:.0f}"] if chosen.seconds else []
    limits += [f"-runs={chosen.inputs}"] if chosen.inputs else []
    findings = chosen.findings or Path.cwd()
    files = [f"-artifact_prefix={findings}{os.sep}", f"-seed={chosen.seed}", f"-timeout={chosen.limit:.0f}"]
    atheris.Setup([sys.argv[0], *limits, *files, str(corpus)], try_bytes)
    atheris.Fuzz()
    return 0
