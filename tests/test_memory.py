"""What a run holds in memory: 4 bytes a token for the words, 2 a token and path, and the tables of phi."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.models.lda import LdaModel

N_TOKENS, N_TOPICS, N_WORDS = 400_000, 4, 50


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    words = np.random.default_rng(0).integers(0, N_WORDS, N_TOKENS, dtype=np.int32)
    words.flags.writeable = False
    return Corpus(words, np.arange(0, N_TOKENS + 1, 1000), tuple(map(str, range(N_WORDS))))


@pytest.mark.parametrize("collapsed", [False, True])
@pytest.mark.parametrize("n_paths", [1, 5])
def test_two_bytes_a_token_and_path(corpus, collapsed, n_paths, tmp_path):
    options = {"n_jobs": 2, "checkpoint": tmp_path / "x", "checkpoint_seconds": 0}

    def run(model):
        plait.sample(model, n_paths=n_paths, n_sweeps=2, collapsed=collapsed, overwrite=True, **options)

    run(LdaModel(corpus, N_TOPICS))  # compile first: that takes memory too
    tracemalloc.start()
    run(LdaModel(corpus, N_TOPICS))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    few = 400_000  # tables of phi and scratch, which do not grow with the tokens, and 8 bytes a document
    assert peak < 2 * n_paths * N_TOKENS + few
