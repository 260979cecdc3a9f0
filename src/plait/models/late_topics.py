"""Averages of topics over the late sweeps of a run; see `plait.models.late`.

Counts are averaged, and phi and theta are their means given these counts. A topic that has changed its
identity within the sweeps is averaged over the later part of them alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.models.late import PARTS, LateSums

if TYPE_CHECKING:
    from plait.models.lda import LdaModel

_SAME_TOPIC = 0.5  # least cosine of a topic with itself some sweeps later


def late_topic_word(model: LdaModel, late: LateSums) -> Floats:
    """Return phi averaged over late sweeps, (T, W), in double precision; rows sum to 1."""
    pseudo = late_pseudo_counts(model, late)
    pseudo /= pseudo.sum(axis=1, keepdims=True)
    return pseudo


def late_pseudo_counts(model: LdaModel, late: LateSums) -> Floats:
    """Return C^TW_tw of a path, averaged over late sweeps, plus eta_tw, (T, W)."""
    pseudo: Floats = _mean_counts(late, "words").T + model.eta_matrix
    return pseudo


def late_theta(model: LdaModel, late: LateSums) -> Floats:
    """Return theta averaged over late sweeps, (D, T); rows sum to 1."""
    theta = late_document_counts(late) + model.alpha_vector
    theta /= theta.sum(axis=1, keepdims=True)
    return theta


def late_document_counts(late: LateSums) -> Floats:
    """Return C^DT_dt of a path, averaged over late sweeps, (D, T)."""
    return _mean_counts(late, "documents")


def changed_topics(late: LateSums) -> NDArray[np.intp]:
    """Return the topics whose words in the earlier and in the later part of the late sweeps differ.

    Those are the topics for which the cosine of the two is below 1/2.
    """
    if not all(late.n_paths.values()):
        return np.empty(0, np.intp)
    earlier, later = (np.asarray(late.sums[part]["words"], np.float64) for part in PARTS)
    norms = np.sqrt((earlier**2).sum(axis=0) * (later**2).sum(axis=0))
    return np.flatnonzero((earlier * later).sum(axis=0) < _SAME_TOPIC * norms)


def _mean_counts(late: LateSums, name: str) -> Floats:
    """Return counts of a path, averaged over late sweeps."""
    means: Floats = late.total(name) / late.n
    changed = changed_topics(late)
    if len(changed):
        means[:, changed] = late.sums["later"][name][:, changed] / late.n_paths["later"]
    return means
