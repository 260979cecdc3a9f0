"""No kernel reads or writes outside its arrays: all of them are compiled with bounds checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKOUT = """
import numpy as np
from plait.data.corpus import Corpus
from plait.evaluate import coherence
from plait.evaluate.heldout import score_left_to_right
from plait.inference import topics as inference
from plait.kernels import lda as kernels
from plait.kernels.paths import count_agreeing
from plait.models.lda import LdaModel
from plait.models.model import Key, unchecked
from plait.plans import Settings
from plait.sampler import State, log_joint, step
from plait.threads import Threads

threads = Threads(1)
rng = np.random.default_rng(0)
lengths = np.array([0, 5, 1, 60, 0, 9])
offsets = np.append(0, np.cumsum(lengths))
corpus = Corpus(rng.integers(6, size=75, dtype=np.int32), offsets, tuple("abcdef"))
for n_topics in (2, 20, 32, 33, 100, 900):
    eta = 0.5 if n_topics == 2 else rng.uniform(0.05, 2, (n_topics, 6))
    model = LdaModel(corpus, n_topics, rng.uniform(0.01, 1, n_topics), eta)
    for collapsed in (False, True):
        how = Settings(n_paths=3, n_sweeps=1, seed=1, collapsed=collapsed, thin=1)
        state = State(0, model.initial_paths(3, 1, threads))
        for _ in range(100):
            state = step(model, state, how, threads)
        log_joint(model, state, threads)
    topics = model.mean_parameters(state.counts, threads)
    totals = np.zeros((corpus.n_documents, n_topics))
    model.add_document_counts(state.paths, totals)
    scores = np.empty(corpus.n_documents)
    theta = model.theta(totals, 3)
    kernels.score_documents(0, len(scores), corpus.words, corpus.offsets, theta, topics.phi, scores)
    count_agreeing(state.paths, np.zeros(75, np.int64))
    for longest in (0, 10, 100):
        inference.LONG = longest
        inference.infer_theta(corpus, topics, model.alpha, n_jobs=1)
    for seed in range(20):
        score_left_to_right(corpus, topics, model.alpha_vector, n_particles=3, seed=seed, n_jobs=1)
    for window in (2, 5, 100):
        for forgetful in (False, True):
            coherence(topics.topic_word, corpus, measure="c_v", window=window, top=4, forgetful=forgetful)

lda_state = state

# hidden Markov models: few states and more, all emissions and samplers, filters from one end and from both
from dataclasses import replace
from plait.data.sequences import Sequences
from plait.models import chain as module
from plait.models.emissions import COVARIANCES, CategoricalEmissions, GaussianEmissions, PoissonEmissions
from plait.models.hmm import HmmModel
lengths = [1, 30, 2, 1, 16]
symbols = rng.integers(-1, 3, 50)
values = rng.normal(size=(50, 2))
counts = rng.poisson(2.0, (50, 2)).astype(float)
values[7] = counts[0] = counts[-1] = np.nan
symbols = Sequences.from_symbols(symbols, lengths, missing=True)
values = Sequences.from_values(values, lengths, missing=True)
counts = Sequences.from_values(counts, lengths, missing=True)
for n_states in (11,):
    emissions = [CategoricalEmissions(symbols, n_states), PoissonEmissions(counts, n_states)]
    for covariance in COVARIANCES[1:3]:
        emissions.append(GaussianEmissions(values, n_states, covariance=covariance))
    for own in emissions:
        for module._LONG, module._SITES_PER_RANGE in ((65536, 8192), (5, 10)):
            chain = HmmModel(own)
            for kind in ("blocked", "sites", "collapsed"):
                if kind == "collapsed" and own.kind != "categorical":
                    continue
                how = Settings(n_paths=3, n_sweeps=1, seed=1, collapsed=kind == "collapsed", thin=1)
                chain = replace(chain, blocked=kind == "blocked")
                state = State(0, chain.initial_paths(3, 1, threads))
                for _ in range(10):
                    state = step(chain, state, how, threads)
                log_joint(chain, state, threads)
            phi = chain.mean_parameters(chain.count(state.paths, threads), threads)
            chain.log_likelihoods(phi, threads)
            chain.expected_counts(phi, threads)
            chain.posteriors(phi, threads)
            chain.best_paths(phi, threads)
state.paths[0, 0] = n_states
try:
    unchecked(chain.count)(state.paths, threads)
except IndexError:
    print("checked")

# make sure that bounds are checked at all: a token of a topic that does not exist
lda_state.paths[0, 0] = n_topics
try:
    unchecked(model.resample)(lda_state.paths, topics, Key(1, 1), threads)
except IndexError:
    print("checked")
"""


@pytest.mark.slow  # compiles all kernels; the quick tests run interpreted kernels, which check indices, too
def test_kernels_stay_within_the_bounds_of_their_arrays(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", WORKOUT], env=environment, capture_output=True, text=True, timeout=900
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "checked\nchecked\n"
