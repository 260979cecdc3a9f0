"""The topics of two models, matched one to one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plait.answers.maps import hellinger_similarities
from plait.arrays import Floats, frozen
from plait.errors import PlaitError
from plait.inference.fitted import fitted_topics, lda_model
from plait.run import Run
from plait.threads import Threads


@dataclass(frozen=True, eq=False)
class MatchedTopics:
    """The topics of two runs, matched so that the sum of their similarities is largest.

    Attributes
    ----------
    similarities : ndarray, (T, U)
        Similarity of each topic of the first run to each of the second; see `similar_topics`.
    first, second : ndarray of int64, (P,)
        The topics of each pair, the most similar pair first. P is the smaller number of topics.
    only_first, only_second : tuple of int
        The topics that are left over, where one run has more.
    """

    similarities: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    only_first: tuple[int, ...]
    only_second: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("similarities", "first", "second"):
            frozen(getattr(self, name))

    @property
    def matched(self) -> Floats:
        """The similarity of each pair, (P,)."""
        return self.similarities[self.first, self.second]


def match_topics(first: Run, second: Run, *, n_jobs: int | Threads | None = None) -> MatchedTopics:
    """Match the topics of two runs of LDA by their words, one to one.

    Vocabularies may differ: a word that only one of the models knows has probability 0 in the other, so the
    more there are of these, the less similar topics are.

    Parameters
    ----------
    first, second : Run
        Runs of LDA.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.
    """
    from scipy.optimize import linear_sum_assignment  # takes long to import

    own, other = (fitted_topics(run, n_jobs).topic_word for run in (first, second))
    words, others = (lda_model(run).corpus.vocabulary for run in (first, second))
    if words != others:
        places = {word: w for w, word in enumerate(others)}
        shared = [(w, places[word]) for w, word in enumerate(words) if word in places]
        if not shared:
            raise PlaitError("the two models have no word in common: compare models of similar texts")
        columns, other_columns = map(list, zip(*shared, strict=True))
        own, other = own[:, columns], other[:, other_columns]
    similarities = hellinger_similarities(own, other)
    rows, columns = linear_sum_assignment(similarities, maximize=True)
    order = np.argsort(-similarities[rows, columns], kind="stable")
    return MatchedTopics(
        similarities,
        rows[order].astype(np.int64),
        columns[order].astype(np.int64),
        tuple(sorted(set(range(len(own))) - set(rows.tolist()))),
        tuple(sorted(set(range(len(other))) - set(columns.tolist()))),
    )
