"""Topics, documents and tokens as frames of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plait.evaluate.agreement import token_agreement
from plait.interop.source import lda_run_of
from plait.interop.tables import Column, documents_table, topics_table, words_table
from plait.libraries import library


def topics_frame(run: Any, n_words: int = 10) -> Any:
    """Return a frame with one row per topic.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator.
    n_words : int
        Number of words per topic.

    Returns
    -------
    pandas.DataFrame
        Index: topic, its number. Columns: name, share (of the tokens, over all paths) and words (the most
        probable, separated by spaces).
    """
    return frame_of(topics_table(run, n_words))


def documents_frame(run: Any) -> Any:
    """Return a frame with one row per document, empty ones included.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator.

    Returns
    -------
    pandas.DataFrame
        Index: document, its number. Columns: name, date and the others of the corpus, where it has them, as
        text; tokens, the number of its tokens; and for each topic, under its name, the mean of theta given
        the paths.
    """
    return frame_of(documents_table(run))


def words_frame(run: Any, n_words: int = 10) -> Any:
    """Return a frame with one row per topic and word, the most probable words of each topic.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator.
    n_words : int
        Number of words per topic.

    Returns
    -------
    pandas.DataFrame
        Index: topic. Columns: name; rank, from 1; word, as it is shown; stem, as it is in the vocabulary; and
        probability.
    """
    return frame_of(words_table(run, n_words))


def tokens_frame(run: Any) -> Any:
    """Return a frame with one row per token.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator.

    Returns
    -------
    pandas.DataFrame
        Columns: document and position, from 0; word (categorical); the number of its topic in each path, as
        "path 0", "path 1" and so on; and agreement, the share of the paths that give it its most common
        topic, which says how certain the topic is given phi.
    """
    pandas = library("pandas")
    run, model = lda_run_of(run)
    corpus = model.corpus
    documents = np.repeat(np.arange(corpus.n_documents), corpus.lengths)
    columns = {
        "document": documents,
        "position": np.arange(corpus.n_tokens) - corpus.offsets[documents],
        "word": pandas.Categorical.from_codes(corpus.words, categories=list(corpus.vocabulary)),
    }
    columns |= {f"path {j}": path.copy() for j, path in enumerate(run.paths)}
    return pandas.DataFrame(columns | {"agreement": token_agreement(run.paths)})


def frame_of(columns: Sequence[Column]) -> Any:
    """Return the frame of a table, indexed by its first column."""
    pandas = library("pandas")
    index, *rest = columns
    frame = pandas.DataFrame(
        {column.header: column.values for column in rest}, index=pandas.Index(index.values, name=index.header)
    )
    assert frame.shape[1] == len(rest), "two columns have one header"
    return frame
