"""The data of a report on topics: they are those of the library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from report_runs import themed_run

import plait
from plait.answers import documents, similar_topics, timeline
from plait.errors import PlaitError
from plait.evaluate import coherence
from plait.evaluate.agreement import token_agreement
from plait.evaluate.timeconc import quantile_edges, yearly_topics
from plait.inference.fitted import doc_topic, document_counts, fitted_topics, token_topics
from plait.report import documents as documents_module
from plait.report.certainty import certainty_of_tokens, most_common_topics
from plait.report.documents import choose_documents, parts_of
from plait.report.packing import pack, unpack
from plait.report.topics import columns, map_of_topics, time, topics_pages, typical_documents, words


@pytest.fixture(scope="module")
def blocks(run, tmp_path_factory):
    (page,) = topics_pages(run, title="Letters", path=tmp_path_factory.mktemp("x") / "r.html", n_jobs=1)
    return {name: unpack(pack(block)) for name, block in page.blocks.items()}


def test_topics_have_the_numbers_names_sizes_and_scores_of_the_model(blocks, run):
    found = blocks["main"]["topics"]
    assert found["names"] == ["orchards", None, None, None]
    np.testing.assert_allclose(found["shares"], fitted_topics(run, 1).shares, rtol=1e-3)
    scores = coherence(run, run.model.corpus, n_jobs=1).per_topic
    np.testing.assert_allclose(found["coherence"], scores, rtol=1e-3)
    for t in range(4):
        similar = similar_topics(run, t, 3, n_jobs=1)
        assert found["similar"][t].tolist() == [own.topic for own in similar]
        np.testing.assert_allclose(found["similarities"][t], [own.similarity for own in similar], rtol=1e-3)


def test_the_certainty_of_several_paths_is_their_agreement(blocks, run):
    found = blocks["main"]["topics"]
    assert found["certainty_of"] == "paths"
    agreement, topics = token_agreement(run.paths), most_common_topics(run.paths)
    for t in range(4):
        assert found["certainty"][t] == pytest.approx(agreement[topics == t].mean(), rel=1e-3)
    np.testing.assert_allclose(blocks["documents"]["certainty"] / 15, agreement, atol=1 / 30 + 1e-9)


def test_the_most_common_topic_is_one_that_no_other_topic_beats():
    paths = np.array([[0, 1, 2, 5], [3, 1, 2, 6], [3, 2, 2, 7]], np.uint16)
    assert most_common_topics(paths).tolist() == [3, 1, 2, 5]


def test_the_certainty_of_one_path_is_the_probability_of_its_topics(monkeypatch):
    run = themed_run(n_paths=1, n_sweeps=5)
    phi = fitted_topics(run, 1).topic_word
    found = certainty_of_tokens(run, phi)
    assert found.kind == "assignments"
    np.testing.assert_array_equal(found.topics, run.paths[0])
    offsets = run.model.corpus.offsets
    for d in (0, 7, 59):
        own = slice(*offsets[d : d + 2])
        expected = token_topics(run, d, 1)[np.arange(own.stop - own.start), run.paths[0, own]]
        np.testing.assert_allclose(found.values[own], expected)
    monkeypatch.setattr("plait.report.certainty._CELLS", 70)
    np.testing.assert_allclose(certainty_of_tokens(run, phi).values, found.values)


@pytest.mark.parametrize("weight", [0.0, 0.37, 0.6, 1.0])
def test_a_topic_has_its_most_relevant_words_for_any_lambda(run, weight, monkeypatch):
    monkeypatch.setattr("plait.report.topics.TOP", 5)
    corpus = run.model.corpus
    fitted = fitted_topics(run, 1)
    found = words(corpus, fitted.topic_word, fitted.shares)
    counts = np.bincount(corpus.words, minlength=corpus.n_words)
    starts = np.cumsum([0, *found["lengths"]])
    for t in range(4):
        phi = fitted.topic_word[t]
        relevance = weight * np.log(phi) + (1 - weight) * np.log(phi / (counts / counts.sum()))
        relevance[phi * max(1, fitted.shares[t] * corpus.n_tokens) < 0.5] = -np.inf
        best = {corpus.shown_words[w] for w in np.argsort(-relevance)[:4]}
        own = {found["texts"][w] for w in found["words"][starts[t] : starts[t + 1]]}
        assert best <= own
    numbers = {word: k for k, word in enumerate(found["texts"])}
    for w, word in enumerate(corpus.shown_words):
        if word in numbers:
            assert found["counts"][numbers[word]] == counts[w]


def test_typical_documents_are_those_of_the_answers(run):
    theta = doc_topic(run)
    found = typical_documents(theta, run.model.corpus.lengths)
    for t in range(4):
        assert found[t].tolist() == [own.document for own in documents(run, t, found.shape[1])]


def test_the_map_keeps_distances_of_three_topics_in_a_plane():
    roots = np.sqrt(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]))
    affinities = roots @ roots.T
    found = map_of_topics(affinities)
    squares = ((found[:, None] - found[None]) ** 2).sum(axis=2)
    # Points on a sphere, whose inner products are the affinities, are 2 (1 - affinity) apart.
    np.testing.assert_allclose(squares, 2 * (1 - affinities), atol=1e-12)


def test_time_is_that_of_the_library(run):
    found = time(run, document_counts(run))
    own = timeline(run, "year")
    assert found["by"] == "year"
    assert found["periods"] == own.periods
    np.testing.assert_allclose(found["shares"], own.shares, rtol=1e-3)
    weights = np.mean([yearly_topics(run.model.corpus, path, 4).weights for path in run.paths], axis=0)
    np.testing.assert_allclose(found["years"]["edges"], quantile_edges(weights, 0.05), rtol=1e-3)
    assert found["years"]["first"] == 1900


@pytest.mark.parametrize(
    ("date", "unit"),
    [("{}-05-01", "year"), ("1900-{:02d}-09", "month"), ("1900-05-{:02d}", "day"), ("1900", "year")],
)
def test_time_is_cut_as_finely_as_documents_fill_it(run, date, unit):
    numbers = {"year": 1900, "month": 1, "day": 1}
    dates = [date.format(numbers[unit] + d // 6) for d in range(60)]
    other = replace(run, model=plait.LdaModel(replace(run.model.corpus, dates=dates), 4, 0.3, 0.1))
    assert time(other, document_counts(other))["by"] == unit


def test_a_corpus_without_dates_has_no_time(run):
    corpus = replace(run.model.corpus, dates=None)
    other = replace(run, model=plait.LdaModel(corpus, 4, 0.3, 0.1))
    assert time(other, document_counts(other)) is None
    unreadable = replace(run.model.corpus, dates=["then"] * 60)
    other = replace(run, model=plait.LdaModel(unreadable, 4, 0.3, 0.1))
    assert time(other, document_counts(other)) is None


def test_columns_with_a_few_values_are_compared_and_others_have_a_reason(run):
    corpus = run.model.corpus
    more = {**corpus.columns, "id": [f"{d}" for d in range(60)], "one": ["x"] * 60, "year": ["a", "b"] * 30}
    other = replace(run, model=plait.LdaModel(replace(corpus, columns=more), 4, 0.3, 0.1))
    found = {column["name"]: column for column in columns(other, document_counts(other))}
    np.testing.assert_allclose(found["theme"]["shares"], timeline(run, "theme").shares, rtol=1e-3)
    assert found["one"]["reason"] == "it has a single value; 2 to 60 can be compared"
    assert "periods" in found["id"]
    assert "unit of time" in found["year"]["reason"]


class TestDocuments:
    def test_tokens_are_in_the_text_where_the_words_are(self, blocks, run):
        block, corpus = blocks["documents"], run.model.corpus
        at = 0
        for d in range(corpus.n_documents):
            for word in corpus.tokens(d):
                start, length = block["text_starts"][at], block["text_lengths"][at]
                assert block["texts"][d][start : start + length].lower().startswith(word[:3])
                at += 1
        assert at == corpus.n_tokens

    def test_without_texts_words_are_shown(self, run, tmp_path):
        (page,) = topics_pages(run, title="x", path=tmp_path / "r.html", texts=False, n_jobs=1)
        block, corpus = page.blocks["documents"], run.model.corpus
        assert "texts" not in block
        shown = [block["vocabulary"][w] for w in block["words"]]
        assert shown == [corpus.shown_words[w] for w in corpus.words]

    def test_mixtures_are_theta_in_hundredths(self, blocks, run):
        block, theta = blocks["documents"], doc_topic(run)
        starts = np.cumsum([0, *block["mixture_lengths"]])
        for d in (0, 20, 59):
            own = slice(starts[d], starts[d + 1])
            shares = block["mixture_shares"][own]
            np.testing.assert_allclose(
                shares / 100, theta[d, block["mixture_topics"][own]], atol=0.005 + 1e-9
            )
            assert (np.diff(shares.astype(int)) <= 0).all()
            assert len(shares) == np.count_nonzero(np.rint(100 * theta[d]) >= 2)

    def test_a_large_corpus_is_sampled_with_its_typical_documents(self, run, monkeypatch):
        monkeypatch.setattr(documents_module, "MOST_DOCUMENTS", 20)
        chosen = choose_documents(run.model.corpus, np.array([3, 58]))
        assert len(chosen) <= 20
        assert {3, 58} <= set(chosen.tolist())
        assert (np.diff(chosen) > 0).all()
        monkeypatch.setattr(documents_module, "MOST_TOKENS", 100)
        few = choose_documents(run.model.corpus, np.array([3, 58]))
        assert run.model.corpus.lengths[few].sum() <= 100

    def test_a_full_report_has_all_documents_in_pages_that_know_each_other(self, run, tmp_path, monkeypatch):
        monkeypatch.setattr(documents_module, "MOST_DOCUMENTS", 25)
        pages = list(topics_pages(run, title="x", path=tmp_path / "r.html", full=True, n_jobs=1))
        names = [page.file.name for page in pages]
        assert names == ["r.html", "r-documents-1.html", "r-documents-2.html", "r-documents-3.html"]
        parts = pages[0].blocks["documents"]["parts"]
        assert [(part["first"], part["last"]) for part in parts] == [(0, 24), (25, 49), (50, 59)]
        numbers = [np.cumsum(page.blocks["documents"]["gaps"], dtype=int) for page in pages[1:]]
        assert np.concatenate(numbers).tolist() == list(range(60))

    def test_parts_have_room_for_their_tokens(self, run, monkeypatch):
        monkeypatch.setattr(documents_module, "MOST_TOKENS", 100)
        corpus = run.model.corpus
        parts = parts_of(corpus)
        assert [start for start, _ in parts] == [0, *(end for _, end in parts[:-1])]
        assert parts[-1][1] == 60
        for start, end in parts:
            assert corpus.lengths[start:end].sum() <= 100 or end == start + 1


def test_a_corpus_of_one_word_and_empty_documents_has_a_report(tmp_path):
    corpus = plait.Corpus.from_tokens([["a", "a"], []])
    run = plait.sample(plait.LdaModel(corpus, 2, 0.3, 0.1), n_paths=1, n_sweeps=1, n_jobs=1)
    (page,) = topics_pages(run, title="x", path=tmp_path / "r.html", n_jobs=1)
    assert np.isnan(page.blocks["main"]["topics"]["coherence"]).all()
    assert page.blocks["documents"]["lengths"].tolist() == [2, 0]


def test_topics_that_are_hidden_must_exist(run, tmp_path):
    with pytest.raises(PlaitError, match="hidden must be a whole number from 0 to 3, got 4"):
        list(topics_pages(run, title="x", path=tmp_path / "r.html", hidden=[4]))
