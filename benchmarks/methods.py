"""The methods of `quality.py`: plait's plans, and other packages with settings that suit them.

`quality.py` runs this file in a process of its own for each run, so that neither memory nor threads leak from
one method to the next:

    python benchmarks/methods.py METHOD CORPUS TOPICS SEED SWEEPS RESULT
    python benchmarks/methods.py METHOD CORPUS TOPICS

CORPUS and RESULT are .npz files. The second form only serves to measure the speed: it prints how many sweeps
it has made, and when, every `REPORT_EVERY` sweeps, until it is killed; see `speeds.py`.

All learn alpha, and eta if they can, and use two threads if they can. The other packages start from alpha =
0.1 and eta = 0.01, unless their name says otherwise, and plait as it does by default.
Words are passed as their numbers, so that no package can change, reorder or drop any without being noticed.
"""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.data.corpus import Corpus
from plait.plans import Plan, Stage
from plait.sampler import Progress, sample
from plait.topic_fits import DEFAULT_PLAN, PLANS, TopicSettings
from turns import peak_megabytes, report

ALPHA, ETA = 0.1, 0.01
N_THREADS = 2

LATE_SHARE = 0.2
"""Share of the sweeps of other packages from which averages are taken."""

N_SAMPLES = 20
"""Number of samples in averages of other packages."""

REPORT_EVERY = 5
"""Sweeps between reports of a run that measures the speed."""

BLOCK = 40
"""Such a run of plait repeats its plan in this many sweeps, so that every stage has its share of any time."""

ENDLESS = 10_000
"""Number of sweeps of a run that measures the speed; it is killed long before."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """What to fit: the training documents, the number of topics, the seed, and the number of sweeps.

    `report`, if given, is called every `REPORT_EVERY` sweeps with the number of sweeps so far.
    """

    corpus: Corpus
    n_topics: int
    seed: int
    sweeps: int
    report: Callable[[int], None] | None = None

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
    notes : dict
        Anything else worth recording.
    """

    phi: Floats
    alpha: Floats
    sweeps: int
    notes: dict[str, Any] = field(default_factory=dict)


# -------------------------------------------------------------------------------------------------
# plait
# -------------------------------------------------------------------------------------------------


class Variant(NamedTuple):
    """A plan of plait, and the start of its paths."""

    plan: Plan
    init: str = "uniform"

    @property
    def mean_paths(self) -> float:
        """Mean number of paths of a sweep."""
        return sum(stage.most_paths * stage.sweeps for stage in self.plan.stages) / self.plan.n_sweeps

    def settings(self, n_topics: int, sweeps: int) -> TopicSettings:
        """Return the settings of a fit; a sweep with m paths counts as m sweeps."""
        n_sweeps = max(1, round(sweeps / self.mean_paths))
        return TopicSettings(n_topics, self.plan, n_sweeps=n_sweeps, init=self.init)


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
    # The other plans that have names.
    **{f"plait-{name}": Variant(plan) for name, plan in PLANS.items() if name != DEFAULT_PLAN},
    # Five paths throughout, with fixed priors.
    "plait-m5": Variant(Plan([Stage("partially-collapsed", 5, 200)])),
}
"""The default plan and others that take about as long: a sweep with m paths counts as m of one path."""


def fit_plait(variant: Variant, job: Job) -> Outcome:
    """Run a plan."""
    fit = variant.settings(job.n_topics, job.sweeps).fit(job.corpus, N_THREADS)
    plan = fit.plan

    def pass_on(progress: Progress) -> None:
        if job.report is not None and progress.state.sweep % REPORT_EVERY == 0:
            job.report(round(progress.state.sweep * variant.mean_paths))

    if job.report is not None:
        plan = Plan([*plan.lasting(BLOCK).stages] * (plan.n_sweeps // BLOCK))
    run = sample(fit.model, n_paths=plan, seed=job.seed, n_jobs=N_THREADS, callback=pass_on)
    fitted: Any = run.model
    phi = run.parameters(n_jobs=N_THREADS).phi.T.astype(np.float64)
    return Outcome(phi, fitted.alpha_vector, run.sweep, {"eta": float(np.asarray(fitted.eta))})


# -------------------------------------------------------------------------------------------------
# tomotopy
# -------------------------------------------------------------------------------------------------


def fit_tomotopy(eta: float, job: Job, *, average: bool = True) -> Outcome:
    """Fit tomotopy's LDA; `average` takes the mean of samples of phi in the last fifth of the sweeps."""
    # It learns alpha, one value per topic, every 10 sweeps by default. It cannot learn eta, and its default
    # of 0.01 is often too small, so there are variants with other values. burn_in = 100 is what its own
    # examples set. The default parallel scheme is the one that it takes to be best for LDA.
    import tomotopy

    model = tomotopy.LDAModel(k=job.n_topics, alpha=ALPHA, eta=eta, seed=job.seed)
    model.burn_in = 100
    for document in job.documents():
        model.add_doc(document)
    if job.report is not None:
        while model.global_step < job.sweeps:
            model.train(REPORT_EVERY, workers=N_THREADS)
            job.report(model.global_step)
    length = Length.of(job.sweeps) if average else Length(job.sweeps - 1, 1, 1)
    model.train(max(0, length.iterations - model.global_step), workers=N_THREADS)
    total = np.zeros((job.n_topics, job.corpus.n_words))
    for _ in range(length.samples):
        model.train(length.interval, workers=N_THREADS)
        total += [model.get_topic_word_dist(t) for t in range(job.n_topics)]
    phi = job.in_order(total / length.samples, list(model.used_vocabs))
    notes = {"eta": float(model.eta), "samples": length.samples}
    return Outcome(phi, np.asarray(model.alpha, np.float64), model.global_step, notes)


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
    length = Length.of(job.sweeps)
    model = topica.LDA(
        job.n_topics,
        alpha_sum=learning.alpha * job.n_topics,
        beta=ETA,
        seed=job.seed,
        num_threads=N_THREADS,
        sampler=sampler,
        burn_in=learning.burn_in,
        optimize_interval=learning.interval,
    ).fit(
        corpus,
        iters=length.iterations,
        num_samples=length.samples,
        sample_interval=length.interval,
        progress=first_argument_to(job.report) or False,
        progress_interval=REPORT_EVERY,
        keep_theta_draws=False,
        check_every=0,
    )
    phi = job.in_order(model.topic_word, model.vocabulary)
    notes = {"eta": float(model.beta), "samples": length.samples}
    return Outcome(phi, np.asarray(model.alpha, np.float64), length.sweeps, notes)


def fit_pyrmallet(job: Job, *, learning: Learning = OFTEN) -> Outcome:
    """Fit RustMallet's LDA, which has one thread."""
    # Its class takes nothing but raw text and leaves out numbers, so the extension module is called as that
    # class calls it, with another pattern of words.
    from pyrmallet import _rust_mallet

    texts = [" ".join(document) for document in job.documents()]
    corpus = _rust_mallet.Corpus.from_strings(texts, token_regex=r"\d+")
    length = Length.of(job.sweeps)
    model = _rust_mallet.train(
        corpus,
        num_topics=job.n_topics,
        iterations=length.iterations,
        num_samples=length.samples,
        sample_interval=length.interval,
        alpha_sum=learning.alpha * job.n_topics,
        beta=ETA,
        seed=job.seed,
        callback=first_argument_to(job.report),
        callback_interval=REPORT_EVERY,
        burn_in=learning.burn_in,
        optimize_interval=learning.interval,
    )
    phi = job.in_order(model.topic_word_matrix(), model.vocabulary)
    notes = {"eta": float(model.beta), "samples": length.samples}
    return Outcome(phi, np.asarray(model.alpha, np.float64), length.sweeps, notes)


def first_argument_to(report: Callable[[int], None] | None) -> Callable[..., None] | None:
    """Return a callback that passes on the first of its arguments, the number of sweeps."""
    return None if report is None else lambda sweep, *_: report(sweep)


@dataclass(frozen=True)
class Length:
    """The length of a run of other packages: some sweeps, then others between samples that are averaged."""

    iterations: int
    samples: int
    interval: int

    @classmethod
    def of(cls, sweeps: int) -> Length:
        """Return the length with about this many sweeps in all, and the usual share of them late."""
        sweeps = max(2, sweeps)
        samples = max(1, min(N_SAMPLES, int(LATE_SHARE * sweeps)))
        interval = max(1, round(LATE_SHARE * sweeps / samples))
        return cls(max(1, sweeps - samples * interval), samples, interval)

    @property
    def sweeps(self) -> int:
        """Number of sweeps in all."""
        return self.iterations + self.samples * self.interval


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


def own_megabytes() -> float:
    """Return the largest memory that this process has used so far."""
    try:
        return peak_megabytes()
    except OSError:
        # On Linux this would count the memory of the parent process, too.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    method, corpus_file, n_topics, *rest = sys.argv[1:]
    with np.load(corpus_file) as arrays:
        vocabulary = tuple(str(word) for word in range(int(arrays["n_words"])))
        corpus = Corpus(arrays["words"], arrays["offsets"], vocabulary)
    if not rest:
        METHODS[method](Job(corpus, int(n_topics), 0, ENDLESS, report))
        return
    seed, sweeps, result_file = rest
    before = own_megabytes()
    outcome = METHODS[method](Job(corpus, int(n_topics), int(seed), int(sweeps)))
    record = {
        "sweeps": outcome.sweeps,
        "megabytes": own_megabytes(),
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
