"""Shares of topics over time, and over the values of a column."""

from __future__ import annotations

import numpy as np
import pytest
from given_paths import run_with

from plait.answers import timeline
from plait.answers.periods import UNITS
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.evaluate.summary import summarise_topics


def run_of(dates, columns=None):
    """Return a run in which document d has d + 1 tokens of topic 0 and one of topic 1."""
    tokens = [["a"] * (d + 1) + ["b"] for d in range(len(dates))]
    corpus = Corpus.from_tokens(tokens, dates=dates, columns=columns)
    return run_with(corpus, [t for d in range(len(dates)) for t in [0] * (d + 1) + [1]])


def test_shares_are_of_the_tokens_of_a_period():
    found = timeline(run_of(["1863", "1863-11-19", "1865-01-01T10:00"]))
    assert found.periods == ("1863", "1864", "1865")
    assert found.n_documents.tolist() == [2, 0, 1]
    assert found.n_tokens.tolist() == [5, 0, 4]
    np.testing.assert_allclose(found.shares, [[3 / 5, 2 / 5], [np.nan, np.nan], [3 / 4, 1 / 4]])
    assert found.notes() == []


def test_all_periods_together_have_the_shares_of_the_topics():
    run = run_of(["1863", "1864", "1864"])
    found = timeline(run)
    shares = {summary.topic: summary.share for summary in summarise_topics(run)}
    whole = found.n_tokens @ found.shares / found.n_tokens.sum()
    np.testing.assert_allclose(whole, [shares[0], shares[1]])


@pytest.mark.parametrize(
    ("by", "periods"),
    [
        ("decade", ("1990s", "2000s")),
        ("year", ("1999", "2000")),
        ("month", ("1999-12", "2000-01")),
        # 3 January 2000 is a Monday; the days before belong to the last week of 1999.
        ("week", ("1999-W52", "2000-W01")),
        ("day", ("1999-12-31", "2000-01-01", "2000-01-02", "2000-01-03")),
    ],
)
def test_periods_of_every_unit(by, periods):
    found = timeline(run_of(["1999-12-31", "2000-01-01 07:00", "2000-01-03"]), by)
    assert found.periods == periods
    if by == "week":
        assert found.n_documents.tolist() == [2, 1]


def test_documents_without_a_usable_date_are_left_out_and_counted():
    found = timeline(run_of(["1863-11", "", "1863", "19 Nov 1863", "1863-13", "1863-12"]), "month")
    assert found.periods == ("1863-11", "1863-12")
    assert (found.n_without, found.n_coarse, found.unreadable) == (1, 1, (3, 4))
    assert found.notes() == [
        "1 document without a date: left out",
        "1 document with dates too coarse for a month: left out",
        "2 documents with dates that are not in the form 1863-11-19, such as document 3: left out",
    ]


def test_values_of_a_column_are_in_order_of_size():
    columns = {"size": ["10", "9", "", "9"], "party": ["R", "D", "R", ""]}
    run = run_of(["1"] * 4, columns)
    found = timeline(run, "size")
    assert (found.periods, found.n_documents.tolist(), found.n_without) == (("9", "10"), [2, 1], 1)
    np.testing.assert_allclose(found.shares[0], [6 / 8, 2 / 8])
    assert timeline(run, "party").periods == ("D", "R")
    assert timeline(run, "party").notes() == ["1 document without a value of 'party': left out"]


def test_a_column_may_be_called_like_a_unit_if_there_are_no_dates():
    corpus = Corpus.from_tokens([["a"], ["b"]], columns={"year": ["x", "y"]})
    assert timeline(run_with(corpus, [0, 1]), "year").periods == ("x", "y")


@pytest.mark.parametrize(
    ("dates", "by", "message"),
    [
        (["1863", "1864-11"], "day", r"the dates are too coarse for a day: choose by='month'"),
        (["1863", "1864"], "week", r"the dates are too coarse for a week: choose by='year'"),
        (["2017/2/7", ""], "year", "the date of document 0 is '2017/2/7', and no other can be read either"),
        (["", ""], "year", "no document has a date"),
        (["1", "900000"], "year", "the dates go from 0001 to 900000, more than 100000 periods"),
        (["1863", "1864"], "party", "by must be one of 'decade', 'year', 'month', 'week', 'day' or a column"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_remedy(dates, by, message):
    with pytest.raises(PlaitError, match=message):
        timeline(run_of(dates), by)


def test_a_corpus_without_dates_is_refused():
    run = run_with(Corpus.from_tokens([["a"], ["b"]], columns={"party": ["R", "D"]}), [0, 1])
    with pytest.raises(PlaitError, match=r"no dates: .*date_column, or choose one of the columns 'party'"):
        timeline(run)


def test_periods_of_early_years_have_four_digits():
    assert UNITS["year"].label(44) == "0044"
