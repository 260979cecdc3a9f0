"""How topic models are fitted by the estimator and by the command: their named plans, and learnt priors.

A prior that is None is learnt; a number is fixed. docs/choosing.md has the measurements behind the plans.
"""

from __future__ import annotations

from typing import Any, Final

from numpy.typing import ArrayLike

from plait.checks import check_integer, list_names, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.models.lda import LdaModel
from plait.plans import Plan, Stage

DEFAULT_SWEEPS: Final = 1000

LEARNING_SHARE: Final = 0.3
"""Share of the sweeps in which priors are learnt, with one path, before a given number of paths follows."""

PLANS: Final = {
    "prediction": Plan(
        [
            Stage("partitioned", 1, 700, learn_priors=True),
            Stage("partitioned", 1, 300, learn_priors=True, average=True),
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


def topic_model(
    corpus: Corpus, n_topics: int, alpha: ArrayLike | None, eta: ArrayLike | None, **others: Any
) -> LdaModel:
    """Return the model of a fit; priors that are None are learnt, starting from the model's defaults."""
    fixed = tuple(name for name, prior in (("alpha", alpha), ("eta", eta)) if prior is not None)
    return LdaModel(corpus, n_topics, alpha, eta, fixed=fixed, **others)


def topic_plan(
    model: LdaModel, n_paths: int | str | Plan, *, sampler: str, n_sweeps: int | None = None
) -> Plan:
    """Return the plan of a fit.

    Parameters
    ----------
    model : LdaModel
        The model; `model.fixed` says which priors are not learnt.
    n_paths : int, str or Plan
        A number of paths, the name of a plan, or a plan. With a number, that many paths are sampled
        throughout if all priors are fixed. If any is learnt, it is learnt with one path, in the first
        `LEARNING_SHARE` of the sweeps unless `n_paths` is 1.
    sampler : str
        The sampler, if `n_paths` is a number.
    n_sweeps : int, optional
        Total number of sweeps; by default that of the plan, or `DEFAULT_SWEEPS`.
    """
    check_paths_or_plan("n_paths", n_paths)
    plan = PLANS[n_paths] if isinstance(n_paths, str) else n_paths
    if isinstance(plan, Plan):
        return plan if n_sweeps is None else plan.lasting(n_sweeps)
    n_paths = plan
    n_sweeps = check_integer("n_sweeps", DEFAULT_SWEEPS if n_sweeps is None else n_sweeps, least=1)
    learns = len(model.fixed) < len(model.priors())
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
