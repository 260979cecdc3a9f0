"""How certain the topics of tokens are, given the topics phi."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.arrays import Floats
from plait.evaluate.agreement import token_agreement
from plait.inference.fitted import lda_model
from plait.models.model import Paths
from plait.run import Run

_CELLS: Final = 2**22


@dataclass(frozen=True, eq=False)
class Certainty:
    """The topic of each token, and how certain it is given phi.

    It measures neither the uncertainty of phi nor the stability between runs.

    Attributes
    ----------
    kind : {"paths", "assignments"}
        "paths": the share of the paths that give the token its most common topic. "assignments", of a run
        with one path, for which that share is always 1: the probability of the token's topic given phi and
        the topics of the other tokens of its document.
    topics : ndarray of uint16, (N,)
        The most common topic of each token over the paths.
    values : ndarray, (N,)
        From 0 to 1.
    """

    kind: str
    topics: NDArray[np.uint16]
    values: Floats

    def of_topics(self, n_topics: int) -> Floats:
        """Return the mean over the tokens of each topic, (T,); NaN for a topic without tokens."""
        n_tokens = np.bincount(self.topics, minlength=n_topics)
        sums = np.bincount(self.topics, weights=self.values, minlength=n_topics)
        return np.divide(sums, n_tokens, out=np.full(n_topics, np.nan), where=n_tokens > 0)


def certainty_of_tokens(run: Run, phi: Floats, *, of_one_path: bool = False) -> Certainty:
    """Return the topics of the tokens of a run, and their certainty given phi (T, W).

    With `of_one_path` it is that of the first path, as of a run with one, so that the two can be compared.
    """
    if len(run.paths) > 1 and not of_one_path:
        return Certainty("paths", most_common_topics(run.paths), token_agreement(run.paths))
    return Certainty("assignments", run.paths[0], _assignment_probabilities(run, phi))


def most_common_topics(paths: Paths) -> NDArray[np.uint16]:
    """Return the most common topic of each token, (N,); of several, that of the first path that has one."""
    most = np.zeros(paths.shape[1], np.int64)
    found = paths[0].copy()
    for path in paths:
        same = (paths == path).sum(axis=0)
        better = same > most
        found[better] = path[better]
        np.maximum(most, same, out=most)
    return found


def _assignment_probabilities(run: Run, phi: Floats) -> Floats:
    """Return P(p_i | p_-i, w, phi) for the topic p_i of each token of the first path.

    It is phi_t(w_i) (C^DT_dt - 1 + alpha_t) for its own topic t, over the same for all topics, of which only
    the own one is without the token itself.
    """
    model = lda_model(run)
    corpus, path = model.corpus, np.asarray(run.paths[0], np.intp)
    found = np.empty(corpus.n_tokens)
    by_word = np.ascontiguousarray(phi.T)
    n_documents = max(1, _CELLS // model.n_topics)
    start = 0
    while start < corpus.n_documents:
        # So many documents that neither their counts nor their tokens are too many.
        end = int(np.searchsorted(corpus.offsets, corpus.offsets[start] + n_documents, side="right")) - 1
        end = min(max(end, start + 1), start + n_documents, corpus.n_documents)
        tokens = slice(*corpus.offsets[[start, end]].tolist())
        document = np.repeat(np.arange(end - start), corpus.lengths[start:end])
        own = path[tokens]
        counts = np.zeros((end - start, model.n_topics)) + model.alpha_vector
        np.add.at(counts, (document, own), 1.0)
        likelihood = by_word[corpus.words[tokens]]
        total = np.einsum("it,it->i", likelihood, counts[document])
        each = np.arange(len(own))
        mine = likelihood[each, own]
        found[tokens] = mine * (counts[document, own] - 1.0) / np.maximum(total - mine, 1e-300)
        start = end
    return found
