"""Memory of data and runs: what they hold, and nothing beside it that grows with the data or the sweeps.

NumPy's arrays are measured, those in mapped files not included.
"""

from __future__ import annotations

import sys
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import plait
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.models.emissions import CategoricalEmissions, GaussianEmissions
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel

N_TOKENS, N_TOPICS, N_WORDS = 400_000, 4, 50

TABLES = 400_000
"""phi, scratch and the index of the documents: one more byte per token would be as much."""


@contextmanager
def peak_below(n_bytes):
    """Check the most memory that a block has at any time, beyond what there was before."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n_bytes


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
    with peak_below(2 * n_paths * N_TOKENS + TABLES):
        run(LdaModel(corpus, N_TOPICS))


def test_corpora_and_models_copy_no_words_that_nobody_can_change(corpus):
    LdaModel(corpus, N_TOPICS)  # compiling takes memory, too
    with peak_below(TABLES):
        LdaModel(Corpus(corpus.words, corpus.offsets, corpus.vocabulary), N_TOPICS)


def test_corpus_files_take_the_memory_of_the_words_or_none(corpus, tmp_path):
    with peak_below(TABLES):
        corpus.save(tmp_path / "x")
    with peak_below(4 * N_TOKENS + TABLES):
        Corpus.load(tmp_path / "x")
    with peak_below(TABLES):
        Corpus.load(tmp_path / "x", mapped=True)


@pytest.fixture
def stored(corpus, tmp_path):
    """Return the file of a run with five paths, which has compiled all kernels."""
    plait.sample(LdaModel(corpus, N_TOPICS), n_sweeps=1, n_jobs=2, checkpoint=tmp_path / "x")
    return tmp_path / "x"


def test_runs_are_saved_without_a_copy(stored):
    run = plait.load(stored)
    with peak_below(TABLES):
        run.save(stored)


def test_runs_are_loaded_and_resumed_in_the_memory_of_words_and_paths(stored):
    with peak_below((4 + 2 * 5) * N_TOKENS + TABLES):
        plait.load(stored)
    with peak_below((4 + 2 * 5) * N_TOKENS + TABLES):
        plait.resume(stored, n_sweeps=2, n_jobs=2)


@pytest.mark.parametrize("initial", ["uniform", "progressive"])
def test_paths_in_a_folder_take_no_memory(initial, corpus, stored, tmp_path):
    options = {"n_sweeps": 1, "n_jobs": 2, "paths_in": tmp_path}
    plait.sample(LdaModel(corpus, N_TOPICS, initial=initial), **options)  # compiling takes memory, too
    with peak_below(TABLES):
        plait.sample(LdaModel(corpus, N_TOPICS, initial=initial), **options)
    with peak_below(4 * N_TOKENS + TABLES):
        plait.resume(stored, n_sweeps=2, n_jobs=2, paths_in=tmp_path)


def test_phi_of_a_sweep_is_gone_before_the_next_one_is_drawn():
    n_words, n_topics = 20_000, 50
    vocabulary = tuple(map(str, range(n_words)))
    model = LdaModel(Corpus(np.arange(n_words), [0, n_words], vocabulary), n_topics)

    def run():
        plait.sample(model, n_paths=1, n_sweeps=3, n_jobs=1)

    run()  # compiling takes memory, too
    counts = phi = 4 * n_words * n_topics
    with peak_below(counts + 1.5 * phi):
        run()


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
