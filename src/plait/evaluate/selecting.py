"""Choose the number of topics: held-out likelihood with the one-standard-error rule, coherence, stability.

Held-out likelihood recommends. Of the numbers of topics whose likelihood is within one standard error of the
best, it takes the smallest; the standard error is that of the difference to the best on the same documents.
Beyond that number, more topics do not predict new documents measurably better. That standard error is over
documents, for the fits that were made. If one that covers seeds as well would recommend a smaller number, the
explanation says so.

Coherence prefers the number with the largest mean NPMI, stability the one whose topics agree most between
seeds, beyond unrelated topics. They object to the recommended number if it is worse than the preferred one by
more than `COHERENCE_MARGIN` and one standard error over seeds, or by more than `STABILITY_MARGIN`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

from plait.checks import check_choice, check_integer, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.evaluate.fit_groups import FitGroup, best_of, write_table
from plait.evaluate.fits import (
    N_SEEDS,
    FitTask,
    check_common,
    check_seconds,
    run_fits,
    shared_settings,
    working_in,
)
from plait.evaluate.holding_out import SHARE, hold_out
from plait.evaluate.sources import check_corpus, check_top
from plait.models.lda import MAX_TOPICS
from plait.plans import MAX_SWEEPS, SAMPLERS, Plan
from plait.topic_fits import DEFAULT_PLAN, TopicSettings, topic_plan

TOPICS: Final = (10, 20, 50, 100, 200)

COHERENCE_MARGIN: Final = 0.01
"""Differences in mean NPMI up to this are too small to choose by."""

STABILITY_MARGIN: Final = 0.05
"""Differences in the mean cosine up to this are too small to choose by."""


@dataclass(frozen=True)
class Candidate:
    """What is known about one number of topics.

    Attributes
    ----------
    n_topics : int
        The number T.
    per_token : float
        Held-out log-likelihood per token, mean over seeds.
    below_best : float
        How much lower that is than the best.
    error : float
        Standard error of that difference, over documents.
    error_with_seeds : float
        The same, over documents and seeds.
    coherence : float
        Mean NPMI.
    coherence_error : float
        Its standard error over seeds; NaN for one seed.
    stability : float or None
        Mean cosine of topics matched between seeds, minus that of unrelated topics; None for one seed.
    """

    n_topics: int
    per_token: float
    below_best: float
    error: float
    error_with_seeds: float
    coherence: float
    coherence_error: float
    stability: float | None


@dataclass(frozen=True)
class Choice:
    """A recommended number of topics, and the numbers that the criteria prefer.

    Attributes
    ----------
    recommended : int
        The smallest number within one standard error of the best held-out likelihood.
    perhaps : int
        What would be recommended if the standard error covered seeds, too.
    held_out : int
        The number with the best held-out likelihood.
    coherence : int
        The number with the largest mean NPMI.
    stability : int or None
        The number with the most stable topics; None for one seed.
    objections : tuple of str
        The criteria, of "coherence" and "stability", by which the recommended number is clearly worse.
    """

    recommended: int
    perhaps: int
    held_out: int
    coherence: int
    stability: int | None
    objections: tuple[str, ...]


def choose(candidates: Sequence[Candidate]) -> Choice:
    """Recommend a number of topics; see the top of the module for the rules."""
    by_size = sorted(candidates, key=lambda candidate: candidate.n_topics)
    best = max(by_size, key=lambda candidate: candidate.per_token)
    chosen = next(c for c in by_size if c is best or c.below_best <= c.error)
    perhaps = next(c for c in by_size if c is best or c.below_best <= c.error_with_seeds)
    coherent = max(by_size, key=lambda candidate: candidate.coherence)
    objections = []
    errors = [0.0 if math.isnan(c.coherence_error) else c.coherence_error for c in (coherent, chosen)]
    if coherent.coherence - chosen.coherence > max(COHERENCE_MARGIN, math.hypot(*errors)):
        objections.append("coherence")
    known = [(candidate.stability, candidate) for candidate in by_size if candidate.stability is not None]
    stable = max(known, key=lambda pair: pair[0])[1] if known else None
    if (
        stable is not None
        and stable.stability is not None
        and chosen.stability is not None
        and stable.stability - chosen.stability > STABILITY_MARGIN
    ):
        objections.append("stability")
    return Choice(
        chosen.n_topics,
        perhaps.n_topics,
        best.n_topics,
        coherent.n_topics,
        None if stable is None else stable.n_topics,
        tuple(objections),
    )


def explain(candidates: Sequence[Candidate], choice: Choice) -> list[str]:
    """Return a few sentences about a choice: why, whether the criteria agree, and what to do if not."""
    by_number = {candidate.n_topics: candidate for candidate in candidates}
    own, best = by_number[choice.recommended], by_number[choice.held_out]
    if own is best:
        why = (
            f"Take {own.n_topics} topics: they predict held-out documents best ({own.per_token:.4f} per"
            " token), and no smaller number comes within one standard error of that."
        )
    else:
        why = (
            f"Take {own.n_topics} topics: it is the smallest number whose prediction of held-out documents"
            f" ({own.per_token:.4f} per token) is within one standard error ({own.error:.4f}) of the best,"
            f" that of {best.n_topics} topics ({best.per_token:.4f})."
        )
    lines = [why]
    if choice.perhaps < choice.recommended:
        lines.append(
            f"Fits with different seeds vary so much that {choice.perhaps} topics may do as well: more seeds"
            " would tell."
        )
    if choice.objections:
        preferred = {"coherence": choice.coherence, "stability": choice.stability}
        wishes = " and ".join(f"{name} prefers {preferred[name]}" for name in choice.objections)
        if len(choice.objections) == 2 and choice.coherence == choice.stability:
            wishes = f"coherence and stability prefer {choice.coherence}"
        readable = sorted({preferred[name] or 0 for name in choice.objections})
        numbers = " or ".join(map(str, readable))
        lines.append(
            f"The criteria disagree: held-out prediction prefers {own.n_topics} topics, but {wishes}."
            f" To predict, or as features, take {own.n_topics}; if people are to read the topics, look at"
            f" the top words with {numbers} as well, and take that unless themes you need are missing."
        )
    elif choice.stability is None:
        lines.append("Coherence does not object; with one seed, nothing is known about stability.")
    else:
        lines.append("Neither coherence nor stability objects.")
    numbers_tried = sorted(by_number)
    if len(numbers_tried) > 1 and choice.recommended == numbers_tried[-1]:
        lines.append("It is the largest number tried, so try larger ones, too.")
    elif len(numbers_tried) > 1 and choice.recommended == numbers_tried[0]:
        lines.append("It is the smallest number tried, so try smaller ones, too.")
    return lines


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """The result of `select`.

    Attributes
    ----------
    topics : tuple of int
        The numbers of topics, increasing.
    groups : tuple of FitGroup
        The fits with each number.
    settings : dict
        The settings of all fits.
    n_documents, n_scored, n_unknown : int
        Numbers of fitted documents, of held-out documents, and of tokens of these that were left out because
        no fitted document has the word.
    """

    topics: tuple[int, ...]
    groups: tuple[FitGroup, ...]
    settings: dict[str, Any]
    n_documents: int
    n_scored: int
    n_unknown: int

    def __repr__(self) -> str:
        return f"Selection(recommended={self.recommended}, {', '.join(map(repr, self.groups))})"

    def candidates(self) -> list[Candidate]:
        """Return what the choice is based on, by number of topics."""
        best = best_of(self.groups)
        found = []
        for n_topics, group in zip(self.topics, self.groups, strict=True):
            below = best.difference(group)
            stable = group.stability
            found.append(
                Candidate(
                    n_topics,
                    group.per_token,
                    below.value,
                    below.error_documents,
                    below.error,
                    group.mean("coherence"),
                    group.spread("coherence") / math.sqrt(len(group.fits)),
                    None if stable is None else stable.cosine - stable.unrelated.cosine,
                )
            )
        return found

    @property
    def choice(self) -> Choice:
        """The recommended number, and those that the criteria prefer."""
        return choose(self.candidates())

    @property
    def recommended(self) -> int:
        """The recommended number of topics."""
        return self.choice.recommended

    def explain(self) -> list[str]:
        """Return the recommendation in words."""
        return explain(self.candidates(), self.choice)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per number of topics: scores by name, and the difference to the best."""
        recommended = self.recommended
        return [
            {
                "topics": candidate.n_topics,
                **group.as_row(),
                "below_best": candidate.below_best,
                "below_best_error": candidate.error,
                "recommended": candidate.n_topics == recommended,
                "fits": group.fit_rows(),
            }
            for candidate, group in zip(self.candidates(), self.groups, strict=True)
        ]

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write select.json, select.csv and, if matplotlib is there, select.png and select.svg.

        Returns
        -------
        list of Path
            The files that were written.
        """
        from plait.evaluate.plots import draw_selection

        place, choice = Path(folder), self.choice
        rest = {
            "settings": self.settings,
            "documents": self.n_documents,
            "held_out_documents": self.n_scored,
            "unknown_tokens": self.n_unknown,
            "recommended": choice.recommended,
            "recommended_with_seed_error": choice.perhaps,
            "preferred": {
                "held_out": choice.held_out,
                "coherence": choice.coherence,
                "stability": choice.stability,
            },
            "objections": list(choice.objections),
            "explanation": self.explain(),
        }
        write_table(self.rows(), rest, place, "select")
        return [place / "select.json", place / "select.csv", *draw_selection(self, place)]


def check_topic_numbers(topics: Any) -> tuple[int, ...]:
    """Return different numbers of topics, increasing, or raise an error."""
    if isinstance(topics, (str, bytes)) or not isinstance(topics, Iterable):
        raise PlaitError(
            Argument("topics"), f" must be a list such as [10, 20, 50], got {short_repr(topics)}"
        )
    numbers = [check_integer("topics", number, least=2, most=MAX_TOPICS) for number in topics]
    if len(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise PlaitError(
            Argument("topics"), f" must be at least two different numbers, got {short_repr(numbers)}"
        )
    return tuple(sorted(numbers))


def select(
    corpus: Corpus,
    topics: Sequence[int] = TOPICS,
    *,
    n_paths: int | str | Plan = DEFAULT_PLAN,
    max_seconds: float | None = None,
    n_sweeps: int | None = None,
    n_seeds: int = N_SEEDS,
    held_out_share: float = SHARE,
    alpha: float | None = None,
    eta: float | None = None,
    method: str = "partially-collapsed",
    top: int = 10,
    seed: int = 0,
    folder: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Selection:
    """Fit several numbers of topics and recommend one of them.

    Fits are made one after another, each on all cores, the first seed of all numbers first.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    topics : sequence of int
        The numbers of topics to try.
    n_paths : int, str or Plan
        The plan of all fits, the name of one, or a number of paths.
    max_seconds : float, optional
        Time of each fit, instead of a number of sweeps. More topics then get fewer sweeps, so give enough.
    n_sweeps : int, optional
        Number of sweeps of each fit; by default that of the plan.
    n_seeds : int
        Number of fits of each number of topics.
    held_out_share, alpha, eta, method, top, seed, folder, n_jobs, verbose
        As in `compare`.

    Returns
    -------
    Selection

    Raises
    ------
    plait.evaluate.fits.FitsStopped
        On Ctrl-C. Finished fits are kept in `folder`.

    Examples
    --------
    >>> import plait
    >>> corpus = plait.datasets.bands(60, seed=1).corpus
    >>> found = plait.evaluate.select(corpus, [2, 5], n_sweeps=10, n_seeds=2)
    >>> found.topics
    (2, 5)
    """
    corpus = check_corpus(corpus)
    numbers = check_topic_numbers(topics)
    check_choice("method", method, SAMPLERS)
    common = check_common(n_seeds, held_out_share, alpha, eta, top, seed, n_jobs, verbose)
    if max_seconds is not None and n_sweeps is not None:
        raise PlaitError("give ", Argument("max_seconds"), " or ", Argument("n_sweeps"), ", not both")
    if max_seconds is not None:
        max_seconds = check_seconds(max_seconds)
    if n_sweeps is not None:
        check_integer("n_sweeps", n_sweeps, least=1, limit=MAX_SWEEPS)
    plan = topic_plan(n_paths, method, n_sweeps, learns=alpha is None or eta is None)
    stages = [stage.describe() for stage in plan.stages]
    with working_in(folder) as place:
        split = hold_out(corpus, common["held_out"], seed=seed, n_jobs=n_jobs)
        check_top(top, split.fitted.n_words, least=2)
        settings = shared_settings(
            "select",
            corpus,
            max_seconds=max_seconds,
            n_jobs=n_jobs,
            sweeps=None if max_seconds is not None else plan.n_sweeps,
            stages=stages,
            **common,
        )
        tasks = [
            FitTask(str(number), k, TopicSettings(number, plan, alpha=alpha, eta=eta))
            for k in range(n_seeds)
            for number in numbers
        ]
        fits = run_fits(
            tasks,
            split,
            settings,
            seed=seed,
            max_seconds=max_seconds,
            top=top,
            folder=place,
            n_jobs=n_jobs,
            verbose=verbose,
        )
    groups = tuple(
        FitGroup.of_fits(str(number), fits[k :: len(numbers)], top=top, seed=seed, n_jobs=n_jobs)
        for k, number in enumerate(numbers)
    )
    sizes = split.fitted.n_documents, split.scored.n_documents, split.n_unknown
    return Selection(numbers, groups, settings | {"seeds": n_seeds}, *sizes)
