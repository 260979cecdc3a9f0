"""How fast plait is on this machine, and other packages that are installed: the work of `plait bench`.

Data are synthetic: long and short documents, and sequences of symbols. Contestants take turns in one process,
so that whatever slows the machine down slows all of them down alike, and the median of the turns counts. An
update is one token or one observation in one path. scikit-learn and gensim do not sample: an update of theirs
is one token in a pass over the documents, and an iteration of EM updates every observation once.

This is the short version of the repository's benchmarks, which measure real documents, more sizes, and after
more sweeps.
"""

from __future__ import annotations

import importlib.metadata
import logging
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from threading import Semaphore, Thread
from typing import Any, Final, NamedTuple

import numpy as np

from plait.checks import check_integer
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.data.synthetic import bands, hard_hmm
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalEmissions, CategoricalParameters
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.models.model import Model
from plait.models.sweeps import State, SweepSettings, step
from plait.threads import Threads, count_threads

N_TOKENS: Final = 200_000
FEWEST_TOKENS: Final = 1000
MOST_TOKENS: Final = 100_000_000

N_TOPICS: Final = 100
N_WORDS: Final = 5000
N_STATES: Final = 8
N_SYMBOLS: Final = 10

LONG: Final = 200
SHORT: Final = 10
SEQUENCE_LENGTH: Final = 1000

ETA: Final = 0.01
ALPHA: Final = 10.0 / N_TOPICS

N_TURNS: Final = 5
TURN_SECONDS: Final = 0.2
WARM_UP_SECONDS: Final = 1.0
WARM_UP_STEPS: Final = 50
SLOW_SECONDS: Final = 2.0
"""A contestant whose second step takes longer is not asked for another: that step counts."""

PASS_SHARE: Final = 10
"""Packages that do not sample get one in so many documents: a pass over all would take them too long."""

ENDLESS: Final = 1_000_000

_OWN: Final = ("plait", "numpy", "numba")

Step = Callable[[], object]


class Speed(NamedTuple):
    """What a contestant took.

    Attributes
    ----------
    name : str
        Name of the contestant.
    n_threads : int
        Number of threads.
    nanoseconds : tuple of float
        Time per update, in each turn.
    """

    name: str
    n_threads: int
    nanoseconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median time per update."""
        return median(self.nanoseconds)

    @property
    def millions(self) -> float:
        """Millions of updates per second."""
        return 1e3 / self.median


class Contest(NamedTuple):
    """Speeds on the same data.

    Attributes
    ----------
    title : str
        What the data are.
    base : str
        The contestant that others are compared with, on one thread; empty if no other package took part.
    speeds : tuple of Speed
        The contestants.
    """

    title: str
    base: str
    speeds: tuple[Speed, ...]

    def find(self, name: str, n_threads: int) -> Speed | None:
        """Return the speed of a contestant on a number of threads, if it was measured."""
        return next((s for s in self.speeds if (s.name, s.n_threads) == (name, n_threads)), None)


class Report(NamedTuple):
    """All speeds, and where they were measured.

    Attributes
    ----------
    processor : str
        Name of the processor.
    n_cores, n_threads : int
        Cores that may be used, and the larger number of threads that was measured.
    versions : dict
        Versions of plait and of the packages that took part, and of NumPy and Numba.
    left_out : dict
        Why packages that are installed did not take part.
    contests : tuple of Contest
        The speeds.
    """

    processor: str
    n_cores: int
    n_threads: int
    versions: dict[str, str]
    left_out: dict[str, str]
    contests: tuple[Contest, ...]


def measure(
    n_tokens: int = N_TOKENS,
    n_jobs: int | None = None,
    *,
    others: bool = True,
    report: Callable[[float], object] = lambda share: None,
) -> Report:
    """Measure the speed of plait, and of other packages, on synthetic data.

    Parameters
    ----------
    n_tokens : int
        Number of tokens of each corpus, and of observations.
    n_jobs : int or None
        Number of threads that one thread is compared with; None for all cores.
    others : bool
        Whether other packages take part.
    report : callable
        Called with the share of the work that is done.
    """
    n_tokens = check_integer("n_tokens", n_tokens, least=FEWEST_TOKENS, most=MOST_TOKENS)
    n_threads = count_threads(n_jobs)
    fields: dict[str, list[_Entrant]] = {}
    for kind, length in (("Long", LONG), ("Short", SHORT)):
        corpus = _corpus(max(1, n_tokens // length), length)
        title = f"{kind} documents: {corpus.n_documents} of {length} tokens, {N_TOPICS} topics"
        fields[title] = _topic_models(corpus)
    title = f"Hidden Markov model: {n_tokens} observations, {N_SYMBOLS} symbols, {N_STATES} states"
    fields[title] = _state_models(_sequences(n_tokens))

    packages = dict.fromkeys(entrant.package for entrants in fields.values() for entrant in entrants)
    versions = _versions([*_OWN, *packages] if others else _OWN)
    left_out: dict[str, str] = {}
    pairs = {
        title: [
            (entrant, n)
            for entrant in entrants
            if entrant.package in versions
            for n in sorted({1, n_threads if entrant.is_parallel else 1})
        ]
        for title, entrants in fields.items()
    }
    left = total = sum((1 + N_TURNS) * len(found) for found in pairs.values())

    def advance(n_parts: int) -> None:
        nonlocal left
        left -= n_parts
        report(1 - left / total)

    contests = []
    for title, found in pairs.items():
        with _silenced():
            speeds = _compete(found, advance, left_out)
        peers = [speed.name for speed in speeds if not speed.name.startswith("plait")]
        contests.append(Contest(title, peers[0] if peers else "", tuple(speeds)))
    return Report(processor(), count_threads(None), n_threads, versions, left_out, tuple(contests))


@contextmanager
def _silenced() -> Iterator[None]:
    """Let other packages not warn that a few iterations are too few."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for package in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def processor() -> str:
    """Return the name of the processor."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


# -----------------------------------------------------------------------------------------------------
# Taking turns
# -----------------------------------------------------------------------------------------------------


class _Entrant(NamedTuple):
    """A way to do the work: `prepare(n_threads)` returns a step of it, and its number of updates."""

    name: str
    package: str
    prepare: Callable[[int], tuple[Step, int]]
    is_parallel: bool = False


@dataclass
class _Clock:
    """Times the steps of a contestant."""

    name: str
    package: str
    n_threads: int
    step: Step
    n_updates: int
    seconds: list[float] = field(default_factory=list)

    def run(self, least: float, most_steps: int) -> float:
        """Make steps until a time has passed; return the mean time of one."""
        start, steps = time.perf_counter(), 0
        while steps < most_steps and (not steps or time.perf_counter() - start < least):
            self.step()
            steps += 1
        return (time.perf_counter() - start) / steps

    def speed(self) -> Speed:
        """Return what was measured."""
        times = tuple(seconds / self.n_updates * 1e9 for seconds in self.seconds)
        return Speed(self.name, self.n_threads, times)


def _compete(
    entrants: Sequence[tuple[_Entrant, int]], advance: Callable[[int], None], left_out: dict[str, str]
) -> list[Speed]:
    """Return the speeds of contestants that can run, and add to `left_out` why others cannot."""
    clocks: list[_Clock] = []
    quick: list[_Clock] = []

    def note(package: str, error: Exception) -> None:
        if package == "plait":
            raise error
        left_out[package] = f"{type(error).__name__}: {error}"  # another version, perhaps

    for entrant, n_threads in entrants:
        try:
            clock = _Clock(entrant.name, entrant.package, n_threads, *entrant.prepare(n_threads))
            clock.step()  # compiles, and allocates
            seconds = clock.run(0.0, 1)
            if seconds <= SLOW_SECONDS:
                clock.run(WARM_UP_SECONDS, WARM_UP_STEPS)
        except Exception as error:
            note(entrant.package, error)
            advance(1 + N_TURNS)
            continue
        clocks.append(clock)
        if seconds > SLOW_SECONDS:
            clock.seconds.append(seconds)
            advance(1 + N_TURNS)
        else:
            quick.append(clock)
            advance(1)
    for _ in range(N_TURNS):
        for clock in quick:
            if clock.package not in left_out:
                try:
                    clock.seconds.append(clock.run(TURN_SECONDS, ENDLESS))
                except Exception as error:
                    note(clock.package, error)
            advance(1)
    return [clock.speed() for clock in clocks if clock.package not in left_out]


class _Watched:
    """A fit that can only be watched, in a thread of its own that goes on for one step at a time.

    Parameters
    ----------
    fit : callable
        Receives a function, which it calls after every step.
    """

    def __init__(self, fit: Callable[[Callable[..., None]], object]) -> None:
        self._go, self._done = Semaphore(0), Semaphore(0)
        self._error: BaseException | None = None

        def work() -> None:
            self._go.acquire()
            try:
                fit(self._pause)
                self._error = RuntimeError("the fit ended early")
            except BaseException as error:  # also a panic of Rust: the step below tells
                self._error = error
            self._done.release()

        Thread(target=work, daemon=True).start()

    def _pause(self, *_: Any) -> None:
        self._done.release()
        self._go.acquire()

    def step(self) -> None:
        """Let the fit make one step."""
        self._go.release()
        self._done.acquire()
        if self._error is not None:
            raise RuntimeError(str(self._error)) from self._error


# -----------------------------------------------------------------------------------------------------
# Contestants
# -----------------------------------------------------------------------------------------------------


def _sampler(model: Model[Any, Any], n_paths: int, collapsed: bool) -> Callable[[int], tuple[Step, int]]:
    """Return the sweeps of one of plait's samplers."""

    def prepare(n_threads: int) -> tuple[Step, int]:
        threads = Threads(n_threads)
        settings = SweepSettings(0, collapsed)
        state = State(0, model.initial_paths(n_paths, 0, threads))

        def sweep() -> None:
            nonlocal state
            state = step(model, state, settings, threads)

        return sweep, model.n_sites * n_paths

    return prepare


def _corpus(n_documents: int, length: int) -> Corpus:
    return bands(
        n_documents,
        n_topics=N_TOPICS,
        n_words=N_WORDS,
        document_length=length,
        width=3 * N_WORDS // N_TOPICS,
        alpha=0.1,
    ).corpus


def _topic_models(corpus: Corpus) -> list[_Entrant]:
    model = LdaModel(corpus, N_TOPICS, ALPHA, ETA)
    return [
        _Entrant("plait, partially collapsed, m = 1", "plait", _sampler(model, 1, False), is_parallel=True),
        _Entrant("plait, partially collapsed, m = 5", "plait", _sampler(model, 5, False), is_parallel=True),
        _Entrant("plait, collapsed, m = 1", "plait", _sampler(model, 1, True)),
        _Entrant("plait, collapsed, m = 5", "plait", _sampler(model, 5, True)),
        _Entrant("tomotopy", "tomotopy", partial(_tomotopy, corpus), is_parallel=True),
        _Entrant("topica", "topica", partial(_topica, corpus), is_parallel=True),
        _Entrant("gensim", "gensim", partial(_gensim, corpus)),
        _Entrant("scikit-learn", "scikit-learn", partial(_sklearn, corpus)),
    ]


def _texts(corpus: Corpus) -> list[list[str]]:
    return [corpus.tokens(d) for d in range(corpus.n_documents)]


def _first_documents(corpus: Corpus) -> Corpus:
    return corpus.select(np.arange(corpus.n_documents) < max(1, corpus.n_documents // PASS_SHARE))


def _tomotopy(corpus: Corpus, n_threads: int) -> tuple[Step, int]:
    tomotopy: Any = import_module("tomotopy")
    model = tomotopy.LDAModel(k=N_TOPICS, alpha=ALPHA, eta=ETA, seed=1)
    model.optim_interval = 0
    for document in _texts(corpus):
        model.add_doc(document)
    return partial(model.train, 1, workers=n_threads), corpus.n_tokens


def _topica(corpus: Corpus, n_threads: int) -> tuple[Step, int]:
    topica: Any = import_module("topica")
    model = topica.LDA(
        N_TOPICS,
        alpha_sum=ALPHA * N_TOPICS,
        beta=ETA,
        seed=1,
        num_threads=n_threads,
        burn_in=ENDLESS,  # before the first time that it learns priors
        optimize_interval=ENDLESS,
    )
    documents = topica.Corpus.from_documents(_texts(corpus))

    def fit(pause: Callable[..., None]) -> None:
        model.fit(
            documents,
            iters=ENDLESS,
            progress=pause,
            progress_interval=1,
            keep_theta_draws=False,
            check_every=0,
        )

    return _Watched(fit).step, corpus.n_tokens


def _gensim(corpus: Corpus, n_threads: int) -> tuple[Step, int]:
    dictionaries: Any = import_module("gensim.corpora")
    models: Any = import_module("gensim.models")
    documents = _first_documents(corpus)
    texts = _texts(documents)
    dictionary = dictionaries.Dictionary([list(corpus.vocabulary)])
    bags = [dictionary.doc2bow(text) for text in texts]
    model = models.LdaModel(id2word=dictionary, num_topics=N_TOPICS, eval_every=None, random_state=1)
    return partial(model.update, bags, passes=1), documents.n_tokens


def _sklearn(corpus: Corpus, n_threads: int) -> tuple[Step, int]:
    decomposition: Any = import_module("sklearn.decomposition")
    documents = _first_documents(corpus)
    matrix = documents.to_matrix()
    model = decomposition.LatentDirichletAllocation(
        N_TOPICS, total_samples=matrix.shape[0], n_jobs=1, random_state=1
    )
    return partial(model.partial_fit, matrix), documents.n_tokens


def _sequences(n: int) -> Sequences:
    symbols = hard_hmm(n=n, n_symbols=N_SYMBOLS).sequences.values
    ends = np.arange(0, n, SEQUENCE_LENGTH)
    return Sequences.from_symbols(symbols, np.diff(np.append(ends, n)), labels=map(str, range(N_SYMBOLS)))


def _first_parameters() -> HmmParameters:
    rng = np.random.default_rng(0)
    return HmmParameters(
        rng.dirichlet(np.ones(N_STATES)),
        rng.dirichlet(np.ones(N_STATES), N_STATES),
        CategoricalParameters(rng.dirichlet(np.ones(N_SYMBOLS), N_STATES)),
    )


def _state_models(sequences: Sequences) -> list[_Entrant]:
    emissions = CategoricalEmissions(sequences, N_STATES)
    model, by_site = HmmModel(emissions), HmmModel(emissions, blocked=False)
    return [
        _Entrant("plait, EM", "plait", partial(_plait_em, model), is_parallel=True),
        _Entrant("hmmlearn", "hmmlearn", partial(_hmmlearn, sequences)),
        _Entrant("plait, blocked, m = 1", "plait", _sampler(model, 1, False), is_parallel=True),
        _Entrant("plait, blocked, m = 5", "plait", _sampler(model, 5, False), is_parallel=True),
        _Entrant("plait, single-site, m = 5", "plait", _sampler(by_site, 5, False), is_parallel=True),
        _Entrant("plait, collapsed, m = 5", "plait", _sampler(model, 5, True)),
    ]


def _plait_em(model: HmmModel, n_threads: int) -> tuple[Step, int]:
    threads = Threads(n_threads)
    parameters = _first_parameters()

    def iterate() -> None:
        nonlocal parameters
        parameters = model.mode_parameters(model.expected_counts(parameters, threads)[0])

    return iterate, model.n_sites


def _hmmlearn(sequences: Sequences, n_threads: int) -> tuple[Step, int]:
    hmm: Any = import_module("hmmlearn.hmm")
    first = _first_parameters()
    model = hmm.CategoricalHMM(N_STATES, n_iter=1, init_params="", n_features=N_SYMBOLS)
    model.startprob_, model.transmat_ = first.start, first.transitions
    model.emissionprob_ = first.emissions.probabilities
    return partial(model.fit, sequences.values[:, None], sequences.lengths), sequences.n_sites
