"""Answers from fitted topics, as frames of pandas: methods of `LatentDirichletAllocation`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from plait import answers
from plait.checks import check_integer
from plait.errors import Argument, PlaitError
from plait.evaluate.summary import summarise_topics, topic_names
from plait.interop.frames import documents_frame, frame_of, words_frame
from plait.interop.tables import Column
from plait.run import Run


class TopicAnswers:
    """Methods of a fitted estimator of topics that answer questions about its documents.

    The functions behind them are in `plait.answers`; they need no pandas.
    """

    run_: Run
    n_jobs: int | None
    seed_: int

    def top_words(self, n: int = 10) -> Any:
        """Return the most probable words of each topic.

        Parameters
        ----------
        n : int
            Number of words per topic.

        Returns
        -------
        pandas.DataFrame
            A row per topic and word, indexed by the topic: name, rank, word, stem and probability.
        """
        check_is_fitted(self)
        return words_frame(self.run_, check_integer("n", n, least=1))

    def documents(self, topic: int | str, n: int = 10) -> Any:
        """Return the documents that are most typical of a topic; see `plait.answers.documents`.

        Parameters
        ----------
        topic : int or str
            Number or name of the topic.
        n : int
            Number of documents.

        Returns
        -------
        pandas.DataFrame
            A row per document, indexed by its number: name, date, share, tokens and excerpt.
        """
        check_is_fitted(self)
        found = answers.documents(self.run_, topic, n)
        return frame_of(
            [
                Column("document", [own.document for own in found]),
                Column("name", [own.name for own in found]),
                Column("date", [own.date for own in found]),
                Column("share", [own.share for own in found]),
                Column("tokens", [own.n_tokens for own in found]),
                Column("excerpt", [own.excerpt.text for own in found]),
            ]
        )

    def timeline(self, by: str = "year") -> Any:
        """Return the share of each topic per period; see `plait.answers.timeline`.

        Parameters
        ----------
        by : str
            "decade", "year", "month", "week" or "day", or the name of a column of the corpus.

        Returns
        -------
        pandas.DataFrame
            A row per period and a column per topic, under its name; NaN where no document has words. What
            was left out is in its `attrs`.
        """
        check_is_fitted(self)
        found = answers.timeline(self.run_, by)
        names = topic_names(self.run_)
        shares = [Column(name, found.shares[:, t]) for t, name in enumerate(names)]
        frame = frame_of([Column(by, list(found.periods)), *shares])
        frame.attrs["left_out"] = found.notes()
        return frame

    def similar(
        self,
        document: int | str | None = None,
        *,
        topic: int | str | None = None,
        text: str | None = None,
        n: int = 10,
    ) -> Any:
        """Return the documents that are similar to a document or a text, or the topics similar to a topic.

        Give one of the first three arguments; see `plait.answers.similar` and `plait.answers.similar_topics`.

        Parameters
        ----------
        document : int or str, optional
            Number or name of a document.
        topic : int or str, optional
            Number or name of a topic.
        text : str, optional
            A text.
        n : int
            How many to return.

        Returns
        -------
        pandas.DataFrame
            A row per document or topic, indexed by its number, with its similarity from 0 to 1.
        """
        check_is_fitted(self)
        if topic is None:
            found = answers.similar(self.run_, document, text=text, n=n, seed=self.seed_, n_jobs=self.n_jobs)
            rows = [asdict(own) for own in found]
            headers = ("document", "name", "date", "similarity", "topic")
            return frame_of([Column(header, [row[header] for row in rows]) for header in headers])
        if document is not None or text is not None:
            raise PlaitError(
                "give one of ", Argument("document"), ", ", Argument("topic"), " and ", Argument("text")
            )
        own = answers.similar_topics(self.run_, topic, n, n_jobs=self.n_jobs)
        labels = {summary.topic: " ".join(summary.words) for summary in summarise_topics(self.run_)}
        return frame_of(
            [
                Column("topic", [one.topic for one in own]),
                Column("similarity", np.array([one.similarity for one in own])),
                Column("words", [labels[one.topic] for one in own]),
            ]
        )

    def to_frame(self) -> Any:
        """Return the documents with their metadata and topics; see `plait.interop.documents_frame`."""
        check_is_fitted(self)
        return documents_frame(self.run_)
