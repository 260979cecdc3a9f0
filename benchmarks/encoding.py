"""Memory and time of a corpus larger than memory: `plait encode`, and a fit to what it wrote.

    python benchmarks/encoding.py --tokens 1e8

Documents come from `benchmarks/zipf.py`, as JSON lines. Peaks are those of whole processes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from zipf import Zipf, count


def write_documents(corpus: Zipf, path: Path) -> None:
    """Write documents as JSON lines, a block at a time."""
    words = np.array([f"w{w}x" for w in range(corpus.n_words)], object)
    with open(path, "w") as file:
        for block in corpus.blocks():
            ends = np.cumsum(block.lengths)
            for start, end in zip(ends - block.lengths, ends, strict=True):
                file.write(f'{{"text": "{" ".join(words[block.words[start:end]])}"}}\n')


def measured(*command: str) -> tuple[float, float]:
    """Run plait; return its seconds and its peak memory in MB."""
    began = time.perf_counter()
    words = [str(Path(sys.executable).with_name("plait")), *command]
    process = os.posix_spawn(words[0], words, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"{' '.join(words)} failed")
    return time.perf_counter() - began, usage.ru_maxrss * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=count, default=10**8)
    parser.add_argument("--words", type=count, default=100_000)
    parser.add_argument("--topics", type=count, default=100)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    own = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=own.folder) as folder:
        texts, encoded, run = (os.path.join(folder, name) for name in ("texts.jsonl", "encoded", "run.plait"))
        write_documents(Zipf(own.tokens, max(1, own.tokens // 200), own.words), Path(texts))
        print(f"{own.tokens} tokens, {os.path.getsize(texts) / 1e6:.0f} MB of JSON lines")
        seconds, peak = measured("encode", texts, "-o", encoded, "--language", "none")
        print(f"plait encode: {seconds:.0f} s, peak {peak:.0f} MB")
        options = [
            "--topics",
            str(own.topics),
            "--paths",
            "5",
            "--sweeps",
            "3",
            "--alpha",
            "0.1",
            "--eta",
            "0.01",
        ]
        options += ["--paths-in", folder, "-q"]
        seconds, peak = measured("fit", "lda", encoded, "-o", run, *options)
        print(f"fit, 3 sweeps with 5 paths: {seconds:.0f} s, peak {peak:.0f} MB")


if __name__ == "__main__":
    main()
