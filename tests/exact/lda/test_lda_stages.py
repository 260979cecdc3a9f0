"""Changes of the number of paths, and the partitioned sampler, against enumeration.

`step_to` draws phi given all paths, then resamples the paths that stay, and new ones that start as copies,
given phi. Started from the exact distribution f_m, phi follows f_m before and after; so the paths that stay,
and any one of the new ones, follow the marginal of f_m.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Lda, joint_distribution, state_index
from support import THREADS, THREE_TOPICS, TWO_TOPICS, assert_fits, plait_model

from plait.data.synthetic import bands
from plait.models import lda_collapsed
from plait.models.lda import LdaModel
from plait.models.model import Key
from plait.models.sweeps import State, SweepSettings, step, step_to
from plait.plans import Plan, Stage
from plait.sampler import sample
from plait.threads import Threads

N = 12_000
SHRINKING = [(TWO_TOPICS, 3, 2), (TWO_TOPICS, 2, 1), (THREE_TOPICS, 2, 1)]
GROWING = [(TWO_TOPICS, 1, 2), (TWO_TOPICS, 2, 3), (THREE_TOPICS, 1, 3)]


def marginal(lda: Lda, n_paths: int, kept: int) -> np.ndarray:
    """Return the probabilities of the first `kept` paths of f_m, by `state_index`."""
    states, p = joint_distribution(lda, n_paths)
    index = state_index(states[:, :kept], lda.n_topics)
    return np.bincount(index, weights=p, minlength=lda.n_topics ** (kept * lda.n_tokens))


@pytest.mark.parametrize(
    ("lda", "before", "after"), [(TWO_TOPICS, 3, 2), (TWO_TOPICS, 2, 1), (THREE_TOPICS, 2, 1)]
)
def test_paths_that_stay_follow_the_marginal_of_the_exact_distribution(lda, before, after):
    model, (states, p) = plait_model(lda), joint_distribution(lda, before)
    chosen = states[np.random.default_rng(11).choice(len(p), size=N, p=p)]
    ends = [step_to(after, model, State(k, chosen[k]), 11, THREADS).paths for k in range(N)]
    exact = marginal(lda, before, after)
    assert_fits(np.bincount(state_index(np.array(ends), lda.n_topics), minlength=len(exact)), exact)


@pytest.mark.parametrize(
    ("lda", "before", "after"), [(TWO_TOPICS, 1, 2), (TWO_TOPICS, 2, 3), (THREE_TOPICS, 1, 3)]
)
def test_each_new_path_follows_the_distribution_of_the_old_ones(lda, before, after):
    model, (states, p) = plait_model(lda), joint_distribution(lda, before)
    chosen = states[np.random.default_rng(12).choice(len(p), size=N, p=p)]
    ends = np.array([step_to(after, model, State(k, chosen[k]), 12, THREADS).paths for k in range(N)])
    exact = marginal(lda, before, before)
    assert_fits(np.bincount(state_index(ends[:, :before], lda.n_topics), minlength=len(exact)), exact)
    alone = marginal(lda, before, 1)
    for j in range(before, after):
        index = state_index(ends[:, j : j + 1], lda.n_topics)
        assert_fits(np.bincount(index, minlength=len(alone)), alone)


@pytest.mark.parametrize("last", [Stage("collapsed", 2, 8), Stage("partially-collapsed", (1, 2), 12)])
def test_stages_before_leave_the_distribution_of_the_last_stage_unchanged(last):
    """These tiny chains forget their start within about ten sweeps."""
    model = plait_model(TWO_TOPICS)
    plan = Plan([Stage("collapsed", 3, 2), Stage("partially-collapsed", 1, 2), last])
    ends = np.array(
        [sample(model, n_paths=plan, seed=seed, thin=100, n_jobs=1).paths for seed in range(1500)]
    )
    _, p = joint_distribution(TWO_TOPICS, 2)
    assert_fits(np.bincount(state_index(ends, 2), minlength=len(p)), p)


@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize("kernel", lda_collapsed.KERNELS)
def test_one_partition_has_the_bits_of_the_exact_collapsed_sampler(monkeypatch, n_paths, kernel):
    monkeypatch.setattr(lda_collapsed, "kernel_for", lambda *_, **__: kernel)
    model = plait_model(THREE_TOPICS)
    assert model.n_partitions == 1
    ends = []
    for partitioned in (False, True):
        state = State(0, model.initial_paths(n_paths, 5, THREADS))
        for _ in range(20):
            state = step(model, state, SweepSettings(5, collapsed=True, partitioned=partitioned), THREADS)
        ends.append(state.paths)
    np.testing.assert_array_equal(*ends)


@pytest.fixture
def two_partitions(monkeypatch):
    monkeypatch.setattr(lda_collapsed, "_PARTITIONS", {2: 2})
    monkeypatch.setattr(lda_collapsed, "_ROUNDS", 1)


@pytest.mark.usefixtures("two_partitions")
@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize("kernel", lda_collapsed.KERNELS)
def test_partitions_conserve_counts_and_do_not_depend_on_threads(monkeypatch, n_paths, kernel):
    monkeypatch.setattr(lda_collapsed, "kernel_for", lambda *_, **__: kernel)
    model = plait_model(TWO_TOPICS)
    assert model.n_partitions == 2
    ends = []
    for n_jobs in (1, 3):
        with Threads(n_jobs) as threads:
            paths = model.initial_paths(n_paths, 5, threads)
            counts = model.count(paths, threads)
            for sweep in range(1, 30):
                model.resample_partitioned(paths, counts, Key(5, sweep), threads)
                again = model.count(paths, threads)
                np.testing.assert_array_equal(counts.words, again.words)
                np.testing.assert_array_equal(counts.topics, again.topics)
        ends.append(paths)
    np.testing.assert_array_equal(*ends)


@pytest.mark.usefixtures("two_partitions")
def test_distance_of_the_partitioned_sampler_from_the_exact_distribution_in_the_worst_case():
    """Two documents of two tokens and the same words: each changes half of all counts unseen by the other.

    The total variation between the frequencies of all states along a run and their exact probabilities was
    measured as 0.118; noise is about 0.01, as the exact sampler shows.
    """
    lda = Lda([[0, 1], [1, 0]], np.array([0.7, 0.4]), np.array([[0.9, 0.5], [0.6, 1.5]]))
    model, (_, p) = plait_model(lda), joint_distribution(lda, 1)
    assert model.n_partitions == 2

    def distance(*, partitioned: bool) -> float:
        state = State(0, model.initial_paths(1, 8, THREADS))
        indices = []
        for _ in range(30_000):
            state = step(model, state, SweepSettings(8, collapsed=True, partitioned=partitioned), THREADS)
            indices.append(int(state_index(state.paths[None], 2)[0]))
        return float(np.abs(np.bincount(indices, minlength=len(p)) / len(indices) - p).sum() / 2)

    assert distance(partitioned=False) < 0.02
    assert distance(partitioned=True) == pytest.approx(0.118, abs=0.02)


@pytest.mark.parametrize(("rounds", "lost"), [pytest.param(1, 0.09, marks=pytest.mark.slow), (8, 0.02)])
def test_exact_sweeps_make_good_what_partitions_lose(monkeypatch, rounds, lost):
    """5000 tokens of overlapping topics in 8 partitions, far smaller ones than are ever used.

    Their log-likelihood per token was measured as 0.09 below that of the exact sampler with one round per
    sweep, and as 0.02 below it with eight (three seeds; the standard error is about 0.02). After exact
    sweeps, it is that of the exact sampler.
    """
    monkeypatch.setattr(lda_collapsed, "_PARTITIONS", {600: 8})
    monkeypatch.setattr(lda_collapsed, "_ROUNDS", rounds)
    model = LdaModel(bands(500, seed=4).corpus, 10, 1.0, 0.1)
    assert model.n_partitions == 8

    def mean(*stages: Stage) -> float:
        runs = [sample(model, n_paths=Plan(stages), seed=seed, thin=5, n_jobs=1) for seed in range(3)]
        return float(np.mean([run.trace.mean_log_joint()[-30:] for run in runs]) / model.n_sites)

    exact, approximate = mean(Stage("collapsed", 1, 600)), mean(Stage("partitioned", 1, 600))
    assert exact - approximate == pytest.approx(lost, abs=0.06)
    both = mean(Stage("partitioned", 1, 300), Stage("collapsed", 1, 300))
    assert both == pytest.approx(exact, abs=0.06)
