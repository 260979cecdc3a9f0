"""A keyed split of a corpus into documents to fit topics to and documents to score them on.

Every document with at least two tokens draws a number, whose key is the seed and the document's words as a
bag. The documents with the smallest numbers are held out. So whether a document is held out hardly depends on
the others, and equal documents are on the same side: a copy of a fitted document is never scored.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from plait.checks import check_integer, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, PlaitWarning
from plait.evaluate.heldout import shuffle
from plait.plans import MAX_SEED
from plait.rng import HELD_OUT, new_stream, open_stream, uniform
from plait.threads import use_threads

SHARE = 0.1


class HeldOutSplit(NamedTuple):
    """A corpus in two parts, which have the vocabulary of the first.

    Attributes
    ----------
    fitted : Corpus
        Documents to fit topics to.
    scored : Corpus
        Documents that are held out, without the words that no fitted document has.
    n_unknown : int
        Number of tokens of held-out documents that were left out because no fitted document has the word.
    """

    fitted: Corpus
    scored: Corpus
    n_unknown: int


def check_share(share: object) -> float:
    """Return the share of documents to hold out, or raise an error."""
    if (
        isinstance(share, (int, float, np.floating, np.integer))
        and not isinstance(share, bool)
        and 0 < share < 1
    ):
        return float(share)
    raise PlaitError(
        Argument("held_out_share"), f" must be a number above 0 and below 1, got {short_repr(share)}"
    )


def hold_out(
    corpus: Corpus, share: float = SHARE, *, seed: int = 0, n_jobs: int | None = None
) -> HeldOutSplit:
    """Split a corpus into documents to fit topics to and documents to score them on.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    share : float
        Share of the documents with at least two tokens to hold out; more if equal documents would be parted.
    seed : int
        The same seed gives the same split.
    n_jobs : int, optional
        Number of threads; all cores by default.
    """
    share = check_share(share)
    seed = check_integer("seed", seed, least=0, most=MAX_SEED)
    candidates = np.flatnonzero(corpus.lengths > 1)
    n_held_out = max(2, round(share * candidates.size))
    if candidates.size <= n_held_out:
        raise PlaitError(
            f"the corpus has {candidates.size} documents of at least two words: too few to hold out"
            f" {n_held_out} of them; give more documents"
        )
    with use_threads(n_jobs) as threads:
        units = shuffle(corpus, seed, threads).units[candidates]
    stream, draws = new_stream(), np.empty(candidates.size)
    for i, unit in enumerate(units.tolist()):
        open_stream(stream, seed, HELD_OUT, 0, unit)
        draws[i] = uniform(stream)
    is_held_out = np.zeros(corpus.n_documents, np.bool_)
    is_held_out[candidates[draws <= np.sort(draws)[n_held_out - 1]]] = True
    if not corpus.lengths[~is_held_out].any():
        raise PlaitError(
            "all documents are equal, so none can be held out: give a corpus of different documents"
        )
    return _in_one_vocabulary(corpus.select(~is_held_out), corpus.select(is_held_out))


def _in_one_vocabulary(fitted: Corpus, scored: Corpus) -> HeldOutSplit:
    """Drop words without fitted tokens: how topics rate these says nothing about the topics."""
    seen = np.bincount(fitted.words, minlength=fitted.n_words) > 0
    n_tokens = scored.n_tokens
    if not seen.all():
        vocabulary = [word for word, is_seen in zip(fitted.vocabulary, seen, strict=True) if is_seen]
        with warnings.catch_warnings():  # the number of tokens that are dropped is part of the result
            warnings.simplefilter("ignore", PlaitWarning)
            fitted, scored = fitted.reindexed(vocabulary), scored.reindexed(vocabulary)
    if np.count_nonzero(scored.lengths > 1) < 2:
        raise PlaitError(
            f"of {scored.n_documents} held-out documents, fewer than two have two words that fitted documents"
            " have, too: hold out more with ",
            Argument("held_out_share", 0.3),
            ", or give more documents",
        )
    return HeldOutSplit(fitted, scored, n_tokens - scored.n_tokens)
