"""LDA with known topics, for inference on new documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plait.errors import PlaitError
from plait.kernels import lda as kernels
from plait.models.lda import LdaModel, TopicCounts, Topics
from plait.models.model import Arrays, Header, Key, Paths
from plait.models.topics import check_topics
from plait.threads import Threads


@dataclass(frozen=True, eq=False)
class FixedTopicsModel(LdaModel):
    """LDA with known topics: sampling it infers the topics of new documents.

    A document's random streams are keyed by its words, not by its position in the corpus. So its result does
    not depend on the other documents.

    Parameters
    ----------
    topics : Topics
        The parameters phi, which are not sampled.
    """

    kind: ClassVar[str] = "lda-fixed-topics"

    topics: Topics = field(kw_only=True)
    least_topics: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_topics(self.topics, self.corpus.n_words, self.n_topics, values=True)

    def _units(self) -> NDArray[np.int64]:
        """Return a hash of the words of each document, (D,)."""
        units = np.empty(self.corpus.n_documents, np.int64)
        kernels.hash_documents(self.corpus.words, self.corpus.offsets, units)
        return units

    def count(self, paths: Paths, threads: Threads) -> TopicCounts:
        """Return empty counts: known topics do not depend on them."""
        return TopicCounts(np.empty((0, self.n_topics), np.int32), np.zeros(self.n_topics, np.int64))

    def draw_parameters(self, counts: TopicCounts, key: Key, threads: Threads) -> Topics:
        """Return the known topics."""
        return self.topics

    def mean_parameters(self, counts: TopicCounts, threads: Threads) -> Topics:
        """Return the known topics."""
        return self.topics

    def resample_collapsed(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        """Raise an error: known topics are not integrated out."""
        raise PlaitError("known topics cannot be integrated out: sample with collapsed=False")

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Raise an error: save the model that the topics come from instead."""
        raise PlaitError(
            "inference with known topics cannot be saved: save the model that the topics come from"
        )
