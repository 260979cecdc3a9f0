"""The estimates of a run of LDA: phi, and theta and the topics of tokens of the documents it was fitted to.

All are averages over the late sweeps, if a stage of the run averaged them; otherwise means given its paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plait.arrays import Floats
from plait.checks import check_integer
from plait.errors import Argument, PlaitError
from plait.models.late_topics import (
    changed_topics,
    late_document_counts,
    late_pseudo_counts,
    late_theta,
    late_topic_word,
)
from plait.models.lda import LdaModel
from plait.models.slim_lda import SlimLdaModel
from plait.run import Run
from plait.threads import Threads, use_threads


def lda_model(run: Run) -> LdaModel:
    """Return the model of a run, which must be a run of LDA with its documents."""
    model = topic_model(run)
    if isinstance(model, LdaModel):
        return model
    raise PlaitError(
        "the model is for inference and lacks the documents that it was fitted to: this needs the model that"
        " it was exported from"
    )


def topic_model(run: Run) -> LdaModel | SlimLdaModel:
    """Return the model of a run, which must be a run of LDA, perhaps without its documents."""
    if isinstance(run.model, (LdaModel, SlimLdaModel)):
        return run.model
    raise PlaitError(
        Argument("run"), f" must have a model of the kind 'lda' (topic models), got {run.model.kind!r}"
    )


@dataclass(frozen=True, eq=False)
class FittedTopics:
    """The topics of a run.

    Attributes
    ----------
    topic_word : ndarray, (T, W)
        phi; rows sum to 1.
    components : ndarray, (T, W)
        Pseudo-counts of the words in each topic, averaged over paths and sweeps: C^TW_tw / m + eta_tw / m, or
        with averages C^TW_tw + eta_tw of one path.
    shares : ndarray, (T,)
        The share of the tokens that each topic has.
    """

    topic_word: Floats
    components: Floats
    shares: Floats


def fitted_topics(run: Run, n_jobs: int | Threads | None = None) -> FittedTopics:
    """Return the topics of a run of LDA.

    Parameters
    ----------
    run : Run
        The run.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    if isinstance(run.model, SlimLdaModel):
        topic_word = run.model.phi.T.astype(np.float64)
        return FittedTopics(topic_word, topic_word * run.model.sizes[:, None], run.model.shares)
    model = lda_model(run)
    if run.late is not None and run.late.n:
        topic_word = late_topic_word(model, run.late)
        components = late_pseudo_counts(model, run.late)
        tokens = run.late.total("words").sum(axis=0)
    else:
        with use_threads(n_jobs) as threads:
            counts = model.count(run.paths, threads)
        topic_word = model.topic_word(counts)
        components = model.pseudo_counts(counts) / len(run.paths)
        tokens = counts.topics
    return FittedTopics(topic_word, components, tokens / tokens.sum())


def doc_topic(run: Run) -> Floats:
    """Return theta of the documents that a run of LDA was fitted to, (D, T); rows sum to 1."""
    model = lda_model(run)
    if run.late is not None and run.late.n:
        return late_theta(model, run.late)
    return model.theta(_totals(run, model), len(run.paths))


def document_counts(run: Run) -> Floats:
    """Return how many tokens of each topic a document has, (D, T), on average over late sweeps or paths."""
    model = lda_model(run)
    if run.late is not None and run.late.n:
        return late_document_counts(run.late)
    return _totals(run, model) / len(run.paths)


def _totals(run: Run, model: LdaModel) -> Floats:
    totals = np.zeros((model.corpus.n_documents, model.n_topics))
    model.add_document_counts(run.paths, totals)
    return totals


def note_of_changes(run: Run) -> str:
    """Return a note on the topics that changed their identity while they were averaged; empty if none did."""
    changed = [] if run.late is None else changed_topics(run.late).tolist()
    if not changed:
        return ""
    which = f"topic {changed[0]}" if len(changed) == 1 else f"{len(changed)} topics, {_listed(changed)},"
    return (
        f"{which} changed while the sweeps were averaged: the average is over the later part of these sweeps;"
        " more sweeps before the average, or fewer topics, may help"
    )


def _listed(numbers: list[int], most: int = 5) -> str:
    return ", ".join(map(str, numbers[:most])) + (", ..." if len(numbers) > most else "")


def token_topics(run: Run, document: int, n_jobs: int | Threads | None = None) -> Floats:
    """Return the probability of each topic for each token of a document that the run was fitted to, (n, T).

    For every path, it is the distribution from which the sampler would draw the token's topic next,

        P(p_i = t | p_-i, w, phi)  proportional to  phi_t(w_i) (C^DT_dt + alpha_t),

    the token itself not counted; the mean over the paths is returned. That varies less than the share of
    paths that have topic t, as Papanikolaou, Foulds, Rubin and Tsoumakas (2017) show for one path (CGS_p).

    Parameters
    ----------
    run : Run
        A run of LDA.
    document : int
        Number of the document.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    model = lda_model(run)
    document = check_integer("document", document, least=0, most=model.corpus.n_documents - 1)
    start, stop = model.corpus.offsets[document : document + 2]
    phi = fitted_topics(run, n_jobs).topic_word[:, model.corpus.words[start:stop]].T
    own = np.asarray(run.paths[:, start:stop], np.intp)
    result = np.zeros_like(phi)
    for path in own:
        counts = np.bincount(path, minlength=model.n_topics) + model.alpha_vector
        weights = phi * (counts - np.eye(model.n_topics)[path])
        result += weights / weights.sum(axis=1, keepdims=True)
    return result / len(own)
