"""How topic models are fitted by the estimator and by the command: named plans, learnt priors, seeds, starts.

A prior that is None is learnt; a number is fixed. docs/choosing.md has the measurements behind the plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from plait.checks import check_integer, list_names, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.inference.starts import with_initial
from plait.models.lda import LdaModel, Topics
from plait.models.seeds import SEED_WEIGHT, Seeds, seeded_prior
from plait.plans import Plan, Stage
from plait.threads import Threads

DEFAULT_SWEEPS: Final = 1000

LEARNING_SHARE: Final = 0.3
"""Share of the sweeps in which priors are learnt, with one path, before a given number of paths follows."""

PLANS: Final = {
    "prediction": Plan(
        [
            Stage("partitioned", 1, 200),  # topics form before priors are learnt from them
            Stage("partitioned", 1, 300, learn_priors=True),
            Stage("partitioned", 1, 450, learn_priors=True, average=True),
            Stage("partially-collapsed", 1, 50, average=True),  # exact, so that the run ends in its law
        ]
    ),
    "optimum": Plan(
        [
            Stage("partitioned", 1, 600, learn_priors=True),
            Stage("partially-collapsed", (1, 5), 400),
        ]
    ),
    "posterior": Plan(
        [
            Stage("partitioned", 1, 400, learn_priors=True),
            Stage("partially-collapsed", (1, 5), 200),
            Stage("collapsed", 1, 400, average=True),
        ]
    ),
}
"""The plans that have names."""

DEFAULT_PLAN: Final = "prediction"

LEAST_ETA: Final = 0.03
"""The least eta with which fits that learn it are sampled; see `LdaModel`."""


@dataclass(frozen=True)
class TopicFit:
    """What to sample, how, and how to call the topics.

    Attributes
    ----------
    model : LdaModel
        The model, with its start.
    plan : Plan
        The plan.
    names : dict of int to str
        Names of the seeded topics.
    """

    model: LdaModel
    plan: Plan
    names: dict[int, str]


@dataclass(frozen=True)
class TopicSettings:
    """The settings of a fit, as the estimator and the command take them.

    Attributes
    ----------
    n_topics : int
        Number of topics T.
    n_paths : int, str or Plan
        A plan, the name of one, or a number of paths; see `topic_plan`.
    sampler : str
        The sampler, if `n_paths` is a number.
    n_sweeps : int, optional
        Total number of sweeps; by default that of the plan.
    alpha, eta : optional
        The priors; None for those that are learnt. With seeds, eta is not learnt.
    init : object
        The start; see `plait.inference.starts.with_initial`.
    seeds : mapping, optional
        Seed words by the names of topics; see `plait.models.seeds.seeded_prior`.
    seed_weight : float
        Their weight.
    """

    n_topics: int
    n_paths: int | str | Plan = DEFAULT_PLAN
    sampler: str = "partially-collapsed"
    n_sweeps: int | None = None
    alpha: ArrayLike | None = None
    eta: Any = None
    init: Any = "uniform"
    seeds: Seeds | None = None
    seed_weight: float = SEED_WEIGHT

    def fit(self, corpus: Corpus, n_jobs: int | Threads | None = None, *, least_topics: int = 2) -> TopicFit:
        """Return the model and the plan for a corpus."""
        fixed: tuple[str, ...] = () if self.alpha is None else ("alpha",)
        if self.eta is not None or self.seeds is not None:
            fixed += ("eta",)
        plan = topic_plan(self.n_paths, self.sampler, self.n_sweeps, learns=len(fixed) < 2)
        eta, names = self.eta, tuple[str, ...]()
        if self.seeds is not None:
            most = max(stage.most_paths for stage in plan.stages)
            seeded = seeded_prior(corpus, self.n_topics, self.seeds, eta, self.seed_weight, n_paths=most)
            eta, names = seeded.eta, seeded.names
        learns_eta = "eta" not in fixed and any(stage.learn_priors for stage in plan.stages)
        model = LdaModel(
            corpus,
            self.n_topics,
            self.alpha,
            eta,
            least_topics=least_topics,
            fixed=fixed,
            least_eta=LEAST_ETA if learns_eta else 0.0,
        )
        return TopicFit(with_initial(model, self.init, n_jobs), plan, dict(enumerate(names)))


def is_same_fit(model: LdaModel, other: LdaModel) -> bool:
    """Return whether two models have the same data, initialisation and fixed priors; others may be learnt."""
    mine, theirs = model.initial, other.initial
    if isinstance(mine, Topics) and isinstance(theirs, Topics):
        same_start = np.array_equal(mine.phi, theirs.phi)
    else:
        same_start = isinstance(mine, str) and mine == theirs
    return (
        same_start
        and (model.n_topics, model.least_eta) == (other.n_topics, other.least_eta)
        and model.has_priors_of(other)
        and model.corpus.equals(other.corpus)
    )


def topic_plan(n_paths: int | str | Plan, sampler: str, n_sweeps: int | None, *, learns: bool) -> Plan:
    """Return the plan of a fit.

    Parameters
    ----------
    n_paths : int, str or Plan
        A number of paths, the name of a plan, or a plan. With a number, that many paths are sampled
        throughout if all priors are fixed. If any is learnt, it is learnt with one path, in the first
        `LEARNING_SHARE` of the sweeps unless `n_paths` is 1.
    sampler : str
        The sampler, if `n_paths` is a number.
    n_sweeps : int, optional
        Total number of sweeps; by default that of the plan, or `DEFAULT_SWEEPS`.
    learns : bool
        Whether any prior is learnt.
    """
    check_paths_or_plan("n_paths", n_paths)
    plan = PLANS[n_paths] if isinstance(n_paths, str) else n_paths
    if isinstance(plan, Plan):
        return plan if n_sweeps is None else plan.lasting(n_sweeps)
    n_paths = plan
    n_sweeps = check_integer("n_sweeps", DEFAULT_SWEEPS if n_sweeps is None else n_sweeps, least=1)
    if not learns or n_paths == 1 or n_sweeps == 1:
        return Plan([Stage(sampler, n_paths, n_sweeps, learn_priors=learns)])
    learning = min(max(1, round(LEARNING_SHARE * n_sweeps)), n_sweeps - 1)
    return Plan(
        [Stage(sampler, 1, learning, learn_priors=True), Stage(sampler, n_paths, n_sweeps - learning)]
    )


def check_paths_or_plan(name: str, value: object) -> None:
    """Raise an error if a value is neither a number of paths nor a plan nor the name of one."""
    if isinstance(value, str):
        if value not in PLANS:
            raise PlaitError(
                Argument(name),
                f" must be a number, a Plan or one of {list_names(PLANS)}, got {short_repr(value)}",
            )
    elif not isinstance(value, Plan):
        check_integer(name, value, least=1)
