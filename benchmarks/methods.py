"""The methods of `quality.py`: plait's plans, and other packages with settings that suit them.

`quality.py` runs this file in a process of its own for each run, so that neither memory nor threads leak from
one method to the next:

    python benchmarks/methods.py METHOD CORPUS TOPICS SECONDS SEED SWEEPS RESULT

CORPUS and RESULT are .npz files. What the clock measures is the same for all: it starts when the documents
are in the package's own form, and stops when the last sweep, and the last sample of an average, is done.
Importing, compiling and a few sweeps on the same documents come before it (the warm-up), and reading the
final result after it.

All learn alpha, and eta if they can, and use two threads if they can. The other packages start from alpha =
0.1 and eta = 0.01, unless their name says otherwise, and plait as it does by default.
Words are passed as their numbers, so that no package can change, reorder or drop any without being noticed.
"""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.data.corpus import Corpus
from plait.plans import Plan, Stage
from plait.sampler import LEARN_EVERY, sample
from plait.topic_fits import DEFAULT_PLAN, PLANS, TopicSettings

ALPHA, ETA = 0.1, 0.01
N_THREADS = 2

LATE_SHARE = 0.2
"""Share of the time, or of the sweeps, from which averages are taken."""

N_SAMPLES = 20
"""Number of samples in averages of other packages."""

REPORT_EVERY = 10
"""Sweeps between reports of progress, in the run that measures the speed."""

PILOT_SECONDS = 15.0
"""Longest time of the run that measures the speed."""

TOLERANCE = (0.95, 1.1)
"""A run is repeated if its time relative to the budget is outside this range."""

MAX_TRIALS = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """What to fit: the training documents, the number of topics, the time, and the seed.

    `sweeps` is how many were made in that time with another seed, and 0 if that is not known.
    """

    corpus: Corpus
    n_topics: int
    seconds: float
    seed: int
    sweeps: float = 0.0

    def documents(self) -> list[list[str]]:
        """Return the documents as lists of words; a word is its number as text."""
        names = np.array([str(word) for word in range(self.corpus.n_words)], dtype=object)
        offsets = self.corpus.offsets
        return [
            names[self.corpus.words[offsets[d] : offsets[d + 1]]].tolist()
            for d in range(self.corpus.n_documents)
        ]

    def in_order(self, topics: Any, vocabulary: list[str]) -> Floats:
        """Return topics (T, W) with the columns in the order of the corpus.

        `vocabulary` names the columns; every word must be there once.
        """
        topics, numbers = np.asarray(topics, np.float64), np.array(vocabulary, np.int64)
        if sorted(numbers) != list(range(self.corpus.n_words)):
            raise SystemExit(f"{len(numbers)} words came back, {self.corpus.n_words} were passed")
        ordered = np.empty_like(topics)
        ordered[:, numbers] = topics
        return ordered


class Taken(NamedTuple):
    """Wall-clock time, and the processor time of all threads, both in seconds."""

    seconds: float
    cpu_seconds: float


class Stopwatch:
    """Measures time from when it is created."""

    def __init__(self) -> None:
        self._start = Taken(time.perf_counter(), time.process_time())

    def read(self) -> Taken:
        """Return the time since the start."""
        return Taken(time.perf_counter() - self._start.seconds, time.process_time() - self._start.cpu_seconds)


@dataclass(frozen=True)
class Outcome:
    """What a method hands over.

    Attributes
    ----------
    phi : ndarray, (T, W)
        Topics.
    alpha : ndarray, (T,)
        Prior of the topics in a document, in the same order.
    sweeps : int
        Number of sweeps over the data.
    taken : Taken
        Time that they took.
    notes : dict
        Anything else worth recording.
    """

    phi: Floats
    alpha: Floats
    sweeps: int
    taken: Taken
    notes: dict[str, Any] = field(default_factory=dict)


# -------------------------------------------------------------------------------------------------
# plait
# -------------------------------------------------------------------------------------------------


class Variant(NamedTuple):
    """A plan of plait, and the start of its paths."""

    plan: Plan
    init: str = "uniform"


def going_on(*stages: Stage) -> Plan:
    """Return the default plan with other stages in place of those that average."""
    default = PLANS[DEFAULT_PLAN].stages
    return Plan([*(stage for stage in default if not stage.average), *stages])


VARIANTS = {
    # What the estimator and the command do by default.
    "plait": Variant(PLANS[DEFAULT_PLAN]),
    # The same from anchor words.
    "plait-spectral": Variant(PLANS[DEFAULT_PLAN], "spectral"),
    # The same without exact sweeps at the end, and with more of them.
    "plait-partitioned": Variant(going_on(Stage("partitioned", 1, 500, learn_priors=True, average=True))),
    "plait-exact-half": Variant(
        going_on(Stage("partially-collapsed", 1, 500, learn_priors=True, average=True))
    ),
    # Priors learnt at m = 1 and then held at m = 3, for half of the time; of that, half is averaged.
    "plait-climb": Variant(going_on(Stage("partitioned", 3, 83), Stage("partitioned", 3, 84, average=True))),
    # The same with fewer sweeps at m = 3, and back to m = 1 for the average.
    "plait-climb-back": Variant(
        going_on(Stage("partitioned", 3, 67), Stage("partitioned", 1, 300, average=True))
    ),
    # Five paths throughout, with fixed priors.
    "plait-m5": Variant(Plan([Stage("partially-collapsed", 5, 200)])),
}
"""The default plan and others that take about as long: a sweep with m paths counts as m of one path."""


def fit_plait(variant: Variant, job: Job) -> Outcome:
    """Run a plan; the stages share the time as the plan says."""
    plan = variant.plan
    model = TopicSettings(job.n_topics, plan, init=variant.init).fit(job.corpus, N_THREADS).model
    # Kernels are compiled when they are first called, so every stage makes enough sweeps to call all of its
    # own, on all of the documents: smaller ones would not be partitioned.
    stages = [replace(stage, sweeps=LEARN_EVERY if stage.learn_priors else 5) for stage in plan.stages]
    warmed = sample(model, n_paths=Plan(stages), seed=job.seed, n_jobs=N_THREADS)
    warmed.parameters(n_jobs=N_THREADS)
    watch = Stopwatch()
    run = sample(model, n_paths=plan, max_seconds=job.seconds, seed=job.seed, n_jobs=N_THREADS)
    taken = watch.read()
    fitted: Any = run.model
    phi = run.parameters(n_jobs=N_THREADS).phi.T.astype(np.float64)
    plan_made = [{"stage": stage.describe(), "sweeps": stage.sweeps} for stage in run.settings.stages]
    notes = {"eta": float(np.asarray(fitted.eta)), "plan": plan_made}
    return Outcome(phi, fitted.alpha_vector, run.sweep, taken, notes)


# -------------------------------------------------------------------------------------------------
# tomotopy
# -------------------------------------------------------------------------------------------------


def fit_tomotopy(eta: float, job: Job, *, average: bool = True) -> Outcome:
    """Train until the time is over; `average` takes the mean of samples of phi in the last fifth of it."""
    # It learns alpha, one value per topic, every 10 sweeps by default. It cannot learn eta, and its default
    # of 0.01 is often too small, so there are variants with other values. burn_in = 100 is what its own
    # examples set. The default parallel scheme is the one that it takes to be best for LDA. A call of train()
    # starts threads, so a call makes as many sweeps as fit into a hundredth of the time.
    import tomotopy

    documents = job.documents()

    def new_model() -> Any:
        model = tomotopy.LDAModel(k=job.n_topics, alpha=ALPHA, eta=eta, seed=job.seed)
        model.burn_in = 100
        for document in documents:
            model.add_doc(document)
        return model

    def topics_of(model: Any) -> Floats:
        return np.array([model.get_topic_word_dist(t) for t in range(job.n_topics)], np.float64)

    warmed = new_model()
    warmed.train(5, workers=N_THREADS)
    topics_of(warmed)
    del warmed

    model = new_model()
    model.train(0)  # builds its tables, which takes it longer than a sweep
    total, n_samples, sampled = np.zeros((job.n_topics, job.corpus.n_words)), 0, 0
    watch = Stopwatch()
    model.train(1, workers=N_THREADS)
    for end in sample_times(job.seconds) if average else [job.seconds]:
        while (seconds := watch.read().seconds) < end:
            fitting = model.global_step / seconds * min(end - seconds, job.seconds / 100)
            model.train(max(1, int(fitting)), workers=N_THREADS)
        if model.global_step > sampled:
            total += topics_of(model)
            n_samples, sampled = n_samples + 1, model.global_step
    taken = watch.read()
    phi = job.in_order(total / n_samples, list(model.used_vocabs))
    notes = {"eta": float(model.eta), "samples": n_samples}
    return Outcome(phi, np.asarray(model.alpha, np.float64), model.global_step, taken, notes)


def sample_times(seconds: float) -> list[float]:
    """Return when the samples of an average are taken: evenly in the last part of the time."""
    return [float(t) for t in seconds * np.linspace(1 - LATE_SHARE, 1, N_SAMPLES)]


# -------------------------------------------------------------------------------------------------
# topica and pyrmallet
# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learning:
    """How these packages learn alpha, one value per topic, and eta.

    By default they start from alpha = 1, learn first after 200 sweeps, and then every 50 sweeps. That is too
    late and too seldom for runs of some hundred sweeps, so the defaults here are others. They were compared
    on the two smallest corpora only, in runs of 3 seconds: learning early helped there, while alpha = 0.1 or
    1 at the start, and 20 or 50 sweeps before the first time, made no consistent difference.

    Attributes
    ----------
    alpha : float
        Value to start from.
    burn_in : int
        Number of sweeps before the first time.
    interval : int
        Number of sweeps between two times.
    """

    alpha: float = ALPHA
    burn_in: int = 20
    interval: int = 10


OFTEN = Learning()
PACKAGE_DEFAULTS = Learning(alpha=1.0, burn_in=200, interval=50)


def fit_topica(job: Job, *, sampler: str = "sparse", learning: Learning = OFTEN) -> Outcome:
    """Fit topica's LDA."""
    # The sampler "sparse" is its default and, by its documentation, the best up to 200 topics; "warp" is
    # faster per sweep from about 50. Threads work on parts of the documents and merge their counts after
    # each sweep. What costs time and adds nothing to phi is switched off: draws of theta, and the trace.
    import topica

    corpus = topica.Corpus.from_documents(job.documents())

    def fit(length: Length, report: Callable[..., None] | None) -> Any:
        model = topica.LDA(
            job.n_topics,
            alpha_sum=learning.alpha * job.n_topics,
            beta=ETA,
            seed=job.seed,
            num_threads=N_THREADS,
            sampler=sampler,
            burn_in=learning.burn_in,
            optimize_interval=learning.interval,
        )
        return model.fit(
            corpus,
            iters=length.iterations,
            num_samples=length.samples,
            sample_interval=length.interval,
            progress=report or False,
            progress_interval=REPORT_EVERY,
            keep_theta_draws=False,
            check_every=0,
        )

    timed = fit_in_time(fit, job)
    model = timed.model
    phi = job.in_order(model.topic_word, model.vocabulary)
    notes = {"eta": float(model.beta), "samples": timed.length.samples, "trials": timed.trials}
    return Outcome(phi, np.asarray(model.alpha, np.float64), timed.length.sweeps, timed.taken, notes)


def fit_pyrmallet(job: Job, *, learning: Learning = OFTEN) -> Outcome:
    """Fit RustMallet's LDA, which has one thread."""
    # Its class takes nothing but raw text and leaves out numbers, so the extension module is called as that
    # class calls it, with another pattern of words.
    from pyrmallet import _rust_mallet

    texts = [" ".join(document) for document in job.documents()]
    corpus = _rust_mallet.Corpus.from_strings(texts, token_regex=r"\d+")

    def fit(length: Length, report: Callable[..., None] | None) -> Any:
        return _rust_mallet.train(
            corpus,
            num_topics=job.n_topics,
            iterations=length.iterations,
            num_samples=length.samples,
            sample_interval=length.interval,
            alpha_sum=learning.alpha * job.n_topics,
            beta=ETA,
            seed=job.seed,
            callback=report,
            callback_interval=REPORT_EVERY,
            burn_in=learning.burn_in,
            optimize_interval=learning.interval,
        )

    timed = fit_in_time(fit, job)
    model = timed.model
    phi = job.in_order(model.topic_word_matrix(), model.vocabulary)
    notes = {"eta": float(model.beta), "samples": timed.length.samples, "trials": timed.trials}
    return Outcome(phi, np.asarray(model.alpha, np.float64), timed.length.sweeps, timed.taken, notes)


@dataclass(frozen=True)
class Length:
    """The length of a run of these packages: some sweeps, then others between samples that are averaged."""

    iterations: int
    samples: int
    interval: int

    @classmethod
    def of(cls, sweeps: int) -> Length:
        """Return the length with about this many sweeps in all, and the usual share of them late."""
        samples = max(1, min(N_SAMPLES, int(LATE_SHARE * sweeps)))
        interval = max(1, round(LATE_SHARE * sweeps / samples))
        return cls(max(1, sweeps - samples * interval), samples, interval)

    @property
    def sweeps(self) -> int:
        """Number of sweeps in all."""
        return self.iterations + self.samples * self.interval


@dataclass(frozen=True)
class Timed:
    """A fitted model, the length of its run, its time, and the number of runs that were tried."""

    model: Any
    length: Length
    taken: Taken
    trials: int


Fit = Callable[[Length, Callable[..., None] | None], Any]
"""Fits a model; the second argument is called with the number of sweeps so far."""


def fit_in_time(fit: Fit, job: Job) -> Timed:
    """Fit a model whose number of sweeps must be set in advance, so that it takes the time of the job.

    If the run is too short or too long, the number is corrected and the run repeated; the one closest to the
    time counts.
    """
    n_sweeps = job.sweeps or sweeps_in_time(fit, job.seconds)
    best = None
    for trial in range(1, MAX_TRIALS + 1):
        length = Length.of(max(2, round(n_sweeps)))
        watch = Stopwatch()
        model = fit(length, None)
        taken = watch.read()
        if best is None or abs(taken.seconds - job.seconds) < abs(best.taken.seconds - job.seconds):
            best = Timed(model, length, taken, trial)
        if TOLERANCE[0] <= taken.seconds / job.seconds <= TOLERANCE[1]:
            break
        n_sweeps = length.sweeps * job.seconds / taken.seconds
    assert best is not None
    return replace(best, trials=trial)


def sweeps_in_time(fit: Fit, seconds: float) -> float:
    """Return how many sweeps will take this many seconds, after a run that is aborted."""
    marks: list[tuple[int, float]] = []
    pilot = Stopwatch()

    def report(sweep: int, *_: object) -> None:
        marks.append((sweep, pilot.read().seconds))
        if marks[-1][1] > min(PILOT_SECONDS, seconds / 2) and len(marks) > 2:
            raise KeyboardInterrupt  # the only exception that ends a fit of topica

    with suppress(KeyboardInterrupt):
        fit(Length(10**6, 1, 1), report)
    # The first sweeps take longer than later ones, since tokens of a word still have many topics.
    (early, at), (late, until) = marks[len(marks) // 2 - 1], marks[-1]
    return (late - early) / (until - at) * seconds


METHODS: dict[str, Callable[[Job], Outcome]] = {
    **{name: partial(fit_plait, variant) for name, variant in VARIANTS.items()},
    "tomotopy": partial(fit_tomotopy, ETA),
    "tomotopy-last": partial(fit_tomotopy, ETA, average=False),
    "tomotopy-eta0.03": partial(fit_tomotopy, 0.03),
    "tomotopy-eta0.1": partial(fit_tomotopy, 0.1),
    "topica": fit_topica,
    "topica-warp": partial(fit_topica, sampler="warp"),
    "topica-defaults": partial(fit_topica, learning=PACKAGE_DEFAULTS),
    "pyrmallet": fit_pyrmallet,
    "pyrmallet-defaults": partial(fit_pyrmallet, learning=PACKAGE_DEFAULTS),
}


def package_of(method: str) -> str:
    """Return the package of a method, which its name starts with."""
    return method.split("-")[0]


def peak_megabytes() -> float:
    """Return the largest memory that the process has used so far."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        # On Linux this would count the memory of the parent process, too.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    method, corpus_file, n_topics, seconds, seed, sweeps, result_file = sys.argv[1:]
    with np.load(corpus_file) as arrays:
        vocabulary = tuple(str(word) for word in range(int(arrays["n_words"])))
        corpus = Corpus(arrays["words"], arrays["offsets"], vocabulary)
    before = peak_megabytes()
    outcome = METHODS[method](Job(corpus, int(n_topics), float(seconds), int(seed), float(sweeps)))
    peak = peak_megabytes()
    record = {
        "sweeps": outcome.sweeps,
        "train_seconds": outcome.taken.seconds,
        "cpu_seconds": outcome.taken.cpu_seconds,
        "megabytes": peak,
        "megabytes_before": before,
        "version": importlib.metadata.version(package_of(method)),
        "alpha_sum": float(outcome.alpha.sum()),
        **outcome.notes,
    }
    np.savez_compressed(
        result_file,
        phi=outcome.phi.astype(np.float32),
        alpha=outcome.alpha,
        record=np.array(json.dumps(record)),
    )


if __name__ == "__main__":
    main()
