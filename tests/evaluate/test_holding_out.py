"""The split into fitted and held-out documents is keyed, and nothing leaks."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.datasets import bands
from plait.errors import PlaitError
from plait.evaluate.holding_out import hold_out

CORPUS = bands(60, seed=1).corpus


def documents(corpus):
    return [tuple(corpus.tokens(d)) for d in range(corpus.n_documents)]


def test_every_document_is_on_one_side():
    split = hold_out(CORPUS, 0.2)
    assert (split.fitted.n_documents, split.scored.n_documents) == (48, 12)
    kept = split.fitted.n_tokens + split.scored.n_tokens + split.n_unknown
    assert kept == CORPUS.n_tokens


def test_the_seed_determines_the_split():
    one, same, other = (documents(hold_out(CORPUS, 0.2, seed=seed).scored) for seed in (3, 3, 4))
    assert one == same != other


def test_order_of_documents_and_tokens_does_not_matter():
    order = np.random.default_rng(0).permutation(CORPUS.n_documents)
    mixed = Corpus.from_tokens([CORPUS.tokens(d)[::-1] for d in order], vocabulary=CORPUS.vocabulary)
    scored = [sorted(words) for words in documents(hold_out(CORPUS, 0.2).scored)]
    assert sorted(scored) == sorted(sorted(words) for words in documents(hold_out(mixed, 0.2).scored))


def test_equal_documents_are_on_the_same_side():
    twice = CORPUS.select(np.repeat(np.arange(CORPUS.n_documents), 2))
    split = hold_out(twice, 0.2)
    assert not set(documents(split.fitted)) & set(documents(split.scored))


def test_words_that_only_held_out_documents_have_are_left_out():
    texts = [["b", *"a" * i] for i in range(1, 31)] + [[f"only{i}", "a", "b"] for i in range(30)]
    split = hold_out(Corpus.from_tokens(texts), 0.5)
    assert split.fitted.vocabulary == split.scored.vocabulary
    assert set(split.fitted.words) == set(range(split.fitted.n_words))
    assert split.n_unknown == sum(f"only{i}" not in split.fitted.vocabulary for i in range(30)) > 0


def test_empty_documents_and_single_words_are_fitted():
    split = hold_out(
        Corpus.from_tokens([[], ["a"]] * 5 + [["a", "b"], ["b", "a", "a"], ["b", "b", "a"]]), 0.5
    )
    assert (split.scored.lengths > 1).all()


@pytest.mark.parametrize("share", [0, 1, -0.1, "half", None, True, float("nan")])
def test_a_share_outside_0_and_1_is_refused(share):
    with pytest.raises(PlaitError, match="held_out_share must be a number above 0 and below 1, got"):
        hold_out(CORPUS, share)


def test_too_few_or_equal_documents_are_refused():
    with pytest.raises(PlaitError, match="has 2 documents of at least two words: too few to hold out 2"):
        hold_out(CORPUS.select([0, 1]))
    with pytest.raises(PlaitError, match="all documents are equal"):
        hold_out(CORPUS.select([0] * 20))
    with pytest.raises(PlaitError, match="fewer than two have two words that fitted documents have"):
        hold_out(Corpus.from_tokens([[f"{d}a", f"{d}b"] for d in range(20)]))
