"""A set of fits, made one after another and stored in a folder, so that a repeated command resumes.

    settings.json            what all fits of the folder share, and a digest of the corpus
    fits/NAME-SEED-KEY.fit   one finished fit: its scores, and its topics in single precision

A fit is stored in one file, which is written atomically when the fit is finished. Names of files contain a
digest of all that tells the fit from the others. Fits that are in the folder already are read, not repeated;
so the list of fits may grow from one command to the next, while shared settings must stay the same.

Fits use all cores, one at a time: side by side they would take time from each other. Their seeds are drawn
with a key, see `plait.rng`.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.arrays import check_form, frozen_copy, stored
from plait.checks import check_flag, check_integer, check_number, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, PlaitWarning
from plait.evaluate.distinctness import diversity
from plait.evaluate.heldout import HeldOut, held_out
from plait.evaluate.holding_out import HeldOutSplit, check_share
from plait.evaluate.sources import TopicSource, resolve
from plait.evaluate.topic_coherence import coherence
from plait.interrupts import interrupt_flag, signal_number
from plait.models.lda import LdaModel
from plait.models.priors import check_prior
from plait.outputs import check_writable, exclusive, replacing
from plait.plans import MAX_SEED, Plan
from plait.progress import show_share
from plait.rng import FITS, generator
from plait.run import Run
from plait.sampler import LEARN_EVERY, Progress, sample
from plait.storage import DamagedFile, read_file, write_file
from plait.threads import count_threads
from plait.topic_fits import TopicSettings
from plait.version import __version__

SETTINGS: Final = "settings.json"
N_SEEDS: Final = 3
MAX_SEEDS: Final = 1000
_WAIT: Final = "wait until it is done, or choose another folder"
_NUMBERS: Final = ("log_likelihood", "coherence", "diversity", "seconds", "n_sweeps", "n_path_sweeps")
_WARM_UP_DOCUMENTS: Final = 20


class FitsStopped(KeyboardInterrupt):
    """Ctrl-C while fits were made; those that were finished are kept in the folder, if there is one.

    Attributes
    ----------
    n_done, n_fits : int
        Number of fits that are finished, and of all.
    number : int
        The number of the signal.
    """

    def __init__(self, n_done: int, n_fits: int, number: int = signal.SIGINT) -> None:
        super().__init__(f"interrupted after {n_done} of {n_fits} fits")
        self.n_done, self.n_fits, self.number = n_done, n_fits, number


@dataclass(frozen=True)
class FitTask:
    """A fit to be made.

    Attributes
    ----------
    name : str
        What is compared: the name of a contestant, or a number of topics.
    number : int
        Number of its seed, from 0.
    settings : TopicSettings
        Topics and priors; `n_paths` is a plan.
    n_restarts : int
        Number of runs with different seeds, which share the time and the sweeps. The best by training
        log-likelihood is the result.
    """

    name: str
    number: int
    settings: TopicSettings
    n_restarts: int = 1

    @property
    def plan(self) -> Plan:
        """The plan of each run."""
        assert isinstance(self.settings.n_paths, Plan)
        return self.settings.n_paths

    @property
    def key(self) -> dict[str, Any]:
        """All that tells the fit from others with the same shared settings."""
        return {
            "name": self.name,
            "seed": self.number,
            "topics": self.settings.n_topics,
            "restarts": self.n_restarts,
            "stages": [asdict(stage) for stage in self.plan.stages],
        }

    @property
    def file_name(self) -> str:
        """Name of the fit's file."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", self.name)[:40]
        return f"{slug}-{self.number}-{digest_of(self.key)[:12]}.fit"


@dataclass(frozen=True, eq=False, repr=False)
class FitScores:
    """A finished fit: its topics, and how good they are.

    Attributes
    ----------
    topics : ndarray of float32, (T, W)
        phi; rows sum to 1 up to rounding.
    held_out : HeldOut
        How well it predicts the held-out documents, by document completion.
    log_likelihood : float
        Training log-likelihood per token, log P(w, z | phi) after the last sweep.
    coherence : float
        Mean NPMI of the topics, in the fitted documents.
    diversity : float
        Share of distinct words among the top words.
    seconds : float
        Time of all sweeps.
    n_sweeps, n_path_sweeps : int
        Number of sweeps, and of sweeps times paths, over all restarts.
    """

    topics: NDArray[np.float32]
    held_out: HeldOut
    log_likelihood: float
    coherence: float
    diversity: float
    seconds: float
    n_sweeps: int
    n_path_sweeps: int

    @property
    def source(self) -> TopicSource:
        """The topics as other measures take them."""
        return TopicSource(self.topics.astype(np.float64), None, None)

    def save(self, path: Path, settings: str) -> None:
        """Write the fit to a file; `settings` is the digest of the shared settings."""
        arrays: dict[str, NDArray[Any]] = {
            "topics": self.topics,
            "document_scores": self.held_out.document_scores,
            "document_tokens": self.held_out.document_tokens,
        }
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        write_file(path, arrays, {"kind": "fit", "settings": settings, "scores": numbers})

    @classmethod
    def load(cls, path: Path, settings: str, shape: tuple[int, int], lengths: NDArray[np.int64]) -> FitScores:
        """Read a fit from a file that `save` wrote, or raise `DamagedFile`.

        Parameters
        ----------
        path : Path
            The file.
        settings : str
            The digest of the shared settings.
        shape : (int, int)
            Numbers of topics and words.
        lengths : ndarray of int64, (D,)
            Lengths of the held-out documents.
        """
        header, arrays = read_file(path)
        try:
            if (header.get("kind"), header.get("settings")) != ("fit", settings):
                raise PlaitError("it is of another set of fits")
            topics = stored(arrays, "topics", np.float32)
            check_form(Argument("topics"), topics, shape, np.float32)
            scores = stored(arrays, "document_scores")
            tokens = stored(arrays, "document_tokens", np.int64)
            if scores.shape != lengths.shape or not np.array_equal(tokens, lengths // 2):
                raise PlaitError("it is of other documents")
            numbers = {name: header["scores"][name] for name in _NUMBERS}
            if not all(isinstance(value, (int, float)) for value in numbers.values()):
                raise PlaitError("its scores are not numbers")
        except (PlaitError, KeyError, TypeError) as error:
            raise DamagedFile(f"{path} is not the file of this fit: {error}") from error
        return cls(frozen_copy(topics), HeldOut("completion", scores, tokens), **numbers)


def digest_of(value: object) -> str:
    """Return a digest of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def digest_of_corpus(corpus: Corpus) -> str:
    """Return a digest of the words of all documents."""
    found = hashlib.sha256()
    for part in (corpus.words, corpus.offsets):
        found.update(np.ascontiguousarray(part).data)
    found.update(json.dumps(corpus.vocabulary).encode())
    return found.hexdigest()


@contextmanager
def working_in(folder: str | PathLike[str] | None) -> Iterator[Path | None]:
    """Make a folder for fits and keep other processes out of it while the block runs."""
    if folder is None:
        yield None
        return
    place = Path(folder)
    try:
        place.joinpath("fits").mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise PlaitError(f"cannot make the folder {place}: {reason}. Choose another place") from None
    check_writable(place / SETTINGS)
    with exclusive(place / "fits" / ".lock", f"another process is working in {place}: {_WAIT}"):
        yield place


def check_folder(folder: Path, settings: Mapping[str, Any]) -> None:
    """Store the settings that all fits share, or raise an error if those in the folder are others."""
    path = folder / SETTINGS
    wanted: dict[str, Any] = json.loads(json.dumps(settings))
    if not path.exists():
        with replacing(path) as temporary:
            temporary.write_text(
                json.dumps({**wanted, "digest": digest_of(wanted)}, indent=1) + "\n", encoding="utf-8"
            )
        return
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        digest = found.pop("digest")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise PlaitError(f"{path} is damaged or not plait's: remove it, or choose another folder") from None
    if digest == digest_of(wanted) == digest_of(found):
        return
    for name in wanted | found:
        if wanted.get(name) != found.get(name):
            values = f"{short_repr(found.get(name))}, not {short_repr(wanted.get(name))}"
            what = "other documents" if name == "corpus" else f"other settings ({name}: {values})"
            raise PlaitError(
                f"{folder} holds fits with {what}: repeat the command as it was, or choose another folder"
            )
    raise PlaitError(f"{path} was changed: remove {folder}, or choose another folder")


def run_fits(
    tasks: Sequence[FitTask],
    split: HeldOutSplit,
    shared: Mapping[str, Any],
    *,
    seed: int,
    max_seconds: float | None,
    top: int,
    folder: Path | None,
    n_jobs: int | None,
    verbose: bool,
) -> list[FitScores]:
    """Make all fits that are not in the folder yet, and return all of them in the order of the tasks.

    Parameters
    ----------
    tasks : sequence of FitTask
        The fits, in the order in which they are made.
    split : HeldOutSplit
        The documents.
    shared : mapping
        The settings that all fits share, as JSON can hold them.
    seed : int
        Determines the seeds of all fits, and the scoring.
    max_seconds : float, optional
        Time of each fit, all restarts together, instead of the sweeps of its plan.
    top : int
        Number of top words for coherence and diversity.
    folder : Path, optional
        Where fits are stored, if anywhere.
    n_jobs : int, optional
        Number of threads; all cores by default.
    verbose : bool
        Whether to show progress.

    Raises
    ------
    FitsStopped
        On Ctrl-C.
    """
    settings = digest_of(json.loads(json.dumps(shared)))
    if folder is not None:
        check_folder(folder, shared)
    done: dict[int, FitScores] = {}
    if folder is not None:
        for i, task in enumerate(tasks):
            found = _find(folder / "fits" / task.file_name, settings, task, split)
            if found is not None:
                done[i] = found
    before = len(done) / len(tasks)
    maker = _FitMaker(split, seed, max_seconds, top, n_jobs)
    try:
        # One block for the whole loop: between two fits, a signal must neither be lost nor end the process.
        with show_share("fits", verbose) as show, interrupt_flag("step") as stop:
            if max_seconds is not None:
                maker.warm_up([task for i, task in enumerate(tasks) if i not in done])
            for i, task in enumerate(tasks):
                if i in done:
                    continue

                def report(share: float) -> None:
                    show((len(done) + share) / len(tasks), before)

                sampled = maker.sample(task, report)
                with interrupt_flag("fit", whole=True):  # what was sampled is not lost to a signal
                    scores = maker.score(sampled)
                    if folder is not None:
                        scores.save(folder / "fits" / task.file_name, settings)
                    done[i] = scores
                if stop.is_set():
                    raise FitsStopped(len(done), len(tasks), stop.number)
                show(len(done) / len(tasks), before)
    except KeyboardInterrupt as stopped:
        raise FitsStopped(len(done), len(tasks), signal_number(stopped)) from None
    return [done[i] for i in range(len(tasks))]


def _find(path: Path, settings: str, task: FitTask, split: HeldOutSplit) -> FitScores | None:
    """Return a fit that is stored; one whose file is damaged is made again, with a warning."""
    if not path.exists():
        return None
    shape = (task.settings.n_topics, split.fitted.n_words)
    try:
        return FitScores.load(path, settings, shape, split.scored.lengths)
    except DamagedFile as error:
        warnings.warn(f"{error}; the fit is made again", PlaitWarning, stacklevel=2)
        return None


class _Sampled(NamedTuple):
    """The best run of a fit; the time and the sweeps are those of all its runs."""

    best: Run
    seconds: float
    n_sweeps: int
    n_path_sweeps: int


@dataclass(frozen=True)
class _FitMaker:
    """Makes fits and scores them; the arguments are those of `run_fits`."""

    split: HeldOutSplit
    seed: int
    max_seconds: float | None
    top: int
    n_jobs: int | None

    def sample(self, task: FitTask, report: Callable[[float], object]) -> _Sampled:
        """Make the runs of one fit; `report` is called with the share that is done."""
        model = task.settings.fit(self.split.fitted, self.n_jobs).model
        best: Run | None = None
        seconds, n_sweeps, n_path_sweeps = 0.0, 0, 0
        for restart in range(task.n_restarts):
            run = self._run(task, model, restart, report)
            seconds += run.seconds
            n_sweeps += run.sweep
            n_path_sweeps += path_sweeps(run.settings.plan)
            if best is None or _log_likelihood(run) > _log_likelihood(best):
                best = run
        assert best is not None, "there is at least one restart"
        return _Sampled(best, seconds, n_sweeps, n_path_sweeps)

    def score(self, sampled: _Sampled) -> FitScores:
        """Score a fit."""
        source = resolve(sampled.best, n_jobs=self.n_jobs)
        return FitScores(
            topics=frozen_copy(source.topics.astype(np.float32)),
            held_out=held_out(source, self.split.scored, seed=self.seed, n_jobs=self.n_jobs),
            log_likelihood=_log_likelihood(sampled.best),
            coherence=coherence(source, self.split.fitted, top=self.top, n_jobs=self.n_jobs).overall,
            diversity=diversity(source, top=self.top, n_jobs=self.n_jobs).overall,
            seconds=sampled.seconds,
            n_sweeps=sampled.n_sweeps,
            n_path_sweeps=sampled.n_path_sweeps,
        )

    def _run(self, task: FitTask, model: LdaModel, restart: int, report: Callable[[float], object]) -> Run:
        own_seconds = None if self.max_seconds is None else self.max_seconds / task.n_restarts

        def follow(progress: Progress) -> None:
            if own_seconds is None:
                share = progress.state.sweep / progress.n_sweeps
            else:
                share = min(1.0, progress.seconds / own_seconds)
            report((restart + share) / task.n_restarts)

        return sample(
            model,
            n_paths=task.plan,
            seed=int(generator(self.seed, FITS, task.number, restart).integers(2**62)),
            max_seconds=own_seconds,
            n_jobs=self.n_jobs,
            callback=follow,
        )

    def warm_up(self, tasks: Sequence[FitTask]) -> None:
        """Compile or load the kernels of all plans, so that no fit spends its time on that."""
        documents = self.split.fitted.select(np.argsort(-self.split.fitted.lengths)[:_WARM_UP_DOCUMENTS])
        for stages, task in {task.plan.stages: task for task in tasks}.items():
            short = [replace(stage, sweeps=LEARN_EVERY) for stage in Plan(stages).without_growth().stages]
            sample(task.settings.fit(documents, self.n_jobs).model, n_paths=Plan(short), n_jobs=self.n_jobs)


def path_sweeps(plan: Plan) -> int:
    """Return the number of sweeps times paths of a plan, a measure of its cost."""
    return sum(
        stage.sweeps * stage.n_paths
        for stage in plan.without_growth().stages
        if isinstance(stage.n_paths, int)
    )


def _log_likelihood(run: Run) -> float:
    return float(run.trace.mean_log_joint()[-1]) / run.model.n_sites


def shared_settings(
    what: str,
    corpus: Corpus,
    *,
    max_seconds: float | None,
    n_jobs: int | None,
    **others: Any,
) -> dict[str, Any]:
    """Return the settings that all fits of a folder share.

    The number of threads is among them only if fits are given a time: otherwise it changes nothing.
    """
    return {
        "command": what,
        "plait": __version__,
        "corpus": digest_of_corpus(corpus),
        "time": max_seconds,
        "threads": None if max_seconds is None else count_threads(n_jobs),
        **others,
    }


def check_seconds(seconds: object) -> float:
    """Return the time of a fit, or raise an error."""
    number = check_number("max_seconds", seconds)
    if number == 0:
        raise PlaitError(Argument("max_seconds"), " must be a time above 0, got 0")
    return number


def check_common(
    n_seeds: int,
    held_out_share: float,
    alpha: float | None,
    eta: float | None,
    top: int,
    seed: int,
    n_jobs: int | None,
    verbose: bool,
) -> dict[str, Any]:
    """Check arguments that `compare` and `select` share; return those that all fits of a folder share."""
    check_integer("n_seeds", n_seeds, least=1, limit=MAX_SEEDS)
    check_flag("verbose", verbose)
    count_threads(n_jobs)
    for name, prior in (("alpha", alpha), ("eta", eta)):
        if prior is not None:
            check_prior(name, check_number(name, prior), {})
    return {
        "held_out": check_share(held_out_share),
        "alpha": alpha,
        "eta": eta,
        "top": check_integer("top", top, least=2),
        "seed": check_integer("seed", seed, least=0, most=MAX_SEED),
    }
