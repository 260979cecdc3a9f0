"""Memory and speed of topic models on many tokens, many topics, and short and long documents.

    python benchmarks/scale.py memory --tokens 1e8            # corpus and paths in memory
    python benchmarks/scale.py memory --tokens 1e8 --mapped   # both in files
    python benchmarks/scale.py speed topics                   # T = 100 to 2000
    python benchmarks/scale.py speed lengths                  # documents of 20 to 2000 tokens
    python benchmarks/scale.py speed tokens                   # 10^6 to 10^8 tokens

The documents come from `zipf.py`, and every measurement has a process of its own. `memory` makes sweeps of
the partially collapsed sampler and writes a checkpoint, loads the checkpoint in another process, and resumes
it in a third. The peak is that of the whole process, interpreter and mapped files included, as the system
reports it; "anonymous" is the part that no file backs, sampled every 20 ms. 1 MB is 10^6 bytes.

`speed` shows nanoseconds per update, one token in one path, of the three parts of a sweep: counting, drawing
phi and drawing the tokens. The draw of phi is shared by all tokens: it costs about as much for few as for
many. The paths start at the topics that the words were drawn from, because documents of a settled run hold
few topics. The fourth sweep is measured: new tables are made while there are old ones, and memory that a
virtual machine has not used before can take longer to get than the whole sweep. Rounds alternate among the
sizes, and their median is shown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import plait
from plait.models.lda import LdaModel
from plait.models.model import Key, unchecked
from plait.speed import processor
from plait.threads import Threads
from turns import peak_megabytes
from zipf import Zipf, count

ETA = 0.01
WARM_UP = 3  # sweeps before the one that is measured
PARTS = ("count", "phi", "tokens")


def alpha_of(n_topics: int) -> float:
    """Return the prior of the topics in a document."""
    return min(1.0, 10.0 / n_topics)


def in_new_process(*arguments: object) -> dict[str, Any]:
    """Run this script with arguments and return the record that it prints."""
    done = subprocess.run(
        [sys.executable, __file__, *map(str, arguments)], stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(done.stdout)


# -------------------------------------------------------------------------------------------------
# Memory
# -------------------------------------------------------------------------------------------------


@contextmanager
def watched(record: dict[str, Any]) -> Iterator[None]:
    """Add the time of a block, and the peak memory of the process, to a record."""
    done, most = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.02):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            most[0] = max(most[0], int(line.split()[1]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    record |= {
        "seconds": round(time.perf_counter() - start, 1),
        "megabytes": round(peak_megabytes() * 2**20 / 1e6),
        "anonymous": round(most[0] * 1024 / 1e6),
    }


def make_corpus(own: argparse.Namespace, folder: Path) -> None:
    Zipf(own.tokens, own.documents, own.words, own.topics).corpus().save(folder / "zipf.corpus")


def fit(own: argparse.Namespace, folder: Path) -> None:
    corpus = plait.Corpus.load(folder / "zipf.corpus", mapped=own.mapped)
    plait.sample(
        LdaModel(corpus, own.topics, alpha_of(own.topics), ETA),
        n_paths=own.paths,
        n_sweeps=own.sweeps,
        n_jobs=2,
        checkpoint=folder / "run.plait",
        paths_in=folder if own.mapped else None,
    )


def load(own: argparse.Namespace, folder: Path) -> None:
    plait.load(folder / "run.plait")


def resume(own: argparse.Namespace, folder: Path) -> None:
    paths_in = folder if own.mapped else None
    plait.resume(folder / "run.plait", n_sweeps=own.sweeps + 1, n_jobs=2, paths_in=paths_in)


STEPS: dict[str, Callable[[argparse.Namespace, Path], None]] = {
    "make the corpus": make_corpus,
    "sample, checkpoint": fit,
    "load the checkpoint": load,
    "resume for one sweep": resume,
}


OPTIONS = ("tokens", "documents", "words", "topics", "paths", "sweeps")


def measure_memory(own: argparse.Namespace) -> None:
    """Print the memory of each step, and what the data and the tables take."""
    data, tables = own.tokens * (4 + 2 * own.paths), 12 * own.topics * own.words
    sizes = f"N = {own.tokens}, D = {own.documents}, W = {own.words}, T = {own.topics}, m = {own.paths}"
    where = "in files" if own.mapped else "in memory"
    print(f"{sizes}; {own.sweeps} sweeps; words and paths {where}")
    print(f"N (4 + 2m) = {data / 1e6:.0f} MB, 12 T W = {tables / 1e6:.0f} MB")
    print("\n| | peak MB | of it anonymous | seconds |\n|---|---:|---:|---:|", flush=True)
    options = [f"--{name}={getattr(own, name)}" for name in OPTIONS] + ["--mapped"] * own.mapped
    with tempfile.TemporaryDirectory(dir=own.folder) as folder:
        for step in STEPS:
            record = in_new_process("memory", *options, "--run", step, folder)
            cells = (record[name] for name in ("megabytes", "anonymous", "seconds"))
            print(f"| {step} | {' | '.join(map(str, cells))} |", flush=True)


# -------------------------------------------------------------------------------------------------
# Speed
# -------------------------------------------------------------------------------------------------

SIZES = {
    "topics": [(10**7, 200, 10**5, n_topics) for n_topics in (100, 500, 1000, 2000)],
    "lengths": [(10**7, length, 10**5, 500) for length in (20, 200, 2000)],
    "tokens": [(n, 200, 10**5, 500) for n in (10**6, 10**7, 10**8)],
}
"""Tokens, tokens per document, words and topics."""


def time_sweeps(n_tokens: int, length: int, n_words: int, n_topics: int, n_paths: int) -> dict[str, Any]:
    """Return the nanoseconds per update of the parts of a sweep."""
    source = Zipf(n_tokens, n_tokens // length, n_words, n_topics)
    paths = np.empty((n_paths, n_tokens), np.uint16)
    model = LdaModel(source.corpus(paths[0]), n_topics, alpha_of(n_topics), ETA)
    paths[1:] = paths[0]
    with Threads(2) as threads:
        for sweep in range(1, WARM_UP + 2):
            key, times = Key(0, sweep), [time.perf_counter()]
            counts = unchecked(model.count)(paths, threads)
            times.append(time.perf_counter())
            phi = model.draw_parameters(counts, key, threads)
            times.append(time.perf_counter())
            unchecked(model.resample)(paths, phi, key, threads)
            times.append(time.perf_counter())
    nanoseconds = np.diff(times) / (n_tokens * n_paths) * 1e9
    return dict(zip(PARTS, nanoseconds.tolist(), strict=True)) | {"all": float(nanoseconds.sum())}


def measure_speed(own: argparse.Namespace) -> None:
    """Print a table for each of the comparisons."""
    print(f"m = {own.paths}, two threads, {processor()}. Nanoseconds per update.")
    for name in own.what:
        sizes = SIZES[name]
        found: dict[tuple[int, ...], list[dict[str, Any]]] = {size: [] for size in sizes}
        for _ in range(own.rounds):
            for size in sizes:
                found[size].append(in_new_process("speed", "--paths", own.paths, "--time", *size))
        print(f"\n| {name} | count | phi | tokens | all | relative to the first | from, to |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        first = np.median([record["all"] for record in found[sizes[0]]])
        for size, records in found.items():
            n_tokens, length, n_words, n_topics = size
            parts = [np.median([record[part] for record in records]) for part in PARTS]
            whole = np.array([record["all"] for record in records])
            print(
                f"| N = {n_tokens:.0e}, documents of {length}, W = {n_words}, T = {n_topics} |"
                f" {' | '.join(f'{part:.1f}' for part in parts)} | {np.median(whole):.1f}"
                f" | {np.median(whole) / first:.2f} | {whole.min():.1f}, {whole.max():.1f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    memory = commands.add_parser("memory")
    memory.add_argument("--tokens", type=count, default=10**8)
    memory.add_argument("--documents", type=count, help="default: one per 200 tokens")
    memory.add_argument("--words", type=count, default=10**5)
    memory.add_argument("--topics", type=count, default=500)
    memory.add_argument("--sweeps", type=count, default=2)
    memory.add_argument("--mapped", action="store_true", help="keep corpus and paths in files")
    memory.add_argument("--folder", type=Path, help="where temporary files are written")
    memory.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    memory.set_defaults(measure=measure_memory)
    speed = commands.add_parser("speed")
    speed.add_argument("what", nargs="*", default=list(SIZES), help=", ".join(SIZES))
    speed.add_argument("--rounds", type=int, default=3)
    speed.add_argument("--time", nargs=4, type=int, help=argparse.SUPPRESS)
    speed.set_defaults(measure=measure_speed)
    for command in (memory, speed):
        command.add_argument("--paths", type=count, default=5)
    own = parser.parse_args()
    if own.measure is measure_memory and own.documents is None:
        own.documents = max(1, own.tokens // 200)
    if getattr(own, "run", None):
        record: dict[str, Any] = {}
        with watched(record):
            STEPS[own.run[0]](own, Path(own.run[1]))
        print(json.dumps(record))
    elif getattr(own, "time", None):
        print(json.dumps(time_sweeps(*own.time, own.paths)))
    else:
        own.measure(own)


if __name__ == "__main__":
    main()
