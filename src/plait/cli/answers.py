"""Commands that answer questions about the documents of a topic model."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import jobs_option, json_option, load_run, model_argument, seed_option
from plait.cli.output import print_json, print_passage, print_table, sparkline
from plait.display import say, shell_word, table_cell
from plait.errors import PlaitError, rename_arguments

if TYPE_CHECKING:
    from plait.answers import SimilarDocument, Timeline, TypicalDocument
    from plait.evaluate.summary import TopicSummary
    from plait.run import Run

_SPARK_WIDTH = 40
_MOST_COLUMNS = 8
"""Periods that have a column each on a terminal; more are drawn as a line of small bars."""

topic_argument = click.option(
    "--topic", required=True, metavar="TOPIC", help="Number or name of the topic; `plait topics` lists them."
)


def _load(model: Path) -> Run:
    return load_run(model, "lda", f"this is for topics; `plait states {shell_word(model)}` lists its states")


def _summaries(run: Run, n_words: int = 3) -> dict[int, TopicSummary]:
    """Return the summaries of all topics by number, the largest topic first."""
    from plait.evaluate.summary import summarise_topics

    return {summary.topic: summary for summary in summarise_topics(run, n_words)}


# -----------------------------------------------------------------------------------------------------
# Documents
# -----------------------------------------------------------------------------------------------------


@click.command(short_help="Show the documents that are most typical of a topic.")
@model_argument
@topic_argument
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Number of documents.")
@click.option(
    "--width", type=click.IntRange(20), default=200, show_default=True, help="Characters of an excerpt."
)
@json_option
def documents(model: Path, topic: str, top: int, width: int, as_json: bool) -> None:
    """Show the documents that are most typical of a topic, each with an excerpt.

    The excerpt is the passage with most words of the topic, which are bold on a terminal. The share of the
    topic takes the prior into account, which counts like some more words in every document: so a document of
    three words does not come first because all three are of the topic. In a pipe, each document is one line.

    \b
    Examples:
      plait documents model.plait --topic 3
      plait documents model.plait --topic taxes --top 20 --json
    """
    from plait.answers import documents as library
    from plait.answers.choosing import topic_number

    run = _load(model)
    found = library(run, topic, top, width=width)
    number = topic_number(run, topic)
    if as_json:
        print_json([_document_as_json(own, number, run) for own in found])
        return
    if found and not found[0].excerpt.is_text:
        say(
            "Note: the model has no texts, so excerpts are of its words; `plait fit lda` keeps texts unless"
            " --no-texts is given"
        )
    if not sys.stdout.isatty():
        rows = [
            [str(own.document), f"{own.share:.3f}", str(own.n_tokens), *map(table_cell, _texts_of(own))]
            for own in found
        ]
        print_table(["document", "share", "words", "date", "name", "excerpt"], rows, n_texts=3)
        return
    for own in found:
        known = "  ".join(part for part in (own.date, own.name) if part)
        title = f"{own.share:.3f}  document {own.document}, {own.n_tokens} words" + (known and f"  {known}")
        print_passage(title, own.excerpt.text, own.excerpt.marks)


def _texts_of(own: TypicalDocument) -> tuple[str, str, str]:
    return own.date or "", own.name or "", own.excerpt.text


def _document_as_json(own: TypicalDocument, topic: int, run: Run) -> dict[str, Any]:
    return {
        "document": own.document,
        "name": own.name,
        "date": own.date,
        "topic": topic,
        "topic_name": run.names.get(topic),
        "share": round(own.share, 6),
        "tokens": own.n_tokens,
        "excerpt": own.excerpt.text,
        "marks": [list(mark) for mark in own.excerpt.marks],
        "is_text": own.excerpt.is_text,
    }


# -----------------------------------------------------------------------------------------------------
# Timeline
# -----------------------------------------------------------------------------------------------------


@click.command(short_help="Show the shares of topics over time.")
@model_argument
@click.option(
    "--by",
    default="year",
    show_default=True,
    metavar="year|month|week|day|decade|COLUMN",
    help="Periods, or a column of the documents, whose values are compared.",
)
@click.option(
    "--topic", "chosen", multiple=True, metavar="TOPIC", help="Number or name of a topic; may be repeated."
)
@click.option("--top", type=click.IntRange(1), help="Show only the largest topics.  [default: all]")
@json_option
def timeline(model: Path, by: str, chosen: tuple[str, ...], top: int | None, as_json: bool) -> None:
    """Show the share of each topic in the words of each year, month, week, day or decade.

    Dates are those of --date-column when the model was fitted, and columns those of --keep-columns; weeks are
    those of ISO 8601. On a terminal, each topic is one line, with small bars. In a pipe, each line is one
    topic in one period.

    \b
    Examples:
      plait timeline model.plait --by year
      plait timeline model.plait --by month --topic 3 --topic taxes
      plait timeline model.plait --by party > party.txt
    """
    from plait.answers import timeline as library
    from plait.answers.choosing import topic_number

    run = _load(model)
    numbers = dict.fromkeys(topic_number(run, topic) for topic in chosen)
    with rename_arguments({"columns": "keep_columns"}):
        found = library(run, by)
    for note in found.notes():
        say(f"Note: {note}")
    summaries = _summaries(run)
    shown = [summaries[t] for t in numbers] if numbers else list(summaries.values())
    shown = shown[:top]
    if as_json:
        print_json(_timeline_as_json(found, shown))
    elif not sys.stdout.isatty():
        _print_tidy(found, shown)
    elif len(found.periods) <= _MOST_COLUMNS:
        _print_columns(found, shown)
    else:
        _print_sparklines(found, shown)


def _timeline_as_json(found: Timeline, shown: list[TopicSummary]) -> dict[str, Any]:
    def share(p: int, t: int) -> float | None:
        value = float(found.shares[p, t])
        return None if math.isnan(value) else round(value, 6)

    return {
        "by": found.by,
        "topics": [
            {"topic": s.topic, "name": s.name, "words": list(s.words), "share": round(s.share, 6)}
            for s in shown
        ],
        "periods": [
            {
                "period": period,
                "documents": int(found.n_documents[p]),
                "words": int(found.n_tokens[p]),
                "shares": {str(s.topic): share(p, s.topic) for s in shown},
            }
            for p, period in enumerate(found.periods)
        ],
        "left_out": {
            "without": found.n_without,
            "too_coarse": found.n_coarse,
            "unreadable": len(found.unreadable),
        },
    }


def _print_tidy(found: Timeline, shown: list[TopicSummary]) -> None:
    rows = []
    for p, period in enumerate(found.periods):
        for s in shown:
            share = found.shares[p, s.topic]
            cells = ["" if math.isnan(share) else f"{share:.6f}", table_cell(period), table_cell(s.label())]
            rows.append([str(found.n_documents[p]), str(found.n_tokens[p]), str(s.topic), *cells])
    print_table(["documents", "words", "topic", "share", found.by, "name"], rows, n_texts=2)


def _print_columns(found: Timeline, shown: list[TopicSummary]) -> None:
    rows = [
        [str(s.topic), *(_percent(found.shares[p, s.topic]) for p in range(len(found.periods))), s.label()]
        for s in shown
    ]
    rows.append(["", *map(str, found.n_documents), "documents"])
    print_table(["topic", *found.periods, "name"], rows)


def _print_sparklines(found: Timeline, shown: list[TopicSummary]) -> None:
    rows = []
    for s in shown:
        values = [float(share) for share in found.shares[:, s.topic]]
        known = [p for p, value in enumerate(values) if not math.isnan(value)]
        peak = found.periods[max(known, key=values.__getitem__)] if known else ""
        line = sparkline(values, _SPARK_WIDTH, sys.stdout)
        rows.append([str(s.topic), _percent(s.share), peak, line, s.label()])
    span = f"{found.periods[0]} to {found.periods[-1]}"
    print_table(["topic", "share", "highest", span, "name"], rows, n_texts=2)


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f} %"


# -----------------------------------------------------------------------------------------------------
# What is similar
# -----------------------------------------------------------------------------------------------------


@click.command(short_help="Find similar documents, or similar topics.")
@model_argument
@click.argument("document", required=False)
@click.option("--topic", metavar="TOPIC", help="Find the topics that are similar to this one.")
@click.option("--text", metavar="TEXT", help="Find the documents that are similar to this text.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many to show.")
@seed_option
@jobs_option
@json_option
def similar(
    model: Path,
    document: str | None,
    topic: str | None,
    text: str | None,
    top: int,
    seed: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Find the documents with topics like those of DOCUMENT, or the topics with words like those of a topic.

    DOCUMENT is the name of a document or its number, from 0. The similarity goes from 0 to 1; it is 1 minus
    the Hellinger distance of the topics of two documents, or of the words of two topics.

    \b
    Examples:
      plait similar model.plait "1863-Lincoln"
      plait similar model.plait --text "a tax on imported steel"
      plait similar model.plait --topic 3
    """
    from plait.answers import similar as library
    from plait.answers import similar_topics

    given = [name for name, value in (("DOCUMENT", document), ("--topic", topic), ("--text", text)) if value]
    if len(given) != 1:
        got = "none" if not given else " and ".join(given)
        raise PlaitError(f"give one of DOCUMENT, --topic and --text, got {got}")
    run = _load(model)
    summaries = _summaries(run, 10 if topic else 3)
    if topic is None:
        found = library(run, document or None, text=text or None, n=top, seed=seed, n_jobs=jobs)
        _print_documents(found, summaries, as_json)
        return
    similarities = {own.topic: own.similarity for own in similar_topics(run, topic, top, n_jobs=jobs)}
    if as_json:
        print_json(
            [
                {"topic": t, "name": summaries[t].name, "similarity": round(value, 6)}
                | {"words": list(summaries[t].words)}
                for t, value in similarities.items()
            ]
        )
        return
    rows = [
        [str(t), f"{value:.3f}", table_cell(summaries[t].name or ""), " ".join(summaries[t].words)]
        for t, value in similarities.items()
    ]
    print_table(["topic", "similarity", "name", "words"], rows, n_texts=2)


def _print_documents(found: list[SimilarDocument], summaries: dict[int, TopicSummary], as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {"document": own.document, "name": own.name, "date": own.date}
                | {"similarity": round(own.similarity, 6), "topic": own.topic}
                | {"topic_name": summaries[own.topic].name, "topic_words": list(summaries[own.topic].words)}
                for own in found
            ]
        )
        return
    rows = [
        [
            str(own.document),
            f"{own.similarity:.3f}",
            *(table_cell(text or "") for text in (own.date, own.name)),
            f"{own.topic} ({summaries[own.topic].label()})",
        ]
        for own in found
    ]
    print_table(["document", "similarity", "date", "name", "most in common"], rows, n_texts=3)
