"""Slim runs: the topics of a run without the documents that they were fitted to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from plait.data.corpus import Corpus
from plait.inference.fitted import fitted_topics, lda_model
from plait.models.model import Model
from plait.models.slim_lda import SlimLdaModel
from plait.plans import Settings
from plait.run import Run
from plait.threads import Threads, use_threads
from plait.trace import Trace


def slim(run: Run, n_jobs: int | Threads | None = None) -> Run:
    """Return a run of LDA without its documents, for inference: its file is far smaller.

    It keeps phi, averaged over late sweeps if there are averages, alpha, the names of topics, the
    vocabulary, and how text becomes words. New documents get the same topics, bit for bit. Resuming, and
    whatever needs the documents of the fit, takes the original.

    Parameters
    ----------
    run : Run
        A run of LDA, finished or not.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    run = run.best
    model = lda_model(run)
    corpus = model.corpus
    with use_threads(n_jobs) as threads:
        fitted = fitted_topics(run, threads)
        topics = run.parameters(threads)
    words = Corpus(
        np.empty(0, np.int32),
        np.zeros(2, np.int64),
        corpus.vocabulary,
        recipe=corpus.recipe,
        forms=corpus.forms,
        reading=corpus.reading,
    )
    slim_model = SlimLdaModel(
        corpus=words,
        phi=topics.phi,
        alpha=model.alpha_vector,
        shares=fitted.shares,
        sizes=fitted.components.sum(axis=1),
        eta=float(np.asarray(model.eta).mean()),
        n_documents=corpus.n_documents,
        n_tokens=corpus.n_tokens,
    )
    settings = _without_options(run.settings.lasting(max(1, run.sweep)))
    return Run(
        cast(Model[Any, Any], slim_model),  # a model that has parameters, but cannot be sampled
        np.empty((settings.paths_after(run.sweep), 0), np.uint16),
        run.sweep,
        settings,
        Trace.empty(settings.most_paths),
        run.seconds,
        version=run.version,
        names=run.names,
    )


def _without_options(settings: Settings) -> Settings:
    """Return settings whose stages ask for nothing that a slim model lacks."""
    stages = [replace(stage, learn_priors=False, average=False) for stage in settings.stages]
    return replace(settings, stages=tuple(stages))
