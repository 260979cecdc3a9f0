"""Start-up: how long an import, a first fit with an empty cache of kernels, and a later first fit take.

    python benchmarks/startup.py [--repeats 3]

Every measurement is a process of its own. All kinds take turns, and medians are printed. The cache of kernels
and the byte code of all packages are in a temporary folder; the byte code is written before the first
measurement, as an installer or the first import would do.
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="how often everything is measured")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        for name, values in measure(Path(folder), repeats).items():
            print(f"{name:50} {statistics.median(values):6.2f} s  ({min(values):.2f} to {max(values):.2f})")


if __name__ == "__main__":
    main()
