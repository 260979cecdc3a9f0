"""Speed of LDA on the State of the Union addresses, compared with tomotopy.

Prints token updates per second. Each update of a token in one path counts as one; the time is that of whole
sweeps, including counting and drawing phi. The samplers take turns of a few sweeps, and the median over
all turns is printed, because the speed of shared machines varies from minute to minute.

    make bench
    python benchmarks/lda.py --warm-up 50 --turns 5
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import tomotopy

from plait.data.corpus import Corpus
from plait.datasets import sotu
from plait.models.lda import LdaModel
from plait.plans import Settings
from plait.sampler import State, step
from plait.threads import Threads

ETA = 0.01


@dataclass
class Contestant:
    """A sampler, and the seconds that its sweeps took."""

    name: str
    n_paths: int
    sweep: Callable[[], None]
    seconds: list[float] = field(default_factory=list)

    def take_turn(self, n_sweeps: int) -> None:
        """Run some sweeps and record the seconds of each."""
        for _ in range(n_sweeps):
            start = time.perf_counter()
            self.sweep()
            self.seconds.append(time.perf_counter() - start)

    @property
    def median(self) -> float:
        """Median of the seconds per sweep."""
        return statistics.median(self.seconds)


def plait_sampler(corpus: Corpus, n_topics: int, alpha: float, n_paths: int, collapsed: bool) -> Contestant:
    model = LdaModel(corpus, n_topics, alpha, ETA)
    settings = Settings(n_paths=n_paths, n_sweeps=1, seed=0, collapsed=collapsed, thin=1)
    threads = Threads(1)
    state = State(0, model.initial_paths(n_paths, settings.seed, threads))

    def sweep() -> None:
        nonlocal state
        state = step(model, state, settings, threads)

    kind = "collapsed" if collapsed else "partially collapsed"
    return Contestant(f"plait, {kind}, m = {n_paths}", n_paths, sweep)


def tomotopy_sampler(corpus: Corpus, n_topics: int, alpha: float) -> Contestant:
    model = tomotopy.LDAModel(k=n_topics, alpha=alpha, eta=ETA, seed=1)
    model.optim_interval = 0  # plait keeps alpha fixed, too
    for d in range(corpus.n_documents):
        model.add_doc(corpus.tokens(d))

    def sweep() -> None:
        model.train(1, workers=1)

    return Contestant(f"tomotopy {tomotopy.__version__}", 1, sweep)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=500)
    parser.add_argument("--alpha", type=float, default=0.02)
    parser.add_argument("--warm-up", type=int, default=50, help="sweeps before the clock starts")
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()

    corpus = sotu()
    sizes = (arguments.topics, arguments.alpha)
    print(f"{corpus}, T = {sizes[0]}, alpha = {sizes[1]}, eta = {ETA}, one thread each")
    contestants = {
        "tomotopy": tomotopy_sampler(corpus, *sizes),
        "pc1": plait_sampler(corpus, *sizes, 1, collapsed=False),
        "pc5": plait_sampler(corpus, *sizes, 5, collapsed=False),
        "c1": plait_sampler(corpus, *sizes, 1, collapsed=True),
        "c5": plait_sampler(corpus, *sizes, 5, collapsed=True),
    }
    for contestant in contestants.values():
        for _ in range(arguments.warm_up):
            contestant.sweep()
    for _ in range(arguments.turns):
        for contestant in contestants.values():
            contestant.take_turn(3)

    base = contestants["tomotopy"].median
    print(f"after {arguments.warm_up} sweeps, median of {3 * arguments.turns} sweeps:\n")
    print(f"{'sampler':34s}{'ms per sweep':>13s}{'million updates/s':>19s}{'to tomotopy':>14s}")
    for c in contestants.values():
        rate = corpus.n_tokens * c.n_paths / c.median
        ratio = base * c.n_paths / c.median
        print(f"{c.name:34s}{1e3 * c.median:13.1f}{rate / 1e6:19.2f}{ratio:13.2f}x")
    for kind in ("pc", "c"):
        ratio = contestants[f"{kind}5"].median / contestants[f"{kind}1"].median
        name = "partially collapsed" if kind == "pc" else "collapsed"
        print(f"a sweep with m = 5 costs {ratio:.2f} sweeps with m = 1 ({name})")


if __name__ == "__main__":
    main()
