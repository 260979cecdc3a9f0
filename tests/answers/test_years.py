"""The weights of a run's topics over the years."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from given_paths import run_with

from plait.answers.years import topic_years
from plait.data.corpus import Corpus
from plait.errors import PlaitError


@pytest.fixture(scope="module")
def run():
    corpus = Corpus.from_tokens(
        [list("aa"), list("bbb"), list("abab"), list("a")], dates=["1861-05", "", "1863-11-19", "1863"]
    )
    return run_with(corpus, [0, 0, 1, 1, 1, 0, 0, 0, 1, 1])


def test_documents_of_a_year_have_equal_weight_and_those_without_a_date_none(run):
    found = topic_years(run)
    assert found.years.tolist() == [1861, 1862, 1863]
    assert found.n_documents.tolist() == [1, 0, 2]
    np.testing.assert_allclose(found.weights, [[1, 0], [0, 0], [3 / 8, 5 / 8]])


def test_each_path_has_weights_of_its_own(run):
    both = np.concatenate([run.paths, 1 - run.paths])
    two = replace(run, paths=both, settings=replace(run.settings, n_paths=2, stages=()))
    np.testing.assert_array_equal(topic_years(two, path=1).weights, topic_years(run).weights[:, ::-1])
    with pytest.raises(PlaitError, match="path must be a whole number from 0 to 0, got 1"):
        topic_years(run, path=1)


@pytest.mark.parametrize(
    ("dates", "message"), [(None, "the corpus has no dates"), (("x",) * 4, "no date can be read")]
)
def test_without_dates_there_are_no_years(run, dates, message):
    corpus = replace(run.model.corpus, dates=dates)
    with pytest.raises(PlaitError, match=message):
        topic_years(replace(run, model=replace(run.model, corpus=corpus)))
