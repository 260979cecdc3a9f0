"""Topics over the years, on cases that can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.evaluate.timeconc import (
    bucket_lengths,
    document_topics,
    document_years,
    entropy,
    quantile_edges,
    yearly_topics,
)


@pytest.fixture
def corpus() -> Corpus:
    """Return two documents of 1900, none of 1901, one of 1902 with tokens and one without."""
    return Corpus.from_tokens(
        [["a", "a", "b", "b"], ["a", "b"], ["b", "b", "b"], []],
        dates=["1900", "1900-12-04", "1902", "1902-01-02"],
    )


ASSIGNMENTS = np.array([0, 0, 0, 1, 1, 1, 0, 2, 2], np.uint16)


def test_document_topics_are_shares_of_tokens(corpus):
    shares = document_topics(corpus, ASSIGNMENTS, 3)
    np.testing.assert_allclose(shares, [[0.75, 0.25, 0], [0, 1, 0], [1 / 3, 0, 2 / 3], [0, 0, 0]], atol=1e-15)


def test_yearly_topics_are_means_over_documents(corpus):
    own = yearly_topics(corpus, ASSIGNMENTS, 3)
    assert own.years.tolist() == [1900, 1901, 1902]
    assert own.n_documents.tolist() == [2, 0, 1]
    np.testing.assert_allclose(own.weights, [[0.375, 0.625, 0], [0, 0, 0], [1 / 3, 0, 2 / 3]], atol=1e-15)
    np.testing.assert_allclose(own.totals, [0.375 + 1 / 3, 0.625, 2 / 3], atol=1e-15)
    expected = -0.375 * np.log(0.375) - 0.625 * np.log(0.625), np.log(3) - 2 / 3 * np.log(2)
    np.testing.assert_allclose(own.entropies, [expected[0], np.nan, expected[1]], atol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        own.weights[0, 0] = 1.0


def test_years_can_be_given(corpus):
    own = yearly_topics(corpus, ASSIGNMENTS, 4, years=[5, 5, 6, 99])
    assert own.years.tolist() == [5, 6]  # the document of year 99 has no tokens
    assert own.weights.shape == (2, 4)
    assert own.totals[3] == 0.0
    np.testing.assert_allclose(own.weights.sum(axis=1), 1.0)


def test_yearly_topics_equal_a_plain_count():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 6, 50)
    years = rng.integers(1990, 1996, 50)
    words = [["w"] * n for n in lengths]
    assignments = rng.integers(0, 7, lengths.sum())
    made = Corpus.from_tokens(words, dates=[str(year) for year in years])
    own = yearly_topics(made, assignments, 7)
    shares = document_topics(made, assignments, 7)
    for year, row in zip(own.years, own.weights, strict=True):
        np.testing.assert_allclose(row, shares[(years == year) & (lengths > 0)].mean(axis=0), atol=1e-14)


def test_entropy_is_in_nats_of_normalised_weights():
    np.testing.assert_allclose(entropy([1.0, 1.0, 1.0, 1.0]), np.log(4))
    np.testing.assert_allclose(entropy([[2.0, 0.0], [1.0, 3.0], [0.0, 0.0]])[1:], [0.5623351446, np.nan])
    assert entropy([0.0, 7.0, 0.0]) == 0.0
    assert str(entropy([0.0, 7.0])) == "0.0"  # not -0.0


def test_uniform_weights_give_equal_buckets():
    lengths = bucket_lengths(np.full((224, 2), 0.3), 0.05)
    assert lengths.shape == (2, 20)
    np.testing.assert_allclose(lengths, 11.2, atol=1e-9)


def test_a_single_year_holds_all_inner_edges():
    weights = np.zeros((8, 1))
    weights[3] = 2.0
    np.testing.assert_allclose(quantile_edges(weights, 0.25), [[0, 3.25, 3.5, 3.75, 8]], atol=1e-9)
    np.testing.assert_allclose(bucket_lengths(weights, 0.25), [[3.25, 0.25, 0.25, 4.25]], atol=1e-9)


def test_edges_are_interpolated_within_years():
    weights = np.array([[1.0], [2.0], [5.0]])
    np.testing.assert_allclose(quantile_edges(weights, 0.25), [[0, 1.5, 2.2, 2.6, 3]], atol=1e-9)
    assert quantile_edges(weights, 1).tolist() == [[0.0, 3.0]]


def test_an_edge_in_a_gap_is_in_its_middle():
    np.testing.assert_allclose(bucket_lengths([[1.0], [0.0], [0.0], [0.0], [1.0]], 0.5), [[2.5, 2.5]])
    tenths = np.full((21, 1), 0.1)  # whose sums are not exact
    tenths[10] = 0.0
    np.testing.assert_allclose(quantile_edges(tenths, 0.5), [[0, 10.5, 21]], atol=1e-9)


def test_lengths_sum_to_the_years_and_reversing_time_mirrors_them():
    rng = np.random.default_rng(1)
    weights = rng.gamma(0.1, size=(60, 30)) * (rng.random((60, 30)) < 0.2)
    weights[rng.integers(60, size=30), np.arange(30)] += 0.1
    weights[:, 7] = 0.0
    lengths = bucket_lengths(weights, 0.1)
    assert np.isnan(lengths[7]).all()
    filled = np.delete(lengths, 7, axis=0)
    assert (filled > 0).all()
    np.testing.assert_allclose(filled.sum(axis=1), 60)
    np.testing.assert_allclose(bucket_lengths(weights[::-1], 0.1), lengths[:, ::-1], atol=1e-6)
    np.testing.assert_allclose(bucket_lengths(weights * 1e-9, 0.1), lengths, atol=1e-6)


@pytest.mark.parametrize("gamma", [0, -0.1, 0.3, 1.5, float("nan"), "x", None])
def test_impossible_gamma_is_refused(gamma):
    with pytest.raises(PlaitError, match=r"^gamma must be 1 divided by a whole number .*, got ") as caught:
        bucket_lengths(np.ones((3, 1)), gamma)
    assert caught.value.argument == "gamma"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1.0, -2.0]], r"^weights\[0, 1\] must be finite and at least 0, got -2.0"),
        ([[1.0], [float("inf")]], r"^weights\[1, 0\] must be finite and at least 0, got inf"),
        ([1.0, 2.0], r"^weights must be an array of years by topics, .*, got shape \(2,\)"),
        ([], r"^weights must be an array that is not empty, got shape \(0,\)"),
    ],
)
def test_impossible_weights_are_refused(weights, message):
    with pytest.raises(PlaitError, match=message) as caught:
        quantile_edges(weights, 0.5)
    assert caught.value.argument == "weights"


def test_impossible_assignments_are_refused(corpus):
    with pytest.raises(PlaitError, match=r"^assignments\[7\] must be from 0 to 1 with 2 topics, got 2"):
        yearly_topics(corpus, ASSIGNMENTS, 2)
    with pytest.raises(PlaitError, match=r"^assignments must be .* each of the 9 tokens, .* shape \(3,\)"):
        document_topics(corpus, [0, 1, 0], 2)
    with pytest.raises(PlaitError, match=r"^assignments must be .*, got float64"):
        document_topics(corpus, np.zeros(9), 2)
    with pytest.raises(PlaitError, match=r"^n_topics must be a whole number from 1 to 65535, got 0"):
        document_topics(corpus, ASSIGNMENTS, 0)


def test_impossible_years_are_refused(corpus):
    with pytest.raises(PlaitError, match=r"^years must be .* 4 documents, .* shape \(2,\)"):
        yearly_topics(corpus, ASSIGNMENTS, 3, years=[1, 2])
    with pytest.raises(PlaitError, match=r"^years must be less than 100000 years apart, got 1 to 18630000"):
        yearly_topics(corpus, ASSIGNMENTS, 3, years=[1, 2, 18630000, 0])
    with pytest.raises(PlaitError, match="no document has a word"):
        yearly_topics(Corpus([], [0, 0], ("a",), dates=("1900",)), np.empty(0, int), 2)


@pytest.mark.parametrize("date", ["", "May 1900", "-1900", "19000000", "²"])
def test_dates_without_a_year_are_refused(date):
    with pytest.raises(PlaitError, match="the date of document 1 must start with the year"):
        document_years(Corpus.from_tokens([["a"], ["b"]], dates=["1900", date]))


def test_a_corpus_without_dates_is_refused():
    with pytest.raises(PlaitError, match="the corpus has no dates") as caught:
        document_years(Corpus.from_tokens([["a"]]))
    assert caught.value.argument == "years"
