"""Initial topics of a model from other sources: a run, its file, a fitted estimator, or a matrix.

The vocabularies need not agree. Words are matched by their text, and words of the corpus that the source does
not know get their share of the corpus in every topic, see `plait.models.lda_starts.add_unknown`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from plait.arrays import Floats, check_numbers, place_of
from plait.checks import list_names, short_repr
from plait.errors import Argument, PlaitError, PlaitWarning
from plait.models.lda import LdaModel, Topics
from plait.models.lda_starts import STARTS, add_unknown
from plait.models.slim_lda import SlimLdaModel
from plait.run import Run, load
from plait.threads import Threads

_FEW = 0.5  # share of known tokens below which there is a warning


def with_initial(model: LdaModel, init: Any, n_jobs: int | Threads | None = None) -> LdaModel:
    """Return the model with another initialisation.

    Parameters
    ----------
    model : LdaModel
        The model.
    init : {"uniform", "progressive", "spectral"}, array (T, W), DataFrame, Topics, Run, estimator or path
        The initialisation: by name, or topics to start from. These come from a run of LDA, from its file,
        from a fitted estimator, or from a matrix. Without a vocabulary, which are the columns of a DataFrame,
        a matrix has one column per word of the corpus. Rows need not sum to 1.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    check_init("init", init)
    if isinstance(init, str) and init in STARTS:
        return replace(model, initial=init)
    topics, vocabulary = _topics_of(init, n_jobs)
    if len(topics) != model.n_topics:
        raise PlaitError(
            Argument("init"),
            " must have as many topics as ",
            Argument("n_topics"),
            f", {model.n_topics}, got {len(topics)}",
        )
    topics = _matched(topics, vocabulary, model)
    return replace(model, initial=model.as_topics(topics, n_jobs))


def check_init(name: str, init: object) -> None:
    """Raise an error unless `with_initial` could take this; files and vocabularies are not looked into."""
    if isinstance(init, (str, os.PathLike)):
        if init in STARTS or os.path.exists(init):
            return
    elif isinstance(init, (Run, Topics)) or hasattr(init, "run_"):
        return
    elif hasattr(init, "get_params"):
        raise PlaitError(
            Argument(name),
            f" must be fitted if it is an estimator, got {short_repr(init)}: fit it, or pass its run_, which"
            " scikit-learn does not reset in copies",
        )
    elif init is not None and _dimensions(init) == 2:
        return
    raise PlaitError(
        Argument(name),
        f" must be one of {list_names(STARTS)}, a matrix of topics and words, a run, a fitted estimator or"
        f" the file of a run, got {short_repr(init)}",
    )


def _dimensions(value: object) -> int:
    try:
        return np.ndim(value)  # type: ignore[arg-type]
    except ValueError:  # rows of different lengths
        return 0


def _topics_of(init: Any, n_jobs: int | Threads | None) -> tuple[Floats, Sequence[str] | None]:
    """Return topics (T, W) with rows that sum to 1, and their vocabulary unless it is that of the corpus."""
    if isinstance(init, Topics):
        return _distributions(init.topic_word), None
    run = init if isinstance(init, Run) else getattr(init, "run_", None)
    if run is None and isinstance(init, (str, os.PathLike)):
        run = load(init)
    if run is None:
        columns = getattr(init, "columns", None)
        return _distributions(init), None if columns is None else [str(word) for word in columns]
    run = run.best
    if not isinstance(run.model, (LdaModel, SlimLdaModel)):
        raise PlaitError(
            Argument("init"), f" must be a run of LDA, got a model of the kind {run.model.kind!r}"
        )
    return _distributions(run.parameters(n_jobs).topic_word), run.model.corpus.vocabulary


def _distributions(topics: Any) -> Floats:
    given = check_numbers("init", topics)
    wrong = ~((given >= 0) & (given < np.inf))
    if wrong.any():
        place, index = place_of(wrong)
        raise PlaitError(Argument("init"), f"{place} must be a number of at least 0, got {given[index]:g}")
    with np.errstate(over="ignore"):
        sums = given.sum(axis=1, keepdims=True)
    if not np.all((sums > 0) & (sums < np.inf)):
        row = int(np.argmax(~((sums > 0) & (sums < np.inf))))
        raise PlaitError(
            f"row {row} of ", Argument("init"), f" must have a positive sum, got {sums[row, 0]:g}"
        )
    return given / sums


def _matched(topics: Floats, vocabulary: Sequence[str] | None, model: LdaModel) -> Floats:
    """Return topics in the vocabulary of the model."""
    corpus, n_words = model.corpus, topics.shape[1]
    if vocabulary is None:
        if n_words != corpus.n_words:
            raise PlaitError(
                Argument("init"),
                f" must have one column for each of the {corpus.n_words} words, got {n_words}: pass a run or"
                " a DataFrame, whose words are matched by name",
            )
        own = topics
    else:
        index = {word: w for w, word in enumerate(vocabulary)}
        places = np.array([index.get(word, -1) for word in corpus.vocabulary])
        own = np.where(places >= 0, topics[:, places], 0.0)
    frequencies = model.frequencies / model.n_sites
    background = np.where((own > 0).any(axis=0), frequencies, 0.0)
    known = background.sum()
    if not known > 0:
        raise PlaitError(
            Argument("init"),
            f" must share words with the corpus, got {list_names((vocabulary or ())[:3])}, ..., where the"
            f" corpus has {list_names(corpus.vocabulary[:3])}, ...: read both texts in the same way",
        )
    if known < _FEW:
        warnings.warn(
            f"the initial topics know only {100 * known:.0f} % of the tokens: check that both texts were read"
            " in the same way",
            PlaitWarning,
            stacklevel=3,
        )
    sums = own.sum(axis=1, keepdims=True)
    # A topic of which the corpus has no word starts as the mean of all.
    own = np.where(sums > 0, own / np.where(sums > 0, sums, 1.0), background / known)
    return add_unknown(own, frequencies)
