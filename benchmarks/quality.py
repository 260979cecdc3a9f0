r"""Quality of topics at equal wall-clock time: plait compared with tomotopy, topica and pyrmallet.

    make quality
    python benchmarks/quality.py --corpora news,tweets,sotu,reuters --topics 100 --seconds 60 --seeds 5 \
        --methods plait,tomotopy,topica,pyrmallet --output results/quality.jsonl
    python benchmarks/quality.py --report results/quality.jsonl
    python benchmarks/quality.py --speeds-only --corpora news,sotu --topics 50,100

`corpora.py` loads the data, `methods.py` trains, `scoring.py` scores. Each run adds one line to the output,
and its topics to a folder next to it. Runs that are in the output already are skipped, so the benchmark can
be stopped (Ctrl-C) and continued at any time, and extended by other corpora, methods or seeds. The records
behind docs/choosing.md are in `measured/`: copied to results/, they are extended, too, but for agreement,
which needs the topics.

Equal time means: as many sweeps as fit into the time at the speed that `speeds.py` has measured, with all
methods taking short turns, because the speed of shared machines varies. It is measured once for each corpus
and number of topics, before the runs, and kept next to the output. Let nothing else run meanwhile; the runs
themselves do not depend on the clock.

The scores, all of them higher for better topics:

    held out    log-likelihood per token of documents that were not trained on, by document completion
    NPMI        coherence of the ten most probable words of a topic, by the training documents they share
    agreement   mean cosine between the matched topics of two runs that differ in the seed
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import corpora
import scoring
import speeds
from methods import METHODS, VARIANTS, package_of
from plait.speed import processor

Floats = NDArray[np.float64]

FULL_SET = ["plait", "tomotopy", "tomotopy-eta0.03", "tomotopy-eta0.1", "topica", "pyrmallet"]
"""Methods that are run by default; three of tomotopy, since it does not learn eta."""

AHEAD = 0.01
"""Difference from which a method counts as better."""


class Case(NamedTuple):
    """What identifies a run."""

    corpus: str
    topics: int
    seconds: float
    method: str
    seed: int

    @classmethod
    def of(cls, record: dict[str, Any]) -> Case:
        """Return the case of a line of the output."""
        return cls(*(record[name] for name in cls._fields))

    @property
    def place(self) -> str:
        """The corpus and the number of topics: what the speed of a method depends on."""
        return f"{self.corpus}-T{self.topics}"

    @property
    def file(self) -> str:
        """Name of the file of its topics."""
        return f"{self.place}-{self.seconds:g}s-{self.method}-{self.seed}.npz"


# -------------------------------------------------------------------------------------------------
# Running
# -------------------------------------------------------------------------------------------------


def run_all(cases: Sequence[Case], output: Path, *, speeds_only: bool = False) -> None:
    """Make the runs that are missing in the output, and add them to it."""
    done = {Case.of(record) for record in read(output)}
    missing = [case for case in cases if case not in done]
    print(f"{len(cases)} runs, {len(cases) - len(missing)} of them done already", flush=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    topics_folder(output).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), output)
        bench.measure_speeds(cases if speeds_only else missing)
        if speeds_only:
            return
        for k, case in enumerate(missing):
            record = bench.run(case)
            print(
                f"{case.corpus} T={case.topics} {case.seconds:g}s seed {case.seed} {case.method:12s}"
                f" held out {record['held_out']:.4f} (unigram {record['unigram']:.3f})"
                f" NPMI {record['npmi']:.3f} sweeps {record['sweeps']};"
                f" {bench.time_left(missing[k + 1 :])} left",
                flush=True,
            )


class Bench:
    """Makes runs, one after another.

    Parameters
    ----------
    folder : Path
        For files that are not kept.
    output : Path
        The file of results.
    """

    def __init__(self, folder: Path, output: Path) -> None:
        self._folder, self._output = folder, output
        self._splits: dict[str, corpora.Split] = {}
        self._slowness: list[float] = []
        self._speeds_file = output.with_suffix(".speeds")
        self._speeds: dict[str, dict[str, float]] = {}
        if self._speeds_file.exists():
            self._speeds = json.loads(self._speeds_file.read_text(encoding="utf-8"))

    def measure_speeds(self, cases: Sequence[Case]) -> None:
        """Measure the speeds of the methods of these cases that are not known yet."""
        for place in dict.fromkeys(case.place for case in cases):
            here = [case for case in cases if case.place == place]
            known = self._speeds.setdefault(place, {})
            missing = {case.method for case in here if case.method not in known}
            if not missing:
                continue
            methods = ["plait", *sorted(missing - {"plait"})]
            measured = speeds.measure(methods, self._corpus_file(here[0].corpus), here[0].topics)
            # A method that is added later keeps the scale of those before.
            scale = known.get("plait", measured["plait"]) / measured["plait"]
            known.update({method: scale * seconds for method, seconds in measured.items()})
            self._speeds_file.write_text(json.dumps(self._speeds, indent=1), encoding="utf-8")
            print(f"{place}, ms per sweep:", {m: round(1e3 * s, 1) for m, s in known.items()}, flush=True)

    def run(self, case: Case) -> dict[str, Any]:
        """Train in a process of its own, score, and write the results."""
        split = self._split(case.corpus)
        topics = topics_folder(self._output) / case.file
        sweeps = round(case.seconds / self._speeds[case.place][case.method])
        started = time.perf_counter()
        command = [sys.executable, str(Path(__file__).with_name("methods.py")), case.method]
        command += [str(self._corpus_file(case.corpus)), str(case.topics)]
        command += [str(case.seed), str(sweeps), str(topics)]
        # In a session of its own, so that Ctrl-C stops this process alone, which then kills the other.
        environment = os.environ | {"PYTHONWARNINGS": "ignore"}
        subprocess.run(command, check=True, env=environment, start_new_session=True)
        phi, alpha, trained = read_topics(topics)
        record = {
            **case._asdict(),
            "held_out": scoring.held_out(phi, split.held_out, alpha=alpha),
            "unigram": scoring.unigram(split.training, split.held_out),
            "npmi": scoring.coherence(phi, split.training),
            **trained,
            "cpu": processor(),
            "cores": os.cpu_count(),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with self._output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self._slowness.append((time.perf_counter() - started) / case.seconds)
        return record

    def time_left(self, cases: Sequence[Case]) -> str:
        """Return an estimate of the time that these runs will take."""
        seconds = sum(case.seconds for case in cases) * float(np.mean(self._slowness))
        return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min"

    def _split(self, name: str) -> corpora.Split:
        if name not in self._splits:
            self._splits[name] = corpora.load(name)
            print(self._splits[name].describe(), flush=True)
        return self._splits[name]

    def _corpus_file(self, name: str) -> Path:
        path = self._folder / f"{name}.npz"
        if not path.exists():
            training = self._split(name).training
            np.savez(path, words=training.words, offsets=training.offsets, n_words=training.n_words)
        return path


def topics_folder(output: Path) -> Path:
    """Return the folder of the topics that belong to a file of results."""
    return output.with_suffix(".topics")


def read_topics(path: Path) -> tuple[Floats, Floats, dict[str, Any]]:
    """Return topics (T, W), alpha (T,) and the record of a run, or stop if they cannot be right."""
    with np.load(path) as arrays:
        phi, alpha = arrays["phi"].astype(np.float64), arrays["alpha"]
        record = json.loads(str(arrays["record"]))
    sums = phi.sum(axis=1)
    if not (np.abs(sums - 1) < 1e-3).all() or not (phi > 0).all():
        raise SystemExit(
            f"{path}: topics must be positive and sum to 1, got sums {sums.min()} to {sums.max()}"
        )
    if alpha.shape != (len(phi),) or not (alpha > 0).all():
        raise SystemExit(f"{path}: alpha must be positive, one number per topic, got {alpha}")
    return phi / sums[:, None], alpha, record


def read(output: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of results."""
    if not output.exists():
        return []
    return [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]


# -------------------------------------------------------------------------------------------------
# Reporting
# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and its standard error, which is NaN if there are too few seeds."""

    mean: float
    error: float

    def __str__(self) -> str:
        error = "" if math.isnan(self.error) else f" ± {self.error:.4f}"
        return f"{self.mean:.4f}{error}"

    def verdict(self) -> str:
        """Return what the estimate means as a difference to the best other method."""
        if self.mean >= AHEAD:
            return f"ahead by at least {AHEAD}"
        error = 0.0 if math.isnan(self.error) else self.error
        return "at least equal within one standard error" if self.mean >= -error else "behind"


def mean_of(values: Iterable[float]) -> Estimate:
    """Return the mean of independent values and its standard error."""
    array = np.array(list(values))
    n = len(array)
    return Estimate(float(array.mean()), float(array.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan)


def mean_of_pairs(pairs: dict[tuple[int, int], float]) -> Estimate:
    """Return the mean over pairs of seeds and its standard error by the jackknife over seeds.

    The pairs are not independent, because they share seeds; the seeds are.
    """
    seeds = sorted({seed for pair in pairs for seed in pair})
    n = len(seeds)
    mean = float(np.mean(list(pairs.values())))
    if n < 4:  # leaving one out must leave several pairs
        return Estimate(mean, math.nan)
    without = [np.mean([value for pair, value in pairs.items() if seed not in pair]) for seed in seeds]
    return Estimate(mean, float(math.sqrt((n - 1) / n * np.sum((without - np.mean(without)) ** 2))))


Scores = dict[Any, float]
"""A score for each seed, or for each pair of seeds."""

Cells = dict[tuple[str, str], Scores]
"""Scores by method and corpus."""


def report(output: Path) -> None:
    """Print tables of the results in Markdown."""
    records = read(output)
    if not records:
        raise SystemExit(f"{output} has no results")
    machines = {(record["cpu"], record["cores"]) for record in records}
    print(f"Results of {len(records)} runs on", " and on ".join(f"{cpu}, {n} cores" for cpu, n in machines))
    for topics, seconds in sorted({(record["topics"], record["seconds"]) for record in records}):
        own = [record for record in records if (record["topics"], record["seconds"]) == (topics, seconds)]
        print(f"\n## {topics} topics, {seconds:g} seconds")
        print_table("Held-out log-likelihood per token", cells_of(own, "held_out"), mean_of)
        unigrams = {record["corpus"]: record["unigram"] for record in own}
        print("\nWithout topics (unigram):", ", ".join(f"{c} {u:.3f}" for c, u in unigrams.items()))
        print_table("NPMI of the top 10 words", cells_of(own, "npmi"), mean_of)
        print_table("Agreement between seeds", agreements(own, topics_folder(output)), mean_of_pairs)
        print_costs(own)


def cells_of(records: list[dict[str, Any]], score: str) -> Cells:
    """Return a score by method and corpus, for each seed."""
    cells: Cells = {}
    for record in records:
        cells.setdefault((record["method"], record["corpus"]), {})[record["seed"]] = record[score]
    return cells


def agreements(records: list[dict[str, Any]], folder: Path) -> Cells:
    """Return the aligned cosine by method and corpus, for each pair of seeds."""
    files: dict[tuple[str, str], dict[int, Path]] = {}
    for record in records:
        path = folder / Case.of(record).file
        if path.exists():
            files.setdefault((record["method"], record["corpus"]), {})[record["seed"]] = path
    cells: Cells = {}
    for key, of_seeds in files.items():
        topics = {seed: read_topics(path)[0] for seed, path in sorted(of_seeds.items())}
        if len(topics) > 1:
            cells[key] = {
                (a, b): scoring.aligned_cosine(topics[a], topics[b]) for a, b in combinations(topics, 2)
            }
    return cells


def print_table(title: str, cells: Cells, estimate: Callable[[Any], Estimate]) -> None:
    """Print means by method and corpus, and how plait's methods compare with the best of the others."""
    if not cells:
        return
    methods = [method for method in METHODS if any(key[0] == method for key in cells)]
    names = [name for name in corpora.LOADERS if any(key[1] == name for key in cells)]

    def estimate_of(scores: Scores) -> Estimate:
        return estimate(scores if estimate is mean_of_pairs else scores.values())

    print(f"\n### {title}\n")
    print_row("method", names)
    print_row("---", ["---:"] * len(names))
    for method in methods:
        print_row(method, [_text(cells.get((method, name)), estimate_of) for name in names])

    peers = [method for method in methods if package_of(method) != "plait"]
    comparisons = []
    for own, name in product([method for method in methods if method in VARIANTS], names):
        scores = {m: cells[m, name] for m in [own, *peers] if (m, name) in cells}
        if own not in scores or len(scores) == 1:
            continue
        best = max((m for m in scores if m != own), key=lambda m: estimate_of(scores[m]).mean)
        common = {k: v - scores[best][k] for k, v in scores[own].items() if k in scores[best]}
        if common:
            difference = estimate_of(common)
            comparisons.append((own, [name, best, str(difference), difference.verdict()]))
    if comparisons:
        print()
        print_row("method", ["corpus", "best other", "difference", "verdict"])
        print_row("---", ["---", "---", "---:", "---"])
        for own, values in comparisons:
            print_row(own, values)


def _text(scores: Scores | None, estimate_of: Callable[[Scores], Estimate]) -> str:
    return "" if scores is None else f"{estimate_of(scores)}"


def print_costs(records: list[dict[str, Any]]) -> None:
    """Print how many sweeps and how much memory the runs took."""
    print("\n### Sweeps and memory\n")
    print_row("method", ["corpus", "version", "runs", "sweeps", "MB"])
    print_row("---", ["---", "---", "---:", "---:", "---:"])
    for method, name in product(METHODS, corpora.LOADERS):
        own = [r for r in records if (r["method"], r["corpus"]) == (method, name)]
        if own:
            versions = ", ".join(sorted({record["version"] for record in own}))
            means = [f"{np.mean([record[what] for record in own]):.0f}" for what in ("sweeps", "megabytes")]
            print_row(method, [name, versions, str(len(own)), *means])


def print_row(first: str, values: Sequence[str]) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join([first, *values])} |")


# -------------------------------------------------------------------------------------------------
# Command line
# -------------------------------------------------------------------------------------------------


def main() -> None:
    def names(text: str) -> list[str]:
        return text.split(",")

    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    def times(text: str) -> list[float]:
        return [float(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--corpora",
        type=names,
        default=["news", "tweets", "sotu", "reuters"],
        help=f"among {', '.join(corpora.LOADERS)}",
    )
    parser.add_argument("--topics", type=numbers, default=[100], help="numbers of topics")
    parser.add_argument("--seconds", type=times, default=[60.0], help="times of training")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--methods", type=names, default=FULL_SET, help=f"among {', '.join(METHODS)}")
    parser.add_argument("--output", type=Path, default=Path("results/quality.jsonl"))
    parser.add_argument("--speeds-only", action="store_true", help="measure the speeds, and make no runs")
    parser.add_argument("--report", type=Path, metavar="FILE", help="print tables of a file of results")
    arguments = parser.parse_args()
    if arguments.report is not None:
        report(arguments.report)
        return
    for what, known in (("corpora", corpora.LOADERS), ("methods", METHODS)):
        unknown = [name for name in getattr(arguments, what) if name not in known]
        if unknown:
            parser.error(f"unknown {what}: {', '.join(unknown)}; choose among {', '.join(known)}")
    # The seed varies slowest, so that a benchmark that is stopped has something of everything.
    cases = [
        Case(corpus, topics, seconds, method, seed)
        for seed, topics, seconds, corpus, method in product(
            range(arguments.seeds),
            arguments.topics,
            arguments.seconds,
            arguments.corpora,
            arguments.methods,
        )
    ]
    try:
        run_all(cases, arguments.output, speeds_only=arguments.speeds_only)
    except KeyboardInterrupt:
        raise SystemExit(f"\nstopped; what is done is in {arguments.output}: repeat to continue") from None


if __name__ == "__main__":
    main()
