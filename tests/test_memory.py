"""Memory of a run: two bytes per site and path, and tables that do not grow with the number of sweeps."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.models.emissions import CategoricalEmissions, GaussianEmissions
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel

N_TOKENS, N_TOPICS, N_WORDS = 400_000, 4, 50


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    words = np.random.default_rng(0).integers(0, N_WORDS, N_TOKENS, dtype=np.int32)
    words.flags.writeable = False
    return Corpus(words, np.arange(0, N_TOKENS + 1, 1000), tuple(map(str, range(N_WORDS))))


@pytest.mark.parametrize("collapsed", [False, True])
@pytest.mark.parametrize("n_paths", [1, 5])
def test_topic_models_take_two_bytes_per_token_and_path(corpus, collapsed, n_paths, tmp_path):
    options = {"n_jobs": 2, "checkpoint": tmp_path / "x", "checkpoint_seconds": 0}

    def run(model):
        plait.sample(model, n_paths=n_paths, n_sweeps=2, collapsed=collapsed, overwrite=True, **options)

    run(LdaModel(corpus, N_TOPICS))  # compiling takes memory, too
    tracemalloc.start()
    run(LdaModel(corpus, N_TOPICS))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    tables = 400_000  # phi and scratch, which do not grow with the tokens, and 8 bytes per document
    assert peak < 2 * n_paths * N_TOKENS + tables


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("symbols", "blocked"),
        ("symbols", "single-site"),
        ("symbols", "collapsed"),
        ("numbers", "blocked"),
        ("numbers", "single-site"),
    ],
)
def test_memory_of_hidden_markov_models_does_not_grow_with_sweeps(kind, method):
    rng, lengths = np.random.default_rng(1), [70_000, 20_000, 10_000]  # the first is filtered from both ends
    emissions: object = CategoricalEmissions(Sequences.from_symbols(rng.integers(0, 5, 100_000), lengths), 3)
    if kind == "numbers":
        emissions = GaussianEmissions(Sequences.from_values(rng.normal(size=(100_000, 1)), lengths), 3)
    model = HmmModel(emissions, blocked=method == "blocked")

    def forget_attributes(progress):
        """Empty Python's cache of attribute look-ups, which holds up to 4096 names.

        Numba looks `_fields` up in every NamedTuple it is given, by a new string each time.
        """
        sys._clear_type_cache()

    def peak(n_sweeps):
        tracemalloc.start()
        # One thread: with two, it is random how much of their scratch exists at the same time.
        how = {"n_paths": 2, "n_sweeps": n_sweeps, "collapsed": method == "collapsed", "n_jobs": 1}
        plait.sample(model, **how, callback=forget_attributes)
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    peak(2)  # compiling takes memory, too
    assert peak(20) < peak(2) + 10_000  # 18 more records of the trace; one byte per site would be 100 000
