"""Summaries of topics."""

from __future__ import annotations

import numpy as np
import pytest

from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.evaluate.summary import summarise_topics
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


def test_other_models_are_refused():
    sequences = Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    run = sample(MixtureModel(GaussianEmissions(sequences, 2)), n_sweeps=2, n_jobs=1)
    with pytest.raises(
        PlaitError, match=r"run must have a model of the kind 'lda'.*, got 'mixture'"
    ) as caught:
        summarise_topics(run)
    assert caught.value.argument == "run"
