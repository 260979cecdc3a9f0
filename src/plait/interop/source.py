"""What is exchanged: the run of an argument."""

from __future__ import annotations

from typing import Any, NamedTuple

from plait.checks import short_repr
from plait.errors import Argument, PlaitError
from plait.inference.fitted import lda_model, topic_model
from plait.models.lda import LdaModel
from plait.models.slim_lda import SlimLdaModel
from plait.run import Run


class LdaRun(NamedTuple):
    """A run of a topic model."""

    run: Run
    model: LdaModel


def run_of(source: Any) -> Run:
    """Return a run, or the run of a fitted estimator; of a fit that is not finished, the best so far."""
    run = getattr(source, "run_", source)
    if not isinstance(run, Run):
        raise PlaitError(Argument("run"), f" must be a Run or a fitted estimator, got {short_repr(source)}")
    return run.best


def lda_run_of(source: Any) -> LdaRun:
    """Return a run of a topic model and its model."""
    run = run_of(source)
    model = lda_model(run)
    if not len(run.paths):
        raise PlaitError(Argument("run"), " must have at least one path, got none: fit the model again")
    return LdaRun(run, model)


def topic_run_of(source: Any) -> Run:
    """Return a run of a topic model, perhaps without its documents."""
    run = run_of(source)
    return run if isinstance(topic_model(run), SlimLdaModel) else lda_run_of(run).run
