"""What notebooks show of runs and estimators."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from given_paths import run_with
from sklearn.base import BaseEstimator

import plait
from plait.answers.html_summary import MOST_ROWS, html_summary
from plait.data.corpus import Corpus

HOSTILE = ("<script>alert(1)</script>", "\"onmouseover='x'", "&amp;", "\u202eabc", "\x1b[31m", "x" * 5000)


class Tags(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.attributes = set(), "", set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile():
    corpus = Corpus.from_tokens(
        [[word] * 5 for word in HOSTILE], dates=["<b>"] * 6, columns={"<i>": ["x"] * 6}
    )
    run = run_with(corpus, np.repeat(np.arange(6), 5), n_topics=6)
    return run.named({0: HOSTILE[0], 1: HOSTILE[1]})


def test_text_from_outside_is_shown_and_runs_nothing(hostile):
    page = hostile._repr_html_()
    found = Tags(page)
    assert found.tags == {"div", "table", "tr", "th", "td", "bdi"}
    assert found.attributes == {"class", "style"}
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[2], "\\u202eabc", "\\x1b[31m", "dates from <b> to <b>"):
        assert text in found.text
    assert len(page) < 10_000  # long words are cut off


def test_a_summary_has_the_model_its_data_stages_and_verdict(hostile):
    text = Tags(html_summary(hostile)).text
    assert "topic model: 6 topics, 2 of them named" in text
    assert "6 documents, 30 tokens, 6 distinct words" in text
    assert "1 sweep partially-collapsed, 1 path; seed 0" in text
    assert "Too few records to tell" in text


def test_only_the_largest_topics_are_listed(small_bands):
    run = plait.sample(plait.LdaModel(small_bands.corpus, 23), n_paths=1, n_sweeps=1, n_jobs=1)
    page = run._repr_html_()
    assert page.count("<tr>") == 5 + 1 + MOST_ROWS
    assert "and 3 more topics" in page


def test_states_are_listed_with_their_emissions():
    symbols = plait.Sequences.from_symbols([0, 1] * 20, labels=["<u>", "b"])
    run = plait.sample(plait.HmmModel(plait.CategoricalEmissions(symbols, 2)), n_sweeps=2, n_jobs=1)
    found = Tags(run._repr_html_())
    assert "hidden Markov model: 2 states, categorical emissions" in found.text
    assert re.search(r"<u>:0\.\d{3}", found.text)
    assert "u" not in found.tags


@pytest.mark.parametrize("kind", ["mixture", "potts", "factorial"])
def test_every_model_has_a_summary(kind):
    values = plait.Sequences.from_values(np.arange(12.0)[:, None])
    model = {
        "mixture": lambda: plait.MixtureModel(plait.GaussianEmissions(values, 2)),
        "potts": lambda: plait.PottsModel(plait.GaussianEmissions(values, 2), (3, 4)),
        "factorial": lambda: plait.FactorialHmmModel(values, 2, 2),
    }[kind]()
    page = plait.sample(model, n_paths=2, n_sweeps=1, n_jobs=1)._repr_html_()
    assert "2 states" in page
    assert "Too few records" in page


def test_a_run_is_one_short_line_as_text(hostile):
    assert repr(hostile) == "Run(lda, 30 sites, sweep 1 of 1)"


def test_estimators_show_their_run_below_the_diagram_once_fitted(small_bands):
    lda = plait.LDA(2, n_paths=1, max_iter=2, random_state=0, n_jobs=1)
    unfitted = lda._repr_html_()
    assert strip(unfitted) == strip(BaseEstimator._repr_html_inner(lda))
    assert "plait-run" not in lda._repr_mimebundle_()["text/html"]
    lda.fit(small_bands.corpus)
    summary = html_summary(lda.run_)
    for page in (lda._repr_html_(), lda._repr_mimebundle_()["text/html"]):
        assert page.endswith(summary)
        assert "sk-top-container" in page


def strip(page):
    """Return a page without the numbers that scikit-learn gives its diagrams."""
    return re.sub(r"\d+", "", page)
