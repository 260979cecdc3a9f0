"""Compare ways to fit topics on one corpus, at equal time or equal sweeps.

A contestant is a plan, by its name ("prediction") or as it is, a number of paths (5), or the best of several
restarts of one ("5x1": five runs with one path, each with a fifth of the time; the one with the best training
log-likelihood counts). All get the same time; or the same number of sweeps times paths, which is reproducible
to the bit, though a sweep of one sampler may take longer than that of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple

from plait.checks import check_choice, check_integer, list_names, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.evaluate.fit_groups import Difference, FitGroup, best_of, write_table
from plait.evaluate.fits import (
    N_SEEDS,
    FitTask,
    check_common,
    check_seconds,
    path_sweeps,
    run_fits,
    shared_settings,
    working_in,
)
from plait.evaluate.holding_out import SHARE, hold_out
from plait.evaluate.sources import check_corpus, check_top
from plait.models.lda import MAX_TOPICS
from plait.plans import MAX_SWEEPS, SAMPLERS, Plan
from plait.topic_fits import PLANS, TopicSettings, topic_plan

CONTESTANTS: Final = ("prediction", "5", "5x1", "1")
SECONDS: Final = 30.0
MAX_RESTARTS: Final = 1000

CLEAR: Final = 2.0
"""Two contestants are told apart if they differ by more than this number of standard errors."""

_HINT: Final = ": give plans names, as in {'mine': Plan(...), 'default': 'prediction'}"
_SLOW: Final = 1.2  # a contestant that takes longer than this times its time is worth a note


class Contestant(NamedTuple):
    """A way to fit topics.

    Attributes
    ----------
    name : str
        As the user wrote it.
    n_paths : int, str or Plan
        A number of paths, a plan, or the name of one.
    n_restarts : int
        Number of restarts, of which the best counts.
    """

    name: str
    n_paths: int | str | Plan
    n_restarts: int = 1


def check_contestants(contestants: Any) -> tuple[Contestant, ...]:
    """Return contestants, given as numbers and strings such as "5", "5x1" and "prediction".

    A mapping gives them other names, and its values may be plans, too.
    """
    if isinstance(contestants, Mapping):
        found = tuple(_named(name, value) for name, value in contestants.items())
    elif isinstance(contestants, (str, bytes, int)) or not hasattr(contestants, "__iter__"):
        raise PlaitError(
            Argument("contestants"),
            f" must be a list such as ['prediction', 5], got {short_repr(contestants)}",
        )
    else:
        found = tuple(_contestant(contestant) for contestant in contestants)
    if len(found) < 2:
        raise PlaitError(Argument("contestants"), f" must be at least two, got {len(found)}: add another")
    names = [contestant.name for contestant in found]
    for name in names:
        if names.count(name) > 1:
            raise PlaitError(
                Argument("contestants"),
                f" must not have duplicates, got {short_repr(name)} twice: remove one",
            )
    return found


def _named(name: object, value: Any) -> Contestant:
    if not isinstance(name, str) or not name.strip():
        raise PlaitError(
            Argument("contestants"),
            f" must have names that are strings and not empty, got {short_repr(name)}",
        )
    return Contestant(name, value) if isinstance(value, Plan) else _contestant(value)._replace(name=name)


def _contestant(value: Any) -> Contestant:
    text = str(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else ""
    match = re.fullmatch(r"(?:([0-9]{1,9})x)?([0-9]{1,9}|[a-z-]+)", text, re.ASCII)
    if match is not None:
        n_paths = int(match[2]) if match[2].isdigit() else match[2]
        n_restarts = 1 if match[1] is None else int(match[1])
        if 1 <= n_restarts <= MAX_RESTARTS and (n_paths in PLANS or (isinstance(n_paths, int) and n_paths)):
            return Contestant(text, n_paths, n_restarts)
    raise PlaitError(
        Argument("contestants"),
        f" must be plans ({list_names(PLANS)}), numbers of paths such as 5, or restarts of either such as"
        f" 5x1, got {short_repr(value)}{_HINT if isinstance(value, Plan) else ''}",
    )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    groups : tuple of FitGroup
        The fits of each contestant.
    settings : dict
        The settings of all fits.
    n_documents, n_scored, n_unknown : int
        Numbers of fitted documents, of held-out documents, and of tokens of these that were left out because
        no fitted document has the word.
    """

    groups: tuple[FitGroup, ...]
    settings: dict[str, Any]
    n_documents: int
    n_scored: int
    n_unknown: int

    def __repr__(self) -> str:
        return f"Comparison({', '.join(map(repr, self.groups))})"

    @property
    def best(self) -> FitGroup:
        """The contestant that predicts held-out documents best."""
        return best_of(self.groups)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per contestant: scores by name, and the difference to the first contestant."""
        rows = []
        for group in self.groups:
            difference = group.difference(self.groups[0])
            rows.append(
                {
                    "contestant": group.name,
                    **group.as_row(),
                    "above_first": difference.value,
                    "above_first_error_documents": difference.error_documents,
                    "above_first_error": difference.error,
                    "fits": group.fit_rows(),
                }
            )
        return rows

    def explain(self) -> list[str]:
        """Return in words which contestants are best and which cannot be told apart from them."""
        best = self.best
        others = [(group.name, best.difference(group)) for group in self.groups if group is not best]
        lines = describe_standing(best.name, best.per_token, others)
        if len(best.fits) == 1:
            lines.append("There was one seed each, so the standard errors say nothing about other seeds.")
        seconds = self.settings["time"]
        for group in self.groups:
            if seconds is not None and group.mean("seconds") > _SLOW * seconds:
                lines.append(
                    f"{group.name} took {group.mean('seconds'):.3g} s instead of {seconds:.3g} s, because"
                    " each of its stages makes at least one sweep: compare with more time."
                )
        return lines

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write compare.json, compare.csv and, if matplotlib is there, compare.png and compare.svg.

        Returns
        -------
        list of Path
            The files that were written.
        """
        from plait.evaluate.plots import draw_comparison

        place = Path(folder)
        rest = {
            "settings": self.settings,
            "documents": self.n_documents,
            "held_out_documents": self.n_scored,
            "unknown_tokens": self.n_unknown,
            "best": self.best.name,
            "explanation": self.explain(),
        }
        write_table(self.rows(), rest, place, "compare")
        return [place / "compare.json", place / "compare.csv", *draw_comparison(self, place)]


def describe_standing(best: str, per_token: float, others: Sequence[tuple[str, Difference]]) -> list[str]:
    """Return sentences about the contestants, given how much better the best is than each of the others."""
    lines = [f"Best on held-out documents: {best}, with {per_token:.4f} per token."]

    def listed(chosen: Sequence[tuple[str, Difference]]) -> str:
        parts = [f"{name} ({d.value:.4f} lower, standard error {d.error:.4f})" for name, d in chosen]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

    # Written so that a standard error that is not a number counts as one that tells nothing apart.
    clear = [(name, d) for name, d in others if d.value > CLEAR * d.error]
    close = [(name, d) for name, d in others if not d.value > CLEAR * d.error]
    if close:
        lines.append(f"Cannot be told apart from it: {listed(close)}.")
    else:
        lines.append("All others are worse by more than two standard errors.")
    if clear and close:
        lines.append(f"Worse by more than two standard errors: {listed(clear)}.")
    return lines


def plan_at_cost(make: Callable[[int], Plan], budget: int, least: int) -> Plan | None:
    """Return the longest plan with at most `budget` sweeps times paths; None if there is none.

    Parameters
    ----------
    make : callable
        Returns the plan with a number of sweeps.
    budget : int
        Number of sweeps times paths.
    least : int
        Smallest number of sweeps that `make` takes.
    """
    if budget < least or path_sweeps(make(least)) > budget:
        return None
    low, high = least, budget + 1  # a plan of `low` sweeps fits; one of `high` does not: a sweep has a path
    while high - low > 1:
        middle = (low + high) // 2
        if path_sweeps(make(middle)) <= budget:
            low = middle
        else:
            high = middle
    return make(low)


def _plan_of(contestant: Contestant, method: str, n_sweeps: int | None, learns: bool) -> Plan:
    """Return the plan of each run of a contestant, which has `n_sweeps` sweeps times paths in all."""

    def make(sweeps: int | None) -> Plan:
        return topic_plan(contestant.n_paths, method, sweeps, learns=learns)

    if n_sweeps is None:
        return make(None)
    plan = plan_at_cost(make, n_sweeps // contestant.n_restarts, len(make(None).stages))
    if plan is None:
        raise PlaitError(
            Argument("n_sweeps"),
            f" must be enough for one sweep in each stage of {contestant.name}, got {n_sweeps} sweeps times"
            " paths: give more, or leave it out of ",
            Argument("contestants"),
        )
    return plan


def compare(
    corpus: Corpus,
    contestants: Sequence[int | str] | Mapping[str, int | str | Plan] = CONTESTANTS,
    *,
    n_topics: int = 100,
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
) -> Comparison:
    """Compare ways to fit topics to a corpus, at equal time or equal sweeps.

    Fits are made one after another, each on all cores, the first seed of all contestants first.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    contestants : sequence of int or str, or mapping of str to int, str or Plan
        Plans ("prediction", "optimum", "posterior"), numbers of paths (5), and restarts of either ("5x1",
        "3xoptimum"). A mapping names them, and may contain plans of your own. Others are compared with the
        first.
    n_topics : int
        Number of topics T.
    max_seconds : float, optional
        Time of each fit; 30 seconds by default. Restarts share it.
    n_sweeps : int, optional
        Instead of a time, number of sweeps times paths of each fit; then results have the same bits every
        time.
    n_seeds : int
        Number of fits of each contestant.
    held_out_share : float
        Share of the documents that are held out; see `plait.evaluate.holding_out`.
    alpha, eta : float, optional
        The priors; learnt by default.
    method : {"partially-collapsed", "collapsed", "partitioned"}
        The sampler of contestants that are numbers of paths.
    top : int
        Number of top words for coherence, diversity and stability.
    seed : int
        Determines the split, the seeds of all fits and the scoring.
    folder : path, optional
        Where finished fits are stored. If the same comparison is repeated, they are read from there.
    n_jobs : int, optional
        Number of threads; all cores by default.
    verbose : bool
        Whether to show progress.

    Returns
    -------
    Comparison

    Raises
    ------
    plait.evaluate.fits.FitsStopped
        On Ctrl-C. Finished fits are kept in `folder`.

    Examples
    --------
    >>> import plait
    >>> corpus = plait.datasets.bands(60, seed=1).corpus
    >>> found = plait.evaluate.compare(corpus, [1, "2x1"], n_topics=5, n_sweeps=20, n_seeds=2)
    >>> [group.name for group in found.groups]
    ['1', '2x1']
    """
    corpus = check_corpus(corpus)
    found = check_contestants(contestants)
    n_topics = check_integer("n_topics", n_topics, least=2, most=MAX_TOPICS)
    check_choice("method", method, SAMPLERS)
    common = check_common(n_seeds, held_out_share, alpha, eta, top, seed, n_jobs, verbose)
    if max_seconds is not None and n_sweeps is not None:
        raise PlaitError("give ", Argument("max_seconds"), " or ", Argument("n_sweeps"), ", not both")
    if n_sweeps is not None:
        n_sweeps = check_integer("n_sweeps", n_sweeps, least=1, limit=MAX_SWEEPS)
    else:
        max_seconds = check_seconds(SECONDS if max_seconds is None else max_seconds)
    learns = alpha is None or eta is None
    plans = [_plan_of(contestant, method, n_sweeps, learns) for contestant in found]
    with working_in(folder) as place:
        split = hold_out(corpus, common["held_out"], seed=seed, n_jobs=n_jobs)
        check_top(top, split.fitted.n_words, least=2)
        settings = shared_settings(
            "compare",
            corpus,
            max_seconds=max_seconds,
            n_jobs=n_jobs,
            sweeps=n_sweeps,
            topics=n_topics,
            **common,
        )
        tasks = [
            FitTask(
                contestant.name,
                number,
                TopicSettings(n_topics, plan, alpha=alpha, eta=eta),
                contestant.n_restarts,
            )
            for number in range(n_seeds)
            for contestant, plan in zip(found, plans, strict=True)
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
        FitGroup.of_fits(contestant.name, fits[k :: len(found)], top=top, seed=seed, n_jobs=n_jobs)
        for k, contestant in enumerate(found)
    )
    sizes = split.fitted.n_documents, split.scored.n_documents, split.n_unknown
    return Comparison(groups, settings | {"seeds": n_seeds, "method": method}, *sizes)
