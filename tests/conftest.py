"""Fixtures for all tests: small corpora, and a working Ctrl-C."""

from __future__ import annotations

import signal
import threading

import pytest

from plait.data.corpus import Corpus
from plait.data.synthetic import Bands, bands
from plait.data.text import TextRecipe


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_handled() -> None:
    """Handle Ctrl-C, which some tests send: a background job of a shell inherits that it is ignored."""
    if (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    ):
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def small_bands() -> Bands:
    """Return 60 documents of 20 tokens, drawn from three topics on 30 words."""
    return bands(60, seed=1, n_topics=3, n_words=30, width=10, document_length=20, alpha=0.3)


@pytest.fixture(scope="session")
def annotated_corpus() -> Corpus:
    """Return a corpus with all kinds of metadata, an empty document and non-ASCII letters."""
    return Corpus.from_texts(
        ["war peace war día", "", "tax trade 語 tax", "peace trade war"],
        recipe=TextRecipe(stop_words=("the", "x"), max_df=3, min_length=1),
        names=["a", "b\n2", "ç", "d"],
        dates=["1861", "1862-01-02", "1863", "1864"],
        columns={"party": ["R", "", "D", "é"], "länge": ["1", "2", "3", "4"]},
    )
