"""Start-up and latency: how long imports, first fits, and the topics of one document take.

    python benchmarks/startup.py [--repeats 3] [--only LDA]

First fits are measured with an empty cache of kernels and with a filled one. Every such measurement is a
process of its own, from its start until it has done what is measured: a fit of tiny data, with three sweeps
where that can be chosen. All kinds take turns. Printed are medians of the time, with their ranges, and of the
processor time, which depends less on what else the machine does. The cache of kernels and the byte code of
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
from typing import NamedTuple

DATA = """
import numpy as np, plait
rng = np.random.default_rng(0)
numbers = rng.normal(np.repeat([0.0, 2.0, 5.0], 300))[:, None]
symbols = rng.integers(0, 5, 900)[:, None]
corpus = plait.Corpus.from_tokens(rng.choice(list("abcdefghijklmnopqrst"), (50, 30)).tolist())
"""

COMMAND = """
import sys
sys.argv = ["plait", *{arguments!r}.split()]
from plait.cli import main
main(standalone_mode=False)
"""

FITS = {
    "plait.sample(LdaModel)": DATA
    + "plait.sample(plait.LdaModel(corpus, 10, alpha=0.1, eta=0.01), n_paths=5, n_sweeps=3, seed=0)",
    "plait fit lda": COMMAND.format(
        arguments="fit lda {folder}/texts.txt -o {folder}/a.plait --overwrite --topics 10 --sweeps 3 -q"
    ),
    "LDA, default": DATA + "plait.LatentDirichletAllocation(10, max_iter=3).fit(corpus)",
    "LDA, n_paths=5": DATA + "plait.LatentDirichletAllocation(10, n_paths=5, max_iter=3).fit(corpus)",
    "CategoricalHMM, default": DATA + "plait.CategoricalHMM(3).fit(symbols)",
    "GaussianHMM, default": DATA + "plait.GaussianHMM(3).fit(numbers)",
    "PoissonHMM, default": DATA + "plait.PoissonHMM(3).fit(symbols)",
    "GaussianMixture, default": DATA + "plait.GaussianMixture(3).fit(numbers)",
    "PoissonMixture, default": DATA + "plait.PoissonMixture(3).fit(symbols)",
    "BernoulliMixture, default": DATA + "plait.BernoulliMixture(3).fit(symbols > 2)",
    "MultinomialMixture, default": DATA + "plait.MultinomialMixture(3).fit(corpus.to_matrix())",
}

N_TOPICS, N_WORDS = 200, 100_000

DOCUMENTS = {12: 200, 200: 100, 10_000: 3, 1_000_000: 1}
"""Lengths of the documents that are measured, and how often."""

IMPORTS = {
    "python": "pass",
    "import plait": "import plait",
    "plait --help": COMMAND.format(arguments="--help"),
    "import numba": "import numba",
    "import numba, sklearn.base": "import numba, sklearn.base",
}

DONE = "\nimport sys, time; print('done', time.process_time(), file=sys.stderr)"


class Times(NamedTuple):
    """How long a process took, and how much of that a processor worked for it, in seconds."""

    elapsed: float
    processor: float


def measure(code: str, folder: Path, kernels: Path) -> Times:
    """Return the times of a process until it has run this code, with a cache of kernels."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(kernels), "PYTHONPYCACHEPREFIX": str(folder / "code")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", code.replace("{folder}", str(folder)) + DONE]
    begun = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        said = []
        for line in process.stderr or ():
            said.append(line)
            if line.startswith("done "):
                return Times(time.perf_counter() - begun, float(line.split()[1]))
    raise SystemExit("".join(said))


def measure_all(fits: dict[str, str], folder: Path, repeats: int) -> dict[str, list[Times]]:
    """Return the times of all measurements by name."""
    times = defaultdict(list)
    filled = folder / "filled"
    words = ("an apple a day keeps the doctor away", "the trains of the city are late", "a tree of plums")
    (folder / "texts.txt").write_text("\n".join(words * 20))
    for code in (*IMPORTS.values(), *fits.values()):
        measure(code, folder, filled)
    for _ in range(repeats):
        for name, code in IMPORTS.items():
            times[name].append(measure(code, folder, filled))
        for name, code in fits.items():
            with tempfile.TemporaryDirectory(dir=folder) as empty:
                times[f"{name}: empty cache"].append(measure(code, folder, Path(empty)))
            times[f"{name}: filled cache"].append(measure(code, folder, filled))
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
    parser.add_argument("--only", default="", help="measure the fits whose names contain this")
    options = parser.parse_args()
    fits = {name: code for name, code in FITS.items() if options.only in name}
    with tempfile.TemporaryDirectory() as folder:
        for name, times in measure_all(fits, Path(folder), options.repeats).items():
            elapsed, processor = zip(*times, strict=True)
            print(
                f"{name:42} {statistics.median(elapsed):6.2f} s ({min(elapsed):.2f} to {max(elapsed):.2f}),"
                f" processor {statistics.median(processor):6.2f} s"
            )
    print(f"\n{N_TOPICS} topics, {N_WORDS} words, after the first call:")
    for name, values in latencies().items():
        least, median, most = (1000 * f(values) for f in (min, statistics.median, max))
        print(f"{name:50} {median:9.2f} ms  ({least:.2f} to {most:.2f})")


if __name__ == "__main__":
    main()
