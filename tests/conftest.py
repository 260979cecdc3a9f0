"""For all tests: small corpora, a working Ctrl-C, and the choice of those that coverage is measured in."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from plait.data.corpus import Corpus
from plait.data.synthetic import Bands, bands
from plait.data.text import TextRecipe

UNMEASURED = [
    Path(__file__).parent / name
    for name in (
        "exact",
        "fuzz",
        "test_bits.py",
        "test_forged_files.py",
        "estimators/test_hmmlearn_interface.py",
    )
]
"""Tests that call the same lines very often: measuring coverage would make them twice as slow."""


LOUD = ("no Chromium", "no axe-core", "no Node")
"""How the reasons start for which tests of the report in a browser are skipped."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure no coverage in some tests."""
    for item in items:
        if any(place in (item.path, *item.path.parents) for place in UNMEASURED):
            item.add_marker(pytest.mark.no_cover)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    """Measure none in the processes that these tests start, either."""
    with patch.dict(os.environ):
        if item.get_closest_marker("no_cover"):
            os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly what of the report was not tested because something is missing on this machine."""
    reasons = {
        report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")
    }
    for reason in sorted(reason for reason in reasons if reason.startswith(LOUD)):
        terminalreporter.write_line(f"NOT TESTED: {reason}", yellow=True, bold=True)


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
