"""Summaries of topics."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.evaluate.summary import summarise_topics, topic_names
from plait.inference.fitted import doc_topic
from plait.models.emissions import GaussianEmissions
from plait.models.lda import LdaModel
from plait.models.mixture import MixtureModel
from plait.sampler import sample
from plait.threads import Threads


def test_summaries_do_not_depend_on_the_number_of_threads(small_bands):
    run = sample(LdaModel(small_bands.corpus, 3), n_paths=2, n_sweeps=5, n_jobs=1)
    summaries = summarise_topics(run, 4)
    assert sorted(summary.topic for summary in summaries) == [0, 1, 2]
    assert sum(summary.share for summary in summaries) == pytest.approx(1)
    assert all(len(summary.words) == 4 for summary in summaries)
    assert [summary.share for summary in summaries] == sorted((s.share for s in summaries), reverse=True)
    with Threads(2) as threads:
        assert summarise_topics(run, 4, n_jobs=1) == summarise_topics(run, 4, n_jobs=threads) == summaries


def test_summaries_have_the_names_of_topics(small_bands):
    run = sample(LdaModel(small_bands.corpus, 3), n_paths=2, n_sweeps=5, n_jobs=1, names={1: "war"})
    assert {s.topic: s.name for s in summarise_topics(run)} == {0: None, 1: "war", 2: None}
    assert topic_names(run) == ["topic 0", "war", "topic 2"]


def test_topics_of_documents_are_means_given_the_paths(small_bands):
    model = LdaModel(small_bands.corpus, 3, alpha=[0.1, 0.2, 0.3])
    run = sample(model, n_paths=2, n_sweeps=5, n_jobs=1)
    theta = doc_topic(run)
    first = run.paths[:, : model.corpus.offsets[1]]
    counts = np.array([(first == t).sum() / 2 for t in range(3)])
    np.testing.assert_allclose(theta[0], (counts + np.array([0.1, 0.2, 0.3])) / (20 + 0.6))
    assert theta.shape == (60, 3)


def test_other_models_are_refused():
    sequences = Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    run = sample(MixtureModel(GaussianEmissions(sequences, 2)), n_sweeps=2, n_jobs=1)
    with pytest.raises(
        PlaitError, match=r"run must have a model of the kind 'lda'.*, got 'mixture'"
    ) as caught:
        summarise_topics(run)
    assert caught.value.argument == "run"
