"""The sampling loop: counting, recording, stopping and resuming, always with the same bits."""

from __future__ import annotations

import math
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import plait
from plait.data.synthetic import bands
from plait.errors import PlaitError
from plait.models.lda import LdaModel
from plait.run import Run, load
from plait.sampler import CheckpointError, State, log_joint
from plait.threads import Threads


class Coins:
    """A mixture of two coins: each throw of 10 took one of them, and shows how often heads came up.

    Written from `plait.models.model.Model` alone, in plain numpy.
    """

    kind = "coins"
    FLIPS = 10

    def __init__(self, heads):
        self.heads = np.asarray(heads)

    @property
    def n_sites(self):
        return len(self.heads)

    @property
    def n_states(self):
        return 2

    def initial_paths(self, n_paths, seed, threads):
        return np.random.default_rng([seed, 0]).integers(0, 2, (n_paths, self.n_sites), np.uint8)

    def count(self, paths, threads):
        """Count heads and tails of each coin, (2, 2)."""
        counts = np.zeros((2, 2))
        for path in paths:
            for coin in (0, 1):
                heads = self.heads[path == coin]
                counts[coin] += heads.sum(), (self.FLIPS - heads).sum()
        return counts

    def draw_parameters(self, counts, key, threads):
        return np.random.default_rng([*key, 0]).beta(*(1 + counts).T)

    def mean_parameters(self, counts, threads):
        return (1 + counts[:, 0]) / (2 + counts.sum(axis=1))

    def _log_weights(self, parameters):
        return np.outer(self.heads, np.log(parameters)) + np.outer(
            self.FLIPS - self.heads, np.log1p(-parameters)
        )

    def resample(self, paths, parameters, key, threads):
        weights = self._log_weights(parameters)
        share = 1 / (1 + np.exp(weights[:, 0] - weights[:, 1]))
        for j, path in enumerate(paths):
            path[:] = np.random.default_rng([*key, 1 + j]).random(self.n_sites) < share

    def resample_collapsed(self, paths, counts, key):
        for j, path in enumerate(paths):
            rng = np.random.default_rng([*key, 1 + j])
            for i in range(self.n_sites):
                own = np.array([self.heads[i], self.FLIPS - self.heads[i]])
                counts[path[i]] -= own
                log_odds = _log_beta(counts[1], own) - _log_beta(counts[0], own)
                path[i] = rng.random() < 1 / (1 + math.exp(-log_odds))
                counts[path[i]] += own

    def log_joint(self, paths, parameters, threads):
        weights = self._log_weights(parameters)
        return np.array([weights[np.arange(self.n_sites), path].sum() for path in paths])

    def to_arrays(self):
        return {"heads": self.heads}, {"flips": self.FLIPS}

    @classmethod
    def from_arrays(cls, arrays, header):
        assert header["flips"] == cls.FLIPS
        return cls(arrays["heads"])


def _log_beta(before, own):
    """Return the log probability of one throw by a coin that has shown `before`, up to a constant."""

    def log_b(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    return log_b(*(1 + before + own)) - log_b(*(1 + before))


COINS = Coins([1, 2, 2, 1, 3, 2, 8, 9, 8, 7, 9, 8])
SMALL = LdaModel(bands(40, seed=2, n_topics=3, n_words=30, width=10).corpus, 3)
WIDE = LdaModel(bands(3000, n_topics=50, n_words=4000, width=200).corpus, 50)

MODELS = pytest.mark.parametrize("model", [COINS, SMALL], ids=["coins", "lda"])
ALGORITHMS = pytest.mark.parametrize("collapsed", [False, True], ids=["algorithm 1", "algorithm 2"])


def sample(model, **options):
    return plait.sample(
        model, **({"n_paths": 3, "n_sweeps": 10, "seed": 5, "thin": 4, "n_jobs": 1} | options)
    )


def stop_after(sweep):
    return lambda progress: progress.state.sweep == sweep


def assert_same(a, b):
    """Check that two runs have the same bits, apart from the clock."""
    assert a.sweep == b.sweep
    assert a.settings == b.settings
    assert a.paths.dtype == b.paths.dtype
    assert np.array_equal(a.paths, b.paths)
    assert np.array_equal(a.trace.sweep, b.trace.sweep)
    assert np.array_equal(a.trace.log_joint, b.trace.log_joint)


@MODELS
@ALGORITHMS
class TestSweeps:
    def test_the_trace_has_every_fourth_sweep_and_the_last(self, model, collapsed):
        run = sample(model, collapsed=collapsed)
        assert (run.sweep, run.finished) == (10, True)
        assert run.paths.shape == (3, model.n_sites)
        assert run.trace.sweep.tolist() == [4, 8, 10]
        assert run.trace.log_joint.shape == (3, 3)
        assert np.all(np.diff(run.trace.seconds) >= 0)
        assert run.trace.seconds[-1] == run.seconds > 0

    def test_the_callback_sees_each_sweep(self, model, collapsed):
        seen = []

        def look(progress):
            seen.append((progress.state.sweep, len(progress.trace), progress.n_sweeps, progress.seconds))
            assert (progress.state.counts is None) == (not collapsed)
            assert (progress.state.parameters is None) == collapsed

        run = sample(model, collapsed=collapsed, callback=look)
        sweeps, records, totals, seconds = zip(*seen, strict=True)
        assert sweeps == tuple(range(1, 11))
        assert records == (0, 0, 0, 1, 1, 1, 1, 2, 2, 3)
        assert set(totals) == {10}
        assert list(seconds) == sorted(seconds)
        assert seconds[-1] == run.seconds

    def test_counts_keep_up_with_paths(self, model, collapsed):
        def compare(progress):
            if collapsed:
                fresh = model.count(progress.state.paths, Threads(1))
                kept = progress.state.counts
                for name in ("words", "topics"):
                    assert np.array_equal(getattr(fresh, name, fresh), getattr(kept, name, kept))

        sample(model, collapsed=collapsed, callback=compare)

    def test_the_trace_records_the_log_joint_of_the_last_parameters(self, model, collapsed):
        last = []
        run = sample(
            model, collapsed=collapsed, callback=lambda progress: last.append(progress.state.parameters)
        )
        phi = last[-1]
        if collapsed:
            phi = model.mean_parameters(model.count(run.paths, Threads(1)), Threads(1))
        assert np.array_equal(run.trace.log_joint[-1], model.log_joint(run.paths, phi, Threads(1)))

    def test_the_log_joint_of_bare_paths_uses_the_mean(self, model, collapsed):
        run = sample(model, collapsed=collapsed)
        mean = model.mean_parameters(model.count(run.paths, Threads(1)), Threads(1))
        bare = log_joint(model, State(run.sweep, run.paths), Threads(1))
        assert np.array_equal(bare, model.log_joint(run.paths, mean, Threads(1)))

    def test_a_callback_ends_the_run(self, model, collapsed):
        run = sample(model, collapsed=collapsed, callback=stop_after(6))
        assert (run.sweep, run.finished) == (6, False)
        assert run.settings.n_sweeps == 10
        assert run.trace.sweep.tolist() == [4]

    def test_another_seed_gives_another_run(self, model, collapsed):
        mine, other = (sample(model, collapsed=collapsed, n_sweeps=1, seed=seed) for seed in (0, 2**63 - 1))
        assert not np.array_equal(mine.paths, other.paths)

    @pytest.mark.parametrize("split", [1, 4, 7, 9, 10])
    def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(self, model, collapsed, split, tmp_path):
        whole = sample(model, collapsed=collapsed)
        part = sample(model, collapsed=collapsed, callback=stop_after(split))
        before = part.paths.copy()
        assert_same(plait.resume(part, n_jobs=1), whole)
        assert np.array_equal(part.paths, before)  # the part stays what it was
        part.save(tmp_path / "x")
        again = plait.resume(load(tmp_path / "x", type(model)), n_jobs=2)
        assert_same(again, whole)
        assert again.seconds >= part.seconds

    def test_a_finished_run_can_be_made_longer(self, model, collapsed):
        short = sample(model, collapsed=collapsed, n_sweeps=6)
        longer = plait.resume(short, n_sweeps=10, n_jobs=1)
        whole = sample(model, collapsed=collapsed)
        assert np.array_equal(longer.paths, whole.paths)
        assert longer.trace.sweep.tolist() == [4, 6, 8, 10]
        kept = longer.trace.sweep != 6  # the last sweep of the short run
        assert np.array_equal(longer.trace.log_joint[kept], whole.trace.log_joint)
        assert longer.settings.n_sweeps == 10
        assert short.settings.n_sweeps == 6

    def test_a_finished_run_has_nothing_left_to_do(self, model, collapsed):
        run = sample(model, collapsed=collapsed)
        assert_same(plait.resume(run, n_jobs=1, callback=lambda _: pytest.fail("a sweep too many")), run)


@ALGORITHMS
def test_the_loop_samples_what_the_model_describes(collapsed):
    run = sample(COINS, collapsed=collapsed, n_sweeps=60, n_paths=5)
    fair, other = COINS.mean_parameters(COINS.count(run.paths, Threads(1)), Threads(1))
    assert sorted([fair, other]) == pytest.approx([0.2, 0.8], abs=0.1)
    most = np.median(run.paths, axis=0)
    assert len(set(most[:6])) == len(set(most[6:])) == 1
    assert most[0] != most[-1]


class TestBadInput:
    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("n_paths", 0, "n_paths must be a whole number of at least 1, got 0"),
            ("n_paths", 2.5, "n_paths must be a whole number of at least 1, got 2.5"),
            ("n_paths", True, "n_paths must be a whole number of at least 1, got True"),
            ("n_sweeps", 0, "n_sweeps must be a whole number of at least 1, got 0"),
            ("n_sweeps", 1.5, "n_sweeps must be a whole number of at least 1, got 1.5"),
            ("seed", -1, f"seed must be a whole number from 0 to {2**63 - 1}, got -1"),
            ("seed", 2**63, f"seed must be a whole number from 0 to {2**63 - 1}, got {2**63}"),
            ("seed", "a", f"seed must be a whole number from 0 to {2**63 - 1}, got 'a'"),
            ("thin", 0, "thin must be a whole number of at least 1, got 0"),
            ("n_jobs", 0, "n_jobs must be a number of threads, or -1 for all cores, got 0"),
        ],
    )
    def test_impossible_settings_are_refused(self, option, value, message):
        with pytest.raises(PlaitError) as caught:
            sample(COINS, **{option: value})
        assert str(caught.value) == message

    @pytest.mark.parametrize("seconds", [math.nan, "often"])  # NaN would never write one in between
    def test_impossible_checkpoint_seconds_are_refused(self, seconds):
        with pytest.raises(PlaitError, match=f"^checkpoint_seconds must be [^\n]*, got {seconds!r}$"):
            sample(COINS, checkpoint_seconds=seconds)

    def test_numpy_integers_are_accepted(self):
        run = sample(COINS, n_paths=np.int64(2), n_sweeps=np.int32(3), seed=np.uint64(1))
        assert_same(run, sample(COINS, n_paths=2, n_sweeps=3, seed=1))

    def test_fewer_sweeps_than_made_are_refused(self):
        with pytest.raises(PlaitError, match="n_sweeps must be a whole number of at least 10, got 9"):
            plait.resume(sample(COINS), n_sweeps=9)

    def test_an_error_of_the_callback_is_not_hidden(self):
        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(ZeroDivisionError):
            sample(COINS, callback=lambda _: 1 / 0)
        assert signal.getsignal(signal.SIGINT) is before


class TestCheckpoint:
    def test_zero_seconds_write_one_after_every_sweep(self, tmp_path):
        path = tmp_path / "x"
        saved = []
        run = sample(
            COINS,
            checkpoint=path,
            checkpoint_seconds=0,
            callback=lambda _: saved.append(load(path, Coins).sweep),
        )
        assert saved == list(range(10))  # each callback finds the checkpoint of the sweep before
        assert_same(load(path, Coins), run)
        assert os.listdir(tmp_path) == ["x"]

    def test_a_short_run_writes_one_at_each_end(self, tmp_path, monkeypatch):
        saved = []
        save = Run.save
        monkeypatch.setattr(Run, "save", lambda run, path, **_: (saved.append(run.sweep), save(run, path)))
        sample(COINS, checkpoint=str(tmp_path / "x"), checkpoint_seconds=1e9)
        assert saved == [0, 10]

    def test_one_is_written_whenever_the_time_is_up(self, tmp_path, monkeypatch):
        saved = []
        monkeypatch.setattr(Run, "save", lambda run, path, **_: saved.append(run.sweep))
        now = iter(range(1000))  # a clock that advances one second per call
        monkeypatch.setattr(time, "perf_counter", lambda: float(next(now)))
        sample(COINS, n_sweeps=100, checkpoint=tmp_path / "x", checkpoint_seconds=20)
        assert saved[0] == 0
        assert saved[-1] == 100
        assert len(set(np.diff(saved[:-1]))) == 1
        assert 5 < saved[1] < 20

    def test_an_existing_file_is_only_replaced_on_request(self, tmp_path):
        (tmp_path / "x").write_text("mine")
        with pytest.raises(PlaitError, match=r"^[^\n]*x exists: [^\n]*overwrite=True[^\n]*$"):
            sample(COINS, checkpoint=tmp_path / "x")
        assert (tmp_path / "x").read_text() == "mine"
        run = sample(COINS, checkpoint=tmp_path / "x", overwrite=True)
        assert_same(plait.load(tmp_path / "x", Coins), run)

    def test_a_run_that_cannot_be_saved_is_not_lost(self, tmp_path):
        folder = tmp_path / "folder"
        folder.mkdir()

        def remove_folder(progress):
            if progress.state.sweep == 4:
                shutil.rmtree(folder)

        with pytest.raises(CheckpointError, match="there is no folder") as caught:
            sample(COINS, checkpoint=folder / "x", checkpoint_seconds=0, callback=remove_folder)
        assert caught.value.run.sweep == 4
        assert_same(plait.resume(caught.value.run, n_jobs=1), sample(COINS))

    def test_a_stopped_run_is_saved(self, tmp_path):
        run = sample(COINS, checkpoint=tmp_path / "x", checkpoint_seconds=1e9, callback=stop_after(7))
        kept = load(tmp_path / "x", Coins)
        assert_same(kept, run)
        assert_same(plait.resume(kept, n_jobs=1), sample(COINS))

    @pytest.mark.parametrize("place", ["no/x", "."])
    def test_an_impossible_place_is_refused_before_the_first_sweep(self, tmp_path, place):
        with pytest.raises(PlaitError, match=r"^cannot write [^\n]*$"):
            sample(COINS, checkpoint=tmp_path / place, callback=lambda _: pytest.fail("a sweep was made"))
        with pytest.raises(PlaitError, match=r"^cannot write [^\n]*$"):
            plait.resume(sample(COINS), n_sweeps=20, checkpoint=tmp_path / place)

    @ALGORITHMS
    @pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
    def test_a_run_that_is_killed_again_and_again_has_the_same_bits(self, collapsed, tmp_path):
        path = tmp_path / "x"
        options = {"collapsed": collapsed, "n_sweeps": 400}
        whole = sample(SMALL, **options)

        def work():
            often = {"checkpoint": path, "checkpoint_seconds": 0}
            if path.exists():
                plait.resume(load(path), n_jobs=1, **often)
            else:
                sample(SMALL, **options, **often)
            os._exit(0)

        found = [0]
        for delay in np.random.default_rng(collapsed).uniform(0.0, 0.15, 8):
            child = multiprocessing.get_context("fork").Process(target=work)
            child.start()
            time.sleep(delay)
            child.kill()
            child.join()
            if path.exists():
                found.append(load(path).sweep)
        assert found == sorted(found)
        assert any(0 < sweep < 400 for sweep in found)
        assert_same(plait.resume(load(path), n_jobs=1, checkpoint=path), whole)
        assert_same(load(path), whole)


def interrupt_after(sweep, times=1):
    def interrupt(progress):
        if progress.state.sweep == sweep:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return interrupt


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
class TestInterrupt:
    @MODELS
    @ALGORITHMS
    def test_the_sweep_is_finished_and_the_run_saved(self, model, collapsed, tmp_path):
        before = signal.getsignal(signal.SIGINT)
        path = tmp_path / "x"
        with pytest.raises(plait.Interrupted, match=r"^interrupted after sweep 6 of 10$") as caught:
            sample(model, collapsed=collapsed, callback=interrupt_after(6), checkpoint=path)
        assert isinstance(caught.value, KeyboardInterrupt)
        assert signal.getsignal(signal.SIGINT) is before
        run = caught.value.run
        assert (run.sweep, run.finished) == (6, False)
        assert_same(load(path, type(model)), run)
        whole = sample(model, collapsed=collapsed)
        assert_same(plait.resume(run, n_jobs=1), whole)
        assert_same(plait.resume(load(path, type(model)), n_jobs=1), whole)

    def test_a_second_ctrl_c_stops_at_once(self):
        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as caught:
            sample(COINS, callback=interrupt_after(6, times=2))
        assert not isinstance(caught.value, plait.Interrupted)
        assert signal.getsignal(signal.SIGINT) is before

    def test_ctrl_c_in_the_last_sweep_is_not_swallowed(self):
        with pytest.raises(plait.Interrupted) as caught:
            sample(COINS, callback=interrupt_after(10))
        assert caught.value.run.finished

    def test_ignored_interrupts_stay_ignored(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            assert sample(COINS, callback=interrupt_after(3)).finished
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, before)

    def test_a_user_s_handler_is_restored(self):
        calls = []

        def mine(number, frame):
            calls.append(number)

        before = signal.signal(signal.SIGINT, mine)
        try:
            sample(COINS)
            assert signal.getsignal(signal.SIGINT) is mine
            with pytest.raises(plait.Interrupted):
                sample(COINS, callback=interrupt_after(6, times=2))
            assert signal.getsignal(signal.SIGINT) is mine
            assert calls == [signal.SIGINT]  # the second one is the handler's own
        finally:
            signal.signal(signal.SIGINT, before)


class TestThreads:
    @ALGORITHMS
    def test_runs_in_parallel_threads_have_the_bits_of_single_runs(self, collapsed):
        def chain(seed):
            assert threading.current_thread() is not threading.main_thread()
            return sample(SMALL, seed=seed, collapsed=collapsed, n_sweeps=50, n_jobs=2)

        with ThreadPoolExecutor(2) as pool:
            side_by_side = list(pool.map(chain, (0, 1)))
        for seed, run in enumerate(side_by_side):
            assert_same(run, sample(SMALL, seed=seed, collapsed=collapsed, n_sweeps=50))

    @ALGORITHMS
    def test_any_number_of_threads_gives_the_same_bits(self, collapsed):
        assert len(WIDE._document_ranges) >= 3
        assert len(WIDE._word_ranges) >= 3
        one, *others = (
            sample(WIDE, n_sweeps=3, thin=1, collapsed=collapsed, n_jobs=n_jobs) for n_jobs in (1, 2, 4)
        )
        for other in others:
            assert_same(one, other)

    def test_any_number_of_threads_gives_the_same_estimator(self):
        one, *others = (
            plait.LDA(10, n_paths=2, max_iter=5, random_state=3, n_jobs=n_jobs).fit(WIDE.corpus)
            for n_jobs in (1, 2, 4)
        )
        for other in others:
            assert_same(one.run_, other.run_)
            for name in ("components_", "topic_word_", "doc_topic_", "agreement_"):
                assert np.array_equal(getattr(one, name), getattr(other, name))


def test_the_place_of_the_checkpoint_is_checked_before_the_initialisation(tmp_path, monkeypatch):
    model = LdaModel(bands(10, seed=0).corpus, 3)
    monkeypatch.setattr(LdaModel, "initial_paths", lambda *_: pytest.fail("the work was started"))
    with pytest.raises(PlaitError, match="there is no folder"):
        plait.sample(model, n_sweeps=2, checkpoint=tmp_path / "missing" / "run.plait")
