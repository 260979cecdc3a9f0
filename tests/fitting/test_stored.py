"""Fits with restarts that are kept in a file: whatever stops them, resumed they end with the same bits."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.fitting import plan as plan_module
from plait.fitting import stored
from plait.fitting.monitor import ConvergenceMonitor
from plait.fitting.plan import Plan, fit_once, random_start
from plait.fitting.stored import draw_seeds, fit_and_store, resume
from plait.models.emissions import PoissonEmissions
from plait.models.hmm import HmmModel
from plait.run import Run, load
from plait.sampler import Interrupted
from plait.storage import read_file, write_file
from plait.threads import Threads

N_INIT = 3
SEED = 9  # the second of its restarts is the best, in all plans


def poisson_model():
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.array([1.0, 4.0, 9.0])[(np.arange(60) // 5) % 3])
    return HmmModel(PoissonEmissions(Sequences.from_values(counts[:, None], [25, 35]), 3))


MODEL = poisson_model()
PLANS = {
    "polished": Plan(2, 10, em_iterations=10),
    "sampled": Plan(2, 10),
    "em": Plan(0, 0, em_iterations=10),
}
EVERY_PLAN = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
POLISHED, EM = PLANS["polished"], PLANS["em"]


def fit(path, plan, **options):
    options = {"seed": SEED, "n_init": N_INIT, "tol": 0.0, "n_jobs": 1} | options
    return fit_and_store(MODEL, plan, path, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the fits of all plans that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    return {plan: fit(folder / name, plan) for name, plan in PLANS.items()}


def assert_same_arrays(mine, other):
    mine, other = ({} if phi is None else phi.to_arrays() for phi in (mine, other))
    assert mine.keys() == other.keys()
    for name, array in mine.items():
        assert np.array_equal(array, other[name]), name


def assert_same(run, other):
    assert np.array_equal(run.paths, other.paths)
    assert np.array_equal(run.trace.sweep, other.trace.sweep)
    assert np.array_equal(run.trace.log_joint, other.trace.log_joint)
    assert (run.settings, run.sweep, run.finished) == (other.settings, other.sweep, other.finished)
    assert (run.em_history, run.converged) == (other.em_history, other.converged)
    assert_same_arrays(run.estimate, other.estimate)
    assert_same_arrays(run.parameters(1), other.parameters(1))
    assert_same_arrays(run.model.initial, other.model.initial)
    assert replace(run.fit, best=None) == replace(other.fit, best=None)
    assert (run.fit.best is None) == (other.fit.best is None)
    if run.fit.best is not None:
        assert np.array_equal(run.fit.best.paths, other.fit.best.paths)
        assert_same_arrays(run.fit.best.estimate, other.fit.best.estimate)


def stage_of(restart):
    return f"restart {restart + 1} of {N_INIT}"


def signal_in_sweep(number, restart, sweep):
    """Return a callback that sends this process a signal in a sweep of a restart."""

    def send(progress):
        if (progress.stage, progress.unit, progress.state.sweep) == (stage_of(restart), "sweep", sweep):
            os.kill(os.getpid(), number)

    return send


def signal_in_em(monkeypatch, number, restart):
    """Let EM send this process a signal in its third iteration, in a restart."""
    calls = 0
    maximise = plan_module.maximise

    def sending(model, parameters, n_iter, report, threads, keep):
        nonlocal calls
        calls += 1
        iterations = 0

        def report_and_send(log_likelihood):
            nonlocal iterations
            iterations += 1
            if (calls - 1, iterations) == (restart, 3):
                os.kill(os.getpid(), number)
            return report(log_likelihood)

        return maximise(model, parameters, n_iter, report_and_send, threads, keep)

    monkeypatch.setattr(plan_module, "maximise", sending)


class TestFit:
    @EVERY_PLAN
    def test_the_best_restart_is_kept(self, plan, whole):
        run = whole[plan]
        assert run.finished
        assert run.fit.best is None
        assert run.fit.best_restart == int(np.argmax(run.fit.scores)) == 1
        assert len(set(run.fit.scores)) == N_INIT
        parameters = run.parameters(1)
        assert run.model.log_likelihood(parameters, 1) == max(run.fit.scores)
        start = random_start(MODEL, *run.fit.seeds[1])
        assert_same_arrays(run.model.initial, start.parameters)
        assert run.settings.seed == start.seed

    @EVERY_PLAN
    def test_each_score_is_that_of_a_fit_from_its_start(self, plan, whole):
        for seeds, score in zip(whole[plan].fit.seeds, whole[plan].fit.scores, strict=True):
            with Threads(1) as threads:
                monitor = ConvergenceMonitor(0.0, plan.em_iterations, verbose=False)
                alone = fit_once(random_start(MODEL, *seeds), plan, monitor, threads, n_jobs=1)
            assert alone.score == score

    @EVERY_PLAN
    def test_the_file_holds_what_is_returned(self, plan, whole, tmp_path):
        run = fit(tmp_path / "x", plan)
        assert_same(run, whole[plan])
        assert_same(load(tmp_path / "x"), run)

    def test_of_equal_scores_the_first_is_kept(self, tmp_path, monkeypatch):
        finish = stored.finish
        monkeypatch.setattr(stored, "finish", lambda *how, **more: replace(finish(*how, **more), score=-1.0))
        run = fit(tmp_path / "x", POLISHED)
        assert run.fit.best_restart == 0
        assert run.settings.seed == run.fit.seeds[0][1]

    @EVERY_PLAN
    def test_nothing_but_the_best_is_stored_as_finished(self, plan, tmp_path, monkeypatch):
        """A process that is killed before it stores the best leaves a file that can be resumed."""
        save, finished = Run.save, []
        monkeypatch.setattr(
            Run, "save", lambda run, path, **_: (finished.append(run.finished), save(run, path))
        )
        fit(tmp_path / "x", plan)
        assert finished[-1]
        assert not any(finished[:-1])

    def test_seeds_are_drawn_as_the_estimators_draw_them(self):
        """First the parameters' seed, then the run's, restart by restart; EM needs none for a run."""
        random = np.random.RandomState(5)
        expected = [int(random.randint(2**31 - 1)) for _ in range(6)]
        seeds = draw_seeds(np.random.RandomState(5), 3, POLISHED)
        assert seeds == ((expected[0], expected[1]), (expected[2], expected[3]), (expected[4], expected[5]))
        seeds = draw_seeds(np.random.RandomState(5), 3, EM)
        assert seeds == ((expected[0], 0), (expected[1], 0), (expected[2], 0))

    def test_the_callback_is_told_which_restart_it_is(self, tmp_path):
        stages, iterations = [], []

        def listen(now):
            (stages if now.unit == "sweep" else iterations).append((now.stage, now.state.sweep))

        run = fit(tmp_path / "x", POLISHED, callback=listen)
        assert stages == [(stage_of(k), sweep) for k in range(N_INIT) for sweep in range(1, 11)]
        assert [count for stage, count in iterations if stage == stage_of(run.fit.best_restart)] == list(
            range(1, len(run.em_history) + 1)
        )
        stages.clear()
        fit(tmp_path / "x", POLISHED, n_init=1, callback=lambda now: stages.append(now.stage))
        assert set(stages) == {""}

    @pytest.mark.parametrize(("name", "value"), [("seed", -1), ("seed", 2**32), ("n_init", 0), ("tol", -1)])
    def test_impossible_settings_are_refused(self, name, value, tmp_path):
        with pytest.raises(PlaitError) as caught:
            fit(tmp_path / "x", POLISHED, **{name: value})
        assert caught.value.argument == name
        assert not (tmp_path / "x").exists()

    @EVERY_PLAN
    def test_an_impossible_place_is_refused_before_the_work(self, plan, tmp_path, monkeypatch):
        monkeypatch.setattr(plan_module, "maximise", lambda *_: pytest.fail("EM was begun"))
        with pytest.raises(PlaitError, match="there is no folder"):
            fit(tmp_path / "no" / "x", plan, callback=lambda _: pytest.fail("a sweep was made"))


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
class TestInterrupted:
    @pytest.mark.parametrize("restart", range(N_INIT))
    @pytest.mark.parametrize("sweep", [1, 7, 10])
    @pytest.mark.parametrize("plan", [POLISHED, PLANS["sampled"]], ids=["polished", "sampled"])
    def test_in_a_sweep(self, plan, restart, sweep, whole, tmp_path):
        path = tmp_path / "x"
        with pytest.raises(Interrupted, match=f"after sweep {sweep} of 10") as caught:
            fit(path, plan, callback=signal_in_sweep(signal.SIGINT, restart, sweep))
        part = load(path)
        assert_same(part, caught.value.run)
        assert (part.sweep, part.fit.restart, part.finished) == (sweep, restart, False)
        assert part.fit.scores == whole[plan].fit.scores[:restart]
        assert (part.fit.best is None) == (restart == 0)
        assert_same(resume(caught.value.run, n_jobs=1), whole[plan])  # in memory
        assert_same(resume(path, n_jobs=2), whole[plan])
        assert_same(load(path), whole[plan])

    @pytest.mark.parametrize("restart", range(N_INIT))
    @pytest.mark.parametrize("plan", [POLISHED, EM], ids=["polished", "em"])
    def test_in_em(self, plan, restart, whole, tmp_path, monkeypatch):
        path = tmp_path / "x"
        with monkeypatch.context() as patch:
            signal_in_em(patch, signal.SIGINT, restart)
            with pytest.raises(Interrupted) as caught:
                fit(path, plan)
        part = load(path)
        assert not part.finished
        assert not caught.value.run.finished
        assert part.fit.scores == whole[plan].fit.scores[:restart]
        assert part.best is (part if part.fit.best is None else part.fit.best)
        if plan is EM:  # its iterations are not lost
            assert (part.sweep, len(part.em_history)) == (3, 3)
            assert part.position == f"EM iteration 3 of 10 in {stage_of(restart)}"
        assert_same(resume(caught.value.run, n_jobs=1), whole[plan])
        assert_same(resume(path, n_jobs=1), whole[plan])
        assert_same(load(path), whole[plan])

    def test_again_and_again(self, whole, tmp_path):
        path = tmp_path / "x"
        with pytest.raises(Interrupted):
            fit(path, POLISHED, callback=signal_in_sweep(signal.SIGINT, 0, 4))
        for restart, sweep in ((0, 6), (1, 3), (2, 10)):
            with pytest.raises(Interrupted):
                resume(path, n_jobs=1, callback=signal_in_sweep(signal.SIGINT, restart, sweep))
            assert (load(path).sweep, load(path).fit.restart) == (sweep, restart)
        assert_same(resume(path, n_jobs=1), whole[POLISHED])

    def test_in_the_last_sweep_of_the_last_restart_of_a_longer_run(self, whole, tmp_path):
        path = tmp_path / "x"
        whole[POLISHED].save(path)

        def stop(progress):
            if progress.state.sweep == 15:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Interrupted):
            resume(path, n_sweeps=20, n_jobs=1, callback=stop)
        assert_same(resume(path, n_jobs=1), resume(whole[POLISHED], n_sweeps=20, n_jobs=1))


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
class TestKilled:
    @pytest.mark.parametrize("often", [0.0, 1e9], ids=["checkpoint every sweep", "checkpoint at the ends"])
    @pytest.mark.parametrize(
        ("plan", "restart", "sweep"),
        [
            (POLISHED, 0, 6),
            (POLISHED, 2, 6),
            (POLISHED, 0, None),
            (POLISHED, 1, None),
            (EM, 0, None),
            (EM, 2, None),
        ],
        ids=["first restart", "last restart", "first EM", "second EM", "EM alone", "EM alone, later"],
    )
    def test_a_killed_fit_is_resumed(self, plan, restart, sweep, often, whole, tmp_path, monkeypatch):
        path = tmp_path / "x"
        if sweep is None:
            signal_in_em(monkeypatch, signal.SIGKILL, restart)

        def work():
            callback = None if sweep is None else signal_in_sweep(signal.SIGKILL, restart, sweep)
            fit(path, plan, callback=callback, checkpoint_seconds=often)

        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        monkeypatch.undo()
        assert child.exitcode == -signal.SIGKILL
        part = load(path)
        assert not part.finished
        if plan.n_paths and often == 0.0:
            assert (part.fit.restart, part.sweep) == (restart, 10 if sweep is None else sweep - 1)
        assert_same(resume(path, n_jobs=1), whole[plan])
        assert_same(load(path), whole[plan])

    def test_killed_before_the_best_is_stored(self, whole, tmp_path, monkeypatch):
        """The file holds the last restart then, which is not the best, and is not finished."""
        for plan in PLANS.values():
            path = tmp_path / f"{plan.n_paths} {plan.em_iterations}"
            save = Run.save

            def save_unless_finished(run, path, save=save, **_):
                if run.finished:
                    raise KeyboardInterrupt
                save(run, path)

            with monkeypatch.context() as patch:
                patch.setattr(Run, "save", save_unless_finished)
                with pytest.raises(KeyboardInterrupt):
                    fit(path, plan)
            assert not load(path).finished
            assert_same(resume(path, n_jobs=1), whole[plan])


class TestLonger:
    @EVERY_PLAN
    def test_the_best_run_has_the_bits_of_one_that_was_planned_longer(self, plan, whole):
        run = whole[plan]
        longer = resume(run, n_sweeps=20, n_jobs=1)
        planned = Plan(plan.n_paths, 20, em_iterations=20 if plan.em_iterations else 0)
        with Threads(1) as threads:
            monitor = ConvergenceMonitor(0.0, 20, verbose=False)
            start = random_start(MODEL, *run.fit.seeds[run.fit.best_restart])
            expected = fit_once(start, planned, monitor, threads, n_jobs=1)
        assert longer.finished
        assert longer.fit.seeds == (run.fit.seeds[1],)
        assert longer.fit.scores == (expected.score,)
        assert_same(longer, replace(expected.run, fit=longer.fit))
        assert run.sweep <= 10  # the run that was made longer is as it was

    def test_a_finished_fit_has_nothing_left_to_do(self, whole, tmp_path):
        run = whole[POLISHED]
        assert resume(run, n_jobs=1, callback=lambda _: pytest.fail("a sweep too many")) is run

    @EVERY_PLAN
    def test_resumed_to_where_it_is_it_stays_the_same(self, plan, whole):
        again = resume(whole[plan], n_sweeps=10, n_jobs=1)
        assert np.array_equal(again.paths, whole[plan].paths)
        assert_same_arrays(again.estimate, whole[plan].estimate)

    def test_while_restarts_are_left_the_number_of_sweeps_stays(self, tmp_path):
        path = tmp_path / "x"
        with pytest.raises(Interrupted):
            fit(path, POLISHED, callback=signal_in_sweep(signal.SIGINT, 1, 4))
        before = path.read_bytes()
        message = "restart 2 of 3 is not finished: resume without n_sweeps first"
        with pytest.raises(PlaitError, match=message) as caught:
            resume(path, n_sweeps=20, n_jobs=1)
        assert caught.value.argument == "n_sweeps"
        assert path.read_bytes() == before

    def test_a_single_restart_may_be_made_longer_before_it_ends(self, tmp_path):
        def stop(progress):
            if progress.state.sweep == 4:
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(Interrupted):
            fit(tmp_path / "x", POLISHED, n_init=1, callback=stop)
        longer = resume(tmp_path / "x", n_sweeps=20, n_jobs=1)
        planned = fit(tmp_path / "y", Plan(2, 20, em_iterations=20), n_init=1)
        assert_same(longer, planned)

    def test_fewer_sweeps_than_made_are_refused(self, whole):
        with pytest.raises(PlaitError, match="n_sweeps must be a whole number of at least 10, got 9"):
            resume(whole[POLISHED], n_sweeps=9)


def test_em_alone_in_an_estimator_cannot_be_resumed():
    hmm = plait.PoissonHMM(3, method="em", n_iter=5, random_state=0, n_jobs=1).fit(MODEL.sequences)
    with pytest.raises(PlaitError, match=r"EM alone .* fit the model again"):
        resume(hmm.run_, n_sweeps=10)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (np.zeros((2, 2)), "the history of its EM is not one row of real numbers"),
        (np.zeros(3, np.float32), "em_history must be an array of float64, got dtype float32"),
    ],
)
def test_a_stored_history_of_em_that_is_not_one_row_of_numbers_is_refused(history, message, whole, tmp_path):
    whole[EM].save(tmp_path / "x")
    header, arrays = read_file(tmp_path / "x")
    write_file(tmp_path / "x", arrays | {"em_history": history}, header)
    with pytest.raises(PlaitError, match=f"damaged: {message}"):
        load(tmp_path / "x")
