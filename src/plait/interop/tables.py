"""Topics and documents as tables, for frames of pandas and for CSV files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from plait.evaluate.summary import summarise_topics, topic_names
from plait.inference.fitted import doc_topic
from plait.interop.source import lda_run_of


class Column(NamedTuple):
    """A column of a table."""

    header: str

    values: Iterable[Any]
    """One value per row."""


def topics_table(run: Any, n_words: int = 10) -> list[Column]:
    """Return a table with one row per topic, by number: topic, name, share, words."""
    run, _ = lda_run_of(run)
    summaries = sorted(summarise_topics(run, n_words), key=lambda summary: summary.topic)
    return [
        Column("topic", [summary.topic for summary in summaries]),
        Column("name", topic_names(run)),
        Column("share", [summary.share for summary in summaries]),
        Column("words", [" ".join(summary.words) for summary in summaries]),
    ]


def documents_table(run: Any) -> list[Column]:
    """Return a table with one row per document: what is known about it, and its share of each topic.

    Its columns are document (its number), name and date where the corpus has them, the other columns of the
    corpus, tokens (its length), and one per topic with the name of the topic. Where two would have the same
    header, that of a topic gets " (topic 3)" and that of a column of the corpus " (corpus)" after it.
    """
    run, model = lda_run_of(run)
    corpus, shares = model.corpus, doc_topic(run)
    known = [Column("document", range(corpus.n_documents))]
    known += [Column("name", corpus.names)] if corpus.names is not None else []
    known += [Column("date", corpus.dates)] if corpus.dates is not None else []
    tokens = Column("tokens", corpus.lengths.tolist())
    taken = {column.header for column in (*known, tokens)}
    topics = [
        Column(_free(name, taken, f" (topic {t})"), shares[:, t]) for t, name in enumerate(topic_names(run))
    ]
    others = [Column(_free(name, taken, " (corpus)"), values) for name, values in corpus.columns.items()]
    return [*known, *others, tokens, *topics]


def _free(header: str, taken: set[str], addition: str) -> str:
    """Return a header that is not taken yet, and take it."""
    while header in taken:
        header += addition
    taken.add(header)
    return header
