"""Runs in stages: the same bits on any number of threads and after any interruption, within a time or not."""

from __future__ import annotations

import numpy as np
import pytest

import plait
from plait.data.synthetic import bands
from plait.errors import NotSupported
from plait.models import lda_collapsed
from plait.models.late_topics import changed_topics
from plait.models.lda import LdaModel
from plait.models.sweeps import State, step_to
from plait.plans import Plan, Stage
from plait.threads import Threads

PLAN = Plan(
    [
        Stage("partitioned", 1, 12, learn_priors=True),
        Stage("partially-collapsed", (1, 3), 9),
        Stage("collapsed", 2, 4),
        Stage("partially-collapsed", 1, 5, learn_priors=True, average=True),
        Stage("collapsed", 1, 4, average=True),
    ]
)


class Still:
    """A model whose paths stay as they are."""

    n_sites, n_states = 3, 100

    def count(self, paths, threads): ...

    def draw_parameters(self, counts, key, threads): ...

    def resample(self, paths, parameters, key, threads): ...


@pytest.fixture(autouse=True)
def several_partitions(monkeypatch):
    monkeypatch.setattr(lda_collapsed, "_PARTITIONS", {100: 4})


@pytest.fixture(scope="module")
def corpus():
    return bands(40, seed=3).corpus


@pytest.fixture
def model(corpus):
    return LdaModel(corpus, 5)


def sample(model, **options):
    return plait.sample(model, **({"n_paths": PLAN, "seed": 7, "thin": 3, "n_jobs": 1} | options))


def assert_same(one, two):
    np.testing.assert_array_equal(one.paths, two.paths)
    np.testing.assert_array_equal(one.parameters(1).phi, two.parameters(1).phi)
    np.testing.assert_array_equal(one.trace.log_joint, two.trace.log_joint)
    np.testing.assert_array_equal(one.trace.sweep, two.trace.sweep)
    assert one.trace.priors.keys() == two.trace.priors.keys() == {"alpha", "eta"}
    for name in one.trace.priors:
        np.testing.assert_array_equal(one.trace.priors[name], two.trace.priors[name])
    assert one.late.n_paths == two.late.n_paths
    np.testing.assert_array_equal(one.late.total("documents"), two.late.total("documents"))


def test_number_of_paths_follows_the_plan(model):
    numbers = []
    sample(model, callback=lambda progress: numbers.append(len(progress.state.paths)))
    assert numbers == [1] * 12 + [1] * 3 + [2] * 3 + [3] * 3 + [2] * 4 + [1] * 9


def test_bits_do_not_depend_on_threads(model):
    assert model.n_partitions > 1
    assert_same(sample(model), sample(model, n_jobs=4))


@pytest.mark.parametrize("stop", [1, 11, 12, 13, 16, 20, 23, 27, 30, 33])
def test_run_stopped_in_any_stage_resumes_with_the_same_bits(model, tmp_path, stop):
    file = tmp_path / "run.plait"
    stopped = sample(model, checkpoint=file, callback=lambda progress: progress.state.sweep == stop)
    assert stopped.sweep == stop
    assert not stopped.finished
    assert_same(plait.resume(file, n_jobs=1), sample(model))


def test_run_is_read_as_it_was_written(model, tmp_path):
    run = sample(model)
    run.save(tmp_path / "run.plait")
    again = plait.load(tmp_path / "run.plait")
    assert_same(run, again)
    assert again.settings == run.settings
    np.testing.assert_array_equal(again.model.alpha_vector, run.model.alpha_vector)


def test_checkpoints_after_every_sweep_change_nothing(model, tmp_path):
    assert_same(sample(model, checkpoint=tmp_path / "run.plait", checkpoint_seconds=0), sample(model))


def test_priors_change_only_in_stages_that_learn(model):
    trace = sample(model, thin=1).trace
    changed = np.flatnonzero(np.any(np.diff(trace.priors["alpha"], axis=0) != 0, axis=1)) + 2
    assert set(trace.sweep[changed - 1]) <= {*range(1, 13), *range(26, 31)}
    assert len(changed)


def test_fixed_priors_are_not_learnt(corpus):
    run = sample(LdaModel(corpus, 5, 0.3, 0.02, fixed=("alpha",)))
    assert set(run.model.alpha_vector) == {0.3}
    assert float(run.model.eta) != 0.02
    run = sample(LdaModel(corpus, 5, 0.3, 0.02, fixed=("eta",)))
    assert len(set(run.model.alpha_vector)) == 5
    assert float(run.model.eta) == 0.02


def test_estimate_is_the_average_of_the_averaged_sweeps(model):
    """The pseudo-counts of all sweeps of the stages that average, added up here."""
    words, documents, n = 0, 0, 0

    def add(progress):
        nonlocal words, documents, n
        if progress.state.sweep > 25:
            for path in progress.state.paths:
                words = words + np.array(
                    [
                        np.bincount(model.corpus.words[path == t], minlength=model.corpus.n_words)
                        for t in range(5)
                    ]
                )
                owner = np.repeat(np.arange(model.corpus.n_documents), model.corpus.lengths)
                documents = documents + np.bincount(owner * 5 + path, minlength=5 * model.corpus.n_documents)
                n += 1

    run = sample(model, callback=add)
    assert n == run.late.n == 9
    assert not len(changed_topics(run.late))
    pseudo = words / n + float(run.model.eta)
    np.testing.assert_allclose(run.parameters(1).phi.T, pseudo / pseudo.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(run.late.total("documents").ravel(), documents)


def test_repeating_the_plan_of_a_timed_run_gives_its_bits(model):
    run = sample(model, max_seconds=0.3)
    assert run.finished
    assert run.settings.deadlines
    assert all(isinstance(stage.n_paths, int) for stage in run.settings.stages)
    assert_same(run, sample(model, n_paths=run.settings.plan))


def test_every_stage_of_a_timed_run_makes_a_sweep(model):
    run = sample(model, max_seconds=0.0)
    assert [stage.sweeps for stage in run.settings.stages] == [1] * len(run.settings.stages)


def test_timed_run_resumes_within_its_time(model, tmp_path):
    file = tmp_path / "run.plait"
    stopped = sample(
        model, max_seconds=0.5, checkpoint=file, callback=lambda progress: progress.state.sweep == 2
    )
    run = plait.resume(file, n_jobs=1)
    assert run.finished
    assert stopped.settings.deadlines == run.settings.deadlines
    assert run.seconds >= run.settings.deadlines[-1]
    assert_same(run, sample(model, n_paths=run.settings.plan))


def test_stage_ends_when_the_likelihood_has_settled(model):
    plan = Plan([Stage("collapsed", 1, 2000), Stage("collapsed", 1, 20, average=True)])
    run = sample(model, n_paths=plan, tol=0.01, thin=1)
    first, second = run.settings.stages
    assert 10 <= first.sweeps < 2000
    assert second.sweeps == 20
    assert run.finished
    np.testing.assert_array_equal(run.paths, sample(model, n_paths=run.settings.plan, thin=1).paths)


def test_stage_goes_on_while_the_likelihood_improves(model):
    run = sample(model, n_paths=Plan([Stage("collapsed", 1, 50)]), tol=0.0, thin=25)
    assert run.sweep == 50


def test_longer_run_resumes_in_the_last_stage(model):
    run = plait.resume(sample(model), n_sweeps=PLAN.n_sweeps + 5, n_jobs=1)
    assert run.sweep == PLAN.n_sweeps + 5
    assert run.late.n == 14


def test_run_that_is_cut_off_before_it_learns_can_be_saved_and_resumed(model, tmp_path):
    plan = Plan([Stage("collapsed", 1, 10), Stage("collapsed", 3, 10, learn_priors=True)])
    stopped = sample(model, n_paths=plan, callback=lambda progress: progress.state.sweep == 6)
    assert len(stopped.trace.priors["eta"]) == 2
    stopped.save(tmp_path / "run.plait")
    run = plait.resume(tmp_path / "run.plait", n_sweeps=8, n_jobs=1, checkpoint_seconds=0)
    assert run.finished
    assert not run.trace.priors
    np.testing.assert_array_equal(plait.load(tmp_path / "run.plait").trace.log_joint, run.trace.log_joint)
    np.testing.assert_array_equal(run.paths, sample(model, n_paths=1, n_sweeps=8, collapsed=True).paths)


def test_progress_names_the_stage(model):
    stages = []
    sample(model, callback=lambda progress: stages.append(progress.stage))
    assert stages[0] == "stage 1 of 5"
    assert stages[-1] == "stage 5 of 5"


def test_position_names_the_stage(model):
    stopped = sample(model, callback=lambda progress: progress.state.sweep == 12)
    assert stopped.position == "sweep 12 of 34, in stage 2 of 5"
    assert sample(model).position == "sweep 34 of 34"


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (
            Stage(learn_priors=True),
            "models of the kind 'hmm' cannot learn priors: leave out learn_priors in the plan",
        ),
        (
            Stage(average=True),
            "models of the kind 'hmm' cannot average sweeps: leave out average in the plan",
        ),
    ],
)
def test_models_that_cannot_do_what_a_plan_asks_for_say_so(stage, message):
    hmm = plait.HmmModel(plait.CategoricalEmissions(plait.Sequences(np.array([0, 1, 0]), [0, 3]), 2))
    with pytest.raises(NotSupported) as caught:
        plait.sample(hmm, n_paths=Plan([stage]))
    assert str(caught.value) == message


def test_other_models_run_in_stages_too(tmp_path):
    values = np.random.default_rng(0).integers(0, 3, 60)
    hmm = plait.HmmModel(plait.CategoricalEmissions(plait.Sequences(values, [0, 60]), 2))
    plan = Plan(
        [Stage("partitioned", 1, 3), Stage("partially-collapsed", (1, 4), 8), Stage("collapsed", 2, 3)]
    )
    run = plait.sample(hmm, n_paths=plan, n_jobs=1)
    stopped = plait.sample(hmm, n_paths=plan, n_jobs=1, callback=lambda progress: progress.state.sweep == 7)
    np.testing.assert_array_equal(plait.resume(stopped, n_jobs=1).paths, run.paths)
    assert run.paths.shape == (2, 60)


def test_plan_and_collapsed_do_not_go_together(model):
    with pytest.raises(
        plait.PlaitError, match="the stages of a plan name their samplers: leave out collapsed"
    ):
        sample(model, collapsed=True)


@pytest.mark.parametrize("n_paths", [1, 2, 3, 5])
@pytest.mark.parametrize("in_file", [False, True])
def test_surplus_paths_are_dropped_and_missing_ones_copied_from_the_others(n_paths, in_file, tmp_path):
    paths = np.arange(6, dtype=np.uint16).reshape(2, 3)
    with Threads(1) as threads:
        state = step_to(n_paths, Still(), State(4, paths), 0, threads, tmp_path if in_file else None)
    assert state.sweep == 5
    assert state.paths.dtype == paths.dtype
    assert state.paths.tolist() == [paths[j % 2].tolist() for j in range(n_paths)]
    assert not np.may_share_memory(state.paths, paths)
