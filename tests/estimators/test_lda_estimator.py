"""LDA with scikit-learn's interface: what it takes, learns, infers and refuses."""

from __future__ import annotations

import copy
import doctest
import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import plait
import plait.estimators.lda
from plait.data.corpus import Corpus
from plait.data.synthetic import bands
from plait.errors import PlaitError, PlaitWarning
from plait.models.seeds import seeded_prior

METHODS = pytest.mark.parametrize("method", plait.plans.SAMPLERS)


def lda(n_components=3, **options):
    defaults = {"n_paths": 3, "max_iter": 10, "random_state": 0, "n_jobs": 1}
    return plait.LatentDirichletAllocation(n_components, **(defaults | options))


FIXED = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01}


@pytest.fixture(scope="module")
def corpus(small_bands):
    return small_bands.corpus


@pytest.fixture(scope="module")
def counts(corpus):
    """Return the same documents as a matrix, which forgets the order of their tokens."""
    return corpus.to_matrix().toarray()


@pytest.fixture(scope="module")
def fitted(counts):
    return lda(max_iter=100).fit(counts)


def tokens(corpus):
    return [corpus.tokens(d) for d in range(corpus.n_documents)]


def same_fit(a, b):
    assert np.array_equal(a.paths_, b.paths_)
    assert np.array_equal(a.trace_.log_joint, b.trace_.log_joint, equal_nan=True)
    for name in ("components_", "topic_word_", "doc_topic_", "agreement_"):
        assert np.array_equal(getattr(a, name), getattr(b, name))


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


class TestInput:
    @METHODS
    @pytest.mark.parametrize(
        "convert",
        [
            scipy.sparse.csr_matrix,
            scipy.sparse.csc_matrix,
            scipy.sparse.coo_array,
            np.ndarray.tolist,
            lambda counts: counts.astype(float),
            lambda counts: counts.astype(np.uint8),
            np.asfortranarray,
            pd.DataFrame,
            Corpus.from_matrix,
        ],
    )
    def test_all_forms_of_counts_give_the_same_bits(self, counts, method, convert):
        dense = lda(method=method).fit(counts)
        other = lda(method=method).fit(convert(counts))
        same_fit(dense, other)
        assert other.n_features_in_ == 30
        assert np.array_equal(dense.transform(counts), other.transform(convert(counts)))
        assert dense.score(counts) == other.score(convert(counts))

    def test_a_fit_does_not_change_the_counts(self, counts):
        for X in (counts.astype(float), scipy.sparse.csr_matrix(counts)):
            before = copy.deepcopy(X)
            lda().fit(X).transform(X)
            assert (before != X).sum() == 0

    def test_lists_of_words_are_a_corpus(self, corpus):
        mine = lda().fit(tokens(corpus))
        same_fit(mine, lda().fit(Corpus.from_tokens(tokens(corpus))))
        assert mine.corpus_.vocabulary == tuple(
            sorted({word for document in tokens(corpus) for word in document})
        )
        assert mine.n_features_in_ == len(mine.corpus_.vocabulary)
        assert np.array_equal(mine.transform(tokens(corpus)), mine.transform(mine.corpus_))

    def test_tuples_of_words_are_a_corpus(self, corpus):
        documents = tokens(corpus)
        same_fit(lda().fit(documents), lda().fit(tuple(map(tuple, documents))))

    def test_a_corpus_with_another_vocabulary_is_reindexed(self, corpus):
        mine = lda().fit(corpus)
        assert mine.corpus_ is corpus
        other = corpus.reindexed(corpus.vocabulary[::-1])
        assert np.array_equal(mine.transform(other), mine.transform(corpus))
        with pytest.warns(PlaitWarning, match="tokens were dropped"):
            narrow = corpus.reindexed([*corpus.vocabulary[:20], "new"])
        assert mine.transform(narrow).shape == (60, 3)

    def test_a_data_frame_brings_names(self, counts):
        frame = pd.DataFrame(counts, columns=[f"word {w}" for w in range(30)])
        mine = lda().fit(frame)
        assert mine.feature_names_in_.tolist() == list(frame.columns)
        assert mine.corpus_.vocabulary == tuple(frame.columns)
        same_fit(mine, lda().fit(counts))
        with pytest.raises(ValueError, match="feature names"):
            mine.transform(frame[frame.columns[::-1]])

    def test_names_of_an_earlier_fit_are_forgotten(self, counts, corpus):
        mine = lda().fit(pd.DataFrame(counts[:, 10:], columns=[f"word {w}" for w in range(20)]))
        mine.fit(corpus)
        assert not hasattr(mine, "feature_names_in_") or len(mine.feature_names_in_) == 30
        assert mine.transform(counts).shape == (60, 3)

    def test_it_works_in_a_pipeline(self):
        texts = ["apples and pears", "pears and plums", "trains and trams", "trams and buses"]
        model = make_pipeline(CountVectorizer(stop_words=["and"]), lda(2, max_iter=50))
        theta = model.fit_transform(texts)
        assert theta.shape == (4, 2)
        assert np.array_equal(theta, model.transform(texts))
        assert model.get_feature_names_out().tolist() == [f"latentdirichletallocation{t}" for t in (0, 1)]

    def test_it_works_in_a_grid_search(self, counts):
        search = GridSearchCV(lda(), {"n_components": [2, 3]}, cv=2, error_score="raise").fit(counts)
        assert search.best_params_["n_components"] in (2, 3)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_estimator_.transform(counts).shape[1] == search.best_params_["n_components"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_components": 0}, "n_components must be a whole number from 1 to 65535, got 0"),
            ({"n_components": 65536}, "n_components must be a whole number from 1 to 65535, got 65536"),
            ({"n_components": 2.5}, "n_components must be a whole number from 1 to 65535, got 2.5"),
            ({"n_paths": 0}, "n_paths must be a whole number of at least 1, got 0"),
            ({"doc_topic_prior": 0}, "doc_topic_prior must be a number from 1e-10 to .*, got 0"),
            ({"doc_topic_prior": np.inf}, "doc_topic_prior must be a number from 1e-10 to .*, got inf"),
            (
                {"doc_topic_prior": "auto"},
                "doc_topic_prior must be a number or an array of numbers, got 'auto'",
            ),
            ({"doc_topic_prior": [1, 2]}, r"doc_topic_prior must be .* \(T\) = \(3,\), got .*\(2,\)"),
            (
                {"doc_topic_prior": [1, 0, 2]},
                r"doc_topic_prior\[1\] must be a number from 1e-10 to .*, got 0",
            ),
            ({"topic_word_prior": -1}, "topic_word_prior must be a number from 1e-10 to .*, got -1"),
            (
                {"topic_word_prior": np.ones((30, 3))},
                r"topic_word_prior must be .* \(T, W\) = \(3, 30\), got .*\(30, 3\)",
            ),
            (
                {"topic_word_prior": np.full((3, 30), np.nan)},
                r"topic_word_prior\[0\]\[0\] must be .*, got nan",
            ),
            (
                {"method": "x"},
                "method must be one of 'partially-collapsed', 'collapsed', 'partitioned', got 'x'",
            ),
            ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
            ({"max_iter": 1.5}, "max_iter must be a whole number of at least 1, got 1.5"),
            ({"n_jobs": 0}, "n_jobs must be a number of threads, or -1 for all cores, got 0"),
            ({"random_state": -1}, "random_state must be a whole number from 0 to .*, got -1"),
        ],
    )
    def test_impossible_settings_are_refused(self, counts, options, message):
        with fails(message):
            lda(**options).fit(counts)

    @pytest.mark.parametrize("parameter", ["n_components", "doc_topic_prior", "n_jobs"])
    def test_a_long_value_stays_on_one_line(self, counts, parameter):
        with fails(""):
            lda(**{parameter: np.full((50, 50), "many")}).fit(counts)

    @pytest.mark.parametrize("convert", [np.asarray, scipy.sparse.csr_matrix])
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (-1.0, "Negative values in data: .* is -1.0"),
            (0.5, "is 0.5"),
            (np.nan, "is NaN"),
            (np.inf, "is inf"),
        ],
    )
    def test_impossible_counts_are_refused(self, counts, fitted, convert, value, shown):
        X = counts.astype(float)
        X[2, 1] = value
        for method in (lda().fit, fitted.transform, fitted.score):
            with fails(f"{shown}: pass whole numbers"):
                method(convert(X))

    @pytest.mark.filterwarnings("ignore::plait.PlaitWarning")
    def test_a_matrix_of_zeros_is_refused(self):
        with fails("the corpus is empty: none of its 4 documents has a word; give documents"):
            lda().fit(np.zeros((4, 5)))

    def test_an_estimator_that_is_not_fitted_says_so(self, counts):
        for method in (lda().transform, lda().score, lda().perplexity):
            with pytest.raises(NotFittedError):
                method(counts)

    def test_another_number_of_words_is_refused(self, fitted, counts):
        with pytest.raises(
            ValueError, match="X has 29 features, but LatentDirichletAllocation is expecting 30"
        ):
            fitted.transform(counts[:, 1:])

    def test_a_failed_fit_leaves_the_last_one(self, counts):
        mine = lda().fit(counts)
        before = mine.transform(counts)
        with fails("n_paths must be a whole number of at least 1, got 0"):
            mine.set_params(n_paths=0, random_state=1).fit(counts[:30])
        assert np.array_equal(mine.transform(counts), before)

    def test_a_warning_says_that_one_topic_is_too_few(self, counts):
        with pytest.warns(PlaitWarning, match="n_components is 1: .* choose 2 or more") as caught:
            mine = lda(1).fit(counts)
        assert len(caught) == 1
        assert not mine.paths_.any()


class TestAttributes:
    @METHODS
    def test_attributes_have_their_shapes_and_sums(self, counts, method):
        mine = lda(method=method, topic_word_prior=0.25).fit(counts)
        assert mine.components_.shape == mine.topic_word_.shape == (3, 30)
        assert mine.doc_topic_.shape == (60, 3)
        assert mine.paths_.shape == (3, 1200)
        assert mine.paths_.dtype == np.uint16
        assert mine.n_iter_ == mine.run_.sweep == 10
        assert mine.trace_.sweep.tolist() == [10]
        assert np.allclose(mine.topic_word_, mine.components_ / mine.components_.sum(axis=1, keepdims=True))
        assert mine.components_.sum() == pytest.approx(1200 + 3 * 30 * 0.25 / 3)
        for distributions in (mine.topic_word_, mine.doc_topic_):
            assert np.allclose(distributions.sum(axis=1), 1)
            assert (distributions > 0).all()

    def test_attributes_equal_a_plain_count(self, counts):
        alpha, eta = np.array([0.1, 0.5, 2.0]), np.random.default_rng(0).uniform(0.01, 1, (3, 30))
        mine = lda(doc_topic_prior=alpha, topic_word_prior=eta).fit(counts)
        words, offsets = mine.corpus_.words, mine.corpus_.offsets
        topics, documents = np.zeros((3, 30)), np.zeros((60, 3))
        for path in mine.paths_:
            np.add.at(topics, (path, words), 1)
            np.add.at(documents, (np.repeat(np.arange(60), np.diff(offsets)), path), 1)
        assert np.allclose(mine.components_, (topics + eta) / 3)
        assert np.allclose(mine.doc_topic_, (documents / 3 + alpha) / (20 + alpha.sum()))

    @pytest.mark.parametrize("n_paths", [1, 2, 5])
    def test_agreement_is_the_share_of_the_most_common_topic(self, counts, n_paths):
        mine = lda(n_paths=n_paths).fit(counts)
        by_hand = [np.bincount(column).max() / n_paths for column in mine.paths_.T]
        assert np.array_equal(mine.agreement_, by_hand)
        assert mine.agreement_.min() >= 1 / n_paths
        assert mine.agreement_.max() <= 1
        assert n_paths > 1 or set(mine.agreement_) == {1.0}

    def test_columns_of_the_output_have_names(self, fitted, counts):
        names = [f"latentdirichletallocation{t}" for t in range(3)]
        assert fitted.get_feature_names_out().tolist() == names
        frame = copy.copy(fitted).set_output(transform="pandas").transform(counts)
        assert isinstance(frame, pd.DataFrame)
        assert list(frame.columns) == names
        assert np.array_equal(frame.to_numpy(), fitted.transform(counts))

    def test_named_topics_name_the_columns(self, fitted, counts, tmp_path):
        named = copy.copy(fitted).name_topics({1: "war"})
        assert named.topic_names_ == ["topic 0", "war", "topic 2"]
        columns = ["latentdirichletallocation0", "war", "latentdirichletallocation2"]
        assert named.get_feature_names_out().tolist() == columns
        assert list(named.set_output(transform="pandas").transform(counts).columns) == columns
        named.run_.save(tmp_path / "x")
        assert plait.LDA.from_run(tmp_path / "x").topic_names_ == named.topic_names_
        assert named.name_topics({1: None}).topic_names_ == fitted.topic_names_
        with fails("names must have whole numbers from 0 to 2 as keys, got 3"):
            named.name_topics({3: "x"})

    def test_a_warm_start_keeps_names(self, counts):
        model = lda(max_iter=2, warm_start=True).fit(counts).name_topics({1: "war"})
        assert model.fit(counts).topic_names_[1] == "war"

    def test_topics_without_a_fit_have_no_names(self):
        for use in (lambda: lda().name_topics({}), lda().get_feature_names_out, lda().to_pyldavis):
            with pytest.raises(NotFittedError):
                use()

    def test_a_clone_is_not_fitted(self, fitted):
        fresh = clone(fitted)
        assert fresh.get_params() == fitted.get_params()
        assert not hasattr(fresh, "components_")

    def test_a_pickle_gives_the_same_answers(self, fitted, counts):
        again = pickle.loads(pickle.dumps(fitted))
        same_fit(again, fitted)
        assert np.array_equal(again.transform(counts), fitted.transform(counts))
        assert again.score(counts) == fitted.score(counts)

    def test_the_run_can_be_saved(self, fitted, tmp_path):
        fitted.run_.save(tmp_path / "x")
        assert np.array_equal(plait.load(tmp_path / "x").paths, fitted.paths_)

    @pytest.mark.parametrize("verbose", [0, 1])
    def test_verbose_shows_progress(self, counts, verbose, capsys):
        lda(verbose=verbose).fit(counts)
        out, err = capsys.readouterr()
        assert out == ""
        assert ("sweep 10 of 10" in err) == bool(verbose)

    def test_the_examples_in_the_docstring_run(self):
        results = doctest.testmod(plait.estimators.lda)
        assert results.attempted >= 5
        assert results.failed == 0


class TestRandomState:
    def test_an_int_is_the_seed(self, counts):
        same_fit(lda(random_state=7).fit(counts), lda(random_state=7).fit(counts))
        same_fit(lda(random_state=np.int64(7)).fit(counts), lda(random_state=7).fit(counts))
        assert lda(random_state=7).fit(counts).seed_ == 7
        assert not np.array_equal(
            lda(random_state=7).fit(counts).paths_, lda(random_state=8).fit(counts).paths_
        )

    def test_none_is_another_seed_each_time_which_can_be_used_again(self, counts):
        mine, other = lda(random_state=None).fit(counts), lda(random_state=None).fit(counts)
        assert mine.seed_ != other.seed_
        same_fit(mine, lda(random_state=mine.seed_).fit(counts))

    def test_a_random_state_is_advanced_by_a_fit(self, counts):
        state = np.random.RandomState(3)
        mine, second = lda(random_state=state).fit(counts), lda(random_state=state).fit(counts)
        assert mine.seed_ != second.seed_
        again = lda(random_state=np.random.RandomState(3)).fit(counts)
        same_fit(mine, again)


class TestTransform:
    def test_rows_sum_to_one_and_repeat(self, fitted, counts):
        theta = fitted.transform(counts)
        assert theta.shape == (60, 3)
        assert np.allclose(theta.sum(axis=1), 1)
        assert np.array_equal(theta, fitted.transform(counts))

    def test_fitted_documents_get_about_the_topics_of_the_fit(self, fitted, counts):
        assert np.abs(fitted.transform(counts) - fitted.doc_topic_).mean() < 0.05

    def test_the_topics_of_a_document_do_not_depend_on_the_others(self, fitted, counts):
        theta = fitted.transform(counts)
        order = np.random.default_rng(0).permutation(60)
        assert np.array_equal(fitted.transform(counts[order]), theta[order])
        assert np.array_equal(fitted.transform(counts[17:18]), theta[17:18])
        with_empty = np.vstack([counts[:5], np.zeros((1, 30), int), counts[5:]])
        assert np.array_equal(np.delete(fitted.transform(with_empty), 5, axis=0), theta)

    def test_the_order_of_words_does_not_matter(self, corpus):
        mine = lda().fit(corpus)
        documents = tokens(corpus)
        shuffled = [list(np.random.default_rng(0).permutation(document)) for document in documents]
        shuffled = [list(map(str, document)) for document in shuffled]
        assert shuffled != documents
        assert np.array_equal(mine.transform(shuffled), mine.transform(documents))

    def test_any_number_of_threads_gives_the_same_bits(self):
        many = bands(2000).corpus  # enough tokens for several threads
        mine = lda(5, max_iter=2).fit(many)
        theta, score = mine.transform(many), mine.score(many)
        for n_jobs in (2, 4):
            mine.set_params(n_jobs=n_jobs)
            assert np.array_equal(mine.transform(many), theta)
            assert mine.score(many) == score

    @pytest.mark.parametrize("alpha", [None, 0.2, [0.1, 0.2, 0.7]])
    def test_an_empty_document_gets_the_prior(self, counts, alpha):
        X = counts.copy()
        X[[3, 40]] = 0
        message = "^2 of 60 documents are empty: they are kept, and their topic distribution is the prior's$"
        with pytest.warns(PlaitWarning, match=message):
            mine = lda(doc_topic_prior=alpha).fit(X)
        prior = alpha if isinstance(alpha, list) else [1 / 3] * 3
        assert np.allclose(mine.doc_topic_[[3, 40]], prior)
        assert np.allclose(mine.transform(X)[[3, 40]], prior)
        assert np.allclose(mine.transform(X[[3, 40]]), prior)  # nothing but empty ones

    def test_unknown_words_are_left_out(self, corpus):
        mine = lda().fit(corpus)
        document = corpus.tokens(0)
        with pytest.warns(PlaitWarning, match="2 of 22 tokens were dropped.*'war'"):
            theta = mine.transform([["war", *document, "peace"]])
        assert np.array_equal(theta, mine.transform([document]))

    def test_a_document_of_unknown_words_gets_the_prior(self, corpus):
        mine = lda().fit(corpus)
        with pytest.warns(PlaitWarning, match="2 of 22 tokens were dropped"):
            theta = mine.transform([corpus.tokens(0), ["war", "peace"]])
        assert np.allclose(theta[1], 1 / 3)
        with pytest.warns(PlaitWarning, match="2 of 2 tokens were dropped"):
            theta = mine.transform([["war", "peace"]])
        assert np.allclose(theta, 1 / 3)

    def test_unknown_words_are_warned_about_once_and_again_after_another_fit(self, corpus):
        mine = lda().fit(corpus)
        for _ in range(2):
            with pytest.warns(PlaitWarning, match="1 of 21 tokens were dropped"):
                mine.transform([["war", *corpus.tokens(0)]])
            mine.transform([["war", "peace", *corpus.tokens(0)]])  # any warning is an error
            mine.fit(corpus)

    def test_a_list_of_empty_documents_gets_the_prior(self, corpus):
        mine = lda().fit(tokens(corpus))
        assert np.allclose(mine.transform([[], []]), 1 / 3)


class TestWarmStart:
    @METHODS
    def test_two_fits_are_one_longer_fit(self, counts, method):
        mine = lda(method=method, max_iter=4, warm_start=True, **FIXED).fit(counts)
        mine.set_params(max_iter=6).fit(counts)
        whole = lda(method=method, max_iter=10, **FIXED).fit(counts)
        assert mine.n_iter_ == 10
        assert np.array_equal(mine.paths_, whole.paths_)
        assert np.array_equal(mine.components_, whole.components_)
        assert np.array_equal(mine.transform(counts), whole.transform(counts))

    def test_a_pickled_fit_can_be_resumed(self, counts):
        mine = pickle.loads(pickle.dumps(lda(max_iter=4, warm_start=True, **FIXED).fit(counts)))
        mine.set_params(max_iter=6).fit(counts)
        assert np.array_equal(mine.paths_, lda(max_iter=10, **FIXED).fit(counts).paths_)

    def test_two_fits_that_learn_with_one_path_are_one_longer_fit(self, counts):
        mine = lda(n_paths=1, max_iter=15, warm_start=True).fit(counts)
        mine.set_params(max_iter=10).fit(counts)
        whole = lda(n_paths=1, max_iter=25).fit(counts)
        assert np.array_equal(mine.paths_, whole.paths_)
        assert np.array_equal(mine.doc_topic_prior_, whole.doc_topic_prior_)

    def test_without_it_a_fit_starts_afresh(self, counts):
        mine = lda().fit(counts)
        first = mine.paths_
        assert np.array_equal(mine.fit(counts).paths_, first)
        assert mine.n_iter_ == 10

    def test_other_data_are_refused(self, counts):
        mine = lda(warm_start=True).fit(counts)
        for other in (counts[:-1], counts[::-1], counts + 1):
            with fails("X is not what was fitted: set warm_start=False"):
                mine.fit(other)

    @pytest.mark.parametrize("change", [{"n_paths": 4}, {"n_components": 2}, {"method": "collapsed"}])
    def test_other_settings_are_refused(self, counts, change):
        mine = lda(warm_start=True).fit(counts).set_params(**change)
        with fails("n_components, n_paths or method has changed: set warm_start=False"):
            mine.fit(counts)

    @pytest.mark.parametrize("change", [{"doc_topic_prior": 5.0}, {"topic_word_prior": 0.5}])
    def test_other_priors_are_refused(self, counts, change):
        mine = lda(warm_start=True).fit(counts).set_params(**change)
        with fails("set warm_start=False"):
            mine.fit(counts)


class TestPlans:
    PLAN = plait.Plan(
        [
            plait.Stage("partitioned", 1, 12, learn_priors=True),
            plait.Stage("partially-collapsed", (1, 3), 6),
            plait.Stage("collapsed", 1, 6, average=True),
        ]
    )

    def test_number_of_paths_with_fixed_priors_is_one_stage(self, counts):
        run = lda(**FIXED).fit(counts).run_
        assert run.settings.stages == (plait.Stage("partially-collapsed", 3, 10),)
        assert run.late is None

    def test_fixed_priors_give_the_bits_of_the_sampler(self, counts):
        mine = lda(**FIXED).fit(counts)
        run = plait.sample(plait.LdaModel(mine.corpus_, 3, 0.1, 0.01), n_paths=3, n_sweeps=10, n_jobs=1)
        assert np.array_equal(mine.paths_, run.paths)

    def test_priors_are_learnt_with_one_path_before_several_follow(self, counts):
        mine = lda(max_iter=40).fit(counts)
        assert [(s.n_paths, s.sweeps, s.learn_priors) for s in mine.run_.settings.stages] == [
            (1, 12, True),
            (3, 28, False),
        ]
        assert len(set(mine.doc_topic_prior_)) == 3
        assert float(mine.topic_word_prior_) != 0.01

    def test_one_fixed_prior_leaves_the_other_to_be_learnt(self, counts):
        mine = lda(max_iter=40, doc_topic_prior=0.5).fit(counts)
        assert set(mine.doc_topic_prior_) == {0.5}
        assert float(mine.topic_word_prior_) != 0.01

    def test_plan_is_scaled_to_the_number_of_iterations(self, counts):
        mine = lda(n_paths=self.PLAN, max_iter=12).fit(counts)
        assert [stage.sweeps for stage in mine.run_.settings.stages] == [6, 3, 3]

    @pytest.mark.parametrize("name", ["prediction", "optimum", "posterior"])
    def test_plans_have_names(self, counts, name):
        mine = lda(n_paths=name, max_iter=30).fit(counts)
        assert mine.n_iter_ == 30
        assert np.allclose(mine.topic_word_.sum(axis=1), 1)
        assert np.allclose(mine.doc_topic_.sum(axis=1), 1)
        again = plait.LatentDirichletAllocation.from_run(mine.run_)
        assert np.array_equal(again.topic_word_, mine.topic_word_)
        assert np.array_equal(again.transform(counts), mine.transform(counts))
        assert again.n_paths == mine.run_.settings.plan

    def test_averages_are_used_everywhere(self, counts):
        mine = lda(n_paths=self.PLAN, max_iter=24).fit(counts)
        late = mine.run_.late
        assert late.n == 6
        words, documents = late.total("words") / 6, late.total("documents") / 6
        assert np.allclose(mine.components_, words.T + float(mine.topic_word_prior_))
        assert np.allclose(mine.topic_word_, mine.components_ / mine.components_.sum(axis=1, keepdims=True))
        theta = documents + mine.doc_topic_prior_
        assert np.allclose(mine.doc_topic_, theta / theta.sum(axis=1, keepdims=True))
        assert np.allclose(mine.run_.parameters().topic_word, mine.topic_word_, atol=1e-6)

    def test_time_ends_a_fit(self, counts):
        mine = lda(n_paths="prediction", max_seconds=0.2, max_iter=10**6).fit(counts)
        assert mine.run_.finished
        repeated = lda(n_paths=mine.run_.settings.plan, max_iter=mine.n_iter_).fit(counts)
        assert np.array_equal(repeated.topic_word_, mine.topic_word_)

    def test_tolerance_ends_a_stage(self, counts):
        mine = lda(n_paths=1, max_iter=5000, tol=0.01).fit(counts)
        assert mine.n_iter_ < 5000

    def test_unknown_plan_is_refused(self, counts):
        with fails(
            "n_paths must be a number, a Plan or one of 'prediction', 'optimum', 'posterior', got 'x'"
        ):
            lda(n_paths="x").fit(counts)

    def test_one_iteration_is_one_stage(self, counts):
        mine = lda(n_paths="prediction", max_iter=1).fit(counts)
        assert mine.n_iter_ == len(mine.run_.settings.stages) == 1


class TestScore:
    def test_the_perplexity_follows_from_the_score(self, fitted, counts):
        n_scored = (counts.sum(axis=1) // 2).sum()
        assert fitted.perplexity(counts) == pytest.approx(np.exp(-fitted.score(counts) / n_scored))
        assert 1 < fitted.perplexity(counts) < 30
        assert fitted.score(counts) == fitted.score(counts)

    def test_learned_topics_predict_better_than_shuffled_ones(self, fitted, counts):
        shuffled = lda().fit(counts[:, np.random.default_rng(0).permutation(30)])
        assert fitted.score(counts) > shuffled.score(counts) + 100

    def test_documents_that_cannot_be_split_are_refused(self, fitted, counts):
        with fails("no document has two words: .* pass longer documents"):
            fitted.score(np.eye(30, dtype=int))


class TestPriors:
    @METHODS
    def test_seed_words_pull_a_topic(self, counts, method):
        eta = np.full((3, 30), 0.01)
        eta[2, :5] = eta[0, 25:] = 50.0
        mine = lda(method=method, max_iter=50, topic_word_prior=eta).fit(counts)
        words, paths = mine.corpus_.words, mine.paths_
        assert (paths[:, words < 5] == 2).mean() > 0.9
        assert (paths[:, words >= 25] == 0).mean() > 0.9

    @METHODS
    def test_an_asymmetric_alpha_makes_topics_of_unequal_size(self, counts, method):
        mine = lda(method=method, max_iter=50, doc_topic_prior=[0.01, 0.01, 10.0]).fit(counts)
        assert mine.doc_topic_[:, 2].mean() > 0.5

    def test_a_number_and_a_vector_of_it_are_the_same(self, counts):
        number = lda(doc_topic_prior=0.5, topic_word_prior=0.1).fit(counts)
        arrays = lda(doc_topic_prior=[0.5] * 3, topic_word_prior=np.full((3, 30), 0.1)).fit(counts)
        assert np.array_equal(number.paths_, arrays.paths_)

    def test_the_default_priors_are_as_documented(self, counts):
        for n_components, alpha in ((3, 1.0), (40, 0.25)):
            model = lda(n_components, max_iter=1).fit(counts).run_.model
            assert np.all(model.alpha == alpha)
            assert np.all(model.eta == 0.01)


class TestStarts:
    @METHODS
    @pytest.mark.parametrize("init", ["uniform", "progressive", "spectral"])
    def test_an_initialisation_by_name_is_that_of_the_model(self, corpus, method, init):
        mine = lda(init=init, method=method, max_iter=1, **FIXED).fit(corpus)
        model = plait.LdaModel(corpus, 3, 0.1, 0.01, initial=init)
        run = plait.sample(model, n_paths=plait.Plan([plait.Stage(method, 3, 1)]), n_jobs=1)
        assert np.array_equal(mine.paths_, run.paths)
        assert mine.run_.model.initial == init

    def test_topics_keep_their_numbers(self, corpus, fitted, tmp_path):
        fitted.run_.save(tmp_path / "x")
        order = [2, 0, 1]
        for init in (fitted, fitted.run_, tmp_path / "x", fitted.topic_word_, fitted.components_[order]):
            mine = lda(init=init, max_iter=2).fit(corpus)
            distances = np.abs(mine.topic_word_[:, None] - fitted.topic_word_[None]).sum(axis=2)
            wanted = (
                order if init is not fitted and isinstance(init, np.ndarray) and init.max() > 1 else [0, 1, 2]
            )
            assert distances.argmin(axis=1).tolist() == wanted

    def test_a_loaded_estimator_has_the_initialisation_of_its_run(self, counts, fitted):
        for init in ("spectral", fitted):
            mine = lda(init=init).fit(counts)
            again = plait.LDA.from_run(mine.run_)
            if init == "spectral":
                assert again.init == "spectral"
            same = again.set_params(max_iter=10, n_jobs=1).fit(counts)
            assert np.array_equal(same.paths_, mine.paths_)

    def test_a_warm_start_goes_on_with_its_paths(self, counts):
        mine = lda(init="progressive", warm_start=True, **FIXED).fit(counts).fit(counts)
        assert np.array_equal(mine.paths_, lda(init="progressive", max_iter=20, **FIXED).fit(counts).paths_)

    def test_a_grid_search_takes_runs(self, counts, fitted):
        grid = {"init": ["progressive", fitted.run_, fitted.topic_word_]}
        search = GridSearchCV(lda(max_iter=2), grid, cv=2, error_score="raise").fit(counts)
        assert len(search.cv_results_["params"]) == 3

    @pytest.mark.parametrize(
        ("init", "message"),
        [
            ("random", "init must be one of 'uniform', .*, got 'random'"),
            (np.ones((2, 30)), "init must have as many topics as n_components, 3, got 2"),
        ],
    )
    def test_impossible_initialisations_are_refused(self, counts, init, message):
        with fails(message):
            lda(init=init).fit(counts)


class TestSeeds:
    SEEDS: ClassVar = {"last": ["28", "29"], "first": ["0", "1"]}

    @METHODS
    def test_seeded_topics_come_first_and_have_names(self, corpus, method):
        mine = lda(seeds=self.SEEDS, method=method, max_iter=50).fit(corpus)
        assert mine.topic_names_[:2] == ["last", "first"]
        words = mine.corpus_.words
        assert (mine.paths_[:, words >= 28] == 0).mean() > 0.9
        assert (mine.paths_[:, words < 2] == 1).mean() > 0.9

    def test_the_prior_is_that_of_seeded_prior(self, corpus):
        mine = lda(seeds=self.SEEDS, seed_weight=0.25, topic_word_prior=0.05, max_iter=1).fit(corpus)
        prior = seeded_prior(corpus, 3, self.SEEDS, 0.05, 0.25, n_paths=3)
        assert np.array_equal(mine.run_.model.eta, prior.eta)
        assert lda(max_iter=1).fit(corpus).run_.names == {}

    def test_stems_match(self):
        texts = ["taxes and revenues", "armies and wars", "the tax revenue", "the war of armies"]
        corpus = Corpus.from_texts(texts, recipe=plait.TextRecipe(stem="english"))
        mine = lda(2, seeds={"war": ["Wars"], "tax": ["taxing"]}, max_iter=20).fit(corpus)
        assert corpus.vocabulary[mine.run_.model.eta[1].argmax()] == "tax"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"seeds": ["0"]}, "seeds must be a mapping of names of topics to words, got"),
            ({"seeds": {"a": ["x"]}}, r"seeds\['a'\] has no word that occurs in the corpus"),
            (
                {"seeds": {c: ["0"] for c in "abcd"}},
                "seeds must be for at most 3 topics, got 4: raise n_components",
            ),
            ({"seed_weight": -1}, "seed_weight must be a number of at least 0, got -1"),
            (
                {"seeds": {"a": ["0"]}, "topic_word_prior": np.ones((3, 30))},
                "topic_word_prior must be a number of at least 0, got",
            ),
        ],
    )
    def test_impossible_seeds_are_refused(self, counts, options, message):
        with fails(message):
            lda(**options).fit(counts)

    def test_unknown_words_are_warned_of(self, counts):
        with pytest.warns(PlaitWarning, match="seed words that do not occur in the corpus are ignored: 'x'"):
            lda(seeds={"a": ["0", "x"]}).fit(counts)


def distance(truth, n_paths, seed, max_iter):
    """Return how far the nearest found topic is from a true one, in L1, on average."""
    mine = lda(
        10,
        n_paths=n_paths,
        doc_topic_prior=1.0,
        topic_word_prior=1.0,
        method="collapsed",
        max_iter=max_iter,
        random_state=seed,
    ).fit(truth.corpus)
    pairs = np.abs(truth.topics[:, None] - mine.topic_word_[None]).sum(axis=2)
    return pairs.min(axis=1).mean()


class TestMethod:
    """Several paths find the topics that one path does not find."""

    def test_more_paths_find_more_topics_in_few_sweeps(self):
        truth = bands(1500, seed=0)
        assert distance(truth, 5, 0, 150) < distance(truth, 1, 0, 150) - 0.2

    @pytest.mark.slow
    def test_more_paths_find_more_topics_in_many_sweeps(self):
        truth = bands(1500, seed=0)
        one, five = (np.mean([distance(truth, m, seed, 1000) for seed in range(4)]) for m in (1, 5))
        assert one == pytest.approx(1.15, abs=0.15)
        assert five < 0.80
