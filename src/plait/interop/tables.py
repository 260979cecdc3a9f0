"""What there is to tell about a run as tables, for frames of pandas, CSV files and workbooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from plait.answers import Timeline, describe, timeline
from plait.data.dates import parse_iso
from plait.evaluate.summary import summarise_topics, topic_names
from plait.inference.fitted import doc_topic
from plait.interop.source import lda_run_of, run_of, topic_run_of


class Column(NamedTuple):
    """A column of a table."""

    header: str

    values: Iterable[Any]
    """One value per row."""


def topics_table(run: Any, n_words: int = 10) -> list[Column]:
    """Return a table with one row per topic, by number: topic, name, share, words."""
    run = topic_run_of(run)
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


def words_table(run: Any, n_words: int = 10) -> list[Column]:
    """Return a table with one row per topic and word, the most probable words of each topic."""
    run = topic_run_of(run)
    summaries = sorted(summarise_topics(run, n_words), key=lambda summary: summary.topic)
    names = topic_names(run)
    rows = [
        (own.topic, names[own.topic], rank, own.words[rank - 1], own.stems[rank - 1], p)
        for own in summaries
        for rank, p in enumerate(own.probabilities, 1)
    ]
    headers = ("topic", "name", "rank", "word", "stem", "probability")
    return [
        Column(header, list(values)) for header, values in zip(headers, zip(*rows, strict=True), strict=True)
    ]


def time_table(run: Any, found: Timeline) -> list[Column]:
    """Return a timeline as a table with one row per period and topic; periods without words have no rows."""
    run, model = lda_run_of(run)
    periods = np.flatnonzero(found.n_tokens)
    n = model.n_topics
    names = topic_names(run)
    return [
        Column(found.by, [found.periods[p] for p in periods for _ in range(n)]),
        Column("topic", list(range(n)) * len(periods)),
        Column("name", names * len(periods)),
        Column("share", found.shares[periods].ravel().tolist()),
        Column("documents", np.repeat(found.n_documents[periods], n).tolist()),
        Column("tokens", np.repeat(found.n_tokens[periods], n).tolist()),
    ]


def parameters_table(run: Any) -> list[Column]:
    """Return a table with one row per setting, prior or result of a run: its name and its value."""
    run = run_of(run)
    rows = list(_flat("", describe(run)))
    if hasattr(run.model, "alpha_vector"):
        rows += [(f"model.priors.alpha.{t}", float(alpha)) for t, alpha in enumerate(run.model.alpha_vector)]
    return [Column("parameter", [name for name, _ in rows]), Column("value", [value for _, value in rows])]


def _flat(prefix: str, value: Any) -> Iterable[tuple[str, Any]]:
    """Yield the values in nested mappings and lists, with their places as names."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, inner)
    elif isinstance(value, list) and any(isinstance(inner, (Mapping, list)) for inner in value):
        for k, inner in enumerate(value):
            yield from _flat(f"{prefix}.{k}", inner)
    elif isinstance(value, list):
        yield prefix, " ".join(map(str, value))
    else:
        yield prefix, value


def all_tables(run: Any, n_words: int = 10) -> dict[str, list[Column]]:
    """Return all tables of a topic model by name; that of time only if documents have dates."""
    run, model = lda_run_of(run)
    tables = {
        "topics": topics_table(run, n_words),
        "documents": documents_table(run),
        "words": words_table(run, n_words),
        "parameters": parameters_table(run),
    }
    if any(parse_iso(date) for date in model.corpus.dates or ()):
        tables["time"] = time_table(run, timeline(run, "year"))
    return tables


def _free(header: str, taken: set[str], addition: str) -> str:
    """Return a header that is not taken yet, and take it."""
    while header in taken:
        header += addition
    taken.add(header)
    return header
