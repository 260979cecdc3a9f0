"""The documents of a report on a topic model: their tokens, each with its topic, or their texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait.answers.places import WordPlaces, in_utf16
from plait.arrays import Floats
from plait.data.corpus import Corpus
from plait.inference.fitted import lda_model
from plait.report.certainty import Certainty
from plait.report.packing import Payload, sixteenths, small_integers
from plait.run import Run

MOST_DOCUMENTS: Final = 25_000
MOST_TOKENS: Final = 2_000_000
"""Documents, and tokens of them, that one page holds."""

_MOST_CHARACTERS: Final = 20_000_000  # of texts in a page
_MOST_COLUMN: Final = 200  # different values of a column that is shown with a document
_HUNDREDTHS: Final = 100
_LEAST: Final = 2  # of them, for a topic to be listed with a document


def choose_documents(corpus: Corpus, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of the documents in the first page, in order: all, if there is room.

    Parameters
    ----------
    corpus : Corpus
        All documents.
    wanted : ndarray of int
        Documents that the page refers to: they are chosen first.
    """
    if corpus.n_documents <= MOST_DOCUMENTS and corpus.n_tokens <= MOST_TOKENS:
        return np.arange(corpus.n_documents)
    # The others at equal distances, as many as there is room for.
    mean = max(1.0, corpus.n_tokens / corpus.n_documents)
    room = min(MOST_DOCUMENTS, int(MOST_TOKENS / mean))
    others = np.unique(np.linspace(0, corpus.n_documents - 1, room).astype(np.int64))
    order = np.concatenate([wanted, np.setdiff1d(others, wanted)])
    fits = np.cumsum(corpus.lengths[order]) <= MOST_TOKENS
    fits[0] = True
    return np.sort(order[fits][:MOST_DOCUMENTS])


def parts_of(corpus: Corpus) -> list[tuple[int, int]]:
    """Return ranges of documents, each of which has room in one page; together they are all documents."""
    parts, start = [], 0
    while start < corpus.n_documents:
        end = int(np.searchsorted(corpus.offsets, corpus.offsets[start] + MOST_TOKENS, side="right")) - 1
        end = min(max(end, start + 1), start + MOST_DOCUMENTS, corpus.n_documents)
        parts.append((start, end))
        start = end
    return parts


def documents_block(
    run: Run, theta: Floats, certainty: Certainty, chosen: NDArray[np.int64], *, texts: bool
) -> Payload:
    """Return the documents of a page.

    Parameters
    ----------
    run : Run
        A run of LDA.
    theta : ndarray, (D, T)
        Topic distributions of all documents.
    certainty : Certainty
        The topic of each token.
    chosen : ndarray of int, (n,)
        Numbers of the documents.
    texts : bool
        Whether to show texts, if the corpus keeps them.

    Returns
    -------
    Payload
        "n_all": number of documents of the corpus. "gaps" (n,): the number of each document less that of the
        one before. "names", "dates": lists of str, or None. "columns": list of {"name", "values", "codes"
        (n,)}. "lengths" (n,): number of tokens. "topics", and "certainty" from 0 to 15, of all tokens, one
        after the other. "mixture_lengths" (n,), "mixture_topics" and "mixture_shares" in hundredths: the
        topics of each document with at least two of them, the largest first. Then either "texts", with
        "text_starts" and "text_lengths" of the tokens in them, in units of UTF-16, or "words": the numbers of
        the tokens in the list "vocabulary".
    """
    corpus = lda_model(run).corpus
    lengths = corpus.lengths[chosen]
    starts = corpus.offsets[chosen]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    tokens = np.repeat(starts, lengths) + within
    block: dict[str, Any] = {
        "gaps": small_integers(np.diff(chosen, prepend=0)),
        "n_all": corpus.n_documents,
        "names": _picked(corpus.names, chosen),
        "dates": _picked(corpus.dates, chosen),
        "columns": _columns(corpus, chosen),
        "lengths": small_integers(lengths),
        "topics": small_integers(certainty.topics[tokens]),
        "certainty": sixteenths(certainty.values[tokens]),
        **_mixtures(theta[chosen], lengths),
    }
    if texts and corpus.texts is not None and _n_characters(corpus, chosen) <= _MOST_CHARACTERS:
        return block | _texts(corpus, chosen)
    return block | _words(corpus, tokens)


def _words(corpus: Corpus, tokens: NDArray[np.int64]) -> dict[str, Any]:
    words = corpus.words[tokens]
    counts = np.bincount(words, minlength=corpus.n_words)
    used = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    number = np.zeros(corpus.n_words, np.int64)
    number[used] = np.arange(len(used))
    return {"vocabulary": [corpus.shown_words[w] for w in used], "words": small_integers(number[words])}


def _texts(corpus: Corpus, chosen: NDArray[np.int64]) -> dict[str, Any]:
    assert corpus.texts is not None
    finder = WordPlaces(corpus.recipe)
    texts = [corpus.texts[d] for d in chosen.tolist()]
    finder.learn(texts)
    places = [
        in_utf16(text, finder.tokens(corpus, d)) for text, d in zip(texts, chosen.tolist(), strict=True)
    ]
    both = np.concatenate(places) if places else np.empty((0, 2), np.uint32)
    return {
        "texts": texts,
        "text_starts": small_integers(both[:, 0]),
        "text_lengths": small_integers(both[:, 1]),
    }


def _n_characters(corpus: Corpus, chosen: NDArray[np.int64]) -> int:
    assert corpus.texts is not None
    return sum(len(corpus.texts[d]) for d in chosen.tolist())


def _mixtures(theta: Floats, lengths: NDArray[np.int64]) -> Payload:
    hundredths = np.rint(_HUNDREDTHS * theta).astype(np.int64)
    hundredths[lengths == 0] = 0
    shown = hundredths >= _LEAST
    document, topic = np.nonzero(shown)
    shares = hundredths[shown]
    order = np.lexsort((-shares, document))
    return {
        "mixture_lengths": small_integers(shown.sum(axis=1)),
        "mixture_topics": small_integers(topic[order]),
        "mixture_shares": small_integers(shares[order]),
    }


def _columns(corpus: Corpus, chosen: NDArray[np.int64]) -> list[Payload]:
    found: list[Payload] = []
    for name, values in corpus.columns.items():
        own = [values[d] for d in chosen.tolist()]
        distinct = sorted(set(own))
        if len(distinct) <= max(_MOST_COLUMN, len(own) // 4):
            number = {value: k for k, value in enumerate(distinct)}
            codes = small_integers([number[value] for value in own])
            found.append({"name": name, "values": distinct, "codes": codes})
    return found


def _picked(values: Sequence[str] | None, chosen: NDArray[np.int64]) -> list[str] | None:
    return None if values is None else [values[d] for d in chosen.tolist()]
