"""The estimator of topics takes raw texts: lists, series and data frames, with a recipe."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError

TEXTS = [
    "The taxes of the nation and its budget rise again.",
    "Ships trade with foreign ports, and trade is growing.",
    "The budget cannot pay for taxes that are falling.",
    "Foreign ships have come to our ports to trade.",
] * 3
FRAME = pd.DataFrame(
    {
        "nr": range(1, 13),
        "speech": TEXTS,
        "day": pd.date_range("1990-01-30", periods=12, freq="40D"),
        "party": ["R", "D", None] * 4,
    }
)
ENGLISH = plait.TextRecipe(language="en")


def lda(**options):
    defaults = {"n_components": 2, "n_paths": 1, "max_iter": 3, "random_state": 0, "n_jobs": 1}
    return plait.LatentDirichletAllocation(**(defaults | options))


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{re.escape(message)}[^\n]*\Z")


@pytest.fixture(scope="module")
def fitted():
    return lda().fit(TEXTS)


class TestForms:
    @pytest.mark.parametrize(
        "convert",
        [
            tuple,
            np.array,
            lambda texts: np.array(texts, object),
            lambda texts: pd.Series(texts, index=range(5, 17)),
            lambda texts: pd.Series(texts, dtype="string"),
            lambda texts: pd.Series(texts, dtype="category"),
            lambda texts: pd.DataFrame({"text": texts, "n": range(12)}),
        ],
    )
    def test_all_forms_of_texts_give_the_same_bits(self, fitted, convert):
        other = lda().fit(convert(TEXTS))
        assert np.array_equal(other.paths_, fitted.paths_)
        assert np.array_equal(other.transform(convert(TEXTS)), fitted.transform(TEXTS))
        assert other.score(convert(TEXTS)) == fitted.score(TEXTS)

    def test_it_is_the_fit_to_the_corpus_of_the_texts(self, fitted):
        corpus = Corpus.from_texts(TEXTS, recipe=ENGLISH)
        assert np.array_equal(fitted.paths_, lda().fit(corpus).paths_)
        assert fitted.corpus_.recipe == ENGLISH
        assert tuple(fitted.corpus_.texts) == tuple(TEXTS)

    def test_missing_values_of_a_series_are_empty_texts(self):
        with pytest.warns(plait.PlaitWarning, match="2 of 14 documents are empty"):
            found = lda().fit(pd.Series([*TEXTS, None, float("nan")]))
        assert found.corpus_.n_empty == 2

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (["war", 5], "X[1] must be a string, got 5: convert it with str()"),
            (pd.Series(["war", 5]), "X[1] must be a string, got 5"),
            (
                FRAME,
                "text must be among the columns of the frame, 'nr', 'speech', 'day', 'party', got 'text'",
            ),
            (["", "the of"], "stop words"),
        ],
    )
    def test_what_has_no_texts_is_refused(self, X, message):
        with fails(message):
            lda(recipe=ENGLISH).fit(X)


class TestRecipe:
    def test_new_texts_are_processed_as_the_fitted_ones(self):
        mine = lda(recipe=plait.TextRecipe(stem=True)).fit(TEXTS)
        assert "tax" in mine.corpus_.vocabulary
        assert np.array_equal(mine.transform(["Taxing ships"]), mine.transform([["tax", "ship"]]))

    def test_a_corpus_brings_its_own_recipe(self):
        corpus = Corpus.from_texts(TEXTS, recipe=plait.TextRecipe(language="en", stem=True))
        mine = lda().fit(corpus)
        assert np.array_equal(mine.transform(["Taxing ships"]), mine.transform([["tax", "ship"]]))

    def test_texts_are_refused_by_a_model_of_counts(self):
        mine = lda().fit(np.eye(4, dtype=int))
        with fails("X holds raw texts, but the model was fitted to words or counts"):
            mine.transform(["war"])

    def test_a_saved_model_takes_texts(self, fitted, tmp_path):
        fitted.save(tmp_path / "a.plait")
        again = plait.LatentDirichletAllocation.load(tmp_path / "a.plait")
        assert again.recipe == ENGLISH
        assert np.array_equal(again.transform(TEXTS), fitted.transform(TEXTS))


class TestFrames:
    def test_columns_have_their_roles(self):
        mine = lda(text="speech", id="nr", date="day", columns=["party"]).fit(FRAME)
        corpus = mine.corpus_
        assert corpus.names[:2] == ("1", "2")
        assert corpus.dates[:2] == ("1990-01-30", "1990-03-11")
        assert dict(corpus.columns) == {"party": ("R", "D", "") * 4}
        assert mine.timeline("year").index.tolist() == ["1990", "1991"]
        assert mine.timeline("party").index.tolist() == ["D", "R"]
        assert set(mine.documents(0, 1)["excerpt"]) <= set(TEXTS)

    def test_new_frames_need_only_the_texts(self):
        mine = lda(text="speech", id="nr", date="day").fit(FRAME)
        theta = mine.transform(FRAME)
        assert np.array_equal(theta, mine.transform(FRAME[["speech"]]))
        assert np.array_equal(theta, mine.transform(FRAME["speech"]))
        with fails("text must be among the columns of the frame, 'nr', got 'speech'"):
            mine.transform(FRAME[["nr"]])

    def test_a_frame_of_counts_is_still_one_of_counts(self):
        counts = pd.DataFrame(np.eye(4, dtype=int), columns=["text", "war", "tax", "id"])
        assert lda().fit(counts).corpus_.vocabulary == ("text", "war", "tax", "id")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"text": "x"}, "text must be among the columns of the frame, "),
            ({"text": "speech", "date": "x"}, "date must be among the columns of the frame, "),
            ({"text": "speech", "columns": ["x"]}, "columns must be among the columns of the frame, "),
            (
                {"text": "speech", "columns": "party"},
                "columns must be 'all' or a sequence of names, got 'party'",
            ),
            ({"text": 3}, "text must be a string, got 3"),
            ({"recipe": "en"}, "recipe must be a TextRecipe, got 'en'"),
        ],
    )
    def test_bad_settings_are_refused(self, options, message):
        with fails(message):
            lda(**options).fit(FRAME)

    def test_dates_with_an_open_order_name_their_row(self):
        frame = FRAME.assign(day=["3/4/1990"] * 12)
        with fails("row 0 of the frame: the date '3/4/1990' can be read in two ways") as caught:
            lda(text="speech", date="day").fit(frame)
        assert "date_format='day-first'" in str(caught.value)
        mine = lda(text="speech", date="day", date_format="month-first").fit(frame)
        assert set(mine.corpus_.dates) == {"1990-03-04"}

    def test_two_columns_of_one_name_are_refused(self):
        frame = pd.concat([FRAME, FRAME], axis=1)
        with fails("the frame has the column"):
            Corpus.from_frame(frame, text="speech")

    def test_a_corpus_is_made_from_a_frame(self):
        corpus = Corpus.from_frame(FRAME, text="speech", date="day", columns="all", recipe=ENGLISH)
        assert sorted(corpus.columns) == ["nr", "party"]
        assert corpus.equals(Corpus.from_texts(TEXTS, recipe=ENGLISH))
        with fails("frame must be a data frame of pandas or polars, got"):
            Corpus.from_frame(TEXTS)


@pytest.mark.filterwarnings("ignore::plait.PlaitWarning")  # held-out texts have new words
class TestScikitLearn:
    def test_a_grid_search_takes_texts_and_recipes(self):
        grid = {"n_components": [2, 3], "recipe": [ENGLISH, plait.TextRecipe(language="en", min_count=2)]}
        for X in (TEXTS, pd.Series(TEXTS), FRAME):
            estimator = lda(text="speech", date="day")
            search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
            assert len(search.best_estimator_.corpus_.texts) == 12

    def test_clones_have_the_same_settings(self):
        estimator = lda(recipe=ENGLISH, text="speech", columns=["party"])
        again = clone(estimator)
        assert again.recipe == ENGLISH
        assert np.array_equal(again.fit(FRAME).paths_, estimator.fit(FRAME).paths_)

    def test_a_pipeline_ends_with_texts(self, fitted):
        lower = FunctionTransformer(lambda texts: [text.upper() for text in texts])
        theta = make_pipeline(lower, lda()).fit_transform(TEXTS)
        assert np.array_equal(theta, fitted.transform(TEXTS))
