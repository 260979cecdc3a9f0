"""Initialisations of LDA: what they give, what they refuse, and what files keep of them."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.errors import PlaitError
from plait.models.lda import LdaModel, Topics
from plait.models.lda_starts import STARTS, add_unknown, spectral_topics
from plait.testing import check_model
from plait.threads import Threads

KINDS = ["uniform", "progressive", "spectral", "topics"]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def started(corpus, kind, n_topics=3, **options):
    model = LdaModel(corpus, n_topics, **options)
    if kind != "topics":
        return replace(model, initial=kind)
    phi = np.random.default_rng(0).dirichlet(np.full(corpus.n_words, 0.2), n_topics)
    return replace(model, initial=model.as_topics(phi, 1))


def first_paths(model, n_paths=2, seed=3, n_jobs=1):
    with Threads(n_jobs) as threads:
        return model.initial_paths(n_paths, seed, threads)


def log_joint(model, paths):
    with Threads(1) as threads:
        return model.log_joint(paths, model.mean_parameters(model.count(paths, threads), threads), threads)


def test_the_default_is_uniform(small_bands):
    assert LdaModel(small_bands.corpus, 3).initial == "uniform"


@EVERY_KIND
@pytest.mark.parametrize("n_topics", [3, 70])
def test_paths_depend_on_the_seed_and_not_on_the_threads(small_bands, kind, n_topics, monkeypatch):
    monkeypatch.setattr("plait.models.lda._TOKENS_PER_RANGE", 50)
    model = started(small_bands.corpus, kind, n_topics)
    paths = first_paths(model)
    assert paths.shape == (2, 1200)
    assert paths.dtype == np.uint16
    assert paths.max() < n_topics
    for n_jobs in (1, 2, 3):
        assert np.array_equal(paths, first_paths(model, n_jobs=n_jobs))
    assert not np.array_equal(paths, first_paths(model, seed=4))
    # In a progressive start each path follows the counts that the others have just made.
    assert kind == "progressive" or not np.array_equal(paths[0], paths[1])


@pytest.mark.parametrize("kind", KINDS[1:])
def test_other_initialisations_start_far_above_the_uniform_one(small_bands, kind):
    model = started(small_bands.corpus, kind)
    if kind == "topics":
        model = replace(model, initial=model.as_topics(small_bands.topics, 1))
    uniform = log_joint(model, first_paths(replace(model, initial="uniform")))
    assert np.all(log_joint(model, first_paths(model)) > uniform + 300)


def test_given_topics_keep_their_numbers(small_bands):
    """Topic t of the start is topic t of the paths."""
    model = LdaModel(small_bands.corpus, 3)
    for order in ([0, 1, 2], [2, 0, 1]):
        given = replace(model, initial=model.as_topics(small_bands.topics[order], 1))
        paths = first_paths(given)
        with Threads(1) as threads:
            found = model.topic_word(model.count(paths, threads))
        distances = np.abs(found[:, None] - small_bands.topics[order][None]).sum(axis=2)
        assert distances.argmin(axis=1).tolist() == [0, 1, 2]


def test_only_phi_of_given_topics_counts(small_bands):
    """Topics of a run with another alpha have other sums in `shared`."""
    model = LdaModel(small_bands.corpus, 3, alpha=0.2)
    other = LdaModel(small_bands.corpus, 3, alpha=[5.0, 0.1, 1.0])
    mine, theirs = (m.as_topics(small_bands.topics, 1) for m in (model, other))
    assert not np.array_equal(mine.shared, theirs.shared)
    a, b = (first_paths(replace(model, initial=topics)) for topics in (mine, theirs))
    assert np.array_equal(a, b)


@EVERY_KIND
def test_models_keep_the_contract_and_sample_what_they_describe(kind):
    corpus = Corpus.from_tokens([["a", "b", "a"], ["c", "b"]])
    check_model(started(corpus, kind, 2, alpha=0.7, eta=0.5), n_paths=(2,), n_draws=300)


@EVERY_KIND
@pytest.mark.parametrize("n_topics", [2, 9, 40])
def test_tiny_corpora_have_initial_paths(kind, n_topics):
    """There are fewer words, documents and pairs of tokens than topics."""
    for documents in ([["a"]], [["a", "b"], []], [["a", "b", "b"]] * 7, [list("abcdef")] * 40):
        paths = first_paths(started(Corpus.from_tokens(documents), kind, n_topics))
        assert paths.max() < n_topics


def test_words_that_never_occur_are_allowed():
    corpus = Corpus([0, 1, 0, 1] * 10, np.arange(0, 41, 4), ("a", "b", "never"))
    for kind in KINDS:
        assert first_paths(started(corpus, kind)).shape == (2, 40)
    eta = np.full((3, 3), 0.1)
    eta[1, 2] = 2.0
    assert first_paths(started(corpus, "spectral", eta=eta)).shape == (2, 40)


class TestSpectral:
    def test_remaining_topics_are_random_and_distinct(self):
        corpus = Corpus.from_tokens([["a", "b", "c", "d"]] * 3)
        with Threads(1) as threads:
            topics = spectral_topics(LdaModel(corpus, 5), threads)
        np.testing.assert_allclose(topics.sum(axis=1), 1)
        assert len(np.unique(topics.round(6), axis=0)) == 5
        np.testing.assert_allclose(topics.mean(axis=0), 0.25, atol=0.2)

    def test_topics_are_numbered_by_the_prior(self, small_bands):
        eta = np.full((3, 30), 0.01)
        eta[2, :4], eta[0, 26:] = 5.0, 5.0
        with Threads(1) as threads:
            topics = spectral_topics(LdaModel(small_bands.corpus, 3, eta=eta), threads)
        assert topics[:, :4].sum(axis=1).argmax() == 2
        assert topics[:, 26:].sum(axis=1).argmax() == 0

    def test_it_is_near_the_true_topics(self):
        truth = plait.datasets.bands(
            4000, seed=2, n_topics=5, n_words=50, width=10, document_length=30, alpha=0.3
        )
        with Threads(1) as threads:
            found = spectral_topics(LdaModel(truth.corpus, 5), threads)
        distances = np.abs(truth.topics[:, None] - found[None]).sum(axis=2).min(axis=1)
        uniform = np.abs(truth.topics - 0.02).sum(axis=1)
        assert uniform.min() > 1.2
        assert distances.max() < 0.5


def test_words_that_no_topic_knows_get_their_frequency_in_all_topics():
    topics = np.array([[0.5, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
    found = add_unknown(topics, np.array([0.3, 0.1, 0.4, 0.2]))
    np.testing.assert_allclose(found, [[0.35, 0.1, 0.35, 0.2], [0.7, 0.1, 0.0, 0.2]])
    np.testing.assert_allclose(found.sum(axis=1), 1)


class TestFiles:
    @EVERY_KIND
    def test_a_run_keeps_its_initialisation(self, annotated_corpus, kind, tmp_path):
        model = started(annotated_corpus, kind)
        run = plait.sample(model, n_paths=2, n_sweeps=2, n_jobs=1)
        run.save(tmp_path / "x")
        again = plait.load(tmp_path / "x").model
        assert np.array_equal(first_paths(again), first_paths(model))
        if kind == "topics":
            assert np.array_equal(again.initial.phi, model.initial.phi)
            assert np.array_equal(again.initial.shared, model.initial.shared)
        else:
            assert again.initial == kind

    @EVERY_KIND
    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
    def test_copies_keep_it(self, annotated_corpus, kind, copied):
        model = started(annotated_corpus, kind)
        again = copied(model)
        assert np.array_equal(first_paths(again), first_paths(model))
        if kind == "topics":
            assert not again.initial.phi.flags.writeable

    @EVERY_KIND
    def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(self, small_bands, kind, tmp_path):
        model = started(small_bands.corpus, kind)
        whole = plait.sample(model, n_paths=2, n_sweeps=6, collapsed=True, n_jobs=1)
        plait.sample(model, n_paths=2, n_sweeps=3, collapsed=True, n_jobs=1).save(tmp_path / "x")
        resumed = plait.resume(tmp_path / "x", n_sweeps=6, n_jobs=1)
        assert np.array_equal(whole.paths, resumed.paths)

    def test_files_without_it_are_uniform(self, annotated_corpus):
        arrays, header = LdaModel(annotated_corpus, 3).to_arrays()
        del header["initial"]
        assert LdaModel.from_arrays(arrays, header).initial == "uniform"

    def test_the_topics_of_the_caller_stay_his(self, small_bands):
        model = LdaModel(small_bands.corpus, 3)
        topics = model.as_topics(small_bands.topics, 1)
        given = replace(model, initial=topics)
        before = first_paths(given)
        topics.phi[:] = 0.0
        assert np.array_equal(first_paths(given), before)


class TestBadInput:
    @pytest.mark.parametrize(
        ("initial", "message"),
        [
            (
                "random",
                "initial must be one of 'uniform', 'progressive', 'spectral', or Topics, got 'random'",
            ),
            (None, "initial must be .*, got None"),
            (np.ones((3, 30)), "initial must be .*, got array"),
            (Topics(1, 2), "phi of the topics must be an array of float32, got 1"),
        ],
    )
    def test_other_values_are_refused(self, small_bands, initial, message):
        with pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z"):
            LdaModel(small_bands.corpus, 3, initial=initial)

    @pytest.mark.parametrize(
        ("place", "value", "message"),
        [
            ((2, 1), np.nan, "initial must have probabilities from 0 to 1, got nan for word 2 in topic 1"),
            ((0, 0), -0.5, "initial must have probabilities from 0 to 1, got -0.5 for word 0 in topic 0"),
            ((0, 2), np.inf, "initial must have probabilities from 0 to 1, got inf for word 0 in topic 2"),
            (np.s_[:, 1], 0.0, "initial must have topics that sum to 1, got 0 for topic 1: normalise them"),
        ],
    )
    def test_topics_that_are_no_distributions_are_refused(self, small_bands, place, value, message):
        model = LdaModel(small_bands.corpus, 3)
        topics = model.as_topics(small_bands.topics, 1)
        topics.phi[place] = value
        with pytest.raises(PlaitError, match=message) as caught:
            replace(model, initial=topics)
        assert caught.value.argument == "initial"

    def test_topics_of_another_shape_are_refused(self, small_bands):
        model = LdaModel(small_bands.corpus, 3)
        topics = model.as_topics(small_bands.topics, 1)
        for wrong in (
            Topics(topics.phi[:-1], topics.shared),
            Topics(np.asfortranarray(topics.phi), topics.shared),
            Topics(topics.phi, topics.shared[:, :0]),
        ):
            with pytest.raises(PlaitError, match=r"phi of the topics|shared of the topics|C order"):
                replace(model, initial=wrong)

    def test_more_paths_than_can_be_counted_are_refused(self, small_bands, monkeypatch):
        monkeypatch.setattr("plait.models.lda.MAX_COUNT", 100)
        with pytest.raises(PlaitError, match="n_paths must be at most 1, got 2"):
            first_paths(started(small_bands.corpus, "progressive"))


def test_the_names_are_those_of_the_documentation():
    assert STARTS == ("uniform", "progressive", "spectral")
