"""Initial topics from runs, files, estimators and matrices, in the vocabulary of another corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError, PlaitWarning
from plait.inference.starts import check_init, with_initial
from plait.models.lda import LdaModel, Topics


@pytest.fixture(scope="module")
def model(small_bands):
    return LdaModel(small_bands.corpus, 3, 0.3)


@pytest.fixture(scope="module")
def fitted(small_bands):
    return plait.LDA(3, n_paths=2, max_iter=50, random_state=0, n_jobs=1).fit(small_bands.corpus)


def phi(model):
    assert isinstance(model.initial, Topics)
    return model.initial.topic_word


@pytest.mark.parametrize("name", ["uniform", "progressive", "spectral"])
def test_names_are_passed_on(model, name):
    assert with_initial(model, name).initial == name


def test_runs_files_and_estimators_are_the_same_topics(model, fitted, tmp_path):
    fitted.run_.save(tmp_path / "run")
    wanted = fitted.run_.parameters(1)
    for init in (fitted, fitted.run_, tmp_path / "run", str(tmp_path / "run"), wanted, wanted.topic_word):
        found = with_initial(model, init, 1)
        np.testing.assert_allclose(phi(found), wanted.topic_word, rtol=1e-5, atol=1e-7)
        assert found.corpus is model.corpus
        assert np.array_equal(found.alpha, model.alpha)


@pytest.mark.parametrize("scale", [1.0, 250.0])
@pytest.mark.parametrize("convert", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_rows_of_a_matrix_are_normalised(model, small_bands, scale, convert):
    matrix = convert(scale * small_bands.topics)
    np.testing.assert_allclose(phi(with_initial(model, matrix)), small_bands.topics, rtol=1e-5)


def test_words_are_matched_by_name(small_bands):
    corpus = Corpus.from_tokens([["b", "new", "a", "b"], ["c", "a", "never mind", "b"]])
    topics = pd.DataFrame([[0.5, 0.3, 0.2], [0.0, 0.25, 0.75]], columns=["gone", "b", "a"])
    with_new = with_initial(LdaModel(corpus, 2), topics)
    found = dict(zip(corpus.vocabulary, phi(with_new).T, strict=True))
    # "c", "new" and "never mind" are new, and each is an eighth of the tokens.
    for word in ("c", "new", "never mind"):
        np.testing.assert_allclose(found[word], 1 / 8, rtol=1e-6)
    np.testing.assert_allclose(found["b"], [0.6 * 5 / 8, 0.25 * 5 / 8], rtol=1e-6)
    np.testing.assert_allclose(found["a"], [0.4 * 5 / 8, 0.75 * 5 / 8], rtol=1e-6)


def test_a_topic_without_known_words_starts_as_the_mean_of_all():
    corpus = Corpus.from_tokens([["a", "b", "b"]])
    topics = pd.DataFrame([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], columns=["gone", "a", "b"])
    np.testing.assert_allclose(phi(with_initial(LdaModel(corpus, 2), topics)), [[1 / 3, 2 / 3], [0.5, 0.5]])


def test_a_run_continues_on_a_corpus_with_new_words(small_bands, fitted):
    """The topics keep their numbers, and new words join the topics that they occur with."""
    old = small_bands.corpus
    words = np.where(np.arange(old.n_tokens) % 3 == 0, old.words + 30, old.words).astype(np.int32)
    corpus = Corpus(words, old.offsets, (*old.vocabulary, *(f"{w}'" for w in range(30))))
    model = with_initial(LdaModel(corpus, 3, 0.3), fitted, 1)
    run = plait.sample(model, n_paths=2, n_sweeps=30, n_jobs=1)
    before, after = fitted.topic_word_, run.parameters(1).topic_word
    for half in (after[:, :30], after[:, 30:]):
        share = half / half.sum(axis=1, keepdims=True)
        assert np.abs(before[:, None] - share[None]).sum(axis=2).argmin(axis=1).tolist() == [0, 1, 2]


def test_few_known_tokens_are_warned_of(model):
    topics = pd.DataFrame(np.ones((3, 2)), columns=["1", "2"])
    with pytest.warns(PlaitWarning, match=r"the initial topics know only \d+ % of the tokens: check"):
        with_initial(model, topics)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (
            "no such file",
            "init must be one of 'uniform', .*, a run, .* or the file of a run, got 'no such file'",
        ),
        (Path("no such file"), "init must be one of 'uniform'"),
        ("a\0b", "init must be one of 'uniform'"),
        (None, "init must be one of .*, got None"),
        (3, "init must be one of .*, got 3"),
        ([1, 2], r"init must be one of .*, got \[1, 2\]"),
        ([[1, 2], [3]], "init must be one of "),
        (np.ones((2, 30)), "init must have as many topics as n_topics, 3, got 2"),
        (np.ones((3, 29)), "init must have one column for each of the 30 words, got 29: pass a run"),
        (np.full((3, 30), -1.0), r"init\[0\]\[0\] must be a number of at least 0, got -1"),
        (np.full((3, 30), np.nan), r"init\[0\]\[0\] must be a number of at least 0, got nan"),
        (np.full((3, 30), 1e308), "row 0 of init must have a positive sum, got inf"),
        (np.eye(3, 30)[[0, 1, 1]] * [[1], [0], [1]], "row 1 of init must have a positive sum, got 0"),
        ([["a"] * 30] * 3, "init must be a number or an array of numbers, got"),
        (plait.LDA(3), "init must be fitted if it is an estimator, got .*: fit it, or pass its run_"),
        (
            pd.DataFrame(np.ones((3, 1)), columns=["z"]),
            "init must share words with the corpus, got 'z', .* '0'",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
@pytest.mark.filterwarnings("error")
def test_impossible_sources_are_refused(model, init, message):
    with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z"):
        with_initial(model, init)


def test_runs_of_other_models_are_refused(model):
    hmm = plait.CategoricalHMM(2, n_iter=2, random_state=0).fit([[0], [1], [0]])
    with pytest.raises(PlaitError, match="init must be a run of LDA, got a model of the kind 'hmm'"):
        with_initial(model, hmm)


def test_files_that_are_no_runs_are_refused(model, tmp_path):
    (tmp_path / "x").write_text("words")
    with pytest.raises(PlaitError, match="x is not a plait model"):
        with_initial(model, tmp_path / "x")


def test_sources_are_checked_without_data(fitted, tmp_path):
    for init in ("spectral", fitted, fitted.run_, np.ones((2, 2)), tmp_path):
        check_init("init", init)
