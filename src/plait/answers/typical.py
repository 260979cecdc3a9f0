"""The documents that are most typical of a topic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plait.answers.choosing import topic_number
from plait.answers.excerpts import WIDTH, Excerpt, excerpt
from plait.checks import check_integer
from plait.inference.fitted import doc_topic, lda_model
from plait.run import Run


@dataclass(frozen=True)
class TypicalDocument:
    """A document that is typical of a topic.

    Attributes
    ----------
    document : int
        Its number, from 0.
    name, date : str or None
        Its name and date, if the corpus has them.
    share : float
        The share of the topic in it, see `documents`.
    n_tokens : int
        Number of its tokens.
    excerpt : Excerpt
        The passage with most words of the topic.
    """

    document: int
    name: str | None
    date: str | None
    share: float
    n_tokens: int
    excerpt: Excerpt


def documents(run: Run, topic: int | str, n: int = 10, *, width: int = WIDTH) -> list[TypicalDocument]:
    """Return the documents that are most typical of a topic, the most typical first.

    Documents are in the order of theta_dt, the mean of the topic's share given the topics of the tokens:

        theta_dt = (C^DT_dt + alpha_t) / (n_d + sum_t alpha_t)

    The prior alpha counts like sum_t alpha_t more tokens in every document. So a document of three words, all
    of the topic, comes after one of a hundred words of which nine in ten are; among equal shares, the longer
    document comes first. Documents without tokens are left out.

    Parameters
    ----------
    run : Run
        A run of LDA.
    topic : int or str
        Number or name of the topic.
    n : int
        Number of documents.
    width : int
        Characters of an excerpt.
    """
    corpus = lda_model(run).corpus
    t = topic_number(run, topic)
    check_integer("n", n, least=1)
    check_integer("width", width, least=20)
    shares = doc_topic(run)[:, t]
    order = np.lexsort((-corpus.lengths, -shares))
    order = order[corpus.lengths[order] > 0][:n]
    return [
        TypicalDocument(
            document=d,
            name=None if corpus.names is None else corpus.names[d],
            date=None if corpus.dates is None else corpus.dates[d],
            share=float(shares[d]),
            n_tokens=int(corpus.lengths[d]),
            excerpt=excerpt(corpus, d, words_of_topic(run, d, t), width),
        )
        for d in order.tolist()
    ]


def words_of_topic(run: Run, document: int, topic: int) -> set[str]:
    """Return the words of a document that at least half of the paths give to a topic at some place."""
    corpus = lda_model(run).corpus
    start, stop = corpus.offsets[document : document + 2]
    is_own = (run.paths[:, start:stop] == topic).mean(axis=0) >= 0.5
    return {corpus.vocabulary[w] for w in corpus.words[start:stop][is_own]}
