"""The measures of `plait.evaluate.timeconc` for a run: the weights of its topics over the years."""

from __future__ import annotations

import numpy as np

from plait.answers.periods import parse
from plait.checks import check_integer
from plait.errors import PlaitError
from plait.evaluate.timeconc import YearlyTopics, yearly_topics
from plait.inference.fitted import lda_model
from plait.run import Run


def topic_years(run: Run, *, path: int = 0) -> YearlyTopics:
    """Return the weights of the topics of a run of LDA over the years; see `YearlyTopics`.

    Documents of a year have equal weight, unlike in `timeline`, where their tokens have. Documents whose date
    is missing or cannot be read are left out.

    Parameters
    ----------
    run : Run
        A run of LDA whose documents have dates.
    path : int
        The path that is measured: the mean over several would be less concentrated than each of them.
    """
    corpus = lda_model(run).corpus
    path = check_integer("path", path, least=0, most=len(run.paths) - 1)
    if corpus.dates is None:
        raise PlaitError("the corpus has no dates: fit the model again with the dates of the documents")
    days = [parse(date) for date in corpus.dates]
    dated = np.array([d for d, day in enumerate(days) if day is not None], np.int64)
    if not dated.size:
        raise PlaitError("no date can be read: write dates as 1863, 1863-11 or 1863-11-19, and fit again")
    kept = np.repeat([day is not None for day in days], corpus.lengths)
    years = np.array([day.year for day in days if day is not None], np.int64)
    return yearly_topics(corpus.select(dated), run.paths[path][kept], run.model.n_states, years=years)
