"""Start-up and latency: how long an import, first fits, and the topics of one document take.

    python benchmarks/startup.py [--repeats 3]

First fits are measured with an empty cache of kernels and with a filled one. Every such measurement is a
process of its own. All kinds take turns, and medians are printed. The cache of kernels and the byte code of
all packages are in a temporary folder; the byte code is written before the first measurement, as an installer
or the first import would do.

Then, in one process, `transform` is measured for one document at a time, after a first call: the latency of a
service.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

DATA = """
import numpy as np, plait
rng = np.random.default_rng(0)
numbers = rng.normal(np.repeat([0.0, 2.0, 5.0], 300))[:, None]
symbols = rng.integers(0, 5, 900)[:, None]
corpus = plait.Corpus.from_tokens(rng.choice(list("abcdefghijklmnopqrst"), (50, 30)).tolist())
"""

FITS = {
    "LDA, default": "plait.LatentDirichletAllocation(10, max_iter={n}).fit(corpus)",
    "LDA, n_paths=5, fixed priors": (
        "plait.LatentDirichletAllocation(10, n_paths=5, doc_topic_prior=0.1, topic_word_prior=0.01,"
        " max_iter={n}).fit(corpus)"
    ),
    "CategoricalHMM, default": "plait.CategoricalHMM(3).fit(symbols)",
    "GaussianHMM, default": "plait.GaussianHMM(3).fit(numbers)",
    "GaussianMixture, default": "plait.GaussianMixture(3).fit(numbers)",
}

N_TOPICS, N_WORDS = 200, 100_000

DOCUMENTS = {12: 200, 200: 100, 10_000: 3, 1_000_000: 1}
"""Lengths of the documents that are measured, and how often."""

IMPORTS = {
    "python": "pass",
    "import plait": "import plait",
    "plait --help": "import sys; sys.argv = ['plait', '--help']; from plait.cli import main; main()",
    "import numba, sklearn.base": "import numba, sklearn.base",
}


def seconds(code: str, folder: Path, kernels: Path) -> float:
    """Return how long a process takes that runs this code, with a cache of kernels."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(kernels), "PYTHONPYCACHEPREFIX": str(folder / "code")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(folder: Path, repeats: int) -> dict[str, list[float]]:
    """Return the times of all measurements by name."""
    times = defaultdict(list)
    filled = folder / "filled"
    codes = {name: DATA + fit.format(n=1000) for name, fit in FITS.items()}
    for code in (*IMPORTS.values(), *codes.values()):
        seconds(code, folder, filled)
    for _ in range(repeats):
        for name, code in IMPORTS.items():
            times[name].append(seconds(code, folder, filled))
        for name, code in codes.items():
            with tempfile.TemporaryDirectory(dir=folder) as empty:
                times[f"{name}: empty cache"].append(seconds(code, folder, Path(empty)))
            times[f"{name}: filled cache"].append(seconds(code, folder, filled))
    return times


def latencies() -> dict[str, list[float]]:
    """Return how long `transform` takes for one document, by the length of the document."""
    import numpy as np

    import plait

    rng = np.random.default_rng(0)
    vocabulary = [f"w{w}" for w in range(N_WORDS)]
    corpus = plait.Corpus(np.arange(N_WORDS), np.arange(0, N_WORDS + 1, 100), vocabulary)
    lda = plait.LatentDirichletAllocation(N_TOPICS, n_paths=1, max_iter=5, random_state=0).fit(corpus)
    times = {}
    for n_tokens, repeats in DOCUMENTS.items():
        ranks = np.minimum(rng.zipf(1.25, (repeats + 1, n_tokens)), N_WORDS) - 1  # like words of a language
        documents = [[[vocabulary[w] for w in own]] for own in ranks]
        lda.transform(documents[0])
        times[n_tokens] = [_seconds_of(lambda own=own: lda.transform(own)) for own in documents[1:]]
    return {f"transform, a document of {n} words": values for n, values in times.items()}


def _seconds_of(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="how often everything is measured")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        for name, values in measure(Path(folder), repeats).items():
            print(f"{name:50} {statistics.median(values):6.2f} s  ({min(values):.2f} to {max(values):.2f})")
    print(f"\n{N_TOPICS} topics, {N_WORDS} words, after the first call:")
    for name, values in latencies().items():
        least, median, most = (1000 * f(values) for f in (min, statistics.median, max))
        print(f"{name:50} {median:9.2f} ms  ({least:.2f} to {most:.2f})")


if __name__ == "__main__":
    main()
